"""A server of this process on a free loopback port, for as long as a block lasts."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import HTTPServer
from typing import Any


@contextmanager
def listening(handler: Callable[..., Any], kind: type[HTTPServer] = HTTPServer) -> Iterator[str]:
    """The URL of a server that hands every request to `handler`. kind: HTTPServer answers one at a time."""
    server = kind(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
