"""Mondrian: safe by an independent audit, everybody in place, no allowed split left."""

from __future__ import annotations

import datetime as dt
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import chain
from random import Random
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.anonymizers.base import Task
from sfumato.anonymizers.mondrian.mondrian import Mondrian
from sfumato.criteria.base import Criterion
from sfumato.release.release import Release
from sfumato.schema.region import Span, ValueSet
from sfumato.utility.loss import Loss
from sfumato.utility.view import view_of
from sfumato.workflow.anonymize import anonymize
from tests.anonymizers.mondrian_tables import (
    CRITERIA,
    DISEASES,
    HIERARCHIES,
    TABLES,
    small_table,
    some_search,
)
from tests.criteria.toy_criteria import Budget
from tests.examples import few
from tests.oracles.mondrian_oracle import (
    Group,
    Person,
    all_splits,
    everybody,
    fitting,
    is_nested,
    is_safe,
    lacks,
    lies_inside,
    partition,
    people_of,
    regions_of,
    satisfies,
    weights_of,
)

STYLES = ("cell", "tight", "hierarchy")
each_style = pytest.mark.parametrize("regions", STYLES)

# -- small tables ---------------------------------------------------------------------------------


tables = st.integers(0, TABLES - 1).map(small_table)


def split(table: sf.Table, require: Sequence[Criterion], **settings: Any) -> Release | None:
    """The release; None if the group of everybody is not safe already."""
    task = Task(table, tuple(require))
    if is_safe(everybody(table), require, weights_of(table)):
        return Mondrian(**settings).run(task)
    with pytest.raises(sf.NoSafeRelease, match="|".join(c.name for c in require)):
        Mondrian(**settings).run(task)
    return None


def audit_published(release: Release, require: Sequence[Criterion], table: sf.Table) -> None:
    """Count what is handed out, judge it by the definitions."""
    found: dict[tuple[Any, ...], list[frozenset[int]]] = {}
    code = table.counts.sensitive[0].domain.code
    for row in release.tables()["data"].to_pylist():
        value = row.pop("disease")
        listed = value if isinstance(value, list) else [value]
        assert row.keys() == set(release.schema.quasi)
        held = frozenset(cast(int, code(one)) for one in listed)
        found.setdefault(tuple(row.values()), []).append(held)
    weights = weights_of(table)
    for held in found.values():
        for criterion in require:
            assert satisfies(criterion, held, weights), (str(criterion), held)
    sizes = sorted(len(held) for held in found.values())
    assert sizes == sorted(release.groups.sizes.tolist())


def check_places(release: Release, table: sf.Table) -> None:
    """Everybody is in one group, inside what it publishes."""
    groups = people_of(release)
    assert Counter(p for group in groups for p in group) == Counter(everybody(table))
    assert release.suppressed == 0
    for group, people in enumerate(groups):
        regions = regions_of(release, group)
        assert all(lies_inside(table, person, regions) for person in people)


@pytest.mark.parametrize("kind", CRITERIA)
@each_style
@settings(max_examples=few(15))
@given(table=tables, draw=st.integers(0, 15), strict=st.booleans(), data=st.data())
def test_what_is_handed_out_is_safe_and_everybody_is_in_place(
    regions: str, kind: str, table: sf.Table, draw: int, strict: bool, data
) -> None:
    require = data.draw(st.sampled_from(CRITERIA[kind]))
    search = some_search(table, draw)
    release = split(table, require, regions=regions, strict=strict, **search)
    if release is not None:
        audit_published(release, require, table)
        check_places(release, table)
        if release.disjoint:
            assert max(fitting(release, table).values()) == 1
        else:
            assert not strict or regions == "hierarchy"


@settings(max_examples=few(30))
@given(
    seed=st.integers(0, TABLES - 1),
    require=st.sampled_from([[sf.KAnonymity(2)], [sf.AlphaK(0.7, 2)], [sf.AlphaK(0.9, 3)]]),
    regions=st.sampled_from(STYLES),
    strict=st.booleans(),
)
def test_people_with_several_values_each(seed: int, require, regions: str, strict: bool) -> None:
    table = small_table(seed, several=True)
    release = split(table, require, regions=regions, strict=strict)
    if release is not None:
        audit_published(release, require, table)
        check_places(release, table)
        if strict:
            no_split_is_left(table, people_of(split(table, require)), require)  # type: ignore[arg-type]


