"""Step Data: how a column may be coarsened, seen as a tree with counts, and changed.

Categories are sorted into groups, value by value; the tree is kept as the CSV file that ARX reads,
and the policy names it. Numbers, dates and codes are coarsened by a rule, which the policy holds;
before it is chosen, it is told how many people each range holds.

Stands apart: tasks for a worker; the server asks for them by name and loads none of what they use.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from sfumato.errors import InputError, SchemaError, quoted
from sfumato.web.columns import Bar, examined, meanings_of, scaled, told_reading
from sfumato.web.desk import Desk
from sfumato.web.trees import EDITS, MOST_VALUES, Tree, tree_of

if TYPE_CHECKING:
    from sfumato.policy.draft.profile import Profile
    from sfumato.schema.domain import Domain
    from sfumato.schema.hierarchy import Hierarchy, Levels
    from sfumato.schema.roles import Schema

MOST_OF_GROUP = 40  # values of a group that are shown, the largest first
MOST_SHOWN = 400  # values of a tree that are shown
MOST_RANGES = 120  # ranges that are drawn
_FINE = 20_000  # numbers beyond which ranges are counted by their lowest member
_WIDTHS = 24  # that a slider offers


@dataclass(frozen=True)
class Branch:
    """A group or a value of a tree, the people in it, and what it holds.

    `hidden`: values below that are not shown, `values` how many there are.
    """

    label: str
    rows: int
    level: int
    values: int
    inner: tuple[Branch, ...] = ()
    hidden: int = 0


@dataclass(frozen=True)
class LevelCounted:
    """A level of a hierarchy: what it is called, its labels, and the people of each.

    `smallest` are the people of the smallest label; `bars` are left out where there are too many.
    """

    name: str
    labels: int
    smallest: int
    below_five: int
    bars: tuple[Bar, ...] = ()


@dataclass(frozen=True)
class HierarchySeen:
    """The hierarchy of a column: its kind, its levels and, where it can be listed, its tree.

    `editable`: values may be sorted by hand. `settings` are those of a rule, as a form has them.
    `offered` are widths for a slider.
    """

    column: str
    role: str
    kind: str
    of: str
    levels: tuple[LevelCounted, ...]
    roots: tuple[Branch, ...]
    height: int
    values: int
    missing: int
    editable: bool
    settings: Mapping[str, str]
    offered: tuple[float, ...] = ()
    groups: tuple[tuple[str, ...], ...] = ()
    query: str = ""
    problem: str = ""
    published_at: int = 0  # the level of a sensitive column
    left_out: int = 0  # values that are in no group and are not shown
    file: str = ""  # that lists the tree, as the policy calls it
    meanings: Mapping[str, str] = field(default_factory=dict)  # of codes, as the file says


@dataclass(frozen=True)
class _ColumnOfTree:
    """A column with its role, its values and how many rows each has."""

    profile: Profile
    role: str
    schema: Schema
    domain: Domain
    rows: Sequence[int]

    def bound(self, recipe: Hierarchy) -> Levels:
        return recipe.bind(self.domain)


def _column(desk: Desk, name: str, recipe: Hierarchy | None = None) -> _ColumnOfTree:
    """The column as the policy takes it, or as it would with another hierarchy."""
    import numpy as np
    import pyarrow.compute as pc

    from sfumato.counts.columns import domain_of, is_list
    from sfumato.counts.leaves import leaves_as_table
    from sfumato.engines.base import named
    from sfumato.policy.draft.change import check, role_in
    from sfumato.policy.edit_text import said_in
    from sfumato.schema.roles import Schema

    looked = examined(desk)
    profile = next((profile for profile in looked.profiles if profile.name == name), None)
    if profile is None:
        raise InputError(f"column {name!r} is not in {looked.sample.source.label}")
    text = desk.state().policy
    if text is None:
        raise InputError("there is no policy yet; choose roles at the step Data")
    role = role_in(said_in(text, "schema"), name)
    whole = check(text, desk.project.folder).schema
    if role not in ("quasi", "sensitive") or whole is None:
        raise InputError(
            f"column {name!r} is neither known to others nor sensitive, so it needs no hierarchy; "
            "give it that role first"
        )
    used = recipe or whole.hierarchies.get(name)
    hierarchies = {} if used is None else {name: used}
    domains = {name: whole.domains[name]} if name in whole.domains else {}
    schema = Schema(quasi=[name], hierarchies=hierarchies, domains=domains)
    schema = leaves_as_table(schema, looked.sample.source, told_reading(desk).stated_forms)
    cell = f"c{profile.place}"
    counted = looked.sample.fetch(
        [named(cell, "v"), named("CAST(SUM(n) AS BIGINT)", "n")], group=[cell]
    )
    raw, n = counted.column("v").combine_chunks(), counted.column("n").to_numpy()
    if is_list(looked.sample.source, name):
        n = np.repeat(n, pc.fill_null(pc.list_value_length(raw), 0).to_numpy())
        raw = pc.list_flatten(raw)
        encoded = raw.dictionary_encode(null_encoding="encode")
        n = np.bincount(encoded.indices.to_numpy(), weights=n, minlength=len(encoded.dictionary))
        raw = encoded.dictionary
    domain, codes = domain_of(name, raw, looked.sample.source, schema)
    rows = np.bincount(codes, weights=n, minlength=len(domain))
    return _ColumnOfTree(profile, role, schema, domain, rows.astype(np.int64).tolist())


def see(desk: Desk, column: str, query: str = "") -> HierarchySeen:
    """Task: the hierarchy that the policy gives a column."""
    from sfumato.policy.draft.change import level_of

    problem = ""
    try:
        tree_column = _column(desk, column)
        recipe = tree_column.schema.hierarchy(column)
        levels = tree_column.bound(recipe)
    except SchemaError as error:  # the data have changed, or somebody wrote another policy
        from sfumato.schema.recipes import suppression

        problem, recipe = str(error), suppression()
        tree_column = _column(desk, column, recipe)
        levels = tree_column.bound(recipe)
    return replace(
        _seen(tree_column, recipe, levels, query, problem),
        published_at=level_of(desk.state().policy or "", column),
        file=file_of(desk, column),
        meanings=meanings_of(examined(desk).sample.source.form, column),
    )


def _seen(
    tree_column: _ColumnOfTree, recipe: Hierarchy, levels: Levels, query: str, problem: str
) -> HierarchySeen:
    size = tree_column.domain.placed
    kind = tree_column.domain.kind
    tree = tree_of(levels, tree_column.rows) if size <= MOST_VALUES else None
    roots = () if tree is None else _nodes(tree, query)
    return HierarchySeen(
        tree_column.profile.name,
        tree_column.role,
        recipe.kind,
        {"numeric": "numbers", "date": "dates"}.get(kind, "categories"),
        _counted(levels, recipe, tree_column.rows),
        roots,
        levels.height - 2,
        size,
        sum(tree_column.rows[size:]),
        tree is not None and recipe.kind in ("taxonomy", "suppression"),
        _settings(recipe),
        _offered(tree_column) if kind == "numeric" else (),
        () if tree is None else _groups(tree),
        query,
        problem,
        left_out=0 if query or tree is None else size - sum(root.values for root in roots),
    )


def _groups(tree: Tree) -> tuple[tuple[str, ...], ...]:
    """The groups of each level, to choose from; a value that stands for itself is none."""
    values = set(tree.values)
    return tuple(
        tuple(label for label in tree.groups_at(level) if label not in values)
        for level in range(1, tree.height + 1)
    )


def _nodes(tree: Tree, query: str) -> tuple[Branch, ...]:
    """The tree from its coarsest groups down; of many values the largest, or those asked for."""
    wanted = query.casefold().strip()
    chosen = range(len(tree.values))
    if wanted:
        chosen = [place for place in chosen if wanted in tree.values[place].casefold()]  # type: ignore[assignment]
    listed: set[int] = set()
    for places in tree.groups_at(min(1, tree.height)).values() if tree.height else [chosen]:
        largest = sorted(places, key=lambda place: -tree.rows[place])
        most = MOST_OF_GROUP if tree.height else MOST_SHOWN
        listed.update(largest if len(tree.values) <= MOST_SHOWN and not wanted else largest[:most])
    if wanted:
        listed = set(sorted(chosen, key=lambda place: -tree.rows[place])[:MOST_SHOWN])
    elif len(listed) > MOST_SHOWN:
        listed = set(sorted(listed, key=lambda place: -tree.rows[place])[:MOST_SHOWN])
    return _inner(tree, tree.height, list(range(len(tree.values))), listed, bool(wanted))


def _inner(
    tree: Tree, level: int, places: Sequence[int], listed: set[int], searching: bool
) -> tuple[Branch, ...]:
    labels = tree.labels_at(level)
    groups: dict[str, list[int]] = {}
    for place in places:
        groups.setdefault(labels[place], []).append(place)
    nodes = []
    for label, inside in groups.items():
        rows = sum(tree.rows[place] for place in inside)
        hidden = sum(place not in listed for place in inside)
        if hidden == len(inside) and (searching or level == 0 or len(inside) == 1):
            continue  # what stands for itself is found by searching, as its value is
        inner = _inner(tree, level - 1, inside, listed, searching) if level else ()
        nodes.append(Branch(label, rows, level, len(inside), inner, hidden if level else 0))
    return tuple(nodes)


def _counted(levels: Levels, recipe: Hierarchy, rows: Sequence[int]) -> tuple[LevelCounted, ...]:
    """The levels between the values and `*`, with the people of each label."""
    import numpy as np

    names = list(recipe.level_names())
    counted_levels = []
    size = levels.domain.placed
    weights = np.asarray(rows[:size])
    for nth, level in enumerate(levels.levels[1:-1], start=1):
        codes = level.codes[:size]
        people = np.bincount(codes, weights=weights, minlength=len(level.regions))
        present = np.unique(codes)
        counts = people[present].astype(np.int64)
        bars: tuple[Bar, ...] = ()
        if len(present) <= MOST_RANGES:
            labels = level.labels
            bars = scaled([(labels[code], int(n)) for code, n in zip(present, counts, strict=True)])
        name = names[nth - 1] if nth <= len(names) else ""
        few = int(((counts > 0) & (counts < 5)).sum())
        smallest = int(counts[counts > 0].min()) if (counts > 0).any() else 0
        counted_levels.append(LevelCounted(name, len(present), smallest, few, bars))
    return tuple(counted_levels)


# -- trees that are edited -------------------------------------------------------------------------


def edit(desk: Desk, column: str, action: str, level: int, names: Sequence[str], label: str) -> str:
    """Task: the file of a column's tree after an edit."""
    if action not in EDITS:
        raise InputError(f"{quoted(action)} is nothing that can be done to a tree")
    tree_column = _column(desk, column)
    tree = tree_of(tree_column.bound(tree_column.schema.hierarchy(column)), tree_column.rows)
    return EDITS[action](tree, level, names, label).to_csv()


