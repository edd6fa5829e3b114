"""Other ways to run the official model, to measure against: captured as it is, merged, compiled.

Covers: one small interface (`ModelForm`: label logits of every question of a prepared request, and image features
alone) over the reference as it is called, over the same calls captured and replayed, and over a native engine;
and the two changes that make the rest of the family, `merge` (PEFT's own, in the model's dtype, for good) and
`compiled_layers` (Inductor, a decoder layer at a time, for a while). Merged and compiled forms round differently
from the reference: they show what speed costs in drift and qualify as nothing else.
Does not cover: serving, or the second tokenisation by which the reference checks the kit's prompts.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import torch
import torch.nn.functional as F
from torch import Tensor

from kit.engine.base import Event, QuestionResult
from kit.engine.capture import Backend, Recording, choose
from kit.engine.captured import same_bits
from kit.engine.graph_cache import CaptureError
from kit.engine.hidden_rows import row_bytes
from kit.kernels.proof import capturing

if TYPE_CHECKING:
    from kit.engine.base import Grid, Prepared, PreparedQuestion
    from kit.engine.native import NativeEngine
    from kit.engine.reference import ReferenceEngine

Logits = tuple[tuple[float, ...], ...]  # one tuple a question, in the order of its candidates


class ModelForm(Protocol):
    """One form of the model, ready to run prepared requests."""

    @property
    def pool_bytes(self) -> int:
        """Memory its recordings hold, 0 without any."""
        ...

    def run(self, prepared: Prepared) -> Logits:
        """Label logits of every question, on the host."""
        ...

    def features(self, pixels: Tensor, grids: tuple[Grid, ...]) -> Tensor:
        """pixels [N, 1536] on the device, in the model's dtype -> image features [N / 4, H]."""
        ...

    def close(self) -> None:
        """Free recordings; the model stays."""
        ...


class NativeForm:
    """A native engine, eager or graph, deciding as it does in service."""

    def __init__(self, engine: NativeEngine) -> None:
        self.engine = engine

    @property
    def pool_bytes(self) -> int:
        return sum(cache["bytes"] for cache in self.engine.counters().values())  # its shared part is in it

    def run(self, prepared: Prepared) -> Logits:
        return tuple(result.logits for result in self.engine.decide(prepared).questions)

    def features(self, pixels: Tensor, grids: tuple[Grid, ...]) -> Tensor:
        with torch.inference_mode():
            return self.engine.run_vision(grids, pixels, self.engine.vision_tables(grids))[0]

    def close(self) -> None:
        """The engine's owner closes it."""


class ReferenceCalls:
    """The reference as its engine calls it: the whole model for every question, vision included."""

    pool_bytes = 0

    def __init__(self, engine: ReferenceEngine) -> None:
        self._engine = engine

    def run(self, prepared: Prepared) -> Logits:
        with torch.inference_mode():
            images = _images(prepared, self._engine.device)
            return tuple(self._question(item, images) for item in prepared.questions)

    def _question(self, item: PreparedQuestion, images: dict[str, Tensor]) -> tuple[float, ...]:
        device = self._engine.device
        ids = torch.tensor([item.input_ids], device=device)
        inputs = {"input_ids": ids, "attention_mask": torch.ones_like(ids), **images}
        if images:
            inputs["mm_token_type_ids"] = (ids == self._engine.preparer.tokenizer.image_token_id).int()
        return _labels(self._engine.forward(inputs)[0][0], item, device)

    def features(self, pixels: Tensor, grids: tuple[Grid, ...]) -> Tensor:
        with torch.inference_mode():
            grid = torch.tensor(grids, device=pixels.device)
            result: Tensor = _visual(self._engine)(pixels, grid_thw=grid).pooler_output
            return result

    def close(self) -> None:
        """Nothing is held."""


@dataclass(frozen=True)
class _Captured:
    """A recording and the buffers it reads."""

    recording: Recording
    buffers: tuple[Tensor, ...]

    def replay(self, *fresh: Tensor) -> Tensor:
        for buffer, values in zip(self.buffers, fresh, strict=True):
            buffer.copy_(values)
        return self.recording.replay()


