"""Connect any chat client: name the model's server in the service's config, and make the base URL of each person."""

from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from gateway_memory.config.service import ServeSettings, is_upstream
from gateway_memory.connect.gateways import GATEWAYS
from gateway_memory.connect.json_edit import Edit
from gateway_memory.connect.plan import Plan, Where
from gateway_memory.edge.phrases import SHELL_LANGUAGE, fill, scope_name
from gateway_memory.errors import UsageError, how_to_install
from gateway_memory.scope import OWNER, resolve_scope

if TYPE_CHECKING:
    from gateway_memory.scope import Scope

NAME: Final = "proxy"
_KEYS: Final = ("serve", "proxy", "upstream")


def proxy_plan(where: Where, config: Path | None) -> Plan:
    """Return what the proxy needs: a line of the service's config, beside its folder by default.

    Raises:
        UsageError: the upstream is no base URL, or nothing says which config is meant.
    """
    if config is None and not where.workspace.name:  # `disconnect` knows no folder
        raise UsageError(fill("connect", "proxy_which"))
    path = config or where.workspace.with_name(f"{where.workspace.name}.json5")
    if not where.upstream and where.url:
        raise UsageError(fill("connect", "proxy_no_upstream"))
    if not is_upstream(where.upstream):
        raise UsageError(fill("connect", "proxy_odd_upstream", url=where.upstream))
    edit = Edit(path=path.absolute(), values={_KEYS: where.upstream}, owned=(_KEYS,))
    port = urlsplit(where.url).port  # that of the base URLs, which are told with it
    here = f" --port {port}" if port not in (None, ServeSettings().port) else ""
    serve = f"gateway-memory serve --workspace {where.workspace} --config {edit.path}{here}"
    advice = fill("connect", "proxy", serve=serve, workspace=where.workspace)
    return Plan(changes=(edit,), in_process=True, advice=tuple(advice.split("\n")))


def base_urls(where: Where) -> list[str]:
    """Return the base URL of each person, with a token that is made now, and that of a client of several people.

    A person who has one already is named without it: a token is shown once.

    Raises:
        UsageError: the extra `serve` is not installed, or a name is none.
        WorkspaceError: the tokens can't be read or written.
    """
    try:
        from gateway_memory.serving.tokens import ClientTokens, host_token
    except ModuleNotFoundError:
        raise UsageError(how_to_install("serve")) from None
    tokens = ClientTokens(where.workspace)
    scopes: list[Scope] = [resolve_scope(user=name) for name in where.people] or [resolve_scope(user=OWNER)]
    lines = []
    for scope in scopes:
        whose = scope_name(SHELL_LANGUAGE.get(), scope.key)
        known = next((each for each in tokens.all() if (each.scope, each.name) == (scope.key, NAME)), None)
        if known:
            lines.append(fill("connect", "proxy_known", scope=whose, id=known.id, workspace=where.workspace))
            continue
        _, token = tokens.add(scope, NAME)
        lines.append(f"  {whose}: {where.url}/p/{token}/v1")
    lines.append(fill("connect", "proxy_host", url=f"{where.url}/p/{host_token(where.workspace)}/v1"))
    return lines


HOSTS: Final = {**GATEWAYS, NAME: proxy_plan}
"""What can be connected: the gateways, and any client by the proxy."""
