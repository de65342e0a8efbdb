"""Names: what people, groups and conversations are called where a person reads of them.

A name tells nobody's identity: its bearer may have chosen it, and two may bear the same one. No model is told it.
"""

import json
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Final

from extractor import clean
from gateway_memory.ground.databases import EVERY, Database
from gateway_memory.store.journal.sql import AMONG, Table, upsert

OF_SCOPE: Final = ""
"""The place of a session key in the name of a scope itself."""
_BY_HOST, _BY_PERSON = 0, 1
_PUT: Final = upsert("names", "scope, session_key, given, name", "scope, session_key, given")
_REMOVE: Final = "DELETE FROM names WHERE scope = ? AND session_key = ? AND given = ?"


_LONGEST_SHOWN: Final = 80
_JOINER: Final = "\N{ZERO WIDTH JOINER}"
"""The one invisible character that names need: it joins emoji, and letters of some scripts."""


def shown_name(text: str | None) -> str:
    """Return a name as a page may show it: one line of at most 80 characters, without secrets or invisible signs."""
    line = "".join(
        each if each == _JOINER or unicodedata.category(each)[0] != "C" else " " if each.isspace() else ""
        for each in clean((text or "")[: 10 * _LONGEST_SHOWN]).text
    )
    return " ".join(line.split())[:_LONGEST_SHOWN].strip(_JOINER)


def note_name(database: Database, scope: str, key: str, name: str) -> None:
    """Store what the host calls a conversation, or a member of a room. Within a transaction."""
    database.execute(_PUT, (scope, key, _BY_HOST, name))


class Names(Table):
    """The names of scopes, of their conversations and, in a room, of who speaks.

    One that a person gave counts before the host's. Every call may raise StoreError, and has then changed nothing.
    """

    async def note(self, names: Sequence[tuple[str, str, str]]) -> None:
        """Store what the host calls conversations, scopes and members: scope, key (or `OF_SCOPE`), and name."""
        scopes = [scope for scope, _, _ in names]
        await self._change_many(scopes, _PUT, [(scope, key, _BY_HOST, name) for scope, key, name in names])

    async def give(self, scope: str, session_key: str, name: str) -> None:
        """Store the name that a person gave; "" takes it back, so that the host's counts again."""
        values = (scope, session_key, _BY_PERSON)
        if name:
            await self._change(scope, _PUT, *values, name)
        else:
            await self._change(scope, _REMOVE, *values)

    async def of_scopes(self, scopes: Sequence[str]) -> Mapping[str, str]:
        """Return the names of those of these scopes that have one."""
        query = f"SELECT scope, name FROM names WHERE session_key = ? AND scope IN {AMONG} ORDER BY given"
        return dict(await self._rows(EVERY, query, OF_SCOPE, json.dumps(list(scopes))))

    async def within(self, scope: str, keys: Sequence[str]) -> Mapping[str, str]:
        """Return the names of those of a scope's conversations, and of a room's members, that have one, by their keys.

        keys: session keys, and the keys of the members' own scopes.
        """
        query = f"SELECT session_key, name FROM names WHERE scope = ? AND session_key IN {AMONG} ORDER BY given"
        return dict(await self._rows(scope, query, scope, json.dumps(list(keys))))
