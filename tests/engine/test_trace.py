"""Traces: the same stages from every engine, none of them disturbed, and a fault seen where it sits."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any
from unittest import mock

import pytest
import torch
from torch import Tensor

from kit.engine import graph, native
from kit.engine.base import Decision, Prepared
from kit.engine.graph import GraphEngine
from kit.engine.native import NativeEngine
from kit.engine.oracle import Oracle, load_oracle
from kit.engine.reference import ReferenceEngine
from kit.engine.trace import Trace, TraceError, digest, stage_names, trace, traces, traces_of_requests
from kit.kernels.table import PLAIN
from kit.profile import Profile
from tests.engine.requests import images, text

BODIES = {"text": text(30), "images": images((64, 64), (100, 77))}


@pytest.fixture(scope="module")
def ours(profile: Profile) -> Iterator[NativeEngine]:
    engine = native.load(profile)
    yield engine
    engine.close()


@pytest.fixture(scope="module")
def replaying(profile: Profile) -> Iterator[GraphEngine]:
    engine = graph.load(profile)
    yield engine
    engine.close()


@pytest.fixture(scope="module")
def oracle(profile: Profile) -> Oracle:
    return load_oracle(profile)


def differing(a: Trace, b: Trace) -> list[str]:
    assert list(a) == list(b)
    return [name for name in a if a[name].dtype != b[name].dtype or not torch.equal(a[name], b[name])]


@pytest.fixture(params=BODIES)
def body(request: pytest.FixtureRequest) -> bytes:
    return BODIES[request.param]


class TestStages:
    def test_names_in_walking_order(self) -> None:
        assert stage_names(["linear_attention", "full_attention"], 1) == [
            "vision.patches", "vision.positions", "vision.block.00.attention", "vision.block.00.mlp", "vision.block.00",
            "vision.merger", "embedding", "layer.00.mixer", "layer.00.mlp", "layer.00", "layer.00.state",
            "layer.01.mixer", "layer.01.mlp", "layer.01", "hidden", "logits",
        ]  # fmt: skip
        assert stage_names(["full_attention"], None)[0] == "embedding"

    def test_every_stage_comes_by_with_all_its_rows(self, ours: NativeEngine) -> None:
        prepared = ours.prepare(BODIES["images"])
        found = trace(ours, prepared, 1)
        assert list(found) == stage_names(ours.config.text.layer_types, ours.config.vision.depth)
        tokens, patches = len(prepared.questions[1].input_ids), sum(h * w for _, h, w in prepared.grids)
        assert found["layer.03"].shape == (tokens, ours.config.text.hidden_size)
        assert found["vision.block.00.mlp"].shape == (patches, ours.config.vision.hidden_size)
        assert found["vision.merger"].shape == (patches // 4, ours.config.text.hidden_size)
        assert found["layer.00"].dtype == torch.bfloat16
        assert found["layer.00.state"].dtype == torch.float64

    def test_a_residual_is_the_sum_of_what_went_into_it(self, ours: NativeEngine) -> None:
        found = trace(ours, ours.prepare(BODIES["text"]))
        before, mixer, mlp = found["embedding"], found["layer.00.mixer"], found["layer.00.mlp"]
        assert torch.equal(found["layer.00"], before + mixer + mlp)

    def test_the_last_stages_are_the_answer(self, ours: NativeEngine) -> None:
        prepared = ours.prepare(BODIES["text"])
        found, result = trace(ours, prepared, 2), ours.decide(prepared).questions[2]
        assert tuple(found["logits"].tolist()) == result.logits
        assert found["hidden"].view(torch.uint8).numpy().tobytes() == result.hidden


class TestEngines:
    def test_all_of_them_agree_bit_for_bit(
        self, ours: NativeEngine, replaying: GraphEngine, official: ReferenceEngine, body: bytes
    ) -> None:
        prepared = ours.prepare(body)
        for question, of_ours in enumerate(traces(ours, prepared)):
            assert differing(of_ours, trace(official, prepared, question)) == []
            assert differing(of_ours, trace(replaying, prepared, question)) == []

    @pytest.mark.parametrize("name", ["ours", "replaying", "official"])
    def test_an_answer_keeps_its_bits_and_nothing_is_left_behind(
        self, name: str, body: bytes, request: pytest.FixtureRequest
    ) -> None:
        engine = request.getfixturevalue(name)
        prepared = engine.prepare(body)
        engine.decide(prepared)  # captures, where there is something to capture
        before, attributes = engine.decide(prepared), set(vars(engine))
        during: list[Decision] = []
        decide = engine.decide

        def watched(prepared: Prepared) -> Decision:
            during.append(decide(prepared))
            return during[-1]

        with mock.patch.object(engine, "decide", watched):
            traces(engine, prepared)
        assert len(during) == 1
        for decision in (*during, engine.decide(prepared)):
            assert decision.questions == before.questions  # float32 logits, hidden bytes, event
            assert decision.answers == before.answers
        assert set(vars(engine)) == attributes

    def test_a_replay_that_went_wrong_shows_in_hidden_row_and_logits_only(
        self, ours: NativeEngine, replaying: GraphEngine
    ) -> None:
        prepared = ours.prepare(BODIES["text"])
        run = replaying.run_language

        def off(*inputs: Any) -> Any:
            row, event = run(*inputs)
            return row + 1, event

        with mock.patch.object(replaying, "run_language", off):
            found = trace(replaying, prepared)
        assert differing(found, trace(ours, prepared)) == ["hidden", "logits"]


class TestOracle:
    def test_every_stage_in_fp64_and_near_the_engines(self, ours: NativeEngine, oracle: Oracle, body: bytes) -> None:
        prepared = ours.prepare(body)
        truth, found = trace(oracle, prepared, 1), trace(ours, prepared, 1)
        assert list(truth) == list(found)
        for name, tensor in truth.items():
            assert tensor.dtype == torch.float64
            assert tensor.shape == found[name].shape
            assert (tensor - found[name].double()).norm() < 0.05 * tensor.norm(), name

    def test_one_question_or_several_requests_at_once(self, ours: NativeEngine, oracle: Oracle) -> None:
        requests = [ours.prepare(body) for body in BODIES.values()]
        together = traces_of_requests(oracle, requests, keep="last")
        assert [len(found) for found in together] == [3, 3]
        alone = trace(oracle, requests[1], 2, keep="last")
        assert list(alone) == list(together[1][2])
        for name, tensor in alone.items():
            torch.testing.assert_close(tensor, together[1][2][name], rtol=1e-9, atol=1e-9)


class TestFaults:
    def test_a_faulty_op_shows_first_in_the_stage_that_calls_it(self, profile: Profile, ours: NativeEngine) -> None:
        calls = 0

        def off_in_the_third(q: Tensor, k: Tensor, v: Tensor, g: Tensor, beta: Tensor) -> Tensor:
            nonlocal calls
            calls += 1
            return PLAIN.delta_rule(q, k, v, g, beta) * (1.25 if calls % 3 == 0 else 1)

        faulty = NativeEngine(profile, ops=dataclasses.replace(PLAIN, delta_rule=off_in_the_third))
        prepared = ours.prepare(BODIES["text"])
        wrong = differing(trace(faulty, prepared), trace(ours, prepared))
        assert wrong[:3] == ["layer.02.mixer", "layer.02.mlp", "layer.02"]
        assert "layer.02.state" not in wrong  # what went into the rule was right
        assert wrong[-2:] == ["hidden", "logits"]

    def test_a_table_put_in_later_is_watched_too(self, ours: NativeEngine) -> None:
        prepared = ours.prepare(BODIES["images"])
        faulty = dataclasses.replace(ours.vision.ops, gelu_tanh=ours.vision.ops.gelu)
        with mock.patch.object(ours.vision, "ops", faulty):
            found = trace(ours, prepared)
        wrong = differing(found, trace(ours, prepared))
        assert wrong[0] == "vision.block.00.mlp"

    def test_another_image_shows_in_the_patches(self, ours: NativeEngine) -> None:
        prepared = ours.prepare(BODIES["images"])
        assert prepared.pixels is not None
        changed = dataclasses.replace(prepared, pixels=-prepared.pixels)
        assert differing(trace(ours, changed), trace(ours, prepared))[0] == "vision.patches"


    def test_what_an_engine_says_instead_of_its_own_answer_is_traced(self, ours: NativeEngine) -> None:
        prepared, other = ours.prepare(BODIES["text"]), ours.decide(ours.prepare(BODIES["images"]))
        never_ran = mock.patch.object(ours, "decide", return_value=other)
        with never_ran, pytest.raises(TraceError, match="no forward for it was seen"):
            trace(ours, prepared)
        decide = ours.decide
        with mock.patch.object(ours, "decide", side_effect=lambda prepared: (decide(prepared), other)[1]):
            found = trace(ours, prepared)
        assert differing(found, trace(ours, prepared)) == ["hidden", "logits"]

    def test_numbers_that_were_lost_are_traced_to_where_it_happened(self, profile: Profile, ours: NativeEngine) -> None:
        """The engine refuses to answer with such logits, which is when one wants to know."""
        faulty = NativeEngine(profile, ops=dataclasses.replace(PLAIN, sigmoid_gate=lambda core, gate: core / 0))
        prepared = ours.prepare(BODIES["text"])
        found = trace(faulty, prepared)
        assert differing(found, trace(ours, prepared))[0] == "layer.03.mixer"
        assert found["logits"].isnan().all()


class TestKeep:
    def test_only_the_last_row_for_long_prompts(self, ours: NativeEngine) -> None:
        prepared = ours.prepare(BODIES["images"])
        whole, last = trace(ours, prepared), trace(ours, prepared, keep="last")
        assert last.keep == "last"
        for name, tensor in whole.items():
            rows = name not in ("hidden", "logits") and not name.endswith(".state")
            assert torch.equal(last[name], tensor[-1:] if rows else tensor)

    def test_or_a_digest_of_all_rows(self, ours: NativeEngine, official: ReferenceEngine) -> None:
        prepared = ours.prepare(BODIES["images"])
        whole, short = trace(ours, prepared), trace(official, prepared, keep="digest")
        for name, tensor in whole.items():
            assert torch.equal(short[name], digest(tensor))
        changed = whole["layer.00"].clone()
        changed[0, 0] = -changed[0, 0]
        assert not torch.equal(digest(changed), short["layer.00"])
        assert not torch.equal(digest(changed.float()), digest(changed))


class TestRefusals:
    def test_an_engine_elsewhere(self, ours: NativeEngine) -> None:
        class Remote:
            name = "remote"

        with pytest.raises(TraceError, match="remote does not compute in this process"):
            trace(Remote(), ours.prepare(BODIES["text"]))

    def test_a_question_that_is_not_there(self, ours: NativeEngine) -> None:
        with pytest.raises(TraceError, match=r"questions \[3\] of a request that has 3"):
            trace(ours, ours.prepare(BODIES["text"]), 3)

    def test_an_engine_that_skips_a_layer(self, profile: Profile) -> None:
        engine = native.load(profile)
        engine.language.layers = engine.language.layers[:3]
        with pytest.raises(TraceError, match=r"another way than its config says: no \['layer.03.mixer'"):
            trace(engine, engine.prepare(BODIES["text"]))
