"""The days that a message names, such as "last Tuesday" and 上周五, and questions about what was said on them."""

import re
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta, tzinfo
from typing import Final, NamedTuple


class Span(NamedTuple):
    """Epoch seconds, start <= t < end, and a weight: 1 for a day, less for a month, little for a year."""

    start: float
    end: float
    weight: float


_LONGEST = 500
_DAY, _WEEK, _MONTH, _YEAR = 1.0, 0.8, 0.7, 0.2
_MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()
_WEEKDAYS = "mon tue wed thu fri sat sun".split()
_NUMBERS = {word: number for number, word in enumerate("zero one two three four five six seven eight nine ten".split())}
_NUMBERS |= {"a": 1, "an": 1, "couple of": 2, "few": 3}
_HAN = {word: number for number, word in enumerate("〇一二三四五六七八九")} | {"两": 2, "零": 0, "几": 3, "十": 10}

_MONTH_NAME = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?)"
)
_WEEKDAY_NAME = r"(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?"
_COUNT = r"(?P<count>\d{1,3}|an?|one|two|three|four|five|six|seven|eight|nine|ten|(?:a )?couple of|(?:a )?few)"
_HAN_COUNT = r"(?P<count>\d{1,3}|[一二两三四五六七八九十几]{1,3})"
_HAN_DAY = r"(?P<day>\d{1,2}|[一二三四五六七八九十]{1,3})[日号]"

_ANY_MONTH = tuple(_MONTHS)
_ANY_WEEKDAY = tuple(_WEEKDAYS)
# The kind of a pattern, substrings of which a text must have one, and the pattern, in lower case.
_PATTERNS = tuple(
    (kind, needs, re.compile(pattern))
    for kind, needs, pattern in (
        ("date", ("-", "/", "."), r"(?<!\d)(?P<year>(?:19|20)\d\d)[-/.](?P<month>\d{1,2})[-/.](?P<day>\d{1,2})(?!\d)"),
        ("date", _ANY_MONTH, rf"\b(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?: of)? (?P<month>{_MONTH_NAME})\b\.?(?:,? ?(?P<year>(?:19|20)\d\d))?"),
        ("date", _ANY_MONTH, rf"\b(?P<month>{_MONTH_NAME})\.? (?P<day>\d{{1,2}})(?:st|nd|rd|th)?\b(?!\d)(?:,? ?(?P<year>(?:19|20)\d\d))?"),
        ("date", ("月",), rf"(?:(?P<year>(?:19|20)\d\d|今年|去年|前年)年?)?(?P<month>\d{{1,2}}|[一二三四五六七八九十]{{1,2}})月(?:份)?(?:{_HAN_DAY})?"),
        ("date", _ANY_MONTH, rf"\b(?P<month>{_MONTH_NAME})\b\.?(?: of)?,? (?P<year>(?:19|20)\d\d)\b"),
        # A month's name alone only where it can be no other word: "may" and "march" are.
        ("date", _ANY_MONTH, rf"\b(?:in|during|since|last|this|early|late|mid|of) ?-?(?P<month>{_MONTH_NAME})\b"),
        ("date", ("年",), r"(?<!\d)(?P<year>(?:19|20)\d\d)年"),
        ("date", (" 19", " 20"), r"\b(?:in|during|of|since) (?P<year>(?:19|20)\d\d)\b"),
        ("ago", (" ago", " back", " earlier"), rf"\b{_COUNT} (?P<unit>day|week|month|year)s? (?:ago|back|earlier)\b"),
        ("ago", ("前",), rf"{_HAN_COUNT}个?(?P<unit>天|日|星期|周|礼拜|月|年)(?:之前|以前|前)"),
        ("named", ("yesterday", "last ", "this ", "to"), r"\b(?P<name>the day before yesterday|yesterday|last night|today|this morning|tonight|this week|last week(?:end)?|last month|last year|this month|this year)\b"),
        ("named", ("天", "昨", "今", "周", "星期", "礼拜", "月", "年"), r"(?P<name>大前天|前天|昨天|昨晚|昨日|今天|今早|今晚|上个?周末|上上个?(?:周|星期)(?![一二三四五六日天末])|上个?(?:周|星期|礼拜)(?![一二三四五六日天末])|这个?(?:周|星期)(?![一二三四五六日天末])|上个?月|这个月|本月|去年|今年|前年)(?!\d|[一二三四五六七八九十]+月)"),
        ("weekday", _ANY_WEEKDAY, rf"\b(?:last|on|this past|past) (?P<weekday>{_WEEKDAY_NAME})\b"),
        ("weekday", ("周", "星期", "礼拜"), r"(?P<last>上|这)?个?(?:周|星期|礼拜)(?P<weekday>[一二三四五六日天])"),
    )
)  # fmt: skip


