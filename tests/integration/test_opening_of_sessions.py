"""What the next session opens with: where the last one stopped, the newest facts, and nothing of anybody else's."""

import json
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from editor import hook
from ending import CONFIG, WORTH, Clock, opened, said
from inside import encoder_loaded
from patience import until

from gateway_memory import OWNER, Config, GatewayMemory, Session
from gateway_memory.context.opening import OpeningBuilder
from recall.types import RowsBusyError


async def test_the_next_session_knows_where_the_last_one_stopped(tmp_path: Path) -> None:
    clock = Clock()
    async with opened(tmp_path, clock) as memory:
        session = await memory.start_session("editor", user=OWNER)
        await said(memory, session, WORTH)
        await memory.save_summary(session, topic="登录改造", summary="接口已改好", todos=["补刷新令牌的测试"])
        await memory.end_session(session, reason="window_close")
        clock.now += timedelta(minutes=1)
        later = await memory.start_session("editor", user=OWNER)
        assert later.session_id != session.session_id
        assert "[Last Session]" in later.opening
        assert "登录改造" in later.opening
        assert "补刷新令牌的测试" in later.opening
        guest = await memory.start_session("guest", user="zoe")
        assert "登录" not in guest.opening, "nobody's opening shows another's summary"


async def test_a_stage_summary_is_never_loaded_recalled_or_announced(tmp_path: Path) -> None:
    async with opened(tmp_path, Clock()) as memory:
        session = await memory.start_session("editor", user=OWNER)
        listener = await memory.start_session("listener", user=OWNER)
        await memory.save_fact(session, content="迁移到 Kubernetes 的第二步已经完成", type="S")
        await memory.flush()
        context = await memory.before_reply(listener, "迁移到 Kubernetes 的第二步完成了吗？")
        assert "第二步" not in context.text
        assert "第二步" not in (await memory.start_session("later", user=OWNER)).opening
        assert not any("第二步" in hit.text for hit in await memory.search(listener, "Kubernetes 第二步"))
    assert any("第二步" in path.read_text("utf-8") for path in (tmp_path / "memory").glob("*.md")), "it is kept"


async def test_the_host_that_shows_memory_md_itself_gets_the_rest(tmp_path: Path) -> None:
    (tmp_path / "MEMORY.md").write_text("- 我的工位在三楼\n", "utf-8")
    defaults = CONFIG.defaults
    config = Config(defaults=replace(defaults, opening=replace(defaults.opening, include_memory_md=False)))
    async with GatewayMemory(config, tmp_path, clock=Clock()) as memory:
        session = await memory.start_session("editor", user=OWNER)
        await memory.save_summary(session, topic="登录改造", summary="接口已改好")
        await memory.end_session(session, reason="completed")
        later = await memory.start_session("editor", user=OWNER)
        assert "三楼" not in later.opening
        assert "登录改造" in later.opening


async def test_an_opening_tells_the_newest_facts_and_what_the_last_session_left_open(tmp_path: Path) -> None:
    clock = Clock()
    folder = tmp_path / "memory"
    folder.mkdir()
    for ago in range(9):
        day = f"{clock.now.astimezone() - timedelta(days=ago):%Y-%m-%d}"
        lines = [f"- fact number {ago}{item} of that day" for item in range(8)]
        (folder / f"{day}.md").write_text("\n".join(lines) + "\n", "utf-8")
    old = f"{clock.now.astimezone() - timedelta(days=60):%Y-%m-%d}"
    (folder / f"{old}.md").write_text("- The payment gateway Zephyr needs a client certificate\n", "utf-8")
    async with opened(tmp_path, clock) as memory:
        session = await memory.start_session("editor", user=OWNER)
        await memory.save_summary(session, topic="payment gateway Zephyr", summary="s", todos=["client certificate"])
        await memory.end_session(session, reason="completed")
        opening = (await memory.start_session("editor", user=OWNER)).opening
    shown = [line for line in opening.split("\n") if "fact number" in line]
    of_day = [sum(f"number {ago}" in line for line in shown) for ago in range(9)]
    assert of_day[:2] == [8, 8]
    assert of_day[-1] == 0, "what is old gives way"
    assert opening.count("Zephyr needs a client certificate") == 1
    assert json.dumps(opening)


