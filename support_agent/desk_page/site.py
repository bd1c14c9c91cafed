"""The page as an ASGI application: the checks of each request, then the view, then the response with its headers.

Invariant: no view runs without a session, the role that it needs and, where it changes something, the key of a form of
this session; each response forbids scripts and fetches that are not the page's own. This is the only asynchronous
module of the page. Checked by tests/unit/desk_page/test_site.py and tests/journey/test_page_attacks.py.
"""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from importlib.resources import as_file, files
from itertools import chain
from urllib.parse import quote, urlsplit

import structlog
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers, MutableHeaders, UploadFile
from starlette.exceptions import HTTPException
from starlette.formparsers import MultiPartException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from support_agent.config.desk_page import DeskPageSettings
from support_agent.desk_page.markup import rendered
from support_agent.desk_page.people import Person, person_of
from support_agent.desk_page.sessions import Session, Sessions
from support_agent.desk_page.sign_in import Entrance, own_path
from support_agent.desk_page.visit import Desk, Download, Framed, NotFound, Page, Result, SeeOther, Shown, Upload, Visit
from support_agent.desk_page.wording import Wording, chosen_tag
from support_agent.errors import SupportAgentError, TransientError, raised_at

log = structlog.get_logger(__name__)

MAX_FIELDS, MAX_FILES = 200, 20
FIELD_BYTES = 1_000_000
"""Longest field of a form: own words, or a document that is edited."""
SHOWN_CHARACTERS = 100
"""Longest part of what somebody sent that is logged."""
LIVE, SEEN, VERSION = "X-Live", "X-Seen", "X-Version"
"""Headers between the page's script and this module: it looks for news by itself; what it shows; what there is."""
SECTIONS = (("/", "queue"), ("/documents", "documents"), ("/quality", "quality"), ("/operations", "operations"))
"""The links at the top: the address and the code of the word."""
NOT_FOUND_CODES = ("no_case", "no_outbox", "no_mail")
STATUSES = (400, 401, 403, 404, 405, 409, 413, 500, 503)
"""Those that have words of their own."""
COMMON_HEADERS = {
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "SAMEORIGIN",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=()",
}
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; frame-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
FRAMED_POLICY = "default-src 'none'; style-src 'unsafe-inline'; sandbox; base-uri 'none'; frame-ancestors 'self'"
"""Of a mail's HTML in its frame: it is shown with its own styles, and can neither run, fetch nor send anything."""


def open_site(desk: Desk, sessions: Sessions, entrance: Entrance, pages: Sequence[Page]) -> ASGIApp:
    """The application.

    Args:
        entrance: How people sign in.
        pages: The addresses; a path may have one view for GET and one for POST.
    """
    site = _Site(desk, sessions, entrance)
    with as_file(files(__package__).joinpath("static")) as folder:
        static = StaticFiles(directory=folder)
    routes = [Route(page.path, site.endpoint(page), methods=[page.method]) for page in pages]
    signing = [
        Route("/sign-in", site.sign_in),
        Route("/sign-in/{way}", site.signed_in),
        Route("/sign-out", site.sign_out, methods=["POST"]),
        Mount("/static", static),
    ]
    handlers = {HTTPException: site.refused, Exception: site.failed}
    return _Guard(Starlette(routes=[*routes, *signing], exception_handlers=handlers), desk.settings.desk_page)


