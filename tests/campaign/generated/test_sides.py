"""Both sides in one process: the candidate on the reference's weights, the reference replayed where that is proved."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kit.campaign.generated.official import Official
from kit.campaign.generated.sides import Sides
from kit.campaign.prompts import generate_mixed
from kit.engine.reference import ReferenceEngine
from kit.profile import Profile


@pytest.fixture(scope="module")
def sides(profile: Profile) -> Iterator[Sides]:
    both = Sides(profile)
    yield both
    both.close()


def test_both_answer_with_the_same_bits(sides: Sides) -> None:
    for case in generate_mixed(6, seed=3):
        reference, candidate = sides.answer(sides.candidate.prepare(case.body))
        assert (reference.logits, reference.hidden) == (candidate.logits, candidate.hidden)
    assert sides.candidate.name == "graph"
    assert sides.facts() == {"reference": "called", "replays": 0, "shapes": 0, "shapes_refused": 0}


@pytest.fixture
def official(sides: Sides) -> ReferenceEngine:
    return sides.reference


def test_a_proved_shape_is_replayed(official: ReferenceEngine) -> None:
    bodies = [case.body for case in generate_mixed(6, seed=3)]
    replayed = Official(official, capture=True)
    for _ in range(2):
        for body in bodies:
            prepared = official.prepare(body)
            assert replayed.answer(prepared) == official.decide(prepared).questions[0]
    facts = replayed.facts()
    assert facts["reference"] == "captured"
    assert facts["shapes_refused"] == 0
    assert facts["replays"] == 12 - facts["shapes"] > 0
    replayed.close()


def test_a_shape_whose_replay_gives_other_bits_is_called(
    official: ReferenceEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = next(iter(generate_mixed(1, seed=3))).body
    prepared = official.prepare(body)
    called = official.decide(prepared).questions[0]
    monkeypatch.setattr(Official, "_replayed", lambda self, prepared: None)
    replayed = Official(official, capture=True)
    assert replayed.answer(prepared) == replayed.answer(prepared) == called
    assert replayed.facts() | {"reference": ""} == {"reference": "", "replays": 0, "shapes": 0, "shapes_refused": 1}
    replayed.close()
