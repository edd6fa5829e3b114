"""The two requests every worker answers for itself before it listens.

A text and an image request go through the whole pipeline (parse, pixels, engine, response), so that a broken
checkpoint or device shows as a failed start and not as the first client's error. They are recorded as
warm-ups, without a sequence number: they do fill graph caches.
"""

from __future__ import annotations

import base64
import io
import json
from typing import TYPE_CHECKING, Any

from kit.contract.answer import response_bytes
from kit.serve.recorder import Recorder

if TYPE_CHECKING:
    from kit.engine.base import Engine

IMAGE_SIDE = 32


def warm_up(engine: Engine, model: str, recorder: Recorder) -> None:
    """Answer the text request, then the image request. Any exception means the worker must not start."""
    for name, body in (("text", text_request()), ("image", image_request())):
        prepared = engine.prepare(body)
        decision = engine.decide(prepared)
        response_bytes(model, decision.answers, decision.input_tokens, 1.0)
        recorder.forwards(prepared, decision, None, name)


def text_request() -> bytes:
    """A small request with one choice."""
    return _body(
        {
            "state": "A worker has loaded its model and reads a first request.",
            "questions": {
                "next": {
                    "type": "choice",
                    "instructions": "What should the worker do?",
                    "criteria": {"answer": "Answer the request.", "wait": "Wait for another request."},
                }
            },
        }
    )


def image_request() -> bytes:
    """A small request with one image: two halves, green over grey."""
    from PIL import Image

    picture = Image.new("RGB", (IMAGE_SIDE, IMAGE_SIDE), (96, 96, 96))
    picture.paste((32, 160, 64), (0, 0, IMAGE_SIDE, IMAGE_SIDE // 2))
    file = io.BytesIO()
    picture.save(file, format="PNG")
    return _body(
        {
            "state": "The picture is a status lamp.",
            "questions": {"lit": {"type": "noul", "instructions": "Is the lamp lit?"}},
            "images": [base64.b64encode(file.getvalue()).decode("ascii")],
        }
    )


def _body(request: dict[str, Any]) -> bytes:
    return json.dumps(request, ensure_ascii=False, separators=(",", ":")).encode()
