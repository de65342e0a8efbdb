"""Which earlier exchanges are quotable, and as what."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from extractor import polarity, statements
from gateway_memory.edge.phrases import Language, language_of, say
from gateway_memory.sessions.session import Session
from gateway_memory.store.journal.episodes import Episodes, Quotable
from gateway_memory.store.journal.speakers import unnamed
from gateway_memory.store.markdown import one_line
from gateway_memory.store.validity import Today
from gateway_memory.sync.episodes import SPEAKERS, page_of
from recall import Hit, count_tokens, excerpt_of, passages_of

_LONGEST_SIDE: Final = 1200
"""Tokens of each side of an exchange in a search's hit."""
_ASKS_FOR_MORE: Final = re.compile(  # anywhere, or at its end
    r"？|\?(?!\w)"
    r"|(?:\btell me|\bshare|\bgo on|(?:[跟和]我|一起|[来愿想以]|随时).?(?:[讲说聊谈]|分享|倾诉)|告诉我|请[讲说]|说说看)"
    r"[^.。!！?？]{0,40}[.。!！]?\s*$",
    re.IGNORECASE,
)
_ASKS_BACK: Final = re.compile(r"[?？]\W*$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """The quotable text of a turn.

    hit: the passage that a search found. sides: the text of each of `SPEAKERS`, "" for nothing. side: the index of the
    one that has the passage. then: those of the next turn that complete this one: the user's answer, where the reply
    asks for one, and the reply to it, where the answer asks in turn. named: in a room, how the words of whoever says
    them begin: "Wang: ".
    """

    hit: Hit
    session_id: str
    sides: tuple[str, str]
    side: int
    then: tuple[str, ...] = ()
    named: str = ""

    @property
    def only_asks(self) -> bool:
        """Whether the passage is a question of the user's that tells nothing, and that the reply did not answer."""
        user, reply = self.sides
        answered = bool(statements(reply)) and polarity(reply) is not False
        return self.side == 0 and not (statements(user) or answered)

    def told(self, language: Language, side: int, text: str) -> str:
        """Return words with who says them."""
        speaker = SPEAKERS[side % len(SPEAKERS)]
        if self.named and speaker == SPEAKERS[0]:
            return text if text.startswith(self.named.strip()) else self.named + text
        return say(language, f"said_{speaker}", text=text)


async def quotable_for(episodes: Episodes, scope: str, hits: Iterable[Hit], today: Today) -> Quotable:
    """Return what may be quoted of the exchanges that were found, and what holds in their scope."""
    turns = {turn for hit in hits if hit.kind == "episode" for turn in (hit.turn, hit.turn + 1)}
    return await episodes.quotable(scope, sorted(turns), today)


def exchanges_of(quotable: Quotable, hits: Iterable[Hit], *, past: bool) -> list[Exchange]:
    """Return the exchange of each passage that was found, in their order.

    Left out is what may not be told. past: also what was replaced or is over is quoted.
    """
    exchanges = (_exchange(quotable, hit, past=past) for hit in hits if hit.kind == "episode")
    return [exchange for exchange in exchanges if exchange]


def _exchange(quotable: Quotable, hit: Hit, *, past: bool) -> Exchange | None:
    sides = quotable.sides(hit.turn, "past" if past else "quoted")
    side = 0 if hit.id.startswith(f"e{hit.turn}{SPEAKERS[0][0]}") else 1
    if sides is None or not sides[side]:
        return None
    episode = quotable.episodes[hit.turn]
    whole = sides == (episode.user.strip(), episode.reply.strip())
    passage = hit.text if whole else excerpt_of(sides[side], hit.text, count_tokens(hit.text) + 1)
    following = quotable.episodes.get(hit.turn + 1)
    then: tuple[str, ...] = ()
    goes_on = following and (following.session_id, following.speaker) == (episode.session_id, episode.speaker)
    if following and goes_on and _ASKS_FOR_MORE.search(sides[1]):
        answer, reply = quotable.sides(following.turn, "past" if past else "quoted") or ("", "")
        asks_back = bool(_ASKS_BACK.search(answer)) and len(passages_of(reply)) == 1
        then = (answer, reply) if asks_back else (answer,) if statements(answer) else ()
    return Exchange(
        hit=replace(hit, text=passage),
        session_id=episode.session_id,
        sides=sides,
        side=side,
        then=then,
        named=episode.user.removesuffix(unnamed(episode.user, episode.speaker)),
    )


def shown_exchanges(hits: Iterable[Hit], exchanges: Iterable[Exchange]) -> tuple[Hit, ...]:
    """Return hits with the exchanges in the place of their passages; a passage without an exchange is left out."""
    by_id = {exchange.hit.id: exchange for exchange in exchanges}
    return tuple(
        replace(hit, text=whole_text(by_id[hit.id])) if hit.id in by_id else hit
        for hit in hits
        if hit.kind != "episode" or hit.id in by_id
    )


def whole_text(exchange: Exchange) -> str:
    """Return both sides of an exchange in one line, with who says them."""
    language = language_of(" ".join(exchange.sides))
    said = [one_line(excerpt_of(side, exchange.hit.text, _LONGEST_SIDE)) for side in exchange.sides]
    return " ".join(exchange.told(language, side, text) for side, text in enumerate(said) if text)


def quotable_hit(quotable: Quotable, turn: int) -> Hit | None:
    """Return the quotable text of a turn, as a hit; None if there is none."""
    sides = quotable.sides(turn, "past")
    if sides is None:
        return None
    episode = quotable.episodes[turn]
    side = 0 if sides[0] else 1
    hit = Hit(
        id=f"e{turn}{SPEAKERS[side][0]}0",
        text=sides[side],
        score=1.0,
        at=episode.at,
        scope=episode.scope,
        file=page_of(turn),
        kind="episode",
        turn=turn,
        session=episode.session_key,
    )
    return replace(hit, text=whole_text(Exchange(hit=hit, session_id=episode.session_id, sides=sides, side=side)))


def not_in_context(session: Session, exchanges: Iterable[Exchange], *, again: bool) -> list[Exchange]:
    """Return the exchanges that the session's context does not contain. again: also those that were injected before."""
    return [
        exchange
        for exchange in exchanges
        if not (exchange.session_id == session.session_id and session.in_context.has_turn(exchange.hit.turn))
        and (again or not session.in_context.has(*mark_of(exchange)))
    ]


def mark_of(exchange: Exchange) -> tuple[str, str]:
    """Return by what the context knows an exchange."""
    return f"e{exchange.hit.turn}", ""
