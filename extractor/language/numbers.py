"""Reads the numbers in a text by their value: "12,000", "12k", "twelve thousand", 一万二千 and "1.2万" are the same."""

import re
from typing import Final

__all__ = ["numbers_of", "numbers_stated"]

_ENGLISH: Final = {
    word: value
    for value, words in enumerate(
        (
            "zero midnight|one once single first|two twice couple both pair second|three third|four fourth|five fifth"
            "|six sixth|seven seventh|eight eighth|nine ninth|ten tenth|eleven|twelve dozen noon|thirteen|fourteen"
            "|fifteen|sixteen|seventeen|eighteen|nineteen|twenty"
        ).split("|")
    )
    for word in words.split()
} | {"thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90}
_CARDINALS: Final = "two three four five six seven eight nine ten eleven twelve twenty thirty forty fifty".split()
_SCALES: Final = {
    "hundred": 100, "thousand": 1_000, "k": 1_000, "million": 1_000_000, "m": 1_000_000, "billion": 1_000_000_000,
    "百": 100, "千": 1_000, "万": 10_000, "w": 10_000, "百万": 1_000_000, "千万": 10_000_000, "亿": 100_000_000,
}  # fmt: skip
_HAN: Final = {numeral: value for value, numeral in enumerate("零一二三四五六七八九")} | {
    "两": 2,
    "〇": 0,
    "俩": 2,
    "仨": 3,
}

_SCALE: Final = r"(?:\s?(?P<scale>hundred|thousand|million|billion|百万|千万|[百千万亿]|[kmw](?![a-z])))?"
_DIGITS: Final = re.compile(
    r"(?<![a-z0-9])(?<!\d\.)(?P<number>\d+(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)" + _SCALE,
    re.IGNORECASE,
)
_ENGLISH_WORD: Final = re.compile(
    rf"\b(?P<number>{'|'.join(_ENGLISH)})(?:[\s-](?P<unit>one|two|three|four|five|six|seven|eight|nine))?\b{_SCALE}",
    re.IGNORECASE,
)
_STATED_WORD: Final = re.compile(rf"(?<!-)\b(?:{'|'.join(_CARDINALS)})\b(?!-)", re.IGNORECASE)
_HAN_NUMBER: Final = re.compile(r"[零〇一二两三四五六七八九十百千万亿俩仨]+")
_HAN_STATED: Final = re.compile(
    r"[二两三四五六七八九十百千万〇零一]+(?=[个只条名岁年月天号点次块元层楼杯瓶斤人位台辆匹头口])"
)
_AFTER_NOON: Final = re.compile(r"(?<!\d)(\d{1,2})(?::\d\d)?\s?p\.?m\b", re.IGNORECASE)
_LATE: Final = re.compile(r"(?:下午|晚上|傍晚)\s*(\d{1,2}|[一二两三四五六七八九十]{1,3})\s*[点:：]")
# "1." or "2)" before an item of a list is no number.
_ITEM: Final = re.compile(r"(?:^|(?<=[\s:：;；,，。]))[(（]?\d{1,2}(?:[.)）](?=\s)|、)", re.MULTILINE)
_FULL_HOUR: Final = re.compile(r"(?<=\d)[:：]00\b")
_HALF_A_DAY: Final = 12


def numbers_of(text: str) -> frozenset[float]:
    """Return every number that a text may be said to tell: also words such as "twice" and 俩, and hours after noon."""
    found = set(_in_digits(text))
    found |= {hour + _HALF_A_DAY for hour in map(float, _AFTER_NOON.findall(text)) if hour < _HALF_A_DAY}
    for match in _ENGLISH_WORD.finditer(text):
        value = _ENGLISH[match["number"].lower()]
        found |= {float(value), _scaled(value + (_ENGLISH[match["unit"].lower()] if match["unit"] else 0), match)}
    for match in _HAN_NUMBER.finditer(text):
        found |= {_of_han(match[0]), *(float(_HAN[numeral]) for numeral in match[0] if numeral in _HAN)}
    for match in _LATE.finditer(text):
        hour = float(match[1]) if match[1].isdecimal() else _of_han(match[1])
        found.add(hour + _HALF_A_DAY)
    if re.search(r"\bhalf\b|半", text, re.IGNORECASE):
        found |= {0.5, 30.0}
    return frozenset(found)


def numbers_stated(text: str) -> frozenset[float]:
    """Return the numbers that a statement tells: in digits, as words from two on, and Chinese numerals that count."""
    found = set(_in_digits(_ITEM.sub(" ", text)))
    found |= {float(_ENGLISH[match[0].lower()]) for match in _STATED_WORD.finditer(text)}
    found |= {_of_han(match[0]) for match in _HAN_STATED.finditer(text)} - {1.0}
    return frozenset(found)


def _in_digits(text: str) -> set[float]:
    hours = _FULL_HOUR.sub("", text)
    return {_scaled(float(match["number"].replace(",", "")), match) for match in _DIGITS.finditer(hours)}


def _scaled(value: float, match: re.Match[str]) -> float:
    return float(value * _SCALES[match["scale"].lower()]) if match["scale"] else float(value)


def _of_han(text: str) -> float:
    """Return the value of Chinese numerals, as 一万二千 or, digit by digit, 二零二六."""
    if not set(text) & set("十百千万亿"):
        return float("".join(str(_HAN[numeral]) for numeral in text))
    whole, part, last = 0, 0, 0
    for numeral in text:
        if numeral in _HAN:
            last = _HAN[numeral]
        elif numeral in "万亿":
            whole, part, last = (whole + part + last or 1) * _SCALES[numeral], 0, 0
        else:
            part, last = part + (last or 1) * (_SCALES.get(numeral) or 10), 0
    return float(whole + part + last)
