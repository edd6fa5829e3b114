"""What a training run is made with: shapes of its batches, rates, times, amounts.

Covers: `Bucket`, `Settings` and the published ones. Does not cover: the network's own sizes (its config.json) or the
mixture of tasks, which the curriculum moves. Imports nothing heavy: workers read it too.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

Phase = Literal["base", "adapter"]
PHASES: tuple[Phase, ...] = ("base", "adapter")
FORMS: dict[Phase, Literal["bare", "chat"]] = {"base": "bare", "adapter": "chat"}


@dataclass(frozen=True)
class Bucket:
    """The fixed shape of a batch. tokens, patches: of one sample at most. batch: samples."""

    tokens: int
    patches: int
    batch: int

    @property
    def name(self) -> str:
        return f"{self.tokens}x{self.batch}" + (f"+{self.patches}" if self.patches else "")


def bucket_for(buckets: Sequence[Bucket], tokens: int, patches: int) -> Bucket | None:
    """The first bucket that takes a sample, text going only where no patches are; None where none does.

    `buckets` are in ascending order of what they hold.
    """
    for bucket in buckets:
        if tokens <= bucket.tokens and patches <= bucket.patches and bool(patches) == bool(bucket.patches):
            return bucket
    return None


def sized(buckets: Sequence[Bucket], step_tokens: int) -> tuple[Bucket, ...]:
    """The same buckets with as many samples as `step_tokens` hold, one at least. Raises ValueError below one token."""
    if step_tokens < 1:
        raise ValueError(f"a step has one token at least, not {step_tokens}")
    return tuple(dataclasses.replace(bucket, batch=max(1, step_tokens // bucket.tokens)) for bucket in buckets)


STEP_TOKENS = 36_864  # of every bucket, which divides it, so that what works on tokens alone has one shape
BUCKETS = sized(
    (
        *(Bucket(tokens, 0, 1) for tokens in (64, 128, 192, 256, 384, 512, 768, 1152)),
        *(
            Bucket(tokens, patches, 1)
            for tokens, patches in (
                *((192, 288), (256, 288), (384, 640), (384, 1024), (512, 1536)),
                *((768, 1024), (1152, 1536)),  # long texts beside a screen or two
                (1536, 4096),  # four images of 512x512 are 1,024 tokens: words need room beside them
            )
        ),
    ),
    STEP_TOKENS,
)


@dataclass(frozen=True)
class Rates:
    """Of one phase. share: of the run's seconds. warm_up: steps. decay: of matrices. flags: weight of the candidates' loss.

    text: weight of the next token's loss in prompts, behind their images; reason: in reasons, which prompts end with where
    this is not 0; hint: of the right text's at the end of the question. 0 leaves one out.
    """

    share: float
    peak: float
    warm_up: int = 150
    decay: float = 0.1
    flags: float = 1.0
    text: float = 0.0
    reason: float = 0.0
    hint: float = 0.0


@dataclass(frozen=True)
class Amounts:
    """Samples a family and level. quick: of the regular evaluation, a family."""

    held_out: int = 150
    calibration: int = 120
    permuted: int = 400
    quick: int = 200


@dataclass(frozen=True)
class Settings:
    """seconds: of wall time for everything. steps: of a phase at most, 0 for as many as fit.

    dropout: of BPE merges, which the library draws without a seed. below: the share of samples from under a family's level.
    images, most_images: the least and the largest share of samples with screens once they have joined; between them it
    follows the errors. slots: batches a worker prepares ahead.
    """

    seconds: float = 1300.0
    steps: int = 0
    seed: int = 1
    workers: int = 20
    buckets: tuple[Bucket, ...] = BUCKETS
    base: Rates = Rates(share=0.84, peak=2.5e-3, text=1.0, reason=1.0, hint=0.3)
    adapter: Rates = Rates(share=0.12, peak=1.5e-3, warm_up=50, decay=0.0)
    amounts: Amounts = field(default_factory=Amounts)
    clip: float = 1.0
    dropout: float = 0.15
    below: float = 0.4
    images: float = 0.3
    most_images: float = 0.5
    slots: int = 3
    curriculum_every: int = 100  # steps
    evaluate_every: float = 45.0  # seconds
    save_every: float = 50.0  # seconds

    def rates(self, phase: Phase) -> Rates:
        return self.base if phase == "base" else self.adapter


def changed(settings: Settings, assignment: str) -> Settings:
    """Settings with one value changed, as in `base.hint=1.0` or `images=0.3`. Raises ValueError for anything else."""
    path, _, value = assignment.partition("=")
    *outer, name = path.split(".")
    owner: Any = settings
    for part in outer:
        owner = getattr(owner, part, None)
    old = getattr(owner, name, None)
    if not isinstance(old, (int, float)):
        raise ValueError(f"{assignment!r}: there is no number {path!r} in the settings")
    try:
        new = dataclasses.replace(owner, **{name: type(old)(value)})
    except ValueError as error:
        raise ValueError(f"{assignment!r}: {path} is a number such as {old}, not {value!r}") from error
    return dataclasses.replace(settings, **{outer[0]: new}) if outer else new


TINY = Settings(
    seconds=900.0,
    steps=20,
    workers=1,
    buckets=(Bucket(256, 0, 8), Bucket(512, 0, 4), Bucket(1152, 0, 1), Bucket(512, 1024, 4), Bucket(1536, 4096, 1)),
    base=Rates(share=0.5, peak=2e-3, warm_up=5, text=0.3, reason=1.0, hint=0.3),
    adapter=Rates(share=0.5, peak=1.5e-3, warm_up=5, decay=0.0),
    amounts=Amounts(held_out=2, calibration=2, permuted=4, quick=4),
    curriculum_every=5,
    evaluate_every=5.0,
    save_every=5.0,
)  # what tests run
