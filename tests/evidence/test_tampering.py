"""Every way to tamper with a bundle is found and named, also by a forger who recomputes SHA256SUMS.

Each case: what is done, the message that must appear once the checksums are right again, and whether plain
checksums notice it as well (all do but those that put checksums right as part of the deed).
"""

import contextlib
import json
import os
import shutil
import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from kit.evidence import audit, manifest
from kit.evidence.audit.files import check_sums
from kit.evidence.audit.reading import Bundle
from kit.evidence.records import sha256_bytes, store_body
from kit.evidence.source_archive import pack, unpack
from tests.evidence.make_bundle import Tamper

Deed = Callable[[Tamper], object]
NATIVE, GRAPH = "records/native", "records/graph"


def flip_byte(t: Tamper) -> None:
    file = t.path / "records" / "label_head.bin"
    data = bytearray(file.read_bytes())
    data[40] ^= 1
    file.write_bytes(data)


def flip_log_byte(t: Tamper) -> None:
    file = t.path / "protocol" / "corpus.jsonl"
    file.write_bytes(file.read_bytes().replace(b"invoice twice", b"invoice thrice"))


def add_file(t: Tamper) -> None:
    (t.path / "records" / "extra.jsonl").write_text("{}\n")


def add_log(t: Tamper) -> None:
    (t.path / "logs" / "extra.log").write_text("nothing happened\n")


def remove_file(t: Tamper) -> None:
    (t.path / "records" / "native" / "engine.json").unlink()


def remove_body(t: Tamper) -> None:
    next((t.path / "records" / "bodies").iterdir()).unlink()


def rename_file(t: Tamper) -> None:
    os.rename(t.path / "operators.json", t.path / "operator.json")


def empty_corpus(t: Tamper) -> None:
    (t.path / "protocol" / "corpus.jsonl").write_bytes(b"")
    (t.path / "protocol" / "reference.json").write_text("[]")
    sums = "".join(
        f"{sha256_bytes((t.path / 'protocol' / name).read_bytes())}  {name}\n"
        for name in ("corpus.jsonl", "reference.json")
    )
    (t.path / "protocol" / "SHA256SUMS").write_text(sums)
    t.json("run.json", lambda d: d.update(protocol_sha256=sha256_bytes(sums.encode())))


def question_lines(lines: list[dict]) -> list[dict]:
    return [line for line in lines if line["kind"] == "question" and line["sequence"] is not None]


def nan_logits(t: Tamper) -> None:
    def edit(lines: list[dict]) -> None:
        line = question_lines(lines)[0]
        line["logits"] = struct.pack("<f", float("nan")).hex() + line["logits"][8:]

    t.lines(f"{NATIVE}/worker.jsonl", edit)


def nan_in_answer(t: Tamper) -> None:
    file = t.path / "drift.json"
    file.write_text(file.read_text().replace('"probability_drift": 0.0', '"probability_drift": NaN', 1))


def other_row(t: Tamper, digest: str) -> str:
    """A row whose first value differs, kept under its own digest beside the true one."""
    rows = t.path / "records" / "rows"
    return store_body(rows, bytes.fromhex("8040") + (rows / digest).read_bytes()[2:])


def other_hidden_row(t: Tamper) -> None:
    def edit(lines: list[dict]) -> None:
        line = question_lines(lines)[3]
        line["hidden"] = other_row(t, line["hidden"])

    t.lines(f"{GRAPH}/worker.jsonl", edit)


def other_hidden_row_everywhere(t: Tamper) -> None:
    """The same row edited in every engine and pass: all comparisons stay bitwise equal."""
    lines = [json.loads(x) for x in (t.path / "records/reference/worker.jsonl").read_bytes().splitlines()][1:]
    old = question_lines(lines)[0]["hidden"]
    new = other_row(t, old)
    for file in (t.path / "records").glob("*/worker.jsonl"):
        file.write_bytes(file.read_bytes().replace(old.encode(), new.encode()))
    (t.path / "records" / "rows" / old).unlink()


