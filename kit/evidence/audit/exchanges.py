"""The client's record: the planned requests, in order, with their bytes, refusals and bodies."""

from __future__ import annotations

import base64
import binascii
import re
from collections import Counter
from typing import Dict

from kit.evidence.audit.reading import Bundle
from kit.evidence.audit.rules import Json, Key
from kit.evidence.audit.values import parse_json, short


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
