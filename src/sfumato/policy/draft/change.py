"""What a policy says of a column whose role its owner changes, or whose cells are read anew.

A column that becomes a quasi-identifier gets the hierarchy that a draft would propose, one that
becomes sensitive the bounds as well; what no longer fits its role goes. All else stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Literal, get_args

from sfumato.engines.reading import OF_POLICIES, Reading, options_about
from sfumato.errors import InputError, did_you_mean
from sfumato.policy.draft.bounds import Fit, bounds, fit_quasi, fit_sensitive
from sfumato.policy.draft.guess import RoleGuess
from sfumato.policy.draft.page import QUESTIONS, note_lines
from sfumato.policy.draft.profile import Profile
from sfumato.policy.edit_text import PolicyText, said_in
from sfumato.policy.model import Policy
from sfumato.policy.toml import parse_policy
from sfumato.schema.hierarchy import Hierarchy
from sfumato.schema.recipes import Taxonomy

GivenRole = Literal[
    "quasi", "sensitive", "identifiers", "keep", "person", "household", "weight", "count", "none"
]
GIVEN_ROLES: tuple[GivenRole, ...] = get_args(GivenRole)
_LISTS = ("quasi", "sensitive", "identifiers", "keep", "pseudonyms")
_SINGLE = ("person", "household", "weight", "count", "protect")
_ABOUT = {
    "quasi": "Quasi-identifiers: what an outsider may know about a person and find her by.",
    "sensitive": "Sensitive: what nobody may learn about a person from the release.",
    "identifiers": "Identifiers: dropped before anything else.",
    "keep": "Published as they are, unprotected.",
    "person": "Whose row it is: k counts people, not rows.",
    "household": "Whoever finds one of a household finds the others.",
    "weight": "How many people of the population a record stands for.",
    "count": "How many people a row stands for.",
}


def role_in(schema: Mapping[str, object], column: str) -> str:
    """The role that the table [schema] of a policy gives a column; none where it is not named."""
    for role in _LISTS:
        if column in _named(schema, role):
            return role
    return next((role for role in _SINGLE if schema.get(role) == column), "none")


def _named(schema: Mapping[str, object], role: str) -> list[str]:
    given = schema.get(role, [])
    return [given] if isinstance(given, str) else [str(column) for column in given]  # type: ignore[attr-defined]


def change_roles(
    text: str, profiles: Mapping[str, Profile], given: Mapping[str, str], folder: Path
) -> str:
    """The policy with these roles of columns; one that stays what it is keeps all that is said.

    `folder`: where the policy stands. A PolicyError or SchemaError tells why it cannot be so.
    """
    for name, role in given.items():
        if role not in GIVEN_ROLES:
            raise InputError(f"role {role!r} is not known; {did_you_mean(role, GIVEN_ROLES)}")
        if name not in profiles:
            raise InputError("a column of the form is not in the file any more; look at it again")
    for name, role in given.items():
        text = _change(text, profiles[name], role)
    check(text, folder)
    return text


def check(text: str, folder: Path) -> Policy:
    """The policy that a text is; its own error where it is none."""
    return Policy(**parse_policy(text, folder / "policy.toml"))


def _change(text: str, profile: Profile, role: str) -> str:
    name = profile.name
    edit = PolicyText(text)
    schema = edit.content().get("schema", {})
    assert isinstance(schema, dict)
    before = role_in(schema, name)
    if before == role:
        return text
    for listed in _LISTS:
        if name in _named(schema, listed):
            _set_list(edit, listed, [column for column in _named(schema, listed) if column != name])
    for single in _SINGLE:
        if schema.get(single) == name:
            edit.remove("schema", single)
            for more in {"person": ("rows", "knows"), "weight": ("publish_weight",)}.get(
                single, ()
            ):
                edit.remove("schema", more)
    if before in ("quasi", "sensitive"):
        for table in ("hierarchies", "domains", "levels", "lists", "units", "limits"):
            edit.remove("schema", table, name)
    _forget_elsewhere(edit, name, role)
    if role in _SINGLE:
        previous = schema.get(role)
        edit.set("schema", role, value=name, note=note_lines(_ABOUT[role]))
        if isinstance(previous, str) and role in ("person", "household"):
            dropped = [column for column in _named(schema, "identifiers") if column != name]
            _set_list(edit, "identifiers", [*dropped, previous])
    elif role != "none":
        _set_list(
            edit, role, [*(column for column in _named(schema, role) if column != name), name]
        )
    if role == "quasi":
        _set_fit(edit, name, fit_quasi(profile))
    elif role == "sensitive":
        fit = fit_sensitive(profile)
        _set_fit(edit, name, fit)
        guessed = RoleGuess(profile, "sensitive", "")
        required = edit.content().get("require", [])
        assert isinstance(required, list)
        there = {criterion.get("kind") for criterion in required if isinstance(criterion, dict)}
        for bound in bounds({name: (guessed, fit)}):
            if bound.keys["kind"] != "k-anonymity" or "k-anonymity" not in there:
                edit.append("require", entries=bound.keys, note=note_lines(bound.why))
    return edit.text()


def _set_list(edit: PolicyText, role: str, names: Sequence[str]) -> None:
    if not names and role != "quasi":
        edit.remove("schema", role)
        return
    note = note_lines(_ABOUT.get(role, ""))
    edit.set("schema", role, value=list(names), note=note, a_line_each=True)


def _forget_elsewhere(edit: PolicyText, name: str, role: str) -> None:
    """What other tables say of a column that is no longer what they take it for."""
    content = edit.content()
    required = content.get("require", [])
    assert isinstance(required, list)
    for place in reversed(range(len(required))):
        entry = required[place]
        about = [entry.get("sensitive"), *entry.get("joint", [])]
        if name in about:
            edit.remove("require", place)
    if role not in ("quasi", "sensitive", "keep"):
        schema = content.get("schema", {})
        assert isinstance(schema, dict)
        if name in _named(schema, "insist"):
            _set_list(
                edit, "insist", [column for column in _named(schema, "insist") if column != name]
            )
    if role not in ("sensitive", "keep"):
        edit.remove("perturb", name)
    use = content.get("use")
    if isinstance(use, dict):
        if role != "quasi":
            edit.remove("use", "weights", name)
        if use.get("target") == name and role not in ("quasi", "sensitive"):
            edit.remove("use", "target")


def _set_fit(edit: PolicyText, name: str, fit: Fit) -> None:
    """What a draft would say of a column's values."""
    if fit.hierarchy is not None:
        _set_recipe(edit, name, fit.hierarchy, fit.why)
    if fit.declared is not None:
        edit.set("schema", "domains", name, value=fit.declared)
    if fit.level is not None:
        edit.set("schema", "levels", name, value=fit.level)


