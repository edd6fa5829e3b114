"""Servers in a thread of the test, raw connections to them, and request bodies."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

from kit.serve import listener
from kit.serve.listener import Listener


class Running:
    """An application served in a thread of the test on a free port."""

    def __init__(self, app: Any, on_stop: Callable[[], None] = lambda: None) -> None:
        listening = listener.bind("127.0.0.1", 0)
        self.url = listener.url_of(listening)
        ready = threading.Event()
        self._server = Listener(app, on_ready=ready.set, on_stop=on_stop)
        self._thread = threading.Thread(target=lambda: asyncio.run(self._server.serve(sockets=[listening])))
        self._thread.start()
        assert ready.wait(10)

    def ask_to_stop(self) -> None:
        """What a stop signal does in a server process."""
        self._server.should_exit = True

    def stop(self) -> None:
        self.ask_to_stop()
        self._thread.join(20)
        assert not self._thread.is_alive()


@contextmanager
def served(app: Any) -> Iterator[str]:
    """Base URL of an application served for the length of a block."""
    running = Running(app)
    try:
        yield running.url
    finally:
        running.stop()


def body_of(state: object, **more: Any) -> bytes:
    questions = {"q": {"type": "choice", "criteria": {"a": "first", "b": "second"}}}
    return json.dumps({"state": state, "questions": questions} | more, separators=(",", ":")).encode()


def connect(url: str) -> socket.socket:
    parts = urlsplit(url)
    assert parts.hostname is not None
    return socket.create_connection((parts.hostname, parts.port or 80), timeout=20)


def send_post(url: str, body: bytes, path: str = "/v1/systemone", announce: int | None = None) -> socket.socket:
    """A connection on which a POST was sent; announce: the Content-Length, if not that of the body."""
    connection = connect(url)
    head = f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body) if announce is None else announce}\r\n\r\n"
    connection.sendall(head.encode() + body)
    return connection


def wait_until(true: Callable[[], bool], seconds: float = 10) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, "waited too long"
        time.sleep(0.005)
