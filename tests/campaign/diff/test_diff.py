"""kit diff: two bundles, what changed between them, and whether decisions did."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kit.campaign.diff import answers, judgement, noise, tables, verb
from kit.campaign.diff.answers import differing_bits, relative_rms
from kit.campaign.diff.changes import Change, changes
from kit.campaign.diff.evidence import DiffError, Evidence, read_evidence
from kit.campaign.diff.latency import REQUESTS as TIMED
from kit.campaign.diff.latency import changed, compare_latency
from kit.campaign.floor import document as floor_document
from kit.campaign.generated import lines as generated_lines
from kit.evidence import manifest, package
from kit.evidence.floats import float32_hex
from kit.evidence.records import store_body, write_json
from tests.campaign.synthetic_run import REQUESTS, bf16, bf16_bytes, write_run
from tests.evidence.make_bundle import make_bundle

PASSED = {"audit": "pass", "verdict": "pass", "signature": "unsigned"}
Edit = Callable[[str, list[float]], list[float]]


def run_of(folder: Path, name: str, edit: Edit | None = None, **options: Any) -> Path:
    """A made-up run; edit changes the logits of a question for every engine, as another library would."""

    def change(engine: str, phase: str, number: int, request: str, question: str, logits: list[float]) -> list[float]:
        return logits if edit is None else edit(f"{request}/{question}", logits)

    write_run(folder / name, change=change, **options)
    return folder / name


def read(folder: Path) -> Evidence:
    return read_evidence(folder, PASSED, folder.name)


def compared(a: Path, b: Path) -> dict[str, Any]:
    return judgement.compare(read(a), read(b))


def lifted(place: str, by: float, index: int = 0) -> Edit:
    """One logit of one question moved."""

    def edit(where: str, logits: list[float]) -> list[float]:
        return [bf16(v + by) if where == place and i == index else v for i, v in enumerate(logits)]

    return edit


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run_of(tmp_path_factory.mktemp("diff"), "base")


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_bundle(tmp_path_factory.mktemp("bundle"))


# ---------------------------------------------------------------- answers


def test_a_run_is_the_same_as_itself(base: Path) -> None:
    document = compared(base, base)
    assert (document["verdict"], document["reasons"], document["changes"]) == ("same", [], [])
    for engine in document["engines"]:
        assert engine["hidden_same"] == engine["logits_same"] == engine["compared"] == 9
        assert engine["max_steps"] == engine["max_hidden_bits"] == engine["max_probability_drift"] == 0


def test_a_flipped_decision_is_named_with_its_margin(base: Path, tmp_path: Path) -> None:
    document = compared(base, run_of(tmp_path, "b", lifted("text-choice/route", 8, index=0)))
    rows = [row for row in document["rows"] if row["flipped"]]
    assert document["verdict"] == "changed"
    assert {(row["engine"], row["request"], row["question"]) for row in rows} == {
        (engine, "text-choice", "route") for engine in ("reference", "native", "graph")
    }
    assert all(row["winner_a"] != row["winner_b"] for row in rows)
    assert document["reasons"][0].startswith("3 answers to 1 question: decided otherwise, ")
    assert judgement.headline(document)["flipped"] == 3


def test_a_flip_at_a_small_margin_changes_the_diff_too(tmp_path: Path) -> None:
    """Margin below the gate's 0.05: no gate sees it, and a decision is a decision."""
    tie = lambda where, logits: [1.0, bf16(1.0 - 2**-7), *logits[2:]] if where == "text-choice/route" else logits  # noqa: E731
    turned = lambda where, logits: [bf16(1.0 - 2**-7), 1.0, *logits[2:]] if where == "text-choice/route" else logits  # noqa: E731
    low = lambda edit: lambda where, logits: edit(where, [*logits[:2], *(-8.0 for _ in logits[2:])])  # noqa: E731
    document = compared(run_of(tmp_path, "a", low(tie)), run_of(tmp_path, "b", low(turned)))
    assert document["reasons"] == ["3 answers to 1 question: decided otherwise, 0 of them where A leads by 0.05 or more"]
    assert document["verdict"] == "changed"


