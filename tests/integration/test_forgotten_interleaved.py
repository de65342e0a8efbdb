"""Whatever is said, forgotten, undone, imported, reviewed and linked in whatever order: nothing forgotten appears.

Two people each have words of their own for each fact. A model of what may be told goes along (`Known`), which knows
nothing of how the memory works; after some steps and at the end everything that can be read is read.
"""

import asyncio
import re
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Final

import pytest
from surfaces import calls_of, files_of, served_of
from thorough import THOROUGH, examples

from gateway_memory import Config, Facts, GatewayMemory, Session
from gateway_memory.config.identity import IdentitySettings
from gateway_memory.store.disk.workspace import INDEX_FILE
from gateway_memory.transfer.exporter import to_line
from gateway_memory.transfer.layouts import read_layout
from recall import EmbedderSettings, RecallSettings

pytestmark = pytest.mark.over_postgres

FACTS: Final = (
    (
        "quagga",
        "My locker has the sign of a quagga.",
        ("The sign of my locker has a quagga", "user's locker: sign of a quagga", "The locker has the quagga's sign!"),
    ),
    (
        "Zebedee",
        "My parrot answers to Zebedee.",
        ("Zebedee is what my parrot answers to", "the parrot answers to Zebedee", "To Zebedee my parrot answers."),
    ),
    (
        "袋食蚁兽",
        "我的储物柜贴着袋食蚁兽的贴纸。",
        ("储物柜贴着袋食蚁兽的贴纸", "用户的储物柜贴着袋食蚁兽的贴纸", "袋食蚁兽的贴纸贴着我的储物柜。"),
    ),
    (
        "wombat",
        "I bought a wombat calendar for the kitchen.",
        (
            "A wombat calendar for the kitchen was bought",
            "bought: a wombat calendar, kitchen",
            "I bought the kitchen a wombat calendar",
        ),
    ),
)
WHO: Final = ("telegram:1", "discord:2")
STEPS: Final = (
    *("say", "say", "say", "paraphrase", "paraphrase", "note", "tell", "end"),
    *("forget memory", "forget exchange", "forget exchange", "forget session", "forget last session", "forget word"),
    *("undo", "undo", "import", "import twin", "import talk", "restart", "rebuild", "review", "link", "unlink"),
)
CONFIG: Final = Config(
    defaults=replace(
        Config().defaults,
        identity=IdentitySettings(owner=("telegram:owner",)),
        auto_recall=RecallSettings(embedder=EmbedderSettings(provider="none")),
    )
)
_ID: Final = re.compile(r"^- (\w+) · ", re.MULTILINE)


@dataclass
class Known:
    """What a person's memory may tell. said: when each word was said last. gone: what holds it back, by word.

    A forgetting is named by the id that takes it back. gone: of each word, the forgettings that stand, with their step.
    """

    said: dict[str, int] = field(default_factory=dict)
    gone: dict[str, dict[str, int]] = field(default_factory=dict)

    @property
    def hidden(self) -> set[str]:
        return {word for word, by in self.gone.items() if by}

    def say(self, word: str, step: int) -> None:
        self.said[word] = step
        self.gone[word] = {}

    def forget(self, word: str, identity: str, step: int) -> None:
        self.gone.setdefault(word, {})[f"{identity}#{step}"] = step

    def join(self, other: "Known") -> "Known":
        """Return what the memory of both may tell: what one has forgotten after the other had said it is forgotten."""
        both = Known(said={**self.said})
        for word, step in other.said.items():
            both.said[word] = max(step, both.said.get(word, 0))
        for word in {*self.gone, *other.gone}:
            by = {**self.gone.get(word, {}), **other.gone.get(word, {})}
            both.gone[word] = {identity: step for identity, step in by.items() if step >= both.said.get(word, 0)}
        return both

    def and_of(self, other: "Known") -> "Known":
        """Return this one, with what the other has forgotten after it was said here."""
        gone = {word: {**by} for word, by in self.gone.items()}
        for word, by in other.gone.items():
            if word in self.said:
                after = {identity: step for identity, step in by.items() if step >= self.said[word]}
                gone[word] = {**gone.get(word, {}), **after}
        return Known(said={**self.said}, gone=gone)


