"""One thread before torch is imported, as every CPU profile runs; no network for hub code; the tiny profile and its reference.

Kernels are interpreted where there is no GPU: said here, before any test module imports Triton, or `torch._dynamo`, which
does. The interpreter is right in FP32 alone (it truncates to BF16), so tests/kernels stays in FP32; tests/gpu has BF16.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from kit.engine.reference import ReferenceEngine
    from kit.profile import Profile

for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS"):
    os.environ[name] = "1"
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"
if not any(Path("/dev").glob("nvidia[0-9]*")):
    os.environ["TRITON_INTERPRET"] = "1"


def pytest_configure() -> None:
    """Ctrl-C and a terminal's end mean what they usually do, in this process and those it starts; workers of xdist come here too.

    What is started in the background or under nohup ignores one or both, and a process hands that on to its children: the
    tests that interrupt one would wait for ever, or see it end by other means.
    """
    for number, usual in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, usual)


@pytest.fixture(scope="module")
def profile() -> Profile:
    """cpu-tiny, its process settings in force."""
    from kit import runtime
    from kit.profile import load_profile

    profile = load_profile("params/cpu-tiny.toml")
    runtime.configure(profile)
    return profile


@pytest.fixture(scope="module")
def official(profile: Profile) -> Iterator[ReferenceEngine]:
    """The official reference on cpu-tiny, loaded once a module."""
    from kit.engine import reference

    engine = reference.load(profile)
    yield engine
    engine.close()
