"""generated.json: flips, drift and distance from the oracle over all generated questions, from their lines alone.

Covers: changed winners with an exact bound on their rate, flips against the reference's margin, ties and the rule
that decides them, KL divergence over the candidate set, right answers lost and won where the state says what is
right, and the ratio of errors against the oracle; all of them together, text alone and images alone.
Does not cover: judging them (`kit.campaign.generated.gates`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from kit.campaign import oracle_errors
from kit.campaign.generated.exact import CONFIDENCE, mcnemar, upper_bound
from kit.campaign.generated.lines import FORMAT, Line
from kit.campaign.generated.source import generator_of
from kit.campaign.sensitivity import changed_steps, first_maximum, margin
from kit.campaign.statistics import quantile
from kit.contract.answer import softmax
from kit.evidence.floats import same_bits
from kit.evidence.reliability import reliability

if TYPE_CHECKING:
    from kit.profile import Generated

TIE_RULE = "the winner is the first of the largest logits in candidate order, on either side; a tie is no excuse for a flip"
MARGINS = (0.0, 0.01, 0.05, 0.1, 0.2, 0.5, 1.0)  # of probability; a bin holds its upper end
STRATA = ("all", "text", "image")


def summarise(
    lines: Sequence[Line], temperatures: Mapping[str, float], *, wanted: Generated, candidate: str
) -> dict[str, Any]:
    """generated.json of lines in the order of the declared questions. temperatures: by modality.

    Held-out questions are labelled, so confidence is held against right answers on both sides.
    """
    chosen = {name: [item for item in lines if name in ("all", item.modality)] for name in STRATA}
    labelled = wanted.source == "held-out" and lines
    return {
        "format": FORMAT,
        "generator": generator_of(wanted),
        "seed": wanted.seed,
        "declared": wanted.questions,
        "reached": len(lines),
        "candidate": candidate,
        "tie_rule": TIE_RULE,
        "confidence": CONFIDENCE,
        **{name: _stratum(found, temperatures) for name, found in chosen.items() if found},
        "margins": _margins(lines, temperatures),
        "labels": _labels(lines),
        **({"reliability": _reliability(lines, temperatures)} if labelled else {}),
        "oracle": _oracle(lines),
    }


def flipped(item: Line) -> bool:
    """Whether the candidate's winner is another than the reference's."""
    return first_maximum(item.candidate) != first_maximum(item.reference)


def probabilities(item: Line, temperatures: Mapping[str, float]) -> tuple[Sequence[float], Sequence[float]]:
    """Both sides' answers: reference, candidate."""
    temperature = temperatures[item.modality]
    return softmax(item.reference, temperature), softmax(item.candidate, temperature)


def divergence(reference: Sequence[float], candidate: Sequence[float], temperature: float) -> float:
    """KL divergence of the candidate's answer from the reference's, in nats, over the candidate set."""
    p, q = _log_softmax(reference, temperature), _log_softmax(candidate, temperature)
    return max(0.0, math.fsum(math.exp(a) * (a - b) for a, b in zip(p, q, strict=True)))


def _log_softmax(logits: Sequence[float], temperature: float) -> list[float]:
    scaled = [value / temperature for value in logits]
    top = max(scaled)
    total = top + math.log(math.fsum(math.exp(value - top) for value in scaled))
    return [value - total for value in scaled]


def _stratum(lines: Sequence[Line], temperatures: Mapping[str, float]) -> dict[str, Any]:
    flips = sum(flipped(item) for item in lines)
    changes = [largest_change(item, temperatures) for item in lines]
    kl = [divergence(item.reference, item.candidate, temperatures[item.modality]) for item in lines]
    steps = [changed_steps(item.reference, item.candidate) for item in lines]
    return {
        "questions": len(lines),
        "contents": len({item.content for item in lines}),
        "hidden_different": sum(not item.hidden_same for item in lines),
        "logits_different": sum(not same_bits(item.reference, item.candidate) for item in lines),
        "flips": flips,
        "flip_rate_upper": upper_bound(flips, len(lines)),
        "ties": sum(_tied(item.reference) for item in lines),
        "flips_at_ties": sum(flipped(item) and _tied(item.reference) for item in lines),
        "probability": _spread(changes),
        "steps": _spread(steps),
        "kl": {"mean": math.fsum(kl) / len(kl)} | _spread(kl),
    }


