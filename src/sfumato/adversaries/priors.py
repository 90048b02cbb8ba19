"""Priors: what somebody believes before she reads a release, in all the forms it may be given.

One parser for Python, policies and `--prior`; every form is a type of its own:

    "uniform"                        every value alike
    "table"                          how everybody in the table is distributed
    "pooled"                         how the people of all releases together are
    {"flu": 0.7, "HIV": 0.3}         shares by value that sum to 1; as text: flu=0.7,HIV=0.3
    {"flu": 70, "HIV": 30}           counts by value, whole numbers
    {"given": ["age"]}               the distribution among those who show the same in these columns
    [{"class": ..., "shares": ...}]  a distribution for each class, by the cells it publishes
    an outside Table, an earlier Release, or {"file": ...} with either, in policies and options
    0.5                              the weight of every value
    {"age": 2, "zip": {"13053": 3}}  weights by column; as text: age=2,zip:13053=3

Who is asked says by a `PriorUse` which of them she can work with, and refuses the others in one
line that names what she takes. What the weights mean is told where they are used: people seen by a
realistic adversary, distributions by an observer, Dirichlet weights by a learner.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from sys import float_info
from typing import Any

import numpy as np

from sfumato.adversaries.locating.people import count_behind
from sfumato.counts.counts import Attribute
from sfumato.errors import PolicyError, SfumatoError, did_you_mean, name_some, quoted
from sfumato.numbers import Codes, Ints, fraction, sums_by
from sfumato.release.build import BETWEEN, joint_attribute, joint_groups
from sfumato.release.description import Regions
from sfumato.release.groups import Groups
from sfumato.release.release import Release, same_people
from sfumato.schema.region import text_of
from sfumato.table import Table

PriorNumber = int | float | Fraction
GIVEN, FILE = "given", "file"
_ROUNDING = Fraction(1, 10**9)  # shares written as decimals may miss 1 by this much


# -- the forms -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Uniform:
    """Every value alike."""


@dataclass(frozen=True)
class OfTable:
    """How everybody in the table is distributed."""


@dataclass(frozen=True)
class Pooled:
    """How the people of all releases together are distributed."""


@dataclass(frozen=True)
class ValueShares:
    """The share of each value; they sum to 1."""

    weights: Mapping[str, PriorNumber] = field(hash=False)


@dataclass(frozen=True)
class ValueCounts:
    """How many people have each value."""

    weights: Mapping[str, int] = field(hash=False)


@dataclass(frozen=True)
class FewerColumns:
    """The distribution among those who show the same in these columns, which she knows already."""

    columns: tuple[str, ...]


@dataclass(frozen=True)
class ListedClass:
    """A class's cells and the shares of its values.

    Cells are (column, text); no column where they follow the release's own order.
    """

    cells: tuple[tuple[str, str], ...]
    shares: ValueShares | ValueCounts


@dataclass(frozen=True)
class ByClass:
    """A distribution for each class."""

    classes: tuple[ListedClass, ...]


@dataclass(frozen=True, eq=False)
class Outside:
    """People from outside: equal if they are the very same, or from the same file."""

    people: Table | Release

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and same_people(self.people, other.people)

    def __hash__(self) -> int:
        return hash(type(self))


@dataclass(frozen=True, eq=False)
class OutsideTable(Outside):
    """A table of other people."""

    people: Table


@dataclass(frozen=True, eq=False)
class EarlierRelease(Outside):
    """What was published before."""

    people: Release


@dataclass(frozen=True)
class EqualWeights:
    """The weight of every value: people of each kind she thinks she has seen."""

    weight: float


@dataclass(frozen=True)
class ColumnWeights:
    """A weight for all values of a column, or one for each of some values."""

    columns: Mapping[str, float | Mapping[object, float]] = field(hash=False)


Prior = (
    Uniform
    | OfTable
    | Pooled
    | ValueShares
    | ValueCounts
    | FewerColumns
    | ByClass
    | OutsideTable
    | EarlierRelease
    | EqualWeights
    | ColumnWeights
)
PriorGiven = (
    Prior | str | float | Mapping[object, object] | Sequence[object] | Table | Release | None
)

_WORDS: dict[str, Prior] = {"uniform": Uniform(), "table": OfTable(), "pooled": Pooled()}
_NAMES: dict[type, str] = {
    Uniform: "'uniform'",
    OfTable: "'table'",
    Pooled: "'pooled'",
    ValueShares: "shares or counts by value",
    FewerColumns: "{ given = [columns] }",
    ByClass: "a list of { class = cells, shares = {...} }",
    EqualWeights: "a weight",
    ColumnWeights: "weights by column",
    OutsideTable: "an outside table",
    EarlierRelease: "an earlier release",
}


# -- the parser ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PriorUse:
    """Who takes a prior, what she calls it, and which forms she can work with.

    `nobody`: counts may be of nobody at all, which is no opinion.
    """

    user: str
    forms: tuple[type, ...]
    word: str = "prior"
    error: type[SfumatoError] = PolicyError
    nobody: bool = False

    @property
    def allowed(self) -> str:
        """The forms, in words."""
        names = [_NAMES[form] for form in self.forms if form in _NAMES]
        return f"{', '.join(names[:-1])} or {names[-1]}"

    def refusal(self, message: str) -> SfumatoError:
        return self.error(f"{self.user}: {self.word}{message}")


def parse_prior(given: object, use: PriorUse) -> Prior:
    """A prior from what somebody wrote; refused in one line where she cannot mean it."""
    if file_named(given) is not None:
        raise use.refusal(
            f" = {quoted(given)} names a file, which a policy or --{use.word} reads by the "
            "policy's schema; elsewhere read it (sf.read, sf.read_release) and give what was read"
        )
    prior = _understood(given, use)
    if prior is None or not isinstance(prior, use.forms):
        raise use.refusal(f" = {quoted(given)} is not allowed; use {use.allowed}")
    return prior


def file_named(given: object) -> Mapping[str, object] | None:
    """The file or folder that is given in the place of a prior, as a policy writes it."""
    if isinstance(given, Mapping):
        named = isinstance(given.get(FILE), str)
        return {str(key): value for key, value in given.items()} if named else None
    if isinstance(given, Path):
        return {FILE: str(given)}
    if not isinstance(given, str) or given in _WORDS or "=" in given or _number(given) is not None:
        return None
    path = Path(given or "?")  # nothing is no file, not this folder
    there = os.path.exists(path)  # noqa: PTH110, which raises where a name is too long
    return {FILE: given} if path.suffix or len(path.parts) > 1 or there else None


def _understood(given: object, use: PriorUse) -> Prior | None:
    """The form it has; None where it has none."""
    if isinstance(given, Prior):
        return given
    if isinstance(given, str):
        return _of_text(given, use)
    if isinstance(given, Table):
        return OutsideTable(given)
    if isinstance(given, Release):
        return EarlierRelease(given)
    if _is_number(given) and abs(given) <= float_info.max:  # type: ignore[arg-type]
        return EqualWeights(float(given))  # type: ignore[arg-type]
    if isinstance(given, Mapping) and given:
        return _of_mapping(given, use)
    if isinstance(given, list | tuple) and given and all(isinstance(e, Mapping) for e in given):
        return _by_class([_listed(entry, use) for entry in given], use)
    return None


def _of_text(text: str, use: PriorUse) -> Prior | None:
    """A word, a weight, `given=age,sex`, `flu=0.7,HIV=0.3` or, by column, `age=2,zip:13053=3`."""
    if text in _WORDS:
        return _WORDS[text]
    number = _number(text)
    if number is not None:
        return EqualWeights(float(number))
    if text.startswith(f"{GIVEN}="):
        return _of_mapping({GIVEN: [name.strip() for name in text[6:].split(",")]}, use)
    if "=" in text:
        pairs = [part.rpartition("=")[::2] for part in text.split(",")]
        numbers = {name.strip(): _number(number.strip()) for name, number in pairs}
        if len(numbers) == len(pairs) and all(numbers) and None not in numbers.values():
            return _by_column(numbers) if ColumnWeights in use.forms else _of_mapping(numbers, use)
    return None


def _by_column(numbers: Mapping[str, Any]) -> Prior | None:
    """`age=2,zip:13053=10`: the weights of a column, or of single values of one."""
    columns: dict[str, Any] = {name: n for name, n in numbers.items() if ":" not in name}
    for name in numbers.keys() - columns.keys():
        column, _, value = name.partition(":")
        if not isinstance(columns.setdefault(column, {}), dict):
            return None
        columns[column][value] = numbers[name]
    return ColumnWeights(columns)


def _of_mapping(given: Mapping[Any, object], use: PriorUse) -> Prior:
    if GIVEN in given and not _is_number(given[GIVEN]):
        return FewerColumns(_columns(given, use))
    if ColumnWeights in use.forms:
        return ColumnWeights(given)  # type: ignore[arg-type]
    if all(isinstance(shares, Mapping) for shares in given.values()):
        entries = [{"class": cells, "shares": shares} for cells, shares in given.items()]
        return _by_class([_listed(entry, use) for entry in entries], use)
    return _by_value(given, use)


def _columns(given: Mapping[object, object], use: PriorUse) -> tuple[str, ...]:
    listed = given[GIVEN]
    columns = [listed] if isinstance(listed, str) else listed
    named = isinstance(columns, list | tuple) and all(isinstance(c, str) and c for c in columns)
    if len(given) > 1 or not named or not columns or len(set(columns)) < len(columns):  # type: ignore[arg-type, call-overload]
        raise use.refusal(
            f" = {quoted(given)} is not allowed; given lists the columns she knows, each once: "
            "{ given = ['age'] }"
        )
    return tuple(columns)  # type: ignore[arg-type]


def _by_value(given: Mapping[object, object], use: PriorUse) -> ValueShares | ValueCounts:
    """Whole numbers throughout, or any number above 1: counts. Otherwise shares."""
    weights: dict[str, PriorNumber] = {}
    for value, number in given.items():
        if not _is_number(number) or not 0 <= number <= float_info.max:  # type: ignore[operator]
            raise use.refusal(
                f" of {value!r} = {quoted(number)} is not allowed; it must be a share or a count, "
                "0 or more"
            )
        if text_of(value) in weights:
            raise use.refusal(f" names {text_of(value)!r} twice")
        weights[text_of(value)] = number  # type: ignore[assignment]
    exact = {value: fraction(number) for value, number in weights.items()}
    total = sum(exact.values(), Fraction(0))
    whole = all(isinstance(number, int) for number in weights.values())
    if whole or max(exact.values(), default=0) > 1:
        broken = [value for value, number in exact.items() if number.denominator != 1]
        if broken:
            raise use.refusal(
                f" of {broken[0]!r} = {float(exact[broken[0]]):g} is neither a share nor a count: "
                "numbers above 1 are counts, which are whole"
            )
        if total or use.nobody:
            return ValueCounts({value: int(number) for value, number in exact.items()})
    if not total or abs(total - 1) > _ROUNDING:
        raise use.refusal(
            f": the shares sum to {float(total):.10g}, not to 1; correct them, or give counts, "
            "which are whole numbers"
        )
    return ValueShares(weights)


def _listed(entry: Mapping[Any, object], use: PriorUse) -> ListedClass:
    if set(entry) != {"class", "shares"} or not isinstance(entry["shares"], Mapping):
        raise use.refusal(
            f": an entry has the keys {', '.join(map(repr, entry)) or 'none'}; it must have "
            "class = cells and shares = {...}"
        )
    cells = entry["class"]
    if isinstance(cells, Mapping):
        texts = tuple((str(column), text_of(cell)) for column, cell in cells.items())
    else:
        several = cells if isinstance(cells, list | tuple) else [cells]
        texts = tuple(("", text_of(cell)) for cell in several)
    if not texts:
        raise use.refusal(": an entry's class is empty; give its cells")
    return ListedClass(texts, _by_value(entry["shares"], replace(use, nobody=False)))


def _by_class(classes: Sequence[ListedClass], use: PriorUse) -> ByClass:
    """All entries name the same columns, or none; no class is listed twice."""
    seen: set[tuple[str, ...]] = set()
    first = dict(classes[0].cells)
    for class_ in classes:
        cells = dict(class_.cells)
        if set(cells) != set(first):
            raise use.refusal(": classes name different columns; name the same in every entry")
        named = "" not in first
        key = tuple(cells[c] for c in first) if named else tuple(text for _, text in class_.cells)
        if key in seen:
            raise use.refusal(f": the class {', '.join(key)} is listed twice")
        seen.add(key)
    return ByClass(tuple(classes))


def _is_number(value: object) -> bool:
    return isinstance(value, int | float | Fraction) and not isinstance(value, bool)


def _number(text: str) -> int | float | None:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return None


# -- what policies keep, and what consumers ask ----------------------------------------------------


def plain_prior(prior: Prior) -> object:
    """A prior as a policy file holds it; people from outside as they are."""
    match prior:
        case Outside():
            return prior.people
        case ValueShares() | ValueCounts():
            return _plain_shares(prior)
        case FewerColumns():
            return {GIVEN: list(prior.columns)}
        case ByClass():
            return [
                {
                    "class": dict(class_.cells)
                    if class_.cells[0][0]
                    else [text for _, text in class_.cells],
                    "shares": _plain_shares(class_.shares),
                }
                for class_ in prior.classes
            ]
        case EqualWeights():
            return prior.weight
        case ColumnWeights():
            return dict(prior.columns)
    return next(word for word, form in _WORDS.items() if form == prior)


def _plain_shares(prior: ValueShares | ValueCounts) -> dict[str, int | float]:
    return {
        value: float(number) if isinstance(number, Fraction) else number
        for value, number in prior.weights.items()
    }


def check_values(
    prior: ValueShares | ValueCounts, values: Sequence[str], attribute: str | None, use: PriorUse
) -> None:
    """A prior somebody wrote down names values of the column only."""
    known = set(values)
    strange = [value for value in prior.weights if value not in known]
    if strange:
        raise use.refusal(
            f" names {name_some(strange[:1])}, not a value of "
            f"{attribute or 'the sensitive column'!r}; {did_you_mean(strange[0], values)}"
        )


def counts_in(outside: Release | Table, attribute: str | None, use: PriorUse) -> dict[str, int]:
    """How often each value of the attribute occurs in an earlier release or outside table."""
    if isinstance(outside, Table):
        places = _places(outside, attribute, use)
        described = outside.counts.sensitive[places[0]]
        if len(places) > 1 or described.sets is not None:
            described, codes = values_of(outside, attribute, use)
            n = sums_by(codes, outside.counts.in_memory(use.user).n, len(described.domain))
        else:
            n = outside.counts.by_value(places[0])
        return dict(zip(described.domain.labels, n.tolist(), strict=True))
    groups = groups_about(outside, attribute, use)
    # A value that it does not show nobody has read in it.
    counted = zip(groups.values, groups.by_value().astype(np.int64).tolist(), strict=True)
    return {value: n for value, n in counted if n}


def _members(attribute: str | None, names: Sequence[str]) -> Sequence[str]:
    """The columns an attribute consists of: itself, those of a joint one, or the only one."""
    if attribute is None:
        return names if len(names) == 1 else ()
    members = [attribute] if attribute in names else attribute.split(BETWEEN)
    return members if all(name in names for name in members) else ()


def groups_about(outside: Release, attribute: str | None, use: PriorUse) -> Groups:
    """The groups of an earlier release by the attribute; the only one it has unless named."""
    names = [name for name, groups in outside.by_attribute.items() if groups.width]
    members = _members(attribute, names)
    if not members:
        raise use.error(f"{use.user}: the earlier release has no sensitive column {attribute!r}")
    together = len(members) > 1
    groups = joint_groups(outside, members) if together else outside.by_attribute[members[0]]
    if not groups.single_valued:
        raise use.error(f"{use.user}: people of the earlier release have several values each")
    return groups


def _places(outside: Table, attribute: str | None, use: PriorUse) -> list[int]:
    """Which of an outside table's sensitive columns are the attribute: several if it is joint."""
    names = [column.name for column in outside.counts.sensitive]
    members = _members(attribute, names)
    if not members:
        raise use.error(
            f"{use.user}: the outside table has no sensitive column {attribute!r}; read it with a "
            "schema that names it"
        )
    return [names.index(name) for name in members]


def values_of(outside: Table, attribute: str | None, use: PriorUse) -> tuple[Attribute, Codes]:
    """The attribute of an outside table, and the code of each of its tuples."""
    places = _places(outside, attribute, use)
    counts = outside.counts.in_memory(f"the outside table of the {use.user}")
    if any(counts.sensitive[place].sets is not None for place in places):
        raise use.error(f"{use.user}: people of the outside table have several values each")
    if len(places) > 1:
        return joint_attribute(counts, places)
    return counts.sensitive[places[0]], counts.values[places[0]]


def people_by_value(
    regions: Regions, outside: Table, attribute: str | None, use: PriorUse
) -> Iterator[tuple[str, Ints]]:
    """Every value of an outside table's attribute, and how many people with it fit each region."""
    described, codes = values_of(outside, attribute, use)
    counts = outside.counts.in_memory(use.user)
    for code, value in enumerate(described.domain.labels):
        part = replace(outside, counts=counts.take(np.flatnonzero(codes == code)))
        nobody = len(part.counts) == 0
        yield value, np.zeros(len(regions), np.int64) if nobody else count_behind(regions, part)
