"""Samples as arrays: what `kit.engine.prepare` makes of their bodies, without JSON, PNG or pixels twice.

Covers: token ids in the contract's chat or in the bare form a base model is trained on, behind them at wish the reason of
the answer, the label to learn, where the answer and every candidate's line end, pixels of patches and grids.
Does not cover: positions (`kit.checkpoint.tokens.positions`), batches, or float pixels (`kit.model.pixels`). Imports no
torch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer as Library

from kit.checkpoint.tokens import Tokenizer
from kit.checkpoint.training.pieces import Pieces
from kit.checkpoint.training.samples import Sample
from kit.contract.prompt import Question, candidate_lines, state_text, user_message
from kit.contract.request import compile_questions

if TYPE_CHECKING:
    from PIL import Image as PillowImage

    from kit.engine.base import Grid

Form = Literal["bare", "chat"]
PATCH, MERGE = 16, 2  # as in `kit.model.pixels`, which imports torch
MIN_PIXELS = 65_536
IMAGE = "<|vision_start|><|image_pad|><|vision_end|>"
BARE_END = "\n\nLabel:"
BEHIND = "\n"  # between the answer and its reason: with the label there, the reason could be copied from its candidate
REQUEST = "\n\nAnswer with exactly one candidate label."  # what `user_message` ends in


@dataclass(frozen=True)
class Encoded:
    """One question's prompt. ids: T tokens, image pads expanded. right: index of its label among the labels.

    answer: index of the token whose logits are the answer: the last, but for a reason behind it. lines: for each
    candidate, the index of the token that ends its line. pixels: uint8 [sum of t*h*w over grids, 768], `pixel_rows` of
    the sample's images, one array for all its questions, or None. grids: one an image.
    """

    family: str
    level: int
    question: str
    ids: list[int]
    right: int
    answer: int
    lines: list[int]
    pixels: NDArray[np.uint8] | None
    grids: tuple[Grid, ...]

    @property
    def patches(self) -> int:
        return 0 if self.pixels is None else len(self.pixels)


class Encoder:
    """Encodes samples with one tokenizer.

    dropout: the share of words encoded with merges skipped at random (BPE dropout), for training only: words then
    come in other pieces than those most often seen. 0 gives the preparer's ids.
    """

    def __init__(self, library: Library, dropout: float = 0.0, seed: int = 0) -> None:
        self._tokenizer = Tokenizer(library, "training")
        self._pieces = Pieces(library, dropout, seed)

    def encode(self, sample: Sample, form: Form = "chat", reason: bool = False) -> list[Encoded]:
        """One entry a question, in order.

        chat: the contract's prompt. bare: images, then the user message, then "Label:", without a chat around it.
        reason: what the answer rests on follows it, where the sample has it. What stands before is the same tokens.
        """
        self._pieces.renew()
        grids = tuple(grid(image) for image in sample.images)
        pixels = np.concatenate([pixel_rows(image) for image in sample.images]) if sample.images else None
        state = state_text(sample.state)
        encoded = []
        for question in compile_questions(sample.questions):
            ids, lines = self._prompt(state, question, grids, form)
            right, answer = sample.right[question.id], len(ids) - 1
            if reason and question.id in sample.reason:
                ids = ids + self._pieces.encode(f"{BEHIND}{sample.reason[question.id]}")[0]
            encoded.append(
                Encoded(sample.family, sample.level, question.id, ids, right, answer, lines, pixels, grids)
            )
        return encoded

    def _prompt(
        self, state: str, question: Question, grids: Sequence[Grid], form: Form
    ) -> tuple[list[int], list[int]]:
        message = user_message(state, question)
        if form == "chat":
            prompt = self._tokenizer.chat(message, len(grids))
        else:
            prompt = IMAGE * len(grids) + message + BARE_END
        ids, lines = self._pieces.encode(prompt, line_ends(prompt, message, question))
        if not grids:
            return ids, lines
        tokens = [frames * rows * columns // MERGE**2 for frames, rows, columns in grids]
        grown = sum(tokens) - len(tokens)  # images stand before the text
        return self._tokenizer.expand(ids, tokens), [line + grown for line in lines]


def open_encoder(path: Path, dropout: float = 0.0, seed: int = 0) -> Encoder:
    """An encoder with the tokenizer of a `tokenizer.json`."""
    return Encoder(Library.from_file(str(path)), dropout, seed)


def line_ends(prompt: str, message: str, question: Question) -> list[int]:
    """The offset behind every candidate's line in the prompt.

    Counted from the end of the message, as the chat strips its front; the lines and what follows are never
    empty, so its end is where it was.
    """
    block = candidate_lines(question.candidates)
    stripped = message.strip()
    position = prompt.rindex(stripped) + len(stripped) - len(REQUEST) - len(block)
    ends = []
    for line in block.split("\n"):
        position += len(line)
        ends.append(position)
        position += 1
    return ends


def grid(image: PillowImage.Image) -> Grid:
    """(1, rows, columns) of patches. Raises ValueError for a size that would be resized on its way to the model."""
    wide, high = image.size
    if wide % (PATCH * MERGE) or high % (PATCH * MERGE) or wide * high < MIN_PIXELS:
        raise ValueError(f"an image of {wide}x{high} pixels would be resized")
    return 1, high // PATCH, wide // PATCH


def pixel_rows(image: PillowImage.Image) -> NDArray[np.uint8]:
    """An RGB image as uint8 [rows * columns, 768]: one row a patch, [channel 3][16][16], in 2x2 blocks of patches.

    Raises ValueError for a size that would be resized.
    """
    _, rows, columns = grid(image)
    # A row of a patch is 16 bytes, moved as one value: byte by byte this takes several times as long.
    planes = np.stack([np.frombuffer(band.tobytes(), dtype="V16") for band in image.split()])
    blocks = planes.reshape(3, rows // MERGE, MERGE, PATCH, columns // MERGE, MERGE).transpose(1, 4, 2, 5, 0, 3)
    return np.ascontiguousarray(blocks).reshape(-1, 3 * PATCH).view(np.uint8)
