"""Anatomy: l-diverse buckets with exact QIs (Xiao & Tao, VLDB 2006).

The release is two tables. One lists everybody's quasi-identifiers as they are, with a bucket
number; the other lists each bucket's sensitive values. Who in a bucket has which of its values is
all that is hidden: the adversary finds her target's bucket at once, and then all its values are
equally likely, none more than 1/l. That keeps every statistic of the QIs exact, and is no answer to
an adversary who must not learn that somebody is in the table at all, or which row is hers: k is
that of the exact QIs, and buckets of l people do not make it l.

n people, of whom no more than n / l have any one value, become floor(n / l) buckets whose sizes
differ by at most one: l or l + 1 people each, unless n mod l > floor(n / l) leaves more people over
than there are buckets (7 people at l = 4 are one bucket of 7). All values of a bucket are distinct,
so it is distinct and entropy l-diverse. A more frequent value makes such buckets impossible, and
the error says so.

The adversary may know this algorithm. Which values go together depends on how many people have each
and on chance, never on QIs, and people of a value are drawn with equal probability; so every way of
giving a bucket's values to its people is equally likely to have led to the release, and knowing the
algorithm teaches nothing further. Bucket numbers are dealt at random for the same reason.

Several values a person: a bucket publishes the bag of all its people's values (the releases of
Chen, LeFevre, Ramakrishnan, VLDB 2007), and no value occurs more often than once for every l of its
people. Lists that share no value go together, l people at a time; whoever finds no such bucket
makes two of them one until the bound holds, which it does for all people together. Chance decides
among people with equal lists, QIs never. Which lists go together does depend on what is in them, so
here somebody who knows the algorithm may learn more than the bag alone tells; that is not judged.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

import numpy as np

from sfumato.anonymizers.base import Anonymizer, Task, refused
from sfumato.counts.counts import Attribute, Counts
from sfumato.counts.stored import StoredCounts
from sfumato.criteria.base import Criterion, Verdict, judge, parameter
from sfumato.criteria.k_anonymity import AlphaK
from sfumato.errors import NoSafeRelease, PolicyError, SchemaError
from sfumato.numbers import Ints, sums_by, tallied_offsets
from sfumato.release.build import build_release
from sfumato.release.description import GROUP_ID, Buckets
from sfumato.release.made import DealtByEngine, Findings, Placement
from sfumato.release.noisy import COUNT
from sfumato.release.release import Release
from sfumato.release.summing import spread


@dataclass(frozen=True)
class AnatomyFindings(Findings):
    """Everything Anatomy finds is in its buckets."""

    anonymizer: ClassVar[str] = "anatomy"


@dataclass(frozen=True)
class Anatomy(Anonymizer):
    """Buckets of at least l people with all-distinct values of the one sensitive column; or, where
    people have several values each, none of which occurs more often than once for l people.

    With several sensitive columns Anatomy is refused: buckets diverse in one column say nothing
    about the next, and buckets diverse in the combination may all agree in one of them. Nobody is
    suppressed, whatever the policy allows.
    """

    name: ClassVar[str] = "anatomy"

    l: int  # noqa: E741 (the literature's own letter)
    """How many different values, 2 or more. Example: `l = 3`."""
    sensitive: str | None = None
    """The sensitive column, if it is to be named. Example: `sensitive = "disease"`."""

    def __post_init__(self) -> None:
        parameter(self.name, "l", self.l, whole=True, least=2)

    def run(self, task: Task) -> Release:
        task = in_buckets(self.name, task)
        (attribute,) = task.table.counts.sensitive
        if self.sensitive not in (None, attribute.name):
            raise PolicyError(
                f"{self.name}: sensitive = {self.sensitive!r} is not the sensitive column; "
                f"that is {attribute.name!r}"
            )
        return task.table.counts.either(
            in_memory=partial(self._run_in_memory, task), stored=partial(self._run_large, task)
        )

    def _run_large(self, task: Task, stored: StoredCounts) -> Release:
        """The same on a table larger than memory."""
        from sfumato.anonymizers.anatomy_large import deal_by_engine

        classes, people = stored.by_value(0), stored.memberships
        self._check_eligible(stored.sensitive[0], classes, people)
        release = deal_by_engine(
            self.name, task.table, stored, self.l, task.seed, AnatomyFindings()
        )
        try:
            return self._checked(release, task, _largest_l(classes, people))
        except NoSafeRelease:
            assert isinstance(release.placement, DealtByEngine)
            stored.engine.drop(release.placement.people)
            raise

    def _run_in_memory(self, task: Task, counts: Counts) -> Release:
        (attribute,) = counts.sensitive
        _, value, n = spread(attribute, counts.values[0], np.arange(len(counts)), counts.n)
        classes = sums_by(value, n, len(attribute.domain))
        people = counts.memberships
        self._check_eligible(attribute, classes, people)
        fill = _fill if attribute.sets is None else _fill_with_lists
        tuples, bucket = fill(counts, classes, self.l, np.random.default_rng(task.seed))
        members, disjoint = list_members(counts, tuples, bucket)
        largest = _largest_l(classes, people)
        release = build_release(
            Placement(task.table, tuples, bucket, np.ones(len(tuples), dtype=np.int64)),
            members,
            AnatomyFindings(),
            seed=task.seed,
            disjoint=disjoint,
        )
        return self._checked(release, task, largest)

    def _check_eligible(self, attribute: Attribute, classes: Ints, people: int) -> None:
        most = int(classes.max(initial=0))
        if people < self.l and most == 0:  # else some value is too frequent, too
            raise NoSafeRelease(
                f"{self.name}: no buckets with l = {self.l} exist: there are {people:,} people; "
                "give a smaller l, or use another anonymizer"
            )
        if most * self.l <= people:
            return
        label = attribute.domain.labels[int(classes.argmax())]
        largest = _largest_l(classes, people)
        remedy = (
            f"the largest l possible is {largest}"
            if largest > 1
            else "no l above 1 is possible; make its values coarser, or use another anonymizer"
        )
        having = (
            f"{label!r} occurs {most:,} times in {attribute.name!r} among {people:,} people"
            if attribute.repeated and attribute.sets is not None
            else f"{label!r} is {'the' if attribute.sets is None else 'a'} value of "
            f"{attribute.name!r} for {most:,} of {people:,} people ({most / people:.1%})"
        )
        raise NoSafeRelease(
            f"{self.name}: no buckets with l = {self.l} exist: {having}, more than 1 in {self.l}; "
            f"{remedy}"
        )

    def _checked(self, release: Release, task: Task, largest: int) -> Release:
        """Judge what was made by everything required; Anatomy itself only looks at l."""
        for criterion in task.require:
            verdict = judge(criterion, release)
            if verdict.holds:
                continue
            refuse_k(self.name, self.l, criterion, verdict, release)
            if verdict.measured is None:
                raise refused(criterion, verdict)
            why = f" ({verdict.note})" if verdict.note else ""
            larger = f"give a larger l (at most {largest} here), " if largest > self.l else ""
            raise NoSafeRelease(
                f"{self.name}: buckets with l = {self.l} do not satisfy {criterion.name}, required "
                f"{criterion.required}, measured {verdict.measured:.6g}{why}; {larger}"
                "loosen that bound, or use an anonymizer that searches by it"
            )
        return release


def in_buckets(name: str, task: Task) -> Task:
    """The task of whoever publishes buckets: which values are one person's is not told.

    Refused with more or less than one sensitive column: nothing else can be bucketized; and where
    a column has the name of one that is published besides, for one of the two would be lost.
    """
    counts = task.table.counts
    names = [attribute.name for attribute in counts.sensitive]
    if len(names) != 1:
        present = ", ".join(names) or "none"
        raise PolicyError(
            f"{name} needs exactly one sensitive column, the table has: {present}; leave "
            "one in that role, or use another anonymizer"
        )
    schema = task.table.schema
    weight = [] if schema.publish_weight is None else [schema.weight]
    for column, holds in ((GROUP_ID, "ids of buckets"), (COUNT, "counts of their values")):
        if column in (*schema.judged, *schema.kept, *weight):
            raise SchemaError(
                f"column {column!r} has the name of the column with the {holds}, which {name} "
                "publishes besides; rename it"
            )
    for column, levels in task.table.levels.items():
        if levels.finest:
            raise PolicyError(
                f"{name} publishes quasi-identifiers as they are, and limits allow {column!r} from "
                f"level {levels.finest} on; use an anonymizer that generalizes, or drop that limit"
            )
    table = task.table
    if table.schema.limits:  # values as they are lie inside one label of any level
        free = {column: replace(levels, allowed=None) for column, levels in table.levels.items()}
        table = replace(table, levels=free)
    if counts.sensitive[0].sets is not None:
        table = replace(table, counts=counts.in_memory(name).loosened())
    return task if table is task.table else replace(task, table=table)


def refuse_exact(name: str, task: Task, release: Release) -> None:
    """Raise where it is the k of the exact quasi-identifiers of these buckets that fails."""
    least = max(2, *(criterion.fewest_people for criterion in task.require), 2)
    for criterion in task.require:
        if not (verdict := judge(criterion, release)).holds:
            refuse_k(name, least, criterion, verdict, release)


def refuse_k(
    name: str,
    l: int,  # noqa: E741
    criterion: Criterion,
    verdict: Verdict,
    release: Release,
) -> None:
    """Raise where it is the k of exact quasi-identifiers that fails: no buckets can change it."""
    k: float | None = int(release.indistinguishable.sizes.min())
    if verdict.per == "tuple":
        k = verdict.measured
    elif not isinstance(criterion, AlphaK) or k is None or k >= criterion.k:
        return
    instead = f"distinct-diversity l = {l} instead (buckets then have at least {l} people)"
    if not release.groups.single_valued:
        instead = "skyline-privacy instead (people have several values each)"
    raise NoSafeRelease(
        f"{name} publishes exact quasi-identifiers, so k is theirs ({k:g}), not "
        f"the size of a bucket; {criterion.name} requires {criterion.required}: "
        f"require {instead}, or use an anonymizer that generalizes"
    )


def _largest_l(classes: Ints, people: int) -> int:
    return int(people // max(classes.max(initial=0), 1))


def _fill(
    counts: Counts,
    classes: Ints,
    l: int,  # noqa: E741
    rng: np.random.Generator,
) -> tuple[Ints, Ints]:
    """Everybody's tuple and bucket."""
    from sfumato.anonymizers.kernel import draw_values, sizes_of  # its compiler loads slowly

    people = int(classes.sum())
    sizes = sizes_of(people, l)
    drawn = draw_values(classes, sizes, rng.random(people))
    place = np.repeat(rng.permutation(len(sizes)), sizes)
    # The places that want a value and the people who have it, both in order of value.
    persons = rng.permutation(np.repeat(np.arange(len(counts)), counts.n))
    persons = persons[np.argsort(counts.values[0][persons], kind="stable")]
    return persons, place[np.argsort(drawn, kind="stable")]


