#!/usr/bin/env python3
"""Check an evidence bundle: python audit.py BUNDLE   (Python 3.9 or later, standard library only)

Covers: every file's hash and role; the profile, the fixed gates and the protocol's bytes; executed notebooks
against the packed sources; the recorded requests against the plan that the protocol gives; the worker's
record against the client's; every answer from the recorded logits, and the logits from hidden rows and label
head; drift, repeats, latencies and the graph cache by its policy; every gate and count of the verdict. It
shares no code with what computed them first. Every problem is listed; the last line is one JSON document.
Exit code: 0 pass, 1 fail, 2 could not judge. An empty set fails, NaN fails, and so does a check that cannot
be completed.

Does not cover: a forgery that is consistent throughout, which no offline check can refuse (compare the digest
of SHA256SUMS with one its author published elsewhere, or run it again); who made the bundle; whether the
packed sources are what ran; report.html, figures and logs, which are for people; whether decisions are good.

Sections: rules, reading, files, identity, sources and notebooks, records, answers, drift, graph cache,
operators and drills, latency, verdict, running. A check is a function named check_<rule>.
"""

from __future__ import annotations

import ast
import base64
import binascii
import hashlib
import io
import json
import math
import os
import random
import re
import statistics
import struct
import sys
import tarfile
from collections import Counter, OrderedDict
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, NoReturn, Sequence, Tuple

# ---------------------------------------------------------------- rules

AUDIT_VERSION = 2
GATES = {"probability": 0.02, "confidence": 0.02, "noul": 0.02, "expected_value": 0.1, "winner_margin": 0.05}
SLACK = 1e-12  # on bounds, and between two computations of one figure
SUM_TOLERANCE = 1e-6
MAX_STEPS = 4096
LATTICE_EXPONENTS = range(21)
LATTICE_TOLERANCE = 1e-9
LABELS = 32
MOST_LISTED = 50
NOT_VISIBLE = "not visible"  # what the device's driver refused to say
FOREIGN_BYTES = 1 << 30  # device memory that may be in use beyond what a run took itself
RETURN_BYTES = 64 << 20  # device memory that may stay taken when a worker has ended
EXIT_CODES = {"pass": 0, "fail": 1, "not-judged": 2}

ENGINES = ("reference", "native", "graph", "remote")
CACHES = ("text", "multimodal", "vision")
COUNTERS = ("captures", "replays", "evictions", "invalidations", "fallbacks", "captured_bytes")
STAGES = (
    "01_preflight", "02_checkpoint", "03_reference", "04_native_eager", "04_remote", "05_native_graph",
    "06_operators", "07_faults", "08_drift", "09_performance", "10_evidence",
)  # fmt: skip
ENGINE_STAGES = {
    "03_reference": "reference", "04_native_eager": "native", "04_remote": "remote", "05_native_graph": "graph",
}  # fmt: skip
OPERATORS = "06_operators"
NATIVE_STAGES = (OPERATORS, "07_faults")

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
SUMMED_KINDS = ("synthetic", "folder", "export")  # checkpoints whose own stage reads or makes every tensor
RATIO_TARGETS = ((98, 0.65), (171, 0.65), (392, 0.65), (1024, 0.75), (2282, 0.75))
SPEEDUP_TARGETS = ((98, 5.0), (392, 2.6))
VISION_TARGET_MS, PEAK_TARGET_GIB, GIB = 6.0, 4.0, 1 << 30
LEAST_BLOCKS = 5
RESAMPLES, RESAMPLE_SEED = 1000, 20261130
SENTINEL = "finished"
FROZEN_ONLY = "answers frozen with the protocol alone"

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
OPTIONAL_DOCUMENTS = {"records/draws.json": "kit-draws/1"}
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
FOR_PEOPLE = "report.html, figures, logs and what notebooks printed (for people; nothing is derived from them)"

Json = Dict[str, Any]
Key = Tuple[Any, ...]


class NotJudgedError(Exception):
    """This is not a bundle this auditor can judge."""


class UnreadableError(Exception):
    """Something a check needs is missing or malformed; the check cannot be completed, so it fails."""


# ---------------------------------------------------------------- reading


class Planned(NamedTuple):
    """One request that an engine had to be sent. digest: SHA-256 of its bytes, None where the plan has none."""

    target: str
    phase: str
    number: int
    request: str
    modality: str
    status: int
    digest: str | None


class Post(NamedTuple):
    """The worker's side of one request."""

    line: Json
    questions: List[Json]
    visions: List[Json]


def once(method: Callable[..., Any]) -> Callable[..., Any]:
    """Keep what a method of Bundle returns; nothing here changes while it is read."""

    def kept(self: Bundle, *arguments: Any) -> Any:
        key = (method.__name__, *arguments)
        if key not in self.memory:
            self.memory[key] = method(self, *arguments)
        return self.memory[key]

    return kept


