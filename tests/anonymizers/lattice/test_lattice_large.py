"""The lattice search on tables larger than memory: the same nodes, costs and groups as in memory.

The memory is made so small that everything is; nothing of the rows is read again.
"""

from __future__ import annotations

import contextlib
import dataclasses
import math
import re
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.anonymizers.base import Task
from sfumato.anonymizers.lattice import large
from sfumato.anonymizers.lattice.large import judge_of
from sfumato.anonymizers.lattice.lattice import Lattice, LatticeOutcome, search_lattice
from sfumato.counts.scan import scan
from sfumato.counts.stored import TooManyKinds, bytes_for
from sfumato.criteria.base import Criterion, GroupCriterion
from sfumato.engines.duckdb import DuckDB
from sfumato.engines.reading import Reading
from sfumato.errors import NoSafeRelease, ResourceError
from sfumato.release.made import StoredPlacement
from sfumato.release.release import Release
from sfumato.table import Table
from sfumato.utility import UTILITIES, utility_named
from sfumato.utility.view import view_of
from sfumato.workflow.anonymize import anonymize, generalize
from tests.anonymizers.small_lattices import BUDGET, KINDS, TABLES, small_data
from tests.examples import few
from tests.oracles.containing import containing
from tests.table.beyond_memory import beyond

BY_GROUP = [name for name, one in UTILITIES.items() if not one.reads_tuples]
seeds = st.integers(0, TABLES - 1)
rooms = st.sampled_from([1, 3, 8, 20])  # tuples that fit in memory
SKYLINES = [
    sf.SkylinePrivacy([(0, 1, 0, 0.9)]),
    sf.SkylinePrivacy([(1, 0, 0, 0.7), (0, 2, 1, 0.95)], sensitive="disease"),
]


class Watched(DuckDB):
    """Remembers what it was asked."""

    def __init__(self, *, embedded: bool = True) -> None:
        super().__init__(Reading(threads=1))
        self.embedded = embedded
        self.asked: list[str] = []

    def materialize(self, name: str, select: str, *, large: bool = False) -> None:
        self.asked.append(select)
        super().materialize(name, select, large=large)

    def fetch(self, select: str, *, in_order: bool = False) -> pa.Table:
        self.asked.append(select)
        return super().fetch(select, in_order=in_order)


def held_table(rows: pa.Table, schema: sf.Schema, most: int = 3, *, embedded: bool = True) -> Table:
    """A table of which `most` tuples fit in memory."""
    engine = Watched(embedded=embedded)
    engine.memory = 1
    source = engine.register(rows)
    counts = scan(engine, source, schema)
    levels = {domain.name: schema.hierarchy(domain.name).bind(domain) for domain in counts.quasi}
    table = Table(schema, counts, levels, source, engine)
    assert not table.counts.fits_memory
    engine.memory = most * bytes_for(1, len(table.counts.columns))
    return table


def search(
    table: Table,
    require: list[Criterion],
    suppression: float = 0.0,
    utility: str = "loss",
    budget: int = BUDGET,
) -> LatticeOutcome:
    task = Task(table, tuple(require), utility_named(utility), suppression)
    return search_lattice(judge_of(task), budget)


def check_same(
    rows: pa.Table,
    schema: sf.Schema,
    most: int,
    require: list[Criterion],
    suppression: float,
    utility: str = "loss",
    *,
    embedded: bool = True,
) -> LatticeOutcome:
    """Both searches find the same, to the last digit."""
    one = search(sf.read(rows, schema, threads=1), require, suppression, utility)
    table = held_table(rows, schema, most, embedded=embedded)
    engine: Any = table.engine
    engine.asked.clear()
    other = search(table, require, suppression, utility)
    assert not [asked for asked in engine.asked if table.source.name in asked]
    assert other.passes is not None
    assert other.passes.finest >= 1
    assert str(other.best) == str(one.best)  # to the last digit of the cost
    assert other.minimal == one.minimal
    judged = {node.levels: node for node in one.nodes}
    for node in other.nodes:
        if node.levels in judged:
            assert str(node) == str(judged[node.levels])
    return other


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=few(8))
@given(data=st.data(), seed=seeds, most=rooms, suppression=st.sampled_from([0, 0.1, 0.5]))
def test_the_search_finds_what_it_finds_in_memory(
    kind: str, data, seed: int, most: int, suppression: float
) -> None:
    rows, schema = small_data(seed)
    require = data.draw(KINDS[kind])
    utility, embedded = data.draw(st.sampled_from(BY_GROUP)), data.draw(st.booleans())
    try:
        check_same(rows, schema, most, require, suppression, utility, embedded=embedded)
    except TooManyKinds:  # of groups that are judged all together
        assert any(not isinstance(one, GroupCriterion) for one in require)


