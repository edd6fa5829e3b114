"""What engines say of themselves: settings, operators, weights held, health, how they ended; all re-sealed."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import partial

from kit.evidence.attack.deeds import assign, change, drop, first
from kit.evidence.attack.mutation import Deed, Mutation, one_engine_each
from kit.evidence.attack.suspect import Content


def mutations(clean: Content, chance: random.Random) -> Iterator[Mutation]:
    yield from one_engine_each((m for engine in clean.engines(recorded=True) for m in of_engine(engine)), chance)
    yield from of_native(clean, chance)


def of_engine(engine: str) -> Iterator[Mutation]:
    record, facts = f"records/{engine}/worker.jsonl", f"records/{engine}/engine.json"
    made = partial(Mutation, "engines", files=(record, facts), sealing="resealed")
    for what, deed in said(record).items():
        yield made(f"{engine}: {what}", deed)
    for what, deed in reported(facts).items():
        yield made(f"{engine}: {what}", deed)


def of_native(clean: Content, chance: random.Random) -> Iterator[Mutation]:
    described = clean.json("records/native/engine.json")["describe"] if "native" in clean.engines() else {}
    record = "records/native/worker.jsonl"
    made = partial(Mutation, "engines", files=(record, "records/native/engine.json"), sealing="resealed")
    for key, value in (("dtype", "float64"), ("device", "tpu"), ("numerics", "fused"), ("backend", "cuda-graph")):
        if key in described:
            yield made(f"native: {key} of another run", assign(record, first(kind="ready"), "describe", key, to=value))
    if "ops" in described:
        op = chance.choice(sorted(described["ops"]))
        yield made("native: an op of another module", assign(record, first(kind="ready"), "describe", "ops", op, to="math.nan"))
        yield made("native: an op left out", drop(record, first(kind="ready"), "describe", "ops", op))


def said(record: str) -> dict[str, Deed]:
    """Edits of the ready line, which engine.json then repeats."""
    settings = (record, first(kind="ready"), "settings")
    describe = (record, first(kind="ready"), "describe")
    return {
        "TF32 in matrix products": assign(*settings, "cuda_matmul_allow_tf32", to=True),
        "TF32 in convolutions": assign(*settings, "cudnn_allow_tf32", to=True),
        "low precision of products": assign(*settings, "float32_matmul_precision", to="medium"),
        "more threads": assign(*settings, "threads", to=64),
        "no settings": assign(*settings, to={}),
        "another checkpoint": assign(*describe, "checkpoint_digest", to="1" * 64),
        "another sum of weights": assign(*describe, "weights_sum", to="2" * 64),
        "no sum of weights": drop(*describe, "weights_sum"),
        "kernels tuned late": assign(*describe, "autotune", "late", to=[["kernel", "key"]]),
        "another draw": assign(*describe, "autotune", "digest", to="3" * 64),
        "nothing said of itself": assign(*describe, to={}),
    }


def reported(facts: str) -> dict[str, Deed]:
    """Edits of engine.json alone."""
    return {
        "another backend than described": change(facts, "describe", by=lambda d: {**d, "backend": "other"}),
        "killed": assign(facts, "stopped", to="killed"),
        "an error kept": assign(facts, "error", to="the worker died"),
        "not READY before": assign(facts, "health_before", "status", to="LOADING"),
        "no health after": assign(facts, "health_after", to=None),
        "of another engine": assign(facts, "engine", to="fast"),
        "another format": assign(facts, "format", to="kit-engine/9"),
        "a faster start": change(facts, "start_seconds", by=lambda s: -s),
        "memory edited": assign(facts, "memory", to={"ready": {"reserved": 1}, "closed": {}}),
    }
