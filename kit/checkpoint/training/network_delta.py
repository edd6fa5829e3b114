"""The gated delta rule in a form gradients flow through: chunks of 64 tokens, everything FP32.

Covers: the rule of `kit.kernels.delta_rule` for a batch, out of matrix products alone, so that autograd, compilation
and capture need nothing special. Nearly all of it knows no more than one chunk, so `chunk_terms` takes the tokens of
all prompts in one row, whatever their length, and a program compiled from it serves every bucket; `scan` is what is
left. The triangular systems are inverted by blocks that double, which stays accurate where summing powers does not.
Does not cover: bits (a checkpoint is judged by the engines), prompts that are no multiple of 64.
"""

from __future__ import annotations

import torch
from torch import Tensor

CHUNK = 64
Terms = tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]


def chunk_terms(q: Tensor, k: Tensor, v: Tensor, g: Tensor, beta: Tensor) -> Terms:
    """What a chunk's step needs besides the state: (values, keys, within, reading, writing, kept).

    q, k [N, heads, Dk], v [N, heads, Dv], g (logarithm of the decay) and beta (rate of writing) [N, heads], for
    N = 64 * chunks tokens -> each FP32 [chunks, heads, 64 (writing: Dk, kept: 1), ..].
    """
    width = q.shape[-1]
    q, k, v = _normalised(_chunked(q)) * width**-0.5, _normalised(_chunked(k)), _chunked(v)
    rate, decay = _chunked(beta.unsqueeze(-1)), _chunked(g.unsqueeze(-1)).squeeze(-1).cumsum(-1)
    low = torch.ones(CHUNK, CHUNK, dtype=torch.bool, device=q.device).tril()
    pairwise = (decay.unsqueeze(-1) - decay.unsqueeze(-2)).masked_fill(~low, float("-inf")).exp()
    across, grown, last = k.transpose(-1, -2), decay.exp().unsqueeze(-1), decay[..., -1:]
    inverse = unit_inverse((k * rate) @ across * pairwise)
    return (
        inverse @ (v * rate),
        inverse @ (k * rate * grown),
        (q @ across) * pairwise,
        q * grown,
        (k * (last - decay).exp().unsqueeze(-1)).transpose(-1, -2),
        last.exp().unsqueeze(-1),
    )


def scan(terms: Terms, rows: int) -> Tensor:
    """Chunk by chunk through each of `rows` prompts, from an empty state: FP32 [N, heads, Dv]."""
    chunks = zip(*(term.view(rows, -1, *term.shape[1:]).unbind(1) for term in terms), strict=True)
    state: Tensor | None = None
    outs = []
    for values, keys, within, reading, writing, kept in chunks:
        if state is None:
            outs.append(within @ values)
            state = writing @ values
            continue
        fresh = values - keys @ state
        outs.append(reading @ state + within @ fresh)
        state = state * kept + writing @ fresh
    return torch.stack(outs, 1).transpose(2, 3).flatten(0, 2)


def unit_inverse(system: Tensor) -> Tensor:
    """The inverse of I plus the strictly lower part of `system` [.., n, n], n a power of two.

    Blocks on the diagonal are inverted pair by pair: the corner c under inverses a and d becomes -d c a.
    """
    lead, n = system.shape[:-2], system.shape[-1]
    inverse = torch.ones(*lead, n, 1, 1, dtype=system.dtype, device=system.device)
    size = 1
    while size < n:
        pairs = n // (2 * size)
        blocks = system.reshape(*lead, pairs, 2 * size, pairs, 2 * size).diagonal(dim1=-4, dim2=-2)
        corner = blocks.movedim(-1, -3)[..., size:, :size]
        first, second = inverse.reshape(*lead, pairs, 2, size, size).unbind(-3)
        corner = -(second @ corner) @ first
        upper = torch.cat((first, torch.zeros_like(corner)), -1)
        inverse = torch.cat((upper, torch.cat((corner, second), -1)), -2)
        size *= 2
    return inverse[..., 0, :, :]


def _chunked(x: Tensor) -> Tensor:
    """[N, heads, D] -> FP32 [chunks, heads, 64, D]."""
    return x.view(-1, CHUNK, *x.shape[1:]).transpose(1, 2).float()


def _normalised(x: Tensor) -> Tensor:
    return x * torch.rsqrt((x * x).sum(dim=-1, keepdim=True) + 1e-6)
