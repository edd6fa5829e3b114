"""Logit ladders: one question's label logits on the BF16 numbers they can be, and what one rung is worth.

Covers: a question's ladder with reference, engines and, where it is known, the oracle; and a lesson of three panels
(the ladder, what one rung does to the probabilities, how many rungs a gate needs) for the first page a reader opens.
`python -m kit.campaign.ladder BUNDLE FILE` draws the lesson from the records of a bundle.
Does not cover: whether a step matters; the gates are in probabilities and stay there.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.ticker import FuncFormatter, MultipleLocator

from kit.campaign.figures import (
    ENGINE_STYLE,
    FAINT,
    GATE,
    GATE_COLOUR,
    INK,
    QUIET,
    STYLE,
    Plot,
    canvas,
    png_of,
    titled,
)
from kit.campaign.sensitivity import first_maximum
from kit.contract.answer import softmax
from kit.evidence.floats import bf16_around, bf16_spacing
from kit.evidence.records import write_atomic

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from kit.campaign.reading import RunRecords

RUNG_COLOUR = "#B9BEC4"
ORACLE_STYLE = ("#009E73", "_")
STEP_STYLE = (("#0072B2", "D"), ("#00785A", "s"), ("#A2558A", "v"))
MOVED_COLOUR = "#B8730A"
WIDEST = 3.0  # logits below the winner that are drawn: rungs must stay apart
MOST = 6  # candidates
MOST_RUNGS = 40  # that can be told apart
NEAR_RUNGS = 4
LONGEST_NAME = 14  # letters of a candidate's id
REACH = 24  # steps along the last panel
LESSON = ("long-incident-images", "next")  # four candidates within one logit
BESIDE = (("console-512x256", "failed"), ("long-policy-text", "stop"))


@dataclass(frozen=True)
class Ladder:
    """One question. reference and engines: BF16 label logits in candidate order; oracle: unrounded, None where not known."""

    title: str
    type: str
    candidates: tuple[str, ...]
    reference: tuple[float, ...]
    engines: Mapping[str, tuple[float, ...]]
    temperature: float = 1.0
    oracle: tuple[float, ...] | None = None

    def shown(self) -> list[int]:
        """Candidates to draw: the largest logits of any side, while they are near the reference's winner."""
        order = sorted(range(len(self.reference)), key=lambda i: -self.reference[i])
        sides = (self.reference, *self.engines.values())
        near = [i for i in order if max(side[i] for side in sides) >= self.reference[order[0]] - WIDEST]
        return near[:MOST] if len(near) > 1 else order[:2]

    def readable(self) -> bool:
        """Whether rungs can be told apart where the logits stand."""
        values = [self.reference[i] for i in self.shown()]
        return max(values) - min(values) <= MOST_RUNGS * min(map(bf16_spacing, values))

    def changed(self) -> float:
        """The largest move of any engine's logit, in steps of the reference's."""
        return max(
            (abs(b - a) / bf16_spacing(a) for values in self.engines.values() for a, b in zip(self.reference, values, strict=True)),
            default=0.0,
        )  # fmt: skip


def one_question(ladder: Ladder) -> Figure:
    """The ladder of one question, titled with what to see.

    Logits stand where they are while their rungs can be told apart. Where rungs are too narrow for that, each candidate
    has a ladder of its own, in steps from the reference's logit.
    """
    shown = ladder.shown()
    figure, (axis,) = canvas(max(4.6, 1.9 + 0.95 * len(shown)), 4.6)
    draw = _absolute if ladder.readable() else _relative
    draw(axis, ladder, shown)
    handles, labels = axis.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower left", ncols=4, frameon=False)
    changed = ladder.changed()
    moved = f"the largest move is {changed:.4g} step{'s' if changed != 1 else ''}"
    what = "every engine stands on the reference's rung" if changed == 0 else moved
    return titled(figure, f"{ladder.title}: {what if ladder.engines else 'the reference alone'}")


