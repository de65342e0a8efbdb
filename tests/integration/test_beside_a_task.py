"""What somebody tells of themselves beside a task or a question is kept, without the task."""

from pathlib import Path

import pytest

from gateway_memory import OWNER, GatewayMemory, load_config


async def lines_of(folder: Path, message: str) -> list[str]:
    """Return the lines that the memory keeps of a message."""
    async with GatewayMemory(load_config(), folder) as memory:
        session = await memory.start_session("agent:main:chat:direct:1", user=OWNER)
        await memory.after_reply(session, user=message, reply="OK.")
        await memory.flush()
    files = [path.read_text("utf-8") for path in sorted(folder.rglob("*.md"))]
    return [line for text in files for line in text.splitlines() if line.startswith("- ")]


@pytest.mark.parametrize(
    ("message", "told", "task"),
    [
        ("老公跑长途的 主要跑沈阳到广州 一走就是十来天 给他带啥吃的不坏", "跑长途", "吃的不坏"),
        ("思彤的班主任姓祁 昨天打电话说她上课睡觉 我咋跟孩子说", "班主任姓祁", "我咋跟"),
        ("our choir rehearses on Thursdays now, can you draft a note to the others?", "choir rehearses", "draft"),
    ],
)
async def test_a_fact_beside_a_task_is_kept_without_it(tmp_path: Path, message: str, told: str, task: str) -> None:
    lines = await lines_of(tmp_path, message)
    assert any(told in line for line in lines), lines
    assert not any(task in line for line in lines), lines


@pytest.mark.parametrize(
    "message",
    [
        "can you make this mail sound less stroppy, it's a bit much, or not?",
        "帮我翻译一下 我今天有点累 谢谢",
        "how many steps are there at Covent Garden, and who counted them?",
        "我有 3 只 Python 脚本 怎么合并",
    ],
)
async def test_a_task_alone_leaves_nothing(tmp_path: Path, message: str) -> None:
    assert await lines_of(tmp_path, message) == []
