"""`gateway-memory hooks install | status | undo`: our entries in an editor's file."""

import argparse
import contextlib
import json
import os
import shlex
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any, Final

from gateway_memory.edge.content import well_formed
from gateway_memory.edge.edited_file import EditedFile
from gateway_memory.edge.phrases import fill
from gateway_memory.edge.prompts import own_command
from gateway_memory.errors import UsageError
from gateway_memory.hooks.editors import FILES, OURS, Editor, document_of
from gateway_memory.hooks.hook import EVENTS
from gateway_memory.hooks.status import status_lines

_text: Final = partial(fill, "hooks")


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
    document = document_of(path, (text or "").encode())
    hooks = document.get("hooks", {}) if isinstance(document, dict) else None
    if not isinstance(hooks, dict) or not all(isinstance(entries, list) for entries in hooks.values()):
        raise UsageError(f'{path}: expected an object whose "hooks" holds a list for each event')
    return dict(document)


def _render(document: dict[str, Any]) -> str:
    text = json.dumps(document, indent=2, ensure_ascii=False)
    # JSON can only represent a lone surrogate as an escape.
    return f"{text if well_formed(text) == text else json.dumps(document, indent=2)}\n"
