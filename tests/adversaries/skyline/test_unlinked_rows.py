"""Facts about people whose rows are published one by one, against every assignment of values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, permutations, product
from pathlib import Path
from shutil import copytree

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.adversaries.skyline.acquaintance import exposed_people
from sfumato.adversaries.skyline.unlinked_rows import rows_breach

Row = tuple[str, int, str]  # whose, in which group, with which value
POINTS = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 0), (0, 1, 1), (0, 2, 0), (2, 0, 1)]


def table(rows: list[Row], knows: int | str = "all") -> sf.Table:
    data = {"who": [row[0] for row in rows], "g": [row[1] for row in rows]}
    schema = sf.Schema(["g"], "ill", person="who", rows="unlinked", knows=knows)
    return sf.read(pa.table({**data, "ill": [row[2] for row in rows]}), schema)


def bounded(rows: list[Row], value: str, point: tuple[int, int, int], knows: int | str) -> object:
    release = sf.generalize(table(rows, knows), {"g": 0})
    groups = release.groups
    code = np.array([groups.values.index(value)])
    return rows_breach(release, groups, code, np.array([point]))


def worlds(rows: list[Row]) -> Iterator[tuple[str, ...]]:
    """The value of every row, in every way of giving a group's values to its rows."""
    groups = sorted({row[1] for row in rows})
    places = {group: [at for at, row in enumerate(rows) if row[1] == group] for group in groups}
    ways = [sorted(set(permutations(rows[at][2] for at in places[group]))) for group in groups]
    for chosen in product(*ways):
        given = [""] * len(rows)
        for group, values in zip(groups, chosen, strict=True):
            for at, value in zip(places[group], values, strict=True):
                given[at] = value
        yield tuple(given)


def surest(
    rows: list[Row], value: str, point: tuple[int, int, int], knows: int | str, *, by_row: bool
) -> Fraction:
    """The surest that facts make anybody, by trying all of them."""
    facts, others, family = point
    everything = list(worlds(rows))
    people = sorted({row[0] for row in rows})
    mine = {who: [at for at, row in enumerate(rows) if row[0] == who] for who in people}
    different = sorted({row[2] for row in rows} - {value})
    best = Fraction(0)
    for target in people:
        many = (
            1 if by_row else len(mine[target]) if knows == "all" else min(knows, len(mine[target]))
        )
        rest = [who for who in people if who != target]
        for known in combinations(mine[target], many):
            for some in combinations(rest, min(others, len(rest))):
                left = [who for who in rest if who not in some]
                for kin in combinations(left, min(family, len(left))):
                    for away in combinations(different, min(facts, len(different))):
                        best = max(
                            best,
                            *believed(
                                everything,
                                value,
                                known,
                                [mine[w] for w in some],
                                [mine[w] for w in kin],
                                away,
                                by_row=by_row,
                            ),
                        )
    return best


def believed(
    everything: list[tuple[str, ...]],
    value: str,
    known: tuple[int, ...],
    others: list[list[int]],
    kin: list[list[int]],
    away: tuple[str, ...],
    *,
    by_row: bool,
) -> list[Fraction]:
    """What she believes by such facts, for each that may be true."""
    counted: dict[tuple[str, ...], list[int]] = {}
    for world in everything:
        has = any(world[at] == value for at in known)
        if any(world[at] in away for at in known) and not has:
            continue
        if not has and any(world[at] == value for rows in kin for at in rows):
            continue
        told = tuple(world[at] for rows in others for at in rows)
        if not by_row:
            if value in told:
                continue
            told = ()
        entry = counted.setdefault(told, [0, 0])
        entry[0] += has
        entry[1] += 1
    return [Fraction(has, all_) for has, all_ in counted.values()] or [Fraction(0)]


def drawn(seed: int) -> list[Row]:
    rng = np.random.default_rng(seed)
    rows: list[Row] = []
    for who in range(int(rng.integers(3, 5))):
        for _ in range(int(rng.integers(1, 4))):
            rows.append((f"p{who}", int(rng.integers(0, 2)), "abc"[int(rng.integers(0, 3))]))
    return rows[:8]


@pytest.mark.parametrize("seed", range(9))
def test_nobody_becomes_surer_than_is_told(seed: int) -> None:
    rows = drawn(seed)
    reached = 0
    for point in POINTS:
        knows: int | str = ("all", 1, 2)[seed % 3]
        for value in sorted({row[2] for row in rows}):
            found = bounded(rows, value, point, knows)
            most = float(found.surest[0])
            truth = float(
                max(surest(rows, value, point, knows, by_row=by_row) for by_row in (False, True))
            )
            assert truth <= most + 1e-12, (rows, value, point, knows)
            if found.exact[0] and most < 1:
                assert truth == pytest.approx(most), (rows, value, point, knows)
                reached += 1
    assert reached


def above(point: tuple[int, ...]) -> set[tuple[int, ...]]:
    """What is known with one fact more."""
    return {tuple(n + (at == axis) for at, n in enumerate(point)) for axis in range(3)}


