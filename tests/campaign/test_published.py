"""A protocol that users bring themselves is held to its pins; the folders here are made up in its format."""

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kit.campaign.protocol import load_protocol, protocol_of
from kit.campaign.published import PinsError, answers_digest, load_pins
from kit.evidence.records import sha256_bytes
from kit.profile import PROJECT_ROOT, Profile, load_profile
from tests.campaign.test_protocol import IMAGE, TEXT, folder_of, response

PINS = PROJECT_ROOT / "kit" / "campaign" / "published_protocol.json"


def pins_of(folder: Path, unknown: tuple[str, ...] = ()) -> dict[str, Any]:
    """The pins of a folder as it is; unknown: requests of which only the token total was published."""
    answers = {
        entry["id"]: {
            "input_tokens": entry["response"]["usage"]["input_tokens"],
            "sha256": None if entry["id"] in unknown else answers_digest(entry["response"]),
        }
        for entry in json.loads((folder / "reference.json").read_text())
    }
    corpus = sha256_bytes((folder / "corpus.jsonl").read_bytes())
    return {"format": "kit-protocol-pins/1", "corpus_sha256": corpus, "answers": answers}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two requests and their answers, without checksums: all there is in the published format."""
    made = folder_of(tmp_path / "protocol", TEXT, IMAGE, sums=False)
    answers = [{"id": case.id, "response": response(case)} for case in load_protocol(made).cases]
    (made / "reference.json").write_text(json.dumps(answers, indent=2))
    (tmp_path / "pins.json").write_text(json.dumps(pins_of(made, unknown=("two",))))
    return made


@pytest.fixture
def profile(folder: Path) -> Profile:
    profile = load_profile("params/cpu-tiny.toml")
    protocol = dataclasses.replace(
        profile.protocol, path=str(folder), sha256="", pins=str(folder.parent / "pins.json")
    )
    return dataclasses.replace(profile, protocol=protocol)


def edit_answers(folder: Path, change: Callable[[list], object]) -> None:
    answers = json.loads((folder / "reference.json").read_text())
    change(answers)
    (folder / "reference.json").write_text(json.dumps(answers))


def test_the_published_folder_loads_as_it_is(profile: Profile) -> None:
    protocol = protocol_of(profile)
    assert [case.id for case in protocol.cases] == ["one", "two"]
    assert set(protocol.frozen or ()) == {"one", "two"}


def test_how_the_answers_are_written_does_not_matter(profile: Profile, folder: Path) -> None:
    def reorder(answers: list) -> None:
        answers.reverse()
        for entry in answers:
            entry["response"]["usage"]["latency_ms"] = 99.0
            entry["response"]["model"] = "another name of the adapter's folder"

    edit_answers(folder, reorder)
    protocol_of(profile)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda f: (f / "corpus.jsonl").write_text((f / "corpus.jsonl").read_text().replace("é", "è")), "corpus.jsonl has SHA-256"),
        (lambda f: (f / "reference.json").unlink(), "it has no reference.json"),
        (
            lambda f: edit_answers(f, lambda a: a[0]["response"]["answers"]["route"]["probabilities"].update(b=0.501)),
            "the answers to one are not the published ones",
        ),
        (
            lambda f: edit_answers(f, lambda a: a[1]["response"]["usage"].update(input_tokens=10)),
            "two counts 10 tokens, published were 9",
        ),
    ],
)
def test_what_is_not_the_published_protocol(profile: Profile, folder: Path, change: Callable[[Path], object], said: str) -> None:
    change(folder)
    with pytest.raises(PinsError, match=f"protocol is not the protocol pinned in pins.json: {said}"):
        protocol_of(profile)


def test_answers_of_which_no_figures_were_published_are_taken(profile: Profile, folder: Path) -> None:
    edit_answers(folder, lambda a: a[1]["response"]["answers"]["ok"]["probabilities"].update(yes=0.75, no=0.25))
    protocol_of(profile)


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"format": "kit-pins/1"}', '{"format": "kit-protocol-pins/1", "corpus_sha256": "0", "answers": {}}']
)
def test_pins_that_cannot_be_used(tmp_path: Path, text: str) -> None:
    (tmp_path / "pins.json").write_text(text)
    with pytest.raises(PinsError, match="not usable as pins"):
        load_pins(tmp_path / "pins.json")


class TestPinsOfTheRealProtocol:
    def test_name_the_corpus_that_the_checkpoints_pins_name(self) -> None:
        checkpoint = json.loads((PROJECT_ROOT / "kit" / "checkpoint" / "pins.json").read_text())
        assert load_pins(PINS)["corpus_sha256"] == checkpoint["frozen_corpus_sha256"]

    def test_hold_every_token_total_and_the_digests_that_are_known(self) -> None:
        answers = load_pins(PINS)["answers"]
        assert [pinned["input_tokens"] for pinned in answers.values()] == [
            98, 107, 171, 332, 392, 107, 170, 392, 184, 90, 98, 298, 426, 832, 1030, 1420,
        ]  # fmt: skip
        assert sum(pinned["sha256"] is not None for pinned in answers.values()) == 13

    def test_a_digest_is_that_of_the_published_figures(self) -> None:
        figures = {"option-00": 0.00504015488794939, "option-01": 0.9949598451120509}
        published = {"answers": {"select": {"type": "choice", "probabilities": figures}}}
        assert answers_digest(published) == load_pins(PINS)["answers"]["text-choice-2"]["sha256"]

    def test_the_profile_of_published_answers_runs_no_reference(self) -> None:
        profile = load_profile("params/jemm-27b-published.toml")
        assert (profile.campaign.reference, profile.claim) == ("", "baseline")
        assert (PROJECT_ROOT / profile.protocol.pins) == PINS
        same = load_profile("params/jemm-27b.toml")
        assert (profile.checkpoint, profile.model, profile.runtime) == (same.checkpoint, same.model, same.runtime)
