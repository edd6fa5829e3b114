"""Requests of an exact size: they obey the contract, and give the number of tokens they are named for."""

from __future__ import annotations

import json

import pytest

from kit.campaign.performance import workloads
from kit.campaign.performance.plan import CORE_LENGTHS, LONG, stream_lengths
from kit.checkpoint import find_tokenizer
from kit.checkpoint.tokens import Tokenizer
from kit.engine.prepare import Preparer
from kit.profile import Profile, load_profile


@pytest.fixture(scope="module")
def profile() -> Profile:
    return load_profile("params/cpu-tiny.toml")


@pytest.fixture(scope="module")
def tokenizer(profile: Profile) -> Tokenizer:
    tokenizer = find_tokenizer(profile)
    assert tokenizer is not None
    return tokenizer


@pytest.mark.parametrize("tokens", [*CORE_LENGTHS, LONG, 120, 121, 122, 123, 124])
def test_text_has_exactly_the_wanted_tokens(profile: Profile, tokenizer: Tokenizer, tokens: int) -> None:
    body = workloads.text_body(tokens, workloads.token_counter(tokenizer, profile))
    assert Preparer(tokenizer, profile).prepare(body).input_tokens == tokens
    assert workloads.text_body(tokens, workloads.token_counter(tokenizer, profile)) == body


def test_the_stream_has_57_different_lengths_that_all_exist(profile: Profile, tokenizer: Tokenizer) -> None:
    lengths = stream_lengths()
    assert len(set(lengths)) == len(lengths) == 57
    assert list(lengths) != sorted(lengths)
    count = workloads.token_counter(tokenizer, profile)
    assert [count(workloads.text_body(tokens, count)) for tokens in lengths] == list(lengths)


def test_a_length_below_the_template_is_refused(profile: Profile, tokenizer: Tokenizer) -> None:
    with pytest.raises(workloads.WorkloadError, match="the template and one question alone take"):
        workloads.text_body(20, workloads.token_counter(tokenizer, profile))


def test_a_length_no_ending_hits_is_refused() -> None:
    with pytest.raises(workloads.WorkloadError, match="no short ending"):
        workloads.text_body(101, lambda body: 2 * len(json.loads(body)["state"]))


def test_requests_have_the_pictures_and_questions_they_are_named_for(profile: Profile, tokenizer: Tokenizer) -> None:
    preparer = Preparer(tokenizer, profile)
    found = {item.name: preparer.prepare(item.body) for item in workloads.request_workloads()}
    assert found["image-768x512"].grids == ((1, 32, 48),)
    assert found["image-256x256"].grids == ((1, 16, 16),)
    assert len(found["images-4"].grids) == 4
    assert [len(prepared.questions) for prepared in found.values()] == [1, 1, 4, 1]
    assert list(found)[:2] == ["image-768x512", "image-256x256"]
