"""Native against reference on cpu-tiny: the same hidden rows and label logits, bit for bit."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from kit.contract.answer import AnswerError
from kit.engine import native, reference
from kit.engine.base import Decision
from kit.engine.native import NativeEngine
from kit.engine.reference import ReferenceEngine
from kit.engine.reference_model import ReferenceError
from kit.engine.transfer import Prompt
from kit.profile import Profile
from tests.engine.requests import BODIES, images, text


@pytest.fixture(scope="module")
def ours(profile: Profile) -> Iterator[NativeEngine]:
    engine = native.load(profile)
    yield engine
    engine.close()


def assert_equal(a: Decision, b: Decision) -> None:
    assert a.answers == b.answers
    assert a.input_tokens == b.input_tokens
    for left, right in zip(a.questions, b.questions, strict=True):
        assert left == right  # id, float32 logits, hidden bytes, tokens, event


@pytest.mark.parametrize("body", [body for _, body in BODIES], ids=[name for name, _ in BODIES])
def test_hidden_rows_and_label_logits_are_equal_bit_for_bit(
    ours: NativeEngine, official: ReferenceEngine, body: bytes
) -> None:
    assert_equal(ours.decide(ours.prepare(body)), official.decide(official.prepare(body)))


@pytest.mark.parametrize("tokens", [1, 2, 3, 63, 64, 65, 128, 129, 300, 2282])
def test_any_length_at_the_seam(ours: NativeEngine, official: ReferenceEngine, tokens: int) -> None:
    """Prompts cannot be this short, forwards can."""
    ids = torch.randint(0, 4000, (tokens,), generator=torch.Generator().manual_seed(tokens))
    with torch.inference_mode():
        embeddings = ours.embed(Prompt(ids), None)
        cos, sin = ours.rotary.tables(torch.arange(tokens).expand(3, -1))
        row, event = ours.run_language("text", embeddings, cos, sin)
        output = official.model(input_ids=ids[None], use_cache=False, logits_to_keep=1)
        assert official._hidden is not None
        width = ours.config.text.hidden_size
        assert torch.equal(row[:width], official._hidden[0])
        labels = torch.tensor(ours.preparer.tokenizer.label_ids)
        assert torch.equal(row[width:], output.logits[0, -1, labels])
    assert event.action == "eager"


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_other_dtypes_agree_too(profile: Profile, dtype: Any) -> None:
    changed = dataclasses.replace(profile, runtime=dataclasses.replace(profile.runtime, dtype=dtype))
    first, second = native.load(changed), reference.load(changed)
    for body in (text(20), images((64, 64))):
        assert_equal(first.decide(first.prepare(body)), second.decide(second.prepare(body)))


def test_repeats_and_order_do_not_matter(ours: NativeEngine) -> None:
    """Image, text, image in one process: nothing is left behind by a request."""
    first = ours.decide(ours.prepare(images((256, 256))))
    ours.decide(ours.prepare(text(5)))
    assert_equal(first, ours.decide(ours.prepare(images((256, 256)))))


def test_an_image_moves_the_answer(ours: NativeEngine) -> None:
    one, other = (ours.decide(ours.prepare(images(size))) for size in ((256, 256), (256, 250)))
    assert one.questions[0].hidden != other.questions[0].hidden
    assert one.vision is not None
    assert one.timings_ms.keys() == {"vision", "language", "total"}


def test_images_use_their_own_temperature(ours: NativeEngine) -> None:
    decision = ours.decide(ours.prepare(images((64, 64))))
    ratio = decision.answers["angry"]["probabilities"]
    logits = decision.questions[2].logits
    expected = 1 / (1 + math.exp((logits[1] - logits[0]) / ours.calibration.mm_temperature))
    assert ratio["yes"] == pytest.approx(expected, abs=1e-12)


def test_non_finite_logits_are_an_execution_failure(profile: Profile) -> None:
    engine = native.load(profile)
    engine.language.norm = torch.full_like(engine.language.norm, torch.nan)
    with pytest.raises(AnswerError, match="not finite"):
        engine.decide(engine.prepare(text(1)))


class TestNativeDescription:
    def test_it_names_functions_rows_and_adapter(self, ours: NativeEngine) -> None:
        facts = json.loads(json.dumps(ours.describe()))
        assert facts["backend"] == "eager"
        assert facts["ops"]["delta_rule"] == "kit.kernels.delta_rule.delta_rule"
        assert facts["label_head"]["rows"] == 32
        assert facts["adapter"] == {
            "merged": False,
            "dtype": "float32",
            "tensors": 62,
            "rank": 16,
            "scale": 2.0,
        }
        assert facts["converted_tensors"] == {}
        assert ours.counters() == {}

    def test_weights_are_mapped_not_copied(self, ours: NativeEngine) -> None:
        """Every large tensor lies inside a mapping of a safetensors file."""
        maps = Path("/proc/self/maps")
        if not maps.exists():
            pytest.skip("no /proc/self/maps on this system: mappings cannot be listed")
        lines = [line for line in maps.read_text().splitlines() if ".safetensors" in line]
        spans = [tuple(int(end, 16) for end in line.split()[0].split("-")) for line in lines]
        layer = ours.language.layers[0]
        assert layer.mlp.gate.down is not None
        tensors = (ours.language.embedding, layer.mlp.gate.weight, layer.mlp.gate.down, ours.vision.positions)
        for tensor in tensors:
            assert any(start <= tensor.data_ptr() < end for start, end in spans)


class TestReferenceDescription:
    def test_it_reports_what_really_runs(self, official: ReferenceEngine) -> None:
        facts = json.loads(json.dumps(official.describe()))
        model_file = "transformers.models.qwen3_5.modeling_qwen3_5"
        assert (
            facts["functions"]["torch_chunk_gated_delta_rule"] == f"{model_file}.torch_chunk_gated_delta_rule"
        )
        assert facts["functions"]["causal_conv1d_fn"] == f"{model_file}.causal_conv1d_fn"
        assert facts["attention"] == {"text": "sdpa", "vision": "sdpa"}
        assert facts["adapter"]["merged"] is False
        assert facts["adapter"]["dtypes"] == {"float32": 62}
        assert facts["adapter"]["scales"] == [2.0]
        assert set(facts["base_dtypes"]) == {"bfloat16"}
        assert not any(facts["keys"].values())
        assert facts["versions"]["transformers"]

    def test_a_merged_adapter_is_refused(self, profile: Profile) -> None:
        engine = reference.load(profile)
        engine.model.merge_adapter()
        with pytest.raises(ReferenceError, match="31 of 31 adapted layers are merged"):
            engine.describe()

    def test_another_prompt_than_the_kits_is_an_execution_failure(self, official: ReferenceEngine) -> None:
        prepared = official.prepare(text(2))
        changed = dataclasses.replace(prepared.questions[0], prompt=prepared.questions[0].prompt + "!")
        with pytest.raises(ReferenceError, match="the kit's prompt differ"):
            official.decide(dataclasses.replace(prepared, questions=(changed,)))
        changed = dataclasses.replace(prepared.questions[0], input_ids=prepared.questions[0].input_ids[:-1])
        with pytest.raises(ReferenceError, match="the kit's token ids differ"):
            official.decide(dataclasses.replace(prepared, questions=(changed,)))
