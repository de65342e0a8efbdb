"""The pages of people and rooms: whose memories there are, links between them, and deletion with proof."""

import asyncio

from gateway_memory.scope import Scope
from gateway_memory.serving.app import Service
from gateway_memory.serving.page.visit import Shown, Visit
from gateway_memory.transfer.deletion import Deletion
from gateway_memory.transfer.proof import lines_of, places

__all__ = ["deletion", "erase", "people"]


async def people(visit: Visit) -> Shown:
    """The scopes of the workspace, and which of them are linked."""
    browsing = visit.memory.browsing
    linked = {Scope.parse(key): Scope.parse(into) for key, into in (await browsing.linked()).items()}
    scopes = [*dict.fromkeys([*map(Scope.parse, await browsing.scopes()), *linked])]
    return Shown("people.html", {"scopes": scopes, "linked": linked})


async def deletion(visit: Visit) -> Shown:
    """What would be deleted of a scope, to be confirmed by typing its name."""
    return await _deletion(visit, "")


async def erase(service: Service, agent: str, visit: Visit, typed: str) -> Shown:
    """Delete a scope and those that are linked with it, and show the proof. typed: its name, as a confirmation."""
    if typed.strip() != visit.of:
        return await _deletion(visit, typed)
    scope, deletion = Scope.parse(visit.of), _deletion_of(visit)
    if deletion.is_shared:
        proof = await asyncio.to_thread(deletion.delete, scope)
    else:
        async with service.held[agent].closed():
            proof = await asyncio.to_thread(deletion.delete, scope)
    return Shown("deleted.html", {"of": visit.of, "holds": proof.holds, "lines": lines_of(proof)})


def _deletion_of(visit: Visit) -> Deletion:
    return Deletion(workspace=visit.memory.workspace, store=visit.memory.settings.store)


async def _deletion(visit: Visit, typed: str) -> Shown:
    scope, deletion = Scope.parse(visit.of), _deletion_of(visit)
    counts = await asyncio.to_thread(deletion.survey, scope)
    linked = await asyncio.to_thread(deletion.linked_with, scope)
    values = {"lines": places(counts), "linked": [each.key for each in linked], "typed": typed}
    return Shown("deletion.html", values)
