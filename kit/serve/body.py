"""Reading a request body to its end, whatever will be answered, in bounded memory.

A server that answers before it has read everything makes the kernel reset the connection, and the client
loses the answer it should have got. So every body is read; what is over the limit is hashed and dropped.
Works the same with a Content-Length and with chunked transfer. A body that does not become complete in
BODY_SECONDS is given up, since a client that stops half way would hold its place for ever.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from starlette.types import Receive


BODY_SECONDS = 60.0  # the largest body over a line of 2 Mbit/s


class ClientGoneError(ConnectionError):
    """The client closed the connection; there is nobody to answer."""


class BodyTimeoutError(TimeoutError):
    """The client did not finish its body in BODY_SECONDS."""


@dataclass(frozen=True)
class Body:
    """A body that was read to its end. data: its bytes, or None where they were not kept."""

    data: bytes | None
    size: int
    sha256: str


async def read_body(receive: Receive, keep: int) -> Body:
    """Read everything, keeping the bytes only while there are at most `keep`. Raises ClientGoneError."""
    digest = hashlib.sha256()
    kept = bytearray()
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientGoneError("the client left before its request was complete")
        chunk: bytes = message.get("body", b"")
        digest.update(chunk)
        size += len(chunk)
        if size <= keep:
            kept += chunk
        else:
            kept = bytearray()
        if not message.get("more_body", False):
            return Body(bytes(kept) if size <= keep else None, size, digest.hexdigest())


async def until_gone(receive: Receive) -> None:
    """Return when the client has closed the connection (call it after the body was read)."""
    while (await receive())["type"] != "http.disconnect":
        continue
