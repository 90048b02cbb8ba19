"""Composition of releases whose rows a pseudonym links, against enumeration from the rows.

The oracle takes, release by release, every pseudonym that shows the rows of a target and lays its
rows on hers in every order in which each looks as hers does. What all releases allow is kept, for
every choice of earlier releases that leaves something.
"""

from __future__ import annotations

from itertools import chain, combinations, permutations
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.criteria.base import judge
from tests.adversaries.composition.linked_visits import (
    VISITS,
    by_person,
    levels_,
    release_of,
    rows_,
    schema,
    some_cut,
    table_of,
)
from tests.examples import few
from tests.oracles.linked_composition_oracle import (
    Levels,
    Row,
    Shown,
    left_of,
    look,
    people_of,
)
from tests.program import sfumato


def signature(person: list[Row], levels: Levels) -> list[tuple[int, str]]:
    return sorted(look(row, levels) for row in person)


def published(rows: list[Row], levels: Levels, k: int) -> list[list[Row]]:
    people = by_person(rows)
    signatures = [signature(person, levels) for person in people]
    return [person for person in people if signatures.count(signature(person, levels)) >= k]


def allowed(shown: list[list[Row]], levels: Levels, mine: list[Row]) -> set[tuple[str, ...]]:
    """The values that the rows of `mine`, in order, may have."""
    return {
        tuple(row[3] for row in order)
        for person in shown
        if signature(person, levels) == signature(mine, levels)
        for order in permutations(person)
        if [look(row, levels) for row in order] == [look(row, levels) for row in mine]
    }


def counts(worlds: set[tuple[str, ...]]) -> list[int]:
    """How many lists, and how many values of each row."""
    return [
        len({tuple(sorted(world)) for world in worlds}),
        *(len(set(of)) for of in zip(*worlds, strict=True)),
    ]


def fewest(own, earlier) -> list[int]:
    best = counts(own)
    for choice in chain.from_iterable(combinations(earlier, n) for n in range(len(earlier) + 1)):
        left = set.intersection(own, *choice)
        if left:
            best = [min(pair) for pair in zip(best, counts(left), strict=True)]
    return best


@settings(max_examples=few(60))
@given(rows_, st.lists(levels_, min_size=2, max_size=3), st.integers(1, 2), st.integers(1, 3))
def test_who_is_exposed_beside_earlier_releases(rows, levels, k, most) -> None:
    shown = [published(rows, at, k) for at in levels]
    if not all(shown) or some_cut(rows, k):
        return
    earlier = [release_of(rows, at, k) for at in levels[1:]]
    verdict = judge(sf.CompositionBound(0, 1 / most, earlier), release_of(rows, levels[0], k))
    exposed = 0
    for mine in shown[0]:
        own, *others = (allowed(s, at, mine) for s, at in zip(shown, levels, strict=True))
        exposed += min(fewest(own, others)) <= most
    assert verdict.measured == pytest.approx(exposed / len(shown[0]))
    assert verdict.status == ("violated" if exposed else "holds")


@settings(max_examples=few(30))
@given(rows_, levels_, levels_, st.integers(1, 2), st.integers(1, 2))
def test_whom_the_new_release_adds_and_whom_it_narrows(rows, level, at, k, most) -> None:
    """Beside one earlier release: exposed before by what it leaves, a drop below either."""
    shown, before = published(rows, level, k), published(rows, at, k)
    if not shown or not before or some_cut(rows, k):
        return
    new, earlier = release_of(rows, level, k), release_of(rows, at, k)
    added = narrowed = 0
    for mine in shown:
        own, other = allowed(shown, level, mine), allowed(before, at, mine)
        left = counts(own & other) if own & other else counts(own)
        alone = counts(other) if other else [len(rows) + most] * len(left)
        added += any(now <= most < was for now, was in zip(left, alone, strict=True))
        drops = zip(counts(own), alone, left, strict=True)
        narrowed += bool(own & other) and any(min(one, two) > now for one, two, now in drops)
    verdict = judge(sf.CompositionBound(0, 1 / most, earlier, counting="added"), new)
    assert verdict.measured == pytest.approx(added / len(shown))
    verdict = judge(sf.CompositionBound(0, 0, earlier, drop=1), new)
    assert verdict.measured == pytest.approx(narrowed / len(shown))


@settings(max_examples=few(60))
@given(
    rows_,
    st.lists(levels_, min_size=2, max_size=3),
    st.integers(1, 2),
    st.sampled_from([1, 2, None]),
    st.sampled_from(["all", "added"]),
    st.integers(0, 2),
)
def test_every_world_is_tried(rows, levels, k, most, counting, drop) -> None:
    """Not laid out of what is published: each row is given each value there is."""
    shown = [Shown.of(rows, at, k) for at in levels]
    if some_cut(rows, k) or not all(release.pseudonyms for release in shown):
        return
    if most is None:  # however many are left of whoever drops
        drop = max(drop, 1)
    exposed = sum(
        any(
            left.exposed(most or 10**9, drop, counting)
            for left in left_of(people_of(rows)[name], "uvw", shown[0], shown[1:])
        )
        for name in shown[0].people
    )
    confidence = 0 if most is None else 1 / most
    earlier = [release_of(rows, at, k) for at in levels[1:]]
    bound = sf.CompositionBound(0, confidence, earlier, counting=counting, drop=drop)
    verdict = judge(bound, release_of(rows, levels[0], k))
    assert verdict.measured == pytest.approx(exposed / len(shown[0].people))
    assert verdict.status == ("violated" if exposed else "holds")


