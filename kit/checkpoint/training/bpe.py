"""The decider's tokenizer: `python -m kit.checkpoint.training.bpe FILE [PROMPTS]`.

Covers: byte-level BPE trained on generated prompts of the train split alone, so that no piece exists that
training never meets; 4032 learned tokens and the special tokens behind them, as in `kit.checkpoint.tiny_tokenizer`.
Does not cover: other text, which falls back to shorter pieces and bytes.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from kit.checkpoint.ranks import SPECIAL_TOKENS
from kit.checkpoint.tiny_tokenizer import BPE_SIZE, trained_on
from kit.checkpoint.training.mixture import CORPUS, stream
from kit.contract.prompt import LABELS, SYSTEM, state_text, user_message
from kit.contract.request import compile_questions
from kit.evidence.records import write_atomic

LABEL_IDS = (*range(32, 58), *range(15, 21))
PROMPTS = 100_000
SEED = 7
LEAST = 2  # times a pair must occur


def prompts(count: int) -> Iterator[str]:
    """User messages of the train split, with the system sentence now and then; mostly of the text families."""
    made = 0
    for sample in islice(stream("train", SEED, lambda: CORPUS), count):
        state = state_text(sample.state)
        for question in compile_questions(sample.questions):
            made += 1
            yield user_message(state, question) + (f"\n{SYSTEM}" if made % 8 == 0 else "")


def train(count: int = PROMPTS) -> Any:
    """Train the tokenizer; the same library version and count give the same file."""
    tokenizer = trained_on(prompts(count), LEAST)
    check(tokenizer)
    return tokenizer


def check(tokenizer: Any) -> None:
    """Raise ValueError where a label or a special token does not have its id."""
    labels = tuple(tokenizer.encode(label, add_special_tokens=False).ids for label in LABELS)
    if labels != tuple([number] for number in LABEL_IDS):
        raise ValueError(f"labels have the ids {labels}, expected {LABEL_IDS}")
    specials = [tokenizer.token_to_id(text) for text in SPECIAL_TOKENS]
    if specials != list(range(BPE_SIZE, BPE_SIZE + len(SPECIAL_TOKENS))):
        raise ValueError(f"special tokens have the ids {specials}, expected {BPE_SIZE} and on")


def compact(tokenizer: Any) -> bytes:
    """The file: JSON without spaces, merges included."""
    document = json.loads(tokenizer.to_str())
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


if __name__ == "__main__":
    made = train(int(sys.argv[2]) if len(sys.argv) > 2 else PROMPTS)
    write_atomic(Path(sys.argv[1]), compact(made))