@pytest.mark.parametrize("seed", [1, 4, 6])
def test_the_skyline_is_what_the_criterion_says_of_every_point(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = [
        (f"p{who}", int(rng.integers(0, 2)), "aabbc"[int(rng.integers(0, 5))])
        for who in range(7)
        for _ in range(int(rng.integers(1, 3)))
    ]
    release, value, steps = sf.generalize(table(rows), {"g": 0}), "a", range(5)
    found = sf.knowledge_skyline(release, value, 0.8)
    safe = {
        point
        for point in product(steps, steps, steps)
        if sf.audit(release, [sf.SkylinePrivacy([(*point, 0.8)], value)]).holds
    }
    assert safe  # and none at the rim: the box holds all there is
    assert max(max(point) for point in safe) < steps[-1]
    maximal = sorted(point for point in safe if not safe & above(point))
    assert list(found.points) == maximal
    assert found.case == "rows"
    assert found.bounds == tuple(max(point[axis] for point in maximal) for axis in range(3))
    assert not found.cut
    for point in POINTS:
        code = np.array([release.groups.values.index(value)])
        by_criterion = rows_breach(release, release.groups, code, np.array([point]))
        told = sf.breach_probability(release, value, *point)
        assert (float(told), told.at_most) == (by_criterion.surest[0], not by_criterion.exact[0])
        grounding = sf.worst_grounding(release, value, *point)
        assert grounding.confidence == by_criterion.certainty[grounding.target, 0] == told
        assert grounding.at_most == told.at_most
        (exposed,) = exposed_people(release, value, [point], 0.8)
        groups = np.flatnonzero(by_criterion.certainty[:, 0] >= 0.8)
        assert exposed.number == len({row[0] for row in rows if row[1] in groups})
    with pytest.raises(sf.InputError, match="not of its groups alone"):
        sf.knowledge_skyline(release.groups, value, 0.8)
    with pytest.raises(sf.InputError, match="case = 'single' is asked for"):
        sf.breach_probability(release, value, 0, 0, 0, "single")


@pytest.mark.parametrize("point", [(0, 0, 0), (1, 0, 0), (0, 1, 0), (2, 2, 0), (1, 3, 0)])
def test_people_with_one_row_each_are_judged_as_single_values(point: tuple[int, int, int]) -> None:
    rng = np.random.default_rng(1)
    rows = [(f"p{at}", at % 3, "aabbbcd"[int(rng.integers(0, 7))]) for at in range(60)]
    plain = sf.generalize(
        sf.read(
            pa.table({"g": [row[1] for row in rows], "ill": [row[2] for row in rows]}),
            sf.Schema(["g"], "ill"),
        ),
        {"g": 0},
    )
    for value in "abcd":
        expected = sf.breach_probability(plain, value, *point)
        assert float(bounded(rows, value, point, "all").surest[0]) == pytest.approx(expected)


def test_a_policy_may_ask_for_it_of_rows_published_one_by_one(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    rows = [
        (f"p{who}", int(rng.integers(0, 40)), "aaabbc"[int(rng.integers(0, 6))])
        for who in range(60)
        for _ in range(3)
    ]
    bound = sf.SkylinePrivacy([(0, 1, 0, 0.9)])
    schema = replace(table(rows).schema, hierarchies={"g": sf.intervals([5, 10, 20])})
    frame = pa.table(
        {name: [row[at] for row in rows] for at, name in enumerate(("who", "g", "ill"))}
    )
    for maker in (sf.Mondrian(), sf.Lattice()):
        policy = sf.Policy([sf.KAnonymity(3), bound], anonymizer=maker)
        release = sf.anonymize(sf.read(frame, schema), policy, seed=1)
        found = rows_breach(release, release.groups, np.arange(3), np.tile([0, 1, 0], (3, 1)))
        assert found.surest.max() < 0.9
        assert len(release.groups) > 1
        report = sf.audit(release, policy)
        assert report.holds
        (threat,) = [one for one in report.threats if one.adversary == "acquaintance"]
        public = report.public()  # tells nothing that takes knowing whose rows they are
        assert not [one for one in public.every_threat if one.adversary == "acquaintance"]
        assert public.verdicts[1].measured is None
        assert report.promises()[1].get("measured") is None
        assert 0 < threat.belief.after <= found.surest.max()  # the one that moves most
        release.save(tmp_path / maker.name, policy=policy, report=report)
        assert sf.audit(sf.read_release(tmp_path / maker.name, schema), policy).holds
        copytree(tmp_path / maker.name / "public", tmp_path / f"{maker.name} alone")
        alone = sf.audit(sf.read_release(tmp_path / f"{maker.name} alone", schema), policy)
        assert [verdict.status for verdict in alone.verdicts][1] == "cannot_judge"
    strict = sf.audit(sf.read(frame, schema), [sf.SkylinePrivacy([(0, 1, 0, 0.3)])])
    assert [verdict.status for verdict in strict.verdicts] == ["violated"]
