"""Reads an English clause that wishes something of the assistant for good: by its form, not by its topic."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from extractor.tables import table

from .clause_en import PAST, PRESENT, PROGRESSIVE, Word, is_plural, lemmas, words_of_clause
from .reading import Reading, wish_of

_TABLE: Final = table("rules_en")
_PATTERNS: Final = _TABLE.patterns()
_ORDERS, _ORDER_WEIGHTS = _TABLE.weights("orders")
_MARKS, _WEIGHTS = _TABLE.weights("wish marks")
_WORDS: Final = _TABLE.sets("wish words")
_LASTING: Final = frozenset(
    word for word, name in _MARKS.items() if name in ("lasting", "only", "mine", "your", "rather")
)
_ALL: Final = _WORDS["of a task"]
_WISHERS: Final = tuple(tuple(f"{wish} you to".split()) for wish in _WORDS["wanted"])
_FEWEST_IN_CONDITION: Final = 3  # words
_FEWEST_BEFORE_MAIN: Final = 4  # words
_LONGEST_LABEL: Final = 24  # characters
_LONGEST: Final = 30  # words
_LONGEST_NOUN: Final = 9  # words
_LONGEST_MANNER: Final = 5  # words of "short plain sentences"
_LONGEST_CONDITIONAL_NOUN: Final = 11  # words
_PLAIN, _FORBIDS, _STOPS, _HATES, _PRAISES = 1.5, 2.0, 3.0, 4.0, 6.0  # what a form weighs
_WEAK, _SCARCELY = 1.0, 0.5
_WHENEVER, _IF, _WHERE = 2.5, 2.0, 1.0  # what a condition adds


@dataclass(frozen=True, slots=True)
class _Wish:
    """A clause cut in two: what is wished, and when. whole: both, with the condition before them."""

    main: Sequence[str]
    whole: Sequence[str]
    usual: float
    bonus: float


def read_wish(
    plain: str, start: int, end: int, *, condition: tuple[int, int] | None, reasoned: float, leads: bool
) -> Reading | None:
    """Read a clause as a standing wish, by its form: see `Language.wish`."""
    if _PATTERNS["tells"].match(plain, start) or (reasoned < 0 and not _PATTERNS["for good"].search(plain, start, end)):
        return None
    condition, start = (condition, start) if condition else _condition(plain, start, end)
    wish = _cut(plain, start, end, condition)
    if wish is None:
        return None
    form = _form(wish)
    if form is None or not (leads or condition or wish.bonus or _stands_alone(wish.main, reasoned=reasoned)):
        return None
    if _order_class(wish.main) == "task":
        reasoned = min(0.0, reasoned)  # "I live in Rome, suggest restaurants"
        if not wish.usual and not (_LASTING - _ALL) & set(_pairs(wish.whole)) and not _bounded(wish.main):
            return None  # "give me some examples"
    return wish_of(form + wish.usual + wish.bonus + reasoned + _marked(wish, reasoned=reasoned))


def _condition(plain: str, start: int, end: int) -> tuple[tuple[int, int] | None, int]:
    """Return the bounds of a condition at a clause's start, and where the rest begins: "Recipes: no dairy"."""
    colon = plain.find(": ", start, min(end, start + _LONGEST_LABEL))
    if colon > 0 and (plain[start:colon].isalpha() or plain[start : start + 4].lower() == "for "):
        return (start, colon), colon
    comma = plain.find(",", start, end)
    if comma > 0 and plain[start : start + 3].lower() in ("in ", "for"):
        return (start, comma), comma
    return None, start


