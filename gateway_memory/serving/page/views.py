"""What each page shows: a function returns the values that its template, which has the function's name, is filled with.

To add a page, write its function and its template, add it to `VIEWS`, and its texts to `edge/texts/page.json`.
"""

import asyncio
import calendar
import json
from collections.abc import Mapping, Sequence
from datetime import date, datetime, timedelta
from functools import reduce
from operator import getitem
from typing import Any, Final

from extractor import CATEGORIES, same_text
from gateway_memory.commands.search import SEARCHED_KINDS, as_filter
from gateway_memory.commands.status import failure_in_words
from gateway_memory.config.keys import known_keys, known_paths
from gateway_memory.config.scan import KeyPath, dotted
from gateway_memory.config.settings import Config
from gateway_memory.edge.config_reference import MEMORY, meanings, named, render_config
from gateway_memory.edge.phrases import texts
from gateway_memory.errors import UsageError
from gateway_memory.scope import Scope
from gateway_memory.serving.page.deleting import deletion
from gateway_memory.serving.page.faces import labels_of, people
from gateway_memory.serving.page.marking import doubted, evidence
from gateway_memory.serving.page.pictures import money, over_time
from gateway_memory.serving.page.portraits import about, portrait
from gateway_memory.serving.page.trying import FIELDS, file_of, rows_of, state_of, trial
from gateway_memory.serving.page.viewer import CUT, NothingHere, Values, View, Viewer
from gateway_memory.serving.page.words import sides_of
from gateway_memory.store.documents import is_writable
from gateway_memory.store.journal.ledger import HistoryLine
from gateway_memory.store.memory_record import EXCHANGE
from gateway_memory.store.patches import digest_of
from gateway_memory.store.plan import Receipt
from gateway_memory.store.unmarked import without_marks
from gateway_memory.store.validity import marked
from recall import Filter

_REVIEWS: Final = 100


async def review(viewer: Viewer) -> Values:
    """The pending memories, each with its reason, the exchange it was learnt from, and the line it contradicts."""
    words = viewer.query.get("q", "")
    reviews = (await viewer.memory.record(viewer.session, "review", words))["reviews"]
    rows = []
    for row in reviews[:_REVIEWS]:
        session = viewer.session if row["scope"] == viewer.of else await viewer.of_scope(row["scope"])
        talk = await viewer.memory.browsing.talk(session, row["turn"], around=0) if row["turn"] else None
        said = talk.said[0] if talk else None
        sides = (said.user[:CUT], said.reply[:CUT]) if said else ("", "")
        marked = doubted(row["text"][:CUT], against=row["against_text"][:CUT], said=sides, quote=row["quote"])
        rows.append({**row, "said": said, "marked": marked})
    scopes = [Scope.parse(key) for key in dict.fromkeys(row["scope"] for row in rows)]
    labels = await labels_of(viewer.memory.browsing.people, scopes, viewer.language)
    labels_by_key = {scope.key: label for scope, label in labels.items()}
    return {"rows": rows, "words": words, "more": len(reviews) - len(rows), "labels": labels_by_key}


_SERVICE: Final[KeyPath] = ("serve",)


async def settings(viewer: Viewer) -> Values:
    """The settings in force, by section: of each key its name, value, default and meaning, and whether it `differs`."""
    config, told = viewer.memory.config, meanings(viewer.language)
    in_force = json.loads(render_config(Config(defaults=config.for_agent(viewer.memory.agent), serve=config.serve)))
    defaults = json.loads(render_config(Config()))
    sections: dict[str, dict[str, Any]] = {}
    for root in (MEMORY, _SERVICE):
        for path in known_paths(root):
            if known_keys(path):
                continue
            value, default = (
                json.dumps(reduce(getitem, path, document), ensure_ascii=False) for document in (in_force, defaults)
            )
            name = named(path)
            below = path[: len(root) + 1] if root == MEMORY else root
            section = name.partition(".")[0]
            about = told.get(below, "") if "." in name else ""
            rows = sections.setdefault(section, {"about": about, "rows": []})["rows"]
            row = {"name": name, "value": value, "default": default, "meaning": told.get(path, "")}
            rows.append({**row, "differs": value != default})
    differing = [row for section in sections.values() for row in section["rows"] if row["differs"]]
    digest, _ = await asyncio.to_thread(state_of, viewer)
    tuned = {dotted(key): field for field, key in FIELDS.items()}
    shown = {"sections": sections, "differing": differing, "tuned": tuned, "digest": digest}
    return {**shown, "config": str(file_of(viewer).path)}


