"""Who speaks in a turn: a person, or the host that carries it. Nothing else decides it; the table is `hosts.txt`."""

import re
from collections.abc import Iterator
from typing import Final

from extractor.tables import table

_TABLE: Final = table("hosts")
_BLOCKS: Final = _TABLE.patterns("blocks", flags=0)
_LABELS: Final = _TABLE.patterns("labels", flags=0)
_MEDIA: Final = _TABLE.patterns("media", flags=0)
_LINES: Final = _TABLE.compiled("lines", flags=0)
_WAKES: Final = _TABLE.patterns("wakes", flags=0)
_REPLIES: Final = _TABLE.patterns("replies", flags=0)
_STAMP: Final = dict(_LINES)["stamp"]
_PARAGRAPH: Final = re.compile(r"(?:\A|\n[ \t]*\n)\s*")
_NAME: Final = re.compile(r"([^:\n]{1,80}): ")
_SIGNS: Final = ("HEARTBEAT_OK", "NO_REPLY", "[SILENT]")
_BEAT: Final = "HEARTBEAT_OK"
_MOST_OPEN: Final = 50
"""Brackets that may still be closed."""


def spoken(message: str, reply: str = "") -> str:
    """Return what a person says in a host's message; "" where the host alone speaks. It never raises.

    Cut: the host's blocks, envelopes, stamps, system lines, notes, quoted replies. The words around them stay.
    reply: what was answered. A heartbeat's answer says that nobody has asked.
    """
    message = message.replace("\r\n", "\n")
    if reply.strip() == _BEAT:
        return ""
    if "<user_query>" in message:
        message = "\n".join(_BLOCKS["query"].findall(message))
    text = without_labels(_without_history(_without_blocks(_until_wake(message))))[0]
    text = _without_media(text)
    for name, pattern in _LINES:
        if name == "note":
            text = _until_wake(text)
        text = _without_stamps(text) if name == "stamp" else pattern.sub("", text)
    text = _until_wake(text)
    if _WAKES["time"].search(text) or (any(sign in text for sign in _SIGNS) and _WAKES["silence"].search(text)):
        return ""
    return text.strip() if text != message else message


def answered(reply: str) -> str:
    """Return a reply without the marks for its host; "" for the sign that nothing is said."""
    text = _REPLIES["marks"].sub("", reply).strip() if "[[" in reply else reply
    return "" if _REPLIES["silent"].fullmatch(text) else text


def without_labels(text: str) -> tuple[str, int]:
    """Return a text without the metadata that a host has put before it, and how many pieces that were."""
    pieces = 0
    for name, may_match in (  # looking for a word is faster than a search
        ("label", ("trusted" in text and "):" in text) or "⟦openclaw" in text),
        ("message id", "[message_id:" in text),
    ):
        text, count = _LABELS[name].subn("", text) if may_match else (text, 0)
        pieces += count
    return text, pieces


def _until_wake(text: str) -> str:
    """Return a text up to a paragraph by which a host wakes its model: what follows is the host's too."""
    starts = (paragraph.end() for paragraph in _PARAGRAPH.finditer(text))
    return next((text[:start] for start in starts if _WAKES["prompt"].match(text, start)), text)


def _without_stamps(text: str) -> str:
    """Cut the stamps, and after one that names the sender the name once more: "[Telegram Ona … GMT+2] Ona: …"."""
    pieces, position = [], 0
    for stamp in _STAMP.finditer(text):
        pieces.append(text[position : stamp.start()])
        position = stamp.end()
        if (name := _NAME.match(text, position)) and name[1] in stamp[0]:
            position = name.end()
    return "".join((*pieces, text[position:]))


def _without_media(text: str) -> str:
    """Cut the labels around a caption and what was spoken, and what a model has seen in a file."""
    if "User text:" not in text:
        return text
    before, *files = _MEDIA["head"].split(text)
    return before + "".join(_MEDIA["heard"].sub("", _MEDIA["seen"].sub("", each), count=1) for each in files)


def _without_blocks(text: str) -> str:
    """Cut the blocks with both their ends. One that is never closed ends at an empty line."""
    if not ("<" in text or "[" in text):
        return text
    kept: list[str] = []
    position = 0
    for start, end in _spans(text):
        if start >= position:
            kept.append(text[position:start])
            position = end
        position = max(position, end)
    return "".join((*kept, text[position:]))


def _spans(text: str) -> list[tuple[int, int]]:
    opened: dict[str, int] = {}
    brackets: list[tuple[str, int, int]] = []
    spans: list[tuple[int, int]] = []
    for start, end, kind, name, closes in sorted(_tokens(text)):
        if kind == "bracket" and closes:
            match = next((each for each in brackets if each[0].startswith(name)), None)
            if match:
                spans.append((match[1], end))
                brackets = [each for each in brackets if each[1] > end]
        elif kind == "bracket":
            brackets = [*brackets[-_MOST_OPEN:], (name, start, end)]
        elif closes:
            if (begin := opened.pop(f"{kind} {name}", None)) is not None:
                spans.append((begin, end))
        else:
            opened.setdefault(f"{kind} {name}", start)
    begun = [start for start in opened.values() if not text[text.rfind("\n", 0, start) + 1 : start].strip()]
    begun += [start for name, start, _ in brackets if _BLOCKS["unclosed"].search(name)]
    for start in begun:
        end = text.find("\n\n", start)
        spans.append((start, len(text) if end < 0 else end))
    return sorted(spans)


def _tokens(text: str) -> Iterator[tuple[int, int, str, str, bool]]:
    """Yield the ends of blocks: where they begin and end, their kind and name, and whether they close one."""
    for which in ("open", "close"):
        for match in _BLOCKS[which].finditer(text):
            kind = match.lastgroup or ""
            yield match.start(), match.end(), kind, match[kind], which == "close"


def _without_history(text: str) -> str:
    """Cut what others said before, up to where the message begins."""
    while history := _BLOCKS["history"].search(text):
        current = _BLOCKS["current"].search(text, history.end())
        if current is None:
            return text
        text = text[: history.start()] + text[current.end() :]
    return text