def _cut(plain: str, start: int, end: int, condition: tuple[int, int] | None) -> _Wish | None:
    """Cut a clause into what is wished and when; None where it tells of the one who reads it, or says too much."""
    words = _without_you(_plain_words(words_of_clause(plain, start, end)))
    if words[:1] == ["you"] and words[1:2] not in (["should"], ["must"], ["can"], ["could"]):
        return None
    bonus = _SCARCELY if words[:1] == ["please"] else 0.0
    while words and words[0] in _WORDS["asked"]:
        words = words[1:]
    if not words or len(words) > _LONGEST:
        return None
    cased = words[0] in ("in", "for") and words[3:] and words[2] in _ORDERS  # "in recipes swap butter for oil"
    before = _plain_words(words_of_clause(plain, *condition)) if condition else words[:2] if cased else []
    words = words[2:] if cased and not condition else words
    main, after = _without_condition(words, leads=words[0] in _WORDS["when"] and condition is None)
    unless = _WHERE if {"unless i", "unless told"} & set(_pairs(words)) else 0.0
    usual = max(_usual(before), _usual(after), unless)
    if not usual and (words[0] in _WORDS["when"] or before):
        return None
    for wisher in _WISHERS:
        if tuple(words[: len(wisher)]) == wisher:  # "I'd like you to address me as …"
            main, bonus = words[len(wisher) :], bonus + _WEAK
    if words[0] in _WORDS["own wish"] and main[:1] == words[:1]:
        main = words
    return _Wish(main, [*before, *words], usual, bonus) if main else None


def _without_you(words: list[str]) -> list[str]:
    """Return "you don't have to …", "you needn't …" as "no need to …"."""
    if not _WORDS["mine"] & set(_pairs(words)):
        return words
    if words[:2] == ["you", "needn't"]:
        return ["no", "need", "to", *words[2:]]
    return ["no", "need", *words[3:]] if words[:2] == ["you", "don't"] and words[3:4] == ["to"] else words


def _without_condition(words: Sequence[str], *, leads: bool) -> tuple[Sequence[str], Sequence[str]]:
    """Return the main clause and its condition, whichever comes first; a reason behind them is left out."""
    if leads:  # "If you aren't sure just say so", "when I ask about money assume …"
        at = next(
            (
                at
                for at in range(_FEWEST_BEFORE_MAIN, len(words))
                if words[at] in _WORDS["begin"] and words[at - 1] not in _WORDS["speakers"] | {"to"}
            ),
            len(words),
        )
        return words[at + (words[at : at + 1] in (["just"], ["please"], ["then"])) :], words[:at]
    if words[0] == "only" and words[1:] and (words[1] == "ever" or words[1] in _ORDERS):
        words = words[1 + (words[1] == "ever") :]  # "only ever book aisle seats"
    at = next((at for at in range(1, len(words)) if words[at] in _WORDS["when"]), len(words))
    reasons = (  # "so I can …", not "so polite"
        at
        for at in range(2, at)
        if words[at] in _WORDS["because"] and (words[at] != "so" or words[at + 1 : at + 2] in _SO)
    )
    because = next(reasons, at)
    return words[:because], words[at:]


_SO: Final = [[word] for word in _WORDS["speakers"] | _WORDS["determiners"]]


def _plain_words(words: Sequence[Word]) -> list[str]:
    """Return the words in lower case, "don't" and "i'd" as one, and "every time" as "whenever"."""
    plain: list[str] = []
    for word in words:
        if word.low in ("n't", "'d") and plain:
            plain[-1] += word.low
        elif word.low == "not" and plain[-1:] == ["do"]:
            plain[-1] = "don't"
        elif word.low == "time" and plain[-1:] in (["every"], ["each"], ["any"]):
            plain[-1] = "whenever"
        elif word.low[0].isalnum() or word.low[0] == "'":
            plain.append(word.low)
    return plain


def _pairs(words: Sequence[str]) -> list[str]:
    """Return the words, and each two that follow each other."""
    return [*words, *map(" ".join, pairwise(words))]


def _usual(condition: Sequence[str]) -> float:
    """Return what "when you plan a trip" adds: a case that comes again, not "when you're done"."""
    named = condition[:1] if len(condition) == 1 else condition[1:4] if condition[:1] in (["for"], ["in"]) else []
    if named:  # "Recipes: …", "for my workouts, …", "for lesson plans, …"
        return _WHERE if named[0] in ("my", "our", "your", "all", "any") or is_plural(named[-1]) else 0.0
    if _of_any_case(condition):
        return _IF
    if len(condition) < _FEWEST_IN_CONDITION or condition[0] not in _WORDS["when"]:
        return 0.0
    who, what = condition[1], condition[2]
    # "when suggesting films", "whenever my mum comes up"
    if (who.endswith("ing") and _is_task(who)) or (condition[0] == "whenever" and who in ("my", "our")):
        return _WHENEVER
    ours = who == "we" and condition[0] != "if"
    once = what in _WORDS["no task"] or _WORDS["not usual"] & set(condition[2:])
    if once or not (ours or who in ("you", "i")) or not any(_is_task(word) for word in condition[2:5]):
        return 0.0
    return _IF if condition[0] == "if" else _WHENEVER


