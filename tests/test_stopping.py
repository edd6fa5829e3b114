"""SIGTERM and Ctrl-C end work in the same way, and are what they were before and after it."""

import os
import signal

import pytest

from kit.stopping import stoppable


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_either_signal_interrupts_and_is_known_to_have_come(number: signal.Signals) -> None:
    before = signal.getsignal(number)
    with stoppable() as stop, pytest.raises(KeyboardInterrupt):
        os.kill(os.getpid(), number)
    assert stop.asked
    assert signal.getsignal(number) == before


@pytest.mark.parametrize("once", [True, False])
def test_tidying_up_is_broken_off_by_whoever_asks_again_unless_once_is_enough(once: bool) -> None:
    tidied: list[bool] = []

    def work() -> None:
        try:
            os.kill(os.getpid(), signal.SIGINT)
        finally:
            os.kill(os.getpid(), signal.SIGTERM)
            tidied.append(True)

    with stoppable(once=once), pytest.raises(KeyboardInterrupt):
        work()
    assert tidied == [True] * once


def test_signals_are_as_before_afterwards_and_ignored_ones_stay_ignored() -> None:
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        with stoppable() as stop:
            assert signal.getsignal(signal.SIGTERM) == stop.raise_it
            assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
        assert signal.getsignal(signal.SIGTERM) == before[signal.SIGTERM]
    finally:
        signal.signal(signal.SIGINT, before[signal.SIGINT])
