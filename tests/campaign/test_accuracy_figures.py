"""The reliability diagram: one line a side, its bins below, the number of answers in its title."""

from kit.campaign.accuracy_figures import of_engines, reliability_diagram
from kit.evidence.reliability import reliability

ANSWERS = [(0.95, True), (0.9, True), (0.85, False), (0.55, True)]


def test_draws_every_side_with_its_calibration_error() -> None:
    found = reliability(ANSWERS)
    figure = reliability_diagram({"reference": found, "graph": found})
    top, bottom = figure.axes
    assert [text.get_text() for text in top.get_legend().get_texts()] == [f"{n}, ECE {found['ece']:.3f}" for n in ("reference", "graph")]
    assert len(bottom.patches) == 2 * len(found["bins"])
    assert "over 4 answers" in "".join(text.get_text() for text in [*figure.texts, top.title, figure._suptitle] if text)


def test_takes_the_accuracy_part_of_a_drift_document() -> None:
    item = {"engine": "graph", **reliability(ANSWERS)}
    assert of_engines({"reliability": [item]}) == {"graph": item}
