"""Texts and JSON from outside, in whatever encoding they come."""

import contextlib
import json
from functools import cache
from typing import TYPE_CHECKING, Any, Final, TypeVar

if TYPE_CHECKING:
    from pydantic import TypeAdapter


T = TypeVar("T")
_USUAL: Final = 0.9
"""The share of the characters of GB 2312 in a Chinese text. Bytes of another encoding read as GBK give rare ones."""
MARK: Final = "\ufeff"
"""The mark of the byte order, which is no part of a text."""


def json_of(content: bytes | str) -> Any:
    """Return the value of a text of JSON, in UTF-8, 16 or 32, before which marks of the byte order may stand.

    Each shell through which a text goes on its way may put one there.

    Raises:
        ValueError, RecursionError: it is none.
    """
    text = content if isinstance(content, str) else content.decode(json.detect_encoding(content), "surrogatepass")
    return json.loads(text.lstrip(MARK))


def object_of(content: bytes | str) -> dict[str, Any]:
    """Return the object in a text of JSON; {} if there is none."""
    try:
        document = json_of(content)
    except (ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}


def decoded(kind: type[T], raw: object) -> T:
    """Return a value of a dataclass from what `asdict` and JSON made of one.

    A field that is missing has its default, and one that is unknown is left out: another version wrote it.

    Raises:
        ValueError: it is a value of another shape.
    """
    value: T = _adapter(kind).validate_python(raw)  # type: ignore[arg-type]  # mypy: a type is not Hashable
    return value


@cache
def _adapter(kind: Any) -> "TypeAdapter[Any]":
    from pydantic import TypeAdapter  # hooks decode nothing

    return TypeAdapter(kind)


def text_in(content: bytes) -> str | None:
    """Return the text of a file: UTF-8, UTF-16 with its mark, or GBK. None if it is in none of them.

    A UTF-8 text with some damaged bytes is still one; these are surrogate escapes.
    """
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        try:
            return content.decode("utf-16")
        except UnicodeDecodeError:
            return None
    with contextlib.suppress(UnicodeDecodeError):
        return content.decode("utf-8")
    text = content.decode("utf-8", "surrogateescape")
    damaged = sum("\ud800" <= character <= "\udfff" for character in text)
    if damaged <= sum(character > "\x7f" for character in text) - damaged:
        return text
    try:
        chinese = content.decode("gb18030")
    except UnicodeDecodeError:
        return None
    wide = [character for character in chinese if character > "\x7f"]
    usual = sum(character.encode("gb2312", "ignore") != b"" for character in wide)
    return chinese if usual >= _USUAL * len(wide) else None
