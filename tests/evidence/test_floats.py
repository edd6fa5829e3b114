"""Numbers in records, compared by bits, and the BF16 numbers around them."""

import itertools
import math
import struct

import pytest
import torch

from kit.evidence.floats import (
    bf16_around,
    bf16_spacing,
    decode_float32,
    decode_float64,
    float32_hex,
    float64_hex,
    same_bits,
)

MOST = 40


def is_bf16(value: float) -> bool:
    return struct.pack("<f", value)[:2] == b"\0\0" and struct.unpack("<f", struct.pack("<f", value))[0] == value


class TestHex:
    def test_is_little_endian(self) -> None:
        assert float32_hex([1.0, -2.0]) == "0000803f" + "000000c0"

    def test_gives_the_values_back(self) -> None:
        values = (0.1, -1e-300, 3.0)
        assert decode_float64(float64_hex(values)) == values
        assert decode_float32(float32_hex((0.5, -0.0))) == (0.5, -0.0)

    @pytest.mark.parametrize("text", ["0000803f00", "00008", "zz"])
    def test_of_no_whole_value_is_a_value_error(self, text: str) -> None:
        with pytest.raises(ValueError, match=r"whole number of values|fromhex"):
            decode_float32(text)


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        ((1.0, 2.0), (1.0, 2.0), True),
        ((0.0,), (-0.0,), False),
        ((math.nan,), (math.nan,), True),
        ((1.0,), (1.0, 1.0), False),
        ((1.0,), (math.nextafter(1.0, 2.0),), False),
    ],
)
def test_bits_are_compared_not_values(a: tuple[float, ...], b: tuple[float, ...], same: bool) -> None:
    assert same_bits(a, b) is same


def test_spacing_is_the_distance_torch_sees_between_neighbours() -> None:
    # Neighbours in BF16 differ by one in their bits; the lower one of each pair fixes the spacing.
    bits = torch.arange(0, 0x7F7F, 37, dtype=torch.int16)
    values = bits.view(torch.bfloat16).double()
    above = (bits + 1).view(torch.bfloat16).double()
    for value, gap in zip(values.tolist(), (above - values).tolist(), strict=True):
        assert bf16_spacing(value) == gap == bf16_spacing(-value)


@pytest.mark.parametrize("value", [20.875, 16.0, 15.9375, 0.25, -1.0, 0.0])
def test_numbers_around_one_are_all_its_neighbours(value: float) -> None:
    found = bf16_around(value, value - 3, value + 3, MOST)
    assert value in found
    assert all(map(is_bf16, found))
    assert found == sorted(set(found))
    for low, high in itertools.pairwise(found):
        assert not is_bf16((low + high) / 2), "a BF16 number lies between two neighbours"
    assert value - 3 <= found[0] <= found[-1] <= value + 3
    assert len(found) <= 2 * MOST + 1
