"""`/memory review`, `approve` and `reject`: memories that wait until a person approves them."""

import re
from collections.abc import Sequence
from functools import partial
from typing import Any, Final

from gateway_memory.commands.answers import NotDone, as_id, for_each, ids_in, iso_time, phrase, shown
from gateway_memory.commands.command import CommandPorts
from gateway_memory.edge.content import as_query
from gateway_memory.scope import OWNER_KEY, Scope
from gateway_memory.sessions.session import Session
from gateway_memory.store.markdown import one_line
from gateway_memory.store.reviewed import Review

_LISTED: Final = 20
_ALL: Final = frozenset({"all", "全部"})
_LOOKS_LIKE_ID: Final = re.compile(r"(?=.*\d)[a-z2-7]{8}")
"""An id, and hardly a word in which a memory is to be kept: it has a digit."""
_FOR_GOOD: Final = frozenset({"never", "for good", "不再问", "别再问"})


async def review(ports: CommandPorts, session: Session, words: str) -> str:
    """Answer with the memories that wait for the speaker, oldest first. words: only what contains them."""
    reviews = (await review_record(ports, session, words))["reviews"]
    if not reviews:
        return phrase(session, "review_none")
    lines = [phrase(session, "review_title", number=len(reviews))]
    for each in reviews[:_LISTED]:
        reason = phrase(session, f"review_{each['reason']}", text=each["against_text"])
        whose = "" if each["scope"] == session.scope.key else f" ({shown(each['scope'])})"
        lines += [f"- {each['id']} · {each['at'][:10]} · {each['text']}", f"  {reason}{whose}"]
    if len(reviews) > _LISTED:
        lines.append(phrase(session, "digest_more", number=len(reviews) - _LISTED))
    return "\n".join([*lines, phrase(session, "review_how")])


async def review_record(ports: CommandPorts, session: Session, words: str) -> dict[str, Any]:
    """Return the memories that wait for the speaker as JSON, oldest first. words: only what contains them."""
    return {
        "reviews": [
            {
                "id": each.memory.id,
                "text": each.memory.text,
                "reason": each.reason,
                "scope": each.scope,
                "at": iso_time(each.memory.at, ports.memory.zone),
                "since": iso_time(each.at, ports.memory.zone),
                "quote": each.memory.quote,
                "turn": each.memory.turn,
                "category": each.memory.category,
                "against": each.against,
                "against_text": await _line_of(ports, each),
            }
            for each in await _waiting(ports, session, words)
        ]
    }


async def approve(ports: CommandPorts, session: Session, rest: str) -> str:
    """Keep what waits. rest: ids or "all"; or an id and the words in which it is kept."""
    identity, _, typed = rest.strip().partition(" ")
    text = one_line(as_query(typed).text)
    if not identity or (typed.strip() and not text):
        raise NotDone(phrase(session, "approve_usage"))
    if await _are_ids(ports, session, ids_in(typed)):
        return await for_each(ids_in(rest), partial(_approve, ports, session))
    return await _approve(ports, session, identity, text=text)


async def _approve(ports: CommandPorts, session: Session, identity: str, *, text: str = "") -> str:
    lines = []
    for waiting in await _named(ports, session, identity):
        done = await ports.changes.approve(_scope(waiting), waiting.memory.id, text=text)
        if done is None:
            raise NotDone(phrase(session, "review_unknown", id=shown(identity)))
        name = "approved_known" if done.action == "skipped" else "approved"
        lines.append(phrase(session, name, text=done.text, id=done.id))
    return "\n".join(lines)


async def reject(ports: CommandPorts, session: Session, rest: str) -> str:
    """Do not keep what waits. rest: ids or "all", and maybe "never", so that nothing alike waits again."""
    typed = " ".join(rest.split())
    how = next((words for words in _FOR_GOOD if typed.lower().endswith(f" {words}")), "")
    identities = ids_in(typed[: len(typed) - len(how)])
    if not identities or not await _are_ids(ports, session, identities[1:]):
        raise NotDone(phrase(session, "reject_usage"))
    return await for_each(identities, partial(_reject, ports, session, for_good=bool(how)))


async def _reject(ports: CommandPorts, session: Session, identity: str, *, for_good: bool) -> str:
    lines = []
    for waiting in await _named(ports, session, identity):
        if await ports.changes.reject(_scope(waiting), waiting.memory.id, for_good=for_good) is None:
            raise NotDone(phrase(session, "review_unknown", id=shown(identity)))
        lines.append(phrase(session, "rejected_for_good" if for_good else "rejected", text=waiting.memory.text))
    return "\n".join(lines)


async def _are_ids(ports: CommandPorts, session: Session, words: Sequence[str]) -> bool:
    """Return whether all that is behind an id are further ids. One that waits makes ids of the others."""
    waiting = {review.memory.id for review in await _waiting(ports, session)}
    return bool(waiting.intersection(words)) or all(map(_LOOKS_LIKE_ID.fullmatch, words))


async def _waiting(ports: CommandPorts, session: Session, words: str = "") -> Sequence[Review]:
    """Return the reviews that wait in the session's scope; for the owner also those about the owner."""
    reviews = await ports.storage.reviews.waiting(session.scope.key)
    if session.scope.key == OWNER_KEY:
        reviews += await ports.storage.reviews.of_owner()
    sought = words.casefold().split()
    return [each for each in reviews if all(word in each.memory.text.casefold() for word in sought)]


async def _named(ports: CommandPorts, session: Session, identity: str) -> Sequence[Review]:
    """Return the reviews of an id or of "all" that the speaker may decide.

    Raises:
        NotDone: there is none, or only the owner may decide.
    """
    named = as_id(identity)
    reviews = [each for each in await _waiting(ports, session) if named in (each.memory.id, *_ALL)]
    if not reviews:
        raise NotDone(phrase(session, "review_unknown", id=shown(identity)))
    if named in _ALL:
        reviews = [each for each in reviews if each.scope == session.scope.key and _may_decide(ports, session, each)]
    elif not _may_decide(ports, session, reviews[0]):
        raise NotDone(phrase(session, "review_of_owner"))
    return reviews


def _may_decide(ports: CommandPorts, session: Session, review: Review) -> bool:
    """Return whether the speaker may decide. What a guest says about the owner, the guest can't approve."""
    if session.scope.kind.is_shared and not ports.sender.may_change(review.memory.speaker):
        return False
    return review.reason != "about_owner" or session.scope.key == OWNER_KEY or session.detached


async def _line_of(ports: CommandPorts, review: Review) -> str:
    """Return the text of the line that a candidate contradicts, "" for none."""
    if not review.against:
        return ""
    stored = await ports.storage.recaller.get(review.scope, review.against)
    return stored.entry.text if stored else ""


def _scope(review: Review) -> Scope:
    return Scope.parse(review.scope)
