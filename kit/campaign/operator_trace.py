"""What the reference's own modules computed in one forward: inputs and outputs, for an operator to repeat.

Covers: recording modules by hooks and a few module-level functions by a wrapper that calls the original, and
counting the elements that differ.
Does not cover: which op repeats which call (`kit.campaign.operator_checks`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any
from unittest import mock

from torch import Tensor

from kit.kernels.proof import bits

FUNCTIONS = (  # of Transformers' model file; each is recorded the first time it is called
    "torch_chunk_gated_delta_rule",
    "causal_conv1d_fn",
    "apply_rotary_pos_emb",
    "apply_rotary_pos_emb_vision",
)


@dataclass(frozen=True)
class Call:
    """One call: positional and named inputs, and what came out. Tensors are copies made at the time."""

    name: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    output: Any

    def input(self, index: int = 0) -> Tensor:
        """A positional tensor input without its batch axis of one, where it has one."""
        return unbatched(self.args[index])

    def result(self) -> Tensor:
        """The output without its batch axis of one, where it has one."""
        return unbatched(self.output[0] if isinstance(self.output, tuple) else self.output)


def unbatched(tensor: Tensor) -> Tensor:
    """[1, T, ...] -> [T, ...]; two-axis tensors as they are."""
    return tensor.squeeze(0) if tensor.ndim > 2 and tensor.shape[0] == 1 else tensor


def _copied(value: Any) -> Any:
    if isinstance(value, Tensor):
        return value.detach().clone()  # clone keeps the strides of dense tensors, which kernels may look at
    if isinstance(value, tuple | list):
        return tuple(_copied(item) for item in value)
    return value


@contextmanager
def traced(modules: Mapping[str, Any]) -> Iterator[dict[str, Call]]:
    """Record the first call of each named module and of each of FUNCTIONS while the block runs."""
    from transformers.models.qwen3_5 import modeling_qwen3_5 as modeling

    calls: dict[str, Call] = {}

    def keep(name: str, label: str, args: Any, kwargs: dict[str, Any], output: Any) -> None:
        if name not in calls:
            named = {key: _copied(value) for key, value in kwargs.items()}
            calls[name] = Call(label, _copied(args), named, _copied(output))

    def hook(name: str) -> Callable[..., None]:
        def after(module: Any, args: Any, kwargs: dict[str, Any], output: Any) -> None:
            keep(name, f"{type(module).__module__}.{type(module).__qualname__}", args, kwargs, output)

        return after

    def wrapper(name: str, original: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            output = original(*args, **kwargs)
            keep(name, f"{original.__module__}.{original.__qualname__}", args, kwargs, output)
            return output

        return call

    with ExitStack() as stack:
        for name, module in modules.items():
            handle = module.register_forward_hook(hook(name), with_kwargs=True)
            stack.callback(handle.remove)
        for name in FUNCTIONS:
            stack.enter_context(mock.patch.object(modeling, name, wrapper(name, getattr(modeling, name))))
        yield calls


def difference(op: str, against: str, pairs: Sequence[tuple[Tensor, Tensor]]) -> dict[str, Any]:
    """Count elements whose bits differ over all outputs of one op; a differing shape or dtype is all of them.

    max_abs and relative_l2 (norm of the difference over the norm of `theirs`) are over the outputs that can be
    subtracted; NaN counts as nothing there and is counted itself.
    """
    elements = different = nan = 0
    largest = squares = size = 0.0
    for ours, theirs in pairs:
        elements += theirs.numel()
        nan += int(ours.isnan().sum())
        if ours.shape != theirs.shape or ours.dtype != theirs.dtype:
            different += theirs.numel()
            continue
        different += int((bits(ours) != bits(theirs)).sum())
        distance = (ours.double() - theirs.double()).abs().nan_to_num(nan=0.0)
        largest = max(largest, float(distance.max()) if distance.numel() else 0.0)
        squares += float(distance.pow(2).sum())
        size += float(theirs.double().pow(2).sum())
    return {
        "op": op,
        "against": against,
        "shape": " ".join(str(list(ours.shape)) for ours, _ in pairs),
        "elements": elements,
        "different": different,
        "max_abs": largest,
        "relative_l2": math.sqrt(squares / size) if size > 0 else math.sqrt(squares),
        "nan": nan,
    }


def tensors(value: Any) -> tuple[Tensor, ...]:
    """What an op returned, as a tuple."""
    return (value,) if isinstance(value, Tensor) else tuple(value)
