"""What is proposed for the name of a command that is none: by its spelling, then by its meaning."""

import math
import re
import time
from collections.abc import Sequence
from operator import mul
from typing import Final

from extractor import Turn, extract_rules
from gateway_memory.commands.command import Command, CommandPorts
from gateway_memory.commands.names import LONGEST_QUESTION, Names, Typed, plain_form
from gateway_memory.edge.content import as_query
from gateway_memory.sessions.session import Session

_PROPOSED: Final = 3
_SPELT: Final = 2
"""The most proposals for their spelling: a word may be spelt like one command and mean another."""
_SECONDS: Final = 2.0
_AT_ONCE: Final = 32
_WORD: Final = re.compile(r"[\u3400-\u9fff]|[^\W_]+")


async def proposals(ports: CommandPorts, session: Session, names: Names, typed: Typed) -> list[Command]:
    """Return the commands that a person may have meant: by their spelling, then by their meaning."""
    words = as_query(typed.rest).text[:LONGEST_QUESTION]
    named = names.find(typed.name)  # with words behind it that it does not take
    tells = extract_rules(Turn(id=0, user=words, reply="", at=ports.memory.now()))
    spelt = names.spelt_like(typed.name)[:_SPELT]
    meant = await _by_meaning(ports, session, list(names.own.values()), words)
    found = [*([named] if named else []), *([names.own["remember"]] if tells else []), *spelt, *meant]
    return list({command.name: command for command in found}.values())[:_PROPOSED]


async def _by_meaning(
    ports: CommandPorts, session: Session, commands: Sequence[Command], words: str
) -> Sequence[Command]:
    """Return all commands, the one first of which a name, or the help, means most what the words do."""
    language = session.language
    about = [
        (command, text)
        for command in commands
        for text in (command.called(language), *command.also(language), command.help[language])
    ]
    vectors = [] if session.incognito else await _vectors(ports, [words, *(text for _, text in about)])
    if vectors:
        query, *others = vectors
        likeness = [sum(map(mul, query, other)) / (math.hypot(*other) or 1) for other in others]
    else:
        said = set(_WORD.findall(plain_form(words)))
        likeness = [float(len(said.intersection(_WORD.findall(plain_form(text))))) for _, text in about]
    best: dict[str, float] = {}
    for (command, _), like in zip(about, likeness, strict=True):
        best[command.name] = max(like, best.get(command.name, like))
    return sorted(commands, key=lambda command: -best[command.name])


async def _vectors(ports: CommandPorts, texts: Sequence[str]) -> list[list[float]]:
    """Return the vectors of texts, none if one of them is not there in time. An encoder takes so many at once."""
    found: list[list[float]] = []
    until = time.monotonic() + _SECONDS
    for start in range(0, len(texts), _AT_ONCE):
        part = texts[start : start + _AT_ONCE]
        vectors = (await ports.storage.recaller.encoded(part, max(0.0, until - time.monotonic())))[1]
        found += [vector.tolist() for vector in vectors if vector is not None]
        if len(found) < start + len(part):
            return []
    return found
