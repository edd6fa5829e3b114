"""A text family's question amid other lines: the state is in there, whole, and no line around it speaks of what is asked."""

from __future__ import annotations

import json
import random

import pytest

from kit.checkpoint.training.samples import SPLITS, Split
from kit.checkpoint.training.tasks import amid
from kit.checkpoint.training.tasks.parts import candidate_texts


def text_of(state: object) -> str:
    return state if isinstance(state, str) else json.dumps(state, ensure_ascii=False)


@pytest.mark.parametrize("level", range(amid.LEVELS))
@pytest.mark.parametrize("split", SPLITS)
def test_the_inner_state_stands_in_it_whole(split: Split, level: int, monkeypatch: pytest.MonkeyPatch) -> None:
    inner: list[object] = []
    placed = amid._placed
    monkeypatch.setattr(amid, "_placed", lambda rng, split, state, around: inner.append(state) or placed(rng, split, state, around))
    for seed in range(30):
        made = amid.part(random.Random(seed), split, level)
        outer = text_of(made.state).replace("\\", "")
        said = text_of(inner[-1]).replace("\\", "")
        assert said[1:] in outer or all(word in outer for word in said.split()[1:])


def test_a_level_has_more_lines_than_the_one_below() -> None:
    means = []
    for level in range(amid.LEVELS):
        texts = [text_of(amid.part(random.Random(seed), "train", level).state) for seed in range(60)]
        means.append(sum(map(len, texts)) / len(texts))
    assert means == sorted(means)
    assert 2000 < means[-1] < 5000


def test_lines_share_no_word_with_what_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    lines: list[tuple[str, set[str]]] = []
    drawn = amid._line
    monkeypatch.setattr(amid, "_line", lambda rng, split, taken: lines.append((drawn(rng, split, taken), taken)) or lines[-1][0])
    for seed in range(60):
        amid.part(random.Random(seed), "train", 2)
    shared = [line for line, taken in lines if {word.lower() for word in amid.WORD.findall(line)} & taken]
    assert len(shared) < 0.01 * len(lines)  # after TRIES tries one stays that does


def test_the_right_candidate_is_that_of_the_inner_part() -> None:
    for seed in range(60):
        made = amid.part(random.Random(seed), "held-out", 1)
        assert 0 <= made.right < len(candidate_texts(made.question))
