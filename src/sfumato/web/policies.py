"""The step Policy: promises chosen and weighed, as a form and as the policy's own text.

What is typed is kept aside until it is saved, so that neither a reload nor a mistake loses it; a
text that cannot be a policy is never saved over one that is.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from sfumato.web.bench import Bench, Form, bench_of, fragment, page, read_form, whole_or_none
from sfumato.web.policy_view import PRICE, TABLE, TOP, Choices, PolicyView
from sfumato.web.project import Project, Stale
from sfumato.web.section_html import section_html
from sfumato.web.shell import path_word, reading_words, shell_line

if TYPE_CHECKING:
    from sfumato.web.desk import Desk

DRAFT = "draft.json"  # what was typed and is not saved, and of which revision it is
ELSEWHERE = (
    "Another tab, or an editor, has changed the project since this page was opened. Nothing was "
    "saved from here, and nothing is lost: this is the policy as you have it. Save it over what is "
    "there, or go back to that."
)
SECONDS = 30.0  # for the searches of prices, unless told


# -- tasks: what the worker has loaded by then -----------------------------------------------------


def all_choices(desk: Desk) -> Choices:
    """The cards of all criteria, anonymizers and rule sets."""
    from sfumato.web.live_policy import choices

    return choices(desk)


def look_at_policy(
    desk: Desk,
    *,
    text: str | None = None,
    fields: Mapping[str, str] | None = None,
    add: str = "",
    drop: int | None = None,
    point: int = TABLE,
    everything: bool = False,
) -> PolicyView:
    """A text with what was changed in its form, and what a release says to it."""
    from sfumato.web.live_policy import view_policy

    return view_policy(
        desk, text=text, fields=fields, add=add, drop=drop, point=point, everything=everything
    )


def work_out_prices(desk: Desk, *, seconds: float) -> str:
    """What every promise of the project's policy costs, as the project keeps it."""
    from sfumato.web.live_policy import price_policy

    return price_policy(desk, seconds=seconds)


# -- pages -----------------------------------------------------------------------------------------


async def show(request: Request) -> Response:
    bench = bench_of(request)
    draft = read_draft(bench.project)
    fresh = draft is not None and draft.revision == bench.project.state().revision
    text = draft.text if draft is not None and fresh else None
    view = await bench.quick.ask(look_at_policy, text=text, point=_point(bench, ""))
    older = None if draft is None or fresh else draft.text
    return await _page(request, view, draft=text is not None, older=older)


async def live(request: Request) -> Response:
    """What the text and its form say now; it is kept aside until it is saved."""
    bench, form = bench_of(request), await read_form(request)
    changed = "text" if form.text("changed") == "text" else "form"
    view = await bench.quick.ask(
        look_at_policy,
        text=_text(form),
        fields=dict(form.fields) if changed == "form" else None,
        point=_point(bench, form.text("point")),
        everything="everything" in form,
    )
    _keep_aside(bench.project, view.text, form.revision)
    redraw = "redraw" in form
    return fragment(
        request,
        "policy_live.html",
        view=view,
        changed=changed,
        redraw=redraw,
        choices=await bench.quick.ask(all_choices) if redraw else None,
        top={field.name: field for field in TOP},
        draft=read_draft(bench.project) is not None,
    )


async def save(request: Request) -> Response:
    """Save what the form says, or the text; or add a promise, or take one out."""
    bench, form = bench_of(request), await read_form(request)
    action, _, target = form.text("action", "form").partition(":")
    if action == "discard":
        bench.project.keep(DRAFT, None)
        return RedirectResponse("/policy", 303)
    view = await bench.quick.ask(
        look_at_policy,
        text=_text(form),
        fields=None if action == "text" else dict(form.fields),
        add=target if action == "add" else "",
        drop=whole_or_none(target) if action == "drop" else None,
        point=_point(bench, form.text("point")),
    )
    if view.error:
        _keep_aside(bench.project, view.text, form.revision)
        return await _page(request, view, draft=True, status=422)
    try:
        bench.project.save_policy(view.text, form.revision)
    except Stale:
        _keep_aside(bench.project, view.text, bench.project.state().revision)
        return await _page(request, replace(view, error=ELSEWHERE), draft=True, status=409)
    bench.project.keep(DRAFT, None)
    return RedirectResponse("/policy", 303)