def largest_change(item: Line, temperatures: Mapping[str, float]) -> float:
    """Largest change of a probability of one question."""
    p, q = probabilities(item, temperatures)
    return max(abs(a - b) for a, b in zip(p, q, strict=True))


def _tied(logits: Sequence[float]) -> bool:
    first, second = sorted(logits, reverse=True)[:2]
    return first == second


def _spread(values: Sequence[float]) -> dict[str, float]:
    return {"p50": quantile(values, 0.5), "p99": quantile(values, 0.99), "max": max(values)}


def _margins(lines: Sequence[Line], temperatures: Mapping[str, float]) -> list[dict[str, Any]]:
    """Flips by the reference's margin: winner's probability less the second one's."""
    margins = [(margin(probabilities(item, temperatures)[0]), flipped(item)) for item in lines]
    bins = []
    for low, high in pairwise(MARGINS):
        inside = [flip for value, flip in margins if low < value <= high or (low == 0.0 and value == 0.0)]
        bins.append({"over": low, "to": high, "questions": len(inside), "flips": sum(inside)})
    return bins


def _labels(lines: Sequence[Line]) -> dict[str, Any]:
    """Right answers on both sides; the test needs labels and at least six answers right on one side only."""
    known = [item for item in lines if item.expected is not None]
    reference = [first_maximum(item.reference) == item.expected for item in known]
    candidate = [first_maximum(item.candidate) == item.expected for item in known]
    pairs = list(zip(reference, candidate, strict=True))
    lost, won = sum(a and not b for a, b in pairs), sum(b and not a for a, b in pairs)
    return {
        "questions": len(known),
        "reference_right": sum(reference),
        "candidate_right": sum(candidate),
        "lost": lost,
        "won": won,
        "mcnemar_p": mcnemar(lost, won),
    }


def _reliability(lines: Sequence[Line], temperatures: Mapping[str, float]) -> dict[str, Any]:
    """Confidence against being right, of both sides."""
    sides: dict[str, list[tuple[float, bool]]] = {"reference": [], "candidate": []}
    for item in lines:
        logits = (item.reference, item.candidate)
        for name, own, values in zip(sides, logits, probabilities(item, temperatures), strict=True):
            sides[name].append((max(values), first_maximum(own) == item.expected))
    return {name: reliability(answers) for name, answers in sides.items()}


def _oracle(lines: Sequence[Line]) -> dict[str, Any] | None:
    """Errors against the oracle and the interval of their ratio, of the hidden row (judged) and of the logits."""
    known = [item for item in lines if item.truth is not None]
    if not known:
        return None
    return {
        "questions": len(known),
        "bound": oracle_errors.BOUND,
        "hidden": _errors(known, [hidden_errors(item) for item in known]),
        "logits": _errors(known, [logit_errors(item) for item in known]),
    }


def hidden_errors(item: Line) -> tuple[float, float]:
    """Relative L2 error of the final-norm row: reference, candidate."""
    assert item.truth is not None
    return item.truth.reference, item.truth.candidate


def logit_errors(item: Line) -> tuple[float, float]:
    """Root mean square error of the candidates' logits: reference, candidate."""
    assert item.truth is not None
    return oracle_errors.rms(item.reference, item.truth.logits), oracle_errors.rms(item.candidate, item.truth.logits)


def _errors(lines: Sequence[Line], errors: Sequence[tuple[float, float]]) -> dict[str, Any]:
    ratios = [oracle_errors.ratio(candidate, reference) for reference, candidate in errors]
    interval = oracle_errors.noninferiority(ratios, [item.content for item in lines])
    return {
        "reference": _spread([reference for reference, _ in errors]),
        "candidate": _spread([candidate for _, candidate in errors]),
        "ratio": {"mean": interval.mean, "lower": interval.lower, "upper": interval.upper},
        "contents": interval.contents,
    }
