"""Views of a text without its encodings and hidden characters, one layer after the other."""

import html
import re
import unicodedata
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import chain
from typing import Final

from extractor.cleaning.traced import Traced
from extractor.tables import table

_CHARACTERS: Final = table("characters").patterns(flags=0)
_ODD: Final = _CHARACTERS["odd"]
_LINE_ENDS: Final = "\r\x0b\x0c\x85\u2028\u2029"
_DASHES: Final = "\u2212\u2010\u2011\u2012\ufe63"

_HEX: Final = "[0-9a-fA-F]"
_LETTERS: Final = {"n": "\n", "r": "\n", "t": "\t", "a": "", "b": "", "f": "\n", "v": "\n", "0": "", "\n": ""}


def _bytes_after(sign: str) -> str:
    """Return a pattern for the escaped bytes of one character in UTF-8, or of several in another character set."""
    low, high = rf"{sign}[0-7]{_HEX}", rf"{sign}[89a-fA-F]{_HEX}"
    return (
        rf"(?:{low}|{sign}[cdCD]{_HEX}{sign}[89abAB]{_HEX}|{sign}[eE]{_HEX}(?:{sign}[89abAB]{_HEX}){{2}}"
        rf"|{sign}[fF][0-4](?:{sign}[89abAB]{_HEX}){{3}}|(?:{high}){{1,40}})"
    )


def _escapes(slash: str) -> str:
    """Return a pattern of backslash escapes in JSON, JavaScript, Python, YAML, C and shells."""
    octal = rf"{slash}[2-3][0-7]{{2}}"
    return (
        rf"{slash}[uU][dD][89abAB]{_HEX}{{2}}{slash}[uU][dD][c-fC-F]{_HEX}{{2}}|{slash}u{_HEX}{{4}}|{slash}U{_HEX}{{8}}"
        rf"|{slash}u\{{{_HEX}{{1,6}}\}}|{_bytes_after(slash + '[xX]')}|(?:{octal}){{1,4}}|{slash}[01][0-7]{{2}}"
    )


def _entities(ampersand: str) -> str:
    return rf"{ampersand}(?:#\d{{1,20}}|#[xX]{_HEX}{{1,20}}|[a-zA-Z][a-zA-Z0-9]{{1,31}});?"


def _percents(sign: str) -> str:
    return rf"{sign}[uU]{_HEX}{{4}}|{_bytes_after(sign)}|(?<=[\w%\"'{{}}:=,.;!?)-])\+(?=[\w%\"'{{}}:=(-])"


# One layer of one kind at a time, since a value may contain another kind's signs; and all kinds together, however
# often each was applied: "\\\\u003c", "%25253C" and "&amp;amp;lt;" are one step.
_PUNCTUATION: Final = r"[!-/:-@\[-`{-~]"
_JSON: Final = re.compile(rf"{_escapes(chr(92) * 2)}|\\[abfnrtv0 \n]|\\{_PUNCTUATION}")
_HTML: Final = re.compile(_entities("&"))
_URL: Final = re.compile(_percents("%"))
_ALL: Final = re.compile(
    rf"(?<!\\)(?:{_escapes(chr(92) * 2 + '+')}|\\+[abfnrtv0 \n]|\\+(?!\\){_PUNCTUATION})"
    rf"|{_entities('&(?:amp;|#38;|#[xX]26;)+')[:-1]}|{_entities('&')}|{_percents('%(?:25)*')}"
)
_ENCODED: Final = re.compile(rf"\\[!-~\s]|&[#a-zA-Z]|%{_HEX}{{2}}|%[uU]{_HEX}|\S\+\S")

_DEEPEST: Final = 16
_MOST_VIEWS: Final = 40
_WORK: Final = 400_000
"""The most characters of all views of a text; for a longer text, four times its length."""
_WORK_OF_A_LONG_TEXT: Final = 4


