"""Locating people by an index finds what looking at every group finds."""

from __future__ import annotations

import datetime as dt
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.adversaries.composition.attack import intersection_attack
from sfumato.adversaries.locating import boxes as looked_up
from sfumato.adversaries.locating import kernel
from sfumato.adversaries.locating.boxes import Boxes
from sfumato.adversaries.locating.kernel import nearest
from sfumato.adversaries.locating.locate import locate
from sfumato.adversaries.locating.targets import read_targets
from sfumato.adversaries.locating.value_classes import value_classes
from sfumato.anonymizers.base import Task
from sfumato.schema.domain import Domain
from sfumato.schema.region import Mask, ValueSet
from tests.adversaries.releases import EVERYBODY, WORDS, buckets, generalized, release
from tests.examples import few
from tests.oracles.composition_oracle import by_pairs, groups_of, learn


@st.composite
def bucketized(draw: st.DrawFn) -> sf.Release:
    tuples = st.tuples(st.integers(0, 9), st.sampled_from(WORDS))
    groups = []
    for _ in range(draw(st.integers(1, 3))):
        listed = draw(st.lists(tuples, min_size=1, max_size=4))
        values = draw(st.lists(st.sampled_from("stuv"), min_size=len(listed), max_size=len(listed)))
        groups.append((listed, {value: values.count(value) for value in values}))
    return buckets(["x", "w"], groups)


@pytest.mark.parametrize("few_pairs", [1 << 23, -1])  # compared with each, or by the tree
@given(release_=st.one_of(generalized(most=12), bucketized()))
def test_every_group_that_fits_is_found(few_pairs: int, release_: sf.Release) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(looked_up, "_FEW_PAIRS", few_pairs)
        patched.setattr(looked_up.BoxIndex, "compared", 0)
        found = locate(release_, read_targets(EVERYBODY, ("x", "w")))
    targets = read_targets(EVERYBODY, ("x", "w"))
    for person, case in zip(EVERYBODY, targets.case, strict=True):
        mine = found.groups[found.indptr[case] : found.indptr[case + 1]].tolist()
        assert mine == groups_of(release_, person, {})


@given(
    first=st.one_of(generalized(), bucketized()),
    second=generalized(),
    third=st.one_of(st.none(), generalized()),
)
def test_the_attack_is_the_definition(
    first: sf.Release, second: sf.Release, third: sf.Release | None
) -> None:
    releases = [one for one in (first, second, third) if one is not None]
    shown = [
        {label for g in range(len(one.groups)) for label in one.groups.counts_of(g)}
        for one in releases
    ]
    if any(not (mine & theirs) for mine in shown for theirs in shown):
        return
    prior = {label: Fraction(place + 1, 10) for place, label in enumerate("stuv")}
    weights = {label: float(share) for label, share in prior.items()}
    plain = intersection_attack(releases, EVERYBODY).targets.to_pylist()
    tilted = intersection_attack(releases, EVERYBODY, prior=weights).targets.to_pylist()
    for person, row, other in zip(EVERYBODY, plain, tilted, strict=True):
        expected = learn(releases, person)
        assert tuple(row["before"]) == expected.before
        assert tuple(sorted(row["values"])) == expected.values
        posterior = dict(zip(row["values"], row["posterior"], strict=True))
        assert posterior == pytest.approx({k: float(p) for k, p in expected.posterior.items()})
        with_prior = learn(releases, person, prior=prior).posterior
        posterior = dict(zip(other["values"], other["posterior"], strict=True))
        assert posterior == pytest.approx({k: float(p) for k, p in with_prior.items()})
        if None not in expected.before:
            status = "located" if expected.values else "inconsistent"
            assert by_pairs(releases, person) == expected.posterior
        else:
            status = "not_locatable"
        assert row["status"] == status


