"""Policy: whether a rule allows a case, forbids it, or sends it to somebody else."""

from __future__ import annotations

import random

from kit.checkpoint.training.samples import Question, Sample, Split
from kit.checkpoint.training.tasks.parts import Part, choice, single, verdict, yes_or_no
from kit.checkpoint.training.vocabulary import Wordings, code, word

LEVELS = 5
VERDICTS = Wordings(
    train=("Allow it|Refuse it|Escalate it", "Allowed|Not allowed|Ask a manager", "Go ahead|Stop|Hand it to a person", "The rule allows it|The rule forbids it|Somebody else decides",
           "Approve|Reject|Escalate", "Run it|Do not run it|Wait for a decision", "Allow|Refuse|Escalate", "Approve it|Reject it|Ask a person",
           "It is allowed|It is not allowed|A manager decides", "Yes, go ahead|No, stop|Ask first", "Accept|Decline|Hand it over", "Go ahead|Refuse|Ask a manager", "allow|refuse|escalate"),
    calibration=("It is allowed|It is forbidden|It must be escalated",),
    held_out=("Approve it|Refuse|Escalate to a manager", "Go ahead, it is allowed|Stop, it is not allowed|A person decides", "Accept it|Reject|Ask a person"),
)  # fmt: skip
CASES = Wordings(
    train=("Case: an order of {n} by {person}.", "{person} asks for {n}.", "Amount: {n}", "Request {ref}: {n}, from {person}.", "The request of {person} is {n}.", "Now {person} wants {n}.",
           "Asked for: {n}.", "{person} in {place} orders {n}.", "The amount is {n}.", "Case {ref}: {n} for {person}.", "This one is {n}."),
    calibration=("{person} orders {n}.",), held_out=("Request by {person}: amount {n}.", "Case {ref}: {n}", "{person} asks for an amount of {n}."),
)  # fmt: skip
LIMITS = Wordings(
    train=("Rule: {noun} orders up to {low} are allowed, above {high} they are refused, between them a manager decides.",
           "Policy: allow below {low}, refuse above {high}, escalate in between.", "Up to {low} go ahead. More than {high} is forbidden. Everything between goes to a manager.",
           "Rule: up to {low} is fine, from {low} to {high} ask a manager, more than {high} is refused.", "Below {low}: allowed. Between {low} and {high}: a person decides. Above {high}: refused.",
           "Refuse above {high}. Allow below {low}. Escalate what is in between.", "Policy: more than {high} is not allowed, less than {low} is allowed, the rest goes to a manager.",
           "Policy for the {noun}: under {low} approve, over {high} reject, otherwise escalate."),
    calibration=("Rule: below {low} allowed, above {high} forbidden, in between escalate.",),
    held_out=("Policy: up to {low} it is allowed; over {high} it is refused; between them a person decides.", "Allow up to {low}. Escalate in between. Refuse more than {high}."),
)  # fmt: skip
CAPS = Wordings(
    train=("Rule: at most {cap} {key}. The case has {n}.", "Policy: up to {cap} {key} are allowed. Asked for: {n} {key}.", "No more than {cap} {key}. {person} has {n} {key}.",
           "Returns are accepted within {cap} days. {person} bought it {n} days ago.", "The limit is {cap}. This request has {n}.", "Refunds are possible up to {cap} days. It is {n} days old.",
           "Nobody may take more than {cap} {key}. {person} wants {n}.", "Limit: {cap} {key}. Case {ref}: {n} {key}.", "Allowed: up to {cap}. Request: {n}.",
           "Rule: the {noun} holds at most {cap}. Now {n} are asked for."),
    calibration=("Policy: at most {cap} {key}. {person} asks for {n}.",),
    held_out=("Rule: up to {cap} {key}. Case {ref} has {n} {key}.", "The limit is {cap} {key}. {person} asks for {n}.", "Refunds are accepted within {cap} days. {person} bought it {n} days ago."),
)  # fmt: skip
FLOORS = Wordings(
    train=("Rule: at least {cap} {key}. The case has {n}.", "Policy: {key} must be {cap} or more. {person} has {n}.", "Nobody under {cap} may do it. {person} has {n}.",
           "The minimum is {cap}. This request has {n}.", "Needed: at least {cap} {key}. Given: {n}.", "Only from {cap} {key} on. Case {ref}: {n} {key}.", "Minimum {cap} {key}; {person} has {n} {key}.",
           "Less than {cap} {key} is refused. Asked for: {n}."),
    calibration=("Policy: at least {cap} {key}. {person} has {n}.",), held_out=("The minimum is {cap} {key}. {person} has {n}.", "Rule: at least {cap} {key}. Case {ref} has {n} {key}."),
)  # fmt: skip
APPROVALS = Wordings(
    train=("Rule: a {thing} needs an approval. Approved: {yes}.", "Policy: no {thing} without approval. Case {ref}: approval {given}.",
           "A {thing} must be approved first. {person} {did} approved it.", "Rule: every {thing} needs approval by {person}. Approval: {given}.",
           "No {thing} before it is approved. Approved by {person}: {yes}.", "Every {thing} needs an approval. Case {ref}: {person} {did} approved it.",
           "Policy: approval first, then the {thing}. Approval is {given}.", "A {thing} is only possible with approval. Approved: {yes}", "{person} {did} approved the {thing}. Rule: approval is needed.",
           "Approval for the {thing}: {given}. Policy: nothing goes ahead without approval."),
    calibration=("Policy: a {thing} needs approval by {person}. Approved: {yes}.",),
    held_out=("Rule: no {thing} without approval. {person} {did} approved it.", "Every {thing} must be approved first. Case {ref}: approved {yes}.", "Policy: a {thing} needs an approval. Approval is {given}."),
)  # fmt: skip
ROLES = Wordings(
    train=("Rule: only {role} may {verb} the {noun}. {person} is {given}.", "Policy: the {noun} is for {role}. The request comes from {given}.",
           "Nobody but {role} is allowed to {verb} the {noun}. Asked by: {given}.", "Only {role} may do it. {person} is {given}.", "To {verb} the {noun} one must be {role}. {person} is {given}.",
           "Rule: {role} may {verb} the {noun}, nobody else. The request is from {given}.", "{person} is {given} and wants to {verb} the {noun}. Only {role} may.",
           "Request from {given}. Policy: only {role} may {verb} it.", "Reserved for {role}. Asked by {given}.", "The {noun} may be used by {role} only. {person} is {given}."),
    calibration=("Policy: only {role} may {verb} the {noun}. Asked by {given}.",),
    held_out=("Rule: the {noun} is for {role}. {person} is {given}.", "Only {role} is allowed to {verb} the {noun}. The request is from {given}.", "Policy: nobody but {role} may {verb} it. {person} is {given}."),
)  # fmt: skip
APPROVAL_RULES = Wordings(
    train=("No {thing} without an approval.", "A {thing} needs an approval.", "Every {thing} must be approved first.", "A {thing} without approval is refused.", "A {thing} is only allowed with an approval.",
           "No {thing} may run without an approval."),
    calibration=("Without an approval no {thing}.",), held_out=("No {thing} is allowed without an approval.", "A {thing} must be approved first."),
)  # fmt: skip
ROLE_RULES = Wordings(
    train=("The {noun} is for {role} only.", "Only {role} may use the {noun}.", "Nobody but {role} gets the {noun}.", "The {noun} is reserved for {role}.", "The {noun} goes to {role}, nobody else."),
    calibration=("Only {role} gets the {noun}.",), held_out=("The {noun} is for {role}, nobody else.", "Nobody but {role} may use the {noun}."),
)  # fmt: skip
LIMIT_RULES = Wordings(
    train=("An order of more than {cap} is refused.", "Orders up to {cap} are allowed.", "No order above {cap}.", "Orders: at most {cap}.", "An order may be {cap} at most.", "Orders above {cap} are not allowed."),
    calibration=("An order above {cap} is not allowed.",), held_out=("Orders of more than {cap} are refused.", "An order up to {cap} is allowed."),
)  # fmt: skip
ROLE_NAMES = ("an admin", "a doctor", "a driver", "a manager", "a nurse", "a teacher", "an engineer", "an owner", "a guest", "an editor", "a pilot", "a cook", "a customer", "a student", "a developer", "a member")
THINGS = ("deletion", "payment", "transfer", "release", "refund", "database change", "night shift", "price change", "data export", "restart", "deployment", "password reset", "contract", "purchase", "visit")
ASK = Wordings(
    train=("What does the rule say?", "What should the gatekeeper do?", "Decide the case.", "Which verdict follows?", "What happens with the request?",
           "Apply the policy.", "What should happen with the case?", "Apply the rule.", "Which decision is right?", "What does the policy say?", "What is to be done?", "Decide by the policy."),
    calibration=("Decide by the rule.",), held_out=("Which decision does the rule give?", "Apply the rule to the case.", "What should happen?"),
)  # fmt: skip
ASK_FORBIDDEN = Wordings(
    train=("Must it be refused?", "Does the rule forbid it?", "Is it against the rule?", "Should it be stopped?", "Does it break the policy?", "Has it to be refused?", "Is the request over what is allowed?",
           "Must somebody stop it?", "Is it forbidden?", "Would it break the rule?"),
    calibration=("Does it go against the policy?",), held_out=("Is the request against the policy?", "Must the request be refused?", "Does this break the rule?"),
)  # fmt: skip
ASK_ALLOWED = Wordings(
    train=("Is it allowed?", "Does the rule allow it?", "May it go ahead?", "Is the request allowed by the policy?", "Is the case within the rule?", "Can it go ahead?",
           "Does the policy allow the request?", "Is this allowed by the rule?", "Should it be allowed?", "May they go ahead?", "Is this request within the policy?"),
    calibration=("Does the policy allow it?",), held_out=("Is the case allowed by the rule?", "May the request go ahead?", "Should the request be allowed?"),
)  # fmt: skip


