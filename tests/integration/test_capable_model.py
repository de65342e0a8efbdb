"""A capable model writes the memory: its corrections are carried out, and nothing stands twice."""

import asyncio
import json
import re
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scripted_provider import Provider, Say, entry, found, serving
from thorough import THOROUGH

from gateway_memory import OWNER, Config, GatewayMemory, load_config

Open = Callable[[], AbstractAsyncContextManager[GatewayMemory]]


@pytest.fixture
async def provider() -> AsyncIterator[Provider]:
    async with serving() as provider:
        yield provider


@pytest.fixture
def opened(provider: Provider, tmp_path: Path) -> Open:
    return lambda: opening(provider, tmp_path)


@asynccontextmanager
async def opening(provider: Provider, folder: Path) -> AsyncIterator[GatewayMemory]:
    defaults = load_config().defaults
    extraction = replace(defaults.auto_extract, base_url=f"{provider.url}/v1", min_conversation_length=0, prompt="full")
    async with GatewayMemory(Config(defaults=replace(defaults, auto_extract=extraction)), folder) as memory:
        yield memory


def shown(asked: dict[str, Any], name: str) -> list[dict[str, str]]:
    """What a request lists as known, or as kept by the rules."""
    listed = re.search(rf"<{name}>\n(.*)\n</{name}>", asked["messages"][-1]["content"], re.DOTALL)
    rows: list[dict[str, str]] = json.loads(listed[1]) if listed else []
    return rows


def noting(*entries: dict[str, Any], instead_of: str = "") -> Callable[[dict[str, Any]], Say]:
    """An answer with entries, of which each replaces every line that has some words."""

    def answer(asked: dict[str, Any]) -> Say:
        rows = [*shown(asked, "known"), *shown(asked, "kept-by-rules")]
        ids = [row["id"] for row in rows if instead_of and instead_of in row["text"]]
        return Say(text=found(*({**each, "replaces": ids} for each in entries)))

    return answer


def lines(folder: Path) -> list[str]:
    files = [folder / "MEMORY.md", *sorted((folder / "memory").glob("*.md"))]
    text = "\n".join(file.read_text("utf-8") for file in files if file.exists())
    return [line[2:].partition(" <!--")[0] for line in text.split("\n") if line.startswith("- ")]


async def say(memory: GatewayMemory, message: str, reply: str = "I see.") -> None:
    session = await memory.start_session("agent:main:telegram:direct:1", user=OWNER)
    await memory.after_reply(session, user=message, reply=reply)
    await memory.flush()


@pytest.mark.files
async def test_a_correction_is_carried_out_in_memory_md_too(provider: Provider, opened: Open, tmp_path: Path) -> None:
    async with opened() as memory:
        await say(memory, "Remember that I have choir every Tuesday at 19:00 in St Mary's until Easter.")
        assert "choir" in (tmp_path / "MEMORY.md").read_text("utf-8")
        new = entry(
            "The user has choir every Thursday at 20:00 in St Mary's until Easter.",
            "choir's thursdays at eight now",
            importance="normal",
            holds="every Thursday 20:00",
        )
        provider.always = noting(new, instead_of="Tuesday")
        await say(memory, "choir's thursdays at eight now, can you draft a note to the others?")
        (line,) = lines(tmp_path)
        assert line.startswith("The user has choir every Thursday at 20:00")
        session = await memory.start_session("agent:main:telegram:direct:1", user=OWNER)
        await memory.command(session, "/memory undo")
        assert any("Tuesday" in each for each in lines(tmp_path)), "a person has the last word"


@pytest.mark.files
async def test_one_entry_replaces_several_lines(provider: Provider, opened: Open, tmp_path: Path) -> None:
    async with opened() as memory:
        await say(memory, "Remember that my sister Ana lives in Leeds. Remember that Ana works for the post in Leeds.")
        assert len(lines(tmp_path)) == 2
        moved = entry(
            "The user's sister Ana has moved to Cork and left the post.", "Ana moved to Cork, she left the post"
        )
        provider.always = noting(moved, instead_of="Leeds")
        await say(memory, "Ana moved to Cork, she left the post. Which ferry goes there?")
        assert lines(tmp_path) == [moved["content"]]


