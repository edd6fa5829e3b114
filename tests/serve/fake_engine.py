"""An engine without a model: real contract, made-up logits, and states that make it wait or break."""

from __future__ import annotations

import threading
import time
from typing import Any

from kit.contract.answer import Calibration, answer
from kit.contract.request import parse_request
from kit.engine.base import Counters, Decision, Event, Prepared, PreparedQuestion, QuestionResult

CALIBRATION = Calibration(temperature=1.25, mm_temperature=1.5)
HIDDEN = bytes(range(16))


class FakeEngine:
    """State "block" waits for `gate`, "slow" takes a while, "fail" breaks the device, "odd" breaks preparation."""

    name = "fake"
    calibration = CALIBRATION

    def __init__(self) -> None:
        self.gate = threading.Event()
        self.blocked = threading.Event()
        self.decided: list[str] = []
        self.threads: set[str] = set()
        self.at_once = self.most_at_once = 0
        self.closed = False
        self.counted = 0

    def prepare(self, body: bytes) -> Prepared:
        request = parse_request(body, ("JEMM",))
        if request.state == "odd":
            raise RuntimeError("preparation fell over")
        questions = tuple(
            PreparedQuestion(question, "prompt", tuple(range(7)), (), ((), (), ())) for question in request.questions
        )
        return Prepared(body, request, questions, ((1, 16, 16),) * len(request.images), None)

    def decide(self, prepared: Prepared) -> Decision:
        self.threads.add(threading.current_thread().name)
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            return self._decide(prepared)
        finally:
            self.at_once -= 1

    def _decide(self, prepared: Prepared) -> Decision:
        state = prepared.request.state
        self.decided.append(state)
        if state == "block":
            print("blocked", flush=True)
            self.blocked.set()
            assert self.gate.wait(20)
        if state == "slow":
            print("slow", flush=True)
            time.sleep(0.7)
        if state == "fail":
            raise RuntimeError("device lost: secret cause")
        temperature = CALIBRATION.for_images(bool(prepared.grids))
        results, answers = [], {}
        for item in prepared.questions:
            self.counted += 1
            logits = tuple(index / 4 for index, _ in enumerate(item.question.candidates))
            answers[item.question.id] = answer(item.question, logits, temperature)
            results.append(QuestionResult(item.question.id, logits, HIDDEN, 7, Event("text:7", "replay", 0)))
        vision = Event("vision:1x16x16", "capture", 64) if prepared.grids else None
        return Decision(answers, prepared.input_tokens, tuple(results), vision, {"total": 0.5})

    def counters(self) -> Counters:
        return {"text": {"replays": self.counted}}

    def describe(self) -> dict[str, Any]:
        return {"backend": "fake"}

    def close(self) -> None:
        self.closed = True
