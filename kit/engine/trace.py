"""What a model computed on its way to one answer: every stage of one prompt, in walking order, by one set of names.

    vision.patches  vision.positions  vision.block.NN.attention  vision.block.NN.mlp  vision.block.NN  vision.merger
    embedding  layer.NN.mixer  layer.NN.mlp  layer.NN  layer.NN.state (gated delta rule layers)  hidden  logits

`.attention`, `.mixer` and `.mlp` are what a branch adds to the residual, a bare block or layer is the residual
behind it, `.state` the final state recomputed in FP64 from that engine's own inputs to the rule, `hidden` the last
row after the final norm and `logits` the label logits in candidate order, both as the engine answered them.

Covers: `trace` of any engine in this process. The engine decides a whole request the way it always does, and is
watched from outside: a native engine through its op table (fused kernels included), the reference through forward
hooks, the oracle through its own tap. Nothing is left behind, and the answer keeps its bits. A graph engine's replay
cannot be watched: its stages are those of the captured callables run once more eagerly on the very inputs of the
replay, while image features, hidden row and logits are the replay's own.
Does not cover: comparing traces (`kit.campaign.layer_drift`).
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal

import torch
from torch import Tensor

from kit.contract.answer import AnswerError
from kit.engine.hidden_rows import row_tensor
from kit.engine.oracle_delta import in_chunks
from kit.engine.trace_native import watch_native
from kit.engine.trace_reference import watch_reference

if TYPE_CHECKING:
    from kit.engine.base import Prepared
    from kit.engine.oracle import Oracle

Keep = Literal["all", "last", "digest"]
WHOLE = ("hidden", "logits")  # not rows of tokens or patches; states are not either


class TraceError(RuntimeError):
    """The engine cannot be traced, or did not go the way that was expected of it."""


class Trace(dict[str, Tensor]):
    """Stage -> tensor on the CPU in the engine's own dtype, in walking order.

    keep: "all" rows of every stage [T or N, width]; "last": the last row of each, [1, width], with states, hidden
    and logits whole; "digest": SHA-256 of all rows, shape and dtype, uint8 [32].
    """

    def __init__(self, stages: Iterable[tuple[str, Tensor]] = (), keep: Keep = "all") -> None:
        super().__init__(stages)
        self.keep = keep


def trace(engine: Any, prepared: Prepared, question: int = 0, *, keep: Keep = "all") -> Trace:
    """The stages of one question while `engine` decides the whole request. See `traces`."""
    return traces(engine, prepared, (question,), keep=keep)[0]


def traces(
    engine: Any, prepared: Prepared, questions: Sequence[int] | None = None, *, keep: Keep = "all"
) -> list[Trace]:
    """One trace a question (all of them by default) of one decision.

    engine: any of this process, loaded by name or made by hand (faulty op table, shared weights), or an oracle.
    Where the engine refuses its own logits as not finite, hidden row and logits are NaN and the rest is what was seen.
    Raises TraceError for an engine of another kind, an index without a question, or stages that did not come by;
    whatever else the engine raises passes through.
    """
    chosen = range(len(prepared.questions)) if questions is None else questions
    if not all(0 <= index < len(prepared.questions) for index in chosen):
        raise TraceError(f"questions {list(chosen)} of a request that has {len(prepared.questions)}")
    if hasattr(engine, "decide_all"):
        items = tuple(prepared.questions[index] for index in chosen)
        return _oracle_traces(engine, [dataclasses.replace(prepared, questions=items)], keep)[0]
    notes = Notes(chosen, keep)
    kinds, depth = _layout(engine)
    with watch_native(engine, notes) if hasattr(engine, "run_language") else watch_reference(engine, notes):
        try:
            results = engine.decide(prepared).questions
        except AnswerError:  # logits that are not finite: the walk is complete, and shows where they come from
            results = None
    dtype = getattr(torch, engine.profile.runtime.dtype)
    for index in chosen:
        if results is not None and index >= len(results):
            raise TraceError(f"the engine answered {len(results)} questions of {len(prepared.questions)}")
        if results is None:
            row, labels = notes.found(index)["embedding"].shape[-1], len(prepared.questions[index].label_ids)
            notes.finish(index, torch.full((row,), torch.nan, dtype=dtype), torch.full((labels,), torch.nan))
        else:
            hidden = row_tensor(results[index].hidden, dtype)
            notes.finish(index, hidden, torch.tensor(results[index].logits))
    expected = stage_names(kinds, depth if prepared.grids else None)
    return [_ordered(notes.found(index), expected, keep) for index in chosen]


def traces_of_requests(engine: Any, requests: Sequence[Prepared], *, keep: Keep = "all") -> list[list[Trace]]:
    """`traces` of several requests; an oracle takes them all through each layer together."""
    if hasattr(engine, "decide_all"):
        return _oracle_traces(engine, requests, keep)
    return [traces(engine, prepared, keep=keep) for prepared in requests]


def _oracle_traces(oracle: Oracle, requests: Sequence[Prepared], keep: Keep) -> list[list[Trace]]:
    """A single question is kept stage by stage as it comes; of several the oracle holds every row for a while."""
    kinds, depth = _layout(oracle)
    names = [stage_names(kinds, depth if prepared.grids else None) for prepared in requests]
    if [len(prepared.questions) for prepared in requests] == [1]:
        found: dict[str, Tensor] = {}
        oracle.decide_all(requests, tap=lambda name, tensor: found.update({name: kept(name, tensor, keep)}))
        return [[_ordered(found, names[0], keep)]]
    outcomes = oracle.decide_all(requests, stages=True)
    return [
        [
            _ordered({n: t if keep == "all" else kept(n, t, keep) for n, t in result.stages.items()}, expected, keep)
            for result in results
        ]
        for results, expected in zip(outcomes, names, strict=True)
    ]


class Notes:
    """Where a watcher puts what came by. Stages of the vision tower belong to every question behind them."""

    def __init__(self, questions: Iterable[int], keep: Keep) -> None:
        self._wanted, self._keep = frozenset(questions), keep
        self._tower: dict[str, Tensor] = {}
        self._found: dict[int, dict[str, Tensor]] = {}
        self._question = -1

    @property
    def listening(self) -> bool:
        """Whether the question under way is one to be kept."""
        return self._question in self._wanted

    def tower(self, name: str, tensor: Tensor) -> None:
        """A stage of the vision tower, whose first one is "vision.patches"."""
        if any(index > self._question for index in self._wanted):
            self._tower[name] = kept(name, tensor, self._keep)

    def question(self, embedding: Tensor) -> None:
        """The next question begins; embedding [T, H] goes into its first layer."""
        self._question += 1
        if self.listening:
            self._found[self._question] = {**self._tower, "embedding": kept("embedding", embedding, self._keep)}

    def stage(self, name: str, tensor: Tensor) -> None:
        """A stage of the question under way."""
        if self.listening:
            self._found[self._question][name] = kept(name, tensor, self._keep)

    def state(self, name: str, k: Tensor, v: Tensor, g: Tensor, beta: Tensor) -> None:
        """The state behind the last token, in FP64. k [T, heads, Dk], v [T, heads, Dv], g, beta [T, heads]: what the
        engine fed its rule. No engine hands its own state out, as nothing is decoded; this one shows how far two
        sides' inputs have come apart over the whole prompt, free of the rounding inside either kernel."""
        if self.listening:
            self.stage(name, in_chunks(*(x.unsqueeze(0) for x in (k, k, v, g, beta)))[1][0])

    def finish(self, question: int, hidden: Tensor, logits: Tensor) -> None:
        """What the engine answered. Raises TraceError where no forward was seen for it."""
        self.found(question).update(hidden=kept("hidden", hidden, self._keep), logits=kept("logits", logits, self._keep))

    def found(self, question: int) -> dict[str, Tensor]:
        """The stages of a question. Raises TraceError where none were seen."""
        if question not in self._found:
            raise TraceError(f"the engine answered question {question} and no forward for it was seen")
        return self._found[question]


