"""What every engine is: load, prepare, decide, count, close.

Covers: the data that travels between a request and a decision. Holds no arithmetic and imports no model,
so serving, campaign and notebooks depend on this module and not on any engine.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import torch

    from kit.contract.request import Question, Request

Grid = tuple[int, int, int]  # patches: (temporal, height, width); an image becomes t*h*w/4 tokens
Counters = dict[str, dict[str, int]]  # cache name ("text", "multimodal", "vision") -> counter -> value


@dataclass(frozen=True)
class PreparedQuestion:
    """One prefill: the tokens of one question's prompt.

    prompt: chat-templated text, one `<|image_pad|>` an image. input_ids: T token ids, image pads expanded.
    label_ids: token id of each candidate's label. positions: three axes (time, height, width) of T ints.
    """

    question: Question
    prompt: str
    input_ids: tuple[int, ...]
    label_ids: tuple[int, ...]
    positions: tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]


@dataclass(frozen=True)
class Prepared:
    """A request ready for any engine; building it needs no weights and no device.

    body: the bytes as received (what a remote engine forwards). grids: one an image.
    pixels: float32 [sum of t*h*w, 1536] on the CPU (in pinned memory, where an engine prepared it for a GPU), or
    None without images.
    """

    body: bytes
    request: Request
    questions: tuple[PreparedQuestion, ...]
    grids: tuple[Grid, ...]
    pixels: torch.Tensor | None

    @property
    def input_tokens(self) -> int:
        return sum(len(question.input_ids) for question in self.questions)


@dataclass(frozen=True)
class Event:
    """What one forward did with its graph cache.

    key: e.g. "text:98", "multimodal:149", "vision:1x16x16+1x16x32"; "" for an engine without graphs.
    action: "capture", "replay", "fallback" (a capture failed) or "eager" (no cache in use).
    bytes: what a captured entry holds alone, 0 otherwise. pool: by how much a capture, also one that failed, made
    the memory grow that all entries of its cache share.
    """

    key: str = ""
    action: str = "eager"
    bytes: int = 0
    pool: int = 0


@dataclass(frozen=True)
class QuestionResult:
    """One question's raw outcome: float32 label logits (candidate order) and the final-norm hidden row.

    hidden: the last position's row after the final norm, in the model's dtype, little endian bytes
    (BF16: 2 bytes a value); b"" where an engine cannot give it (remote). milliseconds: its prefill, as the
    device saw it; 0 where that is not measured.
    """

    question_id: str
    logits: tuple[float, ...]
    hidden: bytes
    tokens: int
    event: Event
    milliseconds: float = field(default=0.0, compare=False)


@dataclass(frozen=True)
class Decision:
    """The answer to one request. answers: question id -> answer object, as the response carries them.

    vision is None for a text request. timings_ms, where measured: "vision" and "language" (all prefills) as the
    device saw them, "total" by the clock of the host.
    """

    answers: dict[str, dict[str, Any]]
    input_tokens: int
    questions: tuple[QuestionResult, ...]
    vision: Event | None = None
    timings_ms: dict[str, float] = field(default_factory=dict)


class Engine(Protocol):
    """`load(profile) -> Engine` lives in each engine's module; `kit.engine.load(name, profile)` picks one."""

    name: str

    def prepare(self, body: bytes) -> Prepared:
        """Parse, check and tokenise a request body; thread-safe. Raises ContractError."""
        ...

    def decide(self, prepared: Prepared) -> Decision:
        """Run the request; one at a time. Any exception means the engine can no longer be trusted."""
        ...

    def counters(self) -> Counters:
        """Graph cache counters since load; empty for an engine without caches."""
        ...

    def describe(self) -> dict[str, Any]:
        """JSON facts for the evidence: functions that really run, dtypes, merge state, head rows, backend."""
        ...

    def close(self) -> None:
        """Free everything; the engine cannot be used afterwards."""
        ...
