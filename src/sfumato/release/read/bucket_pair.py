"""The two files of a bucketized release, opened, and what is refused of them.

Both must tell the same groups with the same number of people: where they do not, somebody is
missing from one, and every count drawn from the pair would be wrong. Where groups publish bags of
values, whosever they are, only the first file counts people.

A pair is read in memory (`bucketized.py`) or by the engine (`bucketized_large.py`), and refused in
the same words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn

import numpy as np

from sfumato.counts.counts import Attribute, Case
from sfumato.engines.base import Engine, Source
from sfumato.errors import InputError, name_some
from sfumato.numbers import Ints
from sfumato.release.groups import Groups
from sfumato.release.sparse import summed
from sfumato.schema.roles import Schema


@dataclass(frozen=True)
class BucketPair:
    """`lists` has everybody's exact quasi-identifiers, `buckets` the sensitive values; the column
    `group` of both says of which bucket.

    `exact` and `values` are the schemas of the two, in which that is a quasi-identifier;
    `published` is that of the release. `bags`: it is known that groups publish bags of values.
    """

    engine: Engine
    group: str
    published: Schema
    lists: Source
    exact: Schema
    buckets: Source
    values: Schema
    bags: bool = False

    def publishes_bags(self, *, differ: bool) -> bool:
        """Whether people may have several values or none; `differ`: some group has more or fewer
        values than people."""
        schema = self.published
        declared = set(schema.lists) >= set(schema.sensitive) or schema.several == "multiset"
        return self.bags or (declared and differ)

    def refuse_without_id(self, source: Source) -> NoReturn:
        raise InputError(
            f"{source.label} has rows without a group id in {self.group!r}; give every row one"
        )

    def refuse_unlisted(self, ids: Sequence[str], many: int | None = None) -> NoReturn:
        """Some groups have values and no people: these, or the first of so many."""
        self._refuse_alone(ids, many, self.buckets, self.lists)

    def refuse_without_values(self, ids: Sequence[str], many: int | None = None) -> NoReturn:
        """The same the other way round."""
        self._refuse_alone(ids, many, self.lists, self.buckets)

    def _refuse_alone(
        self, ids: Sequence[str], many: int | None, here: Source, there: Source
    ) -> NoReturn:
        total = len(ids) if many is None else many
        raise InputError(
            f"{total} group(s) are in {here.label} but not in {there.label}: "
            f"{name_some(ids, of=total)}; both files must have every group of {self.group!r}"
        )

    def refuse_sizes(self, many: int, first: str, people: int, having: int) -> NoReturn:
        """So many groups have more or fewer values than people, the first of them so many."""
        raise InputError(
            f"{many} group(s) differ in size, first {self.group} = {first!r}: "
            f"{people:,} people in {self.lists.label}, {having:,} in {self.buckets.label}; "
            "every person must be in both files; where people may have several values or none, "
            "declare the column in the schema's lists"
        )


def check_bags(sensitive: Sequence[Attribute]) -> Attribute:
    """The one column whose values groups publish bags of; refused where they cannot."""
    names = [attribute.name for attribute in sensitive]
    if len(names) > 1:
        raise InputError(
            f"groups have more or fewer values than people, and a row has a value each of "
            f"{name_some(names)}; a group's bag of values is read of one sensitive column, so name "
            "one of them"
        )
    (attribute,) = sensitive
    if attribute.sets is not None and (np.diff(attribute.sets.offsets) != 1).any():
        raise InputError(
            f"column {attribute.name!r}: groups have more or fewer rows than people, and rows list "
            "several values or none, which shows whose stand together; give every person a row, an "
            "empty one where she has no value, or every value a row of its own"
        )
    return attribute


def bag_groups(
    sensitive: Sequence[Attribute], cells: tuple[Ints, Ints, Ints], people: Ints, case: Case
) -> Groups:
    """Groups of so many people each, whose bags of values hold the `cells`: group, value, how
    often."""
    attribute = check_bags(sensitive)
    width = len(attribute.domain)
    groups = Groups.from_sparse(
        *summed(*cells, len(people), width),
        width,
        sizes=people,
        domain=attribute.domain,
        case=case,
    )
    if groups.case == "set" and (groups.largest > people).any():
        raise InputError(
            f"column {attribute.name!r}: a value occurs more often than its group has people, so "
            "somebody has it twice; say several = 'multiset' in the schema if that counts"
        )
    return groups


def bag_note(groups: Groups) -> str:
    """What is to be said of groups that publish bags of values."""
    return (
        f"{groups.attribute}: groups publish a bag of values ({int(groups.by_value().sum()):,} of "
        f"{groups.people():,} people), each person's a {groups.case}; who has several, and which "
        "together, is hidden"
    )
