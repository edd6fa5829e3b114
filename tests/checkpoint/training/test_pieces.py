"""Words remembered give the ids the library gives for the whole text."""

from __future__ import annotations

from pathlib import Path

import pytest
from tokenizers import Tokenizer as Library

import kit.checkpoint
from kit.checkpoint.tokens import Tokenizer
from kit.checkpoint.training.bpe import check, compact
from kit.checkpoint.training.pieces import Pieces

TOKENIZER = Path(kit.checkpoint.__file__).parent / "decider" / "base" / "tokenizer.json"
TEXTS = (
    "", " ", "\n\n", "State:\n{\"a\":[1,20,-3.5],\"b\":null}\r\n\r\n \t x", "I'll, you'RE; it's: don't!?", "  two  spaces\n\n  and \u00a0 more",
    "สวัสดี วันนี้ ระดับ 3", "这张工单应该交给哪一组？", "e\u0301te\u0301 \u1e9b\u0323 Å ﬁ", "a<|im_start|>b<think>\n\n</think><|image_pad|> c", "😀👩‍👩‍👧 x²½ Ⅷ",
    "A) one.\n\nB) two — c | params: a*, b=metric\n", "<|im_start|<|im_end|>>",
)  # fmt: skip


@pytest.fixture(scope="module")
def library() -> Library:
    library = Library.from_file(str(TOKENIZER))
    Tokenizer(library, "test")
    return library


@pytest.mark.parametrize("text", TEXTS)
def test_ids_are_the_librarys(text: str, library: Library) -> None:
    pieces = Pieces(library)
    for _ in range(2):
        assert pieces.encode(text)[0] == library.encode(text, add_special_tokens=False).ids


def test_an_end_falls_on_the_last_token_that_starts_before_it(library: Library) -> None:
    text = "A) first line.\nB) no stop\nC) third:\n\nend"
    ends = [text.index("\nB"), text.index("\nC"), text.index("\n\n")]
    ids, marks = Pieces(library).encode(text, ends)
    starts = [start for start, _ in library.encode(text, add_special_tokens=False).offsets]
    assert marks == [max(n for n, start in enumerate(starts) if start < end) for end in ends]
    assert len(ids) == len(starts)


def test_labels_and_special_tokens_have_their_ids_and_the_file_has_no_spaces(library: Library) -> None:
    check(library)
    assert compact(Library.from_file(str(TOKENIZER))) == TOKENIZER.read_bytes()
