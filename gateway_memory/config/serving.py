"""Where the service listens: from the options of the shell and the settings."""

import ipaddress
from dataclasses import replace
from pathlib import Path

from gateway_memory.config.service import ServedAgent, TlsSettings
from gateway_memory.config.settings import Config
from gateway_memory.errors import ConfigError

_ANY = ("0.0.0.0", "::")  # noqa: S104 - to refuse it without names


def serve_options(
    config: Config, *, workspace: Path | None, default: Path, host: str | None, port: int | None, socket: str | None
) -> Config:
    """Return a config whose `serve` says where to serve what. The options that are given take precedence.

    Its folders are absolute, and it has `tls` only where that is used.

    workspace: the option. default: the folder if neither the option nor the config names one.

    Raises:
        ConfigError: the address needs TLS or names, or two agents have one folder.
    """
    settings = config.serve
    if workspace is not None and settings.agents:
        raise ConfigError("serve.agents names the folders of the agents: leave --workspace out, or serve.agents")
    folders = {agent: Path(each.workspace) for agent, each in settings.agents.items()} or {"main": workspace or default}
    workspaces = {agent: folder.expanduser().absolute() for agent, folder in folders.items()}
    if len({folder.resolve() for folder in workspaces.values()}) < len(workspaces):
        raise ConfigError("serve.agents: two agents have the same folder; a token would be good for both")
    # An address that is given as an option takes the place of a socket in the config, and the other way round.
    path = socket if socket is not None else "" if host is not None or port is not None else settings.socket
    address = host if host is not None else settings.host
    tls = settings.tls
    if not path and not _is_loopback(address):
        if not tls.certificate:
            raise ConfigError(
                f"{address}: others can reach this address, so the service needs serve.tls with a certificate and its "
                "key; or listen at 127.0.0.1, or at a Unix socket (--socket)"
            )
        if address in _ANY and not settings.hosts:
            raise ConfigError(f"{address}: serve.hosts must list the names by which clients reach the service")
    serve = replace(
        settings,
        agents={agent: ServedAgent(workspace=str(folder)) for agent, folder in workspaces.items()},
        host="127.0.0.1" if address.lower() == "localhost" else address,
        port=settings.port if port is None else port,
        socket=str(Path(path).expanduser().absolute()) if path else "",
        tls=TlsSettings() if path else tls,
    )
    return replace(config, serve=serve)


def _is_loopback(host: str) -> bool:
    """Return whether an address can be reached from this machine alone. Of names, only localhost is known to be."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"
