"""Bad input from outside: what browsers and scrapers may ask of a service, and what a model's server may answer."""

import gzip
import re
import threading
import tracemalloc
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Final

import httpx2
from attacks import Try, shell
from service import running

from extractor import ExtractorSettings, Model, ModelError, Turn
from gateway_memory.serving.page.views import VIEWS
from recall import EmbedderSettings, EmbeddingError
from recall.encoding.server import ServerEncoder

__all__ = ["hostile_servers", "odd_requests"]

VALUES: Final = (
    "9" * 35, "9" * 5_000, str(2**63), "-1", "1e999", "NaN", "0001-01-01", "9999-12-31", "2026-02-31",
    "%00", "%ED%A0%80", "%FF", "a" * 5_000, "", "%27%3B--", "..%2F..%2Fetc", "user%3A", "%D9%A3",
)  # fmt: skip
NAMES: Final = ("q", "kind", "category", "type", "since", "until", "session", "before", "skip", "time", "of")
LISTS: Final = frozenset({"/memories", "/digest", "/review", "/replies"})
"""The pages that read more of a query than whose memory they show."""
FIELDS: Final = ("command", "of", "whose", "text", "id", "was", "typed", "to", "back")
FORMS: Final = ("/act", "/document", "/people/delete", "/language")
AHEAD: Final[tuple[tuple[str, dict[str, str]], ...]] = (
    ("HEAD", {}),
    ("GET", {"Sec-Purpose": "prefetch"}),
    ("GET", {"X-Purpose": "preview"}),
)
TABS: Final = 16
BOMB: Final = gzip.compress(b" " * 200_000_000)
MOST_MEMORY: Final = 64_000_000


async def odd_requests(folder: Path) -> AsyncIterator[Try]:
    """Every page and form with each value in each place; then a link, tabs and tokens."""
    with running(folder) as (address, token, _), httpx2.Client(base_url=address, timeout=60) as browser:
        host = {"Authorization": f"Bearer {token}"}
        link = browser.post("/page/link", headers=host).json()["path"]
        for method, headers in AHEAD:
            browser.request(method, link, headers=headers)
        yield Try(name="a link is there until somebody opens it", held=browser.get(link).status_code == 303)
        for where, answer in _asked(browser):
            yield Try(name=where[:80], held=answer.status_code < 500)
        with ExitStack() as tabs:
            for _ in range(TABS):
                tabs.enter_context(browser.stream("GET", "/news"))
            with browser.stream("GET", "/v1/changes", headers=host) as changes:
                yield Try(name="open tabs leave the gateway its changes", held=changes.status_code == 200)
        made = shell("token", "add", "--metrics", "--workspace", str(folder))
        scraper = {"Authorization": f"Bearer {made.stdout.decode().strip()}"}
        yield Try(name="a token reads metrics", held=browser.get("/metrics", headers=scraper).status_code == 200)
        for method, path in (("GET", "/v1/changes"), ("POST", "/v1/search"), ("POST", "/page/link"), ("POST", "/mcp")):
            refused = httpx2.request(method, f"{address}{path}", headers=scraper).status_code in (401, 403)
            yield Try(name=f"and nothing at {path}", held=refused)


def _asked(browser: httpx2.Client) -> Iterator[tuple[str, httpx2.Response]]:
    form = re.search(r'name="form_token" value="([0-9a-f]+)"', browser.get("/").text)
    assert form
    urlencoded = {"Content-Type": "application/x-www-form-urlencoded"}
    for value in VALUES:
        for path in VIEWS:
            known = path.format(id="aaaaaaaa", turn=1, day="2026-11-20")
            if known != path:
                yield path, browser.get(path.format(id=value, turn=value, day=value))
            for name in NAMES if path in LISTS else ("of",):
                yield f"{path} {name}", browser.get(f"{known}?{name}={value}&{name}={value}")
        for path in FORMS:
            for name in FIELDS:
                body = f"form_token={form[1]}&command=undo&{name}={value}&{name}={value}"
                yield f"{path} {name}", browser.post(path, content=body, headers=urlencoded)


async def hostile_servers() -> AsyncIterator[Try]:
    """A model's and an embedding server that send a bomb, no end, or back to themselves: one request, little memory."""
    for kind in ("bomb", "endless", "redirect"):
        with _server(kind) as (url, asked):
            for name in ("openai/small", "anthropic/small"):
                asked.clear()
                base = f"{url}/v1" if name.startswith("openai") else url
                model = Model(ExtractorSettings(model=name, base_url=base, timeout_seconds=30))
                tracemalloc.start()
                try:
                    turn = Turn(id=1, user="I moved to Lisbon last spring", reply="How nice!", at=datetime.now(UTC))
                    await model.extract([turn], [], now=turn.at, speaker="the owner")
                    held = False
                except ModelError:
                    held = len(asked) == 1 and tracemalloc.get_traced_memory()[1] < MOST_MEMORY
                finally:
                    tracemalloc.stop()
                    await model.close()
                yield Try(name=f"{name}: {kind}", held=held)
            asked.clear()
            yield Try(name=f"embeddings: {kind}", held=_refused(url) and len(asked) == 1)


def _refused(url: str) -> bool:
    """Return whether an encoder refuses a server. It has a loop of its own, and so a thread."""
    refused: list[str] = []

    def ask() -> None:
        try:
            ServerEncoder(EmbedderSettings(provider="openai", model="small", base_url=f"{url}/v1"))
        except EmbeddingError as error:
            refused.append(error.kind)

    thread = threading.Thread(target=ask)
    thread.start()
    thread.join()
    return bool(refused)


@contextmanager
def _server(kind: str) -> Iterator[tuple[str, list[str]]]:
    """Serve one kind of answer meanwhile; yields the address, and the list of what was asked."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            asked.append(self.path)
            self.send_response(307 if kind == "redirect" else 200)
            self.send_header("Content-Type", "application/json")
            if kind == "redirect":
                self.send_header("Location", self.path)
            if kind == "bomb":
                self.send_header("Content-Encoding", "gzip")
            length = {"redirect": 0, "bomb": len(BOMB), "endless": 10**10}[kind]
            self.send_header("Content-Length", str(length))
            self.end_headers()
            part = {"redirect": b"", "bomb": BOMB, "endless": b" " * 65_536}[kind]
            try:
                for _ in range(10**10 // 65_536 if kind == "endless" else 1):
                    self.wfile.write(part)
            except OSError:  # the client has had enough
                self.close_connection = True

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", asked
        finally:
            server.shutdown()
