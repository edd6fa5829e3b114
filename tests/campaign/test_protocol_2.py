"""The protocol for trained checkpoints: the kinds and counts of version 1, every answer known, no wording of the training data."""

from __future__ import annotations

import dataclasses
import importlib
import importlib.util
import json
import pkgutil
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from kit.campaign.plan import planned_counts
from kit.campaign.planted import asking, geometry, memory
from kit.campaign.planted.fault import IMAGE, IMAGES, TEXT
from kit.campaign.protocol import Protocol, load_protocol
from kit.checkpoint.tokens import load_tokenizer
from kit.checkpoint.training import tasks
from kit.checkpoint.training.vocabulary import Wordings
from kit.contract.prompt import state_text, user_message
from kit.contract.request import Request, parse_request
from kit.model.pixels import smart_resize
from kit.profile import PROJECT_ROOT, load_profile

FOLDER = PROJECT_ROOT / "evidence" / "protocol-2"
FIRST = PROJECT_ROOT / "evidence" / "protocol"
NEAR_TIES = ("severity-score-3", "chart-384x256", "long-policy-text", "signal-data-url")
SLOT = r"[^\s?.,:;!]+(?: [^\s?.,:;!]+){0,2}"  # what fills a slot of a training sentence: one to three words
FEWEST_LETTERS = 8  # of a training sentence outside its slots; a shorter one is no wording of its own


