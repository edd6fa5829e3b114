"""Route: the tool an utterance asks for, among distractor tools; at times none of them."""

from __future__ import annotations

import json
import random

from kit.checkpoint.training.samples import Sample, Split
from kit.checkpoint.training.tasks import prose
from kit.checkpoint.training.tasks.actions import ACTIONS, Action
from kit.checkpoint.training.tasks.messages import dressed, pairs, wrapped
from kit.checkpoint.training.tasks.parts import Part, choice, sentence_case, single, yes_or_no
from kit.checkpoint.training.tasks.sayings import SAYINGS
from kit.checkpoint.training.vocabulary import DAYS, Wordings, code, several, word

LEVELS = 5
UTTERANCES = Wordings(
    train=("Please {v} {o}{d}.", "Can you {v} {o}{d}?", "Could you {v} {o}{d}, please?", "I want you to {v} {o}{d}.", "{v} {o}{d}",
           "{v} {o}{d}.", "I would like to {v} {o}{d}.", "I need to {v} {o}{d}", "Hi, {v} {o}{d}. Thanks!", "We have to {v} {o}{d}.",
           "Would you mind to {v} {o}{d}?", "{person} asked me to {v} {o}{d}.", "Hey, can I {v} {o}{d}?", "Let us {v} {o}{d}.",
           "Is it possible to {v} {o}{d}?", "Help me to {v} {o}{d}.", "Time to {v} {o}{d}.", "My wish: {v} {o}{d}.",
           "Next step: {v} {o}{d}", "Do me a favour and {v} {o}{d}.", "{person} wants to {v} {o}{d}.", "Go and {v} {o}{d}, quickly.",
           "You should {v} {o}{d}.", "How do I {v} {o}{d}?", "I forgot to {v} {o}{d}.", "Try to {v} {o}{d} again.",
           "I was told to {v} {o}{d}.", "Would you {v} {o}{d} for us?", "My boss wants us to {v} {o}{d}.", "It is time that we {v} {o}{d}.", "First, {v} {o}{d}.", "Then {v} {o}{d}.", "Okay, {v} {o}{d} now.", "Can someone {v} {o}{d}?", "I am trying to {v} {o}{d}.",
           "We are about to {v} {o}{d}.", "{person} needs you to {v} {o}{d}.", "Do not forget to {v} {o}{d}.", "Is there a way to {v} {o}{d}?", "I cannot {v} {o}{d} myself.", "We agreed to {v} {o}{d}.", "To do: {v} {o}{d}", "{v} {o}{d}, if you can.", "{v} {o}{d} and tell me when it is done.",
           "It is my job to {v} {o}{d}, but I have no time.", "I promised {person} to {v} {o}{d}."),
    calibration=("Please try to {v} {o}{d}.", "It would be nice to {v} {o}{d}.", "Can {person} {v} {o}{d}?", "{person} here: {v} {o}{d}."),
    held_out=("Would it be possible to {v} {o}{d}?", "Good morning, I have to {v} {o}{d}.", "I am {person} and I want to {v} {o}{d}.",
              "Quickly, {v} {o}{d}!", "Let me {v} {o}{d}, will you?", "Task for you: {v} {o}{d}",
              "{person} told me to {v} {o}{d}.", "If you can, {v} {o}{d}."),
)  # fmt: skip
ASK = Wordings(
    train=("Which tool should be called?", "Which tool fits?", "Pick the tool for this request.", "Which tool answers the user?",
           "Choose the right tool.", "What should the agent call?", "Select the tool to use.", "Which function does the user need?",
           "Where should this request go?", "What does the user need?", "Which tool is the right one?", "Choose a tool.", "Which function should be called?",
           "Which tool does the user want?", "Which of the tools can do it?", "What is the best tool here?",
           "What should happen next?", "Which action does the user want?", "What is the user after?", "What is wanted?", "Which of these does the job?", "Which tool would you use?", "How can the wish be fulfilled?", "Which of them helps the user?", "Which command is meant?", "What is to be done?", "Name the function for this.",
           "Which call answers the message?", "Which skill is asked for?", "What is the intent?", "Which intent is it?", "Find the tool that does this.", "What should be run?", "Which one should the assistant use?", "Route the message to a tool.", "Tool?", "Which function handles this?", "What would help here?", "Decide on the next call.",
           "Which capability is needed?", "What does the message ask for?", "Which step comes next?", "Which tool do we hand this to?", "Which endpoint serves the request?", "What shall we do for the user?", "Which of the actions is meant?"),
    calibration=("Which tool does the user need?", "Choose the tool to call."),
    held_out=("Which tool should the agent use?", "Pick the function that fits.", "Select the tool for this user.", "What is the user asking us to do?", "Which of these would carry out the wish?", "Next action?"),
)  # fmt: skip
IS_IT = Wordings(
    train=("Does the user want to {v} {o}?", "Is it the wish of the user to {v} {o}?", "Should we {v} {o}?", "Is {name} the right tool?", "Should {name} be called?", "Does {name} ({said}) help here?", "Would you call {name}?", "Does somebody want to {v} {o}?", "The user wants us to {v} {o}.", "Is {name} what the user needs?",
           "There is a tool: {said}. Does it fit?", "One tool is left, {name}. Use it?", "Is the request one for {name}?", "Call {name} now?", "We could {v} {o}. Is that what is wanted?", "Can {name} do what is asked?", "Is the message a request to {v} {o}?", "Do they ask us to {v} {o}?", "The tool {name} fits.", "Tool: {name} - {said}. Is it the one to use?"),
    calibration=("Is {name} the tool to use?",), held_out=("Would it be right to {v} {o}?", "The right call is {name}. Correct?", "Is {name} meant here ({said})?", "Did the user ask to {v} {o}?"),
)  # fmt: skip
SUMMARIES = Wordings(
    train=("{V} {o}", "{V} {o}.", "Use it to {v} {o}", "Lets you {v} {o}", "{V} or {w} {o}", "A tool to {v} {o}", "Use this to {v} {o}", "Can {v} {o}", "{V} or {w} {o}.",
           "For users who want to {v} {o}", "The tool to {v} {o}.",
           "Call this to {v} {o}.", "Call it when somebody wants to {v} {o}", "When the user wants to {v} {o}", "Is able to {v} {o}", "Helps to {v} {o}", "Somebody wants to {v} {o}", "Made to {v} {o}", "Function to {v} or {w} {o}", "To {v} {o}", "In order to {v} {o}", "{V} {o}; nothing else", "{V} {o} (or {w} it)", "An action: {v} {o}",
           "The user asks to {v} {o}", "Whenever one has to {v} {o}", "Choose this to {v} {o}", "{V} {o} for somebody", "This can {v} {o}."),
    calibration=("Tool to {v} {o}",), held_out=("Use this tool to {v} {o}", "Lets the user {v} {o}", "{V} {o} for the user", "Should be called to {v} {o}", "The user would like to {v} {o}"),
)  # fmt: skip
SMALL_TALK = Wordings(
    train=("How are you?", "Nice to meet you.", "Thank you, that was all.", "Good morning!", "You are funny.", "I am tired today.",
           "What a long day.", "Tell me a joke.", "Who made you?", "Bye, see you tomorrow.", "Hello!", "I am fine.", "Thank you, you are nice.", "You are a good friend.", "It was a long week.",
           "Hello, who are you?", "See you.", "That was funny.",
           "You are right.", "I see.", "That is what I thought.", "Are you a machine?", "Do you like your work?", "Sorry, I did not mean you.", "Ha, good one.", "Never mind.", "All is well, thanks.", "I just wanted to say hello.", "How old are you?", "What is your name?", "You have been a great help.", "I had a good day with {person}.",
           "I like {place}.", "My dog is called {person}.", "Nothing for now, thanks.", "Let us just talk.", "What do you think of me?", "I am bored.", "Can you feel anything?", "Oh, really?", "No, that is all.", "Have a nice evening.", "Good night.", "Do you know that you are funny?", "It is my birthday!", "We won the game!", "Okay.", "Great.", "Hm."),
    calibration=("Thanks, you are nice.", "Good evening!"), held_out=("I am fine, thank you.", "Good morning, who are you?", "That was a long day, bye.", "You are funny, do you know that?", "Okay, that is all for now."),
)  # fmt: skip
ELSEWHERE = Wordings(  # what no tool of the catalogue does
    train=("Write me a poem about the {noun}.", "Paint my fence.", "Cut my hair on {day}.", "Teach my dog to sit.", "Repair my bicycle, please.", "Knit a scarf for {person}.", "Sing me a song yourself.", "Wash my car.",
           "Make my bed.", "Invent a name for my cat.", "Play chess with me.", "Guess my age.", "Iron my shirts.", "Tell me a story about a {noun}.", "Choose a dress for me.", "Help me to get over {person}.", "Draw me a {noun}.", "Give me advice about my boss.",
           "Should I marry {person}?", "Plant a tree.", "Spell my name backwards.", "Bring down the rubbish.", "Feed the cat.", "Water the flowers."),
    calibration=("Clean the windows.",), held_out=("Write a song about {person}.", "Wash my shirts, please.", "Feed the dog and make the bed."),
)  # fmt: skip
NONE = Wordings(
    train=("None of these tools", "No tool is needed", "Answer without a tool", "None of these", "No tool", "none", "Use no tool", "no_tool", "None",
           "None of the above", "none of them fits", "No call", "Do not call anything", "Nothing to call", "Just talk", "Reply in words", "No action", "no action is needed", "The tools do not help", "Something else", "other", "Other", "Anything else", "Not possible with these tools", "nothing", "Answer directly", "Chat with the user",
           "There is no tool for it", "Not covered", "no match", "Skip the tools", "No function of these", "Say something back", "reply_directly"), calibration=("No tool fits",),
    held_out=("No tool of these is needed", "Answer with none of these tools", "None of the tools fits", "Only reply to the user"),
)  # fmt: skip
ONE = 0.1  # the share of requests of which one tool alone is asked
OWN = 0.55  # the share of utterances that name no tool's verb, of the last levels
STYLES = (("_", "_", " ", "-", ".", "camel"), ("_", " ", "large"))  # how tools' names are written, in train and held out
NAMES = ("{v}_{o}", "{v}_{o}", "{v}-{o}", "{v} {o}", "{o}.{v}", "{o}_{v}")
APART = pairs(  # tools that may both do what somebody says: the second is never offered to who asks for the first
    "add_reminder create_event|add_reminder take_note|add_reminder set_timer|set_alarm set_timer|set_alarm add_reminder|refund_payment return_item|reset_password add_user|search_web find_route|search_web get_weather|"
    "search_web convert_currency|search_web read_inbox|search_web find_slot|convert_currency calculate|create_ticket restart_service|transfer_money refund_payment|cancel_event send_email|call_person send_sms|scale_service restart_service|return_item track_parcel|"
    "deploy_release restart_service|rollback_release restart_service|open_camera lock_door|create_event book_table|find_slot book_room|call_taxi rent_car|call_taxi find_route|add_user share_file|search_files take_note|get_balance calculate|"
    "create_ticket reset_password|create_event find_slot|create_event book_room|set_heating get_weather|call_taxi set_alarm|book_flight set_alarm|book_train set_alarm|book_table book_room|find_route book_train|find_route book_flight"
)  # fmt: skip
LANGUAGES = ("German", "Spanish", "Thai", "Chinese", "French", "English", "Italian")


