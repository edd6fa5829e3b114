"""The worker: one engine behind POST /v1/systemone and GET /health.

Covers: the order of a start (load, text warm-up, image warm-up, then the listener), the number every POST gets,
which reply a request gets, and an orderly stop.
Does not cover: what happens between a complete body and its reply (`kit.serve.admission`) and the sockets and
signals of the process (`kit.serve.listener`). There is no authentication; it listens on loopback by default.

Every POST that is read to its end gets a number, from 1, in the order the bodies became complete, whatever it
is answered: decisions, refusals, unknown paths. The reply carries it as x-kit-sequence.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette

from kit.contract.errors import ContractError
from kit.contract.request import MAX_BODY_BYTES
from kit.serve import listener
from kit.serve.admission import STOPPING, Admission, Job, device_memory
from kit.serve.body import BODY_SECONDS, Body, ClientGoneError, read_body, until_gone
from kit.serve.lane import Lane
from kit.serve.logs import log_to_stderr
from kit.serve.recorder import Recorder, post_line
from kit.serve.replies import (
    Reply,
    json_reply,
    not_found,
    purpose_of,
    refusal,
    send_reply,
    too_slow,
    unavailable,
    wrong_method,
)
from kit.serve.warmup import warm_up

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

    from kit.contract.answer import Calibration
    from kit.engine.base import Engine
    from kit.profile import Profile

log = logging.getLogger(__name__)

MAX_WAITING = 64  # bodies held in memory at once: at most 64 * 16 MB
BUSY = f"{MAX_WAITING} requests are being read or waiting already; send this one again later"
FAILED = "the server could not handle the request"


def create_app(
    engine: Engine,
    profile: Profile,
    recorder: Recorder,
    calibration: Calibration | None = None,
    device: Lane | None = None,
) -> Starlette:
    """An application around a warm engine.

    calibration: the temperatures the engine answers with, for the record (default: the engine's own
    `calibration`, else the checkpoint's). device: the thread the engine was loaded on. `app.state.worker` is
    the WorkerEndpoint, whose `stop()` and `close()` the caller owes.
    """
    temperatures = calibration or calibration_of(engine, profile)
    admission = Admission(engine, profile.model.name, temperatures, recorder, device)
    app = Starlette()
    # No routes: a reply may be sent only after the body was read, and that holds for unknown paths too.
    app.state.worker = app.router.default = WorkerEndpoint(admission, profile.model.name)
    return app


def calibration_of(engine: Engine, profile: Profile) -> Calibration:
    """The engine's own calibration where it shows one, else that of the profile's checkpoint."""
    from kit.checkpoint import locate

    own: Calibration | None = getattr(engine, "calibration", None)
    return own or locate(profile).calibration


class WorkerEndpoint:
    """Reads, numbers and answers every request of a worker (an ASGI application)."""

    def __init__(self, admission: Admission, model: str) -> None:
        self._admission = admission
        self._ready = json_reply(200, {"status": "READY", "model": model})
        self._sequence = 0
        self._held = 0
        self._stopped = asyncio.Event()

    def stop(self) -> None:
        """Refuse what has not begun, and stop reading. Called on the event loop, while it still runs."""
        self._admission.stop()
        self._stopped.set()

    def close(self) -> None:
        """Wait for the running request, write the last record line, free the engine."""
        self._admission.close()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        sequence = None
        try:
            if purpose_of(scope["method"], scope["path"]) == "health":
                reply = self._admission.closed_reply() or self._ready
            else:
                reply, sequence = await self._after_reading(scope["method"], scope["path"], receive)
        except ClientGoneError:
            return
        except Exception:
            log.exception("%s could not be handled", scope["method"])
            reply = unavailable(FAILED)
        await send_reply(send, reply, sequence)

    async def _after_reading(self, method: str, path: str, receive: Receive) -> tuple[Reply, str | None]:
        purpose = purpose_of(method, path)
        keep = purpose == "decide" and self._held < MAX_WAITING
        self._held += keep
        try:
            body = await self._body_or_stopped(receive, MAX_BODY_BYTES if keep else 0)
            if isinstance(body, Reply):
                return body, None
            if method != "POST":
                return (not_found() if purpose == "not_found" else wrong_method(method, path)), None
            self._sequence += 1
            sequence = self._sequence
            if keep and body.data is not None and not self._admission.closed_reply():
                job = Job(sequence, path, body.data, body.sha256, time.perf_counter_ns())
                return await self._decided(job, receive), str(sequence)
            refused = self._refusal(method, path, body)
            line = post_line(sequence, path, refused.status, body.sha256, refused.sha256, 0.0)
            return await asyncio.to_thread(self._admission.refused, line, refused), str(sequence)
        finally:
            self._held -= keep

    async def _body_or_stopped(self, receive: Receive, keep: int) -> Body | Reply:
        """The body, or the reply to a client that is still sending when the server stops or its time is up."""
        reading = asyncio.create_task(read_body(receive, keep))
        stopped = asyncio.create_task(self._stopped.wait())
        try:
            either: set[asyncio.Future[Any]] = {reading, stopped}
            done, _ = await asyncio.wait(either, timeout=BODY_SECONDS, return_when=asyncio.FIRST_COMPLETED)
            if reading.done():
                return reading.result()
            return unavailable(STOPPING) if done else too_slow(BODY_SECONDS)
        finally:
            reading.cancel()
            stopped.cancel()

    def _refusal(self, method: str, path: str, body: Body) -> Reply:
        """Why a POST that was read is not decided."""
        match purpose_of(method, path):
            case "not_found":
                return not_found()
            case "wrong_method":
                return wrong_method(method, path)
        if closed := self._admission.closed_reply():
            return closed
        if body.size > MAX_BODY_BYTES:
            detail = f"request body is {body.size} bytes; at most {MAX_BODY_BYTES} are allowed"
            return refusal(ContractError(detail, status=413))
        return unavailable(BUSY)

    async def _decided(self, job: Job, receive: Receive) -> Reply:
        """The reply to an admitted request; a client that leaves while it waits takes it out of the queue."""
        answer = asyncio.wrap_future(self._admission.submit(job))
        gone = asyncio.create_task(until_gone(receive))
        try:
            either: set[asyncio.Future[Any]] = {answer, gone}
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
            if not answer.done():
                raise ClientGoneError(f"the client of request {job.sequence} left")
            return answer.result()
        finally:
            gone.cancel()
            answer.cancel()


def run(
    profile: Profile,
    engine_name: str,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    record: Path | None = None,
    owned: bool = False,
) -> int:
    """Load, warm up, listen, and serve until SIGTERM, Ctrl-C or (owned) the end of standard input.

    The listener is bound after both warm-ups; then one JSON line on standard output says where. Returns the
    exit code: 0 after an orderly stop, 2 when the start failed (the reason is in the log).
    """
    from kit import engine as engines

    return serve(profile, engine_name, lambda: engines.load(engine_name, profile), host, port, record, owned)


def serve(
    profile: Profile,
    engine_name: str,
    load: Callable[[], Engine],
    host: str,
    port: int,
    record: Path | None,
    owned: bool,
) -> int:
    """`run` with the engine's loader given."""
    from kit import runtime

    log_to_stderr()
    announce = listener.claim_stdout()
    if owned:
        listener.follow_parent()
    device = Lane("device")  # the engine is loaded, used and closed on this one thread
    try:
        settings = runtime.configure(profile)
        runtime.require_device(profile)
        recorder = Recorder(record, engine_name, profile.model.name)
        started = time.perf_counter()
        engine = device.submit(load).result()
        load_seconds = time.perf_counter() - started
        log.info("engine %s loaded in %.1f s", engine_name, load_seconds)
        device.submit(lambda: warm_up(engine, profile.model.name, recorder)).result()
        ready = {"kind": "ready", "describe": engine.describe(), "counters": engine.counters()}
        ready["memory"] = device_memory()
        recorder.write({**ready, "settings": settings, "load_seconds": load_seconds})
        app = create_app(engine, profile, recorder, device=device)
        socket = listener.bind(host, port)
    except (OSError, runtime.NoDeviceError) as error:  # a busy port, a record that exists: the message is enough
        log.error("engine %s of profile %s did not start: %s", engine_name, profile.name, error)
        return 2
    except Exception:
        log.exception("engine %s of profile %s did not start", engine_name, profile.name)
        return 2
    worker: WorkerEndpoint = app.state.worker
    listener.listen(app, socket, on_stop=worker.stop, announce=announce, facts={"engine": engine_name})
    worker.close()
    log.info("stopped in order")
    return 0