@dataclass
class Life:
    """A memory under test, and the model of it. words: what each person's open session has said, by person."""

    root: Path
    memory: GatewayMemory
    numbers: Random
    known: dict[str, Known] = field(default_factory=lambda: {who: Known() for who in WHO})
    words: dict[str, set[str]] = field(default_factory=lambda: {who: set() for who in WHO})
    noted: dict[str, set[str]] = field(default_factory=lambda: {who: set() for who in WHO})
    earlier: dict[str, tuple[str, set[str], set[str]]] = field(default_factory=dict)
    exported: list[str] = field(default_factory=list)
    linked: int = 0
    """The step at which both were linked; 0: they are not."""
    apart: Known = field(default_factory=Known)
    """What the second one knew then."""
    step: int = 0
    log: list[str] = field(default_factory=list)

    async def session(self, who: str, key: str = "") -> Session:
        channel, _, sender = who.partition(":")
        key = key or f"agent:main:{channel}:direct:{sender}"  # linked people with one key would have one session
        return await self.memory.session_of(Facts(key=key, channel=channel, chat_type="direct", sender_id=sender))

    async def tell(self, who: str, text: str, reply: str) -> None:
        session = await self.session(who)
        await self.memory.before_reply(session, text)
        await self.memory.after_reply(session, user=text, reply=reply)
        await self.memory.flush()

    def of(self, who: str) -> list[Known]:
        """The models that a change of somebody's memory concerns: linked people have one memory."""
        return list(
            {id(known): known for known in (self.known.values() if self.linked else [self.known[who]])}.values()
        )

    def say(self, who: str, word: str) -> None:
        for known in self.of(who):
            known.say(word, self.step)
        self.words[who].add(word)

    def forget(self, who: str, words: Iterable[str], identity: str) -> None:
        for known in self.of(who):
            for word in words:
                known.forget(word, identity, self.step)

    async def command(self, who: str, text: str) -> str:
        answer = str(await self.memory.command(await self.session(who), text))
        self.log.append(f"  {who}: {text} -> {answer}")
        return answer


async def take(life: Life, name: str) -> None:
    """Take one step, and keep the model with it."""
    numbers, memory = life.numbers, life.memory
    who = numbers.choice(WHO)
    word, fact, others = numbers.choice(FACTS)
    life.step += 1
    life.log.append(f"{life.step}. {name} ({who}, {word})")
    if name in _SAYING:
        await _say(life, name, who, word, fact, others)
    elif name.startswith("forget"):
        await _forget(life, name, who, word)
    elif name == "undo":
        await _undo(life, who)
    elif name.startswith("import"):
        await _import(life, name, who, fact, others)
    elif name in ("restart", "rebuild"):
        await memory.__aexit__(None, None, None)
        if name == "rebuild":
            (life.root / INDEX_FILE).unlink(missing_ok=True)
        life.memory = await GatewayMemory(CONFIG, life.root).__aenter__()
    elif name == "review":
        session = await life.session(who)
        waiting = (await memory.record(session, "review"))["reviews"]
        for row in waiting[:2]:
            await life.command(who, f"/memory {numbers.choice(('approve', 'reject'))} {row['id']}")
    else:
        await _link(life, name)


_SAYING: Final = frozenset({"say", "paraphrase", "note", "tell", "end"})


