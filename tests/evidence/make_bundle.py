"""A whole sealed bundle without any model, and the tools to tamper with it.

`make_bundle(folder)` completes the made-up run of the campaign's tests with what notebooks and `kit run` add:
a small project with notebooks as sources, executed notebooks, stage results, environment, drift, counters,
latencies, verdict; then seals it as `kit run` does. `Tamper` edits a copy and can put the checksums right.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from kit.campaign import device, tune
from kit.campaign.bench import performance_from_records
from kit.campaign.counters import compute_counters
from kit.campaign.drift import compute_drift
from kit.campaign.performance.document import FILE as SAMPLES
from kit.campaign.performance.document import samples_document
from kit.campaign.performance.record import measures_device, with_measured
from kit.campaign.verdict import compute_verdict
from kit.contract.answer import Calibration
from kit.evidence import crate, manifest, package, provenance
from kit.evidence.audit import drills
from kit.evidence.audit.notebooks import literals
from kit.evidence.audit.reading import Bundle
from kit.evidence.audit.results import expected_result
from kit.evidence.privacy import Identity
from kit.evidence.records import sha256_bytes, write_json
from kit.profile import PROJECT_ROOT, Profile, load_profile
from tests.campaign import synthetic_facts
from tests.campaign.fake_nvml import FakeNvml
from tests.campaign.generated import made_up
from tests.campaign.performance.synthetic_session import measured
from tests.campaign.synthetic_run import (
    MM_TEMPERATURE,
    TEMPERATURE,
    autotune_ledger,
    compact,
    token_count,
    write_run,
)
from tests.campaign.test_published import pins_of

AUDITOR = PROJECT_ROOT / "kit" / "evidence" / "audit"
NOBODY = Identity({"/home/nobody-here": "~", "/home/nobody-here/project": "."}, "nobody-here", "no-such-host")
SETTINGS = {
    "threads": 1, "float32_matmul_precision": "highest", "cuda_matmul_allow_tf32": False, "cudnn_allow_tf32": False,
    "environment": {},
}  # fmt: skip
PACKAGES = {
    "torch": {"version": "2.13.0", "status": "ok", "files": 3},
    "transformers": {"version": "5.17.0", "status": "ok", "files": 2},
    "peft": {"version": "0.21.0", "status": "ok", "files": 1},
    "triton": {
        "version": "3.7.1",
        "status": "not checked",
        "reason": "it was installed without recorded hashes",
    },
    "fla": {"status": "absent"},
}
GATE_OUTPUT = {"name": "stdout", "output_type": "stream", "text": ["this stage   PASS\n"]}
PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010800000000"
    "3a7e9b550000000a4944415478da6360000000020001e221bc330000000049454e44ae426082"
)
OWN = {"08_generated": "\nbudget_s = 0.0", "09_performance": "\nblocks = 6"}  # parameters of single stages
ENGINE_OF = {
    "03_reference": "reference",
    "04_native_eager": "native",
    "04_remote": "remote",
    "05_native_graph": "graph",
}


def stages_of(profile: Profile) -> list[str]:
    engines = profile.campaign.engines
    stages = [stage for stage, engine in ENGINE_OF.items() if engine in engines]
    operators = ["06_operators"] if compares_operators(profile) else []
    drills = ["07_faults"] if "native" in engines else []
    generated = ["08_generated"] if profile.generated.questions else []
    return [
        "01_preflight", "02_checkpoint", *stages, *operators, *drills, "08_drift", *generated, "09_performance",
        "10_evidence",
    ]  # fmt: skip


def compares_operators(profile: Profile) -> bool:
    return "native" in profile.campaign.engines and profile.checkpoint.kind != "export"


# ---------------------------------------------------------------- a small project


def notebook(stage: str) -> dict[str, Any]:
    """Source of one stage: title, parameters, work, verdict, finish."""

    def code(source: str, *tags: str) -> dict[str, Any]:
        return {
            "cell_type": "code", "execution_count": None, "metadata": {"tags": list(tags)} if tags else {},
            "outputs": [], "source": source.splitlines(keepends=True),
        }  # fmt: skip

    cells = [
        {"cell_type": "markdown", "metadata": {}, "source": [f"# {stage}"]},
        code('profile = "params/made-up.toml"  # what to run\nrun_dir = ""\nrerun = False' + OWN.get(stage, ""), "parameters"),
        code("stage = begin()"),
        code("print(verdict())", "nbval-check-output", "keep_output"),
        code("stage.finish({})"),
    ]
    return {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}


def executed(source: dict[str, Any], stage: str, parameters: dict[str, Any]) -> dict[str, Any]:
    """What papermill leaves of it: an injected cell, counts, outputs, times."""
    result = json.loads(json.dumps(source))
    text = ["# Parameters\n", *(f"{name} = {value!r}\n" for name, value in parameters.items())]
    injected = {
        "cell_type": "code", "execution_count": None, "metadata": {"tags": ["injected-parameters"]}, "outputs": [],
        "source": text,
    }  # fmt: skip
    result["cells"].insert(2, injected)
    for count, cell in enumerate((c for c in result["cells"] if c["cell_type"] == "code"), 1):
        cell["execution_count"] = count
        if "nbval-check-output" in cell["metadata"].get("tags", ()):
            cell["outputs"] = [GATE_OUTPUT]
    start, end = (synthetic_facts.moment(stage, seconds)[: len("2026-01-31T12:00:00")] for seconds in (0.0, 59.0))
    result["metadata"]["papermill"] = {"start_time": start, "end_time": end}
    return result


def write_project(root: Path, profile: Profile) -> None:
    """A project whose auditor is the real one."""
    shutil.copytree(AUDITOR, root / "kit" / "evidence" / "audit", ignore=shutil.ignore_patterns("__pycache__"))
    (root / "kit" / "kernels").mkdir()
    (root / "notebooks").mkdir()
    (root / ".cache").mkdir()
    fields = "".join(f"    {op}: Callable[..., Tensor]\n" for op in synthetic_facts.OPS)
    (root / "kit" / "kernels" / "table.py").write_text(f"class Ops:\n{fields}    proofs: Proofs | None = None\n")
    functions = "\n\n".join(f"def {op}(*tensors):\n    return tensors" for op in synthetic_facts.OPS)
    (root / "kit" / "kernels" / "made_up.py").write_text(functions + "\n")
    (root / ".gitignore").write_text(".cache/\n")
    (root / ".cache" / "weights.bin").write_bytes(b"not a source")
    (root / "kit" / "__init__.py").write_text('__version__ = "0"\n')
    (root / "README.md").write_text("A made-up project.\n")
    for stage in stages_of(profile):
        write_json(root / "notebooks" / f"{stage}.ipynb", notebook(stage))


# ---------------------------------------------------------------- a whole run


def drill_lines(bundle: Bundle) -> list[dict[str, Any]]:
    """Drills as a run records them, all of them passed; what is expected of each is the auditor's own list."""
    profile, first = bundle.profile, drills.first_text(bundle)
    slow = first | {"questions": {f"copy-{n:02}": next(iter(first["questions"].values())) for n in range(64)}}
    gpu = profile["runtime"]["device"] == "cuda"
    back = {"start_bytes": 1 << 30, "end_bytes": (1 << 30) + 5, "tolerance_bytes": 64 << 20, "waited_s": 0.0, "back": True}
    memory = back if gpu else "not on a GPU"
    counters = dict.fromkeys(drills.CACHE_COUNTERS[1]["text"], 0)
    name = next(iter(first["questions"]))
    seen: dict[str, dict[str, Any]] = {
        "refused-between-answers": {rule: {"status": code, "said": rule} for rule, code in drills.REFUSED.items()},
        "client-leaves-in-mid-body": {"bytes_sent": len(compact(first)) // 2},
        "client-leaves-while-waiting": {"bytes_sent": len(compact(slow))},
        "killed-worker": {"clients": ["transport error (ReadError)"] * 7 + ["status 200"], "memory": memory},
        "graph-cache-cleared": {
            "key": f"text:{token_count(first['questions'][name], first)}", "tokens_that_emptied_it": 99,
            "before": ["capture", "replay", "replay"], "after": ["capture"] + ["replay"] * 12,
            "counters": {
                "text": counters | {"captures": 4, "replays": 14, "invalidations": 2},
                "multimodal": counters, "vision": counters,
            },
        },
        "stopped-worker": {"memory": memory},
        "not-finite-pixels": dict.fromkeys(("NaN", "infinity"), "error: made up"),
        "not-finite-weights": {
            f"{part}, {kind}": "error: made up"
            for place in drills.poisoned_places(bundle) for part, kind in drills.kinds_of(bundle, place)
        },
        "not-finite-served": {"statuses": [200, 503, 503]},
        "closed-engine": {"kept_bytes": 0, "tolerance_bytes": 256 << 20},
    }  # fmt: skip
    lines = []
    for drill in drills.drills_of(bundle, "graph" if "graph" in bundle.engines else "native"):
        checks = dict.fromkeys(drills.expectations(bundle, {"drill": drill, "observed": seen[drill]}), True)
        lines.append({"drill": drill, "checks": checks, "observed": seen[drill], "passed": True})
    return lines


def device_document(profile: Profile) -> dict[str, Any]:
    """device.json: of a CPU, or of a made-up GPU that nobody else was on."""
    document: dict[str, Any] = {"format": device.FORMAT, "kind": profile.runtime.device}
    if profile.runtime.device == "cuda":
        times = (synthetic_facts.moment(stage, 10) for stage in ("01_preflight", "10_evidence"))
        before, after = (device.snapshot(FakeNvml(), ()) | {"taken_utc": time} for time in times)
        document |= {"before": before, "after": after, "verdict": device.is_ours_alone(before, after)}
    return document


def complete(run: Path, root: Path, profile: Profile) -> None:
    """Add everything a finished run has beside its records, before it is sealed."""
    for file in (run / "records").glob("*/worker.jsonl"):
        file.write_bytes(
            file.read_bytes().replace(b'"settings":{"threads":1}', b'"settings":' + compact(SETTINGS))
        )
    environment = {
        "format": provenance.ENVIRONMENT_FORMAT,
        **synthetic_facts.environment_facts(profile),
        "packages": PACKAGES,
        "settings": SETTINGS,
        "autotune": tune.chosen(autotune_ledger(profile)),
    }
    write_json(run / tune.LEDGER, autotune_ledger(profile))
    write_json(run / "environment.json", environment)
    write_json(run / "device.json", device_document(profile))
    (run / "source.tar.gz").unlink()
    before = provenance.hash_sources(root)
    write_json(run / "sources.json", provenance.sources_after(run, before, root))
    if "native" in profile.campaign.engines:
        engine = "graph" if "graph" in profile.campaign.engines else "native"
        lines = [{"format": "kit-drills/1", "engine": engine, "run": run.name}, *drill_lines(Bundle(str(run)))]
        (run / "records" / "drills.jsonl").write_bytes(b"".join(compact(line) + b"\n" for line in lines))
    if profile.generated.questions:
        made_up.write(run, profile.generated.questions, origin=profile.generated.source)
        write_json(run / "layers.json", made_up.layers(run))
    if not compares_operators(profile):
        (run / "operators.json").unlink()
        (run / "signal.json").unlink()
    judge(run)
    for name in ("logs", "figures", "stages", "notebooks"):
        (run / name).mkdir()
    (run / "logs" / "native.log").write_text("started in /home/nobody-here/project/kit\n")
    (run / "figures" / "drift.png").write_bytes(PIXEL)
    for stage in stages_of(profile):
        given: dict[str, Any] = {"profile": "params/made-up.toml", "run_dir": "made-up-run"}
        parameters = literals(OWN.get(stage, ""), stage)
        write_json(run / "notebooks" / f"{stage}.ipynb", executed(notebook(stage), stage, given))
        result = {
            "format": "kit-stage/1", "stage": stage, "profile_sha256": profile.sha256(),
            "parameters": given | {"rerun": False} | parameters,
            "result": made_up.stage_result(run) if stage == "08_generated" else expected_result(Bundle(str(run)), stage) or {},
            "sentinel": "finished",
        }  # fmt: skip
        write_json(run / "stages" / f"{stage}.json", result)


def judge(run: Path) -> None:
    """Everything computed from the records, in the order of the stages."""
    write_json(run / "counters.json", compute_counters(run))
    write_json(run / "drift.json", compute_drift(run))
    performance = performance_from_records(run)
    if measures_device(load_profile(run / "profile.toml")):
        found = measured()
        samples = samples_document(found, Calibration(TEMPERATURE, MM_TEMPERATURE, None))
        write_json(run / SAMPLES, samples)
        performance = with_measured(performance, samples, found)
    write_json(run / "performance.json", performance)
    write_json(run / "verdict.json", compute_verdict(run))


def make_bundle(folder: Path, **options: Any) -> Path:
    """A sealed bundle at folder/made-up-run; options are those of `write_run`."""
    run, root = folder / "made-up-run", folder / "project"
    profile = write_run(run, **options)
    write_project(root, profile)
    if profile.protocol.pins:
        write_json(root / profile.protocol.pins, pins_of(run / "protocol"))
    complete(run, root, profile)
    package.seal(run, root, NOBODY)
    return run


# ---------------------------------------------------------------- tampering


class Tamper:
    """Edits to a bundle. `reseal` puts SHA256SUMS right afterwards, as a careful forger would."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def json(self, name: str, edit: Callable[[dict[str, Any]], object]) -> None:
        document = json.loads((self.path / name).read_text())
        edit(document)
        (self.path / name).write_text(json.dumps(document))

    def lines(self, name: str, edit: Callable[[list[dict[str, Any]]], object]) -> None:
        """Edit the lines behind the header of a record, in place."""
        lines = [json.loads(line) for line in (self.path / name).read_bytes().splitlines()]
        rest = lines[1:]
        edit(rest)
        (self.path / name).write_bytes(b"".join(compact(line) + b"\n" for line in [lines[0], *rest]))

    def operator(self, index: int, **changes: Any) -> None:
        """Change one line of operators.json, and the totals with it."""

        def edit(document: dict[str, Any]) -> None:
            checks = document["checks"]
            checks[index].update(changes)
            for name in set(changes) & set(document["totals"]):
                document["totals"][name] = sum(check[name] for check in checks)

        self.json("operators.json", edit)

    def reseal(self) -> None:
        self.measure_again()
        manifest.write_sums(self.path)

    def measure_again(self) -> None:
        """Put sizes and digests right in the catalogue, and nothing else in it."""
        try:
            document = json.loads((self.path / crate.METADATA).read_text())
            entities = [e for e in document["@graph"] if "sha256" in e and (self.path / e["name"]).is_file()]
        except (OSError, ValueError, LookupError, TypeError):
            return  # the test has broken it on purpose
        for entity in entities:
            data = (self.path / entity["name"]).read_bytes()
            entity.update(contentSize=str(len(data)), sha256=sha256_bytes(data))
        (self.path / crate.METADATA).write_text(json.dumps(document))

    def describe_again(self) -> None:
        """Put ro-crate-metadata.json right as well."""
        (self.path / crate.METADATA).write_bytes(crate.metadata(self.path, manifest.list_files(self.path)))

    def replace_body(self, engine: str, number: int, edit: Callable[[dict[str, Any]], object]) -> None:
        """Change a response in every place that mentions it: its body, both records, under its new digest."""
        exchanges = f"records/{engine}/exchanges.jsonl"
        lines = [json.loads(line) for line in (self.path / exchanges).read_bytes().splitlines()][1:]
        old = lines[number - 1]["response_sha256"]
        document = json.loads((self.path / "records" / "bodies" / old).read_bytes())
        edit(document)
        data = compact(document)
        new = sha256_bytes(data)
        (self.path / "records" / "bodies" / new).write_bytes(data)
        for name in (exchanges, f"records/{engine}/worker.jsonl"):
            file = self.path / name
            file.write_bytes(file.read_bytes().replace(old.encode(), new.encode()))
        still = any(
            old.encode() in file.read_bytes() for file in (self.path / "records").glob("*/exchanges.jsonl")
        )
        if not still:
            (self.path / "records" / "bodies" / old).unlink()
