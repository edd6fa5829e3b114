"""A `tokenizer.json` from the ranks of a tiktoken vocabulary, and what the Qwen3.5 family fixes about one.

Covers: the published pretokenizer pattern, the special tokens in their order, and the conversion of ranks to
vocabulary and merges. Does not cover: encoding text (`kit.checkpoint.tokens`).
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping, Sequence
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


def read_ranks(raw: bytes) -> dict[bytes, int]:
    """Token bytes -> rank, from a tiktoken file (lines of base64 bytes and a number)."""
    pairs = (line.split() for line in raw.splitlines() if line)
    return {base64.b64decode(token): int(rank) for token, rank in pairs}


def build_tokenizer_json(ranks: Mapping[bytes, int], specials: Sequence[str]) -> bytes:
    """A `tokenizer.json` that tokenises as these ranks do: NFC, the published pattern, byte-level BPE.

    ranks: token bytes -> id, where a smaller id merges earlier. specials get the ids after the largest.
    """
    letters = byte_letters()
    ordered = sorted(ranks.items(), key=lambda item: item[1])

    def spell(token: bytes) -> str:
        return "".join(letters[byte] for byte in token)

    split = {"type": "Split", "pattern": {"Regex": PRETOKENIZER}, "behavior": "Isolated", "invert": False}
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
    data: dict[str, Any] = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": _added_entries(specials, max(ranks.values()) + 1),
        "normalizer": {"type": "NFC"},
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [split, byte_level]},
        "post_processor": None,
        "decoder": byte_level,
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": True,
            "vocab": {spell(token): rank for token, rank in ordered},
            "merges": [[spell(left), spell(right)] for left, right in merges(ranks)],
        },
    }
    return (json.dumps(data, ensure_ascii=False, separators=(",", ":")) + "\n").encode()


def _added_entries(specials: Sequence[str], first: int) -> list[dict[str, Any]]:
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
    tokens = added_tokens(tuple(specials))
    return [{"id": first + n, "content": t.content, "special": t.special} | flags for n, t in enumerate(tokens)]


def merges(ranks: Mapping[bytes, int]) -> Iterator[tuple[bytes, bytes]]:
    """The pair each token is merged from, in rank order.

    A token's bytes are tokenised with the earlier ranks alone (always the smallest rank first, leftmost on a
    tie); what is left are the two parts its own merge joins. A few hundred tokens of the real vocabulary
    leave more than two parts: no merge gives them, and they appear only where they are a whole piece of the
    pretokenizer, which is looked up before any merging (`ignore_merges`), as tiktoken does.
    """
    for token, rank in sorted(ranks.items(), key=lambda item: item[1]):
        parts = [token[i : i + 1] for i in range(len(token))]
        while len(parts) > 2:
            joined = [ranks.get(parts[i] + parts[i + 1], rank) for i in range(len(parts) - 1)]
            best = min(range(len(joined)), key=joined.__getitem__)
            if joined[best] >= rank:
                break
            parts[best : best + 2] = [parts[best] + parts[best + 1]]
        if len(parts) == 2:
            yield parts[0], parts[1]


def byte_letters() -> list[str]:
    """The printable character that stands for each byte in a byte-level vocabulary.

    Printable Latin-1 stands for itself; the other 68 bytes, in order, take the characters from U+0100 on.
    """
    shown = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    hidden = iter(range(0x100, 0x200))
    return [chr(byte) if byte in shown else chr(next(hidden)) for byte in range(256)]
