"""An embedding server behind the official SDK: whatever it does, words answer, and the vectors come when it can."""

import asyncio
import gzip
import logging
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import structlog
from embedding_server import EmbeddingServer, Fail, Flood, Hang, Say, Trickle, hashed, serving_embeddings
from inside import encoder_loaded, parts
from numpy.typing import NDArray
from patience import seconds

import recall.recaller
from gateway_memory import OWNER, Config, GatewayMemory, load_config
from gateway_memory.ground.policies import Breaker
from recall import EmbedderSettings, EmbeddingError, Vectors
from recall.encoding.encoder import bundled_encoder
from recall.encoding.scale import BUNDLED, SAMPLES, Scale, scale_of
from recall.encoding.server import ServerEncoder

LINES = [
    "The boat leaves from pier nine",
    "Lena is allergic to peanuts",
    "The rent is due on the first",
    "家里的猫叫小虎",
    "Prefers Python for scripts",
]
ASKED = "which pier does the boat leave from?"


@pytest.fixture
async def server() -> AsyncIterator[EmbeddingServer]:
    async with serving_embeddings(hashed(64)) as server:
        yield server


@pytest.fixture
def settings(server: EmbeddingServer, monkeypatch: pytest.MonkeyPatch) -> EmbedderSettings:
    monkeypatch.setenv("MY_EMBEDDING_KEY", "a key")
    return EmbedderSettings(
        provider="openai",
        base_url=server.url,
        model="small",
        api_key_env="MY_EMBEDDING_KEY",
        timeout_seconds=seconds(5),
        batch_size=4,
    )


@pytest.fixture(autouse=True)
def quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recall.recaller, "_SERVER_RETRY_SECONDS", 0.02)


def configured(settings: EmbedderSettings) -> Config:
    defaults = load_config().defaults
    recall = replace(defaults.auto_recall, embedder=settings)
    extraction = replace(defaults.auto_extract, model="rules")
    return Config(defaults=replace(defaults, auto_recall=recall, auto_extract=extraction))


def kept(workspace: Path, lines: Sequence[str] = LINES) -> None:
    (workspace / "MEMORY.md").write_text("".join(f"- {line}\n" for line in lines))


async def until_embedded(memory: GatewayMemory, *, encoder: str = "") -> Vectors:
    """Wait until the encoder of this process is loaded, and every row has its vector."""
    async with asyncio.timeout(seconds(60)):
        while True:
            found = await parts(memory).storage.recaller.vectors()
            if encoder_loaded(memory) and found.rows and not found.missing and encoder in found.encoder:
                return found
            await asyncio.sleep(0.01)


async def in_thread(work: Any, *args: Any) -> Any:
    """An encoder runs a loop of its own, so it is used beside this one's."""
    return await asyncio.to_thread(work, *args)


def encode_once(settings: EmbedderSettings, texts: Sequence[str], **values: Any) -> NDArray[np.float32]:
    encoder = ServerEncoder(settings, **values)
    try:
        return encoder.encode(texts)
    finally:
        encoder.close()


# The encoder alone


async def test_vectors_come_in_batches_at_length_one_and_in_order(
    server: EmbeddingServer, settings: EmbedderSettings
) -> None:
    server.always = lambda _: Say(reverse=True)
    texts = [*LINES, "", "\n"]
    found = await in_thread(encode_once, settings, texts)
    assert np.linalg.norm(found, axis=1) == pytest.approx(1)
    expected = hashed(64)([text.strip() or "." for text in texts])
    assert found == pytest.approx(expected / np.linalg.norm(expected, axis=1)[:, None], abs=1e-6)
    assert [len(asked["input"]) for asked in server.asked[1:]] == [4, 3]
    assert set(server.keys) == {"a key"}
    assert "dimensions" not in server.asked[0]


