"""How the small tokenizer of `cpu-tiny` was made: `python -m kit.checkpoint.tiny_tokenizer FILE`.

Covers: a corpus written by this file alone (no downloaded text, no randomness: a counter picks the words),
byte-level BPE trained on it with the published Qwen3.5 pretokenizer pattern, NFC in the file, and the
special tokens appended after training, so that `!`..`~` keep ids 0..93 and the labels sit at 32-57, 15-20.
Does not cover: quality as a compressor of other text. The result is committed as `tiny/base/tokenizer.json`;
nothing trains at run time.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

from kit.checkpoint.ranks import PRETOKENIZER, SPECIAL_TOKENS, added_tokens

BPE_SIZE = 4032  # ids of learned tokens; specials follow, the model's rows are padded to 4096

WORDS = Path(__file__).resolve().parent / "tiny" / "words.txt"

FRAMES = (
    (
        "Choose the best available candidate for the question using only the supplied state. Return "
        "exactly one candidate label."
    ),
    (
        "State:\n{0} {1} {2}\n\nQuestion: Which {3} should handle the {4}?\n\nCandidates:\nA) {5} {6}\nB) "
        "{7}\nC) no {8}\n\nAnswer with exactly one candidate label."
    ),
    '{{"{0}": "{1}", "{2}_{3}": {9}, "{4}": true, "{5}": null, "{6}": ["{7}", "{8}"]}}',
    '{{"{0}":"{1}","{2}_id":"{3}-{9}","{4}":{{"{5}":{9}.5,"{6}":false}},"{7}":[{9},0]}}',
    "The {0} {1} {2} the {3} {4}, and the {5} {6} {7} {8}.\n",
    "{0} {1} is {2}; {3} was {4} at {9}:30. {5}'s {6} didn't {7}, it's {8}!\n",
    "- {0}: {1} {2}\n- {3}: {4} {5} ({9} {6})\n* {7} -> {8}\n\n",
    "def {0}_{1}({2}, {3}={9}):\n    if {4} is None:\n        return {5}\n    return {6}[{7}] + {8}\n",
    "{0} — {1} | params: {2}*, {3}={4}\n[{5}] {6}/{7} <{8}>\n",
    "2026-0{9}-1{9} 1{9}:4{9}:0{9} ERROR {0}.{1}: {2} {3} failed after {9} ms: {4} {5}\n",
    (
        "Queries:\nq1: {0} {1} {2}\nq2: {3} {4}\n\nFor each query choose the single appropriate tool, or "
        "NO_TOOL if none is suitable.\n\nAnswer q1:"
    ),
    "How urgent is the {0}? {1} {2} {3}, level {9}. Is the {4} {5}? yes no {6} {7} {8}?\n",
)


def corpus() -> Iterator[str]:
    """Texts in a fixed order: every word often enough to be learned, inside frames of our kind of prompt."""
    words = WORDS.read_text(encoding="utf-8").split()
    step, position = 7919, 0  # a prime larger than the list, so the walk meets every word
    for line in range(6000):
        chosen = []
        for slot in range(9):
            position = (position + step + slot * line) % len(words)
            word = words[position]
            chosen.append(word.capitalize() if (line + slot) % 7 == 0 else word)
        yield FRAMES[line % len(FRAMES)].format(*chosen, line % 10)


def train() -> Any:
    """Train the tokenizer; the same library version gives the same file."""
    return trained_on(corpus())


def trained_on(texts: Iterable[str], least: int = 0) -> Any:
    """Byte-level BPE of BPE_SIZE pieces learned from texts, and the special tokens behind them. least: times a pair occurs."""
    tokenizer = Tokenizer(models.BPE(fuse_unk=False, byte_fallback=False))
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(PRETOKENIZER), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=BPE_SIZE,
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        min_frequency=least,
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    # Given to the trainer they would take ids 0.. and move every label.
    for token in added_tokens(SPECIAL_TOKENS):
        tokenizer.add_special_tokens([token]) if token.special else tokenizer.add_tokens([token])
    return tokenizer


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(train().to_str(pretty=True) + "\n", encoding="utf-8")
