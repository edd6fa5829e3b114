"""Route: the tool an utterance asks for, among distractor tools; at times none of them."""

from __future__ import annotations

import json
import random

from kit.checkpoint.training.samples import Sample, Split
from kit.checkpoint.training.tasks.actions import ACTIONS, Action
from kit.checkpoint.training.tasks.parts import Part, choice, sentence_case, single
from kit.checkpoint.training.vocabulary import Wordings, code, word

UTTERANCES = Wordings(
    train=("Please {v} {o}{d}.", "Can you {v} {o}{d}?", "Could you {v} {o}{d}, please?", "I want you to {v} {o}{d}.", "{v} {o}{d}",
           "{v} {o}{d}.", "I would like to {v} {o}{d}.", "I need to {v} {o}{d}", "Hi, {v} {o}{d}. Thanks!", "We have to {v} {o}{d}.",
           "Would you mind to {v} {o}{d}?", "{person} asked me to {v} {o}{d}.", "Hey, can I {v} {o}{d}?", "Let us {v} {o}{d}.",
           "Is it possible to {v} {o}{d}?", "Help me to {v} {o}{d}.", "Time to {v} {o}{d}.", "My wish: {v} {o}{d}.",
           "Next step: {v} {o}{d}", "Do me a favour and {v} {o}{d}.", "{person} wants to {v} {o}{d}.", "Go and {v} {o}{d}, quickly.",
           "You should {v} {o}{d}.", "How do I {v} {o}{d}?", "I forgot to {v} {o}{d}.", "Try to {v} {o}{d} again."),
    calibration=("Please try to {v} {o}{d}.", "It would be nice to {v} {o}{d}.", "Can {person} {v} {o}{d}?", "{person} here: {v} {o}{d}."),
    held_out=("Would it be possible to {v} {o}{d}?", "Good morning, I have to {v} {o}{d}.", "I am {person} and I want to {v} {o}{d}.",
              "Quickly, {v} {o}{d}!", "Let me {v} {o}{d}, will you?", "Task for you: {v} {o}{d}"),
)  # fmt: skip
ASK = Wordings(
    train=("Which tool should be called?", "Which tool fits?", "Pick the tool for this request.", "Which tool answers the user?",
           "Choose the right tool.", "What should the agent call?", "Select the tool to use.", "Which function does the user need?",
           "Where should this request go?"),
    calibration=("Which tool does the user need?", "Choose the tool to call."),
    held_out=("Which tool should the agent use?", "Pick the function that fits.", "Select the tool for this user."),
)  # fmt: skip
SUMMARIES = Wordings(
    train=("{V} {o}", "{V} {o}.", "Use it to {v} {o}", "Lets you {v} {o}", "{V} or {w} {o}", "A tool to {v} {o}"),
    calibration=("Tool to {v} {o}",), held_out=("Use this tool to {v} {o}", "Lets the user {v} {o}"),
)  # fmt: skip
SMALL_TALK = Wordings(
    train=("How are you?", "Nice to meet you.", "Thank you, that was all.", "Good morning!", "You are funny.", "I am tired today.",
           "What a long day.", "Tell me a joke.", "Who made you?", "Bye, see you tomorrow."),
    calibration=("Thanks, you are nice.", "Good evening!"), held_out=("I am fine, thank you.", "Hello, who are you?", "That was a long day, bye."),
)  # fmt: skip
NONE = Wordings(
    train=("None of these tools", "No tool is needed", "Answer without a tool"), calibration=("No tool fits",),
    held_out=("No tool of these is needed", "Just answer, no tool"),
)  # fmt: skip
NAMES = ("{v}_{o}", "{v}_{o}", "{v}-{o}", "{v} {o}", "{o}.{v}", "{o}_{v}")
LANGUAGES = ("German", "Spanish", "Thai", "Chinese", "French", "English", "Italian")
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


def make(rng: random.Random, split: Split, most: int = 10) -> Sample:
    """One sample with 2 to 8 tools, fewer where `most` is."""
    return single(rng, "route", split, part(rng, split, most))


