"""`/memory` as one guesses it: which command is reached, and what is proposed where none is."""

import json
import re
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
from patience import seconds

from gateway_memory import OWNER, Config, GatewayMemory, Session, load_config
from gateway_memory.commands import dispatch
from gateway_memory.commands.dispatch import COMMANDS, find
from gateway_memory.config.settings import MemorySync, ReviewSettings
from gateway_memory.edge.phrases import texts
from gateway_memory.ground.tables import simplified
from gateway_memory.sessions.session import FEATURES, Feature
from recall import EmbedderSettings, RecallSettings

GUESSES = [
    (parts[0], parts[1], (parts[2:] or [""])[0])
    for line in (Path(__file__).parents[1] / "data" / "guesses.txt").read_text("utf-8").splitlines()
    if line.startswith(("/", "／", "m", "t"))
    for parts in [re.split(r" {2,}", line)]
]
WORDS_ALONE = Config(defaults=MemorySync(auto_recall=RecallSettings(embedder=EmbedderSettings(provider="none"))))


@pytest.fixture
async def memory(tmp_path: Path) -> AsyncIterator[GatewayMemory]:
    async with GatewayMemory(WORDS_ALONE, tmp_path) as memory:
        yield memory


@pytest.fixture
async def session(memory: GatewayMemory) -> Session:
    return await memory.start_session("agent:main:telegram:direct:1", user=OWNER)


@pytest.mark.parametrize(("typed", "meant", "given"), GUESSES, ids=[typed for typed, *_ in GUESSES])
def test_a_guess_reaches_the_command_that_is_meant(typed: str, meant: str, given: str) -> None:
    read = dispatch.read(typed)
    if meant == "-":
        assert read is None
        return
    assert read is not None
    assert (read.command.name if read.command else "?") == meant
    if read.command:
        assert read.rest == given


def test_many_guesses_are_tried() -> None:
    assert len(GUESSES) >= 120


def test_no_name_is_given_twice_and_each_can_be_found_as_it_is_typed() -> None:
    names = [name for command in COMMANDS for name in command.names]
    assert len(set(names)) == len(names)
    assert [name for name in names if name != simplified(name.lower())] == []
    for command in COMMANDS:
        assert all(find(name) is command for name in (*command.names, command.name.upper()))


def test_the_commands_that_phrases_name_exist() -> None:
    named = re.findall(
        r"\{memory:(\w+)\}", "".join(text for each in texts("phrases").values() for text in each.values())
    )
    assert named
    assert set(named) <= {command.name for command in COMMANDS}
    assert "{memory}" not in str(texts("phrases"))


def test_words_that_would_match_slowly_are_read_at_once() -> None:
    for words in ("我的" * 4000, "吗 " * 4000, "please " * 1000, "什么都有" * 2000, "a" * 100_000):
        dispatch.read(f"/memory 暂停{words}咖啡")
        dispatch.read(f"/memory {words}咖啡")


def proposed(answer: str | None) -> list[str]:
    """Return the commands that an answer proposes, one a line with what it does."""
    return re.findall(r"^/memory (\S+).* — .+$", str(answer), re.MULTILINE)


@pytest.mark.parametrize(
    ("typed", "first"),
    [
        ("serch coffee", "search"),
        ("lits", "list"),
        ("hisotry k7f3q2a1", "history"),
        ("I live in Berlin", "remember"),
        ("stop saying tea", "pause"),
        ("撤消", "撤销"),
        ("我住在杭州", "记住"),
    ],
)
async def test_three_commands_are_proposed_the_likeliest_first(
    memory: GatewayMemory, session: Session, typed: str, first: str
) -> None:
    answer = await memory.command(session, f"/memory {typed}")
    assert answer is not None
    assert len(proposed(answer)) == 3
    assert proposed(answer)[0] == first
    assert len(answer) < 430


