"""What is proposed for the name of a command that is none: by its spelling, then by its meaning.

A direction of the bundled encoder's vector tells each command (`benchmarks/train_commands.py`).
"""

import re
from math import fsum
from operator import mul
from typing import Final

from extractor import Turn, direction_in, extract_rules
from gateway_memory.commands.command import Command, CommandPorts
from gateway_memory.commands.names import LONGEST_QUESTION, Names, Typed, plain_form
from gateway_memory.edge.content import as_query
from gateway_memory.ground.tables import tables_in
from gateway_memory.sessions.session import Session

_PROPOSED: Final = 3
_SECONDS: Final = 2.0
_LEAD: Final = 0.2
_table: Final = tables_in(__file__)
_COMMAND: Final = "command "
_WORD: Final = re.compile(r"[\u3400-\u9fff]|[^\W_]+")


async def proposals(ports: CommandPorts, session: Session, names: Names, typed: Typed) -> list[Command]:
    """Return the commands that a person may have meant: by their spelling, then by their meaning."""
    words = _read(typed.whole)
    named = names.find(typed.name)  # with words behind it that it does not take
    tells = extract_rules(Turn(id=0, user=words, reply="", at=ports.memory.now()))
    spelt = names.spelt_like(typed.name)[:1]  # a word may be spelt like one command and mean another
    likeness = await _by_meaning(ports, session, typed)
    likeness = likeness or {command.name: _shared(words, command) for command in names.own.values()}
    meant = sorted(names.own.values(), key=lambda command: -likeness.get(command.name, -1.0))
    found = [*([named] if named else []), *([names.own["remember"]] if tells else []), *spelt, *meant]
    return list({command.name: command for command in found}.values())[:_PROPOSED]


async def meant_rather(
    ports: CommandPorts, session: Session, names: Names, typed: Typed, *, surely: bool
) -> Command | None:
    """Return the command that is meant rather than the one that was read: "keep this between us", "what's stored".

    surely: only one that is to be asked about before anything is done.
    """
    command = typed.command
    if command is None or not typed.rest:
        return None
    if surely and (typed.is_question or plain_form(typed.name) in (command.name, command.chinese)):
        return None
    likeness = await _by_meaning(ports, session, typed)
    best = max(likeness, key=likeness.__getitem__, default=command.name)
    if surely and best == "remember" and command.takes == "words":  # the words of another are often a fact, too
        return None
    lead = likeness.get(best, 0.0) - likeness.get(command.name, 0.0)
    return names.own[best] if lead > (_LEAD if surely else 0.0) else None


def _read(text: str) -> str:
    return as_query(text).text[:LONGEST_QUESTION]


async def _by_meaning(ports: CommandPorts, session: Session, typed: Typed) -> dict[str, float]:
    """Return how much each command is meant, by the whole and by its name; {} without the bundled encoder."""
    if session.incognito:
        return {}
    encoder, found = await ports.storage.recaller.encoded([_read(typed.whole), _read(typed.name)], _SECONDS)
    table = _table("meant")
    vectors = [vector.tolist() for vector in found if vector is not None]
    if encoder != dict(table.texts("encoder"))["name"] or len(vectors) < len(found):
        return {}
    of_both, likeness = list(map(sum, zip(*vectors, strict=True))), {}
    for section in table.sections(_COMMAND):
        step, intercept, weights = direction_in(table, section)
        likeness[section.removeprefix(_COMMAND)] = step * fsum(map(mul, of_both, weights)) + len(vectors) * intercept
    return likeness


def _shared(words: str, command: Command) -> float:
    """Return how many words are in a name or the help of a command."""
    texts = (*command.names, *command.help.values())
    return float(max(len(_words(words) & _words(text)) for text in texts))


def _words(text: str) -> set[str]:
    return set(_WORD.findall(plain_form(text)))
