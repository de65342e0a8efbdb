"""A search that is asked for: filters, weak hits and none, and what makes a score."""

from collections.abc import AsyncIterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest

from gateway_memory import OWNER, GatewayMemory, Session, UsageError, load_config
from gateway_memory.cli.main import main
from gateway_memory.commands.search import parse_search
from gateway_memory.testing import Clock

pytestmark = pytest.mark.over_postgres

START = datetime(2026, 9, 28, 9, 0, tzinfo=UTC)
SAID = [
    ("work", 0, "Remember that I prefer coffee without milk."),
    ("work", 3, "Remember that we decided to deploy on Fridays."),
    ("home", 5, "Remember that the coffee machine is in the cellar."),
    ("home", 9, "记住：我喜欢爬山"),
]


@pytest.fixture
async def memory(tmp_path: Path) -> AsyncIterator[GatewayMemory]:
    clock = Clock(START)
    async with GatewayMemory(load_config(), tmp_path, clock=clock) as memory:
        for key, days, said in SAID:
            clock.now = START + timedelta(days=days)
            session = await memory.start_session(key, user=OWNER)
            await memory.after_reply(session, user=said, reply="OK")
            await memory.flush()
        yield memory


@pytest.fixture
async def session(memory: GatewayMemory) -> Session:
    return await memory.start_session("asking", user=OWNER)


async def texts(memory: GatewayMemory, session: Session, query: str, **filters: object) -> list[str]:
    return [hit.text for hit in await memory.search(session, query, limit=20, **filters)]  # type: ignore[arg-type]


async def test_filters_hold_together(memory: GatewayMemory, session: Session) -> None:
    everything = await memory.search(session, "coffee deploy Fridays 爬山", limit=20)
    assert len(everything) == len(SAID)
    milk, cellar = "coffee without milk", "coffee machine"
    assert sorted((await texts(memory, session, "coffee"))[:2], key=lambda text: cellar in text) == [
        hit.text for hit in sorted(everything, key=lambda hit: cellar in hit.text) if "coffee" in hit.text
    ]
    assert milk in (await texts(memory, session, "coffee", category="preference"))[0]
    for filters, found, not_found in (
        ({"session_key": "home"}, cellar, milk),
        ({"since": date(2026, 10, 3)}, cellar, milk),
        ({"until": "2026-10-02"}, milk, cellar),
    ):
        best, *rest = await texts(memory, session, "coffee", **filters)
        assert found in best
        assert not [text for text in rest if not_found in text]
    assert milk not in "".join(await texts(memory, session, "coffee", category="preference", since="2026-10-03"))
    (kind,) = {hit.type for hit in everything if milk in hit.text}
    assert milk in "".join(await texts(memory, session, "coffee", type=kind))
    others = {"W", "B", "O"} - {kind}
    for other in others:
        assert milk not in "".join(await texts(memory, session, "coffee", type=other))


async def test_a_day_is_taken_in_whole(memory: GatewayMemory, session: Session) -> None:
    on_the_day = await texts(memory, session, "", since="2026-10-03", until="2026-10-03")
    assert len(on_the_day) == 1
    at = START + timedelta(days=5)
    assert await texts(memory, session, "", since=at, until=at + timedelta(seconds=1)) == on_the_day
    assert await texts(memory, session, "", since=at + timedelta(seconds=1), until="2026-10-03") == []


async def test_without_words_the_filters_list_the_newest_first(memory: GatewayMemory, session: Session) -> None:
    listed = await memory.search(session, "", since="2026-10-01", limit=2)
    assert ["爬山" in hit.text for hit in listed] == [True, False]
    assert {hit.score for hit in listed} == {1.0}
    assert [hit.text for hit in await memory.search(session, "  ", limit=2)] == [hit.text for hit in listed]


@pytest.mark.parametrize("wrong", [{"type": "S"}, {"type": "X"}, {"since": "last week"}, {"limit": 0}])
async def test_a_filter_that_makes_no_sense_is_refused(
    wrong: dict[str, object], memory: GatewayMemory, session: Session
) -> None:
    with pytest.raises(UsageError, match=str(next(iter(wrong.values())))):
        await memory.search(session, "coffee", **wrong)  # type: ignore[arg-type]


async def test_what_has_nothing_in_common_is_weak(memory: GatewayMemory, session: Session) -> None:
    for query in ("quantum physics", "what is the capital of France?", "xyzzy"):
        assert not any(hit.related for hit in await memory.search(session, query))
        assert str(await memory.command(session, f"/memory search {query}")).startswith("Weak")
    empty = await memory.start_session("nobody has said anything here", user="zoe")
    assert await memory.search(empty, "coffee") == ()
    assert await memory.command(empty, "/memory search coffee") == "Nothing found."
    assert await memory.command(empty, "/memory search 量子物理") == "没有找到。"


