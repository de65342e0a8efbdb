"""Read the withheld text of a scope from the journal. Functions over a connection in a transaction."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from string import ascii_lowercase, ascii_uppercase
from typing import Any, Final

from gateway_memory.ground.databases import Database
from gateway_memory.ground.texts import object_of
from gateway_memory.store.journal.sql import AMONG, AMONG_NUMBERS, SQL
from gateway_memory.store.memory_record import EXCHANGE, TALK
from gateway_memory.store.validity import Lapsed, Today, Validity
from gateway_memory.store.withheld import Forgotten, Withheld, canonical, sentences_of, time_of

_STOPS: Final = " .。!！?？;；,，~～…"
_NEWEST: Final = 3_000
"""The number of newest forgotten memories to compare. Deleting a large file by hand forgets all of its lines."""
_ALL: Final = 2**31 - 1
_ASCII_LOWER: Final = str.maketrans(ascii_uppercase, ascii_lowercase)


def withheld(database: Database, scope: str, *, undone: bool = True, besides: Sequence[str] = ()) -> Withheld:
    """Return what is withheld in a scope: what was forgotten, undone or deleted, and is not restored.

    Here alone it is decided, for memories, exchanges and whole sessions alike. undone: also what was undone.
    besides: ids of what is left out. Within a transaction.
    """
    rows = database.execute(SQL["withheld.removed"], (scope, undone, _NEWEST)).fetchall()
    return Withheld(*_find_removed(database, scope, [row for row in rows if row[0] not in besides]))


def forgotten(database: Database, scope: str) -> dict[str, float]:
    """Return the texts that were forgotten in a scope and that no memory has again, each with its last time.

    Within a transaction.
    """
    texts, _ = _find_removed(database, scope, database.execute(SQL["withheld.removed"], (scope, True, _ALL)).fetchall())
    return {each.text: each.at for each in sorted(texts, key=lambda each: each.at)}


def _find_removed(
    database: Database, scope: str, rows: Sequence[Sequence[Any]]
) -> tuple[list[Forgotten], dict[str, float]]:
    """Return the texts that were removed and that no memory has again, and the removed sessions with their times.

    rows: of withheld.removed.
    """
    if not rows:
        return [], {}
    lines = [row for row in rows if row[4] not in (EXCHANGE, TALK)]
    again = _active_texts(database, scope, [row[1] for row in lines])
    query = SQL["withheld.replacements"]
    replacement = dict(database.execute(query, (scope, json.dumps([row[0] for row in lines]))).fetchall())
    texts = [
        Forgotten(text=words, at=at, replacement=replacement.get(identity, ""))
        for identity, text, quote, at, *_ in lines
        if text not in again
        for words in dict.fromkeys((text, quote))
        if words
    ]
    exchanges = {int(row[5]): (str(row[2]), float(row[3])) for row in rows if row[4] == EXCHANGE}
    talks = {str(row[1]): float(row[3]) for row in reversed(rows) if row[4] == TALK}  # the newest time counts
    return [*texts, *_said_in(database, scope, exchanges)], talks


def _said_in(database: Database, scope: str, exchanges: Mapping[int, tuple[str, float]]) -> Iterator[Forgotten]:
    """Yield the sentences of forgotten exchanges, given their words elsewhere ("": here) and their times, by turn."""
    if not exchanges:
        return
    query = f'SELECT turn, "user", reply FROM episodes WHERE scope = ? AND turn IN {AMONG_NUMBERS}'
    rows = database.execute(query, (scope, json.dumps(list(exchanges)))).fetchall()
    sides = {int(turn): (str(user), str(reply)) for turn, user, reply in rows}
    for turn, (words, at) in exchanges.items():
        for side in sides.get(turn, (words,)):
            yield from (Forgotten(text=sentence, at=at) for sentence in sentences_of(side))


def forget_for_good(database: Database, before: float) -> None:
    """Make it permanent what is withheld of exchanges said before a time, whose words are going to be deleted.

    Nothing can be compared with them any more. Within a transaction over all scopes.
    """
    rows = database.execute(
        "SELECT scope, turn, quote, changed_at FROM memories WHERE category = ? AND state = 'forgotten' AND at < ?",
        (EXCHANGE, before),
    ).fetchall()
    exchanges: dict[str, dict[int, tuple[str, float]]] = {}
    for scope, turn, quote, at in rows:
        exchanges.setdefault(str(scope), {})[int(turn)] = (str(quote), float(at))
    for scope, of_scope in exchanges.items():
        hidden = Withheld(_said_in(database, scope, of_scope))
        if not hidden:
            continue
        for form, body in _whole_of(database, scope).items():
            record = object_of(body)
            whole = json.dumps(hidden.record(record)) if record else ""  # nobody could read it
            values = (whole, scope, form)
            database.execute("UPDATE withheld_records SET whole = ? WHERE scope = ? AND shown = ?", values)
        for number, content in database.execute(
            "SELECT id, content FROM observations WHERE scope = ? AND content <> ''", (scope,)
        ).fetchall():
            if (cut := hidden.cut(content)) != content:
                database.execute("UPDATE observations SET content = ? WHERE id = ?", (cut, number))
    database.execute("UPDATE memories SET quote = '' WHERE category = ? AND at < ?", (EXCHANGE, before))


def validity(database: Database, scope: str, today: Today | None = None) -> Validity:
    """Return what holds in a scope on a day. today: None leaves out nothing but what was forgotten.

    Within a transaction.
    """
    if today is None:
        return Validity(withheld(database, scope))
    # Both are sent before the first result is waited for.
    removed = database.execute(SQL["withheld.removed"], (scope, True, _NEWEST))
    values = (scope, _NEWEST, scope, today.day.isoformat(), scope, scope)
    rows = database.execute(SQL["withheld.lapsed"], values).fetchall()
    hidden = Withheld(*_find_removed(database, scope, removed.fetchall()))
    gone = [text for fate, _, text, *_ in rows if fate == "replaced"]
    again = _active_texts(database, scope, gone) if gone else set()
    lapsed: list[Lapsed] = []
    for fate, identity, text, quote, at, ends, newer in rows:
        if fate == "replaced" and text in again:
            continue
        quoted = _quote_of(quote) if fate == "pending" else quote
        since = today.end_of(ends) if ends else at
        others = _without_taken_back(newer)
        for words in dict.fromkeys((text, quoted)):
            each = Forgotten(text=words, at=since, replacement=others)
            lapsed.append(Lapsed(fate=fate, id=identity, forgotten=each))
    return Validity(hidden, lapsed, today)


def told_record(database: Database, scope: str, row: Mapping[str, Any], today: Today) -> dict[str, Any]:
    """Return a record with what of it holds today. Within a transaction."""
    query = "SELECT opened_at FROM sessions WHERE session_id = ?"
    opened = database.execute(query, (str(row.get("session_id", "")),)).fetchone()
    began = float(opened[0]) if opened else time_of(row.get("timestamp"))
    holds = validity(database, scope, today)
    return holds.record(holds.forgotten.record(row), at=began)


def _quote_of(review: str) -> str:
    """Return the user's words that a review is of, given its body."""
    memory = object_of(review).get("memory")
    return str(memory.get("quote", "")) if isinstance(memory, dict) else ""


