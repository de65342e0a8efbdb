"""A project's memory is shared by the sessions that name it, beside each person's own, and opens nobody's."""

from collections.abc import AsyncIterator, Iterable
from dataclasses import replace
from pathlib import Path

import pytest
from inside import parts

from extractor import Candidate, concerned
from gateway_memory import OWNER, Facts, GatewayMemory, Session, UsageError, load_config
from gateway_memory.scope import Scope, resolve_scopes
from gateway_memory.transfer.deletion import Deletion

pytestmark = pytest.mark.over_postgres

ANNA, BOB = "agent:main:telegram:direct:anna", "agent:main:telegram:direct:bob"


@pytest.fixture
async def memory(tmp_path: Path) -> AsyncIterator[GatewayMemory]:
    async with GatewayMemory(load_config(), workspace=tmp_path / "memory") as opened:
        yield opened


async def say(memory: GatewayMemory, session: Session, *messages: str) -> None:
    for message in messages:
        await memory.after_reply(session, user=message, reply="OK.")
    await memory.flush()


async def told(memory: GatewayMemory, session: Session, question: str) -> str:
    session.compacted()  # what it was told before is told again
    return (await memory.before_reply(session, question)).text


async def texts(memory: GatewayMemory, scope: str) -> list[str]:
    session = await memory.visit(**Scope.parse(scope).whose)
    return [hit.text for hit in await memory.search(session, "", limit=50)]


@pytest.mark.parametrize(
    ("said", "question", "word"),
    [
        ("We decided to use PostgreSQL for Apollo.", "Which database does Apollo use?", "PostgreSQL"),
        ("记住：Apollo 项目的上线日期是 12 月 3 日", "Apollo 什么时候上线?", "12 月 3 日"),
        ("Remember that our project's staging port is 8443.", "What is the staging port?", "8443"),
    ],
)
async def test_what_is_said_of_a_project_is_told_to_whoever_works_on_it(
    memory: GatewayMemory, said: str, question: str, word: str
) -> None:
    anna = await memory.start_session(ANNA, user="anna", project="Apollo")
    await say(memory, anna, said)
    assert any(word in text for text in await texts(memory, "project:Apollo"))
    assert await texts(memory, "user:anna") == []
    bob = await memory.start_session(BOB, user="bob", project="Apollo")
    assert word in bob.opening
    assert word in await told(memory, bob, question)
    assert any(word in hit.text for hit in await memory.search(bob, question))
    elsewhere = await memory.start_session(BOB.replace("bob", "eve"), user="eve", project="Zeus")
    assert word not in elsewhere.opening + await told(memory, elsewhere, question)
    alone = await memory.start_session(BOB, user="bob")
    assert word not in await told(memory, alone, question), "a host that names no project has left it"


async def test_a_project_never_opens_a_persons_memory(memory: GatewayMemory) -> None:
    anna = await memory.start_session(ANNA, user="anna", project="Apollo")
    own = [
        "My name is Anna and I live in Basel.",
        "I prefer dark mode for the Apollo dashboard.",
        "We decided to have a second child.",
        "Remember that my Apollo badge number is 4711.",
        "Always answer in French in this project.",
    ]
    await say(memory, anna, *own)
    assert await texts(memory, "project:Apollo") == []
    kept = "\n".join(await texts(memory, "user:anna"))
    assert "Basel" in kept
    assert "4711" in kept
    bob = await memory.start_session(BOB, user="bob", project="Apollo")
    for question in ("Where does Anna live?", "Which badge number?", "Dark mode?", "What was said before?"):
        assert not {"Basel", "4711", "dark mode", "child", "French"} & {*(await told(memory, bob, question)).split()}


