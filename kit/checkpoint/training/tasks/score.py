"""Score: the level of a scale that a clear cue in the state belongs to, on two to ten levels."""

from __future__ import annotations

import random
from collections.abc import Sequence

from kit.checkpoint.training.samples import Sample, Split
from kit.checkpoint.training.tasks import prose
from kit.checkpoint.training.tasks.messages import wrapped
from kit.checkpoint.training.tasks.parts import Part, choice, score, sentence_case, single, yes_or_no
from kit.checkpoint.training.tasks.scales import POLES, SCALES, Level, Scale
from kit.checkpoint.training.vocabulary import Wordings, code, several, word

LEVELS = 4
CLASHING = ("noisy", "quiet", "loud", "tired", "new", "clean", "dusty", "daily", "always", "silent", "broken", "cold", "warm", "hot", "mild", "frozen", "full", "empty", "urgent", "fresh", "misty", "week", "year", "day", "hour")  # answers, too
BEARING = ("priority", "urgency", "since", "seen", "level", "replies", "answers", "age_minutes", "member", "status", "number", "copy")  # fields that may say something of a level
FRAMES = Wordings(
    train=("{cue}.", "Note from {person}: {cue}.", "{person} writes: {cue}", "{place}, {ref}: {cue}.", "About the {noun}: {cue}.",
           "Report {ref}. {cue}. End.", "The {noun} in {place}: {cue}.", "Hello, {cue}. Thanks, {person}", "{cue}", "{person} says: {cue}", "Hi, {person} here. {cue}.",
           "Ticket {ref} from {place}: {cue}", "Dear team, {cue}. Regards, {person}", "{person} called: {cue}.", "Notes: {cue}.",
           "{cue}", "{cue}.", "{cue}, says {person}.", "{cue} ({person}, {place})", "As {person} puts it: {cue}.", "From {place} we hear: {cue}.", "I asked {person}. The answer: {cue}.", "In short: {cue}.", "{person}: \"{cue}\"", "Feedback no. {ref}: {cue}", "On {ref}: {cue}. That is all.", "{ref} {cue}", "Seen by {person} in {place}: {cue}.",
           "I spoke with {person}: {cue}.", "What {person} told me: {cue}.", "Hello from {place}, {cue}.", "{cue}. Signed, {person}", "Entry {ref}, by {person}. {cue}.", "> {cue}", "- {cue}", "What I can say: {cue}.", "It is like this: {cue}.", "Well, {cue}."),
    calibration=("Message {ref} from {place}: {cue}.", "{person} on the {noun}: {cue}."),
    held_out=("{person} called from {place}. Notes: {cue}.", "{noun}, {ref}: {cue}", "Dear {person}, {cue}.", "{person} tells us: {cue}.", "{cue}, I heard from {person}."),
)  # fmt: skip
GRADED = Wordings(
    train=("{person} gave it level {n}.", "grade: {n}", "The scale shows {n}.", "Measured level {n} at {place}.", "It was rated {n} by {person}.", "Level {n}.", "{n}",
           "Rated {n}.", "I would say {n}.", "A {n} from {person}.", "We ended at {n}.", "{n}, no more and no less.", "In the end {person} chose {n}.", "It came to {n} in {place}.", "{n} it is.", "My grade for it is {n}.", "{person} put a {n} on it.", "result = {n}", "At {place} they wrote {n}.", "The level was {n} in {place}.", "{person} says {n}.", "Score: {n}", "Given by {person}: level {n}"),
    calibration=("{person} rated it level {n}.",), held_out=("In {place} the level was {n}.", "Rated by {person}: {n}", "{person} gave it a {n}."),
)  # fmt: skip
ASK_GRADED = Wordings(
    train=("Which level was given?", "What level is it?", "Score as rated.", "Read the level off the state.", "Which level is it?", "What was given?", "Which level does the text name?",
           "How was it rated?", "Which score was given?", "What is the level?",
           "Read off the grade.", "What grade is it?", "What does the text give?", "Which number of the scale is it?", "Say which level was given.", "Repeat the rating.", "At which level does it stand?", "Which of the levels is named?", "What rating do you see?", "The level, please.", "Which step is meant?"),
    calibration=("What level was rated?",), held_out=("Which level does the state give?", "What was it rated?"),
)  # fmt: skip
DONE = Wordings(
    train=("How many {key} are done?", "How many {key} are finished?", "Count the finished {key}.", "How many are done?", "Number of {key} that are done?", "How many of them are finished?",
           "Count what is done.", "How many {key} have been finished?", "How far did they get with the {key}?", "Of the {key}, how many are ready?", "How many {key} can be ticked off?", "What number of {key} is complete?", "Say how many {key} are through.", "How many of them are complete?"),
    calibration=("How many of the {key} are finished?",), held_out=("Count the {key} that are done.", "How many of the {key} are done?"),
)  # fmt: skip
LED = 0.3  # the share of states that say what it is about before they say what applies
LEADS = {  # by scale: sentences of no level
    0: Wordings(
        train=("It is about {service}.", "Something is up with the {noun} in {place}.", "A report from {place} on the {noun}.", "{person} looked at {service} this morning.", "The subject is the {noun}.", "News of {service}:", "We checked the {noun} twice.", "You asked how {service} is doing.", "I am calling because of the {noun}.", "{service}, case {ref}.",
               "Here is what we know of {service}.", "This concerns the {noun} on the second floor.", "{person} told me about {service}.", "You wanted to hear about the {noun}."),
        calibration=("This is about {service}.",), held_out=("My report on {service}:", "{person} asks about the {noun} in {place}."),
    ),
    1: Wordings(
        train=("Please {verb} the {noun}.", "{person} would like a new {noun}.", "Can you {verb} the {noun} in {place}?", "Somebody has to {verb} our {noun}.", "I need a {noun} for {person}.", "We ask you to {verb} {n} of them.", "Send {person} the {noun}.", "The {noun} has to be painted.", "Who can {verb} the {noun} for us?", "I am waiting for the {noun}.",
               "Order {n} more of them for {place}.", "The list for {person} has to be written.", "We want the {noun} moved to {place}.", "Write to {person} about the {noun}.", "Would you {verb} a {noun} for {place}?", "Here is a job for you: {verb} the {noun}."),
        calibration=("Could somebody {verb} the {noun}?",), held_out=("{person} asks you to {verb} the {noun}.", "We would like to have {n} of them in {place}."),
    ),
    2: Wordings(
        train=("I bought a {noun} from you.", "We were in {place} with {n} people.", "I ordered {n} of them.", "My {noun} has come.", "I spent a night in {place}.", "We ate at your place in {place}.", "I took the course of {person}.", "I have had the {noun} for {n} days now.", "{person} served us.", "I called you about the {noun}.", "We saw the show in {place}.", "You sent me a {noun}.",
               "I read the book by {person}.", "About my stay in {place}:", "I tried your new {noun}."),
        calibration=("We went to {place} with you.",), held_out=("I got the {noun} on my birthday.", "We stayed {n} nights in {place}."),
    ),
}  # fmt: skip
LEGENDS = Wordings(  # the levels in the question, where the candidates are bare numbers
    train=("{asked} ({legend})", "{asked} {legend}.", "{legend}. {asked}", "{asked} Levels: {legend}.", "{asked} Scale: {legend}.", "{asked} Take {legend}.", "Of these levels ({legend}): {asked}", "{asked} It goes from {legend}."),
    calibration=("{asked} Grades: {legend}.",), held_out=("{asked} Use {legend}.", "Given the levels {legend}: {asked}"),
)  # fmt: skip
POINTS = Wordings(
    train=("{n} = {said}", "{n}: {said}", "{n} {said}", "{n} ({said})", "{n} means {said}", "{n} - {said}", "{said} is {n}", "{said}: {n}"), calibration=("{n}, {said}",), held_out=("{n} for {said}", "{said} = {n}"),
)  # fmt: skip
NUMBERED = 0.12  # the share of scales whose levels are spelt out in the question
POLAR = 0.45  # the share of yes-or-no questions whose candidates name both ends
OWN_FORM = 0.2  # the share of scales whose levels are not all worded alike


