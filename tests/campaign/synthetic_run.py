"""A complete small run folder made without any model, for tests of drift, verdict and audit.

`write_run(path)` writes what a campaign over a made-up protocol of seven requests would have left: exact
record formats, BF16 label logits that are the product of the recorded hidden rows and label head, responses
computed from them, and the graph events a correct cache policy gives (with evictions, an invalidation and
replays in a few dozen forwards). Hooks plant faults. Everything is deterministic.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import math
import struct
import tarfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from kit.campaign.graph_policy import PolicySimulation, forward_of
from kit.campaign.plan import Planned, planned_exchanges
from kit.campaign.refusals import PNG_BASE64
from kit.engine import autotune
from kit.evidence.records import sha256_bytes, store_body
from kit.profile import Profile, load_profile
from tests.campaign import synthetic_facts

RUN_ID = "made-up-run"
TEMPERATURE, MM_TEMPERATURE = 1.2345678901, 1.4321098765  # no simple ratio, as calibrated ones have
HIDDEN = 16
LABELS = 32
GRID = [1, 16, 16]  # what a 32x32 image becomes: 64 tokens
ENGINES = ("reference", "native", "graph")

Logits = list[float]
# (engine, phase, pass, request id, question id, logits) -> logits of that forward
Change = Callable[[str, str, int, str, str, Logits], Logits]
# (request id, question id, logits here) -> the logits of the machine that froze the answers
FrozenBy = Callable[[str, str, Logits], Logits]
# (engine, modality, declared temperature) -> temperature really used
UsedTemperature = Callable[[str, str, float], float]


def bf16(value: float) -> float:
    """Round to BF16 (nearest, ties to even); finite values only."""
    bits = struct.unpack("<I", struct.pack("<f", value))[0]
    bits = (bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000
    return float(struct.unpack("<f", struct.pack("<I", bits))[0])


def number(*key: object) -> float:
    """A fixed BF16 number in -1..1 for a key."""
    digest = hashlib.sha256(repr(key).encode()).digest()
    return bf16(int.from_bytes(digest[:4], "big") / 2**31 - 1)


HEAD = [[bf16(4 * number("head", i, j)) for j in range(HIDDEN)] for i in range(LABELS)]


def bf16_bytes(values: Sequence[float]) -> bytes:
    return b"".join(struct.pack("<f", value)[2:] for value in values)


def float32_hex(values: Sequence[float]) -> str:
    return struct.pack(f"<{len(values)}f", *values).hex()


def compact(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


# ---------------------------------------------------------------- protocol

REQUESTS: list[dict[str, Any]] = [
    {
        "id": "text-choice",
        "modality": "text",
        "expected": {"route": "billing"},
        "request": {
            "state": {"ticket": "invoice twice", "note": "café"},
            "questions": {
                "route": {
                    "type": "choice",
                    "instructions": "Which team?",
                    "criteria": {"billing": "Money", "support": "Help", "sales": "Offers"},
                }
            },
        },
    },
    {
        "id": "text-score",
        "modality": "text",
        "request": {
            "state": "The server is down.",
            "questions": {"urgency": {"type": "score", "instructions": "How urgent?", "criteria": ["low", "", "high"]}},
        },
    },
    {
        "id": "text-pair",
        "modality": "text",
        "request": {
            "state": "Reset my password.",
            "questions": {
                "z-known": {"type": "noul", "instructions": "Is it known?"},
                "a-next": {"instructions": "Next?", "criteria": {"reset": {}, "ask": {"description": "Ask"}}},
            },
        },
    },
    {
        "id": "image-one",
        "modality": "image",
        "request": {
            "state": "Console.",
            "questions": {"healthy": {"type": "noul", "instructions": "Healthy?"}},
            "images": [PNG_BASE64],
        },
    },
    {
        "id": "image-four",
        "modality": "image",
        "request": {
            "state": "Four consoles.",
            "questions": {
                "worst": {"type": "score", "instructions": "Which is worst?", "criteria": ["a", "b", "c", "d"]},
                "alarm": {"type": "noul", "instructions": "Alarm?"},
            },
            "images": [PNG_BASE64] * 4,
        },
    },
    {
        "id": "text-long",
        "modality": "text",
        "request": {
            "state": "long " * 40,
            "questions": {"done": {"type": "noul", "instructions": "Done?"}},
        },
    },
    {
        "id": "text-again",
        "modality": "text",
        "request": {
            "state": "The server is up.",
            "questions": {"urgency": {"type": "score", "instructions": "How urgent?", "criteria": ["low", "", "high"]}},
        },
    },
]


def candidates_of(question: dict[str, Any]) -> list[str]:
    kind = question.get("type", "choice")
    if kind == "noul":
        return ["yes", "no"]
    criteria = question["criteria"]
    return list(criteria) if kind == "choice" else [str(i) for i in range(len(criteria))]


def softmax(logits: Sequence[float], temperature: float) -> list[float]:
    top = max(logits)
    weights = [math.exp((value - top) / temperature) for value in logits]
    total = math.fsum(weights)
    return [weight / total for weight in weights]


def answer(question: dict[str, Any], logits: Sequence[float], temperature: float) -> dict[str, Any]:
    kind, ids = question.get("type", "choice"), candidates_of(question)
    p = softmax(logits, temperature)
    result: dict[str, Any] = {"type": kind, "probabilities": dict(zip(ids, p, strict=True)), "confidence": max(p)}
    if kind == "choice":
        result["choice"] = ids[p.index(max(p))]
    elif kind == "noul":
        result["noul"] = p[0]
    else:
        result["expected_value"] = math.fsum(i * value for i, value in enumerate(p))
    return result


def hidden_row(request: str, question: str) -> list[float]:
    return [number("hidden", request, question, j) for j in range(HIDDEN)]


def label_logits(request: str, question: str, count: int) -> Logits:
    row = hidden_row(request, question)
    return [bf16(math.fsum(w * x for w, x in zip(HEAD[i], row, strict=True))) for i in range(count)]


WRONG = ("image-four", "alarm")  # the question whose expected answer no engine gives


def expecting(requests: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The requests with an expected answer to every question: the engines' own, but for WRONG; a level as a number."""
    expected_of = []
    for item in requests:
        expected: dict[str, Any] = {}
        for name, question in item["request"]["questions"].items():
            ids = candidates_of(question)
            logits = label_logits(item["id"], name, len(ids))
            place = logits.index(max(logits))
            place = 1 - place if (item["id"], name) == WRONG else place
            expected[name] = place if question.get("type") == "score" else ids[place]
        expected_of.append({"id": item["id"], "modality": item["modality"], "expected": expected, "request": item["request"]})
    return expected_of


