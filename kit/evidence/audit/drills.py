"""Every drill there must be ended as it must."""

from __future__ import annotations

from typing import List

from kit.evidence.audit.reading import Bundle
from kit.evidence.audit.rules import Json

RETURN_BYTES = 64 << 20  # device memory that may stay taken when a worker has ended


def check_drills(bundle: Bundle) -> None:
    """Every drill there must be was run and ended as it must; on a GPU its memory came back, by the figures."""
    if not bundle.native:
        return
    lines = bundle.jsonl("records/drills.jsonl")
    bundle.expect("records/drills.jsonl format", lines[0].get("format"), "kit-drills/1")
    bundle.expect(
        "records/drills.jsonl drills",
        [line["drill"] for line in lines[1:]],
        drills_of(bundle, lines[0]["engine"]),
    )
    for line in lines[1:]:
        where = "records/drills.jsonl %s" % line["drill"]
        missed = [name for name, kept in line["checks"].items() if kept is not True]
        if missed or not line["checks"] or line["passed"] is not True:
            bundle.fail(where, "failed: %s" % ", ".join(missed))
        if on_gpu(bundle) and line["drill"] in ("killed-worker", "stopped-worker"):
            check_returned(bundle, where, line["observed"]["memory"])


def drills_of(bundle: Bundle, engine: str) -> List[str]:
    """Names of the drills of this profile and protocol, in order."""
    profile = bundle.profile
    graph = profile["graph"]
    clears = (
        engine == "graph"
        and graph["text"]["entries"] > 0
        and graph["text"]["megabytes"] > 0
        and graph["scratch_tokens"] + 64 <= profile["limits"]["text_tokens"]
    )
    images = any(case["modality"] == "image" for case in bundle.corpus())
    names = [
        "refused-between-answers",
        "client-leaves-in-mid-body",
        "client-leaves-while-waiting",
        "killed-worker",
    ]
    names += ["graph-cache-cleared"] if clears else []
    names += (
        ["stopped-worker"]
        + (["not-finite-pixels"] if images else [])
        + ["not-finite-weights", "not-finite-served"]
    )
    return names + (["closed-engine"] if on_gpu(bundle) else [])


def on_gpu(bundle: Bundle) -> bool:
    return bool(bundle.profile["runtime"]["device"] == "cuda")


def check_returned(bundle: Bundle, where: str, memory: Json) -> None:
    """Device memory before a worker started and after it had gone."""
    start, end = memory["start_bytes"], memory["end_bytes"]
    if not (isinstance(start, int) and isinstance(end, int)):
        bundle.leave("device memory after a worker has gone: not visible")
    elif end > start + RETURN_BYTES:
        bundle.fail(where, "%d bytes of device memory did not come back" % (end - start))
