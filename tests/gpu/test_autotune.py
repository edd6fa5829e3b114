"""FLA's autotuned kernels on a CUDA device: a draw travels to another process and gives the same bits there."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from kit.kernels import delta_rule
from kit.profile import PROJECT_ROOT

if not torch.cuda.is_available() or delta_rule.from_package() is None:
    pytest.skip("needs a CUDA device and FLA: nothing is autotuned elsewhere", allow_module_level=True)

from kit.campaign import tune
from kit.engine import autotune

HEADS = tune.Heads(key_heads=2, value_heads=4, key_dim=128, value_dim=128)
LENGTHS = (98, 171)
ELSEWHERE = """
import json, sys
from tests.gpu.test_autotune import outputs
from kit.engine import autotune
if len(sys.argv) > 1:
    autotune.install(json.loads(sys.argv[1]))
print(json.dumps({"outputs": outputs(), "winners": autotune.winners(), "report": autotune.report()}))
"""


def outputs() -> list[str]:
    """Digest of the delta rule's result at every length."""
    tensors = [tune._call(tune.random_inputs(HEADS, length)) for length in LENGTHS]
    return [hashlib.sha256(x.contiguous().view(torch.uint8).cpu().numpy().tobytes()).hexdigest() for x in tensors]


def elsewhere(folder: Path, ledger: list[Any] | None = None) -> dict[str, Any]:
    """Outputs, winners and report of a fresh process with a folder of compiled kernels of its own."""
    done = subprocess.run(
        [sys.executable, "-c", ELSEWHERE, *([json.dumps(ledger)] if ledger is not None else [])],
        env=os.environ | {"TRITON_CACHE_DIR": str(folder)},
        cwd=PROJECT_ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return elsewhere(tmp_path_factory.mktemp("kernels"))


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    autotune.forget()
    yield
    autotune.forget()


def test_every_kernel_of_the_chunk_form_leaves_its_winner(drawn: dict[str, Any]) -> None:
    kernels = {winner["kernel"].rpartition(".")[2] for winner in drawn["winners"]}
    assert {"chunk_fwd_kernel_o", "chunk_gated_delta_rule_fwd_kernel_h_blockdim64", "recompute_w_u_fwd_kernel"} <= kernels
    assert not drawn["report"]["installed"]


def test_a_draw_gives_the_same_bits_in_another_process(drawn: dict[str, Any], tmp_path: Path) -> None:
    again = elsewhere(tmp_path, drawn["winners"])
    assert again["outputs"] == drawn["outputs"]
    assert again["winners"] == drawn["winners"]
    assert again["report"] == {
        "digest": autotune.digest(drawn["winners"]), "entries": len(drawn["winners"]), "installed": True, "late": [],
    }  # fmt: skip


def test_what_is_tuned_after_an_installation_is_reported(drawn: dict[str, Any]) -> None:
    missing, *rest = drawn["winners"]
    autotune.install(rest)
    outputs()
    assert [winner["kernel"] for winner in autotune.report()["late"]] == [missing["kernel"]]
    assert autotune.report()["digest"] == autotune.digest(rest)


def test_an_engine_s_calls_need_no_more_than_a_tuned_ledger(drawn: dict[str, Any]) -> None:
    """Other lengths under the same key, contiguous inputs, and 20 repeats."""
    autotune.install(drawn["winners"])
    for length in (5, 64, 300):
        inputs = tuple(x.contiguous() for x in tune.random_inputs(HEADS, length))
        first = tune._call(inputs)
        assert all(torch.equal(tune._call(inputs), first) for _ in range(20))
    assert autotune.late() == []
