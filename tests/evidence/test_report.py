"""The report: one page, nothing loaded from elsewhere, everything escaped, failures visible, nothing taken for granted."""

from __future__ import annotations

import json
import re
import shutil
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from kit.evidence import report
from kit.evidence.records import write_json
from kit.evidence.report import machine
from kit.evidence.report.charts import Marks, Strip, ladder, strip
from kit.evidence.report.html import cell, number, table, text
from kit.profile import PROJECT_ROOT
from tests.evidence.full_run import add_everything
from tests.evidence.make_bundle import Tamper

PUBLISHED = PROJECT_ROOT / "evidence" / "published" / "h200-27b-synthetic"
HOSTILE = '"><script>alert(1)</script><img src=x onerror=alert(1)>\u202e\x1b[31m'
TAGS = {
    "a", "b", "body", "caption", "circle", "code", "dd", "details", "div", "dl", "dt", "figcaption", "figure", "footer", "h1", "h2",
    "h3", "head", "header", "html", "img", "li", "line", "link", "main", "meta", "nav", "p", "polygon", "pre", "rect", "section",
    "span", "style", "summary", "svg", "table", "tbody", "td", "text", "th", "thead", "title", "tr", "ul",
}  # fmt: skip


class Page(HTMLParser):
    """Collects tags, links and text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.tags: list[str] = []
        self.attributes: set[str] = set()
        self.headings: list[str] = []
        self.text = ""
        self._open = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self._open = tag
        self.attributes |= {name for name, _ in attrs}
        self.loads += [value or "" for name, value in attrs if name in ("src", "href", "action", "data", "xlink:href")]

    def handle_data(self, data: str) -> None:
        self.text += data
        if self._open == "h2" and data.strip():
            self.headings.append(data)
            self._open = ""


def test_every_figure_that_has_a_place_is_one_that_a_stage_keeps() -> None:
    notebooks = "".join(file.read_text(encoding="utf-8") for file in (PROJECT_ROOT / "notebooks").glob("*.ipynb"))
    kept = set(re.findall(r'save_figure\(\\"(\w+)\\"', notebooks))
    placed = {name for names in report.PLACED.values() for name in names}
    assert placed - kept == set()


def test_a_sealed_bundle_has_a_page_with_verdict_gates_and_figures(sealed: Path) -> None:
    page = Page((sealed / "report.html").read_text(encoding="utf-8"))
    for word in (
        "PASS",
        "seven made-up requests",
        "everything real",
        "hidden_bitwise",
        "61 / 57 / 4",
        "Graph caches",
    ):
        assert word in page.text
    assert page.tags.count("img") == 1
    assert not re.search(r"FAIL\b", page.text)
    assert page.headings[:2] == ["Scope", "Not covered"]


@pytest.fixture(scope="module")
def full(sealed: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with every document there may be."""
    return add_everything(shutil.copytree(sealed, tmp_path_factory.mktemp("full") / "run"))


@pytest.fixture(params=["made-up", "everything", "published"])
def page(request: pytest.FixtureRequest, sealed: Path, full: Path) -> Page:
    return Page(report.render({"made-up": sealed, "everything": full, "published": PUBLISHED}[request.param]))


def test_nothing_is_loaded_from_elsewhere_and_nothing_runs(page: Page) -> None:
    outside = [source for source in page.loads if not source.startswith(("data:image/png;base64,", "#")) and source != "data:,"]
    assert not outside
    assert set(page.tags) <= TAGS
    assert not {name for name in page.attributes if name.startswith("on")}


def test_everything_can_be_read_aloud(page: Page) -> None:
    assert page.tags.count("caption") == page.tags.count("table") == page.tags.count("thead")
    assert page.tags.count("svg") <= page.tags.count("title")
    assert "alt" in page.attributes
    assert page.tags.count("h1") == page.tags.count("main") == 1


def test_no_section_of_a_sound_run_is_left_unread(page: Page) -> None:
    assert "cannot be shown" not in page.text


