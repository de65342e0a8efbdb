"""One person over channels: both memories become one, and come apart again, without what was forgotten."""

import asyncio
import re
import subprocess
import sys
from contextlib import AsyncExitStack
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from inside import parts
from thorough import examples

from gateway_memory import Config, Facts, GatewayMemory, Session
from gateway_memory.cli.main import main
from gateway_memory.config.identity import IdentitySettings
from gateway_memory.store.journal.links import Links
from gateway_memory.store.summaries import SESSIONS_FILE
from gateway_memory.transfer.deletion import Deletion
from recall import EmbedderSettings, RecallSettings

pytestmark = pytest.mark.over_postgres

PEOPLE = IdentitySettings(owner=("telegram:owner",))
WORDS = Config(
    defaults=replace(
        Config().defaults, identity=PEOPLE, auto_recall=RecallSettings(embedder=EmbedderSettings(provider="none"))
    )
)
WHO = ("telegram:1", "discord:2", "signal:3")


def facts(who: str, key: str = "agent:main:main") -> Facts:
    channel, _, sender = who.partition(":")
    return Facts(key=key, channel=channel, chat_type="direct", sender_id=sender)


async def session_of(memory: GatewayMemory, who: str) -> Session:
    return await memory.session_of(facts(who))


async def command(memory: GatewayMemory, who: str, text: str) -> str:
    return str(await memory.command(await session_of(memory, who), text))


async def code_of(memory: GatewayMemory, who: str) -> str:
    found = re.search(r"/memory link (\S+)", await command(memory, who, "/memory link"))
    assert found
    return found[1]


async def link(memory: GatewayMemory, who: str, into: str) -> str:
    return await command(memory, who, f"/memory link {await code_of(memory, into)}")


async def texts(memory: GatewayMemory, who: str) -> list[str]:
    record = await memory.record(await session_of(memory, who), "list")
    return sorted(row["text"] for row in record["memories"])


async def say(memory: GatewayMemory, who: str, text: str) -> str:
    """Say something, and keep it as a fact too; returns the fact's id."""
    session = await session_of(memory, who)
    await memory.after_reply(session, user=text, reply=f"Understood: {text}")
    identity = await memory.save_fact(session, content=text)
    await memory.flush()
    return identity


async def all_told(memory: GatewayMemory, who: str, query: str) -> str:
    """Everything that somebody can be told: what a search finds of every kind, the opening, the context of a reply."""
    session = await session_of(memory, who)
    kinds = {"memory", "note", "episode", "record", "observation"}
    hits = await memory.search(session, query, limit=50, kinds=kinds)
    fresh = await memory.session_of(facts(who, key="another"))
    context = await memory.before_reply(fresh, query)
    opening = fresh.opening
    await memory.end_session(fresh, reason="completed")
    return "\n".join([*(hit.text for hit in hits), opening, context.text])


async def test_both_have_what_both_had_and_come_apart_again(tmp_path: Path) -> None:
    one, two, _ = WHO
    async with GatewayMemory(WORDS, tmp_path) as memory:
        await say(memory, one, "The lighthouse keeper paints walruses")
        await say(memory, one, "Nobody irons the velvet curtains")
        minka = await say(memory, two, "Grandmother brews elderflower cordial")
        await say(memory, two, "Nobody irons the velvet curtains")
        of_two = await session_of(memory, two)
        await memory.save_summary(of_two, topic="Cordial", summary="Cordial was brewed by the grandmother.")
        before = of_two.session_id
        assert "share one memory" in await link(memory, two, one)
        linked = await session_of(memory, two)
        assert linked in await memory.open_sessions(linked.key)
        assert linked.who.origin != linked.scope, "it still knows who speaks"
        both = ["Grandmother brews elderflower cordial", "Nobody irons the velvet curtains"]
        both += ["The lighthouse keeper paints walruses"]
        assert await texts(memory, one) == await texts(memory, two) == both, "and nothing twice"
        assert await memory.identify(facts(two)) == await memory.identify(facts(one))
        assert "elderflower" in await all_told(memory, one, "Who brews elderflower cordial?")
        history = await command(memory, one, f"/memory history {minka}")
        assert "linked" in history
        assert "agent:main:main" in history, "where it comes from is known"
        assert "linked (discord::2)" in await command(memory, one, "/memory receipts")
        assert not of_two.is_open, "a session under the other scope has ended"
        assert (await session_of(memory, one)).session_id != before
        assert (await memory.start_session("k", user="discord::2")).scope.key == "user:telegram::1"
        await say(memory, two, "The submarine needs purple paint")
    async with GatewayMemory(WORDS, tmp_path) as memory:
        assert len(await texts(memory, two)) == 4, "after a restart too"
        assert "Nothing" not in await command(memory, one, f"/memory forget {minka}")
        assert "Apart again" in await command(memory, two, "/memory unlink")
        assert await texts(memory, two) == ["Nobody irons the velvet curtains"]
        assert await texts(memory, one) == [
            "Nobody irons the velvet curtains",
            "The lighthouse keeper paints walruses",
            "The submarine needs purple paint",
        ]
        assert "elderflower" not in await all_told(memory, one, "Who brews elderflower cordial?")
        assert "elderflower" not in await all_told(memory, two, "Who brews elderflower cordial?")
        assert "linked to no other" in await command(memory, two, "/memory unlink")
    kept = [path for path in tmp_path.rglob("*") if path.suffix in (".md", ".jsonl")]
    assert not [path for path in kept if "elderflower" in path.read_text("utf-8")]


