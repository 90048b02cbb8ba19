"""Characterization of people with several rows: every figure from the rows themselves."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.release.read.read_release import table_as_published
from tests.examples import few
from tests.oracles import leakage_oracle as oracle
from tests.program import sfumato

NAMES = ("a", "b", "s", "t")
SCHEMA = sf.Schema(quasi=["a", "b"], sensitive=["s", "t"], person="id", rows="unlinked")
letters = st.sampled_from("xyz")
rows_ = st.lists(st.tuples(st.sampled_from("12345"), *[letters] * 4), min_size=1, max_size=14)
Rows = list[tuple[str, ...]]


def table(rows: Rows, schema: sf.Schema = SCHEMA) -> sf.Table:
    return sf.read(pd.DataFrame(rows, columns=["id", *NAMES]), schema, threads=1)


def once(rows: Rows, target: list[int]) -> list[tuple[object, ...]]:
    """The values of rows, each of a person's once."""
    return sorted({(row[0], oracle.value(row, target)) for row in rows})


def by_both(rows: Rows, target: list[int]) -> list[dict[object, Fraction]]:
    """How values are distributed by row, and by person."""
    by_row = oracle.shares([oracle.value(row, target) for row in rows])
    return [by_row, oracle.shares([value for _, value in once(rows, target)])]


def check(found: sf.Characterization, rows: Rows, before=by_both) -> None:
    """Every finding against the definition; `before`: what is expected, by the same rows."""
    people = {row[0] for row in rows}
    assert found.people == len(people)
    for finding in found.findings:
        known = [1 + NAMES.index(name) for name in finding.columns]
        target = [1 + NAMES.index(name) for name in finding.target.split(" | ")]
        classes = oracle.classes(rows, known)
        owners = {cells: {row[0] for row in mine} for cells, mine in classes.items()}
        expected = before(rows, target)
        distance, bits, gone = {}, {}, {}
        for cells, mine in classes.items():
            pairs = list(zip(expected, by_both(mine, target), strict=True))
            distance[cells] = math.sqrt(max(oracle.squared(a, x) for a, x in pairs))
            bits[cells] = max(oracle.entropy_gap(a, x) for a, x in pairs)
            gone[cells] = float(bool(set(expected[0]) - set(pairs[0][1])))

        def of_people(figures: dict[object, float], owners=owners) -> float:
            worst = [max(figures[c] for c, mine in owners.items() if p in mine) for p in people]
            return sum(worst) / len(people)

        assert finding.classes == len(classes)
        assert finding.k == min(map(len, owners.values()))
        alone = {cells: float(len(mine) == 1) for cells, mine in owners.items()}
        assert finding.unique == pytest.approx(of_people(alone))
        assert finding.ruled_out == pytest.approx(of_people(gone))
        for spread, figures in ((finding.distribution, distance), (finding.entropy, bits)):
            assert spread.largest == pytest.approx(max(figures.values()), abs=1e-12)
            mean = sum(figures.values()) / len(figures)
            assert spread.mean == pytest.approx(mean, abs=1e-12)
            assert spread.weighted == pytest.approx(of_people(figures), abs=1e-12)
        cells = tuple(finding.worst.cells.values())
        assert finding.worst.people == len(owners[cells])
        shown = {
            v: p for v, p in zip(finding.worst.values, finding.worst.observed, strict=True) if p
        }
        assert any(
            shown == pytest.approx({" | ".join(v): float(p) for v, p in reading.items()})
            for reading in by_both(classes[cells], target)
        )


@settings(max_examples=few(40))
@given(rows_)
def test_every_figure_of_every_combination(rows: Rows) -> None:
    check(sf.characterize(table(rows), 2), rows)
    check(sf.characterize(table(rows), 2, [("s", "t"), ("t", "a")]), rows)


@settings(max_examples=few(20))
@given(rows_)
def test_other_expectations(rows: Rows) -> None:
    def alike(rows: Rows, target: list[int]) -> list[dict[object, Fraction]]:
        return [oracle.shares(sorted({oracle.value(row, target) for row in rows}))] * 2

    check(sf.characterize(table(rows), 2, prior="uniform"), rows, alike)
    itself = sf.characterize(table(rows), 2, prior=table(rows))  # classes are what was expected
    assert all(finding.distribution.largest == 0 for finding in itself.findings)
    given_a = sf.characterize(table(rows), 2, "s", prior={"given": ["a"]})
    for finding in given_a.findings:
        worst = 0.0
        for members in oracle.classes(rows, [1, 2]).values():
            before = by_both([row for row in rows if row[1] == members[0][1]], [3])
            pairs = zip(before, by_both(members, [3]), strict=True)
            worst = max(worst, *(math.sqrt(oracle.squared(a, x)) for a, x in pairs))
        assert finding.columns == ("a", "b")
        assert finding.distribution.largest == pytest.approx(worst, abs=1e-12)


