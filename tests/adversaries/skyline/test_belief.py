"""Particular knowledge: what is believed is what every world says; the paper's opening example."""

from __future__ import annotations

import random
from collections import Counter
from fractions import Fraction
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.adversaries.skyline import worlds as worlds_module
from sfumato.adversaries.skyline.belief import beliefs
from sfumato.errors import InputError, ResourceError
from tests.adversaries.skyline.tiny_releases import (
    CASES,
    LABELS,
    compare_with_worlds,
    groups_of,
    tinies,
)
from tests.examples import few
from tests.oracles import belief_oracle
from tests.oracles.skyline_oracle import Tiny
from tests.oracles.whole_rows_oracle import random_rows

# Figs 1 to 3 of the paper: the patients, and the release that Alice reads.
PATIENTS = [
    ("Ann", 20, "F", "12345", "AIDS"),
    ("Bob", 24, "M", "12342", "flu"),
    ("Cary", 23, "F", "12344", "flu"),
    ("Dick", 27, "M", "12343", "AIDS"),
    ("Ed", 35, "M", "12412", "flu"),
    ("Frank", 34, "M", "12433", "cancer"),
    ("Gary", 31, "M", "12453", "flu"),
    ("Tom", 38, "M", "12455", "AIDS"),
]
SCHEMA = sf.Schema(
    ["age", "sex", "zip"],
    "disease",
    identifiers=["name"],
    domains={"zip": "categorical"},
    hierarchies={"age": sf.intervals([10]), "sex": sf.suppression(), "zip": sf.mask()},
)
PEOPLE = {name: {"age": age, "sex": sex, "zip": zip_} for name, age, sex, zip_, _ in PATIENTS}
LEARNT = ["not cancer", "Gary has flu", "if Ann has AIDS so has he"]


def patients() -> sf.Table:
    columns = zip(
        ("name", "age", "sex", "zip", "disease"), zip(*PATIENTS, strict=True), strict=True
    )
    return sf.read(pa.table({name: list(values) for name, values in columns}), SCHEMA)


def published() -> sf.Release:
    return sf.generalize(patients(), {"age": 1, "sex": 1, "zip": 2})


def test_the_papers_opening_example() -> None:
    release = published()
    assert sorted(release.groups.sizes) == [4, 4]
    told = beliefs(release, "Tom", "AIDS", LEARNT, people=PEOPLE)
    assert told == [Fraction(1, 4), Fraction(1, 3), Fraction(1, 2), Fraction(2, 3)]
    assert [belief.knowing for belief in told][1:] == [
        "target lacks cancer",
        "Gary has flu",
        "if Ann has AIDS then he has AIDS",
    ]
    facts = [
        sf.Lacks("Tom", "cancer"),
        sf.Has(PEOPLE["Gary"], "flu"),
        sf.Implies(sf.Has(1, "AIDS"), sf.Has("Tom", "AIDS")),
    ]
    table = patients()
    assert sf.belief(release, "Tom", "AIDS", facts, people=PEOPLE, table=table) == Fraction(2, 3)
    assert sf.belief(release, 8, "AIDS", facts, people={"Tom": 8}, table=table) == Fraction(2, 3)


# -- against every world ---------------------------------------------------------------------------


def worlds_of(tiny: Tiny, fact: sf.Has | sf.Lacks | sf.Implies) -> int:
    """The worlds in which a fact is so; people go by (group, place)."""
    if isinstance(fact, sf.Implies):
        return tiny.every & ~worlds_of(tiny, fact.given) | worlds_of(tiny, fact.then)
    group, place = str(fact.person).split(".")
    having = tiny.has[(int(group), int(place)), LABELS.index(fact.value)]
    return having if isinstance(fact, sf.Has) else tiny.every & ~having


def compare(tiny: Tiny, groups: sf.Groups, target: str, value: str, facts: list) -> None:
    people = {f"{g}.{place}": {"group": g} for g, place in tiny.people}
    known = tiny.every
    for fact in facts:
        known &= worlds_of(tiny, fact)
    group, place = target.split(".")
    truth = tiny.chance((int(group), int(place)), LABELS.index(value), known)
    if truth is None:
        with pytest.raises(InputError, match="cannot be so"):
            sf.belief(groups, target, value, facts, people=people)
    else:
        assert sf.belief(groups, target, value, facts, people=people) == truth


