"""The winners of Triton's autotuner: read from this process, installed into it, and watched afterwards.

An autotuned kernel times its configurations the first time a key is seen and keeps the fastest one, so two
processes, or two days, may run other code for the same call, and its sums may round otherwise. A ledger of
winners (kernel, key, config) takes that freedom away: whoever installs it never times anything, and whatever
is timed all the same is reported as late.

Covers: every autotuner a loaded module of FLA or of our own kernels holds, also behind `triton.heuristics`;
`winners`, `install`, `digest`, `late` and `report`, the facts an engine gives of itself; ledger files.
Neither triton nor FLA is imported for looking: without them the ledger is empty.
Does not cover: which shapes are tuned (`kit.campaign.tune`), compiled kernels, torch.compile.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from kit.evidence.records import sha256_json

FORMAT = "kit-autotune/1"
VARIABLE = "KIT_AUTOTUNE"  # path of the ledger that every process of a run installs before it loads an engine
PACKAGES = ("fla", "kit")  # whose kernels are looked for, and whose modules a ledger may have imported
WRAPPERS = ("Autotuner", "Heuristics", "JITFunction")  # what a kernel may be wrapped in, by name of a base class
UNSAVED = ("pre_hook",)  # of a Config: a function, which the configuration found by the rest brings along

Winner = dict[str, Any]
_ledger: list[Winner] | None = None  # what was installed last in this process


class AutotuneError(RuntimeError):
    """A ledger that cannot be read or does not fit the installed kernels; the message says where and why."""


# ---------------------------------------------------------------- this process


def winners() -> list[Winner]:
    """Everything tuned or installed so far: {"kernel", "key", "config"} as plain JSON, sorted.

    kernel: module and name of the function. key: the values the autotuner looks a call up by (arguments and
    dtypes). config: meta-parameters under "kwargs", warps, stages and what else is not left to the compiler.
    """
    found = [
        {"kernel": name, "key": _plain_key(name, key), "config": plain_config(config)}
        for name, tuner in autotuners().items()
        for key, config in tuner.cache.items()
    ]
    return sorted(found, key=_place)


def install(ledger: Sequence[Winner]) -> None:
    """Make a ledger the whole of what is tuned in this process; earlier winners are forgotten.

    Raises AutotuneError, and then changes nothing, for a kernel or a configuration that the installed
    packages do not have: it was recorded with another version of them.
    """
    global _ledger
    entries = checked(ledger)
    _import_modules(entries)
    tuners = autotuners()
    chosen = [(_tuner_of(entry, tuners), entry) for entry in entries]
    configs = [(tuner, tuple(entry["key"]), _config_of(entry, tuner)) for tuner, entry in chosen]
    forget()
    for tuner, key, config in configs:
        tuner.cache[key] = config
    _ledger = entries


def forget() -> None:
    """Empty every autotuner's memory in this process: the next call of each kernel times it anew."""
    global _ledger
    for tuner in autotuners().values():
        tuner.cache.clear()
    _ledger = None


def let_go() -> None:
    """Drop the arguments that an autotuner keeps of a call it failed to tune: tensors, and the memory behind them."""
    for tuner in autotuners().values():
        tuner.nargs = None


def late() -> list[Winner]:
    """Winners that the installed ledger does not have, or has otherwise; none where no ledger is installed."""
    if _ledger is None:
        return []
    known = {_place(entry): entry["config"] for entry in _ledger}
    return [entry for entry in winners() if known.get(_place(entry)) != entry["config"]]


def report() -> dict[str, Any]:
    """What an engine says of its kernels' configurations.

    digest, entries: of the installed ledger, or of what was tuned so far where there is none. late: winners
    that came into being after the ledger was installed, so that no ledger vouches for them.
    """
    ledger = winners() if _ledger is None else _ledger
    return {"digest": digest(ledger), "entries": len(ledger), "installed": _ledger is not None, "late": late()}


def autotuners() -> dict[str, Any]:
    """Name of the function -> autotuner, for every one that a loaded module of `PACKAGES` holds.

    A function that is wrapped twice has its second autotuner under `name#2`, in the order of its modules.
    """
    found: dict[str, Any] = {}
    seen: set[int] = set()
    for module in [m for name, m in sorted(sys.modules.items()) if m is not None and name.split(".")[0] in PACKAGES]:
        for tuner in [tuner for value in list(vars(module).values()) for tuner in _behind(value)]:
            if id(tuner) not in seen:
                seen.add(id(tuner))
                base = _kernel_name(tuner)
                again = sum(name.partition("#")[0] == base for name in found)
                found[f"{base}#{again + 1}" if again else base] = tuner
    return found


def _behind(value: Any) -> Iterator[Any]:
    """The autotuners in a chain of wrappers, outermost first. Known by class name: triton may be absent."""
    while kinds := {kind.__name__ for kind in type(value).__mro__}.intersection(WRAPPERS):
        if "Autotuner" in kinds:
            yield value
        value = value.fn


