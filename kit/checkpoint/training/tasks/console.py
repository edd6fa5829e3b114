"""Console: rows of services with a status colour: which one is red, is one healthy, which colour has it."""

from __future__ import annotations

import random

from PIL import Image

from kit.checkpoint.training.samples import Question, Sample, Split
from kit.checkpoint.training.tasks import asking
from kit.checkpoint.training.tasks.drawing import MARKS, STATUS, Screen, colour_word
from kit.checkpoint.training.tasks.parts import Part, choice, single, yes_or_no
from kit.checkpoint.training.tasks.places import Places, places
from kit.checkpoint.training.vocabulary import Wordings, several

LEVELS = 4
LARGE = (0.0, 0.0, 0.0, 0.07)  # the share of large screens, by level
WHICH = Wordings(
    train=("Which service is {colour}?", "Which row is {colour}?", "Which one has a {colour} mark?", "Find the {colour} service.", "What is shown in {colour}?",
           "Which entry of the console is {colour}?", "Pick the service with the {colour} status.", "Which one is {colour}?", "Where is the {colour} mark?",
           "Which row has the {colour} status?", "Find the {colour} row.", "Which service is shown in {colour}?", "One row is {colour}. Which one?", "There is one {colour} mark. Where is it?", "Something is {colour} here. What is it?",
           "Which of the services came up {colour}?", "Which stage is {colour}?"),
    calibration=("Which row has a {colour} mark?",), held_out=("Which service has the {colour} mark?", "One service is {colour}. Which one is it?", "Pick the row that is shown in {colour}.", "Find the row with the {colour} mark."),
)  # fmt: skip
MEANING = {
    "red": Wordings(train=("Which service has failed?", "Which one is down?", "What must be repaired?", "Which service is broken?", "Which row has failed?", "What is down?", "Which one is broken?"), calibration=("Which service is down?",), held_out=("Which one has failed?", "Which row is broken?")),
    "green": Wordings(train=("Which service is healthy?", "Which one works?", "What is up and well?", "Which one is fine?", "Which one is healthy?", "Which row is fine?"), calibration=("Which service works?",), held_out=("Which row is healthy?", "Which service is fine?")),
    "amber": Wordings(train=("Which service has a warning?", "Which one is slow?", "What needs watching?", "Which one has a warning?", "Which row is slow?"), calibration=("Which one needs watching?",), held_out=("Which row has a warning?", "Which service is slow?")),
}  # fmt: skip
HEALTHY = Wordings(
    train=("Is {name} healthy?", "Is {name} green?", "Does {name} work?", "Is {name} up and well?", "Does the console show {name} as healthy?", "Has {name} a green mark?", "Is {name} shown in green?", "Is {name} fine?",
           "Is the status of {name} green?"),
    calibration=("Does the console show {name} in green?",), held_out=("Does {name} have a green mark?", "Is {name} green in the console?"),
)  # fmt: skip
FAILED = Wordings(
    train=("Is {name} red?", "Has {name} failed?", "Is {name} down?", "Does the console show {name} as failed?", "Has {name} a red mark?", "Is {name} shown in red?", "Is {name} broken?", "Is the status of {name} red?"),
    calibration=("Does the console show {name} in red?",), held_out=("Does {name} have a red mark?", "Is {name} red in the console?"),
)  # fmt: skip
COLOUR = Wordings(
    train=("Which colour has {name}?", "What is the colour of {name}?", "In which colour is {name} shown?", "Status colour of {name}?", "What colour does {name} have?", "Which colour is the mark of {name}?",
           "What is the status of {name}?", "Colour of {name}?"),
    calibration=("What colour is {name}?",), held_out=("What is the status colour of {name}?", "Which colour does {name} have?"),
)  # fmt: skip
SCREENS = ("console", "build pipeline", "status page", "dashboard", "deployment console", "list of services")