@settings(max_examples=few(20))
@given(rows_)
def test_all_columns_leak_what_the_criteria_measure(rows: Rows) -> None:
    groups = table_as_published(table(rows)).groups_for("s")
    finding = sf.characterize(table(rows), 2, "s", metrics=["hellinger"]).finding(["a", "b"])
    assert finding.k == groups.sizes.min()
    for name, largest in (
        ("euclidean", finding.distribution.largest),
        ("hellinger", finding.metrics["hellinger"].largest),
    ):
        measured = sf.DistributionLeakage(0.5, metric=name).measure(groups).per_group
        assert largest == pytest.approx(measured.max(), abs=1e-7)
    entropy = sf.EntropyLeakage(0.5).measure(groups).per_group
    assert finding.entropy.largest == pytest.approx(entropy.max(), abs=1e-12)


def test_somebody_alone_in_one_of_her_classes_counts_once() -> None:
    """Person 1 is alone at x and at y, one of two; by rows it would be two of four."""
    rows = [tuple(text) for text in ("1xxxx", "1yxyx", "1zxxx", "2zxyx")]
    found = sf.characterize(table(rows), 1, "s", individuals=True)
    finding = found.finding(["a"])
    assert (finding.k, finding.unique, finding.classes) == (1, 0.5, 3)
    exposed = found.individuals.to_arrow().to_pylist()
    assert [(line["a"], line["people"]) for line in exposed].count(("z", 1.0)) == 2
    assert "distinct ones" in found.notes[-1]


def test_a_coarser_column_puts_a_persons_rows_together() -> None:
    rows = [("1", "21"), ("1", "25"), ("2", "33"), ("3", "38")]
    data = pd.DataFrame([(who, int(age), "x") for who, age in rows], columns=["id", "age", "s"])
    schema = sf.Schema(
        quasi=["age"],
        sensitive="s",
        person="id",
        rows="unlinked",
        hierarchies={"age": sf.intervals([10, 20])},
    )
    found = sf.characterize(sf.read(data, schema), 1)
    (step,) = found.coarsenings
    assert (step.before.unique, step.after.classes) == (1.0, 2)
    assert step.after.unique == pytest.approx(1 / 3)  # her two rows are one person there


def test_a_release_is_characterized_by_its_owner_alone(tmp_path: Path) -> None:
    people = [f"p{at // 2}" for at in range(24)]
    data = pd.DataFrame(
        {
            "id": people,
            "age": [20 + at for at in range(24)],
            "ill": ["flu", "gout", "flu", "HIV"] * 6,
        }
    )
    schema = sf.Schema(
        quasi=["age"],
        sensitive="ill",
        person="id",
        rows="unlinked",
        hierarchies={"age": sf.intervals([5, 10])},
    )
    policy = sf.Policy(require=[sf.KAnonymity(3)], anonymizer=sf.Lattice())
    release = sf.anonymize(sf.read(data, schema), policy, seed=1)
    found = sf.characterize(release)
    (finding,) = found.findings
    assert finding.k == release.groups.sizes.min()
    measured = sf.DistributionLeakage(0.5).measure(release.groups).value
    assert finding.distribution.largest == pytest.approx(measured)
    assert "whose rows" in found.document().private
    release.save(tmp_path / "out")
    again = sf.characterize(sf.read_release(tmp_path / "out", schema))
    assert again.findings[0].distribution == finding.distribution
    with pytest.raises(sf.InputError, match="whose rows they are"):
        sf.characterize(sf.read_release(tmp_path / "out" / "public" / "data.csv", schema))


LINKED = sf.Schema(quasi=["a", "b"], sensitive=["s", "t"], person="id", rows="linked")


def fewest_fitting(own: tuple, everybody: list[tuple], known: int | str) -> int:
    """The fewest people who have as many of somebody's rows as are known, or just all of hers."""
    if known == "all":
        return everybody.count(own)
    known_rows = combinations(own, min(len(own), int(known)))
    return min(sum(not Counter(part) - Counter(rows) for rows in everybody) for part in known_rows)


