"""What a network answers on samples it is judged on: logits, accuracy by family and level, answers that flip.

Covers: logits of any number of questions in the buckets' shapes, without compiled programs or gradients; accuracy; the
share of choices whose answer changes with the order of its candidates. Does not cover: calibration, or which samples.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from kit.checkpoint.training.batch import Batch
from kit.checkpoint.training.encode import Encoded
from kit.checkpoint.training.judged import Pair
from kit.checkpoint.training.packing import pack
from kit.checkpoint.training.settings import Bucket, bucket_for
from kit.checkpoint.training.steps import label_logits

LABELS = 32
Prepared = Iterable[tuple[list[int], Batch]]  # (which questions, their batch)


def prepared(
    items: Sequence[Encoded], buckets: Sequence[Bucket], device: torch.device
) -> Iterator[tuple[list[int], Batch]]:
    """Every question once, in batches of the buckets' lengths. Raises ValueError for one that fits no bucket."""
    sorted_in: dict[Bucket, list[int]] = defaultdict(list)
    for index, item in enumerate(items):
        bucket = bucket_for(buckets, len(item.ids), item.patches)
        if bucket is None:
            raise ValueError(
                f"a question of {item.family} has {len(item.ids)} tokens and {item.patches} patches: no bucket takes it"
            )
        sorted_in[bucket].append(index)
    for bucket, indices in sorted_in.items():
        for start in range(0, len(indices), bucket.batch):
            chosen = indices[start : start + bucket.batch]
            yield chosen, Batch.of(pack([items[i] for i in chosen], bucket.tokens, bucket.patches), device)


@torch.no_grad()
def logits_of(network: Any, batches: Prepared, labels: Sequence[int]) -> NDArray[np.float64]:
    """[questions, 32], -inf where there is no candidate."""
    head = network.lm_head.weight
    places = torch.tensor(labels, device=head.device)
    found: list[tuple[list[int], torch.Tensor]] = []
    with torch.compiler.set_stance("force_eager"):
        for chosen, batch in batches:
            found.append((chosen, label_logits(network(batch), batch, head, places)))
    out = np.empty((sum(len(chosen) for chosen, _ in found), LABELS))
    for chosen, logits in found:
        out[chosen] = logits.double().cpu().numpy()
    return out


def hits(logits: NDArray[np.float64], items: Sequence[Encoded]) -> NDArray[np.bool_]:
    """Whether each question is answered right; the first maximum wins a tie."""
    right = np.array([item.right for item in items])
    answered: NDArray[np.bool_] = logits.argmax(1) == right
    return answered


def accuracy(logits: NDArray[np.float64], items: Sequence[Encoded]) -> dict[str, float]:
    """By family."""
    return {
        name: round(value, 4)
        for name, value in _means(hits(logits, items), [i.family for i in items]).items()
    }


def accuracy_by_level(logits: NDArray[np.float64], items: Sequence[Encoded]) -> dict[str, dict[str, float]]:
    """By family, then level."""
    table: dict[str, dict[str, float]] = defaultdict(dict)
    for name, value in _means(hits(logits, items), [f"{i.family}/{i.level}" for i in items]).items():
        family, level = name.split("/")
        table[family][level] = round(value, 4)
    return dict(table)


def accuracy_by_candidates(logits: NDArray[np.float64], items: Sequence[Encoded]) -> dict[str, float]:
    """By how many candidates there are: 2 to 4, 5 to 10, 11 to 15, 16 to 32."""
    spans = ((2, 4), (5, 10), (11, 15), (16, 32))
    names = [next(f"{low}-{high}" for low, high in spans if len(i.lines) <= high) for i in items]
    return {name: round(value, 4) for name, value in _means(hits(logits, items), names).items()}


def flips(
    network: Any, pairs: Sequence[Pair], buckets: Sequence[Bucket], labels: Sequence[int]
) -> dict[str, float | int | None]:
    """The share of choices whose chosen candidate is another one when they stand in another order; None of no choices."""
    first, second = (
        logits_of(network, prepared(items, buckets, network.lm_head.weight.device), labels).argmax(1)
        for items in ([pair.first for pair in pairs], [pair.second for pair in pairs])
    )
    moved = [pair.order[b] != a for pair, a, b in zip(pairs, first.tolist(), second.tolist(), strict=True)]
    return {"choices": len(pairs), "flipped": sum(moved), "rate": round(sum(moved) / len(moved), 4) if moved else None}


def _means(values: NDArray[np.bool_], names: Sequence[str]) -> dict[str, float]:
    gathered: dict[str, list[bool]] = defaultdict(list)
    for name, value in zip(names, values.tolist(), strict=True):
        gathered[name].append(value)
    return {name: sum(found) / len(found) for name, found in gathered.items()}