async def with_encoder(memory: GatewayMemory) -> Session:
    """Return a session of a memory whose encoder is loaded: it then tells what words alone can't."""
    session = await memory.start_session("one", user=OWNER)
    until = time.monotonic() + seconds(30)
    while "forget" not in proposed(await memory.command(session, "/memory abolish 3")):
        assert time.monotonic() < until, "the encoder did not load"
    return session


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("destroy", "forget"), ("combine my accounts", "link"), ("tomorrow's meetings", "coming"), ("销毁", "忘掉")],
)
async def test_a_command_is_proposed_for_its_meaning(tmp_path: Path, typed: str, meant: str) -> None:
    async with GatewayMemory(load_config(), tmp_path) as memory:
        session = await with_encoder(memory)
        assert meant in proposed(await memory.command(session, f"/memory {typed}"))


@pytest.mark.lengthy
async def test_sixty_guesses_a_language_are_done_or_proposed(tmp_path: Path) -> None:
    """benchmarks/train_commands.py has seen none of these."""
    path = Path(__file__).parents[1] / "data" / "typed_apart.jsonl"
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    met: dict[str, list[str]] = {"en": [], "zh": []}
    async with GatewayMemory(load_config(), tmp_path) as memory:
        session = await with_encoder(memory)
        for row in rows:
            typed = f"/memory {row['text']}"
            await memory.command(session, "/memory resume")
            read = dispatch.read(typed)
            assert read is not None
            names = proposed(await memory.command(session, typed))
            done = [read.command] if read.command else []
            if {command.name for command in (*map(find, names), *done) if command}.intersection(row["commands"]):
                met["zh" if re.search("[一-鿿]", typed) else "en"].append(typed)
    assert len(rows) == 120
    assert all(len(each) >= 55 for each in met.values()), met


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("what's stored", "list"), ("都有哪些命令", "帮助"), ("forget the whole lot", "clear")],
)
async def test_what_is_rather_meant_stands_below_the_answer(tmp_path: Path, typed: str, meant: str) -> None:
    async with GatewayMemory(load_config(), tmp_path) as memory:
        session = await with_encoder(memory)
        assert proposed(await memory.command(session, f"/memory {typed}"))[0] == meant


async def test_a_sentence_that_begins_like_an_alias_is_asked_about(tmp_path: Path) -> None:
    async with GatewayMemory(load_config(), tmp_path) as memory:
        session = await with_encoder(memory)
        answer = await memory.answer(session, "/memory keep this between us")
        assert answer
        assert not answer.done
        assert {"remember", "pause"} <= set(proposed(answer.text))
        assert (await memory.record(session, "list"))["memories"] == []


async def test_what_is_named_behind_clear_is_forgotten(memory: GatewayMemory, session: Session) -> None:
    first, second, _ = await learnt(memory, session, *THREE)
    assert f"Forgotten: {THREE[0]}" in str(await memory.command(session, f"/memory clear {first}"))
    assert THREE[1] in str(await memory.command(session, f"/memory 清除 {second}"))
    assert [each["text"] for each in (await memory.record(session, "list"))["memories"]] == [THREE[2]]


async def test_without_an_encoder_words_are_compared(memory: GatewayMemory, session: Session) -> None:
    assert "coming" in proposed(await memory.command(session, "/memory xyzzy the next days"))


async def test_help_has_a_line_for_each_command_and_tells_more_of_one(memory: GatewayMemory, session: Session) -> None:
    told = str(await memory.command(session, "/memory help"))
    assert proposed(told) == [command.name for command in COMMANDS]
    assert proposed(told)[0] == "remember"
    one = str(await memory.command(session, "/memory help delete"))
    assert proposed(one) == ["forget"]
    assert "remove, erase" in one
    chinese = str(await memory.command(session, "/memory 帮助"))
    assert proposed(chinese) == [command.chinese for command in COMMANDS]
    assert len(chinese) < len(told) < 3000


