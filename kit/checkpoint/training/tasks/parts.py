"""What every family's question is put together from: a part of a state, a question, the index of the right candidate.

Covers: `Part`, the three question types with their candidates in a drawn order, samples made of parts, and the reason of an
answer where a part gives none: the right candidate's own words.
"""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from PIL import Image

from kit.checkpoint.training.samples import Question, Sample, Split
from kit.checkpoint.training.tasks.drawing import worn
from kit.checkpoint.training.vocabulary import Wordings, several

YES_NO = Wordings(
    train=("Yes|No", "True|False", "It is so|It is not so", "yes, it does|no, it does not", "Correct|Incorrect",
           "The record says so|The record does not say so", "yes, that holds|no, that does not hold", "yes, it is|no, it is not",
           "Right|Wrong", "That is right|That is not right", "It is true|It is not true", "Yes, that is so|No, that is not so",
           "It does hold|It does not hold", "It does|No, it does not", "Yes, it is correct|No, it is wrong", "y|n", "yes|no", "it is|it is not", "so it is|it is otherwise", "agreed|not agreed", "I agree|I do not agree", "sure|no way", "that fits|that does not fit",
           "This is the case|This is not the case", "yes indeed|not at all", "it can be said|it cannot be said", "the answer is yes|the answer is no", "it would be right|it would be wrong", "as you say|not as you say", "affirmative|negative", "tick|cross", "it is like that|it is not like that", "certainly|certainly not", "yes, exactly|no, not quite", "thumbs up|thumbs down"),
    calibration=("Yes, it is so|No, it is not so", "That is true|That is false"),
    held_out=("Yes, it does|It does not", "Yes, that is correct|No, that is incorrect", "That holds|That does not hold", "Yes, it is|No, it is not"),
)  # fmt: skip
CLAIMS = Wordings(  # what is asked, said and denied: {what} is "green", "the tallest", "a circle"
    train=("{what}|not {what}", "{what}, indeed|by no means {what}", "{what}, so yes|not {what}, so no", "clearly {what}|clearly not {what}", "{what}|something else", "{what}|none of that",
           "one sees that it is {what}|one sees that it is not {what}", "found to be {what}|found not to be {what}", "{what}, yes it is|{what}, no it is not", "{what}|anything but {what}", "as asked, {what}|unlike {what}",
           "{what}|this does not apply", "can be called {what}|cannot be called {what}", "yes, {what}|no, other", "there it is {what}|there it is another way",
           "it was {what}|it was not {what}", "it has been {what}|it has not been {what}", "{what} already|not {what} yet", "is {what}|is not {what}", "{what}|no", "yes|not {what}",
           "{what} here|nothing of the kind", "{what} now|no longer {what}", "{what}|a different one", "{what}|some other", "it is {what} by now|it is not {what} any longer", "{what}|nothing",
           "one {what}|none", "this is {what}|that is another case", "{what}, we see|we see another", "{what} is right|{what} is wrong", "the answer is {what}|the answer is not {what}", "we may say {what}|we may not say {what}", "it must be {what}|it cannot be {what}",
           "that is {what}|that is not {what}", "this one is {what}|this one is not {what}", "{what} is what it is|{what} is what it is not", "it counts as {what}|it does not count as {what}",
           "{what}|not so", "{what}|otherwise", "{what}|the opposite", "{what}|far from it", "{what}|never", "{what}|not at all", "{what}|other than that", "{what} - yes|{what} - no", "{what} (yes)|{what} (no)", "yes, it is {what}|no, it is not {what}", "yes - {what}|no - not {what}", "it is {what}|it is something else",
           "it is {what}|it is not", "it is indeed {what}|it is by no means {what}", "it really is {what}|it really is not {what}", "they say {what}|they say something else", "shown as {what}|shown as something else", "given as {what}|given as another", "marked {what}|not marked {what}", "known to be {what}|known not to be {what}",
           "all the signs say {what}|no sign says {what}", "{what} as expected|not {what} as expected", "truly {what}|not truly {what}", "{what} after all|not {what} after all", "{what}, no doubt|{what}, not a chance", "we have {what}|we have another", "we call it {what}|we do not call it {what}", "I say {what}|I say not {what}", "it looks {what}|it does not look {what}",
           "one can say {what}|one cannot say {what}", "{what} it is|{what} it is not", "{what} fits|{what} does not fit", "{what} holds|{what} does not hold", "{what} is true|{what} is false", "{what} is so|{what} is not so", "that would be {what}|that would not be {what}", "it turns out {what}|it turns out otherwise", "in short {what}|in short not {what}",
           "it has to be {what}|it can only be something else", "take it as {what}|do not take it as {what}", "write down {what}|do not write down {what}", "{what} and nothing else|anything else"),
    calibration=("{what}, yes|{what}, no", "shown to be {what}|shown to be otherwise"),
    held_out=("{what} as the question says|different from what the question says", "{what}, that is so|not {what}, that is not so", "surely {what}|surely something other"),
)  # fmt: skip
OPAQUE = 0.08  # the share of nouls whose words say nothing: the first candidate is then what the question asks for
ASIDES = Wordings(  # around a question, now and then
    train=("Read the state first. {q}", "{q} Choose one.", "Look closely: {q}", "Please answer: {q}", "{q} Use only what is given.", "Question for you: {q}", "{q} Answer with one candidate.",
           "One thing is asked: {q}", "{q} Think of what is given above.", "Now: {q}", "I want to know: {q}", "{q} Please pick the best.",
           "The night shift wants to know. {q}", "{q} Somebody has to act on it.", "{q} It matters for the report.", "Before we go on: {q}", "This is for the log. {q}", "{q} Say so.",
           "There is one more thing. {q}", "Take your time. {q}", "{q} Nothing else is asked.", "We must decide. {q}", "{q} A person will check it.", "Only this: {q}", "{q} The team waits for it.",
           "Here is what we ask. {q}", "{q} Go by what is shown.", "You see what is given. {q}", "{q} So that we can act.", "Somebody asked: {q}", "For the record: {q}", "{q} Be exact.",
           "It has to be put right. {q}", "{q} Then we can go on.", "Look again. {q}", "{q} Think first.",
           "Good morning. {q}", "{q} Thank you.", "Quick question. {q}", "{q} We are in a hurry.", "Sorry to ask again. {q}", "{q} The rest is clear.", "One of us has to know. {q}", "{q} It is not a trick.", "As far as one can tell: {q}", "{q} Say what you see.", "From what stands there: {q}", "{q} Do not guess.",
           "Tell me, please. {q}", "{q} Just that.", "Help us out. {q}", "{q} I have to write it down.", "A colleague wants to know: {q}", "{q} The answer goes into the file.", "Could you tell us? {q}", "{q} It is for the next shift.", "Without more ado: {q}", "{q} We trust your eyes.", "Have a look. {q}", "{q} One answer is enough.",
           "The question is this: {q}", "{q} It will be used at once.", "To be sure, once more: {q}", "{q} There is no other question.", "Check it well. {q}", "{q} A short answer will do.", "Going by this alone: {q}", "{q} Leave out all else.", "So: {q}", "{q} That is all I need.", "In your view: {q}", "{q} We act on what you say.", "It is simple. {q}", "{q} Please decide."),
    calibration=("Please say: {q}",), held_out=("Read what is given first. {q}", "{q} Please choose one.", "Please look closely: {q}"),
)  # fmt: skip
TOLD, MORE = 10, 3  # words of a candidate, further entries of a record
ASIDE = 0.25  # the share of questions with some words around them
WORN = 0.1  # the share of samples with images that came a longer way
NAMES = ("q", "q1", "answer", "pick", "decision", "check")  # of the only question of a sample


