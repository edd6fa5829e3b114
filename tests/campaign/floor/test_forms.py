"""The forms of a floor are one function in real numbers: on Transformers' own model in FP64 they change nothing."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import pytest
import torch

from kit.campaign.floor import asking, forms
from kit.campaign.floor.asking import Question
from kit.campaign.floor.proof import BOUND, oracle_rows, proof_of
from kit.campaign.generated.official import Official
from kit.campaign.oracle_errors import decoded, relative_l2
from kit.engine import reference
from kit.engine.oracle import load_oracle
from kit.engine.reference import ReferenceEngine
from kit.profile import Profile
from tests.engine.wide_reference import widen


@pytest.fixture(scope="module")
def asked(profile: Profile) -> list[Question]:
    return asking.questions(profile, 12)


@pytest.fixture(scope="module")
def wide(profile: Profile) -> Iterator[ReferenceEngine]:
    """The reference with every step in FP64."""
    with pytest.MonkeyPatch.context() as patch:
        widen(patch)
        runtime = dataclasses.replace(profile.runtime, dtype="float64")
        engine = reference.load(dataclasses.replace(profile, runtime=runtime))
        yield engine
        engine.close()


@pytest.mark.parametrize("form", ["row0", "padded"])
def test_a_batch_is_harmless_on_the_reference_itself_in_fp64(
    wide: ReferenceEngine, asked: list[Question], form: str
) -> None:
    some = asked[:12]
    alone = asking.alone(Official(wide), some)
    for question, a, b in zip(some, alone, asking.batched(wide, some, form), strict=True):
        rows = [decoded(answer.row, torch.float64) for answer in (b, a)]
        assert relative_l2(*rows) < BOUND, question.request


@pytest.mark.parametrize("form", ["row0", "padded"])
def test_a_batch_is_harmless_on_the_oracle(profile: Profile, asked: list[Question], form: str) -> None:
    oracle = load_oracle(profile)
    proof = proof_of(oracle_rows(oracle, asked[:6], form), oracle_rows(oracle, asked[:6], "alone"))  # type: ignore[arg-type]
    assert proof.holds
    assert proof.prompts == 6


def test_what_is_not_harmless_has_no_proof(profile: Profile, asked: list[Question]) -> None:
    oracle = load_oracle(profile)
    rows = oracle_rows(oracle, asked[:2], "alone")
    assert not proof_of(rows[::-1], rows).holds


@pytest.mark.parametrize("form", ["row0", "padded"])
def test_a_batch_is_replayed_with_the_bits_of_a_call(profile: Profile, form: str) -> None:
    """Texts and images, of every shape twice, so that each is proved and then replayed."""
    asked = [question for question in asking.questions(profile, 12, protocol=False) for _ in range(2)]
    engine = reference.load(profile)
    called = list(asking.batched(engine, asked, form, capture=False))
    batches = asking.Batches(engine, form, capture=True)
    assert [batches.answer(question) for question in asked] == called
    assert batches.answers.replays == len(asked) - len(batches.answers.proved) > 0
    assert all(batches.answers.proved.values())
    batches.close()
    engine.close()


def test_padding_is_masked_in_front_of_the_first_row_only() -> None:
    ids = torch.arange(10, 22).unsqueeze(0)
    inputs = {"input_ids": ids, "attention_mask": torch.ones_like(ids), "mm_token_type_ids": torch.ones_like(ids)}
    batch = forms.padded(inputs)
    assert batch["input_ids"].shape == (2, 12 + forms.PADDING)
    assert torch.equal(batch["input_ids"][:, forms.PADDING :], torch.cat([ids, ids]))
    assert batch["attention_mask"].sum(dim=1).tolist() == [12, 12 + forms.PADDING]
    assert batch["attention_mask"][0, : forms.PADDING].sum() == 0
    assert batch["mm_token_type_ids"][:, : forms.PADDING].sum() == 0


def test_questions_are_the_generated_ones_and_all_of_the_protocol(asked: list[Question]) -> None:
    assert [question.source for question in asked[:13]] == ["generated"] * 12 + ["protocol"]
    assert len(asked) == 12 + 49
    assert {question.modality for question in asked[:12]} == {"text", "image"}
