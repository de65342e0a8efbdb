"""Shortens observations: keeps the useful part of a tool's output, and tags for search."""

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from extractor import clean
from gateway_memory.store.journal.opened import Observation

LONGEST: Final = 2_000
_COMMAND_LINES: Final = 20
_LONGEST_CALL: Final = 200
_TAGS: Final = 20
_LONGEST_TAG: Final = 120
_LONGEST_NAME: Final = 80
_PATH_KEYS: Final = ("file_path", "filePath", "path", "target_file", "notebook_path", "uri", "file")
_CONTENT_KEYS: Final = ("content", "contents", "text", "output", "result", "stdout", "tool_response", "tool_output")
_EXIT_KEYS: Final = ("exit_code", "exitCode", "returncode", "exit", "code")

READ: Final = re.compile(r"(?i)\b(?:read|view|cat|open|get)(?:_?(?:many_?)?files?|_?text)?\b|readfile|\bnotebookread\b")
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
        if READ.search(tool):
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
