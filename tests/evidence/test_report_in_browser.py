"""The report in a real browser: it renders, quietly, every picture is there, and nothing sticks out at any width."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from kit.evidence import report
from kit.profile import PROJECT_ROOT
from tests.evidence import browser
from tests.evidence.full_run import add_everything

BROWSER = browser.find()
pytestmark = pytest.mark.skipif(BROWSER is None, reason="no chromium or chrome on this machine to open the page with")
PUBLISHED = PROJECT_ROOT / "evidence" / "published" / "h200-27b-synthetic"


@pytest.fixture(scope="module")
def pages(sealed: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    full = add_everything(shutil.copytree(sealed, tmp_path_factory.mktemp("full") / "run"))
    return {"published": report.render(PUBLISHED), "everything": report.render(full)}


def look(page: str, width: int, *, dark: bool = False) -> browser.Seen:
    assert BROWSER is not None
    return browser.look(page, width, BROWSER, dark=dark)


def test_the_browser_sees_what_is_wrong() -> None:
    """A picture that is none, a script that is not allowed, something too wide: all of them would be found."""
    broken = (
        "<!doctype html><meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src data:; style-src 'unsafe-inline'\">"
        '<title>x</title><body><h2>one</h2><img alt="none" src="data:image/png;base64,AAAA"><script>1</script>'
        '<div style="width:2000px">wide</div></body>'
    )
    seen = look(broken, 400)
    assert seen.page["images"] == [["none", True, 0, 0]]
    assert any("Content Security Policy" in line for line in seen.console)
    assert seen.page["over"] == ["DIV: wide"]


@pytest.mark.parametrize(("name", "width"), [("published", 1200), ("published", 360), ("everything", 800)])
def test_the_page_renders(pages: dict[str, str], name: str, width: int) -> None:
    seen = look(pages[name], width)
    assert seen.console == []
    assert seen.page["text"] > 4000
    assert seen.page["colours"] == ["rgb(28, 31, 35)", "rgb(255, 255, 255)"]
    assert seen.page["headings"][-1] == "Check it yourself"
    assert len(seen.page["images"]) == pages[name].count("<img ") >= 1
    assert all(complete and wide > 0 and high > 0 for _, complete, wide, high in seen.page["images"])
    assert all(wide > 100 and high > 100 for wide, high in seen.page["charts"])
    assert seen.page["over"] == []
    assert seen.page["wanted"] <= seen.page["width"]


def test_it_is_dark_where_the_reader_wants_it_dark(pages: dict[str, str]) -> None:
    assert look(pages["everything"], 800, dark=True).page["colours"] == ["rgb(231, 234, 238)", "rgb(20, 23, 27)"]


def test_hostile_names_stay_text(tmp_path: Path, sealed: Path) -> None:
    path = shutil.copytree(sealed, tmp_path / "run")
    for name in ("verdict.json", "run.json"):
        file = path / name
        text = file.read_text().replace("made-up", "<img src=x onerror=alert(1)><script>alert(2)</script>")
        file.write_text(text)
    seen = look(report.render(path), 800)
    assert seen.console == []
    assert len(seen.page["images"]) == 1
