"""Deletion, which says in words what goes, is confirmed by typing a name, and is proved."""

import asyncio
from collections import Counter
from collections.abc import Mapping
from typing import Final

from gateway_memory.scope import OWNER_SCOPE, Scope
from gateway_memory.serving.page.faces import detail_of, folded, scope_label
from gateway_memory.serving.page.viewer import Values, Viewer
from gateway_memory.transfer.deletion import Deletion
from gateway_memory.transfer.proof import Proof

_PLACES: Final[Mapping[str, str]] = {
    place: group
    for group, places in {
        "memories": "memories history uses uses_read feedback changes receipts reviews marks session_memories noticed",
        "conversations": "sessions turns replies episodes episode_pages observations plans saved_sessions "
        "session_logs told transcript_messages shown_memories",
        "files": "files documents record_files",
        "index": "index row vector vector_2 removed file large large_block large_word scope",
        "names": "names links link_items link_codes link_tries",
    }.items()
    for place in places.split()
}
"""Where something of a scope is stored, as `Deletion` names it, by what the page calls it; anything else is "other"."""


def by_group(counts: Mapping[str, int]) -> Mapping[str, int]:
    """Return how many rows, lines and files are stored, by what the page calls their places."""
    groups: Counter[str] = Counter()
    for place, number in counts.items():
        groups[_PLACES.get(place.removeprefix("journal "), "other")] += number
    return {group: number for group, number in groups.items() if number}


async def deletion(viewer: Viewer, typed: str = "") -> Values:
    """What would be deleted of a scope, to be confirmed by typing its name. typed: what was typed instead."""
    scope, there = Scope.parse(viewer.of), deletion_of(viewer)
    counts = await asyncio.to_thread(there.survey, scope)
    linked = await asyncio.to_thread(there.linked_with, scope)
    faces = await viewer.memory.browsing.people.faces([scope, *linked])
    return {
        "memories": sum(face.memories for face in faces),
        "exchanges": sum(face.exchanges for face in faces),
        "conversations": counts.get("journal sessions", 0) + counts.get("sessions", 0),
        "groups": by_group(counts),
        "linked": [scope_label(face.scope, face.name, viewer.language) for face in faces[1:]],
        "words": next((face.words for face in faces if face.words), ""),
        "place": detail_of(faces[0], viewer.language),
        "last": max(face.last for face in faces),
        "shared": scope.kind.is_shared,
        "confirms": confirmation(viewer),
        "typed": typed,
    }


def deleted(proof: Proof) -> Values:
    """What was deleted, and what a search for traces found."""
    before, after = by_group(proof.before), by_group(proof.after)
    groups = [(group, number, after.get(group, 0)) for group, number in {**after, **before}.items()]
    return {"proof": proof, "groups": groups}


def deletion_of(viewer: Viewer) -> Deletion:
    """Return how a scope is deleted from the memory that a browser looks at."""
    return Deletion(workspace=viewer.memory.workspace, store=viewer.memory.settings.store)


def confirmation(viewer: Viewer) -> str:
    """Return what a person types to confirm the deletion of the scope that is shown."""
    return viewer.word("delete_owner") if viewer.of == OWNER_SCOPE.key else viewer.name


def confirms(viewer: Viewer, typed: str) -> bool:
    """Return whether what was typed is what confirms. Spaces, capitals and the forms of Unicode don't count."""
    return folded(typed) == folded(confirmation(viewer))