def test_bits_and_steps_within_the_gates_are_told_and_change_nothing(base: Path, tmp_path: Path) -> None:
    document = compared(base, run_of(tmp_path, "b", lifted("text-long/done", 2**-6)))
    row = next(row for row in document["rows"] if (row["engine"], row["request"], row["question"]) == ("graph", "text-long", "done"))
    assert document["verdict"] == "same"
    assert row["steps"] > 0
    assert row["logit_bits"] > 0
    assert row["hidden_same"] is False
    assert row["hidden_bits"] > 0
    assert 0 < row["probability_drift"] < 0.02
    graph = next(engine for engine in document["engines"] if engine["engine"] == "graph")
    assert (graph["logits_same"], graph["hidden_same"], graph["compared"]) == (8, 8, 9)


def test_a_figure_beyond_a_gate_changes_the_diff_without_a_flip(base: Path, tmp_path: Path) -> None:
    document = compared(base, run_of(tmp_path, "b", lifted("text-score/urgency", 0.25, index=1)))
    assert judgement.headline(document)["flipped"] == 0
    assert document["verdict"] == "changed"
    assert "beyond the gates (" in document["reasons"][0]


def test_an_answer_that_only_one_side_gave_is_lost(base: Path, tmp_path: Path) -> None:
    other = shutil.copytree(base, tmp_path / "b")
    file = other / "records" / "graph" / "exchanges.jsonl"
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    gone = next(line for line in lines[1:] if line["phase"] == "measured" and line["pass"] == 1)
    lines.remove(gone)
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    document = compared(base, other)
    assert {item["reason"] for item in document["lost"]} == {"not answered in B"}
    assert {item["request"] for item in document["lost"]} == {gone["request_id"]}
    assert document["verdict"] == "changed"
    assert "given on one side only" in document["reasons"][0]


def test_a_question_of_one_protocol_only_is_left_out_and_said(base: Path, tmp_path: Path) -> None:
    document = compared(base, run_of(tmp_path, "b", requests=REQUESTS[:4]))
    assert document["verdict"] == "same"
    assert document["unmatched"]
    assert all(item["reason"] == "not asked in B" for item in document["unmatched"])


def test_another_request_of_the_same_name_is_not_compared(base: Path, tmp_path: Path) -> None:
    first = json.loads(json.dumps(REQUESTS[0]))
    first["request"]["state"] = "another state"
    document = compared(base, run_of(tmp_path, "b", requests=[first, *REQUESTS[1:]]))
    assert {item["reason"] for item in document["unmatched"]} == {"the two requests are not the same"}
    assert {item["request"] for item in document["unmatched"]} == {first["id"]}


def test_engines_of_one_side_only_are_named(base: Path, tmp_path: Path) -> None:
    document = compared(base, run_of(tmp_path, "b", engines=("reference", "native")))
    assert document["only_in"] == {"a": ["graph"], "b": []}
    assert [engine["engine"] for engine in document["engines"]] == ["reference", "native"]


def test_nothing_in_common_is_not_judged(base: Path, tmp_path: Path) -> None:
    other = run_of(tmp_path, "b", engines=("remote",), reference="", claim="baseline")
    with pytest.raises(DiffError, match="no engine of both bundles answered the same question"):
        compared(base, other)


def test_a_remote_engine_is_compared_by_its_probabilities(tmp_path: Path) -> None:
    options: dict[str, Any] = {"engines": ("remote",), "reference": "", "claim": "baseline"}
    a, b = (run_of(tmp_path, name, edit, **options) for name, edit in (("a", None), ("b", lifted("text-choice/route", 8))))
    document = compared(a, b)
    (remote,) = document["engines"]
    assert (remote["hidden_same"], remote["logits_same"], remote["max_steps"]) == (None, None, None)
    assert remote["flipped"] == 1
    assert document["verdict"] == "changed"


def test_bits_and_relative_rms_of_rows() -> None:
    one, other = bf16_bytes([1.0, -2.0]), bf16_bytes([1.0, -2.015625])
    assert differing_bits(one, one) == 0
    assert differing_bits(one, other) == 1
    assert relative_rms(one, other, "bfloat16") == pytest.approx(0.015625 / 5**0.5)
    assert relative_rms(one, other, "float8") is None
    assert differing_bits(b"\x00\x80", b"\x00\x00") == 1  # zero and minus zero are different bits


# ---------------------------------------------------------------- generated questions


