"""The exact, ordered list of requests each engine is sent.

Covers: which request goes where, in which phase and pass, and what status it must get, all derived from
the protocol and the profile. A protocol of 28 requests in two passes gives 58 posts to the reference, 62 to
every other engine and 5 through the frontend.
Does not cover: sending (`kit.campaign.runner`) or building the two refused requests (`kit.campaign.refusals`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from kit.campaign.refusals import refused_requests

if TYPE_CHECKING:
    from kit.campaign.protocol import Case, Protocol
    from kit.profile import Profile

Target = Literal["worker", "frontend"]
FRONTEND = "frontend"


@dataclass(frozen=True)
class Planned:
    """One request to send. `expect` is the only status that lets the campaign go on.

    pass_number: 1.. for measured requests, 0 for all others. n: position in the engine's list, from 1.
    """

    n: int
    target: Target
    phase: Literal["feasibility", "measured", "refused", "recovery", "frontend"]
    pass_number: int
    request_id: str
    modality: Literal["text", "image"]
    expect: int
    body: bytes


def planned_exchanges(protocol: Protocol, profile: Profile, engine: str) -> tuple[Planned, ...]:
    """Everything one engine is sent, in order, numbered from 1."""
    return tuple(replace(item, n=n) for n, item in enumerate(_sequence(protocol, profile, engine), 1))


def planned_counts(protocol: Protocol, profile: Profile) -> dict[str, int]:
    """Posts by engine; those through the frontend are counted under "frontend", not under their engine."""
    counts: dict[str, int] = {}
    through_frontend = 0
    for engine in profile.campaign.engines:
        planned = planned_exchanges(protocol, profile, engine)
        direct = sum(item.target == "worker" for item in planned)
        counts[engine] = direct
        through_frontend += len(planned) - direct
    if through_frontend:
        counts[FRONTEND] = through_frontend
    return counts


def _sequence(protocol: Protocol, profile: Profile, engine: str) -> Iterator[Planned]:
    first = feasibility_cases(protocol)
    for case in first:
        yield _answered(case, "feasibility")
    for number in range(1, profile.campaign.passes + 1):
        for case in protocol.cases:
            yield _answered(case, "measured", pass_number=number)
    if engine != profile.campaign.reference:
        # The reference is the yardstick, not the server under test: it is not sent requests to refuse.
        for refused, recovery in zip(refused_requests(), (first[0], first[-1]), strict=True):
            yield Planned(0, "worker", "refused", 0, refused.request_id, "image", 422, refused.body)
            yield _answered(recovery, "recovery")
    if engine == "graph" and profile.campaign.frontend:
        for case in frontend_cases(protocol):
            yield _answered(case, "frontend", target="frontend")


def _answered(
    case: Case,
    phase: Literal["feasibility", "measured", "recovery", "frontend"],
    *,
    pass_number: int = 0,
    target: Target = "worker",
) -> Planned:
    return Planned(0, target, phase, pass_number, case.id, case.modality, 200, case.body)


def feasibility_cases(protocol: Protocol) -> tuple[Case, ...]:
    """The first text and the first image request of the corpus (one of them where it has no other kind)."""
    firsts = (next((c for c in protocol.cases if c.modality == kind), None) for kind in ("text", "image"))
    return tuple(case for case in firsts if case is not None)


def frontend_cases(protocol: Protocol) -> tuple[Case, ...]:
    """Five spots: first text request with a choice, a score, a noul; first with one image, with four.

    A corpus without one of these kinds has fewer spots.
    """
    spots = [
        next((c for c in protocol.cases if c.modality == "text" and kind in question_types(c)), None)
        for kind in ("choice", "score", "noul")
    ]
    spots += [next((c for c in protocol.cases if image_count(c) == count), None) for count in (1, 4)]
    return tuple(case for case in spots if case is not None)


def question_types(case: Case) -> tuple[str, ...]:
    """Type of each question of a request, in order."""
    return tuple(question.get("type", "choice") for question in _request(case)["questions"].values())


def image_count(case: Case) -> int:
    """Images a request carries."""
    return len(_request(case).get("images") or ())


def _request(case: Case) -> dict[str, Any]:
    request: dict[str, Any] = json.loads(case.body)
    return request
