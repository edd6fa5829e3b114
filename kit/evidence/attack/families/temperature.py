"""The divisor of the logits: another one used, told or declared, with the answers computed from it again."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from functools import partial

from kit.evidence.attack.deeds import assign, change, nth
from kit.evidence.attack.mutation import Deed, Mutation, one_engine_each
from kit.evidence.attack.reanswer import answers_from_logits
from kit.evidence.attack.suspect import Content, Document, Suspect, posts


def mutations(clean: Content, chance: random.Random) -> Iterator[Mutation]:
    if not clean.has("checkpoint.json"):
        return
    engines = clean.engines(recorded=True)
    declared = clean.json("checkpoint.json")["calibration"]
    text, image = declared["temperature"], declared["mm_temperature"]
    yield from one_engine_each((m for engine in engines for m in of_engine(engine, text, image, chance)), chance)
    made = partial(Mutation, "temperature", files=("checkpoint.json", "records/"), sealing="resealed")
    yield made("declared other than used", lambda s: s.edit("checkpoint.json", partial(declare, 1.0)))
    yield made("declared negative", lambda s: s.edit("checkpoint.json", partial(declare, -text)))
    yield made("declared as a text", lambda s: s.edit("checkpoint.json", partial(declare, str(text))))
    yield made("exchanged by all engines", used(engines, {text: image, image: text}))
    yield made("one thousandth higher in all engines", used(engines, {text: text * 1.001}))


def of_engine(engine: str, text: float, image: float, chance: random.Random) -> Iterator[Mutation]:
    name = f"records/{engine}/worker.jsonl"
    made = partial(Mutation, "temperature", files=(name, f"records/{engine}"), sealing="resealed")
    post = nth(chance.randrange(3, 14), kind="post", status=200)
    yield made(f"{engine}: a post told another", assign(name, post, "temperature", to=1.0))
    yield made(f"{engine}: told as a text", change(name, post, "temperature", by=str))
    yield made(f"{engine}: none told", assign(name, post, "temperature", to=None))
    yield made(f"{engine}: zero", assign(name, post, "temperature", to=0))
    yield made(f"{engine}: exchanged between texts and images", used([engine], {text: image, image: text}))
    yield made(f"{engine}: one for both", used([engine], {image: text}))


def used(engines: Sequence[str], replaced: dict[float, float]) -> Deed:
    """Posts say that they divided by another temperature, and their answers say so too."""

    def tell(lines: list[Document]) -> None:
        for post in posts(lines):
            if post.get("temperature") in replaced:
                post["temperature"] = replaced[post["temperature"]]

    def deed(suspect: Suspect) -> None:
        for engine in engines:
            suspect.edit_worker(engine, tell)
            answers_from_logits(suspect, engine)

    return deed


def declare(temperature: object, document: Document) -> None:
    document["calibration"]["temperature"] = temperature
