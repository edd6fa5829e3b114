"""Numbers from a counter: the tensor code against a twin in plain Python integers."""

from __future__ import annotations

import hashlib
import struct

import pytest
import torch

from kit.checkpoint.generator import Fill, fill, integers, keys

NAME = "model.language_model.layers.0.mlp.up_proj.weight"


def twin_mix(x: int) -> int:
    x ^= x >> 16
    x = x * 0x21F0AAAD % 2**32
    x ^= x >> 15
    x = x * 0x735A2D97 % 2**32
    return x ^ x >> 15


def twin_n(seed: int, name: str, index: int) -> int:
    first, second = struct.unpack("<II", hashlib.sha256(f"{seed}/{name}".encode()).digest()[:8])
    h = twin_mix((twin_mix(index ^ first) + second) % 2**32)
    return h % 2**16 + h // 2**16 - 65535


def float32(x: float) -> float:
    return struct.unpack("<f", struct.pack("<f", x))[0]


def bfloat16_bits(x: float) -> int:
    """Round to nearest even, by hand."""
    bits = struct.unpack("<I", struct.pack("<f", x))[0]
    return (bits + 0x7FFF + (bits >> 16 & 1)) >> 16


@pytest.mark.parametrize("start", [0, 1, 4095, 2**24 - 3, 2**32 - 40])
def test_integers_equal_the_twin(start: int) -> None:
    made = integers(21, NAME, start, start + 40).tolist()
    assert made == [twin_n(21, NAME, index) for index in range(start, start + 40)]


@pytest.mark.parametrize("how", [Fill(0.02), Fill(0.2, mean=1.0), Fill(1.2, mean=-4.2), Fill(3e-4)])
def test_values_have_one_float32_product_and_one_rounding(how: Fill) -> None:
    wide = fill(torch.empty(50, dtype=torch.float32), 3, NAME, how).tolist()
    narrow = fill(torch.empty(50, dtype=torch.bfloat16), 3, NAME, how).view(torch.int16).tolist()
    for index in range(50):
        # a product of two float32 numbers is exact in Python's float64, so this rounds once
        expected = float32((twin_n(3, NAME, index) + how.offset) * how.scale)
        assert wide[index] == expected
        assert narrow[index] & 0xFFFF == bfloat16_bits(expected)


def test_any_slice_can_be_made_alone() -> None:
    whole = fill(torch.empty(64, 8), 5, NAME, Fill(1.0))
    part = fill(torch.empty(8), 5, NAME, Fill(1.0), start=37 * 8)
    assert torch.equal(whole[37], part)


def test_chunks_do_not_show(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = fill(torch.empty(1000), 5, NAME, Fill(1.0))
    monkeypatch.setattr("kit.checkpoint.generator.CHUNK", 37)
    assert torch.equal(whole, fill(torch.empty(1000), 5, NAME, Fill(1.0)))


def test_frozen_values() -> None:
    """These numbers are the definition: every published digest depends on them."""
    assert keys(21, "lm_head.weight") == (4128236144, 1445604378)
    assert integers(21, "lm_head.weight", 0, 6).tolist() == [-17581, 23676, -5320, -912, -770, -19653]



def test_mean_and_deviation_are_what_was_asked() -> None:
    values = fill(torch.empty(200_000), 1, "x", Fill(0.5, mean=2.0)).double()
    assert values.mean().item() == pytest.approx(2.0, abs=0.005)
    assert values.std().item() == pytest.approx(0.5, rel=0.01)


def test_neighbours_names_and_seeds_are_unrelated() -> None:
    a = integers(1, "a", 0, 50_000).double()
    for other in (integers(1, "b", 0, 50_000), integers(2, "a", 0, 50_000), integers(1, "a", 1, 50_001)):
        correlation = torch.corrcoef(torch.stack([a, other.double()]))[0, 1].abs().item()
        assert correlation < 0.02


def test_too_far_means_and_too_long_tensors_are_refused() -> None:
    with pytest.raises(ValueError, match="half ranges"):
        _ = Fill(0.001, mean=5.0).offset
    with pytest.raises(ValueError, match="32-bit counter"):
        integers(1, "x", 2**32 - 1, 2**32 + 1)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
@pytest.mark.parametrize("start", [0, 2**31 - 500, 2**32 - 5000])
def test_a_gpu_makes_the_same_bits(dtype: torch.dtype, start: int) -> None:
    how = Fill(0.3, mean=0.1)
    here = fill(torch.empty(4999, dtype=dtype), 27, NAME, how, start)
    there = fill(torch.empty(4999, dtype=dtype, device="cuda"), 27, NAME, how, start)
    assert torch.equal(here, there.cpu())
