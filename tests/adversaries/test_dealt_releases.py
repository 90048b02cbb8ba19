"""Overlapping regions: what each adversary makes of a dealt release is no less than she can.

Deal's groups may share places: somebody may fit several. Here everybody's possible places are
counted out from the published file alone, and what an adversary can then believe is compared with
what the tool says she does. It may say more, where it lets her know which group is whose; it may
not say less.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import combinations, permutations, product
from math import log2, prod
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.adversaries.leakage.observer import Observer
from sfumato.anonymizers.base import Task
from sfumato.criteria.base import Criterion, judge
from tests.adversaries.skyline.tiny_releases import compare_with_worlds
from tests.oracles import belief_oracle
from tests.oracles.published import (
    Shown,
    all_placements,
    allows,
    fitting,
    placements,
    read_groups,
)
from tests.oracles.relative_oracle import Urns, enumerate_beliefs, region_worlds

QUASI, ILLS = ("age", "town"), ("flu", "gout", "cold")
AGES, TOWNS = (20, 30, 40, 50), ("bonn", "kiel", "ulm")
REQUIRE = (sf.KAnonymity(2), sf.DistinctDiversity(2))
SCHEMA = sf.Schema(quasi=list(QUASI), sensitive="ill")


@dataclass(frozen=True)
class Case:
    """A dealt release, the same one read from its folder, and what its file tells."""

    people: list[dict[str, object]]
    table: sf.Table
    release: sf.Release
    read: sf.Release
    groups: list[Shown]
    fits: list[list[int]]

    @property
    def sizes(self) -> list[int]:
        return [len(group) for group in self.groups]

    def places(self) -> list[list[Fraction]]:
        return placements(self.sizes, self.fits)


def rows_of(seed: int, count: int) -> list[dict[str, object]]:
    """Neighbours share illnesses, and everybody has a double: ends may be told."""
    chance = Random(seed)
    rows: list[dict[str, object]] = []
    while len(rows) < count:
        age, town = chance.choice(AGES), chance.choice(TOWNS)
        for _ in range(2):
            ill = ILLS[(AGES.index(age) + chance.choice([0, 0, 1, 2])) % 3]
            rows.append({"age": age, "town": town, "ill": ill})
    return rows


def dealt(tmp_path: Path, rows: list[dict[str, object]], require: Sequence[Criterion]) -> Case:
    table = sf.read(pa.Table.from_pylist(rows), SCHEMA)
    release = sf.Deal(sweeps=2).run(Task(table, tuple(require)))
    folder = tmp_path / "dealt"
    release.save(folder)
    groups = read_groups(folder, QUASI)
    fits = [fitting(groups, QUASI, row) for row in rows]
    assert all(fits)
    return Case(rows, table, release, sf.read_release(folder, SCHEMA), groups, fits)


@pytest.fixture(scope="module")
def overlapping(tmp_path_factory: pytest.TempPathFactory) -> Callable[[int], list[Case]]:
    """Dealt releases of so many people in which somebody fits several groups."""

    @cache
    def find(count: int) -> list[Case]:
        found: list[Case] = []
        for seed in range(60):
            try:
                case = dealt(tmp_path_factory.mktemp("dealt"), rows_of(seed, count), REQUIRE)
            except sf.NoSafeRelease:
                continue
            if any(len(own) > 1 for own in case.fits):
                assert not case.release.disjoint
                assert not case.read.disjoint
                found.append(case)
            if len(found) == 3:
                return found
        raise AssertionError("hardly a release overlaps")

    return find


Overlapping = Callable[[int], list[Case]]


def test_linkage_prosecutor_and_marketer(overlapping: Overlapping) -> None:
    for case in overlapping(10):
        rows = [
            chance / size
            for person in case.places()
            for chance, size in zip(person, case.sizes, strict=True)
        ]
        # A marketer names somebody for every row; no way of naming is right more often than this.
        most = sum(
            max(person[place] for person in case.places()) for place in range(len(case.groups))
        )
        for release in (case.release, case.read):
            found = sf.linkage(release)
            assert found.prosecutor is not None
            assert found.prosecutor.highest >= float(max(rows))
            assert found.marketer is not None
            assert found.marketer * len(case.people) >= most - 1e-9


def test_linkage_journalist_and_k_map_with_a_register(overlapping: Overlapping) -> None:
    chance = Random(5)
    for case in overlapping(10):
        more = [
            {"age": chance.choice(AGES), "town": chance.choice(TOWNS), "ill": "flu"}
            for _ in range(5)
        ]
        everybody = case.people + more
        population = sf.read(pa.Table.from_pylist(everybody), SCHEMA)
        fits = [fitting(case.groups, QUASI, row) for row in everybody]
        chances = placements(case.sizes, fits, sampled=True)
        risks = {
            group.cells: max(person[place] for person in chances) / len(group)
            for place, group in enumerate(case.groups)
        }
        for release in (case.release, case.read):
            found = sf.linkage(release, population=population)
            assert found.journalist is not None
            for place, told in enumerate(found.journalist.per_group):
                cells = tuple(release.regions.describe(place).values())
                assert told >= float(risks[cells]) - 1e-12
            verdict = judge(sf.KMap(3, population), release)
            if max(risks.values()) > Fraction(1, 3):
                assert not verdict.holds


def test_a_register_that_leaves_one_person_is_not_taken_for_many() -> None:
    """Four in Bonn are all taken by the group of Bonn: the row beside it can only be Ulm's."""
    shown = pa.table({"town": [*["bonn"] * 4, "{bonn, ulm}"], "ill": ["flu", "cold"] * 2 + ["flu"]})
    schema = sf.Schema(quasi=["town"], sensitive="ill", domains={"town": ["bonn", "ulm"]})
    release = sf.read_release(shown, schema)
    register = sf.read(pa.table({"town": ["bonn"] * 4 + ["ulm"], "ill": ["flu"] * 5}), schema)
    assert not release.disjoint
    found = sf.linkage(release, population=register)
    assert found.journalist is not None
    assert found.journalist.highest == 1
    assert any("overlap" in note for note in found.notes)
    assert not judge(sf.KMap(4, register), release).holds
    as_release = sf.read_release(
        pa.table({"town": ["bonn"] * 4 + ["ulm"], "ill": ["flu"] * 5}), schema
    )
    assert not judge(sf.KMap(4, as_release), release).holds