async def test_dimensions_are_asked_for_and_checked(server: EmbeddingServer, settings: EmbedderSettings) -> None:
    assert (await in_thread(encode_once, replace(settings, dimensions=64), ["x"])).shape == (1, 64)
    assert server.asked[0]["dimensions"] == 64
    with pytest.raises(EmbeddingError, match="dimension"):
        await in_thread(encode_once, replace(settings, dimensions=32), ["x"])


BROKEN: dict[str, tuple[Any, str]] = {
    "401": (Fail(status=401), "refused"),
    "404": (Fail(status=404), "refused"),
    "400": (Fail(status=400), "bad_request"),
    "429": (Fail(status=429, headers={"retry-after": "7"}), "rate_limit"),
    "500": (Fail(status=500), "overloaded"),
    "a page": (Fail(status=200, page="<html>please log in</html>"), "unreadable"),
    "cut off": (Fail(status=200, page='{"object": "list", "data": [{"object": "embedd'), "unreadable"),
    "fewer": (Say(lost=1), "unreadable"),
    "none": (Say(make=lambda texts: np.zeros((len(texts), 0))), "dimension"),
    "another dimension": (Say(make=hashed(32)), "dimension"),
    "words": (Say(make=lambda texts: np.array([["x"] * 64] * len(texts))), "unreadable"),
    "a redirect": (Fail(status=307, headers={"Location": "/v1/embeddings"}), "redirects"),
    "a redirect that asks otherwise": (Fail(status=301, headers={"Location": "/v1/embeddings"}), "redirects"),
    "a bomb": (Flood(part=gzip.compress(b" " * 100_000_000), times=1, packed="gzip"), "too_large"),
    "an error's bomb": (Flood(part=gzip.compress(b" " * 100_000_000), times=1, packed="gzip", status=500), "too_large"),
    "100 MB": (Flood(part=b" " * 65_536, times=1_600), "too_large"),
    "hanging": (Hang(), "timeout"),
    "trickling": (Trickle(), "timeout"),
}


@pytest.mark.parametrize("broken", BROKEN)
async def test_each_failure_has_its_name_and_is_tried_once(
    broken: str, server: EmbeddingServer, settings: EmbedderSettings
) -> None:
    step, kind = BROKEN[broken]
    server.script += [Say(), step]
    is_late = kind == "timeout"
    async with asyncio.timeout(8 if is_late else None):  # the default is ten seconds
        with pytest.raises(EmbeddingError) as failed:
            await in_thread(encode_once, replace(settings, timeout_seconds=0.3 if is_late else 30), ["x"])
    assert failed.value.kind == kind
    assert len(server.asked) == 2
    assert failed.value.retry_after_seconds == (7 if broken == "429" else 0)
    assert failed.value.__cause__ is None, "an SDK's error holds the request"


async def test_what_is_no_number_has_no_vector(server: EmbeddingServer, settings: EmbedderSettings) -> None:
    odd = np.ones((3, 64))
    odd[0, 5], odd[1] = np.nan, 0
    server.script += [Say(), Say(make=lambda _: odd)]
    found = await in_thread(encode_once, settings, ["a", "b", "c"])
    assert [row.any() for row in found] == [False, False, True]
    assert np.isfinite(found).all()


async def test_a_server_that_keeps_failing_is_left_alone(server: EmbeddingServer, settings: EmbedderSettings) -> None:
    now = 0.0
    breaker = Breaker(failures=3, open_seconds=30, clock=lambda: now)

    def run() -> list[str]:
        nonlocal now
        kinds = []
        encoder = ServerEncoder(settings, breaker=breaker)
        server.always = lambda _: Fail(status=500)
        for at in (0.0, 1.0, 2.0, 3.0, 33.0, 34.0):
            now = at
            try:
                encoder.encode(["x"])
            except EmbeddingError as error:
                kinds.append(error.kind)
        server.always = lambda _: Say()
        now = 70.0
        encoder.encode(["x"])
        encoder.encode(["x"])
        encoder.close()
        return kinds

    kinds = await in_thread(run)
    assert kinds == [*["overloaded"] * 3, "circuit_open", "overloaded", "circuit_open"]


