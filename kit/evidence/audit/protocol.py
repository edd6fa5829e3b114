"""The frozen requests and answers are whole, and those that were pinned."""

from __future__ import annotations

import json

from kit.evidence.audit.files import read_sums
from kit.evidence.audit.reading import Bundle
from kit.evidence.audit.rules import ANSWERS
from kit.evidence.audit.values import parse_json, sha256


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