def token_count(question: dict[str, Any], request: dict[str, Any]) -> int:
    """A stand-in for the tokenizer: the kind decides, one request is long, images add 66 each."""
    base = {"choice": 44, "score": 40, "noul": 36}[question.get("type", "choice")]
    long = 40 if str(request["state"]).startswith("long") else 0
    return base + long + 66 * len(request.get("images", ()))


def as_here(request: str, question: str, logits: Logits) -> Logits:
    """Answers frozen on a machine like this one."""
    return logits


def write_protocol(
    folder: Path, *, frozen: bool = True, requests: Sequence[dict[str, Any]] = REQUESTS, frozen_by: FrozenBy = as_here
) -> None:
    """A protocol folder: corpus.jsonl, optionally reference.json, SHA256SUMS. frozen_by: the logits that were frozen."""
    folder.mkdir(parents=True)
    files = {"corpus.jsonl": b"".join(compact(item) + b"\n" for item in requests)}
    if frozen:
        answers = [
            {"id": item["id"], "response": response_of(item["request"], item["id"], change=partial(frozen_by, item["id"]))[0]}
            for item in requests
        ]
        files["reference.json"] = json.dumps(answers, ensure_ascii=False, indent=1).encode()
    for name, data in files.items():
        (folder / name).write_bytes(data)
    sums = "".join(f"{digest(data)}  {name}\n" for name, data in sorted(files.items()))
    (folder / "SHA256SUMS").write_text(sums)


def response_of(
    request: dict[str, Any],
    request_id: str,
    *,
    latency_ms: float = 25.0,
    used: Callable[[str, float], float] = lambda modality, declared: declared,
    change: Callable[[str, Logits], Logits] = lambda question, logits: logits,
) -> tuple[dict[str, Any], dict[str, Logits], float]:
    """Response, logits by question and temperature of one request."""
    modality = "image" if request.get("images") else "text"
    temperature = used(modality, MM_TEMPERATURE if modality == "image" else TEMPERATURE)
    answers, logits = {}, {}
    for name, question in request["questions"].items():
        logits[name] = change(name, label_logits(request_id, name, len(candidates_of(question))))
        answers[name] = answer(question, logits[name], temperature)
    tokens = sum(token_count(q, request) for q in request["questions"].values())
    usage = {"input_tokens": tokens, "output_tokens": 0, "latency_ms": latency_ms}
    return {"model": "MADE-UP", "answers": answers, "usage": usage}, logits, temperature


