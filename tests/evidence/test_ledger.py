"""The ledger of published evidence: appended to, never rewritten, and held against its bundles."""

from __future__ import annotations

import contextlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kit.evidence import auditing, ledger, ledger_page, ledger_verb, manifest
from kit.evidence.ledger import LedgerError

# Digests of rows as they were committed, in order; add new ones at the end and never change one.
COMMITTED = (
    "a11dce3fd53da92e0188411ea6f7ca8156d6327e00391caa0ff2ec172a770964",
    "2700f8845f937567ec88c58faf4c523690e348914b6cbbc48eb7e5d998598ec4",
    "fd16594587a0fcee3d490f1d55c67cee74b027ba9296866b2e211bc770d47aad",
)

Rows = list[dict[str, Any]]


@pytest.fixture
def evidence(sealed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An evidence folder with two published bundles and a ledger of them, the first one verified since."""
    monkeypatch.setattr(auditing, "unknown_auditor", lambda folder: "")
    for name in ("first", "second"):
        shutil.copytree(sealed, tmp_path / "published" / name)
    ledger.record_missing(tmp_path)
    ledger.record_verification("first", "recomputed", "bundle 1234 of another machine", tmp_path)
    return tmp_path


def edit(evidence: Path, change: Callable[[Rows], object], chain: bool = False) -> None:
    """Change the rows of a ledger as a forger would; chain: and carry all digests on. The page is made anew."""
    rows = ledger.read(evidence)
    change(rows)
    for i, row in enumerate(rows):
        if chain:
            row["previous"] = ledger.digest(rows[i - 1]) if i else ledger.FIRST
    lines = [{"format": ledger.FORMAT}, *rows]
    (evidence / ledger.FILE).write_text("".join(json.dumps(line) + "\n" for line in lines))
    with contextlib.suppress(KeyError):  # rows that no page can be made of
        (evidence / ledger.PAGE).write_text(ledger_page.render(rows, [ledger.digest(row) for row in rows]))


# ---------------------------------------------------------------- the repository's own


def test_the_repositorys_ledger_holds() -> None:
    assert ledger.check() == []


def test_no_committed_row_was_rewritten() -> None:
    digests = [ledger.digest(row) for row in ledger.read()]
    assert tuple(digests[: len(COMMITTED)]) == COMMITTED


def test_every_published_bundle_has_one_row() -> None:
    names = [row["name"] for row in ledger.read() if row["kind"] == "published"]
    assert sorted(names) == [folder.name for folder in ledger.bundles()]


# ---------------------------------------------------------------- appending


def test_a_row_says_what_its_bundle_says(evidence: Path) -> None:
    row = ledger.read(evidence)[0]
    facts = row["facts"]
    assert (row["name"], row["verification"], row["supersedes"]) == ("first", "author-run", None)
    assert facts["bundle_sha256"] == auditing.audit_bundle(evidence / "published" / "first")["bundle_sha256"]
    assert (facts["class"], facts["verdict"], facts["versions"]["torch"]) == ("exact", "pass", "2.13.0")
    assert facts["signed_by"] is None
    assert facts["not_covered"]


def test_appending_changes_no_row_and_is_repeatable(evidence: Path) -> None:
    before = (evidence / ledger.FILE).read_bytes()
    assert ledger.record_missing(evidence) == []
    assert (evidence / ledger.FILE).read_bytes() == before
    ledger.record_verification("second", "rerun", "bundle 5678, another device", evidence)
    assert (evidence / ledger.FILE).read_bytes().startswith(before)
    assert ledger.check(evidence) == []


def test_a_rewritten_row_is_not_written(evidence: Path) -> None:
    rows = ledger.read(evidence)
    rows[0]["facts"]["verdict"] = "fail"
    with pytest.raises(LedgerError, match="only appended"):
        ledger.write(rows, evidence)
    with pytest.raises(LedgerError, match="only appended"):
        ledger.write(rows[1:], evidence)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("third", "rerun", "x"), "third is not in the ledger"),
        (("first", "believed", "x"), "say how it was verified"),
        (("first", "rerun", " "), "say how it was verified"),
    ],
)
def test_a_verification_is_of_something_and_says_how(evidence: Path, arguments: tuple[str, str, str], message: str) -> None:
    with pytest.raises(LedgerError, match=message):
        ledger.record_verification(*arguments, evidence)


def test_an_empty_folder_has_an_empty_ledger(tmp_path: Path) -> None:
    assert ledger.record_missing(tmp_path) == []
    assert ledger.check(tmp_path) == []
    assert "Nothing is published yet." in (tmp_path / ledger.PAGE).read_text()


# ---------------------------------------------------------------- the page


def test_the_page_has_one_row_a_bundle_and_stays_in_its_cells(evidence: Path) -> None:
    lines = (evidence / ledger.PAGE).read_text().splitlines()
    table = [line for line in lines if line.startswith("| ")]
    assert len(table) == 2 + 2 + 2 + 1  # heads and rules of two tables, two bundles, one verification
    assert {line.count(" | ") for line in table[:4]} == {len(ledger_page.COLUMNS) - 1}
    rows = ledger.read(evidence)
    rows[0]["facts"]["scope"] = "a | b\n<script>"
    text = ledger_page.render(rows, [ledger.digest(row) for row in rows])
    assert "a &#124; b &lt;script>" in text


# ---------------------------------------------------------------- what the check finds


def later(rows: Rows) -> None:
    rows[0]["recorded"] = "2020-01-01"


def drop_first(rows: Rows) -> None:
    del rows[0]


def swap(rows: Rows) -> None:
    rows[0], rows[1] = rows[1], rows[0]


FORGERIES: list[tuple[str, Callable[[Rows], object], str]] = [
    ("a row edited", later, "row 2: carries"),
    ("a row dropped", drop_first, "row 1: calls itself row 2"),
    ("rows swapped", swap, "row 1: calls itself row 2"),
    ("a row twice", lambda rows: rows.append(dict(rows[0])), "row 4: calls itself row 1"),
    ("a key added", lambda rows: rows[0].update(note="x"), "row 1: is not a row of kit-ledger/1"),
    ("a fact removed", lambda rows: rows[0]["facts"].pop("scope"), "row 1: is not a row of kit-ledger/1"),
]


@pytest.mark.parametrize(("change", "expected"), [case[1:] for case in FORGERIES], ids=[case[0] for case in FORGERIES])
def test_a_rewritten_row_shows(evidence: Path, change: Callable[[Rows], object], expected: str) -> None:
    edit(evidence, change)
    assert any(f"ledger.jsonl {expected}" in problem for problem in ledger.check(evidence)), ledger.check(evidence)


CHAINED: list[tuple[str, Callable[[Rows], object], str]] = [
    ("another verdict", lambda rows: rows[0]["facts"].update(verdict="fail"), "verdict of first is 'fail', the bundle has 'pass'"),
    ("another digest", lambda rows: rows[0]["facts"].update(bundle_sha256="0" * 64), "bundle_sha256 of first"),
    ("another device", lambda rows: rows[1]["facts"].update(device="NVIDIA X"), "device of second is 'NVIDIA X'"),
    ("less is not covered", lambda rows: rows[0]["facts"].update(not_covered=[]), "not_covered of first is []"),
    ("a signature there is none of", lambda rows: rows[0]["facts"].update(signed_by="SHA256:x"), "signed_by of first"),
    ("supersedes nobody", lambda rows: rows[1].update(supersedes="zero", superseded_claim="x"), "supersedes zero, which no row"),
    ("supersedes no claim", lambda rows: rows[1].update(supersedes="first"), "exactly one claim of another"),
    ("verifies another bundle", lambda rows: rows[2].update(bundle_sha256="0" * 64), "row 3: verifies another bundle than first"),
    ("verifies nothing", lambda rows: rows[2].update(name="third"), "third was published nowhere before"),
    ("a row less", lambda rows: rows.__delitem__(slice(1, 3)), "published/second: has no row"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "expected"), [case[1:] for case in CHAINED], ids=[case[0] for case in CHAINED])
def test_a_rewritten_row_with_all_digests_put_right_shows_against_its_bundle(
    evidence: Path, change: Callable[[Rows], object], expected: str
) -> None:
    edit(evidence, change, chain=True)
    assert any(expected in problem for problem in ledger.check(evidence)), ledger.check(evidence)


def test_what_only_an_earlier_copy_shows(evidence: Path, tmp_path: Path) -> None:
    """A ledger made anew with another date is consistent in itself."""
    earlier = shutil.copyfile(evidence / ledger.FILE, tmp_path / "earlier.jsonl")
    edit(evidence, later, chain=True)
    assert ledger.check(evidence) == []
    assert "row 1: is not what an earlier copy has" in ledger.check(evidence, earlier)[0]
    edit(evidence, lambda rows: rows.pop(), chain=True)
    assert any("has 2 rows, an earlier copy had 3" in problem for problem in ledger.check(evidence, earlier))


def test_a_bundle_that_changed_shows(evidence: Path) -> None:
    first = evidence / "published" / "first"
    (first / "logs" / "native.log").write_text("another\n")
    assert ledger.check(evidence)[0].startswith("published/first: does not pass its audit: sums: logs/native.log")
    manifest.write_sums(first)
    assert any("bundle_sha256 of first" in problem for problem in ledger.check(evidence))
    shutil.rmtree(first)
    assert ledger.check(evidence) == ["published/first: is in the ledger and no longer there"]


@pytest.mark.parametrize(("name", "content"), [("verdict.json", "{}"), ("run.json", "not JSON"), ("SHA256SUMS.sig", "not a signature")])
def test_a_damaged_bundle_is_a_problem_like_any_other(evidence: Path, name: str, content: str) -> None:
    (evidence / "published" / "first" / name).write_text(content)
    problems = ledger.check(evidence)
    assert any("published/first: what row" in problem for problem in problems)
    assert any("published/first: does not pass its audit" in problem for problem in problems)
    assert not any("second" in problem for problem in problems)


def test_an_edited_page_shows(evidence: Path) -> None:
    page = evidence / ledger.PAGE
    page.write_text(page.read_text().replace("author-run |", "rerun on another device |"))
    assert ledger.check(evidence) == ["LEDGER.md: is not what ledger.jsonl gives; write it with: python -m kit ledger"]
    ledger.record_missing(evidence)
    assert ledger.check(evidence) == []


def test_the_verb_prints_a_table_and_one_json_line(evidence: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert ledger_verb.run_check(evidence=evidence) == 0
    lines = capsys.readouterr().out.splitlines()
    assert json.loads(lines[-1]) == {
        "rows": 3, "published": 2, "last_row_sha256": ledger.digest(ledger.read(evidence)[-1]), "ledger": "pass", "problems": [],
    }  # fmt: skip
    assert any("author-run" in line for line in lines[:-1])
    edit(evidence, later)
    assert ledger_verb.run_check(evidence=evidence) == 1
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["ledger"] == "fail"
