"""curve.png: losses and held-out accuracy over the seconds of a run.

Covers: drawing from log.jsonl, finished or not. Does not cover: tables (`report_card`).
"""

from __future__ import annotations

import io
from itertools import pairwise
from pathlib import Path

from kit.checkpoint.training.journal import read

WIDE, HIGH = 12, 7
COLOURS = 64  # of the file, which lines need no more of: a quarter of its bytes
LOSSES = {
    "loss": "label",
    "flag_loss": "flag of every candidate",
    "text_loss": "next token",
    "reason_loss": "reason",
    "hint_loss": "right text at the question's end",
}


def draw(folder: Path) -> Path:
    """Draw what the log of a folder holds; the picture's path."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot
    from PIL import Image

    lines = [line for line in read(folder) if line["event"] == "evaluation"]
    figure, (losses, accuracies) = pyplot.subplots(
        2, 1, figsize=(WIDE, HIGH), sharex=True, height_ratios=(2, 3)
    )
    seconds = [line["seconds"] for line in lines]
    for key, name in LOSSES.items():
        losses.plot(seconds, [_number(line.get(key)) for line in lines], label=name)
    losses.set_ylabel("training loss, nats")
    losses.legend(frameon=False)
    families = list(lines[-1]["held_out"]) if lines else []
    colours = pyplot.get_cmap("tab20")
    for index, family in enumerate(families):
        points = [_number(line["held_out"].get(family)) for line in lines]
        accuracies.plot(seconds, points, label=family, color=colours(index % 20), linewidth=1.2)
    for change in [b["seconds"] for a, b in pairwise(lines) if a["phase"] != b["phase"]]:
        for axes in (losses, accuracies):
            axes.axvline(change, color="grey", linewidth=0.8, linestyle=":")
    accuracies.set(ylim=(0, 1.01), xlabel="seconds", ylabel="held-out accuracy")
    accuracies.legend(frameon=False, ncols=1, fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
    drawn = io.BytesIO()
    figure.savefig(drawn, dpi=110, bbox_inches="tight")
    pyplot.close(figure)
    path = folder / "curve.png"
    Image.open(drawn).convert("RGB").quantize(COLOURS).save(path, optimize=True)
    return path


def _number(value: float | None) -> float:
    return float("nan") if value is None else value