def lesson(ladder: Ladder, beside: Sequence[Ladder], gate: float = GATE) -> Figure:
    """Three panels: where the logits stand, one of them a rung higher, and how many rungs a gate needs to see it.

    beside: other questions for the third panel, on which the same gate sees less.
    """
    with matplotlib.rc_context(STYLE):
        figure = Plot(figsize=(11.4, 4.5), layout=ConstrainedLayoutEngine(w_pad=0.18))
        axes = list(figure.subplots(1, 3))
    _where(axes[0], ladder)
    _one_rung(axes[1], ladder, gate)
    _steps(axes[2], [ladder, *beside], gate)
    whose = "reference and engines stand on the same rungs" if ladder.changed() == 0 else "where reference and engines stand"
    return titled(figure, f"The unit of drift is a rung, a BF16 step: {whose}")


# ---------------------------------------------------------------- panels


def _where(axis: Any, ladder: Ladder) -> None:
    shown = ladder.shown()
    _absolute(axis, ladder, shown)
    step = bf16_spacing(max(ladder.reference))
    axis.set_title(f"1  Label logits are BF16 numbers, rungs\n    {_fraction(step)} apart ({ladder.title})", fontsize=9.5, loc="left")
    winner = first_maximum([ladder.reference[i] for i in shown])
    at = ladder.reference[shown[winner]]
    axis.plot(winner, at + step, "o", color=MOVED_COLOUR, markersize=11, fillstyle="none", markeredgewidth=1.5, zorder=4)
    axis.annotate("one rung up", (winner, at + 1.62 * step), color=MOVED_COLOUR, fontsize=8, va="bottom", ha="center",
                  bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.5}, zorder=7)  # fmt: skip
    axis.legend(loc="upper left", bbox_to_anchor=(-0.02, -0.1), ncols=4, fontsize=8, frameon=False, handletextpad=0.2, columnspacing=1)


def _one_rung(axis: Any, ladder: Ladder, gate: float) -> None:
    """Probabilities as they are, and with the winner's logit one rung higher."""
    moved = list(ladder.reference)
    winner = first_maximum(moved)
    moved[winner] += bf16_spacing(moved[winner])
    before, after = softmax(ladder.reference, ladder.temperature), softmax(moved, ladder.temperature)
    shown = ladder.shown()
    for x, i in enumerate(shown):
        change = after[i] - before[i]
        over = abs(change) > gate
        axis.bar(x - 0.2, before[i], width=0.36, color=FAINT, edgecolor=QUIET, linewidth=0.6,
                 label="as answered" if x == 0 else None)  # fmt: skip
        axis.bar(x + 0.2, after[i], width=0.36, color=MOVED_COLOUR, alpha=0.75,
                 label="winner one rung up" if x == 0 else None)  # fmt: skip
        axis.annotate(f"{change:+.3f}".replace("-", "−"), (x, max(before[i], after[i])), xytext=(0, 4), textcoords="offset points", ha="center",
                      fontsize=8.5, color=GATE_COLOUR if over else INK, fontweight="bold" if over else "normal")  # fmt: skip
    axis.set_xticks(range(len(shown)), [_short(ladder.candidates[i]) for i in shown], fontsize=8)
    axis.set_ylim(0, 1.28 * max(*before, *after))
    axis.set_ylabel("probability")
    worst = max(abs(a - b) for a, b in zip(before, after, strict=True))
    verdict = "fails" if worst > gate else "passes"
    axis.set_title(f"2  One rung on one logit moves a probability\n    by {worst:.3f}: the gate of {gate:g} {verdict}",
                   fontsize=9.5, loc="left")  # fmt: skip
    axis.legend(loc="upper right", fontsize=8, frameon=False)


