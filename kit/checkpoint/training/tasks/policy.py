"""Policy: whether a rule allows a case, forbids it, or sends it to somebody else."""

from __future__ import annotations

import random

from kit.checkpoint.training.samples import Question, Sample, Split
from kit.checkpoint.training.tasks import bounds, dossier, orders, rules
from kit.checkpoint.training.tasks.parts import Part, choice, sample, single, verdict, yes_or_no
from kit.checkpoint.training.vocabulary import Wordings, code, word

LEVELS = 5
COMPOSED = 0.5  # the share of bounds and approvals whose rule and case are sentences of their own
DOSSIERS = (0.0, 0.0, 0.0, 0.2, 0.25)  # the share of samples that are policy, request and approval as JSON, by level
VERDICTS = Wordings(
    train=("Allow it|Refuse it|Escalate it", "Allowed|Not allowed|Ask a manager", "Go ahead|Stop|Hand it to a person", "The rule allows it|The rule forbids it|Somebody else decides",
           "Approve|Reject|Escalate", "Run it|Do not run it|Wait for a decision", "Allow|Refuse|Escalate", "Approve it|Reject it|Ask a person",
           "It is allowed|It is not allowed|A manager decides", "Yes, go ahead|No, stop|Ask first", "Accept|Decline|Hand it over", "Go ahead|Refuse|Ask a manager", "allow|refuse|escalate",
           "ok|not ok|ask somebody", "let it pass|turn it down|put it before a manager", "green light|red light|let a person look", "say yes|say no|pass it on", "do it|leave it|ask the boss", "fine|forbidden|to be decided by a person", "it may be done|it may not be done|somebody has to decide", "carry on|halt|get a decision",
           "grant it|deny it|leave it to a manager", "good to go|not possible|a manager has to see it", "permit|forbid|refer", "all right|too much|needs a person", "pass|block|send it up", "accept the request|turn the request down|let a manager decide", "we do it|we do not do it|we ask first"),
    calibration=("It is allowed|It is forbidden|It must be escalated",),
    held_out=("Approve it|Refuse|Escalate to a manager", "Go ahead, it is allowed|Stop, it is not allowed|A person decides", "Accept it|Reject|Ask a person"),
)  # fmt: skip
CASES = Wordings(
    train=("Case: an order of {n} by {person}.", "{person} asks for {n}.", "Amount: {n}", "Request {ref}: {n}, from {person}.", "The request of {person} is {n}.", "Now {person} wants {n}.",
           "Asked for: {n}.", "{person} in {place} orders {n}.", "The amount is {n}.", "Case {ref}: {n} for {person}.", "This one is {n}.", "It is about {n}.", "{person} wrote down {n}.", "On the form of {person}: {n}.", "We have {n} here.", "{n} is what {person} would like.", "The number in the request is {n}.", "{person} came with {n} today.", "From {place}: {n}."),
    calibration=("{person} orders {n}.",), held_out=("Request by {person}: amount {n}.", "Case {ref}: {n}", "{person} asks for an amount of {n}."),
)  # fmt: skip
LIMITS = Wordings(
    train=("Rule: {noun} orders up to {low} are allowed, above {high} they are refused, between them a manager decides.",
           "Policy: allow below {low}, refuse above {high}, escalate in between.", "Up to {low} go ahead. More than {high} is forbidden. Everything between goes to a manager.",
           "Rule: up to {low} is fine, from {low} to {high} ask a manager, more than {high} is refused.", "Below {low}: allowed. Between {low} and {high}: a person decides. Above {high}: refused.",
           "Refuse above {high}. Allow below {low}. Escalate what is in between.", "Policy: more than {high} is not allowed, less than {low} is allowed, the rest goes to a manager.",
           "Policy for the {noun}: under {low} approve, over {high} reject, otherwise escalate.",
           "What is below {low} passes, what is above {high} does not, and for the rest one asks a manager.", "Small ones (under {low}) pass. Large ones (over {high}) are stopped. For those between a person decides.", "Less than {low}: yes. More than {high}: no. Else: ask somebody.", "A manager sees everything from {low} to {high}. Above that nothing is allowed, below that everything is.",
           "Say no to more than {high}, say yes to less than {low}, and ask about what lies between.", "You may go up to {low} by yourself, up to {high} with a manager, and beyond that not at all."),
    calibration=("Rule: below {low} allowed, above {high} forbidden, in between escalate.",),
    held_out=("Policy: up to {low} it is allowed; over {high} it is refused; between them a person decides.", "Allow up to {low}. Escalate in between. Refuse more than {high}."),
)  # fmt: skip
CAPS = Wordings(
    train=("Rule: at most {cap} {key}. The case has {n}.", "Policy: up to {cap} {key} are allowed. Asked for: {n} {key}.", "No more than {cap} {key}. {person} has {n} {key}.",
           "Returns are accepted within {cap} days. {person} bought it {n} days ago.", "The limit is {cap}. This request has {n}.", "Refunds are possible up to {cap} days. It is {n} days old.",
           "Nobody may take more than {cap} {key}. {person} wants {n}.", "Limit: {cap} {key}. Case {ref}: {n} {key}.", "Allowed: up to {cap}. Request: {n}.", "The most one may have is {cap} {key}. {person} would have {n}.", "{cap} {key} is the limit, and {person} is at {n}.", "One must not go over {cap} {key}. It stands at {n}.", "Stay within {cap} {key}. Now it is {n}.", "We go up to {cap} {key} and no further. {person} asks for {n} {key}.", "Not over {cap} {key}, says the rule. The form says {n}.", "{person} is at {n} {key}, and {cap} is as far as one may go.", "Everything up to {cap} is fine. This one: {n}.",
           "Rule: the {noun} holds at most {cap}. Now {n} are asked for."),
    calibration=("Policy: at most {cap} {key}. {person} asks for {n}.",),
    held_out=("Rule: up to {cap} {key}. Case {ref} has {n} {key}.", "The limit is {cap} {key}. {person} asks for {n}.", "Refunds are accepted within {cap} days. {person} bought it {n} days ago."),
)  # fmt: skip
FLOORS = Wordings(
    train=("Rule: at least {cap} {key}. The case has {n}.", "Policy: {key} must be {cap} or more. {person} has {n}.", "Nobody under {cap} may do it. {person} has {n}.",
           "The minimum is {cap}. This request has {n}.", "Needed: at least {cap} {key}. Given: {n}.", "Only from {cap} {key} on. Case {ref}: {n} {key}.", "Minimum {cap} {key}; {person} has {n} {key}.",
           "Less than {cap} {key} is refused. Asked for: {n}.", "One must have {cap} {key} or more. {person} has {n}.", "Nothing below {cap} {key} is let in. This has {n}.", "You need {cap} {key} to get it. {person} can show {n}.", "From {cap} {key} upwards it is fine. Here it is {n}.", "The least one may have is {cap} {key}. It stands at {n}.", "It takes {cap} {key}, no less. We see {n}."),
    calibration=("Policy: at least {cap} {key}. {person} has {n}.",), held_out=("The minimum is {cap} {key}. {person} has {n}.", "Rule: at least {cap} {key}. Case {ref} has {n} {key}."),
)  # fmt: skip
APPROVALS = Wordings(
    train=("Rule: a {thing} needs an approval. Approved: {yes}.", "Policy: no {thing} without approval. Case {ref}: approval {given}.",
           "A {thing} must be approved first. {person} {did} approved it.", "Rule: every {thing} needs approval by {person}. Approval: {given}.",
           "No {thing} before it is approved. Approved by {person}: {yes}.", "Every {thing} needs an approval. Case {ref}: {person} {did} approved it.",
           "Policy: approval first, then the {thing}. Approval is {given}.", "A {thing} is only possible with approval. Approved: {yes}", "{person} {did} approved the {thing}. Rule: approval is needed.",
           "Approval for the {thing}: {given}. Policy: nothing goes ahead without approval.",
           "Without approval there is no {thing}. In this case it is {given}.", "First the approval, then the {thing}. {person} {did} approved it so far.", "A {thing} can wait until it is approved. Approved by now: {yes}.", "Somebody has to approve every {thing}. {person} {did} approved this one.", "We do no {thing} unless it was approved. Was it? {yes}.", "The approval of the {thing} is {given}, and the rule asks for one.", "An approval is a must for a {thing}. {person} asks for one, approval {given}."),
    calibration=("Policy: a {thing} needs approval by {person}. Approved: {yes}.",),
    held_out=("Rule: no {thing} without approval. {person} {did} approved it.", "Every {thing} must be approved first. Case {ref}: approved {yes}.", "Policy: a {thing} needs an approval. Approval is {given}."),
)  # fmt: skip
ROLES = Wordings(
    train=("Rule: only {role} may {verb} the {noun}. {person} is {given}.", "Policy: the {noun} is for {role}. The request comes from {given}.",
           "Nobody but {role} is allowed to {verb} the {noun}. Asked by: {given}.", "Only {role} may do it. {person} is {given}.", "To {verb} the {noun} one must be {role}. {person} is {given}.",
           "Rule: {role} may {verb} the {noun}, nobody else. The request is from {given}.", "{person} is {given} and wants to {verb} the {noun}. Only {role} may.",
           "Request from {given}. Policy: only {role} may {verb} it.", "Reserved for {role}. Asked by {given}.", "The {noun}? That is for {role}. Now {given} asks.", "Who wants to {verb} the {noun} has to be {role}. {person} works as {given}.", "We give the {noun} to {role} and to no one else. {person}, {given}, would like it.", "It takes {role} to {verb} the {noun}; {person} is {given}.", "At the counter stands {given}. The {noun} may be had by {role} alone.", "Keep the {noun} for {role}. The one who asks is {given}.", "The {noun} may be used by {role} only. {person} is {given}."),
    calibration=("Policy: only {role} may {verb} the {noun}. Asked by {given}.",),
    held_out=("Rule: the {noun} is for {role}. {person} is {given}.", "Only {role} is allowed to {verb} the {noun}. The request is from {given}.", "Policy: nobody but {role} may {verb} it. {person} is {given}."),
)  # fmt: skip
APPROVAL_RULES = Wordings(
    train=("No {thing} without an approval.", "A {thing} needs an approval.", "Every {thing} must be approved first.", "A {thing} without approval is refused.", "A {thing} is only allowed with an approval.",
           "No {thing} may run without an approval.", "For a {thing} somebody has to give an approval.", "We never do a {thing} that nobody approved.", "Approve first, then do the {thing}.", "A {thing} must wait for an approval.", "A {thing} goes ahead once it is approved, not before.", "An approval is a must for every {thing}."),
    calibration=("Without an approval no {thing}.",), held_out=("No {thing} is allowed without an approval.", "A {thing} must be approved first."),
)  # fmt: skip
ROLE_RULES = Wordings(
    train=("The {noun} is for {role} only.", "Only {role} may use the {noun}.", "Nobody but {role} gets the {noun}.", "The {noun} is reserved for {role}.", "The {noun} goes to {role}, nobody else.", "Give the {noun} to {role} alone.", "No one gets the {noun} unless it is {role}.", "The {noun} can be had by {role} and no one else.", "To get the {noun} one has to be {role}.", "Keep the {noun} for {role}."),
    calibration=("Only {role} gets the {noun}.",), held_out=("The {noun} is for {role}, nobody else.", "Nobody but {role} may use the {noun}."),
)  # fmt: skip
LIMIT_RULES = Wordings(
    train=("An order of more than {cap} is refused.", "Orders up to {cap} are allowed.", "No order above {cap}.", "Orders: at most {cap}.", "An order may be {cap} at most.", "Orders above {cap} are not allowed.", "An order must stay within {cap}.", "We take orders up to {cap}.", "We turn down orders of more than {cap}.", "An order goes up to {cap}, not beyond.", "No order may go over {cap}.", "The most one may order is {cap}."),
    calibration=("An order above {cap} is not allowed.",), held_out=("Orders of more than {cap} are refused.", "An order up to {cap} is allowed."),
)  # fmt: skip
ROLE_NAMES = ("an admin", "a doctor", "a driver", "a manager", "a nurse", "a teacher", "an engineer", "an owner", "a guest", "an editor", "a pilot", "a cook", "a customer", "a student", "a developer", "a member")
THINGS = ("deletion", "payment", "transfer", "release", "refund", "database change", "night shift", "price change", "data export", "restart", "deployment", "password reset", "contract", "purchase", "visit")
ASK = Wordings(
    train=("What does the rule say?", "What should the gatekeeper do?", "Decide the case.", "Which verdict follows?", "What happens with the request?",
           "Apply the policy.", "What should happen with the case?", "Apply the rule.", "Which decision is right?", "What does the policy say?", "What is to be done?", "Decide by the policy.", "How do we answer?", "What do we tell them?", "What is right by the rule?", "How should we deal with it?", "What would a careful clerk do?", "So what do we do with it?", "What is the right answer to the request?", "How does it go on?",
           "What has to happen now?", "Which way does the rule point?", "What comes out of the rule?", "What should one do here?", "Say what is right.", "Give the decision."),
    calibration=("Decide by the rule.",), held_out=("Which decision does the rule give?", "Apply the rule to the case.", "What should happen?"),
)  # fmt: skip
ASK_FORBIDDEN = Wordings(
    train=("Must it be refused?", "Does the rule forbid it?", "Is it against the rule?", "Should it be stopped?", "Does it break the policy?", "Has it to be refused?", "Is the request over what is allowed?",
           "Must somebody stop it?", "Is it forbidden?", "Would it break the rule?", "Do we have to turn it down?", "Is this one to be stopped?", "Is there a rule against it?", "Would it be wrong to let it pass?", "Do we say no here?", "Is that not allowed?", "Should the answer be no?", "Does something speak against it?"),
    calibration=("Does it go against the policy?",), held_out=("Is the request against the policy?", "Must the request be refused?", "Does this break the rule?"),
)  # fmt: skip
ASK_ALLOWED = Wordings(
    train=("Is it allowed?", "Does the rule allow it?", "May it go ahead?", "Is the request allowed by the policy?", "Is the case within the rule?", "Can it go ahead?",
           "Does the policy allow the request?", "Is this allowed by the rule?", "Should it be allowed?", "May they go ahead?", "Is this request within the policy?", "Do we let it pass?", "Is it all right?", "Can we say yes?", "Would it be right to let it pass?", "Should the answer be yes?", "Is there nothing against it?", "May it be done?", "Is it fine to go on?", "Does it keep to the rule?", "Do they get what they ask for?", "Is the way free for it?"),
    calibration=("Does the policy allow it?",), held_out=("Is the case allowed by the rule?", "May the request go ahead?", "Should the request be allowed?"),
)  # fmt: skip


