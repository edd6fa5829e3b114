"""The final state of a gated delta rule: the recurrence itself, token by token, in FP64."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from kit.engine.delta_state import final_state


def recurrence(k: Tensor, v: Tensor, g: Tensor, beta: Tensor) -> Tensor:
    """S <- exp(g) S;  S <- S + k beta (v - S^T k)^T, as the rule is written down."""
    k, v, g, beta = (x.double() for x in (k, v, g, beta))
    k = (k * torch.rsqrt((k * k).sum(-1, keepdim=True) + 1e-6)).repeat_interleave(v.shape[1] // k.shape[1], dim=1)
    state = torch.zeros(v.shape[1], k.shape[2], v.shape[2], dtype=torch.float64)
    for t in range(v.shape[0]):
        state = state * g[t].exp()[:, None, None]
        read = torch.einsum("hkv,hk->hv", state, k[t])
        state = state + torch.einsum("hk,hv->hkv", k[t], beta[t][:, None] * (v[t] - read))
    return state


def inputs(tokens: int, group: int = 2) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    draw = torch.Generator().manual_seed(tokens)
    k = torch.randn(tokens, 2, 8, generator=draw)
    v = torch.randn(tokens, 2 * group, 5, generator=draw)
    g = -torch.rand(tokens, 2 * group, generator=draw)
    return k, v, g, torch.rand(tokens, 2 * group, generator=draw)


@pytest.mark.parametrize("tokens", [1, 2, 63, 64, 65, 200])
def test_chunks_give_what_the_recurrence_gives(tokens: int) -> None:
    state = final_state(*inputs(tokens))
    assert state.dtype == torch.float64
    assert state.shape == (4, 8, 5)
    torch.testing.assert_close(state, recurrence(*inputs(tokens)), rtol=1e-11, atol=1e-12)


def test_each_key_head_serves_neighbouring_value_heads() -> None:
    k, v, g, beta = inputs(70)
    assert torch.equal(final_state(k, v, g, beta), final_state(k.repeat_interleave(2, dim=1), v, g, beta))


def test_the_state_remembers_every_token_and_their_order() -> None:
    k, v, g, beta = inputs(70)
    state = final_state(k, v, 0 * g, beta)
    assert not torch.allclose(state, final_state(k.flip(0), v.flip(0), 0 * g, beta.flip(0)))
    v[3] += 1
    assert not torch.allclose(state, final_state(k, v, 0 * g, beta))