# ---------------------------------------------------------------- profile


def profile_toml(
    *,
    engines: Sequence[str],
    passes: int,
    claim: str,
    reference: str,
    policy: str = "lru",
    remote_url: str = "",
    device: str = "cpu",
    pins: str = "",
    checkpoint: str = "synthetic",
    generated: int = 0,
    source: str = "composed",
    least_right: int | None = None,
    frozen_steps: int = 0,
) -> str:
    judged = "" if least_right is None else f"judged = true\nleast_right = {least_right}\n"
    return f"""# A made-up profile for tests.
format = "kit-profile/1"
name = "made-up"
claim = "{claim}"
description = "No model at all."
scope = "seven made-up requests"
not_covered = ["everything real"]

[checkpoint]
kind = "{checkpoint}"
{'generator = "cpu-tiny"' if checkpoint == "synthetic" else 'base = "folder"'}
digest = "{"0" * 64}"

[model]
name = "MADE-UP"

[runtime]
device = "{device}"

[protocol]
path = "protocol"
pins = "{pins}"
frozen_steps = {frozen_steps}
{judged}
[graph]
policy = "{policy}"
scratch_tokens = 64
text = {{ entries = 3, megabytes = 1 }}
multimodal = {{ entries = 4, megabytes = 1 }}
vision = {{ entries = 2, megabytes = 1 }}

[campaign]
engines = {json.dumps(list(engines))}
reference = "{reference}"
passes = {passes}
remote_url = "{remote_url or ("http://127.0.0.1:9" if "remote" in engines else "")}"

[generated]
questions = {generated}
source = "{source}"
"""


# ---------------------------------------------------------------- autotune


def autotune_ledger(profile: Profile) -> dict[str, Any]:
    """records/autotune.json: of two made-up kernels on a GPU, empty on a CPU."""
    winners = [
        {"kernel": "fla.norms.plain", "key": [128, "torch.bfloat16"], "config": {"kwargs": {}, "num_warps": 4}},
        {"kernel": "fla.sums.tiled", "key": [48, True, None], "config": {"kwargs": {"BK": 64}, "num_warps": 2}},
    ] if profile.runtime.device == "cuda" else []  # fmt: skip
    asked = [(q, item["request"]) for item in REQUESTS for q in item["request"]["questions"].values()] if winners else []
    lengths = list(dict.fromkeys([token_count(*pair) for pair in asked] + ([1024, 2282, 8192] if winners else [])))
    versions = {name: synthetic_facts.VERSIONS.get(name) for name in ("torch", "triton", "flash-linear-attention")}
    device = synthetic_facts.DEVICE["name"] if winners else "cpu"
    return {
        "format": autotune.FORMAT, "source": "drawn", "digest": autotune.digest(winners), "winners": winners,
        "heads": {"key_heads": 16, "value_heads": 48, "key_dim": 128, "value_dim": 128} if winners else None,
        "lengths": lengths, "seconds": [0.1] * len(lengths),
        "repeats": {"calls": 20, "lengths": len(lengths), "different": 0},
        "origin": {"device": device, "versions": versions, "environment": {}},
    }  # fmt: skip


def autotune_report(profile: Profile) -> dict[str, Any]:
    """What an engine says that ran with it."""
    ledger = autotune_ledger(profile)
    return {"digest": ledger["digest"], "entries": len(ledger["winners"]), "installed": True, "late": []}


# ---------------------------------------------------------------- records


@dataclass
class Plant:
    """Faults to plant; the default plants none."""

    change: Change = lambda engine, phase, number, request, question, logits: logits
    used: UsedTemperature = lambda engine, modality, declared: declared


