"""What takes back or corrects the message before it: "just kidding", "no wait, Thursday"."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from gateway_memory import OWNER, GatewayMemory, load_config

NOW = datetime(2026, 3, 9, 12, tzinfo=UTC)


async def lines_after(folder: Path, *messages: str, minutes: float = 1, at_once: bool = False) -> list[str]:
    """The lines of a workspace in which a person said some messages in one session."""
    now = [NOW]
    async with GatewayMemory(load_config(), folder, clock=lambda: now[0]) as memory:
        session = await memory.start_session("agent:main:telegram:direct:1", user=OWNER)
        for message in messages:
            await memory.after_reply(session, user=message, reply="OK")
            if not at_once:
                await memory.flush()
            now[0] += timedelta(minutes=minutes)
        await memory.flush()
    files = [folder / "MEMORY.md", *sorted((folder / "memory").glob("*.md"))]
    text = "\n".join(file.read_text("utf-8") for file in files if file.exists())
    return [line[2:].partition(" <!--")[0] for line in text.split("\n") if line.startswith("- ")]


@pytest.mark.files
@pytest.mark.parametrize("at_once", [False, True])
@pytest.mark.parametrize(
    ("told", "taken_back"),
    [
        ("I own a sailing boat in Kiel.", "just kidding"),
        ("我家有三只猫", "逗你玩的"),
        ("我对花生过敏", "发错人了"),
        ("My knee operation is in May.", "ignore me, that was for my wife"),
    ],
)
async def test_what_the_next_message_takes_back_leaves_no_line(
    tmp_path: Path, told: str, taken_back: str, *, at_once: bool
) -> None:
    assert await lines_after(tmp_path / "alone", told)
    assert await lines_after(tmp_path, told, taken_back, at_once=at_once) == []


@pytest.mark.files
@pytest.mark.parametrize(
    ("told", "mended", "new"),
    [
        ("My dentist appointment is on Wednesday.", "wait no, Thursday", "Thursday"),
        ("家长会在周三下午", "哦不是，是周四", "周四"),
        ("我的快递放在二号楼", "说错了，是三号楼", "三号楼"),
        ("我媽咪五月二號生日", "講錯，係五月十二號", "十二號"),
        ("俺家住二单元", "整岔批了，是五单元", "五单元"),
    ],
)
async def test_what_the_next_message_corrects_is_one_line_with_it(
    tmp_path: Path, told: str, mended: str, new: str
) -> None:
    (line,) = await lines_after(tmp_path, told, mended)
    assert new in line
    assert told.rstrip(".") in line


@pytest.mark.files
@pytest.mark.parametrize(
    "next_message",
    ["no that's wrong, try again", "nope, not what I meant", "不对，重来", "哈哈", "算了"],
)
async def test_what_is_said_of_a_reply_takes_nothing_back(tmp_path: Path, next_message: str) -> None:
    assert len(await lines_after(tmp_path, "I own a sailing boat in Kiel.", next_message)) == 1


@pytest.mark.files
async def test_an_hour_later_nothing_is_taken_back(tmp_path: Path) -> None:
    assert len(await lines_after(tmp_path, "I own a sailing boat in Kiel.", "just kidding", minutes=60)) == 1


@pytest.mark.files
async def test_a_request_is_not_corrected_into_a_line(tmp_path: Path) -> None:
    told = ("I own a sailing boat in Kiel.", "forget what I said about the car", "wait no, Thursday")
    assert all("forget" not in line for line in await lines_after(tmp_path, *told))
