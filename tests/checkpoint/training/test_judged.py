"""What a run is judged on: who makes it, choices in two orders, and what is said where there is too little of it."""

from __future__ import annotations

import dataclasses
from bisect import bisect_right
from pathlib import Path

import pytest

from kit.checkpoint.training.encode import open_encoder
from kit.checkpoint.training.export import DECIDER
from kit.checkpoint.training.judged import (
    PERMUTED,
    TRIES,
    Job,
    NothingToJudgeError,
    fewer,
    jobs,
    load,
    load_pairs,
    maker,
    pairs,
    permuted,
    questions,
    quick,
)
from kit.checkpoint.training.mixture import drawn
from kit.checkpoint.training.settings import TINY, Amounts, Bucket, Settings

TOKENIZER = DECIDER / "base" / "tokenizer.json"
LEVELS = {"match": 2, "numbers": 1}


def test_every_family_and_level_is_judged_in_both_forms_and_calibrated() -> None:
    listed = jobs(LEVELS, Amounts())
    assert len({job.file for job in listed}) == len(listed)
    for split, form in (("held-out", "bare"), ("held-out", "chat"), ("calibration", "chat")):
        found = {(job.family, job.level) for job in listed if (job.split, job.form, job.kind) == (split, form, "plain")}
        assert found == {("match", 0), ("match", 1), ("numbers", 0)}
    assert [job.family for job in listed if job.kind == PERMUTED] == ["match"]


def test_workers_share_the_jobs_and_the_run_reads_them(tmp_path: Path) -> None:
    settings = dataclasses.replace(TINY, workers=2, amounts=Amounts(held_out=2, calibration=1, permuted=2))
    make = maker(settings, TOKENIZER, LEVELS, tmp_path)
    for rank in range(2):
        make(rank)
    for job in jobs(LEVELS, settings.amounts):
        found = load_pairs(tmp_path, job, never) if job.kind == PERMUTED else load(tmp_path, job, never)
        assert len(found) == job.amount


def test_waiting_ends_when_nobody_makes_them(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="nobody"):
        load(tmp_path, jobs(LEVELS, Amounts())[0], never)


def test_a_permuted_choice_holds_the_same_candidates_and_the_same_right_one() -> None:
    sample = drawn("match", "held-out", 3, 1)
    turned = permuted(sample)
    assert turned is not None
    other, order = turned
    (name,) = sample.questions
    before, after = list(sample.questions[name]["criteria"]), list(other.questions[name]["criteria"])
    assert after == [before[place] for place in order]
    assert after != before
    assert other.expected == sample.expected
    assert before[sample.right[name]] == after[other.right[name]]


def test_only_choices_have_another_order() -> None:
    for number in range(20):
        sample = drawn("score", "held-out", number, 0)
        (question,) = sample.questions.values()
        assert (permuted(sample) is None) == (question["type"] != "choice")


def test_pairs_ask_the_same_in_two_orders() -> None:
    for pair in pairs(Job("held-out", "chat", "match", 1, 3, PERMUTED), open_encoder(TOKENIZER), TINY):
        assert pair.order[pair.second.right] == pair.first.right


def test_the_regular_evaluation_takes_all_levels_alike() -> None:
    encoder = open_encoder(TOKENIZER)
    found = [questions(Job("held-out", "bare", "match", level, 3), encoder, TINY) for level in range(2)]
    assert [item.level for item in quick(found, 4)] == [0, 1, 0, 1]


def test_a_level_with_few_questions_leaves_no_gap_in_the_regular_evaluation() -> None:
    encoder = open_encoder(TOKENIZER)
    found = [questions(Job("held-out", "bare", "match", level, 3 - 2 * level), encoder, TINY) for level in range(2)]
    assert [item.level for item in quick(found, 9)] == [0, 1, 0, 0]


class TestFewer:
    """Where most samples are too long for the buckets."""

    CHAT = Job("held-out", "chat", "facts", 3, 3)

    def short(self, tokens: int) -> Settings:
        return dataclasses.replace(TINY, buckets=(Bucket(tokens, 0, 4),))

    def test_those_that_fit_are_taken(self) -> None:
        encoder = open_encoder(TOKENIZER)
        lengths = sorted(len(encoder.encode(drawn("facts", "held-out", n, 3))[0].ids) for n in range(TRIES * self.CHAT.amount))
        settings = self.short(max(length for length in lengths if bisect_right(lengths, length) < self.CHAT.amount))
        found = questions(self.CHAT, encoder, settings)
        assert 0 < len(found) < self.CHAT.amount
        assert all(len(item.ids) <= lengths[1] for item in found)
        asked = dataclasses.replace(self.CHAT, family="match", kind=PERMUTED)
        assert pairs(asked, encoder, self.short(8)) == []

    def test_none_at_all_ends_a_run_before_it_has_begun(self) -> None:
        with pytest.raises(NothingToJudgeError, match=r"no held-out question of family facts, level 3, fits .* 60 samples"):
            questions(self.CHAT, open_encoder(TOKENIZER), self.short(8))

    def test_families_with_fewer_than_asked_are_listed_over_their_levels(self) -> None:
        rest = dataclasses.replace(self.CHAT, level=2)
        enough = dataclasses.replace(self.CHAT, family="match")
        turned = dataclasses.replace(self.CHAT, kind=PERMUTED)
        assert fewer({self.CHAT: 1, rest: 3, enough: 3, turned: 0}) == [
            {"kind": "plain", "split": "held-out", "form": "chat", "family": "facts", "asked": 6, "got": 4},
            {"kind": PERMUTED, "split": "held-out", "form": "chat", "family": "facts", "asked": 3, "got": 0},
        ]


def never() -> None:
    raise RuntimeError("nobody makes them")