class CapturedReference:
    """The reference's forwards captured as they are, one recording a shape, and replayed.

    Positions are passed and an attention mask is not: a single prompt without padding needs none, and
    `masks_as_called` keeps Transformers from making one only because it is being recorded. With images the model is captured in
    its two halves: the vision tower, given the tables it would have made from the grids on the host, once a
    request, and the language model behind the embeddings, once a question.
    """

    def __init__(self, engine: ReferenceEngine, backend: Backend | None = None, *, rows: bool = False) -> None:
        """rows: record the final-norm row of each question too, which `results` hands out."""
        self._engine = engine
        self._backend = backend or choose(engine.device)
        self._width = engine.model.get_base_model().config.text_config.hidden_size if rows else 0
        self._found: dict[tuple[str, object], _Captured] = {}

    @property
    def pool_bytes(self) -> int:
        """Bytes of all recordings."""
        return sum(item.recording.bytes + item.recording.pool_bytes for item in self._found.values())

    def run(self, prepared: Prepared) -> Logits:
        with torch.inference_mode():
            return tuple(
                _labels(outcome[self._width :], item, self._engine.device)
                for item, outcome in self._outcomes(prepared)
            )

    def results(self, prepared: Prepared) -> tuple[QuestionResult, ...]:
        """What the reference's own `decide` finds, final-norm rows included. Needs `rows`."""
        with torch.inference_mode():
            return tuple(
                QuestionResult(
                    item.question.id,
                    _labels(outcome[self._width :], item, self._engine.device),
                    row_bytes(outcome[: self._width]),
                    len(item.input_ids),
                    Event(),
                )
                for item, outcome in self._outcomes(prepared)
            )

    def _outcomes(self, prepared: Prepared) -> Iterator[tuple[PreparedQuestion, Tensor]]:
        """Each question and what its replay left, to be read before the next is asked for."""
        features = None
        if prepared.pixels is not None:
            pixels = prepared.pixels.to(self._engine.device, non_blocking=True).to(_visual(self._engine).dtype)
            # Several questions read them, and their recording's memory is the next replay's.
            features = self.features(pixels, prepared.grids).clone()
        for item in prepared.questions:
            yield item, self._question(item, features)

    def _question(self, item: PreparedQuestion, features: Tensor | None) -> Tensor:
        """The final-norm row, where it is recorded, and the whole vocabulary's logits behind it."""
        device = self._engine.device
        ids = torch.tensor([item.input_ids], device=device)
        if features is None:
            positions = torch.arange(ids.shape[1], device=device).expand(3, 1, -1)
            return self._replayed(("text", ids.shape[1]), (ids, positions), self._text)
        positions = torch.tensor(item.positions, device=device).unsqueeze(1)
        inputs = (self._embed(item, ids, features), positions)
        return self._replayed(("multimodal", ids.shape[1]), inputs, self._multimodal)

    def _text(self, ids: Tensor, positions: Tensor) -> Tensor:
        return self._kept(*self._engine.forward({"input_ids": ids, "position_ids": positions}))

    def _multimodal(self, embeddings: Tensor, positions: Tensor) -> Tensor:
        return self._kept(*self._engine.forward({"inputs_embeds": embeddings, "position_ids": positions}))

    def _kept(self, logits: Tensor, rows: Tensor) -> Tensor:
        return torch.cat((rows[0], logits[0])) if self._width else logits[0]

    def _embed(self, item: PreparedQuestion, ids: Tensor, features: Tensor) -> Tensor:
        embeddings = F.embedding(ids, self._engine.model.get_base_model().get_input_embeddings().weight)
        pad = self._engine.preparer.tokenizer.image_token_id
        places = [index for index, token in enumerate(item.input_ids) if token == pad]
        embeddings[0].index_copy_(0, torch.tensor(places, device=ids.device), features)
        return embeddings

    def features(self, pixels: Tensor, grids: tuple[Grid, ...]) -> Tensor:
        with torch.inference_mode():
            visual = _visual(self._engine)
            tables = _vision_tables(visual, grids, pixels.device) if ("vision", grids) not in self._found else {}

            def tower(pixels: Tensor) -> Tensor:
                result: Tensor = visual(pixels, **tables).pooler_output
                return result

            return self._replayed(("vision", grids), (pixels,), tower)

    def _replayed(
        self, key: tuple[str, object], inputs: tuple[Tensor, ...], forward: Callable[..., Tensor]
    ) -> Tensor:
        """The forward's result, by replay; recorded first where `key` is new. Raises CaptureError."""
        if key not in self._found:
            buffers = tuple(tensor.clone() for tensor in inputs)
            eager = self._backend.run(lambda: forward(*buffers)).clone()
            with masks_as_called():
                captured = _Captured(self._backend.record(lambda: forward(*buffers), key[0]), buffers)
            if not same_bits(captured.replay(*inputs), eager):
                captured.recording.close()
                raise CaptureError(f"{key[0]}: the first replay differs from the eager result")
            self._found[key] = captured
        return self._found[key].replay(*inputs)

    def close(self) -> None:
        for item in self._found.values():
            item.recording.close()
        self._found.clear()
        self._backend.close()


