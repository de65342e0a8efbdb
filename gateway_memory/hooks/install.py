"""`gateway-memory hooks install | status | undo`: our entries in an editor's file, and how their last runs ended."""

import argparse
import contextlib
import json
import os
import shlex
import subprocess
import sys
import time
from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

from gateway_memory.edge.content import well_formed
from gateway_memory.edge.edited_file import EditedFile
from gateway_memory.edge.phrases import fill, shown, texts
from gateway_memory.edge.prompts import own_command
from gateway_memory.errors import UsageError
from gateway_memory.ground.texts import json_of
from gateway_memory.hooks.editors import FILES, OURS, Editor, commands_in, event_in, workspace_of
from gateway_memory.hooks.hook import EVENTS
from gateway_memory.hooks.outcome import last_outcomes

# `hooks status`: what is installed, how each hook's last run ended, and what a person can do about it.


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
            document = _parse(path, path.read_bytes() if path.exists() else b"")
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


def _parse(path: Path, content: bytes) -> Any:
    """Return the document in an editor's file; {} for an empty one."""
    try:
        return json_of(content.removeprefix(BOM_UTF8).strip() or b"{}")
    except (ValueError, RecursionError):
        raise UsageError(f"{path}: this is no JSON; mend it first") from None


_CURSORS: Final = {"userPromptSubmit": "beforeSubmitPrompt"}
"""Cursor's own names of events."""
_CHECK_SECONDS: Final = 30.0


def run(args: argparse.Namespace) -> int:
    """Execute a parsed `hooks` command, and return the exit code."""
    project = _project(args.project)
    config = args.config.expanduser().absolute() if getattr(args, "config", None) else None
    if args.action == "status":
        lines = status_lines(project or Path.cwd(), args.workspace)
    elif args.action == "install":
        lines = [install(args.editor, project, args.workspace, config=config)]
    else:
        lines = [undo(args.editor, project)]
    sys.stdout.write("\n".join(lines) + "\n")
    return 0


def _project(project: Path | None) -> Path | None:
    if project is None:
        return None
    folder = project.expanduser().absolute()
    if not folder.is_dir():
        raise UsageError(f"{folder}: there is no such project; name its folder with --project")
    return folder


def install(editor: Editor, project: Path | None, workspace: str | None, *, config: Path | None = None) -> str:
    """Merge our hooks into the editor's file, and return the message to show. Installing twice has no effect.

    project: None for the file of all projects.

    Raises:
        UsageError: the file is not a JSON object of the expected form, or our command does not run in an editor's
            environment. The file is unchanged.
    """
    file = _file(editor, project)
    path, before = file.path, file.read()
    document = _read(path, before)
    after = merged(editor, document, workspace, config)
    _check(own_command(), config)
    if document == after:
        return _text("already", path=path)
    others, made = without_ours(document), not path.parent.exists()
    path.parent.mkdir(parents=True, exist_ok=True)
    former = before if others == document else _render(others)
    file.write(before, _render(after), lambda: {"before": former, "made": made})
    where = "--global" if project is None else f"--project {shlex.quote(str(project))}"
    return _text("done", path=path, number=len(EVENTS), command=own_command(), editor=editor, where=where)


def _check(command: str, config: Path | None) -> None:
    """Run the command as an editor would: in a shell without our virtual environment.

    Raises:
        UsageError: the command does not run, or the config has mistakes.
    """
    environment = {name: os.environ[name] for name in ("HOME", "LANG", "TMPDIR") if name in os.environ}
    tried = f"{command} config check {shlex.quote(str(config.absolute()))}" if config else f"{command} --help"
    try:
        done = subprocess.run(  # noqa: S603 - our own command
            ["/bin/sh", "-c", tried],
            env={**environment, "PATH": "/usr/bin:/bin"},
            cwd="/",
            capture_output=True,
            check=False,
            timeout=_CHECK_SECONDS,
        )
    except subprocess.TimeoutExpired:
        raise UsageError(_text("no_answer", command=tried, seconds=_CHECK_SECONDS)) from None
    if done.returncode:
        output = done.stderr.decode("utf-8", "replace").strip()[-500:]
        raise UsageError(_text("ends_with", command=tried, code=done.returncode, output=output))


