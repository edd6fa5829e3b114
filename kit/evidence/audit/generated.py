"""Questions made from a seed: every line, and every figure over all lines computed once more."""

from __future__ import annotations

import math
import re
import struct
from typing import Any, Dict, Iterator, List, Sequence, Tuple

from kit.evidence.audit.drift import steps
from kit.evidence.audit.error_ratios import RATIO_BOUND, RATIO_PROMPTS, carries_faithful, error_ratios
from kit.evidence.audit.numbers import floats, quantile, softmax
from kit.evidence.audit.reading import Bundle, compare_figures
from kit.evidence.audit.rules import (
    GENERATED,
    GENERATED_LINES,
    GENERATED_STAGE,
    LABELS,
    Json,
    UnreadableError,
)
from kit.evidence.audit.values import is_number, short

GENERATOR = "kit-prompts/1"
TIE_RULE = "the winner is the first of the largest logits in candidate order, on either side; a tie is no excuse for a flip"
MARGIN_BINS = ((0.0, 0.01), (0.01, 0.05), (0.05, 0.1), (0.1, 0.2), (0.2, 0.5), (0.5, 1.0))
LINE_KEYS = {
    "request", "modality", "content", "request_sha256", "question", "type", "candidates", "expected", "tokens",
    "reference", "candidate", "oracle",
}  # fmt: skip
UNJUDGED = ("how", "budget_s", "seconds")  # of generated.json; looked at apart
FEWEST_DISCORDANT = 6


class Asked:
    """One line of records/generated.jsonl, decoded; raises ValueError or a LookupError for a malformed one."""

    def __init__(self, line: Json, temperatures: Json) -> None:
        oracle = line["oracle"]
        self.line, self.modality, self.content = line, line["modality"], line["content"]
        self.temperature = temperatures[self.modality]
        self.reference, self.candidate = floats(line["reference"]["logits"]), floats(line["candidate"]["logits"])
        self.truth = doubles(oracle["logits"]) if oracle else ()
        self.errors = (oracle["reference"], oracle["candidate"]) if oracle else (0.0, 0.0)
        self.hidden_same = line["reference"]["hidden"] == line["candidate"]["hidden"]
        self.logits_same = line["reference"]["logits"] == line["candidate"]["logits"]
        self.flip = first_of(self.reference) != first_of(self.candidate)

    @property
    def answers(self) -> Tuple[List[float], List[float]]:
        return softmax(self.reference, self.temperature), softmax(self.candidate, self.temperature)


