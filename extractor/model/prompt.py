"""The prompts for models, and the schemas of their answers. Small models are asked as large ones are.

What a small model does well decides the form: it copies words, and says one line again as a sentence. So the
conversation is short plain lines, an entry has four fields, the quotation stands before the sentence, and everything
that the code can find out itself (turn, type, names, what is known already) is not asked. What the rules kept wrongly
is asked of large models alone: a small one named every id that it was shown.

The conversation is data: JSON strings within a fence, with `<` escaped, so that no text in it can close the fence.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime
from typing import Any, Final

from extractor.cleaning.clean import clean
from extractor.language.kind import is_chinese, is_mostly_chinese
from extractor.language.sentences import is_machine_line, without_code_blocks
from extractor.rules.borrowed import own_words
from extractor.tables import table
from extractor.types import CATEGORIES, Candidate, Kept, Known, Turn

_PATTERNS: Final = table("believing").patterns()


LONGEST_MESSAGE: Final = 4_000  # characters of one message; a longer one was pasted
LONGEST_BATCH: Final = 24_000  # characters of a batch; the newest turns are kept
LONGEST_REPLY: Final = 160  # characters of what the user agrees to: its end, where an assistant asks
MOST_ENTRIES: Final = 12

_PROMPTS: Final = table("prompts")
_EXTRACTION: Final = dict(_PROMPTS.paragraphs("extraction"))
_CATEGORIES: Final = ", ".join(
    f"{each.name} ({each.meaning})" if each.meaning else each.name for each in CATEGORIES.values()
)
_SYSTEM: Final = f"{_EXTRACTION['task']}\n\n{_EXTRACTION['answer'].replace('{categories}', _CATEGORIES)}"
MERGE_SYSTEM: Final = dict(_PROMPTS.paragraphs("comparison"))["task"]
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


_ENTRIES: Final = list_schema(
    object_schema(
        quote=text_schema(),
        content=text_schema(),
        category=text_schema(*CATEGORIES),
        importance=text_schema("high", "normal"),
    ),
    maxItems=MOST_ENTRIES,
)
EXTRACTION_SCHEMA: Final = object_schema(entries=_ENTRIES)
RETRACTION_SCHEMA: Final = object_schema(entries=_ENTRIES, retract=list_schema(text_schema(), maxItems=MOST_ENTRIES))
"""The schema where the rules have kept something of the batch that the model may take back."""
MERGE_SCHEMA: Final = object_schema(
    actions=list_schema(
        object_schema(
            number={"type": "integer"}, action=text_schema("add", "skip", "update", "supersede"), target=text_schema()
        )
    )
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


def extraction_system(turns: Sequence[Turn]) -> str:
    """Return the system message of an extraction, with examples in the language of the batch."""
    return _SYSTEMS[is_mostly_chinese("\n".join(turn.user for turn in turns))]


def extraction_message(turns: Sequence[Turn], kept: Sequence[Kept] = (), *, before: str = "") -> str:
    """Return the user message of an extraction: the user's own words, and a reply only where they agree to it.

    kept: what the rules kept from these turns and may be taken back. before: the reply to which the first turn may
    agree.
    """
    ids = {turn.id for turn in turns}
    rows = [{"id": each.id, "text": clean(each.text).text} for each in kept if each.turn in ids]
    listed = ",\n".join(as_data(row) for row in rows)
    conversation = f"<conversation>\n{_conversation(list(given_turns(turns).values()), before)}\n</conversation>"
    return (
        f"{conversation}\n<kept-by-rules>\n[{listed}]\n</kept-by-rules>\n{_EXTRACTION['retract']}"
        if rows
        else conversation
    )


def merge_message(pairs: Sequence[tuple[Candidate, Sequence[Known]]]) -> str:
    """Return the user message of a comparison. New memories are numbered from 1."""
    rows = [
        {
            "number": number,
            "new": candidate.content,
            "known": [{"id": memory.id, "text": clean(memory.text).text} for memory in known],
        }
        for number, (candidate, known) in enumerate(pairs, 1)
    ]
    listed = ",\n".join(as_data(row) for row in rows)
    return f"<memories>\n[{listed}]\n</memories>"


def estimate_tokens(text: str) -> int:
    """Return an upper estimate of a text's tokens: up to 1.5 for a wide character, one for three others."""
    han = sum("\u2e80" <= character <= "\uffee" for character in text)
    return (len(text) - han) // 3 + han * 3 // 2 + 1


def _conversation(turns: Sequence[Turn], before: str) -> str:
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
    return "\n".join(rows)


def _example(section: str) -> str:
    """Return an example of the table as a model is given it: a conversation, and the answer to its last message."""
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
    return f"Example.\n{_conversation(turns, '')}\n{as_data({'entries': entries})}"


def as_data(value: object) -> str:
    """Return a value as JSON that closes no fence."""
    return json.dumps(value, ensure_ascii=False).replace("<", "\\u003c").replace(">", "\\u003e")


_EXAMPLES: Final = table("examples")
_SYSTEMS: Final = {
    chinese: "\n\n".join([_SYSTEM, *map(_example, _EXAMPLES.sections(language))])
    for chinese, language in ((False, "English"), (True, "Chinese"))
}
