"""The frozen requests of a campaign, and the answers frozen with them.

Covers: reading a protocol folder and refusing one that was changed or does not make sense; writing its frozen
answers and checksums. Two formats load: a folder with SHA256SUMS, every file of which is verified, and the
earlier published one, corpus.jsonl with or without reference.json and without checksums.
Does not cover: decoding images and token budgets (`kit.contract`, `kit.engine.prepare`), which request is
sent when (`kit.campaign.plan`), and making the corpus (`generate.py` in the folder itself).
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, Literal

from kit.campaign.published import check_published
from kit.contract import strict_json
from kit.contract.errors import ContractError
from kit.contract.prompt import Question
from kit.contract.request import compile_questions
from kit.evidence.records import sha256_bytes, sha256_file, write_atomic
from kit.profile import ANSWERS, from_root

if TYPE_CHECKING:
    from kit.profile import Profile

CORPUS, REFERENCE, SUMS = "corpus.jsonl", "reference.json", "SHA256SUMS"
LINE_KEYS = ("id", "modality", "expected", "request")
SUM_LINE = re.compile(r"([0-9a-f]{64}) [ *](.+)")


class ProtocolError(ValueError):
    """The protocol folder cannot be used; the message names file, line and what was expected."""


@dataclass(frozen=True)
class Case:
    """One frozen request.

    body: the exact bytes to send. expected: candidate id by question id, where there is one right answer.
    """

    id: str
    modality: Literal["text", "image"]
    expected: Mapping[str, str]
    body: bytes
    questions: tuple[Question, ...]


@dataclass(frozen=True)
class Protocol:
    """A verified protocol folder.

    sha256: of SHA256SUMS, or of corpus.jsonl in a folder without checksums. frozen: response by request id,
    one for every case, or None where none were published.
    """

    path: Path
    sha256: str
    cases: tuple[Case, ...]
    frozen: Mapping[str, dict[str, Any]] | None


def load_protocol(path: str | Path, sha256: str = "", answers: str = REFERENCE) -> Protocol:
    """Read and verify a protocol folder. `sha256`: what `Protocol.sha256` must be, "" accepts any.

    answers: name of the file of frozen answers in the folder. `reference.json` may be absent, another that was
    asked for by name may not. Raises ProtocolError for changed, missing or unlisted files, and for a corpus or
    answers that make no sense.
    """
    folder = _folder(path)
    has_sums = (folder / SUMS).is_file()
    if has_sums:
        _check_sums(folder)
    digest = sha256_file(folder / (SUMS if has_sums else CORPUS))
    if sha256 and digest != sha256:
        raise ProtocolError(
            f"{folder.name}: the SHA-256 of {SUMS if has_sums else CORPUS} is {digest}, the profile pins {sha256}: "
            "restore the frozen protocol, or pin the new one and start a new run"
        )
    cases = tuple(_cases(folder))
    if answers != REFERENCE and not (folder / answers).is_file():
        raise ProtocolError(f"{folder.name}: has no answers {answers}, which the profile asks for by name")
    frozen = _frozen(folder, cases, answers) if (folder / answers).is_file() else None
    return Protocol(folder, digest, cases, frozen)


def protocol_of(profile: Profile) -> Protocol:
    """The protocol a profile names, held to its checksum, pins and what judging needs. Raises ProtocolError or PinsError."""
    wanted = profile.protocol
    protocol = load_protocol(profile.protocol_path(), wanted.sha256, wanted.answers)
    if wanted.pins:
        check_published(protocol, from_root(wanted.pins))
    if wanted.judged:
        _check_judged(protocol, wanted.least_right)
    return protocol


def _check_judged(protocol: Protocol, least_right: int) -> None:
    """A judged protocol says what is right for every question, and has as many requests as must be right."""
    where = protocol.path.name
    for case in protocol.cases:
        lacking = [question.id for question in case.questions if question.id not in case.expected]
        if lacking:
            raise ProtocolError(f"{where}: {case.id} expects no answer to {', '.join(lacking)}, and the profile judges all (judged = true)")
    if least_right > len(protocol.cases):
        raise ProtocolError(f"{where}: has {len(protocol.cases)} requests, of which {least_right} can not be right (protocol.least_right)")


def freeze(
    path: str | Path,
    responses: Mapping[str, Mapping[str, Any]],
    answers: str = REFERENCE,
    *,
    replace: bool = True,
) -> str:
    """Write the file `answers` from one response a request, then SHA256SUMS; returns the new `Protocol.sha256`.

    `responses`: response by request id; written in corpus order. Nothing but earlier answers of that name may
    have changed since the folder was frozen. replace: False refuses answers of that name with other bytes.
    Raises ProtocolError, and then writes nothing.
    """
    if not ANSWERS.fullmatch(answers):
        raise ProtocolError(f"answers {answers!r}: expected a plain file name, reference.json or reference-NAME.json")
    folder = _folder(path)
    if (folder / SUMS).is_file():
        _check_sums(folder, rewritten=(answers,))
    cases = tuple(_cases(folder))
    entries = [{"id": name, "response": response} for name, response in responses.items()]
    checked = _responses(entries, cases, "the answers to freeze")
    ordered = [{"id": case.id, "response": checked[case.id]} for case in cases]
    data = (json.dumps(ordered, ensure_ascii=False, indent=1, allow_nan=False) + "\n").encode()
    if not replace and (folder / answers).exists() and (folder / answers).read_bytes() != data:
        raise ProtocolError(f"{folder.name}: has other answers {answers} already: name new ones, or remove those first")
    write_atomic(folder / answers, data)
    return write_sums(folder)


def write_sums(path: str | Path) -> str:
    """Write SHA256SUMS over every file of the folder as it is; returns the SHA-256 of that file."""
    folder = _folder(path)
    lines = [f"{sha256_file(folder / name)}  {name}\n" for name in sorted(_files(folder))]
    data = "".join(lines).encode()
    write_atomic(folder / SUMS, data)
    return sha256_bytes(data)


# ---------------------------------------------------------------- files


def _folder(path: str | Path) -> Path:
    folder = Path(path)
    if not folder.is_dir():
        raise ProtocolError(f"{path}: no such protocol folder (expected one with {CORPUS} in it)")
    if not (folder / CORPUS).is_file():
        raise ProtocolError(f"{folder.name}: {CORPUS} is missing, so this is not a protocol folder")
    return folder


def _files(folder: Path) -> set[str]:
    """Names of all files but the checksums, relative; Python's bytecode caches do not count."""
    names = set()
    for file in folder.rglob("*"):
        relative = file.relative_to(folder)
        if file.is_symlink():
            raise ProtocolError(f"{folder.name}/{relative.as_posix()}: is a link; a protocol holds plain files only")
        if file.is_file() and "__pycache__" not in relative.parts and relative.as_posix() != SUMS:
            names.add(relative.as_posix())
    return names


