"""A whole run in small: both phases, calibration, results; stopping and going on."""

from __future__ import annotations

import dataclasses
import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from kit.checkpoint.training import __main__ as command
from kit.checkpoint.training import judged, loop, phase
from kit.checkpoint.training.batches import WorkerError
from kit.checkpoint.training.journal import read
from kit.checkpoint.training.loop import Options, train
from kit.checkpoint.training.phase import StoppedError, TrainingError, rate_at
from kit.checkpoint.training.report_card import card, facts
from kit.checkpoint.training.settings import TINY, Amounts, Bucket, Rates
from kit.checkpoint.training.steps import Step
from kit.evidence.records import sha256_file
from tests.checkpoint.training import tiny_network

SETTINGS = dataclasses.replace(
    TINY, steps=6, buckets=(Bucket(256, 0, 4), Bucket(256, 288, 2)), curriculum_every=2, evaluate_every=900.0, save_every=900.0,
    amounts=Amounts(held_out=1, calibration=1, permuted=2, quick=1),
)  # fmt: skip
LEVELS = {"match": 2, "facts": 2, "console": 1}


def options(folder: Path, **changes: Any) -> Options:
    return Options(folder / "run", SETTINGS, config=tiny_network.config_file(folder), levels=LEVELS, quiet=True, **changes)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("training")
    torch.set_num_threads(1)
    train(options(folder))
    return folder / "run"


def test_a_run_leaves_the_base_the_adapter_and_its_calibration(finished: Path) -> None:
    base = torch.load(finished / "checkpoints" / "base.pt", weights_only=True)
    adapter = torch.load(finished / "checkpoints" / "adapter.pt", weights_only=True)
    assert {tensor.dtype for tensor in base.values()} == {torch.bfloat16}
    assert {tensor.dtype for tensor in adapter.values()} == {torch.float32}
    assert all(name.startswith("base_model.model.model.language_model.layers.") for name in adapter)
    assert any(tensor.any() for name, tensor in adapter.items() if "lora_B" in name)
    config = json.loads((finished / "checkpoints" / "decision_config.json").read_text())
    assert config["format"] == "decision-config/1"
    assert config["temperature"] > 0


def test_the_log_tells_of_both_phases_and_the_results(finished: Path) -> None:
    lines = read(finished)
    assert [line["event"] for line in lines if line["event"] != "curriculum"] == [
        "start", "evaluation", "base done", "evaluation", "results",
    ]  # fmt: skip
    base, adapter = (line for line in lines if line["event"] == "evaluation")
    assert (base["phase"], base["step"], adapter["phase"], adapter["step"]) == ("base", 6, "adapter", 6)
    assert base["loss"] > 0
    assert 0 <= base["wait_share"] <= 1


def test_results_compare_with_and_without_the_adapter(finished: Path) -> None:
    results = json.loads((finished / "results.json").read_text())
    families = set(results["held_out"]["by_family"])
    assert families == set(results["without_adapter"]["by_family"]) == set(results["base_in_its_own_form"]["by_family"])
    assert results["flips"]["choices"] > 0
    recipe = json.loads((finished / "recipe.json").read_text())
    assert recipe["finished"]
    assert sum(recipe["progress"]["base"]["seen"].values()) > 0
    assert (finished / "curve.png").stat().st_size > 10_000
    assert "### By level" in card(finished)


def test_results_say_where_there_were_fewer_samples_than_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    turned = judged.permuted
    monkeypatch.setattr(judged, "permuted", lambda sample: None if sample.family == "score" else turned(sample))  # as if none were a choice
    results = train(dataclasses.replace(options(tmp_path), levels={"match": 1, "score": 4}))
    assert results["fewer"] == [
        {"kind": "permuted", "split": "held-out", "form": "chat", "family": "score", "asked": 1, "got": 0}
    ]
    assert "| fewer samples than asked for: score, choices in two orders | 0 of 1 |" in facts(results)


