"""Rules put together from ranges and outcomes, cases in several layouts, and questions either way: the rest of `policy`.

Covers: a range of amounts and what it leads to (an approval or none, allowed or refused), values exactly on the limit, limits
that differ by role, place and day, exceptions, several rules in one text, who may do what, cases as text, JSON or a short log. Does not cover: rules in fixed sentences
(`policy`), the steps of an instruction (`orders`).
"""

from __future__ import annotations

import random
from dataclasses import dataclass, replace

from kit.checkpoint.training.samples import Split
from kit.checkpoint.training.tasks.parts import Part, choice, sentence_case, verdict, yes_or_no
from kit.checkpoint.training.vocabulary import Wordings, code, word

MATTERS = Wordings(  # what is asked for, and what it is counted in
    train=("a refund|euros", "a payment|euros", "a purchase|euros", "a gift|euros", "a discount|percent", "a parcel|kilograms", "a bag|kilograms", "a file|megabytes", "a backup|gigabytes",
           "a group|people", "a loan|books", "an order|boxes", "a delivery|crates", "a trip|kilometres", "a delay|minutes", "a pause|minutes", "a shift|hours", "a meeting|minutes", "a holiday|days",
           "a rental|days", "a stay|nights", "a message|words", "a batch|jobs", "a report|pages", "a print job|pages", "a table|seats", "a load|tons", "a transfer|euros", "a bill|euros", "a dose|drops", "a ladder|metres", "an export|rows"),
    calibration=("a deposit|euros", "a walk|kilometres"), held_out=("an expense|euros", "a visit|hours", "a crate|kilograms", "an upload|megabytes", "a tour|guests"),
)  # fmt: skip
UP_TO = Wordings(  # ranges: the limit itself is below
    train=("{thing} of up to {q}", "{thing} of at most {q}", "{thing} of {q} or less", "{thing} of not more than {q}", "{thing} of no more than {q}", "{thing} that does not exceed {q}", "{thing} not over {q}", "{thing} of {q} at most",
           "{thing} up to and including {q}", "{thing} of {q} or fewer"),
    calibration=("{thing} with {q} or less",), held_out=("{thing} of {q} or below", "{thing} not above {q}"),
)  # fmt: skip
UNDER = Wordings(
    train=("{thing} of less than {q}", "{thing} under {q}", "{thing} below {q}", "{thing} that stays under {q}", "{thing} of fewer than {q}", "{thing} that stays below {q}"),
    calibration=("{thing} that is below {q}",), held_out=("{thing} of under {q}", "{thing} with less than {q}"),
)  # fmt: skip
OVER = Wordings(
    train=("{thing} of more than {q}", "{thing} over {q}", "{thing} above {q}", "{thing} beyond {q}", "{thing} that exceeds {q}", "{thing} that goes over {q}", "{thing} of over {q}", "{thing} larger than {q}"),
    calibration=("{thing} that is above {q}",), held_out=("{thing} of above {q}", "{thing} with more than {q}"),
)  # fmt: skip
FROM = Wordings(
    train=("{thing} of {q} or more", "{thing} of at least {q}", "{thing} from {q} on", "{thing} from {q} upwards", "{thing} of {q} and more", "{thing} of not less than {q}", "{thing} that reaches {q}", "{thing} starting at {q}"),
    calibration=("{thing} with {q} or more",), held_out=("{thing} of {q} or above", "{thing} of {q} upwards"),
)  # fmt: skip
NEEDS = Wordings(
    train=("{range} needs {role}", "{range} must be approved by {role}", "{range} has to be signed by {role}", "{range} goes to {role} first", "{range} is only possible if {role} agrees", "{range} waits for {role}",
           "{range} must be checked by {role} first", "for {range} one has to ask {role}", "{range} is not done before {role} agrees", "{role} must agree to {range}", "{role} has to approve {range}", "{range} needs the signature of {role}",
           "{range} needs approval by {role}", "{range} is for {role} to decide"),
    calibration=("{range} must go past {role}",), held_out=("{range} requires approval by {role}", "{role} has to agree before {range} is made", "{range} needs {role} to agree"),
)  # fmt: skip
FREE = Wordings(
    train=("{range} needs no approval", "{range} goes ahead without asking", "{range} needs nobody", "{range} may be made at once", "{range} is fine without a signature", "{range} can go ahead by itself", "{range} needs no signature",
           "for {range} nobody has to be asked", "{range} is made without asking anybody", "nobody needs to approve {range}", "{range} goes through at once"),
    calibration=("{range} takes no approval",), held_out=("{range} requires no approval", "nobody has to agree to {range}"),
)  # fmt: skip
REFUSED = Wordings(
    train=("{range} will be refused", "{range} is not allowed", "{range} may not be made", "{range} is turned down", "{range} must be stopped", "we do not accept {range}", "{range} is forbidden", "nobody may have {range}",
           "{range} is sent back", "{range} cannot be accepted"),
    calibration=("{range} is rejected",), held_out=("{range} has to be refused", "we never allow {range}"),
)  # fmt: skip
ALLOWED = Wordings(
    train=("{range} is allowed", "{range} is fine", "{range} may go ahead", "{range} is accepted", "we accept {range}", "{range} is within the rules", "everybody may have {range}", "{range} can be made", "{range} is all right", "{range} passes"),
    calibration=("{range} is permitted",), held_out=("{range} is acceptable", "we allow {range}"),
)  # fmt: skip
REST = {  # the other side, where it is said: by what it leads to
    "needs": ("anything else needs {role}", "everything else goes to {role}", "otherwise ask {role}", "for the rest one asks {role}", "the rest needs {role}"),
    "free": ("everything else goes ahead", "the rest needs nobody", "otherwise nobody is asked", "anything else needs no approval"),
    "refused": ("anything else is refused", "the rest is not allowed", "everything else is turned down", "otherwise it is refused"),
    "allowed": ("anything else is fine", "the rest is allowed", "otherwise it may go ahead", "everything else is accepted"),
}  # fmt: skip
OWN_REST = {  # the same beside other rules
    "needs": ("any other {noun} needs {role}", "every other {noun} goes to {role}", "for any other {noun} ask {role}"),
    "free": ("any other {noun} goes ahead", "every other {noun} needs nobody", "any other {noun} needs no approval"),
    "refused": ("any other {noun} is refused", "every other {noun} is turned down", "no other {noun} is allowed"),
    "allowed": ("any other {noun} is fine", "every other {noun} is allowed", "any other {noun} may go ahead"),
}  # fmt: skip
OPPOSITE = {"needs": "free", "free": "needs", "refused": "allowed", "allowed": "refused"}
SAYS = {"needs": NEEDS, "free": FREE, "refused": REFUSED, "allowed": ALLOWED}
BOSSES = Wordings(
    train=("a manager", "the manager", "the head nurse", "the owner", "the team lead", "an admin", "the boss", "a second person", "the office", "the treasurer", "the captain", "a supervisor", "the head of the team", "the director", "the teacher on duty"),
    calibration=("the chief engineer", "the head porter", "a senior clerk"), held_out=("the head of finance", "the manager on duty", "a senior doctor"),
)  # fmt: skip
CASES = Wordings(
    train=("{person} asks for {amount}.", "{person} wants {amount}.", "The request is {amount}, from {person}.", "Today {person} from {place} asks for {amount}.", "{Amount} came in from {person}.", "{person} in {place} has {amount}.",
           "Case {ref}: {amount}.", "It is about {amount}.", "Now there is {amount}.", "{person} would like {amount}.", "Request {ref}, {person}: {amount}.", "{Amount} is asked for.", "This time it is {amount}.", "We have {amount} here, it is for {person}.",
           "{person} has sent in {amount}.", "On the table: {amount}."),
    calibration=("{person} sent us {amount}.",), held_out=("{person} has asked us for {amount}.", "A request from {place}: {amount}.", "{Amount} was asked for by {person}."),
)  # fmt: skip
HEADS = ("Rule", "Policy", "House rule", "Our rule", "The rule", "Handbook", "Standing order", "From the handbook")
ASK_NEEDS = Wordings(
    train=("Does it need {role}?", "Must somebody approve it?", "Is an approval needed?", "Has {role} to agree first?", "Does {person} have to ask {role}?", "Do we need {role} for this?", "Does somebody have to sign?", "Must {role} look at it?",
           "Is this one for {role}?", "Does it have to go to {role}?", "Do we have to wait for {role}?", "Must {person} ask somebody first?", "Is a signature needed here?", "Would {role} have to agree?", "Should {role} be asked?", "Does this case need an approval?"),
    calibration=("Has it to be approved by {role}?",), held_out=("Does {role} have to approve this?", "Is the approval of {role} needed?", "Must we ask {role} before we go on?"),
)  # fmt: skip
ASK_FREE = Wordings(
    train=("May it go ahead without {role}?", "Can {person} do it alone?", "Is it fine without asking?", "Can it be done at once?", "May {person} go on without asking?", "Is {role} not needed here?", "Can we skip {role}?", "Does it go through by itself?",
           "May we do it without a signature?", "Is it free of any approval?", "Can it go ahead right away?", "May this be done with nobody asked?"),
    calibration=("May this pass without {role}?",), held_out=("Can this go ahead without an approval?", "May {person} do this without {role}?"),
)  # fmt: skip
NEED_WORDS = Wordings(
    train=("needs {role}|needs nobody", "ask {role} first|go ahead without asking", "approval needed|no approval needed", "{role} must approve|no approval is needed", "wait for {role}|no need to wait", "{role} decides|nobody has to decide", "needs approval|needs none",
           "it has to be signed|no signature needed", "it goes on to {role}|it goes ahead", "must ask|need not ask", "{role} is needed|{role} is not needed", "somebody must agree|nobody must agree", "hold it until {role} agrees|do it now", "ask {role}|just do it",
           "with {role}|without {role}", "approval comes first|it can be done at once", "send it to {role}|let it through"),
    calibration=("it needs {role} first|it does not need {role}",), held_out=("an approval is required|no approval is required", "{role} has to agree|{role} does not have to agree", "ask before going on|go on without asking"),
)  # fmt: skip
ASK_ALLOWED = Wordings(
    train=("May it go ahead?", "Is it allowed?", "Can we accept it?", "Is {person} allowed to have it?", "Is that within the limit?", "Is this fine by the rule?", "Do the rules allow that?", "Would you let it pass?", "Is it still all right?", "Can {person} get it?",
           "Does it stay within the limit?", "Is it small enough or large enough to pass?", "Should we say yes to it?", "Does it pass?", "May we do what is asked?"),
    calibration=("Is this one acceptable?",), held_out=("Can the request be accepted?", "Is what {person} asks for allowed?", "Does it keep to the limit?"),
)  # fmt: skip
ASK_REFUSED = Wordings(
    train=("Must it be turned down?", "Is it outside the limit?", "Do we have to say no?", "Does it break the rule?", "Is it to be refused?", "Is that against the rule?", "Should we stop it?", "Is {person} asking for something that is not allowed?", "Has it to be sent back?",
           "Is it more or less than the rule allows?", "Does the limit stop it?", "Is this not allowed?"),
    calibration=("Must we say no to it?",), held_out=("Does the request have to be refused?", "Is what {person} asks for against the rules?"),
)  # fmt: skip
ALLOWED_WORDS = Wordings(
    train=("within the limit|not within the limit", "allowed|not allowed", "fine|not fine", "accept it|turn it down", "let it pass|stop it", "it may go ahead|it may not go ahead", "say yes|say no", "it is all right|it breaks the rule", "it keeps the rule|it breaks the rule",
           "go on|stop here", "the limit is kept|the limit is broken", "inside the limit|outside the limit", "possible|not possible", "we can accept it|we cannot accept it", "it passes|it does not pass", "do it|do not do it", "permitted|refused", "good to go|to be sent back"),
    calibration=("accepted|not accepted",), held_out=("the rule allows it|it is against the rule", "it can be accepted|it has to be refused", "keeps to the limit|does not keep to the limit"),
)  # fmt: skip
ASK_WHICH = Wordings(
    train=("What follows from the rule?", "What now?", "What is the right way to go on?", "What happens with it?", "How do we deal with it?", "What should {person} be told?", "What does the rule lead to?", "Which way does it go?", "What do we do?", "How does the case end?",
           "What is the outcome?", "What comes of it?"),
    calibration=("What does the rule ask us to do?",), held_out=("How should the case be handled?", "What is the right outcome here?"),
)  # fmt: skip
LOG_LINES = Wordings(
    train=("{person} opened the {noun}", "the {noun} was moved", "call from {place}", "{person} is at work", "shift began", "mail from {person} read", "{noun} checked", "coffee with {person}", "the {noun} is back", "note from {place} filed", "door opened for {person}", "nothing new"),
    calibration=("{person} has left",), held_out=("{person} came in", "the {noun} was put away", "a call for {person}"),
)  # fmt: skip
GROUPS = Wordings(  # two or more of one kind: whom or where or when a limit is for, and how a case says so
    train=("guests;members;owners", "nurses;doctors;students", "drivers;pilots;cooks", "new customers;old customers", "children;adults;seniors", "the day shift;the night shift", "the first floor;the second floor;the ground floor", "weekdays;weekends",
           "summer;winter", "Mondays;Fridays;Sundays", "the test system;the live system", "small shops;large shops", "trucks;vans;cars", "editors;writers;readers", "the north hall;the south hall", "trainees;staff;managers", "cash;card;transfer",
           "paper;glass;metal", "cats;dogs;birds", "mornings;evenings"),
    calibration=("admins;developers;testers", "spring;autumn"), held_out=("teachers;pupils;parents", "the old bridge;the new bridge", "Tuesdays;Saturdays", "engineers;sellers"),
)  # fmt: skip
PER = Wordings(  # one group's limit
    train=("{group}: {limit}", "for {group} {limit}", "{limit} for {group}", "{group} - {limit}", "with {group} it is {limit}", "{group} ({limit})", "as for {group}, {limit}"),
    calibration=("{group} = {limit}",), held_out=("{limit} where it is {group}", "{group} / {limit}"),
)  # fmt: skip
MOST = Wordings(
    train=("up to {q}", "at most {q}", "not over {q}", "no more than {q}", "{q} at most", "not more than {q}", "{q} or less", "max {q}"),
    calibration=("{q} and no more",), held_out=("{q} or below", "not above {q}"),
)  # fmt: skip
LEAST = Wordings(
    train=("at least {q}", "from {q} on", "{q} or more", "not less than {q}", "not under {q}", "min {q}", "{q} at least"),
    calibration=("{q} and no less",), held_out=("{q} or above", "not below {q}"),
)  # fmt: skip
PER_HEADS = Wordings(
    train=("Limits for {thing}.", "{Thing} has limits.", "How much {thing} may be:", "For {thing} these limits hold.", "Limits ({thing}):", "What is allowed for {thing}:", "{Thing}, by group:"),
    calibration=("{Thing} is limited.",), held_out=("The limits for {thing} are these.", "Allowed for {thing}:"),
)  # fmt: skip
PER_CASES = Wordings(
    train=("Case ({group}): {amount}.", "{group}: {amount} is asked for.", "This is about {group}, {amount}.", "{amount} now, for {group}.", "{person} asks, {group}, for {amount}.", "Asked for: {amount} ({group})."),
    calibration=("For {group} now: {amount}.",), held_out=("A case of {group}: {amount}.", "{amount} was asked for, {group}."),
)  # fmt: skip
EXCEPT = Wordings(
    train=("{rule}, except {when}.", "{rule}, but not {when}.", "{rule}. Not so {when}.", "{rule}. {When} this rule does not hold.", "{rule}. There is one exception: {when}.", "{rule}, unless it is {when}.", "{rule}; {when} it is the other way round.",
           "{rule}. An exception is made {when}."),
    calibration=("{rule}, save {when}.",), held_out=("{rule}, with the exception of what happens {when}.", "{rule}. This is not so {when}."),
)  # fmt: skip
WHENS = Wordings(  # an exception and cases without it
    train=("at night|by day;at noon;in the morning", "on Sundays|on a Monday;on a Friday;on a Thursday", "in summer|in winter;in autumn", "for members|for a guest;for a new customer", "in the test system|in the live system;in production",
           "during an alarm|on a quiet day;on a normal day", "at weekends|on a Wednesday;on a Monday", "for children|for an adult;for a man of forty", "in the kitchen|in the hall;in the office", "before noon|after noon;in the evening",
           "for the fire brigade|for a visitor;for a neighbour", "on the ground floor|on the third floor;on the roof", "for regular customers|for a stranger;for a new customer", "when it rains|in the sun;on a dry day", "in an emergency|on a normal day;as usual",
           "by phone|by letter;by mail", "for staff|for a customer;for a guest", "in the library|in the garden;in the workshop"),
    calibration=("in spring|in autumn;in winter", "for pupils|for a teacher;for a parent"), held_out=("after midnight|at noon;in the afternoon", "for trainees|for a manager;for an engineer", "on holidays|on a working day;on a Tuesday"),
)  # fmt: skip
HELD: dict[str, tuple[str, ...]] = {  # how a case says what an exception says
    "at night": ("at night", "at two in the night"), "on Sundays": ("on a Sunday",), "in summer": ("in summer", "in July"), "for members": ("for a member",), "at weekends": ("on a Saturday", "at the weekend"),
    "during an alarm": ("during an alarm",), "for children": ("for a child",), "before noon": ("in the morning", "before noon"), "for regular customers": ("for a regular customer",), "when it rains": ("in the rain",),
    "for pupils": ("for a pupil",), "for trainees": ("for a trainee",), "on holidays": ("on a holiday",), "in an emergency": ("in an emergency",), "after midnight": ("after midnight", "at one in the night"),
}  # fmt: skip
DEEDS = Wordings(  # what needs an approval without any amount
    train=("a restart", "a deletion", "a refund", "a visit", "a night shift", "a price change", "a data export", "a release", "a password reset", "a new key", "a phone call abroad", "a tour", "a delivery", "a repair", "a swap of shifts", "a test run", "a copy of the file", "a change of the plan", "a loan", "a purchase"),
    calibration=("a rollback", "a day off"), held_out=("a new contract", "a change of the menu", "a move to another room", "a firmware update"),
)  # fmt: skip