def test_random_worlds_and_the_observer(overlapping: Overlapping) -> None:
    """What somebody reads who does not know the group is between what the groups show."""
    for case in overlapping(10):
        table = Counter(str(row["ill"]) for row in case.people)
        expected = {ill: Fraction(table[ill], len(case.people)) for ill in table}
        spread = -sum(float(p) * log2(p) for p in expected.values())
        (attack,) = (Observer().attack(case.read).leakage,)
        for person in case.places():
            shown = {
                ill: sum(
                    (
                        chance * group.counts()[ill] / len(group)
                        for chance, group in zip(person, case.groups, strict=True)
                    ),
                    Fraction(0),
                )
                for ill in table
            }
            squared = sum((shown[ill] - expected[ill]) ** 2 for ill in table)
            assert attack.squared.max() >= float(squared) - 1e-12
            surer = spread + sum(float(p) * log2(p) for p in shown.values() if p)
            assert attack.entropy.max() >= surer - 1e-12
            distance = sum((abs(shown[ill] - expected[ill]) for ill in table), Fraction(0)) / 2
            gain = max((shown[ill] - expected[ill]) / expected[ill] for ill in table)
            groups = case.read.groups
            assert sf.TCloseness(0.5).measure(groups).value >= float(distance) - 1e-12
            assert sf.BetaLikeness(1).measure(groups).value >= float(gain) - 1e-12
        # Group by group it is what the definition says.
        worst = max(
            sum(
                ((Fraction(group.counts()[ill], len(group)) - expected[ill]) ** 2 for ill in table),
                Fraction(0),
            )
            for group in case.groups
        )
        assert attack.squared.max() == pytest.approx(float(worst))


