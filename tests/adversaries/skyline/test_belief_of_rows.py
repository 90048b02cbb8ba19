"""Facts about particular people who have several rows, against every world there is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import permutations, product

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf

Row = tuple[str, int, str]  # whose, with which quasi-identifier, and value
Having = dict[str, frozenset[str]]  # what each person has in any row
VALUES = "abc"


def frame(rows: Sequence[Row]) -> pa.Table:
    columns = zip(*rows, strict=True)
    return pa.table(
        {name: list(column) for name, column in zip(("who", "g", "ill"), columns, strict=True)}
    )


def schema(rows: str) -> sf.Schema:
    return sf.Schema(["g"], "ill", person="who", rows=rows, hierarchies={"g": sf.intervals([2, 4])})


def row_worlds(rows: Sequence[Row], group_of: Callable[[int], int]) -> Iterator[Having]:
    """Every assignment of a group's values to its rows, rows being told apart."""
    groups = sorted({group_of(row[1]) for row in rows})
    places = [[at for at, row in enumerate(rows) if group_of(row[1]) == g] for g in groups]
    for dealt in product(*(permutations([rows[at][2] for at in some]) for some in places)):
        values = {
            at: value
            for some, given in zip(places, dealt, strict=True)
            for at, value in zip(some, given, strict=True)
        }
        yield {
            who: frozenset(values[at] for at, row in enumerate(rows) if row[0] == who)
            for who in {row[0] for row in rows}
        }


def list_worlds(rows: Sequence[Row], group_of: Callable[[int], int]) -> Iterator[Having]:
    """Every assignment of whole lists to the people who share a signature."""
    people = sorted({row[0] for row in rows})
    shown = {
        who: tuple(sorted(group_of(row[1]) for row in rows if row[0] == who)) for who in people
    }
    lists = {who: frozenset(row[2] for row in rows if row[0] == who) for who in people}
    signatures = sorted(set(shown.values()))
    alike = [[who for who in people if shown[who] == signature] for signature in signatures]
    for dealt in product(*(permutations([lists[who] for who in some]) for some in alike)):
        yield {
            who: had
            for some, given in zip(alike, dealt, strict=True)
            for who, had in zip(some, given, strict=True)
        }


def so(fact: sf.Has | sf.Lacks | sf.Implies, owner: Sequence[str], world: Having) -> bool:
    """Whether a fact about owners of records is so."""
    if isinstance(fact, sf.Implies):
        return not so(fact.given, owner, world) or so(fact.then, owner, world)
    has = fact.value in world[owner[int(fact.person) - 1]]
    return has if isinstance(fact, sf.Has) else not has


def drawn_facts(rng: np.random.Generator, records: int) -> list[sf.Has | sf.Lacks | sf.Implies]:
    def statement() -> sf.Has | sf.Lacks:
        kind = (sf.Has, sf.Lacks)[int(rng.integers(2))]
        return kind(int(rng.integers(records)) + 1, VALUES[int(rng.integers(3))])

    return [
        sf.Implies(statement(), statement()) if rng.random() < 0.6 else statement()
        for _ in range(int(rng.integers(0, 4)))
    ]


