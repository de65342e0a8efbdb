"""An editor's exchanges become turns as a gateway's do, once each, and its prompts are told what is relevant."""

import json
import sqlite3
import subprocess
import sys
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from editor import WORDS_ALONE, compiled, patient, run
from transcripts import ClaudeCode, Cursor, Transcript

from gateway_memory.edge.transcript import exchanges_of
from gateway_memory.hooks.editors import joined_in
from gateway_memory.hooks.feed import observations_of

pytestmark = pytest.mark.slow

TOLD = ("remember that the release branch is cut every Thursday", "I prefer tabs over spaces", "以后提交信息都用英文写")
ASKED = (
    ("when is the release branch cut?", "Thursday"),
    ("do I like tabs or spaces?", "tabs over spaces"),
    ("我的提交信息用什么语言写？", "英文"),
)
AT = datetime(2026, 11, 20, 9, 30, tzinfo=timezone(timedelta(hours=8)))


@pytest.fixture(params=[ClaudeCode, Cursor])
def kind(request: pytest.FixtureRequest) -> type[Transcript]:
    found: type[Transcript] = request.param
    return found


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    return compiled(tmp_path / ".memory")


def hook(workspace: Path, session: Transcript, name: str, config: str = WORDS_ALONE, **more: Any) -> dict[str, Any]:
    given = json.dumps(session.event(name, **more)).encode()
    done = run("hook", name, "--workspace", str(workspace), "--config", config, given=given)
    assert (done.returncode, done.stderr) == (0, b"")
    assert not list(workspace.glob("logs/hooks-*.jsonl")), "nothing went wrong"
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def opening(workspace: Path, session: Transcript, **more: Any) -> str:
    answer = hook(workspace, session, "sessionStart", **more)
    return str(answer.get("hookSpecificOutput", {}).get("additionalContext") or answer.get("additional_context"))


def beside(workspace: Path, session: Transcript, prompt: str) -> str:
    """What the session is told beside a prompt."""
    given = json.dumps(session.event("userPromptSubmit", prompt=prompt)).encode()
    answer = json.loads(
        run("hook", "UserPromptSubmit", "--workspace", str(workspace), "--config", WORDS_ALONE, given=given).stdout
    )
    if isinstance(session, Cursor):
        assert answer["continue"] is True
        return str(answer.get("additional_context", ""))
    told = answer.get("hookSpecificOutput", {"hookEventName": "UserPromptSubmit", "additionalContext": ""})
    assert told["hookEventName"] == "UserPromptSubmit"
    return str(told["additionalContext"])


def stop(workspace: Path, session: Transcript, **more: Any) -> None:
    hook(workspace, session, "stop", status="completed", loop_count=0, **more)


def converse(session: Transcript, *messages: str) -> None:
    for number, message in enumerate(messages):
        session.asks(message)
        session.works()
        session.answers(f"Understood, number {number}.")
        session.stops()


def rows(workspace: Path, query: str) -> list[Any]:
    journal = sqlite3.connect(workspace / "journal.sqlite")
    found = journal.execute(query).fetchall()
    journal.close()
    return found


def turns(workspace: Path) -> list[tuple[str, str]]:
    """The turns (user, reply) that wait or are kept, in their order."""
    query = "SELECT id AS turn, user, reply FROM turns UNION SELECT turn, user, reply FROM episodes ORDER BY turn"
    return [(user, reply) for _, user, reply in rows(workspace, query)]


def memories(workspace: Path) -> str:
    return "".join(path.read_text("utf-8") for path in sorted(workspace.rglob("*.md")))


def test_what_is_told_in_one_session_is_remembered_and_told_in_the_next(
    kind: type[Transcript], workspace: Path, tmp_path: Path
) -> None:
    first = kind(tmp_path / "one.jsonl", "one", AT)
    opening(workspace, first, source="startup")
    for number, message in enumerate(TOLD):
        assert beside(workspace, first, message) == ""
        converse(first, message)
        stop(workspace, first)
        assert len(turns(workspace)) == number + 1, "each hook reads what is new"
    assert hook(workspace, first, "sessionEnd", reason="other") == {}
    kept = memories(workspace)
    assert all(expected in kept for expected in ("release branch is cut every Thursday", "tabs over spaces", "英文写"))
    assert not any(animal in kept for animal in ("zebra", "giraffe", "okapi"))
    assert turns(workspace) == [(message, "Understood, number 0.") for message in TOLD]
    (at,) = rows(workspace, "SELECT at FROM episodes ORDER BY turn LIMIT 1")
    assert abs(at[0] - AT.timestamp()) <= 90, "the time is that of the transcript"
    (record,) = (workspace / "sessions.jsonl").read_text("utf-8").splitlines()
    assert json.loads(record)["session_id"] == "one"
    assert "Thursday" in record

    told = opening(workspace, kind(tmp_path / "two.jsonl", "two", AT), source="startup")
    assert all(expected in told for _, expected in ASKED)
    later = kind(tmp_path / "three.jsonl", "three", AT)  # an editor that has told no opening
    for question, expected in ASKED:
        assert expected in beside(workspace, later, question)


