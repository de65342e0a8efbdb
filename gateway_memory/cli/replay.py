"""`gateway-memory replay` and `demo`: play a transcript through the calls of a gateway, and report the outcome."""

import argparse
import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from time import perf_counter
from typing import Any, Final, cast

from tqdm import tqdm

from extractor import clean
from gateway_memory.cli.memory import in_memory
from gateway_memory.cli.options import check_output, tell
from gateway_memory.edge.phrases import SHELL_LANGUAGE, coded
from gateway_memory.errors import UsageError
from gateway_memory.memory import GatewayMemory
from gateway_memory.scope import KINDS, OWNER, Whose, is_name
from gateway_memory.store.disk.workspace import write_private

_MESSAGES: Final = ("session", "user", "reply")
_WHOSE: Final = {"person" if kind.name == "user" else kind.name: kind for kind in KINDS.values() if kind.folder}
"""The fields that say whose session it is; in `user` stands the message."""
_FIELDS: Final = {*_MESSAGES, *_WHOSE, "at"}
_SHOWN: Final = 10
_EMBEDDED_AT_ONCE: Final = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class TranscriptTurn:
    """One line of a transcript.

    session: the session's key. user, reply: the two messages. at: when it was said, ISO 8601 (None: now).
    whose: the arguments of `start_session` that say whose session it is.
    """

    session: str
    user: str
    reply: str
    at: datetime | None = None
    whose: Whose


@dataclass(slots=True, kw_only=True)
class Report:
    """The outcome of a replay: counts by stage and reason, and its duration in seconds."""

    turns: int = 0
    seconds: float = 0.0
    blocks: int = 0
    outcomes: dict[str, Counter[str]] = field(default_factory=dict)
    rows: list[dict[str, Any]] = field(default_factory=list)
    """For each turn: session, user, kept (the memories' texts) and outcomes (stage, action, reason)."""

    def lines(self) -> list[str]:
        """Return the report as text."""
        rate = self.turns / self.seconds if self.seconds else 0.0
        lines = [f"{self.turns} turns in {self.seconds:.1f} s ({rate:.0f} a second); {self.blocks} replies got context"]
        for stage, counts in self.outcomes.items():
            lines.append(f"{coded(SHELL_LANGUAGE.get(), stage)}:")
            for name, number in counts.most_common():
                said = ": ".join(coded(SHELL_LANGUAGE.get(), code) for code in name.split(": "))
                lines.append(f"  {said:<40} {number:>7}")
        return lines


def read_transcript(path: Path) -> list[TranscriptTurn]:
    """Return the turns of a JSON lines file.

    Raises:
        UsageError: the file can't be read, or lines of it are no turns; the message names the first ten of them.
    """
    try:
        lines = path.read_text("utf-8-sig").split("\n")
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: expected UTF-8, found the byte 0x{error.object[error.start]:02x}") from None
    except (OSError, ValueError) as error:  # ValueError: a name with NUL
        reason = error.strerror if isinstance(error, OSError) else error
        raise UsageError(f"{path}: this file can't be read: {reason}") from None
    turns: list[TranscriptTurn] = []
    problems: list[str] = []
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                turns.append(_turn(json.loads(line)))
            except json.JSONDecodeError as error:
                problems.append(f"{path}:{number}: no JSON: {error.msg} at column {error.colno}")
            except RecursionError:
                problems.append(f"{path}:{number}: too many brackets within each other")
            except (ValueError, OverflowError) as error:
                problems.append(f"{path}:{number}: {error}")
    if problems:
        more = f"\n… and {len(problems) - _SHOWN} more" if len(problems) > _SHOWN else ""
        raise UsageError("\n".join(problems[:_SHOWN]) + more)
    return turns


def _turn(raw: Any) -> TranscriptTurn:
    if not isinstance(raw, dict):
        raise ValueError("expected an object with session, user, reply and at")  # noqa: TRY004 - one kind for the caller
    unknown = raw.keys() - _FIELDS
    if unknown:
        raise ValueError(f"unknown key {min(unknown)!r}; known: {', '.join(sorted(_FIELDS))}")
    for name in _MESSAGES:
        if not isinstance(raw.get(name), str):
            raise ValueError(f"{name}: expected a string")  # noqa: TRY004 - likewise
    at = raw.get("at")
    for name in ("session", *_WHOSE):
        if raw.get(name) is not None and not is_name(raw[name]):
            raise ValueError(f"{name}: expected a name; without person and room, it is the owner's session")
    if not isinstance(at, str | None):
        raise ValueError("at: expected a time in ISO 8601")  # noqa: TRY004 - likewise
    named = {kind.name: raw[name] for name, kind in _WHOSE.items() if raw.get(name) is not None}
    if any(kind.is_shared and not kind.may_be_joined for kind in _WHOSE.values() if kind.name in named):
        named.pop("user", None)  # a group's session is no person's
    else:
        named.setdefault("user", OWNER)
    messages = {name: raw[name] for name in _MESSAGES}
    at = datetime.fromisoformat(at).astimezone() if at is not None else None
    return TranscriptTurn(**messages, at=at, whose=cast("Whose", named))


async def replay(
    memory: GatewayMemory, turns: Sequence[TranscriptTurn], progress: Callable[[], object] = lambda: None
) -> Report:
    """Pass turns through before_reply and after_reply of their sessions, then flush and report."""
    report = Report(turns=len(turns))
    before = memory.metrics.counts.copy()
    newest = next(iter(await memory.receipts(limit=1)), None)
    rows: dict[int, dict[str, Any]] = {}
    started = perf_counter()
    for number, turn in enumerate(turns):
        if number % _EMBEDDED_AT_ONCE == 0:  # their searches then wait for no encoder
            memory.importer.expect([each.user for each in turns[number : number + _EMBEDDED_AT_ONCE]])
        session = await memory.start_session(turn.session, **turn.whose)
        context = await memory.before_reply(session, turn.user, at=turn.at)
        report.blocks += bool(context.text)
        accepted = await memory.after_reply(session, user=turn.user, reply=turn.reply, at=turn.at)
        report.rows.append({"session": turn.session, "user": clean(turn.user).text, "kept": [], "outcomes": []})
        if accepted:
            rows[accepted] = report.rows[-1]
        else:
            reason = "session_type" if session.on("autoExtract") else "switched_off"
            report.rows[-1]["outcomes"].append(["accept", "skipped", reason])
        progress()
    await memory.flush()
    report.seconds = perf_counter() - started
    for receipt in await memory.receipts(limit=2 * len(turns) + 100, after=newest.number if newest else 0):
        for outcome in receipt.outcomes:
            row = rows.get(outcome.turn)
            if row:
                row["outcomes"].append([receipt.stage, outcome.action, outcome.reason])
                row["kept"] += [outcome.text] if outcome.action != "skipped" and outcome.text else []
    for name, number in (memory.metrics.counts - before).items():
        group, _, rest = name.partition(".")
        if group == "extraction":
            stage, _, counted = rest.partition(".")
            report.outcomes.setdefault(stage, Counter())[counted.replace(".", ": ", 1)] += number
    return report


def run(args: argparse.Namespace) -> int:
    """Replay a transcript and print the report; returns the exit code."""
    turns = read_transcript(args.file)
    check_output(args.turns)

    async def replayed(memory: GatewayMemory) -> Report:
        with tqdm(total=len(turns), unit="turn", disable=None) as bar:
            return await replay(memory, turns, bar.update)

    report = in_memory(args, replayed)
    if args.turns:
        write_private(args.turns, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in report.rows).encode())
    tell(*report.lines())
    return 0
