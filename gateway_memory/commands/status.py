"""How it stands with a memory: as facts for programs, and as lines for people."""

from collections.abc import Callable
from typing import Any, Final

from gateway_memory.clock import day_of, local_time
from gateway_memory.commands.ports import Commanded
from gateway_memory.phrases import say
from gateway_memory.session import FEATURES, Session
from gateway_memory.store.journal.journal import Journal
from gateway_memory.store.journal.ledger import Ledger
from notifier import NotifierStatus
from recall import Recaller

__all__ = ["Status"]

_MILLION: Final = 1_000_000


class Status:
    """The status of one memory, as one of its sessions sees it."""

    def __init__(
        self,
        memory: Commanded,
        *,
        journal: Journal,
        ledger: Ledger,
        recaller: Recaller,
        waiting: Callable[[], tuple[int, int]],
        notifier: Callable[[], NotifierStatus | None],
    ) -> None:
        self._memory = memory
        self._journal = journal
        self._ledger = ledger
        self._recaller = recaller
        self._waiting = waiting
        self._notifier = notifier

    async def facts(self, session: Session) -> dict[str, Any]:
        """Return what JSON can hold of it; times are ISO 8601, with the configured zone."""
        memory, settings = self._memory, session.settings.auto_extract
        now = memory.now()
        queue = await self._journal.queue()
        failure, notifier = memory.metrics.last_failure, self._notifier()
        spent = await self._ledger.spent(day_of(now.timestamp(), memory.zone))
        cost = (spent.input_tokens * settings.input_price + spent.output_tokens * settings.output_price) / _MILLION
        updates, sessions = self._waiting()
        turns, outbox = int(queue["rules"] + queue["batch"]), int(queue["outbox"])
        return {
            "scope": session.scope.key,
            "session": session.session_id,
            "on": [feature for feature in FEATURES if session.on(feature)],
            "off": [feature for feature in FEATURES if not session.on(feature)],
            "memories": await self._recaller.count(session.scope.key),
            "vectors": await self._vectors(),
            "waiting": {
                "rules": int(queue["rules"]),
                "batch": int(queue["batch"]),
                "oldest_seconds": self._age(queue["oldest_at"]) if turns else 0,
                "outbox": outbox,
            },
            "updates": {
                "this_session": len(session.inbox),
                "dropped": session.inbox.dropped,
                "all": updates,
                "sessions": sessions,
            },
            "mqtt": None
            if notifier is None
            else {
                "state": notifier.state,
                "since": self._at(notifier.since),
                "reason": notifier.reason,
                "oldest_seconds": self._age(queue["outbox_at"]) if outbox else 0,
                "sent": notifier.sent,
                "received": notifier.received,
                "dropped": dict(sorted(notifier.dropped.items())),
            },
            "unreadable": {"rows": int(queue["unreadable"]), "index": self._recaller.replaced},
            "sessions": await memory.session_counts(),
            "last_extraction": self._at(await self._ledger.last_extraction()),
            "alarm": memory.metrics.capture_alarm(now),
            "last_failure": None
            if failure is None
            else {"at": self._at(failure[0].timestamp()), "place": failure[1], "error": failure[2]},
            "model": {
                "name": settings.model,
                "calls": spent.calls,
                "calls_limit": settings.max_daily_extractions,
                "input_tokens": spent.input_tokens,
                "output_tokens": spent.output_tokens,
                "reserved_tokens": spent.reserved,
                "tokens_limit": settings.max_daily_tokens,
                "cost": round(cost, 4),
                "failed_turns": await self._ledger.failed(),
            },
        }

    async def text(self, session: Session) -> str:
        """Return it in the session's language."""
        facts, language = await self.facts(session), session.language

        def listed(names: list[str]) -> str:
            return say(language, "comma").join(names) or say(language, "none")

        waiting, updates, sessions, model = (facts[name] for name in ("waiting", "updates", "sessions", "model"))
        last, failure = facts["last_extraction"], facts["last_failure"]
        failed = f"{_shown(failure['at'])} {failure['place']}: {failure['error']}" if failure else say(language, "none")
        lines = [
            say(language, "status_title", scope=facts["scope"], session=facts["session"]),
            say(language, "status_on", on=listed(facts["on"])),
            say(language, "status_off", off=listed(facts["off"])),
            say(language, "status_count", count=facts["memories"]),
            self._search(session, facts["vectors"]),
            say(
                language,
                "status_queue",
                rules=waiting["rules"],
                batch=waiting["batch"],
                age=waiting["oldest_seconds"],
                outbox=waiting["outbox"],
            ),
            say(
                language,
                "status_pending",
                pending=updates["this_session"],
                dropped=updates["dropped"],
                updates=updates["all"],
                sessions=updates["sessions"],
            ),
            *self._connection(session, facts["mqtt"], waiting["outbox"]),
            say(
                language,
                "status_sessions",
                open=sessions["open"],
                ended=sessions["ended"],
                saved=sessions.get("state.saved", 0),
                unsaved=sessions.get("state.unsaved", 0),
                errors=sessions["errors"],
            ),
            say(language, "status_last", at=_shown(last) if last else say(language, "never")),
            *([say(language, f"status_{facts['alarm']}")] if facts["alarm"] else []),
            say(language, "status_failure", failure=failed),
            say(language, "status_budget", used=model["calls"], limit=model["calls_limit"], model=model["name"]),
            say(
                language,
                "status_tokens",
                input=model["input_tokens"],
                output=model["output_tokens"],
                reserved=model["reserved_tokens"],
                limit=model["tokens_limit"],
                cost=f"{model['cost']:.4f}",
            ),
            *([say(language, "status_failed", failed=model["failed_turns"])] if model["failed_turns"] else []),
            *self._unreadable(session, facts["unreadable"]),
        ]
        return "\n".join(lines)

    def _unreadable(self, session: Session, found: dict[str, int]) -> list[str]:
        """Return what was damaged and set aside; nothing where all could be read."""
        rows, times = found["rows"], found["index"]
        return [say(session.language, "status_unreadable", rows=rows, times=times)] if rows or times else []

    async def _vectors(self) -> dict[str, Any] | None:
        """Return how far memories can be found by meaning; None where they are found by words alone."""
        if self._memory.settings.auto_recall.embedder.provider == "none":
            return None
        found = await self._recaller.vectors()
        done = found.rows - found.missing
        return {"encoder": found.encoder, "done": done, "rows": found.rows, "problem": found.problem}

    def _search(self, session: Session, vectors: dict[str, Any] | None) -> str:
        language = session.language
        if vectors is None:
            return say(language, "status_words")
        encoder = vectors["encoder"] or say(language, "encoder_loading")
        line = say(language, "status_vectors", done=vectors["done"], rows=vectors["rows"], encoder=encoder)
        problem = vectors["problem"]
        return line + (say(language, "status_words_meanwhile", problem=problem) if problem else "")

    def _connection(self, session: Session, mqtt: dict[str, Any] | None, outbox: int) -> list[str]:
        """Return how it stands with the broker; nothing where there is none."""
        language = session.language
        if mqtt is None:
            return []
        dropped = say(language, "comma").join(f"{reason} {number}" for reason, number in mqtt["dropped"].items())
        return [
            say(
                language,
                "status_mqtt",
                state=say(language, f"mqtt_{mqtt['state']}"),
                since=_shown(mqtt["since"]),
                reason=f" ({mqtt['reason']})" if mqtt["reason"] else "",
            ),
            say(
                language,
                "status_mqtt_counts",
                outbox=outbox,
                age=mqtt["oldest_seconds"],
                sent=mqtt["sent"],
                received=mqtt["received"],
                dropped=dropped or say(language, "none"),
            ),
        ]

    def _age(self, at: float) -> int:
        return max(0, round(self._memory.now().timestamp() - at))

    def _at(self, at: float | None) -> str | None:
        return None if not at else local_time(at, self._memory.zone).isoformat(timespec="seconds")


def _shown(at: str) -> str:
    """Return a time as people read it: without its zone, which is theirs."""
    return at[:19].replace("T", " ")
