"""Figures over all generated questions: flips and their rate, divergence, margins, labels, distance from the oracle."""

from __future__ import annotations

import math
from typing import Any, Dict, List, Sequence, Tuple

from kit.evidence.audit.drift import steps
from kit.evidence.audit.error_ratios import RATIO_BOUND, error_ratios
from kit.evidence.audit.generated_lines import Asked, asked, first_of, generated_candidate
from kit.evidence.audit.numbers import quantile
from kit.evidence.audit.reading import Bundle
from kit.evidence.audit.rules import Json

GENERATOR = "kit-prompts/1"
HELD_OUT = "kit-held-out/1"  # of labelled questions
TIE_RULE = "the winner is the first of the largest logits in candidate order, on either side; a tie is no excuse for a flip"
MARGIN_BINS = ((0.0, 0.01), (0.01, 0.05), (0.05, 0.1), (0.1, 0.2), (0.2, 0.5), (0.5, 1.0))
FEWEST_DISCORDANT = 6
CONFIDENCE_BINS = 10  # of equal width; a bin holds its upper end


def generated_summary(bundle: Bundle) -> Json:
    """What generated.json must say of the lines; computed once."""
    if "generated summary" not in bundle.memory:
        bundle.memory["generated summary"] = summary_of_asked(bundle)
    document: Json = bundle.memory["generated summary"]
    return document


def summary_of_asked(bundle: Bundle) -> Json:
    found = asked(bundle)
    document: Json = {
        "format": "kit-generated/1",
        "generator": generator_named(bundle),
        "seed": bundle.profile["generated"]["seed"],
        "declared": bundle.generated,
        "reached": len(found),
        "candidate": generated_candidate(bundle),
        "tie_rule": TIE_RULE,
        "confidence": 0.95,
    }
    for name in ("all", "text", "image"):
        mine = [item for item in found if name in ("all", item.modality)]
        if mine:
            document[name] = stratum(mine)
    document["margins"] = flips_by_margin(found)
    document["labels"] = labelled(found)
    if held_out(bundle):
        document["reliability"] = {
            side: confidence_bins([sureness(item, side) for item in found]) for side in ("reference", "candidate")
        }
    document["oracle"] = oracle_summary(found)
    return document


def held_out(bundle: Bundle) -> bool:
    """Whether the questions are labelled ones of a training package; older profiles know of one source alone."""
    return bool(bundle.profile["generated"].get("source", "composed") == "held-out")


def generator_named(bundle: Bundle) -> str:
    return HELD_OUT if held_out(bundle) else GENERATOR


def sureness(item: Asked, side: str) -> Tuple[float, bool]:
    """(confidence, whether it was right) of one side on a labelled question."""
    logits, answer = (item.reference, item.answers[0]) if side == "reference" else (item.candidate, item.answers[1])
    return max(answer), item.line["candidates"][first_of(logits)] == item.line["expected"]


def confidence_bins(known: Sequence[Tuple[float, bool]]) -> Json:
    """Answers by how sure they are: how many, how sure on average, how many right; and the mean distance of the two."""
    by_bin: Dict[int, List[Tuple[float, bool]]] = {}
    for confidence, right in known:
        place = min(max(math.ceil(confidence * CONFIDENCE_BINS) - 1, 0), CONFIDENCE_BINS - 1)
        by_bin.setdefault(place, []).append((confidence, right))
    bins, distance = [], []
    for place in sorted(by_bin):
        inside = by_bin[place]
        total, hits = math.fsum(confidence for confidence, _ in inside), sum(one for _, one in inside)
        bins.append({
            "over": place / CONFIDENCE_BINS, "to": (place + 1) / CONFIDENCE_BINS, "questions": len(inside),
            "confidence": total / len(inside), "right": hits,
        })  # fmt: skip
        distance.append(abs(total - hits))
    return {"ece": math.fsum(distance) / len(known), "bins": bins}


def stratum(found: Sequence[Asked]) -> Json:
    flips = sum(item.flip for item in found)
    moved = [max(abs(p - q) for p, q in zip(*item.answers)) for item in found]
    kl = [divergence(item) for item in found]
    ties = [tied(item.reference) for item in found]
    return {
        "questions": len(found),
        "contents": len({item.content for item in found}),
        "hidden_different": sum(not item.hidden_same for item in found),
        "logits_different": sum(not item.logits_same for item in found),
        "flips": flips,
        "flip_rate_upper": largest_rate(flips, len(found)),
        "ties": sum(ties),
        "flips_at_ties": sum(item.flip and tie for item, tie in zip(found, ties)),
        "probability": spread(moved),
        "steps": spread([steps(item.reference, item.candidate) for item in found]),
        "kl": dict(spread(kl), mean=math.fsum(kl) / len(kl)),
    }


def tied(logits: Sequence[float]) -> bool:
    first, second = sorted(logits, reverse=True)[:2]
    return first == second


def spread(values: Sequence[float]) -> Json:
    return {"p50": quantile(values, 0.5), "p99": quantile(values, 0.99), "max": max(values)}


def divergence(item: Asked) -> float:
    """KL divergence of the candidate's answer from the reference's, in nats."""
    if item.logits_same:
        return 0.0
    p, q = (log_softmax(values, item.temperature) for values in (item.reference, item.candidate))
    return max(0.0, math.fsum(math.exp(a) * (a - b) for a, b in zip(p, q)))


