"""Step Adversaries: one panel each, on a release that was made in this project.

A panel's form is asked by GET, so its address says all of it and can be kept; as one types, the
answer alone is asked for. What takes longer than a moment says what is being done and can be
cancelled; learner against attacker, who sample, are an errand of the runner.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import urlencode

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from sfumato.web.adversaries.composition import (
    OtherReleases,
    check_ledger,
    intersect_with,
    keep_in_ledger,
    list_others,
)
from sfumato.web.adversaries.leakage import ask_observer
from sfumato.web.adversaries.linkage import look_for_target
from sfumato.web.adversaries.panel import AttackedRelease, Fields, PanelAnswer, describe_release
from sfumato.web.adversaries.realistic import (
    SHAPES,
    SLIDERS,
    WEIGHT,
    ask_somebody_realistic,
    usual_power,
)
from sfumato.web.adversaries.relative import compare_with_learner
from sfumato.web.adversaries.skyline import ask_somebody_who_knows
from sfumato.web.bench import (
    Bench,
    Form,
    bench_of,
    chosen_point,
    fragment,
    is_live,
    page,
    read_form,
)
from sfumato.web.desk import Desk
from sfumato.web.section_html import section_html
from sfumato.web.worker import WorkError

_MOMENT = 1.5  # seconds that a page waits for its answer; later it comes by itself
_REACH = 20  # how far the dials of knowledge go
Result = TypeVar("Result")
PanelTask = Callable[[Desk, int, Fields], PanelAnswer]


@dataclass(frozen=True)
class AdversaryPanel:
    """A panel: what it is called in addresses and on the page, her story, who answers."""

    name: str
    title: str
    story: str
    task: PanelTask
    asks: str = "Ask"
    live: bool = True


PANELS = {
    panel.name: panel
    for panel in (
        AdversaryPanel(
            "realistic",
            "Realistic",
            "She formed an opinion from statistics of her own before she saw the release. The more "
            "records stand behind it, the less a group's counts move her; but what she held for "
            "unlikely and a group shows to be common moves her far.",
            ask_somebody_realistic,
        ),
        AdversaryPanel(
            "skyline",
            "Skyline",
            "She knows facts about her target, the values of some neighbours, and relatives who "
            "would share it. How much may she know before she is too sure?",
            ask_somebody_who_knows,
        ),
        AdversaryPanel(
            "composition",
            "Composition",
            "She holds another release about the same people, finds each of them in both, and "
            "keeps the values that both leave.",
            intersect_with,
            "Read them together",
        ),
        AdversaryPanel(
            "leakage",
            "Leakage",
            "She observes a few columns of somebody and compares the values of those who look "
            "alike with what she expected of everybody.",
            ask_observer,
        ),
        AdversaryPanel(
            "relative",
            "Relative",
            "A learner asks about people in general; an attacker knows that her victim is in the "
            "release. What the attacker is surer of than the learner is what being in it costs.",
            compare_with_learner,
            "Compare them",
            live=False,
        ),
        AdversaryPanel(
            "linkage",
            "Linkage",
            "She knows some of the quasi-identifiers of one person, and looks for her row.",
            look_for_target,
            "Look for her",
        ),
    )
}


# -- pages -----------------------------------------------------------------------------------------


async def show_panel(request: Request) -> Response:
    """A panel with its form and, if it came soon enough, its answer."""
    panel = PANELS.get(request.path_params["panel"])
    if panel is None:
        raise HTTPException(404)
    bench, form = bench_of(request), await read_form(request)
    points = [point.number for point in bench.project.points()]
    if not points:
        return page(request, "adversaries/nothing.html")
    point = chosen_point(bench, form)
    fields = fields_of(form)
    if is_live(request):
        begun = _thinking(request).pop((panel.name, point, repr(fields)), None)
        answered = await (begun or _answered(bench, panel, point, fields))
        return fragment(request, "adversaries/answer.html", **_answer(answered))
    opening = asyncio.ensure_future(bench.quick.ask(describe_release, point))
    if not await _in_a_moment(opening):
        asked = f"?{request.url.query}" if request.url.query else ""
        return page(
            request, "adversaries/opening.html", point=point, back=f"{request.url.path}{asked}"
        )
    subject = await opening
    context = await _form_context(bench, panel, subject, form)
    first_answer: PanelAnswer | str | None = None
    if panel.live or _compared(request, point, fields):
        asking = asyncio.ensure_future(_answered(bench, panel, point, fields))
        if await _in_a_moment(asking):
            first_answer = await asking
        else:
            _thinking(request)[panel.name, point, repr(fields)] = asking
    return page(
        request,
        f"adversaries/{panel.name}.html",
        panel=panel,
        panels=PANELS.values(),
        points=points,
        point=point,
        taken=bench.project.decisions().get("taken"),
        subject=subject,
        given=lambda name: form.text(name),
        watching=_watched(bench),
        **context,
        **_answer(first_answer),
    )


def fields_of(form: Form) -> dict[str, list[str]]:
    """A form as tasks take it."""
    texts_by_name: dict[str, list[str]] = {}
    for name, text in form.fields:
        texts_by_name.setdefault(name, []).append(text)
    return texts_by_name


async def _in_a_moment(work: asyncio.Future[Result]) -> bool:
    """Whether it is done soon enough to wait for."""
    done, _ = await asyncio.wait({work}, timeout=_MOMENT)
    return bool(done)


def _thinking(request: Request) -> dict[tuple[str, int, str], asyncio.Future[PanelAnswer | str]]:
    """Answers that did not come in time for their page, by what was asked."""
    state = request.app.state
    if not hasattr(state, "thinking"):
        state.thinking = {}
    thinking: dict[tuple[str, int, str], asyncio.Future[PanelAnswer | str]] = state.thinking
    return thinking


async def _answered(
    bench: Bench, panel: AdversaryPanel, point: int, fields: Fields
) -> PanelAnswer | str:
    """The answer, or in one line why there is none."""
    task = panel.task
    if panel.name == "composition" and any(fields.get("ledger", ())) and not fields.get("other"):
        task = check_ledger
    worker = bench.quick if panel.live else bench.runner
    try:
        return await worker.ask(task, point, fields)
    except WorkError as error:
        return str(error)


def _answer(answered: PanelAnswer | str | None) -> dict[str, Any]:
    """What the template of an answer takes."""
    trouble = answered if isinstance(answered, str) else ""
    return {
        "answer": None if isinstance(answered, str) else answered,
        "trouble": trouble,
        "section_html": section_html,
    }


async def _form_context(
    bench: Bench, panel: AdversaryPanel, subject: AttackedRelease, form: Form
) -> dict[str, Any]:
    """What the form of a panel needs besides."""
    match panel.name:
        case "realistic":
            column = form.text("sensitive") or next(iter(subject.sensitive), "")
            return {
                "shapes": SHAPES,
                "weight": WEIGHT,
                "sliders": subject.sensitive.get(column, ())[:SLIDERS],
                "default_records": usual_power(subject.people),
            }
        case "skyline":
            return {"reach": _REACH}
        case "composition":
            releases: OtherReleases = await bench.quick.ask(list_others, subject.point)
            return {"others": releases, "chosen": form.texts("other")}
        case "leakage":
            return {"chosen": form.texts("column") or list(subject.quasi[:3])}
    return {}


# -- what takes long -------------------------------------------------------------------------------


async def compare(request: Request) -> Response:
    """Let the runner compare learner and attacker; the panel watches it."""
    bench, form = bench_of(request), await read_form(request)
    point, fields = chosen_point(bench, form), fields_of(form)
    fields.pop("csrf", None)
    address = f"/adversaries/relative?{urlencode(fields, doseq=True)}"

    async def work() -> str:
        answered = await bench.runner.ask(compare_with_learner, point, fields)
        _comparisons(request)[_key(point, fields)] = bench.runner.process_id
        assert answered
        return address

    bench.begin("Comparing learner and attacker", work, page="/adversaries/relative")
    return RedirectResponse(address, 303)


def _comparisons(request: Request) -> dict[tuple[int, str, str], int | None]:
    """Which comparisons the runner has at hand, and in which process."""
    state = request.app.state
    if not hasattr(state, "compared"):
        state.compared = {}
    compared: dict[tuple[int, str, str], int | None] = state.compared
    return compared


def _key(point: int, fields: Fields) -> tuple[int, str, str]:
    texts = ["".join(fields.get(name, ())[-1:]) for name in ("sensitive", "seconds")]
    return point, texts[0], texts[1]


def _compared(request: Request, point: int, fields: Fields) -> bool:
    runner = bench_of(request).runner
    key = _key(point, fields)
    return _comparisons(request).get(key, 0) == runner.process_id and runner.process_id is not None


def _watched(bench: Bench) -> bool:
    errand = bench.errand
    return errand is not None and errand.page.startswith("/adversaries/")


async def give_up(request: Request) -> Response:
    """Stop what is being asked."""
    bench, form = bench_of(request), await read_form(request)
    bench.quick.cancel()
    panel = form.text("panel")
    return RedirectResponse(f"/adversaries/{panel}" if panel in PANELS else "/release", 303)


async def is_open(request: Request) -> Response:
    """Whether a release is open by now, for who waits for its panels."""
    bench, form = bench_of(request), await read_form(request)
    point = chosen_point(bench, form)
    opening = asyncio.ensure_future(bench.quick.ask(describe_release, point))
    done = await _in_a_moment(opening)
    if done:
        await opening  # what went wrong is told
    back = form.text("back")
    back = back if back.startswith("/adversaries/") else "/adversaries/realistic"
    return fragment(request, "adversaries/opened.html", point=point, done=done, back=back)


async def keep(request: Request) -> Response:
    """Keep a release in the ledger, and show what it adds up to."""
    bench, form = bench_of(request), await read_form(request)
    point = chosen_point(bench, form)
    await bench.quick.ask(keep_in_ledger, point, fields_of(form))
    asked = {"point": point, "ledger": form.text("ledger")}
    return RedirectResponse(f"/adversaries/composition?{urlencode(asked)}", 303)


routes = [
    Route("/adversaries/relative/run", compare, methods=["POST"]),
    Route("/adversaries/composition/keep", keep, methods=["POST"]),
    Route("/adversaries/give-up", give_up, methods=["POST"]),
    Route("/adversaries/ready", is_open),
    Route("/adversaries/{panel}", show_panel),
]
