"""`python -m kit.checkpoint.training.report_card DIR`: the tables of a model card, from what a run has written.

Covers: quality by family with and without the adapter, by level, by the number of candidates, calibration, flips, training.
Markdown on standard output. Does not cover: what the figures mean, which the card says.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from kit.checkpoint.training.curve import draw
from kit.checkpoint.training.journal import read
from kit.checkpoint.training.judged import PERMUTED


def card(folder: Path) -> str:
    """The tables of a finished run. Raises FileNotFoundError where results.json or the log is missing."""
    results = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    recipe = json.loads((folder / "recipe.json").read_text(encoding="utf-8"))
    parts = (
        ("Accuracy on the held-out split", families(results)),
        ("By level, with the adapter", levels(results["held_out"]["by_level"])),
        ("By number of candidates, with the adapter", candidates(results["held_out"])),
        ("Calibration and order", facts(results)),
        ("Training", training(recipe, read(folder))),
    )
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


def training(recipe: dict[str, Any], log: Sequence[dict[str, Any]]) -> str:
    """Device, time, steps, samples by phase and what a step waited."""
    lines = [line for line in log if line["event"] == "evaluation"]
    rows = [
        ["device", recipe["device"]],
        ["seconds in all", f"{recipe['seconds']:.0f}"],
        ["seed", str(recipe["settings"]["seed"])],
    ]
    for phase, progress in recipe["progress"].items():
        of_phase = [line for line in lines if line["phase"] == phase]
        rate = [line["steps_per_second"] for line in of_phase if line["steps_per_second"]]
        wait = [line["wait_share"] for line in of_phase if line["wait_share"] is not None]
        rows += [
            [f"{phase}: steps", f"{progress['steps']:,}"],
            [f"{phase}: questions seen", f"{sum(progress['seen'].values()):,}"],
            [
                f"{phase}: steps a second, share of waiting for data",
                f"{_mean(rate):.1f}, {percent(_mean(wait))}",
            ],
        ]
    return table(["figure", "value"], rows)


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def percent(value: float | None) -> str:
    """A share as a percentage with one decimal, nothing as a dash."""
    return "–" if value is None else f"{100 * value:.1f} %"


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def main() -> int:
    """Print the card and draw the curve; 2 for a folder without a finished run."""
    if len(sys.argv) != 2:
        print("usage: python -m kit.checkpoint.training.report_card DIR", file=sys.stderr)
        return 2
    folder = Path(sys.argv[1])
    try:
        print(card(folder), end="")
    except FileNotFoundError as error:
        print(f"error: {error.filename} is missing: is the run finished?", file=sys.stderr)
        return 2
    draw(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
