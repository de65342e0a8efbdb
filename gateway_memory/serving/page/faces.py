"""What scopes and conversations are called: by the name that a person or the host gave, else by what is known."""

import unicodedata
from collections.abc import Mapping, Sequence
from typing import Final
from urllib.parse import unquote

from gateway_memory.browsing.people import Face, People
from gateway_memory.edge.phrases import Language
from gateway_memory.edge.session_key import session_types
from gateway_memory.scope import OWNER_SCOPE, Scope
from gateway_memory.serving.page.portraits import hue_of, initial_of
from gateway_memory.serving.page.viewer import Values, Viewer
from gateway_memory.serving.page.words import word

_CHANNELS: Final[Mapping[str, tuple[str, str]]] = {
    "dingtalk": ("DingTalk", "钉钉"),
    "discord": ("Discord", "Discord"),
    "feishu": ("Feishu", "飞书"),
    "googlechat": ("Google Chat", "Google Chat"),
    "imessage": ("iMessage", "iMessage"),
    "irc": ("IRC", "IRC"),
    "lark": ("Lark", "Lark"),
    "line": ("LINE", "LINE"),
    "msteams": ("Teams", "Teams"),
    "openclaw": ("OpenClaw", "OpenClaw"),
    "qq": ("QQ", "QQ"),
    "sms": ("SMS", "短信"),
    "web": ("Web", "网页"),
    "webchat": ("Web chat", "网页聊天"),
    "wechat": ("WeChat", "微信"),
    "wecom": ("WeCom", "企业微信"),
    "whatsapp": ("WhatsApp", "WhatsApp"),
}
"""How channels are written in English and in Chinese, where that is not their name with a capital."""
_LONGEST_LABEL: Final = 60


def channel_label(channel: str, language: Language) -> str:
    """Return how a channel is written."""
    return _CHANNELS.get(channel.lower(), (channel.title(),) * 2)[language == "zh"]


def scope_label(scope: Scope, name: str, language: Language) -> str:
    """Return what a scope is called. name: the one that it was given, "" for none."""
    if name:
        return name
    if scope == OWNER_SCOPE:
        return word(language, "owner")
    channel, *rest = map(unquote, scope.name.split(":"))
    return " · ".join([channel_label(channel, language), rest[-1]]) if rest else channel


async def labels_of(people: People, scopes: Sequence[Scope], language: Language) -> Mapping[Scope, str]:
    """Return what scopes are called."""
    names = await people.names(scopes)
    return {scope: scope_label(scope, name, language) for scope, name in names.items()}


def talk_label(key: str, name: str, language: Language) -> str:
    """Return what a conversation is called. key: its session key. name: the one that it was given, "" for none."""
    if name:
        return name
    head, *parts = key.split(":")
    if head == "agent" and len(parts) > 1:
        if parts[1:] == ["main"]:
            return word(language, "talk_main")
        kind = next((each for each in session_types(key, OWNER_SCOPE) if f"talk_{each}" in _TALKS), "")
        if kind:
            channel = "" if parts[1] == kind or len(parts) < _WITH_CHANNEL else channel_label(parts[1], language)
            return word(language, f"talk_{kind}", channel=channel).strip()
    return key if len(key) <= _LONGEST_LABEL else f"{key[:_LONGEST_LABEL]}…"


_TALKS: Final = frozenset({"talk_direct", "talk_group", "talk_thread", "talk_cron"})
_WITH_CHANNEL: Final = 4
"""Parts of a key behind "agent" that has a channel: the agent, the channel, the kind and the chat."""

_A_PAGE: Final = 30
_MOST_SKIPPED: Final = 100_000


async def people(viewer: Viewer) -> Values:
    """Whose memories there are, the owner's first, then by when something was said last. q: a part of their names."""
    skipped = viewer.number("skip", most=_MOST_SKIPPED)
    everybody = viewer.memory.browsing.people
    scopes = await everybody.scopes()
    total, wanted = len(scopes), viewer.query.get("q", "").strip()
    if wanted:
        called = await labels_of(everybody, scopes, viewer.language)
        scopes = [scope for scope in scopes if folded(wanted) in folded(f"{called[scope]} {scope.name}")]
    faces = await everybody.faces(scopes[skipped : skipped + _A_PAGE])
    linked = [face.linked for face in faces if face.linked]
    labels = await labels_of(everybody, [*(face.scope for face in faces), *linked], viewer.language)
    older = viewer.link("/people", q=wanted, skip=skipped + _A_PAGE) if len(scopes) > skipped + _A_PAGE else ""
    return {
        "faces": faces,
        "labels": labels,
        "detail": detail_of,
        "initial_of": initial_of,
        "hue_of": hue_of,
        "older": older,
        "wanted": wanted,
        "many": total > _A_PAGE,
    }


def detail_of(face: Face, language: Language) -> str:
    """Return what a card says beside a name: where somebody writes, if the name does not tell."""
    channel, *rest = map(unquote, face.scope.name.split(":")) if face.scope != OWNER_SCOPE else ("",)
    if rest:
        return f"{channel_label(channel, language)} · {rest[-1]}" if face.name else ""
    return channel if face.name and channel != face.name else ""


def folded(text: str) -> str:
    """Return a text without what does not count where names are compared."""
    return " ".join(unicodedata.normalize("NFC", text).casefold().split())
