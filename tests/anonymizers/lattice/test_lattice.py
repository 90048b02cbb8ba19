"""The lattice search against exhaustion, Adult's golden nodes, and everything it must refuse."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from random import Random
from typing import Any, ClassVar, cast

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.anonymizers.base import Task
from sfumato.anonymizers.lattice.lattice import (
    Lattice,
    LatticeFindings,
    LatticeOutcome,
    search_lattice,
)
from sfumato.anonymizers.lattice.nodes import Judge
from sfumato.anonymizers.lattice.search import BothEnds
from sfumato.criteria.base import Criterion
from sfumato.datasets.public_files import adult
from sfumato.release.release import Release
from sfumato.utility import UTILITIES, utility_named
from sfumato.utility.base import Utility
from sfumato.workflow.anonymize import anonymize, generalize
from tests.anonymizers.small_lattices import BUDGET, KINDS, TABLES, small_data
from tests.criteria.toy_criteria import FewGroups, SmallGroups
from tests.examples import few
from tests.oracles.lattice_oracle import LatticeOracle

CHEAP = [name for name in UTILITIES if name != "classification"]  # that one trains a tree a node


# -- small tables ---------------------------------------------------------------------------------


@lru_cache(maxsize=TABLES)
def small_table(seed: int) -> sf.Table:
    # Nothing here goes back to the rows; a kept connection for each table would pile up.
    return replace(sf.read(*small_data(seed)), engine=cast(Any, None))


tables = st.integers(0, TABLES - 1).map(small_table)


def search(
    table: sf.Table,
    require: list[Criterion],
    suppression: float = 0.0,
    utility: str = "loss",
    budget: int = BUDGET,
) -> LatticeOutcome:
    task = Task(table, tuple(require), utility_named(utility), suppression)
    return search_lattice(Judge(task), budget)


def check_found(found: LatticeOutcome, oracle: LatticeOracle, utility: Utility) -> None:
    """The best and the minimal nodes are the oracle's, and so is all that was measured."""
    assert found.exact
    assert set(found.minimal) == oracle.minimal
    for node in found.nodes:
        judged = oracle.nodes[node.levels]
        assert node.satisfied == judged.satisfied
        if node.satisfied:
            assert node.groups == len(judged.kept)
            assert node.suppressed == len(judged.suppressed)
            assert node.cost == pytest.approx(oracle.cost(node.levels, utility))
    costs = {levels: oracle.cost(levels, utility) for levels in oracle.safe}
    if not costs:
        assert found.best is None
        return
    assert found.best is not None
    assert costs[found.best.levels] == pytest.approx(min(costs.values()), rel=1e-12, abs=1e-12)
    if utility.name in ("discernibility", "average-group-size"):  # exact, so ties are ties

        def preference(levels: tuple[int, ...]) -> tuple[float, int, int, tuple[int, ...]]:
            return costs[levels], len(oracle.nodes[levels].suppressed), sum(levels), levels

        assert found.best.levels == min(costs, key=preference)


@pytest.mark.parametrize("suppression", [0, 0.1, 0.5])
@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=few(3))
@given(data=st.data())
def test_the_best_node_is_that_of_exhaustive_search(kind: str, suppression: float, data) -> None:
    table, require = data.draw(tables), data.draw(KINDS[kind])
    oracle = LatticeOracle(table, require, suppression)
    for name in CHEAP:
        check_found(search(table, require, suppression, name), oracle, utility_named(name))


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=few(20))
@given(data=st.data(), suppression=st.sampled_from([0, 0.1, 0.3, 0.5, 0.8]))
def test_the_bound_on_loss_never_hides_the_best_node(kind: str, suppression: float, data) -> None:
    table, require = data.draw(tables), data.draw(KINDS[kind])
    oracle = LatticeOracle(table, require, suppression)
    found = search(table, require, suppression)
    check_found(found, oracle, utility_named("loss"))
    task = Task(table, tuple(require), utility_named("loss"), suppression)
    best = search_lattice(Judge(task), BUDGET, for_best=True)
    assert best.exact
    assert best.best == found.best
    assert set(best.whole.minimal) == oracle.minimal


