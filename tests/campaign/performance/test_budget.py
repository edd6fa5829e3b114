"""A budget is spent on what matters most, and says what it did not reach."""

from __future__ import annotations

import pytest

from kit.campaign.performance.budget import Budget, Phase
from kit.campaign.performance.plan import Settings, phases


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_what_fits_may_begin() -> None:
    clock = Clock()
    budget = Budget(30, [Phase("a", 0, 10), Phase("b", 0, 20), Phase("c", 0, 5)], clock=clock)
    assert budget.refusal("a") == ""
    clock.now += 10
    assert budget.refusal("b") == ""
    clock.now += 18
    assert budget.refusal("c") == "takes about 5 s; 2 s of the budget were left"


def test_a_less_important_phase_leaves_time_for_the_important_ones_behind_it() -> None:
    budget = Budget(30, [Phase("nice", 2, 25), Phase("needed", 0, 10)], clock=Clock())
    assert "10 s of it for what is more important" in budget.refusal("nice")
    assert budget.refusal("needed") == ""


def test_an_important_phase_does_not_wait_for_others() -> None:
    budget = Budget(12, [Phase("needed", 0, 10), Phase("nice", 2, 25)], clock=Clock())
    assert budget.refusal("needed") == ""


def test_it_counts_from_when_the_process_began() -> None:
    clock = Clock()
    budget = Budget(30, [Phase("a", 0, 10)], started=75.0, clock=clock)
    assert budget.left() == 5
    assert budget.refusal("a").endswith("5 s of the budget were left")


def test_phases_come_in_their_order_and_once() -> None:
    budget = Budget(30, [Phase("a", 0, 1)], clock=Clock())
    budget.refusal("a")
    with pytest.raises(StopIteration):
        budget.refusal("a")


def test_the_text_rows_come_before_everything_else_and_merging_before_what_is_merely_nice() -> None:
    rank = {phase.name: phase.rank for phase in phases(Settings())}
    assert {name for name, value in rank.items() if value == 0} == {
        "text 98", "text 171", "text 392", "text 1024", "text 2282", "vision-768x512",
    }  # fmt: skip
    assert rank["merged"] < rank["compiled"] < rank["stream"]
    assert list(rank)[-2:] == ["merged", "merged compiled"]
