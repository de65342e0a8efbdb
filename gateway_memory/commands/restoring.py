"""`/memory restore`: whether what a damaged file lost is kept, or was deleted."""

from typing import Any, Final

from gateway_memory.commands.answers import NotDone, phrase
from gateway_memory.commands.command import CommandPorts
from gateway_memory.commands.receipts import undo
from gateway_memory.sessions.session import Session
from gateway_memory.store.damage import Damage
from gateway_memory.store.summaries import SESSIONS_FILE

_DELETED: Final = frozenset(
    {"no", "n", "deleted", "delete", "they were deleted", "不", "否", "不用", "不要", "删了", "删除", "删掉了", "没有"}
)
_KEPT: Final = frozenset({"", "yes", "y", "all", "是", "好", "要", "全部"})


async def restore(ports: CommandPorts, session: Session, rest: str) -> str:
    """Keep the lines that damaged files of the scope lost, or forget them. rest: "" or "no"; an id is undone."""
    answer = rest.strip().strip(".。!！").lower()
    damages = await _damages(ports, session)
    if answer not in _DELETED | _KEPT:
        return await undo(ports, session, rest)
    if not damages:  # nor is it undo: a damage may not have been noticed yet
        raise NotDone(phrase(session, "restore_nothing"))
    ids = [each for damage in damages if damage.file != SESSIONS_FILE for each in damage.lost]
    if answer in _DELETED and ids:
        await ports.changes.forgetter.lost(session.scope, ids)
    lines, made = [], 0
    for damage in damages:
        name = "restored_not" if answer in _DELETED else "restored"
        if damage.file == SESSIONS_FILE:
            made = await ports.records_anew(session.scope, () if answer in _DELETED else damage.lost)
            name = "restored_records"
        lost = len(damage.lost)
        lines.append(phrase(session, name, file=damage.file, lost=lost, made=made, gone=lost - made))
        if damage.aside:
            lines.append(phrase(session, "restored_aside", aside=damage.aside))
    await ports.storage.mender.answered(session.scope)
    return "\n".join(lines)


async def damage_rows(ports: CommandPorts, session: Session) -> list[dict[str, Any]]:
    """Return what is to be asked about damaged files as JSON values."""
    return [
        {"file": each.file, "lost": len(each.lost), "of": each.of, "aside": each.aside}
        for each in await _damages(ports, session)
    ]


async def _damages(ports: CommandPorts, session: Session) -> list[Damage]:
    await ports.storage.mender.look(session.scope)
    return await ports.storage.mender.questions(session.scope)