# -- minimal --------------------------------------------------------------------------------------


def no_split_is_left(table: sf.Table, groups: list[Group], require: Sequence[Criterion]) -> None:
    weights = weights_of(table)
    for group in groups:
        for parts in all_splits(table, group, require):
            assert not all(is_safe(part, require, weights) for part in parts)


@pytest.mark.parametrize("kind", CRITERIA)
@settings(max_examples=few(40))
@given(table=tables, draw=st.integers(0, 15), data=st.data())
def test_in_strict_mode_no_allowed_split_remains(
    kind: str, table: sf.Table, draw: int, data
) -> None:
    require = data.draw(st.sampled_from(CRITERIA[kind]))
    release = split(table, require, **some_search(table, draw))
    if release is not None:
        no_split_is_left(table, people_of(release), require)


@settings(max_examples=few(80))
@given(table=tables, require=st.sampled_from([*chain(*CRITERIA.values())]), seed=st.integers(0, 99))
def test_the_groups_are_those_of_a_plain_mondrian(table: sf.Table, require, seed: int) -> None:
    """Medians first, column by column, then every other cut, the nearest to half first."""
    check_plain(table, require, seed)


@pytest.mark.parametrize("seed", range(20))
def test_other_cuts_than_medians_are_those_of_a_plain_mondrian(seed: int) -> None:
    """A value that every group must have is rare and in one corner: few medians are allowed."""
    chance = Random(seed)
    people = [tuple(chance.randrange(8) for _ in range(3)) for _ in range(300)]
    ill = ["rare" if max(p) < 4 and chance.random() < 0.7 else "flu" for p in people]
    columns = dict(zip("abc", map(list, zip(*people, strict=True)), strict=True))
    schema = sf.Schema(quasi=["a", "b", "c"], sensitive="disease")
    table = sf.read(pa.table({**columns, "disease": ill}), schema)
    check_plain(table, [sf.DistinctDiversity(2)], seed)


def check_plain(table: sf.Table, require: Sequence[Criterion], seed: int) -> None:
    """The columns are tried in an order that depends on how many people a group has."""
    columns = np.arange(len(table.counts.quasi))

    def priority(people: Any) -> np.ndarray:
        return np.cos(seed + 7 * columns + people)

    def in_turn(people: int) -> Sequence[int]:
        return [int(column) for column in np.argsort(-priority(people), kind="stable")]

    release = split(table, require, order=lambda _, people: priority(people[:, None]))
    if release is not None:
        assert bags(people_of(release)) == bags(partition(table, require, in_turn))


def bags(groups: Iterable[Group]) -> Counter[frozenset[tuple[Person, int]]]:
    """Groups without their order and that of their people."""
    return Counter(frozenset(Counter(group).items()) for group in groups)


@pytest.mark.parametrize("strict", [True, False])
@settings(max_examples=few(40))
@given(seed=st.integers(0, TABLES - 1), k=st.integers(1, 4))
def test_ordered_cells_leave_no_gap(strict: bool, seed: int, k: int) -> None:
    """A combination of values that no cell covers would say that nobody has it.

    Values that are missing from a column that is cut are covered where somebody's is.
    """
    table = small_table(seed, columns=("age", "height", "born", "grade", "city"))
    release = split(table, [sf.KAnonymity(k)], strict=strict)
    if release is not None:
        cut = [not is_nested(table, column) for column in range(len(table.counts.quasi))]
        fits = {
            total
            for values, total in fitting(release, table).items()
            if not any(value is None and one for value, one in zip(values, cut, strict=True))
        }
        assert fits <= {1} if strict else 0 not in fits


def test_when_no_median_is_allowed_another_cut_is_found() -> None:
    """Both b are in the lower half; only a cut between them leaves two values on either side."""
    ages = [10, 20, 30, 40, 50, 60, 70, 80]
    table = sf.read(
        pa.table({"age": ages, "ill": list("abbaaaaa")}), sf.Schema(quasi=["age"], sensitive="ill")
    )
    release = Mondrian().run(Task(table, (sf.DistinctDiversity(2),)))
    assert sorted(release.groups.sizes.tolist()) == [2, 6]