@given(data=st.data())
@settings(max_examples=few(40))
def test_many_boxes_are_found_one_by_one_and_by_a_tree(data: Any) -> None:
    """More boxes than a leaf holds, overlapping much or little, with and without gaps."""
    rng = np.random.default_rng(data.draw(st.integers(0, 1000)))
    columns, size = data.draw(st.integers(1, 3)), data.draw(st.sampled_from([4, 30, 500]))
    total = data.draw(st.sampled_from([1, 9, 60, 300]))
    widest = data.draw(st.sampled_from([0, 1, 3, 400]))
    low = rng.integers(0, size, (columns, total))
    high = np.minimum(low + rng.integers(0, widest + 1, (columns, total)), size - 1)
    gap = np.full_like(low, -1)
    lists = []
    for c in range(columns):
        for g in range(total):
            if high[c, g] > low[c, g] + 1 and rng.random() < 0.3:
                inner = rng.random(high[c, g] - low[c, g] + 1) < 0.5
                inner[[0, -1]] = True
                gap[c, g] = len(lists)
                lists.append(low[c, g] + np.flatnonzero(inner))
    offsets = np.concatenate([[0], np.cumsum([len(one) for one in lists])]).astype(np.int64)
    listed = np.concatenate([np.zeros(0, np.int64), *lists])
    points = rng.integers(-1, size, (columns, 200))
    # Every box shows a part of its own in each column.
    shown = np.arange(columns * total, dtype=np.int32).reshape(columns, total).T.copy()
    boxes = Boxes(shown, low.ravel(), high.ravel(), gap.ravel(), offsets, listed)
    nodes, items = kernel.build(shown, boxes.low, boxes.high)
    assert len(items) <= kernel.COPIES * total + 2048
    indptr, found = kernel.search(
        *(nodes, items, shown, boxes.low, boxes.high, boxes.gap, offsets, listed, points)
    )
    point, box = boxes.containing(points)
    assert point.tolist() == np.repeat(np.arange(200), np.diff(indptr)).tolist()
    assert box.tolist() == found.tolist()
    for i in range(points.shape[1]):
        inside = [
            g
            for g in range(total)
            if all(
                low[c, g] <= points[c, i] <= high[c, g]
                and (gap[c, g] < 0 or points[c, i] in lists[gap[c, g]])
                for c in range(columns)
            )
        ]
        assert found[indptr[i] : indptr[i + 1]].tolist() == inside


def test_a_partition_s_tree_copies_few() -> None:
    """Mondrian's cells can be cut apart without crossing any, so few need be crossed."""
    rng = np.random.default_rng(0)
    cells = [(np.zeros(3, int), np.full(3, 255))]
    for _ in range(2000):
        low, high = cells.pop(0)
        column = int(np.argmax(high - low))
        if high[column] == low[column]:
            cells.append((low, high))
            continue
        cut = int(rng.integers(low[column], high[column]))
        left, right = high.copy(), low.copy()
        left[column], right[column] = cut, cut + 1
        cells += [(low, left), (right, high)]
    low, high = (np.array(ends).ravel() for ends in zip(*cells, strict=True))
    shown = np.arange(len(low), dtype=np.int32).reshape(len(cells), 3)
    nodes, items = kernel.build(shown, low, high)
    assert set(items.tolist()) == set(range(len(cells)))
    assert len(items) < 1.1 * len(cells)
    leaves = nodes[nodes[:, 0] < 0]
    assert (leaves[:, 3] - leaves[:, 2]).max() <= kernel.LEAF


def test_a_release_that_nobody_fits() -> None:
    nobody = release(["x"], [((5,), {"s": 1}), ((6,), {"t": 1})])
    found = locate(nobody, read_targets([{"x": 1}, {"x": 2}], ("x",)))
    assert found.indptr.tolist() == [0, 0, 0]


def test_values_that_nothing_tells_apart_are_one_class() -> None:
    domain = Domain("w", "categorical", ("a", "b", "c", "d", None))
    parts = (ValueSet(frozenset("ac")), ValueSet(frozenset("ac") | {None}), Mask("d"))
    classes = value_classes(domain, parts, np.array([0, 1, 2], np.int32))
    assert classes.class_of[0] == classes.class_of[2]
    assert classes.class_of[1] == -1
    assert len({int(c) for c in classes.class_of}) == 4
    assert (classes.gap == -1).all()  # nested sets are runs


