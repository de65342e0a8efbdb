"""A request of a browser that is signed in: whose memories it looks at, its address, its language and its texts."""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, tzinfo
from typing import Any, Final
from urllib.parse import urlencode

from gateway_memory.edge.phrases import Language
from gateway_memory.errors import UsageError
from gateway_memory.ground.calendar import Span
from gateway_memory.memory import GatewayMemory
from gateway_memory.scope import OWNER_KEY, OWNER_SCOPE, Scope
from gateway_memory.serving.errors import ServiceError
from gateway_memory.serving.page.words import word
from gateway_memory.sessions.session import Session

_DIGITS: Final = 18
_MOST: Final = 10**_DIGITS - 1
"""The largest number in an address: databases hold it, and the next one too."""
CUT: Final = 3000
"""Characters of a text that a page shows."""
_SHORT: Final = 3
"""Letters of a month's short name; a Chinese one has no more."""


class NothingHere(ServiceError):  # noqa: N818 - an answer, no error
    """Raised for an address that names nothing."""

    def __init__(self) -> None:
        super().__init__("not_found", "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """What a form's command answered. undo: the memory whose last change a button takes back, "" for none.

    of: the key of the scope in which that memory is.
    """

    text: str
    done: bool
    undo: str = ""
    of: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Viewer:
    """A request of a browser that is signed in. of: the key of the scope that it looks at.

    name: what that scope is called, in the browser's language.
    query: the arguments of the address, with those in the path, whose names `in_path` has.

    form_token: what each form of this browser carries. path: the path without the query.
    """

    memory: GatewayMemory
    session: Session
    of: str
    name: str
    language: Language
    path: str
    query: Mapping[str, str]
    form_token: str
    notes: Sequence[Note] = field(default=())
    in_path: Collection[str] = field(default=())

    @property
    def zone(self) -> tzinfo | None:
        """The zone in which days are shown."""
        return self.memory.zone

    @property
    def back(self) -> str:
        """The page of ours that this one was opened from, "" for none that is named."""
        return own_address(self.query.get("back", ""))

    @property
    def here(self) -> str:
        """The address of this page, to come back to."""
        query = {name: value for name, value in self.query.items() if name not in self.in_path}
        return f"{self.path}?{urlencode(query)}" if query else self.path

    def number(self, name: str, default: int = 0, *, most: int = _MOST) -> int:
        """Return a whole number of the query, from 0 to `most`.

        Raises:
            NothingHere: it is something else.
        """
        text = self.query.get(name)
        if not text:
            return default
        if not text.isascii() or not text.isdigit() or len(text) > _DIGITS or int(text) > most:
            raise NothingHere
        return int(text)

    def is_at(self, path: str) -> bool:
        """Return whether this page is one of those below a path."""
        return self.path == path or (path != "/" and self.path.startswith(f"{path}/"))

    def word(self, name: str, /, **values: object) -> str:
        """Return a text of the page in the browser's language."""
        return word(self.language, name, **values)

    def link(self, path: str, /, **query: object) -> str:
        """Return an address of the page, for the same scope unless the query names another one as `of`."""
        query = {"of": self.of, **query}
        if query["of"] == OWNER_KEY:
            del query["of"]
        given = {name: value for name, value in query.items() if value not in ("", None)}
        return f"{path}?{urlencode(given)}" if given else path

    def moment(self, at: float) -> str:
        """Return a time (epoch seconds) as people read it: today's and yesterday's by that, older ones by their day."""
        local = self.local(at)
        ago = (self.today() - local.date()).days
        if ago in (0, 1):
            return self.word("at_today" if ago == 0 else "at_yesterday", time=f"{local:%H:%M}")
        return f"{self.day(local.date())} {local:%H:%M}" if local.year == self.today().year else self.day(local.date())

    def told(self, iso: str) -> str:
        """Return an ISO 8601 time as `moment` does."""
        return self.moment(datetime.fromisoformat(iso).timestamp())

    def day(self, day: date, *, long: bool = False) -> str:
        """Return a day as people read it, without the year if that is the current one; `long` with its weekday."""
        month = self.months[day.month - 1] if long else self.months[day.month - 1][:_SHORT]
        name = "day_this_year" if day.year == self.today().year else "day_other_year"
        written = self.word(name, day=day.day, month=month, year=day.year)
        return self.word("day_long", weekday=self.weekdays[day.weekday()], day=written) if long else written

    def days(self, days: Span) -> str:
        """Return the first of some days as people read it, and a whole month as one: "December", not 1 December."""
        if not days.is_month:
            return self.day(days.first)
        name = "month_this_year" if days.first.year == self.today().year else "month_other_year"
        return self.word(name, month=self.months[days.first.month - 1], year=days.first.year)

    @property
    def months(self) -> Sequence[str]:
        """The names of the months, from January."""
        return self.word("months").split()

    @property
    def weekdays(self) -> Sequence[str]:
        """The names of the weekdays, from Monday."""
        return self.word("weekdays").split()

    def local(self, at: float) -> datetime:
        """Return a time (epoch seconds) in the configured zone."""
        return datetime.fromtimestamp(at, self.zone).astimezone(self.zone)

    async def of_scope(self, scope: str) -> Session:
        """Return the session in which the page reads another scope."""
        return await session_for(self.memory, scope, self.language)

    def today(self) -> date:
        """Return the current day in the configured zone."""
        return self.memory.now().astimezone(self.zone).date()


def own_address(text: str) -> str:
    """Return an address that leads to a page of ours; "" for any other."""
    return text if text.startswith("/") and not text.startswith(("//", "/\\")) and text.isprintable() else ""


async def session_for(memory: GatewayMemory, scope: str, language: Language) -> Session:
    """Return the session in which a page reads and changes a scope.

    Raises:
        NothingHere: there is no such scope.
    """
    try:
        parsed = Scope.parse(scope)
    except UsageError:
        raise NothingHere from None
    if parsed != OWNER_SCOPE and not await memory.browsing.holds(parsed):
        raise NothingHere
    session = await memory.visit(**parsed.whose)
    session.language = language
    return session


Values = Mapping[str, Any]
View = Callable[[Viewer], Awaitable[Values]]