# -- relaxed --------------------------------------------------------------------------------------


@given(
    ages=st.lists(st.integers(20, 24), min_size=1, max_size=60),
    k=st.integers(1, 6),
    regions=st.sampled_from(STYLES),
)
@settings(max_examples=few(60))
def test_relaxed_groups_are_smaller_than_2k_but_for_equals(
    ages: list[int], k: int, regions: str
) -> None:
    table = one_column(ages)
    if len(ages) < k:
        with pytest.raises(sf.NoSafeRelease, match=rf"k ≥ {k}; .* came is {len(ages)} "):
            Mondrian(strict=False).run(Task(table, (sf.KAnonymity(k),)))
        return
    release = Mondrian(strict=False, regions=regions).run(Task(table, (sf.KAnonymity(k),)))
    for group in people_of(release):
        assert len(group) >= k
        alike = len({person.quasi for person in group}) == 1
        assert len(group) < 2 * k or alike or regions != "cell"
    check_places(release, table)


def one_column(ages: Sequence[int | None]) -> sf.Table:
    rows = pa.table({"age": pa.array(list(ages), pa.int64()), "disease": ["flu"] * len(ages)})
    return sf.read(rows, sf.Schema(quasi=["age"], sensitive="disease"))


def test_relaxed_mode_parts_people_of_one_age() -> None:
    ages = [30] * 5 + [31] * 2 + [29] * 2
    strict = Mondrian().run(Task(one_column(ages), (sf.KAnonymity(4),)))
    relaxed = Mondrian(strict=False).run(Task(one_column(ages), (sf.KAnonymity(4),)))
    assert strict.groups.sizes.tolist() == [9]
    assert sorted(relaxed.groups.sizes.tolist()) == [4, 5]
    assert {relaxed.regions.describe(g)["age"] for g in (0, 1)} == {"<31", ">=30"}
    assert not relaxed.disjoint


@each_style
@pytest.mark.parametrize("strict", [True, False])
def test_missing_ages_do_not_uncover_the_oldest(regions: str, strict: bool) -> None:
    """NULL is no neighbour of the largest value: 117 would stand there by itself."""
    ages = [*range(20, 79), *range(20, 79), *range(20, 51), 117]
    for missing in (50, 9, 1):  # enough for a group of their own, or not
        table = one_column([*ages, *[None] * missing])
        release = Mondrian(regions=regions, strict=strict).run(Task(table, (sf.KAnonymity(10),)))
        shown = [release.regions.describe(group)["age"] for group in range(len(release.groups))]
        assert not any("117" in text for text in shown)
        assert ("(missing)" in shown) == (missing == 50)
        beside = [place for place, text in enumerate(shown) if text.endswith(" or (missing)")]
        assert len(beside) == (missing < 50 and regions != "hierarchy")
        for place in beside:  # the range is told of as many as have a value
            assert release.groups.sizes[place] - missing >= 10
        check_places(release, table)
        if release.disjoint:
            assert max(fitting(release, table).values()) == 1


@pytest.mark.parametrize("strict", [True, False])
def test_two_missing_ages_hide_nobody_elses(strict: bool) -> None:
    ages = [*range(20, 80), *range(20, 80), None, None]
    table = one_column(ages)
    policy = sf.Policy([sf.KAnonymity(10)], anonymizer=Mondrian(strict=strict))
    release = sf.anonymize(table, policy)
    shown = [release.regions.describe(group)["age"] for group in range(len(release.groups))]
    assert len(shown) == 8
    assert shown[-1] == ">=72 or (missing)"
    without = sf.anonymize(one_column(ages[:-2]), policy)
    losses = [Loss().cost(view_of(one)) for one in (release, without)]
    assert losses[0] == pytest.approx(losses[1], abs=0.01)
    assert losses[0] < 0.13  # where all were `*` it was 1