async def test_the_persons_own_memories_come_first(memory: GatewayMemory) -> None:
    anna = await memory.start_session(ANNA, user="anna", project="Apollo")
    await say(memory, anna, "We decided that Apollo is deployed on Tuesdays.", "I deploy Apollo from my own laptop.")
    found = await memory.search(anna, "How is Apollo deployed?")
    assert {hit.text for hit in found} >= {"We decided that Apollo is deployed on Tuesdays"}
    context = await memory.before_reply(anna, "How and when do I deploy Apollo?")
    session = await memory.start_session(ANNA.replace("anna", "anna2"), user="anna", project="Apollo")
    context = await memory.before_reply(session, "How and when do I deploy Apollo?")
    memories = [hit.text for hit in context.recalled if hit.kind == "memory"]
    assert memories.index("I deploy Apollo from my own laptop") < len(memories) - 1
    assert memories[-1] == "We decided that Apollo is deployed on Tuesdays"


async def test_open_sessions_of_a_project_hear_of_what_is_new_in_it(memory: GatewayMemory) -> None:
    anna = await memory.start_session(ANNA, user="anna", project="Apollo")
    bob = await memory.start_session(BOB, user="bob", project="Apollo")
    await say(memory, anna, "We decided to use Redis for the queue of Apollo.")
    assert "Redis" in (await memory.before_reply(bob, "Good morning, what is new?")).text
    joined = await memory.start_session(BOB, user="bob", project="Zeus")
    assert joined is bob
    await say(memory, anna, "We decided to use Kafka for the events of Apollo.")
    assert "Kafka" not in (await memory.before_reply(bob, "Hello again, what is new?")).text


@pytest.mark.files
async def test_new_lines_of_a_project_are_told_without_a_broker_and_its_files_compared_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with (
        GatewayMemory(load_config(), workspace=tmp_path) as one,
        GatewayMemory(load_config(), workspace=tmp_path) as other,
    ):
        anna = await one.start_session(ANNA, user="anna", project="Apollo")
        bob = await other.start_session(BOB, user="bob", project="Apollo")
        await say(one, anna, "We decided to use Redis for the queue of Apollo.")
        assert not (await one.before_reply(anna, "Good morning!")).changes, "she has said it herself"
        context = await other.before_reply(bob, "Good morning!")
        assert ["Redis" in row.entry.text for row in context.changes] == [True]
        assert "[Memory Changes]" in context.text
        (file,) = (tmp_path / Scope.parse("project:Apollo").folder).glob("**/*.md")
        file.write_text(file.read_text() + "- Apollo's mascot is a heron\n")
        follower, refreshed = parts(other).storage.follower, []
        refresh = follower.refresh

        async def counted(scope: Scope) -> int:
            refreshed.append(scope.key)
            return await refresh(scope)

        monkeypatch.setattr(follower, "refresh", counted)
        context = await other.before_reply(bob, "Which mascot does Apollo have?")
        assert "heron" in context.text
        (new,) = context.changes
        assert context.report is not None
        assert new.entry.id in {row.id for row in context.report.rows}, (
            "it is searched for as well, with or without vector"
        )
        assert sorted(refreshed) == ["project:Apollo", "user:bob"]
        context = await other.before_reply(bob, "Good evening!")
        assert (context.changes, context.updates) == ((), ())


async def test_a_projects_memory_is_corrected_forgotten_and_brought_back_by_its_id(memory: GatewayMemory) -> None:
    anna = await memory.start_session(ANNA, user="anna", project="Apollo")
    await say(memory, anna, "We decided to use Redis in Apollo.")
    bob = await memory.start_session(BOB, user="bob", project="Apollo")
    (hit,) = await memory.search(bob, "Redis", kinds=["memory"])
    assert "use Valkey" in str(await memory.command(bob, f"/memory correct {hit.id} We use Valkey in Apollo"))
    (hit,) = await memory.search(bob, "Valkey", kinds=["memory"])
    assert hit.text in str(await memory.command(bob, f"/memory history {hit.id}"))
    assert hit.text in str(await memory.command(bob, f"/memory forget {hit.id}"))
    assert await texts(memory, "project:Apollo") == []
    assert hit.text in str(await memory.command(bob, f"/memory undo {hit.id}"))
    assert await texts(memory, "project:Apollo") == ["We use Valkey in Apollo"]
    assert hit.text in str(await memory.command(bob, "/memory forget we use Valkey in Apollo")), "also by its words"
    assert hit.text in str(await memory.command(bob, f"/memory undo {hit.id}"))
    eve = await memory.start_session(BOB.replace("bob", "eve"), user="eve")
    for command in ("forget", "history", "undo", "pin"):
        answer = await memory.answer(eve, f"/memory {command} {hit.id}")
        assert answer is not None
        assert not answer.done, "who has not joined the project reaches nothing of it"
        assert "Valkey" not in answer.text


