"""Generated requests: as many as are asked for, made from a seed, the same bytes on every machine.

Covers: short requests of one question each, text and image, of all question types, 2 to 16 options, several
scripts; two neighbours ask different things about the same state, so they share a content. Where the state
itself says the answer, it is expected. Slots are filled with words that are one token each, so prompts have few
distinct lengths and a graph cache holds them all.
Does not cover: the frozen protocol (`kit.campaign.protocol`), whose wording is another. Nothing here shows the
quality of decisions: the questions are easy, and weights made from a seed answer none of them meaningfully.
"""

from __future__ import annotations

import base64
import hashlib
import json
import random
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from kit.campaign.prompt_pictures import draw
from kit.campaign.prompt_recipes import POOLS, RECIPES, SLOTS, Ask, Recipe
from kit.campaign.protocol import Case
from kit.contract.request import compile_questions

GENERATOR = "kit-prompts/1"
PER_CONTENT = 2  # neighbours that share a state
TEXT_OF_BLOCK, IMAGE_OF_BLOCK = 4, 2

Modality = Literal["text", "image"]


class Draws:
    """Whole numbers from a seed; `random.Random.random` is the one sequence Python promises never to change."""

    def __init__(self, *name: object) -> None:
        digest = hashlib.sha256("/".join(str(part) for part in name).encode()).digest()
        self._random = random.Random(int.from_bytes(digest[:8], "big"))

    def below(self, count: int) -> int:
        """0 to count - 1."""
        return int(self._random.random() * count)

    def several(self, pool: Sequence[str], count: int, without: Sequence[str] = ()) -> list[str]:
        """`count` different words of the pool, in the order drawn, none of them in `without`."""
        left = [word for word in pool if word not in without]
        return [left.pop(self.below(len(left))) for _ in range(count)]


def generate(count: int, *, seed: int, modality: Modality) -> tuple[Case, ...]:
    """The first `count` requests of a seed and modality; asking for more changes none of them."""
    return tuple(_case(index, seed, modality) for index in range(count))


def generate_mixed(count: int, *, seed: int) -> Iterator[Case]:
    """`count` requests one by one: four of text, then two with images, and so on; more of them begin with the same."""
    for index in range(count):
        block, place = divmod(index, TEXT_OF_BLOCK + IMAGE_OF_BLOCK)
        if place < TEXT_OF_BLOCK:
            yield _case(block * TEXT_OF_BLOCK + place, seed, "text")
        else:
            yield _case(block * IMAGE_OF_BLOCK + place - TEXT_OF_BLOCK, seed, "image")


def content_of(case: Case) -> str:
    """What a request is about: equal for two that share state and images, whatever they ask."""
    body = json.loads(case.body)
    about = json.dumps([body["state"], body.get("images", [])], ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(about.encode()).hexdigest()[:16]


def _case(index: int, seed: int, modality: Modality) -> Case:
    group, which = divmod(index, PER_CONTENT)
    recipe = RECIPES[modality][group % len(RECIPES[modality])]
    state_draws = Draws(seed, modality, group)
    words = _words(state_draws)
    request: dict[str, Any] = {"state": _filled(recipe.state, words)}
    if recipe.pictures:
        request["images"] = _pictures(recipe, words, state_draws)
    question, expected = _question(recipe.asks[which], words, Draws(seed, modality, group, which))
    request["questions"] = {recipe.asks[which].name: question}
    body = json.dumps(request, ensure_ascii=False, separators=(",", ":")).encode()
    given = {} if expected is None else {recipe.asks[which].name: expected}
    return Case(f"{modality}-{index:04d}", modality, given, body, compile_questions(request["questions"]))


def _words(draws: Draws) -> dict[str, str]:
    """A word for every slot: "thing2" is another word of the pool "thing" than "thing1"."""
    words: dict[str, str] = {}
    for pool, entries in POOLS.items():
        drawn = draws.several(entries, min(SLOTS, len(entries)))
        words |= {f"{pool}{number}": word for number, word in enumerate(drawn, 1)}
    return words | {f"n{number}": str(draws.below(10)) for number in range(1, 7)}


def _filled(template: Any, words: Mapping[str, str]) -> Any:
    """A state with its slots filled; `<thing1>` stands for a word, so braces of JSON need no escape."""
    if isinstance(template, Mapping):
        return {key: _filled(value, words) for key, value in template.items()}
    if not isinstance(template, str):
        return template
    for name, word in words.items():
        template = template.replace(f"<{name}>", word)
    return template


def _pictures(recipe: Recipe, words: Mapping[str, str], draws: Draws) -> list[str]:
    """Base64 PNG, one a picture; picture i shows colour 2i + 1 large on a ground of colour 2i + 2."""
    drawn = [
        draw(width, height, words[f"colour{2 * number + 2}"], words[f"colour{2 * number + 1}"], draws.below)
        for number, (width, height) in enumerate(recipe.pictures)
    ]
    return [base64.b64encode(data).decode() for data in drawn]


def _question(ask: Ask, words: Mapping[str, str], draws: Draws) -> tuple[dict[str, Any], str | None]:
    """The question object, and the id of the right candidate where the state says it."""
    pool = POOLS.get(ask.pool, ())
    asked: dict[str, str] = {}
    criteria: Any = list(ask.levels)
    expected = None
    if ask.type == "noul":
        criteria = {"true": ask.levels[0], "false": ask.levels[1]}
        if ask.answer:
            asked["asked"], expected = _asked(pool, words[ask.answer], draws)
    elif ask.type == "choice":
        criteria, expected = _options(ask, pool, words.get(ask.answer), draws)
    text = _filled(ask.text, {**words, **asked})
    return {"type": ask.type, "instructions": text, "criteria": criteria}, expected


def _asked(pool: Sequence[str], right: str, draws: Draws) -> tuple[str, str]:
    """The word a noul asks about, as often the right one as another, and the answer."""
    if draws.below(2) == 0:
        return right, "yes"
    return draws.several(pool, 1, without=(right,))[0], "no"


def _options(
    ask: Ask, pool: Sequence[str], right: str | None, draws: Draws
) -> tuple[dict[str, str], str | None]:
    """Criteria of a choice by candidate id, the right one anywhere among them, and its id."""
    if right is None:
        options = draws.several(pool, ask.options)
    else:
        options = draws.several(pool, ask.options - 1, without=(right,))
        options.insert(draws.below(ask.options), right)
    criteria = {f"o{number:02d}": word for number, word in enumerate(options, 1)}
    return criteria, next((name for name, word in criteria.items() if word == right), None)
