"""The record file."""

from __future__ import annotations

import hashlib
import json
import math
from pathlib import Path

import pytest

from kit.serve.recorder import Recorder, RecordError, post_line
from kit.serve.warmup import image_request, text_request, warm_up
from tests.serve.fake_engine import FakeEngine


def test_lines_are_in_the_file_as_soon_as_they_are_written(tmp_path: Path) -> None:
    path = tmp_path / "new" / "worker.jsonl"
    recorder = Recorder(path, "native", "JEMM")
    recorder.write({"kind": "post", "path": "/café"}, {"kind": "post"})
    text = path.read_text(encoding="utf-8")
    assert text.count("\n") == 3
    assert "/café" in text
    recorder.close()


def test_a_record_is_never_continued_by_another_worker(tmp_path: Path) -> None:
    path = tmp_path / "worker.jsonl"
    Recorder(path, "native", "JEMM").close()
    with pytest.raises(RecordError, match="one worker"):
        Recorder(path, "native", "JEMM")


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(RecordError, match="cannot create"):
        Recorder(tmp_path / "file" / "folder" / "worker.jsonl", "native", "JEMM")


def test_numbers_json_does_not_have_are_refused(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "worker.jsonl", "native", "JEMM")
    with pytest.raises(ValueError, match="JSON compliant"):
        recorder.write(post_line(1, "/", 200, "0", "0", math.nan))
    assert len((tmp_path / "worker.jsonl").read_text().splitlines()) == 1
    recorder.close()


def test_without_a_path_lines_are_accepted_and_dropped() -> None:
    recorder = Recorder(None, "native", "JEMM")
    recorder.write({"kind": "post"})
    recorder.close()


def test_warm_ups_are_text_then_image_and_have_no_number(tmp_path: Path) -> None:
    path = tmp_path / "worker.jsonl"
    recorder = Recorder(path, "fake", "JEMM")
    warm_up(FakeEngine(), "JEMM", recorder)
    recorder.close()
    lines = [json.loads(line) for line in path.read_text().splitlines()][1:]
    assert [(line["kind"], line["warmup"], line["sequence"]) for line in lines] == [
        ("question", "text", None), ("vision", "image", None), ("question", "image", None),
    ]  # fmt: skip


def test_warm_up_bodies_are_ordinary_requests() -> None:
    for body, images in ((text_request(), 0), (image_request(), 1)):
        request = FakeEngine().prepare(body).request
        assert [(image.width, image.height) for image in request.images] == [(32, 32)] * images


def test_a_hidden_row_is_a_file_named_by_its_digest_and_kept_once(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "worker.jsonl", "fake", "JEMM")
    warm_up(FakeEngine(), "JEMM", recorder)
    recorder.close()
    lines = [json.loads(line) for line in (tmp_path / "worker.jsonl").read_text().splitlines()][1:]
    named = {line["hidden"] for line in lines if line["kind"] == "question"}
    rows = {row.name: row.read_bytes() for row in (tmp_path / "worker.rows").iterdir()}
    assert set(rows) == named
    assert all(hashlib.sha256(row).hexdigest() == name for name, row in rows.items())
