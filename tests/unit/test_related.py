"""Rows that are ranked in place get the scores of an index without vectors."""

import time

import pytest

from recall import EmbedderSettings, Entry, Line, Recaller, RecallSettings, SearchRequest, Stamp, related
from recall.text.topics import traits_of

TEXTS = (
    "The release branch is cut every Thursday",
    "I prefer tabs over spaces",
    "以后提交信息都用英文写",
    "The billing service retries failed payments three times",
    "前端用 Vue 3 和 TypeScript",
    "We bought the licence for the staging server in May",
    "Feature flags live in flags.yaml",
)
NOW = time.time()


ROWS = [
    Line(f"i{at}", text, "W", "MEMORY.md", NOW - 86400 * at, traits_of(text, standing=False))
    for at, text in enumerate(TEXTS)
]


def found(message: str) -> list[tuple[str, float]]:
    return [(row.id, score) for score, row in related(ROWS, message, limit=3, min_score=0.5, now=NOW, zone=None)]


@pytest.mark.parametrize(
    ("message", "first"),
    [
        ("when is the release branch cut?", "i0"),
        ("which day do we cut releases?", "i0"),
        ("我的提交信息用什么语言写？", "i2"),
        ("do we retry payments?", "i3"),
        ("when did we buy the licence?", "i5"),
        ("write a python script that renames files", "i1"),
        ("what's 17 * 23?", ""),
        ("fix the typo in the headline", ""),
        ("段错误是什么意思？", ""),
        ("", ""),
    ],
)
async def test_they_are_those_of_an_index_without_vectors(message: str, first: str) -> None:
    recaller = Recaller(None, RecallSettings(embedder=EmbedderSettings(provider="none")), zone=None)
    await recaller.open()
    entries = [Entry(id=row.id, text=row.text, at=row.at) for row in ROWS]
    await recaller.replace_file("owner", "MEMORY.md", Stamp(mtime_ns=1, size=1, digest=""), entries)
    hits = (
        await recaller.search(
            SearchRequest(scope="owner", query=message, limit=3, min_score=0.5, now=NOW), timeout_seconds=9
        )
    ).hits
    await recaller.close()
    assert [identity for identity, _ in found(message)][:1] == ([first] if first else [])
    assert [hit.id for hit in hits][:1] == ([first] if first else [])
    assert [score for _, score in found(message)][:1] == pytest.approx([hit.score for hit in hits][:1], abs=0.08)


def test_of_no_rows_none_is_related() -> None:
    assert related([], "when is the release?", limit=3, min_score=0.0, now=NOW, zone=None) == []
