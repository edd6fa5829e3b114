"""Harmless changes: what may be different about a request or an engine without any gate noticing.

Two kinds. Most leave every bit as it is, and every tier is held to that. Changes of rounding compute the same
function in another order, as another instruction set does; bits differ, which the first tier says, and the other
two must not call it an error.

Covers: the controls, each with its requests and its subject. Does not cover: judging (`tiers`).
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
import torch.nn.functional as F
from torch import Tensor

from kit.campaign.planted import spelling
from kit.campaign.planted.asking import Ask, Stock
from kit.campaign.planted.fault import IMAGE, IMAGES, TEXT, in_ops
from kit.campaign.planted.memory import stale_language
from kit.campaign.planted.processes import ServerSubject
from kit.campaign.planted.site import Served, Site, Subject
from kit.engine.base import Decision, Event, QuestionResult
from kit.engine.hidden_rows import row_bytes
from kit.engine.native import NativeEngine
from kit.kernels import Projection
from kit.kernels.proof import PoisonedAllocations
from kit.profile import GraphCache

if TYPE_CHECKING:
    from kit.engine.base import Prepared
    from kit.kernels import Ops
    from kit.kernels.table import Pair

Asks = Callable[[Stock], Sequence[Ask]]
Serve = Callable[[Subject, Sequence[Ask]], list[Served]]
SHORT = (TEXT, IMAGE, IMAGES)  # for subjects that cost a start
CLIENTS = 4
BETWEEN_OTHERS = 12  # requests: each costs three


def in_turn(subject: Subject, asks: Sequence[Ask]) -> list[Served]:
    """One after the other."""
    return [subject.post(ask.body) for ask in asks]


@dataclass(frozen=True)
class Control:
    """One harmless change. rounding: it moves bits, so the first tier is not asked. processes: it starts servers."""

    name: str
    summary: str
    asks: Asks
    subject: Callable[[Site], Subject] = lambda site: Subject(site.native())
    serve: Serve = in_turn
    rounding: bool = False
    processes: bool = False
    only: str = ""  # device type it is harmless on; "" for any

    @property
    def quick(self) -> bool:
        """Whether it is cheap enough for a unit test."""
        return not (self.rounding or self.processes)


def whole(stock: Stock) -> Sequence[Ask]:
    return stock.protocol()


def some(*names: str) -> Asks:
    return lambda stock: stock.some(names)


def respelt(change: spelling.Respell) -> Asks:
    """The requests that the change can be made to, in their other spelling, for the answer to the first one."""

    def asks(stock: Stock) -> Sequence[Ask]:
        found = [Ask(ask.name, change(ask.body), ask.body) for ask in stock.some(stock.answered())]
        return [ask for ask in found if ask.body != ask.like]

    return asks


def reversed_order(stock: Stock) -> Sequence[Ask]:
    return tuple(reversed(stock.protocol()))


def with_neighbours(stock: Stock) -> Sequence[Ask]:
    """The first requests of the protocol, each between a text and an image of another shape."""
    between = stock.some((IMAGES, "route-choice-2"))
    return [other for ask in stock.protocol()[:BETWEEN_OTHERS] for other in (ask, *between)]


def one_by_one(stock: Stock) -> Sequence[Ask]:
    """Every question of the requests that ask several, by itself."""
    return [
        Ask(ask.name, spelling.only(ask.body, (name,)), ask.body, (name,))
        for ask in stock.some(stock.answered())
        for name in spelling.questions(ask.body)
        if len(spelling.questions(ask.body)) > 1
    ]


def with_a_sibling(stock: Stock) -> Sequence[Ask]:
    """Every request with one question more, before its own."""
    return [
        Ask(ask.name, spelling.with_question(ask.body), ask.body, tuple(spelling.questions(ask.body)))
        for ask in stock.some(stock.answered())
    ]


def own_questions(subject: Subject, asks: Sequence[Ask]) -> list[Served]:
    """In turn; of every reply, only what is about the questions that are compared."""
    return [_restricted(served, ask.questions) for ask, served in zip(asks, in_turn(subject, asks), strict=True)]


def _restricted(found: Served, names: Sequence[str]) -> Served:
    document = json.loads(found.body)
    kept = tuple(result for result in found.questions if result.question_id in names)
    document["answers"] = {name: answer for name, answer in document.get("answers", {}).items() if name in names}
    document["usage"]["input_tokens"] = sum(result.tokens for result in kept)
    return Served(found.status, json.dumps(document).encode(), kept)


def at_once(subject: Subject, asks: Sequence[Ask]) -> list[Served]:
    """Several clients at a time."""
    with ThreadPoolExecutor(CLIENTS) as clients:
        return list(clients.map(lambda ask: subject.post(ask.body), asks))


def restarted_between(subject: Subject, asks: Sequence[Ask]) -> list[Served]:
    """Half of the requests, a new process on another port, and all of them."""
    assert isinstance(subject, ServerSubject)
    middle = len(asks) // 2
    before = in_turn(subject, asks[:middle])
    subject.start()
    return before + in_turn(subject, asks[middle:])


# ---------------------------------------------------------------- subjects


def graph(**bounds: Any) -> Callable[[Site], Subject]:
    """A graph engine with other caches than the profile's."""

    def subject(site: Site) -> Subject:
        return Subject(site.graph(dataclasses.replace(site.profile.graph, **bounds)))

    return subject


