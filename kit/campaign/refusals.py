"""The two requests every engine under test must refuse with 422.

Covers: their exact bytes, the same in every run, independent of the protocol.
Does not cover: prompts at and over the token budget and malformed JSON, which unit tests of the contract and
of the preparation cover without a server.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

# A plain blue 32x32 PNG, written out so that the request bytes depend on no image library.
PNG_BASE64 = (
    "iVBORw0KGgoAAAANSUhEUgAAACAAAAAgCAIAAAD8GO2jAAAAKklEQVR42mPQiFpAU8QwasGoBaMWjFowasGoBaMWjFowasGoBaMW"
    "DBULAEgoiD3xiSqXAAAAAElFTkSuQmCC"
)


@dataclass(frozen=True)
class Refused:
    """A request that must get 422, and the rule of the contract it breaks."""

    request_id: str
    rule: str
    body: bytes


def refused_requests() -> tuple[Refused, ...]:
    """Invalid base64, then one image too many, in the order they are sent."""
    return (
        Refused("refused-invalid-base64", "an image must be valid base64", _body(["iVBORw0KGgo*not-base64*"])),
        Refused("refused-five-images", "a request carries at most four images", _body([PNG_BASE64] * 5)),
    )


def _body(images: list[str]) -> bytes:
    request = {
        "state": "A request that has to be refused.",
        "questions": {"answered": {"type": "noul", "instructions": "Was this request answered?"}},
        "images": images,
    }
    return json.dumps(request, ensure_ascii=False, separators=(",", ":")).encode()
