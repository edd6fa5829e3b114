"""Scales for the score family: their levels, how each reads as a candidate, and what a state says when it applies.

Covers: English scales written for this package. A held-out cue is a new sentence of words that train cues of the
same level use. Does not cover: drawing a question from them (`score`).
"""

from __future__ import annotations

from dataclasses import dataclass

from kit.checkpoint.training.vocabulary import Wordings


@dataclass(frozen=True)
class Level:
    """One level of a scale. said: how its candidate reads. cues: what a state says when it applies."""

    said: tuple[str, ...]
    cues: Wordings


@dataclass(frozen=True)
class Scale:
    """Levels from the least to the most, and how it is asked for; high: whether it is one of the two highest."""

    ask: Wordings
    high: Wordings
    levels: tuple[Level, ...]


def scale(
    ask: tuple[str, str, str], high: tuple[str, str, str], *levels: tuple[str, str, str, str]
) -> Scale:
    """A scale from texts of train, calibration and held-out, their alternatives separated by `|`."""
    return Scale(_wordings(*ask), _wordings(*high), tuple(Level(tuple(said.split("|")), _wordings(*cues)) for said, *cues in levels))


def _wordings(train: str, calibration: str, held_out: str) -> Wordings:
    return Wordings(*(tuple(text.split("|")) for text in (train, calibration, held_out)))


