"""The page as a part of the service: its routes, the sign-in, and the headers of every response."""

import asyncio
import re
import secrets
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from gateway_memory.edge.config_file import NotSavedError
from gateway_memory.edge.phrases import Language
from gateway_memory.errors import UsageError
from gateway_memory.scope import OWNER_KEY, Scope
from gateway_memory.serving.app import Service, Streamed
from gateway_memory.serving.errors import STATUS, ServiceError, error_response, service_error
from gateway_memory.serving.feeds import news
from gateway_memory.serving.page.deleting import confirms, deleted, deletion, deletion_of
from gateway_memory.serving.page.faces import labels_of, talk_label
from gateway_memory.serving.page.forms import Form, read_form
from gateway_memory.serving.page.sign_in import COOKIE, COOKIE_SECONDS, Browser, SignIn
from gateway_memory.serving.page.trying import FIELDS, file_of, said_of, scores_in, share_of
from gateway_memory.serving.page.viewer import Note, Values, View, Viewer, own_address, session_for
from gateway_memory.serving.page.views import TABS, VIEWS
from gateway_memory.serving.page.words import noted, preferred, word
from gateway_memory.store.journal.names import shown_name
from gateway_memory.store.patches import digest_of
from gateway_memory.store.unmarked import without_marks
from gateway_memory.sync.episodes import turn_of

LINK_PATH: Final = "/page/link"
"""Where a host, with its token, gets a link that signs a browser in."""
_Handler = Callable[[Request], Awaitable[Response]]
_HERE: Final = Path(__file__).parent
_STATIC: Final = {
    "page.css": "text/css",
    "htmx.min.js": "text/javascript",
    "live.js": "text/javascript",
    "icon.svg": "image/svg+xml",
}
_LANGUAGE: Final = "gateway-memory-language"
_PURPOSE: Final = b"page"
_COMMANDS: Final = frozenset(
    {"forget", "undo", "correct", "pin", "approve", "reject", "useful", "wrong", "link", "unlink"}
)
"""The commands that forms carry out; each is the same as in a chat."""
_UNDONE_SINGLY: Final = frozenset({"forget", "pin", "approve", "reject"})
"""The commands whose answer has a button that takes back this one change: several may be made at once."""
_VERDICTS: Final = frozenset({"useful", "wrong"})
"""The commands whose answer is worded for the page: what mends a memory is beside it."""
_MEMORY: Final = re.compile(r"[a-z2-7]{8}")
_NOTES: Final = 200
_ONCE_BYTES: Final = 8
_PURPOSES: Final = ("sec-purpose", "purpose", "x-purpose", "x-moz")
_AHEAD: Final = ("prefetch", "prerender", "preview")
"""What the headers of `_PURPOSES` say of a request that nobody has made yet."""
_SAFE: Final = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}


@asynccontextmanager
async def page_routes(service: Service) -> AsyncIterator[Sequence[BaseRoute]]:
    """Serve the page at / meanwhile. An extension of `serve`."""
    page = _Routes(service)
    yield [
        Route(LINK_PATH, page.link, methods=["POST"]),
        Route("/enter", page.enter, methods=["GET"]),
        Route("/leave", page.posted(page.leave), methods=["POST"]),
        Route("/language", page.posted(page.switch), methods=["POST"]),
        Route("/act", page.posted(page.act), methods=["POST"]),
        Route("/document", page.posted(page.save), methods=["POST"]),
        Route("/try", page.posted(page.tune), methods=["POST"]),
        Route("/people/delete", page.posted(page.erase), methods=["POST"]),
        Route("/people/name", page.posted(page.call), methods=["POST"]),
        Route("/news", page.signed_in(page.news), methods=["GET"]),
        Route("/static/{name}", _static, methods=["GET"]),
        *(Route(path, page.shown(view), methods=["GET"]) for path, view in VIEWS.items()),
    ]


