"""What a host knows of a message's sender, and who that is."""

from dataclasses import dataclass, fields

from gateway_memory.config.identity import channel_name, normalized
from gateway_memory.errors import UsageError
from gateway_memory.scope import Owner, Scope, Whose, is_name, resolve_scopes

__all__ = ["Facts", "Refused", "Speaker", "checked"]

_FLAG = "is_owner"


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What a host knows of a message's sender. "" or None: it does not know.

    key: the host's session key. It proves nothing about the sender.
    agent: the agent that is spoken to.
    channel: "telegram", "discord" …; compared without regard to case.
    chat_type: "direct", "group", "channel" or "thread".
    chat_id: the id of the chat, group or thread.
    sender_id: the sender's id as the channel has verified it, never a name that the sender chose.
    account_id: the host's own account on the channel that received the message.
    is_owner: whether the host has verified that its owner is speaking.
    person: the name of the person as whom the host has verified the sender.
    message_id: the id of the message on the channel.
    project: the name of the project that the conversation is about. Whoever speaks reads the project's memory then.
    """

    key: str
    agent: str | None = "main"
    channel: str | None = ""
    chat_type: str | None = ""
    chat_id: str | None = ""
    sender_id: str | None = ""
    account_id: str | None = ""
    is_owner: bool | None = False
    person: str | None = ""
    message_id: str | None = ""
    project: str | None = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Speaker:
    """Whose memory a message belongs to: exactly one of `user` (OWNER or a name) and `room` (a name) is given."""

    user: Owner | str | None = None
    room: str | None = None
    project: str | None = None

    @property
    def whose(self) -> Whose:
        """The keyword arguments of `start_session`."""
        return {"user": self.user, "room": self.room, "project": self.project}

    @property
    def scope(self) -> Scope:
        """The scope of the memory."""
        return resolve_scopes(**self.whose)[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """Nobody can be held for the sender. reason: why, and what would settle it."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """Checked facts, in the form in which they are compared; "" for what is not known."""

    key: str
    channel: str
    chat_type: str
    chat_id: str
    sender_id: str
    account_id: str
    person: str
    project: str
    is_owner: bool


def checked(facts: Facts) -> Known:
    """Return the facts in the form in which they are compared.

    Raises:
        UsageError: a fact has another type, or a text that is no name.
    """
    if not isinstance(facts, Facts):
        raise UsageError(f"facts of type {type(facts).__name__}: expected Facts")
    texts: dict[str, str] = {}
    for each in fields(facts):
        value = getattr(facts, each.name)
        if each.name == _FLAG:
            if not isinstance(value, bool | None):
                raise UsageError(f"{_FLAG} of type {type(value).__name__}: expected true or false")
        elif not value and value in ("", None) and each.name != "key":
            texts[each.name] = ""
        elif is_name(value):
            texts[each.name] = normalized(value)
        else:
            raise UsageError(f"{each.name}: expected text with a visible character and without control characters")
    return Known(
        key=texts["key"],
        channel=channel_name(texts["channel"]),
        chat_type=texts["chat_type"].lower(),
        chat_id=texts["chat_id"],
        sender_id=texts["sender_id"],
        account_id=texts["account_id"],
        person=texts["person"],
        project=texts["project"],
        is_owner=facts.is_owner is True,
    )
