"""Inputs of the language kernels at published widths, seeded, in BF16, with the strides the model gives them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

EPS = 1e-6
LENGTHS = (1, 2, 3, 7, 8, 15, 16, 17, 63, 64, 98, 171, 278, 392, 475, 1024, 2282)


@dataclass(frozen=True)
class Widths:
    """Of one text model: hidden, MLP, query and key heads of 256, linear key and value heads of 128."""

    hidden: int
    mlp: int
    heads: int
    key_heads: int
    linear_keys: int
    linear_values: int


SIZES = {"27b": Widths(5120, 17408, 24, 4, 16, 48), "4b": Widths(2560, 9216, 16, 4, 16, 32)}


class Inputs:
    """Arguments of every op at one size and length; another seed gives other numbers of the same kind."""

    def __init__(self, size: str, tokens: int, seed: int = 0, device: str = "cuda") -> None:
        self.size, self.tokens = SIZES[size], tokens
        self._generator = torch.Generator(device).manual_seed(1000 * seed + tokens)
        self._device = device

    def noise(self, *shape: int, scale: float = 1.0, mean: float = 0.0) -> Tensor:
        values = torch.randn(*shape, generator=self._generator, device=self._device)
        return (values * scale + mean).bfloat16()

    def rms_norm(self) -> tuple[Any, ...]:
        hidden = self.size.hidden
        return self.noise(self.tokens, hidden, scale=3.0), self.noise(hidden, scale=0.3), EPS

    def add_rms_norm(self) -> tuple[Any, ...]:
        shape = self.tokens, self.size.hidden
        return self.noise(*shape, scale=3.0), self.noise(*shape), self.noise(shape[1], scale=0.3), EPS

    def gated_rms_norm(self) -> tuple[Any, ...]:
        rows = self.tokens * self.size.linear_values
        x, gate = self.noise(rows, 128, scale=0.2), self.noise(rows, 128, scale=2.0)
        return x, gate, self.noise(128, scale=0.3, mean=1.0), EPS

    def causal_conv(self) -> tuple[Any, ...]:
        keys, values = self.size.linear_keys, self.size.linear_values
        channels = 128 * (2 * keys + values)
        x, weight = self.noise(self.tokens, channels), self.noise(channels, 1, 4, scale=0.5)
        return x, weight, keys, 128, values

    def delta_gates(self) -> tuple[Any, ...]:
        heads = self.size.linear_values
        a, b = self.noise(self.tokens, heads, scale=8.0), self.noise(self.tokens, heads, scale=3.0)
        return a, b, self.noise(heads), self.noise(heads)

    def query_key(self) -> tuple[Any, ...]:
        q_gate = self.noise(self.tokens, self.size.heads * 512)
        k = self.noise(self.tokens, self.size.key_heads * 256)
        angle = torch.arange(self.tokens, device=self._device)[:, None] / 1e7 ** (
            torch.arange(32, device=self._device) / 32
        )
        angle = torch.cat((angle, angle), -1)
        weights = self.noise(256, scale=0.3), self.noise(256, scale=0.3)
        return q_gate, k, *weights, angle.cos().bfloat16(), angle.sin().bfloat16(), EPS

    def sigmoid_gate(self) -> tuple[Any, ...]:
        shape = self.tokens, self.size.heads * 256
        return self.noise(*shape), self.noise(*shape, scale=3.0)

    def silu_mul(self) -> tuple[Any, ...]:
        shape = self.tokens, self.size.mlp
        return self.noise(*shape, scale=3.0), self.noise(*shape)

    def of(self, op: str) -> tuple[Any, ...]:
        arguments: Callable[[], tuple[Any, ...]] = getattr(self, op)
        return arguments()


OPS = (
    "rms_norm",
    "add_rms_norm",
    "gated_rms_norm",
    "causal_conv",
    "delta_gates",
    "query_key",
    "sigmoid_gate",
    "silu_mul",
)
