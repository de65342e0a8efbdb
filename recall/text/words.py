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

from recall.types import Entry

# English forms that no stemmer brings together: went and go, children and child.
#
# Every form of a group is indexed as the first one.

_TABLE = """
bear bore born; beat beaten; become became; begin began begun; bend bent; bite bit bitten; blow blew blown;
break broke broken; bring brought; build built; buy bought; catch caught; child children; choose chose chosen;
come came; deal dealt; dig dug; do did done; draw drew drawn; dream dreamt; drink drank drunk; drive drove driven;
eat ate eaten; fall fell fallen; feed fed; feel felt; fight fought; find found; fly flew flown; foot feet;
forget forgot forgotten; forgive forgave forgiven; freeze froze frozen; get got gotten; give gave given;
go went gone going; grow grew grown; hang hung; have had; hear heard; hide hid hidden; hold held; keep kept;
knife knives; know knew known; lay laid; lead led; learn learnt; leave left; lend lent;
light lit; lose lost; make made; man men; mean meant; meet met; mouse mice; pay paid; person people;
ride rode ridden; rise rose risen; run ran; say said; see saw seen; seek sought; sell sold; send sent;
shake shook shaken; shelf shelves; shine shone; shoot shot; sing sang sung; sink sank; sit sat; sleep slept;
speak spoke spoken; spend spent; stand stood; steal stole stolen; stick stuck; sweep swept; swim swam swum;
swing swung; take took taken; teach taught; tear tore torn; tell told; think thought; throw threw thrown;
tooth teeth; understand understood; wake woke woken; wear wore worn; wife wives; win won; woman women;
write wrote written
"""

IRREGULAR_FORMS = {form: forms[0] for line in _TABLE.split(";") if (forms := line.split()) for form in forms[1:]}


# Words that carry no topic, left out of the index and of queries. Plain lists, meant to be read and edited.

# The usual function words, with the contractions' halves that the tokeniser leaves behind ("don't" -> don, t).
ENGLISH_STOP_WORDS = frozenset(
    """
    a about above after again against ain all also am an and any are aren as at be because been before being below
    between both but by can cannot could couldn d did didn do does doesn doing don down during each few for from further
    had hadn has hasn have haven having he her here hers herself him himself his how i if in into is isn it its itself
    just let ll m ma me might mightn more most must mustn my myself need needn no nor not now o of off on once only or
    other our ours ourselves out over own please re s same shan she should shouldn so some such t than that the their
    theirs them themselves then there these they this those through to too under until up us ve very was wasn we were
    weren what when where which while who whom whose why will with won would wouldn y yes yeah ok okay hi hello hey
    thanks thank you your yours yourself yourselves
    """.split()
)

# Bigrams of questions, pronouns and politeness; with some thousand memories in a scope, their idf is still too high.
HAN_STOP_BIGRAMS = frozenset(
    """
    我的 你的 他的 她的 我们 你们 他们 她们 我在 我是 你是 是我 我有 我会 我想 你能 能不 不能 可以 以吗 什么 么的 的是 是什
    怎么 么样 这个 那个 一个 一下 个什 哪些 些什 有什 没有 有没 是不 不是 是否 的吗 了吗 吗我 呢我 给我 帮我 请问 请帮 告诉
    诉我 知道 道我 道吗 还有 就是 因为 所以 但是 如果 或者 以及 而且 然后 这样 那样 这些 那些 的时 时候 的人 觉得 得我 和你
    和我 跟我 跟你 对我 对你 谢谢 你好 您好 好的 的呢 了什 过什 么时 为什 么我 过的
    """.split()
)


_CJK = (
    "\u3005\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u1100-\u11ff\uac00-\ud7af"
    "\U00020000-\U0003134f"
)
_RUN = re.compile(
    rf"(?P<cjk>[{_CJK}]+)"
    # A word with its joints: user_id, v1.2.3, well-being, don't, c++, c#, 10:30, src/main.py
    rf"|(?P<word>[^\W_{_CJK}]+(?:[._'’/@:+#,\-]{{1,2}}[^\W_{_CJK}]+)*(?:\+\+|\#)?)"
)
_JOINT = re.compile(r"[._'’/@:+#,\-]+")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
# Lone surrogates (Cs), control characters (Cc), bidi and zero-width marks (Cf).
_UNREADABLE = re.compile(r"[\ud800-\udfff\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]")
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
        if run is None:
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


# The texts of an entry that are indexed and encoded.

LONGEST_EMBEDDED = 600


LONGEST_ROW = 4000


def indexed_text(entry: Entry) -> str:
    """Return the text from which an entry's terms are taken."""
    parts = (entry.speaker, entry.heading, entry.text, entry.reply)
    return clean_text("\n".join(part for part in parts if part), LONGEST_ROW)


def embedded_text(entry: Entry) -> str:
    """Return the text that is encoded. It names the speaker: a bare "thanks" is near to every other one."""
    said = ": ".join(part for part in (entry.speaker, entry.heading, entry.text) if part)
    return clean_text("\n".join(part for part in (said, entry.reply) if part), LONGEST_EMBEDDED)


# Everyday words that may stand for each other in a question and its answer: sofa and couch, 工资 and 薪水. The encoder
# hardly sees what a kind and its members have in common, and a question rarely uses the word of the answer.

_GROUPS = Path(__file__).with_name("alike.txt")
"""A group a line, Chinese among the English. A kind stands beside its usual members."""


def alike(terms: Iterable[int]) -> Iterator[int]:
    """Yield the terms of words that may stand for those of a message."""
    table = _table()
    for term in terms:
        yield from table.get(term, ())


@cache
def _table() -> Mapping[int, tuple[int, ...]]:
    """Return the terms of the other words of each word's groups, by the word's first term."""
    table: dict[int, dict[int, None]] = {}
    for line in _GROUPS.read_text("utf-8").splitlines():
        words = [terms for word in line.split() if (terms := tuple(terms_of(tokens_of(word))))]
        for word in words:
            others = (other for each in words if each != word for other in each)
            table.setdefault(word[0], {}).update(dict.fromkeys(others))
    return {term: tuple(others) for term, others in table.items()}
