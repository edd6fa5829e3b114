"""An attack for people: one line a family, then whatever did not end as it must; and the document for machines.

Covers: the table, the list of survivors, what only an anchor refuses, `--json`. Does not cover: the verdict (`runner`),
what is shown while an attack lasts (`progress`).
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from kit.evidence.attack.progress import Progress, printable, survivor
from kit.evidence.attack.runner import Attack, AttackError, Outcome, attack
from kit.evidence.records import write_json

FORMAT = "kit-attack/1"


def run(
    bundle: Path, *, sample: int = 0, seed: int = 0, only: Sequence[str] = (), jobs: int = 0, file: Path | None = None
) -> int:
    """What `kit attack` does: attack, print, the document last. 0: all ended as they must, 1: not all, 2: shows nothing."""
    try:
        with Progress() as progress:
            done = attack(bundle, sample=sample, seed=seed, only=only, jobs=jobs, progress=progress)
    except AttackError as error:
        print(f"kit attack: {error}", file=sys.stderr)
        print(json.dumps({"mutations": 0, "resealed": 0, "refused": 0, "problem": str(error)}, ensure_ascii=False))
        return 2
    print("\n".join(lines(done)))
    if file:
        write(done, file)
    print(json.dumps(done.line(), ensure_ascii=False, separators=(",", ":")), flush=True)
    return 1 if done.survivors else 0


def document(done: Attack) -> dict[str, Any]:
    """Everything an attack found, one entry a mutation."""
    return {
        "format": FORMAT, "bundle": done.bundle, **done.line(),
        "outcomes": [outcome.to_json() for outcome in done.outcomes],
    }  # fmt: skip


def write(done: Attack, file: Path) -> None:
    write_json(file, document(done))


def lines(done: Attack) -> Iterator[str]:
    """The table and what is to be said of it."""
    yield f"attack on {done.bundle}; the untouched bundle passes {', '.join(done.untouched)}"
    yield f"{'family':<13}{'mutations':>10}{'re-sealed':>11}{'refused':>9}{'slowest':>9}   how one was refused"
    families: dict[str, list[Outcome]] = {}
    for outcome in done.inside:
        families.setdefault(outcome.mutation.family, []).append(outcome)
    for family, outcomes in families.items():
        resealed = sum(outcome.mutation.sealing == "resealed" for outcome in outcomes)
        refused = [outcome for outcome in outcomes if not outcome.fault]
        slowest = max(outcome.audited.seconds for outcome in outcomes)
        example = max(refused, key=lambda outcome: outcome.mutation.sealing == "resealed").problem if refused else ""
        yield f"{family:<13}{len(outcomes):>10}{resealed:>11}{len(refused):>9}{slowest:>8.1f}s   {printable(example)[:90]}"
    yield from anchored(done)
    for outcome in done.survivors:
        yield survivor(outcome)
    total = done.line()
    yield (
        f"{total['refused']} of {total['mutations']} refused ({total['resealed']} of them re-sealed), each in under "
        f"{total['slowest_s']} s and {total['peak_bytes'] / 2**20:.0f} MiB; {done.seconds:.0f} s in all"
    )


def anchored(done: Attack) -> Iterator[str]:
    """What no offline audit can refuse, and what does."""
    if done.anchored:
        yield "consistent throughout, so refused by an anchor alone (they pass a bare audit, and are counted apart):"
    for outcome in done.anchored:
        yield f"  {outcome.mutation.name}: {', '.join(outcome.mutation.anchors)}; {outcome.mutation.why}"
