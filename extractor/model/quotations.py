"""Reads what a model quotes: which sentence of the user it points at, whose words it holds, and what they demand."""

import re
from dataclasses import replace
from datetime import date
from typing import Final

from extractor.language.sentences import LONGEST_READ, quotations, sentences
from extractor.language.vocabulary import CHANGE, names_of_kind, polarity, statement_words, stem
from extractor.meaning import SPEAKER
from extractor.merge.statement import PEOPLE
from extractor.merge.unread import may_be, points_back, text_of
from extractor.rules.borrowed import own_words
from extractor.rules.extract import entities_of
from extractor.rules.language import language_of
from extractor.tables import table
from extractor.types import Candidate, Turn, traits_of
from gateway_memory.ground.dates import relative_dates_of, without_dates
from gateway_memory.ground.tables import has_han

from .support import Sources, share_repeated

_PEOPLE: Final = "|".join(sorted(filter(str.isascii, PEOPLE), key=len, reverse=True))
_PATTERNS: Final = table("quotations", PEOPLE=_PEOPLE).patterns()
_NO_NAMES: Final = table("believing").sets("words")["no names of persons"]


# Whose a quotation is, and what it demands: what one's friend has is not the user's, and "must" is no wish.


def changes_who(quote: str, message: str, content: str) -> bool:
    """Return whether a statement is about the user, and the quotation about somebody whom the statement does not name.

    Or the other way round: it is about one of the user's people, of whom the message does not speak. Looks at the
    clauses of the message in which the quotation stands, and before it for a subject that it lacks.
    """
    if _names_one_more(quote, message, content):
        return True
    chinese = has_han(content)
    if not (_PATTERNS["user Chinese"] if chinese else _PATTERNS["user"]).match(content):
        return False
    others = _others_zh(quote, message) if has_han(quote) else _others(quote, message, content)
    return bool(others) and not any(_names(content, other) for other in others)


def turns_must_and_wish(sentence: str, content: str) -> bool:
    """Return whether a statement makes a wish of what must be, or a duty of what is wished."""
    stated, claimed = (
        [name for name in ("must", "wish") if _PATTERNS[name].search(text)] for text in (sentence, content)
    )
    return len(stated) == len(claimed) == 1 and stated != claimed


def adds_must_or_wish(sentence: str, content: str) -> bool:
    """Return whether a statement tells a duty or a wish, and the sentence does not."""
    patterns = (_PATTERNS["must"], _PATTERNS["wish"])
    return any(pattern.search(content) and not pattern.search(sentence) for pattern in patterns)


def _plain(quote: str) -> str:
    return quote.replace("’", "'").strip(" .,!?;。，！？；")


def _clauses(quote: str, message: str) -> list[str]:
    """Return the clauses of the sentence with the quotation, up to the end of the quotation; those before it first."""
    plain = _plain(quote)
    for sentence in sentences(message):
        text = sentence.text.replace("’", "'")
        at = text.find(plain)
        if at >= 0:
            end = at + len(plain)
            return [text[clause.start : min(clause.end, end)] for clause in sentence.clauses if clause.start < end]
    return [plain]


def _others(quote: str, message: str, content: str) -> list[str]:
    """Return the words for the person of whom an English quotation tells; none where the user is in it.

    Of several clauses, the one counts that shares most words with the statement.
    """
    words = statement_words(content)
    clause = max(reversed(_clauses(quote, message)), key=lambda each: len(words & statement_words(each)))
    kin = _PATTERNS["own person"].search(clause)
    if kin:
        return [each for each in (kin["person"], kin["name"]) if each]
    if _PATTERNS["i"].search(clause):
        return []
    third = _PATTERNS["third person"].match(clause)
    if third is None or third["pronoun"]:
        return [""] if third else []
    named = re.findall(r"[\w-]+", third["name"] or third["possessed"])
    return [word for word in named if word.lower() not in _NO_NAMES and word != "s"]


def _others_zh(quote: str, message: str) -> list[str]:
    """Return the word for the person of whom a Chinese quotation tells, maybe named in a clause before it."""
    if _PATTERNS["i Chinese"].search(quote):
        return []
    for clause in reversed(_clauses(quote, message)):
        third = _PATTERNS["third person Chinese"].match(clause)
        if third:
            return [third["who"]]
        if _PATTERNS["i Chinese"].search(clause):
            return []
    return []


