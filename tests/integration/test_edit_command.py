"""Documents in one's own editor, and as files in a folder, over files and over PostgreSQL."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from inside import parts
from postgres import KINDS, app_of, migrated

from gateway_memory import OWNER, GatewayMemory, load_config
from gateway_memory.cli.checkout import STATE_FILE
from gateway_memory.cli.hand_edits import open_for
from gateway_memory.cli.main import main
from gateway_memory.scope import OWNER_SCOPE, Scope

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("alone")]  # beside no other test of servers

ZOE = Scope.parse("user:zoe")


class Place:
    """A memory of one kind, and the options that name it."""

    def __init__(self, folder: Path, store: dict[str, str]) -> None:
        self.config, self.workspace = folder / "config.json5", folder / "w"
        section = {"autoRecall": {"embedder": {"provider": "none"}}, "store": store}
        self.config.write_text(json.dumps({"agents": {"defaults": {"memorySync": section}}}), "utf-8")
        self.options = ["--config", str(self.config), "--workspace", str(self.workspace)]
        self.workspace.mkdir()

    def read(self, name: str, scope: Scope = OWNER_SCOPE) -> bytes | None:
        async def content() -> bytes | None:
            async with open_for(load_config(self.config).defaults, self.workspace, scope) as store:
                read = await store.documents.read(scope, name)
                return read[0].encode("utf-8", "surrogateescape") if read else None

        return asyncio.run(content())

    def write(self, name: str, content: bytes, scope: Scope = OWNER_SCOPE) -> None:
        async def save() -> None:
            settings = load_config(self.config).defaults
            async with open_for(settings, self.workspace, scope) as store, store.documents.writing(scope):
                read = await store.documents.read(scope, name)
                text = content.decode("utf-8", "surrogateescape")
                assert await store.documents.save(scope, name, text, was=read[0] if read else "")

        asyncio.run(save())


@pytest.fixture(params=["files", *KINDS[:1]])
def place(
    request: pytest.FixtureRequest,
    postgres_dsn: Callable[[str], str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Place]:
    monkeypatch.delenv("VISUAL", raising=False)
    with ExitStack() as stack:
        store = {}
        if request.param != "files":
            dsn = postgres_dsn(request.param)
            monkeypatch.setenv("GATEWAY_MEMORY_DSN", app_of(dsn))
            store = {"backend": "postgres", "schema": stack.enter_context(migrated(dsn))}
        monkeypatch.setattr("tempfile.tempdir", str(tmp_path))  # after the server, which another user runs
        yield Place(tmp_path, store)


@pytest.fixture
def editor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Return what sets the editor: a program in Python that has the file as `path` and its content as `text`."""

    def become(program: str) -> None:
        file = tmp_path / "an editor.py"
        begin = "import os, pathlib, subprocess, sys\npath = pathlib.Path(sys.argv[1])\ntext = path.read_bytes()\n"
        file.write_text(begin + program, "utf-8")
        monkeypatch.setenv("EDITOR", f"{sys.executable} '{file}'")

    return become


def left(tmp_path: Path) -> list[Path]:
    """Return the folders of edits that were not deleted."""
    return list(tmp_path.glob("gateway-memory-*"))


# edit


def test_a_document_is_edited(place: Place, editor: Callable[[str], None], tmp_path: Path) -> None:
    place.write("MEMORY.md", b"- a\r\n- \xff \0 b\n")
    editor(
        "assert path.name == 'MEMORY.md' and path.stat().st_mode & 0o777 == 0o600\n"
        "assert path.parent.stat().st_mode & 0o777 == 0o700\n"
        "path.with_name('MEMORY.md~').write_bytes(text)\n"
        "path.unlink(); path.write_bytes(text + b'- c\\r\\n')"
    )
    assert main(["edit", *place.options]) == 0
    assert place.read("MEMORY.md") == b"- a\r\n- \xff \0 b\n- c\r\n"
    editor("path.write_bytes(text + b'- hers\\n')")
    assert main(["edit", *place.options, "--scope", "user:zoe", "memory/2026-01-02.md"]) == 0
    assert place.read("memory/2026-01-02.md", ZOE) == b"- hers\n"
    assert left(tmp_path) == []


