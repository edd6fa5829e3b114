"""Every drill there must be ended as it must, and what was seen of it says the same.

Covers: the drills of the profile, the expectations of each by name, what was observed against them. Does not cover:
the requests drills send; only their lengths follow from the protocol.
"""

from __future__ import annotations

import json
from typing import Any, Callable, Dict, List, Tuple

from kit.evidence.audit.reading import Bundle
from kit.evidence.audit.rules import NOT_VISIBLE, Json
from kit.evidence.audit.shapes import ANY, CACHE_COUNTERS, COUNT, FLAG, NUMBER, TEXT, WHOLE, Each, One, hold
from kit.evidence.audit.values import short

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