async def _say(life: Life, name: str, who: str, word: str, fact: str, others: Sequence[str]) -> None:
    memory, numbers = life.memory, life.numbers
    lead = numbers.choice(("Remember that ", "")) if "我" not in fact else numbers.choice(("记住：", ""))
    text = fact if name == "say" else numbers.choice(others)
    session = await life.session(who)
    if name == "note":
        if word in life.known[who].hidden:  # a host that repeats it is no talk of the user's
            return
        await memory.observe(session, kind="decision", content=f"Noted: {text}")
        await memory.observe(session, kind="tool", content=f'{{"note": "{text}"}}', tool="notes")
        life.noted[who].add(word)
    elif name == "end":
        told = [each for each in sorted(life.words[who]) if each not in life.known[who].hidden]
        facts = [fact for word, fact, _ in FACTS if word in told]
        if facts:
            summary = "\n".join(f"- {each}" for each in [*facts, "The database is PostgreSQL."])
            await memory.save_summary(session, topic=facts[0], summary=summary, todos=facts)
        life.earlier[who] = session.session_id, {*life.words[who]}, {*life.noted[who]}
        await memory.end_session(session, reason="completed")
        life.words[who], life.noted[who] = set(), set()
    else:
        life.say(who, word)
        said = f"{lead}{text[0].lower() + text[1:] if lead.endswith(' ') else text}"
        await life.tell(who, said, numbers.choice(("OK.", f"OK, {word} it is.", f"Noted: {text}")))


async def _forget(life: Life, name: str, who: str, word: str) -> None:
    memory, session = life.memory, await life.session(who)
    if name in ("forget session", "forget last session"):
        which, words, noted = "", life.words[who], life.noted[who]
        if name == "forget last session":
            which, words, noted = life.earlier.get(who, ("nosuch", set(), set()))
        # Of what others have said, too, the session's notes alone are forgotten.
        words = words | {word for word in noted if not any(word in known.said for known in life.known.values())}
        identity = which or session.session_id
        answer = await life.command(who, f"/memory forget session {which}".rstrip())
        if answer.startswith(("Forgotten", "已忘掉")):
            life.forget(who, words, identity)
        return
    if name == "forget word":
        await _forget_word(life, who, word)
        return
    kind = "memory" if name == "forget memory" else "episode"
    hits = [hit for hit in await memory.search(session, word, limit=20, kinds=[kind]) if word in hit.text]
    if hits:
        hit = life.numbers.choice(hits)
        answer = await life.command(who, f"/memory forget {hit.id}")
        assert answer.startswith(("Forgotten", "已忘掉")), answer
        life.forget(
            who, [word for word, *_ in FACTS if word in hit.text], hit.id if kind == "memory" else f"e{hit.turn}"
        )


async def _forget_word(life: Life, who: str, word: str) -> None:
    """Forget a word, and whatever the answer asks for."""
    for _ in range(8):
        answer = await life.command(who, f"/memory forget {word}")
        if answer.startswith(("Forgotten", "已忘掉")):
            life.forget(who, [word], "words")
        ids = _ID.findall(answer) or re.findall(r"forget (\w+)[^\n]*(?:forgets it|会忘掉它)", answer)
        for identity in ids:
            if (await life.command(who, f"/memory forget {identity}")).startswith(("Forgotten", "已忘掉")):
                life.forget(who, [word], "words")
        if not ids:
            return


async def _undo(life: Life, who: str) -> None:
    """Take a forgetting back by its id; what was forgotten otherwise too stays forgotten."""
    known = life.known[who]
    handles = sorted({identity for by in known.gone.values() for identity in by if not identity.startswith("words")})
    if not handles:
        return
    identity = life.numbers.choice(handles).partition("#")[0]
    newest = max(
        (each for each in handles if each.startswith(f"{identity}#")), key=lambda each: int(each.split("#")[1])
    )
    answer = await life.command(who, f"/memory undo {identity}")
    if answer.startswith(("Undone", "已撤销")):
        for each in life.known.values() if life.linked else [known]:
            for by in each.gone.values():
                by.pop(newest, None)


async def _import(life: Life, name: str, who: str, fact: str, others: Sequence[str]) -> None:
    memory, session = life.memory, await life.session(who)
    path = life.root.parent / "import.jsonl"
    if name == "import":
        if life.exported:
            path.write_text("".join(life.exported), "utf-8")
            items = list(read_layout("jsonl", path))
            await memory.importer.run(items, scope=session.scope)
        life.exported = [to_line(row) async for row in memory.exporter.rows() if row["scope"] == session.scope.key]
        return
    word = next(word for word, each, _ in FACTS if each == fact)
    if word not in life.known[who].said:
        return  # it would be new, and say it
    text = fact.rstrip(".。") if life.numbers.random() < 0.5 else f"{fact.rstrip('.。')}!"  # a twin
    row = {"kind": "memory", "text": text, "at": "2026-01-05T10:00:00+00:00"}
    if name == "import talk":
        row = {"kind": "episode", "user": text, "reply": "OK", "at": "2026-01-05T10:00:00+00:00", "session": "old"}
        row |= {"session_id": "old-1", "unread": "rules"}
    path.write_text(to_line({**row, "scope": session.scope.key}), "utf-8")
    await memory.importer.run(list(read_layout("jsonl", path)), scope=session.scope)
    await memory.backlog.read(scope=session.scope)