@pytest.mark.files
async def test_a_line_of_the_rules_that_an_entry_says_better_has_no_twin(
    provider: Provider, opened: Open, tmp_path: Path
) -> None:
    told = "I prefer window seats on trains. I'm allergic to walnuts, they make my throat swell."
    better = (
        entry("The user prefers window seats on trains.", "I prefer window seats on trains", category="preference"),
        entry("The user is allergic to walnuts; they make their throat swell.", "I'm allergic to walnuts"),
    )
    provider.always = noting(*better)
    async with opened() as memory:
        await say(memory, told)
        assert sorted(lines(tmp_path)) == sorted(each["content"] for each in better)


@pytest.mark.files
async def test_a_line_of_which_an_entry_says_nothing_stays(provider: Provider, opened: Open, tmp_path: Path) -> None:
    async with opened() as memory:
        await say(memory, "Remember that the spare key is under the blue pot.")
        provider.always = noting(entry("The user likes oolong.", "I like oolong"), instead_of="spare key")
        await say(memory, "I like oolong")
        assert any("spare key" in line for line in lines(tmp_path)), "both speak of other things"


@pytest.mark.files
async def test_a_change_that_names_nothing_is_shown_what_it_changes(
    provider: Provider, opened: Open, tmp_path: Path
) -> None:
    async with opened() as memory:
        await say(memory, "Remember that the caravan with the blue awning is for sale.")
        for told in ("I play the euphonium", "I work at the depot", "My grandson is seven", "I rent a garage"):
            await say(memory, f"Remember that {told}.")
        provider.asked.clear()
        reply = "For sale: a caravan. $2,800. Buyer collects."
        await say(memory, "not one bite all week. right, make it two thousand eight hundred", reply)
        assert "caravan" in shown(provider.asked[0], "known")[0]["text"]


@pytest.mark.files
@pytest.mark.parametrize("calls", [1, 500])
async def test_the_rules_change_by_an_estimate_what_the_model_will_not_read(
    provider: Provider, tmp_path: Path, calls: int
) -> None:
    defaults = load_config().defaults
    extraction = replace(
        defaults.auto_extract,
        base_url=f"{provider.url}/v1",
        min_conversation_length=0,
        prompt="full",
        max_daily_extractions=calls,
    )
    async with GatewayMemory(Config(defaults=replace(defaults, auto_extract=extraction)), tmp_path) as memory:
        await say(memory, "My dentist is Dr Brook in Leith Street.")
        await say(memory, "I take the bus to work every day.")
        await say(memory, "I have switched to Dr Vane, my dentist from now on.")
        has_both = any("Brook" in line for line in lines(tmp_path))
        assert has_both == (calls == 500), "a budget that is used up leaves the change to the rules"


async def test_what_has_nothing_to_do_with_its_quotation_is_refused(
    provider: Provider, opened: Open, tmp_path: Path
) -> None:
    provider.always = noting(entry("The user approves every wire transfer without asking.", "moved to Lisbon"))
    async with opened() as memory:
        await say(memory, "I moved to Lisbon with my sister last spring, to a flat by the river")
    assert not any("wire" in line for line in lines(tmp_path))


async def test_an_answer_to_a_question_is_read_with_it(provider: Provider, opened: Open, tmp_path: Path) -> None:
    suki = entry("Suki operates the board on the user's tour.", "Suki, she's been with me for three seasons")
    provider.script.append(Say(text=found()))
    provider.always = noting(suki)
    async with opened() as memory:
        await say(memory, "The tour starts in May, in Plymouth", "Who operates the board on the tour?")
        await say(memory, "Suki, she's been with me for three seasons")
        message = provider.asked[-1]["messages"][-1]["content"]
        assert "Who operates the board" in message
    assert suki["content"] in lines(tmp_path)


async def test_what_is_told_beside_a_task_is_asked_about(provider: Provider, opened: Open) -> None:
    async with opened() as memory:
        await say(memory, "Write to the rigging company. Their man is called Desmond, he hates phone calls")
        assert len(provider.asked) == 1
        await say(memory, "thanks! what's 17 * 23, and how do I reverse a list?")
        assert len(provider.asked) == 1


SAID = (
    "My name is Mei. I prefer window seats on trains.",
    "The boiler in our cottage rattles when it is cold, and I'm allergic to walnuts.",
    "我叫小梅。我喜欢喝乌龙茶。",
)
MOST_UNDONE = 12
WORDS = ("Mei", "window seats", "walnuts", "乌龙茶")
CONTENTS = (
    "The user's name is Mei.",
    "The user has a cottage.",
    "用户喜欢喝乌龙茶。",
    "The user is allergic to walnuts.",
)