def _names_one_more(quote: str, message: str, content: str) -> bool:
    """Return whether a statement is about one of the user's people, and neither message nor quotation tells of them."""
    person = (_PATTERNS["of a person Chinese"] if has_han(content) else _PATTERNS["of a person"]).match(content)
    if person is None or _PATTERNS["other"].search(quote) or has_han(content) != has_han(message):
        return False
    who = person["who"]
    kin, named_kin = (names_of_kind(text).get("kin", frozenset()) for text in (who, message))
    words = {stem(word) for word in re.findall(r"[\w-]+", message.lower())}
    named = who in message if has_han(who) else stem(who.lower()) in words
    return not (named or kin & named_kin or (person["name"] or "\0").lower() in message.lower())


def _names(content: str, other: str) -> bool:
    """Return whether a statement names a person; of a pronoun, whether it names anybody beside the user."""
    words = re.findall(r"[\w-]+", content)
    if other in ("", "他", "她", "他们", "她们", "人家"):
        if has_han(content):
            return bool(_PATTERNS["kin Chinese"].search(content.removeprefix("用户")))
        return any(stem(word.lower()) in PEOPLE or (word[0].isupper() and at > 1) for at, word in enumerate(words))
    if other.isascii():
        return stem(other.lower()) in {stem(word.lower()) for word in words}
    return other in content or (len(other) > 1 and other[:1] in content and other[-1:] in content)


# Whose words a quotation of the user holds, and whether it and a statement deny what the other one claims.

_LEAST_DENIED: Final = 0.5  # the share of a statement's words that a denial must hold to contradict it

_LEAST_BORROWED: Final = 2  # words in quotation marks; fewer are a name
_LEAST_TOLD: Final = 2  # words of a statement that stand outside of questions


def is_of_another(quote: str, message: str, content: str) -> bool:
    """Return whether a quotation is what somebody else said: "I …" within quotation marks, or a report.

    A report is evidence of what is told about others, so only a statement about the user that does not name who said it
    is refused.
    """
    if not _PATTERNS["of the user"].match(content):
        return False
    if any(quote in quotation and _PATTERNS["first person"].search(quotation) for quotation in quotations(message)):
        return True
    start = max(0, message.find(quote))
    sentence = max(message.rfind(mark, 0, start) for mark in ".!?。！？\n") + 1
    text = message[sentence : start + len(quote)].strip(" .!?。！？\n")
    for report in _PATTERNS["report"].finditer(text):
        if report.end() < len(text):  # the quotation goes on after it
            continue
        who, what = report["who"] or report["wer"], report["what"] or report["was"] or ""
        for quotation in quotations(what):  # whose "I" is not the user
            what = what.replace(quotation, "")
        named = who.casefold() in content.casefold() if who.isascii() else any(name in content for name in who[-2:])
        if not (named or _PATTERNS["nobody"].search(who) or _PATTERNS["first person"].search(what)):
            return True
    return False


def sentence_of(quote: str, message: str) -> str:
    """Return the sentence of a message in which a quotation stands; the quotation where it was changed."""
    at = message.find(quote)
    if at < 0:
        return quote
    before = max(message.rfind(mark, 0, at) for mark in ".!?。！？\n") + 1
    after = [end for mark in ".!?。！？\n" if (end := message.find(mark, at + len(quote))) >= 0]
    return message[before : min(after, default=len(message))]


def asks(quote: str, message: str, content: str) -> bool:
    """Return whether a statement is taken from a question alone: the answer to it was not said by who asks."""
    plain = _plain(quote)
    asking, stated = False, set[str]()
    for sentence in sentences(message):
        text = sentence.text.replace("’", "'")
        language = language_of(text)
        for clause in sentence.clauses:
            ends_in_question = sentence.question and clause is sentence.clauses[-1]
            if not (ends_in_question or language.asks(clause.plain)):
                stated |= statement_words(text[clause.start : clause.end])
                continue
            part = text[clause.start : clause.end]
            asking = asking or (bool(plain) and (plain in part or part in plain))
    return asking and len(statement_words(content) & stated) < _LEAST_TOLD


def is_borrowed(quote: str, message: str) -> bool:
    """Return whether a quotation is a supposition, or stands within quotation marks: of an ad, a mail, a song."""
    plain = _plain(quote)
    supposed = _PATTERNS["supposed"].match(plain)
    quoted = any(plain in quotation.replace("’", "'") for quotation in quotations(message))
    return bool(supposed) or (quoted and len(statement_words(plain)) >= _LEAST_BORROWED)


