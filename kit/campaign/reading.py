"""A run's records as plain data: what drift, verdict, performance and notebooks read.

Covers: exchanges joined with the worker's own record of the same post (by sequence number), response bodies
checked against their digests, logits and hidden rows decoded, and pandas frames of it all for notebooks.
Anything that contradicts itself raises RecordsError; anything that is merely absent is left absent, and the
verdict fails over it. Does not cover: judging.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kit.campaign.protocol import load_protocol
from kit.campaign.sensitivity import has_room
from kit.contract import strict_json
from kit.contract.errors import ContractError
from kit.evidence.floats import decode_float32
from kit.evidence.records import RecordError, read_jsonl
from kit.profile import Profile, profile_from_dict

if TYPE_CHECKING:
    import pandas as pd

    from kit.campaign.protocol import Protocol

EXCHANGES = "kit-exchanges/1"
WORKER = "kit-worker/2"


class RecordsError(RuntimeError):
    """Records contradict themselves or cannot be read, so nothing can be judged from them."""


@dataclass(frozen=True)
class QuestionRecord:
    """What the worker noted of one prefill. logits: float32 values, candidate order; hidden: SHA-256 of the row."""

    question: str
    index: int
    type: str
    candidates: tuple[str, ...]
    tokens: int
    grids: tuple[tuple[int, ...], ...]
    key: str
    action: str
    logits: tuple[float, ...]
    hidden: str


@dataclass(frozen=True)
class Exchange:
    """One request and its reply. response: the decoded body of a 200, None where it is not usable JSON.

    questions and post are the worker's side of it (empty and None where none was recorded).
    """

    n: int
    target: str
    phase: str
    pass_number: int
    sequence: int | None
    request_id: str
    modality: str
    expect: int
    status: int | None
    request_sha256: str
    response_sha256: str | None
    started_ns: int
    finished_ns: int
    response: dict[str, Any] | None
    questions: Mapping[str, QuestionRecord]
    post: Mapping[str, Any] | None

    @property
    def wall_ms(self) -> float:
        """Milliseconds from sending the request to holding the whole reply, as the client saw them."""
        return (self.finished_ns - self.started_ns) / 1e6

    @property
    def latency_ms(self) -> float | None:
        """The latency the server itself reports in its answer."""
        usage = (self.response or {}).get("usage")
        value = usage.get("latency_ms") if isinstance(usage, dict) else None
        return value if is_number(value) else None


@dataclass(frozen=True)
class EngineRecords:
    """Everything recorded of one engine. worker_lines: its record file after the header; facts: engine.json."""

    name: str
    exchanges: tuple[Exchange, ...]
    worker_lines: tuple[Mapping[str, Any], ...]
    facts: Mapping[str, Any]

    def measured(self, pass_number: int = 1) -> dict[str, Exchange]:
        """Exchanges of one measured pass that got the status they should, by request id."""
        return {
            exchange.request_id: exchange
            for exchange in self.exchanges
            if exchange.phase == "measured" and exchange.pass_number == pass_number and exchange.status == 200
        }


@dataclass(frozen=True)
class RunRecords:
    """A whole run. engines holds those the profile names and that left records."""

    path: Path
    facts: Mapping[str, Any]
    profile: Profile
    protocol: Protocol
    engines: Mapping[str, EngineRecords]
    temperatures: Mapping[str, float] = field(default_factory=dict)  # "text", "image"


def is_number(value: object) -> bool:
    """A finite int or float (a bool is neither)."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def read_run(run_dir: str | Path) -> RunRecords:
    """Read a run folder. Raises RecordsError, ProfileError or ProtocolError."""
    path = Path(run_dir)
    profile = profile_from_dict(read_json(path / "profile.json"), source=f"{path.name}/profile.json")
    engines = {
        name: read_engine(path, name)
        for name in profile.campaign.engines
        if (path / "records" / name / "exchanges.jsonl").exists()
    }
    return RunRecords(
        path,
        read_json(path / "run.json"),
        profile,
        load_protocol(path / "protocol", answers=profile.protocol.answers),
        engines,
        declared_temperatures(path, engines.values()),
    )


def read_json(path: Path) -> dict[str, Any]:
    """A JSON object of the run."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise RecordsError(f"{path.name}: cannot be read: {error}") from error
    if not isinstance(value, dict):
        raise RecordsError(f"{path.name}: expected a JSON object")
    return value


def read_lines(path: Path, expected_format: str) -> list[dict[str, Any]]:
    """Lines of a JSONL record after its header, whose format must be the expected one."""
    try:
        return read_jsonl(path, expected_format)[1]
    except (OSError, RecordError) as error:
        raise RecordsError(f"{path.parent.name}/{path.name}: {error}") from error


def read_engine(run_dir: Path, name: str) -> EngineRecords:
    """Records of one engine, its exchanges joined with its worker's lines."""
    folder = run_dir / "records" / name
    worker_file = folder / "worker.jsonl"
    worker_lines = read_lines(worker_file, WORKER) if worker_file.exists() else []
    questions, posts = _by_sequence(worker_lines, name)
    bodies = run_dir / "records" / "bodies"
    exchanges = tuple(
        _exchange(line, bodies, questions, posts, name) for line in read_lines(folder / "exchanges.jsonl", EXCHANGES)
    )
    facts_file = folder / "engine.json"
    return EngineRecords(name, exchanges, tuple(worker_lines), read_json(facts_file) if facts_file.exists() else {})


