"""All ports of one store."""

from dataclasses import dataclass

from gateway_memory.store.ports.documents import Documents, Records
from gateway_memory.store.ports.episodes import Episodes
from gateway_memory.store.ports.health import Health
from gateway_memory.store.ports.ledger import Ledger
from gateway_memory.store.ports.links import Links
from gateway_memory.store.ports.notices import Notices
from gateway_memory.store.ports.requests import Requests
from gateway_memory.store.ports.reviews import Reviews
from gateway_memory.store.ports.sessions import Sessions
from gateway_memory.store.ports.signals import Signals
from gateway_memory.store.ports.turns import Turns

__all__ = ["Store"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Store:
    """The ports that an adapter opens: all stored data except the rows of the index.

    signals: None if all who share the store are told by other means.
    """

    documents: Documents
    records: Records
    requests: Requests
    turns: Turns
    episodes: Episodes
    sessions: Sessions
    ledger: Ledger
    links: Links
    reviews: Reviews
    health: Health
    notices: Notices
    signals: Signals | None = None