def statements(names: list[str], values: str) -> st.SearchStrategy:
    parts = st.sampled_from(names), st.sampled_from(values)
    return st.one_of(st.builds(sf.Has, *parts), st.builds(sf.Lacks, *parts))


@pytest.mark.parametrize("case", CASES)
@settings(max_examples=few(150))
@given(data=st.data())
def test_it_is_what_every_world_says(case, data) -> None:
    tiny = data.draw(tinies(case, people=8, worlds=1_000))
    names, values = [f"{g}.{place}" for g, place in tiny.people], LABELS[: tiny.width]
    statement = statements(names, values)
    implication = st.builds(sf.Implies, statement, statement)
    facts = data.draw(st.lists(st.one_of(statement, implication, implication), max_size=5))
    target, value = data.draw(st.sampled_from(names)), data.draw(st.sampled_from(values))
    compare(tiny, groups_of(tiny), target, value, facts)


def test_it_is_what_every_assignment_of_whole_lists_says() -> None:
    source = random.Random(7)
    for _ in range(150):
        rows = random_rows(source)
        names, values = [f"{g}.{place}" for g, place in rows.people], LABELS[: rows.width]

        def some(names=names, values=values) -> sf.Has | sf.Lacks:
            kind = source.choice([sf.Has, sf.Lacks])
            return kind(source.choice(names), source.choice(values))

        facts = [
            some() if source.random() < 0.4 else sf.Implies(some(), some())
            for _ in range(source.randint(0, 4))
        ]
        compare(rows, rows.published, source.choice(names), source.choice(values), facts)


@settings(max_examples=few(40))
@given(data=st.data())
def test_a_worst_case_told_as_facts_is_as_sure(data) -> None:
    """The worst grounding is one of the conjunctions of facts there are."""
    tiny = data.draw(tinies("single", people=8, worlds=1_000))
    groups = groups_of(tiny)
    worst = sf.worst_grounding(groups, "A", *data.draw(st.tuples(*[st.integers(0, 2)] * 3)))
    if worst.target is None:
        return
    facts = [sf.Lacks("target", value) for value in worst.facts]
    people: dict[str, object] = {}
    for value, n in worst.known_values:
        for _ in range(n):
            people[name := f"known {len(people)}"] = {"group": worst.known}
            facts.append(sf.Has(name, value))
    for _ in range(worst.members):
        people[name := f"relative {len(people)}"] = {"group": worst.family}
        facts.append(sf.Implies(sf.Has(name, "A"), sf.Has("target", "A")))
    told = sf.belief(groups, {"group": worst.target}, "A", facts, people=people)
    assert float(told) == pytest.approx(worst.confidence)


def test_groups_may_be_large_and_facts_many() -> None:
    """The people of whom something is known are gone through, not those of the groups."""
    groups = sf.Groups([[50_000, 30_000, 20_000], [10, 400, 90]], ["HIV", "flu", "cold"])
    people = {f"p{place}": {"group": place % 2} for place in range(60)}
    facts = [f"p{place} has {'flu' if place % 4 else 'cold'}" for place in range(40)]
    facts += [f"if p{place} has HIV so has he" for place in range(40, 60)]
    told = sf.belief(groups, {"group": 1}, "HIV", facts, people=people)
    here = Fraction(10, 480)  # ten of 20 whose values are known were of his group, and are not HIV
    assert told > here
    assert told == sf.belief(groups, {"group": 1}, "HIV", facts[::-1], people=people)


def test_the_limit_is_told(monkeypatch) -> None:
    groups = sf.Groups([[3] * 8, [3] * 8])
    people = {f"p{place}": {"group": place % 2} for place in range(16)}
    names = list(people)
    facts = [
        sf.Implies(sf.Has(names[at], str(at % 8)), sf.Has(names[(7 * at + 5) % 16], str(at % 5)))
        for at in range(16)
    ]
    monkeypatch.setattr(worlds_module, "MOST_STATES", 500)
    with pytest.raises(ResourceError, match="more than 500 ways"):
        sf.belief(groups, "p0", "0", facts, people=people)


