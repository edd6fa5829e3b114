"""Samples as arrays: what `kit.engine.prepare` makes of their bodies, without JSON, PNG or pixels twice.

Covers: token ids, the label to learn, where the answer and every candidate's line end, patches and grids.
Does not cover: positions of images (`kit.checkpoint.tokens.positions`) or batches.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from tokenizers import normalizers

from kit.checkpoint.tokens import Tokenizer
from kit.checkpoint.training.samples import Sample
from kit.contract.prompt import Question, candidate_lines, state_text, user_message
from kit.contract.request import compile_questions
from kit.model.pixels import FRAMES, MERGE, PATCH, grid_of

if TYPE_CHECKING:
    from PIL import Image as PillowImage

    from kit.engine.base import Grid

LEVELS = (np.arange(256, dtype=np.float32) - np.float32(127.5)) / np.float32(127.5)


@dataclass(frozen=True)
class Encoded:
    """One question's prompt. ids: T tokens, image pads expanded. right: index of its label among the labels.

    answer: index of the token whose logits are the answer (the last). lines: for each candidate, the index of
    the token that ends its line. pixels: uint8 [sum of t*h*w over grids, 768], `pixel_rows` of the sample's
    images, one array for all its questions, or None. grids: one an image.
    """

    family: str
    question: str
    ids: list[int]
    right: int
    answer: int
    lines: list[int]
    pixels: NDArray[np.uint8] | None
    grids: tuple[Grid, ...]

    @property
    def patches(self) -> NDArray[np.float32] | None:
        """float32 [N, 1536], what the vision tower reads; made on every call, so that workers send bytes."""
        return None if self.pixels is None else float_patches(self.pixels)


class Encoder:
    """Encodes samples with one tokenizer.

    dropout: the share of merges skipped at random (BPE dropout), for training only: words then come in other
    pieces than those most often seen. 0 gives the preparer's ids.
    """

    def __init__(self, encoder: Any, dropout: float = 0.0) -> None:
        if encoder.normalizer is None:
            encoder.normalizer = normalizers.NFC()
        self._encoder = encoder
        self._tokenizer = Tokenizer(encoder, "training")
        encoder.model.dropout = dropout or None

    def encode(self, sample: Sample) -> list[Encoded]:
        """One entry a question, in order."""
        grids = tuple(grid_of(image.height, image.width) for image in sample.images)
        pixels = np.concatenate([pixel_rows(image) for image in sample.images]) if sample.images else None
        state = state_text(sample.state)
        encoded = []
        for question in compile_questions(sample.questions):
            ids, lines = self._prompt(state, question, grids)
            right = sample.right[question.id]
            encoded.append(Encoded(sample.family, question.id, ids, right, len(ids) - 1, lines, pixels, grids))
        return encoded

    def _prompt(self, state: str, question: Question, grids: Sequence[Grid]) -> tuple[list[int], list[int]]:
        message = user_message(state, question)
        prompt = self._tokenizer.chat(message, len(grids))
        encoding = self._encoder.encode(prompt, add_special_tokens=False)
        starts = [start for start, _ in encoding.offsets]
        lines = [bisect_left(starts, end) - 1 for end in _line_ends(prompt, message, question)]
        ids: list[int] = encoding.ids
        if not grids:
            return ids, lines
        tokens = [frames * rows * columns // MERGE**2 for frames, rows, columns in grids]
        grown = sum(tokens) - len(tokens)  # images stand before the text
        return self._tokenizer.expand(ids, tokens), [line + grown for line in lines]


def _line_ends(prompt: str, message: str, question: Question) -> list[int]:
    """The offset behind every candidate's line in the prompt.

    Counted from the end of the message, as the chat strips its front; the lines and what follows are never
    empty, so its end is where it was.
    """
    block = candidate_lines(question.candidates)
    end = prompt.rindex(message.strip()) + len(message.strip()) - len("\n\nAnswer with exactly one candidate label.")
    start = end - len(block)
    ends = []
    position = start
    for line in block.split("\n"):
        position += len(line)
        ends.append(position)
        position += 1
    return ends


def pixel_rows(image: PillowImage.Image) -> NDArray[np.uint8]:
    """An RGB image of multiples of 32 as uint8 [rows * columns, 768]: one row a patch, [channel 3][16][16].

    Rows come in 2x2 blocks of patches, as in `kit.model.pixels`. Raises ValueError for a size that would be resized.
    """
    if grid_of(image.height, image.width) != (1, image.height // PATCH, image.width // PATCH):
        raise ValueError(f"an image of {image.width}x{image.height} pixels would be resized")
    block = PATCH * MERGE
    picture = np.asarray(image.convert("RGB")).reshape(image.height // block, MERGE, PATCH, image.width // block, MERGE, PATCH, 3)
    return np.ascontiguousarray(picture.transpose(0, 3, 1, 4, 6, 2, 5)).reshape(-1, 3 * PATCH * PATCH)


def float_patches(rows: NDArray[np.uint8]) -> NDArray[np.float32]:
    """`pixel_rows` as float32 [N, 1536] of [channel 3][frame 2][16][16], bit for bit `kit.model.pixels.patches`."""
    values = LEVELS[rows].reshape(len(rows), 3, 1, PATCH * PATCH)
    return np.repeat(values, FRAMES, axis=2).reshape(len(rows), -1)
