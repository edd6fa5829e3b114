"""Which of the reference's counterfactuals a candidate's probabilities are nearest to.

Probabilities give logits back but for a common offset, which no answer depends on: ln p * T, less its mean over the
candidates. So raw logits are not needed, and a remote server is diagnosed like an engine of one's own. The distance of
a candidate and a counterfactual is the root mean square of what is left between two such sets, over all candidates of
all questions, in logits at the declared temperature.

A counterfactual is a form (`kit.campaign.diagnosis.forms`) under a rule of temperatures: as declared, text and image
swapped, one of them for all, none, or the ones that fit best. Each change beyond the plain reference must at least
halve the distance over the questions it touches, or it explains nothing: with some seventy counterfactuals one of them
is always a little nearer.

Covers: distances, fitted temperatures, the choice, its words. Imports no torch. Does not cover: where either side's
answers come from.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

Logits = tuple[float, ...]
Key = tuple[str, str]  # request, question
Answers = Mapping[Key, Logits]
Errors = dict[Key, float]  # of each question: squared differences, summed over its candidates

PLAIN = "plain"
DECLARED, FITTED = "declared", "fitted"
NEARER = 2.0  # times: what a further change must be worth
EXACT = 1e-9  # logits: float64 leaves about 1e-13 between two computations of one softmax
LEAST = 4  # questions that a change must bring nearer, to be told from chance
FAINTEST = 1e-9  # a candidate's share of the winner's probability, below which its logarithm is mostly rounding


@dataclass(frozen=True)
class Temperatures:
    """What text and image requests' logits are divided by."""

    text: float
    image: float

    def of(self, modality: str) -> float:
        return self.image if modality == "image" else self.text


def rules(declared: Temperatures) -> dict[str, tuple[Temperatures, str]]:
    """Named mistakes with temperatures, and the words that complete "the reference does ..."."""
    return {
        "swapped": (Temperatures(declared.image, declared.text), "with text and image temperature swapped"),
        "text": (Temperatures(declared.text, declared.text), "with the text temperature for images too"),
        "image": (Temperatures(declared.image, declared.image), "with the image temperature for text too"),
        "none": (Temperatures(1.0, 1.0), "without its temperatures"),
    }


@dataclass(frozen=True)
class Match:
    """One counterfactual against a candidate.

    distance: logits. equal: questions without any difference (under 1e-9). nearer, farther: questions on which it is
    nearer to the candidate than the plain reference, or farther. changes: how many it makes to the plain reference.
    """

    form: str
    rule: str
    temperatures: Temperatures
    distance: float
    equal: int
    nearer: int
    farther: int

    @property
    def changes(self) -> int:
        """A form is one change and a named temperature one; fitting two numbers counts as two."""
        return (self.form != PLAIN) + {DECLARED: 0, FITTED: 2}.get(self.rule, 1)


@dataclass(frozen=True)
class Finding:
    """The nearest counterfactual that is worth its changes: `nearest` is the plain reference where none is.

    same: others that give these very answers on these requests, and cannot be told from it. next: the best of the rest
    with no more changes. outcome: "same" (as the plain reference), "explained", or "unexplained".
    """

    outcome: str
    questions: int
    plain: Match
    nearest: Match
    same: tuple[Match, ...]
    next: Match | None
    matches: tuple[Match, ...]


def find(
    candidate: Mapping[Key, Sequence[float]],
    library: Mapping[str, Answers],
    modalities: Mapping[str, str],
    declared: Temperatures,
) -> Finding:
    """Compare probabilities with every counterfactual.

    candidate: probabilities by (request, question), in candidate order; questions it left out are not compared.
    library: label logits by form, "plain" among them. modalities: "text" or "image" by request.
    Raises ValueError where nothing can be compared.
    """
    sides = {key: _Side(values, modalities[key[0]]) for key, values in candidate.items() if key in library[PLAIN]}
    sides = {key: side for key, side in sides.items() if len(side.usable) > 1}
    if not sides:
        raise ValueError("no question of the candidate's has two probabilities that can be compared")
    compared = tuple(_compared(sides, library, declared))
    matches = tuple(match for match, _ in compared)
    plain = matches[0]
    nearest = _nearest(sides, compared)
    same = tuple(m for m in matches if m is not nearest and m.rule != FITTED and _alike(sides, library, declared, m, nearest))
    others = [m for m in matches if m is not nearest and m not in same and m.changes <= max(nearest.changes, 1)]
    outcome = "explained" if nearest.changes else "same" if plain.distance <= EXACT else "unexplained"
    following = min(others, key=lambda match: match.distance, default=None)
    return Finding(outcome, len(sides), plain, nearest, same, following, matches)


def words(match: Match, forms: Mapping[str, str], declared: Temperatures) -> str:
    """What completes "answers as the reference does": "with its adapter off and ...". Empty for the plain reference."""
    parts = [forms[match.form]] if match.form != PLAIN else []
    if match.rule == FITTED:
        found = match.temperatures
        parts.append(
            f"with temperatures {found.text:.4g} for text and {found.image:.4g} for images in place of "
            f"{declared.text:.4g} and {declared.image:.4g}"
        )
    elif match.rule != DECLARED:
        parts.append(rules(declared)[match.rule][1])
    return " and ".join(parts)