def shift_probability(document: dict) -> None:
    """Move a little probability between two candidates and keep every derived figure right."""
    answer = next(a for a in document["answers"].values() if a["type"] == "choice")
    names = list(answer["probabilities"])
    answer["probabilities"][names[0]] += 1e-6
    answer["probabilities"][names[1]] -= 1e-6
    answer["confidence"] = max(answer["probabilities"].values())


def answer_edited(t: Tamper) -> None:
    t.replace_body("native", 3, shift_probability)


def answer_edited_in_body_only(t: Tamper) -> None:
    lines = [json.loads(x) for x in (t.path / f"{NATIVE}/exchanges.jsonl").read_bytes().splitlines()]
    file = t.path / "records" / "bodies" / lines[3]["response_sha256"]
    document = json.loads(file.read_bytes())
    shift_probability(document)
    file.write_text(json.dumps(document))


def sequence_gap(t: Tamper) -> None:
    def worker(lines: list[dict]) -> None:
        for line in lines:
            if line.get("sequence") is not None and line["sequence"] >= 5:
                line["sequence"] += 1

    def client(lines: list[dict]) -> None:
        for line in lines[4:]:
            line["sequence"] += 1

    t.lines(f"{NATIVE}/worker.jsonl", worker)
    t.lines(f"{NATIVE}/exchanges.jsonl", client)


def post_dropped(t: Tamper) -> None:
    t.lines(
        f"{NATIVE}/worker.jsonl",
        lambda lines: lines.remove(next(x for x in lines if x.get("sequence") == 4 and x["kind"] == "post")),
    )


def swap(lines: list, i: int, j: int) -> None:
    lines[i], lines[j] = lines[j], lines[i]


def reorder_and_renumber(t: Tamper) -> None:
    """Two client records swapped, with their numbers and times exchanged so that both still count up."""

    def edit(lines: list[dict]) -> None:
        swap(lines, 2, 3)
        for key in ("n", "sequence", "started_ns", "finished_ns", "started_utc", "finished_utc"):
            lines[2][key], lines[3][key] = lines[3][key], lines[2][key]

    t.lines(f"{NATIVE}/exchanges.jsonl", edit)


def stripped_notebook(t: Tamper) -> None:
    def edit(document: dict) -> None:
        for cell in document["cells"]:
            if cell["cell_type"] == "code":
                cell["outputs"] = []

    t.json("notebooks/08_drift.ipynb", edit)


def dead_kernel(t: Tamper) -> None:
    def edit(document: dict) -> None:
        for cell in document["cells"][3:]:
            cell["execution_count"] = None
            cell["outputs"] = []

    t.json("notebooks/04_native_eager.ipynb", edit)


def notebook_error(t: Tamper) -> None:
    error = {"output_type": "error", "ename": "ValueError", "evalue": "no", "traceback": []}
    t.json("notebooks/06_operators.ipynb", lambda d: d["cells"][3]["outputs"].append(error))


def notebook_source(t: Tamper) -> None:
    t.json("notebooks/06_operators.ipynb", lambda d: d["cells"][4].update(source="print('this stage PASS')"))


def second_injected_cell(t: Tamper) -> None:
    def edit(document: dict) -> None:
        document["cells"].append({
            "cell_type": "code", "execution_count": 6, "metadata": {"tags": ["injected-parameters"]},
            "outputs": [], "source": ["rerun = False"],
        })  # fmt: skip

    t.json("notebooks/06_operators.ipynb", edit)


def other_parameters(t: Tamper) -> None:
    t.json("stages/03_reference.json", lambda d: d["parameters"].update(rerun=True))


def no_sentinel(t: Tamper) -> None:
    t.json("stages/07_faults.json", lambda d: d.pop("sentinel"))


def swapped_profile(t: Tamper) -> None:
    document = json.loads((t.path / "profile.json").read_text())
    document["claim"] = "baseline"
    text = json.dumps(document, sort_keys=True, ensure_ascii=False, separators=(",", ":")) + "\n"
    (t.path / "profile.json").write_text(text)