def make(rng: random.Random, split: Split, level: int = LEVELS - 1) -> Sample:
    """0: a level named among two or three; 1: cues of two levels; 2: counts, four levels; 3: to ten levels, five for cues."""
    return single(rng, "score", split, level, part(rng, split, level))


def part(rng: random.Random, split: Split, level: int = LEVELS - 1) -> Part:
    """One question on a scale."""
    kinds = (_graded, _named, _cue, _cue, _cue, _cue, _high, _done)
    return rng.choice(kinds[: (2, 6, 8, 8)[level]])(rng, split, level)


def _cue(rng: random.Random, split: Split, level: int) -> Part:
    scale = rng.choice(SCALES)
    levels = _chosen(rng, scale.levels, rng.randint(2, min((2, 2, 4, 5)[level], len(scale.levels))))
    right = rng.randrange(len(levels))
    names = _names(rng, split)
    state = _said(rng, split, scale, levels[right], names, level)
    texts: list[object] = list(_worded(rng, levels))
    asked = scale.ask.pick(rng, split, **names)
    if rng.random() < NUMBERED:
        return _numbered(rng, split, state, asked, [str(text) for text in texts], right)
    if rng.random() < 0.15:
        return Part(state, *choice(rng, asked, texts[right], [text for text in texts if text != texts[right]]))
    if rng.random() < 0.3:
        texts = [{"description": text} for text in texts]
    return Part(state, score(asked, texts), right)