LARGER = 8


def larger_data(seed: int, rows: int = 400) -> tuple[pa.Table, sf.Schema]:
    """A lattice of 72 nodes over about two hundred distinct tuples."""
    chance = np.random.default_rng(seed)
    age = np.minimum(chance.gamma(2.0, 6.0, rows), 39).astype(np.int64)
    zips = [f"{i}{j}" for i in "123" for j in "12"]
    table = {
        "age": pa.array(age, mask=chance.random(rows) < 0.02),
        "zip": pa.array(np.array(zips)[chance.integers(0, len(zips), rows)]),
        "sex": pa.array(np.array(["F", "M"])[chance.integers(0, 2, rows)]),
        "town": pa.array(np.array(list("abc"))[np.minimum(chance.geometric(0.5, rows) - 1, 2)]),
        "disease": pa.array(np.array(["flu", "gout", "cold", "hiv"])[chance.integers(0, 4, rows)]),
    }
    hierarchies = {"age": sf.intervals([3, 6, 12, 24]), "zip": sf.mask(), "town": sf.suppression()}
    schema = sf.Schema(
        quasi=["age", "zip", "sex", "town"], sensitive="disease", hierarchies=hierarchies
    )
    return pa.table(table), schema


@settings(max_examples=few(5))
@given(
    seed=st.integers(0, LARGER - 1),
    most=st.sampled_from([10, 40, 120]),
    more=st.sampled_from(
        [sf.DistinctDiversity(2), sf.EntropyDiversity(2), sf.TCloseness(0.35), *SKYLINES[:1]]
    ),
    suppression=st.sampled_from([0, 0.02, 0.1, 0.4]),
)
def test_a_lattice_of_72_nodes(seed: int, most: int, more: Criterion, suppression: float) -> None:
    rows, schema = larger_data(seed)
    try:
        check_same(rows, schema, most, [sf.KAnonymity(3), more], suppression)
    except TooManyKinds:
        assert not isinstance(more, GroupCriterion)


@settings(max_examples=few(8))
@given(
    seed=seeds,
    most=st.sampled_from([8, 20]),
    skyline=st.sampled_from(SKYLINES),
    suppression=st.sampled_from([0, 0.2]),
)
def test_groups_that_are_judged_together(
    seed: int, most: int, skyline: Criterion, suppression: float
) -> None:
    rows, schema = small_data(seed)
    with contextlib.suppress(TooManyKinds):
        check_same(rows, schema, most, [sf.KAnonymity(2), skyline], suppression)


def test_passes_are_few_and_go_over_ever_smaller_tables() -> None:
    """72 nodes, a third of which do not fit in memory; with one pass a node it would be 72."""
    rows, schema = larger_data(1, rows=3000)
    table = held_table(rows, schema, most=300)
    found = search(table, [sf.KAnonymity(5), sf.DistinctDiversity(2)], 0.05)
    assert math.prod(found.heights) == 72
    assert found.passes is not None
    assert found.passes.finest <= 12
    memory = search(sf.read(rows, schema), [sf.KAnonymity(5), sf.DistinctDiversity(2)], 0.05)
    assert str(found.best) == str(memory.best)


# -- other tables ---------------------------------------------------------------------------------

AGES = [21, 22, 26, 27, 31, 32, 36, 37, 21, 22, None]
SEXES = list("FMFMFMFMFMF")


def test_people_with_several_values_each() -> None:
    lists = [["a"], ["a", "b"], ["b", "c"], ["c"], ["a"], ["b"], ["a", "c"], ["c", "b"], ["a"]]
    rows = pa.table({"age": AGES, "sex": SEXES, "ill": [*lists, ["b", "b"], None]})
    for several in ("set", "multiset"):
        schema = sf.Schema(
            quasi=["age", "sex"],
            sensitive="ill",
            hierarchies={"age": sf.intervals([5, 10])},
            several=several,
        )
        for most, require in (
            (2, [sf.KAnonymity(2)]),
            (3, [sf.AlphaK(0.6, 2)]),
            (9, [sf.KAnonymity(2), sf.SkylinePrivacy([(0, 1, 0, 0.95)])]),
        ):
            for suppression in (0, 0.3):
                check_same(rows, schema, most, require, suppression)