@dataclass(frozen=True)
class _Site:
    desk: Desk
    sessions: Sessions
    entrance: Entrance

    @property
    def cookie(self) -> str:
        """The cookie's name; browsers accept the prefix only over TLS, for this host and all paths."""
        return "__Host-desk" if self.is_secure else "desk"

    @property
    def is_secure(self) -> bool:
        """Whether browsers reach the page over TLS."""
        return self.desk.settings.desk_page.is_https

    def endpoint(self, page: Page) -> Callable[[Request], Awaitable[Response]]:
        """What answers requests for a page."""

        async def answer(request: Request) -> Response:
            token, session = self._session(request)
            if session is None and (address := self.entrance.address_of(request)) is not None:
                if person_of(self.desk.settings, address) is None:  # has no session, which would end another person's
                    return self._not_let_in(request, address)
                token = self.sessions.open(address)
                session = self.sessions.of(token)
            if session is None:
                if page.method == "POST":
                    raise HTTPException(401)
                return self._see(f"/sign-in?next={quote(_here(request), safe='')}")
            if (person := person_of(self.desk.settings, session.address)) is None:
                raise HTTPException(403)
            if not person.role.covers(page.role):
                raise HTTPException(403)
            visit = await self._visit(request, person, session)
            response = await self._answered(request, page, visit, token, session)
            if token != request.cookies.get(self.cookie):
                self._set_cookie(response, token)
            return response

        return answer

    async def _visit(self, request: Request, person: Person, session: Session) -> Visit:
        fields, uploads = await self._form(request, session) if request.method == "POST" else ({}, ())
        path, query = {key: str(value) for key, value in request.path_params.items()}, dict(request.query_params)
        names = (part for upload in uploads for part in (upload.name, upload.content_type))
        if not all(map(_is_text, (*path.values(), *chain(*query.items(), *fields.items()), *names))):
            raise HTTPException(400)
        return Visit(
            person=person,
            wording=self._wording(request),
            path=path,
            query=query,
            form=fields,
            files=uploads,
        )

    async def _form(self, request: Request, session: Session) -> tuple[dict[str, str], tuple[Upload, ...]]:
        """The fields and files of a form that this session's own page sent.

        Raises:
            HTTPException: 403: another site sent it, or an older session's page; 400: it is no form.
        """
        if request.headers.get("sec-fetch-site", "same-origin") != "same-origin":
            raise HTTPException(403)
        if request.headers.get("origin", self.desk.settings.desk_page.origin) != self.desk.settings.desk_page.origin:
            raise HTTPException(403)
        fields: dict[str, str] = {}
        uploads: list[Upload] = []
        try:
            limits = {"max_files": MAX_FILES, "max_fields": MAX_FIELDS, "max_part_size": FIELD_BYTES}
            async with request.form(**limits) as form:
                for name, value in form.multi_items():
                    if isinstance(value, UploadFile):
                        if value.filename:
                            content_type = value.content_type or "application/octet-stream"
                            uploads.append(Upload(value.filename, content_type, await value.read()))
                    else:
                        fields[name] = value
        except MultiPartException as error:
            raise HTTPException(400) from error
        if not session.is_form_key(fields.pop("form_key", "")):
            raise HTTPException(403)
        return fields, tuple(uploads)

    async def _answered(self, request: Request, page: Page, visit: Visit, token: str, session: Session) -> Response:
        if page.method == "POST":
            what = visit.form.get("do", "")
            log.info("desk_page_act", who=visit.person.address, path=request.url.path, what=what[:SHOWN_CHARACTERS])
        try:
            result = await run_in_threadpool(page.view, self.desk, visit)
        except NotFound:
            raise HTTPException(404) from None
        except SupportAgentError as error:
            raise HTTPException(_status_of(error), str(error)) from error
        return self._response(request, visit, result, token, session)

    def _response(self, request: Request, visit: Visit, result: Result, token: str, session: Session) -> Response:
        match result:
            case SeeOther():
                if result.said:
                    self.sessions.leave_notice(token, result.said, is_error=result.is_error)
                return self._see(result.to)
            case Download():
                return _download(result)
            case Framed():
                return Response(result.html, media_type="text/html", headers={"Content-Security-Policy": FRAMED_POLICY})
            case Shown():
                is_live = LIVE in request.headers
                notice = None if is_live else self.sessions.take_notice(token)
                values = {**result.values, **self._common(request, visit.wording), "visit": visit}
                values |= {"form_key": session.form_key, "notice": notice, "person": visit.person}
                body = rendered(result.template, values)
                version = hashlib.sha256(body.encode("utf-8", "surrogatepass")).hexdigest()[:16]
                if is_live and request.headers.get(SEEN) == version:
                    return Response(status_code=204)
                return Response(body, 200, {VERSION: version}, "text/html")

    def _common(self, request: Request, wording: Wording) -> dict[str, object]:
        page = self.desk.settings.desk_page
        return {
            "w": wording,
            "here": request.url.path,
            "company": self.desk.settings.company.name,
            "live_s": page.live_s,
            "now": self.desk.now(),
            "sections": SECTIONS,
        }

    # Signing in and out

    async def sign_in(self, request: Request) -> Response:
        """Begin to sign in, or say how to."""
        where = await run_in_threadpool(self.entrance.begin, request, own_path(request.query_params.get("next", "")))
        return self._plain(request, f"by_{where}", 401) if isinstance(where, str) else where

    async def signed_in(self, request: Request) -> Response:
        """End a sign-in: open a session with an id of its own, whatever cookie the browser had."""
        came = await run_in_threadpool(self.entrance.end, request)
        if came is None or person_of(self.desk.settings, came.address) is None:
            return self._not_let_in(request, came.address if came is not None else None)
        token, _ = self._session(request)
        self.sessions.close(token)
        log.info("desk_page_signed_in", who=came.address)
        response = self._see(came.to)
        self._set_cookie(response, self.sessions.open(came.address))
        return response

    def _not_let_in(self, request: Request, address: str | None) -> Response:
        """Somebody signed in, or a proxy named somebody, who is none of the desk's people."""
        log.warning("desk_page_not_let_in", who=address[:SHOWN_CHARACTERS] if address is not None else None)
        return self._plain(request, "not_let_in", 403)

    async def sign_out(self, request: Request) -> Response:
        """End the session."""
        token, session = self._session(request)
        if session is not None:
            await self._form(request, session)
            self.sessions.close(token)
            log.info("desk_page_signed_out", who=session.address)
        response = self._plain(request, "signed_out", 200)
        response.delete_cookie(self.cookie, secure=self.is_secure, httponly=True, samesite="lax")
        return response

    def _session(self, request: Request) -> tuple[str, Session | None]:
        token = request.cookies.get(self.cookie, "")
        session = self.sessions.of(token, is_active=LIVE not in request.headers) if token else None
        if session is not None and not self.entrance.still_is(request, session.address):
            self.sessions.close(token)
            session = None
        return token, session

    def _set_cookie(self, response: Response, token: str) -> None:
        response.set_cookie(self.cookie, token, path="/", secure=self.is_secure, httponly=True, samesite="lax")

    # Errors

    async def refused(self, request: Request, error: Exception) -> Response:
        """A page for a request that is refused; for an error of the agent it says what to do."""
        status = error.status_code if isinstance(error, HTTPException) else 500
        code = f"status_{status if status in STATUSES else 400}"
        said = str(error.detail) if isinstance(error, HTTPException) and error.__cause__ is not None else ""
        return self._plain(request, code, status, said)

    async def failed(self, request: Request, error: Exception) -> Response:
        """A page for a defect of this program; `_Guard` logs it."""
        return self._plain(request, "status_500", 500)

    def _plain(self, request: Request, code: str, status: int, said: str = "") -> Response:
        """A page that only says something."""
        wording = self._wording(request)
        values = {**self._common(request, wording), "code": code, "said": said}
        return Response(rendered("plain.html", values), status, media_type="text/html")

    def _wording(self, request: Request) -> Wording:
        tag = chosen_tag(request.headers.get("accept-language", ""))
        return Wording(tag, self.desk.settings.hours.time_zone)

    @staticmethod
    def _see(path: str) -> Response:
        return RedirectResponse(path, 303)