async def test_who_can_read_it_is_answered_for_a_person_and_for_a_room(memory: GatewayMemory, session: Session) -> None:
    assert "no other user" in str(await memory.command(session, "/memory who can see this"))
    assert "只属于你" in str(await memory.command(session, "/memory 谁能看到"))
    room = await memory.start_session("agent:main:telegram:group:1", room="garden")
    assert "each of them" in str(await memory.command(room, "/memory privacy"))


@pytest.mark.parametrize("typed", ["private?", "undo?", "暂停？"])
async def test_a_question_changes_nothing(memory: GatewayMemory, session: Session, typed: str) -> None:
    await learnt(memory, session, *THREE)
    answer = await memory.answer(session, f"/memory {typed}")
    assert answer
    assert not answer.done
    assert not session.incognito
    assert len((await memory.record(session, "list"))["memories"]) == len(THREE)


@pytest.mark.parametrize("typed", ["export", "import", "upload", "导入"])
async def test_files_come_and_go_in_a_shell(memory: GatewayMemory, session: Session, typed: str) -> None:
    answer = str(await memory.command(session, f"/memory {typed}"))
    assert "gateway-memory export" in answer
    assert "gateway-memory import" in answer


async def test_what_is_asked_for_in_chinese_names_chinese_commands(memory: GatewayMemory, session: Session) -> None:
    assert "/memory 忘掉 <编号>" in str(await memory.command(session, "/memory 忘掉"))
    assert "/memory 列出" in str(await memory.command(session, "/memory 忘掉没有的东西"))
    session.commands_as = "gateway-memory"
    assert "gateway-memory forget <编号>" in str(await memory.command(session, "/memory 忘掉")), (
        "a shell knows no other"
    )


async def test_what_is_to_be_remembered_is_kept_as_it_is_written(memory: GatewayMemory, session: Session) -> None:
    for typed in (
        "remember that I am allergic to shrimp",
        "记住车停在B2",
        "add Anna's birthday is 3 May. She likes tulips",
    ):
        answer = await memory.answer(session, f"/memory {typed}")
        assert answer
        assert answer.done
    kept = {hit["text"] for hit in (await memory.record(session, "list"))["memories"]}
    assert kept == {"I am allergic to shrimp", "车停在B2", "Anna's birthday is 3 May. She likes tulips"}
    assert "已经记住了" in str(await memory.command(session, "/memory remember I am allergic to shrimp"))
    assert "车停在B2" in str(await memory.command(session, "/memory 记得车停在哪吗"))
    assert len((await memory.record(session, "list"))["memories"]) == 3, "a question is no memory"


async def test_a_secret_is_not_remembered(memory: GatewayMemory, session: Session) -> None:
    answer = await memory.answer(session, "/memory remember sk-proj-Zk3vQ8mW2xT7nB4cR9yL1pF6hJ5dG0aS")
    assert answer
    assert not answer.done
    assert "secret" in answer.text
    assert (await memory.record(session, "list"))["memories"] == []


async def test_a_pause_leaves_nothing_until_it_ends(memory: GatewayMemory, session: Session) -> None:
    await memory.command(session, "/memory stop")
    assert session.incognito
    await memory.after_reply(session, user="I like green tea.", reply="I see.")
    refused = await memory.answer(session, "/memory remember I like green tea")
    assert refused
    assert not refused.done
    assert "/memory resume" in refused.text
    await memory.flush()
    assert (await memory.record(session, "list"))["memories"] == []
    assert "autoExtract" in str(await memory.command(session, "/memory continue"))
    assert session.on("autoExtract")
    await memory.after_reply(session, user="I like black tea.", reply="I see.")
    await memory.flush()
    assert [each["text"] for each in (await memory.record(session, "list"))["memories"]] == ["I like black tea"]
    assert "was not paused" in str(await memory.command(session, "/memory resume"))