def test_the_best_may_lie_above_a_node_that_is_known_to_be_safe() -> None:
    """In ranges of 8 four of ten people are too few and go; in ranges of 16 nobody does."""
    ages = [0, 1, 2, 3, 4, 5, 8, 9, 10, 11]
    schema = sf.Schema(
        quasi=["age"],
        domains={"age": [*range(32)]},
        hierarchies={"age": sf.intervals([2, 4, 8, 16])},
    )
    table = sf.read(pa.table({"age": ages}), schema)
    require: list[Criterion] = [sf.KAnonymity(5)]
    found = search(table, require, 0.5)
    check_found(found, LatticeOracle(table, require, 0.5), utility_named("loss"))
    assert found.minimal == ((3,),)
    assert found.best is not None
    assert (found.best.levels, found.best.cost) == ((4,), pytest.approx(15 / 31))


@settings(max_examples=few(4))
@given(table=tables, require=KINDS["merge closed"])
def test_the_best_node_for_a_classifier(table: sf.Table, require: list[Criterion]) -> None:
    utility = utility_named("classification")
    oracle = LatticeOracle(table, require, 0.1)
    check_found(search(table, require, 0.1, utility.name), oracle, utility)


@pytest.mark.parametrize("suppression", [0, 0.1, 0.5])
@settings(max_examples=few(10))
@given(table=tables, require=st.one_of(*KINDS.values()))
def test_judging_every_node_is_exhaustive_search(
    table: sf.Table, suppression: float, require: list[Criterion]
) -> None:
    """Every node judged by itself is as the oracle has it; also, no bound exceeds its cost."""
    oracle = LatticeOracle(table, require, suppression)
    judge = Judge(Task(table, tuple(require), suppression=suppression))
    for levels, judged in oracle.nodes.items():
        with judge.node(levels) as counted:
            node = judge.judge(counted, thoroughly=True)
        assert node.satisfied == judged.satisfied
        assert node.suppressed == len(judged.suppressed)
        if node.satisfied:
            assert node.cost >= judge.least_cost(node.levels) - 1e-12
            if not judged.suppressed:
                assert node.cost == pytest.approx(judge.least_cost(node.levels))


def test_a_failure_that_another_criterion_shares_in_is_not_inherited() -> None:
    """Groups over the size allowed and homogeneous ones are too many together, but only here."""
    held = {"1": "abab", "2": "abab", "3": "aaaa", "4": "abab"}
    rows = [(label, value) for label, values in held.items() for value in values]
    columns = dict(zip(("x", "ill"), map(list, zip(*rows, strict=True)), strict=True))
    schema = sf.Schema(
        quasi=["x"],
        sensitive="ill",
        domains={"x": "categorical"},
        hierarchies={"x": sf.taxonomy({"1": "p", "2": "p", "3": "q", "4": "r"})},
    )
    table = sf.read(pa.table(columns), schema)
    require: list[Criterion] = [SmallGroups(5), sf.DistinctDiversity(2)]
    assert LatticeOracle(table, require, 0.5).safe == [(0,)]
    best = search(table, require, 0.5).best
    assert best is not None
    assert best.levels == (0,)


@pytest.mark.parametrize("utility", ["loss", "query-error"])
def test_a_release_of_nobody_is_never_the_best(utility: str) -> None:
    require: list[Criterion] = [sf.DistinctDiversity(3, sensitive="disease")]
    table = small_table(4)
    oracle = LatticeOracle(table, require, 1.0)
    assert any(not node.kept for node in oracle.nodes.values())
    check_found(search(table, require, 1.0, utility), oracle, utility_named(utility))


# -- other tables ---------------------------------------------------------------------------------


