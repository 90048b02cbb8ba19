"""The page a draft is: TOML that runs as it is, and comments that say why each line is there.

How a draft is written down; what it says is decided elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from textwrap import wrap

from sfumato.anonymizers.best import Best
from sfumato.policy.draft.bounds import Fit, adversary_block
from sfumato.policy.draft.by_rules import DraftRules
from sfumato.policy.draft.guess import RoleGuess
from sfumato.policy.draft.profile import Sample
from sfumato.policy.draft.rehearsal import Rehearsal
from sfumato.policy.draft.roles import ENOUGH, Roles
from sfumato.policy.rules.conventions import PublicFile
from sfumato.policy.toml_text import toml_value
from sfumato.schema.hierarchy import Hierarchy

_WIDTH = 98
QUESTIONS = "# For you to decide:"  # what stands above them


def write(
    sample: Sample,
    roles: Roles,
    reading: Mapping[str, object],
    questions: list[str],
    tried: Rehearsal,
    asked: DraftRules,
) -> str:
    """The policy's text; what a rehearsal refused is commented out, with the reason."""
    parts = [
        _head(sample, questions, tried),
        [*note_lines(asked.words), *asked.lines()] if asked.rules is not None else [],
        _reading(reading),
        _schema(roles),
        _unpublished(roles),
        _table("domains", roles, lambda fit: fit.declared),
        _table("levels", roles, lambda fit: fit.level),
        _table("limits", roles, _limits),
        *_hierarchies(roles),
        _commented_limits(roles),
        _anonymizer(),
        *_require(sample, roles, tried, asked),
        _adversary(sample, roles) if not isinstance(asked.rules, PublicFile) else [],
        _known_rows(roles),
    ]
    return "\n\n".join("\n".join(part) for part in parts if part) + "\n"


def note_lines(text: str, indent: str = "# ") -> list[str]:
    """Words as comments of a policy."""
    return wrap(
        text,
        _WIDTH,
        initial_indent=indent,
        subsequent_indent="#" + " " * (len(indent) - 1),
        break_long_words=False,
        break_on_hyphens=False,
    )


def _percent(share: float) -> str:
    return f"{share:.1%}".replace("%", " %")


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else toml_value(name)


def _head(sample: Sample, questions: list[str], tried: Rehearsal) -> list[str]:
    label = toml_value(sample.source.label)[1:-1]
    size = f"{sample.rows:,} rows, {len(sample.columns):,} columns"
    lines = [f"# A policy drafted by `sfumato init` from {label} ({size}).", "#"]
    lines += note_lines(
        f"Roles and hierarchies are guesses from names and values. {tried.words} But only "
        "you know what outsiders know and what must stay secret: read every line. It names "
        "categories and ranges of your data, so keep it where you keep the data."
    )
    if sample.one_in > 1:
        lines += note_lines(
            f"Values were looked at in 1 of {sample.one_in} distinct rows, by hash."
        )
    if questions:
        lines += ["#", QUESTIONS]
        for place, question in enumerate(questions, start=1):
            lines += note_lines(question, f"#  {place}. ")
    return lines


def _reading(reading: Mapping[str, object]) -> list[str]:
    if not reading:
        return []
    return [
        "# How the file is written.",
        "[read]",
        *(f"{key} = {toml_value(value)}" for key, value in reading.items()),
    ]


def _schema(roles: Roles) -> list[str]:
    chosen = roles.chosen
    lines = ["[schema]"]
    lines += note_lines(
        "Quasi-identifiers: what an outsider (a neighbour, an employer, a register) may know about "
        f"a person and find her by. Together they single out {_percent(roles.measured.unique)} of "
        f"{'rows' if roles.person is None or roles.unlinked else 'people'}{_where(roles)}."
        + (
            f" The strongest pair, {toml_value(chosen.pair[0])} with {toml_value(chosen.pair[1])}, "
            f"singles out {_percent(roles.measured.pair)}."
            if chosen.pair
            else ""
        )
    )
    lines += note_lines(
        "Strike out what the release does not need: fewer of them leave more detail in the others."
    )
    lines += _list(
        "quasi", [(guess, quasi_reason(guess, roles)) for guess, _ in roles.quasi.values()]
    )
    lines += [""]
    if roles.sensitive:
        lines += note_lines("Sensitive: what nobody may learn about a person from the release.")
        lines += _list(
            "sensitive", [(guess, guess.why + "?") for guess, _ in roles.sensitive.values()]
        )
    else:
        lines += note_lines(
            "Sensitive: what nobody may learn about a person from the release. No column's name "
            "suggests it; without one, only finding people is prevented, not learning about them."
        )
        lines += ["# sensitive = []"]
    named = roles.having("identifiers")
    if named:
        lines += ["", *note_lines("Identifiers: dropped before anything else.")]
        lines += _list("identifiers", [(guess, guess.why) for guess in named])
    lines += _numbers(roles)
    lines += [""]
    lines += note_lines(
        'A missing value is a value like any other; "error" would refuse a table with some.'
    )
    return [*lines, 'nulls = "value"']


