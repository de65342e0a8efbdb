"""Reads the numbers and the dates in a text by their value, in English and Chinese, written out or relative."""

import re
from calendar import monthrange
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Final

__all__ = ["Span", "dates_of", "is_over", "numbers_of", "numbers_stated", "relative_dates_of", "without_dates"]


# Reads the numbers in a text by their value: "12,000", "12k", "twelve thousand", 一万二千 and "1.2万" are the same.

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


# Reads the dates in a text, in English and Chinese: written out, or relative to the day of the text.
#
# Each date is a span of days, since "in April" and "next week" are dates too. An expression that can mean several
# days ("Friday", "18 December" without a year) has several spans.

_MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_WEEKDAYS: Final = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_HAN_DIGITS: Final = {numeral: value for value, numeral in enumerate("零一二三四五六七八九十")} | {"两": 2, "〇": 0}
_COUNTS: Final = {
    word: value for value, word in enumerate("_ one two three four five six seven eight nine ten eleven twelve".split())
} | {"a": 1, "an": 1, "a couple of": 2, "couple of": 2, "几": 3, "a few": 3}

_MONTH: Final = (
    r"(?P<month>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?"
    r"|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\b\.?"
)
_DAY: Final = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?\b"
_YEAR: Final = r"(?P<year>(?:19|20)\d\d)(?!\d)"
_NUMERAL: Final = r"(?:\d{1,2}|[零一二三四五六七八九十]{1,3})"
_WRITTEN: Final = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"(?<![\d.]){_YEAR}(?P<sign>[-/.])(?P<month>\d{{1,2}})(?P=sign)(?P<day>\d{{1,2}})(?!\d)",
        rf"(?:(?<!\d){_YEAR}\s*年\s*)?(?<!\d)(?P<month>{_NUMERAL})\s*月(?:份|\s*(?P<day>{_NUMERAL})\s*[日号])?",
        rf"(?<!\d){_YEAR}\s*年",
        rf"\b{_MONTH}\s+{_DAY}(?!\s*:)(?:\s*,?\s+{_YEAR})?",
        rf"(?<![\d.:]){_DAY}\s+(?:of\s+)?{_MONTH}(?:\s*,?\s*{_YEAR})?",
        rf"\b{_MONTH}(?:\s*,|\s+of)?\s+{_YEAR}",
        rf"\b(?:in|by|since|until|till|from|last|next|this|of|early|late|mid)[\s-]+{_MONTH}",
        rf"\b(?!mar(?:ch)?\b|may\b){_MONTH}",  # "march" and "may" are verbs too
        rf"(?<![\d.,-]){_YEAR}(?![-/.,]?\d)",
    )
)


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """The days from the first to the last, which belongs to it."""

    first: date
    last: date

    def tells(self, other: "Span") -> bool:
        """Return whether somebody who said this may be quoted with the other span.

        The other is less exact, or it is a part of this one where this is a week at most ("this weekend").
        """
        if other.first <= self.first and self.last <= other.last:
            return True
        return self.first <= other.first and other.last <= self.last and (self.last - self.first).days < _A_WEEK


_A_WEEK: Final = 7
_MONTHS_A_YEAR: Final = 12


def dates_of(text: str, day: date) -> list[frozenset[Span]]:
    """Return the dates that are written out in a text of a day: for each, the spans that it may mean."""
    return [spans for _, spans in _written(text, day)]


_YEAR_BEFORE: Final = re.compile(r"\b(next|last)[\s-]+\Z", re.IGNORECASE)
_YEARLY: Final = re.compile(
    r"\b(?:birthdays?|born|anniversary|every|each|always|usually)\b|生日|出生|纪念日|每", re.IGNORECASE
)


def is_over(text: str, said: date, today: date) -> bool:
    """Return whether a text of a day tells of a time from that day on which is over today: "my flight is on Friday"."""
    if _YEARLY.search(text):
        return False
    spans = [*relative_dates_of(text, said), *(span for each in dates_of(text, said) for span in each)]
    return any(span.first >= said and span.last < today for span in spans)