def test_people_with_several_values_each() -> None:
    values = [["a"], ["a", "b"], ["b", "c"], ["c"], ["a"], ["b"], ["a", "c"], ["c", "b"], ["a"]]
    ages = [21, 22, 26, 27, 31, 32, 36, 37, 21]
    table = sf.read(
        pa.table({"age": ages, "sex": list("FMFMFMFMF"), "ill": values}),
        sf.Schema(
            quasi=["age", "sex"], sensitive="ill", hierarchies={"age": sf.intervals([5, 10])}
        ),
    )
    for require in ([sf.KAnonymity(2)], [sf.AlphaK(0.6, 2)], [sf.AlphaK(0.6, 1), FewGroups(3)]):
        for suppression in (0, 0.3):
            oracle = LatticeOracle(table, require, suppression)
            assert oracle.safe
            for name in CHEAP:
                check_found(search(table, require, suppression, name), oracle, utility_named(name))


def test_a_table_without_a_sensitive_column_and_with_survey_weights() -> None:
    rows = {"age": [21, 22, 26, 27, 31, 38], "w": [1.0, 9.0, 2.0, 2.5, 0.5, 3.0]}
    table = sf.read(
        pa.table(rows),
        sf.Schema(quasi=["age"], weight="w", hierarchies={"age": sf.intervals([5, 10])}),
    )
    require: list[Criterion]
    for require in ([sf.KAnonymity(2)], [sf.KMap(4, "weights")], [sf.KMap(6, "weights")]):
        for suppression in (0, 0.2):
            oracle = LatticeOracle(table, require, suppression)
            assert oracle.safe
            check_found(search(table, require, suppression), oracle, utility_named("loss"))


def test_a_table_of_one_person() -> None:
    table = sf.read(
        pa.table({"age": [30], "ill": ["flu"]}), sf.Schema(quasi=["age"], sensitive="ill")
    )
    release = Lattice().run(Task(table, (sf.KAnonymity(1),)))
    assert release.regions.describe(0) == {"age": "30"}


# -- the release of a node ------------------------------------------------------------------------


def published(release: Release) -> dict[tuple[str, ...], list[str]]:
    """The groups a reader finds in what is handed out, with their diseases."""
    found: dict[tuple[str, ...], list[str]] = {}
    names = release.regions.columns
    for row in release.tables()["data"].to_pylist():
        key = tuple("(missing)" if row[name] is None else str(row[name]) for name in names)
        found.setdefault(key, []).append(row["disease"])
    return {key: sorted(values) for key, values in found.items()}


def by_hand(oracle: LatticeOracle, levels: tuple[int, ...]) -> dict[tuple[str, ...], list[str]]:
    values = oracle.table.counts.sensitive[0].domain.values
    return {
        tuple(region.text for region in key): sorted(
            str(values[code]) for person in group for code in person.values[0]
        )
        for key, group in oracle.nodes[levels].kept.items()
    }


@settings(max_examples=few(30))
@given(table=tables, require=KINDS["merge closed"], suppression=st.sampled_from([0, 0.1, 0.5]))
def test_what_is_handed_out_is_the_best_node(
    table: sf.Table, require: list[Criterion], suppression: float
) -> None:
    oracle = LatticeOracle(table, require, suppression)
    task = Task(table, tuple(require), suppression=suppression)
    if not oracle.safe:
        with pytest.raises(sf.NoSafeRelease):
            Lattice().run(task)
        return
    release = Lattice().run(task)
    findings = LatticeFindings.of(release.made)
    assert findings is not None
    found = findings.search
    assert findings.levels == dict(zip(found.columns, found.best.levels, strict=True))
    assert found.heights == oracle.heights
    assert published(release) == by_hand(oracle, found.best.levels)
    assert release.suppressed == len(oracle.nodes[found.best.levels].suppressed)
    assert release.disjoint


