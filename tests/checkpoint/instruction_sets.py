"""Answers of the reference on this machine, to be run in a process of its own with other CPU instructions.

    ATEN_CPU_CAPABILITY=default ONEDNN_MAX_CPU_ISA=AVX2 python -m tests.checkpoint.instruction_sets PROFILE FILE

writes `{"request/question": {"logits": [...], "probabilities": [...]}}` for every question of the profile's
protocol. `drift` runs it twice and compares. Nothing here knows what an acceptable drift is.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from kit.profile import PROJECT_ROOT, load_profile

OTHER_CPU = {"ATEN_CPU_CAPABILITY": "default", "ONEDNN_MAX_CPU_ISA": "AVX2"}
Answers = dict[str, dict[str, list[float]]]


def answers(profile_path: str) -> Answers:
    """Label logits and probabilities of every protocol question, by the reference engine, here and now."""
    from kit import engine, runtime
    from kit.contract.answer import softmax

    profile = load_profile(profile_path)
    runtime.configure(profile)
    reference: Any = engine.load("reference", profile)
    found: Answers = {}
    for line in (profile.protocol_path() / "corpus.jsonl").read_text(encoding="utf-8").splitlines():
        case = json.loads(line)
        body = json.dumps(case["request"], ensure_ascii=False, separators=(",", ":")).encode()
        prepared = reference.prepare(body)
        temperature = reference.calibration.for_images(bool(prepared.grids))
        for result in reference.decide(prepared).questions:
            probabilities = softmax(result.logits, temperature)
            found[f"{case['id']}/{result.question_id}"] = {
                "logits": list(result.logits),
                "probabilities": probabilities,
            }
    reference.close()
    return found


def answers_under(variables: dict[str, str], profile_path: str, folder: Path) -> Answers:
    """`answers` in a new process with these environment variables set. Raises CalledProcessError."""
    out = folder / f"{'-'.join(variables.values()) or 'as-is'}.json"
    clean = {name: value for name, value in os.environ.items() if name not in OTHER_CPU}
    command = [sys.executable, "-m", "tests.checkpoint.instruction_sets", profile_path, str(out)]
    subprocess.run(command, cwd=PROJECT_ROOT, env=clean | variables, check=True, timeout=240)
    found: Answers = json.loads(out.read_text())
    return found


def largest_change(one: Answers, other: Answers) -> tuple[float, str]:
    """The largest change of a probability, and the question it happened to."""
    assert one.keys() == other.keys()
    return max(
        (abs(p - q), name)
        for name in one
        for p, q in zip(one[name]["probabilities"], other[name]["probabilities"], strict=True)
    )


if __name__ == "__main__":
    Path(sys.argv[2]).write_text(json.dumps(answers(sys.argv[1])))