def _where(roles: Roles) -> str:
    one_in = roles.measured.one_in
    return f", measured in 1 of {one_in} (so more than in the whole table)" if one_in > 1 else ""


def quasi_reason(guess: RoleGuess, roles: Roles) -> str:
    """Why a column is a quasi-identifier, and how far it singles people out."""
    chosen = roles.chosen
    values = f"{guess.profile.distinct:,} values"
    if len(chosen.columns) == 1:
        return f"{guess.why or 'stands in'}; {values}"
    without = f"without it {_percent(roles.measured.without[guess.name])} would be unique"
    if guess.name in chosen.measured:
        return f"measured, not known by name; {values}; {without}"
    return f"{guess.why}; {values}; {without}"


def _list(key: str, entries: Iterable[tuple[RoleGuess, str]]) -> list[str]:
    """An array, one column a line, with the reason behind it."""
    return [
        f"{key} = [",
        *(f"  {toml_value(guess.name)},  # {reason}" for guess, reason in entries),
        "]",
    ]


def _numbers(roles: Roles) -> list[str]:
    """person is active, since k would be wrong without it; weight and count wait for a yes."""
    lines: list[str] = []
    for role in ("person", "weight", "count"):
        listed = roles.having(role)
        if listed:
            lines += ["", *note_lines(f"{listed[0].why[0].upper()}{listed[0].why[1:]}.")]
            active = "" if role == "person" else "# "
            lines += [f"{active}{role} = {toml_value(guess.name)}" for guess in listed]
        if role == "person" and listed and roles.unlinked:
            lines += note_lines(
                "Her rows differ in what is known of her: each is published by itself, and nothing "
                "says which are hers. knows: how many of them somebody may know, 1, 2, ... or all."
            )
            lines += ['rows = "unlinked"', 'knows = "all"']
    return lines


def _unpublished(roles: Roles) -> list[str]:
    reasons: dict[str, list[str]] = {}
    for guess in roles.others.values():
        if guess.role in ("none", "candidate"):
            why = guess.why or adds_little(roles)
            reasons.setdefault(why, []).append(toml_value(guess.name))
    if not reasons:
        return []
    lines = note_lines(
        "Not published: a column without a role stays at home. Give those you need one (quasi, "
        "sensitive, or keep, which publishes a column as it is, unprotected)."
    )
    for why, names in reasons.items():
        lines += note_lines(f"{', '.join(names)}: {why}", "#   ")
    return lines


def adds_little(roles: Roles) -> str:
    """Why a column that might be a quasi-identifier is none."""
    if roles.measured.unique < ENOUGH:
        return "adds little to what the quasi-identifiers single out"
    return "not measured, as nearly everybody is unique without it; it may single people out too"


_EXPLANATIONS = {
    "domains": "Numbers that are codes, or mixed with text: every value a category.",
    "limits": "How fine a column may be published: finest is a level of its hierarchy below.",
    "levels": "Numbers that are judged and published in ranges, at this level.",
}


def _table(name: str, roles: Roles, entry: Callable[[Fit], object]) -> list[str]:
    """[schema.domains], levels or limits, if any column has an entry in it."""
    entries = {
        column: entry(fit) for column, (_, fit) in {**roles.quasi, **roles.sensitive}.items()
    }
    lines = [
        f"{_key(column)} = {toml_value(value)}"
        for column, value in entries.items()
        if value is not None
    ]
    return [*note_lines(_EXPLANATIONS[name]), f"[schema.{name}]", *lines] if lines else []


def _limits(fit: Fit) -> dict[str, int] | None:
    """How fine a column may be published, where a rule set says so."""
    return None if fit.finest is None else {"finest": fit.finest}


def _hierarchies(roles: Roles) -> list[list[str]]:
    judged = {**roles.quasi, **roles.sensitive}
    comment = "How far each column may be coarsened, step by step; the last step is always *."
    if any(fit.values for _, fit in judged.values()):
        comment += (
            " Categories that are listed wait to be sorted: take the # from their lines and give "
            "every value its labels, from fine to coarse, such as "
            '"widowed" = ["was married", "not married"]; `sfumato hierarchy` proposes some.'
        )
    return [
        note_lines(comment),
        *(_hierarchy(name, *guess_and_fit) for name, guess_and_fit in judged.items()),
    ]