def make(rng: random.Random, split: Split, level: int = LEVELS - 1) -> Sample:
    """0: two made-up tools; 1: two of the catalogue; 2: to four; 3: to six, or none; 4: to eight, natural sentences."""
    return single(rng, "route", split, level, part(rng, split, level))


def part(rng: random.Random, split: Split, level: int = LEVELS - 1) -> Part:
    """One request of a user and the tools at hand."""
    count = rng.randint(2, (2, 2, 4, 6, 8)[level])
    if rng.random() < (1.0, 0.3, 0.25, 0.2, 0.2)[level]:
        return _made_up(rng, split, count, level)
    chosen = _together(rng, count)
    if level >= 3 and rng.random() < ONE:
        return _one(rng, split, chosen, level)
    form = rng.choice((_tool, _tool, _tool, _plain, _plain, _name, _mixed))
    candidates = [form(rng, split, action) for action in chosen]
    text = utterance(rng, split, chosen[0], level)
    right = 0
    if level >= 3 and rng.random() < 0.3:
        candidates[-1] = NONE.pick(rng, split)
        if rng.random() < 1 / count:
            right = count - 1
            text = _unserved(rng, split, chosen[-1], level)
    others = [candidate for n, candidate in enumerate(candidates) if n != right]
    return Part(_state(rng, split, text, level), *choice(rng, ASK.pick(rng, split), candidates[right], others))