def test_rows_of_a_person_and_what_each_wants_protected() -> None:
    rows = pa.table(
        {
            "who": [0, *range(11)],
            "age": [21, *AGES],
            "sex": ["F", *SEXES],
            "ill": ["flu", *["flu", "gout", "cold"] * 3, "flu", "gout"],
            "wish": ["much", *["much", "little", "little"] * 3, "much", "little"],
        }
    )
    schema = sf.Schema(
        quasi=["age", "sex"],
        sensitive="ill",
        person="who",
        protect="wish",
        hierarchies={"age": sf.intervals([5, 10])},
    )
    single = dataclasses.replace(schema, person=None)
    protects = {"protect": {"much": ["flu", "gout"], "little": ["cold"]}}
    bound = sf.EpsilonPrivacy(3, sf.RealisticAdversary("uniform", 10), predicates=protects)
    for most, suppression in ((1, 0.5), (4, 0), (8, 0.5)):
        check_same(rows, schema, most, [sf.KAnonymity(2)], 0.3)
        for embedded in (False, True):
            check_same(rows, single, most, [bound], suppression, embedded=embedded)


def test_no_sensitive_column_and_survey_weights() -> None:
    rows = pa.table({"age": [21, 22, 26, 27, 31, 38], "w": [1.0, 9.0, 2.0, 2.5, 0.5, 3.0]})
    schema = sf.Schema(quasi=["age"], weight="w", hierarchies={"age": sf.intervals([5, 10])})
    for require in ([sf.KAnonymity(2)], [sf.KMap(4, "weights")], [sf.KMap(6, "weights")]):
        for suppression in (0, 0.2):
            found = check_same(rows, schema, 1, require, suppression)
            assert found.best is not None


# -- the release of a node ------------------------------------------------------------------------


def told(release: Release) -> dict[tuple[str, ...], Any]:
    """Every group by its description: all that criteria see of it."""
    found = {}
    for g in range(len(release.groups)):
        by_attribute = [
            (groups.counts_of(g), int(groups.sizes[g]), groups.reference.tolist())
            for groups in release.by_attribute.values()
        ]
        protected = release.groups.protected
        wishes = None if protected is None else protected[1][g].tolist()
        population = None if release.population is None else float(release.population[g])
        key = tuple(release.regions.describe(g).values())
        found[key] = by_attribute, wishes, population
    assert len(found) == len(release.groups)
    return found


def cells_of(release: Release) -> Counter[tuple[Any, ...]]:
    """How many people of each group have which sensitive codes."""
    placement, found = release.placement, Counter[tuple[Any, ...]]()
    assert placement is not None
    groups = [tuple(release.regions.describe(g).values()) for g in range(len(release.groups))]
    if isinstance(placement, StoredPlacement):
        for row in placement.table.engine.fetch(f"SELECT * FROM {placement.people}").to_pylist():
            g, n = row.pop("g"), row.pop("n")
            found[(groups[g], *row.values())] += n
        return found
    for tuple_, g, n in zip(placement.tuples, placement.groups, placement.n, strict=True):
        if g >= 0:
            found[(groups[g], *placement.counts.values[:, tuple_].tolist())] += int(n)
    return found


def check_release(
    rows: pa.Table, schema: sf.Schema, make: Callable[[Table], Release], most: int
) -> Release | None:
    """The same release as in memory, group for group, and the same people in it."""
    try:
        memory = make(sf.read(rows, schema, threads=1))
    except NoSafeRelease as error:
        with pytest.raises(NoSafeRelease, match=re.escape(str(error))):
            make(held_table(rows, schema, most))
        return None
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(large, "_COPIES", 0)  # as if groups without people took nothing
        held = make(held_table(rows, schema, most))
    assert isinstance(held.placement, StoredPlacement)
    assert told(held) == told(memory)
    assert cells_of(held) == cells_of(memory)
    assert held.suppressed == held.placement.suppressed == memory.suppressed
    assert (held.people, held.disjoint, held.notes) == (memory.people, True, memory.notes)
    for name in BY_GROUP:
        cost = utility_named(name).cost(view_of(memory))
        assert utility_named(name).cost(view_of(held)) == pytest.approx(cost)
    return held


@settings(max_examples=few(8))
@given(
    seed=seeds,
    require=KINDS["merge closed"] | KINDS["not closed"],
    suppression=st.sampled_from([0, 0.1, 0.5]),
    most=rooms,
)
def test_the_release_is_that_of_memory(
    seed: int, require: list[Criterion], suppression: float, most: int
) -> None:
    policy = sf.Policy(require, Lattice(), suppression=suppression)
    check_release(*small_data(seed), lambda table: anonymize(table, policy, seed=1), most)


