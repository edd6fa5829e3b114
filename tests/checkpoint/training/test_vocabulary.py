"""Words and wordings belong to one split each."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from kit.checkpoint.training.samples import SPLITS, Split
from kit.checkpoint.training.vocabulary import (
    LISTS,
    RUDE,
    Wordings,
    coined,
    invented,
    several,
    split_of,
    strange,
    words,
)


@pytest.mark.parametrize("kind", LISTS)
def test_no_word_is_in_two_splits(kind: str) -> None:
    pools = [set(words(kind, split)) for split in SPLITS]
    assert all(pools)
    assert sum(map(len, pools)) == len(set().union(*pools)) == len(set(LISTS[kind]))
    assert all(split_of(word) == split for split, pool in zip(SPLITS, pools, strict=True) for word in pool)


@pytest.mark.parametrize("make", [invented, coined, strange])
@pytest.mark.parametrize("split", SPLITS)
def test_made_words_are_of_the_split_they_are_asked_for(split: Split, make: Callable[[random.Random, Split], str]) -> None:
    rng = random.Random(4)
    made = {make(rng, split) for _ in range(300)}
    assert len(made) > 200
    assert all(split_of(word) == split and not RUDE.search(word) for word in made)


def test_more_words_than_a_list_has_are_invented() -> None:
    found = several(random.Random(2), "text key", "held-out", 30)
    assert len(set(found)) == 30


def test_train_has_many_more_words_than_its_lists() -> None:
    """What is looked up later are words never seen: with the lists alone the keys of train would be learned by heart."""
    rng = random.Random(3)
    found = [word for _ in range(200) for word in several(rng, "text key", "train", 4)]
    listed = set(words("text key", "train"))
    assert 0.35 < sum(word not in listed for word in found) / len(found) < 0.6
    assert len(set(found)) > 250


def test_a_wording_shared_by_two_splits_is_refused() -> None:
    with pytest.raises(ValueError, match="shared"):
        Wordings(train=("a", "b"), calibration=("c",), held_out=("b",))
