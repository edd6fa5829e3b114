"""The verdict: it passes only when everything is there and nothing is off, and says what failed."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from kit.campaign.verdict import compute_verdict
from tests.campaign.synthetic_run import compact, write_run
from tests.campaign.test_drift import move, rewrite_response


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("good") / "run"
    write_run(path)
    return path


@pytest.fixture
def run(good: Path, tmp_path: Path) -> Path:
    return shutil.copytree(good, tmp_path / "run")


def gates(verdict: dict, name: str) -> dict[tuple, dict]:
    return {(g["engine"], g["against"]): g for g in verdict["gates"] if g["gate"] == name}


def edit_lines(file: Path, edit: Callable[[list[dict]], list[dict]]) -> None:
    lines = [json.loads(text) for text in file.read_bytes().split(b"\n")[:-1]]
    file.write_bytes(b"".join(compact(line) + b"\n" for line in [lines[0], *edit(lines[1:])]))


def edit_json(file: Path, edit: Callable[[dict], object]) -> None:
    document = json.loads(file.read_text())
    edit(document)
    file.write_text(json.dumps(document))


def test_a_sound_run_passes_with_its_counts(run: Path) -> None:
    verdict = compute_verdict(run)
    assert (verdict["verdict"], verdict["failures"]) == ("pass", [])
    assert verdict["counts"] == {
        "requests": 7, "questions": 9, "posts": 61, "ok": 57, "rejected": 4,
        "by_engine": {"reference": 16, "native": 20, "graph": 20, "frontend": 5},
    }  # fmt: skip
    assert verdict["max_probability_drift"] == 0.0
    assert verdict["against"] == ["fresh", "frozen"]
    assert verdict["not_covered"] == ["everything real"]
    json.dumps(verdict, allow_nan=False)


def test_every_gate_is_there_for_every_engine_it_is_about(run: Path) -> None:
    verdict = compute_verdict(run)
    pairs = {
        ("reference", "frozen"), ("native", "fresh"), ("native", "frozen"), ("graph", "fresh"), ("graph", "frozen"),
    }  # fmt: skip
    for name in ("probability", "confidence", "noul", "expected_value", "winner", "tokens", "shape"):
        assert set(gates(verdict, name)) == pairs
    for name in ("hidden_bitwise", "logits_bitwise"):
        assert set(gates(verdict, name)) == {("native", "fresh"), ("graph", "fresh")}
    for name in ("lattice", "probability_sum", "repeats"):
        assert set(gates(verdict, name)) == {("reference", None), ("native", None), ("graph", None)}
    for name in ("counts", "status", "operators", "health", "sources"):
        assert set(gates(verdict, name)) == {(None, None)}
    caches = [g["detail"].split(":")[0] for g in verdict["gates"] if g["gate"] == "graph_counters"]
    assert caches == ["text", "multimodal", "vision"]


def test_a_bitwise_difference_fails_an_exact_claim_and_only_that(tmp_path: Path) -> None:
    write_run(tmp_path / "exact", change=move("native", "text-long", "done", 0.03125))
    assert compute_verdict(tmp_path / "exact")["failures"] == ["hidden_bitwise", "logits_bitwise"]
    write_run(tmp_path / "baseline", claim="baseline", change=move("native", "text-long", "done", 0.03125))
    assert compute_verdict(tmp_path / "baseline")["verdict"] == "pass"


def test_a_larger_shift_fails_by_probability_and_the_worst_is_named(tmp_path: Path) -> None:
    write_run(tmp_path / "run", claim="baseline", change=move("graph", "text-pair", "z-known", 1.0))
    verdict = compute_verdict(tmp_path / "run")
    assert set(verdict["failures"]) == {"probability", "confidence", "noul", "winner"}
    gate = gates(verdict, "probability")["graph", "fresh"]
    assert not gate["passed"]
    assert gate["value"] == verdict["max_probability_drift"] == verdict["drift"]["graph/fresh"]["probability"] > 0.02
    assert gate["detail"] == "largest at text-pair/z-known"
    assert gates(verdict, "winner")["graph", "fresh"]["value"] == 1
    assert gates(verdict, "probability")["native", "fresh"]["passed"]


def test_an_engine_that_does_not_repeat_itself_fails(tmp_path: Path) -> None:
    def second_pass_differs(engine, phase, number, request, question, logits):
        return [x + 0.03125 if i == 0 and (engine, number) == ("native", 2) else x for i, x in enumerate(logits)]

    write_run(tmp_path / "run", change=second_pass_differs)
    verdict = compute_verdict(tmp_path / "run")
    assert verdict["failures"] == ["repeats"]
    # Seven responses and nine questions differ in the second pass.
    assert gates(verdict, "repeats")["native", None]["value"] == 16
    assert verdict["max_probability_drift"] == 0.0


def test_a_wrong_temperature_fails_the_lattice(tmp_path: Path) -> None:
    def text_for_images(engine, modality, declared):
        return 1.2345678901 if engine == "graph" and modality == "image" else declared

    write_run(tmp_path / "run", used_temperature=text_for_images)
    verdict = compute_verdict(tmp_path / "run")
    assert "lattice" in verdict["failures"]
    assert gates(verdict, "lattice")["graph", None]["value"] == 6  # three image questions, against fresh and frozen
    assert gates(verdict, "lattice")["native", None]["value"] == 0


def test_a_claim_without_its_evidence_fails(tmp_path: Path) -> None:
    write_run(tmp_path / "run", claim="faithful")
    assert compute_verdict(tmp_path / "run")["failures"] == ["oracle"]


def test_frozen_answers_alone(tmp_path: Path) -> None:
    write_run(tmp_path / "run", engines=("native",), reference="", claim="baseline")
    verdict = compute_verdict(tmp_path / "run")
    assert verdict["verdict"] == "pass"
    assert verdict["against"] == ["frozen"]
    assert verdict["scope"].endswith("no reference engine was run")
    assert set(verdict["drift"]) == {"native/frozen"}
    assert not gates(verdict, "hidden_bitwise")
    assert verdict["max_probability_drift"] == 0.0


def test_nothing_to_compare_is_a_failure(tmp_path: Path) -> None:
    write_run(tmp_path / "alone", engines=("reference",), frozen=False, claim="baseline")
    verdict = compute_verdict(tmp_path / "alone")
    assert verdict["failures"] == ["comparisons"]
    assert verdict["max_probability_drift"] is None


def test_without_frozen_answers_the_fresh_reference_still_judges(tmp_path: Path) -> None:
    write_run(tmp_path / "run", frozen=False)
    verdict = compute_verdict(tmp_path / "run")
    assert verdict["verdict"] == "pass"
    assert verdict["against"] == ["fresh"]


def test_a_protocol_of_text_alone_has_fewer_requests(tmp_path: Path) -> None:
    from tests.campaign.synthetic_run import REQUESTS

    write_run(tmp_path / "run", requests=[r for r in REQUESTS if r["modality"] == "text"])
    verdict = compute_verdict(tmp_path / "run")
    assert verdict["verdict"] == "pass"
    assert verdict["counts"]["by_engine"] == {"reference": 11, "native": 15, "graph": 15, "frontend": 3}


def drop(number: int) -> Callable[[list[dict]], list[dict]]:
    return lambda lines: [line for line in lines if line["n"] != number]


def swap(lines: list[dict]) -> list[dict]:
    return [*lines[:4], lines[5], lines[4], *lines[6:]]


NATIVE, GRAPH = "records/native/exchanges.jsonl", "records/graph/exchanges.jsonl"


@pytest.mark.parametrize(
    ("file", "edit", "detail"),
    [
        (NATIVE, drop(20), "native: 20 requests planned, 19 recorded"),
        (NATIVE, lambda lines: [*lines, lines[-1]], "native: 20 requests planned, 21 recorded"),
        (NATIVE, swap, "native n=5: planned ('measured', 1, 'text-pair')"),
        (GRAPH, lambda lines: [x | {"target": "worker"} for x in lines], "graph n=21: planned ('frontend'"),
    ],
)
def test_exchanges_that_depart_from_the_plan_fail_the_counts(run: Path, file: str, edit, detail: str) -> None:
    edit_lines(run / file, edit)
    gate = gates(compute_verdict(run), "counts")[None, None]
    assert not gate["passed"]
    assert gate["detail"].startswith(detail)


def test_missing_rows_fail_every_gate_over_them(run: Path) -> None:
    edit_lines(run / NATIVE, lambda lines: [x for x in lines if (x["request_id"], x["pass"]) != ("text-long", 1)])
    verdict = compute_verdict(run)
    gate = gates(verdict, "probability")["native", "fresh"]
    assert (gate["passed"], gate["value"], gate["detail"]) == (False, None, "1 of 9 comparisons are missing")
    for name in ("winner", "tokens", "shape", "hidden_bitwise", "lattice", "probability_sum"):
        assert name in verdict["failures"]


def test_a_reply_with_not_a_number_fails(run: Path) -> None:
    rewrite_response(run, "graph", "image-one", lambda body: body.replace(b'"confidence":0.', b'"confidence":NaN,"x":0.'))
    verdict = compute_verdict(run)
    assert not gates(verdict, "probability")["graph", "fresh"]["passed"]
    assert not gates(verdict, "confidence")["graph", "frozen"]["passed"]


def test_an_engine_without_records_fails(run: Path) -> None:
    shutil.rmtree(run / "records" / "graph")
    verdict = compute_verdict(run)
    assert {"probability", "counts", "repeats", "graph_counters", "health", "lattice"} <= set(verdict["failures"])
    assert gates(verdict, "probability")["native", "fresh"]["passed"]


def test_an_unexpected_status_fails(run: Path) -> None:
    def refuse(lines: list[dict]) -> list[dict]:
        return [x | ({"status": 503} if x.get("sequence") == 4 and "status" in x else {}) for x in lines]

    edit_lines(run / NATIVE, refuse)
    edit_lines(run / "records/native/worker.jsonl", refuse)
    gate = gates(compute_verdict(run), "status")[None, None]
    assert (gate["value"], gate["detail"]) == (1, "native n=4: 503, expected 200")


@pytest.mark.parametrize(
    ("edit", "cache"),
    [
        (lambda x: x | ({"action": "capture"} if x.get("key") == "text:40" else {}), "text"),
        (lambda x: x | ({"key": "multimodal:1"} if x.get("key") == "multimodal:102" else {}), "multimodal"),
        (lambda x: x | ({"counters": {"vision": {}}} if x["kind"] == "closed" else {}), "vision"),
        (lambda x: x | ({"bytes": 0} if x.get("key") == "text:36" else {}), "text"),
    ],
)
def test_graph_events_and_counters_must_be_what_the_policy_gives(run: Path, edit, cache: str) -> None:
    edit_lines(run / "records/graph/worker.jsonl", lambda lines: [edit(line) for line in lines])
    failed = [g for g in compute_verdict(run)["gates"] if g["gate"] == "graph_counters" and not g["passed"]]
    assert any(gate["detail"].startswith(cache) and gate["value"] > 0 for gate in failed)


def test_a_worker_that_died_has_no_closing_counters(run: Path) -> None:
    edit_lines(run / "records/graph/worker.jsonl", lambda lines: lines[:-1])
    assert "graph_counters" in compute_verdict(run)["failures"]


@pytest.mark.parametrize(
    ("file", "edit", "gate", "detail"),
    [
        ("records/native/engine.json", lambda d: d["health_after_refused"].pop(), "health", "native after refusal 2: None"),
        ("records/graph/engine.json", lambda d: d.update(health_before={"status": "no"}), "health", "graph before"),
        ("operators.json", lambda d: d["checks"][0].update(different=3), "operators", "3 of 902570 elements"),
        ("operators.json", lambda d: d["checks"][0].update(nan=1), "operators", "1 of 902570 elements"),
        ("operators.json", lambda d: d.update(checks=[], ops=[]), "operators", "no operator was compared"),
        ("operators.json", lambda d: d["ops"].append("rope"), "operators", "not compared: rope"),
        ("sources.json", lambda d: d["after"].update({"kit/new.py": "0"}), "sources", "changed: kit/new.py"),
        ("sources.json", lambda d: d.update(before={}, after={}), "sources", "hashes from before and after"),
    ],
)
def test_evidence_about_the_run_itself(run: Path, file: str, edit, gate: str, detail: str) -> None:
    edit_json(run / file, edit)
    verdict = compute_verdict(run)
    assert verdict["failures"] == [gate]
    assert gates(verdict, gate)[None, None]["detail"].startswith(detail)


@pytest.mark.parametrize(("file", "gate"), [("operators.json", "operators"), ("sources.json", "sources")])
def test_missing_evidence_fails(run: Path, file: str, gate: str) -> None:
    (run / file).unlink()
    assert compute_verdict(run)["failures"] == [gate]


@pytest.mark.parametrize(
    ("edit", "failed"),
    [
        (lambda b: b.replace(b'"input_tokens":76', b'"input_tokens":77'), {"tokens"}),
        (lambda b: b.replace(b'"output_tokens":0', b'"output_tokens":1'), {"shape"}),
        (lambda b: b.replace(b'{"model"', b'{"more":1,"model"'), {"shape"}),
        (lambda b: b.replace(b'"latency_ms":', b'"latency_ms":-'), {"shape"}),
    ],
)
def test_the_response_around_the_answers_is_judged_too(run: Path, edit, failed: set[str]) -> None:
    rewrite_response(run, "native", "text-long", edit)
    verdict = compute_verdict(run)
    assert failed <= set(verdict["failures"]) <= failed | {"repeats"}
