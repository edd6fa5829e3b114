"""The autotune ledger, with stand-ins for triton's classes: found, written down, installed, watched."""

from __future__ import annotations

import json
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from kit.engine import autotune
from kit.engine.autotune import (
    AutotuneError,
    digest,
    install,
    install_recorded,
    late,
    read_ledger,
    report,
    winners,
)


class Config:
    """As triton's: settings in attributes, and a hook that cannot be written down."""

    def __init__(self, warps: int, pre_hook: Any = None, **kwargs: int) -> None:
        self.kwargs = kwargs
        self.num_warps = warps
        self.num_stages = 3
        self.maxnreg = None
        self.pre_hook = pre_hook


class JITFunction:
    def __init__(self, fn: Any) -> None:
        self.fn = fn


class Heuristics:
    def __init__(self, fn: Any) -> None:
        self.fn = fn


class Autotuner:
    def __init__(self, fn: Any, *configs: Config) -> None:
        self.fn, self.configs = fn, list(configs)
        self.cache: dict[tuple[Any, ...], Config] = {}


class CachedAutotuner(Autotuner):
    """FLA's own form of it."""


def function(name: str, module: str) -> Any:
    made = types.FunctionType((lambda: None).__code__, {}, name)
    made.__module__, made.__qualname__ = module, name
    return made


@pytest.fixture
def kernels(monkeypatch: pytest.MonkeyPatch) -> Iterator[types.SimpleNamespace]:
    """A package `fla` of two modules: an autotuner under heuristics, and one over them."""
    for name in [name for name in sys.modules if name.split(".")[0] == "fla"]:
        monkeypatch.delitem(sys.modules, name)
    sums, norms = types.ModuleType("fla.sums"), types.ModuleType("fla.norms")
    hook = object()
    tiled = CachedAutotuner(JITFunction(function("tiled", "fla.sums")), Config(4, BK=64, BV=32), Config(8, hook, BK=32, BV=32))
    plain = Autotuner(Heuristics(JITFunction(function("plain", "fla.norms"))), Config(1), Config(2))
    vars(sums).update(tiled=Heuristics(tiled), untuned=JITFunction(function("untuned", "fla.sums")), number=3)
    vars(norms).update(plain=plain, again=sums)
    package = types.ModuleType("fla")
    package.__path__ = []
    vars(package)["tiled"] = vars(sums)["tiled"]  # as packages hand on what their modules define
    for module in (package, sums, norms):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    yield types.SimpleNamespace(tiled=tiled, plain=plain, sums=sums, hook=hook)
    autotune._ledger = None


def tuned(kernels: types.SimpleNamespace) -> list[dict[str, Any]]:
    kernels.plain.cache[(128, "torch.bfloat16")] = kernels.plain.configs[1]
    kernels.tiled.cache[(48, True, None, "torch.bfloat16")] = kernels.tiled.configs[1]
    return winners()


class TestWinners:
    def test_every_autotuner_is_found_once_behind_its_wrappers(self, kernels: types.SimpleNamespace) -> None:
        assert autotune.autotuners() == {"fla.norms.plain": kernels.plain, "fla.sums.tiled": kernels.tiled}

    def test_they_are_plain_json_in_a_fixed_order(self, kernels: types.SimpleNamespace) -> None:
        assert winners() == []
        found = tuned(kernels)
        assert found == [
            {"kernel": "fla.norms.plain", "key": [128, "torch.bfloat16"], "config": {"kwargs": {}, "num_stages": 3, "num_warps": 2}},
            {
                "kernel": "fla.sums.tiled",
                "key": [48, True, None, "torch.bfloat16"],
                "config": {"kwargs": {"BK": 32, "BV": 32}, "num_stages": 3, "num_warps": 8},
            },
        ]  # fmt: skip
        assert json.loads(json.dumps(found)) == found

    def test_without_the_package_there_are_none(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "fla", None)
        assert winners() == []

    def test_looking_imports_nothing(self, monkeypatch: pytest.MonkeyPatch) -> None:
        before = set(sys.modules)
        report()
        assert set(sys.modules) == before

    def test_a_function_wrapped_twice_has_two_names(self, kernels: types.SimpleNamespace) -> None:
        vars(kernels.sums)["other"] = Autotuner(kernels.tiled.fn, Config(1))
        assert set(autotune.autotuners()) == {"fla.norms.plain", "fla.sums.tiled", "fla.sums.tiled#2"}

    def test_a_key_that_is_no_plain_value_is_refused(self, kernels: types.SimpleNamespace) -> None:
        kernels.plain.cache[(object(),)] = kernels.plain.configs[0]
        with pytest.raises(AutotuneError, match=r"fla\.norms\.plain: a key holds"):
            winners()