async def test_what_the_opening_leaves_out_is_counted_and_recalled_when_it_matters(tmp_path: Path) -> None:
    lines = ["- 我的船叫曙光号，停在七号码头"]
    lines += [f"- 第{number}号仓库的值班电话写在门口的牌子上，晚上也有人接" for number in range(149)]
    (tmp_path / "MEMORY.md").write_text("\n".join(lines) + "\n", "utf-8")
    async with opened(tmp_path, Clock()) as memory:
        session = await memory.start_session("chat", user=OWNER)
        shown = session.opening.count("号仓库")
        assert f"MEMORY.md 还有 {150 - shown} 行未显示" in session.opening
        assert "第148号仓库" in session.opening, "the newest line is told"
        assert "曙光号" not in session.opening
        assert "曙光号" in (await memory.before_reply(session, "我的船停在哪个码头？")).text
        assert "第148号" not in (await memory.before_reply(session, "第148号仓库的值班电话写在哪里？")).text
    start = hook("sessionStart", tmp_path)["additional_context"]
    assert f"MEMORY.md 还有 {150 - start.count('号仓库')} 行未显示；可用命令 gateway-memory search 搜索" in start


SAID = (
    "I've played the cello since I was nine.",
    "translate: 我住在上海，我是一名医生",
    "what is the capital of Peru?",
    "thanks",
    "I can't eat anything with walnuts, they give me a rash.",
)


async def test_an_opening_tells_what_the_user_said_of_themselves_in_a_gateway_and_in_an_editor(tmp_path: Path) -> None:
    clock = Clock()
    async with GatewayMemory(CONFIG, tmp_path, clock=clock) as memory:
        session = await memory.start_session("chat", user=OWNER)
        for said_by_user in SAID:
            clock.now += timedelta(minutes=1)
            await memory.after_reply(session, user=said_by_user, reply="OK")
        await memory.flush()
        await memory.end_session(session, reason="completed")
        clock.now += timedelta(days=40)
        short = await memory.start_session("chat", user=OWNER)
        await memory.after_reply(short, user="my flight leaves at six", reply="Safe travels")
        await memory.flush()
        await memory.end_session(short, reason="completed")
        clock.now += timedelta(days=1)
        gateway = (await memory.start_session("chat", user=OWNER)).opening
    for opening in (gateway, hook("sessionStart", tmp_path)["additional_context"]):
        assert opening.count("I've played the cello since I was nine") == 1
        assert opening.count("they give me a rash") == 1
        assert "上海" not in opening, "what is translated is not told of the user"
        assert "Peru" not in opening
        assert opening.count("my flight leaves at six") == 1


WHO = ("I'm allergic to penicillin", "my cat is called Biscuit", "I do the timetables for a bus company")
FILMS = ("Arrival", "Alien", "Heat", "Fargo", "Tampopo", "Stalker", "Ran", "Amelie", "Moon", "Jaws", "Up", "Tron")


async def test_who_somebody_is_stays_in_the_opening_however_much_is_told_of_another_subject(tmp_path: Path) -> None:
    clock = Clock()
    (tmp_path / "memory").mkdir()
    watched = [f"on {day} we watched the film {film} at the cinema" for film in FILMS for day in ("Monday", "Friday")]
    for ago, lines in ((60, WHO), (2, watched)):
        day = f"{clock.now.astimezone() - timedelta(days=ago):%Y-%m-%d}"
        (tmp_path / "memory" / f"{day}.md").write_text("".join(f"- {line}\n" for line in lines), "utf-8")
    async with GatewayMemory(Config(), tmp_path, clock=clock) as memory:
        session = await memory.start_session("chat", user=OWNER)
        await memory.search(session, "films")
        await until(lambda: encoder_loaded(memory), "the encoder is loaded")
        opening = (await memory.start_session("later", user=OWNER)).opening
    places = [opening.find(line) for line in WHO]
    assert -1 not in places
    assert max(places) < opening.rfind("we watched the film")
    assert opening.count("we watched the film") < len(watched), "what is left over has no room"