def file_of(desk: Desk, column: str) -> str:
    """Task: the file that lists a column's tree, by the name the policy has; empty for a rule."""
    from sfumato.policy.edit_text import said_in

    trees = said_in(desk.state().policy or "", "schema").get("hierarchies", {})
    entry = trees.get(column, {}) if isinstance(trees, dict) else {}
    return str(entry.get("file", "")) if isinstance(entry, dict) else ""


def as_list(desk: Desk, column: str) -> str:
    """Task: the hierarchy of a column as a file that lists every value, to be edited."""
    tree_column = _column(desk, column)
    levels = tree_column.bound(tree_column.schema.hierarchy(column))
    return tree_of(levels, tree_column.rows).to_csv()


@dataclass(frozen=True)
class Proposed:
    """What `sfumato hierarchy` proposes: a rule in the policy's text, or the file of a tree."""

    why: str
    policy: str | None
    tree: str | None


def propose(desk: Desk, column: str, levels: int | None) -> Proposed:
    """Task: the hierarchy that `sfumato hierarchy DATA COLUMN` proposes."""
    from sfumato.policy.draft.change import change_hierarchy
    from sfumato.policy.draft.propose import proposal_of
    from sfumato.schema.recipes import Taxonomy

    tree_column = _column(desk, column)
    made = proposal_of(tree_column.profile, levels)
    if isinstance(made.hierarchy, Taxonomy):
        return Proposed(made.why, None, made.to_csv())
    text = desk.state().policy
    assert text is not None
    changed = change_hierarchy(text, column, made.hierarchy, desk.project.folder, made.why)
    fitted = _fitted(desk, changed, _column(desk, column, made.hierarchy))
    return Proposed(made.why, fitted, None)


