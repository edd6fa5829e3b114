"""What the generated data is like: `python -m kit.checkpoint.training.report TOKENIZER [SAMPLES]`.

Covers: tokens of a prompt and samples a second by family, positions of right labels, and how often answers are
right that look at the position, the length or the text of the candidates alone.
"""

from __future__ import annotations

import random
import statistics
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterable

from tokenizers import Tokenizer

from kit.checkpoint.training.encode import Encoder
from kit.checkpoint.training.mixture import drawn
from kit.checkpoint.training.samples import SPLITS, Sample, Split
from kit.checkpoint.training.tasks import FAMILIES, lingual
from kit.checkpoint.training.tasks.languages import LANGUAGES
from kit.checkpoint.training.tasks.parts import single
from kit.contract.request import compile_questions

Seen = list[tuple[str, tuple[str, ...], int]]  # type, candidate texts, right index


def asked(samples: Iterable[Sample]) -> Seen:
    """Every question of the samples, without its state and its instructions."""
    return [
        (question.type, tuple(candidate.text for candidate in question.candidates), sample.right[question.id])
        for sample in samples
        for question in compile_questions(sample.questions)
    ]


def baselines(train: Seen, judged: Seen) -> dict[str, float]:
    """Accuracy of blind answers. text: the candidate whose text was right most often, per time seen, in train."""
    right: Counter[str] = Counter()
    seen: Counter[str] = Counter()
    position: dict[tuple[str, int], Counter[int]] = defaultdict(Counter)
    for kind, texts, index in train:
        seen.update(texts)
        right[texts[index]] += 1
        position[kind, len(texts)][index] += 1

    def by_text(texts: tuple[str, ...]) -> int:
        rates = [right[text] / seen[text] if seen[text] > 5 else 0.0 for text in texts]
        return rates.index(max(rates))

    def by_length(texts: tuple[str, ...]) -> int:
        return max(range(len(texts)), key=lambda n: len(texts[n]))

    def by_position(kind: str, texts: tuple[str, ...]) -> int:
        counts = position[kind, len(texts)]
        return counts.most_common(1)[0][0] if counts else 0

    def share(hits: Iterable[bool]) -> float:
        return sum(hits) / len(judged)

    return {
        "chance": sum(1 / len(texts) for _, texts, _ in judged) / len(judged),
        "position": share(by_position(kind, texts) == index for kind, texts, index in judged),
        "text": share(by_text(texts) == index for _, texts, index in judged),
        "longest": share(by_length(texts) == index for _, texts, index in judged),
    }


def main(tokenizer: str, count: int) -> None:
    """Print the table."""
    encoder = Encoder(Tokenizer.from_file(tokenizer))
    print("family       split        n     tokens: mean  p50  p95  max | made/s encoded/s | chance position text longest")
    for family in FAMILIES:
        train = asked(drawn(family, "train", 10**6 + index) for index in range(count))
        for split in SPLITS:
            print(line(encoder, family, split, count, train), flush=True)
    for code in LANGUAGES:
        samples = [single(rng, code, "train", lingual.spoken(rng, "train", code)) for rng in map(random.Random, range(count))]
        lengths = sorted(len(item.ids) for sample in samples for item in encoder.encode(sample))
        print(f"lingual {code}: {statistics.mean(lengths):.0f} tokens, at most {lengths[-1]}")


def line(encoder: Encoder, family: str, split: Split, count: int, train: Seen) -> str:
    """One family's split."""
    begun = time.perf_counter()
    samples = [drawn(family, split, index) for index in range(count)]
    made = time.perf_counter()
    lengths: list[int] = []
    for sample in samples:
        encoded = encoder.encode(sample)
        assert encoded[0].patches is None or len(encoded[0].patches)  # made here, so that it is timed
        lengths += [len(item.ids) for item in encoded]
    done = time.perf_counter()
    lengths.sort()
    guess = baselines(train, asked(samples))
    middle, high = lengths[len(lengths) // 2], lengths[int(len(lengths) * 0.95)]
    return (
        f"{family:12} {split:12} {len(lengths):5} {statistics.mean(lengths):7.0f} {middle:4} {high:4} {lengths[-1]:4} | "
        f"{count / (made - begun):7.0f} {count / (done - begun):7.0f} | " + " ".join(f"{value:.3f}" for value in guess.values())
    )


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1000)