def spans_of(text: str, now: float, zone: tzinfo | None) -> tuple[Span, ...]:
    """Return the spans of time that a text names, seen from `now` (epoch seconds); `zone` None is the host's own."""
    text = text[:_LONGEST].lower()
    possible = [(kind, pattern) for kind, needs, pattern in _PATTERNS if any(map(text.__contains__, needs))]
    if not possible:
        return ()
    today = datetime.fromtimestamp(now, UTC).astimezone(zone).date()
    spans: list[Span] = []
    taken: list[tuple[int, int]] = []
    for kind, pattern in possible:
        for match in pattern.finditer(text):
            if any(match.start() < end and start < match.end() for start, end in taken):
                continue
            days = list(_days(kind, match, today))
            if days:
                taken.append(match.span())
            spans.extend(
                Span(_epoch(first, zone), _epoch(last + timedelta(days=1), zone), weight)
                for first, last, weight in days
            )
    return tuple(spans[:8])


def _days(kind: str, match: re.Match[str], today: date) -> Iterator[tuple[date, date, float]]:
    try:
        if kind == "date":
            yield from _dates(match, today)
        elif kind == "ago":
            yield _ago(match["count"], match["unit"], today)
        elif kind == "named":
            yield _named(match["name"], today)
        else:
            yield _weekday(match, today)
    except (ValueError, OverflowError):
        # 31 February and the like name no day.
        return


def _dates(match: re.Match[str], today: date) -> Iterator[tuple[date, date, float]]:
    groups = match.groupdict()
    year, month, day = (groups.get(name) for name in ("year", "month", "day"))
    number = {"今年": today.year, "去年": today.year - 1, "前年": today.year - 2}.get(year or "") or (
        int(year) if year else None
    )
    if month is None:
        assert number is not None
        yield date(number, 1, 1), date(number, 12, 31), _YEAR
        return
    of_year = _MONTHS.index(month[:3]) + 1 if month[0].isascii() and month[0].isalpha() else _number(month)
    # Without a year: this year, unless that is in the future, and the two years before.
    for candidate in (number,) if number else (today.year, today.year - 1, today.year - 2):
        first = date(candidate, of_year, _number(day) if day else 1)
        if number is None and first > today:
            continue
        yield (first, first, _DAY) if day else (first, _month_end(first), _MONTH)


def _ago(count: str, unit: str, today: date) -> tuple[date, date, float]:
    number = _number(count)
    if unit in ("day", "天", "日"):
        slack = number // 4
        day = today - timedelta(days=number)
        return day - timedelta(days=slack), day + timedelta(days=slack), _DAY
    if unit in ("week", "星期", "周", "礼拜"):
        day = today - timedelta(weeks=number)
        return day - timedelta(days=4), day + timedelta(days=4), _WEEK
    if unit in ("month", "月"):
        day = today - timedelta(days=30 * number)
        return day - timedelta(days=16), day + timedelta(days=16), _MONTH
    return date(today.year - number, 1, 1), date(today.year - number, 12, 31), _YEAR


def _named(name: str, today: date) -> tuple[date, date, float]:
    monday = today - timedelta(days=today.weekday())
    back = {
        "大前天": 3,
        "前天": 2,
        "the day before yesterday": 2,
        "昨天": 1,
        "昨晚": 1,
        "昨日": 1,
        "yesterday": 1,
        "last night": 1,
    }
    if name in back:
        day = today - timedelta(days=back[name])
        return day, day, _DAY
    if name in ("today", "this morning", "tonight", "今天", "今早", "今晚"):
        # Messages often say "today" without asking for a memory of today.
        return today, today, _YEAR
    if name.endswith(("weekend", "周末")):
        return monday - timedelta(days=2), monday - timedelta(days=1), _DAY
    if "week" in name or "周" in name or "星期" in name or "礼拜" in name:
        weeks = 2 if name.startswith("上上") else 0 if name.startswith(("this", "这")) else 1
        first = monday - timedelta(weeks=weeks)
        return first, first + timedelta(days=6), _WEEK
    if "month" in name or "月" in name:
        first = today.replace(day=1)
        if not name.startswith(("this", "这", "本")):
            first = (first - timedelta(days=1)).replace(day=1)
        return first, _month_end(first), _MONTH
    years = {"前年": 2, "去年": 1, "last year": 1}.get(name, 0)
    return date(today.year - years, 1, 1), date(today.year - years, 12, 31), _YEAR