ROLES = Wordings(
    train=("an admin", "a doctor", "a driver", "a manager", "a nurse", "a teacher", "an engineer", "an owner", "a guest", "an editor", "a pilot", "a cook", "a customer", "a student", "a developer", "a member", "a guard", "a cleaner", "a neighbour", "a trainee", "a captain", "a child", "a painter", "a clerk"),
    calibration=("a farmer", "a singer", "a sailor", "a tailor"), held_out=("a gardener", "a plumber", "a lawyer", "a porter", "a tester"),
)  # fmt: skip
MAY = Wordings(
    train=("Only {a} or {b} may {deed}.", "{A} and {b} may {deed}, nobody else.", "To {deed} one has to be {a} or {b}.", "Nobody may {deed} unless it is {a} or {b}.", "Whoever is not {a} or {b} may not {deed}.", "It is for {a} or {b} to {deed}, and for nobody else.", "May {deed}: {a}, {b}. All others may not.", "Allowed to {deed} are {a} and {b} alone.",
           "We let {a} or {b} {deed} and send all others away."),
    calibration=("None but {a} or {b} may {deed}.",), held_out=("You may {deed} if you are {a} or {b}, but not otherwise.", "Permission to {deed}: {a}, {b}, no others."),
)  # fmt: skip
MAY_NOT = Wordings(
    train=("Everybody may {deed} except {a} and {b}.", "All but {a} and {b} may {deed}.", "{A} or {b} may not {deed}; all others may.", "Anybody can {deed}, only {a} or {b} cannot.", "Unless one is {a} or {b}, one may {deed}.", "It is forbidden for {a} and {b} to {deed}. For the rest it is fine.", "May not {deed}: {a}, {b}. All others may.",
           "We let everybody {deed}, but not {a} or {b}."),
    calibration=("Save {a} and {b}, all may {deed}.",), held_out=("You may {deed} unless you are {a} or {b}.", "No permission to {deed}: {a}, {b}. The others have it."),
)  # fmt: skip
ROLE_CASES = Wordings(
    train=("{person}, {given}, wants to {deed}.", "{Given} asks whether it is fine to {deed}.", "Now {given} would like to {deed}.", "{person} is {given} and asks to {deed}.", "{person} wants to {deed}. {person} is {given}.", "Request {ref}: {given} wants to {deed}.", "{Given} from {place} is here to {deed}.", "At the door: {person}, {given}. Wish: to {deed}."),
    calibration=("{Given}, {person}, has come to {deed}.",), held_out=("{person} is here to {deed} and works as {given}.", "{Given} named {person} has asked to {deed}."),
)  # fmt: skip
ASK_MAY = Wordings(
    train=("May it be done?", "Is that allowed?", "May they do it?", "Is the request all right?", "Do we let it happen?", "Is it fine by the rule?", "Should we say yes?", "Can {person} go ahead?", "Is {person} allowed to do so?", "Does the rule give leave to do it?", "Have they the right to do it?", "Is this one of those who may?"),
    calibration=("Is one like that allowed to do it?",), held_out=("Are they entitled to do it?", "Is what they want allowed?", "May {person} do that?"),
)  # fmt: skip
ASK_MAY_NOT = Wordings(
    train=("Do we have to say no?", "Must we send them away?", "Is that forbidden?", "Is it against the rule?", "Does the rule stop them?", "Has it to be refused?", "Must {person} stay away from it?", "Is {person} kept from doing it?", "Should we not let it happen?", "Are they without the right to do it?"),
    calibration=("Is one like that kept from doing it?",), held_out=("Do the rules keep them from it?", "Is what they want forbidden?"),
)  # fmt: skip
MAY_WORDS = Wordings(
    train=("allowed|not allowed", "they may|they may not", "let them|send them away", "say yes|say no", "has the right|has no right", "go ahead|stay away", "permitted|forbidden", "fine|not fine", "one who may|one who may not", "the rule allows it|the rule does not allow it", "do it|leave it", "within the rule|against the rule", "accept|refuse", "open to them|closed to them"),
    calibration=("may do it|may not do it",), held_out=("entitled to it|not entitled to it", "they have permission|they have no permission"),
)  # fmt: skip
COUNTED = Wordings(  # what is counted, and by what
    train=("calls|a day", "visits|a week", "orders|a person", "guests|a room", "tries|an hour", "loans|a month", "refunds|a year", "guests|a table", "copies|a day", "keys|a person", "mails|an hour", "parcels|a customer", "cars|a family", "boxes|a shelf", "jobs|a server", "pupils|a class", "questions|a lesson", "breaks|a shift", "bags|a traveller"),
    calibration=("tickets|a buyer",), held_out=("logins|a minute", "books|a reader", "stops|a tour"),
)  # fmt: skip
COUNT_CASES = Wordings(
    train=("This would be number {n}.", "{person} asks, and it would be number {n}.", "With this one it is {n} {things}.", "With the one of {person} there would be {n}.", "So far {before}; with this one {n}.", "Counting this one, {n} {things}.", "It makes {n} in all.", "{person} would then have {n} {things}.", "The count would go up to {n}.", "Now it would come to {n} {things} in all."),
    calibration=("{person} would bring it to {n}.",), held_out=("With that of {person} the number is {n}.", "All in all it would be {n} {things}."),
)  # fmt: skip