class WorkerSide:
    """What a worker records, line by line, handed to `emit`; also makes the answers."""

    def __init__(
        self, engine: str, profile: Profile, plant: Plant, emit: Callable[[bytes], None], rows: Path | None
    ) -> None:
        self.engine, self.plant, self.emit, self.rows = engine, plant, emit, rows
        self.policy = PolicySimulation(profile.graph) if engine == "graph" else None
        self.autotune = autotune_report(profile)
        self.describe = synthetic_facts.description(engine, profile, self.autotune)
        self.on_gpu = profile.runtime.device == "cuda"
        self.answered = 0
        emit(compact({"format": "kit-worker/2", "engine": engine, "model": profile.model.name}))

    def keep(self, row: bytes) -> str:
        """Digest of a hidden row, which is stored where there is a folder for it."""
        return store_body(self.rows, row) if self.rows else sha256_bytes(row)

    def counters(self) -> dict[str, dict[str, int]]:
        return self.policy.counters() if self.policy else {}

    def start(self) -> None:
        """The two warm-ups and the ready line."""
        for kind, images in (("text", []), ("image", [PNG_BASE64])):
            request = {"state": "warm-up", "questions": {"ready": {"type": "noul"}}, "images": images}
            self.forwards(request, f"warmup-{kind}", None, kind)
        self.memory_when_ready = self.memory()
        self.emit(
            compact({
                "kind": "ready", "describe": self.describe, "counters": self.counters(),
                "settings": {"threads": 1}, "load_seconds": 0.5, "memory": self.memory(),
            })
        )  # fmt: skip

    def forwards(
        self,
        request: dict[str, Any],
        request_id: str,
        sequence: int | None,
        warmup: str | None = None,
        phase: str = "warmup",
        number: int = 0,
    ) -> tuple[dict[str, Any], float]:
        """Record every forward of a request; its response and temperature."""
        self.answered += 1
        images = request.get("images") or []
        grids = [GRID] * len(images)
        response, logits, temperature = response_of(
            request,
            request_id,
            latency_ms=self.latency_ms(),
            used=lambda modality, declared: self.plant.used(self.engine, modality, declared),
            change=lambda q, values: self.plant.change(self.engine, phase, number, request_id, q, values),
        )
        common = {"sequence": sequence, "warmup": warmup}
        if grids:
            line = {"kind": "vision", **common, "grids": grids}
            self.emit(compact(line | self._event(line, 100_000 * len(grids))))
        for index, (name, question) in enumerate(request["questions"].items()):
            tokens = token_count(question, request)
            line = {
                "kind": "question", **common, "question": name, "index": index,
                "type": question.get("type", "choice"), "candidates": candidates_of(question),
                "tokens": tokens, "grids": grids,
            }  # fmt: skip
            line |= self._event(line, 1000 * tokens) | {"ms": 5.0 if self.timed else 0.0}
            row = hidden_row(request_id, name)
            if logits[name] != label_logits(request_id, name, len(logits[name])):
                row[0] = bf16(row[0] + 0.25)  # other logits come from another state
            line |= {"logits": float32_hex(logits[name]), "hidden": self.keep(bf16_bytes(row))}
            self.emit(compact(line))
        return response, temperature

    def latency_ms(self) -> float:
        """Of the answer being made: no two in a run are the same."""
        return 20.0 + self.answered % 7 + 0.001 * self.answered + 0.0001 * len(self.engine)

    @property
    def timed(self) -> bool:
        """Whether the engine times its forwards apart."""
        return self.engine != "reference"

    def post(
        self, sequence: int, status: int, request: bytes, reply: bytes, latency_ms: float,
        tokens: int | None = None, temperature: float | None = None,
    ) -> None:  # fmt: skip
        """The last line of a request."""
        asked = json.loads(request) if status == 200 else {}
        timings = {"prepare": 0.5, "wait": 0.25, "total": latency_ms - 1.0} if status == 200 else {}
        if timings and self.timed:
            timings |= {"language": 5.0 * len(asked["questions"])} | ({"vision": 1.5} if asked.get("images") else {})
        self.emit(
            compact({
                "kind": "post", "sequence": sequence, "path": "/v1/systemone", "status": status,
                "request_sha256": digest(request), "response_sha256": digest(reply), "input_tokens": tokens,
                "temperature": temperature, "latency_ms": latency_ms, "timings_ms": timings,
                "counters": self.counters() if status == 200 else {},
            })
        )  # fmt: skip

    def close(self) -> None:
        facts = {"counters": self.counters(), "autotune": self.autotune, "memory": self.memory()}
        self.emit(compact({"kind": "closed", **facts}))

    def memory(self) -> dict[str, int]:
        """As a device has it, where graphs have pools; a CPU has none of it."""
        pools = sum(cache["pool_bytes"] for cache in self.counters().values())
        held = 51 << 30 if self.on_gpu else 5000
        sizes = {"allocated": held, "reserved": held + 4000 + pools, "pools": pools, "peak_allocated": held + 2000}
        return sizes | {"outside": 100, "peak_reserved": held + 4000 + 2 * pools} if self.policy or self.on_gpu else {}

    def _event(self, line: dict[str, Any], size: int) -> dict[str, Any]:
        if self.policy is None:
            return {"key": "", "action": "eager", "bytes": 0, "pool": 0}
        forward = forward_of(line | {"action": None, "bytes": size, "pool": 10 * size})
        action = self.policy.step(forward)
        sizes = {"bytes": size, "pool": 10 * size} if action == "capture" else {"bytes": 0, "pool": 0}
        return {"key": forward.key, "action": action, **sizes}