def _fill_with_lists(
    counts: Counts,
    classes: Ints,
    l: int,  # noqa: E741
    rng: np.random.Generator,
) -> tuple[Ints, Ints]:
    """The same where people have several values each."""
    from sfumato.anonymizers.kernel import deal_lists  # its compiler loads slowly

    sets = counts.sensitive[0].sets
    assert sets is not None
    persons = rng.permutation(np.repeat(np.arange(len(counts)), counts.n))
    # The most frequent value of each list, then its length: whoever fits nowhere else comes first.
    lengths = np.diff(sets.offsets)
    owner = np.repeat(np.arange(len(sets)), lengths)
    commonest = np.zeros(len(sets), dtype=np.int64)
    np.maximum.at(commonest, owner, classes[sets.members] * len(classes) + sets.members)
    lists = counts.values[0][persons]
    order = np.lexsort((-lengths[lists], -commonest[lists]))
    persons, lists = persons[order], lists[order]
    bucket = deal_lists(lists, sets.offsets, sets.members, len(classes), l, rng.random(len(lists)))
    _, number = np.unique(bucket, return_inverse=True)
    return persons, rng.permutation(int(number.max()) + 1)[number]


def list_members(counts: Counts, tuples: Ints, bucket: Ints) -> tuple[Buckets, bool]:
    """Each bucket's distinct QI tuples in their own order, and whether none is in two buckets."""
    number, first = counts.group_of
    listed, n = np.unique(bucket * len(first) + number[tuples], return_counts=True)
    owner, listing = np.divmod(listed, len(first))
    total = int(bucket.max()) + 1
    weights = None
    if counts.weights is not None:
        # Everybody's share of her tuple's weight.
        person_weights = (counts.weights / counts.n)[tuples]
        where = np.searchsorted(listed, bucket * len(first) + number[tuples])
        weights = np.bincount(where, weights=person_weights).astype(np.float64)
    members = Buckets(
        domains=counts.quasi,
        indptr=tallied_offsets(owner, total),
        codes=np.ascontiguousarray(counts.codes[:, first[listing]]),
        n=n.astype(np.int64),
        weights=weights,
    )
    return members, len(listed) == len(first)
