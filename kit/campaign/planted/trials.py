"""Trials: a subject, its requests, and what every gate saw of them.

Covers: the bench all trials share (one reference, one oracle walk, one faultless engine), a trial of a fault at a
dose, and of a control. Does not cover: the table (`kit.campaign.planted.document`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from kit.campaign.draws import sources_digest
from kit.campaign.planted.asking import Ask, Stock
from kit.campaign.planted.local import OpError, Walk, worst_op
from kit.campaign.planted.locating import first_stage
from kit.campaign.planted.site import Site, Subject
from kit.campaign.planted.tiers import Findings, judge
from kit.campaign.planted.yardstick import Yardstick
from kit.campaign.protocol import protocol_of
from kit.contract.errors import ContractError
from kit.engine import reference
from kit.engine.oracle import load_oracle
from kit.evidence import provenance

if TYPE_CHECKING:
    from kit.campaign.planted.controls import Control
    from kit.campaign.planted.fault import Fault
    from kit.engine.base import Prepared
    from kit.engine.native import NativeEngine
    from kit.profile import Profile

WALKED = ("ops", "weights", "positions", "cache")  # places whose faults can change what an op computes


@dataclass(frozen=True)
class Trial:
    """One subject's outcome. op: its worst op, where ops were compared; stage: the first that differs, where asked."""

    findings: Findings
    op: OpError | None
    stage: str


class Bench:
    """What all trials share. requests: every body that will be asked."""

    def __init__(self, profile: Profile, requests: Callable[[Stock], Iterable[Ask]], *, few: bool = False) -> None:
        self.profile = profile
        self.reference = reference.load(profile)
        protocol = protocol_of(profile)
        self.stock = Stock(protocol, self.reference.preparer, profile.limits, few=few)
        self.site = Site(profile, self.reference)
        self.faultless: NativeEngine = self.site.native()
        oracle = load_oracle(profile)
        dtype: torch.dtype = getattr(torch, profile.runtime.dtype)
        bodies = [ask.expected for ask in requests(self.stock)]
        self.yardstick = Yardstick(self.reference, oracle, bodies, dtype)
        oracle.close()
        self._walks: dict[bytes, Walk] = {}
        self._facts = {
            "profile": profile.name,
            "profile_sha256": profile.sha256(),
            "protocol_sha256": protocol.sha256,
            "sources_sha256": sources_digest(provenance.hash_sources()),
            "checkpoint_digest": self.reference.digest,
            "steps_bound": self.yardstick.steps,
            "left_out": list(self.stock.left_out),
        }

    def facts(self) -> dict[str, Any]:
        """What the trials rest on."""
        return self._facts

    def fault(self, fault: Fault, dose: object, asks: Sequence[Ask], *, locate: bool = True) -> Trial:
        """Plant, ask, judge."""
        with closing(fault.plant(self.site, dose)) as subject:
            findings = self._judged(subject, asks)
            walked = (*fault.shows, *self.stock.everything())
            op = self._worst_op(subject, walked) if fault.place in WALKED else None
            add_op(findings, op)
            place = next((i for i, ask in enumerate(asks) if _is_first(findings, ask)), None) if locate else None
            stage = first_stage(self.faultless, subject, asks, place) if place is not None else ""
        return Trial(findings, op, stage)

    def second_look(self, fault: Fault, dose: object) -> list[str]:
        """Longer and generated requests on which the HTTP tier sees a fault that it missed on the protocol."""
        asks = self.stock.more()
        with closing(fault.plant(self.site, dose)) as subject:
            pairs = [(ask, subject.post(ask.body)) for ask in asks]
        return [ask.name for ask, found in pairs if judge(self.yardstick, [ask], [found]).tier("http")]

    def control(self, control: Control) -> Trial:
        """Ask and judge; the ops of an engine that rounds otherwise are compared on the whole protocol."""
        asks = control.asks(self.stock)
        if not asks:
            raise ValueError(f"control {control.name}: no request of this protocol can be changed in this way")
        with closing(control.subject(self.site)) as subject:
            findings = judge(self.yardstick, asks, control.serve(subject, asks))
            op = self._worst_op(subject, self.stock.answered()) if control.rounding else None
            add_op(findings, op)
        return Trial(findings, op, "")

    def _judged(self, subject: Subject, asks: Sequence[Ask]) -> Findings:
        findings = judge(self.yardstick, asks, [subject.post(ask.body) for ask in asks])
        if subject.watched and not subject.own_inputs:
            add_inputs(findings, self.yardstick, subject, asks)
        return findings

    def _worst_op(self, subject: Subject, requests: Iterable[str]) -> OpError | None:
        """Walk after walk, until an op is seen or there are no more."""
        if not subject.watched or subject.engine is None:
            return None
        walks, worst = [], None
        for name in dict.fromkeys(requests):
            walks.append(self._walk(self.stock[name]).compare(subject.engine))  # type: ignore[arg-type]
            worst = worst_op(walks)
            if worst is None or worst.seen:
                break
        return worst

    def _walk(self, ask: Ask) -> Walk:
        if ask.body not in self._walks:
            self._walks[ask.body] = Walk(self.faultless, self.faultless.prepare(ask.body))
        return self._walks[ask.body]

    def close(self) -> None:
        self.faultless.close()
        self.reference.close()


def add_op(findings: Findings, op: OpError | None) -> None:
    """The worst op, where ops were compared."""
    if op is not None:
        findings["ops"].add(op.seen, f"{op.op}, call {op.place + 1}", op.score if math.isfinite(op.score) else None)


def add_inputs(findings: Findings, yardstick: Yardstick, subject: Subject, asks: Sequence[Ask]) -> None:
    """The oracle takes tokens, positions and pixels as the contract gives them: others are an error, however small."""
    for ask in dict.fromkeys(asks):
        right = yardstick[ask.expected].prepared
        if right is not None and not ask.questions:
            findings["inputs"].add(not _same_inputs(subject, ask.body, right), ask.name)


def _same_inputs(subject: Subject, body: bytes, right: Prepared) -> bool:
    try:
        mine = subject.prepare(body)
    except ContractError:
        return False
    sides = [[(item.input_ids, item.positions, item.label_ids) for item in side.questions] for side in (mine, right)]
    if sides[0] != sides[1] or mine.grids != right.grids:
        return False
    if mine.pixels is None or right.pixels is None:
        return mine.pixels is right.pixels
    return torch.equal(mine.pixels, right.pixels)


def _is_first(findings: Findings, ask: Ask) -> bool:
    where = findings["bitwise"].first
    return bool(where) and where in (ask.name, f"{ask.name}/{where.partition('/')[2]}")


@contextmanager
def closing(subject: Subject) -> Iterator[Subject]:
    """The subject, closed in the end."""
    try:
        yield subject
    finally:
        subject.close()
