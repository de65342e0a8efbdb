"""`gateway-memory doctor` and `listen`: say in words what is wrong, and show what gateways announce over MQTT.

Each part of `doctor` prints what is right and what is wrong as it finds it. The texts are in `texts/doctor.json`.
"""

import argparse
import asyncio
import json
import secrets
import socket
import ssl
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Awaitable, Collection, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar

from extractor import ExtractorSettings, Model, ModelError, Turn, Usage, access_of, has_model
from gateway_memory.cli.options import check_folder, tell
from gateway_memory.config.load import load_config
from gateway_memory.edge.phrases import fill, shown, texts
from gateway_memory.errors import ConfigError, StoreError, UsageError
from gateway_memory.parts import Broker
from gateway_memory.scope import OWNER_KEY
from gateway_memory.store.damage import Damage
from gateway_memory.store.disk.workspace import INDEX_FILE, JOURNAL_FILE, journals_aside
from gateway_memory.store.journal.episodes import PAGE_TURNS
from gateway_memory.store.journal.in_place import JournalInPlace, KeptTurn, journal_id
from gateway_memory.store.journal.opened import SHARED_KEY
from gateway_memory.store.journal.recovery import recover
from gateway_memory.store.summaries import SESSIONS_FILE
from gateway_memory.sync.episodes import is_episode_page, page_of
from gateway_memory.sync.mqtt import broker_of, client_id, make_wire
from notifier import DroppedError, EventMessage, LinkError, MqttSettings, NotifierError, Wire
from recall import RecallError, peek

_text: Final = partial(fill, "doctor")


