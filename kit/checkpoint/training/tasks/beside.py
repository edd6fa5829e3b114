"""Beside: a state of text with screens beside it; the question is about the text, or about a screen.

Covers: questions of the text families while an image is there that does not matter, and of the screens while a text stands
there that does not, a long document at the last level. Does not cover: questions that need both.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

from PIL import Image

from kit.checkpoint.training.samples import Sample, Split
from kit.checkpoint.training.tasks import (
    chart,
    console,
    count,
    dialog,
    document,
    facts,
    form,
    lookup,
    match,
    numbers,
    policy,
    prose,
    route,
    score,
    triage,
)
from kit.checkpoint.training.tasks.parts import Part, single

LEVELS = 4  # up to 2 the easier ones of the others, then long documents
TEXTS = (facts, lookup, match, numbers, policy, route, score, triage)
SHOWN = (console, form, dialog, count, chart)
ROOM = 524_288  # pixels of two screens: 2,048 patches
BESIDE_LONGEST = 163_840  # pixels beside the longest documents: 160 tokens
KEYS = ("note", "text", "record", "message", "case", "entry", "request", "given", "details", "input", "document")
BESIDE = ("screen", "screenshot", "image", "picture", "seen", "photo", "shown", "attached", "view", "camera")


def make(rng: random.Random, split: Split, level: int = LEVELS - 1) -> Sample:
    """0: the text as the whole state; 1: beside words on the screen; 2: two screens, a longer text; 3: a long document."""
    return single(rng, "beside", split, level, part(rng, split, level))


def part(rng: random.Random, split: Split, level: int = LEVELS - 1) -> Part:
    """A text and a screen or two, and a question about one of them."""
    screen: Part = rng.choice(SHOWN).part(rng, split, min(level, 2))
    images = list(screen.images)
    about_text = rng.random() < (0.6 if level > 2 else 0.5)
    if about_text and level > 1 and rng.random() < 0.4:
        more = [*images, *rng.choice(SHOWN).part(rng, split, 2).images]
        images = more if _pixels(more) <= ROOM else images
    if level > 2:
        text = document.part(rng, split, rng.choice((2, 3, 3, 4 if _pixels(images) <= BESIDE_LONGEST else 3)))
    else:
        text = rng.choice(TEXTS).part(rng, split, level)
    if about_text:
        state = text.state if level == 0 or rng.random() < 0.4 else _both(rng, text.state, screen.state)
        return Part(state, text.question, text.right, images, text.reason)
    short = rng.random() < (0.2 if level > 2 else 0.5)
    aside: object = prose.around(rng, split, prose.sentence(rng, split), rng.randint(0, 3)) if short else text.state
    return replace(screen, state=_both(rng, aside, screen.state))


def _pixels(images: Sequence[Image.Image]) -> int:
    return sum(image.width * image.height for image in images)


def _both(rng: random.Random, text: object, screen: object) -> object:
    """One state of both, the text first half of the time."""
    rows: list[tuple[str, object]] = [(rng.choice(KEYS), text), (rng.choice(BESIDE), screen)]
    if rng.random() < 0.5:
        rows.reverse()
    return dict(rows)
