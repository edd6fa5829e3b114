"""What every document may hold: its keys, and what kind of value each has. A key nobody knows is refused.

Covers: keys and kinds, so that nothing stands in a bundle that no check ever reads as what it is. Does not cover:
whether a value is right. Records and documents of later stages come with the section that checks them.
"""

from __future__ import annotations

import re
from typing import Any, Dict, Iterator, NamedTuple, Tuple

from kit.evidence.audit.reading import Bundle
from kit.evidence.audit.rules import ENGINES, NOT_VISIBLE, SENTINEL
from kit.evidence.audit.values import is_number, short

MOST_FAULTS = 20  # of one document; more say nothing new


class Each(NamedTuple):
    """An object with keys of its own choice, each value of one kind."""

    of: Any


class Text(NamedTuple):
    """A text that matches a pattern as a whole."""

    pattern: str


class One(NamedTuple):
    """One of a few values."""

    of: Tuple[Any, ...]


COUNT, WHOLE, NUMBER, FLAG, ANY = "a count", "a whole number", "a finite number", "true or false", "anything"
TEXT = Text(r"(?s).{0,4000}")
DIGEST, HEX = Text(r"[0-9a-f]{64}"), Text(r"([0-9a-f]{8})*")
UTC = Text(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")
SEEN = (COUNT, One((NOT_VISIBLE, "not supported")))  # what a driver may refuse to say

ENGINE = One(ENGINES)
COUNTERS_OF_A_CACHE = dict.fromkeys(
    ("captures", "replays", "evictions", "invalidations", "fallbacks", "captured_bytes", "entries", "bytes", "pool_bytes"),
    COUNT,
)
CACHE_COUNTERS: Tuple[Dict[str, Any], ...] = ({}, dict.fromkeys(("text", "multimodal", "vision"), COUNTERS_OF_A_CACHE))
BOUNDS = {"entries": COUNT, "megabytes": COUNT}
GRAPH = {"policy": One(("fifo", "lru")), "scratch_tokens": COUNT, "text": BOUNDS, "multimodal": BOUNDS, "vision": BOUNDS}
MEMORY: Tuple[Dict[str, Any], ...] = (
    {},
    {
        "allocated": COUNT, "reserved": COUNT, "pools": COUNT, "peak_allocated": COUNT, "peak_reserved": COUNT,
        "outside": (COUNT, None),
    },
)  # fmt: skip
SETTINGS = {
    "threads": COUNT, "interop_threads?": COUNT, "float32_matmul_precision": TEXT, "cuda_matmul_allow_tf32": FLAG,
    "cudnn_allow_tf32": FLAG, "deterministic_algorithms?": FLAG, "cpu_capability?": TEXT, "environment": Each(TEXT),
}  # fmt: skip
WINNER = {"kernel": TEXT, "key": [(COUNT, FLAG, TEXT, None)], "config": Each(ANY)}
AUTOTUNE_TOLD = {"digest": DIGEST, "entries": COUNT, "installed": FLAG, "late": [ANY]}

SNAPSHOT = (
    {"taken_utc": UTC, "visible": One((False,)), "reason": TEXT},
    {
        "taken_utc": UTC, "visible": One((True,)), "name": TEXT, "uuid_sha256": TEXT, "driver": TEXT, "cuda_driver": TEXT,
        "capability": TEXT, "mig": One(("off", "on", "not supported", NOT_VISIBLE)),
        "ecc_uncorrected": SEEN, "ecc_corrected": SEEN,
        "clocks_mhz": {"sm": SEEN, "sm_most": SEEN, "memory": SEEN},
        "slowdowns": ([TEXT], One((NOT_VISIBLE, "not supported"))), "temperature_c": SEEN,
        "power_w": (NUMBER, *SEEN), "power_limit_w": (NUMBER, *SEEN),
        "memory": {"total_bytes": SEEN, "used_bytes": SEEN, "own_bytes": SEEN},
        "processes": ({"own": COUNT, "run": COUNT, "others": COUNT}, One((NOT_VISIBLE,))), "processes_listed": SEEN,
    },
)  # fmt: skip

ROW = {  # of drift.json; what is measured on raw logits is null where there are none
    "engine": ENGINE, "against": One(("fresh", "frozen")), "request": TEXT, "question": TEXT,
    "type": One(("choice", "noul", "score")), "modality": One(("text", "image")), "reference_winner": TEXT, "winner": TEXT,
    "reference_margin": NUMBER, "probability_drift": NUMBER, "confidence_drift": NUMBER, "noul_drift": (NUMBER, None),
    "expected_drift": (NUMBER, None), "winner_same": FLAG, "tokens_same": FLAG, "shape_same": FLAG,
    "hidden_equal": (FLAG, None), "logits_equal": (FLAG, None), "max_steps": (NUMBER, None),
    "detectable_steps": (COUNT, None), "detectable_logit": (NUMBER, None), "room?": FLAG,
    "lattice": {"holds": FLAG, "exponent": (WHOLE, None)},
}  # fmt: skip
FIGURE = {
    "engine": TEXT, "workload": TEXT, "way": TEXT, "pass?": COUNT, "tokens": (COUNT, None), "samples": COUNT,
    "median_ms": NUMBER, "p95_ms": NUMBER, "min_ms": NUMBER, "max_ms": NUMBER, "speedup?": (NUMBER, None),
    "peak_gib": (NUMBER, None), "class": TEXT, "drift": (NUMBER, None), "device_median_ms?": (NUMBER, None),
    "cold_ms?": (NUMBER, None), "pool_gib?": NUMBER, "ratios?": Each({"ratio": NUMBER, "low": NUMBER, "high": NUMBER}),
}  # fmt: skip
MOVED = {"row": NUMBER, "steps": NUMBER}
SURENESS = [{"over": NUMBER, "to": NUMBER, "questions": COUNT, "confidence": NUMBER, "right": COUNT}]
RIGHT_ANSWERS = {  # of drift.json, where a profile is judged
    "requests": COUNT, "questions": COUNT,
    "passes": [{
        "engine": ENGINE, "pass": COUNT, "correct": COUNT, "of": COUNT, "requests_right": COUNT,
        "wrong": [{"request": TEXT, "question": TEXT, "expected": TEXT, "chosen": (TEXT, None), "margin": (NUMBER, None)}],
    }],
    "mcnemar": [{"engine": ENGINE, "against": ENGINE, "lost": COUNT, "won": COUNT, "p": (NUMBER, None)}],
    "reliability": [{"engine": ENGINE, "ece": NUMBER, "bins": SURENESS}],
}  # fmt: skip

SHAPES: Dict[str, Any] = {
    "run.json": {
        "format": TEXT, "id": Text(r"[\w.-]{1,100}"), "profile": TEXT, "profile_sha256": DIGEST, "protocol_sha256": DIGEST,
        "started_utc": UTC, "kit_version": TEXT,
    },
    "profile.json": {
        "format": TEXT, "name": TEXT, "claim": TEXT, "description": TEXT, "scope": TEXT, "not_covered": [TEXT],
        "campaign": {"engines": [ENGINE], "frontend": FLAG, "passes": COUNT, "reference": TEXT, "remote_url": TEXT},
        "checkpoint": {
            "adapter": TEXT, "adapter_revision": TEXT, "base": TEXT, "base_revision": TEXT, "digest": TEXT,
            "generator": TEXT, "kind": TEXT, "pins": TEXT, "seed": WHOLE,
        },
        "gates": Each(NUMBER), "generated?": {"questions": COUNT, "seed": COUNT, "source?": One(("composed", "held-out"))}, "graph": GRAPH,
        "limits": {"image_tokens": COUNT, "text_tokens": COUNT},
        "model": {"aliases": [TEXT], "name": TEXT},
        "protocol": {
            "answers?": TEXT, "frozen": FLAG, "frozen_steps?": COUNT, "judged?": FLAG, "least_right?": COUNT, "path": TEXT, "pins?": TEXT, "sha256": TEXT,
        },
        "runtime": {
            "device": One(("cpu", "cuda")), "dtype": One(("bfloat16", "float32", "float64")), "numerics": TEXT,
            "threads": COUNT,
        },
    },
    "environment.json": {
        "format": TEXT, "python": TEXT, "implementation?": TEXT, "unicodedata?": TEXT,
        "platform?": {"system": TEXT, "machine": TEXT, "libc": TEXT},
        "cpu?": {"model": (TEXT, None), "logical_cores": (COUNT, None), "instruction_sets": [TEXT]},
        "device?": {
            "kind": One(("cpu", "cuda")), "name?": TEXT, "count?": COUNT, "capability?": TEXT, "memory_bytes?": COUNT,
            "driver?": TEXT, "cuda?": (TEXT, None), "cudnn?": (COUNT, None),
        },
        "versions?": Each(TEXT),
        "packages": Each({
            "version?": TEXT, "status": One(("ok", "changed", "not checked", "absent")), "files?": COUNT, "reason?": TEXT,
            "changed?": [TEXT],
        }),
        "settings": SETTINGS,
        "autotune": {"source": TEXT, "digest": DIGEST, "winners": [WINNER]},
    },
    "checkpoint.json": {
        "format": TEXT, "kind": TEXT, "source": TEXT, "digest": TEXT, "files": Each(DIGEST),
        "tensors": {"base": Each(COUNT), "adapter": Each(COUNT)}, "weights_sum?": (DIGEST, None), "tokenizer": TEXT,
        "calibration": {"temperature": NUMBER, "mm_temperature": NUMBER, "threshold": (NUMBER, None)},
        "label_head": {"ids": [COUNT], "rows_sha256": DIGEST, "file": TEXT, "shape": [COUNT]},
    },
    "device.json": {
        "format": TEXT, "kind": One(("cpu", "cuda")), "before?": SNAPSHOT, "after?": SNAPSHOT,
        "verdict?": {"alone": TEXT, "problems": [TEXT], "unseen": [TEXT]},
    },
    "records/autotune.json": {
        "format": TEXT, "source": TEXT, "digest": DIGEST, "winners": [WINNER], "heads": (Each(COUNT), None),
        "lengths": [COUNT], "seconds": [NUMBER], "repeats": {"calls": COUNT, "lengths": COUNT, "different": COUNT},
        "origin": {"device": TEXT, "versions": Each((TEXT, None)), "environment": Each(TEXT)},
    },
    "sources.json": {"format": TEXT, "before": Each(DIGEST), "after": Each(DIGEST), "archive": TEXT, "archive_sha256": DIGEST},
    "counters.json": {
        "format": TEXT,
        "engines": {
            "reference?": {"counters": CACHE_COUNTERS}, "native?": {"counters": CACHE_COUNTERS},
            "remote?": {"counters": CACHE_COUNTERS},
            "graph?": {
                "counters": CACHE_COUNTERS, "phases": [ANY], "mismatches": Each([TEXT]),
                "ready": {"reported": (CACHE_COUNTERS, None), "predicted": CACHE_COUNTERS},
                "closed": {"reported": (CACHE_COUNTERS, None), "predicted": CACHE_COUNTERS},
            },
        },
    },
    "drift.json": {
        "format": TEXT, "rows": [ROW], "worst": Each(Each((NUMBER, None))), "missing?": [ANY], "accuracy?": RIGHT_ANSWERS,
    },
    "operators.json": {
        "format": TEXT, "device": TEXT, "dtype": TEXT, "seed": COUNT,
        "checks": [{
            "op": TEXT, "variant": TEXT, "against": TEXT, "shape": TEXT, "elements": COUNT, "different": WHOLE,
            "max_abs": NUMBER, "relative_l2": NUMBER, "nan": WHOLE, "repeats": COUNT, "repeats_different": WHOLE,
            "changed_different": WHOLE, "replays": COUNT, "replay_different": WHOLE, "replay_error?": TEXT,
        }],
        "totals": Each(WHOLE), "ops": [TEXT],
        "proofs": [{
            "op": TEXT, "key": TEXT, "choice": One(("kernel", "twin")), "elements": COUNT, "different": COUNT,
            "reason": TEXT,
        }],
    },
    "signal.json": {
        "format": TEXT, "checkpoint_digest": TEXT, "floor": TEXT, "summary": Each(ANY),
        "questions": [{
            "request": TEXT, "question": TEXT, "modality": TEXT, "tokens": COUNT, "probability": NUMBER,
            "logits": [NUMBER], "floor": MOVED, "swap": MOVED, "adapter": MOVED, "image?": MOVED,
        }],
    },
    "performance.json": {
        "format": TEXT, "profile": TEXT, "reference": (TEXT, None), "unit": TEXT, "notes": [TEXT],
        "start_seconds": Each((NUMBER, None)), "first_answer_seconds": Each((NUMBER, None)), "rows": [FIGURE],
        "measured?": Each(ANY),  # its own section has its shape
    },
    "verdict.json": {
        "format": TEXT, "verdict": One(("pass", "fail")), "profile": TEXT, "claim": TEXT, "run": TEXT, "scope": TEXT,
        "not_covered": [TEXT], "against": [TEXT], "max_probability_drift": (NUMBER, None), "drift": Each(Each((NUMBER, None))),
        "counts": {
            "requests": COUNT, "questions": COUNT, "posts": COUNT, "ok": COUNT, "rejected": COUNT, "by_engine": Each(COUNT),
        },
        "accuracy?": {"engine": ENGINE, "correct": COUNT, "of": COUNT, "requests_right": COUNT, "requests": COUNT},
        "gates": [{
            "gate": TEXT, "engine": (ENGINE, None), "against": (TEXT, None), "passed": FLAG, "value": (NUMBER, TEXT, None),
            "bound": (NUMBER, TEXT), "detail": TEXT,
        }],
        "failures": [TEXT],
    },
}  # fmt: skip
STAGE = {
    "format": TEXT, "stage": TEXT, "profile_sha256": DIGEST, "parameters": Each((TEXT, NUMBER, FLAG, [TEXT], None)),
    "result": Each(ANY), "sentinel": One((SENTINEL,)),
}  # fmt: skip
HEALTH = (Each((TEXT, NUMBER, FLAG, None)), None)
ENGINE_FACTS = {
    "format": TEXT, "engine": ENGINE, "health_before": HEALTH, "health_after": HEALTH, "health_after_refused": [HEALTH],
    "start_seconds": (NUMBER, None), "stopped": TEXT, "backend": TEXT, "describe": Each(ANY), "counters": CACHE_COUNTERS,
    "memory?": {"ready": MEMORY, "closed": MEMORY}, "error?": (TEXT, None),
}  # fmt: skip
EXCHANGE = {
    "n": COUNT, "target": One(("worker", "frontend")), "phase": TEXT, "pass": COUNT, "sequence": (COUNT, None),
    "request_id": TEXT, "modality": One(("text", "image")), "expect": COUNT, "status": COUNT, "request_sha256": DIGEST,
    "response_sha256": (DIGEST, None), "started_utc": TEXT, "finished_utc": TEXT, "started_ns": COUNT, "finished_ns": COUNT,
}  # fmt: skip
EVENT = {
    "sequence": (COUNT, None), "warmup": (One(("text", "image")), None), "grids": [[COUNT]], "key": TEXT,
    "action": One(("eager", "capture", "replay", "fallback")), "bytes": WHOLE, "pool": WHOLE,
}  # fmt: skip
WORKER = {
    "vision": {"kind": TEXT, **EVENT},
    "question": {
        "kind": TEXT, **EVENT, "question": TEXT, "index": COUNT, "type": TEXT, "candidates": [TEXT], "tokens": COUNT,
        "ms": NUMBER, "logits": HEX, "hidden": DIGEST,
    },
    "ready": {
        "kind": TEXT, "describe": Each(ANY), "counters": CACHE_COUNTERS, "memory?": MEMORY, "settings": SETTINGS,
        "load_seconds": NUMBER,
    },
    "post": {
        "kind": TEXT, "sequence": COUNT, "path": TEXT, "status": COUNT, "request_sha256": DIGEST,
        "response_sha256": (DIGEST, None), "input_tokens": (COUNT, None), "temperature": (NUMBER, None),
        "latency_ms": NUMBER, "timings_ms": Each(NUMBER), "counters": CACHE_COUNTERS,
    },
    "closed": {"kind": TEXT, "counters": CACHE_COUNTERS, "autotune?": AUTOTUNE_TOLD, "memory?": MEMORY},
}  # fmt: skip


def check_shapes(bundle: Bundle) -> None:
    """Every document and record has the keys it may have, each with a value of its kind."""
    for name, shape in SHAPES.items():
        if bundle.exists(name):
            hold(bundle, name, bundle.json(name), shape)
    for stage in bundle.stages():
        if bundle.exists("stages/%s.json" % stage):
            hold(bundle, "stages/%s.json" % stage, bundle.json("stages/%s.json" % stage), STAGE)
    for engine in bundle.engines:
        name = "records/%s/engine.json" % engine
        hold(bundle, name, bundle.json(name), ENGINE_FACTS)
        for line in bundle.exchanges(engine):
            hold(bundle, "records/%s/exchanges.jsonl n=%s" % (engine, short(line.get("n"))), line, EXCHANGE)
    unknown = {"kind": One(tuple(WORKER))}
    for engine in bundle.recorded_engines:
        for number, line in enumerate(bundle.worker(engine), 2):
            name = "records/%s/worker.jsonl line %d" % (engine, number)
            hold(bundle, name, line, WORKER.get(str(line.get("kind")), unknown))


def hold(bundle: Bundle, name: str, value: Any, shape: Any) -> bool:
    """Hold a value against its shape and name what is wrong; whether nothing was."""
    if conforms(value, shape):
        return True
    for count, (place, message) in enumerate(faults(value, shape)):
        if count == MOST_FAULTS:
            bundle.fail(name, "and more of this")
            break
        bundle.fail(name + place, message)
    return False


def conforms(value: Any, shape: Any) -> bool:
    """Whether a value is of its shape: what `faults` finds out, without the words."""
    kind = type(shape)
    if kind is dict:
        if not isinstance(value, dict):
            return False
        met = 0
        for key, one in shape.items():
            name = key[:-1] if key[-1] == "?" else key
            if name in value:
                met += 1
                if not conforms(value[name], one):
                    return False
            elif name is key:
                return False
        return met == len(value)
    if kind is tuple:
        return any(conforms(value, one) for one in shape)
    if kind is list:
        return isinstance(value, list) and all(conforms(item, shape[0]) for item in value)
    if kind is Each:
        return isinstance(value, dict) and all(conforms(item, shape.of) for item in value.values())
    return fits(value, shape)


def faults(value: Any, shape: Any, place: str = "") -> Iterator[Tuple[str, str]]:
    """(where in the document, what is wrong) of everything that is not of its shape."""
    if isinstance(shape, tuple) and type(shape) is tuple:
        tried = [list(faults(value, one, place)) for one in shape]
        if not any(not found for found in tried):
            yield from min(tried, key=lambda found: (sum(at == place for at, _ in found), len(found)))
    elif isinstance(shape, dict):
        yield from faults_of_object(value, shape, place)
    elif isinstance(shape, Each):
        if not isinstance(value, dict):
            yield place, "is %s, expected an object" % short(value)
        else:
            for key in value:
                yield from faults(value[key], shape.of, "%s %s" % (place, short(key)))
    elif isinstance(shape, list):
        if not isinstance(value, list):
            yield place, "is %s, expected a list" % short(value)
        else:
            for index, item in enumerate(value):
                yield from faults(item, shape[0], "%s [%d]" % (place, index))
    elif not fits(value, shape):
        yield place, "is %s, expected %s" % (short(value), wanted(shape))


def faults_of_object(value: Any, shape: Dict[str, Any], place: str) -> Iterator[Tuple[str, str]]:
    if not isinstance(value, dict):
        yield place, "is %s, expected an object" % short(value)
        return
    known = {key.rstrip("?"): key for key in shape}
    for key in value:
        if key not in known:
            yield "%s %s" % (place, short(key)), "is there, and nothing of that name belongs there"
    for name, key in known.items():
        if name in value:
            yield from faults(value[name], shape[key], "%s %s" % (place, name))
        elif not key.endswith("?"):
            yield "%s %s" % (place, name), "is missing"


def fits(value: Any, shape: Any) -> bool:
    """Whether a plain value is of its kind."""
    if isinstance(shape, Text):
        return isinstance(value, str) and re.fullmatch(shape.pattern, value) is not None
    if isinstance(shape, One):
        return any(value == one and type(value) is type(one) for one in shape.of)
    if shape in (COUNT, WHOLE):
        return type(value) is int and (shape == WHOLE or value >= 0)
    if shape == FLAG:
        return isinstance(value, bool)
    return shape == ANY or (value is None if shape is None else is_number(value))


def wanted(shape: Any) -> str:
    if isinstance(shape, Text):
        return "a text" if shape == TEXT else "a text like %s" % shape.pattern
    return "one of %s" % short(list(shape.of)) if isinstance(shape, One) else "null" if shape is None else str(shape)