def _set_recipe(edit: PolicyText, name: str, recipe: Hierarchy, why: str) -> None:
    entries: dict[str, object] = {"kind": recipe.kind}
    for option in fields(recipe):  # type: ignore[arg-type]
        value = getattr(recipe, option.name)
        if value not in (None, ()) and (option.name, value) != ("origin", 0):
            entries[option.name] = value
    note = note_lines(f"{why[0].upper()}{why[1:]}.") if why else []
    edit.set_table("schema", "hierarchies", name, entries=entries, note=note)


def change_hierarchy(
    text: str, column: str, recipe: Hierarchy | str | None, folder: Path, why: str = ""
) -> str:
    """The policy with another hierarchy of a column: a rule, or the file that lists it.

    None leaves it without one.
    """
    edit = PolicyText(text)
    if role_in(_schema_of(edit), column) not in ("quasi", "sensitive"):
        raise InputError(
            f"column {column!r} is neither a quasi-identifier nor sensitive, so it needs no "
            "hierarchy; give it that role first"
        )
    if isinstance(recipe, str):
        entries = {"kind": Taxonomy.kind, "file": recipe}
        note = note_lines(why) if why else []
        edit.set_table("schema", "hierarchies", column, entries=entries, note=note)
    elif recipe is not None:
        _set_recipe(edit, column, recipe, why)
    else:
        edit.remove("schema", "hierarchies", column)
        edit.remove("schema", "levels", column)  # there is none to speak of
    changed = edit.text()
    check(changed, folder)
    return changed


