"""Drift: one row a question, every figure from the records, absent answers named and never skipped."""

import json
import math
from pathlib import Path

import pytest

from kit.campaign.drift import compute_drift
from kit.campaign.reading import RecordsError, drift_frame, exchanges_frame, probabilities_frame, read_run
from tests.campaign.synthetic_run import MM_TEMPERATURE, TEMPERATURE, bf16, compact, digest, write_run

QUESTIONS = 9


def rows_of(drift: dict, engine: str, against: str) -> list[dict]:
    return [row for row in drift["rows"] if (row["engine"], row["against"]) == (engine, against)]


def move(engine: str, request: str, question: str, shift: float, candidate: int = 0):
    """A planted fault: one label logit of one engine's forwards of one question is shifted."""

    def change(who, phase, number, which, q, logits):
        if (who, which, q) == (engine, request, question):
            return [bf16(x + shift) if i == candidate else x for i, x in enumerate(logits)]
        return logits

    return change


def rewrite_response(run: Path, engine: str, request: str, edit) -> None:
    """Replace the response to a request in the first measured pass, on both sides' records."""
    folder = run / "records" / engine
    exchanges = (folder / "exchanges.jsonl").read_text()
    lines = [json.loads(line) for line in exchanges.splitlines()]
    line = next(x for x in lines if x.get("request_id") == request and x["pass"] == 1)
    bodies = run / "records" / "bodies"
    data = edit((bodies / line["response_sha256"]).read_bytes())
    (bodies / digest(data)).write_bytes(data)
    old = line["response_sha256"]
    line["response_sha256"] = digest(data)
    (folder / "exchanges.jsonl").write_bytes(b"".join(compact(x) + b"\n" for x in lines))
    worker = [json.loads(text) for text in (folder / "worker.jsonl").read_text().splitlines()]
    for entry in worker:
        if entry.get("response_sha256") == old and entry["sequence"] == line["sequence"]:
            entry["response_sha256"] = digest(data)
    (folder / "worker.jsonl").write_bytes(b"".join(compact(x) + b"\n" for x in worker))


def test_equal_engines_have_no_drift_in_any_row(tmp_path: Path) -> None:
    write_run(tmp_path / "run")
    drift = compute_drift(tmp_path / "run")
    assert list(drift["worst"]) == [
        "reference/frozen", "native/fresh", "native/frozen", "graph/fresh", "graph/frozen",
    ]  # fmt: skip
    assert len(drift["rows"]) == 5 * QUESTIONS
    assert "missing" not in drift
    for row in drift["rows"]:
        assert row["probability_drift"] == row["confidence_drift"] == 0.0
        assert row["winner_same"]
        assert row["tokens_same"]
        assert row["shape_same"]
        assert row["lattice"]["holds"]
        fresh = row["against"] == "fresh"
        assert (row["hidden_equal"], row["logits_equal"]) == ((True, True) if fresh else (None, None))
        assert (row["max_steps"], row["detectable_steps"] is None) == ((0.0, False) if fresh else (None, True))


def test_a_type_s_own_figure_is_null_for_other_types(tmp_path: Path) -> None:
    write_run(tmp_path / "run")
    for row in compute_drift(tmp_path / "run")["rows"]:
        assert (row["noul_drift"] is not None) == (row["type"] == "noul")
        assert (row["expected_drift"] is not None) == (row["type"] == "score")


def test_a_shift_of_one_step_is_one_step_whatever_it_does_to_probabilities(tmp_path: Path) -> None:
    write_run(tmp_path / "run")
    before = rows_of(compute_drift(tmp_path / "run"), "native", "fresh")[0]
    run = read_run(tmp_path / "run")
    logits = run.engines["reference"].measured()["text-choice"].questions["route"].logits
    loser = min(range(3), key=lambda i: logits[i])
    spacing = 2.0 ** (math.floor(math.log2(max(abs(logits[loser]), abs(max(logits))))) - 7)
    write_run(tmp_path / "moved", change=move("native", "text-choice", "route", spacing, loser))
    drift = compute_drift(tmp_path / "moved")
    row = rows_of(drift, "native", "fresh")[0]
    assert row["max_steps"] == 1.0
    assert not row["logits_equal"]
    assert not row["hidden_equal"]
    assert 0 < row["probability_drift"] < 0.01
    assert row["detectable_steps"] == before["detectable_steps"]
    assert drift["worst"]["native/fresh"]["max_steps"] == 1.0
    assert drift["worst"]["graph/fresh"]["max_steps"] == 0.0
    untouched = [r for r in rows_of(drift, "native", "fresh") if r["question"] != "route"]
    assert all(r["logits_equal"] for r in untouched)


def test_drift_is_recomputed_from_the_two_answers(tmp_path: Path) -> None:
    write_run(tmp_path / "run", change=move("native", "text-score", "urgency", 1.5, 2))
    run = read_run(tmp_path / "run")
    ours, theirs = (
        run.engines[name].measured()["text-score"].response["answers"]["urgency"] for name in ("native", "reference")
    )
    (row,) = [r for r in rows_of(compute_drift(tmp_path / "run"), "native", "fresh") if r["request"] == "text-score"]
    p, q = ours["probabilities"].values(), theirs["probabilities"].values()
    assert row["probability_drift"] == max(abs(a - b) for a, b in zip(p, q, strict=True))
    assert row["expected_drift"] == abs(ours["expected_value"] - theirs["expected_value"])