@pytest.mark.parametrize(
    ("program", "code", "said"),
    [
        ("raise SystemExit(3)", 1, "the editor ended with 3; nothing was changed"),
        ("path.write_bytes(b'other'); raise SystemExit(1)", 1, "the editor ended with 1; nothing was changed"),
        ("path.unlink()", 1, "the editor has removed the file; nothing was changed"),
        ("pass", 0, "nothing was changed"),
    ],
)
def test_an_edit_that_is_none_changes_nothing(
    place: Place,
    editor: Callable[[str], None],
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    program: str,
    code: int,
    said: str,
) -> None:
    place.write("MEMORY.md", b"- a\n")
    editor(program)
    assert main(["edit", *place.options]) == code
    assert said in "".join(capsys.readouterr())
    assert place.read("MEMORY.md") == b"- a\n"
    assert left(tmp_path) == []


def test_what_others_write_meanwhile_stays(
    place: Place, editor: Callable[[str], None], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    place.write("MEMORY.md", b"- a\n- b\n- c\n")
    other = [sys.executable, "-m", "gateway_memory.cli.entry", "edit", *place.options]
    nested = tmp_path / "nested.py"
    nested.write_text("import sys, pathlib\np = pathlib.Path(sys.argv[1])\np.write_bytes(p.read_bytes() + b'- d\\n')")
    meanwhile = (
        f"subprocess.run({other!r}, check=True, env={{**os.environ, 'EDITOR': {f'{sys.executable} {nested}'!r}}})\n"
    )
    editor(meanwhile + "path.write_bytes(text.replace(b'- a', b'- A'))")
    assert main(["edit", *place.options]) == 0
    assert "with what others have written meanwhile" in capsys.readouterr().out
    assert place.read("MEMORY.md") == b"- A\n- b\n- c\n- d\n"

    editor(meanwhile + "path.write_bytes(text + b'- mine\\n')")
    assert main(["edit", *place.options]) == 1
    said = capsys.readouterr().err
    assert "others have changed the same lines meanwhile (in your text: from 5)" in said
    assert place.read("MEMORY.md") == b"- A\n- b\n- c\n- d\n- d\n"
    (folder,) = left(tmp_path)
    assert f"your text is kept in {folder / 'MEMORY.md'}" in said
    assert (folder / "MEMORY.md").read_bytes() == b"- A\n- b\n- c\n- d\n- mine\n"


def test_what_cannot_be_edited_is_refused_in_words(
    place: Place, editor: Callable[[str], None], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    editor("path.write_bytes(b'x')")
    for name in (
        "../x.md",
        "memory/../x.md",
        "memory/a/../b.md",
        "x.md",
        "memory/.x.md",
        "memory/a\nb.md",
        "memory/x.txt",
    ):
        assert main(["edit", *place.options, name]) == 1
        assert "is no document: expected MEMORY.md, or memory/NAME.md" in capsys.readouterr().err
    assert main(["edit", *place.options, "--scope", "zoe"]) == 1
    assert "expected owner, user:NAME, room:NAME or project:NAME" in capsys.readouterr().err
    monkeypatch.setenv("EDITOR", "/no/such/editor")
    assert main(["edit", *place.options]) == 1
    assert "/no/such/editor: No such file or directory; set $VISUAL or $EDITOR" in capsys.readouterr().err
    monkeypatch.delenv("EDITOR")
    assert main(["edit", *place.options]) == 1
    assert "set $VISUAL or $EDITOR to your editor" in capsys.readouterr().err
    assert place.read("MEMORY.md") is None


async def test_a_fact_that_is_edited_in_is_told_in_the_next_reply_of_an_open_host(
    place: Place, editor: Callable[[str], None]
) -> None:
    async with GatewayMemory(load_config(place.config), place.workspace) as memory:
        session = await memory.start_session("chat", user=OWNER)
        assert "8443" not in (await memory.before_reply(session, "which port does staging use?")).text
        editor("path.write_bytes(text + b'- The staging port is 8443.\\n')")
        command = [sys.executable, "-m", "gateway_memory.cli.entry", "edit", *place.options]
        await asyncio.to_thread(subprocess.run, command, check=True, capture_output=True)
        assert "8443" in (await memory.before_reply(session, "which port does staging use?")).text
        assert [hit.text for hit in await memory.search(session, "staging port")] == ["The staging port is 8443."]


async def test_a_linked_scope_names_where_its_memory_is(
    place: Place, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with GatewayMemory(load_config(place.config), place.workspace) as memory:
        await parts(memory).storage.links.link("user:zoe", "user:yan", 1.0)
    checkout = ["checkout", *place.options, "--scope", "user:zoe", str(tmp_path / "out")]
    assert await asyncio.to_thread(main, checkout) == 1
    assert not (tmp_path / "out").exists()
    assert "user:zoe is linked: its memory is in user:yan" in capsys.readouterr().err


# checkout and commit


def checked_out(place: Place, folder: Path, scope: str = "owner") -> Path:
    assert main(["checkout", *place.options, "--scope", scope, str(folder)]) == 0
    return folder


def test_a_folder_is_checked_out_edited_and_committed(
    place: Place, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    awkward = b"# x\r\n- \xff\xfe \0\n- b\n- c\n"
    for name, content in (("MEMORY.md", b"- a\n"), ("memory/x.md", awkward), ("memory/y.md", b"- y\n")):
        place.write(name, content, ZOE)
    folder = checked_out(place, tmp_path / "out", "user:zoe")
    assert "3 documents of user:zoe" in capsys.readouterr().out
    assert (folder / "memory" / "x.md").read_bytes() == awkward
    assert folder.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in folder.rglob("*") if path.is_file()} == {0o600}
    commit = ["commit", *place.options, str(folder)]
    assert main(commit) == 0
    assert capsys.readouterr().out == "nothing was changed\n"

    (folder / "memory" / "x.md").write_bytes(awkward.replace(b"# x", b"# X"))
    (folder / "memory" / "new.md").write_bytes(b"- new\n")
    (folder / "memory" / "notes.txt").write_bytes(b"no document")
    (folder / "memory" / "y.md").unlink()
    place.write("memory/x.md", awkward + b"- others\n", ZOE)
    assert main(commit) == 0
    assert capsys.readouterr().out.splitlines() == [
        "memory/new.md: new, saved",
        "memory/x.md: saved, with what others have written meanwhile; your file has both",
        "memory/y.md: there is no such file here; it stays in the memory (--delete deletes it)",
    ]
    both = awkward.replace(b"# x", b"# X") + b"- others\n"
    assert place.read("memory/x.md", ZOE) == (folder / "memory" / "x.md").read_bytes() == both
    assert place.read("memory/new.md", ZOE) == b"- new\n"
    assert place.read("memory/y.md", ZOE) == b"- y\n"

    assert main([*commit, "--delete"]) == 0
    assert capsys.readouterr().out == "memory/y.md: deleted\n"
    assert place.read("memory/y.md", ZOE) is None
    assert main(commit) == 0
    assert capsys.readouterr().out == "nothing was changed\n"
    assert place.read("MEMORY.md") is None, "the owner's is another scope"


def test_what_cannot_be_merged_is_left_and_the_rest_is_committed(
    place: Place, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("MEMORY.md", "memory/x.md", "memory/y.md"):
        place.write(name, b"- a\n")
    folder = checked_out(place, tmp_path / "out")
    for name in ("MEMORY.md", "memory/x.md"):
        (folder / name).write_bytes(b"- mine\n")
    (folder / "memory" / "y.md").unlink()
    for name in ("MEMORY.md", "memory/y.md"):
        place.write(name, b"- theirs\n")
    capsys.readouterr()
    for _ in range(2):
        assert main(["commit", *place.options, "--delete", str(folder)]) == 1
        said = capsys.readouterr().out
        assert "MEMORY.md: NOT saved, others have changed the same lines (in your file: from 1)" in said
        assert "memory/y.md: NOT deleted, others have changed it since" in said
    assert place.read("MEMORY.md") == place.read("memory/y.md") == b"- theirs\n"
    assert (folder / "MEMORY.md").read_bytes() == b"- mine\n"
    assert place.read("memory/x.md") == b"- mine\n"


def test_an_interrupted_commit_is_done_again(place: Place, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place.write("MEMORY.md", b"- a\n- b\n- c\n")
    folder = checked_out(place, tmp_path / "out")
    before = (folder / STATE_FILE).read_bytes()
    (folder / "MEMORY.md").write_bytes(b"- A\n- b\n- c\n")
    place.write("MEMORY.md", b"- a\n- b\n- c\n- d\n")
    assert main(["commit", *place.options, str(folder)]) == 0
    (folder / STATE_FILE).write_bytes(before)  # as if it had ended before it noted what it did
    (folder / "MEMORY.md").write_bytes(b"- A\n- b\n- c\n")
    capsys.readouterr()
    assert main(["commit", *place.options, str(folder)]) == 0
    assert capsys.readouterr().out == "MEMORY.md: known already\n"
    assert (folder / "MEMORY.md").read_bytes() == place.read("MEMORY.md") == b"- A\n- b\n- c\n- d\n"


def test_links_and_other_folders_are_refused(place: Place, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def refused(command: str, folder: Path, *more: str) -> str:
        assert main([command, *place.options, *more, str(folder)]) == 1
        return capsys.readouterr().err

    place.write("MEMORY.md", b"- a\n")
    secret = tmp_path / "secret.md"
    secret.write_text("secret")
    folder = checked_out(place, tmp_path / "out")
    assert "expected an empty folder, or none" in refused("checkout", folder, "--scope", "owner")
    assert "this is no folder of `gateway-memory checkout`" in refused("commit", tmp_path)
    (folder / "memory").mkdir()
    (folder / "memory" / "x.md").symlink_to(secret)
    (folder / "MEMORY.md").write_text("- changed\n")
    assert "no regular file; a checkout holds files and no links. Nothing was saved" in refused("commit", folder)
    (folder / "memory" / "x.md").unlink()
    (folder / "memory").rmdir()
    (folder / "memory").symlink_to(tmp_path)
    assert "a link; a checkout holds files and no links" in refused("commit", folder)
    (folder / "memory").unlink()
    os.mkfifo(folder / "pipe.md")  # nothing of ours
    state = json.loads((folder / STATE_FILE).read_text())
    broken: object
    for broken in (
        {**state, "documents": {"memory/../../secret.md": "x"}},
        {**state, "version": 9},
        {**state, "scope": "nobody"},
        [],
    ):
        (folder / STATE_FILE).write_text(json.dumps(broken))
        assert refused("commit", folder)
    (folder / STATE_FILE).write_text(json.dumps({**state, "journal": "other"}))
    assert "this was checked out of another memory" in refused("commit", folder)
    assert place.read("MEMORY.md") == b"- a\n"


def test_an_empty_scope_is_checked_out(place: Place, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = checked_out(place, tmp_path / "out", "room:x")
    assert "0 documents of room:x" in capsys.readouterr().out
    (folder / "MEMORY.md").write_text("- first\n")
    assert main(["commit", *place.options, str(folder)]) == 0
    assert place.read("MEMORY.md", Scope.parse("room:x")) == b"- first\n"


def test_without_a_folder_files_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["checkout", "--workspace", str(tmp_path / "none"), "--scope", "owner", str(tmp_path / "out")]) == 1
    assert "there is no such folder" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_what_cannot_be_saved_is_kept(
    tmp_path: Path, editor: Callable[[str], None], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    place = Place(tmp_path, {})
    document = place.workspace / "MEMORY.md"
    document.write_text("- a\n")
    editor(f"os.unlink({str(document)!r}); os.mkdir({str(document)!r}); path.write_bytes(b'mine')")
    assert main(["edit", *place.options]) == 1
    said = capsys.readouterr().err
    (folder,) = left(tmp_path)
    assert f"nothing was saved; your text is kept in {folder / 'MEMORY.md'}" in said
    assert "could not be read or written" in said
    assert (folder / "MEMORY.md").read_bytes() == b"mine"
