"""Exchanges are quoted within a budget, and a talk of several shares it."""

from dataclasses import replace
from datetime import UTC

from gateway_memory.config.settings import Config
from gateway_memory.context.exchanges import Exchange, exchanges_of
from gateway_memory.context.quotations import quotations_block, without_repeats
from gateway_memory.scope import OWNER_SCOPE
from gateway_memory.sessions.registry import SessionRegistry
from gateway_memory.store.journal.episodes import Episode, Quotable
from gateway_memory.store.told import Told
from gateway_memory.store.validity import Validity
from gateway_memory.store.withheld import Withheld
from recall import Hit

WORDS = "the boat leaves from pier four when the bell in the harbour has rung twice and the gate is open"


def exchange(turn: int) -> Exchange:
    sides = f"Where and when in week {turn}: {WORDS}?", f"In week {turn} {WORDS}."
    hit = Hit(
        id=f"e{turn}u0", text=sides[0], score=0.9, at=1_760_000_000.0, scope="owner", file="", kind="episode", turn=turn
    )
    return Exchange(hit=hit, session_id="another", sides=sides, side=0)


def test_each_exchange_of_a_talk_has_its_share_of_the_budget() -> None:
    session = SessionRegistry(Config(), "main", None).get("chat", OWNER_SCOPE, OWNER_SCOPE)
    block = quotations_block(session, [exchange(1), exchange(2), exchange(3)], "pier", UTC, 600)
    for turn in (1, 2, 3):
        assert f"Where and when in week {turn}" in block
        assert f"In week {turn}" in block


def test_what_short_quotations_leave_is_given_to_those_that_need_it() -> None:
    session = SessionRegistry(Config(), "main", None).get("chat", OWNER_SCOPE, OWNER_SCOPE)
    long = exchange(1)
    short = [
        replace(
            exchange(turn),
            hit=replace(exchange(turn).hit, text="Pier four."),
            sides=("Pier four.", ""),
            session_id=str(turn),
        )
        for turn in (3, 5, 7, 9)
    ]
    block = quotations_block(session, [long, *short], "pier", UTC, 230)
    assert all(side in block for side in long.sides)
    assert block.count("Pier four.") == len(short)


def test_what_was_asked_stands_before_its_answer() -> None:
    session = SessionRegistry(Config(), "main", None).get("chat", OWNER_SCOPE, OWNER_SCOPE)
    said, asked = "Yesterday I met a sailor who had been through a lot.", "How did she end up there?"
    hit = replace(exchange(1).hit, text=said)
    met = Exchange(hit=hit, session_id="another", sides=(said, asked), side=0, then=("She lost her boat in May.",))
    block = quotations_block(session, [met], "sailor", UTC, 600)
    assert f"{said} Assistant: {asked} User: She lost her boat in May." in block


def test_a_quotation_does_not_end_with_a_question() -> None:
    said = (
        ("We plan a trip next month and want to explore a city.", "Great! Where are you headed?"),
        ("Still deciding. Do you have any suggestions?", "Edinburgh would be a great choice."),
    )
    episodes = {
        turn: Episode(turn=turn, scope="owner", session_key="s", session_id="s", user=user, reply=reply, at=0.0)
        for turn, (user, reply) in enumerate(said, 1)
    }
    quotable = Quotable(episodes=episodes, validity=Validity(Withheld([])), sources=frozenset(), gone=frozenset())
    (planned,) = exchanges_of(quotable, [replace(exchange(1).hit, text=said[0][0])], past=False)
    assert planned.then == said[1]


def test_an_answer_is_quoted_where_its_own_exchange_was_found_too() -> None:
    session = SessionRegistry(Config(), "main", None).get("chat", OWNER_SCOPE, OWNER_SCOPE)
    shown, asked, answer = "Take a look at my necklace.", "Lovely! Any special meaning to it?", "Grandma gave it to me."
    hits = [replace(exchange(turn).hit, text=text) for turn, text in ((1, shown), (2, "Things can mean so much."))]
    found = [
        Exchange(hit=hits[0], session_id="another", sides=(shown, asked), side=0, then=(answer,)),
        Exchange(hit=hits[1], session_id="another", sides=(answer, hits[1].text), side=1),
    ]
    fresh, _ = without_repeats(found, Told(), again=False)
    assert answer in quotations_block(session, fresh, "What does the necklace mean?", UTC, 600)