def make(rng: random.Random, split: Split, level: int = LEVELS - 1) -> Sample:
    """0: approvals; 1: roles; 2: one limit of one digit; 3: longer limits, exceptions, steps, dossiers; 4: two limits, limits by group, too."""
    if rng.random() < DOSSIERS[level]:
        parts = dossier.parts(rng, split)
        return sample("policy", split, level, parts, next(iter(parts.values())).state)
    return single(rng, "policy", split, level, part(rng, split, level))


def part(rng: random.Random, split: Split, level: int = LEVELS - 1) -> Part:
    """One rule, one case, and the verdict."""
    names = {
        "person": word(rng, "person", split), "noun": word(rng, "noun", split), "verb": word(rng, "verb", split),
        "ref": code(rng), "thing": rng.choice(THINGS), "place": word(rng, "place", split), "key": word(rng, "number key", split),
    }  # fmt: skip
    kinds = (_approval, _record, _role, _capped, _limit, _handbook)
    if rng.random() < (0, 0, 0.4, 0.6, 0.65)[level]:
        others = (rules.ranged, orders.part, rules.permitted, rules.counted, rules.ranged, orders.part, rules.excepted, rules.grouped, rules.handbook)
        return rng.choice(others[: (0, 0, 4, 7, 9)[level]])(rng, split, level)
    kind = rng.choice(kinds[: (1, 3, 4, 4, 6)[level]])
    return kind(rng, split, names, level)


