"""Independent draws of the autotuner on one set of weights: is native equal to the reference in each of them?

An exact claim is about one draw, the one its run recorded. This experiment asks whether it would have held
for others, and how far two draws of the reference itself are apart, which is part of its noise floor.

Covers: drawing in fresh processes, each of which times every configuration anew; reference and native over
the protocol under every draw, in one process and on one copy of the weights; 20 repeats of a text and of an
image request; draws.json with everything the comparison rests on, and a table.
A draw starts without any earlier timing. Compiled kernels are kept from one draw to the next: they are the
same bytes for the same configuration, and compiling is most of the time.
Does not cover: judging a run (`kit.campaign.verdict`), graphs, or kernels that are not autotuned.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kit import runtime
from kit.campaign.protocol import Case, protocol_of
from kit.campaign.run_folder import RunError, run_file
from kit.campaign.sensitivity import changed_steps, first_maximum
from kit.contract.answer import softmax
from kit.engine import autotune
from kit.evidence import provenance
from kit.evidence.floats import decode_float32, float32_hex
from kit.evidence.records import sha256_bytes, sha256_json, write_json
from kit.profile import PROJECT_ROOT, load_profile

if TYPE_CHECKING:
    from kit.engine.base import Decision, Engine
    from kit.profile import Profile

FORMAT = "kit-draws/1"
FILE = "records/draws.json"
REPEATS = 20
# No timing may be read back, whoever asks for it: FLA's own switch, and Triton's for every autotuner.
NO_KEPT_TIMINGS = {"FLA_CACHE_RESULTS": "0", "TRITON_CACHE_AUTOTUNING": "0"}


class DrawFailedError(RuntimeError):
    """A process that was to draw winners ended without them."""


# ---------------------------------------------------------------- the experiment


def run(
    profile_path: str,
    count: int,
    *,
    out: Path | None = None,
    run_id: str = "",
    texts: int | None = None,
    images: int | None = None,
) -> dict[str, Any]:
    """Draw `count` times and compare; returns draws.json, also written to `out` and into the run `run_id`.

    texts, images: how many requests of each kind, the protocol's first ones (default: all). Raises RunError
    for a sealed run or where no request is left, NoDeviceError without the profile's device, DrawFailedError
    when a draw does not come about.
    """
    runtime.on_device(profile_path)
    with run_file(profile_path, run_id, FILE) as kept:
        document = measure(profile_path, count, texts, images)
        for file in filter(None, (out, kept)):
            file.parent.mkdir(parents=True, exist_ok=True)
            write_json(file, document)
    return document


def measure(profile_path: str, count: int, texts: int | None = None, images: int | None = None) -> dict[str, Any]:
    """draws.json of `count` draws: tune each in a process of its own, then run both engines under each."""
    profile = load_profile(profile_path)
    protocol = protocol_of(profile)
    cases = chosen_cases(protocol.cases, texts, images)
    if not cases:
        raise RunError("no request is left to compare: ask for at least one text or image request")
    with drawn(profile_path, count) as ledgers:
        both = _run_both(profile, cases, ledgers)
    document = {
        "format": FORMAT,
        "profile_sha256": profile.sha256(),
        "protocol_sha256": protocol.sha256,
        "sources_sha256": sources_digest(provenance.hash_sources()),
        "origin": ledgers[0]["origin"],
        "lengths": ledgers[0]["lengths"],
        **both,
    }
    return document | {"summary": summarise(document)}


@contextmanager
def drawn(profile_path: str, count: int) -> Iterator[list[dict[str, Any]]]:
    """Ledgers of `count` draws, each tuned in a process of its own; compiled kernels live as long as the context.

    Raises DrawFailedError when a draw does not come about. No timing of this process is read back or kept either.
    """
    with tempfile.TemporaryDirectory(prefix="kit-draws-") as folder:
        os.environ.update({"TRITON_CACHE_DIR": f"{folder}/kernels"} | NO_KEPT_TIMINGS)
        yield [_draw(profile_path, Path(folder) / f"draw-{number}.json", number) for number in range(1, count + 1)]


def chosen_cases(cases: Sequence[Case], texts: int | None, images: int | None) -> list[Case]:
    """The first `texts` and `images` requests in the protocol's order; None takes all of a kind."""
    left: dict[str, float] = {
        "text": float("inf") if texts is None else texts,
        "image": float("inf") if images is None else images,
    }
    chosen = []
    for case in cases:
        left[case.modality] -= 1
        if left[case.modality] >= 0:
            chosen.append(case)
    return chosen


