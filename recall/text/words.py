"""Text to index terms: stems of words, bigrams of Han, kana and hangul, numbers and identifiers whole.

A term is stored as the CRC-32 of its spelling, so that the index needs no vocabulary. Among 200,000 terms about five
pairs share a number, which adds a little noise to the ranking.
"""

import re
import threading
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from functools import cache, lru_cache
from pathlib import Path
from zlib import crc32

import Stemmer

from gateway_memory.ground.emoji import SIGN, SIGNS, plain_sign
from recall.tables import table

_TABLE = table("words")
IRREGULAR_FORMS = {form: word for (word,), forms in _TABLE.rows("irregular forms") for form in forms}
_STOP_WORDS = _TABLE.sets("stop words")
ENGLISH_STOP_WORDS, HAN_STOP_BIGRAMS = _STOP_WORDS["English"], _STOP_WORDS["Chinese"]

_CJK = (
    "\u3005\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u1100-\u11ff\uac00-\ud7af"
    "\U00020000-\U0003134f"
)
_RUN = re.compile(
    rf"(?P<cjk>[{_CJK}]+)"
    rf"|(?P<sign>{SIGN})"
    # A word with its joints: user_id, v1.2.3, well-being, don't, c++, c#, 10:30, src/main.py
    rf"|(?P<word>[^\W_{_CJK}]+(?:[._'’/@:+#,\-]{{1,2}}[^\W_{_CJK}]+)*(?:\+\+|\#)?)"
)
_JOINT = re.compile(r"[._'’/@:+#,\-]+")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
# Lone surrogates (Cs), control characters (Cc), bidi and zero-width marks (Cf).
_UNREADABLE = re.compile(
    r"[\ud800-\udfff\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u200c\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff]"
    rf"|\u200d(?![{SIGNS}])"  # between signs it joins them
)
_LONGEST_TOKEN = 64
_SHORTEST_YEAR = 3  # digits

_stemmers = threading.local()


def clean_text(text: str, longest: int) -> str:
    """Return at most `longest` characters of a text, without lone surrogates, control and direction characters.

    Of a longer text the beginning and the end are kept: there, a long message says what it wants.
    """
    if len(text) > longest:
        head = longest * 2 // 3
        text = f"{text[:head]} {text[len(text) - (longest - head - 1) :]}"
    return _UNREADABLE.sub(" ", text)


@lru_cache(maxsize=65536)
def _stem(word: str) -> str:
    # A Stemmer is not safe to share between threads; one each.
    stemmer = getattr(_stemmers, "english", None)
    if stemmer is None:
        stemmer = _stemmers.english = Stemmer.Stemmer("english")
    return str(stemmer.stemWord(IRREGULAR_FORMS.get(word, word)))


def _word_tokens(word: str) -> Iterator[str]:
    word = _THOUSANDS.sub("", word)
    parts = [part for part in _JOINT.split(word) if part]
    whole = len(parts) > 1 or not word.isalnum()
    apostrophe = "'" in word or "’" in word
    if whole and not apostrophe and (word[-1] in "+#" or re.search(r"[\d_./@:]", word)):
        yield word[:_LONGEST_TOKEN]
        # 2023-05-07 also says 2023; the 05 and the 07 on their own say nothing.
        parts = [part for part in parts if not part.isdigit() or len(part) >= _SHORTEST_YEAR]
        if len(parts) == 1 and parts[0] == word:
            return
    for part in parts:
        if part in ENGLISH_STOP_WORDS or (apostrophe and len(part) == 1):
            continue
        yield _stem(part) if part.isascii() and part.isalpha() else part[:_LONGEST_TOKEN]


def tokens_of(text: str) -> list[str]:
    """Return the index terms of a cleaned text as strings, in order and with repeats."""
    tokens: list[str] = []
    for match in _RUN.finditer(unicodedata.normalize("NFKC", text).casefold()):
        run = match["cjk"]
        if match["sign"]:
            tokens.append(plain_sign(match["sign"]))
        elif run is None:
            tokens.extend(_word_tokens(match["word"]))
        elif len(run) == 1:
            tokens.append(run)
        else:
            pairs = (run[i : i + 2] for i in range(len(run) - 1))
            tokens.extend(pair for pair in pairs if pair not in HAN_STOP_BIGRAMS)
    return tokens


def single_terms(text: str) -> list[int]:
    """Return the terms of the single Han, kana and hangul characters of a text, each once.

    They are indexed beside the bigrams, so that a query of one character ("猫") finds the words with it.
    """
    characters = set(re.findall(f"[{_CJK}]", unicodedata.normalize("NFKC", text).casefold()))
    return [crc32(character.encode()) for character in sorted(characters)]


def terms_of(tokens: Iterable[str]) -> list[int]:
    """Return tokens as 32-bit numbers, in order and with repeats."""
    return [crc32(token.encode()) for token in tokens]


def overlap(one: Iterable[int], other: Iterable[int]) -> float:
    """Return the Jaccard similarity of two sets of terms, 0 to 1."""
    left, right = set(one), set(other)
    return len(left & right) / len(left | right) if left or right else 0.0


def text_overlap(one: str, other: str) -> float:
    """Return the Jaccard similarity of the words of two texts, 0 to 1."""
    return overlap(term_set(one), term_set(other))


@lru_cache(maxsize=512)  # a text is compared with several others
def term_set(text: str) -> frozenset[int]:
    """Return the terms of a text, each once."""
    return frozenset(terms_of(tokens_of(text)))


# Everyday words that may stand for each other in a question and its answer: sofa and couch, 工资 and 薪水. The encoder
# hardly sees what a kind and its members have in common, and a question rarely uses the word of the answer.
_GROUPS = Path(__file__).parents[1] / "tables" / "alike.txt"
"""A group a line, Chinese among the English. A kind stands beside its usual members."""


def alike(terms: Iterable[int]) -> Iterator[int]:
    """Yield the terms of words that may stand for those of a message."""
    others = _alike_terms()
    for term in terms:
        yield from others.get(term, ())


@cache
def _alike_terms() -> Mapping[int, tuple[int, ...]]:
    """Return the terms of the other words of each word's groups, by the word's first term."""
    alike_to: dict[int, dict[int, None]] = {}
    for line in _GROUPS.read_text("utf-8").splitlines():
        words = [terms for word in line.split() if (terms := tuple(terms_of(tokens_of(word))))]
        for word in words:
            others = (other for each in words if each != word for other in each)
            alike_to.setdefault(word[0], {}).update(dict.fromkeys(others))
    return {term: tuple(others) for term, others in alike_to.items()}
