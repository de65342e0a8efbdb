"""`gateway-memory save-fact` and `save-summary`: called by an agent in its own turn, answered in JSON."""

import argparse
import json
import sys
from functools import partial
from typing import Any

from gateway_memory.capture.unkept import secret_note
from gateway_memory.cli.memory import in_memory
from gateway_memory.cli.options import named_of
from gateway_memory.config.load import load_config
from gateway_memory.errors import GatewayMemoryError, UsageError
from gateway_memory.hooks.editors import workspace_of
from gateway_memory.memory import GatewayMemory
from gateway_memory.sessions.session import Session


def save(args: argparse.Namespace) -> int:
    """Run either command on the session that it names, and answer in JSON, also if nothing could be saved."""
    try:
        args.workspace = workspace_of({}, args.workspace)
        is_shared = load_config(args.config).for_agent(args.agent).store.is_shared
        if not is_shared and not (args.workspace / "journal.sqlite").is_file():
            raise UsageError(f"{args.workspace}: there is no memory here; name its folder with --workspace")
        answer = in_memory(args, partial(_save, args))
    except (OSError, GatewayMemoryError) as error:
        # Only our own messages are printed: another library's may quote what was said.
        message = {"message": str(error)} if isinstance(error, GatewayMemoryError) else {}
        answer = {"status": "error", "reason": type(error).__name__, **message}
    sys.stdout.write(json.dumps(answer) + "\n")
    return 1 if answer["status"] == "error" else 0


async def _save(args: argparse.Namespace, memory: GatewayMemory) -> dict[str, Any]:
    session = await memory.attach_session(args.session, **named_of(args))
    if not session.may_save:
        return {"status": "skipped", "reason": "the user has switched keeping off in this session"}
    save_in = _save_fact if args.command.name == "save-fact" else _save_summary
    return await save_in(memory, session, args)


async def _save_fact(memory: GatewayMemory, session: Session, args: argparse.Namespace) -> dict[str, Any]:
    identity = await memory.save_fact(
        session,
        content=args.content,
        type=args.type,
        entities=_parts([args.entities], ","),
        confidence=args.confidence,
        on=args.on,
        until=args.until,
        every=args.every,
    )
    note = secret_note(args.content)
    if not identity:
        return {"status": "skipped", "reason": note or "nothing to keep"}
    return {"status": "ok", "id": identity, **({"reason": note} if note else {})}


async def _save_summary(memory: GatewayMemory, session: Session, args: argparse.Namespace) -> dict[str, Any]:
    saved = await memory.save_summary(
        session,
        topic=args.topic,
        summary=args.summary,
        decisions=_parts(args.decisions, ";"),
        todos=_parts(args.todos, ";"),
    )
    saved_record = await memory.session_record(session)
    record = saved_record and saved_record["id"]
    if saved:
        return {"status": "ok", "id": record}
    if not session.settings.sessions.records:
        return {"status": "skipped", "reason": "sessions.records is false in the config"}
    return {"status": "skipped", "reason": "duplicate" if record else "nothing to keep"}


def _parts(values: list[str], separator: str) -> list[str]:
    return [part.strip() for value in values for part in value.split(separator) if part.strip()]
