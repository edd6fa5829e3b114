#!/usr/bin/env python3
"""Check an evidence bundle: python audit.py BUNDLE   (Python 3.9 or later, standard library only)

Covers: every file's hash; no file missing, unlisted, linked or unsafely named; the profile, the fixed gates,
the protocol's bytes; executed notebooks against the packed sources; the recorded requests against the plan
the protocol gives; every answer recomputed from the recorded logits, the logits from hidden rows and label
head, drift, repeats, graph counters by simulating the cache, and every gate of the verdict. It shares no code
with what computed them first. All problems are listed; the last line is one JSON document. Exit code: 0 pass,
1 fail, 2 could not judge. An empty set fails, NaN fails, and a check that cannot be completed fails.

Does not cover: a forgery that is consistent throughout, which no offline check can refuse (compare the
bundle's digest with one its author published elsewhere, or run it again); who made the bundle (signatures);
whether the decisions are any good.
"""

from __future__ import annotations

import ast
import hashlib
import io
import json
import math
import os
import re
import struct
import sys
import tarfile
from collections import OrderedDict

AUDIT_VERSION = 1
GATES = {"probability": 0.02, "confidence": 0.02, "noul": 0.02, "expected_value": 0.1, "winner_margin": 0.05}
SLACK = 1e-12  # on bounds, and between two computations of one figure
SUM_TOLERANCE = 1e-6
MAX_STEPS = 4096
LATTICE_EXPONENTS = range(21)
LATTICE_TOLERANCE = 1e-9
LABELS = 32
CACHES = ("text", "multimodal", "vision")
ENGINE_STAGES = {"03_reference": "reference", "04_native_eager": "native", "04_remote": "remote", "05_native_graph": "graph"}
STAGES = (
    "01_preflight", "02_checkpoint", "03_reference", "04_native_eager", "04_remote", "05_native_graph",
    "06_operators", "07_faults", "08_drift", "09_performance", "10_evidence",
)  # fmt: skip
NATIVE_STAGES = ("06_operators", "07_faults")
FORMATS = {
    "run.json": "kit-run/1",
    "profile.json": "kit-profile/1",
    "environment.json": "kit-environment/1",
    "checkpoint.json": "kit-checkpoint/1",
    "sources.json": "kit-sources/1",
    "counters.json": "kit-counters/1",
    "drift.json": "kit-drift/1",
    "performance.json": "kit-performance/1",
    "verdict.json": "kit-verdict/1",
}
OTHER_FILES = ("profile.toml", "source.tar.gz", "ro-crate-metadata.json", "report.html", "audit.py", "protocol/corpus.jsonl")
UNLISTED = ("SHA256SUMS", "SHA256SUMS.sig")
FOLDERS = ("protocol/", "records/", "stages/", "notebooks/", "logs/", "attempts/", "figures/")


class NotJudgedError(Exception):
    """This is not a bundle this auditor can judge."""


class UnreadableError(Exception):
    """Something a check needs is missing or malformed; the check cannot be completed, so it fails."""


# ---------------------------------------------------------------------------------------------- reading


class Bundle:
    """The folder under audit, its documents read once, and the problems found so far."""

    def __init__(self, path):
        self.path = path
        self.problems = []
        self.not_checked = []
        self._documents = {}

    def fail(self, rule, where, message):
        self.problems.append("%s: %s: %s" % (rule, where, message))

    def expect(self, rule, where, found, expected):
        """One comparison: a problem unless both are equal."""
        if found != expected:
            self.fail(rule, where, "found %s, expected %s" % (short(found), short(expected)))

    def exists(self, name):
        return os.path.isfile(os.path.join(self.path, name))

    def read(self, name):
        try:
            with open(os.path.join(self.path, *name.split("/")), "rb") as file:
                return file.read()
        except OSError as error:
            raise UnreadableError("%s cannot be read (%s)" % (name, error.strerror)) from None

    def json(self, name):
        if name not in self._documents:
            self._documents[name] = parse_json(self.read(name), name)
            if not isinstance(self._documents[name], dict):
                raise UnreadableError("%s is not a JSON object" % name)
        return self._documents[name]

    def lines(self, name, expected_format):
        """Lines of a JSONL record behind its header."""
        data = self.read(name)
        if not data.endswith(b"\n"):
            raise UnreadableError("%s: the last line is cut off" % name)
        documents = [parse_json(line, "%s line %d" % (name, i)) for i, line in enumerate(data[:-1].split(b"\n"), 1)]
        if documents[0].get("format") != expected_format:
            raise UnreadableError("%s: format is %r, expected %r" % (name, documents[0].get("format"), expected_format))
        return documents[1:]

    @property
    def profile(self):
        return self.json("profile.json")

    @property
    def engines(self):
        return list(self.profile["campaign"]["engines"])

    @property
    def reference(self):
        return self.profile["campaign"]["reference"]

    def stages(self):
        left_out = {stage for stage, engine in ENGINE_STAGES.items() if engine not in self.engines}
        if "native" not in self.engines:
            left_out.update(NATIVE_STAGES)
        return [stage for stage in STAGES if stage not in left_out]


def parse_json(data, where):
    """Strict JSON: no duplicate keys, no NaN or Infinity."""

    def pairs(items):
        result = dict(items)
        if len(result) != len(items):
            raise UnreadableError("%s has a key twice in one object" % where)
        return result

    def constant(name):
        raise UnreadableError("%s holds %s, which is not a number" % (where, name))

    try:
        return json.loads(data.decode("utf-8"), object_pairs_hook=pairs, parse_constant=constant)
    except (ValueError, RecursionError) as error:
        raise UnreadableError("%s is not JSON: %s" % (where, error)) from None


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def short(value):
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 90 else text[:87] + "..."


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def close(a, b):
    """Two computations of one figure: equal to 1e-12, or both absent."""
    if a is None or b is None or isinstance(a, bool) or isinstance(b, bool):
        return a is b
    return is_number(a) and is_number(b) and abs(a - b) <= SLACK * max(1.0, abs(a), abs(b))


# ---------------------------------------------------------------------------------------------- files


def safe_name(name):
    parts = name.split("/")
    return bool(name) and "\\" not in name and name.isprintable() and not any(p in ("", ".", "..") for p in parts)


def files_of(bundle):
    """Relative names of all regular files; links and special files are problems."""
    found = set()
    for folder, folders, names in os.walk(bundle.path):
        for name in folders + names:
            full = os.path.join(folder, name)
            relative = os.path.relpath(full, bundle.path).replace(os.sep, "/")
            if os.path.islink(full):
                bundle.fail("files", relative, "is a link; a bundle holds regular files only")
            elif name in names:
                if os.path.isfile(full):
                    found.add(relative)
                else:
                    bundle.fail("files", relative, "is not a regular file")
    return found