@settings(max_examples=few(10))
@given(seed=seeds, data=st.data(), most=rooms, suppression=st.sampled_from([0.1, 0.5]))
def test_generalize_gives_the_same_release(seed: int, data, most: int, suppression: float) -> None:
    rows, schema = small_data(seed)
    heights = sf.read(rows, schema, threads=1).levels
    levels = [data.draw(st.integers(0, heights[name].height - 1)) for name in schema.quasi]
    require = [sf.KAnonymity(2)]
    check_release(rows, schema, lambda t: generalize(t, levels, require, suppression), most)


def test_a_release_with_kept_columns_weights_and_wishes() -> None:
    rows = pa.table(
        {
            "age": AGES,
            "sex": SEXES,
            "ill": [*["flu", "gout"] * 5, "flu"],
            # The first and the ninth person differ in nothing else.
            "wish": [*["much"] * 5, *["little"] * 6],
            "w": [float(2**place) for place in range(11)],
            "note": [str(place) for place in range(11)],
        }
    )
    schema = sf.Schema(
        quasi=["age", "sex"],
        sensitive="ill",
        protect="wish",
        weight="w",
        keep=["note"],
        hierarchies={"age": sf.intervals([5, 10])},
    )
    for most in (1, 4, 30):
        held = check_release(
            rows, schema, lambda t: generalize(t, (2, 0), [sf.KAnonymity(2)], 0.5), most
        )
        assert held is not None
        assert held.suppressed > 0
        assert isinstance(held.placement, StoredPlacement)
        counts = sf.read(rows, dataclasses.replace(schema, weight=None, protect=None)).counts
        places = held.placement.table.engine.fetch(
            f"SELECT * FROM {held.placement.placed}"
        ).to_pylist()
        described = {}
        for row in places:
            assert row["g"] >= 0
            key = (row["q0"], row["q1"], row["s0"])
            assert key not in described  # once, whatever its people want protected
            described[key] = held.regions.describe(row["g"])
        kept = 0
        for codes, value, n in zip(counts.codes.T, counts.values[0], counts.n, strict=True):
            age, sex = (d.values[c] for d, c in zip(counts.quasi, codes, strict=True))
            shown = described.get((*codes.tolist(), int(value)))
            if shown is not None:
                kept += int(n)
                assert len(containing(held.regions, {"age": age, "sex": sex})) == 1
                assert shown["sex"] == sex
        assert kept == held.people


def test_what_is_written_is_what_memory_writes(tmp_path) -> None:
    rows, schema = larger_data(2)
    policy = sf.Policy([sf.KAnonymity(4)], Lattice(), suppression=0.1)
    written = []
    for name, table in (
        ("memory", sf.read(rows, schema, threads=1)),
        ("held", held_table(rows, schema, 100)),
    ):
        release = anonymize(table, policy, seed=1)
        assert isinstance(release.placement, StoredPlacement) == (name == "held")
        report = sf.audit(release, policy)
        assert report.holds
        out = release.save(tmp_path / name, report=report, policy=policy)
        found = sf.read_release(out, schema)
        written.append(Counter(map(str, told(found).items())))
    assert written[0] == written[1]


def test_spark_finds_the_same(spark) -> None:
    """Where nodes too fine for memory are judged by their kinds of groups first."""
    from sfumato.engines.spark import Spark

    rows = pa.table({"age": AGES * 2, "sex": SEXES * 2, "ill": ["flu", "gout"] * 11})
    schema = sf.Schema(
        quasi=["age", "sex"], sensitive="ill", hierarchies={"age": sf.intervals([10])}
    )
    policy = sf.Policy([sf.KAnonymity(3)], Lattice(), suppression=0.2)
    memory = sf.read(rows, schema, threads=1)
    one = anonymize(memory, policy, seed=1)
    other = anonymize(beyond(memory, 4, Spark(session=spark)), policy, seed=1)
    assert isinstance(other.placement, StoredPlacement)
    assert other.made.findings.levels == one.made.findings.levels
    assert told(other) == told(one)
    assert cells_of(other) == cells_of(one)


# -- above the budget -----------------------------------------------------------------------------


