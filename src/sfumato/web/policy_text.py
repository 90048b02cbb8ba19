"""A policy's text and its form, both ways: what the text says as fields, and fields put into it.

The text is what counts. A field that somebody changes changes its line and nothing else: comments,
order and spelling stay as they were (tomlkit), and so does every key that no form shows.

Stands apart: what a form and a text are to each other, whatever is shown of it.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Mapping, MutableMapping
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import AoT, Array, Item

from sfumato.errors import PolicyError
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
    if not isinstance(require, list) or not all(isinstance(one, dict) for one in require):
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
    return tuple(one for one in names if isinstance(one, str)) if isinstance(names, list) else ()


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
    found = {}
    for field in fields:
        value = _at(entry, field.path)
        found[field.name] = "" if value is None else typed(value, field.kind)
    return found


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

    def change(content: MutableMapping[str, Any]) -> None:
        for place, filled in enumerate(form.require):
            if f"{REQUIRE}.{place}.{KIND}" in given:
                where = content[REQUIRE][place]
                _put(where, filled.card.fields, given, f"{REQUIRE}.{place}.")
        _put(content, TOP, given, "")
        _put_table(content, ANONYMIZER, form.anonymizer, anonymizer_cards(), given)
        _put_table(content, PROFILE, form.profile, profile_cards(), given)
        for place, column in enumerate(form.quasi):
            if f"{LIMITS}.{place}.{KIND}" in given:
                _put_limits(content["schema"], column, given, f"{LIMITS}.{place}.")

    return _changed(text, change)


def with_criterion(text: str, kind: str) -> str:
    """The text with one criterion more, by the examples of what it needs."""
    cards = criterion_cards()
    if kind not in cards:
        raise PolicyError(f"kind = {kind!r} is not known; allowed: {', '.join(cards)}")
    read_form(text)

    def change(content: MutableMapping[str, Any]) -> None:
        entry = _example_of(cards[kind])
        there = content.get(REQUIRE)
        if isinstance(there, AoT):
            there.append(_table(entry).add(tomlkit.nl()))
        elif isinstance(there, Array):
            there.append(_inline(entry))
        else:
            several = tomlkit.aot()
            several.append(_table(entry).add(tomlkit.nl()))
            content[REQUIRE] = several

    return _changed(text, change)


def without_criterion(text: str, place: int) -> str:
    """The text without the criterion at this place."""
    many = len(read_form(text).require)
    if not 0 <= place < many:
        raise PolicyError("there is no such criterion any more; the policy was changed")
    if many == 1:
        raise PolicyError("a policy must require at least one criterion; add another one first")

    def change(content: MutableMapping[str, Any]) -> None:
        del content[REQUIRE][place]

    return _changed(text, change)


def _example_of(card: Card) -> dict[str, Any]:
    """What a card needs, by its examples."""
    entry: dict[str, Any] = {KIND: card.kind}
    for field in card.fields:
        if field.required or (field.first and len(field.path) > 1):
            _set(entry, field.path, parsed(field, field.example), dict)
    return entry


def _changed(text: str, change: Callable[[MutableMapping[str, Any]], None]) -> str:
    try:
        content = tomlkit.parse(text if text.endswith("\n") else f"{text}\n")
        change(content)
        changed = tomlkit.dumps(content)
        if tomllib.loads(changed) != content.unwrap():
            raise KeyError
    except (TOMLKitError, tomllib.TOMLDecodeError, KeyError, IndexError, TypeError):
        raise PolicyError(
            "the form cannot change this text, which is written in an unusual way; change the text"
        ) from None
    return changed


def _put(
    entry: MutableMapping[str, Any],
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
        there = _at(entry, field.path)
        if value is None:
            _drop(entry, field.path)
        elif not _same(there, value) and (there is not None or typed(value) != field.default):
            _set(entry, field.path, value, tomlkit.inline_table)


def _same(there: object, value: Plain) -> bool:
    plain = there.unwrap() if isinstance(there, Item) else there
    return type(plain) is type(value) and plain == value


def _drop(entry: MutableMapping[str, Any], path: tuple[str, ...]) -> None:
    inner = _at(entry, path[:-1]) if len(path) > 1 else entry
    if isinstance(inner, MutableMapping) and path[-1] in inner:
        del inner[path[-1]]


def _set(
    entry: MutableMapping[str, Any],
    path: tuple[str, ...],
    value: Plain | None,
    table: Callable[[], Any],
) -> None:
    for key in path[:-1]:
        if key not in entry:
            entry[key] = table()
        entry = entry[key]
    entry[path[-1]] = _item(value)


def _item(value: object) -> Any:
    """A value as it is written on one line: tables inside braces."""
    if isinstance(value, dict):
        return _inline(value)
    if isinstance(value, list):
        several = tomlkit.array()
        several.extend(_item(one) for one in value)
        return several
    return value


def _inline(entry: Mapping[str, Any]) -> Any:
    table = tomlkit.inline_table()
    for key, value in entry.items():
        table[key] = _item(value)
    return table


def _table(entry: Mapping[str, Any]) -> Any:
    table = tomlkit.table()
    for key, value in entry.items():
        table[key] = _item(value)
    return table


def _put_table(
    content: MutableMapping[str, Any],
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
        if name in content:
            del content[name]
        return
    if kind not in cards:
        raise PolicyError(f"[{name}]: kind = {kind!r} is not known; allowed: {', '.join(cards)}")
    if filled is None or filled.card.kind != kind:
        content[name] = _table(_example_of(cards[kind]))
        return
    fields = filled.card.fields
    if isinstance(content[name], MutableMapping):
        _put(content[name], fields, given, f"{name}.")
        return
    entry: dict[str, Any] = {KIND: kind}  # profile = "public-file": a table as soon as it says more
    _put(entry, fields, given, f"{name}.")
    if len(entry) > 1:
        content[name] = _table(entry)


def _put_limits(
    schema: MutableMapping[str, Any], column: str, given: Mapping[str, str], where: str
) -> None:
    """The limits of one column; where they say nothing there are none."""
    limits = schema.get(LIMITS)
    there = None if limits is None else limits.get(column)
    entry: Any = tomlkit.inline_table() if there is None else there
    _put(entry, LIMIT, given, where)
    if there is None and len(entry):
        if limits is None:
            schema[LIMITS] = limits = tomlkit.table()
        limits[column] = entry
    elif limits is not None and there is not None and not len(entry):
        del limits[column]
        if not len(limits):
            del schema[LIMITS]
