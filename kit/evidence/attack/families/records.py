"""Exchanges, posts and forwards dropped, repeated, exchanged, renumbered, moved or relabelled; all re-sealed."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from functools import partial

from kit.evidence.attack.deeds import assign, change, double, drop, first, forward, nth, swap, together
from kit.evidence.attack.mutation import Deed, Mutation, one_engine_each
from kit.evidence.attack.suspect import Content, Document, Suspect, as_lines, posts


def mutations(clean: Content, chance: random.Random) -> Iterator[Mutation]:
    engines = clean.engines(recorded=True)
    found = [
        mutation
        for engine in engines
        for mutation in (*of_client(engine, len(clean.lines(clean.exchanges(engine))), chance), *of_worker(clean, engine, chance))
    ]
    yield from one_engine_each(found, chance)
    if {"reference", "native"} <= set(engines):
        yield from between(engines)


def of_client(engine: str, count: int, chance: random.Random) -> Iterator[Mutation]:
    name = f"records/{engine}/exchanges.jsonl"
    made = partial(Mutation, "records", files=(name, f"records/{engine}", "verdict.json"), sealing="resealed")
    here = chance.randrange(3, count - 2)
    deeds: dict[str, Deed] = {
        "an exchange dropped": drop(name, here),
        "the last exchange dropped": drop(name, -1),
        "an exchange twice": double(name, here),
        "two exchanges in the other order": swap(name, here, other=here + 1),
        "two exchanges in the other order, numbers kept": reordered(name, here),
        "an exchange dropped, the rest renumbered": renumbered(name, here),
        "a request under another name": change(name, here, "request_id", by=lambda old: old + "x"),
        "another expected status": assign(name, nth(0, status=200), "expect", to=422),
        "a measured request said to be a warm-up": assign(name, nth(3, phase="measured"), "phase", to="feasibility"),
        "pass 2 said to be pass 1": assign(name, first(**{"pass": 2}), "pass", to=1),
        "passes exchanged": passes_exchanged(name),
        "a text request said to be of images": assign(name, nth(0, modality="text"), "modality", to="image"),
        "a worker's request said to be the frontend's": assign(name, nth(5, target="worker"), "target", to="frontend"),
        "a sequence number shifted": change(name, here, "sequence", by=lambda old: old + 1),
        "a response left out": assign(name, nth(2, status=200), "response_sha256", to=None),
        "a header of another engine": assign(name, 0, "engine", to="other"),
        "a header of another run": assign(name, 0, "run", to="another-run"),
        "no header": drop(name, 0),
    }
    for what, deed in deeds.items():
        yield made(f"{engine}: {what}", deed)
    yield made(f"{engine}: another request's answer", answer_of_another(engine))
    yield made(f"{engine}: a failed request repeated and the failure dropped", retried(engine))


def of_worker(clean: Content, engine: str, chance: random.Random) -> Iterator[Mutation]:
    name = f"records/{engine}/worker.jsonl"
    made = partial(Mutation, "records", files=(name, f"records/{engine}", "verdict.json"), sealing="resealed")
    which = chance.randrange(4, sum(1 for _ in posts(clean.lines(name))))
    deeds: dict[str, Deed] = {
        "a forward dropped": drop(name, forward(which)),
        "a forward twice": double(name, forward(which)),
        "a vision forward dropped": drop(name, nth(2, kind="vision")),
        "a post dropped": drop(name, nth(which, kind="post")),
        "a post twice": double(name, nth(which, kind="post")),
        "two posts in the other order": swap(name, nth(6, kind="post"), other=nth(7, kind="post")),
        "a forward of another post": change(name, forward(which), "sequence", by=lambda old: old + 1),
        "a forward said to be a warm-up": assign(name, forward(which), "sequence", to=None),
        "no ready line": drop(name, first(kind="ready")),
        "two ready lines": double(name, first(kind="ready")),
        "no closed line": drop(name, first(kind="closed")),
        "a closed line in the middle": closed_early(name),
        "another path": assign(name, nth(5, kind="post"), "path", to="/v1/other"),
        "another status": assign(name, nth(5, kind="post", status=200), "status", to=503),
        "another request": assign(name, nth(5, kind="post"), "request_sha256", to="0" * 64),
        "more tokens in a post": change(name, nth(5, kind="post", status=200), "input_tokens", by=lambda old: old + 1),
        "a question of another type": assign(name, forward(which), "type", to="essay"),
        "candidates in another order": change(name, forward(which), "candidates", by=lambda old: old[::-1]),
        "a candidate too many": change(name, forward(which), "candidates", by=lambda old: [*old, "more"]),
        "an index that skips": change(name, forward(which), "index", by=lambda old: old + 1),
        "an image grid too many": change(name, forward(0, kind="question"), "grids", by=lambda old: [*old, [1, 16, 16]]),
        "another model's header": assign(name, 0, "model", to="OTHER"),
        "a line of an unknown kind": together(double(name, first(kind="ready")), assign(name, nth(1, kind="ready"), "kind", to="note")),
        "the warm-ups dropped": drop(name, first(kind="question", sequence=None)),
    }  # fmt: skip
    for what, deed in deeds.items():
        yield made(f"{engine}: {what}", deed)
    yield made(f"{engine}: tokens of a question, its post and its answer", more_tokens(engine, which))


def between(engines: list[str]) -> Iterator[Mutation]:
    """Records of one engine passed off as another's."""
    made = partial(Mutation, "records", sealing="resealed")
    for engine in engines[1:]:
        name = f"records/{engine}/worker.jsonl"
        yield made(f"the reference's worker record for {engine}'s", copied("reference", engine, ("worker",)), (name, f"records/{engine}"))
        yield made(
            f"the reference's whole record for {engine}'s", copied("reference", engine, ("worker", "exchanges")),
            (f"records/{engine}",),
        )  # fmt: skip
    yield made("engines exchanged", exchanged(engines[0], engines[1]), ("records/",))