def name_tree(desk: Desk, column: str, file: str) -> str:
    """Task: the policy's text with the file of a column's tree; tried before it is believed."""
    from sfumato.policy.draft.change import change_hierarchy, check

    text = desk.state().policy
    assert text is not None
    changed = change_hierarchy(text, column, file, desk.project.folder)
    schema = check(changed, desk.project.folder).schema
    assert schema is not None
    return _fitted(desk, changed, _column(desk, column, schema.hierarchies[column]))


def _fitted(desk: Desk, text: str, tree_column: _ColumnOfTree) -> str:
    """The policy's text, if what it says of a column's levels fits them.

    A sensitive column that was published at a level that is no more is published at the last one.
    """
    from sfumato.policy.draft.change import change_level, check, level_of

    name = tree_column.profile.name
    recipe = tree_column.schema.hierarchy(name)
    levels = recipe.bind(_thinned(tree_column, recipe)[0])
    schema = check(text, desk.project.folder).schema
    if schema is not None and name in schema.limits:
        schema.limits[name].bind(recipe, levels)
    if level_of(text, name) > levels.height - 2:
        return change_level(text, name, levels.height - 2, desk.project.folder)
    return text


def publish_at(desk: Desk, column: str, level: int) -> str:
    """Task: the policy's text with another level at which a sensitive column is published."""
    from sfumato.policy.draft.change import change_level

    tree_column = _column(desk, column)
    height = tree_column.bound(tree_column.schema.hierarchy(column)).height - 2
    if not 0 <= level <= height:
        raise InputError(f"level {level} is not there; the hierarchy has the levels 0 to {height}")
    return change_level(desk.state().policy or "", column, level, desk.project.folder)


