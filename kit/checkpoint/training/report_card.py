"""`python -m kit.checkpoint.training.report_card DIR`: the tables of a model card, from a run's files.

Covers: goals, quality by family with and without the adapter, by level, by the number of candidates, calibration, flips,
training, frozen requests. Markdown on standard output, or between the two marks of a page. Does not cover: what the
figures mean, which the card says.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from kit.checkpoint.training.curve import draw
from kit.checkpoint.training.journal import read
from kit.checkpoint.training.judged import PERMUTED
from kit.checkpoint.training.tasks import SCREENS
from kit.evidence.records import write_atomic

BEGIN, END = "<!-- tables: begin -->", "<!-- tables: end -->"
CLEARLY = 0.75  # of what it is with the adapter


def card(folder: Path, protocol: Path | None = None) -> str:
    """The tables of a finished run, and of a protocol with frozen answers. Raises FileNotFoundError for a missing file."""
    results = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    recipe = json.loads((folder / "recipe.json").read_text(encoding="utf-8"))
    parts: tuple[tuple[str, str], ...] = (
        ("Goals", goals(results)),
        ("Accuracy on the held-out split", families(results)),
        ("By level, with the adapter", levels(results["held_out"]["by_level"])),
        ("By number of candidates, with the adapter", candidates(results["held_out"])),
        ("Calibration and order", facts(results)),
        ("Training", training(recipe, read(folder))),
    )
    if protocol is not None:
        parts = (*parts[:1], (f"The frozen requests of `{protocol.name}`", frozen(protocol)), *parts[1:])
    return "\n\n".join(f"### {title}\n\n{table}" for title, table in parts) + "\n"


def families(results: dict[str, Any]) -> str:
    """A row a family: with the adapter, without, and the base in the form it was trained on."""
    kinds = [results[name] for name in ("held_out", "without_adapter", "base_in_its_own_form")]
    rows = [
        [name, *(percent(kind["by_family"].get(name)) for kind in kinds)]
        for name in results["held_out"]["by_family"]
    ]
    rows.append([f"all ({kinds[0]['questions']} questions)", *(percent(kind["accuracy"]) for kind in kinds)])
    return table(["family", "with adapter", "without", "base, bare form"], rows)


def levels(found: dict[str, dict[str, float]]) -> str:
    """A row a family, a column a level."""
    most = max(len(row) for row in found.values())
    head = ["family", *(f"level {number}" for number in range(most))]
    return table(
        head,
        [[name, *(percent(row.get(str(number))) for number in range(most))] for name, row in found.items()],
    )


def candidates(held_out: dict[str, Any]) -> str:
    """A row a span of numbers of candidates: all families, and match alone."""
    everything, match = held_out["by_candidates"], held_out["match_by_candidates"]
    spans = sorted(everything, key=lambda span: int(span.split("-")[0]))
    return table(
        ["candidates", "all families", "match"],
        [[s, percent(everything[s]), percent(match.get(s))] for s in spans],
    )


def facts(results: dict[str, Any]) -> str:
    """Temperatures, errors of confidence, the threshold, flips, and where there were too few samples."""
    fitted, held, flips = results["calibration"], results["held_out"], results["flips"]
    return table(
        ["figure", "value"],
        [
            ["temperature, text", f"{fitted['temperature']:.4f}"],
            ["temperature, images", f"{fitted['mm_temperature']:.4f}"],
            ["calibration error, held out, at temperature 1", f"{held['error_before']:.4f}"],
            ["calibration error, held out, at the fitted temperatures", f"{held['error_after']:.4f}"],
            [
                "calibration error, calibration split, before and after",
                f"{fitted['before']:.4f}, {fitted['after']:.4f}",
            ],
            ["threshold", f"{fitted['threshold']:.4f}"],
            ["held-out answers at or over it", percent(held["share_over_threshold"])],
            ["of those right", percent(held["accuracy_over_threshold"])],
            [
                f"answers that change with the order of candidates ({flips['choices']} choices)",
                percent(flips["rate"]),
            ],
            *([f"fewer samples than asked for: {sort_of(row)}", f"{row['got']} of {row['asked']}"] for row in results.get("fewer", ())),
        ],
    )


def sort_of(row: dict[str, Any]) -> str:
    """What there are too few of: an entry of results.json's `fewer`."""
    kind = "choices in two orders" if row["kind"] == PERMUTED else f"{row['split']}, {row['form']}"
    return f"{row['family']}, {kind}"


def goals(results: dict[str, Any]) -> str:
    """What a checkpoint of this size was meant to reach, what it reached, and whether that is enough.

    A figure that was not measured has a dash.
    """
    held, without = results["held_out"], results["without_adapter"]["accuracy"]
    family, matched = held["by_family"], held["match_by_candidates"]
    at_least = [
        *((name, family.get(name), 0.99) for name in ("numbers", "facts", "score")),
        ("match, 2 to 4 candidates", matched.get("2-4"), 0.95),
        ("match, 5 to 10 candidates", matched.get("5-10"), 0.95),
        ("match, 16 to 32 candidates", matched.get("16-32"), 0.90),
        ("route", family.get("route"), 0.90),
        *((f"{name} (screens)", family[name], 0.90) for name in SCREENS if name in family),
    ]
    at_most = [
        ("calibration error, held out", held["error_after"], 0.03),
        ("answers that change with the order of candidates", results["flips"]["rate"], 0.05),
        ("all families without the adapter", without, CLEARLY * held["accuracy"]),
    ]
    rows = [[name, f"at least {percent(goal)}", percent(v), "–" if v is None else _yes(v >= goal)] for name, v, goal in at_least]
    rows += [[name, f"at most {percent(goal)}", percent(v), "–" if v is None else _yes(v <= goal)] for name, v, goal in at_most]
    return table(["figure", "goal", "measured", "reached"], rows)


