"""How the evidence check treats a model's entries that are true: facts which people labelled, as a model's answer.

A session is one batch. An entry names the turn that its label names, and quotes of it what its mode says: the whole
message, the sentence that shares most words with the fact, or nothing. The known memories are the facts of earlier
sessions that share most words with a turn, as many as a model is given. Then each fact is moved to a turn of another
conversation, where nobody said it: to a random one, and to the one that shares most words with it. Last, a tenth of the
facts is falsified where it was said: another number, another name, another object, the opposite, a wish of what must
be (or a duty of a wish), or a fact of somebody else as the user's. Of each group it tells the share that is kept and
refused.

Of two people who chat, the one whom a fact is about is the user, and the other one's messages are the replies.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from random import Random
from typing import Any

from extractor import Known, Turn
from extractor.language.sentences import sentences
from extractor.language.vocabulary import statement_words
from extractor.model.evidence import believed

__all__ = ["evidence"]

Row = dict[str, Any]

NEAREST, ASKED_ABOUT, AT_ONCE = 5, 4, 12  # as the reader asks a model
LONGEST_TEXT, LONGEST_FACT = 1195, 295  # characters; RealMem's rows are cut soon after
_COUNTED = ("facts", "refused")
_NAME = re.compile(r"\b[A-Z][a-z]{2,}\b")
_OPPOSITE = re.compile(r"\b(?:is|are|was|were|has|will|can|does)\b(?! not)")
_MUST = re.compile(r"\b(?:must|has to|have to|needs to|need to|is required to)\b")
_SUBJECT = re.compile(
    r"\A(?:The user's|User's|[A-Z]\w+'s|Her|His) "
    r"(?P<who>mother|mom|mum|father|dad|sister|brother|son|daughter|wife|husband|friend|colleague|boss|partner|cousin"
    r"|uncle|aunt|grandma|grandmother|grandpa|dog|cat|kids|family)(?: [A-Z]\w+)? (?=\w)"
)
_RARE = ("must", "subject")
SOME_DAY = "2026-01-05"  # for rows without a day


@dataclass(frozen=True, slots=True)
class Fact:
    """A labelled fact. number: its turn, from 1. by: who worded it, "user" or "reply"."""

    content: str
    number: int
    by: str
    words: frozenset[str]


@dataclass(slots=True, eq=False)
class Session:
    """One session of a user. whole: none of its texts was cut. known: facts of earlier sessions."""

    conversation: str
    user: str
    turns: list[Turn]
    facts: list[Fact] = field(default_factory=list)
    known: list[Known] = field(default_factory=list)
    whole: bool = True


def evidence(rows: Sequence[Row], chat: Sequence[Row]) -> dict[str, Any]:
    """By mode and kind of fact: how many, and what share of them is refused, at home, moved and falsified.

    rows: messages with their facts (conv, session, turn, role, text, memories), or facts (conv, speaker, text, source).
    chat: with facts, the messages of their sources (id, conv, session, date, speaker, text); with messages, rows that
    tell the days of their sessions (conv, session, date).
    """
    sessions = list(_of_chat(rows, chat) if "kind" in rows[0] else _of_messages(rows, chat))
    _remember(sessions)
    random = Random(1)
    report: dict[str, Any] = {}
    for mode in ("message", "sentence", "none"):
        _add(
            report,
            f"at home, quote: {mode}",
            [(one, fact, one, fact.number) for one in sessions for fact in one.facts],
            mode,
        )
    places = [(one, number) for one in sessions for number, turn in enumerate(one.turns, 1) if turn.user.strip()]
    words = [statement_words(one.turns[number - 1].user) for one, number in places]
    holders: dict[str, list[int]] = defaultdict(list)
    for place, said in enumerate(words):
        for word in said:
            holders[word].append(place)
    strange, alike = [], []
    for one in sessions:
        for fact in one.facts:
            other, number = random.choice(places)
            while other.conversation == one.conversation:
                other, number = random.choice(places)
            strange.append((one, fact, other, number))
            shared = Counter(place for word in fact.words for place in holders.get(word, ()))
            others = [
                (count, -place) for place, count in shared.items() if places[place][0].conversation != one.conversation
            ]
            if others:
                alike.append((one, fact, *places[-max(others)[1]]))
    _add(report, "moved to a random turn", strange, "sentence")
    _add(report, "moved to the likest turn", alike, "sentence")
    _add_falsified(report, sessions, random)
    return report


def _add_falsified(report: dict[str, Any], sessions: Sequence[Session], random: Random) -> None:
    """Falsify a tenth of the facts, in each way, and check them and the others where they were said."""
    facts = [(one, fact) for one in sessions for fact in one.facts]
    names = sorted({name for _, fact in facts for name in _NAME.findall(fact.content[1:])})
    nouns = sorted({word for _, fact in facts for word in fact.content.split() if word.isalpha() and len(word) > 4})
    chosen = set(random.sample(range(len(facts)), len(facts) // 10))
    _add(
        report,
        "true ones",
        [(one, fact, one, fact.number) for at, (one, fact) in enumerate(facts) if at not in chosen],
        "sentence",
    )
    for way in ("number", "name", "object", "opposite", "must", "subject"):
        wrong = []
        for at in range(len(facts)) if way in _RARE else sorted(chosen):
            one, fact = facts[at]
            if way == "subject" and not _tells_of_another(fact, one):
                continue
            content = _falsified(fact.content, way, names, nouns, random)
            if content != fact.content:
                wrong.append((one, Fact(content, fact.number, fact.by, fact.words), one, fact.number))
        if wrong:
            _add(report, f"falsified, {way}", wrong, "sentence")


def _falsified(content: str, way: str, names: Sequence[str], nouns: Sequence[str], random: Random) -> str:
    """Return a fact with one thing changed; unchanged if it has nothing of that kind."""
    if way == "number":
        return re.sub(r"\d+", lambda found: str(int(found[0]) + random.randint(1, 9)), content, count=1)
    if way == "name":
        found = _NAME.search(content, 1)
        return content[: found.start()] + random.choice(names) + content[found.end() :] if found else content
    if way == "object":
        words = content.split(" ")
        places = [at for at, word in enumerate(words) if word.isalpha() and word.islower() and len(word) > 4]
        if places:
            words[places[-1]] = random.choice(nouns).lower()
        return " ".join(words)
    if way == "must":
        return _MUST.sub("wants to", content, count=1)
    if way == "subject":
        return _SUBJECT.sub("The user ", content, count=1)
    return _OPPOSITE.sub(lambda found: f"{found[0]} not", content, count=1)


def _tells_of_another(fact: Fact, one: Session) -> bool:
    """Return whether a fact is about one of the user's people, and its message has the same words for them."""
    found = _SUBJECT.match(fact.content)
    return found is not None and found["who"].lower() in one.turns[fact.number - 1].user.lower()


