"""The auditor on a checkpoint that lies in the project: its pinned digest, and its small files among the packed sources."""

from __future__ import annotations

import hashlib
from typing import Any, cast

import pytest

from kit.evidence.audit import checkpoint
from kit.evidence.audit.reading import Bundle

ROWS = bytes(64)
CONFIG = b'{"model_type":"qwen3_5"}\n'
WANTED = {"kind": "folder", "digest": "d" * 64, "base": "kit/checkpoint/decider/base", "adapter": "kit/checkpoint/decider/adapter"}
FILES = {"base/config.json": hashlib.sha256(CONFIG).hexdigest(), "base/model.safetensors": "9" * 64}


class Told:
    """As much of a bundle as these checks read; keeps what they find."""

    recorded_engines: tuple[str, ...] = ()

    def __init__(self, **wanted: str) -> None:
        self.profile = {"checkpoint": WANTED | wanted}
        self.problems: list[str] = []
        self.left: list[str] = []
        self.document: dict[str, Any] = {
            "digest": "d" * 64,
            "label_head": {
                "ids": list(range(32)), "shape": [32, 1], "file": "records/label_head.bin",
                "rows_sha256": hashlib.sha256(ROWS).hexdigest(),
            },
            "calibration": {"temperature": 1.0, "mm_temperature": 1.0},
        }  # fmt: skip

    def exists(self, name: str) -> bool:
        return True

    def json(self, name: str) -> Any:
        return self.document

    def read(self, name: str) -> bytes:
        return ROWS

    def sources(self) -> dict[str, bytes]:
        return {"kit/checkpoint/decider/base/config.json": CONFIG, "kit/checkpoint/tiny/base/config.json": b"{}\n"}

    def expect(self, where: str, found: Any, expected: Any) -> None:
        if found != expected:
            self.problems.append(where)

    def fail(self, where: str, why: str) -> None:
        self.problems.append(where)

    def leave(self, what: str) -> None:
        self.left.append(what)


def digest_problems(told: Told) -> list[str]:
    checkpoint.check_checkpoint(cast(Bundle, told))
    return told.problems


def file_problems(told: Told, files: dict[str, str]) -> list[str]:
    checkpoint.compare_shipped(cast(Bundle, told), files)
    return told.problems


def test_the_pinned_digest_is_held() -> None:
    told = Told()
    assert digest_problems(told) == []
    assert told.left == ["weights (folder): their files are not in the bundle"]
    assert digest_problems(Told(digest="e" * 64)) == ["checkpoint.json digest"]


def test_without_a_pin_any_folder_is_told_as_it_was() -> None:
    assert digest_problems(Told(digest="")) == []


def test_small_files_are_the_packed_sources() -> None:
    assert file_problems(Told(), FILES) == []
    assert file_problems(Told(), FILES | {"base/config.json": "0" * 64}) == [
        "checkpoint.json files base/config.json, from the packed sources"
    ]


@pytest.mark.parametrize("wanted", [{"base": "/elsewhere/base"}, {"kind": "hub"}])
def test_files_from_elsewhere_are_not_compared(wanted: dict[str, str]) -> None:
    assert file_problems(Told(**wanted), FILES | {"base/config.json": "0" * 64}) == []