def repository(folder: Path, remote: str = "") -> Path:
    """Make a folder that is a repository as far as its config tells."""
    (folder / ".git").mkdir(parents=True)
    section = f'[core]\n\tbare = false\n[remote "origin"]\n\turl = {remote}\n\tfetch = +refs\n' if remote else ""
    (folder / ".git" / "config").write_text(section, "utf-8")
    return folder


def test_a_repository_is_a_project_where_one_workspace_has_many(
    kind: type[Transcript], workspace: Path, tmp_path: Path
) -> None:
    here = repository(tmp_path / "one" / "clone", "git@example.com:team/apollo.git")
    again = repository(tmp_path / "two" / "apollo", "https://example.com/team/apollo")
    other = repository(tmp_path / "three" / "zeus")
    first = kind(here / "one.jsonl", "one", AT)
    opening(workspace, first, source="startup")
    save = ("save-fact", "--workspace", str(workspace), "--session", "one", "--content")
    assert run(*save, "Apollo's release branch is called next", given=b"").returncode == 0
    assert "called next" in memories(workspace / "projects"), "its agent saves for the project"
    assert run(*save, "Apollo uses Rust", "--project", "zeus", given=b"").returncode == 1, "and for no other"
    converse(first, "We decided to use PostgreSQL in this repository.", "I prefer tabs over spaces.")
    stop(workspace, first)
    hook(workspace, first, "sessionEnd", reason="other")
    assert "PostgreSQL" in memories(workspace / "projects")
    assert "tabs" in (workspace / "MEMORY.md").read_text("utf-8")
    question = "which database did we decide to use in this repository?"
    assert "[Project]" in opening(workspace, kind(again / "two.jsonl", "two", AT), source="startup")
    assert "PostgreSQL" in beside(workspace, kind(again / "three.jsonl", "three", AT), question)
    elsewhere = kind(other / "four.jsonl", "four", AT)
    assert "[Project]" not in opening(workspace, elsewhere, source="startup")
    assert "PostgreSQL" not in beside(workspace, elsewhere, question)


@pytest.mark.parametrize(
    ("remote", "name"),
    [
        ("git@example.com:team/apollo.git", "apollo"),
        ("https://example.com/team/apollo/", "apollo"),
        ("ssh://git@example.com:22/apollo.git", "apollo"),
        ("../apollo.git", "apollo"),
        ("", "clone"),
    ],
)
def test_a_repository_has_the_name_of_its_remote(tmp_path: Path, remote: str, name: str) -> None:
    root = repository(tmp_path / "clone", remote)
    (root / "src").mkdir()
    for folder in (root, root / "src"):
        found = joined_in({"workspace_roots": [str(folder)]}, tmp_path / "memory")
        assert found is not None
        assert found.key == f"project:{name}"
    assert joined_in({"workspace_roots": [str(root)]}, root / ".memory") is None, "it is the project's own memory"
    assert joined_in({"workspace_roots": [str(tmp_path)]}, tmp_path.parent / "memory") is None
    tree = tmp_path / "tree"
    (root / ".git" / "worktrees" / "tree").mkdir(parents=True)
    tree.mkdir()
    (tree / ".git").write_text(f"gitdir: {root / '.git' / 'worktrees' / 'tree'}\n", "utf-8")
    found = joined_in({"workspace_roots": [str(tree)]}, tmp_path / "memory")
    assert found is not None
    assert found.key == f"project:{name}"


def test_beside_a_prompt_only_what_is_new_to_the_session_is_told(
    kind: type[Transcript], workspace: Path, tmp_path: Path
) -> None:
    (workspace / "MEMORY.md").write_text(f"- {TOLD[1]}\n", "utf-8")
    session, other = (kind(tmp_path / f"{name}.jsonl", name, AT) for name in ("one", "other"))
    question = ASKED[1][0]
    assert "tabs" in opening(workspace, session, source="startup")
    assert beside(workspace, session, question) == "", "its opening holds it"
    assert "tabs" in beside(workspace, other, question)
    assert beside(workspace, other, question) == ""
    assert [beside(workspace, other, quiet) for quiet in ("thanks!", "what's 17 * 23", "/compact", "")] == [""] * 4
    (workspace / "MEMORY.md").write_text("- I prefer tabs over spaces, but not in Python\n", "utf-8")
    assert "Python" in beside(workspace, other, question), "with another text it is news"
    hook(workspace, other, "preCompact", trigger="auto")
    assert "Python" in beside(workspace, other, question), "the context was compacted"
    if kind is ClaudeCode:
        opening(workspace, other, source="resume")
        assert beside(workspace, other, question) == ""


