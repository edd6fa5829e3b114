"""How much single pieces of arithmetic move the truth: the sizes that docs/oracle.md draws its line by."""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from kit.engine import oracle_language, oracle_walk
from kit.engine.base import Prepared
from kit.engine.oracle import Oracle, OracleResult, load_oracle
from kit.engine.oracle_weights import Float64Weights
from kit.profile import Profile
from tests.engine.requests import images, text


@pytest.fixture(scope="module")
def oracle(profile: Profile) -> Oracle:
    return load_oracle(profile)


@pytest.fixture(scope="module")
def requests(oracle: Oracle) -> list[Prepared]:
    return [oracle.prepare(body) for body in (text(3), text(40), images((256, 256)), images((64, 64), (96, 64)))]


@pytest.fixture(scope="module")
def truths(oracle: Oracle, requests: list[Prepared]) -> list[tuple[OracleResult, ...]]:
    return oracle.decide_all(requests)


def narrow(x: Tensor) -> Tensor:
    return x.to(torch.bfloat16).double()


def change(found: list[tuple[OracleResult, ...]], truths: list[tuple[OracleResult, ...]]) -> float:
    """Median relative change of the hidden row."""
    pairs = [pair for mine, true in zip(found, truths, strict=True) for pair in zip(mine, true, strict=True)]
    return statistics.median(float((a.hidden - b.hidden).norm() / b.hidden.norm()) for a, b in pairs)


def test_pixels_in_fp32_are_the_input_and_bf16_pixels_are_arithmetic(
    oracle: Oracle, requests: list[Prepared], truths: list[tuple[OracleResult, ...]]
) -> None:
    def again(remake: Callable[[Tensor], Tensor]) -> float:
        chosen = [(one, true) for one, true in zip(requests, truths, strict=True) if one.pixels is not None]
        changed = [dataclasses.replace(one, pixels=remake(one.pixels)) for one, _ in chosen if one.pixels is not None]
        return change(oracle.decide_all(changed), [true for _, true in chosen])

    assert 1e-10 < again(lambda pixels: ((pixels.double() * 127.5 + 127.5).round() - 127.5) / 127.5) < 1e-7
    assert 1e-5 < again(narrow) < 1e-2


def test_rotary_tables(
    oracle: Oracle, requests: list[Prepared], truths: list[tuple[OracleResult, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    real = oracle_walk.rotary
    monkeypatch.setattr(oracle_walk, "rotary", lambda config, at: tuple(x.float().double() for x in real(config, at)))
    assert 1e-11 < change(oracle.decide_all(requests), truths) < 1e-7
    monkeypatch.setattr(oracle_walk, "rotary", lambda config, at: tuple(narrow(x) for x in real(config, at)))
    assert 1e-6 < change(oracle.decide_all(requests), truths) < 1e-3


def test_rounded_projections_are_most_of_what_bf16_does(
    oracle: Oracle, requests: list[Prepared], truths: list[tuple[OracleResult, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Rounding:
        def __getattr__(self, name: str) -> Any:
            return (lambda *inputs: narrow(F.linear(*inputs))) if name == "linear" else getattr(F, name)

    monkeypatch.setattr(oracle_language, "F", Rounding())
    assert 0.003 < change(oracle.decide_all(requests), truths) < 0.03


def test_a_merged_adapter_is_arithmetic_and_none_is_another_model(
    oracle: Oracle, requests: list[Prepared], truths: list[tuple[OracleResult, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    real = Float64Weights._tensor

    def merged(self: Float64Weights, name: str) -> Tensor:
        found = real(self, name)
        return narrow(found) if name.removesuffix(".weight") in self._adapted else found

    monkeypatch.setattr(Float64Weights, "_tensor", merged)
    assert 0.003 < change(oracle.decide_all(requests), truths) < 0.03
    monkeypatch.setattr(Float64Weights, "_tensor", lambda self, name: self._wide(self._base, name))
    assert change(oracle.decide_all(requests), truths) > 0.5
