"""Every node of the lattice against every adversary of the experiment (realistic, Section 4).

The table is counted once; each node is rolled up once and everything is measured on it: the
smallest epsilon against each adversary, what the node costs, and both sides of the (c, 2)-diversity
equivalence. All priors are of exactly the stubbornness named (`at_most=False`), as in print.

The paper's table has nearly 3 million people. Epsilon depends on stubbornness by the person, so an
adversary named by the paper's records has seen that many for every 2.7 million people: with that
number the first row of Table 5 is the printed one.

Table 5 and Fig. 2 are told from that.

The 72 nodes and their epsilons; the paper beside it tells what was found.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import inf

import numpy as np

from sfumato.adversaries.realistic.adversary import RealisticAdversary
from sfumato.adversaries.realistic.beliefs import Beliefs
from sfumato.anonymizers.base import Task
from sfumato.anonymizers.lattice.nodes import Judge
from sfumato.criteria.base import Criterion
from sfumato.criteria.closeness import TCloseness
from sfumato.criteria.epsilon_privacy import EpsilonPrivacy
from sfumato.criteria.k_anonymity import AlphaK
from sfumato.release.groups import Groups
from sfumato.report.document import Chart, Section, Series, Sheet, cell_text
from sfumato.report.sections.realistic import AXIS, belief_chart, epsilon_chart
from sfumato.schema.hierarchy import NodeLevels
from sfumato.table import Table
from sfumato.utility import utility_named
from sfumato.workflow.containment import every_node

Opponent = tuple[str | None, float]  # shape (None: any) and stubbornness, in the paper's records

EPSILON, C, T = 2.5, 4, 0.2  # the paper's
KINDS: dict[str, str | None] = {"I uniform": "uniform", "I table": "table", "II": None}
STUBBORNNESS = (1e2, 1e3, 1e4, 1e5, 1e6, inf)
FEW = (1e3, 1e6, inf)  # of them, when it must be quick
PRINTED_PEOPLE = 2.7e6  # of the paper's table, as its Table 5 fits best
SIX: dict[str, Opponent] = {  # by the paper's names
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


def seen(stubbornness: float, people: int) -> float:
    """The records behind a prior here that weigh as much as the paper's do there."""
    return stubbornness * people / PRINTED_PEOPLE


def adversary(opponent: Opponent, people: int) -> RealisticAdversary:
    return RealisticAdversary(opponent[0], seen(opponent[1], people), at_most=False)


# (c, 2)-diversity is not strict here (most frequent share at most c / (c + 1)), as in the paper.
SPELT = {
    "D": f"({C},2)-diversity",
    "Ad": f"epsilon {EPSILON} against A_d inf",
    "C": f"{T}-closeness",
    "Ac": f"epsilon {EPSILON} against A_c inf",
    "A-": f"epsilon {EPSILON} against A_- 1e6",
}


def definitions(people: int) -> dict[str, Criterion]:
    """The five of Fig. 3."""

    def against(shape: str | None, stubbornness: float) -> Criterion:
        return EpsilonPrivacy(EPSILON, adversary((shape, stubbornness), people))

    return {
        "D": AlphaK(C / (C + 1), 1),
        "Ad": against("uniform", inf),
        "C": TCloseness(T),
        "Ac": against("table", inf),
        "A-": against(None, 1e6),
    }


@dataclass(frozen=True)
class NodeFigures:
    """What was measured at one node; it is t-close for every t from `closeness` on.

    `diverse[c]` says whether it is (c, 2)-diverse, and whether it is private at (c + 1) / 2 against
    the endless uniform prior.
    """

    levels: NodeLevels
    groups: int
    smallest: int
    epsilon: Mapping[Opponent, float]
    private: frozenset[Opponent]
    costs: Mapping[str, float]
    closeness: float
    diverse: Mapping[Fraction, tuple[bool, bool]]

    @property
    def name(self) -> str:
        return named(self.levels)


@dataclass(frozen=True)
class LatticeSurvey:
    """All nodes of one table, from the finest to the coarsest."""

    people: int
    nodes: tuple[NodeFigures, ...]
    shares: Mapping[str, float]
    stubbornness: tuple[float, ...]
    followed: Groups

    def node(self, levels: NodeLevels) -> NodeFigures:
        (node_here,) = [node for node in self.nodes if node.levels == levels]
        return node_here

    @property
    def top(self) -> NodeFigures:
        return self.nodes[-1]

    def cheapest(self, opponent: Opponent, cost: str) -> NodeFigures | None:
        """The cheapest node that is private against her; None if there is none."""
        private = [node for node in self.nodes if opponent in node.private]
        return min(private, key=lambda node: node.costs[cost], default=None)


