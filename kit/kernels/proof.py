"""Which of our kernels may stand in for its plain torch twin, decided shape by shape in the running process.

Covers: `Proofs.guard`, which runs kernel and twin side by side the first time a shape is seen, on the caller's
own inputs and on fresh ones of the same shapes, with the kernel's outputs on memory full of NaN, and uses the
kernel for that shape only if every bit agrees; the list of these decisions, and of the kernels with the digest
of their source, which are evidence. cuBLAS, and torch's reductions, choose their order of sums by shape, so
equality at one shape says nothing about another.
Does not cover: the kernels, or whether a decision is right for other inputs (the operators stage looks again).
"""

from __future__ import annotations

import dataclasses
import hashlib
import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

FRESH_SEED = 20261130


@dataclass
class Decision:
    """What was found for one op at one shape. choice: "kernel", or "twin" with the reason."""

    op: str
    key: str
    choice: str
    elements: int = 0
    different: int = 0
    reason: str = ""


class Proofs:
    """The decisions of one process; every guarded op of an op table shares one."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, Any], Decision] = {}
        self._guarded: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {}

    def guard(self, op: str, twin: Callable[..., Any], kernel: Callable[..., Any]) -> Callable[..., Any]:
        """A callable with the signature of both. Under capture an unproven shape runs the twin."""
        found = self._found
        self.enlist(op, twin, kernel)

        def guarded(*args: Any) -> Any:
            key = (op, _signature(args))
            decision = found.get(key)
            if decision is None:
                if capturing():
                    return twin(*args)
                result = twin(*args)
                found[key] = _decide(
                    op, describe_signature(args), lambda: _agreement(twin, kernel, args, result)
                )
                return result
            return kernel(*args) if decision.choice == "kernel" else twin(*args)

        guarded.runs = kernel  # type: ignore[attr-defined]
        guarded.twin = twin  # type: ignore[attr-defined]
        return guarded

    def enlist(self, op: str, twin: Callable[..., Any], kernel: Callable[..., Any]) -> None:
        """Name a kernel and what it stands in for; `guard` does."""
        self._guarded[op] = kernel, twin

    def holds(self, op: str, key: str, check: Callable[[], tuple[int, int]]) -> bool:
        """Whether a form may be used, for kernels that decide more finely than `guard` does.

        check: runs both forms and returns (elements compared, elements whose bits differ); it is called once a
        key, and an error in it counts against the kernel. Not to be called while a graph is captured.
        """
        decision = self._found.get((op, key))
        if decision is None:
            decision = self._found[op, key] = _decide(op, key, check)
        return decision.choice == "kernel"

    def first(self, op: str, ways: Mapping[str, Callable[[], tuple[int, int]]], otherwise: str) -> str | None:
        """The key of the first way of a kernel that may be used, recorded alone; None where none may.

        ways: by key, checks as for `holds`. In the second case the twin is recorded under the key `otherwise`,
        with what the first check found. Nothing is looked up: the caller keeps the answer.
        """
        refused: list[Decision] = []
        for key, check in ways.items():
            decision = _decide(op, key, check)
            if decision.choice == "kernel":
                self._found[op, key] = decision
                return key
            refused.append(decision)
        self._found[op, otherwise] = dataclasses.replace(refused[0], key=otherwise)
        return None

    def describe(self) -> list[dict[str, Any]]:
        """Every decision, sorted by op and key: plain data for the evidence."""
        return [vars(d) for d in sorted(self._found.values(), key=lambda d: (d.op, d.key))]

    def provenance(self) -> list[dict[str, str]]:
        """Every guarded op with its kernel, its twin and the SHA-256 of the file the kernel is written in."""
        return [
            {
                "op": op,
                "kernel": qualified_name(kernel),
                "twin": qualified_name(twin),
                "source_sha256": _source_digest(kernel),
            }
            for op, (kernel, twin) in sorted(self._guarded.items())
        ]


def _decide(op: str, key: str, check: Callable[[], tuple[int, int]]) -> Decision:
    """The kernel if all that `check` compared was equal; the twin otherwise, and if a kernel cannot run."""
    try:
        elements, different = check()
    except Exception as error:
        return Decision(
            op, key, "twin", reason=f"{type(error).__name__}: {str(error).partition(chr(10))[0][:160]}"
        )
    if different or not elements:
        return Decision(
            op, key, "twin", elements, different, "bits differ" if different else "nothing compared"
        )
    return Decision(op, key, "kernel", elements, different)


def _agreement(
    twin: Callable[..., Any], kernel: Callable[..., Any], args: tuple[Any, ...], expected: Any
) -> tuple[int, int]:
    """Elements compared and elements that differ, on the given inputs and on fresh ones."""
    fresh = fresh_like(args)
    with PoisonedAllocations():  # type: ignore[no-untyped-call]
        ours = kernel(*args), kernel(*fresh)
    counts = compare(ours[0], expected), compare(ours[1], twin(*fresh))
    return sum(elements for elements, _ in counts), sum(different for _, different in counts)


class PoisonedAllocations(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Fill every uninitialised floating point buffer with NaN, so that reading unwritten memory shows."""

    KINDS = (
        "aten::empty",
        "aten::empty_like",
        "aten::empty_strided",
        "aten::new_empty",
        "aten::new_empty_strided",
    )

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        output = func(*args, **(kwargs or {}))
        if func._schema.name in self.KINDS and output.is_floating_point():
            output.fill_(torch.nan)
        return output