def test_a_folder_with_a_run_is_not_written_over(finished: Path, tmp_path: Path) -> None:
    with pytest.raises(FileExistsError, match="already holds a run: give --resume or another folder"):
        train(Options(finished, SETTINGS, levels=LEVELS, quiet=True))
    (tmp_path / "log.jsonl").touch()
    with pytest.raises(FileExistsError, match="saved no state to go on from: give another folder"):
        train(Options(tmp_path, SETTINGS, levels=LEVELS, quiet=True, resume=True))


def test_a_device_that_is_not_here_is_one_sentence_before_anything_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    monkeypatch.setattr(sys, "argv", ["training", "--out", str(tmp_path / "run"), "--tiny"])
    assert command.main() == 2
    said = capsys.readouterr().err
    assert said.startswith("error: training with --device cuda needs a CUDA device, and torch")
    assert said.count("\n") == 1
    assert not (tmp_path / "run").exists()


def test_a_stopped_run_goes_on_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    taken = 0
    inner = Step.run

    def counted(self: Step, *given: Any) -> bool:
        nonlocal taken
        taken += 1
        return inner(self, *given)

    monkeypatch.setattr(Step, "run", counted)
    monkeypatch.setattr(loop.Run, "_stop", property(lambda self: taken == 8, lambda self, value: None), raising=False)
    with pytest.raises(StoppedError, match="step 2 of phase adapter"):
        train(options(tmp_path))
    other = dataclasses.replace(SETTINGS, seed=SETTINGS.seed + 1)
    with pytest.raises(ValueError, match="was begun with seed 1, not 2"):
        train(dataclasses.replace(options(tmp_path, resume=True), settings=other))
    train(options(tmp_path, resume=True))
    assert taken == 12
    starts = [line for line in read(tmp_path / "run") if line["event"] == "start"]
    assert [(line["phase"], line["resumed"]) for line in starts] == [("base", 0), ("adapter", 1)]