# -- centroids ------------------------------------------------------------------------------------

decimals = st.integers(-30, 30).map(lambda n: n / 10)


@given(
    centroids=st.lists(st.tuples(decimals, decimals), min_size=1, max_size=40, unique=True),
    points=st.lists(st.tuples(decimals, decimals), min_size=1, max_size=10),
    scale=st.tuples(st.sampled_from([0.1, 1.0, 3.0]), st.sampled_from([0.1, 1.0, 2.5])),
)
def test_nearest_centroids_with_exact_ties(
    centroids: list[tuple[float, float]],
    points: list[tuple[float, float]],
    scale: tuple[float, float],
) -> None:
    indptr, found = nearest(np.array(centroids).T, np.array(points).T, np.array(scale))
    exact = [Fraction(str(s)) for s in scale]
    for i, point in enumerate(points):
        distances = [
            sum(
                ((Fraction(str(a)) - Fraction(str(b))) / s) ** 2
                for a, b, s in zip(point, centroid, exact, strict=True)
            )
            for centroid in centroids
        ]
        near = [g for g, distance in enumerate(distances) if distance == min(distances)]
        assert found[indptr[i] : indptr[i + 1]].tolist() == near


def test_a_tie_by_different_columns_is_a_tie() -> None:
    centroids = np.array([[3.0, 0.0, 9.0], [4.0, 5.0, 9.0]])  # 3-4-5: both at distance 5
    indptr, found = nearest(centroids, np.zeros((2, 1)), np.ones(2))
    assert found[indptr[0] : indptr[1]].tolist() == [0, 1]


def micro(*columns: tuple[str, list[Any]], scale: dict[str, float] | None = None, **target: Any):
    """The group a target is located in, of groups a, b, c... with these centroids."""
    names = [name for name, _ in columns]
    rows = list(zip(*(values for _, values in columns), strict=True))
    one = release(
        names,
        [(row, {"s": 1, label: 1}) for row, label in zip(rows, "abcdef", strict=False)],
        scheme="microaggregated",
    )
    found = locate(one, read_targets([target], names), scale)
    return "".join("abcdef"[g] for g in found.groups)


def test_without_a_scale_the_centroids_tell_one() -> None:
    # In units of their own spread both columns count; by a tiny unit of y only y does.
    columns = ("x", [0.0, 100.0, 300.0]), ("y", [0.1, 0.2, 0.4])
    assert micro(*columns, x=90, y=0.14) == "b"
    assert micro(*columns, x=90, y=0.14, scale={"x": 1.0, "y": 0.0001}) == "a"


def test_words_and_missing_values_have_places() -> None:
    assert micro(("w", ["apple", "pear"]), w="banana") == "ab"
    assert micro(("w", ["apple", "pear"]), w="apple") == "a"
    assert micro(("x", [1.0, 2.0, None]), x=None) == "c"
    dates = [dt.date(2020, 1, 1), dt.date(2020, 3, 1)]
    assert micro(("d", dates), d=dt.date(2020, 2, 20)) == "b"
    with pytest.raises(sf.InputError, match="targets have words"):
        micro(("x", [1.0, 2.0]), x="old")
    with pytest.raises(sf.InputError, match="is no centroid"):
        micro(("x", [(1, 2), (2, 3)]), x=1)


def table_of(rng: np.random.Generator, n: int) -> sf.Table:
    rows = pa.table(
        {
            "x": rng.integers(0, 20, n),
            "y": rng.integers(0, 3, n) / 2,
            "s": np.array(list("stuvw"))[rng.integers(0, 5, n)],
        }
    )
    return sf.read(rows, sf.Schema(["x", "y"], "s"))


