"""The CUDA device as NVML sees it: what it is, how it is set, who is on it, how much memory is taken.

Covers: one snapshot of facts, the question whether a run had the device to itself (`is_ours_alone`),
device.json with a snapshot from before and one from after the campaign, and the wait for memory to come back
when a worker has ended. What NVML refuses to say, as it does in most containers, is recorded as "not visible"
and never counts as fine. Nothing here names a process, a command or the device's own number: processes are
counted, and the UUID is kept as the start of its SHA-256.
Does not cover: changing any setting of the device, or devices of other makers.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kit.campaign.stage import Stage

FORMAT = "kit-device/1"
NOT_VISIBLE = "not visible"
NOT_SUPPORTED = "not supported"  # NVML says that this device has no such thing
FOREIGN_BYTES = 1 << 30  # a context of ours takes about half of it; weights of anybody else take more
RETURN_BYTES = 64 << 20  # what may stay taken after a worker has gone: the driver's own bookkeeping
RETURN_SECONDS = 30.0
SLOWDOWNS = {  # bits of the clocks' event reasons that mean the device is slower than it could be
    0x0004: "power cap",
    0x0008: "hardware slowdown",
    0x0020: "thermal, software",
    0x0040: "thermal, hardware",
    0x0080: "power brake",
}

Snapshot = dict[str, Any]


class NvmlMissingError(RuntimeError):
    """NVML cannot be asked; the message says why."""


def snapshot(nvml: Any = None, pids: Collection[int] | None = None) -> Snapshot:
    """Everything NVML says about the device now, as JSON data.

    nvml: a module with pynvml's functions, in place of pynvml. pids: processes that belong to this run, in
    place of this process and its descendants. Opens a CUDA context in this process first: only with one of
    its own can it be told whether the list of processes is a whole one. Without NVML the result says why.
    """
    taken = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%S.%fZ}"
    try:
        with _opened(nvml) as (library, handle):
            own = _hold_context() if nvml is None else 0
            mine = process_tree(os.getpid()) if pids is None else pids
            return {"taken_utc": taken, "visible": True} | _facts(library, handle, own, mine)
    except NvmlMissingError as error:
        return {"taken_utc": taken, "visible": False, "reason": str(error)}


def used_bytes(nvml: Any = None) -> int | None:
    """Device memory in use by everybody, in bytes; None where NVML does not say."""
    try:
        with _opened(nvml) as (library, handle):
            used = _memory(library, handle, 0)["used_bytes"]
    except NvmlMissingError:
        return None
    return used if isinstance(used, int) else None


def memory_back(
    start: int | None,
    used: Callable[[], int | None] = used_bytes,
    *,
    seconds: float | None = None,
    pause: float = 0.25,
) -> dict[str, Any]:
    """Wait until no more than RETURN_BYTES over `start` are taken, at most `seconds` (RETURN_SECONDS).

    Returns start, end and tolerance in bytes, seconds waited and "back": True, False or "not visible".
    """
    seconds = RETURN_SECONDS if seconds is None else seconds
    began = time.monotonic()
    end = used()
    while start is not None and end is not None and end > start + RETURN_BYTES:
        if time.monotonic() - began >= seconds:
            break
        time.sleep(pause)
        end = used()
    back = NOT_VISIBLE if start is None or end is None else end <= start + RETURN_BYTES
    waited = round(time.monotonic() - began, 3)
    return {
        "start_bytes": start, "end_bytes": end, "tolerance_bytes": RETURN_BYTES, "waited_s": waited, "back": back,
    }  # fmt: skip


# ---------------------------------------------------------------- judging


def is_ours_alone(before: Snapshot, after: Snapshot) -> dict[str, Any]:
    """Did the run have the device to itself, and was it the same sound device throughout?

    {"alone": "yes", "no" or "not visible", "problems": [...], "unseen": [...]}: "no" with any problem, "not
    visible" when nothing speaks against it but NVML did not say everything that would have to be known.
    """
    problems: list[str] = []
    unseen: list[str] = []
    for when, seen in (("before", before), ("after", after)):
        if seen["visible"]:
            found = _findings(seen)
            problems += [f"{when}: {text}" for text in found[0]]
            unseen += [f"{when}: {text}" for text in found[1]]
        else:
            unseen.append(f"{when}: the device ({seen['reason']})")
    if before["visible"] and after["visible"]:
        problems += _changes(before, after)
    alone = "no" if problems else NOT_VISIBLE if unseen else "yes"
    return {"alone": alone, "problems": problems, "unseen": unseen}


def _findings(seen: Snapshot) -> tuple[list[str], list[str]]:
    """What speaks against one snapshot, and what it could not see."""
    problems, unseen = [], []
    processes, memory = seen["processes"], seen["memory"]
    if processes == NOT_VISIBLE:
        unseen.append("processes")
    elif processes["others"]:
        problems.append(f"{processes['others']} processes that are not of this run are on the device")
    if memory["used_bytes"] == NOT_VISIBLE:
        unseen.append("memory")
    elif memory["used_bytes"] - memory["own_bytes"] > FOREIGN_BYTES:
        foreign = memory["used_bytes"] - memory["own_bytes"]
        problems.append(f"{foreign / 2**30:.1f} GiB of device memory are taken that this run did not take")
    if seen["mig"] == "on":
        problems.append("MIG is on: the device is cut into parts that others may use")
    elif seen["mig"] == NOT_VISIBLE:
        unseen.append("mig")
    if not isinstance(seen["ecc_uncorrected"], int):  # memory without ECC hides its errors too
        unseen.append("ecc_uncorrected")
    return problems, unseen


def _changes(before: Snapshot, after: Snapshot) -> list[str]:
    problems = [
        f"{name} was {before[name]} before the run and is {after[name]} after it"
        for name in ("name", "uuid_sha256", "driver", "cuda_driver")
        if before[name] != after[name]
    ]
    old, new = before["ecc_uncorrected"], after["ecc_uncorrected"]
    if isinstance(old, int) and isinstance(new, int) and new > old:
        problems.append(f"{new - old} uncorrected memory errors during the run")
    return problems


# ---------------------------------------------------------------- device.json


def record_before(stage: Stage) -> dict[str, Any]:
    """device.json as a run begins it; a run without a CUDA device says just that."""
    kind = stage.run.profile.runtime.device
    if kind != "cuda":
        return {"format": FORMAT, "kind": kind}
    stage.configure()  # before torch is imported, which a snapshot does
    return {"format": FORMAT, "kind": kind, "before": snapshot()}


def record_after(stage: Stage) -> dict[str, Any]:
    """device.json as a run ends it: the second snapshot, and the answer to `is_ours_alone`."""
    document: dict[str, Any] = stage.read_json("device.json")
    if document["kind"] != "cuda":
        return document
    stage.configure()
    after = snapshot()
    return document | {"after": after, "verdict": is_ours_alone(document["before"], after)}


def problems_at_start(document: dict[str, Any]) -> list[str]:
    """What already speaks against the device before anything has run on it."""
    before = document.get("before")
    return _findings(before)[0] if before and before["visible"] else []


def had_to_itself(document: dict[str, Any]) -> str:
    """The outcome in words: yes, no or not visible; a CPU is never asked."""
    return str(document["verdict"]["alone"]) if "verdict" in document else f"{document['kind']}: not asked"


def summary(document: dict[str, Any]) -> dict[str, Any]:
    """The facts of device.json worth a line each, newest snapshot last; {"device": "cpu"} for a CPU."""
    if document["kind"] != "cuda":
        return {"device": document["kind"]}
    return {
        f"{when} {name}": seen.get(name, seen.get("reason"))
        for when in ("before", "after")
        if (seen := document.get(when))
        for name in ("name", "driver", "mig", "ecc_uncorrected", "processes", "memory", "clocks_mhz", "slowdowns")
    }


# ---------------------------------------------------------------- asking NVML


def process_tree(root: int, proc: Path = Path("/proc")) -> frozenset[int]:
    """A process and everything it started, as far as /proc shows it."""
    children: dict[int, list[int]] = {}
    for entry in proc.glob("[0-9]*/stat"):
        try:
            # The second field is the command in parentheses and may hold anything; the parent follows it.
            fields = entry.read_text(errors="replace").rpartition(")")[2].split()
        except OSError:
            continue  # it ended while we looked
        children.setdefault(int(fields[1]), []).append(int(entry.parent.name))
    tree, waiting = {root}, [root]
    while waiting:
        found = [pid for pid in children.get(waiting.pop(), ()) if pid not in tree]
        tree.update(found)
        waiting += found
    return frozenset(tree)


@contextmanager
def _opened(nvml: Any) -> Iterator[tuple[Any, Any]]:
    """NVML initialised, and the handle of the device torch calls cuda:0."""
    library = nvml or _pynvml()
    try:
        library.nvmlInit()
    except library.NVMLError as error:
        raise NvmlMissingError(f"NVML does not start: {error}") from error
    try:
        try:
            handle = _handle(library, torch_uuid() if nvml is None else "")
        except library.NVMLError as error:
            raise NvmlMissingError(f"NVML does not know the device: {error}") from error
        yield library, handle
    finally:
        library.nvmlShutdown()


def _pynvml() -> Any:
    try:
        import pynvml
    except ImportError as error:
        raise NvmlMissingError("the package nvidia-ml-py is not installed") from error
    return pynvml


def torch_uuid() -> str:
    """UUID of cuda:0, which need not be NVML's first device; "" where torch sees no device."""
    import torch

    if not torch.cuda.is_available():
        raise NvmlMissingError("torch sees no CUDA device")
    return str(getattr(torch.cuda.get_device_properties(0), "uuid", ""))


