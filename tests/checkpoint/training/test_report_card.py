"""The tables of a model card: what they say of a run's files, and how they get into a page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kit.checkpoint.training.report_card import BEGIN, END, card, frozen, goals, pieces, put_into, training


def results(**held_out: Any) -> dict[str, Any]:
    """results.json of a run that reached every goal, but for what is given."""
    held = {
        "accuracy": 0.98, "by_family": {"numbers": 0.99, "facts": 0.995, "score": 1.0, "route": 0.9, "console": 0.9},
        "match_by_candidates": {"2-4": 0.97, "5-10": 0.95, "16-32": 0.9}, "error_after": 0.03,
    }  # fmt: skip
    return {"held_out": held | held_out, "without_adapter": {"accuracy": 0.4}, "flips": {"rate": 0.05}}


def recipe(seed: int, start: dict[str, Any] | None = None) -> dict[str, Any]:
    """recipe.json of a run of ten seconds."""
    progress = {phase: {"steps": 1000 * seed, "seen": {"facts": 5, "match": 7}, "spent": 4.0} for phase in ("base", "adapter")}
    return {"device": "a device", "seconds": 10.0, "settings": {"seed": seed}, "progress": progress, "start": start}


def rows(table: str) -> dict[str, list[str]]:
    """The cells behind the first one of every row."""
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()]
    return {first: rest for first, *rest in cells}


def test_a_goal_that_is_just_reached_is_reached() -> None:
    assert {row[-1] for name, row in rows(goals(results())).items() if name not in ("figure", "---")} == {"yes"}


@pytest.mark.parametrize(
    ("missed", "row"),
    [
        ({"error_after": 0.0301}, "calibration error, held out"),
        ({"match_by_candidates": {"2-4": 0.97, "5-10": 0.9499, "16-32": 0.9}}, "match, 5 to 10 candidates"),
        ({"accuracy": 0.5}, "all families without the adapter"),
        ({"by_family": {"numbers": 0.99, "facts": 0.9, "score": 1.0, "route": 0.9, "console": 0.9}}, "facts"),
    ],
)
def test_a_goal_that_is_missed_says_so(missed: dict[str, Any], row: str) -> None:
    found = rows(goals(results(**missed)))
    assert [name for name in found if found[name][-1] == "**no**"] == [row]


def test_a_figure_that_was_not_measured_is_neither() -> None:
    assert rows(goals(results(match_by_candidates={})))["match, 16 to 32 candidates"][1:] == ["–", "–"]
    without_choices = results() | {"flips": {"rate": None}}
    assert rows(goals(without_choices))["answers that change with the order of candidates"][1:] == ["–", "–"]


def test_a_run_begun_with_another_has_a_column_for_each() -> None:
    second = recipe(2, {"base_sha256": "a" * 64, "recipe": recipe(1)})
    log = [{"event": "evaluation", "phase": "base", "wait_share": share} for share in (None, 0.1, 0.3)]
    found = rows(training(second, log))
    assert found["figure"] == ["run 1", "run 2"]
    assert found["base: steps"] == ["1,000", "2,000"]
    assert found["adapter: steps"] == ["–", "2,000"]  # the adapter of the first was not gone on with
    assert found["base: share of waiting for data"] == ["–", "20.0 %"]
    assert found["adapter: share of waiting for data"] == ["–", "–"]


def test_an_adapter_that_a_later_run_went_on_with_counts() -> None:
    third = recipe(3, {"base_sha256": "a" * 64, "adapter_sha256": "b" * 64, "recipe": recipe(2, {"base_sha256": "c" * 64, "recipe": recipe(1)})})
    assert rows(training(third, []))["adapter: steps"] == ["–", "2,000", "3,000"]


@pytest.mark.parametrize("start", [None, {"base_sha256": "a" * 64, "recipe": None}])
def test_a_run_of_whose_beginning_no_recipe_is_known_stands_alone(start: dict[str, Any] | None) -> None:
    assert pieces(recipe(3, start)) == [recipe(3, start)]


def answered(folder: Path, **chosen: str) -> Path:
    """A protocol of two requests with a question each, `a` or `b`, of which `a` is right, and its frozen answers."""
    corpus = [{"id": name, "expected": {"q": "a"}} for name in chosen]
    answers = [
        {"id": name, "response": {"answers": {"q": {"probabilities": {"a": 0.25, "b": 0.2} | {letter: 0.55}}}}}
        for name, letter in chosen.items()
    ]
    (folder / "corpus.jsonl").write_text("".join(json.dumps(line) + "\n" for line in corpus))
    (folder / "reference.json").write_text(json.dumps(answers))
    return folder


def test_wrong_answers_to_frozen_requests_are_named(tmp_path: Path) -> None:
    assert frozen(answered(tmp_path, one="a", two="a")) == "2 of 2 requests and 2 of 2 questions are right."
    told = frozen(answered(tmp_path, one="a", two="b"))
    assert told.startswith("1 of 2 requests and 1 of 2 questions are right.")
    assert rows(told)["`two`"] == ["q", "a", "b", "0.300"]
    assert "`one`" not in told


def test_a_page_keeps_what_stands_around_its_tables(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"before\n\n{BEGIN}\n\nold\n\n{END}\n\nbehind\n")
    put_into(page, "new\n")
    put_into(page, "newer\n")
    assert page.read_text() == f"before\n\n{BEGIN}\n\nnewer\n\n{END}\n\nbehind\n"


@pytest.mark.parametrize("text", ["no marks", f"{BEGIN} only", f"{END} {BEGIN}", f"{BEGIN} {BEGIN} {END}"])
def test_a_page_without_a_place_for_tables_is_left_as_it_is(text: str, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(text)
    with pytest.raises(ValueError, match="expected one <!-- tables: begin -->"):
        put_into(page, "new\n")
    assert page.read_text() == text


def test_a_folder_without_results_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"results\.json"):
        card(tmp_path)