def part(rng: random.Random, split: Split, most: int = 10) -> Part:
    """One request of a user and the tools at hand."""
    count = rng.randint(2, min(most, 8))
    if rng.random() < 0.25:
        return _made_up(rng, split, count)
    chosen = rng.sample(ACTIONS, count)
    form = rng.choice((_tool, _tool, _tool, _plain, _name))
    candidates = [form(rng, split, action) for action in chosen]
    if rng.random() < 0.3:
        candidates[-1] = NONE.pick(rng, split)
        if rng.random() < 1 / count:
            text = SMALL_TALK.pick(rng, split)
            return Part(_state(rng, split, text), *choice(rng, ASK.pick(rng, split), candidates[-1], candidates[:-1]))
    text = utterance(rng, split, chosen[0])
    return Part(_state(rng, split, text), *choice(rng, ASK.pick(rng, split), candidates[0], candidates[1:]))


def _made_up(rng: random.Random, split: Split, count: int) -> Part:
    """Tools that exist for one sample: a verb and a noun each, which a distractor may share one of."""
    verb, noun = word(rng, "verb", split), word(rng, "noun", split)
    pairs = [(verb, noun)]
    while len(pairs) < count:
        other = (verb if rng.random() < 0.25 else word(rng, "verb", split), noun if rng.random() < 0.25 else word(rng, "noun", split))
        if other not in pairs:
            pairs.append(other)
    frame, summary, plain = rng.choice(NAMES), SUMMARIES.of(split), rng.random() < 0.3
    candidates: list[object] = []
    for v, o in pairs:
        text = rng.choice(summary).format(v=v, V=sentence_case(v), w=v, o=f"{rng.choice(('a', 'the'))} {o}")
        schema = {"name": frame.format(v=v, o=o)} | ({"description": text} if rng.random() < 0.7 else {})
        tool = {"description": json.dumps(schema, ensure_ascii=False), "action": {"tool_name": f"{v}_{o}"}}
        candidates.append(text if plain else tool)
    detail = rng.choice(("", " in {place}", " for {person}", " at {time}", " on {day}"))
    said = UTTERANCES.pick(rng, split, v=verb, o=f"{rng.choice(('a', 'the', 'my'))} {noun}", d=detail, person=word(rng, "person", split))
    text = sentence_case(_filled(rng, split, said))
    return Part(_state(rng, split, text), *choice(rng, ASK.pick(rng, split), candidates[0], candidates[1:]))


def utterance(rng: random.Random, split: Split, action: Action) -> str:
    """What a user says to have the action done."""
    verb, thing = rng.choice(action.pairs(split))
    detail = f" {rng.choice(action.details)}" if rng.random() < 0.7 else ""
    text = UTTERANCES.pick(rng, split, v=verb, o=thing, d=detail, person=word(rng, "person", split))
    return sentence_case(_filled(rng, split, text))


def _filled(rng: random.Random, split: Split, text: str) -> str:
    """The text with its slots filled, every slot drawn once."""
    return text.format(
        n=rng.randint(2, 30), time=f"{rng.randint(6, 21)}:{rng.choice(('00', '15', '30', '45'))}", day=rng.choice(DAYS),
        person=word(rng, "person", split), place=word(rng, "place", split), noun=word(rng, "noun", split),
        code=code(rng), amount=rng.randint(5, 900), service=word(rng, "service", split), language=rng.choice(LANGUAGES),
    )  # fmt: skip


def _summary(rng: random.Random, split: Split, action: Action) -> str:
    """A description in words of train pairs: a catalogue is known, what people say of it is not."""
    verb, thing = rng.choice(action.pairs("train"))
    slotless = [item for item in action.objects if "{" not in item]
    thing = thing if thing in slotless else rng.choice(slotless)
    return SUMMARIES.pick(rng, split, v=verb, V=sentence_case(verb), w=rng.choice(action.verbs), o=thing)


def _tool(rng: random.Random, split: Split, action: Action) -> object:
    schema: dict[str, object] = {"name": action.name, "description": _summary(rng, split, action)}
    if rng.random() < 0.75:
        schema["parameters"] = {"type": "object", "properties": action.parameters, "required": list(action.required)}
    return {"description": json.dumps(schema, ensure_ascii=False), "action": {"tool_name": action.name}}


def _plain(rng: random.Random, split: Split, action: Action) -> object:
    return _summary(rng, split, action)


def _name(rng: random.Random, split: Split, action: Action) -> object:
    return action.name if rng.random() < 0.5 else action.name.replace("_", " ")


def _state(rng: random.Random, split: Split, text: str) -> object:
    kind = rng.random()
    if kind < 0.6:
        return text
    if kind < 0.8:
        return {rng.choice(("message", "user", "text")): text}
    return {"channel": rng.choice(("chat", "mail", "phone")), "message": text, "user": word(rng, "person", split)}
