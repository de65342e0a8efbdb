"""The command line, the chat and the replay, as a user has them."""

import asyncio
import io
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from editor import WORDS_ALONE
from patience import seconds
from scripted_provider import Say, entry, found, serving

from extractor import ExtractorSettings
from gateway_memory import OWNER, Config, GatewayMemory, load_config
from gateway_memory.cli.chat import Chat
from gateway_memory.cli.chat_agent import Agent, choose_agent
from gateway_memory.cli.main import main


def transcript(path: Path, *turns: dict[str, str]) -> Path:
    path.write_text("".join(json.dumps(turn, ensure_ascii=False) + "\n" for turn in turns), "utf-8")
    return path


def test_a_replayed_session_joins_its_project(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    statement = "We decided to build the Apollo release with Bazel."
    turn = {"session": "a", "user": statement, "reply": "OK", "project": "Apollo"}
    place = ["--workspace", str(tmp_path / "w")]
    assert main(["replay", *place, str(transcript(tmp_path / "talk.jsonl", turn))]) == 0
    capsys.readouterr()
    assert main(["list", *place, "--project", "Apollo"]) == 0
    assert "Bazel" in capsys.readouterr().out


def test_replay_then_search_list_forget_and_status(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = transcript(
        tmp_path / "talk.jsonl",
        {"session": "a", "user": "记住：咖啡机的密码提示是猫", "reply": "好", "at": "2026-03-02T09:00:00+08:00"},
        {"session": "a", "user": "谢谢", "reply": "不客气"},
        {"session": "b", "user": "Remember that the gate opens at seven.", "reply": "OK", "person": "zoe"},
    )
    place = ["--workspace", str(tmp_path / "w")]
    assert main(["replay", *place, str(file), "--turns", str(tmp_path / "turns.jsonl")]) == 0
    out = capsys.readouterr().out
    assert "3 turns in" in out
    assert "nothing_to_keep" in out
    turns = [json.loads(line) for line in (tmp_path / "turns.jsonl").read_text("utf-8").splitlines()]
    assert [bool(turn["kept"]) for turn in turns] == [True, False, True]
    assert all(turn["outcomes"] for turn in turns)
    assert (tmp_path / "w" / "MEMORY.md").exists()

    assert main(["search", *place, "咖啡机", "密码"]) == 0
    found = capsys.readouterr().out
    assert "咖啡机的密码提示是猫" in found
    assert "2026-03-02" in found
    assert "找到" in found, "answered in the language of the question"
    assert main(["list", *place]) == 0
    listed = capsys.readouterr().out
    assert "gate" not in listed
    assert main(["list", *place, "--user", "zoe"]) == 0
    assert "the gate opens at seven" in capsys.readouterr().out
    identity = found.split("- ")[1].split(" ")[0]
    assert main(["forget", *place, identity]) == 0
    assert main(["list", *place]) == 0
    assert "咖啡" not in capsys.readouterr().out.split("Forgotten")[-1].split("\n", 1)[-1]
    assert main(["status", *place]) == 0
    assert "Memories: 0" in capsys.readouterr().out


def test_a_bad_transcript_is_refused_with_its_lines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "bad.jsonl"
    file.write_text(
        '{"session": "a", "user": "x", "reply": "y"}\nnot json\n{"session": "a"}\n'
        '{"session":"a","user":"x","reply":"y","mood":1}\n'
    )
    assert main(["replay", "--workspace", str(tmp_path / "w"), str(file)]) == 1
    errors = capsys.readouterr().err
    for expected in ("bad.jsonl:2", "bad.jsonl:3: user: expected a string", "bad.jsonl:4: unknown key 'mood'"):
        assert expected in errors
    assert not (tmp_path / "w").exists(), "nothing of it was played"


def test_a_workspace_that_is_not_there_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["status", "--workspace", str(tmp_path / "nowhere")]) == 1
    assert "nowhere" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["status", "retry"])
def test_a_workspace_that_is_a_file_is_named_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    (tmp_path / "notes.txt").write_text("hello", "utf-8")
    assert main([command, "--workspace", str(tmp_path / "notes.txt")]) == 1
    assert "notes.txt: is a file; a workspace is a folder" in capsys.readouterr().err


