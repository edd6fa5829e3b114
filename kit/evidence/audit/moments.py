"""Time: what happened when, by two clocks and on both sides of the wire, in the order of the stages.

Covers: UTC against the monotonic clock, client against server, the parts of a request against its whole, engines and
device within the run and their stage. Does not cover: whether a duration is plausible (`latency` computes with it).
"""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any, List, Tuple

from kit.evidence.audit.reading import Bundle
from kit.evidence.audit.rules import ENGINE_STAGES, Json
from kit.evidence.audit.values import is_number, short

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