# -- who they are ----------------------------------------------------------------------------------


def overlapping(tmp_path: Path) -> sf.Release:
    """Two groups that both fit somebody of 30 in 12453."""
    rows = "age,zip,disease\n" + "".join(
        f"{age},{zip_},{disease}\n"
        for age, zip_, diseases in (
            ('"[20, 31)"', "124**", ["flu", "flu", "AIDS", "cold"]),
            ('"[30, 40)"', "124**", ["AIDS", "AIDS", "cold"]),
        )
        for disease in diseases
    )
    (tmp_path / "release.csv").write_text(rows)
    schema = sf.Schema(["age", "zip"], "disease", domains={"zip": "categorical"})
    return sf.read_release(tmp_path / "release.csv", schema)


def test_who_fits_several_groups_is_told_within_bounds(tmp_path: Path) -> None:
    release = overlapping(tmp_path)
    assert not release.disjoint
    both = sf.belief(release, {"age": 30, "zip": "12453"}, "AIDS")
    assert both.at_most
    assert (both.least, both) == (Fraction(1, 4), Fraction(2, 3))
    assert str(both) == "1/4 to 2/3"
    alone = sf.belief(release, {"age": 35, "zip": "12453"}, "AIDS")
    assert (alone, alone.at_most) == (Fraction(2, 3), False)
    # What is left out is unknown; what only one group can have settles where he is.
    assert sf.belief(release, {"zip": "12453"}, "AIDS").least == Fraction(1, 4)
    flu = sf.belief(release, {"zip": "12453"}, "AIDS", ["if he lacks flu then he has AIDS"])
    assert (flu.least, flu) == (Fraction(1, 3), Fraction(1))


def test_buckets_list_their_people(tmp_path: Path) -> None:
    ages = {1: [20, 20, 30], 2: [40, 41, 42]}
    pairs = [f"{age},{bucket}\n" for bucket, listed in ages.items() for age in listed]
    (tmp_path / "quasi.csv").write_text("age,gid\n" + "".join(pairs))
    values = [f"{bucket},{value}\n" for bucket in ages for value in "ABC"]
    (tmp_path / "sensitive.csv").write_text("gid,disease\n" + "".join(values))
    files = (tmp_path / "quasi.csv", tmp_path / "sensitive.csv")
    release = sf.read_release(files, sf.Schema(["age"], "disease"), group="gid")
    assert sf.belief(release, {"age": 20}, "A") == Fraction(1, 3)
    people = {"Al": {"age": 20}, "Bo": {"age": 20}, "Cy": {"age": 20}}
    facts = [f"{name} lacks A" for name in people]
    assert sf.belief(release, {"age": 30}, "A", facts[:2], people=people) == 1
    with pytest.raises(InputError, match="has not so many people"):
        sf.belief(release, {"age": 30}, "A", facts, people=people)


@pytest.mark.parametrize(
    ("target", "value", "facts", "words"),
    [
        (
            "Tom",
            "AIDS",
            ["Gary has flue"],
            "'flue' is not a value of 'disease'; did you mean 'flu'",
        ),
        ("Tom", "AIDS", ["Garry has flu"], "nobody is called 'Garry'; did you mean 'Gary'?"),
        ("Tom", "AIDS", ["Gary flu"], "a fact 'Gary flu' is not understood; write 'not VALUE'"),
        ("Tom", "AIDS", [""], "a fact '' is not understood"),
        ("Tom", "AIDS", "not cancer", "must be a list of facts"),
        ("Tom", "AIDS", ["he has cancer", "Gary has cancer"], "'Gary has cancer' contradicts"),
        ("Tom", "AIDS", ["Ann has cancer"], "'Ann has cancer' contradicts the release; take"),
        ("#3", "AIDS", [], "#3 is a record of a table; give the table too"),
        ({"age": 99}, "AIDS", [], "age=99 fits no group of the release"),
        ({"agge": 38}, "AIDS", [], "'agge' is not a quasi-identifier of"),
        (3.5, "AIDS", [], "3.5 is nobody; give a name"),
        ("age", "AIDS", [], "nobody is called 'age'"),
        ("Tom", "AIDS", [sf.Implies("Ann", "Tom")], "takes two facts"),
    ],
)
def test_mistakes_are_one_line(target, value, facts, words) -> None:
    with pytest.raises(InputError) as refused:
        sf.belief(published(), target, value, facts, people=PEOPLE)
    assert words in str(refused.value)
    assert "\n" not in str(refused.value)