def write_generated(run: Path, logits: dict[str, tuple[float, ...]]) -> None:
    """records/generated.jsonl as the stage leaves it, the same logits on both sides."""
    lines = [
        {
            "request": name, "modality": "text", "content": name, "request_sha256": name * 8, "question": "q", "type": "choice",
            "candidates": ["a", "b"], "expected": None, "tokens": 90, "oracle": None,
            "reference": {"logits": float32_hex(values), "hidden": "0" * 64},
            "candidate": {"logits": float32_hex(values), "hidden": str(values[0] > 1) * 4, "action": "replay"},
        }
        for name, values in logits.items()
    ]  # fmt: skip
    header = {"format": "kit-generated/1", "generator": "made-up", "seed": 1, "candidate": "graph"}
    (run / "records" / "generated.jsonl").write_text("".join(json.dumps(line) + "\n" for line in (header, *lines)))


def test_generated_questions_count_too(base: Path, tmp_path: Path) -> None:
    a, b = (Path(shutil.copytree(base, tmp_path / name)) for name in "ab")
    write_generated(a, {"g1": (1.0, 0.5), "g2": (1.0, 0.5)})
    write_generated(b, {"g1": (1.0, 0.5), "g2": (0.5, 2.0)})
    document = compared(a, b)
    found = {(engine["engine"], engine["questions"]): engine for engine in document["engines"]}
    assert (found["graph", "generated"]["compared"], found["graph", "generated"]["flipped"]) == (2, 1)
    assert found["graph", "frozen"]["flipped"] == 0
    assert judgement.headline(document)["questions"] == 9 + 2


# ---------------------------------------------------------------- the floor


def with_floor(run: Path, folder: Path, **levels: float) -> Path:
    copy = Path(shutil.copytree(run, folder))
    found = {measure: {"p99": {"value": 0.0}, "max": {"value": level}} for measure, level in levels.items()}
    less = {measure: {"p99": {"value": 0.0}, "max": {"value": level / 2}} for measure, level in levels.items()}
    summary = {"row0": {"text": less, "image": less, "protocol": less}, "draw": {"text": found, "image": found}}
    write_json(copy / noise.FILE, {"format": noise.FORMAT, "summary": summary})
    return copy


def test_a_drift_within_the_gates_and_beyond_the_floor_changes_the_diff(base: Path, tmp_path: Path) -> None:
    other = run_of(tmp_path, "b", lifted("text-long/done", 2**-6))
    quiet = compared(with_floor(base, tmp_path / "quiet", hidden=1.0, steps=0.0, probability=1.0), other)
    loud = compared(with_floor(base, tmp_path / "loud", hidden=1.0, steps=64.0, probability=1.0), other)
    assert (quiet["verdict"], loud["verdict"]) == ("changed", "same")
    assert quiet["reasons"] == ["3 answers to 1 question: beyond A's noise floor (steps 3)"]
    assert judgement.headline(loud)["beyond_floor"] == 0


def test_a_floor_excuses_nothing_beyond_a_gate(base: Path, tmp_path: Path) -> None:
    loud = with_floor(base, tmp_path / "a", hidden=9.0, steps=4096.0, probability=1.0)
    assert compared(loud, run_of(tmp_path, "b", lifted("text-score/urgency", 0.25, index=1)))["verdict"] == "changed"


def test_without_a_floor_it_says_there_is_none(base: Path) -> None:
    assert judgement.headline(compared(base, base))["floor"].startswith("none: A has no records/floor.json")


# ---------------------------------------------------------------- what changed


