"""Step Decide: may it go out? The first screen of the report, who signs, and what leaves.

A release that was made here stands in the project with its evidence. Exporting it copies both,
whole or not at all, to a folder below the started one, as `sfumato anonymize --out` would have
written them there, and adds the decision: the report of an audit of it, with the name of who
answers for it. The decision is kept in the project, too.

Stands apart: one step of the workbench, its tasks and its pages.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from sfumato.errors import InputError, quoted
from sfumato.report.document import Sheet
from sfumato.web.bench import Bench, Form, bench_of, chosen_point, fragment, page, read_form
from sfumato.web.section_html import sheet_html
from sfumato.web.shell import path_word, reading_words, shell_line

if TYPE_CHECKING:
    from sfumato.web.desk import Desk

DECISION = "decision"  # the signed report, beside that of the run
TAKEN = "taken"
HISTORY = "decisions"
_LARGEST = 1 << 26  # bytes of a report that are read
_META = re.compile(
    r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">'
)  # its own policy names the scripts of a report by their hashes
_NO_PAGE_OF_OURS = "; ".join(  # a project may come from somebody else, and so may its reports
    (
        "sandbox allow-scripts allow-downloads",
        "default-src 'none'",
        "script-src 'unsafe-inline'",  # of these, those that its own policy names
        "style-src 'unsafe-inline'",
        "img-src data: blob:",
        "font-src data:",
        "form-action 'none'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    )
)


# -- what is decided -------------------------------------------------------------------------------


@dataclass(frozen=True)
class DecisionScreen:
    """What somebody decides by: the first screen of a release's report, as plain texts."""

    point: int
    status: str
    headline: str
    question: str
    reply: str
    parts: Mapping[str, Sequence[str]]
    tiles: Mapping[str, str]
    made: Mapping[str, str]
    warnings: Sequence[str]
    seed: str
    noisy: bool


_REPLIES = {
    "holds": "By its policy, yes.",
    "violated": "No.",
    "could_not_judge": "Not as it stands: it is not shown safe.",
}


def read_decision(desk: Desk, point: int) -> DecisionScreen:
    """The first screen of the report that was written with a release."""
    folder = desk.project.release_folder(point)
    report = _json(folder / "private" / "report.json")
    run = _json(folder / "private" / "run.json")
    manifest = _json(folder / "public" / "manifest.json")
    first = report.get("first_screen", {})
    glance = report.get("glance", {})
    return DecisionScreen(
        point,
        str(report.get("status", "could_not_judge")),
        str(report.get("headline", "")),
        "May it go out?",
        _REPLIES.get(str(report.get("status")), ""),
        {
            name: tuple(line.replace(" more below: ", " more in the report: ") for line in lines)
            for name, lines in first.get("parts", {}).items()
        },
        {str(name): str(value) for name, value in glance.items()},
        {str(name): str(value) for name, value in first.get("made", {}).items()},
        tuple(map(str, report.get("warnings", ()))),
        str(run.get("seed", "")),
        "guarantee" in manifest,
    )


def _json(path: Path) -> dict[str, Any]:
    try:
        if path.stat().st_size > _LARGEST:
            raise InputError(f"{path.name} of the release is too large to be read")
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"the release has no {path.name}; it may have been deleted") from None
    except (OSError, ValueError):
        raise InputError(f"{path.name} of the release cannot be read; make it again") from None
    if not isinstance(content, dict):
        raise InputError(f"{path.name} of the release is damaged; make it again")
    return content


def read_report(desk: Desk, point: int) -> str:
    """The page of a release's report."""
    path = desk.project.release_folder(point) / "private" / "report.html"
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, ValueError):
        raise InputError(f"the report of release {point} cannot be read") from None


# -- what leaves -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Exported:
    """A release that was copied to where it leaves from, and how it was judged there."""

    folder: str
    status: str
    headline: str