@settings(max_examples=few(40))
@given(
    ages=st.lists(st.integers(20, 60), min_size=4, max_size=30),
    missing=st.integers(1, 5),
    k=st.integers(1, 5),
    regions=st.sampled_from(STYLES),
    strict=st.booleans(),
)
def test_a_range_beside_the_missing_is_told_of_enough_people(
    ages: list[int], missing: int, k: int, regions: str, strict: bool
) -> None:
    table = one_column([*ages, *[None] * missing])
    release = split(table, [sf.KAnonymity(k)], regions=regions, strict=strict)
    if release is None:
        return
    for group, people in enumerate(people_of(release)):
        (region,) = regions_of(release, group)
        having = [person for person in people if not lacks(table, 0, person)]
        assert not (isinstance(region, ValueSet) and None in region.values and having)
        if isinstance(region, Span):
            assert bool(region.beside) == (len(having) < len(people))
            assert len(having) >= max(2 * len(region.beside), k)


@settings(max_examples=few(40))
@given(
    grades=st.lists(st.sampled_from("abcdefg"), min_size=4, max_size=30),
    streets=st.lists(st.integers(0, 3), min_size=36, max_size=36),
    missing=st.integers(1, 5),
    k=st.integers(1, 5),
    declared=st.booleans(),
    regions=st.sampled_from(STYLES),
    strict=st.booleans(),
)
def test_a_word_beside_the_missing_is_told_of_enough_people(
    grades: list[str],
    streets: list[int],
    missing: int,
    k: int,
    declared: bool,
    regions: str,
    strict: bool,
) -> None:
    """Of words as of numbers: {(missing), g} would tell of one person that hers is g."""
    rows = [*grades, *[None] * missing]
    data = {"grade": pa.array(rows, pa.string()), "street": streets[: len(rows)]}
    data["ill"] = ["flu"] * len(rows)
    for quasi in (["grade"], ["grade", "street"]):
        domains = {"grade": [*"gfedcba"]} if declared else {}
        table = sf.read(pa.table(data), sf.Schema(quasi=quasi, sensitive="ill", domains=domains))
        release = split(table, [sf.KAnonymity(k)], regions=regions, strict=strict)
        if release is None:
            continue
        check_places(release, table)
        shown = release.to_arrow()["grade"].to_pylist()
        for text in {text for text in shown if "(missing)" in str(text)} - {"(missing)"}:
            # The set is one that was cut: enough people of the whole table have its words.
            told = set(text.strip("{}").split(", ")) - {"(missing)"}
            assert sum(grade in told for grade in grades) >= max(2, k), text
            if quasi == ["grade"]:  # cut by nothing else: those in the group themselves
                assert shown.count(text) - missing >= max(2, k), text


def test_the_last_grade_is_not_told_beside_the_missing() -> None:
    grades = [*"abcdefgh" * 10, "i", *[None] * 50]
    for declared in ({"grade": [*"abcdefghi"]}, {}):
        for style in STYLES:
            for strict in (True, False):
                schema = sf.Schema(quasi=["grade"], sensitive="ill", domains=declared)
                rows = pa.table({"grade": grades, "ill": ["flu"] * len(grades)})
                table = sf.read(rows, schema)
                release = split(table, [sf.KAnonymity(40)], regions=style, strict=strict)
                assert release is not None
                shown = set(release.to_arrow()["grade"].to_pylist())
                assert "{(missing), i}" not in shown
                assert None in shown  # they are enough for a group of their own


RELAXED_GAIN = """
import pyarrow as pa
import sfumato as sf
from sfumato.anonymizers.base import Task
from sfumato.anonymizers.mondrian.mondrian import Mondrian
columns = {"sex": ["F"] * 8, "age": [1, 2, 3, 4] * 2, "ill": list("aabbaabb")}
table = sf.read(pa.table(columns), sf.Schema(quasi=["sex", "age"], sensitive="ill"))
search = Mondrian(strict=False, order="gain", target="ill")
release = search.run(Task(table, (sf.KAnonymity(2),)))
print(sorted(release.groups.sizes.tolist()))
"""


def test_relaxed_mode_by_gain_stays_inside_its_arrays() -> None:
    """Uncompiled, so that NumPy checks every index: compiled code would overwrite its memory."""
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    run = subprocess.run(
        [sys.executable, "-c", RELAXED_GAIN], env=environment, capture_output=True, text=True
    )
    assert run.stdout.strip() == "[2, 2, 2, 2]", run.stderr[-500:]


# -- order ----------------------------------------------------------------------------------------


