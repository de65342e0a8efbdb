"""Signing in to the page: a link that works once, a signed cookie, and a token in each form.

All three are derived from the agent's host token: a browser stays signed in over a restart, and a new host token ends
every sign-in.
"""

import hashlib
import hmac
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote, unquote

COOKIE: Final = "gateway-memory"
COOKIE_SECONDS: Final = 30 * 86400
_LINK_SECONDS: Final = 600.0
_LINKS: Final = 100
_BYTES: Final = 24
_PARTS: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Browser:
    """A browser that is signed in. agent: the agent whose memories it may see. name: tells browsers apart."""

    agent: str
    name: str


class SignIn:
    """Signs browsers in.

    key_of: returns the key of an agent from which cookies and form tokens are made; None for an unknown agent.
    """

    def __init__(self, key_of: Callable[[str], bytes | None]) -> None:
        self._key_of = key_of
        self._links: dict[str, tuple[str, float]] = {}

    def code(self, agent: str) -> str:
        """Return the code of a new link, which works once and for ten minutes."""
        while len(self._links) >= _LINKS:
            del self._links[next(iter(self._links))]
        code = secrets.token_urlsafe(_BYTES)
        self._links[code] = agent, time.time() + _LINK_SECONDS
        return code

    def enter(self, code: str) -> str | None:
        """Return the cookie for a code; None for one that is unknown, used or too old."""
        agent, until = self._links.pop(code, ("", 0.0))
        if time.time() > until:
            return None
        expires = int(time.time()) + COOKIE_SECONDS
        claims = f"{expires}.{secrets.token_hex(8)}.{quote(agent, safe='')}"
        return f"{self._signed(agent, claims)}.{claims}"

    def browser_of(self, cookie: str) -> Browser | None:
        """Return whose cookie this is; None for one that is forged or too old."""
        parts = cookie.split(".", _PARTS - 1)
        if len(parts) != _PARTS or not parts[1].isascii() or not parts[1].isdigit():
            return None
        mac, expires, name, quoted = parts
        agent = unquote(quoted)
        signed = self._signed(agent, f"{expires}.{name}.{quoted}")
        if not signed or not hmac.compare_digest(mac.encode(), signed.encode()) or time.time() > int(expires):
            return None
        return Browser(agent=agent, name=name)

    def form_token(self, browser: Browser) -> str:
        """Return the token that each form of a browser carries, so that no other site can send one."""
        return self._signed(browser.agent, f"form.{browser.name}")

    def is_form_token(self, browser: Browser, token: str) -> bool:
        """Return whether a form came from a page of this browser."""
        return hmac.compare_digest(token.encode("utf-8", "replace"), self.form_token(browser).encode())

    def _signed(self, agent: str, text: str) -> str:
        key = self._key_of(agent)
        return hmac.new(key, text.encode(), hashlib.sha256).hexdigest() if key else ""
