"""The values that a taxonomy lists, written as the file of its table writes them.

ARX matches the texts of a hierarchy with those of a file as they stand, so a hierarchy that serves
both says `31.12.2023` and `1.234,50 EUR` where the file does. Behind the engine a date is
2023-12-31 and an amount 1234.5: here the leaves become that, too, in the one notation that the
column was read in. Plain leaves stay what they are; where some are in one notation and some in the
other they are refused, for 1.234 could be either.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from sfumato.engines.base import Source
from sfumato.engines.cell_forms import is_string
from sfumato.engines.notations import (
    ORDERS,
    DateForm,
    StatedForms,
    date_forms,
    decimals_of,
    is_iso,
    number_regex,
    number_text,
)
from sfumato.errors import InputError, SchemaError, name_some
from sfumato.numbers import as_quantity, exact
from sfumato.schema.domain import Domain
from sfumato.schema.recipes import Taxonomy
from sfumato.schema.region import text_of
from sfumato.schema.roles import Schema

_MOST_DIGITS = 15  # of numbers that are told apart as quantities
_LEADING_ZERO = re.compile(r"[+-]?0\d")
_ANY_DIGIT = re.compile(r"\d")


@dataclass(frozen=True)
class _Notation:
    """How a column writes its dates, or its numbers."""

    dates: DateForm | None = None
    decimal: str = "."

    def read(self, text: str) -> str | None:
        """What a text in this notation says, in the plain one."""
        if self.dates is not None:
            return self.dates.read(text)
        if re.fullmatch(number_regex(self.decimal), text) is None:
            return None
        return _plain_number(number_text(text, self.decimal))

    def plain(self, text: str) -> str | None:
        """The same of a text in the plain notation."""
        if self.dates is not None:
            return text if is_iso([text]) else None
        return _plain_number(text)


def _plain_number(text: str) -> str | None:
    number = exact(text)
    if number is None or _LEADING_ZERO.match(text):
        return None
    digits = len(number.normalize().as_tuple().digits)
    return text_of(as_quantity(number)) if digits <= _MOST_DIGITS else None


def leaves_as_table(schema: Schema, source: Source, stated_forms: StatedForms) -> Schema:
    """A schema whose taxonomies list their values as the cells of a table are read."""

    def notation(name: str, leaves: Sequence[str]) -> _Notation | None:
        kind = source.types.get(name)
        texts = kind is None or (is_string(kind) and not source.is_untyped(name))
        if texts or name in source.doubts:
            return None
        if name in source.form.dates or name in source.decimals:
            return _notation_in(source, name, stated_forms)
        # The column is plain. Leaves that can be but one thing are it nevertheless: a register
        # may be written otherwise than the table whose taxonomy it shares.
        if dates := _date_form(name, leaves, stated_forms, guess=True):
            return _Notation(dates)
        signs = decimals_of(leaves)
        return _Notation(decimal=signs[0] if len(signs) == 1 else ".")

    return _with_leaves(schema, notation, stated_forms)


def _notation_in(source: Source, name: str, stated_forms: StatedForms) -> _Notation:
    """How a column of dates or numbers writes them."""
    if pattern := source.form.dates.get(name):
        return _Notation(DateForm(pattern, stated_forms.first_year))
    return _Notation(decimal=source.decimals.get(name, "."))


def texts_of_values(
    source: Source, domain: Domain, cells: Iterable[str | None], stated_forms: StatedForms
) -> list[tuple[str, int]]:
    """The texts that stand in a column of a file, each with the code of its value, in their order.

    An empty cell, and every mark for no value, has the code of the missing value.
    """
    name = domain.name
    marks, specials = stated_forms.marks(name), {*source.codes.get(name, ())}
    notation = None
    if domain.kind in ("numeric", "date"):
        notation = _notation_in(source, name, stated_forms)
    codes: dict[str, int] = {}
    for cell in cells:
        text = (cell or "").strip()
        if text in specials or text in ("", *marks):
            value: str | None = text if text in specials else None
        else:
            text = value = cell or ""
            if notation is not None:
                value = notation.read(text) or notation.plain(text) or text
        code = domain.code(value)
        if code is None:
            raise InputError(
                f"column {name!r} has too many values to list; use the hierarchy itself"
            )
        codes[text] = code
    return sorted(codes.items(), key=lambda item: (item[1], item[0]))


def leaves_as_stated(schema: Schema, stated_forms: StatedForms) -> Schema:
    """The same where no table is at hand, as far as was said how it is written."""

    def notation(name: str, leaves: Sequence[str]) -> _Notation | None:
        if dates := _date_form(name, leaves, stated_forms, guess=False):
            return _Notation(dates)
        decimal = stated_forms.decimals.get(name) or stated_forms.decimal
        return _Notation(decimal=decimal) if decimal else None

    return _with_leaves(schema, notation, stated_forms)


def leaves_as_published(schema: Schema, source: Source) -> Schema:
    """The same beside what was published, whose form may not tell what its table looked like: then
    by what the leaves are alone."""
    form = source.form
    stated_forms = StatedForms(
        {name: (mark,) for name, mark in form.missing.items()}, form.dates, codes=source.codes
    )

    def notation(name: str, leaves: Sequence[str]) -> _Notation | None:
        if name in source.doubts:
            return None
        if dates := _date_form(name, leaves, stated_forms, guess=True):
            return _Notation(dates)
        signs = decimals_of(leaves)
        own = source.decimals.get(name, form.decimal)
        return _Notation(decimal=signs[0] if len(signs) == 1 else own)

    return _with_leaves(schema, notation, stated_forms)


def leaves_as_values(recipe: Taxonomy, domain: Domain) -> Taxonomy:
    """A taxonomy of a column's values, in the one notation in which it has them all.

    Nothing else may be known: a criterion's own was given without a file.
    """
    paths = tuple(recipe.paths.items())
    values = domain.labels[: domain.placed]
    if domain.kind not in _SCALES or all(value in recipe.paths for value in values):
        return recipe
    return Taxonomy(dict(_paths_of_values(paths, domain.name, domain.kind, values)), recipe.source)


_Paths = tuple[tuple[str, tuple[str, ...]], ...]


@lru_cache(maxsize=8)  # a search asks of every release that it tries
def _paths_of_values(paths: _Paths, name: str, kind: str, values: tuple[str, ...]) -> _Paths:
    as_scale = [leaf for leaf, _ in paths if _ANY_DIGIT.search(leaf)]
    notations = [_Notation(decimal=decimal) for decimal in (".", ",")]
    if kind == "date":
        notations = [_Notation(form) for form in date_forms(as_scale)]
    readings: set[_Paths] = set()
    for notation in notations:
        texts = {leaf: text for leaf in as_scale if (text := notation.read(leaf)) is not None}
        if {*texts.values()}.issuperset(values):
            whole = Taxonomy(dict(paths)).of_texts(name, texts, ())
            readings.add(tuple(sorted(whole.paths.items())))
    if len(readings) > 1:
        raise SchemaError(
            f"hierarchy of column {name!r}: its values can be read in {len(readings)} ways; write "
            "them plainly (2024-05-31, 1234.5)"
        )
    return readings.pop() if readings else paths


def _date_form(
    name: str, leaves: Sequence[str], stated_forms: StatedForms, *, guess: bool
) -> DateForm | None:
    """The one way in which the leaves are dates; without a `guess` only one that was stated."""
    pattern, year = stated_forms.dates_of(name), stated_forms.first_year
    if pattern is None and not guess:
        return None
    if pattern is not None and pattern not in ORDERS:
        form = DateForm(pattern, year)
        return form if any(form.read(leaf) is not None for leaf in leaves) else None
    forms = [
        form
        for form in (DateForm(way.pattern, year) for way in date_forms(leaves))
        if pattern in (None, form.order) and all(form.read(leaf) is not None for leaf in leaves)
    ]
    return forms[0] if len(forms) == 1 else None


def _with_leaves(
    schema: Schema,
    notation_of: Callable[[str, Sequence[str]], _Notation | None],
    stated_forms: StatedForms,
) -> Schema:
    plain: dict[str, Taxonomy] = {}
    for name, recipe in schema.hierarchies.items():
        if not isinstance(recipe, Taxonomy) or recipe.spellings:
            continue
        if schema.domains.get(name) not in (None, *_SCALES):
            continue
        aside = {"", *stated_forms.marks(name), *stated_forms.codes.get(name, ())}
        leaves = [leaf for leaf in recipe.paths if leaf not in aside]
        notation = notation_of(name, leaves) if leaves else None
        if notation is not None and (texts := _as_plain(name, leaves, notation)):
            plain[name] = recipe.of_texts(name, texts, aside)
    return replace(schema, hierarchies={**schema.hierarchies, **plain}) if plain else schema


_SCALES = ("numeric", "date")


def _as_plain(name: str, leaves: Sequence[str], notation: _Notation) -> dict[str, str] | None:
    """What each leaf is in the plain notation; None where they are no numbers or dates."""
    as_file = {leaf: notation.read(leaf) for leaf in leaves}
    as_plain = {leaf: notation.plain(leaf) for leaf in leaves}
    words = [leaf for leaf in leaves if as_file[leaf] is None and as_plain[leaf] is None]
    if words:
        return None
    for meanings in (as_file, as_plain):
        texts = {leaf: text for leaf, text in meanings.items() if text is not None}
        if len(texts) == len(leaves):
            return texts
    odd = [leaf for leaf in leaves if as_file[leaf] is None]
    raise SchemaError(
        f"hierarchy of column {name!r}: {len(odd)} of its {len(leaves)} values are not written "
        f"as the others ({name_some(odd, 3)}); write all as the file does, or all plainly "
        "(2024-05-31, 1234.5)"
    )