def two_columns() -> sf.Table:
    """A wide column that tells nothing about the disease and a narrow one that tells all."""
    rows = [(10 * (i % 8), 500 + i // 16, "gout" if i // 16 else "flu") for i in range(32)]
    wide, narrow, ill = (list(column) for column in zip(*rows, strict=True))
    return sf.read(
        pa.table({"wide": wide, "narrow": narrow, "ill": ill}),
        sf.Schema(
            quasi=["wide", "narrow"],
            sensitive="ill",
            domains={"narrow": [*range(400, 600)], "wide": [*range(80)]},
        ),
    )


def columns_cut(release: Release) -> set[str]:
    return {
        name
        for group in range(len(release.groups))
        for name, text in release.regions.describe(group).items()
        if text != "*"
    }


@pytest.mark.parametrize(
    ("search", "cut"),
    [
        ({}, {"wide"}),
        ({"order": "gain", "target": "ill"}, {"narrow"}),
        ({"order": "gain", "target": "wide"}, {"wide"}),
        ({"order": lambda widths, people: -widths}, {"narrow"}),
        ({"order": lambda widths, people: widths * people[:, None]}, {"wide"}),
    ],
)
def test_the_order_decides_which_column_is_cut_first(search: Any, cut: set[str]) -> None:
    release = Mondrian(**search).run(Task(two_columns(), (sf.KAnonymity(16),)))
    assert release.groups.sizes.tolist() == [16, 16]
    assert columns_cut(release) == cut


def test_widths_are_shares_of_the_domain() -> None:
    """By extent for numbers and dates, by count for others; NULL among numbers is the widest."""
    day = dt.date
    rows = {
        "age": pa.array([10, 20, 20, 20], pa.int64()),
        "born": pa.array([day(2000, 1, 1), day(2000, 1, 11), day(2000, 1, 1), None], pa.date32()),
        "grade": ["low", "mid", "mid", "low"],
        "job": ["nurse", "doctor", "nurse", "doctor"],
        "sex": ["F", "F", "F", "F"],
    }
    table = sf.read(
        pa.table(rows),
        sf.Schema(
            quasi=list(rows),
            domains={"age": [0, 10, 20, 50], "grade": ["none", "low", "mid", "high", "top"]},
            hierarchies={"job": HIERARCHIES["job"]},
        ),
    )
    seen: list[tuple[list[float], int]] = []

    def order(widths: np.ndarray, people: np.ndarray) -> np.ndarray:
        seen.extend(zip(widths.tolist(), people.tolist(), strict=True))
        return widths

    Mondrian(order=order).run(Task(table, (sf.KAnonymity(1),)))
    # The people share the label care, which stands for 3 of 5 jobs.
    assert seen[0] == (pytest.approx([10 / 50, 1, 1 / 4, 2 / 4, 0]), 4)
    # First those are parted of whom it is not known when they were born.
    assert seen[1] == (pytest.approx([10 / 50, 1, 1 / 4, 2 / 4, 0]), 3)
    assert seen[2] == (pytest.approx([0, 0, 0, 0, 0]), 1)


def test_an_order_of_the_wrong_shape_is_refused() -> None:
    for wrong in (lambda widths, people: people, lambda widths, people: widths[:, :1]):
        with pytest.raises(sf.PolicyError, match=r"order function returned shape .*, not \(1, 2\)"):
            Mondrian(order=wrong).run(Task(two_columns(), (sf.KAnonymity(16),)))


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"order": "narrowest"}, "order = 'narrowest' is not known"),
        ({"order": "gain"}, "'gain' and a target column go together"),
        ({"target": "ill"}, "'gain' and a target column go together"),
        ({"regions": "box"}, "regions = 'box' is not known"),
    ],
)
def test_wrong_settings_are_refused(settings: Any, words: str) -> None:
    with pytest.raises(sf.PolicyError, match=f"mondrian: .*{words}"):
        Mondrian(**settings)


def test_a_target_must_be_a_judged_column() -> None:
    search = Mondrian(order="gain", target="wage")
    with pytest.raises(sf.PolicyError, match=r"target 'wage' .* allowed: wide, narrow, ill"):
        search.run(Task(two_columns(), (sf.KAnonymity(2),)))


# -- batches, threads, order of rows --------------------------------------------------------------


