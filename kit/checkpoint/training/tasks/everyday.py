"""What a record says, asked for in everyday words: a status, a switch, a number, a list, each said and denied in words of its own.

Covers: topics written for this package, with what holds for every value; questions straight, of a claim, of its opposite. Does not
cover: records of drawn keys and values (`facts`).
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kit.checkpoint.training.samples import Split
from kit.checkpoint.training.tasks import prose
from kit.checkpoint.training.tasks.parts import Part, sentence_case, spoken, verdict, yes_or_no
from kit.checkpoint.training.vocabulary import Wordings, code, several, word


@dataclass(frozen=True)
class Way:
    """What may be so. values: what the record then holds. said, denied: what one says of it. asks: questions that mean it."""

    values: tuple[object, ...]
    asks: Wordings
    said: tuple[str, ...]
    denied: tuple[str, ...]


@dataclass(frozen=True)
class Topic:
    """One key, under one of a few names, and the ways it may be: one of them holds."""

    keys: tuple[str, ...]
    ways: tuple[Way, ...]


def _way(values: str, train: str, calibration: str, held_out: str, said: str, denied: str) -> Way:
    """Alternatives separated by |; true and false among the values are switches, digits are numbers."""
    return Way(tuple(map(_value, values.split("|"))), Wordings(*(tuple(text.split("|")) for text in (train, calibration, held_out))), tuple(said.split("|")), tuple(denied.split("|")))


def _value(text: str) -> object:
    return {"true": True, "false": False}[text] if text in ("true", "false") else int(text) if text.isdigit() else text


TOPICS = (
    Topic(("status", "order_status", "parcel", "state", "delivery"), (
        _way("waiting|in preparation|not packed|in the warehouse|being packed", "Is it still with us?|Has it not left yet?|Is it still in the house?|Do we still have it here?", "Has it still to leave?", "Is it still here with us?|Has it yet to leave the house?",
             "it was not shipped yet|it is still here|it has not left|it is still in the house", "it was shipped|it has left|it is not here any more|it is gone"),
        _way("in transit|on the way|on the road|in the van", "Is it on its way?|Is it under way just now?|Is somebody bringing it right now?|Is it between us and the customer?", "Is it just being brought?", "Is it moving towards the customer?|Is it out for delivery?",
             "it is on its way|somebody is bringing it|it is under way", "it is not on its way|nobody is bringing it now|it is not under way"),
        _way("delivered|handed over|arrived|received by the customer", "Has the customer got it?|Did it arrive?|Has it reached the customer?|Is it where it should be?|Did the customer receive it?", "Does the customer have it by now?", "Has it come to the customer?|Did it get to the customer?",
             "the customer has it|it arrived|it was delivered", "the customer does not have it|it did not arrive|it was not delivered yet"),
    )),
    Topic(("payment", "bill", "invoice", "status", "money"), (
        _way("paid|settled|received|booked in", "Has the money come in?|Did they pay?|Is the bill settled?|Is everything paid?|Do we have the money?", "Has it been settled?", "Have we got the money?|Did the money arrive?", "it is paid|we have the money|they paid", "it is not paid|we do not have the money yet|they did not pay"),
        _way("open|unpaid|due|overdue|outstanding", "Do they still owe us money?|Is the money still missing?|Must they still pay?|Is there something left to pay?|Do we wait for the money?", "Is there money to come?", "Is the money yet to come?|Do we still wait for them to pay?", "it is still to be paid|they owe us money|the money is missing", "nothing is left to pay|they owe nothing|no money is missing"),
    )),
    Topic(("door", "gate", "entrance", "window", "shop"), (
        _way("open|wide open|half open|ajar", "Can one walk in?|Can one get in?|Is it open?|Could somebody come in?|Is the way in free?", "Could one walk in now?", "Would one get in now?|Is the way in open?", "one can get in|it is open|the way is free", "one cannot get in|it is not open|the way is not free"),
        _way("closed|locked|shut|bolted", "Is it shut?|Is it locked or shut?|Does one stand outside?|Must somebody open it first?|Is the way in barred?", "Does it have to be opened first?", "Is one kept out?|Would somebody have to open it?", "it is shut|one stays outside|it must be opened first", "it is not shut|one does not stay outside|nobody has to open it"),
    )),
    Topic(("job", "build", "run", "task", "status", "backup"), (
        _way("failed|crashed|aborted with an error|broken off", "Did it go wrong?|Was there a failure?|Did something break?|Has it ended badly?|Must somebody look into it?", "Has it gone wrong?", "Did it end in an error?|Has something gone wrong with it?", "it went wrong|it failed|it ended badly", "it did not go wrong|it did not fail|nothing broke"),
        _way("done|finished|successful|completed|passed", "Did it work?|Is it through?|Did all go well?|Has it come to a good end?|Is it ready and fine?", "Has all gone well?", "Did it end well?|Is it finished and fine?", "it worked|it is through|all went well", "it did not work|it is not through|it did not end well"),
        _way("running|in progress|at work|started", "Is it still going?|Is it at work right now?|Is it busy just now?|Do we have to wait until it ends?|Is it under way?", "Is it going on right now?", "Is it still at work?|Is it still busy?", "it is still going|it is at work|it is busy now", "it is not going any more|it is not at work|it is not busy now"),
    )),
    Topic(("light", "lamp", "heater", "fan", "pump", "siren", "switch"), (
        _way("on|true|switched on|turned on", "Is it on?|Does it run?|Does it use power now?|Is it switched on?|Can we switch it off?", "Is it turned on?", "Is it going right now?|Has it been turned on?", "it is on|it runs|it uses power", "it is off|it does not run|it uses no power"),
        _way("off|false|switched off|turned off", "Is it off?|Does it stand still?|Is it switched off?|Does it use no power?|Must we switch it on?", "Is it turned off?", "Has it been turned off?|Is it out?", "it is off|it stands still|it uses no power", "it is on|it does not stand still|it uses power"),
    )),
    Topic(("answer", "reply", "vote", "decision", "response"), (
        _way("yes|agreed|accepted|in favour|ok|approved", "Did they agree?|Do they want it?|Was it a yes?|Are they for it?|May we count on them?", "Have they agreed?", "Did they say yes?|Are they in favour?", "they agree|it was a yes|they are for it", "they do not agree|it was no yes|they are not for it"),
        _way("no|declined|refused|against|rejected", "Did they say no?|Are they against it?|Was it turned down?|Did they refuse?|Do they not want it?", "Have they turned it down?", "Was it a no?|Have they said no?", "they said no|they are against it|it was turned down", "they did not say no|they are not against it|it was not turned down"),
    )),
    Topic(("seat", "room", "table", "slot", "desk"), (
        _way("free|available|vacant|empty", "Can we take it?|Is it to be had?|Could somebody sit there?|Is there room for us?|Can it still be booked?", "Can one have it?", "Could we have it?|Is it there for the taking?", "we can have it|it is free|it can be booked", "we cannot have it|it is not free|it cannot be booked"),
        _way("taken|booked|reserved|occupied", "Has somebody else got it?|Is somebody there already?|Are we too late for it?|Is it given away?|Must we look for another?", "Does somebody else have it?", "Is it gone to somebody else?|Did others get it first?", "somebody has it|we are too late|it is taken", "nobody has it|we are not too late|it is not taken"),
    )),
    Topic(("lid", "seal", "glass", "cable", "wheel", "part", "condition"), (
        _way("broken|cracked|damaged|torn|bent", "Is it damaged?|Does it need a repair?|Must it be replaced?|Is something wrong with it?|Is it bad?", "Is it in a bad way?", "Has it to be repaired?|Is there damage?", "it is damaged|it needs a repair|it is broken", "it is not damaged|it needs no repair|nothing is broken"),
        _way("whole|intact|good|as new|fine", "Is it in order?|Can we use it as it is?|Is it all right?|Did it stay whole?|Is nothing broken?", "Is it fine as it is?", "Can it be used as it is?|Is all well with it?", "it is in order|we can use it|it is whole", "it is not in order|we cannot use it|it is not whole"),
    )),
    Topic(("person", "nurse", "driver", "guest", "presence", "staff"), (
        _way("here|present|on site|at work|at the desk", "Has somebody come?|Can one meet them here?|Are they in the house?|Are they there?|Can we talk to them here?", "Are they around?", "Can they be met here?|Have they come in?", "they are here|they have come|they are in the house", "they are not here|they have not come|they are not in the house"),
        _way("away|absent|at home|ill|on leave|gone", "Are they missing?|Is somebody missing?|Must somebody else step in?|Are they out of the house?|Do we need another one?", "Are they out?", "Are we without them?|Have we to do without them?", "they are missing|they are away|somebody must step in", "they are not missing|they are not away|nobody must step in"),
    )),
    Topic(("mail", "message", "letter", "notice", "note"), (
        _way("read|opened|seen", "Did they see it?|Do they know about it?|Has it been looked at?|Was it opened?|Have they read it?", "Has anybody looked at it?", "Did somebody read it?|Has it been seen?", "they saw it|it was read|it was looked at", "they did not see it|it was not read|nobody looked at it"),
        _way("unread|unopened|not seen|new", "Is it still unread?|Must they still read it?|Has nobody looked at it yet?|Is it still to be read?|Is it closed still?", "Is it waiting to be read?", "Has nobody read it yet?|Do they still have to read it?", "it is unread|nobody looked at it|it is still to be read", "it is not unread|somebody looked at it|it was read"),
    )),
    Topic(("load", "use", "fill", "disk_use", "percent_full"), (
        _way("91|93|95|97|98|99", "Is it nearly full?|Is there hardly any room?|Is it close to its end?|Will it be full soon?", "Is it about to be full?", "Is there little room left?|Is it almost at its end?", "it is nearly full|there is hardly any room|it will be full soon", "it is far from full|there is room enough|it will not be full soon"),
        _way("3|5|8|11|14|19", "Is there a lot of room?|Is most of it free?|Is it nearly empty?|Is hardly anything in it?", "Is it mostly free?", "Is there plenty of room?|Is it almost empty?", "there is a lot of room|it is nearly empty|it is mostly free", "there is not a lot of room|it is not nearly empty|it is not mostly free"),
    )),
    Topic(("errors", "complaints", "failures", "warnings", "alarms", "faults"), (
        _way("0|none", "Is all quiet?|Did everything go well?|Was there nothing?|Is it free of trouble?|Can we be content?", "Was it without any?", "Did all pass without trouble?|Was nothing reported?", "there was nothing|all is quiet|there was no trouble", "there was something|not all is quiet|there was some trouble"),
        _way("1|2|3|4|7|12|several|some", "Was there at least one?|Did anything go wrong?|Did something happen?|Was something reported?|Is there something to look at?", "Did anything happen?", "Has something been reported?|Was there any trouble?", "there was at least one|something happened|something was reported", "there was none|nothing happened|nothing was reported"),
    )),
    Topic(("stock", "left", "in_stock", "pieces_left", "remaining"), (
        _way("0|sold out|none|out of stock", "Is it sold out?|Are there none left?|Must we order more?|Is the shelf empty?|Do we have to send people away?", "Has the last one gone?", "Is nothing left?|Is it all gone?", "none are left|it is sold out|the shelf is empty", "some are left|it is not sold out|the shelf is not empty"),
        _way("4|9|15|26|60|plenty|enough", "Can one still buy it?|Is there any left?|Do we have some?|Is something on the shelf?|Can we sell one now?", "Can we still sell it?", "Are there still some?|Is any of it left?", "some are left|we can sell it|there is something", "none are left|we cannot sell it|there is nothing"),
    )),
    Topic(("due", "deadline", "time", "plan", "schedule"), (
        _way("late|overdue|delayed|behind", "Are we late?|Is it behind the plan?|Do people have to wait longer?|Was the date missed?|Does it take longer than planned?", "Is it later than it should be?", "Is it running late?|Has the date been missed?", "it is late|it is behind the plan|the date was missed", "it is not late|it is not behind the plan|the date was not missed"),
        _way("on time|punctual|as planned|in time", "Is it on time?|Does it keep to the plan?|Is it when it should be?|Did we keep the date?|Is the plan kept?", "Does the plan hold?", "Has the date been kept?|Is it as it was planned?", "it is on time|the plan is kept|the date holds", "it is not on time|the plan is not kept|the date does not hold"),
    )),
    Topic(("test", "check", "inspection", "exam", "review"), (
        _way("passed|ok|green|good|no findings", "Was it passed?|Did it go through the test?|Was the outcome good?|Can we tick it off?|Is the result a good one?", "Can it be ticked off?", "Was the result good?|Did it come through well?", "it passed|the outcome was good|it was a good result", "it did not pass|the outcome was not good|it was no good result"),
        _way("not passed|failed|red|bad|with findings", "Has it to be done again?|Did it fail?|Was the outcome bad?|Were there findings?|Is the result a bad one?", "Must it be repeated?", "Was the result bad?|Has it to be repeated?", "it failed|the outcome was bad|it must be repeated", "it did not fail|the outcome was not bad|it need not be repeated"),
    )),
    Topic(("weather", "sky", "outside", "forecast"), (
        _way("rain|heavy rain|showers|drizzle", "Does it rain?|Do we need an umbrella?|Does one get wet?|Is it wet outside?|Should we stay in for the rain?", "Would one get wet?", "Should we take an umbrella?|Will people get wet?", "it rains|an umbrella is needed|one gets wet", "it does not rain|no umbrella is needed|one stays dry"),
        _way("sun|clear sky|sunny|blue sky", "Does the sun shine?|Is the sky clear?|Is it bright outside?|Could we sit in the sun?", "Is the sun out?", "Is there sunshine?|Can one see the sun?", "the sun shines|the sky is clear|it is bright", "the sun does not shine|the sky is not clear|it is not bright"),
    )),
    Topic(("contract", "form", "paper", "document", "file"), (
        _way("signed|signed by both|signed by all|signed and sealed", "Is everything signed?|Is it valid?|Can we file it?|Does it bear a signature?|Did they sign?", "Has it been signed?", "Is a signature on it?|Have they signed?", "it is signed|they signed it|it bears a signature", "it is not signed|they did not sign|it bears no signature"),
        _way("unsigned|not signed|not signed yet|a draft", "Is the signature missing?|Is it only a draft?|Must somebody still sign?|Is something missing on it?|Have we to send it back for a signature?", "Does it lack a signature?", "Is it still without a signature?|Has somebody still to sign?", "the signature is missing|it is only a draft|somebody must sign", "the signature is there|it is no draft|nobody has to sign"),
    )),
    Topic(("member", "account", "user", "card", "licence"), (
        _way("blocked|locked|suspended|frozen", "Was it blocked?|Has somebody stopped it?|Must somebody unlock it?|Did somebody lock it?|Is there a lock on it?", "Did somebody stop it?", "Has somebody to unlock it?|Has it been locked by somebody?", "it is blocked|somebody locked it|it must be unlocked", "it is not blocked|nobody locked it|it need not be unlocked"),
        _way("active|valid|in use|working", "Can it be used?|Does it work?|May they log in with it?|Is it in use?|Are they let in?", "Is it good to use?", "Would it let them in?|Is it ready for use?", "it works|it can be used|they are let in", "it does not work|it cannot be used|they are not let in"),
        _way("expired|run out|too old", "Is it past its date?|Has it run out?|Must it be renewed?|Did its time end?", "Has its time ended?", "Is its time over?|Has it to be renewed?", "it ran out|its time is over|it must be renewed", "it did not run out|its time is not over|it need not be renewed"),
    )),
)  # fmt: skip
CLAIMED = Wordings(  # whether what is said is so
    train=("Is it true that {claim}?", "{Claim}. Right?", "Would you say that {claim}?", "Say whether {claim}.", "True or false: {claim}.", "Can one say that {claim}?", "Is it so that {claim}?", "{Claim}, yes or no?", "Somebody says that {claim}. Is that so?", "Do you agree that {claim}?", "Decide: {claim}.",
           "Check whether {claim}.", "{person} thinks that {claim}. Is {person} right?", "Tell me if {claim}.", "Does the record say that {claim}?", "Does it follow that {claim}?", "We were told that {claim}. Is it true?", "Does it look as if {claim}?", "May we write that {claim}?", "Is this right: {claim}?",
           "Going by the record, {claim}?", "I believe that {claim}. Am I right?", "Would it be right to say that {claim}?"),
    calibration=("Find out whether {claim}.", "Is the claim right that {claim}?"), held_out=("Could one say that {claim}?", "The claim is that {claim}.", "Please check if {claim}.", "From what is given, is it so that {claim}?"),
)  # fmt: skip
LISTED = Wordings(  # key|question|said|denied
    train=("guests|Is {v} coming?|{v} is coming|{v} is not coming", "invited|Did {v} get an invitation?|{v} is invited|{v} is not invited", "bag|Do we have the {n} with us?|the {n} is in the bag|the {n} was left behind", "team|Does {v} belong to it?|{v} is one of them|{v} is not one of them",
           "on_shift|Is {v} at work?|{v} is at work|{v} has the day off", "missing|Do we lack the {n}?|the {n} is missing|the {n} is there", "broken|Does the {n} need a repair?|the {n} is broken|the {n} is all right", "bought|Have we bought the {n}?|the {n} was bought|the {n} was not bought",
           "done|Is the {n} done?|the {n} is done|the {n} is still to do", "open|Is there still work on the {n}?|the {n} is open|the {n} is finished", "absent|Is {v} at home?|{v} is away|{v} is here", "signed_by|Did {v} sign?|{v} has signed|{v} has not signed", "sold|Is the {n} gone?|the {n} was sold|the {n} was not sold",
           "allowed|May {v} come in?|{v} may come in|{v} may not come in", "late|Do we wait for {v}?|{v} is late|{v} is on time", "paid|Has {v} paid?|{v} has paid|{v} still has to pay", "called|Did somebody call {v}?|{v} was called|nobody called {v}", "to_order|Must the {n} be ordered?|the {n} has to be ordered|the {n} need not be ordered",
           "in_stock|Can one buy the {n}?|the {n} is to be had|the {n} is not to be had", "winners|Did {v} win?|{v} won|{v} did not win", "blocked|Is {v} kept out?|{v} is kept out|{v} is let in", "checked|Has anybody looked at the {n}?|the {n} was checked|nobody checked the {n}"),
    calibration=("present|Is {v} in the room?|{v} is present|{v} is not present", "packed|Has the {n} been packed?|the {n} is packed|the {n} is not packed"),
    held_out=("coming|Will {v} be there?|{v} will be there|{v} will not be there", "repaired|Has the {n} been repaired?|the {n} was repaired|the {n} was not repaired", "trained|Does {v} know how to do it?|{v} has learned it|{v} has not learned it"),
)  # fmt: skip
MEASURED = Wordings(  # key|limit|over is|question for over|said|denied
    train=("temperature|limit|Is it too warm?|it is too warm|it is not too warm", "speed|limit|Do they go too fast?|it is too fast|it is not too fast", "weight|max|Is it too heavy?|it is too heavy|it is light enough", "cost|budget|Is it too expensive?|it is over the budget|it is within the budget", "people|seats|Do some have to stand?|some have to stand|everybody can sit",
           "wait|allowed|Do people wait too long?|it is too long|it is not too long", "noise|limit|Is it too loud?|it is too loud|it is not too loud", "used|capacity|Does it take more than it can hold?|it is more than it holds|it fits", "requests|limit|Are there too many of them?|it is too many|it is not too many", "demand|stock|Do we have too few?|it is too few|it is enough for all",
           "spent|saved|Did we spend more than we had?|it is more than we had|it is no more than we had", "length|space|Is it too long to fit?|it is too long|it fits in", "age|limit|Is it too old?|it is too old|it is not too old", "pages|allowed|Must it be made shorter?|it must be shorter|it is short enough", "hours|allowed|Was it more work than allowed?|it is more than allowed|it is as allowed",
           "price|offer|Is the price above what is offered?|it is above|it is not above", "current|threshold|Has it gone over the threshold?|it is over it|it is not over it", "level|mark|Does the level stand above the mark?|it is above the mark|it is not above the mark", "taken|planned|Did it take more than planned?|it is more than planned|it is no more than planned"),
    calibration=("depth|limit|Is it too deep?|it is too deep|it is not too deep",), held_out=("pressure|limit|Is the pressure too high?|it is too high|it is not too high", "guests|chairs|Do we need more chairs?|more chairs are needed|there are chairs enough", "delay|allowed|Has it been delayed too much?|it is delayed too much|it is not delayed too much"),
)  # fmt: skip
ASIDES = ("by", "ref", "place", "note", "owner", "number")


def part(rng: random.Random, split: Split, level: int) -> Part:
    """A yes-or-no question about a record in everyday words; JSON alone below level 4."""
    return rng.choice((_topic, _topic, _topic, _listed, _measured))(rng, split, level)


def claimed(rng: random.Random, split: Split, state: object, ask: str, said: str, denied: str, so: bool, found: str) -> Part:
    """A question whether something is so or, now and then, whether it is not: straight, or of a claim."""
    kind, person = rng.random(), word(rng, "person", split)
    if kind < 0.4:
        question, answer, words = ask, so, (said, denied)
    else:
        negated = kind > 0.7
        claim = denied if negated else said
        question, answer, words = CLAIMED.pick(rng, split, claim=claim, Claim=sentence_case(claim), person=person), so != negated, (denied, said) if negated else (said, denied)
    shown = _short(words) if rng.random() < 0.4 else words
    if rng.random() < 0.4:
        shown = [sentence_case(text) for text in shown]
    return Part(state, *yes_or_no(rng, split, question, answer, what="|".join(shown)), reason=f"{found}, asked {said}: {'so' if so else 'not so'}: {verdict(answer)}")


def _topic(rng: random.Random, split: Split, level: int) -> Part:
    topic = rng.choice(TOPICS)
    way = rng.choice(topic.ways)
    asked = way if rng.random() < 0.5 else rng.choice([other for other in topic.ways if other is not way])
    key, value = rng.choice(topic.keys), rng.choice(way.values)
    state = _shown(rng, split, {key: value}, level)
    at = rng.randrange(len(asked.said)) if rng.random() < 0.5 else None
    said, denied = (asked.said[at], asked.denied[at]) if at is not None else (rng.choice(asked.said), rng.choice(asked.denied))
    return claimed(rng, split, state, rng.choice(asked.asks.of(split)), said, denied, way is asked, f"{key}: {spoken(value)}")


def _listed(rng: random.Random, split: Split, level: int) -> Part:
    key, ask, said, denied = rng.choice(LISTED.of(split)).split("|")
    names = several(rng, "person" if "{v}" in ask else "noun", split, rng.randint(2, 4))
    asked, *others = names
    there = rng.random() < 0.5
    items = [*others, asked] if there else others
    rng.shuffle(items)
    record: dict[str, object] = {key: items}
    if rng.random() < 0.4:
        record[rng.choice(("by", "owner"))] = asked if not there and "{v}" in ask and rng.random() < 0.5 else word(rng, "person", split)
    ask, said, denied = (text.format(v=asked, n=asked) for text in (ask, said, denied))
    return claimed(rng, split, _shown(rng, split, record, level), ask, said, denied, there, f"{key}: {', '.join(items)}")


def _measured(rng: random.Random, split: Split, level: int) -> Part:
    """A number beside its limit: over it, under it, or just at it, which is not over it."""
    key, limit, ask, said, denied = rng.choice(MEASURED.of(split)).split("|")
    bound = rng.choice((rng.randint(3, 9), rng.randint(10, 99), rng.choice((100, 120, 150, 200, 250, 400, 500))))
    kind = rng.random()
    value = bound if kind < 0.12 else bound + rng.choice((1, 2)) if kind < 0.25 else bound - rng.choice((1, 2)) if kind < 0.38 else rng.randint(bound + 1, bound * 2) if kind < 0.7 else rng.randint(1, bound - 1)
    pairs = [(key, value), (limit, bound)]
    rng.shuffle(pairs)
    found = f"{value} is {'above' if value > bound else 'below' if value < bound else 'exactly'} {bound}"
    return claimed(rng, split, _shown(rng, split, dict(pairs), level), ask, said, denied, value > bound, found)


def _short(words: Sequence[str]) -> Sequence[str]:
    """Both without the beginning they share: "it is above" and "it is not above" are "above" and "not above"."""
    for begin in ("it is ", "it was ", "they are ", "there is ", "it has ", "we have "):
        if all(text.startswith(begin) for text in words):
            return [text.removeprefix(begin) for text in words]
    return words


def _shown(rng: random.Random, split: Split, record: Mapping[str, object], level: int) -> object:
    """The entries among others that do not matter, as JSON, nested, or as lines."""
    others: list[tuple[str, object]] = [(key, _aside(rng, split, key)) for key in rng.sample(ASIDES, rng.randint(0, 3)) if key not in record]
    pairs = list(record.items())
    for pair in others:
        pairs.insert(rng.randrange(len(pairs) + 1), pair)
    kind = rng.random()
    if level >= 4 and kind < 0.3:
        return rng.choice(("\n", "\n", "; ", ", ")).join(f"{key.replace('_', ' ')}: {spoken(value)}" for key, value in pairs)
    if kind < 0.55 and level >= 2:
        return {word(rng, "parent key", split): dict(pairs)}
    return dict(pairs)


def _aside(rng: random.Random, split: Split, key: str) -> object:
    if key == "note":
        return prose.sentence(rng, split)
    return {"ref": code(rng), "number": rng.randint(1, 99), "place": word(rng, "place", split)}.get(key) or word(rng, "person", split)
