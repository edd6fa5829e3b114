"""Values that are not finite are reported, never answered, and leave nothing behind; with the tiny checkpoint."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from kit.campaign import poison
from kit.campaign.drill import Drill
from kit.campaign.plan import feasibility_cases
from kit.campaign.protocol import load_protocol
from kit.campaign.run_folder import Run
from kit.checkpoint import digest_of, hash_files, locate
from kit.engine import graph, native
from kit.engine.native import NativeEngine
from kit.profile import load_profile

PROFILE = load_profile("params/cpu-tiny.toml")
PROTOCOL = load_protocol(PROFILE.protocol_path())
BODIES: dict[str, bytes] = {case.modality: case.body for case in feasibility_cases(PROTOCOL)}


@pytest.fixture(scope="module", params=[native, graph], ids=["native", "graph"])
def engine(request: pytest.FixtureRequest) -> Iterator[NativeEngine]:
    loaded = request.param.load(PROFILE)
    yield loaded
    loaded.close()


def test_every_poison_is_reported_and_healed(engine: NativeEngine) -> None:
    drills = {drill.drill: drill for drill in poison.poisoned_engine(engine, BODIES)}
    assert list(drills) == ["not-finite-pixels", "not-finite-weights"]
    assert all(drill.passed for drill in drills.values()), drills
    weights = drills["not-finite-weights"].observed
    assert list(weights) == [
        "first layer, text", "first layer, image", "final norm, text", "final norm, image", "vision tower, image",
        "adapter, text", "adapter, image",
    ]  # fmt: skip


def test_an_engine_that_answers_all_the_same_fails_the_drill(engine: NativeEngine) -> None:
    class Blind:
        """Looks away from values that are not finite."""

        language, vision = engine.language, engine.vision

        def prepare(self, body: bytes) -> Any:
            return engine.prepare(body)

        def decide(self, prepared: Any) -> Any:
            pixels = prepared.pixels
            if pixels is not None:
                prepared = dataclasses.replace(prepared, pixels=torch.nan_to_num(pixels, posinf=1.0))
            return engine.decide(prepared)

    pixels = next(iter(poison.poisoned_engine(Blind(), BODIES)))  # type: ignore[arg-type]
    assert not pixels.passed
    assert pixels.checks["NaN: reported"] is False
    assert pixels.observed["NaN"].startswith("answer: ")


def test_poison_stays_in_memory_and_for_the_length_of_its_block(engine: NativeEngine) -> None:
    folder = locate(PROFILE).base.parent
    before = digest_of(hash_files(folder))
    weight = engine.language.layers[0].mlp.down.weight
    kept = weight.clone()
    with poison.poisoned(weight):
        assert math.isnan(weight[0, 0].item())
        assert digest_of(hash_files(folder)) == before
    assert torch.equal(weight, kept)


def test_an_engine_that_was_poisoned_in_service_is_shut(tmp_path: Path) -> None:
    run = Run(tmp_path, PROFILE, Path("unused"), PROTOCOL, "unused")
    drills: list[Drill] = list(poison.drills(run, "native"))
    assert [drill.drill for drill in drills] == ["not-finite-pixels", "not-finite-weights", "not-finite-served"]
    assert drills[-1].passed, drills[-1]
    assert drills[-1].observed["statuses"] == [200, 503, 503]
