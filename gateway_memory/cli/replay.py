"""`gateway-memory replay` and `demo`: play a transcript through the calls of a gateway, and report the outcome."""

import argparse
import asyncio
import json
import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from importlib import resources
from pathlib import Path
from time import perf_counter
from typing import Any, Final, cast

from tqdm import tqdm

from extractor import clean
from gateway_memory.cli.memory import in_memory
from gateway_memory.cli.options import check_output, tell
from gateway_memory.config.load import load_config
from gateway_memory.config.settings import Config
from gateway_memory.context.builder import Context
from gateway_memory.errors import UsageError
from gateway_memory.memory import GatewayMemory
from gateway_memory.observability.logs import configure_logging
from gateway_memory.scope import KINDS, OWNER, Whose, is_name
from gateway_memory.sessions.session import FEATURES, Session
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
            lines.append(f"{stage}:")
            lines += [f"  {name:<40} {number:>7}" for name, number in counts.most_common()]
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


# `make demo`: one conversation over three sessions, and for each acceptance criterion the question and the answer.
#
# A criterion fails for what a reply is told, never for its time: how slow this machine is today is only a warning.

_HEAD: Final = """One conversation over three sessions is played; after some of its messages another session asks.
The numbers are those of the seven acceptance criteria."""
_HANGING_SECONDS: Final = 120.0
"""After this, a memory that doesn't come hangs, on any machine."""
_USUAL_SECONDS: Final = 1.0
_USUAL_P95_SECONDS: Final = 0.2
_QUESTIONS: Final = json.loads((resources.files("gateway_memory.cli") / "demo.json").read_bytes())
"""After a message that begins so: a criterion's number and title, the session that asks, its question, the answer."""
_NOISE: Final = "Traceback|KeyError|left-pad|lock file|restart|重启|unit tests|temp files|WARN|31337|JSON".split("|")
_SMALL_TALK: Final = ("谢谢", "haha thanks", "早上好", "good night")
_Result = tuple[bool, str, str]
"""Whether a criterion holds, the question, and the answer."""


class Demo:
    """Replays the conversation, asks as a user would, and records which criteria hold."""

    def __init__(self, memory: GatewayMemory) -> None:
        self._memory = memory
        self._latencies: list[float] = []
        self._searches: list[float] = []
        self._visible = 0
        self.failed: list[str] = []
        self.slow: list[str] = []

    async def run(self, turns: Sequence[TranscriptTurn]) -> None:
        """Play everything, then show the seven acceptance criteria."""
        memory = self._memory
        sessions = {name: await self._session(f"agent:main:{name}:direct:7") for name in ("phone", "laptop")}
        questions, results = list(_QUESTIONS), list[tuple[str, str, _Result]]()
        for turn in turns:
            session = await self._session(turn.session)
            context = await self._ask(session, turn.user)
            self._visible += turn.reply.count(context.text) if context.text else 0
            await memory.after_reply(session, user=turn.user, reply=turn.reply, at=turn.at)
            for each in [each for each in questions if turn.user.startswith(each["after"])]:
                questions.remove(each)
                result = await self._criterion(sessions[each["session"]], each)
                results.append((each["number"], each["title"], result))
        await memory.flush()
        usual = f"p95, usually below {_USUAL_P95_SECONDS * 1000:.0f} ms"
        results += [
            ("3", "A changed mind: the newer window comes first", await self._changed_mind()),
            ("4", "No debugging, one-off order or private span is kept, and nothing twice", await self._files()),
            ("5", "Nothing of it is seen: no message of ours, no block for small talk", await self._unseen()),
            ("6", "Every feature has its own switch", await self._switches()),
            ("7", f"The first answer is hardly later ({usual})", await self._latency()),
        ]
        _say(f"\n{len(turns)} turns were played over three sessions, and two more asked questions beside them.\n")
        for number, title, (holds, question, answer) in sorted(results, key=lambda each: each[0]):
            self.failed += [] if holds else [f"{number}: {title}"]
            _say(f"  {'✓' if holds else '✗'} {number}  {title}\n        asked:  {question}\n        told:   {answer}")

    async def _session(self, key: str) -> Session:
        return await self._memory.start_session(key, user=OWNER)

    async def _ask(self, session: Session, message: str) -> Context:
        started = time.perf_counter()
        context = await self._memory.before_reply(session, message)
        self._latencies.append(time.perf_counter() - started)
        return context

    async def _criterion(self, session: Session, asked: Mapping[str, str]) -> _Result:
        """Ask in another session until the expected memory comes and is found, without a flush."""
        question, expected = asked["question"], asked["answer"]
        started = time.perf_counter()
        context, hit, seconds = "", "", 0.0
        while not (expected in context and expected in hit) and time.perf_counter() < started + _HANGING_SECONDS:
            await asyncio.sleep(0.02)
            if expected not in context:
                context += (await self._ask(session, question)).text
                seconds = time.perf_counter() - started
            hit = await self._first(session, question)
        if seconds > _USUAL_SECONDS:
            self.slow.append(
                f"{asked['number']}: “{question}” took {seconds:.2f} s, usually less than {_USUAL_SECONDS:.0f} s"
            )
        answer = f"{_quoted(context, expected)}\n        search: {hit or '(nothing)'}"
        return expected in context and expected in hit, question, answer

    async def _first(self, session: Session, question: str) -> str:
        """Return the best hit of a search that nothing else is built from, "" for none."""
        started = time.perf_counter()
        hits = await self._memory.search(session, question, limit=1)
        self._searches.append(time.perf_counter() - started)
        return hits[0].text if hits else ""

    async def _changed_mind(self) -> _Result:
        question = "预发布环境的发布窗口"
        newest = await self._first(await self._session("agent:main:later:direct:7"), question)
        return "周二" in newest, question, newest

    async def _files(self) -> _Result:
        workspace = self._memory.workspace
        files = [workspace / "MEMORY.md", *sorted((workspace / "memory").glob("*.md"))]
        texts = {file.name: file.read_text("utf-8") for file in files if file.exists()}
        lines = {name: [line for line in text.splitlines() if line.startswith("- ")] for name, text in texts.items()}
        python = sum("用 Python" in line for listed in lines.values() for line in listed)
        noise = any(word in text for word in _NOISE for text in texts.values())
        shown = [f"{sum(map(len, lines.values()))} lines:"]
        for name, listed in lines.items():
            shown += [f"        {name}", *(f"          {line}" for line in listed)]
        return not noise and python == 1, "the files", "\n".join(shown)

    async def _unseen(self) -> _Result:
        session = await self._session("agent:main:laptop:direct:7")
        await self._ask(session, "what is new?")  # takes the updates that wait for this session
        blocks = [(await self._ask(session, message)).text for message in _SMALL_TALK]
        return not any(blocks) and not self._visible, "谢谢 / haha thanks / …", "no block"

    async def _switches(self) -> _Result:
        shown: list[str] = []
        for feature in (*FEATURES, "episodes"):
            with tempfile.TemporaryDirectory() as folder:
                is_off = await _is_off(self._memory.config, feature, Path(folder))
            shown.append(f"{'✓' if is_off else '✗'} {feature}")
        return not any("✗" in each for each in shown), "each switched off by config", "  ".join(shown)

    async def _latency(self) -> _Result:
        median, replies = (_percentile(self._latencies, share) * 1000 for share in (0.5, 0.95))
        if replies > _USUAL_P95_SECONDS * 1000:
            self.slow.append(
                f"7: slower than {_USUAL_P95_SECONDS * 1000:.0f} ms on this machine: {replies:.0f} ms; "
                f"the floor of a bare search was {_percentile(self._searches, 0.95) * 1000:.0f} ms"
            )
        return True, "before_reply", f"p50 {median:.1f} ms, p95 {replies:.1f} ms over {len(self._latencies)} messages"


