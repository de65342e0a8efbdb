"""What the assistant is told of a request about the memory itself, and what becomes of it after the reply."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from extractor import Act
from gateway_memory.capture.reader import NEAREST
from gateway_memory.capture.requests import Request, memories_meant
from gateway_memory.context.blocks import told
from gateway_memory.edge.phrases import language_of, say
from gateway_memory.session import Session
from gateway_memory.store.markdown import one_line
from gateway_memory.store.validity import Today, Validity
from gateway_memory.store.withheld import terms_of
from gateway_memory.sync.follower import Storage
from recall import Stored, render_block

_NOTE: Final = "For the assistant, about the memory itself."
_TOKENS: Final = 400
_LISTED: Final = 8
_LONGEST: Final = 120  # characters of a line
_ALONE: Final = frozenset[Act]({"forget_today", "forget_all", "not_note", "pause", "resume", "undo", "who_reads"})
"""What needs no memory to be told of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Requested:
    """What a message asks of the memory itself, as the assistant is told it.

    act: what is asked. sure: whether it is; if not, the assistant asks. ids: the memories that are meant, or may be.
    done: whether it is carried out by the turn's `after_reply`; what is not waits for an answer or a command.
    """

    act: Act
    sure: bool
    ids: tuple[str, ...] = ()
    done: bool = False


async def requested(storage: Storage, session: Session, request: Request, message: str, today: Today) -> tuple[Requested, str]:
    """Return what a message asks of the memory, and the block that tells the assistant of it.

    Raises:
        StoreError, RecallError: the memories could not be read.
    """
    act, language = request.act, language_of(message)

    def block(phrase: str, lines: Sequence[str] = (), **values: object) -> str:
        head = say(language, f"request_{phrase}", memory=session.commands_as, **values)
        return render_block("Memory Request", _NOTE, [head, *lines], _TOKENS)

    if not request.sure:
        return Requested(act=act, sure=False), block("perhaps")
    if act in _ALONE:
        return Requested(act=act, sure=True, done=act in ("not_note", "pause", "resume")), block(act)
    if act == "forget_last":
        quotable = await storage.episodes.quotable(session.scope.key, [session.last_turn])
        sides = quotable.sides(session.last_turn, past=True) if session.last_turn else None
        if sides is None:
            return Requested(act=act, sure=True), block("what")
        return Requested(act=act, sure=True, done=True), block("last", text=_shortened(sides[0] or sides[1]))
    recaller, scope = storage.recaller, session.scope.key
    validity = await storage.ledger.validity(scope, today)
    if not terms_of(request.what) and act == "recall":
        newest = await recaller.newest(scope, _LISTED)
        lines, total = _lines(newest, validity), await recaller.count(scope)
        ids = tuple(row.entry.id for row in newest)
        return Requested(act=act, sure=True, ids=ids), block("recall" if total else "recall_nothing", lines, total=total)
    near = await recaller.nearest(scope, request.what or message, NEAREST)
    meant = memories_meant(request.what, near)
    rows = [meant.certain] if meant.certain else list(meant.possible)
    ids = tuple(row.entry.id for row in rows)
    if act == "recall":  # what was found stands in the other blocks
        return Requested(act=act, sure=True, ids=ids), ""
    if act == "correct":
        return Requested(act=act, sure=True, ids=ids), block("correct", _lines(rows, validity)) if rows else ""
    if meant.certain:
        return Requested(act=act, sure=True, ids=ids, done=True), block("forgets", text=meant.certain.entry.text)
    if rows:
        return Requested(act=act, sure=True, ids=ids), block("which", _lines(rows, validity))
    if terms_of(request.what):
        return Requested(act=act, sure=True, done=True), block("said", what=request.what)
    return Requested(act=act, sure=True), block("what")


def _lines(rows: Sequence[Stored], validity: Validity) -> list[str]:
    memories = told((row.entry for row in rows), validity, past=True)
    return [f"({each.id}) {_shortened(each.text)}" for each, _ in memories]


def _shortened(text: str) -> str:
    line = one_line(text)
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…"
