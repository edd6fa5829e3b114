"""Drawings of the page as inline SVG: a question's logit ladder, and drift of every question against gate and floor.

They take the page's colours, so they read in the dark and on paper, and every mark says in a title what it is.
Covers: geometry and labels. Does not cover: choosing what to draw (the sections).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kit.evidence.floats import bf16_around, bf16_spacing
from kit.evidence.report.html import number, text

MOST_RUNGS = 40
NEAR = 4  # steps either way, where rungs are too narrow to stand at their height
WIDEST = 3.0  # logits below the winner that are drawn
MOST = 6  # candidates
SHAPES = {"reference": "ring", "native": "diamond", "graph": "triangle", "remote": "square", "oracle": "bar"}


@dataclass(frozen=True)
class Marks:
    """One question: logits by side, candidate order; the reference first. step: BF16 spacing of a logit."""

    candidates: Sequence[str]
    sides: Mapping[str, Sequence[float]]

    @property
    def reference(self) -> Sequence[float]:
        return next(iter(self.sides.values()))

    def shown(self) -> list[int]:
        order = sorted(range(len(self.reference)), key=lambda i: -self.reference[i])
        top = self.reference[order[0]]
        near = [i for i in order if max(side[i] for side in self.sides.values()) >= top - WIDEST]
        return near[:MOST] if len(near) > 1 else order[:2]


def ladder(marks: Marks) -> str:
    """Each candidate's BF16 rungs with everybody's logit on them; a step of each is written below."""
    shown = marks.shown()
    values = [marks.reference[i] for i in shown]
    step = min(map(bf16_spacing, values))
    high = max(values)
    absolute = (high - min(values)) / step <= MOST_RUNGS
    column, top, height = 108, 14, 250
    width = 62 + column * len(shown)
    parts: list[str] = []
    if absolute:
        low, high = min(values) - 2 * step, high + 2 * max(map(bf16_spacing, values))
        parts += _scale(low, high, top, height, width)
    for place, i in enumerate(shown):
        x = 62 + column * place + column / 2
        base, own = marks.reference[i], bf16_spacing(marks.reference[i])
        rungs = bf16_around(base, low, high, 2 * MOST_RUNGS) if absolute else [float(n) for n in range(-NEAR, NEAR + 1)]
        reach = (low, high) if absolute else (-NEAR - 0.5, NEAR + 0.5)

        def y(value: float, reach: tuple[float, float] = reach) -> float:
            inside = min(reach[1], max(reach[0], value))
            return top + height * (reach[1] - inside) / (reach[1] - reach[0])

        parts += _rails(x, [y(rung) for rung in rungs])
        offset = -15.0 * (len(marks.sides) - 2) / 2 if len(marks.sides) > 2 else 15.0
        for name, side in marks.sides.items():
            at = x
            if name not in ("reference", "oracle", next(iter(marks.sides))):
                at, offset = x + offset, offset + 15
            steps = (side[i] - base) / own
            height_of = side[i] if absolute else steps
            told = f"{name}, {marks.candidates[i]}: {side[i]:.8g}, {steps:+.4g} steps from the reference"
            parts.append(_mark(name, at, y(height_of), told))
            if not reach[0] <= height_of <= reach[1]:
                parts.append(f'<text x="{at + (21 if name == "oracle" else 7):.1f}" y="{y(height_of) + 4:.1f}" class="soft">{steps:+.3g}</text>')
        below = [_short(marks.candidates[i]), f"{base:.6g}", f"step {_fraction(own)}"]
        parts += [
            f'<text x="{x:.1f}" y="{top + height + 22 + 15 * n}" text-anchor="middle"{" class=soft" if n else ""}>{text(line)}</text>'
            for n, line in enumerate(below)
        ]
    parts += _legend(list(marks.sides), top + height + 78)
    told = "label logits on their BF16 rungs" if absolute else "label logits in BF16 steps from the reference"
    return _svg(max(width, 430), top + height + 88, told, parts)


@dataclass(frozen=True)
class Strip:
    """Drift of every question: points by engine; bound and band where there is one, by modality."""

    title: str
    points: Mapping[str, Sequence[tuple[int, float, str]]]
    groups: Sequence[tuple[str, int, int]]  # modality, first and last question
    bound: float | None
    band: Mapping[str, float]


def strip(data: Strip) -> str:
    """One dot a question and engine; a line for the gate, a band for the floor."""
    width, height, left, top = 880, 190, 56, 20
    count = max(last for _, _, last in data.groups) + 1
    every = [value for points in data.points.values() for _, value, _ in points]
    most = 1.2 * max(data.bound or 1.0, *data.band.values(), *every)

    def x(index: float) -> float:
        return left + (width - left - 10) * (index + 0.5) / count

    def y(value: float) -> float:
        return top + height * (1 - min(value, most) / most)

    parts = [f'<text x="0" y="12">{text(data.title)}</text>']
    for modality, first, last in data.groups:
        if modality in data.band:
            told = f"floor, {modality}: the reference is {number(data.band[modality])} from itself in 99% of harmless changes"
            parts.append(
                f'<rect x="{x(first - 0.5):.1f}" y="{y(data.band[modality]):.1f}" width="{x(last + 0.5) - x(first - 0.5):.1f}" '
                f'height="{top + height - y(data.band[modality]):.1f}" fill="var(--floor)" opacity=".55"><title>{text(told)}</title></rect>'
            )
        parts.append(f'<text x="{(x(first) + x(last)) / 2:.1f}" y="{top + height + 18}" text-anchor="middle" class="soft">{text(modality)}</text>')
    for value in _ticks(most):
        parts.append(f'<line x1="{left}" x2="{width - 10}" y1="{y(value):.1f}" y2="{y(value):.1f}" stroke="var(--line)"/>')
        parts.append(f'<text x="{left - 6}" y="{y(value) + 4:.1f}" text-anchor="end" class="soft">{value:g}</text>')
    if data.bound is not None:
        parts.append(f'<line x1="{left}" x2="{width - 10}" y1="{y(data.bound):.1f}" y2="{y(data.bound):.1f}" stroke="var(--gate)" stroke-width="1.6"/>')
        parts.append(f'<text x="{width - 10}" y="{y(data.bound) - 5:.1f}" text-anchor="end" style="fill:var(--gate)">gate {data.bound:g}</text>')
    names = list(data.points)
    for n, (engine, points) in enumerate(data.points.items()):
        shift = 4 * (n - (len(names) - 1) / 2)
        parts += [_mark(engine, x(i) + shift, y(value), f"{engine}, {told}: {number(value)}", 3.2) for i, value, told in points]
    parts += _legend(names, top + height + 42)
    return _svg(width, top + height + 54, data.title, parts)


# ---------------------------------------------------------------- pieces


def _svg(width: float, height: float, label: str, parts: Sequence[str]) -> str:
    return (
        f'<svg viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" height="{height:.0f}" role="img" '
        f'aria-label="{text(label)}">{"".join(parts)}</svg>'
    )


def _mark(name: str, x: float, y: float, told: str, size: float = 5.0) -> str:
    colour = f"var(--{name})" if name in SHAPES else "var(--soft)"
    shape = SHAPES.get(name, "square")
    title = f"<title>{text(told)}</title>"
    if shape == "ring":
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{1.5 * size:.1f}" fill="none" stroke="{colour}" stroke-width="1.8">{title}</circle>'
    if shape == "bar":
        return f'<rect x="{x - 18:.1f}" y="{y - 1.2:.1f}" width="36" height="2.4" fill="{colour}">{title}</rect>'
    corners = {
        "diamond": ((0, -1), (1, 0), (0, 1), (-1, 0)),
        "triangle": ((0, -1), (1, 0.9), (-1, 0.9)),
        "square": ((-0.8, -0.8), (0.8, -0.8), (0.8, 0.8), (-0.8, 0.8)),
    }[shape]
    points = " ".join(f"{x + size * a:.1f},{y + size * b:.1f}" for a, b in corners)
    return f'<polygon points="{points}" fill="{colour}">{title}</polygon>'


def _legend(names: Sequence[str], y: float) -> list[str]:
    parts, x = [], 20.0
    for name in names:
        parts.append(_mark(name, x, y - 4, name))
        parts.append(f'<text x="{x + (24 if name == "oracle" else 13):.1f}" y="{y}">{text(name)}</text>')
        x += 36 + 7.2 * len(name) + (12 if name == "oracle" else 0)
    return parts


def _rails(x: float, heights: Sequence[float]) -> list[str]:
    low, high = min(heights), max(heights)
    lines = [((x + side, low), (x + side, high)) for side in (-36, 36)] + [((x - 36, y), (x + 36, y)) for y in heights]
    return [
        f'<line x1="{a[0]:.1f}" y1="{a[1]:.1f}" x2="{b[0]:.1f}" y2="{b[1]:.1f}" stroke="var(--rung)"/>' for a, b in lines
    ]


def _scale(low: float, high: float, top: float, height: float, width: float) -> list[str]:
    unit = 2.0 ** math.ceil(math.log2((high - low) / 8))
    first = math.ceil(low / unit)
    values = [unit * n for n in range(first, math.floor(high / unit) + 1)]
    return [
        f'<text x="54" y="{top + height * (high - value) / (high - low) + 4:.1f}" text-anchor="end" class="soft">{value:g}</text>'
        for value in values
    ]


def _ticks(most: float) -> list[float]:
    unit = 10.0 ** math.floor(math.log10(most))
    step = next(step for step in (unit / 5, unit / 2, unit, 2 * unit) if most / step <= 5.5)
    return [step * n for n in range(int(most / step) + 1)]


def _short(name: str) -> str:
    return name if len(name) <= 15 else name[:14] + "…"


def _fraction(step: float) -> str:
    return f"1/{round(1 / step)}" if 2**-20 <= step < 1 else f"{step:g}"