def test_realistic_adversaries(overlapping: Overlapping) -> None:
    """Class I, uniform shape: belief with and without the target, over all places she may have."""
    stubborn = 9
    weight = Fraction(stubborn, len(ILLS))
    bound = sf.EpsilonPrivacy(100, sf.RealisticAdversary("uniform", stubborn, at_most=False))
    for case in overlapping(10):
        if len(case.release.groups.values) < len(ILLS):
            continue
        measured = Fraction(bound.measure(case.read.groups).value).limit_denominator(10**9)
        for number, person in enumerate(case.places()):
            own = str(case.people[number]["ill"])
            for ill in ILLS:
                inside = outside = Fraction(0)
                for chance, group in zip(person, case.groups, strict=True):
                    if not chance or not group.counts()[own]:
                        continue
                    many, having = len(group), group.counts()[ill]
                    # Left out, the target's own value is missing from the group she would be in.
                    without = having - (ill == own)
                    inside += chance * Fraction(having, many)
                    outside += chance * (without + weight) / (many - 1 + stubborn)
                if ill == own:
                    assert inside <= measured * outside * (1 + Fraction(1, 10**8))
                    total = sum(
                        chance
                        for chance, group in zip(person, case.groups, strict=True)
                        if group.counts()[own]
                    )
                    doubt = (total - outside, total - inside)
                    assert doubt[0] <= measured * doubt[1] * (1 + Fraction(1, 10**8))


def test_intersection_attack_and_composition(overlapping: Overlapping, tmp_path: Path) -> None:
    for number, case in enumerate(overlapping(10)):
        other = sf.Mondrian(regions="tight").run(Task(case.table, (sf.KAnonymity(4),)))
        folder = tmp_path / f"other{number}"
        other.save(folder)
        theirs = read_groups(folder, QUASI)
        attack = sf.intersection_attack([case.read, sf.read_release(folder, SCHEMA)], case.people)
        told = attack.targets.to_pylist()
        exposed = 0
        for row, person, own in zip(told, case.people, case.fits, strict=True):
            masses = [
                sum((groups[place].counts() for place in places), Counter())
                for groups, places in (
                    (case.groups, own),
                    (theirs, fitting(theirs, QUASI, person)),
                )
            ]
            both = set(masses[0]) & set(masses[1])
            weights = {ill: prod(mass[ill] for mass in masses) for ill in both}
            assert set(row["values"]) == both
            assert row["confidence"] == pytest.approx(1 / len(both))
            belief = dict(zip(row["values"], row["posterior"], strict=True))
            for ill, w in weights.items():
                assert belief[ill] == pytest.approx(w / sum(weights.values()))
            exposed += len(both) == 1
        # The bound lets her know the target's group, and which releases she is in.
        bound = judge(sf.CompositionBound(1.0, 1, [other]), case.release)
        assert bound.measured is not None
        assert bound.measured * len(case.people) >= exposed - 1e-9
        again = judge(sf.CompositionBound(0.0, 1, [other]), case.read)
        if exposed:
            assert not again.holds


def test_skyline(overlapping: Overlapping) -> None:
    """Every world that the file allows, everything she may know: no point is breached further."""
    for case in overlapping(6):
        worlds = list(worlds_of(case))
        for point in ((0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 0)):
            for ill in sorted({one for group in case.groups for one in group.counts()}):
                breach = most_sure(worlds, ill, point)
                for release in (case.release, case.read):
                    told = sf.breach_probability(release.groups, ill, *point)
                    assert float(told) >= float(breach) - 1e-12


def worlds_of(case: Case) -> Iterator[tuple[str, ...]]:
    """Everybody's value, in every way in which the groups' rows may be theirs."""
    for places in all_placements(case.sizes, case.fits):
        members = [[n for n, at in enumerate(places) if at == g] for g in range(len(case.groups))]
        dealings = [list(permutations([ill for (ill,) in group.people])) for group in case.groups]
        for dealing in product(*dealings):
            world = [""] * len(places)
            for who, values in zip(members, dealing, strict=True):
                for person, ill in zip(who, values, strict=True):
                    world[person] = ill
            yield tuple(world)


