"""The messages between gateways: their kinds, and how they are written, read and verified. Sans I/O; docs/mqtt.md."""

import hashlib
import hmac
import json
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from notifier.events import Event, MemoryChange
from notifier.messages import Ask, DroppedError, EventMessage, Gone, Hello, Message

MAX_PAYLOAD_BYTES: Final = 256 * 1024
VERSION: Final = 1
ROOT: Final = "gateway-memory/1"
SKEW_SECONDS: Final = 300
"""How far two machines' clocks may differ; also the greatest age of a message that requests something."""
_MAX_TEXT: Final = 4000
_TOLD_OF_REMOVED: Final = "…"
"""Stands for the text of a removed memory: a receiver drops a message with an empty text, and waits for its number."""
_MAX_NAMES: Final = 1024
_LARGEST: Final = 2**53 - 1
_INSTANCE: Final = re.compile(r"[0-9a-f]{16}\.\d{1,4}")
_ID: Final = re.compile(r"[a-z0-9]{1,32}")
_SHORTEST_SECRET: Final = 16


def read_secrets(text: str) -> dict[str, bytes]:
    """Return the secrets of an environment variable by key id. The first one signs.

    `new:…,old:…` names two, for a rotation; one without a colon has the key id "0". No secret holds a comma.

    Raises:
        ValueError: a secret is shorter than 16 bytes, a key id is given twice, or there is none. It quotes no secret.
    """
    secrets: dict[str, bytes] = {}
    for entry in text.strip().split(","):
        name, colon, value = entry.strip().partition(":")
        key, secret = (name, value.encode()) if colon else ("0", name.encode())
        if len(secret) < _SHORTEST_SECRET:
            raise ValueError(f"expected secrets of at least {_SHORTEST_SECRET} bytes, found one of {len(secret)}")
        if key in secrets or not re.fullmatch(r"[A-Za-z0-9_-]{1,32}", key):
            raise ValueError("expected key ids that differ, each of up to 32 letters, digits, - and _")
        secrets[key] = secret
    return secrets


def scope_hash(workspace: str, scope: str) -> str:
    """Return a scope's name in topics, from which no person's name can be read."""
    return hashlib.blake2b(scope.encode(), key=workspace.encode(), digest_size=8).hexdigest()