async def test_an_agents_fact_of_the_project_is_shared_too(memory: GatewayMemory) -> None:
    anna = await memory.start_session(ANNA, user="anna", project="Apollo")
    assert await memory.save_fact(anna, content="Apollo's release branch is called main")
    assert await memory.save_fact(anna, content="Anna's desk is in room 12")
    assert await texts(memory, "project:Apollo") == ["Apollo's release branch is called main"]
    assert await texts(memory, "user:anna") == ["Anna's desk is in room 12"]


async def test_an_agent_in_a_shell_reaches_the_project_that_the_host_has_named(tmp_path: Path) -> None:
    async with (
        GatewayMemory(load_config(), workspace=tmp_path) as host,
        GatewayMemory(load_config(), workspace=tmp_path) as shell,
    ):
        anna = await host.start_session(ANNA, user="anna", project="Apollo")
        attached = await shell.attach_session(anna.session_id)
        assert [scope.key for scope in attached.who.scopes] == ["user:anna", "project:Apollo"]
        assert (await shell.attach_session(anna.session_id, project="Apollo")).who.scopes == attached.who.scopes
        with pytest.raises(UsageError, match="has not joined 'project:Zeus'"):
            await shell.attach_session(anna.session_id, project="Zeus")
        await host.start_session(ANNA, user="anna", project="Zeus")
        assert (await shell.attach_session(anna.session_id)).who.scopes[1:] == (Scope.parse("project:Zeus"),)
        await host.start_session(ANNA, user="anna")
        with pytest.raises(UsageError, match="has not joined"):
            await shell.attach_session(anna.session_id, project="Apollo")
        assert (await shell.attach_session(anna.session_id)).who.joined == ()


async def test_a_restart_forgets_no_turn_of_a_project(tmp_path: Path) -> None:
    async with GatewayMemory(load_config(), workspace=tmp_path) as memory:
        anna = await memory.start_session(ANNA, user="anna", project="Apollo")
        turn = await memory.after_reply(anna, user="We decided to use Redis in Apollo.", reply="OK.")
        assert turn
    async with GatewayMemory(load_config(), workspace=tmp_path) as memory:
        await memory.flush()
        assert await texts(memory, "project:Apollo") == ["We decided to use Redis in Apollo"]


async def test_updates_of_a_project_that_wait_over_a_restart_are_restored(tmp_path: Path) -> None:
    async with GatewayMemory(load_config(), workspace=tmp_path) as memory:
        anna = await memory.start_session(ANNA, user="anna", project="Apollo")
        await memory.start_session(BOB, user="bob", project="Apollo")
        await say(memory, anna, "We decided to use Redis in Apollo.")
    async with GatewayMemory(load_config(), workspace=tmp_path) as memory:
        bob = await memory.start_session(BOB, user="bob", project="Apollo")
        context = await memory.before_reply(bob, "Good morning!")
        assert ["Redis" in change.text for change in context.updates] == [True]
        assert not (await memory.before_reply(bob, "Good morning again!")).updates


async def test_the_open_sessions_of_a_key_keep_what_they_have_joined(tmp_path: Path) -> None:
    async with GatewayMemory(load_config(), workspace=tmp_path) as memory:
        await memory.start_session(ANNA, user="anna", project="Apollo")
    async with GatewayMemory(load_config(), workspace=tmp_path) as memory:
        (session,) = await memory.open_sessions(ANNA)
        assert session.who.joined == (Scope.parse("project:Apollo"),)
        attached = await memory.attach_session(session.session_id, project="Apollo")
        assert attached.who.joined == session.who.joined


