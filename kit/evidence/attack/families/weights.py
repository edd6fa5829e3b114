"""checkpoint.json and the label head: other digests, sums, labels, rows and files than were run; all re-sealed."""

from __future__ import annotations

import random
import struct
from collections.abc import Iterator
from functools import partial

from kit.evidence.attack.deeds import assign, change, drop
from kit.evidence.attack.mutation import Deed, Mutation
from kit.evidence.attack.suspect import Content, Suspect
from kit.evidence.audit.numbers import bf16

NAME, HEAD = "checkpoint.json", "records/label_head.bin"


def mutations(clean: Content, chance: random.Random) -> Iterator[Mutation]:
    if not clean.has(NAME):
        return
    made = partial(Mutation, "weights", sealing="resealed")
    for what, deed in {
        "another digest": assign(NAME, "digest", to="9" * 64),
        "another sum of weights": assign(NAME, "weights_sum", to="1" * 64),
        "no sum of weights": drop(NAME, "weights_sum"),
        "another kind": assign(NAME, "kind", to="folder"),
        "another source": assign(NAME, "source", to="the published weights"),
        "a label less": change(NAME, "label_head", "ids", by=lambda ids: ids[:-1]),
        "a label twice": change(NAME, "label_head", "ids", by=lambda ids: [ids[0], *ids[:-1]]),
        "another width": change(NAME, "label_head", "shape", by=lambda shape: [shape[0], shape[1] // 2]),
        "another digest of rows": assign(NAME, "label_head", "rows_sha256", to="0" * 64),
        "no label head": drop(NAME, "label_head"),
        "no calibration": drop(NAME, "calibration"),
        "another threshold as a text": assign(NAME, "calibration", "threshold", to="none"),
        "a file of another digest": change(NAME, "files", by=lambda files: {**files, next(iter(files)): "0" * 64}),
        "a file less": change(NAME, "files", by=lambda files: dict(list(files.items())[1:])),
        "more tensors": change(NAME, "tensors", by=lambda t: {**t, "base": {"BF16": 99999}}),
        "another format": assign(NAME, "format", to="kit-checkpoint/9"),
    }.items():
        yield made(what, deed, (NAME, HEAD, "records/"))
    data = clean.read(HEAD)
    for what, edited in {
        "label rows cut short": data[:-2],
        "label rows of zeros": bytes(len(data)),
        "two label rows exchanged": exchanged(data),
        "a label row doubled": doubled(data),
        "label rows with NaN": b"\xc0\x7f" + data[2:],
    }.items():
        yield made(what, rows(edited), (HEAD, "records/", NAME))


def rows(data: bytes) -> Deed:
    def deed(suspect: Suspect) -> None:
        suspect.write(HEAD, data)

    return deed


def exchanged(data: bytes) -> bytes:
    width = len(data) // 32
    return data[width : 2 * width] + data[:width] + data[2 * width :]


def doubled(data: bytes) -> bytes:
    """The first label's row times two."""
    width = len(data) // 32
    return b"".join(struct.pack("<f", 2 * value)[2:] for value in bf16(data[:width])) + data[width:]