async def test_what_was_said_is_found_once_with_the_memory_of_it(memory: GatewayMemory, session: Session) -> None:
    said = "We were in Lisbon in May, Ana and I, and I left my green umbrella on the tram to Belém."
    await memory.after_reply(await memory.start_session("trip", user=OWNER), user=said, reply="What a pity!")
    await memory.flush()
    (best,) = [hit for hit in await memory.search(session, "where is my umbrella?") if "umbrella" in hit.text]
    assert best.text in (f"{said.removesuffix('.')} (May 2026)", f"User: {said} Assistant: What a pity!")
    about_coffee = [hit for hit in await memory.search(session, "coffee without milk", limit=20) if "milk" in hit.text]
    assert [hit.kind for hit in about_coffee] == ["memory"]


async def test_what_is_only_near_is_marked_as_weak(memory: GatewayMemory, session: Session) -> None:
    answer = await memory.command(session, "/memory search espresso") or ""
    title, *hits = answer.splitlines()
    assert title.startswith("Weak")
    assert any("coffee" in hit for hit in hits)
    sure = (await memory.command(session, "/memory search coffee without milk") or "").splitlines()
    assert sure[0].startswith("Found")
    assert "without milk" in sure[1]


async def test_a_line_with_the_word_that_is_searched_for_is_found(memory: GatewayMemory, session: Session) -> None:
    for number in range(12):
        told = f"The neighbour from number {number} came by and talked about the weather for a while."
        await memory.after_reply(session, user=told, reply="I see.")
    await memory.save_fact(session, content="Zoe tunes pianos for a living, mostly in Leipzig")
    await memory.flush()
    for query in ("Leipzig", "pianos"):
        title, first, *_ = (await memory.command(session, f"/memory search {query}") or "").splitlines()
        assert title.startswith("Found")
        assert "tunes pianos" in first


async def test_the_terms_of_a_rank_are_all_there(memory: GatewayMemory, session: Session) -> None:
    hits = await memory.search(session, "coffee last Friday", explain=True)
    assert hits
    for hit in hits:
        terms = {
            name: value for name, value in hit.parts.items() if name not in ("rank", "evidence", "coverage", "cosine")
        }
        assert terms.keys() >= {"words", "meaning", "recency", "importance", "form", "date", "version"}
        assert sum(terms.values()) == pytest.approx(hit.parts["rank"], abs=1e-4)
    assert all(not hit.parts for hit in await memory.search(session, "coffee last Friday"))


async def test_the_command_takes_the_same_filters_and_explains(memory: GatewayMemory, session: Session) -> None:
    for typed in ("--category preference coffee", "coffee --category=preference", "coffee —category preference"):
        answer = await memory.command(session, f"/memory search {typed} --explain") or ""
        assert "without milk" in answer
        assert "machine" not in answer
        assert "words +" in answer
        assert "recency +" in answer
    for typed in ("--colour red coffee", "coffee --since", "coffee --limit 0", "--since tomorrow coffee", "--type S x"):
        answer = await memory.command(session, f"/memory search {typed}") or ""
        assert answer.startswith("Not understood: ")
        assert "--category" in answer
    assert "爬山" in (await memory.command(session, "/memory search --since 2026-10-05") or "")


def test_words_and_options_may_stand_in_any_order() -> None:
    asked = parse_search("  two --limit 3 words --type o -5 --explain")
    assert (asked.query, asked.given, asked.limit, asked.explain) == ("two words -5", {"type": "o"}, 3, True)
    assert parse_search("coffee").query == "coffee"


@pytest.mark.files
def test_the_shell_takes_them_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / "2026-10-01.md").write_text("- The boat is at pier nine\n")
    (tmp_path / "memory" / "2026-10-05.md").write_text("- The boat is at pier four\n")

    def run(*arguments: str) -> str:
        assert main(["search", "--workspace", str(tmp_path), *arguments]) == 0
        return capsys.readouterr().out

    found = run("--since", "2026-10-04", "--until", "2026-10-06", "--explain", "boat")
    assert "pier four" in found
    assert "pier nine" not in found
    assert "words +" in found
    assert "pier nine" in run("boat", "--limit", "2")


@pytest.mark.parametrize("sign", ["🦊", "👩‍🚀", "👍🏽", "🇵🇹", "❤️"])
async def test_a_sign_is_found(tmp_path: Path, sign: str) -> None:
    async with GatewayMemory(load_config(), tmp_path) as memory:
        session = await memory.start_session("a", user=OWNER)
        for content in (
            "The mood sign of Ida is 🐻.",
            f"My mood sign is {sign}.",
            "The sign of the shop is 👩‍🍳.",
            "👍 means yes.",
        ):
            await memory.save_fact(session, content=content)
        found = await memory.search(session, sign)
    assert found[0].text.startswith(f"My mood sign is {sign}")