async def test_what_the_last_session_left_open_is_found_by_a_process_that_has_just_started(tmp_path: Path) -> None:
    (tmp_path / "memory").mkdir()
    lines = [f"- the shelf number {number} is empty" for number in range(300)]
    (tmp_path / "memory" / "2026-01-02.md").write_text("\n".join(lines) + "\n", "utf-8")
    (tmp_path / "memory" / "2025-01-02.md").write_text("- The gateway Zephyr needs a client certificate\n", "utf-8")
    async with opened(tmp_path, Clock()) as memory:
        session = await memory.start_session("chat", user=OWNER)
        todos = ["ask Ana for the certificate of Zephyr", "water the plants", "paint the fence green"]
        await memory.save_summary(
            session, topic="A plan for the week and what is to be bought", summary="s", todos=todos
        )
        await memory.end_session(session, reason="completed")
    async with opened(tmp_path, Clock()) as memory:
        gateway = (await memory.start_session("chat", user=OWNER)).opening
    for opening in (gateway, hook("sessionStart", tmp_path)["additional_context"]):
        assert "Zephyr needs a client certificate" in opening.partition("[Related Memory]")[2]


async def test_a_locked_index_leaves_memory_md_in_the_opening(tmp_path: Path) -> None:
    (tmp_path / "MEMORY.md").write_text("- 我的工位在三楼\n", "utf-8")
    async with opened(tmp_path, Clock()) as memory:
        await memory.start_session("first", user=OWNER)

        async def locked(*_: object) -> tuple[()]:
            raise RowsBusyError

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(memory._opened().storage.recaller, "listed", locked)
            session = await memory.start_session("second", user=OWNER)
            assert "三楼" in session.opening
            assert session.in_context.partial
        assert "三楼" in await memory.opening(session)
        assert not session.in_context.partial, "what was missing is looked for again"


async def test_an_opening_stays_over_what_its_own_session_adds_and_is_made_anew_for_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []
    build = OpeningBuilder.build

    async def counted(self: OpeningBuilder, session: Session, *values: Any) -> Any:
        made.append(session.key)
        return await build(self, session, *values)

    monkeypatch.setattr(OpeningBuilder, "build", counted)
    async with opened(tmp_path, Clock()) as memory:
        keeps = await memory.start_session("keeps", user=OWNER)
        drops = await memory.start_session("drops", user=OWNER, ephemeral=True)
        other = await memory.start_session("other", user=OWNER)
        first = await memory.opening(keeps)
        await memory.opening(drops)
        made.clear()
        await said(memory, keeps, "记住：我的工位在三楼")
        await memory.flush()
        assert any("三楼" in path.read_text("utf-8") for path in tmp_path.rglob("*.md"))
        assert await memory.opening(keeps) == first
        assert made == [], "its context holds what it has said itself"
        assert "三楼" in await memory.opening(drops)
        await said(memory, other, "记住：我的自行车是绿色的")
        await memory.flush()
        assert "绿色" in await memory.opening(keeps)
        assert made == ["drops", "keeps"]


async def test_an_opening_has_what_a_session_has_said_once_its_context_is_compacted(tmp_path: Path) -> None:
    async with GatewayMemory(Config(), tmp_path) as memory:
        session = await memory.start_session("agent:main:main", user=OWNER)
        await memory.opening(session)
        await memory.after_reply(session, user="Remember that my locker is number 4711.", reply="OK")
        await memory.flush()
        assert "4711" not in await memory.opening(session), "the conversation has it"
        session.compacted()
        assert "4711" in await memory.opening(session)