def _by_sequence(
    lines: Sequence[Mapping[str, Any]], engine: str
) -> tuple[dict[int, dict[str, QuestionRecord]], dict[int, Mapping[str, Any]]]:
    questions: dict[int, dict[str, QuestionRecord]] = {}
    posts: dict[int, Mapping[str, Any]] = {}
    for line in lines:
        kind, sequence = line.get("kind"), line.get("sequence")
        if sequence is None or kind not in ("question", "post"):
            continue
        if kind == "post":
            if sequence in posts:
                raise RecordsError(f"{engine}/worker.jsonl: post {sequence} is recorded twice")
            posts[sequence] = line
            continue
        of_request = questions.setdefault(sequence, {})
        if line["question"] in of_request:
            raise RecordsError(f"{engine}/worker.jsonl: post {sequence} answers {line['question']!r} twice")
        of_request[line["question"]] = question_record(line)
    return questions, posts


def question_record(line: Mapping[str, Any]) -> QuestionRecord:
    """Decode a "question" line: logits are hex of little-endian float32, the hidden row is named by its SHA-256."""
    return QuestionRecord(
        line["question"],
        line["index"],
        line["type"],
        tuple(line["candidates"]),
        line["tokens"],
        tuple(tuple(grid) for grid in line["grids"]),
        line["key"],
        line["action"],
        decode_float32(line["logits"]),
        line["hidden"],
    )


def _exchange(
    line: Mapping[str, Any],
    bodies: Path,
    questions: Mapping[int, Mapping[str, QuestionRecord]],
    posts: Mapping[int, Mapping[str, Any]],
    engine: str,
) -> Exchange:
    where = f"{engine}/exchanges.jsonl n={line.get('n')}"
    sequence = line["sequence"]
    post = posts.get(sequence) if sequence is not None else None
    if post is not None:
        for key in ("request_sha256", "response_sha256", "status"):
            if post[key] != line[key]:
                raise RecordsError(f"{where}: the client noted {key} {line[key]}, the worker {post[key]}")
    return Exchange(
        line["n"], line["target"], line["phase"], line["pass"], sequence, line["request_id"], line["modality"],
        line["expect"], line["status"], line["request_sha256"], line["response_sha256"],
        line["started_ns"], line["finished_ns"],
        _response(bodies, line["response_sha256"], where) if line["status"] == 200 else None,
        questions.get(sequence, {}) if sequence is not None else {},
        post,
    )  # fmt: skip


def _response(bodies: Path, digest: str, where: str) -> dict[str, Any] | None:
    try:
        data = (bodies / digest).read_bytes()
    except OSError as error:
        raise RecordsError(f"{where}: the response body {digest[:12]}... is not in records/bodies") from error
    if hashlib.sha256(data).hexdigest() != digest:
        raise RecordsError(f"{where}: records/bodies/{digest[:12]}... does not have the digest it is named by")
    try:
        value = strict_json.loads(data)
    except ContractError:
        return None  # an answer nobody can read is an absent answer
    return value if isinstance(value, dict) else None


def declared_temperatures(run_dir: Path, engines: Iterable[EngineRecords] = ()) -> dict[str, float]:
    """Temperature by modality: the checkpoint's calibration, else what the workers say they used.

    Empty where neither is recorded; workers that disagree raise RecordsError.
    """
    file = run_dir / "checkpoint.json"
    calibration = read_json(file).get("calibration") if file.exists() else None
    if isinstance(calibration, dict):
        return {"text": float(calibration["temperature"]), "image": float(calibration["mm_temperature"])}
    found: dict[str, float] = {}
    for engine in engines:
        for exchange in engine.exchanges:
            value = (exchange.post or {}).get("temperature")
            if value is None or exchange.status != 200:
                continue
            if found.setdefault(exchange.modality, value) != value:
                raise RecordsError(f"{engine.name}: {exchange.modality} temperatures {found[exchange.modality]}, {value}")
    return found


# ---------------------------------------------------------------- frames for notebooks


def exchanges_frame(run: RunRecords) -> pd.DataFrame:
    """One row an exchange: engine, phase, pass, request, modality, status, wall_ms, latency_ms."""
    import pandas as pd

    return pd.DataFrame(
        {
            "engine": engine.name, "target": e.target, "phase": e.phase, "pass": e.pass_number,
            "request": e.request_id, "modality": e.modality, "status": e.status, "wall_ms": e.wall_ms,
            "latency_ms": e.latency_ms,
        }
        for engine in run.engines.values() for e in engine.exchanges
    )  # fmt: skip


def probabilities_frame(run: RunRecords, pass_number: int = 1) -> pd.DataFrame:
    """One row a candidate: engine, request, question, type, modality, candidate, probability, logit (or NaN)."""
    import pandas as pd

    return pd.DataFrame(_candidate_rows(run, pass_number))


def _candidate_rows(run: RunRecords, pass_number: int) -> Iterator[dict[str, Any]]:
    for engine in run.engines.values():
        for request, exchange in engine.measured(pass_number).items():
            for question, answer in (exchange.response or {}).get("answers", {}).items():
                record = exchange.questions.get(question)
                logits = dict(zip(record.candidates, record.logits, strict=False)) if record else {}
                for candidate, probability in answer["probabilities"].items():
                    yield {
                        "engine": engine.name, "request": request, "question": question, "type": answer["type"],
                        "modality": exchange.modality, "candidate": candidate, "probability": probability,
                        "logit": logits.get(candidate, math.nan),
                    }  # fmt: skip


def drift_frame(drift: Mapping[str, Any]) -> pd.DataFrame:
    """The rows of drift.json as a frame, the lattice in two flat columns; room: whether the field's bounds are asked of it."""
    import pandas as pd

    rows = [
        {key: value for key, value in row.items() if key != "lattice"}
        | {"lattice_holds": row["lattice"]["holds"], "lattice_exponent": row["lattice"]["exponent"]}
        | {"room": has_room(row)}
        for row in drift["rows"]
    ]
    return pd.DataFrame(rows)
