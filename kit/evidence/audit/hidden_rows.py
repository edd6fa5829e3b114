"""Label logits follow from the recorded hidden rows and the label head."""

from __future__ import annotations

import math
import struct
from typing import Sequence

from kit.evidence.audit.numbers import bf16, floats, spacing
from kit.evidence.audit.reading import Bundle
from kit.evidence.audit.rules import LABELS


def check_hidden_rows(bundle: Bundle) -> None:
    """Label logits follow from the recorded hidden rows and the label rows, to the rounding of the model's dtype."""
    if not bundle.recorded_engines:
        return
    head = bundle.json("checkpoint.json")["label_head"]
    width, matrix = head["shape"][1], bf16(bundle.read(head["file"]))
    rows = [matrix[i * width : (i + 1) * width] for i in range(LABELS)]
    seen = set()
    for engine in bundle.recorded_engines:
        for line in bundle.worker(engine):
            if line["kind"] == "question" and (line["hidden"], line["logits"]) not in seen:
                seen.add((line["hidden"], line["logits"]))
                data = bundle.read("records/rows/%s" % line["hidden"])
                fault = hidden_fault(data, line["logits"], rows, bundle.profile["runtime"]["dtype"])
                if fault:
                    bundle.fail(
                        "records/%s/worker.jsonl post %s %s" % (engine, line["sequence"], line["question"]),
                        fault,
                    )
    if not seen:
        bundle.fail("records", "hold no hidden row")


def hidden_fault(data: bytes, logits: str, rows: Sequence[Sequence[float]], dtype: str) -> str:
    """What is wrong with logits as the product of a hidden row and the label rows, "" if nothing is.

    A product is rounded to the model's dtype once, so by half a step; before that, float32 sums lose what their
    terms' magnitudes allow. Anything further is another number than this row gives.
    """
    letter, size, finer = {
        "bfloat16": ("", 2, 1.0),
        "float32": ("f", 4, 2.0**-16),
        "float64": ("d", 8, 2.0**-16),
    }[dtype]
    width = len(rows[0])
    if len(data) != size * width:
        return "the hidden row has %d bytes, expected %d values of %d" % (len(data), width, size)
    hidden = bf16(data) if not letter else struct.unpack("<%d%s" % (width, letter), data)
    if not all(map(math.isfinite, hidden)):
        return "the hidden row has a value that is not finite, expected %d finite ones" % width
    for label, (found, row) in enumerate(zip(floats(logits), rows)):
        if dtype == "bfloat16" and struct.pack("<f", found)[:2] != b"\0\0":
            return "label %d: logit %r is no BF16 number, and nothing else can come from this dtype" % (label, found)
        terms = [a * b for a, b in zip(hidden, row)]
        expected = math.fsum(terms)
        allowed = spacing(max(abs(expected), abs(found))) * finer / 2 + math.fsum(map(abs, terms)) * 2.0**-20
        if not abs(found - expected) <= allowed:
            return "label %d: logit %r, expected within %.3g: hidden row and label head give %r" % (label, found, allowed, expected)
    return ""
