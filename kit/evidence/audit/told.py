"""What a bundle says and nothing in it can show: the run's own word, named so that a reader knows it as such.

Covers: the list that goes with every result. Does not cover: what this audit left out by circumstance
(`Bundle.leave`), or what people look at (report, figures, logs).
"""

from __future__ import annotations

from typing import List

from kit.evidence.audit.reading import Bundle
from kit.evidence.audit.rules import FAULTS, FLOOR

ALWAYS = (
    "that the packed sources, and no others, ran",
    "records/rows: that the hidden rows came out of the model named (label logits follow from them)",
    "records/*/worker.jsonl and exchanges.jsonl: times, within the order and sums they must keep",
    "records/*/engine.json: what a process says of itself, beyond profile, packages and checkpoint",
    "environment.json: the machine, and that installed packages equal their installers' records",
    "checkpoint.json: that the weights have the digest and the sum told; their files are not in the bundle",
    "notebooks: printed outputs, but for the last line of each verdict cell",
)
OF_OPERATORS = (
    "operators.json: how many elements differed, and how often each op was run and replayed",
    "signal.json: how far each change moved row and logits",
)
OF_GENERATED = (
    "records/generated.jsonl: that rows, logits and the oracle's word came out of the models named",
    "layers.json: what each layer computed, beyond how its figures hang together",
)
OF_A_FLOOR = ("records/floor.json: what each change did to rows and logits, and to the oracle's rows",)
OF_FAULTS = ("records/faults.json: what each gate saw of each fault and control",)
OF_DRILLS = ("records/drills.jsonl: that the drills ended as told",)
OF_A_DEVICE = (
    "device.json: what the driver said",
    "records/autotune.json: that the winners were drawn as told",
)
OF_A_SESSION = (
    "records/performance_samples.json: times, bytes and logits of workloads that no record holds",
    "performance.json measured: floors, bandwidth, profile, adapter swap, stream and seconds, within the sums they must keep",
)


def not_derived(bundle: Bundle) -> List[str]:
    """Every fact of this bundle that rests on the run's word alone."""
    on_gpu = bundle.profile["runtime"]["device"] == "cuda"
    return [
        *ALWAYS,
        *(OF_OPERATORS if bundle.operators else ()),
        *(OF_GENERATED if bundle.generated else ()),
        *(OF_A_FLOOR if bundle.exists(FLOOR) else ()),
        *(OF_FAULTS if bundle.exists(FAULTS) else ()),
        *(OF_DRILLS if bundle.native else ()),
        *(OF_A_DEVICE if on_gpu else ()),
        *(OF_A_SESSION if bundle.measured else ()),
    ]
