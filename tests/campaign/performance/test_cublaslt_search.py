"""The search process as its caller sees it: what it found, and why it did not find the rest."""

from __future__ import annotations

import json
import sys

import pytest

from kit.campaign.performance.cublaslt import CublasLtError
from kit.campaign.performance.cublaslt_search import Search

LINE = json.dumps({"key": [98, 48, 64], "algorithm": "01" * 64, "ms": 0.5, "tried": 3})


def asked(program: str, seconds: float = 20) -> Search:
    """A search by a process that runs `program`."""
    search = Search((sys.executable, "-c", program))
    search.ask("cuda:0", [98], [(48, 64), (64, 64)], seconds)
    return search


def test_what_a_process_found_is_known_by_tokens_and_shape() -> None:
    search = asked(f"import sys; assert '[48, 64]' in sys.stdin.read(); print('{LINE}')")
    assert search.algorithm(98, (48, 64)) == b"\x01" * 64
    with pytest.raises(CublasLtError, match=r"no algorithm for \[98, 64\] by \[64, 64\].*ended with code 0"):
        search.algorithm(98, (64, 64))


def test_a_process_that_is_taken_down_leaves_what_it_found_before() -> None:
    search = asked(f"import os, sys; sys.stdin.read(); print('{LINE}', flush=True); os.kill(os.getpid(), 11)")
    assert search.algorithm(98, (48, 64))
    with pytest.raises(CublasLtError, match="ended with code -11"):
        search.algorithm(98, (64, 64))


def test_a_process_that_hangs_is_stopped() -> None:
    search = asked(f"import sys, time; sys.stdin.read(); print('{LINE}', flush=True); time.sleep(60)", seconds=2)
    assert search.algorithm(98, (48, 64))
    with pytest.raises(CublasLtError, match="stopped after 2 s"):
        search.algorithm(98, (64, 64))


def test_an_unasked_process_ends_with_its_search() -> None:
    search = Search((sys.executable, "-c", "import sys; sys.stdin.read()"))
    search.close()
    assert search._process.returncode is not None
    with pytest.raises(CublasLtError, match="it was not asked"):
        search.algorithm(98, (48, 64))