class Bundle:
    """The folder under audit, its content read once, and the problems found so far."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.rule = ""  # the check at work
        self.problems: List[str] = []
        self.not_checked: List[str] = []
        self.memory: Dict[Any, Any] = {}

    def fail(self, where: str, message: str) -> None:
        problem = "%s: %s: %s" % (self.rule, where, message)
        if problem not in self.problems:
            self.problems.append(problem)

    def expect(self, where: str, found: Any, expected: Any) -> None:
        """One comparison: a problem unless both are equal."""
        if found != expected or isinstance(found, bool) != isinstance(expected, bool):
            self.fail(where, "found %s, expected %s" % (short(found), short(expected)))

    def leave(self, what: str) -> None:
        """Something this audit does not check, said in its result."""
        if what not in self.not_checked:
            self.not_checked.append(what)

    # files

    @once
    def files(self) -> Any:
        """(names of all regular files, names of everything that is neither file nor folder)."""
        files, odd = set(), []
        for folder, folders, names in os.walk(self.path):
            for name in folders + names:
                full = os.path.join(folder, name)
                relative = os.path.relpath(full, self.path).replace(os.sep, "/")
                if os.path.islink(full) or not (os.path.isfile(full) or os.path.isdir(full)):
                    odd.append(relative)
                elif os.path.isfile(full):
                    files.add(relative)
        return files, sorted(odd)

    def exists(self, name: str) -> bool:
        return name in self.files()[0]

    def read(self, name: str) -> bytes:
        if not safe_name(name) or not self.exists(name):
            raise UnreadableError("%s is missing" % name)
        try:
            with open(os.path.join(self.path, *name.split("/")), "rb") as file:
                return file.read()
        except OSError as error:
            raise UnreadableError("%s cannot be read (%s)" % (name, error.strerror)) from error

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

    def stages(self) -> List[str]:
        left_out = {stage for stage, engine in ENGINE_STAGES.items() if engine not in self.engines}
        left_out.update(() if self.native else NATIVE_STAGES)
        left_out.update(() if self.operators else (OPERATORS,))
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
        try:
            with tarfile.open(fileobj=io.BytesIO(self.read("source.tar.gz")), mode="r:gz") as archive:
                for member in archive:
                    if not member.isfile() or not safe_name(member.name) or member.name in found:
                        raise UnreadableError(
                            "source.tar.gz: %s is no plain file of its own" % short(member.name)
                        )
                    file = archive.extractfile(member)
                    found[member.name] = file.read() if file else b""
        except (tarfile.TarError, OSError, EOFError) as error:
            raise UnreadableError("source.tar.gz cannot be read: %s" % error) from error
        return found


def parse_json(data: bytes, where: str) -> Any:
    """Strict JSON: no key twice in an object, no NaN, nothing infinite."""

    def pairs(items: List[Tuple[str, Any]]) -> Json:
        if len(dict(items)) != len(items):
            raise UnreadableError("%s has a key twice in one object" % where)
        return dict(items)

    def constant(name: str) -> NoReturn:
        raise UnreadableError("%s holds %s, which is no number" % (where, name))

    def number(text: str) -> float:
        value = float(text)
        return value if math.isfinite(value) else constant(text)

    try:
        return json.loads(
            data.decode("utf-8"), object_pairs_hook=pairs, parse_constant=constant, parse_float=number
        )
    except (ValueError, RecursionError) as error:
        raise UnreadableError("%s is not JSON: %s" % (where, error)) from error


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


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


# ---------------------------------------------------------------- files


def check_sums(bundle: Bundle) -> None:
    """SHA256SUMS is well formed, and every file is listed, present, no link, and unchanged."""
    files, odd = bundle.files()
    for name in odd:
        bundle.fail(name, "is a link or a special file; a bundle holds plain files only")
    listed = read_sums(bundle, "SHA256SUMS")
    present = files - set(UNLISTED)
    for name in sorted(set(listed) - present - set(odd)):
        bundle.fail(name, "is listed but missing")
    for name in sorted(present - set(listed)):
        bundle.fail(name, "is in the bundle but not listed")
    for name in sorted(present & set(listed)):
        found = sha256(bundle.read(name))
        if found != listed[name]:
            bundle.fail(name, "has SHA-256 %s, listed is %s" % (found, listed[name]))


def read_sums(bundle: Bundle, where: str) -> Dict[str, str]:
    """Name -> digest of a checksum file; malformed, unsafe, repeated and unsorted lines are problems."""
    listed: Dict[str, str] = OrderedDict()
    for number, line in enumerate(bundle.read(where).decode("utf-8", "replace").split("\n")[:-1], 1):
        match, at = re.fullmatch(r"([0-9a-f]{64}) [ *](.+)", line), "%s line %d" % (where, number)
        if not match:
            bundle.fail(at, "malformed: %s" % short(line))
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
    for name, expected in {**DOCUMENTS, **OPERATOR_DOCUMENTS, **MEASURED_DOCUMENTS, **OPTIONAL_DOCUMENTS}.items():
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


def check_crate(bundle: Bundle) -> None:
    """The catalogue description lists exactly the files there are, and one action a stage with its outcome."""
    entities = {entity["@id"]: entity for entity in bundle.json(CRATE)["@graph"]}
    listed = {part["@id"] for part in entities["./"]["hasPart"]}
    present = bundle.files()[0] - {*UNLISTED, CRATE}
    for name in sorted(listed - present):
        bundle.fail(name, "is described in %s but missing" % CRATE)
    for name in sorted(present - listed):
        bundle.fail(name, "is not described in %s" % CRATE)
    for stage in bundle.stages():
        finished = bundle.exists("stages/%s.json" % stage)
        action = entities.get("#stage-%s" % stage, {})
        status = {"@id": "http://schema.org/%sActionStatus" % ("Completed" if finished else "Failed")}
        bundle.expect("%s action of %s" % (CRATE, stage), action.get("actionStatus"), status)


# ---------------------------------------------------------------- identity


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
        bundle.fail("profile.json reference", "is %s, which is not the official one" % short(campaign["reference"]))
    if bundle.exported and (campaign["reference"] or "reference" in campaign["engines"]):
        bundle.fail("profile.json reference", "ran from an export, which holds no whole head for it")
    raw = {"native", "graph"}.intersection(campaign["engines"])
    if profile["claim"] == "exact" and (
        not campaign["reference"] or not raw or "remote" in campaign["engines"] or campaign["passes"] < 2
    ):
        bundle.fail("profile.json claim", "is exact without both sides' rows over two passes to show it")
    if not 1 <= profile["campaign"]["passes"] <= 100:
        bundle.fail(
            "profile.json passes", "is %s, expected at least 1" % short(profile["campaign"]["passes"])
        )
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


def check_protocol(bundle: Bundle) -> None:
    """The protocol is whole and unchanged by its own sums, with distinct requests."""
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
                bundle.fail(prefix + name, "is not what protocol/SHA256SUMS lists")
    ids = [case["id"] for case in bundle.corpus()]
    if len(set(ids)) != len(ids):
        bundle.fail("protocol/corpus.jsonl", "has a request id twice")
    if bundle.frozen() is not None:
        bundle.expect("%s ids" % bundle.answers, sorted(bundle.frozen()), sorted(ids))
    elif bundle.profile["protocol"]["frozen"] and bundle.answers != "protocol/" + ANSWERS:
        bundle.fail(bundle.answers, "is missing, and the profile names it as the answers to judge against")


def check_published(bundle: Bundle) -> None:
    """A protocol that was published elsewhere is the one that the packed sources pin."""
    name = bundle.profile["protocol"].get("pins", "")
    if not name:
        return
    if name not in bundle.sources():
        bundle.leave("protocol against %s (it is not in the packed sources)" % name)
        return
    pins, frozen = parse_json(bundle.sources()[name], name), bundle.frozen() or {}
    bundle.expect("protocol/corpus.jsonl", sha256(bundle.read("protocol/corpus.jsonl")), pins["corpus_sha256"])
    for request, pinned in pins["answers"].items():
        where = "%s %s" % (bundle.answers, request)
        if request not in frozen:
            bundle.fail(where, "is missing")
            continue
        bundle.expect("%s input_tokens" % where, frozen[request]["usage"]["input_tokens"], pinned["input_tokens"])
        if pinned["sha256"] is None:
            bundle.leave("published answers to %s (only their token total is pinned)" % request)
            continue
        answers = frozen[request]["answers"]
        figures = {q: {c: float(p) for c, p in a["probabilities"].items()} for q, a in answers.items()}
        text = json.dumps(figures, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
        bundle.expect("%s answers" % where, sha256(text.encode()), pinned["sha256"])


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
        found = device_findings(seen) if seen["visible"] is True else ([], ["the device (%s)" % seen["reason"]])
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
    bundle.expect("device.json verdict", document["verdict"]["alone"], alone)


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
    unseen += [] if isinstance(seen["ecc_uncorrected"], int) else ["memory errors"]
    return problems, unseen


def device_changes(before: Json, after: Json) -> List[str]:
    names = ("name", "uuid_sha256", "driver", "cuda_driver")
    problems = ["%s changed from %s to %s" % (n, before[n], after[n]) for n in names if before[n] != after[n]]
    old, new = before["ecc_uncorrected"], after["ecc_uncorrected"]
    if isinstance(old, int) and isinstance(new, int) and new > old:
        problems.append("%d uncorrected memory errors during the run" % (new - old))
    return problems


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


def digest_of(document: Any) -> str:
    """SHA-256 of a document's canonical JSON."""
    return sha256(json.dumps(document, sort_keys=True, ensure_ascii=False, separators=(",", ":")).encode())


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
    asked = [(case["id"], name, case["modality"]) for case in bundle.corpus() for name in case["request"]["questions"]]
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
    pairs = [dict(summary, between=[pair["draws"] for pair in summary["between"]]) for summary in (told, expected)]
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


