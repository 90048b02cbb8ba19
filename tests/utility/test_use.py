"""What a release is for: weights, queries and a target, against their definitions."""

from __future__ import annotations

import json
from collections import Counter
from math import log
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.anonymizers.base import Task
from sfumato.anonymizers.lattice.lattice import search_lattice
from sfumato.anonymizers.lattice.nodes import Judge
from sfumato.release.release import Release
from sfumato.report.sections.decision import costs_in_words
from sfumato.report.text import to_text
from sfumato.schema.region import Value
from sfumato.utility import utility_named
from sfumato.utility.use import FitForQueries, informations
from sfumato.utility.view import view_of
from tests.examples import few
from tests.oracles.lattice_oracle import LatticeOracle
from tests.utility import releases
from tests.utility.oracle import Oracle, Person
from tests.utility.releases import COLUMNS, RELEASES, TABLES, random_rows, table_of, unchanged

QUERIES = st.lists(
    st.lists(st.sampled_from(COLUMNS), min_size=1, max_size=4, unique=True), min_size=1, max_size=3
)
WEIGHTS = st.fixed_dictionaries(
    {"age": st.sampled_from([0.5, 1.0, 4.0])},
    optional={name: st.sampled_from([0.0, 1.0, 3.0]) for name in ("city", "grade")},
)


# -- the cost against its definition, person by person ---------------------------------------------


class UseOracle(Oracle):
    def weighted_loss(self, weights: list[float]) -> float:
        lost = [
            weight * (1.0 if person.group is None else self._widening(person, column))
            for person in self.people
            for column, weight in enumerate(weights)
        ]
        return sum(lost) / sum(weights) / len(self.people)

    def query_error_of(self, query: list[str]) -> float:
        truth = Counter(self._cell(person, query) for person in self.people)
        errors = []
        for cell, people in truth.items():
            answer = sum(self._share(person, query, cell) for person in self.published)
            off = abs(answer - people) / max(people, len(self.people) / 1000)
            errors.append(min(1.0, off))
        return self._mean(errors)

    def _cell(self, person: Person, query: list[str]) -> tuple[Value, ...]:
        return tuple(
            person.sensitive if name == "disease" else person.quasi[COLUMNS.index(name)]
            for name in query
        )

    def _share(self, person: Person, query: list[str], cell: tuple[Value, ...]) -> float:
        """How much of a person a reader puts into a cell."""
        share = 1.0
        for name, value in zip(query, cell, strict=True):
            if name != "disease":
                covered = self.covered(person, COLUMNS.index(name))
                share *= covered.count(value) / len(covered)
                continue
            held = [person.sensitive]
            if self.exact:
                held = [other.sensitive for other in self.published if other.group == person.group]
            share *= held.count(value) / len(held)
        return share


def near(number: float) -> Any:
    return pytest.approx(number, rel=1e-9, abs=1e-9)


@given(release=RELEASES, weights=WEIGHTS)
def test_weighted_loss_is_what_its_definition_says(
    release: Release, weights: dict[str, float]
) -> None:
    oracle = UseOracle(release)
    fitted = sf.Use(weights).measure(oracle.table.counts)
    listed = [weights.get(name, 1.0) for name in COLUMNS[:3]]
    assert fitted.cost(view_of(release)) == near(oracle.weighted_loss(listed))


@given(release=RELEASES, queries=QUERIES, weights=WEIGHTS)
def test_workload_error_is_what_its_definition_says(
    release: Release, queries: list[list[str]], weights: dict[str, float]
) -> None:
    oracle = UseOracle(release)
    fitted = sf.Use(weights, queries).measure(oracle.table.counts)
    assert isinstance(fitted, FitForQueries)
    view = view_of(release)
    expected = [oracle.query_error_of(query) for query in queries]
    assert [float(one.errors.mean()) for one in fitted.answers(view)] == [near(e) for e in expected]
    loss = oracle.weighted_loss(list(fitted.weights))
    assert fitted.cost(view) == near((loss + sum(expected) / len(expected)) / 2)


@given(table=TABLES, queries=QUERIES)
def test_an_unchanged_table_costs_nothing(table: sf.Table, queries: list[list[str]]) -> None:
    view = view_of(unchanged(table))
    assert sf.Use(queries=queries, target="disease").measure(table.counts).cost(view) == near(0)


def test_columns_that_queries_name_weigh_more() -> None:
    table = table_of(random_rows(60))
    fitted = sf.Use(queries=[["age", "disease"], ["age", "city"]]).measure(table.counts)
    assert fitted.column_weights(3) == near(np.array([1, 0.5, 0.1]) * 3 / 1.6)
    heavier = sf.Use({"grade": 20}, [["age", "disease"]]).measure(table.counts)
    assert heavier.column_weights(3) == near(np.array([1, 0.1, 2]) * 3 / 3.1)


