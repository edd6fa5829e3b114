"""Every family at every level: repeatable, labelled by its own candidates, blind to nothing but the state."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator

import pytest

from kit.checkpoint.training.mixture import FAMILIES, LEVELS, SCREENS, TEXT, drawn
from kit.checkpoint.training.samples import SPLITS
from kit.checkpoint.training.tasks import route, triage
from kit.checkpoint.training.tasks.actions import ACTIONS
from kit.checkpoint.training.tasks.messages import MOST, spread
from kit.checkpoint.training.tasks.sayings import SAYINGS
from kit.checkpoint.training.tasks.scales import POLES, SCALES
from kit.checkpoint.training.tasks.teams import TEAMS
from kit.contract.prompt import Question
from kit.contract.request import compile_questions, parse_request

RUNGS = [(family, level) for family in FAMILIES for level in range(LEVELS[family])]
FREE = (*(family for family in TEXT if family not in ("score", "numbers", "multi")), "which_image")  # any order of candidates


def asked(family: str, level: int, count: int, first: int = 0) -> Iterator[tuple[Question, int]]:
    """Questions of the train split with the index of the right candidate."""
    for index in range(first, first + count):
        sample = drawn(family, "train", index, level)
        for question in compile_questions(sample.questions):
            yield question, sample.right[question.id]


@pytest.mark.parametrize(("family", "level"), RUNGS)
def test_a_sample_is_repeatable_and_its_answers_are_candidates(family: str, level: int) -> None:
    for split in SPLITS:
        for index in range(6):
            sample = drawn(family, split, index, level)
            assert (sample.family, sample.split, sample.level) == (family, split, level)
            assert sample.body() == drawn(family, split, index, level).body()
            for question in parse_request(sample.body(), ["any"]).questions:
                assert question.candidates[sample.right[question.id]].id == sample.expected[question.id]
                assert len({candidate.text for candidate in question.candidates}) == len(question.candidates)


@pytest.mark.parametrize("family", FREE)
def test_right_candidates_stand_at_every_position_alike(family: str) -> None:
    """Not of scores and counts, whose order is given: there it follows from what they count."""
    positions: dict[int, Counter[int]] = defaultdict(Counter)
    for question, right in asked(family, LEVELS[family] - 1, 600 if family in TEXT else 250):
        if question.type == "choice":
            positions[len(question.candidates)][right] += 1
    for count, found in positions.items():
        total = found.total()
        if total >= 80:
            deviation = (1 / count * (1 - 1 / count) / total) ** 0.5
            for at in range(count):
                assert abs(found[at] / total - 1 / count) < 4 * deviation, (count, found)


@pytest.mark.parametrize("family", TEXT)
def test_no_candidate_gives_itself_away(family: str) -> None:
    """Neither its text, nor its length, nor how much it is like the others says which is right."""
    level = LEVELS[family] - 1
    right: Counter[str] = Counter()
    seen: Counter[str] = Counter()
    for question, index in asked(family, level, 500, 10_000):
        seen.update(candidate.text for candidate in question.candidates)
        right[question.candidates[index].text] += 1
    hits: Counter[str] = Counter()
    chance = total = 0.0
    for question, index in asked(family, level, 400):
        texts = [candidate.text for candidate in question.candidates]
        rates = [right[text] / seen[text] if seen[text] > 5 else 0.0 for text in texts]
        words = [set(re.findall(r"\w+", text.casefold())) for text in texts]
        like = [sum(len(mine & other) for other in words) - len(mine) for mine in words]
        hits["text"] += rates.index(max(rates)) == index
        hits["longest"] += max(range(len(texts)), key=lambda at: len(texts[at])) == index
        hits["like the others"] += like.index(max(like)) == index
        chance += 1 / len(texts)
        total += 1
    allowed = 4 * (chance / total * (1 - chance / total) / total) ** 0.5
    assert {name: count / total for name, count in hits.items() if count / total > chance / total + allowed} == {}


@pytest.mark.parametrize("family", FAMILIES)
def test_no_held_out_question_occurs_in_train(family: str) -> None:
    """Compared without digits: a sentence with another number is the same sentence."""

    def questions(split: str) -> set[str]:
        found = set()
        for index in range(200 if family in TEXT else 40):
            sample = drawn(family, split, index)  # type: ignore[arg-type]
            found |= {re.sub(r"\d+", "#", item["instructions"]) for item in sample.questions.values()}
        return found

    assert not questions("train") & questions("held-out")


@pytest.mark.parametrize("family", FAMILIES)
def test_the_first_level_is_short_and_has_the_fewest_candidates(family: str) -> None:
    def most(level: int) -> int:
        return max(len(question.candidates) for question, _ in asked(family, level, 60 if family in TEXT else 12))

    assert most(0) <= (10 if family in ("multi", "special") else 3)
    assert most(0) <= most(LEVELS[family] - 1)


def test_every_tool_has_pairs_for_every_split_and_all_its_words_in_train() -> None:
    assert len({action.name for action in ACTIONS}) == len(ACTIONS) == 50
    for action in ACTIONS:
        train = action.pairs("train")
        assert {verb for verb, _ in train} == set(action.verbs)
        assert {thing for _, thing in train} == set(action.objects)
        assert all(action.pairs(split) for split in SPLITS)


def test_every_tool_is_asked_for_in_sentences_that_no_other_split_has() -> None:
    assert set(SAYINGS) == {action.name for action in ACTIONS}
    for sayings in SAYINGS.values():
        assert len(sayings.train) >= 8
        assert len(sayings.held_out) >= 2


def test_every_team_is_written_to_in_sentences_that_name_no_topic() -> None:
    for team in TEAMS.values():
        assert len(team.sayings.train) >= 12
        assert len(team.sayings.held_out) >= 3
        assert len(team.topics) >= 3


@pytest.mark.parametrize(("apart", "known"), [(triage.APART, set(TEAMS)), (route.APART, {action.name for action in ACTIONS})])
def test_what_is_kept_apart_is_known(apart: frozenset[frozenset[str]], known: set[str]) -> None:
    assert {len(pair) for pair in apart} == {2}
    assert set().union(*apart) <= known


def test_every_scale_has_levels_that_read_apart_in_every_form_and_two_ends() -> None:
    assert len(POLES) == len(SCALES)
    for scale in SCALES:
        assert len(scale.levels) >= 4
        assert len({len(level.said) for level in scale.levels}) == 1
        for said in zip(*(level.said for level in scale.levels), strict=True):
            assert len({text.casefold() for text in said}) == len(said)


def test_a_line_stands_for_every_reading_of_it() -> None:
    assert spread("it is [so;very;] cold[;!]") == ("it is so cold", "it is so cold!", "it is very cold", "it is very cold!", "it is cold", "it is cold!")
    assert 24 <= len(spread("[a;b;c][a;b;c][a;b;c][a;b;c]")) <= MOST


@pytest.mark.parametrize(("family", "level"), RUNGS)
def test_every_answer_has_a_reason_that_no_client_sees(family: str, level: int) -> None:
    for index in range(6):
        sample = drawn(family, "train", index, level)
        assert set(sample.reason) == set(sample.questions)
        assert all(sample.reason.values())
        assert b"reason" not in b",".join(key.encode() for key in json.loads(sample.body()))


@pytest.mark.parametrize("family", [name for name in SCREENS if name not in ("count", "beside")])
def test_a_caption_names_everything_in_order_and_ends_in_the_answer(family: str) -> None:
    for index in range(12):
        sample = drawn(family, "train", index)
        (question,) = compile_questions(sample.questions)
        (told,) = sample.reason.values()
        seen, _, answer = told.rpartition(": ")
        assert len(seen.split(", ")) >= 2
        assert answer == question.candidates[sample.right[question.id]].text


def test_marks_that_count_are_numbered_in_the_order_of_reading() -> None:
    for index in range(40):
        sample = drawn("count", "train", index)
        (question,) = compile_questions(sample.questions)
        (told,) = sample.reason.values()
        seen, _, total = told.rpartition(": ")
        numbers = [int(mark.split()[0]) for mark in seen.split(", ") if mark[0].isdigit()]
        assert numbers == list(range(1, int(total) + 1))
        assert question.candidates[sample.right[question.id]].text.split()[0] == total


def test_a_reason_is_foretold_by_the_sample_and_by_nothing_drawn_besides() -> None:
    """What is asked for comes first; only what follows it may stand in another order."""
    for index in range(40):
        sample = drawn("lookup", "train", index)
        (question,) = compile_questions(sample.questions)
        (told,) = sample.reason.values()
        first = told.split("; ")[0]
        key, _, value = first.partition(": ")
        right = question.candidates[sample.right[question.id]].text
        assert value in right or f"{key} {value}" in right.replace(" - ", " ").replace(": ", " ")


@pytest.mark.parametrize("family", SCREENS)
def test_a_screen_is_drawn_alike_on_every_call(family: str) -> None:
    one, two = (drawn(family, "train", 7).images for _ in range(2))
    assert [image.tobytes() for image in one] == [image.tobytes() for image in two]