def test_a_run_begins_with_the_base_of_another_and_says_of_which(finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[dict[str, torch.Tensor]] = []
    joined: list[set[str]] = []
    inner = loop.Run._step

    def seen(self: loop.Run, name: Any) -> Step:
        begun.append({key: tensor.detach().clone() for key, tensor in self.network.state_dict().items()})
        joined.append(set(self.curriculum.joined))
        return inner(self, name)

    monkeypatch.setattr(loop.Run, "_step", seen)
    train(options(tmp_path, start=finished))
    base = torch.load(finished / "checkpoints" / "base.pt", weights_only=True)
    assert all(torch.equal(begun[0][name], tensor.float()) for name, tensor in base.items())
    assert joined[0] == set(LEVELS)  # also the screens, which come later to a network that has learned nothing
    start = json.loads((tmp_path / "run" / "recipe.json").read_text())["start"]
    assert len(start["base_sha256"]) == 64
    assert start["recipe"]["finished"]
    with pytest.raises(FileNotFoundError, match="--from wants the folder of a run whose base is done"):
        train(dataclasses.replace(options(tmp_path, start=tmp_path), out=tmp_path / "other"))


def test_a_run_that_goes_on_still_says_what_it_began_with(finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stop = True
    monkeypatch.setattr(loop.Run, "_stop", property(lambda self: stop, lambda self, value: None), raising=False)
    with pytest.raises(StoppedError, match="of phase base"):
        train(options(tmp_path, start=finished))
    begun = json.loads((tmp_path / "run" / "recipe.json").read_text())["start"]
    stop = False
    train(options(tmp_path, resume=True, start=tmp_path / "gone"))
    recipe = json.loads((tmp_path / "run" / "recipe.json").read_text())
    assert recipe["finished"]
    assert recipe["start"] == begun
    assert len(begun["base_sha256"]) == 64


def test_a_base_of_another_network_is_named(finished: Path, tmp_path: Path) -> None:
    wide = tmp_path / "wide.json"
    config = tiny_network.config()
    config["text_config"]["intermediate_size"] *= 2
    wide.write_text(json.dumps(config))
    with pytest.raises(ValueError, match=r"base.pt holds another network than .*wide.json describes"):
        train(dataclasses.replace(options(tmp_path, start=finished), config=wide))


def kept(folder: Path, start: Path, **changes: Any) -> Options:
    """A run that goes on with the adapter of the one in `start`."""
    return options(folder, start=start, keep_base=True, **changes)


def test_a_run_that_keeps_the_base_goes_on_with_the_adapter(
    finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[dict[str, torch.Tensor]] = []
    flags: list[torch.Tensor] = []
    tops: list[dict[str, int]] = []
    inner = loop.Run._train

    def seen(self: loop.Run, name: Any, step: Step) -> None:
        begun.append({key: tensor.detach().clone() for key, tensor in self.network.state_dict().items()})
        flags.append(self.flag.weight.detach().clone())
        tops.append(dict(self.curriculum.tops))
        inner(self, name, step)

    monkeypatch.setattr(loop.Run, "_train", seen)
    train(kept(tmp_path, finished))
    run = tmp_path / "run"
    assert (run / "checkpoints" / "base.pt").read_bytes() == (finished / "checkpoints" / "base.pt").read_bytes()
    before, after = (torch.load(at / "checkpoints" / "adapter.pt", weights_only=True) for at in (finished, run))
    (state,) = begun
    for name, tensor in before.items():
        inside = name.removeprefix("base_model.model.").replace(".weight", ".default.weight")
        assert torch.equal(state[inside], tensor)
    assert any(not torch.equal(after[name], tensor) for name, tensor in before.items())
    assert not flags[0].any()  # an untrained one would pull the adapter away at once
    assert tops == [{"match": 1, "facts": 1, "console": 0}]
    recipe = json.loads((run / "recipe.json").read_text())
    assert recipe["start"]["base_sha256"] == sha256_file(finished / "checkpoints" / "base.pt")
    assert recipe["start"]["adapter_sha256"] == sha256_file(finished / "checkpoints" / "adapter.pt")
    assert (recipe["progress"]["base"]["steps"], recipe["progress"]["adapter"]["steps"]) == (0, 6)
    told = [(line["event"], line.get("phase")) for line in read(run) if line["event"] != "curriculum"]
    assert told == [("start", "adapter"), ("evaluation", "adapter"), ("results", None)]
    assert "| adapter: steps | 6 | 6 |" in card(run)  # both runs trained the adapter that there is


def test_a_stopped_run_that_keeps_the_base_goes_on_where_it_was(
    finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stop = True
    monkeypatch.setattr(loop.Run, "_stop", property(lambda self: stop, lambda self, value: None), raising=False)
    with pytest.raises(StoppedError, match="step 1 of phase adapter"):
        train(kept(tmp_path, finished))
    stop = False
    train(kept(tmp_path, tmp_path / "gone", resume=True))
    run = tmp_path / "run"
    assert (run / "checkpoints" / "base.pt").read_bytes() == (finished / "checkpoints" / "base.pt").read_bytes()
    recipe = json.loads((run / "recipe.json").read_text())
    assert recipe["finished"]
    assert recipe["progress"]["adapter"]["steps"] == 6
    assert len(recipe["start"]["adapter_sha256"]) == 64


def another(name: str, tensors: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Tensors by name, of which the first is gone, one is too many, or the first has another shape."""
    first = min(tensors)
    rest = {key: tensor for key, tensor in tensors.items() if key != first}
    return {
        "missing": rest,
        "extra": {**tensors, "other.lora_A.weight": tensors[first]},
        "shape": {**rest, first: tensors[first][:4]},
    }[name]


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ("missing", r"lora_A\.weight is missing"),
        ("extra", r"other\.lora_A\.weight is none of this adapter's"),
        ("shape", r"lora_A\.weight has the shape \(4, 64\), not \(16, 64\)"),
    ],
)
def test_an_adapter_of_another_kind_is_named(finished: Path, tmp_path: Path, wrong: str, words: str) -> None:
    earlier = tmp_path / "earlier"
    shutil.copytree(finished / "checkpoints", earlier / "checkpoints")
    adapter = earlier / "checkpoints" / "adapter.pt"
    torch.save(another(wrong, torch.load(adapter, weights_only=True)), adapter)
    with pytest.raises(ValueError, match=rf"adapter\.pt holds another adapter: .*{words}"):
        train(kept(tmp_path, earlier))


def test_keeping_a_base_wants_a_run_that_has_one_and_an_adapter(
    finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ["training", "--out", str(tmp_path / "run"), "--tiny", "--device", "cpu", "--keep-base"]
    monkeypatch.setattr(sys, "argv", given)
    assert command.main() == 2
    assert capsys.readouterr().err == "error: --keep-base keeps the base of an earlier run: give its folder with --from\n"
    shutil.copytree(finished / "checkpoints", tmp_path / "checkpoints", ignore=shutil.ignore_patterns("adapter.pt"))
    monkeypatch.setattr(sys, "argv", [*given, "--from", str(tmp_path)])
    assert command.main() == 2
    assert "adapter.pt is missing: --keep-base wants the folder of a run whose adapter is done" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_the_command_says_how_many_tokens_a_step_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[Options] = []
    monkeypatch.setattr(loop, "train", asked.append)
    given = ["training", "--out", str(tmp_path), "--set", "amounts.held_out=40", "--set", "evaluate_every=900"]
    monkeypatch.setattr(sys, "argv", [*given, "--step-tokens", "400"])
    assert command.main() == 0
    (options,) = asked
    assert [bucket.batch for bucket in options.settings.buckets] == [6, 3, 2, 1, 1, 1, 1, 1, 2, 1, 1, 1, 1, 1, 1, 1]
    assert (options.settings.amounts.held_out, options.settings.evaluate_every) == (40, 900.0)
    monkeypatch.setattr(sys, "argv", [*given, "--step-tokens", "0"])
    with pytest.raises(SystemExit, match="2"):
        command.main()
    assert "a step has one token at least, not 0" in capsys.readouterr().err


@pytest.mark.parametrize("failed", [TrainingError("the loss was no number"), WorkerError("worker 0 failed")])
def test_a_training_that_fails_ends_in_words_and_1(
    failed: Exception, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fails(options: Options) -> None:
        raise failed

    monkeypatch.setattr(loop, "train", fails)
    monkeypatch.setattr(sys, "argv", ["training", "--out", str(tmp_path), "--tiny", "--device", "cpu"])
    assert command.main() == 1
    assert capsys.readouterr().err == f"error: {failed}\n"


def test_a_loss_that_is_no_number_is_forgiven_three_times(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inner = Step.read
    monkeypatch.setattr(Step, "read", lambda self: dataclasses.replace(inner(self), label=float("nan")))
    monkeypatch.setattr(phase, "RETRIES", 1)
    with pytest.raises(TrainingError, match="no number 2 times"):
        train(options(tmp_path))
    restored = [line for line in read(tmp_path / "run") if line["event"] == "restored"]
    assert [line["scale"] for line in restored] == [0.5, 0.25]


def test_the_rate_rises_and_falls() -> None:
    rates = Rates(share=1.0, peak=2.0, warm_up=10)
    assert rate_at(rates, 0, 0.0) == pytest.approx(0.2)
    assert rate_at(rates, 50, 0.0) == pytest.approx(2.0)
    assert rate_at(rates, 50, 0.5) == pytest.approx(1.01)
    assert rate_at(rates, 50, 1.0) == pytest.approx(0.02)
