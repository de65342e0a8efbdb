"""What the assistant is told of a request about the memory itself, and what becomes of it after the reply."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from extractor import Act
from gateway_memory.capture.asking import lines_of, questions
from gateway_memory.capture.reader import NEAREST
from gateway_memory.capture.requests import Request, memories_meant
from gateway_memory.context.blocks import told
from gateway_memory.edge.phrases import Language, language_of, say
from gateway_memory.ground.holds import plain_of
from gateway_memory.sessions.session import Session
from gateway_memory.store.markdown import one_line
from gateway_memory.store.report import OF_SESSION, Requested
from gateway_memory.store.validity import Today, Validity
from gateway_memory.store.withheld import terms_of
from gateway_memory.sync.storage import Storage
from recall import Stored, render_block

_NOTE: Final = "For the assistant, about the memory itself."
_TOKENS: Final = 400
_LISTED: Final = 8
_LONGEST: Final = 120  # characters of a line
_ALONE: Final = frozenset[Act]({"forget_today", "forget_all", "not_note", "pause", "resume", "undo", "who_reads"})
"""What needs no memory to be told of."""
_HARMLESS: Final = frozenset[Act]({"recall", "who_reads", "undo", "resume"})


async def requested(  # noqa: PLR0911 - one return a request
    storage: Storage, session: Session, request: Request, message: str, today: Today
) -> tuple[Requested, str] | None:
    """Return what a message asks of the memory, and the block that tells the assistant of it.

    None where it only may ask something that changes nothing.

    Raises:
        StoreError, RecallError: the memories could not be read.
    """
    act, telling = request.act, _Telling(session, language_of(message))
    if not request.sure:
        return None if act in _HARMLESS else (Requested(act=act, sure=False), telling.block("perhaps"))
    if act in _ALONE:
        return Requested(act=act, sure=True, done=act in OF_SESSION), telling.block(act)
    if act == "forget_last":
        quotable = await storage.episodes.quotable(session.scope.key, [session.last_turn])
        said = (quotable.sides(session.last_turn, "past") if session.last_turn else None) or ()
        if not any(said):
            return Requested(act=act, sure=True), telling.block("what")
        text = _shortened(next(filter(None, said)))
        return Requested(act=act, sure=True, done=True), telling.block(act, text=text)
    validity = await storage.ledger.validity(session.scope.key, today)
    if act == "recall" and not terms_of(request.what):
        newest = await storage.recaller.newest(session.scope.key, _LISTED)
        total = await storage.recaller.count(session.scope.key)
        block = telling.block("recall" if total else "recall_nothing", _lines(newest, validity), total=total)
        return Requested(act=act, sure=True, ids=_ids(newest)), block
    near = await storage.recaller.nearest(session.scope.key, request.what or message, NEAREST)
    meant = memories_meant(request.what, near)
    rows = [meant.certain] if meant.certain else list(meant.possible)
    done = act == "forget" and bool(meant.certain or (not rows and terms_of(request.what)))
    found = Requested(act=act, sure=True, ids=_ids(rows), done=done)
    if act == "recall":  # what was found stands in the other blocks
        return found, ""
    if act == "correct":
        return found, telling.block("correct", _lines(rows, validity)) if rows else ""
    if meant.certain:
        return found, telling.block("forgets", text=meant.certain.entry.text)
    if rows:
        return found, telling.block("which", _lines(rows, validity))
    return found, telling.block("said", what=_named(request.what)) if done else telling.block("what")


async def question_due(storage: Storage, session: Session) -> str:
    """Return the block that lets the assistant ask once whether an older line still holds; "" for none.

    It counts as asked, so that no other session asks again.

    Raises:
        StoreError, RecallError: the memories could not be read.
    """
    ledger, scope = storage.ledger, session.scope.key
    for question in questions(ledger, scope):
        if question.stage != "ask":
            continue
        lines = await lines_of(storage.recaller, scope, question)
        if not await ledger.take_notice(scope, question.name) or lines is None:
            continue
        asked = replace(question, stage="asked", session_id=session.session_id, after=session.last_turn)
        await ledger.set_notice(scope, asked.name)
        newer, older = (_shortened(plain_of(line.entry.text)) for line in lines)
        return _Telling(session, language_of(older)).block("still", newer=newer, older=older)
    return ""


class _Telling:
    """Words a block in a language. session: whose commands it names."""

    def __init__(self, session: Session, language: Language) -> None:
        self._commands_as = session.commands_as
        self._language: Language = language

    def block(self, phrase: str, lines: Sequence[str] = (), **values: object) -> str:
        """Return a block: what is asked and what becomes of it, and the memories that it is about."""
        head = say(self._language, f"request_{phrase}", memory=self._commands_as, **values)
        return render_block("Memory Request", _NOTE, [head, *lines], _TOKENS)


def _ids(rows: Sequence[Stored]) -> tuple[str, ...]:
    return tuple(row.entry.id for row in rows)


def _lines(rows: Sequence[Stored], validity: Validity) -> list[str]:
    memories = told((row.entry for row in rows), validity, past=True)
    return [f"({each.id}) {_shortened(each.text)}" for each, _ in memories]


def _named(what: str) -> str:
    """Return the words of an object without those that tell nothing at its beginning: "killarney job"."""
    words = what.split()
    while len(words) > 1 and not terms_of(words[0]):
        words.pop(0)
    return " ".join(words)


def _shortened(text: str) -> str:
    line = one_line(text)
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…"
