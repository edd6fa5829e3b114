"""What a person sees of an attack while it lasts: how far it is, what was refused, and at once whatever did not end as it must.

Covers: standard error alone (the table and the document are on standard output); one line that renews itself on a terminal,
elsewhere, as in a log, a line every half minute. Does not cover: the table of a finished attack (`report`).
"""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import TextIO

from kit.evidence.attack.runner import Outcome

EVERY_S = 30.0  # between two lines where there is no terminal
FIRST = 20  # mutations after which the time left can be told
RENEW = "\r\x1b[K"  # to the beginning of the line, and clear it


class Progress:
    """Context manager around an attack, called after each mutation with the outcomes so far and how many there will be."""

    def __init__(self, stream: TextIO | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream = stream or sys.stderr
        self._terminal = self._stream.isatty()
        self._clock = clock
        self._began = self._shown = clock()

    def __enter__(self) -> Progress:
        self._show("first the untouched bundle: as it is, re-sealed, packed")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._terminal:
            self._write(RENEW)

    def __call__(self, outcomes: Sequence[Outcome], total: int) -> None:
        now = self._clock()
        if not outcomes:
            self._began = now
        elif outcomes[-1].fault:
            self._write(f"{RENEW if self._terminal else ''}{survivor(outcomes[-1])}\n")
        if self._terminal or len(outcomes) in (0, total) or now - self._shown >= EVERY_S:
            self._shown = now
            self._show(sentence(outcomes, total, now - self._began))

    def _show(self, text: str) -> None:
        text = f"kit attack: {text}"
        self._write(RENEW + text[: shutil.get_terminal_size().columns - 1] if self._terminal else f"{text}\n")

    def _write(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()


def sentence(outcomes: Sequence[Outcome], total: int, seconds: float) -> str:
    """How far an attack is after so many seconds."""
    if not outcomes:
        return f"the untouched bundle passes; {total} mutations to try"
    inside = [outcome for outcome in outcomes if not outcome.mutation.needs_anchor]
    parts = [f"{sum(not outcome.fault for outcome in inside)} of {len(inside)} refused"]
    if anchored := len(outcomes) - len(inside):
        parts.append(f"{anchored} left to an anchor")
    if FIRST <= len(outcomes) < total:
        parts.append(f"about {duration(seconds / len(outcomes) * (total - len(outcomes)))} left")
    return f"{len(outcomes)} of {total}, family {outcomes[-1].mutation.family}: {', '.join(parts)}"


def duration(seconds: float) -> str:
    return f"{seconds / 60:.0f} min" if seconds >= 90 else f"{seconds:.0f} s"


def survivor(outcome: Outcome) -> str:
    """What did not end as it must."""
    return f"NOT AS IT MUST BE  {outcome.mutation.id}: {printable(outcome.fault)}"


def printable(text: str) -> str:
    """A problem quotes what a forger wrote; a terminal must not obey it."""
    return text.encode("unicode_escape").decode()
