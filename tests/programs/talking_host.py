"""A host that talks by itself until its standard input ends. It uses what the version before has as well.

    python talking_host.py SOURCE FOLDER NAME SCHEMA
    python talking_host.py SOURCE migrate DSN SCHEMA ROLE

SOURCE: the folder of the version. Says "open", and in the end how many turns it has said; or the steps that it applied.
A failure is a traceback.
"""

import asyncio
import sys
from contextlib import suppress
from pathlib import Path


async def main(folder: str, name: str, schema: str) -> None:
    """Talk in three sessions."""
    from gateway_memory import Config, GatewayMemory
    from gateway_memory.config.settings import MemorySync, StoreSettings
    from gateway_memory.errors import StoreError
    from recall import EmbedderSettings, RecallSettings

    recall = RecallSettings(embedder=EmbedderSettings(provider="none"))
    config = Config(defaults=MemorySync(auto_recall=recall, store=StoreSettings(backend="postgres", schema=schema)))
    ended = asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    async with GatewayMemory(config, Path(folder)) as memory:
        sessions = [await memory.start_session(f"{name}{number}", user=f"zoe{number}") for number in range(3)]
        _say("open")
        said = 0
        while not ended.done():
            session = sessions[said % 3]
            await memory.before_reply(session, f"which door does key {name}{said - 3} open?")
            told = f"Remember that key {name}{said} opens door {said}."
            await memory.after_reply(session, user=told, reply="OK", turn_id=f"{name}{said}")
            said += 1
            await asyncio.sleep(0.03)
        with suppress(StoreError):  # a step has ended this version: the next host completes what waits
            await memory.flush()
    _say(str(said))


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    source, *arguments = sys.argv[1:]
    # An editable install puts itself before every path.
    sys.meta_path[:] = [each for each in sys.meta_path if "Editable" not in f"{each!r}{type(each).__name__}"]
    sys.path.insert(0, source)
    if arguments[0] == "migrate":
        from gateway_memory.store.postgres.schema import migrate

        dsn, schema, role = arguments[1:]
        _say(" ".join(migrate(dsn, schema, app_role=role)))
    else:
        asyncio.run(main(*arguments))
