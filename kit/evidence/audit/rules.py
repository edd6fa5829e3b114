"""What every section agrees on: versions, gates, names of engines and stages, the role of every file, the two errors."""

from __future__ import annotations

from typing import Any, Dict, Tuple

AUDIT_VERSION = 4
GATES = {"probability": 0.02, "confidence": 0.02, "noul": 0.02, "expected_value": 0.1, "winner_margin": 0.05}
SLACK = 1e-12  # on bounds, and between two computations of one figure
SUM_TOLERANCE = 1e-6
STEP_SLACK = 1e-6  # of BF16 steps that are read off probabilities
LABELS = 32
MOST_LISTED = 50
NUMBER_TYPES = {"BF16": "bfloat16", "F16": "float16", "F32": "float32", "F64": "float64"}  # by their names in shards
NOT_VISIBLE = "not visible"  # what the device's driver refused to say
# What is larger than anything a run leaves is refused before it is read.
MOST_BYTES = 1 << 28  # of a file, and of an unpacked archive
MOST_FILES = 100_000
MOST_IN_ALL = 4 << 30
MOST_LINES = 250_000  # of a record
MOST_PROBLEMS = 10_000  # that are kept; more are counted
MOST_TEXT = 1 << 20  # of a program text that is parsed
MOST_OF_SUMS = 8 << 20  # bytes of a checksum file
MOST_PASSES = 100
LONGEST_NAME = 400  # of a value that the result repeats
DEEPEST = 32  # folders within folders
EXIT_CODES = {"pass": 0, "fail": 1, "not-judged": 2}
ENGINES = ("reference", "native", "graph", "remote")
CACHES = ("text", "multimodal", "vision")
COUNTERS = ("captures", "replays", "evictions", "invalidations", "fallbacks", "captured_bytes")
STAGES = (
    "01_preflight", "02_checkpoint", "03_reference", "04_native_eager", "04_remote", "05_native_graph",
    "06_operators", "07_faults", "08_drift", "08_generated", "09_performance", "10_evidence",
)  # fmt: skip
ENGINE_STAGES = {
    "03_reference": "reference", "04_native_eager": "native", "04_remote": "remote", "05_native_graph": "graph",
}  # fmt: skip
OPERATORS = "06_operators"
NATIVE_STAGES = (OPERATORS, "07_faults")
GENERATED_STAGE = "08_generated"
SENTINEL = "finished"
FROZEN_ONLY = "judged against the answers frozen with the protocol alone: no reference engine was run"
# Every file has one of these roles. Documents have a format; the rest is there, or may be there.
DOCUMENTS = {
    "run.json": "kit-run/1",
    "profile.json": "kit-profile/1",
    "environment.json": "kit-environment/1",
    "checkpoint.json": "kit-checkpoint/1",
    "device.json": "kit-device/1",
    "records/autotune.json": "kit-autotune/1",
    "sources.json": "kit-sources/1",
    "counters.json": "kit-counters/1",
    "drift.json": "kit-drift/1",
    "performance.json": "kit-performance/2",
    "verdict.json": "kit-verdict/1",
}
OPERATOR_DOCUMENTS = {"operators.json": "kit-operators/1", "signal.json": "kit-signal/1"}
MEASURED_DOCUMENTS = {"records/performance_samples.json": "kit-performance-samples/1"}
GENERATED, GENERATED_LINES, LAYERS = "generated.json", "records/generated.jsonl", "layers.json"
GENERATED_DOCUMENTS = {GENERATED: "kit-generated/1", LAYERS: "kit-layers/1"}
FLOOR, FAULTS = "records/floor.json", "records/faults.json"
OPTIONAL_DOCUMENTS = {"records/draws.json": "kit-draws/1", FLOOR: "kit-floor/1", FAULTS: "kit-faults/1", "diagnosis.json": "kit-diagnosis/1"}
CRATE = "ro-crate-metadata.json"
PLAIN = ("profile.toml", "source.tar.gz", CRATE, "report.html", "audit.py", "protocol/corpus.jsonl")
LEDGER, DRAWS, SAMPLES = "records/autotune.json", "records/draws.json", "records/performance_samples.json"
ANSWERS = "reference.json"  # the file of frozen answers where the profile names no other
CHECKPOINT_FILES = ("checkpoint.json", "records/label_head.bin")  # a run of a remote engine alone has none
MAY_BE = (
    r"protocol/.+",
    r"records/(bodies|rows)/[0-9a-f]{64}",
    r"logs/[\w.-]+",
    r"attempts/.+",
    r"figures/[\w.-]+\.png",
)
UNLISTED = ("SHA256SUMS", "SHA256SUMS.sig")
FOR_PEOPLE = (
    "report.html, figures, logs and what notebooks printed (for people; nothing is derived from them)"
)
Json = Dict[str, Any]
Key = Tuple[Any, ...]


class NotJudgedError(Exception):
    """This is not a bundle this auditor can judge."""


class UnreadableError(Exception):
    """Something a check needs is missing or malformed; the check cannot be completed, so it fails."""