def _caches(entries: int) -> dict[str, Any]:
    return {name: GraphCache(entries=entries) for name in ("text", "multimodal", "vision")}


def _graphs_cleared(site: Site) -> Subject:
    engine = site.graph()

    def reply(body: bytes, found: Served) -> Served:
        engine.clear_graphs()
        return found

    return Subject(engine, reply=reply)


def _from_files(site: Site) -> Subject:
    """Weights read from the checkpoint again, instead of the reference's tensors."""
    return Subject(NativeEngine(site.profile))


def _loaded_anew(site: Site) -> Subject:
    """A new engine for every request."""

    def decide(prepared: Prepared) -> Decision:
        engine = site.native()
        try:
            return engine.decide(prepared)
        finally:
            engine.close()

    return Subject(site.native(), decide=decide)


def _prepared_elsewhere(site: Site) -> Subject:
    """Every request prepared by another thread, as a server does."""
    engine, lane = site.native(), ThreadPoolExecutor(1)
    return Subject(engine, prepare=lambda body: lane.submit(engine.preparer.prepare, body).result())


def _memory_poisoned(site: Site) -> Subject:
    """Memory that was never written reads as NaN."""
    engine = site.native()

    def decide(prepared: Prepared) -> Decision:
        with PoisonedAllocations():  # type: ignore[no-untyped-call]
            return engine.decide(prepared)

    return Subject(engine, decide=decide)


def _row_of_a_batch(site: Site) -> Subject:
    """The reference with a stranger in the batch: the same length, another content."""
    reference = site.reference

    def decide(prepared: Prepared) -> Decision:
        alone = reference.decide(prepared)
        questions = []
        for item, result in zip(prepared.questions, alone.questions, strict=True):
            inputs = reference.inputs(prepared, item)
            both = {name: torch.cat((value, value)) for name, value in inputs.items()}
            both["input_ids"][1] = both["input_ids"][1].flip(0)
            with torch.inference_mode():
                logits, rows = reference.forward(both)
            own = logits[0, list(item.label_ids)].float().tolist()
            row = row_bytes(rows[0])
            questions.append(QuestionResult(item.question.id, tuple(own), row, result.tokens, Event()))
        return dataclasses.replace(alone, questions=tuple(questions))

    return _Lent(reference, decide=decide)


class _Lent(Subject):
    """A subject whose engine is somebody else's."""

    def close(self) -> None:
        self.engine = None


def server(engine: str, **options: Any) -> Callable[[Site], Subject]:
    return lambda site: ServerSubject(site.profile, engine, **options)


# ---------------------------------------------------------------- other roundings of the same function


def _projected(product: Callable[[Tensor, Tensor], Tensor]) -> Callable[[Ops, Any], dict[str, Any]]:
    """Every base product by another route; product: (x, weight) -> x weight^T in the dtype of x."""

    def change(ops: Ops, dose: None) -> dict[str, Any]:
        def project(x: Tensor, projections: Sequence[Projection]) -> tuple[Tensor, ...]:
            results = []
            for weight, down, up, scale in projections:
                base = product(x, weight)
                if down is not None and up is not None:
                    base = (base + F.linear(F.linear(x.to(down.dtype), down), up) * scale).to(base.dtype)
                results.append(base)
            return tuple(results)

        return {"project": project}

    return change


def _in_halves(x: Tensor, weight: Tensor) -> Tensor:
    half = x.shape[1] // 2
    first, second = ((x[:, part].float(), weight[:, part].float()) for part in (slice(half), slice(half, None)))
    return (F.linear(*first) + F.linear(*second)).to(x.dtype)


def _summed_in_fp64(x: Tensor, weight: Tensor) -> Tensor:
    return F.linear(x.double(), weight.double()).to(x.dtype)


def _norm_by_root(ops: Ops, dose: None) -> dict[str, Any]:
    """x / sqrt(...) instead of x * rsqrt(...)."""

    def rms_norm(x: Tensor, weight: Tensor, eps: float) -> Tensor:
        wide = x.float()
        root = torch.sqrt(wide.square().sum(-1, keepdim=True) / wide.shape[-1] + eps)
        return ((wide / root) * (1.0 + weight.float())).to(x.dtype)

    def add_rms_norm(residual: Tensor, delta: Tensor, weight: Tensor, eps: float) -> Pair:
        total = residual + delta
        return total, rms_norm(total, weight, eps)

    return {"rms_norm": rms_norm, "add_rms_norm": add_rms_norm}


def _attention_in_fp32(ops: Ops, dose: None) -> dict[str, Any]:
    def causal_attention(q: Tensor, k: Tensor, v: Tensor, scale: float) -> Tensor:
        return ops.causal_attention(q.float(), k.float(), v.float(), scale).to(q.dtype)

    return {"causal_attention": causal_attention}


