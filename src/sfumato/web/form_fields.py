"""The fields of a form, read off what a policy's tables become: their types, texts and examples.

Whatever is registered has a card with its fields: nothing here names a criterion. A value is typed
as a text; what is no number, choice or plain text is typed as it stands in a policy ([1, 2],
{ file = "census.csv" }).

The form knows what may be typed, the text where it stands.
"""

from __future__ import annotations

import dataclasses
import inspect
import math
import tomllib
import types
from collections.abc import Mapping
from fractions import Fraction
from functools import cache
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from sfumato.adversaries.catalogue import ADVERSARIES, entry_of
from sfumato.anonymizers import ANONYMIZERS
from sfumato.criteria import CRITERIA
from sfumato.criteria.base import Criterion
from sfumato.errors import PolicyError, quoted
from sfumato.policy.keys import CHOICES, field_texts, told_key
from sfumato.policy.rules import RULE_SETS
from sfumato.policy.toml_text import toml_value
from sfumato.utility import UTILITIES
from sfumato.web.policy_view import Card, FieldKind, FormField

Plain = str | int | float | bool | list[Any] | dict[str, Any]
_PLAIN = (str, int, float, bool, list, dict)
_TENFOLD = range(-3, 4)
_SHARES = ("0", "0.01", "0.02", "0.05", "0.1", "0.2", "0.3", "0.5", "0.7", "0.8", "0.9", "1")


@cache
def criterion_cards() -> dict[str, Card]:
    """A card for each criterion that is registered."""
    return {name: _criterion_card(name, kind) for name, kind in CRITERIA.items()}


@cache
def anonymizer_cards() -> dict[str, Card]:
    """A card for each anonymizer."""
    return {name: Card(name, _first(kind), fields_of(kind)) for name, kind in ANONYMIZERS.items()}


@cache
def profile_cards() -> dict[str, Card]:
    """A card for each rule set."""
    return {name: Card(name, _first(kind), fields_of(kind)) for name, kind in RULE_SETS.items()}


def utility_choices() -> dict[str, str]:
    """What may be made best, and what each measures."""
    return {name: str(measure.about) for name, measure in UTILITIES.items()}


def _criterion_card(name: str, kind: type[Criterion]) -> Card:
    adversary_name = getattr(kind, "adversary", None)
    named = entry_of(adversary_name) if isinstance(adversary_name, str) else None
    entry = named or next(
        (adversary for adversary in ADVERSARIES.values() if name in adversary.criteria), None
    )
    question = story = ""
    if entry is not None:
        question = entry.question
        story = f"Somebody who knows {entry.knows} could learn {entry.learns}."
    ladders = (
        {}
        if not isinstance(kind.ladders, tuple)
        else {scale.parameter: tuple(map(typed, scale.rungs)) for scale in kind.ladders}
    )
    live = kind.scope == "group"
    return Card(name, _first(kind), fields_of(kind, ladders), question, story, live)


def _first(kind: type) -> str:
    """The first paragraph of what a class says of itself."""
    return _plain(" ".join((inspect.getdoc(kind) or "").partition("\n\n")[0].split()))


def _plain(text: str) -> str:
    """Without the marks by which code is told apart, which a page would show."""
    return text.replace("`", "")


def fields_of(
    kind: type, ladders: Mapping[str, tuple[str, ...]] | None = None, within: tuple[str, ...] = ()
) -> tuple[FormField, ...]:
    """The fields of a table that becomes a dataclass; what is required first."""
    texts, hints = field_texts(kind), get_type_hints(kind)
    form_fields: list[FormField] = []
    for declared in dataclasses.fields(kind):
        hint, description = hints[declared.name], told_key(texts.get(declared.name, ""))
        required = (
            declared.default is dataclasses.MISSING
            and declared.default_factory is dataclasses.MISSING
        )
        path = (*within, declared.name)
        if isinstance(hint, type) and dataclasses.is_dataclass(hint) and field_texts(hint):
            inner = fields_of(hint, within=path)
            example_text = _example(description.examples, declared.name)
            named = tomllib.loads(f"x = {example_text}")["x"] if example_text else {}
            for field in inner:
                own = field.path[-1]
                example_text = typed(named[own], field.kind) if own in named else field.example
                rungs = field.rungs or (_around(example_text) if own in named else ())
                first = field.required or own in named
                form_fields.append(
                    dataclasses.replace(field, first=first, rungs=rungs, example=example_text)
                )
            continue
        choices = tuple(CHOICES.get((kind, declared.name), ())) or _literals(hint)
        sort = _sort(declared.name, hint, choices)
        example = _as_typed(_example(description.examples, declared.name), sort)
        given = None if declared.default is dataclasses.MISSING else declared.default
        rungs = (ladders or {}).get(declared.name, ())
        form_fields.append(
            FormField(
                path,
                sort,
                _plain(description.text),
                example,
                required,
                "" if given in (None, ()) else typed(given, sort),
                choices,
                rungs or (_around(example) if required and sort == "number" else ()),
                loose_to_tight=bool(rungs),
                first=required or bool(rungs),
            )
        )
    return tuple(sorted(form_fields, key=lambda field: not field.first))