class _EngineWriter:
    """Writes one engine's folder: the worker's side and the client's side of every exchange."""

    def __init__(self, run: Path, engine: str, profile: Profile, plant: Plant) -> None:
        self.bodies = run / "records" / "bodies"
        self.bodies.mkdir(parents=True, exist_ok=True)
        self.folder = run / "records" / engine
        self.folder.mkdir()
        self.engine, self.profile = engine, profile
        self.exchanges = [compact({"format": "kit-exchanges/1", "engine": engine, "run": RUN_ID})]
        self.worker_lines: list[bytes] = []
        rows = None if engine == "remote" else run / "records" / "rows"  # a remote server shows no state
        self.worker = WorkerSide(engine, profile, plant, self.worker_lines.append, rows)
        self.clock = 1_000_000_000

    def write(self, planned: Sequence[Planned]) -> None:
        self.worker.start()
        for item in planned:
            self._exchange(item)
        self.worker.close()
        ready = {"status": "READY", "model": self.profile.model.name}
        refused = sum(item.expect == 422 for item in planned)
        facts = {
            "format": "kit-engine/1", "engine": self.engine, "health_before": ready, "health_after": ready,
            "health_after_refused": [ready] * refused, "start_seconds": 1.0, "stopped": "orderly",
            "backend": synthetic_facts.backend_of(self.engine, self.profile.runtime.device), "describe": self.worker.describe, "counters": self.worker.counters(),
            "memory": {"ready": self.worker.memory_when_ready, "closed": self.worker.memory()},
        }  # fmt: skip
        (self.folder / "engine.json").write_text(json.dumps(facts, indent=2) + "\n")
        (self.folder / "exchanges.jsonl").write_bytes(b"\n".join(self.exchanges) + b"\n")
        if self.engine != "remote":
            (self.folder / "worker.jsonl").write_bytes(b"\n".join(self.worker_lines) + b"\n")

    def _utc(self, ns: int) -> str:
        return synthetic_facts.moment(synthetic_facts.STAGE_OF[self.engine], ns / 1e9)

    def _exchange(self, item: Planned) -> None:
        sequence = len(self.exchanges)
        reply: dict[str, Any] = {"error": "ValueError", "detail": item.request_id}
        tokens = temperature = None
        latency = 0.5
        if item.expect == 200:
            reply, temperature = self.worker.forwards(
                json.loads(item.body), item.request_id, sequence, None, item.phase, item.pass_number
            )
            tokens, latency = reply["usage"]["input_tokens"], reply["usage"]["latency_ms"]
        body = compact(reply)
        for data in (item.body, body):
            (self.bodies / digest(data)).write_bytes(data)
        self.worker.post(sequence, item.expect, item.body, body, latency, tokens, temperature)
        started, finished = self.clock, self.clock + int(latency * 1e6) + 900_000
        self.clock = finished + 100_000
        self.exchanges.append(
            compact({
                "n": item.n, "target": item.target, "phase": item.phase, "pass": item.pass_number,
                "sequence": None if self.engine == "remote" else sequence, "request_id": item.request_id,
                "modality": item.modality, "expect": item.expect, "status": item.expect,
                "request_sha256": digest(item.body), "response_sha256": digest(body),
                "started_utc": self._utc(started), "finished_utc": self._utc(finished),
                "started_ns": started, "finished_ns": finished,
            })
        )  # fmt: skip




