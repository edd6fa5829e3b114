"""counters.json holds what was reported beside what the policy predicts."""

from pathlib import Path

from kit.campaign.counters import compute_counters
from tests.campaign.synthetic_run import write_run


def test_reported_and_predicted_counters_stand_side_by_side(tmp_path: Path) -> None:
    write_run(tmp_path / "run")
    engines = compute_counters(tmp_path / "run")["engines"]
    assert engines["reference"] == engines["native"] == {"counters": {}}
    graph = engines["graph"]
    assert graph["counters"] == graph["closed"]["reported"] == graph["closed"]["predicted"]
    assert graph["ready"]["reported"] == graph["ready"]["predicted"] != graph["counters"]
    assert graph["mismatches"] == {"text": [], "multimodal": [], "vision": []}


def test_the_forwards_of_each_phase_are_counted_by_what_the_cache_did(tmp_path: Path) -> None:
    write_run(tmp_path / "run")
    graph = compute_counters(tmp_path / "run")["engines"]["graph"]
    phases = graph["phases"]
    assert [(phase["phase"], phase["pass"]) for phase in phases] == [
        ("warm-up", 0), ("feasibility", 0), ("measured", 1), ("measured", 2), ("recovery", 0), ("frontend", 0),
    ]  # fmt: skip
    for action in ("capture", "replay"):
        counted = sum(cache[f"{action}s"] for cache in graph["counters"].values())
        assert sum(phase.get(action, 0) for phase in phases) == counted
