"""What goes wrong with a connection."""

from typing import Literal

from notifier.types import NotifierError

__all__ = ["Kind", "LinkError"]

Kind = Literal["unreachable", "tls", "credentials", "refused", "subscribe", "lost"]


class LinkError(NotifierError):
    """The broker can't be reached, refused, or the connection was lost; `kind` says which."""

    def __init__(self, kind: Kind, message: str) -> None:
        super().__init__(message)
        self.kind = kind