def frozen(folder: Path) -> str:
    """A row a question of a protocol that its frozen answers get wrong, after how many they get right.

    Raises FileNotFoundError where the folder has no frozen answers.
    """
    lines = (folder / "corpus.jsonl").read_text(encoding="utf-8").splitlines()
    cases = [json.loads(line) for line in lines]
    answers = {row["id"]: row["response"]["answers"] for row in json.loads((folder / "reference.json").read_text(encoding="utf-8"))}
    told = [
        (case["id"], question, wanted, _first_two(answers[case["id"]][question]["probabilities"]))
        for case in cases
        for question, wanted in case["expected"].items()
    ]
    wrong = [item for item in told if item[3][0][0] != item[2]]
    right = f"{len(cases) - len({item[0] for item in wrong})} of {len(cases)} requests and {len(told) - len(wrong)} of {len(told)} questions are right"
    if not wrong:
        return f"{right}."
    rows = [[f"`{case}`", question, wanted, first[0], f"{first[1] - second[1]:.3f}"] for case, question, wanted, (first, second) in wrong]
    return f"{right}. The others:\n\n{table(['request', 'question', 'right', 'answered', 'it leads by'], rows)}"


def _yes(reached: bool) -> str:
    return "yes" if reached else "**no**"


def _first_two(probabilities: dict[str, float]) -> list[tuple[str, float]]:
    return sorted(probabilities.items(), key=lambda item: -item[1])[:2]


def training(recipe: dict[str, Any], log: Sequence[dict[str, Any]]) -> str:
    """Device, time, steps and samples by phase and what a step waited; a column for each run, the first one first.

    Of a run that a later one began with only the base counts, unless the later one went on with its adapter too. log: of the
    last run, the only one whose waiting is told.
    """
    runs = pieces(recipe)
    kept = 1  # runs, from the last one back, whose adapters became the one there is
    while kept < len(runs) and (runs[-kept].get("start") or {}).get("adapter_sha256"):
        kept += 1
    rows = [
        ["device", *(run["device"] for run in runs)],
        ["seconds in all", *(f"{run['seconds']:.0f}" for run in runs)],
        ["seed", *(str(run["settings"]["seed"]) for run in runs)],
    ]
    for phase in recipe["progress"]:
        used = [run["progress"][phase] if phase == "base" or at >= len(runs) - kept else None for at, run in enumerate(runs)]
        rows += [
            [f"{phase}: steps", *(f"{each['steps']:,}" if each else "–" for each in used)],
            [f"{phase}: questions seen", *(f"{sum(each['seen'].values()):,}" if each else "–" for each in used)],
            [f"{phase}: seconds", *(f"{each['spent']:.0f}" if each else "–" for each in used)],
            [f"{phase}: share of waiting for data", *("–" for _ in runs[1:]), percent(_waited(log, phase))],
        ]
    heads = ["value"] if len(runs) == 1 else [f"run {number}" for number in range(1, len(runs) + 1)]
    return table(["figure", *heads], rows)


def pieces(recipe: dict[str, Any]) -> list[dict[str, Any]]:
    """The recipes of the runs a checkpoint came out of, the first one first; before a run without a recipe none is known."""
    before = (recipe.get("start") or {}).get("recipe")
    return [*(pieces(before) if before else ()), recipe]


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def percent(value: float | None) -> str:
    """A share as a percentage with one decimal, nothing as a dash."""
    return "–" if value is None else f"{100 * value:.1f} %"


def _waited(log: Sequence[dict[str, Any]], phase: str) -> float | None:
    shares = [line["wait_share"] for line in log if line["event"] == "evaluation" and line["phase"] == phase]
    known = [share for share in shares if share is not None]
    return sum(known) / len(known) if known else None


def put_into(page: Path, tables: str) -> None:
    """Replace what stands between the two marks of a page. Raises ValueError where they are not there once each."""
    text = page.read_text(encoding="utf-8")
    if text.count(BEGIN) != 1 or text.count(END) != 1 or text.index(BEGIN) > text.index(END):
        raise ValueError(f"{page}: expected one {BEGIN} and one {END} behind it")
    before, after = text.split(BEGIN)[0], text.split(END)[1]
    write_atomic(page, f"{before}{BEGIN}\n\n{tables}\n{END}{after}".encode())


def main() -> int:
    """Print the tables, or put them into a page, and draw the curve; 2 for a folder without a finished run."""
    parser = argparse.ArgumentParser(prog="python -m kit.checkpoint.training.report_card", description=__doc__)
    parser.add_argument("folder", type=Path, metavar="DIR", help="the folder of a finished run")
    parser.add_argument("--into", type=Path, metavar="PAGE", help="replace the tables of this page instead of printing them")
    parser.add_argument("--protocol", type=Path, metavar="FOLDER", help="a protocol with the checkpoint's frozen answers")
    given = parser.parse_args()
    try:
        tables = card(given.folder, given.protocol)
        if given.into is None:
            print(tables, end="")
        else:
            put_into(given.into, tables)
    except FileNotFoundError as error:
        print(f"error: {error.filename} is missing: is the run finished?", file=sys.stderr)
        return 2
    except ValueError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    draw(given.folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
