"""What a model would be given, told without weights."""

import base64
import hashlib
import io
import json

import numpy as np
import pytest
from PIL import Image

from kit.engine.preview import describe_prepared, preparer_without_weights
from kit.profile import load_profile


def png(width, height):
    buffer = io.BytesIO()
    Image.new("RGB", (width, height), (20, 90, 200)).save(buffer, "PNG")
    return base64.b64encode(buffer.getvalue()).decode()


def body(**more):
    questions = {"ok": {"type": "noul", "instructions": "Is it on?"}, "how": {"type": "score", "criteria": ["a", "b"]}}
    return json.dumps({"state": "A lamp.", "questions": questions, **more}).encode()


@pytest.fixture(scope="module")
def preparer():
    return preparer_without_weights(load_profile("params/cpu-tiny.toml"))


def test_a_text_request_has_equal_axes_and_no_pixels(preparer):
    for line in describe_prepared(preparer.prepare(body())):
        assert line["positions"] == [list(range(len(line["input_ids"])))] * 3
        assert (line["image_grid_thw"], line["pixels_sha256"]) == ([], None)
        assert line["label_ids"] == [32, 33]


def test_an_image_request_shows_grid_and_digest_of_its_pixels(preparer):
    prepared = preparer.prepare(body(images=[png(256, 256), png(320, 64)]))
    lines = list(describe_prepared(prepared))
    digest = hashlib.sha256(prepared.pixels.numpy().astype("<f4").tobytes()).hexdigest()
    assert {line["pixels_sha256"] for line in lines} == {digest}
    assert [np.prod(grid) for grid in lines[0]["image_grid_thw"]] == [256, len(prepared.pixels) - 256]
    assert lines[0]["prompt"].count("<|image_pad|>") == 2


def test_the_real_model_is_prepared_with_the_packages_vocabulary():
    preparer = preparer_without_weights(load_profile("params/jemm-27b.toml"))
    assert "qwen" in preparer.tokenizer.source
    assert preparer.prepare(body()).input_tokens > 100
