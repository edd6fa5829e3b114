"""Stage against stage: what differs, by how much, which stage is first, and what layers.json holds of it."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
import torch
from torch import Tensor

from kit.campaign import sensitivity
from kit.campaign.layer_bounds import Bound, bits, uniform
from kit.campaign.layer_drift import (
    LayerDriftError,
    StageDrift,
    bf16_spacing,
    bins,
    compare,
    first_over,
    frame,
    histogram,
    layers_document,
    oracle_ratio,
    pair_entry,
    place,
    prompt_entry,
    stage_drift,
    table,
    worst,
)
from kit.engine.trace import Keep, Trace, digest, stage_names

STAGES = stage_names(["linear_attention", "full_attention"], None)


def made(keep: Keep = "all") -> Trace:
    draw = torch.Generator().manual_seed(1)
    stages = {name: torch.randn(6, 4, generator=draw).bfloat16() for name in STAGES}
    return Trace(((name, digest(x) if keep == "digest" else x) for name, x in stages.items()), keep)


def changed(trace: Trace, **stages: Any) -> Trace:
    """A trace with some stages put through a function; `layer_01` stands for layer.01."""
    found = {name.replace("_", "."): change for name, change in stages.items()}
    return Trace(((name, found.get(name, Tensor.clone)(x)) for name, x in trace.items()), trace.keep)


def one(ours: Tensor, theirs: Tensor, bound: Bound | None = None) -> StageDrift:
    return stage_drift("hidden", ours, theirs, bound or bits())


class TestOneStage:
    def test_equal_tensors(self) -> None:
        x = torch.tensor([1.0, -0.0, 3.0]).bfloat16()
        found = one(x, x.clone())
        assert (found.different, found.relative_rms, found.max_steps, found.over) == (0, 0.0, 0.0, False)
        assert found.steps == (3, 0, 0, 0, 0, 0, 0, 0, 0)

    def test_one_step_of_one_value(self) -> None:
        theirs = torch.tensor([1.0, 2.0, 2.0]).bfloat16()
        ours = torch.tensor([1.0078125, 2.0, 2.0]).bfloat16()
        found = one(ours, theirs)
        assert (found.elements, found.different, found.max_steps, found.over) == (3, 1, 1.0, True)
        assert found.relative_rms == pytest.approx(2**-7 / 3)
        assert found.steps == (2, 0, 1, 0, 0, 0, 0, 0, 0)

    def test_the_sign_of_zero_is_a_bit_and_no_distance(self) -> None:
        found = one(torch.tensor([-0.0, 1.0]), torch.tensor([0.0, 1.0]))
        assert (found.different, found.relative_rms, found.over) == (1, 0.0, True)
        assert not one(torch.tensor([-0.0, 1.0]), torch.tensor([0.0, 1.0]), uniform(0.0, ["hidden"])).over

    def test_a_relative_bound_is_met_or_not(self) -> None:
        ours, theirs = torch.tensor([1.01, 0.0]), torch.tensor([1.0, 0.0])
        assert not one(ours, theirs, uniform(0.0101, ["hidden"])).over
        assert one(ours, theirs, uniform(0.0099, ["hidden"])).over

    def test_nothing_but_zeros_to_be_off_from(self) -> None:
        found = one(torch.tensor([1e-3]), torch.tensor([0.0]), uniform(1e9, ["hidden"]))
        assert found.relative_rms == math.inf
        assert found.over

    def test_other_shapes_are_over_any_bound(self) -> None:
        found = one(torch.ones(2), torch.ones(3), uniform(1e9, ["hidden"]))
        assert found.over
        assert found.problem == "shape [2] against [3]"

    def test_other_dtypes_have_no_common_bits_but_values(self) -> None:
        x = torch.tensor([1.0, 2.0])
        assert one(x.bfloat16(), x).problem == "bfloat16 against float32"
        assert one(x.bfloat16(), x).different == 0
        assert not one(x.bfloat16(), x, uniform(0.0, ["hidden"])).over

    @pytest.mark.parametrize("value", [math.nan, math.inf])
    def test_what_is_not_finite_is_within_no_distance(self, value: float) -> None:
        broken, right = torch.tensor([value, 1.0]), torch.ones(2)
        for ours, theirs in ((broken, right), (right, broken), (broken, broken)):
            assert one(ours, theirs, uniform(1e9, ["hidden"])).problem == "not finite"
        assert one(broken, right).over
        assert not one(broken, broken.clone()).over  # the same bits all the same

    def test_neither_side_is_written_to(self) -> None:
        ours, theirs = torch.tensor([-1.0, 2.0]).double(), torch.tensor([-1.5, 2.0]).double()
        one(ours, theirs)
        assert (ours.tolist(), theirs.tolist()) == ([-1.0, 2.0], [-1.5, 2.0])

    def test_spacing_is_that_of_the_logits(self) -> None:
        values = [0.0, 1e-40, 2.0**-126, 0.1, 1.0, 1.9999, 2.0, 255.0, 1e30]
        assert bf16_spacing(torch.tensor(values, dtype=torch.float64)).tolist() == [sensitivity.bf16_spacing(v) for v in values]

    def test_bins_are_closed_above(self) -> None:
        assert histogram(torch.tensor([0.0, 0.1, 0.5, 1.0, 1.1, 2.0, 64.0, 65.0])) == (1, 2, 1, 2, 0, 0, 0, 1, 1)
        assert bins() == ["none", "to 0.5", "to 1", "to 2", "to 4", "to 8", "to 16", "to 64", "over 64"]


class TestTwoTraces:
    def test_the_first_stage_over_is_the_first_along_the_walk(self) -> None:
        ours = changed(made(), layer_01=torch.neg, layer_00_mlp=torch.neg, logits=torch.neg)
        found = compare(ours, made(), bits())
        assert [stage.stage for stage in found] == STAGES
        assert first_over(found) == "layer.00.mlp"
        assert [stage.stage for stage in found if stage.over] == ["layer.00.mlp", "layer.01", "logits"]
        assert first_over(compare(made(), made(), bits())) is None

    def test_digests_tell_only_whether_bits_differ(self) -> None:
        other = made("digest")
        other["layer.01"] = digest(torch.zeros(1))
        found = compare(other, made("digest"), bits())
        assert first_over(found) == "layer.01"
        assert {stage.relative_rms for stage in found} == {None}
        with pytest.raises(LayerDriftError, match="digests show whether bits differ"):
            compare(other, other, uniform(0.1, STAGES))

    def test_traces_of_different_kinds(self) -> None:
        with pytest.raises(LayerDriftError, match="kept 'all' of each stage, the other 'digest'"):
            compare(made(), made("digest"), bits())
        with pytest.raises(LayerDriftError, match=r"not have the same stages: \['logits'\]"):
            compare(made(), Trace(list(made().items())[:-1]), bits())
        with pytest.raises(LayerDriftError, match="both are empty"):
            compare(Trace(), Trace(), bits())


def pair(engine: str, against: str, scale: float, bound: Bound | None = None) -> dict[str, Any]:
    bound = bound or uniform(0.1, STAGES)
    drift = compare(changed(made(), layer_01_mixer=lambda x: x.float() * scale), made(), bound)
    entries = [prompt_entry(request, "q", "text", 6, drift) for request in ("one", "two")]
    return pair_entry(engine, against, bound, entries)


class TestDocument:
    def test_columns_per_prompt(self) -> None:
        document = layers_document([pair("native", "reference", 2.0)], "d1")
        assert document["format"] == "kit-layers/1"
        assert json.loads(json.dumps(document, allow_nan=False)) == document
        prompt = document["pairs"][0]["prompts"][0]
        at = prompt["stages"].index("layer.01.mixer")
        assert prompt["first_over"] == "layer.01.mixer"
        assert prompt["relative_rms"][at] == pytest.approx(1.0)
        assert prompt["over"] == [stage == "layer.01.mixer" for stage in STAGES]
        assert set(prompt["histograms"]) == {"layer.01.mixer", "hidden"}
        assert sum(prompt["histograms"]["hidden"]) == 24
        assert document["pairs"][0]["over"] == 2

    def test_infinity_is_written_as_null_with_the_stage_still_over(self) -> None:
        drift = [one(torch.ones(2), torch.zeros(2), uniform(1.0, ["hidden"]))]
        entry = prompt_entry("one", "q", "text", 2, drift)
        assert entry["relative_rms"] == [None]
        assert entry["over"] == [True]

    def test_an_empty_document_is_refused(self) -> None:
        for pairs in ([], [pair_entry("native", "reference", bits(), [])]):
            with pytest.raises(LayerDriftError, match="at least one pair"):
                layers_document(pairs, "d1")

    def test_worst_is_over_all_prompts_that_have_the_stage(self) -> None:
        text = {"stages": ["embedding"], "relative_rms": [0.1]}
        image = {"stages": ["vision.merger", "embedding"], "relative_rms": [0.3, 0.2]}
        assert worst([text, image]) == {"vision.merger": 0.3, "embedding": 0.2}
        assert worst([text, image | {"relative_rms": [0.3, None]}])["embedding"] is None

    def test_errors_of_candidate_and_reference_against_the_oracle(self) -> None:
        ratio = oracle_ratio([pair("reference", "oracle", 1.1), pair("native", "oracle", 1.3)])
        assert ratio["native"]["layer.01.mixer"] == pytest.approx(3.0, rel=1e-3)
        assert ratio["native"]["layer.00.mixer"] is None  # the reference has no error there
        assert oracle_ratio([pair("native", "oracle", 1.3), pair("native", "reference", 1.3)]) == {}


class TestTables:
    def test_one_row_a_layer_and_one_column_a_branch(self) -> None:
        assert place("layer.03.mixer") == ("layer 03", "mixer")
        assert place("layer.03") == ("layer 03", "residual")
        assert place("vision.block.10.attention") == ("vision block 10", "mixer")
        assert place("vision.merger") == ("vision merger", "residual")
        found = table(worst(pair("native", "reference", 2.0)["prompts"]))
        assert list(found.index) == ["embedding", "layer 00", "layer 01", "hidden", "logits"]
        assert found.loc["layer 01", "mixer"] == pytest.approx(1.0)
        assert found["state"].isna()["layer 01"]  # full attention has none

    def test_one_row_a_stage(self) -> None:
        found = frame(pair("native", "reference", 2.0))
        assert len(found) == 2 * len(STAGES)
        assert found[found["over"]]["stage"].unique().tolist() == ["layer.01.mixer"]
