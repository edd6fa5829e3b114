"""What a session means to measure, in which order and for how long; and what it found. Nothing heavy is imported.

Covers: the lengths and settings, the phases with their importance and expected time, and the plain containers of
samples and facts. Does not cover: doing it (`kit.campaign.performance.session`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kit.campaign.performance.budget import Phase
from kit.campaign.performance.timing import Series

if TYPE_CHECKING:
    from kit.engine.baseline import Logits

CORE_LENGTHS = (98, 392, 1024, 171, 2282)  # in the order of importance
LONG = 8192
STREAM_LENGTHS = 57
STREAM_FIRST, STREAM_STEP = 96, 4


def stream_lengths() -> tuple[int, ...]:
    """57 different prompt lengths, short ones, in an order without a trend."""
    lengths = [STREAM_FIRST + STREAM_STEP * i for i in range(STREAM_LENGTHS)]
    return tuple(lengths[(i * 23) % STREAM_LENGTHS] for i in range(STREAM_LENGTHS))


@dataclass(frozen=True)
class Settings:
    """What a session does. budget_s: for everything, loading included; blocks: interleaved rounds of samples."""

    budget_s: float = 330.0
    blocks: int = 6
    block_ms: float = 900.0
    lengths: Sequence[int] = CORE_LENGTHS
    long: int = LONG
    profiled: Sequence[int] = (98, 1024)
    served: Sequence[int] = (98, 392)
    merged: Sequence[int] = (98, 392, 1024)
    compiled: Sequence[int] = (98, 392)
    compile_seconds: float = 60.0
    stream: Sequence[int] = stream_lengths()


def phases(settings: Settings) -> list[Phase]:
    """All phases in the order they run in, with the seconds they take at 27B on one H200."""
    return [
        *(Phase(f"text {tokens}", 0, 7 + tokens / 250) for tokens in settings.lengths),
        Phase("vision-768x512", 0, 4),
        Phase("image-768x512", 1, 7),
        Phase("image-256x256", 1, 6),
        Phase("images-4", 1, 10),
        Phase("http", 2, 14),
        Phase("questions-4", 2, 8),
        Phase("adapter swap", 2, 4),
        Phase("profile", 2, 7),
        Phase("compiled", 3, 45),
        Phase("stream", 4, 60),
        Phase(f"text {settings.long}", 3, 25),
        Phase("merged", 1, 12),
        Phase("merged compiled", 5, 30),
    ]


@dataclass(frozen=True)
class Entry:
    """Samples of one engine at one workload, and what belongs to them.

    number: of the round. anchor: it took part for the sake of the ratios alone, and its own figures stand in an
    earlier entry. logits: of every question, None where none are compared. cold_ms: the first sight of this
    shape, captures and all. extra_bytes: device memory a run takes beyond the weights and gives back, None where
    that cannot be seen; pool_bytes: what its recordings hold.
    """

    number: int
    anchor: bool
    engine: str
    workload: str
    way: str
    tokens: int
    images: bool
    series: Series
    logits: Logits | None
    cold_ms: float | None
    extra_bytes: int | None
    pool_bytes: int


@dataclass
class Measured:
    """Everything a session found. seconds: what each phase took."""

    entries: list[Entry] = field(default_factory=list)
    not_measured: list[dict[str, str]] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