def canonical(fields: Mapping[str, Any]) -> bytes:
    """Return the canonical form of a message."""
    text = json.dumps(fields, ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return text.encode()


class Wire:
    """Writes and reads the messages of one instance.

    workspace: the id that stands in topics. secrets: by key id, the first signs; empty: nothing is signed.
    trust_broker: accept unsigned messages, and send texts unsigned. oldest_seconds: how old an event may be when it
    arrives.
    """

    def __init__(
        self,
        *,
        workspace: str,
        instance: str,
        secrets: Mapping[str, bytes],
        trust_broker: bool,
        oldest_seconds: float,
    ) -> None:
        self.workspace = workspace
        self.instance = instance
        self.sends_text = bool(secrets) or trust_broker
        self._secrets = dict(secrets)
        self._signs = next(iter(self._secrets), "")
        self._trust_broker = trust_broker
        self._oldest_seconds = oldest_seconds

    @property
    def filters(self) -> tuple[str, ...]:
        """The topics that an instance subscribes to."""
        return (
            self._topic("+", "changed"),
            self._topic("all", "hello"),
            self._topic(self.instance.partition(".")[0], "ask"),
            self._topic(self.instance, "again"),
        )

    def _topic(self, place: str, kind: str) -> str:
        return f"{ROOT}/{self.workspace}/{place}/{kind}"

    # Writing: each returns the topic and the payload

    def changed(self, event: Event, now: float, *, to: str = "") -> tuple[str, bytes]:
        """Announce an event, or send it again `to` the instance that requested it."""
        scope = scope_hash(self.workspace, event.scope)
        changes: list[dict[str, Any]] = [{"id": change.id, "action": change.action} for change in event.changes]
        fields: dict[str, Any] = {"origin": event.origin, "number": event.number, "at": _ms(event.at), "scope": scope}
        if self.sends_text:
            fields["name"] = event.scope
            for change, described in zip(event.changes, changes, strict=True):
                by_hand = {"by_hand": True} if change.by_hand else {}
                text = _TOLD_OF_REMOVED if change.action == "removed" else change.text
                described |= {"text": text, "at": _ms(change.at), "replaces": change.replaces, **by_hand}
        topic = self._topic(to, "again") if to else self._topic(scope, "changed")
        return topic, self._seal("changed", fields | {"changes": changes}, now)

    def hello(self, heads: Mapping[str, int], now: float, *, want: bool) -> tuple[str, bytes]:
        """Tell the last event number of each origin of this journal. want: ask the others for theirs."""
        return self._topic("all", "hello"), self._seal("hello", {"heads": dict(heads), "want": want}, now)

    def ask(self, origin: str, first: int, last: int, now: float) -> tuple[str, bytes]:
        """Request missing events."""
        place = origin.partition(".")[0]
        return self._topic(place, "ask"), self._seal("ask", {"origin": origin, "first": first, "last": last}, now)

    def gone(self, origin: str, upto: int, now: float, *, to: str) -> tuple[str, bytes]:
        """Tell an instance that the requested events up to a number were deleted."""
        return self._topic(to, "again"), self._seal("gone", {"origin": origin, "upto": upto}, now)

    def _seal(self, kind: str, fields: Mapping[str, Any], now: float) -> bytes:
        whole = {"v": VERSION, "kind": kind, "workspace": self.workspace, "sender": self.instance, "sent": _ms(now)}
        whole |= fields
        if self._signs:
            whole["key"] = self._signs
            whole["mac"] = self._mac(self._signs, whole)
        return canonical(whole)

    def _mac(self, key: str, fields: Mapping[str, Any]) -> str:
        return hmac.new(self._secrets[key], canonical(fields), hashlib.sha256).hexdigest()

    # Reading

    def read(self, topic: str, payload: bytes, now: float) -> Message:
        """Return the message, verified.

        Raises:
            DroppedError: with the reason, and no part of the message.
        """
        match topic.split("/"):
            case ["gateway-memory", "1", self.workspace, place, kind]:
                pass
            case _:
                raise DroppedError("workspace")
        if len(payload) > MAX_PAYLOAD_BYTES:
            raise DroppedError("oversized")
        fields = _parse(payload)
        trusted = self._believe(fields)
        try:
            return self._message(fields, place, kind, now, trusted=trusted)
        except (KeyError, TypeError, ValueError) as error:
            raise DroppedError("malformed") from error

    def _believe(self, fields: dict[str, Any]) -> bool:
        """Return whether a message is trusted. Raises DroppedError where its signature is wrong or missing."""
        mac, key = fields.pop("mac", None), fields.get("key")
        if not self._secrets:
            return self._trust_broker
        if mac is None:
            raise DroppedError("unsigned")
        if not isinstance(key, str) or key not in self._secrets or not isinstance(mac, str):
            raise DroppedError("forged")
        try:
            expected = self._mac(key, fields)
        except ValueError as error:  # a lone surrogate can't be written as UTF-8
            raise DroppedError("malformed") from error
        if not hmac.compare_digest(expected.encode(), mac.encode("utf-8", "replace")):
            raise DroppedError("forged")
        return True

    def _message(self, fields: Mapping[str, Any], place: str, kind: str, now: float, *, trusted: bool) -> Message:
        _whole(fields["v"], 1)
        if fields["workspace"] != self.workspace:
            raise DroppedError("workspace")
        sender = _match(_INSTANCE, fields["sender"])
        if sender == self.instance:
            raise DroppedError("echo")
        kind_of_message = fields["kind"]
        if kind_of_message != kind and not (kind == "again" and kind_of_message in ("changed", "gone")):
            raise ValueError(kind)
        age = now - _whole(fields["sent"]) / 1000
        if not -SKEW_SECONDS <= age <= (self._oldest_seconds if kind_of_message == "changed" else SKEW_SECONDS):
            raise DroppedError("stale")
        of: dict[str, Any] = {"sender": sender, "trusted": trusted}
        if kind_of_message == "hello":
            heads = {_match(_INSTANCE, origin): _whole(number) for origin, number in _items(fields["heads"])}
            return Hello(**of, heads=heads, want=fields["want"] is True)
        of["origin"] = _match(_INSTANCE, fields["origin"])
        if kind_of_message == "changed":
            return self._changed(fields, place if kind == "changed" else "", now, of)
        if kind_of_message == "ask":
            return Ask(**of, first=_whole(fields["first"], 1), last=_whole(fields["last"], 1))
        return Gone(**of, upto=_whole(fields["upto"], 1))

    def _changed(self, fields: Mapping[str, Any], place: str, now: float, of: dict[str, Any]) -> EventMessage:
        """Return the message of an event. of: the values that all messages about an origin have."""
        scope, at = fields["scope"], _whole(fields["at"]) / 1000
        message = EventMessage(**of, number=_whole(fields["number"], 1))
        if place and place != scope:
            raise ValueError(place)
        if not -SKEW_SECONDS <= now - at <= self._oldest_seconds:
            return replace(message, stale=True)  # its number still counts: later events must not wait for it
        changes = fields["changes"]
        if not isinstance(changes, list) or not 0 < len(changes) <= _MAX_NAMES:
            raise ValueError("changes")
        ids = [_match(_ID, change["id"]) for change in changes]
        message = replace(message, count=len(ids))
        if "name" not in fields or not message.trusted:
            return message
        name = _line(fields["name"])
        if scope_hash(self.workspace, name) != scope:
            raise ValueError("scope")
        described = tuple(_change(identity, change) for identity, change in zip(ids, changes, strict=True))
        event = Event(scope=name, at=at, changes=described, origin=message.origin, number=message.number)
        return replace(message, event=event)


def _parse(payload: bytes) -> dict[str, Any]:
    try:
        fields = json.loads(payload, object_pairs_hook=_unique, parse_float=_refuse, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise DroppedError("malformed") from error
    if not isinstance(fields, dict):
        raise DroppedError("malformed")
    return fields


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise ValueError("a key is given twice")
    return fields


def _refuse(text: str) -> float:
    raise ValueError(f"no integer ({len(text)} characters)")


def _ms(at: float) -> int:
    return round(at * 1000)


def _whole(value: object, least: int = 0) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= _LARGEST:
        raise ValueError("number")
    return value


def _match(pattern: re.Pattern[str], value: object) -> str:
    if not isinstance(value, str) or not pattern.fullmatch(value):
        raise ValueError("name")
    return value


def _items(value: object) -> list[tuple[object, object]]:
    if not isinstance(value, dict) or len(value) > _MAX_NAMES:
        raise ValueError("object")
    return list(value.items())


def _line(value: object) -> str:
    """Return a text that is valid in a memory: one line, printable, not too long."""
    if not isinstance(value, str) or not value.strip() or len(value) > _MAX_TEXT:
        raise ValueError("text")
    if any(unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp") for character in value):
        raise ValueError("text")
    return value


def _change(identity: str, fields: Mapping[str, Any]) -> MemoryChange:
    action, replaces = fields["action"], fields["replaces"]
    if action not in ("added", "removed"):
        raise ValueError("action")
    return MemoryChange(
        id=identity,
        text="" if action == "removed" else _line(fields["text"]),
        at=_whole(fields["at"]) / 1000,
        action=action,
        replaces=_match(_ID, replaces) if replaces else "",
        by_hand=fields.get("by_hand") is True,
    )