@settings(max_examples=few(60), deadline=None)
@given(rows_, st.sampled_from(["all", 1, 2]))
def test_linked_rows_are_found_by_signatures(rows: Rows, known: int | str) -> None:
    """By row: rows that look alike in equal signatures; by person: all that these people have."""
    found = sf.characterize(table(rows, replace(LINKED, knows=known)), 2, [("s", "t"), ("s",)])
    people = sorted({row[0] for row in rows})
    for finding in found.findings:
        columns = [1 + NAMES.index(name) for name in finding.columns]
        target = [1 + NAMES.index(name) for name in finding.target.split(" | ")]

        def cells(row: tuple[str, ...], columns=columns) -> tuple[str, ...]:
            return tuple(row[column] for column in columns)

        signature = {p: tuple(sorted(cells(row) for row in rows if row[0] == p)) for p in people}
        everybody = list(signature.values())
        fitting = [fewest_fitting(signature[p], everybody, known) for p in people]
        assert finding.k == min(fitting)
        assert finding.unique == pytest.approx(fitting.count(1) / len(people))
        expected = by_both(rows, target)
        worst = dict.fromkeys(people, (0.0, 0.0, 0.0))
        for row in rows:
            alike = [other for other in rows if signature[other[0]] == signature[row[0]]]
            there = [other for other in alike if cells(other) == cells(row)]
            actual = [by_both(there, target)[0], by_both(alike, target)[1]]
            pairs = list(zip(expected, actual, strict=True))
            figures = (
                math.sqrt(max(oracle.squared(a, x) for a, x in pairs)),
                max(oracle.entropy_gap(a, x) for a, x in pairs),
                float(any(set(a) - set(x) for a, x in pairs)),
            )
            worst[row[0]] = tuple(map(max, worst[row[0]], figures))
        means = [sum(column) / len(people) for column in zip(*worst.values(), strict=True)]
        told = [finding.distribution.weighted, finding.entropy.weighted, finding.ruled_out]
        assert told == pytest.approx(means, abs=1e-9)
        largest = max(figures[0] for figures in worst.values())
        assert finding.distribution.largest == pytest.approx(largest, abs=1e-9)


def test_all_columns_of_a_linked_release_leak_what_its_criteria_measure(tmp_path: Path) -> None:
    visits = [(n // 2, 20 + n % 7, ["flu", "gout", "HIV"][n * n % 3]) for n in range(40)]
    data = pd.DataFrame(visits, columns=["id", "age", "ill"])
    schema = sf.Schema(
        ["age"], "ill", person="id", rows="linked", hierarchies={"age": sf.intervals([4, 20])}
    )
    policy = sf.Policy([sf.KAnonymity(2)], anonymizer=sf.Mondrian(), suppression=0.2)
    release = sf.anonymize(sf.read(data, schema), policy, seed=1)
    (finding,) = sf.characterize(release).findings
    assert finding.k == release.groups.sizes.min()
    assert release.by_row is not None
    by_row = sf.DistributionLeakage(0.5).measure(release.by_row.groups.unreferenced()).value
    assert finding.distribution.largest >= by_row - 1e-9
    release.save(tmp_path / "out")
    again = sf.characterize(sf.read_release(tmp_path / "out", schema)).findings[0]
    assert (again.k, again.unique) == (finding.k, finding.unique)
    assert again.distribution.largest == pytest.approx(finding.distribution.largest)


def test_the_program_tells_people_of_rows(tmp_path: Path) -> None:
    policy = (
        '[schema]\nquasi = ["a"]\nsensitive = "s"\nperson = "id"\nrows = "{}"\n'
        '[[require]]\nkind = "k-anonymity"\nk = 2\n'
    )
    (tmp_path / "rows.csv").write_text("id,a,s\n1,x,u\n1,y,v\n2,x,v\n3,y,u\n")
    for rows in ("unlinked", "linked"):
        (tmp_path / f"{rows}.toml").write_text(policy.format(rows))
    for rows in ("unlinked", "linked"):
        policy_file = tmp_path / f"{rows}.toml"
        told = sfumato("characterize", tmp_path / "rows.csv", "--policy", policy_file)
        assert told.returncode == 0, told.stderr
        assert "3 people" in told.stdout


def test_individuals_of_linked_rows_are_refused() -> None:
    with pytest.raises(sf.InputError, match="linked rows are known together"):
        sf.characterize(table([tuple("1xxxx"), tuple("1yxxx")], LINKED), individuals=True)