def test_an_older_bundle_has_no_sections_for_what_it_lacks() -> None:
    page = Page(report.render(PUBLISHED))
    missing = {"Diagnosis", "Noise floor of the reference", "Layers", "Planted faults and harmless changes"}
    assert not missing & set(page.headings)
    assert "Logits on their rungs" in page.headings
    assert "long-incident-images / next" in page.text
    assert "0.521 (0.509 to 0.545)" in page.text  # the graph engine against the captured reference, 98 tokens


def test_every_document_has_its_section(full: Path) -> None:
    page = Page(report.render(full))
    said = page.headings
    for title in (
        "Diagnosis", "Gates", "Logits on their rungs", "Drift", "Noise floor of the reference",
        "Generated questions: flips, divergence, oracle", "Layers", "Planted faults and harmless changes", "Operators",
        "Signal against rounding", "Graph caches", "Performance, with the drift of the same engine", "Check it yourself",
    ):  # fmt: skip
        assert title in said, title
    for words in (
        "0.004 (0.003 to 0.005)", "yellow: how far the reference is from itself", "weights too large", "ALARM", "not seen", "oracle",
        "60 of 60 questions made from seed", "ratio of errors", "layer.01.mixer", "answers as the reference does",
    ):  # fmt: skip
        assert words in page.text, words


def hostile(value: Any) -> Any:
    """Every text of a document, and every second name in it, replaced by one that would run where it is not escaped."""
    if isinstance(value, dict):
        return {name: hostile(item) for name, item in value.items()} | ({HOSTILE: 1} if value else {})
    if isinstance(value, list):
        return [hostile(item) for item in value]
    return HOSTILE if isinstance(value, str) else value


@pytest.mark.parametrize("spared", [(), ("kind", "logits", "modality", "engine", "against", "request_id", "phase", "outcome", "workload")])
def test_whatever_a_bundle_says_is_escaped(full: Path, tmp_path: Path, spared: tuple[str, ...]) -> None:
    """spared: keys that keep their values, so that sections are made and not merely refused."""
    path = shutil.copytree(full, tmp_path / "run")
    for file in [*path.glob("*.json"), *path.glob("records/*.json"), *path.glob("stages/*.json")]:
        file.write_text(json.dumps(spare(json.loads(file.read_text()), spared)))
    (path / "figures" / f"a {HOSTILE[:14].replace('/', '')}.png").write_bytes((path / "figures" / "drift.png").read_bytes())
    (path / "attempts").mkdir()
    (path / "attempts" / "<b>x").mkdir()
    html = report.render(path)
    page = Page(html)
    assert set(page.tags) <= TAGS
    assert "<script" not in html
    assert not {name for name in page.attributes if name.startswith("on")}
    assert "\u202e" not in html
    assert "\x1b" not in html
    assert "<script>alert(1)</script>" in page.text


def spare(value: Any, spared: tuple[str, ...]) -> Any:
    if isinstance(value, dict):
        return {name: item if name in spared else spare(item, spared) for name, item in value.items()}
    if isinstance(value, list):
        return [spare(item, spared) for item in value]
    return hostile(value)


@pytest.mark.parametrize("value", [None, [], {}, 7, "x", [{}], {"rows": 5}, {"rows": [{}]}, {"engines": []}, {"summary": {"floor": 1}}])
def test_documents_of_another_form_leave_a_page_all_the_same(full: Path, tmp_path: Path, value: Any) -> None:
    path = shutil.copytree(full, tmp_path / "run")
    for file in [*path.glob("*.json"), *path.glob("records/*.json")]:
        file.write_text(json.dumps(value))
    (path / "records" / "native" / "worker.jsonl").write_text("{\n[1]\n" + json.dumps(value) + "\n")
    assert Page(report.render(path)).headings[-1] == "Check it yourself"


def test_the_page_is_the_same_for_the_same_run(sealed: Path) -> None:
    assert report.render(sealed) == (sealed / "report.html").read_text(encoding="utf-8")