def _weekday(match: re.Match[str], today: date) -> tuple[date, date, float]:
    name = match["weekday"]
    wanted = "一二三四五六日天".index(name) % 7 if not name.isascii() else _WEEKDAYS.index(name[:3])
    if name == "天":
        wanted = 6
    if match.groupdict().get("last") == "上":
        # 上周五 is the Friday of last week; "last Friday" the one before today.
        day = today - timedelta(days=today.weekday() + 7 - wanted)
    else:
        day = today - timedelta(days=(today.weekday() - wanted) % 7 or 7)
    return day, day, _DAY


def _number(text: str) -> int:
    text = text.removeprefix("a ") if text.startswith("a ") else text
    if text.isdigit():
        return int(text)
    if text in _NUMBERS:
        return _NUMBERS[text]
    tens, ten, ones = text.rpartition("十")
    if ten:
        return (_HAN[tens] if tens else 1) * 10 + (_HAN[ones] if ones else 0)
    try:
        return _HAN[text]
    except KeyError:
        raise ValueError(text) from None


def _month_end(first: date) -> date:
    return (first.replace(day=28) + timedelta(days=4)).replace(day=1) - timedelta(days=1)


def _epoch(day: date, zone: tzinfo | None) -> float:
    """Return when a day begins. A time without a zone is the host's own."""
    return datetime(day.year, day.month, day.day, tzinfo=zone).timestamp()


_PAST = re.compile(
    r"\b(?:did|didn't|was|were|had|has|have|ever|used to|when)\b|曾|以前|之前|当时|那次|上次|什么时候|哪[年天次]|过[吗么什哪]",
    re.IGNORECASE,
)
_OVER = re.compile(
    r"\b(?:did|was|were|had|ever|used to|before|previously|formerly|earlier|originally|once|back then)\b"
    r"|曾|以前|之前|当时|那时|原来|从前|过去|早先|先前",
    re.IGNORECASE,
)
_LONGEST_QUESTION_OF_PAST = 120


def looks_back(text: str) -> bool:
    """Return whether a message is a short question about the past, for which recency says nothing."""
    text = text.strip()
    return len(text) <= _LONGEST_QUESTION_OF_PAST and text.endswith(("?", "？")) and _PAST.search(text) is not None


def asks_what_was(text: str) -> bool:
    """Return whether a message is a short question about what was, so that what is over answers it too."""
    text = text.strip()
    return len(text) <= _LONGEST_QUESTION_OF_PAST and text.endswith(("?", "？")) and _OVER.search(text) is not None


# Questions about what was said at a time: "What did we talk about last Tuesday?", "上周三我们聊了什么".

_LONGEST_QUESTION_OF_TALK: Final = 160
_LONGEST_SECONDS: Final = 32 * 86400
_SENTENCE: Final = re.compile(r"[^.!?。！？]+[.!?。！？]*")
# We or one of us two talked; what others said on a day was told on another.
_ENGLISH: Final = re.compile(
    r"(?<!can )(?<!could )\b(?:we|i|you|our|us)\b(?: \w+){0,3}? (?:talk|discuss|chat|sp[eo][ao]k|say|said|t[eo]ll|told"
    r"|mention|ask|cover|go over|went over|decide|agree|recommend|suggest|conversation|discussion|session)",
)
_ASKING: Final = re.compile(r"\b(?:what|which|anything|something|remind|recap|summar|did|show|list|tell me)")
_CHINESE: Final = re.compile(
    r"(?:我们?|咱们?|你).{0,16}(?:聊|谈|讨论|说|讲|提|问|推荐|决定)|^.{0,8}(?:聊|谈论?|讨论)[了过的到]|^.{0,8}的(?:对话|聊天|谈话|讨论)"
)
_CHINESE_ASKING: Final = re.compile(r"什么|啥|哪些|哪[几两]|多少|吗|内容|总结|回顾|记得|提醒|[?？]")
_WITH_OTHERS: Final = re.compile(r"[与和跟同](?!你|我|咱)")


def talk_of(text: str, now: float, zone: tzinfo | None) -> Span | None:
    """Return the past time whose talk a message asks for, None where it asks for none.

    The time is a day, a week or a month; a date without a year is the last one. `now`: epoch seconds.
    """
    text = text.strip().lower()
    if len(text) > _LONGEST_QUESTION_OF_TALK:
        return None
    for sentence in filter(_asks, _SENTENCE.findall(text)):
        spans = [span for span in spans_of(sentence, now, zone) if span.end - span.start <= _LONGEST_SECONDS]
        if spans:
            return next((span for span in spans if span.start <= now), None)
    return None


def _asks(sentence: str) -> bool:
    if _ENGLISH.search(sentence):
        return _ASKING.search(sentence) is not None
    asks = _CHINESE.search(sentence) and _CHINESE_ASKING.search(sentence)
    return bool(asks) and not _WITH_OTHERS.search(sentence)