def _check_sums(folder: Path, rewritten: tuple[str, ...] = ()) -> None:
    """Hold every file to its checksum, all problems in one message. `rewritten`: names not looked at."""
    listed = _listed(folder)
    present = _files(folder)
    problems = [f"{name} is listed but missing" for name in sorted(listed.keys() - present - set(rewritten))]
    problems += [f"{name} is not listed" for name in sorted(present - listed.keys() - set(rewritten))]
    for name in sorted((listed.keys() & present) - set(rewritten)):
        found = sha256_file(folder / name)
        if found != listed[name]:
            problems.append(f"{name} was changed: SHA-256 {found[:16]}..., frozen as {listed[name][:16]}...")
    if CORPUS not in listed:
        problems.append(f"{CORPUS} is not listed, so it is not frozen")
    if problems:
        raise ProtocolError(f"{folder.name}/{SUMS}: " + "; ".join(dict.fromkeys(problems)))


def _listed(folder: Path) -> dict[str, str]:
    listed: dict[str, str] = {}
    try:
        text = (folder / SUMS).read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ProtocolError(f"{folder.name}/{SUMS}: not UTF-8 text") from error
    for number, line in enumerate(text.splitlines(), 1):
        where = f"{folder.name}/{SUMS} line {number}"
        match = SUM_LINE.fullmatch(line)
        if match is None:
            raise ProtocolError(f"{where}: expected 64 hex digits, two spaces and a file name")
        digest, name = match.groups()
        parts = PurePosixPath(name).parts
        if name != str(PurePosixPath(name)) or name.startswith("/") or ".." in parts or "\\" in name:
            raise ProtocolError(f"{where}: {name!r} is not a plain path inside the folder")
        if name in listed:
            raise ProtocolError(f"{where}: {name} is listed twice")
        listed[name] = digest
    return listed


# ---------------------------------------------------------------- requests


def _cases(folder: Path) -> Iterator[Case]:
    data = (folder / CORPUS).read_bytes()
    lines = data.removesuffix(b"\n").split(b"\n") if data.strip() else []
    if not lines:
        raise ProtocolError(f"{folder.name}/{CORPUS}: holds no request; an empty corpus proves nothing")
    seen: dict[str, int] = {}
    for number, line in enumerate(lines, 1):
        case = _case(line, f"{folder.name}/{CORPUS} line {number}")
        if case.id in seen:
            raise ProtocolError(
                f"{folder.name}/{CORPUS} line {number}: id {case.id!r} was used on line {seen[case.id]} already"
            )
        seen[case.id] = number
        yield case


