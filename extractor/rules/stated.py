"""Reads what a sentence states: which of its clauses say something lasting, and which belong to them."""

from dataclasses import dataclass
from typing import Final

from extractor.language.sentences import Sentence
from extractor.tables import table
from extractor.types import traits_of

from .language import Language
from .reading import KEPT, KEPT_ALONE, Reading

_PATTERNS: Final = table("rules").patterns()


LONGEST_TOGETHER: Final = 200  # characters of statements in one sentence that are kept as one
CROWDED: Final = 2.0  # what a wish must weigh more in a message that says much else
STATED_BESIDE: Final = 2.0  # what a wish gains by something lasting that is stated in the same sentence


@dataclass(frozen=True, slots=True)
class Kept:
    """A part of a sentence to keep, and as what."""

    start: int
    end: int
    reading: Reading


def _rank(reading: Reading) -> tuple[bool, bool, bool]:
    traits = traits_of(reading.category)
    return traits.directive, traits.standing, reading.importance == "high"


def stated(sentence: Sentence, language: Language, *, crowded: bool) -> list[Kept]:
    """Return the statements of a sentence. Clauses that follow one belong to it, unless they ask or order.

    Statements that follow each other are one: "I'm Mei, I moved to Lisbon".
    crowded: the message says much else, so that an order in it is most likely about that.
    """
    tagged = sentence.question and not _asks_after(sentence, language)
    if tagged and not _PATTERNS["tag"].fullmatch(sentence.clauses[-1].plain):
        return []
    if language.patterns["attributed"].match(sentence.clauses[-1].plain):  # "…, she added"
        return []
    statements = _Reader(sentence, language, CROWDED if crowded else 0.0).read()
    return [kept for kept in statements if not tagged or traits_of(kept.reading.category).directive]


def clauses_of(sentence: Sentence, language: Language) -> list[tuple[int, int]]:
    """Return the clauses' bounds; "from now on, …", "in our team, …" and "…, always" are one with their other half."""
    plain, patterns = sentence.plain, language.patterns
    bounds: list[tuple[int, int]] = []
    for clause in sentence.clauses:
        if bounds and (
            any(patterns[name].match(plain, *bounds[-1]) for name in ("from now on", "opener", "apposed"))
            or patterns["apposed"].match(plain, bounds[-1][0], clause.end)
            or patterns["tail"].match(plain, clause.start, clause.end)
        ):
            bounds[-1] = (bounds[-1][0], clause.end)
        else:
            bounds.append((clause.start, clause.end))
    return bounds


def _asks_after(sentence: Sentence, language: Language) -> bool:
    """Return whether only a question's last clause asks: "I love spicy food, what should I cook?", not "…, right?"."""
    last = sentence.clauses[-1]
    if len(sentence.clauses) == 1 or _PATTERNS["confirmed"].match(last.plain):
        return False
    return language.asks(last.plain) or bool(
        language.patterns["order"].match(sentence.plain, language.after("filler", sentence.plain, last.start))
    )