# -- rules -----------------------------------------------------------------------------------------


def _settings(recipe: Hierarchy) -> dict[str, str]:
    """What a rule says, as the fields of a form have it."""
    from dataclasses import fields

    settings: dict[str, str] = {}
    for part in fields(recipe):  # type: ignore[arg-type]
        value = getattr(recipe, part.name)
        if part.name in ("widths", "keep", "units"):
            settings[part.name] = ", ".join(map(str, value))
        elif part.name == "cuts":
            settings[part.name] = "\n".join(", ".join(map(str, level)) for level in value)
        elif part.name in ("top", "bottom", "origin"):
            settings[part.name] = "" if value is None else str(value)
    return settings


def _offered(tree_column: _ColumnOfTree) -> tuple[float, ...]:
    """Round widths, from about the distance of neighbours to half of the range."""
    from sfumato.policy.draft.bounds import round_width
    from sfumato.schema.region import place_of

    placed = [
        place_of(value)
        for value in tree_column.domain.values[: tree_column.domain.placed]
        if isinstance(value, int | float)
    ]
    if len(placed) < 2 or not placed[-1] > placed[0]:
        return ()
    spread = placed[-1] - placed[0]
    width = round_width(spread / 2)
    widths: list[float] = []
    least = 1.0 if tree_column.profile.integral else spread / 10_000
    while width >= least and len(widths) < _WIDTHS:
        widths.append(float(f"{width:.10g}"))
        width = round_width(width / 2.2)
        if width >= widths[-1]:
            break
    return tuple(reversed(widths))


