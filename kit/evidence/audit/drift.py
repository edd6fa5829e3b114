"""Every comparison of two engines, or of an engine and the frozen answers, computed once more."""

from __future__ import annotations

import math
import sys
from collections import OrderedDict
from typing import Any, Dict, List, NamedTuple, Sequence, Tuple

from kit.evidence.audit.answers import answer_faults, is_softmax, response_faults
from kit.evidence.audit.numbers import expectation, floats, softmax, spacing, winner
from kit.evidence.audit.reading import Bundle, compare_figures
from kit.evidence.audit.rules import GATES, LABELS, SLACK, STEP_SLACK, Json, Key, UnreadableError
from kit.evidence.audit.values import is_number, short

MAX_STEPS = 4096
ROOM_STEPS = 4  # of one logit: where so few break a bound, an answer frozen on another CPU is not held to it
LATTICE_EXPONENTS = range(21)
LATTICE_TOLERANCE = 1e-9


class Side(NamedTuple):
    """One side of a comparison: a response, its questions' worker lines, and the temperature it used."""

    response: Json
    lines: Dict[str, Json]
    temperature: Any


def comparisons(bundle: Bundle) -> List[Tuple[str, str]]:
    pairs = []
    for engine in bundle.engines:
        if bundle.reference and engine != bundle.reference:
            pairs.append((engine, "fresh"))
        if bundle.frozen() is not None and bundle.profile["protocol"]["frozen"]:
            pairs.append((engine, "frozen"))
    return pairs


def measured(bundle: Bundle, engine: str) -> Dict[str, Side]:
    """Request id -> what an engine answered in its first measured pass."""
    found = {}
    for line in bundle.exchanges(engine):
        if line["phase"] == "measured" and line["pass"] == 1 and line["status"] == 200:
            response = bundle.body(line["response_sha256"])
            if engine == "remote":
                found[line["request_id"]] = Side(response, {}, None)
            else:
                post = bundle.post(engine, line["sequence"])
                lines = {question["question"]: question for question in post.questions}
                found[line["request_id"]] = Side(response, lines, post.line["temperature"])
    return found


def drift_rows(bundle: Bundle) -> Dict[Key, Json]:
    """Every comparison recomputed: (engine, against, request, question) -> the row drift.json must have."""
    if "drift rows" not in bundle.memory:
        bundle.memory["drift rows"] = compute_drift(bundle)
    rows: Dict[Key, Json] = bundle.memory["drift rows"]
    return rows


def compute_drift(bundle: Bundle) -> Dict[Key, Json]:
    sides = {engine: measured(bundle, engine) for engine in bundle.engines}
    fixed = {name: Side(response, {}, None) for name, response in (bundle.frozen() or {}).items()}
    rows: Dict[Key, Json] = OrderedDict()
    visible: Dict[Key, Any] = {}
    for engine, against in comparisons(bundle):
        yardstick = sides[bundle.reference] if against == "fresh" else fixed
        for case in bundle.corpus():
            for question in case["request"]["questions"]:
                key = (engine, against, case["id"], question)
                if case["id"] not in yardstick or case["id"] not in sides[engine]:
                    raise UnreadableError("%s against %s: no answer to %s to compare" % key[:3])
                temperature = bundle.temperatures().get(case["modality"])
                pair = yardstick[case["id"]], sides[engine][case["id"]]
                rows[key] = dict(compare(*pair, question, temperature, visible), modality=case["modality"])
                if against == "frozen" and frozen_steps(bundle):
                    rows[key].update(compare_in_steps(*pair, question, temperature, visible))
    return rows


def compare(
    reference: Side, candidate: Side, question: str, temperature: Any, visible: Dict[Key, Any]
) -> Json:
    a, b = reference.response["answers"][question], candidate.response["answers"][question]
    p, q = list(a["probabilities"].values()), list(b["probabilities"].values())
    if list(a["probabilities"]) != list(b["probabilities"]) or a["type"] != b["type"]:
        raise UnreadableError("question %s has answers of other candidates or types" % short(question))
    if len(p) > LABELS:
        raise UnreadableError("question %s has %d candidates, expected at most %d" % (short(question), len(p), LABELS))
    if not all(map(is_number, [*p, *q, a["confidence"], b["confidence"]])):
        raise UnreadableError(
            "question %s has an answer with a figure that is no finite number" % short(question)
        )
    first, second = sorted(p, reverse=True)[:2]
    row = {
        "type": a["type"],
        "reference_winner": winner(a),
        "winner": winner(b),
        "reference_margin": first - second,
        "probability_drift": max(abs(x - y) for x, y in zip(p, q)),
        "confidence_drift": abs(a["confidence"] - b["confidence"]),
        "noul_drift": abs(a["noul"] - b["noul"]) if a["type"] == "noul" else None,
        "expected_drift": abs(a["expected_value"] - b["expected_value"]) if a["type"] == "score" else None,
        "winner_same": winner(a) == winner(b),
        "tokens_same": reference.response["usage"]["input_tokens"]
        == candidate.response["usage"]["input_tokens"],
        "shape_same": shape_same(reference, candidate, question),
        "lattice": lattice(q, temperature),
    }
    return dict(row, **compare_raw(reference, candidate, question, temperature, visible, row["tokens_same"]))