def check_sums(bundle):
    """SHA256SUMS is well formed, and every file is listed, present and unchanged."""
    present = files_of(bundle) - set(UNLISTED)
    text = bundle.read("SHA256SUMS").decode("utf-8", "replace")
    listed, order = {}, []
    for number, line in enumerate(text.splitlines(), 1):
        match = re.fullmatch(r"([0-9a-f]{64})  (.+)", line)
        if not match:
            bundle.fail("sums", "SHA256SUMS line %d" % number, "malformed: %s" % short(line))
            continue
        digest, name = match.groups()
        if not safe_name(name):
            bundle.fail("sums", "SHA256SUMS line %d" % number, "unsafe path %s" % short(name))
        elif name in listed:
            bundle.fail("sums", name, "listed twice")
        else:
            listed[name] = digest
            order.append(name)
    if not listed:
        bundle.fail("sums", "SHA256SUMS", "lists nothing")
    if order != sorted(order):
        bundle.fail("sums", "SHA256SUMS", "is not sorted by name")
    for name in sorted(set(listed) - present):
        bundle.fail("sums", name, "is listed but missing")
    for name in sorted(present - set(listed)):
        bundle.fail("sums", name, "is in the bundle but not listed")
    for name in sorted(present & set(listed)):
        found = sha256(bundle.read(name))
        if found != listed[name]:
            bundle.fail("sums", name, "has SHA-256 %s, listed as %s" % (found, listed[name]))


def check_roles(bundle):
    """Every file has a role, and every role the profile needs has its file."""
    needed = set(FORMATS) | set(OTHER_FILES)
    for stage in bundle.stages():
        needed |= {"stages/%s.json" % stage, "notebooks/%s.ipynb" % stage}
    for engine in bundle.engines:
        needed |= {"records/%s/exchanges.jsonl" % engine, "records/%s/engine.json" % engine}
        if engine != "remote":
            needed.add("records/%s/worker.jsonl" % engine)
    if "native" in bundle.engines:
        needed |= {"operators.json", "records/drills.jsonl"}
    present = files_of(Bundle(bundle.path))
    for name in sorted(needed - present):
        bundle.fail("roles", name, "is missing")
    for name in sorted(present - needed - set(UNLISTED)):
        if not name.startswith(FOLDERS):
            bundle.fail("roles", name, "has no role in a bundle")
    for name, expected in FORMATS.items():
        if name in present:
            bundle.expect("formats", name, bundle.json(name).get("format"), expected)


# ---------------------------------------------------------------------------------------------- identity


def check_identity(bundle):
    """run.json, profile and protocol belong together; the gates are the fixed ones."""
    run, profile = bundle.json("run.json"), bundle.profile
    bundle.expect("identity", "run.json profile_sha256", run["profile_sha256"], sha256(bundle.read("profile.json")))
    bundle.expect("identity", "run.json profile", run["profile"], profile["name"])
    canonical = json.dumps(profile, sort_keys=True, ensure_ascii=False, separators=(",", ":")) + "\n"
    if canonical.encode() != bundle.read("profile.json"):
        bundle.fail("identity", "profile.json", "is not in canonical form")
    bundle.expect("gates", "profile.json gates", profile["gates"], GATES)
    if profile["claim"] not in ("exact", "faithful", "baseline"):
        bundle.fail("identity", "profile.json claim", "unknown class %s" % short(profile["claim"]))
    sums = "protocol/SHA256SUMS" if bundle.exists("protocol/SHA256SUMS") else "protocol/corpus.jsonl"
    digest = sha256(bundle.read(sums))
    bundle.expect("identity", "run.json protocol_sha256", run["protocol_sha256"], digest)
    if profile["protocol"]["sha256"]:
        bundle.expect("identity", "profile.json protocol.sha256", profile["protocol"]["sha256"], digest)
    check_profile_toml(bundle)


def check_profile_toml(bundle):
    """The declared TOML says nothing else than the resolved profile (needs Python 3.11)."""
    try:
        import tomllib
    except ImportError:
        bundle.not_checked.append("profile.toml against profile.json (needs Python 3.11)")
        return
    try:
        declared = tomllib.loads(bundle.read("profile.toml").decode("utf-8"))
    except ValueError as error:
        bundle.fail("identity", "profile.toml", "is not TOML: %s" % error)
        return
    compare_declared(bundle, declared, bundle.profile, "profile.toml")


def compare_declared(bundle, declared, resolved, where):
    for key, value in declared.items():
        if isinstance(value, dict) and isinstance(resolved.get(key), dict):
            compare_declared(bundle, value, resolved[key], "%s.%s" % (where, key))
        else:
            bundle.expect("identity", "%s.%s" % (where, key), resolved.get(key), value)


def check_protocol(bundle):
    """The copied protocol is unchanged by its own sums, and not empty."""
    if bundle.exists("protocol/SHA256SUMS"):
        for line in bundle.read("protocol/SHA256SUMS").decode("utf-8").splitlines():
            digest, _, name = line.partition("  ")
            if not safe_name(name) or not bundle.exists("protocol/" + name):
                bundle.fail("protocol", "protocol/" + name, "is listed in protocol/SHA256SUMS but missing")
            elif sha256(bundle.read("protocol/" + name)) != digest:
                bundle.fail("protocol", "protocol/" + name, "differs from protocol/SHA256SUMS")
    cases = corpus(bundle)
    if not cases:
        bundle.fail("protocol", "protocol/corpus.jsonl", "holds no request")
    if len({case["id"] for case in cases}) != len(cases):
        bundle.fail("protocol", "protocol/corpus.jsonl", "has an id twice")


def check_settings(bundle):
    """Precision and threads as the profile wants them, where the engines ran; packages unpatched."""
    environment = bundle.json("environment.json")
    compare_settings(bundle, "environment.json settings", environment["settings"])
    for engine in bundle.engines:
        if engine != "remote":
            ready = [line for line in worker_lines(bundle, engine) if line["kind"] == "ready"]
            if len(ready) != 1:
                bundle.fail("settings", "records/%s/worker.jsonl" % engine, "%d ready lines, expected 1" % len(ready))
            for line in ready:
                compare_settings(bundle, "records/%s/worker.jsonl settings" % engine, line["settings"])
    for name, package in sorted(environment["packages"].items()):
        if package["status"] == "changed":
            bundle.fail("packages", name, "installed files differ from its own record: %s" % short(package.get("changed")))
        elif package["status"] != "ok":
            bundle.not_checked.append("package %s (%s)" % (name, package["status"]))


def compare_settings(bundle, where, settings):
    wanted = {
        "threads": bundle.profile["runtime"]["threads"],
        "float32_matmul_precision": "highest",
        "cuda_matmul_allow_tf32": False,
        "cudnn_allow_tf32": False,
    }
    for name, expected in wanted.items():
        bundle.expect("settings", "%s %s" % (where, name), settings.get(name), expected)


def check_checkpoint(bundle):
    """The weights are the ones the profile names, and the label rows belong to them."""
    document, wanted = bundle.json("checkpoint.json"), bundle.profile["checkpoint"]
    if wanted["kind"] == "synthetic":
        bundle.expect("checkpoint", "checkpoint.json digest", document["digest"], wanted["digest"])
    head = document.get("label_head")
    if head is not None:
        rows = bundle.read(head["file"])
        bundle.expect("checkpoint", head["file"], sha256(rows), head["rows_sha256"])
        bundle.expect("checkpoint", "%s size" % head["file"], len(rows), 2 * head["shape"][0] * head["shape"][1])
        bundle.expect("checkpoint", "label_head ids", [len(head["ids"]), head["shape"][0]], [LABELS, LABELS])


