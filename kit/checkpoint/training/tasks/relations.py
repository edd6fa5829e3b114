"""Two things in one sentence, and what stands between them: which was taken and which was not, which is new, which is missing.

Covers: sentences that name both and questions for either. Does not cover: states that name one candidate alone (`match`).
"""

from __future__ import annotations

from dataclasses import dataclass

from kit.checkpoint.training.vocabulary import Wordings


@dataclass(frozen=True)
class Relation:
    """states: of {a} and {b}. one: questions that {a} answers. other: questions that {b} answers."""

    states: Wordings
    one: Wordings
    other: Wordings


def _relation(states: tuple[str, str, str], one: tuple[str, str, str], other: tuple[str, str, str]) -> Relation:
    """Alternatives of train, calibration and held-out, separated by |."""
    return Relation(*(Wordings(*(tuple(text.split("|")) for text in texts)) for texts in (states, one, other)))


RELATIONS = (
    _relation(
        ("{person} looked at {b}, but took {a}.|Not {b} but {a} was taken.|They took {a} and left {b}.|First we wanted {b}; in the end it was {a}.|{b} was too dear, so {person} chose {a}.|Instead of {b} it will be {a}.|{a} rather than {b}, please.|We had {b} in mind, then we settled on {a}.|{person} decided for {a} and against {b}.|Between {a} and {b} the choice fell on {a}.|After a long look at {b}, {person} went home with {a}.|{b}? No. {a} it is.|Please pack {a}. Leave {b} where it is.|Of the two, {b} was sent back and {a} was kept.", "{person} had a look at {b} and then bought {a}.", "In place of {b}, {person} picked {a}.|{b} was talked about, {a} was bought."),
        ("What was chosen?|Which one was taken in the end?|What is it that they want?|Which one was it at last?|What did they decide for?|Which of the two was kept?|What will it be?", "Which one was picked?", "Which of them was wanted in the end?|What did they settle for?"),
        ("What was not taken?|Which one was left?|What do they not want?|Which one did they decide against?|What was given up?|Which of the two was it not?", "Which one was not picked?", "Which of them was not wanted in the end?|What did they do without?")),
    _relation(
        ("{b} was replaced by {a}.|Where {b} was there is {a} now.|{a} took the place of {b}.|From today on it is {a}, no longer {b}.|We used {b} until yesterday; now we use {a}.|Out with {b}, in with {a}.|{person} swapped {b} for {a}.|{b} has been given away, in its stead stands {a}.|Once it was {b}. Today it is {a}.|The old one, {b}, made room for {a}.",
         "{a} has come in for {b}.", "{b} is history, {a} is here.|Up to now {b}, from now on {a}."),
        ("What is there now?|Which one is the new one?|What do they use today?|Which one is in use?|What came in its place?|Which is it from now on?", "What is used now?", "Which of them is the newer one?|What is it these days?"),
        ("What was there before?|Which one is the old one?|What did they use earlier?|What is no longer in use?|Which one was replaced?|What had to go?", "What was used before?", "Which of them is the older one?|What was it in former days?")),
    _relation(
        ("{b} came, {a} did not.|{a} is missing, {b} is there.|We got {b}, but {a} is still to come.|All is here but {a}; {b} came, too.|{b} was in the box. {a} was not.|{person} found {b} and is still looking for {a}.|There is {b}, yet where is {a}?|{a} got lost on the way, {b} arrived.|We lack {a}, not {b}.|{b} is on the shelf, {a} is nowhere.",
         "{a} cannot be found, {b} can.", "{b} is in its place; {a} is not.|No trace of {a}; {b} turned up."),
        ("What is missing?|What did not come?|What has to be looked for?|What do we still wait for?|What got lost?|What is not there?", "What has not turned up?", "Which of them is still to be found?|What is it that is not here?"),
        ("What came?|What is there?|What was found?|What do we have?|What need nobody look for?|What arrived?", "What has turned up?", "Which of them is in its place?|What is it that is here?")),
    _relation(
        ("{a} comes before {b}.|First {a}, then {b}.|{b} follows {a}.|{a} is up next, {b} after that.|Do {a} before {b}.|We see to {b} when {a} is done.|{b} has to wait for {a}.|Start with {a}, end with {b}.|{b} is the second, {a} the first.|Not {b} first but {a}.|After {a} it is the turn of {b}.",
         "{a} is followed by {b}.", "Ahead of {b} comes {a}.|{b} only once {a} is over."),
        ("What comes first?|With what do we start?|Which one is earlier?|What is done before the other?|Which one is next?|Which has the first turn?", "Which one is first?", "Which of them is ahead?|With which one does it begin?"),
        ("What comes after that?|With what do we end?|Which one is later?|What is done after the other?|Which one has to wait?|Which has the second turn?", "Which one is second?", "Which of them is behind?|With which one does it end?")),
    _relation(
        ("{a} costs more than {b}.|{b} is cheaper than {a}.|{a} is dear, {b} is cheap.|For {b} one pays less than for {a}.|{a} is more expensive than {b}.|The price of {a} is above that of {b}.|{b} costs only half of what {a} costs.|Next to {a}, {b} is a bargain.|You save money when you take {b} and not {a}.",
         "{b} comes at a lower price than {a}.", "One pays more for {a} than for {b}.|{a} has a higher price than {b}."),
        ("Which one costs more?|What is more expensive?|Which is the dear one?|For which one do we need more money?|Which one has the higher price?", "Which is dearer?", "Which of them is not the cheap one?|Which one takes more money?"),
        ("Which one costs less?|What is cheaper?|Which is the cheap one?|For which one do we need less money?|Which one has the lower price?|Which one saves money?", "Which is less dear?", "Which of them is the bargain?|Which one takes less money?")),
    _relation(
        ("{a} works, {b} does not.|{b} is broken, {a} is fine.|Use {a}; {b} is out of order.|{b} failed the test, {a} passed.|{person} repaired {a}, but {b} still has a fault.|{b} fell down and is in pieces; {a} is whole.|We can rely on {a}, not on {b}.|There is a crack in {b} and none in {a}.|{a} runs again, {b} has to wait for a part.",
         "{a} is in order, {b} has a fault.", "Nothing is wrong with {a}; {b} is damaged.|{b} does not run, {a} does."),
        ("What works?|What can be used?|Which one is fine?|Which one passed?|Which is in order?|Which one is not broken?", "Which one is all right?", "Which of them is whole?|Which one may be used?"),
        ("What does not work?|What cannot be used?|Which one is broken?|Which has a fault?|Which one is bad?|What has to be repaired?", "Which one is not all right?", "Which of them is damaged?|Which one may not be used?")),
    _relation(
        ("{b} is called {a} from now on.|The name is no longer {b} but {a}.|{person} renamed {b} to {a}.|What was called {b} is called {a} today.|{a}, once known as {b}.|The sign said {b}, now it says {a}.|They crossed out {b} and wrote {a}.|{a} is the new name, {b} the old one.|{a} (formerly {b})",
         "{b} got the name {a}.", "{a} is what used to be {b}.|The title {b} was changed into {a}."),
        ("What is the new name?|What is it called now?|Which name holds today?|What does the sign say now?|Which name is in use?", "Which name is the present one?", "What is the name of today?|How is it called by now?"),
        ("What was the old name?|What was it called before?|Which name is out of use?|What did the sign say once?|Which name was given up?", "Which name is the former one?", "What is the name of the past?|How was it called in the past?")),
    _relation(
        ("{a} belongs to {person}, {b} belongs to me.|{person} has {a}; {b} is mine.|I have {b} and {person} has {a}.|{person} took {a}, I took {b}.|For {person} there is {a}, for me there is {b}.|{b} is in my bag, {a} in the bag of {person}.|{person} ordered {a}. I ordered {b}.|My choice was {b}, that of {person} was {a}.",
         "{b} went to me, {a} to {person}.", "{person} got {a}, while I got {b}.|{a}: {person}. {b}: me."),
        ("What is not mine?|What is the other person's?|Which one is not for the writer?|Which one went to the other person?|What does the writer not have?", "Which is the other's?", "Which of them does the writer not own?|What did somebody else get?"),
        ("What is mine?|What is the writer's own?|Which one is for the writer?|What does the writer have?|Which one stayed with me?", "Which is the writer's?", "Which of them does the writer own?|What did I get?")),
)  # fmt: skip
EITHER = Wordings(  # how a third is named that is neither
    train=("Nobody spoke of {c}.", "{c} is another matter.", "As for {c}, nothing is known.", "{c} has nothing to do with it.", "This is not about {c}.", "We will see about {c} some other day."), calibration=("Nothing is said about {c}.",), held_out=("{c} is of no concern here.", "About {c} we do not talk today."),
)  # fmt: skip