def _one(rng: random.Random, split: Split, chosen: list[Action], level: int) -> Part:
    """Yes or no: does the user want the one tool that is named?"""
    answer = rng.random() < 0.5
    wanted = chosen[0 if answer else 1]
    verb, thing = rng.choice([pair for pair in wanted.pairs("train") if "{" not in pair[1]] or [(wanted.verbs[0], wanted.objects[0])])
    asked = IS_IT.pick(rng, split, v=verb, o=thing, name=_name(rng, split, wanted), said=_summary(rng, split, wanted).rstrip("."))
    return Part(_state(rng, split, utterance(rng, split, chosen[0], level), level), *yes_or_no(rng, split, asked, answer))


def _together(rng: random.Random, count: int) -> list[Action]:
    """Different tools, none of them one that may also do what is asked of the first or of the last."""
    chosen: list[Action] = []
    for action in rng.sample(ACTIONS, len(ACTIONS)):
        if len(chosen) < count and not any(frozenset((action.name, other.name)) in APART for other in chosen):
            chosen.append(action)
    return chosen


def _unserved(rng: random.Random, split: Split, missing: Action, level: int) -> str:
    """Small talk, a wish that no tool fulfils, or what the tool asks for that is not there."""
    kind = rng.random()
    if kind < 0.4:
        return utterance(rng, split, missing, level)
    return sentence_case(_filled(rng, split, rng.choice((SMALL_TALK if kind < 0.75 else ELSEWHERE).of(split))))


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
    if level >= 3 and rng.random() < OWN:
        text = _filled(rng, split, rng.choice(SAYINGS[action.name].of(split)))
        return dressed(rng, split, sentence_case(text)) if rng.random() < 0.4 else sentence_case(text)
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
    """A description of its own, or one in words of train pairs: a catalogue is known, what people say of it is not."""
    if rng.random() < 0.5:
        train, held_out = action.descriptions
        return rng.choice(train) if split != "held-out" or rng.random() < 0.5 else held_out
    verb, thing = rng.choice(action.pairs("train"))
    slotless = [item for item in action.objects if "{" not in item]
    thing = thing if thing in slotless else rng.choice(slotless)
    return SUMMARIES.pick(rng, split, v=verb, V=sentence_case(verb), w=rng.choice(action.verbs), o=thing)


