"""`/memory status` and `privacy`: the state of a workspace, and who can read it."""

import asyncio
from collections import Counter
from typing import Any, Final

from gateway_memory.commands.answers import iso_time, phrase, readable_time
from gateway_memory.commands.command import CommandPorts
from gateway_memory.commands.receipts import counted
from gateway_memory.commands.restoring import damage_rows
from gateway_memory.commands.settings import named
from gateway_memory.context.digest import waiting_reviews
from gateway_memory.edge.phrases import Language, say, scope_name, texts, translated
from gateway_memory.ground.times import day_of
from gateway_memory.sessions.session import FEATURES, Session
from gateway_memory.store.disk.aside import journals_aside, left_out
from gateway_memory.store.summaries import SESSIONS_FILE
from gateway_memory.sync.health import WorkspaceHealth

_MILLION: Final = 1_000_000
_NAMED: Final = 5
"""Files that an answer names."""
_KINDS: Final = 5
"""Kinds of failures that an answer counts."""


async def status_record(ports: CommandPorts, session: Session, _: str) -> dict[str, Any]:
    """Return the state of the workspace as JSON values; times are ISO 8601 in the configured zone.

    It is read from the journal and the index, so that every process tells the same of them. Of the process that is
    asked are only `session`, `on`, `off` and the updates of this session. A model without a name is none.
    """
    memory, ledger, settings = ports.memory, ports.storage.ledger, session.settings.auto_extract
    folder = ports.storage.documents.folder
    health = await ports.health.read()
    queue = await ports.storage.turns.queue()
    spent = await ledger.spent(day_of(memory.now().timestamp(), memory.zone))
    cost = (spent.input_tokens * settings.input_price + spent.output_tokens * settings.output_price) / _MILLION
    model = next((state.model for state in health.states if state.model), None)
    batch = queue.batch if model else 0  # without a model, the batch is for nobody to read
    oldest = [at for at, number in ((queue.rules_at, queue.rules), (queue.batch_at, batch)) if number]
    failures = [
        {"at": _at(ports, each.at), "place": each.place, "error": each.error, "count": each.count}
        for each in health.failures
    ]
    return {
        "scope": session.scope.key,
        "session": session.session_id,
        "on": [feature for feature in FEATURES if session.on(feature)],
        "off": [feature for feature in FEATURES if not session.on(feature)],
        "memories": await ports.storage.recaller.count(session.scope.key),
        "episodes": await ports.storage.episodes.count(session.scope.key),
        "feedback": await counted(ports, session),
        "reviews": await waiting_reviews(ports.storage.reviews, session.scope),
        "damaged": await damage_rows(ports, session),
        "left_out": await asyncio.to_thread(left_out, folder and folder / session.scope.folder),
        "journals_aside": await asyncio.to_thread(journals_aside, ports.storage.documents.folder),
        "vectors": await _vectors(ports, health),
        "index_away": ports.storage.recaller.away,
        "waiting": {
            "rules": queue.rules,
            "batch": batch,
            "oldest_seconds": _age(ports, min(oldest)) if oldest else 0,
            "outbox": queue.outbox,
        },
        "updates": {
            "this_session": len(session.pending.inbox),
            "dropped": session.pending.inbox.dropped,
            "all": sum(state.updates for state in health.states),
            "sessions": sum(state.sessions_waiting for state in health.states),
        },
        "mqtt": _mqtt(ports, health, _age(ports, queue.outbox_at) if queue.outbox else 0),
        "unreadable": {"rows": queue.quarantined, "index": sum(state.replaced for state in health.states)},
        "sessions": await memory.session_counts(),
        "processes": [
            {"slot": slot, "pid": state.pid, "since": _at(ports, state.since), "model": state.model}
            for slot, state in health.processes.items()
        ],
        "last_extraction": _at(ports, await ledger.last_extraction()),
        "alarm": next((state.alarm for state in health.states if state.alarm), None),
        "last_failure": {name: failures[0][name] for name in ("at", "place", "error")} if failures else None,
        "failures": failures,
        "model": {
            "name": model,
            "rests": any(state.model_rests for state in health.states),
            "calls": spent.calls,
            "calls_limit": settings.max_daily_extractions,
            "input_tokens": spent.input_tokens,
            "output_tokens": spent.output_tokens,
            "reserved_tokens": spent.reserved,
            "tokens_limit": settings.max_daily_tokens,
            "cost": round(cost, 4),
            "failed_turns": queue.failed,
        },
    }