def generator() -> ModuleType:
    """The folder's generate.py, under a name of its own: version 1 has one too."""
    sys.path.insert(0, str(FOLDER))
    spec = importlib.util.spec_from_file_location("generate_protocol_2", FOLDER / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


generate = generator()
SCREENS = generate.SCREENS


@pytest.fixture(scope="module")
def frozen() -> Protocol:
    return load_protocol(FOLDER)


@pytest.fixture(scope="module")
def requests(frozen: Protocol) -> dict[str, Request]:
    return {case.id: parse_request(case.body, ["JEMM"]) for case in frozen.cases}


class TestCorpus:
    def test_has_the_counts_of_version_1(self, frozen: Protocol) -> None:
        assert (len(frozen.cases), sum(len(case.questions) for case in frozen.cases)) == (28, 49)
        assert planned_counts(frozen, load_profile("params/cpu-tiny.toml")) == {
            "reference": 58, "native": 62, "graph": 62, "frontend": 5,
        }  # fmt: skip

    def test_asks_what_version_1_asks_in_kind(self, frozen: Protocol) -> None:
        first = load_protocol(FIRST)

        def shapes(protocol: Protocol) -> list[tuple[str, int, int]]:
            return [
                (q.type, len(q.candidates), len(json.loads(case.body).get("images", []))) for case in protocol.cases[:17] for q in case.questions
            ]

        assert shapes(frozen) == shapes(first)
        assert [case.modality for case in frozen.cases] == [case.modality for case in first.cases]

    def test_knows_the_right_answer_to_every_question(self, frozen: Protocol) -> None:
        for case in frozen.cases:
            assert set(case.expected) == {question.id for question in case.questions}

    def test_has_the_requests_that_planted_faults_need(self, frozen: Protocol) -> None:
        needed = {*asking.FEW, *asking.AGAIN, TEXT, IMAGE, IMAGES, geometry.JPEG, geometry.CHANGED, geometry.SWAPPED, memory.CONSOLE}
        assert needed <= {case.id for case in frozen.cases}

    @pytest.mark.parametrize("original", ["route-choice-2", "console-256x256"])
    def test_repeats_a_request_byte_for_byte(self, frozen: Protocol, original: str) -> None:
        bodies = {case.id: case.body for case in frozen.cases}
        assert bodies[original] == bodies[f"{original}-again"]

    def test_changes_only_pixels_and_every_answer_with_them(self, frozen: Protocol, requests: dict[str, Request]) -> None:
        one, two = "console-256x256", "console-256x256-changed"
        assert (requests[one].state, requests[one].questions) == (requests[two].state, requests[two].questions)
        expected = {case.id: case.expected for case in frozen.cases}
        assert all(expected[one][name] != expected[two][name] for name in expected[one])

    @pytest.mark.parametrize(("name", "permuted"), [("images-2", "images-2-swapped"), ("images-4", "images-4-reversed")])
    def test_permutes_images_and_nothing_else(self, requests: dict[str, Request], name: str, permuted: str) -> None:
        assert requests[name].images == requests[permuted].images[::-1]
        assert requests[name].questions == requests[permuted].questions

    def test_has_every_format_control_marks_in_a_text_and_several_scripts(self, frozen: Protocol, requests: dict[str, Request]) -> None:
        assert {image.format for request in requests.values() for image in request.images} == {"PNG", "JPEG", "WEBP"}
        assert {case.id for case in frozen.cases if b"<|image_pad|>" in case.body} == {"literal-marks-noul"}
        everything = "".join(case.body.decode() for case in frozen.cases)
        assert all(re.search(letters, everything) for letters in ("[\u4e00-\u9fff]", "[\u0e00-\u0e7f]", "[ñ¿]", "[äöüß]"))

    def test_questions_are_as_long_as_the_decider_was_trained_on(self, requests: dict[str, Request]) -> None:
        tokenizer = load_tokenizer(PROJECT_ROOT / "kit" / "checkpoint" / "decider" / "base")
        page = (FOLDER / "README.md").read_text(encoding="utf-8")
        for name, request in requests.items():
            sides = [smart_resize(image.height, image.width) for image in request.images]
            tokens = [height * width // 1024 for height, width in sides]
            chats = [tokenizer.chat(user_message(state_text(request.state), q), len(tokens)) for q in request.questions]
            lengths = [len(tokenizer.expand(tokenizer.encode(chat), tokens)) for chat in chats]
            assert max(lengths) <= 512, name
            assert f"`{name}`" in page
            assert f"| {', '.join(map(str, lengths))} |" in page, f"{name}: the page says other lengths than {lengths}"

    def test_names_its_near_ties(self, frozen: Protocol) -> None:
        page = (FOLDER / "README.md").read_text(encoding="utf-8").partition("**Near a tie")[2]
        assert all(f"| `{name}` |" in page for name in NEAR_TIES)


# ---------------------------------------------------------------- held apart from the training data


def wordings(value: Any) -> Iterator[str]:
    """Every sentence of every split in what a module of tasks defines."""
    if isinstance(value, Wordings):
        for group in (value.train, value.calibration, value.held_out):
            for sentence in group:
                yield from sentence.split("|")
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        for spec in dataclasses.fields(value):
            yield from wordings(getattr(value, spec.name))
    elif isinstance(value, dict | list | tuple):
        for item in value.values() if isinstance(value, dict) else value:
            yield from wordings(item)


def training_sentences() -> dict[str, re.Pattern[str]]:
    """A pattern a sentence, its slots open."""
    modules = [importlib.import_module(f"{tasks.__name__}.{found.name}") for found in pkgutil.iter_modules(tasks.__path__)]
    sentences = {sentence for module in modules for value in vars(module).values() for sentence in wordings(value)}
    fixed = {sentence: re.sub(r"\{\w*\}", "", sentence) for sentence in sentences}
    kept = [sentence for sentence in sentences if len(re.findall(r"\w", fixed[sentence])) >= FEWEST_LETTERS]
    return {sentence: re.compile(re.sub(r"\\\{\w*\\\}", lambda _: SLOT, re.escape(sentence)), re.IGNORECASE) for sentence in kept}


def test_no_sentence_is_one_of_the_training_data(frozen: Protocol) -> None:
    patterns = training_sentences()
    assert len(patterns) > 500
    for case in frozen.cases:
        state = json.loads(case.body)["state"]
        said = [state] if isinstance(state, str) else [str(value) for value in (state.values() if isinstance(state, dict) else state)]
        texts = [*said, *(q.instructions for q in case.questions), *(c.text for q in case.questions for c in q.candidates)]
        clashes = [(text, sentence) for text in texts for sentence, pattern in patterns.items() if pattern.fullmatch(text)]
        assert clashes == [], case.id


# ---------------------------------------------------------------- the generator


def test_it_would_write_the_frozen_corpus_from_the_stored_images() -> None:
    files, differs = generate.rebuild(FOLDER)
    assert differs == []
    assert files["corpus.jsonl"] == (FOLDER / "corpus.jsonl").read_bytes()


@pytest.mark.parametrize("name", SCREENS)
def test_it_draws_the_stored_screen(name: str) -> None:
    assert generate.shows((FOLDER / "images" / name).read_bytes(), name)


def test_it_notices_another_picture() -> None:
    assert not generate.shows((FOLDER / "images" / "console-before.png").read_bytes(), "console-after.png")


def test_it_leaves_a_frozen_folder_alone_and_refuses_an_edited_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = Path(shutil.copytree(FOLDER, tmp_path / "protocol", ignore=shutil.ignore_patterns("__pycache__")))
    before = {file: file.read_bytes() for file in folder.rglob("*") if file.is_file()}
    assert generate.main([], folder) == 0
    assert {file: file.read_bytes() for file in folder.rglob("*") if file.is_file()} == before
    (folder / "README.md").write_text("edited\n")
    assert generate.main([], folder) == 1
    assert "README.md was changed" in capsys.readouterr().err
    assert generate.main(["--force"], folder) == 0


def test_version_1_is_what_it_was() -> None:
    assert load_protocol(FIRST).sha256 == load_profile("params/cpu-tiny.toml").protocol.sha256
