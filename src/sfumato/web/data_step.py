"""Step Data: its pages. Choose a file, see its columns, give them roles, answer what is asked.

What is saved is the name of the file, how it is read, and the policy's text; a tree of values is a
file that the policy names. Every page shows the commands that do the same.

Stands apart: the pages of one step.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from sfumato.errors import InputError, SfumatoError
from sfumato.web import columns, hierarchies, roles
from sfumato.web.bench import (
    Bench,
    Form,
    bench_of,
    fragment,
    is_live,
    page,
    read_form,
    whole_or_none,
)
from sfumato.web.project import ProjectState, Stale
from sfumato.web.shell import path_word, quoted_word, reading_words, shell_line, shell_note
from sfumato.web.worker import WorkError

_WRITTEN = ("delimiter", "decimal", "encoding", "first_year", "sheet", "header")
_BY_COLUMN = ("dates", "missing", "codes")


# -- the file --------------------------------------------------------------------------------------


async def _data(request: Request) -> Response:
    """The chosen file and its columns; without one, the files there are."""
    bench = bench_of(request)
    state = bench.project.state()
    chosen = request.query_params.get("uploaded")
    if state.data is None or "choose" in request.query_params or chosen:
        files = bench.folder.tables()
        return page(request, "data_files.html", files=files, uploaded=chosen)
    return await _step(request, bench, state)


async def _step(request: Request, bench: Bench, state: ProjectState, problem: str = "") -> Response:
    """The step as a whole page, or for a live form its inner part."""
    shows = fragment if is_live(request) else page
    template = "data_step.html" if is_live(request) else "data.html"
    quickly = not is_live(request)
    try:
        table = await bench.quick.ask(columns.describe)
        roles_view = None
        if state.policy is not None:
            roles_view = await bench.quick.ask(roles.roles, quickly=quickly)
    except (SfumatoError, WorkError) as error:
        return shows(
            request,
            "data_reading.html" if not is_live(request) else "failure.html",
            status=422,
            words=str(error),
            live=is_live(request),
            state=state,
            reading=_reading_fields(state.reading),
            table=None,
            commands=_commands(bench, state),
        )
    return shows(
        request,
        template,
        status=422 if problem and not is_live(request) else 200,
        state=state,
        table=table,
        roles_view=roles_view,
        problem=problem,
        roles=roles.ROLES,
        offered_first=roles.OFFERED_FIRST,
        reading=_reading_fields(table.stated_reading),
        commands=_commands(bench, state),
    )


def _commands(bench: Bench, state: ProjectState) -> list[str]:
    """What does the same from a shell."""
    if state.data is None:
        return []
    reading_options = reading_words(state.reading, bench.memory)
    data = path_word(bench.folder, state.data)
    policy = path_word(bench.folder, bench.project.policy_file)
    drafted = shell_line("init", data, *reading_options, "--out", policy)
    if state.policy is None:
        return [drafted]
    return [
        drafted,
        shell_note(f"roles and answers that are given here are written to {policy}"),
        shell_line("audit", data, "--policy", policy),
    ]


async def _choose(request: Request) -> Response:
    bench, form = bench_of(request), await read_form(request)
    name = form.text("file")
    bench.folder.resolve_table(name)
    state = bench.project.state()
    if state.revision != form.revision:
        raise Stale
    if state.data != name:
        if state.policy is not None and "keep" not in form:
            state = bench.project.leave_policy(state.revision)
        bench.project.choose_data(name, {}, state.revision)
    return RedirectResponse("/data", 303)


# -- roles and questions ---------------------------------------------------------------------------


async def _draft(request: Request) -> Response:
    """Have a policy drafted; one that is there is kept beside."""
    bench, form = bench_of(request), await read_form(request)
    state = bench.project.state()
    if state.revision != form.revision:
        raise Stale
    try:
        text = await bench.quick.ask(roles.draft)
    except WorkError as error:
        return await _step(request, bench, state, str(error))
    if state.policy is not None:
        bench.project.set_policy_aside()
        state = bench.project.state()
    bench.project.save_policy(text, state.revision)
    return RedirectResponse("/data", 303)


async def _roles(request: Request) -> Response:
    bench, form = bench_of(request), await read_form(request)
    state = bench.project.state()
    problem = ""
    try:
        if state.revision != form.revision:
            raise Stale
        text = await bench.quick.ask(roles.change_roles, _roles_given(form))
        if text != state.policy:
            state = bench.project.save_policy(text, form.revision)
    except (WorkError, Stale) as error:
        problem = _reason(request, error)
    if is_live(request) or problem:
        return await _step(request, bench, state, problem)
    return RedirectResponse("/data", 303)


def _roles_given(form: Form) -> dict[str, str]:
    """The roles that a form gives, by column: a field for the name, one for the role."""
    given = {}
    for key, name in form.fields:
        kind, _, place = key.partition("-")
        if kind == "column" and name and (role := form.text(f"role-{place}")):
            given[_as_named(name)] = role
    return given


def _as_named(sent: str) -> str:
    """The name of a column as a form sent it: browsers write line breaks in their own way."""
    return sent.replace("\r\n", "\n")


async def _answer(request: Request) -> Response:
    """An answer to a question of the draft; that it was asked is struck out."""
    bench, form = bench_of(request), await read_form(request)
    state = bench.project.state()
    if state.revision != form.revision:
        raise Stale
    cell_reading = await _said(bench, form)
    try:
        text = await bench.quick.ask(
            roles.answer, form.whole("number"), _roles_given(form), cell_reading or None
        )
    except WorkError as error:
        return await _step(request, bench, state, str(error))
    state = bench.project.save_policy(text, form.revision)
    if cell_reading and state.reading:  # the policy says it from now on
        bench.project.choose_data(state.data or "", {}, state.revision)
    return RedirectResponse("/data#questions", 303)


async def _said(bench: Bench, form: Form) -> dict[str, object]:
    """What an answer says of how cells are read."""
    cell_reading: dict[str, object] = {}
    marks: dict[tuple[str, str], str] = {}
    pairs = zip(form.texts("marked"), form.texts("mark"), strict=False)
    for place, (column, mark) in enumerate(pairs):
        if meaning := form.text(f"meaning-{place}"):
            marks[_as_named(column), mark] = meaning
    if marks:
        cell_reading |= await bench.quick.ask(roles.settle_marks, marks)
    option, _, value = form.text("way").partition(":")
    if option == "dates":
        cell_reading["dates"] = {
            _as_named(form.text("about")): form.text("pattern").strip() or value
        }
    elif option == "decimal":
        cell_reading["decimal"] = value
    if year := form.text("first_year").strip():
        whole = whole_or_none(year)
        cell_reading["first_year"] = year if whole is None else whole
    return cell_reading


async def _reading(request: Request) -> Response:
    """How the file is written, as its owner says."""
    bench, form = bench_of(request), await read_form(request)
    state = bench.project.state()
    if state.revision != form.revision:
        raise Stale
    anew = await bench.quick.ask(roles.read_anew, _reading_said(form))
    state = bench.project.choose_data(state.data or "", anew.reading, form.revision)
    if anew.policy is not None:
        bench.project.save_policy(anew.policy, state.revision)
    return RedirectResponse("/data", 303)


def _reading_said(form: Form) -> dict[str, object]:
    from sfumato.engines.reading import by_column

    fields: dict[str, object] = {}
    for name in _WRITTEN:
        text = form.text(name).strip("\r\n") if name == "delimiter" else form.text(name).strip()
        if name == "delimiter" and text in ("tab", "\\t"):
            text = "\t"
        if text:
            whole = whole_or_none(text) if name in ("first_year", "header") else None
            fields[name] = text if whole is None else whole
    for name in _BY_COLUMN:
        lines = [line.strip() for line in form.text(name).splitlines() if line.strip()]
        if lines:
            fields[name] = by_column(lines)
    return fields


def _reading_fields(reading: Mapping[str, object]) -> dict[str, str]:
    """What was said, as the fields of a form have it."""
    fields = {name: str(reading[name]) for name in _WRITTEN if name in reading}
    for name in _BY_COLUMN:
        setting = reading.get(name, {})
        by_column = setting if isinstance(setting, Mapping) else {"*": setting}
        lines = []
        for column, texts in by_column.items():
            for text in texts if isinstance(texts, list | tuple) else [texts]:
                lines.append(text if column == "*" else f"{column}={text}")
        fields[name] = "\n".join(map(str, lines))
    return fields


# -- one column ------------------------------------------------------------------------------------


async def _column(request: Request) -> Response:
    """What a column holds, and how it may be coarsened."""
    bench, name = bench_of(request), _named(request)
    state = bench.project.state()
    table = await bench.quick.ask(columns.describe)
    picture = next((column for column in table.columns if column.name == name), None)
    if picture is None:
        raise InputError("there is no such column in this file")
    values = await bench.quick.ask(columns.list_values, name)
    seen, problem = None, ""
    try:
        seen = await bench.quick.ask(hierarchies.see, name)
    except WorkError as error:
        problem = str(error)
    return page(
        request,
        "data_column.html",
        picture=picture,
        values=values,
        seen=seen,
        problem=problem,
        previous="",
        commands=_hierarchy_commands(bench, state, name, seen.file if seen else None),
    )


def _named(request: Request) -> str:
    """The column that an address is about."""
    if "name" in request.path_params:
        return str(request.path_params["name"])
    return request.query_params.get("name", "")


def _hierarchy_commands(
    bench: Bench, state: ProjectState, name: str, tree: str | None
) -> list[str]:
    if state.data is None:
        return []
    data = path_word(bench.folder, state.data)
    policy = path_word(bench.folder, bench.project.policy_file)
    options = [*reading_words(state.reading, bench.memory), "--out", "tree.csv"]
    words = [data, *options, "--", name] if name.startswith("-") else [data, name, *options]
    proposed = shell_line("hierarchy", *words)
    notes = [shell_note(f"what was chosen here is written to {policy}")]
    if tree:
        listed = bench.folder.name_of(bench.project.folder / tree)
        notes = [shell_note(f"the tree that {policy} names: {quoted_word(listed)}")]
    return [proposed, *notes, shell_line("audit", data, "--policy", policy)]


async def _values(request: Request) -> Response:
    bench, name = bench_of(request), _named(request)
    query = request.query_params.get("query", "")
    values = await bench.quick.ask(columns.list_values, name, query)
    return fragment(request, "data_values.html", values=values)


async def _tree(request: Request) -> Response:
    """The tree of a column again, with the values in which a text stands."""
    bench, name = bench_of(request), _named(request)
    query = request.query_params.get("query", "")
    seen = await bench.quick.ask(hierarchies.see, name, query)
    return fragment(request, "data_tree.html", seen=seen, state=bench.project.state())


async def _edit(request: Request) -> Response:
    """An edit of a tree: its file is kept, and the policy names it."""
    bench, form = bench_of(request), await read_form(request)
    name, edit = _as_named(form.text("name")), form.text("what")
    state = bench.project.state()
    previous, problem = "", ""
    try:
        if state.revision != form.revision:
            raise Stale
        if edit == "use":
            file = form.text("file")
            if not re.fullmatch(r"hierarchies/[\w-]+\.csv", file):
                raise InputError("that is no tree of this project")
        elif edit == "as-list":
            file = bench.project.add_hierarchy(
                name, await bench.quick.ask(hierarchies.as_list, name)
            )
        else:
            level, names = _picked(form, edit)
            label = form.text("new").strip() or form.text("into")
            tree = await bench.quick.ask(hierarchies.edit, name, edit, level, names, label)
            file = bench.project.add_hierarchy(name, tree)
        previous = await bench.quick.ask(hierarchies.file_of, name)
        text = await bench.quick.ask(hierarchies.name_tree, name, file)
        state = bench.project.save_policy(text, form.revision)
    except (WorkError, SfumatoError, Stale) as error:
        problem = _reason(request, error)
    return await _hierarchy(request, bench, name, problem, previous if edit != "use" else "")


def _reason(request: Request, error: Exception) -> str:
    """Why something could not be saved; that another tab was faster has a page of its own."""
    if not isinstance(error, Stale):
        return str(error)
    if not is_live(request):
        raise error
    return "Another tab has changed the policy meanwhile; this is what is saved now."


def _picked(form: Form, edit: str) -> tuple[int, list[str]]:
    """The level that an edit is about, and what was chosen on it."""
    if edit in ("add-level", "remove-level"):
        return form.whole("level"), []
    picks = [pick.partition("|") for pick in form.texts("pick")]
    levels = {whole_or_none(level) for level, _, _ in picks}
    level = levels.pop() if len(levels) == 1 else None
    if level is None:
        raise InputError(
            "choose values, or groups of one level, first" if picks else "choose what to move first"
        )
    return level + (edit == "move"), [name for _, _, name in picks]


async def _propose(request: Request) -> Response:
    bench, form = bench_of(request), await read_form(request)
    name = _as_named(form.text("name"))
    problem, previous = "", ""
    try:
        if bench.project.state().revision != form.revision:
            raise Stale
        levels = form.whole("levels", 0) or None
        made = await bench.quick.ask(hierarchies.propose, name, levels)
        previous = await bench.quick.ask(hierarchies.file_of, name)
        text = made.policy
        if made.tree is not None:
            file = bench.project.add_hierarchy(name, made.tree)
            text = await bench.quick.ask(hierarchies.name_tree, name, file)
        bench.project.save_policy(text or "", form.revision)
    except (WorkError, SfumatoError, Stale) as error:
        problem = _reason(request, error)
    return await _hierarchy(request, bench, name, problem, previous)


async def _ranges(request: Request) -> Response:
    """How many people each range of a rule would hold, while it is chosen."""
    bench, form = bench_of(request), await read_form(request)
    try:
        levels = await bench.quick.ask(
            hierarchies.try_rule, _as_named(form.text("name")), _rule_said(form)
        )
    except WorkError as error:
        return fragment(request, "failure.html", words=str(error), live=True)
    return fragment(request, "data_ranges.html", levels=levels)


async def _rule(request: Request) -> Response:
    bench, form = bench_of(request), await read_form(request)
    name, problem = _as_named(form.text("name")), ""
    try:
        if "published-at" in form:
            level = form.whole("published-at")
            text = await bench.quick.ask(hierarchies.publish_at, name, level)
        else:
            text = await bench.quick.ask(hierarchies.set_rule, name, _rule_said(form))
        bench.project.save_policy(text, form.revision)
    except (WorkError, SfumatoError, Stale) as error:
        problem = _reason(request, error)
    return await _hierarchy(request, bench, name, problem, "")


def _rule_said(form: Form) -> dict[str, str]:
    fields = {
        name: form.text(name)
        for name in ("kind", "widths", "cuts", "origin", "top", "bottom", "keep")
    }
    return {**fields, "units": ", ".join(form.texts("units"))}


async def _hierarchy(
    request: Request, bench: Bench, name: str, problem: str, previous: str
) -> Response:
    """The hierarchy after something was done to it: as a part, or as the page anew."""
    if not is_live(request):
        if problem:
            raise InputError(problem)
        return RedirectResponse(f"/data/column?{urlencode({'name': name})}#hierarchy", 303)
    seen = await bench.quick.ask(hierarchies.see, name)
    return fragment(
        request,
        "data_hierarchy.html",
        seen=seen,
        problem=problem,
        previous=previous,
        state=bench.project.state(),
    )


routes = [
    Route("/data", _data),
    Route("/data/file", _choose, methods=["POST"]),
    Route("/data/draft", _draft, methods=["POST"]),
    Route("/data/roles", _roles, methods=["POST"]),
    Route("/data/answer", _answer, methods=["POST"]),
    Route("/data/reading", _reading, methods=["POST"]),
    Route("/data/values", _values),
    Route("/data/tree", _tree),
    Route("/data/tree", _edit, methods=["POST"]),
    Route("/data/propose", _propose, methods=["POST"]),
    Route("/data/ranges", _ranges, methods=["POST"]),
    Route("/data/rule", _rule, methods=["POST"]),
    Route("/data/column", _column),
    Route("/data/column/{name:path}", _column),
]
