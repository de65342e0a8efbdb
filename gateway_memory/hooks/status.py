"""`hooks status`: what is installed, how each hook's last run ended, and what a person can do about it."""

import json
import shlex
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from gateway_memory.hooks.hook import EVENTS
from gateway_memory.hooks.outcome import last_outcomes
from gateway_memory.hooks.places import FILES, commands_in, event_in, workspace_of
from gateway_memory.sessions.own_command import own_command

__all__ = ["status_lines"]

_WORDS: Final = {
    "answered": "answered",
    "quiet": "had nothing to tell",
    "late": "gave up at the time limit",
    "stopped": "was stopped by a signal",
    "failed": "failed",
}
_LATE: Final = {
    "sessionStart": "The session opened without its memories. Its prompts are still told what is relevant.",
    "userPromptSubmit": "The prompt went on without memories.",
    "preCompact": "What it did not read, the next hook reads.",
    "stop": "What it did not read, the next hook reads.",
    "sessionEnd": "What it did not process waits, and the next end of a session or a gateway processes it.",
}


def status_lines(project: Path, workspace: str | None) -> list[str]:
    """Return what `hooks status` shows for a project.

    workspace: None for the one that the installed hooks name, else `.memory` in the project.

    Raises:
        ValueError: an editor's file is damaged.
    """
    lines, files = [], dict[str, Path]()
    for editor, name in FILES.items():
        for path in dict.fromkeys(folder.expanduser().absolute() / name for folder in (project, Path.home())):
            ours = {event: command for command, _ in commands_in(_document(path)) if (event := event_in(command))}
            lines.append(f"{editor}: {f'{len(ours)} hooks' if ours else 'not installed'} ({path})")
            files = dict.fromkeys(ours, path) | files
            workspace = workspace or next(filter(None, map(_workspace_in, ours.values())), None)
    place = workspace_of({"workspace_roots": [str(project)]}, workspace)
    outcomes = {event: last_outcomes(place, event) for event in EVENTS}
    for event, runs in outcomes.items():
        lines += _lines(event, runs, place, files.get(event)) if runs else [f"{event}: has not run yet"]
    if files and not any(outcomes.values()):
        lines.append("No hook has run yet. An editor reads its file when it starts: restart it, and open this project.")
    return lines


def _workspace_in(command: str) -> str | None:
    try:
        words = shlex.split(command)
        return words[words.index("--workspace") + 1]
    except (ValueError, IndexError):
        return None


def _lines(event: str, runs: Sequence[Mapping[str, Any]], place: Path, file: Path | None) -> Iterator[str]:
    last = runs[-1]
    when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(last["at"]))
    why = _reason(last)
    counts = Counter(str(each["outcome"]) for each in runs)
    often = ", ".join(f"{number} {_WORDS[kind]}" for kind, number in counts.most_common())
    word = _WORDS[last["outcome"]]
    yield f"{event}: {word}{why and f': {why}'}, {when}, after {last['seconds']:.2f} s of {last['limit']:g} s"
    if len(runs) > 1:
        yield f"  the last {len(runs)} runs: {often}"
    yield from (f"  → {line}" for line in _advice(event, last, counts, place, file))


def _reason(last: Mapping[str, Any]) -> str:
    """Return what went wrong in words, "" for nothing."""
    error = str(last.get("error", ""))
    if last["outcome"] in ("late", "stopped") or not error:
        return ""
    if "config" in last:
        return f"the config has mistakes, at {'; '.join(map(str, last.get('places', [])))}"
    kind = error.partition(" ")[0]
    words = {
        "JSONDecodeError": "the editor's input is no JSON",
        "UnicodeDecodeError": "the editor's input is no JSON",
        "OperationalError": "the journal was locked, or can't be opened",
        "DatabaseError": "the journal is damaged",
        "UsageError": "the session is no editor's",
    }
    known = words.get(kind) or str(last.get("system", "")) or "an error of gateway-memory"
    said = f"{known} ({error})"
    return said if last["outcome"] == "failed" else f"but its session is not noted: {said}"


def _advice(event: str, last: Mapping[str, Any], counts: Counter[str], place: Path, file: Path | None) -> Iterator[str]:
    """Yield what came of the last run, and what a person can do."""
    if last["outcome"] == "late":
        yield _LATE[event]
        raised = f'raise "timeout" of this hook in {file}' if file else "raise the hook's time limit in the editor"
        if event == "userPromptSubmit":
            serve = f"{own_command()} serve --workspace {shlex.quote(str(place))}"
            raised = f"let a gateway or `{serve}` run, which answers at once, or {raised}"
        yield f"The machine was too busy. If that happens often ({counts['late']} of {sum(counts.values())}), {raised}."
    elif last["outcome"] == "stopped":
        yield "The editor ended it, or somebody did. There is nothing to do unless it happens often."
    elif "config" in last:
        check = f"{own_command()} config check {shlex.quote(str(last['config']))}"
        yield f"Until it is mended, this hook does nothing. `{check}` tells what is expected there."
    elif "error" in last:
        yield from _advice_on_error(str(last["error"]).partition(" ")[0], last, place)


def _advice_on_error(kind: str, last: Mapping[str, Any], place: Path) -> Iterator[str]:
    if kind == "OperationalError":
        journal = place / "journal.sqlite"
        yield (
            f"Another process held {journal}, or its disk is full or read-only. Nothing is lost."
            if journal.exists()
            else f"{journal} is not there yet: the next start of a session in the editor makes it."
        )
    elif kind == "DatabaseError":
        yield f"`{own_command()} doctor episodes --workspace {shlex.quote(str(place))}` tells what can't be read."
    elif kind in ("JSONDecodeError", "UnicodeDecodeError"):
        yield "If it stays so after an update of the editor and of gateway-memory, report it as a bug."
    elif "system" in last:
        yield f"Look after {place}: its disk, and who may write there."
    elif kind != "UsageError":
        yield f"Report it as a bug, with the last lines of {place / 'logs'}: they hold no message and no memory."


def _document(path: Path) -> object:
    """Return the content of an editor's file, None without one."""
    if not path.exists():
        return None
    try:
        return json.loads(path.read_text("utf-8-sig") or "{}")
    except (ValueError, RecursionError):
        raise ValueError(f"{path}: this is no JSON; mend it first") from None