class _Routes:
    """Answers the requests of browsers."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._sign_in = SignIn(lambda agent: service.access.derive(agent, _PURPOSE))
        self._notes: OrderedDict[str, list[Note]] = OrderedDict()
        self._done_once: OrderedDict[str, None] = OrderedDict()
        self._templates = Environment(
            loader=FileSystemLoader(_HERE / "templates"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._templates.globals["talk_label"] = talk_label
        self._templates.globals["once"] = partial(secrets.token_hex, _ONCE_BYTES)
        self._templates.globals["tab_paths"] = frozenset(TABS)
        self._templates.globals["tabs"] = [(path, VIEWS[path].__name__, icon) for path, icon in TABS.items()]

    # Signing in

    async def link(self, request: Request) -> Response:
        """Return the path of a link that signs a browser in, to a host with its token."""
        agent = self._service.access.host(request.headers)
        return JSONResponse({"path": f"/enter?code={self._sign_in.code(agent)}"})

    async def enter(self, request: Request) -> Response:
        """Sign a browser in by its link, which only a person's own request uses up."""
        purposes = " ".join(request.headers.get(name, "") for name in _PURPOSES).lower()
        if request.method == "HEAD" or any(word in purposes for word in _AHEAD):  # a preview, a prefetch
            return Response(status_code=403, headers=_SAFE)  # a browser shows no page whose prefetch was refused
        cookie = self._sign_in.enter(request.query_params.get("code", ""))
        if cookie is None:
            return self._message(request, "enter_title", "enter_link", 401)
        answer = RedirectResponse("/", status_code=303, headers=_SAFE)
        self._set(request, answer, COOKIE, cookie)
        return answer

    async def leave(self, request: Request, _: Browser, __: Form) -> Response:
        """Sign a browser out."""
        answer = RedirectResponse("/", status_code=303, headers=_SAFE)
        answer.delete_cookie(COOKIE, httponly=True, samesite="strict", secure=request.url.scheme == "https")
        return answer

    async def switch(self, request: Request, _: Browser, form: Form) -> Response:
        """Show the page in the other language."""
        answer = self._back(form)
        self._set(request, answer, _LANGUAGE, "zh" if form.one("to") == "zh" else "en")
        return answer

    # Changing

    async def act(self, request: Request, browser: Browser, form: Form) -> Response:
        """Carry out a command for each of its ids, and show the answers on the next page."""
        name, scope = form.one("command"), form.one("of", OWNER_KEY)
        if name not in _COMMANDS:
            raise ServiceError("bad_request", "no form of the page sends this command")
        memory = self._service.agent(browser.agent).memory
        whose = form.one("whose", scope)
        session = await session_for(memory, whose, _language(request))
        text = " ".join(form.each("text"))
        if (once := form.one("once")) and not self._is_first(once):
            self._note(browser, Note(text=word(_language(request), "undone_before"), done=True))
            return self._back(form)
        for identity in form.each("id"):
            answer = await memory.answer(session, f"/memory {name} {identity} {text}".rstrip())
            if answer is not None:
                said = (
                    word(session.language, f"verdict_noted_{name}")
                    if answer.done and name in _VERDICTS
                    else noted(session.language, answer.text)
                )
                is_one = _MEMORY.fullmatch(identity) or turn_of(identity)
                undo = identity if answer.done and name in _UNDONE_SINGLY and is_one else ""
                self._note(browser, Note(text=said, done=answer.done, undo=undo, of=whose))
        return self._back(form)

    def _is_first(self, once: str) -> bool:
        """Return whether a form is sent for the first time. A second undo would go one step further back."""
        is_first = once[:_NOTES] not in self._done_once
        self._done_once[once[:_NOTES]] = None
        if len(self._done_once) > _NOTES:
            self._done_once.popitem(last=False)
        return is_first

    async def save(self, request: Request, browser: Browser, form: Form) -> Response:
        """Save MEMORY.md, or show it again where it has changed meanwhile."""
        viewer = await self._viewer(request, browser, form.one("of", OWNER_KEY))
        text, browsing = form.one("text").replace("\r\n", "\n"), viewer.memory.browsing
        if not await browsing.save_document(viewer.session, text, digest=form.one("was")):
            now = await browsing.document(viewer.session)
            values = {"text": text, "was": digest_of(now), "readable": True, "now": without_marks(now)}
            return self._render("document", values, viewer, 409)
        self._note(browser, Note(text=viewer.word("document_saved"), done=True))
        return RedirectResponse(viewer.link("/document"), status_code=303, headers=_SAFE)

    async def tune(self, request: Request, browser: Browser, form: Form) -> Response:
        """Save least scores in the config file in force, and let them apply from the next reply on."""
        viewer = await self._viewer(request, browser, form.one("of", OWNER_KEY))
        file, now = file_of(viewer), scores_in(viewer.session.settings.auto_recall)
        given = {field: share_of(form.one(field)) for field in FIELDS if form.one(field)}
        values = {FIELDS[field]: value for field, value in given.items() if value != now[field]}
        try:
            if values:
                config = await asyncio.to_thread(file.save, values, digest=form.one("was"))
                for each in self._service.open.values():
                    each.retune(config)
        except NotSavedError as error:
            self._note(browser, Note(text=said_of(viewer, error), done=False))
        else:
            self._note(browser, Note(text=viewer.word("try_saved", file=file.path), done=True))
        return self._back(form)

    async def erase(self, request: Request, browser: Browser, form: Form) -> Response:
        """Delete a scope and those that are linked with it, once its name was typed, and show the proof."""
        viewer = await self._viewer(request, browser, form.one("of", OWNER_KEY))
        typed, there = form.one("typed"), deletion_of(viewer)
        if not confirms(viewer, typed):
            return self._render("deletion", await deletion(viewer, typed), viewer)
        try:
            async with AsyncExitStack() as stack:
                if not there.store.is_shared:
                    await stack.enter_async_context(self._service.open[browser.agent].closed())
                proof = await asyncio.to_thread(there.delete, Scope.parse(viewer.of))
        except UsageError:  # another process has it open
            self._note(browser, Note(text=viewer.word("delete_not_alone"), done=False))
            return RedirectResponse(viewer.link("/people/delete"), status_code=303, headers=_SAFE)
        after = replace(viewer, of=OWNER_KEY, path="/people", query={})  # no link leads to what is gone
        return self._render("deleted", {**deleted(proof), "name": viewer.name}, after)

    async def call(self, request: Request, browser: Browser, form: Form) -> Response:
        """Store what a person calls a scope, or take that name back."""
        viewer = await self._viewer(request, browser, form.one("whose"))
        name, scope = shown_name(form.one("name")), Scope.parse(viewer.of)
        await viewer.memory.browsing.people.call(scope, name)
        labels = await labels_of(viewer.memory.browsing.people, [scope], viewer.language)
        self._note(browser, Note(text=viewer.word("called", name=labels[scope]), done=True))
        return self._back(form)

    async def news(self, _: Request, browser: Browser) -> Response:
        """Stream an event whenever a page may look different."""
        memory, feed = self._service.agent(browser.agent).memory, self._service.feeds[browser.agent]
        listener = feed.add("page")
        return Streamed(feed, listener, news(listener, memory))

    def signed_in(self, act: Callable[[Request, Browser], Awaitable[Response]]) -> _Handler:
        """Return the handler of a request that needs a sign-in."""

        async def handle(request: Request) -> Response:
            browser = self._sign_in.browser_of(request.cookies.get(COOKIE, ""))
            if browser is None:
                return self._message(request, "enter_title", "enter_how", 401)
            try:
                return await act(request, browser)
            except Exception as error:  # noqa: BLE001 - a person sees a page, whatever happens; it is logged
                return self._failed(request, browser, service_error(error))

        return handle

    def posted(self, act: Callable[[Request, Browser, Form], Awaitable[Response]]) -> _Handler:
        """Return the handler of a form: it comes from this browser, and from a page of ours."""

        async def handle(request: Request, browser: Browser) -> Response:
            return await act(request, browser, await self._form(request, browser))

        return self.signed_in(handle)

    async def _form(self, request: Request, browser: Browser) -> Form:
        own = {f"{scheme}://{request.headers['host'].strip().lower()}" for scheme in ("http", "https")}
        if any(origin.lower() not in own for origin in request.headers.getlist("origin")):
            raise ServiceError("forbidden", "")
        form = await read_form(request, self._service.limits)
        if not self._sign_in.is_form_token(browser, form.one("form_token")):
            raise ServiceError("forbidden", "")
        return form

    # Showing

    def shown(self, view: View) -> _Handler:
        """Return the handler of a page."""

        async def handle(request: Request, browser: Browser) -> Response:
            viewer = await self._viewer(request, browser, request.query_params.get("of", OWNER_KEY))
            return self._render(view.__name__, await view(viewer), viewer)

        return self.signed_in(handle)

    async def _viewer(self, request: Request, browser: Browser, of: str) -> Viewer:
        memory, language = self._service.agent(browser.agent).memory, _language(request)
        session = await session_for(memory, of, language)
        scope = Scope.parse(of)
        return Viewer(
            memory=memory,
            session=session,
            of=of,
            name=(await labels_of(memory.browsing.people, [scope], language))[scope],
            language=language,
            path=request.url.path,
            query={**dict(request.query_params), **request.path_params},
            form_token=self._sign_in.form_token(browser),
            notes=self._notes.pop(browser.name, ()),
            in_path=request.path_params,
        )

    def _render(self, page: str, values: Values, viewer: Viewer, status: int = 200) -> Response:
        template = self._templates.get_template(f"{page}.html")
        text = template.render(viewer=viewer, word=viewer.word, link=viewer.link, **values)
        return HTMLResponse(text, status_code=status, headers=_SAFE)

    def _failed(self, request: Request, browser: Browser, error: ServiceError) -> Response:
        self._service.metrics.count(f"page.refused.{error.code}")
        if request.method == "POST" and error.code == "bad_request" and str(error) and _language(request) == "en":
            self._note(browser, Note(text=str(error), done=False))
        why = {"not_found": "not_found", "forbidden": "forged"}.get(error.code, "went_wrong")
        return self._message(request, why, "", STATUS[error.code])

    def _message(self, request: Request, title: str, why: str, status: int) -> Response:
        language = _language(request)
        text = self._templates.get_template("alone.html").render(
            language=language,
            title=word(language, title),
            why=why and word(language, why),
            word=partial(word, language),
        )
        return HTMLResponse(text, status_code=status, headers=_SAFE)

    def _note(self, browser: Browser, note: Note) -> None:
        """Keep what was answered for the next page of a browser."""
        self._notes.setdefault(browser.name, []).append(note)
        while len(self._notes) > _NOTES:
            self._notes.popitem(last=False)

    def _back(self, form: Form) -> Response:
        """Return to the page from which a form came, if that is one of ours."""
        return RedirectResponse(own_address(form.one("back")) or "/", status_code=303, headers=_SAFE)

    def _set(self, request: Request, answer: Response, name: str, value: str) -> None:
        secure = request.url.scheme == "https"
        answer.set_cookie(name, value, max_age=COOKIE_SECONDS, httponly=True, samesite="strict", secure=secure)


def _language(request: Request) -> Language:
    return preferred(request.headers.get("accept-language", ""), request.cookies.get(_LANGUAGE, ""))


async def _static(request: Request) -> Response:
    name = request.path_params["name"]
    if name not in _STATIC:
        return error_response(ServiceError("not_found", "there is nothing here"))
    headers: dict[str, Any] = {**_SAFE, "Cache-Control": "max-age=3600"}
    return FileResponse(_HERE / "static" / name, media_type=_STATIC[name], headers=headers)
