"""From a complete request body to its reply: first in, first out, one request on the device at a time.

Covers: preparation on one thread and execution on another, both in the order of submission; the bound on
requests prepared ahead; removal of a request whose client left while it waited; retirement after an execution
failure; the record of every request.
Does not cover: HTTP (`kit.serve.worker`).

`latency_ms` of an answer runs from holding the complete body to holding the answer: parsing, preparation,
waiting for earlier requests and all device work are in it, transfer and recording are not.
"""

from __future__ import annotations

import logging
import sys
import threading
import time
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kit.contract.answer import response_bytes
from kit.contract.errors import ContractError
from kit.engine import autotune
from kit.serve.lane import Lane
from kit.serve.recorder import CLIENT_LEFT, Line, Recorder, post_line
from kit.serve.replies import Reply, refusal, unavailable

if TYPE_CHECKING:
    from kit.contract.answer import Calibration
    from kit.engine.base import Counters, Engine, Prepared

log = logging.getLogger(__name__)

PREPARED_AHEAD = 2  # requests whose pixels and tokens may wait for the device
RETIRED = "the model is not available; the server has to be restarted"
STOPPING = "the server is stopping"
NOT_PREPARED = "the request could not be prepared"


@dataclass
class Job:
    """One numbered request. data: its body. received_ns: perf_counter when the body was complete."""

    sequence: int
    path: str
    data: bytes
    sha256: str
    received_ns: int
    answer: Future[Reply] = field(default_factory=Future)

    def elapsed_ms(self) -> float:
        return (time.perf_counter_ns() - self.received_ns) / 1e6

    def line(self, status: int, reply: Reply | None) -> Line:
        """The record of a request that was not executed; reply is None where none was sent."""
        digest = reply.sha256 if reply else None
        return post_line(self.sequence, self.path, status, self.sha256, digest, self.elapsed_ms())


def device_memory() -> dict[str, int]:
    """See `kit.engine.cuda_device.memory`; {} in a process that never loaded torch."""
    if "torch" not in sys.modules:
        return {}
    from kit.engine import cuda_device

    return cuda_device.memory()


