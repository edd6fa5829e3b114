"""Console: rows of services with a status colour: which one is red, is one healthy, which colour has it."""

from __future__ import annotations

import random
from dataclasses import dataclass

from PIL import Image

from kit.checkpoint.training.samples import Question, Sample, Split
from kit.checkpoint.training.tasks import asking
from kit.checkpoint.training.tasks.drawing import (
    MARKS,
    STATUS,
    Box,
    Colour,
    Screen,
    colour_word,
    mixed,
    readable,
)
from kit.checkpoint.training.tasks.parts import Part, choice, single, yes_or_no
from kit.checkpoint.training.tasks.places import Places, places
from kit.checkpoint.training.vocabulary import Wordings, several

LEVELS = 4
LARGE = (0.0, 0.0, 0.03, 0.22)  # the share of large screens, by level
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
VARIED = 0.75  # the share of train's screens whose layout is drawn at random
KINDS = ("dot", "dot", "pill", "chip", "slab", "word", "fill", "frame", "ink", "under", "edge", "edge")
TOLD = ("state", "info", "mark", "no. 1", "see", "note", "status", "-")  # inside a mark, the same for every colour
SCREENS = ("console", "build pipeline", "status page", "dashboard", "deployment console", "list of services")


@dataclass(frozen=True)
class _Look:
    """Of all marks of one console. at: where along a row, from 0; share: of the row's height on either side."""

    kind: str
    at: float
    share: float
    size: int
    thick: int
    outlined: bool


def make(rng: random.Random, split: Split, level: int = LEVELS - 1) -> Sample:
    """0: which of two rows; 1: three rows, colours, yes or no; 2: five, what a colour means; 3: names of services."""
    return single(rng, "console", split, level, part(rng, split, level))


def part(rng: random.Random, split: Split, level: int = LEVELS - 1) -> Part:
    """One console and a question about it."""
    names = several(rng, "service", split, rng.randint(2, (2, 3, 5, 5)[level]))
    rows = places(rng, split, rng.choice(SCREENS), "row", "from the top", names, level >= 3)
    if level > 0 and rng.random() < asking.QUANTIFIED[split]:
        return _quantified(rng, split, names, rows, level)
    if level > 0 and len(names) > 2 and rng.random() < asking.UNLIKE[split]:
        return _only(rng, split, names, rows, level)
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


def _only(rng: random.Random, split: Split, names: list[str], rows: Places, level: int) -> Part:
    """All but one have a colour: which one has not."""
    colour, target = rng.choice(STATUS), rng.randrange(len(names))
    other = rng.choice([item for item in STATUS if item != colour])
    colours = [other if n == target else colour for n in range(len(names))]
    asked = asking.only(rng, split, "row", asking.not_colour(colour_word(rng, colour)))
    question, right = rows.which(rng, asked, target, level)
    return _part(rng, split, names, rows, level, colours, question, right)


def _quantified(rng: random.Random, split: Split, names: list[str], rows: Places, level: int) -> Part:
    """Whether any, every one or none has a colour."""
    colour = rng.choice(STATUS)
    has, word = rng.random() < 0.85, colour_word(rng, colour)
    trait = asking.colour(word) if has else asking.not_colour(word)
    question, right, which_so = asking.quantified(rng, split, "row", trait, len(names))
    rest = [item for item in STATUS if item != colour]
    colours = [colour if so is has else rng.choice(rest) for so in which_so]
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
    name = rows.names[target]
    asked = asking.colour_of(rng, split, name, COLOUR.pick(rng, split, name=name))
    question, right = choice(rng, asked, colour_word(rng, colours[target]), rng.sample(rest, rng.randint(1, len(rest))))
    return _part(rng, split, names, rows, level, colours, question, right)


def _part(
    rng: random.Random, split: Split, names: list[str], rows: Places, level: int, colours: list[str], question: Question, right: int
) -> Part:
    image = drawn(rng, split, names, colours, LARGE[level])
    return Part(rows.state, question, right, [image], rows.caption(colours, question, right))


def drawn(rng: random.Random, split: Split, names: list[str], colours: list[str], large: float, size: tuple[int, int] | None = None) -> Image.Image:
    """The console, in train mostly in a layout that no other has. size: one that is asked for."""
    if size or (split == "train" and rng.random() < VARIED):
        return _varied(rng, split, names, colours, large, size)
    return _plain(rng, split, names, colours, large)


