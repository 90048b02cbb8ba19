"""Lessons: a table or release as a model sees it, for the accuracy a model loses.

Features of a region say what is known of the value behind it if each covered value is equally
likely; an exact value is a region of one. Equal people are one lesson, weighted by their number.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sfumato.counts.counts import Counts, Ints
from sfumato.release.coverage import Coverage
from sfumato.release.groups import Floats
from sfumato.utility.shares import Shares
from sfumato.utility.view import Pieces, View, tally

Matrix = npt.NDArray[np.float32]
COMMONEST = 50  # values of a column without order that get a feature each


@dataclass(frozen=True)
class Target:
    """What is to be learnt: each tuple's class, how many classes, and which QIs are features."""

    name: str
    of_tuple: Ints
    classes: int
    column: int | None  # its place among the QIs, if it is one
    features: tuple[int, ...]


@dataclass(frozen=True)
class Lessons:
    """Features, class and people (perhaps fractions of them) of each kind of person."""

    features: Matrix
    classes: Ints
    people: Floats

    def __len__(self) -> int:
        return len(self.people)


def target_of(counts: Counts, name: str) -> Target:
    """The column of this name as a target; a quasi-identifier is no feature of itself."""
    names = [domain.name for domain in counts.quasi]
    features = tuple(column for column, other in enumerate(names) if other != name)
    if name in names:
        column = names.index(name)
        codes = counts.codes[column].astype(np.int64)
        return Target(name, codes, len(counts.quasi[column]), column, features)
    place = counts.attribute(name)
    attribute = counts.sensitive[place]
    classes = len(attribute.domain) if attribute.sets is None else len(attribute.sets)
    return Target(name, counts.values[place].astype(np.int64), classes, None, features)


def exact_features(counts: Counts, target: Target) -> Matrix:
    """What a model sees of each tuple of the table itself."""
    columns = [np.zeros((len(counts), 0), dtype=np.float32)]
    for column in target.features:
        codes = np.arange(len(counts.quasi[column]))
        single = Coverage(counts.quasi[column], codes, codes, np.ones_like(codes), {})
        columns.append(_features(single, counts, column)[counts.codes[column]])
    return _stacked(columns)


def _group_features(view: View, target: Target) -> Matrix:
    columns = [np.zeros((len(view.sizes), 0), dtype=np.float32)]
    for column in target.features:
        seen = _features(view.coverage(column), view.counts, column)
        columns.append(seen[view.regions.codes[column]])
    return _stacked(columns)


def _stacked(columns: list[Matrix]) -> Matrix:
    if len(columns) == 1:  # the target is the only column: nothing to learn from
        return np.zeros((len(columns[0]), 1), dtype=np.float32)
    return np.hstack(columns)


def _features(coverage: Coverage, counts: Counts, column: int) -> Matrix:
    """One row a region: the mean of an ordered column, or the chance of each common value."""
    domain = counts.quasi[column]
    shares = Shares(coverage)
    seen = []
    if domain.is_ordered:
        codes = np.arange(len(domain), dtype=np.float64)
        places = codes if domain.kind == "ordered" else domain.numbers()
        present = np.arange(len(domain)) < len(domain) - domain.has_null
        middle = float(places[present].mean()) if present.any() else 0.0
        known = shares.mean(present)
        sums = shares.mean(np.where(present, places - middle, 0.0))
        seen.append(np.divide(sums, known, out=np.zeros_like(sums), where=known > 0))
        if domain.has_null:
            seen.append(1 - known)
    else:
        people = np.bincount(counts.codes[column], weights=counts.n, minlength=len(domain))
        for code in np.sort(np.argsort(-people, kind="stable")[:COMMONEST]):
            seen.append(shares.mean(np.arange(len(domain)) == code))
    return np.array(seen, dtype=np.float32).T


def table_lessons(counts: Counts, target: Target, features: Matrix, learners: Ints) -> Lessons:
    """What the learners' original values teach; `features` and `learners` are of each tuple."""
    number, first = counts.group_of
    taught = learners > 0
    rows = tally(number[taught], target.of_tuple[taught], learners[taught], target.classes)
    return Lessons(features[first[rows.groups]], rows.values, rows.n.astype(np.float64))


def release_lessons(view: View, target: Target, features: Matrix, learners: Ints) -> Lessons:
    """What the release says of the learners; `learners` are of each of its pieces."""
    taught = (view.pieces.groups >= 0) & (learners > 0)
    pieces = Pieces(view.pieces.tuples[taught], view.pieces.groups[taught], learners[taught])
    if view.exact:
        if target.column is None:
            return _bucket_lessons(view, target, features, pieces)
        shown = np.bincount(pieces.tuples, weights=pieces.n, minlength=len(view.counts))
        return table_lessons(view.counts, target, features, shown.astype(np.int64))
    # Groups in the order of their first combination, so that an unchanged table teaches the same
    # lessons in the same order and gives the very same tree.
    earliest = np.full(len(view.sizes), len(view.counts), dtype=np.int64)
    np.minimum.at(earliest, pieces.groups, view.counts.group_of[0][pieces.tuples])
    order = np.argsort(earliest, kind="stable")
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    seen = _group_features(view, target)
    if target.column is None:
        classes = target.of_tuple[pieces.tuples]
        rows = tally(rank[pieces.groups], classes, pieces.n, target.classes)
        return Lessons(seen[order[rows.groups]], rows.values, rows.n.astype(np.float64))
    people = np.bincount(pieces.groups, weights=pieces.n, minlength=len(order))
    order = order[people[order] > 0]
    group, code, share = _covered(view, target.column, order)
    return Lessons(seen[group], code, people[group] * share)


def _covered(view: View, column: int, groups: Ints) -> tuple[Ints, Ints, Floats]:
    """Each group with each value its region of a column covers, and that value's share."""
    coverage = view.coverage(column)
    codes = [coverage.codes(part) for part in range(len(coverage.count))]
    starts = np.cumsum(coverage.count) - coverage.count
    parts = view.regions.codes[column, groups]
    length = coverage.count[parts]
    begin = np.repeat(starts[parts] - np.cumsum(length) + length, length)
    listed = np.concatenate(codes)[begin + np.arange(int(length.sum()))]
    return np.repeat(groups, length), listed, np.repeat(1 / length, length)


def _bucket_lessons(view: View, target: Target, features: Matrix, pieces: Pieces) -> Lessons:
    """Each person of a bucket with each value of it, in proportion."""
    number, first = view.counts.group_of
    size = np.bincount(pieces.groups, weights=pieces.n, minlength=len(view.sizes))
    listed = tally(pieces.groups, number[pieces.tuples], pieces.n, len(first))
    held = tally(pieces.groups, target.of_tuple[pieces.tuples], pieces.n, target.classes)
    begin = np.searchsorted(held.groups, listed.groups, "left")
    length = np.searchsorted(held.groups, listed.groups, "right") - begin
    one = np.repeat(np.arange(len(length)), length)
    other = np.repeat(begin - np.cumsum(length) + length, length) + np.arange(len(one))
    people = listed.n[one] * held.n[other] / size[listed.groups[one]]
    keys, place = np.unique(
        listed.values[one] * target.classes + held.values[other], return_inverse=True
    )
    combination, value = np.divmod(keys, target.classes)
    summed = np.bincount(place, weights=people, minlength=len(keys)).astype(np.float64)
    return Lessons(features[first[combination]], value, summed)
