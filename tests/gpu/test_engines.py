"""Native against reference on a CUDA device, cpu-tiny weights: bits of rows, logits and every op.

FLA's kernels run on both sides where FLA is installed, torch's forms where it is not; both are exact claims.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator

import pytest
import torch

from kit.profile import Profile

if not torch.cuda.is_available():
    pytest.skip("no CUDA device: the engines can only be compared on the CPU here", allow_module_level=True)

from kit.campaign.integrity import OPERATOR_MISSES
from kit.campaign.operators import compare_with
from kit.engine import native
from kit.engine.native import NativeEngine
from kit.engine.reference import ReferenceEngine
from tests.engine.requests import BODIES


@pytest.fixture(scope="module")
def ours(profile: Profile) -> Iterator[NativeEngine]:
    engine = native.load(profile)
    yield engine
    engine.close()


@pytest.mark.parametrize("body", [body for _, body in BODIES], ids=[name for name, _ in BODIES])
def test_rows_and_logits_are_equal_bit_for_bit(
    ours: NativeEngine, official: ReferenceEngine, body: bytes
) -> None:
    a, b = ours.decide(ours.prepare(body)), official.decide(official.prepare(body))
    assert [item.hidden for item in a.questions] == [item.hidden for item in b.questions]
    assert [item.logits for item in a.questions] == [item.logits for item in b.questions]
    assert a.answers == b.answers


def test_a_request_repeats_itself(ours: NativeEngine) -> None:
    body = BODIES[-1][1]
    first, *others = (ours.decide(ours.prepare(body)).questions for _ in range(20))
    assert all(other == first for other in others)


def test_every_op_equals_the_references_own(profile: Profile, official: ReferenceEngine) -> None:
    report = compare_with(official, profile)
    assert [check for check in report["checks"] if any(check[name] for name in OPERATOR_MISSES)] == []
    assert {check["repeats"] for check in report["checks"]} == {20}
    assert [found for found in report["proofs"] if found["choice"] == "kernel" and found["different"]] == []
    assert {found["op"] for found in report["proofs"] if found["choice"] == "kernel"}


def test_both_sides_run_the_same_delta_rule(ours: NativeEngine, official: ReferenceEngine) -> None:
    """FLA on both or on neither."""
    theirs = official.describe()["functions"]["torch_chunk_gated_delta_rule"]
    mine = ours.describe()["ops"]["delta_rule"]
    installed = importlib.util.find_spec("fla") is not None
    assert theirs.startswith("fla.") == installed
    assert (mine == theirs) == installed


def test_memory_returns_when_an_engine_closes(profile: Profile) -> None:
    torch.cuda.synchronize()
    before = torch.cuda.memory_allocated()
    engine = native.load(profile)
    engine.decide(engine.prepare(BODIES[1][1]))
    assert torch.cuda.memory_allocated() > before
    engine.close()
    assert torch.cuda.memory_allocated() - before < 16 << 20