def wider_gate(t: Tamper) -> None:
    """Every digest of the profile put right."""
    old = sha256_bytes((t.path / "profile.json").read_bytes())
    document = json.loads((t.path / "profile.json").read_text())
    document["gates"]["probability"] = 0.05
    text = json.dumps(document, sort_keys=True, ensure_ascii=False, separators=(",", ":")) + "\n"
    (t.path / "profile.json").write_text(text)
    for file in [t.path / "run.json", *(t.path / "stages").iterdir()]:
        file.write_text(file.read_text().replace(old, sha256_bytes(text.encode())))


def source_changed(t: Tamper) -> None:
    members = dict(unpack((t.path / "source.tar.gz").read_bytes()))
    members["README.md"] += b"One more line.\n"
    (t.path / "source.tar.gz").write_bytes(pack(members.items()))
    t.json(
        "sources.json",
        lambda d: d.update(archive_sha256=sha256_bytes((t.path / "source.tar.gz").read_bytes())),
    )


def source_changed_during_run(t: Tamper) -> None:
    t.json("sources.json", lambda d: d["before"].update({"README.md": "0" * 64}))


def own_auditor(t: Tamper) -> None:
    (t.path / "audit.py").write_text('print(\'{"audit": "pass"}\')\n')


def lie_about_gate(t: Tamper) -> None:
    """A failed run (temperatures swapped by native) that says pass everywhere in the verdict."""

    def edit(document: dict) -> None:
        document["verdict"], document["failures"] = "pass", []
        for gate in document["gates"]:
            gate["passed"] = True

    t.json("verdict.json", edit)


def verdict_edited(t: Tamper) -> None:
    def edit(document: dict) -> None:
        document["gates"][0]["passed"] = False
        document["gates"][0]["value"] = 0.5

    t.json("verdict.json", edit)


def gate_removed(t: Tamper) -> None:
    t.json(
        "verdict.json",
        lambda d: d["gates"].pop(next(i for i, g in enumerate(d["gates"]) if g["gate"] == "hidden_bitwise")),
    )


def gate_invented(t: Tamper) -> None:
    gate = {
        "gate": "faster",
        "engine": "graph",
        "against": None,
        "passed": True,
        "value": 2,
        "bound": 1,
        "detail": "",
    }
    t.json("verdict.json", lambda d: d["gates"].append(gate))


def settings_tf32(t: Tamper) -> None:
    t.lines(
        f"{GRAPH}/worker.jsonl",
        lambda lines: next(x for x in lines if x["kind"] == "ready")["settings"].update(
            cudnn_allow_tf32=True
        ),
    )


def other_weights(t: Tamper) -> None:
    t.json(f"{GRAPH}/engine.json", lambda d: d["describe"].update(checkpoint_digest="1" * 64))


def weights_one_engine_did_not_hold(t: Tamper) -> None:
    """In engine.json and in the worker's own ready line, which must agree."""
    t.json(f"{GRAPH}/engine.json", lambda d: d["describe"].update(weights_sum="6" * 64))
    t.lines(
        f"{GRAPH}/worker.jsonl",
        lambda lines: next(x for x in lines if x["kind"] == "ready")["describe"].update(weights_sum="6" * 64),
    )


def weights_nobody_summed(t: Tamper) -> None:
    t.json(f"{NATIVE}/engine.json", lambda d: d["describe"].pop("weights_sum"))


def weights_the_stage_did_not_see(t: Tamper) -> None:
    t.json("checkpoint.json", lambda d: d.update(weights_sum="7" * 64))


def answers_that_are_not_there(t: Tamper) -> None:
    document = json.loads((t.path / "profile.json").read_text())
    document["protocol"]["answers"] = "reference-other.json"
    text = json.dumps(document, sort_keys=True, ensure_ascii=False, separators=(",", ":")) + "\n"
    (t.path / "profile.json").write_text(text)


def graph_forward(lines: list[dict], **wanted: object) -> dict:
    """The first recorded forward of the graph engine that is as asked for."""
    return next(x for x in lines if x["kind"] in ("question", "vision") and wanted.items() <= x.items())


def edit_graph(edit: Callable[[list[dict]], object]) -> Deed:
    return lambda t: t.lines(f"{GRAPH}/worker.jsonl", edit)


