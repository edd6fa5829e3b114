"""An engine's ops one by one against their FP64 form, on the inputs they were really given.

At the end of a forward an arithmetic that is a little worse hides behind the rounding of everything else: on
`cpu-tiny` TF32 in the adapter, or an adapter merged in BF16, leaves the last row as far from the oracle as the
reference is. Op by op it cannot hide. The engine's result and the plain form's, on the same inputs, are both
compared with FP64, and an op is seen

- where one of its rows is more than APART times as far from the truth as the plain form's furthest row, or
- where its squared errors exceed the plain form's by more than chance: rows of an op that is only as inexact are
  as often nearer to the truth as they are further. The score is the mean excess over its standard error, of one
  call and of all calls of an op together; Z_BOUND is what chance reaches once in a billion.

Parameters (weights, tables, constants) are those of a faultless engine at the same place of the walk, so that a
wrong weight is an error of the op that used it. No fault was consulted for either bound.
Covers: eager engines in this process. Does not cover: what lies between ops (caches, requests, answers), which the
end of the forward shows.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from unittest import mock

import torch
from torch import Tensor

from kit.campaign.planted.truth import PARAMETERS, TRUTH, parameters, with_parameters
from kit.campaign.planted.yardstick import APART
from kit.kernels.table import without_kernels

if TYPE_CHECKING:
    from kit.engine.base import Prepared
    from kit.engine.native import NativeEngine
    from kit.kernels import Ops

Z_BOUND = 6.0
OTHER = math.inf  # the score of a call that is not the faultless engine's call at all

Call = tuple[str, tuple[Any, ...]]  # op, parameters
Watch = Callable[[str, tuple[Any, ...], tuple[Tensor, ...]], None]


@dataclass(frozen=True)
class Excess:
    """Squared error beyond the plain form's, summed over rows, in units of the plain form's mean; its squares; rows.

    apart: a row is too far off for any number of others to make up for.
    """

    total: float = 0.0
    squares: float = 0.0
    rows: int = 0
    apart: bool = False

    def __add__(self, other: Excess) -> Excess:
        return Excess(
            self.total + other.total, self.squares + other.squares, self.rows + other.rows, self.apart or other.apart
        )

    @property
    def score(self) -> float:
        if self.apart:
            return OTHER
        spread = self.squares - self.total**2 / self.rows if self.rows else 0.0
        return self.total / math.sqrt(spread) if spread > 0 else math.copysign(OTHER, self.total) if self.total else 0.0


@dataclass(frozen=True)
class OpError:
    """The worst op of some walks. place: number of its worst call; score: of that call, or of all calls of the op."""

    op: str
    place: int
    score: float

    @property
    def seen(self) -> bool:
        return self.score > Z_BOUND


class Walk:
    """The calls of a faultless engine on one request, to hold others to."""

    def __init__(self, engine: NativeEngine, prepared: Prepared) -> None:
        self.prepared = prepared
        self._twins = without_kernels(engine.device)
        self._calls: list[Call] = []
        with watched(engine, lambda op, args, outcome: self._calls.append((op, parameters(op, args)))):
            engine.decide(prepared)

    def compare(self, engine: NativeEngine) -> list[tuple[str, Excess]]:
        """Op and excess of every call of `engine` on this request, in walking order."""
        found: list[tuple[str, Excess]] = []

        def judge(op: str, args: tuple[Any, ...], outcome: tuple[Tensor, ...]) -> None:
            place = len(found)
            known = place < len(self._calls) and self._calls[place][0] == op
            found.append((op, self._excess(place, args, outcome) if known else Excess(apart=True)))

        try:
            with watched(engine, judge):
                engine.decide(self.prepared)
        except Exception:  # an engine that fails in the middle did not finish its walk
            found.append(("(failed)", Excess(apart=True)))
        if len(found) < len(self._calls):
            found.append(("(missing)", Excess(apart=True)))
        return found

    def _excess(self, place: int, args: tuple[Any, ...], outcome: tuple[Tensor, ...]) -> Excess:
        op, own = self._calls[place]
        call = with_parameters(op, args, own)
        try:
            true, plain = TRUTH[op](*call), _tuple(getattr(self._twins, op)(*call))
        except (RuntimeError, ValueError, IndexError):  # inputs of other shapes than a faultless engine's
            return Excess(apart=True)
        if any(a.shape != b.shape for a, b in zip(outcome, true, strict=True)):
            return Excess(apart=True)
        return sum((excess(a, b, c) for a, b, c in zip(outcome, plain, true, strict=True)), Excess())


def excess(ours: Tensor, plain: Tensor, true: Tensor) -> Excess:
    """How much further `ours` is from `true` than `plain`, row by row of the first axis."""
    mine, theirs = ((x.double() - true).flatten(1).square().mean(1) for x in (ours, plain))
    if torch.equal(mine, theirs):
        return Excess(rows=len(mine))
    unit = theirs.mean()
    if not bool((mine.max() <= APART**2 * theirs.max()) & (unit > 0)):  # also where anything is not a number
        return Excess(apart=True)
    difference = (mine - theirs) / unit
    return Excess(float(difference.sum()), float(difference.square().sum()), len(difference))


def worst_op(walks: Iterable[list[tuple[str, Excess]]]) -> OpError | None:
    """The call, or the op over all its calls, that is furthest beyond chance; None without calls."""
    calls = [(op, place, found) for walk in walks for place, (op, found) in enumerate(walk)]
    worst = {op: max((f.score, -place) for o, place, f in calls if o == op) for op in dict.fromkeys(op for op, _, _ in calls)}
    together = {op: sum((f for o, _, f in calls if o == op), Excess()).score for op in worst}
    errors = [OpError(op, -place, max(score, together[op])) for op, (score, place) in worst.items()]
    return max(errors, key=lambda error: (error.score, -error.place), default=None)


@contextmanager
def watched(engine: NativeEngine, watch: Watch) -> Iterator[None]:
    """Every call of every op goes to `watch` with its arguments and results while the block runs."""
    with ExitStack() as stack:
        for part in (engine.language, engine.vision):
            stack.enter_context(mock.patch.object(part, "ops", _table(part.ops, watch)))
        yield


def _table(ops: Ops, watch: Watch) -> Ops:
    def wrapper(name: str, op: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any) -> Any:
            outcome = op(*args)
            watch(name, args, _tuple(outcome))
            return outcome

        return call

    watched_ops: dict[str, Any] = {name: wrapper(name, getattr(ops, name)) for name in PARAMETERS}
    return dataclasses.replace(ops, **watched_ops)


def _tuple(outcome: Tensor | Sequence[Tensor]) -> tuple[Tensor, ...]:
    return (outcome,) if isinstance(outcome, Tensor) else tuple(outcome)
