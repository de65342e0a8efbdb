"""The pages of people, groups and projects: what each is called, what it has, and its deletion with proof."""

import asyncio
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final
from urllib.parse import unquote

from gateway_memory.commands.people import Face, People
from gateway_memory.edge.phrases import Language
from gateway_memory.edge.session_key import session_types
from gateway_memory.scope import OWNER_SCOPE, Scope
from gateway_memory.serving.page.portraits import hue_of, initial_of
from gateway_memory.serving.page.viewer import Values, Viewer, word
from gateway_memory.transfer.deletion import Deletion, Proof

# What scopes and conversations are called: by the name that a person or the host gave, else by what their keys tell.

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
        scopes = [scope for scope in scopes if _folded(wanted) in _folded(f"{called[scope]} {scope.name}")]
    faces = await everybody.faces(scopes[skipped : skipped + _A_PAGE])
    linked = [face.linked for face in faces if face.linked]
    labels = await labels_of(everybody, [*(face.scope for face in faces), *linked], viewer.language)
    older = viewer.link("/people", q=wanted, skip=skipped + _A_PAGE) if len(scopes) > skipped + _A_PAGE else ""
    return {
        "faces": faces,
        "labels": labels,
        "detail": _detail,
        "initial_of": initial_of,
        "hue_of": hue_of,
        "older": older,
        "wanted": wanted,
        "many": total > _A_PAGE,
    }


def _detail(face: Face, language: Language) -> str:
    """Return what a card says beside a name: where somebody writes, if the name does not tell."""
    channel, *rest = map(unquote, face.scope.name.split(":")) if face.scope != OWNER_SCOPE else ("",)
    if rest:
        return f"{channel_label(channel, language)} · {rest[-1]}" if face.name else ""
    return channel if face.name and channel != face.name else ""


# Deletion, which says in words what goes, is confirmed by typing a name, and is proved.

_PLACES: Final[Mapping[str, str]] = {
    place: group
    for group, places in {
        "memories": "memories history uses uses_read feedback changes receipts reviews marks session_memories noticed",
        "conversations": "sessions turns replies episodes episode_pages observations plans saved_sessions "
        "session_logs told transcript_messages shown_memories",
        "files": "files documents record_files",
        "index": "index row vector vector_2 removed file large large_block large_word scope",
        "names": "names links link_items link_codes link_tries",
    }.items()
    for place in places.split()
}
"""Where something of a scope is stored, as `Deletion` names it, by what the page calls it; anything else is "other"."""


def by_group(counts: Mapping[str, int]) -> Mapping[str, int]:
    """Return how many rows, lines and files are stored, by what the page calls their places."""
    groups: Counter[str] = Counter()
    for place, number in counts.items():
        groups[_PLACES.get(place.removeprefix("journal "), "other")] += number
    return {group: number for group, number in groups.items() if number}


async def deletion(viewer: Viewer, typed: str = "") -> Values:
    """What would be deleted of a scope, to be confirmed by typing its name. typed: what was typed instead."""
    scope, there = Scope.parse(viewer.of), deletion_of(viewer)
    counts = await asyncio.to_thread(there.survey, scope)
    linked = await asyncio.to_thread(there.linked_with, scope)
    faces = await viewer.memory.browsing.people.faces([scope, *linked])
    return {
        "memories": sum(face.memories for face in faces),
        "exchanges": sum(face.exchanges for face in faces),
        "conversations": counts.get("journal sessions", 0) + counts.get("sessions", 0),
        "groups": by_group(counts),
        "linked": [scope_label(face.scope, face.name, viewer.language) for face in faces[1:]],
        "words": next((face.words for face in faces if face.words), ""),
        "place": _detail(faces[0], viewer.language),
        "last": max(face.last for face in faces),
        "shared": scope.kind.is_shared,
        "confirms": confirmation(viewer),
        "typed": typed,
    }


def deleted(proof: Proof) -> Values:
    """What was deleted, and what a search for traces found."""
    before, after = by_group(proof.before), by_group(proof.after)
    groups = [(group, number, after.get(group, 0)) for group, number in {**after, **before}.items()]
    return {"proof": proof, "groups": groups}


def deletion_of(viewer: Viewer) -> Deletion:
    """Return how a scope is deleted from the memory that a browser looks at."""
    return Deletion(workspace=viewer.memory.workspace, store=viewer.memory.settings.store)


def confirmation(viewer: Viewer) -> str:
    """Return what a person types to confirm the deletion of the scope that is shown."""
    return viewer.word("delete_owner") if viewer.of == OWNER_SCOPE.key else viewer.name


def confirms(viewer: Viewer, typed: str) -> bool:
    """Return whether what was typed is what confirms. Spaces, capitals and the forms of Unicode don't count."""
    return _folded(typed) == _folded(confirmation(viewer))


def _folded(text: str) -> str:
    """Return a text without what does not count where names are compared."""
    return " ".join(unicodedata.normalize("NFC", text).casefold().split())
