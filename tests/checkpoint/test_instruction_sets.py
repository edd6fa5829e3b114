"""Frozen answers hold on other people's CPUs: what another instruction set does to cpu-tiny, on the whole protocol."""

from __future__ import annotations

from pathlib import Path

import pytest

from kit.profile import PROJECT_ROOT
from tests.checkpoint.instruction_sets import OTHER_CPU, Answers, answers, answers_under, largest_change

PROFILE = "params/cpu-tiny.toml"

CORPUS = PROJECT_ROOT / "evidence" / "protocol" / "corpus.jsonl"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not CORPUS.is_file(), reason="no protocol in this checkout"),
]


@pytest.fixture(scope="module")
def here() -> Answers:
    return answers(PROFILE)


def test_another_instruction_set_moves_no_probability_by_more_than_0_012(here: Answers, tmp_path: Path) -> None:
    """Two opposite BF16 steps of logits between 4 and 8 at even odds: the most that leaves room below 0.02."""
    change, question = largest_change(here, answers_under(OTHER_CPU, PROFILE, tmp_path))
    assert change <= 0.012, question


def test_answers_are_spread_and_logits_are_small(here: Answers) -> None:
    """Confidences from 0.4 to 0.99, close calls and clear ones; logits where a BF16 step is 1/32 or less."""
    few = [max(a["probabilities"]) for a in here.values() if len(a["logits"]) <= 4]
    assert min(few) < 0.6
    assert max(few) > 0.98
    assert max(abs(x) for a in here.values() for x in a["logits"]) < 8
    margins = [sorted(a["probabilities"])[-1] - sorted(a["probabilities"])[-2] for a in here.values()]
    assert min(margins) < 0.05
    assert max(margins) > 0.95


def test_answers_depend_on_the_request(here: Answers) -> None:
    """Many winners, and no two questions of different requests with the same logits."""
    winners = {a["probabilities"].index(max(a["probabilities"])) for a in here.values()}
    assert len(winners) >= 5
