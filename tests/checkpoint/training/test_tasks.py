"""Every family: repeatable, labelled by its own candidates, uniform over positions, apart between splits."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from kit.checkpoint.training.mixture import STAGES, drawn, stream
from kit.checkpoint.training.samples import SPLITS
from kit.checkpoint.training.tasks import FAMILIES, SCREENS
from kit.checkpoint.training.tasks.actions import ACTIONS
from kit.checkpoint.training.vocabulary import LISTS, Wordings, split_of, words
from kit.contract.request import parse_request


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("split", SPLITS)
def test_a_sample_is_repeatable_and_its_answers_are_candidates(family: str, split: str) -> None:
    for index in range(20):
        sample = drawn(family, split, index)  # type: ignore[arg-type]
        assert sample.body() == drawn(family, split, index).body()  # type: ignore[arg-type]
        request = parse_request(sample.body(), ["JEMM"])
        for question in request.questions:
            assert question.candidates[sample.right[question.id]].id == sample.expected[question.id]
            assert len({candidate.text for candidate in question.candidates}) == len(question.candidates)


@pytest.mark.parametrize("family", FAMILIES)
def test_right_candidates_stand_at_every_position_alike(family: str) -> None:
    """Only of families that order their candidates freely: the count of a score follows from what it counts."""
    positions: Counter[tuple[int, int]] = Counter()
    for index in range(1500 if family not in SCREENS else 500):
        sample = drawn(family, "train", index, 4)
        for name, question in sample.questions.items():
            criteria = question.get("criteria") or {"yes": "", "no": ""}
            positions[len(criteria), sample.right[name]] += 1
    for count in (2, 3, 4):
        total = sum(positions[count, n] for n in range(count))
        if total < 120:
            continue
        for n in range(count):
            assert abs(positions[count, n] / total - 1 / count) < 4 * (1 / count / total) ** 0.5 + 0.02, (count, n, positions)


@pytest.mark.parametrize("kind", LISTS)
def test_no_word_is_in_two_splits(kind: str) -> None:
    pools = [set(words(kind, split)) for split in SPLITS]
    assert all(pools)
    assert sum(map(len, pools)) == len(set().union(*pools)) == len(set(LISTS[kind]))
    assert all(split_of(word) == split for split, pool in zip(SPLITS, pools, strict=True) for word in pool)


def test_a_wording_shared_by_two_splits_is_refused() -> None:
    with pytest.raises(ValueError, match="shared"):
        Wordings(train=("a", "b"), calibration=("c",), held_out=("b",))


def test_every_tool_has_pairs_for_every_split_and_all_its_words_in_train() -> None:
    assert len(ACTIONS) >= 40
    assert len({action.name for action in ACTIONS}) == len(ACTIONS)
    for action in ACTIONS:
        train = action.pairs("train")
        assert {verb for verb, _ in train} == set(action.verbs)
        assert {thing for _, thing in train} == set(action.objects)
        assert all(action.pairs(split) for split in SPLITS)


@pytest.mark.parametrize("family", FAMILIES)
def test_no_held_out_prompt_occurs_in_train(family: str) -> None:
    """Compared without digits: a sentence with another number is the same sentence."""

    def questions(split: str) -> set[str]:
        found = set()
        for index in range(300 if family not in SCREENS else 60):
            sample = drawn(family, split, index)  # type: ignore[arg-type]
            found |= {re.sub(r"\d+", "#", question["instructions"]) for question in sample.questions.values()}
        return found

    assert not questions("train") & questions("held-out")


@pytest.mark.parametrize("stage", STAGES)
def test_a_stage_keeps_to_its_candidates_and_a_stream_can_be_shared(stage: str) -> None:
    whole = [next_sample.body() for next_sample, _ in zip(stream("train", 3, stage), range(6), strict=False)]
    shared = [
        [next_sample.body() for next_sample, _ in zip(stream("train", 3, stage, rank, 2), range(3), strict=False)] for rank in (0, 1)
    ]
    assert whole == [body for pair in zip(*shared, strict=True) for body in pair]
    for sample, _ in zip(stream("train", 4, stage), range(60), strict=False):
        for question in sample.questions.values():
            assert len(question.get("criteria") or ("yes", "no")) <= max(STAGES[stage].most, 2)