def make(rng: random.Random, split: Split, level: int = LEVELS - 1) -> Sample:
    """0: which of two rows; 1: three rows, colours, yes or no; 2: five, what a colour means; 3: names of services."""
    return single(rng, "console", split, level, part(rng, split, level))


def part(rng: random.Random, split: Split, level: int = LEVELS - 1) -> Part:
    """One console and a question about it."""
    names = several(rng, "service", split, rng.randint(2, (2, 3, 5, 5)[level]))
    rows = places(rng, split, rng.choice(SCREENS), "row", "from the top", names, level >= 3)
    kind = rng.choice((_which, _which, _state, _colour)[: 2 if level == 0 else 4])
    return kind(rng, split, names, rows, level)


def _which(rng: random.Random, split: Split, names: list[str], rows: Places, level: int) -> Part:
    colour = rng.choice(STATUS)
    rest = [item for item in STATUS if item != colour]
    target = rng.randrange(len(names))
    colours = [colour if n == target else rng.choice(rest) for n in range(len(names))]
    word = colour_word(rng, colour)
    asked = asking.which(rng, split, "row", asking.colour(word), WHICH.pick(rng, split, colour=word))
    if level >= 2 and colour in MEANING and rng.random() < 0.35:
        asked = MEANING[colour].pick(rng, split)
    question, right = rows.which(rng, asked, target, level)
    return _part(rng, split, names, rows, level, colours, question, right)


def _state(rng: random.Random, split: Split, names: list[str], rows: Places, level: int) -> Part:
    healthy, answer = rng.random() < 0.6, rng.random() < 0.5
    target = rng.randrange(len(names))
    wanted = "green" if healthy else "red"
    if rng.random() < 0.3:
        wanted = rng.choice(STATUS)
    colours = [rng.choice(STATUS) for _ in names]
    colours[target] = wanted if answer else rng.choice([item for item in STATUS if item != wanted])
    trait = asking.colour(colour_word(rng, wanted))
    own = {"green": HEALTHY, "red": FAILED}.get(wanted, asking.IS_IT)
    asked = asking.is_it(rng, split, rows.names[target], trait, own.pick(rng, split, name=rows.names[target], does=trait.does[0]))
    question, right = yes_or_no(rng, split, asked, answer, what=rng.choice(trait.what))
    return _part(rng, split, names, rows, level, colours, question, right)


def _colour(rng: random.Random, split: Split, names: list[str], rows: Places, level: int) -> Part:
    target = rng.randrange(len(names))
    colours = [rng.choice(STATUS) for _ in names]
    rest = [colour_word(rng, item) for item in STATUS if item != colours[target]]
    asked = COLOUR.pick(rng, split, name=rows.names[target])
    question, right = choice(rng, asked, colour_word(rng, colours[target]), rng.sample(rest, rng.randint(1, len(rest))))
    return _part(rng, split, names, rows, level, colours, question, right)


def _part(
    rng: random.Random, split: Split, names: list[str], rows: Places, level: int, colours: list[str], question: Question, right: int
) -> Part:
    image = _drawn(rng, split, names, colours, LARGE[level])
    return Part(rows.state, question, right, [image], rows.caption(colours, question, right))


def _drawn(rng: random.Random, split: Split, names: list[str], colours: list[str], large: float) -> Image.Image:
    screen = Screen(rng, split, large=large, least=40 * len(names))
    kind, right, cards = rng.choice(MARKS[split]), rng.random() < 0.5, rng.random() < 0.6
    size = rng.choice((14, 16, 18, 20))
    for row, name, colour in zip(screen.rows(len(names), screen.title("console"), screen.bottom), names, colours, strict=True):
        if cards:
            screen.box(row, screen.theme.card, screen.theme.line)
        else:
            screen.line((row[0], row[3] + 3, row[2], row[3] + 3), screen.theme.line)
        screen.mark(kind, row, screen.theme.status[colour], right)
        screen.text(row[0] + (14 if right else 84 if kind == "block" else 50), (row[1] + row[3]) / 2, name, size)
    return screen.image