def write_run(
    path: Path,
    engines: Sequence[str] = ENGINES,
    passes: int = 2,
    *,
    claim: str = "exact",
    reference: str = "reference",
    frozen: bool = True,
    policy: str = "lru",
    change: Change | None = None,
    used_temperature: UsedTemperature | None = None,
    requests: Sequence[dict[str, Any]] = REQUESTS,
    device: str = "cpu",
    pins: str = "",
    checkpoint: str = "synthetic",
    generated: int = 0,
    source: str = "composed",
    least_right: int | None = None,
    frozen_steps: int = 0,
    frozen_by: FrozenBy = as_here,
) -> Profile:
    """Write a run folder at `path` (which must not exist) and return its profile.

    reference="" judges frozen answers alone. checkpoint is its kind, synthetic or export. generated: how many
    generated questions the profile declares; nothing is written of them, and source what it names as theirs. least_right: judged, with an expected answer to
    every question, of which one is not the engines' (WRONG). frozen_steps: how far the machine that froze the answers may be off, whose logits frozen_by gives. change and used_temperature plant faults in the engines' forwards
    and leave every record consistent with them. A consistent, unplanted run passes every gate.
    """
    path.mkdir(parents=True)
    requests = requests if least_right is None else expecting(requests)
    (path / "profile.toml").write_text(
        profile_toml(
            engines=engines, passes=passes, claim=claim, reference=reference, policy=policy, device=device,
            pins=pins, checkpoint=checkpoint, generated=generated, source=source, least_right=least_right,
            frozen_steps=frozen_steps,
        )
    )
    profile = load_profile(path / "profile.toml")
    (path / "profile.json").write_bytes(profile.canonical())
    write_protocol(path / "protocol", frozen=frozen, requests=requests, frozen_by=frozen_by)
    from kit.campaign.protocol import load_protocol

    protocol = load_protocol(path / "protocol")
    plant = Plant()
    if change is not None:
        plant.change = change
    if used_temperature is not None:
        plant.used = used_temperature
    for engine in engines:
        _EngineWriter(path, engine, profile, plant).write(planned_exchanges(protocol, profile, engine))
    write_facts(path, profile, protocol.sha256)
    return profile


def write_facts(path: Path, profile: Profile, protocol_sha256: str) -> None:
    head = b"".join(bf16_bytes(row) for row in HEAD)
    (path / "records" / "label_head.bin").write_bytes(head)
    source = b'"""A made-up source file."""\n'
    archive = _archive({"kit/made_up.py": source})
    (path / "source.tar.gz").write_bytes(archive)
    hashes = {"kit/made_up.py": digest(source)}
    documents: dict[str, Any] = {
        "run.json": {
            "format": "kit-run/1", "id": RUN_ID, "profile": profile.name, "profile_sha256": profile.sha256(),
            "protocol_sha256": protocol_sha256, "started_utc": "2026-01-31T12:00:00.000000Z", "kit_version": "0",
        },
        "environment.json": {"format": "kit-environment/1", **synthetic_facts.environment_facts(profile)},
        "checkpoint.json": {
            "format": "kit-checkpoint/1", "digest": "0" * 64, "weights_sum": "5" * 64,
            **synthetic_facts.checkpoint_facts(profile),
            "calibration": {"temperature": TEMPERATURE, "mm_temperature": MM_TEMPERATURE, "threshold": None},
            "label_head": {
                "ids": list(range(LABELS)), "rows_sha256": digest(head), "file": "records/label_head.bin",
                "shape": [LABELS, HIDDEN],
            },
        },
        "operators.json": synthetic_facts.operators_document(profile, HIDDEN),
        "signal.json": synthetic_facts.signal_document(_signal_questions(path)),
        "sources.json": {
            "format": "kit-sources/1", "before": hashes, "after": hashes, "archive": "source.tar.gz",
            "archive_sha256": digest(archive),
        },
    }  # fmt: skip
    for name, document in documents.items():
        (path / name).write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n")


def _signal_questions(path: Path) -> list[dict[str, Any]]:
    """What is measured of the made-up corpus: all of it, text before images, first questions first."""
    cases = [json.loads(line) for line in (path / "protocol" / "corpus.jsonl").read_bytes().splitlines()]
    found = []
    for kind in ("text", "image"):
        asked = [(turn, case, name) for case in cases if case["modality"] == kind
                 for turn, name in enumerate(case["request"]["questions"])]  # fmt: skip
        for _, case, name in sorted(asked, key=lambda entry: entry[0]):
            question = case["request"]["questions"][name]
            logits = label_logits(case["id"], name, len(candidates_of(question)))
            temperature = MM_TEMPERATURE if kind == "image" else TEMPERATURE
            found.append({
                "request": case["id"], "question": name, "modality": kind, "tokens": token_count(question, case["request"]),
                "probability": max(softmax(logits, temperature)), "logits": [min(logits), max(logits)],
            })  # fmt: skip
    return found


def _archive(files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with gzip.GzipFile(fileobj=buffer, mode="wb", mtime=0) as packed, tarfile.open(fileobj=packed, mode="w") as tar:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


