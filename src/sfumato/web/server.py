"""The workbench's application and its life: from the address that is printed to Ctrl-C.

Stands apart: the command line starts without a web server; a workbench alone loads one.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import signal
import socket
import sys
import threading
import traceback
import webbrowser
from collections.abc import AsyncIterator, Callable, Iterator
from importlib.resources import files
from pathlib import Path

import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import FileResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sfumato.errors import InputError, SfumatoError
from sfumato.report.html.pictures import TEMPLATES
from sfumato.web import adversaries, data_step, decide, policies, releases, upload
from sfumato.web.bench import HERE, Bench, bench_of, fragment, is_live, page, read_form
from sfumato.web.desk import Desk
from sfumato.web.folder import Folder, TooLarge
from sfumato.web.guard import (
    LOOPBACK,
    BodyTooLarge,
    Door,
    Gatekeeper,
    address_of,
    refused,
    too_large,
)
from sfumato.web.project import FOLDER, Project, Stale, Taken
from sfumato.web.worker import Worker, WorkError, WorkPlace

_OF_REPORTS = ("draw.js", "sort.js", "page.css", "pictures.css", "first_screen.css")


def make_app(bench: Bench, door: Door) -> Starlette:
    """All pages, behind the guard."""

    @contextlib.asynccontextmanager
    async def life(_: Starlette) -> AsyncIterator[None]:
        try:
            yield
        finally:
            bench.close()

    app = Starlette(
        routes=_routes(),
        lifespan=life,
        middleware=[
            Middleware(Gatekeeper, door=door, uploads={upload.UPLOAD: upload.LARGEST_UPLOAD}),
            Middleware(Attentive),
        ],
        exception_handlers={
            SfumatoError: _error_page,
            WorkError: _error_page,
            Stale: _stale,
            TooLarge: _too_large,
            BodyTooLarge: _too_large,
            HTTPException: _not_found,
        },
    )
    app.state.bench = bench
    return app


def _routes() -> list[BaseRoute]:
    return [
        Route("/", _home),
        *data_step.routes,
        *upload.routes,
        *policies.routes,
        *releases.routes,
        Route("/errand", _errand),
        Route("/errand/cancel", _cancel, methods=["POST"]),
        *adversaries.routes,
        *decide.routes,
        Route("/static/plotly.min.js", _plotly),
        *(Route(f"/static/report/{name}", _of_report) for name in _OF_REPORTS),
        Mount("/static", StaticFiles(directory=HERE / "static")),
    ]


async def _home(request: Request) -> Response:
    """Where to go on: at the first step that is not done."""
    state = bench_of(request).project.state()
    return RedirectResponse("/data" if state.data is None or not state.policy else "/policy", 303)


async def _errand(request: Request) -> Response:
    return fragment(request, "errand.html")


async def _cancel(request: Request) -> Response:
    bench = bench_of(request)
    form = await read_form(request)
    if bench.errand is not None and bench.errand.status == "running":
        bench.runner.cancel()
        if bench.errand.task is not None:
            await bench.errand.task
    back = form.text("back", "/release")
    own = re.fullmatch(r"(/[\w-]+)+", back, re.ASCII)
    return RedirectResponse(back if own else "/", 303)


async def _plotly(_: Request) -> Response:
    path = Path(str(files("plotly").joinpath("package_data", "plotly.min.js")))
    return FileResponse(path, headers={"Cache-Control": "private, max-age=3600"})


async def _of_report(request: Request) -> Response:
    return FileResponse(TEMPLATES / Path(request.url.path).name)


# -- what goes wrong -------------------------------------------------------------------------------


async def _error_page(request: Request, error: Exception) -> Response:
    """An error in one line, where somebody sees it."""
    shows = fragment if is_live(request) else page
    return shows(request, "failure.html", status=422, words=str(error), live=is_live(request))


async def _stale(request: Request, _: Exception) -> Response:
    """Another tab was faster: what was sent is shown, and may be saved over what is there."""
    form = await read_form(request)
    sent = [(name, value) for name, value in form.fields if name not in ("csrf", "revision")]
    return page(request, "stale.html", status=409, sent=sent)


async def _too_large(_: Request, error: Exception) -> Response:
    return too_large(error.limit if isinstance(error, BodyTooLarge) else upload.LARGEST_UPLOAD)


async def _not_found(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 404
    words = "There is no such page." if status == 404 else "That cannot be done here."
    return page(request, "failure.html", status=status, words=words, live=False)


class Attentive:
    """Stops work that nobody waits for, and answers a mistake of ours by a page that says so.

    Only what is looked at is stopped when the browser goes away: what is being saved is saved.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        live = any(name == b"x-live" for name, _ in scope["headers"])
        # An upload is never kept in memory until it is whole, whatever it says.
        looks = scope["method"] in ("GET", "HEAD") or (live and scope["path"] != upload.UPLOAD)
        begun = False

        async def answer(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            if looks:
                await self._until_gone(scope, receive, answer)
            else:
                await self._app(scope, receive, answer)
        except Exception as error:
            if os.environ.get("SFUMATO_DEBUG"):
                traceback.print_exception(error)
            if not begun:
                words = f"Internal error ({type(error).__name__}). Nothing was lost; go back."
                await refused(500, "That went wrong", words)(scope, receive, answer)

    async def _until_gone(self, scope: Scope, receive: Receive, send: Send) -> None:
        messages = []
        while True:
            message = await receive()
            messages.append(message)
            if message["type"] != "http.request" or not message.get("more_body", False):
                break
        gone = asyncio.Event()

        async def again() -> Message:
            if messages:
                return messages.pop(0)
            await gone.wait()
            return {"type": "http.disconnect"}

        async def watch() -> None:
            while (await receive())["type"] != "http.disconnect":
                pass
            gone.set()

        work = asyncio.ensure_future(self._app(scope, again, send))
        watching = asyncio.ensure_future(watch())
        try:
            await asyncio.wait({work, watching}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (work, watching):
                task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await watching
        with contextlib.suppress(asyncio.CancelledError):
            await work


# -- its life --------------------------------------------------------------------------------------


class _Uvicorn(uvicorn.Server):
    """Ctrl-C is how a workbench is closed: no failure, and nothing to tell again."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        heeded = [getattr(signal, name) for name in ("SIGINT", "SIGTERM") if hasattr(signal, name)]
        before = {number: signal.signal(number, self.handle_exit) for number in heeded}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def serve(
    data: Path | None,
    policy: Path | None,
    *,
    port: int,
    project: Path | None,
    memory: str | None,
    browser: bool,
    say: Callable[[str], None],
) -> None:
    """Open the workbench and keep it open until Ctrl-C."""
    root = _root(data)
    home = project if project is not None else root / FOLDER
    try:
        workspace = Project.open(home)
    except Taken as taken:
        if taken.port is None:
            raise
        again = Project(home)
        _open(address_of(taken.port, again.leave_token()), again, browser=browser, say=say)
        return
    listening = _listen(port)
    place = WorkPlace(root, workspace.folder, memory)
    bench = Bench(Folder(root, workspace.folder), workspace, Worker(place), Worker(place), memory)
    try:
        bench.quick.get_ready()
        _begin(bench, data, policy)
        opened: int = listening.getsockname()[1]
        door = Door(opened, left=workspace.admits)
        app = make_app(bench, door)
        workspace.tell_running(opened)
        config = uvicorn.Config(
            app,
            access_log=False,
            log_config=None,
            log_level="critical",
            server_header=False,
            proxy_headers=False,
            ws="none",
            timeout_graceful_shutdown=1,
        )
        _open(door.address, workspace, browser=browser, say=say)
        say(f"Project: {workspace.folder}. Ctrl-C closes the workbench; all that was saved stays.")
        _Uvicorn(config).run(sockets=[listening])
    finally:
        bench.close()
        listening.close()


def _root(data: Path | None) -> Path:
    """The folder whose files may be chosen: here, unless the data lie elsewhere."""
    here = Path.cwd()
    if data is None:
        return here
    if not data.exists():
        raise InputError(f"{data} is not there; give a file or a folder")
    real = data.resolve()
    if real.is_dir():
        return real
    return here if real.is_relative_to(here) else real.parent


def _listen(port: int) -> socket.socket:
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    if sys.platform != "win32":
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((LOOPBACK, port))
        listening.listen()  # whoever is faster than we are waits
    except (OSError, OverflowError) as error:
        listening.close()
        why = error.strerror if isinstance(error, OSError) else "no such port"
        raise InputError(f"port {port} cannot be used: {why}; leave --port out") from None
    return listening


def _begin(bench: Bench, data: Path | None, policy: Path | None) -> None:
    """Start the project with what was given."""
    project = bench.project
    if data is not None and not data.is_dir():
        name = bench.folder.name_of(data.resolve())
        bench.folder.resolve(name)
        state = project.state()
        if state.data != name:
            project.choose_data(name, {}, state.revision)
    if policy is None:
        return
    try:
        text = asyncio.run(bench.quick.ask(take_policy, policy.resolve()))
    except WorkError as error:
        raise InputError(str(error)) from None
    if text != project.state().policy:
        project.set_policy_aside()
        project.save_policy(text, project.state().revision)


def take_policy(desk: Desk, path: Path) -> str:
    """The text of a policy for the project: as it is, unless it names files by where it lies."""
    from sfumato.policy.model import Policy

    given = Policy.load(path)
    text = path.read_text(encoding="utf-8")
    home = desk.project.folder
    with contextlib.suppress(SfumatoError, OSError):
        if Policy.parse(text, home).fingerprint == given.fingerprint:
            return text
    moved = home / ".taken.toml"
    try:
        given.save(moved)
        return moved.read_text(encoding="utf-8")
    finally:
        moved.unlink(missing_ok=True)


def _open(address: str, project: Project, *, browser: bool, say: Callable[[str], None]) -> None:
    say(f"The workbench is open at\n\n    {address}\n\nThe address lets one browser in, once.")
    if browser:
        page = project.write_opening(address)
        threading.Thread(target=webbrowser.open, args=(page.as_uri(),), daemon=True).start()