def _handle(library: Any, uuid: str) -> Any:
    if not uuid:
        return library.nvmlDeviceGetHandleByIndex(0)
    named = uuid if uuid.startswith(("GPU-", "MIG-")) else f"GPU-{uuid}"
    return library.nvmlDeviceGetHandleByUUID(named)


def _hold_context() -> int:
    """Make this process one that uses the device; bytes its allocator holds."""
    import torch

    torch.zeros(1, device="cuda")
    return int(torch.cuda.memory_reserved())


def _facts(library: Any, handle: Any, own_bytes: int, pids: Collection[int]) -> Snapshot:
    def ask(question: Callable[[], Any]) -> Any:
        try:
            return question()
        except library.NVMLError as error:
            return NOT_SUPPORTED if error.value == library.NVML_ERROR_NOT_SUPPORTED else NOT_VISIBLE
        except AttributeError:  # a function this version of NVML does not have
            return NOT_VISIBLE

    def errors(kind: int) -> int:
        return int(library.nvmlDeviceGetTotalEccErrors(handle, kind, library.NVML_VOLATILE_ECC))

    def clock(kind: int) -> int:
        return int(library.nvmlDeviceGetClockInfo(handle, kind))

    listed = ask(lambda: _processes(library, handle))
    return {
        "name": ask(lambda: _text(library.nvmlDeviceGetName(handle))),
        "uuid_sha256": ask(lambda: _digest(_text(library.nvmlDeviceGetUUID(handle)))),
        "driver": ask(lambda: _text(library.nvmlSystemGetDriverVersion())),
        "cuda_driver": ask(lambda: _version(library.nvmlSystemGetCudaDriverVersion())),
        "capability": ask(lambda: "{}.{}".format(*library.nvmlDeviceGetCudaComputeCapability(handle))),
        "mig": ask(lambda: "on" if library.nvmlDeviceGetMigMode(handle)[0] else "off"),
        "ecc_uncorrected": ask(lambda: errors(library.NVML_MEMORY_ERROR_TYPE_UNCORRECTED)),
        "ecc_corrected": ask(lambda: errors(library.NVML_MEMORY_ERROR_TYPE_CORRECTED)),
        "clocks_mhz": {
            "sm": ask(lambda: clock(library.NVML_CLOCK_SM)),
            "sm_most": ask(lambda: int(library.nvmlDeviceGetMaxClockInfo(handle, library.NVML_CLOCK_SM))),
            "memory": ask(lambda: clock(library.NVML_CLOCK_MEM)),
        },
        "slowdowns": ask(lambda: _slowdowns(library.nvmlDeviceGetCurrentClocksEventReasons(handle))),
        "temperature_c": ask(lambda: int(library.nvmlDeviceGetTemperature(handle, library.NVML_TEMPERATURE_GPU))),
        "power_w": ask(lambda: library.nvmlDeviceGetPowerUsage(handle) / 1000),
        "power_limit_w": ask(lambda: library.nvmlDeviceGetEnforcedPowerLimit(handle) / 1000),
        "memory": _memory(library, handle, own_bytes),
        "processes": _attributed(listed, pids),
        "processes_listed": len(listed) if isinstance(listed, frozenset) else listed,
    }