class Admission:
    """Owns the engine once it is warm. `ready` is a plain flag, so reading it never waits."""

    def __init__(
        self, engine: Engine, model: str, calibration: Calibration, recorder: Recorder, device: Lane | None = None
    ) -> None:
        """device: the thread the engine was loaded on (an engine may hold per-thread state); else a new one."""
        self.ready = True
        self._engine = engine
        self._model = model
        self._calibration = calibration
        self._recorder = recorder
        self._device = device or Lane("device")
        self._preparation = Lane("preparation")
        self._ahead = threading.Semaphore(PREPARED_AHEAD)
        self._stopping = False
        self._retiring = threading.Lock()
        self._dropped = False
        self._counters: Counters = {}
        self._autotune: dict[str, Any] = {}
        self._memory: dict[str, int] = {}

    def submit(self, job: Job) -> Future[Reply]:
        """Queue a request. Cancelling the future removes it unless its execution has begun."""
        self._preparation.submit(lambda: self._prepare(job))
        return job.answer

    def refused(self, line: Line, reply: Reply) -> Reply:
        """Record a POST that is answered without preparing anything; returns what to send."""
        return reply if self._write(line) else unavailable(RETIRED)

    def closed_reply(self) -> Reply | None:
        """What to say instead of working: retired or stopping; None while requests are taken."""
        if not self.ready:
            return unavailable(RETIRED)
        return unavailable(STOPPING) if self._stopping else None

    def stop(self) -> None:
        """Refuse what has not begun; the request on the device completes."""
        self._stopping = True

    def close(self) -> None:
        """Wait for both threads, write the `closed` line, close engine and record."""
        self._stopping = True
        self._preparation.close()
        self._device.submit(self._drop_engine).result()
        self._device.close()
        facts = {"counters": self._counters, "autotune": self._autotune, "memory": self._memory}
        self._recorder.write({"kind": "closed", **facts})
        self._recorder.close()

    # ------------------------------------------------------------ preparation thread

    def _prepare(self, job: Job) -> None:
        if job.answer.cancelled():
            self._begin(job)
            return
        outcome = self.closed_reply() or self._prepared(job)
        if isinstance(outcome, Reply):
            self._refuse(job, outcome)
            return
        prepared, prepared_ms = outcome, job.elapsed_ms()
        self._ahead.acquire()
        self._device.submit(lambda: self._execute(job, prepared, prepared_ms))

    def _prepared(self, job: Job) -> Prepared | Reply:
        try:
            return self._engine.prepare(job.data)
        except ContractError as error:
            return refusal(error)
        except (ValueError, KeyError, TypeError) as error:  # classes the official server answers with 422
            return refusal(ContractError(str(error), error=type(error).__name__))
        except BaseException:  # a panic inside the tokenizer is no Exception
            # No device was touched, so the engine stays trustworthy: this request fails, the next may not.
            log.exception("request %d: preparation failed", job.sequence)
            return unavailable(NOT_PREPARED)

    # ------------------------------------------------------------ device thread

    def _execute(self, job: Job, prepared: Prepared, prepared_ms: float) -> None:
        try:
            closed = self.closed_reply()
            if closed:
                self._refuse(job, closed)
            elif self._begin(job):
                job.answer.set_result(self._decide(job, prepared, prepared_ms))
        finally:
            self._ahead.release()

    def _decide(self, job: Job, prepared: Prepared, prepared_ms: float) -> Reply:
        wait_ms = job.elapsed_ms() - prepared_ms
        try:
            decision = self._engine.decide(prepared)
            latency_ms = job.elapsed_ms()
            body = response_bytes(self._model, decision.answers, decision.input_tokens, latency_ms)
            reply = Reply(200, body)
            line = post_line(
                job.sequence,
                job.path,
                reply.status,
                job.sha256,
                reply.sha256,
                latency_ms,
                input_tokens=decision.input_tokens,
                temperature=self._calibration.for_images(bool(prepared.grids)),
                timings_ms={"prepare": prepared_ms, "wait": wait_ms, **decision.timings_ms},
                counters=self._engine.counters(),
            )
            self._recorder.forwards(prepared, decision, job.sequence, None, line)
        except BaseException as error:
            self._retire(f"request {job.sequence}: execution failed", error)
            reply = unavailable(RETIRED)
            self._write(job.line(reply.status, reply))
        return reply

    def _drop_engine(self) -> None:
        """Note counters, kernels and memory, and free the engine, once; a broken engine may fail at all of it."""
        if self._dropped:
            return
        self._dropped = True
        try:
            self._counters = self._engine.counters()
            self._autotune = autotune.report()  # again, as requests may have tuned what the warm-ups did not
            self._memory = device_memory()
            self._engine.close()
        except Exception:
            log.exception("the engine could not be closed in order")

    # ------------------------------------------------------------ any thread

    def _begin(self, job: Job) -> bool:
        """Take a job out of the queue for good; False when its client left, which is recorded."""
        if job.answer.set_running_or_notify_cancel():
            return True
        self._write(job.line(CLIENT_LEFT, None))
        return False

    def _refuse(self, job: Job, reply: Reply) -> None:
        if self._begin(job):
            job.answer.set_result(self.refused(job.line(reply.status, reply), reply))

    def _write(self, line: Line) -> bool:
        """Record a line. A record that cannot be kept retires the worker like a failed execution."""
        try:
            self._recorder.write(line)
        except Exception as error:
            self._retire("the record cannot be written", error)
            return False
        return True

    def _retire(self, what: str, error: BaseException) -> None:
        with self._retiring:
            first, self.ready = self.ready, False  # before anything else, so that nothing more is admitted
        log.error("%s", what, exc_info=error)
        if first:
            log.error("retired: every request is refused until a restart")
            self._device.submit(self._drop_engine)