async def test_a_person_who_forgot_is_not_told_by_the_other_scope(tmp_path: Path) -> None:
    one, two, _ = WHO
    async with GatewayMemory(WORDS, tmp_path) as memory:
        await say(memory, one, "Grandmother brews elderflower cordial")
        gone = await say(memory, two, "Grandmother brews elderflower cordial")
        await command(memory, two, f"/memory forget {gone}")
        await link(memory, two, one)
        assert await texts(memory, two) == []
        assert "elderflower" not in await all_told(memory, two, "elderflower cordial")
        await say(memory, one, "Grandmother brews elderflower cordial")
        assert len(await texts(memory, two)) == 1, "said again, it is remembered again"
        await command(memory, one, "/memory unlink")
        assert [len(await texts(memory, one)), len(await texts(memory, two))] == [1, 0]


async def test_what_was_forgotten_and_restored_goes_back(tmp_path: Path) -> None:
    one, two, _ = WHO
    async with GatewayMemory(WORDS, tmp_path) as memory:
        fact = await say(memory, two, "Grandmother brews elderflower cordial")
        await link(memory, two, one)
        await command(memory, one, f"/memory forget {fact}")
        await command(memory, one, "/memory undo")
        assert "can be undone" in await command(memory, two, f"/memory undo {fact}"), "unlink takes a link back"
        await command(memory, two, "/memory unlink")
        assert await texts(memory, two) == ["Grandmother brews elderflower cordial"]
        assert "elderflower" in await all_told(memory, two, "elderflower cordial")
        assert "elderflower" not in await all_told(memory, one, "elderflower cordial")


@pytest.mark.files
async def test_a_code_is_valid_once_for_ten_minutes_and_in_every_process(tmp_path: Path) -> None:
    now = [datetime(2026, 11, 23, 12, tzinfo=UTC)]
    one, two, three = WHO
    async with AsyncExitStack() as stack:
        memories = [
            await stack.enter_async_context(GatewayMemory(WORDS, tmp_path, clock=lambda: now[0])) for _ in range(2)
        ]
        code = await code_of(memories[0], one)
        assert code not in (tmp_path / "journal.sqlite").read_bytes().decode("latin-1")
        assert "has that memory already" in await command(memories[1], one, f"/memory link {code}")
        assert "share one memory now" in await command(memories[1], two, f"/memory link {code.lower()}")
        assert "not valid" in await command(memories[0], three, f"/memory link {code}")
        assert "already" in await link(memories[0], one, two)
        late = await code_of(memories[0], one)
        now[0] += timedelta(minutes=10, seconds=1)
        assert "not valid" in await command(memories[1], three, f"/memory link {late}")
        for _ in range(3):
            assert "not valid" in await command(memories[0], three, "/memory link WRONG-WRONG")
        good = await code_of(memories[0], one)
        assert "Too many" in await command(memories[1], three, f"/memory link {good}")
        assert "not valid" in await command(memories[1], two, "/memory link WRONG-WRONG"), "each has tries of their own"
        now[0] += timedelta(hours=1, seconds=1)
        assert "share one memory now" in await link(memories[1], three, one)


async def test_two_at_once_take_a_code_once(tmp_path: Path) -> None:
    async with GatewayMemory(WORDS, tmp_path) as memory:
        code = await code_of(memory, WHO[0])
        answers = await asyncio.gather(*(command(memory, who, f"/memory link {code}") for who in WHO[1:]))
        assert sorted("share one memory now" in answer for answer in answers) == [False, True]


