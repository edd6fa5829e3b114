"""Worker processes deliver full buckets, count what fits none, and report what goes wrong."""

from __future__ import annotations

import dataclasses
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from kit.checkpoint.training.batches import CELLS, Feed, Source, WorkerError, batches, samples
from kit.checkpoint.training.curriculum import Table
from kit.checkpoint.training.export import DECIDER
from kit.checkpoint.training.judged import Job, load
from kit.checkpoint.training.settings import BUCKETS, STEP_TOKENS, TINY, Bucket, bucket_for, changed, sized
from kit.checkpoint.training.slots import Slots, layout_of
from kit.checkpoint.training.tasks import LEVELS

TOKENIZER = DECIDER / "base" / "tokenizer.json"
SMALL = (Bucket(256, 0, 4), Bucket(512, 1024, 2))


def source(buckets: tuple[Bucket, ...] = SMALL) -> Source:
    return Source(dataclasses.replace(TINY, buckets=buckets), TOKENIZER, dict(LEVELS))


def table(**weights: float) -> Table:
    made = Table(tuple(LEVELS))
    made.write(weights, dict.fromkeys(LEVELS, 0))
    return made


def fails(rank: int) -> None:
    raise RuntimeError(f"worker {rank} is made to fail")


def test_text_goes_where_no_patches_are_and_everything_into_the_first_that_fits() -> None:
    buckets = (Bucket(128, 0, 8), Bucket(256, 0, 4), Bucket(256, 288, 4), Bucket(512, 1024, 2))
    assert bucket_for(buckets, 100, 0) == buckets[0]
    assert bucket_for(buckets, 129, 0) == buckets[1]
    assert bucket_for(buckets, 129, 256) == buckets[2]
    assert bucket_for(buckets, 129, 400) == buckets[3]
    assert bucket_for(buckets, 400, 0) is None


def test_every_published_bucket_has_the_same_number_of_tokens() -> None:
    assert {bucket.tokens * bucket.batch for bucket in BUCKETS} == {STEP_TOKENS}


def test_the_largest_image_bucket_takes_several_screens() -> None:
    assert bucket_for(BUCKETS, 500, 1025) == Bucket(512, 1536, 72)
    assert bucket_for(BUCKETS, 1200, 4096) == BUCKETS[-1] == Bucket(1536, 4096, 24)


def test_a_long_text_has_buckets_of_its_own() -> None:
    assert bucket_for(BUCKETS, 600, 0) == Bucket(768, 0, 48)
    assert bucket_for(BUCKETS, 1100, 0) == Bucket(1152, 0, 32)


def test_a_place_of_the_published_buckets_stays_small() -> None:
    _, most = Source(dataclasses.replace(TINY, buckets=BUCKETS), TOKENIZER, dict(LEVELS)).layouts()
    assert most < 100 * 2**20


def test_a_smaller_step_has_the_same_buckets_with_fewer_samples_and_one_at_least() -> None:
    made = sized(BUCKETS, 256)
    assert [(bucket.tokens, bucket.patches) for bucket in made] == [(bucket.tokens, bucket.patches) for bucket in BUCKETS]
    assert {bucket.tokens: bucket.batch for bucket in made} == {64: 4, 128: 2, 192: 1, 256: 1, 384: 1, 512: 1, 768: 1, 1152: 1, 1536: 1}


def test_a_bucket_is_given_away_when_it_is_full() -> None:
    counts = np.zeros(len(LEVELS), np.int64)
    made = list(islice(batches(0, source(), table(match=0.5, console=0.5), counts), 6))
    assert {bucket for _, bucket, _ in made} == set(SMALL)
    for _, bucket, arrays in made:
        assert arrays["ids"].shape == (bucket.batch, bucket.tokens)
        assert ("pixels" in arrays) == bool(bucket.patches)
        assert arrays[CELLS].shape == (bucket.batch,)
    assert not counts.any()