@settings(max_examples=few(30))
@given(table=tables, require=KINDS["upward closed"], data=st.data())
def test_generalize_gives_the_release_of_one_node(table: sf.Table, require, data) -> None:
    oracle = LatticeOracle(table, require, 0.5)
    levels = data.draw(st.sampled_from(sorted(oracle.nodes)))
    named = dict(zip((domain.name for domain in table.counts.quasi), levels, strict=True))
    if oracle.nodes[levels].satisfied:
        release = generalize(table, named, require, 0.5)
        assert published(release) == by_hand(oracle, levels)
    else:
        with pytest.raises(sf.NoSafeRelease, match=r"the node fails .* of .* people, .* allowed"):
            generalize(table, levels, require, 0.5)


def test_generalize_without_criteria_suppresses_nobody() -> None:
    table = small_table(1)
    release = generalize(table, {})
    assert release.suppressed == 0
    assert release.people == table.people
    assert len(release.groups) == len({tuple(codes) for codes in table.counts.codes.T})


# -- above the budget -----------------------------------------------------------------------------


@pytest.mark.parametrize("suppression", [0, 0.1])
@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=few(4))
@given(data=st.data())
def test_from_both_ends_the_best_is_that_of_exhaustive_search(
    kind: str, suppression: float, data
) -> None:
    """Whatever a search from both ends was given: its bound holds, and what it proves is so."""
    table, require = data.draw(tables), data.draw(KINDS[kind])
    first, *_, last = (table.schema.quasi[0], *table.schema.quasi)
    weights = data.draw(st.sampled_from([None, {first: 5}, {last: 0, first: 1}]))
    utility = utility_named("loss") if weights is None else sf.Use(weights).measure(table.counts)
    task = Task(table, tuple(require), utility, suppression)
    oracle = LatticeOracle(table, require, suppression)
    least = min((oracle.cost(levels, utility) for levels in oracle.safe), default=math.inf)
    exact = search_lattice(Judge(task), BUDGET)
    for budget in (data.draw(st.integers(1, 30)), BUDGET):
        ends = BothEnds(Judge(task), budget, BUDGET)
        ends.run()
        assert ends.bound <= least + 1e-12
        assert len(ends.nodes) <= budget
        for node in ends.nodes:
            assert node.satisfied == oracle.nodes[node.levels].satisfied
        if ends.proved:
            assert ends.best == exact.best
    assert ends.proved  # the lattice is small


@settings(max_examples=few(25))
@given(table=tables, require=KINDS["merge closed"], budget=st.integers(1, 30))
def test_above_the_budget_the_search_says_how_near_it_came(
    table: sf.Table, require: list[Criterion], budget: int
) -> None:
    exact = search(table, require, 0.1)
    assert exact.exact
    assert exact.gap == (None if exact.best is None else 0)
    found = search(table, require, 0.1, budget=budget)
    if found.exact:
        assert found.best == exact.best
        return
    assert len(found.nodes) <= budget < math.prod(exact.heights)
    assert len({node.levels for node in found.nodes}) == len(found.nodes)
    if found.best is not None:
        assert exact.best is not None
        assert found.best.cost >= exact.best.cost - 1e-12
        assert found.gap is None or found.best.cost - found.gap <= exact.best.cost + 1e-12
        task = Task(table, tuple(require), suppression=0.1)
        release = Lattice(budget).run(task)
        assert release.made.findings.search.exact is False
        assert sf.audit(release, require).holds


def test_the_report_tells_how_much_was_seen_and_how_near_it_is() -> None:
    table = sf.read(*small_data(1))
    policy = sf.Policy([sf.KAnonymity(2)], Lattice(budget=5))
    release = anonymize(table, policy, seed=1)
    found = release.made.findings.search
    assert not found.exact
    told = sf.audit(release, policy).to_json()
    assert f"{len(found.nodes)} of {math.prod(found.heights)} choices of levels" in told
    assert f"costs at most {found.gap:.2g} more than the best of all" in told
    assert found.seen.split(",")[0] in told


@dataclass(frozen=True)
class FewGroupsAtEnd(FewGroups):
    """The same of finished releases alone."""

    at_end: ClassVar[bool] = True