async def test_who_runs_the_gateway_links_people_by_name_and_parts_them(tmp_path: Path) -> None:
    one, two, _ = WHO
    async with GatewayMemory(WORDS, tmp_path) as memory:
        await say(memory, one, "The lighthouse keeper paints walruses")
        await say(memory, two, "Grandmother brews elderflower cordial")
        of_one, of_two = [(await session_of(memory, who)).scope.key for who in (one, two)]
        shell = await memory.visit(user=of_two.partition(":")[2])
        for wrong in ("", "owner", "room:x", "user:", "nobody", "user:nobody"):
            answer = await memory.answer(shell, f"/memory link {wrong}")
            assert answer
            assert not answer.done, wrong
        assert "share one memory" in str(await memory.command(shell, f"/memory link {of_one}"))
        assert await texts(memory, one) == await texts(memory, two)
        again = await memory.answer(await memory.visit(user=of_two.partition(":")[2]), f"/memory unlink {of_two}")
        assert again
        assert again.done
        assert await texts(memory, one) == ["The lighthouse keeper paints walruses"]
        assert await texts(memory, two) == ["Grandmother brews elderflower cordial"]


async def test_nothing_of_who_parted_and_was_deleted_stays_with_the_other(tmp_path: Path) -> None:
    one, two, _ = WHO
    async with GatewayMemory(WORDS, tmp_path) as memory:
        await say(memory, one, "The lighthouse keeper paints walruses")
        for text in ("Grandmother brews elderflower cordial", "I live in Lisbon"):
            await say(memory, two, text)
        await memory.end_session(await session_of(memory, two), reason="completed")
        await link(memory, two, one)
        await say(memory, one, "I live in Porto now")
        await command(memory, two, "/memory unlink")
        scopes = [(await session_of(memory, who)).scope for who in (one, two)]
    for scope in reversed(scopes):
        proof = Deletion(workspace=tmp_path).delete(scope)
        assert proof.holds, (scope, proof.traces)


async def test_links_are_refused_where_nobody_can_be_told_apart(tmp_path: Path) -> None:
    async with GatewayMemory(WORDS, tmp_path) as memory:
        code = await code_of(memory, WHO[0])
        group = Facts(key="g", channel="telegram", chat_type="group", chat_id="-1", sender_id="2")
        for words in ("link", f"link {code}", "unlink"):
            room = await memory.session_of(group)
            assert "direct chat" in str(await memory.command(room, f"/memory {words}"))
            owner = await memory.session_of(facts("telegram:owner"))
            assert owner.scope.key == "owner"
            assert "memorySync.identity.owner" in str(await memory.command(owner, f"/memory {words}"))
            await command(memory, WHO[1], "/memory off")
            assert "incognito" in await command(memory, WHO[1], f"/memory {words}")
        assert await parts(memory).storage.links.all() == {}
        await command(memory, WHO[1], "/memory on")
        assert "关联" in await command(memory, WHO[1], f"/memory 关联 {code}")


async def test_a_link_that_was_cut_off_is_completed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one, two, _ = WHO
    for broken in ("add_items", "move_turns", "share_forgotten"):
        async with GatewayMemory(WORDS, tmp_path / broken) as memory:
            await say(memory, two, "Grandmother brews elderflower cordial")
            links = parts(memory).storage.links
            with monkeypatch.context() as patch:
                patch.setattr(type(links), broken, _failing)
                with pytest.raises(RuntimeError):
                    await link(memory, two, one)
        async with GatewayMemory(WORDS, tmp_path / broken) as memory:
            assert await texts(memory, one) == ["Grandmother brews elderflower cordial"]
            assert "elderflower" in await all_told(memory, one, "elderflower cordial")
            with monkeypatch.context() as patch:
                patch.setattr(type(parts(memory).storage.links), "unlink", _failing)
                with pytest.raises(RuntimeError):
                    await command(memory, two, "/memory unlink")
            assert await texts(memory, one) == ["Grandmother brews elderflower cordial"], "still linked"
            await command(memory, two, "/memory unlink")
            assert await texts(memory, one) == []
            assert await texts(memory, two) == ["Grandmother brews elderflower cordial"]


async def _failing(self: Links, *_: object, **__: object) -> None:
    raise RuntimeError("cut off")