# ---------------------------------------------------------------- distances


class _Side:
    """A candidate's answer to one question: which candidates can be compared, and their log-probabilities, centred."""

    def __init__(self, probabilities: Sequence[float], modality: str) -> None:
        self.modality = modality
        finite = all(math.isfinite(p) and p >= 0 for p in probabilities) and len(probabilities) > 0
        least = FAINTEST * max(probabilities) if finite else math.inf
        self.usable = [i for i, p in enumerate(probabilities) if p >= least and p > 0] if finite else []
        self.logs = _centred([math.log(probabilities[i]) for i in self.usable])

    def of(self, logits: Logits) -> list[float]:
        """The same candidates of a counterfactual, centred."""
        return _centred([logits[i] for i in self.usable])


def _centred(values: Sequence[float]) -> list[float]:
    mean = math.fsum(values) / len(values) if values else 0.0
    return [value - mean for value in values]


def _errors(sides: Mapping[Key, _Side], answers: Answers, declared: Temperatures, used: Temperatures) -> Errors:
    """Sum of squared differences of each question, in logits at the declared temperature."""
    found = {}
    for key, side in sides.items():
        temperature = declared.of(side.modality)
        scale = temperature / used.of(side.modality)
        pairs = zip(side.logs, side.of(answers[key]), strict=True)
        found[key] = math.fsum((temperature * log - scale * logit) ** 2 for log, logit in pairs)
    return found


def _compared(
    sides: Mapping[Key, _Side], library: Mapping[str, Answers], declared: Temperatures
) -> Iterator[tuple[Match, Errors]]:
    """Every form under every rule, with its errors; the plain reference as declared first."""
    values = sum(len(side.usable) for side in sides.values())
    named = {DECLARED: declared} | {name: temperatures for name, (temperatures, _) in rules(declared).items()}
    base = _errors(sides, library[PLAIN], declared, declared)
    for form in (PLAIN, *(name for name in library if name != PLAIN)):
        for rule, used in (named | {FITTED: _fitted(sides, library[form], declared)}).items():
            errors = _errors(sides, library[form], declared, used)
            touched = _touched(sides, base, errors)
            yield Match(
                form,
                rule,
                used,
                math.sqrt(math.fsum(errors.values()) / values),
                sum(_negligible(errors[key], sides[key]) for key in sides),
                sum(errors[key] < base[key] for key in touched),
                sum(errors[key] > base[key] for key in touched),
            ), errors


def _touched(sides: Mapping[Key, _Side], one: Errors, other: Errors) -> list[Key]:
    """Questions on which two counterfactuals are not equally far."""
    return [key for key, side in sides.items() if not _negligible(abs(one[key] - other[key]), side)]


def _negligible(squares: float, side: _Side) -> bool:
    return squares <= EXACT**2 * len(side.usable)


def _fitted(sides: Mapping[Key, _Side], answers: Answers, declared: Temperatures) -> Temperatures:
    """The temperature of each modality that brings a form nearest; the declared one where none is positive."""
    best = {}
    for modality in ("text", "image"):
        chosen = [(side, side.of(answers[key])) for key, side in sides.items() if side.modality == modality]
        along = math.fsum(math.fsum(a * b for a, b in zip(side.logs, logits, strict=True)) for side, logits in chosen)
        size = math.fsum(math.fsum(b * b for b in logits) for _, logits in chosen)
        best[modality] = size / along if along > 0 and size > 0 else declared.of(modality)
    return Temperatures(best["text"], best["image"])


# ---------------------------------------------------------------- the choice


def _nearest(sides: Mapping[Key, _Side], compared: Sequence[tuple[Match, Errors]]) -> Match:
    """The nearest that is worth its changes, found change by change."""
    best, left = compared[0]
    for changes in range(1, 1 + max(match.changes for match, _ in compared)):
        told = [pair for pair in compared if pair[0].changes == changes and pair[0].nearer >= LEAST]
        closest, errors = min(told, key=lambda pair: pair[0].distance, default=compared[0])
        worth = NEARER ** (changes - best.changes)
        touched = _touched(sides, left, errors)
        before, after = (math.fsum(found[key] for key in touched) for found in (left, errors))
        nearer = sum(errors[key] < left[key] for key in touched)
        if nearer >= LEAST and best.distance > EXACT and math.sqrt(after) * worth <= math.sqrt(before):
            best, left = closest, errors
    return best


def _alike(
    sides: Mapping[Key, _Side], library: Mapping[str, Answers], declared: Temperatures, one: Match, other: Match
) -> bool:
    """Whether two counterfactuals answer alike on every question that is compared."""
    if one.changes > other.changes or abs(one.distance - other.distance) > EXACT:
        return False
    for key, side in sides.items():
        a = [value / one.temperatures.of(side.modality) for value in side.of(library[one.form][key])]
        b = [value / other.temperatures.of(side.modality) for value in side.of(library[other.form][key])]
        if max(abs(x - y) for x, y in zip(a, b, strict=True)) * declared.of(side.modality) > EXACT:
            return False
    return True