_RECEIPTS: Final = 100
_DAY_SECONDS: Final = 86400.0
_TODAY: Final = 500
"""Replies of today that are counted."""
_ACTIONS: Final = frozenset(
    {"add", "expired", "forgotten", "moved", "restored", "retracted", "supersede", "undone", "update"}
)
"""The outcomes of receipts that changed a memory."""
_REPLACING: Final = frozenset({"supersede", "update"})
_TIMES: Final = ("day", "week", "month")
_A_PAGE: Final = 50
_HITS: Final = 30
_REPLIES_LISTED: Final = 20
_PARTS: Final = (
    "vector", "lexical", "ranking", "search_and_files", "search_again", "updates", "quotations", "total",
)  # fmt: skip
"""The parts of a recall, in their order."""
_AROUND: Final = 5
_LATEST: Final = 2**62


async def today(viewer: Viewer) -> Values:
    """The changes of today, what is pending, and the last failures."""
    status = await viewer.memory.record(viewer.session, "status")
    midnight = datetime.combine(viewer.today(), datetime.min.time(), viewer.zone)
    start = midnight.astimezone(viewer.zone).timestamp()
    changes = await _changes(viewer, await viewer.memory.browsing.changed(viewer.session, since=start, limit=_RECEIPTS))
    recalls = await viewer.memory.browsing.outcomes(viewer.session, since=start, limit=_TODAY)
    outcomes = [outcome for _, outcome in recalls]
    injected = sum(outcome in ("full", "partial") for outcome in outcomes)
    failures = [{**each, "what": failure_in_words(viewer.language, each["place"])} for each in status["failures"]]
    last, day_ago = status["last_failure"], viewer.memory.now().timestamp() - _DAY_SECONDS
    return {
        "status": status,
        "failures": failures,
        "failed_lately": bool(last) and datetime.fromisoformat(last["at"]).timestamp() >= day_ago,
        "changes": changes,
        "replies": len(outcomes),
        "injected": injected,
        "cost": money(status["model"]["cost"]),
    }


async def _changes(viewer: Viewer, receipts: Sequence[Receipt]) -> list[dict[str, Any]]:
    """Return what changed by receipts, newest first: each with what it replaced, and whether an undo reaches it.

    A memory that replaced one of the same words, as a model's does that agrees with the rules, was learnt once.
    """
    lines = [
        (receipt, outcome)
        for receipt in receipts
        for outcome in receipt.outcomes
        if outcome.action in _ACTIONS and outcome.id
    ]
    ids = sorted({outcome.id for _, outcome in lines})
    replaced = await viewer.memory.browsing.replaced(viewer.session, ids)
    exchanges = await viewer.memory.browsing.unsaid(viewer.session, ids)
    undoable, newest = await viewer.memory.browsing.undoable(viewer.session), set()
    changes: list[dict[str, Any]] = []
    agreed: set[str] = set()
    for receipt, outcome in lines:
        change: dict[str, Any] = {"at": receipt.at, "action": outcome.action, "id": outcome.id, "text": outcome.text}
        change["was"] = replaced.get(outcome.id, "") if outcome.action in _REPLACING else ""
        change["exchange"] = exchanges.get(outcome.id)
        change["undo"] = receipt.number in undoable and outcome.id not in newest
        newest.add(outcome.id)
        if unsaid := exchanges.get(outcome.id):  # an undo that names the exchange takes back what went with it, too
            change["id"] = f"e{unsaid.turn}" if unsaid.category == EXCHANGE else unsaid.text
        words = same_text(outcome.text)
        if outcome.action == "add" and (words in agreed or not (words or change["undo"])):
            agreed.discard(words)
            continue  # it is told above, or was forgotten since
        if change["was"] and same_text(change["was"]) == words:
            agreed.add(words)
            change |= {"action": "add", "was": ""}
        changes.append(change)
    return changes


