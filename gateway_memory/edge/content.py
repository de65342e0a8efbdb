"""Convert what a host gives: content parts and numbers, a message to a query, observations to their useful part."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, TypeAlias

from extractor import Cleaned, clean
from gateway_memory.errors import UsageError
from gateway_memory.store.journal.sessions import Observation

Content: TypeAlias = str | Mapping[str, Any] | Sequence[Any]
"""A text: a string, or content parts. Type checkers can't distinguish them, so they are checked at run time."""

_TEXT_FIELDS: Final = {"text": "text", "input_text": "text", "output_text": "text", "refusal": "refusal"}
"""The field with the text, by a part's type. Other parts (images, files, tool calls, thoughts) have no text."""
_OF_TOOLS: Final = {
    "tool_result": "content",
    "web_search_tool_result": "content",
    "code_execution_tool_result": "content",
    "function_call_output": "output",
    "custom_tool_call_output": "output",
}
"""The same for results of tools. Their text is the tool's, not the user's."""
_OWN: Final = frozenset({"", "user", "external_user"})
"""The provenances of a user's own words. Any other is somebody else's: a tool's, a page's, another session's."""
_TOOLS: Final = ("tool", "function")
"""The roles of tools' messages."""
_UNSAID: Final = (
    *("inline_data", "inlineData", "file_data", "fileData", "function_call", "functionCall"),
    *("function_response", "functionResponse", "executable_code", "executableCode"),
    *("code_execution_result", "codeExecutionResult"),
)
"""The fields of Google's parts, which have no type, that hold something other than text."""
_DEEPEST: Final = 20
_YEARS: Final = range(1900, 9001)
_LONGEST_MS: Final = 10**13
_QUERY_LENGTH: Final = 8000
_MOST: Final = 2**31
"""More than a workspace can hold. A larger number returns everything."""


def text_of(content: object, name: str, *, tools: bool = False) -> str:
    """Return the text of a message; "" for None.

    content: a string, a content part, a message, or a list of them, as mappings or as objects of an SDK, in the form of
    OpenAI's Chat Completions or Responses API or of Anthropic's Messages API. Only text counts and, with `tools`, the
    output of tools and what the host marks by a `provenance` as not the user's.
    name: the name of the caller's argument, for errors.

    Raises:
        UsageError: the content has another form.
    """
    if isinstance(content, str):
        return well_formed(content)
    return well_formed("\n".join(text for text in _texts(content, name, tools=tools, depth=0) if text))


def is_untrusted(provenance: object) -> bool:
    """Return whether words with this provenance are not the user's own.

    provenance: None, "", "user" and "external_user" are the user's. Of a mapping, its `kind` counts.
    """
    kind = provenance.get("kind") if isinstance(provenance, Mapping) else provenance or ""
    return not isinstance(kind, str) or kind not in _OWN


def texts_of(contents: object, name: str) -> tuple[str, ...]:
    """Return the texts of a list. A single string is a list of one, and None is an empty list.

    Raises:
        UsageError: the value is not a list, or one of its items is not text.
    """
    if contents is None:
        return ()
    if isinstance(contents, str):
        return (text_of(contents, name),)
    if not isinstance(contents, list | tuple | set | frozenset):
        raise UsageError(f"{name} is of type {type(contents).__name__}: expected a list of strings")
    return tuple(text_of(each, name) for each in contents)


def instant_of(at: object, name: str = "at") -> float:
    """Return a time in epoch seconds. A time without a zone is in the host's zone.

    Raises:
        UsageError: the value is not a datetime, or its year is out of range.
    """
    if not isinstance(at, datetime):
        raise UsageError(f"{name} is of type {type(at).__name__}: expected a datetime")
    if at.year not in _YEARS:
        raise UsageError(f"{name}={at.isoformat()}: expected a time in the years {_YEARS[0]} to {_YEARS[-1]}")
    return at.timestamp()


def count_of(number: object, name: str) -> int:
    """Return a requested number of items, limited to a maximum.

    Raises:
        UsageError: the value is not a whole number from 1.
    """
    if not isinstance(number, int) or isinstance(number, bool):
        raise UsageError(f"{name} is of type {type(number).__name__}: expected a number from 1")
    if number < 1:
        raise UsageError(f"{name}={max(number, -_MOST)}: expected a number from 1")
    return min(number, _MOST)


def milliseconds_of(number: object, name: str) -> int:
    """Return a duration in whole milliseconds.

    Raises:
        UsageError: the value is not a valid duration.
    """
    if not isinstance(number, int | float) or isinstance(number, bool) or not 0 <= number <= _LONGEST_MS:
        raise UsageError(f"{name}: expected a number of milliseconds from 0")
    return round(number)