def _memory(library: Any, handle: Any, own_bytes: int) -> dict[str, Any]:
    """Total and used bytes; what the driver keeps for itself is not "used" where NVML tells them apart."""
    for version in (getattr(library, "nvmlMemory_v2", None), None):
        try:
            found = library.nvmlDeviceGetMemoryInfo(handle, version)
        except library.NVMLError:
            continue
        return {"total_bytes": int(found.total), "used_bytes": int(found.used), "own_bytes": own_bytes}
    return {"total_bytes": NOT_VISIBLE, "used_bytes": NOT_VISIBLE, "own_bytes": own_bytes}


def _processes(library: Any, handle: Any) -> frozenset[int]:
    """Ids of all processes that compute or draw on the device."""
    listed = [
        *library.nvmlDeviceGetComputeRunningProcesses(handle), *library.nvmlDeviceGetGraphicsRunningProcesses(handle),
    ]  # fmt: skip
    return frozenset(int(process.pid) for process in listed)


def _attributed(listed: Any, pids: Collection[int]) -> Any:
    """How many listed processes are this one, others of this run, and others.

    This process holds a context, so a list without it is either empty for everybody or counts processes in
    another name space: nobody on it can be told from us.
    """
    own = os.getpid()
    if not isinstance(listed, frozenset) or own not in listed:
        return NOT_VISIBLE
    run = listed & set(pids) - {own}
    return {"own": 1, "run": len(run), "others": len(listed) - len(run) - 1}


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _slowdowns(bits: int) -> list[str]:
    return [text for bit, text in SLOWDOWNS.items() if bits & bit]


def _version(number: int) -> str:
    return f"{number // 1000}.{number % 1000 // 10}"


def _text(value: str | bytes) -> str:
    return value.decode() if isinstance(value, bytes) else value
