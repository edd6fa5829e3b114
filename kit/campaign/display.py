"""Fixed-width text for verdict cells: the part of a notebook that nbval compares and a person reads first.

Covers: aligned name/value lines with a final PASS or FAIL. Values must not hold times, ids, paths, versions
or anything that depends on the CPU. Does not cover: deciding what passes; callers hand in the outcome.
"""

from __future__ import annotations

from collections.abc import Mapping

WIDTH = 64


def verdict_text(title: str, facts: Mapping[str, object], passed: bool) -> str:
    """A block of lines no wider than WIDTH: title, one line a fact, PASS or FAIL.

    bool becomes yes/no, float six decimals; a long value is kept whole.
    """
    lines = [title, "-" * WIDTH]
    lines += [f"{name:<36}{_shown(value):>{WIDTH - 36}}" for name, value in facts.items()]
    lines += ["-" * WIDTH, f"{'this stage':<36}{'PASS' if passed else 'FAIL':>{WIDTH - 36}}"]
    return "\n".join(lines)


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.6f}" if isinstance(value, float) else str(value)