def test_a_bucket_that_waits_too_long_is_filled_with_smaller_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kit.checkpoint.training.batches.OVERDUE", 40)
    buckets = (Bucket(128, 0, 4), Bucket(256, 0, 64), Bucket(512, 1024, 2))
    counts = np.zeros(len(LEVELS), np.int64)
    shared = table(facts=0.95, route=0.05)
    shared.write({"facts": 0.95, "route": 0.05}, dict.fromkeys(LEVELS, 0) | {"route": 1})
    arrived = islice(batches(0, source(buckets), shared, counts), 120)
    filled = [arrays["length"] for _, bucket, arrays in arrived if bucket.tokens == 256]
    assert filled
    assert all(min(lengths) <= 128 < max(lengths) for lengths in filled)


def test_cells_name_the_family_and_the_level() -> None:
    counts = np.zeros(len(LEVELS), np.int64)
    _, _, arrays = next(batches(0, source(), table(facts=1.0), counts))
    assert set(arrays[CELLS].tolist()) == {source().cell("facts", 0)}


def test_what_fits_no_bucket_is_counted() -> None:
    counts = np.zeros(len(LEVELS), np.int64)
    for _ in islice(batches(0, source((Bucket(40, 0, 1),)), table(facts=0.5, numbers=0.5), counts), 10):
        pass
    assert counts.sum() > 0


def test_the_phase_sets_the_form_and_starts_new_sample_numbers() -> None:
    shared = table(facts=1.0)
    drawn = samples(0, source(), shared)
    phase, bare = next(drawn)
    shared.set_phase(1)
    later, chat = next(drawn)
    assert (phase, later) == (0, 1)
    assert len(chat.ids) > len(bare.ids)


def test_the_same_seed_gives_the_same_samples_but_for_dropped_merges() -> None:
    whole = dataclasses.replace(source(), settings=dataclasses.replace(source().settings, dropout=0.0))
    first, second = (
        [item.ids for _, item in islice(samples(0, whole, table(match=0.5, facts=0.5)), 20)] for _ in range(2)
    )
    assert first == second


def test_batches_reach_the_loop_from_a_process_and_old_phases_are_let_go() -> None:
    shared = table(facts=1.0)
    with Feed(source(), shared) as feed:
        arrived = feed.next(0)
        assert arrived.arrays["ids"].any()
        arrived.release()
        shared.set_phase(1)
        assert feed.next(1).phase == 1
        assert feed.too_long() == {}


def test_who_waits_for_samples_of_a_worker_that_failed_hears_why(tmp_path: Path) -> None:
    with (
        Feed(dataclasses.replace(source(), before=fails), table(facts=1.0)) as feed,
        pytest.raises(WorkerError, match="worker 0 is made to fail"),
    ):
        load(tmp_path, Job("held-out", "bare", "facts", 0, 1), feed.check)


def test_a_failing_worker_ends_it_with_its_traceback() -> None:
    with (
        Feed(dataclasses.replace(source(), before=fails), table(facts=1.0)) as feed,
        pytest.raises(WorkerError, match="worker 0 is made to fail"),
    ):
        feed.next(0)


def test_places_hold_what_was_written_and_refuse_other_shapes() -> None:
    arrays = {"a": np.arange(6, dtype=np.int32).reshape(2, 3), "b": np.ones(5, np.uint8)}
    layout, size = layout_of(arrays)
    slots = Slots(2, size)
    slots.write(1, layout, arrays)
    assert np.array_equal(slots.views(1, layout)["a"], arrays["a"])
    assert not slots.views(0, layout)["b"].any()
    with pytest.raises(ValueError, match="its place"):
        slots.write(0, layout, {**arrays, "b": np.ones(4, np.uint8)})
    with pytest.raises(ValueError, match="laid out for"):
        slots.write(0, layout, {"a": arrays["a"]})


def test_a_setting_is_changed_by_its_path() -> None:
    assert changed(TINY, "base.hint=1.5").base.hint == 1.5
    assert changed(TINY, "images=0.5").images == 0.5
    assert changed(TINY, "amounts.quick=7").amounts.quick == 7
    for wrong in ("base.nothing=1", "base=1", "no.where=1"):
        with pytest.raises(ValueError, match="there is no number"):
            changed(TINY, wrong)
    for wrong in ("images", "images=much", "steps=1.5"):
        with pytest.raises(ValueError, match=r"(images|steps) is a number such as"):
            changed(TINY, wrong)
