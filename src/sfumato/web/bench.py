"""What all pages of the workbench share: its parts, its templates, its forms, its one long job."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Literal, cast

from jinja2 import ChoiceLoader, Environment, FileSystemLoader, StrictUndefined
from starlette.datastructures import FormData, UploadFile
from starlette.requests import Request
from starlette.responses import HTMLResponse

from sfumato.errors import InputError, SfumatoError, quoted
from sfumato.web.folder import Folder
from sfumato.web.project import Project, ProjectState
from sfumato.web.worker import Doing, TaskCancelled, Worker, WorkError

HERE = Path(__file__).parent
STEPS = (  # the name in the address, what it is called, where it begins
    ("data", "Data", "/data"),
    ("policy", "Policy", "/policy"),
    ("release", "Release", "/release"),
    ("adversaries", "Adversaries", "/adversaries/realistic"),
    ("decide", "Decide", "/decide"),
)


@dataclass
class Bench:
    """The open workbench: its files, and who does its work.

    `quick` answers what pages ask while somebody looks; `runner` does what takes long, one errand
    at a time.
    """

    folder: Folder
    project: Project
    quick: Worker
    runner: Worker
    memory: str | None = None
    errand: Errand | None = field(default=None)

    def begin(
        self, title: str, work: Callable[[], Awaitable[str]], command: str = "", page: str = "/"
    ) -> Errand:
        """Let the runner do something; `work` ends with the address that shows what came of it.

        `page` is where it is watched. InputError if something is being done already.
        """
        if self.errand is not None and self.errand.status == "running":
            raise InputError(f"{self.errand.title} is still being done; wait for it, or cancel it")
        self.errand = Errand(title, command, page)
        self.errand.task = asyncio.ensure_future(self.errand.run(work))
        return self.errand

    def close(self) -> None:
        """End all work and let the project go."""
        self.quick.close()
        self.runner.close()
        self.project.close()


@dataclass
class Errand:
    """Something that takes long: what it is, how it ended, and where to look then."""

    title: str
    command: str = ""
    page: str = "/"
    status: Literal["running", "done", "failed", "cancelled"] = "running"
    words: str = ""
    address: str = ""
    task: asyncio.Future[None] | None = field(default=None, repr=False)

    async def run(self, work: Callable[[], Awaitable[str]]) -> None:
        try:
            self.address = await work()
            self.status = "done"
        except TaskCancelled as error:
            self.status, self.words = "cancelled", str(error)
        except (WorkError, SfumatoError) as error:
            self.status, self.words = "failed", str(error)
        except Exception as error:
            self.status = "failed"
            self.words = f"could not be done: internal error ({type(error).__name__})"


def bench_of(request: Request) -> Bench:
    """The workbench whose page is asked for."""
    return cast("Bench", request.app.state.bench)


# -- pages -----------------------------------------------------------------------------------------


@cache
def environment() -> Environment:
    """Where templates are: ours, then those of reports; whatever is put into them is text."""
    from sfumato.report.html.pictures import TEMPLATES

    made = Environment(
        loader=ChoiceLoader([FileSystemLoader(HERE / "templates"), FileSystemLoader(TEMPLATES)]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["size"] = _size_words
    return made


def page(request: Request, template: str, *, status: int = 200, **context: object) -> HTMLResponse:
    """A whole page: the template extends layout.html and has `state`, `csrf`, `bench` beside."""
    bench = bench_of(request)
    step = request.url.path.strip("/").split("/")[0]
    return _rendered(
        request,
        template,
        status,
        step=context.pop("step", step),
        steps=STEPS,
        **{"state": _state(bench), **context},
    )


def fragment(
    request: Request, template: str, *, status: int = 200, **context: object
) -> HTMLResponse:
    """A part of a page, for a live form or a watcher to put in its place."""
    return _rendered(request, template, status, **context)


def _rendered(request: Request, template: str, status: int, **context: object) -> HTMLResponse:
    bench = bench_of(request)
    errand = bench.errand
    doing: Doing | None = bench.runner.progress
    text = (
        environment()
        .get_template(template)
        .render(
            bench=bench,
            csrf=request.scope.get("sfumato.csrf", ""),
            errand=errand,
            doing=doing,
            here=request.url.path,
            **context,
        )
    )
    return HTMLResponse(text, status)


def _state(bench: Bench) -> ProjectState | None:
    try:
        return bench.project.state()
    except InputError:
        return None  # damaged; what asks for it says so


def is_live(request: Request) -> bool:
    """Whether a script asks for a part of a page, rather than a browser for a whole one."""
    return "x-live" in request.headers


def _size_words(size: int) -> str:
    for unit in ("bytes", "kB", "MB", "GB"):
        if size < 1000 or unit == "GB":
            return f"{size:,.0f} {unit}" if unit == "bytes" or size >= 10 else f"{size:,.1f} {unit}"
        size /= 1000  # type: ignore[assignment]
    raise AssertionError


# -- forms -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Form:
    """What a form sent, all of it text."""

    fields: Sequence[tuple[str, str]]

    def text(self, name: str, default: str = "") -> str:
        """What a field says; the last one where there are several."""
        return next((value for key, value in reversed(self.fields) if key == name), default)

    def texts(self, name: str) -> list[str]:
        """What all fields of this name say, in their order."""
        return [value for key, value in self.fields if key == name]

    def number(self, name: str, default: float | None = None) -> float:
        """A number; InputError if it is none, or missing without a default."""
        typed_text = self.text(name).strip()
        if not typed_text and default is not None:
            return default
        try:
            return float(typed_text)
        except ValueError:
            raise InputError(f"{name} = {quoted(typed_text)} is no number") from None

    def whole(self, name: str, default: int | None = None) -> int:
        """A whole number."""
        number = self.number(name, None if default is None else float(default))
        if not number.is_integer():
            raise InputError(f"{name} = {number:g} is no whole number")
        return int(number)

    def __contains__(self, name: object) -> bool:
        return any(key == name for key, _ in self.fields)

    @property
    def revision(self) -> str:
        """Which state of the project was on the page."""
        return self.text("revision")


def whole_or_none(text: str) -> int | None:
    """A whole number of up to 18 digits, as somebody types it; None if it is no such text."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 18 else None


async def read_form(request: Request) -> Form:
    """The fields of a form, or of a query where there is no body; files are not taken here."""
    if request.method in ("GET", "HEAD"):
        return Form(tuple(request.query_params.multi_items()))
    sent: FormData = await request.form(max_files=0, max_fields=5_000)
    texts = [(key, value) for key, value in sent.multi_items() if not isinstance(value, UploadFile)]
    return Form(tuple(texts))


def chosen_point(bench: Bench, form: Form) -> int:
    """The release that a page is about: that of the address, else the one taken, else the last."""
    numbers = [point.number for point in bench.project.points()]
    asked = form.text("point")
    if asked:
        number = whole_or_none(asked)
        if number is None or number not in numbers:
            raise InputError(f"there is no release {quoted(asked)} in this project")
        return number
    if not numbers:
        raise InputError("no release was made yet; make one at the step Release")
    taken = bench.project.decisions().get("taken")
    return taken if taken in numbers else numbers[-1]