async def _vectors(ports: CommandPorts, health: WorkspaceHealth) -> dict[str, Any] | None:
    """Return how many rows of the index have vectors, whoever made them; None if the search is lexical only."""
    if ports.memory.settings.auto_recall.embedder.provider == "none":
        return None
    vectors = await ports.storage.recaller.vectors()
    problem = next((state.problem for state in health.states if state.problem), "")
    done = vectors.rows - vectors.missing
    loads = ports.storage.recaller.loads
    return {"encoder": vectors.encoder, "done": done, "rows": vectors.rows, "problem": problem, "loads": loads}


def _mqtt(ports: CommandPorts, health: WorkspaceHealth, oldest_seconds: int) -> dict[str, Any] | None:
    """Return the connection to the broker: of the processes' connections, one that does not work, if there is one."""
    links = [state.mqtt for state in health.states if state.mqtt]
    if not links:
        return None
    mqtt = next((each for each in links if each.state != "connected"), links[0])
    dropped: Counter[str] = Counter()
    for each in links:
        dropped.update(each.dropped)
    return {
        "broker": mqtt.broker,
        "state": mqtt.state,
        "since": _at(ports, mqtt.since),
        "reason": mqtt.reason,
        "oldest_seconds": oldest_seconds,
        "sent": sum(each.sent for each in links),
        "received": sum(each.received for each in links),
        "dropped": dict(sorted(dropped.items())),
    }


def _age(ports: CommandPorts, at: float) -> int:
    return max(0, round(ports.memory.now().timestamp() - at))


def _at(ports: CommandPorts, at: float | None) -> str | None:
    return iso_time(at, ports.memory.zone) if at else None


async def privacy(_: CommandPorts, session: Session, __: str) -> str:
    """Answer who can read what is kept here."""
    return phrase(session, "privacy_shared" if session.scope.kind.is_shared else "privacy_own")


async def status(ports: CommandPorts, session: Session, _: str) -> str:
    """Answer with the state in the session's language."""
    facts, language = await status_record(ports, session, ""), session.language
    unreadable, last = facts["unreadable"], facts["last_extraction"]
    sessions = {"saved": 0, "nothing": 0, "unsaved": 0}
    sessions |= {name.removeprefix("state."): number for name, number in facts["sessions"].items()}

    lines = [
        say(language, "status_title", scope=scope_name(language, facts["scope"]), session=facts["session"]),
        say(language, "status_on", on=named(session, facts["on"])),
        say(language, "status_off", off=named(session, facts["off"])),
        say(language, "status_count", count=facts["memories"]),
        say(language, "status_episodes", count=facts["episodes"]),
        *([phrase(session, "status_reviews", number=facts["reviews"])] if facts["reviews"] else []),
        _search_line(language, facts["vectors"]),
        *([say(language, "status_index_away", number=facts["index_away"])] if facts["index_away"] else []),
        say(language, "status_queue" if facts["model"]["name"] else "status_queue_rules", **facts["waiting"]),
        say(language, "status_pending", **facts["updates"]),
        *_mqtt_lines(language, facts["mqtt"], facts["waiting"]["outbox"]),
        say(language, "status_sessions", **sessions),
        say(language, "status_last", at=readable_time(last) if last else say(language, "never")),
        *_process_lines(language, facts["processes"]),
    ]
    lines += [phrase(session, _damaged(each["file"]), **each) for each in facts["damaged"]]
    lines += [
        say(language, f"status_left_out_{why}", number=len(names), files=say(language, "comma").join(names[:_NAMED]))
        for why, names in facts["left_out"].items()
        if names
    ]
    lines += [say(language, "status_journal_aside", file=each) for each in facts["journals_aside"]]
    if facts["alarm"]:
        lines.append(say(language, f"status_{facts['alarm']}"))
    lines += [
        *_failure_lines(language, facts["failures"]),
        *_model_lines(language, facts["model"]),
    ]
    if facts["model"]["failed_turns"]:
        why = say(language, _model_failure(facts["failures"]))
        lines.append(say(language, "status_failed", why=why, **facts["model"]))
    if unreadable["rows"] or unreadable["index"]:
        lines.append(say(language, "status_unreadable", **unreadable))
    return "\n".join(lines)


