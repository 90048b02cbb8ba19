"""One quasi-identifier of a generalized release: its regions as sets of atoms.

Values that no published region tells apart form an atom: a run of codes between two places where
some region begins or ends. What the release says about a value it says about its whole atom; inside
an atom only the prior speaks, so a value has the share of its weight. All work is done on atoms.

A column's domain is all that a value could be, not what somebody has.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from sfumato.errors import InputError, SchemaError, name_some
from sfumato.numbers import Codes, Floats, Ints, Ragged
from sfumato.release.made import ReadFrom
from sfumato.release.read.cells import known_domain
from sfumato.release.release import Release
from sfumato.schema.domain import Domain, DomainKind
from sfumato.schema.region import Anything, Region, Span, Value, ValueSet, codes_inside, text_of
from sfumato.schema.roles import Schema
from sfumato.table import Table

# The whole domain of every quasi-identifier: what a value could be, not what somebody has.
#
# The learner's population has a probability for every possible value, so p_L depends on the domain.
# It comes from the schema: a declared list of values, or the leaves of a taxonomy. Only where the
# schema says nothing do the values seen stand in, and a note says so.


def domains_of(release: Release, table: Table | None) -> tuple[tuple[Domain, ...], list[str]]:
    """The domain of each quasi-identifier of a release, and what must be told of them."""
    domains, seen = [], []
    for place, name in enumerate(release.regions.columns):
        domain, declared = _domain(release, table, place, name)
        domains.append(domain)
        if not declared:
            seen.append(name)
    notes = []
    if seen:
        notes.append(
            f"the domain of {name_some(seen)} is taken from the values seen, since the schema "
            "declares none; where more values are possible, the learner believes otherwise"
        )
    return tuple(domains), notes


def _domain(release: Release, table: Table | None, place: int, name: str) -> tuple[Domain, bool]:
    schema = release.schema
    recipe = schema.hierarchies.get(name)
    declared = not isinstance(schema.domains.get(name), str | None) or bool(
        recipe is not None and recipe.leaves()
    )
    original = release.placement.table if release.placement is not None else table
    kept = release.made.domains if isinstance(release.made, ReadFrom) else {}
    domain = kept.get(name) if original is None else _of_table(original, name)
    if declared and (original is None or not _same_domain(schema, original.schema, name)):
        domain = known_domain(name, schema.domains.get(name), recipe)
    if release.regions.buckets is not None:
        listed = release.regions.buckets.domains[place]
        return (listed, declared) if domain is None else (_with_specials(domain, listed), declared)
    parts = release.regions.require_regions().parts[place]
    if domain is None:
        domain = _of_parts(name, parts)
    return _with_specials(domain, parts), declared


def _same_domain(first: Schema, second: Schema, name: str) -> bool:
    """Whether two schemas declare the same values of a column."""
    return first is second or (
        first.domains.get(name) == second.domains.get(name)
        and first.hierarchies.get(name) == second.hierarchies.get(name)
    )


def _of_table(table: Table, name: str) -> Domain:
    for domain in table.counts.quasi:
        if domain.name == name:
            return domain
    raise InputError(
        f"the table {table.source.label} lacks the quasi-identifier {name!r} of the release; read "
        "it with a schema that names it in quasi"
    )


def _of_parts(name: str, parts: Sequence[Region]) -> Domain:
    """The values the release itself shows, where it shows values and nothing wider."""
    values: dict[str, Value] = {}
    for part in parts:
        if not isinstance(part, ValueSet):
            raise SchemaError(
                f"column {name!r}: its domain is not known, so nobody can say what {part.text!r} "
                "may stand for; list its values in the schema's domains, give it a taxonomy, or "
                "give the original table"
            )
        values.update((text_of(value), value) for value in part.values)
    present = [value for value in values.values() if value is not None]
    kind: DomainKind = "categorical"
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in present):
        kind = "numeric"
        present.sort()
    else:
        present.sort(key=text_of)
    missing: tuple[Value, ...] = (None,) if None in values.values() else ()
    return Domain(name, kind, (*present, *missing))


def _with_specials(domain: Domain, published: Sequence[Region] | Domain) -> Domain:
    """With NULL, and special codes beside ranges, as values where the release shows them."""
    specials: set[str | None] = set()
    if isinstance(published, Domain):
        specials.update(published.specials)
    else:
        specials.update(*(part.beside for part in published if isinstance(part, Span)))
        if any(not isinstance(part, Anything) and part.contains(None) for part in published):
            specials.add(None)
    more = specials - set(domain.values)
    if not more:
        return domain
    codes = sorted(special for special in more if special is not None)
    known = [special for special in domain.specials if special is not None]
    null = (None,) if None in specials or domain.has_null else ()
    values = (*domain.values[: domain.placed], *known, *codes, *null)
    return Domain(domain.name, domain.kind, values)


def recode(name: str, codes: Codes, source: Domain, target: Domain) -> Ints:
    """Codes of one domain as those of another; refused where a value used is not in it."""
    if source is target:
        return codes.astype(np.int64)
    place = [target.code(value) for value in source.values]
    known = np.array([-1 if code is None else code for code in place], dtype=np.int64)
    moved = known[codes]
    if (moved < 0).any():
        strange = [source.labels[code] for code in np.unique(codes[moved < 0]).tolist()]
        raise InputError(
            f"column {name!r}: {len(strange)} value(s) are outside its domain: "
            f"{name_some(strange)}; add them to the schema's domains, or correct them"
        )
    return moved


def values_inside(domain: Domain, parts: Sequence[Region], used: Ints) -> dict[int, Ints]:
    """The codes each used region may stand for; a region that fits no value at all is refused."""
    inside = {
        part: np.unique(np.asarray(codes, dtype=np.int64))
        for part, codes in codes_inside(parts, used, domain)
    }
    empty = [parts[part].text for part, codes in inside.items() if not len(codes)]
    if empty:
        raise InputError(
            f"column {domain.name!r}: {len(empty)} published region(s) contain no value of its "
            f"domain: {name_some(sorted(empty))}; correct the domain in the schema"
        )
    return inside


@dataclass(frozen=True)
class RegionColumn:
    """`region_of[g]` is the region of group g; region p holds `atoms[indptr[p]:indptr[p + 1]]`.

    `beta` has a row by sensitive value, or one row for all. `size[p]` counts a region's values.
    """

    domain: Domain
    beta: Floats
    region_of: Codes
    atom_of: Ints
    indptr: Ints
    atoms: Ints
    size: Ints
    first: Ints = field(repr=False)  # the first code of each atom

    @property
    def name(self) -> str:
        return self.domain.name

    @property
    def width(self) -> int:
        """How many atoms there are."""
        return len(self.first)

    @property
    def parts(self) -> int:
        return len(self.indptr) - 1

    @cached_property
    def weight(self) -> Floats:
        """The prior weight of each atom, a row by sensitive value or one for all."""
        summed: Floats = np.add.reduceat(self.beta, self.first, axis=1)
        return summed

    @cached_property
    def log_share(self) -> Floats:
        """Each value's share of its atom, which the release says nothing about."""
        shares: Floats = np.log(self.beta) - np.log(self.weight)[:, self.atom_of]
        return shares

    def row(self, s: Ints) -> Ints:
        """The rows of `beta` for these sensitive values."""
        return s if len(self.beta) > 1 else np.zeros_like(s)

    def of_part(self, part: int) -> Ints:
        """The atoms of a region."""
        return self.atoms[self.indptr[part] : self.indptr[part + 1]]

    def gathered(self, weights: Floats) -> Floats:
        """For weights of single values, what each atom's values have on average, by the prior."""
        summed: Floats = np.add.reduceat(self.beta * weights, self.first, axis=1) / self.weight
        return summed


def column_of(
    domain: Domain, beta: Floats, parts: Sequence[Region], region_of: Codes
) -> RegionColumn:
    """The column of a release whose groups show these regions of it."""
    inside = values_inside(domain, parts, np.unique(region_of))
    begins = [np.zeros(1, dtype=np.int64)]
    for codes in inside.values():
        gap = np.flatnonzero(np.diff(codes) > 1)
        begins += [codes[:1], codes[gap + 1], codes[gap] + 1, codes[-1:] + 1]
    first = np.unique(np.concatenate(begins))
    first = first[first < len(domain)]
    atom_of = np.searchsorted(first, np.arange(len(domain)), "right") - 1
    starts = np.zeros(len(domain), dtype=bool)
    starts[first] = True
    lists = [np.zeros(0, dtype=np.int64)] * len(parts)
    size = np.zeros(len(parts), dtype=np.int64)
    for part, codes in inside.items():
        lists[part] = atom_of[codes[starts[codes]]]
        size[part] = len(codes)
    atoms = Ragged.of(lists)
    atom_of = atom_of.astype(np.int64)
    return RegionColumn(domain, beta, region_of, atom_of, atoms.offsets, atoms.values, size, first)
