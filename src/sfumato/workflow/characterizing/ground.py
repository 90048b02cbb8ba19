"""What is characterized, as one compact table of coded columns, whatever it came from.

A table shows its values; a release the cells it publishes. A bucketized release shows exact
quasi-identifiers and, apart from them, the sensitive values of each bucket: whoever has a tuple has
each value of the bucket with its share, so people are expected people there.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from sfumato.counts.contingency import Counts
from sfumato.counts.marginals import Marginal
from sfumato.counts.scan import scan
from sfumato.errors import InputError, did_you_mean
from sfumato.release.groups import Floats
from sfumato.release.joint import label_of
from sfumato.release.members import Members
from sfumato.release.regions import Regions
from sfumato.release.release import Release, standing_notes
from sfumato.schema.domain import Codes
from sfumato.schema.hierarchy import Levels
from sfumato.schema.region import Region
from sfumato.table.load import Table

Labels = Sequence[str]


@dataclass(frozen=True)
class Ground:
    """Columns and the people by their values.

    `quasi` and `sensitive` are the columns with those roles. `reference` holds the whole table's
    counts of a column where they are not those of the people shown (suppressed people count).
    `levels` are the hierarchies of a table's columns. `public`: it is, or would be, handed out.
    """

    names: tuple[str, ...]
    labels: tuple[Labels, ...]
    base: Marginal
    quasi: tuple[str, ...]
    sensitive: tuple[str, ...]
    label: str
    reference: Mapping[str, Floats]
    levels: Mapping[str, Levels]
    notes: tuple[str, ...]
    public: bool

    @property
    def people(self) -> int:
        return round(float(self.base.n.sum()))

    def place(self, name: str) -> int:
        """The position of a column."""
        if name not in self.names:
            raise InputError(
                f"column {name!r} is not in {self.label}; {did_you_mean(name, self.names)}"
            )
        return self.names.index(name)


class _Texts(Sequence[str]):
    """The cells of a column, written out when asked for."""

    def __init__(self, parts: Sequence[Region]) -> None:
        self._parts = parts

    def __len__(self) -> int:
        return len(self._parts)

    def __getitem__(self, place):  # type: ignore[no-untyped-def]
        return self._parts[place].text


def ground_of(subject: Table | Release, wanted: Collection[str]) -> Ground:
    """The columns of a table or release; kept columns of a table if they are wanted."""
    if isinstance(subject, Table):
        return _of_table(subject, wanted)
    if subject.scheme == "randomised":
        raise InputError("counts of a randomised release are noisy; characterize the table instead")
    if _shared(subject):
        raise InputError(
            "groups read with matching='wildcard' share people; read the release with "
            "matching='exact'"
        )
    if len(subject.groups) == 0:
        raise InputError(f"{subject.label} has no group; there is nothing to characterize")
    if isinstance(subject.regions, Members):
        return _of_buckets(subject, subject.regions)
    return _of_release(subject, subject.regions)


def _shared(release: Release) -> bool:
    """Whether people count in several groups each."""
    source = release.origin or release.counted
    twice = source is not None and int(source.n.sum()) > int(source.counts.n.sum())
    return twice or release.own is not None


def _of_table(table: Table, wanted: Collection[str]) -> Ground:
    schema = table.schema
    kept = tuple(name for name in schema.keep if name in wanted)
    counts = table.counts
    if kept:
        others = tuple(name for name in schema.keep if name not in kept)
        wider = replace(schema, sensitive=(*schema.sensitive, *kept), keep=others)
        counts = scan(table.engine, table.source, wider)
    labels: list[Labels] = [domain.labels for domain in counts.quasi]
    sensitive, its_labels = _sensitive(counts)
    return Ground(
        names=(*schema.quasi, *(attribute.name for attribute in counts.sensitive)),
        labels=(*labels, *its_labels),
        base=_marginal([*counts.codes, *sensitive], [*labels, *its_labels], counts.n),
        quasi=tuple(schema.quasi),
        sensitive=tuple(schema.sensitive),
        label=table.source.label,
        reference={},
        levels=table.levels,
        notes=standing_notes(table),
        public=False,
    )


def _sensitive(counts: Counts) -> tuple[list[Codes], list[Labels]]:
    """Codes and labels of the sensitive attributes; a set of values is one value."""
    labels: list[Labels] = []
    for attribute in counts.sensitive:
        sets = attribute.sets
        labels.append(
            attribute.domain.labels
            if sets is None
            else [label_of(attribute, code) for code in range(len(sets))]
        )
    return list(counts.values), labels


def _of_release(release: Release, regions: Regions) -> Ground:
    source = release.origin or release.counted
    cells: list[Labels] = [_Texts(parts) for parts in regions.parts]
    if source is not None:
        kept = np.flatnonzero(source.groups >= 0)
        group, n = source.groups[kept], source.n[kept]
        codes, labels = _sensitive(source.counts)
        sensitive = [row[source.tuples[kept]] for row in codes]
        names = tuple(attribute.name for attribute in source.counts.sensitive)
    else:
        groups = release.groups
        names = tuple(release.by_attribute) if groups.width else ()
        if len(names) > 1 or not groups.single_valued:
            raise InputError("this release tells of each sensitive column alone; read it anew")
        group, n = groups.row, groups.data
        sensitive, labels = [groups.indices], [groups.values]
        if not names:
            group, n, sensitive, labels = np.arange(len(groups)), groups.sizes, [], []
    shown = [row[group] for row in regions.codes]
    alone = [name for name in names if release.by_attribute[name].single_valued]
    return Ground(
        names=(*regions.columns, *names),
        labels=(*cells, *labels),
        base=_marginal([*shown, *sensitive], [*cells, *labels], n),
        quasi=regions.columns,
        sensitive=names,
        label=release.label,
        reference={name: release.by_attribute[name].reference for name in alone},
        levels={},
        notes=_release_notes(release),
        public=True,
    )


def _of_buckets(release: Release, members: Members) -> Ground:
    groups = release.groups
    if len(release.by_attribute) != 1 or not groups.single_valued or groups.width == 0:
        raise InputError("a bucketized release must have one sensitive column of one value each")
    length = np.diff(groups.indptr)
    bucket = np.repeat(np.arange(len(members)), np.diff(members.indptr))
    # Every tuple of a bucket with every value of it: the tuple's people times the value's share.
    times = length[bucket]
    tuples = np.repeat(np.arange(len(bucket)), times)
    within = np.arange(int(times.sum())) - np.repeat(np.cumsum(times) - times, times)
    place = groups.indptr[bucket[tuples]] + within
    (name,) = release.by_attribute
    labels: list[Labels] = [*(domain.labels for domain in members.domains), groups.values]
    return Ground(
        names=(*members.columns, name),
        labels=tuple(labels),
        base=_marginal(
            [*members.codes[:, tuples], groups.indices[place]],
            labels,
            members.n[tuples] * groups.share[place],
        ),
        quasi=members.columns,
        sensitive=(name,),
        label=release.label,
        reference={name: groups.reference},
        levels={},
        notes=(
            *_release_notes(release),
            "a bucket does not say who has which value: people are expected ones, by shares",
        ),
        public=True,
    )


def _marginal(
    rows: Sequence[Codes], labels: Sequence[Labels], n: np.ndarray[tuple[int], np.dtype[np.generic]]
) -> Marginal:
    """The tuples; some may stand twice, since several tuples of a table may show the same."""
    columns = tuple(range(len(rows)))
    sizes = tuple(len(one) for one in labels)
    codes = np.ascontiguousarray(np.vstack([row.astype(np.int32, copy=False) for row in rows]))
    return Marginal(columns, sizes, codes, n.astype(np.float64))


def _release_notes(release: Release) -> tuple[str, ...]:
    if not release.suppressed:
        return release.notes
    told = (
        f"{release.suppressed:,} suppressed people are in no class; the prior of a single "
        "sensitive column counts them, other priors cannot"
    )
    return (*release.notes, told)
