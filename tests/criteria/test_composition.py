"""The bound on composition: who is exposed, in a finished release, in a search, from a policy."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.adversaries.composition.exposure import Watched
from sfumato.anonymizers.base import Task
from sfumato.criteria.base import judge
from sfumato.criteria.composition import CompositionBound, State
from sfumato.errors import InputError, PolicyError
from sfumato.release.beside import Beside, Headcount, Inside
from sfumato.release.build import with_inside
from sfumato.release.description import of_scheme
from sfumato.release.groups import Groups
from sfumato.release.summing import group_counts
from tests.adversaries.releases import release
from tests.oracles.exposure_oracle import drop, exposed_before, fewest_left, table_of

# Ages 1 to 4 with two people each; before, 1 and 2 were published apart, 3 and 4 together.
ROWS = pa.table({"x": [1, 1, 2, 2, 3, 3, 4, 4], "s": list("abacabcd")})
SCHEMA = sf.Schema(["x"], "s", hierarchies={"x": sf.intervals([2, 4])})
BEFORE = release(
    ["x"],
    [
        ((1,), {"a": 1, "z": 1}),
        ((2,), {"c": 1, "d": 1, "a": 1}),
        (((3, 4),), dict.fromkeys("abcd", 1)),
    ],
    label="before",
)


def table() -> sf.Table:
    return sf.read(ROWS, SCHEMA)


def test_people_are_counted_by_what_all_releases_leave() -> None:
    made = sf.generalize(table(), [0])  # everybody with her age: a b | a c | a b | c d
    verdict = judge(CompositionBound(0.25, 1, BEFORE), made)
    # Of age 1 only a is left (2 people); of age 2 a and c; of 3 and 4 two values each.
    assert (verdict.status, verdict.measured) == ("holds", 0.25)
    assert verdict.per_group is not None
    assert verdict.per_group.tolist() == [1, 0, 0, 0]
    assert verdict.worst[0] == 0
    assert verdict.note == "2 people of 8, with 1 earlier release, 0 by that alone"
    assert judge(CompositionBound(0.24, 1, BEFORE), made).status == "violated"
    assert judge(CompositionBound(1, 0.5, BEFORE), made).measured == 1
    assert judge(CompositionBound(0.99, 0.5, BEFORE), made).status == "violated"


def test_a_tie_at_the_bound_holds() -> None:
    rows = pa.table({"x": list(range(10)), "s": list("ab" * 5)})
    apart = sf.read(rows, sf.Schema(["x"], "s"))
    made = sf.generalize(apart, [0])
    before = release(["x"], [((x,), {"a": 1, "b": 1}) for x in range(10)])
    assert judge(CompositionBound(1, 1, before), made).holds
    some = sf.Release(made.schema, made.by_attribute, made.regions, made=made.made)
    assert judge(CompositionBound(0.3, 1, before), some).status == "violated"
    # 3 of 10 is 0.3 exactly, though no float is.
    mixed = pa.table({"x": [0, 1, 2, *[9] * 7], "s": [*"aaa", *"aabbabb"]})
    made = sf.generalize(sf.read(mixed, sf.Schema(["x"], "s")), [0])
    verdict = judge(CompositionBound(0.3, 1, before), made)
    assert (verdict.status, verdict.measured) == ("holds", 0.3)


def test_the_earlier_releases_alone_may_be_too_much() -> None:
    sure = release(["x"], [(("*",), {"a": 4})])
    made = sf.generalize(table(), [3])
    verdict = judge(CompositionBound(0.5, 1, sure), made)
    assert (verdict.status, verdict.measured) == ("violated", 1)
    assert verdict.note == "8 people of 8, with 1 earlier release, 8 by that alone"


def test_an_empty_intersection_exposes_nobody_by_itself() -> None:
    """Whoever is in the group {c, d} was not in a release that only shows a of her."""
    made = sf.generalize(table(), [0])
    sure = release(["x"], [((4,), {"a": 4})])
    assert judge(CompositionBound(0, 1, sure), made).holds


def test_splitting_may_expose_fewer() -> None:
    """So it is not merge-closed: a and {b, c} apart hold at 1/2 of people, together they do not."""
    sure = release(["x"], [(("*",), {"a": 4})])
    rows = pa.table({"x": [1, 1, 2, 2], "s": list("aabc")})
    fine = sf.generalize(sf.read(rows, SCHEMA), [0])
    coarse = sf.generalize(sf.read(rows, SCHEMA), [3])
    bound = CompositionBound(0.5, 1, sure)
    assert judge(bound, fine).measured == 0.5
    assert judge(bound, coarse).measured == 1
    assert not bound.merge_closed
    assert not bound.upward_closed


# -- read from a file ----------------------------------------------------------------------------


def test_a_release_whose_people_are_not_known_is_judged_by_its_regions(tmp_path: Path) -> None:
    policy = sf.Policy([sf.KAnonymity(4)], anonymizer=sf.Mondrian())
    cut_anywhere = replace(SCHEMA, units={"x": 1})
    made = sf.anonymize(sf.read(ROWS, cut_anywhere), policy)
    made.save(tmp_path / "out")
    back = sf.read_release(tmp_path / "out", SCHEMA)
    apart = release(["x"], [(("*",), dict.fromkeys("abcd", 2))])
    assert judge(CompositionBound(0, 1, apart), back).holds
    verdict = judge(CompositionBound(0, 1, BEFORE), back)
    assert verdict.status == "cannot_judge"
    assert "0 to 4 people of 8" in verdict.note
    assert "who is in which group is not known" in verdict.note
    assert judge(CompositionBound(0.5, 1, BEFORE), back).holds
    sure = release(["x"], [(("*",), {"a": 1})])
    assert judge(CompositionBound(0, 1, sure), back).status == "violated"


def test_centroids_do_not_say_where_people_are() -> None:
    points = release(
        ["x"], [((1.5,), {"a": 1, "b": 1}), ((3.5,), {"c": 2})], scheme="microaggregated"
    )
    verdict = judge(CompositionBound(0, 1, BEFORE), points)
    assert verdict.status == "violated"  # the second group tells c by itself
    assert judge(CompositionBound(0.5, 1, BEFORE), points).status == "cannot_judge"


def test_what_cannot_be_gone_through_cannot_be_judged() -> None:
    points = release(["x"], [((1.5,), {"a": 1, "b": 1})], scheme="microaggregated", label="dots")
    new = release(["x"], [(((1, 4),), {"a": 1, "b": 1})])
    verdict = judge(CompositionBound(0, 1, points), new)
    assert verdict.status == "cannot_judge"
    assert "dots publishes centroids" in verdict.note


def test_a_table_as_it_stands_is_judged_exactly() -> None:
    report = sf.audit(table(), [CompositionBound(0.25, 1, BEFORE)])
    assert report.verdicts[0].status == "holds"
    assert report.verdicts[0].measured == 0.25
    (threat,) = [threat for threat in report.threats if threat.adversary == "composition"]
    assert threat.people == Headcount(2)
    assert (threat.covered, threat.status) == (("composition",), "measured")
    assert threat.knows.endswith(", and 1 earlier release")


def test_randomised_releases_are_bounded_by_their_promise_not_by_this() -> None:
    noisy = replace(BEFORE, regions=of_scheme(BEFORE.regions, "randomised"))
    made = sf.generalize(table(), [0])
    assert judge(CompositionBound(0, 1, noisy), made).measured == 0


# -- searches ------------------------------------------------------------------------------------


def parts_of(table: sf.Table, parts: list[list[int]]) -> Groups:
    """Groups of a table's tuples, with who is inside them: what a search must hand over."""
    counts = table.counts
    tuples = np.concatenate(parts)
    group = np.full(len(counts), -1)
    for g, mine in enumerate(parts):
        group[mine] = g
    kept = np.flatnonzero(group >= 0)
    groups = group_counts(counts.take(kept), group[kept], len(parts), 0)
    indptr = np.concatenate([[0], np.cumsum([len(mine) for mine in parts])])
    return groups.with_beside(Beside(inside=Inside(counts, indptr, tuples, counts.n[tuples])))