def _varied(rng: random.Random, split: Split, names: list[str], colours: list[str], large: float, size: tuple[int, int] | None) -> Image.Image:
    """Rows of any height, gap and frame, with a mark of any kind and size at one place of all rows."""
    least = 26 * len(names)
    screen = Screen(rng, split, size, large, least + 20)
    left, top, right, bottom = screen.dress(least)
    step = rng.uniform(min(rng.uniform(26, 80), (bottom - top) / len(names)), (bottom - top) / len(names))
    top += rng.choice((0, rng.random(), 1)) * max(bottom - top - step * len(names), 0)
    gap = rng.uniform(0, min(14, step * 0.25))
    kind, frame = rng.choice(KINDS), rng.choice(("none", "none", "line", "card", "card", "framed", "striped"))
    look = _Look(kind, rng.choice((0.0, 0.0, 1.0, 1.0, rng.random())), rng.uniform(0.22, 0.5), rng.randint(12, 26), rng.randint(2, 6), rng.random() < 0.2)
    fill, edge, radius = mixed(screen.theme.card, screen.theme.ink, rng.uniform(0, 0.1)), mixed(screen.theme.page, screen.theme.ink, rng.uniform(0.15, 0.6)), rng.choice((0, 0, rng.randint(2, 12)))
    thick, aside = rng.randint(1, 3), rng.random() < 0.3
    for n, (name, colour) in enumerate(zip(names, colours, strict=True)):
        row = (left, top + step * n, right, top + step * (n + 1) - gap)
        if frame in ("card", "framed") or (frame == "striped" and n % 2):
            screen.box(row, None if frame == "framed" else fill, edge if frame == "framed" or thick == 2 else None, thick, radius if row[3] - row[1] > 2 * radius + 2 else 0)
        elif frame == "line":
            screen.line((left, row[3], right, row[3]), edge, thick)
        _row(screen, row, name, screen.theme.status[colour], look, aside)
    if bottom - top - step * len(names) > 30 and rng.random() < 0.5:
        screen.strokes((left, top + step * len(names) + 10, right, bottom))
    return screen.image


def _row(screen: Screen, row: Box, name: str, colour: Colour, look: _Look, aside: bool) -> None:
    """One row: its mark, its name, and at times strokes or a number that say nothing. aside: whether there are such."""
    rng, (left, top, right, bottom) = screen.rng, row
    tall, middle = bottom - top, (top + bottom) / 2
    ink, pad = screen.theme.ink, 6
    begin, end = left + pad, right - pad
    if look.kind == "fill":
        screen.box(row, colour, ink if look.outlined else None, 1, min(look.thick * 2, int(tall / 2 - 1)))
        ink = readable(colour)
    elif look.kind == "frame":
        screen.box(row, None, colour, look.thick)
        begin, end = begin + look.thick, end - look.thick
    elif look.kind == "ink":
        ink = colour
    elif look.kind == "under":
        screen.box((left + pad, bottom - look.thick - 4, right - pad, bottom - 2), colour)
    elif look.kind == "edge":
        side = max(look.thick * 3, int((right - left) * 0.06))
        first = look.at < 0.5
        screen.box((left, top, left + side, bottom) if first else (right - side, top, right, bottom), colour)
        begin, end = (begin + side, end) if first else (begin, end - side)
    else:
        r = min(max(tall * look.share, 6), 30, tall / 2)
        wide = {"dot": r, "chip": r}.get(look.kind, min(r * 2.2, (right - left) * 0.16))
        x = begin + wide + look.at * (end - begin - 2 * wide) if look.at in (0, 1) else begin + (end - begin) * (0.45 + 0.4 * look.at)
        x = min(x, end - wide)
        box = (x - wide, middle - r, x + wide, middle + r)
        screen.box(box, colour, ink if look.outlined else None, 1, 0 if look.kind == "slab" else int(r * 0.3) if look.kind == "chip" else int(r))
        if look.kind == "word" and r >= 7:
            screen.fitted((box[0] + 3, box[1], box[2] - 2, box[3]), rng.choice(TOLD), 13, readable(colour), 0.5)
        if look.at == 0:
            begin = box[2] + 8
        else:
            end = box[0] - 6
    if aside and end - begin > 130:
        if rng.random() < 0.5:
            screen.fitted((end - 44, top, end, bottom), str(rng.randint(0, 9999)), 12, mixed(screen.theme.page, ink, 0.6), 1)
        else:
            screen.strokes((end - 44, middle - 6, end, middle + 8), 2)
        end -= 50
    screen.fitted((begin, top, end, bottom), name, look.size, ink)


def _plain(rng: random.Random, split: Split, names: list[str], colours: list[str], large: float) -> Image.Image:
    screen = Screen(rng, split, large=large, least=40 * len(names))
    kind, right, cards = rng.choice(MARKS[split]), rng.random() < 0.5, rng.random() < 0.6
    size = rng.choice((14, 16, 18, 20))
    for row, name, colour in zip(screen.rows(len(names), screen.title("console"), screen.bottom), names, colours, strict=True):
        if cards:
            screen.box(row, screen.theme.card, screen.theme.line)
        else:
            screen.line((row[0], row[3] + 3, row[2], row[3] + 3), screen.theme.line)
        screen.mark(kind, row, screen.theme.status[colour], right)
        left = row[0] + (14 if right else 84 if kind == "block" else 50)
        if split == "train":
            screen.fitted((left, row[1], row[2], row[3]), name, size)
        else:
            screen.text(left, (row[1] + row[3]) / 2, name, size)
    return screen.image
