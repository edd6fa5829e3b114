"""Small deeds that families are made of: change one place of a document or record, found by a path.

A path goes from the top of a JSON document, or of a record's list of lines, down to the place: keys, indices, and
functions that choose among a list's items (`first(kind="ready")`). A deed whose place is not there raises, so that a
mutation never passes for done when nothing was.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from kit.evidence.attack.mutation import Deed
from kit.evidence.attack.suspect import Suspect

Choose = Callable[[Sequence[Any]], int]
Step = str | int | Choose


def first(**wanted: Any) -> Choose:
    """The first item that has all of these."""
    return nth(0, **wanted)


def nth(number: int, **wanted: Any) -> Choose:
    """The item of that number among those that have all of these; negative numbers count from the end."""

    def choose(items: Sequence[Any]) -> int:
        places = [index for index, item in enumerate(items) if wanted.items() <= item.items()]
        return places[number]

    return choose


def forward(number: int, **wanted: Any) -> Choose:
    """The question line of that number among those of posts."""

    def choose(items: Sequence[Any]) -> int:
        return [
            index
            for index, item in enumerate(items)
            if item.get("kind") == "question" and item["sequence"] is not None and wanted.items() <= item.items()
        ][number]

    return choose


def edit(suspect: Suspect, name: str, change: Callable[[Any], object]) -> None:
    """Change a document, or a record's list of lines, in place."""
    (suspect.edit_lines if name.endswith(".jsonl") else suspect.edit)(name, change)


def change(name: str, *path: Step, by: Callable[[Any], Any]) -> Deed:
    """A deed that replaces the value at a path by what a function makes of it."""

    def deed(suspect: Suspect) -> None:
        def edited(document: Any) -> None:
            holder, key = place(document, path)
            holder[key] = by(holder[key])

        edit(suspect, name, edited)

    return deed


def assign(name: str, *path: Step, to: Any) -> Deed:
    """A deed that sets the value at a path; the last key may be new, and what changes must change."""

    def deed(suspect: Suspect) -> None:
        def edited(document: Any) -> None:
            holder, key = place(document, path)
            old = holder.get(key, holder) if isinstance(holder, dict) else holder[key]
            if old == to and isinstance(old, bool) == isinstance(to, bool):
                raise LookupError(f"{name} {path}: is {to!r} already")
            holder[key] = to

        edit(suspect, name, edited)

    return deed


def drop(name: str, *path: Step) -> Deed:
    """A deed that takes out what is at a path."""

    def deed(suspect: Suspect) -> None:
        def edited(document: Any) -> None:
            holder, key = place(document, path)
            del holder[key]

        edit(suspect, name, edited)

    return deed


def double(name: str, *path: Step) -> Deed:
    """A deed that repeats a list's item right behind itself."""

    def deed(suspect: Suspect) -> None:
        def edited(document: Any) -> None:
            holder, key = place(document, path)
            holder.insert(key, holder[key])

        edit(suspect, name, edited)

    return deed


def swap(name: str, *path: Step, other: Step) -> Deed:
    """A deed that exchanges a list's item with another of the same list."""

    def deed(suspect: Suspect) -> None:
        def edited(document: Any) -> None:
            holder, key = place(document, path)
            _, second = place(holder, (other,))
            holder[key], holder[second] = holder[second], holder[key]

        edit(suspect, name, edited)

    return deed


def add(name: str, *path: Step, item: Any) -> Deed:
    """A deed that appends to the list at a path."""
    return change(name, *path, by=lambda items: [*items, item])


def write(name: str, data: bytes) -> Deed:
    """A deed that replaces a file, or adds one."""
    return lambda suspect: suspect.write(name, data)


def rename(old: str, new: str) -> Deed:
    return lambda suspect: suspect.rename(old, new)


def exchange(one: str, other: str) -> Deed:
    """Each of two files gets the other's content."""

    def deed(suspect: Suspect) -> None:
        first, second = suspect.read(one), suspect.read(other)
        suspect.write(one, second)
        suspect.write(other, first)

    return deed


def together(*deeds: Deed) -> Deed:
    """Several deeds as one."""

    def deed(suspect: Suspect) -> None:
        for each in deeds:
            each(suspect)

    return deed


def step_up(logits: str) -> str:
    """The first value of float32 hex, with the last bit that BF16 keeps turned."""
    return f"{logits[:4]}{int(logits[4:6], 16) ^ 1:02x}{logits[6:]}"


def place(document: Any, path: Sequence[Step]) -> tuple[Any, Any]:
    """(what holds the place, key or index of the place in it)."""
    holder = document
    for step in path[:-1]:
        holder = holder[step(holder) if callable(step) else step]
    last = path[-1]
    return holder, last(holder) if callable(last) else last
