"""Triage: the team a ticket belongs to."""

from __future__ import annotations

import random

from kit.checkpoint.training.samples import Sample, Split
from kit.checkpoint.training.tasks import prose
from kit.checkpoint.training.tasks.actions import split_of_pair
from kit.checkpoint.training.tasks.parts import Part, choice, sentence_case, single
from kit.checkpoint.training.vocabulary import Wordings, code, distinct, invented, several, word

LEVELS = 4
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
    "sales": ("quote, demo, discount, price list, trial version, upgrade", "is wanted for {n} people, should be sent to us, interests our company"),
    "support": ("error message, help page, settings page, export button, search box, dashboard", "shows an error, does nothing, loads for ever"),
}  # fmt: skip
SAYINGS = {  # what people write without naming a topic: train, then held out
    "billing": ("I was charged twice this month./Why is my bill so high?/You charged the wrong amount./I do not understand my bill./The amount on the bill is too high.", "I was charged the wrong amount this month."),
    "refunds": ("I want my money back./When do I get my money back?/I have been waiting for the money since {day}./Please pay it back to my card.", "I have been waiting to get my money back."),
    "identity": ("I cannot log in./I forgot my password./It says that my account is locked./My code is not accepted at sign-in.", "I forgot the code and cannot log in."),
    "network": ("There is no internet in the office./The connection drops all the time./Pages load very slowly, the wifi is weak.", "There is no wifi connection in the office."),
    "printing": ("Nothing comes out when I print./I cannot print or scan./The copies have stripes on paper.", "Nothing comes out on paper when I scan or print."),
    "hardware": ("My computer does not turn on./The screen stays dark./I spilled tea over the keys.", "The screen of my computer does not turn on."),
    "delivery": ("Where is my order?/My order has not arrived./The driver left it in the rain./Nothing was delivered on {day}.", "My order was not delivered, where is it?"),
    "returns": ("I want to send the shoes back./It does not fit, I would like another size./How do I send it back?", "It does not fit, how do I send it back?"),
    "hiring": ("I would like to apply for the job./Are there open jobs in {place}?/When will you decide about my application?", "I would like to apply for an open job in {place}."),
    "payroll": ("I was not paid for my extra hours./My pay is missing this month./Who can explain the tax on my pay?", "My pay for the extra hours is missing."),
    "travel": ("I need a hotel in {place} on {day}./How do I get to the meeting in {place}, by plane or train?/Book me a trip to {place}.", "I need a plane or train for my trip to {place}."),
    "facilities": ("It is too cold in the office, the heating is off./Water drips from the ceiling./The light in the hall is broken.", "The light and the heating in the hall are broken."),
    "security": ("Somebody asked for my password by mail./A stranger walked through the building./I clicked on a strange link.", "A strange mail asked for my password, there was a link."),
    "legal": ("A lawyer wrote to us./Please check the contract before we sign./They want to take us to court.", "Please check what the lawyer wrote before we sign."),
    "marketing": ("We need an advert for the fair./Who writes the text of the newsletter?/The press wants pictures of the logo.", "We need pictures and a text for the newsletter."),
    "database": ("The query runs for hours./The table is locked and the backup failed./We lost rows in the table.", "The backup of the table failed, rows are lost."),
    "mobile": ("The app closes itself on my phone./I get no push messages on my phone./The app cannot be found in the store.", "The app on my phone closes itself, no push messages."),
    "training": ("I want to learn more, are there courses?/When is the next exam?/Please put me on the list for the workshop.", "Are there courses before the next exam?"),
    "warehouse": ("We counted too few pallets in stock./The forklift does not move./The goods do not fit on the shelf.", "We counted too few goods in stock on the shelf."),
    "catering": ("The soup was cold at lunch./Is there something vegan to eat?/We need coffee for {n} guests.", "Is there something vegan for lunch for {n} guests?"),
    "sales": ("What does it cost for {n} people?/We want to buy more seats./Could somebody show us the product?/Is there a discount for schools?", "We want to buy it for {n} people, is there a discount?"),
    "support": ("The page shows an error when I save./How do I change my settings?/The button does nothing./The website does not work.", "The page shows an error, the button does nothing."),
}  # fmt: skip