def adds_a_denial(sentence: str, content: str) -> bool:
    """Return whether a statement denies something, and the sentence that it quotes does not."""
    return bool(_PATTERNS["says not"].search(content)) and not _PATTERNS["means not"].search(sentence)


def is_standing_wish(sentence: str) -> bool:
    """Return whether a sentence may ask for something for good, and not for once."""
    return bool(_PATTERNS["for good"].search(sentence))


def denies(quote: str, content: str) -> bool:
    """Return whether a quotation denies what a statement claims: "I don't like coffee", "The user likes coffee"."""
    changes = CHANGE.search(content) or _PATTERNS["changing"].search(f"{quote} {content}")
    if not polarity(content) or changes or _PATTERNS["negated"].search(content):
        return False
    claimed = statement_words(content) - {"user"}
    denials = _PATTERNS["negated"].finditer(quote.replace("’", "'"))
    denied = (statement_words(match["what"] or match["was"] or "") for match in denials)
    return any(words and words <= claimed and len(words) >= _LEAST_DENIED * len(claimed) for words in denied)


# Which sentence of the user an entry points at.
#
# A small model finds what is worth keeping, and words it wrongly: of the wrong person, or with a half that nobody
# said. So its entries only point. What is kept is the user's own sentence, if its meaning tells something lasting,
# and the model's wording only where it says the same.

LONGEST: Final = 300  # characters
LEAST_REPEATED: Final = 0.7
_DATE: Final = re.compile(r"\b(?:on |in |by )?\d{4}-\d\d(?:-\d\d)?\b|\d{4}年(?:\d{1,2}月)?(?:\d{1,2}[日号])?")
_OF_USER: Final = re.compile(r"(?:the )?user\b|用户", re.IGNORECASE)


def pointed_at(candidate: Candidate, turn: Turn) -> Candidate | None:
    """Return an entry with the sentence at which it points as its content; None where that tells nothing.

    Of a quotation of several sentences, the one counts that shares most words with the entry. A sentence that begins
    with "she" or "that" is told with the one before it.
    """
    own = sentences(own_words(turn.user[:LONGEST_READ]))
    quoted, stated = statement_words(candidate.quote), statement_words(candidate.content)
    shared = [(len(quoted & words), len(stated & words)) for words in (statement_words(each.text) for each in own)]
    if not any(of_quote for of_quote, _ in shared):
        return None
    number = max(range(len(own)), key=lambda each: (sum(shared[each]) if shared[each][0] else -1, -each))
    parts, only_as = [own[number]], may_be(own[number])
    if points_back(own[number].plain):
        if number and "statement" in may_be(own[number - 1]):
            parts.insert(0, own[number - 1])
        if only_as and (len(parts) > 1 or SPEAKER.search(own[number].plain)):
            only_as = frozenset({"statement"})
    text = _joined([text_of(part) for part in parts])
    wished = traits_of(candidate.category).directive and is_standing_wish(text)
    only_as &= {"statement", "wish"} if wished else {"statement"}
    if not only_as or len(text) > LONGEST:
        return None
    return replace(
        candidate,
        content=text,
        category="fact",
        only_as=only_as,
        entities=entities_of(text),
        turn=turn.id,
    )


def repeats(content: str, sentence: str, day: date) -> bool:
    """Return whether an entry says what a sentence says, by all of the entry's words and most of the sentence's."""
    source, plain = Sources([(sentence, day)]), _DATE.sub(" ", content)  # a model may tell "Friday" as a date
    return (
        has_han(content) == has_han(sentence)
        and source.has_dates_and_numbers(content, day)
        and set(relative_dates_of(plain, day)) <= set(relative_dates_of(sentence, day))
        and source.has_names(plain)
        and share_repeated(plain, sentence) == 1.0
        and share_repeated(without_dates(sentence, day), content) >= LEAST_REPEATED
        and not adds_must_or_wish(sentence, content)
        and (bool(SPEAKER.search(sentence)) or not _OF_USER.match(content))
    )


def _joined(texts: list[str]) -> str:
    return " ".join([*(f"{text}{'。' if has_han(text) else '.'}" for text in texts[:-1]), texts[-1]])
