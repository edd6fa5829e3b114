"""A floor that was interrupted goes on from its finished passes, to the document of one that was not; nothing is mixed."""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor

from kit import runtime
from kit.campaign import draws, tune
from kit.campaign.floor import asking, other_cpu, passes, running
from kit.campaign.floor.asking import Answer, Question
from kit.campaign.floor.other_cpu import OtherCpu
from kit.campaign.floor.passes import Passes
from kit.campaign.floor.proof import oracle_rows
from kit.engine import autotune, oracle, reference
from kit.engine.oracle import load_oracle
from kit.engine.reference import ReferenceEngine
from kit.profile import Profile

ON_CPU = ["oracle", "alone", "row0 proof", "row0", "padded proof", "padded", "instructions", "instructions proof"]
ON_GPU = ["draws", "oracle", "alone", "row0 proof", "row0", "draw proof", "draw", "padded proof", "padded"]


def bf16(values: Sequence[float]) -> bytes:
    return b"".join(struct.pack("<f", value)[2:] for value in values)


class Machine:
    """In place of models: answers that follow from the question, the form and the winners in force."""

    def __init__(self, patch: pytest.MonkeyPatch, profile: Profile) -> None:
        self.done: list[str] = []  # what was measured
        self.stop_at, self.winners, self.drawn = "", "none", 0
        self.under: dict[str, Any] = {"code of the kit": "of today"}
        calibration = SimpleNamespace(for_images=lambda image: 1.0)
        loaded = SimpleNamespace(digest="0" * 64, calibration=calibration, close=lambda: None)
        patch.setattr(runtime, "on_device", lambda path: profile)
        patch.setattr(oracle, "load_oracle", lambda profile: loaded)
        patch.setattr(reference, "load", lambda profile: loaded)
        patch.setattr(running, "circumstances", lambda *_: dict(self.under))
        patch.setattr(running, "oracle_rows", self._truths)
        patch.setattr(running._Floor, "_asked_alone", lambda floor, engine: self._answers("alone", floor.asked))
        patch.setattr(asking, "batched", lambda engine, asked, form: iter(self._answers(form, asked)))
        patch.setattr(other_cpu, "answers_of", self._other_cpu)
        patch.setattr(other_cpu, "capability", lambda: "AVX2")
        patch.setattr(autotune, "install", self._install)
        patch.setattr(draws, "drawn", self._drawn)

    def measured(self, what: str) -> None:
        """The moment at which a signal may come: in the middle of a pass."""
        if what == self.stop_at:
            os.kill(os.getpid(), signal.SIGTERM)
        self.done.append(what)

    def _truths(self, oracle: object, asked: Sequence[Question], form: str) -> list[Tensor]:
        self.measured(f"oracle {form}")
        moved = {"alone": 0.0}.get(form, 1e-15)
        return [torch.tensor([number + 1.0, 2.0 + moved], dtype=torch.float64) for number in range(len(asked))]

    def _answers(self, form: str, asked: Sequence[Question]) -> list[Answer]:
        self.measured(f"{form} under {self.winners}")
        shift = {"alone": 0.0, "row0": 2**-6, "padded": 2**-5, "other": 2**-4}[form] + len(self.winners) / 256
        return [Answer((0.5, number / 8 + shift), bf16([1.0, 2.0 + shift])) for number in range(len(asked))]

    def _other_cpu(self, path: str, prompts: int, proof: int, *, protocol: bool) -> OtherCpu:
        asked = asking.questions(runtime.on_device(path), prompts, protocol=protocol)
        return OtherCpu("DEFAULT", self._answers("other", asked), self._truths(None, asked[:proof], "other"))

    def _install(self, winners: str) -> None:
        self.winners = winners

    @contextmanager
    def _drawn(self, path: str, count: int) -> Iterator[list[dict[str, Any]]]:
        made = []
        for _ in range(count):
            self.measured("a draw")
            self.drawn += 1
            name = "x" * self.drawn
            made.append({"digest": f"digest {name}", "winners": name})
        yield made


@pytest.fixture(params=["cpu", "cuda"])
def device(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch, profile: Profile, device: str) -> Machine:
    there = dataclasses.replace(profile, runtime=dataclasses.replace(profile.runtime, device=device))
    return Machine(monkeypatch, there)


def floor(out: Path, **how: Any) -> dict[str, Any]:
    return running.run("profile.toml", 6, out=out, protocol=False, **how)


def kept(out: Path) -> set[str]:
    return {file.name.removesuffix(".pass.json") for file in out.with_name(f"{out.name}.passes").glob("*")}


