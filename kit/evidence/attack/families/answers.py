"""Answers edited with their logits left, logits edited with the answers left, and both together; all re-sealed.

The hidden rows and the label head hold the logits, the lattice holds the probabilities, the other engines and the
other pass hold both. Where logits are edited the answers are computed from them again, in every place that tells them.
"""

from __future__ import annotations

import math
import random
import struct
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from kit.evidence.attack.deeds import assign, change, forward
from kit.evidence.attack.mutation import Deed, Mutation, one_engine_each
from kit.evidence.attack.reanswer import answers_from_logits, settle
from kit.evidence.attack.suspect import Content, Document, Suspect, questions
from kit.evidence.audit.numbers import bf16, floats, spacing

Logits = Sequence[float]


def mutations(clean: Content, chance: random.Random) -> Iterator[Mutation]:
    engines = clean.engines(recorded=True)
    found = [
        mutation
        for engine in engines
        for mutation in (
            *edited_answers(clean, engine, chance), *edited_logits(clean, engine, chance), *edited_rows(clean, engine, chance)
        )
    ]  # fmt: skip
    yield from one_engine_each(found, chance)
    yield from edited_everywhere(engines)


def edited_answers(clean: Content, engine: str, chance: random.Random) -> Iterator[Mutation]:
    """What the client was told, other than the logits say."""
    made = partial(Mutation, "answers", files=(f"records/{engine}", "verdict.json"), sealing="resealed")
    for kind in ("choice", "noul", "score"):
        number = exchange_of(clean, engine, kind, chance)
        for amount in (1e-11, 1e-6, 0.019, 0.3):
            yield made(f"{engine}: {amount} of probability moved in a {kind}", told(engine, number, partial(moved, kind, amount)))
        yield made(f"{engine}: candidates of a {kind} in reverse", told(engine, number, partial(turned, kind)))
        yield made(f"{engine}: a {kind} that is certain", told(engine, number, partial(certain, kind)))
    number = exchange_of(clean, engine, "choice", chance)
    yield made(f"{engine}: another winner beside the same probabilities", told(engine, number, other_winner))
    yield made(f"{engine}: more confidence", told(engine, number, more_confidence))
    yield made(f"{engine}: a key too many in an answer", told(engine, number, extra_key))
    yield made(f"{engine}: output tokens", told(engine, number, lambda body: body["usage"].update(output_tokens=1)))
    yield made(f"{engine}: another model", told(engine, number, lambda body: body.update(model="OTHER")))
    yield made(f"{engine}: no usage", told(engine, number, lambda body: body.pop("usage")))
    yield made(f"{engine}: an answer left out", told(engine, number, lambda body: body["answers"].popitem()))
    yield made(f"{engine}: probabilities that sum to 1.01", told(engine, number, inflated))
    yield made(f"{engine}: answers rounded to four places", told(engine, number, rounded))


def edited_logits(clean: Content, engine: str, chance: random.Random) -> Iterator[Mutation]:
    """What the worker recorded, with and without the answers computed from it again."""
    name = f"records/{engine}/worker.jsonl"
    made = partial(Mutation, "answers", files=(name, f"records/{engine}", "verdict.json"), sealing="resealed")
    which = chance.randrange(2, len(questions(clean.lines(name))))
    edits: dict[str, Callable[[Logits], Logits]] = {
        "ten steps up": partial(shifted, 10.0), "two steps up": partial(shifted, 2.0),
        "a third of a step up": partial(shifted, 1 / 3), "all five higher": lambda x: [value + 5 for value in x],
        "exchanged": lambda x: [x[1], x[0], *x[2:]], "doubled": lambda x: [2 * value for value in x],
        "zeros": lambda x: [0.0 for _ in x],
    }  # fmt: skip
    for what, by in edits.items():
        deed = change(name, forward(which), "logits", by=partial(hexed, by))
        yield made(f"{engine}: logits {what}, answer left", deed)
        yield made(f"{engine}: logits {what}, answer too", with_answers(deed, engine))
    for what, value in {"NaN": math.nan, "infinite": math.inf}.items():
        deed = change(name, forward(which), "logits", by=partial(hexed, partial(firsted, value)))
        yield made(f"{engine}: a logit that is {what}", deed)
    yield made(f"{engine}: a logit too few", change(name, forward(which), "logits", by=lambda text: text[8:]))
    yield made(f"{engine}: logits that are no hex", assign(name, forward(which), "logits", to="zz" * 8))
    yield made(f"{engine}: half a logit", change(name, forward(which), "logits", by=lambda text: text[:-2]))


def edited_everywhere(engines: Sequence[str]) -> Iterator[Mutation]:
    """The same edit in every pass, and in every engine: nothing but the rows contradicts it."""
    names = tuple(f"records/{engine}/worker.jsonl" for engine in engines)
    made = partial(Mutation, "answers", files=names, sealing="resealed")
    for steps in (2.0, 3.0, 40.0):
        yield made(f"logits {steps:g} steps up in all engines and passes", everywhere(engines, partial(shifted, steps)))
    for engine in engines[1:]:
        yield made(f"{engine}: logits 2 steps up in all passes", everywhere([engine], partial(shifted, 2.0)))
    yield made("logits of all engines a quarter of a step off the grid", everywhere(engines, partial(shifted, 0.25)))