def _worded(rng: random.Random, levels: Sequence[Level]) -> list[str]:
    """A text a level, of one form or each of its own; numbered at times."""
    forms = min(len(level.said) for level in levels)
    form = rng.randrange(forms)
    texts = [level.said[form] for level in levels]
    if rng.random() < OWN_FORM:
        mixed = [rng.choice(level.said) for level in levels]
        texts = mixed if len(set(mixed)) == len(mixed) else texts
    mark = rng.choice(("{n}: {t}", "{n} - {t}", "({n}) {t}", "{n} {t}", "level {n}: {t}")) if rng.random() < 0.1 and not texts[0][:1].isdigit() else "{t}"
    return [mark.format(n=n, t=text) for n, text in enumerate(texts)]


def _numbered(rng: random.Random, split: Split, state: object, asked: str, said: Sequence[str], right: int) -> Part:
    """Levels that the question spells out and the candidates only number."""
    if any(text[:1].isdigit() or text.startswith(("(", "level")) for text in said):
        return Part(state, score(asked, said), right)
    first = rng.choice((0, 0, 1))
    point = rng.choice(POINTS.of(split))
    mark = rng.choice((", ", "; ", ", "))
    legend = mark.join(point.format(n=n + first, said=text) for n, text in enumerate(said))
    numbers = [str(n + first) for n in range(len(said))] if first or rng.random() < 0.6 else [None] * len(said)
    return Part(state, score(LEGENDS.pick(rng, split, asked=asked, legend=legend), numbers), right, reason=said[right])


def _high(rng: random.Random, split: Split, level: int) -> Part:
    """Yes or no: is it one of the two highest levels of the scale?"""
    scale, poles = rng.choice(list(zip(SCALES, POLES, strict=True)))
    answer = rng.random() < 0.5
    reached = rng.choice(scale.levels[-2:] if answer else scale.levels[:2])
    names = _names(rng, split)
    asked = scale.high.pick(rng, split, **names)
    state = _said(rng, split, scale, reached, names, level)
    if rng.random() < POLAR:
        yes, no = poles.pick(rng, split).split("|")
        if rng.random() < 0.4:
            return Part(state, *choice(rng, asked, yes if answer else no, [no if answer else yes]))
        return Part(state, {"type": "noul", "instructions": asked, "criteria": {"true": yes, "false": no}}, int(not answer))
    return Part(state, *yes_or_no(rng, split, asked, answer))


