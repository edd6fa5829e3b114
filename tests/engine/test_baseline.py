"""Baselines on cpu-tiny: captured as it is the reference keeps its bits; merged it does not, and says how far."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import pytest
import torch
from torch import Tensor

from kit.campaign.floor import forms
from kit.engine import baseline, reference
from kit.engine.baseline import (
    CapturedReference,
    CompileTimeoutError,
    Logits,
    NativeForm,
    ReferenceCalls,
    compiled_layers,
    masks_as_called,
    merge,
)
from kit.engine.baseline_batch import CapturedBatches
from kit.engine.capture import Backend, Recording, choose
from kit.engine.graph import GraphEngine
from kit.engine.native import NativeEngine
from kit.engine.reference import ReferenceEngine
from kit.engine.shared_weights import shared_stores
from kit.profile import Profile
from tests.engine.requests import BODIES, images, text


def logits_of(engine: ReferenceEngine, body: bytes) -> Logits:
    return tuple(question.logits for question in engine.decide(engine.prepare(body)).questions)


@pytest.mark.parametrize("body", [body for _, body in BODIES], ids=[name for name, _ in BODIES])
def test_called_with_prepared_ids_it_is_the_reference(official: ReferenceEngine, body: bytes) -> None:
    assert ReferenceCalls(official).run(official.prepare(body)) == logits_of(official, body)


def test_captured_it_keeps_every_bit_also_in_replays_of_other_inputs(official: ReferenceEngine) -> None:
    captured = CapturedReference(official)
    bodies = [text(30), images((256, 256)), text(29), images((256, 256), (100, 77)), text(30)]
    for _ in range(2):
        for body in bodies:
            assert captured.run(official.prepare(body)) == logits_of(official, body)
    assert captured.pool_bytes > 0
    captured.close()
    assert captured.pool_bytes == 0


def test_captured_with_rows_it_gives_the_hidden_rows_of_the_reference_too(official: ReferenceEngine) -> None:
    captured = CapturedReference(official, rows=True)
    for body in (text(30), images((256, 256)), text(30), images((256, 256))):
        prepared = official.prepare(body)
        expected = official.decide(prepared).questions
        assert captured.results(prepared) == expected
        assert captured.run(prepared) == tuple(result.logits for result in expected)
    captured.close()


def test_native_engines_take_part_in_the_same_form(profile: Profile, official: ReferenceEngine) -> None:
    shared = shared_stores(official.model)
    eager, graph = NativeForm(NativeEngine(profile, shared=shared)), NativeForm(GraphEngine(profile, shared=shared))
    prepared = official.prepare(images((256, 256)))
    expected = ReferenceCalls(official).run(prepared)
    assert eager.run(prepared) == graph.run(prepared) == graph.run(prepared) == expected
    assert eager.pool_bytes == 0
    assert graph.pool_bytes > 0
    assert prepared.pixels is not None
    pixels = prepared.pixels.to(torch.bfloat16)
    assert torch.equal(graph.features(pixels, prepared.grids), eager.features(pixels, prepared.grids))


def test_features_of_both_forms_are_those_of_the_tower(official: ReferenceEngine) -> None:
    prepared = official.prepare(images((256, 256), (100, 77)))
    assert prepared.pixels is not None
    pixels = prepared.pixels.to(torch.bfloat16)
    eager = ReferenceCalls(official).features(pixels, prepared.grids)
    captured = CapturedReference(official)
    for _ in range(2):
        assert torch.equal(captured.features(pixels, prepared.grids), eager)


def test_captured_it_keeps_no_row_of_a_recording(official: ReferenceEngine) -> None:
    """The reference's hook would hold memory of the recording's pool."""
    captured = CapturedReference(official)
    captured.run(official.prepare(text(30)))
    assert official._hidden is None
    captured.close()


def test_merging_changes_answers_a_little_and_the_weights_for_good(profile: Profile) -> None:
    engine = reference.load(profile)
    prepared = engine.prepare(text(50))
    before, weights = ReferenceCalls(engine).run(prepared), engine.model.get_base_model().lm_head.weight.data_ptr()
    layer = engine.model.get_base_model().model.language_model.layers[0].mlp.gate_proj.base_layer.weight
    place, values = layer.data_ptr(), layer.clone()
    merge(engine)
    after = ReferenceCalls(engine).run(prepared)
    assert after != before
    assert max(abs(a - b) for x, y in zip(before, after, strict=True) for a, b in zip(x, y, strict=True)) < 1
    assert layer.data_ptr() == place
    assert not torch.equal(layer, values)
    assert CapturedReference(engine).run(prepared) == after
    assert weights == engine.model.get_base_model().lm_head.weight.data_ptr()


def test_compiling_that_takes_too_long_is_given_up_and_undone(official: ReferenceEngine) -> None:
    prepared = official.prepare(text(5))
    expected = ReferenceCalls(official).run(prepared)
    with compiled_layers(official, seconds=-1.0), pytest.raises(CompileTimeoutError, match="took more than"):
        ReferenceCalls(official).run(prepared)
    assert ReferenceCalls(official).run(prepared) == expected


# ---------------------------------------------------------------- what the layers get while a stream is capturing

Masks = list[tuple[int, ...] | None]  # shape of the attention mask that each call of a decoder layer got


@contextmanager
def masks_of_layers(engine: ReferenceEngine) -> Iterator[Masks]:
    found: Masks = []

    def note(layer: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        mask = kwargs["attention_mask"]
        found.append(None if mask is None else tuple(mask.shape))

    layers = engine.model.get_base_model().model.language_model.layers
    handles = [layer.register_forward_pre_hook(note, with_kwargs=True) for layer in layers]
    yield found
    for handle in handles:
        handle.remove()


@pytest.fixture
def capturing(monkeypatch: pytest.MonkeyPatch) -> Backend:
    """The CPU's backend, while whose recordings Transformers believes that a CUDA stream is capturing."""
    from transformers.utils import import_utils

    backend = choose(torch.device("cpu"))
    record = backend.record

    def recorded(forward: Callable[[], Tensor], group: str) -> Recording:
        with monkeypatch.context() as patch:
            patch.setattr(import_utils, "is_cuda_stream_capturing", lambda: True)
            return record(forward, group)

    monkeypatch.setattr(backend, "record", recorded)
    return backend


