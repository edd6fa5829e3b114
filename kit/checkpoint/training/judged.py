"""The samples a run is judged and calibrated on, made by the workers while the first programs are compiled.

Covers: `Job`, the jobs of a run, who makes which, the files they come in, choices asked twice in two orders, and where
there are fewer than were asked for. The files lie in a temporary folder of the run and are read back by the run alone.
Does not cover: judging (`evaluation`). Imports no torch.
"""

from __future__ import annotations

import dataclasses
import pickle
import random
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import zip_longest
from pathlib import Path
from typing import Any

from kit.checkpoint.training.encode import Encoded, Encoder, Form, open_encoder
from kit.checkpoint.training.mixture import drawn
from kit.checkpoint.training.samples import Sample, Split
from kit.checkpoint.training.settings import Amounts, Settings, bucket_for
from kit.evidence.records import write_atomic

POSITIONAL = ("numbers",)  # families whose right answer moves with the order
PERMUTED = "permuted"
AGAIN = 5 * 10**6  # sample numbers of the permuted choices start here
TRIES = 20  # samples looked at for each one asked for, at most


class NothingToJudgeError(ValueError):
    """A family has no question at some level that fits a bucket."""


@dataclass(frozen=True)
class Job:
    """`amount` questions of a family and level; as PERMUTED, pairs of one choice in two orders."""

    split: Split
    form: Form
    family: str
    level: int
    amount: int
    kind: str = "plain"

    @property
    def file(self) -> str:
        return f"{self.kind}.{self.split}.{self.form}.{self.family}.{self.level}.pickle"


@dataclass(frozen=True)
class Pair:
    """One choice twice. order[j]: which candidate of `first` stands at place j of `second`."""

    first: Encoded
    second: Encoded
    order: tuple[int, ...]


def jobs(levels: Mapping[str, int], amounts: Amounts) -> list[Job]:
    """Everything a run needs, what is needed first in front."""
    every = [(family, level) for family, number in levels.items() for level in range(number)]
    choices = [family for family in levels if family not in POSITIONAL]
    each = -(-amounts.permuted // len(choices)) if choices else 0
    return [
        *(Job("held-out", "bare", family, level, amounts.held_out) for family, level in every),
        *(Job("held-out", "chat", family, level, amounts.held_out) for family, level in every),
        *(Job("calibration", "chat", family, level, amounts.calibration) for family, level in every),
        *(Job("held-out", "chat", family, levels[family] - 1, each, PERMUTED) for family in choices),
    ]


def maker(
    settings: Settings, tokenizer: Path, levels: Mapping[str, int], folder: Path
) -> Callable[[int], None]:
    """What worker number `rank` does before its first batch. A quarter of many workers have no job and start at once."""
    return partial(_make, settings, tokenizer, dict(levels), folder)


def load(folder: Path, job: Job, alive: Callable[[], None], patience: float = 0.05) -> list[Encoded]:
    """A plain job's questions, waited for. `alive` raises where nobody makes them any more."""
    found: list[Encoded] = _load(folder, job, alive, patience)
    return found


def load_pairs(folder: Path, job: Job, alive: Callable[[], None], patience: float = 0.05) -> list[Pair]:
    """A permuted job's pairs, waited for."""
    found: list[Pair] = _load(folder, job, alive, patience)
    return found


def _load(folder: Path, job: Job, alive: Callable[[], None], patience: float) -> list:  # type: ignore[type-arg]
    path = folder / job.file
    while not path.exists():
        alive()
        time.sleep(patience)
    return list(pickle.loads(path.read_bytes()))


def _make(settings: Settings, tokenizer: Path, levels: dict[str, int], folder: Path, rank: int) -> None:
    makers = max(1, settings.workers * 3 // 4)
    if rank >= makers:
        return
    encoder = open_encoder(tokenizer)
    for job in jobs(levels, settings.amounts)[rank::makers]:
        made = pairs(job, encoder, settings) if job.kind == PERMUTED else questions(job, encoder, settings)
        write_atomic(folder / job.file, pickle.dumps(made, protocol=5))


def questions(job: Job, encoder: Encoder, settings: Settings) -> list[Encoded]:
    """The first questions of a job that fit a bucket: fewer than asked for where most are too long.

    Raises NothingToJudgeError where all are.
    """
    made: list[Encoded] = []
    for number in range(TRIES * job.amount):
        encoded = encoder.encode(drawn(job.family, job.split, number, job.level), job.form)
        made += [item for item in encoded if _fits(item, settings)]
        if len(made) >= job.amount:
            break
    if job.amount and not made:
        raise NothingToJudgeError(
            f"no {job.split} question of family {job.family}, level {job.level}, fits a bucket in the form {job.form}: "
            f"{TRIES * job.amount} samples were tried"
        )
    return made[: job.amount]


def pairs(job: Job, encoder: Encoder, settings: Settings) -> list[Pair]:
    """Choices of a family that fit a bucket, each in two orders; fewer than asked for, or none, where it has few."""
    made: list[Pair] = []
    for number in range(TRIES * job.amount):
        sample = drawn(job.family, job.split, AGAIN + number, job.level)
        turned = permuted(sample)
        if turned is not None:
            other, order = turned
            pair = Pair(encoder.encode(sample, job.form)[0], encoder.encode(other, job.form)[0], order)
            if _fits(pair.first, settings) and _fits(pair.second, settings):
                made.append(pair)
        if len(made) == job.amount:
            break
    return made


def permuted(sample: Sample) -> tuple[Sample, tuple[int, ...]] | None:
    """A sample's first question, where it is a choice, with its candidates in another order; None where it is none."""
    name, question = next(iter(sample.questions.items()))
    if question.get("type", "choice") != "choice":
        return None
    keys = list(question["criteria"])
    order = list(range(len(keys)))
    rng = random.Random(f"{sample.family}/{name}/{keys}/{sample.state}")
    while order == sorted(order):
        rng.shuffle(order)
    turned = {**question, "criteria": {keys[place]: question["criteria"][keys[place]] for place in order}}
    right = order.index(sample.right[name])
    return dataclasses.replace(
        sample, questions={name: turned}, right={name: right}, expected={name: keys[order[right]]}
    ), tuple(order)


def _fits(item: Encoded, settings: Settings) -> bool:
    return bucket_for(settings.buckets, len(item.ids), item.patches) is not None


def fewer(got: Mapping[Job, int]) -> list[dict[str, Any]]:
    """Where there are fewer samples than were asked for, a row each: of what, the family, asked and got at all its levels."""
    asked: Counter[tuple[str, str, str, str]] = Counter()
    there: Counter[tuple[str, str, str, str]] = Counter()
    for job, number in got.items():
        row = (job.kind, job.split, job.form, job.family)
        asked[row] += job.amount
        there[row] += number
    return [
        {"kind": row[0], "split": row[1], "form": row[2], "family": row[3], "asked": asked[row], "got": there[row]}
        for row in asked
        if there[row] < asked[row]
    ]


def quick(found: Sequence[Sequence[Encoded]], amount: int) -> list[Encoded]:
    """`amount` of a family's questions, as evenly from its levels as they come."""
    mixed = [item for row in zip_longest(*found) for item in row if item is not None]
    return mixed[:amount]