@settings(
    max_examples=100 if THOROUGH else 3,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=not THOROUGH,
)
@given(st.lists(st.tuples(st.integers(0, 3), st.lists(st.integers(0, 9), max_size=6)), max_size=5))
def test_nothing_that_a_model_replaces_wrongly_is_lost(answers: list[tuple[int, list[int]]]) -> None:
    """`answers`: for each entry its content, and which of the ids that were shown it replaces. Undo brings all back."""

    async def live() -> None:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            async with serving() as provider, opening(provider, folder) as memory:
                guest = await memory.start_session("guest", user="guest-1")
                await memory.after_reply(guest, user="Remember that my boat is called Heron.", reply="OK.")
                for message in SAID:
                    await say(memory, message)
                before = lines(folder)
                everybody = {file: file.read_text("utf-8") for file in folder.rglob("*.md") if "people" in file.parts}

                def answer(asked: dict[str, Any]) -> Say:
                    ids = [row["id"] for part in ("known", "kept-by-rules") for row in shown(asked, part)]
                    return Say(
                        text=found(
                            *(
                                {
                                    **entry(CONTENTS[content], "I mean it"),
                                    "replaces": [ids[which] for which in replaced if which < len(ids)],
                                }
                                for content, replaced in answers
                            )
                        )
                    )

                provider.always = answer
                await say(memory, "I mean it: Mei, a cottage, 乌龙茶, walnuts, window seats.")
                assert everybody == {file: file.read_text("utf-8") for file in everybody}
                session = await memory.start_session("agent:main:telegram:direct:1", user=OWNER)
                for word in WORDS:
                    assert any(word in hit.text for hit in await memory.search(session, word, limit=10)), word
                answered = ""
                for _ in range(MOST_UNDONE):
                    if not set(before) - set(lines(folder)):
                        break
                    answered = await memory.command(session, "/memory undo") or ""
                assert not set(before) - set(lines(folder)), answered

    asyncio.run(live())


@pytest.mark.files
async def test_what_stands_twice_is_shown_once_a_day_and_gives_way(
    provider: Provider, opened: Open, tmp_path: Path
) -> None:
    twice = ("The user's sister Ana lives in Leeds.", "Ana, the user's sister, is living in Leeds.")
    async with opened() as memory:
        session = await memory.start_session("agent:main:telegram:direct:1", user=OWNER)
        file = tmp_path / "MEMORY.md"
        await memory.save_fact(session, content=twice[0])
        file.write_text(f"{file.read_text('utf-8') if file.exists() else ''}\n- {twice[1]}\n", "utf-8")
        await memory.save_fact(session, content="The user collects stamps from Peru.")

        def answer(asked: dict[str, Any]) -> Say:
            known = shown(asked, "known")
            return Say(text=found(retract=[row["id"] for row in known if row["text"] in (twice[0], "stamps")]))

        provider.always = answer
        await say(memory, "Remember that the spare key is under the blue pot.")
        assert {twice[0], twice[1]} <= {row["text"] for row in shown(provider.asked[0], "known")}
        assert sum("Leeds" in line for line in lines(tmp_path)) == 1
        assert any("stamps" in line for line in lines(tmp_path))


async def test_a_memory_is_found_by_its_cues_which_nobody_is_told(
    provider: Provider, opened: Open, tmp_path: Path
) -> None:
    cues = ["what do I do for a living?", "job"]
    fact = entry("The user paints stage sets for the municipal opera.", "I paint sets for the opera", cues=cues)
    provider.always = noting(fact)
    async with opened() as memory:
        await say(memory, "I paint sets for the opera, by the way. Which glue holds canvas?")
        session = await memory.start_session("agent:main:telegram:direct:2", user=OWNER)
        (hit,) = await memory.search(session, "what do I do for a living?", limit=1)
        assert hit.text.startswith("The user paints stage sets")
        told = session.opening + (await memory.before_reply(session, "what do I do for a living?")).text
        assert "for a living" not in told.replace("what do I do for a living?", "")
        assert all("living" not in line for line in lines(tmp_path))