@dataclass(frozen=True)
class Case:
    """A rule and what it is applied to. outcome: of SAYS, what holds for the case. told: the reason."""

    rule: str
    case: str
    fields: dict[str, object]
    outcome: str
    told: str
    names: dict[str, str]
    thing: str = ""


def ranged(rng: random.Random, split: Split, level: int) -> Part:
    """One range of amounts and an amount, at times exactly on the limit."""
    return _part(rng, split, _ranged(rng, split, level), level)


def grouped(rng: random.Random, split: Split, level: int) -> Part:
    """Limits that differ by group."""
    names, thing, unit = _names(rng, split), *_matter(rng, split)
    groups = rng.choice(GROUPS.of(split)).split(";")
    rng.shuffle(groups)
    groups = groups[: rng.randint(2, 3)]
    most = rng.random() < 0.7
    caps = dict(zip(groups, _apart(rng, len(groups), level), strict=True))
    group = rng.choice(groups)
    # Half of the amounts lie between two limits, so that another group's would decide the other way.
    n = _near(rng, caps[group], level) if rng.random() < 0.5 else _between(rng, list(caps.values()), caps[group])
    limit, each = rng.choice((MOST if most else LEAST).of(split)), rng.choice(PER.of(split))
    lines = [each.format(group=name, limit=limit.format(q=f"{cap} {unit}")) for name, cap in caps.items()]
    head = PER_HEADS.pick(rng, split, thing=thing, Thing=sentence_case(thing))
    rule = f"{head} {sentence_case(rng.choice(('; ', ', ')).join(lines))}." if rng.random() < 0.6 else "\n".join((head, *lines))
    allowed = n <= caps[group] if most else n >= caps[group]
    case = sentence_case(PER_CASES.pick(rng, split, group=group, amount=f"{thing} of {n} {unit}", **names))
    told = f"{group}: {caps[group]}, {_compared(n, caps[group])}, at {'most' if most else 'least'}"
    fields: dict[str, object] = {rng.choice(("for", "group", "kind")): group, "what": thing, unit: n}
    return _part(rng, split, Case(rule, case, fields, "allowed" if allowed else "refused", told, names), level)


