"""The port for writes that a caller may repeat: which of them began, and what they were answered."""

from dataclasses import dataclass
from typing import Protocol

__all__ = ["Request", "Requests"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A write of a caller. The same call, caller and id are the same request.

    call: the name of the call. caller: who asks, since ids of different callers may be equal. id: the caller's id.
    scope: the scope whose texts the answer may hold.
    """

    call: str
    caller: str
    id: str
    scope: str


class Requests(Protocol):
    """Requests are kept for seven days. Every call may raise StoreError, and has then changed nothing."""

    async def begin(self, request: Request, at: float) -> str | None:
        """Record that a request begins, durably; return None if it is new.

        Otherwise return its answer, or "" if it began before and was not answered. at: epoch seconds.
        """

    async def answer(self, request: Request, answer: str) -> None:
        """Record the answer to a request that began. The answer is not empty."""

    async def forget(self, request: Request) -> None:
        """Record that a request has done nothing, so that a repeat of it is new."""
