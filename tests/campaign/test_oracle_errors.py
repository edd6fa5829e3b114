"""Errors against the oracle and the bound of class faithful: what they are, and what they refuse."""

from __future__ import annotations

import math
import random
import struct

import pytest
import torch

from kit.campaign.oracle_errors import (
    FLOOR,
    Errors,
    Interval,
    errors,
    noninferiority,
    problems,
    ratio,
    relative_l2,
    rms,
)
from kit.engine.base import Event, QuestionResult
from kit.engine.oracle import OracleResult

TRUTH = OracleResult("q", (1.0, -2.0), torch.tensor([3.0, 4.0], dtype=torch.float64))


def result(row: bytes, logits: tuple[float, ...] = (1.0, -2.0), name: str = "q") -> QuestionResult:
    return QuestionResult(name, logits, row, 5, Event())


def drawn(count: int, mean: float, spread: float = 0.2, seed: int = 1) -> list[float]:
    source = random.Random(seed)
    return [math.exp(source.gauss(math.log(mean), spread)) for _ in range(count)]


class TestErrors:
    def test_a_row_is_read_in_its_own_dtype(self) -> None:
        row = struct.pack("<2f", 3.0, 4.5)
        assert errors(TRUTH, result(row, (1.0, -1.0)), torch.float32) == Errors(0.1, math.sqrt(0.5))
        narrow = torch.tensor([3.0, 4.5], dtype=torch.bfloat16).view(torch.uint8).numpy().tobytes()
        assert errors(TRUTH, result(narrow), torch.bfloat16) == Errors(0.1, 0.0)

    def test_what_does_not_belong_together_is_refused(self) -> None:
        row = struct.pack("<2f", 3.0, 4.0)
        with pytest.raises(ValueError, match="'q' against the engine's 'r'"):
            errors(TRUTH, result(row, name="r"), torch.float32)
        with pytest.raises(ValueError, match="no hidden row"):
            errors(TRUTH, result(b""), torch.float32)
        with pytest.raises(ValueError, match="1 logits against the oracle's 2"):
            errors(TRUTH, result(row, (1.0,)), torch.float32)
        with pytest.raises(ValueError, match="row of"):
            errors(TRUTH, result(row + row), torch.float32)
        with pytest.raises(ValueError, match="is zero"):
            relative_l2(torch.ones(2), torch.zeros(2))
        with pytest.raises(ValueError, match="0 logits"):
            rms((), ())


class TestRatio:
    def test_no_error_is_smaller_than_the_oracles_own(self) -> None:
        assert ratio(0.0, 0.0) == 1.0
        assert ratio(0.02, 0.01) == 2.0
        assert ratio(0.0, 1.0) == FLOOR
        assert ratio(1e-3, 0.0) == 1e-3 / FLOOR

    @pytest.mark.parametrize("broken", [math.nan, math.inf, -1.0])
    def test_an_error_that_is_no_number_is_refused(self, broken: float) -> None:
        with pytest.raises(ValueError, match="finite"):
            ratio(broken, 0.1)
        with pytest.raises(ValueError, match="finite"):
            ratio(0.1, broken)


class TestNoninferiority:
    def test_equal_errors_have_a_ratio_of_one(self) -> None:
        assert noninferiority([1.0] * 6, list("abcabc")) == Interval(1.0, 1.0, 1.0, 6, 3)

    def test_the_mean_is_geometric(self) -> None:
        found = noninferiority([0.5, 2.0, 4.0, 0.25], list("abcd"))
        assert found.mean == pytest.approx(1.0)
        assert found.lower < 1 < found.upper

    def test_bounds_hold_the_middle_of_resampled_contents(self) -> None:
        """Against the normal approximation: log ratios of spread 0.2 over 600 contents."""
        found = noninferiority(drawn(600, 1.05), [str(i) for i in range(600)])
        width = 1.645 * 0.2 / math.sqrt(600)
        assert math.log(found.upper / found.mean) == pytest.approx(width, rel=0.15)
        assert math.log(found.mean / found.lower) == pytest.approx(width, rel=0.15)

    def test_questions_about_one_content_do_not_count_as_many(self) -> None:
        """Ten copies of each ratio, ten to a content: the interval of the sixty, not of six hundred."""
        values = drawn(60, 1.0)
        alone = noninferiority(values, [f"{i:02}" for i in range(60)])
        copied = noninferiority([v for v in values for _ in range(10)], [f"{i:02}" for i in range(60) for _ in range(10)])
        assert copied.upper == pytest.approx(alone.upper)
        apart = noninferiority([v for v in values for _ in range(10)], [f"{i:03}" for i in range(600)])
        assert math.log(apart.upper / apart.mean) < 0.5 * math.log(alone.upper / alone.mean)

    def test_the_order_of_prompts_does_not_matter(self) -> None:
        pairs = list(zip(drawn(50, 1.0), [f"{i % 17}" for i in range(50)], strict=True))
        shuffled = random.Random(3).sample(pairs, len(pairs))
        a, b = (noninferiority([v for v, _ in each], [c for _, c in each]) for each in (pairs, shuffled))
        assert (a.lower, a.mean, a.upper) == pytest.approx((b.lower, b.mean, b.upper), rel=1e-12)

    def test_it_is_drawn_as_it_is_written_down(self) -> None:
        """The docstring, word for word, as another implementation would have it."""
        values, names = drawn(30, 1.1), [f"{i % 7}" for i in range(30)]
        groups = {n: [math.log(v) for v, m in zip(values, names, strict=True) if m == n] for n in sorted(set(names))}
        each, source, seen = list(groups.values()), random.Random(20260722), []
        for _ in range(1000):
            picked = [each[int(source.random() * len(each))] for _ in each]
            seen.append(math.fsum(math.fsum(one) for one in picked) / sum(len(one) for one in picked))
        seen.sort()
        found = noninferiority(values, names)
        assert found.lower == pytest.approx(math.exp(seen[50]), rel=1e-12)
        assert found.upper == pytest.approx(math.exp(seen[949]), rel=1e-12)

    def test_nothing_and_nonsense_are_refused(self) -> None:
        for values, names in (([], []), ([1.0], []), ([0.0], ["a"]), ([math.nan], ["a"]), ([math.inf], ["a"])):
            with pytest.raises(ValueError):
                noninferiority(values, names)


class TestProblems:
    def interval(self, mean: float, count: int = 600, contents: int = 200) -> Interval:
        return noninferiority(drawn(count, mean), [str(i % contents) for i in range(count)])

    def test_a_candidate_as_far_from_the_truth_as_the_reference_passes(self) -> None:
        assert problems(self.interval(1.0)) == []

    def test_one_a_tenth_further_does_not(self) -> None:
        (found,) = problems(self.interval(1.10))
        assert "the class allows 1.10" in found

    def test_few_prompts_or_contents_carry_nothing(self) -> None:
        assert problems(self.interval(1.0, 599)) == ["599 prompts, the class needs 600"]
        assert problems(self.interval(1.0, 600, 20)) == ["20 distinct contents, a bound needs 100"]

    def test_an_unbounded_ratio_is_a_problem(self) -> None:
        assert problems(Interval(1.0, 1.0, math.nan, 600, 600))
