"""How a row, a field, a button or a bar of a screen is called: by its place, or by its name where the state gives it.

Covers: `Places`, the texts of all of them, the state that goes with them, and captions. Does not cover: what is asked.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from kit.checkpoint.training.samples import Question, Split
from kit.checkpoint.training.tasks.asking import written
from kit.checkpoint.training.tasks.parts import choice, listed, told
from kit.checkpoint.training.vocabulary import Wordings

ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth")
TEXTS = Wordings(  # as a candidate
    train=("the {ordinal} {thing}", "the {ordinal} {thing}", "{thing} {n}", "{ordinal}", "the {ordinal} one", "{ordinal} {thing}", "number {n}", "The {ordinal} {thing}", "{n}", "{thing} number {n}", "the {ordinal} of them", "{thing} no {n}", "the {ordinal} {thing} {order}", "it is the {ordinal} {thing}", "#{n}", "{ordinal} {order}", "the {ordinal} of the {thing}s", "that is {thing} {n}", "{ordinal} of {count}", "{n} of {count}"),
    calibration=("the {ordinal}", "{thing} no. {n}"), held_out=("{thing} number {n} of all", "The {ordinal} one", "the {ordinal} {thing} of all", "The {ordinal} {thing} here"),
)  # fmt: skip
NAMES = Wordings(  # within a question
    train=("the {ordinal} {thing}", "the {ordinal} {thing}", "{thing} {n}", "the {ordinal} one", "{thing} number {n}", "the {ordinal} {thing} {order}", "the {ordinal} of the {thing}s", "the {ordinal} of them", "number {n} {order}", "the {thing} that comes {ordinal}", "{thing} {n} of {count}", "the {ordinal} {thing} on the screen"),
    calibration=("the {ordinal}",), held_out=("the {ordinal} {thing} here", "the {ordinal} {thing} of all", "the {ordinal} one {order}"),
)  # fmt: skip
ENDS = 0.12  # the share of train's screens whose first and last are called by where they are
EDGES = {"from the top": (("top", "uppermost", "upper"), ("bottom", "lowest", "last")), "from the left": (("leftmost", "left"), ("rightmost", "right", "last"))}  # fmt: skip
PLAIN = {
    "train": ("", "A screenshot.", "Screenshot of the {screen}.", "The image shows a {screen}.", "See the image.", "{screen}", "A {screen} with {count} {thing}s.", "User sent a picture of the {screen}.", "Here is the {screen}.", "Photo of the {screen}.", "What you see is a {screen}.", "A {screen}.", "This is the {screen} as it is now.", "The {screen} has {count} {thing}s.", "{count} {thing}s", "The operator looks at the {screen}.",
              "We took a picture of the {screen}.", "{Screen}, {count} {thing}s {order}", "A customer sent this {screen}.", "The {screen} is open.", "Seen on the screen: a {screen}.", "Only the picture is given."),
    "calibration": ("Picture of a {screen}.", "A {screen}, see the picture."),
    "held-out": ("A screenshot of a {screen}.", "The image shows the {screen} with {count} {thing}s.", "See the screenshot of the {screen}."),
}  # fmt: skip
LISTS = {
    "train": ("{Screen}, {order}: {names}.", "{thing}s in order: {names}", "Screenshot of the {screen}. {thing}s: {names}.", "{thing}s {order}: {names}.", "A {screen} with the {thing}s {names}, in order.", "{names}",
              "The {screen} shows {names} ({order}).", "Its {thing}s are {names}, {order}.", "{names} are the {thing}s of this {screen}, {order}.", "Here is the {screen} with {names}.", "On the {screen} there are, {order}: {names}.", "{order}: {names}", "{count} {thing}s: {names}.",
              "Photo of the {screen}. In order: {names}.", "The {screen} lists {names}."),
    "calibration": ("The {thing}s are {names}.",),
    "held-out": ("{Screen}, {thing}s {order}: {names}", "Screenshot. The {thing}s in order are {names}."),
}  # fmt: skip


@dataclass(frozen=True)
class Places:
    """texts: what each is called as a candidate, in order; names: within a question. state: lists names that are used.

    plain: those names, or first, second and so on.
    """

    texts: list[str]
    names: list[str]
    state: object
    plain: Sequence[str]

    def caption(self, shown: Sequence[str], question: Question, right: int) -> str:
        """What each of them shows, in order, then the right candidate: the reason of an answer about a screen."""
        return caption(self.plain, shown, told(question, right))

    def which(self, rng: random.Random, asked: str, target: int, level: int) -> tuple[Question, int]:
        """A choice of one of them, in their order at level 0 and half of the time above."""
        if level == 0 or rng.random() < 0.5:
            return listed(rng, asked, self.texts), target
        return choice(rng, asked, self.texts[target], [text for n, text in enumerate(self.texts) if n != target])


def places(
    rng: random.Random, split: Split, screen: str, thing: str, order: str, names: Sequence[str], by_name: bool
) -> Places:
    """order: "from the top", "from the left". by_name: whether the state may list names, which are then used mostly."""
    fields = {"screen": screen, "Screen": screen.capitalize(), "thing": thing, "order": order, "count": len(names)}
    plain: Sequence[str] = ORDINALS[: len(names)]
    texts, called = by_place(rng, split, TEXTS, fields), by_place(rng, split, NAMES, fields)
    if split == "train" and rng.random() < ENDS:
        texts = by_end(rng, fields)
        called = texts if rng.random() < 0.5 else called
    if by_name and rng.random() < 0.65:
        state: object = written(rng.choice(LISTS[split]).format(names=", ".join(names), **fields))
        if rng.random() < 0.4:
            state = {"screen": screen, f"{thing}s": list(names)}
        if rng.random() < 0.75:
            texts = called = plain = list(names)
    else:
        state = written(rng.choice(PLAIN[split]).format(**fields))
        if rng.random() < 0.2:
            state = {"screen": screen}
    return Places(texts, called, state, plain)


def caption(names: Sequence[str], shown: Sequence[str], right: str) -> str:
    """What there is, in order, and what follows from it."""
    return f"{', '.join(f'{name} {what}' for name, what in zip(names, shown, strict=False))}: {right}"


def by_place(rng: random.Random, split: Split, wordings: Wordings, fields: dict[str, Any]) -> list[str]:
    """The first, the second and so on, in one wording; fields: those of `places`."""
    form = rng.choice(wordings.of(split))
    return [form.format(ordinal=ORDINALS[n], n=n + 1, **fields) for n in range(fields["count"])]


def by_end(rng: random.Random, fields: dict[str, Any]) -> list[str]:
    """The top one, the second and so on, the bottom one; or the left and the right; three have one in the middle at times."""
    count, thing = fields["count"], rng.choice((fields["thing"], "one"))
    first, last = (rng.choice(group) for group in EDGES[fields["order"]])
    middle = ["middle"] if count == 3 and rng.random() < 0.5 else list(ORDINALS[1 : count - 1])
    return [f"the {word} {thing}" for word in (first, *middle, last)]