async def test_a_host_that_states_facts_names_the_project(memory: GatewayMemory) -> None:
    facts = Facts(key="k", channel="telegram", chat_type="direct", sender_id="7", chat_id="7", project="Apollo")
    session = await memory.session_of(facts)
    assert [scope.key for scope in session.who.scopes] == ["user:telegram::7", "project:Apollo"]
    room = Facts(key="k2", channel="telegram", chat_type="group", chat_id="-5", sender_id="7", project="Apollo")
    assert [scope.kind.name for scope in (await memory.session_of(room)).who.scopes] == ["room", "project"]


@pytest.mark.files
async def test_a_deleted_project_leaves_its_people(tmp_path: Path) -> None:
    async with GatewayMemory(load_config(), workspace=tmp_path) as memory:
        anna = await memory.start_session(ANNA, user="anna", project="Apollo")
        await say(memory, anna, "We decided to use Redis in Apollo.", "My name is Anna and I live in Basel.")
        await memory.after_reply(anna, user="We decided to use Kafka in Apollo.", reply="OK.")
        deletion = Deletion(workspace=tmp_path, store=memory.settings.store)
    proof = deletion.delete(Scope.parse("project:Apollo"))
    assert proof.holds
    async with GatewayMemory(load_config(), workspace=tmp_path) as again:
        await again.flush()
        assert any("Basel" in text for text in await texts(again, "user:anna"))
        assert await texts(again, "project:Apollo") == []


@pytest.mark.parametrize(
    ("whose", "keys"),
    [
        ({"user": OWNER, "project": "x"}, ["owner", "project:x"]),
        ({"project": "x", "user": "zoe"}, ["user:zoe", "project:x"]),
        ({"room": "r", "project": "x"}, ["room:r", "project:x"]),
        ({"project": "x"}, ["project:x"]),
        ({"project": None, "user": "zoe"}, ["user:zoe"]),
    ],
)
def test_a_project_stands_beside_one_scope_or_alone(whose: dict[str, object], keys: Iterable[str]) -> None:
    assert [scope.key for scope in resolve_scopes(**whose)] == keys  # type: ignore[arg-type]


@pytest.mark.parametrize("whose", [{}, {"user": "a", "room": "b"}, {"user": "a", "room": "b", "project": "x"}])
async def test_whose_session_it_is_must_be_clear(memory: GatewayMemory, whose: dict[str, str]) -> None:
    with pytest.raises(UsageError, match=r'exactly one of user=OWNER, user="name" or room="name"'):
        await memory.start_session("k", **whose)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "category", "is_of_project"),
    [
        ("gateway-memory uses SQLite", "fact", True),
        ("Gateway Memory uses SQLite", "fact", True),
        ("本项目用 pnpm", "fact", True),
        ("项目的上线日期是 12 月 3 日", "fact", True),
        ("我们的仓库在 GitHub 上", "fact", True),
        ("we use tabs in this repo", "fact", True),
        ("we use tabs", "fact", False),
        ("我在这个项目里负责前端", "fact", False),
        ("I maintain gateway-memory", "fact", False),
        ("prefers Gateway Memory in dark mode", "preference", False),
        ("always run the linter in this repo", "instruction", False),
        ("the gateway's memory is full", "fact", False),
    ],
)
def test_what_concerns_a_project(text: str, category: str, *, is_of_project: bool) -> None:
    candidate = Candidate(content=text, category=category, type="W", importance="normal", confidence=0.9)
    assert concerned(candidate, [("project", "gateway-memory")]) == (0 if is_of_project else None)


def test_a_scope_that_is_named_comes_before_one_that_is_meant() -> None:
    shared = [("project", "Apollo"), ("project", "Zeus")]
    text = "this project needs Zeus"
    candidate = Candidate(content=text, category="fact", type="W", importance="normal", confidence=0.9)
    assert concerned(candidate, shared) == 1
    assert concerned(replace(candidate, content="this project needs a lawyer"), shared) == 0