def by_ops(change: Callable[[Ops, Any], dict[str, Any]]) -> Callable[[Site], Subject]:
    plant = in_ops(change)
    return lambda site: plant(site, None)


OTHER_ISA = {"ATEN_CPU_CAPABILITY": "default", "ONEDNN_MAX_CPU_ISA": "AVX2"}
REQUESTS = (
    Control("repeated", "every request twice in a row", lambda stock: [ask for ask in stock.protocol() for _ in (1, 2)]),
    Control("reversed", "requests in the reverse order", reversed_order),
    Control("neighbours", "a dozen requests between others of other shapes", with_neighbours),
    Control("one-by-one", "a question alone instead of among others", one_by_one),
    Control("sibling", "one question more in the request", with_a_sibling, serve=own_questions),
    Control("key-order", "JSON keys in another order", respelt(spelling.keys_in_another_order)),
    Control("indented", "JSON with white space", respelt(spelling.indented)),
    Control("escapes", "JSON with escapes", respelt(spelling.escaped)),
    Control("utf-16", "JSON in UTF-16", respelt(spelling.utf_16)),
    Control("model-name", "the model named", respelt(spelling.model_named("JEMM"))),
    Control("unknown-keys", "keys that are ignored", respelt(spelling.unknown_keys)),
    Control("no-images", "an empty list of images", respelt(spelling.no_images_listed)),
    Control("default-type", "the type `choice` left out", respelt(spelling.default_type_left_out)),
    Control("blanks", "runs of blanks in the instructions", respelt(spelling.blanks_in_instructions)),
    Control("state-blanks", "white space around a text state", respelt(spelling.blanks_around_state)),
    Control("state-text", "a structured state as its JSON text", respelt(spelling.state_as_text)),
    Control("decomposed", "accents decomposed (NFD)", respelt(spelling.decomposed)),
    Control("png-recompressed", "PNG compressed otherwise", respelt(spelling.png_recompressed)),
    Control("png-text", "a comment inside the PNG", respelt(spelling.png_with_text)),
    Control("opaque-alpha", "an opaque alpha channel", respelt(spelling.opaque_alpha)),
    Control("webp", "lossless WebP for PNG", respelt(spelling.webp_without_loss)),
    Control("png-of-jpeg", "the decoded pixels of any format as PNG", respelt(spelling.decoded_to_png)),
    Control("data-url", "data URL for bare base64, and the reverse", respelt(spelling.data_url)),
)  # fmt: skip
ENGINES = (
    Control("graph", "recorded and replayed", lambda stock: stock.campaign(), graph()),
    Control("graph-cleared", "graph caches cleared behind every request", some(*SHORT, *SHORT), _graphs_cleared),
    Control("graph-tiny", "caches of one entry, so that everything is evicted", some(*SHORT, *SHORT), graph(**_caches(1))),
    Control("graph-off", "caches switched off", some(*SHORT), graph(**_caches(0))),
    Control("graph-fifo", "eviction in order of capture", some(*SHORT, *SHORT), graph(policy="fifo", **_caches(2))),
    Control("graph-grows", "a scratch that grows with every length", some(*SHORT, *SHORT), graph(scratch_tokens=16)),
    Control("stale-but-equal", "stale buffers, and the same request again (A, A, A)", some("route-choice-2", "route-choice-2-again", "route-choice-2"), lambda site: stale_language(site, None)),
    Control("weights-from-files", "weights read again instead of shared", some(*SHORT), _from_files),
    Control("loaded-anew", "a new engine for every request", some(*SHORT), _loaded_anew),
    Control("prepared-elsewhere", "requests prepared by another thread", whole, _prepared_elsewhere),
    Control("memory-poisoned", "unwritten memory reads as NaN", some(*SHORT), _memory_poisoned),
    Control("batch-neighbour", "a stranger in the batch of the reference", some("route-choice-2", TEXT, "risk-score-10"), _row_of_a_batch, only="cpu"),
    Control("other-port", "another process, restarted on another port", whole, server("native"), restarted_between, processes=True),
    Control("clients-at-once", "four clients at once through a frontend", whole, server("graph", frontend=True), at_once, processes=True),
)  # fmt: skip
ROUNDING = (
    Control("products-in-halves", "matrix products as two sums in FP32", whole, by_ops(_projected(_in_halves)), rounding=True),
    Control("products-in-fp64", "matrix products summed in FP64", whole, by_ops(_projected(_summed_in_fp64)), rounding=True),
    Control("norm-by-root", "norms by division instead of multiplication", whole, by_ops(_norm_by_root), rounding=True),
    Control("attention-in-fp32", "attention on FP32 copies", whole, by_ops(_attention_in_fp32), rounding=True),
    Control("other-isa", "another instruction set of the same processor", whole, server("native", variables=OTHER_ISA), rounding=True, processes=True, only="cpu"),
)  # fmt: skip
CONTROLS = (*REQUESTS, *ENGINES, *ROUNDING)
