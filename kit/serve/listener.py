"""The socket, the signals and the standard streams of a server process.

Covers: binding (port 0 takes a free one, so nothing can take it in between), the one line on standard output
that says the server is ready, an orderly stop by SIGTERM, Ctrl-C or the death of the parent.
Does not cover: what is served.
"""

from __future__ import annotations

import asyncio
import ctypes
import json
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Any, TextIO

import uvicorn

if TYPE_CHECKING:
    from starlette.types import ASGIApp

# Longer than any client of the kit keeps an idle connection, so that the client is the one who closes it:
# a request sent on a connection the server is just closing is lost.
KEEP_ALIVE_SECONDS = 75
GRACE_SECONDS = 30.0  # for the running request when the parent is gone
PR_SET_PDEATHSIG = 1


def bind(host: str, port: int) -> socket.socket:
    """A bound TCP socket. Raises OSError naming the address."""
    family, kind, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    # The protocol is spelled out because asyncio switches Nagle's delay off only on sockets that show it.
    listening = socket.socket(family, kind, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    try:
        listening.bind(address)
    except OSError as error:
        listening.close()
        raise OSError(error.errno, f"cannot listen on {host} port {port}: {error.strerror}; 0 takes a free port") from error
    return listening


def url_of(listening: socket.socket) -> str:
    """Base URL of a bound socket."""
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def claim_stdout() -> TextIO:
    """Keep standard output for the ready line: whatever any library prints from now on goes to the log."""
    sys.stdout.flush()
    announce = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return announce


def listen(
    app: ASGIApp, listening: socket.socket, *, on_stop: Callable[[], None], announce: TextIO, facts: dict[str, Any]
) -> None:
    """Serve until told to stop. The ready line (`facts` in it) is written once connections are accepted."""

    def ready() -> None:
        line = {"event": "ready", "url": url_of(listening), **facts}
        print(json.dumps(line, ensure_ascii=False, separators=(",", ":")), file=announce)
        announce.close()

    asyncio.run(Listener(app, on_ready=ready, on_stop=on_stop).serve(sockets=[listening]))


class Listener(uvicorn.Server):
    """uvicorn with the two moments a worker needs, and a signal that ends the process with exit code 0."""

    def __init__(self, app: ASGIApp, *, on_ready: Callable[[], None], on_stop: Callable[[], None]) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                http="h11",
                loop="asyncio",
                ws="none",
                lifespan="off",
                log_config=None,
                access_log=False,
                proxy_headers=False,
                server_header=False,
                timeout_keep_alive=KEEP_ALIVE_SECONDS,
            )
        )
        self._on_ready = on_ready
        self._on_stop = on_stop

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._on_ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._on_stop()
        await super().shutdown(sockets)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Handle stop signals while serving; unlike uvicorn's own, do not raise them again afterwards."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.signal(number, self.handle_exit) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """First signal: stop in order. Another Ctrl-C: leave at once, whatever is running."""
        if self.should_exit and sig == signal.SIGINT:
            os._exit(130)
        self.should_exit = True


def follow_parent(grace: float = GRACE_SECONDS) -> None:
    """End this process when its parent does, in two ways that cover each other.

    On Linux the kernel kills it when the thread that started it ends, even while a long call holds the
    interpreter. Everywhere, the end of standard input (whose other end the parent holds) means SIGTERM to
    itself, and exit after `grace` seconds if that did not do.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    threading.Thread(target=_watch_stdin, args=(grace,), name="parent", daemon=True).start()


def _watch_stdin(grace: float) -> None:
    while os.read(0, 4096):
        continue
    os.kill(os.getpid(), signal.SIGTERM)
    threading.Event().wait(grace)
    os._exit(1)
