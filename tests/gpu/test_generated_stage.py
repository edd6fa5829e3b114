"""Generated questions and the noise floor on a GPU, cpu-tiny weights: captured reference, layers, forms of the floor."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
import torch

from kit import runtime
from kit.profile import Generated, Profile, load_profile

if not torch.cuda.is_available():
    pytest.skip("no CUDA device: the captured reference cannot be shown here", allow_module_level=True)

from kit.campaign.floor import asking
from kit.campaign.floor.proof import oracle_rows, proof_of
from kit.campaign.generated import session
from kit.campaign.generated.official import Official
from kit.engine import reference
from kit.engine.oracle import load_oracle


@pytest.fixture(scope="module")
def profile() -> Profile:
    tiny = load_profile("params/cpu-tiny.toml")
    settings = dataclasses.replace(tiny.runtime, device="cuda")
    profile = dataclasses.replace(tiny, runtime=settings, generated=Generated(60, 5))
    runtime.configure(profile)
    return profile


def test_a_captured_reference_and_a_replayed_candidate_agree_on_every_question(profile: Profile, tmp_path: Path) -> None:
    document = session.measure(profile, tmp_path, 0.0)
    assert document["reached"] == 60
    assert document["all"]["hidden_different"] == document["all"]["logits_different"] == 0
    assert document["how"]["reference"] == "captured"
    assert document["how"]["shapes_refused"] == 0
    assert document["how"]["replays"] == 60 - document["how"]["shapes"] > 20
    assert document["oracle"]["hidden"]["ratio"]["upper"] == 1.0


@pytest.mark.parametrize("form", ["row0", "padded"])
def test_forms_of_the_floor_are_harmless_and_move_little(profile: Profile, form: str) -> None:
    asked = asking.questions(profile, 12)[:12]
    oracle, engine = load_oracle(profile), reference.load(profile)
    assert proof_of(oracle_rows(oracle, asked, form), oracle_rows(oracle, asked, "alone")).holds  # type: ignore[arg-type]
    official = Official(engine)
    alone = list(asking.alone(official, asked))
    official.close()
    batches = asking.Batches(engine, form, capture=True)
    twice = [answer for _ in range(2) for answer in map(batches.answer, asked)]
    assert all(batches.answers.proved.values())
    assert batches.answers.replays == 24 - len(batches.answers.proved)
    batches.close()
    assert twice[:12] == twice[12:] == list(asking.batched(engine, asked, form, capture=False))
    for a, b in zip(alone, twice, strict=False):
        assert max(abs(x - y) for x, y in zip(a.logits, b.logits, strict=True)) < 1.0
    engine.close()