def check_checkpoint(bundle: Bundle) -> None:
    """The weights are those the profile names, and the label rows are what their digest says."""
    if not bundle.recorded_engines and not bundle.exists("checkpoint.json"):
        return
    document, wanted = bundle.json("checkpoint.json"), bundle.profile["checkpoint"]
    if wanted["kind"] == "synthetic":
        bundle.expect("checkpoint.json digest", document["digest"], wanted["digest"])
    else:
        bundle.leave("weights (%s): their files are not in the bundle" % wanted["kind"])
    for engine in bundle.recorded_engines:
        said = bundle.json("records/%s/engine.json" % engine)["describe"].get("checkpoint_digest", document["digest"])
        bundle.expect("records/%s/engine.json checkpoint_digest" % engine, said, document["digest"])
    head = document["label_head"]
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
            bundle.fail("records/%s/engine.json weights_sum" % engine, "is missing: nothing says what it held")
    summed = document.get("weights_sum")
    if summed is None and bundle.profile["checkpoint"]["kind"] in SUMMED_KINDS:
        bundle.fail("checkpoint.json weights_sum", "is missing: nothing says what the checkpoint holds")
    wanted = summed if summed is not None else next(iter(sums.values()), None)
    for name in sorted(sums):
        bundle.expect("%s weights_sum" % name, sums[name], wanted)


def check_signal(bundle: Bundle) -> None:
    """Floor and effects are of this checkpoint and corpus, and their summary follows from the questions.

    No gate reads them: they say what drift on these weights can mean.
    """
    if not bundle.operators:
        return
    document = bundle.json("signal.json")
    if bundle.recorded_engines:
        bundle.expect(
            "signal.json checkpoint_digest", document["checkpoint_digest"], bundle.json("checkpoint.json")["digest"]
        )
    known = {case["id"]: case["request"]["questions"] for case in bundle.corpus()}
    questions = document["questions"]
    for question in questions:
        if question["question"] not in known.get(question["request"], {}):
            bundle.fail("signal.json %s" % short(question["request"]), "was not asked %s" % short(question["question"]))
    if not questions:
        bundle.fail("signal.json", "measures nothing")
    else:
        bundle.expect("signal.json summary", document["summary"], signal_summary(questions))


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


