"""A native engine built over a loaded reference: no copy, the same bits."""

from __future__ import annotations

import pytest

from kit.engine import reference
from kit.engine.native import NativeEngine
from kit.engine.reference import ReferenceEngine
from kit.engine.shared_weights import checkpoint_name, shared_stores
from kit.profile import Profile
from tests.engine.requests import images, text


def test_names_are_those_of_the_files() -> None:
    module = "base_model.model.model.language_model.layers.0.mlp.gate_proj"
    assert checkpoint_name(f"{module}.base_layer.weight") == "model.language_model.layers.0.mlp.gate_proj.weight"
    assert checkpoint_name(f"{module}.lora_A.default.weight") == f"{module}.lora_A.weight"
    assert checkpoint_name("base_model.model.lm_head.weight") == "lm_head.weight"


def test_every_tensor_is_the_reference_s_own(profile: Profile, official: ReferenceEngine) -> None:
    engine = NativeEngine(profile, shared=shared_stores(official.model))
    theirs = {parameter.data_ptr() for parameter in official.model.parameters()}
    layer = engine.language.layers[0]
    assert layer.mlp.gate.down is not None
    for tensor in (engine.language.embedding, layer.mlp.gate.weight, layer.mlp.gate.down, engine.vision.positions):
        assert tensor.data_ptr() in theirs
    assert not engine.language.embedding.requires_grad


def test_it_answers_bit_for_bit_as_the_reference(profile: Profile, official: ReferenceEngine) -> None:
    engine = NativeEngine(profile, shared=shared_stores(official.model))
    for body in (text(40), images((256, 256), (100, 77))):
        ours, theirs = engine.decide(engine.prepare(body)), official.decide(official.prepare(body))
        assert ours.questions == theirs.questions


def test_a_merged_or_bare_model_is_refused(profile: Profile) -> None:
    engine = reference.load(profile)
    engine.model.merge_adapter()
    with pytest.raises(ValueError, match="merged"):
        shared_stores(engine.model)
    engine.model.unmerge_adapter()
    engine.model.delete_adapter("default")
    with pytest.raises(ValueError, match="expected one LoRA adapter named 'default'"):
        shared_stores(engine.model)
