"""generated.json from lines: what is counted, in which groups, and what a flip, a tie and a divergence are."""

from __future__ import annotations

import dataclasses
import json
import math
from pathlib import Path

import pytest

from kit.campaign.generated import lines, plots
from kit.campaign.generated.summary import divergence, flipped, summarise
from kit.campaign.reading import RecordsError
from kit.profile import Generated
from tests.campaign.generated import made_up


def swap_every_tenth(number: int, logits: tuple[float, ...]) -> tuple[float, ...]:
    return logits if number % 10 else logits[::-1]


def test_equal_sides_change_nothing(tmp_path: Path) -> None:
    made_up.write(tmp_path, 60)
    document = json.loads((tmp_path / "generated.json").read_text())
    assert document["reached"] == document["declared"] == document["all"]["questions"] == 60
    assert (document["text"]["questions"], document["image"]["questions"]) == (40, 20)
    assert document["all"]["contents"] == 30
    for group in ("all", "text", "image"):
        found = document[group]
        assert found["flips"] == found["hidden_different"] == found["logits_different"] == 0
        assert found["kl"] == {"mean": 0.0, "p50": 0.0, "p99": 0.0, "max": 0.0}
    assert document["all"]["flip_rate_upper"] == pytest.approx(1 - 0.05 ** (1 / 60))
    assert document["oracle"]["hidden"]["ratio"] == {"mean": 1.0, "lower": 1.0, "upper": 1.0}
    assert document["labels"]["lost"] == document["labels"]["won"] == 0
    assert document["labels"]["mcnemar_p"] is None


def test_changed_winners_are_counted_and_found_by_margin(tmp_path: Path) -> None:
    made_up.write(tmp_path, 120, change=swap_every_tenth)
    document = json.loads((tmp_path / "generated.json").read_text())
    found = lines.read(tmp_path / lines.FILE)
    flips = sum(flipped(item) for item in found)
    assert 4 < flips <= 12
    assert document["all"]["flips"] == flips == document["text"]["flips"] + document["image"]["flips"]
    assert sum(entry["flips"] for entry in document["margins"]) == flips
    assert sum(entry["questions"] for entry in document["margins"]) == 120
    assert document["all"]["flip_rate_upper"] > flips / 120
    assert document["all"]["kl"]["max"] > document["all"]["kl"]["p50"] == 0.0


def test_a_tie_is_won_by_the_first_candidate_on_either_side(tmp_path: Path) -> None:
    made_up.write(tmp_path, 6, change=lambda number, logits: (max(logits), max(logits), *logits[2:]))
    for item in lines.read(tmp_path / lines.FILE):
        first = item.reference.index(max(item.reference))
        assert flipped(item) == (first != 0)


def test_a_zero_of_the_other_sign_is_another_logit_as_it_is_to_the_gate(tmp_path: Path) -> None:
    made_up.write(tmp_path, 6)
    first, *others = lines.read(tmp_path / lines.FILE)
    turned = dataclasses.replace(first, reference=(0.0, *first.reference[1:]), candidate=(-0.0, *first.reference[1:]))
    document = summarise([turned, *others], made_up.TEMPERATURES, wanted=Generated(6, 1), candidate="graph")
    assert document["all"]["logits_different"] == 1


def test_divergence_is_that_of_the_two_answers() -> None:
    p, q = (0.7, 0.2, 0.1), (0.5, 0.3, 0.2)
    expected = sum(a * math.log(a / b) for a, b in zip(p, q, strict=True))
    reference, candidate = (tuple(2 * math.log(value) for value in side) for side in (p, q))
    assert divergence(reference, candidate, 2.0) == pytest.approx(expected)
    assert divergence(reference, reference, 2.0) == 0.0


def test_a_file_of_another_format_is_refused(tmp_path: Path) -> None:
    made_up.write(tmp_path, 6)
    file = tmp_path / lines.FILE
    file.write_bytes(file.read_bytes().replace(b"kit-generated/1", b"kit-generated/9"))
    with pytest.raises(RecordsError, match=r"kit-generated/9"):
        lines.read(file)


@pytest.mark.parametrize("change", [made_up.same, swap_every_tenth])
def test_tables_and_figures_say_what_was_found(tmp_path: Path, change: made_up.Change) -> None:
    made_up.write(tmp_path, 60, change=change)
    document = json.loads((tmp_path / "generated.json").read_text())
    found = lines.read(tmp_path / lines.FILE)
    assert list(plots.strata(document).loc["questions"]) == [60, 40, 20]
    assert plots.errors(document)["hidden"]["mean ratio"] == document["oracle"]["hidden"]["ratio"]["mean"]
    title = plots.flips_against_margin(found, made_up.TEMPERATURES, document["all"]["flip_rate_upper"]).get_suptitle()
    assert title.startswith(f"{document['all']['flips']} of 60 winners changed")
    assert plots.distance_from_oracle(found).get_suptitle().startswith("Distance from the oracle")
