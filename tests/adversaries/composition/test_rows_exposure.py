"""Composition of releases whose rows are published one by one, against enumeration from the rows.

The oracle deals the published rows of every group to the rows that lie in it, in every way, and
keeps the values that the rows in question can have together.
"""

from __future__ import annotations

import json
from functools import cache
from itertools import chain, combinations, permutations, product
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.criteria.base import judge
from tests.examples import few
from tests.program import sfumato

AGES = sf.intervals([10, 20])
Row = tuple[str, int, str]  # whose, age, ill


def schema(**more) -> sf.Schema:
    told = {"quasi": ["age"], "sensitive": "ill", "person": "id", "rows": "unlinked"}
    return sf.Schema(**{**told, "hierarchies": {"age": AGES}, **more})


def release_of(rows: list[Row], level: int, **more) -> sf.Release:
    frame = pd.DataFrame(rows, columns=["id", "age", "ill"])
    return sf.generalize(sf.read(frame, schema(**more), threads=1), [level])


rows_ = st.lists(
    st.tuples(
        st.sampled_from("abcd"), st.sampled_from([20, 25, 31, 38]), st.sampled_from(["u", "v", "w"])
    ),
    min_size=2,
    max_size=5,
)
BIN = (1, 10, 20)  # how wide groups are at each level


def possible(rows: list[Row], level: int, mine: list[Row]) -> set[str]:
    """The values that all of `mine` may have, over every way to deal a release's rows."""
    return set(_possible(tuple(rows), level, tuple(mine)))