def interrupted(out: Path, machine: Machine, at: str) -> str:
    """Run until a moment, and what was said then."""
    machine.stop_at = at
    with pytest.raises(KeyboardInterrupt) as stop:
        floor(out)
    machine.stop_at = ""
    return str(stop.value)


def moments(machine: Machine, tmp_path: Path) -> list[str]:
    """Everything a whole floor measures, in order."""
    floor(tmp_path / "moments.json")
    found, machine.done, machine.drawn = machine.done, [], 0
    return found


def test_interrupted_anywhere_it_goes_on_to_the_same_document(machine: Machine, device: str, tmp_path: Path) -> None:
    whole = floor(tmp_path / "whole.json")
    machine.drawn = 0
    for moment in dict.fromkeys(moments(machine, tmp_path)):
        out = tmp_path / f"{moment}.json"
        machine.done, machine.drawn = [], 0
        words = interrupted(out, machine, moment)
        before = list(machine.done)
        assert ("kept in" in words) == bool(kept(out)) == bool(before and before != ["a draw"])
        assert floor(out) == whole
        # No finished pass was done again; the other process is finished with the oracle's rows only.
        for what in [what for what in before if "under" in what and not what.startswith("other")]:
            assert machine.done.count(what) == before.count(what), moment
        assert json.loads(out.read_text()) == whole
        assert not out.with_name(f"{out.name}.passes").exists()


