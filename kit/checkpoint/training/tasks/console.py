"""Console: rows of services with a status colour: which one is red, is one healthy, which colour has it."""

from __future__ import annotations

import random

from PIL import Image

from kit.checkpoint.training.samples import Sample, Split
from kit.checkpoint.training.tasks.drawing import MARKS, ORDINALS, STATUS, Screen
from kit.checkpoint.training.tasks.parts import Part, choice, single, yes_or_no
from kit.checkpoint.training.vocabulary import Wordings, several

WHICH = Wordings(
    train=("Which service is {colour}?", "Which row is {colour}?", "Which one has a {colour} mark?", "Find the {colour} service.", "What is shown in {colour}?",
           "Which entry of the console is {colour}?", "Pick the service with the {colour} status."),
    calibration=("Which row has a {colour} mark?",), held_out=("Which service has the {colour} mark?", "Pick the row that is shown in {colour}."),
)  # fmt: skip
MEANING = {
    "red": Wordings(train=("Which service has failed?", "Which one is down?", "What must be repaired?", "Which service is broken?"), calibration=("Which service is down?",), held_out=("Which one has failed?", "Which row is broken?")),
    "green": Wordings(train=("Which service is healthy?", "Which one works?", "What is up and well?", "Which one is fine?"), calibration=("Which service works?",), held_out=("Which row is healthy?", "Which service is fine?")),
    "amber": Wordings(train=("Which service has a warning?", "Which one is slow?", "What needs watching?"), calibration=("Which one has a warning?",), held_out=("Which row has a warning?", "Which service is slow?")),
}  # fmt: skip
HEALTHY = Wordings(
    train=("Is {name} healthy?", "Is {name} green?", "Does {name} work?", "Is {name} up and well?", "Does the console show {name} as healthy?"),
    calibration=("Does the console show {name} in green?",), held_out=("Is the service {name} healthy?", "Does {name} have a green mark?"),
)  # fmt: skip
FAILED = Wordings(
    train=("Is {name} red?", "Has {name} failed?", "Is {name} down?", "Does the console show {name} as failed?"),
    calibration=("Does the console show {name} in red?",), held_out=("Is the service {name} down?", "Does {name} have a red mark?"),
)  # fmt: skip
COLOUR = Wordings(
    train=("Which colour has {name}?", "What is the colour of {name}?", "In which colour is {name} shown?", "Status colour of {name}?"),
    calibration=("What colour is {name}?",), held_out=("What is the status colour of {name}?", "Which colour does the row of {name} have?"),
)  # fmt: skip
STATES = Wordings(
    train=("Console, from top to bottom: {names}.", "Services in order: {names}", "Screenshot of the console. Rows: {names}.", "Rows from the top: {names}."),
    calibration=("The rows are {names}.",), held_out=("Console rows from top to bottom: {names}", "Screenshot. The services in order are {names}."),
)  # fmt: skip


def make(rng: random.Random, split: Split, most: int = 10) -> Sample:
    """One sample of two to five rows."""
    return single(rng, "console", split, part(rng, split, most))


def part(rng: random.Random, split: Split, most: int = 10) -> Part:
    """One console and a question about it."""
    names = several(rng, "service", split, rng.randint(2, min(most, 5)))
    kind = rng.choice((_which, _which, _state, _colour))
    return kind(rng, split, names)


def _which(rng: random.Random, split: Split, names: list[str]) -> Part:
    colour = rng.choice(STATUS)
    rest = [item for item in STATUS if item != colour]
    target = rng.randrange(len(names))
    colours = [colour if n == target else rng.choice(rest) for n in range(len(names))]
    asked = MEANING[colour].pick(rng, split) if colour in MEANING and rng.random() < 0.35 else WHICH.pick(rng, split, colour=colour)
    texts = names if rng.random() < 0.6 else [f"the {ORDINALS[n]} row" for n in range(len(names))]
    others = [text for n, text in enumerate(texts) if n != target]
    return Part(_rows(rng, split, names), *choice(rng, asked, texts[target], others), images=[_drawn(rng, split, names, colours)])


def _state(rng: random.Random, split: Split, names: list[str]) -> Part:
    healthy, answer = rng.random() < 0.6, rng.random() < 0.5
    target = rng.randrange(len(names))
    wanted = "green" if healthy else "red"
    colours = [rng.choice(STATUS) for _ in names]
    colours[target] = wanted if answer else rng.choice([item for item in STATUS if item != wanted])
    asked = (HEALTHY if healthy else FAILED).pick(rng, split, name=names[target])
    return Part(_rows(rng, split, names), *yes_or_no(rng, split, asked, answer), images=[_drawn(rng, split, names, colours)])


def _colour(rng: random.Random, split: Split, names: list[str]) -> Part:
    target = rng.randrange(len(names))
    colours = [rng.choice(STATUS) for _ in names]
    rest = [item for item in STATUS if item != colours[target]]
    question = choice(rng, COLOUR.pick(rng, split, name=names[target]), colours[target], rng.sample(rest, rng.randint(1, len(rest))))
    return Part(_rows(rng, split, names), *question, images=[_drawn(rng, split, names, colours)])


def _rows(rng: random.Random, split: Split, names: list[str]) -> object:
    if rng.random() < 0.5:
        return {"screen": "console", "rows": names}
    return STATES.pick(rng, split, names=", ".join(names))


def _drawn(rng: random.Random, split: Split, names: list[str], colours: list[str]) -> Image.Image:
    screen = Screen(rng, split)
    kind, right, cards = rng.choice(MARKS[split]), rng.random() < 0.5, rng.random() < 0.6
    size = rng.choice((14, 16, 18, 20))
    for row, name, colour in zip(screen.rows(len(names), screen.title("console"), screen.height), names, colours, strict=True):
        if cards:
            screen.box(row, screen.theme.card, screen.theme.line)
        else:
            screen.line((row[0], row[3] + 3, row[2], row[3] + 3), screen.theme.line)
        screen.mark(kind, row, screen.theme.status[colour], right)
        screen.text(row[0] + (14 if right else 50), (row[1] + row[3]) / 2, name, size)
    return screen.image
