"""What rules, instructions, events and relations are put together from says what the answer takes it to say."""

from __future__ import annotations

import random
import re

import pytest

from kit.checkpoint.training.samples import SPLITS
from kit.checkpoint.training.tasks import document_words, events, everyday, orders, relations, rules

RANGES = {"UP_TO": (True, True), "UNDER": (True, False), "FROM": (False, True), "OVER": (False, False)}  # low, the limit itself inside


@pytest.mark.parametrize("name", RANGES)
def test_a_range_holds_what_its_words_say(name: str) -> None:
    """On the limit and on either side of it, by what a case made of the wording says holds."""
    low, inclusive = RANGES[name]
    templates = [text for split in SPLITS for text in getattr(rules, name).of(split)]
    patterns = [re.compile(re.escape(text).replace(r"\{thing\}", r"an? (?:print )?\w+").replace(r"\{q\}", r"\d+ \w+")) for text in templates]
    found, exact = 0, 0
    for seed in range(1500):
        for split in SPLITS:
            case = rules._ranged(random.Random(seed), split, 4)
            n, relation, cap, span, so = re.match(r"(\d+) is (\w+) (\d+), (.*): (so|not so), ", case.told).groups()  # type: ignore[union-attr]
            if not any(pattern.fullmatch(span) for pattern in patterns):
                continue
            found, exact = found + 1, exact + (relation == "exactly")
            inside = int(n) < int(cap) if low else int(n) > int(cap)
            assert (so == "so") == (inside or (inclusive and n == cap)), case
            assert case.outcome in rules.SAYS
    assert found > 100
    assert exact > 15


@pytest.mark.parametrize("orders_of", [orders.IN_ORDER, orders.OUT_OF_ORDER])
def test_an_instruction_names_every_step_once_or_twice(orders_of: rules.Wordings) -> None:
    for split in SPLITS:
        for text in orders_of.of(split):
            slots = re.findall(r"\{(\w)\}", text.casefold())
            assert set(slots) == {"a", "b", "c"}, text
            assert len(slots) <= 4, text


def test_both_things_of_a_relation_are_named() -> None:
    for relation in relations.RELATIONS:
        for split in SPLITS:
            assert all("{a}" in text and "{b}" in text for text in relation.states.of(split))


def test_what_is_said_in_everyday_words_is_denied_word_by_word() -> None:
    for topic in everyday.TOPICS:
        values = [value for way in topic.ways for value in way.values]
        assert len(values) == len(set(map(str, values)))
        assert all(len(way.said) == len(way.denied) for way in topic.ways)
    assert all(text.count("|") == 3 for split in SPLITS for text in everyday.LISTED.of(split))
    assert all(text.count("|") == 4 for split in SPLITS for text in everyday.MEASURED.of(split))


def test_every_contrast_is_said_in_short() -> None:
    assert len(events.CONTRASTS) == len(events.IN_SHORT)
    assert all(not set(item.so) & set(item.not_so) for item in events.CONTRASTS)


def test_first_and_last_go_by_the_clock() -> None:
    for seed in range(60):
        made = events._rows(random.Random(seed), "train", 4)
        clock = sorted(made, key=lambda row: events._minutes(row.time))
        part = events._end(random.Random(seed), "train", list(made), 3)
        right = list(part.question["criteria"].values())[part.right]
        said = right["description"] if isinstance(right, dict) else right
        assert said in (clock[0].who, clock[-1].who)
        last = part.question["instructions"] in events.ENDS[True].train
        assert said == clock[-1 if last else 0].who


def test_values_that_candidates_are_made_of_are_three_at_least_in_every_split() -> None:
    """A line of a document may take one of them, and its question still needs another beside it."""
    for pool in (rules.BOSSES, document_words.ROOMS, orders.STEPS):
        assert all(len(set(pool.of(split))) >= 3 for split in SPLITS), pool
