"""Match: the candidate whose text the state names, among candidates that share words with it."""

from __future__ import annotations

import random
import re

from kit.checkpoint.training.samples import Sample, Split
from kit.checkpoint.training.tasks import identifiers, prose, relations
from kit.checkpoint.training.tasks.parts import Part, choice, sentence_case, single
from kit.checkpoint.training.vocabulary import Wordings, code, invented, word, written

LEVELS = 5
STATES = Wordings(
    train=("{person} asked for {phrase}.", "The order says: {phrase}", "On the label is written \"{phrase}\".", "Topic: {phrase}",
           "We looked for {phrase} in {place}.", "It was {phrase} that {person} wanted.", "Wanted: {phrase}; by: {person}",
           "{person} wrote '{phrase}' on the {noun}.", "Please find {phrase} before the {noun} closes.", "{phrase}",
           "This is about {phrase}, not about the {noun}.", "The {noun} in {place} is called {phrase}.", "Search term: {phrase}.",
           "Note from {person}: {phrase} is missing.", "The {adjective} {noun} was sold, {phrase} was kept.", "Title: {phrase}",
           "I am looking for {phrase}", "{person} ordered {phrase} in {place}.", "They talk of {phrase} all day.", "Somebody asked: where is {phrase}?",
           "{phrase}, said {person}, and nothing else.", "Written on the {noun}: {phrase}", "{person} in {place} needs {phrase}.",
           "Can somebody bring {phrase} to {place}?", "{person} has a question about {phrase}.", "The mail is about {phrase}.", "Do you have {phrase}? Greetings, {person}", "There was some talk of {phrase}, {person} says.", "We ran out of {phrase} yesterday.", "{person}: where did you put {phrase}?", "Subject: {phrase}\nThe {noun} can wait.",
           "Yesterday {person} saw {phrase} near the {noun}.", "A box came in. On it one reads {phrase}.", "{place} has asked us for {phrase} again.", "The {noun} is {adjective}. Apart from that there is {phrase}.", "08:40 {person}: {phrase}, please\n08:45 {noun} checked", "It all began with {phrase}.", "What {person} had in mind was {phrase}.", "To do: {phrase}",
           "In the drawer of the {noun} lay {phrase}.", "{person} talked for an hour and meant {phrase}.", "The page shows {phrase} and a {adjective} {noun}.", "Bring {phrase}, leave the {noun}.", "They gave {phrase} to {person}."),
    calibration=("{person} from {place} needs {phrase} today.", "Name on the {noun}: {phrase}", "Only {phrase} was found."),
    held_out=("The {noun} was sold because {person} ordered {phrase}.", "Somebody wrote: {phrase}!",
              "In {place} they talk of {phrase} and nothing else.", "Title - {phrase} - by {person}"),
)  # fmt: skip
ASK = Wordings(
    train=("Which candidate is named in the state?", "Which option does the text mention?", "Pick the candidate the state is about.",
           "What does the state name?", "Which of these is mentioned?", "Choose the option written in the state.",
           "Which text stands in the state?", "Find the candidate that matches.", "What was asked for?", "Which one is it?",
           "Which option matches?", "Which of the options stands above?", "What is the text about?", "Choose the one that is named.",
           "Which of these do you read there?", "What do they speak of?", "What is it about?", "Which one comes up?", "Which one do they mean?", "Which of these can be found in the text?", "Only one of these occurs. Which?", "What is named there?", "What do you find in the text?", "Which one is spoken of?", "One of these is in the text: which?", "Which of them turns up?", "Say which one is there.", "Which one fits?",
           "Which candidate does the text name?", "What is meant?"),
    calibration=("Which candidate does the state mention?", "Pick what is written above."),
    held_out=("Which of the candidates is written in the state?", "Choose the one that the text names.", "Which option matches the state?"),
)  # fmt: skip
OPTIONS = Wordings(
    train=("{phrase}", "{phrase}", "{phrase}", "the {phrase}", "{phrase}.", "Item: {phrase}", "about {phrase}", "'{phrase}'", "topic: {phrase}", "it says {phrase}"),
    calibration=("named {phrase}",), held_out=("Topic {phrase}", "\"{phrase}\"", "it is {phrase}"),
)  # fmt: skip
FIELDS = ("title", "subject", "name", "query", "wanted", "label", "text")
WORDS = (1, 2, 3, 4, 4)  # of a phrase at most, by level


def make(rng: random.Random, split: Split, level: int = LEVELS - 1) -> Sample:
    """0: two candidates of one word; 1: to four, of two words; 2: to ten; 3: marks, four words, both named; 4: 16 to 32 in half, identifiers, some long states."""
    return single(rng, "match", split, level, part(rng, split, level))


def part(rng: random.Random, split: Split, level: int = LEVELS - 1) -> Part:
    """One question about the phrase a state holds."""
    if rng.random() < (0, 0, 0, 0.25, 0.25)[level]:
        return _related(rng, split)
    count = rng.randint(2, (2, 4, 10, 10, 10)[level]) if level < 4 or rng.random() < 0.5 else rng.randint(16, 32)
    if rng.random() < (0, 0, 0.1, 0.15, 0.3)[level]:
        return identifiers.part(rng, split, count)
    return matched(rng, split, count, level)


