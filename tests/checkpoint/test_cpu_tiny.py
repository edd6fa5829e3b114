"""What cpu-tiny is: complete, alive in every tensor, and sensitive to what it is asked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch

from kit.checkpoint import CheckpointFiles
from kit.checkpoint.synthetic import plan
from kit.profile import Profile
from tests.checkpoint import published
from tests.checkpoint.published import Loaded

PLAN = plan("cpu-tiny", 21)


@pytest.fixture(scope="module")
def loaded(profile: Profile, files: CheckpointFiles) -> Loaded:
    return published.load(profile, files)


@pytest.fixture(scope="module")
def prepare(profile: Profile, files: CheckpointFiles) -> Any:
    return published.preparer(profile, files).prepare


@pytest.fixture(scope="module")
def intact(loaded: Loaded, prepare: Any) -> tuple[torch.Tensor, torch.Tensor]:
    """Row and label logits of the image request, before anything is changed."""
    return loaded.run(prepare(published.body(images=1)))


def parameter_of(name: str, parameters: dict[str, torch.Tensor]) -> torch.Tensor:
    """The live parameter of a tensor on disk."""
    if name.startswith("base_model."):
        return parameters[name.replace(".lora_A.", ".lora_A.default.").replace(".lora_B.", ".lora_B.default.")]
    full = "base_model.model." + name
    return parameters.get(full, parameters.get(full.replace(".weight", ".base_layer.weight")))  # type: ignore[return-value]


def test_loads_without_a_missing_or_unexpected_key(loaded: Loaded) -> None:
    assert not any(loaded.keys.values())


def test_every_parameter_has_the_bits_of_its_recipe(loaded: Loaded) -> None:
    parameters = dict(loaded.model.named_parameters())
    names = PLAN.shapes()
    assert len(names) == len(parameters)
    for name in names:
        live, made = parameter_of(name, parameters), PLAN.tensor(name)
        assert live.dtype == made.dtype, name
        assert torch.equal(live, made), name


def test_no_tensor_is_constant() -> None:
    for name in PLAN.shapes():
        tensor = PLAN.tensor(name).float()
        assert tensor.unique().numel() > min(3, tensor.numel() - 1), name


def test_shape_of_the_architecture(loaded: Loaded) -> None:
    text = loaded.model.config.text_config
    assert text.layer_types == ["linear_attention"] * 3 + ["full_attention"]
    assert text.linear_num_key_heads != text.linear_num_value_heads
    assert text.rope_parameters["mrope_interleaved"]
    assert text.rope_parameters["partial_rotary_factor"] == 0.25
    assert not text.tie_word_embeddings
    assert {m.scaling["default"] for m in loaded.model.modules() if hasattr(m, "lora_A")} == {2.0}


@pytest.fixture
def changed(loaded: Loaded, request: pytest.FixtureRequest) -> Iterator[str]:
    """One tensor with its values in reverse order, for the time of a test."""
    live = parameter_of(request.param, dict(loaded.model.named_parameters()))
    original = live.detach().clone()
    with torch.no_grad():
        live.copy_(original.flatten().flip(0).view_as(original))
    yield request.param
    with torch.no_grad():
        live.copy_(original)


@pytest.mark.parametrize("changed", list(PLAN.shapes()), indirect=True)
def test_every_tensor_reaches_the_answer(
    changed: str, intact: tuple[torch.Tensor, torch.Tensor], loaded: Loaded, prepare: Any
) -> None:
    """Reversing any tensor, base or adapter, moves the final row of an image request (the head: the logits)."""
    row, logits = intact
    new_row, new_logits = loaded.run(prepare(published.body(images=1)))
    if changed == "lm_head.weight":
        assert not torch.equal(new_logits, logits)
    else:
        assert not torch.equal(new_row, row)


def test_adapter_moves_the_logits(loaded: Loaded, prepare: Any) -> None:
    request = prepare(published.body())
    _, logits = loaded.run(request)
    with loaded.model.disable_adapter():
        _, without = loaded.run(request)
    assert (logits - without).abs().max() > 0.25


def test_input_moves_the_row_more_than_rounding_does(loaded: Loaded, prepare: Any) -> None:
    """Two words swapped, another number, another screen: each is at least a percent of the final row."""
    text, _ = loaded.run(prepare(published.body()))
    swapped, _ = loaded.run(prepare(published.body(note="customer asks for the payment second back")))
    number, _ = loaded.run(prepare(published.body(order=4418)))
    image, _ = loaded.run(prepare(published.body(images=1)))
    other, _ = loaded.run(prepare(published.body(images=1, seed=3)))
    for a, b in ((text, swapped), (text, number), (image, other)):
        assert (a.float() - b.float()).norm() / a.float().norm() > 0.01
