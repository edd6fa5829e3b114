"""Triage: the team a ticket belongs to."""

from __future__ import annotations

import random

from kit.checkpoint.training.samples import Sample, Split
from kit.checkpoint.training.tasks import prose
from kit.checkpoint.training.tasks.actions import split_of_pair
from kit.checkpoint.training.tasks.messages import dressed, pairs, wrapped
from kit.checkpoint.training.tasks.parts import Part, choice, sentence_case, single, yes_or_no
from kit.checkpoint.training.tasks.teams import TEAMS
from kit.checkpoint.training.vocabulary import Wordings, code, distinct, invented, several, word

LEVELS = 4
OWN = (0.0, 0.0, 0.6, 0.65)  # by level, the share of tickets in people's own words
ONE = 0.12  # the share of tickets of which one team alone is asked
MIXED = 0.25  # the share of questions whose teams are not all described alike
APART = pairs(  # teams that may both be right: they are never asked for together
    "facilities water|facilities housekeeping|facilities energy|facilities waste|travel fleet|travel housekeeping|roads energy|roads parks|roads waste|waste parks|"
    "lost security|lost insurance|insurance fleet|insurance roads|insurance health|insurance security|events catering|events marketing|health pharmacy|mobile hardware|mobile identity|translation training|water energy|"
    "support mobile|catering facilities|water roads|health facilities|insurance refunds|fleet roads|insurance parks|housekeeping insurance|travel events|security hardware|hardware energy|security legal|hardware insurance"
)  # fmt: skip