async def digest(viewer: Viewer) -> Values:
    """What was learnt, changed and forgotten in the last days."""
    time = viewer.query.get("time", "week")
    if time not in _TIMES:
        raise NothingHere
    found = await viewer.memory.record(viewer.session, "digest", time)
    replaced = await viewer.memory.browsing.replaced(viewer.session, [each["id"] for each in found["changed"]])
    agreed = [each for each in found["changed"] if same_text(replaced.get(each["id"], "")) == same_text(each["text"])]
    changed = [each for each in found["changed"] if each not in agreed]
    learnt = [*found["learnt"], *agreed]  # the model has agreed with the rules: that is no change to a person
    counts = {**found["counts"], "learnt": len(learnt), "changed": len(changed)}
    found = {**found, "learnt": learnt, "changed": changed, "counts": counts}
    return {"digest": found, "replaced": replaced, "times": _TIMES, "time": time}


_FILTERS: Final = ("category", "type", "since", "until")


async def memories(viewer: Viewer) -> Values:
    """Search the memories, or leaf through them from the newest."""
    fields = {name: viewer.query.get(name, "") for name in ("q", "kind", *_FILTERS, "session")}
    problem, older, late = "", "", False
    hits: Sequence[Any] = ()
    try:
        if any(fields[name] for name in ("q", "kind", "session")):
            filters: dict[str, Any] = {name: fields[name] or None for name in _FILTERS}
            results = await viewer.memory.search(
                viewer.session,
                fields["q"],
                limit=_HITS,
                kinds=[fields["kind"]] if fields["kind"] else None,
                session_key=fields["session"] or None,
                **filters,
            )
            hits, late = results, results.late
        else:
            hits, older = await _newest(viewer, fields)
    except UsageError:
        wrong = (fields[name] for name in ("type", "category", "since", "until") if fields[name])
        problem = viewer.word("filters_wrong", wrong=", ".join(wrong))
    least = viewer.session.settings.auto_recall.min_score
    weak = [hit for hit in hits if fields["q"] and hit.is_weak(least)]
    hits = [hit for hit in hits if hit not in weak]
    filters = {"request": fields, "kinds": SEARCHED_KINDS, "categories": CATEGORIES}
    return {
        "hits": hits,
        "older": older,
        "problem": problem,
        "late": late,
        "weak": weak,
        "sides_of": sides_of,
        **filters,
    }


async def _newest(viewer: Viewer, fields: Mapping[str, str]) -> tuple[Sequence[Any], str]:
    """Return memories from the newest on, and the address of the next page, "" for none.

    Raises:
        UsageError: there is no such type, day or place in the list.
    """
    filters = {name: fields[name] or None for name in _FILTERS}
    only = as_filter(**filters, zone=viewer.zone) or Filter()
    lists = viewer.memory.lists
    page = await lists.memories(viewer.session, only, after=viewer.query.get("after", ""), limit=_A_PAGE)
    older = viewer.link("/memories", after=page.next, **filters) if page.next else ""
    return page.rows, older


async def memory(viewer: Viewer) -> Values:
    """One memory: its source, its history, and how to change it."""
    details = await viewer.memory.browsing.details(viewer.session, viewer.query["id"])
    if details is None:
        raise NothingHere
    ours = details.stored is not None and is_writable(details.stored.file)
    text = details.stored.entry.text if details.stored else details.record.text
    said = details.said
    shown = [evidence(text, side[:CUT], details.record.quote) for side in (said.user, said.reply)] if said else []
    history = [(line, viewer.word(_event(line))) for line in details.history]
    told = {"text": marked(text, details.state), "shown": shown, "history": history}
    return {"details": details, "ours": ours, "categories": CATEGORIES, **told}


def _event(line: HistoryLine) -> str:
    """Return the name of the text that says what became of a memory."""
    if line.event == "added" and line.other:
        return "event_replaces"
    name = f"event_{line.event.replace(' ', '_')}"
    return name if name in texts("page") else "event_changed"


