"""What a portrait reads: bounded however large a scope is, of its scope alone, and nothing of what was forgotten."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from ending import Clock, opened

from gateway_memory import OWNER, GatewayMemory, Session
from gateway_memory.browsing.sections import Sections
from gateway_memory.browsing.wiki_pages import pages_of, without_secrets
from gateway_memory.scope import OWNER_SCOPE
from gateway_memory.transfer.layouts import read_layout

pytestmark = pytest.mark.over_postgres

MANY = 700


async def told(memory: GatewayMemory, session: Session, *texts: str) -> None:
    for text in texts:
        await memory.before_reply(session, text)
        await memory.after_reply(session, user=text, reply="Noted.")
    await memory.flush()


def lines_of(sections: Sections) -> list[str]:
    lines = [*sections.about, *sections.likes, *sections.wishes, *sections.ahead, *sections.others]
    topics = [*sections.people, *sections.projects, *sections.topics]
    return [line.text for line in lines] + [line.text for topic in topics for line in topic.lines]


async def test_a_large_scope_is_read_in_part_and_its_important_lines_stay(tmp_path: Path) -> None:
    rows = tmp_path / "rows.jsonl"
    start = datetime(2020, 1, 1, tzinfo=UTC)
    texts = [
        "My aunt Judith lives in Oslo",
        "The owner's boat is lent",
        *(f"Box {number} is full" for number in range(MANY)),
    ]
    values = [{"importance": "high"}, {"expires": "2099-05-01"}, *({} for _ in range(MANY))]
    with rows.open("w", encoding="utf-8") as stream:
        for number, (text, more) in enumerate(zip(texts, values, strict=True)):
            at = (start + timedelta(days=number)).isoformat()
            stream.write(json.dumps({"kind": "memory", "text": text, "at": at, "category": "fact", **more}) + "\n")
    async with opened(tmp_path / "w", Clock()) as memory:
        await memory.importer.run(read_layout("jsonl", rows), scope=OWNER_SCOPE)
        session = await memory.start_session("a", user=OWNER)
        shown = await memory.portraits.portrait(session)
        assert shown.memories == MANY + 2
        assert shown.since == start.timestamp()
        assert len(lines_of(shown.sections)) < MANY
        assert [line.text for line in shown.sections.ahead] == ["The owner's boat is lent (until Friday 1 May 2099)"]
        about = await memory.portraits.about(session, "Judith")
        assert about
        assert [line.text for line in about.topic.lines] == ["My aunt Judith lives in Oslo"]
        assert [each.name for each in about.others] == ["Oslo"]
        sections, lines = await memory.portraits.everything(session, shown=without_secrets)
        assert len(lines) == MANY + 2
        assert len(lines_of(sections)) >= MANY


async def test_what_changed_is_told_and_what_was_forgotten_is_nowhere(tmp_path: Path) -> None:
    async with opened(tmp_path, Clock()) as memory:
        session = await memory.start_session("a", user=OWNER)
        await told(memory, session, "I live in Porto.", "My sister Marta is a nurse.")
        await told(memory, session, "I moved to Ghent, I no longer live in Porto.")
        shown = await memory.portraits.portrait(session)
        assert [(each.old.text, "Ghent" in each.line.text) for each in shown.changed] == [("I live in Porto", True)]
        assert [each.name for each in shown.sections.people] == ["Marta"]
        for identity in (shown.changed[0].line.id, shown.sections.people[0].lines[0].id):
            await memory.command(session, f"/memory forget {identity}")
        shown = await memory.portraits.portrait(session)
        assert shown.changed == []
        assert shown.sections.people == []
        assert await memory.portraits.about(session, "Marta") is None
        sections, lines = await memory.portraits.everything(session, shown=without_secrets)
        pages = pages_of(sections, lines, language="en", day_of=lambda at: datetime.fromtimestamp(at, UTC).date())
        assert not {"Marta", "Ghent", "Porto"} & set("".join([*pages, *pages.values()]).replace("|", " ").split())


async def test_each_scope_has_its_own(tmp_path: Path) -> None:
    async with opened(tmp_path, Clock()) as memory:
        owner, zoe = await memory.start_session("a", user=OWNER), await memory.start_session("b", user="zoe")
        await told(memory, owner, "My sister Marta is a nurse.")
        await told(memory, zoe, "Remember that my brother Felix drives a tram.")
        assert [each.name for each in (await memory.portraits.portrait(zoe)).sections.people] == ["Felix"]
        assert await memory.portraits.about(zoe, "Marta") is None
        assert await memory.portraits.about(owner, "Felix") is None
        empty = await memory.portraits.portrait(await memory.start_session("c", user="ann"))
        assert (empty.memories, empty.since, empty.sections) == (0, 0.0, (await memory.portraits.everything(
            await memory.start_session("d", user="ann"), shown=without_secrets
        ))[0])  # fmt: skip


async def test_names_with_any_characters_are_looked_for_as_they_are(tmp_path: Path) -> None:
    async with opened(tmp_path, Clock()) as memory:
        session = await memory.start_session("a", user=OWNER)
        await told(memory, session, "My sister Marta is a nurse.", "I like 100% juice.")
        for name in ("%", "_arta", "marta", "Mart", "", " ", "\0", "'", "Marta\n", "M" * 100):
            assert await memory.portraits.about(session, name) is None, name
