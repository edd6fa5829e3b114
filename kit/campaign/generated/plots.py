"""Tables and figures of the generated questions: what a reader of the stage sees.

Covers: the strata as a table, flips and drift against the reference's margin, both sides' distance from the oracle.
Functions take generated.json or its lines and judge nothing. Does not cover: layers (`kit.campaign.layer_figures`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd

from kit.campaign.figures import FAINT, GATE_COLOUR, MODALITY_STYLE, QUIET, canvas, titled
from kit.campaign.generated.lines import Line
from kit.campaign.generated.summary import STRATA, flipped, hidden_errors, largest_change, probabilities
from kit.campaign.oracle_errors import BOUND
from kit.campaign.sensitivity import margin
from kit.profile import Gates

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def strata(document: Mapping[str, Any]) -> pd.DataFrame:
    """All questions, text, images: a column each."""
    return pd.DataFrame(
        {
            name: {
                "questions": found["questions"],
                "contents": found["contents"],
                "hidden rows that differ": found["hidden_different"],
                "logit rows that differ": found["logits_different"],
                "flips": found["flips"],
                "flip rate is under (95%)": f"{found['flip_rate_upper']:.3%}",
                "ties of the reference": found["ties"],
                "largest change of a probability": found["probability"]["max"],
                "BF16 steps, largest": found["steps"]["max"],
                "KL mean (nats)": found["kl"]["mean"],
                "KL p99": found["kl"]["p99"],
                "KL largest": found["kl"]["max"],
            }
            for name in STRATA
            if (found := document.get(name))
        },
        dtype=object,
    )


def errors(document: Mapping[str, Any]) -> pd.DataFrame:
    """Distance from the oracle: of the final-norm row (relative L2) and of the label logits (root mean square)."""
    oracle = document["oracle"]
    return pd.DataFrame(
        {
            name: {
                "reference, median": oracle[name]["reference"]["p50"],
                "candidate, median": oracle[name]["candidate"]["p50"],
                "reference, p99": oracle[name]["reference"]["p99"],
                "candidate, p99": oracle[name]["candidate"]["p99"],
                "mean ratio": oracle[name]["ratio"]["mean"],
                "its upper 95% bound": oracle[name]["ratio"]["upper"],
            }
            for name in ("hidden", "logits")
        }
        if oracle
        else {}
    )


def flips_against_margin(lines: Sequence[Line], temperatures: Mapping[str, float], upper: float) -> Figure:
    """Top: questions by the reference's margin, flips in red. Bottom: how far the answer moved. upper: of the flip rate."""
    figure, (top, bottom) = canvas(8.0, 5.0, rows=2, heights=(1, 1.2))
    margins = [margin(probabilities(item, temperatures)[0]) for item in lines]
    flips = [value for value, item in zip(margins, lines, strict=True) if flipped(item)]
    edges = [i / 25 for i in range(26)]
    top.hist(margins, bins=edges, color=FAINT)
    top.hist(flips, bins=edges, color=GATE_COLOUR)
    top.set_ylabel("questions")
    for modality, (colour, marker) in MODALITY_STYLE.items():
        mine = [(m, largest_change(i, temperatures)) for m, i in zip(margins, lines, strict=True) if i.modality == modality]
        bottom.plot([m for m, _ in mine], [change for _, change in mine], marker, color=colour, markersize=3,
                    linestyle="", alpha=0.5, label=modality)  # fmt: skip
    bottom.plot(flips, [largest_change(i, temperatures) for i in lines if flipped(i)], "x", color=GATE_COLOUR,
                markersize=7, label="flip")  # fmt: skip
    if not any(largest_change(item, temperatures) for item in lines):
        bottom.set_ylim(0, 1.3 * Gates().probability)
    gate = Gates().probability
    bottom.axhline(gate, color=GATE_COLOUR, linewidth=1, linestyle="--", label=f"gate of the protocol's answers, {gate:g}")
    bottom.set_ylabel("largest change of\na probability")
    bottom.set_xlabel("the reference's margin: first probability less the second")
    for axis in (top, bottom):
        axis.set_xlim(-0.02, 1.02)
    figure.legend(*bottom.get_legend_handles_labels(), loc="outside lower left", ncols=4, frameon=False)
    return titled(figure, f"{len(flips)} of {len(lines)} winners changed: fewer than {upper:.2%} do (95%)")


def distance_from_oracle(lines: Sequence[Line]) -> Figure:
    """Every question's error of the final-norm row, reference across and candidate up, both against the oracle."""
    known = [item for item in lines if item.truth is not None]
    figure, (axis,) = canvas(5.2, 4.8)
    values = [value for item in known for value in hidden_errors(item) if value > 0]
    ends = (0.8 * min(values, default=1e-3), 1.25 * max(values, default=1e-1))
    axis.plot(ends, ends, color=QUIET, linewidth=0.8)
    axis.plot(ends, [BOUND * end for end in ends], color=GATE_COLOUR, linewidth=1, linestyle="--", label=f"{BOUND:g} times as far")
    for modality, (colour, marker) in MODALITY_STYLE.items():
        pairs = [hidden_errors(item) for item in known if item.modality == modality]
        axis.plot([x for x, _ in pairs], [y for _, y in pairs], marker, color=colour, markersize=3.5, linestyle="",
                  alpha=0.55, label=modality)  # fmt: skip
    axis.set(xscale="log", yscale="log", xlim=ends, ylim=ends)
    axis.set_xlabel("reference's distance from the oracle (relative)")
    axis.set_ylabel("candidate's distance")
    axis.legend(loc="upper left", frameon=False)
    same = sum(a == b for a, b in map(hidden_errors, known))
    what = "each as far as the reference" if same == len(known) else f"{same} of {len(known)} exactly as far as the reference"
    return titled(figure, f"Distance from the oracle: {what}" if known else "The oracle was asked nothing")
