"""Interleaved timing on a made-up clock: who runs when, and what is kept."""

from __future__ import annotations

import pytest

from kit.campaign.performance.timing import Contender, WallWatch, measure, order, repeats_for


class Clock:
    """A clock that work moves forward."""

    def __init__(self) -> None:
        self.now = 0.0
        self.ran: list[str] = []

    def __call__(self) -> float:
        return self.now

    def contender(self, name: str, seconds: float) -> Contender:
        def run() -> None:
            self.ran.append(name)
            self.now += seconds

        return Contender(name, run)


def test_blocks_go_forwards_and_backwards() -> None:
    assert order("abc", 0) == ["a", "b", "c"]
    assert order("abc", 1) == ["c", "b", "a"]
    clock = Clock()
    measure([clock.contender("a", 1), clock.contender("b", 2)], WallWatch(clock), blocks=5, repeats=2)
    assert "".join(clock.ran) == "aabb" + "bbaa" + "aabb" + "bbaa" + "aabb"


def test_samples_are_milliseconds_in_blocks_without_device_times_on_a_wall_clock() -> None:
    clock = Clock()
    found = measure([clock.contender("a", 1), clock.contender("b", 2)], WallWatch(clock), blocks=6, repeats=3)
    assert found["a"].wall == [[1000.0] * 3] * 6
    assert found["b"].samples == 18
    assert found["b"].device == [[]] * 6


def test_fewer_than_five_blocks_are_refused() -> None:
    with pytest.raises(ValueError, match="expected at least 5"):
        measure([Contender("a", lambda: None)], WallWatch(), blocks=4, repeats=1)


@pytest.mark.parametrize(("round_ms", "repeats"), [(2000, 1), (900, 1), (450, 2), (300, 3), (10, 4), (0, 4)])
def test_long_rounds_have_fewer_samples_a_block(round_ms: float, repeats: int) -> None:
    assert repeats_for(round_ms, 900) == repeats