def _damaged(file: str) -> str:
    """Return the name of the phrase about a damaged file."""
    return "status_records_lost" if file == SESSIONS_FILE else "status_damaged"


def _process_lines(language: Language, processes: list[dict[str, Any]]) -> list[str]:
    """Say which processes have the workspace open, and since when."""
    if not processes:
        return [say(language, "status_closed")]
    named = [say(language, "process", pid=each["pid"], since=readable_time(each["since"])) for each in processes]
    return [say(language, "status_open", processes=say(language, "comma").join(named))]


def _failure_lines(language: Language, failures: list[dict[str, Any]]) -> list[str]:
    """Say what failed last in any process, and how often each kind did lately."""
    if not failures:
        return [say(language, "status_failure", failure=say(language, "none"))]
    last = failures[0]
    lines = [say(language, "status_failure", failure=f"{readable_time(last['at'])} {last['place']}: {last['error']}")]
    if len(failures) > 1 or last["count"] > 1:
        kinds = [f"{each['place']} {each['error']} ×{each['count']}" for each in failures[:_KINDS]]
        lines.append(say(language, "status_failures", kinds=say(language, "comma").join(kinds)))
    return lines


def _model_failure(failures: list[dict[str, Any]]) -> str:
    """Return how the model failed last, but for its rest after failures."""
    kinds = (f"model_{each['place'].removeprefix('model.')}" for each in failures if each["place"].startswith("model."))
    return next((kind for kind in kinds if kind in texts("phrases")), "model_unknown")


def failure_in_words(language: Language, place: str) -> str:
    """Return what failed, and what to do about it. place: of a failure."""
    part, _, kind = place.partition(".")
    name = f"failed_{part}" if f"failed_{part}" in texts("phrases") else "failed_other"
    why = f"model_{kind}" if f"model_{kind}" in texts("phrases") else "model_unknown"
    return say(language, name, why=say(language, why), place=place)


def _model_lines(language: Language, model: dict[str, Any]) -> list[str]:
    """Say that there is no model, and how much one was used today, also by a process that has ended."""
    lines = [] if model["name"] else [say(language, "status_no_model")]
    if model["name"] or model["calls"] or model["reserved_tokens"]:
        name = model["name"] or say(language, "other_process")
        lines.append(say(language, "status_budget", **(model | {"name": name})))
        lines.append(say(language, "status_tokens", **model))
    if model["rests"]:
        lines.append(say(language, "status_model_rests"))
    return lines


def _search_line(language: Language, vectors: dict[str, Any] | None) -> str:
    if vectors is None:
        return say(language, "status_words")
    encoder, problem = vectors["encoder"] or say(language, "encoder_none"), vectors["problem"]
    line = say(language, "status_vectors", done=vectors["done"], rows=vectors["rows"], encoder=encoder)
    if problem:
        return line + say(language, "status_words_meanwhile", problem=problem)
    return line + (say(language, "status_encoder_loads") if vectors["loads"] else "")


def _mqtt_lines(language: Language, mqtt: dict[str, Any] | None, outbox: int) -> list[str]:
    if mqtt is None:
        return []
    dropped = say(language, "comma").join(f"{reason} {number}" for reason, number in mqtt["dropped"].items())
    state, since = say(language, f"mqtt_{mqtt['state']}"), readable_time(mqtt["since"])
    why = translated(language, mqtt["reason"])
    reason = (f"（{why}）" if language == "zh" else f" ({why})") if why else ""
    counts = mqtt | {"dropped": dropped or say(language, "none"), "outbox": outbox}
    return [
        say(language, "status_mqtt", broker=mqtt["broker"], state=state, since=since, reason=reason),
        say(language, "status_mqtt_counts", **counts),
    ]