def without_dates(text: str, day: date) -> str:
    """Return a text without its written dates."""
    for (start, end), _ in reversed(_written(text, day)):
        text = f"{text[:start]} {text[end:]}"
    return text


def relative_dates_of(text: str, day: date) -> frozenset[Span]:
    """Return the spans that the relative dates in a text of a day may mean: "tomorrow", "in two weeks", 下周五."""
    return frozenset(
        span for pattern, read in _RELATIVE for match in pattern.finditer(text) for span in _safely(read, match, day)
    )


def _written(text: str, day: date) -> list[tuple[tuple[int, int], frozenset[Span]]]:
    found: list[tuple[tuple[int, int], frozenset[Span]]] = []
    for pattern in _WRITTEN:
        for match in pattern.finditer(text):
            start, end = match.span()
            spans = frozenset(_spans(match, day))
            if spans and all(end <= taken[0] or taken[1] <= start for taken, _ in found):
                found.append(((start, end), spans))
    return sorted(found, key=lambda each: each[0])


def _spans(match: re.Match[str], day: date) -> Iterator[Span]:
    parts = match.groupdict()
    years = [int(parts["year"])] if parts.get("year") else [day.year - 1, day.year, day.year + 1]
    named = match.start("month") if parts.get("month") else match.start()
    which = _YEAR_BEFORE.search(match.string, 0, named)
    if which and not parts.get("year"):  # "next September" is no September that has begun
        month = _month(parts["month"]) if parts.get("month") else day.month
        first = day.year + (month <= day.month)
        years = [first] if which[1].lower() == "next" else [first - 2, first - 1]
    for year in years:
        try:
            if not parts.get("month"):
                yield Span(date(year, 1, 1), date(year, 12, 31))
            elif parts.get("day"):
                the_day = date(year, _month(parts["month"]), _number(parts["day"]))
                yield Span(the_day, the_day)
            else:
                yield _month_of(date(year, _month(parts["month"]), 1))
        except ValueError:  # no such day
            continue


def _month(text: str) -> int:
    short = text[:3].lower()
    return _MONTHS.index(short) + 1 if short in _MONTHS else _number(text)


def _number(text: str) -> int:
    """Return the number that digits, an English word or Chinese numerals below a hundred tell."""
    text = text.strip().lower()
    if text.isdecimal():
        return int(text)
    if text in _COUNTS:
        return _COUNTS[text]
    tens, ten, units = text.rpartition("十")
    if ten:
        return 10 * (_HAN_DIGITS[tens] if tens else 1) + (_HAN_DIGITS[units] if units else 0)
    return _HAN_DIGITS[text]


Read = Callable[[re.Match[str], date], list[Span]]


def _safely(read: Read, match: re.Match[str], day: date) -> list[Span]:
    try:
        return read(match, day)
    except (OverflowError, ValueError, KeyError):  # before the first year, after the last one, no such day
        return []


def _month_of(day: date) -> Span:
    return Span(day.replace(day=1), day.replace(day=monthrange(day.year, day.month)[1]))


def _months_on(day: date, count: int) -> date:
    years, month = divmod(day.month - 1 + count, 12)
    return date(day.year + years, month + 1, min(day.day, monthrange(day.year + years, month + 1)[1]))


def _days_on(count: int) -> Read:
    def read(_: re.Match[str], day: date) -> list[Span]:
        the_day = day + timedelta(days=count)
        return [Span(the_day, the_day)]

    return read


_WHICH: Final = {
    "last": -1, "past": -1, "previous": -1, "上": -1, "去": -1, "前": -2, "上上": -2,
    "": 0, "the": 0, "this": 0, "coming": 0, "这": 0, "本": 0, "今": 0,
    "next": 1, "following": 1, "下": 1, "明": 1, "后": 2, "下下": 2,
}  # fmt: skip


