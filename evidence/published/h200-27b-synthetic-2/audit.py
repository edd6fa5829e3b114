#!/usr/bin/env python3
"""Check an evidence bundle: python audit.py BUNDLE [--allowed-signers FILE [--identity ID]]

Needs Python 3.9 or later and its standard library; ssh-keygen only where signers are named, to verify SHA256SUMS.sig.

Covers: every file's hash and role; the profile, the fixed gates and the protocol's bytes; executed notebooks
against the packed sources; the recorded requests against the plan that the protocol gives; the worker's
record against the client's; every answer from the recorded logits, and the logits from hidden rows and label
head; drift, repeats, latencies and the graph cache by its policy; every gate and count of the verdict. It
shares no code with what computed them first. Every problem is listed; the last line is one JSON document.
Exit code: 0 pass, 1 fail, 2 could not judge. An empty set fails, NaN fails, and so does a check that cannot
be completed.

Does not cover: a forgery that is consistent throughout, which no offline check can refuse (compare the digest
of SHA256SUMS with one its author published elsewhere, or run it again); who made the bundle, unless allowed signers
are named; whether the packed sources are what ran; report.html, figures and logs, which are for people; whether decisions are good,
but for those a judged profile names the right answers of.

A check is a function named check_<rule>; a section is about one matter, and says which in its first line.
"""

from __future__ import annotations

import ast
import base64
import binascii
import gzip
import hashlib
import io
import json
import math
import os
import random
import re
import shutil
import statistics
import struct
import subprocess
import sys
import tarfile
import zlib
from bisect import bisect_right
from collections import Counter, OrderedDict
from datetime import datetime, timezone
from functools import lru_cache
from itertools import accumulate
from typing import Any, Callable, Dict, Iterator, List, Mapping, NamedTuple, NoReturn, Sequence, Set, Tuple
from urllib.parse import unquote


# ---------------- rules: What every section agrees on: versions, gates, names of engines and stages, the role of every file, the two errors.

AUDIT_VERSION = 3
GATES = {"probability": 0.02, "confidence": 0.02, "noul": 0.02, "expected_value": 0.1, "winner_margin": 0.05}
SLACK = 1e-12  # on bounds, and between two computations of one figure
SUM_TOLERANCE = 1e-6
STEP_SLACK = 1e-6  # of BF16 steps that are read off probabilities
LABELS = 32
MOST_LISTED = 50
NUMBER_TYPES = {"BF16": "bfloat16", "F16": "float16", "F32": "float32", "F64": "float64"}  # by their names in shards
NOT_VISIBLE = "not visible"  # what the device's driver refused to say
# What is larger than anything a run leaves is refused before it is read.
MOST_BYTES = 1 << 28  # of a file, and of an unpacked archive
MOST_FILES = 100_000
MOST_IN_ALL = 4 << 30
MOST_LINES = 250_000  # of a record
MOST_PROBLEMS = 10_000  # that are kept; more are counted
MOST_TEXT = 1 << 20  # of a program text that is parsed
MOST_OF_SUMS = 8 << 20  # bytes of a checksum file
MOST_PASSES = 100
LONGEST_NAME = 400  # of a value that the result repeats
DEEPEST = 32  # folders within folders
EXIT_CODES = {"pass": 0, "fail": 1, "not-judged": 2}
ENGINES = ("reference", "native", "graph", "remote")
CACHES = ("text", "multimodal", "vision")
COUNTERS = ("captures", "replays", "evictions", "invalidations", "fallbacks", "captured_bytes")
STAGES = (
    "01_preflight", "02_checkpoint", "03_reference", "04_native_eager", "04_remote", "05_native_graph",
    "06_operators", "07_faults", "08_drift", "08_generated", "09_performance", "10_evidence",
)  # fmt: skip
ENGINE_STAGES = {
    "03_reference": "reference", "04_native_eager": "native", "04_remote": "remote", "05_native_graph": "graph",
}  # fmt: skip
OPERATORS = "06_operators"
NATIVE_STAGES = (OPERATORS, "07_faults")
GENERATED_STAGE = "08_generated"
SENTINEL = "finished"
FROZEN_ONLY = "judged against the answers frozen with the protocol alone: no reference engine was run"
# Every file has one of these roles. Documents have a format; the rest is there, or may be there.
DOCUMENTS = {
    "run.json": "kit-run/1",
    "profile.json": "kit-profile/1",
    "environment.json": "kit-environment/1",
    "checkpoint.json": "kit-checkpoint/1",
    "device.json": "kit-device/1",
    "records/autotune.json": "kit-autotune/1",
    "sources.json": "kit-sources/1",
    "counters.json": "kit-counters/1",
    "drift.json": "kit-drift/1",
    "performance.json": "kit-performance/2",
    "verdict.json": "kit-verdict/1",
}
OPERATOR_DOCUMENTS = {"operators.json": "kit-operators/1", "signal.json": "kit-signal/1"}
MEASURED_DOCUMENTS = {"records/performance_samples.json": "kit-performance-samples/1"}
GENERATED, GENERATED_LINES, LAYERS = "generated.json", "records/generated.jsonl", "layers.json"
GENERATED_DOCUMENTS = {GENERATED: "kit-generated/1", LAYERS: "kit-layers/1"}
FLOOR, FAULTS = "records/floor.json", "records/faults.json"
OPTIONAL_DOCUMENTS = {"records/draws.json": "kit-draws/1", FLOOR: "kit-floor/1", FAULTS: "kit-faults/1", "diagnosis.json": "kit-diagnosis/1"}
CRATE = "ro-crate-metadata.json"
PLAIN = ("profile.toml", "source.tar.gz", CRATE, "report.html", "audit.py", "protocol/corpus.jsonl")
LEDGER, DRAWS, SAMPLES = "records/autotune.json", "records/draws.json", "records/performance_samples.json"
ANSWERS = "reference.json"  # the file of frozen answers where the profile names no other
CHECKPOINT_FILES = ("checkpoint.json", "records/label_head.bin")  # a run of a remote engine alone has none
MAY_BE = (
    r"protocol/.+",
    r"records/(bodies|rows)/[0-9a-f]{64}",
    r"logs/[\w.-]+",
    r"attempts/.+",
    r"figures/[\w.-]+\.png",
)
UNLISTED = ("SHA256SUMS", "SHA256SUMS.sig")
FOR_PEOPLE = (
    "report.html, figures, logs and what notebooks printed (for people; nothing is derived from them)"
)
Json = Dict[str, Any]
Key = Tuple[Any, ...]


class NotJudgedError(Exception):
    """This is not a bundle this auditor can judge."""


class UnreadableError(Exception):
    """Something a check needs is missing or malformed; the check cannot be completed, so it fails."""


# ---------------- numbers: Plain arithmetic of answers: softmax, float formats, BF16 steps, quantiles.

def softmax(logits: Sequence[float], temperature: float) -> List[float]:
    top = max(logits)
    weights = [math.exp((x - top) / temperature) for x in logits]
    total = math.fsum(weights)
    return [weight / total for weight in weights]


