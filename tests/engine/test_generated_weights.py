"""Engines loaded from a recipe hold, bit for bit, what they hold when they read the files the recipe wrote."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest
import torch

from kit import checkpoint
from kit.checkpoint import synthetic
from kit.checkpoint.generated import GeneratedStore
from kit.engine import native, reference
from kit.engine.reference_model import ReferenceError, load_official
from kit.profile import Profile
from tests.engine.requests import BODIES

CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def sum_of_the_files(profile: Profile) -> str:
    return str(native.load(profile).describe()["weights_sum"])


@pytest.fixture
def from_recipe(profile: Profile, monkeypatch: pytest.MonkeyPatch) -> Profile:
    """The same profile, its tensors made instead of read."""
    files = checkpoint.locate(profile)
    files = dataclasses.replace(files, plan=synthetic.plan("cpu-tiny", profile.checkpoint.seed))
    monkeypatch.setattr(checkpoint, "locate", lambda _: files)
    return profile


def tensors_of(model: Any) -> dict[str, torch.Tensor]:
    return dict(model.named_parameters()) | dict(model.named_buffers())


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float64])
def test_every_tensor_of_the_official_model(profile: Profile, dtype: torch.dtype) -> None:
    """Parameters and the buffers no file carries: same names, dtypes, flags and bits."""
    files = checkpoint.locate(profile)
    made = load_official(dataclasses.replace(files, plan=synthetic.plan("cpu-tiny", 21)), dtype, CPU)
    read = load_official(files, dtype, CPU)
    assert made.keys == read.keys
    assert made.warnings == read.warnings == []
    assert made.weights_sum == read.weights_sum
    a, b = tensors_of(made.model), tensors_of(read.model)
    assert list(a) == list(b)
    assert any("inv_freq" in name for name in a)
    for name in a:
        assert a[name].dtype == b[name].dtype, name
        assert a[name].requires_grad == b[name].requires_grad, name
        assert torch.equal(a[name], b[name]), name
    assert not any(module.training for module in made.model.modules())


def test_both_engines_answer_alike_and_hold_what_is_in_the_files(
    sum_of_the_files: str, from_recipe: Profile
) -> None:
    answers, sums = [], {sum_of_the_files}
    for load in (native.load, reference.load):
        engine: Any = load(from_recipe)
        sums.add(engine.describe()["weights_sum"])
        answers.append([engine.decide(engine.prepare(body)).questions for _, body in BODIES])
        engine.close()
    assert answers[0] == answers[1]
    assert len(sums) == 1


def test_a_tied_head_is_the_embedding_in_both_engines(
    profile: Profile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the 4B layout has it: no tensor of its own in the recipe, one copy in memory, the same bits on both sides."""
    plan = synthetic.plan("cpu-tiny", 4)
    config = plan.config | {"tie_word_embeddings": True}
    config["text_config"] = config["text_config"] | {"tie_word_embeddings": True}
    recipe = dataclasses.replace(plan.recipe, anchor="\n\n", anchor_std=0.1, label_echo=1.0)
    plan = dataclasses.replace(plan, config=config, recipe=recipe)
    synthetic.copy_static(recipe, tmp_path)
    (tmp_path / "base" / "config.json").write_text(json.dumps(config))
    files = dataclasses.replace(
        checkpoint.locate(profile), base=tmp_path / "base", adapter=tmp_path / "adapter", plan=plan
    )
    monkeypatch.setattr(checkpoint, "locate", lambda _: files)
    ours, official = native.load(profile), reference.load(profile)
    model = official.model.get_base_model()
    assert model.lm_head.weight is model.model.language_model.embed_tokens.weight
    assert ours.describe()["weights_sum"] == official.describe()["weights_sum"]
    for _, body in BODIES:
        assert ours.decide(ours.prepare(body)).questions == official.decide(official.prepare(body)).questions


@pytest.mark.parametrize(
    ("part", "name", "problem"),
    [
        ("base", "model.language_model.layers.1.linear_attn.dt_bias", r"base_missing.*dt_bias"),
        ("adapter", "base_model.model.model.language_model.layers.0.mlp.down_proj.lora_A.weight", r"adapter_missing.*down_proj"),
    ],
)
def test_a_recipe_without_a_tensor_is_refused(
    from_recipe: Profile, part: str, name: str, problem: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    complete = GeneratedStore.names
    monkeypatch.setattr(GeneratedStore, "names", lambda self: [n for n in complete(self) if n != name])
    with pytest.raises(ReferenceError, match=problem):
        load_official(checkpoint.locate(from_recipe), torch.bfloat16, CPU)


def test_a_weight_that_differs_shows_in_the_sum(
    sum_of_the_files: str, from_recipe: Profile, monkeypatch: pytest.MonkeyPatch
) -> None:
    make = GeneratedStore.tensor

    def one_bit(self: GeneratedStore, name: str) -> torch.Tensor:
        tensor = make(self, name)
        if name.endswith("layers.2.linear_attn.A_log"):
            tensor.view(torch.int16)[1] ^= 1
        return tensor

    monkeypatch.setattr(GeneratedStore, "tensor", one_bit)
    assert native.load(from_recipe).describe()["weights_sum"] != sum_of_the_files
