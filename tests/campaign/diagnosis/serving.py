"""Planted faults behind a real socket: what a remote server with one mistake answers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from typing import TYPE_CHECKING, Any

from tests.loopback import listening

if TYPE_CHECKING:
    from kit.campaign.planted.site import Subject


READY = b'{"status":"READY","model":"JEMM"}'


@contextmanager
def served(subject: Subject) -> Iterator[str]:
    """The URL of a server that is ready, and answers every POST with what a subject makes of it, one at a time."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self._send(200, READY)

        def do_POST(self) -> None:
            answered = subject.post(self.rfile.read(int(self.headers["content-length"])))
            self._send(answered.status, answered.body)

        def _send(self, status: int, body: bytes) -> None:
            self.send_response(status)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    with listening(Handler) as url:
        yield url