def named(levels: NodeLevels) -> str:
    """As the paper writes a node."""
    return f"[{','.join(map(str, levels))}]"


def written(stubbornness: float) -> str:
    """1e3 for a thousand records."""
    if stubbornness == inf:
        return "inf"
    digit, power = f"{stubbornness:.0e}".split("e")
    return f"{digit}e{int(power)}"


def survey(table: Table, stubbornness: Sequence[float]) -> LatticeSurvey:
    """Measure everything at every node; a prior has seen at least one record of either class."""
    people = table.people
    sizes = [sigma for sigma in stubbornness if seen(sigma, people) >= 2]
    opponents = {(shape, sigma) for shape in KINDS.values() for sigma in sizes} | set(SIX.values())
    criteria = {
        opponent: EpsilonPrivacy(EPSILON, adversary(opponent, people)) for opponent in opponents
    }
    equivalents = {
        c: EpsilonPrivacy(float((c + 1) / 2), adversary(("uniform", inf), people))
        for c in DIVERSITIES
    }
    measures = {name: utility_named(name) for name in COSTS}
    judge = Judge(Task(table, tuple(criteria.values())))
    assert judge.heights == HEIGHTS
    nodes, groups_of = [], {}
    for rolled in every_node(judge):
        groups = groups_of[rolled.levels] = judge.groups(rolled, 0)
        judged = {opponent: criterion.judge(groups) for opponent, criterion in criteria.items()}
        view = judge.view(rolled, np.ones(len(rolled), dtype=bool))
        node = NodeFigures(
            rolled.levels,
            len(groups),
            int(groups.sizes.min()),
            {opponent: measured.value for opponent, (measured, _) in judged.items()},
            frozenset(opponent for opponent, (_, holds) in judged.items() if holds.all()),
            {name: measure.cost(view) for name, measure in measures.items()},
            float(TCloseness(T).measure(groups).value),
            {
                c: (_diverse(groups, c), _holds(adversary, groups))
                for c, adversary in equivalents.items()
            },
        )
        nodes.append(node)
    followed = groups_of[FOLLOWED]
    shares = dict(zip(followed.values, followed.reference_share.tolist(), strict=True))
    return LatticeSurvey(people, tuple(nodes), shares, tuple(sizes), followed)


def _holds(criterion: EpsilonPrivacy, groups: Groups) -> bool:
    return bool(criterion.holds(groups).all())


def _diverse(groups: Groups, c: Fraction) -> bool:
    """The most frequent value's share is at most c / (c + 1), in whole numbers."""
    p, q = c.numerator, c.denominator
    return bool((groups.largest * (p + q) <= groups.sizes * p).all())


# Table 5 and Fig. 2 of the realistic-adversaries paper: smallest epsilon and utility of nodes.

LISTED_BELOW = 20  # Table 5 lists the nodes with some epsilon below this
SLACK = 1e-12  # of floats that should be equal

_NAMES = (
    "A_d: uniform shape, A_c: the table's, A_-: any. With a number of records the first two are "
    "class I and A_- is class II; A_d inf and A_c inf are class III",
    "fewest: people in the node's smallest group",
)


def epsilon_sections(name: str, surveyed: LatticeSurvey) -> list[Section]:
    return [_table(name, surveyed), _followed(name, surveyed), _utility(name, surveyed)]


def listed_nodes(surveyed: LatticeSurvey) -> list[NodeFigures]:
    return [
        node
        for node in surveyed.nodes
        if min(node.epsilon[opponent] for opponent in SIX.values()) < LISTED_BELOW
    ]


def _table(name: str, surveyed: LatticeSurvey) -> Section:
    small = listed_nodes(surveyed)
    rows = tuple(
        (
            node.name,
            node.groups,
            node.smallest,
            *(node.epsilon[opponent] for opponent in SIX.values()),
        )
        for node in small
    )
    return Section(
        f"{name}: smallest epsilon of nodes (Table 5)",
        f"{len(small)} of {len(surveyed.nodes)} nodes have an epsilon below {LISTED_BELOW} against "
        "some adversary. The larger it is, the farther that node moves her belief or doubt; "
        "infinite where a group has one salary class only.",
        tables=(Sheet(("node", "groups", "fewest", *SIX), rows, notes=_NAMES),),
    )


