"""What JSON readers differ on: NaN, infinities, huge numbers, deep nesting, keys twice, other encodings, other types.

Each trap is set in the text of a document or of a record's line, and everything else is re-sealed around it.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator

from kit.evidence.attack.deeds import assign, write
from kit.evidence.attack.mutation import Deed, Mutation
from kit.evidence.attack.suspect import Content, Suspect

NUMBER = re.compile(rb'(?<=":)( ?)-?\d+(\.\d+)?(e-?\d+)?(?=[,}\]\n])')  # the value of a key
Trap = Callable[[bytes], bytes]
DEPTH = 200_000


def number(text: str) -> Trap:
    """Put a text where the last number of the document is."""

    def trap(data: bytes) -> bytes:
        matches = list(NUMBER.finditer(data))
        if not matches:
            raise LookupError("holds no number")
        last = matches[-1]
        return data[: last.end(1)] + text.encode() + data[last.end() :]

    return trap


def key_twice(data: bytes) -> bytes:
    """The first key of the document once more, at its beginning."""
    start = data.index(b"{") + 1
    key = data[data.index(b'"') : data.index(b":") + 1]
    return data[:start] + key + b" null," + data[start:]


def nested(opening: bytes, closing: bytes) -> Trap:
    def trap(data: bytes) -> bytes:
        start = data.index(b"{") + 1
        return data[:start] + b'"deep":' + opening * DEPTH + b"0" + closing * DEPTH + b"," + data[start:]

    return trap


def retyped(data: bytes) -> bytes:
    """Every number as a text."""
    return NUMBER.sub(lambda match: match[1] + b'"' + match[0].strip() + b'"', data)


TRAPS: dict[str, Trap] = {
    "NaN": number("NaN"),
    "Infinity": number("Infinity"),
    "-Infinity": number("-Infinity"),
    "1e999": number("1e999"),
    "a number of 5,000 digits": number("1" * 5000),
    "a number of 300 digits": number("1" * 300),
    "true for a number": number("true"),
    "null for a number": number("null"),
    "a list for a number": number("[]"),
    "numbers as texts": retyped,
    "a key twice": key_twice,
    "lists 200,000 deep": nested(b"[", b"]"),
    "objects 200,000 deep": nested(b'{"a":', b"}"),
    "a mark of byte order": lambda data: b"\xef\xbb\xbf" + data,
    "UTF-16": lambda data: data.decode().encode("utf-16"),
    "a byte that is no text": lambda data: data.replace(b'":', b'\xff":', 1),
    "half a character": lambda data: data.replace(b'"', b'"\\ud800', 1),
    "a comment": lambda data: b"/* fine */" + data,
    "something behind the end": lambda data: data.rstrip() + b"\n{}\n",
    "a list": lambda data: b"[" + data.rstrip() + b"]\n",
    "null": lambda data: b"null\n",
}
DOCUMENTS = ("verdict.json", "drift.json", "counters.json", "performance.json", "checkpoint.json", "operators.json")
RECORDS = ("records/native/worker.jsonl", "records/graph/exchanges.jsonl", "records/drills.jsonl")
LINE_TRAPS = ("NaN", "1e999", "a number of 5,000 digits", "a key twice", "lists 200,000 deep", "true for a number")
EVERYWHERE = ("NaN", "a key twice", "lists 200,000 deep")
OTHERS = (
    "run.json", "profile.json", "environment.json", "device.json", "sources.json", "signal.json", "records/autotune.json",
    "records/native/engine.json", "ro-crate-metadata.json", "stages/08_drift.json", "notebooks/08_drift.ipynb",
    "records/performance_samples.json", "protocol/corpus.jsonl",
)  # fmt: skip


def mutations(clean: Content, chance: random.Random) -> Iterator[Mutation]:
    documents = [name for name in DOCUMENTS if clean.has(name)]
    for index, (what, trap) in enumerate(TRAPS.items()):
        for name in (documents[index % len(documents)], documents[(index + 1) % len(documents)]):
            yield Mutation("json", f"{what} in {name}", in_document(name, trap), (name,), "resealed")
    for name in filter(clean.has, RECORDS):
        for what in LINE_TRAPS:
            place = chance.randrange(1, len(clean.lines(name)))
            yield Mutation("json", f"{what} in a line of {name}", in_line(name, place, TRAPS[what]), (name,), "resealed")
    for name in filter(clean.has, OTHERS):
        what = chance.choice(EVERYWHERE if NUMBER.search(clean.read(name)) else EVERYWHERE[1:])
        yield Mutation("json", f"{what} in {name}", in_document(name, TRAPS[what]), (name,), "resealed")
    yield from in_bodies(clean, chance)
    for name in ("drift.json", "checkpoint.json"):
        yield Mutation("json", f"no fields in {name}", write(name, b"{}\n"), (name,), "resealed")
        yield Mutation("json", f"every value of {name} null", nulls(name), (name,), "resealed")
    yield Mutation("json", "a corpus of no request", write("protocol/corpus.jsonl", b""), ("protocol/corpus.jsonl",), "resealed")
    yield Mutation("json", "a corpus of empty lines", write("protocol/corpus.jsonl", b"\n\n"), ("protocol/corpus.jsonl",), "resealed")
    yield from claims(clean)


def in_document(name: str, trap: Trap) -> Deed:
    return lambda suspect: suspect.write(name, trap(suspect.read(name)))


def in_line(name: str, place: int, trap: Trap) -> Deed:
    def deed(suspect: Suspect) -> None:
        lines = suspect.read(name).split(b"\n")
        for index in (*range(place, len(lines) - 1), *range(1, place)):
            try:
                changed = trap(lines[index])
            except LookupError:
                continue
            if changed != lines[index]:
                break
        suspect.write(name, b"\n".join([*lines[:index], changed, *lines[index + 1 :]]))

    return deed


def in_bodies(clean: Content, chance: random.Random) -> Iterator[Mutation]:
    """Traps in a response that records go on naming, by its new digest."""
    for what in ("NaN", "a key twice", "a number of 5,000 digits", "lists 200,000 deep", "numbers as texts", "a list"):
        exchange = chance.choice([x for x in clean.lines(clean.exchanges("native"))[1:] if x["status"] == 200])
        name = f"records/bodies/{exchange['response_sha256']}"
        yield Mutation("json", f"{what} in a response", in_document(name, TRAPS[what]), ("records/bodies/", "records/native"), "resealed")


def nulls(name: str) -> Deed:
    return lambda suspect: suspect.write(name, json.dumps(dict.fromkeys(suspect.json(name))).encode())


def claims(clean: Content) -> Iterator[Mutation]:
    """Sizes that are claimed and not there: a reader that trusts them takes a gigabyte."""
    if clean.has("checkpoint.json"):
        for what, shape in (("2**31 label rows", [1 << 31, 16]), ("a label row of 2**40", [32, 1 << 40]), ("negative label rows", [-32, -16])):
            deed = assign("checkpoint.json", "label_head", "shape", to=shape)
            yield Mutation("json", f"{what} claimed", deed, ("checkpoint.json", "records/label_head.bin"), "resealed")
        deed = assign("checkpoint.json", "label_head", "file", to="../../../etc/hostname")
        yield Mutation("json", "label rows in a file outside", deed, ("checkpoint.json", "etc/hostname"), "resealed")
    for name in ("logs/large.log", "records/label_head.bin", "verdict.json"):
        yield Mutation("json", f"{name} of 3 GiB", hole(name), (name,))
    for what, tokens in (("10**30 tokens", 10**30), ("minus one token", -1), ("half a token", 0.5)):
        yield Mutation("json", f"a question of {what}", tokens_of(tokens), ("records/graph/worker.jsonl",), "resealed")


def hole(name: str) -> Deed:
    """A file that is nothing but a hole: 3 GiB to read, nothing on disk."""

    def deed(suspect: Suspect) -> None:
        path = suspect.path / name
        path.unlink(missing_ok=True)
        with path.open("wb") as file:
            file.truncate(3 << 30)

    return deed


def tokens_of(tokens: float) -> Deed:
    def change(lines: list[dict[str, object]]) -> None:
        next(line for line in lines if line.get("kind") == "question" and line["sequence"] is not None)["tokens"] = tokens

    return lambda suspect: suspect.edit_worker("graph", change)
