"""The pages of people and rooms: whose memories there are, links between them, and deletion with proof."""

import asyncio
from functools import partial

from gateway_memory.scope import scope_named
from gateway_memory.serving.app import Service
from gateway_memory.serving.page.visit import Shown, Visit
from gateway_memory.transfer.eraser import delete, linked_with, survey
from gateway_memory.transfer.proof import lines_of, places

__all__ = ["deletion", "erase", "people"]


async def people(visit: Visit) -> Shown:
    """The scopes of the workspace, and which of them are linked."""
    browsing = visit.memory.browsing
    linked = await browsing.linked()
    scopes = [*dict.fromkeys([*await browsing.scopes(), *linked])]
    return Shown("people.html", {"scopes": scopes, "linked": linked})


async def deletion(visit: Visit) -> Shown:
    """What would be deleted of a scope, to be confirmed by typing its name."""
    return await _deletion(visit, "")


async def erase(service: Service, agent: str, visit: Visit, typed: str) -> Shown:
    """Delete a scope and those that are linked with it, and show the proof. typed: its name, as a confirmation."""
    if typed.strip() != visit.of:
        return await _deletion(visit, typed)
    async with service.held[agent].closed() as workspace:
        proof = await asyncio.to_thread(delete, workspace, scope_named(visit.of))
    return Shown("deleted.html", {"of": visit.of, "holds": proof.holds, "lines": lines_of(proof)})


async def _deletion(visit: Visit, typed: str) -> Shown:
    workspace, scope = visit.memory.workspace, scope_named(visit.of)
    counts = await asyncio.to_thread(survey, workspace, scope)
    linked = await asyncio.to_thread(partial(linked_with, workspace), scope)
    values = {"lines": places(counts), "linked": [each.key for each in linked], "typed": typed}
    return Shown("deletion.html", values)