def test_every_kind_of_change_is_told(bundle: Path, tmp_path: Path) -> None:
    other = Path(shutil.copytree(bundle, tmp_path / "b"))

    def edit(name: str, change: Callable[[dict[str, Any]], object]) -> None:
        document = json.loads((other / name).read_text())
        change(document)
        (other / name).write_text(json.dumps(document))

    edit("environment.json", lambda d: d["packages"]["torch"].update(version="2.14.0"))
    edit("environment.json", lambda d: d.setdefault("versions", {}).update(torch="2.14.0"))
    edit("environment.json", lambda d: d.update(python="3.13.1"))
    edit("environment.json", lambda d: d["settings"].update(threads=2))
    edit("environment.json", lambda d: d.update(device={"kind": "cuda", "driver": "600.1"}))
    edit("profile.json", lambda d: d["graph"].update(policy="fifo"))
    edit("sources.json", lambda d: d["after"].update({"kit/new.py": "1" * 64}))
    edit("checkpoint.json", lambda d: d.update(weights_sum="2" * 64))
    edit("run.json", lambda d: d.update(kit_version="9.0"))
    (other / "protocol" / "corpus.jsonl").write_bytes(b"{}\n")
    ledger = {"winners": [{"kernel": "k", "key": [1], "config": {"num_warps": 4}}]}
    write_json(other / "records" / "autotune.json", ledger)
    found = changes(read(bundle), read(other))
    told = {(change.kind, change.what) for change in found}
    assert told >= {
        ("package", "torch"), ("python", "python"), ("settings", "threads"), ("device", "driver"), ("profile", "graph.policy"),
        ("source", "kit/new.py"), ("checkpoint", "weights_sum"), ("kit", "version"), ("protocol", "corpus.jsonl"), ("autotune", "k [1]"),
    }  # fmt: skip
    assert Change("package", "torch", "2.13.0", "2.14.0") in found
    assert Change("source", "kit/new.py", "absent", "1" * 64) in found
    assert len(found) == 11  # those, and the device's kind


def test_the_moment_of_a_run_is_no_change(bundle: Path, tmp_path: Path) -> None:
    other = Path(shutil.copytree(bundle, tmp_path / "b"))
    run = json.loads((other / "run.json").read_text())
    (other / "run.json").write_text(json.dumps(run | {"id": "another", "started_utc": "2030-01-01T00:00:00Z"}))
    assert changes(read(bundle), read(other)) == []


# ---------------------------------------------------------------- latency


def slower(run: Path, folder: Path, factor: float) -> Path:
    """A copy of a run whose graph engine reports latencies longer by a factor."""
    copy = Path(shutil.copytree(run, folder))
    records, bodies = copy / "records" / "graph", copy / "records" / "bodies"
    exchanges = (records / "exchanges.jsonl").read_text()
    worker = (records / "worker.jsonl").read_text()
    for line in map(json.loads, exchanges.splitlines()[1:]):
        if line["status"] != 200:
            continue
        document = json.loads((bodies / line["response_sha256"]).read_bytes())
        document["usage"]["latency_ms"] *= factor
        digest = store_body(bodies, json.dumps(document).encode())
        exchanges = exchanges.replace(line["response_sha256"], digest)
        worker = worker.replace(line["response_sha256"], digest)
    (records / "exchanges.jsonl").write_text(exchanges)
    (records / "worker.jsonl").write_text(worker)
    return copy


def test_a_slower_engine_is_slower_and_changes_no_decision(base: Path, tmp_path: Path) -> None:
    document = compared(base, slower(base, tmp_path / "b", 1.5))
    rows = {row["engine"]: row for row in document["latency"]}
    assert rows["graph"]["ratio"] == pytest.approx(1.5)
    assert (rows["graph"]["changed"], rows["reference"]["changed"]) == ("slower", "same")
    assert rows["graph"]["low"] <= rows["graph"]["ratio"] <= rows["graph"]["high"]
    assert document["verdict"] == "same"
    assert judgement.headline(document)["latency"]["graph"]["ratio"] == pytest.approx(1.5)


def test_timed_workloads_are_compared_block_by_block(tmp_path: Path) -> None:
    bundle = make_bundle(tmp_path, device="cuda")
    samples = json.loads((bundle / "records" / "performance_samples.json").read_text())
    other = Path(shutil.copytree(bundle, tmp_path / "b"))
    for entry in samples["entries"]:
        entry["wall_ms"] = [[value * (0.5 if entry["engine"] == "graph" else 1.0) for value in block] for block in entry["wall_ms"]]
    write_json(other / "records" / "performance_samples.json", samples)
    rows = [row for row in compare_latency(read(bundle), read(other)) if row["workload"] != TIMED]
    assert {row["engine"] for row in rows} >= {"reference", "eager", "graph", "reference-graph"}
    for row in rows:
        assert row["ratio"] == pytest.approx(0.5 if row["engine"] == "graph" else 1.0)
        assert changed(row) != "slower"
    assert any(changed(row) == "faster" for row in rows if row["engine"] == "graph")


def test_too_few_samples_have_no_interval() -> None:
    assert changed({"low": None, "high": None}) == "unsure"


