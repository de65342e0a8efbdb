"""Which command a person means: by each of its names, in both languages, with and without a space behind it."""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final

from extractor import has_han, only_asks
from gateway_memory.commands.command import Command
from gateway_memory.edge.phrases import CHAT
from gateway_memory.ground.tables import simplified

_PREFIXES: Final = (CHAT, "/记忆")
_LONGEST: Final = 8000
"""Characters of a command that are read; no memory is longer."""
LONGEST_QUESTION: Final = 400
_LONGEST_NAME: Final = 60
_LIKE: Final = 5
_BETWEEN: Final = re.compile(r"[\s:：,，]*")
_ENDS: Final = re.compile(r"[\s:：,，;；.。!！?？、\u3400-\u9fff]|\Z")
"""What may stand behind an English name."""
_POLITE: Final = re.compile(
    r"(?:(?:(?:please|pls|can you|could you|i want to|i'd like to)\b|请|帮我|帮忙|麻烦你?|给我|我想|我要)[\s,，]*)+"
)
_FILLER: Final = re.compile(
    r"(?>\b(?:memor(?:y|ies)|remembering|recording|saving|please|pls|now|all|everything|of|it|this|that|them|the|me|my|"
    r"i|you|your|about|in|here|chat|session|conversation|for|a|while|again|last|one|step|change|to|use|do|does|work|is)\b"
    r"|记忆|记录|一下|全部|所有|我的|我|你|的|了|吧|呢|吗|啊|请|[这那][条个次]|本次|对话|会话|聊天|内容|东西|一切|现在|先|刚才"
    r"|上一?[条个次步]|最近|功能|有|哪些|些|什么|多少|几[条个]|都|用|\W)*+"
)
"""What says nothing more behind a name: "pause it please", 暂停一下吧."""
_ASKING: Final = frozenset({"what", "who", "how"})
"""Names that mean their command only without more: "what is my name" is a question."""
_DONE: Final = re.compile(r"了|过(?=什么|多少|哪|几|谁|啥)")
"""Behind a verb, what tells of the past: 记住了多少 and 删过哪些 ask for nothing to be done."""
_GLUED: Final = frozenset("忘删查搜找")
"""The names of one character behind which words may begin at once: 查咖啡; but 开会 is not 开."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Typed:
    """What a person typed. command: None if no name was found. whole: all of it.

    name: as typed; the first word where none was found. rest: what is behind the name; the whole where none was found.
    """

    command: Command | None
    name: str
    rest: str
    whole: str

    @property
    def is_question(self) -> bool:
        """Whether no name was found, but a question, which is searched."""
        return self.command is not None and self.rest == self.whole != ""


def behind_prefix(text: str) -> tuple[str, bool] | None:
    """Return what is behind `/memory`, or 记忆 in its place, and whether it follows without a space.

    None if a message does not begin so. The slash and the letters may be full-width.
    """
    text = text.lstrip()
    for prefix in _PREFIXES:
        head, rest = text[: len(prefix)], text[len(prefix) :][:_LONGEST]
        if simplified(unicodedata.normalize("NFKC", head)).lower() == prefix:
            glued = has_han(rest[:1])
            return (rest.strip(), glued) if not rest or rest[0].isspace() or glued else None
    return None


class Names:
    """The names of commands."""

    def __init__(self, commands: Sequence[Command]) -> None:
        self._by_name = {name: command for command in commands for name in command.names}
        self._longest_first = sorted(self._by_name, key=len, reverse=True)
        self._chinese = {command.chinese for command in commands}
        self.own = {command.name: command for command in commands}

    def find(self, name: str) -> Command | None:
        """Return the command of a name, in whatever case and characters."""
        return self._by_name.get(plain_form(name.strip()))

    def read(self, text: str) -> Typed | None:
        """Return the command that a message names, and what is behind its name; None if the message is no command."""
        behind = behind_prefix(text)
        if behind is None:
            return None
        typed, glued = behind
        if not typed:
            return Typed(command=self.own["status"], name="status", rest="", whole="")
        plain = plain_form(typed)
        polite = _POLITE.match(plain)
        for start in (0, polite.end()) if polite else (0,):
            if found := self._found(typed, plain, start):
                return found
        if glued:  # a word that begins with 记忆
            return None
        asked = self.own["search"] if only_asks(plain[:LONGEST_QUESTION]) else None  # what is asked is searched
        return Typed(command=asked, name=typed.split(maxsplit=1)[0], rest=typed, whole=typed)

    def _found(self, typed: str, plain: str, start: int) -> Typed | None:
        """Return the command whose longest name stands at a place and fits what is behind it."""
        for name in self._longest_first:
            end = start + len(name)
            if plain.startswith(name, start) and self._fits(name, plain[end:]):
                behind = typed[end:]
                rest = behind[len(_BETWEEN.match(behind)[0]) :]  # type: ignore[index]
                command = self._by_name[name]
                shown = self.find(rest) if command is self.own.get("list") and says_more(rest) else None
                if shown and shown is not command:  # "show commands", 查看状态
                    command, rest = shown, ""
                return Typed(command=command, name=typed[start:end], rest=rest, whole=typed)
        return None

    def _fits(self, name: str, behind: str) -> bool:
        """Return whether a name is meant by its command, given what is behind it."""
        takes, is_chinese = self._by_name[name].takes, has_han(name[-1])
        ends = bool(_ENDS.match(behind))
        if not (is_chinese or ends):
            return False
        if not says_more(behind):
            return True
        if has_han(behind[0]):
            glued = takes == "words" if len(name) > 1 else name in _GLUED and len(behind) > 1
            return glued and not _DONE.match(behind)
        if name in self.own or name in self._chinese:
            return ends or bool(takes)
        return takes == "words" if " " in name else bool(takes) and name not in _ASKING

    def spelt_like(self, word: str) -> list[Command]:
        """Return the commands whose names are spelt most like a word, the likest first."""
        cutoff = 0.5 if has_han(word) else 0.6  # 撤消 for 撤销
        near = get_close_matches(plain_form(word[:_LONGEST_NAME]), self._by_name, n=_LIKE, cutoff=cutoff)
        return list({self._by_name[name].name: self._by_name[name] for name in near}.values())


def says_more(rest: str) -> bool:
    """Return whether what is behind a name says anything."""
    return not _FILLER.fullmatch(plain_form(rest))


def plain_form(text: str) -> str:
    """Return a text in lower case and simplified characters, as long as it is."""
    lowered = text.lower().replace("’", "'").replace("？", "?")
    return simplified(lowered if len(lowered) == len(text) else text)