def qualified_name(function: Any) -> str:
    """`module.qualname` of a callable; wrappers that carry `runs` (see the packages' forms) name what they run."""
    inner = getattr(function, "runs", function)
    name = getattr(inner, "__qualname__", type(inner).__qualname__)
    return f"{getattr(inner, '__module__', type(inner).__module__)}.{name}"


def _source_digest(function: Callable[..., Any]) -> str:
    """SHA-256 of the file a function is written in; empty for one that is in no file."""
    try:
        return hashlib.sha256(Path(inspect.getfile(function)).read_bytes()).hexdigest()
    except (OSError, TypeError):
        return ""


def compare(ours: Any, theirs: Any) -> tuple[int, int]:
    """(elements, elements whose bits differ) over all tensors of two results; another shape or dtype differs wholly."""
    elements = different = 0
    for a, b in zip(_tensors(ours), _tensors(theirs), strict=True):
        elements += b.numel()
        if a.shape != b.shape or a.dtype != b.dtype:
            different += b.numel()
        else:
            different += int((bits(a) != bits(b)).sum())
    return elements, different


def bits(tensor: Tensor) -> Tensor:
    """The same memory as integers, so that NaN equals itself and -0 differs from 0."""
    kinds = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
    return tensor.contiguous().view(kinds[tensor.element_size()])


def fresh_like(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments with every floating point tensor replaced by noise of its own size, layout kept.

    Mean and deviation of each tensor are kept, so that norms, gates and exponents stay in their usual range.
    """
    seen: dict[int, Tensor] = {}

    def fresh(value: Any) -> Any:
        if isinstance(value, Tensor) and value.is_floating_point():
            if id(value) not in seen:
                seen[id(value)] = noise_like(value, len(seen))
            return seen[id(value)]
        if isinstance(value, tuple):
            items = [fresh(item) for item in value]
            return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
        if isinstance(value, list):
            return [fresh(item) for item in value]
        return value

    return tuple(fresh(arg) for arg in args)


def noise_like(tensor: Tensor, number: int = 0) -> Tensor:
    """Noise with the layout, mean and deviation of a tensor; another number, other noise.

    Deviation 1 where the tensor has next to none, mean 0 where it is not finite. Takes no memory but its own.
    """
    mean = float(tensor.mean(dtype=torch.float32))
    square = float(torch.linalg.vector_norm(tensor, dtype=torch.float32)) ** 2 / max(tensor.numel(), 1)
    spread = square - mean * mean
    enough = math.isfinite(spread) and spread > 1e-6 * square
    out = torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device=tensor.device)
    generator = torch.Generator(tensor.device).manual_seed(FRESH_SEED + number)
    mean, deviation = mean if math.isfinite(mean) else 0.0, math.sqrt(spread) if enough else 1.0
    return out.normal_(mean, deviation, generator=generator)


def _signature(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Shapes, strides and dtypes of tensors (strides: kernels may depend on them), other values as they are."""
    return tuple(
        (arg.shape, arg.stride(), arg.dtype)
        if isinstance(arg, Tensor)
        else _signature(tuple(arg))
        if isinstance(arg, tuple | list)
        else arg
        for arg in args
    )


def describe_signature(args: tuple[Any, ...]) -> str:
    """The shapes of a call as one short line, with strides that are not the usual: `98x5120 98x64@1,98 1e-06`."""
    parts: list[str] = []
    for arg in args:
        if isinstance(arg, Tensor):
            shape = "x".join(map(str, arg.shape)) or "scalar"
            parts.append(shape if arg.is_contiguous() else f"{shape}@{','.join(map(str, arg.stride()))}")
        elif isinstance(arg, tuple | list):
            parts.append("(" + describe_signature(tuple(arg)) + ")")
        elif arg is not None:
            parts.append(str(arg))
    return " ".join(parts)


def capturing() -> bool:
    """True while a CUDA graph is being recorded: nothing may be compared then."""
    return torch.cuda.is_available() and torch.cuda.is_current_stream_capturing()


def _tensors(value: Any) -> list[Tensor]:
    if isinstance(value, Tensor):
        return [value]
    return [cast(Tensor, item) for item in value]
