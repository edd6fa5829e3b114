"""The oracle on a CUDA device: the truth of the CPU, at full size a layer at a time beside whatever else is there.

The official code in FP64 runs in a process of its own, where FLA's kernels, which know no FP64, are kept away.
"""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
import time

import pytest
import torch

from kit.profile import PROJECT_ROOT, Profile, load_profile

if not torch.cuda.is_available():
    pytest.skip("no CUDA device: tests/engine/test_oracle.py covers the same code on the CPU", allow_module_level=True)

from kit import runtime
from kit.campaign.oracle_errors import errors
from kit.engine import native
from kit.engine.oracle import Oracle, OracleResult, load_oracle
from kit.engine.oracle_delta import by_token, in_chunks
from tests.engine.requests import BODIES, images, text

GIB = 1 << 30
SHORT = (text(3), images((256, 256)))


def distance(a: OracleResult, b: OracleResult) -> float:
    return float((a.hidden - b.hidden).norm() / b.hidden.norm())


def configured(path: str) -> Profile:
    profile = load_profile(path)
    runtime.configure(profile)
    return profile


def test_a_gpu_gives_the_truth_of_the_cpu() -> None:
    profile = configured("params/cpu-tiny.toml")
    here, there = load_oracle(profile, "cuda"), load_oracle(profile, "cpu")
    prepared = [here.prepare(body) for _, body in BODIES]
    for mine, theirs in zip(here.decide_all(prepared), there.decide_all(prepared), strict=True):
        for a, b in zip(mine, theirs, strict=True):
            assert distance(a, b) < 1e-11
            assert max(abs(x - y) for x, y in zip(a.logits, b.logits, strict=True)) < 1e-10


@pytest.mark.parametrize("tokens", [64, 98, 475])
def test_chunks_are_the_definition_at_the_sizes_of_the_27b(tokens: int) -> None:
    random = torch.Generator("cuda").manual_seed(tokens)
    options = {"dtype": torch.float64, "device": "cuda", "generator": random}
    q, k = (torch.randn(2, tokens, 16, 128, **options) for _ in range(2))
    v = torch.randn(2, tokens, 48, 128, **options)
    g, beta = -torch.rand(2, tokens, 48, **options), torch.rand(2, tokens, 48, **options)
    for mine, defined in zip(in_chunks(q, k, v, g, beta), by_token(q, k, v, g, beta), strict=True):
        assert torch.allclose(mine, defined, rtol=0, atol=1e-12)


OFFICIAL = """
import dataclasses, json, sys
from kit import runtime
from kit.profile import load_profile
profile = load_profile("params/h200-4b-synthetic.toml")
runtime.configure(profile)
runtime.block_gpu_only_packages()
import pytest, torch
from tests.engine.wide_reference import widen
from tests.gpu.test_oracle import SHORT
from kit.engine import reference
from kit.engine.oracle import load_oracle
oracle = load_oracle(profile)
prepared = [oracle.prepare(body) for body in SHORT]
truths = oracle.decide_all(prepared)
patch = pytest.MonkeyPatch()
widen(patch)
engine = reference.load(dataclasses.replace(profile, runtime=dataclasses.replace(profile.runtime, dtype="float64")))
engine._processor = None
found = []
for request, own in zip(prepared, truths):
    for result, truth in zip(engine.decide(request).questions, own):
        row = torch.frombuffer(bytearray(result.hidden), dtype=torch.float64)
        found.append([float((row - truth.hidden).norm() / truth.hidden.norm()),
                      max(abs(a - b) for a, b in zip(result.logits, truth.logits))])
print(json.dumps(found))
"""


def test_the_4b_equals_the_official_code_in_fp64() -> None:
    """Twenty-four layers of delta rule and eight of attention, text and an image; both sides on the device."""
    done = subprocess.run(
        [sys.executable, "-c", OFFICIAL], cwd=PROJECT_ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    for row, logits in json.loads(done.stdout.splitlines()[-1]):
        assert row < 1e-9
        assert logits < 1e-9


@pytest.mark.parametrize("name", ["h200-4b-synthetic", "h200-27b-synthetic"])
def test_full_size_weights_are_walked_through_in_little_memory(name: str) -> None:
    """Forms agree; the peak is a layer and the rows, far from a second copy of the weights. Prints what it took."""
    oracle = load_oracle(configured(f"params/{name}.toml"))
    prepared = [oracle.prepare(body) for body in SHORT]
    torch.cuda.synchronize()
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    started = time.perf_counter()
    plain = oracle.decide_all(prepared)
    seconds, peak = time.perf_counter() - started, torch.cuda.max_memory_allocated() - before
    print(f"{name}: {seconds:.1f} s, {peak / GIB:.1f} GiB beside {before / GIB:.1f}")
    assert peak < 16 * GIB
    assert torch.cuda.memory_allocated() - before < GIB // 4
    other = oracle.decide_all(prepared, "row0")
    worst = max(distance(b, a) for x, y in zip(plain, other, strict=True) for a, b in zip(x, y, strict=True))
    print(f"{name}: row 0 of a batch of two, relative change {worst:.1e}")
    assert worst < 1e-9


def test_native_is_a_rounding_away_from_the_truth() -> None:
    """Prints how far BF16 is off on generated weights, where logits still stand for the same prompt."""
    profile = configured("params/h200-4b-synthetic.toml")
    engine = native.load(profile)
    prepared = [engine.prepare(body) for _, body in BODIES]
    results = [engine.decide(one).questions for one in prepared]
    engine.close()
    oracle: Oracle = load_oracle(profile)
    plain = [dataclasses.replace(one, pixels=None if one.pixels is None else one.pixels.cpu()) for one in prepared]
    found = [
        errors(truth, result, torch.bfloat16)
        for truths, own in zip(oracle.decide_all(plain), results, strict=True)
        for truth, result in zip(truths, own, strict=True)
    ]
    print("native 4B: row off by", ", ".join(f"{100 * one.hidden:.2f}%" for one in found))
    assert all(0 < one.hidden < 0.25 for one in found)