class TestInstall:
    def test_it_is_the_whole_of_what_is_tuned_afterwards(self, kernels: types.SimpleNamespace) -> None:
        ledger = tuned(kernels)
        kernels.plain.cache[(64, "torch.float32")] = kernels.plain.configs[0]
        install(json.loads(json.dumps(ledger)))
        assert winners() == ledger

    def test_the_kernel_s_own_configuration_is_used_with_its_hook(self, kernels: types.SimpleNamespace) -> None:
        ledger = tuned(kernels)
        kernels.tiled.cache.clear()
        install(ledger)
        assert kernels.tiled.cache[(48, True, None, "torch.bfloat16")].pre_hook is kernels.hook

    @pytest.mark.parametrize(
        ("change", "said"),
        [
            ({"kernel": "fla.sums.gone"}, "no autotuned kernel here"),
            ({"kernel": "fla.nowhere.tiled"}, "cannot be imported here"),
            ({"kernel": "os.path.join"}, "none of fla, kit"),
            ({"config": {"kwargs": {"BK": 16}, "num_warps": 8}}, "no configuration .* among its 2"),
        ],
        ids=["kernel", "module", "foreign", "config"],
    )
    def test_what_does_not_fit_is_refused_and_nothing_changes(
        self, kernels: types.SimpleNamespace, change: dict[str, Any], said: str
    ) -> None:
        ledger = tuned(kernels)
        with pytest.raises(AutotuneError, match=said):
            install([ledger[0], ledger[1] | change])
        assert winners() == ledger
        assert not report()["installed"]

    @pytest.mark.parametrize("broken", [None, "text", [3], [{"kernel": "fla.x", "key": "k", "config": {}}]])
    def test_malformed_ledgers_are_refused(self, broken: Any) -> None:
        with pytest.raises(AutotuneError, match="expected"):
            install(broken)

    def test_an_entry_twice_is_refused(self, kernels: types.SimpleNamespace) -> None:
        ledger = tuned(kernels)
        with pytest.raises(AutotuneError, match="twice"):
            install([*ledger, ledger[0]])


class TestLate:
    def test_nothing_is_late_before_a_ledger_is_installed(self, kernels: types.SimpleNamespace) -> None:
        ledger = tuned(kernels)
        assert report() == {"digest": digest(ledger), "entries": 2, "installed": False, "late": []}

    def test_a_new_key_is_late(self, kernels: types.SimpleNamespace) -> None:
        ledger = tuned(kernels)
        install(ledger)
        assert late() == []
        kernels.plain.cache[(64, "torch.float32")] = kernels.plain.configs[0]
        assert [(entry["kernel"], entry["key"]) for entry in late()] == [("fla.norms.plain", [64, "torch.float32"])]
        assert report()["digest"] == digest(ledger)

    def test_a_changed_winner_is_late(self, kernels: types.SimpleNamespace) -> None:
        install(tuned(kernels))
        kernels.plain.cache[(128, "torch.bfloat16")] = kernels.plain.configs[0]
        assert len(late()) == 1

    def test_after_an_empty_ledger_everything_is_late(self, kernels: types.SimpleNamespace) -> None:
        install([])
        assert len(tuned(kernels)) == len(late()) == 2

    def test_forgetting_ends_the_watch(self, kernels: types.SimpleNamespace) -> None:
        install(tuned(kernels))
        autotune.forget()
        assert report() == {"digest": digest([]), "entries": 0, "installed": False, "late": []}


