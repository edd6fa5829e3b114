"""The native forwards against Transformers and PEFT, bit for bit, on sizes cpu-tiny does not have."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F

from kit.engine.base import Grid
from kit.kernels import select
from kit.model.config import load_config
from kit.model.language import Language
from kit.model.lora import load_adapter
from kit.model.rope import TextRotary
from kit.model.vision import Vision
from kit.model.weights import SafetensorsStore, Weights
from tests.model import small_checkpoint

BF16 = torch.bfloat16


class Pair:
    """Native and official model over the same two folders."""

    def __init__(self, base: Path, adapter: Path) -> None:
        self.config = load_config(base)
        ops = select("exact", "cpu")
        self.weights = Weights(SafetensorsStore(base, "model"), BF16)
        pairs = load_adapter(adapter)
        self.language = Language(self.config.text, self.weights, pairs, ops)
        self.vision = Vision(self.config.vision, self.weights, ops)
        self.head = self.language.embedding
        if not self.config.tied_head:
            self.head = self.weights.take("lm_head.weight", *self.language.embedding.shape)
        self.weights.finish()
        pairs.finish()
        self.pairs = pairs.tensors
        self.rotary = TextRotary(self.config.text, BF16)
        self.official: Any = small_checkpoint.reference(base, adapter)

    def native(
        self, ids: torch.Tensor, positions: torch.Tensor, features: torch.Tensor | None = None
    ) -> torch.Tensor:
        embeddings = F.embedding(ids, self.language.embedding)
        if features is not None:
            embeddings[ids == self.config.image_token_id] = features
        return self.language.forward(embeddings, *self.rotary.tables(positions))

    def official_row(self, **inputs: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        rows: list[torch.Tensor] = []
        norm = self.official.get_base_model().model.language_model.norm
        handle = norm.register_forward_hook(lambda module, args, output: rows.append(output[:, -1]))
        logits = self.official(**inputs, use_cache=False, logits_to_keep=1).logits[0]
        handle.remove()
        return rows[0], logits


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Pair:
    return Pair(*small_checkpoint.write(tmp_path_factory.mktemp("small")))


@pytest.mark.parametrize("tokens", [1, 2, 3, 4, 63, 64, 65, 127, 128, 129, 300, 2282])
def test_text_of_any_length_gives_the_reference_row_and_logits(pair: Pair, tokens: int) -> None:
    ids = torch.randint(0, 512, (tokens,), generator=torch.Generator().manual_seed(tokens))
    with torch.inference_mode():
        row = pair.native(ids, torch.arange(tokens).expand(3, -1))
        expected, logits = pair.official_row(input_ids=ids[None])
        assert torch.equal(row, expected)
        assert torch.equal(F.linear(row, pair.head), logits)


@pytest.mark.parametrize(
    "grids",
    [
        ((1, 2, 2),),
        ((1, 16, 16),),
        ((1, 6, 10), (1, 2, 4)),
        ((1, 10, 26), (1, 4, 4), (1, 4, 14)),
        ((1, 8, 8), (1, 8, 8), (1, 2, 30), (1, 12, 6)),
    ],
    ids=str,
)
def test_images_give_the_reference_features_and_row(pair: Pair, grids: tuple[Grid, ...]) -> None:
    generator = torch.Generator().manual_seed(len(grids))
    pixels = torch.rand(sum(h * w for _, h, w in grids), 1536, generator=generator) * 2 - 1
    ids = [7, 9]
    for _, h, w in grids:
        ids += [502, *([500] * (h * w // 4)), 503, 11]
    tokens = torch.tensor(ids)
    model = pair.official.get_base_model().model
    with torch.inference_mode():
        features = pair.vision.forward(pixels.to(BF16), pair.vision.tables(grids))
        official = model.get_image_features(pixels, torch.tensor(grids)).pooler_output
        assert torch.equal(features, torch.cat(official))
        kinds = (tokens[None] == 500).int()
        positions = model.get_rope_index(tokens[None], kinds, torch.tensor(grids))[0][:, 0]
        row = pair.native(tokens, positions, features)
        expected, _ = pair.official_row(
            input_ids=tokens[None],
            pixel_values=pixels,
            image_grid_thw=torch.tensor(grids),
            mm_token_type_ids=kinds,
        )
        assert torch.equal(row, expected)


def test_forward_leaves_inputs_and_weights_alone(pair: Pair) -> None:
    """The same call twice gives the same row: nothing is written in place."""
    embeddings = torch.randn(70, 96).to(BF16)
    tables = pair.rotary.tables(torch.arange(70).expand(3, -1))
    kept = [x.clone() for x in (embeddings, *tables)]
    with torch.inference_mode():
        first, second = (pair.language.forward(embeddings, *tables) for _ in range(2))
    assert torch.equal(first, second)
    assert all(torch.equal(a, b) for a, b in zip(kept, (embeddings, *tables), strict=True))


@pytest.mark.parametrize(
    ("options", "pairs", "converted"),
    [
        ({"tied": True}, 46, 0),
        ({"targets": "in_proj_b down_proj k_proj"}, 12, 0),
        ({"wide_gates": True}, 46, 4),
    ],
    ids=["tied head", "partial adapter", "fp32 tensors in the file"],
)
def test_other_layouts_of_the_same_model(tmp_path: Path, options: Any, pairs: int, converted: int) -> None:
    pair = Pair(*small_checkpoint.write(tmp_path, **options))
    assert pair.pairs == pairs
    assert len(pair.weights.converted) == converted
    ids = torch.randint(0, 500, (77,))
    with torch.inference_mode():
        row = pair.native(ids, torch.arange(77).expand(3, -1))
        expected, logits = pair.official_row(input_ids=ids[None])
        assert torch.equal(row, expected)
        assert torch.equal(F.linear(row, pair.head), logits)


def test_the_adapter_matters(pair: Pair) -> None:
    """A row with the adapter's scale halved is another row."""
    ids = torch.arange(50)
    positions = torch.arange(50).expand(3, -1)
    with torch.inference_mode(), pair.official.disable_adapter():
        without, _ = pair.official_row(input_ids=ids[None])
    with torch.inference_mode():
        assert not torch.equal(pair.native(ids, positions), without)
