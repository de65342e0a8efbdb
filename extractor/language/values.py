"""Reads the numbers in a text by their value: "12,000", "12k", "twelve thousand", 一万二千 and "1.2万" are the same."""

import re
from typing import Final

from extractor.tables import table

_TABLE: Final = table("values")
_PATTERNS: Final = _TABLE.patterns()
_ENGLISH: Final = {word: int(number) for (number,), words in _TABLE.rows("numbers") for word in words}
_SCALES: Final = {name: int(number) for name, number in _TABLE.numbers("scales").items()}


_HAN: Final = (
    {numeral: value for value, numeral in enumerate("零一二三四五六七八九")}
    | dict.fromkeys("两俩", 2)
    | {"〇": 0, "仨": 3}
)

_HALF_A_DAY: Final = 12
_FULL_HOUR: Final = 60
_MINUTES: Final = {"": 0, "half": 30, "半": 30, "quarter": 15, "一刻": 15, "三刻": 45, "noon": 12, "midnight": 0}
_HUNDRED: Final = 100
_WORD: Final = re.compile(r"[a-z]+|\d+(?:,\d{3})*(?:\.\d+)?", re.IGNORECASE)
_LOWER: Final = {"万": 1000, "千": 100, "百": 10, "亿": 10_000_000}
"""What a last numeral counts after one of these: 七千二 is 7200."""


def numbers_of(text: str) -> frozenset[float]:
    """Return every number that a text may be said to tell: also words such as "twice" and 俩, and hours after noon."""
    numbers = set(_in_digits(text)) | _composed(text)
    numbers |= {hour + _HALF_A_DAY for hour in map(float, _PATTERNS["after noon"].findall(text)) if hour < _HALF_A_DAY}
    for match in _PATTERNS["number word"].finditer(text):
        value = _ENGLISH[match["number"].lower()]
        numbers |= {float(value), _scaled(value + (_ENGLISH[match["unit"].lower()] if match["unit"] else 0), match)}
    for match in _PATTERNS["Chinese number"].finditer(text):
        numbers |= {_of_han(match[0]), *(float(_HAN[numeral]) for numeral in match[0] if numeral in _HAN)}
    for match in _PATTERNS["late"].finditer(text):
        hour = float(match[1]) if match[1].isdecimal() else _of_han(match[1])
        numbers.add(hour + _HALF_A_DAY)
    if re.search(r"\bhalf\b|半", text, re.IGNORECASE):
        numbers |= {0.5, 30.0}
    return frozenset(numbers)


def numbers_stated(text: str) -> frozenset[float]:
    """Return the numbers that a statement tells: in digits, as words from two on, and Chinese numerals that count."""
    numbers = set(_in_digits(_PATTERNS["item"].sub(" ", text)))
    numbers |= {float(_ENGLISH[match[0].lower()]) for match in _PATTERNS["stated number word"].finditer(text)}
    numbers |= {_of_han(match[0]) for match in _PATTERNS["stated Chinese number"].finditer(text)} - {1.0}
    return frozenset(numbers)


def times_of(text: str) -> frozenset[tuple[int, int]]:
    """Return every time that a text may be said to tell, as hour and minute of a clock of twelve hours."""
    times = set()
    for kind, pattern in _TABLE.compiled("clock"):
        for match in pattern.finditer(text):
            minutes, hour = _value(match["minutes"]), _value(match["hour"])
            hour, minutes = (hour - 1, _FULL_HOUR - minutes) if kind == "to" else (hour, minutes)
            times.add((hour % _HALF_A_DAY, minutes % _FULL_HOUR))
    return frozenset(times)


def _value(text: str) -> int:
    named = _MINUTES.get(text.lower())
    return int(max(numbers_of(text), default=0)) if named is None else named


def _composed(text: str) -> set[float]:
    """Return the numbers that several words tell: "thirteen hundred and fifty", "two and a half k", "two dozen"."""
    numbers: set[float] = set()
    total = part = 0.0
    unit, open_ = 1.0, False
    for word in [*(match[0].lower() for match in _WORD.finditer(text)), ""]:
        value, scale = _ENGLISH.get(word.removesuffix("s")), _SCALES.get(word)
        if value is None and word[:1].isdigit():
            value = float(word.replace(",", ""))  # type: ignore[assignment]
        if scale is not None and word.isascii():
            part = (part or 1.0) * scale
            total, part, unit = (total, part, unit) if scale == _HUNDRED else (total + part, 0.0, float(scale))
        elif value is not None:
            part += value
        elif word == "half" and open_:
            total, part = (total, part + 0.5) if part else (total + unit / 2, 0.0)
        elif not (word in ("and", "a") and (open_ or word == "a")):
            numbers |= {total + part} if open_ else set()
            total, part, unit, open_ = 0.0, 0.0, 1.0, False
            continue
        open_ = open_ or word not in ("and", "a")
    return numbers


def _in_digits(text: str) -> set[float]:
    hours = _PATTERNS["full hour"].sub("", text)
    return {_scaled(float(match["number"].replace(",", "")), match) for match in _PATTERNS["digits"].finditer(hours)}


def _scaled(value: float, match: re.Match[str]) -> float:
    return float(value * _SCALES[match["scale"].lower()]) if match["scale"] else float(value)


def _of_han(text: str) -> float:
    """Return the value of Chinese numerals, as 一万二千 or, digit by digit, 二零二六."""
    if not set(text) & set("十百千万亿"):
        return float("".join(str(_HAN[numeral]) for numeral in text))
    short = _LOWER.get(text[-2:-1])
    if short and text[-1] in _HAN and text[-1] != "零":
        return _of_han(text[:-1]) + _HAN[text[-1]] * short
    whole, part, last = 0, 0, 0
    for numeral in text:
        if numeral in _HAN:
            last = _HAN[numeral]
        elif numeral in "万亿":
            whole, part, last = (whole + part + last or 1) * _SCALES[numeral], 0, 0
        else:
            part, last = part + (last or 1) * (_SCALES.get(numeral) or 10), 0
    return float(whole + part + last)