def kept(name: str, tensor: Tensor, keep: Keep) -> Tensor:
    """What a trace holds of a stage: a copy on the CPU, or of its last row, or its digest."""
    tensor = tensor.detach()
    if keep == "digest":
        return digest(tensor)
    if keep == "last" and name not in WHOLE and not name.endswith(".state"):
        tensor = tensor[-1:]
    return tensor.to("cpu", copy=True).contiguous()


def digest(tensor: Tensor) -> Tensor:
    """SHA-256 of a tensor's shape, dtype and bits, uint8 [32]."""
    values = tensor.detach().to("cpu").contiguous().reshape(-1).view(torch.uint8)
    sum_ = hashlib.sha256(f"{tuple(tensor.shape)} {tensor.dtype} ".encode())
    sum_.update(values.numpy().data)
    return torch.frombuffer(bytearray(sum_.digest()), dtype=torch.uint8)


def stage_names(kinds: Sequence[str], depth: int | None) -> list[str]:
    """Every stage in walking order. kinds: of each decoder layer; depth: vision blocks, None for a text prompt."""
    names = ["vision.patches", "vision.positions"] if depth is not None else []
    for block in range(depth or 0):
        names += [f"vision.block.{block:02d}{part}" for part in (".attention", ".mlp", "")]
    names += ["vision.merger"] if depth is not None else []
    names.append("embedding")
    for layer, kind in enumerate(kinds):
        parts = (".mixer", ".mlp", "", ".state") if kind == "linear_attention" else (".mixer", ".mlp", "")
        names += [f"layer.{layer:02d}{part}" for part in parts]
    return [*names, *WHOLE]


def _ordered(found: dict[str, Tensor], expected: Sequence[str], keep: Keep) -> Trace:
    """Raises TraceError unless exactly the expected stages came by."""
    missing, more = [n for n in expected if n not in found], sorted(found.keys() - set(expected))
    if missing or more:
        raise TraceError(f"the engine went another way than its config says: no {missing[:4]}, but {more[:4]}")
    return Trace(((name, found[name]) for name in expected), keep)


def _layout(engine: Any) -> tuple[Sequence[str], int]:
    """(kind of each decoder layer, number of vision blocks). Raises TraceError for what is no engine to trace."""
    if hasattr(engine, "run_language") or hasattr(engine, "decide_all"):
        return engine.config.text.layer_types, engine.config.vision.depth
    if hasattr(engine, "forward") and hasattr(engine, "model"):
        config = engine.model.get_base_model().config
        return config.text_config.layer_types, config.vision_config.depth
    raise TraceError(
        f"{getattr(engine, 'name', type(engine).__name__)} does not compute in this process, so it cannot be traced: "
        "use reference, native, graph or oracle"
    )