@pytest.mark.parametrize("setting", ["autoRecall: {enabled: false}", "autoRecall: {minScore: 1}"])
def test_a_prompt_is_told_nothing_where_recall_is_off_or_strict(workspace: Path, tmp_path: Path, setting: str) -> None:
    (workspace / "MEMORY.md").write_text(f"- {TOLD[1]}\n", "utf-8")
    config = tmp_path / "config.json5"
    config.write_text(f"{{agents: {{defaults: {{memorySync: {{opening: {{enabled: false}}, {setting}}}}}}}}}", "utf-8")
    session = Cursor(tmp_path / "one.jsonl", "one", AT)
    hook(workspace, session, "sessionStart", config=str(config))
    given = json.dumps(session.event("userPromptSubmit", prompt=ASKED[1][0])).encode()
    place = ("--workspace", str(workspace), "--config", str(config))
    assert json.loads(run("hook", "userPromptSubmit", *place, given=given).stdout) == {"continue": True}


def test_a_prompt_goes_on_without_memories_where_the_journal_is_locked(workspace: Path, tmp_path: Path) -> None:
    session = ClaudeCode(tmp_path / "one.jsonl", "one", AT)
    opening(workspace, session, source="startup")
    (workspace / "MEMORY.md").write_text(f"- {TOLD[1]}\n", "utf-8")
    other = sqlite3.connect(workspace / "journal.sqlite", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    assert beside(workspace, session, ASKED[1][0]) == "", "it would be told again"
    other.execute("ROLLBACK")
    other.close()
    assert "tabs" in beside(workspace, session, ASKED[1][0])


def test_what_a_prompt_needs_is_light(workspace: Path, tmp_path: Path) -> None:
    (workspace / "MEMORY.md").write_text(f"- {TOLD[1]}\n", "utf-8")
    session = Cursor(tmp_path / "one.jsonl", "one", AT)
    hook(workspace, Cursor(tmp_path / "two.jsonl", "two", AT), "sessionStart")
    code = (
        "import sys; from gateway_memory.hooks import run; "
        f"run.main(['userPromptSubmit', '--workspace', {str(workspace)!r}, '--config', {WORDS_ALONE!r}]); "
        "heavy = 'pydantic structlog aiosqlite numpy asyncio argparse'.split(); "
        "heavy += 'extractor.cleaning.clean recall.recaller'.split(); "
        "print([name for name in heavy if name in sys.modules])"
    )
    given = json.dumps(session.event("userPromptSubmit", prompt=ASKED[1][0])).encode()
    done = subprocess.run([sys.executable, "-c", code], input=given, capture_output=True, check=True, env=patient())
    answer, heavy = done.stdout.decode().splitlines()
    assert "tabs" in answer
    assert heavy == "[]"


def test_an_exchange_is_one_turn_however_often_it_is_read(
    kind: type[Transcript], workspace: Path, tmp_path: Path
) -> None:
    session = kind(tmp_path / "one.jsonl", "one", AT)
    converse(session, *TOLD)
    for _ in range(2):
        stop(workspace, session)
        hook(workspace, session, "preCompact", trigger="auto")
    seen = rows(workspace, "SELECT count(*) FROM observations")
    hook(workspace, session, "sessionEnd", reason="other")
    session.lines = session.lines[len(session.lines) // 2 :]  # rewritten: shorter, so that offsets mean nothing
    session.write()
    stop(workspace, session)
    stop(workspace, session.forked(tmp_path / "copied.jsonl", renumbered=False))
    fork = session.forked(tmp_path / "fork.jsonl", renumbered=True)
    stop(workspace, fork)
    converse(fork, "remember that the fork went on")
    stop(workspace, fork)
    assert [user for user, _ in turns(workspace)] == [*TOLD, "remember that the fork went on"]
    assert rows(workspace, "SELECT count(*) FROM observations")[0][0] < seen[0][0] * 2, "what was done, too"
    hook(workspace, fork, "sessionEnd", reason="other")
    assert memories(workspace).count("release branch") == 1


def test_the_same_words_said_twice_are_two_turns(kind: type[Transcript], workspace: Path, tmp_path: Path) -> None:
    session = kind(tmp_path / "one.jsonl", "one", AT)
    converse(session, "run the tests", "run the tests")
    stop(workspace, session)
    stop(workspace, session)
    assert [user for user, _ in turns(workspace)] == ["run the tests"] * 2


def test_a_line_that_cursor_has_written_twice_is_one_message(workspace: Path, tmp_path: Path) -> None:
    session = Cursor(tmp_path / "one.jsonl", "one", AT)
    session.lines.append(session.asks("run the tests"))
    session.answers("They pass.")
    stop(workspace, session)
    assert turns(workspace) == [("run the tests", "They pass.")]


def test_a_reply_that_is_not_whole_is_left_for_the_next_hook(
    kind: type[Transcript], workspace: Path, tmp_path: Path
) -> None:
    session = kind(tmp_path / "one.jsonl", "one", AT)
    converse(session, TOLD[0])
    session.asks(TOLD[1])
    session.works()
    hook(workspace, session, "preCompact", trigger="auto")
    assert len(turns(workspace)) == 1
    session.answers("Tabs it is.")
    session.stops()
    stop(workspace, session)
    assert turns(workspace)[1:] == [(TOLD[1], "Tabs it is.")]


def test_a_stop_tells_the_reply_that_its_transcript_lacks(workspace: Path, tmp_path: Path) -> None:
    session = ClaudeCode(tmp_path / "one.jsonl", "one", AT)
    session.asks(TOLD[0])
    session.works()
    stop(workspace, session, last_assistant_message="Thursday, noted.")
    session.answers("Thursday, noted.")
    stop(workspace, session, last_assistant_message="Thursday, noted.")
    assert turns(workspace) == [(TOLD[0], "Thursday, noted.")]


def test_a_session_that_was_killed_loses_nothing(kind: type[Transcript], workspace: Path, tmp_path: Path) -> None:
    """Its turns wait in the journal, and the end of the next session processes them."""
    session = kind(tmp_path / "one.jsonl", "one", AT)
    converse(session, *TOLD)
    stop(workspace, session)
    assert memories(workspace) == ""
    hook(workspace, kind(tmp_path / "two.jsonl", "two", AT), "sessionEnd", reason="other")
    assert all(expected in memories(workspace) for _, expected in ASKED)
    assert rows(workspace, "SELECT count(*) FROM turns") == [(0,)]


def test_a_crash_between_two_exchanges_repeats_none(workspace: Path, tmp_path: Path) -> None:
    session = ClaudeCode(tmp_path / "one.jsonl", "one", AT)
    converse(session, *(f"remember that the number {number} is lucky" for number in range(50)))
    code = (
        "import sys; from gateway_memory.hooks import run; from gateway_memory.store.journal import in_place\n"
        "read = in_place.JournalInPlace.read\n"
        "def once(*given):\n    read(*given)\n    import os; os._exit(9)\n"
        "in_place.JournalInPlace.read = once\n"
        f"run.main(['stop', '--workspace', {str(workspace)!r}, '--config', {WORDS_ALONE!r}])"
    )
    given = json.dumps(session.event("stop")).encode()
    done = subprocess.run([sys.executable, "-c", code], input=given, check=False, env=patient())
    assert done.returncode == 9
    assert 0 < len(turns(workspace)) < 50
    stop(workspace, session)
    stop(workspace, session)
    assert [user for user, _ in turns(workspace)] == [f"remember that the number {each} is lucky" for each in range(50)]


def test_what_is_private_or_secret_stands_nowhere(kind: type[Transcript], workspace: Path, tmp_path: Path) -> None:
    session = kind(tmp_path / "one.jsonl", "one", AT)
    opening(workspace, session, source="startup")
    said = "remember that the garden is green <private>the code is 4711</private> and my password is hunter2secret"
    beside(workspace, session, said)
    converse(session, said)
    for name in ("stop", "preCompact", "sessionEnd"):
        hook(workspace, session, name, status="completed", reason="other")
    assert "garden is green" in memories(workspace)
    written = b"".join(path.read_bytes() for path in workspace.rglob("*") if path.is_file())
    assert b"4711" not in written
    assert b"hunter2secret" not in written


@pytest.mark.parametrize(
    ("settings", "kept", "said"),
    [
        ("episodes: {enabled: false}", True, 0),
        ("autoExtract: {enabled: false}", False, 3),
        ("autoExtract: {excludeSessionTypes: ['hook']}", False, 0),
    ],
)
def test_the_switches_of_a_gateway_hold_for_an_editor(
    workspace: Path, tmp_path: Path, settings: str, *, kept: bool, said: int
) -> None:
    config = tmp_path / "config.json5"
    embedder = "autoRecall: {embedder: {provider: 'none'}}"
    config.write_text(f"{{agents: {{defaults: {{memorySync: {{{embedder}, {settings}}}}}}}}}", "utf-8")
    session = Cursor(tmp_path / "one.jsonl", "one", AT)
    converse(session, *TOLD)
    for name in ("stop", "sessionEnd"):
        hook(workspace, session, name, config=str(config), status="completed", reason="other")
    assert ("tabs over spaces" in memories(workspace)) == kept
    assert rows(workspace, "SELECT count(*) FROM episodes") == [(said,)]
    hook(workspace, session, "stop", status="completed")
    assert len(turns(workspace)) == said, "what was said meanwhile is not read later"


def test_memory_that_is_off_in_a_session_keeps_nothing_of_it(workspace: Path, tmp_path: Path) -> None:
    session = ClaudeCode(tmp_path / "one.jsonl", "one", AT)
    opening(workspace, session, source="startup")
    journal = sqlite3.connect(workspace / "journal.sqlite")
    every = ("autoExtract", "autoRecall", "notify", "incrementalSync", "observations")
    journal.execute("UPDATE sessions SET switches = ?", (json.dumps(dict.fromkeys(every, False)),))
    journal.commit()
    journal.close()
    converse(session, *TOLD)
    stop(workspace, session)
    hook(workspace, session, "sessionEnd", reason="other")
    assert turns(workspace) == []
    assert rows(workspace, "SELECT count(*) FROM observations") == [(0,)]


def test_what_nobody_said_is_no_message() -> None:
    def user(text: str, **more: Any) -> bytes:
        return json.dumps({"type": "user", "uuid": text, "message": {"role": "user", "content": text}, **more}).encode()

    queued = {"type": "queued_command", "prompt": "and check the tests too", "commandMode": "prompt"}
    notice = {"type": "queued_command", "prompt": "done", "commandMode": "task-notification"}
    reply = {"role": "assistant", "content": [{"type": "text", "text": "Done."}], "stop_reason": "end_turn"}
    error = {
        "role": "assistant",
        "model": "<synthetic>",
        "content": [{"type": "text", "text": "No response requested."}],
    }
    found = exchanges_of(
        [
            user("fix the bug"),
            json.dumps({"type": "attachment", "uuid": "q", "attachment": queued}).encode(),
            json.dumps({"type": "attachment", "uuid": "n", "attachment": notice}).encode(),
            json.dumps({"type": "assistant", "uuid": "r", "message": reply}).encode(),
            user("a peer says hello", origin={"kind": "peer"}),
            user("<task-notification>finished</task-notification>"),
            user("<command-name>/compact</command-name><command-args></command-args>"),
            user("<bash-input>ls</bash-input>"),
            user("why?"),
            user("[Request interrupted by user]"),
            json.dumps({"type": "assistant", "message": error}).encode(),
            user("[Session Save]\n\nThe task is done and nothing of this session is saved yet."),
            json.dumps({"type": "assistant", "uuid": "s", "message": reply}).encode(),
            b"{broken",
            b"[1]",
        ],
        "one",
    )
    assert [(each.user, each.reply) for each in found] == [
        ("fix the bug", ""),
        ("and check the tests too", "Done."),
        ("why?", ""),
    ]
    assert all(each.complete for each in found)


@pytest.mark.parametrize(
    ("stamp", "at"),
    [
        ("Friday, May 8, 2026, 6:05 AM (UTC+5:30)", datetime(2026, 5, 8, 0, 35, tzinfo=UTC)),
        ("Sunday, Sep 20, 2026, 12:31 AM (UTC-5)", datetime(2026, 9, 20, 5, 31, tzinfo=UTC)),
        ("Thursday, Aug 6, 2026, 1:48 PM (UTC)", datetime(2026, 8, 6, 13, 48, tzinfo=UTC)),
        ("Saturday, 7:12 PM", None),
        ("Sunday, Feb 30, 2026, 12:31 AM (UTC-5)", None),
    ],
)
def test_cursors_times_are_read(stamp: str, at: datetime | None) -> None:
    text = f"[Image]\n<timestamp>{stamp}</timestamp>\n<user_query>\nhello <timestamp>{stamp}</timestamp></user_query>"
    line = {"role": "user", "message": {"content": [{"type": "text", "text": text}]}}
    (found,) = exchanges_of([json.dumps(line).encode()], "one")
    assert found.at == (at and at.timestamp())
    assert [each.kind for each in observations_of(found.parts)] == ["user"]
