"""The cache policy as a rule: what a stream of forwards must have done to three bounded caches."""

import random

import pytest

from kit.campaign.graph_policy import Forward, PolicySimulation, check_policy
from kit.engine.graph_cache import PlannedForward, predict
from kit.profile import Graph, GraphCache

MB = 1 << 20


def simulate(graph: Graph, *forwards: Forward) -> tuple[list[str], dict[str, dict[str, int]]]:
    simulation = PolicySimulation(graph)
    return [simulation.step(forward) for forward in forwards], simulation.counters()


def text(tokens: int, size: int = 100, action: str | None = None) -> Forward:
    return Forward("text", f"text:{tokens}", tokens, action, size)


def test_first_sight_captures_and_later_sights_replay() -> None:
    actions, counters = simulate(Graph(), text(98), text(98), text(107), text(98))
    assert actions == ["capture", "replay", "capture", "replay"]
    assert counters["text"] == {
        "captures": 2, "replays": 2, "evictions": 0, "invalidations": 0, "fallbacks": 0, "captured_bytes": 200,
        "entries": 2, "bytes": 200, "pool_bytes": 0,
    }  # fmt: skip


def test_a_replay_refreshes_an_entry_under_lru_and_not_under_fifo() -> None:
    stream = [text(1), text(2), text(1), text(3), text(1)]
    bounds = GraphCache(entries=2)
    assert simulate(Graph(policy="lru", text=bounds), *stream)[0][-1] == "replay"
    assert simulate(Graph(policy="fifo", text=bounds), *stream)[0][-1] == "capture"


def test_scratch_growth_drops_language_graphs_of_both_kinds_and_no_vision_graph() -> None:
    graph = Graph(scratch_tokens=1024)
    vision = Forward("vision", "vision:1x16x16", None, None, 7)
    mixed = Forward("multimodal", "multimodal:149", 149, None, 5)
    actions, counters = simulate(graph, vision, mixed, text(98), text(1025), text(98), text(2048), vision)
    assert actions == ["capture"] * 6 + ["replay"]
    assert counters["text"]["invalidations"] == 1
    assert counters["multimodal"] | {"bytes": 0} == counters["multimodal"]
    assert counters["multimodal"]["invalidations"] == 1
    assert counters["vision"]["invalidations"] == 0
    assert counters["text"]["entries"] == 3, "1025 grew the scratch to 2048, so 2048 fits"


def test_scratch_grows_for_a_cache_that_is_off_too() -> None:
    graph = Graph(scratch_tokens=64, multimodal=GraphCache(entries=0))
    long = Forward("multimodal", "multimodal:100", 100, None, 0)
    actions, counters = simulate(graph, text(10), long, text(10))
    assert actions == ["capture", "eager", "capture"]
    assert counters["text"]["invalidations"] == 1
    assert not any(counters["multimodal"].values())