async def test_a_resumed_session_has_on_what_the_config_has(tmp_path: Path) -> None:
    settings = MemorySync(auto_recall=RecallSettings(enabled=False, embedder=EmbedderSettings(provider="none")))
    async with GatewayMemory(Config(defaults=settings), tmp_path) as memory:
        session = await memory.start_session("one", user=OWNER)
        await memory.command(session, "/memory 暂停")
        assert "autoRecall" not in str(await memory.command(session, "/memory 恢复"))
        assert not session.on("autoRecall")
    async with GatewayMemory(Config(defaults=settings), tmp_path) as memory:
        assert not (await memory.start_session("one", user=OWNER)).incognito


@pytest.mark.parametrize("typed", ["clear", "清空", "forget everything", "全部删除", "reset", "delete my data"])
async def test_nothing_is_lost_by_a_guess(memory: GatewayMemory, session: Session, typed: str) -> None:
    await memory.command(session, "/memory remember I like tea")
    answer = await memory.answer(session, f"/memory {typed}")
    assert answer
    assert not answer.done
    assert "1 " in answer.text
    assert "gateway-memory delete --scope owner" in answer.text
    assert len((await memory.record(session, "list"))["memories"]) == 1


async def learnt(memory: GatewayMemory, session: Session, *texts: str) -> list[str]:
    """Remember texts, and return their ids."""
    answers = [str(await memory.command(session, f"/memory remember {text}")) for text in texts]
    return [answer.rpartition("(")[2].removesuffix(")") for answer in answers]


THREE = ("I like green tea", "My sister lives in Leeds", "The red door is locked")


async def test_several_ids_are_forgotten_at_once_and_an_unknown_one_is_named(
    memory: GatewayMemory, session: Session
) -> None:
    first, second, _ = await learnt(memory, session, *THREE)
    answer = await memory.answer(session, f"/memory forget {first}, nosuchid ({second})")
    assert answer
    assert not answer.done
    assert answer.text.splitlines() == [
        f"Forgotten: {THREE[0]}",
        "No memory is called or says “nosuchid”. The ids stand in /memory list.",
        f"Forgotten: {THREE[1]}",
    ]
    assert [each["text"] for each in (await memory.record(session, "list"))["memories"]] == [THREE[2]]


async def test_several_words_that_look_like_ids_stay_words(memory: GatewayMemory, session: Session) -> None:
    await learnt(memory, session, "I collect espresso machines", "I like green tea")
    assert "espresso machines" in str(await memory.command(session, "/memory forget espresso machines"))


async def test_several_memories_are_pinned(memory: GatewayMemory, session: Session) -> None:
    for text in THREE[:2]:
        await memory.save_fact(session, content=text)
    ids = [each["id"] for each in (await memory.record(session, "list"))["memories"]]
    answer = str(await memory.command(session, f"/memory pin {' '.join(ids)}"))
    assert answer.count("Moved to MEMORY.md") == 2


async def test_several_that_wait_are_decided_at_once(tmp_path: Path) -> None:
    config = Config(defaults=replace(WORDS_ALONE.defaults, review=ReviewSettings(mode="all")))
    async with GatewayMemory(config, tmp_path) as memory:
        session = await memory.start_session("one", user=OWNER)
        ids = [await memory.save_fact(session, content=text) for text in (*THREE, "I live in Bern", "I like jam")]
        answer = await memory.answer(session, f"/memory approve {ids[0]} {ids[1]} q2q2q2q2")
        assert answer
        assert not answer.done
        assert [line.split(": ")[0] for line in answer.text.splitlines()][:2] == ["Kept", "Kept"]
        assert "“q2q2q2q2”" in answer.text
        assert "Kept: I live in Basel" in str(
            await memory.command(session, f"/memory approve {ids[3]} I live in Basel")
        )
        answer = await memory.answer(session, f"/memory reject {ids[2]}, {ids[4]} never")
        assert answer
        assert answer.done
        assert answer.text.count("not asked about again") == 2
        assert "Which one?" in str(await memory.command(session, f"/memory reject {ids[2]} because of this"))


