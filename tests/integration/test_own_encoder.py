"""An encoder of the host's own finds by meaning what the words of a question don't name."""

import sys
import threading
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from gateway_memory import OWNER, ConfigError, GatewayMemory, load_config
from recall import EmbedderSettings, GivenEncoder

ABOUT = {"car": ("car", "vehicle", "automobile", "engine"), "pet": ("cat", "dog", "pet", "vet")}


class ByTopic:
    """Two dimensions for topics, and some for everything else, by letters."""

    name = "by-topic/1"
    closed = False

    def __init__(self) -> None:
        self.made_in = threading.current_thread()

    def encode(self, texts: Sequence[str]) -> list[list[float]]:
        return [
            [*(3.0 * any(word in text.lower() for word in words) for words in ABOUT.values()), *_letters(text)]
            for text in texts
        ]

    def close(self) -> None:
        self.closed = True


def _letters(text: str) -> list[float]:
    return [text.lower().count(letter) / (1 + len(text)) for letter in "abcdefgh"]


async def test_a_hosts_encoder_takes_the_place_of_the_configured_one(tmp_path: Path) -> None:
    made: list[ByTopic] = []

    def make() -> ByTopic:
        made.append(ByTopic())
        return made[-1]

    for _ in range(2):  # and once more with the vectors that are there
        async with GatewayMemory(load_config(), tmp_path, encoder=make) as memory:
            session = await memory.start_session("agent:main:main", user=OWNER)
            await memory.after_reply(session, user="Remember that my automobile is green.", reply="OK.", turn_id="1")
            await memory.flush()
            (hit, *_) = await memory.search(session, "which colour has the vehicle?")
            assert hit.text == "my automobile is green"
            assert memory.settings.auto_recall.embedder.provider == "bundled"
    assert len(made) == 2
    assert all(each.closed for each in made)
    assert all(each.made_in is not threading.main_thread() for each in made)


def test_vectors_are_measured_and_made_unit() -> None:
    given = GivenEncoder(ByTopic())
    assert given.dimension == 10
    vectors = given.encode(["my cat", "my car"])
    assert np.linalg.norm(vectors, axis=1) == pytest.approx([1, 1])
    assert given.name == "by-topic/1"


@pytest.mark.parametrize("returned", [[[1.0]], [1.0, 2.0], [], [[[1.0]], [[2.0]]]])
def test_a_wrong_shape_is_told(returned: list[object]) -> None:
    class Broken:
        name = "broken"

        def encode(self, texts: Sequence[str]) -> list[object]:
            return returned

    with pytest.raises(ValueError, match=r"broken: encode returned the shape .* for 2 texts|broken.*texts"):
        GivenEncoder(Broken()).encode(["one", "two"])


async def test_another_package_brings_an_encoder_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site = tmp_path / "site"
    (site / "topics-1.0.dist-info").mkdir(parents=True)
    (site / "topics-1.0.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: topics\nVersion: 1.0\n")
    (site / "topics-1.0.dist-info" / "entry_points.txt").write_text(
        f"[gateway_memory.encoders]\ntopics = {__name__}:by_topic\n"
    )
    monkeypatch.syspath_prepend(site)
    monkeypatch.setitem(sys.modules, __name__, sys.modules[by_topic.__module__])
    embedder = {"provider": "topics", "dimensions": 10}
    config = load_config({"agents": {"defaults": {"memorySync": {"autoRecall": {"embedder": embedder}}}}})
    async with GatewayMemory(config, tmp_path / "memory") as memory:
        session = await memory.start_session("agent:main:main", user=OWNER)
        await memory.after_reply(session, user="Remember that my automobile is green.", reply="OK.")
        await memory.flush()
        (hit,) = await memory.search(session, "which vehicle?", kinds=["memory"], limit=1)
        assert "automobile" in hit.text
    with pytest.raises(ConfigError, match="name of an encoder that an installed package brings"):
        load_config({"agents": {"defaults": {"memorySync": {"autoRecall": {"embedder": {"provider": "topicz"}}}}}})


def by_topic(settings: EmbedderSettings) -> ByTopic:
    assert settings.dimensions == 10
    return ByTopic()