def test_what_is_judged_at_the_end_leaves_open_what_the_budget_left_open() -> None:
    """The best that was proved may fail at the end; what comes next then is not proved."""
    chance = Random(9)
    rows = {f"c{j}": [chance.choice("abcd") for _ in range(12)] * 2 for j in range(5)}
    halves = sf.taxonomy({"a": "x", "b": "x", "c": "y", "d": "y"})
    table = sf.read(
        pa.table(rows), sf.Schema(quasi=[*rows], hierarchies=dict.fromkeys(rows, halves))
    )
    proved = []
    for most in (6, 8, 11, 12):
        task = Task(table, (sf.KAnonymity(2), FewGroupsAtEnd(most)))
        least = Lattice().run(task).made.findings.search.best.cost
        found = Lattice(100).run(task).made.findings.search
        assert found.bound <= least + 1e-12
        assert not found.exact or found.best.cost <= least + 1e-12
        proved.append(found.exact)
    assert proved == [False, False, False, True]


def test_a_measure_without_a_bound_is_searched_from_above_alone() -> None:
    table, require = small_table(1), [sf.KAnonymity(2)]
    exact = search(table, require, utility="discernibility")
    found = search(table, require, utility="discernibility", budget=len(exact.nodes) // 2)
    assert not found.exact
    assert found.gap is None
    assert found.best is not None
    assert found.best.cost < found.nodes[0].cost


def test_a_large_lattice_is_searched_from_both_ends_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """What that leaves open is gone through; the best is the same, and ends both times."""
    table = small_table(1)
    for suppression in (0.0, 0.2):
        require = [sf.KAnonymity(3)]
        exact = search(table, require, suppression)
        for few_nodes in (3, 1000):
            monkeypatch.setattr("sfumato.anonymizers.lattice.lattice.LARGE", 2)
            monkeypatch.setattr("sfumato.anonymizers.lattice.lattice.FEW", few_nodes)
            found = search(table, require, suppression)
            assert (found.best, found.exact, found.gap) == (exact.best, True, 0)
            assert len({node.levels for node in found.nodes}) == len(found.nodes)
            monkeypatch.undo()


def test_the_heuristic_refines_the_top() -> None:
    """With a few nodes it gets from `*` to something better."""
    table, require = small_table(1), [sf.KAnonymity(2)]
    found = search(table, require, budget=5)
    assert len(found.nodes) <= 5
    assert found.best is not None
    assert found.best.cost < 1


# -- Adult ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def adults(data_folder: Path) -> sf.Table:
    return sf.read(*adult(data_folder))


FINE, BEST = (0, 4, 1, 2, 3, 2, 0, 0), (0, 3, 0, 2, 2, 1, 1, 0)


def test_adult_has_a_5_anonymous_node_of_26_groups(adults: sf.Table) -> None:
    release = generalize(adults, FINE, [sf.KAnonymity(5)])
    assert (len(release.groups), release.suppressed, release.people) == (26, 0, 30_162)
    assert release.groups.sizes.min() >= 5


def test_adult_has_a_node_of_222_groups_with_506_suppressed(adults: sf.Table) -> None:
    release = generalize(adults, BEST, [sf.KAnonymity(5)], 0.02)
    assert (len(release.groups), release.suppressed) == (222, 506)
    with pytest.raises(sf.NoSafeRelease, match=r"suppress 506 of 30,162 people, 301 allowed"):
        generalize(adults, BEST, [sf.KAnonymity(5)], 0.01)


def test_adult_costs_least_at_that_node(adults: sf.Table) -> None:
    release = anonymize(adults, sf.Policy([sf.KAnonymity(5)], Lattice(), "loss", 0.02))
    found = release.made.findings.search
    assert math.prod(found.heights) == 4_320
    assert found.exact
    assert found.best.levels == BEST
    assert (len(release.groups), release.suppressed) == (222, 506)


# -- refusals -------------------------------------------------------------------------------------


def test_nothing_safe_names_the_criterion_and_the_nearest_miss() -> None:
    table = small_table(1)
    for suppression in (0, 0.3):
        policy = sf.Policy(
            [sf.KAnonymity(2), sf.EntropyDiversity(9, sensitive="disease")],
            Lattice(),
            suppression=suppression,
        )
        with pytest.raises(sf.NoSafeRelease, match="entropy-diversity, required l ≥ 9") as told:
            anonymize(table, policy)
        assert "nearest any release came is" in str(told.value)
        assert "loosen" in str(told.value)
    with pytest.raises(
        sf.NoSafeRelease, match=rf"k-anonymity, required k ≥ 500; .* came is {table.people} "
    ):
        anonymize(table, sf.Policy([sf.KAnonymity(500)], Lattice()))


def test_a_utility_that_does_not_apply_is_what_the_error_is_about() -> None:
    table = sf.read(pa.table({"age": [1, 2, 3, 4]}), sf.Schema(quasi=["age"]))
    with pytest.raises(sf.SfumatoError, match="classification"):
        anonymize(table, sf.Policy([sf.KAnonymity(2)], Lattice(), "classification"))


@pytest.mark.parametrize("share", [-0.1, 1.5, float("nan")])
def test_suppression_is_a_share(share: float) -> None:
    with pytest.raises(sf.PolicyError, match=r"suppression = .* from 0 to 1"):
        Task(small_table(1), (sf.KAnonymity(2),), suppression=share)
    with pytest.raises(sf.PolicyError, match="suppression"):
        generalize(small_table(1), {}, [sf.KAnonymity(2)], share)


@pytest.mark.parametrize("budget", [0, -1, 2.5, "many"])
def test_the_budget_is_a_whole_number(budget: object) -> None:
    with pytest.raises(sf.PolicyError, match="lattice: budget"):
        Lattice(budget)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("levels", "words"),
    [
        ({"agee": 1}, "'agee' is not a quasi-identifier; did you mean 'age'"),
        ({"age": 4}, "'age' has levels 0 to 3, not 4"),
        ({"age": -1}, "'age' has levels 0 to 3, not -1"),
        ({"age": 1.0}, "'age' has levels 0 to 3, not 1.0"),
        ({"age": "1"}, "'age' has levels 0 to 3, not '1'"),
        ((1,), "1 levels given for 2 quasi-identifiers"),
        ((1, 1, 1), "3 levels given for 2 quasi-identifiers"),
    ],
)
def test_wrong_levels_are_refused(levels: Any, words: str) -> None:
    table = sf.read(
        pa.table({"age": [1, 2], "sex": ["F", "M"]}),
        sf.Schema(quasi=["age", "sex"], hierarchies={"age": sf.intervals([5, 10])}),
    )
    with pytest.raises(sf.InputError, match=words):
        generalize(table, levels)