@contextmanager
def masks_as_called() -> Iterator[None]:
    """While inside, Transformers decides which masks a forward needs as it does in a call.

    While a CUDA stream is capturing, Transformers takes the forward for one that is traced: `is_tracing` says so, and
    a causal mask that a call leaves to attention's own `is_causal` is made all the same. The layers would then be
    recorded with a mask that the call before had not, so by other kernels than a call takes; and compiled layers,
    whose guards know the call without a mask, would be compiled anew inside the capture, which no capture survives.
    Nothing is read from the device for deciding as in a call: without an attention mask the shapes alone decide, and
    positions of three rows are not looked through for packed prompts. On the CPU the recorder refuses such a read.
    """
    from transformers import masking_utils

    asked = masking_utils.is_tracing
    masking_utils.is_tracing = lambda tensor=None: False
    try:
        yield
    finally:
        masking_utils.is_tracing = asked


def merge(engine: ReferenceEngine) -> None:
    """Merge the adapter into the base weights, in their dtype, as PEFT does; nothing brings the old bits back."""
    with torch.inference_mode():
        engine.model.merge_adapter()


class CompileTimeoutError(RuntimeError):
    """Compiling the layers took longer than allowed."""


@contextmanager
def compiled_layers(engine: ReferenceEngine, seconds: float) -> Iterator[None]:
    """Every decoder layer compiled by Inductor while the context lasts, one shape at a time.

    Raises CompileTimeoutError from a forward that begins a layer more than `seconds` after the context: layers
    of a kind should share their code, and where they do not, compiling all of them would take very long.
    """
    layers = engine.model.get_base_model().model.language_model.layers
    deadline = time.monotonic() + seconds

    def in_time(forward: Callable[..., Tensor]) -> Callable[..., Tensor]:
        def call(*args: Any, **kwargs: Any) -> Tensor:
            if time.monotonic() > deadline and not capturing():
                raise CompileTimeoutError(f"compiling the decoder layers took more than {seconds:.0f} s")
            return forward(*args, **kwargs)

        return call

    dynamo: Any = torch._dynamo
    try:
        # A kind of layer is one code object for all layers of it; the limit is on shapes and kinds together.
        with dynamo.config.patch(recompile_limit=32):
            for layer in layers:
                layer.forward = in_time(torch.compile(layer.forward, dynamic=False))
            yield
    finally:
        for layer in layers:
            layer.__dict__.pop("forward", None)
        dynamo.reset()


def _images(prepared: Prepared, device: torch.device) -> dict[str, Tensor]:
    if prepared.pixels is None:
        return {}
    return {
        "pixel_values": prepared.pixels.to(device, non_blocking=True),
        "image_grid_thw": torch.tensor(prepared.grids, device=device),
    }


def _visual(engine: ReferenceEngine) -> Any:
    return engine.model.get_base_model().model.visual


def _labels(logits: Tensor, item: PreparedQuestion, device: torch.device) -> tuple[float, ...]:
    chosen = logits.index_select(0, torch.tensor(item.label_ids, device=device))
    return tuple(chosen.float().tolist())


def _vision_tables(visual: Any, grids: tuple[Grid, ...], device: torch.device) -> dict[str, Any]:
    """What the tower computes from the grid list, by its own functions; boundaries stay on the host, where
    attention reads them."""
    from transformers import vision_utils

    grid = torch.tensor(grids, device=device)
    taps, weights = vision_utils.get_vision_interpolation_indices_and_weights(
        grid,
        num_grid_per_side=visual.num_grid_per_side,
        mode=visual.interpolation_mode,
        align_corners=visual.interpolation_align_corners,
        spatial_merge_size=visual.config.spatial_merge_size,
    )
    return {
        "grid_thw": grid,
        "interp_indices": taps,
        "interp_weights": weights,
        "position_ids": vision_utils.get_vision_position_ids(grid, visual.spatial_merge_size),
        "cu_seqlens": vision_utils.get_vision_cu_seqlens(torch.tensor(grids)),
    }
