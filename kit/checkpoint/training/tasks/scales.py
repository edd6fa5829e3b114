"""Scales for the score family: their levels, how each reads as a candidate, and what a state says when it applies.

Covers: English scales written for this package. A held-out cue is a new sentence of words that train cues of the
same level mostly use. Does not cover: drawing a question from them (`score`).
"""

from __future__ import annotations

from dataclasses import dataclass

from kit.checkpoint.training.tasks.messages import wordings
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
    """A scale from texts of train, calibration and held-out, their alternatives separated by `|`, and `[a;b]` for either."""
    return Scale(wordings(*ask), wordings(*high), tuple(Level(tuple(said.split("|")), wordings(*cues)) for said, *cues in levels))


def _poles(text: str) -> Wordings:
    train, calibration, held_out = text.split(" / ")
    return wordings(train, calibration, held_out, ";")


POLES = tuple(_poles(text) for text in (  # in the order of SCALES: one of the two highest levels, or of the two lowest
    "serious|harmless;a real problem|nothing much;people cannot work|people can work;bad|not bad;a grave fault|a small fault / a severe case|a mild case / grave|slight;it hurts|it does not hurt",
    "urgent|can wait;hurry|no hurry;act today|act later;pressing|not pressing;today or now|later than that;soon|some other day / urgent, today|not urgent / yes, rush|no, there is time;do it first|leave it for later",
    "happy|unhappy;positive|negative;content|angry or sad;likes it|does not like it;praise|complaint;good words|bad words / a glad customer|a sad customer / pleased|annoyed;a compliment|a protest",
    "more than half|less than half;mostly full|mostly empty;well filled|nearly empty;much is in it|little is in it / much of it taken|much of it free / rather full|rather empty",
    "risky|safe;suspicious|harmless;look into it|let it pass;danger|no danger;stop it|go ahead / a risk|no real risk / dangerous|not dangerous;warn somebody|all clear",
    "warm|cold;warm or hot|cold or freezing;no coat needed|take a coat;summery|wintry / pleasantly warm or hotter|chilly or colder / summer weather|winter weather",
    "likely|unlikely;rather yes|rather no;expected|doubted;good chances|bad chances / will come true|will not come true / probable|improbable",
    "many|few;a lot of people|hardly anybody;widespread|limited;a large group|at most one person / a great number|a small number / a crowd|one or none",
    "much work|little work;a long job|a quick job;large|small;takes weeks|takes no time / a great effort|a small effort / weeks or more|minutes at most",
    "hard|easy;difficult|simple;for experts|for beginners;takes skill|takes no skill / a hard nut|an easy one / tough|no trouble",
    "often|rarely;frequent|seldom;daily or more|hardly ever;a habit|an exception / many times|at most a few times / again and again|next to never",
    "loud|quiet;noisy|soft or silent;disturbs|does not disturb;a lot of noise|hardly any noise / too loud|not too loud / noise|peace",
    "clean|dirty;tidy|a mess;well kept|neglected;leave it|clean it / cared for|not cared for / neat|filthy or stained",
    "very late|nearly in time;a long wait|hardly a wait;a great delay|at most a small delay / far behind|hardly behind / days late|minutes late at most",
    "dear|cheap;expensive|inexpensive;a lot of money|little money or none;a high price|a low price / too dear|not too dear / costly|a bargain or a gift",
    "broken|whole;badly damaged|hardly damaged;out of use|fit for use;in pieces|in one piece / past use|still good / needs repair or worse|nearly as new",
    "fit|tired;awake|sleepy;full of life|worn out;ready for work|ready for bed / lively|drowsy / rested|weary",
))  # fmt: skip
SCALES = (
    scale(
        ("Rate the severity.|How severe is this?|How bad is the incident?|Severity of the problem?|Score how serious it is.|Which severity fits?|How severe is the incident?|How serious is it?|What is the severity?|Score the incident.|How bad is it?|How much does this hurt us?|How grave is the fault?|What is the impact?|How large is the impact?|Rate the impact on users.|How far does the problem reach?|How hard does it hit people?|Impact?|Severity?|Give a severity.|How big a problem is this?|How much harm is done?|Judge how bad the fault is.|On this scale, how bad is it?|Put a grade on the damage.|How broken is it?",
         "How serious is the problem?", "Rate how bad this is.|What is the severity of this incident?|How big is the impact?|What harm is done?"),
        ("Is it serious?|Is the incident serious?|Is anybody stopped?|Is this a serious problem?|Is somebody unable to work?|Are people stopped by it?|Is it a major problem?|Does it stop people?|Is it a big problem?|Does it keep people from their work?|Is the impact large?|Can people not work?|Are many held up?|Is it bad?|Do we have to call this serious?|Is work at a stop for a team or for all?|This is serious.|People cannot work.", "Is it a serious incident?", "Is the problem serious?|Is this a major incident?|Is it a grave problem?|Is the harm large?"),
        ("No problem: all works|Nothing is wrong|None|no impact|nobody notices|no harm|nothing broken|fine|works", "everything works as it should|there is no problem at all|nothing is wrong, a false alarm|all is fine, just a question|all works, no problem|false alarm, everything is fine|I only [wanted to ask;have a question], [it runs;all runs] fine|[it works again;all good now], we were mistaken|no harm done, all is as it should be|I thought it was broken, but [it works;it was me]|just to say that [the new page;the shop] runs well|the alarm rang for nothing, all is well",
         "nothing is wrong, all works", "there is no problem, everything works|a false alarm, all is fine|it was me, the thing works"),
        ("Cosmetic: nobody is held up|Only looks wrong|Cosmetic|looks only|ugly but harmless|tiny|just a blemish|untidy|looks odd", "a colour is off, nobody is held up|a typing error in a heading, work goes on|a small icon is cut off, work goes on|the logo has the wrong colour|a typing error on the page|an icon looks wrong, nobody is held up|the heading has a typing error|[two words overlap;a line is crooked;the picture is blurred] on the [page;form], [it does no harm;one can still use it]|a comma is missing in the [footer;title]|the button is [a bit too wide;green instead of blue], [that is all;but it works]|the name of a street is misspelt on the map|the logo sits too far left, otherwise fine|the letters are a little small, everybody can read them",
         "a heading looks wrong, nobody is held up", "an icon has the wrong colour, work goes on|a typing error, nobody is held up|a word on the form is misspelt, one can still use it"),
        ("Minor: there is a workaround|A way around exists|Minor|small|annoying|a nuisance|partly broken|inconvenient|limps along", "it fails, but there is a workaround|people can use the other page instead|a second way around works fine|slow at times, with a workaround|one button fails, a workaround exists|there is a way around it on the other page|it fails now and then, people use the second way|saving works only at the second try|[I have;we have] to [reload;click twice] each time, then it goes|the search is broken, but [the list helps;one can scroll]|export fails, so we copy the table by hand|it takes a minute longer than before, still usable|[one printer;one lift] is out, the other works|I get around it by using another browser|it stops now and then, but we manage",
         "it fails but a second way works", "there is a way around on the other page|it fails, but a workaround exists|we click twice each time and manage"),
        ("Major: one team cannot work|A team is stopped|Major|serious|a group cannot work|big|one department stands still|bad|blocks a team", "one team cannot work since noon|a whole team is stopped|the team of {person} is blocked and waits|one team is blocked|the team in {place} cannot work|a team waits and is stopped|since noon the team of {person} cannot work|[the kitchen crew;our night shift;the sales desk] cannot do anything [since noon;today]|[five;ten] colleagues [sit idle;went home] because of it|nobody in [{place};accounts] can open [their files;the system], other sites can|our whole department stands still, the others work|the {place} branch had to close for the day, others are open|one team [has stopped;lost the whole morning], there is no way around",
         "one team is stopped and waits", "a whole team cannot work since noon|the team is blocked in {place}|our night shift sits idle, other teams work"),
        ("Critical: everybody is stopped|All customers are down|Critical|outage|nobody can work|disaster|everything broken|terrible|down for all", "all customers are down|nobody can log in at all|everything is down, every customer waits|the whole company is stopped|a complete outage, nobody can log in|production is down for everybody|all customers are down, the company is stopped|[the whole site;the shop] is [gone;dead] for [all;every customer]|no customer can [pay;order;sign in], [anywhere;in any country]|all [branches;sites] are closed because of it|every single user sees an error and nobody can work|the power is out everywhere and all work has ended|nothing runs any more, in [no office;none of our shops]",
         "everything is stopped, nobody can log in at all", "production is down, all customers wait|nobody can log in, a complete outage|no customer anywhere can sign in"),
    ),
    scale(
        ("How urgent is it?|Rate the urgency.|When must this be done?|How soon is this needed?|Score the urgency of the request.|How urgent is the request?|Rate how soon it is needed.|What is the urgency?|By when is it needed?|Urgency?|How much of a hurry is there?|How long can it wait?|How fast do we have to act?|What is the deadline?|How pressing is it?|Rate how pressing this is.|How quickly must somebody act?|By what time does {person} need it?|How soon do they want it?|Give the urgency.|When does it have to be ready?|How much time is left?|How long may it take?",
         "How soon must it be done?", "Rate how urgent the request is.|How urgent is this for {person}?|How soon is it wanted?|How pressing is it for {person}?"),
        ("Is it urgent?|Is the request urgent?|Must it be done today or now?|Is there a hurry?|Is it needed today at the latest?|Does it have to be done at once or today?|Is this urgent?|Should it be done today?|Must somebody act today?|Is it pressing?|Do we have to hurry?|Does somebody have to act before tomorrow?|It is urgent.|There is a hurry.|Is tomorrow too late?|Must it be dealt with by tonight?|It must not wait until tomorrow.", "Is it an urgent request?", "Is this request urgent?|Is there any hurry?|Does it have to be done before tomorrow?|Is it a pressing matter?"),
        ("No date|Whenever there is time|Not urgent|it can wait|no hurry|can wait for ever|low|any time", "there is no date for it|whenever you have time|no hurry at all, some day|it is not urgent|some day, whenever you like|no hurry, there is no date|whenever it suits you, not urgent|[next year;next summer] is fine, too|only if you have [nothing else to do;an idle hour]|[no rush;take your time], [it has waited for years;nobody is waiting]|it would be nice to have one day|I just thought of it, [no date;it can wait]|leave it at the bottom of your list",
         "some day, no date", "do it whenever you have time, no hurry|it is not urgent, there is no date|take your time, next year is fine"),
        ("This month|Within the month|by the end of the month|a few weeks|this month is enough|within weeks|rather low|in weeks", "it is due this month|before the end of the month|some time within this month|needed this month|this month is soon enough|by the end of the month, please|due within the month|we need it [in three weeks;before the end of the month]|the fair is in [three;two] weeks, by then please|within the next [three weeks;two weeks]|some time before the month is over|there are still some weeks left",
         "due before the month ends", "needed within the month|it is due by the end of this month|the fair is in some weeks, by then"),
        ("This week|Within the week|by the end of the week|a few days|this week is enough|within days|medium|in days", "it is due this week|before Friday of this week|needed within the week|this week is soon enough|by Friday, please|due within the week|some time this week|[in two or three days;the day after tomorrow], please|{person} leaves in [three;four] days and needs it by then|it should be done [before the weekend;by Friday]|a few days are fine|not today, but [this week;before Friday]",
         "due before this week ends", "needed by Friday of this week|some time within the week, please|the day after tomorrow or Friday is fine"),
        ("Today|Within the day|by this evening|a few hours|before tonight|within hours|high|in hours", "it is due today|needed before this evening|today, before the shop closes|by this evening, please|needed today|today is soon enough|before the shop closes this evening|[tonight;this evening] [we open;the guests come], it has to be ready|I need it [before I go home;by four this afternoon;before the shop closes]|[tomorrow is too late;not tomorrow], today please|the meeting is this afternoon|a few hours are left",
         "needed today, before evening", "due before this evening|needed today, before the shop closes, please|tonight the guests come, ready by then please"),
        ("Now|At once|Immediately|not a minute to lose|this minute|within minutes|very high|in minutes", "right now, drop everything|it cannot wait a minute|at once, please, an alarm is on|immediately|drop everything and do it now|it cannot wait, do it at once|an alarm is on, right now|[it is burning;water is coming in], [come now;run]|every second counts|[people are in danger;somebody is hurt], come at once|the guests stand at the door already, [now;quick]|stop what you do and come|I need it this very minute|as fast as you can, [it is running over;it is on fire]",
         "now, it cannot wait", "drop everything, it cannot wait a minute|an alarm is on, immediately please|somebody is hurt, every second counts"),
    ),
    scale(
        ("How content is the customer?|Rate the mood of the writer.|How did the customer like it?|Score the review.|How happy is {person}?|What is the mood?|How satisfied is the customer?|Rate the review.|How does the customer feel?|Rate how happy the customer is.|How does the writer feel?|What is the tone?|How pleased is the writer?|How do they like it?|Rate the tone of the message.|How angry or happy is the writer?|How good was it for the customer?|What mood is {person} in?|How positive is it?|Rate the satisfaction.|How did the customer find it?|How much does {person} like it?|Sentiment?|Mood?|How well did we do in the eyes of the customer?",
         "How much did the customer like it?", "Rate how happy the writer is.|How content is {person} in the review?|How satisfied does the writer sound?|Which mood does it show?"),
        ("Is the customer happy?|Is the writer happy?|Did the customer like it?|Is the review good?|Is the review positive?|Is {person} happy with it?|Does the writer like it?|Is it a positive review?|Does {person} like it?|Would the writer come again?|Is it praise?|Are they satisfied?|Is the customer satisfied?|Does the message praise us?|The customer is content.|Does {person} sound glad?|Did it go well for the customer?", "Is the writer content?", "Is it a good review?|Did the writer like it?|Does it sound satisfied?|Is the message full of praise?"),
        ("Furious|Very angry|very negative|hates it|1 star|awful|rage|full of anger", "I am furious, never again|the worst I ever bought, I am very angry|terrible, a shame, I want my money back|this is the worst, never again|I am very angry and want my money back|a shame, terrible|furious, I will never buy again|[what a scandal;an outrage], [I will tell everybody;never again]|I [hate;cannot stand] [it;this shop]|you [ruined my holiday;stole my time], [I am boiling;I demand an answer]|the worst [service;meal;day] of my life|[lies;nothing but lies], I have had enough of you|it makes me sick, throw it away",
         "terrible, the worst, never again", "very angry, I want my money back|I am furious, it is a shame|I hate it, an outrage"),
        ("Unhappy|Disappointed|negative|does not like it|2 stars|poor|displeased|a bit let down", "I am disappointed|not good, I expected more|a bit sad about the quality|I am unhappy with it|I expected more, it is not good|disappointed about the quality|a bit unhappy, not good|[the food;the room;the seat] was [not what I hoped for;worse than last time]|I would not [buy it;come] again|it could be much better|[sadly;I am sorry to say] it [did not help;was too slow;broke soon]|the colour is wrong, a pity|it was too dear for what it is",
         "not good, I am a bit sad", "I am unhappy, I expected more|a bit disappointed about the quality|a pity, it was too slow and could be better"),
        ("Neutral|Neither good nor bad|neutral|no opinion|3 stars|fair|indifferent|so-so", "it is okay, neither good nor bad|average, nothing special|so so, it does the job|it does the job, nothing special|neither good nor bad|okay, average|it is average, so so|it is what it is|not bad, not good|it works, nothing more to say|[some things were fine;one half was good], [others;the rest] not|I have no opinion about it|a [room;meal] like any other|it was all right, I guess",
         "average, it is okay", "neither good nor bad, it does the job|okay, nothing special|some things were good, others not"),
        ("Happy|Pleased|positive|likes it|4 stars|good|satisfied|glad", "I am pleased, good work|nice and useful, I like it|good quality, I am happy|I like it, it is useful|pleased with the good work|a nice thing, I am happy|happy with it, nice and useful|[the staff;the driver] was [friendly;kind], I will come again|[it works well;it helps me], thank you|a good [meal;buy;day], I would do it again|[we enjoyed it;we had a nice time]|well done, I am satisfied|a fair price and good work",
         "nice and useful, I am pleased", "I like it, good work|I am happy, it is nice|we enjoyed it and will come again"),
        ("Delighted|Enthusiastic|very positive|loves it|5 stars|excellent|thrilled|overjoyed", "fantastic, the best I ever had|I am delighted, simply perfect|wonderful, I love it, ten out of ten|simply perfect, I love it|the best, fantastic, ten out of ten|I am delighted, wonderful|perfect in every way, I love it|[wow;hurray], [what a;such a] [day;dinner;team], I could not be happier|the best [meal;gift;trip] of my life|I tell all my friends how [great;wonderful] it is|I cried for joy|[I adore it;I am over the moon]|not a single thing to improve, a dream",
         "perfect, I love it", "simply fantastic, I love it|delighted, ten out of ten, wonderful|such a team, I could not be happier"),
    ),
    scale(
        ("How full is it?|Rate how full the {noun} is.|What is the fill level?|How much is in it?|How full is it by now?|Rate how full it is.|How much of it is used?|Fill level?|How much room is taken?|How near to full is it?|How much is in the {noun}?|How high does it stand?|Level of filling?|How much space is gone?",
         "Rate the fill level.", "How full is the {noun}?|How much of it is full?|How much of it is taken?"),
        ("Is more than half of it used?|Is it more than half full?|Is it nearly full?|Is it almost full or full?|Is more than half taken?|Is there little room left?|Is there less than half the room left?|Is it well filled?|It is more than half full.|Is most of the room taken?", "Is it fuller than half?", "Is the {noun} more than half full?|Is it full or nearly full?|Is the larger part of it taken?"),
        ("Empty|Nothing in it|empty|0 of 4|all free|nothing|none of it", "it is empty|there is nothing left in it|not a drop is inside|nothing is in it|completely empty|not a drop is left|empty, nothing left|we used up [everything;the last bit] in it|the [box;tank;tray] holds nothing|all of the room is free|you can see its bare bottom",
         "nothing is inside, it is empty", "not a drop is left in it|it is completely empty|its bare bottom, nothing left"),
        ("A quarter full|About one quarter|25 percent|1 of 4|mostly free|a little|a quarter", "about one quarter is full|one quarter is used|it is one quarter full|25 percent are used|about 25 percent|one quarter of it is taken|one quarter, 25 percent|[just;only] a quarter of the [room;space] is taken|three quarters of it are still free|a quarter full, lots of room",
         "some 25 percent, one quarter", "about one quarter is used|25 percent of it are taken|three quarters are still free"),
        ("Half full|About one half|50 percent|2 of 4|half free|a half|half", "it is half full|about half is used|one half is taken|50 percent are used|half of it is taken|about 50 percent|one half, 50 percent|as much is free as is taken|the middle mark is reached|[one half;half the room] is still free|half empty",
         "half of it is used", "about one half is full|50 percent of it, half|the middle mark is reached, half is free"),
        ("Three quarters full|About three quarters|75 percent|3 of 4|little free|a lot|three quarters", "three quarters are used|it is three quarters full|about three quarters are taken|75 percent are used|about 75 percent|three quarters of it are taken|three quarters, 75 percent|only a quarter is [still free;left]|three of four [parts;boxes] are taken|a quarter of the room remains",
         "three quarters of it are full", "about three quarters are full|75 percent of it, three quarters|a quarter remains, the rest is taken"),
        ("Full|No room left|full|4 of 4|nothing free|everything|all of it", "it is full to the brim|there is no room left|completely full, no space|no space left|100 percent, full|full to the brim, no room|no room, no space left|[nothing more goes in;not one more fits]|it [runs over;overflows]|the lid [does not close;will not shut] any more|every corner of it is taken",
         "no space left, full", "full, there is no room|100 percent, no space left|nothing more goes in, every corner is taken"),
    ),
    scale(
        ("How risky is it?|Rate the risk.|What is the risk of this payment?|Score the danger.|How risky is this?|What is the risk?|How dangerous is it?|Risk of the payment?|Rate the danger.|Score the risk of this.|How much should we worry?|How suspicious is it?|Does it look safe, and how safe?|How likely is fraud?|How careful must we be?|Give the risk.|How dangerous does it look?|Level of danger?|How safe or risky is this?|What danger is there?|Risk?",
         "How high is the risk?", "Rate the risk of this.|How risky is the payment?|How suspicious does it look?"),
        ("Is it risky?|Is the payment risky?|Is there a risk of fraud?|Should somebody look at it?|Is it dangerous?|Is there a risk?|Does it look like fraud?|Should we worry?|Is it suspicious?|Is it too risky to let pass?|Do we have to be careful?|It looks like fraud.|Should it be stopped or checked?|Would you warn somebody?", "Is it a risky payment?", "Is this payment risky?|Is there a danger of fraud?|Is it worth a warning?"),
        ("No risk|Safe|none|nothing to fear|harmless|clean|very low", "known customer, known device, all checks passed|it is safe, everything was checked|no sign of fraud|all checks passed, it is safe|a known customer, no sign of fraud|everything was checked, known device|safe, a known device|[we know;I met] her for ten years and all is in order|[tested;checked] twice, [nothing found;nothing odd]|the same small sum to the same shop as every month|completely harmless|nothing to fear, he showed his papers",
         "safe, all checks passed", "no sign of fraud, known device|everything is safe, all checks passed|nothing odd, the same sum as every month"),
        ("Low risk|Slightly unusual|low|small|a bit odd|fairly safe|rather low", "slightly unusual, but explained|a new address, the customer told us before|a little odd, a reason is given|a little unusual, a reason is given|slightly odd, but explained|a new address, explained before|odd, but the customer gave a reason|he [ordered;bought] more than usual, for a [party;wedding]|it is her first order from abroad, she [wrote;called] before|a small slip, [and we know why;already explained]|an odd hour, but he works at night",
         "a little unusual, but explained", "slightly odd, a reason is given|a new address, but explained|more than usual, but he called before"),
        ("Medium risk|Some signs|medium|moderate|doubtful|to be checked|in between", "some signs of fraud, not explained|a new device and a foreign card|two warnings are open|some warnings, not explained|a foreign card, two warnings|some signs, a new device|two open warnings, not explained|the name and the address do not quite match|he [would not say;does not say] what it is for|[two;three] things look odd and nobody knows why|the code was wrong twice, then right",
         "some warnings, two are open", "a new device, two warnings|some signs, a foreign card|two things do not match and nobody knows why"),
        ("High risk|Almost surely fraud|high|great|criminal|must be stopped|very high", "almost surely fraud, card reported stolen|the account was taken over|stolen card, wrong name, many failed tries|the card was stolen|surely fraud, wrong name|account taken over, many failed tries|a stolen card, almost surely fraud|[the real owner;the bank] says the card [was stolen;is not his]|somebody else sits at her account and empties it|[forged papers;a false name], the police know him|he tried twenty stolen cards in one minute|it is a known trick of thieves",
         "stolen card, the account was taken over", "surely fraud, many failed tries|the card was reported stolen, wrong name|forged papers, the card is not his"),
    ),
    scale(
        ("How warm is it?|Rate the temperature.|What does the weather feel like?|How warm is the day?|Rate how warm it is.|What is the weather like?|How does the weather feel?|Temperature outside?|Is it cold or hot, and how much?|How does it feel outside?|What kind of day is it?|How hot or cold is it?|Weather?|How warm is it where {person} is?",
         "Rate how warm it feels.", "How warm does it feel?|What is the temperature like?|How hot or cold does it feel?"),
        ("Is it warm?|Is it warm outside?|Is the weather warm?|Is it a warm day?|Is it warm or hot?|Does it feel warm?|Is it a day for short sleeves?|It is warm.|Would one swim?|Can one go out without a coat?|Is it summery?", "Is the day warm?", "Is it warm outside today?|Does the weather feel warm?|Is it a day to swim?"),
        ("Freezing|Ice and frost|below zero|icy|minus ten|very cold|bitter cold", "ice on the road, frost everywhere|it is freezing|snow and frost|snow and ice|freezing, ice everywhere|frost, snow on the road|below zero, ice|[the lake;my window] is frozen over|[ten;fifteen] below zero, [the pipes froze;my nose is red]|we [scrape ice off the car;skate on the pond]|the coldest night of the winter",
         "frost and ice", "snow, it is freezing|ice and frost everywhere|the pond is frozen over and the pipes, too"),
        ("Cold|Chilly|cool|fresh|plus five|rather cold|wrap up", "cold, take a coat|a chilly wind blows|rather cold|chilly, take a coat|a cold wind|rather chilly, a cold wind|take a coat, it is cold|[five;six] degrees, I wear [gloves;a scarf]|grey and raw, put on [something thick;a pullover]|my fingers are cold without gloves|a fresh morning in late autumn",
         "a cold wind, take a coat", "chilly, rather cold|a chilly wind, take a coat|five degrees, put on gloves"),
        ("Mild|Neither warm nor cold|pleasant|moderate|plus fifteen|in between|just right", "mild, neither warm nor cold|a mild spring day|pleasant and mild|a pleasant spring day|neither warm nor cold|mild and pleasant|spring, a mild day|[fifteen;sixteen] degrees, a light jacket will do|not warm, not cold, [just right;fine for a walk]|an April day as it should be|a thin pullover is enough",
         "pleasant, a mild day", "neither warm nor cold, pleasant|a mild and pleasant spring day|a light jacket will do, fine for a walk"),
        ("Warm|Summer weather|sunny|sunny|plus twenty-five|rather warm|short sleeves", "warm, a sunny summer day|nice and warm|warm enough to swim|a warm summer day|sunny, warm enough to swim|nice summer weather|sunny and warm|[twenty-four;twenty-five] degrees, we [eat outside;wear short sleeves]|people lie on the grass in the sun|a lovely day for the beach|ice cream weather",
         "sunny and nice, summer", "a nice warm summer day|sunny, we swim|we eat outside in short sleeves"),
        ("Hot|Hardly bearable|heat wave|scorching|plus forty|very hot|unbearable", "hot, hardly bearable|a heat wave, everybody sweats|burning hot|everybody sweats, burning heat|a heat wave, hot|hardly bearable heat|burning heat, everybody sweats|[thirty-nine;forty] degrees in the shade|the [road;tar] melts, [nobody goes out;stay inside]|I cannot breathe in this heat|even the nights are too hot to sleep",
         "a heat wave, burning", "hardly bearable, a heat wave|everybody sweats, it is hot|forty degrees, nobody goes out"),
    ),
    scale(
        ("How sure is the speaker?|Rate how certain it is.|How likely is it?|What is the probability?|How certain is {person}?|Rate the probability.|How likely does it sound?|How probable is it?|What chance does it have?|How much would you bet on it?|How firmly do they believe it?|Rate the chances.|How much doubt is there?|How likely is it to happen?|Chance?|How probable does {person} find it?|How sure are they?",
         "How sure is {person}?", "Rate how likely it is.|How certain is the speaker?|How good are the chances?"),
        ("Is it likely?|Is it likely or certain?|Does the speaker expect it?|Will it probably happen?|Does {person} think so?|Is it probable?|Are the chances good?|Would you bet on it?|It will happen.|Are they fairly sure?|Is a yes more likely than a no?|Does {person} count on it?", "Is it rather likely?", "Does the speaker think so?|Is it probably so?|Are they fairly sure that it will happen?"),
        ("Impossible|Surely not|no|out of the question|0 of 4|not a chance|0 percent", "it is impossible|surely not, never|it will never happen|never, that is impossible|it cannot be, surely not|that will surely never happen|no way, impossible|[not a chance;not in a hundred years]|pigs will fly first|that is out of the question|I would bet all I have against it",
         "never, no way", "it will never happen, no way|impossible, it cannot be|not in a hundred years, out of the question"),
        ("Unlikely|Probably not|rather no|hardly|1 of 4|little chance|25 percent", "it is unlikely|probably not|I doubt it|I rather doubt it, unlikely|unlikely, I would say no|I doubt that, probably not|hardly likely, I doubt it|I would not [count;bet] on it|[a small chance;a slim hope], no more|it would [surprise;astonish] me|one time in four, perhaps",
         "I doubt it, unlikely", "probably not, I rather doubt it|it is unlikely, I doubt that|a slim hope, I would not count on it"),
        ("Open|Fifty-fifty|maybe|undecided|2 of 4|even chances|50 percent", "maybe, maybe not|it is open, fifty-fifty|who knows|nobody knows, it is open|maybe, who knows|fifty-fifty, it could go either way|it could go either way|[heads or tails;toss a coin]|half of us say yes, half say no|it depends, ask me later|the chances are even",
         "it is open, who knows", "maybe, it could go either way|nobody knows, fifty-fifty|toss a coin, the chances are even"),
        ("Likely|Probably yes|rather yes|rather sure|3 of 4|good chances|75 percent", "it is likely|probably yes|I think so|I think so, it is likely|likely, I would say yes|I expect so, probably yes|quite likely, I think|the chances are good|I would be surprised if not|it looks [good;like it]|three times in four it works out|most signs point to it",
         "I think so, likely", "probably yes, I think so|quite likely, I expect so|I would be surprised if not, it looks good"),
        ("Certain|Surely so|yes|beyond doubt|4 of 4|settled|100 percent", "it is certain|surely, without doubt|absolutely sure|without any doubt, it is certain|I am absolutely sure|certain, it has been confirmed|surely, it has been confirmed|you can [count on it;bet your house on it]|it is [signed;settled], nothing can stop it|I saw it with my own eyes|as sure as day follows night",
         "absolutely certain", "without doubt, absolutely sure|it is certain and confirmed|it is signed, you can count on it"),
    ),
    scale(
        ("How many people does it affect?|How many are affected?|Who is hit by it, and how many?|Rate how many people are touched by it.|How wide is it?|How large is the group?|For how many is it a problem?|Reach of the problem?|How many notice it?|How widely is it felt?|Rate how far it spreads.",
         "How many does it concern?", "How many people are hit?|How far does it spread?"),
        ("Are many people affected?|Is it a problem for many?|Does it touch a whole site or more?|Are more than a few people hit?|It affects many.|Is it widely felt?", "Does it concern many?", "Are a lot of people hit?|Is it felt by many?"),
        ("nobody|No one|0|none|no people", "[nobody;no one] [is affected;has noticed;feels it]|it hits no one, [the hall is empty;we are closed today]|not a single person uses it|no one would miss it",
         "nobody at all feels it", "not a single person has noticed|nobody uses it, the hall is empty"),
        ("one person|Only me|1|single|just one", "[only I;just {person}] [see it;have it], [the others are fine;nobody else]|it is my [account;screen] alone|one [user;guest] has it, [nobody else does;the rest is fine]|[just me;only my machine], it seems",
         "just one user has it", "only my own screen, the others are fine|{person} alone has it, nobody else"),
        ("a few people|A handful|2 to 5|few|some people", "[two;three;four] of us [have it;see it]|[a few;a handful of] [colleagues;guests;users] [see it;have it], no more|{person} and two others have it|both of us at the desk, and {person}",
         "a handful of users see it", "two or three of us, no more|{person} and a few others see it"),
        ("a whole site|One office|about 50|many|a building", "everybody in [{place};our building] [has it;is hit], [other sites are fine;nobody elsewhere]|the whole [office;floor;school] in {place}|[fifty;sixty] people of one site|all of [building two;the north office], and only there",
         "everybody in one building has it", "the whole office in {place}, other sites are fine|some fifty people, all in one building"),
        ("everybody|All people|thousands|all|the whole world", "[everybody;every user], [at all sites;in every country]|all our customers [have it;see it], [thousands of them;everywhere]|[thousands;millions] of people|wherever you ask, everyone has it|no site is spared",
         "every user at all sites", "thousands of customers in every country|wherever you ask, all of them have it"),
    ),
    scale(
        ("How much work is it?|How long will it take?|Rate the effort.|How much effort does it need?|What is the effort?|How large is the job?|How big is the task?|Estimate the work.|How much time does it cost?|Effort?|How laborious is it?",
         "How much work does it need?", "How big is the job?|Rate how much work it takes."),
        ("Is it a lot of work?|Is it a large job?|Does it take long?|Does it need weeks or more?|It is much work.|Is the effort large?|Is it more than a few days of work?", "Does it need much work?", "Is it a big piece of work?|Does the job take long?"),
        ("no work|Nothing to do|none|done", "[nothing to do;it is done already]|it does that by itself, [no work;no hands needed]|we have it already, nothing is left to do",
         "it is done, no work", "nothing is left to do, it does that by itself|no hands needed, it is done"),
        ("minutes|A few minutes|tiny|quick", "[two clicks;five minutes], [that is all;no more]|{person} can do it [while the tea boils;between two calls]|one line has to be changed|done in [ten minutes;a moment]",
         "five minutes, one line", "two clicks, done in a moment|{person} can do it in ten minutes"),
        ("a day|About a day|small|some hours", "[one day;a day] of work|{person} needs [until tomorrow;a day] for it|a morning and an afternoon|start today, ready tomorrow",
         "about one day of work", "a morning and an afternoon, then ready|{person} starts today and is ready tomorrow"),
        ("weeks|A few weeks|large|long", "[two;three;four] weeks [of work;for two people]|it keeps {person} busy [until next month;for weeks]|[some;a few] weeks, there are many parts",
         "a few weeks of work", "some weeks for two people|many parts, it keeps us busy for three weeks"),
        ("a year|Many months|huge|endless", "[a year;many months] for the whole team|we have to build everything anew, [a year;two years]|twenty people would need a year|it took them two years elsewhere",
         "more than a year for all of us", "everything anew, that takes many months|twenty people and two years"),
    ),
    scale(
        ("How difficult is it?|How hard is it?|Rate the difficulty.|How hard was it for {person}?|What is the difficulty?|How easy or hard is it?|Difficulty?|How much skill does it take?|How demanding is the task?",
         "How hard does it sound?", "Rate how difficult it is.|How easy or difficult was it?"),
        ("Is it difficult?|Is it hard?|Did {person} have a hard time?|It is difficult.|Does it take much skill?|Is it a demanding task?", "Is it a difficult task?", "Is it a hard task?|Does it sound difficult?"),
        ("trivial|Child's play|very easy|a baby could do it", "[child's play;a child of three can do it]|I did it [in my sleep;with my eyes shut]|nothing could be [easier;simpler]|you cannot do it wrong",
         "child's play, nothing could be simpler", "even with shut eyes I did it|a child can do it, you cannot do it wrong"),
        ("easy|Not hard|rather easy|simple", "[easy;simple], [once you read the page;with a little care]|[easy enough;not hard], I got it at the first try|a beginner learns it [in an hour;quickly]|quite easy",
         "easy enough, at the first try", "a beginner gets it quickly|read the page, then it is simple"),
        ("moderate|Some practice|medium|neither easy nor hard", "one needs [some practice;a bit of practice]|neither easy nor hard|[some parts;half of it] easy, [others;the rest] hard|I got it at the third try",
         "neither easy nor hard, some practice", "half of it hard, the rest easy|it needs a bit of practice, the third try"),
        ("hard|Only for experts|rather hard|tough", "[hard;tough], [only experts can;few can do it]|I [sweated;struggled] for hours and just made it|it took [ten;twelve] tries|even our best people find it hard",
         "few can do it, so tough it is", "even experts find it hard|I struggled and just made it"),
        ("impossible|Nobody can do it|extremely hard|hopeless", "[nobody;no one] [has ever done it;can do it]|[hopeless;it cannot be done], we gave up|it cannot be solved, [not by anyone;by no machine]|all experts failed",
         "hopeless, all experts failed", "nobody has ever done it, we gave up|it cannot be done by anyone"),
    ),
    scale(
        ("How often does it happen?|How frequent is it?|Rate how often.|How frequently does it occur?|How many times does it happen?|Frequency?|How regular is it?|How often do they see it?",
         "How often does {person} see it?", "Rate how frequent it is.|How often does this occur?"),
        ("Does it happen often?|Is it frequent?|It happens a lot.|Does it occur every day or more?|Do they see it daily at least?", "Is it a frequent thing?", "Does this occur often?|Is it seen each day or even more?"),
        ("never|Not once|at no time|has not happened", "[never;not once] [so far;in all these years]|it [has not happened;did not happen] yet|I have never seen it",
         "in all these years not once", "never, I have not seen it yet|so far it has never happened"),
        ("rarely|Once a year|seldom|hardly ever", "[once a year;once in a blue moon]|hardly ever, [at New Year;in a leap year]|[very rarely;seldom], I saw it [once;twice] in ten years",
         "hardly ever, once a year", "I see it seldom, once a year|twice in ten years, seldom"),
        ("sometimes|Once a month|now and then|from time to time", "[now and then;from time to time]|[once;twice] a month|sometimes, [every few weeks;on some Mondays]|every third week or so",
         "now and then, every few weeks", "from time to time, twice a month|on some Mondays, but not on all"),
        ("often|Every day|daily|day after day", "[every day;each morning;every evening]|daily, [at noon;when I come in]|often, [day after day;once a day]|not a day passes without it",
         "each morning, daily", "no day passes without it|often, every evening at noon or later"),
        ("all the time|Every minute|without end|constantly", "[all the time;without a pause]|every [minute;second], it never ends|[constantly;again and again], [ten times a minute;even now]|it is always there, day and night",
         "constantly, it never ends", "every second, without a pause|again and again, day and night"),
    ),
    scale(
        ("How loud is it?|Rate the noise.|How noisy is the place?|What is the noise like?|Noise?|How much noise is there?|How quiet or loud is it in {place}?|How loud was it?",
         "How noisy is it?", "Rate how loud it is.|How much noise does {person} hear?"),
        ("Is it loud?|Is it noisy?|Is there much noise?|It is loud there.|Does the noise disturb?|Is it hard to sleep there?", "Is it a noisy place?", "Is there a lot of noise?|Does {person} hear much noise?"),
        ("silent|No sound|dead quiet|not a sound", "[not a sound;no sound at all]|[dead quiet;silent], [one hears a pin drop;like a grave]|you hear your own heart",
         "silent, not a sound", "like a grave, one hears a pin drop|no sound at all, dead quiet"),
        ("quiet|A whisper|soft|hardly any noise", "[somebody whispers;a clock ticks], no more|[quiet;soft], [like a library;leaves in the wind]|a little hum from the fridge",
         "a clock ticks, quiet", "like a library, somebody whispers|a soft hum, no more"),
        ("normal|People talk|medium|usual", "people talk [as usual;at their desks]|as in any office, [voices and keys;some phones]|a normal street in the morning",
         "as usual, people talk", "voices and some phones, as in any office|a normal street, people talk"),
        ("loud|One has to shout|noisy|a lot of noise", "[we have to shout;I must raise my voice]|a [drill;lawnmower] [next door;under my window]|trucks pass all day, [nobody can sleep;the windows shake]|the neighbours' party, loud music",
         "we have to shout, loud music", "a drill under my window, I must raise my voice|trucks all day, noisy"),
        ("deafening|Ears hurt|painful|beyond bearing", "my ears [hurt;ring] from it|[deafening;like a jet taking off]|one goes deaf beside it, [even with ear plugs;wear plugs]|a siren right at my ear",
         "deafening, my ears ring", "like a jet taking off, my ears hurt|a siren, one goes deaf"),
    ),
    scale(
        ("How clean is it?|Rate the state of the room.|How dirty is it?|How tidy is the {noun}?|Cleanliness?|How clean or dirty did {person} find it?|How well kept is it?",
         "How clean was it?", "Rate how clean it is.|How clean does {person} find it?"),
        ("Is it clean?|Is it well kept?|It is clean.|Could a guest move in?|Would you eat there?", "Is it a clean place?", "Did {person} find it clean?|Is it clean enough for a guest?"),
        ("filthy|Rats and mould|disgusting|very dirty", "[mould;rats;old food] everywhere, [it stinks;disgusting]|I [felt sick;left at once], so filthy was it|nobody has cleaned there for years",
         "filthy, mould everywhere", "it stinks, old food everywhere|rats, I felt sick"),
        ("dirty|Needs cleaning|stained|not clean", "[stains on the floor;crumbs under the table], [it needs a mop;please clean]|dirty [cups;windows;towels]|muddy steps all over the hall",
         "dirty cups, it needs a mop", "stains and crumbs, please clean|muddy steps, dirty windows"),
        ("fair|Some dust|acceptable|passable", "a little dust, [else fine;no more]|not spotless, but [one can live with it;acceptable]|swept, but not wiped",
         "a little dust, acceptable", "swept but not wiped, one can live with it|not spotless, some dust"),
        ("clean|Tidy|well kept|neat", "[clean;tidy], [freshly swept;all in its place]|they had [wiped;mopped] before we came|fresh sheets and a clean floor",
         "tidy and freshly swept", "all in its place, a clean floor|they had mopped, clean and tidy"),
        ("spotless|Like new|sparkling|perfectly clean", "[spotless;not a speck], [one could eat off the floor;like new]|everything [shines;sparkles]|so clean that I took off my shoes, like a mirror",
         "spotless, everything shines", "not a speck, it sparkles|like new, one could eat off the floor"),
    ),
    scale(
        ("How late is it?|Rate the delay.|How much delay is there?|How long do they have to wait?|What is the delay?|Delay?|How far behind is it?|How long is the wait?",
         "How big is the delay?", "Rate how late it is.|How long must {person} wait?"),
        ("Is it very late?|Is there a long delay?|Is the wait long?|It is more than an hour late.|Do they wait for hours or more?|Is it far behind?", "Is it a long wait?", "Must {person} wait long?|Is the delay large?"),
        ("on time|No delay|punctual|in time", "[on time;to the minute], [as planned;as promised]|it [left;came] at the very minute|no wait, it was there [already;before us]",
         "to the minute, on time", "as planned, no wait|it came at the very minute, as promised"),
        ("minutes late|A few minutes|slight|a moment", "[five;three;four] minutes [late;behind]|a short wait, [a few minutes;not worth a word]|just [missed the bell;a moment late]",
         "a few minutes late", "a moment late, not worth a word|some three minutes behind"),
        ("an hour late|About an hour|noticeable|one hour", "[an hour;one hour] [late;behind the plan]|we waited for [an hour;sixty minutes]|it said nine, it was ten",
         "one hour behind", "sixty minutes late|we waited, it said nine and was ten"),
        ("a day late|About a day|considerable|one day", "[a day;one day] [late;behind]|it [came;will come] [tomorrow;on the next day] instead of today|we slept at the station, it left next morning|due on Monday, here on Tuesday",
         "behind by a day", "tomorrow instead of today|it came on the next day, a day late"),
        ("weeks late|Over a week|extreme|weeks", "[weeks;three weeks;a month] [late;behind]|ordered in spring, [it is autumn now;still waiting in autumn]|we wait since last month|half a year late",
         "behind by three weeks", "we wait since spring, it is autumn|a month late, still waiting"),
    ),
    scale(
        ("How much does it cost?|How dear is it?|Rate the price.|What is the price like?|How expensive does {person} find it?|Price?|Is it cheap or dear, and how much?|How high is the price?",
         "How expensive is it?", "Rate how dear it is.|What does {person} think of the price?"),
        ("Is it expensive?|Is it dear?|It costs a lot.|Is the price high?|Does {person} find it too dear?", "Is it an expensive thing?", "Is it dear in the eyes of {person}?|Is it a high price?"),
        ("free|Costs nothing|a gift|for nothing", "[free;for nothing], [a gift;on the house]|it did not cost [a cent;anything]|they gave it away|no charge at all",
         "a gift, not a cent", "they gave it away for nothing|on the house, no charge"),
        ("cheap|A bargain|low|inexpensive", "[cheap;a bargain], [a few coins;half of what I thought]|cheaper than [a coffee;anywhere else]|for small change, I bought two",
         "for a few coins, a bargain", "nowhere is it cheaper|for small change, cheap"),
        ("normal|A usual price|medium|average", "[the usual price;what it costs everywhere]|neither cheap nor dear|as much as last year, a fair price",
         "neither cheap nor dear, fair", "as much as everywhere, the usual price|a fair price, as last year"),
        ("dear|Rather expensive|high|pricey", "[dear;pricey], [I thought twice;twice as much as elsewhere]|it hurt my purse|more than I wanted to pay",
         "I thought twice, so pricey", "dear, more than I wanted to pay|it hurt, twice as much as elsewhere"),
        ("unaffordable|A fortune|exorbitant|no one can pay it", "[a fortune;as much as a house]|no one can [pay;afford] that|I would have to sell my car for it|a year's wage, only kings could buy it",
         "a fortune, no one can afford it", "as much as a house, only for kings|a year's wage, no one can pay"),
    ),
    scale(
        ("How damaged is it?|What state is it in?|Rate the damage.|How badly is it damaged?|Condition?|How much of it is broken?|What is the condition of the {noun}?|In what state did it arrive?",
         "How bad is its state?", "Rate the damage to it.|In which condition is it?"),
        ("Is it badly damaged?|Is it broken?|It is broken.|Must it be repaired or thrown away?|Is it useless as it is?", "Is it a bad damage?", "Is it broken or worse?|Can it not be used as it is?"),
        ("as new|Not a scratch|perfect|intact", "[as new;like new], [not a scratch;still in its box]|nothing is wrong with it, [perfect;whole]|it came in one piece, flawless",
         "not a scratch, still in its box", "flawless, as new|in one piece, perfect"),
        ("scratched|Small marks|slight|used", "a [small scratch;tiny dent], [one hardly sees it;nothing more]|some marks from use, [it works well;no harm]|the paint has come off at one corner",
         "a tiny dent, it works well", "one hardly sees it, a small scratch|marks from use, nothing more"),
        ("worn|Some parts loose|moderate|shabby", "[a handle is loose;the lid is cracked], but [it holds;one can use it]|worn out, still [usable;in use]|it leaks a little and wobbles",
         "the lid is loose, still usable", "worn, it wobbles but holds|it leaks a little, one can use it"),
        ("broken|Needs repair|bad|out of use", "[the glass;a leg;the lock] is [broken off;in two], [it needs repair;take it to the shop]|it [does not run;fell apart], but can be mended|snapped in the middle, can be glued",
         "a leg broke off, it can be mended", "it does not run and needs repair|in two, it can be glued"),
        ("destroyed|Nothing left|total|a wreck", "[burnt to ashes;crushed flat], [nothing is left;a wreck]|[beyond repair;past saving], throw it away|a thousand pieces on the floor, only dust",
         "a wreck, beyond repair", "burnt, nothing is left|past saving, crushed flat"),
    ),
    scale(
        ("How tired is {person}?|Rate how much energy is left.|How awake does the writer sound?|How fit does {person} feel?|How does {person} feel after the day?|Energy of the writer?|How rested are they?",
         "How fit is {person}?", "How awake is {person}?|Rate how rested the writer is."),
        ("Is {person} awake and fit?|Does the writer sound rested?|They feel fit.|Has {person} energy left?", "Is {person} well rested?", "Does {person} feel fit?|Does the writer have energy?"),
        ("worn out|About to collapse|exhausted|no strength left", "I [fall asleep on my feet;can hardly stand]|[no strength left;done in], [I need a week in bed;carry me]|my eyes close by themselves",
         "done in, no strength left", "I can hardly stand, my eyes close|exhausted, carry me"),
        ("tired|Sleepy|weary|low", "I yawn [all day;at every word]|[tired;weary], I want to go to bed|slept badly, [a bit slow today;coffee please]",
         "weary, I yawn", "slept badly, I want to go to bed|tired and a bit slow"),
        ("so so|Neither fit nor tired|middling|in between", "neither [fresh nor tired;fit nor weary]|I have had better days and worse|it will do until the evening",
         "neither fit nor tired, it will do", "better days and worse, so so|neither fresh nor weary"),
        ("awake|Rested|fresh|good", "[slept well;rested], [ready to start;up with the birds]|[wide awake;fresh], I feel good|a good night, now to work",
         "rested and wide awake", "slept well, I feel fresh|up with the birds, ready to start"),
        ("bursting|Full of energy|could move mountains|never better", "I could [move mountains;run to {place} and back]|[bursting with energy;full of power], let us dance all night|never [better;stronger] in my life",
         "full of power, never better", "bursting with energy, I could run all day|mountains I could move"),
    ),
)  # fmt: skip
