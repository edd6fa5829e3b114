"""A whole session at the size of cpu-tiny: what is measured, what is left out, and what becomes of the adapter."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest
import torch
import torch.nn.functional as F

from kit.campaign.performance import adapter_swap, session
from kit.campaign.performance.floors import STACKED_COPIES, Floors, groups, stacked
from kit.campaign.performance.local_http import ServedForm, serving
from kit.campaign.performance.plan import Entry, Measured, Settings
from kit.engine import native
from kit.engine.baseline import NativeForm
from kit.engine.capture import AtenReplay
from kit.engine.native import NativeEngine
from kit.profile import Profile
from tests.engine.requests import text


@pytest.fixture(scope="module")
def engine(profile: Profile) -> Iterator[NativeEngine]:
    engine = native.load(profile)
    yield engine
    engine.close()


@pytest.fixture(scope="module")
def found(profile: Profile) -> Measured:
    settings = Settings(
        budget_s=250, blocks=5, block_ms=1, lengths=(98, 120), long=150, served=(98,), merged=(98, 392), compiled=(98,),
        compile_seconds=-1, stream=(96, 100, 104),
    )  # fmt: skip
    return session.run(profile, settings)


def entry(found: Measured, engine: str, workload: str, tokens: int | None = None) -> Entry:
    (match,) = [
        e
        for e in found.entries
        if (e.engine, e.workload, e.anchor) == (engine, workload, False) and tokens in (None, e.tokens)
    ]
    return match


def test_the_reference_its_captured_form_and_both_native_engines_give_the_same_bits(found: Measured) -> None:
    for workload, tokens in (("text", 98), ("text", 120), ("image-768x512", None), ("images-4", None), ("questions-4", None)):
        base = entry(found, "reference", workload, tokens).logits
        assert base
        for name in ("reference-graph", "eager", "graph"):
            assert entry(found, name, workload, tokens).logits == base


def test_a_round_s_entries_have_the_same_blocks(found: Measured) -> None:
    rounds: dict[int, set[tuple[int, ...]]] = {}
    for e in found.entries:
        rounds.setdefault(e.number, set()).add(tuple(map(len, e.series.wall)))
    assert all(len(shapes) == 1 for shapes in rounds.values())
    assert all(len(e.series.wall) == 5 for e in found.entries)


def test_merged_forms_answer_otherwise_beside_an_anchor(found: Measured) -> None:
    merged = entry(found, "merged", "text", 98)
    assert merged.logits not in (None, entry(found, "reference", "text", 98).logits)
    assert entry(found, "merged-graph", "text", 98).logits == merged.logits
    together = {e.engine: e.anchor for e in found.entries if e.number == merged.number}
    assert together == {"merged": False, "merged-graph": False, "reference-graph": True}


def test_what_was_not_measured_is_listed_with_its_reason(found: Measured) -> None:
    reasons = {item["phase"]: item["reason"] for item in found.not_measured}
    assert reasons["profile"] == "RuntimeError: kernels are profiled on a GPU only"
    assert reasons["compiled"].startswith("CompileTimeoutError")
    assert reasons["merged/merged-graph 392"].startswith("speed needs drift beside it")
    assert reasons.keys() == {"profile", "compiled", "merged compiled", "merged/merged-graph 392"}


def test_every_way_to_multiply_is_kept_and_the_fastest_is_the_floor(found: Measured) -> None:
    for floor in found.facts["floors"]:
        medians = {way["way"]: way["median_ms"] for way in floor["ways"]}
        assert floor["fastest"] == min((n for n, ms in medians.items() if ms), key=lambda n: medians[n])
        assert medians["cublaslt stacked"] is None  # and says so
        assert all((way["median_ms"] is None) == bool(way["reason"]) for way in floor["ways"])
    assert entry(found, "gemm-floor", "text", 98).logits is None


def test_a_cold_stream_counts_when_captures_have_paid(found: Measured) -> None:
    stream = found.facts["stream"]
    assert len(stream["cold_ms"]) == len(stream["replay_ms"]) == len(stream["eager_ms"]) == 3
    assert stream["capture_ms"] > 0


def test_another_adapter_in_place_changes_every_engine_alike_and_invalidates_nothing(found: Measured) -> None:
    swap = found.facts["adapter_swap"]
    assert (swap["changed"], swap["same_as_reference"], swap["returned"], swap["captures_made"]) == (True, True, True, 0)
    assert swap["tensors"] == 62


def test_the_loaded_adapter_is_back_also_after_an_error(engine: NativeEngine) -> None:
    before = [(down.clone(), up.clone()) for down, up in adapter_swap.pairs(engine.language)]
    calls = iter([1, 2])

    def answer() -> int:
        if next(calls) == 2:
            raise RuntimeError("broken")
        return 1

    with pytest.raises(RuntimeError, match="broken"):
        adapter_swap.measure(engine.language, [answer], lambda: None)
    for (down, up), (old_down, old_up) in zip(adapter_swap.pairs(engine.language), before, strict=True):
        assert torch.equal(down, old_down)
        assert torch.equal(up, old_up)


def test_floors_multiply_every_projection_of_every_layer(engine: NativeEngine) -> None:
    found = list(groups(engine.language))
    weights = [weight for group in found for weight in group.weights]
    assert len(weights) == 31  # as many as are adapted
    floors = Floors(engine.language, AtenReplay())
    assert floors.weight_bytes == sum(weight.nbytes for weight in weights)
    for group, whole in zip(found, stacked(found), strict=True):
        x = torch.ones(3, group.weights[0].shape[1], dtype=torch.bfloat16)
        parts = torch.cat([F.linear(x, weight) for weight in group.weights], dim=1)
        assert len(whole.weights) == 1
        assert F.linear(x, whole.weights[0]).shape == parts.shape
    assert STACKED_COPIES > 1


@pytest.mark.parametrize("device_works", [True, False])
def test_a_failure_costs_its_phase_and_only_a_lost_device_the_rest(
    profile: Profile, monkeypatch: pytest.MonkeyPatch, device_works: bool
) -> None:
    done: list[str] = []

    def vision(self: object, name: str, body: bytes) -> None:
        monkeypatch.setattr(session._Session, "_device_works", lambda self: device_works)
        raise KeyError("no such tower")

    for name in ("text", "request", "profile", "http", "swap", "compiled", "stream", "long_text", "merged"):
        monkeypatch.setattr(session._Session, f"_{name}", lambda self, *args, name=name: done.append(name))
    monkeypatch.setattr(session._Session, "_vision", vision)
    found = session.run(profile, Settings(budget_s=10_000, lengths=(98,)))
    reasons = {item["phase"]: item["reason"] for item in found.not_measured}
    assert reasons.pop("vision-768x512") == "KeyError: 'no such tower'"
    assert done[0] == "text"
    if device_works:
        assert not reasons
        assert done[-2:] == ["merged", "compiled"]
    else:
        assert done == ["text"]
        assert set(reasons.values()) == {"the device was lost in phase vision-768x512"}
        assert "merged" in reasons


def test_a_budget_that_is_spent_leaves_everything_out(profile: Profile) -> None:
    found = session.run(profile, Settings(budget_s=0.0))
    assert found.entries == []
    assert len(found.not_measured) == 18
    assert all("of the budget were left" in item["reason"] for item in found.not_measured)


def test_a_served_form_answers_as_its_engine_and_stays_open(profile: Profile, engine: NativeEngine) -> None:
    form = ServedForm("eager", NativeForm(engine), engine.prepare, engine.calibration)
    expected = engine.decide(engine.prepare(text(9))).answers
    for served in (form, engine):
        with serving(served, profile) as url:
            assert httpx.get(f"{url}/health").json()["status"] == "READY"
            for _ in range(2):
                assert httpx.post(f"{url}/v1/systemone", content=text(9)).json()["answers"] == expected
    assert engine.decide(engine.prepare(text(9))).answers == expected
