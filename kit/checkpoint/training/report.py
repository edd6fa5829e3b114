"""What the generated data is like: `python -m kit.checkpoint.training.report [SAMPLES [TOKENIZER]]`.

Covers: for every family, level and split the tokens of a prompt, samples made and encoded a second on this core, and
how often a blind answer is right that looks at the position, the length or the text of the candidates alone.
Does not cover: what a model makes of the data (`kit.checkpoint.training.report_card`).
"""

from __future__ import annotations

import statistics
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from kit.checkpoint.training.encode import Encoder, open_encoder
from kit.checkpoint.training.mixture import FAMILIES, LEVELS, drawn
from kit.checkpoint.training.samples import SPLITS, Sample, Split
from kit.contract.request import compile_questions

TOKENIZER = Path(__file__).resolve().parents[1] / "decider" / "base" / "tokenizer.json"
SAMPLES = 300
HELD_APART = 10**6  # where the samples begin that blind answers learn from
HEADER = (
    f"{'family':12} level {'split':12} prompts | tokens: mean  p50  p95  max | made/s encoded/s |"
    " chance position longest text"
)


@dataclass(frozen=True)
class Seen:
    """A question without its state and its instructions."""

    kind: str
    texts: tuple[str, ...]
    right: int


def asked(samples: Iterable[Sample]) -> list[Seen]:
    """Every question of the samples."""
    return [
        Seen(question.type, tuple(item.text for item in question.candidates), sample.right[question.id])
        for sample in samples
        for question in compile_questions(sample.questions)
    ]


def blind(learned: Sequence[Seen], judged: Sequence[Seen]) -> tuple[float, float, float, float]:
    """Accuracy of chance, of the position and the text most often right in `learned`, and of the longest text."""
    right = Counter(item.texts[item.right] for item in learned)
    seen = Counter(text for item in learned for text in item.texts)
    positions: dict[tuple[str, int], Counter[int]] = defaultdict(Counter)
    for item in learned:
        positions[item.kind, len(item.texts)][item.right] += 1

    def by_text(texts: Sequence[str]) -> int:
        return max(range(len(texts)), key=lambda at: right[texts[at]] / seen[texts[at]] if seen[texts[at]] > 5 else 0.0)

    def by_position(item: Seen) -> int:
        found = positions[item.kind, len(item.texts)]
        return found.most_common(1)[0][0] if found else 0

    count = len(judged)
    return (
        sum(1 / len(item.texts) for item in judged) / count,
        sum(by_position(item) == item.right for item in judged) / count,
        sum(max(range(len(item.texts)), key=lambda at: len(item.texts[at])) == item.right for item in judged) / count,
        sum(by_text(item.texts) == item.right for item in judged) / count,
    )


def line(encoder: Encoder, family: str, level: int, split: Split, count: int, learned: Sequence[Seen]) -> str:
    """One family's level in one split."""
    encoder.encode(drawn(family, split, HELD_APART, level))
    begun = time.perf_counter()
    samples = [drawn(family, split, index, level) for index in range(count)]
    made = time.perf_counter()
    lengths = sorted(len(item.ids) for sample in samples for item in encoder.encode(sample))
    done = time.perf_counter()
    rates = " ".join(f"{value:.3f}" for value in blind(learned, asked(samples)))
    middle, high = lengths[len(lengths) // 2], lengths[int(len(lengths) * 0.95)]
    return (
        f"{family:12} {level:5} {split:12} {len(lengths):7} | {statistics.mean(lengths):12.0f} {middle:4} {high:4} {lengths[-1]:4} |"
        f" {count / (made - begun):6.0f} {count / (done - made):9.0f} | {rates}"
    )


def main(count: int = SAMPLES, tokenizer: Path = TOKENIZER) -> None:
    """Print the table."""
    encoder = open_encoder(tokenizer)
    print(HEADER)
    for family in FAMILIES:
        for level in range(LEVELS[family]):
            learned = asked(drawn(family, "train", HELD_APART + index, level) for index in range(count))
            for split in SPLITS:
                print(line(encoder, family, level, split, count, learned), flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else SAMPLES, Path(sys.argv[2]) if len(sys.argv) > 2 else TOKENIZER)
