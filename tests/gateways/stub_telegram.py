"""Telegram's Bot API on loopback: people write into chats, and what the bot sends is recorded."""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from itertools import count
from threading import Condition
from typing import Any
from urllib.parse import parse_qs, urlsplit

from loopback import send, serving

BOT = {"id": 999, "is_bot": True, "first_name": "Bot", "username": "stub_bot", "can_join_groups": True}
_LONG_POLL_SECONDS = 1.0


@dataclass(frozen=True, kw_only=True)
class Sent:
    """What the bot sent into a chat."""

    chat: int
    text: str
    at: float


@dataclass
class StubTelegram:
    """The chats of one bot."""

    sent: list[Sent] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)
    port: int = 0
    _updates: list[dict[str, Any]] = field(default_factory=list)
    _numbers: Iterator[int] = field(default_factory=lambda: count(1))
    _changed: Condition = field(default_factory=Condition)

    def write(self, sender: int, text: str, *, group: int | None = None, quoting: str = "") -> None:
        """Let somebody write to the bot, in a direct chat or in a group. quoting: the bot's text that it replies to."""
        person = {"id": sender, "is_bot": False, "first_name": f"Person {sender}", "username": f"person{sender}"}
        chat = {"id": sender, "type": "private", "first_name": person["first_name"]}
        if group is not None:
            chat = {"id": group, "type": "supergroup", "title": "Friends"}
        message: dict[str, Any] = {
            "message_id": next(self._numbers),
            "date": int(time.time()),
            "from": person,
            "chat": chat,
            "text": text,
        }
        if quoting:
            quoted = {"message_id": next(self._numbers), "date": message["date"], "chat": chat, "from": BOT}
            message["reply_to_message"] = {**quoted, "text": quoting}
        if text.startswith("/"):
            message["entities"] = [{"type": "bot_command", "offset": 0, "length": len(text.split(maxsplit=1)[0])}]
        with self._changed:
            self._updates.append({"update_id": next(self._numbers), "message": message})
            self._changed.notify_all()

    def reply(self, chat: int, *, after: int = 0, within: float = 30) -> str:
        """Wait for the next message into a chat after the given number of messages, and return its text."""
        with self._changed:
            self._changed.wait_for(lambda: len(self._into(chat)) > after, within)
            found = self._into(chat)
        assert len(found) > after, f"no reply into {chat} within {within} s; calls: {self.calls[-20:]}"
        return found[after].text

    def ask(self, sender: int, text: str, *, group: int | None = None, within: float = 30, quoting: str = "") -> str:
        """Write, and wait for the bot's next message into that chat."""
        chat = sender if group is None else group
        before = len(self._into(chat))
        self.write(sender, text, group=group, quoting=quoting)
        return self.reply(chat, after=before, within=within)

    def _into(self, chat: int) -> list[Sent]:
        return [each for each in self.sent if each.chat == chat]

    def respond(self, handler: BaseHTTPRequestHandler, body: dict[str, Any]) -> None:
        url = urlsplit(handler.path)
        method = url.path.rpartition("/")[2]
        fields = {name: values[-1] for name, values in parse_qs(url.query).items()}
        fields |= {name: values[-1] for name, values in parse_qs(body.get("raw", "")).items()}
        fields |= {name: value for name, value in body.items() if name != "raw"}
        if method != "getUpdates":
            self.calls.append(method)
        result: Any = True
        if method == "getMe":
            result = BOT
        elif method == "getUpdates":
            result = self._poll(int(fields.get("offset") or 0), float(fields.get("timeout") or 0))
        elif method in ("sendMessage", "editMessageText", "sendRichMessage"):
            result = self._keep(fields)
        elif method == "getChat":
            result = {"id": int(fields["chat_id"]), "type": "private"}
        elif method == "getWebhookInfo":
            result = {"url": "", "has_custom_certificate": False, "pending_update_count": 0}
        elif method in ("getMyCommands", "getUserProfilePhotos"):
            result = []
        send(handler, {"ok": True, "result": result})

    def _poll(self, offset: int, timeout: float) -> list[dict[str, Any]]:
        def waiting() -> list[dict[str, Any]]:
            return [each for each in self._updates if each["update_id"] >= offset]

        with self._changed:
            self._changed.wait_for(lambda: bool(waiting()), min(timeout, _LONG_POLL_SECONDS))
            return waiting()

    def _keep(self, fields: dict[str, Any]) -> dict[str, Any]:
        chat = int(fields["chat_id"])
        text = str(fields.get("text") or json.dumps(fields.get("message", "")))
        with self._changed:
            self.sent.append(Sent(chat=chat, text=text, at=time.monotonic()))
            number = next(self._numbers)
            self._changed.notify_all()
        kind = "private" if chat > 0 else "supergroup"
        return {"message_id": number, "date": int(time.time()), "chat": {"id": chat, "type": kind}, "text": text}


@contextmanager
def stub_telegram() -> Iterator[StubTelegram]:
    """Serve a stub of the Bot API until the block ends."""
    telegram = StubTelegram()
    with serving(telegram.respond) as telegram.port:
        yield telegram
