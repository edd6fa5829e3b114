"""Text to token ids, word by word with a memory: many times faster than the library where words recur.

Covers: the same ids as the library's `encode` for a byte-level BPE with the published pretokenizer (tests compare
them), where given offsets fall among the tokens, and BPE dropout, which cuts a word alike wherever it stands in one
sample. Does not cover: training (`bpe`).
"""

from __future__ import annotations

import random
import re
import unicodedata
from collections.abc import Sequence

import regex
from tokenizers import Tokenizer as Library

from kit.checkpoint.ranks import PRETOKENIZER, SPECIAL_TOKENS

WORD = regex.compile(PRETOKENIZER)
SPECIAL = re.compile("(" + "|".join(map(re.escape, SPECIAL_TOKENS)) + ")")
KEPT = 400_000  # words remembered
VARIANTS = 12  # ways a word is cut with dropout


class Pieces:
    """Encodes with one library tokenizer. dropout: the share of words that are cut otherwise, at random.

    Raises ValueError where the tokenizer lacks a special token.
    """

    def __init__(self, library: Library, dropout: float = 0.0, seed: int = 0) -> None:
        self._exact = Library.from_str(library.to_str())
        self._loose = Library.from_str(library.to_str())
        self._loose.model.dropout = 0.3
        self._dropout = dropout
        self._rng = random.Random(seed)
        self._cuts: dict[str, list[int] | None] = {}
        self._known: dict[str, list[int]] = {}
        self._variants: dict[str, list[list[int]]] = {}
        self._special = {text: [_special_id(library, text)] for text in SPECIAL_TOKENS}

    def encode(self, text: str, ends: Sequence[int] = ()) -> tuple[list[int], list[int]]:
        """Ids, and for each offset in `ends` (ascending) the index of the last token that starts before it.

        Text is taken to be in NFC where it holds an end: offsets count characters of the text as given.
        """
        ids: list[int] = []
        marks: list[int] = []
        pending = list(reversed(ends))
        position = 0
        for word, special in self._words(text):
            found = self._special[word] if special else self._ids(word)
            position += len(word)
            while pending and pending[-1] <= position:
                marks.append(len(ids) + self._before(word, found, pending.pop() - position + len(word)) - 1)
            ids += found
        return ids, marks

    def _words(self, text: str) -> list[tuple[str, bool]]:
        """The text as words, and whether each is a special token."""
        words: list[tuple[str, bool]] = []
        for index, part in enumerate(SPECIAL.split(text)):
            if index % 2:
                words.append((part, True))
            else:
                plain = part if part.isascii() else unicodedata.normalize("NFC", part)
                words += [(word, False) for word in WORD.findall(plain)]
        return words

    def renew(self) -> None:
        """Draw anew which words are cut otherwise; until then a word is cut one way, so that it can be recognised."""
        self._cuts.clear()

    def _ids(self, word: str) -> list[int]:
        if self._dropout and len(word) > 2:
            if word not in self._cuts:
                self._cuts[word] = self._cut(word) if self._rng.random() < self._dropout else None
            cut = self._cuts[word]
            if cut is not None:
                return cut
        found = self._known.get(word)
        if found is None:
            if len(self._known) >= KEPT:
                self._known.clear()
            found = self._known[word] = self._exact.encode(word, add_special_tokens=False).ids
        return found

    def _cut(self, word: str) -> list[int]:
        """One of a few ways to cut a word when merges are skipped."""
        variants = self._variants.get(word)
        if variants is None:
            if len(self._variants) >= KEPT // VARIANTS:
                self._variants.clear()
            variants = self._variants[word] = []
        if len(variants) < VARIANTS:
            variants.append(self._loose.encode(word, add_special_tokens=False).ids)
            return variants[-1]
        return self._rng.choice(variants)

    def _before(self, word: str, ids: Sequence[int], offset: int) -> int:
        """How many of a word's tokens start before an offset in it."""
        if offset >= len(word):
            return len(ids)
        starts = (start for start, _ in self._exact.encode(word, add_special_tokens=False).offsets)
        return sum(start < offset for start in starts)


def _special_id(library: Library, text: str) -> int:
    number = library.token_to_id(text)
    if number is None:
        raise ValueError(f"the tokenizer has no token {text}")
    return number
