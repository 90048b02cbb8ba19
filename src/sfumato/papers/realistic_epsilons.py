"""Table 5 and Fig. 2 of the realistic-adversaries paper: smallest epsilon and utility of nodes."""

from __future__ import annotations

from itertools import pairwise
from math import inf

from sfumato.adversaries.realistic.beliefs import Beliefs
from sfumato.papers.realistic_lattice import (
    COSTS,
    EPSILON,
    FOLLOWED,
    KINDS,
    SIX,
    NodeFigures,
    Survey,
    adversary,
    named,
    written,
)
from sfumato.report.belief_figure import AXIS, belief_figure, epsilon_figure
from sfumato.report.exhibit import Section
from sfumato.report.figure import Figure, Series
from sfumato.report.sheet import Sheet, shown
from sfumato.utility import utility_named

SHOWN = 20  # Table 5 lists the nodes with some epsilon below this
SLACK = 1e-12  # of floats that should be equal

_NAMES = (
    "A_d: uniform shape, A_c: the table's, A_-: any. With a number of records the first two are "
    "class I and A_- is class II; A_d inf and A_c inf are class III",
    "fewest: people in the node's smallest group",
)


def epsilon_sections(name: str, found: Survey) -> list[Section]:
    return [_table(name, found), _followed(name, found), _utility(name, found)]


def _table(name: str, found: Survey) -> Section:
    small = [node for node in found.nodes if min(node.epsilon[her] for her in SIX.values()) < SHOWN]
    rows = tuple(
        (node.name, node.groups, node.smallest, *(node.epsilon[her] for her in SIX.values()))
        for node in small
    )
    return Section(
        f"{name}: smallest epsilon of nodes (Table 5)",
        f"{len(small)} of {len(found.nodes)} nodes have an epsilon below {SHOWN} against some "
        "adversary. The larger it is, the farther that node moves her belief or doubt; infinite "
        "where a group has one salary class only.",
        sheets=(Sheet(("node", "groups", "fewest", *SIX), rows, notes=_NAMES),),
    )


def _followed(name: str, found: Survey) -> Section:
    node = found.node(FOLLOWED)
    finite = [sigma for sigma in found.stubbornness if sigma < inf]
    series = tuple(
        Series(f"class {kind}", finite, [node.epsilon[shape, sigma] for sigma in finite])
        for kind, shape in KINDS.items()
    )
    at = named(FOLLOWED)
    told = "; ".join(f"{one.name} from {shown(one.y[0])} to {shown(one.y[-1])}" for one in series)
    beliefs = Beliefs(adversary(("table", 1e6)), found.followed)
    return Section(
        f"{name}: node {at} against stubbornness (Fig. 2a)",
        "An endless adversary of class II is class IV: no generalization holds. Below, what "
        "somebody with the table's shape as prior believes of this node's worst group.",
        sheets=(
            Sheet(
                ("records", *(f"class {kind}" for kind in KINDS)),
                tuple(
                    (written(sigma), *(node.epsilon[shape, sigma] for shape in KINDS.values()))
                    for sigma in found.stubbornness
                ),
            ),
        ),
        figures=(
            Figure(
                f"{name}: smallest epsilon of node {at}",
                "lines",
                AXIS,
                "smallest epsilon",
                series,
                log_x=True,
                log_y=True,
                alt=f"Smallest epsilon from a stubbornness of {finite[0]:,.0f} to "
                f"{finite[-1]:,.0f}: {told}.",
            ),
            epsilon_figure(
                beliefs, EPSILON, title=f"{name}: how stubborn she may be at node {at} (I table)"
            ),
            belief_figure(beliefs, title=f"{name}: beliefs about the worst group of node {at}"),
        ),
    )


def _utility(name: str, found: Survey) -> Section:
    sheets, figures = [], []
    finite = [sigma for sigma in found.stubbornness if sigma < inf]
    for cost in COSTS:
        best = {
            (kind, sigma): found.cheapest((shape, sigma), cost)
            for kind, shape in KINDS.items()
            for sigma in found.stubbornness
        }
        rows = [
            (written(sigma), *(cell for kind in KINDS for cell in _cells(best[kind, sigma], cost)))
            for sigma in found.stubbornness
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
        last = "; ".join(f"{one.name} {_span(one)}" for one in series)
        figures.append(
            Figure(
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
    return f"from {shown(first)} to {shown(last)}{end}"


def claims(found: Survey) -> list[tuple[str, bool, str]]:
    """What the paper says of its figures: the claim, whether it holds here, what was found."""
    top = found.top
    told = []
    for kind, shape in KINDS.items():
        excused = {top.name} if shape == "table" else set()
        falls = {
            node.name
            for node in found.nodes
            if any(
                node.epsilon[shape, low] > node.epsilon[shape, high] * (1 + SLACK)
                for low, high in pairwise(found.stubbornness)
            )
        }
        but = f" except at {', '.join(sorted(excused))}, of that very shape" if excused else ""
        told.append(
            (
                f"class {kind}: epsilon grows with stubbornness{but}",
                falls <= excused,
                f"it grows or stays at {len(found.nodes) - len(falls)} of {len(found.nodes)} nodes",
            )
        )
    ends = [top.epsilon["table", sigma] for sigma in found.stubbornness]
    told.append(
        (
            "class I of the table's shape: the top node falls to 1",
            ends[-1] <= 1 + SLACK and all(low + SLACK >= high for low, high in pairwise(ends)),
            f"{top.name} from {ends[0]:.6g} to {ends[-1]:.6g}",
        )
    )
    worse = [
        node.name
        for node in found.nodes
        for sigma in found.stubbornness
        for shape in ("uniform", "table")
        if node.epsilon[shape, sigma] > node.epsilon[None, sigma] * (1 + SLACK)
    ]
    told.append(
        (
            "class I never needs more than class II of equal stubbornness",
            not worse,
            f"{len(worse)} exceptions over all nodes, shapes and degrees of stubbornness",
        )
    )
    return told
