"""Fig. 3 of the realistic-adversaries paper and its equivalences: which nodes satisfy what."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf, isinf

from sfumato.papers.realistic_lattice import (
    DEFINITIONS,
    DIVERSITIES,
    SPELT,
    C,
    Levels,
    Survey,
    T,
    named,
)
from sfumato.report.exhibit import Section
from sfumato.report.figure import Figure, Series
from sfumato.report.sheet import Sheet
from sfumato.workflow.containment import NodeMap

NONE = "none"


def definitions_sections(name: str, found: Survey, nodes: NodeMap) -> list[Section]:
    return [
        _picture(name, nodes),
        _containment(name, nodes),
        _diversity(name, found),
        _closeness(name, found, nodes),
    ]


def marks(nodes: NodeMap) -> dict[Levels, str]:
    """The definitions each node satisfies, by their letters."""
    return {
        levels: " ".join(one for one in DEFINITIONS if levels in nodes.satisfying[one]) or NONE
        for levels in nodes.nodes
    }


def _picture(name: str, nodes: NodeMap) -> Section:
    marked = marks(nodes)
    kept = [levels for levels in nodes.nodes if marked[levels] != NONE]
    letters = "; ".join(f"{letter}: {text}" for letter, text in SPELT.items())
    return Section(
        f"{name}: five definitions on the lattice (Fig. 3)",
        f"{len(kept)} of {len(nodes.nodes)} nodes satisfy one of them. {letters}.",
        sheets=(
            Sheet(
                ("node", *DEFINITIONS),
                tuple(
                    (named(levels), *(levels in nodes.satisfying[one] for one in DEFINITIONS))
                    for levels in kept
                ),
            ),
        ),
        figures=(_lattice(name, nodes, marked),),
    )


def _lattice(name: str, nodes: NodeMap, marked: Mapping[Levels, str]) -> Figure:
    """Every node at its height (the sum of its levels); its mark says how many it satisfies."""
    rows: dict[int, list[Levels]] = {}
    by_many: dict[int, list[Levels]] = {}
    for levels in nodes.nodes:
        rows.setdefault(sum(levels), []).append(levels)
        many = 0 if marked[levels] == NONE else len(marked[levels].split())
        by_many.setdefault(many, []).append(levels)
    widest = max(map(len, rows.values()))
    place = {
        # Short rows are drawn apart: it is at the top that nodes have much written on them.
        levels: (at - (len(row) - 1) / 2) * (widest + 2) / (len(row) + 2)
        for row in rows.values()
        for at, levels in enumerate(row)
    }
    series = tuple(
        Series(
            f"{many} of five" if many else NONE,
            [place[levels] for levels in chosen],
            [sum(levels) for levels in chosen],
            text=[f"{''.join(map(str, levels))} {marked[levels]}" for levels in chosen],
        )
        for many, chosen in sorted(by_many.items(), reverse=True)
    )
    told = "; ".join(f"{named(levels)} {mark}" for levels, mark in marked.items() if mark != NONE)
    return Figure(
        f"{name}: the lattice, each node with the definitions it satisfies",
        "points",
        "place in its row",
        "height (sum of levels)",
        series,
        alt=f"Nodes by their levels and the definitions they satisfy: {told or NONE}.",
    )


def _containment(name: str, nodes: NodeMap) -> Section:
    rows = tuple(
        (
            pair.first,
            pair.relation if pair.relation != "neither" else "not comparable to",
            pair.second,
            len(pair.both),
            len(pair.only_first),
            len(pair.only_second),
        )
        for pair in nodes.pairs()
    )
    return Section(
        f"{name}: which definition is more useful",
        "More useful: every node that satisfies the second definition satisfies the first, and "
        "further ones do; whatever utility is, the best node can only be better.",
        sheets=(
            Sheet(("first", "is", "second", "both", "only the first", "only the second"), rows),
        ),
    )


def _diversity(name: str, found: Survey) -> Section:
    rows = []
    for c in DIVERSITIES:
        diverse = {node.name for node in found.nodes if node.diverse[c][0]}
        private = {node.name for node in found.nodes if node.diverse[c][1]}
        rows.append(
            (float(c), float((c + 1) / 2), len(diverse), len(private), len(diverse ^ private))
        )
    differing = sum(row[-1] for row in rows)
    return Section(
        f"{name}: (c,2)-diversity is privacy against an endless uniform prior",
        "With two values, a node is (c,2)-diverse (most frequent share at most c / (c + 1)) if and "
        "only if it is private at epsilon = (c + 1) / 2. "
        f"{'It is so' if not differing else 'It is NOT so'} at every node and every c tried.",
        sheets=(
            Sheet(("c", "epsilon", "diverse nodes", "private nodes", "differing"), tuple(rows)),
        ),
    )


def _closeness(name: str, found: Survey, nodes: NodeMap) -> Section:
    """The corrected Lemma 1: t-close nodes are private against the table's endless prior."""
    bound = closeness_epsilon(list(found.shares.values()), T)
    close = [node for node in found.nodes if node.levels in nodes.satisfying["C"]]
    worst = max((node.epsilon["table", inf] for node in close), default=1.0)
    if isinf(bound):
        words = (
            f"A value is had by {max(found.shares.values()):.0%}: with t = {T} nothing follows "
            "from closeness."
        )
    else:
        words = (
            f"By the corrected Lemma 1, {T}-closeness implies epsilon = {bound:.4g} against the "
            f"table's endless prior; the {len(close)} close nodes need at most {worst:.4g}: "
            f"{'it holds' if worst <= bound else 'it does NOT hold'}."
        )
    return Section(
        f"{name}: {T}-closeness against epsilon-privacy",
        f"{words} Of {len(nodes.nodes)} nodes {T}-closeness allows {len(close)}, ({C},2)-diversity "
        f"{len(nodes.satisfying['D'])}.",
        sheets=(
            Sheet(
                ("close node", "epsilon against III table"),
                tuple((node.name, node.epsilon["table", inf]) for node in close),
            ),
        ),
    )


def closeness_epsilon(shares: list[float], t: float) -> float:
    """The epsilon that t-closeness guarantees; infinite where it guarantees none."""
    if any(t >= 1 - p for p in shares):
        return inf
    return max(max((p + t) / p, (1 - p) / (1 - p - t)) for p in shares)
