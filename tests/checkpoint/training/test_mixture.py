"""A table of weights and levels decides what comes next; the same tables give the same samples."""

from __future__ import annotations

import random
from collections import Counter
from itertools import islice

import pytest

from kit.checkpoint.training.mixture import FAMILIES, FULL, LEVELS, WEIGHTS, Mixture, drawn, stream

START = Mixture(WEIGHTS, dict.fromkeys(WEIGHTS, 0))


def test_families_come_by_weight_and_levels_at_the_top_mostly() -> None:
    table = Mixture({"match": 3.0, "facts": 1.0}, {"match": 4, "facts": 0}, below=0.3)
    rng = random.Random(1)
    found = Counter(table.draw(rng) for _ in range(4000))
    assert abs(sum(n for (family, _), n in found.items() if family == "match") / 4000 - 0.75) < 0.03
    assert abs(found["match", 4] / 3000 - 0.7) < 0.04
    assert all(abs(found["match", level] / 3000 - 0.075) < 0.025 for level in range(4))
    assert {level for family, level in found if family == "facts"} == {0}


@pytest.mark.parametrize("table", [START, FULL])
def test_a_whole_table_has_every_family(table: Mixture) -> None:
    assert set(table.weights) == set(FAMILIES)


def test_an_unknown_family_or_level_is_refused() -> None:
    with pytest.raises(ValueError, match="no family 'chess'"):
        Mixture({"chess": 1.0}, {"chess": 0})
    with pytest.raises(ValueError, match="match has levels 0 to 4, not 5"):
        Mixture({"match": 1.0}, {"match": 5})


def test_workers_share_a_stream_and_follow_the_table() -> None:
    table = Mixture({"facts": 1.0, "numbers": 1.0, "score": 1.0}, {"facts": 5, "numbers": 4, "score": 3})
    whole = [sample.body() for sample in islice(stream("train", 3, lambda: table), 12)]
    halves = [
        [sample.body() for sample in islice(stream("train", 3, lambda: table, rank, 2), 6)] for rank in (0, 1)
    ]
    assert whole == [body for pair in zip(*halves, strict=True) for body in pair]
    current = [START]
    samples = stream("train", 3, lambda: current[0])
    assert {sample.level for sample in islice(samples, 20)} == {0}
    current[0] = FULL
    assert any(sample.level > 0 for sample in islice(samples, 20))


def test_the_hardest_level_is_drawn_where_none_is_named() -> None:
    assert all(drawn(family, "train", 1).level == LEVELS[family] - 1 for family in ("match", "facts"))