_EVERY_THING: Final = frozenset({"anything", "everything", "anywhere", "everywhere"})


def _of_any_case(condition: Sequence[str]) -> bool:
    """Return whether a condition is "anything over fifty pounds", "if a shop is closed", "if it involves driving"."""
    if len(condition) < _FEWEST_IN_CONDITION:
        return False
    first, who = condition[0], condition[1]
    kind = (first == "if" and who in _WORDS["unnamed"]) or who in ("a", "an", "any")
    involving = who == "it" and bool((_WORDS["involving"] | {"for", "about"}) & set(condition[2:4]))
    return first in _EVERY_THING or (first in _WORDS["when"] and (kind or involving))


def _is_task(word: str) -> bool:
    return word in _ORDERS or word in _WORDS["asking"] or any(verb in _ORDERS for verb in lemmas(word, PROGRESSIVE))


def _form(wish: _Wish) -> float | None:
    """Return what the form of the main clause weighs; None where it wishes nothing."""
    words = [*wish.main, ""]
    if words[0] in _WORDS["own wish"]:
        return _wished(wish.main)
    for forms in (_strict, _lacking, _of_things):
        for weight in forms(words, wish):
            return weight
    order = _order_class(words)
    if order:
        return None if words[0] == "be" and words[1] in ("a", "an") else _ORDER_WEIGHTS[order]
    return _noun(wish.main, conditional=wish.usual > 0)


def _order_class(words: Sequence[str]) -> str:
    """Return the class of the order that a clause begins with: "go easy" before "go"; "" for none."""
    return _ORDERS.get(" ".join(words[:2])) or _ORDERS.get(words[0], "")


def _strict(words: Sequence[str], _wish: _Wish) -> Iterator[float | None]:
    """Read "always …", "never …", "don't …", "stop …ing"."""
    first, second = words[0], words[1]
    strict = first == "always" or first in _WORDS["prohibitions"]
    if strict and first != "avoid" and second.endswith("s") and second not in _ORDERS and second[-2:] != "ss":
        yield None  # "never eats meat"
    elif first == "always" and second:
        named = second not in _WORDS["after always"] and bool(words[2:]) and words[2] in _WORDS["determiners"]
        yield _WEAK if second in _ORDERS or named else None
    elif strict and second:
        yield _forbidden(words)


def _forbidden(words: Sequence[str]) -> float | None:
    """Return what "don't …", "never …", "stop …ing", "avoid …s" weighs."""
    first, second = words[0], words[1]
    if first == "avoid" and is_plural(second):
        return _FORBIDS
    if first == "never" and lemmas(second, PAST)[:1] not in ((), (second,)) and second not in _ORDERS:
        return None  # "never thought I'd see snow"
    general = words[2] == "me" and (words[3] in ("a", "an", "any") or is_plural(words[3])) if words[3:] else False
    titled = second == "call" and words[2:3] == ["me"] and bool(words[3])
    if (first == "stop" and second.endswith("ing")) or titled or (general and second in _WORDS["given to"]):
        return _STOPS  # "don't call me sir", "don't wish me a nice day"
    return None if second in _NO_ORDER or _states(second) else _FORBIDS


