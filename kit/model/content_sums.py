"""What an engine's weights are, in two 64-bit numbers a tensor, computed where they lie.

Covers: sums over the raw bytes of a tensor, collected while a model loads, and one digest over all of them.
Two engines with equal digests hold the same weights, whether those came from files or from a generator; a
changed, swapped or shifted value changes both sums. Does not cover: forgery (the sums are not a cryptographic
hash; files have SHA-256).

    w_i = bytes 8i .. 8i+7 of the contiguous tensor, little endian, the last word filled up with zeros
    plain = sum of w_i, weighted = sum of (2i + 1) * w_i, both modulo 2^64
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import torch
from torch import Tensor

WORD = 8  # bytes
CHUNK = 1 << 22  # words at once: 32 MiB
MASK = (1 << 64) - 1


class ContentSums:
    """Sums of named tensors; what is added stays on its device until `digest` or `values` is asked for."""

    def __init__(self) -> None:
        self._found: dict[str, tuple[str, Tensor]] = {}

    def add(self, name: str, tensor: Tensor) -> None:
        """Sum one tensor, of any dtype and device, under its name in the checkpoint."""
        kind = f"{str(tensor.dtype).removeprefix('torch.')} {list(tensor.shape)}"
        self._found[name] = (kind, content_sums(tensor))

    def values(self) -> dict[str, tuple[str, int, int]]:
        """Name -> (dtype and shape in words, plain sum, weighted sum), sorted by name."""
        found: dict[str, tuple[str, int, int]] = {}
        for name, (kind, sums) in sorted(self._found.items()):
            plain, weighted = (int(value) & MASK for value in sums.tolist())
            found[name] = (kind, plain, weighted)
        return found

    def digest(self) -> str:
        """`digest_of_sums` over everything added so far."""
        return digest_of_sums(self.values())


def digest_of_sums(values: Mapping[str, tuple[str, int, int]]) -> str:
    """SHA-256 over the lines `{name} {dtype} {shape} {plain} {weighted}`, sums as 16 hexadecimal digits."""
    lines = (f"{name} {kind} {a:016x} {b:016x}\n" for name, (kind, a, b) in sorted(values.items()))
    return hashlib.sha256("".join(lines).encode()).hexdigest()


@torch.inference_mode()
def content_sums(tensor: Tensor) -> Tensor:
    """(plain, weighted) of a tensor as int64 [2] on its device; overflow wraps, which is the modulus."""
    raw = tensor.detach().contiguous().reshape(-1).view(torch.uint8)
    words = raw.numel() // WORD
    total = torch.zeros(2, dtype=torch.int64, device=tensor.device)
    for start in range(0, words, CHUNK):
        stop = min(start + CHUNK, words)
        _accumulate(total, _as_words(raw[start * WORD : stop * WORD]), start)
    if rest := raw.numel() - words * WORD:
        last = torch.zeros(WORD, dtype=torch.uint8, device=tensor.device)
        last[:rest] = raw[words * WORD :]
        _accumulate(total, last.view(torch.int64), words)
    return total


def _as_words(raw: Tensor) -> Tensor:
    """Bytes as int64, copied where they do not start on a word (a tensor mapped from the middle of a file)."""
    aligned = raw.data_ptr() % WORD == 0 and raw.storage_offset() % WORD == 0
    return (raw if aligned else raw.clone()).view(torch.int64)


def _accumulate(total: Tensor, words: Tensor, start: int) -> None:
    places = torch.arange(start, start + words.numel(), dtype=torch.int64, device=words.device)
    total[0] += words.sum()
    total[1] += places.mul_(2).add_(1).mul_(words).sum()
