"""Exact statements about counts of changed winners: a bound on a rate, and a test on paired answers.

Covers: the one-sided 95% upper bound of Clopper and Pearson, and McNemar's test in its exact, two-sided form.
Plain Python, so that an auditor computes the same numbers. Does not cover: counting (`kit.campaign.generated.summary`).
"""

from __future__ import annotations

import math

CONFIDENCE = 0.95
BISECTIONS = 100  # more than a float64 in 0..1 has bits
FEWEST_DISCORDANT = 6  # with five, not even all on one side is significant at 5%


def upper_bound(changed: int, questions: int, confidence: float = CONFIDENCE) -> float:
    """The largest rate at which `changed` or fewer of `questions` still happen with probability 1 - confidence.

    Raises ValueError unless 0 <= changed <= questions and there is a question.
    """
    if not 0 <= changed <= questions or questions < 1:
        raise ValueError(f"{changed} of {questions}: expected a count of at least one question")
    if changed == questions:
        return 1.0
    low, high = 0.0, 1.0
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        low, high = (middle, high) if at_most(changed, questions, middle) > 1 - confidence else (low, middle)
    return high


def at_most(count: int, of: int, rate: float) -> float:
    """Probability of `count` or fewer successes in `of` independent trials of success `rate`."""
    if rate <= 0.0:
        return 1.0
    if rate >= 1.0:
        return 1.0 if count >= of else 0.0
    yes, no = math.log(rate), math.log1p(-rate)
    whole = math.lgamma(of + 1)
    terms = (
        math.exp(whole - math.lgamma(i + 1) - math.lgamma(of - i + 1) + i * yes + (of - i) * no)
        for i in range(count + 1)
    )
    return min(1.0, math.fsum(terms))


def mcnemar(lost: int, won: int) -> float | None:
    """Two-sided p of as uneven a split of right answers lost and won, were both equally likely.

    None with fewer than six discordant pairs, which no split of could be told from chance.
    """
    pairs = lost + won
    if pairs < FEWEST_DISCORDANT:
        return None
    tail = sum(math.comb(pairs, i) for i in range(min(lost, won) + 1))
    return min(1.0, 2 * tail / float(2**pairs))
