"""Which conversation a request belongs to, and which message of it is new: by the client's id, or by its words."""

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from gateway_memory.ground.tables import tables_in
from gateway_memory.serving.proxy.forms import Body, Form, Said

_TABLE: Final = tables_in(__file__)("tasks")
_TASKS: Final = [pattern for _, pattern in _TABLE.compiled("tasks", flags=0)]
_CONTEXT: Final = [pattern for _, pattern in _TABLE.compiled("context", flags=0)]
_DIGEST: Final = 12
_MARKS: Final = 20
"""The newest exchanges of a request by which its conversation is looked for."""
_FIRST: Final = "0"
"""The place of a conversation's first message."""
_ALIKE: Final = 0.5
_LONGER: Final = 300
"""Characters by which a message may be longer than what it is compared with, which may be cut."""
_QUOTED_LEAST: Final = 24


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientMessage:
    """A message of the user. id: names it by the user's words up to it. at: its place in the request."""

    id: str
    at: int
    text: str

    @property
    def place(self) -> str:
        """Where it stands: after which words of the user."""
        return self.id.partition(".")[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A request of a conversation. messages: the user's, oldest first. is_new: whether the last one is its end.

    previous: the id of the reply on which it goes on, where the upstream stores the conversation; then the messages may
    be none. marks: by which its conversation is found, newest first. alone: whether nothing came before.
    begun: how its reply begins, where the client wants one that goes on from there.
    """

    messages: Sequence[ClientMessage]
    is_new: bool
    previous: str
    marks: Sequence[str]
    alone: bool
    begun: str


def digest(*parts: str) -> str:
    """Return a name for texts, as hexadecimal digits."""
    joined = "\0".join(parts).encode("utf-8", "replace")
    return hashlib.blake2b(joined, digest_size=_DIGEST).hexdigest()


def asked_of(form: Form, body: Body) -> Asked | None:
    """Return what a request asks, or None if no person speaks in it."""
    said, previous = form.said(body), form.previous(body)
    words = [each for each in said if each.role == "user"]
    if not (words or previous) or is_task(said):
        return None
    messages: list[ClientMessage] = []
    path = reply_mark(previous) if previous else ""
    for each in words:
        text = own_words(each.text)
        own = digest(path, text)
        messages.append(ClientMessage(id=f"{path or _FIRST}.{own}", at=each.at, text=text))
        path = own
    return Asked(
        messages=messages,
        is_new=said[-1].role == "user",
        previous=previous,
        marks=[reply_mark(previous)] if previous else _marks(said),
        alone=len(words) == 1 and not previous and all(each.role != "assistant" for each in said),
        begun=said[-1].text if said[-1].role == "assistant" else "",
    )


def is_task(said: Sequence[Said]) -> bool:
    """Return whether a request is a client's own, beside its conversation."""
    first = next((each for each in said if each.role == "system"), None)
    texts = [said[-1].text] if said and said[-1].role == "user" else []
    texts += [first.text] if first else []
    return any(pattern.match(text.lstrip()) for text in texts for pattern in _TASKS)


def quotes(text: str, exchange: tuple[str, str]) -> bool:
    """Return whether a message quotes an exchange, behind words of its own: then it is about it, and not in it."""
    user, reply = (side.strip() for side in exchange)
    at = text.find(user) if user else -1
    if at <= 0:
        return False
    return reply[:_QUOTED_LEAST] in text[at + len(user) :] if reply else len(user) >= _QUOTED_LEAST


def own_words(text: str) -> str:
    """Return a message without what a client has put around the words for this request alone."""
    for pattern in _CONTEXT:
        match = pattern.match(text)
        if match:
            text = text[match.end() :]
    return text.strip()


def exchange_mark(user: str, reply: str) -> str:
    """Return the mark of an exchange, by which the next request finds the conversation."""
    return digest("exchange", _plain(user), _plain(reply))


def reply_mark(identity: str) -> str:
    """Return the mark of a reply that an upstream stores."""
    return digest("reply", identity)


def begin_mark(user: str) -> str:
    """Return the mark of a conversation that has its first message alone."""
    return digest("begin", _plain(user))


def _marks(said: Sequence[Said]) -> list[str]:
    """Return the marks of the exchanges in a request, newest first."""
    spoken = [each for each in said if each.role in ("user", "assistant") and each.text.strip()]
    pairs = [(one, two) for one, two in pairwise(spoken) if (one.role, two.role) == ("user", "assistant")]
    return [exchange_mark(own_words(one.text), two.text) for one, two in reversed(pairs[-_MARKS:])]


def _plain(text: str) -> str:
    """Return a text as a client may send it back: without blanks at its ends, and without what a model thought."""
    return re.sub(r"(?s)\A\s*<(think|thinking|details)\b.*?</\1>", "", text).strip()


def replaced_by(message: ClientMessage, said: Mapping[str, str], *, first: bool) -> list[str]:
    """Return the ids of the messages whose place a new one takes: at the same place, and much the same words.

    One that says something else there is a branch, and both stay. said: how each message of the conversation begins.
    first: whether that counts for the first message, too.
    """
    if message.place == _FIRST and not first:
        return []
    there = (each for each in said if each.startswith(f"{message.place}.") and each != message.id)
    return [each for each in there if _is_alike(message.text[: len(said[each]) + _LONGER], said[each])]


def _is_alike(one: str, two: str) -> bool:
    """Return whether two texts differ in one part alone, which is not most of them."""
    longest = max(len(one), len(two))
    begin = _begin_alike(one, two)
    end = min(_begin_alike(one[::-1], two[::-1]), len(one) - begin, len(two) - begin)
    return longest > 0 and (begin + end) / longest >= _ALIKE


def _begin_alike(one: str, two: str) -> int:
    return next(
        (at for at, (left, right) in enumerate(zip(one, two, strict=False)) if left != right), min(len(one), len(two))
    )
