"""Memories and messages for benchmarks: sentences whose words are spread as in real ones, in two languages."""

import random
from collections.abc import Sequence
from datetime import date, timedelta
from pathlib import Path

from gateway_memory.scope import resolve_scope

__all__ = ["Writer", "folder_of", "seed", "texts_of"]

LINES_A_FILE = 500
TOPICS = (
    "deployment", "database", "kitchen", "travel", "budget", "garden", "music", "school", "release", "holiday",
    "server", "meeting", "recipe", "training",
)  # fmt: skip
VERBS = (
    "prefers", "plans", "decided", "moved", "bought", "wants", "forgot", "finished", "likes", "paused", "reviewed",
    "booked",
)  # fmt: skip
HAN = "部署数据库厨房旅行预算花园音乐学校发布假期服务器会议菜谱训练喜欢计划决定购买完成预订时间地点朋友项目报告"


class Writer:
    """Makes sentences whose words are spread as in real ones: a few are everywhere, most are rare."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._vocabulary = [f"{self._random.choice(TOPICS)[:4]}{number:x}" for number in range(20_000)]

    def _word(self) -> str:
        rank = int(len(self._vocabulary) * self._random.random() ** 4)
        return self._vocabulary[rank]

    def memory(self) -> str:
        """A memory of ten to twenty words, one in three in Chinese."""
        if self._random.random() < 0.33:
            return "用户" + "".join(self._random.choices(HAN, k=self._random.randint(12, 30))) + self._word()
        words = [self._word() for _ in range(self._random.randint(7, 15))]
        return f"Lin {self._random.choice(VERBS)} {self._random.choice(TOPICS)} {' '.join(words)}"

    def message(self, length: int) -> str:
        """A message of so many characters."""
        text = ""
        while len(text) < length:
            text += self.memory() + " "
        start = self._random.randint(0, max(0, len(text) - length - 1))
        return text[start : start + length]


def texts_of(memories: int, distinct: int) -> list[str]:
    """Return so many texts, of which so many differ."""
    writer = Writer(1)
    made = [writer.memory() for _ in range(min(memories, distinct))]
    return [made[number % len(made)] for number in range(memories)]


def folder_of(workspace: Path, scopes: int, scope: int) -> Path:
    """Return where a scope's files are: the workspace itself, or a person's folder."""
    return workspace / resolve_scope(user=f"person {scope}", room=None).folder if scopes > 1 else workspace


def seed(workspace: Path, texts: Sequence[str], scopes: int) -> None:
    """Write the memories as the days' logs of their scopes."""
    each = len(texts) // scopes
    for scope in range(scopes):
        folder = folder_of(workspace, scopes, scope) / "memory"
        folder.mkdir(parents=True)
        own = texts[scope * each : (scope + 1) * each]
        for number, start in enumerate(range(0, len(own), LINES_A_FILE)):
            lines = [
                f"- {text} <!-- gm:{start + offset:08x} -->"
                for offset, text in enumerate(own[start : start + LINES_A_FILE])
            ]
            day = date(2024, 1, 1) + timedelta(days=number)
            (folder / f"{day}.md").write_text(f"# {day}\n\n" + "\n".join(lines) + "\n", "utf-8")
