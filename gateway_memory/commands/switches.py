"""`/memory on` and `/memory off`: switch features of one session."""

from gateway_memory.commands.answers import NotDone, phrase, shown
from gateway_memory.commands.ports import CommandPorts
from gateway_memory.session import FEATURES, Feature, Session

__all__ = ["switch_off", "switch_on"]


async def switch_on(ports: CommandPorts, session: Session, name: str) -> str:
    """Switch a feature on in this session; without a name, all of them."""
    return await _switch(ports, session, name, on=True)


async def switch_off(ports: CommandPorts, session: Session, name: str) -> str:
    """Switch a feature off in this session; without a name, all of them: the session is incognito then."""
    return await _switch(ports, session, name, on=False)


async def _switch(ports: CommandPorts, session: Session, name: str, *, on: bool) -> str:
    wanted = name.strip().lower()
    names: dict[str, Feature] = {feature.lower(): feature for feature in FEATURES}
    if wanted not in names and wanted not in ("", "all", "全部"):
        raise NotDone(phrase(session, "switch_unknown", name=shown(name), known=", ".join(FEATURES)))
    features = [names[wanted]] if wanted in names else FEATURES
    session.switch(features, on=on)
    await ports.switched(session)
    if session.incognito:
        return phrase(session, "incognito")
    listed = phrase(session, "comma").join(features)
    return phrase(session, "switched_on" if on else "switched_off", features=listed)