def test_models_too_give_the_document_of_a_floor_that_was_not_interrupted(
    profile: Profile, official: ReferenceEngine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """As above with the models themselves, loaded once; the other process is answered for, as starting it takes long."""
    truth = load_oracle(profile)
    for module, name, loaded in ((reference, "load", official), (oracle, "load_oracle", truth)):
        monkeypatch.setattr(module, name, lambda profile, loaded=loaded: loaded)
        monkeypatch.setattr(loaded, "close", lambda: None)
    asked = asking.questions(profile, 6, protocol=False)
    there = OtherCpu("DEFAULT", list(asking.batched(official, asked, "padded")), oracle_rows(truth, asked, "row0"))
    monkeypatch.setattr(other_cpu, "answers_of", lambda *_, **__: there)
    whole = running.run("params/cpu-tiny.toml", 6, out=tmp_path / "whole.json", protocol=False)
    batched, asked_as = asking.batched, []

    def killed(engine: ReferenceEngine, asked: Sequence[Question], form: str) -> Iterator[Answer]:
        asked_as.append(form)
        for number, answer in enumerate(batched(engine, asked, form)):
            if (form, number, asked_as.count(form)) == ("padded", 3, 1):
                os.kill(os.getpid(), signal.SIGTERM)
            yield answer

    monkeypatch.setattr(asking, "batched", killed)
    out = tmp_path / "floor.json"
    with pytest.raises(KeyboardInterrupt, match="5 finished passes are kept"):
        running.run("params/cpu-tiny.toml", 6, out=out, protocol=False)
    assert running.run("params/cpu-tiny.toml", 6, out=out, protocol=False) == whole
    assert asked_as == ["row0", "padded", "padded"]


def test_every_pass_is_kept_by_its_name(machine: Machine, device: str, tmp_path: Path) -> None:
    """The draw comes before the padding, and floor.json names them the other way round, as an audit wants it."""
    done, out = moments(machine, tmp_path), tmp_path / "floor.json"
    interrupted(out, machine, done[-1])
    names = {name.replace(" ", "-") for name in (ON_GPU if device == "cuda" else ON_CPU)}
    last = {"padded"} if device == "cuda" else {"instructions", "instructions-proof"}
    assert kept(out) == names - last
    forms = [form["name"] for form in floor(out)["forms"]]
    assert forms == ["row0", "padded", "draw" if device == "cuda" else "instructions"]


def test_words_say_what_is_kept_and_how_to_go_on(
    machine: Machine, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "floor.json"
    words = interrupted(out, machine, next(what for what in moments(machine, tmp_path) if what.startswith("row0")))
    count = len(kept(out))
    assert words.startswith(f"interrupted; {count} finished passes are kept in {out}.passes: the same command goes on")
    capsys.readouterr()
    floor(out)
    assert "alone: kept from before, not measured again\n" in capsys.readouterr().err


def test_a_pass_of_other_circumstances_is_measured_anew(
    machine: Machine, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, done = tmp_path / "floor.json", moments(machine, tmp_path)
    interrupted(out, machine, done[-1])
    machine.done, machine.under, machine.drawn = [], {"code of the kit": "of tomorrow"}, 0
    floor(out)
    assert machine.done == done
    assert "alone: kept under other circumstances (code of the kit), so it is measured anew" in capsys.readouterr().err


@pytest.mark.parametrize("device", ["cuda"], indirect=True)
def test_passes_of_another_draw_are_not_mixed(
    machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Another second draw: what ran under the first, which was given both times, is taken; the draw is not."""
    out, ledgers = tmp_path / "floor.json", [{"digest": f"digest {name}", "winners": name} for name in ("a", "bb", "cc")]
    monkeypatch.setattr(running, "_ledger_beside", lambda kept: ledgers[0])
    monkeypatch.setattr(tune, "check_start", lambda profile, other: None)
    monkeypatch.setattr(autotune, "read_ledger", lambda path: ledgers[int(path.name)])
    machine.stop_at = "padded under a"
    with pytest.raises(KeyboardInterrupt):
        floor(out, draw=Path("1"))
    machine.done, machine.stop_at = [], ""
    floor(out, draw=Path("2"))
    assert machine.done == ["oracle alone", "alone under cc", "padded under a"]
    said = capsys.readouterr().err
    assert "draws: kept under other circumstances (given), so it is measured anew" in said
    assert "draw: kept under other circumstances (winners), so it is measured anew" in said


def test_fresh_measures_all_of_it(machine: Machine, tmp_path: Path) -> None:
    out, done = tmp_path / "floor.json", moments(machine, tmp_path)
    interrupted(out, machine, done[-1])
    machine.done, machine.drawn = [], 0
    floor(out, fresh=True)
    assert machine.done == done


def _cut(text: str) -> str:
    return text[: len(text) // 2]


def _changed(text: str) -> str:
    document = json.loads(text)
    document["value"][0][1] = "0000" + document["value"][0][1][4:]
    return json.dumps(document)


@pytest.mark.parametrize("damage", [_cut, _changed, lambda text: "[]"])
def test_a_damaged_pass_is_measured_anew(
    machine: Machine, tmp_path: Path, capsys: pytest.CaptureFixture[str], damage: Callable[[str], str]
) -> None:
    whole, out = floor(tmp_path / "whole.json"), tmp_path / "floor.json"
    machine.done, machine.drawn = [], 0
    interrupted(out, machine, next(what for what in moments(machine, tmp_path) if what.startswith("row0")))
    file = tmp_path / "floor.json.passes" / "alone.pass.json"
    file.write_text(damage(file.read_text()))
    assert floor(out) == whole
    assert "alone: what was kept of it is damaged, so it is measured anew" in capsys.readouterr().err


def test_without_a_place_nothing_is_kept_and_words_say_so(machine: Machine) -> None:
    machine.stop_at = "oracle row0"
    with pytest.raises(KeyboardInterrupt, match="nothing is kept, as neither --out nor --run says where"):
        running.run("profile.toml", 6, protocol=False)


def test_the_passes_of_a_run_lie_outside_its_folder(tmp_path: Path) -> None:
    """A run's folder is sealed with all that is in it."""
    folder = running._work_folder(tmp_path / "out.json", tmp_path / "runs" / "one" / "records" / "floor.json")
    assert folder == tmp_path / "runs" / ".floor-one"


def test_what_else_lies_in_the_folder_stays(tmp_path: Path) -> None:
    kept = Passes(tmp_path / "passes")
    kept.keep("alone", [1])
    (tmp_path / "passes" / "mine.txt").write_text("mine")
    kept.remove()
    assert [file.name for file in (tmp_path / "passes").iterdir()] == ["mine.txt"]


def test_what_breaks_on_the_way_out_is_no_other_end(
    machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Closing what was being captured raises an error of CUDA's in place of the interruption."""

    def broken(engine: object, asked: object, form: str) -> Iterator[Answer]:
        try:
            os.kill(os.getpid(), signal.SIGINT)
            yield Answer((0.0,), b"")
        finally:
            raise RuntimeError("operation not permitted when stream is capturing")

    monkeypatch.setattr(asking, "batched", broken)
    with pytest.raises(KeyboardInterrupt, match="finished passes are kept"):
        floor(tmp_path / "floor.json")


def test_circumstances_tell_other_questions_and_are_plain_json(profile: Profile) -> None:
    asked = asking.questions(profile, 12, protocol=False)
    now = passes.circumstances(profile, asked, 12)
    assert now == json.loads(json.dumps(now)) == passes.circumstances(profile, asked, 12)
    other = passes.circumstances(profile, asked[:6], 6)
    assert {name for name in now if now[name] != other[name]} == {"questions", "questions of the proof"}