def test_more_people_than_a_group_has_cannot_be(tmp_path: Path) -> None:
    names = {f"n{place}": {"age": 35, "zip": "12400"} for place in range(4)}
    facts = [f"{name} lacks flu" for name in names]
    with pytest.raises(InputError, match="has not so many people"):
        sf.belief(overlapping(tmp_path), "n0", "AIDS", facts, people=names)


def test_words_inside_values_do_not_mislead() -> None:
    groups = sf.Groups([[1, 1, 2]], ["has not then", "so has he", "not ill"])
    told = sf.belief(groups, {"group": 0}, "so has he", ["not not ill"])
    assert told == Fraction(1, 2)
    facts = ["if a has has not then then b has so has he", "a has has not then"]
    people = {"a": {"group": 0}, "b": {"group": 0}}
    assert sf.belief(groups, "b", "so has he", facts, people=people) == 1


@pytest.mark.parametrize(("number", "words"), [(0, "record 0 is not there"), (9, "no record 9")])
def test_a_record_that_is_not_there_is_refused(number: int, words: str) -> None:
    with pytest.raises(InputError, match=f"{words}; the first one is 1"):
        sf.belief(published(), number, "AIDS", table=patients())


# -- releases that list people, or whose regions overlap, by every world ---------------------------


@pytest.mark.parametrize("case", ["single", "set", "multiset"])
@settings(max_examples=few(60))
@given(seed=st.integers(0, 10**6))
def test_buckets_by_every_world(case: str, seed: int) -> None:
    """Who is known by age, by sex or by both; in buckets of one value each, and of bags."""
    chance, values = random.Random(seed), "ABC"
    schema = sf.Schema(
        ["age", "sex"],
        "ill",
        several="set" if case == "single" else case,
        lists={} if case == "single" else {"ill": ";"},
        count="count",
    )
    quasi, sensitive, groups = [], [], []
    for bucket in range(chance.randint(1, 2)):
        listed = [
            {"age": chance.choice([20, 30]), "sex": chance.choice("FM")}
            for _ in range(chance.randint(2, 3))
        ]
        counts = {value: chance.randint(0, len(listed)) for value in values}
        if case == "single":
            counts = Counter(chance.choice(values) for _ in listed)
        elif sum(counts.values()) in (0, len(listed)):
            counts = {**counts, "A": 1, "B": 1, "C": len(listed)}
        quasi += [{"gid": bucket, **person} for person in listed]
        sensitive += [{"gid": bucket, "ill": value, "count": n} for value, n in counts.items() if n]
        worlds = belief_oracle.single(list(Counter(counts).elements()))
        if case != "single":
            worlds = belief_oracle.bag(len(listed), counts, repeated=case == "multiset")
        groups.append(belief_oracle.Slots(listed, worlds))
    pair = pa.Table.from_pylist(quasi), pa.Table.from_pylist(sensitive)
    release = sf.read_release(pair, schema, group="gid")
    assert release.groups.case == case
    people: dict[str, dict[str, object]] = {}
    for name in ("Ann", "Bob", "Cy")[: chance.randint(1, 3)]:
        whole = chance.choice(quasi)
        known = chance.choice([("age",), ("sex",), ("age", "sex")])
        people[name] = {column: whole[column] for column in known}
    fits = {
        name: lambda slot, known=known: all(slot[column] == known[column] for column in known)
        for name, known in people.items()
    }
    compare_with_worlds(release, groups, people, fits, "".join(release.groups.values), chance)
