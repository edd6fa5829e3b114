"""Policy: whether a rule allows a case, forbids it, or sends it to somebody else."""

from __future__ import annotations

import random

from kit.checkpoint.training.samples import Sample, Split
from kit.checkpoint.training.tasks.parts import Part, choice, single, yes_or_no
from kit.checkpoint.training.vocabulary import Wordings, code, word

VERDICTS = Wordings(
    train=("Allow it|Refuse it|Escalate it", "Allowed|Not allowed|Ask a manager", "Go ahead|Stop|Hand it to a person", "The rule allows it|The rule forbids it|Somebody else decides",
           "Approve|Reject|Escalate", "Run it|Do not run it|Wait for a decision"),
    calibration=("It is allowed|It is forbidden|It must be escalated",),
    held_out=("Approve it|Refuse|Escalate to a manager", "Go ahead, it is allowed|Stop, it is not allowed|A person decides"),
)  # fmt: skip
LIMITS = Wordings(
    train=("Rule: {noun} orders up to {low} are allowed, above {high} they are refused, between them a manager decides.",
           "Policy: allow below {low}, refuse above {high}, escalate in between.",
           "Up to {low} go ahead. More than {high} is forbidden. Everything between goes to a manager."),
    calibration=("Rule: below {low} allowed, above {high} forbidden, in between escalate.",),
    held_out=("Policy: up to {low} it is allowed; over {high} it is refused; between them a person decides.",
              "Allow up to {low}. Escalate in between. Refuse more than {high}."),
)  # fmt: skip
CASES = Wordings(
    train=("Case: an order of {n} by {person}.", "{person} asks for {n}.", "Amount: {n}", "Request {ref}: {n}, from {person}."),
    calibration=("{person} orders {n}.",), held_out=("Request by {person}: amount {n}.", "Case {ref}: {n}"),
)  # fmt: skip
APPROVALS = Wordings(
    train=("Rule: a {thing} needs an approval. Approved: {yes}.", "Policy: no {thing} without approval. Case {ref}: approval {given}.",
           "A {thing} must be approved first. {person} {did} approved it.", "Rule: every {thing} needs approval by {person}. Approval: {given}."),
    calibration=("Policy: a {thing} needs approval by {person}. Approved: {yes}.",),
    held_out=("Rule: no {thing} without approval. {person} {did} approved it.", "Every {thing} must be approved first. Case {ref}: approved {yes}."),
)  # fmt: skip
ROLES = Wordings(
    train=("Rule: only {role} may {verb} the {noun}. {person} is {given}.", "Policy: the {noun} is for {role}. The request comes from {given}.",
           "Nobody but {role} is allowed to {verb} the {noun}. Asked by: {given}."),
    calibration=("Policy: only {role} may {verb} the {noun}. Asked by {given}.",),
    held_out=("Rule: the {noun} is for {role}. {person} is {given}.", "Only {role} is allowed to {verb} the {noun}; the request is from {given}."),
)  # fmt: skip
ROLE_NAMES = ("an admin", "a doctor", "a driver", "a manager", "a nurse", "a teacher", "an engineer", "an owner", "a guest", "an editor", "a pilot", "a cook")
THINGS = ("deletion", "payment", "transfer", "release", "refund", "database change", "night shift", "price change", "data export", "restart")
ASK = Wordings(
    train=("What does the rule say?", "What should the gatekeeper do?", "Decide the case.", "Which verdict follows?", "What happens with the request?",
           "Apply the policy."),
    calibration=("Decide by the rule.",), held_out=("Which decision does the rule give?", "Apply the rule to the case.", "What should happen?"),
)  # fmt: skip
ASK_ALLOWED = Wordings(
    train=("Is it allowed?", "Does the rule allow it?", "May it go ahead?", "Is the request allowed by the policy?", "Is the case within the rule?"),
    calibration=("Does the policy allow it?",), held_out=("Is the case allowed by the rule?", "May the request go ahead?"),
)  # fmt: skip


def make(rng: random.Random, split: Split, most: int = 10) -> Sample:
    """One sample; `most` matters only where it is 2, which leaves no third verdict."""
    return single(rng, "policy", split, part(rng, split, most))


def part(rng: random.Random, split: Split, most: int = 10) -> Part:
    """One rule, one case, and the verdict."""
    names = {
        "person": word(rng, "person", split), "noun": word(rng, "noun", split), "verb": word(rng, "verb", split),
        "ref": code(rng), "thing": rng.choice(THINGS),
    }  # fmt: skip
    if most > 2 and rng.random() < 0.55:
        return _limit(rng, split, names)
    allowed = rng.random() < 0.5
    if rng.random() < 0.5:
        yes, given, did = ("yes", "given", "has") if allowed else ("no", "missing", "has not")
        state = APPROVALS.pick(rng, split, yes=yes, given=given, did=did, **names)
    else:
        role, other = rng.sample(ROLE_NAMES, 2)
        state = ROLES.pick(rng, split, role=role, given=role if allowed else other, **names)
    return _two(rng, split, state, allowed)


def _limit(rng: random.Random, split: Split, names: dict[str, str]) -> Part:
    low = rng.choice((5, 10, 20, 50, 100, 200, 300))
    high = low * rng.choice((2, 3, 4, 5))
    verdict = rng.randrange(3)
    amount = (rng.randint(1, low - 1), rng.randint(high + 1, high * 3), rng.randint(low + 1, high - 1))[verdict]
    state: object = f"{LIMITS.pick(rng, split, low=low, high=high, **names)} {CASES.pick(rng, split, n=amount, **names)}"
    if rng.random() < 0.25:
        state = {"policy": LIMITS.pick(rng, split, low=low, high=high, **names), "amount": amount, "by": names["person"]}
    texts = VERDICTS.pick(rng, split).split("|")
    right = texts.pop(verdict)
    return Part(state, *choice(rng, ASK.pick(rng, split), right, texts))


def _two(rng: random.Random, split: Split, state: str, allowed: bool) -> Part:
    if rng.random() < 0.5:
        return Part(state, *yes_or_no(rng, split, ASK_ALLOWED.pick(rng, split), allowed))
    texts = VERDICTS.pick(rng, split).split("|")[:2]
    right = texts.pop(int(not allowed))
    return Part(state, *choice(rng, ASK.pick(rng, split), right, texts))
