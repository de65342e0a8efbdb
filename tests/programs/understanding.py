"""What is kept of one message, as the product does it: rules, heads and what parts of it do. Without a store."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache

from extractor import (
    TOLD_BESIDE,
    Act,
    Candidate,
    Meaning,
    Part,
    SummaryInput,
    Turn,
    as_taken_back,
    asked_for,
    asked_of_memory,
    bare,
    clauses_of,
    does_of,
    extract_rules,
    frame_of,
    may_ask_in_clause,
    meaning_of,
    parts_of,
    runs_of,
    sentences_of_user,
    told_in_part,
    understood,
    with_one_wish,
    with_unread,
)
from recall.encoding.encoder import BundledEncoder, bundled_encoder


@cache
def _bundled() -> BundledEncoder:
    return bundled_encoder()  # which is loaded anew where nobody holds it


@cache
def vector_of(text: str) -> Sequence[float]:
    """The bundled encoder's vector of a text."""
    vector: list[float] = _bundled().encode([text])[0].tolist()
    return vector


@cache
def told(text: str, encoder: str = "") -> Meaning | None:
    """What a line tells. encoder: another one's name, of whose vectors nothing is known."""
    return meaning_of(text, vector_of(text), encoder or _bundled().name)


def telling(given: SummaryInput) -> SummaryInput:
    """A summary's input with those of the user's sentences that tell something."""
    return replace(
        given, telling=[text for text in sentences_of_user(given) if (meaning := told(text)) and meaning.tells]
    )


@cache
def does(part: str, encoder: str = "") -> Part | None:
    """What a part of a message does to the others."""
    return does_of(_line(part), vector_of(bare(_line(part))), encoder or _bundled().name)


def asked(message: str) -> tuple[Act | None, bool]:
    """What a message asks of the memory itself, and whether surely."""
    whole = told(_line(message))
    if whole is None:
        return None, False
    clauses = clauses_of(_line(message)) if whole.asks or may_ask_in_clause(whole) else []
    return asked_of_memory(whole, [told(part) for part in dict.fromkeys(clauses[:1] + clauses[-1:])])


def kept(message: str, *, encoder: str = "") -> list[Candidate]:
    """What is kept of a message that may ask something of the memory, too."""
    turn = Turn(id=1, user=message, reply="", at=datetime(2026, 1, 5, tzinfo=UTC))
    found: list[Candidate | None] = []
    whole = told(frame_of(message), encoder)
    candidates = with_unread(turn, extract_rules(turn))
    for each in candidates:
        content, sentence = _line(each.content), _line(each.sentence or each.content)
        candidate = understood(each, told(content, encoder), told(sentence, encoder), whole)
        if "part" in each.only_as and (candidate is None or candidate.only_as):
            runs = runs_of(sentence, told(sentence, encoder))
            candidate = told_in_part(each, whole, {run: told(run, encoder) for run in runs}) or candidate
        found.append(candidate)
    found = with_one_wish(candidates, found)
    if any(found) and (parts := parts_of(message)):
        found = as_taken_back(
            found, message, [(part, does(message[part.start : part.stop], encoder)) for part in parts]
        )
    lines = [each for each in found if each and not each.only_as]
    return [replace(each, content=asked_for(each.content)) if each.explicit else each for each in lines]


def remembered(message: str) -> list[Candidate]:
    """What is kept of a message; nothing of one that only asks something of the memory itself."""
    act, sure = asked(message)
    return [] if sure and act not in TOLD_BESIDE else kept(message)


def _line(text: str) -> str:
    return " ".join(text.split())