async def test_what_another_process_still_writes_under_the_old_scope_follows(tmp_path: Path) -> None:
    one, two, _ = WHO
    async with GatewayMemory(WORDS, tmp_path) as memory, GatewayMemory(WORDS, tmp_path) as other:
        held = await session_of(other, two)
        await say(memory, two, "Grandmother brews elderflower cordial")
        await link(memory, two, one)
        await other.after_reply(held, user="The lighthouse keeper paints walruses", reply="OK")
        assert held.scope.key == "user:telegram::1", "a session that a host has kept moves"
        await other.flush()
        assert "walruses" in await all_told(memory, one, "Who paints walruses?")
        await command(memory, one, "/memory unlink")
        assert "walruses" not in (await other.before_reply(held, "Who brews elderflower cordial? walruses")).text
        assert held.scope.key == "user:discord::2"
        await other.after_reply(held, user="Nobody irons the velvet curtains", reply="OK")
        await other.flush()
        assert "velvet" not in await all_told(memory, one, "Who irons the velvet curtains?")


@pytest.mark.files
async def test_deleting_one_of_two_linked_scopes_deletes_the_person(tmp_path: Path) -> None:
    one, two, three = WHO
    for number, named in enumerate(("telegram::1", "discord::2")):
        workspace = tmp_path / str(number)
        async with GatewayMemory(WORDS, workspace) as memory:
            await say(memory, one, "The lighthouse keeper paints walruses")
            await say(memory, two, "Grandmother brews elderflower cordial")
            await say(memory, three, "Nobody irons the velvet curtains")
            await link(memory, two, one)
            rows = [row async for row in memory.exporter.rows()]
            told = [(row["scope"], row["text"]) for row in rows if row["kind"] == "memory" and "cordial" in row["text"]]
            assert told == [("user:telegram::1", "Grandmother brews elderflower cordial")], "it is exported once"
        command_line = ["delete", "--workspace", str(workspace), "--scope", f"user:{named}", "--yes"]
        done = subprocess.run(
            [sys.executable, "-m", "gateway_memory.cli.entry", *command_line],
            check=False,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        assert "is linked with it" in done.stderr
        for path in workspace.rglob("*"):
            if path.is_file():
                content = path.read_bytes()
                assert b"walruses" not in content, path
                assert b"elderflower" not in content, path
        async with GatewayMemory(WORDS, workspace) as memory:
            assert await texts(memory, three) == ["Nobody irons the velvet curtains"]
            assert await texts(memory, one) == await texts(memory, two) == []
            assert (await session_of(memory, two)).scope.key == "user:discord::2"


def test_an_import_into_a_linked_scope_is_found_in_the_one_memory(tmp_path: Path) -> None:
    workspace, given_file = tmp_path / "workspace", tmp_path / "given.jsonl"

    async def prepare() -> None:
        async with GatewayMemory(WORDS, workspace) as memory:
            await say(memory, WHO[1], "Grandmother brews elderflower cordial")
            await link(memory, WHO[1], WHO[0])

    async def look() -> list[str]:
        async with GatewayMemory(WORDS, workspace) as memory:
            return await texts(memory, WHO[0])

    asyncio.run(prepare())
    given_file.write_text('{"kind": "memory", "text": "The lighthouse keeper paints walruses"}\n', "utf-8")
    assert main(["import", "jsonl", str(given_file), "--user", "discord::2", "--workspace", str(workspace)]) == 0
    assert asyncio.run(look()) == ["Grandmother brews elderflower cordial", "The lighthouse keeper paints walruses"]


# Any order

SYLLABLES = [a + b for a in "bdfgklmnprstvz" for b in "aeiou"]


def fact(number: int) -> str:
    """A text of three words that no other number has."""
    words = []
    for place in range(3):
        rest, word = number * 3 + place + 1, ""
        for _ in range(3):
            rest, at = divmod(rest * 37 + 11, len(SYLLABLES))
            word += SYLLABLES[at]
        words.append(f"{word}{SYLLABLES[(number * 3 + place) % 70]}{SYLLABLES[(number * 3 + place) // 70]}")
    return f"The {words[0]} {words[1]}s a {words[2]}"


class Model:
    """What each identity is expected to have. brought: of each linked one, the facts that it brought."""

    def __init__(self) -> None:
        self.target: dict[str, str] = {}
        self.linked: list[str] = []
        self.has: dict[str, set[str]] = {who: set() for who in WHO}
        self.brought: dict[str, set[str]] = {}
        self.forgotten: set[str] = set()

    def root(self, who: str) -> str:
        while who in self.target:
            who = self.target[who]
        return who

    def of(self, who: str) -> set[str]:
        return self.has[self.root(who)]

    def link(self, who: str, into: str) -> None:
        source, target = self.root(who), self.root(into)
        if source != target:
            self.target[source] = target
            self.linked.append(source)
            self.brought[source] = set(self.has[source])
            self.has[target] |= self.has[source]
            self.has[source] = set()

    def unlink(self, who: str) -> None:
        into = [name for name in self.linked if self.target.get(name) == who]
        leaving = who if who in self.target else into[-1] if into else None
        if leaving is None:
            return
        root, back = self.root(leaving), self.brought.pop(leaving) - self.forgotten
        above = self.target.pop(leaving)
        self.linked.remove(leaving)
        self.has[root] -= back
        self.has[leaving] = back
        while above in self.target:
            self.brought[above] -= back
            above = self.target[above]


class Life:
    """A workspace and its model, with a method a step."""

    def __init__(self, workspace: Path) -> None:
        self.workspace = workspace
        self.model = Model()
        self.memory = GatewayMemory(WORDS, workspace)
        self.number = 0

    async def __aenter__(self) -> None:
        await self.memory.__aenter__()

    async def __aexit__(self, *_: object) -> None:
        await self.memory.__aexit__(None, None, None)

    async def say(self, who: str, _: str) -> None:
        self.number += 1
        await say(self.memory, who, fact(self.number))
        self.model.of(who).add(fact(self.number))

    async def forget(self, who: str, _: str) -> None:
        for gone in sorted(self.model.of(who))[:1]:
            record = await self.memory.record(await session_of(self.memory, who), "list")
            (identity,) = [row["id"] for row in record["memories"] if row["text"] == gone]
            await command(self.memory, who, f"/memory forget {identity}")
            self.model.of(who).discard(gone)
            self.model.forgotten.add(gone)

    async def link(self, who: str, other: str) -> None:
        if who != other:
            await link(self.memory, who, other)
            self.model.link(who, other)

    async def unlink(self, who: str, _: str) -> None:
        await command(self.memory, who, "/memory unlink")
        self.model.unlink(who)

    async def end(self, who: str, _: str) -> None:
        await self.memory.end_session(await session_of(self.memory, who), reason="completed")

    async def restart(self, *_: str) -> None:
        await self.memory.__aexit__(None, None, None)
        self.memory = GatewayMemory(WORDS, self.workspace)
        await self.memory.__aenter__()


steps = st.one_of(
    st.tuples(st.just("say"), st.sampled_from(WHO), st.just("")),
    st.tuples(st.just("say"), st.sampled_from(WHO), st.just("")),
    st.tuples(st.just("forget"), st.sampled_from(WHO), st.just("")),
    st.tuples(st.just("link"), st.sampled_from(WHO), st.sampled_from(WHO)),
    st.tuples(st.just("link"), st.sampled_from(WHO), st.sampled_from(WHO)),
    st.tuples(st.just("unlink"), st.sampled_from(WHO), st.just("")),
    st.tuples(st.just("restart"), st.sampled_from(WHO), st.just("")),
    st.tuples(st.just("end"), st.sampled_from(WHO), st.just("")),
)


@pytest.mark.slow
@settings(max_examples=examples(12, 200))
@given(steps=st.lists(steps, min_size=6, max_size=18))
async def test_in_any_order_each_has_what_is_theirs_and_nothing_forgotten(
    steps: list[tuple[str, str, str]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    life = Life(tmp_path_factory.mktemp("any"))
    async with life:
        for step, who, other in steps:
            await getattr(life, step)(who, other)
            for each in WHO:
                assert await texts(life.memory, each) == sorted(life.model.of(each)), (step, who, other)
        facts_said = [fact(each + 1) for each in range(life.number)]
        for each in WHO:
            seen = "".join([await all_told(life.memory, each, text) for text in facts_said])
            told = [text for text in facts_said if text.split()[1] in seen]
            assert set(told) == life.model.of(each), each
    files = [*life.workspace.rglob("*.md"), *life.workspace.rglob(SESSIONS_FILE)]
    on_disk = "".join(path.read_text("utf-8") for path in files)
    assert not [text for text in life.model.forgotten if text.split()[1] in on_disk]
