"""A fast way of answering that stands in for a slow one only where it was shown to give the same.

Covers: `Proved`: the first question of a key is answered both ways, and the fast way is taken for later ones of that
key if both answers were equal, else never; and `shape_of`, the key of a request. Does not cover: what the two ways are.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, TypeVar

from kit.engine.graph_cache import CaptureError

if TYPE_CHECKING:
    from kit.engine.base import Prepared

log = logging.getLogger(__name__)

Asked = TypeVar("Asked")
Answer = TypeVar("Answer")


@dataclass
class Proved(Generic[Asked, Answer]):
    """called: the way that counts. replayed: the fast one; None where there is none.

    Both compare answers by `==`, which for rows and logits as bytes and floats means bits, -0.0 apart.
    """

    called: Callable[[Asked], Answer]
    replayed: Callable[[Asked], Answer] | None
    proved: dict[Hashable, bool] = field(default_factory=dict)  # key -> whether a replay may stand for a call
    replays: int = 0

    def answer(self, asked: Asked, key: Hashable) -> Answer:
        """One answer, never other than a call gives."""
        if self.replayed is None or self.proved.get(key) is False:
            return self.called(asked)
        if key not in self.proved:
            answer = self.called(asked)
            self.proved[key] = self._replays_as(self.replayed, asked, answer)
            return answer
        self.replays += 1
        return self.replayed(asked)

    def _replays_as(self, replayed: Callable[[Asked], Answer], asked: Asked, answer: Answer) -> bool:
        """A shape that cannot be recorded is one that no replay can stand for."""
        try:
            return replayed(asked) == answer
        except CaptureError as error:
            log.warning("called instead: %s", error)
            return False


def shape_of(prepared: Prepared) -> tuple[int, ...]:
    """What a recording of a request is made for: its tokens and the sides of its images' grids."""
    return prepared.input_tokens, *(side for grid in prepared.grids for side in grid)
