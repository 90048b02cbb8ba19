"""What is characterized, as one compact table of coded columns, whatever it came from.

A table shows its values; what a release shows is gathered by `published.py`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from sfumato.counts.counts import Counts
from sfumato.counts.marginals import Marginal
from sfumato.counts.scan import scan
from sfumato.engines.base import Source
from sfumato.errors import InputError, did_you_mean
from sfumato.release.joint import label_of
from sfumato.release.release import standing_notes
from sfumato.schema.domain import Codes
from sfumato.schema.hierarchy import Levels
from sfumato.schema.roles import Schema
from sfumato.table.load import Table

Labels = Sequence[str]


@dataclass(frozen=True)
class Ground:
    """Columns and the people by their values.

    `quasi` and `sensitive` are the columns with those roles; `left_out` says of other columns why
    they are not here. `levels` are the hierarchies of a table's columns. `public`: it is, or would
    be, handed out. `unseen`: values of a column that nobody shown has; an observer may expect them.
    """

    names: tuple[str, ...]
    labels: tuple[Labels, ...]
    base: Marginal
    quasi: tuple[str, ...]
    sensitive: tuple[str, ...]
    label: str
    people: int
    notes: tuple[str, ...]
    public: bool
    levels: Mapping[str, Levels] = field(default_factory=dict)
    left_out: Mapping[str, str] = field(default_factory=dict)
    unseen: Mapping[str, Labels] = field(default_factory=dict)

    def place(self, name: str) -> int:
        """The position of a column."""
        if name in self.left_out:
            raise InputError(f"column {name!r} {self.left_out[name]}")
        if name not in self.names:
            raise InputError(
                f"column {name!r} is not in {self.label} or has no role; "
                f"{did_you_mean(name, self.names)}"
            )
        return self.names.index(name)


def of_table(table: Table, wanted: Collection[str]) -> Ground:
    """The columns of a table; kept ones if they are wanted."""
    schema = table.schema
    kept = tuple(name for name in schema.keep if name in wanted)
    counts = table.counts
    if kept:
        others = tuple(name for name in schema.keep if name not in kept)
        wider = replace(schema, sensitive=(*schema.sensitive, *kept), keep=others)
        counts = scan(table.engine, table.source, wider)
    labels: list[Labels] = [domain.labels for domain in counts.quasi]
    sensitive, its_labels = sensitive_columns(counts)
    names = (*schema.quasi, *(attribute.name for attribute in counts.sensitive))
    return Ground(
        names=names,
        labels=(*labels, *its_labels),
        base=marginal([*counts.codes, *sensitive], [*labels, *its_labels], counts.n),
        quasi=tuple(schema.quasi),
        sensitive=tuple(schema.sensitive),
        label=table.source.label,
        people=counts.people,
        notes=standing_notes(table),
        public=False,
        levels=table.levels,
        left_out=left_out(schema, table.source, (*names, *schema.keep)),
    )


def left_out(schema: Schema, source: Source, names: Collection[str]) -> dict[str, str]:
    """Why other columns of the policy and of a file are not among these.

    Of a frame only columns with a role are held: of its others nothing is known.
    """
    roles = {name: role for role, name in schema.roles()}
    return {
        name: f"has the role {roles[name]!r} in the policy and is not measured; use keep instead"
        if name in roles
        else "has no role in the policy; give it one (keep, to measure it only)"
        for name in {**roles, **source.types}
        if name not in names
    }


def sensitive_columns(counts: Counts) -> tuple[list[Codes], list[Labels]]:
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


def marginal(
    rows: Sequence[Codes], labels: Sequence[Labels], n: np.ndarray[tuple[int], np.dtype[np.generic]]
) -> Marginal:
    """The tuples; some may stand twice, since several tuples of a table may show the same."""
    columns = tuple(range(len(rows)))
    sizes = tuple(len(one) for one in labels)
    codes = np.ascontiguousarray(np.vstack([row.astype(np.int32, copy=False) for row in rows]))
    assert all(row.max(initial=-1) < size for row, size in zip(codes, sizes, strict=True))
    return Marginal(columns, sizes, codes, n.astype(np.float64))