def _said(rng: random.Random, split: Split, scale: Scale, reached: Level, names: dict[str, str], level: int) -> object:
    """A state that says what applies at a level of a scale."""
    cue = reached.cues.pick(rng, split, **names)
    lead = LEADS.get(SCALES.index(scale))
    if lead and level >= 2 and rng.random() < LED:
        about = lead.pick(rng, split, verb=word(rng, "verb", split), service=word(rng, "service", split), n=rng.randint(2, 30), ref=code(rng), **names)
        text = f"{sentence_case(about)} {sentence_case(cue)}{rng.choice(('.', '.', ''))}"
        return wrapped(rng, split, text, BEARING)
    state: object = sentence_case(FRAMES.pick(rng, split, cue=cue, ref=code(rng), **names))
    if rng.random() < 0.35:
        state = wrapped(rng, split, sentence_case(cue) if rng.random() < 0.6 else cue, BEARING)
    elif level == 3 and rng.random() < 0.2:
        state = prose.around(rng, split, str(state), rng.randint(1, 2), CLASHING)
    return state


def _chosen(rng: random.Random, levels: Sequence[Level], count: int) -> list[Level]:
    return [levels[index] for index in sorted(rng.sample(range(len(levels)), count))]


def _graded(rng: random.Random, split: Split, level: int) -> Part:
    count = rng.randint(2, (3, 4, 6, 10)[level]) if level < 3 or rng.random() < 0.75 else rng.randint(11, 32)
    right = rng.randrange(count)
    state: object = GRADED.pick(rng, split, n=right, person=word(rng, "person", split), place=word(rng, "place", split))
    if level == 3 and rng.random() < 0.3:
        state = prose.around(rng, split, str(state), rng.randint(1, 2), CLASHING)
    elif level >= 2 and rng.random() < 0.2:
        state = {"review": state, rng.choice(("by", "owner")): word(rng, "person", split)}
    forms: tuple[str | None, ...] = (None, "", "level {n}", "{n} points", "{n}")
    form = rng.choice(forms)
    levels = [form.format(n=n) if form else form for n in range(count)]
    return Part(state, score(ASK_GRADED.pick(rng, split), levels), right)


def _named(rng: random.Random, split: Split, level: int) -> Part:
    """A scale that exists for one sample: the state names a level in the words of its candidate."""
    levels = several(rng, "adjective", split, rng.randint(2, (3, 4, 5, 6)[level]))
    right = rng.randrange(len(levels))
    names = _names(rng, split)
    cue = rng.choice(("it is {a}", "{a}", "the {n} is {a}", "{a}, all in all")).format(a=levels[right], n=names["noun"])
    state = sentence_case(FRAMES.pick(rng, split, cue=cue, ref=code(rng), **names))
    return Part(state, score(ASK_GRADED.pick(rng, split), levels), right)


def _done(rng: random.Random, split: Split, level: int) -> Part:
    count = rng.randint(2, (3, 3, 4, 5)[level])
    right = rng.randrange(count)
    key = word(rng, "list key", split)
    marks = [True] * right + [False] * (count - 1 - right)
    rng.shuffle(marks)
    shown = rng.choice((("[x]", "[ ]"), ("done", "open"), ("yes", "no")))
    state = f"{key}\n" + "\n".join(f"{n + 1} {shown[not mark]}" for n, mark in enumerate(marks))
    unit = rng.choice(("{n}", "{n} done", "{n} finished"))
    told = ", ".join(f"{n + 1} {shown[not mark]}" for n, mark in enumerate(marks))
    question = score(DONE.pick(rng, split, key=key), [unit.format(n=n) for n in range(count)])
    return Part(state, question, right, reason=f"{told}: {right}")


def _names(rng: random.Random, split: Split) -> dict[str, str]:
    return {kind: word(rng, kind, split) for kind in ("person", "noun", "place")}
