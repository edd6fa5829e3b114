"""What a person sees of a run: one line a stage, and a bar over the requests sent where there is a terminal.

Covers: stderr only (stdout carries the final JSON line alone). The bar counts lines of the exchange records,
the same file the evidence is made of. Does not cover: logging inside stages.
"""

from __future__ import annotations

import sys
import threading
import time
from types import TracebackType
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TaskID, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar

from kit.campaign.run_folder import Run

POLL_S = 0.5


class Progress:
    """Context manager around a run; every method prints at most one line."""

    def __init__(self, run: Run, stages: tuple[str, ...]) -> None:
        self._run = run
        self._stages = stages
        self._console = Console(stderr=True, highlight=False, soft_wrap=True)
        self._bar: Bar | None = None
        self._task: TaskID | None = None
        self._closing = threading.Event()
        self._began = self._stage_began = time.monotonic()

    def __enter__(self) -> Progress:
        self.note(f"run {self._run.id}: {len(self._stages)} stages")
        if sys.stderr.isatty():
            self._bar = Bar(
                TextColumn("{task.description:24}"), BarColumn(), MofNCompleteColumn(), TextColumn("requests"),
                TimeElapsedColumn(), console=self._console, transient=True,
            )  # fmt: skip
            self._task = self._bar.add_task("starting", total=planned_posts(self._run))
            self._bar.start()
            threading.Thread(target=self._poll, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closing.set()
        if self._bar is not None:
            self._bar.stop()

    def note(self, text: str) -> None:
        self._console.print(text, markup=False)

    def started(self, stage: str) -> None:
        self._stage_began = time.monotonic()
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, description=stage)

    def done(self, stage: str) -> None:
        self._line(stage, f"done    {time.monotonic() - self._stage_began:6.1f} s")

    def skipped(self, stage: str) -> None:
        self._line(stage, "kept    (finished earlier)")

    def failed(self, stage: str, error: Exception) -> None:
        self._line(stage, f"FAILED  {time.monotonic() - self._stage_began:6.1f} s\n    {error}")

    def finished(self, audit: dict[str, Any], show_problems: bool) -> None:
        """show_problems: False after a failed stage, whose error says more than all that is missing since."""
        self.note(f"audit {audit['audit']}, {time.monotonic() - self._began:.0f} s in all")
        self.note(f"report: {self._run.path}/report.html")
        for problem in audit["problems"][:10] if show_problems else ():
            self.note(f"    {problem}")

    def _line(self, stage: str, what: str) -> None:
        number = self._stages.index(stage) + 1
        self.note(f"[{number:2}/{len(self._stages)}] {stage:16} {what}")

    def _poll(self) -> None:
        while not self._closing.wait(POLL_S):
            if self._bar is not None and self._task is not None:
                self._bar.update(self._task, completed=sent_posts(self._run))


def planned_posts(run: Run) -> int:
    """Requests the whole campaign sends."""
    from kit.campaign.plan import planned_counts

    return sum(planned_counts(run.protocol, run.profile).values())


def sent_posts(run: Run) -> int:
    """Exchange lines recorded so far (each file begins with a header line)."""
    files = run.path.glob("records/*/exchanges.jsonl")
    return sum(max(0, file.read_bytes().count(b"\n") - 1) for file in files)
