"""Questions made from a seed: every line is whole and in its place, figures and gates follow from the lines."""

from __future__ import annotations

import math
import re
import struct
from typing import Any, Dict, Iterator, Tuple

from kit.evidence.audit.error_ratios import RATIO_BOUND, RATIO_PROMPTS, carries_faithful, error_ratios
from kit.evidence.audit.generated_figures import (
    generated_summary,
    generator_named,
    held_out,
    leaves,
    stage_facts,
)
from kit.evidence.audit.generated_lines import Asked, asked, generated_candidate
from kit.evidence.audit.reading import Bundle, compare_figures
from kit.evidence.audit.rules import GENERATED, GENERATED_LINES, GENERATED_STAGE, LABELS, Json
from kit.evidence.audit.values import is_number, short

LINE_KEYS = {
    "request", "modality", "content", "request_sha256", "question", "type", "candidates", "expected", "tokens",
    "reference", "candidate", "oracle",
}  # fmt: skip
UNJUDGED = ("how", "budget_s", "seconds")  # of generated.json; looked at apart


def check_generated(bundle: Bundle) -> None:
    """Generated questions: every line is whole and in its place, and generated.json follows from the lines."""
    if not bundle.generated:
        return
    header = {
        "format": "kit-generated/1",
        "generator": generator_named(bundle),
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
        bundle.fail("%s candidate action" % where, "is %s, expected what a forward can be" % short(line["candidate"]["action"]))


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
    """No request was asked twice; composed neighbours share a content, and held-out ones are labelled."""
    found = asked(bundle)
    digests = {item.line["request_sha256"] for item in found}
    if len(digests) != len(found) or not all(re.fullmatch("[0-9a-f]{64}", str(digest)) for digest in digests):
        bundle.fail("%s request_sha256" % GENERATED_LINES, "%d digests of %d requests, expected one SHA-256 each" % (len(digests), len(found)))
    if held_out(bundle):
        for item in found:
            if item.line["expected"] is None or not re.fullmatch("[0-9a-f]{16}", str(item.content)):
                bundle.fail("%s %s" % (GENERATED_LINES, short(item.line["request"])), "has no expected answer, or no content")
        return
    for modality in ("text", "image"):
        mine = [item.content for item in found if item.modality == modality]
        for index in range(0, len(mine) - 1, 2):
            if mine[index] != mine[index + 1] or not re.fullmatch("[0-9a-f]{16}", str(mine[index])):
                bundle.fail(
                    "%s content" % GENERATED_LINES,
                    "%s %d and its neighbour do not share one: %s" % (modality, index, short(mine[index : index + 2])),
                )


def judge_how(bundle: Bundle, told: Json) -> None:
    """How the answers came about: replays of proved shapes on a GPU, calls elsewhere; the stage's own word on the rest."""
    how, questions = told["how"], len(asked(bundle))
    bundle.expect("%s how" % GENERATED, sorted(how), ["reference", "replays", "shapes", "shapes_refused"])
    on_gpu = bundle.profile["runtime"]["device"] == "cuda"
    bundle.expect("%s how.reference" % GENERATED, how["reference"], "captured" if on_gpu else "called")
    counts = [how[name] for name in ("replays", "shapes", "shapes_refused")]
    if not all(type(count) is int and count >= 0 for count in counts) or (not on_gpu and any(counts)):
        bundle.fail("%s how" % GENERATED, "has counts %s, expected whole ones%s" % (short(counts), "" if on_gpu else " of 0"))
    elif how["replays"] + how["shapes"] + how["shapes_refused"] > questions or (how["replays"] > 0 and not how["shapes"]):
        bundle.fail("%s how" % GENERATED, "has counts %s, expected those of %d questions" % (short(counts), questions))
    stage, where = bundle.json("stages/%s.json" % GENERATED_STAGE), "stages/%s.json" % GENERATED_STAGE
    bundle.expect("%s budget_s" % GENERATED, told["budget_s"], stage["parameters"]["budget_s"])
    failed = [key[0] for key, _, _, passed in generated_gates(bundle) if not passed]
    bundle.expect("%s result" % where, sorted(stage["result"]), ["facts", "passed"])
    bundle.expect("%s result.passed" % where, stage["result"]["passed"], not failed)
    compare_figures(bundle, "%s result.facts" % where, stage["result"]["facts"], stage_facts(bundle, failed))
    spent = told["seconds"]
    if sorted(spent) != ["answering", "layers", "oracle"] or not all(is_number(x) and x >= 0 for x in spent.values()):
        bundle.fail("%s seconds" % GENERATED, "are %s, expected three of 0 or more" % short(spent))


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