TICKETS = Wordings(
    train=("The {t} {p}.", "My {t} {p}.", "Our {t} {p}, please help.", "Hello, the {t} {p}. {person}", "Subject: {t}\nThe {t} {p} since {day}.",
           "{person} says that the {t} {p}.", "Ticket {ref}: {t} {p}", "In {place} the {t} {p}.", "Since this morning the {t} {p}.",
           "I am writing because the {t} {p}.", "Help! The {t} {p}!", "Case {ref}. {person} in {place}: the {t} {p}.", "Good morning, the {t} {p}.", "Problem: {t} {p}", "We have a problem, the {t} {p}.", "Regards from {place}. The {t} {p}.",
           "It seems to me that my {t} {p}.", "{person}, {place}: {t} {p}",
           "Can somebody look at the {t}? It {p}.", "The {t} again: it {p}.", "A customer says that the {t} {p}.", "What do I do when the {t} {p}?", "I am told that the {t} {p}.", "It is about the {t}, which {p}.", "One more thing, the {t} {p}.",
           "Why is it that the {t} {p}?", "Since {day} our {t} {p}.", "As you may know, the {t} {p}.", "It {p}, I mean the {t}.", "There is something with the {t}: {p}", "{t}: {p}", "FYI, the {t} {p}.", "Yesterday we saw that the {t} {p}.",
           "You may want to know that the {t} in {place} {p}.", "Whom do I tell that the {t} {p}?", "This {t} {p}, too."),
    calibration=("Please help, my {t} {p} in {place}.", "{ref} / {person} / the {t} {p}"),
    held_out=("Good day, our {t} {p} since {day}. Regards, {person}", "Problem in {place}: {t} {p}", "It seems that the {t} {p}.", "We noticed on {day} that our {t} {p}."),
)  # fmt: skip
ASK = Wordings(
    train=("Which team should take this ticket?", "Where does the ticket go?", "Which queue owns this?", "Pick the team.", "Who should handle it?",
           "Assign the ticket to a team.", "Which desk is responsible?", "Route the ticket.", "Which team?", "Who is responsible for it?", "Which team is responsible for this ticket?", "Where should this message go?",
           "Which department should get it?", "Who should take the ticket?", "What is this message about?", "What is the topic of the message?", "Which category fits?", "Which topic is it?", "What kind of request is it?",
           "Who can deal with it?", "Whose job is this?", "Where do we send it?", "Who is meant to answer this?", "To whom does it go?", "Who should read it?", "Who deals with this kind of thing?", "Send it to the right people.", "Which group gets it?", "Choose who will take care of it.",
           "Who can help here?", "Sort the message.", "Whom should we pass it on to?", "Find the right place for this message.", "Who has to solve this?", "Which inbox does this belong to?", "Say who should look after it.", "Into which category does the message fall?", "Who ought to reply?",
           "What does the writer need help with?", "Which label fits the message?", "Whose problem is it?", "Forward it to:", "Who gets this?", "Classify the message.", "Classify the ticket by topic.", "Which of them should be told?", "Where would you put this one?", "Whose responsibility is this?", "Category?", "Owner?", "Team?",
           "What is the writer's problem about?", "By whom should it be handled?", "Under what heading would you file it?", "Dispatch this.", "Who knows about this sort of thing?"),
    calibration=("Which team owns this ticket?", "Who should see to it?"),
    held_out=("Which team should handle the ticket?", "Pick the desk for this.", "Who is responsible?", "What is the ticket about?", "Whom does this concern?", "Hand it over to:", "Who would be the one to answer?"),
)  # fmt: skip
IS_IT = Wordings(
    train=("Is it about {team}?", "Does it belong to {team}?", "Is this one for {team}?", "Should {team} get it?", "Is {team} the right place for it?", "Is it a matter of {team}?", "Does the message concern {team}?", "Would you send it to {team}?", "Is this about {purpose}?", "Is it about {purpose}?",
           "Does it have to do with {purpose}?", "Is {team} responsible?", "Is it the job of {team}?", "The ticket is for {team}.", "The writer needs {team}.", "Somebody says that it is about {team}. True?", "Does the topic fit {team} ({purpose})?", "Can {team} help the writer?", "{team} should answer. Right?",
           "Our desk does this: {purpose}. Is the message for us?", "We are {team}. Is it ours?", "Should it go to those who deal with {purpose}?", "Is the topic {team}?", "Pass it on to {team}?", "Is the text about something like this: {a}?"),
    calibration=("Is this a case for {team}?", "Has it to do with {team}?"),
    held_out=("Would {team} be the ones to answer?", "The message is about {team}. Is that right?", "Is it something for {team}, that is, {purpose}?", "Do we hand it over to {team}?"),
)  # fmt: skip
TEAM_TEXTS = Wordings(
    train=("{a}, {b} and {c}", "{Team}: {a}, {b}, {c}", "{Team}", "The {team} team", "{Team} team ({a}, {b})", "Queue {team}: {a} and {b}", "{team}", "{Team} team", "{Team} - {a}, {b}", "{Team} ({a}, {b})",
           "{a}, {b}, {c}", "Team {team}", "{Team}: everything about {a} and {b}", "{Team} department", "Questions about {a} or {b}", "{Team} desk", "{Team} and {a}", "{a} or {b}", "{Team}: {a}", "the {team} desk ({a}, {b})",
           "{purpose}", "{purpose}", "{Team}: {purpose}", "{Team} - {purpose}", "{Team} ({purpose})", "{team}, {purpose}", "{purpose} ({a}, {b})", "For {a}, {b} and the like", "Handles {a}, {b} and {c}", "Looks after {a} and {b}", "{a}, {b} or {c} ({team})", "Takes care of {a} and {b}",
           "People who know about {a} and {b}", "They do {a}, {b} and {c}.", "It concerns {a}, {b} or {c}.", "Someone needs help with {a} or {b}.", "{Team}. Typical: {a}, {b}.", "{Team}; {a}; {b}; {c}", "{Team} / {a}", "{a} / {b} / {c}", "Goes to {team}", "{Team} people", "{Team} colleagues", "{team} queue", "{team} issue", "A matter of {team}",
           "{a}", "{a}, {b} and so on", "Messages about {a}, {b} and {c}", "{Team}: problems with {a}, {b} or {c}", "Anything with {a} or {b} goes here", "{Team}, for example {a}"),
    calibration=("{Team} desk: {a}, {b}",),
    held_out=("Team {team}: {a}, {b} and {c}", "{Team} ({a}, {b}, {c})", "{team} team", "The {team} department", "{purpose}: {a}, {b}", "Group for {a} and {b}", "Deals with {a}, {b} or {c}"),
)  # fmt: skip


def make(rng: random.Random, split: Split, level: int = LEVELS - 1) -> Sample:
    """0: two made-up teams; 1: two or three with what they do; 2: to five; 3: to eight, or fourteen; natural and long tickets."""
    return single(rng, "triage", split, level, part(rng, split, level))


