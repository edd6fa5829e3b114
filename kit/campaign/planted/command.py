"""`kit faults`: plant every fault, make every harmless change, print what each gate saw.

Covers: choosing what to run, progress, writing faults.json and its picture. Import it after `kit.runtime.configure`,
as it imports torch. Does not cover: a single trial (`trials`).
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kit.campaign.planted import table
from kit.campaign.planted.catalogue import FAULTS
from kit.campaign.planted.controls import CONTROLS, Control
from kit.campaign.planted.document import control_row, document, dose_row, fault_row, named
from kit.campaign.planted.fault import Fault
from kit.campaign.planted.trials import Bench
from kit.campaign.run_folder import RunError, run_file
from kit.evidence.records import write_atomic, write_json

if TYPE_CHECKING:
    from kit.campaign.planted.asking import Ask, Stock
    from kit.profile import Profile

FILE = "records/faults.json"


class UnknownFaultError(ValueError):
    """No fault or control has this name; the message lists those there are."""


@dataclass(frozen=True)
class Chosen:
    """What to run. quick: each fault's few requests instead of the whole protocol, and no servers."""

    faults: Sequence[Fault]
    controls: Sequence[Control]
    quick: bool = False

    def asks(self, stock: Stock, fault: Fault) -> Sequence[Ask]:
        return stock.some(fault.shows) if self.quick else stock.campaign(fault.also)

    def requests(self, stock: Stock) -> Iterator[Ask]:
        """Everything whose right answer will be needed."""
        for fault in self.faults:
            yield from self.asks(stock, fault)
        for control in self.controls:
            yield from control.asks(stock)


def choose(device: str, *, only: str = "", quick: bool = False) -> Chosen:
    """only: the name of one fault or control. Raises UnknownFaultError for a name that there is not."""
    controls = [control for control in CONTROLS if control.only in ("", device)]
    faults = list(FAULTS)
    if only:
        known = [fault.name for fault in faults] + [control.name for control in controls]
        if only not in known:
            raise UnknownFaultError(f"no fault or control {only!r}; there are {', '.join(known)}")
        faults = [fault for fault in faults if fault.name == only]
        controls = [control for control in controls if control.name == only]
    if quick:
        controls = [control for control in controls if control.quick]
    return Chosen(faults, controls, quick)


def run(
    profile: Profile,
    profile_path: str,
    *,
    only: str = "",
    quick: bool = False,
    run_id: str = "",
    out: Path | None = None,
    plot: Path | None = None,
) -> dict[str, Any]:
    """Run, print the tables, write faults.json to `out` and into the run `run_id`, the picture to `plot`.

    Returns the summary. Raises UnknownFaultError, RunError for a run that is sealed or for a part of the faults put
    into one, or what loading an engine raises.
    """
    if run_id and (only or quick):
        raise RunError("a run keeps the whole table: leave out --only and --quick, or use --out instead of --run")
    chosen = choose(profile.runtime.device, only=only, quick=quick)
    with run_file(profile_path, run_id, FILE) as kept:
        found = measure(profile, chosen)
        for file in filter(None, (out, kept)):
            file.parent.mkdir(parents=True, exist_ok=True)
            write_json(file, found)
    table.show(found)
    if plot is not None:
        from kit.campaign.planted.figure import png  # matplotlib comes with the notebooks

        write_atomic(plot, png(found))
    summary: dict[str, Any] = found["summary"]
    return summary


def measure(profile: Profile, chosen: Chosen) -> dict[str, Any]:
    """faults.json of what was chosen."""
    started = time.perf_counter()
    bench = Bench(profile, chosen.requests, few=chosen.quick)
    try:
        faults = [_fault(bench, chosen, fault) for fault in chosen.faults]
        controls = [_control(bench, control) for control in chosen.controls]
    finally:
        bench.close()
    seconds = {"seconds": round(time.perf_counter() - started, 1)}
    return document(bench.facts() | {"quick": chosen.quick} | seconds, faults, controls)


def _fault(bench: Bench, chosen: Chosen, fault: Fault) -> dict[str, Any]:
    rows = []
    for label, dose in fault.doses:
        trial = bench.fault(fault, dose, chosen.asks(bench.stock, fault))
        look = None if chosen.quick or trial.findings.tier("http") else bench.second_look(fault, dose)
        rows.append(dose_row(label, trial, look))
        _say(f"{named(fault.name, label)}: {', '.join(t for t, seen in rows[-1]['tiers'].items() if seen) or 'not seen'}")
    return fault_row(fault, rows)


def _control(bench: Bench, control: Control) -> dict[str, Any]:
    row = control_row(control, bench.control(control))
    _say(f"{control.name}: {', '.join(row['alarms']) or 'no alarm'}")
    return row


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
