"""What a host hands over, as text: strings, and content parts as the model providers' APIs have them."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, TypeAlias

from gateway_memory.errors import UsageError

__all__ = ["Content", "count_of", "instant_of", "milliseconds_of", "share_of", "text_of", "texts_of", "well_formed"]

Content: TypeAlias = str | Mapping[str, Any] | Sequence[Any]
"""A text: a string, or content parts. What type checkers can't tell apart is checked when it comes."""

_SAID: Final = {"text": "text", "input_text": "text", "output_text": "text", "refusal": "refusal"}
"""By a part's type, where its words stand. All other parts (images, files, calls of tools, thoughts) say nothing."""
_OF_TOOLS: Final = {
    "tool_result": "content",
    "web_search_tool_result": "content",
    "code_execution_tool_result": "content",
    "function_call_output": "output",
    "custom_tool_call_output": "output",
}
"""Likewise for what came of a call: words of the tool's, not of the user's."""
_UNSAID: Final = (
    *("inline_data", "inlineData", "file_data", "fileData", "function_call", "functionCall"),
    *("function_response", "functionResponse", "executable_code", "executableCode"),
    *("code_execution_result", "codeExecutionResult"),
)
"""What Google's parts, which have no type, hold in place of words."""
_DEEPEST: Final = 20
_YEARS: Final = range(1900, 9001)
_LONGEST_MS: Final = 10**13
_MOST: Final = 2**31
"""More than a workspace can hold: who asks for more than this gets all there is."""


def text_of(content: object, name: str, *, tools: bool = False) -> str:
    """Return the text of a message; None has none.

    content: a string; or a content part, a message, or a list of them, as mappings or as an SDK's objects, in the form
    of OpenAI's Chat Completions or Responses, or of Anthropic's Messages. Only what was said counts, and, with `tools`,
    what tools returned. name: what the caller's argument is called.

    Raises:
        UsageError: it is nothing of these.
    """
    if isinstance(content, str):
        return well_formed(content)
    return well_formed("\n".join(text for text in _texts(content, name, tools=tools, depth=0) if text))


def texts_of(contents: object, name: str) -> tuple[str, ...]:
    """Return the texts of a list; a lone string is a list of one, and None an empty one.

    Raises:
        UsageError: it is no list, or one of its items is no text.
    """
    if contents is None:
        return ()
    if isinstance(contents, str):
        return (text_of(contents, name),)
    if not isinstance(contents, list | tuple | set | frozenset):
        raise UsageError(f"{name} is of type {type(contents).__name__}: expected a list of strings")
    return tuple(text_of(each, name) for each in contents)


def instant_of(at: object, name: str = "at") -> float:
    """Return a time in epoch seconds; one without a zone is in the host's.

    Raises:
        UsageError: it is no time, or none that a conversation can have.
    """
    if not isinstance(at, datetime):
        raise UsageError(f"{name} is of type {type(at).__name__}: expected a datetime")
    if at.year not in _YEARS:
        raise UsageError(f"{name}={at.isoformat()}: expected a time in the years {_YEARS[0]} to {_YEARS[-1]}")
    return at.timestamp()


def count_of(number: object, name: str) -> int:
    """Return how many things are asked for: at least one, and no more than can be.

    Raises:
        UsageError: it is no whole number from 1.
    """
    if not isinstance(number, int) or isinstance(number, bool):
        raise UsageError(f"{name} is of type {type(number).__name__}: expected a number from 1")
    if number < 1:
        raise UsageError(f"{name}={max(number, -_MOST)}: expected a number from 1")
    return min(number, _MOST)


def milliseconds_of(number: object, name: str) -> int:
    """Return a duration in whole milliseconds.

    Raises:
        UsageError: it is none.
    """
    if not isinstance(number, int | float) or isinstance(number, bool) or not 0 <= number <= _LONGEST_MS:
        raise UsageError(f"{name}: expected a number of milliseconds from 0")
    return round(number)


def share_of(number: object, name: str) -> float:
    """Return a number from 0 to 1.

    Raises:
        UsageError: it is none.
    """
    if not isinstance(number, int | float) or not 0 <= number <= 1:
        raise UsageError(f"{name}: expected a number from 0 to 1")
    return float(number)


def well_formed(text: str) -> str:
    """Return a text as valid Unicode: halves of a character that belong together are joined, others replaced."""
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
    else:
        yield from _texts(_words_of(content, name, tools=tools), name, tools=tools, depth=depth + 1)


def _words_of(part: object, name: str, *, tools: bool) -> object:
    """Return where the words of a part or of a message stand: a text, or further parts."""
    kind = _field(part, "type")
    if not isinstance(kind, str):
        kind = None
    if kind in _SAID:
        return _field(part, _SAID[kind])
    if kind in _OF_TOOLS:
        return _field(part, _OF_TOOLS[kind]) if tools else None
    if kind not in (None, "message"):
        return None
    if _field(part, "thought") is True:
        return None
    for field in ("content", "parts", "text"):  # a message; "parts" and a part without a type: Google's form
        found = _field(part, field)
        if found is not None:
            return found
    # An assistant's message that holds only calls, or a part of Google's without words.
    if any(_field(part, field) is not None for field in ("role", *_UNSAID)):
        return None
    raise UsageError(
        f"{name} is of type {type(part).__name__}: expected a string, or content parts such as "
        '{"type": "text", "text": "…"}'
    )


def _field(part: object, name: str) -> Any:
    try:
        value = part.get(name) if isinstance(part, Mapping) else getattr(part, name, None)
    except Exception:  # noqa: BLE001 - an SDK's object may compute it, as Google's answers do
        return None
    return None if callable(value) else value
