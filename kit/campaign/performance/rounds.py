"""Rounds: every contender at one workload, first seen, weighed, and then sampled in turns.

Covers: what is noted of a contender besides its samples (its first sight of a shape, the device memory a run
takes, its answer), and `Rounds`, which collects entries. Those of one round were interleaved, so only their ratios
are free of what else happened in between.
Does not cover: which contenders meet at which workload (`kit.campaign.performance.session`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import torch

from kit.campaign.performance.plan import Entry
from kit.campaign.performance.timing import (
    Contender,
    CudaWatch,
    Stopwatch,
    WallWatch,
    measure,
    repeats_for,
)

if TYPE_CHECKING:
    from kit.engine.base import Prepared
    from kit.engine.baseline import ModelForm

Run = Callable[[], object]
FLOOR = "gemm-floor"


class Rounds:
    """Samples in `blocks` blocks of about block_ms each; on a GPU with CUDA events beside the wall clock."""

    def __init__(self, *, cuda: bool, blocks: int, block_ms: float) -> None:
        self.entries: list[Entry] = []
        self.watch: Stopwatch = CudaWatch() if cuda else WallWatch()
        self._cuda, self._blocks, self._block_ms = cuda, blocks, block_ms
        self._number = 0

    def forms(
        self,
        workload: str,
        prepared: Prepared,
        forms: Mapping[str, ModelForm],
        others: Mapping[str, Run] | None = None,
    ) -> None:
        """Whole requests: prepared on the host before, label logits on the host after. others: without logits."""
        runs: dict[str, Run] = {name: _run_of(form, prepared) for name, form in forms.items()}
        runs |= others or {}
        self.measure(workload, "call", prepared, runs, prepared.input_tokens, forms)

    def measure(
        self,
        workload: str,
        way: str,
        prepared: Prepared,
        runs: Mapping[str, Run],
        tokens: int,
        forms: Mapping[str, ModelForm] | None = None,
        watch: Stopwatch | None = None,
    ) -> None:
        """First sight, memory, answer and cost of every contender, then interleaved samples of all.

        forms: those whose answer is kept and whose recordings are weighed. watch: in place of the device's.
        """
        watch, forms = watch or self.watch, forms or {}
        cold = {name: watch.time(run)[0] for name, run in runs.items()}
        extra = {name: self._extra_bytes(run) for name, run in runs.items()}
        logits = {name: form.run(prepared) for name, form in forms.items()}
        cost = sum(watch.time(run)[0] for run in runs.values())
        contenders = [Contender(name, run) for name, run in runs.items()]
        found = measure(contenders, watch, blocks=self._blocks, repeats=repeats_for(cost, self._block_ms))
        before = {(e.engine, e.workload, e.way, e.tokens) for e in self.entries}
        self._number += 1
        for name, series in found.items():
            self.entries.append(
                Entry(
                    number=self._number, anchor=(name, workload, way, tokens) in before, engine=name,
                    workload=workload, way=way, tokens=tokens, images=bool(prepared.grids), series=series,
                    logits=logits.get(name), cold_ms=None if name == FLOOR else cold[name],
                    extra_bytes=extra[name], pool_bytes=forms[name].pool_bytes if name in forms else 0,
                )
            )  # fmt: skip

    def _extra_bytes(self, run: Run) -> int | None:
        """Device memory a call takes and gives back."""
        if not self._cuda:
            run()
            return None
        torch.cuda.synchronize()
        before = torch.cuda.memory_allocated()
        torch.cuda.reset_peak_memory_stats()
        run()
        torch.cuda.synchronize()
        return int(torch.cuda.max_memory_allocated()) - before


def _run_of(form: ModelForm, prepared: Prepared) -> Run:
    return lambda: form.run(prepared)
