"""What the page is made of: the run's JSON documents, its records of answers, its figures. Whatever is absent is empty.

Covers: reading without trusting: a document that cannot be read is an empty one, and the section that needs it is left
out. Nothing is computed here and nothing here is evidence. Does not cover: checking (`kit.evidence.audit`).
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from kit.evidence.floats import decode_float32

MOST_BYTES = 1 << 28


@dataclass(frozen=True)
class Answered:
    """One engine's answer to a question: label logits by candidate where its worker recorded them."""

    candidates: tuple[str, ...]
    logits: tuple[float, ...]


@dataclass
class RunFiles:
    """A run folder, each file read once."""

    path: Path
    _memory: dict[str, Any] = field(default_factory=dict)

    def json(self, name: str) -> dict[str, Any]:
        """A JSON object of the run; {} where there is none."""
        if name not in self._memory:
            found = _parsed(self._text(name))
            self._memory[name] = found if isinstance(found, dict) else {}
        document: dict[str, Any] = self._memory[name]
        return document

    def lines(self, name: str) -> list[dict[str, Any]]:
        """The objects of a JSONL record, its header first."""
        found = [_parsed(line) for line in self._text(name).splitlines()]
        return [line for line in found if isinstance(line, dict)]

    def _text(self, name: str) -> str:
        file = self.path / name
        if not file.is_file() or file.stat().st_size > MOST_BYTES:
            return ""
        return file.read_text(encoding="utf-8", errors="replace")

    @cached_property
    def figures(self) -> dict[str, bytes]:
        """PNG by name."""
        return {file.stem: file.read_bytes() for file in sorted((self.path / "figures").glob("*.png")) if file.is_file()}

    @property
    def verdict(self) -> dict[str, Any]:
        return self.json("verdict.json")

    @cached_property
    def reference(self) -> str:
        campaign = self.json("profile.json").get("campaign")
        return str(campaign.get("reference", "")) if isinstance(campaign, dict) else ""

    def answers(self, engine: str) -> dict[tuple[str, str], Answered]:
        """(request, question) -> what an engine's worker recorded in the first measured pass."""
        asked = {
            line.get("sequence"): str(line.get("request_id"))
            for line in self.lines(f"records/{engine}/exchanges.jsonl")
            if line.get("phase") == "measured" and line.get("pass") == 1 and line.get("status") == 200
        }
        found = {}
        for line in self.lines(f"records/{engine}/worker.jsonl"):
            if line.get("kind") == "question" and line.get("sequence") in asked:
                logits = decode_float32(line["logits"])
                names = tuple(map(str, line["candidates"]))
                found[asked[line["sequence"]], str(line["question"])] = Answered(names, logits)
        return found


def _parsed(content: str) -> Any:
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return None