def _tool(rng: random.Random, split: Split, action: Action) -> object:
    style = rng.choice(STYLES[split == "held-out"])
    schema: dict[str, object] = {"name": _styled(action.name, style), "description": _summary(rng, split, action)}
    if rng.random() < 0.6:
        schema["parameters"] = {"type": "object", "properties": action.parameters, "required": list(action.required)}
    return {"description": json.dumps(schema, ensure_ascii=False), "action": {"tool_name": action.name}}


def _plain(rng: random.Random, split: Split, action: Action) -> object:
    return _summary(rng, split, action)


def _name(rng: random.Random, split: Split, action: Action) -> str:
    return _styled(action.name, rng.choice(STYLES[split == "held-out"]))


def _mixed(rng: random.Random, split: Split, action: Action) -> object:
    """A name and a description in one line of text, or either."""
    kind = rng.random()
    if kind < 0.3:
        return rng.choice((_plain, _name))(rng, split, action)
    return f"{_name(rng, split, action)}{rng.choice((': ', ' - ', ' | ', ', '))}{_summary(rng, split, action)}"


def _styled(name: str, style: str) -> str:
    """A tool's name as one of STYLES writes it."""
    words = name.split("_")
    if style == "camel":
        return words[0] + "".join(word.capitalize() for word in words[1:])
    if style == "large":
        return "".join(word.capitalize() for word in words)
    return style.join(words[::-1] if style == "." else words)


def _state(rng: random.Random, split: Split, text: str, level: int) -> object:
    if level >= 3 and rng.random() < 0.2:
        text = prose.around(rng, split, text, rng.randint(1, 2))
    if level == 0 or rng.random() < 0.25:
        return text if rng.random() < 0.7 else {rng.choice(("message", "user", "text")): text}
    return wrapped(rng, split, text)
