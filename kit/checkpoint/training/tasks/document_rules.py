"""Rules of long documents that are applied to a case: limits with a third verdict between them, hours, what only some may do.

Covers: the rule's line, the case as a line of notes or inside the question, and what follows from them. Does not cover:
the lines around them (`document`).
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from kit.checkpoint.training.samples import Question, Split
from kit.checkpoint.training.tasks import rules
from kit.checkpoint.training.tasks.parts import choice, sentence_case, verdict, yes_or_no
from kit.checkpoint.training.vocabulary import Wordings, word

LIMITS = Wordings(
    train=("{Thing} of up to {low} {unit} is fine; above {high} {unit} it is refused; between them {role} decides.", "{Thing}: up to {low} {unit} yes, more than {high} {unit} no, else ask {role}.", "We grant {thing} up to {low} {unit}. Over {high} {unit} we say no, and for the rest one asks {role}.",
           "{Role} has to see {thing} of more than {low} {unit}; beyond {high} {unit} there is none at all. Below that it just goes through.", "Nobody gets {thing} of more than {high} {unit}. Up to {low} {unit} it needs no word, from there on it is for {role} to say.",
           "With {thing}, {low} {unit} are free, anything to {high} {unit} goes to {role}, and what is above is turned down.", "{Thing} above {high} {unit} is forbidden. {Thing} under {low} {unit} is allowed. What lies between goes to {role}."),
    calibration=("{Thing} within {low} {unit} passes, beyond {high} {unit} it fails, and {role} looks at what is between.",),
    held_out=("Allow {thing} up to {low} {unit}, let {role} decide up to {high} {unit}, and refuse everything above.", "{Thing} of more than {high} {unit} is not granted; up to {low} {unit} it is; otherwise {role} has the say.", "For {thing} the first {low} {unit} are granted; to {high} {unit} it is up to {role}; then it ends."),
)  # fmt: skip
ASKED_FOR = Wordings(
    train=("{person} asks for {thing} of {n} {unit}.", "{person} would like {thing} of {n} {unit}.", "{Thing} of {n} {unit} is what {person} wants.", "{person} sends in {thing} of {n} {unit}.", "A wish of {person}: {thing} of {n} {unit}.", "{person} has put in for {thing} of {n} {unit}.", "We have a request from {person}, {thing} of {n} {unit}."),
    calibration=("{person} hopes for {thing} of {n} {unit}.",), held_out=("{person} has requested {thing} of {n} {unit}.", "There is a request by {person} for {thing} of {n} {unit}.", "{person} applied for {thing} of {n} {unit}."),
)  # fmt: skip
HOURS = Wordings(
    train=("{Room} is open from {a} to {b}.", "One may use {room} between {a} and {b}.", "{Room}: open {a} to {b}, shut at all other times.", "Nobody goes into {room} before {a} or after {b}.", "Hours of {room}: {a} to {b}.", "{Room} opens at {a} and shuts at {b}.", "From {a} until {b} people may be in {room}, not before and not later.", "The door of {room} is unlocked at {a} and locked at {b}."),
    calibration=("Access to {room} is from {a} to {b}.",), held_out=("{Room} may be entered from {a} until {b} only.", "Visits to {room} are possible between {a} and {b}.", "{Room} is closed before {a} and closed again after {b}."),
)  # fmt: skip
COMES = Wordings(
    train=("{person} wants to be in {room} at {h}.", "{person} plans to go to {room} at {h}.", "At {h} {person} would like to use {room}.", "{person} comes to {room} at {h}.", "It is {h} and {person} stands before {room}.", "{person} has asked for {room} at {h}."),
    calibration=("{person} hopes to use {room} at {h}.",), held_out=("{person} intends to enter {room} at {h}.", "For {h} {person} has {room} in mind.", "{person} would go into {room} at {h}."),
)  # fmt: skip
ONLY = Wordings(
    train=("Only {job} may {verb} {thing}.", "Nobody but {job} is allowed to {verb} {thing}.", "To {verb} {thing} one has to be {job}.", "It takes {job} to {verb} {thing}.", "{Thing}: {job} may {verb} it, no one else.", "We let {job} {verb} {thing}, and nobody else.", "Whoever is not {job} must not {verb} {thing}."),
    calibration=("The right to {verb} {thing} is with {job} alone.",), held_out=("Nobody except {job} has the right to {verb} {thing}.", "No one may {verb} {thing} unless it is {job}.", "It is for {job} alone to {verb} {thing}."),
)  # fmt: skip
WANTS = Wordings(
    train=("{person} is {given} and wants to {verb} {thing}.", "{person}, {given}, would like to {verb} {thing}.", "{person} works as {given} and asks to {verb} {thing}.", "Now {person} wants to {verb} {thing}. {person} is {given}.", "{person}, who is {given}, was about to {verb} {thing}."),
    calibration=("{person} has come, as {given}, to {verb} {thing}.",), held_out=("{person}, by trade {given}, has asked to {verb} {thing}.", "{person} is here as {given} and intends to {verb} {thing}."),
)  # fmt: skip
VERDICTS = Wordings(
    train=("It may be done|{role} is asked|It may not be done", "yes|ask {role}|no", "allowed|{role} decides|not allowed", "grant it|send it to {role}|turn it down", "go ahead|first a word with {role}|stop", "fine as it is|up to {role}|too much", "accepted|put before {role}|rejected", "it passes|{role} has to see it|it does not pass",
           "nothing stands in the way|only if {role} says so|not possible", "say yes|let {role} choose|say no", "allow|ask|refuse", "ok|to {role}|not ok", "approve at once|needs approval|decline", "pass|escalate|block", "within the limit|in between|over the limit"),
    calibration=("granted|left to {role}|denied",), held_out=("approved|{role} has the say|refused", "allow it|hand it to {role}|do not allow it", "it is granted|a decision of {role} is needed|it is not granted"),
)  # fmt: skip
FOLLOWS = Wordings(  # what becomes of a case
    train=("What becomes of it?", "What follows?", "What do the rules say to that?", "How is it decided?", "What should be done?", "What is the answer to it?", "How do we deal with it?", "Apply the rules."),
    calibration=("What comes out by the rules?",), held_out=("Which decision do the rules give?", "What is to happen according to the rules?"),
)  # fmt: skip
OF_PERSON = Wordings(
    train=("What becomes of the wish of {person}?", "What do the rules say to {person}?", "How is the case of {person} decided?", "{person} wants something. What is the answer by the rules?", "Apply the rules to the case of {person}.", "How do we deal with what {person} wants?", "What is to be done about {person}?", "{person} waits for an answer. Which one do the rules give?"),
    calibration=("What comes out for {person} by the rules?",), held_out=("Which decision do the rules give for {person}?", "What is to happen with the request of {person}?"),
)  # fmt: skip
MAY = Wordings(
    train=("Is that allowed?", "Do the rules allow it?", "May it be done?", "Is it all right by the rules?", "Can we say yes?", "Should that be possible?"),
    calibration=("Would the rules let it happen?",), held_out=("Is it in keeping with the rules?", "Are the rules in favour of it?"),
)  # fmt: skip
MAY_PERSON = Wordings(
    train=("Is {person} allowed to do so?", "Do the rules allow what {person} wants?", "May {person} go ahead?", "Is what {person} wants all right by the rules?", "Can we say yes to {person}?", "Do we let {person} do it?", "Has {person} the right to it?"),
    calibration=("Would the rules let {person} do it?",), held_out=("Is the request of {person} in keeping with the rules?", "Do the rules let {person} have this?"),
)  # fmt: skip
WAYS = ("allowed|not allowed", "may|may not", "within the rules|against the rules", "fine|not fine", "permitted|forbidden")


@dataclass(frozen=True)
class Applied:
    """A rule and a case of it. right: index among `verdicts`, or whether it is allowed where there are two."""

    rule: str
    case: str
    person: str
    right: int
    told: str
    role: str = ""


def limit(rng: random.Random, split: Split, person: str, matter: str, thing: str, room: str) -> Applied:
    """Two limits on one matter, and an amount below, between or above them."""
    what, _, unit = matter.partition("|")
    role = rng.choice(rules.BOSSES.of(split))
    low = rng.choice((rng.randint(3, 9), rng.randrange(10, 100, 5), rng.randrange(100, 900, 50)))
    high = low + max(rng.choice((low // 2, low, low * 2)), 3)
    right = rng.randrange(3)
    n = (rng.randint(2, low - 1), rng.randint(low + 1, high - 1), rng.randint(high + 1, high * 2))[right]
    names = {"thing": what, "Thing": sentence_case(what), "unit": unit, "role": role, "Role": sentence_case(role)}
    case = ASKED_FOR.pick(rng, split, person=person, n=n, **names)
    told = (f"{n} is below {low}", f"{n} is above {low}, below {high}", f"{n} is above {high}")[right]
    return Applied(LIMITS.pick(rng, split, low=low, high=high, **names), case, person, right, f"{what}: {told}", role)


def hours(rng: random.Random, split: Split, person: str, matter: str, thing: str, room: str) -> Applied:
    """When a room is open, and a time within that or outside of it."""
    a = rng.randint(5, 12)
    b = a + rng.randint(3, 9)
    inside = rng.random() < 0.5
    h = rng.randint(a + 1, b - 1) if inside else rng.choice((*range(3, a), *range(b + 1, 24)))
    rule = HOURS.pick(rng, split, room=room, Room=sentence_case(room), a=f"{a}:00", b=f"{b}:00")
    case = COMES.pick(rng, split, person=person, room=room, h=f"{h}:00")
    told = f"{h} is between {a} and {b}" if inside else f"{h} is before {a}" if h < a else f"{h} is after {b}"
    return Applied(rule, case, person, int(not inside), told)


def only(rng: random.Random, split: Split, person: str, matter: str, thing: str, room: str) -> Applied:
    """What only one job may do, and who wants to do it."""
    job, other = rng.sample(rules.ROLES.of(split), 2)
    allowed, verb = rng.random() < 0.5, word(rng, "verb", split)
    given = job if allowed else other
    rule = ONLY.pick(rng, split, job=job, verb=verb, thing=thing, Thing=sentence_case(thing))
    return Applied(rule, WANTS.pick(rng, split, person=person, given=given, verb=verb, thing=thing), person, int(not allowed), f"only {job}, given {given}")


KINDS: tuple[Callable[..., Applied], ...] = (limit, limit, hours, only)


def ask(rng: random.Random, split: Split, made: Applied, noted: bool) -> tuple[Question, int, str]:
    """What follows for a case that is a line of its own (`noted`) or told in the question; the right answer and its reason."""
    if made.role:
        words = VERDICTS.pick(rng, split, role=made.role).split("|")
        asked = OF_PERSON.pick(rng, split, person=made.person) if noted else f"{made.case} {FOLLOWS.pick(rng, split)}"
        right = words.pop(made.right)
        return *choice(rng, asked, right, words), f"{made.told}: {('allowed', 'asked', 'refused')[made.right]}"
    asked = MAY_PERSON.pick(rng, split, person=made.person) if noted else f"{made.case} {MAY.pick(rng, split)}"
    allowed = made.right == 0
    return *yes_or_no(rng, split, asked, allowed, what=rng.choice(WAYS)), f"{made.told}: {verdict(allowed)}"
