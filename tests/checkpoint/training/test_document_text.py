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