def excepted(rng: random.Random, split: Split, level: int) -> Part:
    """A rule about a deed with an exception that holds or does not."""
    return _part(rng, split, _excepted(rng, split), level)


def handbook(rng: random.Random, split: Split, level: int) -> Part:
    """Rules about several things, and a case that one of them is about."""
    case = _excepted(rng, split) if rng.random() < 0.3 else _ranged(rng, split, level, alone=False)
    rules, things = [case.rule], [case.thing]
    wanted = rng.randint(2, 3 if level < 4 else 4)
    while len(rules) < wanted:
        other = _excepted(rng, split) if rng.random() < 0.3 else _ranged(rng, split, level, alone=False)
        if not any(set(other.thing.split()) & set(thing.split()) - {"a", "an", "of", "the"} for thing in things):
            rules.append(other.rule)
            things.append(other.thing)
    rng.shuffle(rules)
    kind = rng.random()
    lines = [f"{n + 1}. {rule}" for n, rule in enumerate(rules)] if kind < 0.35 else [f"- {rule}" for rule in rules] if kind < 0.5 else rules
    text = (" " if kind > 0.75 else "\n").join(lines)
    return _part(rng, split, replace(case, rule=text), level)


def permitted(rng: random.Random, split: Split, level: int) -> Part:
    """Who may do a thing, of several roles, and who asks."""
    names = _names(rng, split)
    roles = rng.sample(ROLES.of(split), rng.randint(3, 4))
    listed, given = roles[:2], rng.choice(roles)
    deed = f"{word(rng, 'verb', split)} the {word(rng, 'noun', split)}"
    may = rng.random() < 0.65  # whether those listed are those who may
    rule = (MAY if may else MAY_NOT).pick(rng, split, a=listed[0], b=listed[1], A=sentence_case(listed[0]), deed=deed)
    allowed = (given in listed) == may
    asked = ROLE_CASES.pick(rng, split, given=given, Given=sentence_case(given), deed=deed, **names)
    fields: dict[str, object] = {"who": names["person"], rng.choice(("role", "job")): given.partition(" ")[2], "wants": f"to {deed}"}
    told = f"{'for' if may else 'not for'} {' and '.join(listed)}, given {given}"
    return _part(rng, split, Case(rule, asked, fields, "allowed" if allowed else "refused", told, names), level, general=True)