@lru_cache(maxsize=2)
def larger_rows(people: int = 400) -> tuple[tuple[Any, ...], ...]:
    chance = Random(5)
    cities, jobs = ["a", "b", "c", "d"], ["nurse", "doctor", "baker", "smith"]
    return tuple(
        (
            chance.randint(18, 90),
            chance.choice(cities),
            chance.choice(jobs),
            chance.choice(DISEASES),
        )
        for _ in range(people)
    )


def larger_table(people: Sequence[tuple[Any, ...]]) -> sf.Table:
    names = ("age", "city", "job", "disease")
    columns = dict(zip(names, (list(c) for c in zip(*people, strict=True)), strict=True))
    schema = sf.Schema(
        quasi=names[:3], sensitive="disease", hierarchies={"job": HIERARCHIES["job"]}
    )
    return sf.read(pa.table(columns), schema)


def content(release: Release) -> Counter[tuple[Any, ...]]:
    """Which rows are handed out, whatever their order."""
    return Counter(tuple(row.values()) for row in release.tables()["data"].to_pylist())


REQUIRE = (sf.KAnonymity(3), sf.DistinctDiversity(2), sf.TCloseness(0.5))


@pytest.mark.parametrize("search", [{}, {"strict": False}, {"order": "gain", "target": "disease"}])
@pytest.mark.parametrize("most", [1, 7, 50])
def test_batches_change_nothing(monkeypatch: pytest.MonkeyPatch, most: int, search: Any) -> None:
    table = larger_table(larger_rows())
    whole = Mondrian(**search).run(Task(table, REQUIRE))
    monkeypatch.setattr("sfumato.anonymizers.mondrian.partition.BATCH", most)
    cut = Mondrian(**search).run(Task(table, REQUIRE))
    assert len(whole.groups) > 20
    assert content(cut) == content(whole)
    assert bags(people_of(cut)) == bags(people_of(whole))


def test_threads_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    table = larger_table(larger_rows())
    monkeypatch.setattr("sfumato.anonymizers.mondrian.partition.BATCH", 20)
    monkeypatch.setattr("os.cpu_count", lambda: 1)
    alone = Mondrian().run(Task(table, REQUIRE))
    monkeypatch.setattr("os.cpu_count", lambda: 4)
    for _ in range(5):
        shared = Mondrian().run(Task(table, REQUIRE))
        assert shared.to_arrow() == alone.to_arrow()


@pytest.mark.parametrize("search", [{}, {"strict": False}, {"order": "gain", "target": "disease"}])
@pytest.mark.parametrize("regions", STYLES)
def test_the_order_of_rows_changes_nothing(search: Any, regions: Any) -> None:
    people = list(larger_rows())
    first = Mondrian(regions=regions, **search).run(Task(larger_table(people), REQUIRE))
    for seed in range(3):
        Random(seed).shuffle(people)
        again = Mondrian(regions=regions, **search).run(Task(larger_table(people), REQUIRE))
        assert content(again) == content(first)


# -- criteria that judge the release as a whole ---------------------------------------------------


def spent_by(groups: Sequence[Group]) -> Fraction:
    """The budget's sum by hand."""
    total = Fraction(0)
    for group in groups:
        having = Counter(value for person in group for value in person.values)
        total += Fraction(max(having.values()), len(group))
    return total


@settings(max_examples=few(60))
@given(
    table=tables,
    most=st.sampled_from([1, 1.5, 2, 3, 5]),
    others=st.sampled_from([[], [sf.KAnonymity(2)], [sf.DistinctDiversity(2)]]),
)
def test_a_budget_over_the_whole_release_is_kept_and_used(table: sf.Table, most, others) -> None:
    """Splits are accepted one by one: within the budget, until no split is left that fits."""
    if not is_safe(everybody(table), others, weights_of(table)):
        return
    release = Mondrian().run(Task(table, (*others, Budget(most))))
    check_budget(release, most, others)


def check_budget(release: Release, most: float, others: Sequence[Criterion]) -> None:
    assert release.placement is not None
    table, groups = release.placement.table, people_of(release)
    spent, weights = spent_by(groups), weights_of(table)
    assert spent <= most
    assert sf.audit(release, [*others, Budget(most)]).holds
    for group in groups:
        for parts in all_splits(table, group, [*others, Budget(most)]):
            fits = spent - spent_by([group]) + spent_by(parts) <= most
            assert not (fits and all(is_safe(part, others, weights) for part in parts))


