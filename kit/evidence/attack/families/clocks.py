"""Times: backwards, overlapping, of another day, at odds between two clocks or between client and server; re-sealed."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from functools import partial

from kit.evidence.attack.deeds import assign, change, first, nth
from kit.evidence.attack.mutation import Deed, Mutation, one_engine_each
from kit.evidence.attack.suspect import Content, Document, Suspect

UTC = "%Y-%m-%dT%H:%M:%S.%fZ"


def mutations(clean: Content, chance: random.Random) -> Iterator[Mutation]:
    yield from one_engine_each((m for engine in clean.engines() for m in of_engine(engine, chance)), chance)
    yield from of_run(clean)
    if "native" in clean.engines():
        yield from of_worker(clean)


def of_engine(engine: str, chance: random.Random) -> Iterator[Mutation]:
    name = f"records/{engine}/exchanges.jsonl"
    made = partial(Mutation, "clocks", files=(name, f"records/{engine}"), sealing="resealed")
    here = chance.randrange(4, 14)
    for what, deed in of_client(name, here).items():
        yield made(f"{engine}: {what}", deed)
    yield made(f"{engine}: the server slower than the client saw", told_latency(engine, 1e6))
    yield made(f"{engine}: a latency of nothing", told_latency(engine, 0.0))
    yield made(f"{engine}: a latency below nothing", told_latency(engine, -1.0))
    yield made(f"{engine}: a latency as a text", told_latency(engine, "fast"))
    yield made(f"{engine}: all requests a day earlier", shifted(engine, timedelta(days=-1)))


def of_run(clean: Content) -> Iterator[Mutation]:
    made = partial(Mutation, "clocks", sealing="resealed")
    run = "run.json"
    yield made("the run began after its records", assign(run, "started_utc", to="2099-01-01T00:00:00.000000Z"), (run,))
    yield made("the run began years before", assign(run, "started_utc", to="2001-01-01T00:00:00.000000Z"), (run,))
    yield made("the run began on no day", assign(run, "started_utc", to="yesterday"), (run,))
    if "kit/__init__.py" in clean.json("sources.json")["after"]:
        yield made("a run of a future kit", assign(run, "kit_version", to="99.0"), (run,))
    name = "notebooks/08_drift.ipynb"
    for what, key, to in (
        ("a notebook that ended before it began", "end_time", "2001-01-01T00:00:00.000000+00:00"),
        ("a notebook of another year", "start_time", "2001-01-01T00:00:00.000000+00:00"),
    ):
        yield made(what, assign(name, "metadata", "papermill", key, to=to), (name,))


def of_client(name: str, here: int) -> dict[str, Deed]:
    return {
        "a request that ended before it began": both(name, here, "finished_ns", "started_ns"),
        "two requests at once": change(name, here, "started_ns", by=lambda ns: ns - 10**12),
        "a request of no time": assign_from(name, here, "finished_ns", "started_ns"),
        "UTC backwards": change(name, here, "started_utc", by=utc(timedelta(hours=-3))),
        "UTC of another year": change(name, here, "finished_utc", by=utc(timedelta(days=700))),
        "UTC that disagrees with the clock": change(name, here, "finished_utc", by=utc(timedelta(seconds=30))),
        "UTC without microseconds": change(name, here, "started_utc", by=lambda text: text[:19] + "Z"),
        "UTC of no day": change(name, here, "started_utc", by=lambda text: "2026-13-45" + text[10:]),
        "a clock as a text": change(name, here, "started_ns", by=str),
        "a request ten times as fast": quicker(name, here),
    }


def of_worker(clean: Content) -> Iterator[Mutation]:
    name = "records/native/worker.jsonl"
    made = partial(Mutation, "clocks", files=(name, "records/native"), sealing="resealed")
    post = nth(6, kind="post", status=200)
    yield made("a post slower than its answer says", change(name, post, "latency_ms", by=lambda ms: ms * 5))
    yield made("parts longer than the whole", change(name, post, "timings_ms", by=lambda t: {**t, "language": 1e9}))
    yield made("a part below nothing", change(name, post, "timings_ms", by=lambda t: {**t, "prepare": -5.0}))
    yield made("no parts", assign(name, post, "timings_ms", to={}))
    yield made("a forward longer than its request", assign(name, nth(6, kind="question"), "ms", to=1e9))
    yield made("a forward below nothing", assign(name, nth(6, kind="question"), "ms", to=-1.0))
    if clean.lines(name)[first(kind="ready")(clean.lines(name))].get("memory"):
        ready = first(kind="ready")
        yield made("more allocated than reserved", assign(name, ready, "memory", "allocated", to=1 << 50))
        yield made("less than nothing outside", assign(name, ready, "memory", "outside", to=-1))
        yield made("a peak below what is held", assign(name, ready, "memory", "peak_allocated", to=0))


def utc(by: timedelta) -> Callable[[str], str]:
    return lambda text: (datetime.strptime(text, UTC) + by).strftime(UTC)


def both(name: str, here: int, one: str, other: str) -> Deed:
    def edit(lines: list[Document]) -> None:
        lines[here][one], lines[here][other] = lines[here][other], lines[here][one]

    return lambda suspect: suspect.edit_lines(name, edit)


def assign_from(name: str, here: int, target: str, source: str) -> Deed:
    return lambda suspect: suspect.edit_lines(name, lambda lines: lines[here].update({target: lines[here][source]}))


def quicker(name: str, here: int) -> Deed:
    """By the monotonic clock alone."""

    def edit(lines: list[Document]) -> None:
        line = lines[here]
        line["finished_ns"] = line["started_ns"] + (line["finished_ns"] - line["started_ns"]) // 10

    return lambda suspect: suspect.edit_lines(name, edit)


def told_latency(engine: str, ms: object) -> Deed:
    """What the server says it took, in the body and in its own record."""

    def deed(suspect: Suspect) -> None:
        suspect.edit_response(engine, 9, lambda body: body["usage"].update(latency_ms=ms))
        if engine != "remote":
            post = nth(0, kind="post", sequence=9)
            suspect.edit_worker(engine, lambda lines: lines[post(lines)].update(latency_ms=ms))

    return deed


def shifted(engine: str, by: timedelta) -> Deed:
    """Both clocks of one engine's requests, as if they were another day's."""
    nanoseconds = int(by.total_seconds() * 1e9)

    def edit(lines: list[Document]) -> None:
        for line in lines[1:]:
            for key in ("started_utc", "finished_utc"):
                line[key] = utc(by)(line[key])
            for key in ("started_ns", "finished_ns"):
                line[key] += nanoseconds

    return lambda suspect: suspect.edit_lines(f"records/{engine}/exchanges.jsonl", edit)