def sources_digest(hashes: Mapping[str, str]) -> str:
    """One SHA-256 over the hashes of all source files."""
    return sha256_json(hashes)


def _draw(profile_path: str, file: Path, number: int) -> dict[str, Any]:
    started = time.perf_counter()
    command = [sys.executable, "-m", "kit", "tune", profile_path, "--out", str(file)]
    environment = os.environ | runtime.environment(load_profile(profile_path))
    done = subprocess.run(command, env=environment, cwd=PROJECT_ROOT, capture_output=True, text=True, check=False)
    if done.returncode or not file.exists():
        raise DrawFailedError(f"draw {number} ended with code {done.returncode}: {done.stderr.strip()[-2000:]}")
    ledger = autotune.read_ledger(file)
    seconds = time.perf_counter() - started
    _say(f"draw {number}: {ledger['digest'][:12]}, {len(ledger['winners'])} winners, {seconds:.1f} s")
    return ledger | {"wall_seconds": round(seconds, 3)}


def _run_both(profile: Profile, cases: Sequence[Case], ledgers: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Every case by both engines under every ledger, and the repeats under the first one."""
    runtime.configure(profile)
    autotune.install(ledgers[0]["winners"])
    from kit.engine import load_beside, reference

    official = reference.load(profile)
    engines: dict[str, Engine] = {
        "reference": official,
        "native": load_beside("native", profile, official),
    }
    draws: list[dict[str, Any]] = []
    repeats: list[dict[str, Any]] = []
    for ledger in ledgers:
        autotune.install(ledger["winners"])
        started = time.perf_counter()
        rows = [row for case in cases for row in _rows(engines, case)]
        kept = {name: ledger[name] for name in ("digest", "winners", "wall_seconds")}
        draws.append(kept | {"seconds": round(time.perf_counter() - started, 3), "rows": rows, "late": autotune.late()})
        if not repeats:
            repeats = _repeats(engines, cases)
        _say(f"ran {len(rows)} questions under {ledger['digest'][:12]}")
    calibration, checkpoint_digest = official.calibration, official.digest
    for engine in engines.values():
        engine.close()
    return {
        "checkpoint_digest": checkpoint_digest,
        "temperatures": {"text": calibration.temperature, "image": calibration.mm_temperature},
        "draws": draws,
        "repeats": repeats,
    }


def _rows(engines: Mapping[str, Engine], case: Case) -> Iterator[dict[str, Any]]:
    """One row a question: hidden row's digest and label logits of each side."""
    decisions = {name: _decide(engine, case) for name, engine in engines.items()}
    for index, question in enumerate(decisions["reference"].questions):
        yield {
            "request": case.id,
            "question": question.question_id,
            "modality": case.modality,
            **{name: _raw(decision)[index] for name, decision in decisions.items()},
        }


def _repeats(engines: Mapping[str, Engine], cases: Sequence[Case]) -> list[dict[str, Any]]:
    """`REPEATS` calls of the first text and the first image request by each engine."""
    found = []
    for modality in ("text", "image"):
        for case in [case for case in cases if case.modality == modality][:1]:
            for name, engine in engines.items():
                first, *others = (_raw(_decide(engine, case)) for _ in range(REPEATS))
                different = sum(other != first for other in others)
                found.append({"request": case.id, "engine": name, "calls": REPEATS, "different": different})
    return found


def _decide(engine: Engine, case: Case) -> Decision:
    return engine.decide(engine.prepare(case.body))


def _raw(decision: Decision) -> list[dict[str, str]]:
    """Each question's hidden row as its SHA-256, and its label logits as float32 hex."""
    return [
        {
            "hidden": sha256_bytes(result.hidden),
            "logits": float32_hex(result.logits),
        }
        for result in decision.questions
    ]


# ---------------------------------------------------------------- what they differ by


def summarise(document: Mapping[str, Any]) -> dict[str, Any]:
    """Equality inside each draw, and what every two draws of the reference differ by."""
    draws = document["draws"]
    return {
        "draws": len(draws),
        "distinct": len({draw["digest"] for draw in draws}),
        "questions": len(draws[0]["rows"]) if draws else 0,
        "native_different": [sum(row["native"] != row["reference"] for row in draw["rows"]) for draw in draws],
        "late": sum(len(draw["late"]) for draw in draws),
        "repeats_different": sum(repeat["different"] for repeat in document["repeats"]),
        "kernels": kernels_that_differ(draws),
        "between": [
            {"draws": [a + 1, b + 1], **_between(draws[a]["rows"], draws[b]["rows"], document["temperatures"])}
            for a, b in combinations(range(len(draws)), 2)
        ],
    }


def kernels_that_differ(draws: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """Kernel -> number of different choices, for kernels with more than one over all draws."""
    choices: dict[str, set[str]] = {}
    for draw in draws:
        mine: dict[str, list[Any]] = {}
        for winner in draw["winners"]:
            mine.setdefault(winner["kernel"], []).append([winner["key"], winner["config"]])
        for kernel, chosen in mine.items():
            choices.setdefault(kernel, set()).add(json.dumps(chosen, sort_keys=True))
    return {kernel: len(found) for kernel, found in sorted(choices.items()) if len(found) > 1}


def _between(
    one: Sequence[Mapping[str, Any]], two: Sequence[Mapping[str, Any]], temperatures: Mapping[str, float]
) -> dict[str, Any]:
    """The reference under two draws: rows and logits that differ, and the largest differences."""
    hidden = logits = flips = 0
    steps = probability = 0.0
    for a, b in zip(one, two, strict=True):
        x, y = decode_float32(a["reference"]["logits"]), decode_float32(b["reference"]["logits"])
        p, q = (softmax(values, temperatures[a["modality"]]) for values in (x, y))
        hidden += a["reference"]["hidden"] != b["reference"]["hidden"]
        logits += x != y
        flips += first_maximum(x) != first_maximum(y)
        steps = max(steps, changed_steps(x, y))
        probability = max(probability, *(abs(m - n) for m, n in zip(p, q, strict=True)))
    return {"hidden": hidden, "logits": logits, "flips": flips, "max_steps": steps, "max_probability": probability}


def exit_code(document: Mapping[str, Any]) -> int:
    """0 when native equals the reference in every draw and everything repeats itself, else 1."""
    summary = document["summary"]
    return int(any(summary["native_different"]) or bool(summary["repeats_different"]) or bool(summary["late"]))


def table(document: Mapping[str, Any]) -> str:
    """The comparison as fixed-width text: one line a draw, one line a kernel that differs."""
    summary = document["summary"]
    pairs = {tuple(pair["draws"]): pair for pair in summary["between"]}
    head = f"{'draw':<6}{'digest':<14}{'native differs':>15}"
    head += f"{'hidden rows':>13}{'logits':>8}{'flips':>7}{'steps':>8}{'probability':>13}"
    lines = [
        "Native against reference under each draw, and the reference against draw 1",
        head,
    ]
    for number, draw in enumerate(document["draws"], 1):
        of = f"{summary['native_different'][number - 1]} of {summary['questions']}"
        line = f"{number:<6}{draw['digest'][:12]:<14}{of:>15}"
        if pair := pairs.get((1, number)):
            line += f"{pair['hidden']:>13}{pair['logits']:>8}{pair['flips']:>7}"
            line += f"{pair['max_steps']:>8.3g}{pair['max_probability']:>13.6f}"
        lines.append(line)
    lines += [f"{kernel.rpartition('.')[2]}: {count} choices" for kernel, count in summary["kernels"].items()]
    repeats = sum(repeat["calls"] for repeat in document["repeats"])
    lines.append(f"{summary['repeats_different']} of {repeats} repeated calls gave other bits")
    return "\n".join(lines)


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
