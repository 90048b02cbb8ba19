"""Every node of the lattice against every adversary of the experiment (realistic, Section 4).

The table is counted once; each node is rolled up once and everything is measured on it: the
smallest epsilon against each adversary, what the node costs, and both sides of the (c, 2)-diversity
equivalence. All priors are of exactly the stubbornness named (`at_most=False`), as in print.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import inf

import numpy as np

from sfumato.adversaries.realistic.adversary import RealisticAdversary
from sfumato.anonymizers.base import Task
from sfumato.anonymizers.lattice.nodes import Judge
from sfumato.criteria.base import Criterion
from sfumato.criteria.closeness import TCloseness
from sfumato.criteria.epsilon_privacy import EpsilonPrivacy
from sfumato.criteria.k_anonymity import AlphaK
from sfumato.release.groups import Groups
from sfumato.table.load import Table
from sfumato.utility import utility_named
from sfumato.workflow.containment import every_node

Levels = tuple[int, ...]
Her = tuple[str | None, float]  # shape (None: any) and stubbornness

EPSILON, C, T = 2.5, 4, 0.2  # the paper's
KINDS: dict[str, str | None] = {"I uniform": "uniform", "I table": "table", "II": None}
STUBBORNNESS = (1e2, 1e3, 1e4, 1e5, 1e6, inf)
FEW = (1e2, 1e3, 1e6, inf)  # of them, when it must be quick
SIX: dict[str, Her] = {  # by the paper's names
    "A_d 1e6": ("uniform", 1e6),
    "A_c 1e6": ("table", 1e6),
    "A_- 1e3": (None, 1e3),
    "A_- 1e6": (None, 1e6),
    "A_d inf": ("uniform", inf),
    "A_c inf": ("table", inf),
}
COSTS = ("discernibility", "average-group-size", "divergence")
DIVERSITIES = tuple(Fraction(c) for c in ("3/2", "2", "3", "4", "6", "9", "19"))
HEIGHTS = (6, 3, 2, 2)  # age, marital status, race, gender: 72 nodes
FOLLOWED = (5, 1, 1, 0)  # the node of Fig. 2(a)
SEEN = 1e3  # records behind classes I and II where definitions are compared: far fewer than people


def adversary(her: Her) -> RealisticAdversary:
    return RealisticAdversary(her[0], her[1], at_most=False)


# (c, 2)-diversity is not strict here (most frequent share at most c / (c + 1)), as in the paper.
DEFINITIONS: dict[str, Criterion] = {
    "D": AlphaK(C / (C + 1), 1),
    "C": TCloseness(T),
    "I": EpsilonPrivacy(EPSILON, adversary(("table", SEEN))),
    "II": EpsilonPrivacy(EPSILON, adversary((None, SEEN))),
    "III": EpsilonPrivacy(EPSILON, adversary(("table", inf))),
}
SPELT = {
    "D": f"({C},2)-diversity",
    "C": f"{T}-closeness",
    "I": f"epsilon {EPSILON} against class I (table's shape, 1e3)",
    "II": f"epsilon {EPSILON} against class II (1e3)",
    "III": f"epsilon {EPSILON} against class III (table's shape)",
}


@dataclass(frozen=True)
class NodeFigures:
    """What was measured at one node.

    `diverse[c]` says whether it is (c, 2)-diverse, and whether it is private at (c + 1) / 2 against
    the endless uniform prior.
    """

    levels: Levels
    groups: int
    smallest: int
    epsilon: Mapping[Her, float]
    private: frozenset[Her]
    costs: Mapping[str, float]
    diverse: Mapping[Fraction, tuple[bool, bool]]

    @property
    def name(self) -> str:
        return named(self.levels)


@dataclass(frozen=True)
class Survey:
    """All nodes of one table, from the finest to the coarsest."""

    nodes: tuple[NodeFigures, ...]
    shares: Mapping[str, float]
    stubbornness: tuple[float, ...]
    followed: Groups

    def node(self, levels: Levels) -> NodeFigures:
        (found,) = [node for node in self.nodes if node.levels == levels]
        return found

    @property
    def top(self) -> NodeFigures:
        return self.nodes[-1]

    def cheapest(self, her: Her, cost: str) -> NodeFigures | None:
        """The cheapest node that is private against her; None if there is none."""
        private = [node for node in self.nodes if her in node.private]
        return min(private, key=lambda node: node.costs[cost], default=None)


def named(levels: Levels) -> str:
    """As the paper writes a node."""
    return f"[{','.join(map(str, levels))}]"


def written(stubbornness: float) -> str:
    """1e3 for a thousand records."""
    if stubbornness == inf:
        return "inf"
    digit, power = f"{stubbornness:.0e}".split("e")
    return f"{digit}e{int(power)}"


def survey(table: Table, stubbornness: Sequence[float]) -> Survey:
    """Measure everything at every node."""
    hers = {(shape, sigma) for shape in KINDS.values() for sigma in stubbornness}
    hers |= set(SIX.values())
    criteria = {her: EpsilonPrivacy(EPSILON, adversary(her)) for her in hers}
    equivalents = {
        c: EpsilonPrivacy(float((c + 1) / 2), adversary(("uniform", inf))) for c in DIVERSITIES
    }
    measures = {name: utility_named(name) for name in COSTS}
    judge = Judge(Task(table, tuple(criteria.values())))
    assert judge.heights == HEIGHTS
    nodes, every = [], {}
    for rolled in every_node(judge):
        groups = every[rolled.levels] = judge.groups(rolled, 0)
        judged = {her: criterion.judge(groups) for her, criterion in criteria.items()}
        view = judge.view(rolled, np.ones(len(rolled), dtype=bool))
        node = NodeFigures(
            rolled.levels,
            len(groups),
            int(groups.sizes.min()),
            {her: found.value for her, (found, _) in judged.items()},
            frozenset(her for her, (_, holds) in judged.items() if holds.all()),
            {name: measure.cost(view) for name, measure in measures.items()},
            {c: (_diverse(groups, c), _holds(one, groups)) for c, one in equivalents.items()},
        )
        nodes.append(node)
    followed = every[FOLLOWED]
    shares = dict(zip(followed.values, followed.reference_share.tolist(), strict=True))
    return Survey(tuple(nodes), shares, tuple(stubbornness), followed)


def _holds(criterion: EpsilonPrivacy, groups: Groups) -> bool:
    return bool(criterion.holds(groups).all())


def _diverse(groups: Groups, c: Fraction) -> bool:
    """The most frequent value's share is at most c / (c + 1), in whole numbers."""
    p, q = c.numerator, c.denominator
    return bool((groups.largest * (p + q) <= groups.sizes * p).all())
