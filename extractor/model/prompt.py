"""The prompts for models, and the schemas of their answers: one for small models, one for capable ones.

What a small model does well decides its form: it copies words, and says one line again as a sentence. So the
conversation is short plain lines, an entry has four fields, and the quotation stands before the sentence.

A capable model sees what a person would see: the exchanges before the batch, the end of each reply that asks or lists,
what the rules kept of it, and the nearest known memories. It says of each entry whom it is about, when it holds, and
what it replaces.

The conversation is data: JSON strings within a fence, with `<` escaped, so that no text in it can close the fence.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime
from typing import Any, Final

from extractor.categories import CATEGORIES
from extractor.cleaning.clean import clean
from extractor.language.kind import is_chinese, is_mostly_chinese
from extractor.language.sentences import is_machine_line, without_code_blocks
from extractor.rules.borrowed import own_words
from extractor.tables import table
from extractor.types import Kept, Known, Turn

_PATTERNS: Final = table("believing").patterns()


LONGEST_MESSAGE: Final = 4_000  # characters of one message; a longer one was pasted
LONGEST_BATCH: Final = 24_000  # characters of a batch; the newest turns are kept
LONGEST_REPLY: Final = 160  # characters of what the user agrees to: its end, where an assistant asks
LONGEST_ASKED: Final = 200  # characters of the end of a reply that asks or lists
LONGEST_EARLIER: Final = 120  # characters of a message that was read before, and of the end of its reply
MOST_ENTRIES: Final = 12
MOST_EARLIER: Final = 2

_PROMPTS: Final = table("prompts")
_CATEGORIES: Final = ", ".join(
    f"{each.name} ({each.meaning})" if each.meaning else each.name for each in CATEGORIES.values()
)
SUMMARY_SYSTEM: Final = "\n\n".join(text for _, text in _PROMPTS.paragraphs("summary"))
_ANSWERS: Final = dict(_PROMPTS.paragraphs("answers"))
SCHEMA_IN_WORDS, REPAIR = _ANSWERS["schema"], _ANSWERS["repair"]

# A small model says a line again as one sentence, so a line should tell one thing. In Chinese a clause often does.
_LINE: Final = re.compile(r"(?<=[。！？!?；])(?![。！？!?)）])|(?<=[.;])\s+|\n")
_CLAUSE: Final = re.compile(r"(?<=[，。！？!?；])(?![。！？!?)）])|(?<=[.;])\s+|\n")


def object_schema(**properties: Any) -> dict[str, object]:
    """Return the schema of an object that has these properties and no others."""
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def text_schema(*choices: str) -> dict[str, object]:
    """Return the schema of a text; of one of the choices, if there are any."""
    return {"type": "string", "enum": list(choices)} if choices else {"type": "string"}


def list_schema(items: Mapping[str, object], **limits: int) -> dict[str, object]:
    """Return the schema of a list."""
    return {"type": "array", "items": items, **limits}


_ENTRY: Final = {
    "quote": text_schema(),
    "content": text_schema(),
    "category": text_schema(*CATEGORIES),
    "importance": text_schema("high", "normal"),
}
_FULL_ENTRY: Final = {
    **{name: text_schema() for name in ("quote", "content", "about", "holds")},
    "category": _ENTRY["category"],
    "importance": _ENTRY["importance"],
    "replaces": list_schema(text_schema()),
    "cues": list_schema(text_schema()),
}
SMALL_SCHEMA: Final = object_schema(entries=list_schema(object_schema(**_ENTRY), maxItems=MOST_ENTRIES))
FULL_SCHEMA: Final = object_schema(
    entries=list_schema(object_schema(**_FULL_ENTRY), maxItems=MOST_ENTRIES),
    retract=list_schema(text_schema(), maxItems=MOST_ENTRIES),
)


def agrees(message: str) -> bool:
    """Return whether a message begins by agreeing to what was said before it."""
    return bool(_PATTERNS["agrees"].match(message))


def prose(message: str) -> str:
    """Return a message without code, logs and the like."""
    return "\n".join(line for line in without_code_blocks(message).split("\n") if not is_machine_line(line))


def own_part(message: str) -> str:
    """Return what the user tells of themselves in a message: no code, and no text to be translated or mended."""
    return own_words(prose(message))


def given_turns(turns: Sequence[Turn]) -> dict[int, Turn]:
    """Return the turns of a batch that a model is given, by their number from 1: the newest, their texts shortened."""
    given: dict[int, Turn] = {}
    room = LONGEST_BATCH
    for number, turn in reversed(list(enumerate(turns, 1))):
        shortened = replace(turn, user=turn.user[:LONGEST_MESSAGE], reply=turn.reply[:LONGEST_MESSAGE])
        room -= len(shortened.user) + min(len(shortened.reply), LONGEST_REPLY)
        if room < 0 and given:
            break
        given[number] = shortened
    return dict(reversed(given.items()))


def system_for(turns: Sequence[Turn], *, small: bool) -> str:
    """Return the system message for a batch, with examples in its language."""
    return _SYSTEMS["small" if small else "full", is_mostly_chinese("\n".join(turn.user for turn in turns))]


def small_message(turns: Sequence[Turn], *, before: str = "") -> str:
    """Return what a small model is given: the user's own words, and a reply only where they agree to it.

    before: the reply to which the first turn may agree.
    """
    return _fenced("conversation", _own_lines(list(given_turns(turns).values()), before))


def full_message(
    turns: Sequence[Turn], *, known: Sequence[Known] = (), kept: Sequence[Kept] = (), earlier: Sequence[Turn] = ()
) -> str:
    """Return what a capable model is given: see the module.

    earlier: turns of the conversation before the batch, of which the last ones are shown. known: the nearest memories.
    kept: what the rules kept from the batch.
    """
    before = [
        row
        for turn in earlier[-MOST_EARLIER:]
        for row in _exchange(turn, LONGEST_EARLIER, turn.reply, shown=LONGEST_EARLIER)
    ]
    given = list(given_turns(turns).values())
    rows: list[str] = []
    day: date | None = None
    for turn in given:
        if turn.at.date() != day:
            day = turn.at.date()
            rows.append(f"Today is {day:%A, %Y-%m-%d}.")
        answered = turn is not given[-1] and _asks_or_lists(turn.reply)
        rows += _exchange(turn, LONGEST_MESSAGE, turn.reply if answered else "")
    parts = {
        "known": _listed(known),
        "earlier": before,
        "conversation": rows,
        "kept-by-rules": _listed(kept),
    }
    return "\n".join(_fenced(name, lines) for name, lines in parts.items() if lines)


def _exchange(turn: Turn, longest: int, reply: str, *, shown: int = LONGEST_ASKED) -> list[str]:
    user, end = prose(turn.user)[:longest].strip(), reply.strip()
    if len(end) > shown:
        end = end[-shown:]
        end = end[end.find(" ") + 1 :]  # no half word
    user_name = f"User ({turn.speaker})" if turn.speaker else "User"
    return [f"{who}: {as_data(text)}" for who, text in ((user_name, user), ("Assistant", end)) if text]


def _asks_or_lists(reply: str) -> bool:
    return bool(_ASKS_OR_LISTS.search(reply[-LONGEST_ASKED:]))


def _listed(memories: Sequence[Known | Kept]) -> list[str]:
    rows = ",\n".join(as_data({"id": each.id, "text": clean(each.text).text}) for each in memories)
    return [f"[{rows}]"] if rows else []


def _fenced(name: str, lines: Sequence[str]) -> str:
    return "\n".join([f"<{name}>", *lines, f"</{name}>"])


def estimate_tokens(text: str) -> int:
    """Return an upper estimate of a text's tokens: up to 1.5 for a wide character, one for three others."""
    han = sum("\u2e80" <= character <= "\uffee" for character in text)
    return (len(text) - han) // 3 + han * 3 // 2 + 1