@settings(max_examples=few(6))
@given(seed=seeds, budget=st.integers(1, 20), most=rooms)
def test_above_the_budget_the_search_is_that_of_memory(seed: int, budget: int, most: int) -> None:
    """The same nodes in the same order, the same verdicts, and as near to the best."""
    rows, schema = small_data(seed)
    require: list[Criterion] = [sf.KAnonymity(2)]
    memory = search(sf.read(rows, schema, threads=1), require, 0.1, budget=budget)
    found = search(held_table(rows, schema, most), require, 0.1, budget=budget)
    assert len(found.nodes) <= budget or found.exact
    if math.prod(found.heights) > budget:
        assert list(map(str, found.nodes)) == list(map(str, memory.nodes))
    assert (found.exact, found.gap) == (memory.exact, memory.gap)
    assert str(found.best) == str(memory.best)


def test_tables_are_kept_on_the_way_and_the_search_ends_when_nothing_is_better() -> None:
    """Of 72 nodes fewer than half are judged, few of them from the finest tuples."""
    rows, schema = larger_data(1, rows=3000)
    require: list[Criterion] = [sf.KAnonymity(5), sf.DistinctDiversity(2)]
    memory = search(sf.read(rows, schema, threads=1), require, 0.05, budget=70)
    found = search(held_table(rows, schema, most=300), require, 0.05, budget=70)
    assert found.exact
    assert list(map(str, found.nodes)) == list(map(str, memory.nodes))
    assert found.passes is not None
    assert found.passes.finest <= 2 * len(found.nodes)


def test_weights_of_columns_count_there_too() -> None:
    rows, schema = larger_data(2)
    require, use = (sf.KAnonymity(4),), sf.Use({schema.quasi[0]: 6, schema.quasi[1]: 0})
    found = []
    for table in (sf.read(rows, schema), held_table(rows, schema, 120)):
        task = Task(table, require, use.measure(table.counts), 0.05)
        found.append(search_lattice(judge_of(task), BUDGET).best)
    assert str(found[0]) == str(found[1])


# -- what is asked of a node afterwards, and refusals ---------------------------------------------


def test_what_criteria_measure_at_any_node() -> None:
    rows, schema = larger_data(3)
    require: list[Criterion] = [sf.KAnonymity(3), sf.EntropyDiversity(1.5)]
    memory = search(sf.read(rows, schema), require, 0.2)
    found = search(held_table(rows, schema, 120), require, 0.2)
    for levels in (*found.minimal, tuple(height - 1 for height in found.heights), (0, 0, 0, 0)):
        assert found.measured(levels) == pytest.approx(memory.measured(levels), nan_ok=True)


def test_measures_that_compare_with_everybody_are_refused_at_once() -> None:
    table = held_table(*small_data(1))
    engine: Any = table.engine
    engine.asked.clear()
    for name in set(UTILITIES) - set(BY_GROUP):
        policy = sf.Policy([sf.KAnonymity(2)], Lattice(), name)
        with pytest.raises(ResourceError, match=f"utility '{name}' compares .* memory limit"):
            anonymize(table, policy)
    assert not engine.asked


def test_a_criterion_about_every_person_is_refused() -> None:
    class Known(sf.KAnonymity):
        needs = frozenset({"members"})

    with pytest.raises(ResourceError, match="k-anonymity needs everybody's own values"):
        judge_of(Task(held_table(*small_data(1)), (Known(2),)))


def test_a_release_whose_groups_do_not_fit_is_refused() -> None:
    rows, schema = small_data(1)
    names = ", ".join(f"{name} 0" for name in schema.quasi)
    with pytest.raises(ResourceError, match=rf"node \({names}\) has .* coarser hierarchies"):
        generalize(held_table(rows, schema, 1), {})


def test_kinds_and_descriptions_cannot_both_be_had() -> None:
    rows = pa.table({"age": [*range(40)], "w": [1.0] * 40, "ill": ["a", "b"] * 20})
    schema = sf.Schema(quasi=["age"], sensitive="ill", weight="w")
    require = [sf.KMap(1, "weights"), sf.SkylinePrivacy([(0, 0, 0, 1)])]
    with pytest.raises(ResourceError, match=r"node \(0,\) .* every group's own description"):
        search(held_table(rows, schema, 5), require)


def test_the_engine_keeps_nothing_of_a_search() -> None:
    table = held_table(*larger_data(1), 100)
    engine: Any = table.engine

    def tables() -> set[str]:
        return set(engine.fetch("SELECT table_name FROM information_schema.tables")[0].to_pylist())

    before = tables()
    release = anonymize(table, sf.Policy([sf.KAnonymity(3)], Lattice(), suppression=0.1))
    assert isinstance(release.placement, StoredPlacement)
    assert tables() - before == {release.placement.people}
    with pytest.raises(NoSafeRelease):
        anonymize(table, sf.Policy([sf.KAnonymity(500)], Lattice()))
    assert tables() - before == {release.placement.people}
