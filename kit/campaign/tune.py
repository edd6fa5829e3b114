"""Tuning before anything is measured: which shapes, in which order, and what was chosen.

Covers: the token counts of a protocol in the order of its questions, FLA's chunk kernel run at each on random
inputs laid out as the reference lays them out, a self-repeat of every shape, and records/autotune.json, the
ledger every engine of the run installs. Winners are drawn here, or recorded ones are installed and must then
be all that is needed. FLA's keys leave the length out, so the first length decides for most kernels: the order
is part of the result. Also the folder of compiled kernels, one a run.
Does not cover: reading and installing ledgers (`kit.engine.autotune`), or what draws differ by
(`kit.campaign.draws`).
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import os
import re
import shutil
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kit.engine import autotune
from kit.evidence import provenance
from kit.evidence.records import write_json

if TYPE_CHECKING:
    import pandas as pd
    from torch import Tensor

    from kit.campaign.protocol import Protocol
    from kit.campaign.run_folder import Run
    from kit.campaign.stage import Stage
    from kit.kernels.delta_rule import DeltaRule
    from kit.profile import Profile

LEDGER = "records/autotune.json"
PACKAGES = ("torch", "triton", "flash-linear-attention")
# One kernel's key has the length in it after all, in steps of some 1,365 tokens at 48 heads: what benchmarks
# send beyond the protocol is tuned as well, behind it.
BEYOND_PROTOCOL = (1024, 2282, 8192)
REPEATS = 20  # calls of every shape that must give the same bits
SEED = 20261130
SETTING = re.compile(r"(FLA|TRITON)_(?!.*(DIR|PATH|HOME)$)\w+")  # variables that steer kernels and name no folder


@dataclass(frozen=True)
class Heads:
    """Sizes of the gated delta rule of a model."""

    key_heads: int
    value_heads: int
    key_dim: int
    value_dim: int


# ---------------------------------------------------------------- a run


def tune_stage(stage: Stage) -> dict[str, Any]:
    """records/autotune.json of a run: drawn now, or from the recorded winners the run was started with."""
    run, file = stage.run, stage.path / LEDGER
    start = autotune.read_ledger(file) if file.exists() else None
    recorded = start if start is not None and start["source"] == "recorded" else None
    file.parent.mkdir(exist_ok=True)
    stage.configure()
    return tune(run.profile, lengths_to_tune(run.profile, run.protocol), recorded)


def draw(profile: Profile, file: Path | None = None) -> dict[str, Any]:
    """A ledger drawn in this process, with no run around it; also written to `file` where one is given.

    Raises NoDeviceError without the profile's device.
    """
    from kit import runtime
    from kit.campaign.protocol import protocol_of

    runtime.configure(profile)
    runtime.require_device(profile)
    protocol = protocol_of(profile)
    ledger = tune(profile, lengths_to_tune(profile, protocol))
    if file is not None:
        write_json(file, ledger)
    return ledger


def check_start(profile: Profile, recorded: dict[str, Any]) -> None:
    """Can runs of a profile start from this ledger? Needs no run.

    Raises AutotuneError where it does not say what it was drawn on, and for winners where nothing is tuned.
    """
    origin = recorded.get("origin")
    if not isinstance(origin, dict) or not isinstance(origin.get("device"), str):
        raise autotune.AutotuneError("the ledger does not say on which device its winners were drawn (origin.device)")
    if recorded["winners"] and profile.runtime.device != "cuda":
        raise autotune.AutotuneError(
            f"the ledger has winners of {origin['device']}; profile {profile.name} tunes nothing, "
            f"it runs on a {profile.runtime.device}"
        )


def start_from(run: Run, recorded: dict[str, Any]) -> None:
    """Give a run a recorded ledger to start from.

    Raises AutotuneError for a ledger that `check_start` refuses, and for a run that has other winners already.
    """
    check_start(run.profile, recorded)
    file = run.path / LEDGER
    if file.exists() and autotune.read_ledger(file)["digest"] != recorded["digest"]:
        raise autotune.AutotuneError(f"run {run.id} has other winners already: start a new run with these")
    if not file.exists():
        file.parent.mkdir(exist_ok=True)
        write_json(file, recorded | {"source": "recorded"})


def run_environment(run: Run) -> dict[str, str]:
    """Variables every process of a run is started with: its ledger, once there is one, and its kernel folder."""
    ledger = run.path / LEDGER
    found = {autotune.VARIABLE: str(ledger.absolute())} if ledger.exists() else {}
    if run.profile.runtime.device == "cuda":
        found["TRITON_CACHE_DIR"] = str(kernel_folder(run))
    return found


def kernel_folder(run: Run) -> Path:
    """Where this run's processes share compiled kernels and timings.

    Another run of the same name, or the same run with changed sources, gets another folder. It is outside of
    the run folder, since nothing in it is evidence.
    """
    sources = sorted(provenance.hash_sources().items())
    bound = hashlib.sha256((run.path / "run.json").read_bytes() + repr(sources).encode()).hexdigest()
    return _kernel_folders(run) / bound[:12]


def drop_kernels(run: Run) -> None:
    """Remove the compiled kernels of a run that is finished."""
    shutil.rmtree(_kernel_folders(run), ignore_errors=True)


def _kernel_folders(run: Run) -> Path:
    from kit.checkpoint.files import cache_root  # brings libraries that a notebook's first cell should not

    return cache_root() / "triton" / run.id


def chosen(ledger: dict[str, Any]) -> dict[str, Any]:
    """What environment.json says of a ledger: where its winners come from, their digest, and all of them."""
    return {name: ledger[name] for name in ("source", "digest", "winners")}


def winners_frame(ledger: dict[str, Any]) -> pd.DataFrame:
    """One row a winner: kernel, key, configuration."""
    import pandas as pd

    rows = [
        {
            "kernel": winner["kernel"].rpartition(".")[2],
            "key": " ".join(map(str, winner["key"])),
            "config": " ".join(f"{name}={value}" for name, value in _settings(winner["config"])),
        }
        for winner in ledger["winners"]
    ]
    return pd.DataFrame(rows, columns=["kernel", "key", "config"])


def _settings(config: dict[str, Any]) -> list[tuple[str, Any]]:
    """Meta-parameters, then what else a configuration sets."""
    return [(name, value) for name, value in (config["kwargs"] | config).items() if name != "kwargs"]


# ---------------------------------------------------------------- tuning


def lengths_to_tune(profile: Profile, protocol: Protocol) -> list[int]:
    """Token counts to tune, in order: the protocol's as its questions come, then those of benchmarks.

    Empty on a CPU, where nothing is tuned. Needs the tokenizer and no weights.
    """
    if profile.runtime.device != "cuda":
        return []
    from kit.engine.preview import preparer_without_weights

    preparer = preparer_without_weights(profile)
    counts = [len(item.input_ids) for case in protocol.cases for item in preparer.prepare(case.body).questions]
    beyond = [length for length in BEYOND_PROTOCOL if length <= profile.limits.text_tokens]
    return list(dict.fromkeys([*counts, *beyond]))


def tune(profile: Profile, lengths: Sequence[int], recorded: dict[str, Any] | None = None) -> dict[str, Any]:
    """Run the delta rule at every length in order and return the ledger (kit-autotune/1), which stays installed.

    recorded: a ledger to start from; then nothing may be left to tune. Raises AutotuneError if something is,
    or if its winners do not fit the installed packages. Without CUDA or without FLA the ledger is empty.
    """
    heads = None
    seconds: list[float] = []
    repeats = {"calls": REPEATS, "lengths": 0, "different": 0}
    autotune.forget()
    if recorded is not None:
        autotune.install(recorded["winners"])
    if profile.runtime.device == "cuda" and _packaged() is not None:
        heads = heads_of(profile)
        for length in lengths:
            seconds.append(round(run_shape(heads, length), 4))
        repeats |= {"lengths": len(lengths), "different": sum(_self_repeat(heads, length) for length in lengths)}
    late = autotune.late()
    if late:
        names = ", ".join(sorted({winner["kernel"].rpartition(".")[2] for winner in late}))
        raise autotune.AutotuneError(
            f"the recorded winners lack {len(late)} that this profile needs ({names}): record a ledger of this "
            "profile and protocol with these packages, or let the run draw its own"
        )
    found = autotune.winners() if recorded is None else recorded["winners"]
    autotune.install(found)
    return {
        "format": autotune.FORMAT,
        "source": "drawn" if recorded is None else "recorded",
        "digest": autotune.digest(found),
        "winners": found,
        "heads": asdict(heads) if heads else None,
        "lengths": list(lengths),
        "seconds": seconds,
        "repeats": repeats,
        "origin": recorded["origin"] if recorded else origin(profile),
    }


def heads_of(profile: Profile) -> Heads:
    """Head shapes of the profile's model, from its config.json."""
    from kit import checkpoint
    from kit.model.config import load_config

    text = load_config(checkpoint.locate(profile).base).text
    return Heads(
        text.linear_num_key_heads, text.linear_num_value_heads, text.linear_key_head_dim, text.linear_value_head_dim
    )