SCALES = (
    scale(
        ("Rate the severity.|How severe is this?|How bad is the incident?|Severity of the problem?|Score how serious it is.|Which severity fits?|How severe is the incident?|How serious is it?|What is the severity?|Score the incident.",
         "How serious is the problem?", "Rate how bad this is.|What is the severity of this incident?"),
        ("Is it serious?|Is the incident serious?|Is anybody stopped?|Is this a serious problem?|Is somebody unable to work?|Are people stopped by it?|Is it a major problem?|Does it stop people?", "Is it a serious incident?", "Is the problem serious?|Is this a major incident?"),
        ("No problem: all works|Nothing is wrong|None|no impact", "everything works as it should|there is no problem at all|nothing is wrong, a false alarm|all is fine, just a question|all works, no problem|false alarm, everything is fine",
         "nothing is wrong, all works", "there is no problem, everything works|a false alarm, all is fine"),
        ("Cosmetic: nobody is held up|Only looks wrong|Cosmetic|looks only", "a colour is off, nobody is held up|a typing error in a heading, work goes on|a small icon is cut off, work goes on|the logo has the wrong colour|a typing error on the page|an icon looks wrong, nobody is held up|the heading has a typing error",
         "a heading looks wrong, nobody is held up", "an icon has the wrong colour, work goes on|a typing error, nobody is held up"),
        ("Minor: there is a workaround|A way around exists|Minor|small", "it fails, but there is a workaround|people can use the other page instead|a second way around works fine|slow at times, with a workaround|one button fails, a workaround exists|there is a way around it on the other page|it fails now and then, people use the second way",
         "it fails but a second way works", "there is a way around on the other page|it fails, but a workaround exists"),
        ("Major: one team cannot work|A team is stopped|Major|serious", "one team cannot work since noon|a whole team is stopped|the team of {person} is blocked and waits|one team is blocked|the team in {place} cannot work|a team waits and is stopped|since noon the team of {person} cannot work",
         "one team is stopped and waits", "a whole team cannot work since noon|the team is blocked in {place}"),
        ("Critical: everybody is stopped|All customers are down|Critical|outage", "all customers are down|nobody can log in at all|everything is down, every customer waits|the whole company is stopped|a complete outage, nobody can log in|production is down for everybody|all customers are down, the company is stopped",
         "everything is stopped, nobody can log in at all", "production is down, all customers wait|nobody can log in, a complete outage"),
    ),
    scale(
        ("How urgent is it?|Rate the urgency.|When must this be done?|How soon is this needed?|Score the urgency of the request.|How urgent is the request?|Rate how soon it is needed.|What is the urgency?|By when is it needed?|Urgency?",
         "How soon must it be done?", "Rate how urgent the request is.|How urgent is this for {person}?"),
        ("Is it urgent?|Is the request urgent?|Must it be done today or now?|Is there a hurry?|Is it needed today at the latest?|Does it have to be done at once or today?|Is this urgent?|Should it be done today?", "Is it an urgent request?", "Is this request urgent?|Is there any hurry?"),
        ("No date|Whenever there is time|Not urgent|any time", "there is no date for it|whenever you have time|no hurry at all, some day|it is not urgent|some day, whenever you like|no hurry, there is no date|whenever it suits you, not urgent",
         "some day, no date", "do it whenever you have time, no hurry|it is not urgent, there is no date"),
        ("This month|Within the month|by the end of the month", "it is due this month|before the end of the month|some time within this month|needed this month|this month is soon enough|by the end of the month, please|due within the month",
         "due before the month ends", "needed within the month|it is due by the end of this month"),
        ("This week|Within the week|by the end of the week", "it is due this week|before Friday of this week|needed within the week|this week is soon enough|by Friday, please|due within the week|some time this week",
         "due before this week ends", "needed by Friday of this week|some time within the week, please"),
        ("Today|Within the day|by this evening", "it is due today|needed before this evening|today, before the shop closes|by this evening, please|needed today|today is soon enough|before the shop closes this evening",
         "needed today, before evening", "due before this evening|needed today, before the shop closes, please"),
        ("Now|At once|Immediately", "right now, drop everything|it cannot wait a minute|at once, please, an alarm is on|immediately|drop everything and do it now|it cannot wait, do it at once|an alarm is on, right now",
         "now, it cannot wait", "drop everything, it cannot wait a minute|an alarm is on, immediately please"),
    ),
    scale(
        ("How content is the customer?|Rate the mood of the writer.|How did the customer like it?|Score the review.|How happy is {person}?|What is the mood?|How satisfied is the customer?|Rate the review.|How does the customer feel?|Rate how happy the customer is.",
         "How much did the customer like it?", "Rate how happy the writer is.|How content is {person} in the review?"),
        ("Is the customer happy?|Is the writer happy?|Did the customer like it?|Is the review good?|Is the review positive?|Is {person} happy with it?|Does the writer like it?|Is it a positive review?", "Is the writer content?", "Is it a good review?|Did the writer like it?"),
        ("Furious|Very angry|very negative", "I am furious, never again|the worst I ever bought, I am very angry|terrible, a shame, I want my money back|this is the worst, never again|I am very angry and want my money back|a shame, terrible|furious, I will never buy again",
         "terrible, the worst, never again", "very angry, I want my money back|I am furious, it is a shame"),
        ("Unhappy|Disappointed|negative", "I am disappointed|not good, I expected more|a bit sad about the quality|I am unhappy with it|I expected more, it is not good|disappointed about the quality|a bit unhappy, not good",
         "not good, I am a bit sad", "I am unhappy, I expected more|a bit disappointed about the quality"),
        ("Neutral|Neither good nor bad|neutral", "it is okay, neither good nor bad|average, nothing special|so so, it does the job|it does the job, nothing special|neither good nor bad|okay, average|it is average, so so",
         "average, it is okay", "neither good nor bad, it does the job|okay, nothing special"),
        ("Happy|Pleased|positive", "I am pleased, good work|nice and useful, I like it|good quality, I am happy|I like it, it is useful|pleased with the good work|a nice thing, I am happy|happy with it, nice and useful",
         "nice and useful, I am pleased", "I like it, good work|I am happy, it is nice"),
        ("Delighted|Enthusiastic|very positive", "fantastic, the best I ever had|I am delighted, simply perfect|wonderful, I love it, ten out of ten|simply perfect, I love it|the best, fantastic, ten out of ten|I am delighted, wonderful|perfect in every way, I love it",
         "perfect, I love it", "simply fantastic, I love it|delighted, ten out of ten, wonderful"),
    ),
    scale(
        ("How full is it?|Rate how full the {noun} is.|What is the fill level?|How much is in it?|How full is it by now?|Rate how full it is.|How much of it is used?|Fill level?",
         "Rate the fill level.", "How full is the {noun}?|How much of it is full?"),
        ("Is more than half of it used?|Is it more than half full?|Is it nearly full?|Is it almost full or full?|Is more than half taken?|Is there little room left?", "Is it fuller than half?", "Is the {noun} more than half full?|Is it full or nearly full?"),
        ("Empty|Nothing in it|empty", "it is empty|there is nothing left in it|not a drop is inside|nothing is in it|completely empty|not a drop is left|empty, nothing left",
         "nothing is inside, it is empty", "not a drop is left in it|it is completely empty"),
        ("A quarter full|About one quarter|25 percent", "about one quarter is full|one quarter is used|it is one quarter full|25 percent are used|about 25 percent|one quarter of it is taken|one quarter, 25 percent",
         "some 25 percent, one quarter", "about one quarter is used|25 percent of it are taken"),
        ("Half full|About one half|50 percent", "it is half full|about half is used|one half is taken|50 percent are used|half of it is taken|about 50 percent|one half, 50 percent",
         "half of it is used", "about one half is full|50 percent of it, half"),
        ("Three quarters full|About three quarters|75 percent", "three quarters are used|it is three quarters full|about three quarters are taken|75 percent are used|about 75 percent|three quarters of it are taken|three quarters, 75 percent",
         "three quarters of it are full", "about three quarters are full|75 percent of it, three quarters"),
        ("Full|No room left|full", "it is full to the brim|there is no room left|completely full, no space|no space left|100 percent, full|full to the brim, no room|no room, no space left",
         "no space left, full", "full, there is no room|100 percent, no space left"),
    ),
    scale(
        ("How risky is it?|Rate the risk.|What is the risk of this payment?|Score the danger.|How risky is this?|What is the risk?|How dangerous is it?|Risk of the payment?|Rate the danger.|Score the risk of this.",
         "How high is the risk?", "Rate the risk of this.|How risky is the payment?"),
        ("Is it risky?|Is the payment risky?|Is there a risk of fraud?|Should somebody look at it?|Is it dangerous?|Is there a risk?|Does it look like fraud?", "Is it a risky payment?", "Is this payment risky?|Is there a danger of fraud?"),
        ("No risk|Safe|none", "known customer, known device, all checks passed|it is safe, everything was checked|no sign of fraud|all checks passed, it is safe|a known customer, no sign of fraud|everything was checked, known device|safe, a known device",
         "safe, all checks passed", "no sign of fraud, known device|everything is safe, all checks passed"),
        ("Low risk|Slightly unusual|low", "slightly unusual, but explained|a new address, the customer told us before|a little odd, a reason is given|a little unusual, a reason is given|slightly odd, but explained|a new address, explained before|odd, but the customer gave a reason",
         "a little unusual, but explained", "slightly odd, a reason is given|a new address, but explained"),
        ("Medium risk|Some signs|medium", "some signs of fraud, not explained|a new device and a foreign card|two warnings are open|some warnings, not explained|a foreign card, two warnings|some signs, a new device|two open warnings, not explained",
         "some warnings, two are open", "a new device, two warnings|some signs, a foreign card"),
        ("High risk|Almost surely fraud|high", "almost surely fraud, card reported stolen|the account was taken over|stolen card, wrong name, many failed tries|the card was stolen|surely fraud, wrong name|account taken over, many failed tries|a stolen card, almost surely fraud",
         "stolen card, the account was taken over", "surely fraud, many failed tries|the card was reported stolen, wrong name"),
    ),
    scale(
        ("How warm is it?|Rate the temperature.|What does the weather feel like?|How warm is the day?|Rate how warm it is.|What is the weather like?|How does the weather feel?|Temperature outside?",
         "Rate how warm it feels.", "How warm does it feel?|What is the temperature like?"),
        ("Is it warm?|Is it warm outside?|Is the weather warm?|Is it a warm day?|Is it warm or hot?|Does it feel warm?", "Is the day warm?", "Is it warm outside today?|Does the weather feel warm?"),
        ("Freezing|Ice and frost|below zero", "ice on the road, frost everywhere|it is freezing|snow and frost|snow and ice|freezing, ice everywhere|frost, snow on the road|below zero, ice",
         "frost and ice", "snow, it is freezing|ice and frost everywhere"),
        ("Cold|Chilly|cool", "cold, take a coat|a chilly wind blows|rather cold|chilly, take a coat|a cold wind|rather chilly, a cold wind|take a coat, it is cold",
         "a cold wind, take a coat", "chilly, rather cold|a chilly wind, take a coat"),
        ("Mild|Neither warm nor cold|pleasant", "mild, neither warm nor cold|a mild spring day|pleasant and mild|a pleasant spring day|neither warm nor cold|mild and pleasant|spring, a mild day",
         "pleasant, a mild day", "neither warm nor cold, pleasant|a mild and pleasant spring day"),
        ("Warm|Summer weather|sunny", "warm, a sunny summer day|nice and warm|warm enough to swim|a warm summer day|sunny, warm enough to swim|nice summer weather|sunny and warm",
         "sunny and nice, summer", "a nice warm summer day|sunny, we swim"),
        ("Hot|Hardly bearable|heat wave", "hot, hardly bearable|a heat wave, everybody sweats|burning hot|everybody sweats, burning heat|a heat wave, hot|hardly bearable heat|burning heat, everybody sweats",
         "a heat wave, burning", "hardly bearable, a heat wave|everybody sweats, it is hot"),
    ),
    scale(
        ("How sure is the speaker?|Rate how certain it is.|How likely is it?|What is the probability?|How certain is {person}?|Rate the probability.|How likely does it sound?|How probable is it?",
         "How sure is {person}?", "Rate how likely it is.|How certain is the speaker?"),
        ("Is it likely?|Is it likely or certain?|Does the speaker expect it?|Will it probably happen?|Does {person} think so?|Is it probable?", "Is it rather likely?", "Does the speaker think so?|Is it probably so?"),
        ("Impossible|Surely not|no", "it is impossible|surely not, never|it will never happen|never, that is impossible|it cannot be, surely not|that will surely never happen|no way, impossible",
         "never, no way", "it will never happen, no way|impossible, it cannot be"),
        ("Unlikely|Probably not|rather no", "it is unlikely|probably not|I doubt it|I rather doubt it, unlikely|unlikely, I would say no|I doubt that, probably not|hardly likely, I doubt it",
         "I doubt it, unlikely", "probably not, I rather doubt it|it is unlikely, I doubt that"),
        ("Open|Fifty-fifty|maybe", "maybe, maybe not|it is open, fifty-fifty|who knows|nobody knows, it is open|maybe, who knows|fifty-fifty, it could go either way|it could go either way",
         "it is open, who knows", "maybe, it could go either way|nobody knows, fifty-fifty"),
        ("Likely|Probably yes|rather yes", "it is likely|probably yes|I think so|I think so, it is likely|likely, I would say yes|I expect so, probably yes|quite likely, I think",
         "I think so, likely", "probably yes, I think so|quite likely, I expect so"),
        ("Certain|Surely so|yes", "it is certain|surely, without doubt|absolutely sure|without any doubt, it is certain|I am absolutely sure|certain, it has been confirmed|surely, it has been confirmed",
         "absolutely certain", "without doubt, absolutely sure|it is certain and confirmed"),
    ),
)  # fmt: skip