def make(rng: random.Random, split: Split, level: int = LEVELS - 1) -> Sample:
    """0: approvals; 1: roles; 2: one limit of one digit; 3: limits of three digits; 4: two limits, too."""
    return single(rng, "policy", split, level, part(rng, split, level))


def part(rng: random.Random, split: Split, level: int = LEVELS - 1) -> Part:
    """One rule, one case, and the verdict."""
    names = {
        "person": word(rng, "person", split), "noun": word(rng, "noun", split), "verb": word(rng, "verb", split),
        "ref": code(rng), "thing": rng.choice(THINGS), "place": word(rng, "place", split), "key": word(rng, "number key", split),
    }  # fmt: skip
    kinds = (_approval, _record, _role, _capped, _limit, _handbook)
    kind = rng.choice(kinds[: (1, 3, 4, 4, 6)[level]])
    return kind(rng, split, names, level)


def _approval(rng: random.Random, split: Split, names: dict[str, str], level: int) -> Part:
    allowed = rng.random() < 0.5
    yes, given, did = ("yes", "given", "has") if allowed else ("no", "missing", "has not")
    text = APPROVALS.pick(rng, split, yes=yes, given=given, did=did, **names)
    return _two(rng, split, text, allowed, level, f"approval of {names['thing']}: {given}")