def test_bytes_bound_evicts_the_oldest_and_even_the_new_one() -> None:
    graph = Graph(text=GraphCache(entries=9, megabytes=1))
    actions, counters = simulate(graph, text(1, MB // 2), text(2, MB // 2), text(3, MB // 2), text(2), text(4, MB + 1))
    assert actions == ["capture", "capture", "capture", "replay", "capture"]
    assert counters["text"]["evictions"] == 4
    assert (counters["text"]["entries"], counters["text"]["bytes"]) == (0, 0)
    assert counters["text"]["captured_bytes"] == 3 * (MB // 2) + MB + 1


def test_what_entries_share_counts_until_the_last_of_them_goes() -> None:
    graph = Graph(text=GraphCache(entries=9, megabytes=1))
    pool = [Forward("text", f"text:{n}", n, None, 100, size) for n, size in ((1, MB // 2), (2, MB // 4), (3, 0))]
    _, counters = simulate(graph, *pool)
    assert (counters["text"]["bytes"], counters["text"]["pool_bytes"]) == (3 * MB // 4 + 300, 3 * MB // 4)
    actions, counters = simulate(graph, *pool, Forward("text", "text:4", 4, None, 100, MB // 2), pool[0])
    assert actions[-1] == "capture", "the pool alone was too large, so everything went, and the pool with it"
    assert (counters["text"]["entries"], counters["text"]["pool_bytes"]) == (1, MB // 2)


def test_a_failed_capture_that_left_shared_memory_costs_the_cache_its_entries() -> None:
    kept = Forward("multimodal", "multimodal:9", 9, None, 5)
    failed = Forward("text", "text:20", 20, "fallback", 0, MB)
    actions, counters = simulate(Graph(), text(10), kept, failed, text(10), kept)
    assert actions == ["capture", "capture", "fallback", "capture", "replay"]
    assert (counters["text"]["invalidations"], counters["text"]["pool_bytes"]) == (1, 0)


@pytest.mark.parametrize(
    ("action", "sizes"), [("replay", (5, 0)), ("replay", (0, 5)), ("fallback", (5, 0)), ("eager", (5, 0))]
)
def test_an_event_that_takes_no_memory_has_no_size(action: str, sizes: tuple[int, int]) -> None:
    line = {
        "kind": "question", "tokens": 98, "grids": [], "key": "text:98", "action": action,
        "bytes": sizes[0], "pool": sizes[1],
    }  # fmt: skip
    said = check_policy([line], Graph()).mismatches["text"]
    assert any(f"{action} with" in text for text in said)


def test_a_failed_capture_is_remembered_also_across_growth() -> None:
    actions, counters = simulate(Graph(scratch_tokens=64), text(10, 0, "fallback"), text(10), text(100), text(10))
    assert actions == ["fallback", "fallback", "capture", "fallback"]
    assert counters["text"]["fallbacks"] == 3


def test_a_fallback_on_a_cached_key_is_no_excuse() -> None:
    actions, _ = simulate(Graph(), text(10), text(10, 0, "fallback"))
    assert actions == ["capture", "replay"]


def test_counters_are_checked_when_ready_behind_every_post_and_when_closed() -> None:
    def question(action: str, warmup: str | None) -> dict:
        return {
            "kind": "question", "warmup": warmup, "tokens": 98, "grids": [], "key": "text:98", "action": action,
            "bytes": 5 if action == "capture" else 0, "pool": 0,
        }  # fmt: skip

    simulation = PolicySimulation(Graph())
    simulation.step(text(98, 5))
    ready = simulation.counters()
    simulation.step(text(98))
    closed = simulation.counters()
    lines = [
        question("capture", "text"),
        {"kind": "ready", "counters": ready},
        question("replay", None),
        {"kind": "post", "sequence": 1, "status": 200, "counters": closed},
        {"kind": "post", "sequence": 2, "status": 422, "counters": {}},
        {"kind": "closed", "counters": closed},
    ]
    assert not any(check_policy(lines, Graph(), closed).mismatches.values())
    stale = check_policy([*lines[:-1], {"kind": "closed", "counters": ready}], Graph(), closed)
    assert [len(found) for found in stale.mismatches.values()] == [1, 0, 0]
    assert stale.predicted_closed == closed
    lines[3] = lines[3] | {"counters": ready}
    assert [len(found) for found in check_policy(lines, Graph(), closed).mismatches.values()] == [1, 0, 0]
    lines[3] = lines[3] | {"counters": closed}
    never = check_policy(lines[:-1], Graph())
    assert len(never.mismatches["text"]) == 1


@pytest.mark.parametrize("policy", ["lru", "fifo"])
@pytest.mark.parametrize("seed", range(20))
def test_the_rule_and_the_engine_s_own_cache_agree_on_random_streams(policy: str, seed: int) -> None:
    chance = random.Random(seed)
    graph = Graph(
        policy=policy,
        scratch_tokens=64,
        text=GraphCache(entries=3, megabytes=1),
        multimodal=GraphCache(entries=chance.choice((0, 2, 9)), megabytes=2),
        vision=GraphCache(entries=2, megabytes=chance.choice((0, 1))),
    )
    sizes: dict[str, int | None] = {}
    stream = []
    for _ in range(120):
        cache = chance.choice(("text", "multimodal", "vision"))
        length = chance.choice((10, 20, 30, 40, 60, 90, 130)) if chance.random() < 0.9 else 200
        key = f"{cache}:{length}"
        size = sizes.setdefault(key, chance.choice((None, 200_000, 500_000, 1_200_000)))
        pool = chance.choice((0, 0, 100_000, 900_000))
        stream.append(PlannedForward(cache, key, None if cache == "vision" else length, size, pool))
    events, counters = predict(stream, graph)
    simulation = PolicySimulation(graph)
    for planned, event in zip(stream, events, strict=True):
        forward = Forward(planned.cache, planned.key, planned.tokens, event.action, event.bytes, event.pool)
        assert simulation.step(forward) == event.action
    assert simulation.counters() == counters