def test_a_turn_that_is_not_kept_says_why(tmp_path: Path) -> None:
    group = {"session": "agent:main:discord:group:7", "user": "Remember that the door is red.", "reply": "OK"}
    file = transcript(tmp_path / "talk.jsonl", group | {"room": "seven"}, {"session": "a", "user": "hm", "reply": "?"})
    turns = tmp_path / "turns.jsonl"
    assert main(["replay", "--workspace", str(tmp_path / "w"), str(file), "--turns", str(turns)]) == 0
    rows = [json.loads(line) for line in turns.read_text("utf-8").splitlines()]
    assert rows[0]["outcomes"] == [["accept", "skipped", "session_type"]]
    assert sorted(outcome[:2] for outcome in rows[1]["outcomes"]) == [["batch", "skipped"], ["rules", "skipped"]]


async def test_the_chat_carries_memory_from_session_to_session(tmp_path: Path) -> None:
    shown: list[str] = []
    async with GatewayMemory(load_config(), tmp_path) as memory:
        chat = Chat(memory, None, {"user": OWNER}, show=shown.append)
        await chat._go("main")
        await chat.say("我喜欢用 Python")
        await memory.flush()
        await chat.say("/session work")
        await chat.say("帮我写个脚本")
        assert "我喜欢用 Python" in shown[-1]
        await chat.say("/memory list")
        assert "我喜欢用 Python" in shown[-1]
        await chat.say("/nonsense")
        assert "/nonsense" in shown[-1]
        await chat.say("/sessions")
        assert shown[-1] == "  main\n* work"
        await chat.say("/new")
        await chat.say("/help")


async def talk(memory: GatewayMemory, agent: Agent | None, monkeypatch: pytest.MonkeyPatch, *lines: str) -> list[str]:
    """Pipe lines into a chat, and return what it shows."""
    shown: list[str] = []
    monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{line}\n" for line in lines)))
    await Chat(memory, agent, {"user": OWNER}, show=shown.append).run()
    return shown