def counted(rng: random.Random, split: Split, level: int) -> Part:
    """So many a day, a person, a room, and which number this one would be."""
    names = _names(rng, split)
    things, per = rng.choice(COUNTED.of(split)).split("|")
    cap = rng.randint(2, 9) if level < 4 or rng.random() < 0.5 else rng.randint(10, 60)
    n = _near(rng, cap, level)
    limit = MOST.pick(rng, split, q=f"{cap} {things}")
    rule = sentence_case(rng.choice(("{limit} {per}.", "{per} {limit}.", "it is {limit} {per}.", "we allow {limit} {per}.", "{per} one may have {limit}.", "limit: {limit} {per}.")).format(limit=limit, per=per))
    asked = COUNT_CASES.pick(rng, split, n=n, things=things, before=n - 1, **names)
    told = f"{_compared(n, cap)}, at most"
    fields: dict[str, object] = {"by": names["person"], rng.choice(("this_is_number", "would_be_number")): n, "of": things}
    return _part(rng, split, Case(rule, asked, fields, "allowed" if n <= cap else "refused", told, names), level)


def _excepted(rng: random.Random, split: Split) -> Case:
    names = _names(rng, split)
    deed, kind = rng.choice(DEEDS.of(split)), rng.choice(("needs", "needs", "refused", "allowed"))
    said, _, rest = rng.choice(WHENS.of(split)).partition("|")
    holds = rng.random() < 0.5
    when = rng.choice(HELD.get(said, (said,))) if holds else rng.choice(rest.split(";"))
    told = sentence_case(SAYS[kind].pick(rng, split, range=deed, role=names["role"]))
    rule = EXCEPT.pick(rng, split, rule=told, when=said, When=sentence_case(said))
    amount = f"{deed} {when}"
    case = CASES.pick(rng, split, amount=amount, Amount=sentence_case(amount), **names)
    fields: dict[str, object] = {"what": deed, rng.choice(("when", "where", "note")): when, "by": names["person"]}
    outcome = OPPOSITE[kind] if holds else kind
    return Case(rule, case, fields, outcome, f"except {said}: {when}, {'so' if holds else 'not so'}, {outcome}", names, deed)