async def test_undo_names_what_it_takes_back(memory: GatewayMemory, session: Session) -> None:
    (identity,) = await learnt(memory, session, THREE[0])
    await memory.command(session, "/memory forget bicycles")
    answer = str(await memory.command(session, "/memory undo"))
    assert f"removed {identity} · {THREE[0]}" in answer
    await memory.save_fact(session, content=THREE[1])
    ids = [each["id"] for each in (await memory.record(session, "list"))["memories"]]
    await memory.command(session, f"/memory pin {ids[0]}")
    assert THREE[1] in str(await memory.command(session, "/memory undo"))


@pytest.mark.parametrize("typed", ["记住了多少", "记住了几条", "记住多少了", "记住过什么", "记了多少", "记住了哪些人"])
async def test_what_is_asked_about_the_memory_is_not_kept(memory: GatewayMemory, session: Session, typed: str) -> None:
    assert "已记住" not in str(await memory.command(session, f"/memory {typed}"))
    assert (await memory.record(session, "list"))["memories"] == []


@pytest.mark.parametrize(
    "typed", ["撤销", "撤销上一步", "撤销刚才的", "撤回那条", "undo the last step", "undo that one"]
)
async def test_the_last_change_is_undone_as_it_is_said(memory: GatewayMemory, session: Session, typed: str) -> None:
    await learnt(memory, session, *THREE)
    await memory.command(session, f"/memory {typed}")
    assert [each["text"] for each in (await memory.record(session, "list"))["memories"]] == list(THREE[1::-1])


async def test_a_line_is_found_by_its_words_to_be_corrected_or_pinned(memory: GatewayMemory, session: Session) -> None:
    for each in ("房租每月1500元", "我住在三楼"):
        await memory.command(session, f"/memory 记住 {each}")
    known = {each["text"]: each["id"] for each in (await memory.record(session, "list"))["memories"]}
    rent, floor = known["房租每月1500元"], known["我住在三楼"]
    assert f"/memory 更正 {rent} 每月1800元”会改写它" in str(
        await memory.command(session, "/memory 修改 房租 改成 每月1800元")
    )
    assert f"/memory 更正 {floor} <内容>" in str(await memory.command(session, "/memory 修改三楼"))
    session.language = "en"
    (tea,) = await learnt(memory, session, THREE[0])
    assert f"/memory correct {tea} black tea" in str(
        await memory.command(session, "/memory change green tea to black tea")
    )
    assert len((await memory.record(session, "list"))["memories"]) == len(known) + 1, "nothing was changed"
    assert str(await memory.command(session, "/memory 置顶 房租")) == "MEMORY.md 里已经有：房租每月1500元"
    assert "没有编号或内容为“飞机”的记忆" in str(await memory.command(session, "/memory 置顶 飞机"))


@pytest.mark.parametrize(
    ("typed", "feature"),
    [
        ("关闭 召回", "autoRecall"),
        ("关掉自动提取", "autoExtract"),
        ("off sync", "incrementalSync"),
        ("off notify", "notify"),
    ],
)
async def test_a_feature_has_a_name_in_each_language(
    memory: GatewayMemory, session: Session, typed: str, feature: Feature
) -> None:
    await memory.command(session, f"/memory {typed}")
    assert [each for each in FEATURES if not session.on(each)] == [feature]
    answer = str(await memory.command(session, "/memory 关闭 火箭"))
    assert "没有“火箭”这个功能。可选：提取、召回、通知、同步、观察" in answer


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("show commands", "help"), ("查看状态", "status"), ("显示 日程", "coming"), ("show coffee", "list")],
)
def test_what_is_to_be_shown_may_be_a_command(typed: str, meant: str) -> None:
    read = dispatch.read(f"/memory {typed}")
    assert read
    assert read.command
    assert read.command.name == meant


async def test_a_question_that_finds_nothing_may_have_been_about_the_memory(tmp_path: Path) -> None:
    async with GatewayMemory(load_config(), tmp_path) as memory:
        session = await with_encoder(memory)
        assert "状态" in proposed(await memory.command(session, "/memory 现在是个啥状态"))
