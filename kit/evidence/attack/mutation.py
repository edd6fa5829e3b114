"""What a mutation is: a deed done to a copy of a bundle, and what an auditor must say about it.

Covers: the type that families are made of and the three ways a mutation is left: as done (the checksums see it),
re-sealed (every derived figure put right as far as a forger can), or consistent throughout, where nothing inside the
bundle contradicts it and only something outside, its anchor, can.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from kit.evidence.attack.suspect import Suspect

Deed = Callable[[Suspect], object]
Sealing = Literal["plain", "resealed"]
Anchor = Literal["digest", "signature", "recompute", "challenge"]


@dataclass(frozen=True)
class Mutation:
    """One way to doctor a bundle.

    files: names of which a problem must contain at least one, so that a reader knows where to look.
    sealing: "plain" leaves everything else as it was; "resealed" puts right whatever follows from what was done.
    anchors: what outside the bundle refuses it, where nothing inside can; such a mutation passes a bare audit.
    why: for those, why no offline audit can refuse it.
    """

    family: str
    name: str
    deed: Deed
    files: tuple[str, ...]
    sealing: Sealing = "plain"
    anchors: tuple[Anchor, ...] = ()
    why: str = ""

    @property
    def id(self) -> str:
        return f"{self.family}/{self.name}"

    @property
    def needs_anchor(self) -> bool:
        return bool(self.anchors)


def one_engine_each(found: Iterable[Mutation], chance: random.Random) -> Iterator[Mutation]:
    """Of mutations named "engine: what", each `what` once, for an engine drawn by chance; another seed draws others."""
    groups: dict[str, list[Mutation]] = {}
    for mutation in found:
        groups.setdefault(mutation.name.partition(": ")[2], []).append(mutation)
    return (chance.choice(group) for group in groups.values())
