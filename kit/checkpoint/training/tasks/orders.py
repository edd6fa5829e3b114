"""Instructions of several steps: which comes first, next, last, or which a condition that holds asks for.

Covers: standing orders, runbooks, notes; steps in every order of telling, all of them candidates; conditions on what a thing is.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from kit.checkpoint.training.samples import Split
from kit.checkpoint.training.tasks.parts import Part, choice, sentence_case, verdict, yes_or_no
from kit.checkpoint.training.vocabulary import Wordings, code, several, word

STEPS = Wordings(
    train=("close the valve", "call the nurse", "open the window", "restart the router", "lock the door", "ring the bell", "send the report", "stop the pump", "write it down", "tell the owner", "fill the tank", "take a photo", "ask the guard", "start the fan", "count the boxes",
           "wait ten minutes", "turn off the light", "empty the tray", "check the list", "make a copy", "pull the plug", "sign the form", "wake the captain", "page the engineer", "clear the queue", "free some space", "roll the release back", "block the card", "refund the money", "change the password",
           "send a van", "give the money back", "put up a sign", "measure it again", "switch to the spare", "read the log", "inform the customer", "weigh the parcel", "print a label", "clean the filter", "drain the pool", "stop the train", "raise the alarm", "leave the building", "go on as usual",
           "do nothing", "move the car", "book a room", "feed the animals", "save the file", "freeze the account", "look for smoke", "turn the heating down", "call a plumber", "warm up the engine", "hide the key", "send everybody home", "offer a discount", "add a server", "swap the battery"),
    calibration=("phone the office", "water the plants", "reset the counter", "bring a ladder", "throw it away"),
    held_out=("call the fire brigade", "shut the gate", "turn off the water", "restart the service", "note the time", "fetch the first aid box", "mail the customer", "take the spare key", "hold the delivery", "bring in a second driver"),
)  # fmt: skip
DOCS = ("standing order", "runbook", "note", "handbook", "checklist", "plan", "instruction", "manual", "house order", "procedure")
IN_ORDER = Wordings(  # three steps as they are done; a fourth, where there is one, goes before the last
    train=("First {a}, then {b}, and last {c}.", "Begin like this: {a}. After that {b}. At the end {c}.", "{A}, {b}, {c}, in this order.", "1. {A}\n2. {B}\n3. {C}", "1) {a} 2) {b} 3) {c}", "{A}. Then {b}. Then {c}.", "Start: {a}. Next: {b}. Finish: {c}.",
           "One has to {a}, after that to {b} and only then to {c}.", "{A} before anything else, then {b}, then {c}.", "Step 1: {a}\nStep 2: {b}\nStep 3: {c}", "You {a}, you {b}, and when that is done you {c}.", "At the very start {a}; afterwards {b}; finally {c}.", "- {a}\n- then {b}\n- last of all {c}",
           "{A} -> {b} -> {c}", "To begin with, {a}. When this is done, {b}. To end with, {c}.", "{A}. Only after that {b}. {C} when all is done.", "We {a} first. Second, we {b}. Third, we {c}.", "a. {a}\nb. {b}\nc. {c}", "It starts with this: {a}. It goes on with this: {b}. It ends with this: {c}."),
    calibration=("Initially {a}; next {b}; in the end {c}.", "{A}, afterwards {b}, and {c} to finish."), held_out=("The first thing is to {a}, the second to {b}, the third to {c}.", "{A} straight away, {b} after it, and close with this: {c}.", "(1) {a}; (2) {b}; (3) {c}"),
)  # fmt: skip
OUT_OF_ORDER = Wordings(  # the same, told in another order than it is done
    train=("{C} at the end. {A} at the start. {B} in between.", "Before you {b}, {a}. After both, {c}.", "Last, {c}. First, {a}. Between them, {b}.", "The end is to {c}, the beginning is to {a}, and in the middle {b}.", "Do not {b} before you {a}. The last thing is to {c}.",
           "{C} comes last. {B} comes second. {A} comes first.", "2. {B}\n1. {A}\n3. {C}", "3. {C}\n2. {B}\n1. {A}", "Finish: {c}. Start: {a}. In between: {b}.", "You may {c} only at the very end. Begin with this: {a}. Go on with this: {b}.", "Before you {c}, {b}. Before that, {a}.",
           "Second: {b}. Third: {c}. First: {a}.", "To {c} is the last step, to {a} is the first, to {b} the one between."),
    calibration=("Third, {c}. First, {a}. Second, {b}.",), held_out=("The last thing to do is to {c}, the first is to {a}, and between them {b}.", "Step 3: {c}\nStep 1: {a}\nStep 2: {b}"),
)  # fmt: skip
FIRST = Wordings(
    train=("What comes first?", "What is the first step?", "What is to be done at the very start?", "How does one begin?", "What does the {doc} say to do first?", "What must be done before all else?", "With what does it start?", "Which step opens the {doc}?", "What do we do first?",
           "Where does one start?", "Which of these is done first?", "What is done before the other steps?", "Name the first step.", "The beginning is what?", "What has to happen before anything else?", "What does {person} have to do first?", "Nothing is done yet. What now?", "Which step is number one?"),
    calibration=("Which step comes before the others?",), held_out=("What is the first thing to do?", "Which step does the {doc} begin with?", "What should {person} do first of all?"),
)  # fmt: skip
LAST = Wordings(
    train=("What comes last?", "What is the last step?", "What is to be done at the very end?", "How does it end?", "What does the {doc} say to do last?", "With what does it finish?", "Which step closes the {doc}?", "What do we do at the end?", "Which of these is done last?",
           "What is done after all other steps?", "Name the last step.", "What has to wait for everything else?", "What does {person} do in the end?", "All but one step is done. What is left?", "After everything else, what remains to be done?", "Which step is the final one?"),
    calibration=("Which step comes after the others?",), held_out=("What is the last thing to do?", "Which step does the {doc} end with?", "What should {person} do last of all?"),
)  # fmt: skip
NEXT = Wordings(
    train=("What comes right after this: {step}?", "{person} has just done this: {step}. What is next?", "Done: {step}. What comes next?", "What follows when this is done: {step}?", "After the step \"{step}\", what now?", "\"{step}\" is done. Which step is next?", "Which step follows \"{step}\"?",
           "We are through with this: {step}. And now?", "The last thing done was: {step}. How does it go on?", "Up to \"{step}\" all is done. What has to be done now?"),
    calibration=("Which step comes next after \"{step}\"?",), held_out=("What is the next step after this one: {step}?", "{person} is ready with this: {step}. What is to be done then?"),
)  # fmt: skip
DONE = Wordings(  # of a state
    train=("Done so far: {step}.", "{person} has done this: {step}.", "Ready up to here: {step}.", "Last entry: {step}, done by {person}.", "Now: \"{step}\" is done.", "Progress: {step} (done)."),
    calibration=("{person} is done with this: {step}.",), held_out=("So far {person} has done this: {step}.", "What was done last: {step}."),
)  # fmt: skip
NOW = Wordings(
    train=("What is the next step?", "What comes next?", "What has to be done now?", "How does it go on?", "And now?", "Which step is next?", "What follows?", "What should {person} do now?", "Which step is due?", "What is still to be done next?"),
    calibration=("Which step is the next one?",), held_out=("What is to be done next?", "Which step has to follow now?"),
)  # fmt: skip
IS_STEP = Wordings(
    train=("Is this the {place} step: {step}?", "Does it {end} with this: {step}?", "Is \"{step}\" the {place} thing to do?", "Does \"{step}\" come {place}?", "Do we {step} {place}?", "Is it right to {step} {place}?", "{person} says that one has to {step} {place}. Is that so?", "Should {person} {step} {place}?"),
    calibration=("Would \"{step}\" be the {place} step?",), held_out=("Does the {doc} {end} with this step: {step}?", "Is the {place} thing to {step}?"),
)  # fmt: skip
IF = Wordings(  # one condition and its step
    train=("If {cond}, {step}.", "When {cond}: {step}.", "{Step} if {cond}.", "Should it be that {cond}, then {step}.", "In case {cond}, {step}.", "{Cond}? Then {step}.", "As soon as {cond}, {step}.", "{Step} when {cond}.", "Whenever {cond}, one has to {step}.", "{Cond} -> {step}", "Where {cond}, {step}.",
           "If you see that {cond}, {step}.", "{Cond}: {step}.", "{Step}, but only if {cond}."),
    calibration=("Given that {cond}, {step}.",), held_out=("If it turns out that {cond}, {step}.", "{Step} in case {cond}.", "On finding that {cond}, {step}."),
)  # fmt: skip
ELSE = Wordings(
    train=("Otherwise {step}.", "In all other cases {step}.", "If none of this is so, {step}.", "Else {step}.", "For anything else: {step}.", "If nothing of that fits, {step}."),
    calibration=("In any other case {step}.",), held_out=("If nothing else is said, {step}.", "Failing all that, {step}."),
)  # fmt: skip
THINGS = Wordings(  # what may be in one of several ways
    train=("the light|red;green;yellow;off", "the door|open;shut;stuck", "the tank|full;empty;half full", "the alarm|on;off;broken", "the water|warm;cold;dirty", "the customer|angry;new;in a hurry", "the queue|long;short;stuck", "the disk|full;slow;broken", "the parcel|wet;torn;too heavy;too late",
           "the pressure|low;high;normal", "the road|icy;dry;closed", "the patient|asleep;awake;in pain", "the server|down;slow;too hot", "the battery|low;full;hot", "the room|free;taken;locked", "the bill|paid;unpaid;wrong", "the lift|stuck;full;out of order", "the weather|windy;sunny;wet",
           "the payment|late;double;refused", "the dog|calm;loud;gone", "the screen|black;blue;cracked", "the oven|cold;hot;broken", "the bus|late;full;on time", "the build|green;red;slow", "the signal|weak;strong;gone", "the lid|loose;open;shut", "the ticket|old;new;urgent"),
    calibration=("the ferry|closed;open;wet", "the printer|jammed;off;slow"), held_out=("the boiler|cold;leaking;too hot", "the line|busy;dead;noisy", "the guest|early;late;ill", "the machine|loud;silent;broken"),
)  # fmt: skip
FOUND = Wordings(  # what holds, beside an aside about something else
    train=("Now {cond}.", "{person} reports that {cond}.", "{Cond}.", "At {time} {person} saw that {cond}.", "Today {cond}.", "{person}: {cond}", "We find that {cond}.", "Just now {cond}, says {person}.", "{time} {cond}", "This morning {cond}.", "It is seen that {cond}.", "{Cond}, as {person} tells us."),
    calibration=("{person} noticed that {cond}.",), held_out=("{person} has found that {cond}.", "As of {time} {cond}."),
)  # fmt: skip
ASK_IF = Wordings(
    train=("What should be done now?", "What is to be done?", "What does the {doc} ask for?", "What do we do?", "Which step applies?", "What is right here?", "What has {person} to do?", "Which step is called for?", "Go by the {doc}: what now?", "So what is next?", "What follows from the {doc}?", "What would the {doc} have us do?",
           "How do we act?", "What is the right step now?"),
    calibration=("Which step has to be taken?",), held_out=("Which step does the {doc} ask for here?", "What should {person} do in this case?"),
)  # fmt: skip
SAID_STEPS = Wordings(  # how a candidate gives a step
    train=("{step}", "{step}", "{step}", "{Step}", "{Step}", "{Step}.", "we {step}", "to {step}", "please {step}", "one has to {step}", "it is time to {step}"), calibration=("now {step}",), held_out=("{Step} now", "you should {step}", "\"{step}\""),
)  # fmt: skip
WORDS = {"first": "begin", "last": "end"}


def part(rng: random.Random, split: Split, level: int) -> Part:
    """One question about steps: by their order, or by a condition."""
    return _conditional(rng, split, level) if rng.random() < 0.5 else _ordered(rng, split, level)


def _ordered(rng: random.Random, split: Split, level: int) -> Part:
    steps, names = _steps(rng, split, 3), _names(rng, split)
    place = rng.choice((0, 0, 1, 2))  # the first, the next after the first or the second, the last
    told = (OUT_OF_ORDER if rng.random() < 0.4 else IN_ORDER).pick(rng, split, **_filled(steps))
    state: object = f"{_head(rng, names)}{told}"
    reason = f"first {steps[0]}, then {steps[1]}, last {steps[2]}"
    if place != 1 and rng.random() < 0.25:
        at = "first" if place == 0 else "last"
        answer = rng.random() < 0.5
        step = steps[place] if answer else rng.choice([item for n, item in enumerate(steps) if n != place])
        question = IS_STEP.pick(rng, split, place=at, end=WORDS[at], step=step, **names)
        return Part(_boxed(rng, names, state), *yes_or_no(rng, split, sentence_case(question), answer, what=f"the {at} step"), reason=f"{reason}: {verdict(answer)}")
    if place == 1:
        after = rng.randrange(2)
        right = steps[after + 1]
        if rng.random() < 0.5:
            done = DONE.pick(rng, split, step=steps[after], **names)
            state, question = _with(rng, names, told, done), NOW.pick(rng, split, **names)
        else:
            state, question = _boxed(rng, names, state), NEXT.pick(rng, split, step=steps[after], **names)
        others = [step for step in steps if step != right]
        return _which(rng, split, state, question, right, others, f"{reason}; after {steps[after]}: {right}")
    if rng.random() < 0.12:
        state = {names["doc"].replace(" ", "_"): steps}
    elif rng.random() < 0.4:
        state = _with(rng, names, told, LOGGED.pick(rng, split, **names))
    else:
        state = _boxed(rng, names, state)
    right = steps[place]
    question = (FIRST if place == 0 else LAST).pick(rng, split, **names)
    return _which(rng, split, state, question, right, [step for step in steps if step != right], reason)


LOGGED = Wordings(  # asides of a state
    train=("{person} has the shift.", "{person} is in {where} today.", "Case {ref}.", "Nothing is done yet.", "Written by {person}.", "For {where}.", "{person} will see to it.", "Asked by {person} at {time}."),
    calibration=("{person} is on duty.",), held_out=("{person} takes care of it.", "Number {ref}, from {where}."),
)  # fmt: skip


def _conditional(rng: random.Random, split: Split, level: int) -> Part:
    """Conditions on one thing, each with its step, and what holds: one of them, or none where the rest has a step."""
    names = _names(rng, split)
    if rng.random() < 0.7:
        thing, _, ways = rng.choice(THINGS.of(split)).partition("|")
        values = ways.split(";")
        rng.shuffle(values)
    else:
        thing, values = f"the {word(rng, 'noun', split)}", several(rng, "adjective", split, 4)
    count = 2 if level < 3 or len(values) < 3 else rng.randint(2, min(3, len(values)))
    rest = len(values) > count and rng.random() < 0.45
    steps = _steps(rng, split, count + rest)
    said = rng.choice(IF.of(split))
    conds = [f"{thing} is {value}" for value in values[: count + 1]]
    rules = [_rule(said if rng.random() < 0.6 else rng.choice(IF.of(split)), cond, step) for cond, step in zip(conds, steps[:count], strict=False)]
    at = rng.randrange(count + rest)
    if rest:
        rules.append(ELSE.pick(rng, split, step=steps[count]))
    cond = conds[at]
    told = (" " if rng.random() < 0.5 else "\n").join(rules)
    if rng.random() < 0.2:
        state: object = {names["doc"].replace(" ", "_"): told if rng.random() < 0.5 else rules, thing.removeprefix("the ").replace(" ", "_"): values[at]}
    else:
        found = FOUND.pick(rng, split, cond=cond, Cond=sentence_case(cond), **names)
        state = _with(rng, names, told, sentence_case(found))
    right = steps[at]
    reason = f"{cond}: {right}"
    if rng.random() < 0.2:
        answer = rng.random() < 0.5
        step = right if answer else rng.choice([item for item in steps if item != right])
        question = DO_NOW.pick(rng, split, step=step, **names)
        return Part(state, *yes_or_no(rng, split, sentence_case(question), answer, what=DO_WORDS.pick(rng, split, step=step)), reason=f"{reason}, asked {step}: {verdict(answer)}")
    return _which(rng, split, state, ASK_IF.pick(rng, split, **names), right, [step for step in steps if step != right], reason)


DO_NOW = Wordings(
    train=("Do we {step}?", "Should one {step} now?", "Is it time to {step}?", "Does the {doc} say to {step}?", "Must {person} {step}?", "Is it right to {step} here?", "Is this the step to take: {step}?", "Does one have to {step} now?"),
    calibration=("Has {person} to {step} now?",), held_out=("Should {person} {step} in this case?", "Is it called for to {step}?"),
)  # fmt: skip

DO_WORDS = Wordings(
    train=("{step}|do not {step}", "{step}|something else", "yes, {step}|no, another step", "we {step}|we do not {step}", "it is time to {step}|it is not time to {step}", "do it|do something else", "{step} now|{step} some other time", "that is what to do|that is not what to do"),
    calibration=("right, {step}|wrong, not {step}",), held_out=("one has to {step}|one does not have to {step}", "{step}|take another step"),
)  # fmt: skip


def _which(rng: random.Random, split: Split, state: object, question: str, right: str, others: Sequence[str], reason: str) -> Part:
    """A choice among the steps, all said alike."""
    said = rng.choice(SAID_STEPS.of(split))
    shown = [said.format(step=step, Step=sentence_case(step)) for step in (right, *others)]
    return Part(state, *choice(rng, sentence_case(question), shown[0], shown[1:]), reason=reason)


def _rule(said: str, cond: str, step: str) -> str:
    return sentence_case(said.format(cond=cond, Cond=sentence_case(cond), step=step, Step=sentence_case(step)))


def _steps(rng: random.Random, split: Split, count: int) -> list[str]:
    """Different steps, some of them of a verb and a noun."""
    found: dict[str, None] = {}
    while len(found) < count:
        plain = rng.random() < 0.3
        found[f"{word(rng, 'verb', split)} the {word(rng, 'noun', split)}" if plain else rng.choice(STEPS.of(split))] = None
    return list(found)


def _filled(steps: Sequence[str]) -> dict[str, str]:
    """The slots of an order: a, b, c, small and with a capital."""
    small = dict(zip("abc", steps, strict=True))
    return small | {key.upper(): sentence_case(step) for key, step in small.items()}


def _head(rng: random.Random, names: dict[str, str]) -> str:
    return rng.choice(("", "", f"{sentence_case(names['doc'])}: ", f"{sentence_case(names['doc'])} of {names['where']}\n", f"The {names['doc']} says: "))


def _with(rng: random.Random, names: dict[str, str], told: str, more: str) -> object:
    """An order and something beside it: in one text in either order, or in JSON."""
    kind = rng.random()
    if kind < 0.3:
        key = names["doc"].replace(" ", "_")
        pairs: list[tuple[str, object]] = [(key, told), (rng.choice(("now", "log", "report", "message", "note_today")), more)]
        return dict(pairs if rng.random() < 0.6 else pairs[::-1])
    glue = "\n" if rng.random() < 0.4 or "\n" in told else " "
    return f"{_head(rng, names)}{told}{glue}{more}" if kind < 0.8 else f"{more}{glue}{_head(rng, names)}{told}"


def _boxed(rng: random.Random, names: dict[str, str], state: object) -> object:
    return {names["doc"].replace(" ", "_"): state} if rng.random() < 0.2 else state


def _names(rng: random.Random, split: Split) -> dict[str, str]:
    time = f"{rng.randint(0, 23)}:{rng.randint(0, 59):02}"
    return {"person": word(rng, "person", split), "doc": rng.choice(DOCS), "where": word(rng, "place", split), "ref": code(rng), "time": time}
