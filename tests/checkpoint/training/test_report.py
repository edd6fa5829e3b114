"""The report of the data and the contact sheet of its screens."""

from __future__ import annotations

from kit.checkpoint.training.contact import CELL, COLUMNS, caption, sheet
from kit.checkpoint.training.encode import open_encoder
from kit.checkpoint.training.mixture import drawn
from kit.checkpoint.training.report import HEADER, TOKENIZER, Seen, asked, blind, line


def test_blind_answers_are_right_where_the_data_gives_itself_away() -> None:
    fair = [Seen("choice", (f"a{n}", f"b{n}"), n % 2) for n in range(100)]
    first = [Seen("choice", (f"a{n}", f"b{n}"), 0) for n in range(100)]
    said = [Seen("choice", ("no", "right")[:: 1 if n % 2 else -1], n % 2) for n in range(100)]
    assert blind(fair, fair) == (0.5, 0.5, 0.5, 0.5)
    assert blind(first, first)[1] == 1.0
    assert blind(said, said)[2:] == (1.0, 1.0)


def test_a_line_has_every_column() -> None:
    learned = asked(drawn("facts", "train", index, 0) for index in range(20))
    made = line(open_encoder(TOKENIZER), "facts", 0, "held-out", 20, learned)
    assert made.split("|")[0].split() == ["facts", "0", "held-out", "20"]
    assert [len(part.split()) for part in made.split("|")[1:]] == [4, 2, 4]
    assert HEADER.count("|") == made.count("|")


def test_a_sheet_has_a_cell_for_every_sample() -> None:
    picture = sheet(["count", "which_image"])
    assert picture.size == (CELL[0] * COLUMNS, CELL[1] * 2)
    assert caption(drawn("count", "train", 0)).startswith("count, train: ")
    assert "*" in caption(drawn("count", "train", 0)).replace("\n", " ")
