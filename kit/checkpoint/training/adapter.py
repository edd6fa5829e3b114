"""The adapter of the decider: PEFT's LoRA in FP32 on a base that is frozen and rounded to BF16.

Covers: rounding, a rounded base put back, what is adapted and how wide, an adapter's tensors out and in, and arithmetic as an
engine's: the base's maps in BF16, the adapter's in FP32 without autocast. Does not cover: an engine's files (`export`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn


def round_base(network: nn.Module, targets: Collection[str]) -> None:
    """Every parameter to the nearest BF16, frozen. Those of the maps named in `targets` are also held in BF16."""
    for name, module in network.named_modules():
        for parameter in module.parameters(recurse=False):
            rounded = parameter.detach().bfloat16()
            parameter.data = rounded if name.rsplit(".", 1)[-1] in targets else rounded.float()
            parameter.requires_grad_(False)
            parameter.grad = None


def put_base(network: nn.Module, base: Path, config: Path) -> None:
    """Give a network the rounded base of a run's file, in FP32. Raises ValueError for one of another network than `config`'s."""
    saved = torch.load(base, map_location="cpu", weights_only=True)
    try:
        network.load_state_dict({name: tensor.float() for name, tensor in saved.items()})
    except RuntimeError as error:
        raise ValueError(f"{base} holds another network than {config} describes") from error


def attach(network: nn.Module, options: Mapping[str, Any]) -> Any:
    """PEFT's model around a rounded network, whose maps are replaced in place by those with an adapter.

    options: adapter_config.json. Drawn from torch's global generator. The network itself goes on being called as before.
    """
    from peft import LoraConfig, get_peft_model

    # Its task type would have PEFT look for generation, which the network does not do.
    config = LoraConfig(
        r=options["r"], lora_alpha=options["lora_alpha"], target_modules=options["target_modules"]
    )
    wrapped: Any = get_peft_model(network, config)  # type: ignore[arg-type]
    for name, module in network.named_modules():
        if name.rsplit(".", 1)[-1] in config.target_modules:
            _without_autocast(module)
        for parameter in module.parameters(recurse=False):
            if parameter.requires_grad:
                parameter.data = parameter.data.float()
    return wrapped


def adapter_state(wrapped: Any) -> dict[str, Tensor]:
    """The adapter's tensors under the names of PEFT's files, FP32 on the CPU."""
    from peft import get_peft_model_state_dict

    found: dict[str, Tensor] = get_peft_model_state_dict(wrapped)
    return {name: tensor.detach().float().cpu().clone() for name, tensor in found.items()}


def put_adapter(wrapped: Any, tensors: Mapping[str, Tensor]) -> None:
    """Give the adapter the tensors that `adapter_state` took from another. Raises ValueError for those of another adapter."""
    from peft import set_peft_model_state_dict

    wanted = {name: tuple(tensor.shape) for name, tensor in adapter_state(wrapped).items()}
    found = {name: tuple(tensor.shape) for name, tensor in tensors.items()}
    for name in sorted(wanted.keys() | found.keys()):
        if name not in found:
            raise ValueError(f"{name} is missing")
        if name not in wanted:
            raise ValueError(f"{name} is none of this adapter's")
        if found[name] != wanted[name]:
            raise ValueError(f"{name} has the shape {found[name]}, not {wanted[name]}")
    set_peft_model_state_dict(wrapped, dict(tensors))  # type: ignore[no-untyped-call]


def _without_autocast(module: nn.Module) -> None:
    """The base's map and the adapter's in their own dtypes, as Transformers and PEFT run them."""
    inner = module.forward

    def forward(x: Tensor) -> Tensor:
        with torch.autocast(x.device.type, enabled=False):
            out: Tensor = inner(x)
            return out

    module.forward = forward  # type: ignore[method-assign]
