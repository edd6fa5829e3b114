"""The frontend: a door to a worker that changes nothing.

Covers: forwarding POST /v1/systemone... and health, with status, body bytes and x-kit-sequence passed through
as they are; 503 when the backend cannot be reached. A request's bytes are streamed, never held, so size limits
and every other rule stay the worker's. Nothing is retried: a POST may have been decided already.
Does not cover: queueing, balancing, or redirects (a redirect is passed on like any other reply).
"""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

import httpx
from starlette.applications import Starlette

from kit.serve import listener
from kit.serve.body import BODY_SECONDS, BodyTimeoutError, ClientGoneError, read_body, until_gone
from kit.serve.logs import log_to_stderr
from kit.serve.replies import (
    SEQUENCE_HEADER,
    Reply,
    not_found,
    purpose_of,
    send_reply,
    too_slow,
    unavailable,
    wrong_method,
)

if TYPE_CHECKING:
    from starlette.types import Message, Receive, Scope, Send

    from kit.profile import Profile

log = logging.getLogger(__name__)

CONNECT_SECONDS = 10.0
HEALTH_SECONDS = 10.0  # a worker's health never waits, so silence means it is not well
# A decision may wait behind others for as long as its client is willing to, so reading has no limit.
DECISION_TIMEOUT = httpx.Timeout(None, connect=CONNECT_SECONDS)
HEALTH_TIMEOUT = httpx.Timeout(HEALTH_SECONDS)
FORWARDED_HEADERS = (b"content-type", b"content-length")


def create_app(backend: str) -> Starlette:
    """An application that forwards to `backend`, a worker's base URL."""
    app = Starlette()
    app.router.default = FrontendEndpoint(backend)
    return app


class FrontendEndpoint:
    """Forwards every request it knows (an ASGI application)."""

    def __init__(self, backend: str) -> None:
        self._backend = backend.rstrip("/")
        self._client = httpx.AsyncClient(
            trust_env=False,
            follow_redirects=False,
            limits=httpx.Limits(max_connections=None),
            headers={"accept-encoding": "identity"},
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        upload = Upload(receive)
        try:
            reply, sequence = await self._reply_or_reason(scope, upload)
            await upload.finish()
        except ClientGoneError:
            return
        except BodyTimeoutError:
            reply, sequence = too_slow(BODY_SECONDS), None
        await send_reply(send, reply, sequence)

    async def _reply_or_reason(self, scope: Scope, upload: Upload) -> tuple[Reply, str | None]:
        try:
            return await self._reply(scope, upload)
        except (ClientGoneError, BodyTimeoutError):
            raise
        except Exception:
            log.exception("%s could not be forwarded", scope["method"])
            return unavailable("the frontend could not handle the request"), None

    async def _reply(self, scope: Scope, upload: Upload) -> tuple[Reply, str | None]:
        method, path = scope["method"], scope["path"]
        match purpose_of(method, path):
            case "not_found":
                return not_found(), None
            case "wrong_method":
                return wrong_method(method, path), None
            case "health":
                request = self._client.build_request(method, self._url(scope), timeout=HEALTH_TIMEOUT)
            case "decide":
                headers = [(name, value) for name, value in scope["headers"] if name in FORWARDED_HEADERS]
                request = self._client.build_request(
                    method, self._url(scope), headers=headers, content=upload.chunks(), timeout=DECISION_TIMEOUT
                )
        return await self._forward(request, upload)

    def _url(self, scope: Scope) -> httpx.URL:
        query = scope["query_string"]
        raw = scope["raw_path"] + (b"?" + query if query else b"")
        return httpx.URL(self._backend + raw.decode("ascii"))

    async def _forward(self, request: httpx.Request, upload: Upload) -> tuple[Reply, str | None]:
        """The backend's reply. A client that leaves meanwhile is gone for the backend too."""
        sending = asyncio.create_task(self._client.send(request))
        leaving = asyncio.create_task(upload.client_left())
        try:
            await asyncio.wait({sending, leaving}, return_when=asyncio.FIRST_COMPLETED)
            if not sending.done():
                raise ClientGoneError("the client left")
            response = sending.result()
        except httpx.HTTPError as error:
            log.error("backend: %s: %s", type(error).__name__, error)
            return unavailable(f"the backend did not answer ({type(error).__name__}); is the worker running?"), None
        finally:
            for task in (sending, leaving):
                task.cancel()
            await asyncio.wait({sending, leaving})
        kept = [(name, response.headers[name]) for name in ("allow", "location") if name in response.headers]
        reply = Reply(response.status_code, response.content, tuple(kept), response.headers.get("content-type", ""))
        return reply, response.headers.get(SEQUENCE_HEADER)


class Upload:
    """A client's request body on its way through."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._complete = asyncio.Event()
        self._deadline = asyncio.get_running_loop().time() + BODY_SECONDS

    async def chunks(self) -> AsyncIterator[bytes]:
        """The body, piece by piece. Raises ClientGoneError or BodyTimeoutError."""
        while not self._complete.is_set():
            message = await self._next()
            if message["type"] == "http.disconnect":
                raise ClientGoneError("the client left before its request was complete")
            if not message.get("more_body", False):
                self._complete.set()
            if chunk := message.get("body", b""):
                yield chunk

    async def client_left(self) -> None:
        """Return when the client closes the connection after its body was forwarded."""
        await self._complete.wait()
        await until_gone(self._receive)

    async def finish(self) -> None:
        """Read what is left of the body, so that the reply can be sent. Raises as `chunks` does."""
        if not self._complete.is_set():
            await read_body(self._next, keep=0)
            self._complete.set()

    async def _next(self) -> Message:
        try:
            async with asyncio.timeout_at(self._deadline):
                return await self._receive()
        except TimeoutError as error:
            raise BodyTimeoutError(f"the body was not complete after {BODY_SECONDS:g} seconds") from error


def run(profile: Profile, backend: str, *, host: str = "127.0.0.1", port: int = 0, owned: bool = False) -> int:
    """Forward to `backend` until SIGTERM, Ctrl-C or (owned) the end of standard input; returns the exit code.

    Says where it listens in one JSON line on standard output. The backend need not be up.
    """
    log_to_stderr()
    announce = listener.claim_stdout()
    if owned:
        listener.follow_parent()
    try:
        if httpx.URL(backend).scheme not in ("http", "https") or not httpx.URL(backend).host:
            raise ValueError(f"--backend is {backend!r}, expected the base URL of a worker, e.g. http://127.0.0.1:8000")
        socket = listener.bind(host, port)
    except (OSError, ValueError, httpx.InvalidURL) as error:
        print(f"frontend of profile {profile.name}: {error}", file=sys.stderr)
        return 2
    app = create_app(backend)
    listener.listen(app, socket, on_stop=lambda: None, announce=announce, facts={"backend": backend})
    return 0