def test_a_column_weighs_what_it_tells_of_the_target() -> None:
    table = table_of(random_rows(400))
    rows = random_rows(400)
    bits = informations(table.counts, "disease")
    for column in range(3):
        pairs = Counter((row[column], row[3]) for row in rows)
        left, right = Counter(row[column] for row in rows), Counter(row[3] for row in rows)
        plain = sum(
            n / 400 * log(n * 400 / left[value] / right[ill]) for (value, ill), n in pairs.items()
        )
        chance = (len(pairs) - len(left) - len(right) + 1) / 800
        assert bits[column] == near(max(0.0, plain - max(0.0, chance)))
    weights = sf.Use(target="disease").measure(table.counts).column_weights(3)
    assert weights[0] > weights[1] > weights[2]  # age, then city, and grade tells nothing
    own = sf.Use(target="grade").measure(table.counts).column_weights(3)
    assert own.argmax() == 2 or own[2] == own.max()


# -- searches --------------------------------------------------------------------------------------


def test_the_lattice_finds_what_is_best_for_the_use() -> None:
    table = table_of(random_rows(60))
    require = (sf.KAnonymity(4), sf.DistinctDiversity(2))
    for use in (
        sf.Use({"age": 5, "city": 0}),
        sf.Use(queries=[["city"], ["grade", "disease"]]),
        sf.Use(target="disease"),
    ):
        fitted = use.measure(table.counts)
        for suppression in (0.0, 0.1):
            judge = Judge(Task(table, require, fitted, suppression))
            found = search_lattice(judge, 1000)
            oracle = LatticeOracle(table, require, suppression)
            costs = {levels: oracle.cost(levels, fitted) for levels in oracle.safe}
            assert found.best is not None
            assert found.exact
            assert found.best.cost == near(min(costs.values()))
            for levels, cost in costs.items():
                assert judge.least_cost(levels) <= cost + 1e-12


@pytest.mark.parametrize(
    "anonymizer", [sf.Lattice(), sf.Mondrian(regions="tight"), sf.Deal(sweeps=4)], ids=repr
)
def test_a_column_that_matters_comes_out_finer(anonymizer: Any) -> None:
    table = table_of(random_rows(150))

    def widths(use: sf.Use | None) -> list[float]:
        policy = sf.Policy([sf.KAnonymity(5)], anonymizer, use=use)
        view = view_of(sf.anonymize(table, policy, seed=1))
        return view.totals([view.coverage(column).widening() for column in range(3)])

    assert widths(sf.Use({"grade": 30}))[2] < widths(sf.Use({"grade": 0}))[2]
    assert widths(sf.Use({"age": 30, "city": 0}))[0] <= widths(None)[0]


@settings(max_examples=few(4))
@given(table=TABLES, weights=WEIGHTS)
def test_mondrian_serves_a_use_no_worse_for_knowing_it(
    table: sf.Table, weights: dict[str, float]
) -> None:
    require, fitted = (sf.KAnonymity(min(2, table.people)),), sf.Use(weights).measure(table.counts)
    known, unknown = (
        sf.Mondrian(regions="tight").run(task)
        for task in (Task(table, require, fitted), Task(table, require))
    )
    assert fitted.cost(view_of(known)) <= fitted.cost(view_of(unknown)) + 1e-12


@pytest.mark.parametrize("anonymizer", [sf.Lattice(), sf.Mondrian()], ids=repr)
def test_equal_weights_change_nothing(anonymizer: Any) -> None:
    table = table_of(random_rows(80))
    plain = sf.Policy([sf.KAnonymity(4)], anonymizer)
    alike = sf.Policy([sf.KAnonymity(4)], anonymizer, use=sf.Use({"age": 2, "city": 2, "grade": 2}))
    assert alike.measure(table).column_weights(3).tolist() == [1.0, 1.0, 1.0]
    one, other = (sf.anonymize(table, policy, seed=3) for policy in (plain, alike))
    assert one.to_arrow().equals(other.to_arrow())


# -- policies --------------------------------------------------------------------------------------

SCHEMA = sf.Schema(quasi=["age", "zip"], sensitive="ill")


