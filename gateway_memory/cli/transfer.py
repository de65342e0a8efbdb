"""`gateway-memory export`, `wiki` and `delete`: a memory as files, as pages, and gone."""

import argparse
import sys
from datetime import datetime
from functools import partial

from gateway_memory.browsing.wiki import write_wiki
from gateway_memory.browsing.wiki_pages import pages_of, without_secrets
from gateway_memory.cli.memory import in_memory
from gateway_memory.cli.options import check_folder, check_output, tell, whose_of
from gateway_memory.config.load import load_config
from gateway_memory.memory import GatewayMemory
from gateway_memory.scope import Scope
from gateway_memory.store.disk.workspace import write_private
from gateway_memory.transfer.deletion import Deletion
from gateway_memory.transfer.exporter import to_line
from gateway_memory.transfer.proof import lines_of, places


def run_export(args: argparse.Namespace) -> int:
    """Write the memory as JSON lines or Markdown; returns the exit code."""
    if args.format == "markdown" and args.output is None:
        tell("--format markdown needs --output FOLDER", beside=True)
        return 2
    if args.format != "markdown":
        check_output(args.output)
    in_memory(args, partial(_write_export, args))
    return 0


async def _write_export(args: argparse.Namespace, memory: GatewayMemory) -> None:
    if args.format == "markdown":
        amount = f"{await memory.exporter.copy(args.output)} files"
    else:
        rows = memory.exporter.feedback() if args.format == "feedback" else memory.exporter.rows()
        lines = [to_line(row) async for row in rows]
        if args.output:
            write_private(args.output, "".join(lines).encode())
        else:
            sys.stdout.writelines(lines)
        amount = f"{len(lines)} lines"
    for folder in (await memory.exporter.scopes())[1]:
        tell(f"{folder}: whose this is stands nowhere any more; it was left out", beside=True)
    tell(f"{amount} exported", beside=True)


def run_wiki(args: argparse.Namespace) -> int:
    """Write what is known of somebody as Markdown pages that link each other; returns the exit code."""

    async def write(memory: GatewayMemory) -> int:
        session = await memory.visit(**whose_of(args))
        sections, lines = await memory.portraits.everything(session, shown=without_secrets)
        pages = pages_of(
            sections, lines, language=None, day_of=lambda at: datetime.fromtimestamp(at, memory.zone).date()
        )
        return write_wiki(args.output, pages)

    number = in_memory(args, write)
    pages = "1 page" if number == 1 else f"{number} pages"
    tell(f"{pages} written; open {args.output} as a vault of Obsidian", beside=True)
    return 0


def run_delete(args: argparse.Namespace) -> int:
    """Delete a scope and print the proof; returns the exit code."""
    scope = Scope.parse(args.scope)
    deletion = Deletion(workspace=args.workspace, store=load_config(args.config).defaults.store)
    if not deletion.store.is_shared:
        check_folder(args.workspace)
    for linked in deletion.linked_with(scope):
        tell(f"{linked.key} is linked with it, so it is the same person's", beside=True)
    there = places(deletion.survey(scope))
    if not there:
        tell(f"nothing of {scope.key} is there; look whether the name is right", beside=True)
    if not args.yes:
        tell(*there)
        tell("nothing was deleted; say --yes to delete it, and it cannot be taken back", beside=True)
        return 1
    proof = deletion.delete(scope)
    tell(*lines_of(proof))
    return 0 if proof.holds else 1