def export_release(desk: Desk, point: int, name: str, by: str) -> Exported:
    """Copy a release and its evidence to a new folder, judge what stands there, and sign it."""
    import shutil

    from sfumato.files import PRIVATE, check_new_folder, new_folder
    from sfumato.report.provenance import checked_name
    from sfumato.report.sections.decision import headline
    from sfumato.workflow.audit import audit

    signed = checked_name(by)
    target = export_folder(desk.folder.root, desk.project.folder, name)
    if target.exists():
        raise InputError(f"{quoted(name)} is there already; give another name")
    check_new_folder(target, force=False)
    source = desk.project.release_folder(point)
    release, rules = desk.release(point), desk.policy_of(point)
    report = audit(release, rules, by=signed)
    if report.status != "holds":
        raise InputError(f"it may not go out. {headline(report)}")
    with new_folder(target) as new:
        for part in ("public", PRIVATE):
            shutil.copytree(source / part, new / part, symlinks=True)
        private = new / PRIVATE
        policy = private / "policy.toml"
        if _leads_out(tomllib.loads(policy.read_text(encoding="utf-8"))):  # from another place now
            policy.unlink()
            rules.save_evidence(private, target, release.schema)
        for ending in ("html", "json"):
            report.save(private / f"{DECISION}.{ending}")
    return Exported(desk.folder.name_of(target), report.status, headline(report))


def _leads_out(part_of_policy: object) -> bool:
    """Whether a policy names a file outside its folder, by the way from there."""
    if isinstance(part_of_policy, dict):
        return any(_leads_out(part) for part in part_of_policy.values())
    if isinstance(part_of_policy, list):
        return any(_leads_out(part) for part in part_of_policy)
    return isinstance(part_of_policy, str) and part_of_policy.startswith("../")


def export_folder(root: Path, project: Path, name: str) -> Path:
    """A folder below the started one, by its name there; refused if it would lie elsewhere."""
    parts = name.replace("\\", "/").split("/")
    strange = not name.isprintable() or any(
        not part or part in (".", "..") or part.startswith((".", "-")) or part != part.strip()
        for part in parts
    )
    if strange or len(name) > 200 or Path(name).is_absolute() or ":" in parts[0]:
        raise InputError(
            f"{quoted(name)} is no name of a folder here; write one such as release-2024"
        )
    target = root.joinpath(*parts)
    home = next(folder for folder in target.parents if folder.exists()).resolve()
    inside = home == root or home.is_relative_to(root)
    if not inside or target.is_relative_to(project) or home.is_relative_to(project):
        raise InputError(f"{quoted(name)} lies outside the folder that was opened")
    return target


def export_commands(bench: Bench, screen: DecisionScreen, name: str, by: str) -> list[str]:
    """The same from a shell: the release again by its seed, and the decision signed."""
    data, reading = bench.project.data_of(screen.point)
    made = bench.project.release_folder(screen.point)
    policy = path_word(bench.folder, made / "private" / "policy.toml")
    out = path_word(bench.folder, name)
    seed = ["--seed", screen.seed] if screen.seed and not screen.noisy else []
    by_option = ["--by", by] if by else []
    page_ = f"{out}/private/{DECISION}.html"
    return [
        shell_line(
            "anonymize",
            path_word(bench.folder, data or "DATA"),
            *("--policy", policy, "--out", out, *seed),
            *reading_words(reading, bench.memory),
        ),
        shell_line(
            "audit", out, "--policy", f"{out}/private/policy.toml", *by_option, "--html", page_
        ),
    ]


# -- pages -----------------------------------------------------------------------------------------


async def show_decision(request: Request) -> Response:
    """The first screen of the release chosen, and the form that lets it out."""
    bench, form = bench_of(request), await read_form(request)
    points = [point.number for point in bench.project.points()]
    if not points:
        return page(request, "decide_nothing.html")
    point = chosen_point(bench, form)
    screen = await bench.quick.ask(read_decision, point)
    name, by = form.text("folder") or _free_name(bench, point), form.text("by")
    return page(
        request,
        "decide.html",
        screen=screen,
        points=points,
        point=point,
        taken=bench.project.decisions().get(TAKEN),
        name=name,
        by=by,
        commands=export_commands(bench, screen, name, by),
        history=history_of(bench),
        decided=sheet_html(_decided(history_of(bench))),
        done=form.text("done") or _just_exported(bench),
    )


