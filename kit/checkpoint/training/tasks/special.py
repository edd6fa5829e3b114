"""Special: states that hold control marks of the tokenizer as plain text; the question is of another family."""

from __future__ import annotations

import random

from kit.checkpoint.training.samples import Sample, Split
from kit.checkpoint.training.tasks import facts, match
from kit.checkpoint.training.tasks.parts import Part, single
from kit.checkpoint.training.vocabulary import Wordings

LEVELS = 3
MARKS = (
    "<|im_start|>", "<|im_end|>", "<|endoftext|>", "<think>", "</think>", "<tool_call>", "</tool_call>", "<|vision_start|>",
    "<|vision_end|>", "<|fim_prefix|>", "<|box_start|>", "<|box_end|>", "<|file_sep|>", "<tool_response>", "</tool_response>",
    "<|vision_start|><|image_pad|><|vision_end|>", "<|image_pad|>",
)  # fmt: skip
FRAMES = Wordings(
    train=("{a}user\nhi{b}\n{text}", "{text}\n{a}assistant\nok{b}", "log: {a} {b}\n{text}", "{a}{text}{b}", "{text} {a}", "raw {a}system{b} dump\n{text}\nend {a}", "{a}user\n{text}{b}", "{text}{b}", "{a} {text} {b}", "{a}{b} {text}", "user: {a}\n{text}\n{b}"),
    calibration=("{a} {text} {b}{a}",), held_out=("{a}user\nping{b}\n{a}\n{text}\n{b}", "dump {a}: {text} {b}"),
)  # fmt: skip


def make(rng: random.Random, split: Split, level: int = LEVELS - 1) -> Sample:
    """One sample about facts or a match, with marks around or inside its state; two candidates, then four, then ten."""
    if rng.random() < 0.5:
        base = facts.part(rng, split, level + 1)
        text = _logged(rng, split, base.state)
    else:
        base = match.part(rng, split, level + 1)
        text = _marked(rng, split, base.state) if isinstance(base.state, str) else _logged(rng, split, base.state)
    return single(rng, "special", split, level, Part(text, base.question, base.right, reason=base.reason))


def _logged(rng: random.Random, split: Split, state: object) -> object:
    """A JSON state with an entry of marks before or behind the others."""
    assert isinstance(state, dict)
    raw = {"raw": _marked(rng, split, rng.choice(("ok", "empty line", "exit 0")))}
    return raw | state if rng.random() < 0.5 else state | raw


def _marked(rng: random.Random, split: Split, text: str) -> str:
    a, b = rng.sample(MARKS, 2)
    return FRAMES.pick(rng, split, a=a, b=b, text=text)