def _commented_limits(roles: Roles) -> list[str]:
    """What nobody may publish finer or coarser: nothing until the owner or a rule set says so."""
    if any(_limits(fit) is not None for _, fit in roles.quasi.values()):
        return []
    stepped = [name for name, (_, fit) in roles.quasi.items() if fit.hierarchy is not None]
    named = next(iter(stepped or roles.quasi))
    why = (
        "Limits: the finest and the coarsest level at which a column may be published, 0 the value "
        "itself, or never as *. To set one take the # from the lines below (docs/limits.md); what "
        "columns are worth to the release stands in [use] weights (docs/utility.md)."
    )
    limit = "{ finest = 1, star = false }" if stepped else "{ star = false }"
    return [*note_lines(why), "# [schema.limits]", f"# {_key(named)} = {limit}"]


def _hierarchy(name: str, guess: RoleGuess, fit: Fit) -> list[str]:
    recipe = fit.hierarchy
    if recipe is None:
        return _to_be_sorted(name, guess, fit)
    return [
        *note_lines(f"{fit.why[0].upper()}{fit.why[1:]}."),
        *recipe_lines(name, recipe.kind, recipe),
    ]


def recipe_lines(name: str, kind: str, recipe: Hierarchy | None = None) -> list[str]:
    """The table of a column's hierarchy: its kind and what is given of it."""
    lines = [f"[schema.hierarchies.{_key(name)}]", f"kind = {toml_value(kind)}"]
    for f in fields(recipe) if recipe is not None else ():  # type: ignore[arg-type]
        value = getattr(recipe, f.name)
        if value not in (None, ()) and (f.name, value) != ("origin", 0):
            lines.append(f"{f.name} = {toml_value(value)}")
    return lines


def _to_be_sorted(name: str, guess: RoleGuess, fit: Fit) -> list[str]:
    """A column of categories without a hierarchy, and how it may get one."""
    if not fit.why:
        return []
    lines = note_lines(f"{toml_value(name)}: {fit.why}.")
    lines += [f"# {line}" for line in recipe_lines(name, "taxonomy")]
    if fit.values:
        lines += [f"# [schema.hierarchies.{_key(name)}.paths]"]
        lines += [f'# {toml_value(value)} = ["fill me in"]' for value in fit.values]
    elif guess.profile.distinct > 12:
        lines += [f"# file = {toml_value(_file(name))}"]
        lines += note_lines("The file has a line value;label;coarser label for each value.")
    return lines


def _file(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_-]+", "_", name) + ".csv"


def _anonymizer() -> list[str]:
    why = (
        "How `sfumato anonymize` makes a release: best tries what applies within so many seconds "
        "and keeps the most useful release on which every bound below holds. Where a few people "
        "may be suppressed it does better: suppression = 0.02 at the top of this file."
    )
    return [*note_lines(why), "[anonymizer]", f"kind = {toml_value(Best.name)}", "seconds = 30"]


def _require(sample: Sample, roles: Roles, tried: Rehearsal, asked: DraftRules) -> list[list[str]]:
    written = []
    judged = roles.sensitive, roles.several, sample.rows
    for bound in asked.bounds(*judged, unlinked=roles.unlinked):
        lines = ["[[require]]"]
        lines += [f"{key} = {toml_value(value)}" for key, value in bound.keys.items()]
        why = bound.why
        if bound.about in tried.refused:
            why += f" It could not be judged when the draft was tried: {tried.refused[bound.about]}"
            lines = [f"# {line}" for line in lines]
        written.append([*note_lines(why), *lines])
    listed = [n for n, (g, _) in roles.sensitive.items() if g.profile.kind == "list"]
    names = [toml_value(n) for n in roles.sensitive if n in roles.several or n in listed]
    if names:
        written[0] += note_lines(
            f"People have several values of {', '.join(names)}; diversity and closeness are "
            "defined "
            "for one, so only k is required of them."
        )
    return written


def _adversary(sample: Sample, roles: Roles) -> list[str]:
    single = {n: judged for n, judged in roles.sensitive.items() if n not in roles.several}
    block = adversary_block(single, sample.rows)
    if block is None:
        return []
    about, advice, lines = block
    comment = [line for text in advice for line in note_lines(text, "#   ")]
    return [*note_lines(about), *comment, *(f"# {line}" for line in lines)]


def _known_rows(roles: Roles) -> list[str]:
    """Nothing is asked of who knows several rows until the owner chooses: it can cost very much."""
    if not roles.unlinked:
        return []
    why = (
        "Somebody who knows several rows of a person (knows, above): who has rows in all of their "
        "groups may be she alone, though every group has many people. The report tells it (several "
        "rows). To bound it take the # from the lines below; it can cost much of the detail "
        "(docs/several-rows.md)."
    )
    return [*note_lines(why), "# [[require]]", '# kind = "several-rows"', "# k = 2"]