@dataclass(frozen=True)
class Part:
    """state: a string or JSON. right: the index of the right candidate. images: those the question is about.

    reason: what the answer rests on, in fixed words and order, so that it can be foretold from what is given.
    """

    state: object
    question: Question
    right: int
    images: Sequence[Image.Image] = field(default=())
    reason: str = ""


def choice(
    rng: random.Random, instructions: str, right: object, others: Sequence[object], at: int | None = None
) -> tuple[Question, int]:
    """A choice whose right candidate stands at a uniform position (or `at`), the others in a drawn order.

    A candidate is its text, or a criterion of the contract such as a tool.
    """
    rest = list(others)
    rng.shuffle(rest)
    index = rng.randrange(len(rest) + 1) if at is None else at
    rest.insert(index, right)
    return listed(rng, instructions, rest), index


def listed(rng: random.Random, instructions: str, candidates: Sequence[object]) -> Question:
    """A choice with its candidates in the order given."""
    bare = rng.random() < 0.5
    criteria = {_name(item, n): _criterion(item, bare) for n, item in enumerate(candidates)}
    return {"type": "choice", "instructions": instructions, "criteria": criteria}


def score(instructions: str, levels: Sequence[object]) -> Question:
    """A score; a level without words is None."""
    return {"type": "score", "instructions": instructions, "criteria": list(levels)}