def test_a_wrong_temperature_shows_on_the_lattice_and_nowhere_else_in_the_raw_record(tmp_path: Path) -> None:
    def text_temperature_for_images(engine, modality, declared):
        return TEMPERATURE if engine == "native" and modality == "image" else declared

    assert TEMPERATURE != MM_TEMPERATURE
    write_run(tmp_path / "run", used_temperature=text_temperature_for_images)
    for row in rows_of(compute_drift(tmp_path / "run"), "native", "fresh"):
        assert row["logits_equal"]
        assert row["lattice"] == {"holds": False, "exponent": None} or row["modality"] == "text"
        assert row["lattice"]["holds"] or row["modality"] == "image"


def test_probabilities_that_are_not_the_softmax_of_the_logits_are_another_shape(tmp_path: Path) -> None:
    write_run(tmp_path / "run")

    def edit(body: bytes) -> bytes:
        response = json.loads(body)
        answer = response["answers"]["done"]
        answer["probabilities"] = dict(zip(("yes", "no"), (answer["probabilities"]["yes"] * 1.001,), strict=False))
        answer["probabilities"]["no"] = 1 - answer["probabilities"]["yes"]
        answer["noul"], answer["confidence"] = answer["probabilities"]["yes"], max(answer["probabilities"].values())
        return compact(response)

    rewrite_response(tmp_path / "run", "native", "text-long", edit)
    (row,) = [r for r in rows_of(compute_drift(tmp_path / "run"), "native", "fresh") if r["request"] == "text-long"]
    assert not row["shape_same"]
    assert not row["lattice"]["holds"]
    assert row["probability_drift"] < 0.02


@pytest.mark.parametrize(
    ("edit", "reason"),
    [
        (lambda body: body.replace(b'"confidence":0.', b'"confidence":NaN,"x":0.', 1), "no answer"),
        (lambda body: body.replace(b'"confidence":0.', b'"confidence":null,"x":0.', 1), "not a finite number"),
        (lambda body: body.replace(b'"yes":0.', b'"yes":"0.', 1).replace(b',"no"', b'","no"', 1), "not a finite number"),
        (lambda body: body.replace(b'"type":"noul"', b'"type":"vote"', 1), "type 'vote'"),
        (lambda body: body.replace(b'"done":', b'"undone":', 1), "no answer"),
        (lambda body: body.replace(b'"yes":', b'"maybe":', 1), "different candidates"),
        (lambda body: body[:-1], "no answer"),
    ],
)
def test_an_unusable_answer_is_missing_with_its_reason(tmp_path: Path, edit, reason: str) -> None:
    write_run(tmp_path / "run")
    rewrite_response(tmp_path / "run", "native", "text-long", edit)
    drift = compute_drift(tmp_path / "run")
    assert len(rows_of(drift, "native", "fresh")) == QUESTIONS - 1
    first = drift["missing"][0]
    assert (first["engine"], first["request"], first["question"]) == ("native", "text-long", "done")
    assert reason in first["reason"]


def test_a_logit_that_is_not_a_number_is_missing(tmp_path: Path) -> None:
    write_run(tmp_path / "run")
    file = tmp_path / "run/records/native/worker.jsonl"
    lines = [json.loads(text) for text in file.read_text().splitlines()]
    line = next(x for x in lines if x.get("question") == "route" and x["sequence"] == 3)
    line["logits"] = "0000c07f" + line["logits"][8:]
    file.write_bytes(b"".join(compact(x) + b"\n" for x in lines))
    drift = compute_drift(tmp_path / "run")
    assert "not a finite number" in drift["missing"][0]["reason"]


def test_records_that_contradict_each_other_cannot_be_judged(tmp_path: Path) -> None:
    write_run(tmp_path / "run")
    file = tmp_path / "run/records/native/worker.jsonl"
    lines = file.read_bytes().split(b"\n")
    doubled = next(line for line in lines if b'"kind":"post"' in line)
    file.write_bytes(b"\n".join([*lines[:-1], doubled, b""]))
    with pytest.raises(RecordsError, match="recorded twice"):
        compute_drift(tmp_path / "run")


def test_a_body_that_is_not_what_its_name_says_cannot_be_judged(tmp_path: Path) -> None:
    write_run(tmp_path / "run")
    line = json.loads((tmp_path / "run/records/graph/exchanges.jsonl").read_text().splitlines()[1])
    body = tmp_path / "run/records/bodies" / line["response_sha256"]
    body.write_bytes(body.read_bytes().replace(b"0.", b"1.", 1))
    with pytest.raises(RecordsError, match="does not have the digest"):
        compute_drift(tmp_path / "run")


def test_frames_for_notebooks_have_a_row_an_item(tmp_path: Path) -> None:
    write_run(tmp_path / "run")
    run = read_run(tmp_path / "run")
    assert len(exchanges_frame(run)) == 61
    assert len(drift_frame(compute_drift(tmp_path / "run"))) == 5 * QUESTIONS
    candidates = probabilities_frame(run)
    assert len(candidates) == 3 * 23
    assert candidates.groupby(["engine", "request", "question"])["probability"].sum().round(12).eq(1).all()