def views(text: str) -> Iterator[Traced]:
    """Yield the text itself, and each text that results from decoding it.

    A text that is still encoded after sixteen layers is an attack: a view is yielded with that cut from its source.
    """
    source = Traced(text)
    yield source.copy()
    if not (_ENCODED.search(text) or _ODD.search(text)):
        return
    known = {text}
    work = max(_WORK, _WORK_OF_A_LONG_TEXT * len(text))
    for view in chain(_inwards(source, work // 2), _by_kind(source, work // 2)):
        if view.text not in known:
            known.add(view.text)
            yield view.copy()


def _inwards(view: Traced, work: int) -> Iterator[Traced]:
    """Decode all kinds of encoding together, layer by layer, to the innermost."""
    for _ in range(_DEEPEST):
        decoded = view.decoded(_ALL, _of_any)
        plain = (decoded or view).decoded(_ODD, _of_odd)
        if not (decoded or plain):
            return
        yield from (each for each in (decoded, plain) if each)
        view = plain or decoded or view
        work -= len(view.text)
        if work < 0:
            break
    view.cut([(at.start(), at.end(), "") for at in _ALL.finditer(view.text) if _of_any(at)])
    yield view


def _by_kind(source: Traced, work: int) -> Iterator[Traced]:
    """Decode one kind at a time, in every order, the most decoded view first."""
    waiting, queued = [source], {source.text}
    while waiting:
        view = waiting.pop(min(range(len(waiting)), key=lambda at: len(waiting[at].text)))
        for pattern, decode in _KINDS:
            decoded = view.decoded(pattern, decode) if work > 0 and len(queued) < _MOST_VIEWS else None
            if decoded and decoded.text not in queued:
                work -= len(decoded.text)
                queued.add(decoded.text)
                waiting.append(decoded)
                yield decoded


def _of_escape(match: re.Match[str]) -> str | None:
    text = re.sub(r"\\+", r"\\", match[0])
    letter = text[1:2]
    if letter in ("u", "U"):
        numbers = [int(number.strip("{}"), 16) for number in re.split(r"\\[uU]", text)[1:]]
        if len(numbers) == 2:  # noqa: PLR2004 - the halves of a surrogate pair
            return chr(0x10000 + ((numbers[0] & 0x3FF) << 10) + (numbers[1] & 0x3FF))
        return chr(numbers[0]) if numbers[0] <= 0x10FFFF else ""  # noqa: PLR2004 - Unicode's last
    if letter in ("x", "X"):
        return _of_bytes(bytes(int(number, 16) for number in re.split(r"\\[xX]", text)[1:]))
    if len(text) > 2 and letter.isdigit():  # noqa: PLR2004 - a sign and more than one digit
        return _of_bytes(bytes(int(number, 8) & 0xFF for number in text.split("\\")[1:]))
    return _LETTERS.get(letter, letter)


def _of_entity(match: re.Match[str]) -> str | None:
    innermost = re.sub(r"&(?:amp;|#38;|#[xX]26;)*", "&", match[0])
    text = html.unescape(innermost if innermost != "&" else match[0])
    return text if text != match[0] else None


def _of_percent(match: re.Match[str]) -> str | None:
    text = match[0]
    if text == "+":
        return " "
    numbers = re.split("%(?:25)*(?=.)", text)[1:]
    if numbers[0][0] in "uU":
        return chr(int(numbers[0][1:], 16))
    return _of_bytes(bytes(int(number, 16) for number in numbers))


def _of_bytes(data: bytes) -> str:
    for encoding in ("utf-8", "gb18030"):
        try:
            return data.decode(encoding)
        except UnicodeDecodeError:
            continue
    return data.decode("latin-1")


def _of_any(match: re.Match[str]) -> str | None:
    decode = {"\\": _of_escape, "&": _of_entity}.get(match[0][0], _of_percent)
    return decode(match)


def _of_odd(match: re.Match[str]) -> str | None:
    return _plain(match[0])


@lru_cache(maxsize=1024)
def _plain(character: str) -> str | None:
    if character in _LINE_ENDS:
        return "\n"
    if unicodedata.category(character) == "Zs" or character == "\u2800":
        return " "
    if character in _DASHES:
        return "-"
    digit = unicodedata.decimal(character, -1)
    if digit >= 0:
        return str(digit)
    plain = unicodedata.normalize("NFKC", character)
    if plain.isascii() and len(plain) == 1 and plain.isprintable():
        return plain
    return "" if _HIDDEN.match(character) else None


_HIDDEN: Final = _CHARACTERS["hidden"]
_HIDDEN_OR_NEEDED: Final = re.compile(f"({_CHARACTERS['needed'].pattern})|{_HIDDEN.pattern}")


def without_invisible(text: str) -> str:
    """Return a text without control characters and unseen letters, save where an emoji or a script needs one."""
    return _HIDDEN_OR_NEEDED.sub(lambda match: match[1] or "", text) if _HIDDEN.search(text) else text


_KINDS: Final[tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], str | None]], ...]] = (
    (_JSON, _of_escape),
    (_HTML, _of_entity),
    (_URL, _of_percent),
    (_ODD, _of_odd),
)
