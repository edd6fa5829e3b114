"""The frozen requests and answers are whole, and those that were pinned."""

from __future__ import annotations

import base64
import json
from typing import List

from kit.evidence.audit.files import read_sums
from kit.evidence.audit.reading import Bundle
from kit.evidence.audit.rules import ANSWERS, Json
from kit.evidence.audit.values import parse_json, sha256, short


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