@cache
def _possible(rows: tuple[Row, ...], level: int, mine: tuple[Row, ...]) -> set[str]:
    left: set[str] | None = None
    for start in {row[1] // BIN[level] for row in mine}:
        values = [row[2] for row in rows if row[1] // BIN[level] == start]
        many = sum(row[1] // BIN[level] == start for row in mine)
        if many > len(values):
            return set()
        dealt = {way[0] for way in set(permutations(values, many)) if len(set(way)) == 1}
        left = dealt if left is None else left & dealt
    return left or set()


def fewest(
    new: list[Row], level: int, earlier: list[tuple[list[Row], int]], mine: list[Row]
) -> int:
    """The fewest values left over every choice of which of her rows is in which release.

    Those of `mine` that the new release lacks were suppressed, and may be in an earlier one.
    """
    shown = possible(new, level, [row for row in mine if row in new])
    best = len(shown)
    some = list(chain.from_iterable(combinations(mine, n) for n in range(len(mine) + 1)))
    for choice in product(some, repeat=len(earlier)):
        left = set(shown)
        for (rows, at), there in zip(earlier, choice, strict=True):
            if there:
                left &= possible(rows, at, list(there))
        if left:
            best = min(best, len(left))
    return best


def sets_of(rows: list[Row]) -> list[tuple[str, list[Row]]]:
    """Every row by itself, and all rows of somebody that say the same."""
    alike = [
        (who, [row for row in rows if row[0] == who and row[2] == value])
        for who, value in sorted({(row[0], row[2]) for row in rows})
    ]
    return [*((row[0], [row]) for row in rows), *alike]


@settings(max_examples=few(60))
@given(rows_, rows_, st.integers(0, 2), st.integers(0, 2), st.integers(1, 3))
def test_who_is_exposed_beside_an_earlier_release(new, other, level, at, most) -> None:
    """The earlier release is of other rows, some of them the same."""
    earlier = [*new[: len(new) // 2 + 1], *other[:2]]
    bound = sf.CompositionBound(0, 1 / most, release_of(earlier, at))
    verdict = judge(bound, release_of(new, level))
    exposed = {
        who for who, mine in sets_of(new) if fewest(new, level, [(earlier, at)], mine) <= most
    }
    people = {row[0] for row in new}
    assert verdict.measured == pytest.approx(len(exposed) / len(people))
    assert verdict.status == ("violated" if exposed else "holds")


@settings(max_examples=few(15))
@given(rows_, st.integers(1, 2), st.integers(1, 2))
def test_two_earlier_releases_and_the_ledger(new, level, most) -> None:
    before = [(new[:-1], 1), (new[1:], 2)]
    exposed = {who for who, mine in sets_of(new) if fewest(new, level, before, mine) <= most}
    release = release_of(new, level)
    earlier = [release_of(rows, at) for rows, at in before]
    verdict = judge(sf.CompositionBound(0, 1 / most, earlier), release)
    assert verdict.measured == pytest.approx(len(exposed) / len({row[0] for row in new}))


@settings(max_examples=few(20))
@given(rows_, rows_, st.integers(0, 1), st.integers(0, 2), st.integers(1, 3))
def test_rows_that_were_suppressed_are_looked_for_in_earlier_releases(
    rows, other, level, at, most
) -> None:
    def beside(row: Row) -> set[str]:
        return {who for who, age, _ in rows if age // BIN[level] == row[1] // BIN[level]}

    published = [row for row in rows if len(beside(row)) > 1]
    assume(published)
    earlier = [*rows[: len(rows) // 2 + 1], *other[:2]]
    frame = pd.DataFrame(rows, columns=["id", "age", "ill"])
    read = sf.read(frame, schema(), threads=1)
    release = sf.generalize(read, [level], [sf.KAnonymity(2)], suppression=1.0)
    verdict = judge(sf.CompositionBound(0, 1 / most, release_of(earlier, at)), release)
    exposed = {
        who
        for who, mine in sets_of(rows)
        if any(row in published for row in mine)
        and fewest(published, level, [(earlier, at)], mine) <= most
    }
    assert verdict.measured == pytest.approx(len(exposed) / len({row[0] for row in published}))


def one_row_each(rows: list[Row]) -> list[Row]:
    return list({row[0]: row for row in rows}.values())


@settings(max_examples=few(20))
@given(rows_, st.integers(0, 2), st.sampled_from(["all", "added"]), st.integers(0, 2))
def test_people_with_one_row_each_are_judged_as_ever(rows, level, counting, drop) -> None:
    rows = one_row_each(rows)
    plain = sf.Schema(quasi=["age"], sensitive="ill", hierarchies={"age": AGES})
    frame = pd.DataFrame(rows, columns=["id", "age", "ill"])
    single = [sf.generalize(sf.read(frame, plain), [at]) for at in (level, 1)]
    several = [release_of(rows, at) for at in (level, 1)]
    told = []
    for new, earlier in (single, several):
        bound = sf.CompositionBound(0.1, 0.5, earlier, counting=counting, drop=drop)
        verdict = judge(bound, new)
        told.append((verdict.status, verdict.measured))
    assert told[0] == told[1]


CHRONIC = [
    *[("a", 21, "HIV"), ("a", 35, "HIV")],
    *[("b", 22, "HIV"), ("b", 36, "flu"), ("c", 23, "flu"), ("c", 37, "gout")],
    *[("d", 24, "gout"), ("e", 38, "HIV")],
]


def test_rows_that_say_the_same_are_put_together() -> None:
    """Every group shows three values: of one row all are left, and of her two the same. An earlier
    release that lacks gout among the old and flu among the young leaves HIV."""
    new = release_of(CHRONIC, 1)
    before = [
        *[("a", 21, "HIV"), ("x", 22, "HIV"), ("x", 23, "gout")],
        *[("a", 35, "HIV"), ("x", 36, "flu"), ("y", 37, "HIV")],
    ]
    earlier = release_of(before, 1)
    bound = sf.CompositionBound(0, 1, earlier)
    verdict = judge(bound, new)
    assert verdict.status == "violated"
    assert verdict.measured == pytest.approx(1 / 5)
    alone = release_of(CHRONIC, 1, knows=1)
    by_row = judge(bound, alone)
    assert by_row.status == "holds"
    assert "1 people of 5" in verdict.note


def group_at(age: int, mine: str, others: str) -> list[Row]:
    """A row of hers, and one of somebody else's for every other value of its group."""
    own = [("p", age, mine)] if mine else []
    return [*own, *((f"{age}{value}", age + 1, value) for value in others)]


@pytest.mark.parametrize(("knows", "exposed"), [("all", 0), (3, 1), (2, 1), (1, 0)])
def test_who_knows_some_of_the_rows_that_say_the_same(
    knows, exposed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beside the earlier release two of her three rows leave one value, w; all three exclude that
    she is in it. Who knows two must not be told as fewer than there are."""
    new = [*group_at(20, "u", "wyz"), *group_at(30, "u", "wyt"), *group_at(40, "u", "yab")]
    before = [*group_at(20, "", "wz"), *group_at(30, "", "wt"), ("q", 51, "c"), ("q", 52, "c")]
    new = [*new, ("p", 53, "u"), ("r", 54, "y")] if knows == 3 else new
    mine = [row for row in new if row[0] == "p"]
    known = len(mine) if knows == "all" else knows
    some = chain.from_iterable(combinations(mine, n) for n in range(1, known + 1))
    judged = [list(mine)] if knows == "all" else [list(rows) for rows in some]
    left = min(fewest(new, 1, [(before, 1)], rows) for rows in judged)
    assert (left == 1) == bool(exposed)
    people = len({row[0] for row in new})
    bound = sf.CompositionBound(0, 1, release_of(before, 1, knows=knows))
    verdict = judge(bound, release_of(new, 1, knows=knows))
    assert verdict.measured == pytest.approx(exposed / people)
    monkeypatch.setattr("sfumato.adversaries.composition.rows_exposure._MOST_CHOICES", 1)
    unsure = judge(bound, release_of(new, 1, knows=knows))
    assert unsure.status == ("cannot_judge" if exposed else "holds")


def test_the_ledger_keeps_rows_and_checks_a_new_release(tmp_path: Path) -> None:
    ledger = sf.Ledger(tmp_path / "ledger.sqlite")
    before = release_of(CHRONIC[:6], 1)
    ledger.add(before, "first")
    (kept,) = ledger.releases()
    assert kept.groups.owners_unknown
    assert kept.groups.published_rows.tolist() == before.groups.published_rows.tolist()
    new = release_of(CHRONIC, 1)
    check = ledger.check(new, confidence=0.5)
    (finding,) = check.findings
    exposed = {
        who for who, mine in sets_of(CHRONIC) if fewest(CHRONIC, 1, [(CHRONIC[:6], 1)], mine) <= 2
    }
    alone = {who for who, mine in sets_of(CHRONIC) if fewest(CHRONIC, 1, [], mine) <= 2}
    assert (check.basis, finding.together) == ("people", (len(exposed), len(exposed)))
    assert finding.alone.number == len(alone)
    assert finding.people.number == 5
    new.save(tmp_path / "out")
    unknown = ledger.check(sf.read_release(tmp_path / "out", schema()))
    assert unknown.status == "could_not_judge"
    assert "whose are in which group" in unknown.findings[0].reason


def test_a_release_that_was_read_is_judged_with_its_table(tmp_path: Path) -> None:
    frame = pd.DataFrame(CHRONIC, columns=["id", "age", "ill"])
    table = sf.read(frame, schema())
    new, earlier = release_of(CHRONIC, 1), release_of(CHRONIC[:6], 1)
    bound = sf.CompositionBound(0, 0.5, earlier)
    here = judge(bound, new)
    new.save(tmp_path / "out")
    read = sf.read_release(tmp_path / "out", schema())
    unknown = judge(bound, read)
    assert unknown.status == "cannot_judge"
    assert "--table" in unknown.note
    (known,) = sf.audit(read, [bound], table=table).verdicts
    assert (known.status, known.measured) == (here.status, here.measured)


def test_searches_judge_finished_releases() -> None:
    rows = [(f"p{at // 2}", 20 + at, "uvw"[at % 3]) for at in range(36)]
    table = sf.read(pd.DataFrame(rows, columns=["id", "age", "ill"]), schema())
    earlier = release_of(rows[:24], 1)
    bound = sf.CompositionBound(0.2, 1, earlier)
    for maker in (sf.Mondrian(), sf.Lattice()):
        made = sf.anonymize(table, sf.Policy([sf.KAnonymity(2), bound], anonymizer=maker), seed=1)
        verdict = judge(bound, made)
        assert verdict.status == "holds"


def test_overlapping_groups_leave_it_open() -> None:
    """Her two rows fit different groups of the earlier release, which share one."""
    earlier = sf.read_release(
        pd.DataFrame(
            {"age": ["20-29", "20-29", "25-34", "25-34"], "ill": ["HIV", "flu", "HIV", "gout"]}
        ),
        sf.Schema(quasi=["age"], sensitive="ill"),
    )
    rows = [("a", 21, "HIV"), ("a", 26, "HIV"), ("b", 22, "flu"), ("c", 27, "gout")]
    new = release_of(rows, 1)
    verdict = judge(sf.CompositionBound(0, 0.5, earlier), new)
    loose = judge(sf.CompositionBound(1, 0.5, earlier), new)
    assert verdict.status in ("cannot_judge", "violated")
    assert loose.status == "holds"


def test_the_attack_tells_everybody_by_her_worst_row() -> None:
    earlier_rows = [("a", 21, "HIV"), ("x", 22, "flu"), ("y", 35, "gout"), ("z", 36, "gout")]
    new, earlier = release_of(CHRONIC, 1), release_of(earlier_rows, 1)
    table = sf.read(pd.DataFrame(CHRONIC, columns=["id", "age", "ill"]), schema())
    attack = sf.intersection_attack([new, earlier], table, "ill")
    left = {
        who: min(
            len(possible(CHRONIC, 1, [row]) & possible(earlier_rows, 1, [row]))
            for row in CHRONIC
            if row[0] == who
        )
        for who in "abcde"
    }
    assert sorted(attack.targets.column("after").to_pylist()) == sorted(left.values())
    assert attack.summary.people == 5
    assert attack.summary.exposed == sum(many == 1 for many in left.values())
    assert "the value of a row: everybody by the row" in attack.notes[-1]
    rows = sf.intersection_attack([new, earlier], [{"age": 21}, {"age": 35}])
    assert rows.targets.column("after").to_pylist() == [2, 1]
    assert "a target is one row" in rows.notes[-1]
    assert (attack.summary.unit, rows.summary.unit) == ("people", "rows")
    (threat,) = rows.threats()
    assert "of 2 rows" in threat.learns
    assert threat.people is not None
    assert threat.people.at_most
    with pytest.raises(sf.InputError, match="'nearest'"):
        sf.intersection_attack([new, earlier], table, locate="oracle")


def test_the_ledger_refuses_rows_of_people_who_are_given(tmp_path: Path) -> None:
    ledger = sf.Ledger(tmp_path / "ledger.sqlite")
    ledger.add(release_of(CHRONIC[:6], 1), "first")
    table = sf.read(pd.DataFrame(CHRONIC, columns=["id", "age", "ill"]), schema())
    for given_ in (table, [{"age": 21}]):
        with pytest.raises(sf.InputError, match="people it was made of"):
            ledger.check(release_of(CHRONIC, 1), given_)


def test_the_program_reads_whose_rows_the_targets_are(tmp_path: Path) -> None:
    for name, rows in (("new", CHRONIC), ("earlier", CHRONIC[:6])):
        release_of(rows, 1).save(tmp_path / name)
    frame = pd.DataFrame(CHRONIC, columns=["id", "age", "ill"])
    frame.to_csv(tmp_path / "both.csv", index=False)
    frame.drop(columns="id").to_csv(tmp_path / "rows.csv", index=False)
    sf.Policy([sf.KAnonymity(2)], schema=schema()).save(tmp_path / "policy.toml")
    policy, folders = tmp_path / "policy.toml", (tmp_path / "new", tmp_path / "earlier")
    for file, many in (("both.csv", 5), ("rows.csv", 8)):
        asked = ("--targets", tmp_path / file, "--policy", policy, "--json")
        told = sfumato("attack", "intersect", *folders, *asked)
        assert told.returncode == 0, told.stderr
        facts = json.loads(told.stdout)["facts"]
        assert (facts["people"], facts["of_rows"]) == (many, file == "rows.csv")
        words = sfumato("attack", "intersect", *folders, *asked[:-1]).stdout
        told_of, other = ("rows", "people") if file == "rows.csv" else ("people", "rows")
        assert f"quasi-identifiers of {many} {told_of}" in words
        assert f"{told_of} located" in words
        assert f"{other} located" not in words
