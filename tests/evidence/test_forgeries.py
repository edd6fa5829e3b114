"""Forgeries that keep every digest and every derived figure right: what they contradict elsewhere is found and named.

Each deed changes something that no sum, hash or gate covers, and the bundle is described and sealed again afterwards.
`CPU` deeds are done to a made-up run on a processor, `GPU` deeds to one on a device with measurements.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kit.evidence import audit
from kit.evidence.audit.exchanges import check_own_answers
from kit.evidence.audit.reading import Bundle
from tests.campaign.synthetic_run import compact
from tests.evidence.make_bundle import Tamper
from tests.evidence.test_tampering import audit_problems

Deed = Callable[[Tamper], object]
NATIVE, GRAPH, REFERENCE = "records/native", "records/graph", "records/reference"
DRILLS, LEDGER, SAMPLES = "records/drills.jsonl", "records/autotune.json", "records/performance_samples.json"


def document(name: str, edit: Callable[[dict[str, Any]], object]) -> Deed:
    return lambda t: t.json(name, edit)


def both(engine: str, edit: Callable[[dict[str, Any]], object]) -> Deed:
    """Change what an engine says of itself in both places that tell it."""

    def deed(t: Tamper) -> None:
        t.json(f"records/{engine}/engine.json", lambda d: edit(d["describe"]))
        t.lines(f"records/{engine}/worker.jsonl", lambda x: edit(next(q for q in x if q["kind"] == "ready")["describe"]))

    return deed


def every_engine(edit: Callable[[dict[str, Any]], object]) -> Deed:
    return lambda t: [both(engine, edit)(t) for engine in ("reference", "native", "graph")]


def drill(index: int, edit: Callable[[dict[str, Any]], object]) -> Deed:
    return lambda t: t.lines(DRILLS, lambda x: edit(x[index]))


def post(edit: Callable[[dict[str, Any]], object]) -> Deed:
    """Change one answered post of the native worker."""
    return lambda t: t.lines(f"{NATIVE}/worker.jsonl", lambda x: edit(next(q for q in x if q["kind"] == "post" and q["status"] == 200)))


def last_exchange(edit: Callable[[dict[str, Any]], object]) -> Deed:
    return lambda t: t.lines(f"{NATIVE}/exchanges.jsonl", lambda x: edit(x[-1]))


def memory(engine: str, kind: str, **figures: int) -> Deed:
    def deed(t: Tamper) -> None:
        t.json(f"records/{engine}/engine.json", lambda d: d["memory"][kind].update(figures))
        t.lines(f"records/{engine}/worker.jsonl", lambda x: next(q for q in x if q["kind"] == kind)["memory"].update(figures))

    return deed


def computed(notebook: dict[str, Any]) -> None:
    """A call where a literal must be; its node has an address, which no message repeats."""
    cell = next(cell for cell in notebook["cells"] if "injected-parameters" in cell["metadata"].get("tags", ()))
    cell["source"] = ["# Parameters\n", "profile = open('params/other.toml')\n"]


def lost_checks(document: dict[str, Any]) -> None:
    """The last sizes were never compared; totals and gate follow."""
    del document["checks"][200:225]
    names = ("elements", "different", "nan", "changed_different", "replay_different", "repeats_different")
    document["totals"] = {"checks": len(document["checks"])} | {
        name: sum(check[name] for check in document["checks"]) for name in names
    }


def shared_response(t: Tamper) -> None:
    """The graph engine's first answer is the native engine's, byte for byte, in every record."""
    theirs = json.loads((t.path / NATIVE / "exchanges.jsonl").read_text().splitlines()[1])["response_sha256"]
    ours = json.loads((t.path / GRAPH / "exchanges.jsonl").read_text().splitlines()[1])["response_sha256"]
    for name in ("exchanges.jsonl", "worker.jsonl"):
        file = t.path / GRAPH / name
        file.write_bytes(file.read_bytes().replace(ours.encode(), theirs.encode()))
    (t.path / "records" / "bodies" / ours).unlink()


def hidden_attempt(t: Tamper) -> None:
    (t.path / "attempts" / "other-1").mkdir(parents=True)
    (t.path / "attempts" / "other-1" / "exchanges.jsonl").write_bytes(compact({"format": "kit-exchanges/1"}) + b"\n")


def logits_off_the_grid(t: Tamper) -> None:
    """One step finer than BF16 in every engine alike: answers could follow, the dtype could not hold it."""
    for engine in ("reference", "native", "graph"):
        file = t.path / f"records/{engine}/worker.jsonl"
        lines = [json.loads(line) for line in file.read_bytes().splitlines()]
        for line in lines:
            if line.get("kind") == "question" and line["sequence"] == 3:
                line["logits"] = "0100" + line["logits"][4:]
        file.write_bytes(b"".join(compact(line) + b"\n" for line in lines))


def verdict_of_a_stage(text: str) -> Deed:
    def edit(document: dict[str, Any]) -> None:
        cell = next(c for c in document["cells"] if "nbval-check-output" in c["metadata"].get("tags", ()))
        cell["outputs"][0]["text"] = [text]

    return document_of("notebooks/08_drift.ipynb", edit)


document_of = document

CPU: list[tuple[str, Deed, str]] = [
    # keys and kinds
    ("a key nobody knows in the verdict", document("verdict.json", lambda d: d.update(reviewed_by="experts")), 'shapes: verdict.json "reviewed_by": is there, and nothing of that name belongs there'),
    ("a key nobody knows in drift.json", document("drift.json", lambda d: d.update(note="fine")), 'shapes: drift.json "note"'),
    ("a key nobody knows in a row of drift", document("drift.json", lambda d: d["rows"][0].update(waived=True)), 'shapes: drift.json rows [0] "waived"'),
    ("true in place of a number", post(lambda p: p["timings_ms"].update(wait=True)), 'worker.jsonl line'),
    ("a text in place of a temperature", document("checkpoint.json", lambda d: d["calibration"].update(temperature="1.3")), 'shapes: checkpoint.json calibration temperature: is "1.3", expected a finite number'),
    ("a negative count", document("performance.json", lambda d: d["rows"][0].update(samples=-1)), "shapes: performance.json rows [0] samples: is -1, expected a count"),
    # stages
    ("a stage with another result", document("stages/03_reference.json", lambda d: d["result"].update(unexpected=3)), "results: stages/03_reference.json result: found"),
    ("an empty result", document("stages/07_faults.json", lambda d: d.update(result={})), 'results: stages/07_faults.json result: found {}, expected {"drills"'),
    ("packages told otherwise by stage 01", document("stages/01_preflight.json", lambda d: d["result"]["packages"].update(torch="not checked")), "results: stages/01_preflight.json result"),
    ("a stage given another profile", document("stages/08_drift.json", lambda d: d["parameters"].update(profile="params/other.toml")), "declared_profile: stages/08_drift.json parameters profile"),
    ("a verdict cell that printed a failure", verdict_of_a_stage("this stage   FAIL\n"), 'notebooks: notebooks/08_drift.ipynb cell 4: is a verdict cell that ends in "this stage FAIL"'),
    ("a parameter that is computed", document("notebooks/03_reference.ipynb", computed), "notebooks/03_reference.ipynb: a parameters cell holds more than literals (ValueError, line 2)"),
    ("a run of another kit", document("run.json", lambda d: d.update(kit_version="9.9")), 'kit: run.json kit_version: found "9.9", expected "0"'),
    ("a run that began years before", document("run.json", lambda d: d.update(started_utc="2020-01-31T12:00:00.000000Z")), "days after run.json started_utc, expected at most 30"),
    # time
    ("UTC that leaves the other clock", last_exchange(lambda x: x.update(finished_utc="2026-01-31T12:04:30.000000Z")), "by UTC, expected"),
    ("a client faster than its server", last_exchange(lambda x: x.update(finished_ns=x["started_ns"] + 1_000_000)), "expected at most the 1.000 ms that the client waited"),
    ("exchanges from before the run", lambda t: t.lines(f"{REFERENCE}/exchanges.jsonl", lambda x: [e.update(started_utc="2026-01-30" + e["started_utc"][10:], finished_utc="2026-01-30" + e["finished_utc"][10:]) for e in x]), "clocks: records/reference/exchanges.jsonl n=1: started_utc is"),
    ("exchanges outside of their stage", document("notebooks/03_reference.ipynb", lambda d: d["metadata"]["papermill"].update(end_time="2026-01-31T12:03:00")), "expected a time within the run of notebooks/03_reference.ipynb"),
    ("stages that overlap", document("notebooks/08_drift.ipynb", lambda d: d["metadata"]["papermill"].update(start_time="2026-01-31T12:04:00")), "order: notebooks/08_drift.ipynb: ran from"),
    ("parts longer than the whole", post(lambda p: p["timings_ms"].update(prepare=500.0)), "its parts take"),
    ("forwards longer than their total", post(lambda p: p["timings_ms"].update(language=500.0)), "its forwards take"),
    ("a question that took no time", lambda t: t.lines(f"{NATIVE}/worker.jsonl", lambda x: [q.update(ms=0.0) for q in x if q["kind"] == "question"]), "its questions take 0.000 ms, expected its language part"),
    ("another latency than was answered", post(lambda p: p.update(latency_ms=19.5)), "latency_ms, against the answer"),
    ("loading that took longer than starting", document(f"{NATIVE}/engine.json", lambda d: d.update(start_seconds=0.1)), "starts_of_workers: records/native/engine.json start_seconds"),
    # engines
    ("weights nobody names", every_engine(lambda d: d.pop("checkpoint_digest")), "checkpoint: records/native/engine.json checkpoint_digest: found null"),
    ("a merged adapter", both("native", lambda d: d["adapter"].update(merged=True)), "described: records/native/engine.json adapter merged: found true, expected false"),
    ("an adapter with fewer tensors", both("reference", lambda d: d["adapter"].update(tensors=60, layers=30)), "records/reference/engine.json adapter tensors: found 60, expected 62"),
    ("an adapter scaled otherwise", every_engine(lambda d: d["adapter"].update(scale=1.0) if "scale" in d["adapter"] else None), "adapter scale, against the reference's: found [1.0], expected [2.0]"),
    ("another dtype", both("graph", lambda d: d.update(dtype="float32")), 'records/graph/engine.json dtype: found "float32"'),
    ("other numerics", both("native", lambda d: d.update(numerics="fused")), 'records/native/engine.json numerics: found "fused"'),
    ("an op that no source has", both("native", lambda d: d["ops"].update(gelu="kit.kernels.made_up.gelu_fast")), "is \"kit.kernels.made_up.gelu_fast\", which is no function of the packed sources"),
    ("an op that was left out", both("native", lambda d: d["ops"].pop("gelu")), "described: records/native/engine.json ops: found"),
    ("larger graph caches than declared", both("graph", lambda d: d["graph"]["text"].update(entries=99)), "described: records/graph/engine.json graph: found"),
    ("another backend", both("graph", lambda d: d.update(backend="cuda-graph")), "described: records/graph/engine.json backend"),
    ("graphs that claim speed on a CPU", both("graph", lambda d: d.update(backend_claim="fast")), "described: records/graph/engine.json backend_claim"),
    ("a head that proved nothing", every_engine(lambda d: d.get("label_head", {}).update(trials=[]) if "label_head" in d else None), "which no trial shows to give equal bits"),
    ("another model class", both("reference", lambda d: d.update(model_class="mine.Model")), "described: records/reference/engine.json model_class"),
    ("tensors that were not loaded", both("reference", lambda d: d["keys"].update(base_missing=["norm"])), "keys that the checkpoint lacks or has too many"),
    ("another library than is installed", both("reference", lambda d: d["versions"].update(torch="2.0.0")), 'versions torch: is "2.0.0", environment.json has "2.13.0"'),
    ("memory of a native engine with caches", document("counters.json", lambda d: d["engines"]["native"].update(phases=[])), 'shapes: counters.json engines native "phases"'),
    # packages
    ("a package passed off as absent", document("environment.json", lambda d: d["packages"].update(peft={"status": "absent"})), 'environment.json packages peft: is absent, expected version "0.21.0", which is installed'),
    ("a package left out", document("environment.json", lambda d: d["packages"].pop("peft")), "installed: environment.json packages: found"),
    ("a package in which no file was looked at", document("environment.json", lambda d: d["packages"]["torch"].update(files=0)), "is ok, and no file of it was looked at"),
    ("another device in the environment", document("environment.json", lambda d: d["device"].update(kind="cuda")), "installed: environment.json device kind"),
    # checkpoint
    ("a checkpoint of another seed", document("checkpoint.json", lambda d: d.update(source="generator cpu-tiny, seed 1")), "inventory: checkpoint.json source: found"),
    ("a checkpoint without files", document("checkpoint.json", lambda d: d.update(files={})), "inventory: checkpoint.json files: found false, expected true"),
    ("files outside of the checkpoint", document("checkpoint.json", lambda d: d["files"].update({"../passwords": "1" * 64})), "is no file of base or adapter"),
    ("a checkpoint with other tensors", document("checkpoint.json", lambda d: d["tensors"]["base"].update(BF16=90)), "described: records/reference/engine.json base_dtypes"),
    # operators
    ("comparisons left out", document("operators.json", lost_checks), "comparisons: operators.json checks: 291 comparisons, expected 316"),
    ("a shape edited", document("operators.json", lambda d: d["checks"][60].update(shape="[3, 17]")), "by its shape [3, 17]: found 48, expected 51"),
    ("compared with something else", document("operators.json", lambda d: d["checks"][1].update(against="itself")), 'against: is "itself", expected one of'),
    ("another seed", document("operators.json", lambda d: d.update(seed=1)), "comparisons: operators.json seed: found 1"),
    ("a proof of nothing", document("operators.json", lambda d: d["proofs"].append({"op": "gelu", "key": "1", "choice": "kernel", "elements": 9, "different": 0, "reason": ""})), "proofs: operators.json proofs gelu: is of an op that runs without a proof"),
    # signal
    ("questions left out of the signal", document("signal.json", lambda d: d["questions"].pop()), "signal: signal.json questions: found"),
    ("a probability of the signal edited", document("signal.json", lambda d: d["questions"][0].update(probability=0.99)), "signal: signal.json text-choice/route probability"),
    ("logits of the signal edited", document("signal.json", lambda d: d["questions"][1].update(logits=[1.0, 2.0])), "signal: signal.json text-score/urgency logits"),
    ("another floor", document("signal.json", lambda d: d.update(floor="nothing")), "signal: signal.json floor"),
    # drills
    ("drills of another engine", lambda t: (t.path / DRILLS).write_bytes((t.path / DRILLS).read_bytes().replace(b'"engine":"graph"', b'"engine":"native"')), "drills: records/drills.jsonl header: found"),
    ("drills of another run", lambda t: (t.path / DRILLS).write_bytes((t.path / DRILLS).read_bytes().replace(b'"run":"made-up-run"', b'"run":"other"')), "drills: records/drills.jsonl header: found"),
    ("an expectation left out", drill(3, lambda x: x["checks"].pop("the port is closed")), "drills: records/drills.jsonl killed-worker expectations: found"),
    ("an expectation renamed", drill(0, lambda x: x.update(checks={"all is well": True})), "drills: records/drills.jsonl refused-between-answers expectations"),
    ("a request that was answered after all", drill(0, lambda x: x["observed"]["not JSON"].update(status=200)), "observed not JSON status: found 200, expected 422"),
    ("a client that sent more", drill(1, lambda x: x["observed"].update(bytes_sent=9)), "client-leaves-in-mid-body observed: found"),
    ("nobody whose connection broke", drill(3, lambda x: x["observed"].update(clients=["status 200"] * 8)), "expected 8 with at least one transport error"),
    ("a cache that was never emptied", drill(4, lambda x: x["observed"].update(before=["replay"] * 3)), "graph-cache-cleared observed before"),
    ("more replays than events", drill(4, lambda x: x["observed"]["counters"]["text"].update(replays=99)), "graph-cache-cleared observed replays: found 99, expected 14"),
    ("NaN that was answered", drill(6, lambda x: x["observed"].update(NaN="answer: yes")), 'not-finite-pixels observed "NaN": is "answer: yes", expected an error'),
    ("a poisoned server that answered", drill(8, lambda x: x["observed"].update(statuses=[200, 200, 200])), "not-finite-served observed: found"),
    # ledger, gates, notes, records
    ("a ledger of another machine", document(LEDGER, lambda d: d["origin"].update(device="another")), "tuning: records/autotune.json origin device"),
    ("a ledger that repeats nothing", document(LEDGER, lambda d: d["repeats"].update(calls=0)), "tuning: records/autotune.json repeats calls: found 0, expected 20"),
    ("lengths where nothing is tuned", document(LEDGER, lambda d: d.update(lengths=[44])), "tuning: records/autotune.json lengths: found [44], expected []"),
    ("other words for a gate", document("verdict.json", lambda d: next(g for g in d["gates"] if (g["gate"], g["engine"], g["against"]) == ("winner", "native", "fresh")).update(detail="no changed winners at all")), "verdict.json gate winner native fresh detail"),
    ("a wider scope", document("verdict.json", lambda d: d.update(scope=d["scope"] + "; judged against everything")), "verdict: verdict.json scope: found"),
    ("notes that say less", document("performance.json", lambda d: d["notes"].pop()), "session: performance.json notes: found"),
    ("another unit", document("performance.json", lambda d: d.update(unit="seconds")), "session: performance.json unit"),
    ("an answer under two engines", shared_response, "own_answers: records/graph/exchanges.jsonl n=1: has the response of records/native/exchanges.jsonl n=1"),
    ("an attempt of an engine that never ran", hidden_attempt, "attempts: attempts/other-1/exchanges.jsonl: is no record or log of an engine of this run"),
    ("logits that BF16 cannot hold", logits_off_the_grid, "are no BF16 numbers, expected what the model's dtype holds"),
    ("a peak that shrank", memory("graph", "closed", peak_reserved=8999, reserved=8999), "growth: records/graph/worker.jsonl closed memory peak_reserved"),
    ("less than its peak", memory("graph", "closed", peak_allocated=1), "memory: records/graph/worker.jsonl closed memory: the most that was allocated is 1 bytes, expected from "),
    ("a protocol without its checksums", lambda t: (t.path / "protocol" / "SHA256SUMS").unlink(), "protocol: protocol/SHA256SUMS: is missing"),
    ("bytes behind the checksums", lambda t: t.path, ""),
]  # fmt: skip
CPU = CPU[:-1]

GPU: list[tuple[str, Deed, str]] = [
    ("a device of another year", document("device.json", lambda d: d["before"].update(taken_utc="2025-01-31T12:01:10.000000Z")), "order: device.json before taken_utc"),
    ("errors that are no number", document("device.json", lambda d: d["after"].update(ecc_uncorrected=-3)), "shapes: device.json after"),
    ("a verdict with problems of its own", document("device.json", lambda d: d["verdict"].update(problems=["x"])), "device: device.json verdict problems: found 1, expected 0"),
    ("another device than the libraries saw", document("device.json", lambda d: [d[when].update(name="Other GPU") for when in ("before", "after")]), "device.json before name, against environment.json"),
    ("a device nobody saw but the drills", document("device.json", lambda d: d.update({when: {"taken_utc": d[when]["taken_utc"], "visible": False, "reason": "none"} for when in ("before", "after")})), "was not visible, and yet drills saw its memory"),
    ("more processes than are listed", document("device.json", lambda d: d["after"].update(processes_listed=4)), "device.json after processes: found 1, expected 4"),
    ("memory that came back by word alone", drill(3, lambda x: x["observed"]["memory"].update(end_bytes=60 << 30)), "killed-worker observed memory back: found true, expected false"),
    ("lengths that were not tuned", document(LEDGER, lambda d: d.update(lengths=[44], seconds=[1.0], repeats={"calls": 20, "lengths": 1, "different": 0})), "tuning: records/autotune.json lengths: found [44]"),
    ("a ledger without heads", document(LEDGER, lambda d: d.update(heads=None)), "tuning: records/autotune.json heads: found false, expected true"),
    ("less memory than the weights", memory("native", "ready", allocated=1 << 30), "bytes are allocated, expected at least the"),
    ("less than nothing outside", memory("native", "closed", outside=-1), "outside: is -1, expected a count"),
    ("more memory than the device", memory("native", "closed", peak_reserved=1 << 40), "bytes were reserved on a device of"),
    ("a workload nobody knows", document(SAMPLES, lambda d: d["entries"][0].update(workload="marketing")), "session: records/performance_samples.json round 1 reference: is of workload marketing"),
    ("a way nobody knows", document(SAMPLES, lambda d: d["entries"][0].update(way="magic")), "session: records/performance_samples.json entries [0] way"),
    ("fewer blocks than the stage was given", document("stages/09_performance.json", lambda d: d["parameters"].update(blocks=9)), "blocks: found 6, expected 9"),
    ("faster on the device than possible", document(SAMPLES, lambda d: d["entries"][0].update(device_ms=[[9e9] * 2] * 6)), "device_ms: are not all between 0 and the time on the wall"),
    ("a floor that is not the fastest", document("performance.json", lambda d: d["measured"]["floors"][0].update(fastest="stacked")), 'session: performance.json measured floors 98 fastest: is "stacked"'),
    ("a bandwidth edited", document("performance.json", lambda d: d["measured"]["floors"][0].update(bandwidth_ms=1.0)), "session: performance.json measured floors 98 bandwidth_ms: is 1.0, recomputed"),
    ("another method", document("performance.json", lambda d: d["measured"].update(method="the best of a thousand")), "session: performance.json measured method"),
    ("a phase nobody knows", document("performance.json", lambda d: d["measured"]["seconds"].update(lunch=1.0)), 'session: performance.json measured: knows a phase "lunch"'),
    ("more time than there was", document("performance.json", lambda d: d["measured"]["seconds"].update(stream=5000.0)), "session: performance.json measured seconds: add up to"),
    ("classes that do not add up", document("performance.json", lambda d: d["measured"]["profile"][0].update(total_ms=3.0)), "its classes add up to"),
    ("measured logits that BF16 cannot hold", document(SAMPLES, lambda d: [e.update(logits=["01" + text[2:] for text in e["logits"]]) for e in d["entries"] if e["round"] == 1 and e["logits"]]), "holds logits that are no BF16 numbers"),
]  # fmt: skip


def cases(deeds: list[tuple[str, Deed, str]]) -> list[Any]:
    return [pytest.param(deed, message, id=name.replace(" ", "-")) for name, deed, message in deeds]


@pytest.mark.parametrize(("deed", "message"), cases(CPU))
def test_forgeries_of_a_run_on_a_processor(tamper: Tamper, deed: Deed, message: str) -> None:
    assert_found(tamper, deed, message)


@pytest.mark.parametrize(("deed", "message"), cases(GPU))
def test_forgeries_of_a_run_on_a_device(on_gpu: Path, tmp_path: Path, deed: Deed, message: str) -> None:
    assert_found(Tamper(shutil.copytree(on_gpu, tmp_path / "bundle")), deed, message)


def assert_found(tamper: Tamper, deed: Deed, message: str) -> None:
    deed(tamper)
    tamper.describe_again()
    tamper.reseal()
    problems = audit_problems(tamper.path)
    assert any(message in problem for problem in problems), "\n".join(problems[:20])


def test_an_honest_run_on_a_device_is_no_problem(on_gpu: Path) -> None:
    result = audit.judge(str(on_gpu))
    assert result["problems"] == []


def test_what_rests_on_the_runs_word_is_named(sealed: Path, on_gpu: Path) -> None:
    told, more = (audit.judge(str(path))["not_derived"] for path in (sealed, on_gpu))
    assert any(item.startswith("operators.json: how many elements differed") for item in told)
    assert not any(item.startswith("device.json") for item in told)
    assert {item for item in more if item.startswith(("device.json", "records/performance_samples.json"))}


def test_refusals_may_be_alike_but_answers_may_not(sealed: Path) -> None:
    bundle = Bundle(str(sealed))
    check_own_answers(bundle)
    assert not bundle.problems