def _lacking(words: Sequence[str], wish: _Wish) -> Iterator[float | None]:
    """Read "no emojis", "no need to …", "nothing with …", "not before …"."""
    first, second = words[0], words[1]
    if first == "no" and second == "need":
        yield _FORBIDS if words[2] == "to" or (words[2] == "for" and is_plural(words[3])) else None
    elif first == "no":
        doing = _WEAK if second.endswith("ing") and second != "thing" else 0.0  # "no swearing"
        yield _PLAIN + doing if second and second not in _WORDS["no thing"] and not set(words) & _FINITE else None
    elif first == "nothing":
        somewhere = wish.usual or {"in", "for"} & set(words)
        plain = _PLAIN if somewhere and second and second[-1] not in "sd" else None
        yield _STOPS if second in _WORDS["around"] else plain
    elif first == "not":
        yield _PLAIN if second in ("before", "after") else None


def _of_things(words: Sequence[str], _wish: _Wish) -> Iterator[float | None]:
    """Read what things must be: "every recipe for two", "any hotel must have …", "less chat, more facts"."""
    first, second = words[0], words[1]
    modal = next((at for at, word in enumerate(words) if word in _WORDS["must"]), 0)
    if first in ("every", "each") and second.isalpha() and second not in _WORDS["spans"]:
        yield _WEAK
    elif modal and first in ("any", "every", "all", "anything", "everything", "whatever"):
        yield _PLAIN if not {"i", "we"} & set(words[:modal]) else None
    # "hotels for me should have a lift", "weather for me means Celsius"
    at = next((at for at in range(2, len(words) - 2) if words[at - 1 : at + 1] in _FOR_ME), 0)
    verb = next((at for at in range(at + 1, min(at + 3, len(words) - 1)) if words[at] in _ASKS_FOR), 0) if at else 0
    if verb and first not in _WORDS["speakers"]:
        yield _PLAIN if words[verb] != "means" or _has_unit(words[verb:]) else None
    # "plain paragraphs will do", "a few sentences are enough"
    at = next((at for at in range(1, len(words) - 1) if words[at] in ("will", "'ll", "is", "are")), 0)
    if at and words[at + 1] in _WORDS["suffices"] and words[at + 2 :] == [""]:
        yield _PLAIN if _of_answers(words[:at]) else None
    if first in _WORDS["traded"] and _WORDS["traded"] & set(words[2:4]) and len(words) <= _LONGEST_MANNER + 1:
        yield _STOPS
    # "my mails should never sound angry", "dinner ideas should never include mushrooms"
    at = next((at for at in range(1, min(5, len(words) - 2)) if words[at] in _WORDS["must"]), 0)
    own = first in ("my", "our") or words[at - 1] in _WORDS["outputs"]
    unit = words[at + 1] == "be" and is_plural(words[at - 1]) and _has_unit(words)
    if at and ((own and words[at + 1] in ("never", "always", "only")) or unit):
        yield _PLAIN


_FOR_ME: Final = [["for", word] for word in ("me", "us", "my", "our")]
_ASKS_FOR: Final = _WORDS["must"] | _WORDS["needs"]


def _has_unit(words: Sequence[str]) -> bool:
    return any(_MARKS.get(word) == "unit" for word in words)


def _of_answers(words: Sequence[str]) -> bool:
    """Return whether a noun names the manner of an answer: "short sentences", "a few plain words"."""
    return any(
        a in _WORDS["manner"] and (b in _WORDS["answers"] or b in _WORDS["manner"]) for a, b in pairwise(words[:5])
    ) and any(word in _WORDS["answers"] for word in words[:5])


_NO_ORDER: Final = _WORDS["speakers"] | _WORDS["around"] | _WORDS["no order"] | {"on", "at", "again"}
_FINITE: Final = _WORDS["finite"]
_NO_NOUN: Final = _FINITE | {"i", "he", "she", "they", "you", "it"}