@pytest.mark.parametrize("seed", range(3))
def test_how_often_the_nearest_group_is_the_right_one(seed: int) -> None:
    table = table_of(np.random.default_rng(seed), 60)
    made = sf.Microaggregation(3).run(Task(table, (), seed=seed))
    other = sf.Mondrian().run(Task(table, (sf.KAnonymity(5),)))
    attack = intersection_attack([made, other], table, truth="s")
    units = made.made.findings.distances
    assert units is not None
    right, counts = Fraction(0), table.counts
    for t, g, n in zip(made.placement.tuples, made.placement.groups, made.placement.n, strict=True):
        person = {
            domain.name: domain.values[code]
            for domain, code in zip(counts.quasi, counts.codes[:, t], strict=True)
        }
        right += int(n) * (g in groups_of(made, person, units.scale))
    share = float(right / 60)
    assert 0 < share < 1
    assert attack.summary.correctly_located == (pytest.approx(share), None)
    unknown = intersection_attack([made, other], table)  # by quasi-identifiers alone
    assert unknown.summary.correctly_located == (pytest.approx(share), None)
    oracle = intersection_attack([made, other], table, truth="s", locate="oracle")
    assert oracle.summary.correctly_located == (pytest.approx(share), None)


@pytest.mark.parametrize("seed", range(3))
def test_the_oracle_knows_the_group(seed: int) -> None:
    """Whoever knows the right groups is never led to an intersection without the truth."""
    table = table_of(np.random.default_rng(seed), 80)
    releases = [
        sf.Microaggregation(4).run(Task(table, (), seed=seed)),
        sf.Anatomy(2).run(Task(table, (), seed=seed)),
        sf.Mondrian().run(Task(table, (sf.KAnonymity(4),))),
    ]
    attack = intersection_attack(releases, table, truth="s", locate="oracle", seed=seed)
    rows = attack.targets.to_pylist()
    assert len(rows) == attack.summary.people == attack.summary.located == 80
    assert all(row["people"] == 1 for row in rows)
    again = intersection_attack(releases, table, truth="s", locate="oracle", seed=seed)
    assert again.targets.equals(attack.targets)


def test_the_oracle_does_not_find_people_who_were_suppressed_or_are_strangers() -> None:
    rows = pa.table({"x": [1, 1, 1, 2, 2, 2, 3], "s": list("aabbcac")})
    table = sf.read(rows, sf.Schema(["x"], "s"))
    made = sf.generalize(table, [0], [sf.KAnonymity(3)], suppression=0.2)
    asked = [{"x": 1, "s": "a"}, {"x": 3, "s": "c"}, {"x": 1, "s": "z"}]
    attack = intersection_attack([made, made], asked, truth="s", locate="oracle")
    status = attack.targets["status"].to_pylist()
    assert status == ["located", "not_locatable", "not_locatable"]


@pytest.mark.parametrize("seed", range(4))
def test_everybody_of_two_real_releases(seed: int) -> None:
    """Releases that share people: Mondrian, a lattice node, buckets and centroids, two by two."""
    rng = np.random.default_rng(seed)
    one, other = table_of(rng, 90), table_of(rng, 90)
    makers = [
        lambda table: sf.Mondrian().run(Task(table, (sf.KAnonymity(4),))),
        lambda table: sf.generalize(table, [0, 1]),
        lambda table: sf.Anatomy(2).run(Task(table, (), seed=seed)),
        lambda table: sf.Microaggregation(3).run(Task(table, (), seed=seed)),
    ]
    first, second = makers[seed](one), makers[(seed + 1 + seed // 2) % 4](other)
    people = [{"x": x, "y": y / 2} for x in range(20) for y in range(3)]
    scale = {"x": 5.0, "y": 0.5}
    rows = intersection_attack([first, second], people, scale=scale).targets.to_pylist()
    for person, row in zip(people, rows, strict=True):
        expected = learn([first, second], person, scale=scale)
        assert tuple(row["before"]) == expected.before
        assert tuple(sorted(row["values"])) == expected.values
        posterior = dict(zip(row["values"], row["posterior"], strict=True))
        assert posterior == pytest.approx({k: float(p) for k, p in expected.posterior.items()})