async def test_the_chat_tells_what_it_keeps_in_the_persons_language(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with GatewayMemory(load_config(WORDS_ALONE), tmp_path) as memory:
        shown = await talk(memory, None, monkeypatch, "I prefer window seats on trains", "我喜欢喝乌龙茶", "hm")
        assert "No model is connected" in shown[0]
        assert [line for line in shown if line.startswith("+")] == [
            "+ kept: I prefer window seats on trains", "+ 已记住：我喜欢喝乌龙茶",
        ]  # fmt: skip
        assert shown.index("+ 已记住：我喜欢喝乌龙茶") < len(shown) - 1, "before the next message is answered"


async def test_without_a_model_the_chat_shows_the_opening_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with GatewayMemory(load_config(WORDS_ALONE), tmp_path) as memory:
        await talk(memory, None, monkeypatch, "I prefer window seats on trains")
        shown = await talk(memory, None, monkeypatch, "hello there", "and the weather?", "天气呢？")
        (opening,) = [text for text in shown if "window seats" in text]
        assert opening.startswith("No model is connected. One would be told:\n<gateway-memory>")
        assert any(text.startswith("（未接模型）") for text in shown)


async def test_an_uncertain_wish_to_forget_is_asked_about(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with GatewayMemory(load_config(WORDS_ALONE), tmp_path) as memory:
        await talk(memory, None, monkeypatch, "I like window seats on trains", "Remember that a window is of red glass")
        shown = await talk(memory, None, monkeypatch, "forget about the window", "忘掉关于 window 的事")
        english, chinese = (text for text in shown if re.match("Which one|忘掉哪", text))
        assert english.startswith("Which one? /memory forget <id>\n- ")
        assert chinese.startswith("忘掉哪一条？")
        for text in (english, chinese):
            assert "window seats" in text
            assert "red glass" in text
        vague = "forget what I told you about the long ride on trains through the mountains"
        shown = await talk(memory, None, monkeypatch, vague)
        assert re.fullmatch(r"Do you mean “[^”]*window seats[^”]*”\? /memory forget \w+ forgets it\.", shown[-1])
        session = await memory.start_session("other", user=OWNER)
        assert len(await memory.search(session, "window", kinds=["memory"])) == 2


async def test_the_model_of_the_config_answers_and_what_it_finds_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = "My sister Marta moved to Lisbon last spring, to a flat with a view of the river."
    moved = found(entry("The user's sister Marta lives in Lisbon", "My sister Marta moved to Lisbon last spring"))
    async with serving() as provider:
        provider.always = lambda body: Say(text=moved if "response_format" in body else "How nice for her!")
        defaults = load_config(WORDS_ALONE).defaults
        extraction = replace(
            defaults.auto_extract, model="openai/small", base_url=f"{provider.url}/v1", prompt="full",
            min_conversation_length=0, debounce_seconds=0.05,
        )  # fmt: skip
        async with GatewayMemory(Config(defaults=replace(defaults, auto_extract=extraction)), tmp_path) as memory:
            agent = choose_agent(None, extraction)
            assert agent is not None
            assert agent.name == "openai/small"
            shown: list[str] = []
            told = asyncio.Event()

            def show(text: str) -> None:
                shown.append(text)
                if text.startswith("+ kept: The user's sister"):
                    told.set()

            chat = Chat(memory, agent, {"user": OWNER}, show=show)
            await chat._go("main")
            watching = asyncio.create_task(chat._show_changes(memory.changes(user=OWNER)))
            await chat.say(said)
            assert "How nice for her!" in shown
            async with asyncio.timeout(seconds(10)):
                await told.wait()
            watching.cancel()
            await agent.close()


async def test_without_a_key_there_is_no_agent(monkeypatch: pytest.MonkeyPatch) -> None:
    assert choose_agent(None, ExtractorSettings()) is None
    with pytest.raises(ValueError, match="expected openai/<model>"):
        choose_agent("gpt", ExtractorSettings())
    monkeypatch.setenv("ANTHROPIC_API_KEY", "none")
    agent = choose_agent(None, ExtractorSettings())
    assert agent is not None
    assert agent.name.startswith("anthropic/")
    await agent.close()


@pytest.mark.parametrize(
    ("command", "english", "chinese"),
    [
        ("/memory", "Memory of owner", "记忆：主人"),
        ("/memory status", "No model: rules and episodes only", "未配置模型：只用规则和对话原话"),
        ("/memory list", "Nothing is remembered yet", "还没有记忆"),
        ("/memory search", "What to search for?", "要搜索什么"),
        ("/memory search zebra", "Nothing found", "没有找到"),
        ("/memory forget abc", "No memory is called or says “abc”", "没有编号或内容为“abc”"),
        ("/memory forget", "Which one?", "忘掉哪一条"),
        ("/memory off autorecall", "Off in this session: autoRecall", "本会话已关闭：召回"),
        ("/memory on autoRecall", "On in this session: autoRecall", "本会话已打开：召回"),
        ("/memory off nonsense", "There is no feature", "没有“nonsense”这个功能"),
        ("/memory off", "Incognito", "无痕模式"),
        ("/memory dance", "There is no /memory dance", "没有 /memory dance"),
        ("/memory help", "/memory status", "状态"),
    ],
)
async def test_commands_answer_in_the_users_language(tmp_path: Path, command: str, english: str, chinese: str) -> None:
    async with GatewayMemory(load_config(), tmp_path) as memory:
        session = await memory.start_session("one", user=OWNER)
        await memory.before_reply(session, "hello there")
        assert english in (await memory.command(session, command) or "")
        await memory.command(session, "/memory on")
        await memory.before_reply(session, "你好呀")
        assert chinese in (await memory.command(session, command) or "")


@pytest.mark.parametrize("text", ["", "hello", "tell me about /memory status", "/memorystatus", "/mem"])
async def test_what_is_no_command_is_not_answered(tmp_path: Path, text: str) -> None:
    async with GatewayMemory(load_config(), tmp_path) as memory:
        session = await memory.start_session("one", user=OWNER)
        assert await memory.command(session, text) is None


def test_history_undo_and_retry(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = transcript(tmp_path / "talk.jsonl", {"session": "a", "user": "I live in Berlin.", "reply": "OK"})
    place = ["--workspace", str(tmp_path / "w")]
    assert main(["replay", *place, str(file)]) == 0
    assert main(["list", *place]) == 0
    identity = capsys.readouterr().out.rpartition("- ")[2].split(" ")[0]
    assert main(["history", *place, identity]) == 0
    assert "added" in capsys.readouterr().out
    assert main(["retry", *place]) == 0
    assert "0 turns" in capsys.readouterr().out
    assert main(["undo", *place]) == 0
    assert "removed" in capsys.readouterr().out
    assert not (tmp_path / "w" / "MEMORY.md").exists(), "as it was before"
    assert main(["retry", "--workspace", str(tmp_path / "nowhere")]) == 1