def test_releases_that_cut_rows_are_not_judged() -> None:
    """One person alone has two rows, of which one is published and the other left out."""
    rows = [("a", 20, "N", "u"), ("a", 25, "N", "v"), ("b", 20, "N", "v"), ("c", 25, "N", "u")]
    assert some_cut(rows, 2)
    new = release_of(rows, (1, 0), 2)
    assert new.people == 3
    assert "cuts people's rows" in reason(new, release_of(rows, (1, 0)))


@settings(max_examples=few(20))
@given(rows_, levels_, levels_, st.sampled_from(["all", "added"]), st.integers(0, 2))
def test_people_with_one_row_each_are_judged_as_ever(rows, level, at, counting, drop) -> None:
    rows = [person[0] for person in by_person(rows)]
    plain = sf.Schema(quasi=["age", "ward"], sensitive="ill", hierarchies=schema().hierarchies)
    frame = pd.DataFrame(rows, columns=["id", "age", "ward", "ill"])
    single = [sf.generalize(sf.read(frame, plain), list(each)) for each in (level, at)]
    linked = [release_of(rows, each) for each in (level, at)]
    told = []
    for new, earlier in (single, linked):
        bound = sf.CompositionBound(0.1, 0.5, earlier, counting=counting, drop=drop)
        verdict = judge(bound, new)
        told.append((verdict.status, verdict.measured))
    assert told[0] == told[1]


# The first release tells wards and no ages, the second ages and no wards.
CROSSED = [
    *[("a", 21, "S", "v"), ("a", 31, "S", "u"), ("b", 21, "S", "w"), ("b", 31, "N", "w")],
    *[("c", 21, "S", "w"), ("c", 31, "S", "u")],
]


def test_what_a_row_has_is_less_than_both_releases_show_of_it() -> None:
    """Of a's rows the first release allows v u, u v, w u and u w, the second v u, w w and w u. Of
    her row at 31 each shows u and w, and only u is left: w would need the other row to say u."""
    levels: list[Levels] = [(2, 0), (1, 1)]
    shown = by_person(CROSSED)
    first, second = (allowed(shown, at, shown[0]) for at in levels)
    assert first == {("v", "u"), ("u", "v"), ("w", "u"), ("u", "w")}
    assert second == {("v", "u"), ("w", "w"), ("w", "u")}
    by_themselves = [
        {world[row] for world in first} & {world[row] for world in second} for row in (0, 1)
    ]
    assert by_themselves == [{"v", "w"}, {"u", "w"}]
    assert counts(first & second) == [2, 2, 1]
    exposed = [
        min(fewest(*(allowed(shown, levels[0], own), [allowed(shown, levels[1], own)]))) == 1
        for own in shown
    ]
    verdict = judge(
        sf.CompositionBound(0, 1, release_of(CROSSED, levels[1])), release_of(CROSSED, levels[0])
    )
    assert exposed[0]
    assert verdict.measured == pytest.approx(sum(exposed) / 3)
    assert verdict.status == "violated"


def reason(new: sf.Release, *earlier: sf.Release) -> str:
    verdict = judge(sf.CompositionBound(0, 1, earlier), new)
    assert verdict.status == "cannot_judge"
    return verdict.note


def test_rows_that_differ_between_releases_are_not_judged() -> None:
    new = release_of(VISITS, (2, 1))
    for other in (VISITS[1:], VISITS[:-1], [*VISITS, ("g", 22, "N", "u")], VISITS[:7]):
        assert "does not show all rows" in reason(new, release_of(other, (2, 1)))
    unlinked = sf.generalize(table_of(VISITS, rows="unlinked"), [2, 1])
    assert "does not link people's rows" in reason(new, unlinked)
    assert "a pseudonym links people's rows" in reason(unlinked, new)


def test_who_knows_some_rows_is_not_judged() -> None:
    new = sf.generalize(table_of(VISITS, knows=1), [2, 1])
    assert "knows = 'all'" in reason(new, release_of(VISITS, (2, 0)))


def test_what_a_release_gives_away_by_itself_is_violated_whatever_else_is_unknown() -> None:
    new = sf.generalize(table_of(VISITS, knows=1), [0, 0])
    verdict = judge(sf.CompositionBound(0, 1, release_of(VISITS, (2, 1))), new)
    assert verdict.status == "violated"
    assert verdict.measured == 1


