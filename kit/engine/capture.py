"""Recording a forward once and replaying it from static buffers: what every capture backend offers.

Covers: the two small protocols an engine works with, and `aten-replay`, the backend for a CPU: the ATen calls
of one real run, kept in order and issued again on the same buffers. It shows that keys, buffers and bounds
work; it is no faster than the calls it repeats. Does not cover: CUDA graphs (`kit.engine.cuda_graph`) or what
is recorded and when (`kit.engine.captured`).
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.weak import WeakTensorKeyDictionary

from kit.engine.graph_cache import CaptureError
from kit.kernels import delta_rule

if TYPE_CHECKING:
    from kit.kernels import Ops


class Recording(Protocol):
    """One captured forward.

    bytes: memory held by it alone. pool_bytes: by how much recording it made the memory grow that its group
    shares, and that is freed when the last recording of the group is closed.
    """

    bytes: int
    pool_bytes: int

    def replay(self) -> Tensor:
        """Run it on what the static buffers hold now. The result is overwritten by the next replay."""
        ...

    def close(self) -> None:
        """Free it, waiting for replays that are still under way; not usable afterwards."""
        ...


class Backend(Protocol):
    """A way to capture. name and claim go into the evidence: which backend it was and what it can show."""

    name: str
    claim: str

    def ops(self, ops: Ops) -> Ops:
        """The op table in the form this backend records best, equal bit for bit."""
        ...

    def run(self, forward: Callable[[], Tensor]) -> Tensor:
        """Run `forward` eagerly, in the surroundings that `record` will capture it in."""
        ...

    def record(self, forward: Callable[[], Tensor], group: str) -> Recording:
        """Capture `forward`, a pure function of static buffers and weights that `run` has run before.

        Recordings of one group share memory: one replay's result is gone when the next of the group begins,
        and no two may be under way at once. What `forward` refers to lives until its recording is closed.
        Raises CaptureError where it cannot be recorded; later recordings work all the same.
        """
        ...

    def outside_bytes(self) -> int:
        """Memory that recordings hold without torch knowing; only differences mean anything."""
        ...

    def close(self) -> None:
        """Free what recordings share; every recording was closed before."""
        ...


@dataclass(frozen=True, slots=True)
class _Slot:
    """Stands in a recorded call for a tensor that an earlier recorded call made."""

    index: int


@dataclass(frozen=True, slots=True)
class _Call:
    """One ATen call. made: slots of its result (one for a tensor, several for a sequence of tensors)."""

    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    made: tuple[int, ...]
    unpack: bool
    dropped: tuple[int, ...]  # slots nothing reads any more


class _Recorder(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Runs a forward for real and notes every call below autograd.

    Tensors are told apart by identity and held weakly, so that a recording needs no more memory than a run.
    A tensor that no noted call made is a static buffer or a weight and is referred to, never copied; only
    what `lift_fresh` introduces (a literal tensor inside the forward) belongs to the recording.
    """

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.calls: list[_Call] = []
        self.made = 0
        self.owned_bytes = 0
        self._slots: Any = WeakTensorKeyDictionary()  # type: ignore[no-untyped-call]

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """False: shielding the mode from torch.compile, unused here, would import it at the first capture (1.2 s)."""
        return False

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        unpack = isinstance(result, list | tuple)
        results = list(result) if unpack else [result]
        if not all(isinstance(item, Tensor) for item in results):
            raise CaptureError(f"{func} returns {type(result).__name__} to the host, which a replay would not repeat")
        if func is torch.ops.aten.lift_fresh.default:
            # A copy of its own for every replay: the forward may write into the literal.
            literal = result.clone()
            self.owned_bytes += literal.untyped_storage().nbytes()
            func, args, kwargs = torch.ops.aten.clone.default, (literal,), {}
        call_args = tuple(self._reference(arg) for arg in args)
        call_kwargs = {name: self._reference(arg) for name, arg in kwargs.items()}
        made = tuple(self._made(item) for item in results)
        self.calls.append(_Call(func, call_args, call_kwargs, made, unpack, ()))
        return result

    def slot(self, tensor: Tensor) -> int | None:
        """Slot of a tensor that a noted call made; None for any other."""
        found: int | None = self._slots.get(tensor)
        return found

    def _made(self, tensor: Tensor) -> int:
        slot = self.slot(tensor)
        if slot is None:  # else it was written in place
            slot = self._slots[tensor] = self.made
            self.made += 1
        return slot

    def _reference(self, value: Any) -> Any:
        if isinstance(value, Tensor):
            slot = self.slot(value)
            return value if slot is None else _Slot(slot)
        if isinstance(value, list | tuple):
            return [self._reference(item) for item in value]
        return value


class AtenRecording:
    """The calls of one forward with a static output; `Recording`."""

    pool_bytes = 0  # intermediate results are allocated and freed by every replay

    def __init__(self, calls: Sequence[_Call], result: int, output: Tensor, owned_bytes: int) -> None:
        self.bytes = owned_bytes + output.untyped_storage().nbytes()
        self.calls: tuple[_Call, ...] = _with_lifetimes(calls, result)
        self._run: Callable[[], Tensor] | None = _straight_line(self.calls, result)
        self._output: Tensor | None = output

    def replay(self) -> Tensor:
        if self._run is None or self._output is None:
            raise RuntimeError("this recording was closed and cannot be replayed")
        return self._output.copy_(self._run())

    def close(self) -> None:
        self.calls = ()
        self._run = self._output = None


