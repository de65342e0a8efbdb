"""Convert what a host gives: content parts and numbers, a message to a query, observations to their useful part."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, TypeAlias

from extractor import Cleaned, clean
from gateway_memory.errors import UsageError

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


def instant_of(at: object) -> float:
    """Return a time in epoch seconds. A time without a zone is in the host's zone.

    Raises:
        UsageError: the value is not a datetime, or its year is out of range.
    """
    if not isinstance(at, datetime):
        raise UsageError(f"at is of type {type(at).__name__}: expected a datetime")
    if at.year not in _YEARS:
        raise UsageError(f"at={at.isoformat()}: expected a time in the years {_YEARS[0]} to {_YEARS[-1]}")
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