def _role(rng: random.Random, split: Split, names: dict[str, str], level: int) -> Part:
    allowed = rng.random() < 0.5
    role, other = rng.sample(ROLE_NAMES, 2)
    given = role if allowed else other
    return _two(rng, split, ROLES.pick(rng, split, role=role, given=given, **names), allowed, level, f"only {role}, given {given}")


def _capped(rng: random.Random, split: Split, names: dict[str, str], level: int) -> Part:
    """One bound, never met exactly."""
    allowed, most = rng.random() < 0.5, rng.random() < 0.7
    top = 10 if level < 3 else rng.choice((10, 100, 100, 1000))
    small, large = sorted(rng.sample(range(1, top + 1), 2))
    cap, n = (large, small) if allowed == most else (small, large)
    told = f"{n} is {'above' if n > cap else 'below'} {cap}, at {'most' if most else 'least'} {cap}"
    return _two(rng, split, (CAPS if most else FLOORS).pick(rng, split, cap=cap, n=n, **names), allowed, level, told)


def _limit(rng: random.Random, split: Split, names: dict[str, str], level: int) -> Part:
    """Two bounds with a third verdict between them."""
    low = rng.choice((5, 10, 20, 50, 100, 200, 300))
    high = low * rng.choice((2, 3, 4, 5))
    place = rng.randrange(3)
    amount = (rng.randint(1, low - 1), rng.randint(high + 1, high * 3), rng.randint(low + 1, high - 1))[place]
    rule = LIMITS.pick(rng, split, low=low, high=high, **names)
    state: object = f"{rule} {CASES.pick(rng, split, n=amount, **names)}"
    if rng.random() < 0.25:
        state = {"policy": rule, "amount": amount, "by": names["person"]}
    texts = VERDICTS.pick(rng, split).split("|")
    right = texts.pop(place)
    told = (f"{amount} is below {low}: allow", f"{amount} is above {high}: refuse", f"{amount} is above {low}, below {high}: escalate")[place]
    return Part(state, *choice(rng, ASK.pick(rng, split), right, texts), reason=told)


