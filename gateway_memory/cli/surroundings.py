"""What a valid config says that would silently do something else here: a typo in a name, a file that is not there."""

import os
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path

from gateway_memory.config.scan import KeyPath
from gateway_memory.config.settings import Config, MemorySync
from gateway_memory.errors import ConfigError
from gateway_memory.identity.keys import KINDS
from gateway_memory.serving.place import place_of

__all__ = ["doubts"]

_NEAR = 0.7
_DEFAULTS: KeyPath = ("agents", "defaults", "memorySync")


def doubts(config: Config, environment: Mapping[str, str] = os.environ) -> Iterator[tuple[KeyPath, str]]:
    """Yield the path of each value that would not do what it says on this machine, and what to do."""
    known = set(_of_section(config.defaults, environment))
    yield from (((*_DEFAULTS, *path), message) for path, message in sorted(known, key=str))
    for number, section in enumerate(config.agents.values()):
        new = set(_of_section(section, environment)) - known
        yield from (
            (("agents", "list", number, "memorySync", *path), message) for path, message in sorted(new, key=str)
        )
    yield from _of_service(config)


def _of_section(section: MemorySync, environment: Mapping[str, str]) -> Iterator[tuple[KeyPath, str]]:
    extract, mqtt, store = section.auto_extract, section.notify.mqtt, section.store
    for number, kind in enumerate(extract.exclude_session_types):
        near = get_close_matches(kind, KINDS, n=1, cutoff=_NEAR)
        if kind not in KINDS and near:
            yield ("autoExtract", "excludeSessionTypes", number), f'no session has this type; did you mean "{near[0]}"?'
    if extract.max_wait_seconds < extract.debounce_seconds:
        yield (
            ("autoExtract", "maxWaitSeconds"),
            f"expected at least debounceSeconds ({extract.debounce_seconds:g}), or the debounce never ends by itself",
        )
    for number, owner in enumerate(section.identity.owner):
        if not any(map(str.isalpha, owner)):
            yield (
                ("identity", "owner", number),
                f'a number alone is nobody; expected "channel:sender": "telegram:{owner}"',
            )
    named: list[tuple[KeyPath, str]] = [(("autoExtract", "apiKeyEnv"), extract.api_key_env)]
    if section.notify.enabled and mqtt.enabled:
        named += [
            (("notify", "mqtt", key), name)
            for key, name in (
                ("secretEnv", mqtt.secret_env),
                ("usernameEnv", mqtt.username_env),
                ("passwordEnv", mqtt.password_env),
            )
        ]
        if mqtt.tls:
            files = (("caFile", mqtt.ca_file), ("certFile", mqtt.cert_file), ("keyFile", mqtt.key_file))
            yield from _missing((("notify", "mqtt", key), file) for key, file in files)
    if store.backend == "postgres":
        named.append((("store", "dsnEnv"), store.dsn_env))
    yield from (
        (path, "the environment variable that it names is not set here")
        for path, name in named
        if name and name not in environment
    )


def _of_service(config: Config) -> Iterator[tuple[KeyPath, str]]:
    tls = config.serve.tls
    yield from _missing(
        (("serve", "tls", key), file) for key, file in (("certificate", tls.certificate), ("key", tls.key))
    )
    try:
        place_of(config, workspace=None, default=Path(), host=None, port=None, socket=None)
    except ConfigError as error:
        yield ("serve",), str(error)


def _missing(files: Iterator[tuple[KeyPath, str]]) -> Iterator[tuple[KeyPath, str]]:
    return ((path, "there is no such file") for path, file in files if file and not Path(file).expanduser().is_file())