def _own_lines(turns: Sequence[Turn], before: str) -> list[str]:
    rows: list[str] = []
    day: date | None = None
    for turn in turns:
        if turn.at.date() != day:
            day = turn.at.date()
            rows.append(f"Today is {day:%A, %Y-%m-%d}.")
        if before.strip() and agrees(turn.user):
            rows.append(f"Assistant: {as_data(before.strip()[-LONGEST_REPLY:])}")
        own = own_part(turn.user)
        own = own if any(map(str.isalnum, own)) else prose(turn.user)  # patterns may err: what is quoted waits
        lines = (_CLAUSE if is_chinese(own) else _LINE).split(own)
        rows += ["User:", *(f"  {as_data(line.strip(' ，,'))}" for line in lines if line.strip(" ，,"))]
        before = turn.reply
    return rows


def _small_example(section: str) -> str:
    """Return an example of the table as a small model is given it: a conversation, and the answer to its end."""
    rows = _EXAMPLES.texts(section)
    texts = dict(rows)
    at = datetime.fromisoformat(texts["day"])
    messages = [texts["before"].split(" / ")] if "before" in texts else []
    messages.append([texts["message"], ""])
    turns = [Turn(id=0, user=user, reply=reply, at=at) for user, reply in messages]
    entries = []
    for head, text in rows:
        category, _, importance = head.partition(" ")
        if importance:
            quote, content = text.split(" / ")
            entries.append({"quote": quote, "content": content, "category": category, "importance": importance})
    conversation = "\n".join(_own_lines(turns, ""))
    return f"Example.\n{conversation}\n{as_data({'entries': entries})}"


def _full_example(section: str) -> str:
    turns: list[Turn] = []
    listed: dict[str, list[Kept]] = {"known": [], "kept": []}
    answer: dict[str, list[object]] = {"entries": [], "retract": []}
    at = datetime.fromisoformat(dict(_EXAMPLES.texts(section))["day"])
    for head, text in _EXAMPLES.texts(section):
        name, _, identity = head.partition(" ")
        match name:
            case "day":
                continue
            case "user":
                turns.append(Turn(id=len(turns), user=text, reply="", at=at))
            case "reply":
                turns[-1] = replace(turns[-1], reply=text)
            case "entry":
                answer["entries"].append(json.loads(text))
            case "retract":
                answer["retract"].append(text)
            case _:
                listed[name].append(Kept(id=identity, turn=0, text=text))
    known = [Known(id=each.id, text=each.text, cosine=None, overlap=0, importance="normal") for each in listed["known"]]
    return f"Example.\n{full_message(turns, known=known, kept=listed['kept'])}\n{as_data(answer)}"


def _system(kind: str, language: str) -> str:
    texts = dict(_PROMPTS.paragraphs(kind))
    example = _small_example if kind == "small" else _full_example
    examples = map(example, _EXAMPLES.sections(f"{kind} {language}"))
    return "\n\n".join([texts["task"], texts["answer"].replace("{categories}", _CATEGORIES), *examples])


def as_data(value: object) -> str:
    """Return a value as JSON that closes no fence."""
    return json.dumps(value, ensure_ascii=False).replace("<", "\\u003c").replace(">", "\\u003e")


_EXAMPLES: Final = table("examples")
_ASKS_OR_LISTS: Final = re.compile(r"[?？]|^\s*(?:[-*•]|\d+[.)、])\s", re.MULTILINE)
_SYSTEMS: Final = {
    (kind, chinese): _system(kind, language)
    for kind in ("small", "full")
    for chinese, language in ((False, "English"), (True, "Chinese"))
}
