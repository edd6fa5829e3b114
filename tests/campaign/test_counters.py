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
