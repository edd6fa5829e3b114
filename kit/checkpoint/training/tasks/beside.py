"""Beside: a state of text with screens beside it; the question is about the text, or about a screen.

Covers: questions of the text families while an image is there that does not matter, and of the screens while a text stands
there that does not. Does not cover: questions that need both.
"""

from __future__ import annotations

import random
from dataclasses import replace

from kit.checkpoint.training.samples import Sample, Split
from kit.checkpoint.training.tasks import (
    chart,
    console,
    count,
    dialog,
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

LEVELS = 3  # the easier ones of the others: their longest texts leave no room beside a screen
TEXTS = (facts, lookup, match, numbers, policy, route, score, triage)
SHOWN = (console, form, dialog, count, chart)
ROOM = 524_288  # pixels of two screens: 2,048 patches
KEYS = ("note", "text", "record", "message", "case", "entry", "request", "given", "details", "input", "document")
BESIDE = ("screen", "screenshot", "image", "picture", "seen", "photo", "shown", "attached", "view", "camera")


def make(rng: random.Random, split: Split, level: int = LEVELS - 1) -> Sample:
    """0: the text as the whole state; 1: beside words on the screen; 2: two screens, a longer text."""
    return single(rng, "beside", split, level, part(rng, split, level))


def part(rng: random.Random, split: Split, level: int = LEVELS - 1) -> Part:
    """A text and a screen or two, and a question about one of them."""
    text: Part = rng.choice(TEXTS).part(rng, split, level)
    screen: Part = rng.choice(SHOWN).part(rng, split, level)
    images = list(screen.images)
    if rng.random() < 0.5:
        if level == 2 and rng.random() < 0.4:
            more = [*images, *rng.choice(SHOWN).part(rng, split, level).images]
            images = more if split != "train" or sum(image.width * image.height for image in more) <= ROOM else images
        state = text.state if level == 0 or rng.random() < 0.4 else _both(rng, text.state, screen.state)
        return Part(state, text.question, text.right, images, text.reason)
    aside: object = prose.around(rng, split, prose.sentence(rng, split), rng.randint(0, 3)) if rng.random() < 0.5 else text.state
    return replace(screen, state=_both(rng, aside, screen.state))


def _both(rng: random.Random, text: object, screen: object) -> object:
    """One state of both, the text first half of the time."""
    rows: list[tuple[str, object]] = [(rng.choice(KEYS), text), (rng.choice(BESIDE), screen)]
    if rng.random() < 0.5:
        rows.reverse()
    return dict(rows)
