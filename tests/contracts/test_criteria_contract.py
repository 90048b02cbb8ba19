"""What every registered criterion promises. A newcomer brings a file with an example of it."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import product
from typing import TypeVar, get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.criteria import CRITERIA
from sfumato.criteria.base import (
    Criterion,
    GroupCriterion,
    Measure,
    ReleaseCriterion,
    Ruling,
    Sense,
    Verdict,
)
from sfumato.criteria.diversity import EntropyDiversity, RecursiveDiversity
from sfumato.criteria.likeness import BetaLikeness, DeltaDisclosure
from sfumato.errors import InputError, PolicyError
from sfumato.release.beside import Beside
from sfumato.release.description import Regions
from sfumato.release.groups import Groups
from sfumato.schema.region import ValueSet
from tests.criteria.examples import EXAMPLES, VALUES
from tests.oracles.tables import Small, group_counts, tables

C = TypeVar("C", bound=Criterion)


NAMES = sorted(CRITERIA)
SETTINGS = [setting for name in NAMES if name in EXAMPLES for setting in EXAMPLES[name].settings]
BY_GROUP = [setting for setting in SETTINGS if isinstance(setting, GroupCriterion)]
each_name = pytest.mark.parametrize("name", NAMES)
each_setting = pytest.mark.parametrize("criterion", SETTINGS, ids=str)
each_by_group = pytest.mark.parametrize("criterion", BY_GROUP, ids=str)


def all_of(some: Iterable[C]) -> pytest.MarkDecorator:
    """The settings of one criterion after the other: a table that is drawn is shown to all."""
    by_name: dict[str, list[C]] = {}
    for setting in some:
        by_name.setdefault(setting.name, []).append(setting)
    return pytest.mark.parametrize("criteria", by_name.values(), ids=list(by_name))


def labelled(counts: object, reference: object, width: int) -> Groups:
    return weighted(Groups(counts, VALUES[:width], reference=reference))


def weighted(groups: Groups) -> Groups:
    """Groups that show a value each, of people who stand for one and a half of the population.

    Whoever has the first value stands for one more.
    """
    first = groups.values.index(VALUES[0]) if VALUES[0] in groups.values else -1
    theirs = groups.sum_of(np.where(groups.indices == first, groups.data, 0))
    values = tuple(ValueSet(frozenset({place})) for place in range(len(groups)))
    regions = Regions(("x",), (values,), np.arange(len(groups), dtype=np.int32)[None, :])
    return groups.with_beside(Beside(regions, groups.sizes * 1.5 + theirs))


def groups_of(small: Small) -> Groups:
    return labelled(small.counts, small.reference, small.width)


ODD = {
    "ordinary": Groups([[3, 1, 0], [1, 1, 1], [0, 2, 5]], VALUES[:3]),
    "one person": Groups([[1]], VALUES[:1]),
    "homogeneous": Groups([[4, 0], [0, 4]], VALUES[:2]),
    "no sensitive column": Groups(np.zeros((2, 0), dtype=int), sizes=[3, 3]),
    "several values per person": Groups([[2, 2]], VALUES[:2], sizes=[3]),
    "people without a value": Groups([[0, 0], [1, 1]], VALUES[:2], sizes=[2, 2]),
    "no group": Groups(np.zeros((0, 2)), VALUES[:2]),
    "value missing from the reference": Groups([[1, 1]], VALUES[:2], reference=[1, 0]),
    "value only in the reference": Groups([[1, 1, 0]], VALUES[:3], reference=[1, 1, 1]),
    "empty reference": Groups([[1, 1]], VALUES[:2], reference=[0, 0]),
    "large counts": Groups([[10**15, 10**15 + 1], [1, 10**15]], VALUES[:2]),
}
ODD = {name: weighted(groups) for name, groups in ODD.items()}
each_odd = pytest.mark.parametrize("groups", ODD.values(), ids=list(ODD))


# -- registration ---------------------------------------------------------------------------------


@each_name
def test_a_registered_criterion_has_an_example_here(name: str) -> None:
    assert name in EXAMPLES, f"no file of tests/criteria/examples/ has an example of {name}"
    assert {type(setting) for setting in EXAMPLES[name].settings} == {CRITERIA[name]}


def test_no_example_is_left_of_a_criterion_that_is_gone() -> None:
    assert EXAMPLES.keys() <= CRITERIA.keys()


@each_name
def test_it_is_registered_by_its_name(name: str) -> None:
    assert CRITERIA[name].name == name
    assert issubclass(CRITERIA[name], Criterion)


@each_name
def test_its_scope_is_group_or_release_and_so_is_its_kind(name: str) -> None:
    kinds = {"group": GroupCriterion, "release": ReleaseCriterion}
    assert issubclass(CRITERIA[name], kinds[CRITERIA[name].scope])


@each_name
def test_it_names_the_adversary_it_bounds(name: str) -> None:
    assert all(setting.against.strip() for setting in EXAMPLES[name].settings)


@each_setting
def test_it_is_frozen_and_equal_by_its_parameters(criterion: Criterion) -> None:
    for field in dataclasses.fields(criterion):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(criterion, field.name, 1)
    twin = replace(criterion)
    assert twin is not criterion
    assert twin == criterion
    assert hash(twin) == hash(criterion)


@each_setting
def test_its_text_is_its_name_and_its_bound(criterion: Criterion) -> None:
    assert criterion.required.strip()
    assert str(criterion) == f"{criterion.name} {criterion.required}"
    assert str(criterion) != criterion.promise  # it has words that anybody understands
    assert criterion.promise[0].islower()


@each_setting
def test_sensitive_is_a_keyword_that_is_not_about_the_bound(criterion: Criterion) -> None:
    (field,) = (f for f in dataclasses.fields(criterion) if f.name == "sensitive")
    assert field.kw_only
    assert criterion.sensitive is None
    named = replace(criterion, sensitive="disease")
    assert named.sensitive == "disease"
    assert named.required == criterion.required


@pytest.mark.parametrize(
    ("name", "call", "parameter"),
    [
        pytest.param(name, call, parameter, id=f"{name}-{parameter}-{number}")
        for name in NAMES
        if name in EXAMPLES
        for number, (call, parameter) in enumerate(EXAMPLES[name].wrong)
    ],
)
def test_a_wrong_parameter_is_refused_in_one_line_that_names_it(name, call, parameter) -> None:
    with pytest.raises(PolicyError) as caught:
        call()
    text = str(caught.value)
    assert "\n" not in text
    assert text.startswith(f"{name}: {parameter} ")


@each_name
def test_every_parameter_has_a_wrong_value_here(name: str) -> None:
    numbers = {
        field.name
        for field in dataclasses.fields(CRITERIA[name])
        if field.default is dataclasses.MISSING
    }
    assert numbers <= {parameter for _, parameter in EXAMPLES[name].wrong}


INFINITE = {
    "entropy-diversity": lambda: EntropyDiversity(math.inf),
    "recursive-diversity": lambda: RecursiveDiversity(math.inf, 2),
    "beta-likeness": lambda: BetaLikeness(math.inf),
    "delta-disclosure": lambda: DeltaDisclosure(math.inf),
}


@pytest.mark.parametrize("name", INFINITE)
def test_an_infinite_bound_is_refused_or_judged_but_never_breaks(name: str) -> None:
    try:
        criterion = INFINITE[name]()
    except PolicyError:
        return
    assert criterion.verdict(ODD["ordinary"]).status in ("holds", "violated")


# -- verdicts -------------------------------------------------------------------------------------


def consistent(criterion: Criterion, groups: Groups) -> Verdict:
    """The verdict, whose parts agree with each other, with `measure` and with `holds`."""
    verdict = criterion.verdict(groups)
    assert verdict.status in get_args(Ruling)
    assert verdict.holds is (verdict.status == "holds")
    assert verdict.criterion == criterion.name
    assert verdict.required == criterion.required
    if isinstance(criterion, GroupCriterion):
        holds = criterion.holds(groups)
        assert holds.dtype == bool
        assert holds.shape == (len(groups),)
        assert verdict.holds is (bool(holds.all()) and len(groups) > 0)
    if verdict.status == "not_applicable":
        assert verdict.measured is None
        assert verdict.note
        with pytest.raises(InputError) as caught:
            criterion.measure(groups)
        assert criterion.name in str(caught.value)
        assert "\n" not in str(caught.value)
    elif verdict.status in ("holds", "violated"):
        measure = criterion.measure(groups)
        assert verdict.measured == measure.value
        assert 1 <= len(verdict.worst) <= len(measure.worst)
        assert verdict.worst == measure.worst or verdict.status == "violated"
        assert verdict.sense == measure.sense
        ranked(measure, groups)
    return verdict


def ranked(measure: Measure, groups: Groups) -> None:
    """The worst groups come first, and the first has the value of the whole."""
    assert measure.sense in get_args(Sense)
    assert measure.per_group.shape == (len(groups),)
    assert len(measure.worst) == len(set(measure.worst)) == min(5, len(groups))
    extreme = min if measure.sense in ("at_least", "above") else max
    if measure.overall is None:  # else it says itself what the whole comes to
        assert measure.value == extreme(measure.per_group.tolist())


@each_odd
def test_odd_groups_get_a_consistent_verdict(groups: Groups) -> None:
    for criterion in SETTINGS:
        consistent(criterion, groups)


@all_of(SETTINGS)
@given(small=tables(), data=st.data())
def test_small_tables_get_a_consistent_verdict_in_any_order(
    criteria: list[Criterion], small: Small, data
) -> None:
    """Neither the order of groups nor that of values matters."""
    groups, counts = groups_of(small), small.counts
    order = data.draw(st.permutations(range(len(counts))))
    turned = groups.take(np.array(order))
    values = data.draw(st.permutations(range(small.width)))
    shuffled = weighted(
        Groups(
            [[row[value] for value in values] for row in counts],
            [VALUES[value] for value in values],
            reference=[small.reference[value] for value in values],
        )
    )
    for criterion in criteria:
        verdict = consistent(criterion, groups)
        after = criterion.verdict(turned)
        assert after.status == verdict.status, criterion
        assert after.measured == pytest.approx(verdict.measured, abs=1e-12), criterion
        expected = verdict.per_group[list(order)]
        assert after.per_group == pytest.approx(expected, abs=1e-12), criterion
        ordered = {getattr(criterion, option, None) for option in ("distance", "metric")}
        if not ordered & {"ordered", "earth-mover"}:
            after = criterion.verdict(shuffled)
            assert after.status == verdict.status, criterion
            assert after.per_group == pytest.approx(verdict.per_group, abs=1e-12), criterion


@each_by_group
def test_a_violated_verdict_puts_a_violating_group_first(criterion: GroupCriterion) -> None:
    groups = labelled(SMALL, [3, 2, 1], 3)
    verdict, holds = criterion.verdict(groups), criterion.holds(groups)
    if verdict.status == "violated":
        assert not holds[verdict.worst[0]]


@each_name
def test_a_homogeneous_group_violates_a_strict_bound(name: str) -> None:
    """A criterion that cannot fail on a homogeneous group is a defect."""
    strict = EXAMPLES[name].strict
    if not CRITERIA[name].reads_values:
        assert strict is None
        return
    assert type(strict) is CRITERIA[name]
    groups = Groups([[6, 0, 0], [2, 2, 2]], VALUES[:3])
    verdict = strict.verdict(groups)
    assert verdict.status == "violated"
    assert 0 in verdict.worst
    if isinstance(strict, GroupCriterion):
        assert not strict.holds(groups)[0]


@each_setting
def test_without_values_only_criteria_on_sizes_are_applicable(criterion: Criterion) -> None:
    applicable = criterion.verdict(ODD["no sensitive column"]).status != "not_applicable"
    assert applicable is not criterion.reads_values


# -- each group alone ------------------------------------------------------------------------------


@all_of(BY_GROUP)
@given(small=tables(covering=True))
def test_a_group_is_judged_alone(criteria: list[GroupCriterion], small: Small) -> None:
    together = groups_of(small)
    alone = [labelled([counts], small.reference, small.width) for counts in small.counts]
    for criterion in criteria:
        measured = criterion.measure(together).per_group
        holds = criterion.holds(together)
        for g, one in enumerate(alone):
            assert criterion.measure(one).value == pytest.approx(measured[g], abs=1e-12), criterion
            assert criterion.holds(one)[0] == holds[g], criterion


# -- merging --------------------------------------------------------------------------------------

SMALL = [counts for counts in product(range(4), repeat=3) if any(counts)]
PAIRS = [(a, b) for a in range(len(SMALL)) for b in range(a, len(SMALL))]
MERGED = [[x + y for x, y in zip(SMALL[a], SMALL[b], strict=True)] for a, b in PAIRS]
REFERENCES = ([1, 1, 1], [3, 2, 1], [6, 1, 1])


def merges(criterion: GroupCriterion, reference: list[int]) -> Iterator[tuple[bool, bool, bool]]:
    """For every two small groups: whether one holds, the other holds, both together hold."""
    single = criterion.holds(labelled(SMALL, reference, 3)).tolist()
    merged = criterion.holds(labelled(MERGED, reference, 3)).tolist()
    for (a, b), together in zip(PAIRS, merged, strict=True):
        yield single[a], single[b], together


@each_by_group
def test_declared_closures_are_true_of_all_small_groups(criterion: GroupCriterion) -> None:
    tried = 0
    for reference in REFERENCES:
        for one, other, together in merges(criterion, reference):
            if criterion.merge_closed and one and other:
                assert together
            if criterion.upward_closed and (one or other):
                assert together
            tried += one and other
    assert tried, "no two groups hold: the setting tries nothing"


@all_of(c for c in BY_GROUP if c.merge_closed)
@given(data=st.data())
def test_merge_closed_is_true_of_random_groups(criteria: list[GroupCriterion], data) -> None:
    width = data.draw(st.integers(1, 5))
    reference = data.draw(group_counts(width))
    near = st.tuples(*[st.integers(0, 2)] * width)  # near the reference some groups hold
    some = data.draw(st.lists(group_counts(width), min_size=1, max_size=5))
    for odd in data.draw(st.lists(near, max_size=5)):
        some.append(tuple(map(sum, zip(reference, odd, strict=True))))
    shown = [any(column) for column in zip(*some, strict=True)]
    reference = [max(n, here) for n, here in zip(reference, shown, strict=True)]
    apart = labelled(some, reference, width)
    for criterion in criteria:
        holds = criterion.holds(apart)
        good = [counts for counts, held in zip(some, holds, strict=True) if held]
        merged = [list(map(sum, zip(a, b, strict=True))) for a in good for b in good]
        if merged:
            assert criterion.holds(labelled(merged, reference, width)).all(), criterion


@all_of(BY_GROUP)
@given(data=st.data())
def test_no_partition_puts_fewer_people_into_failing_groups(
    criteria: list[GroupCriterion], data
) -> None:
    width = data.draw(st.integers(1, 4))
    parts = data.draw(st.lists(group_counts(width), min_size=2, max_size=6))
    together = [sum(column) for column in zip(*parts, strict=True)]
    more = data.draw(group_counts(width))
    reference = [n + other for n, other in zip(together, more, strict=True)]
    apart, merged = (labelled(counts, reference, width) for counts in (parts, [together]))
    for criterion in criteria:
        (holds,), measure = criterion.holds_and_measure(merged)
        if holds or measure is None:
            continue
        (lost,) = criterion.lost_below(merged, np.asarray(measure.per_group))
        bad = apart.sizes[~criterion.holds(apart)].sum()
        assert 0 <= lost <= bad + 1e-9, criterion


@all_of(c for c in BY_GROUP if c.upward_closed)
@given(data=st.data())
def test_upward_closed_is_true_of_random_groups(criteria: list[GroupCriterion], data) -> None:
    width = data.draw(st.integers(1, 5))
    reference = data.draw(group_counts(width))
    one, other = data.draw(group_counts(width)), data.draw(group_counts(width))
    apart = labelled([one], reference, width)
    merged = labelled([list(map(sum, zip(one, other, strict=True)))], reference, width)
    for criterion in criteria:
        assert criterion.holds(merged)[0] or not criterion.holds(apart)[0], criterion


def settings_that_deny(name: str, flag: str) -> list[GroupCriterion]:
    return [
        setting
        for setting in EXAMPLES[name].settings
        if isinstance(setting, GroupCriterion) and not getattr(setting, flag)
    ]


@each_name
def test_upward_closed_is_denied_for_a_reason(name: str) -> None:
    """A flag that is false without need costs every search its pruning."""
    denying = settings_that_deny(name, "upward_closed")
    assert not denying or any(
        (one or other) and not together
        for criterion in denying
        for reference in REFERENCES
        for one, other, together in merges(criterion, reference)
    )


@each_name
def test_merge_closed_is_denied_for_a_reason(name: str) -> None:
    denying = settings_that_deny(name, "merge_closed")
    assert not denying or any(
        one and other and not together
        for criterion in denying
        for reference in REFERENCES
        for one, other, together in merges(criterion, reference)
    )


@each_setting
def test_upward_closed_implies_merge_closed(criterion: Criterion) -> None:
    assert criterion.merge_closed or not criterion.upward_closed


# -- steps ----------------------------------------------------------------------------------------

PAIRED = [labelled([one, other], [3, 2, 1], 3) for one, other in product(SMALL[::20], SMALL[::25])]


@each_setting
def test_what_holds_holds_one_step_looser_too(criterion: Criterion) -> None:
    """Of all small groups where each is judged alone, of pairs of them where not."""
    for step in criterion.steps():
        assert type(step.criterion) is type(criterion)
        assert step.criterion != criterion
        assert step.words
        before, after = criterion, step.criterion
        if step.way == "tighter":
            before, after = after, before
        if isinstance(before, GroupCriterion) and isinstance(after, GroupCriterion):
            for reference in REFERENCES:
                groups = labelled(SMALL, reference, 3)
                assert (before.holds(groups) <= after.holds(groups)).all(), step
        else:
            for groups in PAIRED:
                assert before.verdict(groups).holds <= after.verdict(groups).holds, step