class TestFiles:
    @staticmethod
    def written(folder: Path, ledger: list[Any], **changes: Any) -> Path:
        file = folder / "records" / "autotune.json"
        file.parent.mkdir(exist_ok=True)
        file.write_text(json.dumps({"format": autotune.FORMAT, "winners": ledger, "digest": digest(ledger)} | changes))
        return file

    def test_a_ledger_is_read_from_its_file_or_its_run(self, kernels: types.SimpleNamespace, tmp_path: Path) -> None:
        ledger = tuned(kernels)
        file = self.written(tmp_path, ledger)
        assert read_ledger(file)["winners"] == read_ledger(tmp_path)["winners"] == ledger

    @pytest.mark.parametrize(
        ("changes", "said"),
        [({"digest": "0" * 64}, "give the digest"), ({"format": "kit-run/1"}, "format is 'kit-run/1'"), ({"winners": {}}, "a list")],
    )
    def test_other_files_are_refused(self, tmp_path: Path, changes: dict[str, Any], said: str) -> None:
        with pytest.raises(AutotuneError, match=said):
            read_ledger(self.written(tmp_path, [], **changes))

    @pytest.mark.parametrize("text", ["[" * 100_000, "", "\x00", '{"format": "kit-autotune/1", "winners": ' + "[" * 100_000])
    def test_a_broken_file_is_refused(self, tmp_path: Path, text: str) -> None:
        (tmp_path / "ledger.json").write_text(text)
        with pytest.raises(AutotuneError, match=r"ledger\.json: cannot be read as a ledger"):
            read_ledger(tmp_path / "ledger.json")

    def test_text_that_is_no_unicode_is_refused(self, tmp_path: Path) -> None:
        winner = {"kernel": "fla.\ud800", "key": [], "config": {}}
        document = {"format": autotune.FORMAT, "winners": [winner], "digest": ""}
        (tmp_path / "ledger.json").write_text(json.dumps(document))
        with pytest.raises(AutotuneError, match="cannot be written down again"):
            read_ledger(tmp_path / "ledger.json")

    def test_a_missing_file_is_named(self, tmp_path: Path) -> None:
        with pytest.raises(AutotuneError, match="nowhere"):
            read_ledger(tmp_path / "nowhere.json")

    def test_a_process_installs_the_ledger_it_is_started_with(
        self, kernels: types.SimpleNamespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        ledger = tuned(kernels)
        kernels.plain.cache.clear()
        install_recorded()
        assert not report()["installed"]
        monkeypatch.setenv(autotune.VARIABLE, str(self.written(tmp_path, ledger)))
        install_recorded()
        assert winners() == ledger
        kernels.plain.cache[(64,)] = kernels.plain.configs[0]
        install_recorded()  # a second engine in one process must not hide what the first one tuned
        assert len(report()["late"]) == 1


def test_arguments_of_a_call_that_could_not_be_tuned_are_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    triton = pytest.importorskip("triton")

    def broken(*arguments: Any, **settings: Any) -> None:
        raise RuntimeError("not while a graph is captured")

    def real(x: Any, N: Any, B: Any) -> None: ...

    configs = [triton.Config({"B": 16}), triton.Config({"B": 32})]
    tuner = triton.runtime.Autotuner(
        triton.runtime.JITFunction(real), ["x", "N"], configs, ["N"], [], [], do_bench=broken
    )
    module = types.ModuleType("fla.real")
    vars(module)["real"] = tuner
    monkeypatch.setitem(sys.modules, "fla.real", module)
    x = torch.zeros(3)
    with pytest.raises(RuntimeError, match="captured"):
        tuner.run(x, 3, grid=(1,), warmup=False)
    assert tuner.nargs["x"] is x
    autotune.let_go()
    assert tuner.nargs is None


def test_triton_s_own_classes_are_understood(monkeypatch: pytest.MonkeyPatch) -> None:
    triton = pytest.importorskip("triton")
    module = types.ModuleType("fla.real")

    def real(x: Any, N: Any, B: Any) -> None: ...

    real.__module__, real.__qualname__ = "fla.real", "real"
    configs = [triton.Config({"B": 16}, num_warps=1), triton.Config({"B": 32}, num_warps=2, num_stages=4)]
    tuner = triton.autotune(configs=configs, key=["N"])(triton.jit(real))
    vars(module)["real"] = triton.heuristics({"E": lambda args: True})(tuner)
    monkeypatch.setitem(sys.modules, "fla.real", module)
    tuner.cache[(48, "torch.bfloat16")] = configs[1]
    ledger = winners()
    assert ledger == [
        {
            "kernel": "fla.real.real",
            "key": [48, "torch.bfloat16"],
            "config": {"kwargs": {"B": 32}, "num_ctas": 1, "num_stages": 4, "num_warps": 2},
        }
    ]
    tuner.cache.clear()
    monkeypatch.setattr(autotune, "_ledger", None)
    install(json.loads(json.dumps(ledger)))
    assert tuner.cache == {(48, "torch.bfloat16"): configs[1]}