def capture_said_to_be_smaller(lines: list[dict]) -> None:
    """In the event and in every counter behind it, but for those at the end."""
    line = graph_forward(lines, action="capture", warmup=None)
    cache = line["key"].split(":")[0]
    line["bytes"] -= 1
    for post in lines[lines.index(line) : -1]:
        if post.get("counters"):
            post["counters"][cache]["captured_bytes"] -= 1
            post["counters"][cache]["bytes"] -= 1


def link(t: Tamper) -> None:
    os.symlink("/etc/hostname", t.path / "logs" / "host.log")


def link_in_place(t: Tamper) -> None:
    target = t.path.parent / "outside.json"
    shutil.move(t.path / "counters.json", target)
    os.symlink(target, t.path / "counters.json")


def one_more_repeat(t: Tamper) -> None:
    t.lines(f"{GRAPH}/exchanges.jsonl", lambda lines: lines.append(dict(lines[-1])))


CASES: list[tuple[str, Deed, str]] = [
    ("a byte flipped in the label rows", flip_byte, "checkpoint: records/label_head.bin: found"),
    ("a word changed in the corpus", flip_log_byte, "protocol: protocol/corpus.jsonl: is not what protocol/SHA256SUMS lists"),
    ("a file added", add_file, "roles: records/extra.jsonl: has no role"),
    ("a log added", add_log, "crate: logs/extra.log: is not described"),
    ("a file removed", remove_file, "roles: records/native/engine.json: is missing"),
    ("a body removed", remove_body, "is missing, and a recorded exchange needs it"),
    ("a file renamed", rename_file, "roles: operator.json: has no role"),
    ("another weight in one engine", weights_one_engine_did_not_hold, "records/graph/engine.json weights_sum"),
    ("an engine that hides its weights", weights_nobody_summed, "records/native/engine.json weights_sum: is missing"),
    ("a checkpoint stage that summed others", weights_the_stage_did_not_see, "records/reference/engine.json weights_sum"),
    ("frozen answers that are not there", answers_that_are_not_there, "protocol/reference-other.json: is missing"),
    ("a link added", link, "sums: logs/host.log: is a link"),
    ("a file replaced by a link", link_in_place, "sums: counters.json: is a link"),
    ("a client record dropped", lambda t: t.lines(f"{NATIVE}/exchanges.jsonl", lambda x: x.pop(5)), "1 planned request(s) not recorded"),
    ("a client record duplicated", lambda t: t.lines(f"{NATIVE}/exchanges.jsonl", lambda x: x.insert(5, x[5])), "n=6 is recorded more than once"),
    ("client records reordered", lambda t: t.lines(f"{NATIVE}/exchanges.jsonl", lambda x: swap(x, 3, 4)), "plan: records/native/exchanges.jsonl: out of order"),
    ("client records reordered and renumbered", reorder_and_renumber, "plan: records/native/exchanges.jsonl: out of order"),
    ("a client record invented", one_more_repeat, "1 request(s) that were not planned"),
    ("a worker post dropped", post_dropped, "worker: records/native/worker.jsonl: post 4 is missing: a gap in the sequence"),
    ("a forward dropped", lambda t: t.lines(f"{NATIVE}/worker.jsonl", lambda x: x.remove(question_lines(x)[2])), "posts: records/native/worker.jsonl post"),
    ("a gap in the sequence", sequence_gap, "post 5 is missing: a gap in the sequence"),
    ("a drift figure edited", lambda t: t.json("drift.json", lambda d: d["rows"][4].update(probability_drift=0.001)), "probability_drift: is 0.001, recomputed 0.0"),
    ("a drift row dropped", lambda t: t.json("drift.json", lambda d: d["rows"].pop(4)), "has no row"),
    ("a worst figure edited", lambda t: t.json("drift.json", lambda d: d["worst"]["native/fresh"].update(max_steps=1.0)), "drift.json worst native/fresh max_steps"),
    ("a latency edited", lambda t: t.json("performance.json", lambda d: d["rows"][3].update(median_ms=0.5)), "performance: performance.json"),
    ("a graph counter edited", lambda t: t.json("counters.json", lambda d: d["engines"]["graph"]["counters"]["text"].update(captures=99)), "counters: counters.json graph"),
    ("a replay said to be a capture", edit_graph(lambda x: graph_forward(x, action="replay").update(action="capture", bytes=9)), "graph: records/graph/worker.jsonl text cache: post"),
    ("a capture said to be a replay", edit_graph(lambda x: graph_forward(x, action="capture").update(action="replay", bytes=0, pool=0)), "graph: records/graph/worker.jsonl"),
    ("a forward's trace line dropped", edit_graph(lambda x: x.remove(graph_forward(x, action="replay", warmup=None))), "graph: records/graph/worker.jsonl"),
    ("a warm-up's trace line dropped", edit_graph(lambda x: x.remove(graph_forward(x, kind="vision", warmup="image"))), "graph: records/graph/worker.jsonl vision cache"),
    ("a capture's bytes edited", edit_graph(lambda x: graph_forward(x, action="capture").update(bytes=1)), "counters {"),
    ("a capture's bytes edited where counters follow", edit_graph(capture_said_to_be_smaller), "closed: counters {"),
    ("a pool said not to have grown", edit_graph(lambda x: graph_forward(x, action="capture").update(pool=0)), "counters {"),
    ("a replay that took memory", edit_graph(lambda x: graph_forward(x, action="replay").update(pool=4096)), "pool of replay is 4096"),
    ("a phase that replayed more", lambda t: t.json("counters.json", lambda d: d["engines"]["graph"]["phases"][-1].update(replay=10**6)), "counters: counters.json graph phases"),
    ("a pool smaller than the counters say", edit_graph(lambda x: x[-1]["memory"].update(pools=1)), "memory: records/graph/worker.jsonl closed memory pools: found 1"),
    ("more allocated than reserved", edit_graph(lambda x: x[-1]["memory"].update(allocated=10**9)), "memory: records/graph/worker.jsonl closed memory: allocated, reserved and peak_reserved are 1000000000,"),
    ("memory told otherwise in engine.json", lambda t: t.json(f"{GRAPH}/engine.json", lambda d: d["memory"]["ready"].update(reserved=1)), "engines: records/graph/engine.json memory"),
    ("the counters behind one post edited", edit_graph(lambda x: next(p for p in x if p.get("counters") and p["kind"] == "post")["counters"]["text"].update(captures=99)), "graph: records/graph/worker.jsonl text cache: post"),
    ("the counters behind one post dropped", edit_graph(lambda x: next(p for p in x if p.get("counters") and p["kind"] == "post").update(counters={})), "graph: records/graph/worker.jsonl text cache: post"),
    ("a graph event edited", lambda t: t.lines(f"{GRAPH}/worker.jsonl", lambda x: next(q for q in question_lines(x) if q["action"] == "replay").update(action="eager")), "graph: records/graph/worker.jsonl"),
    ("an operator difference removed from sight", lambda t: t.json("operators.json", lambda d: d["checks"].clear()), "operators: operators.json: compares nothing"),
    ("an operator that differs", lambda t: t.operator(0, different=1), "operators.json text_rotary [1, 16]: different 1 of 16 elements"),
    ("an operator that differs on other inputs", lambda t: t.operator(0, changed_different=2), "changed_different 2 of 16 elements"),
    ("an operator whose replay differs", lambda t: t.operator(0, replay_different=3), "replay_different 3 of 16 elements"),
    ("an operator that does not repeat itself", lambda t: t.operator(0, repeats_different=4), "repeats_different 4 of 16 elements"),
    ("an operator that gives no numbers", lambda t: t.operator(0, nan=5), "nan 5 of 16 elements"),
    ("a negative count that balances another", lambda t: t.operator(0, different=-1), "a count is no count"),
    ("a distance between equal operators", lambda t: t.operator(0, relative_l2=0.1), "no element differs, yet by up to 0.0"),
    ("an operator that no graph replayed", lambda t: t.operator(1, replays=0), "was never replayed from a graph"),
    ("an operator that ran once", lambda t: t.operator(0, repeats=1), "was run 1 times, expected 2"),
    ("an op left out", lambda t: t.json("operators.json", lambda d: d.update(ops=[])), "operators.json ops"),
    ("a label head that was not compared", lambda t: t.json("operators.json", lambda d: d["checks"].pop(-2)), "operators.json label_head: was not compared"),
    ("an op that the table lacks", lambda t: t.operator(1, op="rms"), "operators.json rms: is neither an op nor known beside them"),
    ("operator totals edited", lambda t: t.json("operators.json", lambda d: d["totals"].update(elements=1)), "operators.json totals"),
    ("operators of another device", lambda t: t.json("operators.json", lambda d: d.update(device="cuda")), "operators.json device: found"),
    ("operators of a device that were run as on a CPU", lambda t: t.json("operators.json", lambda d: d.update(device="cuda")), "was run 3 times, expected 20"),
    ("a kernel used against its proof", lambda t: t.json("operators.json", lambda d: d["proofs"].append({"op": "rms_norm", "key": "2x16", "choice": "kernel", "elements": 64, "different": 1, "reason": ""})), 'operators.json proofs rms_norm 2x16 choice: found "kernel", expected "twin"'),
    ("a floor edited", lambda t: t.json("signal.json", lambda d: d["questions"][0]["floor"].update(row=1e-9)), "signal: signal.json summary"),
    ("a ratio edited", lambda t: t.json("signal.json", lambda d: d["summary"]["ratio"]["swap"].update(row=99.0)), "signal: signal.json summary"),
    ("signal of other weights", lambda t: t.json("signal.json", lambda d: d.update(checkpoint_digest="1" * 64)), "signal.json checkpoint_digest"),
    ("signal of a question nobody asked", lambda t: t.json("signal.json", lambda d: d["questions"][1].update(question="other")), 'was not asked "other"'),
    ("signal of nothing", lambda t: t.json("signal.json", lambda d: d["questions"].clear()), "signal.json: measures nothing"),
    ("a drill that failed", lambda t: t.lines("records/drills.jsonl", lambda x: x[3]["checks"].update({"the process is gone": False})), "drills: records/drills.jsonl killed-worker"),
    ("a drill left out", lambda t: t.lines("records/drills.jsonl", lambda x: x.pop(3)), "drills: records/drills.jsonl drills: found"),
    ("health that was never asked", lambda t: t.json(f"{GRAPH}/engine.json", lambda d: d["health_after_refused"].pop()), "health after refusal 2"),
    ("an empty corpus", empty_corpus, "protocol/corpus.jsonl holds no request; an empty corpus proves nothing"),
    ("stripped notebook outputs", stripped_notebook, "notebooks: notebooks/08_drift.ipynb cell 4: is a verdict cell without output"),
    ("a notebook whose kernel died", dead_kernel, "it did not run to the end in order"),
    ("a notebook with an error", notebook_error, "notebooks: notebooks/06_operators.ipynb cell 3: ended in an error"),
    ("another notebook than the source", notebook_source, "its cells are not those of the packed source"),
    ("a cell passed off as injected", second_injected_cell, "has injected cells where none belong"),
    ("parameters that were not used", other_parameters, "stages/03_reference.json reports"),
    ("a stage without its sentinel", no_sentinel, "stages: stages/07_faults.json sentinel"),
    ("a swapped profile", swapped_profile, "identity: run.json profile_sha256"),
    ("a wider gate", wider_gate, "identity: profile.json gates"),
    ("logits that are NaN", nan_logits, "one that is no finite number"),
    ("a figure that is NaN", nan_in_answer, "drift.json holds NaN, which is no number"),
    ("a hidden row edited", other_hidden_row, "hidden row and label head give"),
    ("a hidden row edited everywhere", other_hidden_row_everywhere, "hidden row and label head give"),
    ("an answer edited in its body alone", answer_edited_in_body_only, "bodies: records/bodies/"),
    ("an answer edited in body and records", answer_edited, "the answer is not the softmax of the recorded logits"),
    ("an edited answer is off the lattice", answer_edited, "gate lattice native: failed"),
    ("a packed source changed", source_changed, "sources: README.md: in source.tar.gz has SHA-256"),
    ("a source changed during the run", source_changed_during_run, "sources: README.md: changed during the run"),
    ("another auditor", own_auditor, "auditor: audit.py: is not the one of the packed sources"),
    ("a gate edited to fail", verdict_edited, "verdict: verdict.json: says pass although probability failed"),
    ("a gate's value edited", verdict_edited, "value: is 0.5, recomputed 0.0"),
    ("a gate removed", gate_removed, "gates: verdict.json gate hidden_bitwise native fresh: is there 0 times"),
    ("a gate invented", gate_invented, "gates: verdict.json gate faster graph: is no gate of this run"),
    ("the headline edited", lambda t: t.json("verdict.json", lambda d: d.update(max_probability_drift=1e-9)), "headline: verdict.json max_probability_drift"),
    ("counts edited", lambda t: t.json("verdict.json", lambda d: d["counts"].update(posts=187)), "verdict: verdict.json counts posts: is 187, recomputed 61"),
    ("TF32 in a worker", settings_tf32, "settings: records/graph/worker.jsonl settings cudnn_allow_tf32"),
    ("other weights in an engine", other_weights, "checkpoint: records/graph/engine.json checkpoint_digest"),
    ("a patched package", lambda t: t.json("environment.json", lambda d: d["packages"]["torch"].update(status="changed", changed=["torch/nn/__init__.py"])), "packages: torch: installed files differ"),
    ("a claim widened", lambda t: t.json("verdict.json", lambda d: d.update(not_covered=[])), "verdict: verdict.json not_covered"),
]  # fmt: skip
SAID = [pytest.param(deed, message, id=name.replace(" ", "-")) for name, deed, message in CASES]


