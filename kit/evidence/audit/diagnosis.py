"""What a failed engine's answers resemble (diagnosis.json): only where a gate failed, and its distances follow."""

from __future__ import annotations

import math
from typing import Dict, List, Sequence, Tuple

from kit.evidence.audit.reading import Bundle
from kit.evidence.audit.rules import Json
from kit.evidence.audit.values import is_number, short

DIAGNOSIS = "diagnosis.json"
PLAIN_FORM = "plain"
ALIKE = 1e-9  # logits: two computations of one difference of logarithms
FAINTEST = 1e-9  # a candidate's share of the winner's probability, below which it is not compared

Sides = Dict[Tuple[str, str], Tuple[str, List[int], List[float]]]


def check_diagnosis(bundle: Bundle) -> None:
    """A diagnosis stands only beside a failed gate, names engines of this run, and its distances are those of their answers.

    The library itself, what the reference answers with one thing changed, is taken as it stands: it takes the model.
    """
    if not bundle.exists(DIAGNOSIS):
        return
    document = bundle.json(DIAGNOSIS)
    gates = bundle.json("verdict.json")["gates"]
    failed = {gate["engine"] for gate in gates if gate["passed"] is not True and gate["engine"] and gate["gate"] != "accuracy"}
    if not failed - {bundle.reference}:
        bundle.fail(DIAGNOSIS, "stands in a bundle of which no engine failed a gate")
    for engine in document["engines"]:
        if engine not in failed:
            bundle.fail("%s %s" % (DIAGNOSIS, short(engine)), "is no engine of this run that failed a gate")
    if document["made"] is not True:
        bundle.leave("%s (not made: %s)" % (DIAGNOSIS, short(document.get("reason"))))
        return
    if bundle.exists("checkpoint.json"):  # a run of a remote engine alone has none
        digest = bundle.json("checkpoint.json")["digest"]
        bundle.expect("%s checkpoint_digest" % DIAGNOSIS, document["checkpoint_digest"], digest)
        bundle.expect("%s temperatures" % DIAGNOSIS, document["temperatures"], bundle.temperatures())
    for engine in document["engines"]:
        if engine in bundle.engines:
            compare_distances(bundle, document, engine)
    bundle.leave("the library of %s (what the reference answers with one thing changed)" % DIAGNOSIS)


def compare_distances(bundle: Bundle, document: Json, engine: str) -> None:
    """Every row of an engine, computed again from its recorded answers."""
    entry, at, sides = document["engines"][engine], "%s %s" % (DIAGNOSIS, engine), diagnosed(bundle, engine)
    bundle.expect("%s questions" % at, entry["questions"], len(sides))
    for row in entry["matches"]:
        where = "%s %s/%s" % (at, short(row["form"]), short(row["rule"]))
        distance, equal = distance_of(document, sides, row)
        if not is_number(row["distance"]) or abs(row["distance"] - distance) > ALIKE * max(1.0, distance):
            bundle.fail("%s distance" % where, "is %s, recomputed %s" % (short(row["distance"]), distance))
        bundle.expect("%s equal" % where, row["equal"], equal)
    for name in ("nearest", "plain"):
        if entry[name] not in entry["matches"]:
            bundle.fail("%s %s" % (at, name), "is none of its own rows")
    bundle.expect("%s plain form" % at, entry["plain"]["form"], PLAIN_FORM)
    told = document["forms"].get(entry["nearest"]["form"], "")
    if not entry["words"].startswith(("%s answers" % engine, "nothing in the library explains %s" % engine)):
        bundle.fail("%s words" % at, "do not name the engine")
    if entry["outcome"] == "explained" and told not in entry["words"]:
        bundle.fail("%s words" % at, "do not say %s" % short(told))


def diagnosed(bundle: Bundle, engine: str) -> Sides:
    """(request, question) -> modality, candidates that can be compared, their centred log-probabilities."""
    found: Sides = {}
    for line in bundle.exchanges(engine):
        if (line["phase"], line["pass"], line["status"]) != ("measured", 1, 200):
            continue
        for question, answer in bundle.body(line["response_sha256"])["answers"].items():
            p = list(answer["probabilities"].values())
            usable = [i for i, value in enumerate(p) if value > 0 and value >= FAINTEST * max(p)]
            if len(usable) > 1:
                logs = centred([math.log(p[i]) for i in usable])
                found[line["request_id"], question] = (line["modality"], usable, logs)
    return found


def distance_of(document: Json, sides: Sides, row: Json) -> Tuple[float, int]:
    """Root mean square in logits at the declared temperature, and how many questions show no difference."""
    library, declared, used = document["library"], document["temperatures"], row["temperatures"]
    total, equal, values = 0.0, 0, 0
    for (request, question), (modality, usable, logs) in sides.items():
        plain = library[PLAIN_FORM][request][question]
        logits = library[row["form"]].get(request, {}).get(question, plain)
        scale = declared[modality] / used[modality]
        pairs = zip(logs, centred([logits[i] for i in usable]))
        squares = math.fsum((declared[modality] * log - scale * logit) ** 2 for log, logit in pairs)
        total, values = total + squares, values + len(usable)
        equal += squares <= ALIKE**2 * len(usable)
    return math.sqrt(total / values), equal


def centred(values: Sequence[float]) -> List[float]:
    mean = math.fsum(values) / len(values)
    return [value - mean for value in values]
