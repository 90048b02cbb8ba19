"""The step Release: made with progress and Cancel, seen on the map, looked into, and taken.

Stands apart: one step of the workbench.
"""

from __future__ import annotations

import shutil
from contextlib import suppress
from datetime import UTC, datetime
from secrets import randbits
from typing import TYPE_CHECKING, Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from sfumato.errors import InputError, quoted
from sfumato.files import check_new_folder
from sfumato.web.bench import Bench, bench_of, page, read_form
from sfumato.web.policies import read_draft
from sfumato.web.release_view import PointView, TriedView
from sfumato.web.section_html import section_html
from sfumato.web.shell import path_word, reading_words, shell_line
from sfumato.web.worker import WorkError

if TYPE_CHECKING:
    from pathlib import Path

    from sfumato.web.desk import Desk

_LARGEST_SEED = 2**63


# -- tasks: what the worker has loaded by then -----------------------------------------------------


def make(desk: Desk, *, point: int, seed: int) -> dict[str, Any]:
    """Make the release of the project's policy and write its folder."""
    from sfumato.web.tried import make_release

    return make_release(desk, point=point, seed=seed)


def find(desk: Desk, *, point: int) -> dict[str, Any]:
    """What can still be told of a release that is not remembered."""
    from sfumato.web.tried import find_release

    return find_release(desk, point=point)


def look_at_tried(desk: Desk, *, risk: str) -> TriedView:
    """The map of everything that was made, and the same as a list."""
    from sfumato.web.tried import view_tried

    return view_tried(desk, risk=risk)


def look_at_point(desk: Desk, *, number: int) -> PointView | None:
    """What is remembered of one release."""
    from sfumato.web.tried import view_point

    return view_point(desk, number=number)


# -- pages -----------------------------------------------------------------------------------------


async def show(request: Request) -> Response:
    """What was tried, and the form to try the policy as it is now."""
    bench = bench_of(request)
    view = await bench.quick.ask(look_at_tried, risk=request.query_params.get("risk", "mean"))
    errand = bench.errand
    if errand is not None and errand.status == "running" and errand.page == "/release":
        command = errand.command
    else:
        out = bench.project.release_folder(bench.project.next_point())
        command = run_command(bench, bench.project.policy_file, out)
    return page(
        request,
        "release.html",
        view=view,
        map_html=None if view.map is None else section_html(view.map, level=0),
        forgotten=_forgotten(bench),
        unsaved=read_draft(bench.project) is not None,
        commands=command,
    )


async def run(request: Request) -> Response:
    """Let the runner make a release of the saved policy."""
    bench, form = bench_of(request), await read_form(request)
    seed = _seed(form.text("seed"))
    number = bench.project.next_point()
    folder = bench.project.release_folder(number)
    began = datetime.now(UTC).isoformat(timespec="seconds")
    data, reading = bench.project.data_of()

    async def work() -> str:
        try:
            facts = await bench.runner.ask(make, point=number, seed=seed)
        except WorkError:
            _clear(folder)
            raise
        bench.project.keep_point(
            number, {**facts, "made": began, "data": data, "reading": dict(reading)}
        )
        return f"/release/{number}"

    command = run_command(bench, bench.project.policy_file, folder, str(seed))
    bench.begin(f"Making release {number}", work, command, "/release")
    return RedirectResponse("/release", 303)


async def remember(request: Request) -> Response:
    """Let a release count that was made, though the workbench was closed before it did."""
    bench = bench_of(request)
    number = int(request.path_params["number"])
    if number not in _forgotten(bench):
        raise InputError(f"release {number} is not there, or is remembered already")

    async def work() -> str:
        facts = await bench.runner.ask(find, point=number)
        bench.project.keep_point(number, {**facts, "made": ""})
        return f"/release/{number}"

    bench.begin(f"Looking at release {number}", work, page="/release")
    return RedirectResponse("/release", 303)


def _forgotten(bench: Bench) -> list[int]:
    """Releases that stand in their folder and are not remembered: nobody is making them."""
    if bench.errand is not None and bench.errand.status == "running":
        return []
    folders = [path for path in (bench.project.folder / "tried").iterdir() if path.is_dir()]
    names = [path.name for path in folders if not path.with_suffix(".json").exists()]
    return sorted(int(name) for name in names if name.isascii() and name.isdecimal())


async def one_release(request: Request) -> Response:
    """One release: what holds, how it was found, columns before and after, the weakest groups."""
    bench = bench_of(request)
    number = int(request.path_params["number"])
    view = await bench.quick.ask(look_at_point, number=number)
    if view is None:
        raise HTTPException(404)
    folder = bench.project.release_folder(number)
    return page(
        request,
        "release_point.html",
        view=view,
        taken=bench.project.decisions().get("taken") == number,
        sections={
            part: [section_html(section) for section in getattr(view, part)]
            for part in ("criteria", "search", "columns", "worst")
        },
        commands=run_command(
            bench,
            folder / "private" / "policy.toml",
            bench.folder.root / f"release-{number}",
            view.seed,
            number,
        ),
    )


async def take(request: Request) -> Response:
    """This is the release to go on with; it is remembered."""
    bench = bench_of(request)
    number = int(request.path_params["number"])
    if bench.project.point(number) is None:
        raise InputError(f"there is no release {number}; it may have been deleted")
    bench.project.save_decisions({**bench.project.decisions(), "taken": number})
    return RedirectResponse(f"/release/{number}", 303)


def _clear(folder: Path) -> None:
    """Take away what a run that was ended left of its folder, which nobody has seen yet."""
    with suppress(InputError):
        check_new_folder(folder, force=False)
        return
    shutil.rmtree(folder)


def _seed(seed_text: str) -> int:
    """The seed that was typed, else one that nobody can guess."""
    seed_text = seed_text.strip()
    if not seed_text:
        return randbits(63)
    digits = (
        seed_text.isascii() and seed_text.isdigit() and len(seed_text) <= len(str(_LARGEST_SEED))
    )
    if not digits or int(seed_text) >= _LARGEST_SEED:
        raise InputError(f"seed = {quoted(seed_text)} is not a whole number of up to 18 digits")
    return int(seed_text)


def run_command(
    bench: Bench, policy: Path, out: Path, seed: str = "", point: int | None = None
) -> str:
    """What makes such a folder from a shell, the same one where a seed is told.

    Of the file that a release was made of, where a point is named.
    """
    data, how = bench.project.data_of(point)
    words = ["--policy", path_word(bench.folder, policy), "--out", path_word(bench.folder, out)]
    words += ["--seed", seed] if seed else []
    words += reading_words(how, bench.memory)
    return shell_line("anonymize", path_word(bench.folder, data or "DATA"), *words)


routes = [
    Route("/release", show),
    Route("/release/run", run, methods=["POST"]),
    Route("/release/{number:int}", one_release),
    Route("/release/{number:int}/remember", remember, methods=["POST"]),
    Route("/release/{number:int}/take", take, methods=["POST"]),
]