async def test_without_a_key_only_a_named_server_is_asked(
    server: EmbeddingServer, settings: EmbedderSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MY_EMBEDDING_KEY")
    with pytest.raises(EmbeddingError, match="no_key"):
        await in_thread(encode_once, replace(settings, base_url=""), ["x"])
    await in_thread(encode_once, settings, ["x"])
    assert set(server.keys) == {"none"}


# The scale


def as_another_encoder(vectors: NDArray[Any]) -> NDArray[Any]:
    """The same vectors with something that all share: unrelated texts are then at .75, as with the E5 models."""
    shared = np.full((len(vectors), 1), np.sqrt(0.75))
    return np.hstack([np.sqrt(0.25) * vectors, shared])


def test_the_bundled_encoders_scale_is_what_it_measures() -> None:
    samples = bundled_encoder().encode(list(SAMPLES))
    assert scale_of(samples) == BUNDLED
    moved = scale_of(as_another_encoder(samples))
    assert moved.unrelated > 0.7
    cosines = np.array([0.76, 0.8, 0.9, 1.0], np.float32)
    assert moved.cosines(cosines)[-1] == pytest.approx(1)
    assert (np.diff(moved.cosines(cosines)) > 0).all()
    assert moved.cosines(np.array([moved.unrelated, moved.related], np.float32)) == pytest.approx(
        [BUNDLED.unrelated, BUNDLED.related], abs=1e-3
    )
    assert moved.cosines(np.array([-1], np.float32)) == -1
    assert scale_of(np.tile(samples[:1], (len(SAMPLES), 1))) == BUNDLED, "an encoder that tells nothing apart"
    assert Scale(0.2, 0.5) != BUNDLED


async def test_another_encoders_scores_mean_what_the_bundled_ones_do(
    server: EmbeddingServer, settings: EmbedderSettings, tmp_path: Path
) -> None:
    encoder = bundled_encoder()
    server.make = lambda texts: as_another_encoder(encoder.encode(list(texts)))
    questions = [
        ASKED,
        "我的猫叫什么名字？",
        "what can I cook for Lena?",
        "how do volcanoes form?",
        "thanks!",
        "写个脚本",
    ]
    found: list[list[tuple[str, float]]] = []
    for number, chosen in enumerate((EmbedderSettings(), settings)):
        workspace = tmp_path / str(number)
        workspace.mkdir()
        kept(workspace)
        async with GatewayMemory(configured(chosen), workspace) as memory:
            session = await memory.start_session("one", user=OWNER)
            await memory.flush()
            await until_embedded(memory)
            found += [
                [(hit.text, hit.score) for hit in await memory.search(session, asked) if hit.related]
                for asked in questions
            ]
    bundled, other = found[: len(questions)], found[len(questions) :]
    for asked, one, two in zip(questions, bundled, other, strict=True):
        assert [text for text, _ in one] == [text for text, _ in two], asked
        # Whether a question is of its asker is told by the bundled encoder's vectors alone.
        assert [score for _, score in one] == pytest.approx([score for _, score in two], abs=0.1), asked


# In the gateway


async def test_a_change_of_encoder_makes_all_vectors_anew_while_words_answer(
    server: EmbeddingServer, settings: EmbedderSettings, tmp_path: Path
) -> None:
    kept(tmp_path)
    async with GatewayMemory(configured(EmbedderSettings()), tmp_path) as memory:
        await memory.start_session("one", user=OWNER)
        await memory.flush()
    server.always = lambda asked: Say() if len(asked["input"]) != 4 else Hang()
    async with GatewayMemory(configured(settings), tmp_path) as memory:
        session = await memory.start_session("one", user=OWNER)
        async with asyncio.timeout(seconds(60)):
            while not (await parts(memory).storage.recaller.vectors()).encoder or len(server.asked) < 3:
                await asyncio.sleep(0.01)
        answer = await memory.command(session, "/memory status") or ""
        assert f"0 of {len(LINES)} memories" in answer
        assert "small@127.0.0.1" in answer
        (hit, *_) = await memory.search(session, ASKED, explain=True)
        assert hit.text == LINES[0]
        assert "cosine" not in hit.parts or hit.parts["cosine"] == -1, "its vector is the old encoder's"
        server.always = lambda _: Say()
        server.released.set()
        await until_embedded(memory, encoder="small@")
        (hit, *_) = await memory.search(session, f"{ASKED} now", explain=True)
        assert hit.parts["cosine"] > 0
        assert f"{len(LINES)} of {len(LINES)} memories" in (await memory.command(session, "/memory status") or "")
    asked = len(server.texts)
    async with GatewayMemory(configured(settings), tmp_path) as memory:
        await memory.start_session("one", user=OWNER)
        await until_embedded(memory)
    assert set(server.texts[asked:]) == set(SAMPLES), "the same encoder makes nothing anew"
    async with GatewayMemory(configured(replace(settings, model="large")), tmp_path) as memory:
        await memory.start_session("one", user=OWNER)
        await until_embedded(memory, encoder="large@")


@pytest.mark.parametrize("broken", ["401", "429", "500", "fewer", "another dimension", "hanging"])
async def test_words_answer_while_the_server_fails_and_vectors_come_when_it_can(
    broken: str, server: EmbeddingServer, settings: EmbedderSettings, tmp_path: Path
) -> None:
    kept(tmp_path)
    step, _ = BROKEN[broken]
    if broken == "429":
        step = Fail(status=429)
    if broken == "another dimension":  # by the one that was asked for; without one, the first answer says which
        settings = replace(settings, dimensions=64)
    server.always = lambda _: step
    hasty = replace(settings, timeout_seconds=0.2)
    async with GatewayMemory(configured(hasty), tmp_path) as memory:
        session = await memory.start_session("one", user=OWNER)
        async with asyncio.timeout(seconds(60)):
            while not (problem := parts(memory).storage.recaller.problem):
                await asyncio.sleep(0.01)
        session.compacted()
        context = await memory.before_reply(session, ASKED)
        assert context.outcome == "partial"
        assert LINES[0] in context.text
        assert f"words alone answer meanwhile: {problem}" in (await memory.command(session, "/memory status") or "")
        server.always = lambda _: Say()
        found = await until_embedded(memory)
        assert found.encoder.startswith("small@127.0.0.1")
        session.compacted()
        assert (await memory.before_reply(session, f"{ASKED} please")).outcome == "full"


async def test_a_messages_vector_is_asked_for_once(
    server: EmbeddingServer, settings: EmbedderSettings, tmp_path: Path
) -> None:
    kept(tmp_path)
    async with GatewayMemory(configured(settings), tmp_path) as memory:
        session = await memory.start_session("one", user=OWNER)
        await until_embedded(memory)
        asked = {"full": f"{ASKED} now", "partial": f"{ASKED} then"}
        server.always = lambda given: Fail(status=400) if asked["partial"] in given["input"] else Say()
        for outcome, message in asked.items():
            session.compacted()
            assert (await memory.before_reply(session, message)).outcome == outcome
            assert server.texts.count(message) == 1, outcome


async def test_a_text_that_the_server_refuses_holds_up_no_other(
    server: EmbeddingServer, settings: EmbedderSettings, tmp_path: Path
) -> None:
    kept(tmp_path)
    server.always = lambda asked: (
        Fail(status=400) if any("peanuts" in text and "Lena" in text for text in asked["input"]) else Say()
    )
    async with GatewayMemory(configured(settings), tmp_path) as memory:
        session = await memory.start_session("one", user=OWNER)
        await until_embedded(memory)
        (hit, *_) = await memory.search(session, ASKED, explain=True)
        assert hit.parts["cosine"] > 0.1
        assert (await memory.search(session, "peanuts"))[0].text == LINES[1], "that one is found by its words"


async def test_a_hanging_server_costs_a_reply_its_deadline_and_no_more(
    server: EmbeddingServer, settings: EmbedderSettings, tmp_path: Path
) -> None:
    kept(tmp_path)
    config = configured(settings)
    hasty = replace(config.defaults, auto_recall=replace(config.defaults.auto_recall, timeout_ms=round(seconds(1500))))
    async with GatewayMemory(Config(defaults=hasty), tmp_path) as memory:
        session = await memory.start_session("one", user=OWNER)
        await until_embedded(memory)
        server.always = lambda _: Hang()
        session.compacted()
        async with asyncio.timeout(seconds(60)):  # it hangs until it is released
            context = await memory.before_reply(session, ASKED)
        assert context.outcome == "partial"
        assert LINES[0] in context.text
        server.always = lambda _: Say()
        server.released.set()
        async with asyncio.timeout(seconds(60)):
            while (await memory.before_reply(session, ASKED)).outcome != "full":
                await asyncio.sleep(0.01)


async def test_two_processes_with_two_encoders_do_not_undo_each_other(
    server: EmbeddingServer, settings: EmbedderSettings, tmp_path: Path
) -> None:
    kept(tmp_path)
    async with GatewayMemory(configured(settings), tmp_path) as first:
        session = await first.start_session("one", user=OWNER)
        await until_embedded(first)
        async with GatewayMemory(configured(replace(settings, model="other")), tmp_path) as second:
            await second.start_session("two", user=OWNER)
            await until_embedded(second, encoder="other@")
            asked = len(server.asked)
            for number in range(3):
                (tmp_path / "memory").mkdir(exist_ok=True)
                (tmp_path / "memory" / "notes.md").write_text(
                    "".join(f"- Box {each} is blue\n" for each in range(number + 1))
                )
                context = await first.before_reply(session, f"{ASKED} {number}")
                assert context.outcome == "full", "its own vectors go on serving"
                assert any(hit.text == LINES[0] for hit in context.recalled)
                await first.flush()
                await second.flush()
                await until_embedded(second)
            models = [each["model"] for each in server.asked[asked:]]
            boxes = sum("Box" in text for text in server.texts)
            assert "other" in models
            assert boxes <= 2 * 3, "each new line is embedded by one of them, or by both once"
            assert not any(LINES[0] in each["input"] for each in server.asked[asked:]), "nothing is made anew"


@pytest.fixture
def logged(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "all.log"
    with path.open("w", encoding="utf-8") as stream:
        structlog.configure(
            wrapper_class=structlog.make_filtering_bound_logger(logging.DEBUG),
            logger_factory=structlog.PrintLoggerFactory(stream),
        )
        handler = logging.StreamHandler(stream)
        root = logging.getLogger()
        root.addHandler(handler)
        level = root.level
        root.setLevel(logging.DEBUG)
        yield path
        root.removeHandler(handler)
        root.setLevel(level)
        structlog.reset_defaults()


async def test_no_memory_and_no_key_stands_in_a_log(
    server: EmbeddingServer, settings: EmbedderSettings, tmp_path: Path, logged: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_EMBEDDING_KEY", "k3y-of-mine")
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    kept(workspace)
    async with GatewayMemory(configured(settings), workspace) as memory:
        session = await memory.start_session("one", user=OWNER)
        await until_embedded(memory)
        server.always = lambda _: Fail(status=500)
        await memory.before_reply(session, ASKED)
    text = logged.read_text("utf-8")
    assert "recall.encoder_loaded" in text
    assert "recall.encoder_failed" in text
    for needle in (*LINES, ASKED, "k3y-of-mine"):
        assert needle not in text


@pytest.mark.parametrize(("named", "sent"), [("", "none"), ("OPENAI_API_KEY", "sk-own")])
async def test_openais_key_goes_to_no_other_server_unless_it_is_named(
    server: EmbeddingServer, settings: EmbedderSettings, monkeypatch: pytest.MonkeyPatch, named: str, sent: str
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-own")
    await in_thread(encode_once, replace(settings, api_key_env=named), ["x"])
    assert set(server.keys) == {sent}
