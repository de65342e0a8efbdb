"""The call of a host whose own callers repeat a write when its answer was lost."""

from typing import Any

from gateway_memory.calls.opened import Opened
from gateway_memory.calls.translation import only_our_errors
from gateway_memory.edge.repeats import Work
from gateway_memory.store.journal.requests import Request

__all__ = ["RepeatingCalls"]


@only_our_errors
class RepeatingCalls(Opened):
    """Calls that make other calls safe to repeat. `after_reply` and `observe` are, by ids of their own."""

    async def once(
        self, request: Request, work: Work, *, unknown: Work | None = None, sure: bool = True
    ) -> dict[str, Any]:
        """Run the work of a request, and return its answer; a repeat within seven days gets the same answer.

        A repeat that comes while the first one runs waits for it.

        work: does what the request asks for; returns a JSON object.
        unknown: runs instead if the request began before and was not answered, because the process was killed or its
        store failed in between. By default, the work runs again.
        sure: whether work that raises StoreError has done nothing, so that a repeat is as good as new.

        Raises:
            StoreError: the request could not be recorded, or its work could not be done.
        """
        return await self._opened().repeats.run(request, work, unknown=unknown, sure=sure)
