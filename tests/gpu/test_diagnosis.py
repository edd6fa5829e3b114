"""The library of a diagnosis on a CUDA device, with FLA's kernels under it: every form told from every other, and undone."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

from kit.profile import load_profile

if not torch.cuda.is_available():
    pytest.skip("no CUDA device: tests/campaign/diagnosis covers the same code on the CPU", allow_module_level=True)

from kit import runtime
from kit.campaign.diagnosis.forms import FORMS, PLAIN, library
from kit.campaign.diagnosis.matching import Answers, Temperatures, find
from kit.contract.answer import softmax
from kit.engine import reference
from kit.engine.reference import ReferenceEngine
from tests.campaign.diagnosis.asked import PROFILE, asked


@pytest.fixture(scope="module")
def official() -> Iterator[ReferenceEngine]:
    profile = load_profile(PROFILE)
    runtime.configure(profile)
    engine = reference.load(profile)
    yield engine
    engine.close()


def test_every_form_is_named_as_itself_and_the_reference_is_as_before(official: ReferenceEngine) -> None:
    cases = asked()
    before = torch.cuda.memory_allocated()
    found: dict[str, Answers] = dict(library(official, cases))
    assert torch.cuda.memory_allocated() <= before + (64 << 20)  # cuBLAS keeps a workspace; no weight was kept twice
    assert library(official, cases, FORMS[:1])[PLAIN] == found[PLAIN]
    declared = Temperatures(official.calibration.temperature, official.calibration.mm_temperature)
    modalities = {case.id: case.modality for case in cases}
    for name, answers in found.items():
        served = {key: softmax(logits, declared.of(modalities[key[0]])) for key, logits in answers.items()}
        result = find(served, found, modalities, declared)
        named = {result.nearest.form, *(match.form for match in result.same)}
        assert name in named, f"{name} is taken for {result.nearest.form}"
        assert len(named) == 1 or named == {"images-reversed", "images-swapped"}, named