def _which(match: re.Match[str]) -> str:
    return match["which"].lower().rstrip("一个")


def _week_day(match: re.Match[str], day: date) -> list[Span]:
    """A day of a week. English "next Friday" may be the coming one, "Friday" alone the last or the coming one."""
    which, name = _which(match) if match["which"] else "", match["name"].lower()
    number = _WEEKDAYS.index(name[:3]) if name[:3] in _WEEKDAYS else min(6, "一二三四五六日天".index(name))
    monday = day - timedelta(days=day.weekday())
    weeks = {"last": (-1, 0), "past": (-1, 0), "next": (0, 1)}.get(which) or (
        (_WHICH[which],) if which in _WHICH and which not in ("this", "coming") else (-1, 0, 1)
    )
    days = [monday + timedelta(weeks=week, days=number) for week in weeks]
    if which in ("last", "past", "next"):
        days = [each for each in days if (each > day) == (which == "next")]
    elif len(weeks) > 1:
        days = [each for each in days if abs((each - day).days) <= _A_WEEK]
    return [Span(each, each) for each in days]


def _stretch(match: re.Match[str], day: date) -> list[Span]:
    """A week, its end, a month or a year, before or after this one."""
    count, unit = _WHICH[_which(match)], match["unit"].lower()
    if unit in ("week", "周", "星期", "礼拜"):
        monday = day - timedelta(days=day.weekday()) + timedelta(weeks=count)
        return [Span(monday, monday + timedelta(days=6))]
    if unit in ("weekend", "周末"):
        # The coming weekend is "next weekend" to some.
        saturdays = [day + timedelta(days=5 - day.weekday(), weeks=week) for week in {count, min(count, 0)}]
        return [Span(each, each + timedelta(days=1)) for each in saturdays]
    if unit in ("month", "月"):
        return [_month_of(_months_on(day.replace(day=1), count))]
    return [Span(date(day.year + count, 1, 1), date(day.year + count, 12, 31))]


def _away(match: re.Match[str], day: date) -> list[Span]:
    """So many days, weeks, months or years from the day. What is counted in longer units is less exact."""
    parts = match.groupdict()
    count = _number(parts["count"])
    count = -count if parts.get("back") else count
    unit = parts["unit"].lower().removeprefix("个")
    if unit[0] in "d天":
        about, around = day + timedelta(days=count), 0
    elif unit[0] in "w周星礼":
        about, around = day + timedelta(weeks=count), 3
    elif unit[0] in "m月":
        about, around = _months_on(day, count), 3
        return [Span(about - timedelta(days=around), about + timedelta(days=around)), _month_of(about)]
    else:
        about = _months_on(day, 12 * count)
        return [_month_of(about), Span(date(about.year, 1, 1), date(about.year, 12, 31))]
    return [Span(about - timedelta(days=around), about + timedelta(days=around))]


def _day_of_month(match: re.Match[str], day: date) -> list[Span]:
    spans = []
    for month in (_WHICH[_which(match)],) if match.groupdict().get("which") else (-1, 0, 1):
        the_day = _months_on(day.replace(day=1), month).replace(day=_number(match["day"]))
        spans.append(Span(the_day, the_day))
    return spans


def _in_figures(match: re.Match[str], day: date) -> list[Span]:
    """A day and a month such as "12/18", in either order."""
    one, two = int(match["one"]), int(match["two"])
    year = match["year"]
    years = [int(year) if len(year) == len("2026") else 2000 + int(year)] if year else range(day.year - 1, day.year + 2)
    pairs = [(month, number) for month, number in ((one, two), (two, one)) if 1 <= month <= _MONTHS_A_YEAR]
    days = [date(year, month, number) for year in years for month, number in pairs]
    return [Span(each, each) for each in days]


def _feast(month: int, first: int, last: int) -> Read:
    def read(_: re.Match[str], day: date) -> list[Span]:
        return [Span(date(year, month, first), date(year, month, last)) for year in range(day.year - 1, day.year + 2)]

    return read


