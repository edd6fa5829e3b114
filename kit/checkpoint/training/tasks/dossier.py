"""Dossier: a policy, a request and its approval as JSON; whether it goes ahead, waits for an approval or is refused.

Covers: two limits of one matter, whose approval counts and whether it is there, one to three questions of one state, keys
and candidates in any, sorted or reversed order, criteria with keys of their own. Does not cover: rules told as a text
beside a case (`policy`, `rules`).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from kit.checkpoint.training.samples import Question, Split
from kit.checkpoint.training.tasks import rules
from kit.checkpoint.training.tasks.parts import Part, choice, sentence_case, verdict, yes_or_no
from kit.checkpoint.training.vocabulary import Wordings, code, word

OVER = Wordings(  # what lies above a limit
    train=("more than {q}", "over {q}", "above {q}", "beyond {q}", "in excess of {q}", "larger than {q}", "greater than {q}"), calibration=("past {q}",), held_out=("exceeding {q}", "of above {q}", "going beyond {q}"),
)  # fmt: skip
NEEDS = Wordings(
    train=("{Thing} of {over} needs the approval of {role}", "Whoever wants {thing} of {over} must first have a yes from {role}", "{role} has to approve {thing} if it is {over}", "If {thing} is {over}, {role} must agree", "No {bare} {over} without {role}", "{Thing}, if {over}, waits for {role}", "For {thing} {over} one goes to {role}"),
    calibration=("{Thing} of {over} is for {role} to approve",), held_out=("{Thing} {over} requires a word of {role}", "Where {thing} is {over}, the consent of {role} is required", "The approval of {role} is necessary once {thing} is {over}"),
)  # fmt: skip
NEVER = Wordings(
    train=("{over} is never possible", "{over} is refused in any case", "{over} is turned down whoever approves it", "nothing {over} is let through", "no approval helps {over}", "{over} is out of the question", "what is {over} is forbidden"),
    calibration=("{over} is denied, approved or not",), held_out=("{over} is rejected even with an approval", "anything {over} is ruled out"),
)  # fmt: skip
FREE = Wordings(
    train=("The rest is free.", "Everything else goes ahead by itself.", "Smaller ones need nothing.", "Below that nobody is asked.", "All others pass.", "Nothing is needed for less.", ""),
    calibration=("Otherwise nothing is needed.",), held_out=("In all other cases it goes through.", "Less than that is granted at once."),
)  # fmt: skip
VERDICTS = Wordings(
    train=("It goes ahead|It waits for an approval|It is turned down", "go ahead|wait for approval|refuse", "allow|ask|deny", "yes|not yet|no", "ready to go|approval is missing|ruled out", "do it|get an approval first|do not do it", "may be done now|may be done once approved|may not be done at all", "pass|hold|stop", "granted|pending|rejected",
           "nothing is missing|a signature is missing|not possible", "carry it out|put it before somebody first|send it back", "all is in order|one yes is lacking|too much by any rule", "start|hold on|drop it"),
    calibration=("let it go on|wait for the word|deny it",), held_out=("It can proceed|It needs an approval first|It has to be rejected", "proceed|obtain an approval|reject", "free to go|on hold until approved|ruled out for good"),
)  # fmt: skip
KEYS = (("allow", "ask", "refuse"), ("approve", "escalate", "reject"), ("go", "wait", "stop"), ("a", "b", "c"), ("granted", "open", "denied"), ("proceed", "hold", "decline"), ("option_1", "option_2", "option_3"))
ASK = Wordings(
    train=("What happens to the request?", "What does the policy come to here?", "How is the request to be handled?", "Apply the policy to the request.", "What is the state of this request?", "Decide by policy, request and approval.", "Which step is right for this request?", "What should the clerk do with it?", "Where does the request stand?", "Sort this request."),
    calibration=("How does the request come out?",), held_out=("What is to become of this request?", "Which outcome does the policy prescribe?", "How should this request be decided?"),
)  # fmt: skip
GOES = Wordings(
    train=("Can it go ahead now?", "May it be done as things stand?", "Is everything there that the policy asks for?", "Can the request be carried out today?", "Is it clear for action?", "As it stands, is the request granted?"),
    calibration=("Can one carry it out as it is?",), held_out=("Can the request proceed right now?", "Is the request in order as it stands?"),
)  # fmt: skip
WANTS = Wordings(
    train=("Does a request of this size need an approval?", "Is it of a size that somebody has to approve?", "Would {role} have to be asked about {n} {unit}?", "Is {n} {unit} a case for {role}?", "Do {n} {unit} call for an approval that can be given?"),
    calibration=("Is {n} {unit} for {role} to approve?",), held_out=("Does {n} {unit} require the approval of {role}?", "Is this size one that {role} has to approve?"),
)  # fmt: skip
WHO = Wordings(
    train=("Whose approval does the policy name?", "Who approves by this policy?", "Who is to be asked under the policy?", "By the policy, who has the say?"),
    calibration=("Who approves such things?",), held_out=("Whose approval counts?", "Which person does the policy name for approvals?"),
)  # fmt: skip
GIVEN: tuple[tuple[object, object], ...] = (("given", "missing"), ("yes", "no"), (True, False), ("granted", "pending"), ("signed", "not signed"), ("there", "not there"), ("ok", None), ("approved", "not yet"), ("received", "awaited"))


@dataclass(frozen=True)
class Case:
    """outcome: 0 goes ahead, 1 waits, 2 refused. needs: whether its size needs an approval. told: the reason."""

    state: object
    outcome: int
    needs: bool
    role: str
    names: Mapping[str, object]
    told: str


def parts(rng: random.Random, split: Split) -> dict[str, Part]:
    """One to three questions of one dossier by name, all with its state."""
    case = _case(rng, split)
    asks: list[Callable[[random.Random, Split, Case], Part]] = [_verdict, _verdict, _goes, _needs, _who]
    chosen = list(dict.fromkeys(rng.sample(asks, rng.choice((1, 1, 1, 2, 3)))))
    names = rng.sample(("q1", "q2", "verdict", "first", "decision", "check_2", "a_question", "z"), len(chosen))
    return {name: ask(rng, split, case) for name, ask in zip(ordered(rng, names), chosen, strict=True)}


def ordered(rng: random.Random, names: list[str]) -> list[str]:
    """As they come, sorted, or sorted backwards."""
    kind = rng.random()
    return names if kind < 0.5 else sorted(names, reverse=kind > 0.75)


def _case(rng: random.Random, split: Split) -> Case:
    what, _, unit = rng.choice(rules.MATTERS.of(split)).partition("|")
    role, other = _two_roles(rng, split)
    low = rng.choice((rng.randint(3, 9), rng.randrange(10, 100, 5), rng.randrange(100, 900, 50)))
    high = low + max(rng.choice((low // 2, low, low * 2)), 3)
    outcome = rng.randrange(3)
    small = outcome == 0 and rng.random() < 0.5
    n = rng.randint(high + 1, high * 2) if outcome == 2 else rng.randint(2, low) if small else rng.randint(low + 1, high)
    names: dict[str, object] = {"thing": what, "Thing": sentence_case(what), "bare": what.partition(" ")[2], "unit": unit, "role": role, "n": n}
    over = [OVER.pick(rng, split, q=f"{cap} {unit}") for cap in (low, high)]
    policy = f"{sentence_case(NEEDS.pick(rng, split, over=over[0], **names))}{rng.choice(('; ', ', and ', '. '))}{NEVER.pick(rng, split, over=over[1])}."
    policy = f"{'. '.join(sentence_case(text) for text in policy.split('. '))} {FREE.pick(rng, split)}".strip()
    needs = low < n <= high
    yes, no = rng.choice(GIVEN)
    there = outcome == 0 if needs else rng.random() < 0.5
    approval: dict[str, object] = {rng.choice(("status", "state", "approval")): yes if there else no, "by": role if there or rng.random() < 0.6 else other}
    told = f"{n}, above {low} {role}, above {high} never: {'refused' if n > high else 'approval ' + ('there' if there else 'missing') if needs else 'free'}"
    return Case(_state(rng, split, policy, what, unit, n, approval), outcome, needs, role, names, told)


def _two_roles(rng: random.Random, split: Split) -> tuple[str, str]:
    roles = rng.sample(rules.BOSSES.of(split), 2) if len(rules.BOSSES.of(split)) > 1 else [*rules.BOSSES.of(split), "a guest"]
    return roles[0], roles[1]


def _state(rng: random.Random, split: Split, policy: str, what: str, unit: str, n: int, approval: dict[str, object]) -> object:
    """Policy, request and approval under keys in any order, at times with fields that do not matter, or flat."""
    thing = what.partition(" ")[2]
    request: dict[str, object] = {rng.choice(("what", "kind", "item", "subject")): thing, rng.choice((unit, "amount", "size", "quantity")): n if rng.random() < 0.7 else f"{n} {unit}"}
    more: list[tuple[str, object]] = [("by", word(rng, "person", split)), ("ref", code(rng)), ("place", word(rng, "place", split)), ("day", rng.choice(("Monday", "Tuesday", "Thursday", "Friday")))]
    request |= dict(rng.sample(more, rng.randint(0, 3)))
    sections: dict[str, object] = {
        rng.choice(("policy", "rule", "rules", "terms")): policy, rng.choice(("request", "case", "order", "application")): _sorted(rng, request),
        rng.choice(("approval", "sign_off", "consent")): _sorted(rng, approval),
    }  # fmt: skip
    if rng.random() < 0.3:
        sections[rng.choice(("note", "remark", "history"))] = f"Entered by {word(rng, 'person', split)} in {word(rng, 'place', split)}."
    return _sorted(rng, sections)


def _sorted(rng: random.Random, fields: dict[str, object]) -> dict[str, object]:
    return {name: fields[name] for name in ordered(rng, rng.sample(list(fields), len(fields)))}


def _verdict(rng: random.Random, split: Split, case: Case) -> Part:
    texts = VERDICTS.pick(rng, split).split("|")
    keys, described = rng.choice(KEYS), rng.random() < 0.5
    rows = dict(zip(keys, texts, strict=True))
    order = ordered(rng, rng.sample(keys, 3))
    criteria: dict[str, Any] = {key: {"description": rows[key]} if described else rows[key] for key in order}
    question: Question = {"type": "choice", "instructions": ASK.pick(rng, split), "criteria": criteria}
    return Part(case.state, question, order.index(keys[case.outcome]), reason=case.told)


def _goes(rng: random.Random, split: Split, case: Case) -> Part:
    answer = case.outcome == 0
    return Part(case.state, *yes_or_no(rng, split, GOES.pick(rng, split), answer, what="clear to go"), reason=f"{case.told}: {verdict(answer)}")


def _needs(rng: random.Random, split: Split, case: Case) -> Part:
    asked = sentence_case(WANTS.pick(rng, split, **case.names))
    return Part(case.state, *yes_or_no(rng, split, asked, case.needs), reason=f"{case.told}: {verdict(case.needs)}")


def _who(rng: random.Random, split: Split, case: Case) -> Part:
    others = [role for role in rules.BOSSES.of(split) if role != case.role] or ["a guest", "a visitor"]
    return Part(case.state, *choice(rng, WHO.pick(rng, split), case.role, rng.sample(others, min(len(others), rng.randint(1, 4)))), reason=case.role)