def _sort(name: str, hint: object, choices: tuple[str, ...]) -> FieldKind:
    """How something of a type is typed."""
    kinds = {part for part in _parts(hint) if part is not types.NoneType}
    if kinds == {bool}:
        return "yes"
    if choices:
        return "choice"
    if kinds == {int}:
        return "whole"
    if kinds <= {int, float, Fraction}:
        return "number"
    if kinds == {str}:
        return "column" if name == "sensitive" else "text"
    return "any"


def _parts(hint: object) -> tuple[object, ...]:
    return get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)


def _literals(hint: object) -> tuple[str, ...]:
    """What may be chosen, where that is all there is."""
    parts = [part for part in _parts(hint) if part is not types.NoneType]
    if any(get_origin(part) is not Literal for part in parts):
        return ()
    values = [value for part in parts for value in get_args(part)]
    return tuple(values) if all(isinstance(value, str) for value in values) else ()


def _example(examples: tuple[str, ...], name: str) -> str:
    """The value in a key's own line of TOML."""
    own = examples[0] if examples else ""
    key, sign, value = own.partition("=")
    return value.strip() if sign and key.strip() == name else ""


def _as_typed(toml: str, kind: FieldKind) -> str:
    return typed(tomllib.loads(f"x = {toml}")["x"], kind) if toml else ""


def _around(example: str) -> tuple[str, ...]:
    """Values for a slider where nothing says which are sensible: shares, or tenfold steps."""
    try:
        middle = float(example)
    except ValueError:
        return ()
    if 0 <= middle <= 1:
        return _SHARES
    return tuple(typed(middle * 10.0**power) for power in _TENFOLD)


# -- what is typed ---------------------------------------------------------------------------------


def typed(value: object, kind: FieldKind = "number") -> str:
    """A value as somebody types it: texts bare, unless they would be read as something else.

    >>> typed(5), typed(0.2), typed(float("inf")), typed("all", "any"), typed("5", "any")
    ('5', '0.2', 'inf', 'all', '"5"')
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        bare = kind != "any" or (value != "" and value == value.strip() and _read(value) == value)
        return value if bare else toml_value(value)
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return f"{value:g}" if float(f"{value:g}") == value else repr(value)
    return toml_value(value)


def parsed(field: FormField, text: str) -> Plain | None:
    """What somebody typed, as a policy holds it; None where nothing was."""
    text = text.strip()
    if not text:
        return None
    if field.kind in ("whole", "number"):
        return _number(field, text)
    if field.kind == "yes":
        return text not in ("false", "off")
    if field.kind == "any":
        return _read(text)
    return text


def _number(field: FormField, text: str) -> int | float:
    try:
        number = float(text.replace(",", "")) if field.kind == "number" else int(text)
    except ValueError:
        sort = "a whole number" if field.kind == "whole" else "a number"
        raise PolicyError(f"{field.name} = {quoted(text)} is not {sort}") from None
    whole = math.isfinite(number) and number == int(number) and abs(number) < 2**53
    return int(number) if whole and "e" not in text.lower() and "." not in text else number


def _read(text: str) -> Plain:
    """A value of TOML; anything else is a text."""
    try:
        content = tomllib.loads(f"x = {text}")
    except (tomllib.TOMLDecodeError, RecursionError, ValueError):
        return text
    value: Plain = content["x"]
    return value if len(content) == 1 and isinstance(value, _PLAIN) else text
