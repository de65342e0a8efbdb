"""What was said in a conversation: the names, numbers and dates that may stand in what a model makes of it.

Numbers are compared by value ("twelve", 十二, "12"), names without case and accents, dates as spans of days, so that
"tomorrow" tells the date of the day after, and hours on either clock.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import date
from functools import cached_property
from typing import Final

from extractor.language.values import numbers_of, numbers_stated, times_of
from extractor.language.vocabulary import names_of_kind
from extractor.tables import table
from gateway_memory.ground.calendar import Every, Span, day_span
from gateway_memory.ground.dates import dates_of, mentions, relative_dates_of, without_dates
from gateway_memory.ground.tables import has_han

_TABLE: Final = table("believing")
_PATTERNS: Final = _TABLE.patterns()
_NO_NAMES: Final = _TABLE.sets("words")["no names"]

_HAN: Final = re.compile(r"[\u3400-\u9fff]")
_WHOLE: Final = re.compile(r"[A-Za-z0-9+#]+")
_PART: Final = re.compile(r"[A-Za-z]+|\d+")
_LATIN: Final = re.compile(r"[A-Za-z][A-Za-z0-9+#]*")
_NAME: Final = re.compile(
    r"(?<![A-Za-z0-9'’])(?:[A-Z][A-Za-z0-9+#]*|[a-z]+\d\w*|\d+(?!(?:st|nd|rd|th|s|am|pm|k|m|w)\b)[A-Za-z]\w*)", re.ASCII
)
# A capital is no sign of a name at the start of a sentence, of an item and of a heading.
_START: Final = re.compile(r"(?:\A|[.!?:;)…。：；\"“'‘(\[])\s*(?:\(?\d{1,2}[.)]\s*|[-*•]\s*)?\Z")
_TITLE: Final = re.compile(r"\b[A-Z][a-z]{0,3}\.\s*\Z")
_HEADING: Final = re.compile(r"\A[^:.]{1,60}:(?=\s)")
_CODE: Final = re.compile(r"(?=[\w.:/-]*\d)[A-Za-z0-9][\w.:/-]*", re.ASCII)
_THOUSANDS: Final = re.compile(r"(?<=\d),(?=\d{3}\b)")
_PLAIN_NUMBER: Final = re.compile(r"\d[\d.,]*(?:k|m|st|nd|rd|th|s|am|pm)?[.,]?", re.IGNORECASE)
_HALF_A_DAY: Final = 12
_AGES: Final = frozenset(map(float, range(1, 121)))
"""Years of which somebody may tell how long ago something was."""
_OF_A_FORM: Final = re.compile(r"\b(?:12|24)[- ]?(?:hour|h\b)|(?:12|24)小时", re.IGNORECASE)
_YEAR: Final = re.compile(r"(?:19|20)\d\d")
_CLOCK: Final = re.compile(r"(?<!\d)([01]?\d|2[0-4])[:：]([0-5]\d)(?!\d)(?:\s?[ap]\.?m\b\.?)?", re.IGNORECASE)


class Sources:
    """Texts in which something may have been said, read once. pieces: each with its day. named: others, for names."""

    def __init__(self, pieces: Iterable[tuple[str, date]], named: Iterable[str] = ()) -> None:
        self._pieces = [(text, day) for text, day in pieces if text.strip()]
        self._text = "\n".join(text for text, _ in self._pieces)
        self._named = "\n".join([self._text, *named])

    @cached_property
    def _told(self) -> frozenset[float]:
        return numbers_of(self._text) | set(map(float, re.findall(r"\d+", self._text)))

    @cached_property
    def _numbers(self) -> frozenset[float]:
        """The numbers that were told, and years: by themselves, or by how long ago they are."""
        ago = {year - number for year in self._years for number in self._told & _AGES}
        return self._told | self._years | ago

    @cached_property
    def _days(self) -> frozenset[Span]:
        """The days on which it was said."""
        return frozenset(day_span(day) for _, day in self._pieces)

    @cached_property
    def _again(self) -> list[Every]:
        return [each.every for text, day in self._pieces for each in mentions(text, day) if each.every]

    @cached_property
    def _times(self) -> frozenset[tuple[int, int]]:
        return times_of(self._text)

    @cached_property
    def _years(self) -> frozenset[float]:
        """The years in which somebody spoke, or of which they did."""
        return frozenset(float(day.year) for span in self._spans | self._days for day in (span.first, span.last))

    @cached_property
    def _names(self) -> frozenset[str]:
        text = _unaccented(self._named)
        return frozenset(map(_bare, [*_WHOLE.findall(text), *_PART.findall(text)]))

    @cached_property
    def _characters(self) -> frozenset[str]:
        return frozenset(self._named)

    @cached_property
    def _spans(self) -> frozenset[Span]:
        spans = {span for text, day in self._pieces for span in relative_dates_of(text, day)}
        return frozenset(spans.union(*(meant for text, day in self._pieces for meant in dates_of(text, day))))

    def tell(self, spans: Iterable[Span]) -> bool:
        """Return whether somebody spoke of these days, or of a number of years between them and such a day."""
        return all(
            any(known.tells(each) for each in (span, *self._shifted(span)) for known in self._spans | self._days)
            for span in spans
        )

    def _shifted(self, span: Span) -> Iterator[Span]:
        for number in self._told & _AGES:
            for years in (int(number), -int(number)):
                with suppress(ValueError):  # the 29th of February
                    yield Span(
                        span.first.replace(year=span.first.year + years), span.last.replace(year=span.last.year + years)
                    )

    def has_dates_and_numbers(self, content: str, day: date) -> bool:
        """Return whether all dates, hours and numbers of a statement were said. day: the day of the statement."""
        for mention in mentions(content, day):
            dates = mention.spans if mention.written else ()
            if dates and not any(self._is_told_year(span) or self.tell([span]) for span in dates):
                return False
            if mention.every and not self._tells_again(mention.every):
                return False
            if not set(map(float, _YEAR.findall(content[mention.start : mention.end]))) <= self._numbers:
                return False
        plain = _OF_A_FORM.sub(" ", without_dates(content, day))
        times = {(int(hour) % _HALF_A_DAY, int(minute)) for hour, minute in _CLOCK.findall(plain)}
        return times <= self._times and numbers_stated(_CLOCK.sub(" ", plain)) <= self._numbers

    def _is_told_year(self, span: Span) -> bool:
        year = span.first.year
        return span == Span(date(year, 1, 1), date(year, 12, 31)) and year in self._numbers

    def _tells_again(self, every: Every) -> bool:
        """Return whether what comes again may be what was said: of another day than was named, it is not."""
        days = [span.first for span in self._spans if span.days == 1]
        weekdays = {day.weekday() for day in days}.union(*(each.weekdays for each in self._again))
        if every.weekdays and weekdays:
            return not weekdays.isdisjoint(every.weekdays)
        if not (every.month and every.day):
            return True
        of_year = {(each.month, each.day) for each in self._again if each.month and each.day}
        if (every.month, every.day) in of_year or not (of_year or days):
            return True
        for year in {span.first.year for span in self._spans}:
            with suppress(ValueError):  # the 29th of February
                day = day_span(date(year, every.month, every.day))
                if any(known.tells(day) for known in self._spans):
                    return True
        return False

    def has_names(self, content: str) -> bool:
        """Return whether all names in a statement were said."""
        if not all(_bare(name) in self._names for name in _names_of(content)):
            return False
        for match in _PATTERNS["name Chinese"].finditer(content):
            if match["person"] and match["person"] not in self._named:
                return False
            if match["place"] and self._characters.isdisjoint(match["place"]):
                return False
        called = _PATTERNS["called Chinese"].finditer(content)
        return all(self._characters.issuperset(match["name"]) for match in called)

    def has_person(self, name: str) -> bool:
        """Return whether the name of a person was said; a relation may be called otherwise ("wife", 媳妇)."""
        if has_han(name) and not names_of_kind(name).get("kin"):
            return self._characters.issuperset(each for each in name if has_han(each))
        return self.has_names(f"of {name}")

    def has_what_is_named(self, text: str) -> bool:
        """Return whether all names, numbers and codes of a text were said: "heron-stg-01" in these very letters."""
        known, text = self._text.casefold(), _THOUSANDS.sub("", text)
        codes = [code for code in _CODE.findall(text) if code.casefold().strip(".-:/") not in known]
        stated = numbers_of(" ".join(codes)) | numbers_stated(_CODE.sub(" ", text))
        return all(map(_PLAIN_NUMBER.fullmatch, codes)) and stated <= self._numbers and self.has_names(text)


def _names_of(content: str) -> set[str]:
    content = _HEADING.sub(lambda heading: heading[0].lower(), _unaccented(content))
    names: set[str] = set()
    chinese = len(_HAN.findall(content)) > len(_LATIN.findall(content))  # where any Latin word is a name or a term
    for match in (_LATIN if chinese else _NAME).finditer(content):
        before = content[: match.start()]
        if chinese or not match[0].isalpha() or not _START.search(before) or _TITLE.search(before):
            names.add(match[0])
    return {name for name in names if name.casefold() not in _NO_NAMES}


def _bare(name: str) -> str:
    return name.casefold().rstrip("s")


def _unaccented(text: str) -> str:
    return "".join(each for each in unicodedata.normalize("NFKD", text) if not unicodedata.combining(each))
