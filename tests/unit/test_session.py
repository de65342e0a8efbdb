"""Scopes and sessions: whose memory it is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway_memory import OWNER, UsageError
from gateway_memory.edge.session_key import session_types
from gateway_memory.scope import Scope, is_name, resolve_scope

NAMES = st.text(min_size=1).filter(is_name)


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
        ("agent:main:main", {"main", "direct"}),
        ("agent:main:direct:42", {"direct"}),
        ("agent:main:telegram:direct:42", {"direct"}),
        ("agent:main:telegram:dm:42", {"dm", "direct"}),
        ("agent:main:telegram:work:direct:42", {"direct"}),
        ("agent:main:telegram:direct:group", {"direct"}),
        ("agent:main:telegram:direct:42:thread:7", {"direct", "thread"}),
        ("agent:main:discord:group:5", {"group"}),
        ("agent:main:telegram:group:-100123:topic:42", {"group", "thread"}),
        ("agent:main:discord:channel:5", {"channel", "group"}),
        ("AGENT:Main:Discord:Channel:5:Thread:6", {"channel", "group", "thread"}),
        ("agent:main:matrix:room:!abc:example.org:thread:$x", {"room", "group", "thread"}),
        ("agent:main:cron:job1", {"cron"}),
        ("agent:main:cron:job1:run:9", {"cron"}),
        ("cron:job1", {"cron"}),
        ("hook:5f1c", {"hook"}),
        ("node-5f1c", {"node"}),
        ("agent:main:node-5f1c", {"node"}),
        ("agent:main:subagent:5f1c", {"subagent"}),
        ("agent:main:webchat:sms:5", {"sms", "webchat", "direct"}),
        ("agent:main", {"direct"}),
        ("group", {"direct"}),
        ("my own key", {"direct"}),
    ],
)
def test_a_key_tells_the_types_of_its_session(key: str, expected: set[str]) -> None:
    assert set(session_types(key, Scope("owner", ""))) == expected
    assert session_types(key, Scope("room:r", "rooms/r")) == ("group",)


@pytest.mark.parametrize("name", ["", " ", "\u3000", "\u200b", "\x00", "a\x00b", "a\nb", "\ud800", "a\udfff", "\u202e"])
def test_what_is_no_name_is_refused(name: str) -> None:
    assert not is_name(name)
    for values in ({"user": name, "room": None}, {"user": None, "room": name}):
        with pytest.raises(UsageError, match="expected a name"):
            resolve_scope(**values)
