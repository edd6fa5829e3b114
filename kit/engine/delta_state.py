"""The state a gated delta rule layer ends with, in FP64, from whatever went into the layer.

The engines read one answer from one prefill, so none of them hands its final state out, and each rounds it
elsewhere. Recomputed in FP64 from an engine's own k, v, g and beta, it shows what that engine fed its layer, free of
the rounding of this computation: how far two sides' recurrences have come apart over the whole prompt in one figure.
Covers: the chunked form, so that a prompt of thousands of tokens takes a few dozen products.
Does not cover: the output of the rule, or the rounding inside an engine's own kernel, which its mixer's output shows.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

CHUNK = 64
EPS = 1e-6  # under the root of the key norm, as in every engine


def final_state(k: Tensor, v: Tensor, g: Tensor, beta: Tensor) -> Tensor:
    """k [T, key heads, Dk], v [T, value heads, Dv], g and beta [T, value heads] -> FP64 [value heads, Dk, Dv].

    k is L2-normalised here, each key head serves value heads / key heads neighbouring value heads, as in
    `kit.kernels.delta_rule`, where the recurrence is written down.
    """
    heads, padding = v.shape[1], -v.shape[0] % CHUNK
    keys, values, decay, rate = (_heads_first(x) for x in (k, v, g.unsqueeze(-1), beta.unsqueeze(-1)))
    keys = keys * torch.rsqrt((keys * keys).sum(dim=-1, keepdim=True) + EPS)
    keys = keys.repeat_interleave(heads // keys.shape[0], dim=0)
    # A token of zeros, with no decay and rate zero, leaves the state as it is.
    keys, values, decay, rate = (_chunked(x, padding) for x in (keys, values, decay, rate))
    decay = decay.squeeze(-1).cumsum(-1)  # [heads, chunks, 64]: from the chunk's start to each of its tokens
    weighted = keys * rate
    later = torch.ones(CHUNK, CHUNK, dtype=torch.bool, device=v.device).triu_(1)
    between = (decay.unsqueeze(-1) - decay.unsqueeze(-2)).masked_fill(later, float("-inf")).exp()
    system = (weighted @ keys.transpose(-1, -2)) * between
    fresh = torch.linalg.solve_triangular(system, values * rate, upper=False, unitriangular=True)
    stale = torch.linalg.solve_triangular(
        system, weighted * decay.exp().unsqueeze(-1), upper=False, unitriangular=True
    )
    end = decay[..., -1:]
    written = (keys * (end - decay).exp().unsqueeze(-1)).transpose(-1, -2)
    kept = end.exp().unsqueeze(-1)
    state = values.new_zeros(heads, keys.shape[-1], values.shape[-1])
    for chunk in range(values.shape[1]):
        state = state * kept[:, chunk] + written[:, chunk] @ (fresh[:, chunk] - stale[:, chunk] @ state)
    return state


def _heads_first(x: Tensor) -> Tensor:
    """[T, heads, D] -> FP64 [heads, T, D]."""
    return x.transpose(0, 1).double()


def _chunked(x: Tensor, padding: int) -> Tensor:
    """[heads, T, D] -> [heads, chunks, 64, D], zeros behind the last token."""
    return F.pad(x, (0, 0, 0, padding)).reshape(x.shape[0], -1, CHUNK, x.shape[-1])
