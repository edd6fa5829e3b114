"""What the auditor makes of the autotune ledger and of several draws: a bitwise claim belongs to one draw.

One bundle of a made-up GPU run with two draws compared in it; every edit is followed by right checksums.
"""

from __future__ import annotations

import copy
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kit.campaign import draws as experiment
from kit.engine.autotune import digest
from kit.evidence import audit, report
from kit.evidence.audit.rules import DRAWS, LEDGER
from kit.profile import load_profile
from tests.campaign import synthetic_run as made_up
from tests.evidence.make_bundle import Tamper, make_bundle
from tests.evidence.test_tampering import audit_problems

Edit = Callable[[dict[str, Any]], object]
GRAPH = "records/graph/worker.jsonl"


@pytest.fixture(scope="module")
def sealed(on_gpu: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = shutil.copytree(on_gpu, tmp_path_factory.mktemp("draws") / "bundle")
    (path / DRAWS).write_text(json.dumps(two_draws(path)))
    put_right(Tamper(path))
    return path


@pytest.fixture
def tamper(sealed: Path, tmp_path: Path) -> Tamper:
    return Tamper(shutil.copytree(sealed, tmp_path / "bundle"))


def put_right(t: Tamper) -> None:
    t.describe_again()
    t.reseal()


def two_draws(path: Path) -> dict[str, Any]:
    """draws.json of two draws: the second has another winner, and with it other logits of one question."""
    run, sources, checkpoint = (json.loads((path / f"{name}.json").read_text()) for name in ("run", "sources", "checkpoint"))
    first = {
        "winners": made_up.autotune_ledger(load_profile(path / "profile.toml"))["winners"],
        "rows": [row(item, name) for item in made_up.REQUESTS for name in item["request"]["questions"]],
        "late": [], "seconds": 1.0, "wall_seconds": 9.0,
    }  # fmt: skip
    second = copy.deepcopy(first)
    second["winners"][1]["config"]["kwargs"]["BK"] = 32
    for side in ("reference", "native"):
        second["rows"][0][side] = {"hidden": "1" * 64, "logits": made_up.float32_hex([9.0, 12.0, 9.5])}
    document = {
        "format": experiment.FORMAT, "profile_sha256": run["profile_sha256"], "protocol_sha256": run["protocol_sha256"],
        "sources_sha256": experiment.sources_digest(sources["before"]), "origin": {}, "lengths": [44],
        "checkpoint_digest": checkpoint["digest"],
        "temperatures": {"text": made_up.TEMPERATURE, "image": made_up.MM_TEMPERATURE},
        "draws": [draw | {"digest": digest(draw["winners"])} for draw in (first, second)],
        "repeats": [{"request": "text-choice", "engine": "native", "calls": 20, "different": 0}],
    }  # fmt: skip
    return document | {"summary": experiment.summarise(document)}


def row(item: dict[str, Any], question: str) -> dict[str, Any]:
    values = made_up.label_logits(item["id"], question, len(made_up.candidates_of(item["request"]["questions"][question])))
    side = {"hidden": "0" * 64, "logits": made_up.float32_hex(values)}
    return {"request": item["id"], "question": question, "modality": item["modality"], "reference": side, "native": dict(side)}


def problems_of(path: Path, *rules: str) -> list[str]:
    return [problem for problem in audit_problems(path) if problem.split(": ")[0] in (*rules, "unreadable")]


# ---------------------------------------------------------------- the ledger


def test_one_draw_of_all_engines_is_no_problem_and_is_named(sealed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert [text for text in audit_problems(sealed) if LEDGER in text or DRAWS in text or "autotune" in text] == []
    result = audit.judge(str(sealed))
    ledger = json.loads((sealed / LEDGER).read_text())
    assert result["draw"] == {"source": "drawn", "digest": ledger["digest"], "winners": 2}
    audit.show(result)
    assert f"autotune draw: {ledger['digest']}, drawn, 2 winners" in capsys.readouterr().out


def test_where_nothing_is_tuned_no_draw_is_named(tmp_path: Path) -> None:
    path = make_bundle(tmp_path)
    assert audit.judge(str(path))["draw"] is None
    assert "none: no kernel of this run chooses its configuration" in report.render(path)


def ready(edit: Edit) -> Callable[[Tamper], None]:
    """Edit what the graph engine says of its kernels when it is ready, in both places that say it."""

    def deed(t: Tamper) -> None:
        t.lines(GRAPH, lambda lines: edit(next(x for x in lines if x["kind"] == "ready")["describe"]["autotune"]))
        t.json("records/graph/engine.json", lambda d: edit(d["describe"]["autotune"]))

    return deed


def closed(edit: Edit) -> Callable[[Tamper], None]:
    return lambda t: t.lines(GRAPH, lambda lines: edit(lines[-1]))


def ledger(edit: Edit) -> Callable[[Tamper], None]:
    return lambda t: t.json(LEDGER, edit)


def another_draw(t: Tamper) -> None:
    """A ledger and environment.json that agree with each other and with no engine."""

    def edit(document: dict[str, Any]) -> None:
        document["winners"][0]["config"]["num_warps"] = 8
        document["digest"] = digest(document["winners"])

    t.json(LEDGER, edit)
    t.json("environment.json", lambda d: edit(d["autotune"]))


def twice(document: dict[str, Any]) -> None:
    document["winners"].append(document["winners"][0])
    document["digest"] = digest(document["winners"])


def emptied(t: Tamper) -> None:
    """No winners anywhere, though FLA is there."""
    nothing = {"winners": [], "digest": digest([])}
    t.json(LEDGER, lambda d: d.update(nothing))
    t.json("environment.json", lambda d: (d["autotune"].update(nothing), d["packages"]["fla"].update(status="ok")))


LATE = [{"kernel": "fla.norms.plain", "key": [64], "config": {"kwargs": {}, "num_warps": 1}}]


@pytest.mark.parametrize(
    ("deed", "problem"),
    [
        (ledger(lambda d: d["winners"][0]["config"].update(num_warps=8)), f"{LEDGER} digest: found"),
        (ledger(lambda d: d.update(source="guessed")), 'source: is "guessed", expected drawn or recorded'),
        (ledger(lambda d: d["repeats"].update(different=1)), "repeats that gave other bits: found 1, expected 0"),
        (ledger(twice), 'has two winners of fla.norms.plain [128, "torch.bfloat16"]'),
        (ledger(lambda d: d["winners"][1].update(config={})), "says nothing of a configuration"),
        (ledger(lambda d: d.pop("winners")), 'records/autotune.json has no "winners"'),
        (another_draw, "records/reference/worker.jsonl ready autotune: found"),
        (emptied, "is empty although FLA, whose kernels are autotuned, is installed"),
        (lambda t: t.json("environment.json", lambda d: d.pop("autotune")), "environment.json autotune: found null"),
        (ready(lambda d: d.update(digest="0" * 64)), f"{GRAPH} ready autotune: found"),
        (ready(lambda d: d.update(installed=False)), f"{GRAPH} ready autotune: found"),
        (ready(lambda d: d.update(late=LATE)), f"{GRAPH} ready autotune: found"),
        (closed(lambda d: d["autotune"].update(late=LATE)), f"{GRAPH} closed autotune: found"),
        (closed(lambda d: d.pop("autotune")), f"{GRAPH} closed autotune: found null"),
    ],
    ids=[
        "winner-edited", "source", "unsteady", "twice", "no-config", "no-winners", "another-draw", "emptied", "environment",
        "other-draw", "not-installed", "late-at-start", "late-in-the-end", "silent",
    ],
)  # fmt: skip
def test_a_ledger_that_does_not_hold_is_found(tamper: Tamper, deed: Callable[[Tamper], None], problem: str) -> None:
    deed(tamper)
    tamper.reseal()
    found = problems_of(tamper.path, "autotune")
    assert any(problem in text for text in found), found


def test_winners_of_a_cpu_run_are_found(tmp_path: Path) -> None:
    t = Tamper(make_bundle(tmp_path))
    twin = [{"kernel": "fla.norms.plain", "key": [1], "config": {"num_warps": 1}}]
    t.json(LEDGER, lambda d: d.update(winners=twin, digest=digest(twin)))
    t.reseal()
    assert any("where nothing is tuned" in text for text in problems_of(t.path, "autotune"))


def test_a_run_without_a_ledger_is_found(tamper: Tamper) -> None:
    (tamper.path / LEDGER).unlink()
    put_right(tamper)
    assert f"roles: {LEDGER}: is missing" in audit_problems(tamper.path)


def test_the_report_names_the_draw_and_shows_several(sealed: Path) -> None:
    page = report.render(sealed)
    assert f"{json.loads((sealed / LEDGER).read_text())['digest']}, drawn, 2 winners" in page
    assert "tiled (2 choices)" in page


# ---------------------------------------------------------------- several draws


def native_row(document: dict[str, Any]) -> None:
    """Native differs in one row of the second draw, and the summary says so."""
    document["draws"][1]["rows"][2]["native"]["hidden"] = "2" * 64
    document["summary"] = experiment.summarise(document)


def repeat(document: dict[str, Any]) -> None:
    document["repeats"][0]["different"] = 1
    document["summary"] = experiment.summarise(document)


def fewer_questions(document: dict[str, Any]) -> None:
    for draw in document["draws"]:
        del draw["rows"][2]  # one of two questions of a request
    document["summary"] = experiment.summarise(document)


def other_questions(document: dict[str, Any]) -> None:
    document["draws"][1]["rows"].pop()
    document["summary"]["native_different"] = [0, 0]


@pytest.mark.parametrize(
    ("edit", "problem"),
    [
        (native_row, "native_different: is [0, 1], an exact claim allows none"),
        (lambda d: d["draws"][1]["rows"][2]["native"].update(hidden="2" * 64), "summary native_different: is [0, 0], recomputed [0, 1]"),
        (repeat, "repeats_different: is 1, an exact claim allows none"),
        (lambda d: d["repeats"].clear(), "repeats: repeats nothing"),
        (lambda d: d["draws"][0]["winners"][0]["config"].update(num_warps=8), "draw 1 digest: found"),
        (lambda d: d["summary"]["between"][0].update(max_probability=0.0), "summary between [1, 2] max_probability: is 0.0"),
        (lambda d: d["summary"]["between"][0].update(hidden=0), "summary between [1, 2] hidden: is 0, recomputed 1"),
        (lambda d: d["summary"].update(kernels={}), "summary kernels: is {}"),
        (lambda d: d["draws"].clear(), f"{DRAWS}: compares nothing"),
        (fewer_questions, "draw 1 questions: found"),
        (other_questions, "draw 2: asks other questions than the first draw"),
        (lambda d: d.update(sources_sha256="0" * 64), "sources_sha256: found"),
        (lambda d: d.update(checkpoint_digest="1" * 64), "checkpoint_digest: found"),
        (lambda d: d.update(profile_sha256="1" * 64), "profile_sha256: found"),
        (lambda d: d["temperatures"].update(text=1.0), "temperatures: found"),
    ],
    ids=[
        "native-differs", "native-row-edited", "unsteady", "no-repeats", "winner", "probability", "hidden", "kernels",
        "nothing", "fewer-questions", "other-questions", "sources", "checkpoint", "profile", "temperatures",
    ],
)  # fmt: skip
def test_draws_that_do_not_hold_are_found(tamper: Tamper, edit: Edit, problem: str) -> None:
    tamper.json(DRAWS, edit)
    tamper.reseal()
    found = problems_of(tamper.path, "draws")
    assert any(problem in text for text in found), found


def test_draws_of_another_format_cannot_be_judged(tamper: Tamper) -> None:
    tamper.json(DRAWS, lambda d: d.update(format="kit-draws/2"))
    tamper.reseal()
    assert audit.judge(str(tamper.path))["audit"] == "not-judged"