@pytest.mark.parametrize(
    ("share", "counting", "confidence", "drop"),
    [
        (0.0, "all", 1, 0),
        (0.1, "all", 1, 0),
        (0.3, "all", 1, 0),
        (1.0, "all", 1, 0),
        (0.1, "added", 1, 0),
        (0.2, "all", 0, 1),  # the vulnerable population
        (0.05, "all", 1, 2),
        (0.1, "added", 0.5, 1),
    ],
)
def test_a_search_counts_what_each_split_changes(
    share: float, counting: Any, confidence: float, drop: int
) -> None:
    """Splits weighed together are judged as the finished release would be."""
    new = table_of(5, 60)
    earlier = [sf.Mondrian().run(Task(table_of(6 + j), (sf.KAnonymity(3),))) for j in (0, 1)]
    bound = CompositionBound(share, confidence, earlier, counting, drop).bind(new.counts)
    rule = (counting, int(1 / confidence) if confidence else 9, drop)
    total = len(new.counts)
    rng = np.random.default_rng(1)
    halves = np.array_split(rng.permutation(total), 4)
    parts = [list(map(int, half)) for half in halves]
    whole = parts_of(new, parts)
    state = bound.start(whole)
    split = [[part[: len(part) // 2], part[len(part) // 2 :]] for part in parts]
    children = parts_of(new, [half for pair in split for half in pair])
    parents = parts_of(new, parts).with_beside(Beside())  # a search need not say it twice
    weighed = bound.candidates(state, parents, children, np.array([0, 2, 4, 6, 8]))
    made = {at: [part] for at, part in enumerate(parts)}
    for at in range(4):
        now, then = chain(*made.values()), chain(*{**made, at: split[at]}.values())
        before = people_exposed(new, list(now), earlier, *rule)
        exposed = people_exposed(new, list(then), earlier, *rule)
        allowed = exposed <= max(state.limit, before)
        assert weighed.allows(state, at) is allowed
        one = bound.split(state, parts_of(new, [parts[at]]), parts_of(new, split[at]))
        assert (one is not None) is allowed
        if allowed:
            assert weighed.hopeful[at]
            state = weighed.take(state, at)
            assert state == one == State(exposed, state.limit)
            made[at] = split[at]
    exposed = people_exposed(new, parts, earlier, *rule)
    assert bound.verdict(whole).holds is (exposed <= state.limit)


def parts_in(made: sf.Release) -> list[list[int]]:
    """The tuples of each group of a release we made."""
    assert made.placement is not None
    groups, tuples = made.placement.groups, made.placement.tuples
    return [tuples[groups == g].tolist() for g in range(len(made.groups))]


@pytest.mark.parametrize("share", [0.02, 0.2])
@pytest.mark.parametrize("anonymizer", [sf.Mondrian(), sf.Mondrian(regions="tight"), sf.Lattice()])
def test_anonymizers_make_releases_that_are_safe_beside_earlier_ones(
    anonymizer: Any, share: float
) -> None:
    new = table_of(5, 80)
    earlier = [sf.Mondrian().run(Task(table_of(6 + j), (sf.DistinctDiversity(3),))) for j in (0, 1)]
    bound = CompositionBound(share, 1, earlier)
    free = sf.anonymize(new, sf.Policy([sf.KAnonymity(2)], anonymizer=sf.Mondrian()), seed=0)
    assert people_exposed(new, parts_in(free), earlier) > share * 80  # k alone does not give it
    made = sf.anonymize(new, sf.Policy([sf.KAnonymity(2), bound], anonymizer=anonymizer), seed=0)
    assert people_exposed(new, parts_in(made), earlier) <= share * 80
    assert sf.audit(made, [bound]).holds
    told = sf.audit(made, [bound]).published[0]
    assert (told.measured, told.per_group) == (None, None)


def people_exposed(
    table: sf.Table,
    parts: list[list[int]],
    earlier: list[sf.Release],
    counting: str = "all",
    most: int = 1,
    least: int = 0,
) -> int:
    counts = table.counts
    labels = counts.sensitive[0].domain.labels
    everything = {*labels, *chain.from_iterable(one.groups.values for one in earlier)}
    total = 0
    for part in parts:
        mine = {labels[code] for code in counts.values[0][part]}
        for t in part:
            person = {
                domain.name: domain.values[code]
                for domain, code in zip(counts.quasi, counts.codes[:, t], strict=True)
            }
            exposed = fewest_left(mine, earlier, person) <= most
            exposed &= not least or drop(mine, earlier, person) >= least
            if counting == "added":
                exposed &= not exposed_before(everything, earlier, person, most, least)
            total += int(counts.n[t]) * exposed
    return total


def test_what_a_release_adds_is_bounded_where_all_of_it_cannot_be() -> None:
    """Earlier releases that expose too many by themselves: told so, and what to ask instead."""
    new = table_of(5, 80)
    earlier = [sf.Mondrian().run(Task(table_of(5, 80), (sf.KAnonymity(2),)))]
    bound = CompositionBound(0.02, 1, earlier)
    for anonymizer in (sf.Mondrian(), sf.Lattice()):
        policy = sf.Policy([sf.KAnonymity(2), bound], anonymizer=anonymizer)
        with pytest.raises(sf.NoSafeRelease) as caught:
            sf.anonymize(new, policy, seed=0)
        told = str(caught.value)
        assert "nothing can mend that; bound what this release adds" in told
        assert "coarsen" not in told
        assert "\n" not in told
        adding = replace(bound, counting="added")
        policy = sf.Policy([sf.KAnonymity(2), adding], anonymizer=anonymizer)
        made = sf.anonymize(new, policy, seed=0)
        assert len(made.groups) > 1
        assert people_exposed(new, parts_in(made), earlier, "added") <= 0.02 * 80
        assert people_exposed(new, parts_in(made), earlier) > 0.02 * 80
        (verdict,) = sf.audit(made, [adding]).verdicts
        assert verdict.holds
        assert "by that alone" in verdict.note


def test_the_share_that_is_offered_allows_for_those_beyond_mending() -> None:
    """One of three: a share of 0.3333 would allow for nobody."""
    rows = sf.read(pa.table({"x": [1, 2, 3], "s": list("abc")}), SCHEMA)
    earlier = [release(["x"], [((1,), {"a": 1}), (((2, 3),), {"b": 1, "c": 1})])]
    bound = CompositionBound(0.3333, 1, earlier)
    one_group = sf.generalize(rows, {"x": 3})
    told = sf.audit(one_group, [bound]).verdicts[0].beyond_mending
    share = told.split("allow a share of ")[1].split()[0]
    assert judge(replace(bound, share=float(share)), one_group).holds


@pytest.mark.parametrize("seed", range(4))
def test_people_beyond_mending_are_exposed_in_every_release(seed: int) -> None:
    """Every partition of a few people, tried: nobody counted as lost is hidden by any of them."""
    rng = np.random.default_rng(seed)
    rows = pa.table({"x": rng.integers(1, 5, 6), "s": rng.choice(list("abc"), 6)})
    new = sf.read(rows, SCHEMA)
    told = [dict(zip("abc", map(int, rng.integers(0, 3, 3)), strict=True)) for _ in range(4)]
    cells = [((x,), {v: n for v, n in one.items() if n}) for x, one in enumerate(told, start=1)]
    earlier = [release(["x"], [cell for cell in cells if cell[1]])]
    watched = Watched.of(new.counts, parts_of(new, [list(range(len(new.counts)))]), earlier)
    lost = watched.exposed_whatever(parts_of(new, [list(range(len(new.counts)))]), 1)
    fewest = min(people_exposed(new, parts, earlier) for parts in partitions(len(new.counts)))
    assert lost is not None
    assert lost <= fewest


def partitions(many: int) -> list[list[list[int]]]:
    """All ways of putting so many things into groups."""
    if many == 0:
        return [[]]
    found = []
    for rest in partitions(many - 1):
        found.append([*rest, [many - 1]])
        for at in range(len(rest)):
            found.append([[*part, many - 1] if at == g else part for g, part in enumerate(rest)])
    return found


def test_what_is_added_is_judged_by_regions_where_people_are_not_known() -> None:
    """Every combination of values: all newly exposed, none, or some."""
    sure = release(["x"], [((1,), {"a": 1}), ((2,), {"a": 1, "b": 1}), ((3,), {"a": 1, "c": 1})])
    known = release(["x"], [((1,), {"a": 2})])  # exposed before, by that alone
    fresh = release(["x"], [((2,), {"a": 1, "c": 1})])  # a is left, of a and b before
    both = release(["x"], [(((1, 2),), {"a": 1, "c": 1})])
    for new, least, most in ((known, 0, 0), (fresh, 2, 2), (both, 0, 2)):
        verdict = judge(CompositionBound(0, 1, sure, "added"), new)
        status = "holds" if not most else "violated" if least else "cannot_judge"
        assert verdict.status == status
        assert judge(CompositionBound(0, 1, sure), new).status != "holds"


def test_earlier_releases_that_narrow_too_many_are_not_mended_by_coarsening() -> None:
    """A bound on the vulnerable that they break by themselves: told so, and what to ask instead."""
    new = table_of(5, 80)
    earlier = [sf.Mondrian().run(Task(table_of(5 + j, 80), (sf.KAnonymity(6),))) for j in (0, 1)]
    bound = CompositionBound(0.01, 0, earlier, drop=1)
    assert people_exposed(new, [list(range(len(new.counts)))], earlier, "all", 9, 1) > 0.8
    policy = sf.Policy([sf.EntropyDiversity(3), bound], anonymizer=sf.Mondrian())
    with pytest.raises(sf.NoSafeRelease) as caught:
        sf.anonymize(new, policy, seed=0)
    assert "coarsening hardly helps, earlier releases alone exceed it" in str(caught.value)
    assert "or coarsen" not in str(caught.value)
    adding = replace(bound, counting="added")
    policy = sf.Policy([sf.EntropyDiversity(3), adding], anonymizer=sf.Mondrian())
    made = sf.anonymize(new, policy, seed=0)
    assert people_exposed(new, parts_in(made), earlier, "added", 9, 1) <= 0.8


@pytest.mark.parametrize(
    ("bound", "text"),
    [
        ({"drop": -1}, "drop = -1 is not allowed; it is a whole number"),
        ({"drop": 1.5}, "drop = 1.5 is not allowed"),
        ({"drop": True}, "drop = True is not allowed"),
        ({"confidence": 0}, "confidence = 0 is not allowed"),  # counts everybody
    ],
)
def test_drops_that_mean_nothing(bound: dict[str, Any], text: str) -> None:
    with pytest.raises(PolicyError, match=text):
        CompositionBound(**{"share": 0, "confidence": 1, "earlier": BEFORE, **bound})


def test_a_bound_on_the_vulnerable_reads_as_one() -> None:
    bound = CompositionBound(0.05, 0, BEFORE, drop=2)
    assert bound.required == (
        "≤ 0.05 of people with 2 or more values fewer than by any one by this and earlier releases"
    )


def test_how_to_count_is_one_of_two() -> None:
    with pytest.raises(PolicyError, match="counting = 'new' is not allowed; use 'all', or 'added'"):
        CompositionBound(0, 1, BEFORE, "new")  # type: ignore[arg-type]


def test_a_search_that_does_not_say_who_is_inside_is_refused() -> None:
    bound = CompositionBound(0.5, 1, BEFORE)
    groups = Groups([[1, 1]], ("a", "b"), attribute="s")
    with pytest.raises(InputError, match="a search must tell who is inside"):
        bound.candidates(State(0, 1), groups, groups, np.array([0, 1]))


def test_binding_tells_what_cannot_be_judged_before_a_search_begins() -> None:
    wider = release(["x", "zip"], [((1, "13053"), {"a": 1, "b": 1})])
    with pytest.raises(PolicyError, match=r"composition: .*not there: 'zip'"):
        CompositionBound(0.5, 1, wider).bind(table().counts)
    spelt = release(["x"], [((1,), {"A": 1, "b": 1})])
    with pytest.raises(PolicyError, match="composition: 's' is spelt differently"):
        CompositionBound(0.5, 1, spelt).bind(table().counts)


def test_several_attributes_are_judged_each() -> None:
    rows = pa.table({"x": [1, 1, 2, 2], "s": list("abab"), "t": list("ccdd")})
    made = sf.generalize(sf.read(rows, sf.Schema(["x"], ["s", "t"])), [0])
    wide = release(["x"], [(("*",), {"a": 1, "b": 1})])
    assert judge(CompositionBound(0, 1, wide, sensitive="s"), made).holds
    verdict = judge(CompositionBound(0, 1, wide), made)
    assert (verdict.status, verdict.attribute) == ("violated", "t")  # by the release alone


# -- policies ------------------------------------------------------------------------------------

POLICY = """
[schema]
quasi = ["x"]
sensitive = "s"

[[require]]
kind = "composition"
share = 0.25
confidence = 1
earlier = {earlier}
"""


def test_a_policy_names_a_ledger_or_folders_beside_itself(tmp_path: Path) -> None:
    sf.Ledger(tmp_path / "ledger.sqlite").add(BEFORE, "before")
    made = sf.anonymize(table(), sf.Policy([sf.KAnonymity(2)], anonymizer=sf.Mondrian()))
    made.save(tmp_path / "old")
    path = tmp_path / "policy.toml"
    for earlier, many in (
        ('"ledger.sqlite"', 1),
        ('["ledger.sqlite", "old"]', 2),
        ('["old"]', 1),
    ):
        path.write_text(POLICY.format(earlier=earlier))
        policy = sf.Policy.load(path)
        (bound,) = policy.require
        assert isinstance(bound, CompositionBound)
        assert len(bound.before) == many
        again = tmp_path / "elsewhere" / "again.toml"
        again.parent.mkdir(exist_ok=True)
        policy.save(again)
        assert sf.Policy.load(again) == policy
    path.write_text(POLICY.format(earlier='"ledger.sqlite"'))
    verdict = sf.audit(table(), sf.Policy.load(path)).verdicts[0]
    assert (verdict.status, verdict.measured) == ("holds", 0.25)


@pytest.mark.parametrize(
    ("earlier", "text"),
    [
        ('"nowhere.sqlite"', "nowhere.sqlite does not exist"),
        ("[]", "name a ledger, or list ledgers and release folders"),
        ("3", "earlier = 3 is not allowed"),
        ("[1]", "earlier = [1] is not allowed"),
    ],
)
def test_a_policy_without_its_earlier_releases_is_refused(
    tmp_path: Path, earlier: str, text: str
) -> None:
    path = tmp_path / "policy.toml"
    path.write_text(POLICY.format(earlier=earlier))
    with pytest.raises(PolicyError) as caught:
        sf.Policy.load(path)
    assert text in str(caught.value)
    assert "[[require]] number 1" in str(caught.value)


def test_the_threat_is_covered_and_equality_is_by_place(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    sf.Ledger(path).add(BEFORE, "before")
    one, other = CompositionBound(0.5, 1, str(path)), CompositionBound(0.5, 1, sf.Ledger(path))
    assert one == other
    assert hash(one) == hash(other)
    assert one != CompositionBound(0.5, 1, BEFORE)
    assert one.against == "composition"
    groups = with_inside(BEFORE, BEFORE.groups)
    assert groups.inside is None
