"""What packed sources say of the checkpoint beyond its record: which files there must be, and which heads its scan has."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from kit.evidence.audit.autotune import compare_heads
from kit.evidence.audit.checkpoint import compare_static
from kit.evidence.audit.reading import Bundle
from kit.evidence.audit.rules import LEDGER
from kit.evidence.records import sha256_bytes

TEXT = {"linear_num_key_heads": 16, "linear_num_value_heads": 48, "linear_key_head_dim": 128, "linear_value_head_dim": 128}
CONFIG = json.dumps({"text_config": TEXT}).encode()
SOURCES = {
    "kit/checkpoint/tiny/base/config.json": b"{}",
    "kit/checkpoint/tiny/base/chat_template.jinja": b"{{ messages }}",
    "kit/checkpoint/tiny/base/tokenizer.json": b"{}",
    "kit/checkpoint/h200_27b/base/config.json": CONFIG,
}
NAMED = {
    "base/config.json": sha256_bytes(CONFIG), "base/chat_template.jinja": sha256_bytes(b"{{ messages }}"),
}  # fmt: skip
OpenBundle = Callable[..., Bundle]


@pytest.fixture
def open_bundle(on_gpu: Path) -> OpenBundle:
    """The made-up bundle of a device as an auditor reads it, with other packed sources and files of the checkpoint."""

    def opened(files: dict[str, str] = NAMED) -> Bundle:
        bundle = Bundle(str(on_gpu))
        bundle.sources = lambda: SOURCES  # type: ignore[method-assign]
        bundle.json("checkpoint.json").update(files=files)
        bundle.profile["checkpoint"].update(kind="synthetic")
        return bundle

    return opened


def test_files_and_heads_of_the_packed_recipe_are_no_problem(open_bundle: OpenBundle) -> None:
    bundle = open_bundle()
    compare_static(bundle, NAMED)
    compare_heads(bundle, bundle.json(LEDGER))
    assert not bundle.problems


def test_a_file_less_is_found(open_bundle: OpenBundle) -> None:
    bundle = open_bundle()
    compare_static(bundle, {"base/config.json": NAMED["base/config.json"]})
    expected = "checkpoint.json files: base/chat_template.jinja is not named, expected as in every generated checkpoint"
    assert [problem.partition(": ")[2] for problem in bundle.problems] == [expected]


def test_a_file_that_bears_the_name_of_a_trained_checkpoints_is_its_own(open_bundle: OpenBundle) -> None:
    sources = {**SOURCES, "kit/checkpoint/decider/base/model.safetensors.index.json": b"{}"}
    bundle = open_bundle()
    bundle.sources = lambda: sources  # type: ignore[method-assign]
    compare_static(bundle, {**NAMED, "base/model.safetensors.index.json": "7" * 64})
    assert not bundle.problems


def test_heads_of_another_model_are_found(open_bundle: OpenBundle) -> None:
    bundle = open_bundle()
    ledger = bundle.json(LEDGER)
    compare_heads(bundle, {**ledger, "heads": {**ledger["heads"], "value_heads": 32}})
    assert any("heads value_heads, from base/config.json: found 32, expected 48" in problem for problem in bundle.problems)


def test_without_a_packed_configuration_heads_are_held_to_the_winners_alone(open_bundle: OpenBundle) -> None:
    bundle = open_bundle({"base/config.json": "7" * 64})
    ledger = bundle.json(LEDGER)
    compare_heads(bundle, {**ledger, "heads": {**ledger["heads"], "key_heads": 9}})
    assert not any("base/config.json" in problem for problem in bundle.problems)
