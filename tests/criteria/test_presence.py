"""delta-presence: chances by enumerating every table that would be published alike."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import combinations

import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.adversaries.linkage.presence import presence
from sfumato.criteria.base import judge
from sfumato.release.release import as_it_stands
from tests.examples import few

NAMES = ["a", "b"]
Row = tuple[int, int]
PEOPLE = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 1)), min_size=2, max_size=7)
SCHEMA = sf.Schema(quasi=NAMES, hierarchies={name: sf.intervals([2]) for name in NAMES})


def table(rows: list[Row]) -> sf.Table:
    columns = {
        name: pa.array([row[place] for row in rows], pa.int64()) for place, name in enumerate(NAMES)
    }
    return sf.read(pa.table(columns), SCHEMA)


def shown(row: Row, levels: Row) -> Row:
    """What a node of the lattice publishes of somebody: values, pairs of them, or nothing."""
    first, second = (
        value if level == 0 else value // 2 if level == 1 else -1
        for value, level in zip(row, levels, strict=True)
    )
    return first, second


def chances(register: list[Row], drawn: int, levels: Row) -> list[Fraction]:
    """For everybody of the register: of the tables that are published alike, how many have her."""
    published = sorted(shown(row, levels) for row in register[:drawn])
    alike = [
        who
        for who in combinations(range(len(register)), drawn)
        if sorted(shown(register[place], levels) for place in who) == published
    ]
    return [
        Fraction(sum(place in who for who in alike), len(alike)) for place in range(len(register))
    ]


@st.composite
def studies(draw: st.DrawFn) -> tuple[list[Row], int]:
    """A register, and how many of its first people are in the table."""
    register = draw(PEOPLE)
    return register, draw(st.integers(1, len(register)))


@settings(max_examples=few(120), deadline=None)
@given(study=studies(), levels=st.tuples(*[st.integers(0, 2)] * 2), data=st.data())
def test_chances_are_those_of_all_tables_that_are_published_alike(study, levels, data) -> None:
    register, drawn = study
    made = sf.generalize(table(register[:drawn]), dict(zip(NAMES, levels, strict=True)))
    expected = chances(register, drawn, levels)
    found = presence(made.groups, table(register))
    assert found.highest == pytest.approx(float(max(expected)))
    assert found.lowest == pytest.approx(float(min(expected)))
    assert found.outside == sum(chance == 0 for chance in expected)
    bounds = sorted({Fraction(0), Fraction(1), *expected, Fraction(1, 3)})
    low = data.draw(st.sampled_from(bounds))
    high = data.draw(st.sampled_from([bound for bound in bounds if bound >= low and bound > 0]))
    rule = sf.DeltaPresence(float(low), float(high), table(register))
    exact = Fraction(str(float(low))), Fraction(str(float(high)))
    keeps = all(exact[0] <= chance <= exact[1] for chance in expected)
    assert judge(rule, made).holds == keeps


@settings(max_examples=few(40), deadline=None)
@given(study=studies(), low=st.sampled_from([0.0, 0.3]), high=st.sampled_from([0.5, 0.8]))
def test_the_lattice_finds_the_finest_that_is_safe(study, low: float, high: float) -> None:
    register, drawn = study
    assume(drawn < len(register))
    nodes = [(a, b) for a in range(3) for b in range(3)]
    bounds = Fraction(str(low)), Fraction(str(high))
    safe = [
        node
        for node in nodes
        if all(bounds[0] <= one <= bounds[1] for one in chances(register, drawn, node))
    ]
    # As the paper shows, whatever is coarser than a safe node is safe.
    assert all(
        other in safe for node in safe for other in nodes if other >= node and other[1] >= node[1]
    )
    rule = sf.DeltaPresence(low, high, table(register))
    policy = sf.Policy([rule], sf.Lattice(), utility="precision")
    if not safe:
        with pytest.raises(sf.NoSafeRelease):
            sf.anonymize(table(register[:drawn]), policy)
        return
    made = sf.anonymize(table(register[:drawn]), policy)
    levels = made.made.findings.levels  # type: ignore[union-attr]
    assert sum(levels.values()) == min(map(sum, safe))
    assert judge(rule, sf.anonymize(table(register[:drawn]), sf.Policy([rule], sf.Lattice()))).holds


@settings(max_examples=few(60), deadline=None)
@given(study=studies(), high=st.sampled_from([0.5, 0.6, 0.75]), share=st.sampled_from([0.3, 0.5]))
def test_with_suppression_the_lattice_finds_a_node_if_any_will_do(study, high, share) -> None:
    """Too high shares are suppressed, unless too many of those who fit no group are then known."""
    register, drawn = study
    assume(drawn < len(register))
    most = Fraction(str(high))

    def safe(levels: Row) -> bool:
        behind = Counter(shown(row, levels) for row in register)
        held = Counter(shown(row, levels) for row in register[:drawn])
        kept = {cell for cell, people in held.items() if Fraction(people, behind[cell]) <= most}
        gone = drawn - sum(held[cell] for cell in kept)
        outside = sum(people for cell, people in behind.items() if cell not in kept)
        if not kept or gone > Fraction(str(share)) * drawn:
            return False
        return outside == 0 or Fraction(gone, outside) <= most

    rule = sf.DeltaPresence(0, high, table(register))
    policy = sf.Policy([rule], sf.Lattice(), suppression=share)
    if any(safe((a, b)) for a in range(3) for b in range(3)):
        made = sf.anonymize(table(register[:drawn]), policy)
        assert judge(rule, made).holds
        assert safe(tuple(made.made.findings.levels.values()))  # type: ignore[arg-type,union-attr]
        return
    with pytest.raises(sf.NoSafeRelease):
        sf.anonymize(table(register[:drawn]), policy)


def test_another_node_is_taken_where_suppression_tells_who_was_left_out() -> None:
    """A finer node would suppress one of two people, the only one of the register left over."""
    register = [(2, 0), (0, 1), (2, 1), (2, 1)]
    rule = sf.DeltaPresence(0, 0.5, table(register))
    made = sf.anonymize(table(register[:2]), sf.Policy([rule], sf.Lattice(), suppression=0.5))
    assert judge(rule, made).holds
    assert made.suppressed == 0


def test_mondrian_keeps_the_upper_bound() -> None:
    register = table([(value, 0) for value in range(4) for _ in range(4)])
    study = table([(value, 0) for value in range(4) for _ in range(value)])
    rule = sf.DeltaPresence(0, 0.5, register)
    made = sf.anonymize(study, sf.Policy([rule], sf.Mondrian()), seed=1)
    assert judge(rule, made).holds
    with pytest.raises(sf.NoSafeRelease):
        sf.anonymize(study, sf.Policy([sf.DeltaPresence(0, 0.2, register)], sf.Mondrian()))


def test_suppressed_people_are_among_those_who_fit_no_group() -> None:
    """Everybody of one value is suppressed: whoever has it is in the table, and all know it."""
    register = table([(0, 0)] * 4 + [(3, 0)] * 2)
    study = table([(0, 0)] * 2 + [(3, 0)] * 2)
    rule = sf.DeltaPresence(0, 0.5, register)
    with pytest.raises(sf.NoSafeRelease, match="suppress fewer people"):
        sf.generalize(study, {"a": 0, "b": 2}, [rule], 0.5)
    more = table([(0, 0)] * 4 + [(3, 0)] * 2 + [(2, 0)] * 4)
    rule = sf.DeltaPresence(0, 0.5, more)
    made = sf.generalize(study, {"a": 0, "b": 2}, [rule], 0.5)
    assert made.suppressed == 2  # of the six who fit no group
    found = presence(made.groups, more, made.suppressed)
    assert (found.outside, found.suppressed) == (6, pytest.approx(1 / 3))
    assert judge(rule, made).holds


def test_where_regions_overlap_the_chance_is_an_upper_bound() -> None:
    from tests.adversaries.releases import release

    made = release(["a", "b"], [(((0, 2), 0), {"x": 1}), (((1, 3), 0), {"x": 1})])
    assert not made.disjoint
    register = table([(value, 0) for value in range(4)])
    verdict = judge(sf.DeltaPresence(0, 1, register), made)
    # She of value 1 fits both: 1/1 and 1/1, each of the groups having one who fits no other.
    assert (verdict.status, verdict.measured, verdict.at_most) == ("holds", 1.0, True)
    assert judge(sf.DeltaPresence(0.1, 1, register), made).status == "cannot_judge"


def test_where_regions_overlap_suppressed_people_may_fit_a_group() -> None:
    """Two of 24 people are published and 20 suppressed: most of whoever fits both are in it."""
    from tests.adversaries.releases import release

    made = release(["a", "b"], [(((0, 2), 0), {"x": 1}), (((1, 3), 0), {"x": 1})])
    register = table([(value, 0) for value in range(4) for _ in range(6)])
    assert judge(sf.DeltaPresence(0, 0.5, register), made).holds
    hiding = replace(made, suppressed=20)
    # Of 18 x 18 - 12 ways to place two people 17 + 17 publish her; else she is one of 20 of 22.
    published = Fraction(34, 312)
    truly = published + (1 - published) * Fraction(20, 22)
    verdict = judge(sf.DeltaPresence(0, 0.5, register), hiding)
    assert not verdict.holds
    assert verdict.measured is not None
    assert truly <= verdict.measured <= 1


def test_she_is_in_the_threat_matrix_where_there_is_a_register() -> None:
    register = table([(0, 0)] * 4 + [(3, 0)] * 2)
    study = as_it_stands(table([(0, 0)] * 2))
    report = sf.audit(study, [sf.KAnonymity(1)], population=register)
    (threat,) = (one for one in report.threats if one.adversary == "presence")
    assert threat.covered == ()
    assert threat.belief is not None
    assert (threat.belief.before, threat.belief.after) == (pytest.approx(1 / 3), 0.5)
    assert "surely not for 2 people" in threat.learns
    required = sf.audit(study, [sf.DeltaPresence(0, 0.5, register)])
    (threat,) = (one for one in required.threats if one.adversary == "presence")
    assert threat.covered == ("delta-presence",)
    assert required.holds


def test_policies_name_the_register(tmp_path) -> None:
    (tmp_path / "register.csv").write_text("a,b\n1,0\n2,1\n")
    path = tmp_path / "policy.toml"
    path.write_text(
        '[schema]\nquasi = ["a", "b"]\n\n[[require]]\nkind = "delta-presence"\nminimum = 0\n'
        'maximum = 0.5\npopulation = "register.csv"\n'
    )
    policy = sf.Policy.load(path)
    policy.save(tmp_path / "again.toml")
    assert sf.Policy.load(tmp_path / "again.toml").require == policy.require