TICKETS = Wordings(
    train=("The {t} {p}.", "My {t} {p}.", "Our {t} {p}, please help.", "Hello, the {t} {p}. {person}", "Subject: {t}\nThe {t} {p} since {day}.",
           "{person} says that the {t} {p}.", "Ticket {ref}: {t} {p}", "In {place} the {t} {p}.", "Since this morning the {t} {p}.",
           "I am writing because the {t} {p}.", "Help! The {t} {p}!", "Case {ref}. {person} in {place}: the {t} {p}.", "Good morning, the {t} {p}.", "Problem: {t} {p}", "We have a problem, the {t} {p}.", "Regards from {place}. The {t} {p}.",
           "It seems to me that my {t} {p}.", "{person}, {place}: {t} {p}"),
    calibration=("Please help, my {t} {p} in {place}.", "{ref} / {person} / the {t} {p}"),
    held_out=("Good day, our {t} {p} since {day}. Regards, {person}", "Problem in {place}: {t} {p}", "It seems that the {t} {p}."),
)  # fmt: skip
ASK = Wordings(
    train=("Which team should take this ticket?", "Where does the ticket go?", "Which queue owns this?", "Pick the team.", "Who should handle it?",
           "Assign the ticket to a team.", "Which desk is responsible?", "Route the ticket.", "Which team?", "Who is responsible for it?", "Which team is responsible for this ticket?", "Where should this message go?",
           "Which department should get it?", "Who should take the ticket?", "What is this message about?", "What is the topic of the message?", "Which category fits?", "Which topic is it?", "What kind of request is it?"),
    calibration=("Which team owns this ticket?",), held_out=("Which team should handle the ticket?", "Pick the desk for this.", "Who is responsible?", "What is the ticket about?"),
)  # fmt: skip
TEAM_TEXTS = Wordings(
    train=("{a}, {b} and {c}", "{Team}: {a}, {b}, {c}", "{Team}", "The {team} team", "{Team} team ({a}, {b})", "Queue {team}: {a} and {b}", "{team}", "{Team} team", "{Team} - {a}, {b}", "{Team} ({a}, {b})",
           "{a}, {b}, {c}", "Team {team}", "{Team}: everything about {a} and {b}", "{Team} department", "Questions about {a} or {b}", "{Team} desk", "{Team} and {a}", "{a} or {b}", "{Team}: {a}", "the {team} desk ({a}, {b})"),
    calibration=("{Team} desk: {a}, {b}",), held_out=("Team {team}: {a}, {b} and {c}", "{Team} ({a}, {b}, {c})", "{team} team", "The {team} department"),
)  # fmt: skip


def make(rng: random.Random, split: Split, level: int = LEVELS - 1) -> Sample:
    """0: two made-up teams; 1: two or three with what they do; 2: to five; 3: to eight, or fourteen; natural and long tickets."""
    return single(rng, "triage", split, level, part(rng, split, level))


def part(rng: random.Random, split: Split, level: int = LEVELS - 1) -> Part:
    """One ticket and the teams it may go to."""
    count = rng.randint(2, (2, 3, 5, 8)[level]) if level < 3 or rng.random() < 0.9 else rng.randint(9, 14)
    if rng.random() < (1.0, 0.35, 0.25, 0.25)[level]:
        return _made_up(rng, split, min(count, 8))
    teams = rng.sample(list(TEAMS), count)
    frames = [frame for frame in TEAM_TEXTS.of(split) if level != 1 or "{a}" in frame]
    frame = rng.choice(frames) if count <= 8 else "{Team}"
    texts = [_team(rng, frame, team) for team in teams]
    return Part(_ticket(rng, split, teams[0], level), *choice(rng, ASK.pick(rng, split), texts[0], texts[1:]))


def _made_up(rng: random.Random, split: Split, count: int) -> Part:
    """Teams that exist for one sample: what each is for stands in its text alone."""
    things = several(rng, "noun", split, 3 * count)
    teams = distinct(lambda: invented(rng, split), count)
    frame = rng.choice([item for item in TEAM_TEXTS.of(split) if "{a}" in item and "{b}" in item])
    texts = []
    for n, team in enumerate(teams):
        a, b, c = things[3 * n : 3 * n + 3]
        texts.append(sentence_case(frame.format(team=team, Team=sentence_case(team), a=a, b=b, c=c)))
    topic = things[rng.randrange(2)]
    problem = rng.choice(rng.choice(list(TEAMS.values()))[1].split(", ")).format(n=rng.randint(5, 90))
    text = TICKETS.pick(rng, split, t=topic, p=problem, person=word(rng, "person", split), place=word(rng, "place", split), ref=code(rng), day="noon")
    return Part(sentence_case(text), *choice(rng, ASK.pick(rng, split), texts[0], texts[1:]))


def topics(team: str) -> list[str]:
    """What tickets of a team are about."""
    return [topic.strip() for topic in TEAMS[team][0].split(",")]


def _ticket(rng: random.Random, split: Split, team: str, level: int) -> object:
    fields = {
        "person": word(rng, "person", split), "place": word(rng, "place", split), "ref": code(rng), "n": rng.randint(5, 90),
        "day": rng.choice(("Monday", "Tuesday", "Friday", "noon")),
    }  # fmt: skip
    if level >= 2 and split != "calibration" and rng.random() < 0.35:
        train, held_out = SAYINGS[team]
        text = rng.choice((train if split == "train" else held_out).split("/")).format(**fields)
        text = rng.choice(("{}", "{}", "Hello, {} Thanks!", "{} Regards, {person}", "Ticket {ref}: {}")).format(text, **fields)
    else:
        problems = [problem.strip() for problem in TEAMS[team][1].split(",")]
        pairs = [(t, p) for i, t in enumerate(topics(team)) for j, p in enumerate(problems) if split_of_pair(i, j) == split]
        topic, problem = rng.choice(pairs)
        text = sentence_case(TICKETS.pick(rng, split, t=topic, p=problem.format(**fields), **fields))
    if level == 3 and rng.random() < 0.25:
        text = prose.around(rng, split, text, rng.randint(1, 3) if rng.random() < 0.8 else rng.randint(4, 8))
    kind = rng.random()
    if kind < 0.7:
        return text
    if kind < 0.85:
        return {"id": fields["ref"], rng.choice(("text", "message", "ticket")): text, "from": fields["person"]}
    return {"message": text, "customer": {"name": fields["person"], "city": fields["place"], "orders": fields["n"]}}


def _team(rng: random.Random, frame: str, team: str) -> str:
    a, b, c = rng.sample(topics(team), 3)
    return sentence_case(frame.format(team=team, Team=sentence_case(team), a=a, b=b, c=c))