def _steps(axis: Any, ladders: Sequence[Ladder], gate: float) -> None:
    """Largest change of a probability against steps of one logit, whichever logit and direction move it most."""
    steps = range(1, REACH + 1)
    seen = []
    for n, ladder in enumerate(ladders):
        colour, marker = STEP_STYLE[n % len(STEP_STYLE)]
        values = [_largest_change(ladder, count) for count in steps]
        first = next((count for count, value in zip(steps, values, strict=True) if value > gate), None)
        seen.append(first)
        axis.plot(steps, values, marker, linestyle="-", linewidth=1, color=colour, markersize=2.5)
        told = f"from {first} step{'s' if first != 1 else ''}" if first else f"not within {REACH} steps"
        name = ladder.title.replace(" / ", "\n/ ")
        # Labels stand clear of each other and of the gate: the first above its curve's end, the others below.
        axis.annotate(f"{name}\nseen {told}", (REACH, values[-1]), xytext=(5, (3, -3, -24)[n % 3]), textcoords="offset points",
                      fontsize=7.5, color=colour, va="bottom" if n == 0 else "top")  # fmt: skip
        if first:
            axis.plot(first, values[first - 1], marker, color=colour, markersize=8, markeredgecolor=INK, zorder=5)
    axis.axhline(gate, color=GATE_COLOUR, linewidth=1.3)
    axis.annotate(f"gate {gate:g}", (0.4 * REACH, gate), xytext=(0, -3), va="top", ha="center",
                  textcoords="offset points", color=GATE_COLOUR, fontsize=8)  # fmt: skip
    axis.set_yscale("log")
    axis.set_ylim(4e-4, 2)
    axis.set_xlim(0, 1.42 * REACH)
    axis.set_xticks([1, 5, 10, 15, 20])
    axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_xlabel("BF16 steps of one label logit")
    axis.set_ylabel("largest change of a probability")
    few, many = min(filter(None, seen), default=0), max((count or REACH for count in seen), default=0)
    axis.set_title(f"3  The same gate sees {few} rung{'s' if few != 1 else ''} on one question\n    and needs {many} on another",
                   fontsize=9.5, loc="left")  # fmt: skip


# ---------------------------------------------------------------- pieces


def _absolute(axis: Any, ladder: Ladder, shown: Sequence[int]) -> None:
    """Each candidate's BF16 numbers as rungs at their height, as far as the logits that are drawn and two further."""
    low, high = _range(ladder, shown)
    for x, i in enumerate(shown):
        _rails(axis, x, bf16_around(ladder.reference[i], low, high, MOST_RUNGS))
    _columns(axis, [_short(ladder.candidates[i]) for i in shown])
    _marks(axis, ladder, shown, low, high, lambda i, value: value)
    pad = 0.03 * (high - low)
    axis.set_ylim(low - pad, high + pad)
    axis.yaxis.set_major_locator(MultipleLocator(2.0 ** math.ceil(math.log2((high - low) / 8))))
    axis.set_ylabel("label logit")


def _relative(axis: Any, ladder: Ladder, shown: Sequence[int]) -> None:
    """Each candidate's own ladder, in BF16 steps from the reference."""
    steps = [bf16_spacing(ladder.reference[i]) for i in shown]
    for x in range(len(shown)):
        _rails(axis, x, list(range(-NEAR_RUNGS, NEAR_RUNGS + 1)))
    _columns(axis, [f"{_short(ladder.candidates[i])}\n{ladder.reference[i]:.4g}\nstep {_fraction(step)}"
                    for i, step in zip(shown, steps, strict=True)])  # fmt: skip
    _marks(axis, ladder, shown, -NEAR_RUNGS - 0.5, NEAR_RUNGS + 0.5,
           lambda i, value: (value - ladder.reference[i]) / bf16_spacing(ladder.reference[i]))  # fmt: skip
    axis.set_ylim(-NEAR_RUNGS - 1, NEAR_RUNGS + 1)
    axis.set_ylabel("BF16 steps from the reference")


def _rails(axis: Any, x: int, rungs: Sequence[float]) -> None:
    for side in (-0.33, 0.33):
        axis.plot([x + side] * 2, [rungs[0], rungs[-1]], color=RUNG_COLOUR, linewidth=1.1, zorder=1)
    for rung in rungs:
        axis.plot([x - 0.33, x + 0.33], [rung, rung], color=RUNG_COLOUR, linewidth=0.8, zorder=1)


def _short(name: str) -> str:
    return name if len(name) <= LONGEST_NAME else name[: LONGEST_NAME - 1] + "…"


