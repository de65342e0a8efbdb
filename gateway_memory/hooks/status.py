"""`hooks status`: what is installed, how each hook's last run ended, and what a person can do about it."""

import shlex
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

from gateway_memory.edge.phrases import fill, shown, texts
from gateway_memory.edge.prompts import own_command
from gateway_memory.hooks.editors import FILES, commands_in, document_of, event_in, workspace_of
from gateway_memory.hooks.hook import EVENTS
from gateway_memory.hooks.outcome import last_outcomes

_text: Final = partial(fill, "hooks")


def status_lines(project: Path, workspace: str | None) -> list[str]:
    """Return what `hooks status` shows for a project.

    workspace: None for the one that the installed hooks name, else `.memory` in the project.

    Raises:
        UsageError: an editor's file is damaged.
    """
    lines, files = [], dict[str, Path]()
    for editor, name in FILES.items():
        for path in dict.fromkeys(folder.expanduser().absolute() / name for folder in (project, Path.home())):
            document = document_of(path, path.read_bytes() if path.exists() else b"")
            ours = {event: command for command, _ in commands_in(document) if (event := event_in(command))}
            lines.append(_text("installed" if ours else "not_installed", editor=editor, number=len(ours), path=path))
            files = dict.fromkeys(ours, path) | files
            workspace = workspace or next(filter(None, map(_workspace_in, ours.values())), None)
    place = workspace_of({"workspace_roots": [str(project)]}, workspace)
    outcomes = {event: last_outcomes(place, event) for event in EVENTS}
    for event, runs in outcomes.items():
        lines += _lines(event, runs, place, files.get(event)) if runs else [_text("not_run", event=event)]
    if files and not any(outcomes.values()):
        lines.append(_text("none_run"))
    return lines


def _workspace_in(command: str) -> str | None:
    try:
        words = shlex.split(command)
        return words[words.index("--workspace") + 1]
    except (ValueError, IndexError):
        return None


def _lines(event: str, runs: Sequence[Mapping[str, Any]], place: Path, file: Path | None) -> Iterator[str]:
    last = runs[-1]
    at = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(last["at"]))
    why, counts = _reason(last), Counter(str(each["outcome"]) for each in runs)
    outcome = _text("failed_by", outcome=_text(last["outcome"]), why=why) if why else _text(last["outcome"])
    yield _text("last_run", event=event, outcome=outcome, at=at, seconds=last["seconds"], limit=last["limit"])
    if len(runs) > 1:
        listed = fill("phrases", "comma").join(
            _text("run_count", kind=_text(kind), number=number) for kind, number in counts.most_common()
        )
        yield _text("runs", number=len(runs), counts=listed)
    yield from (f"  → {line}" for line in _advice(event, last, counts, place, file))


def _reason(last: Mapping[str, Any]) -> str:
    """Return what went wrong in words, "" for nothing."""
    error = str(last.get("error", ""))
    if last["outcome"] in ("late", "stopped") or not error:
        return ""
    if "config" in last:
        return _text("config_mistakes", places="; ".join(map(str, last.get("places", []))))
    name = f"why_{error.partition(' ')[0]}"
    system = shown(str(last.get("system", "")))
    known = _text(name) if name in texts("hooks") else system or _text("why_other")
    reason = f"{known} ({error})"
    return reason if last["outcome"] == "failed" else _text("not_noted", reason=reason)


def _advice(event: str, last: Mapping[str, Any], counts: Counter[str], place: Path, file: Path | None) -> Iterator[str]:
    """Yield what came of the last run, and what a person can do."""
    command, quoted = own_command(), shlex.quote(str(place))
    if last["outcome"] == "late":
        yield _text(f"{event}_late")
        raised = _text("raise_in", file=file) if file else _text("raise")
        if event == "userPromptSubmit":
            raised = _text("serve_or", command=command, place=quoted, raised=raised)
        yield _text("do_late", late=counts["late"], runs=sum(counts.values()), raised=raised)
    elif last["outcome"] == "stopped":
        yield _text("do_stopped")
    elif "config" in last:
        yield _text("do_config", command=command, config=shlex.quote(str(last["config"])))
    elif "error" in last:
        kind, journal = str(last["error"]).partition(" ")[0], place / "journal.sqlite"
        if kind == "OperationalError" and not journal.exists():
            yield _text("do_no_journal", journal=journal)
        elif f"do_{kind}" in texts("hooks"):
            yield _text(f"do_{kind}", journal=journal, command=command, place=quoted)
        elif "system" in last:
            yield _text("do_system", place=place)
        elif kind != "UsageError":
            yield _text("do_other", logs=place / "logs")
