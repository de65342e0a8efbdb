"""The bundled encoder: any text has a vector, the same whatever came before and beside it."""

from importlib.metadata import EntryPoint

import numpy as np
import pytest

from recall.encoding.encoder import BundledEncoder, bundled_encoder, installed_encoder
from recall.settings import EmbedderSettings

TEXTS = [
    "",
    " \n",
    "a",
    "猫",
    "🙂",
    "Which pier does the boat leave from?",
    "上周五我们在哪家店吃的火锅，还记得吗？",
    "deploy 到 staging 之前先跑 pytest -q，v1.2.3",
    "ﬁ ① Ａ\u200b e\u0301",
    "х" * 120,
    "Мы переехали в новый дом, и собака теперь спит у двери. " * 10,
    "我们下个月要搬到新的办公室去" * 8,
    "word " * 23,
]


@pytest.fixture
def encoder() -> BundledEncoder:
    return bundled_encoder()


def test_every_text_has_a_vector_of_length_one(encoder: BundledEncoder) -> None:
    vectors = encoder.encode(TEXTS)
    assert vectors.shape == (len(TEXTS), encoder.dimension)
    assert vectors.dtype == np.float32
    assert np.abs(np.linalg.norm(vectors, axis=1) - 1).max() < 1e-5


def test_a_text_has_the_same_vector_alone_and_among_others(encoder: BundledEncoder) -> None:
    together = encoder.encode(TEXTS)
    alone = np.array([encoder.encode([text])[0] for text in TEXTS])
    assert np.abs(alone - together).max() < 1e-5


def test_the_same_text_has_the_same_vector_whatever_came_before(encoder: BundledEncoder) -> None:
    first = [encoder.encode([text])[0] for text in TEXTS]
    again = [encoder.encode([text])[0] for text in reversed(TEXTS)][::-1]
    assert np.array_equal(first, again)


def test_memories_of_one_process_share_it(encoder: BundledEncoder) -> None:
    assert bundled_encoder() is encoder


def test_of_two_packages_that_bring_one_encoder_none_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    both = [EntryPoint("letters", f"{package}:make", "gateway_memory.encoders") for package in ("one", "two")]
    monkeypatch.setattr("gateway_memory.ground.brought.brought", lambda _: {"bundled": both})
    with pytest.raises(LookupError, match="the encoder 'bundled': one:make, two:make"):
        installed_encoder(EmbedderSettings())
