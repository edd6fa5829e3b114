"""Other spellings of a request: other bytes, and after preparation the same tokens and pixels."""

from __future__ import annotations

import pytest

from kit.campaign.planted import spelling
from kit.campaign.planted.spelling import Respell
from kit.campaign.protocol import protocol_of
from kit.contract.errors import ContractError
from kit.engine.prepare import Preparer
from kit.engine.preview import preparer_without_weights
from kit.profile import Profile

REQUESTS = ("language-choice-32", "policy-structured-reversed", "console-256x256", "waiting-room-jpeg", "signal-data-url")
ALL: dict[str, tuple[Respell, tuple[str, ...]]] = {  # and requests that it cannot be made to
    "key order": (spelling.keys_in_another_order, ()),
    "indented": (spelling.indented, ()),
    "escapes": (spelling.escaped, ()),
    "utf-16": (spelling.utf_16, ()),
    "model": (spelling.model_named("jemm"), ()),
    "unknown keys": (spelling.unknown_keys, ()),
    "no images": (spelling.no_images_listed, REQUESTS[2:]),
    "default type": (spelling.default_type_left_out, ("signal-data-url",)),
    "blanks": (spelling.blanks_in_instructions, ()),
    "state blanks": (spelling.blanks_around_state, ("policy-structured-reversed",)),
    "state text": (spelling.state_as_text, tuple(name for name in REQUESTS if name != "policy-structured-reversed")),
    "decomposed": (spelling.decomposed, ("policy-structured-reversed", "console-256x256", "signal-data-url")),
    "png": (spelling.png_recompressed, ("language-choice-32", "policy-structured-reversed", "waiting-room-jpeg")),
    "png text": (spelling.png_with_text, ("language-choice-32", "policy-structured-reversed", "waiting-room-jpeg")),
    "alpha": (spelling.opaque_alpha, REQUESTS[:2]),
    "webp": (spelling.webp_without_loss, REQUESTS[:2]),
    "decoded": (spelling.decoded_to_png, REQUESTS[:2]),
    "data url": (spelling.data_url, REQUESTS[:2]),
}  # fmt: skip


@pytest.fixture(scope="module")
def preparer(profile: Profile) -> Preparer:
    return preparer_without_weights(profile)


@pytest.fixture(scope="module")
def bodies(profile: Profile) -> dict[str, bytes]:
    return {case.id: case.body for case in protocol_of(profile).cases}


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("request_id", REQUESTS)
def test_another_spelling_is_the_same_request(preparer: Preparer, bodies: dict[str, bytes], name: str, request_id: str) -> None:
    respell, not_possible = ALL[name]
    body = bodies[request_id]
    other = respell(body)
    assert (other == body) is (request_id in not_possible)
    right, mine = preparer.prepare(body), preparer.prepare(other)
    for ours, theirs in zip(mine.questions, right.questions, strict=True):
        assert (ours.input_ids, ours.positions, ours.question) == (theirs.input_ids, theirs.positions, theirs.question)
    assert mine.grids == right.grids
    assert (mine.pixels is None and right.pixels is None) or mine.pixels.equal(right.pixels)  # type: ignore[union-attr, arg-type]


def test_questions_alone_and_with_one_more(preparer: Preparer, bodies: dict[str, bytes]) -> None:
    body = bodies["policy-structured-reversed"]
    assert spelling.questions(body) == ["z-allowed", "a-next"]
    assert spelling.questions(spelling.only(body, ("a-next",))) == ["a-next"]
    assert spelling.questions(spelling.with_question(body)) == ["sibling", "z-allowed", "a-next"]


def test_an_unknown_model_is_still_refused(preparer: Preparer, bodies: dict[str, bytes]) -> None:
    """The control of the name shows nothing where every name is taken."""
    with pytest.raises(ContractError, match="this server answers as"):
        preparer.prepare(spelling.model_named("other")(bodies["signal-data-url"]))