@dataclass(frozen=True)
class _Guard:
    """What holds for every request and response: the host's name, the size, the headers."""

    app: ASGIApp
    settings: DeskPageSettings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        headers = Headers(scope=scope)
        if headers.getlist("host") != [urlsplit(self.settings.origin).netloc]:
            return await Response("another host", 421)(scope, receive, _with_headers(send))
        left = self.settings.max_upload_bytes

        async def limited() -> Message:
            nonlocal left
            message = await receive()
            left -= len(message.get("body", b""))
            if left < 0:
                raise HTTPException(413)
            return message

        if not all(_is_small(length, left) for length in headers.getlist("content-length")):
            return await Response("too large", 413)(scope, receive, _with_headers(send))
        try:
            await self.app(scope, limited, _with_headers(send))
        except ClientDisconnect:
            log.info("desk_page_left", path=scope["path"])
        except Exception as error:  # a traceback with its values would write mails and session ids into the log
            log.error("desk_page_failed", path=scope["path"], error=type(error).__name__, at=raised_at(error))


def _is_small(length: str, limit: int) -> bool:
    return length.isascii() and length.isdigit() and len(length) < 20 and int(length) <= limit


def _is_text(given: str) -> bool:
    """Whether it can be stored: PostgreSQL takes no NUL, and a charset of the form's choice can make surrogates."""
    return "\0" not in given and not any("\ud800" <= character <= "\udfff" for character in given)


def _with_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in {**COMMON_HEADERS, "Content-Security-Policy": POLICY}.items():
                headers.setdefault(name, value)
        await send(message)

    return sending


def _download(file: Download) -> Response:
    headers = {
        "Content-Disposition": f"attachment; filename*=UTF-8''{quote(file.name, safe='')}",
        "Content-Security-Policy": "default-src 'none'; sandbox",
    }
    return Response(file.data, media_type=file.content_type, headers=headers)


def _here(request: Request) -> str:
    query = request.url.query
    return f"{request.url.path}?{query}" if query else request.url.path


def _status_of(error: SupportAgentError) -> int:
    if error.code in NOT_FOUND_CODES:
        return 404
    return 503 if isinstance(error, TransientError) else 409
