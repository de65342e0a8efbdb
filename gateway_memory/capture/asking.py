"""Whether an older line still holds beside a newer one: its person is asked once, and a plain answer settles it.

What waits is a notice of its scope: to be asked, asked in a reply, asked and to be answered. A process that dies asks
no second time.
"""

import re
from dataclasses import dataclass, replace
from typing import Final, Literal

from gateway_memory.capture.merger import Changer
from gateway_memory.capture.requests import PATTERNS
from gateway_memory.scope import Scope
from gateway_memory.store.documents import is_writable
from gateway_memory.store.journal.ledger import Ledger
from gateway_memory.store.journal.turns import PendingTurn
from gateway_memory.store.plan import Retired
from recall import Recaller, Stored

Stage = Literal["ask", "asked", "still", "over"]
"""What becomes of a question: it waits; it stands beside a reply; the reply asked whether the older line is still so,
or whether it is over, which decides what a "yes" means."""
_SENTENCE: Final = re.compile(r"[^.!?。！？\n]*[?？]")
_LONGEST_ANSWER: Final = 200  # characters


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """Whether an older memory holds beside a newer one. session_id, after: where it was asked, behind which turn."""

    newer: str
    older: str
    stage: Stage = "ask"
    session_id: str = ""
    after: int = 0

    @property
    def name(self) -> str:
        """The name of its notice."""
        return " ".join(("question", self.stage, self.newer, self.older, str(self.after), self.session_id)).strip()

    @classmethod
    def named(cls, name: str) -> "Question | None":
        """Return the question of a notice, None for any other notice."""
        head, *parts = name.split(" ", 5)
        if head != "question" or len(parts) < 4:  # noqa: PLR2004 - stage, newer, older, after
            return None
        stage, newer, older, after, *session = parts
        return cls(newer=newer, older=older, stage=_STAGES[stage], session_id="".join(session), after=int(after))


_STAGES: Final[dict[str, Stage]] = {"ask": "ask", "asked": "asked", "still": "still", "over": "over"}


def questions(ledger: Ledger, scope: str) -> list[Question]:
    """Return the questions of a scope that this process knows of."""
    named = (Question.named(name) for name in ledger.names_due(scope))
    return sorted((each for each in named if each), key=lambda each: each.name)


async def lines_of(recaller: Recaller, scope: str, question: Question) -> tuple[Stored, Stored] | None:
    """Return the newer and the older memory; None where one is gone, or may not be changed."""
    newer, older = await recaller.get(scope, question.newer), await recaller.get(scope, question.older)
    return (newer, older) if newer and older and is_writable(older.file) else None


def asks(reply: str) -> Stage | None:
    """Return what a reply asks, by its last question: whether something is still so, or over; None for neither."""
    for sentence in reversed(_SENTENCE.findall(reply)):
        over, still = PATTERNS["asks if over"].search(sentence), PATTERNS["asks if still"].search(sentence)
        if bool(over) != bool(still):
            return "over" if over else "still"
    return None


def holds(answer: str, stage: Stage) -> bool | None:
    """Return whether an answer says that the older line holds; None where it does not say it."""
    if len(answer) > _LONGEST_ANSWER:
        return None
    if PATTERNS["both"].search(answer):
        return True
    denied, kept = PATTERNS["not any more"].search(answer), PATTERNS["still so"].search(answer)
    if bool(denied) != bool(kept):
        return bool(kept)
    yes, no = PATTERNS["yes"].search(answer), PATTERNS["no"].search(answer)
    return None if bool(yes) == bool(no) else bool(yes) == (stage == "still")


class Answers(Changer):
    """Follows a question through the turns of its session, and settles it by the answer."""

    async def read(self, scope: Scope, turn: PendingTurn) -> None:
        """Read a turn as the one in which a question was asked, or as the answer to it."""
        ledger = self._storage.ledger
        for question in questions(ledger, scope.key):
            if question.session_id != turn.session_id or question.stage == "ask" or turn.id <= question.after:
                continue
            if not await ledger.take_notice(scope.key, question.name):
                continue
            if question.stage == "asked":
                if stage := asks(turn.reply):
                    await ledger.set_notice(scope.key, replace(question, stage=stage, after=turn.id).name)
            elif holds(turn.user, question.stage) is False:
                await self._replace(scope, question, turn)

    async def _replace(self, scope: Scope, question: Question, turn: PendingTurn) -> None:
        async with self._executor.drafting(scope, "review") as draft:
            if lines := await lines_of(self._storage.recaller, scope.key, question):
                older = await self._merger.memory(scope, lines[1])
                draft.retired.append(Retired(memory=older, state="superseded", replaced_by=question.newer))
                draft.note("supersede", "answered", question.newer, turn=turn.id)
