"""A rule and a case in sentences of their own that multiply: a bound on a number, or an approval that is there or is not.

Covers: the state as a text in either order or as JSON, and the numbers in it. Does not cover: what is asked (`policy`).
"""

from __future__ import annotations

import random
from collections.abc import Mapping

from kit.checkpoint.training.samples import Split
from kit.checkpoint.training.tasks.parts import sentence_case
from kit.checkpoint.training.vocabulary import Wordings

AT_MOST = Wordings(  # the bound itself is allowed
    train=("nobody gets beyond {cap} {key}", "{cap} {key} and no further", "the ceiling is {cap} {key}", "the count of {key} must not pass {cap}", "one stops at {cap} {key}", "anything over {cap} {key} is out", "as many as {cap} {key}, but not one more", "{cap} {key} or fewer", "{key}: {cap} is the top",
           "with more than {cap} {key} one stays outside", "we draw the line at {cap} {key}, that many being fine", "{key} may come to {cap} in all", "whoever has over {cap} {key} is sent away", "not above {cap} {key}", "{cap} {key} is as high as it goes", "the number of {key} has to stay at {cap} or below"),
    calibration=("{cap} {key} is the upper bound",), held_out=("the maximum is {cap} {key}", "no case may exceed {cap} {key}", "it must not be higher than {cap} {key}"),
)  # fmt: skip
AT_LEAST = Wordings(
    train=("one starts at {cap} {key}", "{cap} {key} or more are needed", "anything under {cap} {key} is out", "the floor is {cap} {key}", "fewer than {cap} {key} will not do", "it takes {cap} {key}, and more is welcome", "no less than {cap} {key}", "{key}: {cap} is the least", "the door opens from {cap} {key} on",
           "whoever is below {cap} {key} is sent away", "with less than {cap} {key} one stays outside", "not below {cap} {key}", "the number of {key} has to be {cap} or above", "we ask for {cap} {key} as a minimum", "{cap} {key} is as low as it goes"),
    calibration=("{cap} {key} is the lower bound",), held_out=("a case must not fall short of {cap} {key}", "the required number is {cap} {key} or higher", "it must not be lower than {cap} {key}"),
)  # fmt: skip
HAS = Wordings(
    train=("{person} comes with {n} {key}", "in this case it is {n} {key}", "we count {n} {key}", "the sheet of {person} says {n} {key}", "case {ref} shows {n} {key}", "{n} {key} stand on the form", "it comes to {n} {key}", "{person}: {n} {key}", "{n} {key} are what {person} has", "{person} of {place} puts down {n} {key}",
           "file {ref} is one of {n} {key}", "here we have {n} {key}", "at the desk {person} gives {n} {key}", "{ref}, {n} {key}", "the one in question has {n} {key}", "so far {person} is at {n} {key}"),
    calibration=("{person} reports {n} {key}",), held_out=("the application of {person} lists {n} {key}", "number {ref} stands at {n} {key}", "for {person} the figure is {n} {key}"),
)  # fmt: skip
FIRST = Wordings(
    train=("a {thing} wants a signature", "before a {thing} somebody must sign", "we do no {thing} that has not been signed off", "each {thing} is to be signed off", "for a {thing} we need a yes", "without a yes there will be no {thing}", "a {thing} is off until someone says yes", "somebody has to agree to a {thing} first", "no yes, no {thing}",
           "a {thing} stays on hold as long as nobody has signed it", "only a signed {thing} goes out"),
    calibration=("a {thing} has to be signed",), held_out=("a {thing} can only take place with consent", "consent is required for every {thing}", "a {thing} may not begin without consent"),
)  # fmt: skip
THERE = Wordings(  # given and missing
    train=("{person} signed it|nobody has signed it", "the yes is there|the yes is not there", "signed: yes|signed: no", "we have the yes of {person}|we are still without a yes", "{person} agreed|{person} has yet to agree", "it bears a signature|the line for the signature is blank", "signature of {person}: there|signature of {person}: none",
           "{person} said yes this morning|{person} has said nothing so far", "a yes came from {place}|no yes has come from {place}", "it was signed off by {person}|it was not signed off by {person}", "sign-off: done|sign-off: open", "somebody has agreed to it|nobody has agreed to it yet"),
    calibration=("{person} put a name to it|no name was put to it",), held_out=("the consent of {person} is on file|no consent is on file", "{person} gave consent|{person} did not give consent", "consent: obtained|consent: not obtained"),
)  # fmt: skip
HEADS = (("Rule", "Case"), ("Policy", "Request"), ("By the book", "At hand"), ("What holds", "What we have"), ("Terms", "File"))


def bounded(rng: random.Random, split: Split, names: Mapping[str, str], cap: int, n: int, most: bool) -> object:
    """A bound and a number."""
    rule = (AT_MOST if most else AT_LEAST).pick(rng, split, cap=cap, **names)
    return _put(rng, rule, HAS.pick(rng, split, n=n, **names))


def approved(rng: random.Random, split: Split, names: Mapping[str, str], allowed: bool) -> object:
    """What needs an approval, and whether it is there."""
    rule = FIRST.pick(rng, split, **names)
    case = THERE.pick(rng, split, **names).split("|")[int(not allowed)]
    return _put(rng, rule, rng.choice((case, f"{names['thing']} {names['ref']}, {case}", f"{names['person']} asks for a {names['thing']}; {case}")))


def _put(rng: random.Random, rule: str, case: str) -> object:
    """Both as one text in either order, on two lines, under heads, or as JSON."""
    kind, heads = rng.random(), rng.choice(HEADS)
    if kind < 0.25:
        pairs = [(heads[0].lower().replace(" ", "_"), rule), (heads[1].lower().replace(" ", "_"), case)]
        return dict(pairs if rng.random() < 0.5 else pairs[::-1])
    if kind < 0.5:
        lines = [f"{head}: {text}" for head, text in zip(heads, (rule, case), strict=True)]
        return rng.choice(("\n", ". ")).join(lines if rng.random() < 0.6 else lines[::-1])
    said = [f"{sentence_case(text)}." for text in ((rule, case) if rng.random() < 0.6 else (case, rule))]
    return rng.choice((" ", " ", "\n")).join(said)
