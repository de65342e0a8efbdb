"""The bundled encoder: its vectors are the package's, and it leaves nothing of its tables behind when it leaves."""

import gc
import threading

import numpy as np
import pytest
from numpy.typing import NDArray

from recall.encoding import encoder as encoder_module
from recall.encoding import network as network_module
from recall.encoding.encoder import BundledEncoder, bundled_encoder
from recall.encoding.network import Network, quickest


@pytest.fixture
def encoder() -> BundledEncoder:
    return bundled_encoder()


def test_its_tables_are_emptied_with_it() -> None:
    encoder = BundledEncoder()
    vector = encoder.encode(["billing cache"])[0]
    large = encoder._large()
    sizes = [len(each) for each in large]
    assert max(sizes) > 100_000, "the vocabulary is among them"
    del encoder
    gc.collect()
    (leaving,) = [thread for thread in threading.enumerate() if thread.name == "recall-encoder-leaves"]
    leaving.join(30)
    assert [len(each) for each in large] == [0] * len(sizes)
    assert abs(float(vector @ vector) - 1) < 1e-5, "what it gave is its caller's"


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


def test_one_text_has_the_vector_that_the_package_makes_of_it(encoder: BundledEncoder) -> None:
    assert encoder._networks is not None, "the package is as we know it"
    assert max(map(len, TEXTS)) > encoder_module._SHORT
    together = encoder.encode(TEXTS)
    alone = np.array([encoder.encode([text])[0] for text in TEXTS])
    assert np.abs(alone - together).max() < 1e-5
    assert not np.array_equal(alone, together), "they are made in two ways"
    for packed in (True, False):
        network = Network(encoder._model._model, packed=packed)
        ours = np.array([network.vector(text if text.strip() else ".") for text in TEXTS])
        assert np.abs(ours - together).max() < 1e-5


@pytest.mark.parametrize("kept", [1, 8, 30])
def test_few_tokens_that_are_kept_change_no_vector(
    encoder: BundledEncoder, monkeypatch: pytest.MonkeyPatch, kept: int
) -> None:
    together = encoder.encode(TEXTS)
    monkeypatch.setattr(network_module, "_KEPT_TOKENS", kept)
    network = Network(encoder._model._model, packed=False)
    for texts, expected in ((TEXTS, together), (TEXTS[::-1], together[::-1]), (TEXTS, together)):
        ours = np.array([network.vector(text if text.strip() else ".") for text in texts])
        assert np.abs(ours - expected).max() < 1e-5
        assert sorted(network._places.values()) == list(range(len(network._places)))
        assert len(network._places) <= kept


def test_a_token_whose_row_could_not_be_made_has_none(encoder: BundledEncoder, monkeypatch: pytest.MonkeyPatch) -> None:
    network = Network(encoder._model._model, packed=False)

    def fail(_: object) -> NDArray[np.float32]:
        raise MemoryError

    with monkeypatch.context() as failing:
        failing.setattr(network, "_projected", fail)
        with pytest.raises(MemoryError):
            network.vector("Which pier?")
    assert np.abs(network.vector("Which pier?") - encoder.encode(["Which pier?", "."])[0]).max() < 1e-5


def test_of_two_networks_the_quicker_is_taken(encoder: BundledEncoder) -> None:
    now = 0.0

    class Taking(Network):
        seconds = 0.0

        def vector(self, text: str) -> NDArray[np.float32]:
            nonlocal now
            now += self.seconds
            return super().vector(text)

    slow, quick = (Taking(encoder._model._model, packed=True) for _ in range(2))
    slow.seconds, quick.seconds = 0.002, 0.001
    for both in ([slow, quick], [quick, slow]):
        assert quickest(both, "Which pier?", clock=lambda: now) is quick


def test_the_same_text_has_the_same_vector_whatever_came_before(encoder: BundledEncoder) -> None:
    first = [encoder.encode([text])[0] for text in TEXTS]
    again = [encoder.encode([text])[0] for text in reversed(TEXTS)][::-1]
    assert np.array_equal(first, again)


def test_a_package_that_reckons_otherwise_goes_its_own_way(encoder: BundledEncoder) -> None:
    backend = encoder._model._model
    sample = encoder._model.encode(encoder_module._SAMPLE)
    assert encoder_module._networks(backend, sample) is not None
    assert encoder_module._networks(backend, sample[::-1]) is None
    assert encoder_module._networks(object(), sample) is None
