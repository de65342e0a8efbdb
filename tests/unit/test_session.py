"""Scopes and sessions: whose memory it is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway_memory import OWNER, UsageError
from gateway_memory.session import Scope, resolve_scope, session_type

NAMES = st.text(min_size=1).filter(lambda name: name.strip() != "")


@given(NAMES, NAMES)
def test_different_names_have_different_folders_that_stay_inside(one: str, other: str) -> None:
    for kind in ("user", "room"):
        first, second = (
            resolve_scope(user=None, room=name) if kind == "room" else resolve_scope(user=name, room=None)
            for name in (one, other)
        )
        assert (first == second) == (first.key == second.key) == (first.folder == second.folder)
        for scope in (first, second):
            parent, _, name = scope.folder.partition("/")
            assert parent == ("people" if kind == "user" else "rooms")
            assert "/" not in name
            assert name not in (".", "..")
            assert not name.startswith(".")
            assert len(name.encode()) < 255
    assert resolve_scope(user=one, room=None).folder != resolve_scope(user=None, room=one).folder


def test_the_owner_is_named_by_the_constant_and_by_no_string() -> None:
    assert resolve_scope(user=OWNER, room=None) == Scope("owner", "")
    assert resolve_scope(user="owner", room=None).folder.startswith("people/owner-")


@pytest.mark.parametrize(
    "values", [{"user": None, "room": None}, {"user": OWNER, "room": "r"}, {"user": "a", "room": "r"}]
)
def test_exactly_one_of_user_and_room(values: dict[str, str | None]) -> None:
    with pytest.raises(UsageError, match="exactly one"):
        resolve_scope(**values)


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("agent:main:telegram:direct:42", "direct"),
        ("agent:main:discord:group:5", "group"),
        ("agent:main:discord:channel:5:thread:6", "channel"),
        ("agent:main:main", "main"),
        ("my own key", "direct"),
    ],
)
def test_a_key_tells_the_type_of_its_session(key: str, expected: str) -> None:
    assert session_type(key, Scope("owner", "")) == expected
    assert session_type(key, Scope("room:r", "rooms/r")) == "group"