# ---------------------------------------------------------------- the command


def last_line(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    return json.loads(capsys.readouterr().out.splitlines()[-1])


def test_the_same_bundle_packed_and_not(bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    packed = package.pack(bundle, tmp_path / "packed.tar.gz")
    out, plot = tmp_path / "diff.json", tmp_path / "diff.png"
    assert verb.run(bundle, packed, trust_own=True, out=out, plot=plot) == 0
    line = last_line(capsys)
    assert (line["diff"], line["a"]["audit"], line["b"]["name"]) == ("same", "pass", "packed.tar.gz")
    assert line["a"]["bundle_sha256"] == line["b"]["bundle_sha256"]
    assert (line["questions"], line["answers"]) == (9, 27)
    assert json.loads(out.read_text())["format"] == judgement.FORMAT
    assert plot.read_bytes().startswith(b"\x89PNG")


def test_a_bundle_that_fails_its_audit_is_not_compared_unasked(
    bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = Path(shutil.copytree(bundle, tmp_path / "other"))
    (other / "logs" / "native.log").write_text("another\n")
    assert verb.run(bundle, other, trust_own=True) == 2
    line = last_line(capsys)
    assert line["diff"] == "not-judged"
    assert line["reasons"][0].startswith("other does not pass its audit (fail: sums: logs/native.log")
    assert verb.run(bundle, other, trust_own=True, anyway=True) == 0
    assert last_line(capsys)["b"]["audit"] == "fail"


def test_a_changed_decision_is_exit_code_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a, b = run_of(tmp_path, "a"), run_of(tmp_path, "b", lifted("text-choice/route", 8))
    assert verb.run(a, b, anyway=True) == 1
    text = capsys.readouterr().out
    assert "decided otherwise" in text
    assert "reference, native, graph" in text


@pytest.mark.parametrize("deed", ["nothing", "text", "empty", "records"])
def test_what_cannot_be_judged_is_exit_code_2_in_one_sentence(
    bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], deed: str
) -> None:
    other = tmp_path / "other"
    if deed == "text":
        other.write_text("no archive")
    elif deed == "empty":
        other.mkdir()
    elif deed == "records":
        shutil.copytree(bundle, other)
        (other / "records" / "graph" / "exchanges.jsonl").write_text('{"format":"kit-exchanges/1"}\n{"n":1}\n')
        manifest.write_sums(other)
    assert verb.run(bundle, other, trust_own=True, anyway=True) == 2
    assert last_line(capsys)["diff"] == "not-judged"


def test_many_changes_are_cut_and_said(base: Path) -> None:
    document = compared(base, base)
    document["changes"] = [{"kind": "source", "what": f"kit/{i}.py", "a": "absent", "b": "0"} for i in range(20)]
    table = tables.changes_table(document)
    assert table.row_count == tables.MOST_CHANGES + 1


def test_what_computes_is_shown_first(base: Path) -> None:
    document = compared(base, base)
    names = [*(f"a{i}" for i in range(20)), "kit/model/head.py", "torch"]
    document["changes"] = [{"kind": kind, "what": name, "a": "1", "b": "2"} for kind in ("package", "source") for name in names]
    shown = list(tables.changes_table(document).columns[1].cells)
    assert shown[:2] == ["torch", "kit/model/head.py"]


def test_remarks_say_what_was_left_out(base: Path, tmp_path: Path) -> None:
    document = compared(base, run_of(tmp_path, "b", requests=REQUESTS[:4]))
    document["changes"] = [{"kind": "checkpoint", "what": "digest", "a": "1", "b": "2"}]
    text = "\n".join(tables.remarks(document))
    assert "answers to frozen questions (not asked in B)" in text
    assert "this compares two models" in text


def test_records_are_read_where_and_as_they_are_written() -> None:
    """A diff imports neither writer, as they need numpy."""
    assert (noise.FILE, noise.FORMAT) == (floor_document.FILE, floor_document.FORMAT)
    assert (answers.GENERATED_FILE, answers.GENERATED_FORMAT) == (generated_lines.FILE, generated_lines.FORMAT)


def test_a_diff_needs_no_torch() -> None:
    code = "import sys; from kit.campaign.diff import verb; print(sorted({'torch', 'pandas', 'matplotlib', 'numpy'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