def matched(rng: random.Random, split: Split, count: int, level: int) -> Part:
    """A question with so many candidates."""
    longest = WORDS[level] if count <= 10 else 2 if count <= 20 else 1
    phrases = _phrases(rng, split, count, longest)
    right, *others = rng.sample(phrases, count)
    state = _state(rng, split, right, level)
    while any(plain(other) in _said(state) for other in others):
        state = _state(rng, split, right, level)
    frame = rng.choice(OPTIONS.of(split)) if rng.random() < (0.4 if level > 0 else 0) else "{phrase}"
    question, index = choice(rng, ASK.pick(rng, split), frame.replace("{phrase}", right), [frame.replace("{phrase}", o) for o in others])
    return Part(state, question, index)


def _related(rng: random.Random, split: Split) -> Part:
    """Both candidates are named, and at times a third: which one is meant follows from what is said of them."""
    relation = rng.choice(relations.RELATIONS)
    a, b, c = _phrases(rng, split, 3, 2)
    if rng.random() < 0.6:
        a, b, c = (f"the {item}" for item in (a, b, c))
    text = sentence_case(relation.states.pick(rng, split, a=a, b=b, person=word(rng, "person", split)))
    said = [text if text[-1] in ".!?" else f"{text}."]
    third = rng.random() < 0.35
    if third:
        said.insert(rng.randrange(2), sentence_case(relations.EITHER.pick(rng, split, c=c)))
    if rng.random() < 0.2:
        said.insert(rng.randrange(len(said) + 1), prose.sentence(rng, split))
    straight = rng.random() < 0.5
    right, other = (a, b) if straight else (b, a)
    asked = (relation.one if straight else relation.other).pick(rng, split)
    state: object = " ".join(said)
    if rng.random() < 0.25:
        state = {rng.choice(FIELDS): state}
    return Part(state, *choice(rng, asked, right, [other, c] if third or rng.random() < 0.3 else [other]), reason=f"{text} {right}")


def _said(state: str | dict[str, object]) -> str:
    return plain(state if isinstance(state, str) else " ".join(map(str, state.values())))


def phrase(rng: random.Random, split: Split, length: int, longest: int = 4) -> str:
    """One to four words, the last a noun, a name or an invented word.

    Where phrases may be long, one word alone is at times a path, a price and so on; where none may, it is short.
    """
    if length == 1 and longest > 2 and rng.random() < 0.25:
        return written(rng, split)
    if rng.random() < 0.4:
        head = invented(rng, split, None if longest > 1 else rng.choice((1, 1, 2)))
    else:
        head = word(rng, rng.choice(("noun", "noun", "service", "place")), split)
    rest = [invented(rng, split) if rng.random() < 0.25 else word(rng, rng.choice(("adjective", "verb")), split) for _ in range(length - 1)]
    text = " ".join([*rest, head])
    return sentence_case(text) if rng.random() < 0.15 else text


def names(rng: random.Random, split: Split) -> dict[str, str]:
    """What fills the slots of STATES besides the phrase."""
    return {kind: word(rng, kind, split) for kind in ("person", "place", "noun", "adjective")}


def _phrases(rng: random.Random, split: Split, count: int, longest: int) -> list[str]:
    """Different phrases, many of which share words, and none of which holds another: "bell" does not stand beside "old bell".

    Any of them may be the right one: were the others made from it, it would be the one most like them all.
    """
    made: list[str] = []
    bares: list[str] = []
    while len(made) < count:
        words = rng.choice(made).split() if made else []
        if len(words) > 1 and rng.random() < 0.5:
            words[rng.randrange(len(words))] = word(rng, rng.choice(("adjective", "noun")), split)
            new = " ".join(words)
        else:
            new = phrase(rng, split, rng.randint(1, longest), longest)
        bare = plain(new)
        if not any(bare in other or other in bare for other in bares):
            made.append(new)
            bares.append(bare)
    return made


def plain(text: str) -> str:
    """The text in small letters, a space for every run of other marks and one at either end."""
    return f" {re.sub(r'[^a-z0-9-]+', ' ', text.casefold()).strip()} "


def _state(rng: random.Random, split: Split, right: str, level: int) -> str | dict[str, object]:
    fields = names(rng, split)
    person, place = fields["person"], fields["place"]
    text = STATES.pick(rng, split, phrase=right, **fields)
    kind = rng.random()
    if level >= 3 and kind < 0.2:
        return prose.around(rng, split, text, rng.randint(1, 3) if level == 3 or kind < 0.15 else rng.randint(4, 10))
    if level == 0 and kind < 0.4:
        return right
    if kind < 0.7 or level == 0:
        return text
    entries: list[tuple[str, object]] = [(rng.choice(FIELDS), right if kind < 0.85 else text), ("ref", code(rng)), ("by", person), ("place", place)]
    entries = entries[: rng.randint(2, 4)]
    rng.shuffle(entries)
    return dict(entries)
