"""cuBLASLt bound with ctypes: one BF16 product with an algorithm of one's own choice.

Covers: `LtLibrary`, the library that torch has loaded and a handle, and `LtProduct`, y = x w^T with FP32
accumulation: the algorithms the library suggests for it, and a launch with one of them, which can be captured
like any kernel. torch itself asks for the first suggestion only (and its TunableOp searches hipBLASLt, not this
library).
Does not cover: choosing (`kit.campaign.performance.cublaslt_search`, in a process of its own), epilogues, other
dtypes, or devices without BF16 tensor cores.
"""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

WORKSPACE_BYTES = 64 << 20
SUGGESTIONS = 16
ALIGNMENT = 256  # bytes; what the library takes for granted unless it is told otherwise

# Values of cublasLt.h and library_types.h.
BF16, FP32 = 14, 0
COMPUTE_32F = 68
DESC_TRANSA = 3
TRANSPOSED = 1
PREF_MAX_WORKSPACE = 1


class CublasLtError(RuntimeError):
    """The library is not there, or refused a call."""


class _Suggestion(ctypes.Structure):
    """cublasLtMatmulHeuristicResult_t. The algorithm is opaque: 64 bytes."""

    _fields_ = (
        ("algorithm", ctypes.c_uint64 * 8),
        ("workspace_bytes", ctypes.c_size_t),
        ("state", ctypes.c_int),
        ("waves", ctypes.c_float),
        ("reserved", ctypes.c_int * 4),
    )


class LtLibrary:
    """The library and a handle. Raises CublasLtError where torch has not loaded it."""

    def __init__(self, device: torch.device) -> None:
        self._library = ctypes.CDLL(_loaded_library())
        self._handle = ctypes.c_void_p()
        self.call("cublasLtCreate", ctypes.byref(self._handle))
        self.workspace = torch.empty(WORKSPACE_BYTES, dtype=torch.uint8, device=device)

    @property
    def handle(self) -> ctypes.c_void_p:
        return self._handle

    def call(self, name: str, *arguments: Any) -> None:
        """Call a function of the library. Raises CublasLtError with the status it returned."""
        status = getattr(self._library, name)(*arguments)
        if status != 0:
            raise CublasLtError(f"{name} returned status {status}")

    def layout(self, rows: int, columns: int) -> ctypes.c_void_p:
        """A BF16 matrix as the library sees it: columns are contiguous."""
        made = ctypes.c_void_p()
        size = (ctypes.c_int(BF16), ctypes.c_uint64(rows), ctypes.c_uint64(columns), ctypes.c_int64(rows))
        self.call("cublasLtMatrixLayoutCreate", ctypes.byref(made), *size)
        return made

    def close(self) -> None:
        self.call("cublasLtDestroy", self._handle)


class LtProduct:
    """y [T, N] = x [T, K] w^T for weights w [N, K], `rows` of them being N. An algorithm is 64 opaque bytes."""

    def __init__(self, library: LtLibrary, x: Tensor, rows: int) -> None:
        tokens, width = x.shape
        self._library = library
        self._x = x
        self.y = torch.empty(tokens, rows, dtype=x.dtype, device=x.device)
        # Row major y = x w^T is, column major, y^T = w x^T: w comes transposed, x as it is.
        self._layouts = (library.layout(width, rows), library.layout(width, tokens), library.layout(rows, tokens))
        self._operation = ctypes.c_void_p()
        library.call(
            "cublasLtMatmulDescCreate", ctypes.byref(self._operation), ctypes.c_int(COMPUTE_32F), ctypes.c_int(FP32)
        )
        transposed = ctypes.c_int32(TRANSPOSED)
        library.call(
            "cublasLtMatmulDescSetAttribute", self._operation, ctypes.c_int(DESC_TRANSA), ctypes.byref(transposed),
            ctypes.c_size_t(4),
        )  # fmt: skip
        self._one, self._zero = ctypes.c_float(1.0), ctypes.c_float(0.0)

    def run(self, weight: Tensor, algorithm: bytes) -> Tensor:
        """Launch on the current stream; the result is overwritten by the next run.

        Raises CublasLtError for a weight the layouts are not true of, or when the library refuses.
        """
        self._check(weight)
        w, x, y = self._layouts
        stream = torch.cuda.current_stream(self.y.device).cuda_stream
        out, work = ctypes.c_void_p(self.y.data_ptr()), self._library.workspace
        chosen = (ctypes.c_uint64 * 8).from_buffer_copy(algorithm)
        self._library.call(
            "cublasLtMatmul", self._library.handle, self._operation, ctypes.byref(self._one),
            ctypes.c_void_p(weight.data_ptr()), w, ctypes.c_void_p(self._x.data_ptr()), x,
            ctypes.byref(self._zero), out, y, out, y, ctypes.byref(chosen),
            ctypes.c_void_p(work.data_ptr()), ctypes.c_size_t(work.numel()), ctypes.c_void_p(stream),
        )  # fmt: skip
        return self.y

    def suggestions(self) -> list[bytes]:
        """Algorithms for this product, by the library's own guess the fastest first."""
        preference, found = ctypes.c_void_p(), ctypes.c_int(0)
        results = (_Suggestion * SUGGESTIONS)()
        size = ctypes.c_uint64(WORKSPACE_BYTES)
        call = self._library.call
        call("cublasLtMatmulPreferenceCreate", ctypes.byref(preference))
        call(
            "cublasLtMatmulPreferenceSetAttribute", preference, ctypes.c_int(PREF_MAX_WORKSPACE), ctypes.byref(size),
            ctypes.c_size_t(8),
        )  # fmt: skip
        w, x, y = self._layouts
        call(
            "cublasLtMatmulAlgoGetHeuristic", self._library.handle, self._operation, w, x, y, y, preference,
            ctypes.c_int(SUGGESTIONS), results, ctypes.byref(found),
        )  # fmt: skip
        call("cublasLtMatmulPreferenceDestroy", preference)
        return [bytes(item.algorithm) for item in results[: found.value] if item.state == 0]

    def _check(self, weight: Tensor) -> None:
        shape = (self.y.shape[1], self._x.shape[1])
        tensors = (weight, self._x, self.y)
        if weight.shape != shape or any(t.dtype != torch.bfloat16 or not t.is_contiguous() for t in tensors):
            raise CublasLtError(
                f"expected contiguous BF16 weights {list(shape)}, got {weight.dtype} {list(weight.shape)}"
            )
        if any(t.data_ptr() % ALIGNMENT for t in tensors):
            raise CublasLtError(f"a tensor does not begin at a multiple of {ALIGNMENT} bytes")


def _loaded_library() -> str:
    """Path of the libcublasLt that this process has mapped. Raises CublasLtError where there is none."""
    maps = Path("/proc/self/maps")
    if maps.exists():
        for line in maps.read_text().splitlines():
            if "libcublasLt.so" in line:
                return line.split(maxsplit=5)[5]
    raise CublasLtError("no libcublasLt is loaded in this process")