def _approval(rng: random.Random, split: Split, names: dict[str, str], level: int) -> Part:
    allowed = rng.random() < 0.5
    yes, given, did = ("yes", "given", "has") if allowed else ("no", "missing", "has not")
    if level > 1 and rng.random() < COMPOSED:
        return _two(rng, split, bounds.approved(rng, split, names, allowed), allowed, level, f"approval of {names['thing']}: {given}")
    text = APPROVALS.pick(rng, split, yes=yes, given=given, did=did, **names)
    return _two(rng, split, text, allowed, level, f"approval of {names['thing']}: {given}")


def _role(rng: random.Random, split: Split, names: dict[str, str], level: int) -> Part:
    allowed = rng.random() < 0.5
    role, other = rng.sample(ROLE_NAMES, 2)
    given = role if allowed else other
    return _two(rng, split, ROLES.pick(rng, split, role=role, given=given, **names), allowed, level, f"only {role}, given {given}")


def _capped(rng: random.Random, split: Split, names: dict[str, str], level: int) -> Part:
    """One bound, at times met exactly: what is at most or at least so much may be just that."""
    allowed, most = rng.random() < 0.5, rng.random() < 0.7
    top = 10 if level < 3 else rng.choice((10, 100, 100, 1000))
    small, large = sorted(rng.sample(range(1, top + 1), 2))
    cap, n = (large, small) if allowed == most else (small, large)
    if allowed and level > 2 and rng.random() < 0.2:
        n = cap
    told = f"{n} is {'above' if n > cap else 'below' if n < cap else 'exactly'} {cap}, at {'most' if most else 'least'} {cap}"
    if level > 2 and rng.random() < COMPOSED:
        return _two(rng, split, bounds.bounded(rng, split, names, cap, n, most), allowed, level, told)
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