def run_shape(heads: Heads, length: int) -> float:
    """One call at a length; seconds it took, compiling and timing included."""
    import torch

    inputs = random_inputs(heads, length)
    torch.cuda.synchronize()
    started = time.perf_counter()
    _call(inputs)
    torch.cuda.synchronize()
    return time.perf_counter() - started


def random_inputs(heads: Heads, length: int, device: str = "cuda") -> tuple[Tensor, ...]:
    """q, k, v, g, beta of one layer as the reference's own layer makes them: dtypes, strides and ranges.

    q, k, v [T, heads, D] in BF16 are slices of the convolution's output, which lies channel by channel; g [T,
    value heads] is FP32 and negative, beta [T, value heads] is BF16 in 0..1. The same for every call of a shape.
    """
    import torch
    import torch.nn.functional as F

    generator = torch.Generator(device).manual_seed(SEED + length)
    keys, values = heads.key_heads * heads.key_dim, heads.value_heads * heads.value_dim

    def noise(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator, device=device)

    mixed = noise(2 * keys + values, length).to(torch.bfloat16).t()
    q, k, v = torch.split(mixed, [keys, keys, values], dim=-1)
    return (
        q.reshape(length, heads.key_heads, heads.key_dim),
        k.reshape(length, heads.key_heads, heads.key_dim),
        v.reshape(length, heads.value_heads, heads.value_dim),
        -F.softplus(noise(length, heads.value_heads)),
        noise(length, heads.value_heads).to(torch.bfloat16).sigmoid(),
    )


def _self_repeat(heads: Heads, length: int) -> int:
    """How many of `REPEATS` calls on the same inputs give other bits than the first."""
    inputs = random_inputs(heads, length)
    first = _call(inputs)
    return sum(not bool((_call(inputs) == first).all()) for _ in range(REPEATS - 1))


def _call(inputs: tuple[Tensor, ...]) -> Tensor:
    import torch

    rule = _packaged()
    assert rule is not None
    with torch.inference_mode():
        return rule(*inputs)


def _packaged() -> DeltaRule | None:
    from kit.kernels import delta_rule

    return delta_rule.from_package()


def origin(profile: Profile) -> dict[str, Any]:
    """Where winners are drawn: package versions, device, and the variables that steer kernels."""
    device = "cpu"
    if profile.runtime.device == "cuda":
        import torch

        device = torch.cuda.get_device_name(0)
    return {
        "device": device,
        "versions": {name: _version(name) for name in PACKAGES},
        "environment": {name: os.environ[name] for name in sorted(os.environ) if SETTING.fullmatch(name)},
    }


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None