def _add(report: dict[str, Any], name: str, placed: Iterable[tuple[Session, Fact, Session, int]], mode: str) -> None:
    """Check facts at turns of sessions, and add the result to a report."""
    answers: dict[tuple[Session, bool, str], list[Row]] = defaultdict(list)
    for home, fact, place, number in placed:
        quote = _quote(fact, place.turns[number - 1].user, mode)
        answers[place, home.whole, fact.by].append(_entry(fact.content, quote))
    groups: dict[str, Counter[str]] = defaultdict(Counter)
    for (place, whole, by), entries in answers.items():
        for start in range(0, len(entries), AT_ONCE):
            some = entries[start : start + AT_ONCE]
            now = place.turns[-1].at
            answer = {"entries": some}
            _, left_out = believed(answer, place.turns, now, known=place.known, speaker=place.user)
            texts = "whole texts" if whole else "cut texts"
            for group in ("all", f"all, {texts}", f"{by}, {texts}"):
                groups[group].update(left_out)
                groups[group]["facts"] += len(some)
                groups[group]["refused"] += len(left_out)
    for group, counts in sorted(groups.items()):
        report[f"{name}: {group}"] = {
            "facts": counts["facts"],
            "kept": 1 - counts["refused"] / counts["facts"],
            "refused": counts["refused"] / counts["facts"],
            "reasons": {reason: count for reason, count in counts.most_common() if reason not in _COUNTED},
        }


def _quote(fact: Fact, message: str, mode: str) -> str:
    if mode == "none":
        return ""
    said = [sentence.text for sentence in sentences(message)] if mode == "sentence" else []
    return max(said, key=lambda text: len(fact.words & statement_words(text)), default=message)


