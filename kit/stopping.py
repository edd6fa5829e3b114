"""SIGTERM taken as Ctrl-C, so that what is under way ends in words and leaves nothing behind.

Covers: one context manager around work that cleans up as Python unwinds. Does not cover: servers, which end in an order of
their own (`kit.serve.listener`).
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class Stop:
    """Whether somebody asked the work to end."""

    def __init__(self, *, once: bool) -> None:
        self.asked = False
        self._once = once

    def raise_it(self, *_: object) -> None:
        """A handler of signals."""
        again, self.asked = self.asked, True
        if not (again and self._once):
            raise KeyboardInterrupt


@contextmanager
def stoppable(*, once: bool = False) -> Iterator[Stop]:
    """While inside, SIGTERM raises KeyboardInterrupt, as Ctrl-C does, and it is known that either came.

    What ends in the middle may raise something else on its way out: a CUDA stream that was capturing does. A Ctrl-C that is
    ignored, as in the background, stays so; outside the main thread nothing changes.

    once: whoever asks again is not heard, so that tidying up is not broken off; for work whose tidying up cannot take long.
    """
    stop, before = Stop(once=once), dict[int, Any]()
    if threading.current_thread() is threading.main_thread():
        before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
        before = {number: handler for number, handler in before.items() if handler is not signal.SIG_IGN}
    for number in before:
        signal.signal(number, stop.raise_it)
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
