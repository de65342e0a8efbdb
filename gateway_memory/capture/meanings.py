"""What texts tell by their vectors, where these are there in time."""

from collections.abc import Iterable

from extractor import Meaning, meaning_of
from recall import Recaller


async def meanings_of(recaller: Recaller, texts: Iterable[str], seconds: float) -> dict[str, Meaning]:
    """Return what texts tell, without those whose vector is not there within some seconds."""
    each = list(dict.fromkeys(texts))
    encoder, vectors = await recaller.encoded(each, seconds)
    return {
        text: meaning
        for text, vector in zip(each, vectors, strict=True)
        if vector is not None and (meaning := meaning_of(text, vector.tolist(), encoder))
    }