@dataclass(frozen=True)
class PolicyDraft:
    """What was typed and is not saved; `revision` is what it was typed over."""

    revision: str
    text: str


def read_draft(project: Project) -> PolicyDraft | None:
    """What is kept aside, if anything is."""
    try:
        draft = json.loads(project.kept(DRAFT) or "null")
        return None if draft is None else PolicyDraft(str(draft["revision"]), str(draft["text"]))
    except (ValueError, KeyError, TypeError):
        return None  # somebody changed the file


def _keep_aside(project: Project, text: str, revision: str) -> None:
    saved = (project.state().policy or "").replace("\r\n", "\n")
    draft = json.dumps({"revision": revision, "text": text}, ensure_ascii=False)
    project.keep(DRAFT, None if text == saved else draft)


async def price(request: Request) -> Response:
    """Let the runner work out what the saved policy's promises cost."""
    bench, form = bench_of(request), await read_form(request)
    seconds = form.number("seconds", SECONDS)

    async def work() -> str:
        prices = await bench.runner.ask(work_out_prices, seconds=seconds)
        bench.project.keep(PRICE, prices)
        return "/policy"

    bench.begin("Working out prices", work, _price_command(bench, seconds), "/policy")
    return RedirectResponse("/policy#prices", 303)


async def _page(
    request: Request,
    view: PolicyView,
    *,
    draft: bool,
    older: str | None = None,
    status: int = 200,
) -> Response:
    bench = bench_of(request)
    form = await read_form(request)
    return page(
        request,
        "policy.html",
        status=status,
        view=view,
        draft=draft,
        older=older,
        choices=await bench.quick.ask(all_choices),
        top={field.name: field for field in TOP},
        points=[point.number for point in bench.project.points()],
        point=_point(bench, form.text("point")),
        taken=bench.project.decisions().get("taken"),
        prices=[]
        if view.price is None
        else [section_html(section, level=3) for section in view.price.sections],
        commands=[_audit_command(bench, _point(bench, "")), _price_command(bench, SECONDS)],
    )


def _text(form: Form) -> str:
    """Browsers send lines with carriage returns; a policy has none of its own."""
    return form.text("text").replace("\r\n", "\n")


def _point(bench: Bench, number_text: str) -> int:
    """Which release is judged: the one that is named, else the one taken, the last, the table."""
    numbers = [point.number for point in bench.project.points()]
    asked = whole_or_none(number_text)
    if asked is not None and asked in (*numbers, TABLE):
        return asked
    taken = bench.project.decisions().get("taken")
    return taken if taken in numbers else numbers[-1] if numbers else TABLE


# -- the same from a shell -------------------------------------------------------------------------


def _audit_command(bench: Bench, point: int) -> str:
    state = bench.project.state()
    judged = path_word(bench.folder, bench.project.release_folder(point))
    reading: list[str] = []
    if point == TABLE:
        judged = path_word(bench.folder, state.data or "DATA")
        reading = reading_words(state.reading, bench.memory)
    policy = path_word(bench.folder, bench.project.policy_file)
    return shell_line("audit", judged, "--policy", policy, *reading)


def _price_command(bench: Bench, seconds: float) -> str:
    state = bench.project.state()
    policy = path_word(bench.folder, bench.project.policy_file)
    words = ["--policy", policy, "--seconds", f"{seconds:g}"]
    reading = reading_words(state.reading, bench.memory)
    return shell_line("price", path_word(bench.folder, state.data or "DATA"), *words, *reading)


routes = [
    Route("/policy", show),
    Route("/policy", save, methods=["POST"]),
    Route("/policy/live", live, methods=["POST"]),
    Route("/policy/price", price, methods=["POST"]),
]