def change_level(text: str, column: str, level: int, folder: Path) -> str:
    """The policy with another level at which a sensitive column is judged and published."""
    edit = PolicyText(text)
    if role_in(_schema_of(edit), column) != "sensitive":
        raise InputError(
            f"column {column!r} is not sensitive; how far others are coarsened is what is searched "
            "for"
        )
    if level:
        edit.set("schema", "levels", column, value=level)
    else:
        edit.remove("schema", "levels", column)
    changed = edit.text()
    check(changed, folder)
    return changed


def level_of(text: str, column: str) -> int:
    """The level at which a policy's text has a sensitive column judged and published."""
    levels = said_in(text, "schema").get("levels", {})
    level = levels.get(column, 0) if isinstance(levels, dict) else 0
    return level if isinstance(level, int) else 0


def _schema_of(edit: PolicyText) -> Mapping[str, object]:
    schema = edit.content().get("schema", {})
    assert isinstance(schema, dict)
    return schema


def change_reading(
    text: str,
    reading: Reading,
    before: Mapping[str, Profile],
    after: Mapping[str, Profile],
    folder: Path,
) -> str:
    """The policy for a file that is read otherwise; columns that turn out to be of another kind
    get the hierarchy that fits it.
    """
    edit = PolicyText(text)
    given = reading.given_fields()
    for option in options_about(*OF_POLICIES):
        if option.name in given:
            edit.set("read", option.name, value=_plain(given[option.name]))
        else:
            edit.remove("read", option.name)
    schema = _schema_of(edit)
    for name, profile in after.items():
        role = role_in(schema, name)
        same_kind = name in before and before[name].kind == profile.kind
        if role not in ("quasi", "sensitive") or same_kind:
            continue
        for table in ("hierarchies", "domains", "levels", "units", "limits"):
            edit.remove("schema", table, name)
        _set_fit(edit, name, fit_quasi(profile) if role == "quasi" else fit_sensitive(profile))
    changed = edit.text()
    check(changed, folder)
    return changed


def _plain(value: object) -> object:
    return str(value) if isinstance(value, Path) else value


# -- the questions at the head of a draft ----------------------------------------------------------

_BEGIN = re.compile(r"#\s+\d+\. (.*)")


def questions_in(text: str) -> list[str]:
    """The questions that a draft still asks its owner, each in one line."""
    return _asked(text)[1]


def strike_question(text: str, number: int) -> str:
    """The draft without a question, by its place in the list: it was answered."""
    asked = questions_in(text)
    return with_questions(text, [words for nth, words in enumerate(asked) if nth != number])


def with_questions(text: str, questions: Sequence[str]) -> str:
    """The draft with these questions in the place of those it has; no draft is left as it is."""
    (first, last), _ = _asked(text)
    lines = text.splitlines()
    if first is None:
        return text
    asked = [QUESTIONS] if questions else []
    for place, words in enumerate(questions, start=1):
        asked += note_lines(words, f"#  {place}. ")
    before = lines[:first]
    while not questions and before and before[-1] == "#":
        before.pop()
    return "\n".join([*before, *asked, *lines[last:]]) + "\n"


def _asked(text: str) -> tuple[tuple[int | None, int], list[str]]:
    """Where the questions stand, from their heading on, and the questions."""
    lines = text.splitlines()
    if QUESTIONS not in lines:
        return (None, 0), []
    first = lines.index(QUESTIONS)
    asked: list[str] = []
    last = first + 1
    while last < len(lines) and lines[last].startswith("# "):
        begun = _BEGIN.fullmatch(lines[last])
        if begun:
            asked.append(begun[1])
        elif asked:
            asked[-1] += " " + lines[last][1:].strip()
        last += 1
    return (first, last), [" ".join(words.split()) for words in asked]
