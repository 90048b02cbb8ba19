"""Sensitive predicates: which statements about a person must not become much more believable.

"values": has s, for every single value. A list of sets: has one of these (ulcer or dyspepsia), or
with {"not": ...} none of them (negative disclosure). "all": every subset of the values, for which
single values and the complements of single values are enough: the rise of the belief in a set is
at most the largest of its members', the fall of the doubt at most the largest when only one of the
values outside it is left outside (for "any shape" the least frequent one). That is our finding, not
the paper's; the tests enumerate it.

Per person (the paper's Phi(u)): the schema's `protect` column holds a label for each person, and
{"protect": {label: predicates}} says what each label protects. A group is checked on the union of
what its members protect.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sized
from dataclasses import dataclass
from typing import Any

from sfumato.errors import PolicyError, did_you_mean, quoted
from sfumato.numbers import Bools
from sfumato.release.groups import Groups

NOT, PROTECT = "not", "protect"
Listed = tuple[tuple[str, ...] | Mapping[str, tuple[str, ...]], ...]
Predicates = str | Listed | Mapping[str, Mapping[str, str | Listed]]


@dataclass(frozen=True)
class ValuePredicate:
    """A set of values by their codes, or with `negated` all values but these."""

    codes: frozenset[int]
    negated: bool = False

    def count(self, width: int) -> int:
        return width - len(self.codes) if self.negated else len(self.codes)

    def words(self, groups: Groups) -> str:
        named = " or ".join(repr(groups.values[code]) for code in sorted(self.codes))
        return f"not {named}" if self.negated else named


def normal(criterion: str, given: object) -> Predicates:
    """Predicates in their one form; a mistake is answered in one line."""
    if isinstance(given, Mapping) and PROTECT in given:
        by_label = given[PROTECT]
        if len(given) > 1 or not isinstance(by_label, Mapping) or not by_label:
            raise PolicyError(
                f"{criterion}: predicates of 'protect' must be a table: for each label of the "
                "protect column, what it protects"
            )
        return {PROTECT: {str(name): _plain(criterion, one) for name, one in by_label.items()}}
    if isinstance(given, str) and given == PROTECT:
        raise PolicyError(
            f"{criterion}: predicates = 'protect' does not say what each label of the protect "
            "column protects; give {protect: {label: predicates}}"
        )
    entries = [given] if isinstance(given, Mapping) else given
    if isinstance(entries, Sized) and not isinstance(entries, str) and len(entries) == 0:
        raise PolicyError(
            f"{criterion}: predicates = {quoted(given)} is empty: nothing is protected"
        )
    return _plain(criterion, entries)


def _plain(criterion: str, given: Any) -> str | Listed:
    known = given in ("values", "all") if isinstance(given, str) else False
    if not known and not isinstance(given, list | tuple | set | frozenset):
        raise PolicyError(
            f"{criterion}: predicates = {quoted(given)} is not known; use 'values', 'all', or "
            "a list of sets of values"
        )
    return given if isinstance(given, str) else tuple(_entry(criterion, one) for one in given)


def _entry(criterion: str, entry: Any) -> tuple[str, ...] | dict[str, tuple[str, ...]]:
    if isinstance(entry, Mapping):
        if set(entry) != {NOT}:
            raise PolicyError(
                f"{criterion}: predicates holds {entry!r}; a table there has the one key 'not'"
            )
        return {NOT: _values(criterion, entry[NOT])}
    return _values(criterion, entry)


def _values(criterion: str, entry: Any) -> tuple[str, ...]:
    listed = (entry,) if isinstance(entry, str) else entry
    if not isinstance(listed, list | tuple | set | frozenset) or not listed:
        raise PolicyError(
            f"{criterion}: predicates holds {entry!r}; it must be a value or a set of values"
        )
    return tuple(sorted({str(value) for value in listed}))


def per_person(predicates: Predicates) -> bool:
    """Whether they hang on the schema's protect column."""
    return isinstance(predicates, Mapping)


def asked(predicates: Predicates, groups: Groups) -> list[tuple[ValuePredicate, Bools | None]]:
    """The sets to check, by the codes of the groups' values, and in which groups (None: all)."""
    if not isinstance(predicates, Mapping):
        return [(values, None) for values in _sets(predicates, groups)]
    assert groups.protected is not None
    labels, present = groups.protected
    by_label = predicates[PROTECT]
    found: dict[ValuePredicate, Bools] = {}
    for place, label in enumerate(labels):
        if label not in by_label:
            raise PolicyError(
                f"predicates of 'protect' do not say what {label!r} protects; give it a list of "
                "sets of values, empty for nothing"
            )
        for values in _sets(by_label[label], groups):
            here = present[:, place]
            found[values] = found[values] | here if values in found else here
    return list(found.items())


def _sets(predicates: str | Listed, groups: Groups) -> list[ValuePredicate]:
    if isinstance(predicates, str):
        every = range(groups.width)
        single = [ValuePredicate(frozenset({code})) for code in every]
        if predicates == "values" or groups.width == 1:
            return single
        return single + [ValuePredicate(frozenset({code}), negated=True) for code in every]
    codes = {value: code for code, value in enumerate(groups.values)}
    found = []
    for entry in predicates:
        negated = isinstance(entry, Mapping)
        values = entry[NOT] if isinstance(entry, Mapping) else entry
        for value in values:
            if value not in codes:
                raise PolicyError(
                    f"predicates names {value!r}, not a value of "
                    f"{groups.attribute or 'the sensitive column'!r}; {did_you_mean(value, codes)}"
                )
        found.append(ValuePredicate(frozenset(codes[value] for value in values), negated))
    return found


def in_question(predicates: Predicates, groups: Groups, group: int) -> Iterator[ValuePredicate]:
    """The sets to check in one group."""
    if not isinstance(predicates, str):
        for values, where in asked(predicates, groups):
            if where is None or where[group]:
                yield values
        return
    low, high = groups.indptr[group], groups.indptr[group + 1]
    for code in groups.indices[low:high].tolist():
        yield ValuePredicate(frozenset({code}))
    if predicates == "all" and groups.width > 1:
        for code in range(groups.width):
            yield ValuePredicate(frozenset({code}), negated=True)