def _case(line: bytes, where: str) -> Case:
    entry = _parse(line, where)
    if not isinstance(entry, dict):
        raise ProtocolError(f"{where}: expected a JSON object with {', '.join(LINE_KEYS)}")
    unknown = [key for key in entry if key not in LINE_KEYS]
    if unknown:
        raise ProtocolError(f"{where}: unknown key {unknown[0]!r}; known are {', '.join(LINE_KEYS)}")
    name, modality, request = entry.get("id"), entry.get("modality"), entry.get("request")
    if not isinstance(name, str) or not name:
        raise ProtocolError(f"{where}: id is {name!r}, expected a non-empty string")
    where = f"{where} ({name})"
    if modality not in ("text", "image"):
        raise ProtocolError(f"{where}: modality is {modality!r}, expected 'text' or 'image'")
    if not isinstance(request, dict):
        raise ProtocolError(f"{where}: request is {type(request).__name__}, expected a JSON object")
    images = request.get("images")
    count = len(images) if isinstance(images, list) else 0
    if (count > 0) != (modality == "image"):
        raise ProtocolError(f"{where}: modality is {modality!r}, but the request carries {count} images")
    try:
        questions = compile_questions(request.get("questions"))
    except ContractError as error:
        raise ProtocolError(f"{where}: the contract refuses it: {error.detail}") from error
    # The bytes sent: compact, non-ASCII as it is, keys in the order of the file.
    body = json.dumps(request, ensure_ascii=False, separators=(",", ":")).encode()
    return Case(name, modality, _expected(entry.get("expected", {}), questions, where), body, questions)


def _expected(given: object, questions: tuple[Question, ...], where: str) -> dict[str, str]:
    """Expected candidate ids. A noul may say true or false, and a score its level as a number."""
    if not isinstance(given, dict):
        raise ProtocolError(f"{where}: expected is {type(given).__name__}, expected an object of candidate ids")
    known = {question.id: [candidate.id for candidate in question.candidates] for question in questions}
    result: dict[str, str] = {}
    for name, value in given.items():
        if name not in known:
            raise ProtocolError(f"{where}: expected names the question {name!r}; it asks {', '.join(known)}")
        candidate = {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)
        if candidate not in known[name]:
            raise ProtocolError(
                f"{where}: expected names the candidate {value!r} of {name!r}; it has {', '.join(known[name])}"
            )
        result[name] = candidate
    return result


def _parse(data: bytes, where: str) -> Any:
    try:
        return strict_json.loads(data, where)
    except ContractError as error:
        raise ProtocolError(error.detail) from error


# ---------------------------------------------------------------- frozen answers


def _frozen(folder: Path, cases: tuple[Case, ...], answers: str) -> dict[str, dict[str, Any]]:
    where = f"{folder.name}/{answers}"
    return _responses(_parse((folder / answers).read_bytes(), where), cases, where)


def _responses(entries: object, cases: tuple[Case, ...], where: str) -> dict[str, dict[str, Any]]:
    """Response by request id: exactly one for every request, each shaped like its questions."""
    if not isinstance(entries, list):
        raise ProtocolError(f'{where}: expected a list of {{"id", "response"}}')
    by_id = {case.id: case for case in cases}
    result: dict[str, dict[str, Any]] = {}
    for index, item in enumerate(entries):
        name = item.get("id") if isinstance(item, dict) else None
        if not isinstance(name, str) or name not in by_id:
            raise ProtocolError(f"{where} entry {index}: id is {name!r}, which the corpus does not have")
        if name in result:
            raise ProtocolError(f"{where} entry {index}: a second answer to {name!r}")
        result[name] = _response(item.get("response"), by_id[name], f"{where} ({name})")
    missing = [case.id for case in cases if case.id not in result]
    if missing:
        raise ProtocolError(f"{where}: no answer to {', '.join(missing)}; frozen answers cover the whole corpus")
    return result


def _response(response: object, case: Case, where: str) -> dict[str, Any]:
    if not isinstance(response, Mapping) or not isinstance(response.get("answers"), Mapping):
        raise ProtocolError(f"{where}: expected a response object with answers")
    answers, usage = response["answers"], response.get("usage")
    asked = [question.id for question in case.questions]
    if list(answers) != asked:
        raise ProtocolError(f"{where}: answers {', '.join(answers)} where the request asks {', '.join(asked)}")
    for question in case.questions:
        answer = answers[question.id]
        values = answer.get("probabilities") if isinstance(answer, Mapping) else None
        wanted = [candidate.id for candidate in question.candidates]
        if not isinstance(values, Mapping) or list(values) != wanted:
            raise ProtocolError(f"{where}: {question.id!r} needs the probabilities of {', '.join(wanted)}, in this order")
        if not all(type(p) in (int, float) and math.isfinite(p) and 0 <= p <= 1 for p in values.values()):
            raise ProtocolError(f"{where}: {question.id!r} has a probability outside 0..1")
    if not isinstance(usage, Mapping) or type(usage.get("input_tokens")) is not int:
        raise ProtocolError(f"{where}: usage.input_tokens is missing or not an integer")
    return dict(response)
