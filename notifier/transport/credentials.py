"""User and password at a broker, read from the environment."""

import os
from dataclasses import dataclass

from notifier.settings import MqttSettings

__all__ = ["Credentials", "credentials"]


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
