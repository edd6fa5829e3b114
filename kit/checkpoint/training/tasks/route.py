"""Route: the tool an utterance asks for, among distractor tools; at times none of them."""

from __future__ import annotations

import json
import random

from kit.checkpoint.training.samples import Sample, Split
from kit.checkpoint.training.tasks import prose
from kit.checkpoint.training.tasks.actions import ACTIONS, Action
from kit.checkpoint.training.tasks.parts import Part, choice, sentence_case, single
from kit.checkpoint.training.tasks.sayings import SAYINGS
from kit.checkpoint.training.vocabulary import Wordings, code, several, word

LEVELS = 5
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
           "Where should this request go?", "What does the user need?", "Which tool is the right one?", "Choose a tool.", "Which function should be called?",
           "Which tool does the user want?", "Which of the tools can do it?", "What is the best tool here?"),
    calibration=("Which tool does the user need?", "Choose the tool to call."),
    held_out=("Which tool should the agent use?", "Pick the function that fits.", "Select the tool for this user."),
)  # fmt: skip
SUMMARIES = Wordings(
    train=("{V} {o}", "{V} {o}.", "Use it to {v} {o}", "Lets you {v} {o}", "{V} or {w} {o}", "A tool to {v} {o}", "Use this to {v} {o}", "Can {v} {o}", "{V} or {w} {o}.",
           "For users who want to {v} {o}", "The tool to {v} {o}."),
    calibration=("Tool to {v} {o}",), held_out=("Use this tool to {v} {o}", "Lets the user {v} {o}", "{V} {o} for the user"),
)  # fmt: skip
SMALL_TALK = Wordings(
    train=("How are you?", "Nice to meet you.", "Thank you, that was all.", "Good morning!", "You are funny.", "I am tired today.",
           "What a long day.", "Tell me a joke.", "Who made you?", "Bye, see you tomorrow.", "Hello!", "I am fine.", "Thank you, you are nice.", "You are a good friend.", "It was a long week.",
           "Hello, who are you?", "See you.", "That was funny."),
    calibration=("Thanks, you are nice.", "Good evening!"), held_out=("I am fine, thank you.", "Good morning, who are you?", "That was a long day, bye."),
)  # fmt: skip
NONE = Wordings(
    train=("None of these tools", "No tool is needed", "Answer without a tool", "None of these", "No tool", "none", "Use no tool", "no_tool", "None"), calibration=("No tool fits",),
    held_out=("No tool of these is needed", "Answer with none of these tools"),
)  # fmt: skip
NAMES = ("{v}_{o}", "{v}_{o}", "{v}-{o}", "{v} {o}", "{o}.{v}", "{o}_{v}")
LANGUAGES = ("German", "Spanish", "Thai", "Chinese", "French", "English", "Italian")
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


def make(rng: random.Random, split: Split, level: int = LEVELS - 1) -> Sample:
    """0: two made-up tools; 1: two of the catalogue; 2: to four; 3: to six, or none; 4: to eight, natural sentences."""
    return single(rng, "route", split, level, part(rng, split, level))


def part(rng: random.Random, split: Split, level: int = LEVELS - 1) -> Part:
    """One request of a user and the tools at hand."""
    count = rng.randint(2, (2, 2, 4, 6, 8)[level])
    if rng.random() < (1.0, 0.3, 0.25, 0.2, 0.2)[level]:
        return _made_up(rng, split, count, level)
    chosen = rng.sample(ACTIONS, count)
    form = rng.choice((_tool, _tool, _tool, _plain, _name))
    candidates = [form(rng, split, action) for action in chosen]
    text = utterance(rng, split, chosen[0], level)
    right = 0
    if level >= 3 and rng.random() < 0.3:
        candidates[-1] = NONE.pick(rng, split)
        if rng.random() < 1 / count:
            right = count - 1
            # Small talk, or what the tool asks for that is not there.
            text = SMALL_TALK.pick(rng, split) if rng.random() < 0.6 else utterance(rng, split, chosen[-1], level)
    others = [candidate for n, candidate in enumerate(candidates) if n != right]
    return Part(_state(rng, split, text, level), *choice(rng, ASK.pick(rng, split), candidates[right], others))


def _made_up(rng: random.Random, split: Split, count: int, level: int) -> Part:
    """Tools that exist for one sample: a verb and a noun each, which a distractor may share one of."""
    kinds = count if level < 2 else rng.randint(max(2, count * 2 // 3), count)  # the fewer, the more tools share a word
    verbs, nouns = several(rng, "verb", split, kinds), several(rng, "noun", split, kinds)
    pairs = list(zip(verbs, nouns, strict=True))
    if level >= 2:
        pairs = rng.sample([(verb, noun) for verb in verbs for noun in nouns], count)
    verb, noun = pairs[0]
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
    return Part(_state(rng, split, text, level), *choice(rng, ASK.pick(rng, split), candidates[0], candidates[1:]))


def utterance(rng: random.Random, split: Split, action: Action, level: int = LEVELS - 1) -> str:
    """What a user says to have the action done: a verb and an object in a pattern, or a sentence of its own."""
    if level >= 3 and split != "calibration" and rng.random() < 0.35:
        text = rng.choice(SAYINGS[action.name][split == "held-out"])
    else:
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


def _state(rng: random.Random, split: Split, text: str, level: int) -> object:
    kind = rng.random()
    if level >= 3 and rng.random() < 0.2:
        text = prose.around(rng, split, text, rng.randint(1, 2))
    if kind < 0.6:
        return text
    if kind < 0.8:
        return {rng.choice(("message", "user", "text")): text}
    if kind < 0.92:
        return {"channel": rng.choice(("chat", "mail", "phone")), "message": text, "user": word(rng, "person", split)}
    customer = {"name": word(rng, "person", split), "city": word(rng, "place", split), "orders": rng.randint(0, 40)}
    return {"message": text, "customer": customer}