def edited_rows(clean: Content, engine: str, chance: random.Random) -> Iterator[Mutation]:
    """Hidden rows: another one, an edited one, one of another width."""
    name = f"records/{engine}/worker.jsonl"
    made = partial(Mutation, "answers", files=(name, "records/rows"), sealing="resealed")
    lines = questions(clean.lines(name))
    which = chance.randrange(2, len(lines))
    other = next(line["hidden"] for line in lines if line["hidden"] != lines[which]["hidden"])
    yield made(f"{engine}: another question's hidden row", assign(name, forward(which), "hidden", to=other))
    yield made(f"{engine}: a hidden row with one value four times as large", row(engine, which, louder))
    yield made(f"{engine}: a hidden row cut short", row(engine, which, lambda data: data[:-2]))
    yield made(f"{engine}: a hidden row of zeros", row(engine, which, lambda data: bytes(len(data))))
    yield made(f"{engine}: a hidden row with NaN", row(engine, which, lambda data: b"\xc0\x7f" + data[2:]))
    yield made(f"{engine}: no hidden row", assign(name, forward(which), "hidden", to=""))


# ---------------------------------------------------------------- deeds


def told(engine: str, number: int, edit: Callable[[Document], object]) -> Deed:
    return lambda suspect: suspect.edit_response(engine, number, edit)


def exchange_of(clean: Content, engine: str, kind: str, chance: random.Random) -> int:
    """Number of a measured exchange whose answer has a question of a kind."""
    found: list[int] = [
        line["n"]
        for line in clean.lines(clean.exchanges(engine))[1:]
        if line["phase"] == "measured" and line["status"] == 200 and asked(clean, line, kind)
    ]
    return chance.choice(found)


def asked(clean: Content, line: Document, kind: str) -> bool:
    answers = clean.json(f"records/bodies/{line['response_sha256']}")["answers"].values()
    return any(answer["type"] == kind and len(answer["probabilities"]) > 1 for answer in answers)


def of_kind(body: Document, kind: str) -> Document:
    found: Document = next(answer for answer in body["answers"].values() if answer["type"] == kind)
    return found


def moved(kind: str, amount: float, body: Document) -> None:
    """Probability taken from the likeliest candidate for the next, and all that follows from it."""
    answer = of_kind(body, kind)
    p = dict(answer["probabilities"])
    names = sorted(p, key=lambda name: -p[name])
    p[names[0]] -= amount
    p[names[1]] += amount
    settle(answer, p)


def turned(kind: str, body: Document) -> None:
    answer = of_kind(body, kind)
    settle(answer, dict(zip(answer["probabilities"], list(answer["probabilities"].values())[::-1], strict=True)))


def certain(kind: str, body: Document) -> None:
    answer = of_kind(body, kind)
    p = answer["probabilities"]
    settle(answer, {name: float(value == max(p.values())) for name, value in p.items()})


def other_winner(body: Document) -> None:
    answer = of_kind(body, "choice")
    answer["choice"] = next(name for name in answer["probabilities"] if name != answer["choice"])


def more_confidence(body: Document) -> None:
    of_kind(body, "choice")["confidence"] += 0.01


def extra_key(body: Document) -> None:
    of_kind(body, "choice")["certainty"] = 1.0


def inflated(body: Document) -> None:
    answer = of_kind(body, "choice")
    settle(answer, {name: value * 1.01 for name, value in answer["probabilities"].items()})


def rounded(body: Document) -> None:
    answer = of_kind(body, "choice")
    settle(answer, {name: round(value, 4) for name, value in answer["probabilities"].items()})


def hexed(by: Callable[[Logits], Logits], text: str) -> str:
    values = by(floats(text))
    return struct.pack(f"<{len(values)}f", *values).hex()


def shifted(steps: float, values: Logits) -> Logits:
    """The second logit so many BF16 steps higher."""
    return [values[0], values[1] + steps * spacing(values[1]), *values[2:]]


def firsted(value: float, values: Logits) -> Logits:
    return [value, *values[1:]]


def with_answers(deed: Deed, engine: str) -> Deed:
    def both(suspect: Suspect) -> None:
        deed(suspect)
        answers_from_logits(suspect, engine)

    return both


def everywhere(engines: Sequence[str], by: Callable[[Logits], Logits]) -> Deed:
    """One question's logits in all its forwards, with the answers that follow from them."""

    def deed(suspect: Suspect) -> None:
        lines = questions(suspect.lines(suspect.worker(engines[0])))
        old = lines[7]["logits"]
        for engine in engines:
            suspect.substitute(suspect.worker(engine), f'"logits":"{old}"', f'"logits":"{hexed(by, old)}"')
            answers_from_logits(suspect, engine)

    return deed


def row(engine: str, which: int, by: Callable[[bytes], bytes]) -> Deed:
    """A forward's hidden row edited, under the digest it then has."""

    def deed(suspect: Suspect) -> None:
        def edit(lines: list[Document]) -> None:
            line = lines[forward(which)(lines)]
            line["hidden"] = suspect.store("rows", by(suspect.read(f"records/rows/{line['hidden']}")))

        suspect.edit_worker(engine, edit)

    return deed


def louder(data: bytes) -> bytes:
    """The largest value of a BF16 row four times as large."""
    values = bf16(data)
    place = max(range(len(values)), key=lambda index: abs(values[index]))
    return data[: 2 * place] + struct.pack("<f", 4 * values[place])[2:] + data[2 * place + 2 :]
