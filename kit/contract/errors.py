"""What a refused request is told."""

from __future__ import annotations

MAX_DETAIL = 200  # Unicode code points


class ContractError(ValueError):
    """A request the contract refuses. `detail` says what was wrong, where, and what was expected.

    error: class name the official server would put into the envelope. status: 422, or 413 for the body size.
    """

    def __init__(self, detail: str, *, error: str = "ValueError", status: int = 422) -> None:
        super().__init__(detail)
        self.detail = detail
        self.error = error
        self.status = status


def envelope(error: ContractError) -> dict[str, str]:
    """The error body: class name and at most 200 code points of detail."""
    return {"error": error.error, "detail": error.detail[:MAX_DETAIL]}
