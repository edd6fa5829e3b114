"""Gated delta rule over a whole prompt, in chunks of 64 tokens.

Per head, with state S [Dk, Dv] and S = 0 before the first token:

    S <- exp(g_t) S;  S <- S + k_t beta_t (v_t - S^T k_t)^T;  o_t = S^T q_t / sqrt(Dk)

The chunked form solves one unit lower triangular system a chunk, (I + A) u = beta v, with
A_ij = beta_i (k_i . k_j) exp(G_i - G_j) for j < i and G the running sum of g, so that only the chunk-to-chunk
step is sequential (Yang et al., "Parallelizing Linear Transformers with the Delta Rule", 2024).
Everything is FP32 and in the order in which Transformers' torch form works, so results are equal bit for bit;
FLA's kernels, which the reference runs on CUDA, round elsewhere: `from_package` returns those.
Does not cover: an initial state, a final state, several sequences in one batch.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

CHUNK = 64
DeltaRule = Callable[[Tensor, Tensor, Tensor, Tensor, Tensor], Tensor]


def delta_rule(q: Tensor, k: Tensor, v: Tensor, g: Tensor, beta: Tensor) -> Tensor:
    """q, k [T, key heads, Dk], v [T, value heads, Dv], g (FP32), beta [T, value heads] -> [T, value heads, Dv].

    q and k are L2-normalised here; each key head serves value heads / key heads neighbouring value heads.
    The result is contiguous and has the dtype of q.
    """
    dtype = q.dtype
    tokens, value_heads, _ = v.shape
    group = value_heads // k.shape[1]
    padding = -tokens % CHUNK
    q = _l2_normalised(_heads_first(q, group)) * q.shape[-1] ** -0.5
    q, k, wide_v = (
        _chunked(x, padding) for x in (q, _l2_normalised(_heads_first(k, group)), _heads_first(v, 1))
    )
    rate = _chunked(_heads_first(beta.unsqueeze(-1), 1), padding)
    decay = F.pad(g.t().float(), (0, padding)).reshape(value_heads, -1, CHUNK).cumsum(-1)

    # Inside a chunk: everything that does not need the state.
    grown = decay.exp().unsqueeze(-1)
    above = torch.ones(CHUNK, CHUNK, dtype=torch.bool, device=q.device).triu_(1)
    pairwise = (decay.unsqueeze(3) - decay.unsqueeze(2)).masked_fill_(above, float("-inf")).exp_()
    k_rate = k * rate
    k_across = k.transpose(-1, -2)
    system = (k_rate @ k_across).mul_(pairwise)
    within = (q @ k_across).mul_(pairwise)
    values = torch.linalg.solve_triangular(system, wide_v * rate, upper=False, unitriangular=True)
    keys = torch.linalg.solve_triangular(system, k_rate * grown, upper=False, unitriangular=True)
    out = _scan(q * grown, k, values, keys, within, decay)
    rows = out.flatten(1, 2)[:, :tokens].transpose(0, 1)
    return rows.to(dtype, memory_format=torch.contiguous_format).contiguous()


def _scan(q: Tensor, k: Tensor, values: Tensor, keys: Tensor, within: Tensor, decay: Tensor) -> Tensor:
    """The sequential part. All [heads, chunks, 64, ...]; returns [heads, chunks, 64, Dv] in FP32."""
    heads, chunks, _, width = values.shape
    last = decay[..., -1:]
    written = (k * (last - decay).exp_().unsqueeze(-1)).transpose(-1, -2)
    kept = last.exp().unsqueeze(-1)
    state = values.new_zeros(heads, k.shape[-1], width)
    out = torch.empty_like(values)
    for i in range(chunks):
        fresh = values[:, i] - keys[:, i] @ state
        torch.add(q[:, i] @ state, within[:, i] @ fresh, out=out[:, i])
        if i + 1 < chunks:
            state = state * kept[:, i] + written[:, i] @ fresh
    return out


def _heads_first(x: Tensor, group: int) -> Tensor:
    """[T, heads, D] -> FP32 [heads * group, T, D], each head repeated `group` times in a row."""
    wide = x.transpose(0, 1).to(torch.float32, memory_format=torch.contiguous_format)
    return wide.repeat_interleave(group, dim=0) if group > 1 else wide


def _l2_normalised(x: Tensor) -> Tensor:
    return x * torch.rsqrt((x * x).sum(dim=-1, keepdim=True) + 1e-6)


def _chunked(x: Tensor, padding: int) -> Tensor:
    """[heads, T, D] -> [heads, chunks, 64, D], zeros behind the last token."""
    padded = F.pad(x, (0, 0, 0, padding)) if padding else x
    return padded.reshape(x.shape[0], -1, CHUNK, x.shape[-1])


def from_package() -> DeltaRule | None:
    """The op through FLA's chunk kernel, called as the reference calls it; None where FLA is not installed."""
    try:
        function: Any = importlib.import_module("fla.ops.gated_delta_rule").chunk_gated_delta_rule
    except (ImportError, AttributeError):
        return None

    def packaged_delta_rule(q: Tensor, k: Tensor, v: Tensor, g: Tensor, beta: Tensor) -> Tensor:
        q, k, v, g, beta = (x.unsqueeze(0) for x in (q, k, v, g, beta))
        group = v.shape[2] // k.shape[2]
        if group > 1:
            q, k = q.repeat_interleave(group, dim=2), k.repeat_interleave(group, dim=2)
        out: Tensor = function(
            q,
            k,
            v,
            g=g,
            beta=beta,
            initial_state=None,
            output_final_state=False,
            use_qk_l2norm_in_kernel=True,
        )[0]
        return out.squeeze(0)

    packaged_delta_rule.runs = function  # type: ignore[attr-defined]
    return packaged_delta_rule