def floats(text: str) -> Tuple[float, ...]:
    """Numbers behind the hex of little-endian float32 values."""
    data = bytes.fromhex(text)
    return struct.unpack("<%df" % (len(data) // 4), data)


def is_bf16(text: str) -> bool:
    """Whether all float32 values behind a hex text are BF16 numbers: their lower halves are empty."""
    return all(text[index : index + 4] == "0000" for index in range(0, len(text), 8))


def bf16(data: bytes) -> Tuple[float, ...]:
    """BF16 values, little endian, as Python floats."""
    halves = struct.unpack("<%dH" % (len(data) // 2), data)
    return struct.unpack(
        "<%df" % len(halves), struct.pack("<%dI" % len(halves), *(half << 16 for half in halves))
    )


def spacing(value: float) -> float:
    """Distance of neighbouring BF16 numbers at |value|."""
    exponent = math.frexp(abs(value))[1] - 1 if value else -126
    return math.ldexp(1.0, max(exponent, -126) - 7)


def winner(answer: Json) -> str:
    """The candidate of the first largest probability."""
    top = max(answer["probabilities"].values())
    return str(next(name for name, p in answer["probabilities"].items() if p == top))


def expectation(probabilities: Sequence[float]) -> float:
    return math.fsum(level * p for level, p in enumerate(probabilities))


def quantile(values: Sequence[float], q: float) -> float:
    ordered = sorted(values)
    place = q * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


# ---------------- planning: Which requests an engine had to be sent, and what a question asks for; nothing here reads a record.

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


# ---------------- values: Strict JSON, digests, and what makes two values the same.

class Named(Dict[str, Any]):
    """A JSON object that knows which file it came from, so that a missing key is told with its file."""

    __slots__ = ("where",)
    where: str

    def __missing__(self, key: str) -> NoReturn:
        raise UnreadableError("%s has no %s, expected one" % (self.where, short(key)))


def parse_json(data: bytes, where: str) -> Any:
    """Strict JSON: no key twice in an object, no NaN, nothing infinite, no whole number over 64 bits."""

    def pairs(items: List[Tuple[str, Any]]) -> Json:
        found = Named(items)
        found.where = where
        if len(found) != len(items):
            raise UnreadableError("%s has a key twice in one object" % where)
        return found

    def constant(name: str) -> NoReturn:
        raise UnreadableError("%s holds %s, which is no number" % (where, name))

    def number(text: str) -> float:
        value = float(text)
        return value if math.isfinite(value) else constant(text)

    def whole(digits: str) -> int:
        if len(digits) > 20 or not -(2**63) <= int(digits) < 2**63:
            raise UnreadableError("%s holds a number of %d digits" % (where, len(digits)))
        return int(digits)

    try:
        text = data.decode("utf-8")
        return json.loads(
            text, object_pairs_hook=pairs, parse_constant=constant, parse_float=number, parse_int=whole
        )
    except RecursionError as error:
        raise UnreadableError("%s is nested too deeply" % where) from error
    except ValueError as error:
        raise UnreadableError("%s is not JSON: %s" % (where, error)) from error


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def digest_of(document: Any) -> str:
    """SHA-256 of a document's canonical JSON."""
    return sha256(json.dumps(document, sort_keys=True, ensure_ascii=False, separators=(",", ":")).encode())


def short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 90 else text[:87] + "..."


def is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def same(a: Any, b: Any) -> bool:
    """Two computations of one figure, equal to 1e-12; anything else must be equal."""
    if is_number(a) and is_number(b):
        return bool(abs(a - b) <= SLACK * max(1.0, abs(a), abs(b)))
    return bool(a == b) and isinstance(a, bool) == isinstance(b, bool)


def safe_name(name: str) -> bool:
    parts = name.split("/")
    return "\\" not in name and name.isprintable() and not any(part in ("", ".", "..") for part in parts)


# ---------------- reading: The folder under audit: its content read once, and the problems found so far.

class Post(NamedTuple):
    """The worker's side of one request."""

    line: Json
    questions: List[Json]
    visions: List[Json]


READERS = ("json", "jsonl", "body")  # methods of Bundle that are asked for a file by its name


def once(method: Callable[..., Any]) -> Callable[..., Any]:
    """Keep what a method of Bundle returns; nothing here changes while it is read."""

    def kept(self: Bundle, *arguments: Any) -> Any:
        key = (method.__name__, *arguments)
        if method.__name__ in READERS:
            self.touched.append(("records/bodies/%s" if method.__name__ == "body" else "%s") % arguments[0])
        if key not in self.memory:
            self.memory[key] = method(self, *arguments)
        return self.memory[key]

    return kept


def list_folder(path: str) -> List[os.DirEntry[str]] | None:
    """What a folder holds; None for one that cannot be read."""
    try:
        with os.scandir(path) as entries:
            return list(entries)
    except OSError:
        return None


class Bundle:
    """The folder under audit, its content read once, and the problems found so far."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.rule = ""  # the check at work
        self.problems: Dict[str, None] = {}  # in the order they were found, each once
        self.problem_count = 0
        self.not_checked: Dict[str, None] = {}
        self.memory: Dict[Any, Any] = {}
        self.touched: List[str] = []  # files that the check at work has asked for, in order

    def fail(self, where: str, message: str) -> None:
        problem = "%s: %s: %s" % (self.rule, where, message)
        if problem not in self.problems:
            self.problem_count += 1
            if len(self.problems) < MOST_PROBLEMS:
                self.problems[problem] = None

    def expect(self, where: str, found: Any, expected: Any) -> None:
        """One comparison: a problem unless both are equal."""
        if found != expected or isinstance(found, bool) != isinstance(expected, bool):
            self.fail(where, "found %s, expected %s" % (short(found), short(expected)))

    def leave(self, what: str) -> None:
        """Something this audit does not check, said in its result."""
        if len(self.not_checked) < MOST_PROBLEMS:
            self.not_checked[what] = None

    # files

    @once
    def files(self) -> Any:
        """(names of all regular files, names of everything that is neither a file nor a folder of files)."""
        files, odd, pending, size = set(), [], [""], 0
        while pending:
            folder = pending.pop()
            entries = list_folder(os.path.join(self.path, folder))
            if entries is None or (not entries and folder) or folder.count("/") > DEEPEST:
                odd.append(folder)
                continue
            for entry in entries:
                name = folder + entry.name
                if entry.is_symlink() or not (entry.is_file() or entry.is_dir()):
                    odd.append(name)
                elif entry.is_dir():
                    pending.append(name + "/")
                else:
                    files.add(name)
                    size += entry.stat().st_size
            if len(files) > MOST_FILES or size > MOST_IN_ALL:
                message = "%s holds more than a bundle does, expected at most %d files and %d bytes"
                raise NotJudgedError(message % (self.path, MOST_FILES, MOST_IN_ALL))
        return files, sorted(odd)

    def exists(self, name: str) -> bool:
        return name in self.files()[0]

    def read(self, name: str) -> bytes:
        if not safe_name(name) or not self.exists(name):
            raise UnreadableError("%s is missing" % name)
        try:
            with open(os.path.join(self.path, *name.split("/")), "rb") as file:
                data = file.read(MOST_BYTES + 1)
        except OSError as error:
            raise UnreadableError("%s cannot be read (%s)" % (name, error.strerror)) from error
        if len(data) > MOST_BYTES:
            raise UnreadableError("%s is larger than %d bytes" % (name, MOST_BYTES))
        return data

    @once
    def digest(self, name: str) -> Any:
        """SHA-256 of a file. Raises UnreadableError for one that no run leaves, before it is read."""
        found = hashlib.sha256()
        try:
            size = os.path.getsize(os.path.join(self.path, *name.split("/")))
            if size > MOST_BYTES:
                raise UnreadableError("%s is of %d bytes, expected at most %d" % (name, size, MOST_BYTES))
            with open(os.path.join(self.path, *name.split("/")), "rb") as file:
                for block in iter(lambda: file.read(1 << 20), b""):
                    found.update(block)
        except OSError as error:
            raise UnreadableError("%s cannot be read (%s)" % (name, error.strerror)) from error
        return found.hexdigest()

    @once
    def json(self, name: str) -> Any:
        document = parse_json(self.read(name), name)
        if not isinstance(document, dict):
            raise UnreadableError("%s is not a JSON object" % name)
        return document

    @once
    def jsonl(self, name: str) -> Any:
        """All lines of a JSONL record, its header first."""
        data = self.read(name)
        if not data.endswith(b"\n"):
            raise UnreadableError("%s: the last line is cut off" % name)
        if data.count(b"\n") > MOST_LINES:
            raise UnreadableError("%s has more than %d lines" % (name, MOST_LINES))
        lines = [
            parse_json(line, "%s line %d" % (name, i)) for i, line in enumerate(data[:-1].split(b"\n"), 1)
        ]
        if not all(isinstance(line, dict) for line in lines):
            raise UnreadableError("%s: a line is not an object" % name)
        return lines

    # what was asked for

    @property
    def profile(self) -> Json:
        document: Json = self.json("profile.json")
        return document

    @property
    def engines(self) -> List[str]:
        engines = list(self.profile["campaign"]["engines"])
        if not engines or any(name not in ENGINES for name in engines) or len(set(engines)) != len(engines):
            raise UnreadableError(
                "profile.json: engines are %s, expected distinct ones of %s" % (engines, ENGINES)
            )
        return engines

    @property
    def recorded_engines(self) -> List[str]:
        """Engines whose worker kept a record of its own."""
        return [engine for engine in self.engines if engine != "remote"]

    @property
    def reference(self) -> str:
        return str(self.profile["campaign"]["reference"])

    @property
    def native(self) -> bool:
        return "native" in self.engines

    @property
    def exported(self) -> bool:
        """Whether the weights came from an export, which the official reference cannot load."""
        return bool(self.profile["checkpoint"]["kind"] == "export")

    @property
    def operators(self) -> bool:
        """Whether stage 06 compares the native engine's ops with the official reference's, on this checkpoint."""
        return self.native and not self.exported

    @property
    def measured(self) -> bool:
        """Whether stage 09 measures on purpose: on a GPU, with a reference and both native engines."""
        on_gpu = self.profile["runtime"]["device"] == "cuda"
        return on_gpu and {"reference", "native", "graph"}.issubset(self.engines)

    @property
    def generated(self) -> int:
        """How many questions made from a seed were declared; older profiles know of none."""
        return int(self.profile.get("generated", {}).get("questions", 0))

    def stages(self) -> List[str]:
        left_out = {stage for stage, engine in ENGINE_STAGES.items() if engine not in self.engines}
        left_out.update(() if self.native else NATIVE_STAGES)
        left_out.update(() if self.operators else (OPERATORS,))
        left_out.update(() if self.generated else (GENERATED_STAGE,))
        return [stage for stage in STAGES if stage not in left_out]

    @once
    def corpus(self) -> Any:
        """The frozen requests in order, each with the digest of the bytes that are sent for it."""
        data, cases = self.read("protocol/corpus.jsonl"), []
        for number, line in enumerate(
            data[:-1].split(b"\n") if data.endswith(b"\n") else data.split(b"\n"), 1
        ):
            if not data.strip():
                break
            case = parse_json(line, "protocol/corpus.jsonl line %d" % number)
            body = json.dumps(case["request"], ensure_ascii=False, separators=(",", ":")).encode()
            cases.append(dict(case, sha256=sha256(body)))
        if not cases:
            raise UnreadableError("protocol/corpus.jsonl holds no request; an empty corpus proves nothing")
        return cases

    @once
    def plan(self, engine: str) -> Any:
        """Everything an engine had to be sent, in order."""
        cases, campaign = self.corpus(), self.profile["campaign"]
        firsts = [
            case for kind in ("text", "image") for case in [c for c in cases if c["modality"] == kind][:1]
        ]
        if not (type(campaign["passes"]) is int and 1 <= campaign["passes"] <= MOST_PASSES):
            raise UnreadableError("profile.json: passes is %s, expected 1 to %d" % (short(campaign["passes"]), MOST_PASSES))
        plan = [answered("worker", "feasibility", 0, case) for case in firsts]
        for number in range(1, campaign["passes"] + 1):
            plan += [answered("worker", "measured", number, case) for case in cases]
        if engine != campaign["reference"]:
            for name, again in (("refused-invalid-base64", firsts[0]), ("refused-five-images", firsts[-1])):
                plan.append(Planned("worker", "refused", 0, name, "image", 422, None))
                plan.append(answered("worker", "recovery", 0, again))
        if engine == "graph" and campaign["frontend"]:
            plan += [answered("frontend", "frontend", 0, case) for case in frontend_spots(cases)]
        return plan

    @once
    def frozen(self) -> Any:
        """Request id -> response frozen with the protocol, of the profile's answers; None where none were."""
        if not self.exists(self.answers):
            return None
        entries = parse_json(self.read(self.answers), self.answers)
        return {entry["id"]: entry["response"] for entry in entries}

    @property
    def answers(self) -> str:
        """Where the answers of this checkpoint are frozen; bundles older than the key have one file of them."""
        return "protocol/%s" % self.profile["protocol"].get("answers", ANSWERS)

    # what was recorded

    def exchanges(self, engine: str) -> List[Json]:
        lines: List[Json] = self.jsonl("records/%s/exchanges.jsonl" % engine)[1:]
        return lines

    def worker(self, engine: str) -> List[Json]:
        lines: List[Json] = self.jsonl("records/%s/worker.jsonl" % engine)[1:]
        return lines

    @once
    def posts(self, engine: str) -> Any:
        """Sequence -> the worker's side of that post; nothing for a remote engine."""
        posts: Dict[Any, Post] = OrderedDict()
        questions: List[Json] = []
        visions: List[Json] = []
        for line in self.worker(engine) if engine != "remote" else ():
            if line["kind"] == "post":
                posts.setdefault(line["sequence"], Post(line, questions, visions))
                questions, visions = [], []
            elif line["kind"] == "question" and line["sequence"] is not None:
                questions.append(line)
            elif line["kind"] == "vision" and line["sequence"] is not None:
                visions.append(line)
        return posts

    def post(self, engine: str, sequence: Any) -> Post:
        posts = self.posts(engine)
        if sequence not in posts:
            raise UnreadableError("records/%s/worker.jsonl has no post %s" % (engine, sequence))
        found: Post = posts[sequence]
        return found

    @once
    def body(self, digest: str) -> Any:
        """A request or response body as a JSON object, its digest verified."""
        name = "records/bodies/%s" % digest
        data = self.read(name)
        if sha256(data) != digest:
            raise UnreadableError("%s has the SHA-256 %s" % (name, sha256(data)))
        document = parse_json(data, name)
        if not isinstance(document, dict):
            raise UnreadableError("%s is not a JSON object" % name)
        return document

    @once
    def temperatures(self) -> Any:
        """Temperature by modality: the checkpoint's; without a checkpoint, what the workers say."""
        if self.exists("checkpoint.json"):
            calibration = self.json("checkpoint.json")["calibration"]
            return {"text": calibration["temperature"], "image": calibration["mm_temperature"]}
        found: Dict[str, float] = {}
        for engine in self.recorded_engines:
            for line in self.exchanges(engine):
                if line["status"] == 200:
                    found.setdefault(
                        line["modality"], self.post(engine, line["sequence"]).line["temperature"]
                    )
        return found

    @once
    def sources(self) -> Any:
        """Name -> bytes of every source file packed into the bundle."""
        found: Dict[str, bytes] = {}
        data = self.unzipped("source.tar.gz")
        try:
            with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as archive:
                for member in archive:
                    plain = member.isfile() and not member.issparse() and safe_name(member.name)
                    if not plain or member.name in found:
                        raise UnreadableError("source.tar.gz: %s is no plain file of its own" % short(member.name))
                    if member.size > len(data) or len(found) > MOST_FILES:
                        message = "source.tar.gz: %s claims %d bytes of the %d there are"
                        raise UnreadableError(message % (short(member.name), member.size, len(data)))
                    file = archive.extractfile(member)
                    found[member.name] = file.read() if file else b""
        except (tarfile.TarError, OSError, EOFError, ValueError, OverflowError) as error:
            raise UnreadableError("source.tar.gz cannot be read: %s" % error) from error
        return found

    def unzipped(self, name: str) -> bytes:
        """What a gzip file unpacks to, unless that is more than any run would pack."""
        try:
            with gzip.GzipFile(fileobj=io.BytesIO(self.read(name))) as file:
                data = file.read(MOST_BYTES + 1)
        except (OSError, EOFError, zlib.error) as error:
            raise UnreadableError("%s cannot be read: %s" % (name, error)) from error
        if len(data) > MOST_BYTES:
            raise UnreadableError("%s unpacks to more than %d bytes" % (name, MOST_BYTES))
        return data


def compare_figures(bundle: Bundle, where: str, found: Json, expected: Json) -> None:
    """Every figure of a row against the same recomputed; a figure too many or too few is a problem as well."""
    for name in sorted(set(found) | set(expected)):
        if name not in found or name not in expected or not same(found[name], expected[name]):
            message = "is %s, recomputed %s"
            bundle.fail(
                "%s %s" % (where, name), message % (short(found.get(name)), short(expected.get(name)))
            )


# ---------------- answers: Every answer agrees with its question, with itself and with the recorded logits.

def answer_faults(answer: Json) -> List[str]:
    """What in one answer contradicts the rest of it (sums apart)."""
    kind, p = answer["type"], list(answer["probabilities"].values())
    extra = {"choice": "choice", "noul": "noul", "score": "expected_value"}[kind]
    faults = []
    wanted = {"type", "probabilities", "confidence", extra}
    if set(answer) != wanted:
        return ["keys %s, expected %s" % (sorted(answer), sorted(wanted))]
    if not p or not all(map(is_number, p)):
        return ["a probability that is no finite number"]
    if not same(answer["confidence"], max(p)):
        faults.append("confidence %s, expected the largest probability, %s" % (short(answer["confidence"]), max(p)))
    if kind == "choice" and answer["choice"] != winner(answer):
        faults.append(
            "choice %s, expected the likeliest candidate, %s"
            % (short(answer["choice"]), short(winner(answer)))
        )
    if kind == "noul" and not same(answer["noul"], p[0]):
        faults.append("noul %s, expected p(yes), %s" % (short(answer["noul"]), p[0]))
    if kind == "score" and not same(answer["expected_value"], expectation(p)):
        faults.append("expected_value %s, expected the mean, %s" % (short(answer["expected_value"]), expectation(p)))
    return faults


def response_faults(response: Json) -> List[str]:
    """What is wrong with a response around its answers."""
    usage = response.get("usage")
    if set(response) != {"model", "answers", "usage"} or not isinstance(usage, dict):
        return ["keys %s, expected model, answers, usage" % sorted(response)]
    if set(usage) != {"input_tokens", "output_tokens", "latency_ms"}:
        return ["usage keys %s, expected input_tokens, output_tokens, latency_ms" % sorted(usage)]
    faults = [] if usage["output_tokens"] == 0 else ["output_tokens %s, expected 0" % short(usage["output_tokens"])]
    if not (is_number(usage["latency_ms"]) and usage["latency_ms"] > 0):
        faults.append("latency_ms %s, expected a positive number" % short(usage["latency_ms"]))
    return faults


def is_softmax(answer: Json, line: Json, temperature: Any) -> bool:
    """The answer's probabilities are the softmax of the recorded logits, candidate by candidate."""
    p, logits = list(answer["probabilities"].values()), floats(line["logits"])
    if list(answer["probabilities"]) != line["candidates"] or len(logits) != len(p):
        return False
    if not (is_number(temperature) and temperature > 0 and all(map(math.isfinite, logits))):
        return False
    return all(same(a, b) for a, b in zip(p, softmax(logits, temperature)))


def check_answers(bundle: Bundle) -> None:
    """Every answer answers what was asked, agrees with itself, and sums to 1."""
    names = [bundle.profile["model"]["name"], *bundle.profile["model"]["aliases"]]
    for engine in bundle.engines:
        for line in bundle.exchanges(engine):
            if line["status"] != 200:
                continue
            at = "records/%s n=%s" % (engine, line["n"])
            asked = bundle.body(line["request_sha256"])["questions"]
            response = bundle.body(line["response_sha256"])
            for fault in response_faults(response):
                bundle.fail(at, "response: %s" % fault)
            if engine != "remote" and response["model"] != names[0]:
                bundle.fail(at, "is answered by model %s, expected %s" % (short(response["model"]), names[0]))
            bundle.expect("%s answers" % at, list(response["answers"]), list(asked))
            for name, answer in response["answers"].items():
                check_answer(bundle, "%s %s" % (at, name), asked.get(name, {}), answer)


def check_answer(bundle: Bundle, at: str, question: Json, answer: Json) -> None:
    bundle.expect("%s type" % at, answer["type"], kind_of(question))
    bundle.expect("%s candidates" % at, list(answer["probabilities"]), candidate_ids(question))
    for fault in answer_faults(answer):
        bundle.fail(at, fault)
    total = math.fsum(answer["probabilities"].values())
    if not abs(total - 1) <= SUM_TOLERANCE:
        bundle.fail(at, "probabilities sum to %s, expected 1" % total)


def check_logits(bundle: Bundle) -> None:
    """Every recorded logit is a finite number, and every answer is the softmax of its logits."""
    for engine in bundle.recorded_engines:
        for line in bundle.worker(engine):
            if line["kind"] == "question":
                at = "records/%s/worker.jsonl post %s %s" % (engine, line["sequence"], line["question"])
                values = recorded_logits(at, line["logits"])
                if bundle.profile["runtime"]["dtype"] == "bfloat16" and not is_bf16(line["logits"]):
                    bundle.fail(at, "logits %s are no BF16 numbers, expected what the model's dtype holds" % short(values))
                if len(values) != len(line["candidates"]) or not all(map(math.isfinite, values)):
                    message = "%d logits for %d candidates, or one that is no finite number: %s"
                    bundle.fail(at, message % (len(values), len(line["candidates"]), short(values)))
        for line in bundle.exchanges(engine):
            if line["status"] == 200 and line["sequence"] in bundle.posts(engine):
                compare_with_logits(
                    bundle,
                    "records/%s n=%s" % (engine, line["n"]),
                    line,
                    bundle.post(engine, line["sequence"]),
                )


def recorded_logits(at: str, text: Any) -> Tuple[float, ...]:
    """Numbers of a recorded line; no check that needs them goes on without them."""
    if not (isinstance(text, str) and re.fullmatch("([0-9a-f]{8})*", text)):
        raise UnreadableError("%s: logits are %s, expected eight hex digits a candidate" % (at, short(text)))
    return floats(text)


def compare_with_logits(bundle: Bundle, at: str, line: Json, post: Post) -> None:
    response = bundle.body(line["response_sha256"])
    bundle.expect("%s input_tokens" % at, response["usage"]["input_tokens"], post.line["input_tokens"])
    for question in post.questions:
        answer = response["answers"].get(question["question"])
        if answer is None or not is_softmax(answer, question, post.line["temperature"]):
            bundle.fail(
                "%s %s" % (at, question["question"]), "the answer is not the softmax of the recorded logits"
            )


# ---------------- drift: Every comparison of two engines, or of an engine and the frozen answers, computed once more.

MAX_STEPS = 4096
ROOM_STEPS = 4  # of one logit: where so few break a bound, an answer frozen on another CPU is not held to it
LATTICE_EXPONENTS = range(21)
LATTICE_TOLERANCE = 1e-9


class Side(NamedTuple):
    """One side of a comparison: a response, its questions' worker lines, and the temperature it used."""

    response: Json
    lines: Dict[str, Json]
    temperature: Any


def comparisons(bundle: Bundle) -> List[Tuple[str, str]]:
    pairs = []
    for engine in bundle.engines:
        if bundle.reference and engine != bundle.reference:
            pairs.append((engine, "fresh"))
        if bundle.frozen() is not None and bundle.profile["protocol"]["frozen"]:
            pairs.append((engine, "frozen"))
    return pairs


def measured(bundle: Bundle, engine: str) -> Dict[str, Side]:
    """Request id -> what an engine answered in its first measured pass."""
    found = {}
    for line in bundle.exchanges(engine):
        if line["phase"] == "measured" and line["pass"] == 1 and line["status"] == 200:
            response = bundle.body(line["response_sha256"])
            if engine == "remote":
                found[line["request_id"]] = Side(response, {}, None)
            else:
                post = bundle.post(engine, line["sequence"])
                lines = {question["question"]: question for question in post.questions}
                found[line["request_id"]] = Side(response, lines, post.line["temperature"])
    return found


def drift_rows(bundle: Bundle) -> Dict[Key, Json]:
    """Every comparison recomputed: (engine, against, request, question) -> the row drift.json must have."""
    if "drift rows" not in bundle.memory:
        bundle.memory["drift rows"] = compute_drift(bundle)
    rows: Dict[Key, Json] = bundle.memory["drift rows"]
    return rows


def compute_drift(bundle: Bundle) -> Dict[Key, Json]:
    sides = {engine: measured(bundle, engine) for engine in bundle.engines}
    fixed = {name: Side(response, {}, None) for name, response in (bundle.frozen() or {}).items()}
    rows: Dict[Key, Json] = OrderedDict()
    visible: Dict[Key, Any] = {}
    for engine, against in comparisons(bundle):
        yardstick = sides[bundle.reference] if against == "fresh" else fixed
        for case in bundle.corpus():
            for question in case["request"]["questions"]:
                key = (engine, against, case["id"], question)
                if case["id"] not in yardstick or case["id"] not in sides[engine]:
                    raise UnreadableError("%s against %s: no answer to %s to compare" % key[:3])
                temperature = bundle.temperatures().get(case["modality"])
                pair = yardstick[case["id"]], sides[engine][case["id"]]
                rows[key] = dict(compare(*pair, question, temperature, visible), modality=case["modality"])
                if against == "frozen" and frozen_steps(bundle):
                    rows[key].update(compare_in_steps(*pair, question, temperature, visible))
    return rows


def compare(
    reference: Side, candidate: Side, question: str, temperature: Any, visible: Dict[Key, Any]
) -> Json:
    a, b = reference.response["answers"][question], candidate.response["answers"][question]
    p, q = list(a["probabilities"].values()), list(b["probabilities"].values())
    if list(a["probabilities"]) != list(b["probabilities"]) or a["type"] != b["type"]:
        raise UnreadableError("question %s has answers of other candidates or types" % short(question))
    if len(p) > LABELS:
        raise UnreadableError("question %s has %d candidates, expected at most %d" % (short(question), len(p), LABELS))
    if not all(map(is_number, [*p, *q, a["confidence"], b["confidence"]])):
        raise UnreadableError(
            "question %s has an answer with a figure that is no finite number" % short(question)
        )
    first, second = sorted(p, reverse=True)[:2]
    row = {
        "type": a["type"],
        "reference_winner": winner(a),
        "winner": winner(b),
        "reference_margin": first - second,
        "probability_drift": max(abs(x - y) for x, y in zip(p, q)),
        "confidence_drift": abs(a["confidence"] - b["confidence"]),
        "noul_drift": abs(a["noul"] - b["noul"]) if a["type"] == "noul" else None,
        "expected_drift": abs(a["expected_value"] - b["expected_value"]) if a["type"] == "score" else None,
        "winner_same": winner(a) == winner(b),
        "tokens_same": reference.response["usage"]["input_tokens"]
        == candidate.response["usage"]["input_tokens"],
        "shape_same": shape_same(reference, candidate, question),
        "lattice": lattice(q, temperature),
    }
    return dict(row, **compare_raw(reference, candidate, question, temperature, visible, row["tokens_same"]))


def compare_raw(
    reference: Side,
    candidate: Side,
    question: str,
    temperature: Any,
    visible: Dict[Key, Any],
    tokens_same: bool,
) -> Json:
    """Bits, steps and the smallest visible shift, where raw logits are recorded."""
    names = ("hidden_equal", "logits_equal", "max_steps", "detectable_steps", "detectable_logit")
    row: Json = dict.fromkeys(names)
    theirs, mine = reference.lines.get(question), candidate.lines.get(question)
    if theirs is None:
        return row
    logits = floats(theirs["logits"])
    if len(logits) > LABELS:
        raise UnreadableError("question %s has %d logits, expected at most %d" % (short(question), len(logits), LABELS))
    if is_number(temperature):
        key = (logits, temperature, theirs["type"])
        if key not in visible:
            visible[key] = smallest_visible(*key)
        row["detectable_steps"], row["detectable_logit"] = visible[key]
    if mine is not None:
        row["tokens_same"] = tokens_same and theirs["tokens"] == mine["tokens"]
        row["hidden_equal"] = bool(mine["hidden"]) and mine["hidden"] == theirs["hidden"]
        row["logits_equal"] = mine["logits"] == theirs["logits"]
        row["max_steps"] = steps(logits, floats(mine["logits"]))
    return row


def frozen_steps(bundle: Bundle) -> int:
    """BF16 steps that another CPU may be off the frozen answers; older profiles know of no such rule."""
    steps = bundle.profile["protocol"].get("frozen_steps", 0)
    if type(steps) is not int or steps < 0 or (steps and bundle.profile["claim"] != "exact"):
        raise UnreadableError("profile.json: protocol.frozen_steps is %s, expected 0, or more for claim exact" % short(steps))
    return steps


def compare_in_steps(reference: Side, candidate: Side, question: str, temperature: Any, visible: Dict[Key, Any]) -> Json:
    """Steps off an answer that has no recorded logits, and whether a few of one logit leave the bounds unbroken."""
    mine, answer = candidate.lines.get(question), reference.response["answers"][question]
    if mine is None or not (is_number(temperature) and temperature > 0):
        return {}
    logits, p = floats(mine["logits"]), list(answer["probabilities"].values())
    if len(logits) != len(p) or len(p) > LABELS:
        raise UnreadableError("question %s has %d logits of %d candidates" % (short(question), len(logits), len(p)))
    key = (logits, temperature, answer["type"])
    if key not in visible:
        visible[key] = smallest_visible(*key)
    count, logit = visible[key]
    room = count is None or count > ROOM_STEPS
    return {"max_steps": steps_off(p, logits, temperature), "detectable_steps": count, "detectable_logit": logit, "room": room}


def steps_off(p: Sequence[float], logits: Sequence[float], temperature: float) -> Any:
    """Largest change of a logit difference to the winner of p, in BF16 steps of the logits; None where a p is zero."""
    if min(p) <= 0:
        return None
    w = list(p).index(max(p))
    steps = max(
        abs((x - logits[w]) - temperature * math.log(q / p[w])) / spacing(max(abs(x), abs(logits[w])))
        for q, x in zip(p, logits)
    )
    return steps if steps > STEP_SLACK else 0.0


def shape_same(reference: Side, candidate: Side, question: str) -> bool:
    """The candidate's response has the reference's shape and does not contradict itself."""
    a, b = reference.response["answers"], candidate.response["answers"]
    faults = response_faults(candidate.response) + answer_faults(b[question])
    line = candidate.lines.get(question)
    recorded = line is None or is_softmax(b[question], line, candidate.temperature)
    return not faults and recorded and list(a) == list(b) and set(a[question]) == set(b[question])


def steps(reference: Sequence[float], candidate: Sequence[float]) -> float:
    """Largest change of a logit difference to the reference's winner, in BF16 steps of the reference."""
    w = reference.index(max(reference))
    return max(
        abs((c - candidate[w]) - (r - reference[w])) / spacing(max(abs(r), abs(reference[w])))
        for r, c in zip(reference, candidate)
    )


def smallest_visible(logits: Sequence[float], temperature: float, kind: str) -> Tuple[Any, Any]:
    """Smallest n such that one logit moved by n of its own BF16 steps breaks a gate, and that shift in logits.

    What a gate looks at grows with the distance, so each direction is searched by halving.
    """
    before, best = softmax(logits, temperature), None
    for index, value in enumerate(logits):
        for step in (spacing(value), -spacing(value)):
            low, high = 0, MAX_STEPS
            if not breaks_gate(before, moved(logits, index, high * step, temperature), kind):
                continue
            while high - low > 1:
                middle = (low + high) // 2
                if breaks_gate(before, moved(logits, index, middle * step, temperature), kind):
                    high = middle
                else:
                    low = middle
            if best is None or high < best[0]:
                best = (high, high * abs(step))
    return best or (None, None)


def moved(logits: Sequence[float], index: int, by: float, temperature: float) -> List[float]:
    return softmax([x + by if i == index else x for i, x in enumerate(logits)], temperature)


def breaks_gate(p: Sequence[float], q: Sequence[float], kind: str) -> bool:
    # Confidence and noul move by no more than the largest probability change and have the same bound.
    if max(abs(a - b) for a, b in zip(p, q)) > GATES["probability"] + SLACK:
        return True
    if kind == "score" and abs(expectation(p) - expectation(q)) > GATES["expected_value"] + SLACK:
        return True
    first, second = sorted(p, reverse=True)[:2]
    return first - second >= GATES["winner_margin"] and p.index(max(p)) != q.index(max(q))


def lattice(probabilities: Sequence[float], temperature: Any) -> Json:
    """The coarsest grid of 2**-e that all logit differences lie on, read off the probabilities."""
    usable = is_number(temperature) and temperature > 0 and min(probabilities) >= 0
    top = max(probabilities)
    if usable and top >= sys.float_info.min:
        offsets = [math.log(p / top) * temperature for p in probabilities if p >= sys.float_info.min]
        for exponent in LATTICE_EXPONENTS:
            scale = 2.0**exponent
            if all(abs(x * scale - round(x * scale)) <= LATTICE_TOLERANCE * scale for x in offsets):
                return {"holds": True, "exponent": exponent}
    return {"holds": False, "exponent": None}


def check_drift(bundle: Bundle) -> None:
    """drift.json holds every comparison once, with the figures recomputed here."""
    document, expected = bundle.json("drift.json"), drift_rows(bundle)
    found: Dict[Key, Json] = OrderedDict()
    for row in document["rows"]:
        key = (row["engine"], row["against"], row["request"], row["question"])
        if key in found:
            bundle.fail("drift.json %s" % "/".join(key), "has two rows")
        found[key] = row
    if not expected:
        bundle.fail("drift.json", "nothing was compared")
    for key in [key for key in expected if key not in found]:
        bundle.fail("drift.json %s" % "/".join(key), "has no row")
    for key in [key for key in found if key not in expected]:
        bundle.fail("drift.json %s" % "/".join(key), "is no comparison of this run")
    for key in [key for key in expected if key in found]:
        figures = {
            name: value
            for name, value in found[key].items()
            if name not in ("engine", "against", "request", "question")
        }
        compare_figures(bundle, "drift.json %s" % "/".join(key), figures, expected[key])
    if document.get("missing"):
        bundle.fail("drift.json missing", "says that %d comparisons are missing" % len(document["missing"]))
    names = ("probability_drift", "confidence_drift", "noul_drift", "expected_drift", "max_steps")
    bundle.expect(
        "drift.json worst", list(document["worst"]), ["%s/%s" % pair for pair in comparisons(bundle)]
    )
    for engine, against in comparisons(bundle):
        pair = "%s/%s" % (engine, against)
        worst = {name: worst_of(expected, engine, against, name) for name in names}
        compare_figures(bundle, "drift.json worst %s" % pair, document["worst"].get(pair, {}), worst)


def worst_of(rows: Dict[Key, Json], engine: str, against: str, column: str) -> Any:
    values = [
        row[column] for key, row in rows.items() if key[:2] == (engine, against) and row[column] is not None
    ]
    return max(values) if values else None


# ---------------- error_ratios: Whether a candidate is no further from the oracle than the reference: the bootstrap of error ratios, drawn again.

RATIO_BOUND = 1.10
RATIO_PROMPTS, RATIO_CONTENTS = 600, 100
RATIO_RESAMPLES, RATIO_SEED, RATIO_SHARE = 1000, 20260722, 0.95
RATIO_FLOOR = 1e-12


class Ratios(NamedTuple):
    """Geometric mean of error ratios, one-sided 95% bounds, and what they rest on."""

    mean: float
    lower: float
    upper: float
    prompts: int
    contents: int


def error_ratios(errors: Sequence[Tuple[float, float]], contents: Sequence[str]) -> Ratios:
    """errors: (reference, candidate) a prompt. Contents are resampled whole, in the order of their names."""
    groups: Dict[str, List[float]] = {name: [] for name in sorted(set(contents))}
    for (theirs, ours), name in zip(errors, contents):
        groups[name].append(math.log(max(ours, RATIO_FLOOR) / max(theirs, RATIO_FLOOR)))
    sums = [(math.fsum(logs), len(logs)) for logs in groups.values()]
    middle = math.exp(math.fsum(total for total, _ in sums) / len(errors))
    if not any(value for logs in groups.values() for value in logs):
        return Ratios(middle, middle, middle, len(errors), len(sums))  # every resample is the same
    source, count, means = random.Random(RATIO_SEED), len(sums), []
    for _ in range(RATIO_RESAMPLES):
        drawn = [sums[int(source.random() * count)] for _ in sums]
        means.append(math.fsum(total for total, _ in drawn) / sum(number for _, number in drawn))
    means.sort()
    tail = math.floor(RATIO_RESAMPLES * (1 - RATIO_SHARE) + 1e-9)
    lower, upper = math.exp(means[tail]), math.exp(means[RATIO_RESAMPLES - 1 - tail])
    return Ratios(middle, lower, upper, len(errors), count)


def carries_faithful(found: Ratios) -> bool:
    """Enough prompts and contents, and an upper bound that class faithful allows."""
    return found.prompts >= RATIO_PROMPTS and found.contents >= RATIO_CONTENTS and found.upper <= RATIO_BOUND


# ---------------- generated_lines: Lines of generated questions, decoded: both sides' logits, the oracle's, and what they rest on.

class Asked:
    """One line of records/generated.jsonl, decoded; raises ValueError or a LookupError for a malformed one."""

    def __init__(self, line: Json, temperatures: Json) -> None:
        oracle = line["oracle"]
        self.line, self.modality, self.content = line, line["modality"], line["content"]
        self.temperature = temperatures[self.modality]
        self.reference, self.candidate = floats(line["reference"]["logits"]), floats(line["candidate"]["logits"])
        self.truth = doubles(oracle["logits"]) if oracle else ()
        self.errors = (oracle["reference"], oracle["candidate"]) if oracle else (0.0, 0.0)
        self.hidden_same = line["reference"]["hidden"] == line["candidate"]["hidden"]
        self.logits_same = line["reference"]["logits"] == line["candidate"]["logits"]
        self.flip = first_of(self.reference) != first_of(self.candidate)

    @property
    def answers(self) -> Tuple[List[float], List[float]]:
        return softmax(self.reference, self.temperature), softmax(self.candidate, self.temperature)


def doubles(text: str) -> Tuple[float, ...]:
    """Numbers behind the hex of little-endian float64 values."""
    data = bytes.fromhex(text)
    return struct.unpack("<%dd" % (len(data) // 8), data)


def first_of(values: Sequence[float]) -> int:
    return list(values).index(max(values))


def generated_candidate(bundle: Bundle) -> str:
    return "graph" if "graph" in bundle.engines else "native"


def asked(bundle: Bundle) -> List[Asked]:
    """Every line, decoded once."""
    if "asked" not in bundle.memory:
        found, temperatures = [], bundle.temperatures()
        for number, line in enumerate(bundle.jsonl(GENERATED_LINES)[1:], 2):
            try:
                found.append(Asked(line, temperatures))
            except (LookupError, TypeError, ValueError, struct.error) as error:
                raise UnreadableError(
                    "%s line %d is malformed (%s: %s)" % (GENERATED_LINES, number, type(error).__name__, error)
                ) from error
        bundle.memory["asked"] = found
    lines: List[Asked] = bundle.memory["asked"]
    return lines


# ---------------- generated_figures: Figures over all generated questions: flips and their rate, divergence, margins, labels, distance from the oracle.

GENERATOR = "kit-prompts/1"
HELD_OUT = "kit-held-out/1"  # of labelled questions
TIE_RULE = "the winner is the first of the largest logits in candidate order, on either side; a tie is no excuse for a flip"
MARGIN_BINS = ((0.0, 0.01), (0.01, 0.05), (0.05, 0.1), (0.1, 0.2), (0.2, 0.5), (0.5, 1.0))
FEWEST_DISCORDANT = 6
CONFIDENCE_BINS = 10  # of equal width; a bin holds its upper end


def generated_summary(bundle: Bundle) -> Json:
    """What generated.json must say of the lines; computed once."""
    if "generated summary" not in bundle.memory:
        bundle.memory["generated summary"] = summary_of_asked(bundle)
    document: Json = bundle.memory["generated summary"]
    return document


def summary_of_asked(bundle: Bundle) -> Json:
    found = asked(bundle)
    document: Json = {
        "format": "kit-generated/1",
        "generator": generator_named(bundle),
        "seed": bundle.profile["generated"]["seed"],
        "declared": bundle.generated,
        "reached": len(found),
        "candidate": generated_candidate(bundle),
        "tie_rule": TIE_RULE,
        "confidence": 0.95,
    }
    for name in ("all", "text", "image"):
        mine = [item for item in found if name in ("all", item.modality)]
        if mine:
            document[name] = stratum(mine)
    document["margins"] = flips_by_margin(found)
    document["labels"] = labelled(found)
    if held_out(bundle):
        document["reliability"] = {
            side: confidence_bins([sureness(item, side) for item in found]) for side in ("reference", "candidate")
        }
    document["oracle"] = oracle_summary(found)
    return document


def held_out(bundle: Bundle) -> bool:
    """Whether the questions are labelled ones of a training package; older profiles know of one source alone."""
    return bool(bundle.profile["generated"].get("source", "composed") == "held-out")


def generator_named(bundle: Bundle) -> str:
    return HELD_OUT if held_out(bundle) else GENERATOR


def sureness(item: Asked, side: str) -> Tuple[float, bool]:
    """(confidence, whether it was right) of one side on a labelled question."""
    logits, answer = (item.reference, item.answers[0]) if side == "reference" else (item.candidate, item.answers[1])
    return max(answer), item.line["candidates"][first_of(logits)] == item.line["expected"]


def confidence_bins(known: Sequence[Tuple[float, bool]]) -> Json:
    """Answers by how sure they are: how many, how sure on average, how many right; and the mean distance of the two."""
    by_bin: Dict[int, List[Tuple[float, bool]]] = {}
    for confidence, right in known:
        place = min(max(math.ceil(confidence * CONFIDENCE_BINS) - 1, 0), CONFIDENCE_BINS - 1)
        by_bin.setdefault(place, []).append((confidence, right))
    bins, distance = [], []
    for place in sorted(by_bin):
        inside = by_bin[place]
        total, hits = math.fsum(confidence for confidence, _ in inside), sum(one for _, one in inside)
        bins.append({
            "over": place / CONFIDENCE_BINS, "to": (place + 1) / CONFIDENCE_BINS, "questions": len(inside),
            "confidence": total / len(inside), "right": hits,
        })  # fmt: skip
        distance.append(abs(total - hits))
    return {"ece": math.fsum(distance) / len(known), "bins": bins}


def stratum(found: Sequence[Asked]) -> Json:
    flips = sum(item.flip for item in found)
    moved = [max(abs(p - q) for p, q in zip(*item.answers)) for item in found]
    kl = [divergence(item) for item in found]
    ties = [tied(item.reference) for item in found]
    return {
        "questions": len(found),
        "contents": len({item.content for item in found}),
        "hidden_different": sum(not item.hidden_same for item in found),
        "logits_different": sum(not item.logits_same for item in found),
        "flips": flips,
        "flip_rate_upper": largest_rate(flips, len(found)),
        "ties": sum(ties),
        "flips_at_ties": sum(item.flip and tie for item, tie in zip(found, ties)),
        "probability": spread(moved),
        "steps": spread([steps(item.reference, item.candidate) for item in found]),
        "kl": dict(spread(kl), mean=math.fsum(kl) / len(kl)),
    }


def tied(logits: Sequence[float]) -> bool:
    first, second = sorted(logits, reverse=True)[:2]
    return first == second


def spread(values: Sequence[float]) -> Json:
    return {"p50": quantile(values, 0.5), "p99": quantile(values, 0.99), "max": max(values)}


def divergence(item: Asked) -> float:
    """KL divergence of the candidate's answer from the reference's, in nats."""
    if item.logits_same:
        return 0.0
    p, q = (log_softmax(values, item.temperature) for values in (item.reference, item.candidate))
    return max(0.0, math.fsum(math.exp(a) * (a - b) for a, b in zip(p, q)))


def log_softmax(logits: Sequence[float], temperature: float) -> List[float]:
    scaled = [value / temperature for value in logits]
    top = max(scaled)
    total = top + math.log(math.fsum(math.exp(value - top) for value in scaled))
    return [value - total for value in scaled]


def largest_rate(flips: int, questions: int) -> float:
    """The rate at which so few flips still happen one time in twenty (Clopper and Pearson)."""
    if flips == questions:
        return 1.0
    low, high = 0.0, 1.0
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if chance_of_at_most(flips, questions, middle) > 1 - 0.95 else (low, middle)
    return high


def chance_of_at_most(count: int, of: int, rate: float) -> float:
    if not 0.0 < rate < 1.0:
        return 1.0 if rate <= 0.0 else 0.0
    whole = math.lgamma(of + 1)
    logs = [
        whole - math.lgamma(i + 1) - math.lgamma(of - i + 1) + i * math.log(rate) + (of - i) * math.log1p(-rate)
        for i in range(count + 1)
    ]
    return min(1.0, math.fsum(math.exp(value) for value in logs))


def flips_by_margin(found: Sequence[Asked]) -> List[Json]:
    margins = []
    for item in found:
        first, second = sorted(item.answers[0], reverse=True)[:2]
        margins.append((first - second, item.flip))
    bins = []
    for low, high in MARGIN_BINS:
        inside = [flip for value, flip in margins if low < value <= high or (low == 0.0 and value == 0.0)]
        bins.append({"over": low, "to": high, "questions": len(inside), "flips": sum(inside)})
    return bins


def labelled(found: Sequence[Asked]) -> Json:
    pairs = []
    for item in found:
        if item.line["expected"] is not None:
            right = item.line["candidates"].index(item.line["expected"])
            pairs.append((first_of(item.reference) == right, first_of(item.candidate) == right))
    lost, won = sum(a and not b for a, b in pairs), sum(b and not a for a, b in pairs)
    return {
        "questions": len(pairs),
        "reference_right": sum(a for a, _ in pairs),
        "candidate_right": sum(b for _, b in pairs),
        "lost": lost,
        "won": won,
        "mcnemar_p": uneven(lost, won),
    }


def uneven(lost: int, won: int) -> Any:
    """McNemar's exact test; None below six discordant pairs."""
    pairs = lost + won
    if pairs < FEWEST_DISCORDANT:
        return None
    tail, term = 0, 1
    for i in range(min(lost, won) + 1):
        tail += term
        term = term * (pairs - i) // (i + 1)
    return min(1.0, 2 * tail / float(2**pairs))


def oracle_summary(found: Sequence[Asked]) -> Any:
    known = [item for item in found if item.truth]
    if not known:
        return None
    logits = [(distance(i.reference, i.truth), distance(i.candidate, i.truth)) for i in known]
    return {
        "questions": len(known),
        "bound": RATIO_BOUND,
        "hidden": distances(known, [item.errors for item in known]),
        "logits": distances(known, logits),
    }


def distance(logits: Sequence[float], truth: Sequence[float]) -> float:
    return math.sqrt(math.fsum((a - b) ** 2 for a, b in zip(logits, truth)) / len(truth))


def distances(known: Sequence[Asked], errors: Sequence[Tuple[float, float]]) -> Json:
    ratios = error_ratios(errors, [item.content for item in known])
    return {
        "reference": spread([theirs for theirs, _ in errors]),
        "candidate": spread([ours for _, ours in errors]),
        "ratio": {"mean": ratios.mean, "lower": ratios.lower, "upper": ratios.upper},
        "contents": ratios.contents,
    }


def leaves(value: Any, name: str = "") -> Json:
    """Every single figure of a document under its path."""
    if isinstance(value, dict):
        return {k: v for key, item in value.items() for k, v in leaves(item, "%s.%s" % (name, key)).items()}
    if isinstance(value, list):
        return {k: v for i, item in enumerate(value) for k, v in leaves(item, "%s[%d]" % (name, i)).items()}
    return {name.lstrip("."): value}


def stage_facts(bundle: Bundle, failed: Sequence[str]) -> Json:
    """What the stage's verdict cell says."""
    document = generated_summary(bundle)
    every, oracle, labels = document["all"], document["oracle"], document["labels"]
    right = {
        "right answers of the reference": labels["reference_right"],
        "right answers of the candidate": labels["candidate_right"],
        "calibration error of the candidate": document["reliability"]["candidate"]["ece"],
    } if held_out(bundle) else {}  # fmt: skip
    return {
        "questions declared": document["declared"],
        "questions answered by both sides": document["reached"],
        "contents": every["contents"],
        "hidden rows that differ": every["hidden_different"],
        "logit rows that differ": every["logits_different"],
        "changed winners": every["flips"],
        "flip rate is under (95%)": every["flip_rate_upper"],
        "largest KL divergence": every["kl"]["max"],
        **right,
        "questions put to the oracle": oracle["questions"] if oracle else 0,
        "error ratio is under (95%)": oracle["hidden"]["ratio"]["upper"] if oracle else "none",
        "gates that failed": ", ".join(failed) or "none",
    }


# ---------------- accuracy: Right answers, where a profile judges them: counted once more from the responses and the corpus.

SERVED_FIRST = ("graph", "native", "remote", "reference")  # whose figure stands for a run


class Held(NamedTuple):
    """One answer held to the expected one; figures are None where there is no answer."""

    request: str
    question: str
    expected: str
    chosen: Any
    margin: Any
    confidence: Any

    @property
    def right(self) -> bool:
        return bool(self.chosen == self.expected)


def is_judged(bundle: Bundle) -> bool:
    """Whether the profile holds answers to the corpus's expected ones; older profiles know of no such thing."""
    return bool(bundle.profile["protocol"].get("judged", False))


def check_accuracy(bundle: Bundle) -> None:
    """Right answers of every engine and pass, wrong ones by name, as the responses and the corpus have them."""
    told, headline = bundle.json("drift.json").get("accuracy"), bundle.json("verdict.json").get("accuracy")
    if not is_judged(bundle):
        bundle.expect("drift.json accuracy", told, None)
        bundle.expect("verdict.json accuracy", headline, None)
        return
    for case in bundle.corpus():
        missing = sorted(set(case["request"]["questions"]) - set(case.get("expected", {})))
        if missing:
            bundle.fail("protocol/corpus.jsonl %s" % short(case["id"]), "expects no answer to %s" % short(missing))
    least = bundle.profile["protocol"].get("least_right", 0)
    if type(least) is not int or not 0 <= least <= len(bundle.corpus()):
        bundle.fail("profile.json protocol.least_right", "is %s of %d requests" % (short(least), len(bundle.corpus())))
    expected = accuracy_document(bundle)
    for name, found, wanted in (("drift.json", told, expected), ("verdict.json", headline, accuracy_headline(bundle))):
        if not isinstance(found, dict):
            bundle.fail("%s accuracy" % name, "is %s, expected the right answers of a judged profile" % short(found))
        else:
            compare_figures(bundle, "%s accuracy" % name, leaves(found), leaves(wanted))


def accuracy_document(bundle: Bundle) -> Json:
    """What drift.json must say of right answers; computed once."""
    if "accuracy" not in bundle.memory:
        bundle.memory["accuracy"] = computed_accuracy(bundle)
    document: Json = bundle.memory["accuracy"]
    return document


def accuracy_headline(bundle: Bundle) -> Json:
    """What verdict.json must say: the first pass of the engine that would serve."""
    document = accuracy_document(bundle)
    engine = next(name for name in SERVED_FIRST if name in bundle.engines)
    first = next(item for item in document["passes"] if item["engine"] == engine and item["pass"] == 1)
    told = {name: first[name] for name in ("engine", "correct", "of", "requests_right")}
    return dict(told, requests=document["requests"])


def computed_accuracy(bundle: Bundle) -> Json:
    passes, engines = range(1, bundle.profile["campaign"]["passes"] + 1), bundle.engines
    given = {(engine, number): held_answers(bundle, engine, number) for engine in engines for number in passes}
    reliability = []
    for engine in engines:
        known = [(item.confidence, item.right) for item in given[engine, 1] if item.confidence is not None]
        if known:
            reliability.append(dict({"engine": engine}, **confidence_bins(known)))
    return {
        "requests": len(bundle.corpus()),
        "questions": sum(len(case.get("expected", {})) for case in bundle.corpus()),
        "passes": [dict({"engine": engine, "pass": number}, **counted(given[engine, number])) for engine, number in given],
        "mcnemar": [
            discordant(one, other, given[one, 1], given[other, 1])
            for place, one in enumerate(engines)
            for other in engines[place + 1 :]
        ],
        "reliability": reliability,
    }


def held_answers(bundle: Bundle, engine: str, number: int) -> List[Held]:
    """Every expected answer beside what an engine chose in one measured pass."""
    answers: Dict[str, Json] = {}
    for line in bundle.exchanges(engine):
        if line["phase"] == "measured" and line["pass"] == number and line["status"] == 200:
            answers.setdefault(line["request_id"], bundle.body(line["response_sha256"])["answers"])
    found = []
    for case in bundle.corpus():
        for question, right in case.get("expected", {}).items():
            answer = answers.get(case["id"], {}).get(question)
            found.append(Held(case["id"], question, candidate_named(right), *figures_of(answer)))
    return found


def candidate_named(expected: Any) -> str:
    """An expected candidate by its id: a corpus may say true or false of a noul, and a score's level as a number."""
    return ("yes" if expected else "no") if isinstance(expected, bool) else str(expected)


def figures_of(answer: Any) -> Tuple[Any, Any, Any]:
    """(chosen, margin, confidence) of an answer; all None where there is none."""
    if answer is None:
        return None, None, None
    probabilities = list(answer["probabilities"].values())
    if len(probabilities) < 2 or not all(map(is_number, probabilities)):
        raise UnreadableError("an answer has no probabilities that are finite numbers")
    first, second = sorted(probabilities, reverse=True)[:2]
    return winner(answer), first - second, first


def counted(held: Sequence[Held]) -> Json:
    wrong = [item for item in held if not item.right]
    spoiled = {item.request for item in wrong}
    return {
        "correct": len(held) - len(wrong),
        "of": len(held),
        "requests_right": len({item.request for item in held} - spoiled),
        "wrong": [
            {"request": item.request, "question": item.question, "expected": item.expected, "chosen": item.chosen, "margin": item.margin}
            for item in wrong
        ],
    }


def discordant(against: str, engine: str, theirs: Sequence[Held], ours: Sequence[Held]) -> Json:
    """Right answers an engine lost and won against another."""
    lost = sum(a.right and not b.right for a, b in zip(theirs, ours))
    won = sum(b.right and not a.right for a, b in zip(theirs, ours))
    return {"engine": engine, "against": against, "lost": lost, "won": won, "p": uneven(lost, won)}


def accuracy_outcomes(bundle: Bundle) -> Iterator[Tuple[Key, Tuple[bool, int, int, str]]]:
    """(key, (passed, wrong requests, allowed, words)) of every engine, where the profile declares a least."""
    least = bundle.profile["protocol"].get("least_right", 0)
    if not is_judged(bundle) or not least:
        return
    document = accuracy_document(bundle)
    for engine in bundle.engines:
        right = min(item["requests_right"] for item in document["passes"] if item["engine"] == engine)
        words = "%d of %d requests are right, at least %d must be" % (right, document["requests"], least)
        outcome = (right >= least, document["requests"] - right, document["requests"] - least, words)
        yield ("accuracy", engine, None), outcome


# ---------------- autotune: One draw of kernel configurations for every engine.

CALLS = 20  # of every length, which must give the same bits
BEYOND_PROTOCOL = (1024, 2282, 8192)
TUNED_PACKAGES = ("torch", "triton", "flash-linear-attention")
HEADS = ("key_heads", "value_heads", "key_dim", "value_dim")
SCANS = "fla.ops."


def check_autotune(bundle: Bundle) -> None:
    """Every engine ran with the one draw of kernel configurations that the run recorded, and chose none later."""
    ledger, kind = bundle.json(LEDGER), bundle.profile["runtime"]["device"]
    winners = checked_winners(bundle, LEDGER, ledger)
    if ledger["source"] not in ("drawn", "recorded"):
        bundle.fail("%s source" % LEDGER, "is %s, expected drawn or recorded" % short(ledger["source"]))
    bundle.expect("%s repeats that gave other bits" % LEDGER, ledger["repeats"]["different"], 0)
    told = {name: ledger[name] for name in ("source", "digest", "winners")}
    bundle.expect("environment.json autotune", bundle.json("environment.json").get("autotune"), told)
    installed = bundle.json("environment.json")["packages"].get("fla", {}).get("status", "absent") != "absent"
    if winners and kind != "cuda":
        bundle.fail(LEDGER, "has winners of a run on a %s, where nothing is tuned" % kind)
    if not winners and kind == "cuda" and installed and bundle.recorded_engines:
        bundle.fail(LEDGER, "is empty although FLA, whose kernels are autotuned, is installed")
    wanted = {"digest": ledger["digest"], "entries": len(winners), "installed": True, "late": []}
    for engine in bundle.recorded_engines:
        lines = [line for line in bundle.worker(engine) if line["kind"] in ("ready", "closed")]
        for line in lines:
            said = (line["describe"] if line["kind"] == "ready" else line).get("autotune")
            bundle.expect("records/%s/worker.jsonl %s autotune" % (engine, line["kind"]), said, wanted)


def check_tuning(bundle: Bundle) -> None:
    """A draw was made on this device with these packages, at the lengths of the protocol and of benchmarks, repeatedly."""
    ledger, environment = bundle.json(LEDGER), bundle.json("environment.json")
    lengths, repeats, origin = ledger["lengths"], ledger["repeats"], ledger["origin"]
    tuned = bool(ledger["winners"]) and bundle.profile["runtime"]["device"] == "cuda" and bool(bundle.recorded_engines)
    bundle.expect("%s lengths" % LEDGER, lengths, tuned_lengths(bundle) if tuned else [])
    bundle.expect("%s repeats lengths" % LEDGER, repeats["lengths"], len(lengths))
    bundle.expect("%s repeats calls" % LEDGER, repeats["calls"], CALLS)
    if len(ledger["seconds"]) != len(lengths) or not all(second >= 0 for second in ledger["seconds"]):
        bundle.fail("%s seconds" % LEDGER, "are %d, expected one of 0 or more for each length" % len(ledger["seconds"]))
    bundle.expect("%s heads" % LEDGER, ledger["heads"] is not None, tuned)
    if tuned:
        compare_heads(bundle, ledger)
    if ledger["source"] == "drawn":
        device = environment.get("device", {})
        bundle.expect("%s origin device" % LEDGER, origin["device"], device.get("name", device.get("kind")))
        for name, version in origin["versions"].items():
            wanted = environment.get("versions", {}).get(name)
            if version != wanted and (version or "").partition("+")[0] != wanted:
                message = "is %s, environment.json has %s"
                bundle.fail("%s origin versions %s" % (LEDGER, name), message % (short(version), short(wanted)))
        bundle.expect("%s origin versions" % LEDGER, sorted(origin["versions"]), sorted(TUNED_PACKAGES))


def compare_heads(bundle: Bundle, ledger: Json) -> None:
    """Sizes of the scan, which stand in the keys of what was chosen for it."""
    heads = ledger["heads"]
    bundle.expect("%s heads" % LEDGER, sorted(heads), sorted(HEADS))
    scans = [winner["key"] for winner in ledger["winners"] if winner["kernel"].startswith(SCANS)]
    for name in HEADS if scans else ():
        wanted = heads.get(name)
        if not any(wanted in [size for size in key if type(size) is int] for key in scans):
            bundle.fail("%s heads %s" % (LEDGER, name), "is %s, which no kernel of the scan was tuned for" % short(wanted))


def tuned_lengths(bundle: Bundle) -> List[int]:
    """Token counts of the protocol's questions in their order, each once, then those of benchmarks."""
    side = measured(bundle, bundle.recorded_engines[0])
    asked = [(case["id"], name) for case in bundle.corpus() for name in case["request"]["questions"]]
    counts = [side[request].lines[name]["tokens"] for request, name in asked]
    beyond = [length for length in BEYOND_PROTOCOL if length <= bundle.profile["limits"]["text_tokens"]]
    return list(OrderedDict.fromkeys([*counts, *beyond]))


def checked_winners(bundle: Bundle, where: str, ledger: Json) -> List[Json]:
    """The winners of a ledger, each kernel and key once, under the digest that names the draw."""
    winners: List[Json] = ledger["winners"]
    places = [(winner["kernel"], json.dumps(winner["key"])) for winner in winners]
    for kernel, key in sorted(place for place, count in Counter(places).items() if count > 1):
        bundle.fail(where, "has two winners of %s %s" % (kernel, key))
    for winner in winners:
        if not (isinstance(winner["key"], list) and isinstance(winner["config"], dict) and winner["config"]):
            bundle.fail(where, "says nothing of a configuration of %s" % short(winner["kernel"]))
    ordered = [winner for _, winner in sorted(zip(places, winners), key=lambda pair: pair[0])]
    bundle.expect("%s digest" % where, ledger["digest"], digest_of(ordered))
    return winners


def draw_of(bundle: Bundle) -> Any:
    """Which draw of the autotuner everything here belongs to; None where no kernel is autotuned or none is told."""
    try:
        ledger = bundle.json(LEDGER)
        found = {"source": ledger["source"], "digest": ledger["digest"], "winners": len(ledger["winners"])}
    except (UnreadableError, LookupError, TypeError):
        return None
    return found if found["winners"] else None


# ---------------- catalogue: The catalogue description: the files there are, as they are, and one action for the run and for each stage.

RUN_ACTION, KIT = "#run", "#kit"
SPECIFICATION, PROCESS_RUN = "https://w3id.org/ro/crate/1.3", "https://w3id.org/ro/wfrun/process/0.6"
LICENSE = "https://spdx.org/licenses/Apache-2.0"
# What entities may say. None of it names a person: a bundle has names taken out.
CRATE_KEYS = {
    "@id", "@type", "about", "actionStatus", "conformsTo", "contentSize", "datePublished", "description", "encodingFormat", "endTime",
    "error", "hasPart", "instrument", "isPartOf", "license", "mentions", "name", "object", "result", "sha256", "startTime",
    "url", "version",
}  # fmt: skip
UNREAD_TEXTS = "descriptions of files in %s (for people; nothing is derived from them)" % CRATE


def check_crate(bundle: Bundle) -> None:
    """The catalogue description lists exactly the files there are, and one action a stage with its outcome."""
    entities = {entity["@id"]: entity for entity in bundle.json(CRATE)["@graph"]}
    if len(entities) != len(bundle.json(CRATE)["@graph"]):
        bundle.fail(CRATE, "describes one thing twice")
    identities = {unquote(part["@id"]): part["@id"] for part in references(entities["./"]["hasPart"])}
    present = bundle.files()[0] - {*UNLISTED, CRATE}
    for name in sorted(set(identities) - present):
        bundle.fail(name, "is described in %s but missing" % CRATE)
    for name in sorted(present - set(identities)):
        bundle.fail(name, "is not described in %s" % CRATE)
    for stage in bundle.stages():
        finished = bundle.exists("stages/%s.json" % stage)
        action = entities.get("#stage-%s" % stage, {})
        bundle.expect("%s action of %s" % (CRATE, stage), action.get("actionStatus"), ending(finished))
    if RUN_ACTION in entities or "generated" in bundle.profile:  # older bundles describe less
        sums = set(bundle.read("SHA256SUMS").decode("utf-8", "replace").split("\n"))
        for name in sorted(present & set(identities)):
            if "%s  %s" % (sha256(bundle.read(name)), name) in sums:  # else check_sums has said so
                compare_file(bundle, name, entities.get(identities[name], {}))
        compare_actions(bundle, entities)
        compare_frame(bundle, entities, set(identities.values()))
        bundle.leave(UNREAD_TEXTS)


def references(value: Any) -> List[Json]:
    """What a property refers to; a single reference stands alone."""
    return value if isinstance(value, list) else [value]


def ending(finished: bool) -> Json:
    return {"@id": "http://schema.org/%sActionStatus" % ("Completed" if finished else "Failed")}


def compare_file(bundle: Bundle, name: str, entity: Json) -> None:
    """Type, size and digest of one file as the catalogue has them."""
    data, where = bundle.read(name), "%s on %s" % (CRATE, name)
    bundle.expect("%s @type" % where, entity.get("@type"), "File")
    bundle.expect("%s name" % where, entity.get("name"), name)
    bundle.expect("%s contentSize" % where, entity.get("contentSize"), str(len(data)))
    bundle.expect("%s sha256" % where, entity.get("sha256"), sha256(data))


def compare_actions(bundle: Bundle, entities: Dict[str, Json]) -> None:
    """The run and the stages that were begun: mentioned, with the times and endings that the notebooks have."""
    begun = sorted(name[10:-6] for name in bundle.files()[0] if name.startswith("notebooks/"))
    expected = {}
    for stage in begun:
        result = "stages/%s.json" % stage
        finished = bundle.exists(result) and bundle.json(result).get("sentinel") == SENTINEL
        times = bundle.json("notebooks/%s.ipynb" % stage)["metadata"].get("papermill", {})
        expected["#stage-%s" % stage] = (finished, moment(times.get("start_time")), moment(times.get("end_time")))
    ends = [end for _, _, end in expected.values() if end]
    finished = bool(expected) and all(finished for finished, _, _ in expected.values())
    started = moment(bundle.json("run.json")["started_utc"])
    expected[RUN_ACTION] = (finished, started, max(ends) if ends else None)
    found = {name for name, entity in entities.items() if entity["@type"] == "CreateAction"}
    mentioned = {reference["@id"] for reference in references(entities["./"]["mentions"])}
    for what, names in (("described", found), ("mentioned", mentioned)):
        bundle.expect("%s actions that are %s" % (CRATE, what), sorted(names), sorted(expected))
    for name, (finished, start, end) in expected.items():
        action = entities.get(name, {})
        tool = {"@id": KIT if name == RUN_ACTION else name.replace("#stage-", "#notebook-", 1)}
        facts = {"actionStatus": ending(finished), "startTime": start, "endTime": end, "instrument": tool}
        for key, value in facts.items():
            bundle.expect("%s %s %s" % (CRATE, name, key), action.get(key), value)
        bundle.expect("%s %s has an error" % (CRATE, name), "error" in action, not finished)
    bundle.expect("%s datePublished" % CRATE, entities["./"]["datePublished"], max(ends) if ends else started)


def compare_frame(bundle: Bundle, entities: Dict[str, Json], files: Set[str]) -> None:
    """What is not a file or an action: the descriptor, the root, what they refer to, and nothing else."""
    run, verdict, root = bundle.json("run.json"), bundle.json("verdict.json"), entities["./"]
    actions = {name for name, entity in entities.items() if entity["@type"] == "CreateAction"}
    tools = {KIT, *(name.replace("#stage-", "#notebook-", 1) for name in actions - {RUN_ACTION})}
    endings = {str(entities[name].get("actionStatus", {}).get("@id")) for name in actions}
    expected = {CRATE, "./", PROCESS_RUN, LICENSE, *files, *actions, *tools, *endings}
    bundle.expect("%s entities beyond those of a run" % CRATE, sorted(set(entities) - expected), [])
    bundle.expect("%s entities that are not described" % CRATE, sorted(expected - set(entities)), [])
    bundle.expect("%s @context" % CRATE, bundle.json(CRATE).get("@context"), SPECIFICATION + "/context")
    descriptor = {name: value for name, value in entities[CRATE].items() if name not in ("description", "name")}
    about = {"@id": CRATE, "@type": "CreativeWork", "about": {"@id": "./"}, "conformsTo": {"@id": SPECIFICATION}}
    bundle.expect("%s descriptor" % CRATE, descriptor, about)
    stated = {"@type": "Dataset", "license": {"@id": LICENSE}, "conformsTo": {"@id": PROCESS_RUN}}
    for key, value in dict(stated, name="Evidence of run %s" % run["id"]).items():
        bundle.expect("%s ./ %s" % (CRATE, key), root.get(key), value)
    claim = "Claim %s of profile %s, verdict %s" % (verdict["claim"], run["profile"], verdict["verdict"])
    missing = " Not covered: %s." % "; ".join(verdict["not_covered"]) if verdict["not_covered"] else ""
    description = "%s. Scope: %s.%s" % (claim, verdict["scope"], missing)
    if root.get("description") != description:
        bundle.fail("%s ./ description" % CRATE, "is %s, expected %s" % (short(root.get("description")), short(description)))
    for tool in sorted(tools & set(entities)):
        bundle.expect("%s %s version" % (CRATE, tool), entities[tool].get("version"), run["kit_version"])
    for name, entity in entities.items():
        bundle.expect("%s %s keys" % (CRATE, short(name)), sorted(set(entity) - CRATE_KEYS), [])
        for key in ("object", "result", "instrument", "isPartOf", "url"):
            told = [part["@id"] for part in references(entity.get(key, []))]
            bundle.expect("%s %s %s" % (CRATE, short(name), key), sorted(set(told) - set(entities)), [])


def moment(text: Any) -> Any:
    """A time to the millisecond, as the catalogue has it; None where there is none."""
    if not text:
        return None
    read = datetime.fromisoformat(text.replace("Z", "+00:00"))
    return read.isoformat(timespec="milliseconds") if read.tzinfo else text


# ---------------- checkpoint: The weights: which, how many, and the same in every engine.

HEAD_FILE = "records/label_head.bin"
FROM_A_PACKAGE = "base/tokenizer.json"  # of a full vocabulary; a small one is in the digest
RECIPE_DEPTH = 3  # kit/checkpoint/<recipe>/base/<file>
SUMMED_KINDS = ("synthetic", "folder", "export")  # checkpoints whose own stage reads or makes every tensor


def check_checkpoint(bundle: Bundle) -> None:
    """The weights are those the profile names, and the label rows are what their digest says."""
    if not bundle.recorded_engines and not bundle.exists("checkpoint.json"):
        return
    document, wanted = bundle.json("checkpoint.json"), bundle.profile["checkpoint"]
    if wanted["kind"] == "synthetic" or (wanted["kind"] == "folder" and wanted["digest"]):
        bundle.expect("checkpoint.json digest", document["digest"], wanted["digest"])
    if wanted["kind"] != "synthetic":
        bundle.leave("weights (%s): their files are not in the bundle" % wanted["kind"])
    for engine in bundle.recorded_engines:
        said = bundle.json("records/%s/engine.json" % engine)["describe"].get("checkpoint_digest")
        bundle.expect("records/%s/engine.json checkpoint_digest" % engine, said, document["digest"])
    head = document["label_head"]
    bundle.expect("checkpoint.json label_head file", head["file"], HEAD_FILE)
    rows = bundle.read(head["file"])
    bundle.expect(head["file"], sha256(rows), head["rows_sha256"])
    bundle.expect("%s bytes" % head["file"], len(rows), 2 * head["shape"][0] * head["shape"][1])
    bundle.expect("checkpoint.json labels", [len(set(head["ids"])), head["shape"][0]], [LABELS, LABELS])
    calibration = document["calibration"]
    for name in ("temperature", "mm_temperature"):
        if not (is_number(calibration[name]) and calibration[name] > 0):
            bundle.fail(
                "checkpoint.json %s" % name, "is %s, expected a positive number" % short(calibration[name])
            )


def check_inventory(bundle: Bundle) -> None:
    """Kind and source are the profile's, every file that is named has its digest, and together they give the whole's."""
    if not bundle.exists("checkpoint.json"):
        return
    document, wanted = bundle.json("checkpoint.json"), bundle.profile["checkpoint"]
    kind, files = wanted["kind"], document["files"]
    bundle.expect("checkpoint.json kind", document["kind"], kind)
    if kind == "synthetic":
        bundle.expect("checkpoint.json source", document["source"], "generator %(generator)s, seed %(seed)s" % wanted)
    elif kind in SUMMED_KINDS[1:] and wanted["base"] and wanted["base"] not in document["source"]:
        bundle.fail("checkpoint.json source", "is %s, expected it to name %s" % (short(document["source"]), wanted["base"]))
    bundle.expect("checkpoint.json files", bool(files), kind in ("synthetic", "folder"))
    for name in files:
        if not name.startswith(("base/", "adapter/")) or not safe_name(name):
            bundle.fail("checkpoint.json files %s" % short(name), "is no file of base or adapter")
    shards = [name for name in files if name.endswith(".safetensors")]
    if shards:  # of a recipe that writes no tensor, the digest is over the recipe as well
        lines = "".join("%s  %s\n" % (files[name], name) for name in sorted(files))
        bundle.expect("checkpoint.json digest, from its files", document["digest"], sha256(lines.encode()))
    elif files:
        bundle.leave("checkpoint.json digest from its files (the recipe of its tensors is in it too)")
    compare_static(bundle, files)
    compare_shipped(bundle, files)
    if not sum(document["tensors"]["base"].values()):
        bundle.fail("checkpoint.json tensors", "there are none in base")


def compare_static(bundle: Bundle, files: Json) -> None:
    """Small files of a generated checkpoint are copies of packed sources, where they are of one name."""
    if bundle.profile["checkpoint"]["kind"] != "synthetic":
        return
    packed: Dict[str, set[str]] = {}
    for name, data in bundle.sources().items():
        if name.startswith("kit/checkpoint/") and name.count("/") > RECIPE_DEPTH:
            packed.setdefault("/".join(name.split("/")[-2:]), set()).add(sha256(data))
    for name in sorted(set(files) & set(packed)):
        if name != FROM_A_PACKAGE and files[name] not in packed[name]:
            bundle.fail("checkpoint.json files %s" % name, "has a digest that no packed source of that name has")


def compare_shipped(bundle: Bundle, files: Json) -> None:
    """Small files of a checkpoint that lies in the project are the packed sources themselves."""
    wanted = bundle.profile["checkpoint"]
    if wanted["kind"] != "folder":
        return
    sources = bundle.sources()
    for name in sorted(files):
        part, _, rest = name.partition("/")
        shipped = sources.get("%s/%s" % (wanted.get(part), rest))
        if shipped is not None:
            bundle.expect("checkpoint.json files %s, from the packed sources" % name, files[name], sha256(shipped))


def check_weights(bundle: Bundle) -> None:
    """Every engine held the same weights, tensor by tensor, and those the checkpoint stage summed, if it did.

    checkpoint.json carries a sum where its stage read or made every tensor; the sums of a download are the
    engines' own, so they are compared with each other. An engine without one shows nothing about its weights.
    """
    if not bundle.recorded_engines:
        return
    document, sums = bundle.json("checkpoint.json"), {}
    for engine in bundle.recorded_engines:
        found = bundle.json("records/%s/engine.json" % engine)["describe"].get("weights_sum")
        if found is not None:
            sums["records/%s/engine.json" % engine] = found
        else:
            bundle.fail(
                "records/%s/engine.json weights_sum" % engine, "is missing: nothing says what it held"
            )
    summed = document.get("weights_sum")
    if summed is None and bundle.profile["checkpoint"]["kind"] in SUMMED_KINDS:
        bundle.fail("checkpoint.json weights_sum", "is missing: nothing says what the checkpoint holds")
    wanted = summed if summed is not None else next(iter(sums.values()), None)
    for name in sorted(sums):
        bundle.expect("%s weights_sum" % name, sums[name], wanted)


# ---------------- operators: Every op against the reference's own, and the kernels' proofs.

# Compared with the reference though they are no ops of the table; the two tables are made outside graphs.
BESIDES = ("text_rotary", "vision_rotary_tables", "label_head")
NOT_IN_GRAPHS = ("text_rotary", "vision_rotary_tables")
MISSES = ("different", "nan", "changed_different", "replay_different", "repeats_different")
REPEATS = {"cuda": 20, "cpu": 2}  # runs of each op on the same inputs, at least
# What a device must show: rows of the result, and in which layouts of the values.
NAMED_SIZES = (
    ("delta_rule", (63, 278, 475), ("recorded", "strided v")),
    ("causal_attention", (63, 278, 475), ("recorded", "strided v")),
    ("rms_norm", (1, 278), ("recorded",)),
    ("packed_attention", (256, 512), ("strided v", "contiguous v")),
    ("patch_embed", (256,), ("recorded",)),
)


def check_operators(bundle: Bundle) -> None:
    """Every op of the packed table was compared with the reference's own; an exact claim allows no difference."""
    if not bundle.operators:
        if bundle.native:
            bundle.leave("operators (an export has no reference to compare with)")
        return
    document = bundle.json("operators.json")
    ops, checks = document["ops"], document["checks"]
    if not checks or not ops:
        bundle.fail("operators.json", "compares nothing")
    compared, wanted = {check["op"] for check in checks}, set(ops) | set(BESIDES)
    for op in sorted(wanted - compared):
        bundle.fail("operators.json %s" % op, "was not compared")
    for op in sorted(compared - wanted):
        bundle.fail("operators.json %s" % op, "is neither an op nor known beside them")
    table = ops_of_table(bundle)
    if table is None:
        bundle.leave(
            "operators.json against the op table (kit/kernels/table.py is not in the packed sources)"
        )
    else:
        bundle.expect("operators.json ops", sorted(ops), sorted(table))
    for name in ("device", "dtype"):
        bundle.expect("operators.json %s" % name, document[name], bundle.profile["runtime"][name])
    for check in checks:
        operator_faults(bundle, check, document["device"])
    sums = {name: sum(check[name] for check in checks) for name in ("elements", *MISSES)}
    bundle.expect("operators.json totals", document["totals"], dict(sums, checks=len(checks)))
    if document["device"] == "cuda":
        named_sizes(bundle, checks)


def operator_faults(bundle: Bundle, check: Json, device: str) -> None:
    """What one line of the comparison shows or fails to show."""
    where = "operators.json %s %s" % (check["op"], check["shape"])
    if not (isinstance(check["elements"], int) and check["elements"] > 0):
        bundle.fail(where, "compares no element")
    if any(type(check[name]) is not int or check[name] < 0 for name in MISSES):
        bundle.fail(where, "a count is no count")
    elif check["nan"] or (bundle.profile["claim"] == "exact" and any(check[name] for name in MISSES)):
        counts = ", ".join("%s %s" % (name, check[name]) for name in MISSES if check[name])
        bundle.fail(where, "%s of %s elements, expected none" % (counts, check["elements"]))
    if not check["different"] and (check["max_abs"] or check["relative_l2"]):
        bundle.fail(where, "no element differs, yet by up to %s" % check["max_abs"])
    if check["op"] not in NOT_IN_GRAPHS and not check["replays"] > 0:
        bundle.fail(where, "was never replayed from a graph")
    least = REPEATS.get(device, max(REPEATS.values()))
    if not check["repeats"] >= least:
        bundle.fail(where, "was run %s times, expected %d" % (check["repeats"], least))


def named_sizes(bundle: Bundle, checks: Sequence[Json]) -> None:
    """The sizes that the earlier engine's operators were checked at, so that the two can be read side by side."""
    shown = {(check["op"], check["variant"], check["shape"].split("]")[0]) for check in checks}
    hidden = bundle.json("checkpoint.json")["label_head"]["shape"][1]
    for op, rows, variants in NAMED_SIZES:
        for size in rows:
            first = "[%d, " % size + (str(hidden) if op == "rms_norm" else "")
            for variant in variants:
                if not any(key[:2] == (op, variant) and key[2].startswith(first) for key in shown):
                    bundle.fail(
                        "operators.json %s" % op, "was not compared at %d rows (%s)" % (size, variant)
                    )


def ops_of_table(bundle: Bundle) -> List[str] | None:
    """Names of the ops that the packed source of the op table declares: its fields that can be called."""
    source = bundle.sources().get("kit/kernels/table.py")
    if source is None:
        return None
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ClassDef) and node.name == "Ops":
            fields = [item for item in node.body if isinstance(item, ast.AnnAssign)]
            ops = [field.target for field in fields if "Callable" in ast.dump(field.annotation)]
            return [op.id for op in ops if isinstance(op, ast.Name)]
    return []


# ---------------- shapes: What every document may hold: its keys, and what kind of value each has. A key nobody knows is refused.

MOST_FAULTS = 20  # of one document; more say nothing new


class Each(NamedTuple):
    """An object with keys of its own choice, each value of one kind."""

    of: Any


class Text(NamedTuple):
    """A text that matches a pattern as a whole."""

    pattern: str


class One(NamedTuple):
    """One of a few values."""

    of: Tuple[Any, ...]


COUNT, WHOLE, NUMBER, FLAG, ANY = "a count", "a whole number", "a finite number", "true or false", "anything"
TEXT = Text(r"(?s).{0,4000}")
DIGEST, HEX = Text(r"[0-9a-f]{64}"), Text(r"([0-9a-f]{8})*")
UTC = Text(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")
SEEN = (COUNT, One((NOT_VISIBLE, "not supported")))  # what a driver may refuse to say

ENGINE = One(ENGINES)
COUNTERS_OF_A_CACHE = dict.fromkeys(
    ("captures", "replays", "evictions", "invalidations", "fallbacks", "captured_bytes", "entries", "bytes", "pool_bytes"),
    COUNT,
)
CACHE_COUNTERS: Tuple[Dict[str, Any], ...] = ({}, dict.fromkeys(("text", "multimodal", "vision"), COUNTERS_OF_A_CACHE))
BOUNDS = {"entries": COUNT, "megabytes": COUNT}
GRAPH = {"policy": One(("fifo", "lru")), "scratch_tokens": COUNT, "text": BOUNDS, "multimodal": BOUNDS, "vision": BOUNDS}
MEMORY: Tuple[Dict[str, Any], ...] = (
    {},
    {
        "allocated": COUNT, "reserved": COUNT, "pools": COUNT, "peak_allocated": COUNT, "peak_reserved": COUNT,
        "outside": (WHOLE, None),
    },
)  # fmt: skip
SETTINGS = {
    "threads": COUNT, "interop_threads?": COUNT, "float32_matmul_precision": TEXT, "cuda_matmul_allow_tf32": FLAG,
    "cudnn_allow_tf32": FLAG, "deterministic_algorithms?": FLAG, "cpu_capability?": TEXT, "environment": Each(TEXT),
}  # fmt: skip
WINNER = {"kernel": TEXT, "key": [(COUNT, FLAG, TEXT, None)], "config": Each(ANY)}
AUTOTUNE_TOLD = {"digest": DIGEST, "entries": COUNT, "installed": FLAG, "late": [ANY]}

SNAPSHOT = (
    {"taken_utc": UTC, "visible": One((False,)), "reason": TEXT},
    {
        "taken_utc": UTC, "visible": One((True,)), "name": TEXT, "uuid_sha256": TEXT, "driver": TEXT, "cuda_driver": TEXT,
        "capability": TEXT, "mig": One(("off", "on", "not supported", NOT_VISIBLE)),
        "ecc_uncorrected": SEEN, "ecc_corrected": SEEN,
        "clocks_mhz": {"sm": SEEN, "sm_most": SEEN, "memory": SEEN},
        "slowdowns": ([TEXT], One((NOT_VISIBLE, "not supported"))), "temperature_c": SEEN,
        "power_w": (NUMBER, *SEEN), "power_limit_w": (NUMBER, *SEEN),
        "memory": {"total_bytes": SEEN, "used_bytes": SEEN, "own_bytes": SEEN},
        "processes": ({"own": COUNT, "run": COUNT, "others": COUNT}, One((NOT_VISIBLE,))), "processes_listed": SEEN,
    },
)  # fmt: skip

ROW = {  # of drift.json; what is measured on raw logits is null where there are none
    "engine": ENGINE, "against": One(("fresh", "frozen")), "request": TEXT, "question": TEXT,
    "type": One(("choice", "noul", "score")), "modality": One(("text", "image")), "reference_winner": TEXT, "winner": TEXT,
    "reference_margin": NUMBER, "probability_drift": NUMBER, "confidence_drift": NUMBER, "noul_drift": (NUMBER, None),
    "expected_drift": (NUMBER, None), "winner_same": FLAG, "tokens_same": FLAG, "shape_same": FLAG,
    "hidden_equal": (FLAG, None), "logits_equal": (FLAG, None), "max_steps": (NUMBER, None),
    "detectable_steps": (COUNT, None), "detectable_logit": (NUMBER, None), "room?": FLAG,
    "lattice": {"holds": FLAG, "exponent": (WHOLE, None)},
}  # fmt: skip
FIGURE = {
    "engine": TEXT, "workload": TEXT, "way": TEXT, "pass?": COUNT, "tokens": (COUNT, None), "samples": COUNT,
    "median_ms": NUMBER, "p95_ms": NUMBER, "min_ms": NUMBER, "max_ms": NUMBER, "speedup?": (NUMBER, None),
    "peak_gib": (NUMBER, None), "class": TEXT, "drift": (NUMBER, None), "device_median_ms?": (NUMBER, None),
    "cold_ms?": (NUMBER, None), "pool_gib?": NUMBER, "ratios?": Each({"ratio": NUMBER, "low": NUMBER, "high": NUMBER}),
}  # fmt: skip
MOVED = {"row": NUMBER, "steps": NUMBER}
SURENESS = [{"over": NUMBER, "to": NUMBER, "questions": COUNT, "confidence": NUMBER, "right": COUNT}]
RIGHT_ANSWERS = {  # of drift.json, where a profile is judged
    "requests": COUNT, "questions": COUNT,
    "passes": [{
        "engine": ENGINE, "pass": COUNT, "correct": COUNT, "of": COUNT, "requests_right": COUNT,
        "wrong": [{"request": TEXT, "question": TEXT, "expected": TEXT, "chosen": (TEXT, None), "margin": (NUMBER, None)}],
    }],
    "mcnemar": [{"engine": ENGINE, "against": ENGINE, "lost": COUNT, "won": COUNT, "p": (NUMBER, None)}],
    "reliability": [{"engine": ENGINE, "ece": NUMBER, "bins": SURENESS}],
}  # fmt: skip

SHAPES: Dict[str, Any] = {
    "run.json": {
        "format": TEXT, "id": Text(r"[\w.-]{1,100}"), "profile": TEXT, "profile_sha256": DIGEST, "protocol_sha256": DIGEST,
        "started_utc": UTC, "kit_version": TEXT,
    },
    "profile.json": {
        "format": TEXT, "name": TEXT, "claim": TEXT, "description": TEXT, "scope": TEXT, "not_covered": [TEXT],
        "campaign": {"engines": [ENGINE], "frontend": FLAG, "passes": COUNT, "reference": TEXT, "remote_url": TEXT},
        "checkpoint": {
            "adapter": TEXT, "adapter_revision": TEXT, "base": TEXT, "base_revision": TEXT, "digest": TEXT,
            "generator": TEXT, "kind": TEXT, "pins": TEXT, "seed": WHOLE,
        },
        "gates": Each(NUMBER), "generated?": {"questions": COUNT, "seed": COUNT, "source?": One(("composed", "held-out"))}, "graph": GRAPH,
        "limits": {"image_tokens": COUNT, "text_tokens": COUNT},
        "model": {"aliases": [TEXT], "name": TEXT},
        "protocol": {
            "answers?": TEXT, "frozen": FLAG, "frozen_steps?": COUNT, "judged?": FLAG, "least_right?": COUNT, "path": TEXT, "pins?": TEXT, "sha256": TEXT,
        },
        "runtime": {
            "device": One(("cpu", "cuda")), "dtype": One(("bfloat16", "float32", "float64")), "numerics": TEXT,
            "threads": COUNT,
        },
    },
    "environment.json": {
        "format": TEXT, "python": TEXT, "implementation?": TEXT, "unicodedata?": TEXT,
        "platform?": {"system": TEXT, "machine": TEXT, "libc": TEXT},
        "cpu?": {"model": (TEXT, None), "logical_cores": (COUNT, None), "instruction_sets": [TEXT]},
        "device?": {
            "kind": One(("cpu", "cuda")), "name?": TEXT, "count?": COUNT, "capability?": TEXT, "memory_bytes?": COUNT,
            "driver?": TEXT, "cuda?": (TEXT, None), "cudnn?": (COUNT, None),
        },
        "versions?": Each(TEXT),
        "packages": Each({
            "version?": TEXT, "status": One(("ok", "changed", "not checked", "absent")), "files?": COUNT, "reason?": TEXT,
            "changed?": [TEXT],
        }),
        "settings": SETTINGS,
        "autotune": {"source": TEXT, "digest": DIGEST, "winners": [WINNER]},
    },
    "checkpoint.json": {
        "format": TEXT, "kind": TEXT, "source": TEXT, "digest": TEXT, "files": Each(DIGEST),
        "tensors": {"base": Each(COUNT), "adapter": Each(COUNT)}, "weights_sum?": (DIGEST, None), "tokenizer": TEXT,
        "calibration": {"temperature": NUMBER, "mm_temperature": NUMBER, "threshold": (NUMBER, None)},
        "label_head": {"ids": [COUNT], "rows_sha256": DIGEST, "file": TEXT, "shape": [COUNT]},
    },
    "device.json": {
        "format": TEXT, "kind": One(("cpu", "cuda")), "before?": SNAPSHOT, "after?": SNAPSHOT,
        "verdict?": {"alone": TEXT, "problems": [TEXT], "unseen": [TEXT]},
    },
    "records/autotune.json": {
        "format": TEXT, "source": TEXT, "digest": DIGEST, "winners": [WINNER], "heads": (Each(COUNT), None),
        "lengths": [COUNT], "seconds": [NUMBER], "repeats": {"calls": COUNT, "lengths": COUNT, "different": COUNT},
        "origin": {"device": TEXT, "versions": Each((TEXT, None)), "environment": Each(TEXT)},
    },
    "sources.json": {"format": TEXT, "before": Each(DIGEST), "after": Each(DIGEST), "archive": TEXT, "archive_sha256": DIGEST},
    "counters.json": {
        "format": TEXT,
        "engines": {
            "reference?": {"counters": CACHE_COUNTERS}, "native?": {"counters": CACHE_COUNTERS},
            "remote?": {"counters": CACHE_COUNTERS},
            "graph?": {
                "counters": CACHE_COUNTERS, "phases": [ANY], "mismatches": Each([TEXT]),
                "ready": {"reported": (CACHE_COUNTERS, None), "predicted": CACHE_COUNTERS},
                "closed": {"reported": (CACHE_COUNTERS, None), "predicted": CACHE_COUNTERS},
            },
        },
    },
    "drift.json": {
        "format": TEXT, "rows": [ROW], "worst": Each(Each((NUMBER, None))), "missing?": [ANY], "accuracy?": RIGHT_ANSWERS,
    },
    "operators.json": {
        "format": TEXT, "device": TEXT, "dtype": TEXT, "seed": COUNT,
        "checks": [{
            "op": TEXT, "variant": TEXT, "against": TEXT, "shape": TEXT, "elements": COUNT, "different": WHOLE,
            "max_abs": NUMBER, "relative_l2": NUMBER, "nan": WHOLE, "repeats": COUNT, "repeats_different": WHOLE,
            "changed_different": WHOLE, "replays": COUNT, "replay_different": WHOLE, "replay_error?": TEXT,
        }],
        "totals": Each(WHOLE), "ops": [TEXT],
        "proofs": [{
            "op": TEXT, "key": TEXT, "choice": One(("kernel", "twin")), "elements": COUNT, "different": COUNT,
            "reason": TEXT,
        }],
    },
    "signal.json": {
        "format": TEXT, "checkpoint_digest": TEXT, "floor": TEXT, "summary": Each(ANY),
        "questions": [{
            "request": TEXT, "question": TEXT, "modality": TEXT, "tokens": COUNT, "probability": NUMBER,
            "logits": [NUMBER], "floor": MOVED, "swap": MOVED, "adapter": MOVED, "image?": MOVED,
        }],
    },
    "performance.json": {
        "format": TEXT, "profile": TEXT, "reference": (TEXT, None), "unit": TEXT, "notes": [TEXT],
        "start_seconds": Each((NUMBER, None)), "first_answer_seconds": Each((NUMBER, None)), "rows": [FIGURE],
        "measured?": Each(ANY),  # its own section has its shape
    },
    "verdict.json": {
        "format": TEXT, "verdict": One(("pass", "fail")), "profile": TEXT, "claim": TEXT, "run": TEXT, "scope": TEXT,
        "not_covered": [TEXT], "against": [TEXT], "max_probability_drift": (NUMBER, None), "drift": Each(Each((NUMBER, None))),
        "counts": {
            "requests": COUNT, "questions": COUNT, "posts": COUNT, "ok": COUNT, "rejected": COUNT, "by_engine": Each(COUNT),
        },
        "accuracy?": {"engine": ENGINE, "correct": COUNT, "of": COUNT, "requests_right": COUNT, "requests": COUNT},
        "gates": [{
            "gate": TEXT, "engine": (ENGINE, None), "against": (TEXT, None), "passed": FLAG, "value": (NUMBER, TEXT, None),
            "bound": (NUMBER, TEXT), "detail": TEXT,
        }],
        "failures": [TEXT],
    },
}  # fmt: skip
STAGE = {
    "format": TEXT, "stage": TEXT, "profile_sha256": DIGEST, "parameters": Each((TEXT, NUMBER, FLAG, [TEXT], None)),
    "result": Each(ANY), "sentinel": One((SENTINEL,)),
}  # fmt: skip
HEALTH = (Each((TEXT, NUMBER, FLAG, None)), None)
ENGINE_FACTS = {
    "format": TEXT, "engine": ENGINE, "health_before": HEALTH, "health_after": HEALTH, "health_after_refused": [HEALTH],
    "start_seconds": (NUMBER, None), "stopped": TEXT, "backend": TEXT, "describe": Each(ANY), "counters": CACHE_COUNTERS,
    "memory?": {"ready": MEMORY, "closed": MEMORY}, "error?": (TEXT, None),
}  # fmt: skip
EXCHANGE = {
    "n": COUNT, "target": One(("worker", "frontend")), "phase": TEXT, "pass": COUNT, "sequence": (COUNT, None),
    "request_id": TEXT, "modality": One(("text", "image")), "expect": COUNT, "status": COUNT, "request_sha256": DIGEST,
    "response_sha256": (DIGEST, None), "started_utc": TEXT, "finished_utc": TEXT, "started_ns": COUNT, "finished_ns": COUNT,
}  # fmt: skip
EVENT = {
    "sequence": (COUNT, None), "warmup": (One(("text", "image")), None), "grids": [[COUNT]], "key": TEXT,
    "action": One(("eager", "capture", "replay", "fallback")), "bytes": WHOLE, "pool": WHOLE,
}  # fmt: skip
WORKER = {
    "vision": {"kind": TEXT, **EVENT},
    "question": {
        "kind": TEXT, **EVENT, "question": TEXT, "index": COUNT, "type": TEXT, "candidates": [TEXT], "tokens": COUNT,
        "ms": NUMBER, "logits": HEX, "hidden": DIGEST,
    },
    "ready": {
        "kind": TEXT, "describe": Each(ANY), "counters": CACHE_COUNTERS, "memory?": MEMORY, "settings": SETTINGS,
        "load_seconds": NUMBER,
    },
    "post": {
        "kind": TEXT, "sequence": COUNT, "path": TEXT, "status": COUNT, "request_sha256": DIGEST,
        "response_sha256": (DIGEST, None), "input_tokens": (COUNT, None), "temperature": (NUMBER, None),
        "latency_ms": NUMBER, "timings_ms": Each(NUMBER), "counters": CACHE_COUNTERS,
    },
    "closed": {"kind": TEXT, "counters": CACHE_COUNTERS, "autotune?": AUTOTUNE_TOLD, "memory?": MEMORY},
}  # fmt: skip


def check_shapes(bundle: Bundle) -> None:
    """Every document and record has the keys it may have, each with a value of its kind."""
    for name, shape in SHAPES.items():
        if bundle.exists(name):
            hold(bundle, name, bundle.json(name), shape)
    for stage in bundle.stages():
        if bundle.exists("stages/%s.json" % stage):
            hold(bundle, "stages/%s.json" % stage, bundle.json("stages/%s.json" % stage), STAGE)
    for engine in bundle.engines:
        name = "records/%s/engine.json" % engine
        hold(bundle, name, bundle.json(name), ENGINE_FACTS)
        for line in bundle.exchanges(engine):
            hold(bundle, "records/%s/exchanges.jsonl n=%s" % (engine, short(line.get("n"))), line, EXCHANGE)
    unknown = {"kind": One(tuple(WORKER))}
    for engine in bundle.recorded_engines:
        for number, line in enumerate(bundle.worker(engine), 2):
            name = "records/%s/worker.jsonl line %d" % (engine, number)
            hold(bundle, name, line, WORKER.get(str(line.get("kind")), unknown))


def hold(bundle: Bundle, name: str, value: Any, shape: Any) -> bool:
    """Hold a value against its shape and name what is wrong; whether nothing was."""
    if conforms(value, shape):
        return True
    for count, (place, message) in enumerate(faults(value, shape)):
        if count == MOST_FAULTS:
            bundle.fail(name, "and more of this")
            break
        bundle.fail(name + place, message)
    return False


def conforms(value: Any, shape: Any) -> bool:
    """Whether a value is of its shape: what `faults` finds out, without the words."""
    kind = type(shape)
    if kind is dict:
        if not isinstance(value, dict):
            return False
        met = 0
        for key, one in shape.items():
            name = key[:-1] if key[-1] == "?" else key
            if name in value:
                met += 1
                if not conforms(value[name], one):
                    return False
            elif name is key:
                return False
        return met == len(value)
    if kind is tuple:
        return any(conforms(value, one) for one in shape)
    if kind is list:
        return isinstance(value, list) and all(conforms(item, shape[0]) for item in value)
    if kind is Each:
        return isinstance(value, dict) and all(conforms(item, shape.of) for item in value.values())
    return fits(value, shape)


def faults(value: Any, shape: Any, place: str = "") -> Iterator[Tuple[str, str]]:
    """(where in the document, what is wrong) of everything that is not of its shape."""
    if isinstance(shape, tuple) and type(shape) is tuple:
        tried = [list(faults(value, one, place)) for one in shape]
        if not any(not found for found in tried):
            yield from min(tried, key=lambda found: (sum(at == place for at, _ in found), len(found)))
    elif isinstance(shape, dict):
        yield from faults_of_object(value, shape, place)
    elif isinstance(shape, Each):
        if not isinstance(value, dict):
            yield place, "is %s, expected an object" % short(value)
        else:
            for key in value:
                yield from faults(value[key], shape.of, "%s %s" % (place, short(key)))
    elif isinstance(shape, list):
        if not isinstance(value, list):
            yield place, "is %s, expected a list" % short(value)
        else:
            for index, item in enumerate(value):
                yield from faults(item, shape[0], "%s [%d]" % (place, index))
    elif not fits(value, shape):
        yield place, "is %s, expected %s" % (short(value), wanted(shape))


def faults_of_object(value: Any, shape: Dict[str, Any], place: str) -> Iterator[Tuple[str, str]]:
    if not isinstance(value, dict):
        yield place, "is %s, expected an object" % short(value)
        return
    known = {key.rstrip("?"): key for key in shape}
    for key in value:
        if key not in known:
            yield "%s %s" % (place, short(key)), "is there, and nothing of that name belongs there"
    for name, key in known.items():
        if name in value:
            yield from faults(value[name], shape[key], "%s %s" % (place, name))
        elif not key.endswith("?"):
            yield "%s %s" % (place, name), "is missing"


def fits(value: Any, shape: Any) -> bool:
    """Whether a plain value is of its kind."""
    if isinstance(shape, Text):
        return isinstance(value, str) and re.fullmatch(shape.pattern, value) is not None
    if isinstance(shape, One):
        return any(value == one and type(value) is type(one) for one in shape.of)
    if shape in (COUNT, WHOLE):
        return type(value) is int and (shape == WHOLE or value >= 0)
    if shape == FLAG:
        return isinstance(value, bool)
    return shape == ANY or (value is None if shape is None else is_number(value))


def wanted(shape: Any) -> str:
    if isinstance(shape, Text):
        return "a text" if shape == TEXT else "a text like %s" % shape.pattern
    return "one of %s" % short(list(shape.of)) if isinstance(shape, One) else "null" if shape is None else str(shape)


# ---------------- described: What each engine says it is, against the profile, the checkpoint, the installed packages and the packed sources.

MODELING = "transformers.models.qwen3_5.modeling_qwen3_5."
MODEL_CLASS = MODELING + "Qwen3_5ForConditionalGeneration"
SCAN = "fla.ops.gated_delta_rule."
PIXELS = ("kit.model.pixels.patches", "transformers.models.qwen2_vl.image_processing_qwen2_vl.Qwen2VLImageProcessor")
FUNCTIONS = ("torch_chunk_gated_delta_rule", "torch_recurrent_gated_delta_rule", "causal_conv1d_fn", "causal_conv1d_update")
BACKENDS = {
    ("reference", "cpu"): "transformers", ("reference", "cuda"): "transformers", ("native", "cpu"): "eager",
    ("native", "cuda"): "eager", ("graph", "cpu"): "aten-replay", ("graph", "cuda"): "cuda-graph",
}  # fmt: skip
CLAIMS = {
    "aten-replay": "recorded ATen calls replayed from static buffers: shows that capture, keys, buffers and eviction are "
    "right, and says nothing about the speed of graphs",
    "cuda-graph": "CUDA graphs replayed from static buffers, one private memory pool a cache",
}
DISTRIBUTIONS = {
    "torch": ("torch",), "transformers": ("transformers",), "peft": ("peft",),
    "fla": ("flash-linear-attention", "fla-core"), "triton": ("triton",),
}  # fmt: skip
NEEDED = ("torch", "transformers", "peft")  # packages without which the official reference cannot run
IMPLEMENTATION = re.compile(r"([\w.]+)(?:, or ([\w.]+) where bits differ)?(?: \([^()]+\))?")

ANY_ENGINE = {
    "backend": TEXT, "checkpoint_digest": TEXT, "weights_sum": DIGEST, "dtype": TEXT, "device": TEXT,
    "autotune": AUTOTUNE_TOLD, "versions": Each((TEXT, None)),
}  # fmt: skip
NATIVE = {
    **ANY_ENGINE, "numerics": TEXT, "ops": Each(TEXT), "converted_tensors": Each((TEXT, COUNT)),
    "label_head": {
        "rows": COUNT, "of": COUNT,
        "trials": [{"rows": COUNT, "compared": COUNT, "cancelling": COUNT, "different": COUNT}],
    },
    "adapter": {"merged": FLAG, "dtype": TEXT, "tensors": COUNT, "rank": COUNT, "scale": NUMBER},
}  # fmt: skip
ENGINE_SHAPES: Dict[str, Any] = {
    "reference": {
        **ANY_ENGINE, "model_class": TEXT, "functions": Each(TEXT), "attention": Each(TEXT), "pixels": TEXT,
        "adapter": {
            "merged": FLAG, "layers": COUNT, "disabled": COUNT, "scales": [NUMBER], "dtypes": Each(COUNT), "tensors": COUNT,
        },
        "base_dtypes": Each(COUNT), "keys": Each([TEXT]), "load_warnings": [TEXT],
    },
    "native": NATIVE,
    "graph": {**NATIVE, "backend_claim": TEXT, "graph": GRAPH},
}  # fmt: skip


def check_described(bundle: Bundle) -> None:
    """Every engine was what the profile asks for, with the checkpoint's adapter unmerged and the libraries installed."""
    runtime = bundle.profile["runtime"]
    for engine in bundle.recorded_engines:
        where = "records/%s/engine.json" % engine
        facts = bundle.json(where)
        told = facts["describe"]
        if not hold(bundle, "%s describe" % where, told, ENGINE_SHAPES[engine]):
            continue
        backend = BACKENDS[engine, runtime["device"]]
        for name in ("dtype", "device", "numerics"):
            if name in told:
                bundle.expect("%s %s" % (where, name), told[name], runtime[name])
        bundle.expect("%s backend" % where, [told["backend"], facts["backend"]], [backend, backend])
        compare_versions(bundle, where, told["versions"])
        compare_adapter(bundle, where, told["adapter"])
        (compare_reference if engine == "reference" else compare_native)(bundle, where, told)
    same_in_both(bundle)


def compare_versions(bundle: Bundle, where: str, versions: Json) -> None:
    """An engine's libraries are the installed ones; a build may carry a local mark behind a plus."""
    installed = bundle.json("environment.json").get("versions", {})
    for name, version in versions.items():
        wanted = installed.get(name)
        if version != wanted and (version or "").partition("+")[0] != wanted:
            bundle.fail("%s versions %s" % (where, name), "is %s, environment.json has %s" % (short(version), short(wanted)))


def compare_adapter(bundle: Bundle, where: str, adapter: Json) -> None:
    """Unmerged, enabled, with every tensor that the checkpoint lists."""
    counts = bundle.json("checkpoint.json")["tensors"]["adapter"]
    bundle.expect("%s adapter merged" % where, adapter["merged"], False)
    bundle.expect("%s adapter disabled" % where, adapter.get("disabled", 0), 0)
    bundle.expect("%s adapter tensors" % where, adapter["tensors"], sum(counts.values()))
    kinds = {NUMBER_TYPES.get(name, name): count for name, count in counts.items()}
    told = adapter["dtypes"] if "dtypes" in adapter else {adapter["dtype"]: adapter["tensors"]} if adapter["tensors"] else {}
    bundle.expect("%s adapter dtypes" % where, told, kinds)
    if "layers" in adapter:
        bundle.expect("%s adapter layers" % where, 2 * adapter["layers"], adapter["tensors"])


def compare_reference(bundle: Bundle, where: str, told: Json) -> None:
    """The official model class with all of its checkpoint, and the functions its device and packages give it."""
    bundle.expect("%s model_class" % where, told["model_class"], MODEL_CLASS)
    bundle.expect("%s attention" % where, told["attention"], {"text": "sdpa", "vision": "sdpa"})
    if told["pixels"] not in PIXELS:
        bundle.fail("%s pixels" % where, "is %s, expected one of %s" % (short(told["pixels"]), short(PIXELS)))
    if sorted(told["functions"]) != sorted(FUNCTIONS):
        bundle.fail("%s functions" % where, "are of %s, expected %s" % (sorted(told["functions"]), sorted(FUNCTIONS)))
    fused = on_fla(bundle)
    for name, function in told["functions"].items():
        own = fused and name.startswith("torch_")
        if not function.startswith(SCAN if own else ("transformers.", "causal_conv1d.")):
            bundle.fail("%s functions %s" % (where, name), "is %s on this device with these packages" % short(function))
    missed = {name: found for name, found in told["keys"].items() if found}
    bundle.expect("%s keys that the checkpoint lacks or has too many" % where, missed, {})
    if bundle.profile["checkpoint"]["kind"] == "synthetic":
        counts = bundle.json("checkpoint.json")["tensors"]["base"]
        kinds = {NUMBER_TYPES.get(name, name): count for name, count in counts.items()}
        bundle.expect("%s base_dtypes" % where, told["base_dtypes"], kinds)
        bundle.expect("%s load_warnings" % where, told["load_warnings"], [])


def on_fla(bundle: Bundle) -> bool:
    """Whether the reference's scan is FLA's: on a GPU, where it is installed."""
    package = bundle.json("environment.json")["packages"].get("fla", {})
    return bool(bundle.profile["runtime"]["device"] == "cuda") and package.get("status", "absent") != "absent"


def compare_native(bundle: Bundle, where: str, told: Json) -> None:
    """Every op of the packed table, each a function of the packed sources, and a label head that proved its bits."""
    table = ops_of_table(bundle)
    if table is not None:
        bundle.expect("%s ops" % where, sorted(told["ops"]), sorted(table))
    for op, text in told["ops"].items():
        for name in implementations(text):
            if not is_packed(bundle, name) and not (on_fla(bundle) and name.startswith(SCAN)):
                bundle.fail("%s ops %s" % (where, op), "is %s, which is no function of the packed sources" % short(text))
            if bundle.profile["runtime"]["device"] == "cpu" and "_kernel." in name:
                bundle.fail("%s ops %s" % (where, op), "is %s, a kernel for a GPU, on a CPU" % short(text))
    head = told["label_head"]
    trials = head["trials"]
    if not trials or trials[-1]["rows"] != head["rows"] or trials[-1]["different"] or not trials[-1]["compared"]:
        bundle.fail("%s label_head" % where, "multiplies %s rows, which no trial shows to give equal bits" % head["rows"])
    if not LABELS <= head["rows"] <= head["of"] or [trial["rows"] for trial in trials] != sorted(
        {trial["rows"] for trial in trials}
    ):
        bundle.fail("%s label_head" % where, "tried %s of %s rows" % ([trial["rows"] for trial in trials], head["of"]))
    if "graph" in told:
        bundle.expect("%s graph" % where, told["graph"], bundle.profile["graph"])
        bundle.expect("%s backend_claim" % where, told["backend_claim"], CLAIMS[told["backend"]])


def implementations(text: str) -> List[str]:
    """Functions that an op runs, in words as the op table describes them."""
    match = IMPLEMENTATION.fullmatch(text)
    return [name for name in match.groups() if name] if match else [text]


def is_packed(bundle: Bundle, name: str) -> bool:
    """Whether a dotted name is a function or class at the top of a packed source file."""
    module, _, function = name.rpartition(".")
    source = bundle.sources().get(module.replace(".", "/") + ".py", b"")
    starts = [b"\n%s %s%s" % (kind, function.encode(), end) for kind in (b"def", b"class") for end in (b"(", b":")]
    return any(start in b"\n" + source for start in starts)


def same_in_both(bundle: Bundle) -> None:
    """Native and graph are one model: the same ops, head and adapter; the reference scales its adapter alike."""
    told = {name: bundle.json("records/%s/engine.json" % name)["describe"] for name in bundle.recorded_engines}
    if "native" in told and "graph" in told:
        for name in ("ops", "label_head", "adapter", "converted_tensors", "versions"):
            bundle.expect("records/graph/engine.json %s" % name, told["graph"].get(name), told["native"].get(name))
    for engine in ("native", "graph"):
        if engine in told and "reference" in told and told["reference"].get("adapter", {}).get("scales"):
            scales = [told[engine].get("adapter", {}).get("scale")]
            where = "records/%s/engine.json adapter scale, against the reference's" % engine
            bundle.expect(where, scales, told["reference"]["adapter"]["scales"])


def check_installed(bundle: Bundle) -> None:
    """A package is absent only where no distribution of it is listed; the device is the profile's."""
    document = bundle.json("environment.json")
    versions = document.get("versions", {})
    if bundle.recorded_engines:
        bundle.expect("environment.json device kind", document["device"]["kind"], bundle.profile["runtime"]["device"])
        bundle.expect("environment.json packages", sorted(document["packages"]), sorted(DISTRIBUTIONS))
    for name, package in document["packages"].items():
        where = "environment.json packages %s" % name
        listed = [versions[d] for d in DISTRIBUTIONS.get(name, ()) if d in versions]
        if package["status"] == "absent":
            if listed:
                bundle.fail(where, "is absent, and yet version %s is installed" % short(listed[0]))
            if name in NEEDED and "reference" in bundle.recorded_engines:
                bundle.fail(where, "is absent, and the reference cannot have run without it")
        else:
            bundle.expect("%s version" % where, package.get("version"), listed[0] if listed else None)
        if package["status"] == "ok" and not package.get("files", 0) > 0:
            bundle.fail(where, "is ok, and no file of it was looked at")


# ---------------- device: One sound device, and nobody else's during the run; what its driver refused to say is said.

FOREIGN_BYTES = 1 << 30  # device memory that may be in use beyond what a run took itself


def check_device(bundle: Bundle) -> None:
    """A GPU run had its device to itself, and it was one sound device throughout; what was not shown is said."""
    if not bundle.recorded_engines:
        return  # a remote server computes elsewhere
    document, kind = bundle.json("device.json"), bundle.profile["runtime"]["device"]
    bundle.expect("device.json kind", document["kind"], kind)
    if kind != "cuda":
        return
    before, after = document["before"], document["after"]
    problems, unseen = [], []
    for when, seen in (("before", before), ("after", after)):
        found = (
            device_findings(seen) if seen["visible"] is True else ([], ["the device (%s)" % seen["reason"]])
        )
        problems += ["%s: %s" % (when, text) for text in found[0]]
        unseen += ["%s: %s" % (when, text) for text in found[1]]
    if before["visible"] is True and after["visible"] is True:
        problems += device_changes(before, after)
        driver = bundle.json("environment.json").get("device", {}).get("driver")
        if driver and NOT_VISIBLE not in (driver, before["driver"]):
            bundle.expect("device.json driver, against environment.json", before["driver"], driver)
    if not before["taken_utc"] < after["taken_utc"]:
        bundle.fail("device.json", "its second snapshot is not later than its first")
    for text in problems:
        bundle.fail("device.json", text)
    for text in unseen:
        bundle.leave("device, %s: not visible" % text)
    alone = "no" if problems else NOT_VISIBLE if unseen else "yes"
    told = document["verdict"]
    bundle.expect("device.json verdict", told["alone"], alone)
    bundle.expect("device.json verdict problems", len(told["problems"]), len(problems))
    bundle.expect("device.json verdict unseen", told["unseen"], unseen)
    compare_with_environment(bundle, document)


def compare_with_environment(bundle: Bundle, document: Json) -> None:
    """The device is the one the libraries saw, and visible wherever else the run looked at it."""
    facts = bundle.json("environment.json").get("device", {})
    for when in ("before", "after"):
        seen = document[when]
        if seen["visible"] is not True:
            if any(isinstance(start, int) for start in drilled_memory(bundle)):
                bundle.fail("device.json %s" % when, "was not visible, and yet drills saw its memory")
            continue
        for name in ("name", "capability"):
            bundle.expect("device.json %s %s, against environment.json" % (when, name), seen[name], facts.get(name, seen[name]))
        memory = seen["memory"]
        if all(isinstance(memory[name], int) for name in memory) and not memory["own_bytes"] <= memory["used_bytes"] <= memory["total_bytes"]:
            bundle.fail("device.json %s memory" % when, "is %s, expected own, used and total in that order" % short(memory))
        processes, listed = seen["processes"], seen["processes_listed"]
        if isinstance(processes, dict) and isinstance(listed, int):
            bundle.expect("device.json %s processes" % when, sum(processes.values()), listed)


def drilled_memory(bundle: Bundle) -> List[Any]:
    """Device memory that drills saw, or what stands in its place."""
    if not bundle.native or not bundle.exists("records/drills.jsonl"):
        return []
    told = [line["observed"].get("memory") for line in bundle.jsonl("records/drills.jsonl")[1:]]
    return [memory.get("start_bytes") for memory in told if isinstance(memory, dict)]


def device_findings(seen: Json) -> Tuple[List[str], List[str]]:
    """What speaks against one snapshot of the device, and what it could not see."""
    problems, unseen = [], []
    processes, memory = seen["processes"], seen["memory"]
    if processes == NOT_VISIBLE:
        unseen.append("processes")
    elif processes["others"] != 0 or processes["own"] != 1:
        problems.append("%s processes of others are on the device" % processes["others"])
    if not isinstance(memory["used_bytes"], int):
        unseen.append("memory")
    elif memory["used_bytes"] - memory["own_bytes"] > FOREIGN_BYTES:
        problems.append("%d bytes are taken by others" % (memory["used_bytes"] - memory["own_bytes"]))
    if seen["mig"] not in ("off", "not supported", NOT_VISIBLE):
        problems.append("MIG is %s" % seen["mig"])
    unseen += ["mig"] if seen["mig"] == NOT_VISIBLE else []
    unseen += [] if isinstance(seen["ecc_uncorrected"], int) else ["ecc_uncorrected"]
    return problems, unseen


def device_changes(before: Json, after: Json) -> List[str]:
    names = ("name", "uuid_sha256", "driver", "cuda_driver")
    problems = ["%s changed from %s to %s" % (n, before[n], after[n]) for n in names if before[n] != after[n]]
    old, new = before["ecc_uncorrected"], after["ecc_uncorrected"]
    if isinstance(old, int) and isinstance(new, int) and new > old:
        problems.append("%d uncorrected memory errors during the run" % (new - old))
    return problems


# ---------------- diagnosis: What a failed engine's answers resemble (diagnosis.json): only where a gate failed, and its distances follow.

DIAGNOSIS = "diagnosis.json"
PLAIN_FORM = "plain"
ALIKE = 1e-9  # logits: two computations of one difference of logarithms
FAINTEST = 1e-9  # a candidate's share of the winner's probability, below which it is not compared

Sides = Dict[Tuple[str, str], Tuple[str, List[int], List[float]]]


def check_diagnosis(bundle: Bundle) -> None:
    """A diagnosis stands only beside a failed gate, names engines of this run, and its distances are those of their answers.

    The library itself, what the reference answers with one thing changed, is taken as it stands: it takes the model.
    """
    if not bundle.exists(DIAGNOSIS):
        return
    document = bundle.json(DIAGNOSIS)
    gates = bundle.json("verdict.json")["gates"]
    failed = {gate["engine"] for gate in gates if gate["passed"] is not True and gate["engine"] and gate["gate"] != "accuracy"}
    if not failed - {bundle.reference}:
        bundle.fail(DIAGNOSIS, "stands in a bundle of which no engine failed a gate")
    for engine in document["engines"]:
        if engine not in failed:
            bundle.fail("%s %s" % (DIAGNOSIS, short(engine)), "is no engine of this run that failed a gate")
    if document["made"] is not True:
        bundle.leave("%s (not made: %s)" % (DIAGNOSIS, short(document.get("reason"))))
        return
    if bundle.exists("checkpoint.json"):  # a run of a remote engine alone has none
        digest = bundle.json("checkpoint.json")["digest"]
        bundle.expect("%s checkpoint_digest" % DIAGNOSIS, document["checkpoint_digest"], digest)
        bundle.expect("%s temperatures" % DIAGNOSIS, document["temperatures"], bundle.temperatures())
    for engine in document["engines"]:
        if engine in bundle.engines:
            compare_distances(bundle, document, engine)
    bundle.leave("the library of %s (what the reference answers with one thing changed)" % DIAGNOSIS)


def compare_distances(bundle: Bundle, document: Json, engine: str) -> None:
    """Every row of an engine, computed again from its recorded answers."""
    entry, at, sides = document["engines"][engine], "%s %s" % (DIAGNOSIS, engine), diagnosed(bundle, engine)
    bundle.expect("%s questions" % at, entry["questions"], len(sides))
    for row in entry["matches"]:
        where = "%s %s/%s" % (at, short(row["form"]), short(row["rule"]))
        distance, equal = distance_of(document, sides, row)
        if not is_number(row["distance"]) or abs(row["distance"] - distance) > ALIKE * max(1.0, distance):
            bundle.fail("%s distance" % where, "is %s, recomputed %s" % (short(row["distance"]), distance))
        bundle.expect("%s equal" % where, row["equal"], equal)
    for name in ("nearest", "plain"):
        if entry[name] not in entry["matches"]:
            bundle.fail("%s %s" % (at, name), "is none of its own rows")
    bundle.expect("%s plain form" % at, entry["plain"]["form"], PLAIN_FORM)
    told = document["forms"].get(entry["nearest"]["form"], "")
    if not entry["words"].startswith(("%s answers" % engine, "nothing in the library explains %s" % engine)):
        bundle.fail("%s words" % at, "do not name the engine")
    if entry["outcome"] == "explained" and told not in entry["words"]:
        bundle.fail("%s words" % at, "do not say %s" % short(told))


def diagnosed(bundle: Bundle, engine: str) -> Sides:
    """(request, question) -> modality, candidates that can be compared, their centred log-probabilities."""
    found: Sides = {}
    for line in bundle.exchanges(engine):
        if (line["phase"], line["pass"], line["status"]) != ("measured", 1, 200):
            continue
        for question, answer in bundle.body(line["response_sha256"])["answers"].items():
            p = list(answer["probabilities"].values())
            usable = [i for i, value in enumerate(p) if value > 0 and value >= FAINTEST * max(p)]
            if len(usable) > 1:
                logs = centred([math.log(p[i]) for i in usable])
                found[line["request_id"], question] = (line["modality"], usable, logs)
    return found


def distance_of(document: Json, sides: Sides, row: Json) -> Tuple[float, int]:
    """Root mean square in logits at the declared temperature, and how many questions show no difference."""
    library, declared, used = document["library"], document["temperatures"], row["temperatures"]
    total, equal, values = 0.0, 0, 0
    for (request, question), (modality, usable, logs) in sides.items():
        plain = library[PLAIN_FORM][request][question]
        logits = library[row["form"]].get(request, {}).get(question, plain)
        scale = declared[modality] / used[modality]
        pairs = zip(logs, centred([logits[i] for i in usable]))
        squares = math.fsum((declared[modality] * log - scale * logit) ** 2 for log, logit in pairs)
        total, values = total + squares, values + len(usable)
        equal += squares <= ALIKE**2 * len(usable)
    return math.sqrt(total / values), equal


def centred(values: Sequence[float]) -> List[float]:
    mean = math.fsum(values) / len(values)
    return [value - mean for value in values]


# ---------------- draws: Several draws compared, where a run holds such a comparison.

def check_draws(bundle: Bundle) -> None:
    """Where several draws were compared: native equals the reference in each, and the summary follows from the rows."""
    if not bundle.exists(DRAWS):
        return
    document, run = bundle.json(DRAWS), bundle.json("run.json")
    for name in ("profile_sha256", "protocol_sha256"):
        bundle.expect("%s %s" % (DRAWS, name), document[name], run[name])
    sources = digest_of(bundle.json("sources.json")["before"])
    bundle.expect("%s sources_sha256" % DRAWS, document["sources_sha256"], sources)
    digest = bundle.json("checkpoint.json")["digest"]
    bundle.expect("%s checkpoint_digest" % DRAWS, document["checkpoint_digest"], digest)
    bundle.expect("%s temperatures" % DRAWS, document["temperatures"], bundle.temperatures())
    draws = document["draws"]
    if not draws or not draws[0]["rows"]:
        bundle.fail(DRAWS, "compares nothing")
        return
    asked = [
        (case["id"], name, case["modality"])
        for case in bundle.corpus()
        for name in case["request"]["questions"]
    ]
    for number, draw in enumerate(draws, 1):
        where = "%s draw %d" % (DRAWS, number)
        checked_winners(bundle, where, draw)
        rows = [(row["request"], row["question"], row["modality"]) for row in draw["rows"]]
        requests = {row[0] for row in rows}
        bundle.expect("%s questions" % where, rows, [item for item in asked if item[0] in requests])
        if rows != [(row["request"], row["question"], row["modality"]) for row in draws[0]["rows"]]:
            bundle.fail(where, "asks other questions than the first draw")
    if not document["repeats"] or any(repeat["calls"] < 2 for repeat in document["repeats"]):
        bundle.fail("%s repeats" % DRAWS, "repeats nothing")
    expected = draws_summary(document)
    told = document["summary"]
    pairs = [
        dict(summary, between=[pair["draws"] for pair in summary["between"]]) for summary in (told, expected)
    ]
    compare_figures(bundle, "%s summary" % DRAWS, *pairs)
    for one, two in zip(told["between"], expected["between"]):
        compare_figures(bundle, "%s summary between %s" % (DRAWS, two["draws"]), one, two)
    if bundle.profile["claim"] == "exact":
        for name in ("native_different", "repeats_different", "late"):
            found = expected[name]
            if any(found) if isinstance(found, list) else found:
                bundle.fail("%s %s" % (DRAWS, name), "is %s, an exact claim allows none" % short(found))


def draws_summary(document: Json) -> Json:
    """What draws.json must say its draws differ by."""
    draws = document["draws"]
    choices: Dict[str, set[str]] = {}
    for draw in draws:
        for kernel in {winner["kernel"] for winner in draw["winners"]}:
            mine = [[w["key"], w["config"]] for w in draw["winners"] if w["kernel"] == kernel]
            choices.setdefault(kernel, set()).add(json.dumps(mine, sort_keys=True))
    return {
        "draws": len(draws),
        "distinct": len({draw["digest"] for draw in draws}),
        "questions": len(draws[0]["rows"]),
        "native_different": [sum(row["native"] != row["reference"] for row in draw["rows"]) for draw in draws],
        "late": sum(len(draw["late"]) for draw in draws),
        "repeats_different": sum(repeat["different"] for repeat in document["repeats"]),
        "kernels": {name: len(found) for name, found in sorted(choices.items()) if len(found) > 1},
        "between": [
            dict(between(draws[a]["rows"], draws[b]["rows"], document["temperatures"]), draws=[a + 1, b + 1])
            for a in range(len(draws)) for b in range(a + 1, len(draws))
        ],
    }  # fmt: skip


def between(one: List[Json], two: List[Json], temperatures: Json) -> Json:
    """How far the reference's rows under two draws are apart."""
    found: Json = {"hidden": 0, "logits": 0, "flips": 0, "max_steps": 0.0, "max_probability": 0.0}
    for a, b in zip(one, two):
        x, y = floats(a["reference"]["logits"]), floats(b["reference"]["logits"])
        p, q = (softmax(values, temperatures[a["modality"]]) for values in (x, y))
        found["hidden"] += a["reference"]["hidden"] != b["reference"]["hidden"]
        found["logits"] += x != y
        found["flips"] += x.index(max(x)) != y.index(max(y))
        found["max_steps"] = max(found["max_steps"], steps(x, y))
        found["max_probability"] = max(found["max_probability"], *(abs(m - n) for m, n in zip(p, q)))
    return found


# ---------------- drills: Every drill there must be ended as it must, and what was seen of it says the same.

RECORD = "records/drills.jsonl"
LINE = {"drill": TEXT, "checks": Each(FLAG), "observed": Each(ANY), "passed": FLAG}
RETURN_BYTES = 64 << 20  # device memory that may stay taken when a worker has ended
KEPT_BYTES = 256 << 20  # and when an engine in the same process has
NOT_ON_A_GPU = "not on a GPU"
REFUSED = {
    "an image must be valid base64": 422, "a request carries at most four images": 422, "not JSON": 422, "cut off": 422,
    "a number that is none": 422, "a key twice": 422, "no question": 422, "a type nobody knows": 422,
    "more tokens than a question may have": 422, "more bytes than a body may have": 413,
}  # fmt: skip
COPIES = 64  # of a question, in a request that takes long
IN_FLIGHT = 8  # requests at once when a worker is killed
REQUESTS_AROUND_A_CLEARING = 16  # one that is compared, one more, three clients with four, two afterwards
PLACES = (("first layer", True), ("final norm", True), ("vision tower", False), ("adapter", True))  # and whether text passes
GONE = ("the process is gone", "the port is closed")
FREE_AGAIN = "its device memory is free again"
CLEARED = (
    "an answer from a graph is the same", "the long request is answered", "every answer under load is the same",
    "so are answers afterwards", "graphs were replayed before", "the text cache was emptied",
    "graphs were captured and replayed again", "every event is the one the policy gives",
)  # fmt: skip
POISONED = (
    "a healthy engine answers", "a poisoned one is no answer but 503", "from then on everything is refused",
    "health says so",
)  # fmt: skip
LEFT = ("the worker is READY", "the next client gets the same answer")
MEMORY_SHAPE = {
    "start_bytes": (COUNT, None), "end_bytes": (COUNT, None), "tolerance_bytes": COUNT, "waited_s": NUMBER,
    "back": (FLAG, One((NOT_VISIBLE,))),
}  # fmt: skip
CLEARING = {
    "key": TEXT, "tokens_that_emptied_it": COUNT, "before": [TEXT], "after": [TEXT], "counters": CACHE_COUNTERS,
}  # fmt: skip


def check_drills(bundle: Bundle) -> None:
    """Every drill there must be was run and ended as it must; on a GPU its memory came back, by the figures."""
    if not bundle.native:
        return
    engine = "graph" if "graph" in bundle.engines else "native"
    header, *lines = bundle.jsonl(RECORD)
    run = bundle.json("run.json")["id"]
    bundle.expect("%s header" % RECORD, header, {"format": "kit-drills/1", "engine": engine, "run": run})
    bundle.expect("%s drills" % RECORD, [line.get("drill") for line in lines], drills_of(bundle, engine))
    for line in lines:
        where = "%s %s" % (RECORD, line.get("drill"))
        if not hold(bundle, where, line, LINE):
            continue
        missed = [name for name, kept in line["checks"].items() if kept is not True]
        if missed or not line["checks"] or line["passed"] is not True:
            bundle.fail(where, "failed: %s" % ", ".join(missed))
        if line["drill"] in OBSERVED:
            bundle.expect("%s expectations" % where, list(line["checks"]), expectations(bundle, line))
            OBSERVED[line["drill"]](bundle, "%s observed" % where, line["observed"])


def drills_of(bundle: Bundle, engine: str) -> List[str]:
    """Names of the drills of this profile and protocol, in order."""
    graph, limits = bundle.profile["graph"], bundle.profile["limits"]
    cached = graph["text"]["entries"] > 0 and graph["text"]["megabytes"] > 0
    clears = engine == "graph" and cached and graph["scratch_tokens"] + 64 <= limits["text_tokens"]
    return [
        "refused-between-answers", "client-leaves-in-mid-body", "client-leaves-while-waiting", "killed-worker",
        *(["graph-cache-cleared"] if clears else []),
        "stopped-worker",
        *(["not-finite-pixels"] if "image" in modalities(bundle) else []),
        "not-finite-weights", "not-finite-served",
        *(["closed-engine"] if on_gpu(bundle) else []),
    ]  # fmt: skip


def modalities(bundle: Bundle) -> List[str]:
    """Kinds of request the protocol has, text first."""
    return [kind for kind in ("text", "image") if any(case["modality"] == kind for case in bundle.corpus())]


def on_gpu(bundle: Bundle) -> bool:
    return bool(bundle.profile["runtime"]["device"] == "cuda")


def expectations(bundle: Bundle, line: Json) -> List[str]:
    """Names of what a drill had to show, in order."""
    memory = line["observed"].get("memory")
    free = [FREE_AGAIN] if isinstance(memory, dict) and memory.get("back") != NOT_VISIBLE else []
    fixed: Dict[str, List[str]] = {
        "refused-between-answers": [
            "%s: %s" % (rule, end) for rule in REFUSED for end in ("refused", "the next answer is the same")
        ],
        "client-leaves-in-mid-body": [*LEFT],
        "client-leaves-while-waiting": [*LEFT],
        "killed-worker": [
            "the request was in flight", "the client saw a broken connection", *GONE, *free, "a new worker is READY",
            "it gives the same answer",
        ],
        "graph-cache-cleared": [*CLEARED],
        "stopped-worker": ["the worker is READY until it is stopped", *GONE, "it stopped in order", *free],
        "not-finite-pixels": [
            "%s: %s" % (value, end) for value in ("NaN", "infinity")
            for end in ("reported", "the next image gives its old bits")
        ],
        "not-finite-weights": [
            name for place in poisoned_places(bundle) for name in [
                *("%s, %s: reported" % place_and_kind for place_and_kind in kinds_of(bundle, place)),
                *("%s: healed, the %s gives its old bits" % (place[0], kind) for kind in modalities(bundle)),
            ]
        ],
        "not-finite-served": [*POISONED],
        "closed-engine": ["the weights have left the device"],
    }  # fmt: skip
    return fixed[line["drill"]]


def poisoned_places(bundle: Bundle) -> List[Tuple[str, bool]]:
    """Parts of the model that get a value that is not finite; the adapter, where there is one."""
    adapted = sum(bundle.json("checkpoint.json")["tensors"]["adapter"].values()) > 0
    return [place for place in PLACES if place[0] != "adapter" or adapted]


def kinds_of(bundle: Bundle, place: Tuple[str, bool]) -> List[Tuple[str, str]]:
    """(part of the model, kind of request) of the requests that pass through it."""
    return [(place[0], kind) for kind in modalities(bundle) if kind == "image" or place[1]]


# what was seen


def see_refusals(bundle: Bundle, where: str, seen: Json) -> None:
    bundle.expect("%s requests" % where, list(seen), list(REFUSED))
    for rule, status in REFUSED.items():
        told = seen.get(rule)
        if not isinstance(told, dict) or sorted(told) != ["said", "status"]:
            bundle.fail("%s %s" % (where, rule), "is %s, expected a status and what was said" % short(told))
        else:
            bundle.expect("%s %s status" % (where, rule), told["status"], status)
            if not isinstance(told["said"], str) or not 0 < len(told["said"]) <= 400:
                bundle.fail("%s %s said" % (where, rule), "is %s, expected a reason" % short(told["said"]))


def first_text(bundle: Bundle) -> Json:
    """The request that drills repeat: the first of text, or of any kind."""
    cases: List[Json] = bundle.corpus()
    request: Json = next((case for case in cases if case["modality"] == "text"), cases[0])["request"]
    return request


def body_of(request: Json) -> bytes:
    return json.dumps(request, ensure_ascii=False, separators=(",", ":")).encode()


def see_leaving_early(bundle: Bundle, where: str, seen: Json) -> None:
    bundle.expect(where, seen, {"bytes_sent": len(body_of(first_text(bundle))) // 2})


def see_leaving_late(bundle: Bundle, where: str, seen: Json) -> None:
    request = first_text(bundle)
    question = next(iter(request["questions"].values()))
    slow = dict(request, questions={"copy-%02d" % number: question for number in range(COPIES)})
    bundle.expect(where, seen, {"bytes_sent": len(body_of(slow))})


def see_killing(bundle: Bundle, where: str, seen: Json) -> None:
    if not hold(bundle, where, seen, {"clients": [TEXT], "memory": ANY}):
        return
    broken = [outcome for outcome in seen["clients"] if outcome.startswith("transport error (")]
    others = [outcome for outcome in seen["clients"] if outcome not in broken and not outcome.startswith("status ")]
    if len(seen["clients"]) != IN_FLIGHT or not broken or others:
        message = "are %s, expected %d with at least one transport error"
        bundle.fail("%s clients" % where, message % (short(seen["clients"]), IN_FLIGHT))
    see_memory(bundle, "%s memory" % where, seen["memory"])


def see_stopping(bundle: Bundle, where: str, seen: Json) -> None:
    if hold(bundle, where, seen, {"memory": ANY}):
        see_memory(bundle, "%s memory" % where, seen["memory"])


def see_memory(bundle: Bundle, where: str, memory: Any) -> None:
    """Device memory before a worker started and after it had gone."""
    if not on_gpu(bundle):
        bundle.expect(where, memory, NOT_ON_A_GPU)
    elif hold(bundle, where, memory, MEMORY_SHAPE):
        start, end = memory["start_bytes"], memory["end_bytes"]
        visible = start is not None and end is not None
        back = end <= start + RETURN_BYTES if visible else NOT_VISIBLE
        bundle.expect("%s tolerance_bytes" % where, memory["tolerance_bytes"], RETURN_BYTES)
        bundle.expect("%s back" % where, memory["back"], back)
        if not visible:
            bundle.leave("device memory after a worker has gone: not visible")
        elif not back:
            bundle.fail(where, "%d bytes of device memory did not come back" % (end - start))


def see_clearing(bundle: Bundle, where: str, seen: Json) -> None:
    if not hold(bundle, where, seen, CLEARING) or not hold(bundle, "%s counters" % where, seen["counters"], CACHE_COUNTERS[1]):
        return
    before, after, text = seen["before"], seen["after"], seen["counters"]["text"]
    case = next(case for case in bundle.corpus() if case["modality"] == modalities(bundle)[0])
    name = next(iter(case["request"]["questions"]))
    if case["modality"] == "text":
        bundle.expect("%s key" % where, seen["key"], "text:%d" % tokens_of(bundle, case["id"], name))
    if not seen["tokens_that_emptied_it"] > bundle.profile["graph"]["scratch_tokens"]:
        bundle.fail("%s tokens_that_emptied_it" % where, "is %d, which the caches had room for" % seen["tokens_that_emptied_it"])
    if len(case["request"]["questions"]) == 1:
        events = before + after
        bundle.expect("%s events of that key" % where, len(events), REQUESTS_AROUND_A_CLEARING)
        bundle.expect("%s replays" % where, text["replays"], events.count("replay"))
        if text["captures"] <= events.count("capture"):
            bundle.fail("%s captures" % where, "are %d, expected more than those of one key" % text["captures"])
    for part, events in (("before", before), ("after", after)):
        if events != ["capture"] + ["replay"] * (len(events) - 1) or len(events) < 2:
            bundle.fail("%s %s" % (where, part), "is %s, expected a capture and replays" % short(events))
    if not text["invalidations"] > 0:
        bundle.fail("%s counters" % where, "count no graph that was dropped")


def tokens_of(bundle: Bundle, request: str, question: str) -> int:
    """Tokens of a question, as the graph engine recorded them."""
    sequences = [line["sequence"] for line in bundle.exchanges("graph") if line["request_id"] == request]
    lines = bundle.post("graph", sequences[0]).questions
    return int(next(line["tokens"] for line in lines if line["question"] == question))


def see_errors(bundle: Bundle, where: str, seen: Json) -> None:
    for name, said in seen.items():
        if not isinstance(said, str) or not said.startswith("error: "):
            bundle.fail("%s %s" % (where, short(name)), "is %s, expected an error" % short(said))


def see_pixels(bundle: Bundle, where: str, seen: Json) -> None:
    bundle.expect("%s values" % where, list(seen), ["NaN", "infinity"])
    see_errors(bundle, where, seen)


def see_weights(bundle: Bundle, where: str, seen: Json) -> None:
    wanted = ["%s, %s" % pair for place in poisoned_places(bundle) for pair in kinds_of(bundle, place)]
    bundle.expect("%s places" % where, list(seen), wanted)
    see_errors(bundle, where, seen)


def see_serving(bundle: Bundle, where: str, seen: Json) -> None:
    bundle.expect(where, seen, {"statuses": [200, 503, 503]})


def see_closing(bundle: Bundle, where: str, seen: Json) -> None:
    if hold(bundle, where, seen, {"kept_bytes": WHOLE, "tolerance_bytes": COUNT}):
        bundle.expect("%s tolerance_bytes" % where, seen["tolerance_bytes"], KEPT_BYTES)
        if seen["kept_bytes"] > KEPT_BYTES:
            bundle.fail(where, "%d bytes of device memory did not come back" % seen["kept_bytes"])


OBSERVED: Dict[str, Callable[[Bundle, str, Json], None]] = {
    "refused-between-answers": see_refusals, "client-leaves-in-mid-body": see_leaving_early,
    "client-leaves-while-waiting": see_leaving_late, "killed-worker": see_killing, "graph-cache-cleared": see_clearing,
    "stopped-worker": see_stopping, "not-finite-pixels": see_pixels, "not-finite-weights": see_weights,
    "not-finite-served": see_serving, "closed-engine": see_closing,
}  # fmt: skip


# ---------------- effects: How far other input moves the reference on these weights (signal.json); no gate reads it.

# Which questions are measured: distinct prompts of each modality, short ones and first questions first.
PROMPTS = (("text", 16), ("image", 8))
LONGEST = 512
NOISE = "row 0 of a batch of two copies against the row alone"


def check_signal(bundle: Bundle) -> None:
    """Floor and effects are of this checkpoint and of the reference's records; their summary follows from the questions.

    No gate reads them: they say what drift on these weights can mean. How far a change moved a row is the
    stage's own word, for the changed forward is recorded nowhere.
    """
    if not bundle.operators:
        return
    document = bundle.json("signal.json")
    bundle.expect("signal.json floor", document["floor"], NOISE)
    bundle.expect(
        "signal.json checkpoint_digest", document["checkpoint_digest"], bundle.json("checkpoint.json")["digest"]
    )
    questions = document["questions"]
    if not questions:
        bundle.fail("signal.json", "measures nothing, expected questions")
        return
    bundle.expect("signal.json summary", document["summary"], signal_summary(questions))
    known = {case["id"]: case["request"]["questions"] for case in bundle.corpus()}
    for question in questions:
        if question["question"] not in known.get(question["request"], {}):
            bundle.fail("signal.json %s" % short(question["request"]), "was not asked %s" % short(question["question"]))
    if bundle.reference in bundle.recorded_engines:
        compare_with_reference(bundle, questions)
    else:
        bundle.leave("signal.json against a reference (none ran)")


def compare_with_reference(bundle: Bundle, questions: List[Json]) -> None:
    """The questions are those that must be measured, with the tokens, logits and probability that were recorded."""
    planned = list(planned_questions(bundle))
    found = [(question["request"], question["question"]) for question in questions]
    bundle.expect("signal.json questions", found, [(case["id"], name) for case, name, _ in planned])
    for question, (case, name, line) in zip(questions, planned):
        where = "signal.json %s/%s" % (case["id"], name)
        logits = floats(line["logits"])
        told = {key: question[key] for key in ("modality", "tokens", "logits", "probability")}
        chance = max(softmax(logits, bundle.temperatures()[case["modality"]]))
        expected = {
            "modality": case["modality"], "tokens": line["tokens"], "logits": [min(logits), max(logits)],
            "probability": chance,
        }  # fmt: skip
        compare_figures(bundle, where, told, expected)
        bundle.expect("%s image" % where, "image" in question, case["modality"] == "image")
        for change in ("floor", "swap", "adapter", "image"):
            moved = question.get(change, {"row": 0.0, "steps": 0.0})
            if moved["row"] < 0 or moved["steps"] < 0 or (moved["steps"] and not moved["row"]):
                bundle.fail("%s %s" % (where, change), "moves logits by %s steps and the row by %s, expected distances of 0 or more" % (moved["steps"], moved["row"]))


def planned_questions(bundle: Bundle) -> Iterator[Tuple[Json, str, Json]]:
    """(request, question, the reference's line) of every question that must be measured, in order."""
    sides, seen = measured(bundle, bundle.reference), set()
    found: Dict[str, List[Tuple[bool, int, Json, str, Json]]] = {kind: [] for kind, _ in PROMPTS}
    for case in bundle.corpus():
        for turn, name in enumerate(case["request"]["questions"]):
            line = sides[case["id"]].lines[name]
            if line["hidden"] not in seen:  # one prompt, one row: the same prompt again is not measured again
                seen.add(line["hidden"])
                found[case["modality"]].append((line["tokens"] > LONGEST, turn, case, name, line))
    for kind, count in PROMPTS:
        for _, _, case, name, line in sorted(found[kind], key=lambda entry: entry[:2])[:count]:
            yield case, name, line


def signal_summary(questions: Sequence[Json]) -> Json:
    """Medians and extremes of what each change did to rows and logits, and what rounding alone did."""
    spread = {}
    for name in ("floor", "swap", "adapter", "image"):
        rows = [question[name]["row"] for question in questions if name in question]
        steps = [question[name]["steps"] for question in questions if name in question]
        if rows:
            spread[name] = {
                "row_median": statistics.median(rows), "row_min": min(rows), "row_max": max(rows),
                "steps_mean": statistics.fmean(steps), "steps_max": max(steps),
            }  # fmt: skip
    ratio = {
        effect: {
            kind: spread[effect][name] / spread["floor"][name] if spread["floor"][name] else None
            for kind, name in (("row", "row_median"), ("steps", "steps_mean"))
        }
        for effect in spread
        if effect != "floor"
    }
    chances = sorted(question["probability"] for question in questions)
    return dict(
        spread,
        questions=len(questions),
        ratio=ratio,
        logits=[min(q["logits"][0] for q in questions), max(q["logits"][1] for q in questions)],
        probability=[chances[0], statistics.median(chances), chances[-1]],
    )


# ---------------- environment: Threads, precision and installed packages, as the processes reported them.

def check_settings(bundle: Bundle) -> None:
    """Threads and precision were what the profile and an exact comparison want, in every process."""
    places = {"environment.json": bundle.json("environment.json")["settings"]}
    for engine in bundle.recorded_engines:
        name = "records/%s/worker.jsonl" % engine
        places.update((name, line["settings"]) for line in bundle.worker(engine) if line["kind"] == "ready")
    wanted = {
        "threads": bundle.profile["runtime"]["threads"],
        "float32_matmul_precision": "highest",
        "cuda_matmul_allow_tf32": False,
        "cudnn_allow_tf32": False,
    }
    for where, settings in places.items():
        for name, expected in wanted.items():
            bundle.expect("%s settings %s" % (where, name), settings.get(name), expected)


def check_packages(bundle: Bundle) -> None:
    """No computing package differs from its installer's record; what was not checked is said."""
    packages = bundle.json("environment.json")["packages"]
    if bundle.recorded_engines and "torch" not in packages:
        bundle.fail("environment.json packages", "does not say what torch is")
    for name, package in sorted(packages.items()):
        if package["status"] == "changed":
            bundle.fail(
                name, "installed files differ from their own record: %s" % short(package.get("changed"))
            )
        elif package["status"] not in ("ok", "absent"):
            bundle.leave("package %s (%s)" % (name, package["status"]))


# ---------------- exchanges: The client's record: the planned requests, in order, with their bytes, refusals and bodies.

def check_plan(bundle: Bundle) -> None:
    """Every engine was sent exactly the planned requests: none dropped, added, repeated or out of order."""
    for engine in bundle.engines:
        where = "records/%s/exchanges.jsonl" % engine
        lines = bundle.exchanges(engine)
        wanted = [item[:6] for item in bundle.plan(engine)]
        found = [place(line) for line in lines]
        numbers = [line["n"] for line in lines]
        for number in sorted(n for n, count in Counter(numbers).items() if count > 1):
            bundle.fail(where, "n=%s is recorded more than once" % number)
        for item, count in (Counter(wanted) - Counter(found)).items():
            bundle.fail(where, "%d planned request(s) not recorded: %s" % (count, place_text(item)))
        for item, count in (Counter(found) - Counter(wanted)).items():
            bundle.fail(where, "%d request(s) that were not planned: %s" % (count, place_text(item)))
        if Counter(wanted) == Counter(found) and wanted != found:
            at = next(index for index, pair in enumerate(zip(wanted, found)) if pair[0] != pair[1])
            message = "out of order: line %d is %s, planned is %s"
            bundle.fail(where, message % (at + 2, place_text(found[at]), place_text(wanted[at])))
        if numbers != list(range(1, len(lines) + 1)):
            bundle.fail(where, "n does not count from 1 without gaps")


def place(line: Json) -> Key:
    return tuple(line[key] for key in ("target", "phase", "pass", "request_id", "modality", "expect"))


def place_text(item: Key) -> str:
    return "%s pass %s %s, %s, to the %s, expecting %s" % (
        item[1],
        item[2],
        item[3],
        item[4],
        item[0],
        item[5],
    )


def check_exchanges(bundle: Bundle) -> None:
    """Every recorded request has the protocol's bytes, its planned status, its number and a sane time."""
    digests = {case["id"]: case["sha256"] for case in bundle.corpus()}
    for engine in bundle.engines:
        finished = None
        for line in bundle.exchanges(engine):
            at = "records/%s/exchanges.jsonl n=%s" % (engine, line["n"])
            bundle.expect("%s status" % at, line["status"], line["expect"])
            if line["phase"] != "refused":
                bundle.expect(
                    "%s request_sha256" % at, line["request_sha256"], digests.get(line["request_id"])
                )
            bundle.expect("%s sequence" % at, line["sequence"], None if engine == "remote" else line["n"])
            started = line["started_ns"]
            if not started <= line["finished_ns"] or (finished is not None and started < finished):
                bundle.fail(at, "its times run backwards or overlap the request before it")
            finished = line["finished_ns"]
            for key in ("started_utc", "finished_utc"):
                if not re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", str(line[key])):
                    bundle.fail(at, "%s is %s, expected UTC with microseconds" % (key, short(line[key])))


def check_refusals(bundle: Bundle) -> None:
    """The refused requests are what they are called, the same for every engine, and got an error envelope."""
    seen: Dict[str, str] = {}
    for engine in bundle.engines:
        for line in bundle.exchanges(engine):
            if line["phase"] != "refused":
                continue
            at = "records/%s/exchanges.jsonl n=%s" % (engine, line["n"])
            name, digest = line["request_id"], line["request_sha256"]
            bundle.expect("%s request_sha256" % at, digest, seen.setdefault(name, digest))
            images = bundle.body(digest).get("images") or []
            if name == "refused-five-images" and len(images) != 5:
                bundle.fail(at, "carries %d images, expected five" % len(images))
            if name == "refused-invalid-base64" and all(map(is_base64, images)):
                bundle.fail(at, "carries no image with invalid base64")
            reply = bundle.body(line["response_sha256"]) if line["response_sha256"] else {}
            if set(reply) != {"error", "detail"} or len(str(reply["detail"])) > 200:
                bundle.fail(at, "was not refused with an error envelope: %s" % short(reply))


def is_base64(text: str) -> bool:
    try:
        base64.b64decode(text.rpartition("base64,")[2], validate=True)
    except (binascii.Error, ValueError):
        return False
    return True


def check_bodies(bundle: Bundle) -> None:
    """Every body and hidden row has the digest it is named by, every digest its file, and no file belongs to nothing."""
    referred = set()
    for engine in bundle.engines:
        for line in bundle.exchanges(engine):
            for digest in (line["request_sha256"], line["response_sha256"]):
                referred |= {"records/bodies/%s" % digest} if digest is not None else set()
    for engine in bundle.recorded_engines:
        for line in bundle.worker(engine):
            if line["kind"] == "question":
                referred.add("records/rows/%s" % line["hidden"])
    for name in sorted(referred):
        if not bundle.exists(name):
            bundle.fail(name, "is missing, and a recorded exchange needs it")
        elif bundle.digest(name) != name.rpartition("/")[2]:
            bundle.fail(name, "has SHA-256 %s, expected the one it is named by" % bundle.digest(name))
    stray = {name for name in bundle.files()[0] if name.startswith(("records/bodies/", "records/rows/"))}
    stray -= referred
    attempts = b"".join(bundle.read(name) for name in sorted(bundle.files()[0]) if name.startswith("attempts/"))
    kept = {name for name in stray if name.rpartition("/")[2].encode() in attempts}
    for name in sorted(kept):
        if bundle.digest(name) != name.rpartition("/")[2]:
            bundle.fail(name, "has SHA-256 %s, expected the one it is named by" % bundle.digest(name))
    for name in sorted(stray - kept):
        bundle.fail(name, "belongs to no recorded exchange, expected one to name it, of this run or of an attempt kept")
    if kept:
        bundle.leave("%d bodies and hidden rows of interrupted attempts, but for their digests" % len(kept))


def check_own_answers(bundle: Bundle) -> None:
    """No two requests got one response: each tells its own latency, to the nanosecond where a worker of ours answers."""
    owners: Dict[str, str] = {}
    for engine in bundle.recorded_engines:
        for line in bundle.exchanges(engine):
            if line["status"] == 200:
                at = "records/%s/exchanges.jsonl n=%s" % (engine, line["n"])
                first = owners.setdefault(line["response_sha256"], at)
                if first != at:
                    bundle.fail(at, "has the response of %s, expected one of its own" % first)


def check_attempts(bundle: Bundle) -> None:
    """What an interrupted attempt left is a record or a log of one engine, numbered from 1."""
    numbers: Dict[str, set[int]] = {}
    for name in sorted(name for name in bundle.files()[0] if name.startswith("attempts/")):
        match = re.fullmatch(r"attempts/(\w+)-(\d+)/(exchanges\.jsonl|worker\.jsonl|engine\.json|[\w-]+\.log)", name)
        if not match or match.group(1) not in bundle.engines:
            bundle.fail(name, "is no record or log of an engine of this run, expected attempts/<engine>-<n>/<record>")
            continue
        numbers.setdefault(match.group(1), set()).add(int(match.group(2)))
        if name.endswith("/exchanges.jsonl"):
            header = {"format": "kit-exchanges/1", "engine": match.group(1), "run": bundle.json("run.json")["id"]}
            bundle.expect("%s header" % name, parse_json(bundle.read(name).split(b"\n")[0], name), header)
    for engine, found in sorted(numbers.items()):
        bundle.expect("attempts of %s" % engine, sorted(found), list(range(1, len(found) + 1)))


# ---------------- files: Every file: listed, hashed, with a role, and of this run.

def check_sums(bundle: Bundle) -> None:
    """SHA256SUMS is well formed, and every file is listed, present, no link, and unchanged."""
    files, odd = bundle.files()
    for name in odd:
        bundle.fail(name, "is a link, a special file, or a folder that is empty, unreadable or too deep; expected plain files")
    listed = read_sums(bundle, "SHA256SUMS")
    present = files - set(UNLISTED)
    for name in sorted(set(listed) - present - set(odd)):
        bundle.fail(name, "is listed but missing")
    for name in sorted(present - set(listed)):
        bundle.fail(name, "is in the bundle but not listed")
    for name in sorted(present & set(listed)):
        found = bundle.digest(name)
        if found != listed[name]:
            bundle.fail(name, "has SHA-256 %s, listed is %s" % (found, listed[name]))


def read_sums(bundle: Bundle, where: str) -> Dict[str, str]:
    """Name -> digest of a checksum file; malformed, unsafe, repeated and unsorted lines are problems."""
    listed: Dict[str, str] = OrderedDict()
    data = bundle.read(where)
    if len(data) > MOST_OF_SUMS:
        raise UnreadableError("%s is larger than %d bytes, expected one line a file" % (where, MOST_OF_SUMS))
    *lines, rest = data.decode("utf-8", "replace").split("\n")
    if rest:
        bundle.fail(where, "ends in %s, expected a line end behind every line and nothing after it" % short(rest))
    for number, line in enumerate(lines, 1):
        match, at = re.fullmatch(r"([0-9a-f]{64})  (.+)", line), "%s line %d" % (where, number)
        if not match:
            bundle.fail(at, "malformed: %s, expected a digest, two spaces and a name" % short(line))
        elif not safe_name(match.group(2)):
            bundle.fail(at, "unsafe path %s" % short(match.group(2)))
        elif match.group(2) in listed:
            bundle.fail(at, "lists %s a second time" % match.group(2))
        else:
            listed[match.group(2)] = match.group(1)
    if not listed:
        bundle.fail(where, "lists nothing")
    if list(listed) != sorted(listed):
        bundle.fail(where, "is not sorted by name")
    if len({name.casefold() for name in listed}) != len(listed):
        bundle.fail(where, "has names that differ in upper and lower case only")
    return listed


def needed_files(bundle: Bundle) -> List[str]:
    """Every file this profile's bundle must have."""
    needed = [*DOCUMENTS, *PLAIN, *(OPERATOR_DOCUMENTS if bundle.operators else ())]
    for stage in bundle.stages():
        needed += ["stages/%s.json" % stage, "notebooks/%s.ipynb" % stage]
    for engine in bundle.engines:
        needed += ["records/%s/exchanges.jsonl" % engine, "records/%s/engine.json" % engine]
    needed += ["records/%s/worker.jsonl" % engine for engine in bundle.recorded_engines]
    needed += ["records/drills.jsonl"] if bundle.native else []
    needed += MEASURED_DOCUMENTS if bundle.measured else ()
    needed += (*GENERATED_DOCUMENTS, GENERATED_LINES) if bundle.generated else ()
    needed += CHECKPOINT_FILES
    return [name for name in needed if name not in CHECKPOINT_FILES or bundle.recorded_engines]


def check_roles(bundle: Bundle) -> None:
    """Every file has a role, and every role the profile needs has its file."""
    needed, present = set(needed_files(bundle)), bundle.files()[0] - set(UNLISTED)
    optional = (*MAY_BE, *map(re.escape, (*CHECKPOINT_FILES, *OPTIONAL_DOCUMENTS)))
    for name in sorted(needed - present):
        bundle.fail(name, "is missing")
    for name in sorted(present - needed):
        if not any(re.fullmatch(pattern, name) for pattern in optional):
            bundle.fail(name, "has no role in a bundle of this profile")


def check_formats(bundle: Bundle) -> None:
    """Every document and record says what it is, and belongs to this run."""
    for name, expected in {
        **DOCUMENTS,
        **OPERATOR_DOCUMENTS,
        **MEASURED_DOCUMENTS,
        **GENERATED_DOCUMENTS,
        **OPTIONAL_DOCUMENTS,
    }.items():
        if bundle.exists(name):
            bundle.expect("%s format" % name, bundle.json(name).get("format"), expected)
    run, headers = bundle.json("run.json")["id"], {}
    for engine in bundle.engines:
        headers["records/%s/exchanges.jsonl" % engine] = {
            "format": "kit-exchanges/1",
            "engine": engine,
            "run": run,
        }
    for engine in bundle.recorded_engines:
        model = bundle.profile["model"]["name"]
        headers["records/%s/worker.jsonl" % engine] = {
            "format": "kit-worker/2",
            "engine": engine,
            "model": model,
        }
    for name, header in headers.items():
        bundle.expect("%s header" % name, bundle.jsonl(name)[0], header)


# ---------------- floor: How far the reference is from itself under harmless changes, where a run holds such a measurement.

HARMLESS = 1e-9
FLOOR_QUANTILES = (("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("max", 1.0))
FLOOR_RESAMPLES, FLOOR_SEED, FLOOR_SHARE = 1000, 20261130, 0.95
MEASURES = ("hidden", "steps", "probability")
FLOOR_KEYS = {
    "format", "says", "profile_sha256", "checkpoint_digest", "generator", "seed", "temperatures", "forms", "summary", "band", "rows",
}  # fmt: skip
FLOOR_SAYS = "the reference against itself under harmless changes; it explains a result and never widens a gate"
FORMS = {"cpu": ("row0", "padded", "instructions"), "cuda": ("row0", "padded", "draw")}


def check_floor(bundle: Bundle) -> None:
    """Where a noise floor was measured: of this checkpoint and protocol, only under proved forms, and its figures follow.

    No gate reads it: it explains a drift and excuses none.
    """
    if not bundle.exists(FLOOR):
        return
    document, run = bundle.json(FLOOR), bundle.json("run.json")
    bundle.expect("%s keys" % FLOOR, sorted(document), sorted(FLOOR_KEYS))
    bundle.expect("%s says" % FLOOR, document.get("says"), FLOOR_SAYS)
    bundle.expect("%s profile_sha256" % FLOOR, document["profile_sha256"], run["profile_sha256"])
    digest = bundle.json("checkpoint.json")["digest"]
    bundle.expect("%s checkpoint_digest" % FLOOR, document["checkpoint_digest"], digest)
    bundle.expect("%s temperatures" % FLOOR, document["temperatures"], bundle.temperatures())
    bundle.expect("%s generator" % FLOOR, document["generator"], generator_named(bundle))
    bundle.expect("%s seed" % FLOOR, document["seed"], bundle.profile["generated"]["seed"])
    before = bundle.problem_count
    judge_forms(bundle, document)
    measured = [form["name"] for form in document["forms"] if form["measured"]]
    judge_rows(bundle, document, measured)
    if bundle.problem_count > before:
        return  # figures of rows that are not whole mean nothing
    summary = {name: floor_summary(document["rows"], name, document["temperatures"]) for name in measured}
    compare_figures(bundle, "%s summary" % FLOOR, leaves(document["summary"]), leaves(summary))
    compare_figures(bundle, "%s band" % FLOOR, leaves(document["band"]), leaves(floor_band(summary)))


def judge_forms(bundle: Bundle, document: Json) -> None:
    """Every form of the device was tried, and measured only where the oracle hardly moved."""
    names = [form["name"] for form in document["forms"]]
    bundle.expect("%s forms" % FLOOR, names, list(FORMS[bundle.profile["runtime"]["device"]]))
    for form in document["forms"]:
        proof, where = form["proof"], "%s form %s" % (FLOOR, form["name"])
        bundle.expect("%s bound" % where, proof["bound"], HARMLESS)
        if not is_number(proof["largest"]) or proof["largest"] < 0 or type(proof["prompts"]) is not int or proof["prompts"] < 1:
            bundle.fail("%s proof" % where, "is %s, expected a change of 0 or more on one prompt or more" % short(proof))
            continue
        bundle.expect("%s holds" % where, proof["holds"], proof["largest"] < HARMLESS)
        bundle.expect("%s measured" % where, form["measured"], proof["holds"])


def judge_rows(bundle: Bundle, document: Json, measured: List[str]) -> None:
    """Rows are the first generated questions, then all of the protocol's, each with every measured form."""
    rows = document["rows"]
    generated = [row for row in rows if row["source"] == "generated"]
    if not generated or rows[: len(generated)] != generated:
        bundle.fail("%s rows" % FLOOR, "do not begin with generated questions")
    asked_there = [
        (item.line["request"], item.line["question"], item.modality, item.content, item.line["request_sha256"])
        for item in (asked(bundle) if bundle.generated else ())
    ]
    told = [(row["request"], row["question"], row["modality"], row["content"], row["request_sha256"]) for row in generated]
    common = min(len(told), len(asked_there))
    bundle.expect("%s generated questions" % FLOOR, told[:common], asked_there[:common])
    protocol = [
        (case["id"], name, case["modality"], case["id"], case["sha256"])
        for case in bundle.corpus()
        for name in case["request"]["questions"]
    ]
    found = [
        (row["request"], row["question"], row["modality"], row["content"], row["request_sha256"])
        for row in rows[len(generated) :]
    ]
    bundle.expect("%s protocol questions" % FLOOR, found, protocol)
    for number, row in enumerate(rows):
        where = "%s row %d" % (FLOOR, number)
        bundle.expect("%s forms" % where, list(row["forms"]), measured)
        count = len(floats(row["logits"]))
        for name, form in row["forms"].items():
            if len(floats(form["logits"])) != count or not is_number(form["hidden"]) or form["hidden"] < 0:
                bundle.fail("%s %s" % (where, name), "is %s, expected %d logits and a change of 0 or more" % (short(form), count))
            elif form["hidden"] == 0 and form["logits"] != row["logits"]:
                bundle.fail("%s %s" % (where, name), "an unmoved hidden row gave other logits")


def floor_summary(rows: Sequence[Json], form: str, temperatures: Json) -> Json:
    """Figures of one form by kind of prompt."""
    found: Json = {}
    for group in ("text", "image", "protocol"):
        mine = [row for row in rows if (row["source"] if row["source"] == "protocol" else row["modality"]) == group]
        if not mine:
            continue
        contents = [row["content"] for row in mine]
        draws, changes = content_draws(contents), [floor_change(row, form, temperatures) for row in mine]
        found[group] = {
            "questions": len(mine),
            "contents": len(set(contents)),
            "flips": sum(flip for _, flip in changes),
        }
        for measure in MEASURES:
            found[group][measure] = floor_spread([values[measure] for values, _ in changes], contents, draws)
    return found


def floor_change(row: Json, form: str, temperatures: Json) -> Tuple[Json, bool]:
    alone, other = floats(row["logits"]), floats(row["forms"][form]["logits"])
    p, q = (softmax(values, temperatures[row["modality"]]) for values in (alone, other))
    values = {
        "hidden": row["forms"][form]["hidden"],
        "steps": steps(alone, other),
        "probability": max(abs(a - b) for a, b in zip(p, q)),
    }
    return values, first_of(alone) != first_of(other)


def content_draws(contents: Sequence[str]) -> List[Dict[str, int]]:
    """How often each content was drawn in each resample."""
    names, source, draws = sorted(set(contents)), random.Random(FLOOR_SEED), []
    for _ in range(FLOOR_RESAMPLES):
        counts = dict.fromkeys(names, 0)
        for _ in names:
            counts[names[int(source.random() * len(names))]] += 1
        draws.append(counts)
    return draws


def floor_spread(values: Sequence[float], contents: Sequence[str], draws: Sequence[Dict[str, int]]) -> Json:
    """Quantiles with the ends of their 95% intervals."""
    ordered = sorted(zip(values, contents))
    if ordered[0][0] == ordered[-1][0]:
        return {name: dict.fromkeys(("value", "low", "high"), values[0]) for name, _ in FLOOR_QUANTILES}
    found: Dict[str, List[float]] = {name: [] for name, _ in FLOOR_QUANTILES}
    names, figures = [content for _, content in ordered], [value for value, _ in ordered]
    for counts in draws:
        ends = list(accumulate(map(counts.__getitem__, names)))  # how many of the sample lie at or before each value
        for name, q in FLOOR_QUANTILES:
            found[name].append(quantile_of_drawn(figures, ends, q))
    tail: Any = (1 - FLOOR_SHARE) / 2
    return {
        name: {
            "value": quantile(values, q),
            "low": quantile(found[name], tail),
            "high": quantile(found[name], 1 - tail),
        }
        for name, q in FLOOR_QUANTILES
    }


def quantile_of_drawn(values: Sequence[float], ends: Sequence[int], q: float) -> float:
    """The q-quantile of values in order, value i drawn ends[i] - ends[i - 1] times."""
    place = q * (ends[-1] - 1)
    low = int(place)
    first = values[bisect_right(ends, low)]
    second = values[bisect_right(ends, min(low + 1, ends[-1] - 1))]
    return first + (second - first) * (place - low)


def floor_band(summary: Json) -> Json:
    """The largest p99 of any form, by modality and measure."""
    return {
        modality: {
            measure: max(form[modality][measure]["p99"]["value"] for form in summary.values()) for measure in MEASURES
        }
        for modality in ("text", "image")
        if any(modality in form for form in summary.values())
    }


# ---------------- generated: Questions made from a seed: every line is whole and in its place, figures and gates follow from the lines.

LINE_KEYS = {
    "request", "modality", "content", "request_sha256", "question", "type", "candidates", "expected", "tokens",
    "reference", "candidate", "oracle",
}  # fmt: skip
UNJUDGED = ("how", "budget_s", "seconds")  # of generated.json; looked at apart


def check_generated(bundle: Bundle) -> None:
    """Generated questions: every line is whole and in its place, and generated.json follows from the lines."""
    if not bundle.generated:
        return
    header = {
        "format": "kit-generated/1",
        "generator": generator_named(bundle),
        "seed": bundle.profile["generated"]["seed"],
        "candidate": generated_candidate(bundle),
    }
    bundle.expect("%s header" % GENERATED_LINES, bundle.jsonl(GENERATED_LINES)[0], header)
    for number, item in enumerate(asked(bundle)):
        judge_asked(bundle, number, item)
    judge_requests(bundle)
    told, expected = bundle.json(GENERATED), generated_summary(bundle)
    judged = {name: value for name, value in told.items() if name not in UNJUDGED}
    compare_figures(bundle, GENERATED, leaves(judged), leaves(expected))
    judge_how(bundle, told)
    bundle.leave("whether generated requests are those their seed makes (kit audit --recompute makes them again)")


def judge_asked(bundle: Bundle, number: int, item: Asked) -> None:
    """One line: its place, its answers' form, and what equal rows must have in common."""
    line, where = item.line, "%s line %d" % (GENERATED_LINES, number + 2)
    bundle.expect("%s keys" % where, sorted(line), sorted(LINE_KEYS))
    for side, keys in (("reference", ["hidden", "logits"]), ("candidate", ["action", "hidden", "logits"])):
        bundle.expect("%s %s keys" % (where, side), sorted(line[side]), keys)
        if not re.fullmatch("[0-9a-f]{64}", line[side]["hidden"]):
            bundle.fail("%s %s hidden" % (where, side), "is %s, expected a SHA-256" % short(line[side]["hidden"]))
    block, place = divmod(number, 6)
    modality, index = ("text", 4 * block + place) if place < 4 else ("image", 2 * block + place - 4)
    bundle.expect("%s modality" % where, line["modality"], modality)
    bundle.expect("%s request" % where, line["request"], "%s-%04d" % (modality, index))
    ids = line["candidates"]
    if not 2 <= len(ids) <= LABELS or len(set(ids)) != len(ids) or not all(isinstance(name, str) for name in ids):
        bundle.fail("%s candidates" % where, "are %s, expected 2 to %d names" % (short(ids), LABELS))
    wanted = {"noul": ["yes", "no"], "score": [str(level) for level in range(len(ids))], "choice": ids}
    bundle.expect("%s candidates" % where, ids, wanted.get(line["type"], "those of a choice, noul or score"))
    if line["expected"] is not None and line["expected"] not in ids:
        bundle.fail("%s expected" % where, "is %s, which is no candidate" % short(line["expected"]))
    if type(line["tokens"]) is not int or line["tokens"] < 1:
        bundle.fail("%s tokens" % where, "is %s, expected a number of tokens" % short(line["tokens"]))
    judge_logits(bundle, where, item)
    if line["candidate"]["action"] not in ("eager", "capture", "replay", "fallback"):
        bundle.fail("%s candidate action" % where, "is %s, expected what a forward can be" % short(line["candidate"]["action"]))


def judge_logits(bundle: Bundle, where: str, item: Asked) -> None:
    """As many finite logits a side as candidates, of the model's dtype; one answer where the rows are one."""
    count = len(item.line["candidates"])
    rounded = bundle.profile["runtime"]["dtype"] == "bfloat16"
    for side, values in (("reference", item.reference), ("candidate", item.candidate)):
        at = "%s %s logits" % (where, side)
        if len(values) != count or not all(math.isfinite(value) for value in values):
            bundle.fail(at, "are %d values, expected %d finite ones" % (len(values), count))
        elif rounded and any(struct.pack("<f", value)[:2] != b"\0\0" for value in values):
            bundle.fail(at, "are not BF16 values, which this model's head gives")
    if item.hidden_same and not item.logits_same and bundle.profile["claim"] == "exact":
        bundle.fail(where, "equal hidden rows gave other logits")
    if (item.line["oracle"] is not None) != (item.line["request"] in with_oracle(bundle)):
        bundle.fail("%s oracle" % where, "is there or missing, expected for the first %d questions" % RATIO_PROMPTS)
    if item.line["oracle"] is None:
        return
    bundle.expect("%s oracle keys" % where, sorted(item.line["oracle"]), ["candidate", "logits", "reference"])
    if len(item.truth) != count or not all(math.isfinite(value) for value in item.truth):
        bundle.fail("%s oracle logits" % where, "are %d values, expected %d finite ones" % (len(item.truth), count))
    if not all(is_number(error) and error > 0 for error in item.errors):
        bundle.fail("%s oracle" % where, "has errors %s, expected numbers above zero" % short(list(item.errors)))
    if item.hidden_same and item.errors[0] != item.errors[1]:
        bundle.fail("%s oracle" % where, "has two errors %s of one hidden row" % short(list(item.errors)))


def with_oracle(bundle: Bundle) -> Dict[str, None]:
    """Requests the oracle had to be asked about."""
    if "with oracle" not in bundle.memory:
        lines = bundle.jsonl(GENERATED_LINES)[1:]
        bundle.memory["with oracle"] = {line["request"]: None for line in lines[:RATIO_PROMPTS]}
    found: Dict[str, None] = bundle.memory["with oracle"]
    return found


def judge_requests(bundle: Bundle) -> None:
    """No request was asked twice; composed neighbours share a content, and held-out ones are labelled."""
    found = asked(bundle)
    digests = {item.line["request_sha256"] for item in found}
    if len(digests) != len(found) or not all(re.fullmatch("[0-9a-f]{64}", str(digest)) for digest in digests):
        bundle.fail("%s request_sha256" % GENERATED_LINES, "%d digests of %d requests, expected one SHA-256 each" % (len(digests), len(found)))
    if held_out(bundle):
        for item in found:
            if item.line["expected"] is None or not re.fullmatch("[0-9a-f]{16}", str(item.content)):
                bundle.fail("%s %s" % (GENERATED_LINES, short(item.line["request"])), "has no expected answer, or no content")
        return
    for modality in ("text", "image"):
        mine = [item.content for item in found if item.modality == modality]
        for index in range(0, len(mine) - 1, 2):
            if mine[index] != mine[index + 1] or not re.fullmatch("[0-9a-f]{16}", str(mine[index])):
                bundle.fail(
                    "%s content" % GENERATED_LINES,
                    "%s %d and its neighbour do not share one: %s" % (modality, index, short(mine[index : index + 2])),
                )


def judge_how(bundle: Bundle, told: Json) -> None:
    """How the answers came about: replays of proved shapes on a GPU, calls elsewhere; the stage's own word on the rest."""
    how, questions = told["how"], len(asked(bundle))
    bundle.expect("%s how" % GENERATED, sorted(how), ["reference", "replays", "shapes", "shapes_refused"])
    on_gpu = bundle.profile["runtime"]["device"] == "cuda"
    bundle.expect("%s how.reference" % GENERATED, how["reference"], "captured" if on_gpu else "called")
    counts = [how[name] for name in ("replays", "shapes", "shapes_refused")]
    if not all(type(count) is int and count >= 0 for count in counts) or (not on_gpu and any(counts)):
        bundle.fail("%s how" % GENERATED, "has counts %s, expected whole ones%s" % (short(counts), "" if on_gpu else " of 0"))
    elif how["replays"] + how["shapes"] + how["shapes_refused"] > questions or (how["replays"] > 0 and not how["shapes"]):
        bundle.fail("%s how" % GENERATED, "has counts %s, expected those of %d questions" % (short(counts), questions))
    stage, where = bundle.json("stages/%s.json" % GENERATED_STAGE), "stages/%s.json" % GENERATED_STAGE
    bundle.expect("%s budget_s" % GENERATED, told["budget_s"], stage["parameters"]["budget_s"])
    failed = [key[0] for key, _, _, passed in generated_gates(bundle) if not passed]
    bundle.expect("%s result" % where, sorted(stage["result"]), ["facts", "passed"])
    bundle.expect("%s result.passed" % where, stage["result"]["passed"], not failed)
    compare_figures(bundle, "%s result.facts" % where, stage["result"]["facts"], stage_facts(bundle, failed))
    spent = told["seconds"]
    if sorted(spent) != ["answering", "layers", "oracle"] or not all(is_number(x) and x >= 0 for x in spent.values()):
        bundle.fail("%s seconds" % GENERATED, "are %s, expected three of 0 or more" % short(spent))


# ---------------------------------------------------------------- gates


def generated_gates(bundle: Bundle) -> Iterator[Tuple[Tuple[Any, ...], Any, Any, bool]]:
    """(key, value, bound, passed) of every gate over generated questions."""
    if not bundle.generated:
        if bundle.profile["claim"] == "faithful":
            yield ("oracle", None, None), None, 0, False  # nothing shows it, so it cannot pass
        return
    found, engine = asked(bundle), generated_candidate(bundle)
    yield ("generated", None, None), len(found), bundle.generated, len(found) == bundle.generated
    if bundle.profile["claim"] == "exact":
        counts = {
            "generated_hidden_bitwise": sum(not item.hidden_same for item in found),
            "generated_logits_bitwise": sum(not item.logits_same for item in found),
            "generated_flips": sum(item.flip for item in found),
        }
        for name, count in counts.items():
            yield (name, engine, None), count if found else None, 0, bool(found) and count == 0
    if bundle.profile["claim"] == "faithful":
        known = [item for item in found if item.truth]
        if not known:
            yield ("oracle", engine, None), None, RATIO_BOUND, False
            return
        ratios = error_ratios([item.errors for item in known], [item.content for item in known])
        yield ("oracle", engine, None), ratios.upper, RATIO_BOUND, carries_faithful(ratios)


# ---------------- graph_cache: The graph cache's policy run over the recorded requests; counters and memory follow from it.

class Cache:
    """One cache of the policy: entries with their sizes, oldest first."""

    def __init__(self, bounds: Json) -> None:
        self.entries: OrderedDict[str, int] = OrderedDict()
        self.failed: set[str] = set()
        self.shared = 0
        self.limit, self.room = bounds["entries"], bounds["megabytes"] * 2**20
        self.counts = dict.fromkeys(COUNTERS, 0)

    def drop_all(self) -> None:
        self.counts["invalidations"] += len(self.entries)
        self.entries.clear()
        self.shared = 0

    def held(self) -> int:
        return sum(self.entries.values()) + self.shared

    def act(self, key: str, recorded: str, size: int, pool: int, lru: bool) -> str:
        """What the policy does with a forward. Only a failed capture cannot be foreseen: it is taken as recorded."""
        if not (self.limit and self.room):
            return "eager"
        if key in self.entries:
            self.counts["replays"] += 1
            if lru:
                self.entries.move_to_end(key)
            return "replay"
        if key in self.failed or recorded == "fallback":
            self.failed.add(key)
            self.counts["fallbacks"] += 1
            self.counts["captured_bytes"] += pool
            if pool:  # what the failed capture left can only be freed with everything that shares it
                self.drop_all()
            return "fallback"
        self.counts["captures"] += 1
        self.counts["captured_bytes"] += size + pool
        self.entries[key] = size
        self.shared += pool
        while len(self.entries) > self.limit or self.held() > self.room:
            self.entries.popitem(last=False)
            self.counts["evictions"] += 1
            if not self.entries:
                self.shared = 0
        return "capture"

    def totals(self) -> Dict[str, int]:
        return dict(self.counts, entries=len(self.entries), bytes=self.held(), pool_bytes=self.shared)


class Simulation:
    """The policy run over a graph worker's record. mismatches: by cache; totals: at "ready" and "closed"."""

    def __init__(self, graph: Json, lines: List[Json]) -> None:
        self.step = self.capacity = graph["scratch_tokens"]
        self.lru = graph["policy"] == "lru"
        self.caches = {name: Cache(graph[name]) for name in CACHES}
        self.mismatches: Dict[str, List[str]] = {name: [] for name in CACHES}
        self.totals: Dict[str, Dict[str, Dict[str, int]]] = {}
        self.reported: Dict[str, Any] = {}
        for line in lines:
            if line["kind"] in ("question", "vision"):
                self.forward(line)
            elif line["kind"] == "post" and line["status"] == 200:
                self.compare("post %s" % line["sequence"], self.now(), line["counters"])
            elif line["kind"] in ("ready", "closed"):
                self.totals[line["kind"]] = self.now()
                self.reported[line["kind"]] = line["counters"]
        for moment in ("ready", "closed"):
            self.compare(moment, self.totals.setdefault(moment, self.now()), self.reported.get(moment))

    def now(self) -> Dict[str, Dict[str, int]]:
        return {name: cache.totals() for name, cache in self.caches.items()}

    def forward(self, line: Json) -> None:
        if line["kind"] == "vision":
            name, key = "vision", "vision:" + "+".join("x".join(map(str, grid)) for grid in line["grids"])
        else:
            name = "multimodal" if line["grids"] else "text"
            key = "%s:%d" % (name, line["tokens"])
            if line["tokens"] > self.capacity:  # graphs point into the scratch, so its growth drops them
                self.capacity = -(-line["tokens"] // self.step) * self.step
                self.caches["text"].drop_all()
                self.caches["multimodal"].drop_all()
        action = self.caches[name].act(key, line["action"], line["bytes"], line["pool"], self.lru)
        if line["action"] != action or (action != "eager" and line["key"] != key):
            message = "post %s: recorded %s %s, the policy gives %s %s"
            self.mismatches[name].append(
                message % (line["sequence"], line["key"], line["action"], key, action)
            )
        took = {"capture": ("bytes", "pool"), "fallback": ("pool",)}.get(line["action"], ())
        for size in ("bytes", "pool"):
            if not isinstance(line[size], int) or line[size] < 0 or (line[size] and size not in took):
                message = "post %s: %s of %s is %s, expected a count of bytes that it took"
                self.mismatches[name].append(
                    message % (line["sequence"], size, line["action"], short(line[size]))
                )

    def compare(self, moment: str, expected: Dict[str, Dict[str, int]], reported: Any) -> None:
        for name in CACHES:
            found = (reported or {}).get(name)
            if found != expected[name]:
                message = "%s: counters %s, the policy gives %s"
                self.mismatches[name].append(message % (moment, short(found), short(expected[name])))


def simulation(bundle: Bundle) -> Simulation:
    if "simulation" not in bundle.memory:
        made = Simulation(bundle.profile["graph"], bundle.worker("graph"))
        made.compare(
            "engine.json", made.totals["closed"], bundle.json("records/graph/engine.json").get("counters")
        )
        bundle.memory["simulation"] = made
    found: Simulation = bundle.memory["simulation"]
    return found


def check_graph(bundle: Bundle) -> None:
    """Graph events and counters are what the cache policy gives for the recorded requests."""
    if "graph" in bundle.engines:
        made = simulation(bundle)
        for name, mismatches in made.mismatches.items():
            for text in mismatches:
                bundle.fail("records/graph/worker.jsonl %s cache" % name, text)
        final = made.totals["closed"]
        total = {
            name: sum(final[cache][name] for cache in CACHES) for name in ("captures", "replays", "fallbacks")
        }
        if bundle.profile["claim"] == "exact" and (
            not total["captures"] or not total["replays"] or total["fallbacks"]
        ):
            bundle.fail(
                "records/graph",
                "an exact claim about graphs needs captures and replays, found %s" % short(total),
            )


def check_memory(bundle: Bundle) -> None:
    """Private pools are as large by the allocator's count as by the graph caches'; a device says what it holds."""
    for engine in bundle.recorded_engines:
        for line in bundle.worker(engine):
            if line["kind"] not in ("ready", "closed"):
                continue
            where, memory = (
                "records/%s/worker.jsonl %s memory" % (engine, line["kind"]),
                line.get("memory") or {},
            )
            if memory:
                pools = sum(cache["pool_bytes"] for cache in line["counters"].values())
                bundle.expect("%s pools" % where, memory["pools"], pools)
                if not 0 <= memory["allocated"] <= memory["reserved"] <= memory["peak_reserved"]:
                    bundle.fail(where, "more is allocated than reserved, or reserved than ever was")
                if not memory["allocated"] <= memory["peak_allocated"] <= memory["peak_reserved"]:
                    bundle.fail(where, "the most that was allocated is %d bytes" % memory["peak_allocated"])
                compare_with_device(bundle, where, memory)
            elif bundle.profile["runtime"]["device"] == "cuda":
                bundle.fail(where, "is missing")


def compare_with_device(bundle: Bundle, where: str, memory: Json) -> None:
    """What an engine holds is no more than its device has, and no less than its weights, where both are known."""
    total = bundle.json("environment.json").get("device", {}).get("memory_bytes")
    if total is not None and memory["peak_reserved"] > total:
        bundle.fail(where, "%d bytes were reserved on a device of %d" % (memory["peak_reserved"], total))
    weights = bundle.json(SAMPLES)["weight_bytes"] if bundle.measured else 0
    if memory["allocated"] < weights:
        bundle.fail(where, "%d bytes are allocated, expected at least the %d of the weights" % (memory["allocated"], weights))


def check_growth(bundle: Bundle) -> None:
    """The most that was ever taken does not shrink while a worker runs."""
    for engine in bundle.recorded_engines:
        moments = {line["kind"]: line.get("memory") or {} for line in bundle.worker(engine)}
        before, after = moments.get("ready", {}), moments.get("closed", {})
        for name in ("peak_allocated", "peak_reserved") if before and after else ():
            if after[name] < before[name]:
                message = "is %d, expected at least the %d of when it was ready"
                bundle.fail("records/%s/worker.jsonl closed memory %s" % (engine, name), message % (after[name], before[name]))


def check_counters(bundle: Bundle) -> None:
    """counters.json repeats what the engines reported, and what the policy gives."""
    engines = bundle.json("counters.json")["engines"]
    bundle.expect("counters.json engines", sorted(engines), sorted(bundle.engines))
    for engine in bundle.engines:
        reported = bundle.json("records/%s/engine.json" % engine)["counters"]
        bundle.expect("counters.json %s" % engine, engines.get(engine, {}).get("counters"), reported)
        if engine != "graph":
            bundle.expect("counters.json %s, which has no caches" % engine, engines.get(engine), {"counters": {}})
    if "graph" in bundle.engines:
        told, made = engines.get("graph", {}), simulation(bundle)
        for moment in ("ready", "closed"):
            wanted = {"reported": made.reported.get(moment), "predicted": made.totals[moment]}
            bundle.expect("counters.json graph %s" % moment, told.get(moment), wanted)
        bundle.expect("counters.json graph mismatches", told.get("mismatches"), {name: [] for name in CACHES})
        bundle.expect("counters.json graph phases", told.get("phases"), graph_phases(bundle))


def graph_phases(bundle: Bundle) -> List[Json]:
    """What the caches did in each phase of the campaign, from the trace lines."""
    places = {line["sequence"]: (line["phase"], line["pass"]) for line in bundle.exchanges("graph")}
    found: Dict[Key, Json] = OrderedDict()
    for line in bundle.worker("graph"):
        if line["kind"] in ("question", "vision"):
            place = (
                ("warm-up", 0) if line["sequence"] is None else places.get(line["sequence"], ("unknown", 0))
            )
            actions = found.setdefault(place, {"phase": place[0], "pass": place[1]})
            actions[line["action"]] = actions.get(line["action"], 0) + 1
    return list(found.values())


# ---------------- joining: Sections to one file: the auditor that a bundle carries is its sections, one after the other, in one text.

PACKAGE = "kit.evidence.audit"
FOLDER = "kit/evidence/audit/"
ENTRY = "running"  # the section that calls the others; its docstring is the whole file's
NO_SECTION = "__init__"


class JoinError(ValueError):
    """The sections do not make one file; the message names the section."""


class Section:
    """One section taken apart: what it imports, what it defines, and the text below its imports."""

    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self.needs: List[str] = []  # sections, in the order they are imported
        self.imports: Dict[
            str, List[str]
        ] = {}  # standard library module -> names, none for the module itself
        self.defines: List[str] = []
        tree = ast.parse(text)
        self.title = ast.get_docstring(tree, clean=False) or ""
        last = 0
        for node in tree.body:
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                self.take_import(node)
            elif not is_docstring(node):
                self.defines += names_of(node)
                continue
            last = node.end_lineno or node.lineno
        self.body = "\n".join(text.split("\n")[last:]).strip("\n")

    def take_import(self, node: ast.AST) -> None:
        if isinstance(node, ast.Import):
            for alias in node.names:
                self.refuse(alias.asname is not None, "an import under another name")
                self.imports.setdefault(alias.name, [])
        elif isinstance(node, ast.ImportFrom):
            names, module = [alias.name for alias in node.names], node.module or ""
            self.refuse(
                bool(node.level) or any(alias.asname for alias in node.names), "an import under another name"
            )
            if module.startswith(PACKAGE + "."):
                self.needs.append(module[len(PACKAGE) + 1 :])
            elif module != "__future__":
                self.refuse(module.split(".")[0] == "kit", "an import from outside the auditor")
                self.imports.setdefault(module, []).extend(names)

    def refuse(self, wrong: bool, what: str) -> None:
        if wrong:
            raise JoinError("%s%s.py holds %s" % (FOLDER, self.name, what))


def is_docstring(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def names_of(node: ast.AST) -> List[str]:
    """What a statement at the top of a section defines."""
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        return [node.name]
    targets = (
        node.targets
        if isinstance(node, ast.Assign)
        else [node.target]
        if isinstance(node, ast.AnnAssign)
        else []
    )
    return [name.id for target in targets for name in ast.walk(target) if isinstance(name, ast.Name)]


@lru_cache(maxsize=128)
def taken_apart(name: str, text: str) -> Section:
    """A section, taken apart once: bundles that are audited one after the other mostly hold the same ones."""
    return Section(name, text)


def join(sections: Mapping[str, str]) -> str:
    """One Python file out of section name -> text. Raises JoinError, or SyntaxError for a section that is no Python."""
    parsed = {name: taken_apart(name, text) for name, text in sections.items() if name != NO_SECTION}
    ordered = in_order(parsed)
    for name in sorted(set(parsed) - set(ordered)):
        raise JoinError("%s%s.py is never reached from %s" % (FOLDER, name, ENTRY))
    owners: Dict[str, str] = {}
    for name in ordered:
        for defined in parsed[name].defines:
            if owners.setdefault(defined, name) != name:
                raise JoinError("%s is defined in %s and in %s" % (defined, owners[defined], name))
    head = [
        "#!/usr/bin/env python3",
        '"""%s"""' % parsed[ENTRY].title,
        "",
        "from __future__ import annotations",
        "",
    ]
    parts = ["\n".join(head + imports_of([parsed[name] for name in ordered]))]
    for name in ordered:
        title = parsed[name].title.split("\n")[0] if name != ENTRY else "From the command line."
        parts.append("# %s %s: %s\n\n%s" % ("-" * 16, name, title, parsed[name].body))
    return "\n\n\n".join(parts) + "\n"


def in_order(parsed: Mapping[str, Section]) -> List[str]:
    """Names of the sections that the entry needs, each after those it needs itself."""
    done: List[str] = []
    pending: List[Tuple[str, Tuple[str, ...]]] = [(ENTRY, ())]
    while pending:
        name, above = pending.pop()
        if name in above or name not in parsed:
            raise JoinError(
                "%s needs %s, which %s" % (above[-1:], name, "needs it" if name in above else "is missing")
            )
        missing = [need for need in parsed[name].needs if need not in done]
        if missing:
            pending += [(name, above), (missing[0], (*above, name))]
        elif name not in done:
            done.append(name)
    return done


def imports_of(sections: List[Section]) -> List[str]:
    """The import lines of all sections as one block."""
    modules = sorted({name for section in sections for name, names in section.imports.items() if not names})
    taken: Dict[str, List[str]] = {}
    for section in sections:
        for module, names in section.imports.items():
            taken.setdefault(module, []).extend(names)
    named = [
        "from %s import %s" % (module, ", ".join(sorted(set(names))))
        for module, names in sorted(taken.items())
        if names
    ]
    return ["import %s" % name for name in modules] + named


# ---------------- sources: The packed sources are those hashed before and after the run, and this auditor is made from them.

SINGLE = "kit/evidence/audit.py"
VERSION_OF = "kit/__init__.py"


def check_sources(bundle: Bundle) -> None:
    """The packed sources are, file by file, those hashed before and after the run."""
    document, sources = bundle.json("sources.json"), bundle.sources()
    bundle.expect("source.tar.gz", sha256(bundle.read("source.tar.gz")), document["archive_sha256"])
    before, after = document["before"], document["after"]
    if not before or not after:
        bundle.fail("sources.json", "lists no file")
    for name in changed_sources(bundle):
        bundle.fail(name, "changed during the run")
    for name in sorted(set(after) | set(sources)):
        if name not in sources:
            bundle.fail(name, "is in sources.json but not in source.tar.gz")
        elif name not in after:
            bundle.fail(name, "is in source.tar.gz but not in sources.json")
        elif sha256(sources[name]) != after[name]:
            bundle.fail(
                name, "in source.tar.gz has SHA-256 %s, listed is %s" % (sha256(sources[name]), after[name])
            )


def check_auditor(bundle: Bundle) -> None:
    """The bundle's audit.py is that of its packed sources: one file of them, or their sections joined."""
    sources, own = bundle.sources(), bundle.read("audit.py")
    if SINGLE in sources:  # bundles older than the sections
        packed = sources[SINGLE]
    else:
        named = {name: data for name, data in sources.items() if re.fullmatch(FOLDER + r"\w+\.py", name)}
        sections = {name[len(FOLDER) : -len(".py")]: data.decode("utf-8") for name, data in named.items()}
        packed = join(sections).encode("utf-8") if sections else b""
    if packed != own:
        bundle.fail("audit.py", "is not the one of the packed sources")


def check_kit(bundle: Bundle) -> None:
    """The run was made by the version of the kit that is packed."""
    source = bundle.sources().get(VERSION_OF)
    if source is None:
        bundle.leave("run.json kit_version (%s is not in the packed sources)" % VERSION_OF)
        return
    match = re.search(r'(?m)^__version__ = "([^"]*)"$', source.decode("utf-8", "replace"))
    bundle.expect("run.json kit_version", bundle.json("run.json")["kit_version"], match.group(1) if match else None)


def changed_sources(bundle: Bundle) -> List[str]:
    document = bundle.json("sources.json")
    before, after = document.get("before") or {}, document.get("after") or {}
    return sorted(name for name in {*before, *after} if before.get(name) != after.get(name))


# ---------------- workers: The worker's record against the client's: order, forwards, engines, health.

DECISION_PATH = "/v1/systemone"
WARM_UPS = [("question", "text"), ("vision", "image"), ("question", "image")]


def check_worker(bundle: Bundle) -> None:
    """The worker's record is in order: warm-ups, ready, then every post from 1 with its forwards before it."""
    for engine in bundle.recorded_engines:
        warm = [line for line in bundle.worker(engine) if line["kind"] in ("question", "vision") and line["sequence"] is None]
        told = [(line["kind"], line["warmup"]) for line in warm]
        bundle.expect("records/%s/worker.jsonl warm-ups" % engine, told, WARM_UPS)
        where, kinds = "records/%s/worker.jsonl" % engine, []
        numbers: List[Any] = []
        pending: set[Any] = set()
        for index, line in enumerate(bundle.worker(engine), 2):
            kinds.append(line["kind"])
            at = "%s line %d" % (where, index)
            if line["kind"] in ("question", "vision"):
                pending.add(line["sequence"])
                if (line["sequence"] is None) != ("ready" not in kinds):
                    bundle.fail(at, "a forward of sequence %s on the wrong side of ready" % line["sequence"])
            elif line["kind"] == "post":
                numbers.append(line["sequence"])
                if pending - {line["sequence"]}:
                    bundle.fail(
                        at, "forwards of %s before the end of post %s" % (sorted(pending), line["sequence"])
                    )
                pending = set()
            elif line["kind"] == "ready":
                pending -= {None}
            elif line["kind"] != "closed":
                bundle.fail(at, "unknown kind %s" % short(line["kind"]))
        if pending:
            bundle.fail(where, "ends with forwards of no post: %s" % sorted(map(str, pending)))
        expected = list(range(1, len(bundle.exchanges(engine)) + 1))
        for number in sorted(n for n, count in Counter(numbers).items() if count > 1):
            bundle.fail(where, "post %s is recorded more than once" % number)
        for number in sorted(set(expected) - set(numbers)):
            bundle.fail(where, "post %s is missing: a gap in the sequence" % number)
        for number in sorted(set(numbers) - set(expected)):
            bundle.fail(where, "post %s was never sent by the client" % number)
        if sorted(numbers) == expected != numbers:
            bundle.fail(where, "posts are out of order")
        if kinds.count("ready") != 1 or kinds.count("closed") > 1 or "closed" in kinds[:-1]:
            bundle.fail(
                where, "expected one ready line after the warm-ups and at most one closed line, at the end"
            )


def check_posts(bundle: Bundle) -> None:
    """Client and worker tell the same of every request, and what ran is what was asked."""
    for engine in bundle.recorded_engines:
        for line in bundle.exchanges(engine):
            if line["sequence"] not in bundle.posts(engine):
                continue  # check_worker names it
            post = bundle.post(engine, line["sequence"])
            at = "records/%s/worker.jsonl post %s" % (engine, line["sequence"])
            for key in ("status", "request_sha256", "response_sha256"):
                bundle.expect("%s %s" % (at, key), post.line[key], line[key])
            bundle.expect("%s path" % at, post.line["path"], DECISION_PATH)
            if line["status"] == 200:
                check_forwards(bundle, at, bundle.body(line["request_sha256"]), line["modality"], post)
            elif post.questions or post.visions:
                bundle.fail(at, "was refused and yet ran a forward")


def check_forwards(bundle: Bundle, at: str, request: Json, modality: str, post: Post) -> None:
    asked, images = request["questions"], image_count(request)
    bundle.expect("%s questions" % at, [line["question"] for line in post.questions], list(asked))
    bundle.expect("%s order" % at, [line["index"] for line in post.questions], list(range(len(asked))))
    bundle.expect("%s vision forwards" % at, len(post.visions), 1 if images else 0)
    for line in post.questions:
        where, question = "%s %s" % (at, line["question"]), asked.get(line["question"], {})
        bundle.expect("%s type" % where, line["type"], kind_of(question))
        bundle.expect("%s candidates" % where, line["candidates"], candidate_ids(question))
        bundle.expect(
            "%s image grids" % where, line["grids"], post.visions[0]["grids"] if post.visions else []
        )
        bundle.expect("%s number of grids" % where, len(line["grids"]), images)
        if not (isinstance(line["tokens"], int) and line["tokens"] > 0):
            bundle.fail(where, "has %s tokens" % short(line["tokens"]))
    bundle.expect(
        "%s input_tokens" % at, post.line["input_tokens"], sum(line["tokens"] for line in post.questions)
    )
    bundle.expect("%s temperature" % at, post.line["temperature"], bundle.temperatures().get(modality))


def check_engines(bundle: Bundle) -> None:
    """engine.json repeats what the worker recorded of itself."""
    for engine in bundle.engines:
        name = "records/%s/engine.json" % engine
        facts = bundle.json(name)
        lines = bundle.worker(engine) if engine != "remote" else []
        ready = next((line for line in lines if line["kind"] == "ready"), {})
        closed = next((line for line in lines if line["kind"] == "closed"), None)
        bundle.expect("%s format" % name, facts.get("format"), "kit-engine/1")
        bundle.expect("%s engine" % name, facts.get("engine"), engine)
        if engine != "remote":
            bundle.expect("%s describe" % name, facts.get("describe"), ready.get("describe", {}))
            bundle.expect("%s counters" % name, facts.get("counters"), (closed or {}).get("counters", {}))
            held = {"ready": ready.get("memory", {}), "closed": (closed or {}).get("memory", {})}
            bundle.expect("%s memory" % name, facts.get("memory"), held)
        stopped = "orderly" if closed is not None or engine == "remote" else "killed"
        bundle.expect("%s stopped" % name, facts.get("stopped"), stopped)
        if stopped != "orderly":
            bundle.fail(name, "the worker did not stop in order, so its record may lack lines")
        if facts.get("error"):
            bundle.fail(name, "the campaign stopped, expected it to end: %s" % facts["error"])


def check_health(bundle: Bundle) -> None:
    """READY before and after every engine and after each refusal."""
    for miss in health_misses(bundle):
        bundle.fail(miss, "was not seen READY")


def health_misses(bundle: Bundle) -> List[str]:
    misses = []
    for engine in bundle.engines:
        facts = bundle.json("records/%s/engine.json" % engine)
        refusals = sum(item.status == 422 for item in bundle.plan(engine))
        after = list(facts.get("health_after_refused") or ())
        moments = {"before": facts.get("health_before"), "after": facts.get("health_after")}
        for number in range(refusals):
            moments["after refusal %d" % (number + 1)] = after[number] if number < len(after) else None
        for moment, health in moments.items():
            if not (isinstance(health, dict) and health.get("status") == "READY"):
                misses.append("records/%s/engine.json health %s" % (engine, moment))
    return misses


# ---------------- gates: Every gate computed once more.

FIGURES = {
    "probability": "probability_drift", "confidence": "confidence_drift",
    "noul": "noul_drift", "expected_value": "expected_drift",
}  # fmt: skip
# Of gates over generated questions where they passed; the oracle's has its interval in it and is not compared.
GENERATED_WORDS = {
    "generated": "%d of %d declared questions were answered",
    "generated_hidden_bitwise": "%d hidden rows differ of %d", "generated_logits_bitwise": "%d logit rows differ of %d",
    "generated_flips": "%d winners changed of %d",
}  # fmt: skip


class Gate(NamedTuple):
    """A gate's recomputed outcome. value: None where it could not be measured; detail: its words where it passed."""

    passed: bool
    value: Any
    bound: Any
    detail: str | None


Gates = Dict[Key, List[Gate]]  # (gate, engine, against) -> outcomes, several for one gate a cache


def none_of(count: Any, detail: str) -> Gate:
    """A gate that counts faults and allows none; None: there was nothing to count over."""
    return Gate(count == 0 and count is not None, count, 0, detail)


def recomputed_gates(bundle: Bundle) -> Gates:
    gates: Gates = OrderedDict()
    for key, gate in [*drift_gates(bundle), *engine_gates(bundle), *run_gates(bundle)]:
        gates.setdefault(key, []).append(gate)
    return gates


def drift_gates(bundle: Bundle) -> Iterator[Tuple[Key, Gate]]:
    rows = drift_rows(bundle)
    margin = GATES["winner_margin"]
    counted = (
        ("winner", lambda row: not row["winner_same"] and row["reference_margin"] >= margin and row.get("room", True),
         "0 changed winners where the reference's margin is %s or more of %d" % (margin, asked_questions(bundle))),
        ("tokens", lambda row: not row["tokens_same"], "0 questions with another token total of %d" % asked_questions(bundle)),
        ("shape", lambda row: not row["shape_same"],
         "0 answers of another shape or contradicting themselves of %d" % asked_questions(bundle)),
    )  # fmt: skip
    bitwise = (
        ("hidden_bitwise", lambda row: row["hidden_equal"] is not True, "0 hidden rows that differ of %d"),
        ("logits_bitwise", lambda row: row["logits_equal"] is not True, "0 logit rows that differ of %d"),
    )
    for engine, against in comparisons(bundle):
        mine = {key: row for key, row in rows.items() if key[:2] == (engine, against)}
        if against == "frozen" and frozen_steps(bundle):
            yield steps_gate(engine, frozen_steps(bundle), mine)
        roomy = {key: row for key, row in mine.items() if row.get("room", True)}
        for name, column in FIGURES.items():
            worst = worst_of(roomy, engine, against, column)
            bound = GATES[name] + SLACK
            place = next(("/".join(key[2:]) for key, row in roomy.items() if worst is not None and row[column] == worst), None)
            detail = "no question of this type" if place is None else "largest at %s" % place
            yield (name, engine, against), Gate(bool(mine) and (worst or 0.0) <= bound, worst or 0.0, bound, detail)
        for name, bad, detail in counted:
            yield (name, engine, against), none_of(sum(map(bad, mine.values())), detail)
        if bundle.profile["claim"] == "exact" and against == "fresh" and engine != "remote":
            for name, bad, detail in bitwise:
                yield (name, engine, against), none_of(sum(map(bad, mine.values())), detail % len(mine))


def steps_gate(engine: str, most: int, mine: Dict[Key, Json]) -> Tuple[Key, Gate]:
    """Frozen answers in BF16 steps, all of them; what is left out of the other bounds is named in its words."""
    taken = [(row["max_steps"], "/".join(key[2:])) for key, row in mine.items()]
    if not taken or any(steps is None for steps, _ in taken):
        return ("frozen_steps", engine, "frozen"), Gate(False, None, most + STEP_SLACK, None)
    worst = max(steps for steps, _ in taken)
    place = next(name for steps, name in taken if steps == worst)
    narrow = ["/".join(key[2:]) for key, row in mine.items() if not row.get("room", True)]
    words = "largest at %s; without room for the other bounds: %s" % (place, ", ".join(narrow) or "none")
    return ("frozen_steps", engine, "frozen"), Gate(worst <= most + STEP_SLACK, worst, most + STEP_SLACK, words)


def asked_questions(bundle: Bundle) -> int:
    return sum(len(case["request"]["questions"]) for case in bundle.corpus())


def engine_gates(bundle: Bundle) -> Iterator[Tuple[Key, Gate]]:
    rows = drift_rows(bundle)
    for engine in OrderedDict.fromkeys(pair[0] for pair in comparisons(bundle)):
        mine = {key: row for key, row in rows.items() if key[0] == engine}
        off = sum(not row["lattice"]["holds"] for row in mine.values())
        yield ("lattice", engine, None), none_of(off, "0 answers on no grid of logit differences of %d" % len(mine))
        answers = measured(bundle, engine)
        sums = [
            math.fsum(answers[request].response["answers"][question]["probabilities"].values())
            for _, _, request, question in mine
        ]
        off = sum(not abs(s - 1) <= SUM_TOLERANCE for s in sums)
        yield ("probability_sum", engine, None), none_of(off, "0 answers that do not sum to 1 of %d" % len(mine))
    for key, outcome in accuracy_outcomes(bundle):
        yield key, Gate(*outcome)
    for engine in bundle.engines:
        compared, differences = repeat_differences(bundle, engine)
        detail = "0 differences in %d repeated answers" % compared
        yield ("repeats", engine, None), none_of(differences if compared else None, detail)
    if "graph" in bundle.engines:
        made = simulation(bundle)
        for name, mismatches in made.mismatches.items():
            counts = ", ".join("%d %s" % (count, counter) for counter, count in made.totals["closed"][name].items())
            yield ("graph_counters", "graph", None), none_of(len(mismatches), "%s: %s" % (name, counts))


def run_gates(bundle: Bundle) -> Iterator[Tuple[Key, Gate]]:
    lines = [line for engine in bundle.engines for line in bundle.exchanges(engine)]
    plans = [(engine, item) for engine in bundle.engines for item in bundle.plan(engine)]
    kept = all(plan_kept(bundle, engine) for engine in bundle.engines)
    by_engine = Counter("frontend" if item.target == "frontend" else engine for engine, item in plans)
    told = ", ".join("%s %d" % (name, by_engine[name]) for name in (*bundle.engines, "frontend") if by_engine[name])
    yield ("counts", None, None), Gate(kept and bool(plans), str(len(lines)), str(len(plans)), told)
    wrong = sum(line["status"] != line["expect"] for line in lines)
    yield ("status", None, None), none_of(wrong if lines else None, "%d as planned" % len(lines))
    if bundle.profile["claim"] == "exact" and bundle.operators:
        checks = bundle.json("operators.json")["checks"]
        elements, missed = sum(c["elements"] for c in checks), sum(c[name] for c in checks for name in MISSES)
        detail = "0 of %d elements in %d checks" % (elements, len(checks))
        yield ("operators", None, None), none_of(missed if checks else None, detail)
    yield ("health", None, None), none_of(len(health_misses(bundle)), "READY throughout")
    files = bundle.json("sources.json")["after"]
    changed = len(changed_sources(bundle)) if files else None
    yield ("sources", None, None), none_of(changed, "%d files unchanged" % len(files))
    for key, value, bound, passed in generated_gates(bundle):
        words = GENERATED_WORDS.get(key[0])
        yield key, Gate(passed, value, bound, words % (value, bundle.generated) if words and value is not None else None)


def plan_kept(bundle: Bundle, engine: str) -> bool:
    digests = {case["id"]: case["sha256"] for case in bundle.corpus()}
    planned, lines = bundle.plan(engine), bundle.exchanges(engine)
    return len(planned) == len(lines) and all(
        line["n"] == number
        and place(line) == item[:6]
        and (item.digest is None or line["request_sha256"] == digests[item.request])
        and line["sequence"] == (None if engine == "remote" else number)
        for number, (item, line) in enumerate(zip(planned, lines), 1)
    )


def repeat_differences(bundle: Bundle, engine: str) -> Tuple[int, int]:
    """(answers compared with the first measured pass, how many differ): responses but for latency, then raw records."""
    lines = [line for line in bundle.exchanges(engine) if line["expect"] == 200]
    first = {
        x["request_id"]: x
        for x in lines
        if x["phase"] == "measured" and x["pass"] == 1 and x["status"] == 200
    }
    compared = differences = 0
    for line in lines:
        base = first.get(line["request_id"])
        if base is line:
            continue
        compared += 1
        if base is None or line["status"] != 200:
            differences += 1
            continue
        texts = [without_latency(bundle.body(x["response_sha256"])) for x in (base, line)]
        differences += texts[0] != texts[1]
        if engine != "remote":
            one, two = (
                {q["question"]: q for q in bundle.post(engine, x["sequence"]).questions} for x in (base, line)
            )
            for name in set(one) | set(two):
                pair = [side.get(name, {}) for side in (one, two)]
                differences += any(
                    pair[0].get(key) != pair[1].get(key) for key in ("logits", "hidden", "tokens")
                )
    return compared, differences


def without_latency(response: Json) -> str:
    usage = {key: value for key, value in response["usage"].items() if key != "latency_ms"}
    return json.dumps(dict(response, usage=usage))


def check_gates(bundle: Bundle) -> None:
    """Every gate there must be is there once, with the outcome, value and bound recomputed here."""
    told: Dict[Key, List[Json]] = OrderedDict()
    for gate in bundle.json("verdict.json")["gates"]:
        told.setdefault((gate["gate"], gate["engine"], gate["against"]), []).append(gate)
    expected = recomputed_gates(bundle)
    for key in [key for key in told if key not in expected]:
        bundle.fail("verdict.json gate %s" % gate_text(key), "is no gate of this run")
    for key, outcomes in expected.items():
        where, gates = "verdict.json gate %s" % gate_text(key), told.get(key, [])
        if len(gates) != len(outcomes):
            bundle.fail(where, "is there %d times, expected %d" % (len(gates), len(outcomes)))
        for gate, outcome in zip(gates, outcomes):
            found, words = {name: gate[name] for name in ("passed", "value", "bound", "detail")}, outcome.detail
            compare_figures(bundle, where, found, dict(outcome._asdict(), detail=words if outcome.passed and words is not None else found["detail"]))
        for outcome in outcomes:
            if not outcome.passed:
                bundle.fail(
                    "gate %s" % gate_text(key), "failed: %s, bound %s" % (short(outcome.value), outcome.bound)
                )


def gate_text(key: Key) -> str:
    return " ".join(str(part) for part in key if part)


# ---------------- hidden_rows: Label logits follow from the recorded hidden rows and the label head.

def check_hidden_rows(bundle: Bundle) -> None:
    """Label logits follow from the recorded hidden rows and the label rows, to the rounding of the model's dtype."""
    if not bundle.recorded_engines:
        return
    head = bundle.json("checkpoint.json")["label_head"]
    width, matrix = head["shape"][1], bf16(bundle.read(head["file"]))
    rows = [matrix[i * width : (i + 1) * width] for i in range(LABELS)]
    seen = set()
    for engine in bundle.recorded_engines:
        for line in bundle.worker(engine):
            if line["kind"] == "question" and (line["hidden"], line["logits"]) not in seen:
                seen.add((line["hidden"], line["logits"]))
                data = bundle.read("records/rows/%s" % line["hidden"])
                fault = hidden_fault(data, line["logits"], rows, bundle.profile["runtime"]["dtype"])
                if fault:
                    bundle.fail(
                        "records/%s/worker.jsonl post %s %s" % (engine, line["sequence"], line["question"]),
                        fault,
                    )
    if not seen:
        bundle.fail("records", "hold no hidden row")


def hidden_fault(data: bytes, logits: str, rows: Sequence[Sequence[float]], dtype: str) -> str:
    """What is wrong with logits as the product of a hidden row and the label rows, "" if nothing is.

    A product is rounded to the model's dtype once, so by half a step; before that, float32 sums lose what their
    terms' magnitudes allow. Anything further is another number than this row gives.
    """
    letter, size, finer = {
        "bfloat16": ("", 2, 1.0),
        "float32": ("f", 4, 2.0**-16),
        "float64": ("d", 8, 2.0**-16),
    }[dtype]
    width = len(rows[0])
    if len(data) != size * width:
        return "the hidden row has %d bytes, expected %d values of %d" % (len(data), width, size)
    hidden = bf16(data) if not letter else struct.unpack("<%d%s" % (width, letter), data)
    if not all(map(math.isfinite, hidden)):
        return "the hidden row has a value that is not finite, expected %d finite ones" % width
    for label, (found, row) in enumerate(zip(floats(logits), rows)):
        if dtype == "bfloat16" and struct.pack("<f", found)[:2] != b"\0\0":
            return "label %d: logit %r is no BF16 number, and nothing else can come from this dtype" % (label, found)
        terms = [a * b for a, b in zip(hidden, row)]
        expected = math.fsum(terms)
        allowed = spacing(max(abs(expected), abs(found))) * finer / 2 + math.fsum(map(abs, terms)) * 2.0**-20
        if not abs(found - expected) <= allowed:
            return "label %d: logit %r, expected within %.3g: hidden row and label head give %r" % (label, found, allowed, expected)
    return ""


# ---------------- identity: Run, profile and protocol belong together, and the gates are the fixed ones.

def check_identity(bundle: Bundle) -> None:
    """run.json, profile and protocol belong together, and the gates are the fixed ones."""
    run, profile = bundle.json("run.json"), bundle.profile
    bundle.expect("run.json profile_sha256", run["profile_sha256"], sha256(bundle.read("profile.json")))
    bundle.expect("run.json profile", run["profile"], profile["name"])
    canonical = json.dumps(profile, sort_keys=True, ensure_ascii=False, separators=(",", ":")) + "\n"
    if canonical.encode() != bundle.read("profile.json"):
        bundle.fail("profile.json", "is not in canonical form")
    bundle.expect("profile.json gates", profile["gates"], GATES)
    if profile["claim"] not in ("exact", "faithful", "baseline"):
        bundle.fail(
            "profile.json claim", "is %s, expected exact, faithful or baseline" % short(profile["claim"])
        )
    campaign = profile["campaign"]
    if campaign["reference"] not in ("", "reference"):
        bundle.fail(
            "profile.json reference", "is %s, which is not the official one" % short(campaign["reference"])
        )
    if bundle.exported and (campaign["reference"] or "reference" in campaign["engines"]):
        bundle.fail("profile.json reference", "ran from an export, which holds no whole head for it")
    raw = {"native", "graph"}.intersection(campaign["engines"])
    if profile["claim"] == "exact" and (
        not campaign["reference"] or not raw or "remote" in campaign["engines"] or campaign["passes"] < 2
    ):
        bundle.fail("profile.json claim", "is exact without both sides' rows over two passes to show it")
    digest = sha256(bundle.read(protocol_sums(bundle)))
    bundle.expect("run.json protocol_sha256", run["protocol_sha256"], digest)
    if profile["protocol"]["sha256"]:
        bundle.expect("profile.json protocol.sha256", profile["protocol"]["sha256"], digest)


def protocol_sums(bundle: Bundle) -> str:
    name = "protocol/SHA256SUMS"
    return name if bundle.exists(name) else "protocol/corpus.jsonl"


def check_profile_toml(bundle: Bundle) -> None:
    """The declared TOML says nothing else than the resolved profile."""
    try:
        import tomllib
    except ImportError:
        bundle.leave("profile.toml against profile.json (needs Python 3.11)")
        return
    try:
        declared = tomllib.loads(bundle.read("profile.toml").decode("utf-8"))
    except ValueError as error:
        bundle.fail("profile.toml", "is not TOML: %s" % error)
        return
    compare_declared(bundle, declared, bundle.profile, "profile.toml")


def compare_declared(bundle: Bundle, declared: Json, resolved: Json, where: str) -> None:
    for key, value in declared.items():
        at = "%s %s" % (where, key)
        if isinstance(value, dict) and isinstance(resolved.get(key), dict):
            compare_declared(bundle, value, resolved[key], at)
        elif resolved.get(key) != value:
            bundle.fail(at, "declares %s, profile.json has %s" % (short(value), short(resolved.get(key))))


# ---------------- measured: Measured speed on a GPU: rows, intervals, drift and targets from the samples.

# Figures: engines by what they are, what is measured on a GPU, and what was meant to be reached there.
FIGURE_CLASSES = {
    "reference": "reference", "eager": "candidate", "graph": "candidate", "remote": "candidate",
    "reference-graph": "baseline", "merged": "baseline", "merged-graph": "baseline", "compiled-graph": "baseline",
    "merged-compiled-graph": "baseline", "gemm-floor": "floor",
}  # fmt: skip
FIGURE_BASES = ("reference", "reference-graph")
TEXT_LENGTHS = (98, 171, 392, 1024, 2282)
TEXT_ENGINES = ("reference", "reference-graph", "eager", "graph", "gemm-floor")
PHASES = (
    *("text %d" % tokens for tokens in TEXT_LENGTHS), "text 8192", "vision-768x512", "image-768x512", "image-256x256",
    "images-4", "questions-4", "profile", "http", "adapter swap", "stream", "compiled", "merged", "merged compiled",
)  # fmt: skip
WORKLOAD_PHASES = ("vision-768x512", "image-768x512", "image-256x256", "images-4", "questions-4")
RATIO_TARGETS = ((98, 0.65), (171, 0.65), (392, 0.65), (1024, 0.75), (2282, 0.75))
SPEEDUP_TARGETS = ((98, 5.0), (392, 2.6))
VISION_TARGET_MS, PEAK_TARGET_GIB, GIB = 6.0, 4.0, 1 << 30
LEAST_BLOCKS = 5
MOST_ENTRIES = 400
MOST_BLOCKS, MOST_TIMES = 64, 1024  # what one entry can hold
RESAMPLES, RESAMPLE_SEED = 1000, 20261130


def sampled_rows(bundle: Bundle) -> Dict[Key, Json]:
    """The row performance.json must have for each entry of the samples, but for anchors."""
    if "sampled rows" not in bundle.memory:
        bundle.memory["sampled rows"] = compute_sampled_rows(bundle)
    rows: Dict[Key, Json] = bundle.memory["sampled rows"]
    return rows


def compute_sampled_rows(bundle: Bundle) -> Dict[Key, Json]:
    document = bundle.json(SAMPLES)
    if len(document["entries"]) > MOST_ENTRIES:
        raise UnreadableError("%s holds %d entries, expected at most %d" % (SAMPLES, len(document["entries"]), MOST_ENTRIES))
    entries = [entry for entry in document["entries"] if sound(bundle, entry)]
    rounds = measured_together(bundle, entries)
    answers = {
        (e["workload"], e["way"], e["tokens"]): e["logits"]
        for e in entries
        if e["engine"] == "reference" and not e["anchor"]
    }
    rows: Dict[Key, Json] = OrderedDict()
    for entry in entries:
        if entry["anchor"]:
            continue
        expected = answers.get((entry["workload"], entry["way"], entry["tokens"]))
        row = sampled_row(bundle, entry, rounds[entry["round"]], expected)
        where = "%s %s" % (SAMPLES, "/".join(map(str, figure_key(row)[:4])))
        if figure_key(row) in rows:
            bundle.fail(where, "is there more than once")
        rows[figure_key(row)] = row
        answering = entry["way"] == "call" and not entry["workload"].startswith("vision")
        if answering and row["class"] in ("baseline", "candidate") and row["drift"] is None:
            bundle.fail(where, "has no drift beside its speed")
        exact = bundle.profile["claim"] == "exact" and row["class"] == "candidate"
        if exact and row["drift"] not in (None, 0.0):
            bundle.fail(where, "drifts by %s, and the claim is exact" % short(row["drift"]))
    return rows


def measured_together(bundle: Bundle, entries: List[Json]) -> Dict[Any, Dict[str, Json]]:
    """Entries of each round by engine. A round is one workload in equal blocks, or its ratios would mean nothing."""
    rounds: Dict[Any, Dict[str, Json]] = {}
    for entry in entries:
        together = rounds.setdefault(entry["round"], {})
        where = "%s round %s %s" % (SAMPLES, entry["round"], entry["engine"])
        if entry["engine"] in together:
            bundle.fail(where, "is there more than once")
        together.setdefault(entry["engine"], entry)
        if circumstances(entry) != circumstances(next(iter(together.values()))):
            bundle.fail(
                where, "was measured on another workload or in other blocks than the rest of its round"
            )
    return rounds


def circumstances(entry: Json) -> Tuple[Any, ...]:
    shape = (len(entry["wall_ms"]), len(entry["wall_ms"][0]))
    return (entry["workload"], entry["way"], entry["tokens"], entry["images"], shape)


def sound(bundle: Bundle, entry: Json) -> bool:
    """Whether an entry is of a known engine and has whole blocks of times."""
    where = "%s round %s %s" % (SAMPLES, entry["round"], short(entry["engine"]))
    if entry["engine"] not in FIGURE_CLASSES:
        bundle.fail(where, "is no engine that is measured")
        return False
    blocks = entry["wall_ms"]
    times = [ms for block in blocks for ms in block]
    whole = LEAST_BLOCKS <= len(blocks) <= MOST_BLOCKS and len({len(block) for block in blocks}) == 1 and len(times) <= MOST_TIMES
    if not whole or not times or not all(is_number(ms) and ms > 0 for ms in times):
        bundle.fail(where, "holds no %d or more equal blocks of positive times (at most %d)" % (LEAST_BLOCKS, MOST_BLOCKS))
        return False
    sizes = [entry["pool_bytes"]] + ([] if entry["extra_bytes"] is None else [entry["extra_bytes"]])
    if not all(type(size) is int and size >= 0 for size in sizes):
        bundle.fail(where, "holds a size in bytes that is none")
        return False
    cold = entry["cold_ms"]
    if cold is not None and not (is_number(cold) and cold > 0):
        bundle.fail(where, "cold_ms is %s, expected a time or nothing" % short(cold))
        return False
    if bundle.profile["runtime"]["dtype"] == "bfloat16" and not all(map(is_bf16, entry["logits"] or ())):
        bundle.fail(where, "holds logits that are no BF16 numbers, expected what the model's dtype holds")
        return False
    if not all(math.isfinite(logit) for text in entry["logits"] or () for logit in floats(text)):
        bundle.fail(where, "holds logits that are not finite")
        return False
    return True


def sampled_row(bundle: Bundle, entry: Json, together: Dict[str, Json], answer: Any) -> Json:
    wall = [ms for block in entry["wall_ms"] for ms in block]
    on_device = [ms for block in entry["device_ms"] for ms in block]
    extra = entry["extra_bytes"]
    used = None if extra is None else bundle.json(SAMPLES)["weight_bytes"] + extra + entry["pool_bytes"]
    return {
        "engine": entry["engine"], "workload": entry["workload"], "way": entry["way"], "tokens": entry["tokens"],
        "samples": len(wall), "median_ms": quantile(wall, 0.5), "p95_ms": quantile(wall, 0.95),
        "min_ms": min(wall), "max_ms": max(wall),
        "device_median_ms": quantile(on_device, 0.5) if on_device else None, "cold_ms": entry["cold_ms"],
        "peak_gib": None if used is None else used / GIB, "pool_gib": entry["pool_bytes"] / GIB,
        "class": FIGURE_CLASSES[entry["engine"]],
        "drift": logit_drift(entry["logits"], answer, bundle.temperatures()["image" if entry["images"] else "text"]),
        "ratios": {
            base: ratio_interval(entry["wall_ms"], together[base]["wall_ms"])
            for base in FIGURE_BASES
            if base in together and base != entry["engine"]
        },
    }  # fmt: skip


def figure_key(row: Json) -> Key:
    return (row["engine"], row["workload"], row["way"], row["tokens"], row.get("pass"))


def logit_drift(ours: Any, theirs: Any, temperature: float) -> Any:
    """Largest change of a probability between two lists of logits in hex; None where there is no like to compare."""
    if ours is None or theirs is None or [len(a) for a in ours] != [len(b) for b in theirs]:
        return None
    changes = []
    for a, b in zip(ours, theirs):
        p, q = softmax(floats(a), temperature), softmax(floats(b), temperature)
        changes += [abs(x - y) for x, y in zip(p, q)]
    return max(changes)


def ratio_interval(ours: List[List[float]], theirs: List[List[float]]) -> Json:
    """Ratio of two medians, and the middle 95% of it when blocks are drawn again, both sides alike."""
    drawn = resamples(len(ours))
    known = {blocks: ratio_of_medians([ours[i] for i in blocks], [theirs[i] for i in blocks]) for blocks in set(drawn)}
    ratios = [known[blocks] for blocks in drawn]
    return {"ratio": ratio_of_medians(ours, theirs), "low": quantile(ratios, 0.025), "high": quantile(ratios, 0.975)}


@lru_cache(maxsize=MOST_BLOCKS)
def resamples(count: int) -> List[Tuple[int, ...]]:
    """Which of so many blocks each resample takes; in order, since a median does not ask for theirs."""
    chance = random.Random(RESAMPLE_SEED)
    return [tuple(sorted(int(chance.random() * count) for _ in range(count))) for _ in range(RESAMPLES)]


def ratio_of_medians(ours: Sequence[List[float]], theirs: Sequence[List[float]]) -> float:
    sides = [quantile([ms for block in blocks for ms in block], 0.5) for blocks in (ours, theirs)]
    return sides[0] / sides[1]


def check_measured(bundle: Bundle, document: Json) -> None:
    """Everything planned was measured or is listed with a reason; targets are what the rows say."""
    measured, rows = document["measured"], sampled_rows(bundle)
    bundle.expect("%s temperatures" % SAMPLES, bundle.json(SAMPLES)["temperatures"], bundle.temperatures())
    left_out = {item["phase"]: item["reason"] for item in measured["not_measured"]}
    for phase in PHASES:
        reason = left_out.get(phase)
        if phase not in measured["seconds"] and not (isinstance(reason, str) and reason):
            bundle.fail("performance.json measured", "%s was neither measured nor listed as left out" % phase)
    for phase in sorted(set(WORKLOAD_PHASES) - set(left_out)):
        if not any(row["workload"] == phase for row in rows.values()):
            bundle.fail("%s %s" % (SAMPLES, phase), "is missing and not listed as left out")
    for tokens in TEXT_LENGTHS:
        for engine in TEXT_ENGINES:
            key = (engine, "text", "call", tokens, None)
            if "text %d" % tokens not in left_out and key not in rows:
                bundle.fail(
                    "%s %s/text/%d" % (SAMPLES, engine, tokens), "is missing and not listed as left out"
                )
    swap = measured.get("adapter_swap", {})
    for name in ("changed", "same_as_reference", "returned") if swap else ():
        bundle.expect("performance.json adapter_swap %s" % name, swap[name], True)
    told = [
        (item["target"], item["bound"], item["at_least"], item["outcome"]) for item in measured["targets"]
    ]
    wanted = targets(rows, bundle.json(SAMPLES)["weight_bytes"])
    bundle.expect(
        "performance.json measured weight_bytes",
        measured["weight_bytes"],
        bundle.json(SAMPLES)["weight_bytes"],
    )
    bundle.expect("performance.json targets", told, [(name, *rest) for name, _, *rest in wanted])
    for item, (name, value, *_) in zip(measured["targets"], wanted):
        if not same(item["value"], value):
            message = "is %s, recomputed %s"
            bundle.fail("performance.json target %s" % name, message % (short(item["value"]), short(value)))


def targets(rows: Dict[Key, Json], weight_bytes: int) -> List[Tuple[str, Any, float, bool, str]]:
    """(target, value, bound, whether at least that is wanted, outcome) of each, in order."""

    def ratio(tokens: int, base: str) -> Any:
        row = rows.get(("graph", "text", "call", tokens, None))
        return row["ratios"][base]["ratio"] if row and base in row["ratios"] else None

    vision = rows.get(("graph", "vision-768x512", "call", 384, None))
    mine = [r for r in rows.values() if r["engine"] == "graph" and r["peak_gib"] is not None]
    peaks = [row["peak_gib"] for row in mine if row["tokens"] <= max(TEXT_LENGTHS)]
    found: List[Tuple[str, float, Any, bool]] = [
        ("graph / reference-graph, %d tokens" % tokens, bound, ratio(tokens, "reference-graph"), False)
        for tokens, bound in RATIO_TARGETS
    ]
    for tokens, bound in SPEEDUP_TARGETS:
        slow = ratio(tokens, "reference")
        found.append(("reference / graph, %d tokens" % tokens, bound, 1 / slow if slow else None, True))
    found.append(
        ("graph: vision 768x512, ms", VISION_TARGET_MS, vision["median_ms"] if vision else None, False)
    )
    above = max(peaks) - weight_bytes / GIB if peaks else None
    found.append(("graph: GiB above the weights", PEAK_TARGET_GIB, above, False))
    outcomes = []
    for name, bound, value, least in found:
        reached = value is not None and (value >= bound if least else value <= bound)
        outcome = "not measured" if value is None else "met" if reached else "missed"
        outcomes.append((name, value, bound, least, outcome))
    return outcomes


# ---------------- latency: What the recorded exchanges took, row by row.

def check_performance(bundle: Bundle) -> None:
    """performance.json is what the recorded exchanges took, and the samples of a profile that measures a GPU."""
    document, expected = bundle.json("performance.json"), latency_rows(bundle)
    if bundle.measured:
        expected.update(sampled_rows(bundle))
        check_measured(bundle, document)
    else:
        bundle.expect("performance.json measured", document.get("measured"), None)
    found = {figure_key(row): row for row in document["rows"]}
    bundle.expect("performance.json number of rows", len(document["rows"]), len(expected))
    for key in sorted(set(found) | set(expected), key=str):
        where = "performance.json %s" % "/".join(map(str, key))
        if key not in found or key not in expected:
            bundle.fail(where, "has no row" if key not in found else "is no measurement of this run")
        else:
            compare_figures(bundle, where, flat(found[key]), flat(expected[key]))
    check_starts(bundle, document)


def check_starts(bundle: Bundle, document: Json) -> None:
    engines = sorted(map(figure_name, bundle.engines))
    for name in ("start_seconds", "first_answer_seconds"):
        if set(document.get(name, {})) - set(engines):
            bundle.expect("performance.json %s engines" % name, sorted(document[name]), engines)
    for engine in bundle.engines:
        recorded = bundle.json("records/%s/engine.json" % engine).get("start_seconds")
        answers = (line for line in bundle.exchanges(engine) if line["status"] == 200)
        line = next(answers, None)
        first = None
        if line is not None and recorded is not None:
            first = recorded + (line["finished_ns"] - line["started_ns"]) / 1e9
        for name, value in (("start_seconds", recorded), ("first_answer_seconds", first)):
            told = document.get(name, {}).get(figure_name(engine))
            if not same(told, value):
                message = "is %s, recomputed %s"
                bundle.fail("performance.json %s %s" % (name, engine), message % (short(told), short(value)))


def figure_name(engine: str) -> str:
    return "eager" if engine == "native" else engine


def flat(row: Json) -> Json:
    """A row with its ratios as columns of their own."""
    columns = {name: value for name, value in row.items() if name != "ratios"}
    for base, figures in (row.get("ratios") or {}).items():
        columns.update({"%s to %s" % (name, base): value for name, value in figures.items()})
    return columns


def latency_rows(bundle: Bundle) -> Dict[Key, Json]:
    """The row performance.json must have for each engine, way, pass and kind of recorded request."""
    groups: Dict[Key, List[float]] = OrderedDict()
    for engine in bundle.engines:
        for line in bundle.exchanges(engine):
            if line["phase"] == "measured" and line["status"] == 200:
                told = bundle.body(line["response_sha256"])["usage"]["latency_ms"]
                for way, ms in (
                    ("client", (line["finished_ns"] - line["started_ns"]) / 1e6),
                    ("server", told),
                ):
                    for workload in ("protocol-%s" % line["modality"], "protocol"):
                        groups.setdefault((engine, way, line["pass"], workload), []).append(ms)
    rows = OrderedDict()
    for key, values in groups.items():
        base, engine = groups.get((bundle.reference, *key[1:])), figure_name(key[0])
        row = {
            "engine": engine, "way": key[1], "pass": key[2], "workload": key[3], "tokens": None, "samples": len(values),
            "median_ms": quantile(values, 0.5), "p95_ms": quantile(values, 0.95),
            "min_ms": min(values), "max_ms": max(values), "peak_gib": None,
            "speedup": quantile(base, 0.5) / quantile(values, 0.5) if base and quantile(values, 0.5) > 0 else None,
            "class": FIGURE_CLASSES[engine], "drift": drift_beside(bundle, key[0]),
        }  # fmt: skip
        rows[figure_key(row)] = row
    return rows


def drift_beside(bundle: Bundle, engine: str) -> Any:
    against = next((kind for kind in ("fresh", "frozen") if (engine, kind) in comparisons(bundle)), None)
    return worst_of(drift_rows(bundle), engine, against, "probability_drift") if against else None


# ---------------- layers: A few generated questions layer by layer: which were walked, and what is said of all of them together.

STEP_BINS = [0.0, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 64.0]  # upper ends of a histogram of BF16 steps
WALKED = 2  # requests of each modality
COLUMNS = ("elements", "different", "relative_rms", "max_steps", "limit", "over")


def check_layers(bundle: Bundle) -> None:
    """layers.json is about the first generated questions, its columns are whole, and its summaries follow from them.

    Its bounds are leads for people; no gate reads them.
    """
    if not bundle.generated:
        return
    document, candidate = bundle.json(LAYERS), generated_candidate(bundle)
    bundle.expect("%s keys" % LAYERS, sorted(document), ["checkpoint_digest", "format", "oracle_ratio", "pairs", "rows", "steps"])
    bundle.expect("%s checkpoint_digest" % LAYERS, document["checkpoint_digest"], bundle.json("checkpoint.json")["digest"])
    bundle.expect("%s rows" % LAYERS, document["rows"], "all")
    bundle.expect("%s steps" % LAYERS, document["steps"], STEP_BINS)
    pairs = [(candidate, "reference"), ("reference", "oracle"), (candidate, "oracle")]
    bundle.expect("%s pairs" % LAYERS, [(p["engine"], p["against"]) for p in document["pairs"]], pairs)
    walked = [
        item.line for kind in ("text", "image") for item in [x for x in asked(bundle) if x.modality == kind][:WALKED]
    ]
    wanted = [(line["request"], line["question"], line["modality"], line["tokens"]) for line in walked]
    for pair in document["pairs"]:
        where = "%s %s against %s" % (LAYERS, pair["engine"], pair["against"])
        bundle.expect("%s bound" % where, pair["bound"], "rounding" if pair["against"] == "oracle" else "bits")
        prompts = [(p["request"], p["question"], p["modality"], p["tokens"]) for p in pair["prompts"]]
        bundle.expect("%s prompts" % where, prompts, wanted)
        for prompt in pair["prompts"]:
            judge_walk(bundle, "%s %s" % (where, prompt["request"]), prompt, pair["bound"])
        bundle.expect("%s worst" % where, pair["worst"], worst_stages(pair["prompts"]))
        bundle.expect("%s over" % where, pair["over"], sum(sum(p["over"]) for p in pair["prompts"]))
    told, expected = document["oracle_ratio"], {candidate: median_ratios(document["pairs"])}
    bundle.expect("%s oracle_ratio" % LAYERS, sorted(told), sorted(expected))
    for stage, value in expected[candidate].items():
        if stage not in told.get(candidate, {}) or not same(told[candidate][stage], value):
            bundle.fail("%s oracle_ratio %s" % (LAYERS, stage), "is %s, recomputed %s" % (short(told.get(candidate, {}).get(stage)), value))
    bundle.expect("%s oracle_ratio stages" % LAYERS, list(told.get(candidate, {})), list(expected[candidate]))


def judge_walk(bundle: Bundle, where: str, prompt: Json, bound: Any) -> None:
    """One prompt: as many figures in each column as stages, none over its bound unsaid, hidden row and logits last."""
    stages = prompt["stages"]
    if len(set(stages)) != len(stages) or stages[-2:] != ["hidden", "logits"]:
        bundle.fail("%s stages" % where, "are %s, expected distinct ones that end in hidden, logits" % short(stages))
    for column in COLUMNS:
        if len(prompt[column]) != len(stages):
            bundle.fail("%s %s" % (where, column), "has %d figures, expected %d" % (len(prompt[column]), len(stages)))
    over: List[bool] = []
    for index, stage in enumerate(stages):
        elements, different, rms, most, limit, _ = (prompt[column][index] for column in COLUMNS)
        if type(elements) is not int or type(different) is not int or not 0 <= different <= elements or not elements:
            bundle.fail("%s %s" % (where, stage), "has %s of %s elements that differ" % (short(different), short(elements)))
        if not all(value is None or (is_number(value) and value >= 0) for value in (rms, most, limit)):
            bundle.fail("%s %s" % (where, stage), "has figures %s, expected none under 0" % short([rms, most, limit]))
        if not prompt["problems"].get(stage) and (different == 0) != (rms == 0 and most == 0):
            bundle.fail("%s %s" % (where, stage), "%s elements differ by a relative RMS of %s" % (different, short(rms)))
        if bound == "bits" and limit is not None:
            bundle.fail("%s %s" % (where, stage), "has a limit of %s where no bit may differ" % short(limit))
        beyond = different > 0 if limit is None else rms is None or rms > limit
        over.append(bool(prompt["problems"].get(stage)) or beyond)
    bundle.expect("%s over" % where, prompt["over"], over)
    first = next((stage for stage, beyond in zip(stages, over) if beyond), None)
    bundle.expect("%s first_over" % where, prompt["first_over"], first)


def worst_stages(prompts: List[Json]) -> Json:
    """Stage -> largest relative RMS of all prompts, None where one has none."""
    longest: List[str] = max((prompt["stages"] for prompt in prompts), key=len)
    found: Dict[str, List[Any]] = {stage: [] for stage in longest}
    for prompt in prompts:
        for stage, value in zip(prompt["stages"], prompt["relative_rms"]):
            found[stage].append(value)
    return {stage: None if None in values else max(values) for stage, values in found.items()}


def median_ratios(pairs: List[Json]) -> Json:
    """Stage -> median of the candidate's error over the reference's, both against the oracle."""
    reference, candidate = (
        {
            (prompt["request"], prompt["question"]): dict(zip(prompt["stages"], prompt["relative_rms"]))
            for prompt in pair["prompts"]
        }
        for pair in pairs[1:3]
    )
    ratios: Dict[str, List[float]] = {stage: [] for stage in max(candidate.values(), key=len)}
    places: List[Tuple[Any, Any]] = list(candidate)
    for place in places:
        for stage, error in candidate[place].items():
            theirs = reference.get(place, {}).get(stage)
            if error is not None and theirs:
                ratios[stage].append(error / theirs)
    return {stage: statistics.median(found) if found else None for stage, found in ratios.items()}


# ---------------- moments: Time: what happened when, by two clocks and on both sides of the wire, in the order of the stages.

UTC_FORMAT = "%Y-%m-%dT%H:%M:%S.%fZ"
CLOCKS_APART = 0.25  # seconds that UTC and the monotonic clock may differ by over one request
CLOCKS_DRIFT = 1.0  # and over all requests of an engine
ROUNDING_MS = 0.002  # of times that are added up
PARTS = ("prepare", "wait", "total")
FORWARDS = ("vision", "language")  # parts of the total, told by engines that time them apart
LATEST_START = 7 * 86400  # seconds between the start of a run and its first stage, which a resumed run may have to repeat
LONGEST_PAUSE = 30 * 86400.0  # seconds that a run may rest between two stages, killed and taken up again
NOTEBOOK_SLACK = 1.0  # seconds between papermill's clock and a cell's


def seconds_of(text: Any, where: str) -> float:
    """Seconds since 1970 of a UTC time as this kit, or papermill, writes it. Raises ValueError naming the place."""
    try:
        if str(text).endswith("Z"):
            return datetime.strptime(str(text), UTC_FORMAT).replace(tzinfo=timezone.utc).timestamp()
        found = datetime.fromisoformat(str(text))
        return (found if found.tzinfo else found.replace(tzinfo=timezone.utc)).timestamp()
    except (ValueError, OverflowError) as error:
        raise ValueError("%s is %s, expected a time in UTC" % (where, short(text))) from error


def check_clocks(bundle: Bundle) -> None:
    """Both clocks of a client tell of every request the same, and no request came before the run or another engine."""
    began = seconds_of(bundle.json("run.json")["started_utc"], "run.json started_utc")
    last, owner = began, "run.json started_utc"
    for engine in bundle.engines:
        offsets: List[float] = []
        for line in bundle.exchanges(engine):
            at = "records/%s/exchanges.jsonl n=%s" % (engine, line["n"])
            start, end = (seconds_of(line[name], "%s %s" % (at, name)) for name in ("started_utc", "finished_utc"))
            steady = (line["finished_ns"] - line["started_ns"]) / 1e9
            if abs((end - start) - steady) > CLOCKS_APART:
                bundle.fail(at, "took %.3f s by UTC, expected %.3f s as by the monotonic clock" % (end - start, steady))
            if not offsets and start < last - CLOCKS_APART:
                bundle.fail(at, "started_utc is %s, expected it after %s" % (line["started_utc"], owner))
            offsets.append(start - line["started_ns"] / 1e9)
            last, owner = max(last, end), at
        if offsets and max(offsets) - min(offsets) > CLOCKS_DRIFT:
            message = "its UTC times leave the monotonic ones by up to %.1f s, expected under %.1f"
            bundle.fail("records/%s/exchanges.jsonl" % engine, message % (max(offsets) - min(offsets), CLOCKS_DRIFT))


def check_timings(bundle: Bundle) -> None:
    """A worker's times add up, are the ones it answered with, and lie within what the client saw."""
    for engine in bundle.recorded_engines:
        for line in bundle.exchanges(engine):
            if line["sequence"] in bundle.posts(engine):
                post = bundle.post(engine, line["sequence"])
                at = "records/%s/worker.jsonl post %s" % (engine, line["sequence"])
                waited = (line["finished_ns"] - line["started_ns"]) / 1e6
                if not 0 < post.line["latency_ms"] <= waited:
                    message = "latency_ms is %s, expected at most the %.3f ms that the client waited"
                    bundle.fail(at, message % (short(post.line["latency_ms"]), waited))
                if line["status"] == 200:
                    answered = bundle.body(line["response_sha256"])["usage"]["latency_ms"]
                    bundle.expect("%s latency_ms, against the answer" % at, post.line["latency_ms"], answered)
                    compare_parts(bundle, at, engine, post.line, post.questions, bool(post.visions))
                else:
                    bundle.expect("%s timings_ms" % at, post.line["timings_ms"], {})


def compare_parts(bundle: Bundle, at: str, engine: str, post: Json, questions: List[Json], images: bool) -> None:
    """Parts of one request: known ones, none negative, in sum no more than the whole; language is its questions."""
    parts, timed = post["timings_ms"], engine != "reference"
    wanted = set(PARTS) | ({"language"} if timed else set()) | ({"vision"} if timed and images else set())
    bundle.expect("%s timings_ms" % at, sorted(parts), sorted(wanted))
    if not all(is_number(ms) and ms >= 0 for ms in parts.values()):
        bundle.fail("%s timings_ms" % at, "are %s, expected times of 0 or more" % short(parts))
    elif set(parts) == wanted:
        compare_sums(bundle, at, post, parts, questions)


def compare_sums(bundle: Bundle, at: str, post: Json, parts: Json, questions: List[Json]) -> None:
    whole = sum(parts[name] for name in PARTS)
    if whole > post["latency_ms"] + ROUNDING_MS:
        bundle.fail(at, "its parts take %.3f ms, expected at most its latency_ms %.3f" % (whole, post["latency_ms"]))
    inside = sum(parts.get(name, 0.0) for name in FORWARDS)
    if inside > parts["total"] + ROUNDING_MS:
        bundle.fail(at, "its forwards take %.3f ms, expected at most its total %.3f" % (inside, parts["total"]))
    told = sum(line["ms"] for line in questions)
    if abs(told - parts.get("language", 0.0)) > ROUNDING_MS:
        bundle.fail(at, "its questions take %.3f ms, expected its language part %.3f" % (told, parts.get("language", 0.0)))


def check_starts_of_workers(bundle: Bundle) -> None:
    """Loading is part of starting, and starting took time."""
    for engine in bundle.recorded_engines:
        facts = bundle.json("records/%s/engine.json" % engine)
        loads = [line["load_seconds"] for line in bundle.worker(engine) if line["kind"] == "ready"]
        for load in loads:
            if not 0 < load <= facts["start_seconds"]:
                message = "is %s, expected at least the %s s that loading took"
                bundle.fail("records/%s/engine.json start_seconds" % engine, message % (facts["start_seconds"], load))


def check_order(bundle: Bundle) -> None:
    """Stages ran one after the other, from soon after the start of the run; engines and device within their own."""
    first = stage_window(bundle, bundle.stages()[0])
    if first is not None and first[0] - seconds_of(bundle.json("run.json")["started_utc"], "run.json started_utc") > LATEST_START:
        bundle.fail("run.json started_utc", "is more than %d days before its first stage, expected the same run" % (LATEST_START // 86400))
    last, owner = seconds_of(bundle.json("run.json")["started_utc"], "run.json started_utc"), "run.json started_utc"
    for stage in bundle.stages():
        window = stage_window(bundle, stage)
        if window is None:
            continue
        name = "notebooks/%s.ipynb" % stage
        if window[0] < last - NOTEBOOK_SLACK or window[1] < window[0]:
            bundle.fail(name, "ran from %.3f to %.3f, expected after %s (%.3f)" % (*window, owner, last))
        if window[0] - last > LONGEST_PAUSE:
            bundle.fail(name, "began %.0f days after %s, expected at most %d" % ((window[0] - last) / 86400, owner, LONGEST_PAUSE / 86400))
        last, owner = window[1], name
        if stage in ENGINE_STAGES:
            engine = ENGINE_STAGES[stage]
            for line in bundle.exchanges(engine):
                at = "records/%s/exchanges.jsonl n=%s" % (engine, line["n"])
                expect_within(bundle, at, line["started_utc"], window, name)
                expect_within(bundle, at, line["finished_utc"], window, name)
    for when, stage in (("before", "01_preflight"), ("after", "10_evidence")):
        seen, window = bundle.json("device.json").get(when), stage_window(bundle, stage)
        if seen is not None and window is not None:
            expect_within(bundle, "device.json %s taken_utc" % when, seen["taken_utc"], window, "notebooks/%s.ipynb" % stage)


def expect_within(bundle: Bundle, where: str, text: Any, window: Tuple[float, float], stage: str) -> None:
    """A moment lies within a stage."""
    if not window[0] - NOTEBOOK_SLACK <= seconds_of(text, where) <= window[1] + NOTEBOOK_SLACK:
        bundle.fail(where, "is %s, expected a time within the run of %s" % (short(text), stage))


def stage_window(bundle: Bundle, stage: str) -> Tuple[float, float] | None:
    """Start and end of a stage's notebook as papermill wrote them; None for a notebook that was run by hand."""
    name = "notebooks/%s.ipynb" % stage
    times = bundle.json(name)["metadata"].get("papermill") if bundle.exists(name) else None
    if not times or not times.get("start_time") or not times.get("end_time"):
        return None
    start, end = (seconds_of(times[key], "%s %s" % (name, key)) for key in ("start_time", "end_time"))
    return start, end


# ---------------- notebooks: Stages finished, and their notebooks are whole runs of the packed source.

def check_stages(bundle: Bundle) -> None:
    """Every stage of the profile finished, by its sentinel, with this profile."""
    digest = bundle.json("run.json")["profile_sha256"]
    for stage in bundle.stages():
        name = "stages/%s.json" % stage
        if not bundle.exists(name):
            bundle.fail(name, "is missing: the stage did not finish")
            continue
        document = bundle.json(name)
        wanted = {"format": "kit-stage/1", "stage": stage, "profile_sha256": digest, "sentinel": SENTINEL}
        for key, expected in wanted.items():
            bundle.expect("%s %s" % (name, key), document.get(key), expected)


def check_notebooks(bundle: Bundle) -> None:
    """Every executed notebook is a whole, error-free run of the packed source with the parameters it reports."""
    for stage in bundle.stages():
        name = "notebooks/%s.ipynb" % stage
        if not bundle.exists(name):
            bundle.fail(name, "is missing")
            continue
        cells = bundle.json(name)["cells"]
        check_notebook_source(bundle, name, cells)
        check_notebook_run(bundle, name, cells)
        check_notebook_parameters(bundle, name, cells, "stages/%s.json" % stage)


def check_notebook_source(bundle: Bundle, name: str, cells: List[Json]) -> None:
    if name not in bundle.sources():
        bundle.fail(name, "has no source in source.tar.gz")
        return
    original = parse_json(bundle.sources()[name], "source.tar.gz: %s" % name)["cells"]
    injected = [index for index, cell in enumerate(cells) if "injected-parameters" in tags(cell)]
    if injected not in ([], [position_of("parameters", cells) + 1]):
        bundle.fail(name, "has injected cells where none belong")
    kept = [(cell["cell_type"], joined(cell)) for i, cell in enumerate(cells) if i not in injected]
    if kept != [(cell["cell_type"], joined(cell)) for cell in original]:
        bundle.fail(name, "its cells are not those of the packed source")


def check_notebook_run(bundle: Bundle, name: str, cells: List[Json]) -> None:
    count = 0
    for index, cell in enumerate(cells):
        if cell["cell_type"] != "code" or not joined(cell).strip():
            continue
        count += 1
        at = "%s cell %d" % (name, index)
        if cell.get("execution_count") != count:
            message = "execution count is %s, expected %d: it did not run to the end in order"
            bundle.fail(at, message % (cell.get("execution_count"), count))
        if any(output.get("output_type") == "error" for output in cell["outputs"]):
            bundle.fail(at, "ended in an error, expected none")
        if "nbval-check-output" in tags(cell):
            check_verdict_cell(bundle, at, cell["outputs"])
    if not count:
        bundle.fail(name, "has no code")


def check_verdict_cell(bundle: Bundle, at: str, outputs: List[Json]) -> None:
    """A verdict cell printed its verdict, and that is a pass."""
    if not outputs:
        bundle.fail(at, "is a verdict cell without output")
        return
    text = "".join(joined(output, "text") for output in outputs if output.get("output_type") == "stream")
    last = (text.rstrip().split("\n") or [""])[-1].split()
    if last[:2] != ["this", "stage"] or last[-1:] != ["PASS"]:
        bundle.fail(at, "is a verdict cell that ends in %s, expected this stage to PASS" % short(" ".join(last)))


def check_declared_profile(bundle: Bundle) -> None:
    """Every stage was given one profile; where that file is packed, it is the bundle's own profile.toml."""
    given = {}
    for stage in bundle.stages():
        name = "stages/%s.json" % stage
        if bundle.exists(name):
            given[name] = bundle.json(name)["parameters"].get("profile")
    for name, path in given.items():
        bundle.expect("%s parameters profile" % name, path, next(iter(given.values())))
        packed = bundle.sources().get(str(path))
        if packed is None:
            bundle.leave("the profile as the stages were given it (%s is not in the packed sources)" % short(path))
        elif packed != bundle.read("profile.toml"):
            bundle.fail("profile.toml", "is not the packed %s that the stages were given" % short(path))


def check_notebook_parameters(bundle: Bundle, name: str, cells: List[Json], stage: str) -> None:
    found: Json = {}
    for cell in cells:
        if "parameters" in tags(cell) or "injected-parameters" in tags(cell):
            found.update(literals(joined(cell), name))
    if bundle.exists(stage):
        reported = bundle.json(stage).get("parameters")
        if found.get("run_dir") != bundle.json("run.json")["id"]:
            bundle.fail(name, "is of run %s" % short(found.get("run_dir")))
        if reported != found:
            bundle.fail(name, "ran with %s, expected what %s reports: %s" % (short(found), stage, short(reported)))


def position_of(tag: str, cells: List[Json]) -> int:
    return next((index for index, cell in enumerate(cells) if tag in tags(cell)), -2)


def tags(cell: Json) -> List[str]:
    return list(cell.get("metadata", {}).get("tags", ()))


def joined(cell: Json, key: str = "source") -> str:
    source = cell[key]
    return source if isinstance(source, str) else "".join(source)


def literals(text: str, where: str) -> Json:
    values: Json = {}
    try:
        for statement in ast.parse(text).body:
            target: Any = (
                statement.targets[0] if isinstance(statement, ast.Assign) else getattr(statement, "target", 0)
            )
            values[target.id] = ast.literal_eval(getattr(statement, "value", None))  # type: ignore[arg-type]
    except (SyntaxError, ValueError, AttributeError, TypeError) as error:
        raise UnreadableError(
            "%s: a parameters cell holds more than literals (%s)" % (where, error)
        ) from error
    return values


# ---------------- operator_plan: Which comparisons of ops there must be, at which sizes, and the proofs of kernels that belong to them.

SEED = 20260722  # of the inputs
TOKENS = (1, 2, 3, 63, 64, 65, 98, 129, 278, 475)
PATCHES = (256, 512, 64, 828)  # of each list of image grids
FINITE_SCANS = 10
HEAD_ROWS = 200
RECORDED, STRIDED = "recorded", "strided v"
LAYER = (*["project"] * 4, "rms_norm", "add_rms_norm", "silu_mul")
# (op, layout of the values) in the order they are compared: norm and rotary, a layer of each kind, its mixer.
OF_TOKENS: Tuple[Tuple[str, str], ...] = (
    *((op, RECORDED) for op in ("text_rotary", "rms_norm", *LAYER, *LAYER, "causal_conv", "delta_gates", "delta_rule")),
    ("delta_rule", STRIDED), ("gated_rms_norm", RECORDED), ("query_key", RECORDED),
    ("causal_attention", RECORDED), ("causal_attention", STRIDED), ("sigmoid_gate", RECORDED),
)  # fmt: skip
OF_PATCHES: Tuple[Tuple[str, str], ...] = (
    *((op, RECORDED) for op in (
        "vision_rotary_tables", "patch_embed", "add_positions", "layer_norm", "add_layer_norm", "vision_rotary",
    )),
    ("packed_attention", STRIDED), ("packed_attention", "contiguous v"),
    *((op, RECORDED) for op in (*["linear"] * 6, "gelu_tanh", "gelu")),
)  # fmt: skip
AT_THE_END = (("label_head", RECORDED), ("all_finite", RECORDED))
QWEN = "transformers.models.qwen3_5.modeling_qwen3_5."
AGAINST: Dict[str, Tuple[str, ...]] = {
    "text_rotary": (QWEN + "Qwen3_5TextRotaryEmbedding",), "rms_norm": (QWEN + "Qwen3_5RMSNorm",),
    "add_rms_norm": (QWEN + "Qwen3_5RMSNorm",), "project": ("peft.tuners.lora.layer.Linear", "torch.nn.modules.linear.Linear"),
    "silu_mul": (QWEN + "Qwen3_5MLP",), "causal_conv": (QWEN + "causal_conv1d_fn",),
    "delta_gates": (QWEN + "Qwen3_5GatedDeltaNet",), "delta_rule": (QWEN + "torch_chunk_gated_delta_rule",),
    "gated_rms_norm": (QWEN + "Qwen3_5RMSNormGated",), "query_key": (QWEN + "apply_rotary_pos_emb",),
    "causal_attention": ("transformers.integrations.sdpa_attention.sdpa_attention_forward",),
    "sigmoid_gate": (QWEN + "Qwen3_5Attention",), "vision_rotary_tables": (QWEN + "Qwen3_5VisionRotaryEmbedding",),
    "patch_embed": (QWEN + "Qwen3_5VisionPatchEmbed",), "add_positions": (QWEN + "Qwen3_5VisionModel",),
    "layer_norm": ("torch.nn.modules.normalization.LayerNorm",),
    "add_layer_norm": ("torch.nn.modules.normalization.LayerNorm",),
    "vision_rotary": (QWEN + "apply_rotary_pos_emb_vision",), "packed_attention": (QWEN + "Qwen3_5VisionAttention",),
    "linear": ("torch.nn.modules.linear.Linear",), "gelu_tanh": ("transformers.activations.GELUTanh",),
    "gelu": ("torch.nn.modules.activation.GELU",), "all_finite": ("torch.isfinite",),
}  # fmt: skip
# How often a kernel of `project` compares each element of its result, and how its proofs say the size.
PARTS_OF_PROJECT = {"project.expand": r"(\d+)x(\d+) in .+", "project.shrink": r"(\d+)x\d+ in .+"}
RUNS_OF_A_PART, RUNS_OF_A_PROOF = 3, 2


def check_comparisons(bundle: Bundle) -> None:
    """Every comparison there must be is there once, in order, with elements that its shape gives."""
    if not bundle.operators:
        return
    document = bundle.json("operators.json")
    checks, plan = document["checks"], planned_comparisons()
    bundle.expect("operators.json seed", document["seed"], SEED)
    found = [(check["op"], check["variant"]) for check in checks]
    wanted = [(op, variant) for op, variant, _ in plan]
    if found != wanted:
        at = next((i for i, pair in enumerate(zip(found, wanted)) if pair[0] != pair[1]), min(len(found), len(wanted)))
        message = "%d comparisons, expected %d; the first that is another is number %d, expected %s"
        expected = wanted[at] if at < len(wanted) else "none"
        bundle.fail("operators.json checks", message % (len(found), len(wanted), at + 1, short(expected)))
        return
    first: Dict[Any, Tuple[int, int]] = {}
    for number, (check, (op, _, size)) in enumerate(zip(checks, plan)):
        where = "operators.json checks %d %s" % (number + 1, op)
        elements = sum(math.prod(tensor) for tensor in tensors_of(check["shape"]))
        bundle.expect("%s elements, by its shape %s" % (where, check["shape"]), check["elements"], elements)
        place = place_in_block(number)
        basis, per = first.setdefault(place, (check["elements"], size))
        if check["elements"] * per != basis * size:
            bundle.fail(where, "is of shape %s, expected %d elements as at other sizes" % (check["shape"], basis * size // per))
        if op != "label_head" and check["against"] not in AGAINST[op]:
            bundle.fail("%s against" % where, "is %s, expected one of %s" % (short(check["against"]), short(AGAINST[op])))
    compare_with_checkpoint(bundle, checks)


def planned_comparisons() -> List[Tuple[str, str, int]]:
    """(op, layout, size that its elements are a multiple of) of every comparison, in order."""
    plan = [(op, variant, size) for size in TOKENS for op, variant in OF_TOKENS]
    plan += [(op, variant, size) for size in PATCHES for op, variant in OF_PATCHES]
    return plan + [(op, variant, 1) for op, variant in AT_THE_END]


def place_in_block(number: int) -> Tuple[str, int]:
    """Which comparison of its block this is; blocks differ in their size alone."""
    texts = len(TOKENS) * len(OF_TOKENS)
    if number < texts:
        return "tokens", number % len(OF_TOKENS)
    if number < texts + len(PATCHES) * len(OF_PATCHES):
        return "patches", (number - texts) % len(OF_PATCHES)
    return "end", number


def tensors_of(shape: str) -> List[List[int]]:
    """Sizes of every tensor of a shape text like "[1, 256] [1, 4]"; nothing for another text."""
    if not re.fullmatch(r"\[[\d, ]*\]( \[[\d, ]*\])*", shape):
        return []
    return [[int(size) for size in re.findall(r"\d+", part)] for part in re.findall(r"\[([\d, ]*)\]", shape)]


def compare_with_checkpoint(bundle: Bundle, checks: List[Json]) -> None:
    """The model's width and label rows are those of the checkpoint; the whole head is the engines'."""
    labels, width = bundle.json("checkpoint.json")["label_head"]["shape"]
    shapes = [check["shape"] for check in checks]
    ends = len(checks) - len(AT_THE_END)
    bundle.expect("operators.json checks %d label_head shape" % (ends + 1), shapes[ends], "[%d, %d]" % (HEAD_ROWS, labels))
    bundle.expect("operators.json checks %d all_finite shape" % (ends + 2), shapes[ends + 1], "[%d]" % FINITE_SCANS)
    bundle.expect("operators.json checks 2 rms_norm shape", shapes[1], "[%d, %d]" % (TOKENS[0], width))
    for engine in ("native", "graph"):
        if engine in bundle.engines:
            head = bundle.json("records/%s/engine.json" % engine)["describe"]["label_head"]
            pattern = r"torch\.nn\.Linear over %d rows \(kit: \d+\)" % head["of"]
            if not re.fullmatch(pattern, checks[ends]["against"]):
                message = "is %s, expected the head of %d rows that the engines have"
                bundle.fail("operators.json label_head against", message % (short(checks[ends]["against"]), head["of"]))


def check_proofs(bundle: Bundle) -> None:
    """Behind every kernel with a plain form stands a proof at each size it was compared at, and nowhere else a proof."""
    if not bundle.operators:
        return
    document = bundle.json("operators.json")
    proofs, checks = document["proofs"], document["checks"]
    keys = [(proof["op"], proof["key"]) for proof in proofs]
    for op, key in sorted(place for place, count in Counter(keys).items() if count > 1):
        bundle.fail("operators.json proofs %s" % op, "has %s twice" % short(key))
    guarded = guarded_ops(bundle)
    for op in sorted({proof["op"].partition(".")[0] for proof in proofs} - guarded):
        bundle.fail("operators.json proofs %s" % op, "is of an op that runs without a proof")
    for op in sorted(guarded):
        needed = {RUNS_OF_A_PROOF * check["elements"] for check in checks if check["op"] == op}
        proved = {proof["elements"] for proof in proofs if proof["op"] == op and not unable(proof)}
        if not any(unable(proof) for proof in proofs if proof["op"] == op) and needed != proved:
            message = "prove %d sizes, expected the %d that were compared; the first that is another is of %s elements"
            other = min(needed ^ proved)
            bundle.fail("operators.json proofs %s" % op, message % (len(proved), len(needed), other))
    rank = bundle.json("records/native/engine.json")["describe"].get("adapter", {}).get("rank")
    for proof in proofs:
        compare_proof(bundle, proof, rank)


def guarded_ops(bundle: Bundle) -> Set[str]:
    """Ops that the native engine runs by a kernel where it is proved, by its own description."""
    ops = bundle.json("records/native/engine.json")["describe"].get("ops", {})
    return {op for op, text in ops.items() if text.endswith(" where bits differ")}


def unable(proof: Json) -> bool:
    """A kernel that could not run: nothing was compared, and the plain form is used."""
    return bool(proof["choice"] == "twin" and proof["elements"] == 0 and proof["reason"])


def compare_proof(bundle: Bundle, proof: Json, rank: Any) -> None:
    """The choice follows from what was found; a part of a projection has the elements that its size gives."""
    where = "operators.json proofs %s %s" % (proof["op"], proof["key"])
    sound = proof["elements"] > 0 and not proof["different"]
    bundle.expect("%s choice" % where, proof["choice"], "kernel" if sound else "twin")
    if not unable(proof):
        bundle.expect("%s reason" % where, proof["reason"], "" if sound else "bits differ" if proof["elements"] else "nothing compared")
    if proof["different"] > proof["elements"]:
        bundle.fail(where, "%d of %d elements differ" % (proof["different"], proof["elements"]))
    pattern = PARTS_OF_PROJECT.get(proof["op"])
    match = re.fullmatch(pattern, proof["key"]) if pattern else None
    if pattern and not match:
        bundle.fail(where, "says no size, expected one like %s" % pattern)
    elif match and not unable(proof):
        sizes = [int(size) for size in match.groups()]
        expected = RUNS_OF_A_PART * sizes[0] * (sizes[1] if len(sizes) > 1 else rank)
        bundle.expect("%s elements" % where, proof["elements"], expected)


# ---------------- planted: Planted faults and harmless changes, where a run holds such a table.

PLANTED_TIERS: Dict[str, Tuple[str, ...]] = {
    "bits": ("bitwise",),
    "truth": ("steps", "rows", "ops", "answers", "inputs"),
    "http": ("gates", "lattice", "repeats"),
}
PLANTED_MUST = ("bits", "truth")  # tiers that have to see every fault
FEWEST_FAULTS = FEWEST_CONTROLS = 24
PLANTED_KEYS = {
    "format", "profile", "profile_sha256", "protocol_sha256", "sources_sha256", "checkpoint_digest", "steps_bound", "left_out",
    "quick", "seconds", "rules", "columns", "faults", "controls", "summary",
}  # fmt: skip
PLANTED_RULES = {
    "bits": "status, token counts, hidden rows, label logits and answers equal the reference's, bit for bit",
    "steps": "label logits, and those that probabilities imply, within 2 times the reference's largest distance from the oracle",
    "rows": "upper 95% bound of the mean error ratio against the oracle at most 1.1, text and images apart",
    "ops": "each op, on its own inputs, no further from FP64 than the plain form: score at most 6, no row 2 times as far",
    "answers": "probabilities are the FP64 softmax of their logits at the declared temperature",
    "inputs": "tokens, positions and pixels are the contract's",
    "gates": "probability 0.02, confidence 0.02, noul 0.02, expected value 0.1, winner from a margin of 0.05, tokens, status, shape",
    "lattice": "logit differences that probabilities imply lie on one grid at the declared temperature",
    "repeats": "the same request, the same response but for latency_ms",
}


def check_planted(bundle: Bundle) -> None:
    """Where faults were planted: of this run, enough of them, sums that follow, all caught, and nothing harmless seen."""
    if not bundle.exists(FAULTS):
        return
    document, run = bundle.json(FAULTS), bundle.json("run.json")
    for name in ("profile_sha256", "protocol_sha256"):
        bundle.expect("%s %s" % (FAULTS, name), document[name], run[name])
    bundle.expect("%s sources_sha256" % FAULTS, document["sources_sha256"], digest_of(bundle.json("sources.json")["before"]))
    bundle.expect("%s checkpoint_digest" % FAULTS, document["checkpoint_digest"], bundle.json("checkpoint.json")["digest"])
    bundle.expect("%s quick" % FAULTS, document["quick"], False)
    judge_planted_terms(bundle, document)
    faults, controls = document["faults"], document["controls"]
    names = [row["name"] for row in faults + controls]
    if len(set(names)) != len(names):
        bundle.fail("%s names" % FAULTS, "are not distinct")
    still = [control for control in controls if control["rounding"] is not True]
    for what, found, fewest in (("faults", faults, FEWEST_FAULTS), ("controls", still, FEWEST_CONTROLS)):
        if len(found) < fewest:
            bundle.fail("%s %s" % (FAULTS, what), "are %d, expected at least %d" % (len(found), fewest))
    for fault in faults:
        judge_planted_fault(bundle, fault)
    for control in controls:
        judge_planted_control(bundle, control)
    summary = planted_summary(faults, controls)
    for name in sorted(set(document["summary"]) | set(summary)):
        bundle.expect("%s summary %s" % (FAULTS, name), document["summary"].get(name), summary.get(name))
    if summary["caught"] != len(faults):
        bundle.fail("%s caught" % FAULTS, "is %d, expected all %d faults" % (summary["caught"], len(faults)))
    bundle.expect("%s false_alarms" % FAULTS, summary["false_alarms"], 0)


def judge_planted_terms(bundle: Bundle, document: Json) -> None:
    """What the columns mean, and what was left out: requests of this protocol."""
    bundle.expect("%s keys" % FAULTS, sorted(document), sorted(PLANTED_KEYS))
    bundle.expect("%s profile" % FAULTS, document["profile"], bundle.profile["name"])
    bundle.expect("%s columns" % FAULTS, document["columns"], [name for names in PLANTED_TIERS.values() for name in names])
    for name in sorted(set(document["rules"]) | set(PLANTED_RULES)):
        bundle.expect("%s rule %s" % (FAULTS, short(name)), document["rules"].get(name), PLANTED_RULES.get(name))
    strange = [name for name in document["left_out"] if name not in {case["id"] for case in bundle.corpus()}]
    if strange or len(set(document["left_out"])) != len(document["left_out"]):
        bundle.fail("%s left_out" % FAULTS, "has %s, expected requests of the protocol, once each" % short(strange))
    bound = document["steps_bound"]
    if not all(is_number(value) and value > 0 for value in bound.values()) or not is_number(document["seconds"]):
        bundle.fail("%s steps_bound" % FAULTS, "is %s in %s s, expected numbers over 0" % (short(bound), short(document["seconds"])))


def judge_planted_fault(bundle: Bundle, fault: Json) -> None:
    """Tiers follow from the counts, and what is said of all doses from the tiers."""
    where = "%s fault %s" % (FAULTS, short(fault["name"]))
    doses = fault["doses"]
    if not doses or len({row["dose"] for row in doses}) != len(doses):
        bundle.fail(where, "has no doses, or one twice")
    for row in doses:
        tiers = planted_tiers(bundle, "%s dose %s" % (where, short(row["dose"])), row)
        if tiers["http"] and row["also_over_http"] is not None:
            bundle.fail("%s dose %s" % (where, short(row["dose"])), "was looked at a second time although HTTP saw it")
    bundle.expect("%s seen" % where, fault["seen"], {t: any(row["tiers"][t] for row in doses) for t in PLANTED_TIERS})
    first = {t: next((row["dose"] for row in doses if row["tiers"][t]), None) for t in PLANTED_TIERS}
    bundle.expect("%s smallest" % where, fault["smallest"], first)


def judge_planted_control(bundle: Bundle, control: Json) -> None:
    """Every tier was asked, but for bits where rounding changes, and what saw it is an alarm."""
    where = "%s control %s" % (FAULTS, short(control["name"]))
    if not isinstance(control["rounding"], bool):
        bundle.fail("%s rounding" % where, "is %s, expected true or false" % short(control["rounding"]))
    tiers = planted_tiers(bundle, where, control)
    asked = [tier for tier in PLANTED_TIERS if not (control["rounding"] is True and tier == "bits")]
    bundle.expect("%s asked" % where, control["asked"], asked)
    bundle.expect("%s alarms" % where, control["alarms"], [tier for tier in asked if tiers[tier]])
    for column in ("bitwise", "gates", "lattice"):
        if not control["columns"][column]["of"]:
            bundle.fail("%s %s" % (where, column), "compares nothing, expected at least one")


def planted_tiers(bundle: Bundle, where: str, row: Json) -> Dict[str, bool]:
    """The tiers of a row, computed again from its columns."""
    columns = row["columns"]
    bundle.expect("%s columns" % where, list(columns), [name for names in PLANTED_TIERS.values() for name in names])
    for name, column in columns.items():
        counts = (column["count"], column["of"])
        if any(type(value) is not int for value in counts) or not 0 <= column["count"] <= column["of"]:
            bundle.fail("%s %s" % (where, name), "counts %s, expected a whole number up to %s" % (short(counts[0]), short(counts[1])))
        if column["worst"] is not None and not is_number(column["worst"]):
            bundle.fail("%s %s" % (where, name), "worst is %s, expected a number" % short(column["worst"]))
        if bool(column["count"]) != bool(column["first"]):
            bundle.fail("%s %s" % (where, name), "names %s as the first of %s, expected one only of some" % (short(column["first"]), short(counts[0])))
    tiers = {tier: any(columns[name]["count"] for name in names) for tier, names in PLANTED_TIERS.items()}
    bundle.expect("%s tiers" % where, row["tiers"], tiers)
    return tiers


def planted_summary(faults: Sequence[Json], controls: Sequence[Json]) -> Json:
    """What the table must say it comes to."""
    doses: List[Tuple[str, Json]] = [(fault["name"], row) for fault in faults for row in fault["doses"]]
    return {
        "faults": len(faults),
        "caught": sum(all(fault["seen"][tier] for tier in PLANTED_MUST) for fault in faults),
        "controls": len(controls),
        "false_alarms": sum(bool(control["alarms"]) for control in controls),
        "doses": len(doses),
        "tiers": {
            tier: {
                "faults": sum(fault["seen"][tier] for fault in faults),
                "doses": sum(row["tiers"][tier] for _, row in doses),
                "false_alarms": sum(tier in control["alarms"] for control in controls),
            }
            for tier in PLANTED_TIERS
        },
        "missed": {
            tier: [
                "%s (%s)" % (name, row["dose"]) if row["dose"] else name
                for name, row in doses
                if not row["tiers"][tier]
            ]
            for tier in PLANTED_TIERS
        },
    }  # fmt: skip


# ---------------- protocol: The frozen requests and answers are whole, and those that were pinned.

def check_protocol(bundle: Bundle) -> None:
    """The protocol is whole and unchanged by its own sums, with distinct requests."""
    if not bundle.exists("protocol/SHA256SUMS") and not bundle.profile["protocol"].get("pins"):
        bundle.fail("protocol/SHA256SUMS", "is missing, expected the checksums of the frozen requests")
    if bundle.exists("protocol/SHA256SUMS"):
        listed = read_sums(bundle, "protocol/SHA256SUMS")
        prefix = "protocol/"
        present = {name[len(prefix) :] for name in bundle.files()[0] if name.startswith(prefix)} - {
            "SHA256SUMS"
        }
        for name in sorted(present | set(listed)):
            if name not in listed:
                bundle.fail(prefix + name, "is not listed in protocol/SHA256SUMS")
            elif name not in present:
                bundle.fail(prefix + name, "is listed in protocol/SHA256SUMS but missing")
            elif sha256(bundle.read(prefix + name)) != listed[name]:
                bundle.fail(prefix + name, "is not what protocol/SHA256SUMS lists, expected %s" % listed[name])
    ids = [case["id"] for case in bundle.corpus()]
    if len(set(ids)) != len(ids):
        bundle.fail("protocol/corpus.jsonl", "has a request id twice")
    if bundle.frozen() is not None:
        bundle.expect("%s ids" % bundle.answers, sorted(bundle.frozen()), sorted(ids))
    elif bundle.profile["protocol"]["frozen"] and bundle.answers != "protocol/" + ANSWERS:
        bundle.fail(bundle.answers, "is missing, and the profile names it as the answers to judge against")


def check_packed_protocol(bundle: Bundle) -> None:
    """The protocol is the packed project's, file by file; its pictures are those inside the requests."""
    path = bundle.profile["protocol"]["path"].rstrip("/") + "/"
    packed = {name[len(path) :]: data for name, data in bundle.sources().items() if name.startswith(path)}
    present = {name[len("protocol/") :] for name in bundle.files()[0] if name.startswith("protocol/")}
    if not packed:
        bundle.leave("protocol against its folder %s (it is not in the packed sources)" % short(path))
    for name in sorted(present | set(packed)) if packed else ():
        if name not in packed:
            bundle.fail("protocol/" + name, "is not in the packed sources, expected %s%s" % (path, name))
        elif name not in present:
            bundle.fail("protocol/" + name, "is missing, expected the packed %s%s" % (path, name))
        elif bundle.digest("protocol/" + name) != sha256(packed[name]):
            bundle.fail("protocol/" + name, "has another SHA-256 than the packed %s%s" % (path, name))
    shown = {name: bundle.digest(name) for name in bundle.files()[0] if name.startswith("protocol/images/")}
    sent = {sha256(picture) for case in bundle.corpus() for picture in pictures_of(case["request"])}
    for name in sorted(shown):
        if shown[name] not in sent:
            bundle.fail(name, "is a picture that no request carries")
    if shown and len(set(shown.values())) != len(sent):
        bundle.fail("protocol/images", "holds %d pictures, expected the %d of the requests" % (len(shown), len(sent)))


def pictures_of(request: Json) -> List[bytes]:
    """Bytes of the images a request carries."""
    return [base64.b64decode(text.rpartition("base64,")[2]) for text in request.get("images") or ()]


def check_published(bundle: Bundle) -> None:
    """A protocol that was published elsewhere is the one that the packed sources pin."""
    name = bundle.profile["protocol"].get("pins", "")
    if not name:
        return
    if name not in bundle.sources():
        bundle.leave("protocol against %s (it is not in the packed sources)" % name)
        return
    pins, frozen = parse_json(bundle.sources()[name], name), bundle.frozen() or {}
    bundle.expect(
        "protocol/corpus.jsonl", sha256(bundle.read("protocol/corpus.jsonl")), pins["corpus_sha256"]
    )
    for request, pinned in pins["answers"].items():
        where = "%s %s" % (bundle.answers, request)
        if request not in frozen:
            bundle.fail(where, "is missing")
            continue
        bundle.expect(
            "%s input_tokens" % where, frozen[request]["usage"]["input_tokens"], pinned["input_tokens"]
        )
        if pinned["sha256"] is None:
            bundle.leave("published answers to %s (only their token total is pinned)" % request)
            continue
        answers = frozen[request]["answers"]
        figures = {q: {c: float(p) for c, p in a["probabilities"].items()} for q, a in answers.items()}
        text = json.dumps(figures, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
        bundle.expect("%s answers" % where, sha256(text.encode()), pinned["sha256"])


# ---------------- results: What each stage said it found, which is what the records and documents of the bundle say.

def check_results(bundle: Bundle) -> None:
    """The result a stage finished with follows from what the bundle holds."""
    for stage in bundle.stages():
        name = "stages/%s.json" % stage
        expected = expected_result(bundle, stage)
        if expected is not None and bundle.exists(name):
            bundle.expect("%s result" % name, bundle.json(name).get("result"), expected)


def expected_result(bundle: Bundle, stage: str) -> Any:
    """The result a stage must have ended with; None for one whose own section looks at it."""
    if stage in ENGINE_STAGES:
        return engine_result(bundle, ENGINE_STAGES[stage])
    makers: Dict[str, Callable[[Bundle], Json]] = {
        "01_preflight": preflight_result,
        "02_checkpoint": lambda b: {"digest": b.json("checkpoint.json")["digest"]},
        "06_operators": lambda b: {"different": 0, "unchecked": [], "passed": True},
        "07_faults": lambda b: {"drills": len(b.jsonl("records/drills.jsonl")) - 1, "passed": True},
        "08_drift": lambda b: {"worst": b.json("drift.json")["worst"], "passed": True},
        "09_performance": performance_result,
        "10_evidence": lambda b: {name: b.json("verdict.json")[name] for name in ("verdict", "failures")},
    }
    return makers[stage](bundle) if stage in makers else None


def preflight_result(bundle: Bundle) -> Json:
    packages = bundle.json("environment.json")["packages"]
    told = {name: package["status"] for name, package in packages.items()}
    return {"draw": bundle.json(LEDGER)["digest"], "packages": told}


def engine_result(bundle: Bundle, engine: str) -> Json:
    lines = bundle.exchanges(engine)
    return {
        "posts": len(lines), "planned": len(bundle.plan(engine)), "ok": sum(line["status"] == 200 for line in lines),
        "rejected": sum(line["status"] == 422 for line in lines), "unexpected": 0, "passed": True,
    }  # fmt: skip


def performance_result(bundle: Bundle) -> Json:
    document = bundle.json("performance.json")
    targets = (document.get("measured") or {}).get("targets", [])
    told = {item["target"]: item["outcome"] for item in targets}
    return {"rows": len(document["rows"]), "targets": told, "passed": True}


# ---------------- session: What a session of measurements says of itself beside its samples: workloads, phases, floors, device.

METHOD = (
    "interleaved blocks, forwards and backwards; a unit runs from a prepared request on the host to its label logits "
    "on the host; intervals: 95%, whole blocks resampled; HTTP: workers in the same process, one client"
)
NOTES = (
    "absolute figures belong to this machine, its libraries and its load; compare ratios within one run",
    "the weights are synthetic: shapes and arithmetic are real, answers mean nothing",
    "on a CPU the graph engine replays recorded ATen calls: it shows machinery, not speed",
)
LONG = 8192
BEFORE_PHASES = ("load reference", "build native engines", "build floors", "search cuBLASLt")
WAYS = ("component", "stacked", "cublaslt component", "cublaslt stacked")
OVER_HTTP = ("text-http", "image-768x512-http", "questions-4-http")
VISION_TOKENS = 384
HALF_A_DIGIT = 0.00006  # of milliseconds written with four digits

GLANCE = (
    {"visible": One((False,)), "reason?": TEXT, "taken_utc?": UTC},
    {
        "visible": One((True,)), "taken_utc": UTC, "name": TEXT, "clocks_mhz": Each(SEEN), "slowdowns": ANY,
        "temperature_c": SEEN, "power_w": (NUMBER, *SEEN),
        "memory": {"total_bytes": SEEN, "used_bytes": SEEN, "own_bytes": SEEN},
    },
)  # fmt: skip
CLASS = {"class": TEXT, "ms": NUMBER, "launches": COUNT}
MEASURED_SHAPE = {
    "method": TEXT, "weight_bytes": COUNT, "device": [GLANCE], "copy_bytes_per_s?": NUMBER, "seconds": Each(NUMBER),
    "floors": [{
        "tokens": COUNT, "fastest": TEXT, "weight_bytes": COUNT, "bandwidth_ms": (NUMBER, None),
        "ways": [{"way": TEXT, "median_ms": (NUMBER, None), "reason": TEXT}],
    }],
    "not_measured": [{"phase": TEXT, "reason": TEXT}],
    "targets": [{"target": TEXT, "bound": NUMBER, "at_least": FLAG, "value": (NUMBER, None), "outcome": TEXT}],
    "adapter_swap?": Each(ANY), "stream?": Each(ANY),
    "profile?": [{
        "engine": TEXT, "tokens": COUNT, "classes": [CLASS], "total_ms": NUMBER, "launches": COUNT, "costliest": [ANY],
    }],
}  # fmt: skip
SAMPLES_SHAPE = {
    "format": TEXT, "weight_bytes": COUNT, "temperatures": {"text": NUMBER, "image": NUMBER},
    "entries": [{
        "round": COUNT, "anchor": FLAG, "engine": TEXT, "workload": TEXT, "way": One(("call", "http")), "tokens": COUNT,
        "images": FLAG, "wall_ms": [[NUMBER]], "device_ms": [[NUMBER]], "logits": ([TEXT], None), "cold_ms": (NUMBER, None),
        "extra_bytes": (COUNT, None), "pool_bytes": COUNT,
    }],
}  # fmt: skip


def check_session(bundle: Bundle) -> None:
    """The words and figures around the rows are those of this kit, this run and one another."""
    document = bundle.json("performance.json")
    bundle.expect("performance.json profile", document["profile"], bundle.profile["name"])
    bundle.expect("performance.json reference", document["reference"], bundle.reference or None)
    bundle.expect("performance.json unit", document["unit"], "milliseconds")
    bundle.expect("performance.json notes", document["notes"], list(notes(bundle)))
    if not bundle.measured:
        return
    measured, samples = document["measured"], bundle.json(SAMPLES)
    shaped = hold(bundle, "performance.json measured", measured, MEASURED_SHAPE)
    if not hold(bundle, SAMPLES, samples, SAMPLES_SHAPE) or not shaped:
        return
    bundle.expect("performance.json measured method", measured["method"], METHOD)
    compare_entries(bundle, samples)
    compare_floors(bundle, measured)
    compare_phases(bundle, measured)
    compare_device(bundle, measured)


def notes(bundle: Bundle) -> Iterator[str]:
    """What a reader must know before quoting a figure."""
    yield NOTES[0]
    if bundle.profile["checkpoint"]["kind"] == "synthetic":
        yield NOTES[1]
    if bundle.profile["runtime"]["device"] == "cpu" and "graph" in bundle.engines:
        yield NOTES[2]


def compare_entries(bundle: Bundle, samples: Json) -> None:
    """Every entry is of a known workload at its size, in as many blocks as the stage was given, timed on both clocks."""
    entries = samples["entries"]
    blocks = bundle.json("stages/09_performance.json")["parameters"].get("blocks")
    numbers = [entry["round"] for entry in entries]
    if numbers != sorted(numbers) or set(numbers) != set(range(1, len(set(numbers)) + 1)):
        bundle.fail("%s entries" % SAMPLES, "are of rounds %s, expected them counted from 1" % short(sorted(set(numbers))))
    for entry in entries:
        where = "%s round %s %s" % (SAMPLES, entry["round"], entry["engine"])
        if not known_workload(entry):
            told = (entry["workload"], entry["way"], entry["tokens"], entry["images"])
            bundle.fail(where, "is of workload %s, way %s, %s tokens, images %s, which is none" % told)
        bundle.expect("%s blocks" % where, len(entry["wall_ms"]), blocks)
        sizes = [len(block) for block in entry["wall_ms"]]
        if any(entry["device_ms"]):
            bundle.expect("%s device_ms" % where, [len(block) for block in entry["device_ms"]], sizes)
            pairs = [(d, w) for ds, ws in zip(entry["device_ms"], entry["wall_ms"]) for d, w in zip(ds, ws)]
            if any(not 0 < on_device <= wall + HALF_A_DIGIT for on_device, wall in pairs):
                bundle.fail("%s device_ms" % where, "are not all between 0 and the time on the wall")
        elif entry["way"] == "call" and bundle.profile["runtime"]["device"] == "cuda":
            bundle.fail("%s device_ms" % where, "are missing, expected one for every time on the wall")


def known_workload(entry: Json) -> bool:
    name, way, tokens = entry["workload"], entry["way"], entry["tokens"]
    images = name.startswith(("image", "vision"))
    if entry["images"] != images or (way == "http") != (name in OVER_HTTP):
        return False
    if name == "text":
        return tokens in (*TEXT_LENGTHS, LONG)
    if name == "text-http":
        return tokens in TEXT_LENGTHS
    return name in (*WORKLOAD_PHASES, *OVER_HTTP) and (not name.startswith("vision") or tokens == VISION_TOKENS)


def compare_floors(bundle: Bundle, measured: Json) -> None:
    """A floor is the fastest of its ways, over weights that a device reads no faster than it copies."""
    done = [tokens for tokens in TEXT_LENGTHS if "text %d" % tokens in measured["seconds"]]
    told = [floor["tokens"] for floor in measured["floors"]]
    bundle.expect("performance.json measured floors", sorted(told), sorted(done))
    bandwidth = measured.get("copy_bytes_per_s")
    for floor in measured["floors"]:
        where = "performance.json measured floors %d" % floor["tokens"]
        bundle.expect("%s ways" % where, [way["way"] for way in floor["ways"]], list(WAYS))
        timed = {way["way"]: way["median_ms"] for way in floor["ways"] if way["median_ms"] is not None}
        if not timed or floor["fastest"] != min(timed, key=lambda name: timed[name]) or min(timed.values()) <= 0:
            bundle.fail("%s fastest" % where, "is %s, the ways took %s" % (short(floor["fastest"]), short(timed)))
        for way in floor["ways"]:
            bundle.expect("%s %s reason" % (where, way["way"]), bool(way["reason"]), way["median_ms"] is None)
        bundle.expect("%s weight_bytes" % where, floor["weight_bytes"], measured["floors"][0]["weight_bytes"])
        if floor["weight_bytes"] > measured["weight_bytes"]:
            bundle.fail("%s weight_bytes" % where, "are %d, more than all weights" % floor["weight_bytes"])
        expected = round(floor["weight_bytes"] / bandwidth * 1e3, 4) if bandwidth else None
        if not same(floor["bandwidth_ms"], expected):
            bundle.fail("%s bandwidth_ms" % where, "is %s, recomputed %s" % (short(floor["bandwidth_ms"]), short(expected)))


def compare_phases(bundle: Bundle, measured: Json) -> None:
    """Phases are known ones, and took no longer in all than their stage."""
    left_out = [item["phase"] for item in measured["not_measured"]]
    for phase in sorted({*measured["seconds"], *left_out} - {*PHASES, *BEFORE_PHASES}):
        bundle.fail("performance.json measured", "knows a phase %s, which is none" % short(phase))
    if len(set(left_out)) != len(left_out):
        bundle.fail("performance.json measured not_measured", "lists a phase twice")
    for phase, seconds in measured["seconds"].items():
        if seconds < 0:
            bundle.fail("performance.json measured seconds %s" % phase, "is %s" % short(seconds))
    window = stage_window(bundle, "09_performance")
    total = sum(measured["seconds"].values())
    if window and total > window[1] - window[0]:
        message = "add up to %.1f, expected at most the %.1f that notebooks/09_performance.ipynb ran"
        bundle.fail("performance.json measured seconds", message % (total, window[1] - window[0]))
    for name, phase in (("adapter_swap", "adapter swap"), ("stream", "stream"), ("profile", "profile")):
        if name in measured and phase not in measured["seconds"]:
            bundle.fail("performance.json measured %s" % name, "is there, and its phase was not run")
    for found in measured.get("profile", ()):
        where = "performance.json measured profile %s %d" % (found["engine"], found["tokens"])
        sums: Dict[str, Tuple[Any, Any]] = {
            name: (found[whole], sum(part[name] for part in found["classes"]))
            for name, whole in (("ms", "total_ms"), ("launches", "launches"))
        }
        for name, (whole, parts) in sums.items():
            if abs(whole - parts) > 0.001 * len(found["classes"]):
                bundle.fail("%s %s" % (where, name), "is %s, its classes add up to %s" % (short(whole), short(parts)))


def compare_device(bundle: Bundle, measured: Json) -> None:
    """Where the session looked at the device, it was the run's, and looked within the stage."""
    known, window = bundle.json("device.json"), stage_window(bundle, "09_performance")
    for number, seen in enumerate(measured["device"], 1):
        where = "performance.json measured device %d" % number
        before = known.get("before", {})
        if seen["visible"] is True and before.get("visible") is True:
            bundle.expect("%s name" % where, seen["name"], before["name"])
            bundle.expect("%s memory" % where, seen["memory"]["total_bytes"], before["memory"]["total_bytes"])
        elif seen["visible"] is True:
            bundle.fail(where, "is visible, and device.json did not see it")
        if window and "taken_utc" in seen:
            expect_within(bundle, "%s taken_utc" % where, seen["taken_utc"], window, "notebooks/09_performance.ipynb")


# ---------------- signature: The detached signature over SHA256SUMS: whether it is there, and whose it is, if somebody asks ssh-keygen.

NAMESPACE = "bundle@decision-kit"
KEYGEN = "ssh-keygen"
KEYGEN_MISSING = "%s is not installed; it comes with OpenSSH 8.2 or later (package openssh-client)" % KEYGEN
KEYGEN_SECONDS = 30
SIGNED, SIGNATURE = UNLISTED
ARMOUR = re.compile(
    rb"-----BEGIN SSH SIGNATURE-----\n([A-Za-z0-9+/=\n]{1,16384})\n-----END SSH SIGNATURE-----\n?"
)
MAGIC = b"SSHSIG"


class Signers(NamedTuple):
    """Who may have signed: an allowed-signers file as ssh-keygen reads it, and one identity of it ("" for any)."""

    file: str
    identity: str = ""


NO_SIGNERS = Signers("")


class Signed(NamedTuple):
    """What a signature says of itself. fingerprint: of its public key, as ssh-keygen prints it."""

    fingerprint: str
    namespace: str


def read_signature(data: bytes) -> Signed:
    """Take an armoured SSH signature apart. Raises UnreadableError for anything else."""
    match = ARMOUR.fullmatch(data)
    try:
        blob = base64.b64decode(match.group(1).replace(b"\n", b""), validate=True) if match else b""
        if blob[:6] != MAGIC or int.from_bytes(blob[6:10], "big") != 1:
            raise ValueError("no SSH signature of version 1")
        key, rest = field(blob[10:])
        namespace, rest = field(rest)
        for _ in ("reserved", "hash", "signature"):
            _, rest = field(rest)
        if rest:
            raise ValueError("something follows the signature")
        digest = base64.b64encode(hashlib.sha256(key).digest()).decode().rstrip("=")
        return Signed("SHA256:%s" % digest, namespace.decode("utf-8"))
    except (ValueError, binascii.Error) as error:
        raise UnreadableError("%s is not a signature that %s made (%s)" % (SIGNATURE, KEYGEN, error)) from error


def field(data: bytes) -> Tuple[bytes, bytes]:
    """The first length-prefixed field, and what follows it."""
    end = 4 + int.from_bytes(data[:4], "big")
    if len(data) < 4 or len(data) < end:
        raise ValueError("cut off")
    return data[4:end], data[end:]


def check_signature(bundle: Bundle) -> None:
    """What stands beside SHA256SUMS is a signature of a bundle, whoever made it."""
    if bundle.exists(SIGNATURE):
        found = read_signature(bundle.read(SIGNATURE)).namespace
        if found != NAMESPACE:
            bundle.fail("%s namespace" % SIGNATURE, "is %s, expected %s" % (found[:90], NAMESPACE))


def refuse_signers(signers: Signers) -> None:
    """Raise NotJudgedError where nobody's signature could be verified."""
    if signers.identity and not signers.file:
        raise NotJudgedError("an identity says nothing without the file of allowed signers that it stands in")
    if signers.file and not os.path.isfile(signers.file):
        raise NotJudgedError("%s is no file of allowed signers" % signers.file)
    if signers.file and shutil.which(KEYGEN) is None:
        raise NotJudgedError("the signature cannot be verified: %s" % KEYGEN_MISSING)


def judge_signature(bundle: Bundle, signers: Signers) -> str:
    """The signature in words; a problem where one was asked for and none by an allowed signer is there."""
    if not bundle.exists(SIGNATURE):
        if signers.file:
            bundle.fail(SIGNATURE, "is missing, expected a signature by an allowed signer")
        return "unsigned"
    try:
        fingerprint = read_signature(bundle.read(SIGNATURE)).fingerprint
    except UnreadableError as error:  # check_signature has said so
        return "bad: %s" % error
    if not signers.file:
        return "not checked: made by key %s, whoever's that is; name your allowed signers" % fingerprint
    who, reason = verified(bundle, signers)
    if who:
        return "good: %s, %s" % (who, fingerprint)
    bundle.fail(SIGNATURE, "is not good: %s; its key is %s" % (reason, fingerprint))
    return "bad: %s, %s" % (reason, fingerprint)


def verified(bundle: Bundle, signers: Signers) -> Tuple[str, str]:
    """(identity, "") of an allowed signer whose signature it is, or ("", why it is nobody's)."""
    file = os.path.join(os.path.abspath(bundle.path), SIGNATURE)
    common = ["-s", file, "-f", os.path.abspath(signers.file)]
    if signers.identity:
        names, said = [signers.identity], ""
    else:
        code, out, said = ask(["-Y", "find-principals", *common], b"")
        names = [line for line in out.split("\n") if line.strip()] if code == 0 else []
    for name in names:
        code, _, said = ask(["-Y", "verify", *common, "-I", name, "-n", NAMESPACE], bundle.read(SIGNED))
        if code == 0:
            return name, ""
    return "", said or "no allowed signer has its key"


def ask(arguments: List[str], data: bytes) -> Tuple[int, str, str]:
    """(exit code, output, first line of complaint) of ssh-keygen."""
    try:
        done = subprocess.run([KEYGEN, *arguments], input=data, capture_output=True, timeout=KEYGEN_SECONDS, check=False)
    except (OSError, subprocess.SubprocessError) as error:
        return -1, "", "%s: %s" % (KEYGEN, type(error).__name__)
    complaint = done.stderr.decode("utf-8", "replace").strip().split("\n")[0][:200]
    return done.returncode, done.stdout.decode("utf-8", "replace"), complaint


# ---------------- told: What a bundle says and nothing in it can show: the run's own word, named so that a reader knows it as such.

ALWAYS = (
    "that the packed sources, and no others, ran",
    "records/rows: that the hidden rows came out of the model named (label logits follow from them)",
    "records/*/worker.jsonl and exchanges.jsonl: times, within the order and sums they must keep",
    "records/*/engine.json: what a process says of itself, beyond profile, packages and checkpoint",
    "environment.json: the machine, and that installed packages equal their installers' records",
    "checkpoint.json: that the weights have the digest and the sum told; their files are not in the bundle",
    "notebooks: printed outputs, but for the last line of each verdict cell",
)
OF_OPERATORS = (
    "operators.json: how many elements differed, and how often each op was run and replayed",
    "signal.json: how far each change moved row and logits",
)
OF_GENERATED = (
    "records/generated.jsonl: that rows, logits and the oracle's word came out of the models named",
    "layers.json: what each layer computed, beyond how its figures hang together",
)
OF_A_FLOOR = ("records/floor.json: what each change did to rows and logits, and to the oracle's rows",)
OF_FAULTS = ("records/faults.json: what each gate saw of each fault and control",)
OF_DRILLS = ("records/drills.jsonl: that the drills ended as told",)
OF_A_DEVICE = (
    "device.json: what the driver said",
    "records/autotune.json: that the winners were drawn as told",
)
OF_A_SESSION = (
    "records/performance_samples.json: times, bytes and logits of workloads that no record holds",
    "performance.json measured: floors, bandwidth, profile, adapter swap, stream and seconds",
)


def not_derived(bundle: Bundle) -> List[str]:
    """Every fact of this bundle that rests on the run's word alone."""
    on_gpu = bundle.profile["runtime"]["device"] == "cuda"
    return [
        *ALWAYS,
        *(OF_OPERATORS if bundle.operators else ()),
        *(OF_GENERATED if bundle.generated else ()),
        *(OF_A_FLOOR if bundle.exists(FLOOR) else ()),
        *(OF_FAULTS if bundle.exists(FAULTS) else ()),
        *(OF_DRILLS if bundle.native else ()),
        *(OF_A_DEVICE if on_gpu else ()),
        *(OF_A_SESSION if bundle.measured else ()),
    ]


# ---------------- verdict: The verdict says what it is about, what was counted, and pass only where nothing failed.

def check_verdict(bundle: Bundle) -> None:
    """verdict.json says what it is about, what was counted, and pass only where nothing failed."""
    verdict, profile = bundle.json("verdict.json"), bundle.profile
    for name in ("claim", "not_covered"):
        bundle.expect("verdict.json %s" % name, verdict[name], profile[name])
    bundle.expect("verdict.json profile", verdict["profile"], profile["name"])
    bundle.expect("verdict.json run", verdict["run"], bundle.json("run.json")["id"])
    scope = profile["scope"] if bundle.reference else "%s; %s" % (profile["scope"], FROZEN_ONLY)
    bundle.expect("verdict.json scope", verdict["scope"], scope)
    failed = [gate["gate"] for gate in verdict["gates"] if gate["passed"] is not True]
    if verdict["verdict"] != "pass":
        bundle.fail("verdict.json", "the run failed: %s" % "; ".join(map(str, verdict["failures"])))
    elif failed or verdict["failures"]:
        bundle.fail("verdict.json", "says pass although %s failed" % ", ".join(failed or verdict["failures"]))
    if not verdict["gates"]:
        bundle.fail("verdict.json gates", "there are none")
        return
    bundle.expect("verdict.json failures", verdict["failures"], list(OrderedDict.fromkeys(failed)))
    compare_counts(bundle, verdict["counts"])


def compare_counts(bundle: Bundle, told: Json) -> None:
    lines = [(engine, line) for engine in bundle.engines for line in bundle.exchanges(engine)]
    names = ["frontend" if line["target"] == "frontend" else engine for engine, line in lines]
    expected = {
        "requests": len(bundle.corpus()),
        "questions": sum(len(case["request"]["questions"]) for case in bundle.corpus()),
        "posts": len(lines),
        "ok": sum(line["status"] == 200 for _, line in lines),
        "rejected": sum(line["status"] == 422 for _, line in lines),
        "by_engine": dict(Counter(names)),
    }
    compare_figures(bundle, "verdict.json counts", told, expected)


def check_headline(bundle: Bundle) -> None:
    """The figures a reader sees first are the largest of the recomputed ones."""
    verdict, rows, pairs = bundle.json("verdict.json"), drift_rows(bundle), comparisons(bundle)
    kinds = [kind for kind in ("fresh", "frozen") if any(against == kind for _, against in pairs)]
    bundle.expect("verdict.json against", verdict["against"], kinds)
    worst = [
        worst_of(rows, engine, against, "probability_drift")
        for engine, against in pairs
        if against == kinds[0]
    ]
    if not same(verdict["max_probability_drift"], max(worst)):
        message = "is %s, recomputed %s"
        bundle.fail(
            "verdict.json max_probability_drift",
            message % (short(verdict["max_probability_drift"]), max(worst)),
        )
    columns = {
        "probability": "probability_drift", "confidence": "confidence_drift",
        "noul": "noul_drift", "expected_value": "expected_drift",
    }  # fmt: skip
    bundle.expect("verdict.json drift", list(verdict["drift"]), ["%s/%s" % pair for pair in pairs])
    for engine, against in pairs:
        told = verdict["drift"].get("%s/%s" % (engine, against), {})
        expected = {name: worst_of(rows, engine, against, column) for name, column in columns.items()}
        compare_figures(bundle, "verdict.json drift %s/%s" % (engine, against), told, expected)


# ---------------- running: From the command line.

MOST_NAMED = 3  # files named where a check could not be completed
CHECKS: Tuple[Callable[[Bundle], None], ...] = (
    check_verdict, check_sums, check_signature, check_roles, check_formats, check_shapes, check_crate,
    check_identity, check_profile_toml, check_protocol, check_published, check_settings, check_packages, check_device, check_autotune,
    check_checkpoint,
    check_weights,
    check_signal,
    check_sources, check_auditor, check_kit, check_stages, check_notebooks,
    check_plan, check_exchanges, check_refusals, check_bodies, check_worker, check_posts, check_engines, check_health,
    check_answers, check_logits, check_hidden_rows,
    check_drift, check_accuracy, check_diagnosis, check_graph, check_counters, check_memory, check_draws, check_operators, check_drills, check_performance,
    check_clocks, check_timings, check_starts_of_workers, check_order, check_results, check_described, check_installed,
    check_tuning, check_inventory, check_comparisons, check_proofs, check_attempts, check_own_answers, check_growth,
    check_declared_profile, check_packed_protocol, check_session,
    check_generated, check_layers, check_floor, check_planted,
    check_gates, check_headline,
)  # fmt: skip


def judge(path: str, most_listed: int = MOST_LISTED, signers: Signers = NO_SIGNERS) -> Json:
    """Run every check over a bundle folder; the document of the last line, with up to `most_listed` problems.

    signers: who may have signed it. Where a file is named, a bundle without a good signature by one of them fails.
    """
    bundle = Bundle(path)
    try:
        refuse_signers(signers)
        refuse_unknown(bundle)
    except (NotJudgedError, OSError) as error:
        return not_judged(str(error))
    for check in CHECKS:
        bundle.rule = check.__name__[len("check_") :]
        bundle.touched.clear()
        try:
            check(bundle)
        except UnreadableError as error:
            bundle.rule = "unreadable"  # one cause, named once, however many checks need the same thing
            bundle.fail(str(error), "what depends on it cannot be checked")
        except (
            LookupError,
            TypeError,
            ValueError,
            AttributeError,
            ArithmeticError,
            struct.error,
            SyntaxError,
            RecursionError,
            MemoryError,
        ) as error:
            files = list(OrderedDict.fromkeys(reversed(bundle.touched)))[:MOST_NAMED]
            message = "could not be completed (%s: %s): a file is not of the form expected"
            bundle.fail(" or ".join(files) or "not completed", message % (type(error).__name__, error))
    bundle.rule = "signature"
    signature = judge_signature(bundle, signers)
    if not signature.startswith("good: "):
        bundle.leave("signature (%s)" % signature)
    bundle.leave(FOR_PEOPLE)
    return summary(bundle, most_listed, signature)


def refuse_unknown(bundle: Bundle) -> None:
    """Raise NotJudgedError for what is no bundle, or one of a version this auditor does not know."""
    if not os.path.isdir(bundle.path):
        raise NotJudgedError("%s is not a folder" % bundle.path)
    for name in ("SHA256SUMS", "run.json", "profile.json", "verdict.json"):
        if not bundle.exists(name):
            raise NotJudgedError("%s is not in %s, so it is not a sealed bundle" % (name, bundle.path))
    for name, expected in {
        **DOCUMENTS,
        **OPERATOR_DOCUMENTS,
        **MEASURED_DOCUMENTS,
        **GENERATED_DOCUMENTS,
        **OPTIONAL_DOCUMENTS,
    }.items():
        try:
            found = str(bundle.json(name).get("format")) if bundle.exists(name) else expected
        except UnreadableError:
            continue  # damaged: the checks say so
        if found.split("/")[0] == expected.split("/")[0] and found != expected:
            raise NotJudgedError("%s has format %s, this auditor knows %s" % (name, found, expected))


def summary(bundle: Bundle, most_listed: int, signature: str) -> Json:
    try:
        verdict = bundle.json("verdict.json")
    except UnreadableError:
        verdict = {}
    counts = verdict.get("counts") if isinstance(verdict.get("counts"), dict) else {}
    return {
        "audit": "fail" if bundle.problems else "pass",
        **{name: plain(verdict.get(name)) for name in ("verdict", "profile", "claim")},
        **{name: plain(counts.get(name)) for name in ("requests", "questions", "posts")},
        "max_probability_drift": plain(verdict.get("max_probability_drift")),
        "draw": draw_of(bundle),
        "bundle_sha256": bundle.digest("SHA256SUMS"),
        "signature": signature,
        "problems": list(bundle.problems)[:most_listed],
        "problem_count": bundle.problem_count,
        "not_checked": list(bundle.not_checked),
        "not_derived": told_alone(bundle),
        "auditor": AUDIT_VERSION,
    }


def plain(value: Any) -> Any:
    """What may stand in the result: a short value as it is, anything else in words."""
    told = value is None or isinstance(value, (bool, int, float)) or (isinstance(value, str) and len(value) <= LONGEST_NAME)
    return value if told else short(value)


def told_alone(bundle: Bundle) -> List[str]:
    """What rests on the run's word alone; nothing where not even the profile can be read."""
    try:
        return not_derived(bundle)
    except (UnreadableError, LookupError, TypeError):
        return []


def not_judged(reason: str) -> Json:
    """The document for something that is no bundle, or none this auditor can read."""
    return {
        "audit": "not-judged", "verdict": None, "problems": [reason], "problem_count": 1, "not_checked": ["everything"],
        "auditor": AUDIT_VERSION, "signature": "not checked: nothing was judged",
    }  # fmt: skip


def printable(value: Any) -> str:
    """A file or a name may hold anything; what is printed must not move a terminal or break a stream."""
    return json.dumps(str(value))[1:-1]


def show(result: Json) -> None:
    """Lines for people, then the same as one JSON document."""
    for problem in result["problems"]:
        print("problem: %s" % printable(problem))
    if result["problem_count"] > len(result["problems"]):
        print("problem: and %d more" % (result["problem_count"] - len(result["problems"])))
    for item in result["not_checked"]:
        print("not checked: %s" % printable(item))
    for item in result.get("not_derived", ()):
        print("not derived, the run's own word: %s" % printable(item))
    print(
        "beyond any offline check: a forgery that is consistent throughout; compare bundle_sha256 with a published one"
    )
    for name in (
        "profile",
        "claim",
        "requests",
        "questions",
        "posts",
        "max_probability_drift",
        "bundle_sha256",
        "signature",
    ):
        if result.get(name) is not None:
            print("%s: %s" % (name, printable(result[name])))
    if result.get("draw"):
        draw = {key: printable(value) for key, value in result["draw"].items()}
        print(
            "autotune draw: %(digest)s, %(source)s, %(winners)s winners; what is bitwise equal is so under this draw"
            % draw
        )
    print("verdict the bundle claims: %s" % printable(result["verdict"]))
    print("audit: %s (%d problems)" % (result["audit"], result["problem_count"]))
    print(json.dumps(result))


def main(arguments: List[str]) -> int:
    if arguments in (["-h"], ["--help"]):
        print(__doc__)
        return 0
    paths, options = split(arguments)
    known = set(options).issubset({"--allowed-signers", "--identity"})
    if len(paths) != 1 or not known or not all(options.values()):
        print(__doc__)
        return EXIT_CODES["not-judged"]
    signers = Signers(options.get("--allowed-signers", ""), options.get("--identity", ""))
    result = judge(paths[0], signers=signers)
    show(result)
    return EXIT_CODES[result["audit"]]


def split(arguments: List[str]) -> Tuple[List[str], Dict[str, str]]:
    """What stands alone, and what follows an option."""
    paths: List[str] = []
    options: Dict[str, str] = {}
    pending = list(arguments)
    while pending:
        word = pending.pop(0)
        if word.startswith("-"):
            options[word] = pending.pop(0) if pending else ""
        else:
            paths.append(word)
    return paths, options


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
