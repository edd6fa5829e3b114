"""NVML without a GPU: pynvml's functions over facts a test sets, with errors where a container refuses."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

REFUSED, UNSUPPORTED = 4, 3  # NVML's own numbers


class FakeNvmlError(Exception):
    def __init__(self, value: int) -> None:
        super().__init__(f"error {value}")
        self.value = value


@dataclass
class FakeNvml:
    """A device nobody else uses, listing this process. refused, unsupported: functions that answer so."""

    NVMLError = FakeNvmlError
    NVML_ERROR_NOT_SUPPORTED = UNSUPPORTED
    NVML_VOLATILE_ECC = 0
    NVML_MEMORY_ERROR_TYPE_CORRECTED, NVML_MEMORY_ERROR_TYPE_UNCORRECTED = 0, 1
    NVML_CLOCK_SM, NVML_CLOCK_MEM = 1, 2
    NVML_TEMPERATURE_GPU = 0
    nvmlMemory_v2 = 0x02000028  # noqa: N815

    pids: list[int] = field(default_factory=lambda: [os.getpid()])
    drawing: list[int] = field(default_factory=list)
    driver: str | bytes = "580.1"
    mig: int = 0
    uncorrected: int = 0
    used: int = 600 << 20
    reasons: int = 0
    refused: tuple[str, ...] = ()
    unsupported: tuple[str, ...] = ()
    opened: int = 0

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("nvml"):
            raise AttributeError(name)
        if name in self.refused:
            return self._raise(REFUSED)
        if name in self.unsupported:
            return self._raise(UNSUPPORTED)
        return {
            "nvmlInit": lambda: self._open(1),
            "nvmlShutdown": lambda: self._open(-1),
            "nvmlDeviceGetHandleByIndex": lambda index: "handle",
            "nvmlDeviceGetName": lambda handle: "Made-up GPU",
            "nvmlDeviceGetUUID": lambda handle: "GPU-0000-secret",
            "nvmlSystemGetDriverVersion": lambda: self.driver,
            "nvmlSystemGetCudaDriverVersion": lambda: 13010,
            "nvmlDeviceGetCudaComputeCapability": lambda handle: (9, 0),
            "nvmlDeviceGetMigMode": lambda handle: [self.mig, 0],
            "nvmlDeviceGetTotalEccErrors": lambda handle, kind, counter: self.uncorrected if kind else 7,
            "nvmlDeviceGetClockInfo": lambda handle, kind: 1980,
            "nvmlDeviceGetMaxClockInfo": lambda handle, kind: 1980,
            "nvmlDeviceGetCurrentClocksEventReasons": lambda handle: self.reasons,
            "nvmlDeviceGetTemperature": lambda handle, sensor: 40,
            "nvmlDeviceGetPowerUsage": lambda handle: 123_456,
            "nvmlDeviceGetEnforcedPowerLimit": lambda handle: 700_000,
            "nvmlDeviceGetMemoryInfo": lambda handle, version=None: SimpleNamespace(total=141 << 30, used=self.used),
            "nvmlDeviceGetComputeRunningProcesses": lambda handle: _listed(self.pids),
            "nvmlDeviceGetGraphicsRunningProcesses": lambda handle: _listed(self.drawing),
        }[name]

    def _open(self, step: int) -> None:
        self.opened += step

    @staticmethod
    def _raise(value: int) -> Any:
        def refuse(*_: object) -> None:
            raise FakeNvmlError(value)

        return refuse


def _listed(pids: list[int]) -> list[SimpleNamespace]:
    return [SimpleNamespace(pid=pid, usedGpuMemory=1) for pid in pids]