_HAN_WHICH: Final = r"(?P<which>上上|下下|[上下这]一?个?|本)"
_HAN_COUNT: Final = r"(?P<count>\d{1,3}|[一二两三四五六七八九十几]{1,3})\s*(?P<unit>天|周|个?星期|个?礼拜|个?月|年)"
_WEEKDAY: Final = "mon|tues?|wed(?:nes)?|thu(?:rs?)?|fri|sat(?:ur)?|sun"
_COUNT: Final = r"(?P<count>\d{1,3}|an?|a couple of|couple of|a few|" + "|".join(list(_COUNTS)[1:13]) + ")"
_RELATIVE: Final = tuple(
    (re.compile(pattern, re.IGNORECASE), read)
    for pattern, read in (
        (r"\b(?:today|tonight|this (?:morning|afternoon|evening))\b|今[天晚早日]|今儿", _days_on(0)),
        (r"\btomorrow\b|明[天晚早日]|明儿", _days_on(1)),
        (r"\bday after tomorrow\b|(?<!大)后天", _days_on(2)),
        (r"大后天", _days_on(3)),
        (r"\b(?:yesterday|last night)\b|昨[天晚日]", _days_on(-1)),
        (r"\bday before yesterday\b|(?<!大)前天", _days_on(-2)),
        (rf"\b(?:(?P<which>last|past|this|coming|next)\s+)?(?P<name>{_WEEKDAY})(?:day)?s?\b", _week_day),
        (rf"{_HAN_WHICH}?(?:周|星期|礼拜)(?P<name>[一二三四五六日天])", _week_day),
        (r"\b(?P<which>last|past|previous|this|coming|next|following)\s+(?P<unit>weekend|week|month|year)\b", _stretch),
        (rf"{_HAN_WHICH}(?P<unit>周末|周|星期|礼拜|月)(?![一二三四五六日天])", _stretch),
        (r"\b(?P<which>the) (?P<unit>weekend)\b", _stretch),
        (r"(?<![上下这本个])(?P<which>)(?P<unit>周末)", _stretch),
        (r"(?P<which>[今明后去前])(?P<unit>年)", _stretch),
        (rf"\b(?:in|within|after)\s+{_COUNT}\s+(?P<unit>day|week|month|year)s?\b", _away),
        (rf"\b{_COUNT}\s+(?P<unit>day|week|month|year)s?\s+(?:from (?:now|today)|later)\b", _away),
        (rf"\b{_COUNT}\s+(?P<unit>day|week|month|year)s?\s+(?P<back>ago|earlier|before)\b", _away),
        (rf"{_HAN_COUNT}(?:以?后|之后)", _away),
        (rf"{_HAN_COUNT}(?P<back>以?前|之前)", _away),
        (r"(?<![\d./-])(?P<one>\d{1,2})[/.-](?P<two>\d{1,2})(?:[/.-](?P<year>\d{4}|\d\d))?(?![\d/.-]*\d)", _in_figures),
        (r"\bthe (?P<day>\d{1,2})(?:st|nd|rd|th)\b(?! of [A-Za-z])", _day_of_month),
        (rf"{_HAN_WHICH}月(?P<day>{_NUMERAL})[日号]", _day_of_month),
        (rf"(?<![月\d零一二三四五六七八九十])(?P<day>{_NUMERAL})[日号](?![线楼房院])", _day_of_month),
        (r"\bchristmas\b|圣诞", _feast(12, 24, 26)),
        (r"\bnew year(?:'s)?(?: day)?\b|元旦", _feast(1, 1, 1)),
        (r"\bnew year's eve\b|跨年", _feast(12, 31, 31)),
        (r"\bhalloween\b|万圣", _feast(10, 31, 31)),
        (r"\bvalentine'?s\b|情人节", _feast(2, 14, 14)),
        (r"国庆|十一(?:长假|假期)", _feast(10, 1, 7)),
        (r"劳动节|五一", _feast(5, 1, 5)),
    )
)