def _columns(axis: Any, names: Sequence[str]) -> None:
    axis.set_xticks(range(len(names)), names, fontsize=8)
    axis.set_xlim(-0.55, len(names) - 0.45)
    axis.tick_params(axis="x", length=0)


def _range(ladder: Ladder, shown: Sequence[int]) -> tuple[float, float]:
    """Lowest and highest logit to draw: everybody's, unless an engine is far off, and two rungs more."""
    values = [ladder.reference[i] for i in shown]
    low, high = min(values), max(values)
    reach = max(WIDEST / 2, high - low)
    others = [side[i] for side in (*ladder.engines.values(), ladder.oracle or ladder.reference) for i in shown]
    values += [value for value in others if low - reach <= value <= high + reach]
    step = max(map(bf16_spacing, values))
    return min(values) - 2 * step, max(values) + 2 * step


def _marks(
    axis: Any, ladder: Ladder, shown: Sequence[int], low: float, high: float, height: Callable[[int, float], float]
) -> None:
    """Reference, oracle and engines of each candidate. height: (candidate, logit) -> where it stands on the axis."""
    for x, i in enumerate(shown):
        label = x == 0
        axis.plot(x, height(i, ladder.reference[i]), "o", color=INK, markersize=11, fillstyle="none", markeredgewidth=1.5,
                  zorder=4, label="reference" if label else None)  # fmt: skip
        if ladder.oracle is not None:
            colour, marker = ORACLE_STYLE
            axis.plot(x, min(high, max(low, height(i, ladder.oracle[i]))), marker, color=colour, markersize=24,
                      markeredgewidth=2, zorder=3, label="oracle, FP64" if label else None)  # fmt: skip
        for k, (name, values) in enumerate(ladder.engines.items()):
            colour, marker = ENGINE_STYLE.get(name, (QUIET, "o"))
            at = x + (0.2 * (k - (len(ladder.engines) - 1) / 2) if len(ladder.engines) > 1 else 0.0)
            y = height(i, values[i])
            axis.plot(at, min(high, max(low, y)), marker, color=colour, markersize=5, zorder=5, label=name if label else None)
            if not low <= y <= high:  # beyond what is drawn
                steps = (values[i] - ladder.reference[i]) / bf16_spacing(ladder.reference[i])
                axis.annotate(f"{steps:+.4g} steps", (at, min(high, max(low, y))), xytext=(4, 3), textcoords="offset points",
                              fontsize=7, color=colour)  # fmt: skip


def _largest_change(ladder: Ladder, steps: int) -> float:
    """Of a probability, when any one logit moves by so many of its steps, either way."""
    before = softmax(ladder.reference, ladder.temperature)
    worst = 0.0
    for i, value in enumerate(ladder.reference):
        for sign in (-1, 1):
            moved = list(ladder.reference)
            moved[i] = value + sign * steps * bf16_spacing(value)
            after = softmax(moved, ladder.temperature)
            worst = max(worst, *(abs(a - b) for a, b in zip(before, after, strict=True)))
    return worst


def _fraction(step: float) -> str:
    return f"1/{round(1 / step)}" if 2**-20 <= step < 1 else f"{step:g}" if step >= 1 else f"2^{int(math.log2(step))}"


# ---------------------------------------------------------------- from records


def of_run(run: RunRecords, request: str, question: str) -> Ladder:
    """A question of a run whose workers recorded logits. Raises KeyError for one that was not asked."""
    reference = run.engines[run.profile.campaign.reference].measured(1)[request]
    record = reference.questions[question]
    engines = {}
    for name, engine in run.engines.items():
        exchange = engine.measured(1).get(request)
        if name != run.profile.campaign.reference and exchange is not None and question in exchange.questions:
            engines[name] = exchange.questions[question].logits
    temperature = run.temperatures[reference.modality]
    return Ladder(f"{request} / {question}", record.type, record.candidates, record.logits, engines, temperature)


def main(bundle: str, target: str) -> int:
    """Draw the lesson from a bundle's records."""
    from kit.campaign.reading import read_run

    run = read_run(bundle)
    figure = lesson(of_run(run, *LESSON), [of_run(run, *where) for where in BESIDE])
    write_atomic(Path(target), png_of(figure))
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