def log_softmax(logits: Sequence[float], temperature: float) -> List[float]:
    scaled = [value / temperature for value in logits]
    top = max(scaled)
    total = top + math.log(math.fsum(math.exp(value - top) for value in scaled))
    return [value - total for value in scaled]


def largest_rate(flips: int, questions: int) -> float:
    """The rate at which so few flips still happen one time in twenty (Clopper and Pearson)."""
    if flips == questions:
        return 1.0
    low, high = 0.0, 1.0
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if chance_of_at_most(flips, questions, middle) > 1 - 0.95 else (low, middle)
    return high


def chance_of_at_most(count: int, of: int, rate: float) -> float:
    if not 0.0 < rate < 1.0:
        return 1.0 if rate <= 0.0 else 0.0
    whole = math.lgamma(of + 1)
    logs = [
        whole - math.lgamma(i + 1) - math.lgamma(of - i + 1) + i * math.log(rate) + (of - i) * math.log1p(-rate)
        for i in range(count + 1)
    ]
    return min(1.0, math.fsum(math.exp(value) for value in logs))


def flips_by_margin(found: Sequence[Asked]) -> List[Json]:
    margins = []
    for item in found:
        first, second = sorted(item.answers[0], reverse=True)[:2]
        margins.append((first - second, item.flip))
    bins = []
    for low, high in MARGIN_BINS:
        inside = [flip for value, flip in margins if low < value <= high or (low == 0.0 and value == 0.0)]
        bins.append({"over": low, "to": high, "questions": len(inside), "flips": sum(inside)})
    return bins


def labelled(found: Sequence[Asked]) -> Json:
    pairs = []
    for item in found:
        if item.line["expected"] is not None:
            right = item.line["candidates"].index(item.line["expected"])
            pairs.append((first_of(item.reference) == right, first_of(item.candidate) == right))
    lost, won = sum(a and not b for a, b in pairs), sum(b and not a for a, b in pairs)
    return {
        "questions": len(pairs),
        "reference_right": sum(a for a, _ in pairs),
        "candidate_right": sum(b for _, b in pairs),
        "lost": lost,
        "won": won,
        "mcnemar_p": uneven(lost, won),
    }


def uneven(lost: int, won: int) -> Any:
    """McNemar's exact test; None below six discordant pairs."""
    pairs = lost + won
    if pairs < FEWEST_DISCORDANT:
        return None
    tail, term = 0, 1
    for i in range(min(lost, won) + 1):
        tail += term
        term = term * (pairs - i) // (i + 1)
    return min(1.0, 2 * tail / float(2**pairs))


def oracle_summary(found: Sequence[Asked]) -> Any:
    known = [item for item in found if item.truth]
    if not known:
        return None
    logits = [(distance(i.reference, i.truth), distance(i.candidate, i.truth)) for i in known]
    return {
        "questions": len(known),
        "bound": RATIO_BOUND,
        "hidden": distances(known, [item.errors for item in known]),
        "logits": distances(known, logits),
    }


def distance(logits: Sequence[float], truth: Sequence[float]) -> float:
    return math.sqrt(math.fsum((a - b) ** 2 for a, b in zip(logits, truth)) / len(truth))


def distances(known: Sequence[Asked], errors: Sequence[Tuple[float, float]]) -> Json:
    ratios = error_ratios(errors, [item.content for item in known])
    return {
        "reference": spread([theirs for theirs, _ in errors]),
        "candidate": spread([ours for _, ours in errors]),
        "ratio": {"mean": ratios.mean, "lower": ratios.lower, "upper": ratios.upper},
        "contents": ratios.contents,
    }


def leaves(value: Any, name: str = "") -> Json:
    """Every single figure of a document under its path."""
    if isinstance(value, dict):
        return {k: v for key, item in value.items() for k, v in leaves(item, "%s.%s" % (name, key)).items()}
    if isinstance(value, list):
        return {k: v for i, item in enumerate(value) for k, v in leaves(item, "%s[%d]" % (name, i)).items()}
    return {name.lstrip("."): value}


def stage_facts(bundle: Bundle, failed: Sequence[str]) -> Json:
    """What the stage's verdict cell says."""
    document = generated_summary(bundle)
    every, oracle, labels = document["all"], document["oracle"], document["labels"]
    right = {
        "right answers of the reference": labels["reference_right"],
        "right answers of the candidate": labels["candidate_right"],
        "calibration error of the candidate": document["reliability"]["candidate"]["ece"],
    } if held_out(bundle) else {}  # fmt: skip
    return {
        "questions declared": document["declared"],
        "questions answered by both sides": document["reached"],
        "contents": every["contents"],
        "hidden rows that differ": every["hidden_different"],
        "logit rows that differ": every["logits_different"],
        "changed winners": every["flips"],
        "flip rate is under (95%)": every["flip_rate_upper"],
        "largest KL divergence": every["kl"]["max"],
        **right,
        "questions put to the oracle": oracle["questions"] if oracle else 0,
        "error ratio is under (95%)": oracle["hidden"]["ratio"]["upper"] if oracle else "none",
        "gates that failed": ", ".join(failed) or "none",
    }
