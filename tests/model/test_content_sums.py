"""Two sums a tensor: what they are, and what they see."""

from __future__ import annotations

import struct

import pytest
import torch

from kit.model import content_sums as sums
from kit.model.content_sums import ContentSums, content_sums


def twin(raw: bytes) -> tuple[int, int]:
    """The definition in plain Python integers."""
    raw += bytes(-len(raw) % 8)
    words = struct.unpack(f"<{len(raw) // 8}Q", raw)
    return sum(words) % 2**64, sum((2 * i + 1) * w for i, w in enumerate(words)) % 2**64


def as_pair(found: torch.Tensor) -> tuple[int, int]:
    plain, weighted = (int(value) % 2**64 for value in found.tolist())
    return plain, weighted


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32, torch.float64])
@pytest.mark.parametrize("count", [1, 3, 4, 17, 1000])
def test_equal_the_definition(dtype: torch.dtype, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    tensor = torch.randn(count, generator=torch.Generator().manual_seed(count)).to(dtype)
    expected = twin(tensor.view(torch.uint8).numpy().tobytes())
    assert as_pair(content_sums(tensor)) == expected
    monkeypatch.setattr(sums, "CHUNK", 3)
    assert as_pair(content_sums(tensor)) == expected


def test_a_tensor_that_starts_between_words_is_summed_alike() -> None:
    padded = torch.randn(1001).to(torch.bfloat16)
    assert torch.equal(content_sums(padded[1:]), content_sums(padded[1:].clone()))


@pytest.mark.parametrize("change", ["flip", "swap", "roll", "zero sign"])
def test_see_what_was_changed(change: str) -> None:
    tensor = torch.randn(64, 8, generator=torch.Generator().manual_seed(3))
    tensor[0, 0] = 0.0
    other = tensor.clone()
    if change == "flip":
        other.view(torch.int32)[5, 5] ^= 1
    elif change == "swap":
        other[[3, 40]] = other[[40, 3]]
    elif change == "roll":
        other = other.roll(1, 0)
    else:
        other[0, 0] = -0.0
    assert content_sums(other)[1] != content_sums(tensor)[1]


def test_digest_names_tensor_dtype_and_shape() -> None:
    def digest(name: str, tensor: torch.Tensor) -> str:
        collected = ContentSums()
        collected.add(name, tensor)
        return collected.digest()

    zeros = torch.zeros(4, 4)
    first = digest("a", zeros)
    assert digest("a", zeros.clone()) == first
    assert len({first, digest("b", zeros), digest("a", zeros.view(2, 8)), digest("a", torch.zeros(8, 8).half())}) == 4
