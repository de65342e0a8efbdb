"""What one session learns the others hear: the same within a process, and between processes over MQTT 5 and 3.1.1.

The gateways here are one memory or two in this process; tests/integration has them as processes of their own.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest
from inside import journal_rows, mqtt_status, parts
from mosquitto import MOSQUITTO, Mosquitto
from mqtt_gateway import config
from patience import until

from gateway_memory import OWNER, Config, GatewayMemory, Session
from gateway_memory.config.settings import MemorySync
from notifier import MemoryChange, NotifierSettings
from recall.settings import EmbedderSettings, RecallSettings

pytestmark = pytest.mark.xdist_group("alone")  # not beside another test of brokers or deadlines

WIRES = [
    "bus",
    *(
        pytest.param(
            f"mqtt {protocol}, {place}",
            marks=[
                pytest.mark.slow,
                pytest.mark.skipif(MOSQUITTO is None, reason=f"no mosquitto is installed: MQTT {protocol}, {place}"),
            ],
        )
        for protocol in ("5", "3.1.1")
        for place in ("one workspace", "two workspaces")
    ),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ends:
    """Where is spoken and where is heard: the same memory, or two that only a broker connects."""

    here: GatewayMemory
    there: GatewayMemory
    shared: bool

    async def say(self, session: Session, *said: str) -> None:
        memory = self._memory_of(session)
        for text in said:
            await memory.after_reply(session, user=text, reply="OK")
        await memory.flush()

    def _memory_of(self, session: Session) -> GatewayMemory:
        return next(memory for memory in (self.here, self.there) if parts(memory).sessions is session.registry)

    async def told(self, session: Session, number: int = 1) -> tuple[MemoryChange, ...]:
        """Wait until so many updates wait for a session, and take them as a reply would."""
        await until(lambda: len(session.pending.inbox) >= number)
        return (await self._memory_of(session).before_reply(session, "and now?")).updates

    async def settled(self) -> None:
        """Wait until all that was said so far has been heard: a last word by another person proves it."""
        speaker = await self.here.start_session("settling speaker", user="settle")
        listener = await self.there.start_session("settling listener", user="settle")
        number = parts(self.here).bus.published
        await self.say(speaker, f"Remember that settling number {number} is over.")
        await until(lambda: len(listener.pending.inbox))
        listener.pending.inbox.take()


def is_connected(memory: GatewayMemory) -> bool:
    status = mqtt_status(memory)
    return status is not None and status.state == "connected"


@pytest.fixture(params=WIRES)
async def ends(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Ends]:
    async with AsyncExitStack() as stack:
        if request.param == "bus":
            recall = RecallSettings(embedder=EmbedderSettings(provider="none"))
            memory = await stack.enter_async_context(
                GatewayMemory(Config(defaults=MemorySync(auto_recall=recall)), tmp_path / "one")
            )
            yield Ends(here=memory, there=memory, shared=True)
            return
        protocol, place = request.param.removeprefix("mqtt ").split(", ")
        broker = stack.enter_context(Mosquitto(tmp_path))
        shared = place == "one workspace"
        monkeypatch.setenv("TEAM_SECRET", "a secret for the tests only")
        apart = {} if shared else {"workspace_id": "team", "secret_env": "TEAM_SECRET"}
        settings = config(broker.port, protocol=protocol, **apart)
        folders = ("one", "one" if shared else "two")
        here, there = [
            await stack.enter_async_context(GatewayMemory(settings, tmp_path / folder)) for folder in folders
        ]
        for memory in (here, there):
            await until(partial(is_connected, memory))
        yield Ends(here=here, there=there, shared=shared)


async def test_another_session_is_told_once_and_the_speaker_never(ends: Ends) -> None:
    speaker = await ends.here.start_session("speaker", user=OWNER)
    listener = await ends.there.start_session("listener", user=OWNER)
    await ends.say(speaker, "Remember that the staging port is 8443.")
    (update,) = await ends.told(listener)
    assert "8443" in update.text
    await ends.settled()
    assert (len(listener.pending.inbox), len(speaker.pending.inbox)) == (0, 0)
    assert "8443" not in (await ends.there.before_reply(listener, "the staging port?")).text


async def test_the_block_quotes_it(ends: Ends) -> None:
    speaker = await ends.here.start_session("speaker", user=OWNER)
    listener = await ends.there.start_session("listener", user=OWNER)
    await ends.say(speaker, "Remember that the staging port is 8443.")
    await until(lambda: len(listener.pending.inbox))
    text = (await ends.there.before_reply(listener, "hello")).text
    assert "[Memory Update]" in text
    assert "8443" in text


async def test_it_goes_both_ways(ends: Ends) -> None:
    one = await ends.here.start_session("one", user=OWNER)
    two = await ends.there.start_session("two", user=OWNER)
    await ends.say(one, "Remember that the red door is locked.")
    assert ["red door" in update.text for update in await ends.told(two)] == [True]
    await ends.say(two, "Remember that the blue lamp is broken.")
    assert ["blue lamp" in update.text for update in await ends.told(one)] == [True]


async def test_only_those_who_may_read_it_hear_it(ends: Ends) -> None:
    speaker = await ends.here.start_session("speaker", user="zoe")
    zoe = await ends.there.start_session("hers", user="zoe")
    others = [
        await ends.there.start_session("owner", user=OWNER),
        await ends.there.start_session("his", user="yan"),
        await ends.there.start_session("group", room="zoe"),
    ]
    await ends.say(speaker, "Remember that the locker opens with 4711.")
    assert ["4711" in update.text for update in await ends.told(zoe)] == [True]
    await ends.settled()
    assert [len(other.pending.inbox) for other in others] == [0, 0, 0]


async def test_updates_come_in_the_order_in_which_they_were_learnt(ends: Ends) -> None:
    speaker = await ends.here.start_session("speaker", user=OWNER)
    listener = await ends.there.start_session("listener", user=OWNER)
    for number in range(8):
        await ends.say(speaker, f"Remember that locker {number} opens with {number * 7919}.")
    updates = await ends.told(listener, 8)
    assert [f"locker {number} " in update.text for number, update in enumerate(updates)] == [True] * 8


async def test_an_inbox_is_bounded_and_counts_what_it_drops(ends: Ends) -> None:
    speaker = await ends.here.start_session("speaker", user=OWNER)
    listener = await ends.there.start_session("listener", user=OWNER)
    await ends.say(speaker, *(f"Remember that locker {number} opens with {number * 7919}." for number in range(15)))
    await ends.settled()
    assert listener.pending.inbox.dropped == 5
    updates = await ends.told(listener, 10)
    assert [f"locker {number + 5} " in update.text for number, update in enumerate(updates)] == [True] * 10


async def test_ten_updates_of_one_fact_are_one_line(ends: Ends) -> None:
    speaker = await ends.here.start_session("speaker", user=OWNER)
    listener = await ends.there.start_session("listener", user=OWNER)
    for number in range(10):
        await ends.say(speaker, f"Remember that the staging port is {8000 + number}.")
    await ends.settled()
    (update,) = await ends.told(listener)
    assert "8009" in update.text


async def test_what_was_forgotten_before_it_was_told_is_not_told(ends: Ends) -> None:
    speaker = await ends.here.start_session("speaker", user=OWNER)
    listener = await ends.there.start_session("listener", user=OWNER)
    knowing = await ends.there.start_session("knowing", user=OWNER)
    await ends.say(speaker, "Remember that the staging port is 8443.")
    (update,) = await ends.told(knowing)
    await ends.here.command(speaker, f"/memory forget {update.id}")
    await ends.settled()
    assert await ends.told(listener, 0) == ()
    (gone,) = await ends.told(knowing)
    assert gone.action == "removed"


async def test_an_ended_session_and_one_that_does_not_want_to_hear_nothing(ends: Ends) -> None:
    speaker = await ends.here.start_session("speaker", user=OWNER)
    ended = await ends.there.start_session("ended", user=OWNER)
    silent = await ends.there.start_session("silent", user=OWNER)
    await ends.there.end_session(ended, reason="user_close")
    await ends.there.command(silent, "/memory off notify")
    await ends.say(speaker, "Remember that the staging port is 8443.")
    await ends.settled()
    assert (len(ended.pending.inbox), len(silent.pending.inbox)) == (0, 0)


async def test_a_line_that_a_person_types_is_told_to_all(ends: Ends) -> None:
    speaker = await ends.here.start_session("speaker", user=OWNER)
    await ends.say(speaker, "Remember that the staging port is 8443.")
    await ends.settled()
    listener = await ends.there.start_session("listener", user=OWNER)
    file = ends.here.workspace / "MEMORY.md"
    file.write_text(file.read_text("utf-8") + "- the red door is locked\n", "utf-8")
    await ends.here.before_reply(speaker, "hm")  # which looks at the files
    assert ["red door" in update.text for update in await ends.told(listener)] == [True]
    await ends.here.before_reply(speaker, "hm")
    await ends.settled()
    assert len(listener.pending.inbox) == 0, "and once"


async def test_a_line_that_a_person_deletes_is_told_to_those_who_hold_it(ends: Ends) -> None:
    speaker = await ends.here.start_session("speaker", user=OWNER)
    listener = await ends.there.start_session("listener", user=OWNER)
    await ends.say(speaker, "Remember that the staging port is 8443.", "请记住红门的钥匙在厨房抽屉里。")
    await ends.told(listener, 2)
    newcomer = await ends.there.start_session("newcomer", user="zoe")
    file = ends.here.workspace / "MEMORY.md"
    kept = [line for line in file.read_text("utf-8").splitlines() if "8443" not in line and "厨房" not in line]
    deleted = file.read_text("utf-8")
    file.write_text("\n".join(kept) + "\n", "utf-8")
    await ends.here.before_reply(speaker, "hm")
    await until(lambda: len(listener.pending.inbox) == 2)
    text = (await ends.there.before_reply(listener, "and now?")).text
    assert text.count("no longer holds (deleted by hand)") == 2
    assert "8443" not in text
    assert "厨房" not in text
    assert "Learnt in other sessions" not in text
    await ends.settled()
    assert (len(listener.pending.inbox), len(newcomer.pending.inbox)) == (0, 0), "once, and in its scope"
    file.write_text(deleted, "utf-8")
    await ends.here.before_reply(speaker, "hm")
    assert sorted("8443" in update.text for update in await ends.told(listener, 2)) == [False, True], "put back"


async def test_a_deletion_is_told_in_the_reply_whose_look_finds_it(ends: Ends, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gateway_memory.context.builder._FILES_WITHIN", 0.9)  # a look may be slow on a busy machine
    speaker = await ends.here.start_session("speaker", user=OWNER)
    await ends.say(speaker, "Remember that the staging port is 8443.")
    listener = await ends.here.start_session("listener", user=OWNER)
    assert "8443" in listener.opening
    await ends.settled()
    if ends.shared:  # the other memory follows what it hears after a moment, and could then find the deletion first
        await until(lambda: parts(ends.there).storage.follower.last_change(listener.who.scopes[0]))
    (ends.here.workspace / "MEMORY.md").write_text("# Memory\n", "utf-8")
    context = await ends.here.before_reply(listener, "hm")
    assert [(update.action, update.by_hand) for update in context.updates] == [("removed", True)]


async def test_what_we_remove_ourselves_is_no_edit_by_hand(ends: Ends) -> None:
    speaker = await ends.here.start_session("speaker", user=OWNER)
    listener = await ends.there.start_session("listener", user=OWNER)
    await ends.say(speaker, "Remember that the staging port is 8443.", "Remember that the red door is locked.")
    first, second = await ends.told(listener, 2)
    await ends.say(speaker, "Remember that the staging port is 9443 now.")
    await ends.here.command(speaker, f"/memory forget {second.id}")
    await ends.here.before_reply(speaker, "hm")
    await ends.settled()
    updates = await ends.told(listener, 2)
    assert [(update.action, update.by_hand) for update in updates] == [("added", False), ("removed", False)]
    assert updates[0].replaces == first.id
    await ends.here.command(speaker, "/memory undo")
    await ends.settled()
    assert [(update.id, update.by_hand) for update in await ends.told(listener)] == [(second.id, False)]


async def test_a_line_that_is_moved_is_not_told(ends: Ends) -> None:
    speaker = await ends.here.start_session("speaker", user=OWNER)
    listener = await ends.there.start_session("listener", user=OWNER)
    await ends.say(speaker, "Remember that the staging port is 8443.")
    await ends.told(listener)
    file = ends.here.workspace / "MEMORY.md"
    line = next(line for line in file.read_text("utf-8").splitlines() if "8443" in line)
    (ends.here.workspace / "memory").mkdir(exist_ok=True)
    texts = {file: "# Memory\n", ends.here.workspace / "memory" / "2026-01-05.md": f"# 2026-01-05\n\n{line}\n"}
    new = {path: path.with_suffix(".new") for path in texts}
    for path, text in texts.items():
        new[path].write_text(text, "utf-8")
    for path in texts:  # at once: what vanishes is looked for again after a moment, which a busy machine takes to write
        new[path].replace(path)
    await ends.here.before_reply(speaker, "hm")
    await ends.settled()
    assert len(listener.pending.inbox) == 0


async def test_the_file_that_a_session_itself_wrote_is_told_to_the_others(ends: Ends) -> None:
    speaker = await ends.here.start_session("speaker", user=OWNER)
    listener = await ends.there.start_session("listener", user=OWNER)
    await ends.say(speaker, "Remember that the staging port is 8443.")
    await ends.told(listener)
    file = ends.here.workspace / "MEMORY.md"
    file.write_text("# Memory\n\n- the red door is locked\n", "utf-8")
    await ends.here.file_written(speaker, "MEMORY.md")
    await ends.settled()
    assert len(speaker.pending.inbox) == 0
    assert [update.action for update in await ends.told(listener, 2)] == ["removed", "added"]


async def test_a_cancelled_listener_loses_nothing(ends: Ends) -> None:
    speaker = await ends.here.start_session("speaker", user=OWNER)
    listener = await ends.there.start_session("listener", user=OWNER)
    replying = asyncio.create_task(ends.there.before_reply(listener, "hello"))
    await asyncio.sleep(0)
    replying.cancel()
    await asyncio.gather(replying, return_exceptions=True)
    await ends.say(speaker, "Remember that the staging port is 8443.")
    assert ["8443" in update.text for update in await ends.told(listener)] == [True]


async def test_with_notify_off_nothing_is_kept_or_sent(tmp_path: Path) -> None:
    settings = MemorySync(notify=NotifierSettings(enabled=False))
    async with GatewayMemory(Config(defaults=settings), tmp_path) as memory:
        session = await memory.start_session("speaker", user=OWNER)
        await memory.after_reply(session, user="Remember that the staging port is 8443.", reply="OK")
        await memory.flush()
        assert await journal_rows(memory, "SELECT * FROM events") == []
        assert mqtt_status(memory) is None
