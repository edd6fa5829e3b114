"""Several draws compared, where a run holds such a comparison."""

from __future__ import annotations

import json
from typing import Dict, List

from kit.evidence.audit.autotune import checked_winners
from kit.evidence.audit.drift import steps
from kit.evidence.audit.numbers import floats, softmax
from kit.evidence.audit.reading import Bundle, compare_figures
from kit.evidence.audit.rules import DRAWS, Json
from kit.evidence.audit.values import digest_of, short


def check_draws(bundle: Bundle) -> None:
    """Where several draws were compared: native equals the reference in each, and the summary follows from the rows."""
    if not bundle.exists(DRAWS):
        return
    document, run = bundle.json(DRAWS), bundle.json("run.json")
    for name in ("profile_sha256", "protocol_sha256"):
        bundle.expect("%s %s" % (DRAWS, name), document[name], run[name])
    sources = digest_of(bundle.json("sources.json")["before"])
    bundle.expect("%s sources_sha256" % DRAWS, document["sources_sha256"], sources)
    digest = bundle.json("checkpoint.json")["digest"]
    bundle.expect("%s checkpoint_digest" % DRAWS, document["checkpoint_digest"], digest)
    bundle.expect("%s temperatures" % DRAWS, document["temperatures"], bundle.temperatures())
    draws = document["draws"]
    if not draws or not draws[0]["rows"]:
        bundle.fail(DRAWS, "compares nothing")
        return
    asked = [
        (case["id"], name, case["modality"])
        for case in bundle.corpus()
        for name in case["request"]["questions"]
    ]
    for number, draw in enumerate(draws, 1):
        where = "%s draw %d" % (DRAWS, number)
        checked_winners(bundle, where, draw)
        rows = [(row["request"], row["question"], row["modality"]) for row in draw["rows"]]
        requests = {row[0] for row in rows}
        bundle.expect("%s questions" % where, rows, [item for item in asked if item[0] in requests])
        if rows != [(row["request"], row["question"], row["modality"]) for row in draws[0]["rows"]]:
            bundle.fail(where, "asks other questions than the first draw")
    if not document["repeats"] or any(repeat["calls"] < 2 for repeat in document["repeats"]):
        bundle.fail("%s repeats" % DRAWS, "repeats nothing")
    expected = draws_summary(document)
    told = document["summary"]
    pairs = [
        dict(summary, between=[pair["draws"] for pair in summary["between"]]) for summary in (told, expected)
    ]
    compare_figures(bundle, "%s summary" % DRAWS, *pairs)
    for one, two in zip(told["between"], expected["between"]):
        compare_figures(bundle, "%s summary between %s" % (DRAWS, two["draws"]), one, two)
    if bundle.profile["claim"] == "exact":
        for name in ("native_different", "repeats_different", "late"):
            found = expected[name]
            if any(found) if isinstance(found, list) else found:
                bundle.fail("%s %s" % (DRAWS, name), "is %s, an exact claim allows none" % short(found))


def draws_summary(document: Json) -> Json:
    """What draws.json must say its draws differ by."""
    draws = document["draws"]
    choices: Dict[str, set[str]] = {}
    for draw in draws:
        for kernel in {winner["kernel"] for winner in draw["winners"]}:
            mine = [[w["key"], w["config"]] for w in draw["winners"] if w["kernel"] == kernel]
            choices.setdefault(kernel, set()).add(json.dumps(mine, sort_keys=True))
    return {
        "draws": len(draws),
        "distinct": len({draw["digest"] for draw in draws}),
        "questions": len(draws[0]["rows"]),
        "native_different": [sum(row["native"] != row["reference"] for row in draw["rows"]) for draw in draws],
        "late": sum(len(draw["late"]) for draw in draws),
        "repeats_different": sum(repeat["different"] for repeat in document["repeats"]),
        "kernels": {name: len(found) for name, found in sorted(choices.items()) if len(found) > 1},
        "between": [
            dict(between(draws[a]["rows"], draws[b]["rows"], document["temperatures"]), draws=[a + 1, b + 1])
            for a in range(len(draws)) for b in range(a + 1, len(draws))
        ],
    }  # fmt: skip


def between(one: List[Json], two: List[Json], temperatures: Json) -> Json:
    """How far the reference's rows under two draws are apart."""
    found: Json = {"hidden": 0, "logits": 0, "flips": 0, "max_steps": 0.0, "max_probability": 0.0}
    for a, b in zip(one, two):
        x, y = floats(a["reference"]["logits"]), floats(b["reference"]["logits"])
        p, q = (softmax(values, temperatures[a["modality"]]) for values in (x, y))
        found["hidden"] += a["reference"]["hidden"] != b["reference"]["hidden"]
        found["logits"] += x != y
        found["flips"] += x.index(max(x)) != y.index(max(y))
        found["max_steps"] = max(found["max_steps"], steps(x, y))
        found["max_probability"] = max(found["max_probability"], *(abs(m - n) for m, n in zip(p, q)))
    return found
