"""Forgeries consistent throughout: nothing inside the bundle contradicts them, so only something outside can.

Few on purpose. Each says why no offline audit can refuse it and names what does: the digest its author published
elsewhere, a signature over SHA256SUMS, the protocol run again (`kit audit --recompute`), or fresh requests (`kit
challenge`). They are expected to pass a bare audit and are counted apart.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import partial

from kit.evidence.attack.deeds import assign, change
from kit.evidence.attack.families.sources import repacked
from kit.evidence.attack.mutation import Anchor, Mutation
from kit.evidence.attack.reseal import answer, answers_from_logits
from kit.evidence.attack.suspect import Content, Suspect, as_text, posts, questions

PUBLISHED: tuple[Anchor, ...] = ("digest", "signature")


def mutations(clean: Content, chance: random.Random) -> Iterator[Mutation]:
    made = partial(Mutation, "consistent", files=("SHA256SUMS",), sealing="resealed")
    if clean.engines(recorded=True) and not clean.json("profile.json")["protocol"]["pins"]:
        yield made(
            "a hidden row negated in every engine, its logits and answers with it, frozen answers too", negated,
            anchors=(*PUBLISHED, "recompute", "challenge"),
            why="row, logits, answers and frozen answers agree with each other in every engine and pass; that the model "
            "never gave them only the model can show",
        )  # fmt: skip
    yield made(
        "sources edited before and after alike", repacked(lambda files: files.update({"README.md": files["README.md"] + b"\n"})),
        anchors=PUBLISHED, why="what the sources were before the run is told by the bundle alone",
    )  # fmt: skip
    yield made(
        "a narrower list of what is not covered, in profile and verdict", change("profile.json", "not_covered", by=lambda x: x[:-1]),
        anchors=PUBLISHED, why="a profile says what its author declares, and this is another declaration",
    )  # fmt: skip
    yield made(
        "another Python in the environment", assign("environment.json", "python", to="3.99.0"), anchors=PUBLISHED,
        why="an environment is what the run's machine said of itself",
    )  # fmt: skip
    figure = next((name for name in clean.names() if name.startswith("figures/")), "")
    if figure:
        yield made(
            "another picture", lambda s: s.write(figure, s.read(figure) + b"\0"), anchors=PUBLISHED,
            why="pictures, logs and printed outputs are for people, and the audit says that it does not check them",
        )  # fmt: skip


def negated(suspect: Suspect) -> None:
    """One question answered by the mirror image of its hidden row, everywhere and from the first.

    Sign bits alone change, so the products with the label rows round as before and every logit is negated exactly.
    """
    engines = suspect.engines(recorded=True)
    lines = suspect.lines(suspect.worker(engines[0]))
    asked = {line["sequence"]: line["request_id"] for line in suspect.lines(suspect.exchanges(engines[0]))[1:]}
    quiet = {question["request"] for question in suspect.json("signal.json")["questions"]} if suspect.has("signal.json") else set()
    line = next(line for line in questions(lines) if asked[line["sequence"]] not in quiet)
    row, logits = line["hidden"], mirrored(bytes.fromhex(line["logits"]), 4).hex()
    other = suspect.store("rows", mirrored(suspect.read(f"records/rows/{row}"), 2))
    for engine in engines:
        name = suspect.worker(engine)
        suspect.substitute(name, f'"logits":"{line["logits"]}","hidden":"{row}"', f'"logits":"{logits}","hidden":"{other}"')
        answers_from_logits(suspect, engine)
    name = f"protocol/{suspect.json('profile.json')['protocol'].get('answers', 'reference.json')}"
    if suspect.has(name):
        frozen = suspect.json(name)
        entry = next(entry for entry in frozen if entry["id"] == asked[line["sequence"]])
        temperature = next(post["temperature"] for post in posts(lines) if post["sequence"] == line["sequence"])
        answer(entry["response"]["answers"][line["question"]], dict(line, logits=logits), temperature)
        suspect.write(name, as_text(frozen))


def mirrored(data: bytes, size: int) -> bytes:
    """Little-endian numbers of so many bytes with their signs turned."""
    return bytes(byte ^ 0x80 if place % size == size - 1 else byte for place, byte in enumerate(data))
