"""The changes a floor is measured under, and how the reference's inputs look in those that are a batch.

Covers: the names of the forms, row 0 of a batch of two, and row 0 of a batch whose other prompt is longer, so that
it is padded on the left and its padding masked. Does not cover: running them (`asking`), or whether they are harmless
(`proof`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor

PADDING = 7  # tokens the other prompt is longer by, as in the oracle's form
WHAT = {
    "row0": "row 0 of a batch of two copies",
    "padded": f"row 0 of a batch whose other prompt is {PADDING} tokens longer: left padding, masked",
    "instructions": "another CPU instruction set",
    "draw": "another draw of the autotuner",
}
# A form that must be shown, and one that is shown only where its proof holds.
OPTIONAL = ("padded",)


def doubled(inputs: dict[str, Tensor]) -> dict[str, Tensor]:
    """Inputs of one prompt as a batch of two copies."""
    import torch

    return {name: torch.cat([value, value]) for name, value in inputs.items()}


def padded(inputs: dict[str, Tensor]) -> dict[str, Tensor]:
    """A batch of two: the prompt behind masked padding, and the same with its first tokens in front once more."""
    import torch

    ids = inputs["input_ids"]
    front = ids[:, :PADDING]
    batch = doubled(inputs) | {"input_ids": torch.cat([torch.cat([front, ids], dim=1)] * 2)}
    mask = torch.ones_like(batch["input_ids"])
    mask[0, :PADDING] = 0
    batch["attention_mask"] = mask
    if "mm_token_type_ids" in inputs:
        types = inputs["mm_token_type_ids"]
        batch["mm_token_type_ids"] = torch.cat([torch.cat([types.new_zeros(1, PADDING), types], dim=1)] * 2)
    return batch
