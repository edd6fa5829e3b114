"""The fast path gives what the project's own preparer gives."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tokenizers import Tokenizer as Library

import kit.checkpoint
from kit.checkpoint.tokens import Tokenizer
from kit.checkpoint.training.encode import Encoder
from kit.checkpoint.training.mixture import drawn
from kit.checkpoint.training.samples import SPLITS
from kit.checkpoint.training.tasks import FAMILIES
from kit.engine.prepare import Preparer
from kit.profile import load_profile

TOKENIZER = Path(kit.checkpoint.__file__).parent / "decider" / "base" / "tokenizer.json"


@pytest.fixture(scope="module")
def preparer() -> Preparer:
    return Preparer(Tokenizer(Library.from_file(str(TOKENIZER)), "test"), load_profile(Path(__file__).resolve().parents[3] / "params" / "cpu-tiny.toml"))


@pytest.fixture(scope="module")
def encoder() -> Encoder:
    return Encoder(Library.from_file(str(TOKENIZER)))


@pytest.mark.parametrize("family", FAMILIES)
def test_fifty_samples_are_what_the_preparer_makes(family: str, preparer: Preparer, encoder: Encoder) -> None:
    for index in range(50):
        sample = drawn(family, SPLITS[index % 3], index)
        prepared = preparer.prepare(sample.body())
        encoded = encoder.encode(sample)
        assert len(encoded) == len(prepared.questions)
        for ours, theirs in zip(encoded, prepared.questions, strict=True):
            assert tuple(ours.ids) == theirs.input_ids
            assert ours.question == theirs.question.id
            assert ours.answer == len(ours.ids) - 1
            assert ours.grids == prepared.grids
            candidate = theirs.question.candidates[ours.right]
            assert candidate.id == sample.expected[ours.question]
            assert len(ours.lines) == len(theirs.question.candidates)
            if prepared.pixels is None:
                assert ours.patches is None
            else:
                assert ours.patches is not None
                assert np.array_equal(ours.patches, prepared.pixels.numpy())


@pytest.mark.parametrize("family", FAMILIES)
def test_lines_end_where_the_candidates_do(family: str, encoder: Encoder) -> None:
    library = Library.from_file(str(TOKENIZER))
    for index in range(20):
        sample = drawn(family, "train", index)
        for ours in encoder.encode(sample):
            question = next(q for q in _compiled(sample.questions) if q.id == ours.question)
            begin = 0
            for label, candidate, line in zip(LABELS, question.candidates, ours.lines, strict=False):
                text = library.decode(ours.ids[begin : line + 1], skip_special_tokens=False)
                whole = f"{label}) {candidate.text}"
                assert whole in text
                assert not text.rstrip().endswith(tuple(f"\n{other})" for other in LABELS))
                assert whole not in library.decode(ours.ids[begin:line], skip_special_tokens=False)
                begin = line
            assert ours.lines == sorted(set(ours.lines))


def test_images_are_not_resized() -> None:
    for family in ("console", "which_image", "chart"):
        for split in SPLITS:
            for index in range(20):
                for image in drawn(family, split, index).images:
                    assert image.width % 32 == image.height % 32 == 0
                    assert image.width * image.height >= 65_536


from kit.contract.prompt import LABELS  # noqa: E402
from kit.contract.request import compile_questions as _compiled  # noqa: E402
