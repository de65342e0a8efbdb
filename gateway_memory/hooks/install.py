"""`gateway-memory hooks install | status | undo`: our entries in an editor's file, beside what others wrote there."""

import argparse
import hashlib
import json
import shlex
import sys
import time
from pathlib import Path
from typing import Any, Final, Literal

from gateway_memory.hooks.run import EVENTS, workspace_of

__all__ = ["add_parser", "install", "merged", "undo", "without_ours"]

Editor = Literal["cursor", "claude-code"]
_FILES: Final[dict[Editor, str]] = {"cursor": ".cursor/hooks.json", "claude-code": ".claude/settings.json"}
_OURS: Final = "gateway-memory hook "
_RECORD: Final = ".gateway-memory-hooks.json"


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add `hooks` with its actions; the parsed arguments carry `run`."""
    parser = subparsers.add_parser("hooks", help="install the hooks of an editor, show them, take them out again")
    actions = parser.add_subparsers(dest="action", required=True)
    for name, text in (("install", "merge our hooks into the editor's file"), ("undo", "take them out again")):
        action = actions.add_parser(name, help=text)
        action.add_argument("editor", choices=list(_FILES))
        _add_project(action)
    status = actions.add_parser("status", help="what is installed, and when each hook last ran")
    _add_project(status)
    for action in actions.choices.values():
        action.add_argument("--workspace", help="the memory's folder (default: .memory in the project)")
    parser.set_defaults(run=_run)


def _add_project(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--project", type=Path, metavar="DIR", help="this project's hooks (default: all your projects')"
    )


def _run(args: argparse.Namespace) -> int:
    try:
        if args.action == "status":
            lines = _status(args.project, args.workspace)
        elif args.action == "install":
            lines = [install(args.editor, args.project, args.workspace)]
        else:
            lines = [undo(args.editor, args.project)]
    except (OSError, ValueError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    sys.stdout.write("\n".join(lines) + "\n")
    return 0


def install(editor: Editor, project: Path | None, workspace: str | None) -> str:
    """Merge our hooks into the editor's file; doing it twice changes nothing. Returns what to tell.

    Raises:
        ValueError: the file there is no JSON object of the expected form; it is left as it is.
    """
    path = _file(editor, project)
    before = path.read_text("utf-8") if path.exists() else None
    after = json.dumps(merged(editor, _read(path, before), workspace), indent=2, ensure_ascii=False) + "\n"
    if before is not None and json.loads(before) == json.loads(after):
        return f"{path}: the hooks are installed already"
    path.parent.mkdir(parents=True, exist_ok=True)
    record = path.with_name(_RECORD)
    if not record.exists():  # what stood there before the first of our installations
        _write(record, json.dumps({"before": before}))
    _write(path, after)
    _write(record, json.dumps({**json.loads(record.read_text("utf-8")), "after": _digest(after)}))
    return f"{path}: {len(EVENTS)} hooks installed; `gateway-memory hooks undo {editor}` takes them out again"


def undo(editor: Editor, project: Path | None) -> str:
    """Take our hooks out: the file as it was, byte for byte; where somebody edited it since, without our entries."""
    path = _file(editor, project)
    if not path.exists():
        return f"{path}: there are no hooks"
    text = path.read_text("utf-8")
    record = path.with_name(_RECORD)
    known = json.loads(record.read_text("utf-8")) if record.exists() else {}
    if known.get("after") == _digest(text):
        if known["before"] is None:
            path.unlink()
        else:
            _write(path, known["before"])
    else:
        _write(path, json.dumps(without_ours(_read(path, text)), indent=2, ensure_ascii=False) + "\n")
    record.unlink(missing_ok=True)
    return f"{path}: our hooks are out"


def merged(editor: Editor, document: dict[str, Any], workspace: str | None) -> dict[str, Any]:
    """Return an editor's document with our hooks, once, behind what others wrote there."""
    result = without_ours(document)
    hooks = dict(result.get("hooks", {}))
    place = f" --workspace {shlex.quote(str(Path(workspace).expanduser().absolute()))}" if workspace else ""
    for event, seconds in EVENTS.items():
        entry: dict[str, Any] = {"command": f"{_OURS}{event}{place}", "timeout": seconds}
        name = event
        if editor == "claude-code":
            name = event[0].upper() + event[1:]
            entry = {"hooks": [{"type": "command", **entry}]}
        elif event == "stop":
            entry["loop_limit"] = 1
        hooks[name] = [*hooks.get(name, []), entry]
    result["hooks"] = hooks
    return {"version": 1, **result} if editor == "cursor" else result


def without_ours(document: dict[str, Any]) -> dict[str, Any]:
    """Return a document without our entries; what others wrote stays in its order."""
    hooks: dict[str, Any] = {}
    for event, entries in document.get("hooks", {}).items():
        left = [kept for entry in entries if (kept := _without_command(entry)) is not None]
        if left or not entries:
            hooks[event] = left
    return {**document, "hooks": hooks} if "hooks" in document else dict(document)


def _without_command(entry: Any) -> Any:
    if not isinstance(entry, dict):
        return entry
    if _is_ours(entry):
        return None
    inner = entry.get("hooks")
    if isinstance(inner, list):
        left = [each for each in inner if not _is_ours(each)]
        return None if inner and not left else {**entry, "hooks": left}
    return entry


def _is_ours(entry: Any) -> bool:
    return isinstance(entry, dict) and str(entry.get("command", "")).startswith(_OURS)


def _status(project: Path | None, workspace: str | None) -> list[str]:
    lines = []
    for editor in _FILES:
        path = _file(editor, project)
        count = path.read_text("utf-8").count(_OURS) if path.exists() else 0
        lines.append(f"{editor}: {f'{count} hooks' if count else 'not installed'} ({path})")
    place = workspace_of({"workspace_roots": [str(project)]} if project else {}, workspace)
    for event in EVENTS:
        ran = place / ".gateway-memory" / "hooks" / event
        when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(ran.stat().st_mtime)) if ran.exists() else "never"
        lines.append(f"{event}: last ran {when}")
    return lines


def _file(editor: Editor, project: Path | None) -> Path:
    return (project or Path.home()).expanduser().absolute() / _FILES[editor]


def _read(path: Path, text: str | None) -> dict[str, Any]:
    if not text or not text.strip():
        return {}
    try:
        document = json.loads(text)
    except ValueError:
        raise ValueError(f"{path}: this is no JSON; mend it first, then install") from None
    hooks = document.get("hooks", {}) if isinstance(document, dict) else None
    if not isinstance(hooks, dict) or not all(isinstance(entries, list) for entries in hooks.values()):
        raise ValueError(f'{path}: expected an object whose "hooks" holds a list for each event')
    return dict(document)


def _write(path: Path, text: str) -> None:
    temporary = path.with_name(f".{path.name}.tmp")
    temporary.write_text(text, "utf-8")
    temporary.replace(path)


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
