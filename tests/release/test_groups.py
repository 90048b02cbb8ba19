"""Groups: sparse inside, dense on request, reductions over groups without values, refusals."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.counts.counts import Counts
from sfumato.criteria.closeness import TCloseness
from sfumato.criteria.diversity import DistinctDiversity, RecursiveDiversity
from sfumato.criteria.k_anonymity import AlphaK, KAnonymity
from sfumato.errors import InputError
from sfumato.perturbation.functions import Rounding
from sfumato.release import sparse as module
from sfumato.release.beside import Beside, CountedRegister, Inside, SeveralGroups
from sfumato.release.description import Regions
from sfumato.release.groups import Groups
from sfumato.release.guarantee import Guarantee
from sfumato.release.unlinked import UnlinkedRows
from sfumato.schema.domain import Domain
from sfumato.schema.region import ValueSet

Matrix = list[list[int]]


@st.composite
def matrices(draw: st.DrawFn, *, empty_rows: bool = False) -> Matrix:
    width = draw(st.integers(1, 6))
    row = st.lists(st.integers(0, 9), min_size=width, max_size=width)
    return draw(st.lists(row if empty_rows else row.filter(any), min_size=1, max_size=8))


def sparse(matrix: Matrix) -> Groups:
    """The same groups, spelt out in compressed rows."""
    indptr, indices, data = [0], [], []
    for row in matrix:
        indices += [column for column, n in enumerate(row) if n]
        data += [n for n in row if n]
        indptr.append(len(data))
    return Groups.from_sparse(
        np.array(indptr, dtype=np.int64),
        np.array(indices, dtype=np.int32),
        np.array(data, dtype=np.int64),
        len(matrix[0]),
    )


def set_valued(matrix: Matrix) -> Groups:
    """Groups in which some may have people but no values."""
    return Groups(matrix, sizes=[max(row) + 1 for row in matrix])


# -- sparse and dense -----------------------------------------------------------------------------


@given(matrices())
def test_dense_gives_back_what_went_in(matrix: Matrix) -> None:
    assert Groups(matrix).dense().tolist() == matrix
    assert sparse(matrix).dense().tolist() == matrix


@given(matrices())
def test_sparse_and_dense_construction_agree(matrix: Matrix) -> None:
    one, other = Groups(matrix), sparse(matrix)
    for name in ("indptr", "indices", "data", "sizes", "reference", "occurrences", "distinct"):
        assert getattr(one, name).tolist() == getattr(other, name).tolist()
    assert one.values == other.values


@given(matrices(), st.data())
def test_a_range_of_groups_is_a_slice(matrix: Matrix, data) -> None:
    start = data.draw(st.integers(0, len(matrix)))
    stop = data.draw(st.integers(start, len(matrix)))
    assert Groups(matrix).dense(start, stop).tolist() == matrix[start:stop]


@given(matrices())
def test_the_default_sizes_and_reference_are_the_sums(matrix: Matrix) -> None:
    groups = Groups(matrix)
    assert groups.sizes.tolist() == [sum(row) for row in matrix]
    assert groups.reference.tolist() == [sum(column) for column in zip(*matrix, strict=True)]
    assert groups.reference_share.sum() == pytest.approx(1)
    assert groups.single_valued


@given(matrices())
def test_shares_are_of_the_people_of_the_group(matrix: Matrix) -> None:
    groups = set_valued(matrix)
    shares = [n / (max(row) + 1) for row in matrix for n in row if n]
    assert groups.share.tolist() == shares


def test_an_empty_reference_has_no_shares_and_does_not_divide_by_nothing() -> None:
    assert Groups([[1, 1]], reference=[0, 0]).reference_share.tolist() == [0.0, 0.0]


@given(matrices())
def test_counts_of_a_group_by_value(matrix: Matrix) -> None:
    names = [f"value {column}" for column in range(len(matrix[0]))]
    groups = Groups(matrix, names)
    for g, row in enumerate(matrix):
        assert groups.counts_of(g) == {name: n for name, n in zip(names, row, strict=True) if n}


def test_values_and_attribute_come_from_the_domain() -> None:
    domain = Domain("stage", "ordered", ("early", "late"))
    groups = Groups([[1, 2]], domain=domain)
    assert (groups.values, groups.attribute) == (("early", "late"), "stage")
    assert Groups([[1, 2]], domain=domain, attribute="other").attribute == "other"
    assert (Groups([[1, 2]]).values, Groups([[1, 2]]).attribute) == (("0", "1"), None)


def test_whole_floats_are_counts() -> None:
    groups = Groups(np.array([[1.0, 2.0]]))
    assert groups.dense().tolist() == [[1, 2]]
    assert groups.data.dtype == np.int64


# -- reductions -----------------------------------------------------------------------------------


@given(matrices(empty_rows=True))
def test_sums_and_maxima_of_groups_without_values_are_zero(matrix: Matrix) -> None:
    groups = set_valued(matrix)
    assert groups.sum_of(groups.data).tolist() == [sum(row) for row in matrix]
    assert groups.max_of(groups.data).tolist() == [max(row) for row in matrix]
    assert groups.largest.tolist() == [max(row) for row in matrix]
    assert groups.distinct.tolist() == [sum(n > 0 for n in row) for row in matrix]


@given(matrices(empty_rows=True))
def test_the_maximum_of_no_values_can_be_chosen(matrix: Matrix) -> None:
    groups = set_valued(matrix)
    lowest = groups.max_of(-groups.data, empty=-99)
    assert lowest.tolist() == [max((-n for n in row if n), default=-99) for row in matrix]


@given(matrices(empty_rows=True))
def test_descending_is_each_groups_counts_sorted(matrix: Matrix) -> None:
    groups = set_valued(matrix)
    expected = [n for row in matrix for n in sorted(row, reverse=True) if n]
    assert groups.descending.tolist() == expected


def test_descending_of_counts_too_large_for_one_key() -> None:
    huge = 1 << 61
    groups = Groups([[3, huge, 5], [7, 0, 9]])
    assert groups.descending.tolist() == [huge, 5, 3, 9, 7]


def test_no_value_at_all() -> None:
    groups = Groups([[0, 0], [0, 0]], sizes=[2, 3])
    assert groups.largest.tolist() == groups.distinct.tolist() == [0, 0]
    assert groups.descending.tolist() == []
    assert not groups.single_valued


def test_no_group_at_all() -> None:
    groups = Groups(np.zeros((0, 3)))
    assert len(groups) == 0
    assert groups.largest.tolist() == groups.distinct.tolist() == []
    assert list(groups.blocks()) == []
    assert groups.dense().shape == (0, 3)


def test_several_values_per_person_show_in_the_sizes() -> None:
    groups = Groups([[3, 2]], sizes=[3])
    assert groups.sizes.tolist() == [3]
    assert groups.occurrences.tolist() == [5]
    assert not groups.single_valued


# -- blocks ---------------------------------------------------------------------------------------


@given(matrices(), st.integers(1, 20))
def test_blocks_cover_every_group_once(matrix: Matrix, cells: int) -> None:
    groups = Groups(matrix)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_BLOCK_CELLS", cells)
        blocks = list(groups.blocks())
    assert [g for start, stop in blocks for g in range(start, stop)] == list(range(len(groups)))
    for start, stop in blocks:
        assert (stop - start) * groups.width <= max(cells, groups.width)


@given(matrices(), st.integers(1, 20), st.sampled_from([0.1, 0.25, 0.5]))
def test_a_verdict_does_not_depend_on_the_blocks(matrix: Matrix, cells: int, t: float) -> None:
    criterion = TCloseness(t, distance="ordered")
    whole = criterion.measure(Groups(matrix)).per_group.tolist()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_BLOCK_CELLS", cells)
        assert criterion.measure(Groups(matrix)).per_group.tolist() == whole


# -- refusals -------------------------------------------------------------------------------------

REFUSED = {
    "negative counts": (lambda: Groups([[1, -1]]), "counts must not be negative"),
    "fractional counts": (lambda: Groups([[1.5, 1]]), "counts must be whole numbers"),
    "counts that are not numbers": (lambda: Groups([[np.nan, 1]]), "counts must be whole numbers"),
    "infinite counts": (lambda: Groups([[np.inf, 1]]), "counts must be whole numbers"),
    "one group not in a list": (lambda: Groups([1, 2]), r"groups by values, not of shape \(2,\)"),
    "an empty group": (lambda: Groups([[1, 1], [0, 0]]), "at least one individual"),
    "too few labels": (lambda: Groups([[1, 1]], ["a"]), "2 columns of counts but 1 value labels"),
    "too many sizes": (lambda: Groups([[1, 1]], sizes=[2, 2]), "1 groups but 2 sizes"),
    "fractional sizes": (lambda: Groups([[1, 1]], sizes=[2.5]), "sizes must be whole numbers"),
    "negative sizes": (lambda: Groups([[1, 1]], sizes=[-2]), "sizes must not be negative"),
    "nobody": (lambda: Groups([[0, 0]], sizes=[0]), "at least one individual"),
    "fewer people than have a value": (
        lambda: Groups([[3, 1]], sizes=[2]),
        "no fewer individuals than have any one value",
    ),
    "a short reference": (
        lambda: Groups([[1, 1]], reference=[1]),
        "reference must hold 2 non-negative weights",
    ),
    "a square reference": (
        lambda: Groups([[1, 1]], reference=[[1, 1]]),
        "reference must hold 2 non-negative weights",
    ),
    "a negative reference": (
        lambda: Groups([[1, 1]], reference=[1, -1]),
        "reference must hold 2 non-negative weights",
    ),
    "a reference that is no number": (lambda: Groups([[1, 1]], reference=[1, np.nan]), "reference"),
    "an infinite reference": (lambda: Groups([[1, 1]], reference=[1, np.inf]), "reference"),
}


@pytest.mark.parametrize(("make", "says"), REFUSED.values(), ids=list(REFUSED))
def test_what_cannot_be_groups_is_refused_in_one_line(make, says: str) -> None:
    with pytest.raises(InputError, match=says) as caught:
        make()
    assert "\n" not in str(caught.value)


def test_more_people_than_values_is_fine() -> None:
    assert Groups([[1, 1]], sizes=[5]).sizes.tolist() == [5]


# -- size -----------------------------------------------------------------------------------------


def test_many_groups_of_many_values() -> None:
    """200,000 groups by 50 values, several blocks of them, against plain NumPy."""
    rng = np.random.default_rng(7)
    dense = np.zeros((200_000, 50), dtype=np.int64)
    for _ in range(4):
        dense[np.arange(len(dense)), rng.integers(0, 50, len(dense))] += rng.integers(
            1, 4, len(dense)
        )
    groups = Groups(dense)
    assert len(list(groups.blocks())) > 1
    sizes, ranked = dense.sum(axis=1), -np.sort(-dense, axis=1)
    assert np.array_equal(KAnonymity(6).holds(groups), sizes >= 6)
    assert np.array_equal(DistinctDiversity(3).holds(groups), (dense > 0).sum(axis=1) >= 3)
    assert np.array_equal(AlphaK(0.5, 1).holds(groups), 2 * ranked[:, 0] <= sizes)
    assert np.array_equal(
        RecursiveDiversity(2, 3).holds(groups), ranked[:, 0] < 2 * ranked[:, 2:].sum(axis=1)
    )
    gap = dense / sizes[:, None] - dense.sum(axis=0) / dense.sum()
    assert np.allclose(TCloseness(0.9).measure(groups).per_group, np.abs(gap).sum(axis=1) / 2)
    ordered = TCloseness(0.5, distance="ordered").measure(groups).per_group
    assert np.allclose(ordered, np.abs(np.cumsum(gap, axis=1)).sum(axis=1) / 49)


# -- frozen ---------------------------------------------------------------------------------------


@given(matrix=matrices())
def test_nothing_is_set_after_groups_are_made(matrix: Matrix) -> None:
    groups = Groups(matrix)
    groups.reference  # noqa: B018 (worked out and kept; still nobody's to set)
    for name in ("values", "sizes", "reference", "case", "beside", "regions", "inside", "lists"):
        with pytest.raises(AttributeError):
            setattr(groups, name, None)
        with pytest.raises(AttributeError):
            delattr(groups, name)


def test_every_way_to_other_groups_keeps_every_field_that_is_known() -> None:
    """Losing one once made advice unsafe."""
    one = Groups([[1, 1], [2, 0]])
    inside = Inside(counts_of_two(), np.array([0, 1, 2]), np.arange(2), np.array([2, 2]))
    beside = Beside(
        regions=two_regions(),
        population=np.array([3.0, 4.0]),
        published=np.array([2, 1]),
        everyone=Groups([[3, 1]]),
        guarantee=Guarantee(1.0, 0.0, "laplace"),
        protected=(("p",), np.array([[True], [False]])),
        inside=inside,
        several=SeveralGroups(3, np.array([0, 0]), np.array([0, 1])),
        multiplicity=np.array([1, 1]),
        unlinked=UnlinkedRows(one),
        perturbed=Rounding(5.0),
        register=CountedRegister(np.array([4, 2]), 9, 3),
    )
    assert all(getattr(beside, field.name) is not None for field in fields(Beside))
    known = one.with_beside(beside)
    for other in (
        known.take(np.array([1])),
        known.relabel(np.array([1, 0]), ("b", "a"), None),
        known.unreferenced(),
    ):
        lost = [f.name for f in fields(Beside) if getattr(other.beside, f.name) is None]
        assert lost == []
    together = one.with_beside(replace(beside, multiplicity=None)).merge(np.array([0, 0]), 1)
    lost = [f.name for f in fields(Beside) if getattr(together.beside, f.name) is None]
    assert lost == ["regions", "multiplicity"]


def test_who_fits_a_group_that_is_left_out_fits_none() -> None:
    register = CountedRegister(np.array([4, 2, 1]), 20, 5)
    kept = register.take(np.array([2, 0]), np.array([2, 3, 1]))
    assert (kept.people.tolist(), kept.everybody, kept.outside) == ([1, 4], 20, 5 + 3 * 2)
    assert register.take(np.array([1]), None).outside == 5 + 4 + 1
    merged = register.merge(np.array([0, 1, 0]), 2)
    assert (merged.people.tolist(), merged.everybody, merged.outside) == ([5, 2], 20, 5)


def two_regions() -> Regions:
    parts = tuple(ValueSet(frozenset({value})) for value in "xy")
    return Regions(("q",), (parts,), np.array([[0, 1]], dtype=np.int32))


def counts_of_two() -> Counts:
    domain = Domain("q", "categorical", ("x", "y"))
    nothing = np.zeros((0, 2), dtype=np.int32)
    return Counts((domain,), (), np.array([[0, 1]], dtype=np.int32), nothing, np.array([2, 2]))