def part(rng: random.Random, split: Split, level: int = LEVELS - 1) -> Part:
    """One ticket and the teams it may go to."""
    count = rng.randint(2, (2, 3, 5, 8)[level]) if level < 3 or rng.random() < 0.9 else rng.randint(9, 14)
    if rng.random() < (1.0, 0.35, 0.25, 0.2)[level]:
        return _made_up(rng, split, min(count, 8))
    teams = _together(rng, count)
    frames = [frame for frame in TEAM_TEXTS.of(split) if level != 1 or "{a}" in frame]
    mixed = level >= 2 and count <= 8 and rng.random() < MIXED
    one = rng.choice(frames) if count <= 8 else "{Team}"
    if level >= 2 and rng.random() < ONE:
        return _one(rng, split, teams, level)
    texts = [_team(rng, rng.choice(frames) if mixed else one, team) for team in teams]
    return Part(_ticket(rng, split, teams[0], level), *choice(rng, ASK.pick(rng, split), texts[0], texts[1:]))


def _one(rng: random.Random, split: Split, teams: list[str], level: int) -> Part:
    """Yes or no: does the ticket belong to the one team that is named?"""
    answer = rng.random() < 0.5
    found = TEAMS[teams[0 if answer else 1]]
    asked = IS_IT.pick(rng, split, team=rng.choice(found.names), purpose=rng.choice(found.purposes), a=rng.choice(found.topics))
    return Part(_ticket(rng, split, teams[0], level), *yes_or_no(rng, split, sentence_case(asked), answer))


def _together(rng: random.Random, count: int) -> list[str]:
    """Different teams, none of them one that the first one's tickets may also go to."""
    first, *others = rng.sample(list(TEAMS), len(TEAMS))
    return [first, *(team for team in others if frozenset((first, team)) not in APART)][:count]


def _made_up(rng: random.Random, split: Split, count: int) -> Part:
    """Teams that exist for one sample: what each is for stands in its text alone."""
    things = several(rng, "noun", split, 3 * count)
    teams = distinct(lambda: invented(rng, split), count)
    frame = rng.choice([item for item in TEAM_TEXTS.of(split) if "{a}" in item and "{b}" in item and "{purpose}" not in item])
    texts = []
    for n, team in enumerate(teams):
        a, b, c = things[3 * n : 3 * n + 3]
        texts.append(sentence_case(frame.format(team=team, Team=sentence_case(team), a=a, b=b, c=c)))
    topic = things[rng.randrange(2)]
    fields = _fields(rng, split)
    problem = rng.choice(rng.choice(list(TEAMS.values())).problems).format(**fields)
    text = sentence_case(TICKETS.pick(rng, split, t=topic, p=problem, **fields))
    return Part(text, *choice(rng, ASK.pick(rng, split), texts[0], texts[1:]))


def _fields(rng: random.Random, split: Split) -> dict[str, object]:
    return {
        "person": word(rng, "person", split), "place": word(rng, "place", split), "ref": code(rng), "n": rng.randint(5, 90),
        "day": rng.choice(("Monday", "Tuesday", "Thursday", "Friday", "Sunday")),
    }  # fmt: skip


def _ticket(rng: random.Random, split: Split, team: str, level: int) -> object:
    fields = _fields(rng, split)
    if rng.random() < OWN[level]:
        text = dressed(rng, split, TEAMS[team].sayings.pick(rng, split, **fields))
    else:
        found = TEAMS[team]
        pairs = [(t, p) for i, t in enumerate(found.topics) for j, p in enumerate(found.problems) if split_of_pair(i, j) == split]
        topic, problem = rng.choice(pairs)
        text = sentence_case(TICKETS.pick(rng, split, t=topic, p=problem.format(**fields), **fields))
    if level == 3 and rng.random() < 0.25:
        text = prose.around(rng, split, text, rng.randint(1, 3) if rng.random() < 0.8 else rng.randint(4, 8))
    return wrapped(rng, split, text)


def _team(rng: random.Random, frame: str, team: str) -> str:
    found = TEAMS[team]
    a, b, c = rng.sample(found.topics, 3)
    name, purpose = rng.choice(found.names), rng.choice(found.purposes)
    text = frame.format(team=name, Team=sentence_case(name), a=a, b=b, c=c, purpose=purpose)
    return text if rng.random() < 0.3 else sentence_case(text)
