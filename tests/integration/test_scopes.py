"""No memory reaches another person's reply, whatever way it could take."""

from dataclasses import replace
from pathlib import Path

import pytest
from inside import parts

from gateway_memory import OWNER, Config, GatewayMemory, load_config
from gateway_memory.scope import OWNER_SCOPE

pytestmark = pytest.mark.over_postgres

SECRET = "the tulips bloom at midnight"


def with_groups() -> Config:
    defaults = load_config().defaults
    return Config(defaults=replace(defaults, auto_extract=replace(defaults.auto_extract, exclude_session_types=())))


async def test_what_one_scope_learns_no_other_can_see(tmp_path: Path) -> None:
    who: dict[str, dict[str, object]] = {
        "owner": {"user": OWNER},
        "zoe": {"user": "zoe"},
        "yan": {"user": "严"},
        "room": {"room": "discord-5"},
        "other room": {"room": "zoe"},
    }
    async with GatewayMemory(with_groups(), tmp_path) as memory:
        for speaker in who:
            sessions = {name: await memory.start_session("same key", **whose) for name, whose in who.items()}  # type: ignore[arg-type]
            said = f"{SECRET} says {speaker.replace(' ', '')}"
            await memory.after_reply(sessions[speaker], user=f"Remember that {said}.", reply="OK")
            await memory.flush()
            for name, session in sessions.items():
                context = await memory.before_reply(session, f"when do the tulips bloom, says {speaker}?")
                found = [hit.text for hit in await memory.search(session, SECRET, limit=50)]
                listed = await memory.command(session, "/memory list") or ""
                later = await memory.start_session(f"later {speaker} {name}", **who[name])  # type: ignore[arg-type]
                everything = "\n".join([context.text, *found, listed, later.opening])
                assert (said in everything) == (name == speaker), (name, speaker)
            answers = [await memory.command(sessions[name], "/memory search tulips") or "" for name in who]
            assert sum(said in answer for answer in answers) == 1
            (own,) = [hit for hit in await memory.search(sessions[speaker], said, limit=1) if said in hit.text]
            for name, session in sessions.items():
                if name != speaker:
                    await memory.command(session, f"/memory forget {own.id}")
            assert said in (await memory.search(sessions[speaker], said, limit=1))[0].text, "only its own scope forgets"
        documents = parts(memory).storage.documents
        assert await documents.read(OWNER_SCOPE, "MEMORY.md") is not None
        assert [name.partition("/")[0] for name in await documents.folders()] == ["people", "people", "rooms", "rooms"]


@pytest.mark.files
async def test_a_file_written_by_the_host_is_told_to_the_others_only(tmp_path: Path) -> None:
    async with GatewayMemory(load_config(), tmp_path) as memory:
        writer = await memory.start_session("writer", user=OWNER)
        other = await memory.start_session("other", user=OWNER)
        zoe = await memory.start_session("zoe", user="zoe")
        (tmp_path / "MEMORY.md").write_text("# Memory\n\n- The meeting moved to Thursday\n")
        await memory.file_written(writer, "MEMORY.md")
        told = await memory.before_reply(other, "anything new?")
        assert [update.text for update in told.updates] == ["The meeting moved to Thursday"]
        assert told.text.count("The meeting moved to Thursday") == 1, "not once more as a changed file"
        own = await memory.before_reply(writer, "when is the meeting?")
        assert (own.updates, own.changes) == ((), ())
        assert own.text == ""
        assert (await memory.before_reply(zoe, "when is the meeting?")).text == ""


@pytest.mark.files
async def test_what_a_person_does_to_the_files_is_respected(tmp_path: Path) -> None:
    async with GatewayMemory(load_config(), tmp_path) as memory:
        speaker = await memory.start_session("speaker", user=OWNER)
        for said in ("Remember that the red key opens the shed.", "Remember that the blue key opens the cellar."):
            await memory.after_reply(speaker, user=said, reply="OK")
        await memory.flush()
        file = tmp_path / "MEMORY.md"
        reader = await memory.start_session("reader", user=OWNER)
        lines = file.read_text().splitlines()
        items = [line for line in lines if line.startswith("- ")]
        shed = next(line for line in items if "shed" in line)
        cellar = next(line for line in items if "cellar" in line)
        mine = ["# Keys", "", "Prose of mine about keys.", "", "* green key: attic", cellar.replace("blue", "navy"), ""]
        file.write_text("\n".join(mine))
        context = await memory.before_reply(reader, "which key opens what?")
        assert "green key: attic" in context.text
        assert "navy key" in context.text
        assert not any("shed" in hit.text for hit in await memory.search(reader, "red key shed")), (
            "deleted is forgotten"
        )
        await memory.after_reply(speaker, user="Remember that the black key opens the garage.", reply="OK")
        await memory.flush()
        text = file.read_text()
        assert [line for line in text.splitlines() if "black" not in line] == mine[:-1]
        assert shed not in text