def test_a_release_that_was_read_is_judged_with_its_table(tmp_path: Path) -> None:
    table, here = table_of(VISITS), release_of(VISITS, (2, 1))
    for name, levels in (("new", (2, 1)), ("earlier", (1, 0))):
        release_of(VISITS, levels).save(tmp_path / name)
    new, earlier = (sf.read_release(tmp_path / name, schema()) for name in ("new", "earlier"))
    known = judge(sf.CompositionBound(0, 1, release_of(VISITS, (1, 0))), here)
    bound = sf.CompositionBound(0, 1, earlier)
    assert "--table" in reason(new, earlier)
    (verdict,) = sf.audit(new, [bound], table=table).verdicts
    assert (verdict.status, verdict.measured) == (known.status, known.measured)
    other = table_of([*VISITS[:-1], ("f", 27, "N", "w")])
    (verdict,) = sf.audit(new, [bound], table=other).verdicts
    assert verdict.status == "cannot_judge"


def test_a_table_that_says_who_lives_together_tells_whose_rows_they_are(tmp_path: Path) -> None:
    people = schema(household="home")
    frame = pd.DataFrame(VISITS, columns=["id", "age", "ward", "ill"])
    table = sf.read(
        frame.assign(home=frame["id"].map(lambda who: "abcdef".index(who) // 2)), people
    )
    sf.generalize(table, [2, 1]).save(tmp_path / "new")
    bound = sf.CompositionBound(0, 1, release_of(VISITS, (1, 0)))
    made = judge(bound, sf.generalize(table, [2, 1]))
    assert made.status in ("holds", "violated")
    for folder in (tmp_path / "new", tmp_path / "new" / "public"):
        (verdict,) = sf.audit(sf.read_release(folder, people), [bound], table=table).verdicts
        assert (verdict.status, verdict.note) == (made.status, made.note)


def test_searches_judge_finished_releases() -> None:
    rows = [(f"p{at // 2}", 20 + at % 20, "NS"[at % 2], "uvw"[at % 3]) for at in range(48)]
    earlier = release_of(rows, (2, 1))
    bound = sf.CompositionBound(0.2, 1, earlier)
    policy = sf.Policy([sf.KAnonymity(2), bound], anonymizer=sf.Lattice())
    assert judge(bound, sf.anonymize(table_of(rows), policy, seed=1)).status == "holds"


@pytest.mark.parametrize("maker", [sf.Lattice(), sf.Mondrian()])
def test_tables_of_one_row_a_person_are_searched_beside_linked_releases(maker) -> None:
    rows = [(f"p{at}", 20 + at, "N", "uvw"[at % 3]) for at in range(8)]
    bound = sf.CompositionBound(0, 1, release_of(rows, (2, 1)))
    release = sf.anonymize(table_of(rows), sf.Policy([bound], anonymizer=maker), seed=1)
    assert judge(bound, release).status == "holds"


def test_mondrian_publishes_coarser_rows_until_composition_holds() -> None:
    people = [*["u"] * 10, *["v"] * 10, *["u", "v"] * 10]  # of 20, 21, ... years, two rows each
    rows = [(f"p{at}", 20 + at, ward, ill) for at, ill in enumerate(people) for ward in "NS"]
    bound = sf.CompositionBound(0, 1, release_of(rows, (2, 1)))
    criteria, mondrian = [sf.KAnonymity(2)], sf.Mondrian()
    finest = sf.anonymize(table_of(rows), sf.Policy(criteria, anonymizer=mondrian), seed=1)
    assert judge(bound, finest).status == "violated"
    policy = sf.Policy([*criteria, bound], anonymizer=mondrian)
    release = sf.anonymize(table_of(rows), policy, seed=1)
    assert (judge(bound, release).status, len(release.groups)) == ("holds", 2)


def test_the_program_judges_it_with_the_table(tmp_path: Path) -> None:
    for name, levels in (("new", (2, 1)), ("earlier", (1, 0))):
        release_of(VISITS, levels).save(tmp_path / name)
    frame = pd.DataFrame(VISITS, columns=["id", "age", "ward", "ill"])
    frame.to_csv(tmp_path / "visits.csv", index=False)
    bound = sf.CompositionBound(0, 1, tmp_path / "earlier")
    sf.Policy([bound], schema=schema()).save(tmp_path / "policy.toml")
    asked = ("audit", tmp_path / "new", "--policy", tmp_path / "policy.toml")
    unknown, known = sfumato(*asked), sfumato(*asked, "--table", tmp_path / "visits.csv")
    assert unknown.returncode == 3, unknown.stdout + unknown.stderr
    status = judge(bound, release_of(VISITS, (2, 1))).status
    assert known.returncode == (1 if status == "violated" else 0), known.stdout + known.stderr


def test_too_many_ways_are_not_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    new, earlier = release_of(VISITS, (2, 1)), release_of(VISITS, (1, 0))
    monkeypatch.setattr("sfumato.adversaries.composition.linked_worlds.MOST_WORLDS", 1)
    assert "too many ways" in reason(new, earlier)