def _followed(name: str, surveyed: LatticeSurvey) -> Section:
    node = surveyed.node(FOLLOWED)
    finite = [sigma for sigma in surveyed.stubbornness if sigma < inf]
    series = tuple(
        Series(f"class {kind}", finite, [node.epsilon[shape, sigma] for sigma in finite])
        for kind, shape in KINDS.items()
    )
    at = named(FOLLOWED)
    ends = "; ".join(
        f"{line.name} from {cell_text(line.y[0])} to {cell_text(line.y[-1])}" for line in series
    )
    beliefs = Beliefs(adversary(("table", 1e6), surveyed.people), surveyed.followed)
    return Section(
        f"{name}: node {at} against stubbornness (Fig. 2a)",
        "An endless adversary of class II is class IV: no generalization holds. Below, what "
        "somebody with the table's shape as prior believes of this node's worst group.",
        tables=(
            Sheet(
                ("records", *(f"class {kind}" for kind in KINDS)),
                tuple(
                    (written(sigma), *(node.epsilon[shape, sigma] for shape in KINDS.values()))
                    for sigma in surveyed.stubbornness
                ),
            ),
        ),
        charts=(
            Chart(
                f"{name}: smallest epsilon of node {at}",
                "lines",
                AXIS,
                "smallest epsilon",
                series,
                log_x=True,
                log_y=True,
                alt=f"Smallest epsilon from a stubbornness of {finite[0]:,.0f} to "
                f"{finite[-1]:,.0f}: {ends}.",
            ),
            epsilon_chart(
                beliefs, EPSILON, title=f"{name}: how stubborn she may be at node {at} (I table)"
            ),
            belief_chart(beliefs, title=f"{name}: beliefs about the worst group of node {at}"),
        ),
    )


def _utility(name: str, surveyed: LatticeSurvey) -> Section:
    sheets, figures = [], []
    finite = [sigma for sigma in surveyed.stubbornness if sigma < inf]
    for cost in COSTS:
        best = {
            (kind, sigma): surveyed.cheapest((shape, sigma), cost)
            for kind, shape in KINDS.items()
            for sigma in surveyed.stubbornness
        }
        rows = [
            (written(sigma), *(cell for kind in KINDS for cell in _cells(best[kind, sigma], cost)))
            for sigma in surveyed.stubbornness
        ]
        headings = [text for kind in KINDS for text in (kind, "at")]
        about = utility_named(cost).about
        sheets.append(
            Sheet(("records", *headings), tuple(rows), title=f"least {cost}", notes=(about,))
        )
        series = tuple(
            Series(
                f"class {kind}",
                finite,
                [_cells(best[kind, sigma], cost)[0] for sigma in finite],
            )
            for kind in KINDS
        )
        last = "; ".join(f"{line.name} {_span(line)}" for line in series)
        figures.append(
            Chart(
                f"{name}: least {cost} of the {EPSILON:g}-private nodes",
                "lines",
                AXIS,
                cost,
                series,
                log_x=True,
                alt=f"Least {cost} against stubbornness: {last}.",
            )
        )
    return Section(
        f"{name}: utility against stubbornness (Fig. 2)",
        f"What the best node costs that is {EPSILON:g}-private: the more stubborn she may be, the "
        "fewer nodes are left. n/a: no node holds.",
        tuple(sheets),
        tuple(figures),
    )


def _cells(node: NodeFigures | None, cost: str) -> tuple[float | None, str | None]:
    return (None, None) if node is None else (node.costs[cost], node.name)


def _span(series: Series) -> str:
    """From the first to the last stubbornness that leaves a node."""
    left = [(x, y) for x, y in zip(series.x, series.y, strict=True) if isinstance(y, float)]
    if not left:
        return "no node at all"
    (_, first), (until, last) = left[0], left[-1]
    end = "" if until == series.x[-1] else f", no node beyond {until:,.0f}"
    return f"from {cell_text(first)} to {cell_text(last)}{end}"