def _write(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _good(name: str, /, **values: object) -> int:
    _write(f"✓ {_text(name, **values)}")
    return 0


def _bad(name: str, /, **values: object) -> int:
    """Print what is wrong; returns how much it counts as a problem."""
    _write(f"✗ {_text(name, **values)}")
    return 1


def run_doctor(args: argparse.Namespace) -> int:
    """Examine a part of the memory and print what is wrong; returns the exit code."""
    if args.part in ("episodes", "files", "journal", "sessions"):
        check_folder(args.workspace)
    try:
        problems = _PARTS[args.part](args)
    except (ConfigError, StoreError) as error:
        _write(f"✗ {shown(str(error))}")
        return 1
    return 1 if problems else 0


# The broker.

T = TypeVar("T")

_ROUND_TRIP_SECONDS: Final = 5.0
_ANSWER_SECONDS: Final = 20.0


def broker_and_wire(args: argparse.Namespace) -> tuple[MqttSettings, Broker, Wire]:
    """Return the settings of the broker, the broker, and the form of our messages there.

    Raises:
        UsageError: neither the config nor the workspace has the id of the memory.
        ConfigError: the config has mistakes, or the broker's part failed.
    """
    notify = load_config(args.config).for_agent(args.agent).notify
    settings = notify.mqtt
    journal = journal_id(Path(args.workspace))
    if not (settings.workspace_id or journal):
        raise UsageError(_text("mqtt_no_memory", workspace=args.workspace))
    wire = make_wire(settings, journal=journal or "0" * 16, instance=f"{secrets.token_hex(8)}.0")
    return settings, broker_of(notify), wire


def advice_on(error: NotifierError) -> str:
    """Return what a person can do about a connection that failed; "" where only its broker knows."""
    return _text(f"mqtt_{error.kind}") if isinstance(error, LinkError) else ""


def _mqtt(args: argparse.Namespace) -> int:
    settings, broker, wire = broker_and_wire(args)
    problem = asyncio.run(_examine_broker(settings, broker, wire))
    if problem:
        _write(f"✗ {problem}")
        return 1
    _write(_text("all_well", but="" if settings.enabled else _text("mqtt_not_enabled")))
    return 0


async def _examine_broker(settings: MqttSettings, broker: Broker, wire: Wire) -> str:
    """Return what is wrong, or ""."""
    where = f"{settings.host}:{settings.port}"
    if problem := await _reach(settings, where):
        return problem
    _good("mqtt_reached", where=where)
    name = client_id(f"doctor-{secrets.token_hex(4)}")
    refusals: list[str] = []
    topic, payload = wire.hello({}, time.time(), want=False)
    back = asyncio.Event()

    def receive(*message: object) -> None:
        if message == (topic, payload):
            back.set()

    try:
        async with AsyncExitStack() as stack:
            hears = broker.connect(client_id=f"{name}-b", filters=wire.filters, keep=False, receive=receive)
            await _in_time(broker, stack.enter_async_context(hears))
            opening = broker.connect(client_id=name, filters=(), keep=False, refused=refusals.append)
            speaks = await _in_time(broker, stack.enter_async_context(opening))
            # No proof that we may read: Mosquitto accepts any subscription, and withholds what its ACL forbids.
            by = f"{broker.name} {settings.protocol}" if broker.name == "MQTT" else broker.name
            _good("mqtt_connected", by=by, topic=wire.filters[0])
            started = time.perf_counter()
            await _in_time(broker, speaks.send([(topic, payload)]))
            if refusals:
                return _text("mqtt_not_written", topic=topic, reason=refusals[0])
            async with asyncio.timeout(_ROUND_TRIP_SECONDS):
                await back.wait()
            _good("mqtt_went_round", milliseconds=1000 * (time.perf_counter() - started))
    except NotifierError as error:
        unreachable = isinstance(error, LinkError) and error.kind == "unreachable"
        return f"{error}. {_text('mqtt_hung_up') if unreachable else advice_on(error)}".strip()
    except TimeoutError:
        # MQTT 5 reports a refused publication.
        barred = "mqtt_read" if settings.protocol == "5" else "mqtt_read_or_write"
        return _text("mqtt_not_back", topic=topic, barred=_text(barred))
    except Exception as error:  # noqa: BLE001 - whatever a broker of another package raises
        return f"{broker.name}: {type(error).__name__}: {error}"
    if wire.sends_text and settings.trust_broker:
        _write(_text("mqtt_trusted"))
    return ""


async def _in_time(broker: Broker, work: Awaitable[T]) -> T:
    """Return the result of a broker's work. Raises NotifierError: it takes too long."""
    try:
        async with asyncio.timeout(_ANSWER_SECONDS):
            return await work
    except TimeoutError:
        raise NotifierError(f"{broker.name} has not answered within {_ANSWER_SECONDS:g} seconds") from None


async def _reach(settings: MqttSettings, where: str) -> str:
    """Return why the broker can't be reached, or ""."""
    try:
        async with asyncio.timeout(_ROUND_TRIP_SECONDS):
            context = ssl.create_default_context(cafile=settings.ca_file or None) if settings.tls else None
            if context and settings.cert_file:
                context.load_cert_chain(settings.cert_file, settings.key_file or None)
            _, writer = await asyncio.open_connection(settings.host, settings.port, ssl=context)
            writer.close()
    except OSError as error:  # its subclasses TimeoutError and SSLError too
        name = next(name for kind, name in _NOT_REACHED if isinstance(error, kind))
        tls, unreachable = _text("mqtt_tls"), _text("mqtt_unreachable")
        why = _text(
            name,
            tls=tls,
            unreachable=unreachable,
            advice=tls if settings.tls else _text("mqtt_refused"),
            seconds=_ROUND_TRIP_SECONDS,
            reason=error.strerror or type(error).__name__,
        )
        return f"{where}: {why}"
    return ""


_NOT_REACHED: Final[tuple[tuple[type[OSError], str], ...]] = (
    (ssl.SSLCertVerificationError, "mqtt_certificate"),
    (ssl.SSLError, "mqtt_tls"),
    (socket.gaierror, "mqtt_no_host"),
    (ConnectionRefusedError, "mqtt_connection_refused"),
    (TimeoutError, "mqtt_no_answer"),
    (FileNotFoundError, "mqtt_no_file"),
    (ConnectionResetError, "mqtt_reset"),
    (OSError, "mqtt_other"),
)
"""The text for an error; the first that fits."""


# The model: three small questions, and what it can do.

_NOW: Final = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
_SMALL: Final = (
    ("English", "haha ok. btw my sister Ana moved to Leeds in January, so I'm up there most weekends", "Leeds"),
    ("Chinese", "好的。对了，我姐姐李娜一月份搬到苏州去了，我周末常去看她", "苏州"),
)
_WINDOW: Final = 4_600
"""Tokens of a batch that is longer than Ollama's usual context of 4,096."""
_LINE: Final = "And then we talked about the weather, and about nothing in particular, for most of the afternoon."
_LINE_TOKENS: Final = 20
_LINES: Final = 12
_MILLION: Final = 1_000_000


def _model(args: argparse.Namespace) -> int:
    settings = load_config(args.config).for_agent(args.agent).auto_extract
    if not has_model(settings):
        return _bad("model_none")
    # Its own wording is shown, not the sentence at which a small one points.
    return asyncio.run(_examine_model(replace(settings, context_tokens=0, prompt="full")))


async def _examine_model(settings: ExtractorSettings) -> int:
    name, model_name, key = access_of(settings)
    where = settings.base_url or _text("model_own_address", name=name)
    held = _text("model_with_key" if key != "none" else "model_without_key")
    _write(_text("model_at", model=model_name, where=where, key=held))
    model = Model(settings)
    problems, total, slowest = 0, Usage(), 0.0
    try:
        for name, message, place in _SMALL:
            language = _text(f"model_{name}")
            contents, usage, seconds = await _notes(model, [message])
            if not total.calls:
                _good("model_reached")
                _good(f"model_{model.form}")
            total, slowest = total + usage, max(slowest, seconds)
            rate = (usage.input_tokens + usage.output_tokens) / max(seconds, 1e-3)
            cost = _text("model_cost", seconds=seconds, usage=usage, rate=rate)
            if any(place in content for content in contents):
                _good("model_understands", language=language, contents="; ".join(contents), cost=cost)
            else:
                problems += _bad("model_misses", language=language, place=place, cost=cost)
        # About something that stands before a long text.
        _, message, place = _SMALL[0]
        filler = " ".join([_LINE] * _LINES)
        contents, usage, seconds = await _notes(model, [message, *([filler] * (_WINDOW // (_LINE_TOKENS * _LINES)))])
        sees = any(place in content for content in contents)
        if usage.calls > 1 or sees:
            _good("model_halves" if usage.calls > 1 else "model_holds", tokens=_WINDOW)
        else:
            problems += _bad("model_short", tokens=_WINDOW)
    except ModelError as error:
        known = f"model_{error.kind}" in texts("phrases")
        return _bad("model_no_answer", why=fill("phrases", f"model_{error.kind}" if known else "model_unknown"))
    finally:
        await model.close()
    _print_cost(settings, total, max(slowest, seconds))
    return problems


async def _notes(model: Model, messages: Sequence[str]) -> tuple[list[str], Usage, float]:
    """Return what the model notes of messages, what it used, and the seconds that it took."""
    started = time.monotonic()
    turns = [Turn(id=number, user=text, reply="", at=_NOW) for number, text in enumerate(messages, 1)]
    extracted = await model.extract(turns, [], now=_NOW, speaker="the owner of the assistant")
    contents = [candidate.content for candidate in extracted.candidates]
    return contents, extracted.usage, time.monotonic() - started


def _print_cost(settings: ExtractorSettings, usage: Usage, slowest: float) -> None:
    cost = (usage.input_tokens * settings.input_price + usage.output_tokens * settings.output_price) / _MILLION
    _good("model_batch", cost=cost / max(1, usage.calls), limit=settings.max_daily_extractions)
    own = ExtractorSettings()
    if settings.base_url and (settings.input_price, settings.output_price) == (own.input_price, own.output_price):
        _write(_text("model_prices"))
    if slowest > settings.timeout_seconds / 2:
        _write(_text("model_slow", seconds=slowest, timeout=settings.timeout_seconds))


# The journal: sessions that two processes share, and episodes and their index.

_DAY_SECONDS: Final = 86400.0
_LOOKED_BACK_DAYS: Final = 7
_SLACK_SECONDS: Final = 7200.0
"""A running gateway deletes what is overdue once an hour."""
_SHOWN: Final = 10


def _sessions(args: argparse.Namespace) -> int:
    shared = 0
    if (args.workspace / "journal.sqlite").exists():
        with JournalInPlace.open(args.workspace) as journal:
            shared = journal.failures_at(SHARED_KEY, time.time() - _LOOKED_BACK_DAYS * _DAY_SECONDS)
    if shared:
        return _bad("sessions_shared", number=shared, days=_LOOKED_BACK_DAYS)
    return _good("sessions_well", days=_LOOKED_BACK_DAYS)


def _files(args: argparse.Namespace) -> int:
    """Say which files were damaged and wait for an answer, and what was set aside."""
    problems = 0
    if (args.workspace / "journal.sqlite").exists():
        with JournalInPlace.open(args.workspace) as journal:
            for scope, name in journal.notices():
                if damage := Damage.of_notice(name):
                    lost = len(damage.lost)
                    text = "records_lost" if damage.file == SESSIONS_FILE else "file_damaged"
                    problems += _bad(text, scope=scope, file=damage.file, lost=lost, of=damage.of)
    problems += sum(_bad("journal_aside", file=file) for file in journals_aside(args.workspace))
    if aside := sorted(args.workspace.rglob("*.md.damaged-*")):
        _write(_text("files_aside", files=", ".join(str(path.relative_to(args.workspace)) for path in aside)))
    return problems or _good("files_well")


def _journal(args: argparse.Namespace) -> int:
    """Recover damaged journals, and say what became of each and what could not be read."""
    recovered = recover(args.workspace)
    problems = sum(_bad("journal_unreadable", file=file) for file in recovered.unreadable)
    for file, kept in recovered.read.items():
        rows = {name: recovered.rows.get(table, 0) for name, table in _COUNTED.items()}
        _good("journal_recovered", file=file, kept=kept, all=sum(recovered.rows.values()), **rows)
    problems += sum(_bad("journal_log_lost", file=file) for file in recovered.without_log)
    for table, number in sorted(recovered.lost.items()):
        name = "journal_memories_lost" if table == "memories" else "journal_rows_lost"
        problems += _bad(name, table=table, number=number or _text("journal_rows_unknown"))
    if not recovered.read and not problems:
        return _good("journal_whole" if (args.workspace / JOURNAL_FILE).exists() else "journal_none")
    return problems


_COUNTED: Final = {"memories": "memories", "turns": "episodes", "waiting": "turns"}
"""What is told of the rows that were read, by the name in the text."""


def _episodes(args: argparse.Namespace) -> int:
    keep_days = load_config(args.config).for_agent(args.agent).episodes.keep_days
    turns: Sequence[KeptTurn] = ()
    behind: set[tuple[str, int]] = set()
    if (args.workspace / "journal.sqlite").exists():
        with JournalInPlace.open(args.workspace) as journal:
            turns, behind = journal.kept_turns(), journal.unindexed_pages()
    scopes: defaultdict[str, list[KeptTurn]] = defaultdict(list)
    for turn in turns:
        scopes[turn.scope].append(turn)
    _good("turns_kept", turns=len(turns), scopes=len(scopes))
    problems = 0
    if bad := [turn.number for turn in turns if not turn.readable]:
        turns_shown = ", ".join(map(str, bad[:_SHOWN]))
        if len(bad) > _SHOWN:
            turns_shown = _text("turns_more", turns=turns_shown, number=len(bad) - _SHOWN)
        problems += _bad("turns_unreadable", number=len(bad), turns=turns_shown)
    else:
        _good("turns_readable")
    problems += _index(args.workspace, scopes, behind)
    until = time.time() - keep_days * _DAY_SECONDS - _SLACK_SECONDS
    if overdue := sum(turn.readable and turn.at < until for turn in turns) if keep_days else 0:
        problems += _bad("turns_overdue", number=overdue, days=keep_days)
    elif keep_days:
        _good("turns_young", days=keep_days)
    if not problems:
        _write(_text("all_well", but=""))
    return problems


def _index(workspace: Path, scopes: Mapping[str, Sequence[KeptTurn]], behind: Collection[tuple[str, int]]) -> int:
    """Say how the index differs from the turns that are kept, by scope; returns the number of problems.

    behind: the pages that changed since they were indexed, each with its scope. The next look of a gateway adds them.
    """
    late, different = 0, list[str]()
    for scope in sorted({OWNER_KEY, *scopes}):
        kept = scopes.get(scope, [])
        stored, indexed = Counter(page_of(turn.number) for turn in kept), _indexed(workspace, scope)
        pages = {page for page in stored.keys() | indexed.keys() if stored[page] != indexed.get(page, 0)}
        if pages <= {page_of(page * PAGE_TURNS) for of, page in behind if of == scope}:
            late += sum(max(0, stored[page] - indexed.get(page, 0)) for page in pages)
        else:
            there = sum(indexed.values())
            different.append(_text("index_differs", number=len(kept), scope=scope, indexed=there, pages=len(pages)))
    if late:
        _write(_text("index_follows", number=late))
    if different:
        return _bad("index_late", differences="; ".join(different), file=INDEX_FILE)
    return 0 if late else _good("index_well")


def _indexed(workspace: Path, scope: str) -> Mapping[str, int]:
    """Return how many turns of a scope the index has, by its pages."""
    try:
        with peek(workspace / INDEX_FILE) as index:
            return {name: size for name, (_, size) in index.stamps(scope).items() if is_episode_page(name)}
    except RecallError:  # missing, or of another version: it is built again
        return {}


_PARTS: Final = {
    "mqtt": _mqtt,
    "model": _model,
    "sessions": _sessions,
    "episodes": _episodes,
    "files": _files,
    "journal": _journal,
}


# `gateway-memory listen`: show the events of gateways as they come over MQTT.


def run_listen(args: argparse.Namespace) -> int:
    """Print events as they arrive, until interrupted; returns the exit code."""
    settings, broker, wire = broker_and_wire(args)
    try:
        asyncio.run(_listen(settings, broker, wire, as_json=args.json))
    except NotifierError as error:
        tell(str(error), advice_on(error), beside=True)
        return 1
    return 0


async def _listen(settings: MqttSettings, broker: Broker, wire: Wire, *, as_json: bool) -> None:
    # Its own client id and no persistent session, so that it takes nothing from the gateways.
    name = client_id(f"listen-{secrets.token_hex(4)}")

    messages: asyncio.Queue[tuple[str, bytes]] = asyncio.Queue()

    def receive(*message: Any) -> None:
        messages.put_nowait(message)

    async with broker.connect(client_id=name, filters=wire.filters[:1], keep=False, receive=receive) as link:
        where = f"{settings.host}:{settings.port}"
        sys.stderr.write(f"{_text('listening', topic=wire.filters[0], where=where)}\n")
        lost = asyncio.ensure_future(link.lost())
        while True:
            next_one = asyncio.ensure_future(messages.get())
            await asyncio.wait((lost, next_one), return_when=asyncio.FIRST_COMPLETED)
            if not next_one.done():
                next_one.cancel()
                await lost
            sys.stdout.write("".join(f"{line}\n" for line in _lines(wire, *next_one.result(), as_json=as_json)))
            sys.stdout.flush()


def _lines(wire: Wire, topic: str, payload: bytes, *, as_json: bool) -> Iterator[str]:
    at = time.time()
    try:
        message = wire.read(topic, payload, at)
    except DroppedError as error:
        yield json.dumps({"dropped": error.reason}) if as_json else _text("dropped", reason=error.reason)
        return
    if not isinstance(message, EventMessage):
        return
    row: dict[str, Any] = {"origin": message.origin, "number": message.number, "changes": message.count}
    if message.event:
        changes = [{"id": each.id, "action": each.action, "text": each.text} for each in message.event.changes]
        row |= {"scope": message.event.scope, "changes": changes}
    if as_json:
        yield json.dumps(row, ensure_ascii=False)
        return
    text = _text("changed", number=message.count)
    if message.event:
        text = "; ".join(f"{each.action} ({each.id}) {each.text}" for each in message.event.changes)
    yield f"{time.strftime('%H:%M:%S', time.localtime(at))} {message.origin} #{message.number}: {text}"
