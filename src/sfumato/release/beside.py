"""What stands beside the counts of groups: what they publish, whom they hold, what they stand for.

Who is inside each group is private; a bucketized release publishes it. Criteria that ask what
somebody could learn of a *person* need it, since people of one group differ in what else is known
about them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from sfumato.counts.counts import Counts
from sfumato.errors import InputError
from sfumato.numbers import Floats, Ints, taken_rows
from sfumato.release.several_groups import SeveralGroups

if TYPE_CHECKING:
    from sfumato.release.description import Regions
    from sfumato.release.groups import Groups
    from sfumato.release.guarantee import Guarantee

Protected = tuple[tuple[str, ...], npt.NDArray[np.bool_]]


@dataclass(frozen=True)
class Inside:
    """Group g holds `n[i]` people of tuple `tuples[i]` of `counts`, i from indptr[g] on."""

    counts: Counts
    indptr: Ints
    tuples: Ints
    n: Ints

    def __len__(self) -> int:
        return len(self.indptr) - 1

    def take(self, kept: Ints) -> Inside:
        """Some of the groups, by their positions."""
        indptr, places = taken_rows(self.indptr, kept)
        return Inside(self.counts, indptr, self.tuples[places], self.n[places])

    def merge(self, number: Ints, total: int) -> Inside:
        """Groups put together: group g becomes part of group `number[g]` of `total`."""
        order = np.argsort(number, kind="stable")
        first = np.searchsorted(number[order], np.arange(total + 1)).astype(np.int64)
        return self.take(order).together(first)

    def together(self, first: Ints) -> Inside:
        """Runs of groups as one group each: those from first[i] up to first[i + 1]."""
        return Inside(self.counts, self.indptr[first], self.tuples, self.n)


@dataclass(frozen=True)
class Beside:
    """What is known of groups besides their counts, for whoever needs it.

    `regions` are what they publish of quasi-identifiers; `population` the summed survey weights;
    `guarantee` that of noisy counts; `protected` the protect column's labels and which of them each
    group has; `inside` who is in them (private), `several` who is in several of them. Where groups
    share people (wildcard matching), `published` are the people published with each group's own
    description, by default its size, and `everyone` all people as one group: the groups do not add
    up to them. Where equal groups are told once, `multiplicity` is how many each stands for.
    """

    regions: Regions | None = None
    population: Floats | None = None
    published: Ints | None = None
    everyone: Groups | None = None
    guarantee: Guarantee | None = None
    protected: Protected | None = None
    inside: Inside | None = None
    several: SeveralGroups | None = None
    multiplicity: Ints | None = None

    def take(self, kept: Ints, total: int) -> Beside:
        """Of some of `total` groups, by their positions."""
        protected = self.protected
        return Beside(
            regions=None if self.regions is None else self.regions.take(kept),
            population=None if self.population is None else self.population[kept],
            published=None if self.published is None else self.published[kept],
            everyone=self.everyone,
            guarantee=self.guarantee,
            protected=None if protected is None else (protected[0], protected[1][kept]),
            inside=None if self.inside is None else self.inside.take(kept),
            several=None if self.several is None else self.several.take(kept, total),
            multiplicity=None if self.multiplicity is None else self.multiplicity[kept],
        )

    def merge(self, number: Ints, total: int) -> Beside:
        """Of groups put together; what these publish is for their maker to say."""
        if self.multiplicity is not None:
            raise InputError("groups that each stand for many cannot be put together")
        population: Floats | None = None
        if self.population is not None:
            summed_up = np.bincount(number, weights=self.population, minlength=total)
            population = summed_up.astype(np.float64)
        protected = self.protected
        if protected is not None:
            together = np.zeros((total, protected[1].shape[1]), dtype=bool)
            np.logical_or.at(together, number, protected[1])
            protected = protected[0], together
        return Beside(
            population=population,
            published=None
            if self.published is None
            else people_summed(number, self.published, total),
            everyone=self.everyone,
            guarantee=self.guarantee,
            protected=protected,
            inside=None if self.inside is None else self.inside.merge(number, total),
            several=None if self.several is None else self.several.merge(number),
        )


def people_summed(number: Ints, people: Ints, total: int) -> Ints:
    """The people of groups put together: group g becomes part of group `number[g]` of `total`."""
    return np.bincount(number, weights=people, minlength=total).astype(np.int64)