def most_sure(worlds: list[tuple[str, ...]], ill: str, point: tuple[int, int, int]) -> Fraction:
    """The largest P(target has it | knowledge): l values the target lacks, k others' values, m
    people who have it only if the target has."""
    lacks, known, family = point
    tally = Counter(worlds)
    values = sorted({one for world in tally for one in world})
    people = range(len(next(iter(tally))))
    worst = Fraction(0)
    for target in people:
        others = [person for person in people if person != target]
        for ruled_out in combinations([one for one in values if one != ill], lacks):
            for informed in combinations(others, known):
                rest = [person for person in others if person not in informed]
                for kin in combinations(rest, family):
                    for learnt in product([one for one in values if one != ill], repeat=known):
                        both = sure = 0
                        for world, times in tally.items():
                            if world[target] in ruled_out:
                                continue
                            if any(world[p] != v for p, v in zip(informed, learnt, strict=True)):
                                continue
                            if world[target] != ill and any(world[p] == ill for p in kin):
                                continue
                            both += times
                            sure += times * (world[target] == ill)
                        if both:
                            worst = max(worst, Fraction(sure, both))
    return worst


def test_what_is_believed_of_somebody(overlapping: Overlapping) -> None:
    """Of whom more or less is known, wherever the groups that she fits leave her."""
    chance = Random(3)
    for case in overlapping(10):
        groups = [
            belief_oracle.Slots(
                [{"cells": group.cells}] * len(group),
                belief_oracle.single([ill for (ill,) in group.people]),
            )
            for group in case.groups
        ]
        for _ in range(6):
            people = {
                name: {
                    column: row[column]
                    for column in chance.choice((QUASI, QUASI, QUASI[:1], QUASI[1:]))
                }
                for name, row in zip(("Ann", "Bob"), chance.sample(case.people, 2), strict=True)
            }

            def fits(known: dict[str, object]) -> Callable[[Mapping[str, Any]], bool]:
                places = [QUASI.index(column) for column in known]
                return lambda slot: all(
                    allows(slot["cells"][place], known[QUASI[place]]) for place in places
                )

            able = {name: fits(known) for name, known in people.items()}
            for release in (case.release, case.read):
                values = [value for value in ILLS if value in release.groups.values]
                facts = Random(chance.random())
                compare_with_worlds(release, groups, people, able, values, facts)


def test_relative_threat(overlapping: Overlapping) -> None:
    """Learner and attacker, by every table that the file allows."""
    for case in overlapping(6):
        ages = sorted({int(str(row["age"])) for row in case.people})
        towns = sorted({str(row["town"]) for row in case.people})
        ills = sorted({str(row["ill"]) for row in case.people})
        rows = [
            (
                ills.index(ill),
                [
                    [n for n, age in enumerate(ages) if _age_fits(group, age)],
                    [n for n, town in enumerate(towns) if _town_fits(group, town)],
                ],
            )
            for group in case.groups
            for (ill,) in group.people
        ]
        urns = Urns.even(len(ills), [len(ages), len(towns)])
        victims = [
            (ages.index(int(str(p["age"]))), towns.index(str(p["town"]))) for p in case.people
        ]
        asked = [{victim: Fraction(1)} for victim in victims]
        beliefs = enumerate_beliefs(region_worlds(rows), urns, asked)
        found = sf.relative_threat(case.release, seed=1)
        for person, belief in zip(case.people, beliefs, strict=True):
            who = {name: person[name] for name in QUASI}
            for which, told in (("attacker", found.attacker(who)), ("learner", found.learner(who))):
                error = 0.02 if found.status != "exact" else 1e-9
                for ill, share in zip(ills, belief.shares(which), strict=True):
                    assert told[ill] == pytest.approx(float(share), abs=error)


def _age_fits(group: Shown, age: int) -> bool:
    return bool(fitting([Shown((group.cells[0],), ())], ["age"], {"age": age}))


def _town_fits(group: Shown, town: str) -> bool:
    return bool(fitting([Shown((group.cells[1],), ())], ["town"], {"town": town}))