def share_of(number: object, name: str) -> float:
    """Return a number from 0 to 1.

    Raises:
        UsageError: the value is not such a number.
    """
    if not isinstance(number, int | float) or not 0 <= number <= 1:
        raise UsageError(f"{name}: expected a number from 0 to 1")
    return float(number)


def as_query(text: str, asked: Sequence[str] = ()) -> Cleaned:
    """Return a message as a query: without private spans and secrets, and of a bounded length.

    asked: the names of secrets for which it may be the answer.
    """
    return clean(text[:_QUERY_LENGTH], asked=asked)


def well_formed(text: str) -> str:
    """Return a text as valid Unicode: join surrogate pairs, and replace lone surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def _texts(content: object, name: str, *, tools: bool, depth: int) -> Iterator[str]:
    if content is None:
        return
    if isinstance(content, str):
        yield content
    elif depth > _DEEPEST:
        raise UsageError(f"{name}: content parts lie in one another more than {_DEEPEST} deep")
    elif isinstance(content, list | tuple):
        for each in content:
            yield from _texts(each, name, tools=tools, depth=depth + 1)
    elif tools or not (is_untrusted(_field(content, "provenance")) or _field(content, "role") in _TOOLS):
        yield from _texts(_words_of(content, name, tools=tools), name, tools=tools, depth=depth + 1)


def _words_of(part: object, name: str, *, tools: bool) -> object:
    """Return the content of a part or a message: a text, or further parts."""
    kind = _field(part, "type")
    if not isinstance(kind, str):
        kind = None
    if kind in _TEXT_FIELDS:
        return _field(part, _TEXT_FIELDS[kind])
    if kind in _OF_TOOLS:
        return _field(part, _OF_TOOLS[kind]) if tools else None
    if kind not in (None, "message"):
        return None
    if _field(part, "thought") is True:
        return None
    for field in ("content", "parts", "text"):  # a message; "parts" and a part without a type: Google's form
        content = _field(part, field)
        if content is not None:
            return content
    # An assistant's message with tool calls only, or a part in Google's form without text.
    if any(_field(part, field) is not None for field in ("role", *_UNSAID)):
        return None
    raise UsageError(
        f"{name} is of type {type(part).__name__}: expected a string, or content parts such as "
        '{"type": "text", "text": "…"}'
    )


def _field(part: object, name: str) -> Any:
    try:
        value = part.get(name) if isinstance(part, Mapping) else getattr(part, name, None)
    except Exception:  # noqa: BLE001 - a property of an SDK's object may raise, as in Google's answers
        return None
    return None if callable(value) else value


# Shorten observations: keep the useful part of a tool's output, and tags for search.

LONGEST: Final = 2_000
_COMMAND_LINES: Final = 20
_LONGEST_CALL: Final = 200
_TAGS: Final = 20
_LONGEST_TAG: Final = 120
_LONGEST_NAME: Final = 80
_PATH_KEYS: Final = ("file_path", "filePath", "path", "target_file", "notebook_path", "uri", "file")
_CONTENT_KEYS: Final = ("content", "contents", "text", "output", "result", "stdout", "tool_response", "tool_output")
_EXIT_KEYS: Final = ("exit_code", "exitCode", "returncode", "exit", "code")

_READ: Final = re.compile(
    r"(?i)\b(?:read|view|cat|open|get)(?:_?(?:many_?)?files?|_?text)?\b|readfile|\bnotebookread\b"
)
_EDIT: Final = re.compile(r"(?i)edit|write|patch|diff|replace|insert|create_file|applied")
_COMMAND: Final = re.compile(r"(?i)bash|shell|terminal|command|exec|run|process")
_HUNK: Final = re.compile(r"^(?:diff --git|---|\+\+\+|@@|[+-])")
_PATH: Final = re.compile(
    r"(?<![\w/.-])(?:[~.]{0,2}/)?(?:[\w@.-]{1,60}/){0,20}[\w@-][\w@.-]{0,60}\.[A-Za-z]\w{0,7}\b"
    r"|(?<![\w/])(?:/[\w@.-]{1,60}){2,20}"
)
_ERROR_CODE: Final = re.compile(
    r"\b(?:[A-Z][A-Za-z]{1,60}(?:Error|Exception|Warning)|E[A-Z]{3,12}|[A-Z]{1,5}-?\d{3,6}|SIG[A-Z]{3,5}"
    r"|(?:HTTP|exit|status)[ :=]{1,3}\d{1,3})\b"
)
_SYMBOL: Final = re.compile(
    r"\b(?:(?:def|class|func|fn|function|struct|interface)\s{1,4}(\w{1,80})|([a-z]\w{2,80})(?=\())"
)


def observed(kind: str, content: str, tool: str = "", *, private: bool = False) -> Observation:
    """Return the observation to store, without private or secret text. A private observation has no content.

    Clipping decodes a tool's JSON, so its result is cleaned again.
    """
    kept = "" if private else clean(clip(kind, tool, clean(content).text)).text
    name = clean(tool).text[:_LONGEST_NAME]
    return Observation(
        kind=clean(kind).text[:_LONGEST_NAME], content=kept, tool=name, tags=tags_of(kept), private=private
    )


def clip(kind: str, tool: str, content: str) -> str:
    """Return the useful part of a content: a file's path and size, a diff's hunks, a command's exit and last lines.

    Of any other tool's JSON, it is what was asked, in one line, and what came of it. Any other content keeps its
    beginning and end. The result has at most about 2,000 characters.

    content: a text, or a tool's JSON.
    """
    fields = _fields(content)
    if kind == "tool" and tool:
        text = _text(fields, content)
        only_asked = bool(fields) and text is content  # a call without its result, as in transcripts
        # Test for edits first: tools such as "write_file" and "edit_notebook" read nothing.
        if _EDIT.search(tool):
            hunks = "\n".join(line for line in text.splitlines() if _HUNK.match(line)) or text
            path = _path(fields, "")
            return _shorten(hunks if path in hunks else f"{path}\n{hunks}")
        if _READ.search(tool):
            path = _path(fields, content) or "?"
            return _shorten(path if only_asked else f"{path} ({len(text)} characters)")
        if _COMMAND.search(tool):
            return _command(fields, "" if only_asked else text)
        if asked := _asked(fields):
            content = asked if only_asked else f"{asked}\n{text}"
    return _shorten(content)


def tags_of(content: str) -> str:
    """Return the paths, symbols and error codes of a content, separated by spaces: at most 20, in order."""
    text = content[:20_000]
    found = [match[0] for match in _PATH.finditer(text)]
    found += [match[0].replace(" ", "") for match in _ERROR_CODE.finditer(text)]
    found += [match[1] or match[2] for match in _SYMBOL.finditer(text)]
    return " ".join([tag for tag in dict.fromkeys(found) if len(tag) <= _LONGEST_TAG][:_TAGS])


def _fields(content: str) -> Mapping[str, Any]:
    if not content.lstrip().startswith("{"):
        return {}
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        return {}
    if not isinstance(found, dict):
        return {}
    inner = found.get("tool_input") or found.get("input") or found.get("args")
    return {**inner, **found} if isinstance(inner, dict) else found


def _text(fields: Mapping[str, Any], content: str) -> str:
    if "old_string" in fields and "new_string" in fields:
        old, new = str(fields["old_string"]), str(fields["new_string"])
        return "\n".join([*(f"-{line}" for line in old.splitlines()), *(f"+{line}" for line in new.splitlines())])
    for key in _CONTENT_KEYS:
        value = fields.get(key)
        if isinstance(value, dict):
            value = next((value[name] for name in _CONTENT_KEYS if isinstance(value.get(name), str)), None)
        if isinstance(value, str):
            return value
    return content


def _asked(fields: Mapping[str, Any]) -> str:
    """Return what a tool was called with, in one line: its words, without the names of its arguments."""
    given = (value for key, value in fields.items() if key not in _CONTENT_KEYS and isinstance(value, str))
    return _shorten(" ".join(" ".join(given).split()), _LONGEST_CALL)


def _path(fields: Mapping[str, Any], content: str) -> str:
    for key in _PATH_KEYS:
        if isinstance(fields.get(key), str):
            return str(fields[key])
    match = _PATH.search(content[:2_000])
    return match[0] if match else ""


def _command(fields: Mapping[str, Any], text: str) -> str:
    command = str(fields.get("command", "")).strip()
    status = next((fields[key] for key in _EXIT_KEYS if isinstance(fields.get(key), int)), None)
    said = text if text is not command else ""
    last = "\n".join(said.rstrip().splitlines()[-_COMMAND_LINES:])
    last = last if len(last) <= LONGEST - 500 else f"…{last[-(LONGEST - 501) :]}"
    head = [f"$ {_shorten(command, 400)}"] if command else []
    head += [f"exit {status}"] if status is not None else []
    return "\n".join([*head, last]).strip()


def _shorten(text: str, length: int = LONGEST) -> str:
    if len(text) <= length:
        return text
    return f"{text[: length * 3 // 4]}\n…\n{text[-(length // 4 - 3) :]}"
