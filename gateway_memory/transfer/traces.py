"""Where a scope leaves traces: files, the journal, the index, logs; and whether something of it is still there."""

import contextlib
import json
import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from gateway_memory.scope import OWNER_KEY, Scope
from gateway_memory.store.disk.aside import files_of_former_journals
from gateway_memory.store.disk.workspace import INDEX_FILE
from gateway_memory.store.journal.in_place import JournalInPlace
from gateway_memory.store.markdown import parse
from gateway_memory.store.summaries import DAMAGED_FILE, SESSIONS_FILE, read_records
from gateway_memory.transfer.proof import Proof
from recall import RecallError, peek

_NEEDLES: Final = 300
_SHORTEST_NEEDLE: Final = 8


def survey(workspace: Path, scopes: Sequence[Scope]) -> dict[str, int]:
    """Return the number of rows, lines or files that scopes have, by place."""
    counts = Counter({"memory files": sum(len(_files(workspace, scope)) for scope in scopes)})
    counts["set aside"] = len(files_of_former_journals(workspace))
    with journal_of(workspace) as journal:
        if journal:
            for scope in scopes:
                counts.update({f"journal {table}": number for table, number in journal.count(scope.key).items()})
            counts["log lines"] = sum(len(lines) for _, lines, _ in logs_of(workspace, journal, scopes))
    counts["index"] = sum(_index_rows(workspace, scope) for scope in scopes)
    return dict(counts)


def delete_files(workspace: Path, scope: Scope, proof: Proof) -> None:
    """Delete the files of a scope, and note in the proof where its links led."""
    for path in _files(workspace, scope):
        if path.is_symlink():
            proof.links.append(f"{path} → {path.resolve()}")
        path.unlink()
    folder = workspace / scope.folder if scope.folder else workspace / "memory"
    if folder.is_dir():
        shutil.rmtree(folder)


@contextlib.contextmanager
def journal_of(workspace: Path) -> Iterator[JournalInPlace | None]:
    """Open the journal of a workspace, None where there is none."""
    if not (workspace / "journal.sqlite").exists():
        yield None
        return
    with JournalInPlace.open(workspace) as journal:
        yield journal


def _files(workspace: Path, scope: Scope) -> list[Path]:
    if scope.folder:
        paths = [*(workspace / scope.folder).rglob("*")]
    else:
        paths = [workspace / name for name in ("MEMORY.md", SESSIONS_FILE, DAMAGED_FILE)]
        for pattern in (".MEMORY.md.*", "MEMORY.md.damaged-*", f".{SESSIONS_FILE}.*", ".*-*.tmp", "memory/**/*"):
            paths += workspace.glob(pattern)
    return [path for path in paths if path.is_file() or path.is_symlink()]


def _index_rows(workspace: Path, scope: Scope) -> int:
    with contextlib.suppress(RecallError), peek(workspace / INDEX_FILE) as index:
        return index.count(scope.key)
    return 0


def logs_of(
    workspace: Path, journal: JournalInPlace, scopes: Sequence[Scope]
) -> list[tuple[Path, list[bytes], list[bytes]]]:
    """Return the log files that name scopes or their sessions, with the lines that do and the lines that don't."""
    names = [name for scope in scopes for name in journal.sessions_of(scope.key)]
    for scope in scopes:
        names += [json.dumps(scope.key)[1:-1], scope.key, scope.folder] if scope.key != OWNER_KEY else []
    needles = [name.encode() for name in names]
    logs = []
    for path in sorted((workspace / "logs").glob("*.jsonl")):
        lines = path.read_bytes().splitlines(keepends=True)
        named = [line for line in lines if any(needle in line for needle in needles)]
        if named:
            logs.append((path, named, [line for line in lines if line not in set(named)]))
    return logs


def needles_of(workspace: Path, scopes: Sequence[Scope], journal: JournalInPlace | None) -> list[bytes]:
    """Return texts and ids that occur only in these scopes, in each form in which a file may contain them."""
    texts = journal.texts([scope.key for scope in scopes]) if journal else set()
    mine = {path for scope in scopes for path in _files(workspace, scope)}
    rest = b""
    for path in _regular(workspace, "*.md"):
        content = path.read_bytes()
        if path in mine:
            texts.update(block.text for block in parse(content.decode("utf-8", "replace"), file=path.name))
        else:
            rest += content
    theirs = {workspace / scope.folder / SESSIONS_FILE for scope in scopes}
    others: set[str] = set()
    for path in _regular(workspace, SESSIONS_FILE):
        for record in read_records(path)[0]:
            own = {str(record.get(key, "")) for key in ("topic", "summary", "session_id")}
            (texts if path in theirs else others).update(own)
    texts -= others
    if journal and scopes[0].kind.may_be_joined:  # it was said in conversations, which stay with those who said it
        texts -= journal.said_elsewhere([scope.key for scope in scopes], texts)
    unique = sorted(text for text in texts if len(text) >= _SHORTEST_NEEDLE and text.encode() not in rest)
    step = max(1, len(unique) // _NEEDLES)
    forms = {
        form.encode("utf-8", "replace")
        for text in unique[::step][:_NEEDLES]
        for form in (text, json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1])
    }
    return sorted(forms)


def look_through(workspace: Path, needles: Sequence[bytes], proof: Proof) -> None:
    """Note in the proof the files that still hold one of the needles."""
    for path in _regular(workspace, "*"):
        content = path.read_bytes()
        proof.files += 1
        proof.bytes += len(content)
        if any(needle in content for needle in needles):
            proof.traces.append(str(path.relative_to(workspace)))


def _regular(workspace: Path, pattern: str) -> list[Path]:
    """Return the files below a workspace that match a pattern, without links, pipes and the like."""
    return sorted(path for path in workspace.rglob(pattern) if path.is_file() and not path.is_symlink())