def _without_taken_back(text: str) -> str:
    """Return the text of a memory without what it takes back, which is not quoted either."""
    if not text:
        return ""
    from extractor import without_withdrawn  # a hook in whose journal nothing was replaced has no time to import it

    return without_withdrawn(text)


def _active_texts(database: Database, scope: str, texts: list[str]) -> set[str]:
    """Return the texts that are also the text of an active memory, whatever their case and the stop at their end."""
    ends = {text: text.rstrip(_STOPS) for text in texts}
    # As each database has it.
    forms = list({form for end in ends.values() for form in (end.lower(), end.translate(_ASCII_LOWER))})
    query = f"SELECT text FROM memories WHERE scope = ? AND state = 'active' AND lower(rtrim(text, ?)) IN {AMONG}"
    active = {str(row[0]).rstrip(_STOPS).lower() for row in database.execute(query, (scope, _STOPS, json.dumps(forms)))}
    return {text for text, end in ends.items() if end.lower() in active}


def shown_record(database: Database, scope: str, row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a record without forgotten text, and store the whole record to restore it later. Within a transaction."""
    shown = withheld(database, scope).record(row)
    if shown != dict(row):
        keep_whole(database, scope, shown, dict(row))
    return shown


def keep_whole(database: Database, scope: str, shown: Mapping[str, Any], whole: Mapping[str, Any]) -> None:
    """Store a whole record, keyed by its shown form."""
    form = canonical(shown)
    database.execute("DELETE FROM withheld_records WHERE scope = ? AND shown = ?", (scope, form))
    database.execute("INSERT INTO withheld_records VALUES (?, ?, ?)", (scope, form, json.dumps(whole)))


def whole_records(database: Database, scope: str, rows: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return records with the text that is withheld from them. Within a transaction."""
    whole = _whole_of(database, scope)
    return [object_of(whole.get(canonical(row), "")) or row for row in rows]


def _whole_of(database: Database, scope: str) -> dict[str, str]:
    """Return the whole records of a scope as JSON, by their shown forms."""
    return dict(database.execute("SELECT shown, whole FROM withheld_records WHERE scope = ?", (scope,)).fetchall())


def reconsider(
    database: Database, scope: str, records: Callable[[], Iterable[Mapping[str, Any]]]
) -> dict[str, dict[str, Any]]:
    """Return the new shown forms of a scope's records that change, keyed by `canonical`, and store the whole records.

    records: reads the records. It is called only if anything is or was withheld.

    Within a transaction, which must be committed before the file is changed.
    """
    whole = _whole_of(database, scope)
    hidden = withheld(database, scope)
    if not hidden and not whole:
        return {}
    changed: dict[str, dict[str, Any]] = {}
    current: set[str] = set()
    for row in records():
        now = canonical(row)
        original = object_of(whole.get(now, "")) or dict(row)
        shown = hidden.record(original)
        current |= {now, canonical(shown)}
        if shown != original:
            keep_whole(database, scope, shown, original)
        if canonical(shown) != now:
            changed[now] = shown
    unused = [(scope, line) for line in whole if line not in current]
    database.executemany("DELETE FROM withheld_records WHERE scope = ? AND shown = ?", unused)
    return changed
