"""The gated delta rule in FP64: the definition token by token, and the same in chunks of 64.

Per head, with state S [Dk, Dv] and S = 0 before the first token, q and k scaled to length one:

    S <- exp(g_t) S;  S <- S + k_t beta_t (v_t - S^T k_t)^T;  o_t = S^T q_t / sqrt(Dk)

Covers: several sequences of one length, the final state, both forms. In real numbers the forms are one function;
in FP64 they agree to about 1e-13, which a test holds them to. The oracle runs the chunks, as a Python loop over
tokens is too slow.
Does not cover: the gates g and beta (`kit.engine.oracle_language`), an initial state.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

CHUNK = 64
EPS = 1e-6  # under the root of the length of q and k; part of the model, not of its arithmetic

Outcome = tuple[Tensor, Tensor]


def by_token(q: Tensor, k: Tensor, v: Tensor, g: Tensor, beta: Tensor) -> Outcome:
    """The definition. q, k [S, T, key heads, Dk], v [S, T, heads, Dv], g, beta [S, T, heads], any dtype ->
    (o FP64 [S, T, heads, Dv], final state FP64 [S, heads, Dk, Dv]).

    Each key head serves heads / key heads neighbouring value heads.
    """
    q, k, v, g, beta = _heads_first(q, k, v, g, beta)
    state = v.new_zeros(*v.shape[:2], k.shape[-1], v.shape[-1])
    out = torch.empty_like(v)
    for t in range(v.shape[2]):
        state = state * g[:, :, t, None, None].exp()
        fresh = beta[:, :, t, None] * (v[:, :, t] - torch.einsum("shkv,shk->shv", state, k[:, :, t]))
        state = state + k[:, :, t, :, None] * fresh[:, :, None, :]
        out[:, :, t] = torch.einsum("shkv,shk->shv", state, q[:, :, t])
    return out.transpose(1, 2), state


def in_chunks(q: Tensor, k: Tensor, v: Tensor, g: Tensor, beta: Tensor) -> Outcome:
    """`by_token`, one triangular system a chunk instead of one step a token.

    Inside a chunk, with G the running sum of g: (I + A) u = beta (v - exp(G) S^T k) and A_ij = beta_i (k_i . k_j)
    exp(G_i - G_j) for j < i. The system does not depend on S, so it is solved for all chunks at once.
    """
    tokens = v.shape[1]
    q, k, v, g, beta = (_chunked(x) for x in _heads_first(q, k, v, g, beta))
    total = g.cumsum(-1)
    between = torch.exp((total.unsqueeze(-1) - total.unsqueeze(-2)).tril()).tril()  # exp(G_i - G_j), 0 for j > i
    rate, grown = beta.unsqueeze(-1), total.exp().unsqueeze(-1)
    system = rate * (k @ k.mT) * between
    wanted = torch.cat((rate * v, rate * grown * k), dim=-1)
    solved = torch.linalg.solve_triangular(system, wanted, upper=False, unitriangular=True)
    values, keys = solved.split((v.shape[-1], k.shape[-1]), dim=-1)
    within, across = (q @ k.mT) * between, q * grown
    last = total[..., -1:]
    written, kept = (k * (last - total).exp().unsqueeze(-1)).mT, last.exp().unsqueeze(-1)
    state = v.new_zeros(*v.shape[:2], k.shape[-1], v.shape[-1])
    out = torch.empty_like(v)
    for i in range(v.shape[2]):
        fresh = values[:, :, i] - keys[:, :, i] @ state
        out[:, :, i] = across[:, :, i] @ state + within[:, :, i] @ fresh
        state = kept[:, :, i] * state + written[:, :, i] @ fresh
    return out.flatten(2, 3)[:, :, :tokens].transpose(1, 2), state


def _heads_first(q: Tensor, k: Tensor, v: Tensor, g: Tensor, beta: Tensor) -> tuple[Tensor, ...]:
    """FP64, [S, heads, T, ...], one key head a value head; q and k of length one, q over sqrt(Dk)."""
    group = v.shape[2] // k.shape[2]
    q, k = (_unit(x.double()).repeat_interleave(group, dim=2) for x in (q, k))
    return tuple(x.double().transpose(1, 2).contiguous() for x in (q * q.shape[-1] ** -0.5, k, v, g, beta))


def _unit(x: Tensor) -> Tensor:
    return x * torch.rsqrt(x.square().sum(dim=-1, keepdim=True) + EPS)


def _chunked(x: Tensor) -> Tensor:
    """[S, heads, T, ...] -> [S, heads, chunks, 64, ...]. A token of zeros (k, beta and g) leaves the state alone."""
    missing = -x.shape[2] % CHUNK
    padded = F.pad(x, (0, 0) * (x.ndim - 3) + (0, missing))
    return padded.reshape(*x.shape[:2], -1, CHUNK, *x.shape[3:])
