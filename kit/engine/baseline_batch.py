"""The reference on a batch of prompts, captured as it is called and replayed: for measuring it under batches quickly.

Covers: `CapturedBatches`, whose `forward` takes what `ReferenceEngine.forward` takes and gives what that gives. Masks
and positions are made by Transformers' own functions outside the recording, as making them reads the device; the
model is handed both. Does not cover: which batches are run (`kit.campaign.floor.forms`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from kit.engine.base import Grid
from kit.engine.baseline import CapturedReference

KINDS = ("full_attention", "linear_attention")  # of layers, as Transformers names them


class CapturedBatches(CapturedReference):
    """One recording a shape (rows, tokens, which masks there are); the vision tower has its own, by grids."""

    def forward(self, inputs: Mapping[str, Tensor], grids: tuple[Grid, ...]) -> tuple[Tensor, Tensor]:
        """(logits of the last position [batch, vocabulary], final-norm rows [batch, hidden]), overwritten by the next.

        inputs: on the device; grids: of all its images, a row's after the other's. Raises CaptureError.
        """
        with torch.inference_mode():
            ids = inputs["input_ids"]
            embeddings = self._embedded(inputs, grids)
            positions = self._positions(inputs, embeddings)
            masks = self._masks(inputs["attention_mask"], embeddings)
            names = list(masks)

            def whole(embeddings: Tensor, positions: Tensor, *given: Tensor) -> Tensor:
                mapping = dict.fromkeys(KINDS) | dict(zip(names, given, strict=True))
                batch: dict[str, Any] = {"inputs_embeds": embeddings, "position_ids": positions, "attention_mask": mapping}
                logits, rows = self._engine.forward(batch)
                return torch.cat((rows, logits), dim=1)

            key = (*ids.shape, *names)
            outcome = self._replayed(("batch", key), (embeddings, positions, *masks.values()), whole)
        width = embeddings.shape[-1]
        return outcome[:, width:], outcome[:, :width]

    def _embedded(self, inputs: Mapping[str, Tensor], grids: tuple[Grid, ...]) -> Tensor:
        """[batch, T, H], image rows in place."""
        ids = inputs["input_ids"]
        embeddings = F.embedding(ids, self._engine.model.get_base_model().get_input_embeddings().weight)
        if grids:
            model = self._engine.model.get_base_model().model
            features = self.features(inputs["pixel_values"].to(model.visual.dtype), grids)
            places = (ids == self._engine.preparer.tokenizer.image_token_id).unsqueeze(-1)
            embeddings = embeddings.masked_scatter(places, features)
        return embeddings

    def _positions(self, inputs: Mapping[str, Tensor], embeddings: Tensor) -> Tensor:
        """int64 [3, batch, T]: the model's own for images, one after the other for text, as the model counts it."""
        ids = inputs["input_ids"]
        found: Tensor | None = self._engine.model.get_base_model().model.compute_3d_position_ids(
            input_ids=ids,
            inputs_embeds=embeddings,
            image_grid_thw=inputs.get("image_grid_thw"),
            attention_mask=inputs["attention_mask"],
            mm_token_type_ids=inputs.get("mm_token_type_ids"),
        )
        if found is None:
            return torch.arange(ids.shape[1], device=ids.device).expand(3, len(ids), -1)
        return found

    def _masks(self, attended: Tensor, embeddings: Tensor) -> dict[str, Tensor]:
        """Kind of layer -> its mask, where it needs one."""
        from transformers import masking_utils

        given: dict[str, Any] = {
            "config": self._engine.model.get_base_model().config.text_config,
            "inputs_embeds": embeddings,
            "attention_mask": attended,
            "past_key_values": None,
            "position_ids": None,
        }
        made = (masking_utils.create_causal_mask(**given), masking_utils.create_recurrent_attention_mask(**given))
        return {kind: mask for kind, mask in zip(KINDS, made, strict=True) if mask is not None}