def _say(text: str) -> None:
    tell(text)
    sys.stdout.flush()  # it takes a while


def _percentile(seconds: Sequence[float], share: float) -> float:
    return sorted(seconds)[int(len(seconds) * share)]


def _quoted(text: str, expected: str) -> str:
    block = ""
    for line in text.splitlines():
        if line.startswith("["):
            block = line.split("]")[0] + "] "
        if expected in line:
            return block + line
    return "(nothing)"


async def _is_off(config: Config, feature: str, folder: Path) -> bool:
    """Return whether a feature that is switched off does nothing with a preference told in one session."""
    name = re.sub("([A-Z])", r"_\1", feature).lower()
    switched_off = replace(getattr(config.defaults, name), enabled=False)
    config = Config(defaults=replace(config.defaults, **{name: switched_off}))
    async with GatewayMemory(config, folder) as memory:
        speaker = await memory.start_session("speaker", user=OWNER)
        listener = await memory.start_session("listener", user=OWNER)
        await memory.after_reply(speaker, user="记住：我的工位在三楼", reply="好")
        await memory.observe(speaker, kind="tool", content="ls", tool="bash")
        await memory.flush()
        with (folder / "MEMORY.md").open("a", encoding="utf-8") as file:
            file.write("- 手写的一行\n")
        context = await memory.before_reply(listener, "我的工位在哪里？")
        kept = await memory.search(listener, "工位")
        observed = memory.metrics.counts["observations.kept"]
        return {
            "autoExtract": not any("三楼" in hit.text for hit in kept if hit.kind == "memory"),
            "episodes": not any(hit.kind == "episode" for hit in kept),
            "autoRecall": context.outcome == "disabled" and "[Relevant Memory]" not in context.text,
            "notify": not context.updates and "[Memory Update]" not in context.text,
            "incrementalSync": not context.changes and "[Memory Changes]" not in context.text,
            "observations": observed == 0,
        }[feature]


def run_demo(_: object = None) -> int:
    """Run the demo in a temporary folder; returns the exit code."""
    return asyncio.run(_demo())


async def _demo() -> int:
    configure_logging(verbose=False)
    _say(_HEAD)
    turns = read_transcript(Path(str(resources.files("gateway_memory.cli") / "demo_transcript.jsonl")))
    with tempfile.TemporaryDirectory(prefix="gateway-memory-demo-") as folder:
        async with GatewayMemory(load_config(), folder) as memory:
            demo = Demo(memory)
            await demo.run(turns)
    _say("\n  ".join(["\nThese do not hold:", *demo.failed]) if demo.failed else "\nEvery criterion holds.")
    if demo.slow:
        _say("\n  ".join(["This machine is slow or busy at the moment, which is no failure:", *demo.slow]))
    return 1 if demo.failed else 0
