"""Who may ask: this machine, this browser, these pages; and what browsers may do with an answer.

The server listens on the loopback address alone. Other programs can reach that, and so can any page
that a browser has open, so every request must show:

- Host: the address it was opened by. A name that an attacker's DNS points at this machine
  (rebinding) is another host.
- Origin and Sec-Fetch-Site, where the browser sends them: no other page asks, links here or shows
  us, not even one of another port of this machine.
- the session: the token in the opened address lets one browser in, once, which then has a
  SameSite=Strict, HttpOnly cookie that dies with the server.
- for all that may change something, the session's own word (CSRF) in the form's first field or in
  a header: other sites cannot read it.

A body is limited before it is read. Answers are not stored, run no script but ours, and are shown
in no frame.

Stands apart: all that keeps strangers out, in one place, whatever the pages do.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from html import escape
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import HTMLResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LOOPBACK = "127.0.0.1"
CSRF = "csrf"  # the field of a form, first in it
HEADER = "x-csrf"  # or the header of a script's request
TOKEN = "token"
LARGEST_FORM = 8 << 20  # bytes of a form without files
_MOST_FIELDS = 5_000  # of a form
_HEAD = 1 << 12  # bytes of an upload within which its first field must end
_SAFE = ("GET", "HEAD")
_CHANGING = ("POST",)
POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self' 'unsafe-inline'",  # widths of bars, and what Plotly writes
        "img-src 'self' data: blob:",
        "font-src 'self' data:",
        "connect-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    )
)
_HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    # Not "no-referrer": browsers then send Origin: null with our own forms, too.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cache-Control": "no-store",
}


@dataclass
class Door:
    """Lets one browser in by a token, once, and knows it afterwards by its cookie."""

    port: int
    left: Callable[[str], bool] = lambda _: False  # whether the owner left this token for us
    _token: str | None = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)
    _sessions: dict[str, str] = field(default_factory=dict, repr=False)  # cookie: word of its forms

    @property
    def hosts(self) -> tuple[str, ...]:
        return tuple(f"{name}:{self.port}" for name in (LOOPBACK, "localhost"))

    @property
    def cookie(self) -> str:
        return f"sfumato-{self.port}"  # browsers do not tell ports apart

    @property
    def address(self) -> str:
        """Where to open it, with the token; without, once it was used."""
        return address_of(self.port, self._token)

    def enter(self, token: str) -> str | None:
        """The cookie of a new session, if the token is right and was not used before."""
        right = self._token is not None and _equal(self._token, token)
        if right:
            self._token = None
        elif not self.left(token):
            return None
        cookie = secrets.token_urlsafe(32)
        self._sessions[cookie] = secrets.token_urlsafe(32)
        return cookie

    def word_of(self, headers: Headers) -> str | None:
        """What forms of this browser's session must say; None if it has none."""
        # Other servers of this machine leave cookies of any shape, even of our name, beside ours.
        session_word = None
        for text in ";".join(headers.getlist("cookie")).split(";"):
            name, _, sent = text.strip().partition("=")
            for cookie, word in self._sessions.items():
                if name == self.cookie and _equal(cookie, sent):
                    session_word = word
        return session_word


def address_of(port: int, token: str | None) -> str:
    """Where the workbench is, by its one-time token."""
    return f"http://{LOOPBACK}:{port}/" + ("" if token is None else f"?{TOKEN}={token}")


def _equal(first: str, second: str) -> bool:
    return secrets.compare_digest(first.encode(), second.encode())


class Gatekeeper:
    """The middleware around all pages."""

    def __init__(self, app: ASGIApp, door: Door, uploads: Mapping[str, int]) -> None:
        self._app = app
        self._door = door
        self._uploads = uploads  # the paths that take files, and how large they may be

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":  # there are no websockets
            return
        answer = _with_headers(send)
        refusal = self._refusal(scope)
        if refusal is None and scope["method"] in _SAFE:
            refusal = _body_where_none_belongs(Headers(scope=scope))
        elif refusal is None:
            receive, refusal = await self._checked_body(scope, receive)
        if refusal is not None:
            await refusal(scope, receive, answer)
            return
        await self._app(scope, receive, answer)

    def _refusal(self, scope: Scope) -> Response | None:
        """What to answer instead of the page; None lets the request pass."""
        headers = Headers(scope=scope)
        hosts = headers.getlist("host")
        if len(hosts) != 1 or hosts[0].lower() not in self._door.hosts:
            return refused(421, "This is another host", "Open the address that the terminal shows.")
        origins = headers.getlist("origin")
        if any(origin.lower() != f"http://{hosts[0].lower()}" for origin in origins):
            return refused(403, "Another page asked", "Only pages of this workbench may ask it.")
        token = parse_qs(scope["query_string"].decode("latin-1")).get(TOKEN)
        enters = scope["path"] == "/" and scope["method"] == "GET" and token
        site = headers.get("sec-fetch-site", "none")
        if not enters and site not in ("none", "same-origin"):
            return refused(
                403, "Another page led here", "Copy the address from the terminal instead."
            )
        if scope["method"] not in (*_SAFE, *_CHANGING):
            return refused(405, "Not done here", "Pages ask by GET and POST alone.")
        word = self._door.word_of(headers)
        if enters and token:
            return self._admit(token[0], known=word is not None)
        if word is None:
            return refused(
                403,
                "Please come in by the address in the terminal",
                "The address that sfumato serve printed lets one browser in, once. "
                "To get in again, or from another browser, run the same sfumato serve command once "
                "more: it prints a new address to the workbench that runs.",
            )
        scope["sfumato.csrf"] = word
        return None

    def _admit(self, token: str, *, known: bool) -> Response:
        entered = self._door.enter(token)
        if entered is None:
            if known:
                return HTMLResponse(_ENTER)
            return refused(
                403,
                "This address was used",
                "It lets one browser in, once. Run the same sfumato serve command once more: it "
                "prints a new address to the workbench that runs.",
            )
        response = HTMLResponse(_ENTER)
        response.set_cookie(self._door.cookie, entered, httponly=True, samesite="strict", path="/")
        return response

    async def _checked_body(
        self, scope: Scope, receive: Receive
    ) -> tuple[Receive, Response | None]:
        """The body again, if it is small enough and says the session's word."""
        headers = Headers(scope=scope)
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        # What is no form with files is read whole before it is looked at.
        files = kind == "multipart/form-data"
        limit = self._uploads.get(scope["path"], LARGEST_FORM) if files else LARGEST_FORM
        if _told_length(headers) > limit:
            return receive, too_large(limit)
        word: str = scope["sfumato.csrf"]
        sent_word = headers.get(HEADER)
        body = _Body(receive, limit)
        if files:
            # The rest is read as it comes: it may be large.
            await body.read(_HEAD)
            sent_word = sent_word or _first_field(bytes(body.content), headers["content-type"])
        else:
            await body.read(limit + 1)
            if sent_word is None and kind == "application/x-www-form-urlencoded":
                sent_word = _field_of(bytes(body.content))
        if len(body.content) > limit:
            return receive, too_large(limit)
        if body.gone:
            return receive, refused(400, "Broken off", "The request ended before it was whole.")
        if sent_word is None or not _equal(sent_word, word):
            return receive, refused(
                403, "This form is not from here", "Reload the page and send it again."
            )
        return body.again, None