# ---------------------------------------------------------------------------------------------- notebooks, sources


def packed_sources(bundle):
    """Name -> bytes of every source file packed into the bundle."""
    sources = {}
    try:
        with tarfile.open(fileobj=io.BytesIO(bundle.read("source.tar.gz")), mode="r:gz") as archive:
            for member in archive:
                if not member.isfile() or not safe_name(member.name) or member.name in sources:
                    raise UnreadableError("source.tar.gz holds %s, which is no plain file of its own" % short(member.name))
                file = archive.extractfile(member)
                sources[member.name] = file.read() if file else b""
    except (tarfile.TarError, OSError, EOFError) as error:
        raise UnreadableError("source.tar.gz cannot be read: %s" % error) from None
    return sources


def check_sources(bundle):
    """The packed sources are, file by file, those hashed before and after the run."""
    document, sources = bundle.json("sources.json"), packed_sources(bundle)
    bundle.expect("sources", "source.tar.gz", sha256(bundle.read("source.tar.gz")), document["archive_sha256"])
    before, after = document["before"], document["after"]
    if not before:
        bundle.fail("sources", "sources.json", "lists no file")
    for name in sorted(set(before) | set(after)):
        if before.get(name) != after.get(name):
            bundle.fail("sources", name, "changed during the run")
    for name in sorted(set(after) | set(sources)):
        if name not in sources:
            bundle.fail("sources", name, "is not in source.tar.gz")
        elif name not in after:
            bundle.fail("sources", name, "is in source.tar.gz but not in sources.json")
        elif sha256(sources[name]) != after[name]:
            bundle.fail("sources", name, "in source.tar.gz differs from sources.json")
    packed = sources.get("kit/evidence/audit.py")
    if packed is not None and packed != bundle.read("audit.py"):
        bundle.fail("sources", "audit.py", "is not the auditor of the packed sources")


def check_stages(bundle):
    """Every stage finished by its sentinel, and its executed notebook is a whole run of the packed source."""
    sources, digest = packed_sources(bundle), bundle.json("run.json")["profile_sha256"]
    for stage in bundle.stages():
        name = "stages/%s.json" % stage
        document = bundle.json(name)
        bundle.expect("stages", name + " format", document.get("format"), "kit-stage/1")
        bundle.expect("stages", name + " stage", document.get("stage"), stage)
        bundle.expect("stages", name + " sentinel", document.get("sentinel"), "finished")
        bundle.expect("stages", name + " profile_sha256", document.get("profile_sha256"), digest)
        check_notebook(bundle, stage, sources.get("notebooks/%s.ipynb" % stage), document.get("parameters"))


def check_notebook(bundle, stage, source, effective):
    name = "notebooks/%s.ipynb" % stage
    cells = bundle.json(name)["cells"]
    if source is None:
        bundle.fail("notebooks", name, "has no source in source.tar.gz")
        return
    original = parse_json(source, "source of " + name)["cells"]
    kept = [cell for cell in cells if "injected-parameters" not in tags(cell)]
    if [joined(cell) for cell in kept] != [joined(cell) for cell in original]:
        bundle.fail("notebooks", name, "its cells are not those of the packed source")
    count = 0
    for index, cell in enumerate(cells):
        if cell["cell_type"] != "code" or not joined(cell).strip():
            continue
        count += 1
        if cell.get("execution_count") != count:
            message = "execution count is %s, expected %d: it was not run to the end in order"
            bundle.fail("notebooks", "%s cell %d" % (name, index), message % (cell.get("execution_count"), count))
        if any(output.get("output_type") == "error" for output in cell["outputs"]):
            bundle.fail("notebooks", "%s cell %d" % (name, index), "ended in an error")
        if "nbval-check-output" in tags(cell) and not cell["outputs"]:
            bundle.fail("notebooks", "%s cell %d" % (name, index), "the verdict cell has no output")
    if count == 0:
        bundle.fail("notebooks", name, "has no code")
    found = {}
    for cell in cells:
        if "parameters" in tags(cell) or "injected-parameters" in tags(cell):
            found.update(literals(joined(cell), name))
    bundle.expect("notebooks", name + " parameters", effective, found)


def tags(cell):
    return cell.get("metadata", {}).get("tags", [])


def joined(cell):
    source = cell["source"]
    return source if isinstance(source, str) else "".join(source)


def literals(text, where):
    values = {}
    try:
        for statement in ast.parse(text).body:
            target = statement.targets[0] if isinstance(statement, ast.Assign) else statement.target
            values[target.id] = ast.literal_eval(statement.value)
    except (SyntaxError, ValueError, AttributeError) as error:
        raise UnreadableError("%s: a parameters cell holds more than literals (%s)" % (where, error)) from None
    return values


# ---------------------------------------------------------------------------------------------- records


def corpus(bundle):
    """The frozen requests, each with the bytes that are sent for it."""
    cases = []
    for number, line in enumerate(bundle.read("protocol/corpus.jsonl").decode("utf-8").splitlines(), 1):
        case = parse_json(line.encode(), "protocol/corpus.jsonl line %d" % number)
        body = json.dumps(case["request"], ensure_ascii=False, separators=(",", ":")).encode()
        cases.append(dict(case, body=body, sha256=sha256(body)))
    return cases


def plan(bundle, engine):
    """(target, phase, pass, request id, modality, status, body digest or None) of everything an engine is sent."""
    cases, campaign = corpus(bundle), bundle.profile["campaign"]
    firsts = [case for kind in ("text", "image") for case in [c for c in cases if c["modality"] == kind][:1]]
    sent = [("worker", "feasibility", 0, case, 200) for case in firsts]
    for number in range(1, campaign["passes"] + 1):
        sent += [("worker", "measured", number, case, 200) for case in cases]
    items = [(t, p, n, c["id"], c["modality"], s, c["sha256"]) for t, p, n, c, s in sent]
    if engine != campaign["reference"] and firsts:
        for name, again in (("refused-invalid-base64", firsts[0]), ("refused-five-images", firsts[-1])):
            items.append(("worker", "refused", 0, name, "image", 422, None))
            items.append(("worker", "recovery", 0, again["id"], again["modality"], 200, again["sha256"]))
    if engine == "graph" and campaign["frontend"]:
        items += [("frontend", "frontend", 0, c["id"], c["modality"], 200, c["sha256"]) for c in frontend_spots(cases)]
    return items


def frontend_spots(cases):
    def types(case):
        return [question.get("type", "choice") for question in case["request"]["questions"].values()]

    spots = [[c for c in cases if c["modality"] == "text" and kind in types(c)][:1] for kind in ("choice", "score", "noul")]
    spots += [[c for c in cases if len(c["request"].get("images") or ()) == count][:1] for count in (1, 4)]
    return [case for spot in spots for case in spot]


