"""Data Publishing against Realistic Adversaries (Machanavajjhala, Gehrke, Goetz, VLDB 2009): the
experiments of Section 4 on Adult, on the ACS excerpt, or on the embedded census.

Adversaries are named by class: I (shape given, limited stubbornness; the paper's A_d with the
uniform shape and A_c with the table's), II (any shape, A_-), III (endless). All are of exactly the
stubbornness named, as in print; `sfumato.criteria.epsilon_privacy` lists the errata. The paper's
ACS file has 3 million records, the excerpt 23,006 people of 15 years and more: what a million
outside records do depends on the size of the groups, so it is shapes that can be compared with
print, not figures.

What the paper leaves open: for the picture of five definitions, classes I and II have seen 1,000
records, and classes I and III have the table's shape (with the uniform one, class III *is*
(c, 2)-diversity).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sfumato.papers.realistic_data import Study, studies
from sfumato.papers.realistic_definitions import definitions_sections
from sfumato.papers.realistic_epsilons import claims, epsilon_sections
from sfumato.papers.realistic_lattice import (
    DEFINITIONS,
    FEW,
    SIX,
    STUBBORNNESS,
    Survey,
    named,
    survey,
)
from sfumato.report.exhibit import Exhibit, Section
from sfumato.report.sheet import Sheet
from sfumato.workflow.containment import NodeMap, compare_nodes

TITLE = "Realistic adversaries: every node of a lattice against classes I, II and III"


def run(data: Path | None, *, seed: int = 0, quick: bool = False) -> Exhibit:
    """The whole experiment; `quick` tries fewer degrees of stubbornness."""
    sections: list[Section] = []
    facts: dict[str, Any] = {}
    chosen = studies(data, seed)
    for study in chosen:
        found = survey(study.table, FEW if quick else STUBBORNNESS)
        nodes = compare_nodes(study.table, DEFINITIONS)
        shapes = claims(found)
        sections += [
            *epsilon_sections(study.name, found),
            *definitions_sections(study.name, found, nodes),
            _shapes(study.name, shapes),
        ]
        facts[study.name] = _facts(study, found, nodes, shapes)
    return Exhibit("realistic", TITLE, _about(chosen, data), tuple(sections), facts)


def _about(chosen: tuple[Study, ...], data: Path | None) -> str:
    told = "; ".join(
        f"{study.name}: {study.about} ({study.table.people:,} people)" for study in chosen
    )
    stand_in = (
        "No data folder was given, so synthetic people stand in for Adult and ACS. "
        if data is None
        else ""
    )
    return (
        f"{stand_in}{told}. Quasi-identifiers are age (6 levels), marital status (3), race and "
        "gender (2 each): 72 nodes, counted once and rolled up. A node is written by its levels, "
        "[age, marital status, race, gender]. Nobody is suppressed."
    )


def _shapes(name: str, shapes: list[tuple[str, bool, str]]) -> Section:
    held = sum(holds for _, holds, _ in shapes)
    return Section(
        f"{name}: what the paper says of the figures",
        f"{held} of {len(shapes)} hold here.",
        sheets=(Sheet(("the paper says", "holds here", "found"), tuple(shapes)),),
    )


def _facts(
    study: Study, found: Survey, nodes: NodeMap, shapes: list[tuple[str, bool, str]]
) -> dict[str, Any]:
    return {
        "people": study.table.people,
        "columns": list(nodes.columns),
        "heights": list(nodes.heights),
        "shares": dict(found.shares),
        "nodes": [
            {
                "node": node.name,
                "groups": node.groups,
                "smallest group": node.smallest,
                "epsilon": {name: node.epsilon[her] for name, her in SIX.items()},
                "costs": dict(node.costs),
            }
            for node in found.nodes
        ],
        "definitions": {
            name: [named(levels) for levels in sorted(satisfying)]
            for name, satisfying in nodes.satisfying.items()
        },
        "claims": {claim: holds for claim, holds, _ in shapes},
    }