def _ranged(rng: random.Random, split: Split, level: int, alone: bool = True) -> Case:
    """alone: whether "everything else" can be said, no other rule being there."""
    names, thing, unit = _names(rng, split), *_matter(rng, split)
    cap = _apart(rng, 1, level)[0]
    n = _near(rng, cap, level)
    low = rng.random() < 0.5
    inclusive = rng.random() < 0.6
    ranges = (UP_TO if inclusive else UNDER) if low else (FROM if inclusive else OVER)
    inside = (n <= cap if inclusive else n < cap) if low else (n >= cap if inclusive else n > cap)
    kind = rng.choice(("needs", "free", "refused", "allowed") if rng.random() < 0.5 else (("free", "allowed") if low else ("needs", "refused")))
    span = ranges.pick(rng, split, thing=thing, q=f"{cap} {unit}")
    rule = SAYS[kind].pick(rng, split, range=span, role=names["role"])
    if kind in ("free", "allowed") or rng.random() < 0.5:  # what may be done does not say what the rest comes to
        rest = rng.choice(REST[OPPOSITE[kind]] if alone else OWN_REST[OPPOSITE[kind]]).format(role=names["role"], noun=thing.partition(" ")[2])
        rule += rng.choice((f"; {rest}", f", {rest}", f". {sentence_case(rest)}"))
    amount = f"{thing} of {n} {unit}"
    case = CASES.pick(rng, split, amount=amount, Amount=sentence_case(amount), **names)
    outcome = kind if inside else OPPOSITE[kind]
    fields: dict[str, object] = {"what": thing, unit: n, "by": names["person"]}
    told = f"{_compared(n, cap)}, {span}: {'so' if inside else 'not so'}, {outcome}"
    return Case(f"{sentence_case(rule)}.", case, fields, outcome, told, names, thing)