def exchanges(bundle, engine):
    return bundle.lines("records/%s/exchanges.jsonl" % engine, "kit-exchanges/1")


def worker_lines(bundle, engine):
    return bundle.lines("records/%s/worker.jsonl" % engine, "kit-worker/1")


def body(bundle, digest):
    if not re.fullmatch(r"[0-9a-f]{64}", str(digest)):
        raise UnreadableError("%s is no digest of a body" % short(digest))
    data = bundle.read("records/bodies/" + digest)
    if sha256(data) != digest:
        raise UnreadableError("records/bodies/%s does not have the digest it is named by" % digest)
    return data


def check_exchanges(bundle):
    """Every engine was sent exactly the planned requests, in order, once, and got the planned statuses."""
    for engine in bundle.engines:
        planned, found = plan(bundle, engine), exchanges(bundle, engine)
        where = "records/%s/exchanges.jsonl" % engine
        bundle.expect("exchanges", where + " number of requests", len(found), len(planned))
        finished = None
        for number, (wanted, line) in enumerate(zip(planned, found), 1):
            at = "%s n=%s" % (where, line.get("n"))
            got = tuple(line[key] for key in ("target", "phase", "pass", "request_id", "modality", "expect"))
            bundle.expect("exchanges", at + " place", [line["n"], *got], [number, *wanted[:6]])
            bundle.expect("exchanges", at + " status", line["status"], wanted[5])
            if wanted[6] is not None:
                bundle.expect("exchanges", at + " request bytes", line["request_sha256"], wanted[6])
            bundle.expect("exchanges", at + " sequence", line["sequence"], None if engine == "remote" else number)
            if not line["started_ns"] <= line["finished_ns"] or (finished or 0) > line["started_ns"]:
                bundle.fail("exchanges", at, "its times overlap the request before it or run backwards")
            finished = line["finished_ns"]
            check_bodies(bundle, at, line)


def check_bodies(bundle, at, line):
    request = body(bundle, line["request_sha256"])
    reply = parse_json(body(bundle, line["response_sha256"]), at + " response")
    if line["phase"] == "refused":
        images = parse_json(request, at + " request").get("images") or []
        if line["request_id"] == "refused-five-images" and len(images) != 5:
            bundle.fail("exchanges", at, "carries %d images, expected five" % len(images))
        if line["status"] == 422 and (set(reply) != {"error", "detail"} or len(reply["detail"]) > 200):
            bundle.fail("exchanges", at, "the refusal is not an error envelope")


def posts_by_sequence(bundle, engine):
    """Sequence -> (post line, its question lines in order, its vision line or None); problems for what has no post."""
    posts, questions, visions = {}, {}, {}
    for line in worker_lines(bundle, engine):
        number = line.get("sequence")
        if line["kind"] == "post":
            if number in posts:
                bundle.fail("worker", "records/%s/worker.jsonl" % engine, "post %s is recorded twice" % number)
            posts[number] = line
        elif number is not None and line["kind"] == "question":
            questions.setdefault(number, []).append(line)
        elif number is not None and line["kind"] == "vision":
            visions.setdefault(number, []).append(line)
    for number in sorted((set(questions) | set(visions)) - set(posts)):
        bundle.fail("worker", "records/%s/worker.jsonl" % engine, "post %s has forwards but no end" % number)
    return {n: (posts[n], questions.get(n, []), visions.get(n, [])) for n in posts}


def check_worker(bundle):
    """The worker's own record agrees with the client's, post by post, and numbers every post from 1."""
    for engine in bundle.engines:
        if engine == "remote":
            continue
        where = "records/%s/worker.jsonl" % engine
        posts, sent = posts_by_sequence(bundle, engine), exchanges(bundle, engine)
        bundle.expect("worker", where + " sequence", sorted(posts), list(range(1, len(sent) + 1)))
        for line in sent:
            post, questions, visions = posts.get(line["sequence"], (None, [], []))
            if post is None:
                continue
            at = "%s post %s" % (where, line["sequence"])
            for key in ("status", "request_sha256", "response_sha256"):
                bundle.expect("worker", "%s %s" % (at, key), post[key], line[key])
            if line["status"] == 200:
                check_post(bundle, at, line, post, questions, visions)
            elif questions or visions:
                bundle.fail("worker", at, "was refused and yet ran a forward")


def check_post(bundle, at, line, post, questions, visions):
    request = parse_json(body(bundle, line["request_sha256"]), at + " request")
    bundle.expect("worker", at + " questions", [q["question"] for q in questions], list(request["questions"]))
    bundle.expect("worker", at + " order", [q["index"] for q in questions], list(range(len(questions))))
    images = len(request.get("images") or ())
    bundle.expect("worker", at + " vision forwards", len(visions), 1 if images else 0)
    for item in questions + visions:
        bundle.expect("worker", at + " image grids", len(item["grids"]), images)
    bundle.expect("worker", at + " input_tokens", post["input_tokens"], sum(q["tokens"] for q in questions))
    wanted = temperatures(bundle).get("image" if images else "text")
    if wanted is not None:
        bundle.expect("worker", at + " temperature", post["temperature"], wanted)


def temperatures(bundle):
    """Declared temperature by modality; without a checkpoint, what the workers say, if they agree."""
    calibration = bundle.json("checkpoint.json").get("calibration") if bundle.exists("checkpoint.json") else None
    if calibration:
        return {"text": calibration["temperature"], "image": calibration["mm_temperature"]}
    return {}


def check_health(bundle):
    """READY before and after every engine and after each refusal, from the runner's notes."""
    misses = health_misses(bundle)
    for miss in misses:
        bundle.fail("health", miss, "was not READY")


def health_misses(bundle):
    misses = []
    for engine in bundle.engines:
        facts = bundle.json("records/%s/engine.json" % engine)
        refusals = sum(item[5] == 422 for item in plan(bundle, engine))
        seen = [facts.get("health_before"), facts.get("health_after")]
        seen += (list(facts.get("health_after_refused") or ()) + [None] * refusals)[:refusals]
        for moment, health in enumerate(seen):
            if not (isinstance(health, dict) and health.get("status") == "READY"):
                misses.append("%s health %d" % (engine, moment))
    return misses


# ---------------------------------------------------------------------------------------------- answers


def softmax(logits, temperature):
    top = max(logits)
    weights = [math.exp((x - top) / temperature) for x in logits]
    total = math.fsum(weights)
    return [w / total for w in weights]