def compare_raw(
    reference: Side,
    candidate: Side,
    question: str,
    temperature: Any,
    visible: Dict[Key, Any],
    tokens_same: bool,
) -> Json:
    """Bits, steps and the smallest visible shift, where raw logits are recorded."""
    names = ("hidden_equal", "logits_equal", "max_steps", "detectable_steps", "detectable_logit")
    row: Json = dict.fromkeys(names)
    theirs, mine = reference.lines.get(question), candidate.lines.get(question)
    if theirs is None:
        return row
    logits = floats(theirs["logits"])
    if len(logits) > LABELS:
        raise UnreadableError("question %s has %d logits, expected at most %d" % (short(question), len(logits), LABELS))
    if is_number(temperature):
        key = (logits, temperature, theirs["type"])
        if key not in visible:
            visible[key] = smallest_visible(*key)
        row["detectable_steps"], row["detectable_logit"] = visible[key]
    if mine is not None:
        row["tokens_same"] = tokens_same and theirs["tokens"] == mine["tokens"]
        row["hidden_equal"] = bool(mine["hidden"]) and mine["hidden"] == theirs["hidden"]
        row["logits_equal"] = mine["logits"] == theirs["logits"]
        row["max_steps"] = steps(logits, floats(mine["logits"]))
    return row


def frozen_steps(bundle: Bundle) -> int:
    """BF16 steps that another CPU may be off the frozen answers; older profiles know of no such rule."""
    steps = bundle.profile["protocol"].get("frozen_steps", 0)
    if type(steps) is not int or steps < 0 or (steps and bundle.profile["claim"] != "exact"):
        raise UnreadableError("profile.json: protocol.frozen_steps is %s, expected 0, or more for claim exact" % short(steps))
    return steps


def compare_in_steps(reference: Side, candidate: Side, question: str, temperature: Any, visible: Dict[Key, Any]) -> Json:
    """Steps off an answer that has no recorded logits, and whether a few of one logit leave the bounds unbroken."""
    mine, answer = candidate.lines.get(question), reference.response["answers"][question]
    if mine is None or not (is_number(temperature) and temperature > 0):
        return {}
    logits, p = floats(mine["logits"]), list(answer["probabilities"].values())
    if len(logits) != len(p) or len(p) > LABELS:
        raise UnreadableError("question %s has %d logits of %d candidates" % (short(question), len(logits), len(p)))
    key = (logits, temperature, answer["type"])
    if key not in visible:
        visible[key] = smallest_visible(*key)
    count, logit = visible[key]
    room = count is None or count > ROOM_STEPS
    return {"max_steps": steps_off(p, logits, temperature), "detectable_steps": count, "detectable_logit": logit, "room": room}


def steps_off(p: Sequence[float], logits: Sequence[float], temperature: float) -> Any:
    """Largest change of a logit difference to the winner of p, in BF16 steps of the logits; None where a p is zero."""
    if min(p) <= 0:
        return None
    w = list(p).index(max(p))
    steps = max(
        abs((x - logits[w]) - temperature * math.log(q / p[w])) / spacing(max(abs(x), abs(logits[w])))
        for q, x in zip(p, logits)
    )
    return steps if steps > STEP_SLACK else 0.0


def shape_same(reference: Side, candidate: Side, question: str) -> bool:
    """The candidate's response has the reference's shape and does not contradict itself."""
    a, b = reference.response["answers"], candidate.response["answers"]
    faults = response_faults(candidate.response) + answer_faults(b[question])
    line = candidate.lines.get(question)
    recorded = line is None or is_softmax(b[question], line, candidate.temperature)
    return not faults and recorded and list(a) == list(b) and set(a[question]) == set(b[question])


