"""The process settings a bitwise claim depends on: threads, matmul precision, what may be imported.

Covers: `configure(profile)`, called once and first in every process that computes (notebook, worker,
command), by commands as `configured` or `on_device` of a profile's file, and `settings()`, the same facts read back
for the evidence. Thread counts must be in the environment before torch is imported, so this module imports torch only
inside functions.
Does not cover: which device is used (the engine's choice) or kernel selection (`kit.kernels`).
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from kit.profile import Profile

THREAD_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS")


class RuntimeConflictError(RuntimeError):
    """torch was imported with another thread count than the profile asks for."""


class NoDeviceError(RuntimeError):
    """The device that was asked for is not on this machine."""


def environment(profile: Profile) -> dict[str, str]:
    """Environment variables a child process of this profile must be started with."""
    threads = str(profile.runtime.threads)
    return dict.fromkeys(THREAD_VARIABLES, threads) | {
        "TOKENIZERS_PARALLELISM": "false",
        "HF_HUB_DISABLE_TELEMETRY": "1",
        "TRANSFORMERS_VERBOSITY": "error",
    }


def configure(profile: Profile) -> dict[str, Any]:
    """Apply the profile's process settings, import torch, and return `settings()`.

    Safe to call again with the same profile. Raises RuntimeConflictError when torch is already loaded
    with another number of threads and cannot be brought to the profile's.
    """
    os.environ.update(environment(profile))
    import torch

    torch.set_num_threads(profile.runtime.threads)
    if torch.get_num_threads() != profile.runtime.threads:
        raise RuntimeConflictError(
            f"torch runs with {torch.get_num_threads()} threads, the profile {profile.name} asks for "
            f"{profile.runtime.threads}: start a new process and call kit.runtime.configure first"
        )
    torch.set_float32_matmul_precision("highest")
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    if profile.runtime.device == "cpu":
        block_gpu_only_packages()
    return settings()


def configured(path: str | Path) -> Profile:
    """The profile of a file, with threads, devices and switches of this process set as it says.

    Raises ProfileError, and RuntimeConflictError where the process is already set otherwise.
    """
    from kit.profile import load_profile

    profile = load_profile(path)
    configure(profile)
    return profile


def on_device(path: str | Path) -> Profile:
    """As `configured`, and the profile's device is there. Raises NoDeviceError too."""
    profile = configured(path)
    require_device(profile)
    return profile


def require_device(profile: Profile) -> None:
    """Raise NoDeviceError, in one sentence, where a forward of this profile cannot run. After `configure`."""
    if profile.runtime.device != "cuda":
        return
    import torch

    if not torch.cuda.is_available():
        instead = 'take a profile with runtime.device = "cpu", such as params/cpu-tiny.toml'
        raise NoDeviceError(no_cuda(f"the profile {profile.name}", instead))


def no_cuda(who: str, instead: str) -> str:
    """What is wanted and what is there, of whatever needs a CUDA device, and what can be done. Imports torch."""
    import torch

    built = "" if torch.version.cuda else ", which is built without CUDA,"
    return (
        f"{who} needs a CUDA device, and torch {torch.__version__}{built} sees none on this machine, only its CPU: "
        f"run it where there is one, or {instead}"
    )


def block_gpu_only_packages() -> None:
    """Keep Transformers from choosing FLA on a machine without a GPU, where its kernels cannot start."""
    for name in ("fla", "causal_conv1d"):
        if name not in sys.modules:
            sys.modules[name] = None  # type: ignore[assignment]


def settings() -> dict[str, Any]:
    """What is in force now: threads, precision switches, CPU capability. Needs torch imported."""
    import torch

    return {
        "threads": torch.get_num_threads(),
        "interop_threads": torch.get_num_interop_threads(),
        "float32_matmul_precision": torch.get_float32_matmul_precision(),
        "cuda_matmul_allow_tf32": torch.backends.cuda.matmul.allow_tf32,
        "cudnn_allow_tf32": torch.backends.cudnn.allow_tf32,
        "deterministic_algorithms": torch.are_deterministic_algorithms_enabled(),
        "cpu_capability": torch.backends.cpu.get_cpu_capability(),
        "environment": {
            name: os.environ[name]
            for name in (*THREAD_VARIABLES, "ATEN_CPU_CAPABILITY", "ONEDNN_MAX_CPU_ISA", "CUDA_VISIBLE_DEVICES")
            if name in os.environ
        },
    }
