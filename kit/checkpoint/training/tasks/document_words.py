"""What the lines of long documents say and how they are asked about: matters of notes and of rules, each with its slots.

Covers: `Topic`, a matter with its sentences and the questions for every slot of it; words that fill slots; frames around a
question. Does not cover: which lines stand together and what is right (`document`), rules with limits and hours
(`document_rules`).
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass

from kit.checkpoint.training.vocabulary import NOUNS, Wordings, listed

PLACE_NOUNS = frozenset(listed("""
balcony bakery border bridge cabin canal castle ceiling chapel chimney corner farm ferry field forest garage garden
glacier harbour hill hotel island kitchen lake library market meadow mill mountain museum palace park path pond quarry
railway river road school scissors station storm street temple theatre tower tunnel valley village warehouse winter
workshop yard
"""))
THINGS = tuple(noun for noun in NOUNS if noun not in PLACE_NOUNS)  # what somebody may find, move, lend


@dataclass(frozen=True)
class Topic:
    """said: sentences with all slots. asks: by slot, questions that name others of the slots and no answer."""

    name: str
    said: Wordings
    asks: Mapping[str, Wordings]

    @property
    def slots(self) -> tuple[str, ...]:
        """Those of its sentences, in a fixed order."""
        return _slots(self.said.train[0])


SLOTS = ("who", "other", "thing", "things", "n", "place", "town", "state", "day", "role", "first", "then")


@functools.cache
def _slots(said: str) -> tuple[str, ...]:
    return tuple(slot for slot in SLOTS if re.search(rf"{{{slot}}}", said, re.IGNORECASE))


ROOMS = Wordings(
    train=("the kitchen", "the cellar", "the hall", "the attic", "the garage", "the library", "the office", "the workshop", "the yard", "the laundry", "the canteen", "the corridor", "the archive", "the lobby", "the boiler room", "the meeting room", "the shed",
           "the loading bay", "the server room", "the reading room", "the first-aid room", "the cloakroom", "the gym", "the stairwell", "the cold store", "the back office", "the reception", "the print shop", "the greenhouse", "the ticket office", "the guest room",
           "the control room", "the drying room", "the studio upstairs", "the stable", "the classroom", "the tea kitchen", "the locker room", "the projection room", "the boat house"),
    calibration=("the pantry", "the music room", "the west wing", "the porch", "the depot", "the vestry"),
    held_out=("the bathroom", "the barn", "the waiting room", "the copy room", "the storeroom", "the gatehouse", "the dining room", "the ward", "the packing room", "the east stairs", "the changing room", "the engine room"),
)  # fmt: skip
STATES = Wordings(  # what a thing is called, in groups of words of which a document has one: nothing else may count as the same
    train=("broken;cracked;torn;bent;worn out;scratched", "missing", "wet;leaking", "stuck;blocked", "loose", "locked;sealed", "empty", "dirty;dusty;sticky", "frozen", "unplugged;switched off;offline", "too hot;on fire", "rusty", "late", "noisy;too loud", "overfull", "half full",
           "open", "unlabelled", "out of date", "unpaid", "too heavy", "upside down;crooked", "out of paper", "very slow", "ready", "clean", "too small", "too short", "well liked", "brand new", "made of glass", "too expensive"),
    calibration=("jammed", "damp", "overdue", "flat", "spoiled", "in use", "too long"),
    held_out=("damaged;faulty;in pieces", "soaked", "stolen", "delayed", "polluted;greasy", "wobbly", "burnt", "out of ink", "without power", "too bright", "mouldy", "too wide"),
)  # fmt: skip

FOUND = Topic(
    "found",
    Wordings(
        train=("{who} found {thing} in {place}.", "In {place} {who} came across {thing}.", "{Thing} turned up in {place}; {who} found it.", "{who} has found {thing}, it was in {place}.", "While tidying up {place}, {who} found {thing}.", "It was {who} who found {thing} in {place}.",
               "{Thing} was found by {who} in {place}.", "{who} reports: {thing} found in {place}.", "Found by {who} in {place}: {thing}.", "Good news, {who} found {thing}. It had been lying in {place}."),
        calibration=("{Thing} has come to light in {place}, found by {who}.",),
        held_out=("{who} discovered {thing} in {place}.", "After a long search {who} found {thing} in {place}.", "{Thing} lay in {place}, where {who} found it."),
    ),
    {
        "who": Wordings(
            train=("Who found {thing}?", "By whom was {thing} found?", "Who came across {thing}?", "{Thing} was found. Who found it?", "Which person found {thing}?", "Name the one who found {thing}.", "Who is said to have found {thing}?"),
            calibration=("Who was it that found {thing}?",), held_out=("Who discovered {thing}?", "Which of them found {thing}?"),
        ),
        "place": Wordings(
            train=("Where was {thing} found?", "Where did {who} find {thing}?", "In which place was {thing} found?", "{Thing} turned up somewhere. Where?", "Where had {thing} been?", "In what room or place did {thing} turn up?"),
            calibration=("At which place was {thing} found?",), held_out=("Where did {thing} come to light?", "In which place did {who} discover {thing}?"),
        ),
        "thing": Wordings(
            train=("What did {who} find in {place}?", "What was found in {place}?", "What turned up in {place}?", "Which thing did {who} find in {place}?", "{who} found something in {place}. What?", "In {place} something was found. What was it?"),
            calibration=("What has {who} found in {place}?",), held_out=("What did {who} discover in {place}?", "Which thing was discovered in {place}?"),
        ),
    },
)  # fmt: skip
MOVED = Topic(
    "moved",
    Wordings(
        train=("{who} took {thing} to {place}.", "{Thing} was carried to {place} by {who}.", "{who} has moved {thing} to {place}.", "{who} brought {thing} to {place}.", "{Thing} now stands in {place}, {who} took it there.", "By request {who} put {thing} in {place}.", "{who} carried {thing} over to {place}.",
               "{who} and a helper moved {thing} to {place}.", "{Thing} went to {place} with {who}."),
        calibration=("{who} wheeled {thing} into {place}.",),
        held_out=("{who} transferred {thing} to {place}.", "{who} has put {thing} into {place} for now.", "{Thing} has been taken to {place} by {who}."),
    ),
    {
        "who": Wordings(
            train=("Who took {thing} to {place}?", "Who moved {thing}?", "Who carried {thing} to another place?", "By whom was {thing} moved?", "Who brought {thing} to {place}?"),
            calibration=("Who was it that moved {thing}?",), held_out=("Who transferred {thing}?", "Who put {thing} into {place}?"),
        ),
        "place": Wordings(
            train=("Where did {who} take {thing}?", "Where was {thing} taken?", "To which place was {thing} moved?", "Where does {thing} stand since it was moved?", "Where has {thing} gone?", "Where should one look for {thing} now?"),
            calibration=("To what place did {thing} go?",), held_out=("Where has {thing} been put?", "To which place did {who} transfer {thing}?"),
        ),
        "thing": Wordings(
            train=("What did {who} take to {place}?", "What was moved to {place}?", "What was carried to {place}?", "Which thing was brought to {place} by {who}?", "What did {who} move to {place}?"),
            calibration=("Which thing went to {place}?",), held_out=("What did {who} put into {place}?", "Which thing was transferred to {place}?"),
        ),
    },
)  # fmt: skip
ORDERED = Topic(
    "ordered",
    Wordings(
        train=("{who} ordered {n} {things}.", "{n} {things} were ordered by {who}.", "{who} asked the shop for {n} {things}.", "Order placed by {who}: {n} {things}.", "We need {n} {things}, so {who} ordered them.", "{who} has put {n} {things} on order.", "New order from {who}, {n} {things}."),
        calibration=("{who} sent off an order for {n} {things}.",),
        held_out=("{who} placed an order for {n} {things}.", "An order of {n} {things} was made by {who}.", "On behalf of us all {who} ordered {n} {things}."),
    ),
    {
        "who": Wordings(
            train=("Who ordered the {things}?", "By whom were the {things} ordered?", "Who asked for {things}?", "Who put the {things} on order?", "The {things} were ordered. By whom?"),
            calibration=("Who sent off the order for {things}?",), held_out=("Who placed the order for {things}?", "Which person ordered {things}?"),
        ),
        "n": Wordings(
            train=("How many {things} were ordered?", "How many {things} did {who} order?", "What number of {things} is on order?", "How many {things} are on order?", "The order of {who} was for how many {things}?"),
            calibration=("For how many {things} was the order?",), held_out=("How many {things} did the order name?", "What quantity of {things} did {who} order?"),
        ),
    },
)  # fmt: skip
CAME = Topic(
    "came",
    Wordings(
        train=("{n} {things} came from {town}.", "{n} {things} arrived from {town}.", "A van from {town} brought {n} {things}.", "From {town} we got {n} {things}.", "Delivery from {town}: {n} {things}.", "We received {n} {things} from {town}.", "{town} sent us {n} {things}.", "The driver from {town} left {n} {things} at the door."),
        calibration=("{n} {things} were handed in, sent from {town}.",),
        held_out=("A delivery of {n} {things} from {town} has arrived.", "{n} {things} reached us from {town}.", "The truck from {town} unloaded {n} {things}."),
    ),
    {
        "town": Wordings(
            train=("Where did the {things} come from?", "From which place did the {n} {things} arrive?", "Who sent the {things}: which town?", "From where did we get the {things}?", "Out of which town are the {things}?"),
            calibration=("What town were the {things} sent from?",), held_out=("From which town was the delivery of {things}?", "Which town do the {things} come from?"),
        ),
        "n": Wordings(
            train=("How many {things} came from {town}?", "How many {things} arrived?", "How many {things} did we get?", "How many {things} were delivered?", "What number of {things} came in?"),
            calibration=("How many {things} were handed in?",), held_out=("How many {things} has {town} delivered?", "What quantity of {things} arrived?"),
        ),
    },
)  # fmt: skip
STATUS = Topic(
    "status",
    Wordings(
        train=("{Thing} is {state}.", "{Thing} is {state} again.", "We saw that {thing} is {state}.", "{Thing} is now {state}.", "It seems {thing} is {state}.", "Somebody says {thing} is {state}.", "Please note that {thing} is {state}.", "{Thing}: {state}.", "As of today {thing} is {state}.", "Since this morning {thing} has been {state}."),
        calibration=("{Thing} was seen to be {state}.",),
        held_out=("According to the caretaker {thing} is {state}.", "{Thing} has been {state} for some time.", "At present {thing} is {state}."),
    ),
    {
        "thing": Wordings(
            train=("What is called {state}?", "Which thing is {state}?", "Which of these is said to be {state}?", "What is {state}?", "Something is {state}. What?", "Name the thing that is {state}.", "About which thing do we read that it is {state}?"),
            calibration=("Which thing was seen to be {state}?",), held_out=("Which thing is described as {state}?", "What is reported to be {state}?"),
        ),
        "state": Wordings(
            train=("What is said about {thing}?", "What is wrong with {thing}, or what is it like?", "How is {thing}?", "In what condition is {thing}?", "What do we read about {thing}?", "How is {thing} described?", "What is the news about {thing}?"),
            calibration=("What was {thing} seen to be?",), held_out=("What state is {thing} in?", "How does it stand with {thing}?"),
        ),
    },
)  # fmt: skip
TALKED = Topic(
    "talked",
    Wordings(
        train=("{who} spoke with {other} about {thing}.", "{who} phoned {other} because of {thing}.", "{who} and {other} talked about {thing}.", "There was a call between {who} and {other} about {thing}.", "{who} had a word with {other} on {thing}.", "{who} asked {other} about {thing}.", "{who} met {other} to talk about {thing}."),
        calibration=("{who} discussed {thing} with {other} over lunch.",),
        held_out=("{who} had a conversation with {other} about {thing}.", "{who} went to see {other} on account of {thing}.", "{Thing} was the subject of a talk that {who} had with {other}."),
    ),
    {
        "other": Wordings(
            train=("With whom did {who} talk about {thing}?", "Who was it that {who} spoke with about {thing}?", "About {thing}, {who} was in touch with somebody. With whom?", "Who besides {who} was in the talk about {thing}?"),
            calibration=("With whom was {who} speaking about {thing}?",), held_out=("Who had the conversation with {who} about {thing}?", "Whom did {who} go to about {thing}?"),
        ),
        "thing": Wordings(
            train=("What did {who} and {other} talk about?", "What was the talk of {who} and {other} about?", "About what did {who} speak with {other}?", "What was it that {who} and {other} had to talk over?"),
            calibration=("What did {who} have to say to {other}, about which thing?",), held_out=("What was the subject of {who} and {other}?", "Which thing did {who} see {other} about?"),
        ),
    },
)  # fmt: skip
LENT = Topic(
    "lent",
    Wordings(
        train=("{who} lent {thing} to {other}.", "{other} borrowed {thing} from {who}.", "{who} gave {thing} to {other} for a week.", "{who} let {other} have {thing}.", "{other} got {thing} from {who}.", "{who} handed {thing} to {other}.", "{Thing} went from {who} to {other}.", "{who} passed {thing} on to {other}."),
        calibration=("{other} has taken over {thing} from {who}.",),
        held_out=("{Thing} was lent to {other} by {who}.", "{other} received {thing} out of the hands of {who}.", "{who} has entrusted {thing} to {other}."),
    ),
    {
        "other": Wordings(
            train=("Who has {thing} now?", "To whom did {who} give {thing}?", "Who got {thing} from {who}?", "Who received {thing}?", "With whom is {thing}, after {who}?", "Whom should one ask to give {thing} back?"),
            calibration=("Who took over {thing}?",), held_out=("In whose hands is {thing} now?", "Who is it that received {thing} from {who}?"),
        ),
        "who": Wordings(
            train=("From whom does {other} have {thing}?", "Who gave {thing} to {other}?", "Who lent {thing}?", "Who handed over {thing}?", "Who had {thing} before {other}?"),
            calibration=("Who had {thing} first?",), held_out=("Who entrusted {thing} to {other}?", "Out of whose hands did {thing} come?"),
        ),
        "thing": Wordings(
            train=("What did {who} give to {other}?", "What does {other} have from {who}?", "What went from {who} to {other}?", "What did {other} get from {who}?"),
            calibration=("What did {other} take over from {who}?",), held_out=("What was it that {other} received from {who}?", "Which thing did {who} entrust to {other}?"),
        ),
    },
)  # fmt: skip
PLANNED = Topic(
    "planned",
    Wordings(
        train=("{who} will repair {thing} next {day}.", "{Thing} will be repaired by {who} next {day}.", "{who} promised to mend {thing} by next {day}.", "Repair of {thing}: next {day}, by {who}.", "{who} is going to see to {thing} next {day}.", "Next {day} {who} takes care of {thing}."),
        calibration=("{who} has {thing} down for next {day}.",),
        held_out=("The repair of {thing} is set for next {day}, {who} does it.", "Next {day} is when {who} will mend {thing}.", "{who} plans to fix {thing} next {day}."),
    ),
    {
        "who": Wordings(
            train=("Who will repair {thing}?", "Who is going to see to {thing}?", "Who takes care of {thing} next {day}?", "Who has promised to mend {thing}?", "By whom will {thing} be put right?"),
            calibration=("Who has {thing} on the list for next {day}?",), held_out=("Who is to fix {thing}?", "Who does the repair of {thing}?"),
        ),
        "day": Wordings(
            train=("When will {thing} be repaired?", "On which day will {who} see to {thing}?", "For which day is the repair of {thing} planned?", "Which day of next week is {thing} put right?"),
            calibration=("Which day has been chosen for {thing}?",), held_out=("On what day is {thing} to be fixed?", "For which day is {thing} set?"),
        ),
    },
)  # fmt: skip
COST = Topic(
    "cost",
    Wordings(
        train=("{Thing} cost {n} euros.", "We paid {n} euros for {thing}.", "The bill for {thing} came to {n} euros.", "{n} euros went out for {thing}.", "For {thing} we spent {n} euros.", "{Thing} was bought for {n} euros.", "Price of {thing}: {n} euros."),
        calibration=("{Thing} came at {n} euros.",),
        held_out=("{n} euros is what {thing} cost us.", "For {n} euros somebody bought {thing}.", "We had to pay {n} euros for {thing}."),
    ),
    {
        "n": Wordings(
            train=("How many euros did {thing} cost?", "What was the price of {thing}?", "How much was {thing}, in euros?", "How many euros were paid for {thing}?", "At what price did we get {thing}?"),
            calibration=("How many euros did {thing} come at?",), held_out=("How much did we have to pay for {thing}?", "What did {thing} cost, in euros?"),
        ),
        "thing": Wordings(
            train=("What cost {n} euros?", "For what were {n} euros paid?", "Which thing had a price of {n} euros?", "What was bought for {n} euros?"),
            calibration=("Which thing came at {n} euros?",), held_out=("What was it that cost us {n} euros?", "For which thing did we have to pay {n} euros?"),
        ),
    },
)  # fmt: skip
NOTES = (FOUND, MOVED, ORDERED, CAME, STATUS, STATUS, TALKED, LENT, PLANNED, COST)

KEPT = Topic(
    "kept",
    Wordings(
        train=("{Thing} is kept in {place}.", "{Thing} belongs in {place}.", "After use {thing} goes back to {place}.", "The place for {thing} is {place}.", "Keep {thing} in {place}.", "{Thing} has its place in {place}.", "Always leave {thing} in {place}.", "{Thing} must stay in {place}."),
        calibration=("{Thing} has to be left in {place}.",),
        held_out=("{Thing} is stored in {place}.", "One always returns {thing} to {place}.", "{Thing} may not leave {place}."),
    ),
    {
        "place": Wordings(
            train=("Where is {thing} kept?", "Where does {thing} belong?", "Where must {thing} be put after use?", "In which place has {thing} to be?", "What is the place for {thing}?", "Somebody has {thing} in the hand. Where should it go?"),
            calibration=("Where has {thing} to be left?",), held_out=("Where is {thing} stored?", "Where does one return {thing} to?"),
        ),
        "thing": Wordings(
            train=("What is kept in {place}?", "What belongs in {place}?", "Which thing has its place in {place}?", "What must stay in {place}?"),
            calibration=("What has to be left in {place}?",), held_out=("What is stored in {place}?", "Which thing is returned to {place}?"),
        ),
    },
)  # fmt: skip
CALL = Topic(
    "call",
    Wordings(
        train=("When {thing} fails, call {who}.", "If there is trouble with {thing}, ask {who}.", "{who} answers for {thing}.", "Questions about {thing} go to {who}.", "For {thing} the one to ask is {who}.", "Trouble with {thing}: ring up {who}.", "{who} is in charge of {thing}.", "Whoever has a problem with {thing} speaks to {who}."),
        calibration=("{Thing} is looked after by {who}.",),
        held_out=("{who} is responsible for {thing}.", "In case {thing} breaks down, get hold of {who}.", "Should {thing} cause trouble, turn to {who}."),
    ),
    {
        "who": Wordings(
            train=("Whom do we call when {thing} fails?", "Who is in charge of {thing}?", "Who answers for {thing}?", "There is trouble with {thing}. Whom does one ask?", "Who is to be asked about {thing}?", "{Thing} has failed. Who must be told?"),
            calibration=("Who looks after {thing}?",), held_out=("Who is responsible for {thing}?", "To whom should one turn about {thing}?"),
        ),
        "thing": Wordings(
            train=("What is {who} in charge of?", "For which thing does one call {who}?", "About what does one ask {who}?", "Which thing is looked after by {who}?"),
            calibration=("What does {who} look after?",), held_out=("What is {who} responsible for?", "For which thing should one turn to {who}?"),
        ),
    },
)  # fmt: skip
APPROVAL = Topic(
    "approval",
    Wordings(
        train=("{Thing} may be used only after {role} has agreed.", "To use {thing} one needs the word of {role}.", "Nobody uses {thing} without asking {role}.", "{Thing} needs the approval of {role}.", "Before {thing} is used, {role} must agree.", "Only with leave from {role} may {thing} be used."),
        calibration=("Whoever wants {thing} has to ask {role} first.",),
        held_out=("The use of {thing} has to be approved by {role}.", "{Thing} is handed out once {role} has said yes.", "The key to {thing} is given out by {role}."),
    ),
    {
        "role": Wordings(
            train=("Who has to agree before {thing} is used?", "Whose approval does {thing} need?", "Who must be asked about the use of {thing}?", "{person} wants to use {thing}. Who has to agree?", "Who gives leave for {thing}?"),
            calibration=("Whom does one ask first who wants {thing}?",), held_out=("Who has to say yes before {person} gets {thing}?", "By whom must the use of {thing} be approved?"),
        ),
        "thing": Wordings(
            train=("For which thing must {role} agree?", "What may be used only if {role} agrees?", "What needs the approval of {role}?", "Which thing does one get by asking {role}?"),
            calibration=("Who asks {role}, wants which thing?",), held_out=("For what does {role} have to say yes?", "The use of which thing is approved by {role}?"),
        ),
    },
)  # fmt: skip
STEPS = Topic(
    "steps",
    Wordings(
        train=("If {thing} makes a noise, first {first}, then {then}.", "When {thing} stops, {first}; after that {then}.", "Alarm from {thing}: {first} first, {then} second.", "Once a week, for {thing}: {first}, then {then}.", "With {thing} one begins like this: {first}. Then {then}.", "To get {thing} going again, {first}, and only then {then}.",
               "Should {thing} smell of smoke, {first} at once and {then} afterwards.", "For {thing} the order is: {first}, {then}."),
        calibration=("In the case of {thing}, {first} and next {then}.",),
        held_out=("If {thing} behaves oddly, {first} straight away, then {then}.", "What to do with {thing}: to begin with {first}, later {then}.", "As soon as {thing} fails, {first}. When that is done, {then}."),
    ),
    {
        "first": Wordings(
            train=("What is the first step for {thing}?", "What does one do first in the case of {thing}?", "It is about {thing}. What comes first?", "With what does one begin for {thing}?", "What is to be done at once with {thing}?", "Which step opens the order for {thing}?"),
            calibration=("What is done before all else for {thing}?",), held_out=("How does one begin with {thing}?", "Which step is the first one for {thing}?"),
        ),
        "then": Wordings(
            train=("What is the second step for {thing}?", "For {thing}, what comes after \"{first}\"?", "It is about {thing}, the first step is done. What now?", "What is done second for {thing}?"),
            calibration=("What does one do next, for {thing}, having done this: {first}?",), held_out=("Which step is the second one for {thing}?", "For {thing}: what follows when the first step is done?"),
        ),
    },
)  # fmt: skip
RULES = (KEPT, CALL, APPROVAL, STEPS)

FRAMES = Wordings(  # around a question, at times
    train=("Look it up in the {doc}. {Q}", "The {doc} has the answer. {Q}", "Going by the {doc}: {Q}", "{Q} It stands in the {doc}.", "Read the {doc}. {Q}", "{Q} See the {doc}.", "According to the {doc}: {Q}", "One line of the {doc} answers this. {Q}", "{Q} Search the {doc} for it.",
           "Only one entry matters here. {Q}", "Go through the {doc}: {Q}", "{Q} The {doc} tells.", "As the {doc} has it: {Q}", "Somebody who read the {doc} would know. {Q}"),
    calibration=("Find it in the {doc}: {Q}",), held_out=("Consult the {doc}: {Q}", "{Q} The answer is in the {doc}.", "What does the {doc} say? {Q}"),
)  # fmt: skip
CLAIMED = Wordings(  # around a sentence that may be so
    train=("Does the {doc} say this: {s}", "Is this so: {s}", "True or false: {s}", "Right or wrong: {s}", "{s} Is that what the {doc} says?", "{s} Is it so?", "{s} Yes or no?", "Does it agree with the {doc} to say: {s}", "Somebody says: {s} Does that fit the {doc}?", "By the {doc}, is this right: {s}",
           "Can one say so: {s}", "We were told: {s} Is this true?", "Check this against the {doc}: {s}", "The claim is: {s} Does the {doc} bear it out?", "I remember it like this: {s} Am I right?"),
    calibration=("Judge by the {doc}: {s}",), held_out=("Do we learn this from the {doc}: {s}", "{s} Does the {doc} confirm it?", "Is it correct that the {doc} tells us this: {s}"),
)  # fmt: skip
MENTIONED = Wordings(
    train=("Is {thing} mentioned?", "Does the {doc} mention {thing}?", "Is there a line about {thing}?", "Do we read anything about {thing}?", "Does {thing} come up in the {doc}?", "Is {thing} named anywhere in the {doc}?", "Has the {doc} anything on {thing}?", "Does any line speak of {thing}?", "Can you find {thing} in the {doc}?"),
    calibration=("Is anything said about {thing}?",), held_out=("Does {thing} appear anywhere in the {doc}?", "Is {thing} a matter of the {doc} at all?"),
)  # fmt: skip
UNMENTIONED = Wordings(
    train=("Which of these is not mentioned?", "Which of these does the {doc} not mention?", "All but one of these come up in the {doc}. Which one does not?", "Which one is never named?", "About which of these is there no line?"),
    calibration=("About which of these is nothing said?",), held_out=("Which of these does not appear in the {doc}?", "On which of these is the {doc} silent?"),
)  # fmt: skip
FIRST = Wordings(
    train=("Which of these is mentioned first?", "Which of these comes up first in the {doc}?", "Read from the top: which of these comes first?", "Which of these stands nearest to the top?", "Which one is named before the others?", "Of these, what is spoken of first?"),
    calibration=("Which of these is the first one to be named?",), held_out=("Which of these appears first in the {doc}?", "Of these, which is the earliest to be named?"),
)  # fmt: skip
LAST = Wordings(
    train=("Which of these is mentioned last?", "Which of these comes up last in the {doc}?", "Read to the end: which of these comes last?", "Which of these stands nearest to the end?", "Which one is named after the others?", "Of these, what is spoken of last?"),
    calibration=("Which of these is the last one to be named?",), held_out=("Which of these appears last in the {doc}?", "Of these, which is the latest to be named?"),
)  # fmt: skip
COUNTED = Wordings(
    train=("How many things are called {state}?", "Of how many things is it said that they are {state}?", "How many things are {state}?", "Count what is {state}.", "In how many lines is something {state}?", "How often do we read that something is {state}?", "What is the number of things that are {state}?"),
    calibration=("How many things were seen to be {state}?",), held_out=("How many things are described as {state}?", "How many things are reported to be {state}?"),
)  # fmt: skip
WHEN = Wordings(
    train=("Under which {head} does one find {thing}?", "Which {head} has the line about {thing}?", "Where in the {doc} is {thing}: under which {head}?", "At which {head} is {thing} mentioned?", "Which {head} is the line on {thing}?", "{Thing} comes up under which {head}?"),
    calibration=("Which {head} belongs to the line on {thing}?",), held_out=("With which {head} is {thing} entered?", "Find {thing} in the {doc}. Under which {head} is it?"),
)  # fmt: skip
AT = Wordings(
    train=("Which thing comes up under {when}?", "What is the line of {when} about?", "About which thing do we read under {when}?", "Which of these stands under {when}?", "{when}: which thing is it about?", "Look at {when}. Which of these is named there?"),
    calibration=("Which thing belongs to {when}?",), held_out=("Which of these is entered under {when}?", "What does one find under {when}?"),
)  # fmt: skip
TAILS = Wordings(  # behind a line
    train=("Nobody minded.", "That was all.", "It took a while.", "More about it later.", "This had been agreed.", "So much for that.", "We will see.", "It was raining.", "All went well.", "As we had said before.", "No more to say.", "It is written down.", "It was about time.", "The office knows.", "A note was made.", "Thanks to all."),
    calibration=("There is nothing to add.",), held_out=("Everybody was informed.", "It went without trouble.", "The matter is closed."),
)  # fmt: skip
