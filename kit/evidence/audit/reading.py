"""The folder under audit: its content read once, and the problems found so far."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import tarfile
import zlib
from collections import OrderedDict
from typing import Any, Callable, Dict, List, NamedTuple

from kit.evidence.audit.planning import Planned, answered, frontend_spots
from kit.evidence.audit.rules import (
    ANSWERS,
    DEEPEST,
    ENGINE_STAGES,
    ENGINES,
    GENERATED_STAGE,
    MOST_BYTES,
    MOST_FILES,
    MOST_IN_ALL,
    MOST_LINES,
    MOST_PASSES,
    MOST_PROBLEMS,
    NATIVE_STAGES,
    OPERATORS,
    STAGES,
    Json,
    NotJudgedError,
    UnreadableError,
)
from kit.evidence.audit.values import parse_json, safe_name, same, sha256, short


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
