"""The oracle is Transformers' model in real numbers: equal to its own code in FP64, whatever form a prompt runs in."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from kit import checkpoint
from kit.checkpoint import CheckpointFiles, synthetic
from kit.contract.answer import Calibration
from kit.contract.prompt import Question
from kit.engine import oracle as oracles
from kit.engine import oracle_language, oracle_walk, reference
from kit.engine.base import Prepared, PreparedQuestion
from kit.engine.oracle import Oracle, OracleError, OracleResult, load_oracle
from kit.engine.oracle_delta import by_token, in_chunks
from kit.engine.oracle_walk import Form, Prompt, Walk
from kit.engine.oracle_weights import Float64Weights
from kit.model.config import load_config
from kit.model.pixels import patches
from kit.profile import Profile
from tests.engine.requests import BODIES, images, text
from tests.engine.wide_reference import widen
from tests.model import small_checkpoint

EQUAL = 1e-9  # what is asked; what is found is about 1e-14
SHORT = (text(3), images((256, 256)))
FEW = (0, 1, 2, 5)  # of the bodies, for what needs no long prompt: three texts and two images


@pytest.fixture(scope="module")
def oracle(profile: Profile) -> Oracle:
    return load_oracle(profile)


@pytest.fixture(scope="module")
def requests(oracle: Oracle) -> list[Prepared]:
    """Of all bodies, made before anything is widened: the processor's pixels are float32."""
    return [oracle.prepare(body) for _, body in BODIES]


@pytest.fixture(scope="module")
def truths(oracle: Oracle, requests: list[Prepared]) -> list[tuple[OracleResult, ...]]:
    """Of all bodies, in one walk."""
    return oracle.decide_all(requests)


def wide_rows(profile: Profile, requests: list[Prepared]) -> Iterator[tuple[torch.Tensor, tuple[float, ...]]]:
    """Row and label logits of every question, by the official model loaded as float64."""
    wide = dataclasses.replace(profile, runtime=dataclasses.replace(profile.runtime, dtype="float64"))
    engine = reference.load(wide)
    engine._processor = None  # where it can be built, it would make its pixels anew, and under a widening in FP64
    for prepared in requests:
        for result in engine.decide(prepared).questions:
            yield torch.frombuffer(bytearray(result.hidden), dtype=torch.float64), result.logits
    engine.close()


def distance(a: torch.Tensor, b: torch.Tensor) -> float:
    return float((a - b).norm() / b.norm())