def steps(reference: Sequence[float], candidate: Sequence[float]) -> float:
    """Largest change of a logit difference to the reference's winner, in BF16 steps of the reference."""
    w = reference.index(max(reference))
    return max(
        abs((c - candidate[w]) - (r - reference[w])) / spacing(max(abs(r), abs(reference[w])))
        for r, c in zip(reference, candidate)
    )


def smallest_visible(logits: Sequence[float], temperature: float, kind: str) -> Tuple[Any, Any]:
    """Smallest n such that one logit moved by n of its own BF16 steps breaks a gate, and that shift in logits.

    What a gate looks at grows with the distance, so each direction is searched by halving.
    """
    before, best = softmax(logits, temperature), None
    for index, value in enumerate(logits):
        for step in (spacing(value), -spacing(value)):
            low, high = 0, MAX_STEPS
            if not breaks_gate(before, moved(logits, index, high * step, temperature), kind):
                continue
            while high - low > 1:
                middle = (low + high) // 2
                if breaks_gate(before, moved(logits, index, middle * step, temperature), kind):
                    high = middle
                else:
                    low = middle
            if best is None or high < best[0]:
                best = (high, high * abs(step))
    return best or (None, None)


def moved(logits: Sequence[float], index: int, by: float, temperature: float) -> List[float]:
    return softmax([x + by if i == index else x for i, x in enumerate(logits)], temperature)


def breaks_gate(p: Sequence[float], q: Sequence[float], kind: str) -> bool:
    # Confidence and noul move by no more than the largest probability change and have the same bound.
    if max(abs(a - b) for a, b in zip(p, q)) > GATES["probability"] + SLACK:
        return True
    if kind == "score" and abs(expectation(p) - expectation(q)) > GATES["expected_value"] + SLACK:
        return True
    first, second = sorted(p, reverse=True)[:2]
    return first - second >= GATES["winner_margin"] and p.index(max(p)) != q.index(max(q))


def lattice(probabilities: Sequence[float], temperature: Any) -> Json:
    """The coarsest grid of 2**-e that all logit differences lie on, read off the probabilities."""
    usable = is_number(temperature) and temperature > 0 and min(probabilities) >= 0
    top = max(probabilities)
    if usable and top >= sys.float_info.min:
        offsets = [math.log(p / top) * temperature for p in probabilities if p >= sys.float_info.min]
        for exponent in LATTICE_EXPONENTS:
            scale = 2.0**exponent
            if all(abs(x * scale - round(x * scale)) <= LATTICE_TOLERANCE * scale for x in offsets):
                return {"holds": True, "exponent": exponent}
    return {"holds": False, "exponent": None}


def check_drift(bundle: Bundle) -> None:
    """drift.json holds every comparison once, with the figures recomputed here."""
    document, expected = bundle.json("drift.json"), drift_rows(bundle)
    found: Dict[Key, Json] = OrderedDict()
    for row in document["rows"]:
        key = (row["engine"], row["against"], row["request"], row["question"])
        if key in found:
            bundle.fail("drift.json %s" % "/".join(key), "has two rows")
        found[key] = row
    if not expected:
        bundle.fail("drift.json", "nothing was compared")
    for key in [key for key in expected if key not in found]:
        bundle.fail("drift.json %s" % "/".join(key), "has no row")
    for key in [key for key in found if key not in expected]:
        bundle.fail("drift.json %s" % "/".join(key), "is no comparison of this run")
    for key in [key for key in expected if key in found]:
        figures = {
            name: value
            for name, value in found[key].items()
            if name not in ("engine", "against", "request", "question")
        }
        compare_figures(bundle, "drift.json %s" % "/".join(key), figures, expected[key])
    if document.get("missing"):
        bundle.fail("drift.json missing", "says that %d comparisons are missing" % len(document["missing"]))
    names = ("probability_drift", "confidence_drift", "noul_drift", "expected_drift", "max_steps")
    bundle.expect(
        "drift.json worst", list(document["worst"]), ["%s/%s" % pair for pair in comparisons(bundle)]
    )
    for engine, against in comparisons(bundle):
        pair = "%s/%s" % (engine, against)
        worst = {name: worst_of(expected, engine, against, name) for name in names}
        compare_figures(bundle, "drift.json worst %s" % pair, document["worst"].get(pair, {}), worst)


def worst_of(rows: Dict[Key, Json], engine: str, against: str, column: str) -> Any:
    values = [
        row[column] for key, row in rows.items() if key[:2] == (engine, against) and row[column] is not None
    ]
    return max(values) if values else None
