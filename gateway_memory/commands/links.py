"""`/memory link` and `/memory unlink`: one person over channels."""

from gateway_memory.commands.answers import NotDone, phrase, shown
from gateway_memory.commands.ports import CommandPorts
from gateway_memory.errors import UsageError
from gateway_memory.scope import Scope
from gateway_memory.session import Session

__all__ = ["link", "unlink"]


async def link(ports: CommandPorts, session: Session, rest: str) -> str:
    """Give a code; with the code of another identity, join both.

    In a shell and on the page, who runs the gateway names the other one (user:NAME) instead of typing a code.
    """
    _check(ports, session)
    if session.beside:
        other = _person(session, rest)
        for scope in (session.scope, other):
            if not await ports.storage.sessions.knows(scope.key):
                raise NotDone(phrase(session, "link_nobody", name=shown(scope.key)))
        result, name = await ports.links.unite(session.scope.key, other.key)
    elif not rest.strip():
        return phrase(session, "link_code", code=await ports.links.offer(session))
    else:
        result, name = await ports.links.join(session, rest)
    if result != "joined":
        raise NotDone(phrase(session, f"link_{result}", name=name))
    return phrase(session, "link_joined", name=name)


async def unlink(ports: CommandPorts, session: Session, rest: str) -> str:
    """Take the last link of the speaker back. In a shell and on the page, that of the person who is named."""
    _check(ports, session)
    identity = _person(session, rest).key if session.beside and rest.strip() else session.origin.key
    name = await ports.links.part(identity)
    if name is None:
        raise NotDone(phrase(session, "unlink_none"))
    return phrase(session, "unlinked", name=name)


def _check(ports: CommandPorts, session: Session) -> None:
    reason = ports.links.refused(session)
    if reason:
        raise NotDone(phrase(session, f"link_not_{reason}"))


def _person(session: Session, named: str) -> Scope:
    try:
        scope = Scope.parse(named.strip())
    except UsageError:
        raise NotDone(phrase(session, "link_usage", name=shown(named))) from None
    if not scope.kind.may_link:
        raise NotDone(phrase(session, "link_not_shared" if scope.kind.is_shared else "link_not_owner"))
    return scope