def test_failures_stand_out(tamper: Tamper) -> None:
    def edit(document: dict[str, Any]) -> None:
        document.update(verdict="fail", failures=["probability"])
        document["gates"][0].update(passed=False, value=0.5)

    tamper.json("verdict.json", edit)
    html = report.render(tamper.path)
    assert '<span class="badge fail">FAIL</span>' in html
    assert '<tr class="failed"><td class="narrow">probability</td>' in html
    assert Page(html).headings[:3] == ["Failed", "Scope", "Not covered"]


def test_a_run_that_stopped_early_has_a_page(tmp_path: Path) -> None:
    write_json(tmp_path / "run.json", {"id": "x"})
    write_json(
        tmp_path / "verdict.json",
        {"verdict": "fail", "scope": "<script>alert(1)</script>", "failures": ["stage 03"]},
    )
    html = report.render(tmp_path)
    assert "stage 03" in html
    assert "<script>" not in html


# ---------------------------------------------------------------- pieces


@pytest.mark.parametrize(
    ("value", "shown"),
    [(3, "3"), (0.0, "0"), (1234567, "1\u2009234\u2009567"), (0.0198123, "0.01981"), (1e-9, "1e-09"), (None, "–"), (float("nan"), "nan")],
)
def test_figures_are_short(value: float | None, shown: str) -> None:
    assert number(value) == shown


def test_text_is_escaped_cut_and_steers_nothing() -> None:
    assert text("<a b=\"c\">'&") == "&lt;a b=&quot;c&quot;&gt;&#x27;&amp;"
    assert text("a\u202eb\x00c") == "a\ufffdb\ufffdc"
    assert len(text("x" * 10_000)) == 2000


def test_columns_of_figures_are_aligned_with_their_heads() -> None:
    html = table("t", ("name", "of", "n"), [("a", None, 1), ("b", "–", None)])
    assert '<th scope="col" class=number>n</th>' in html
    assert '<th scope="col">of</th>' in html
    assert html.count('<td class="number">–</td>') == 1
    assert cell(True) == '<td class="narrow">yes</td>'
    assert table("none", ("a",), []) == ""


@pytest.mark.parametrize(
    "logits", [(20.875, 20.375, 19.875), (6.0, 0.25, -3.0), (0.0, 0.0), (1e30, -1e30), (5.0, 5.0), (-0.0, 1e-30), (16.0, 15.9375)]
)
def test_a_ladder_is_drawn_for_any_logits(logits: tuple[float, ...]) -> None:
    names = tuple(f"<{i}>" for i in range(len(logits)))
    marks = Marks(names, {"reference": logits, "graph": tuple(x + 1 for x in logits), "oracle": logits})
    drawn = ladder(marks)
    assert drawn.count("<circle") == drawn.count("<polygon") == len(marks.shown()) + 1  # and one in the legend
    assert "<0>" not in drawn
    assert "nan" not in drawn


def test_a_strip_has_a_dot_a_question_and_a_band_a_modality() -> None:
    points = {"native": [(0, 0.0, "a"), (1, 0.5, "b")], "graph": [(0, 0.01, "a")]}
    drawn = strip(Strip("drift", points, [("text", 0, 0), ("image", 1, 1)], 0.02, {"text": 0.004}))
    assert drawn.count("<polygon") == 3 + 2
    assert drawn.count("floor, text") == 1
    assert "gate 0.02" in drawn
    assert "gate" not in strip(Strip("steps", {"native": [(0, 0.0, "a")]}, [("text", 0, 0)], None, {}))


def test_a_ladder_of_a_run_whose_engines_record_no_logits_says_so(sealed: Path, tmp_path: Path) -> None:
    path = shutil.copytree(sealed, tmp_path / "run")
    assert "all engines stand on the reference&#x27;s rungs" in report.render(path)
    for engine in ("native", "graph"):
        (path / "records" / engine / "worker.jsonl").unlink()
    assert "the reference stands alone" in report.render(path)


def test_workloads_are_in_the_order_of_what_they_are() -> None:
    measured = [("text", 98), ("text", 1024), ("text", 171), ("vision-768x512", 384), ("images-4", 924)]
    assert sorted(measured, key=machine._order) == [
        ("text", 98), ("text", 171), ("text", 1024), ("images-4", 924), ("vision-768x512", 384),
    ]  # fmt: skip