def _just_exported(bench: Bench) -> bool:
    errand = bench.errand
    return errand is not None and errand.page == "/decide" and errand.status == "done"


def _free_name(bench: Bench, point: int) -> str:
    """A folder that is not there yet."""
    names = [f"release-{point}", *(f"release-{point}-{n}" for n in range(2, 100))]
    return next((name for name in names if not (bench.folder.root / name).exists()), names[0])


async def show_commands(request: Request) -> Response:
    """The commands that make the same, as the form is filled in."""
    bench, form = bench_of(request), await read_form(request)
    screen = await bench.quick.ask(read_decision, chosen_point(bench, form))
    name = form.text("folder").strip() or _free_name(bench, screen.point)
    commands = export_commands(bench, screen, name, form.text("by").strip())
    return fragment(request, "decide_commands.html", commands=commands)


def history_of(bench: Bench) -> list[Mapping[str, object]]:
    """What was decided in this project, the latest first."""
    kept = bench.project.decisions().get(HISTORY, ())
    listed = kept if isinstance(kept, list) else []
    return [decision for decision in reversed(listed) if isinstance(decision, dict)]


def _decided(history: Sequence[Mapping[str, object]]) -> Sheet:
    """The same as a table."""
    columns = ("on", "point", "by", "folder", "why")
    rows = tuple(tuple(str(decision.get(name, "")) for name in columns) for decision in history)
    return Sheet(("when", "release", "who", "folder", "why"), rows)


async def show_report(request: Request) -> Response:
    """The whole report of a release: its own scripts, no others, and a stranger to our pages."""
    bench = bench_of(request)
    point = chosen_point(bench, Form((("point", request.path_params["point"]),)))
    text = await bench.quick.ask(read_report, point)
    own_policy = _META.search(text[:20_000])
    own = (
        " ".join(own_policy[1].replace("&#39;", "'").split())
        if own_policy
        else "default-src 'none'"
    )
    return HTMLResponse(
        text,
        headers={
            "Content-Security-Policy": f"{own}, {_NO_PAGE_OF_OURS}",
            "Cross-Origin-Opener-Policy": "unsafe-none",  # browsers show no sandbox with another
        },
    )


async def let_out(request: Request) -> Response:
    """Export the release, and keep who decided it and why."""
    from datetime import UTC, datetime

    bench, form = bench_of(request), await read_form(request)
    point = chosen_point(bench, form)
    name, by = form.text("folder").strip(), form.text("by").strip()
    why = form.text("why").strip()
    if not by:
        raise InputError("say who decides; the name stands on the decision")
    if len(why) > 2000:
        raise InputError("the reason is longer than 2,000 letters; say it in fewer")
    export_folder(bench.folder.root, bench.project.folder, name)
    screen = await bench.quick.ask(read_decision, point)
    commands = export_commands(bench, screen, name, by)

    async def work() -> str:
        exported = await bench.runner.ask(export_release, point, name, by)
        decisions = dict(bench.project.decisions())
        kept = decisions.get(HISTORY, ())
        decisions[HISTORY] = [
            *(kept if isinstance(kept, list) else ()),
            {
                "point": point,
                "folder": exported.folder,
                "by": by,
                "why": why,
                "on": datetime.now(UTC).isoformat(timespec="seconds"),
                "headline": exported.headline,
                "commands": commands,
            },
        ]
        decisions[TAKEN] = point
        bench.project.save_decisions(decisions)
        return "/decide?done=yes"

    bench.begin(f"Exporting release {point}", work, "\n".join(commands), "/decide")
    return RedirectResponse("/decide", 303)


routes = [
    Route("/decide", show_decision),
    Route("/decide/report/{point}", show_report),
    Route("/decide/commands", show_commands, methods=["POST"]),
    Route("/decide/export", let_out, methods=["POST"]),
]
