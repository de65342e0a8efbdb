"""`gateway-memory import`, `read`, `export`, `wiki` and `delete`; `read` learns from imported conversations."""

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime, time
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Final

from tqdm import tqdm

from gateway_memory.browsing.wiki import write_wiki
from gateway_memory.browsing.wiki_pages import pages_of, without_secrets
from gateway_memory.cli.memory import in_memory
from gateway_memory.cli.options import check_folder, check_output, named_of, tell, whose_of
from gateway_memory.config.load import load_config
from gateway_memory.edge.phrases import fill, shown
from gateway_memory.memory import GatewayMemory
from gateway_memory.scope import Scope, resolve_scope
from gateway_memory.store.disk.workspace import write_private
from gateway_memory.transfer.deletion import Deletion
from gateway_memory.transfer.exporter import to_line
from gateway_memory.transfer.importer import ImportReport
from gateway_memory.transfer.items import Item
from gateway_memory.transfer.layouts import layout_of, read_layout
from gateway_memory.transfer.left_out import summary
from gateway_memory.transfer.proof import lines_of, places

# `gateway-memory read`: learn from conversations that were imported.

_LINES: Final = 10
"""The number of lines that tell of the progress where there is no terminal."""


def run_read(args: argparse.Namespace) -> int:
    """Read the unread episodes and print the result; returns the exit code."""
    named = named_of(args)
    scope = resolve_scope(**named) if named else None

    async def read(memory: GatewayMemory) -> list[str]:
        since = datetime.combine(args.since, time(), memory.zone).timestamp() if args.since else 0.0
        return await read_backlog(memory, scope, since=since)

    tell(*in_memory(args, read))
    return 0


async def read_backlog(memory: GatewayMemory, scope: Scope | None, *, since: float = 0.0) -> list[str]:
    """Read the unread episodes, show the progress, and return the result as lines.

    scope: None for every scope. since: epoch seconds.
    """
    with _progress(await memory.backlog.count(scope=scope, since=since)) as step:
        caught = await memory.backlog.read(scope=scope, since=since, progress=step)
    lines = [f"{caught.read} exchanges read; {caught.kept} memories kept, {caught.waiting} to be approved"]
    if caught.waiting:
        lines.append("what waits is kept when you approve it: gateway-memory review; approve ID, or approve all")
    if caught.remaining:
        why = "the day's budget is used up" if caught.over_budget else "it gave no answer"
        lines.append(f"{caught.remaining} exchanges wait for the model ({why}): gateway-memory read goes on")
    if caught.excluded:
        lines.append(f"{caught.excluded} exchanges are left out by autoExtract.enabled or excludeSessionTypes")
    return lines


@contextmanager
def _progress(total: int) -> Iterator[Callable[[int], object]]:
    """Yield a function that takes the number of exchanges read: it moves a bar on a terminal, else prints lines."""
    if sys.stderr.isatty():
        with tqdm(desc=shown("read"), unit=shown("exchange"), total=total) as bar:
            yield bar.update
        return
    done = 0

    def step(number: int) -> None:
        nonlocal done
        shown, done = done * _LINES // max(total, 1), done + number
        if done * _LINES // max(total, 1) > shown:
            tell(f"read {done} of {total} exchanges", beside=True)

    yield step


_SHOWN: Final = 20
_OMITTED: Final = {
    ("event", "deleted"): "lines are no memories (events, deleted ones)",
    ("group",): "conversations of groups were left out: say whose memory takes them in, with --room NAME",
    ("machine",): "conversations were held without a person (scheduled runs, subagents), and were left out",
}


def run_import(args: argparse.Namespace) -> int:
    """Take in another memory and print what was added; returns the exit code."""
    layout = args.layout
    if layout == "auto":
        layout = layout_of(args.path)
        tell(f"{args.path}: read as {layout}", beside=True)
    items = read_layout(layout, args.path, load_config(args.config).defaults.zone(), groups=args.room is not None)
    items = chain(list(islice(items, 1)), items)  # a path without such data is a mistake before anything is opened
    with tempfile.TemporaryDirectory() as empty:
        if args.dry_run and not args.workspace.is_dir():
            args.workspace = Path(empty)  # shows what an empty workspace would take in
        report = in_memory(args, partial(_take_in, args, items))
    _print_report(args, report)
    nothing_read = report.problems or report.left_out or report.counts["ignored.event"]
    if nothing_read and not report.has_items:
        tell(f"nothing was taken in: not one row of {args.path} can be read", beside=True)
        return 1
    return int(any(problem.ends for problem in report.problems))


def _print_report(args: argparse.Namespace, report: ImportReport) -> None:
    counts = report.counts
    would = "would be " if args.dry_run else ""
    for name in ("memories", "reviews", "summaries", "notes", "episodes"):
        rest = [
            shown(f"{number} {key.partition('.')[2].replace('_', ' ')}")
            for key, number in sorted(counts.items())
            if key.startswith(f"{name}.") and not key.endswith(".added") and number
        ]
        if name == "reviews" and not (rest or counts["reviews.added"]):
            continue
        others = f" ({fill('phrases', 'comma').join(rest)})" if rest else ""
        tell(f"{name}: {counts[f'{name}.added']} {would}added{others}")
    left_out = f"{counts['memories.forgotten']} left out: forgotten"
    hints = (
        (
            counts["memories.waiting"] + counts["reviews.added"],
            "what waits is kept when you approve it: gateway-memory review; approve ID, or approve all",
        ),
        (
            counts["memories.forgotten"],
            f"{left_out}; to have one all the same, say it again (“Remember that …”), or undo the forgetting",
        ),
        (
            counts["episodes.added"] and not (args.read or args.dry_run),
            "nothing was learnt from the episodes yet: gateway-memory read",
        ),
    )
    for applies, hint in hints:
        if applies:
            tell(hint)
    _print_left_out(args, report)
    for what, number in report.unknown.most_common(_SHOWN):
        tell(f"not known here, in {number} rows: {what}")
    for problem in sorted(report.problems, key=lambda problem: not problem.ends)[:_SHOWN]:
        tell(f"{problem.place}: {problem.reason}")
    if len(report.problems) > _SHOWN:
        tell(f"… and {len(report.problems) - _SHOWN} more lines")


def _print_left_out(args: argparse.Namespace, report: ImportReport) -> None:
    for key, why in _OMITTED.items():
        number = sum(report.counts[f"ignored.{kind}"] for kind in key)
        if number:
            tell(f"{number} {why}")
    if report.copies:
        tell(f"copies that a sync has made, taken in once: {summary(report.copies, args.path)}")
    if report.left_out:
        tell(f"left out, for nothing in them is known here: {summary(report.left_out, args.path)}")


async def _take_in(args: argparse.Namespace, items: Iterable[Item], memory: GatewayMemory) -> ImportReport:
    scope, forced = resolve_scope(**whose_of(args)), bool(named_of(args))
    with tqdm(desc=shown("taken in"), unit=shown("item"), disable=None) as bar:
        report = await memory.importer.run(items, scope=scope, forced=forced, dry_run=args.dry_run, progress=bar.update)
    if not args.dry_run:
        await _embedded(memory)
        if args.read:
            tell(*await read_backlog(memory, scope if forced else None))
    return report


async def _embedded(memory: GatewayMemory) -> None:
    """Compute the missing vectors. It may be interrupted: whoever opens the workspace next goes on."""
    with tqdm(desc=shown("embedded"), unit=shown("text"), disable=None) as bar:

        def show(missing: int) -> None:
            bar.total = max(bar.total or 0, missing)
            bar.update(bar.total - missing - bar.n)

        await memory.importer.embed(show)


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
