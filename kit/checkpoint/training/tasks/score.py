"""Score: the level of a scale that a clear cue in the state belongs to, on two to six levels."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from kit.checkpoint.training.samples import Sample, Split
from kit.checkpoint.training.tasks.parts import Part, score, sentence_case, single
from kit.checkpoint.training.vocabulary import Wordings, code, several, word


@dataclass(frozen=True)
class Level:
    """One level of a scale. said: how its candidate reads. cues: what a state says when it applies."""

    said: tuple[str, ...]
    cues: Wordings


@dataclass(frozen=True)
class Scale:
    """Levels from the least to the most, and how it is asked for."""

    ask: Wordings
    levels: tuple[Level, ...]


def level(said: str, train: str, calibration: str, held_out: str) -> Level:
    """A level from texts whose alternatives are separated by `|`."""
    return Level(tuple(said.split("|")), Wordings(*(tuple(text.split("|")) for text in (train, calibration, held_out))))


SCALES = (
    Scale(
        Wordings(
            train=("Rate the severity.", "How severe is this?", "How bad is the incident?", "Severity of the problem?",
                   "Score how serious it is.", "Which severity fits?"),
            calibration=("How serious is the problem?",), held_out=("Rate how bad this is.", "What is the severity of this incident?"),
        ),
        (
            level("Cosmetic: nobody is held up|Only looks wrong", "a colour is off, nobody is held up|a typing error in a heading, all works|a small icon is cut off, work goes on",
                  "a heading looks wrong, nobody is held up", "an icon has the wrong colour, all works|a typing error, nobody is held up"),
            level("Minor: there is a workaround|A way around exists", "it fails, but there is a workaround|people can use the other page instead|a second way around works fine",
                  "it fails but a second way works", "there is a way around on the other page|a workaround works fine"),
            level("Major: one team cannot work|A team is stopped", "one team cannot work since noon|a whole team is stopped|the team of {person} is blocked and waits",
                  "one team is stopped and waits", "a whole team cannot work since noon|the team is blocked"),
            level("Critical: everybody is stopped|All customers are down", "all customers are down|nobody can log in at all|everything is down, every customer waits|the whole company is stopped",
                  "everything is stopped, nobody can work at all", "everybody is down|all customers wait, nobody can log in"),
        ),
    ),
    Scale(
        Wordings(
            train=("How urgent is it?", "Rate the urgency.", "When must this be done?", "How soon is this needed?", "Score the urgency of the request."),
            calibration=("How soon must it be done?",), held_out=("Rate how urgent the request is.", "How urgent is this for {person}?"),
        ),
        (
            level("No date|Whenever there is time", "there is no date for it|whenever you have time|no hurry at all, some day", "some day, no date", "do it whenever, no hurry|there is no date at all"),
            level("This month|Within the month", "it is due this month|before the end of the month|some time within this month", "due before the month ends", "needed within the month|it is due by the end of this month"),
            level("This week|Within the week", "it is due this week|before Friday of this week|needed within the week", "due before this week ends", "some time this week|needed by the end of the week"),
            level("Today|Within the day", "it is due today|needed before this evening|today, before the shop closes", "needed today, before evening", "due before the end of today|needed this evening"),
            level("Now|At once", "right now, drop everything|it cannot wait a minute|at once, please, an alarm is on", "now, it cannot wait", "drop everything, it is needed right now|an alarm is on, at once"),
        ),
    ),
    Scale(
        Wordings(
            train=("How content is the customer?", "Rate the mood of the writer.", "How did the customer like it?", "Score the review.", "How happy is {person}?"),
            calibration=("How much did the customer like it?",), held_out=("Rate how happy the writer is.", "How content is {person} in the review?"),
        ),
        (
            level("Furious|Very angry", "I am furious, never again|the worst I ever bought, I am very angry|terrible, a shame, I want my money back", "terrible, the worst, never again", "very angry, I want my money back|furious, it is a shame"),
            level("Unhappy|Disappointed", "I am disappointed|not good, I expected more|a bit sad about the quality", "not good, I am a bit sad", "I am unhappy, I expected more|disappointed about the quality"),
            level("Neutral|Neither good nor bad", "it is okay, neither good nor bad|average, nothing special|so so, it does the job", "average, it is okay", "neither good nor bad, it does the job|nothing special"),
            level("Happy|Pleased", "I am pleased, good work|nice and useful, I like it|good quality, I am happy", "good and useful, I am pleased", "I like it, good work|happy about the quality"),
            level("Delighted|Enthusiastic", "fantastic, the best I ever had|I am delighted, simply perfect|wonderful, I love it, ten out of ten", "perfect, I love it", "simply the best, wonderful|delighted, ten out of ten"),
        ),
    ),
    Scale(
        Wordings(
            train=("How full is it?", "Rate how full the {noun} is.", "What is the fill level?", "How much is in it?"),
            calibration=("Rate the fill level.",), held_out=("How full is the {noun}?", "How much of it is full?"),
        ),
        (
            level("Empty|Nothing in it", "it is empty|there is nothing left in it|not a drop is inside", "nothing is inside, it is empty", "not a drop is left|completely empty"),
            level("A quarter full|About one quarter", "about a quarter is full|one quarter is used|it is a quarter full", "some quarter of it is used", "a quarter is used|about one quarter full"),
            level("Half full|About one half", "it is half full|about half is used|one half is taken", "half of it is used", "about one half is full|half is taken"),
            level("Three quarters full|About three quarters", "three quarters are used|it is three quarters full|about three quarters are taken", "three quarters of it are full", "about three quarters are used|three quarters are taken now"),
            level("Full|No room left", "it is full to the brim|there is no room left|completely full, no space", "no space left, full", "full, no room|completely full to the brim"),
        ),
    ),
    Scale(
        Wordings(
            train=("How risky is it?", "Rate the risk.", "What is the risk of this payment?", "Score the danger."),
            calibration=("How high is the risk?",), held_out=("Rate the risk of this.", "How risky is the payment?"),
        ),
        (
            level("No risk|Safe", "known customer, known device, all checks passed|it is safe, everything was checked|no sign of fraud", "safe, all checks passed", "no sign of fraud, known device|everything is safe"),
            level("Low risk|Slightly unusual", "slightly unusual, but explained|a new address, the customer told us before|a little odd, a reason is given", "a little unusual, a reason is given", "slightly odd, but explained|a new address, explained before"),
            level("Medium risk|Some signs", "some signs of fraud, not explained|a new device and a foreign card|two warnings are open", "some warnings, not explained", "a new device, two warnings|some signs, a foreign card"),
            level("High risk|Almost surely fraud", "almost surely fraud, card reported stolen|the account was taken over|stolen card, wrong name, many failed tries", "stolen card, the account was taken over", "surely fraud, many failed tries|the card was reported stolen"),
        ),
    ),
    Scale(
        Wordings(
            train=("How warm is it?", "Rate the temperature.", "What does the weather feel like?"),
            calibration=("Rate how warm it feels.",), held_out=("How warm does it feel?", "What is the temperature like?"),
        ),
        (
            level("Freezing|Ice and frost", "ice on the road, frost everywhere|it is freezing|snow and frost", "frost and ice", "snow, it is freezing|ice everywhere"),
            level("Cold|Chilly", "cold, take a coat|a chilly wind blows|rather cold", "a cold wind, take a coat", "chilly, rather cold|take a coat, it is cold"),
            level("Mild|Neither warm nor cold", "mild, neither warm nor cold|a mild spring day|pleasant and mild", "pleasant, a mild day", "neither warm nor cold today|a mild and pleasant day"),
            level("Warm|Summer weather", "warm, a sunny summer day|nice and warm|warm enough to swim", "sunny and warm", "a warm summer day|warm, we can swim"),
            level("Hot|Hardly bearable", "hot, hardly bearable|a heat wave, everybody sweats|burning hot", "a heat wave, burning", "hardly bearable heat|everybody sweats, it is hot"),
        ),
    ),
)  # fmt: skip
FRAMES = Wordings(
    train=("{cue}.", "Note from {person}: {cue}.", "{person} writes: {cue}", "{place}, {ref}: {cue}.", "About the {noun}: {cue}.",
           "Report {ref}. {cue}. End.", "The {noun} in {place}: {cue}.", "Hello, {cue}. Thanks, {person}"),
    calibration=("Message {ref} from {place}: {cue}.", "{person} on the {noun}: {cue}."),
    held_out=("{person} called from {place}. Notes: {cue}.", "{noun} / {ref} / {cue}", "As {person} says: {cue}!"),
)  # fmt: skip
GRADED = Wordings(
    train=("{person} gave it level {n}.", "grade: {n}", "The scale shows {n}.", "Measured level {n} at {place}.", "It was rated {n} by {person}.", "Level {n}."),
    calibration=("{person} rated it level {n}.",), held_out=("In {place} the level was {n}.", "Rated by {person}: {n}"),
)  # fmt: skip
ASK_GRADED = Wordings(
    train=("Which level was given?", "What level is it?", "Score as rated.", "Read the level off the state."),
    calibration=("What level was rated?",), held_out=("Which level does the state give?", "What was it rated?"),
)  # fmt: skip
DONE = Wordings(
    train=("How many {key} are done?", "How many {key} are finished?", "Count the finished {key}."),
    calibration=("How many of the {key} are finished?",), held_out=("Count the {key} that are done.", "How many of the {key} are done?"),
)  # fmt: skip


def make(rng: random.Random, split: Split, most: int = 10) -> Sample:
    """One sample with at most `most` levels, six for cues."""
    return single(rng, "score", split, part(rng, split, most))


def part(rng: random.Random, split: Split, most: int = 10) -> Part:
    """One question on a scale."""
    return rng.choice((_cue, _cue, _cue, _graded, _done, _named))(rng, split, most)


def _cue(rng: random.Random, split: Split, most: int) -> Part:
    scale = rng.choice(SCALES)
    levels = _chosen(rng, scale.levels, rng.randint(2, min(most, len(scale.levels))))
    right = rng.randrange(len(levels))
    names = {"person": word(rng, "person", split), "noun": word(rng, "noun", split), "place": word(rng, "place", split)}
    cue = levels[right].cues.pick(rng, split, **names)
    state: object = sentence_case(FRAMES.pick(rng, split, cue=cue, ref=code(rng), **names))
    if rng.random() < 0.25:
        state = {"ref": code(rng), "text": cue, "by": names["person"]}
    form = rng.randrange(len(levels[0].said))
    texts: list[object] = [item.said[min(form, len(item.said) - 1)] for item in levels]
    if rng.random() < 0.3:
        texts = [{"description": text} for text in texts]
    return Part(state, score(scale.ask.pick(rng, split, **names), texts), right)


def _chosen(rng: random.Random, levels: Sequence[Level], count: int) -> list[Level]:
    return [levels[index] for index in sorted(rng.sample(range(len(levels)), count))]


def _graded(rng: random.Random, split: Split, most: int) -> Part:
    count = rng.randint(2, most)
    right = rng.randrange(count)
    state = GRADED.pick(rng, split, n=right, person=word(rng, "person", split), place=word(rng, "place", split))
    forms: tuple[str | None, ...] = (None, "", "level {n}", "{n} points")
    form = rng.choice(forms)
    levels = [form.format(n=n) if form else form for n in range(count)]
    return Part(state, score(ASK_GRADED.pick(rng, split), levels), right)


def _named(rng: random.Random, split: Split, most: int) -> Part:
    """A scale that exists for one sample: the state names a level in the words of its candidate."""
    levels = several(rng, "adjective", split, rng.randint(2, min(most, 6)))
    right = rng.randrange(len(levels))
    names = {"person": word(rng, "person", split), "noun": word(rng, "noun", split), "place": word(rng, "place", split)}
    cue = rng.choice(("it is {a}", "{a}", "the {n} is {a}", "{a}, all in all")).format(a=levels[right], n=names["noun"])
    state = sentence_case(FRAMES.pick(rng, split, cue=cue, ref=code(rng), **names))
    return Part(state, score(ASK_GRADED.pick(rng, split), levels), right)


def _done(rng: random.Random, split: Split, most: int) -> Part:
    count = rng.randint(2, min(most, 7))
    right = rng.randrange(count)
    key = word(rng, "list key", split)
    marks = [True] * right + [False] * (count - 1 - right)
    rng.shuffle(marks)
    shown = rng.choice((("[x]", "[ ]"), ("done", "open"), ("yes", "no")))
    state = f"{key}\n" + "\n".join(f"{n + 1} {shown[not mark]}" for n, mark in enumerate(marks))
    unit = rng.choice(("{n}", "{n} done", "{n} finished"))
    return Part(state, score(DONE.pick(rng, split, key=key), [unit.format(n=n) for n in range(count)]), right)
