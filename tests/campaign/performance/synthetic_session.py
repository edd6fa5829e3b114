"""What a session might have found, made up: every row a bundle of a GPU profile needs, without a GPU or a model."""

from __future__ import annotations

from kit.campaign.performance.plan import CORE_LENGTHS, LONG, Entry, Measured, Settings, phases
from kit.campaign.performance.timing import Series
from kit.evidence.audit.phases import phase_of

WEIGHT_BYTES = 50 << 30
SPEED = {"reference": 160.0, "reference-graph": 46.0, "eager": 100.0, "graph": 25.0, "gemm-floor": 15.0}
CHANGED = {"merged": 140.0, "merged-graph": 30.0, "compiled-graph": 40.0, "merged-compiled-graph": 28.0}
LOGITS = ((12.0, 11.0, 8.5), (9.0, 10.0))
DRIFTED = ((12.125, 11.0, 8.5), (9.0, 10.0))


def series(ms: float, blocks: int = 6, repeats: int = 2) -> Series:
    """Times around ms, a little more in every block."""
    wall = [[ms * (1 + 0.01 * block + 0.001 * i) for i in range(repeats)] for block in range(blocks)]
    return Series(wall, [[0.98 * value for value in block] for block in wall])


class Maker:
    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.round = 0

    def meet(self, workload: str, tokens: int, speeds: dict[str, float], *, images: bool = False, way: str = "call") -> None:
        """One round of these engines."""
        self.round += 1
        for name, ms in speeds.items():
            anchor = name == "reference-graph" and bool(CHANGED.keys() & speeds.keys())
            silent = name == "gemm-floor" or anchor or way == "http" or workload.startswith("vision")
            logits = None if silent else DRIFTED if name in CHANGED else LOGITS
            self.entries.append(
                Entry(
                    number=self.round, anchor=anchor, engine=name, workload=workload, way=way, tokens=tokens,
                    images=images, series=series(ms), logits=logits, cold_ms=ms, extra_bytes=1 << 28,
                    pool_bytes=1 << 29 if name.endswith("graph") else 0,
                )
            )  # fmt: skip


def measured() -> Measured:
    """A whole session: everything was measured but the stream, for lack of time."""
    maker, engines = Maker(), {name: ms for name, ms in SPEED.items() if name != "gemm-floor"}
    quick = {name: ms / 4 for name, ms in engines.items()}  # all of it fits the minute of a made-up stage
    for tokens in CORE_LENGTHS:
        maker.meet("text", tokens, {name: ms * (1 + tokens / 2000) for name, ms in SPEED.items()})
    maker.meet("vision-768x512", 384, dict.fromkeys(engines, 5.0), images=True)
    for workload, tokens in (("image-768x512", 462), ("image-256x256", 142), ("images-4", 924)):
        maker.meet(workload, tokens, quick, images=True)
    maker.meet("questions-4", 516, quick)
    maker.meet("text-http", 98, quick, way="http")
    maker.meet("text", LONG, {name: engines[name] * 2 for name in ("reference", "eager", "graph")})
    for name, ms in CHANGED.items():
        maker.meet("text", 98, {name: ms, "reference-graph": 46.0})
    names = [phase.name for phase in phases(Settings()) if phase.name != "stream"]
    ways = [
        {"way": "component", "median_ms": 15.0, "reason": ""},
        *({"way": name, "median_ms": None, "reason": "no"} for name in ("stacked", "cublaslt component", "cublaslt stacked")),
    ]
    floors = [
        {"tokens": t, "fastest": "component", "ways": ways, "weight_bytes": 48 << 30, "bandwidth_ms": 12.8849}
        for t in CORE_LENGTHS
    ]
    classes = [{"class": "products", "ms": 15.0, "launches": 496}, {"class": "adapter", "ms": 6.0, "launches": 900}]
    profile = [
        {"engine": name, "tokens": tokens, "classes": classes, "total_ms": 21.0, "launches": 1396, "costliest": []}
        for tokens in (98, 1024)
        for name in ("reference-graph", "graph")
    ]
    swap = {"tensors": 992, "changed": True, "same_as_reference": True, "returned": True, "captures_made": 0}
    return Measured(
        entries=maker.entries,
        not_measured=[{"phase": "stream", "reason": "takes about 35 s; 10 s of the budget were left"}],
        facts={"weight_bytes": WEIGHT_BYTES, "floors": floors, "profile": profile, "adapter_swap": swap,
               "copy_bytes_per_s": 4e12, "device": [{"visible": False, "reason": "made up"}]},
        seconds={name: seconds_of(name, maker.entries) for name in names},
    )


def seconds_of(phase: str, entries: list[Entry]) -> float:
    """What a phase took: a tenth of a second more than its samples and first calls."""
    mine = [entry for entry in entries if phase_of(vars(entry)) == phase and not entry.anchor]
    return round(0.1 + sum(sum(map(sum, entry.series.wall)) + (entry.cold_ms or 0) for entry in mine) / 1e3, 3)