def doubles(text: str) -> Tuple[float, ...]:
    """Numbers behind the hex of little-endian float64 values."""
    data = bytes.fromhex(text)
    return struct.unpack("<%dd" % (len(data) // 8), data)


def first_of(values: Sequence[float]) -> int:
    return list(values).index(max(values))


def generated_candidate(bundle: Bundle) -> str:
    return "graph" if "graph" in bundle.engines else "native"


def asked(bundle: Bundle) -> List[Asked]:
    """Every line, decoded once."""
    if "asked" not in bundle.memory:
        found, temperatures = [], bundle.temperatures()
        for number, line in enumerate(bundle.jsonl(GENERATED_LINES)[1:], 2):
            try:
                found.append(Asked(line, temperatures))
            except (LookupError, TypeError, ValueError, struct.error) as error:
                raise UnreadableError(
                    "%s line %d is malformed (%s: %s)" % (GENERATED_LINES, number, type(error).__name__, error)
                ) from error
        bundle.memory["asked"] = found
    lines: List[Asked] = bundle.memory["asked"]
    return lines


# ---------------------------------------------------------------- lines


def check_generated(bundle: Bundle) -> None:
    """Generated questions: every line is whole and in its place, and generated.json follows from the lines."""
    if not bundle.generated:
        return
    header = {
        "format": "kit-generated/1",
        "generator": GENERATOR,
        "seed": bundle.profile["generated"]["seed"],
        "candidate": generated_candidate(bundle),
    }
    bundle.expect("%s header" % GENERATED_LINES, bundle.jsonl(GENERATED_LINES)[0], header)
    for number, item in enumerate(asked(bundle)):
        judge_asked(bundle, number, item)
    judge_requests(bundle)
    told, expected = bundle.json(GENERATED), generated_summary(bundle)
    judged = {name: value for name, value in told.items() if name not in UNJUDGED}
    compare_figures(bundle, GENERATED, leaves(judged), leaves(expected))
    judge_how(bundle, told)
    bundle.leave("whether generated requests are those their seed makes (kit audit --recompute makes them again)")


def judge_asked(bundle: Bundle, number: int, item: Asked) -> None:
    """One line: its place, its answers' form, and what equal rows must have in common."""
    line, where = item.line, "%s line %d" % (GENERATED_LINES, number + 2)
    bundle.expect("%s keys" % where, sorted(line), sorted(LINE_KEYS))
    for side, keys in (("reference", ["hidden", "logits"]), ("candidate", ["action", "hidden", "logits"])):
        bundle.expect("%s %s keys" % (where, side), sorted(line[side]), keys)
        if not re.fullmatch("[0-9a-f]{64}", line[side]["hidden"]):
            bundle.fail("%s %s hidden" % (where, side), "is %s, expected a SHA-256" % short(line[side]["hidden"]))
    block, place = divmod(number, 6)
    modality, index = ("text", 4 * block + place) if place < 4 else ("image", 2 * block + place - 4)
    bundle.expect("%s modality" % where, line["modality"], modality)
    bundle.expect("%s request" % where, line["request"], "%s-%04d" % (modality, index))
    ids = line["candidates"]
    if not 2 <= len(ids) <= LABELS or len(set(ids)) != len(ids) or not all(isinstance(name, str) for name in ids):
        bundle.fail("%s candidates" % where, "are %s, expected 2 to %d names" % (short(ids), LABELS))
    wanted = {"noul": ["yes", "no"], "score": [str(level) for level in range(len(ids))], "choice": ids}
    bundle.expect("%s candidates" % where, ids, wanted.get(line["type"], "those of a choice, noul or score"))
    if line["expected"] is not None and line["expected"] not in ids:
        bundle.fail("%s expected" % where, "is %s, which is no candidate" % short(line["expected"]))
    if type(line["tokens"]) is not int or line["tokens"] < 1:
        bundle.fail("%s tokens" % where, "is %s, expected a number of tokens" % short(line["tokens"]))
    judge_logits(bundle, where, item)
    if line["candidate"]["action"] not in ("eager", "capture", "replay", "fallback"):
        bundle.fail("%s candidate action" % where, "is %s" % short(line["candidate"]["action"]))


def judge_logits(bundle: Bundle, where: str, item: Asked) -> None:
    """As many finite logits a side as candidates, of the model's dtype; one answer where the rows are one."""
    count = len(item.line["candidates"])
    rounded = bundle.profile["runtime"]["dtype"] == "bfloat16"
    for side, values in (("reference", item.reference), ("candidate", item.candidate)):
        at = "%s %s logits" % (where, side)
        if len(values) != count or not all(math.isfinite(value) for value in values):
            bundle.fail(at, "are %d values, expected %d finite ones" % (len(values), count))
        elif rounded and any(struct.pack("<f", value)[:2] != b"\0\0" for value in values):
            bundle.fail(at, "are not BF16 values, which this model's head gives")
    if item.hidden_same and not item.logits_same and bundle.profile["claim"] == "exact":
        bundle.fail(where, "equal hidden rows gave other logits")
    if (item.line["oracle"] is not None) != (item.line["request"] in with_oracle(bundle)):
        bundle.fail("%s oracle" % where, "is there or missing, expected for the first %d questions" % RATIO_PROMPTS)
    if item.line["oracle"] is None:
        return
    bundle.expect("%s oracle keys" % where, sorted(item.line["oracle"]), ["candidate", "logits", "reference"])
    if len(item.truth) != count or not all(math.isfinite(value) for value in item.truth):
        bundle.fail("%s oracle logits" % where, "are %d values, expected %d finite ones" % (len(item.truth), count))
    if not all(is_number(error) and error > 0 for error in item.errors):
        bundle.fail("%s oracle" % where, "has errors %s, expected numbers above zero" % short(list(item.errors)))
    if item.hidden_same and item.errors[0] != item.errors[1]:
        bundle.fail("%s oracle" % where, "has two errors %s of one hidden row" % short(list(item.errors)))


def with_oracle(bundle: Bundle) -> Dict[str, None]:
    """Requests the oracle had to be asked about."""
    if "with oracle" not in bundle.memory:
        lines = bundle.jsonl(GENERATED_LINES)[1:]
        bundle.memory["with oracle"] = {line["request"]: None for line in lines[:RATIO_PROMPTS]}
    found: Dict[str, None] = bundle.memory["with oracle"]
    return found


def judge_requests(bundle: Bundle) -> None:
    """No request was asked twice, and neighbours share a content."""
    found = asked(bundle)
    digests = {item.line["request_sha256"] for item in found}
    if len(digests) != len(found) or not all(re.fullmatch("[0-9a-f]{64}", str(digest)) for digest in digests):
        bundle.fail("%s request_sha256" % GENERATED_LINES, "%d digests of %d requests" % (len(digests), len(found)))
    for modality in ("text", "image"):
        mine = [item.content for item in found if item.modality == modality]
        for index in range(0, len(mine) - 1, 2):
            if mine[index] != mine[index + 1] or not re.fullmatch("[0-9a-f]{16}", str(mine[index])):
                bundle.fail(
                    "%s content" % GENERATED_LINES,
                    "%s %d and its neighbour do not share one: %s" % (modality, index, short(mine[index : index + 2])),
                )


# ---------------------------------------------------------------- figures


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
        "generator": GENERATOR,
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
    document["oracle"] = oracle_summary(found)
    return document


def stratum(found: Sequence[Asked]) -> Json:
    flips = sum(item.flip for item in found)
    moved = [max(abs(p - q) for p, q in zip(*item.answers)) for item in found]
    kl = [divergence(item) for item in found]
    ties = [tied(item.reference) for item in found]
    return {
        "questions": len(found),
        "contents": len({item.content for item in found}),
        "hidden_different": sum(not item.hidden_same for item in found),
        "logits_different": sum(item.reference != item.candidate for item in found),
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


def judge_how(bundle: Bundle, told: Json) -> None:
    """How the answers came about: replays of proved shapes on a GPU, calls elsewhere; the stage's own word on the rest."""
    how, questions = told["how"], len(asked(bundle))
    bundle.expect("%s how" % GENERATED, sorted(how), ["reference", "replays", "shapes", "shapes_refused"])
    on_gpu = bundle.profile["runtime"]["device"] == "cuda"
    bundle.expect("%s how.reference" % GENERATED, how["reference"], "captured" if on_gpu else "called")
    counts = [how[name] for name in ("replays", "shapes", "shapes_refused")]
    if not all(type(count) is int and count >= 0 for count in counts) or (not on_gpu and any(counts)):
        bundle.fail("%s how" % GENERATED, "has counts %s" % short(counts))
    elif how["replays"] + how["shapes"] + how["shapes_refused"] > questions or (how["replays"] > 0 and not how["shapes"]):
        bundle.fail("%s how" % GENERATED, "has counts %s of %d questions" % (short(counts), questions))
    stage, where = bundle.json("stages/%s.json" % GENERATED_STAGE), "stages/%s.json" % GENERATED_STAGE
    bundle.expect("%s budget_s" % GENERATED, told["budget_s"], stage["parameters"]["budget_s"])
    failed = [key[0] for key, _, _, passed in generated_gates(bundle) if not passed]
    bundle.expect("%s result" % where, sorted(stage["result"]), ["facts", "passed"])
    bundle.expect("%s result.passed" % where, stage["result"]["passed"], not failed)
    compare_figures(bundle, "%s result.facts" % where, stage["result"]["facts"], stage_facts(bundle, failed))
    spent = told["seconds"]
    if sorted(spent) != ["answering", "layers", "oracle"] or not all(is_number(x) and x >= 0 for x in spent.values()):
        bundle.fail("%s seconds" % GENERATED, "are %s" % short(spent))


def stage_facts(bundle: Bundle, failed: Sequence[str]) -> Json:
    """What the stage's verdict cell says."""
    document = generated_summary(bundle)
    every, oracle = document["all"], document["oracle"]
    return {
        "questions declared": document["declared"],
        "questions answered by both sides": document["reached"],
        "contents": every["contents"],
        "hidden rows that differ": every["hidden_different"],
        "logit rows that differ": every["logits_different"],
        "changed winners": every["flips"],
        "flip rate is under (95%)": every["flip_rate_upper"],
        "largest KL divergence": every["kl"]["max"],
        "questions put to the oracle": oracle["questions"] if oracle else 0,
        "error ratio is under (95%)": oracle["hidden"]["ratio"]["upper"] if oracle else "none",
        "gates that failed": ", ".join(failed) or "none",
    }


# ---------------------------------------------------------------- gates


def generated_gates(bundle: Bundle) -> Iterator[Tuple[Tuple[Any, ...], Any, Any, bool]]:
    """(key, value, bound, passed) of every gate over generated questions."""
    if not bundle.generated:
        if bundle.profile["claim"] == "faithful":
            yield ("oracle", None, None), None, 0, False  # nothing shows it, so it cannot pass
        return
    found, engine = asked(bundle), generated_candidate(bundle)
    yield ("generated", None, None), len(found), bundle.generated, len(found) == bundle.generated
    if bundle.profile["claim"] == "exact":
        counts = {
            "generated_hidden_bitwise": sum(not item.hidden_same for item in found),
            "generated_logits_bitwise": sum(not item.logits_same for item in found),
            "generated_flips": sum(item.flip for item in found),
        }
        for name, count in counts.items():
            yield (name, engine, None), count if found else None, 0, bool(found) and count == 0
    if bundle.profile["claim"] == "faithful":
        known = [item for item in found if item.truth]
        if not known:
            yield ("oracle", engine, None), None, RATIO_BOUND, False
            return
        ratios = error_ratios([item.errors for item in known], [item.content for item in known])
        yield ("oracle", engine, None), ratios.upper, RATIO_BOUND, carries_faithful(ratios)
