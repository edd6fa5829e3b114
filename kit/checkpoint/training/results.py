"""What a finished run is worth: calibrated, then judged on everything held out, with the adapter and without.

Covers: results.json and decision_config.json. Does not cover: fitting (`calibration`) or answering (`evaluation`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from kit.checkpoint.training import calibration
from kit.checkpoint.training.encode import Encoded
from kit.checkpoint.training.evaluation import (
    accuracy,
    accuracy_by_candidates,
    accuracy_by_level,
    flips,
    hits,
    logits_of,
    prepared,
)
from kit.checkpoint.training.judged import PERMUTED, Job, Pair, fewer, load, load_pairs
from kit.checkpoint.training.settings import Settings

Alive = Callable[[], None]
Kind = TypeVar("Kind", Encoded, Pair)


@dataclass(frozen=True)
class Judge:
    """Answers for a network. wrapped: PEFT's model around it, to switch the adapter off; jobs: what there is to judge on.

    got: how many samples of each job there were, once they have been asked.
    """

    network: Any
    wrapped: Any
    labels: Sequence[int]
    settings: Settings
    jobs: Sequence[Job]
    folder: Path
    alive: Alive
    got: dict[Job, int] = field(default_factory=dict, init=False)

    def fit(self) -> calibration.Fitted:
        """Temperatures and threshold, from the calibration split."""
        items = self._items("calibration", "chat")
        return calibration.fitted(self._logits(items), _right(items), _pictured(items))

    def measure(self, temperature: float, mm_temperature: float, threshold: float) -> calibration.Fitted:
        """What was fitted before, with its errors on the calibration split."""
        items = self._items("calibration", "chat")
        logits, right = self._logits(items), _right(items)
        cooled = calibration.scaled(logits, _pictured(items), temperature, mm_temperature)
        before, after = (calibration.error(values, right, 1.0) for values in (logits, cooled))
        return calibration.Fitted(temperature, mm_temperature, threshold, before, after)

    def results(self, fitted: calibration.Fitted) -> dict[str, Any]:
        """Everything there is to say about a network so calibrated, as JSON."""
        judged = self._items("held-out", "chat")
        logits = self._logits(judged)
        pairs = self._pairs()
        found: dict[str, Any] = {
            "format": "kit-training-results/1",
            "calibration": {**asdict(fitted), "trust": calibration.TRUST},
            "held_out": {**_scores(logits, judged), **self._confidence(logits, judged, fitted)},
            "flips": flips(self.network, pairs, self.settings.buckets, self.labels),
        }
        bare = self._items("held-out", "bare")
        with self.wrapped.disable_adapter():
            found["without_adapter"] = _scores(self._logits(judged), judged)
            found["base_in_its_own_form"] = _scores(self._logits(bare), bare)
        found["fewer"] = fewer(self.got)
        return found

    def _items(self, split: str, form: str) -> list[Encoded]:
        chosen = [job for job in self.jobs if (job.split, job.form, job.kind) == (split, form, "plain")]
        return self._counted({job: load(self.folder, job, self.alive) for job in chosen})

    def _pairs(self) -> list[Pair]:
        chosen = [job for job in self.jobs if job.kind == PERMUTED]
        return self._counted({job: load_pairs(self.folder, job, self.alive) for job in chosen})

    def _counted(self, found: dict[Job, list[Kind]]) -> list[Kind]:
        self.got.update({job: len(samples) for job, samples in found.items()})
        return [sample for samples in found.values() for sample in samples]

    def _logits(self, items: Sequence[Encoded]) -> NDArray[np.float64]:
        device = self.network.lm_head.weight.device
        return logits_of(self.network, prepared(items, self.settings.buckets, device), self.labels)

    def _confidence(
        self, logits: NDArray[np.float64], items: Sequence[Encoded], fitted: calibration.Fitted
    ) -> dict[str, float | None]:
        right = _right(items)
        scaled = calibration.scaled(logits, _pictured(items), fitted.temperature, fitted.mm_temperature)
        sure = calibration.probabilities(scaled, 1.0).max(-1) >= fitted.threshold
        return {
            "error_before": calibration.error(logits, right, 1.0),
            "error_after": calibration.error(scaled, right, 1.0),
            "share_over_threshold": float(sure.mean()),
            "accuracy_over_threshold": float(hits(logits, items)[sure].mean()) if sure.any() else None,
        }


def _scores(logits: NDArray[np.float64], items: Sequence[Encoded]) -> dict[str, Any]:
    match = [index for index, item in enumerate(items) if item.family == "match"]
    return {
        "questions": len(items),
        "accuracy": round(float(hits(logits, items).mean()), 4),
        "by_family": accuracy(logits, items),
        "by_level": accuracy_by_level(logits, items),
        "by_candidates": accuracy_by_candidates(logits, items),
        "match_by_candidates": accuracy_by_candidates(logits[match], [items[i] for i in match]),
    }


def _right(items: Sequence[Encoded]) -> NDArray[np.int64]:
    return np.array([item.right for item in items], dtype=np.int64)


def _pictured(items: Sequence[Encoded]) -> NDArray[np.bool_]:
    return np.array([item.pixels is not None for item in items], dtype=bool)