async def _link(life: Life, name: str) -> None:
    one, two = WHO
    if name == "link" and not life.linked:
        answer = await life.command(one, "/memory link")
        code = re.search(r"/memory (?:link|关联) (\S+)", answer)
        assert code, answer
        await life.command(two, f"/memory link {code[1]}")
        life.apart = life.known[two].and_of(life.known[one])
        life.known = dict.fromkeys(WHO, life.known[one].join(life.known[two]))
        life.linked = life.step
        life.words[two], life.noted[two] = set(), set()  # the session under the other scope has ended
        life.earlier.pop(two, None)
    elif name == "unlink" and life.linked:
        await life.command(two, "/memory unlink")
        both = life.known[one]
        # Who leaves takes along what was forgotten meanwhile, and not what the other had forgotten before.
        own = {word: life.apart.gone.get(word, {}) for word in both.gone}
        gone = {
            word: {identity: step for identity, step in by.items() if step > life.linked or identity in own[word]}
            for word, by in both.gone.items()
        }
        life.known = {one: both, two: Known(said={**both.said}, gone=gone)}
        life.linked = 0
        life.words, life.noted = {who: set() for who in WHO}, {who: set() for who in WHO}
        life.earlier = {}


async def check(life: Life, *, served: bool) -> None:
    """Read everything of both people, and look for what each has forgotten."""
    questions = [*(word for word, *_ in FACTS), "what sign does my locker have?", "what did we talk about today?"]
    for who in WHO:
        known = life.known[who]
        session = await life.session(who)
        ids = [
            identity.partition("#")[0]
            for by in known.gone.values()
            for identity in by
            if not identity.startswith("words")
        ]

        async def start(key: str, who: str = who) -> Session:
            return await life.session(who, f"agent:main:{key} {life.step}")

        texts = {"open session": session.opening}
        texts |= await calls_of(life.memory, start, questions, ids)
        texts |= files_of(life.root, session.scope.folder)
        if served:
            channel, _, sender = who.partition(":")
            speaker = {"key": "agent:main:served", "channel": channel, "chat_type": "direct", "sender_id": sender}
            texts |= await served_of(life.memory, life.root, session.scope, speaker, questions)
        for word in known.hidden:
            for call, text in texts.items():
                place = text.find(word)
                assert place < 0, f"{who}: {word} in {call}: …{text[max(0, place - 80) : place + 80]}…\n" + "\n".join(
                    life.log
                )


async def live(seed: int) -> None:
    numbers = Random(seed)  # noqa: S311 - no secrets
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "workspace"
        life = Life(root=root, memory=await GatewayMemory(CONFIG, root).__aenter__(), numbers=numbers)
        try:
            for _ in range(3):
                await take(life, "say")
            for number in range(numbers.randint(8, 16)):
                await take(life, numbers.choice(STEPS))
                if number % 4 == 3:
                    await check(life, served=False)
            await check(life, served=True)
        finally:
            await life.memory.__aexit__(None, None, None)


SAMPLE: Final = examples(12, 200)


@pytest.mark.parametrize("seed", range(SAMPLE))
def test_nothing_forgotten_appears(seed: int) -> None:
    asyncio.run(live(seed))


@pytest.mark.files  # over PostgreSQL the sample above takes long enough
@pytest.mark.slow
@pytest.mark.skipif(THOROUGH, reason="they run above")
@pytest.mark.parametrize("seed", range(SAMPLE, 80))
def test_nothing_forgotten_appears_in_more_lives(seed: int) -> None:
    asyncio.run(live(seed))