def _handbook(rng: random.Random, split: Split, names: dict[str, str], level: int) -> Part:
    """Several rules in one text and a case that one of them is about."""
    thing, other_thing = rng.sample(THINGS, 2)
    role, given = rng.sample(ROLE_NAMES, 2)
    low = rng.choice((10, 50, 100, 200))
    rules = {
        "thing": APPROVAL_RULES.pick(rng, split, thing=thing), "role": ROLE_RULES.pick(rng, split, role=role, noun=names["noun"]),
        "limit": LIMIT_RULES.pick(rng, split, cap=low), "other": APPROVAL_RULES.pick(rng, split, thing=other_thing),
    }  # fmt: skip
    kept, allowed = rng.choice(("thing", "role", "limit")), rng.random() < 0.5
    person, amount = names["person"], rng.randint(1, low - 1) if allowed else rng.randint(low + 1, low * 4)
    case = {
        "thing": f"{person} asks for a {thing}, the approval is {'given' if allowed else 'missing'}.",
        "role": f"{person}, {role if allowed else given}, asks for the {names['noun']}.",
        "limit": f"{person} orders {amount}.",
    }[kept]  # fmt: skip
    told = {
        "thing": f"{rules['thing']} approval of {thing}: {'given' if allowed else 'missing'}",
        "role": f"{rules['role']} only {role}, given {role if allowed else given}",
        "limit": f"{rules['limit']} {amount} is {'below' if allowed else 'above'} {low}",
    }[kept]  # fmt: skip
    stated = [kept, *rng.sample([name for name in rules if name != kept], rng.randint(1, 3))]
    rng.shuffle(stated)
    numbered = rng.random() < 0.5
    lines = [f"{n + 1}. {rules[name]}" if numbered else rules[name] for n, name in enumerate(stated)]
    state: object = "\n".join((*lines, f"Case: {case}"))
    if rng.random() < 0.4:
        state = {"policy": lines, "case": case}
    return _two(rng, split, state, allowed, level, told)


def _record(rng: random.Random, split: Split, names: dict[str, str], level: int) -> Part:
    """A rule beside a case given as JSON."""
    allowed = rng.random() < 0.5
    thing = names["thing"]
    given: object = rng.choice((("yes", "no"), (True, False), ("given", "missing")))[not allowed]
    request = {rng.choice(("change", "request", "action")): thing, "by": names["person"], "ref": names["ref"]}
    state = {"policy": APPROVAL_RULES.pick(rng, split, thing=thing), "request": request, rng.choice(("approved", "approval")): given}
    return _two(rng, split, state, allowed, level, f"approval of {thing}: {'given' if allowed else 'missing'}")


def _two(rng: random.Random, split: Split, state: object, allowed: bool, level: int, told: str) -> Part:
    told = f"{told}: {verdict(allowed)}"
    rule, _, case = state.partition(". ") if isinstance(state, str) else ("", "", "")
    if level > 1 and case and "\n" not in case and rng.random() < 0.2:
        state = {"policy": rule, "case": case}
    if rng.random() < 0.5:
        if rng.random() < 0.25:
            forbidden = yes_or_no(rng, split, ASK_FORBIDDEN.pick(rng, split), not allowed, what=rng.choice(("forbidden", "against the rule", "too much")))
            return Part(state, *forbidden, reason=told)
        asked = ASK_ALLOWED.pick(rng, split)
        if rng.random() < 0.3:
            yes, no = VERDICTS.pick(rng, split).split("|")[:2]
            noul: Question = {"type": "noul", "instructions": asked, "criteria": {"true": yes, "false": no}}
            return Part(state, noul, int(not allowed), reason=told)
        return Part(state, *yes_or_no(rng, split, asked, allowed, what=rng.choice(("allowed", "within the rule", "permitted"))), reason=told)
    texts = VERDICTS.pick(rng, split).split("|")[:2]
    right = texts.pop(int(not allowed))
    return Part(state, *choice(rng, ASK.pick(rng, split), right, texts), reason=told)