# ---------------------------------------------------------------- sources and notebooks


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
    if sources.get("kit/evidence/audit.py") != bundle.read("audit.py"):
        bundle.fail("audit.py", "is not the one of the packed sources")


def changed_sources(bundle: Bundle) -> List[str]:
    document = bundle.json("sources.json")
    before, after = document.get("before") or {}, document.get("after") or {}
    return sorted(name for name in {*before, *after} if before.get(name) != after.get(name))


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
            bundle.fail(at, "ended in an error")
        if "nbval-check-output" in tags(cell) and not cell["outputs"]:
            bundle.fail(at, "is a verdict cell without output")
    if not count:
        bundle.fail(name, "has no code")


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
            bundle.fail(name, "ran with %s, %s reports %s" % (short(found), stage, short(reported)))


def position_of(tag: str, cells: List[Json]) -> int:
    return next((index for index, cell in enumerate(cells) if tag in tags(cell)), -2)


def tags(cell: Json) -> List[str]:
    return list(cell.get("metadata", {}).get("tags", ()))


def joined(cell: Json) -> str:
    source = cell["source"]
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


# ---------------------------------------------------------------- records


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
        elif sha256(bundle.read(name)) != name.rpartition("/")[2]:
            bundle.fail(name, "has SHA-256 %s" % sha256(bundle.read(name)))
    stray = {name for name in bundle.files()[0] if name.startswith(("records/bodies/", "records/rows/"))}
    stray -= referred
    if stray and any(name.startswith("attempts/") for name in bundle.files()[0]):
        bundle.leave("%d bodies and hidden rows of interrupted attempts" % len(stray))
        return
    for name in sorted(stray):
        bundle.fail(name, "belongs to no recorded exchange")


def check_worker(bundle: Bundle) -> None:
    """The worker's record is in order: warm-ups, ready, then every post from 1 with its forwards before it."""
    for engine in bundle.recorded_engines:
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
            bundle.fail(name, "the campaign stopped: %s" % facts["error"])


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


# ---------------------------------------------------------------- answers


def softmax(logits: Sequence[float], temperature: float) -> List[float]:
    top = max(logits)
    weights = [math.exp((x - top) / temperature) for x in logits]
    total = math.fsum(weights)
    return [weight / total for weight in weights]