def _kernel_name(tuner: Any) -> str:
    function = tuner.fn
    while hasattr(function, "fn"):
        function = function.fn
    return f"{function.__module__}.{function.__qualname__}"


# ---------------------------------------------------------------- ledgers


def digest(ledger: Sequence[Winner]) -> str:
    """SHA-256, in hex, of a ledger's canonical JSON: the name of a draw."""
    return sha256_json(sorted(ledger, key=_place))


def read_ledger(path: str | Path) -> dict[str, Any]:
    """A ledger file, or the one of a run or bundle folder. Raises AutotuneError unless it is whole."""
    file = Path(path)
    if file.is_dir():
        file = file / "records" / "autotune.json"
    try:
        document = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise AutotuneError(f"{file}: cannot be read as a ledger of autotune winners: {error}") from error
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        found = document.get("format") if isinstance(document, dict) else type(document).__name__
        raise AutotuneError(f"{file}: format is {found!r}, expected {FORMAT!r}")
    try:
        entries = checked(document.get("winners"), str(file))
        found = digest(entries)
    except (ValueError, RecursionError) as error:  # text that is no Unicode, or just not too deep to be parsed
        raise AutotuneError(f"{file}: its winners cannot be written down again: {error}") from error
    if found != document.get("digest"):
        raise AutotuneError(f"{file}: its winners give the digest {found}, it says {document.get('digest')!r}")
    return document


def install_recorded() -> None:
    """Install the ledger that `KIT_AUTOTUNE` names, if it names one and it is not installed already."""
    path = os.environ.get(VARIABLE)
    if path:
        document = read_ledger(path)
        if _ledger is None or digest(_ledger) != document["digest"]:
            install(document["winners"])


def checked(ledger: Any, source: str = "ledger") -> list[Winner]:
    """The entries sorted. Raises AutotuneError for one that is malformed or there twice."""
    if not isinstance(ledger, Sequence) or isinstance(ledger, str):
        raise AutotuneError(f"{source}: winners is {type(ledger).__name__}, expected a list")
    seen: set[tuple[str, str]] = set()
    for number, entry in enumerate(ledger):
        if not _is_entry(entry):
            raise AutotuneError(f"{source}: entry {number} is {entry!r}, expected kernel, key and config")
        if _place(entry) in seen:
            raise AutotuneError(f"{source}: {entry['kernel']} has key {entry['key']} twice")
        seen.add(_place(entry))
    return sorted(ledger, key=_place)


def _is_entry(entry: Any) -> bool:
    kinds = {"kernel": str, "key": list, "config": dict}
    return isinstance(entry, Mapping) and all(isinstance(entry.get(name), kind) for name, kind in kinds.items())


def _place(entry: Winner) -> tuple[str, str]:
    """What an entry is about, as something to sort and compare by."""
    return entry["kernel"], json.dumps(entry["key"])


def _import_modules(ledger: Sequence[Winner]) -> None:
    """Load the modules a ledger's kernels live in, those of `PACKAGES` only: a file must not name others."""
    for name in sorted({entry["kernel"].rpartition(".")[0] for entry in ledger}):
        if name.split(".")[0] not in PACKAGES:
            raise AutotuneError(f"the ledger names a kernel of {name!r}, which is none of {', '.join(PACKAGES)}")
        try:
            importlib.import_module(name)
        except ImportError as error:
            raise AutotuneError(f"the ledger has kernels of {name}, which cannot be imported here: {error}") from error


def _tuner_of(entry: Winner, tuners: Mapping[str, Any]) -> Any:
    if entry["kernel"] not in tuners:
        raise AutotuneError(
            f"the ledger has winners of {entry['kernel']}, which is no autotuned kernel here: it was recorded "
            "with another version of the packages; tune again instead"
        )
    return tuners[entry["kernel"]]


def _config_of(entry: Winner, tuner: Any) -> Any:
    """The kernel's own configuration that reads like the recorded one."""
    for config in tuner.configs:
        if plain_config(config) == entry["config"]:
            return config
    raise AutotuneError(
        f"{entry['kernel']} has no configuration {entry['config']} among its {len(tuner.configs)}: the ledger was "
        "recorded with another version of the packages; tune again instead"
    )


def plain_config(config: Any) -> dict[str, Any]:
    """A Config's settings as JSON data; what is left to the compiler (None) is left out."""
    found = {name: value for name, value in vars(config).items() if name not in UNSAVED and value is not None}
    return dict(sorted(found.items())) | {"kwargs": dict(sorted(found.get("kwargs", {}).items()))}


def _plain_key(kernel: str, key: tuple[Any, ...]) -> list[Any]:
    for value in key:
        if not isinstance(value, str | int | float | bool | None):
            raise AutotuneError(f"{kernel}: a key holds {value!r}, which no ledger can write down")
    return list(key)