@pytest.mark.parametrize("body", [text(30), images((256, 256))], ids=["text", "image"])
def test_recorded_the_layers_get_no_mask_as_in_a_call(official: ReferenceEngine, capturing: Backend, body: bytes) -> None:
    """Compiled layers would be compiled anew inside the capture otherwise."""
    prepared, captured = official.prepare(body), CapturedReference(official, capturing)
    with masks_of_layers(official) as masks:
        assert captured.run(prepared) == logits_of(official, body)
    assert set(masks) == {None}
    captured.close()


def test_left_to_itself_transformers_makes_a_mask_while_recording(
    official: ReferenceEngine, capturing: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Why `masks_as_called` is there: without this, it can go."""
    monkeypatch.setattr(baseline, "masks_as_called", nullcontext)
    captured = CapturedReference(official, capturing)
    prepared = official.prepare(text(30))
    tokens = len(prepared.questions[0].input_ids)
    with masks_of_layers(official) as masks:
        captured.run(prepared)
    assert (1, 1, tokens, tokens) in masks
    captured.close()


@pytest.mark.parametrize("change", [forms.doubled, forms.padded], ids=["row0", "padded"])
def test_a_batch_is_recorded_with_the_masks_it_was_run_with(
    official: ReferenceEngine, capturing: Backend, change: Callable[[dict[str, Tensor]], dict[str, Tensor]]
) -> None:
    prepared, captured = official.prepare(images((256, 256))), CapturedBatches(official, capturing)
    with torch.inference_mode(), masks_of_layers(official) as masks:
        captured.forward(change(official.inputs(prepared, prepared.questions[0])), prepared.grids * 2)
    half = len(masks) // 2
    assert masks[:half] == masks[half:]
    assert any(masks) == (change is forms.padded)
    captured.close()


def test_transformers_asks_for_itself_again_afterwards() -> None:
    from transformers import masking_utils

    before = masking_utils.is_tracing
    with masks_as_called():
        assert masking_utils.is_tracing is not before
    assert masking_utils.is_tracing is before
