"""Traces on a GPU, where ops are fused kernels and forwards are CUDA graphs: the same stages, the same bits."""

from __future__ import annotations

import pytest
import torch

from kit.profile import Profile

if not torch.cuda.is_available():
    pytest.skip("no CUDA device: fused kernels and CUDA graphs cannot be traced here", allow_module_level=True)

from kit.engine.graph import GraphEngine
from kit.engine.native import NativeEngine
from kit.engine.oracle import load_oracle
from kit.engine.reference import ReferenceEngine
from kit.engine.shared_weights import shared_stores
from kit.engine.trace import Trace, trace, traces
from tests.engine.requests import images, text

BODIES = (text(30), text(300), images((64, 64), (100, 77)))


@pytest.fixture(scope="module")
def ours(profile: Profile, official: ReferenceEngine) -> NativeEngine:
    return NativeEngine(profile, shared=shared_stores(official.model))


@pytest.fixture(scope="module")
def replaying(profile: Profile, official: ReferenceEngine) -> GraphEngine:
    return GraphEngine(profile, shared=shared_stores(official.model))


def differing(a: Trace, b: Trace) -> list[str]:
    assert list(a) == list(b)
    return [name for name in a if a[name].dtype != b[name].dtype or not torch.equal(a[name], b[name])]


@pytest.mark.parametrize("body", BODIES, ids=["text", "long text", "images"])
class TestOnTheDevice:
    def test_stages_of_all_engines_are_equal_bit_for_bit(
        self, body: bytes, official: ReferenceEngine, ours: NativeEngine, replaying: GraphEngine
    ) -> None:
        prepared = ours.prepare(body)
        for engine in (ours, replaying):
            engine.decide(prepared)  # kernels are proven at these shapes, and graphs captured
        for question, theirs in enumerate(traces(official, prepared)):
            assert differing(trace(ours, prepared, question), theirs) == []
            assert differing(trace(replaying, prepared, question), theirs) == []
            assert all(tensor.device.type == "cpu" for tensor in theirs.values())

    def test_answers_keep_their_bits(
        self, body: bytes, official: ReferenceEngine, ours: NativeEngine, replaying: GraphEngine
    ) -> None:
        prepared = ours.prepare(body)
        for engine in (official, ours, replaying):
            engine.decide(prepared)
            before = engine.decide(prepared).questions
            for question, found in enumerate(traces(engine, prepared)):
                assert tuple(found["logits"].tolist()) == before[question].logits
                assert found["hidden"].view(torch.uint8).numpy().tobytes() == before[question].hidden
            assert engine.decide(prepared).questions == before

    def test_and_are_near_the_oracle(self, body: bytes, profile: Profile, ours: NativeEngine) -> None:
        prepared = ours.prepare(body)
        truth = trace(load_oracle(profile), prepared, 1)
        for name, tensor in trace(ours, prepared, 1).items():
            assert (tensor.double() - truth[name]).norm() < 0.08 * truth[name].norm(), name
