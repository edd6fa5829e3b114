"""What a run keeps of its checkpoint is enough to recompute label logits from a hidden row."""

import dataclasses

import numpy as np
import pytest
import torch
from safetensors import safe_open

from kit import checkpoint
from kit.campaign.checkpoint_record import inventory_summary, label_rows, record_checkpoint
from kit.campaign.run_folder import open_run
from kit.checkpoint.recipes import LABEL_IDS
from kit.checkpoint.synthetic import plan
from kit.engine import native
from kit.evidence.records import sha256_bytes
from kit.profile import load_profile


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KIT_RUNS", str(tmp_path_factory.mktemp("runs")))
        run = open_run("params/cpu-tiny.toml", "a")
    return run, record_checkpoint(run)


def test_it_names_the_pinned_digest_and_every_file(recorded):
    run, document = recorded
    assert document["digest"] == run.profile.checkpoint.digest
    assert {"base/config.json", "base/tokenizer.json", "adapter/adapter_model.safetensors"} <= set(document["files"])
    assert document["tensors"]["adapter"].keys() == {"F32"}


def test_label_rows_are_the_heads_own(recorded):
    run, document = recorded
    head = document["label_head"]
    data = (run.path / head["file"]).read_bytes()
    assert sha256_bytes(data) == head["rows_sha256"]
    kept = torch.from_numpy(np.frombuffer(data, "<i2").reshape(head["shape"]).copy()).view(torch.bfloat16)
    base = checkpoint.locate(run.profile).base
    for shard in base.glob("*.safetensors"):
        with safe_open(shard, framework="pt") as file:
            if "lm_head.weight" in file.keys():  # noqa: SIM118  (not a mapping)
                assert torch.equal(kept, file.get_tensor("lm_head.weight")[head["ids"]])


def test_its_sum_is_what_an_engine_reports(recorded):
    run, document = recorded
    engine = native.load(run.profile)
    assert document["weights_sum"] == engine.describe()["weights_sum"]


def test_a_checkpoint_made_at_load_leaves_the_same_record(recorded, monkeypatch):
    """But for the tensor files, which are not there: rows, sum and counts are those of the files."""
    run, document = recorded
    files = dataclasses.replace(checkpoint.locate(run.profile), plan=plan("cpu-tiny", run.profile.checkpoint.seed))
    monkeypatch.setattr(checkpoint, "locate", lambda _: files)
    assert record_checkpoint(run) == document


def test_a_tied_head_is_read_from_the_embedding():
    files = checkpoint.locate(load_profile("params/h200-4b-synthetic.toml"))
    data, shape = label_rows(files, LABEL_IDS)
    assert shape == [32, 2560]
    assert len(data) == 32 * 2560 * 2
    assert inventory_summary(files) == {"base": {"BF16": 723}, "adapter": {"F32": 496}}


def test_temperatures_travel_with_it(recorded):
    assert recorded[1]["calibration"] == {
        "temperature": 1.3480874159655591, "mm_temperature": 1.3954832341582943, "threshold": 0.9872681877423998,
    }  # fmt: skip
