"""The text of long documents: no two lines that one question could mean, and nothing called by how another thing is."""

from __future__ import annotations

import random
import re
from collections import Counter

import pytest

from kit.checkpoint.training.samples import SPLITS, Split
from kit.checkpoint.training.tasks import document_text, document_words
from kit.contract.prompt import state_text


@pytest.mark.parametrize("split", SPLITS)
def test_every_thing_has_one_line_and_no_two_lines_of_a_topic_share_a_value(split: Split) -> None:
    for seed in range(25):
        made = document_text.write(random.Random(seed), split, seed % 5)
        things = [line.thing for line in made.lines]
        assert len(set(things)) == len(things) >= 2
        text = state_text(made.state)
        assert all(text.casefold().count(thing.casefold()) == 1 for thing in things), seed
        for slot in document_text.UNIQUE - {"other"}:
            values = Counter((line.topic.name, line.values[slot]) for line in made.lines if line.topic and slot in line.values)
            assert max(values.values(), default=0) <= 1, (slot, values.most_common(1))


def test_no_thing_is_called_by_how_another_is() -> None:
    states = {word for split in SPLITS for group in document_words.STATES.of(split) for word in re.findall(r"\w+", group)}
    for split in SPLITS:
        assert not states & set(document_text._adjectives(split))
        assert len(document_text._adjectives(split)) * len(document_text._things(split)) > 400


def test_a_head_names_what_its_entry_is_found_by_and_goes_up() -> None:
    for kind, heads in document_text.HEADS.items():
        for count in (1, 2, 7, 8, 40):
            made = heads(random.Random(count), "train", count)
            assert len(made) == count
            whens = list(dict.fromkeys(when for when, _ in made))
            assert [when for when, _ in made] == sorted((when for when, _ in made), key=whens.index)  # no name comes back
            if kind in document_text.ENTERED:
                assert all(when.removeprefix("point ") in head for when, head in made)
                assert len(whens) == {"day": min(count, 7), "date": min(count, 28)}.get(kind, count)
            else:
                assert whens == [""]


def test_lines_that_are_given_stand_in_the_section_of_their_kind() -> None:
    for seed in range(20):
        made = document_text.write(random.Random(seed), "train", seed % 5, [document_text.Line("Ruled.")], [document_text.Line("Noted.")])
        sections = {line.text: line.when.startswith("rule ") for line in made.lines if line.topic is None}
        assert sections == {"Ruled.": True, "Noted.": False}
        assert made.doc == "text"
        assert made.heads == ""


def test_no_line_names_a_person_or_a_state_that_is_reserved() -> None:
    writer = document_text.Writer(random.Random(0), "train")
    free = set(document_words.STATES.train[:3])
    for group in set(document_words.STATES.train) - free:
        writer.reserve_states(group)
    people = {writer.person() for _ in range(200)}
    for person in people:
        writer.reserve_person(person)
    lines = [line for _ in range(400) if (line := writer.line(writer.rng.choice(document_words.NOTES)))]
    assert len(lines) > 50
    assert not people & {line.values.get(slot) for line in lines for slot in ("who", "other")}
    assert 0 < sum("state" in line.values for line in lines) <= len(free)
