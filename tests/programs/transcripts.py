"""Writes transcripts in the real formats of Claude Code and of Cursor."""

import json
import uuid
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

__all__ = ["ClaudeCode", "Cursor", "Transcript"]

Line = dict[str, Any]


class ClaudeCode:
    """`~/.claude/projects/<project>/<session>.jsonl`: an entry a line, and each content part of a reply its own entry.

    said_at: the time of the first line.
    """

    editor = "claude-code"

    def __init__(self, path: Path, session: str, said_at: datetime) -> None:
        self.path = path
        self.session = session
        self.lines: list[Line] = [
            {"type": "permission-mode", "permissionMode": "default", "sessionId": session},
            {
                "type": "file-history-snapshot",
                "messageId": str(uuid.uuid4()),
                "snapshot": {},
                "isSnapshotUpdate": False,
            },
        ]
        self._at = said_at
        self.write()

    def event(self, name: str, **more: Any) -> Line:
        """What the editor hands to a hook."""
        base = {"session_id": self.session, "transcript_path": str(self.path), "cwd": str(self.path.parent)}
        return {**base, "permission_mode": "default", "hook_event_name": name[0].upper() + name[1:], **more}

    def asks(self, text: str) -> Line:
        """The user submits a message, next to which the editor puts what is open."""
        opened = {"type": "text", "text": "<ide_opened_file>The user opened the file /p/app.py.</ide_opened_file>"}
        content = [opened, {"type": "text", "text": text}]
        return self._entry("user", {"role": "user", "content": content}, origin={"kind": "human"})

    def works(self) -> None:
        """The agent thinks, says what it does, and calls a tool."""
        self._reply({"type": "thinking", "thinking": "Which file is it?", "signature": "c2ln"}, "tool_use")
        self._reply({"type": "text", "text": "Let me look at the file first."}, "tool_use")
        use = {"type": "tool_use", "id": "toolu_01", "name": "Read", "input": {"file_path": "/p/app.py"}}
        self._reply(use, "tool_use")
        result = {"type": "tool_result", "tool_use_id": "toolu_01", "content": "remember that the tool said zebra"}
        self._entry("user", {"role": "user", "content": [result]}, toolUseResult={"type": "text"})
        note = "<system-reminder>Remember that the reminder said giraffe.</system-reminder>"
        self._entry("user", {"role": "user", "content": note}, isMeta=True)
        aside = "remember that the subagent said okapi"
        self._entry("user", {"role": "user", "content": aside}, isSidechain=True)

    def answers(self, text: str) -> None:
        """The agent's final reply."""
        self._reply({"type": "text", "text": text}, "end_turn")

    def stops(self) -> None:
        """What the editor writes after a whole turn."""
        self._at += timedelta(seconds=1)
        self._add({"type": "system", "subtype": "turn_duration", "durationMs": 5100, "isMeta": False, **self._base()})

    def write(self) -> None:
        """Write the file anew."""
        text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in self.lines)
        self.path.write_text(text, "utf-8")

    def forked(self, path: Path, *, renumbered: bool) -> "ClaudeCode":
        """A session that begins with copies of this one's entries: under their uuids, or with `forkedFrom`."""
        fork = ClaudeCode(path, f"{self.session}-fork", self._at)
        for line in self.lines:
            copy = {**line, "sessionId": fork.session}
            if renumbered and "uuid" in line:
                source = {"sessionId": self.session, "messageUuid": line["uuid"]}
                copy |= {"uuid": str(uuid.uuid4()), "forkedFrom": source}
            fork.lines.append(copy)
        fork.write()
        return fork

    def _reply(self, part: Line, stop_reason: str) -> None:
        message = {
            "id": "msg_01",
            "type": "message",
            "role": "assistant",
            "model": "claude-opus-5-5",
            "content": [part],
        }
        self._entry("assistant", {**message, "stop_reason": stop_reason, "usage": {"output_tokens": 9}})

    def _entry(self, kind: str, message: Line, **more: Any) -> Line:
        self._at += timedelta(seconds=1)
        return self._add({**self._base(), "type": kind, "message": message, **more})

    def _base(self) -> Line:
        parent = next((line["uuid"] for line in reversed(self.lines) if "uuid" in line), None)
        return {
            "parentUuid": parent,
            "isSidechain": False,
            "userType": "external",
            "cwd": str(self.path.parent),
            "sessionId": self.session,
            "version": "2.1.309",
            "gitBranch": "main",
            "uuid": str(uuid.uuid4()),
            "timestamp": f"{self._at.astimezone(UTC):%Y-%m-%dT%H:%M:%S}.130Z",
        }

    def _add(self, line: Line) -> Line:
        self.lines.append(line)
        self.write()
        return line


class Cursor:
    """`~/.cursor/projects/<project>/agent-transcripts/<id>/<id>.jsonl`: no ids, no times but the user's, no results."""

    editor = "cursor"

    def __init__(self, path: Path, session: str, said_at: datetime) -> None:
        self.path = path
        self.session = session
        self.lines: list[Line] = []
        self._at = said_at
        self.write()

    def event(self, name: str, **more: Any) -> Line:
        """What the editor hands to a hook."""
        return {
            "conversation_id": self.session,
            "generation_id": "g-1",
            "model": "composer-2.5",
            "hook_event_name": {"userPromptSubmit": "beforeSubmitPrompt"}.get(name, name),
            "cursor_version": "3.20.17",
            "workspace_roots": [str(self.path.parent)],
            "transcript_path": str(self.path),
            **more,
        }

    def asks(self, text: str) -> Line:
        """The user submits a message."""
        self._at += timedelta(minutes=1)
        hour, half = self._at.hour % 12 or 12, "AM" if self._at.hour < 12 else "PM"
        stamp = f"{self._at:%A, %b} {self._at.day}, {self._at.year}, {hour}:{self._at:%M} {half} (UTC+8)"
        return self._add(
            "user", {"type": "text", "text": f"<timestamp>{stamp}</timestamp>\n<user_query>\n{text}\n</user_query>"}
        )

    def works(self) -> None:
        """The agent says what it does, and calls a tool; and Cursor submits something in the user's name."""
        use = {"type": "tool_use", "name": "ReadFile", "input": {"path": "/p/app.py", "offset": 1}}
        self._add("assistant", {"type": "text", "text": "Let me look at the file first."}, use)
        self._add("assistant", {"type": "tool_use", "name": "ApplyPatch", "input": "*** Begin Patch\n*** End Patch"})
        body = "The above subagent result is already visible to the user. DO NOT remember that it said okapi."
        self._add("user", {"type": "text", "text": f"\n<user_query>{body}</user_query>"})

    def answers(self, text: str) -> None:
        """The agent's final reply."""
        self._add("assistant", {"type": "text", "text": f"{text}\n\n[REDACTED]"})

    def stops(self) -> None:
        """What the editor writes after a whole turn."""
        self.lines.append({"type": "turn_ended", "status": "success"})
        self.write()

    def write(self) -> None:
        """Write the file anew. Its last line has no end."""
        self.path.write_text("\n".join(json.dumps(line, ensure_ascii=False) for line in self.lines), "utf-8")

    def forked(self, path: Path, *, renumbered: bool) -> "Cursor":
        """A copy of the conversation."""
        fork = Cursor(path, f"{self.session}-fork{renumbered}", self._at)
        fork.lines = list(self.lines)
        fork.write()
        return fork

    def _add(self, role: str, *parts: Line) -> Line:
        line = {"role": role, "message": {"content": list(parts)}}
        self.lines.append(line)
        self.write()
        return line


Transcript = ClaudeCode | Cursor