class _Reader:
    """Reads the clauses of a sentence one after the other."""

    def __init__(self, sentence: Sentence, language: Language, crowded: float) -> None:
        self._statements: list[Kept] = []
        self._sentence = sentence
        self._plain = sentence.plain
        self._language = language
        self._crowded = crowded
        self._clauses = clauses_of(sentence, language)
        self._kept: Kept | None = None
        self._condition: tuple[int, int] | None = None
        """The bounds of "when you write code", until its main clause follows."""
        self._of_speaker = sum(bool(_PATTERNS["first person"].search(self._plain, *bounds)) for bounds in self._clauses)
        self._opens = -1
        """Where the clauses begin that may tell the reason of a wish: "my kids read along, so keep it clean"."""
        self._read_to = 0
        """The end of the last statement that was read over two clauses: "my sister, moved to Lisbon"."""

    def read(self) -> list[Kept]:
        """Return the statements."""
        for number, (start, end) in enumerate(self._clauses):
            if not self._clause(number, start, end):
                break
        self._close()
        return self._statements

    def _clause(self, number: int, start: int, end: int) -> bool:
        """Read a clause. Returns False where the rest is not the user's statement."""
        language, plain = self._language, self._plain[start:end]
        conditional = bool(language.patterns["condition"].match(plain))
        asking = self._sentence.question and end == self._clauses[-1][1]
        goes_on = end <= self._read_to or (number > 0 and language.patterns["goes on"].match(plain))
        asking = asking or (not (conditional or goes_on) and language.asks(plain))
        begin = language.after("filler", self._plain, start)
        if asking:
            reading = self._wish_in_question(begin, start, end)
        else:
            reading = self._read(number, begin, end, conditional=conditional) if begin < end else None
        wish = reading is not None and traits_of(reading.category).directive
        if not wish and language.patterns["aside"].search(plain):  # "he said, …"
            return False
        opening = conditional or bool(language.patterns["for me"].match(plain))
        if reading and (wish or self._condition is None):
            self._keep(reading, begin, end, wish=wish)
        elif asking and self._wishes_on(start, end):
            self._extend(end)  # 我问药的事，你要写清楚是哪里来的
        elif asking or opening or language.patterns["order"].match(self._plain, begin):
            self._order(start, end, asking=asking, opening=opening)
        elif self._kept:
            self._extend(end)
        elif self._opens < 0:
            self._opens = begin
        return True

    def _wishes_on(self, start: int, end: int) -> bool:
        """Return whether a clause with a word of a question goes on with a wish."""
        if self._sentence.question or not self._kept or not traits_of(self._kept.reading.category).directive:
            return False
        return bool(self._language.patterns["wishing"].match(self._plain, start, end))

    def _wish_in_question(self, begin: int, start: int, end: int) -> Reading | None:
        """Read 以后别问我睡得好不好: words of a question in a wish."""
        if self._sentence.question or not self._language.patterns["wishing"].match(self._plain, start, end):
            return None
        closed = _PATTERNS["closed question"].search(self._plain[start:end])
        return None if closed else self._language.wish(self._plain, begin, end, condition=self._condition)

    def _read(self, number: int, begin: int, end: int, *, conditional: bool) -> Reading | None:
        """Read a clause as a statement or a wish; with the next one or the whole sentence where it says too little."""
        language, plain = self._language, self._plain
        least = KEPT if self._crowded else KEPT_ALONE
        reading = language.statement(plain, begin, end, least=least)
        if self._opens >= 0 and _PATTERNS["of a reader"].match(plain, self._opens):
            return reading  # "You'll find it, just keep trying"
        reading = reading or language.wish(
            plain,
            begin,
            end,
            condition=self._condition,
            reasoned=self._reasoned(number) - self._crowded,
            leads=self._opens < 0 and not self._kept,
        )
        behind = self._clauses[number + 1 :] if number == 0 else self._clauses[number + 1 : number + 2]
        if reading or not behind:
            return reading
        own = language.patterns["subject"].match(plain, begin) and not conditional and not self._sentence.question
        if own and (not _PATTERNS["of another"].match(plain, behind[0][0]) or _PATTERNS["owned"].match(plain, begin)):
            reading = language.statement(plain, begin, behind[0][1], least=least)
            if reading:
                self._read_to = behind[0][1]
        if reading is None and self._kept is None and number == 0 and not self._orders(behind):
            reading = language.wish(plain, begin, behind[-1][1], reasoned=-self._crowded)
        return reading

    def _keep(self, reading: Reading, begin: int, end: int, *, wish: bool) -> None:
        first = self._condition[0] if self._condition else begin
        leans = reading.leans or self._read_to > end  # "Marta, my sister, moved …": the subject stands before it
        if 0 <= self._opens < first and (wish or leans or self._tells(self._opens, begin)):
            first = self._opens
        self._condition = None
        together = self._kept and end - self._kept.start <= LONGEST_TOGETHER
        if self._kept and together and not _PATTERNS["no longer"].match(self._plain, self._kept.start):
            reading = max(self._kept.reading, reading, key=_rank)  # both are a wish if either is one
            self._kept = Kept(self._kept.start, end, reading)
            return
        self._close()
        if end - first > LONGEST_TOGETHER:
            if leans and first < begin:
                return  # without its subject it would say of nobody what it says
            first = begin
        self._kept = Kept(first, end, reading)

    def _order(self, start: int, end: int, *, asking: bool, opening: bool) -> None:
        """Take a clause that asks or orders: it ends a statement, but belongs to a wish, or begins one."""
        if self._kept and traits_of(self._kept.reading.category).directive and not asking and self._extend(end):
            return  # "don't tell him the answers, give him hints"
        self._close()
        self._opens = -1
        self._condition = (start, end) if opening and not asking else None

    def _extend(self, end: int) -> bool:
        """Let a clause belong to the statement before it, unless that becomes too long."""
        if self._kept and end - self._kept.start <= LONGEST_TOGETHER:
            self._kept = Kept(self._kept.start, end, self._kept.reading)
            return True
        return False

    def _close(self) -> None:
        if self._kept:
            self._statements.append(self._kept)
        self._kept = None

    def _reasoned(self, number: int) -> float:
        """Return what a wish gains by what stands beside it: something lasting, or at least "I", "my"."""
        if self._kept:
            return STATED_BESIDE
        return float(self._of_speaker > bool(_PATTERNS["first person"].search(self._plain, *self._clauses[number])))

    def _orders(self, clauses: list[tuple[int, int]]) -> bool:
        order = self._language.patterns["order"]
        return self._sentence.question or any(order.match(self._plain, start) for start, _ in clauses)

    def _tells(self, start: int, end: int) -> bool:
        """Return whether clauses before a statement belong to it: "my knees are bad, so I swim", not "thanks, …"."""
        before = self._plain[start:end]
        return bool(_PATTERNS["first person"].search(before)) and not _PATTERNS["in passing"].search(before)
