"""What is learnt from equals what is served: prompts as arrays are those the preparer makes of the body."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from PIL import Image
from tokenizers import Tokenizer as Library

import kit.checkpoint
from kit.checkpoint.tokens import Tokenizer
from kit.checkpoint.training.encode import BARE_END, BEHIND, IMAGE, Encoder, open_encoder, pixel_rows
from kit.checkpoint.training.mixture import FAMILIES, LEVELS, SCREENS, drawn
from kit.checkpoint.training.pieces import Pieces
from kit.checkpoint.training.samples import SPLITS, Sample
from kit.contract.prompt import LABELS, state_text, user_message
from kit.contract.request import compile_questions
from kit.engine.prepare import Preparer
from kit.model.pixels import FRAMES, MERGE, MIN_PIXELS, PATCH
from kit.profile import PROJECT_ROOT, load_profile

TOKENIZER = Path(kit.checkpoint.__file__).parent / "decider" / "base" / "tokenizer.json"
SAMPLES = 20
REASON_TOKENS = 130  # at most: a value of four names that are cut into pieces, and three more entries


@pytest.fixture(scope="module")
def library() -> Library:
    return Library.from_file(str(TOKENIZER))


@pytest.fixture(scope="module")
def preparer(library: Library) -> Preparer:
    return Preparer(Tokenizer(library, "test"), load_profile(PROJECT_ROOT / "params" / "cpu-tiny.toml"))


@pytest.fixture(scope="module")
def encoder() -> Encoder:
    return open_encoder(TOKENIZER)


def samples(family: str) -> list[Sample]:
    """Some of every split and every level."""
    return [drawn(family, SPLITS[index % 3], index, index % LEVELS[family]) for index in range(SAMPLES)]


@pytest.mark.parametrize("family", FAMILIES)
def test_a_chat_is_what_the_preparer_makes_of_the_body(
    family: str, preparer: Preparer, encoder: Encoder
) -> None:
    for sample in samples(family):
        prepared = preparer.prepare(sample.body())
        for ours, theirs in zip(encoder.encode(sample, "chat"), prepared.questions, strict=True):
            assert tuple(ours.ids) == theirs.input_ids
            assert (ours.question, ours.grids) == (theirs.question.id, prepared.grids)
            assert theirs.question.candidates[ours.right].id == sample.expected[ours.question]
            assert ours.answer == len(ours.ids) - 1
        assert (prepared.pixels is None) == (ours.pixels is None)
        if ours.pixels is not None:
            values = (torch.from_numpy(ours.pixels.copy()).float() - 127.5) / 127.5
            frames = values.view(-1, 3, 1, PATCH * PATCH).expand(-1, -1, FRAMES, -1)
            assert torch.equal(frames.reshape(len(values), -1), prepared.pixels)


@pytest.mark.parametrize("family", FAMILIES)
def test_the_bare_form_is_the_message_alone(family: str, library: Library, encoder: Encoder) -> None:
    for sample in samples(family)[:6]:
        for ours, question in zip(
            encoder.encode(sample, "bare"), compile_questions(sample.questions), strict=True
        ):
            text = IMAGE * len(sample.images) + user_message(state_text(sample.state), question) + BARE_END
            exact = library.encode(text, add_special_tokens=False).ids
            pads = [rows * columns // MERGE**2 for _, rows, columns in ours.grids]
            assert len(ours.ids) == len(exact) + sum(pads) - len(pads)
            if not pads:
                assert ours.ids == exact


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("form", ["bare", "chat"])
def test_lines_end_where_the_candidates_do(family: str, form: str, library: Library, encoder: Encoder) -> None:
    for sample in samples(family)[:8]:
        for ours, question in zip(
            encoder.encode(sample, form), compile_questions(sample.questions), strict=True  # type: ignore[arg-type]
        ):
            begin = 0
            for label, candidate, line in zip(LABELS, question.candidates, ours.lines, strict=False):
                whole = f"{label}) {candidate.text}"
                assert whole in library.decode(ours.ids[begin : line + 1], skip_special_tokens=False)
                assert whole not in library.decode(ours.ids[begin:line], skip_special_tokens=False)
                begin = line
            assert len(ours.lines) == len(question.candidates)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_reason_follows_the_answer_and_changes_nothing_before_it(family: str, library: Library, encoder: Encoder) -> None:
    for sample in samples(family)[:8]:
        for plain, ours in zip(encoder.encode(sample, "bare"), encoder.encode(sample, "bare", reason=True), strict=True):
            told = sample.reason[ours.question]
            assert ours.ids[: len(plain.ids)] == plain.ids
            assert (ours.answer, ours.lines, ours.right) == (plain.answer, plain.lines, plain.right)
            behind = ours.ids[ours.answer + 1 :]
            assert library.decode(behind, skip_special_tokens=False) == f"{BEHIND}{told}"
            assert len(behind) <= REASON_TOKENS


def test_a_word_is_cut_alike_wherever_it_stands_in_a_sample(library: Library) -> None:
    pieces = Pieces(library, dropout=1.0)
    ways = set()
    for _ in range(30):
        pieces.renew()
        first, second = (tuple(pieces.encode(" department")[0]) for _ in range(2))
        assert first == second
        ways.add(first)
    assert len(ways) > 1


def test_dropout_cuts_words_otherwise_and_says_the_same(library: Library, encoder: Encoder) -> None:
    loose = open_encoder(TOKENIZER, dropout=0.5)
    sample = drawn("match", "train", 1)
    (cut,), (exact,) = loose.encode(sample), encoder.encode(sample)
    assert len(cut.ids) > len(exact.ids)
    assert library.decode(cut.ids, skip_special_tokens=False) == library.decode(
        exact.ids, skip_special_tokens=False
    )
    assert len(cut.lines) == len(exact.lines)


def test_an_image_that_would_be_resized_is_refused() -> None:
    for size in ((250, 256), (224, 256)):
        with pytest.raises(ValueError, match="would be resized"):
            pixel_rows(Image.new("RGB", size))


@pytest.mark.parametrize("family", SCREENS)
def test_screens_are_of_a_size_that_is_kept(family: str) -> None:
    for split in SPLITS:
        for index in range(8):
            for image in drawn(family, split, index).images:
                assert image.width % (PATCH * MERGE) == image.height % (PATCH * MERGE) == 0
                assert image.width * image.height >= MIN_PIXELS
