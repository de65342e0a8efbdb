"""`/memory status`: the state of a memory as JSON values for programs, and as lines for people."""

from typing import Any, Final

from gateway_memory.commands.answers import iso_time, phrase, readable_time
from gateway_memory.commands.feedback import counted
from gateway_memory.commands.ports import CommandPorts
from gateway_memory.context.digest import waiting_reviews
from gateway_memory.edge.phrases import Language, say
from gateway_memory.runtime.clock import day_of
from gateway_memory.session import FEATURES, Session

__all__ = ["status", "status_record"]

_MILLION: Final = 1_000_000


async def status_record(ports: CommandPorts, session: Session, _: str) -> dict[str, Any]:
    """Return the state as JSON values; times are ISO 8601 in the configured zone. A model without a name is none."""
    memory, ledger, settings = ports.memory, ports.storage.ledger, session.settings.auto_extract
    now = memory.now()
    queue = await ports.storage.turns.queue()
    failure = memory.metrics.last_failure
    spent = await ledger.spent(day_of(now.timestamp(), memory.zone))
    cost = (spent.input_tokens * settings.input_price + spent.output_tokens * settings.output_price) / _MILLION
    updates, sessions = ports.waiting()
    turns = queue.rules + queue.batch
    return {
        "scope": session.scope.key,
        "session": session.session_id,
        "on": [feature for feature in FEATURES if session.on(feature)],
        "off": [feature for feature in FEATURES if not session.on(feature)],
        "memories": await ports.storage.recaller.count(session.scope.key),
        "episodes": await ports.storage.episodes.count(session.scope.key),
        "feedback": await counted(ports, session),
        "reviews": await waiting_reviews(ports.storage, session.scope),
        "vectors": await _vectors(ports),
        "waiting": {
            "rules": queue.rules,
            "batch": queue.batch,
            "oldest_seconds": _age(ports, queue.oldest_at) if turns else 0,
            "outbox": queue.outbox,
        },
        "updates": {
            "this_session": len(session.inbox),
            "dropped": session.inbox.dropped,
            "all": updates,
            "sessions": sessions,
        },
        "mqtt": _mqtt(ports, _age(ports, queue.outbox_at) if queue.outbox else 0),
        "unreadable": {"rows": queue.unreadable, "index": ports.storage.recaller.replaced},
        "sessions": await memory.session_counts(),
        "last_extraction": _at(ports, await ledger.last_extraction()),
        "alarm": memory.metrics.capture_alarm(now),
        "last_failure": None
        if failure is None
        else {"at": _at(ports, failure[0].timestamp()), "place": failure[1], "error": failure[2]},
        "model": {
            "name": ports.model,
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


async def _vectors(ports: CommandPorts) -> dict[str, Any] | None:
    """Return how many rows have vectors; None if the search is lexical only."""
    if ports.memory.settings.auto_recall.embedder.provider == "none":
        return None
    found = await ports.storage.recaller.vectors()
    done = found.rows - found.missing
    return {"encoder": found.encoder, "done": done, "rows": found.rows, "problem": found.problem}


def _mqtt(ports: CommandPorts, oldest_seconds: int) -> dict[str, Any] | None:
    notifier = ports.notifier()
    if notifier is None:
        return None
    return {
        "state": notifier.state,
        "since": _at(ports, notifier.since),
        "reason": notifier.reason,
        "oldest_seconds": oldest_seconds,
        "sent": notifier.sent,
        "received": notifier.received,
        "dropped": dict(sorted(notifier.dropped.items())),
    }


def _review_lines(session: Session, number: int) -> list[str]:
    return [phrase(session, "status_reviews", number=number)] if number else []


def _age(ports: CommandPorts, at: float) -> int:
    return max(0, round(ports.memory.now().timestamp() - at))


def _at(ports: CommandPorts, at: float | None) -> str | None:
    return iso_time(at, ports.memory.zone) if at else None


async def status(ports: CommandPorts, session: Session, _: str) -> str:
    """Answer with the state in the session's language."""
    facts, language = await status_record(ports, session, ""), session.language
    sessions, failure, unreadable = facts["sessions"], facts["last_failure"], facts["unreadable"]
    last = facts["last_extraction"]

    def listed(names: list[str]) -> str:
        return say(language, "comma").join(names) or say(language, "none")

    lines = [
        say(language, "status_title", scope=facts["scope"], session=facts["session"]),
        say(language, "status_on", on=listed(facts["on"])),
        say(language, "status_off", off=listed(facts["off"])),
        say(language, "status_count", count=facts["memories"]),
        say(language, "status_episodes", count=facts["episodes"]),
        *_review_lines(session, facts["reviews"]),
        _search_line(language, facts["vectors"]),
        say(language, "status_queue", **facts["waiting"]),
        say(language, "status_pending", **facts["updates"]),
        *_mqtt_lines(language, facts["mqtt"], facts["waiting"]["outbox"]),
        say(
            language,
            "status_sessions",
            open=sessions["open"],
            ended=sessions["ended"],
            saved=sessions.get("state.saved", 0),
            unsaved=sessions.get("state.unsaved", 0),
            errors=sessions["errors"],
        ),
        say(language, "status_last", at=readable_time(last) if last else say(language, "never")),
    ]
    if facts["alarm"]:
        lines.append(say(language, f"status_{facts['alarm']}"))
    failed = f"{readable_time(failure['at'])} {failure['place']}: {failure['error']}" if failure else None
    lines += [
        say(language, "status_failure", failure=failed or say(language, "none")),
        *_model_lines(language, facts["model"]),
    ]
    if facts["model"]["failed_turns"]:
        lines.append(say(language, "status_failed", **facts["model"]))
    if unreadable["rows"] or unreadable["index"]:
        lines.append(say(language, "status_unreadable", **unreadable))
    return "\n".join(lines)


def _model_lines(language: Language, model: dict[str, Any]) -> list[str]:
    """Say that there is no model here, and what a model was asked today: another process may have one."""
    lines = [] if model["name"] else [say(language, "status_no_model")]
    if model["name"] or model["calls"] or model["reserved_tokens"]:
        name = model["name"] or say(language, "other_process")
        lines.append(say(language, "status_budget", **(model | {"name": name})))
        lines.append(say(language, "status_tokens", **model))
    return lines


def _search_line(language: Language, vectors: dict[str, Any] | None) -> str:
    if vectors is None:
        return say(language, "status_words")
    encoder, problem = vectors["encoder"] or say(language, "encoder_loading"), vectors["problem"]
    line = say(language, "status_vectors", done=vectors["done"], rows=vectors["rows"], encoder=encoder)
    return line + (say(language, "status_words_meanwhile", problem=problem) if problem else "")


def _mqtt_lines(language: Language, mqtt: dict[str, Any] | None, outbox: int) -> list[str]:
    if mqtt is None:
        return []
    dropped = say(language, "comma").join(f"{reason} {number}" for reason, number in mqtt["dropped"].items())
    state, since = say(language, f"mqtt_{mqtt['state']}"), readable_time(mqtt["since"])
    reason = f" ({mqtt['reason']})" if mqtt["reason"] else ""
    counts = mqtt | {"dropped": dropped or say(language, "none"), "outbox": outbox}
    return [
        say(language, "status_mqtt", state=state, since=since, reason=reason),
        say(language, "status_mqtt_counts", **counts),
    ]
