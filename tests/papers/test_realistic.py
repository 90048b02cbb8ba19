"""The 72-node experiment: shapes, containments, and nodes recomputed by hand from the rows."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import pyarrow.csv as pa_csv
import pytest

import sfumato as sf
from sfumato.datasets.census import MARITAL, census
from sfumato.papers import reproduce
from sfumato.papers.realistic_lattice import SIX, written
from sfumato.report.document import Document
from tests.program import sfumato

CENSUS, ADULT, ACS = "Census", "Adult", "ACS"


@pytest.fixture(scope="module")
def on_census() -> Document:
    return reproduce("realistic")


@pytest.fixture(scope="module")
def on_data(data_folder: Path) -> Document:
    return reproduce("realistic", data_folder)


def facts(exhibit: Document, name: str) -> dict[str, Any]:
    found = exhibit.facts[name]
    assert isinstance(found, dict)
    return found


def node(exhibit: Document, name: str, levels: str) -> dict[str, Any]:
    (found,) = [one for one in facts(exhibit, name)["nodes"] if one["node"] == levels]
    return found


def check_shapes(exhibit: Document, name: str) -> None:
    """What must be so on any table, by theorem, and what the paper says of its figures."""
    found = facts(exhibit, name)
    assert found["heights"] == [6, 3, 2, 2]
    assert len({one["node"] for one in found["nodes"]}) == 72
    assert list(found["claims"].values())[:6] == [True] * 6  # what 4.1 says of growth
    nodes = {letter: set(allowed) for letter, allowed in found["definitions"].items()}
    assert all("[5,2,1,1]" in nodes[letter] for letter in ("C", "Ac"))
    assert nodes["D"] == nodes["Ad"]  # c = 4 is epsilon = 2.5
    equivalence = section(exhibit, f"{name}: (c,2)-diversity").tables[0]
    assert [row[-1] for row in equivalence.rows] == [0] * 7
    assert [row[2] for row in equivalence.rows] == sorted(row[2] for row in equivalence.rows)
    diverse = {row[0]: row[2] for row in equivalence.rows}
    assert diverse[4.0] == len(nodes["D"])
    for one in found["nodes"]:
        told = one["epsilon"]
        assert told["A_- 1e3"] <= told["A_- 1e6"]
        assert told["A_d 1e6"] <= told["A_d inf"] * (1 + 1e-12)


def section(exhibit: Document, start: str) -> Any:
    (found,) = [one for one in exhibit.sections if one.title.startswith(start)]
    return found


# -- by hand, as the formulas are printed in the specification ------------------------------------


def smallest(groups: list[Counter[str]], table: Counter[str], who: str) -> float:
    """The smallest epsilon of a node with these counts in its groups."""
    shape, printed = SIX[who]
    sigma = printed if printed == math.inf else Fraction(printed * table.total() / 2.7e6)
    worst = Fraction(1)
    for counts in groups:
        size = counts.total()
        for value, a in counts.items():
            if a == size:
                return math.inf
            p = Fraction(1, 2) if shape == "uniform" else Fraction(table[value], table.total())
            if sigma == math.inf:
                raised, cleared = a / (size * p), (1 - p) * size / (size - a)
            else:
                s = p * sigma if shape is not None else Fraction(1)
                last = size + sigma - 1
                raised = a * last / (size * (a + s - 1))
                cleared = Fraction(size) * (size - a + sigma - s) / ((size - a) * last)
            worst = max(worst, raised, cleared)
    return float(worst)


def check_node(
    exhibit: Document,
    name: str,
    levels: str,
    rows: list[tuple[Any, ...]],
    label: Callable[..., Any],
) -> None:
    """Rows are quasi-identifiers and class; `label` is what the node shows of one."""
    groups: dict[Any, Counter[str]] = {}
    for *quasi, value in rows:
        groups.setdefault(label(*quasi), Counter())[value] += 1
    table = sum(groups.values(), Counter())
    found = node(exhibit, name, levels)
    assert found["groups"] == len(groups)
    assert found["smallest group"] == min(one.total() for one in groups.values())
    for who, measured in found["epsilon"].items():
        assert measured == pytest.approx(smallest([*groups.values()], table, who), rel=1e-12)
    squares = sum(one.total() ** 2 for one in groups.values())
    assert found["costs"]["discernibility"] == squares
    assert found["costs"]["average-group-size"] == pytest.approx(len(rows) / len(groups))


# -- the census -----------------------------------------------------------------------------------


def test_shapes_on_the_census(on_census: Document) -> None:
    check_shapes(on_census, CENSUS)
    assert "synthetic people stand in" in on_census.about
    assert "10,000 people" in on_census.about
    assert list(on_census.facts) == [CENSUS]


@pytest.mark.parametrize(
    ("levels", "label"),
    [
        ("[5,1,1,0]", lambda age, marital, education, sex: (MARITAL[marital][1], sex)),
        ("[4,2,1,1]", lambda age, marital, education, sex: age // 40),
        ("[5,0,0,1]", lambda age, marital, education, sex: (marital, education)),
        ("[5,2,1,1]", lambda *quasi: ()),
    ],
)
def test_nodes_by_hand(on_census: Document, levels: str, label) -> None:
    columns = [census()[name].to_pylist() for name in ("age", "marital", "education", "sex")]
    classes = [str(income >= 25_000) for income in census()["income"].to_pylist()]
    check_node(on_census, CENSUS, levels, list(zip(*columns, classes, strict=True)), label)


def test_the_picture_has_every_node_and_is_told_in_words(on_census: Document) -> None:
    (picture,) = section(on_census, "Census: five definitions").charts
    places = [spot for one in picture.series for spot in zip(one.x, one.y, strict=True)]
    assert len(places) == len(set(places)) == 72
    texts = [text for one in picture.series for text in one.text]
    assert sorted(text.split()[0] for text in texts) == sorted(
        one["node"].strip("[]").replace(",", "") for one in facts(on_census, CENSUS)["nodes"]
    )
    for letter, allowed in facts(on_census, CENSUS)["definitions"].items():
        named = {text.split()[0] for text in texts if letter in text.split()[1:]}
        assert named == {one.strip("[]").replace(",", "") for one in allowed}
    assert "[5,2,1,1] D Ad C Ac A-" in picture.alt


def test_costs_never_fall_with_stubbornness(on_census: Document) -> None:
    for sheet in section(on_census, "Census: utility").tables:
        assert [row[0] for row in sheet.rows] == ["1e3", "1e4", "1e5", "1e6", "inf"]
        for column in (1, 3, 5):
            costs = [math.inf if row[column] is None else row[column] for row in sheet.rows]
            assert costs == sorted(costs)
        assert sheet.rows[-1][5] is None  # endless and of any shape: no node holds


def test_quick_tries_fewer_and_another_seed_draws_other_people(on_census: Document) -> None:
    quick = reproduce("realistic", quick=True, seed=1)
    assert len(section(quick, "Census: node [5,1,1,0]").tables[0].rows) == 3
    check_shapes(quick, CENSUS)
    assert facts(quick, CENSUS)["shares"] != facts(on_census, CENSUS)["shares"]


def test_containment_is_told_for_every_two_definitions(on_census: Document) -> None:
    (sheet,) = section(on_census, "Census: which definition").tables
    nodes = {k: set(v) for k, v in facts(on_census, CENSUS)["definitions"].items()}
    assert len(sheet.rows) == 10
    for first, relation, second, both, only_first, only_second in sheet.rows:
        one, other = nodes[first], nodes[second]
        assert (both, only_first, only_second) == (
            len(one & other),
            len(one - other),
            len(other - one),
        )
        assert (relation == "more useful") == (one > other)
        assert (relation == "equal") == (one == other)


def test_words() -> None:
    assert [written(sigma) for sigma in (1e2, 1e6, 1e12, math.inf)] == ["1e2", "1e6", "1e12", "inf"]
    assert sf.epsilon_of_closeness(0.2, [0.75, 0.25]) == pytest.approx(5)
    assert sf.epsilon_of_closeness(0.2, [0.9, 0.1]) == math.inf  # nothing follows from closeness


# -- the public data ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [ADULT, ACS])
def test_shapes_on_public_data(on_data: Document, name: str) -> None:
    check_shapes(on_data, name)
    assert "synthetic" not in on_data.about
    assert facts(on_data, name)["people"] == {ADULT: 30_162, ACS: 23_006}[name]


def test_nodes_of_adult_by_hand(on_data: Document, data_folder: Path) -> None:
    rows = pa_csv.read_csv(
        data_folder / "adult" / "adult.csv", parse_options=pa_csv.ParseOptions(delimiter=";")
    )
    names = ("age", "marital-status", "race", "sex", "salary-class")
    people = list(zip(*(rows[name].to_pylist() for name in names), strict=True))
    with_spouse = {"Married-civ-spouse", "Married-AF-spouse"}
    check_node(on_data, ADULT, "[5,1,1,0]", people, lambda _, m, __, sex: (m in with_spouse, sex))
    check_node(on_data, ADULT, "[3,2,1,1]", people, lambda age, *rest: age // 20)
    check_node(on_data, ADULT, "[0,0,0,0]", people, lambda *quasi: quasi)


def test_a_node_of_acs_by_hand(on_data: Document, data_folder: Path) -> None:
    rows = pa_csv.read_csv(data_folder / "acs2019" / "national.csv")
    rows = rows.filter(pc.not_equal(rows["PINCP"].cast("string"), "N"))
    columns = [rows[name].to_pylist() for name in ("AGEP", "MSP", "RAC1P", "SEX")]
    classes = [str(float(income) >= 50_000) for income in rows["PINCP"].to_pylist()]
    once = {"1": "is", "2": "is", "6": "never"}
    check_node(
        on_data,
        ACS,
        "[4,1,1,0]",
        list(zip(*columns, classes, strict=True)),
        lambda age, status, race, sex: (age // 40, once.get(str(status), "was"), sex),
    )


# -- the command ----------------------------------------------------------------------------------


def test_the_command_prints_and_saves(tmp_path: Path) -> None:
    run = sfumato("reproduce", "realistic", "--quick", "--out", tmp_path / "out", "--json")
    assert run.returncode == 0, run.stderr
    printed = json.loads(run.stdout)
    assert printed == json.loads((tmp_path / "out" / "result.json").read_text())
    assert all(len(study["nodes"]) == 72 for study in printed["facts"].values())
    page = (tmp_path / "out" / "page.html").read_text()
    assert "smallest epsilon of nodes (Table 5)" in page
    assert not (tmp_path / "out" / "private").exists()
