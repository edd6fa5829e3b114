"""What goes back to a client: status, JSON body, and the header that carries a POST's number.

Covers: the error envelopes both servers use, which path and method means what, and sending over ASGI.
Does not cover: malformed HTTP, which uvicorn itself answers with a plain 400 before any application runs.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from kit.contract.errors import ContractError, envelope

if TYPE_CHECKING:
    from starlette.types import Send

DECISION_PREFIX = "/v1/systemone"  # any path that begins so is a decision, as on the official server
HEALTH_PATHS = ("/health", "/v1/health")
SEQUENCE_HEADER = "x-kit-sequence"

Purpose = Literal["decide", "health", "wrong_method", "not_found"]


@dataclass(frozen=True)
class Reply:
    """One response. headers: those beyond content type, length and sequence number."""

    status: int
    body: bytes
    headers: tuple[tuple[str, str], ...] = ()
    content_type: str = "application/json"

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.body).hexdigest()


def json_reply(status: int, document: dict[str, Any], *headers: tuple[str, str]) -> Reply:
    """A reply whose body is compact JSON."""
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":"))
    return Reply(status, text.encode(errors="backslashreplace"), headers)  # a lone surrogate stays valid JSON


def refusal(error: ContractError) -> Reply:
    """The envelope of a request the contract refuses (422, or 413 for its size)."""
    return json_reply(error.status, envelope(error))


def unavailable(detail: str) -> Reply:
    """503: nothing is wrong with the request. The detail names no cause; causes are in the server's log."""
    return refusal(ContractError(detail, error="RuntimeError", status=503))


def too_slow(seconds: float) -> Reply:
    """408 for a body that did not become complete in time; what may still come of it is not read."""
    detail = f"the request body was not complete after {seconds:g} seconds"
    return json_reply(408, envelope(ContractError(detail, error="TimeoutError", status=408)), ("connection", "close"))


def not_found() -> Reply:
    """The official server's answer to a path it does not know."""
    return json_reply(404, {"error": "not_found"})


def wrong_method(method: str, path: str) -> Reply:
    """405 with the methods the path has."""
    allowed = "GET, HEAD" if path in HEALTH_PATHS else "POST"
    error = ContractError(f"method {method} is not allowed here; allowed: {allowed}", error="RuntimeError", status=405)
    return json_reply(405, envelope(error), ("allow", allowed))


def purpose_of(method: str, path: str) -> Purpose:
    """What a request asks for. An unknown path is unknown for every method."""
    if path in HEALTH_PATHS:
        return "health" if method in ("GET", "HEAD") else "wrong_method"
    if path.startswith(DECISION_PREFIX):
        return "decide" if method == "POST" else "wrong_method"
    return "not_found"


async def send_reply(send: Send, reply: Reply, sequence: str | None = None) -> None:
    """Send a whole reply; `sequence` becomes the x-kit-sequence header."""
    headers = [("content-length", str(len(reply.body))), *reply.headers]
    if reply.content_type:
        headers.append(("content-type", reply.content_type))
    if sequence is not None:
        headers.append((SEQUENCE_HEADER, sequence))
    encoded = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers]
    await send({"type": "http.response.start", "status": reply.status, "headers": encoded})
    await send({"type": "http.response.body", "body": reply.body})