@pytest.mark.parametrize("level", [0, 1])
@pytest.mark.parametrize("kind", ["unlinked", "linked"])
def test_everybody_is_believed_as_all_worlds_say(kind: str, level: int) -> None:
    compared = impossible = 0
    for seed in range(20):
        rng = np.random.default_rng([seed, level])
        people = [f"p{who}" for who in range(3) for _ in range(int(rng.integers(1, 4)))][:6]
        rows = [(who, int(rng.integers(0, 4)), VALUES[int(rng.integers(3))]) for who in people]
        table = sf.read(frame(rows), schema(kind))
        release = table if level == 0 else widened(table, rows)
        group_of = (lambda value: value) if level == 0 else (lambda value: value // 2)
        worlds = list((row_worlds if kind == "unlinked" else list_worlds)(rows, group_of))
        facts, target = drawn_facts(rng, len(rows)), int(rng.integers(len(rows))) + 1
        value = str(rng.choice(sorted({row[2] for row in rows})))
        left = [world for world in worlds if all(so(fact, people, world) for fact in facts)]
        shown = {row[2] for row in rows}
        if not {part.value for fact in facts for part in parts_of(fact)} <= shown:
            continue  # of a value that nobody has nothing can be asked
        if not left:
            impossible += 1
            with pytest.raises(sf.InputError, match="cannot be so"):
                sf.belief(release, target, value, facts, table=table)
            continue
        believed = sf.belief(release, target, value, facts, table=table)
        having = [world for world in left if value in world[people[target - 1]]]
        assert believed == Fraction(len(having), len(left)), (rows, facts, target, value)
        assert not believed.at_most
        compared += 1
    assert compared >= 8


def parts_of(fact: sf.Has | sf.Lacks | sf.Implies) -> tuple[sf.Has | sf.Lacks, ...]:
    return (fact.given, fact.then) if isinstance(fact, sf.Implies) else (fact,)


def widened(table: sf.Table, rows: Sequence[Row]) -> sf.Release:
    """Every row's quasi-identifier widened to a pair of them."""
    if table.schema.rows == "unlinked":
        return sf.generalize(table, {"g": 1})
    shown = [(who, f"[{g // 2 * 2}, {g // 2 * 2 + 2})", value) for who, g, value in rows]
    return sf.read_release(frame(shown), table.schema)


ROWS: list[Row] = [
    ("p0", 0, "a"),
    ("p0", 2, "b"),
    ("p1", 0, "b"),
    ("p1", 2, "a"),
    ("p2", 0, "c"),
    ("p2", 0, "b"),
    ("p3", 2, "c"),
]


def test_somebody_is_told_by_rows_or_by_a_record_of_hers() -> None:
    table = sf.read(frame(ROWS), schema("unlinked"))
    both = [{"g": 0}, {"g": 2}]
    either = 1 - Fraction(3, 4) * Fraction(2, 3)  # one of four rows says a, and one of three
    for target in (both, "g=0; g=2", 1, "#2"):
        assert sf.belief(table, target, "a") == either, target
    assert sf.belief(table, {"g": 0}, "a") == Fraction(1, 4)
    assert sf.belief(table, both, "a").by_row == ((0,), (1,))
    # Two records of one person are one person, and lack it in all of her rows.
    assert sf.belief(table, "#1", "a", ["#2 lacks a"]) == 0
    told = sf.belief(table, "Ann", "a", ["Bob has a"], people={"Ann": both, "Bob": "#5"})
    assert told == sf.belief(table, "#1", "a", ["#6 has a"])
    unknown = sf.belief(table, {}, "a")  # a row of which nothing is known may be in both groups
    assert (unknown.least, Fraction(unknown)) == (Fraction(1, 4), Fraction(1, 3))


def test_who_knows_some_linked_rows_faces_every_signature_that_contains_them() -> None:
    table = sf.read(frame(ROWS), schema("linked"))
    # Alike are p0 and p1, who both have a and b; p2 has c and b, p3 has c alone.
    assert sf.belief(table, "#1", "c") == 0
    assert sf.belief(table, [{"g": 0}, {"g": 2}], "a") == 1
    one = sf.belief(table, {"g": 0}, "c")
    assert (one.least, Fraction(one)) == (0, 1)
    assert sf.belief(table, [{"g": 0}, {"g": 0}], "c") == 1
    assert sf.belief(table, 7, "c").fits == sf.belief(table, "#7", "a").fits
    with pytest.raises(sf.InputError, match="fits no group"):
        sf.belief(table, [{"g": 0}, {"g": 0}, {"g": 0}], "c")


@pytest.mark.parametrize("kind", ["linked", "unlinked"])
def test_a_column_of_a_row_may_be_unknown(kind: str) -> None:
    places = {"who": ["p0", "p0", "p1", "p1"], "g": [0, 2, 0, 2], "town": ["x", "y", "x", "y"]}
    data = pa.table({**places, "ill": ["a", "b", "b", "c"]})
    table = sf.read(data, sf.Schema(["g", "town"], "ill", person="who", rows=kind))
    whole = [{"g": 0, "town": "x"}, {"g": 2, "town": "y"}]
    for value in "abc":
        expected = sf.belief(table, whole, value)
        assert sf.belief(table, "g=0; town=y", value) == expected


def test_what_cannot_be_asked_of_rows_is_told_in_a_line() -> None:
    table = sf.read(frame(ROWS), schema("unlinked"))
    with pytest.raises(sf.InputError, match="fits no group"):
        sf.belief(table, [{"g": 0}, {"g": 3}], "a")
    with pytest.raises(sf.InputError, match="has no record 9"):
        sf.belief(table, "#9", "a")
    with pytest.raises(sf.InputError, match="has not so many rows"):
        sf.belief(table, [{"g": 2}] * 4, "a")
    plain = sf.read(frame(ROWS), sf.Schema(["g"], "ill"))
    with pytest.raises(sf.InputError, match="told by several rows"):
        sf.belief(plain, [{"g": 0}, {"g": 2}], "a")
