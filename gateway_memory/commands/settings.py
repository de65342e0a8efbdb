"""`/memory pause`, `resume`, `on`, `off`, `link`, `unlink`: what a person sets for a session, or over channels."""

from collections.abc import Sequence

from gateway_memory.commands.answers import NotDone, phrase, shown
from gateway_memory.commands.command import CommandPorts
from gateway_memory.commands.names import says_more
from gateway_memory.edge.phrases import say
from gateway_memory.errors import UsageError
from gateway_memory.scope import Scope
from gateway_memory.sessions.session import FEATURES, Session


async def pause(ports: CommandPorts, session: Session, _: str) -> str:
    """Keep nothing of this session from now on, and recall nothing in it."""
    return await switch(ports, session, "", on=False)


async def resume(ports: CommandPorts, session: Session, _: str) -> str:
    """End a pause: what the config has on is on again."""
    if not session.switches.features:
        raise NotDone(phrase(session, "resume_config" if session.incognito else "resume_not_paused"))
    session.switches.clear()
    await ports.switched(session)
    if session.incognito:
        raise NotDone(phrase(session, "resume_config"))
    return phrase(session, "resumed", features=named(session, [each for each in FEATURES if session.on(each)]))


async def switch(ports: CommandPorts, session: Session, name: str, *, on: bool) -> str:
    """Switch a feature in this session; without a name, all of them: with all off, the session is incognito."""
    wanted = name.strip().lower()
    features = [
        each
        for each in FEATURES
        if each.lower().endswith(wanted) or say("zh", f"feature_{each}") in wanted  # 自动召回
    ]
    if not says_more(name):
        features = list(FEATURES)
    if not features:
        raise NotDone(phrase(session, "switch_unknown", name=shown(name), known=named(session, FEATURES)))
    session.switches.set(features, on=on)
    await ports.switched(session)
    if session.incognito:
        return phrase(session, "incognito")
    return phrase(session, "switched_on" if on else "switched_off", features=named(session, features))


def named(session: Session, features: Sequence[str]) -> str:
    """Return features by their names in the session's language."""
    names = [phrase(session, f"feature_{each}") for each in features]
    return phrase(session, "comma").join(names) or phrase(session, "none")


async def link(ports: CommandPorts, session: Session, rest: str) -> str:
    """Give a code; with the code of another identity, join both.

    In a shell and on the page, who runs the gateway names the other one (user:NAME) instead of typing a code.
    """
    _check(ports, session)
    if session.detached:
        other = _person(session, rest)
        for scope in (session.scope, other):
            if not await ports.storage.sessions.knows(scope.key):
                raise NotDone(phrase(session, "link_nobody", name=shown(scope.key)))
        result, name = await ports.links.link(session.scope.key, other.key)
    elif not rest.strip():
        return phrase(session, "link_code", code=await ports.links.offer(session))
    else:
        result, name = await ports.links.link_by_code(session, rest)
    if result != "joined":
        raise NotDone(phrase(session, f"link_{result}", name=name))
    return phrase(session, "link_joined", name=name)


async def unlink(ports: CommandPorts, session: Session, rest: str) -> str:
    """Take the last link of the speaker back. In a shell and on the page, that of the person who is named."""
    _check(ports, session)
    identity = _person(session, rest).key if session.detached and rest.strip() else session.who.origin.key
    name = await ports.links.unlink(identity)
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
