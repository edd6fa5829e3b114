"""Figures and tables of measured speed: titled with what to see, and whole also where little was measured."""

from __future__ import annotations

from typing import Any

import pytest

from kit.campaign.performance import plots
from kit.campaign.performance.document import measured_rows, samples_document
from kit.campaign.performance.record import with_measured
from kit.contract.answer import Calibration
from tests.campaign.performance.synthetic_session import measured


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    found = measured()
    return with_measured({"rows": []}, samples_document(found, Calibration(1.0, 1.0, None)), found)


def title(figure: Any) -> str:
    assert figure._repr_png_().startswith(b"\x89PNG")
    text: str = figure.get_suptitle()
    return text


def test_latency_names_the_ratios(document: dict[str, Any]) -> None:
    figure = plots.latency_against_tokens(document["rows"], document["measured"]["floors"])
    assert title(figure) == "Native graph: 0.54 to 0.54 of the time of the reference captured as it is"
    labels = figure.axes[0].get_legend_handles_labels()[1]
    assert {"reference, called", "native, graph", "its matrix products alone", "reading the weights once"} <= set(labels)
    assert "merged and compiled, captured" in labels
    assert not figure.axes[0].texts


def test_latency_says_that_weights_are_synthetic(document: dict[str, Any]) -> None:
    figure = plots.latency_against_tokens(document["rows"], document["measured"]["floors"], synthetic=True)
    assert [text.get_text() for text in figure.axes[0].texts] == [plots.SYNTHETIC]


def test_every_form_that_is_drawn_has_a_name() -> None:
    assert plots.NAMES.keys() == plots.STYLE.keys()


def test_latency_without_rows_says_so() -> None:
    assert title(plots.latency_against_tokens([], [])).endswith("was not measured")


def test_where_time_goes_has_a_bar_an_engine_and_length(document: dict[str, Any]) -> None:
    figure = plots.where_time_goes(document["measured"]["profile"])
    assert title(figure) == "Where a replay's time goes"
    assert next(label.get_text() for label in figure.axes[0].get_yticklabels()) == "reference-graph, 98 tokens"
    assert title(plots.where_time_goes([])) == "No replay was profiled"


def test_tables(document: dict[str, Any]) -> None:
    rows = plots.rows_frame(document["rows"])
    assert rows.loc[("text", 98, "graph"), "ratio"] == pytest.approx(25 / 46)
    assert rows.loc[("text", 98, "merged"), "drift"] > 0
    assert plots.extras(document["measured"])["not measured"].keys() == {"stream"}


def test_tables_of_a_profile_that_measures_nothing_are_empty() -> None:
    assert plots.rows_frame([{"workload": "protocol"}]).empty
    assert plots.extras(None) == {}
    assert measured_rows({"entries": [], "weight_bytes": 1, "temperatures": {}}) == []
