"""What a subject is asked: the protocol's requests, its refusals, a second pass, and requests of a fault's own.

Covers: `Ask`, a body and the body whose answer it must get, and the lists. A fault can show only where a request
exercises it: what the protocol does not ask, such as a prompt over its budget, is added here by the fault that
needs it.
Does not cover: who is asked (`kit.campaign.planted.site`) or what the answers mean (`kit.campaign.planted.tiers`).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kit.campaign.prompts import generate_mixed
from kit.campaign.refusals import refused_requests

if TYPE_CHECKING:
    from kit.campaign.protocol import Protocol
    from kit.engine.prepare import Preparer
    from kit.profile import Limits

LONGEST = 512  # tokens: protocol requests with a longer question cost as much as all others and show nothing more
FEW = (
    "triage-choice-3", "intent-choice-10", "severity-score-3", "policy-structured-reversed", "console-512x256", "images-2",
    "waiting-room-jpeg", "signal-data-url",
)  # fmt: skip
GENERATED, SEED = 48, 20261130  # requests of a second look
AGAIN = ("route-choice-2", "severity-score-3", "console-512x256", "signal-data-url")  # asked again at the end


class AskingError(ValueError):
    """The protocol of a profile lacks a request that the faults were chosen for."""


@dataclass(frozen=True)
class Ask:
    """One POST. like: the body whose answer, from the reference, is the right one for this body; default: its own.

    questions: where only some of the questions of `like` are asked.
    """

    name: str
    body: bytes
    like: bytes = b""
    questions: tuple[str, ...] = ()

    @property
    def expected(self) -> bytes:
        return self.like or self.body


class Stock:
    """The requests of a profile's protocol as asks, by id, with those made for single faults.

    few: `protocol` and `answered` give only FEW of them, which have something of everything.
    """

    def __init__(self, protocol: Protocol, preparer: Preparer, limits: Limits, *, few: bool = False) -> None:
        longest = {
            case.id: max(len(item.input_ids) for item in preparer.prepare(case.body).questions) for case in protocol.cases
        }
        self.left_out = tuple(name for name, tokens in longest.items() if tokens > LONGEST)
        self._all = {case.id: Ask(case.id, case.body) for case in protocol.cases}
        self._few = frozenset(FEW if few else self._all)
        self._made = {refused.request_id: Ask(refused.request_id, refused.body) for refused in refused_requests()}
        self._made |= {
            "over-budget": Ask("over-budget", over_budget(limits.image_tokens)),
            "same-length": Ask("same-length", same_length(self["severity-score-3"].body, preparer)),
        }

    def __getitem__(self, name: str) -> Ask:
        found = self._all.get(name) or self._made.get(name)
        if found is None:
            raise AskingError(f"this protocol has no request {name!r}, which a fault needs to show; use a profile of evidence/protocol")
        return found

    def protocol(self) -> tuple[Ask, ...]:
        """The protocol's requests in its order but for the longest, and its two refusals."""
        kept = [ask for name, ask in self._all.items() if name in self._few and name not in self.left_out]
        return (*kept, *(self._made[refused.request_id] for refused in refused_requests()))

    def answered(self) -> tuple[str, ...]:
        """Ids of the protocol's requests but for the longest, every content once."""
        contents: dict[str, str] = {}
        for name, ask in self._all.items():
            if name in self._few and name not in self.left_out:
                request = json.loads(ask.body)
                contents.setdefault(json.dumps([request["state"], request["questions"]]), name)
        return tuple(contents.values())

    def everything(self) -> tuple[str, ...]:
        """Ids of all of the protocol's requests, the longest last."""
        return (*(name for name in self._all if name not in self.left_out), *self.left_out)

    def campaign(self, also: Sequence[str] = ()) -> tuple[Ask, ...]:
        """The protocol, what a fault adds, and a second pass over a few."""
        return (*self.protocol(), *self.some(also), *self.some(AGAIN))

    def more(self) -> tuple[Ask, ...]:
        """The longest of the protocol, and generated requests: for faults that the others did not show."""
        generated = generate_mixed(GENERATED, seed=SEED)
        return (*self.some(self.left_out), *(Ask(case.id, case.body) for case in generated))

    def some(self, names: Iterable[str]) -> tuple[Ask, ...]:
        """Requests by id; one that this protocol does not have is an error."""
        return tuple(self[name] for name in names)


def over_budget(budget: int) -> bytes:
    """A request with a small image whose prompt is over the budget for images: it must be refused, never cut."""
    request: dict[str, Any] = {
        "state": " ".join(f"entry {n % 10}" for n in range(budget)),
        "questions": {"fits": {"type": "noul", "instructions": "Does all of this fit?"}},
        "images": [json.loads(refused_requests()[1].body)["images"][0]],
    }
    return json.dumps(request, separators=(",", ":")).encode()


def same_length(body: bytes, preparer: Preparer) -> bytes:
    """The request with two words of its state exchanged, so that prompts differ and their lengths do not."""
    request = json.loads(body)
    words = str(request["state"]).split(" ")
    wanted = preparer.prepare(body)
    for first in range(len(words) - 1):
        for second in range(first + 1, len(words)):
            changed = list(words)
            changed[first], changed[second] = changed[second], changed[first]
            other = json.dumps({**request, "state": " ".join(changed)}, ensure_ascii=False, separators=(",", ":")).encode()
            found = preparer.prepare(other)
            lengths = [[len(item.input_ids) for item in side.questions] for side in (wanted, found)]
            if lengths[0] == lengths[1] and found.questions[0].input_ids != wanted.questions[0].input_ids:
                return other
    raise ValueError("no two words of the state can be exchanged without changing its length")
