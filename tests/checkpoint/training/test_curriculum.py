"""The table of tasks moves with what the network gets right."""

from __future__ import annotations

import numpy as np
import pytest

from kit.checkpoint.training.curriculum import CAP, FIRST, LEAST, Curriculum, Table, standing

LEVELS = {"match": 4, "facts": 3, "numbers": 3, "route": 2, "console": 3}
BEGINNERS = tuple(name for name in FIRST if name in LEVELS)


def begun() -> Curriculum:
    return Curriculum.begin(LEVELS, ("console",), images=0.25)


def feed(curriculum: Curriculum, shares: dict[str, float], fraction: float = 0.01, amount: int = 2 * LEAST) -> list[str]:
    """Counts at the top level of the families given, with these shares of right answers."""
    seen, right = np.zeros_like(curriculum.seen), np.zeros_like(curriculum.seen)
    for name, share in shares.items():
        row, top = curriculum.families.index(name), curriculum.tops[name]
        seen[row, top], right[row, top] = amount, amount * share
    return curriculum.update(seen, right, fraction)


def test_only_the_first_families_are_drawn_in_the_beginning() -> None:
    curriculum = begun()
    assert set(curriculum.weights()) == set(FIRST) & set(LEVELS)
    assert sum(curriculum.weights().values()) == pytest.approx(1)
    assert set(curriculum.tops.values()) == {0}


def test_a_family_climbs_when_its_top_level_is_learned() -> None:
    curriculum = begun()
    changes = feed(curriculum, {"match": 0.9, "facts": 0.6})
    assert curriculum.tops["match"] == 1
    assert curriculum.tops["facts"] == 0
    assert any("match climbs to level 1" in change for change in changes)


def test_a_few_lucky_answers_do_not_raise_it() -> None:
    curriculum = begun()
    feed(curriculum, {"match": 1.0}, amount=LEAST // 2)
    assert curriculum.tops["match"] == 0


def test_all_others_join_when_the_first_have_begun() -> None:
    curriculum = begun()
    feed(curriculum, dict.fromkeys(BEGINNERS, 0.7))
    assert curriculum.joined == set(BEGINNERS)
    feed(curriculum, dict.fromkeys(BEGINNERS, 0.9))
    assert curriculum.joined == set(LEVELS)


def test_the_share_of_screens_follows_their_errors_within_bounds() -> None:
    curriculum = Curriculum.begin(LEVELS, ("console",), images=0.3, known={}, most_images=0.5)

    def learned(texts: float, screens: float) -> float:
        seen = np.full_like(curriculum.seen, 1000.0)
        right = seen * texts
        right[curriculum.families.index("console")] = 1000.0 * screens
        curriculum.seen, curriculum.right = seen, right
        assert curriculum.weights()["console"] == pytest.approx(curriculum.share())
        return curriculum.share()

    assert learned(0.5, 0.5) == 0.3
    assert learned(0.95, 0.87) == pytest.approx(0.13 / 0.33)
    assert learned(0.99, 0.6) == 0.5
    curriculum.images = 0.7  # by hand
    assert learned(0.99, 0.6) == 0.7


def test_a_network_that_has_learned_before_meets_every_family_at_once() -> None:
    curriculum = Curriculum.begin(LEVELS, ("console",), images=0.3, known={})
    assert curriculum.joined == set(LEVELS)
    assert set(curriculum.tops.values()) == {0}


def test_a_family_goes_on_at_the_first_level_it_was_not_known_to_climb_from() -> None:
    known = {"0": 0.99, "1": 0.9, "2": 0.8, "3": 0.95}
    assert standing(known, 5) == 2
    assert standing(known, 2) == 1  # there are no more
    assert standing({}, 3) == 0
    assert standing({"0": 0.99}, 3) == 1  # nothing is said of a level that is new
    curriculum = Curriculum.begin(LEVELS, ("console",), images=0.3, known={"match": known})
    assert curriculum.tops == {name: min(2, LEVELS[name] - 1) if name == "match" else 0 for name in LEVELS}


def test_with_time_everything_joins_and_reaches_its_last_level() -> None:
    curriculum = begun()
    feed(curriculum, {}, fraction=0.2)
    assert curriculum.joined == set(LEVELS)
    assert set(curriculum.tops.values()) == {0}
    feed(curriculum, {}, fraction=0.8)
    assert curriculum.tops == {name: count - 1 for name, count in LEVELS.items()}


def test_weight_follows_the_error_that_remains_within_a_cap() -> None:
    curriculum = begun()
    feed(curriculum, {"match": 0.84, "facts": 0.1, "numbers": 0.84}, fraction=0.2)
    weights = curriculum.weights()
    texts = [weights[name] for name in ("match", "facts", "numbers", "route")]
    assert max(texts) == weights["facts"]
    assert max(texts) / min(texts) <= CAP + 1e-9
    assert weights["console"] == pytest.approx(0.25)


def test_a_weight_set_by_hand_stands() -> None:
    curriculum = begun()
    curriculum.fixed_weights = {"facts": 100.0}
    assert curriculum.weights()["facts"] > 0.9


def test_older_answers_fade() -> None:
    curriculum = begun()
    feed(curriculum, {"facts": 0.0})
    for _ in range(12):
        feed(curriculum, {"facts": 0.8})
    assert curriculum.accuracy("facts", 0) == pytest.approx(0.8, abs=0.01)


def test_it_goes_on_from_its_state() -> None:
    curriculum = begun()
    feed(curriculum, {"match": 0.9, "facts": 0.8, "numbers": 0.8}, fraction=0.05)
    other = begun()
    other.restore(curriculum.state())
    assert other.table() == curriculum.table()


def test_workers_read_weights_and_levels_from_the_table() -> None:
    table = Table(("match", "facts", "numbers"))
    before = table.version
    table.write({"match": 0.75, "facts": 0.25}, {"match": 2, "facts": 1, "numbers": 0})
    mixture = table.mixture(below=0.4)
    assert mixture.weights == {"match": 0.75, "facts": 0.25}
    assert mixture.top == {"match": 2, "facts": 1}
    assert table.version == before + 1
    table.set_phase(1)
    assert (table.phase, table.version) == (1, before + 2)