def _part(rng: random.Random, split: Split, case: Case, level: int, general: bool = False) -> Part:
    """The question either way round, with words for each, or as a choice of what follows. general: in words that speak of no limit."""
    state = _laid_out(rng, split, case, level)
    approval = case.outcome in ("needs", "free")
    positive = case.outcome in ("needs", "allowed")  # the first of the words
    words = (NEED_WORDS if approval else MAY_WORDS if general else ALLOWED_WORDS).pick(rng, split, **case.names).split("|")
    if rng.random() < 0.3:
        right = words.pop(int(not positive))
        return Part(state, *choice(rng, _question(rng, split, ASK_WHICH, case, state), right, words), reason=case.told)
    straight = rng.random() < 0.6
    asks = (ASK_NEEDS if straight else ASK_FREE) if approval else (ASK_MAY if straight else ASK_MAY_NOT) if general else (ASK_ALLOWED if straight else ASK_REFUSED)
    answer = positive == straight
    said = words if straight else words[::-1]
    question = _question(rng, split, asks, case, state)
    return Part(state, *yes_or_no(rng, split, question, answer, what="|".join(said)), reason=f"{case.told}: {verdict(answer)}")


def _question(rng: random.Random, split: Split, asks: Wordings, case: Case, state: object) -> str:
    """One of the wordings; one that names a person only where the state does."""
    known = case.names["person"] in str(state)
    return rng.choice([text for text in asks.of(split) if known or "{person}" not in text]).format(**case.names)


