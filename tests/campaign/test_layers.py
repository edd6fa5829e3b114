"""Requests walked by several engines: default bounds, faults found where they sit, and rounding told from faults."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator

import pytest
import torch
from torch import Tensor

from kit.campaign.layer_bounds import uniform
from kit.campaign.layer_figures import layer_heat_map
from kit.campaign.layers import Side, Walked, walk
from kit.engine import native
from kit.engine.native import NativeEngine
from kit.engine.oracle import load_oracle
from kit.kernels.table import PLAIN
from kit.profile import Profile
from tests.engine.requests import images, text


@pytest.fixture(scope="module")
def ours(profile: Profile) -> Iterator[Side]:
    engine = native.load(profile)
    yield Side.of("native", engine)
    engine.close()


@pytest.fixture(scope="module")
def oracle(profile: Profile) -> Side:
    return Side.of("oracle", load_oracle(profile))


@pytest.fixture(scope="module")
def requests(ours: Side) -> list[Walked]:
    return [Walked("short", ours.engine.prepare(text(20))), Walked("pictures", ours.engine.prepare(images((64, 64))))]


def no_gate(core: Tensor, gate: Tensor) -> Tensor:
    return core


@pytest.fixture(scope="module")
def faulty(profile: Profile) -> Side:
    """The native engine without the sigmoid gate of its attention layers."""
    return Side.of("no gate", NativeEngine(profile, ops=dataclasses.replace(PLAIN, sigmoid_gate=no_gate)))


def test_a_fault_is_named_by_its_layer_against_either_side(
    ours: Side, oracle: Side, faulty: Side, requests: list[Walked]
) -> None:
    document = walk([faulty, ours, oracle], [("no gate", "native"), ("no gate", "oracle"), ("native", "oracle")], requests)
    against_ours, against_truth, rounded = document["pairs"]
    assert [pair["bound"] for pair in document["pairs"]] == ["bits", "rounding", "rounding"]
    for pair in (against_ours, against_truth):
        assert {prompt["first_over"] for prompt in pair["prompts"]} == {"layer.03.mixer"}
    assert rounded["over"] == 0  # BF16 is off everywhere and explains itself
    assert all(prompt["different"][-1] for prompt in rounded["prompts"])
    assert [prompt["request"] for prompt in rounded["prompts"]] == ["short"] * 3 + ["pictures"] * 3
    assert document["checkpoint_digest"] == ours.engine.digest
    json.dumps(document, allow_nan=False)


def test_an_engine_is_its_own_equal_whatever_rows_are_kept(ours: Side, requests: list[Walked]) -> None:
    again = dataclasses.replace(ours, name="again")
    for keep in ("all", "last", "digest"):
        (pair,) = walk([ours, again], [("native", "again")], requests, keep=keep)["pairs"]
        assert pair["over"] == 0
        assert not any(any(prompt["different"]) for prompt in pair["prompts"])


def test_a_bound_of_ones_own(ours: Side, oracle: Side, requests: list[Walked]) -> None:
    pair = ("native", "oracle")
    found = walk([ours, oracle], [pair], requests[:1], bounds={pair: lambda stages: uniform(0.0, stages)})
    assert found["pairs"][0]["prompts"][0]["first_over"] == "layer.00.mixer"  # token embeddings are copies


def test_the_heat_map_names_the_first_stage(ours: Side, faulty: Side, requests: list[Walked]) -> None:
    (pair,) = walk([faulty, ours], [("no gate", "native")], requests)["pairs"]
    figure = layer_heat_map(pair)
    assert figure.get_suptitle() == "no gate against native, worst of 6 prompts: first over its bound: layer.03.mixer"
    vision, language = figure.axes[:2]
    assert [tick.get_text() for tick in vision.get_xticklabels()] == ["patches", "positions", "0", "1", "merger"]
    assert [tick.get_text() for tick in language.get_xticklabels()] == ["embedding", "0", "1", "2", "3", "hidden", "logits"]
    assert [text.get_text() for text in language.texts] == ["first"]
    equal = walk([ours, dataclasses.replace(ours, name="again")], [("native", "again")], requests[:1])["pairs"][0]
    assert layer_heat_map(equal).get_suptitle().endswith("worst of 3 prompts: no value differs anywhere")


def test_equal_sides_are_equally_far_from_the_oracle(ours: Side, oracle: Side, requests: list[Walked]) -> None:
    reference = dataclasses.replace(ours, name="reference")  # of the same bits, so every ratio is one
    pairs = [("native", "reference"), ("reference", "oracle"), ("native", "oracle")]
    document = walk([ours, reference, oracle], pairs, requests)
    assert set(document["oracle_ratio"]["native"].values()) == {1.0}


def test_where_a_number_is_lost(profile: Profile, ours: Side, requests: list[Walked]) -> None:
    """The engine itself refuses such logits; the walk shows which layer made them."""
    calls = 0

    def broken(gate: Tensor, up: Tensor) -> Tensor:
        nonlocal calls
        calls += 1
        return PLAIN.silu_mul(gate, up) * (torch.nan if calls % 4 == 3 else 1)

    engine = NativeEngine(profile, ops=dataclasses.replace(PLAIN, silu_mul=broken))
    (pair,) = walk([Side.of("broken", engine), ours], [("broken", "native")], requests[:1])["pairs"]
    assert {prompt["first_over"] for prompt in pair["prompts"]} == {"layer.02.mlp"}
    assert pair["prompts"][0]["problems"]["layer.02.mlp"] == "not finite"
    assert pair["worst"]["layer.02.mlp"] is None
    assert "first over its bound: layer.02.mlp" in layer_heat_map(pair).get_suptitle()
