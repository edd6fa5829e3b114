"""A protocol that was published elsewhere and that users bring themselves: is it the published one?

Covers: the pins of such a protocol (format kit-protocol-pins/1) and holding a loaded folder to them. Pinned are
the SHA-256 of corpus.jsonl, the token total of every request, and for each request whose published answers are
known the SHA-256 of their probabilities, so that neither requests nor answers need to be kept here.
Does not cover: reading the folder (`kit.campaign.protocol`), which takes the published format as it is.

The digest of an answer is over `{question: {candidate: probability}}` as JSON with sorted keys and no spaces,
each probability in its shortest form that reads back as the same float.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kit.evidence.records import sha256_file, sha256_json

if TYPE_CHECKING:
    from kit.campaign.protocol import Protocol

FORMAT = "kit-protocol-pins/1"
SHOWN = 4


class PinsError(ValueError):
    """The pins cannot be read, or a protocol folder is not the one they pin."""


def check_published(protocol: Protocol, pins: Path) -> None:
    """Hold a loaded protocol to its pins. Raises PinsError naming what differs."""
    problems = [*differences(protocol, load_pins(pins))]
    if problems:
        more = f" and {len(problems) - SHOWN} more" if len(problems) > SHOWN else ""
        said = "; ".join(problems[:SHOWN])
        raise PinsError(f"{protocol.path.name} is not the protocol pinned in {pins.name}: {said}{more}")


def differences(protocol: Protocol, pins: Mapping[str, Any]) -> Iterator[str]:
    """What of a protocol is not as pinned, in words."""
    found = sha256_file(protocol.path / "corpus.jsonl")
    if found != pins["corpus_sha256"]:
        yield f"corpus.jsonl has SHA-256 {found[:16]}..., published was {pins['corpus_sha256'][:16]}..."
        return
    if protocol.frozen is None:
        yield "it has no reference.json, so there is nothing to judge against"
        return
    for name, pinned in pins["answers"].items():
        response = protocol.frozen.get(name)
        if response is None:
            yield f"{name} has no answer"
            continue
        tokens = response["usage"]["input_tokens"]
        if tokens != pinned["input_tokens"]:
            yield f"{name} counts {tokens} tokens, published were {pinned['input_tokens']}"
        if pinned["sha256"] is not None and answers_digest(response) != pinned["sha256"]:
            yield f"the answers to {name} are not the published ones"


def answers_digest(response: Mapping[str, Any]) -> str:
    """SHA-256 of a response's probabilities, see above."""
    probabilities = {
        question: {candidate: float(p) for candidate, p in answer["probabilities"].items()}
        for question, answer in response["answers"].items()
    }
    return sha256_json(probabilities)


def load_pins(path: Path) -> dict[str, Any]:
    """Read a pins file. Raises PinsError."""
    try:
        pins = dict(json.loads(path.read_text(encoding="utf-8")))
        if pins["format"] != FORMAT:
            raise ValueError(f"format is {pins['format']!r}, expected {FORMAT!r}")
        if not isinstance(pins["corpus_sha256"], str) or not pins["answers"]:
            raise ValueError("it needs corpus_sha256 and answers")
        for pinned in pins["answers"].values():
            pinned["input_tokens"], pinned["sha256"]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise PinsError(f"{path}: not usable as pins of a protocol: {error!r}") from error
    return pins