def test_a_policy_holds_its_use(tmp_path: Path) -> None:
    use = sf.Use({"age": 3, "zip": 0}, [["age", "ill"], ["zip"]], "ill")
    policy = sf.Policy([sf.KAnonymity(2)], schema=SCHEMA, use=use)
    policy.save(tmp_path / "policy.toml")
    assert sf.Policy.load(tmp_path / "policy.toml") == policy
    assert "use" not in policy.public()


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ("weights = { age = -1 }", "weight of 'age' = -1"),
        ("weights = { age = nan }", "weight of 'age' = nan"),
        ("weights = { age = inf }", "weight of 'age' = inf"),
        ("weights = { age = true }", "weight of 'age' = True"),
        ("weights = { ages = 1 }", "did you mean 'age'"),
        ("weights = { ill = 1 }", "no quasi-identifier"),
        ("weights = { age = 0, zip = 0 }", "every quasi-identifier has weight 0"),
        ("weights = 3", "use.weights"),
        ('queries = ["age"]', "each is a list of columns"),
        ("queries = [[]]", "each is a list of columns"),
        ('queries = [["age", "age"]]', "twice"),
        ('queries = [["sex"]]', "neither quasi nor sensitive"),
        ('target = "sex"', "neither quasi nor sensitive"),
        ("target = 3", "use.target"),
        ("", "names nothing"),
        ('aim = "ill"', "unknown key 'aim' in [use]"),
    ],
)
def test_mistakes_in_a_use_are_told_in_one_line(tmp_path: Path, lines: str, words: str) -> None:
    path = tmp_path / "policy.toml"
    path.write_text(
        f'[use]\n{lines}\n[schema]\nquasi = ["age", "zip"]\nsensitive = "ill"\n'
        '[[require]]\nkind = "k-anonymity"\nk = 2\n'
    )
    with pytest.raises(sf.PolicyError) as told:
        sf.Policy.load(path)
    assert words in str(told.value)
    assert "\n" not in str(told.value)


def test_a_use_and_another_utility_are_refused_together() -> None:
    with pytest.raises(sf.PolicyError, match=r"utility = 'precision' and use both"):
        sf.Policy([sf.KAnonymity(2)], utility="precision", use=sf.Use({"age": 2}))


def test_without_a_schema_columns_are_checked_against_the_table() -> None:
    table = sf.read(pa.table({"age": [1, 2], "zip": ["a", "b"], "ill": ["x", "y"]}), SCHEMA)
    policy = sf.Policy([sf.KAnonymity(2)], use=sf.Use(target="job"))
    with pytest.raises(sf.PolicyError, match=r"target: 'job' is neither quasi nor sensitive"):
        sf.anonymize(table, policy)


def test_without_a_use_the_measure_is_the_named_one() -> None:
    table = table_of(random_rows(20))
    for name in ("loss", "precision"):
        assert sf.Policy([sf.KAnonymity(2)], utility=name).measure(table) == utility_named(name)


# -- reports ---------------------------------------------------------------------------------------

TITLE = "What it is for"


def test_a_report_tells_how_the_release_serves_its_use(tmp_path: Path) -> None:
    columns = zip(COLUMNS, map(list, zip(*random_rows(60), strict=True)), strict=True)
    table = sf.read(pa.table(dict(columns)), releases.SCHEMA)
    use = sf.Use({"grade": 2}, [["age", "disease"], ["city"]], "disease")
    policy = sf.Policy([sf.KAnonymity(4)], sf.Mondrian(regions="tight"), use=use)
    release = sf.anonymize(table, policy, seed=1)
    report = sf.audit(release, policy)
    (section,) = [one for one in json.loads(report.to_json())["sections"] if one["title"] == TITLE]
    weighed, queries, target = (one["rows"] for one in section["tables"])
    oracle = UseOracle(release)
    assert [row[0] for row in weighed] == ["age", "city", "grade"]
    assert [row[0] for row in queries] == ["age, disease", "city"]
    assert [row[2] for row in queries] == [
        near(oracle.query_error_of(list(query))) for query in use.queries
    ]
    cities = Counter(person.quasi[1] for person in oracle.people)
    assert queries[1][1] == len(cities)
    assert [row[0] for row in target][:2] == ["the table", "the release"]
    assert report.costs["use"] == near(policy.measure(table).cost(view_of(release)))
    assert "of what it is for is kept" in costs_in_words(report)[0]
    shown = to_text(report.brief(), 80)
    assert TITLE in shown
    assert max(map(len, shown.splitlines())) <= 80
    assert TITLE in report.to_markdown()
    release.save(tmp_path / "out", report=report, policy=policy)
    assert TITLE in (tmp_path / "out" / "private" / "report.html").read_text()
    assert "[use]" in (tmp_path / "out" / "private" / "policy.toml").read_text()
    for path in (tmp_path / "out" / "public").rglob("*"):
        assert path.is_dir() or not {TITLE, "weight", '"use"'} & set(path.read_text().split())
        assert path.is_dir() or TITLE not in path.read_text()
    assert TITLE not in report.public().to_json()


def test_a_comparison_measures_by_the_use() -> None:
    table = table_of(random_rows(60))
    policy = sf.Policy([sf.KAnonymity(2)], sf.Mondrian(), use=sf.Use({"age": 3}))
    found = sf.compare(table, policy, {"k": [2, 4]}, seed=1)
    assert found.cost == "use"


def test_a_report_without_a_use_says_nothing_of_it() -> None:
    table = table_of(random_rows(40))
    policy = sf.Policy([sf.KAnonymity(2)], sf.Mondrian())
    report = sf.audit(sf.anonymize(table, policy, seed=1), policy)
    assert TITLE not in report.to_json()
    assert "use" not in report.costs