def _laid_out(rng: random.Random, split: Split, case: Case, level: int) -> object:
    """The rule and the case as a text, as JSON, or with the case in a short log."""
    kind = rng.random()
    head = f"{rng.choice(HEADS)}:{chr(10) if case.rule[0] in '-1' else ' '}" if rng.random() < 0.5 else ""
    key = rng.choice(("rule", "policy", "order", "handbook"))
    if kind < 0.15:
        return {key: case.rule, rng.choice(("case", "request", "now")): case.fields}
    if kind < 0.25:
        items: list[tuple[str, object]] = [(key, case.rule), *case.fields.items()]
        return dict(items if rng.random() < 0.5 else [*items[1:], items[0]])
    if kind < 0.4:
        return {key: case.rule, rng.choice(("case", "request", "note", "message")): case.case}
    if kind < 0.6 and level > 2:
        minute, lines = rng.randint(0, 20), []
        said = [case.case.rstrip("."), *(LOG_LINES.pick(rng, split, person=word(rng, "person", split), noun=word(rng, "noun", split), place=case.names["place"]) for _ in range(rng.randint(1, 3)))]
        rng.shuffle(said)
        hour = rng.randint(7, 19)
        for line in said:
            lines.append(f"{hour:02}:{minute:02} {line}")
            minute += rng.randint(1, 12)
        log = "\n".join(lines)
        return {key: case.rule, "log": log} if rng.random() < 0.3 else f"{head}{case.rule}\n{log}"
    if kind < 0.7:
        return f"{case.case} {head}{case.rule}"
    return f"{head}{case.rule}{rng.choice((' ', ' ', chr(10)))}{case.case}"


def _names(rng: random.Random, split: Split) -> dict[str, str]:
    return {"person": word(rng, "person", split), "place": word(rng, "place", split), "ref": code(rng), "role": rng.choice(BOSSES.of(split))}


def _matter(rng: random.Random, split: Split) -> tuple[str, str]:
    thing, _, unit = rng.choice(MATTERS.of(split)).partition("|")
    return thing, unit


def _apart(rng: random.Random, count: int, level: int) -> list[int]:
    """Limits, of one digit at level 2, rounder ones of more digits at times above it."""
    if level < 3:
        return rng.sample(range(2, 10), count)
    pool = range(2, 30) if rng.random() < 0.5 else range(10, 100, 5) if rng.random() < 0.6 else range(50, 900, 50)
    return rng.sample(pool, count)


def _near(rng: random.Random, cap: int, level: int) -> int:
    """The limit itself, one beside it, or any amount on either side alike."""
    kind = rng.random()
    if kind < 0.2:
        return cap
    if kind < 0.4:
        return cap + rng.choice((-1, 1))
    return rng.randint(1, cap - 1) if rng.random() < 0.5 else rng.randint(cap + 1, cap * 3)


def _between(rng: random.Random, caps: list[int], own: int) -> int:
    """An amount between the own limit and another's."""
    other = rng.choice([cap for cap in caps if cap != own])
    low, high = sorted((own, other))
    return rng.randint(low, high)


def _compared(n: int, cap: int) -> str:
    return f"{n} is {'above' if n > cap else 'below' if n < cap else 'exactly'} {cap}"
