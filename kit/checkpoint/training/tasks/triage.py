"""Triage: the team a ticket belongs to."""

from __future__ import annotations

import random

from kit.checkpoint.training.samples import Sample, Split
from kit.checkpoint.training.tasks.actions import split_of_pair
from kit.checkpoint.training.tasks.parts import Part, choice, sentence_case, single
from kit.checkpoint.training.vocabulary import Wordings, code, distinct, invented, several, word

TEAMS = {
    "billing": ("invoice, bill, charge, direct debit, receipt, VAT number", "is wrong, came twice, shows the old amount"),
    "refunds": ("refund, money back, credit note, chargeback, deposit, cashback", "never arrived, is still open, was promised last week"),
    "identity": ("password, login, second factor, user account, access code, sign-in page", "does not work, is locked, was rejected"),
    "network": ("wifi, VPN, network cable, internet line, router, proxy", "is slow, drops all the time, has no signal"),
    "printing": ("printer, toner, paper tray, scanner, copy machine, ink", "is jammed, is empty, prints stripes"),
    "hardware": ("laptop, monitor, keyboard, mouse, docking station, battery", "is broken, stays dark, gets too hot"),
    "delivery": ("parcel, courier, shipment, tracking number, delivery van, package", "is late, went to another address, is lost"),
    "returns": ("return label, exchange, returned shoes, wrong size, broken article, return box", "must be picked up, was not accepted, has to go back"),
    "hiring": ("job offer, interview, application, trainee, candidate, hiring form", "needs an answer, was moved, is missing"),
    "payroll": ("salary, payslip, overtime, bonus, wage tax, expense claim", "was not paid, is too low, has an error"),
    "travel": ("flight, hotel, train ticket, visa, travel booking, rental car", "was cancelled, has the wrong date, must be changed"),
    "facilities": ("heating, elevator, window, toilet, light bulb, parking lot", "leaks, makes a noise, is out of order"),
    "security": ("phishing mail, virus, stolen badge, suspicious link, data leak, malware", "was reported, was found, needs an alarm"),
    "legal": ("contract, court letter, privacy request, licence, trademark, terms of use", "has to be signed, needs a lawyer, is disputed"),
    "marketing": ("newsletter, campaign, press release, logo, advert, trade fair", "must be designed, needs new pictures, starts soon"),
    "database": ("database, table, backup, slow query, index, replica", "is corrupt, takes hours, is out of space"),
    "mobile": ("app, phone update, push message, app store, tablet, home screen", "crashes, cannot be installed, shows a blank page"),
    "training": ("course, workshop, certificate, lesson, teacher, exam", "is full, was postponed, needs a room"),
    "warehouse": ("pallet, forklift, shelf, stock count, loading dock, inventory", "is blocked, does not match, was damaged"),
    "catering": ("lunch, canteen, coffee machine, menu, vegan meal, kitchen", "tastes bad, is sold out, must be ordered"),
}  # fmt: skip
TICKETS = Wordings(
    train=("The {t} {p}.", "My {t} {p}.", "Our {t} {p}, please help.", "Hello, the {t} {p}. {person}", "Subject: {t}\nThe {t} {p} since {day}.",
           "{person} says that the {t} {p}.", "Ticket {ref}: {t} {p}", "In {place} the {t} {p}.", "Since this morning the {t} {p}.",
           "I am writing because the {t} {p}.", "Help! The {t} {p}!", "Case {ref}. {person} in {place}: the {t} {p}."),
    calibration=("Please help, my {t} {p} in {place}.", "{ref} / {person} / the {t} {p}"),
    held_out=("Good day, our {t} {p} since {day}. Regards, {person}", "Problem in {place}: {t} {p}", "It seems that the {t} {p}."),
)  # fmt: skip
ASK = Wordings(
    train=("Which team should take this ticket?", "Where does the ticket go?", "Which queue owns this?", "Pick the team.", "Who should handle it?",
           "Assign the ticket to a team.", "Which desk is responsible?", "Route the ticket."),
    calibration=("Which team owns this ticket?",), held_out=("Which team should handle the ticket?", "Pick the desk for this.", "Who is responsible?"),
)  # fmt: skip
TEAM_TEXTS = Wordings(
    train=("{a}, {b} and {c}", "{Team}: {a}, {b}, {c}", "{Team}", "The {team} team", "{Team} team ({a}, {b})", "Queue {team}: {a} and {b}"),
    calibration=("{Team} desk: {a}, {b}",), held_out=("Team {team}: {a}, {b} and {c}", "{Team} ({a}, {b}, {c})", "{team} team"),
)  # fmt: skip


def make(rng: random.Random, split: Split, most: int = 10) -> Sample:
    """One sample with 2 to `most` teams, at most twenty."""
    return single(rng, "triage", split, part(rng, split, most))


def part(rng: random.Random, split: Split, most: int = 10) -> Part:
    """One ticket and the teams it may go to."""
    count = rng.randint(2, min(most, 8)) if most < 16 or rng.random() < 0.8 else rng.randint(9, min(most, 14))
    if rng.random() < 0.25:
        return _made_up(rng, split, min(count, 8))
    teams = rng.sample(list(TEAMS), count)
    frame = rng.choice(TEAM_TEXTS.of(split))
    texts = [_team(rng, frame, team, short=count > 8) for team in teams]
    return Part(_ticket(rng, split, teams[0]), *choice(rng, ASK.pick(rng, split), texts[0], texts[1:]))


def _made_up(rng: random.Random, split: Split, count: int) -> Part:
    """Teams that exist for one sample: what each is for stands in its text alone."""
    things = several(rng, "noun", split, 3 * count)
    teams = distinct(lambda: invented(rng, split), count)
    frame = rng.choice([item for item in TEAM_TEXTS.of(split) if "{a}" in item])
    texts = []
    for n, team in enumerate(teams):
        a, b, c = things[3 * n : 3 * n + 3]
        texts.append(sentence_case(frame.format(team=team, Team=sentence_case(team), a=a, b=b, c=c)))
    topic = things[rng.randrange(2)]
    problem = rng.choice(rng.choice(list(TEAMS.values()))[1].split(", "))
    text = TICKETS.pick(rng, split, t=topic, p=problem, person=word(rng, "person", split), place=word(rng, "place", split), ref=code(rng), day="noon")
    return Part(sentence_case(text), *choice(rng, ASK.pick(rng, split), texts[0], texts[1:]))


def topics(team: str) -> list[str]:
    """What tickets of a team are about."""
    return [topic.strip() for topic in TEAMS[team][0].split(",")]


def _ticket(rng: random.Random, split: Split, team: str) -> object:
    problems = [problem.strip() for problem in TEAMS[team][1].split(",")]
    pairs = [(t, p) for i, t in enumerate(topics(team)) for j, p in enumerate(problems) if split_of_pair(i, j) == split]
    topic, problem = rng.choice(pairs)
    person, place = word(rng, "person", split), word(rng, "place", split)
    text = TICKETS.pick(rng, split, t=topic, p=problem, person=person, place=place, ref=code(rng), day=rng.choice(("Monday", "Friday", "noon")))
    text = sentence_case(text)
    return text if rng.random() < 0.7 else {"id": code(rng), "text": text, "from": person}


def _team(rng: random.Random, frame: str, team: str, short: bool) -> str:
    a, b, c = rng.sample(topics(team), 3)
    return sentence_case((frame if not short else "{Team}").format(team=team, Team=sentence_case(team), a=a, b=b, c=c))