def floats(text: str) -> Tuple[float, ...]:
    """Numbers behind the hex of little-endian float32 values."""
    data = bytes.fromhex(text)
    return struct.unpack("<%df" % (len(data) // 4), data)


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


def answer_faults(answer: Json) -> List[str]:
    """What in one answer contradicts the rest of it (sums apart)."""
    kind, p = answer["type"], list(answer["probabilities"].values())
    extra = {"choice": "choice", "noul": "noul", "score": "expected_value"}[kind]
    faults = []
    if set(answer) != {"type", "probabilities", "confidence", extra}:
        return ["keys %s" % sorted(answer)]
    if not p or not all(map(is_number, p)):
        return ["a probability that is no finite number"]
    if not same(answer["confidence"], max(p)):
        faults.append("confidence %s, the largest probability is %s" % (short(answer["confidence"]), max(p)))
    if kind == "choice" and answer["choice"] != winner(answer):
        faults.append(
            "choice %s, the largest probability is that of %s"
            % (short(answer["choice"]), short(winner(answer)))
        )
    if kind == "noul" and not same(answer["noul"], p[0]):
        faults.append("noul %s, p(yes) is %s" % (short(answer["noul"]), p[0]))
    if kind == "score" and not same(answer["expected_value"], expectation(p)):
        faults.append("expected_value %s, the mean is %s" % (short(answer["expected_value"]), expectation(p)))
    return faults


def response_faults(response: Json) -> List[str]:
    """What is wrong with a response around its answers."""
    usage = response.get("usage")
    if set(response) != {"model", "answers", "usage"} or not isinstance(usage, dict):
        return ["keys %s" % sorted(response)]
    if set(usage) != {"input_tokens", "output_tokens", "latency_ms"}:
        return ["usage keys %s" % sorted(usage)]
    faults = [] if usage["output_tokens"] == 0 else ["output_tokens %s" % short(usage["output_tokens"])]
    if not (is_number(usage["latency_ms"]) and usage["latency_ms"] > 0):
        faults.append("latency_ms %s" % short(usage["latency_ms"]))
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
        bundle.fail(at, "probabilities sum to %s" % total)


def check_logits(bundle: Bundle) -> None:
    """Every recorded logit is a finite number, and every answer is the softmax of its logits."""
    for engine in bundle.recorded_engines:
        for line in bundle.worker(engine):
            if line["kind"] == "question":
                values = floats(line["logits"])
                if len(values) != len(line["candidates"]) or not all(map(math.isfinite, values)):
                    message = "%d logits for %d candidates, or one that is no finite number: %s"
                    at = "records/%s/worker.jsonl post %s %s" % (engine, line["sequence"], line["question"])
                    bundle.fail(at, message % (len(values), len(line["candidates"]), short(values)))
        for line in bundle.exchanges(engine):
            if line["status"] == 200 and line["sequence"] in bundle.posts(engine):
                compare_with_logits(
                    bundle,
                    "records/%s n=%s" % (engine, line["n"]),
                    line,
                    bundle.post(engine, line["sequence"]),
                )


def compare_with_logits(bundle: Bundle, at: str, line: Json, post: Post) -> None:
    response = bundle.body(line["response_sha256"])
    bundle.expect("%s input_tokens" % at, response["usage"]["input_tokens"], post.line["input_tokens"])
    for question in post.questions:
        answer = response["answers"].get(question["question"])
        if answer is None or not is_softmax(answer, question, post.line["temperature"]):
            bundle.fail(
                "%s %s" % (at, question["question"]), "the answer is not the softmax of the recorded logits"
            )


def check_hidden_rows(bundle: Bundle) -> None:
    """Label logits follow from the recorded hidden rows and the label rows, to within one rounding step."""
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
    letter, size, finer = {
        "bfloat16": ("", 2, 1.0),
        "float32": ("f", 4, 2.0**-16),
        "float64": ("d", 8, 2.0**-16),
    }[dtype]
    hidden = bf16(data) if not letter else struct.unpack("<%d%s" % (len(data) // size, letter), data)
    if len(hidden) != len(rows[0]) or not all(map(math.isfinite, hidden)):
        return "the hidden row has %d values, expected %d finite ones" % (len(hidden), len(rows[0]))
    for label, (found, row) in enumerate(zip(floats(logits), rows)):
        terms = [a * b for a, b in zip(hidden, row)]
        expected = math.fsum(terms)
        # One step of the rounding to the model's dtype, and what adding the terms up in float32 can lose.
        allowed = spacing(max(abs(expected), abs(found))) * finer + math.fsum(map(abs, terms)) * 2.0**-20
        if not abs(found - expected) <= allowed:
            return "label %d: logit %r, hidden row and label head give %r" % (label, found, expected)
    return ""


# ---------------------------------------------------------------- drift


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
    return rows


def compare(
    reference: Side, candidate: Side, question: str, temperature: Any, visible: Dict[Key, Any]
) -> Json:
    a, b = reference.response["answers"][question], candidate.response["answers"][question]
    p, q = list(a["probabilities"].values()), list(b["probabilities"].values())
    if list(a["probabilities"]) != list(b["probabilities"]) or a["type"] != b["type"]:
        raise UnreadableError("question %s has answers of other candidates or types" % short(question))
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


def compare_figures(bundle: Bundle, where: str, found: Json, expected: Json) -> None:
    """Every figure of a row against the same recomputed; a figure too many or too few is a problem as well."""
    for name in sorted(set(found) | set(expected)):
        if name not in found or name not in expected or not same(found[name], expected[name]):
            message = "is %s, recomputed %s"
            bundle.fail(
                "%s %s" % (where, name), message % (short(found.get(name)), short(expected.get(name)))
            )


# ---------------------------------------------------------------- graph cache


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
                message = "post %s: %s of %s is %s"
                self.mismatches[name].append(message % (line["sequence"], size, line["action"], short(line[size])))

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
        total = {name: sum(final[cache][name] for cache in CACHES) for name in ("captures", "replays", "fallbacks")}
        if bundle.profile["claim"] == "exact" and (not total["captures"] or not total["replays"] or total["fallbacks"]):
            bundle.fail("records/graph", "an exact claim about graphs needs captures and replays, found %s" % short(total))


def check_memory(bundle: Bundle) -> None:
    """Private pools are as large by the allocator's count as by the graph caches'; a device says what it holds."""
    for engine in bundle.recorded_engines:
        for line in bundle.worker(engine):
            if line["kind"] not in ("ready", "closed"):
                continue
            where, memory = "records/%s/worker.jsonl %s memory" % (engine, line["kind"]), line.get("memory") or {}
            if memory:
                pools = sum(cache["pool_bytes"] for cache in line["counters"].values())
                bundle.expect("%s pools" % where, memory["pools"], pools)
                if not 0 <= memory["allocated"] <= memory["reserved"] <= memory["peak_reserved"]:
                    bundle.fail(where, "more is allocated than reserved, or reserved than ever was")
            elif bundle.profile["runtime"]["device"] == "cuda":
                bundle.fail(where, "is missing")


def check_counters(bundle: Bundle) -> None:
    """counters.json repeats what the engines reported, and what the policy gives."""
    engines = bundle.json("counters.json")["engines"]
    bundle.expect("counters.json engines", sorted(engines), sorted(bundle.engines))
    for engine in bundle.engines:
        reported = bundle.json("records/%s/engine.json" % engine)["counters"]
        bundle.expect("counters.json %s" % engine, engines.get(engine, {}).get("counters"), reported)
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
            place = ("warm-up", 0) if line["sequence"] is None else places.get(line["sequence"], ("unknown", 0))
            actions = found.setdefault(place, {"phase": place[0], "pass": place[1]})
            actions[line["action"]] = actions.get(line["action"], 0) + 1
    return list(found.values())


# ---------------------------------------------------------------- operators and drills


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
    for proof in document["proofs"]:
        if proof["choice"] == "kernel" and (proof["different"] or not proof["elements"] > 0):
            where = "operators.json proofs %s %s" % (proof["op"], proof["key"])
            bundle.fail(where, "a kernel is used though %s of %s differ" % (proof["different"], proof["elements"]))


def operator_faults(bundle: Bundle, check: Json, device: str) -> None:
    """What one line of the comparison shows or fails to show."""
    where = "operators.json %s %s" % (check["op"], check["shape"])
    if not (isinstance(check["elements"], int) and check["elements"] > 0):
        bundle.fail(where, "compares no element")
    if any(type(check[name]) is not int or check[name] < 0 for name in MISSES):
        bundle.fail(where, "a count is no count")
    elif check["nan"] or (bundle.profile["claim"] == "exact" and any(check[name] for name in MISSES)):
        counts = ", ".join("%s %s" % (name, check[name]) for name in MISSES if check[name])
        bundle.fail(where, "%s of %s elements" % (counts, check["elements"]))
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
                    bundle.fail("operators.json %s" % op, "was not compared at %d rows (%s)" % (size, variant))


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


def check_drills(bundle: Bundle) -> None:
    """Every drill there must be was run and ended as it must; on a GPU its memory came back, by the figures."""
    if not bundle.native:
        return
    lines = bundle.jsonl("records/drills.jsonl")
    bundle.expect("records/drills.jsonl format", lines[0].get("format"), "kit-drills/1")
    bundle.expect("records/drills.jsonl drills", [line["drill"] for line in lines[1:]], drills_of(bundle, lines[0]["engine"]))
    for line in lines[1:]:
        where = "records/drills.jsonl %s" % line["drill"]
        missed = [name for name, kept in line["checks"].items() if kept is not True]
        if missed or not line["checks"] or line["passed"] is not True:
            bundle.fail(where, "failed: %s" % ", ".join(missed))
        if on_gpu(bundle) and line["drill"] in ("killed-worker", "stopped-worker"):
            check_returned(bundle, where, line["observed"]["memory"])


def drills_of(bundle: Bundle, engine: str) -> List[str]:
    """Names of the drills of this profile and protocol, in order."""
    profile = bundle.profile
    graph = profile["graph"]
    clears = (
        engine == "graph"
        and graph["text"]["entries"] > 0
        and graph["text"]["megabytes"] > 0
        and graph["scratch_tokens"] + 64 <= profile["limits"]["text_tokens"]
    )
    images = any(case["modality"] == "image" for case in bundle.corpus())
    names = ["refused-between-answers", "client-leaves-in-mid-body", "client-leaves-while-waiting", "killed-worker"]
    names += ["graph-cache-cleared"] if clears else []
    names += ["stopped-worker"] + (["not-finite-pixels"] if images else []) + ["not-finite-weights", "not-finite-served"]
    return names + (["closed-engine"] if on_gpu(bundle) else [])


def on_gpu(bundle: Bundle) -> bool:
    return bool(bundle.profile["runtime"]["device"] == "cuda")


def check_returned(bundle: Bundle, where: str, memory: Json) -> None:
    """Device memory before a worker started and after it had gone."""
    start, end = memory["start_bytes"], memory["end_bytes"]
    if not (isinstance(start, int) and isinstance(end, int)):
        bundle.leave("device memory after a worker has gone: not visible")
    elif end > start + RETURN_BYTES:
        bundle.fail(where, "%d bytes of device memory did not come back" % (end - start))


# ---------------------------------------------------------------- latency


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


def figure_key(row: Json) -> Key:
    return (row["engine"], row["workload"], row["way"], row["tokens"], row.get("pass"))


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


def sampled_rows(bundle: Bundle) -> Dict[Key, Json]:
    """The row performance.json must have for each entry of the samples, but for anchors."""
    if "sampled rows" not in bundle.memory:
        bundle.memory["sampled rows"] = compute_sampled_rows(bundle)
    rows: Dict[Key, Json] = bundle.memory["sampled rows"]
    return rows


def compute_sampled_rows(bundle: Bundle) -> Dict[Key, Json]:
    document = bundle.json(SAMPLES)
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
            bundle.fail(where, "was measured on another workload or in other blocks than the rest of its round")
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
    whole = len(blocks) >= LEAST_BLOCKS and len({len(block) for block in blocks}) == 1
    if not whole or not times or not all(is_number(ms) and ms > 0 for ms in times):
        bundle.fail(where, "holds no %d or more equal blocks of positive times" % LEAST_BLOCKS)
        return False
    sizes = [entry["pool_bytes"]] + ([] if entry["extra_bytes"] is None else [entry["extra_bytes"]])
    if not all(type(size) is int and size >= 0 for size in sizes):
        bundle.fail(where, "holds a size in bytes that is none")
        return False
    cold = entry["cold_ms"]
    if cold is not None and not (is_number(cold) and cold > 0):
        bundle.fail(where, "cold_ms is %s, expected a time or nothing" % short(cold))
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
    chance, count, ratios = random.Random(RESAMPLE_SEED), len(ours), []
    for _ in range(RESAMPLES):
        drawn = [int(chance.random() * count) for _ in range(count)]
        sides = [[ms for i in drawn for ms in blocks[i]] for blocks in (ours, theirs)]
        ratios.append(quantile(sides[0], 0.5) / quantile(sides[1], 0.5))
    whole = [quantile([ms for block in blocks for ms in block], 0.5) for blocks in (ours, theirs)]
    return {"ratio": whole[0] / whole[1], "low": quantile(ratios, 0.025), "high": quantile(ratios, 0.975)}


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
                bundle.fail("%s %s/text/%d" % (SAMPLES, engine, tokens), "is missing and not listed as left out")
    swap = measured.get("adapter_swap", {})
    for name in ("changed", "same_as_reference", "returned") if swap else ():
        bundle.expect("performance.json adapter_swap %s" % name, swap[name], True)
    told = [(item["target"], item["bound"], item["at_least"], item["outcome"]) for item in measured["targets"]]
    wanted = targets(rows, bundle.json(SAMPLES)["weight_bytes"])
    bundle.expect("performance.json measured weight_bytes", measured["weight_bytes"], bundle.json(SAMPLES)["weight_bytes"])
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


def quantile(values: Sequence[float], q: float) -> float:
    ordered = sorted(values)
    place = q * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def drift_beside(bundle: Bundle, engine: str) -> Any:
    against = next((kind for kind in ("fresh", "frozen") if (engine, kind) in comparisons(bundle)), None)
    return worst_of(drift_rows(bundle), engine, against, "probability_drift") if against else None


# ---------------------------------------------------------------- verdict


class Gate(NamedTuple):
    """A gate's recomputed outcome. value: None where it could not be measured."""

    passed: bool
    value: Any
    bound: Any


Gates = Dict[Key, List[Gate]]  # (gate, engine, against) -> outcomes, several for one gate a cache


def none_of(count: Any) -> Gate:
    """A gate that counts faults and allows none; None: there was nothing to count over."""
    return Gate(count == 0 and count is not None, count, 0)


def recomputed_gates(bundle: Bundle) -> Gates:
    gates: Gates = OrderedDict()
    for key, gate in [*drift_gates(bundle), *engine_gates(bundle), *run_gates(bundle)]:
        gates.setdefault(key, []).append(gate)
    return gates


def drift_gates(bundle: Bundle) -> Iterator[Tuple[Key, Gate]]:
    rows = drift_rows(bundle)
    columns = {
        "probability": "probability_drift", "confidence": "confidence_drift",
        "noul": "noul_drift", "expected_value": "expected_drift",
    }  # fmt: skip
    for engine, against in comparisons(bundle):
        mine = [row for key, row in rows.items() if key[:2] == (engine, against)]
        for name, column in columns.items():
            worst = worst_of(rows, engine, against, column) or 0.0
            bound = GATES[name] + SLACK
            yield (name, engine, against), Gate(bool(mine) and worst <= bound, worst, bound)
        margin = GATES["winner_margin"]
        changed = sum(not row["winner_same"] and row["reference_margin"] >= margin for row in mine)
        yield ("winner", engine, against), none_of(changed)
        yield ("tokens", engine, against), none_of(sum(not row["tokens_same"] for row in mine))
        yield ("shape", engine, against), none_of(sum(not row["shape_same"] for row in mine))
        if bundle.profile["claim"] == "exact" and against == "fresh" and engine != "remote":
            yield (
                ("hidden_bitwise", engine, against),
                none_of(sum(row["hidden_equal"] is not True for row in mine)),
            )
            yield (
                ("logits_bitwise", engine, against),
                none_of(sum(row["logits_equal"] is not True for row in mine)),
            )


def engine_gates(bundle: Bundle) -> Iterator[Tuple[Key, Gate]]:
    rows = drift_rows(bundle)
    for engine in OrderedDict.fromkeys(pair[0] for pair in comparisons(bundle)):
        mine = {key: row for key, row in rows.items() if key[0] == engine}
        yield ("lattice", engine, None), none_of(sum(not row["lattice"]["holds"] for row in mine.values()))
        answers = measured(bundle, engine)
        sums = [
            math.fsum(answers[request].response["answers"][question]["probabilities"].values())
            for _, _, request, question in mine
        ]
        yield ("probability_sum", engine, None), none_of(sum(not abs(s - 1) <= SUM_TOLERANCE for s in sums))
    for engine in bundle.engines:
        yield ("repeats", engine, None), none_of(repeat_differences(bundle, engine))
    if "graph" in bundle.engines:
        for mismatches in simulation(bundle).mismatches.values():
            yield ("graph_counters", "graph", None), none_of(len(mismatches))


def run_gates(bundle: Bundle) -> Iterator[Tuple[Key, Gate]]:
    lines = [line for engine in bundle.engines for line in bundle.exchanges(engine)]
    planned = sum(len(bundle.plan(engine)) for engine in bundle.engines)
    kept = all(plan_kept(bundle, engine) for engine in bundle.engines)
    yield ("counts", None, None), Gate(kept and planned > 0, str(len(lines)), str(planned))
    wrong = sum(line["status"] != line["expect"] for line in lines)
    yield ("status", None, None), none_of(wrong if lines else None)
    if bundle.profile["claim"] == "exact" and bundle.operators:
        checks = bundle.json("operators.json")["checks"]
        yield (
            ("operators", None, None),
            none_of(sum(c[name] for c in checks for name in MISSES) if checks else None),
        )
    yield ("health", None, None), none_of(len(health_misses(bundle)))
    yield (
        ("sources", None, None),
        none_of(len(changed_sources(bundle)) if bundle.json("sources.json")["after"] else None),
    )
    if bundle.profile["claim"] == "faithful":
        # Nothing in this version of a bundle shows it, so it cannot pass.
        yield ("oracle", None, None), Gate(False, None, 0)


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


def repeat_differences(bundle: Bundle, engine: str) -> Any:
    """How many answers differ from the first measured pass: responses but for latency, then raw records."""
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
    return differences if compared else None


def without_latency(response: Json) -> str:
    usage = {key: value for key, value in response["usage"].items() if key != "latency_ms"}
    return json.dumps(dict(response, usage=usage))


def check_verdict(bundle: Bundle) -> None:
    """verdict.json says what it is about, what was counted, and pass only where nothing failed."""
    verdict, profile = bundle.json("verdict.json"), bundle.profile
    for name in ("claim", "not_covered"):
        bundle.expect("verdict.json %s" % name, verdict[name], profile[name])
    bundle.expect("verdict.json profile", verdict["profile"], profile["name"])
    bundle.expect("verdict.json run", verdict["run"], bundle.json("run.json")["id"])
    if verdict["scope"] != profile["scope"] and not verdict["scope"].startswith(profile["scope"] + "; judged against"):
        bundle.fail("verdict.json scope", "is not the declared one")
    if not bundle.reference and FROZEN_ONLY not in verdict["scope"]:
        bundle.fail("verdict.json scope", "does not say that no reference engine ran")
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
            found = {name: gate[name] for name in ("passed", "value", "bound")}
            compare_figures(bundle, where, found, outcome._asdict())
        for outcome in outcomes:
            if not outcome.passed:
                bundle.fail(
                    "gate %s" % gate_text(key), "failed: %s, bound %s" % (short(outcome.value), outcome.bound)
                )


def gate_text(key: Key) -> str:
    return " ".join(str(part) for part in key if part)


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


# ---------------------------------------------------------------- running

CHECKS: Tuple[Callable[[Bundle], None], ...] = (
    check_verdict, check_sums, check_roles, check_formats, check_crate,
    check_identity, check_profile_toml, check_protocol, check_published, check_settings, check_packages, check_device, check_autotune,
    check_checkpoint,
    check_weights,
    check_signal,
    check_sources, check_stages, check_notebooks,
    check_plan, check_exchanges, check_refusals, check_bodies, check_worker, check_posts, check_engines, check_health,
    check_answers, check_logits, check_hidden_rows,
    check_drift, check_graph, check_counters, check_memory, check_draws, check_operators, check_drills, check_performance,
    check_gates, check_headline,
)  # fmt: skip


def judge(path: str) -> Json:
    """Run every check over a bundle folder; the document of the last line."""
    bundle = Bundle(path)
    try:
        refuse_unknown(bundle)
    except (NotJudgedError, OSError) as error:
        return not_judged(str(error))
    for check in CHECKS:
        bundle.rule = check.__name__[len("check_") :]
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
            bundle.fail("not completed", "%s: %s" % (type(error).__name__, error))
    bundle.leave("signature (%s)" % ("present, not verified here" if bundle.exists(UNLISTED[1]) else "none"))
    bundle.leave(FOR_PEOPLE)
    return summary(bundle)


def refuse_unknown(bundle: Bundle) -> None:
    """Raise NotJudgedError for what is no bundle, or one of a version this auditor does not know."""
    if not os.path.isdir(bundle.path):
        raise NotJudgedError("%s is not a folder" % bundle.path)
    for name in ("SHA256SUMS", "run.json", "profile.json", "verdict.json"):
        if not bundle.exists(name):
            raise NotJudgedError("%s is not in %s, so it is not a sealed bundle" % (name, bundle.path))
    for name, expected in {**DOCUMENTS, **OPERATOR_DOCUMENTS, **MEASURED_DOCUMENTS, **OPTIONAL_DOCUMENTS}.items():
        try:
            found = str(bundle.json(name).get("format")) if bundle.exists(name) else expected
        except UnreadableError:
            continue  # damaged: the checks say so
        if found.split("/")[0] == expected.split("/")[0] and found != expected:
            raise NotJudgedError("%s has format %s, this auditor knows %s" % (name, found, expected))


def summary(bundle: Bundle) -> Json:
    try:
        verdict = bundle.json("verdict.json")
    except UnreadableError:
        verdict = {}
    counts = verdict.get("counts") if isinstance(verdict.get("counts"), dict) else {}
    return {
        "audit": "fail" if bundle.problems else "pass",
        "verdict": verdict.get("verdict"),
        "profile": verdict.get("profile"),
        "claim": verdict.get("claim"),
        "requests": counts.get("requests"),
        "questions": counts.get("questions"),
        "posts": counts.get("posts"),
        "max_probability_drift": verdict.get("max_probability_drift"),
        "draw": draw_of(bundle),
        "bundle_sha256": sha256(bundle.read("SHA256SUMS")),
        "problems": bundle.problems[:MOST_LISTED],
        "problem_count": len(bundle.problems),
        "not_checked": bundle.not_checked,
        "auditor": AUDIT_VERSION,
    }


def draw_of(bundle: Bundle) -> Any:
    """Which draw of the autotuner everything here belongs to; None where no kernel is autotuned or none is told."""
    try:
        ledger = bundle.json(LEDGER)
        found = {"source": ledger["source"], "digest": ledger["digest"], "winners": len(ledger["winners"])}
    except (UnreadableError, LookupError, TypeError):
        return None
    return found if found["winners"] else None


def not_judged(reason: str) -> Json:
    """The document for something that is no bundle, or none this auditor can read."""
    return {
        "audit": "not-judged", "verdict": None, "problems": [reason], "problem_count": 1, "not_checked": ["everything"],
        "auditor": AUDIT_VERSION,
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
    ):
        if result.get(name) is not None:
            print("%s: %s" % (name, printable(result[name])))
    if result.get("draw"):
        draw = {key: printable(value) for key, value in result["draw"].items()}
        print("autotune draw: %(digest)s, %(source)s, %(winners)s winners; what is bitwise equal is so under this draw" % draw)
    print("verdict the bundle claims: %s" % printable(result["verdict"]))
    print("audit: %s (%d problems)" % (result["audit"], result["problem_count"]))
    print(json.dumps(result))


def main(arguments: List[str]) -> int:
    if arguments in (["-h"], ["--help"]):
        print(__doc__)
        return 0
    if len(arguments) != 1 or arguments[0].startswith("-"):
        print(__doc__)
        return EXIT_CODES["not-judged"]
    result = judge(arguments[0])
    show(result)
    return EXIT_CODES[result["audit"]]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