@pytest.mark.parametrize(("deed", "message"), SAID)
def test_found_after_the_checksums_were_recomputed(tamper: Tamper, deed: Deed, message: str) -> None:
    deed(tamper)
    with contextlib.suppress(manifest.ManifestError):  # a link cannot be listed; the old list stands
        tamper.reseal()
    result = audit.judge(str(tamper.path), most_listed=100_000)
    assert result["audit"] == "fail"
    assert any(message in problem for problem in result["problems"]), "\n".join(result["problems"][:20])


@pytest.mark.parametrize(("deed", "message"), SAID)
def test_found_by_the_checksums_alone(tamper: Tamper, deed: Deed, message: str) -> None:
    deed(tamper)
    opened = Bundle(str(tamper.path))
    check_sums(opened)
    assert opened.problems


def audit_problems(path: Path) -> list[str]:
    """All problems, also those past the fiftieth."""
    return audit.judge(str(path), most_listed=100_000)["problems"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{0}  ../outside.txt", 'unsafe path "../outside.txt"'),
        ("{0}  /etc/passwd", 'unsafe path "/etc/passwd"'),
        ("{0}  logs//native.log", 'unsafe path "logs//native.log"'),
        ("{0}  run.json", "lists run.json a second time"),
        ("{0} run.json", "malformed"),
        ("short  run.json", "malformed"),
        ("", "malformed"),
    ],
)
def test_lines_of_the_list(bundle: Path, line: str, message: str) -> None:
    with (bundle / "SHA256SUMS").open("a") as file:
        file.write(line.format("0" * 64) + "\n")
    assert any(
        problem.startswith("sums: SHA256SUMS line") and message in problem
        for problem in audit_problems(bundle)
    )


def test_added_file_is_found_though_it_is_described_and_listed(tamper: Tamper) -> None:
    add_file(tamper)
    tamper.describe_again()
    tamper.reseal()
    assert audit_problems(tamper.path) == [
        "roles: records/extra.jsonl: has no role in a bundle of this profile"
    ]


def test_one_flipped_bit_anywhere_is_found(sealed: Path, tamper: Tamper) -> None:
    for name in manifest.list_files(sealed):
        data = (sealed / name).read_bytes()
        (tamper.path / name).write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    problems = audit_problems(tamper.path)
    for name in manifest.list_files(sealed):
        assert any(problem.startswith(f"sums: {name}: has SHA-256") for problem in problems), name
