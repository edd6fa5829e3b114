"""The reference and the oracle with other CPU instructions: a process of its own, as they are chosen before torch loads.

    python -m kit.campaign.floor.other_cpu FILE '{"profile": PATH, "prompts": N, "protocol": BOOL, "proof": N}'

writes what ATen chose, the answer of every question of the floor, and the oracle's rows of the first `proof` of them.
Covers: starting that process with the most different instructions this machine has, and reading what it left.
Does not cover: comparing (`proof`, `document`).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kit import runtime
from kit.campaign.floor import asking
from kit.campaign.floor.asking import Answer
from kit.campaign.floor.passes import answers_json, read_answers, read_rows, rows_json
from kit.evidence.records import write_atomic
from kit.profile import PROJECT_ROOT, load_profile

if TYPE_CHECKING:
    from torch import Tensor

    from kit.profile import Profile

OTHER_CPU = {"ATEN_CPU_CAPABILITY": "default", "ONEDNN_MAX_CPU_ISA": "AVX2"}


class OtherCpuError(RuntimeError):
    """The process with other instructions ended without answers."""


@dataclass(frozen=True)
class OtherCpu:
    """capability: what ATen ran with there. answers: of every question. truths: oracle rows of the first ones."""

    capability: str
    answers: list[Answer]
    truths: list[Tensor]

    def to_json(self) -> dict[str, Any]:
        return {"capability": self.capability, "answers": answers_json(self.answers), "truths": rows_json(self.truths)}

    @staticmethod
    def from_json(found: Mapping[str, Any]) -> OtherCpu:
        return OtherCpu(found["capability"], read_answers(found["answers"]), read_rows(found["truths"]))


def answers_of(profile_path: str, prompts: int, proof: int, *, protocol: bool = True) -> OtherCpu:
    """Run the other process; arguments as `asking.questions` takes them. Raises OtherCpuError with the end of what it said."""
    with tempfile.TemporaryDirectory(prefix="kit-floor-") as folder:
        file = Path(folder) / "answers.json"
        asked = {"profile": profile_path, "prompts": prompts, "protocol": protocol, "proof": proof}
        command = [sys.executable, "-m", "kit.campaign.floor.other_cpu", str(file), json.dumps(asked)]
        environment = os.environ | runtime.environment(load_profile(profile_path)) | OTHER_CPU
        done = subprocess.run(command, cwd=PROJECT_ROOT, env=environment, capture_output=True, text=True, check=False)
        if done.returncode or not file.exists():
            raise OtherCpuError(
                f"the reference under {' '.join(f'{k}={v}' for k, v in OTHER_CPU.items())} ended with code "
                f"{done.returncode}: {done.stderr.strip()[-2000:]}"
            )
        found = json.loads(file.read_text())
    return OtherCpu.from_json(found)


def capability() -> str:
    """The instruction set ATen runs with in this process."""
    import torch

    return str(torch.backends.cpu.get_cpu_capability())


def write(file: Path, profile: Profile, prompts: int, proof: int, *, protocol: bool) -> None:
    """What this module does as a program."""
    runtime.configure(profile)
    from kit.campaign.floor.proof import oracle_rows
    from kit.campaign.generated.official import Official
    from kit.engine import reference
    from kit.engine.oracle import load_oracle

    asked = asking.questions(profile, prompts, protocol=protocol)
    official = Official(reference.load(profile))
    answers = list(asking.alone(official, asked))
    official.close()
    official.reference.close()
    rows = oracle_rows(load_oracle(profile), asked[:proof], "alone") if proof else []
    write_atomic(file, json.dumps(OtherCpu(capability(), answers, rows).to_json()).encode())


if __name__ == "__main__":
    given = json.loads(sys.argv[2])
    write(Path(sys.argv[1]), load_profile(given.pop("profile")), **given)