def reordered(name: str, here: int) -> Deed:
    """Two records exchanged, with their numbers and times put right so that both still count up."""
    kept = ("n", "sequence", "started_ns", "finished_ns", "started_utc", "finished_utc")

    def edit(lines: list[Document]) -> None:
        one, other = lines[here], lines[here + 1]
        for key in kept:
            one[key], other[key] = other[key], one[key]
        lines[here], lines[here + 1] = other, one

    return lambda suspect: suspect.edit_lines(name, edit)


def renumbered(name: str, here: int) -> Deed:
    def edit(lines: list[Document]) -> None:
        del lines[here]
        for number, line in enumerate(lines[1:], 1):
            line["n"] = number

    return lambda suspect: suspect.edit_lines(name, edit)


def passes_exchanged(name: str) -> Deed:
    def edit(lines: list[Document]) -> None:
        for line in lines[1:]:
            if line["phase"] == "measured":
                line["pass"] = {1: 2, 2: 1}.get(line["pass"], line["pass"])

    return lambda suspect: suspect.edit_lines(name, edit)


def answer_of_another(engine: str) -> Deed:
    """Both sides say that one request got the answer of another of the same pass."""

    def deed(suspect: Suspect) -> None:
        lines = suspect.lines(suspect.exchanges(engine))
        one, other = [line for line in lines[1:] if line["phase"] == "measured"][:2]

        def edit(found: list[Document]) -> None:
            for line in found:
                if line.get("sequence") == one["sequence"] and "response_sha256" in line:
                    line["response_sha256"] = other["response_sha256"]

        suspect.edit_exchanges(engine, edit)
        suspect.edit_worker(engine, edit)

    return deed


def retried(engine: str) -> Deed:
    """A request's first attempt taken out on both sides: numbers on the wire show the gap."""

    def without(key: str, number: int) -> Callable[[list[Document]], None]:
        def edit(lines: list[Document]) -> None:
            lines[:] = [line for line in lines if line.get(key) != number]

        return edit

    def deed(suspect: Suspect) -> None:
        suspect.edit_exchanges(engine, without("n", 7))
        suspect.edit_worker(engine, without("sequence", 7))

    return deed


def closed_early(name: str) -> Deed:
    def edit(lines: list[Document]) -> None:
        lines.insert(len(lines) // 2, lines.pop())

    return lambda suspect: suspect.edit_lines(name, edit)


def more_tokens(engine: str, which: int) -> Deed:
    """One token more in the forward, in its post, and in the answer the client got."""

    def deed(suspect: Suspect) -> None:
        lines = suspect.lines(suspect.worker(engine))
        sequence = lines[forward(which)(lines)]["sequence"]

        def edit(found: list[Document]) -> None:
            found[forward(which)(found)]["tokens"] += 1
            next(x for x in found if x.get("kind") == "post" and x["sequence"] == sequence)["input_tokens"] += 1

        suspect.edit_worker(engine, edit)

        def usage(body: Document) -> None:
            body["usage"]["input_tokens"] += 1

        suspect.edit_response(engine, sequence, usage)

    return deed


def copied(source: str, target: str, records: tuple[str, ...]) -> Deed:
    def deed(suspect: Suspect) -> None:
        for record in records:
            lines = suspect.lines(f"records/{source}/{record}.jsonl")
            lines[0]["engine"] = target
            suspect.write(f"records/{target}/{record}.jsonl", as_lines(lines))

    return deed


def exchanged(one: str, other: str) -> Deed:
    def deed(suspect: Suspect) -> None:
        for record in ("worker.jsonl", "exchanges.jsonl", "engine.json"):
            first, second = (f"records/{engine}/{record}" for engine in (one, other))
            a, b = suspect.read(first), suspect.read(second)
            suspect.write(first, b.replace(f'"engine":"{other}"'.encode(), f'"engine":"{one}"'.encode()))
            suspect.write(second, a.replace(f'"engine":"{one}"'.encode(), f'"engine":"{other}"'.encode()))

    return deed
