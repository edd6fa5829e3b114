"""Who did what, when and where; and which of several is not like the others: told as prose, as a log, as lines of names, as JSON.

Covers: rows of people, deeds, places and times with questions for each; the first and the last; things of which one broke, people of
whom one is away, and the like, in the words of each. Does not cover: keys and their values (`lookup`).
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from kit.checkpoint.training.samples import Split
from kit.checkpoint.training.tasks import everyday, prose
from kit.checkpoint.training.tasks.parts import Part, choice, entries, sentence_case, verdict, yes_or_no
from kit.checkpoint.training.vocabulary import Wordings, listed, several, word


@dataclass(frozen=True)
class Contrast:
    """What is so of one and not of the others. kind: of whom or what. so, not_so: what is told. asks: for the one that is so; opposite: for the one that is not."""

    kinds: tuple[str, ...]
    so: tuple[str, ...]
    not_so: tuple[str, ...]
    asks: Wordings
    opposite: Wordings


def _contrast(kinds: str, so: str, not_so: str, asks: tuple[str, str, str], opposite: tuple[str, str, str]) -> Contrast:
    """Alternatives separated by |, questions of train, calibration and held-out."""
    return Contrast(*(tuple(text.split("|")) for text in (kinds, so, not_so)), *(Wordings(*(tuple(text.split("|")) for text in texts)) for texts in (asks, opposite)))  # type: ignore[arg-type]


CONTRASTS = (
    _contrast("noun|service", "broke|broke down|does not work|has a fault|stopped working|is out of order|failed this morning|does not start any more|is defective|gave up|crashed|has failed", "works|is fine|runs as always|was checked and is fine|has no fault|does its work|is in order|works again|runs well|gave no trouble",
              ("What broke?|What is broken?|What does not work?|What has to be repaired?|Which one failed?|What needs a repair?|Where is the fault?|Which of them is out of order?|What is the matter here?|Which one gives trouble?", "Which one has a fault?", "What has to be mended?|Which of them is defective?|What went wrong here?"),
              ("What still works?|Which one is fine?|What can be used?|Which of them runs?|What needs no repair?|Which one has no fault?|What is in order?", "What is all right?", "Which of them can still be used?|What is working?")),
    _contrast("person", "is ill|stayed at home|has the day off|did not come|is on holiday|is away|called in sick|is not in today|could not come|is at the doctor", "is at work|came at eight|is in the office|is here|sits at the desk|came in early|is present|works as usual|has come|is around",
              ("Who is missing?|Who is away?|Who did not come?|Who is not at work?|For whom do we need somebody else?|Who cannot be met here today?|Who is absent?|Whose desk is empty?|Without whom do we work today?", "Who is not here?", "Who is not to be met today?|Who has stayed away?"),
              ("Who is here?|Who came?|Who is at work?|Whom can we meet?|Who has not stayed away?|Who is present?", "Who can be met today?", "Who is to be found at work?|Who has come in?")),
    _contrast("person", "was late|came half an hour late|missed the start|kept everybody waiting|came after the others had begun|arrived too late|overslept|missed the bus", "was on time|came early|was there at the start|arrived before time|kept nobody waiting|was punctual",
              ("Who was late?|Who came too late?|For whom did they have to wait?|Who was not on time?|Who missed the beginning?|Who should have come earlier?", "Who came late?", "Who was not punctual?|Who kept the others waiting?"),
              ("Who was on time?|Who came in time?|Who was punctual?|Who did not have to hurry?|Who was there when it began?", "Who arrived in time?", "Who was not late?|Who came on time?")),
    _contrast("person", "is done|has finished|is through with it|handed everything in|has nothing left to do|completed it|is ready", "is still at it|has not finished|needs another day|has half of it left|is not through yet|works on it still|has only begun",
              ("Who is done?|Who has finished?|Who can go home?|Who is through?|Who has nothing left to do?|Whose work is complete?|Who is free for something else?", "Who completed the work?", "Who has come to the end?|Whose work is finished?"),
              ("Who is still at work on it?|Who has not finished?|Who needs more time?|Who is not done yet?|For whom must we wait?|Whose work is not complete?", "Who is not ready?", "Who has yet to finish?|Who still has something to do?")),
    _contrast("person", "agrees|said yes|is for it|wants it, too|voted for it|likes the plan|supports it|is in favour", "said no|is against it|does not want it|voted against it|refuses|does not like the plan|objects|turned it down",
              ("Who agrees?|Who said yes?|Who is for it?|Who wants it?|On whom can we count?|Who likes the plan?|Who would go along with it?", "Who is in favour?", "Who supports the plan?|Who has nothing against it?"),
              ("Who is against it?|Who said no?|Who does not want it?|Who objects?|Who refused?|Whom do we still have to win over?", "Who does not agree?", "Who turned it down?|Who is not for it?")),
    _contrast("noun", "is full|is full to the brim|has no room left|takes nothing more|is crammed|is filled up|holds as much as it can", "has room|is half empty|has some space left|can take more|is nearly empty|is not even half full|holds hardly anything",
              ("What is full?|Which one takes nothing more?|Which one has no room?|Where does nothing fit in?|Which has to be emptied?|What cannot take any more?", "Which one is full?", "Where is there no space?|Which of them is filled up?"),
              ("Where is there still room?|Which one can take more?|Where does something fit in?|Which has space?|What is not full?|Into which one can we put it?", "Which one has room?", "Where is there space left?|Which of them is not full?")),
    _contrast("person", "has not paid|still owes the money|did not pay|must still pay|is behind with the money|has an open bill|forgot to pay", "has paid|paid on Monday|settled the bill|owes nothing|paid at once|sent the money|paid in cash",
              ("Who has not paid?|Who owes money?|Who must still pay?|To whom do we send a reminder?|Whose bill is open?|From whom do we wait for money?", "Who still has to pay?", "Whose money is missing?|Who has yet to pay?"),
              ("Who has paid?|Whose bill is settled?|Who owes nothing?|From whom did the money come?|Who needs no reminder?", "Who paid the bill?", "Whose money has come in?|Who does not owe anything?")),
    _contrast("person", "asked for help|needs help|cannot do it alone|called for somebody|is stuck|does not know how to go on|wants somebody to come", "managed alone|needs nobody|gets on well|is fine|knows what to do|has everything in hand|does it alone",
              ("Who needs help?|Whom should we help?|Who is stuck?|Who cannot do it alone?|To whom must somebody go?|Who called for help?", "Who asked for somebody?", "Who has to be helped?|Who is in need of help?"),
              ("Who needs no help?|Who manages alone?|Who gets on well?|Who has it in hand?|Whom can we leave alone?", "Who does it alone?", "Who can do without help?|Who knows how to go on?")),
    _contrast("person", "won|came in first|took the prize|was the fastest of all|beat the others|got the gold medal", "lost|came in behind|got no prize|was slower|was beaten|did not win",
              ("Who won?|Who took the prize?|Who is the winner?|Who was the best?|Who came in first?|Whom do we congratulate?", "Who got the prize?", "Who was the fastest?|Who beat the rest?"),
              ("Who lost?|Who did not win?|Who got no prize?|Who was beaten?|Who came in behind?", "Who is not the winner?", "Who went without a prize?|Who was slower?")),
    _contrast("person", "went home|has left|is gone|left at five|is out of the house|drove away|said goodbye", "is still here|stays|has not left|is in the house|remains until eight|sits in the hall",
              ("Who has left?|Who went away?|Who is gone?|Who is no longer here?|Who is out of the house?|Who said goodbye?", "Who went home?", "Who is not in the house any more?|Who has gone away?"),
              ("Who is still here?|Who stays?|Who has not left?|Who is in the house?|Whom can one still meet?", "Who remains?", "Who has not gone away?|Who is there still?")),
    _contrast("place", "is closed|is shut|is locked|opens tomorrow|is closed for repairs|has closed for today|lets nobody in", "is open|is open all day|lets people in|opened at nine|is open to everybody|has its doors open",
              ("Which one is closed?|What is shut?|Where does one not get in?|Which is locked?|Where is nobody let in?|Which one should we not go to now?", "Which one is shut?", "Where are the doors closed?|Which of them lets nobody in?"),
              ("Which one is open?|What is open?|Where does one get in?|Where are people let in?|To which one can we go?", "Which can be entered?", "Where are the doors open?|Which of them lets people in?")),
    _contrast("service|noun", "was changed|got a new version|was rebuilt|is new|was replaced last night|has been altered|was set up anew", "stayed as it was|was left alone|is the old one|was not touched|is what it was|remains unchanged",
              ("What was changed?|What is new?|Which one was touched?|Which one is not as it was?|What did they alter?|Where was something done?", "Which one was changed?", "What is not the old one any more?|Which of them was altered?"),
              ("What stayed the same?|What was left alone?|Which one is as it was?|Which was not touched?|Where was nothing done?", "Which one is unchanged?", "What is still the old one?|Which of them stayed as it was?")),
    _contrast("noun", "costs too much|is dear|is the most expensive by far|is far too expensive|costs a fortune|is beyond our means", "is cheap|costs little|can be paid|is not expensive|costs next to nothing|has a good price",
              ("What is expensive?|What costs too much?|Which one can we not pay?|Which is dear?|For which one is the money missing?|Which one should we not buy?", "Which one is expensive?", "What is too dear for us?|Which of them costs a lot?"),
              ("What is cheap?|Which one costs little?|Which can we pay?|What has a good price?|Which one should we buy?", "Which one is cheap?", "What is not dear?|Which of them can we buy?")),
    _contrast("place|noun", "is on fire|is under water|gives off smoke|is in danger|has an alarm|must be left at once|is flooded", "is quiet|is safe|is calm|has no alarm|is as always|gives no cause for worry",
              ("Where is the danger?|Where must somebody go at once?|Where is the alarm?|Which one is not safe?|Where do we send help?|What is the emergency?", "Where is it not safe?", "Where is help needed?|Which of them is in danger?"),
              ("Where is it safe?|Where is all quiet?|Which one is safe?|Where is no alarm?|About which one need nobody worry?", "Where is it calm?", "Where is no danger?|Which of them is quiet?")),
    _contrast("noun", "was sold|is gone|found a buyer|was bought yesterday|is sold out|went to a customer", "is still for sale|was not sold|waits for a buyer|stands in the shop|can be had|found nobody",
              ("What was sold?|What is gone?|What did somebody buy?|Which one cannot be had any more?|Which one found a buyer?", "Which one was sold?", "What went to a buyer?|Which of them is gone?"),
              ("What is still for sale?|What can one buy?|What was not sold?|Which one is left?|Which one waits for a buyer?", "Which one is to be had?", "What did nobody buy?|Which of them is for sale?")),
    _contrast("service|person", "is slow|takes ages|lags behind|needs minutes for everything|is the slowest|hardly moves|takes too long", "is fast|is quick|needs a second|is as fast as ever|takes no time|moves on well",
              ("Which is slow?|Which one takes too long?|For which one do people wait?|Which one should be faster?|What or who lags behind?", "Which one is slow?", "Which of them takes ages?|Which is not fast enough?"),
              ("Which is fast?|Which one takes no time?|For which one does nobody wait?|Which one is quick?", "Which one is fast?", "Which of them is quick?|Which one does not lag behind?")),
    _contrast("person", "complained|is angry|is not content|wrote an angry letter|wants the money back|was disappointed|shouted at us", "is content|is pleased|said thank you|was happy|praised us|liked it",
              ("Who complained?|Who is angry?|Who is not content?|To whom do we say sorry?|Who was disappointed?|Who had something against it?", "Who is not happy?", "Who was not pleased?|To whom should we say sorry?"),
              ("Who is content?|Who was happy?|Who liked it?|Who said thank you?|Who praised us?", "Who is happy?", "Who was pleased?|Who has no complaint?")),
    _contrast("person", "knows the way|has the key|was there before|can open the door|has been trained|speaks the language", "does not know the way|has no key|was never there|cannot open the door|has not been trained|does not speak the language",
              ("Whom should we send?|Who can do it?|Who is the right one to ask?|Who is able to do it?|On whom can we rely here?", "Who could do it?", "Who is fit for it?|Whom can we send there?"),
              ("Who cannot do it?|Whom should we not send?|Who is not able to do it?|Who must stay out of it?", "Who could not do it?", "Who is not fit for it?|Whom can we not send there?")),
)  # fmt: skip
IN_SHORT = (  # of every contrast what all that is told of one side comes to, and of the other
    ("has a fault", "is in order"), ("is away", "is here"), ("came late", "came in time"), ("is done", "is not done yet"), ("is for it", "is not for it"), ("has no room left", "has room left"), ("still has to pay", "owes nothing"), ("needs help", "needs no help"),
    ("won", "did not win"), ("is out of the house", "is still in the house"), ("is closed", "is open"), ("is not as it was", "is as it was"), ("is too expensive", "is not too expensive"), ("is in danger", "is not in danger"), ("was sold", "was not sold"), ("is slow", "is not slow"),
    ("is not content", "is content"), ("can do it", "cannot do it"),
)  # fmt: skip
SAID = Wordings(
    train=("{claim}, right?", "{claim}?", "so {claim}?", "we read that {claim}, do we?", "am I right that {claim}?", "is it the case that {claim}?", "{claim}, is that it?", "can we take it that {claim}?", "do you read it so, that {claim}?"),
    calibration=("{claim}, does it seem so?",), held_out=("as far as one reads, {claim}?", "does the text mean that {claim}?", "{claim}, would that be right?"),
)  # fmt: skip
DID_IT = Wordings(
    train=("Did {who} {do}?", "Was it {who} who {did}?", "Is it {who} who {did}?", "{Who} {did}: is that so?", "Do we read that {who} {did}?", "Did {who} really {do}?", "They say that {who} {did}. Did it happen?", "Is {who} the one who {did}?", "Can we say that it was {who} who {did}?", "Was {who} the person who {did}?"),
    calibration=("Has {who} been the one who {did}?",), held_out=("Could it be that {who} {did}?", "Is it right that {who} {did}?", "Was it by any chance {who} who {did}?"),
)  # fmt: skip
DID_WORDS = Wordings(
    train=("{who} did it|somebody else did it", "{who} {did}|{who} did something else", "it was {who}|it was not {who}", "{who} did|{who} did not", "by {who}|not by {who}", "{who}, yes|somebody else", "that was {who}|that was another person", "{who} {did}|{who} did not {do}", "it happened|it did not happen"),
    calibration=("{who} was the one|{who} was not the one",), held_out=("the one was {who}|the one was not {who}", "{who} has done it|{who} has not done it"),
)  # fmt: skip
DEEDS = tuple(text.split("|") for text in listed(
    "open|opened close|closed lock|locked paint|painted repair|repaired move|moved sell|sold bring|brought fetch|fetched check|checked clean|cleaned lose|lost find|found break|broke order|ordered buy|bought hide|hid carry|carried "
    "measure|measured empty|emptied fill|filled take|took return|returned drop|dropped weigh|weighed draw|drew wash|washed turn|turned mend|mended send|sent borrow|borrowed count|counted cover|covered lift|lifted mark|marked photograph|photographed "
    "rent|rented replace|replaced see|saw store|stored test|tested wrap|wrapped label|labelled inspect|inspected"
))  # fmt: skip
TIMED = Wordings(
    train=("{time} {who} {did}", "{time} - {who} {did}", "[{time}] {who} {did}", "{time}: {who} {did}", "{time} | {who} | {did}", "At {time} {who} {did}.", "{Who} {did} at {time}.", "It was {time} when {who} {did}.", "{who}: {did} ({time})", "{who}, {time}: {did}", "{Who} {did}, that was at {time}."),
    calibration=("({time}) {who} {did}",), held_out=("{time} > {who}: {did}", "Around {time} {who} {did}.", "{who} / {time} / {did}"),
)  # fmt: skip
PLACED = Wordings(
    train=("{Who} {did} in {place}.", "In {place} {who} {did}.", "{who}: {did} ({place})", "{place}: {who} {did}", "{who} | {place} | {did}", "{who} in {place}: {did}", "It was in {place} that {who} {did}.", "- {who} {did}, {place}", "{place} - {who} - {did}"),
    calibration=("{who} ({place}) {did}",), held_out=("Over in {place} {who} {did}.", "{who} / {place} / {did}", "{place} > {who}: {did}"),
)  # fmt: skip
FULL = Wordings(
    train=("{time} {who} {did} in {place}", "At {time} {who} {did} in {place}.", "{Who} {did} in {place} at {time}.", "In {place}, at {time}, {who} {did}.", "{time} | {place} | {who} | {did}", "[{time}] {place}: {who} {did}", "{who}: {did} ({place}, {time})", "{time} {place} - {who} {did}"),
    calibration=("{place}, {time}: {who} {did}",), held_out=("{who}, {place}, {time}: {did}", "Around {time} in {place} {who} {did}."),
)  # fmt: skip
LAID = Wordings(  # a thing or a person, and what is told
    train=("{Who} {did}.", "{who}: {did}", "{who} - {did}", "- {who} {did}", "{who} | {did}", "{Who} {did};", "{who} ({did})", "{time} {who} {did}", "{time}: {who} {did}", "[{time}] {who} {did}", "As for {who}: {did}.", "{place}: {who} {did}"),
    calibration=("* {who} {did}",), held_out=("{who} / {did}", "{time} > {who} {did}", "Of {who} we hear: {did}."),
)  # fmt: skip
WHO = Wordings(
    train=("Who {did}?", "Which person {did}?", "Name the one who {did}.", "Somebody {did}. Who?", "Who was it that {did}?", "By the text, who {did}?", "One of them {did}. Which one?", "Do you know who {did}?", "We look for the one who {did}.", "Say who {did}.", "Who of them {did}?", "It is asked who {did}."),
    calibration=("Tell us who {did}.",), held_out=("Which of them {did}?", "Find out who {did}.", "Who is the one who {did}?"),
)  # fmt: skip
WHAT = Wordings(
    train=("What did {who} do?", "What was {who} up to?", "What is told of {who}?", "{Who} did what?", "Which deed was that of {who}?", "What do we hear about {who}?", "What did {who} get done?", "Tell me what {who} did."), calibration=("Say what {who} did.",), held_out=("What has {who} done?", "Which of these did {who} do?"),
)  # fmt: skip
WHEN = Wordings(
    train=("When did {who} {do}?", "At what time did {who} {do}?", "What time was it when {who} {did}?", "{Who} {did}. When?", "By the clock, when did {who} {do}?", "When was it that {who} {did}?", "At which time was it that {who} {did}?"),
    calibration=("Which time is given for the moment when {who} {did}?",), held_out=("What was the time when {who} {did}?", "When exactly did {who} {do}?"),
)  # fmt: skip
WHERE = Wordings(
    train=("Where did {who} {do}?", "In which place did {who} {do}?", "Where was {who}?", "{Who} {did}. Where?", "Where was it that {who} {did}?", "Which place was it where {who} {did}?", "Where does one find {who}?"), calibration=("At which place did {who} {do}?",), held_out=("Where exactly did {who} {do}?", "In what place was {who}?"),
)  # fmt: skip
AT = Wordings(
    train=("What happened at {time}?", "What was done at {time}?", "Which deed belongs to {time}?", "It is {time}: what happens?", "What does it say for {time}?"), calibration=("What took place at {time}?",), held_out=("What came about at {time}?", "What happened when it was {time}?"),
)  # fmt: skip
ENDS = (
    Wordings(
        train=("Who came first?", "Who was the first to do something?", "Who is named with the earliest time?", "Whose turn was the first?", "Who began?", "Who did something before all others?", "Who was the earliest?"), calibration=("Who was first?",), held_out=("Who was earlier than the others?", "Who did something first of all?")),
    Wordings(
        train=("Who came last?", "Who was the last to do something?", "Who is named with the latest time?", "Whose turn was the last?", "Who ended it?", "Who did something after all others?", "Who was the latest?"), calibration=("Who was last?",), held_out=("Who was later than the others?", "Who did something last of all?")),
)  # fmt: skip
OWN_ENDS = (
    Wordings(
        train=("What did {who} do first?", "With what did {who} begin?", "Which was the first thing that {who} did?", "What was the earliest deed of {who}?", "{Who}: what came first?"), calibration=("How did {who} begin?",), held_out=("What did {who} do before anything else?", "Which thing did {who} do first?")),
    Wordings(
        train=("What did {who} do last?", "With what did {who} end?", "Which was the last thing that {who} did?", "What was the latest deed of {who}?", "{Who}: what came last?"), calibration=("How did {who} end?",), held_out=("What did {who} do after everything else?", "Which thing did {who} do last?")),
)  # fmt: skip


@dataclass(frozen=True)
class Row:
    """One deed: who did it, what it is (as it is done, and as it was), where and when."""

    who: str
    do: str
    did: str
    place: str
    time: str


def contrast(rng: random.Random, split: Split, count: int, level: int) -> Part:
    """Which one is not like the others, in what is told of each."""
    item = rng.choice(CONTRASTS)
    state, shown, reason, straight = _contrasted(rng, split, count, level, item)
    return Part(state, *choice(rng, rng.choice((item.asks if straight else item.opposite).of(split)), shown[0], shown[1:]), reason=reason)


def judged(rng: random.Random, split: Split, count: int, level: int) -> Part:
    """Whether one of them is what is told of it, in a few words that say what it comes to."""
    at = rng.randrange(len(CONTRASTS))
    place = 0 if rng.random() < 0.5 else rng.randrange(1, count)  # the one unlike the others is asked for, or another
    state, shown, reason, straight = _contrasted(rng, split, count, level, CONTRASTS[at], place)
    name = shown[place]
    if "the" not in name.split() and CONTRASTS[at].kinds[0] == "noun" and f"the {name}" in str(state).casefold():
        name = f"the {name}"
    is_so = (place == 0) == straight
    turned = rng.random() < 0.5
    said, denied = IN_SHORT[at][::-1] if turned else IN_SHORT[at]
    ask = f"Is {name} {said.removeprefix('is ')}?" if said.startswith("is ") and not said.startswith("is not") else sentence_case(SAID.pick(rng, split, claim=f"{name} {said}"))
    return everyday.claimed(rng, split, state, ask, f"{name} {said}", f"{name} {denied}", is_so != turned, reason)


def did(rng: random.Random, split: Split, count: int, level: int) -> Part:
    """Whether somebody did what somebody did."""
    made = _rows(rng, split, count)
    state, answer = _told(rng, split, made, rng.choice((TIMED, PLACED, FULL)), level), rng.random() < 0.5
    row, who = made[0], made[0].who if answer else made[1].who
    asked = DID_IT.pick(rng, split, who=who, Who=who, do=row.do, did=row.did)
    words = DID_WORDS.pick(rng, split, who=who, do=row.do, did=row.did)
    reason = entries(rng, [(item.did, item.who) for item in made], 0)
    return Part(state, *yes_or_no(rng, split, asked, answer, what=words), reason=f"{reason}; asked {who}: {verdict(answer)}")


def _contrasted(rng: random.Random, split: Split, count: int, level: int, item: Contrast, first: int = 0) -> tuple[object, list[str], str, bool]:
    """A state, the names as candidates, the reason, and whether the first is the one that is so, or the one that is not."""
    kind = rng.choice(item.kinds)
    names = several(rng, kind, split, count)
    straight = rng.random() < 0.6
    one, rest = (item.so, item.not_so) if straight else (item.not_so, item.so)
    told = [rng.choice(one), *rng.sample(rest, count - 1)]
    pairs = [(f"the {name}" if kind == "noun" and rng.random() < 0.9 else name, said) for name, said in zip(names, told, strict=True)]
    reason = entries(rng, [(said, name) for name, (_, said) in zip(names, pairs, strict=True)], first)
    shuffled = rng.sample(pairs, count)
    state: object
    if rng.random() < 0.15:
        state = {name.removeprefix("the "): said for name, said in shuffled}
    elif rng.random() < 0.2:  # two in one sentence
        state = sentence_case(rng.choice((", ", "; ", ", but ", " and ", ", while ")[: 5 if count == 2 else 2]).join(f"{name} {said}" for name, said in shuffled)) + "."
    else:
        line = rng.choice(LAID.of(split))
        place, times = word(rng, "place", split), _times(rng, count)
        lines = [line.format(who=name, Who=sentence_case(name), did=said, time=time, place=place) for (name, said), time in zip(shuffled, times, strict=True)]
        state = _joined(rng, line, lines)
    shown = [f"the {name}" for name in names] if kind == "noun" and rng.random() < 0.4 else names
    return _about(rng, split, state, level, names), shown, reason, straight


def rows(rng: random.Random, split: Split, count: int, level: int) -> Part:
    """One question about people, deeds, places and times."""
    made = _rows(rng, split, count)
    asks = (_who, _what, _when, _where, _at, _end, _own_end)
    return rng.choice(asks)(rng, split, made, level)


def _who(rng: random.Random, split: Split, made: list[Row], level: int) -> Part:
    row = made[0]
    state = _told(rng, split, made, rng.choice((TIMED, PLACED, FULL)), level)
    return _part(rng, state, WHO.pick(rng, split, did=row.did), [(row.did, row.who) for row in made])


def _what(rng: random.Random, split: Split, made: list[Row], level: int) -> Part:
    state = _told(rng, split, made, rng.choice((TIMED, PLACED, FULL)), level)
    return _part(rng, state, _of(rng, split, WHAT, made[0]), [(row.who, row.did) for row in made])


def _when(rng: random.Random, split: Split, made: list[Row], level: int) -> Part:
    return _part(rng, _told(rng, split, made, rng.choice((TIMED, TIMED, FULL)), level), _of(rng, split, WHEN, made[0]), [(f"{row.who} {row.did}", row.time) for row in made])


def _where(rng: random.Random, split: Split, made: list[Row], level: int) -> Part:
    return _part(rng, _told(rng, split, made, rng.choice((PLACED, PLACED, FULL)), level), _of(rng, split, WHERE, made[0]), [(f"{row.who} {row.did}", row.place) for row in made])


def _at(rng: random.Random, split: Split, made: list[Row], level: int) -> Part:
    pairs = [(row.time, f"{row.who} {row.did}") for row in made]
    return _part(rng, _told(rng, split, made, TIMED, level), AT.pick(rng, split, time=made[0].time), pairs)


def _end(rng: random.Random, split: Split, made: list[Row], level: int) -> Part:
    """Who came first or last by the clock, however the lines stand."""
    last = rng.random() < 0.5
    made.sort(key=lambda row: _minutes(row.time), reverse=last)
    ask = ENDS[last].pick(rng, split)
    return _part(rng, _told(rng, split, made, rng.choice((TIMED, FULL)), level), ask, [(row.time, row.who) for row in made])


def _own_end(rng: random.Random, split: Split, made: list[Row], level: int) -> Part:
    """What somebody who did several things did first or last."""
    last = rng.random() < 0.5
    who, several_times = made[0].who, rng.randint(2, max(2, len(made) - 1))
    made = [Row(who, row.do, row.did, row.place, row.time) if n < several_times else row for n, row in enumerate(made)]
    own = sorted(made[:several_times], key=lambda row: _minutes(row.time), reverse=last)
    ask = _of(rng, split, OWN_ENDS[last], own[0])
    pairs = [(f"{row.time} {row.who}", row.did) for row in [*own, *made[several_times:]]]
    return _part(rng, _told(rng, split, made, rng.choice((TIMED, FULL)), level), ask, pairs)


def _part(rng: random.Random, state: object, asked: str, pairs: Sequence[tuple[str, str]]) -> Part:
    """A choice whose right candidate is of the first pair, the others of the rest."""
    reason = entries(rng, pairs, 0)
    texts = [text for _, text in pairs]
    return Part(state, *choice(rng, asked, texts[0], texts[1:]), reason=reason)


def _of(rng: random.Random, split: Split, asks: Wordings, row: Row) -> str:
    return asks.pick(rng, split, who=row.who, Who=row.who, do=row.do, did=row.did)


def _rows(rng: random.Random, split: Split, count: int) -> list[Row]:
    """Rows of different people, places and times; deeds that share their verb or their thing."""
    deeds: dict[str, tuple[str, str]] = {}
    verbs, things = rng.sample(DEEDS, min(count, 2 if rng.random() < 0.4 else count)), several(rng, "noun", split, count if rng.random() < 0.6 else max(2, count // 2))
    while len(deeds) < count:
        (do, did), thing = rng.choice(verbs), rng.choice(things)
        deeds[f"{did} the {thing}"] = (do, thing)
        if len(deeds) >= len(verbs) * len(things):
            verbs = list(DEEDS)
    people, places = several(rng, "person", split, count), several(rng, "place", split, count)
    times = _times(rng, count)
    rng.shuffle(times)
    return [Row(who, f"{do} the {thing}", did, place, time) for who, (did, (do, thing)), place, time in zip(people, deeds.items(), places, times, strict=True)]


def _times(rng: random.Random, count: int) -> list[str]:
    """Different times of one day in order, near each other at times."""
    start = rng.randint(6 * 60, 14 * 60)
    span = rng.choice((30, 90, 400))
    return [f"{at // 60:02}:{at % 60:02}" for at in sorted(rng.sample(range(start, start + span), count))]


def _minutes(time: str) -> int:
    hours, _, minutes = time.partition(":")
    return int(hours) * 60 + int(minutes)


def _told(rng: random.Random, split: Split, made: Sequence[Row], forms: Wordings, level: int) -> object:
    """The rows by their times or in any order, all in one form, or as JSON."""
    ordered = sorted(made, key=lambda row: _minutes(row.time)) if rng.random() < 0.7 else rng.sample(list(made), len(made))
    if rng.random() < 0.15:
        keys = (("time", "who", "did", "place"), ("at", "by", "what", "where"), ("time", "person", "event", "location"))[rng.randrange(3)]
        fields = [(row.time, row.who, row.did, row.place) for row in ordered]
        kept = {TIMED: (0, 1, 2), PLACED: (1, 2, 3)}.get(forms, (0, 1, 2, 3))
        entries_of = [{keys[n]: row[n] for n in kept} for row in fields]
        return {rng.choice(("log", "events", "report")): entries_of}
    line = rng.choice(forms.of(split))
    lines = [line.format(who=row.who, Who=row.who, did=row.did, place=row.place, time=row.time) for row in ordered]
    return _about(rng, split, _joined(rng, line, lines), level, [row.who for row in made])


def _joined(rng: random.Random, line: str, lines: Sequence[str]) -> str:
    if line.endswith("."):
        return (" " if rng.random() < 0.75 else "\n").join(lines)
    return ("\n" if rng.random() < 0.75 else "; ").join(text.removesuffix(";") for text in lines)


def _about(rng: random.Random, split: Split, state: object, level: int, names: Sequence[str]) -> object:
    """The state under a key, or with a sentence about nothing beside it, now and then."""
    if not isinstance(state, str) or rng.random() < 0.7:
        return state
    if rng.random() < 0.5:
        return {rng.choice(("log", "report", "message", "notes", "text", "diary")): state}
    if level < 3:
        return state
    told = prose.around(rng, split, f"\n{state}\n" if "\n" in state else state, rng.randint(1, 2), names)
    return told.replace(" \n", "\n").replace("\n ", "\n").strip()