@pytest.mark.parametrize("most", [2, 10, 25])
def test_a_budget_is_kept_in_batches_too(monkeypatch: pytest.MonkeyPatch, most: float) -> None:
    monkeypatch.setattr("sfumato.anonymizers.mondrian.partition.BATCH", 20)
    monkeypatch.setattr("os.cpu_count", lambda: 4)
    table, others = larger_table(larger_rows(200)), [sf.KAnonymity(2)]
    release, again = (Mondrian().run(Task(table, (*others, Budget(most)))) for _ in range(2))
    check_budget(release, most, others)
    assert again.to_arrow() == release.to_arrow()


def test_two_splits_that_are_safe_alone_are_not_both_made() -> None:
    """Four pure quarters: everybody 1/4, two halves 1/2 each; a half and two quarters spend 2.5."""
    ages, ill = [age for age in (10, 20, 30, 40) for _ in range(4)], list("aaaabbbbccccdddd")
    table = sf.read(pa.table({"age": ages, "ill": ill}), sf.Schema(quasi=["age"], sensitive="ill"))
    sizes = {
        most: sorted(len(g) for g in people_of(Mondrian().run(Task(table, (Budget(most),)))))
        for most in (0.25, 1, 2.4, 2.5, 3.9, 4)
    }
    assert sizes == {
        0.25: [16],
        1: [8, 8],
        2.4: [8, 8],
        2.5: [4, 4, 8],
        3.9: [4, 4, 8],
        4: [4, 4, 4, 4],
    }


def test_two_budgets_are_both_kept() -> None:
    table = larger_table(larger_rows(200))
    for first, second in ((3, 5), (5, 3)):
        release = Mondrian().run(Task(table, (Budget(first), Budget(second), sf.KAnonymity(2))))
        assert 2 < spent_by(people_of(release)) <= 3


# -- refusals -------------------------------------------------------------------------------------


def test_an_unsafe_table_names_the_criterion_and_the_nearest_miss() -> None:
    table = larger_table(larger_rows(200))
    nearest = r"k ≥ 500; the nearest any release came is 200 .*; everybody together fails already"
    for anonymizer in (sf.Mondrian(), sf.Deal(sweeps=0), sf.Microaggregation(5)):
        with pytest.raises(sf.NoSafeRelease, match=nearest) as refusal:
            anonymize(
                table, sf.Policy([sf.KAnonymity(2), sf.KAnonymity(500)], anonymizer=anonymizer)
            )
        assert "coarsen" not in str(refusal.value)  # one group of everybody is as coarse as can be
    with pytest.raises(sf.NoSafeRelease, match=r"distinct-diversity, required l ≥ 5; .* is 4 "):
        anonymize(table, sf.Policy([sf.DistinctDiversity(5)], anonymizer=sf.Mondrian()))
    with pytest.raises(sf.NoSafeRelease, match=r"budget, required sum ≤ 0.1; "):
        anonymize(table, sf.Policy([Budget(0.1)], anonymizer=sf.Mondrian()))


def test_people_whose_rows_differ_in_their_qis_are_refused() -> None:
    people = pa.table({"who": [1, 1, 2], "age": [30, 31, 30], "ill": ["a", "b", "a"]})
    table = sf.read(people, sf.Schema(quasi=["age"], sensitive="ill", person="who"))
    with pytest.raises(sf.InputError, match="differ in their quasi-identifiers"):
        anonymize(table, sf.Policy([sf.KAnonymity(1)], anonymizer=sf.Mondrian()))


def test_a_column_with_one_value_and_a_table_of_one_person() -> None:
    table = sf.read(
        pa.table({"age": [30], "sex": ["F"], "ill": ["flu"]}),
        sf.Schema(quasi=["age", "sex"], sensitive="ill"),
    )
    release = Mondrian().run(Task(table, (sf.KAnonymity(1),)))
    assert release.regions.describe(0) == {"age": "*", "sex": "*"}


def test_without_a_sensitive_column() -> None:
    table = sf.read(pa.table({"age": [1, 2, 3, 4, 5]}), sf.Schema(quasi=["age"]))
    release = Mondrian().run(Task(table, (sf.KAnonymity(2),)))
    assert sorted(release.groups.sizes.tolist()) == [2, 3]