def _noun(words: Sequence[str], *, conditional: bool) -> float | None:
    """Read a wish without a verb: "Celsius only", "metric units please", "prices in pounds"."""
    for_mine = conditional and " ".join(words[-2:]) in _WORDS["mine"]  # "…, define it for me"
    if for_mine or (words[1:] and (_sorted(words) or (words[0] == "one" and words[-3:] == ["at", "a", "time"]))):
        return _PLAIN
    longest = _LONGEST_CONDITIONAL_NOUN if conditional else _LONGEST_NOUN
    stated = any(_states(word) for word in words[1:])  # "that sounds good to me"
    if len(words) > longest or stated or {word.removesuffix("n't") for word in words} & _NO_NOUN:
        return None
    noun = [word for word in words if word not in ("please", "pls", "plz", "thanks", "only", "always")]
    contrasted = "not" in words[1:-1] and _has_unit(words)  # "kilometres, not miles"
    if contrasted or (words[-1] == "always" and noun[:1] == ["the"] and _WORDS["answers"] & set(noun)):
        return _PLAIN  # "just the facts, always"
    pointed = bool(noun) and _MARKS.get(noun[0]) in ("the", "this", "nth", "more", "lasting")
    if not noun or noun[0] in _WORDS["around"] or (pointed and not {"a time", "at most"} & set(_pairs(words))):
        return None
    for_me = " ".join(noun[-2:]) in _WORDS["mine"] or "only" in (words[0], words[-1]) or "nothing" in words[1:]
    portion = any(a == "for" and (b in _WORDS["times"] or b[0].isdigit()) for a, b in pairwise(words))
    in_form = any(map(is_plural, words[:2])) and (portion or {"in", "as"} & set(words[1:4]))
    requested = words[-1] in ("please", "pls", "plz", "always")
    manner = _of_answers(noun) and len(noun) <= _LONGEST_MANNER
    if manner or for_me or (in_form and not requested) or (requested and len(noun) > 1):
        return _PLAIN
    compared = requested or words[-1] == "ever" or {"rather", "instead", "most"} & set(words)
    return _WEAK if requested or (compared and not conditional) else _SCARCELY if conditional else None


def _sorted(words: Sequence[str]) -> bool:
    """Return whether parts of an answer are put in order: "answer first, reasons after", "bad news first"."""
    at = next((at for at in range(1, len(words)) if words[at] in ("first", "then", "last")), 0)
    named = any(word in _WORDS["answers"] for word in words[max(0, at - 4) : at])
    last = words[-1] in _WORDS["last"] or bool(_WORDS["last"] & {" ".join(words[-2:]), " ".join(words[-3:])})
    return named and (last or at < len(words) - 1)


def _states(word: str) -> bool:
    """Return whether a word is the verb of a statement: "sounds", "spoke", "tried"."""
    if word.endswith("ed") and len(word) > len("need"):
        return True
    return word in _WORDS["says"] or any(
        lemma in _WORDS["say"] for lemma in (*lemmas(word, PRESENT)[1:], *lemmas(word, PAST))
    )


def _wished(words: Sequence[str]) -> float | None:
    """Read "I'd like …", "I hate it when …"; "I want to …" is the speaker's own plan."""
    text = " ".join(words[:5])
    if "to" in words[2:4] and "you" not in words[:4] and not text.startswith(("i don't want to", "i never want to")):
        return None
    if text.startswith(tuple(_WORDS["wanted"])):
        every = words[2:3] and (words[2] in _ALL or _of_answers(words[2:]))  # "I want every list sorted"
        return _FORBIDS if every else _SCARCELY
    if text.startswith(("i don't want", "i never want")) and any(is_plural(word) for word in (*words[3:4], words[-1])):
        return _FORBIDS
    for kind, weight in (("pleased", _PRAISES), ("appreciated", _HATES + _WEAK), ("annoyed", _HATES)):
        if text.startswith(tuple(_WORDS[kind])):
            return weight
    return None


def _stands_alone(words: Sequence[str], *, reasoned: float) -> bool:
    """Return whether a clause inside a sentence is a wish of its own: an order, or with "please", "always", "me"."""
    if words[0] == "that" or (
        reasoned > 0 and (_of_answers(words) or words[0] in ("no", "nothing") or "a time" in _pairs(words))
    ):
        return True  # "I read slowly, so short sentences"
    return words[0] in _ORDERS or words[0] in _WORDS["prohibitions"] or bool(_WORDS["for good"] & set(words))