def floats(text):
    data = bytes.fromhex(text)
    values = struct.unpack("<%df" % (len(data) // 4), data)
    if not values or not all(math.isfinite(v) for v in values):
        raise UnreadableError("recorded logits are missing or not finite")
    return values


def bf16(data):
    """BF16 values, little endian, as Python floats."""
    halves = struct.unpack("<%dH" % (len(data) // 2), data)
    return struct.unpack("<%df" % len(halves), struct.pack("<%dI" % len(halves), *(h << 16 for h in halves)))


def spacing(value):
    exponent = math.frexp(abs(value))[1] - 1 if value else -126
    return math.ldexp(1.0, max(exponent, -126) - 7)


def winner(answer):
    """The candidate of the first largest probability."""
    probabilities = answer["probabilities"]
    top = max(probabilities.values())
    return next(name for name, p in probabilities.items() if p == top)


def answer_faults(answer, kind):
    """What in one answer object contradicts the rest of it."""
    extra = {"choice": "choice", "noul": "noul", "score": "expected_value"}[kind]
    if set(answer) != {"type", "probabilities", "confidence", extra} or answer["type"] != kind:
        return ["keys or type"]
    p = list(answer["probabilities"].values())
    if not all(is_number(x) for x in p) or not is_number(answer["confidence"]):
        return ["a probability that is no number"]
    faults = []
    if abs(math.fsum(p) - 1) > SUM_TOLERANCE:
        faults.append("probabilities sum to %r" % math.fsum(p))
    if not close(answer["confidence"], max(p)):
        faults.append("confidence")
    if kind == "choice" and answer["choice"] != winner(answer):
        faults.append("choice")
    if kind == "noul" and not close(answer["noul"], p[0]):
        faults.append("noul")
    if kind == "score" and not close(answer["expected_value"], math.fsum(i * x for i, x in enumerate(p))):
        faults.append("expected_value")
    return faults


def check_answers(bundle):
    """Every answer of every engine agrees with itself and is the softmax of the recorded logits."""
    for engine in bundle.engines:
        posts = {} if engine == "remote" else posts_by_sequence(Bundle(bundle.path), engine)
        for line in exchanges(bundle, engine):
            if line["status"] != 200:
                continue
            at = "records/%s n=%s" % (engine, line["n"])
            response = parse_json(body(bundle, line["response_sha256"]), at)
            request = parse_json(body(bundle, line["request_sha256"]), at)
            check_response(bundle, at, request, response)
            if engine != "remote" and line["sequence"] in posts:
                check_against_logits(bundle, at, response, *posts[line["sequence"]][:2])


def check_response(bundle, at, request, response):
    bundle.expect("answers", at + " keys", sorted(response), ["answers", "model", "usage"])
    bundle.expect("answers", at + " model", response["model"], bundle.profile["model"]["name"])
    usage = response["usage"]
    bundle.expect("answers", at + " usage", sorted(usage), ["input_tokens", "latency_ms", "output_tokens"])
    bundle.expect("answers", at + " output_tokens", usage["output_tokens"], 0)
    if not (is_number(usage["latency_ms"]) and usage["latency_ms"] > 0):
        bundle.fail("answers", at, "latency_ms is %s" % short(usage["latency_ms"]))
    bundle.expect("answers", at + " questions", list(response["answers"]), list(request["questions"]))
    for name, answer in response["answers"].items():
        kind = request["questions"].get(name, {}).get("type", "choice")
        for fault in answer_faults(answer, kind):
            bundle.fail("answers", "%s %s" % (at, name), "inconsistent %s" % fault)


def check_against_logits(bundle, at, response, post, questions):
    bundle.expect("answers", at + " input_tokens", response["usage"]["input_tokens"], post["input_tokens"])
    for line in questions:
        answer = response["answers"].get(line["question"], {"probabilities": {}})
        where = "%s %s" % (at, line["question"])
        bundle.expect("answers", where + " candidates", list(answer["probabilities"]), line["candidates"])
        expected = softmax(floats(line["logits"]), post["temperature"])
        found = list(answer["probabilities"].values())
        if len(found) != len(expected) or not all(close(a, b) for a, b in zip(found, expected)):
            bundle.fail("answers", where, "probabilities are not the softmax of the recorded logits")


def check_hidden_rows(bundle):
    """Label logits follow from the recorded hidden rows and the label rows to within one BF16 step."""
    head = bundle.json("checkpoint.json").get("label_head")
    if head is None:
        bundle.fail("hidden", "checkpoint.json", "has no label rows to recompute logits from")
        return
    width = head["shape"][1]
    matrix = bf16(bundle.read(head["file"]))
    rows = [matrix[i * width : (i + 1) * width] for i in range(LABELS)]
    done = set()
    for engine in bundle.engines:
        for line in [] if engine == "remote" else worker_lines(bundle, engine):
            if line["kind"] != "question" or (line["hidden"], line["logits"]) in done:
                continue
            done.add((line["hidden"], line["logits"]))
            where = "records/%s/worker.jsonl post %s %s" % (engine, line["sequence"], line["question"])
            hidden = bf16(bytes.fromhex(line["hidden"]))
            if len(hidden) != width or not all(math.isfinite(x) for x in hidden):
                bundle.fail("hidden", where, "hidden row has %d usable values, expected %d" % (len(hidden), width))
                continue
            for label, found in enumerate(floats(line["logits"])):
                terms = [a * b for a, b in zip(hidden, rows[label])]
                expected = math.fsum(terms)
                # One BF16 step for the rounding, and float32 accumulation of the terms below it.
                allowed = spacing(max(abs(expected), abs(found))) + math.fsum(map(abs, terms)) * 2.0**-20
                if abs(found - expected) > allowed:
                    message = "label %d: logit %r, the hidden row gives %r"
                    bundle.fail("hidden", where, message % (label, found, expected))
                    break
    if not done and any(engine != "remote" for engine in bundle.engines):
        bundle.fail("hidden", "records", "hold no hidden row")


# ---------------------------------------------------------------------------------------------- drift


def comparisons(bundle):
    pairs = []
    for engine in bundle.engines:
        if bundle.reference and engine != bundle.reference:
            pairs.append((engine, "fresh"))
        if bundle.exists("protocol/reference.json"):
            pairs.append((engine, "frozen"))
    return pairs


def measured(bundle, engine):
    """Request id -> (response, {question: worker line}) of the first measured pass."""
    posts = {} if engine == "remote" else posts_by_sequence(Bundle(bundle.path), engine)
    found = {}
    for line in exchanges(bundle, engine):
        if line["phase"] == "measured" and line["pass"] == 1 and line["status"] == 200:
            questions = posts[line["sequence"]][1] if engine != "remote" else []
            response = parse_json(body(bundle, line["response_sha256"]), line["request_id"])
            found[line["request_id"]] = (response, {q["question"]: q for q in questions})
    return found


def frozen(bundle):
    entries = json.loads(bundle.read("protocol/reference.json").decode("utf-8"))
    return {entry["id"]: (entry["response"], {}) for entry in entries}


def drift_rows(bundle):
    """Every comparison recomputed: (engine, against, request, question) -> figures."""
    sides = {engine: measured(bundle, engine) for engine in bundle.engines}
    fixed = frozen(bundle) if bundle.exists("protocol/reference.json") else {}
    rows, seen = OrderedDict(), {}
    for engine, against in comparisons(bundle):
        yardstick = sides[bundle.reference] if against == "fresh" else fixed
        for case in corpus(bundle):
            for question in case["request"]["questions"]:
                key = (engine, against, case["id"], question)
                if case["id"] not in yardstick or case["id"] not in sides[engine]:
                    raise UnreadableError("%s/%s: %s has no answer" % key[:3])
                temperature = temperatures(bundle).get(case["modality"])
                rows[key] = compare(yardstick[case["id"]], sides[engine][case["id"]], question, temperature, seen)
    return rows


def compare(reference, candidate, question, temperature, seen):
    (theirs, their_lines), (mine, my_lines) = reference, candidate
    a, b = theirs["answers"][question], mine["answers"][question]
    p, q = list(a["probabilities"].values()), list(b["probabilities"].values())
    if list(a["probabilities"]) != list(b["probabilities"]) or a["type"] != b["type"]:
        raise UnreadableError("question %s is answered with other candidates or another type" % short(question))
    ordered = sorted(p, reverse=True)
    row = {
        "type": a["type"],
        "reference_winner": winner(a),
        "winner": winner(b),
        "reference_margin": ordered[0] - ordered[1],
        "probability_drift": max(abs(x - y) for x, y in zip(p, q)),
        "confidence_drift": abs(a["confidence"] - b["confidence"]),
        "noul_drift": abs(a["noul"] - b["noul"]) if a["type"] == "noul" else None,
        "expected_drift": abs(a["expected_value"] - b["expected_value"]) if a["type"] == "score" else None,
        "winner_same": winner(a) == winner(b),
        "tokens_same": theirs["usage"]["input_tokens"] == mine["usage"]["input_tokens"],
        "hidden_equal": None, "logits_equal": None, "max_steps": None,
        "detectable_steps": None, "detectable_logit": None,
        "lattice": lattice(q, temperature),
        "sum_fault": abs(math.fsum(q) - 1) > SUM_TOLERANCE,
    }  # fmt: skip
    theirs_raw, mine_raw = their_lines.get(question), my_lines.get(question)
    if theirs_raw is not None:
        logits = floats(theirs_raw["logits"])
        key = (logits, temperature, a["type"])
        if key not in seen:
            seen[key] = detectable(*key)
        row["detectable_steps"], row["detectable_logit"] = seen[key]
        if mine_raw is not None:
            row["tokens_same"] = row["tokens_same"] and theirs_raw["tokens"] == mine_raw["tokens"]
            row["hidden_equal"] = bool(mine_raw["hidden"]) and mine_raw["hidden"] == theirs_raw["hidden"]
            row["logits_equal"] = mine_raw["logits"] == theirs_raw["logits"]
            row["max_steps"] = steps(logits, floats(mine_raw["logits"]))
    return row


def steps(reference, candidate):
    w = reference.index(max(reference))
    return max(
        abs((candidate[i] - candidate[w]) - (reference[i] - reference[w])) / spacing(max(abs(reference[i]), abs(reference[w])))
        for i in range(len(reference))
    )


def detectable(logits, temperature, kind):
    """Smallest n such that moving one logit by n of its own BF16 steps breaks a gate, and that shift in logits."""
    before, best = softmax(logits, temperature), None
    for i, value in enumerate(logits):
        for step in (spacing(value), -spacing(value)):
            low, high = 0, MAX_STEPS
            if not breaks_gate(before, shifted(logits, i, high * step, temperature), kind):
                continue
            while high - low > 1:
                middle = (low + high) // 2
                if breaks_gate(before, shifted(logits, i, middle * step, temperature), kind):
                    high = middle
                else:
                    low = middle
            if best is None or high < best[0]:
                best = (high, high * abs(step))
    return best or (None, None)


def shifted(logits, index, by, temperature):
    return softmax([x + by if i == index else x for i, x in enumerate(logits)], temperature)


def breaks_gate(p, q, kind):
    # Confidence and noul move by no more than the largest probability change and share its bound.
    if max(abs(a - b) for a, b in zip(p, q)) > GATES["probability"] + SLACK:
        return True
    if kind == "score":
        means = [math.fsum(i * x for i, x in enumerate(side)) for side in (p, q)]
        if abs(means[0] - means[1]) > GATES["expected_value"] + SLACK:
            return True
    first, second = sorted(p, reverse=True)[:2]
    return first - second >= GATES["winner_margin"] and p.index(max(p)) != q.index(max(q))


def lattice(probabilities, temperature):
    if not is_number(temperature) or not all(is_number(p) and p >= 0 for p in probabilities) or not max(probabilities):
        return {"holds": False, "exponent": None}
    top = max(probabilities)
    offsets = [math.log(p / top) * temperature for p in probabilities if p >= sys.float_info.min]
    for exponent in LATTICE_EXPONENTS:
        scale = 2.0**exponent
        if all(abs(x * scale - round(x * scale)) <= LATTICE_TOLERANCE * scale for x in offsets):
            return {"holds": True, "exponent": exponent}
    return {"holds": False, "exponent": None}


def check_drift(bundle):
    """drift.json holds every comparison once, with the figures recomputed here."""
    expected, document = drift_rows(bundle), bundle.json("drift.json")
    found = OrderedDict()
    for row in document["rows"]:
        key = (row["engine"], row["against"], row["request"], row["question"])
        if key in found:
            bundle.fail("drift", "/".join(key), "has two rows")
        found[key] = row
    if not expected:
        bundle.fail("drift", "drift.json", "nothing was compared")
    for key in [key for key in expected if key not in found]:
        bundle.fail("drift", "/".join(key), "has no row")
    for key in [key for key in found if key not in expected]:
        bundle.fail("drift", "/".join(key), "is no comparison of this run")
    for key in [key for key in expected if key in found]:
        for name, value in expected[key].items():
            if name == "sum_fault":
                continue
            other = found[key].get(name)
            same = close(value, other) if is_number(value) and not isinstance(value, bool) else value == other
            if not same:
                bundle.fail("drift", "/".join(key), "%s is %s, recomputed %s" % (name, short(other), short(value)))
    for pair, worst in document["worst"].items():
        for name, value in worst.items():
            mine = [r[name] for k, r in expected.items() if "%s/%s" % k[:2] == pair and r[name] is not None]
            if not close(value, max(mine) if mine else None):
                bundle.fail("drift", "worst %s %s" % (pair, name), "is %s" % short(value))


# ---------------------------------------------------------------------------------------------- graph cache


class Cache:
    """One cache of the policy: entries with sizes, oldest first."""

    def __init__(self, bounds):
        self.entries, self.failed = OrderedDict(), set()
        self.limit, self.room = bounds["entries"], bounds["megabytes"] * 2**20
        self.counts = dict.fromkeys(("captures", "replays", "evictions", "invalidations", "fallbacks"), 0)

    def drop_all(self):
        self.counts["invalidations"] += len(self.entries)
        self.entries.clear()

    def act(self, key, recorded, size, lru):
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
            return "fallback"
        self.counts["captures"] += 1
        self.entries[key] = size
        while len(self.entries) > self.limit or sum(self.entries.values()) > self.room:
            self.entries.popitem(last=False)
            self.counts["evictions"] += 1
        return "capture"

    def totals(self):
        return dict(self.counts, entries=len(self.entries), bytes=sum(self.entries.values()))


def graph_mismatches(bundle):
    """Cache name -> what the graph worker recorded that the policy, run over the same requests, does not give."""
    graph = bundle.profile["graph"]
    caches = {name: Cache(graph[name]) for name in CACHES}
    capacity, lru = graph["scratch_tokens"], graph["policy"] == "lru"
    found = {name: [] for name in CACHES}
    told = []
    for line in worker_lines(bundle, "graph"):
        if line["kind"] in ("ready", "closed"):
            told.append(line["kind"])
            compare_counters(found, caches, line["counters"], line["kind"])
            continue
        if line["kind"] not in ("question", "vision"):
            continue
        if line["kind"] == "vision":
            name, key = "vision", "vision:" + "+".join("x".join(map(str, grid)) for grid in line["grids"])
        else:
            name = "multimodal" if line["grids"] else "text"
            key = "%s:%d" % (name, line["tokens"])
            if line["tokens"] > capacity:
                capacity = -(-line["tokens"] // graph["scratch_tokens"]) * graph["scratch_tokens"]
                caches["text"].drop_all()
                caches["multimodal"].drop_all()
        action = caches[name].act(key, line["action"], line["bytes"], lru)
        if line["action"] != action or (action != "eager" and line["key"] != key):
            found[name].append("%s %s, the policy gives %s %s" % (line["key"], line["action"], key, action))
    for moment in ("ready", "closed"):
        if told.count(moment) != 1:
            for name in CACHES:
                found[name].append("%d records of counters when %s" % (told.count(moment), moment))
    final = {name: cache.totals() for name, cache in caches.items()}
    for source in (bundle.json("records/graph/engine.json"), bundle.json("counters.json")["engines"].get("graph", {})):
        compare_counters(found, caches, source.get("counters", source), "at the end")
    return found, final


def compare_counters(found, caches, reported, moment):
    for name, cache in caches.items():
        if (reported or {}).get(name) != cache.totals():
            found[name].append("%s: counters %s, the policy gives %s" % (moment, short((reported or {}).get(name)), cache.totals()))


def check_graph(bundle):
    """Graph events and counters are what the cache policy gives for the recorded requests."""
    if "graph" in bundle.engines:
        for name, mismatches in graph_mismatches(bundle)[0].items():
            for text in mismatches:
                bundle.fail("graph", name, text)


def check_operators(bundle):
    """Every op of the table was compared with the reference's own, and an exact claim allows no difference."""
    if "native" not in bundle.engines:
        return
    document = bundle.json("operators.json")
    checks = document["checks"]
    bundle.expect("operators", "operators.json format", document["format"], "kit-operators/1")
    if not checks or not document["ops"]:
        bundle.fail("operators", "operators.json", "compares nothing")
    for op in sorted(set(document["ops"]) - {check["op"] for check in checks}):
        bundle.fail("operators", op, "was not compared")
    for check in checks:
        if not (isinstance(check["elements"], int) and check["elements"] > 0):
            bundle.fail("operators", check["op"], "compares no element")
        if bundle.profile["claim"] == "exact" and (check["different"] or check["nan"]):
            bundle.fail("operators", check["op"], "%s of %s elements differ" % (check["different"], check["elements"]))


# ---------------------------------------------------------------------------------------------- verdict


def repeat_differences(bundle, engine):
    """How many answers differ from the first measured pass: responses but for latency, logits, hidden rows."""
    posts = {} if engine == "remote" else posts_by_sequence(Bundle(bundle.path), engine)
    lines = [line for line in exchanges(bundle, engine) if line["expect"] == 200]
    first = {x["request_id"]: x for x in lines if x["phase"] == "measured" and x["pass"] == 1 and x["status"] == 200}
    differences = compared = 0
    for line in lines:
        base = first.get(line["request_id"])
        if base is line:
            continue
        compared += 1
        if base is None or line["status"] != 200:
            differences += 1
            continue
        a, b = (parse_json(body(bundle, x["response_sha256"]), "response") for x in (base, line))
        for side in (a, b):
            side["usage"].pop("latency_ms", None)
        differences += json.dumps(a) != json.dumps(b)
        if engine != "remote":
            one, two = ({q["question"]: q for q in posts[x["sequence"]][1]} for x in (base, line))
            for name in set(one) | set(two):
                pair = [side.get(name, {}) for side in (one, two)]
                differences += any(pair[0].get(k) != pair[1].get(k) for k in ("logits", "hidden", "tokens"))
    return differences if compared else None


def recomputed_gates(bundle):
    """(gate, engine, against) -> list of (passed, value or None where only the outcome is compared)."""
    rows = drift_rows(bundle)
    gates = OrderedDict()

    def add(name, engine, against, passed, value=None):
        gates.setdefault((name, engine, against), []).append((bool(passed), value))

    for engine, against in comparisons(bundle):
        mine = [row for key, row in rows.items() if key[:2] == (engine, against)]
        for name, column in (
            ("probability", "probability_drift"), ("confidence", "confidence_drift"),
            ("noul", "noul_drift"), ("expected_value", "expected_drift"),
        ):  # fmt: skip
            values = [row[column] for row in mine if row[column] is not None]
            worst = max(values) if values else 0.0
            add(name, engine, against, bool(mine) and worst <= GATES[name] + SLACK, worst)
        changed = sum(not r["winner_same"] and r["reference_margin"] >= GATES["winner_margin"] for r in mine)
        add("winner", engine, against, bool(mine) and not changed, changed)
        other = sum(not row["tokens_same"] for row in mine)
        add("tokens", engine, against, bool(mine) and not other, other)
        if bundle.profile["claim"] == "exact" and against == "fresh" and engine != "remote":
            for name, column in (("hidden_bitwise", "hidden_equal"), ("logits_bitwise", "logits_equal")):
                unequal = sum(row[column] is not True for row in mine)
                add(name, engine, against, bool(mine) and not unequal, unequal)
    for engine in OrderedDict.fromkeys(pair[0] for pair in comparisons(bundle)):
        mine = [row for key, row in rows.items() if key[0] == engine]
        off = sum(not row["lattice"]["holds"] for row in mine)
        add("lattice", engine, None, bool(mine) and not off, off)
        add("probability_sum", engine, None, bool(mine) and not any(row["sum_fault"] for row in mine))
    for engine in bundle.engines:
        differences = repeat_differences(bundle, engine)
        add("repeats", engine, None, differences == 0, differences)
    add("status", None, None, all(x["status"] == x["expect"] for e in bundle.engines for x in exchanges(bundle, e)))
    if "graph" in bundle.engines:
        for mismatches in graph_mismatches(bundle)[0].values():
            add("graph_counters", "graph", None, not mismatches)
    add("health", None, None, not health_misses(bundle))
    return gates


def check_verdict(bundle):
    """verdict.json says what the records give: counts, drift, every gate, and pass only if none failed."""
    verdict, profile = bundle.json("verdict.json"), bundle.profile
    for name in ("claim", "not_covered"):
        bundle.expect("verdict", name, verdict[name], profile[name])
    bundle.expect("verdict", "profile", verdict["profile"], profile["name"])
    bundle.expect("verdict", "run", verdict["run"], bundle.json("run.json")["id"])
    if not str(verdict["scope"]).startswith(profile["scope"]):
        bundle.fail("verdict", "scope", "is not the declared one")
    failed = [gate["gate"] for gate in verdict["gates"] if not gate["passed"]]
    if not verdict["gates"]:
        bundle.fail("verdict", "gates", "there are none")
    if verdict["verdict"] == "pass" and (failed or verdict["failures"]):
        bundle.fail("verdict", "verdict", "says pass although %s failed" % ", ".join(failed or verdict["failures"]))
    if verdict["verdict"] != "pass":
        bundle.fail("verdict", "verdict", "the run failed: %s" % "; ".join(verdict["failures"]))
    if not all(gate in verdict["failures"] for gate in failed):
        bundle.fail("verdict", "failures", "does not name %s" % ", ".join(failed))
    bundle.expect("verdict", "counts", verdict["counts"], recomputed_counts(bundle))
    compare_gates(bundle, verdict)
    check_headline(bundle, verdict)


def compare_gates(bundle, verdict):
    told = {}
    for gate in verdict["gates"]:
        told.setdefault((gate["gate"], gate["engine"], gate["against"]), []).append(gate)
    for key, outcomes in recomputed_gates(bundle).items():
        where = "gate " + " ".join(str(part) for part in key if part)
        gates = told.get(key, [])
        bundle.expect("verdict", where + " (number)", len(gates), len(outcomes))
        for gate, (passed, value) in zip(gates, outcomes):
            bundle.expect("verdict", where, gate["passed"], passed)
            if not passed:
                bundle.fail("gates", where, "failed: %s" % gate["detail"])
            if value is not None and not close(float(value), gate["value"]):
                bundle.fail("verdict", where, "value is %s, recomputed %s" % (short(gate["value"]), short(value)))
    needed = ["counts", "status", "health", "sources"]
    if profile_needs_operators(bundle):
        needed.append("operators")
    needed += ["shape"] if comparisons(bundle) else []
    for name in needed:
        if not any(gate["gate"] == name for gate in verdict["gates"]):
            bundle.fail("verdict", "gate " + name, "is missing")


def profile_needs_operators(bundle):
    return bundle.profile["claim"] == "exact" and "native" in bundle.engines


def recomputed_counts(bundle):
    cases = corpus(bundle)
    by_engine = OrderedDict()
    lines = [(engine, line) for engine in bundle.engines for line in exchanges(bundle, engine)]
    for name in [*bundle.engines, "frontend"]:
        count = sum((line["target"] == "frontend") == (name == "frontend") and name in (engine, line["target"]) for engine, line in lines)
        if count:
            by_engine[name] = count
    return {
        "requests": len(cases),
        "questions": sum(len(case["request"]["questions"]) for case in cases),
        "posts": len(lines),
        "ok": sum(line["status"] == 200 for _, line in lines),
        "rejected": sum(line["status"] == 422 for _, line in lines),
        "by_engine": dict(by_engine),
    }


def check_headline(bundle, verdict):
    rows, pairs = drift_rows(bundle), comparisons(bundle)
    bundle.expect("verdict", "against", verdict["against"], [k for k in ("fresh", "frozen") if any(a == k for _, a in pairs)])
    kind = verdict["against"][0] if verdict["against"] else None
    worst = [row["probability_drift"] for key, row in rows.items() if key[1] == kind]
    if not worst or not close(verdict["max_probability_drift"], max(worst)):
        bundle.fail("verdict", "max_probability_drift", "is %s" % short(verdict["max_probability_drift"]))
    columns = {"probability": "probability_drift", "confidence": "confidence_drift", "noul": "noul_drift", "expected_value": "expected_drift"}
    for engine, against in pairs:
        told = verdict["drift"]["%s/%s" % (engine, against)]
        for name, column in columns.items():
            values = [r[column] for k, r in rows.items() if k[:2] == (engine, against) and r[column] is not None]
            if not close(told[name], max(values) if values else None):
                bundle.fail("verdict", "drift %s/%s %s" % (engine, against, name), "is %s" % short(told[name]))


# ---------------------------------------------------------------------------------------------- main

CHECKS = (
    check_sums, check_roles, check_identity, check_protocol, check_settings, check_checkpoint, check_sources,
    check_stages, check_exchanges, check_worker, check_health, check_answers, check_hidden_rows, check_drift,
    check_graph, check_operators, check_verdict,
)  # fmt: skip


def audit(path):
    """Run every check over a bundle folder. Raises NotJudgedError where there is nothing to judge."""
    if not os.path.isdir(path):
        raise NotJudgedError("%s is not a folder" % path)
    for name in ("SHA256SUMS", "run.json", "profile.json"):
        if not os.path.isfile(os.path.join(path, name)):
            raise NotJudgedError("%s has no %s, so it is not a bundle" % (path, name))
    bundle = Bundle(path)
    for name in ("run.json", "profile.json"):
        try:
            found = bundle.json(name).get("format")
        except UnreadableError:
            continue  # damaged: the checks below will say so
        if str(found).split("/")[0] == FORMATS[name].split("/")[0] and found != FORMATS[name]:
            raise NotJudgedError("%s has format %s; this auditor knows %s" % (name, found, FORMATS[name]))
    bundle.not_checked.append("signature")
    for check in CHECKS:
        try:
            check(bundle)
        except UnreadableError as error:
            bundle.fail(check.__name__, "not completed", str(error))
        except (KeyError, TypeError, ValueError, AttributeError, IndexError, struct.error, OverflowError) as error:
            bundle.fail(check.__name__, "not completed", "%s: %s" % (type(error).__name__, error))
    return bundle


def summary(bundle):
    """The JSON document of the last line."""
    def told(name):
        try:
            return bundle.json("verdict.json").get(name)
        except UnreadableError:
            return None

    counts = told("counts") or {}
    problems = list(OrderedDict.fromkeys(bundle.problems))
    return {
        "audit": "fail" if problems else "pass",
        "verdict": told("verdict"),
        "profile": told("profile"),
        "claim": told("claim"),
        "requests": counts.get("requests"),
        "questions": counts.get("questions"),
        "posts": counts.get("posts"),
        "max_probability_drift": told("max_probability_drift"),
        "problem_count": len(problems),
        "problems": problems[:50],
        "not_checked": bundle.not_checked,
        "auditor": AUDIT_VERSION,
    }


def main(arguments):
    if len(arguments) != 1 or arguments[0].startswith("-"):
        print(__doc__)
        return 2
    try:
        result = summary(audit(arguments[0]))
    except NotJudgedError as error:
        print("could not judge: %s" % error)
        print(json.dumps({"audit": "not-judged", "problems": [str(error)], "problem_count": 1, "not_checked": []}))
        return 2
    for problem in result["problems"]:
        print(problem)
    if result["problem_count"] > len(result["problems"]):
        print("... and %d more" % (result["problem_count"] - len(result["problems"])))
    for item in result["not_checked"]:
        print("not checked: %s" % item)
    print("%d checks, %d problems; a forgery consistent throughout is beyond any offline check" % (len(CHECKS), result["problem_count"]))
    print(json.dumps(result, ensure_ascii=False))
    return 1 if result["audit"] == "fail" else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
