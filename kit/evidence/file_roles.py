"""What each file of a bundle is, in a sentence and a media type, for people and catalogues.

Covers: every name that a run can put into its bundle. Does not cover: which files a bundle must have (the audit's
table of roles decides that); a name nobody foresaw is described as such and is still listed.
"""

from __future__ import annotations

import mimetypes
import re
from pathlib import PurePosixPath

UNKNOWN = "A file of the run that has no description"
MEDIA_TYPES = {
    ".jsonl": "application/jsonl",
    ".toml": "application/toml",
    ".ipynb": "application/x-ipynb+json",
    ".log": "text/plain",
    ".md": "text/markdown",
    ".webp": "image/webp",
    ".bin": "application/octet-stream",
    ".tar.gz": "application/gzip",
}

# The first pattern that matches a whole name describes the file; \1 is its first group.
ROLES: tuple[tuple[str, str], ...] = (
    (r"run\.json", "Which run this is: profile, protocol and kit version, and when it began"),
    (r"verdict\.json", "The verdict: every gate with its value and bound, scope, and what is not covered"),
    (r"profile\.toml", "The profile as it was declared before the run"),
    (r"profile\.json", "The resolved profile in canonical form, as the audit reads it"),
    (r"environment\.json", "Versions, settings and processor of the machine, and what its packages' own checksums say"),
    (r"device\.json", "The accelerator before and after the run, and whether it was the run's alone"),
    (r"checkpoint\.json", "The weights: every file and tensor, the tokenizer, the calibration, the label rows"),
    (r"sources\.json", "SHA-256 of every source file before and after the run"),
    (r"source\.tar\.gz", "The sources that ran, packed"),
    (r"counters\.json", "Graph cache counters of every engine, stage by stage"),
    (r"drift\.json", "How far each engine's answers are from the reference's, question by question"),
    (r"operators\.json", "Every op of the native model against the reference's own module"),
    (r"signal\.json", "How far input moves the reference, against how far rounding alone does"),
    (r"performance\.json", "Latencies, as ratios inside this run"),
    (r"generated\.json", "Flips, divergence and distance from the truth over generated questions"),
    (r"layers\.json", "Relative error per layer and of recurrent states, on a few requests"),
    (r"diagnosis\.json", "Which known change of the reference resembles a failed engine most"),
    (r"report\.html", "The bundle as one page, for people"),
    (r"audit\.py", "The auditor: python audit.py . checks the bundle with nothing but Python's standard library"),
    (r"protocol/corpus\.jsonl", "The frozen requests"),
    (r"protocol/reference[\w.-]*\.json", "Answers frozen with the protocol"),
    (r"protocol/images/.+", "An image of the protocol"),
    (r"protocol/.+", "Part of the frozen protocol"),
    (r"records/bodies/[0-9a-f]+", "Body of a request or a response, named by its SHA-256"),
    (r"records/rows/[0-9a-f]+", "A final hidden row, named by its SHA-256"),
    (r"records/(\w+)/exchanges\.jsonl", r"Every HTTP exchange with engine \1, as the client saw it"),
    (r"records/(\w+)/worker\.jsonl", r"Raw label logits and hidden rows of engine \1, as its worker recorded them"),
    (r"records/(\w+)/engine\.json", r"What engine \1 says it is"),
    (r"records/drills\.jsonl", "Drills: refused requests, clients that leave, workers that are killed"),
    (r"records/label_head\.bin", "The label rows of the output head, to recompute logits from hidden rows"),
    (r"records/autotune\.json", "Configurations the autotuned kernels chose"),
    (r"records/draws\.json", "Native against the reference under several draws of the autotuner"),
    (r"records/performance_samples\.json", "Every latency sample behind the figures"),
    (r"records/generated\.jsonl", "Answers, logits and errors on generated questions, one line a question"),
    (r"records/floor\.json", "The reference against itself under changes proven harmless"),
    (r"records/faults\.json", "Planted faults and harmless changes against the gates"),
    (r"notebooks/(.+)\.ipynb", r"Stage \1 as it was executed"),
    (r"stages/(.+)\.json", r"Parameters and result of stage \1"),
    (r"logs/(.+)", r"Log of \1"),
    (r"figures/(.+)\.png", r"Figure: \1"),
    (r"attempts/.+", "Left by a start that failed"),
)  # fmt: skip


def describe(name: str) -> str:
    """One sentence on a file of a bundle, by its name."""
    for pattern, sentence in ROLES:
        match = re.fullmatch(pattern, name)
        if match:
            return match.expand(sentence)
    return UNKNOWN


def media_type(name: str) -> str:
    """Media type by suffix; names without one (bodies, rows, SHA256SUMS) are bytes to whoever opens them."""
    if name.startswith("records/bodies/"):
        return "application/json"
    for suffix, found in MEDIA_TYPES.items():
        if name.endswith(suffix):
            return found
    return mimetypes.types_map.get(PurePosixPath(name).suffix) or "application/octet-stream"
