"""Where trials happen: engines on one copy of the weights, and a subject that answers requests like a worker.

Covers: making native and graph engines that share the reference's tensors, and `Subject`, bytes in and status and
JSON bytes out, with the raw rows a worker would record beside them. The three steps of a request (prepare, decide,
reply) are attributes, so that a fault can stand around any of them.
Does not cover: HTTP itself (`kit.serve`; some controls go through real processes), or what is asked.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from kit.contract.answer import response_bytes
from kit.contract.errors import ContractError
from kit.engine.graph import GraphEngine
from kit.engine.native import NativeEngine
from kit.engine.shared_weights import shared_stores
from kit.kernels import select
from kit.serve.replies import refusal, unavailable

if TYPE_CHECKING:
    from kit.engine.base import Decision, Engine, Prepared, QuestionResult
    from kit.engine.reference import ReferenceEngine
    from kit.engine.shared_weights import SharedStores
    from kit.kernels import Ops
    from kit.profile import Graph, Profile

LATENCY_MS = 1.0  # nothing is timed here
PREPARED = 256  # requests kept as they were prepared


@dataclass(frozen=True)
class Served:
    """One exchange. status and body: what a client has. questions: the raw outcome a worker records; () without one."""

    status: int
    body: bytes
    questions: tuple[QuestionResult, ...] = ()


Prepare = Callable[[bytes], "Prepared"]
Decide = Callable[["Prepared"], "Decision"]
Reply = Callable[[bytes, Served], Served]  # (body of the request, what would be sent) -> what is sent


class Subject:
    """Something that answers requests, one at a time.

    engine: what computes, None where that is out of sight. watched: whether its ops can be compared one by one:
    they run for every request, on what `prepare` of a faultless engine gives.
    """

    def __init__(
        self,
        engine: Engine,
        *,
        prepare: Prepare | None = None,
        decide: Decide | None = None,
        reply: Reply | None = None,
        watched: bool = True,
    ) -> None:
        self.engine: Engine | None = engine
        self.own_inputs = prepare is None  # what the engine is given is what a faultless one would be
        self.prepare: Prepare = prepare or engine.prepare
        self.decide: Decide = decide or engine.decide
        self.reply: Reply = reply or (lambda body, served: served)
        self.watched = watched and isinstance(engine, NativeEngine) and not isinstance(engine, GraphEngine)
        self._model = engine.profile.model.name  # type: ignore[attr-defined]

    def post(self, body: bytes) -> Served:
        """What a worker does with a body: 200 with answers, the refusal of the contract, or 503 for a failure."""
        return self.reply(body, self._answered(body))

    def _answered(self, body: bytes) -> Served:
        try:
            prepared = self.prepare(body)
        except ContractError as error:
            refused = refusal(error)
            return Served(refused.status, refused.body)
        try:
            return served(self._model, self.decide(prepared))
        except Exception as error:  # an engine that fails has been caught
            failed = unavailable(f"the engine failed: {type(error).__name__}")
            return Served(failed.status, failed.body)

    def close(self) -> None:
        if self.engine is not None:
            self.engine.close()
            self.engine = None


def served(model: str, decision: Decision) -> Served:
    """A decision as a worker sends and records it."""
    body = response_bytes(model, decision.answers, decision.input_tokens, LATENCY_MS)
    return Served(200, body, decision.questions)


class Site:
    """Engines of one profile beside a loaded reference, on its tensors."""

    def __init__(self, profile: Profile, reference: ReferenceEngine) -> None:
        self.profile, self.reference = profile, reference
        self._stores: SharedStores = shared_stores(reference.model)
        # What is prepared depends on the body alone, and every fault is asked the same bodies.
        self._prepare = lru_cache(maxsize=PREPARED)(reference.preparer.prepare)

    @property
    def ops(self) -> Ops:
        """The faultless op table."""
        return select(self.profile.runtime.numerics, self.profile.runtime.device)

    def native(self, ops: Ops | None = None) -> NativeEngine:
        """A native engine; ops: another table."""
        engine = NativeEngine(self.profile, ops, self._stores)
        engine.prepare = self._prepare  # type: ignore[method-assign]
        return engine

    def graph(self, bounds: Graph | None = None) -> GraphEngine:
        """A graph engine; bounds: other caches than the profile's."""
        profile = self.profile if bounds is None else dataclasses.replace(self.profile, graph=bounds)
        engine = GraphEngine(profile, shared=self._stores)
        engine.prepare = self._prepare  # type: ignore[method-assign]
        return engine


def questions_of(served: Served, wanted: Sequence[str]) -> tuple[QuestionResult, ...]:
    """The raw outcomes of some questions, in that order."""
    found = {result.question_id: result for result in served.questions}
    return tuple(found[name] for name in wanted if name in found)
