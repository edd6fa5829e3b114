"""Form: fields that are filled, empty or marked wrong: which one is wrong, is one filled, how many are empty."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from PIL import Image

from kit.checkpoint.training.samples import Sample, Split
from kit.checkpoint.training.tasks import asking
from kit.checkpoint.training.tasks.drawing import Box, Colour, Screen, mixed, neutral
from kit.checkpoint.training.tasks.parts import Part, score, single, yes_or_no
from kit.checkpoint.training.tasks.places import places
from kit.checkpoint.training.vocabulary import Wordings, code, several, word, written

LEVELS = 4
LARGE = (0.0, 0.0, 0.03, 0.22)  # the share of large screens, by level
LAYOUTS = {"train": ("framed", "filled", "thick", "beside", "beside", "tinted", "ruled", "barred", "flagged"), "calibration": ("rounded",), "held-out": ("underlined", "double")}
WRONG = Wordings(
    train=("Which field is wrong?", "Which field has an error?", "Which field is marked red?", "Find the field with the red frame.", "What must be corrected?", "Which field is red?", "Where is the error?",
           "Which one is marked as wrong?", "Which field has a problem?", "Find the error.", "Which field has to be corrected?", "A field is marked red. Which one?", "There is one error. Where is it?", "Which one has the red frame?"),
    calibration=("Which field has a red frame?",), held_out=("Which field is marked as wrong?", "Which field must be corrected?", "Find the field with the error."),
)  # fmt: skip
FILLED = Wordings(
    train=("Is {name} filled in?", "Does {name} hold a value?", "Has {name} been filled?", "Is there something in {name}?", "Is {name} filled?", "Does {name} have a value?", "Has {name} been filled in?", "Did somebody fill in {name}?"),
    calibration=("Is there a value in {name}?",), held_out=("Does {name} hold something?", "Did somebody fill {name}?"),
)  # fmt: skip
EMPTY = Wordings(
    train=("Is {name} empty?", "Is {name} still empty?", "Is nothing in {name}?", "Has {name} no value?", "Is {name} without a value?", "Is there nothing in {name}?", "Is {name} left empty?"),
    calibration=("Is {name} an empty field?",), held_out=("Has {name} been left empty?", "Is nothing at all in {name}?"),
)  # fmt: skip
BLANK = Wordings(
    train=("Which field is empty?", "Which field is still empty?", "Which one is not filled in?", "Which field has no value?", "Find the empty field.", "What is missing?", "One field is empty. Which one?", "Where is nothing written?"),
    calibration=("Which one is empty?",), held_out=("Which field was left empty?", "Find the field without a value.", "Which of the fields is empty?"),
)  # fmt: skip
MANY = Wordings(
    train=("How many fields are empty?", "Count the empty fields.", "How many fields hold nothing?", "How many fields have no value?", "Number of empty fields?", "How many are still empty?", "How many fields are not filled in?"),
    calibration=("How many are empty?",), held_out=("How many of the fields are empty?", "Count the fields that hold nothing."),
)  # fmt: skip
SCREENS = ("form", "sign-up form", "web form", "order form")
QUANTIFIED = 0.5  # in place of a kind: what is asked of all fields, or of the only one
NOT_FILLED = asking.unlike(("is filled in", "has a value", "is filled", "contains something"), ("are filled in",), "filled in")
VARIED = 0.8  # the share of train's screens whose layout is drawn at random
FRAMES = ("framed", "framed", "filled", "filled", "both", "ruled", "barred", "sided", "corners")
LABELS = ("above", "above", "beside", "beside", "apart", "inside", "after")
EXTRAS = ("label", "tint", "flag", "badge")  # what is red of a wrong field, beside its frame
SIGNS_AT_END = ("", "", "", "down", "bars", "box")


@dataclass(frozen=True)
class _Look:
    """Of all fields of one form. share: of the width that labels take beside them; small, size: of labels and values."""

    label: str
    frame: str
    gap: float
    share: float
    small: int
    size: int
    thick: int
    radius: int
    fill: Colour
    edge: Colour
    at: float
    extras: Sequence[str]
    sign: str
    star: str


def make(rng: random.Random, split: Split, level: int = LEVELS - 1) -> Sample:
    """0: which of two fields is wrong; 1: is one filled, which is empty; 2: three fields; 3: four, names, how many are empty."""
    return single(rng, "form", split, level, part(rng, split, level))


def part(rng: random.Random, split: Split, level: int = LEVELS - 1) -> Part:
    """One form and a question about it."""
    names = several(rng, "text key", split, rng.randint(2, (2, 2, 3, 4)[level]))
    fields = places(rng, split, rng.choice(SCREENS), "field", "from the top", names, level >= 3)
    filled = [rng.random() < 0.5 for _ in names]
    wrong = rng.randrange(len(names))
    kind = rng.random() * (0.3, 0.85, 0.85, 1.0)[level]
    if level > 0 and rng.random() < asking.QUANTIFIED[split]:
        kind = QUANTIFIED
        full = rng.random() < 0.5
        trait = asking.FILLED if full else asking.BLANK
        question, right, which_so = asking.quantified(rng, split, "field", trait, len(names))
        filled = [so is full for so in which_so]
    elif level > 0 and len(names) > 2 and rng.random() < asking.UNLIKE[split]:
        kind = QUANTIFIED
        odd, full = rng.randrange(len(names)), rng.random() < 0.5
        filled = [(n == odd) is full for n in range(len(names))]
        question, right = fields.which(rng, asking.only(rng, split, "field", asking.FILLED if full else NOT_FILLED), odd, level)
    elif kind < 0.3:
        question, right = fields.which(rng, asking.which(rng, split, "field", asking.WRONG, WRONG.pick(rng, split)), wrong, level)
    elif kind < 0.45:
        empty = rng.randrange(len(names))
        filled = [n != empty for n in range(len(names))]
        question, right = fields.which(rng, asking.which(rng, split, "field", asking.BLANK, BLANK.pick(rng, split)), empty, level)
    elif kind < 0.85:
        target, answer, asks_filled = rng.randrange(len(names)), rng.random() < 0.5, rng.random() < 0.5
        filled[target] = answer if asks_filled else not answer
        name, trait = fields.names[target], asking.FILLED if asks_filled else asking.BLANK
        asked = asking.is_it(rng, split, name, trait, (FILLED if asks_filled else EMPTY).pick(rng, split, name=name))
        question, right = yes_or_no(rng, split, asked, answer, what=rng.choice(trait.what))
    else:
        right = rng.randint(0, len(names))
        filled = [n >= right for n in range(len(names))]
        rng.shuffle(filled)
        unit = rng.choice(("{n}", "{n} empty"))
        question = score(asking.how_many(rng, split, "field", asking.BLANK, MANY.pick(rng, split)), [unit.format(n=n) for n in range(len(names) + 1)])
    marked = wrong if rng.random() < 0.5 or kind < 0.3 else -1
    shown = [("filled" if full else "empty") + (" wrong" if n == marked else "") for n, full in enumerate(filled)]
    image = drawn(rng, split, names, filled, marked, LARGE[level])
    return Part(fields.state, question, right, [image], fields.caption(shown, question, right))


def drawn(
    rng: random.Random, split: Split, names: list[str], filled: list[bool], wrong: int, large: float, size: tuple[int, int] | None = None
) -> Image.Image:
    """The form, in train mostly in a layout that no other has. size: one that is asked for."""
    if size or (split == "train" and rng.random() < VARIED):
        return _varied(rng, split, names, filled, wrong, large, size)
    return _plain(rng, split, names, filled, wrong, large)


def _varied(
    rng: random.Random, split: Split, names: list[str], filled: list[bool], wrong: int, large: float, size: tuple[int, int] | None
) -> Image.Image:
    """Fields of any height, gap and frame; labels above, beside, apart, inside or after them; values of any kind."""
    label = rng.choice(LABELS)
    least = (34 if label in ("above", "inside") else 24) * len(names)
    screen = Screen(rng, split, size, large, least + 16)
    left, top, right, bottom = screen.dress(least, ("blue", "green", "grey"))
    step = rng.uniform(min(least / len(names) + rng.uniform(0, 30), (bottom - top) / len(names)), (bottom - top) / len(names))
    top += rng.choice((0, rng.random(), 1)) * max(bottom - top - step * len(names), 0)
    if rng.random() < 0.3 and right - left > 220:
        right -= rng.uniform(0, 0.3) * (right - left)
    if right - left < 220 and label not in ("above", "inside"):
        label = "above" if step > 34 else "beside"
    theme = screen.theme
    if rng.random() < 0.3:
        screen.box((left - 2, top - 2, right + 2, top + step * len(names)), theme.card)
    look = _Look(
        label, rng.choice(FRAMES), rng.uniform(2, min(14, step * 0.2)), rng.uniform(0.25, 0.42), rng.randint(11, 17), rng.randint(12, 26),
        rng.choice((1, 1, 2, 3)), rng.choice((0, 0, rng.randint(2, 14))), mixed(theme.card, theme.ink, rng.choice((0, rng.uniform(0, 0.16)))),
        mixed(theme.page, theme.ink, rng.uniform(0.18, 0.8)), rng.choice((0.0, 0.0, 0.0, 0.5, 1.0)), rng.sample(EXTRAS, rng.choice((0, 0, 1, 2))), rng.choice(SIGNS_AT_END), rng.choice(("", "", "", " *", ":")),
    )  # fmt: skip
    for n, name in enumerate(names):
        _field(screen, (left, top + step * n, right, top + step * (n + 1) - look.gap), name, filled[n], n == wrong, look)
    if bottom - top - step * len(names) > 24 and rng.random() < 0.5:
        low = top + step * len(names) + 4
        screen.box((left, low, left + rng.uniform(40, 110), min(low + rng.uniform(16, 30), bottom)), neutral(rng, theme))
    return screen.image


def _field(screen: Screen, row: Box, name: str, full: bool, wrong: bool, look: _Look) -> None:
    """A label and its field; wrong: red at its frame, and in what `extras` says."""
    (left, top, right, bottom), theme, rng = row, screen.theme, screen.rng
    red, name = theme.status["red"], name + look.star
    ink = red if wrong and "label" in look.extras else theme.ink
    aside = (right - left) * look.share
    inside = look.label == "inside"
    if look.label == "above":
        low = top + look.small + 3
        screen.fitted((left, top, right, low), name, look.small, ink)
        box = (left, low, right, bottom)
    elif look.label in ("beside", "apart"):
        screen.fitted((left, top, left + aside - 5, bottom), name, look.small, ink, 1 if look.label == "apart" else 0)
        box = (left + aside, top, right, bottom)
    elif look.label == "after":
        screen.fitted((right - aside + 5, top, right, bottom), name, look.small, ink)
        box = (left, top, right - aside, bottom)
    else:
        box = row
    inner = _frame(screen, box, wrong, look)
    if inside:
        tall = max((inner[3] - inner[1]) * 0.4, 12)
        screen.fitted((inner[0], inner[1], inner[2], inner[1] + tall), name, min(look.small, 13), ink)
        inner = (inner[0], inner[1] + tall - 2, inner[2], inner[3])
    if look.sign:
        _end(screen, inner, look.sign, mixed(theme.page, theme.ink, 0.5))
        inner = (inner[0], inner[1], inner[2] - 18, inner[3])
    if full:
        _value(screen, inner, look, rng.choice((theme.ink, theme.ink, mixed(theme.page, theme.ink, 0.75))))


def _frame(screen: Screen, box: Box, wrong: bool, look: _Look) -> Box:
    """The field without its value, and where a value may stand."""
    (left, top, right, bottom), red = box, screen.theme.status["red"]
    edge, thick = (red, look.thick + screen.rng.randint(1, 3)) if wrong else (look.edge, look.thick)
    fill = mixed(look.fill, red, 0.15) if wrong and "tint" in look.extras else look.fill
    radius = min(look.radius, int((bottom - top) / 2 - 1))
    if look.frame in ("framed", "both", "filled"):
        seen = wrong or look.frame != "filled"
        screen.box(box, None if look.frame == "framed" and "tint" not in look.extras else fill, edge if seen else None, thick, radius)
    elif look.frame == "ruled":
        screen.box((left, top, right, top + thick + 1), edge)
    elif look.frame == "barred":
        screen.box(box, fill)
        screen.box((left, top, left + thick + 2, bottom), edge)
    elif look.frame == "sided":
        screen.box((left, top, left + thick, bottom), edge)
        screen.box((right - thick, top, right, bottom), edge)
    else:
        arm = min(12, (bottom - top) / 2)
        for x, y, u, v in ((left, top, 1, 1), (right, top, -1, 1), (left, bottom, 1, -1), (right, bottom, -1, -1)):
            screen.line((x, y, x + u * arm, y), edge, thick + 1)
            screen.line((x, y, x, y + v * arm), edge, thick + 1)
    if wrong and "flag" in look.extras:
        wide = min(26, (right - left) * 0.15)
        screen.box((right - wide, top, right, bottom), red)
        right -= wide
    if wrong and "badge" in look.extras:
        r = min(9, (bottom - top) / 2 - 3)
        middle = (top + bottom) / 2
        screen.sign("circle", (right - r - 6, middle), (r, r), red)
        screen.fitted((right - r - 8, middle - r, right - r - 2, middle + r), "!", 13, (255, 255, 255), 0.5)
        right -= 2 * r + 8
    return left + thick + 5, top + thick, right - thick - 5, bottom - thick


def _value(screen: Screen, inner: Box, look: _Look, ink: Colour) -> None:
    """Words, digits, a date, a code or dots."""
    rng = screen.rng
    kind = rng.random()
    if kind < 0.15:
        radius = min(rng.uniform(2, 5), (inner[3] - inner[1]) / 2 - 1)
        screen.dots(inner[0], (inner[1] + inner[3]) / 2, min(rng.randint(4, 9), int((inner[2] - inner[0]) / (3 * radius))), radius, ink)
        return
    if kind < 0.55:
        text = word(rng, rng.choice(("value", "person", "place", "noun")), screen.split)
        text = f"{text} {screen.words()}" if rng.random() < 0.3 else text
    elif kind < 0.75:
        text = str(rng.randrange(10 ** rng.randint(1, 6)))
    elif kind < 0.85:
        text = f"{rng.randint(1, 28)}.{rng.randint(1, 12)}.{rng.randint(1990, 2040)}"
    else:
        text = code(rng) if rng.random() < 0.5 else written(rng, screen.split)
    screen.fitted(inner, text, look.size, ink, look.at)


def _end(screen: Screen, inner: Box, sign: str, colour: Colour) -> None:
    """A small sign at the end of every field, filled or not: it is no value."""
    x, y = inner[2] - 7, (inner[1] + inner[3]) / 2
    if sign == "down":
        screen.line((x - 5, y - 2, x, y + 3), colour, 2)
        screen.line((x, y + 3, x + 5, y - 2), colour, 2)
    elif sign == "bars":
        for n in (-4, 0, 4):
            screen.line((x - 5, y + n, x + 5, y + n), colour)
    else:
        screen.box((x - 5, y - 5, x + 5, y + 5), None, colour)


def _plain(rng: random.Random, split: Split, names: list[str], filled: list[bool], wrong: int, large: float) -> Image.Image:
    screen = Screen(rng, split, large=large, least=56 * len(names))
    layout = rng.choice(LAYOUTS[split])
    theme, aside = screen.theme, rng.choice((60, 74, 90))
    for n, (left, top, right, bottom) in enumerate(screen.rows(len(names), screen.title("form"), screen.bottom, 4)):
        edge = theme.status["red"] if n == wrong else theme.line
        if layout == "beside":
            left, top = left + aside, top - 15
            screen.text(left - aside + 4, (top + 19 + bottom) / 2, names[n][: aside // 8], rng.choice((12, 14)), theme.status["red"] if n == wrong else None)
        else:
            screen.text(left, top + 9, names[n], 14, theme.status["red"] if n == wrong else None)
        frame = (left, top + 19, right, bottom)
        thick = 4 if n == wrong else 1
        if layout == "underlined":
            screen.box((left, bottom - 2 - thick, right, bottom), edge)
        elif layout == "ruled":
            screen.box((left, top + 19, right, top + 21 + thick), edge)
        elif layout == "barred":
            screen.box((left, top + 19, left + 2 + thick, bottom), edge)
        else:
            radius = {"framed": 0, "filled": 3, "thick": 2, "rounded": 10, "double": 6, "beside": 0, "tinted": 2, "flagged": 0}[layout]
            fill = mixed(theme.card, edge, 0.15) if layout == "tinted" and n == wrong else theme.card
            screen.box(frame, fill, edge, thick + (layout == "thick"), radius)
        if layout == "flagged" and n == wrong:
            screen.box((right - 26, top + 19, right, bottom), edge)
        if layout == "double":
            screen.box((left + 4, top + 23, right - 4, bottom - 4), None, edge, 2 if n == wrong else 1, 4)
        if filled[n]:
            middle = (top + 19 + bottom) / 2
            value = word(rng, rng.choice(("value", "person", "place")), split)
            screen.text(left + 12, middle, value, min(rng.choice((15, 19, 24)), int(bottom - top - 22)))
    return screen.image

