"""Which hosts on one PostgreSQL a turn wakes: those that have something to do with it."""

from collections import Counter
from pathlib import Path

import pytest
from inside import parts
from patience import until
from postgres import KINDS, config_of

from gateway_memory import OWNER, GatewayMemory
from gateway_memory.sync import peers
from gateway_memory.sync.peers import Peers

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not KINDS, reason="there is no PostgreSQL"),
    pytest.mark.xdist_group("alone"),
]


async def test_a_turn_wakes_the_hosts_that_have_a_session_of_its_scope(
    postgres_schema: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: Counter[str] = Counter()
    look = Peers.look

    async def counted(self: Peers) -> None:
        looked[self._event_log.instance] += 1
        await look(self)

    monkeypatch.setattr(Peers, "look", counted)
    monkeypatch.setattr(peers, "_LOOK_SECONDS", 3600.0)
    async with (
        GatewayMemory(config_of(postgres_schema), tmp_path / "one") as here,
        GatewayMemory(config_of(postgres_schema), tmp_path / "two") as there,
        GatewayMemory(config_of(postgres_schema), tmp_path / "three") as elsewhere,
    ):
        instances = [parts(memory).storage.event_log.instance for memory in (here, there, elsewhere)]
        await until(lambda: all(looked[each] for each in instances), "the first look of each")
        speaker = await here.start_session("speaker", user=OWNER)
        listener = await there.start_session("listener", user=OWNER)
        stranger = await elsewhere.start_session("stranger", user="zoe")
        before = looked.copy()
        for number in range(3):
            await here.after_reply(
                speaker, user=f"Remember that locker {number} opens with {7919 + number}.", reply="OK"
            )
            await here.flush()
            await until(lambda: len(listener.pending.inbox), "hearing of it")
            assert f"locker {number}" in (await there.before_reply(listener, "hello")).text
        assert looked[instances[1]] > before[instances[1]]
        assert looked[instances[2]] == before[instances[2]], "it has nobody who would hear"
        await here.start_session("guest", user="zoe")
        before = looked.copy()
        await elsewhere.after_reply(stranger, user="Remember that the roof is flat.", reply="OK")
        await elsewhere.flush()
        await until(lambda: looked[instances[0]] > before[instances[0]], "the look of the host with a guest")