def undo(editor: Editor, project: Path | None) -> str:
    """Remove our hooks. Restore the file byte for byte, or remove only our entries if it was edited since."""
    file = _file(editor, project)
    path, known = file.path, file.known()
    document = _read(path, file.read())
    others = without_ours(document)
    is_ours = others != document
    if is_ours and not file.restore():
        file.write_others(_render(others))
    file.record.unlink(missing_ok=True)
    if known.get("made"):
        with contextlib.suppress(OSError):  # the folder contains other files
            path.parent.rmdir()
    return _text("out" if is_ours else "none", path=path)


def merged(
    editor: Editor, document: dict[str, Any], workspace: str | None, config: Path | None = None
) -> dict[str, Any]:
    """Return an editor's document with our hooks once, after the entries of others."""
    result = without_ours(document)
    hooks = dict(result.get("hooks", {}))
    command = own_command()
    place = f" --workspace {shlex.quote(str(Path(workspace).expanduser().absolute()))}" if workspace else ""
    place += f" --config {shlex.quote(str(config.expanduser().absolute()))}" if config else ""
    for event, seconds in EVENTS.items():
        entry: dict[str, Any] = {"command": f"{command} hook {event}{place}", "timeout": seconds}
        name = _CURSORS.get(event, event)
        if editor == "claude-code":
            name = event[0].upper() + event[1:]
            entry = {"hooks": [{"type": "command", **entry}]}
        elif event == "stop":
            entry["loop_limit"] = 1
        hooks[name] = [*hooks.get(name, []), entry]
    result["hooks"] = hooks
    return {"version": 1, **result} if editor == "cursor" else result


def without_ours(document: dict[str, Any]) -> dict[str, Any]:
    """Return a document without our entries. Other entries keep their order."""
    hooks: dict[str, Any] = {}
    for event, entries in document.get("hooks", {}).items():
        remaining = [kept for entry in entries for kept in _without_command(entry)]
        if remaining or not entries:
            hooks[event] = remaining
    return {**document, "hooks": hooks} if "hooks" in document else dict(document)


def _without_command(entry: Any) -> list[Any]:
    """Return the rest of an entry without our commands as a list, which is empty for our own entry."""
    inner = entry.get("hooks") if isinstance(entry, dict) else None
    if isinstance(inner, list):
        remaining = [each for each in inner if not _is_ours(each)]
        return [] if inner and not remaining else [{**entry, "hooks": remaining}]
    return [] if _is_ours(entry) else [entry]


def _is_ours(entry: Any) -> bool:
    return isinstance(entry, dict) and OURS.search(str(entry.get("command", ""))) is not None


def _file(editor: Editor, project: Path | None) -> EditedFile:
    path = (project or Path.home()).expanduser().absolute() / FILES[editor]
    return EditedFile(path=path, record=path.with_name(".gateway-memory-hooks.json"), is_secret=False)


def _read(path: Path, text: str | None) -> dict[str, Any]:
    document = _parse(path, (text or "").encode())
    hooks = document.get("hooks", {}) if isinstance(document, dict) else None
    if not isinstance(hooks, dict) or not all(isinstance(entries, list) for entries in hooks.values()):
        raise UsageError(f'{path}: expected an object whose "hooks" holds a list for each event')
    return dict(document)


def _render(document: dict[str, Any]) -> str:
    text = json.dumps(document, indent=2, ensure_ascii=False)
    # JSON can only represent a lone surrogate as an escape.
    return f"{text if well_formed(text) == text else json.dumps(document, indent=2)}\n"
