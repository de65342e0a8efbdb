"""User, password and certificates for a broker."""

import os
import ssl
from dataclasses import dataclass
from typing import Literal

from notifier.events import NotifierError
from notifier.settings import MqttSettings

LinkErrorKind = Literal["unreachable", "tls", "credentials", "refused", "subscribe", "lost"]


class LinkError(NotifierError):
    """The broker can't be reached, refused, or the connection was lost; `kind` says which."""

    def __init__(self, kind: LinkErrorKind, message: str) -> None:
        super().__init__(message)
        self.kind = kind


@dataclass(frozen=True, slots=True, kw_only=True)
class Credentials:
    """User and password, None where there are none."""

    username: str | None = None
    password: str | None = None

    def __repr__(self) -> str:
        return "<Credentials>"


def credentials(settings: MqttSettings) -> Credentials:
    """Read user and password from the environment variables that the settings name.

    Raises:
        KeyError: a variable that is named isn't set; its argument is the key of the settings.
    """

    def read(name: str, key: str) -> str | None:
        if name and name not in os.environ:
            raise KeyError(key)
        return os.environ[name] if name else None

    return Credentials(
        username=read(settings.username_env, "usernameEnv"), password=read(settings.password_env, "passwordEnv")
    )


def tls_context(settings: MqttSettings) -> ssl.SSLContext:
    """Read the certificates that the settings name, and the system's. It blocks.

    Raises:
        LinkError: a file can't be read, or is no certificate.
    """
    try:
        context = ssl.create_default_context(cafile=settings.ca_file or None)
        if settings.cert_file:
            context.load_cert_chain(settings.cert_file, settings.key_file or None)
    except (OSError, ssl.SSLError) as error:
        raise LinkError("tls", f"caFile, certFile or keyFile can't be used: {error.strerror or error}") from error
    return context
