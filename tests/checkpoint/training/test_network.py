"""The trainable network is the model of the checkpoint: against Transformers, and with its adapter against the kit's engine."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from kit.checkpoint.architecture import adapter_shapes, base_shapes
from kit.checkpoint.training import export
from kit.checkpoint.training.adapter import attach, round_base
from kit.checkpoint.training.batch import Batch
from kit.checkpoint.training.encode import Encoded
from kit.checkpoint.training.network import Decider
from kit.checkpoint.training.network_delta import unit_inverse
from kit.checkpoint.training.packing import pack
from tests.checkpoint.training import random_decider
from tests.checkpoint.training.random_decider import CONFIG, prompt

LABELS = torch.tensor([*range(32, 58), *range(15, 21)])
PROMPTS = {
    "text": prompt(50),
    "text that fills its row": prompt(447),
    "one image": prompt(31, [(16, 16)]),
    "two images": prompt(60, [(16, 20), (10, 26)]),
    "four images": prompt(90, [(16, 16), (14, 20), (8, 32), (18, 16)]),
}


@pytest.fixture(scope="module")
def network() -> Decider:
    return random_decider.network()


@pytest.fixture(scope="module")
def rows(network: Decider) -> dict[str, Tensor]:
    """FP32 rows of every prompt, computed as one padded batch."""
    batch = Batch.of(pack(list(PROMPTS.values()), 448, 1152))
    with torch.no_grad():
        return dict(zip(PROMPTS, network(batch), strict=True))


@pytest.fixture(scope="module")
def official(random_folder: Path) -> Any:
    """The exported base, as its users load it, widened to FP32."""
    import transformers

    transformers.logging.set_verbosity_error()
    model = transformers.Qwen3_5ForConditionalGeneration
    return model.from_pretrained(random_folder / "base", dtype=torch.float32).eval()


def official_rows(official: Any, sample: Encoded) -> tuple[Tensor, Tensor]:
    """Final-norm rows [T, hidden] and the last label logits [32] of one prompt."""
    ids = torch.tensor([sample.ids])
    extra: dict[str, Any] = {}
    if sample.pixels is not None:
        levels = (torch.from_numpy(sample.pixels).float() - 127.5) / 127.5
        patches = levels.view(-1, 3, 1, 256).expand(-1, -1, 2, -1).reshape(len(levels), -1)
        extra = {"pixel_values": patches, "image_grid_thw": torch.tensor(sample.grids)}
        extra["mm_token_type_ids"] = (ids == random_decider.PAD).int()
    with torch.no_grad():
        out = official(input_ids=ids, output_hidden_states=True, use_cache=False, **extra)
    return out.hidden_states[-1][0], out.logits[0, -1, LABELS]


def relative(found: Tensor, expected: Tensor) -> float:
    return float((found - expected).abs().max() / expected.abs().max())


def test_parameters_are_the_tensors_of_a_checkpoint(network: Decider) -> None:
    assert {name: tuple(t.shape) for name, t in network.state_dict().items()} == base_shapes(CONFIG)


def test_it_is_as_small_as_it_is_said_to_be(network: Decider) -> None:
    assert sum(parameter.numel() for parameter in network.parameters()) <= 8_000_000


@pytest.mark.parametrize("name", PROMPTS)
def test_rows_and_label_logits_are_transformers(
    name: str, rows: dict[str, Tensor], network: Decider, official: Any
) -> None:
    sample = PROMPTS[name]
    expected, logits = official_rows(official, sample)
    found = rows[name][: len(sample.ids)]
    assert relative(found, expected) < 1e-4
    with torch.no_grad():
        assert relative(found[-1] @ network.lm_head.weight[LABELS].T, logits) < 1e-4


def test_company_and_padding_do_not_reach_a_prompt(network: Decider, rows: dict[str, Tensor]) -> None:
    sample = PROMPTS["one image"]
    with torch.no_grad():
        alone = network(Batch.of(pack([sample], 128, 256)))[0]
    assert relative(alone[: len(sample.ids)], rows["one image"][: len(sample.ids)]) < 1e-4


def test_every_parameter_gets_a_finite_gradient() -> None:
    network = random_decider.network(dtype=torch.bfloat16)
    batch = Batch.of(pack([PROMPTS["text"], PROMPTS["two images"]], 256, 640))
    hidden = network(batch)[torch.arange(2), batch.answer].float()
    torch.nn.functional.cross_entropy(hidden @ network.lm_head.weight[LABELS].T, batch.right).backward()
    for name, parameter in network.named_parameters():
        assert parameter.grad is not None, name
        assert bool(parameter.grad.isfinite().all()), name
        assert bool(parameter.grad.any()), name


def test_bf16_is_near_fp32(rows: dict[str, Tensor]) -> None:
    network = random_decider.network(dtype=torch.bfloat16)
    with torch.no_grad():
        near = network(Batch.of(pack(list(PROMPTS.values()), 448, 1152)))
    assert near.dtype == torch.bfloat16
    for row, (name, sample) in zip(near, PROMPTS.items(), strict=True):
        last = len(sample.ids) - 1
        assert (row[last].float() - rows[name][last]).norm() < 0.05 * rows[name][last].norm(), name


def test_prompts_of_another_length_than_chunks_are_refused(network: Decider) -> None:
    with pytest.raises(ValueError, match="a multiple of 64"):
        network(Batch.of(pack([PROMPTS["text"]], 100)))


def test_inverse_by_doubling_blocks() -> None:
    """Accurate also where the system is so strong that a sum of its powers is not."""
    generator = torch.Generator().manual_seed(3)
    keys = torch.nn.functional.normalize(torch.randn(5, 1, 64, generator=generator), dim=-1)
    system = (0.98 * keys @ keys.transpose(-1, -2)).expand(5, 64, 64)  # every key the same: entries near one
    exact = (torch.eye(64, dtype=torch.float64) + system.double().tril(-1)).inverse()
    assert (unit_inverse(system) - exact).abs().max() < 1e-5


@pytest.fixture(scope="module")
def adapted() -> Any:
    """PEFT around the network, with the pairs that are exported."""
    import peft

    options = export.adapter_options()
    keys = ("r", "lora_alpha", "lora_dropout", "target_modules")
    network = random_decider.network(dtype=torch.bfloat16)
    model = peft.get_peft_model(network, peft.LoraConfig(**{key: options[key] for key in keys}))
    peft.set_peft_model_state_dict(model, random_decider.adapter())
    return model


def test_adapter_names_and_shapes_are_those_on_disk(adapted: Any) -> None:
    import peft

    state = peft.get_peft_model_state_dict(adapted)
    assert {name: tuple(t.shape) for name, t in state.items()} == adapter_shapes(CONFIG, 16)
    trained = [name for name, parameter in adapted.named_parameters() if parameter.requires_grad]
    assert len(trained) == len(state)


def test_the_native_engine_on_the_exported_folder_agrees(adapted: Any, random_folder: Path) -> None:
    """To BF16 accuracy, for text and for an image, and the adapter is felt in both."""
    from kit.engine.native import NativeEngine
    from kit.profile import load_profile, profile_from_dict

    folder = {"kind": "folder", "base": str(random_folder / "base"), "adapter": str(random_folder / "adapter")}
    engine = NativeEngine(profile_from_dict(load_profile("params/cpu-tiny.toml").resolved() | {"checkpoint": folder}))
    for body in (request(), request(image=True)):
        prepared = engine.prepare(body)
        item = prepared.questions[0]
        pixels = None
        if prepared.pixels is not None:
            frames = prepared.pixels.view(-1, 3, 2, 256)[:, :, 0] * 127.5 + 127.5
            pixels = frames.round().to(torch.uint8).flatten(1).numpy()
        sample = Encoded(
            family="", level=0, question="", ids=list(item.input_ids), right=0, answer=len(item.input_ids) - 1,
            lines=[0], pixels=pixels, grids=prepared.grids,
        )  # fmt: skip
        batch = Batch.of(pack([sample], 256, 256))
        with torch.no_grad():
            hidden = adapted(batch)[0, sample.answer].float()
            with adapted.disable_adapter():
                bare = adapted(batch)[0, sample.answer].float()
        answered = engine.decide(prepared).questions[0]
        row = torch.frombuffer(bytearray(answered.hidden), dtype=torch.bfloat16).float()
        assert (row - hidden).norm() < 0.05 * row.norm()
        assert (row - bare).norm() > 0.2 * row.norm()


class TestPrograms:
    """Compiling takes minutes on a GPU, so few programs have to serve all layers and buckets."""

    @staticmethod
    def programs(network: Decider, monkeypatch: pytest.MonkeyPatch) -> int:
        """How many are made for two buckets of as many tokens, counted without making machine code."""
        from torch._dynamo.utils import counters

        monkeypatch.setattr(torch, "compile", partial(torch.compile, backend="eager"))
        network.compile_layers()
        counters.clear()
        for samples, tokens in (([prompt(50), prompt(100)], 128), ([prompt(200)], 256)):
            network(Batch.of(pack(samples, tokens))).float().sum().backward()
        assert not counters["graph_break"]
        return int(counters["stats"]["unique_graphs"])

    @pytest.fixture(autouse=True)
    def fresh(self) -> Iterator[None]:
        torch.compiler.reset()
        yield
        torch.compiler.reset()

    def test_four_for_the_base(self, monkeypatch: pytest.MonkeyPatch) -> None:
        assert self.programs(random_decider.network(dtype=torch.bfloat16), monkeypatch) == 4

    def test_four_for_an_adapter_on_a_frozen_base(self, monkeypatch: pytest.MonkeyPatch) -> None:
        network = random_decider.network(dtype=torch.bfloat16)
        round_base(network, export.adapter_options()["target_modules"])
        attach(network, export.adapter_options())
        assert self.programs(network, monkeypatch) == 4


def request(image: bool = False) -> bytes:
    """A choice of three, with or without a 256x256 picture of a gradient."""
    import base64
    import io

    from PIL import Image

    question = {"type": "choice", "instructions": "What next?", "criteria": {"a": "Wait", "b": "Pay", "c": "Close"}}
    body: dict[str, Any] = {"state": {"order": 4417}, "questions": {"next": question}}
    if image:
        buffer = io.BytesIO()
        Image.linear_gradient("L").convert("RGB").save(buffer, "PNG")
        body["images"] = [base64.b64encode(buffer.getvalue()).decode()]
    return json.dumps(body).encode()