class _Body:
    """A request's body, whose beginning is read before it is handed on."""

    def __init__(self, receive: Receive, limit: int) -> None:
        self._receive, self._limit = receive, limit
        self.content = bytearray()
        self.more, self.gone, self._handed_on = True, False, False
        self._size = 0

    async def read(self, least: int) -> None:
        while self.more and len(self.content) < least:
            message = await self._receive()
            if message["type"] == "http.disconnect":
                self.more, self.gone = False, True
                return
            self.content += message.get("body", b"")
            self.more = message.get("more_body", False)
        self._size = len(self.content)

    async def again(self) -> Message:
        if not self._handed_on:
            self._handed_on = True
            content, self.content = bytes(self.content), bytearray()
            return {"type": "http.request", "body": content, "more_body": self.more}
        message = await self._receive()
        if message["type"] == "http.request":
            self._size += len(message.get("body", b""))
            if self._size > self._limit:
                raise BodyTooLarge(self._limit)
        return message


class BodyTooLarge(Exception):
    """A body went on beyond its limit."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"more than {limit:,} bytes")
        self.limit = limit


def _told_length(headers: Headers) -> int:
    length = headers.get("content-length", "0")
    return int(length) if re.fullmatch(r"\d{1,18}", length) else 1 << 62


def _body_where_none_belongs(headers: Headers) -> Response | None:
    """The refusal of a GET with a body: nobody reads it, and it has no limit of its own."""
    if _told_length(headers) == 0 and "transfer-encoding" not in headers:
        return None
    return refused(400, "Nothing to read here", "What is only looked at takes no body.")


def _field_of(form: bytes) -> str | None:
    """The word of a form without files."""
    try:
        fields = parse_qs(form.decode("utf-8", "replace"), max_num_fields=_MOST_FIELDS)
    except ValueError:  # more fields than any page of ours has
        return None
    return fields.get(CSRF, [""])[0]


def _first_field(head: bytes, content_type: str) -> str | None:
    """The word of an upload's form: it must be its first field, written as browsers do."""
    boundary = re.search(r'boundary="?([^";,\s]{1,200})"?', content_type)
    if boundary is None:
        return None
    line = rb'--%s\r\nContent-Disposition: form-data; name="%s"\r\n\r\n([\w-]{1,100})\r\n--'
    field = re.match(line % (re.escape(boundary[1].encode("latin-1")), CSRF.encode()), head, re.I)
    return field[1].decode() if field else None


def _with_headers(send: Send) -> Send:
    async def answer(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in _HEADERS.items():
                headers.setdefault(name, value)
        await send(message)

    return answer


# Not a redirect: where another program led here, browsers send a Strict cookie only with what our
# own page asks for.
_ENTER = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta http-equiv="refresh" content="0; url=/">
<meta name="color-scheme" content="light dark"><title>Sfumato</title></head>
<body><p><a href="/">Enter the workbench</a></p></body></html>
"""
_REFUSAL = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark"><title>{title}</title>
<style>body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 60ch;
  margin: 15vh auto; padding: 0 20px; }}
h1 {{ font-size: 22px; }}</style></head>
<body><main><h1>{title}</h1><p>{words}</p></main></body></html>
"""


def refused(status: int, title: str, words: str) -> HTMLResponse:
    """A page that shows nothing but why."""
    return HTMLResponse(_REFUSAL.format(title=escape(title), words=escape(words)), status)


def too_large(limit: int) -> HTMLResponse:
    """What is answered to a body beyond its limit."""
    return refused(
        413, "Too large", f"No more than {limit:,} bytes are taken here; nothing was kept."
    )