def test_people_whose_rows_differ_in_their_qis_are_refused() -> None:
    rows = pa.table({"who": [1, 1, 2], "age": [30, 31, 30], "ill": ["a", "b", "a"]})
    table = sf.read(rows, sf.Schema(quasi=["age"], sensitive="ill", person="who"))
    words = "differ in their quasi-identifiers"
    with pytest.raises(sf.InputError, match=words):
        generalize(table, {})
    with pytest.raises(sf.InputError, match=words):
        anonymize(table, sf.Policy([sf.KAnonymity(1)], Lattice()))


def test_what_criteria_measure_at_a_node_is_what_an_audit_of_its_release_says(data_folder) -> None:
    from sfumato.datasets.public_files import adult
    from sfumato.workflow.anonymize import anonymize

    table = sf.read(*adult(data_folder))
    require = [sf.KAnonymity(5), sf.TCloseness(0.9), sf.EntropyDiversity(1)]
    release = anonymize(table, sf.Policy(require, Lattice(), suppression=0.02))
    found = release.made.findings.search
    audited = {
        str(c): v.measured
        for c, v in zip(require, sf.audit(release, require).verdicts, strict=True)
    }
    assert found.measured(found.best.levels) == pytest.approx(audited, rel=1e-12)
    assert found.measured(found.minimal[0])["k-anonymity k ≥ 5"] >= 5