def rule_of(fields: Mapping[str, str]) -> Hierarchy:
    """The rule that a form describes; InputError or SchemaError where it is none."""
    from sfumato.schema.calendar import dates
    from sfumato.schema.recipes import age_groups, icd10, intervals, mask, suppression

    kind = fields.get("kind", "")
    top, bottom = _number(fields, "top"), _number(fields, "bottom")
    if kind == "intervals":
        widths = _numbers(fields.get("widths", ""), "widths")
        cuts = [
            _numbers(line, "cuts") for line in fields.get("cuts", "").splitlines() if line.strip()
        ]
        if cuts:
            return intervals(cuts=cuts, top=top, bottom=bottom)
        return intervals(widths, origin=_number(fields, "origin") or 0, top=top, bottom=bottom)
    if kind == "dates":
        units = [unit.strip() for unit in fields.get("units", "").split(",") if unit.strip()]
        years = [None if year is None else int(year) for year in (top, bottom)]
        return dates(*units, top=years[0], bottom=years[1])  # type: ignore[arg-type]
    if kind == "mask":
        return mask([int(number) for number in _numbers(fields.get("keep", ""), "keep")])
    plain = {"suppression": suppression, "icd10": icd10, "age_groups": age_groups}
    if kind not in plain:
        raise InputError(f"{quoted(kind)} is no rule that can be chosen here")
    return plain[kind]()


def _number(fields: Mapping[str, str], name: str) -> int | float | None:
    numbers = _numbers(fields.get(name, ""), name)
    if len(numbers) > 1:
        raise InputError(f"{name} is one number")
    return numbers[0] if numbers else None


def _numbers(text: str, name: str) -> list[int | float]:
    numbers: list[int | float] = []
    for word in text.replace(";", ",").split(","):
        if not word.strip():
            continue
        try:
            number = float(word)
        except ValueError:
            raise InputError(f"{name}: {quoted(word.strip())} is no number") from None
        numbers.append(int(number) if number.is_integer() and abs(number) < 1e15 else number)
    return numbers


def try_rule(desk: Desk, column: str, fields: Mapping[str, str]) -> tuple[LevelCounted, ...]:
    """Task: how many people each range of a rule would hold."""
    recipe = rule_of(fields)
    tree_column = _column(desk, column, recipe)
    domain, rows = _thinned(tree_column, recipe)
    return _counted(recipe.bind(domain), recipe, rows)


def _thinned(tree_column: _ColumnOfTree, recipe: Hierarchy) -> tuple[Domain, Sequence[int]]:
    """Of very many numbers one for each of the finest ranges, with the rows of all in it."""
    import numpy as np

    from sfumato.schema.recipes import Intervals

    domain = tree_column.domain
    if not isinstance(recipe, Intervals) or domain.placed <= _FINE:
        return domain, tree_column.rows
    numbers = domain.numbers()[: domain.placed]
    finest = recipe.cuts[0] if recipe.cuts else None
    if finest is not None:
        place = np.searchsorted(np.asarray(finest, dtype=np.float64), numbers, side="right")
    else:
        place = np.floor((numbers - float(recipe.origin)) / float(recipe.widths[0]))
    for end in (recipe.top, recipe.bottom):
        if end is not None:  # which cuts a range in two
            place = 2 * place + (numbers >= float(end))
    _, first, group = np.unique(place, return_index=True, return_inverse=True)
    weights = np.asarray(tree_column.rows[: domain.placed])
    rows = np.bincount(group, weights=weights).astype(np.int64)
    order = np.argsort(first)
    thin = replace(domain, values=tuple(domain.values[at] for at in first[order]))
    return thin, rows[order].tolist()


def set_rule(desk: Desk, column: str, fields: Mapping[str, str]) -> str:
    """Task: the policy's text with another rule for a column; tried before it is believed."""
    from sfumato.policy.draft.change import change_hierarchy

    recipe = rule_of(fields)
    tree_column = _column(desk, column, recipe)
    text = desk.state().policy
    assert text is not None
    return _fitted(desk, change_hierarchy(text, column, recipe, desk.project.folder), tree_column)
