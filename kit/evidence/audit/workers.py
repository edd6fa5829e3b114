"""The worker's record against the client's: order, forwards, engines, health."""

from __future__ import annotations

from collections import Counter
from typing import Any, List

from kit.evidence.audit.planning import candidate_ids, image_count, kind_of
from kit.evidence.audit.reading import Bundle, Post
from kit.evidence.audit.rules import Json
from kit.evidence.audit.values import short

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
