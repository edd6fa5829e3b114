"""The report: one page, nothing loaded from elsewhere, everything escaped, failures visible."""

import re
from html.parser import HTMLParser
from pathlib import Path

from kit.evidence import report
from kit.evidence.records import write_json
from tests.evidence.make_bundle import Tamper


class Page(HTMLParser):
    """Collects tags, links and text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.tags: list[str] = []
        self.text = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.loads += [value or "" for name, value in attrs if name in ("src", "href", "action", "data")]

    def handle_data(self, data: str) -> None:
        self.text += data


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


def test_nothing_is_loaded_from_elsewhere(sealed: Path) -> None:
    page = Page((sealed / "report.html").read_text(encoding="utf-8"))
    assert all(source.startswith("data:image/png;base64,") for source in page.loads)
    assert not {"script", "link", "iframe", "object"} & set(page.tags)


def test_the_page_is_the_same_for_the_same_run(sealed: Path) -> None:
    assert report.render(sealed) == (sealed / "report.html").read_text(encoding="utf-8")


def test_failures_stand_out(tamper: Tamper) -> None:
    def edit(document: dict) -> None:
        document.update(verdict="fail", failures=["probability"])
        document["gates"][0].update(passed=False, value=0.5)

    tamper.json("verdict.json", edit)
    html = report.render(tamper.path)
    assert '<span class="verdict fail">FAIL</span>' in html
    assert '<tr class="failed"><td>probability</td>' in html


def test_a_run_that_stopped_early_has_a_page(tmp_path: Path) -> None:
    write_json(tmp_path / "run.json", {"id": "x"})
    write_json(
        tmp_path / "verdict.json",
        {"verdict": "fail", "scope": "<script>alert(1)</script>", "failures": ["stage 03"]},
    )
    html = report.render(tmp_path)
    assert "stage 03" in html
    assert "<script>" not in html
