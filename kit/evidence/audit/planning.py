"""Which requests an engine had to be sent, and what a question asks for; nothing here reads a record."""

from __future__ import annotations

from typing import List, NamedTuple

from kit.evidence.audit.rules import Json


class Planned(NamedTuple):
    """One request that an engine had to be sent. digest: SHA-256 of its bytes, None where the plan has none."""

    target: str
    phase: str
    number: int
    request: str
    modality: str
    status: int
    digest: str | None


def answered(target: str, phase: str, number: int, case: Json) -> Planned:
    return Planned(target, phase, number, case["id"], case["modality"], 200, case["sha256"])


def frontend_spots(cases: List[Json]) -> List[Json]:
    """The first text request with a choice, a score, a noul; the first with one image, with four."""

    def types(case: Json) -> List[str]:
        return [kind_of(question) for question in case["request"]["questions"].values()]

    texts = [case for case in cases if case["modality"] == "text"]
    spots = [[case for case in texts if kind in types(case)][:1] for kind in ("choice", "score", "noul")]
    spots += [[case for case in cases if image_count(case["request"]) == count][:1] for count in (1, 4)]
    return [case for spot in spots for case in spot]


def image_count(request: Json) -> int:
    return len(request.get("images") or ())


def kind_of(question: Json) -> str:
    return str(question.get("type", "choice"))


def candidate_ids(question: Json) -> List[str]:
    """Ids of a question's candidates in order, as the contract names them."""
    kind, criteria = kind_of(question), question.get("criteria")
    if kind == "noul":
        return ["yes", "no"]
    return [str(index) for index in range(len(criteria or ()))] if kind == "score" else list(criteria or ())
