"""Count rules say what `holds` says; what holds by a tightened criterion holds by it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.anonymizers.deal.rules import holds, pack
from sfumato.criteria import CRITERIA
from sfumato.criteria.base import GroupCriterion
from sfumato.release.groups import Groups
from sfumato.schema.domain import Domain
from tests.criteria.examples import EXAMPLES, VALUES

TREE = sf.taxonomy({"a": "x", "b": "x", "c": "y", "d": "y", "e": "y"})
SETS = (("a", "b"), {"not": ("c",)})
INFINITE = float("inf")
HERS = [
    sf.RealisticAdversary("table", 60),
    sf.RealisticAdversary("table", 500, known=1, at_most=False),
    sf.RealisticAdversary("table", INFINITE),
    sf.RealisticAdversary("uniform", 100, known=2),
    sf.RealisticAdversary("table", 3, at_most=False),
    sf.RealisticAdversary(None, 20),
]
NO_RULES = ("kullback-leibler", "jensen-shannon", "hellinger", "chi-square")
MORE: list[GroupCriterion] = [
    sf.DistributionLeakage(0.3, metric="total-variation", prior={"a": 1, "b": 2, "d": 1}),
    sf.DistributionLeakage(0.3, metric="earth-mover", prior={"a": 1, "b": 2, "d": 1}),
    sf.TCloseness(0.3, distance="ordered"),
    sf.TCloseness(0.4, distance=TREE),
    sf.BetaLikeness(1.5, enhanced=True),
    sf.DeltaDisclosure(1.2),
    sf.DistributionLeakage(0.35, prior="uniform"),
    sf.EntropyLeakage(0.3, prior="uniform"),
    *(
        sf.EpsilonPrivacy(epsilon, her, predicates=predicates, mode=mode)
        for epsilon in (1, 2.5)
        for her in HERS
        for predicates in ("values", "all", SETS)
        for mode in ("exact", "theorem")
    ),
]
KNOWN = [one for each in EXAMPLES.values() for one in each.settings]
TRIED = [one for one in [*KNOWN, *MORE] if isinstance(one, GroupCriterion)]

cells = st.lists(
    st.lists(st.integers(0, 4), min_size=5, max_size=5).filter(any), min_size=1, max_size=6
)


def groups_of(counts: list[list[int]], absent: list[int]) -> tuple[Groups, Groups]:
    """Groups of a table that has some more people, and the table as one group."""
    rows = np.array(counts)
    reference = (rows.sum(axis=0) + absent).astype(float)
    domain = Domain("s", "ordered", VALUES)
    groups = Groups(rows, VALUES, reference=reference, domain=domain)
    return groups, groups.everybody()


@given(cells, st.lists(st.integers(0, 2), min_size=5, max_size=5))
def test_rules_say_what_holds_says(counts: list[list[int]], absent: list[int]) -> None:
    groups, everybody = groups_of(counts, absent)
    people = int(groups.sizes.sum())
    dense = np.array(counts, dtype=np.int32)
    for criterion in TRIED:
        if criterion.inapplicable(groups) or criterion.needs:
            continue
        rules = criterion.count_rules(everybody)
        if rules is None:
            continue
        packed = pack([(0, rule) for rule in rules], people)
        by_rules = [holds(dense, g, int(groups.sizes[g]), packed) for g in range(len(groups))]
        assert by_rules == criterion.holds(groups).tolist(), criterion


@given(cells, st.sampled_from([0.3, 0.7, 0.95]))
def test_what_holds_by_a_tightened_criterion_holds_by_it(
    counts: list[list[int]], share: float
) -> None:
    groups, everybody = groups_of(counts, [0] * 5)
    for criterion in TRIED:
        if criterion.inapplicable(groups) or criterion.needs:
            continue
        tighter = criterion.tightened(share, everybody)
        assert not (tighter.holds(groups) & ~criterion.holds(groups)).any(), criterion


@pytest.mark.parametrize("name", sorted(CRITERIA))
def test_every_criterion_of_one_value_a_person_has_rules(name: str) -> None:
    """But for those that must know more of a group than its counts, or leave rules out."""
    _, everybody = groups_of([[3, 2, 2, 1, 1]], [0] * 5)
    for criterion in EXAMPLES[name].settings:
        if not isinstance(criterion, GroupCriterion) or criterion.needs:
            continue
        if type(criterion).count_rules is not GroupCriterion.count_rules:
            endless = name == "epsilon-privacy" and (
                criterion.against.endswith("IV") or criterion.adversary.negations > 0
            )
            endless |= getattr(criterion, "metric", None) in NO_RULES
            rules = None if criterion.inapplicable(everybody) else criterion.count_rules(everybody)
            assert endless or criterion.inapplicable(everybody) or rules is not None


def test_a_bound_that_is_met_exactly_is_met_by_rules_too() -> None:
    groups, everybody = groups_of([[2, 1, 1, 0, 0], [1, 1, 0, 0, 0]], [0, 0, 0, 0, 0])
    for criterion in (sf.AlphaK(0.5, 2), sf.EntropyDiversity(2)):
        packed = pack([(0, rule) for rule in criterion.count_rules(everybody) or ()], 6)
        assert holds(np.array([[1, 1, 0, 0, 0]], dtype=np.int32), 0, 2, packed)
        assert criterion.holds(groups)[1]