def _marked(wish: _Wish, *, reasoned: float) -> float:
    """Return what the words add: for me, every, plain plurals; the, this, first, a."""
    words, whole = wish.main, wish.whole
    marks = {_MARKS.get(word, "") for at, word in enumerate(words) if not _counts(words, at)} | {
        _MARKS[pair] for pair in _pairs(whole) if pair in _COUPLES
    }
    marks |= {_MARKS.get(word, "") for word in whole} & {"lasting", "only", "my"}
    if "my" in marks and words[0] in _WORDS["prohibitions"]:
        marks.add("please")
    if any(a == "your" and is_plural(b) for a, b in pairwise(words)):
        marks.add("your")
    if _names_in_general(words):
        marks.add("plural")
    if _sorted(words):
        marks.add("sorted")
    if any(a in _WORDS["numbered"] and b[0].isdigit() for a, b in pairwise(words)):
        marks.add("nth")
    if words[1:2] in (["a"], ["an"]) or words[1:3] in (["me", "a"], ["me", "an"]):
        marks.add("a")
    return sum(_WEIGHTS[name] for name in marks - _without_weight(wish, marks, reasoned=reasoned) if name)


def _counts(words: Sequence[str], at: int) -> bool:
    """Return whether "one", "that" points at nothing: "one question", "recipes that take long"."""
    if words[at] == "one":
        return bool(words[at + 1 :]) and words[at + 1] in _WORDS["answers"] | _WORDS["numbered"] | _WORDS["manner"]
    return words[at] == "that" and at > 0 and is_plural(words[at - 1])


_COUPLES: Final = frozenset(word for word in _MARKS if " " in word)


def _bounded(words: Sequence[str]) -> bool:
    """Return whether a time or a number bounds the wish: "not after nine", "under 100 words"."""
    return any(_MARKS.get(a) == "bound" and (b[0].isdigit() or b in _WORDS["times"]) for a, b in pairwise(words))


def _names_in_general(words: Sequence[str]) -> bool:
    """Return whether something is named in the plural without "the"; what one can do without may have it."""
    sparing = _order_class(words) == "sparing"
    return any(
        is_plural(words[at]) and words[at] not in _MARKS and (sparing or "the" not in words[max(0, at - 2) : at])
        for at in range(1 if words[0] in _ORDERS else 0, len(words))
    )


def _without_weight(wish: _Wish, marks: set[str], *, reasoned: float) -> set[str]:
    """Return the marks that say nothing here: "the" behind "skip", "it" in a case that comes again."""
    words = wish.main
    void = {"me"} if "mine" in marks else {"more"} if "than" in words else set()
    void |= {"more"} if words[0] in _WORDS["traded"] else set()
    void |= {"a"} if words[0] in _WORDS["prohibitions"] and words[2:3] == ["me"] else set()
    void |= {"task"} if words[:2] == ["i", "want"] and words[2:3] and words[2] in _ALL else set()
    if any(a == "first" and b in _WORDS["names"] for a, b in pairwise(words)):
        void.add("nth")
    if "sorted" in marks:
        void |= {"nth", "the"}
    if _order_class(words) == "sparing":
        void.add("the")
    lacking = words[-1] == "available" or any(_MARKS.get(word) == "gone" for word in words[1:3])
    if words[0] != "no" or not lacking:
        void.add("gone")
    if not _bounded(wish.whole):
        void.add("bound")
    if wish.usual:
        void |= {"the", "a", "nth", "more", "task"}
    if _points_at_nothing(wish, marks, reasoned=reasoned):
        void.add("this")
    return void


def _points_at_nothing(wish: _Wish, marks: set[str], *, reasoned: float) -> bool:
    """Return whether "it", "that" mean nothing of the moment: "no salt for me, so leave it out"."""
    words = wish.main
    pointing = {word for at, word in enumerate(words) if not _counts(words, at) and _MARKS.get(word) == "this"}
    lasting = pointing <= {"it"} and bool(marks & {"lasting", "mine"})
    minded = words[:2] in (["mind", "that"], ["remember", "that"]) and pointing == {"that"}
    named = wish.usual or (reasoned > 0 and _ORDERS.get(words[0]) == "sparing")
    return (
        lasting
        or minded
        or (bool(named) and not {"this", "here", "now", "that"} & set(words))
        or words[0] in ("nothing", "i", "it")
        or bool({"here on", "a time"} & set(_pairs(words)))
    )
