"""`gateway-memory import`: what it takes, and what it tells of it."""

import argparse
import tempfile
from collections.abc import Iterable
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Final

from tqdm import tqdm

from gateway_memory.cli.memory import in_memory
from gateway_memory.cli.options import named_of, tell, whose_of
from gateway_memory.cli.reading import read_backlog
from gateway_memory.config.load import load_config
from gateway_memory.edge.phrases import fill, shown
from gateway_memory.memory import GatewayMemory
from gateway_memory.scope import resolve_scope
from gateway_memory.transfer.importer import ImportReport
from gateway_memory.transfer.items import Item
from gateway_memory.transfer.layouts import layout_of, read_layout
from gateway_memory.transfer.left_out import summary

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
