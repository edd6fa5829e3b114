"""The same request in other bytes: JSON, text and pictures that mean what they meant.

Each function takes a body and gives another one that has to be answered alike. One that finds nothing to change in
a body returns it as it is.
"""

from __future__ import annotations

import base64
import io
import json
import unicodedata
from collections.abc import Callable
from typing import Any

from PIL import Image as Pillow
from PIL.PngImagePlugin import PngInfo

Respell = Callable[[bytes], bytes]


def _compact(request: Any) -> bytes:
    return json.dumps(request, ensure_ascii=False, separators=(",", ":")).encode()


def keys_in_another_order(body: bytes) -> bytes:
    """Top-level keys, and those of each question, back to front; questions and candidates keep theirs."""
    request = json.loads(body)
    request["questions"] = {name: dict(reversed(question.items())) for name, question in request["questions"].items()}
    return _compact(dict(reversed(request.items())))


def indented(body: bytes) -> bytes:
    return json.dumps(json.loads(body), ensure_ascii=False, indent="\t").encode() + b"\n"


def escaped(body: bytes) -> bytes:
    """Everything beyond ASCII as \\u escapes, every slash escaped."""
    return json.dumps(json.loads(body), ensure_ascii=True).replace("/", "\\/").encode()


def utf_16(body: bytes) -> bytes:
    return body.decode().encode("utf-16")


def model_named(name: str) -> Respell:
    return lambda body: _compact({"model": name, **json.loads(body)})


def unknown_keys(body: bytes) -> bytes:
    """Keys that the official server ignores."""
    request = json.loads(body)
    questions = {name: {**question, "note": "ignored"} for name, question in request["questions"].items()}
    return _compact({**request, "questions": questions, "trace_id": "c0ffee", "stream": False})


def no_images_listed(body: bytes) -> bytes:
    """An empty list where there are no images."""
    request = json.loads(body)
    return body if request.get("images") else _compact({**request, "images": []})


def default_type_left_out(body: bytes) -> bytes:
    request = json.loads(body)
    for question in request["questions"].values():
        if question.get("type") == "choice":
            del question["type"]
    return _compact(request)


def blanks_in_instructions(body: bytes) -> bytes:
    """Runs of white space, which are one blank to the prompt."""
    request = json.loads(body)
    for question in request["questions"].values():
        if "instructions" in question:
            question["instructions"] = "\n " + str(question["instructions"]).replace(" ", " \t\n ") + "  "
    return _compact(request)


def blanks_around_state(body: bytes) -> bytes:
    """White space around a text state, which is stripped."""
    request = json.loads(body)
    if isinstance(request.get("state"), str):
        request["state"] = f" \n{request['state']}\n\n "
    return _compact(request)


def state_as_text(body: bytes) -> bytes:
    """A structured state as the JSON text it is rendered as."""
    request = json.loads(body)
    if not isinstance(request.get("state"), str):
        request["state"] = json.dumps(request["state"], ensure_ascii=False, separators=(",", ":"))
    return _compact(request)


def decomposed(body: bytes) -> bytes:
    """Accents as characters of their own, which the tokenizer puts together again."""
    return unicodedata.normalize("NFD", body.decode()).encode()


def questions(body: bytes) -> list[str]:
    """Ids of the questions, in order."""
    return list(json.loads(body)["questions"])


def only(body: bytes, names: tuple[str, ...]) -> bytes:
    """The request with some of its questions."""
    request = json.loads(body)
    return _compact({**request, "questions": {name: request["questions"][name] for name in names}})


def with_question(body: bytes) -> bytes:
    """The request with one question more, before its own."""
    request = json.loads(body)
    more = {"sibling": {"type": "noul", "instructions": "Is there another question?"}}
    return _compact({**request, "questions": more | request["questions"]})


def _pictures(change: Callable[[str], str]) -> Respell:
    def respell(body: bytes) -> bytes:
        request = json.loads(body)
        if request.get("images"):
            request["images"] = [change(item) for item in request["images"]]
        return _compact(request)

    return respell


def _bytes(item: str) -> bytes:
    return base64.b64decode(item.rpartition("base64,")[2])


def _opened(item: str) -> Pillow.Image:
    return Pillow.open(io.BytesIO(_bytes(item)))


def _saved(picture: Pillow.Image, format: str, **options: Any) -> str:
    file = io.BytesIO()
    picture.save(file, format, **options)
    return base64.b64encode(file.getvalue()).decode()


def _png_again(item: str) -> str:
    picture = _opened(item)
    return _saved(picture, "PNG", compress_level=1) if picture.format == "PNG" else item


def _png_with_text(item: str) -> str:
    picture = _opened(item)
    note = PngInfo()
    note.add_text("Comment", "the same pixels")
    return _saved(picture, "PNG", pnginfo=note) if picture.format == "PNG" else item


def _with_alpha(item: str) -> str:
    picture = _opened(item)
    return _saved(picture.convert("RGBA"), "PNG") if picture.mode == "RGB" else item


def _other_data_url(item: str) -> str:
    """A data URL, whose declared type is ignored, for bare base64, and the reverse."""
    if item.startswith("data:"):
        return item.partition("base64,")[2]
    return "data:image/gif;base64," + item


png_recompressed = _pictures(_png_again)
png_with_text = _pictures(_png_with_text)
opaque_alpha = _pictures(_with_alpha)
webp_without_loss = _pictures(lambda item: _saved(_opened(item).convert("RGB"), "WEBP", lossless=True, quality=0))
decoded_to_png = _pictures(lambda item: _saved(_opened(item).convert("RGB"), "PNG"))
data_url = _pictures(_other_data_url)