class AtenReplay:
    """`aten-replay`: recorded ATen calls, for a device without graphs; proves machinery."""

    name = "aten-replay"
    claim = (
        "recorded ATen calls replayed from static buffers: shows that capture, keys, buffers and eviction are "
        "right, and says nothing about the speed of graphs"
    )

    def ops(self, ops: Ops) -> Ops:
        """The delta rule as one registered operator: a recording is as long for 2,000 tokens as for 100."""
        if ops.delta_rule is not delta_rule.delta_rule:
            return ops
        return dataclasses.replace(ops, delta_rule=registered_delta_rule())

    def run(self, forward: Callable[[], Tensor]) -> Tensor:
        return forward()

    def record(self, forward: Callable[[], Tensor], group: str) -> Recording:
        recorder = _Recorder()
        try:
            with recorder:
                result = forward()
            return _recording(recorder, result)
        except CaptureError:
            raise
        except Exception as error:
            raise CaptureError(f"recording failed: {type(error).__name__}: {error}") from error

    def outside_bytes(self) -> int:
        """Nothing is hidden from torch."""
        return 0

    def close(self) -> None:
        """Nothing is shared between recordings."""


def choose(device: torch.device) -> Backend:
    """CUDA graphs on a GPU, recorded ATen calls elsewhere."""
    if device.type == "cuda":
        from kit.engine.cuda_graph import CudaGraphs

        return CudaGraphs(device)
    return AtenReplay()


@functools.lru_cache(maxsize=1)
def registered_delta_rule() -> Callable[[Tensor, Tensor, Tensor, Tensor, Tensor], Tensor]:
    """`kit.kernels.delta_rule.delta_rule` as the operator `kit::delta_rule`, registered once a process."""
    library: Any = torch.library.Library("kit", "FRAGMENT")  # type: ignore[no-untyped-call]
    library.define("delta_rule(Tensor q, Tensor k, Tensor v, Tensor g, Tensor beta) -> Tensor")
    library.impl("delta_rule", delta_rule.delta_rule, "CompositeExplicitAutograd")
    operator = torch.ops.kit.delta_rule.default

    def opaque_delta_rule(q: Tensor, k: Tensor, v: Tensor, g: Tensor, beta: Tensor) -> Tensor:
        result: Tensor = operator(q, k, v, g, beta)
        return result

    # The registration ends with its Library object; `runs` is what an op table reports.
    opaque_delta_rule.library = library  # type: ignore[attr-defined]
    opaque_delta_rule.runs = delta_rule.delta_rule  # type: ignore[attr-defined]
    return opaque_delta_rule


def _recording(recorder: _Recorder, result: Tensor) -> AtenRecording:
    slot = recorder.slot(result)
    if slot is None:
        raise CaptureError("the forward returned a tensor that none of its recorded calls made")
    # NaN marks what no replay has written.
    output = torch.full_like(result, float("nan"), memory_format=torch.contiguous_format)
    return AtenRecording(recorder.calls, slot, output, recorder.owned_bytes)


def _with_lifetimes(calls: Sequence[_Call], result: int) -> tuple[_Call, ...]:
    """The calls with the slots that each may drop, so that a replay holds no more than the eager run did."""
    last: dict[int, int] = {}
    for number, call in enumerate(calls):
        for slot in (*_read(call), *call.made):
            last[slot] = number
    last.pop(result)
    dropped: list[list[int]] = [[] for _ in calls]
    for slot, number in last.items():
        dropped[number].append(slot)
    return tuple(
        dataclasses.replace(call, dropped=tuple(slots)) for call, slots in zip(calls, dropped, strict=True)
    )


def _read(call: _Call) -> Iterator[int]:
    pending: list[Any] = [*call.args, *call.kwargs.values()]
    while pending:
        value = pending.pop()
        if type(value) is _Slot:
            yield value.index
        elif type(value) is list:
            pending.extend(value)


def _straight_line(calls: Sequence[_Call], result: int) -> Callable[[], Tensor]:
    """The calls as one Python function without loops: interpreting them cost a tenth of a short forward."""
    names: dict[str, Any] = {}

    def source(value: Any) -> str:
        if type(value) is _Slot:
            return f"v{value.index}"
        if type(value) is list:
            return "[" + ", ".join(map(source, value)) + "]"
        name = f"c{len(names)}"
        names[name] = value
        return name

    lines = []
    for call in calls:
        args = [source(arg) for arg in call.args]
        args += [f"{name}={source(arg)}" for name, arg in call.kwargs.items()]
        target = "".join(f"v{slot}, " for slot in call.made) if call.unpack else f"v{call.made[0]}"
        lines.append(f"{target} = {source(call.function)}({', '.join(args)})")
        if call.dropped:
            lines.append("del " + ", ".join(f"v{slot}" for slot in call.dropped))
    body = "\n    ".join([*lines, f"return v{result}"])
    exec(compile(f"def replay():\n    {body}\n", "<recorded forward>", "exec"), names)
    function: Callable[[], Tensor] = names.pop("replay")
    return function
