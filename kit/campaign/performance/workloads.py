"""The requests that are timed: text of an exact number of tokens, pictures of a given size, several questions.

Covers: request bodies that any server of the contract takes, built for the profile's own tokenizer. Text is a
state lengthened word by word until the prompt has exactly the wanted number of tokens; pictures are smooth, with
a little noise. Nothing is random: the same profile gives the same bodies.
Does not cover: the frozen protocol's requests (`kit.campaign.protocol`); answers are not judged here.
"""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import cycle, islice
from typing import TYPE_CHECKING, Any

import numpy as np
from PIL import Image

from kit.engine.prepare import Preparer

if TYPE_CHECKING:
    from kit.checkpoint.tokens import Tokenizer
    from kit.profile import Profile

TEXT = (
    "the export stalls after login and the invoice shows an old total so please check what changed in the "
    "report before the customer calls again about the second order"
)
FRAGMENTS = (" a", " to", " it", " of", ".", " is", ",", " on", "!", " 1", "\n", " x", "?", " b")
QUESTIONS: dict[str, Any] = {
    "team": {
        "type": "choice",
        "instructions": "Who takes it?",
        "criteria": {"web": "Web team", "pay": "Payments", "other": "Nobody yet"},
    },
    "impact": {"type": "score", "instructions": "How bad is it?", "criteria": ["nobody notices", "annoying", "outage"]},
    "urgent": {"type": "noul", "instructions": "Is it urgent?"},
    "refund": {"type": "noul", "instructions": "Is money owed?"},
}


class WorkloadError(ValueError):
    """No request of the wanted kind exists for this tokenizer."""


@dataclass(frozen=True)
class Workload:
    """A named request. name: as in performance.json ("text" for plain text rows)."""

    name: str
    body: bytes


def text_body(tokens: int, count: Callable[[bytes], int]) -> bytes:
    """A one-question text request whose prompt has exactly `tokens` tokens.

    count: tokens of a body's prompt. Raises WorkloadError where the template alone is longer, or where no
    ending of a few fragments hits the number.
    """
    if count(_text("")) > tokens:
        raise WorkloadError(f"{tokens} tokens: the template and one question alone take {count(_text(''))}")
    low, high = 0, tokens  # words: every word is at least one token, so `high` words are too many or just right
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if count(_text(_words(middle))) <= tokens else (low, middle - 1)
    for words in range(low, max(-1, low - 4), -1):
        body = _finished(_words(words), tokens, count)
        if body:
            return body
    raise WorkloadError(f"{tokens} tokens: no short ending of the text gives exactly that many")


def token_counter(tokenizer: Tokenizer, profile: Profile) -> Callable[[bytes], int]:
    """Tokens of a one-question body's prompt; counts beyond the profile's budget too."""
    wide = replace(profile.limits, text_tokens=4 * profile.limits.text_tokens)
    preparer = Preparer(tokenizer, replace(profile, limits=wide))
    return lambda body: len(preparer.prepare(body).questions[0].input_ids)


def _finished(state: str, tokens: int, count: Callable[[bytes], int]) -> bytes | None:
    """The state with fragments added, one token at a time as far as the tokenizer allows."""
    have = count(_text(state))
    while have < tokens:
        longer = ((state + piece, count(_text(state + piece))) for piece in FRAGMENTS)
        state, have = next(((s, n) for s, n in longer if have < n <= tokens), (state, -1))
        if have < 0:
            return None
    return _text(state) if have == tokens else None


def _words(count: int) -> str:
    return " ".join(islice(cycle(TEXT.split()), count))


def _text(state: str) -> bytes:
    return _body(state, ["team"])


def image_body(sizes: Sequence[tuple[int, int]], questions: int = 1) -> bytes:
    """A request with one picture a (width, height), and the first questions of QUESTIONS."""
    pictures = [base64.b64encode(_picture(w, h, seed)).decode() for seed, (w, h) in enumerate(sizes)]
    return _body("See the screenshots.", list(QUESTIONS)[:questions], pictures)


def questions_body(questions: int, words: int = 60) -> bytes:
    """A text request with that many questions."""
    return _body(_words(words), list(QUESTIONS)[:questions])


def request_workloads() -> Iterator[Workload]:
    """Everything but plain text, in the order of importance."""
    yield Workload("image-768x512", image_body([(768, 512)]))
    yield Workload("image-256x256", image_body([(256, 256)]))
    yield Workload("questions-4", questions_body(4))
    yield Workload("images-4", image_body([(768, 512), (256, 256), (512, 384), (320, 640)]))


def _body(state: str, questions: Sequence[str], images: Sequence[str] = ()) -> bytes:
    request: dict[str, Any] = {"state": state, "questions": {name: QUESTIONS[name] for name in questions}}
    if images:
        request["images"] = list(images)
    return json.dumps(request).encode()


def _picture(width: int, height: int, seed: int) -> bytes:
    """A gradient with a little noise as PNG."""
    noise = np.random.default_rng(seed).integers(0, 24, (height, width, 3), dtype=np.uint8)
    ramp = (np.add.outer(np.arange(height), np.arange(width)) * (seed + 1) // 8 % 220).astype(np.uint8)
    file = io.BytesIO()
    Image.fromarray(noise + ramp[:, :, None]).save(file, "PNG", compress_level=1)
    return file.getvalue()
