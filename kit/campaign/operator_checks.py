"""The bench on which ops are checked: the reference's recorded inputs in, its recorded output beside ours.

Covers: the state all checks share, the label head and the finite scan. The language model's ops are in
`kit.campaign.operator_language`, the vision tower's in `kit.campaign.operator_vision`.
Does not cover: which sizes are run (`kit.campaign.operators`), how inputs are recorded
(`kit.campaign.operator_trace`) or in how many ways an op is run (`kit.campaign.operator_trial`).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from kit.campaign.operator_language import check_language
from kit.campaign.operator_trial import Form, Trials
from kit.campaign.operator_vision import check_vision
from kit.kernels import Ops, select
from kit.model.config import ModelConfig, parse_config
from kit.model.head import LabelHead

if TYPE_CHECKING:
    from kit.engine.base import Grid
    from kit.engine.reference import ReferenceEngine
    from kit.profile import Profile

SEED = 20260722
HEAD_ROWS = 200


class OperatorChecks:
    """The reference model, the op table, and the checks gathered so far."""

    def __init__(self, engine: ReferenceEngine, profile: Profile) -> None:
        self.base = engine.model.get_base_model()
        self.device = torch.device(profile.runtime.device)
        self.dtype: torch.dtype = getattr(torch, profile.runtime.dtype)
        self.ops = select(profile.runtime.numerics, self.device)
        self.config: ModelConfig = parse_config(json.loads(self.base.config.to_json_string(use_diff=False)))
        self.label_ids = engine.preparer.tokenizer.label_ids
        self.random = torch.Generator().manual_seed(SEED)
        self.checks: list[dict[str, Any]] = []
        self._trials = Trials(self.ops, self.device)

    def check(
        self,
        op: str,
        against: str,
        form: Form,
        inputs: Sequence[Tensor],
        expected: Any,
        variant: str = "recorded",
        capture: bool = True,
    ) -> None:
        """Run `form(op table, *inputs)` in every way and note what differs from `expected`.

        variant says how the inputs differ from those the reference was seen with; capture=False is for what
        never runs inside a graph.
        """
        line = self._trials.run(op, against, form, inputs, expected, capture)
        self.checks.append({"op": op, "variant": variant, **line})

    def language(self, count: int) -> None:
        """Every op of the language model on one text forward of `count` random tokens."""
        ids = torch.randint(0, self.config.text.vocab_size, (1, count), generator=self.random)
        check_language(self, ids.to(self.device))

    def vision(self, grids: tuple[Grid, ...]) -> None:
        """Every op of the vision tower on one forward of random pixels, one image a grid."""
        values = self.base.model.visual.patch_embed.proj.weight[0].numel()
        patches = sum(frames * rows * columns for frames, rows, columns in grids)
        pixels = torch.rand(patches, values, generator=self.random) * 2 - 1
        check_vision(self, pixels.to(self.device, self.dtype), grids)

    def label_head(self) -> None:
        """Label logits through the rows the ladder chooses, on other rows than it was chosen with."""
        norm, weight = self.base.model.language_model.norm, self.base.lm_head.weight
        noise = torch.randn(2 * HEAD_ROWS, 1, weight.shape[1], generator=self.random)
        rows = norm(noise.to(self.device, self.dtype))
        head = LabelHead(weight, self.label_ids)
        head.choose(rows[:HEAD_ROWS, 0])
        ids = torch.tensor(self.label_ids, device=self.device)
        fresh = rows[HEAD_ROWS:]

        def form(ops: Ops, rows: Tensor) -> Tensor:
            return torch.stack([head.logits(row) for row in rows])

        expected = torch.stack([self.base.lm_head(row[None])[0, -1, ids] for row in fresh])
        name = f"torch.nn.Linear over {weight.shape[0]} rows (kit: {head.describe()['rows']})"
        self.check("label_head", name, form, (fresh,), expected)

    def finite_scan(self) -> None:
        """The scan on clean numbers, and on the same with one NaN or infinity at the start, within or at the end."""
        clean = torch.randn(475, self.config.text.hidden_size, generator=self.random).to(self.device, self.dtype)
        spoilt = [clean]
        for place in (0, clean.numel() // 2, clean.numel() - 1):
            for value in (torch.nan, torch.inf, -torch.inf):
                spoilt.append(clean.clone())
                spoilt[-1].view(-1)[place] = value

        def form(ops: Ops, *inputs: Tensor) -> Tensor:
            return torch.stack([ops.all_finite(x) for x in inputs])

        expected = torch.stack([torch.isfinite(x).all() for x in spoilt])
        self.check("all_finite", "torch.isfinite", form, spoilt, expected)

    def close(self) -> None:
        """Free what the checks' graphs share."""
        self._trials.close()
