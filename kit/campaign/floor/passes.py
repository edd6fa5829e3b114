"""The finished passes of a floor, kept until the floor is written: one that ended in the middle goes on from them.

Covers: one JSON file a pass, written whole or not at all, with the circumstances it was measured in; a pass is taken again
only where all of these are the same, else it is measured anew, and either is said. Does not cover: what a pass measures, or in
which order (`running`).
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kit import runtime
from kit.campaign import draws, tune
from kit.campaign.floor.asking import Answer
from kit.evidence import provenance
from kit.evidence.floats import decode_float32, decode_float64, float32_hex, float64_hex
from kit.evidence.records import sha256_bytes, sha256_json, write_atomic

if TYPE_CHECKING:
    from torch import Tensor

    from kit.campaign.floor.asking import Question
    from kit.profile import Profile

FORMAT = "kit-floor-pass/1"


def circumstances(profile: Profile, asked: Sequence[Question], proved_on: int) -> dict[str, Any]:
    """All that a pass depends on before anything is loaded, by the words a person is told it with.

    asked: its questions, the first `proved_on` of which forms are proved on. Process settings of the profile must be in force.
    """
    processor = provenance.cpu_facts()
    del processor["logical_cores"]  # the profile says how many threads there are
    code = {name: digest for name, digest in provenance.hash_sources().items() if name.startswith("kit/")}
    return {
        "profile": profile.sha256(),
        "questions": sha256_json([[item.request, item.index, sha256_bytes(item.body)] for item in asked]),
        "questions of the proof": proved_on,
        "code of the kit": draws.sources_digest(code),
        "packages": provenance.installed_versions(),
        "processor": processor,
        "device": provenance.device_facts(),
        "kernel settings": tune.origin(profile)["environment"],
        "process settings": runtime.settings(),
    }


class Passes:
    """The passes kept in a folder, which is made with the first one.

    folder: None keeps nothing. fresh: forget what an earlier floor left there. `under`: what a pass depends on; more may be
    added as it becomes known, and each pass may name some of its own.
    """

    def __init__(self, folder: Path | None, *, fresh: bool = False) -> None:
        self.folder, self.under, self.finished = folder, dict[str, Any](), 0
        if fresh:
            self.remove()

    def find(self, name: str, **own: Any) -> Any:
        """What was kept of a pass; None where nothing was, or where it was measured under other circumstances."""
        file = self._file(name)
        if file is None or not file.exists():
            return None
        try:
            document = json.loads(file.read_text(encoding="utf-8"))
            kept, value = dict(document["under"]), document["value"]
            whole = document["format"] == FORMAT and sha256_json(value) == document["sha256"]
        except (ValueError, TypeError, KeyError):
            whole = False
        if not whole:
            say(f"{name}: what was kept of it is damaged, so it is measured anew")
            return None
        now = self._now(own)
        if changed := sorted(key for key in kept.keys() | now.keys() if kept.get(key) != now.get(key)):
            say(f"{name}: kept under other circumstances ({', '.join(changed)}), so it is measured anew")
            return None
        say(f"{name}: kept from before, not measured again")
        self.finished += 1
        return value

    def keep(self, name: str, value: Any, **own: Any) -> None:
        """Keep a pass. value: as JSON has it, and not null."""
        if (file := self._file(name)) is not None:
            file.parent.mkdir(parents=True, exist_ok=True)
            document = {"format": FORMAT, "under": self._now(own), "sha256": sha256_json(value), "value": value}
            write_atomic(file, json.dumps(document, allow_nan=False).encode())
            self.finished += 1

    def take(self, name: str, measure: Callable[[], Any], **own: Any) -> Any:
        """A pass from before, or measured now and kept."""
        value = self.find(name, **own)
        if value is None:
            value = measure()
            self.keep(name, value, **own)
        return value

    def interrupted(self) -> str:
        """What is kept when a floor ends here, and how to go on."""
        if self.folder is None:
            return "interrupted; nothing is kept, as neither --out nor --run says where"
        if not self.finished:
            return "interrupted before a pass was finished, so nothing is kept"
        passes = "1 finished pass is" if self.finished == 1 else f"{self.finished} finished passes are"
        return f"interrupted; {passes} kept in {self.folder}: the same command goes on from there, with --fresh it begins anew"

    def remove(self) -> None:
        """Drop what is kept; other files in the folder stay, and the folder with them."""
        if self.folder is None or not self.folder.is_dir():
            return
        for file in self.folder.glob("*.pass.json"):
            file.unlink()
        if not any(self.folder.iterdir()):
            self.folder.rmdir()

    def _file(self, name: str) -> Path | None:
        return None if self.folder is None else self.folder / f"{name.replace(' ', '-')}.pass.json"

    def _now(self, own: Mapping[str, Any]) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(json.dumps({**self.under, **own}))  # tuples as lists, as in what was kept
        return found


def answers_json(answers: Sequence[Answer]) -> list[list[str]]:
    """Answers as JSON has them, bit for bit."""
    return [[float32_hex(answer.logits), answer.row.hex()] for answer in answers]


def read_answers(found: Sequence[Sequence[str]]) -> list[Answer]:
    """The answers behind `answers_json`."""
    return [Answer(decode_float32(logits), bytes.fromhex(row)) for logits, row in found]


def rows_json(rows: Sequence[Tensor]) -> list[str]:
    """FP64 rows as JSON has them, bit for bit."""
    return [float64_hex(row.tolist()) for row in rows]


def read_rows(found: Sequence[str]) -> list[Tensor]:
    """The rows behind `rows_json`, on the CPU."""
    import torch

    return [torch.tensor(decode_float64(row), dtype=torch.float64) for row in found]


def say(text: str) -> None:
    """A line for whoever waits."""
    print(text, file=sys.stderr, flush=True)