async def document(viewer: Viewer) -> Values:
    """MEMORY.md, to be edited in place."""
    text = await viewer.memory.browsing.document(viewer.session)
    readable = not any("\udc80" <= character <= "\udcff" for character in text)
    return {"text": without_marks(text) if readable else "", "was": digest_of(text), "readable": readable}


async def conversations(viewer: Viewer) -> Values:
    """The days with conversations, month by month, the newest first; what was said, if it was on one day."""
    days = await viewer.memory.browsing.days(viewer.session)
    months = sorted({(day.year, day.month) for day in days}, reverse=True)
    most = max(days.values(), default=1)
    shown = [
        {
            "name": viewer.word("month_year", month=viewer.months[month - 1], year=year),
            "weeks": [
                [(day, days.get(day, 0), _heat(days.get(day, 0), most)) if day.month == month else None for day in week]
                for week in calendar.Calendar().monthdatescalendar(year, month)
            ],
        }
        for year, month in months
    ]
    only = list(days) if len(days) == 1 else []  # a calendar with one day tells little
    talks = [talk for each in only for talk in await viewer.memory.browsing.talks(viewer.session, each)]
    return {"months": shown, "talks": talks}


async def day(viewer: Viewer) -> Values:
    """The conversations of a day, session by session."""
    try:
        shown = date.fromisoformat(viewer.query["day"])
        earlier, later = shown - timedelta(days=1), shown + timedelta(days=1)
        talks = await viewer.memory.browsing.talks(viewer.session, shown)
    except (ValueError, OverflowError):
        raise NothingHere from None
    return {"day": shown, "talks": talks, "earlier": earlier, "later": later}


async def exchange(viewer: Viewer) -> Values:
    """An exchange, with those around it."""
    turn = viewer.number("turn")
    talk = await viewer.memory.browsing.talk(viewer.session, turn, around=_AROUND)
    if talk is None:
        raise NothingHere
    return {"talk": talk, "turn": turn}


async def replies(viewer: Viewer) -> Values:
    """The replies, each with the memories that were injected."""
    before = viewer.number("before", _LATEST, most=_LATEST)
    listed = await viewer.memory.browsing.replies(viewer.session, before=before, limit=_REPLIES_LISTED + 1)
    shown, more = listed[:_REPLIES_LISTED], len(listed) > _REPLIES_LISTED
    return {"replies": shown, "older": viewer.link("/replies", before=shown[-1].reply.turn) if more else ""}


async def reply(viewer: Viewer) -> Values:
    """One reply: what was considered for it, why it was injected or omitted, and how long each part took."""
    turn = viewer.number("turn")
    details = next(iter(await viewer.memory.browsing.replies(viewer.session, before=turn + 1, limit=1)), None)
    if details is None or details.reply.turn != turn:
        raise NothingHere
    report = details.reply.report
    rows = rows_of(report, details.texts)
    parts = [(name, report.milliseconds[name]) for name in _PARTS if name in report.milliseconds] if report else []
    threshold = viewer.session.settings.auto_recall.min_score
    return {"details": details, "report": report, "rows": rows, "parts": parts, "threshold": threshold}


VIEWS: Final[Mapping[str, View]] = {
    "/": portrait,
    "/about/{name}": about,
    "/today": today,
    "/digest": digest,
    "/over-time": over_time,
    "/review": review,
    "/memories": memories,
    "/memories/{id}": memory,
    "/try": trial,
    "/document": document,
    "/conversations": conversations,
    "/conversations/exchange/{turn}": exchange,
    "/conversations/{day}": day,
    "/replies": replies,
    "/replies/{turn}": reply,
    "/people": people,
    "/people/delete": deletion,
    "/settings": settings,
}
"""The pages by their addresses."""
TABS: Final[Mapping[str, str]] = {
    "/": "user",
    "/today": "house",
    "/review": "inbox",
    "/memories": "file-text",
    "/conversations": "message-square",
    "/replies": "send",
    "/people": "users",
    "/settings": "settings",
}
"""The pages that each page leads to, in their order, with their symbols; the word of its function's name names each."""


def _heat(number: int, most: int) -> int:
    """Return how dark a day is shown, 0 to 4."""
    return 0 if number == 0 else 1 + min(3, 4 * number // (most + 1))