def yes_or_no(
    rng: random.Random, split: Split, instructions: str, answer: bool, plain: bool = False, what: str = ""
) -> tuple[Question, int]:
    """A noul, with the default words or others; one in seven asks the same as a choice in either order.

    plain: a noul with the default words, always. what: what is asked about, as CLAIMS says and denies it; without it the
    words are of YES_NO.
    """
    kind = rng.random()
    if kind < 0.4 or plain:
        return {"type": "noul", "instructions": instructions}, int(not answer)
    yes, no = _said_and_denied(rng, split, what)
    if kind >= 0.55 and rng.random() < OPAQUE:
        yes, no = several(rng, rng.choice(("noun", "adjective", "value")), split, 2)
    if kind < 0.55:
        return choice(rng, instructions, yes if answer else no, [no if answer else yes])
    criteria = {"true": yes, "false": no} if kind < 0.8 else {"true": {"description": yes}, "false": {"description": no}}
    return {"type": "noul", "instructions": instructions, "criteria": criteria}, int(not answer)


def _said_and_denied(rng: random.Random, split: Split, what: str) -> list[str]:
    """The two candidates' words: `what` said and denied, or both as they stand in it with | between them."""
    if not what or rng.random() < 0.35:
        return YES_NO.pick(rng, split).split("|")
    words = what.split("|") if "|" in what else CLAIMS.pick(rng, split, what=what).split("|")
    return [sentence_case(text) for text in words] if rng.random() < 0.5 else words


def sample(family: str, split: Split, level: int, parts: Mapping[str, Part], state: object) -> Sample:
    """A sample that asks every part's question of one state, under the names given."""
    questions = {name: part.question for name, part in parts.items()}
    right = {name: part.right for name, part in parts.items()}
    expected = {name: candidate_ids(part.question)[part.right] for name, part in parts.items()}
    images = [image for part in parts.values() for image in part.images]
    reason = {name: part.reason or told(part.question, part.right) for name, part in parts.items()}
    return Sample(family, split, level, state, questions, expected, right, images, reason)


def single(rng: random.Random, family: str, split: Split, level: int, part: Part) -> Sample:
    """A sample of one question under one of a few plain names, at times with some words around it, or with worn images."""
    if level > 0 and rng.random() < ASIDE:
        instructions = ASIDES.pick(rng, split, q=part.question["instructions"])
        part = replace(part, question=part.question | {"instructions": instructions})
    if level > 0 and part.images and rng.random() < WORN:
        part = replace(part, images=[worn(rng, image) for image in part.images])
    return sample(family, split, level, {rng.choice(NAMES): part}, part.state)


def told(question: Question, right: int) -> str:
    """The right candidate's words, the first TOLD of them."""
    return " ".join(candidate_texts(question)[right].split()[:TOLD])


def candidate_texts(question: Question) -> list[str]:
    """What every candidate says, its id where it says nothing, in the order the contract gives them."""
    names = candidate_ids(question)
    criteria = question.get("criteria") or {}
    if question["type"] == "noul":
        said = [criteria.get(key) for key in ("true", "false")]
    else:
        said = list(criteria.values()) if question["type"] == "choice" else list(criteria)
    texts = [item.get("description") if isinstance(item, Mapping) else item for item in said]
    return [str(text or name) for text, name in zip(texts, names, strict=True)]


def entries(rng: random.Random, pairs: Sequence[tuple[str, object]], first: int) -> str:
    """The pair asked for, then up to MORE of the others in a drawn order: whoever foretells them finds each by its key."""
    others = [pair for n, pair in enumerate(pairs) if n != first]
    told_of = [pairs[first], *rng.sample(others, min(MORE, len(others)))]
    return "; ".join(f"{key}: {value}" for key, value in told_of)


def verdict(answer: bool) -> str:
    """The last word of a reason of a question of yes or no."""
    return "yes" if answer else "no"


def candidate_ids(question: Question) -> list[str]:
    """The candidates' ids in the order the contract gives them."""
    if question["type"] == "noul":
        return ["yes", "no"]
    criteria = question["criteria"]
    return list(criteria) if question["type"] == "choice" else [str(level) for level in range(len(criteria))]


def spoken(value: object) -> str:
    """A value as a line of text gives it."""
    if isinstance(value, list) and value:
        return ", ".join(map(str, value))
    return value if isinstance(value, str) else json.dumps(value)


def sentence_case(text: str) -> str:
    """The text with its first letter raised."""
    return text[:1].upper() + text[1:]


def _name(item: object, index: int) -> str:
    action = item.get("action") if isinstance(item, Mapping) else None
    return str(action["tool_name"]) if isinstance(action, Mapping) and "tool_name" in action else f"c{index + 1}"


def _criterion(item: object, bare: bool) -> Any:
    return item if isinstance(item, Mapping) or bare else {"description": item}
