"""A few generated questions layer by layer: which were walked, and what is said of all of them together."""

from __future__ import annotations

import statistics
from typing import Any, Dict, List, Tuple

from kit.evidence.audit.generated_lines import asked, generated_candidate
from kit.evidence.audit.reading import Bundle
from kit.evidence.audit.rules import LAYERS, Json
from kit.evidence.audit.values import is_number, same, short

STEP_BINS = [0.0, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 64.0]  # upper ends of a histogram of BF16 steps
WALKED = 2  # requests of each modality
COLUMNS = ("elements", "different", "relative_rms", "max_steps", "limit", "over")


def check_layers(bundle: Bundle) -> None:
    """layers.json is about the first generated questions, its columns are whole, and its summaries follow from them.

    Its bounds are leads for people; no gate reads them.
    """
    if not bundle.generated:
        return
    document, candidate = bundle.json(LAYERS), generated_candidate(bundle)
    bundle.expect("%s keys" % LAYERS, sorted(document), ["checkpoint_digest", "format", "oracle_ratio", "pairs", "rows", "steps"])
    bundle.expect("%s checkpoint_digest" % LAYERS, document["checkpoint_digest"], bundle.json("checkpoint.json")["digest"])
    bundle.expect("%s rows" % LAYERS, document["rows"], "all")
    bundle.expect("%s steps" % LAYERS, document["steps"], STEP_BINS)
    pairs = [(candidate, "reference"), ("reference", "oracle"), (candidate, "oracle")]
    bundle.expect("%s pairs" % LAYERS, [(p["engine"], p["against"]) for p in document["pairs"]], pairs)
    walked = [
        item.line for kind in ("text", "image") for item in [x for x in asked(bundle) if x.modality == kind][:WALKED]
    ]
    wanted = [(line["request"], line["question"], line["modality"], line["tokens"]) for line in walked]
    for pair in document["pairs"]:
        where = "%s %s against %s" % (LAYERS, pair["engine"], pair["against"])
        bundle.expect("%s bound" % where, pair["bound"], "rounding" if pair["against"] == "oracle" else "bits")
        prompts = [(p["request"], p["question"], p["modality"], p["tokens"]) for p in pair["prompts"]]
        bundle.expect("%s prompts" % where, prompts, wanted)
        for prompt in pair["prompts"]:
            judge_walk(bundle, "%s %s" % (where, prompt["request"]), prompt, pair["bound"])
        bundle.expect("%s worst" % where, pair["worst"], worst_stages(pair["prompts"]))
        bundle.expect("%s over" % where, pair["over"], sum(sum(p["over"]) for p in pair["prompts"]))
    told, expected = document["oracle_ratio"], {candidate: median_ratios(document["pairs"])}
    bundle.expect("%s oracle_ratio" % LAYERS, sorted(told), sorted(expected))
    for stage, value in expected[candidate].items():
        if stage not in told.get(candidate, {}) or not same(told[candidate][stage], value):
            bundle.fail("%s oracle_ratio %s" % (LAYERS, stage), "is %s, recomputed %s" % (short(told.get(candidate, {}).get(stage)), value))
    bundle.expect("%s oracle_ratio stages" % LAYERS, list(told.get(candidate, {})), list(expected[candidate]))


def judge_walk(bundle: Bundle, where: str, prompt: Json, bound: Any) -> None:
    """One prompt: as many figures in each column as stages, none over its bound unsaid, hidden row and logits last."""
    stages = prompt["stages"]
    if len(set(stages)) != len(stages) or stages[-2:] != ["hidden", "logits"]:
        bundle.fail("%s stages" % where, "are %s, expected distinct ones that end in hidden, logits" % short(stages))
    for column in COLUMNS:
        if len(prompt[column]) != len(stages):
            bundle.fail("%s %s" % (where, column), "has %d figures, expected %d" % (len(prompt[column]), len(stages)))
    over: List[bool] = []
    for index, stage in enumerate(stages):
        elements, different, rms, most, limit, _ = (prompt[column][index] for column in COLUMNS)
        if type(elements) is not int or type(different) is not int or not 0 <= different <= elements or not elements:
            bundle.fail("%s %s" % (where, stage), "has %s of %s elements that differ" % (short(different), short(elements)))
        if not all(value is None or (is_number(value) and value >= 0) for value in (rms, most, limit)):
            bundle.fail("%s %s" % (where, stage), "has figures %s, expected none under 0" % short([rms, most, limit]))
        if not prompt["problems"].get(stage) and (different == 0) != (rms == 0 and most == 0):
            bundle.fail("%s %s" % (where, stage), "%s elements differ by a relative RMS of %s" % (different, short(rms)))
        if bound == "bits" and limit is not None:
            bundle.fail("%s %s" % (where, stage), "has a limit of %s where no bit may differ" % short(limit))
        beyond = different > 0 if limit is None else rms is None or rms > limit
        over.append(bool(prompt["problems"].get(stage)) or beyond)
    bundle.expect("%s over" % where, prompt["over"], over)
    first = next((stage for stage, beyond in zip(stages, over) if beyond), None)
    bundle.expect("%s first_over" % where, prompt["first_over"], first)


def worst_stages(prompts: List[Json]) -> Json:
    """Stage -> largest relative RMS of all prompts, None where one has none."""
    longest: List[str] = max((prompt["stages"] for prompt in prompts), key=len)
    found: Dict[str, List[Any]] = {stage: [] for stage in longest}
    for prompt in prompts:
        for stage, value in zip(prompt["stages"], prompt["relative_rms"]):
            found[stage].append(value)
    return {stage: None if None in values else max(values) for stage, values in found.items()}


def median_ratios(pairs: List[Json]) -> Json:
    """Stage -> median of the candidate's error over the reference's, both against the oracle."""
    reference, candidate = (
        {
            (prompt["request"], prompt["question"]): dict(zip(prompt["stages"], prompt["relative_rms"]))
            for prompt in pair["prompts"]
        }
        for pair in pairs[1:3]
    )
    ratios: Dict[str, List[float]] = {stage: [] for stage in max(candidate.values(), key=len)}
    places: List[Tuple[Any, Any]] = list(candidate)
    for place in places:
        for stage, error in candidate[place].items():
            theirs = reference.get(place, {}).get(stage)
            if error is not None and theirs:
                ratios[stage].append(error / theirs)
    return {stage: statistics.median(found) if found else None for stage, found in ratios.items()}
