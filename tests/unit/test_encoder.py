"""The bundled encoder leaves nothing of its tables behind when it leaves."""

import gc
import threading

from recall.encoder import BundledEncoder


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