class TestAgainstTransformers:
    def test_rows_and_logits_equal_the_official_code_in_fp64(
        self,
        profile: Profile,
        requests: list[Prepared],
        truths: list[tuple[OracleResult, ...]],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        """Empty and long text, one to four images, adapter unmerged there and added to the weights here."""
        widen(monkeypatch)
        mine = [result for results in truths for result in results]
        for truth, (row, logits) in zip(mine, wide_rows(profile, requests), strict=True):
            assert distance(row, truth.hidden) < EQUAL
            assert max(abs(a - b) for a, b in zip(logits, truth.logits, strict=True)) < EQUAL

    def test_widening_changes_arithmetic_only(
        self, profile: Profile, requests: list[Prepared], truths: list[tuple[OracleResult, ...]]
    ) -> None:
        """The official model in float64 as published is off by its FP32 steps, and by no more."""
        mine = [result for i in FEW for result in truths[i]]
        theirs = wide_rows(profile, [requests[i] for i in FEW])
        found = [distance(row, truth.hidden) for truth, (row, _) in zip(mine, theirs, strict=True)]
        assert EQUAL < max(found) < 1e-5

    @pytest.mark.parametrize("tied", [False, True])
    def test_another_architecture_of_the_family(
        self, tmp_path: Path, tied: bool, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Attention first, one key head, other widths, some layers unadapted; A_log and a norm kept in FP32."""
        base, adapter = small_checkpoint.write(tmp_path, tied=tied, wide_gates=True, targets="q_proj in_proj_a down_proj")
        ids = torch.randint(0, 490, (131,), generator=torch.Generator().manual_seed(3)).tolist()
        widen(monkeypatch)
        row, logits = official_row(base, adapter, ids)
        mine, own = walk(base, adapter, tuple(ids))
        assert distance(mine, row) < EQUAL
        assert torch.allclose(own, logits[list(LABELS)], rtol=0, atol=EQUAL)


LABELS = tuple(range(40, 72))
QUESTION = Question("q", "noul", "", ())


def official_row(base: Path, adapter: Path, ids: list[int]) -> tuple[torch.Tensor, torch.Tensor]:
    """(last row after the final norm, logits over the vocabulary) of Transformers and PEFT in float64."""
    from peft import PeftModel
    from transformers import Qwen3_5ForConditionalGeneration

    loaded: Any = Qwen3_5ForConditionalGeneration.from_pretrained(base, dtype=torch.float64, attn_implementation="sdpa")
    model: Any = PeftModel.from_pretrained(loaded, adapter).eval()
    rows: list[torch.Tensor] = []
    norm = model.get_base_model().model.language_model.norm
    norm.register_forward_hook(lambda module, inputs, output: rows.append(output[0, -1]))
    with torch.no_grad():
        logits = model(input_ids=torch.tensor([ids]), use_cache=False, logits_to_keep=1).logits[0, -1]
    return rows[0], logits


def walk(base: Path, adapter: Path, ids: tuple[int, ...]) -> tuple[torch.Tensor, torch.Tensor]:
    files = CheckpointFiles(base, adapter, "", Calibration(1.0, 1.0), "test")
    config = load_config(base)
    at = tuple(range(len(ids)))
    item = PreparedQuestion(QUESTION, "", ids, LABELS, (at, at, at))
    weights = Float64Weights(files, config, torch.device("cpu"))
    with torch.no_grad():
        rows, logits = Walk(weights, config, torch.device("cpu"), LABELS, [Prompt(0, item)]).run([], "alone")
    return rows[0], logits[0]


class TestForms:
    @pytest.mark.parametrize("form", ["alone", "row0", "padded"])
    def test_a_batch_and_padding_are_harmless(
        self, oracle: Oracle, requests: list[Prepared], truths: list[tuple[OracleResult, ...]], form: Form
    ) -> None:
        found = oracle.decide_all([requests[i] for i in FEW], form)
        for mine, others in zip((truths[i] for i in FEW), found, strict=True):
            for a, b in zip(mine, others, strict=True):
                assert distance(b.hidden, a.hidden) < 1e-12

    @pytest.mark.parametrize("form", ["stacked", "row0", "padded"])
    def test_forms_really_run_another_shape(
        self, oracle: Oracle, monkeypatch: pytest.MonkeyPatch, form: Form
    ) -> None:
        """Else the proof above would compare a thing with itself."""
        shapes: list[tuple[int, ...]] = []
        real = oracle_walk.layer

        def spy(weights: Any, config: Any, kind: str, x: torch.Tensor, layout: Any) -> Any:
            shapes.append(tuple(x.shape[:2]))
            return real(weights, config, kind, x, layout)

        monkeypatch.setattr(oracle_walk, "layer", spy)
        prepared = oracle.prepare(text(3))
        one = dataclasses.replace(prepared, questions=prepared.questions[:1])
        tokens = len(one.questions[0].input_ids)
        oracle.decide_all([one, one], form)
        expected = {"stacked": (2, tokens), "row0": (2, tokens), "padded": (1, tokens + 7)}[form]
        assert set(shapes) == {expected}

    def test_company_that_leaked_would_show(
        self, oracle: Oracle, monkeypatch: pytest.MonkeyPatch, truths: list[tuple[OracleResult, ...]]
    ) -> None:
        real = oracle_walk.layer

        def leaky(weights: Any, config: Any, kind: str, x: torch.Tensor, layout: Any) -> Any:
            return real(weights, config, kind, x + 1e-9 * x.roll(1, 0), layout)

        monkeypatch.setattr(oracle_walk, "layer", leaky)
        (found,) = oracle.decide_all([oracle.prepare(BODIES[1][1])], "row0")
        assert distance(found[0].hidden, truths[1][0].hidden) > 1e-10

    def test_padding_that_is_not_masked_would_show(
        self, oracle: Oracle, monkeypatch: pytest.MonkeyPatch, truths: list[tuple[OracleResult, ...]]
    ) -> None:
        real = oracle_walk.Layout
        monkeypatch.setattr(oracle_walk, "Layout", lambda cos, sin, padding: real(cos, sin, 0))
        (found,) = oracle.decide_all([oracle.prepare(BODIES[1][1])], "padded")
        assert distance(found[0].hidden, truths[1][0].hidden) > 1e-3


class TestMany:
    def test_results_do_not_depend_on_the_portions_that_fit(
        self, oracle: Oracle, truths: list[tuple[OracleResult, ...]], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(oracles, "HELD", {"cpu": 1})
        monkeypatch.setattr(oracle_walk, "ROWS", 1)
        found = oracle.decide_all([oracle.prepare(body) for _, body in BODIES[:5]])
        for mine, others in zip(truths[:5], found, strict=True):
            assert [item.question_id for item in others] == [item.question_id for item in mine]
            assert all(distance(b.hidden, a.hidden) < 1e-12 for a, b in zip(mine, others, strict=True))

    def test_attention_may_take_one_query_at_a_time(
        self, oracle: Oracle, truths: list[tuple[OracleResult, ...]], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Scores of a long prompt do not fit at once; in blocks they are the same, in both directions of sight."""
        monkeypatch.setattr(oracle_language, "SCORES", 1)
        found = oracle.decide_all([oracle.prepare(BODIES[i][1]) for i in (1, 4)])
        for mine, i in zip(found, (1, 4), strict=True):
            assert all(distance(a.hidden, b.hidden) < 1e-12 for a, b in zip(mine, truths[i], strict=True))

    def test_every_layer_is_read_once(self, oracle: Oracle, monkeypatch: pytest.MonkeyPatch) -> None:
        read: list[str] = []
        real = oracle.weights.group
        monkeypatch.setattr(oracle.weights, "group", lambda prefix: read.append(prefix) or real(prefix))
        oracle.decide_all([oracle.prepare(body) for body in SHORT])
        layers = [name for name in read if ".layers." in name]
        assert layers == [f"model.language_model.layers.{i}" for i in range(4)]
        assert len(read) == len(set(read))

    def test_nothing_to_decide_is_nothing(self, oracle: Oracle) -> None:
        assert oracle.decide_all([]) == []


class TestStages:
    def one(self, oracle: Oracle, body: bytes) -> Prepared:
        prepared = oracle.prepare(body)
        return dataclasses.replace(prepared, questions=prepared.questions[:1])

    def test_a_tap_hears_every_stage_in_walking_order(self, oracle: Oracle) -> None:
        prepared = self.one(oracle, images((64, 64)))
        heard: list[tuple[str, tuple[int, ...]]] = []
        oracle.decide_all([prepared], tap=lambda name, value: heard.append((name, tuple(value.shape))))
        tokens, patches_seen = len(prepared.questions[0].input_ids), prepared.grids[0][1] * prepared.grids[0][2]
        blocks = [f"vision.block.{i:02}{part}" for i in range(2) for part in (".attention", ".mlp", "")]
        layers = [f"layer.{i:02}{part}" for i in range(4) for part in (".mixer", ".mlp", "", *([".state"] if i < 3 else []))]
        names = ["vision.patches", "vision.positions", *blocks, "vision.merger", "embedding", *layers, "hidden", "logits"]
        assert [name for name, _ in heard] == names
        shapes = dict(heard)
        assert shapes["vision.block.01.mlp"] == (patches_seen, 96)
        assert shapes["vision.merger"] == (patches_seen // 4, 256)
        assert shapes["layer.02.mixer"] == shapes["layer.03"] == shapes["embedding"] == (tokens, 256)
        assert shapes["layer.00.state"] == (4, 32, 32)
        assert shapes["hidden"] == (256,)
        assert shapes["logits"] == (3,)

    def test_kept_stages_are_those_of_each_prompt(self, oracle: Oracle) -> None:
        several = [self.one(oracle, body) for body in (text(3), images((64, 64)), text(9))]
        found = [results[0] for results in oracle.decide_all(several, stages=True)]
        assert "vision.merger" in found[1].stages
        assert "vision.merger" not in found[0].stages
        for prepared, result in zip(several, found, strict=True):
            assert result.stages["layer.03"].shape[0] == len(prepared.questions[0].input_ids)
            assert torch.equal(result.stages["hidden"], result.hidden)
            assert result.stages["logits"].tolist() == list(result.logits)

    @pytest.mark.parametrize("form", ["row0", "padded"])
    def test_stages_of_a_form_are_the_prompts_own(self, oracle: Oracle, form: Form) -> None:
        prepared = self.one(oracle, text(3))
        ((plain,),), ((other,),) = (oracle.decide_all([prepared], shape, stages=True) for shape in ("alone", form))
        for name, value in plain.stages.items():
            assert torch.allclose(other.stages[name], value, rtol=1e-9, atol=1e-12), name

    def test_a_tap_follows_one_question(self, oracle: Oracle) -> None:
        with pytest.raises(OracleError, match="one request with one question"):
            oracle.decide_all([oracle.prepare(text(1))], tap=lambda name, value: None)


class TestDeltaRule:
    @pytest.mark.parametrize("tokens", [1, 2, 63, 64, 65, 200])
    def test_chunks_are_the_definition(self, tokens: int) -> None:
        random = torch.Generator().manual_seed(tokens)
        q, k = (torch.randn(2, tokens, 2, 8, dtype=torch.float64, generator=random) for _ in range(2))
        v = torch.randn(2, tokens, 4, 12, dtype=torch.float64, generator=random)
        g = -torch.rand(2, tokens, 4, dtype=torch.float64, generator=random)
        beta = torch.rand(2, tokens, 4, dtype=torch.float64, generator=random)
        for mine, defined in zip(in_chunks(q, k, v, g, beta), by_token(q, k, v, g, beta), strict=True):
            assert torch.allclose(mine, defined, rtol=0, atol=1e-13)

    def test_a_decay_to_nothing_stays_finite(self) -> None:
        """exp(G_i - G_j) above the diagonal would overflow; it is never taken."""
        shape = (1, 130, 1)
        q = k = v = torch.ones(*shape, 4, dtype=torch.float64)
        g, beta = torch.full(shape, -90.0, dtype=torch.float64), torch.full(shape, 0.5, dtype=torch.float64)
        out, state = in_chunks(q, k, v, g, beta)
        assert bool(torch.isfinite(out).all())
        assert torch.allclose(state, by_token(q, k, v, g, beta)[1])


def test_generated_tensors_give_the_truth_of_the_files(
    profile: Profile, truths: list[tuple[OracleResult, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A checkpoint that exists only as a recipe is walked through without ever being held whole."""
    files = dataclasses.replace(checkpoint.locate(profile), plan=synthetic.plan("cpu-tiny", profile.checkpoint.seed))
    monkeypatch.setattr(checkpoint, "locate", lambda _: files)
    made = load_oracle(profile)
    found = made.decide_all([made.prepare(BODIES[0][1])])
    assert all(torch.equal(a.hidden, b.hidden) for a, b in zip(found[0], truths[0], strict=True))


class TestCheckpoints:
    def files(self, base: Path, adapter: Path) -> CheckpointFiles:
        return CheckpointFiles(base, adapter, "", Calibration(1.0, 1.0), "test")

    def test_rows_of_an_exported_head_are_enough(self, tmp_path: Path) -> None:
        """An export keeps the leading rows of the head; labels are among them."""
        from safetensors.torch import load_file, save_file

        base, adapter = small_checkpoint.write(tmp_path)
        config = load_config(base)
        whole = Float64Weights(self.files(base, adapter), config, torch.device("cpu")).head_rows(LABELS)
        tensors = load_file(base / "model.safetensors")
        tensors["lm_head.weight"] = tensors["lm_head.weight"][:100].clone()
        save_file(tensors, base / "model.safetensors")
        with pytest.raises(OracleError, match=r"lm_head.weight: torch.bfloat16 \[100, 96\], expected .* \[512, 96\]"):
            Float64Weights(self.files(base, adapter), config, torch.device("cpu"))
        exported = dataclasses.replace(self.files(base, adapter), head_rows=100)
        assert torch.equal(Float64Weights(exported, config, torch.device("cpu")).head_rows(LABELS), whole)

    def test_every_misfit_is_named(self, tmp_path: Path) -> None:
        from safetensors.torch import load_file, save_file

        base, adapter = small_checkpoint.write(tmp_path)
        tensors = load_file(base / "model.safetensors")
        del tensors["model.language_model.norm.weight"]
        tensors["model.visual.extra"] = torch.zeros(3)
        save_file(tensors, base / "model.safetensors")
        pairs = load_file(adapter / "adapter_model.safetensors")
        half = next(name for name in pairs if name.endswith("q_proj.lora_B.weight"))
        del pairs[half]
        pairs["base_model.model.lm_head.lora_A.weight"] = torch.zeros(4, 96)
        save_file(pairs, adapter / "adapter_model.safetensors")
        with pytest.raises(OracleError) as caught:
            Float64Weights(self.files(base, adapter), load_config(base), torch.device("cpu"))
        message = str(caught.value)
        assert "missing model.language_model.norm.weight [96]" in message
        assert "unexpected model.visual.extra" in message
        assert f"{half}: missing or misshapen" in message
        assert "the adapter names lm_head, which is no language projection" in message

    def test_weights_are_read_as_the_file_holds_them(self, tmp_path: Path) -> None:
        """A_log in FP32 in the file is not rounded to the model's BF16 first: that is the engines' arithmetic."""
        from safetensors.torch import load_file

        base, adapter = small_checkpoint.write(tmp_path, wide_gates=True)
        weights = Float64Weights(self.files(base, adapter), load_config(base), torch.device("cpu"))
        name = "model.language_model.layers.1.linear_attn.A_log"
        stored = load_file(base / "model.safetensors")[name]
        assert stored.dtype == torch.float32
        assert torch.equal(weights.one(name), stored.double())
        assert not torch.equal(stored.double(), stored.bfloat16().double())

    def test_an_adapted_matrix_is_the_sum(self, tmp_path: Path) -> None:
        from safetensors.torch import load_file

        base, adapter = small_checkpoint.write(tmp_path)
        weights = Float64Weights(self.files(base, adapter), load_config(base), torch.device("cpu"))
        found = weights.group("model.language_model.layers.0")["self_attn.q_proj"]
        pairs = load_file(adapter / "adapter_model.safetensors")
        name = "base_model.model.model.language_model.layers.0.self_attn.q_proj.lora_{}.weight"
        plain = load_file(base / "model.safetensors")["model.language_model.layers.0.self_attn.q_proj.weight"]
        up, down = pairs[name.format("B")].double(), pairs[name.format("A")].double()
        assert torch.allclose(found, plain.double() + 1.5 * up @ down, rtol=0, atol=1e-14)


def test_images_move_the_truth(oracle: Oracle) -> None:
    """The order of images and every pixel matter."""
    prepared = oracle.prepare(images((64, 64), (96, 64)))
    one = dataclasses.replace(prepared, questions=prepared.questions[:1])
    (plain,) = oracle.decide_all([one])[0]
    pixels = patches(tuple(reversed(prepared.request.images)))[0]
    (swapped,) = oracle.decide_all([dataclasses.replace(one, pixels=pixels)])[0]
    assert distance(swapped.hidden, plain.hidden) > 1e-3


def test_it_describes_itself(oracle: Oracle) -> None:
    facts = oracle.describe()
    assert facts["dtype"] == "float64"
    assert facts["adapter"] == {"pairs": 31, "rank": 16, "scale": 2.0}
