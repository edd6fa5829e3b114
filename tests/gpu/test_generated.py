"""Checkpoints made on the device: the generator's bits at full size, and both engines loaded without a file.

The 27B is loaded once by each engine in a process of its own, as the campaign does; the 4B here.
"""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
import torch

from kit.profile import PROJECT_ROOT, Profile, load_profile

if not torch.cuda.is_available():
    pytest.skip("no CUDA device: tests/checkpoint covers the same code on the CPU", allow_module_level=True)

from kit import runtime
from kit.checkpoint.architecture import EMBEDDING, HEAD
from kit.checkpoint.generator import fill
from kit.checkpoint.synthetic import plan
from kit.engine import native, reference
from kit.model.content_sums import content_sums
from tests.engine.requests import BODIES

LARGE = plan("h200-27b", 27)
LAYER = "model.language_model.layers.{}."
SAMPLES = (
    EMBEDDING,
    HEAD,
    LAYER.format(0) + "linear_attn.in_proj_qkv.weight",
    LAYER.format(62) + "linear_attn.out_proj.weight",
    LAYER.format(63) + "self_attn.q_proj.weight",
    LAYER.format(17) + "mlp.down_proj.weight",
    "base_model.model." + LAYER.format(40) + "linear_attn.in_proj_z.lora_B.weight",
    "model.visual.patch_embed.proj.weight",
)


@pytest.fixture(scope="module")
def profile() -> Profile:
    profile = load_profile("params/h200-4b-synthetic.toml")
    runtime.configure(profile)
    return profile


@pytest.mark.parametrize("name", SAMPLES)
def test_slices_of_the_27b_have_the_bits_of_the_cpu(name: str) -> None:
    """At odd places, up to the last element; the head has 1.27e9 of them."""
    shape, dtype = LARGE.shapes()[name]
    how, total = LARGE.fills(name, shape)[0], torch.Size(shape).numel()
    for start in (0, 12_345, total // 2 + 1, total - 4_999):
        here = fill(torch.empty(4_999, dtype=dtype), LARGE.seed, name, how, start)
        there = fill(torch.empty(4_999, dtype=dtype, device="cuda"), LARGE.seed, name, how, start)
        assert torch.equal(here, there.cpu()), start


@pytest.mark.parametrize("name", [EMBEDDING, HEAD])
def test_rows_of_their_own_are_in_the_whole_tensor(name: str) -> None:
    """Label rows with their echo, quiet rows, the anchor, ordinary rows: the CPU makes them one by one."""
    shape, _ = LARGE.shapes()[name]
    own = LARGE.fills(name, shape)[1]
    rows = [*own, 0, 1_000, 100_003, shape[0] - 1]
    whole = LARGE.tensor(name, "cuda")
    assert torch.equal(whole[rows].cpu(), LARGE.rows(name, rows))


@pytest.mark.parametrize("count", [8, 5, 3 * (1 << 22) + 3])
def test_content_sums_are_those_of_the_cpu(count: int) -> None:
    tensor = fill(torch.empty(count, dtype=torch.bfloat16), 1, "x", LARGE.fills(HEAD, (1, 4096))[0])
    assert torch.equal(content_sums(tensor), content_sums(tensor.cuda()).cpu())


def test_engines_of_the_4b_hold_the_same_weights_and_answer_with_the_same_bits(profile: Profile) -> None:
    official = reference.load(profile)
    facts = official.describe()
    expected = [official.decide(official.prepare(body)).questions for _, body in BODIES]
    official.close()
    ours = native.load(profile)
    assert ours.describe()["weights_sum"] == facts["weights_sum"]
    assert facts["adapter"]["tensors"] == 496
    for (_, body), questions in zip(BODIES, expected, strict=True):
        found = ours.decide(ours.prepare(body)).questions
        assert [item.hidden for item in found] == [item.hidden for item in questions]
        assert [item.logits for item in found] == [item.logits for item in questions]
    ours.close()


LOAD = """
import json, sys, time
from kit import engine, runtime
from kit.profile import load_profile
profile = load_profile("params/h200-27b-synthetic.toml")
runtime.configure(profile)
import torch
torch.empty(1, device="cuda")
started = time.perf_counter()
loaded = engine.load(sys.argv[1], profile)
torch.cuda.synchronize()
facts = loaded.describe()
print(json.dumps({"seconds": time.perf_counter() - started, "sum": facts["weights_sum"],
    "lora": facts["adapter"]["tensors"], "held": torch.cuda.memory_allocated(), "peak": torch.cuda.max_memory_allocated()}))
"""


def test_the_27b_is_in_memory_once_and_soon() -> None:
    """Under a minute, peak within 4 GiB of the weights, the same weights in both engines."""
    weights = sum(torch.Size(s).numel() * d.itemsize for s, d in LARGE.shapes().values())
    sums = set()
    for name in ("reference", "native"):
        done = subprocess.run(
            [sys.executable, "-c", LOAD, name], cwd=PROJECT_ROOT, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr[-2000:]
        facts = json.loads(done.stdout.splitlines()[-1])
        print(name, facts)
        assert facts["seconds"] < 60
        assert facts["lora"] == 992
        assert facts["peak"] < weights + (4 << 30)
        assert facts["held"] < weights + (1 << 30)
        sums.add(facts["sum"])
    assert len(sums) == 1