def _entry(content: str, quote: str) -> Row:
    return {"quote": quote, "content": content, "category": "fact", "importance": "normal"}


def _remember(sessions: Sequence[Session]) -> None:
    """Give each session the facts of earlier sessions of its conversation that are nearest to its last turns."""
    stored: dict[tuple[str, str], list[Fact]] = defaultdict(list)
    for one in sessions:
        near: dict[str, None] = {}
        for turn in one.turns[-ASKED_ABOUT:]:
            words = statement_words(turn.user)
            ranked = sorted(stored[one.conversation, one.user], key=lambda fact: -len(fact.words & words))
            near |= dict.fromkeys(fact.content for fact in ranked[:NEAREST] if fact.words & words)
        one.known = [
            Known(id=f"known{number}", text=text, cosine=None, overlap=0.0, importance="normal")
            for number, text in enumerate(near)
        ]
        stored[one.conversation, one.user] += one.facts


def _of_messages(rows: Sequence[Row], chat: Sequence[Row]) -> Iterator[Session]:
    days = {(row["conv"], row["session"]): row["date"] for row in chat if "session" in row}
    sessions: dict[tuple[str, int], list[Row]] = defaultdict(list)
    for row in rows:
        sessions[row["conv"], row["session"]].append(row)
    for (name, number), said in sessions.items():
        day = _day(days.get((name, number), SOME_DAY))
        one = Session(name, "user", [], whole=all(len(row["text"]) < LONGEST_TEXT for row in said))
        ordered = sorted(said, key=lambda row: row["turn"])
        for row, following in zip(ordered, [*ordered[1:], None], strict=True):
            if row["role"] == "user":
                reply = following["text"] if following and following["role"] == "assistant" else ""
                one.turns.append(_turn(one, row["text"], reply, day))
            by = "user" if row["role"] == "user" else "reply"
            one.facts += [_fact(text, max(1, len(one.turns)), by) for text in row.get("memories") or ()]
        if one.turns:
            yield one


def _of_chat(facts: Sequence[Row], chat: Sequence[Row]) -> Iterator[Session]:
    about: dict[str, list[Row]] = defaultdict(list)
    for row in facts:
        if row.get("source"):
            about[row["source"][-1]].append(row)
    sessions: dict[tuple[str, int], list[Row]] = defaultdict(list)
    for row in chat:
        if row["kind"] == "doc":
            sessions[row["conv"], row["session"]].append(row)
    for (name, _), said in sessions.items():
        for user in sorted({row["speaker"] for row in said}):
            one = Session(name, user, [])
            for row, following in zip(said, [*said[1:], None], strict=True):
                if row["speaker"] == user:
                    reply = _shown(following) if following and following["speaker"] != user else ""
                    one.turns.append(_turn(one, _shown(row), reply, _day(row["date"])))
                    one.facts += [_fact(fact["text"], len(one.turns), "user") for fact in about[row["id"]]]
                elif not one.turns:
                    one.turns.append(_turn(one, "", _shown(row), _day(row["date"])))
            yield one


def _shown(row: Row) -> str:
    return str(row["text"]) + (f" [photo: {row['caption']}]" if row.get("caption") else "")


def _turn(one: Session, user: str, reply: str, day: datetime) -> Turn:
    return Turn(id=len(one.turns) + 1, user=user, reply=reply, at=day)


def _day(text: str) -> datetime:
    """LoCoMo's "1:56 pm on 8 May, 2023" and RealMem's "2025-12-20 (Saturday)"."""
    form = "%I:%M %p on %d %B, %Y" if " on " in text else "%Y-%m-%d"
    return datetime.strptime(text.partition(" (")[0], form).replace(tzinfo=UTC)


def _fact(text: str, number: int, by: str) -> Fact:
    """A fact without the topics that RealMem puts before it, as 【Topic】, and without half of a last word."""
    bare = re.sub(r"【[^】]*】\s*", "", text).strip() or text
    bare = bare.rsplit(" ", 1)[0] if len(text) > LONGEST_FACT else bare
    return Fact(" ".join(bare.split()), number, by, statement_words(bare))
