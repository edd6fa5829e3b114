"""How far the reference is from itself under harmless changes, where a run holds such a measurement."""

from __future__ import annotations

import random
from bisect import bisect_right
from itertools import accumulate
from typing import Any, Dict, List, Sequence, Tuple

from kit.evidence.audit.drift import steps
from kit.evidence.audit.generated_figures import generator_named, leaves
from kit.evidence.audit.generated_lines import asked, first_of
from kit.evidence.audit.numbers import floats, quantile, softmax
from kit.evidence.audit.reading import Bundle, compare_figures
from kit.evidence.audit.rules import FLOOR, Json
from kit.evidence.audit.values import is_number, short

HARMLESS = 1e-9
FLOOR_QUANTILES = (("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("max", 1.0))
FLOOR_RESAMPLES, FLOOR_SEED, FLOOR_SHARE = 1000, 20261130, 0.95
MEASURES = ("hidden", "steps", "probability")
FLOOR_KEYS = {
    "format", "says", "profile_sha256", "checkpoint_digest", "generator", "seed", "temperatures", "forms", "summary", "band", "rows",
}  # fmt: skip
FLOOR_SAYS = "the reference against itself under harmless changes; it explains a result and never widens a gate"
FORMS = {"cpu": ("row0", "padded", "instructions"), "cuda": ("row0", "padded", "draw")}


def check_floor(bundle: Bundle) -> None:
    """Where a noise floor was measured: of this checkpoint and protocol, only under proved forms, and its figures follow.

    No gate reads it: it explains a drift and excuses none.
    """
    if not bundle.exists(FLOOR):
        return
    document, run = bundle.json(FLOOR), bundle.json("run.json")
    bundle.expect("%s keys" % FLOOR, sorted(document), sorted(FLOOR_KEYS))
    bundle.expect("%s says" % FLOOR, document.get("says"), FLOOR_SAYS)
    bundle.expect("%s profile_sha256" % FLOOR, document["profile_sha256"], run["profile_sha256"])
    digest = bundle.json("checkpoint.json")["digest"]
    bundle.expect("%s checkpoint_digest" % FLOOR, document["checkpoint_digest"], digest)
    bundle.expect("%s temperatures" % FLOOR, document["temperatures"], bundle.temperatures())
    bundle.expect("%s generator" % FLOOR, document["generator"], generator_named(bundle))
    bundle.expect("%s seed" % FLOOR, document["seed"], bundle.profile["generated"]["seed"])
    before = bundle.problem_count
    judge_forms(bundle, document)
    measured = [form["name"] for form in document["forms"] if form["measured"]]
    judge_rows(bundle, document, measured)
    if bundle.problem_count > before:
        return  # figures of rows that are not whole mean nothing
    summary = {name: floor_summary(document["rows"], name, document["temperatures"]) for name in measured}
    compare_figures(bundle, "%s summary" % FLOOR, leaves(document["summary"]), leaves(summary))
    compare_figures(bundle, "%s band" % FLOOR, leaves(document["band"]), leaves(floor_band(summary)))


def judge_forms(bundle: Bundle, document: Json) -> None:
    """Every form of the device was tried, and measured only where the oracle hardly moved."""
    names = [form["name"] for form in document["forms"]]
    bundle.expect("%s forms" % FLOOR, names, list(FORMS[bundle.profile["runtime"]["device"]]))
    for form in document["forms"]:
        proof, where = form["proof"], "%s form %s" % (FLOOR, form["name"])
        bundle.expect("%s bound" % where, proof["bound"], HARMLESS)
        if not is_number(proof["largest"]) or proof["largest"] < 0 or type(proof["prompts"]) is not int or proof["prompts"] < 1:
            bundle.fail("%s proof" % where, "is %s, expected a change of 0 or more on one prompt or more" % short(proof))
            continue
        bundle.expect("%s holds" % where, proof["holds"], proof["largest"] < HARMLESS)
        bundle.expect("%s measured" % where, form["measured"], proof["holds"])


def judge_rows(bundle: Bundle, document: Json, measured: List[str]) -> None:
    """Rows are the first generated questions, then all of the protocol's, each with every measured form."""
    rows = document["rows"]
    generated = [row for row in rows if row["source"] == "generated"]
    if not generated or rows[: len(generated)] != generated:
        bundle.fail("%s rows" % FLOOR, "do not begin with generated questions")
    asked_there = [
        (item.line["request"], item.line["question"], item.modality, item.content, item.line["request_sha256"])
        for item in (asked(bundle) if bundle.generated else ())
    ]
    told = [(row["request"], row["question"], row["modality"], row["content"], row["request_sha256"]) for row in generated]
    common = min(len(told), len(asked_there))
    bundle.expect("%s generated questions" % FLOOR, told[:common], asked_there[:common])
    protocol = [
        (case["id"], name, case["modality"], case["id"], case["sha256"])
        for case in bundle.corpus()
        for name in case["request"]["questions"]
    ]
    found = [
        (row["request"], row["question"], row["modality"], row["content"], row["request_sha256"])
        for row in rows[len(generated) :]
    ]
    bundle.expect("%s protocol questions" % FLOOR, found, protocol)
    for number, row in enumerate(rows):
        where = "%s row %d" % (FLOOR, number)
        bundle.expect("%s forms" % where, list(row["forms"]), measured)
        count = len(floats(row["logits"]))
        for name, form in row["forms"].items():
            if len(floats(form["logits"])) != count or not is_number(form["hidden"]) or form["hidden"] < 0:
                bundle.fail("%s %s" % (where, name), "is %s, expected %d logits and a change of 0 or more" % (short(form), count))
            elif form["hidden"] == 0 and form["logits"] != row["logits"]:
                bundle.fail("%s %s" % (where, name), "an unmoved hidden row gave other logits")


def floor_summary(rows: Sequence[Json], form: str, temperatures: Json) -> Json:
    """Figures of one form by kind of prompt."""
    found: Json = {}
    for group in ("text", "image", "protocol"):
        mine = [row for row in rows if (row["source"] if row["source"] == "protocol" else row["modality"]) == group]
        if not mine:
            continue
        contents = [row["content"] for row in mine]
        draws, changes = content_draws(contents), [floor_change(row, form, temperatures) for row in mine]
        found[group] = {
            "questions": len(mine),
            "contents": len(set(contents)),
            "flips": sum(flip for _, flip in changes),
        }
        for measure in MEASURES:
            found[group][measure] = floor_spread([values[measure] for values, _ in changes], contents, draws)
    return found


def floor_change(row: Json, form: str, temperatures: Json) -> Tuple[Json, bool]:
    alone, other = floats(row["logits"]), floats(row["forms"][form]["logits"])
    p, q = (softmax(values, temperatures[row["modality"]]) for values in (alone, other))
    values = {
        "hidden": row["forms"][form]["hidden"],
        "steps": steps(alone, other),
        "probability": max(abs(a - b) for a, b in zip(p, q)),
    }
    return values, first_of(alone) != first_of(other)


def content_draws(contents: Sequence[str]) -> List[Dict[str, int]]:
    """How often each content was drawn in each resample."""
    names, source, draws = sorted(set(contents)), random.Random(FLOOR_SEED), []
    for _ in range(FLOOR_RESAMPLES):
        counts = dict.fromkeys(names, 0)
        for _ in names:
            counts[names[int(source.random() * len(names))]] += 1
        draws.append(counts)
    return draws


def floor_spread(values: Sequence[float], contents: Sequence[str], draws: Sequence[Dict[str, int]]) -> Json:
    """Quantiles with the ends of their 95% intervals."""
    ordered = sorted(zip(values, contents))
    if ordered[0][0] == ordered[-1][0]:
        return {name: dict.fromkeys(("value", "low", "high"), values[0]) for name, _ in FLOOR_QUANTILES}
    found: Dict[str, List[float]] = {name: [] for name, _ in FLOOR_QUANTILES}
    names, figures = [content for _, content in ordered], [value for value, _ in ordered]
    for counts in draws:
        ends = list(accumulate(map(counts.__getitem__, names)))  # how many of the sample lie at or before each value
        for name, q in FLOOR_QUANTILES:
            found[name].append(quantile_of_drawn(figures, ends, q))
    tail: Any = (1 - FLOOR_SHARE) / 2
    return {
        name: {
            "value": quantile(values, q),
            "low": quantile(found[name], tail),
            "high": quantile(found[name], 1 - tail),
        }
        for name, q in FLOOR_QUANTILES
    }


def quantile_of_drawn(values: Sequence[float], ends: Sequence[int], q: float) -> float:
    """The q-quantile of values in order, value i drawn ends[i] - ends[i - 1] times."""
    place = q * (ends[-1] - 1)
    low = int(place)
    first = values[bisect_right(ends, low)]
    second = values[bisect_right(ends, min(low + 1, ends[-1] - 1))]
    return first + (second - first) * (place - low)


def floor_band(summary: Json) -> Json:
    """The largest p99 of any form, by modality and measure."""
    return {
        modality: {
            measure: max(form[modality][measure]["p99"]["value"] for form in summary.values()) for measure in MEASURES
        }
        for modality in ("text", "image")
        if any(modality in form for form in summary.values())
    }
