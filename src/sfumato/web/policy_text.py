"""A policy's text and its form, both ways: what the text says as fields, and fields put into it.

The text is what counts. A field that somebody changes changes its line and nothing else: comments,
order and spelling stay as they were, and so does every key that no form shows.

Stands apart: what a form and a text are to each other, whatever is shown of it.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from typing import Any

from sfumato.errors import PolicyError
from sfumato.policy.edit_text import Path, PolicyText
from sfumato.web.form_fields import (
    Plain,
    anonymizer_cards,
    criterion_cards,
    parsed,
    profile_cards,
    typed,
)
from sfumato.web.policy_view import TOP, Card, Filled, FormField, PolicyForm

KIND = "kind"
REQUIRE, ANONYMIZER, PROFILE, LIMITS = "require", "anonymizer", "profile", "limits"
ABSENT = "–"  # what a form says where a table of the policy is left out
LIMIT = (
    FormField(("finest",), "any", "The finest level it may be published at.", "1", False, "0"),
    FormField(("coarsest",), "any", "The coarsest level it may be published at.", "2", False),
    FormField(("star",), "yes", "Whether it may be published as *.", "false", False, "true"),
)


def read_form(text: str) -> PolicyForm:
    """What a text says; the values it holds need not be allowed for that."""
    content = _loaded(text)
    require = content.get(REQUIRE, [])
    schema = content.get("schema", {})
    if not isinstance(require, list) or not all(
        isinstance(criterion, dict) for criterion in require
    ):
        raise PolicyError("require must be tables, [[require]] each")
    if not isinstance(schema, dict):
        raise PolicyError("schema must be a table, [schema]")
    limits = schema.get(LIMITS, {})
    return PolicyForm(
        tuple(_filled(entry, criterion_cards(), "[[require]]") for entry in require),
        _filled_table(content.get(ANONYMIZER), anonymizer_cards(), "[anonymizer]"),
        _filled_table(content.get(PROFILE), profile_cards(), "[profile]"),
        _values(TOP, content),
        {
            name: _values(LIMIT, entry)
            for name, entry in (limits.items() if isinstance(limits, dict) else ())
            if isinstance(entry, dict)
        },
        _names(schema.get("quasi")),
        _names(schema.get("sensitive")),
    )


def _loaded(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise PolicyError(f"this is not valid TOML: {error}") from None
    except RecursionError:
        raise PolicyError("this is nested too deeply to be a policy") from None
    except ValueError:
        raise PolicyError("this has a number of thousands of digits") from None


def _names(given: object) -> tuple[str, ...]:
    names = [given] if isinstance(given, str) else given
    return tuple(name for name in names if isinstance(name, str)) if isinstance(names, list) else ()


def _filled_table(given: object, cards: Mapping[str, Card], where: str) -> Filled | None:
    if given is None:
        return None
    entry = {KIND: given} if isinstance(given, str) else given
    if not isinstance(entry, dict):
        raise PolicyError(f"{where} must be a table")
    return _filled(entry, cards, where)


def _filled(entry: Mapping[str, object], cards: Mapping[str, Card], where: str) -> Filled:
    kind = entry.get(KIND)
    if not isinstance(kind, str) or kind not in cards:
        raise PolicyError(f"{where}: kind = {kind!r} is not known; allowed: {', '.join(cards)}")
    card = cards[kind]
    known = {KIND, *(field.path[0] for field in card.fields)}
    unknown = tuple(key for key in entry if key not in known)
    return Filled(card, _values(card.fields, entry), unknown)


def _values(fields: Iterable[FormField], entry: Mapping[str, object]) -> dict[str, str]:
    """What is typed in each field; nothing where the text leaves it out."""
    values = {}
    for field in fields:
        value = _at(entry, field.path)
        values[field.name] = "" if value is None else typed(value, field.kind)
    return values


def _at(entry: object, path: tuple[str, ...]) -> object:
    for key in path:
        entry = entry.get(key) if isinstance(entry, Mapping) else None
    return entry


# -- fields put into a text ------------------------------------------------------------------------


def with_fields(text: str, given: Mapping[str, str]) -> str:
    """The text with what a form says: `require.0.k`, `anonymizer.kind`, `limits.2.finest`, ...

    What the form does not name stays; a box that is not ticked is not named, so boxes of a card
    count as not ticked where its `kind` is named.
    """
    form = read_form(text)
    edit = PolicyText(text)
    for place, filled in enumerate(form.require):
        if f"{REQUIRE}.{place}.{KIND}" in given:
            _put(edit, (REQUIRE, place), filled.card.fields, given, f"{REQUIRE}.{place}.")
    _put(edit, (), TOP, given, "")
    _put_table(edit, ANONYMIZER, form.anonymizer, anonymizer_cards(), given)
    _put_table(edit, PROFILE, form.profile, profile_cards(), given)
    for place, column in enumerate(form.quasi):
        if f"{LIMITS}.{place}.{KIND}" in given:
            _put(edit, ("schema", LIMITS, column), LIMIT, given, f"{LIMITS}.{place}.")
    return edit.text()


def with_criterion(text: str, kind: str) -> str:
    """The text with one criterion more, by the examples of what it needs."""
    cards = criterion_cards()
    if kind not in cards:
        raise PolicyError(f"kind = {kind!r} is not known; allowed: {', '.join(cards)}")
    read_form(text)
    edit = PolicyText(text)
    edit.append(REQUIRE, entries=_example_of(cards[kind]))
    return edit.text()


def without_criterion(text: str, place: int) -> str:
    """The text without the criterion at this place."""
    many = len(read_form(text).require)
    if not 0 <= place < many:
        raise PolicyError("there is no such criterion any more; the policy was changed")
    if many == 1:
        raise PolicyError("a policy must require at least one criterion; add another one first")
    edit = PolicyText(text)
    edit.remove(REQUIRE, place)
    return edit.text()


def _example_of(card: Card) -> dict[str, Any]:
    """What a card needs, by its examples."""
    entry: dict[str, Any] = {KIND: card.kind}
    for field in card.fields:
        if field.required or (field.first and len(field.path) > 1):
            inner = entry
            for key in field.path[:-1]:
                inner = inner.setdefault(key, {})
            inner[field.path[-1]] = parsed(field, field.example)
    return entry


def _put(
    edit: PolicyText,
    table: Path,
    fields: Iterable[FormField],
    given: Mapping[str, str],
    where: str,
) -> None:
    """Change what differs from what the text says, and nothing else."""
    for field in fields:
        name = f"{where}{field.name}"
        if name not in given and field.kind != "yes":
            continue
        value = parsed(field, given.get(name, "false" if field.kind == "yes" else ""))
        there = edit.said(*table, *field.path)
        if value is None:
            edit.remove(*table, *field.path)
        elif not _equal(there, value) and (there is not None or typed(value) != field.default):
            _set(edit, (*table, *field.path), value)


def _equal(there: object, value: Plain) -> bool:
    return type(there) is type(value) and there == value


def _set(edit: PolicyText, path: Path, value: object) -> None:
    """Give a key a value; a table of its own that is not there yet is written in braces."""
    *table, key = path
    if len(path) > 2 and edit.said(*table) is None:
        edit.set(*table, value={str(key): value})
    else:
        edit.set(*path, value=value)


def _put_table(
    edit: PolicyText,
    name: str,
    filled: Filled | None,
    cards: Mapping[str, Card],
    given: Mapping[str, str],
) -> None:
    """A table that may be left out, or be of another kind than it was."""
    kind = given.get(f"{name}.{KIND}")
    if kind is None:
        return
    if kind in ("", ABSENT):
        edit.remove(name)
        return
    if kind not in cards:
        raise PolicyError(f"[{name}]: kind = {kind!r} is not known; allowed: {', '.join(cards)}")
    if filled is None or filled.card.kind != kind:
        edit.set_table(name, entries=_example_of(cards[kind]))
        return
    if isinstance(edit.said(name), str):
        # profile = "public-file": a table as soon as it says more
        as_table = PolicyText("")
        as_table.set_table(name, entries={KIND: kind})
        _put(as_table, (name,), filled.card.fields, given, f"{name}.")
        entries = as_table.said(name)
        if isinstance(entries, dict) and len(entries) > 1:
            edit.set_table(name, entries=entries)
        return
    _put(edit, (name,), filled.card.fields, given, f"{name}.")
