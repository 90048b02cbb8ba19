"""People in several groups count once, in every figure that is called people; else "at most"."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.adversaries.base import LIKELY, moved
from sfumato.adversaries.linkage.risks import linkage
from sfumato.adversaries.random_worlds import RandomWorlds
from sfumato.ledger.content import pack, unpack
from sfumato.release.release import as_it_stands
from sfumato.report.sections.threats import matrix
from sfumato.report.text import to_text
from tests.examples import few
from tests.table.beyond_memory import beyond

SCHEMA = sf.Schema(["x", "y"], "s", person="id")


@dataclass(frozen=True)
class Rows:
    """Rows of people, and what a reader with pen and paper makes of them."""

    rows: list[tuple[int, int, int, str]]

    def table(self) -> sf.Table:
        columns = zip(*self.rows, strict=True)
        named = dict(zip(("id", "x", "y", "s"), map(list, columns), strict=True))
        return sf.read(pa.table(named), SCHEMA)

    @property
    def people(self) -> set[int]:
        return {who for who, *_ in self.rows}

    @property
    def groups(self) -> dict[tuple[int, int], dict[int, set[str]]]:
        """Each group's people and the values each of them has there."""
        found: dict[tuple[int, int], dict[int, set[str]]] = defaultdict(lambda: defaultdict(set))
        for who, x, y, s in self.rows:
            found[x, y][who].add(s)
        return found

    def among(self, chosen: Any) -> set[int]:
        """The people of whom some group is chosen."""
        return {who for group, people in self.groups.items() if chosen(group) for who in people}


rows = st.lists(
    st.tuples(st.integers(1, 6), st.integers(0, 2), st.integers(0, 1), st.sampled_from("abc")),
    min_size=1,
    max_size=14,
).map(Rows)


@given(rows)
def test_linkage_counts_each_person_once(rows: Rows) -> None:
    found, size = linkage(as_it_stands(rows.table())), {g: len(p) for g, p in rows.groups.items()}
    everybody, risk = len(rows.people), found.prosecutor
    assert risk is not None
    assert found.people == everybody
    assert not risk.at_most
    highest = {
        who: max(1 / size[group] for group, people in rows.groups.items() if who in people)
        for who in rows.people
    }
    assert risk.mean == pytest.approx(sum(highest.values()) / everybody)
    assert risk.unique * everybody == pytest.approx(sum(r == 1 for r in highest.values()))
    assert risk.above[0] * everybody == pytest.approx(sum(r > 0.2 for r in highest.values()))
    top = max(highest.values())
    assert risk.at_highest * everybody == pytest.approx(sum(r == top for r in highest.values()))
    blind = np.array(1 / everybody)
    far = rows.among(lambda group: bool(moved(blind, np.array(1 / size[group]))))
    assert (risk.moved.number, risk.moved.at_most) == (len(far), False)
    for threat in found.threats():
        assert threat.people is None or threat.people.number <= everybody


@given(rows)
def test_beliefs_count_each_person_once(rows: Rows) -> None:
    groups = rows.groups
    places = sum(map(len, groups.values()))
    having = {s: sum(s in had for p in groups.values() for had in p.values()) for s in "abc"}

    def far(group: tuple[int, int], least: float = 0.0) -> bool:
        people = groups[group]
        after = np.array([sum(s in had for had in people.values()) / len(people) for s in "abc"])
        before = np.array([having[s] / places for s in "abc"])
        return bool((moved(before, after) & (after > least)).any())

    (threat,) = RandomWorlds(as_it_stands(rows.table()).groups).threats()
    assert threat.people is not None
    assert (threat.people.number, threat.people.at_most) == (len(rows.among(far)), False)
    assert f"likely than not of {len(rows.among(lambda g: far(g, LIKELY))):,}," in threat.learns


@given(rows, st.data())
def test_any_choice_of_groups_counts_each_person_once(rows: Rows, data: st.DataObject) -> None:
    release = as_it_stands(rows.table())
    groups = release.groups
    at = [tuple(int(v) for v in release.regions.describe(g).values()) for g in range(len(groups))]
    picked = data.draw(st.sets(st.sampled_from(at)))
    chosen = np.array([group in picked for group in at])
    truth = len(rows.among(picked.__contains__))
    assert groups.headcount(chosen).number == truth
    assert groups.take(np.flatnonzero(chosen)).people() == truth
    assert release.people == len(rows.people)
    number = np.arange(len(groups), dtype=np.int64) // 2
    assert groups.merge(number, int(number.max()) + 1).people() == len(rows.people)
    # Whoever holds the published file only, knows how many people there are and not who.
    kept = unpack(pack(release), "kept")
    told = kept.groups.headcount(chosen)
    assert truth <= told.number <= len(rows.people)
    assert told.at_most or told.number == truth
    assert kept.people == len(rows.people)


@settings(max_examples=few(30))
@given(rows)
def test_a_table_larger_than_memory_never_tells_fewer(rows: Rows) -> None:
    table = rows.table()
    known = linkage(as_it_stands(table))
    held = linkage(as_it_stands(beyond(table)))
    assert known.prosecutor is not None
    assert held.prosecutor is not None
    assert held.people == known.people
    for name in ("mean", "unique", "at_highest"):
        told, truth = getattr(held.prosecutor, name), getattr(known.prosecutor, name)
        assert told >= truth - 1e-12
        assert held.prosecutor.at_most or told == pytest.approx(truth)
    told, truth = held.prosecutor.moved, known.prosecutor.moved
    assert truth.number <= told.number <= held.people
    assert told.at_most or told.number == truth.number


FILE = Rows([(1, 0, 0, "a"), (1, 1, 0, "b"), (2, 0, 0, "b"), (3, 1, 1, "c"), (3, 2, 1, "c")])


def test_at_most_is_said_wherever_it_is_read() -> None:
    kept = unpack(pack(as_it_stands(FILE.table())), "kept")
    report = sf.audit(kept, [sf.KAnonymity(2)])
    row = next(row for row in matrix(report) if row.adversary == "prosecutor")
    assert row.people_at_most
    assert "at most" in str(row.people_told)
    told = next(
        one for one in json.loads(report.to_json())["threats"] if one["adversary"] == "prosecutor"
    )
    assert told["people_at_most"] is True
    assert json.loads(report.to_json())["linkage"]["prosecutor"]["at_most"] is True
    text = to_text(report.document(), 160)
    line = next(one for one in text.splitlines() if "prosecutor" in one and " whose row " in one)
    assert f"at most {row.people}" in line
    assert f"at most {row.people}" in report.to_markdown()


def test_a_table_at_hand_says_nothing_of_at_most() -> None:
    report = sf.audit(FILE.table(), [sf.KAnonymity(2)])
    assert report.summary.people == 3
    rows = [row for row in matrix(report) if row.people is not None]
    assert rows
    assert not any(row.people_at_most for row in rows)
    assert all(row.people <= 3 for row in rows)
    assert report.verdicts[0].note.startswith("3 of 4 groups, 2 people")


def test_a_person_on_rows_of_a_published_file_counts_once_by_wildcards_too() -> None:
    ages = ["1-5", "*", "6-9", "6-9"]
    published = pa.table({"id": [1, 1, 2, 3], "age": ages, "s": list("abca")})
    schema = sf.Schema(["age"], "s", person="id", hierarchies={"age": sf.intervals([5])})
    for matching in ("exact", "wildcard"):
        release = sf.read_release(published, schema, matching=matching)
        assert release.people == 3
        assert release.groups.people(np.ones(len(release.groups), dtype=bool)) == 3
