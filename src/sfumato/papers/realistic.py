"""Data Publishing against Realistic Adversaries (Machanavajjhala, Gehrke, Goetz, VLDB 2009): the
worked examples, and Section 4 on Adult, on the ACS excerpt, or on the embedded census.

Adversaries are named by class: I (shape given, limited stubbornness; the paper's A_d with the
uniform shape and A_c with the table's), II (any shape, A_-), III (endless). All are of exactly the
stubbornness named, as in print, for every 2.7 million people (`realistic_lattice`);
`sfumato.criteria.epsilon_privacy` lists the errata.

Here too: the tables of the experiment, and Fig. 3 with its equivalences.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf, isinf
from pathlib import Path
from typing import Any

import pyarrow.compute as pc

from sfumato.criteria.closeness import epsilon_of_closeness
from sfumato.datasets.census import MARITAL as CENSUS_MARITAL
from sfumato.datasets.census import census
from sfumato.datasets.public_files import INCOME_CUT, MARITAL, acs_income, adult
from sfumato.papers import RunSettings
from sfumato.papers.evidence import EvidenceRow, Reproduction
from sfumato.papers.realistic_claims import judge_claims, table_5, without_acs, worked
from sfumato.papers.realistic_lattice import (
    DIVERSITIES,
    FEW,
    SIX,
    SPELT,
    STUBBORNNESS,
    C,
    LatticeSurvey,
    T,
    definitions,
    epsilon_sections,
    named,
    survey,
)
from sfumato.report.document import Chart, Section, Series, Sheet
from sfumato.schema.hierarchy import NodeLevels
from sfumato.schema.recipes import intervals, suppression, taxonomy
from sfumato.schema.roles import Schema
from sfumato.table import Table, read
from sfumato.workflow.containment import NodeMap, compare_nodes

# Fig. 3 of the realistic-adversaries paper and its equivalences: which nodes satisfy what.

NONE = "none"


def definitions_sections(name: str, surveyed: LatticeSurvey, nodes: NodeMap) -> list[Section]:
    return [
        _picture(name, nodes),
        _containment(name, nodes),
        _diversity(name, surveyed),
        _closeness(name, surveyed, nodes),
    ]


def marks(nodes: NodeMap) -> dict[NodeLevels, str]:
    """The definitions each node satisfies, by their letters."""
    return {
        levels: " ".join(letter for letter in SPELT if levels in nodes.satisfying[letter]) or NONE
        for levels in nodes.nodes
    }


def _picture(name: str, nodes: NodeMap) -> Section:
    marked = marks(nodes)
    kept = [levels for levels in nodes.nodes if marked[levels] != NONE]
    letters = "; ".join(f"{letter}: {text}" for letter, text in SPELT.items())
    return Section(
        f"{name}: five definitions on the lattice (Fig. 3)",
        f"{len(kept)} of {len(nodes.nodes)} nodes satisfy one of them. {letters}.",
        tables=(
            Sheet(
                ("node", *SPELT),
                tuple(
                    (named(levels), *(levels in nodes.satisfying[letter] for letter in SPELT))
                    for levels in kept
                ),
            ),
        ),
        charts=(_lattice(name, nodes, marked),),
    )


def _lattice(name: str, nodes: NodeMap, marked: Mapping[NodeLevels, str]) -> Chart:
    """Every node at its height (the sum of its levels); its mark says how many it satisfies."""
    rows: dict[int, list[NodeLevels]] = {}
    by_many: dict[int, list[NodeLevels]] = {}
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
    marks_told = "; ".join(
        f"{named(levels)} {mark}" for levels, mark in marked.items() if mark != NONE
    )
    return Chart(
        f"{name}: the lattice, each node with the definitions it satisfies",
        "points",
        "place in its row",
        "height (sum of levels)",
        series,
        alt=f"Nodes by their levels and the definitions they satisfy: {marks_told or NONE}.",
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
        tables=(
            Sheet(("first", "is", "second", "both", "only the first", "only the second"), rows),
        ),
    )


def _diversity(name: str, surveyed: LatticeSurvey) -> Section:
    rows = []
    for c in DIVERSITIES:
        diverse = {node.name for node in surveyed.nodes if node.diverse[c][0]}
        private = {node.name for node in surveyed.nodes if node.diverse[c][1]}
        rows.append(
            (float(c), float((c + 1) / 2), len(diverse), len(private), len(diverse ^ private))
        )
    differing = sum(row[-1] for row in rows)
    return Section(
        f"{name}: (c,2)-diversity is privacy against an endless uniform prior",
        "With two values, a node is (c,2)-diverse (most frequent share at most c / (c + 1)) if and "
        "only if it is private at epsilon = (c + 1) / 2. "
        f"{'It is so' if not differing else 'It is NOT so'} at every node and every c tried.",
        tables=(
            Sheet(("c", "epsilon", "diverse nodes", "private nodes", "differing"), tuple(rows)),
        ),
    )


def _closeness(name: str, surveyed: LatticeSurvey, nodes: NodeMap) -> Section:
    """The corrected Lemma 1: t-close nodes are private against the table's endless prior."""
    bound = epsilon_of_closeness(T, surveyed.shares)
    close = [node for node in surveyed.nodes if node.levels in nodes.satisfying["C"]]
    worst = max((node.epsilon["table", inf] for node in close), default=1.0)
    if isinf(bound):
        words = (
            f"A value is had by {max(surveyed.shares.values()):.0%}: with t = {T} nothing follows "
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
        tables=(
            Sheet(
                ("close node", "epsilon against III table"),
                tuple((node.name, node.epsilon["table", inf]) for node in close),
            ),
        ),
    )


# The tables of the realistic-adversaries experiment: four columns, 72 nodes, two classes.

ACS = "ACS"
AGES = intervals([5, 10, 20, 40])  # with the age itself and *: 6 levels, as in print
CENSUS_CUT = 25_000  # near the middle of its incomes


@dataclass(frozen=True)
class CountedTable:
    """One table of the experiment, read and counted."""

    name: str
    about: str
    table: Table


def studies(data: Path | None, seed: int) -> tuple[CountedTable, ...]:
    """Adult and the ACS excerpt from the data folder; without one, the embedded census."""
    return (_census(seed),) if data is None else (_adult(data), _acs(data))


def _adult(data: Path) -> CountedTable:
    file, schema = adult(data)
    quasi = ("age", "marital-status", "race", "sex")
    chosen = Schema(
        quasi=quasi,
        sensitive="salary-class",
        hierarchies={**{name: schema.hierarchies[name] for name in quasi}, "age": AGES},
    )
    return CountedTable("Adult", "UCI Adult, complete records, salary class", read(file, chosen))


def _acs(data: Path) -> CountedTable:
    rows, schema = acs_income(data)
    earning = rows.filter(pc.is_valid(rows["PINCP"]))
    marital = taxonomy({code: path[:1] for code, path in MARITAL.items()})
    chosen = Schema(
        quasi=schema.quasi,
        sensitive="PINCP",
        hierarchies={**schema.hierarchies, "MSP": marital},
        domains=schema.domains,
        levels=schema.levels,
    )
    about = (
        f"American Community Survey 2019, national excerpt; income below or from {INCOME_CUT:,} "
        f"on. The {rows.num_rows - earning.num_rows:,} people under 15, of whom no income is "
        "asked, are left out: they would be groups of one value"
    )
    return CountedTable(ACS, about, read(earning, chosen))


def _census(seed: int) -> CountedTable:
    chosen = Schema(
        quasi=("age", "marital", "education", "sex"),
        sensitive="income",
        hierarchies={
            "age": AGES,
            "marital": taxonomy({status: path[1:] for status, path in CENSUS_MARITAL.items()}),
            "education": suppression(),
            "sex": suppression(),
            "income": intervals(cuts=[CENSUS_CUT]),
        },
        levels={"income": 1},
    )
    about = (
        f"embedded synthetic census, seed {seed}; education stands in for race, income below or "
        f"from {CENSUS_CUT:,} on"
    )
    return CountedTable("Census", about, read(census(seed=seed), chosen))


TITLE = "Realistic adversaries: every node of a lattice against classes I, II and III"


def run(data: Path | None, settings: RunSettings) -> Reproduction:
    """The whole experiment; `quick` tries fewer degrees of stubbornness."""
    sections: list[Section] = []
    facts: dict[str, Any] = {}
    evidence = worked()
    chosen = studies(data, settings.seed)
    if data is None:
        evidence += without_acs()
    for study in chosen:
        surveyed = survey(study.table, FEW if settings.quick else STUBBORNNESS)
        nodes = compare_nodes(study.table, definitions(study.table.people))
        judged = judge_claims(surveyed, nodes, study.name)
        if study.name == ACS:
            evidence += table_5(surveyed, ACS)
        evidence += judged
        sections += [
            *epsilon_sections(study.name, surveyed),
            *definitions_sections(study.name, surveyed, nodes),
        ]
        facts[study.name] = _facts(study, surveyed, nodes, judged)
    return Reproduction(
        "realistic",
        TITLE,
        _about(chosen),
        _stands_in(data),
        tuple(evidence),
        tuple(sections),
        facts,
    )


def _stands_in(data: Path | None) -> str:
    if data is None:
        return "No data folder was given, so synthetic people stand in for Adult and ACS."
    return (
        "The ACS excerpt of 2019 (23,006 people of 15 years and more) stands in for the paper's "
        "file of nearly 3 million, stubbornness scaled by people / 2.7 million; Adult is a second "
        "table."
    )


def _about(chosen: tuple[CountedTable, ...]) -> str:
    tables = "; ".join(
        f"{study.name}: {study.about} ({study.table.people:,} people)" for study in chosen
    )
    return (
        f"{tables}. Quasi-identifiers are age (6 levels), marital status (3), race and gender (2 "
        "each): 72 nodes, counted once and rolled up. A node is written by its levels, [age, "
        "marital status, race, gender]. Nobody is suppressed."
    )


def _facts(
    study: CountedTable, surveyed: LatticeSurvey, nodes: NodeMap, judged: list[EvidenceRow]
) -> dict[str, Any]:
    return {
        "people": study.table.people,
        "columns": list(nodes.columns),
        "heights": list(nodes.heights),
        "shares": dict(surveyed.shares),
        "nodes": [
            {
                "node": node.name,
                "groups": node.groups,
                "smallest group": node.smallest,
                "epsilon": {name: node.epsilon[opponent] for name, opponent in SIX.items()},
                "costs": dict(node.costs),
            }
            for node in surveyed.nodes
        ],
        "definitions": {
            name: [named(levels) for levels in sorted(satisfying)]
            for name, satisfying in nodes.satisfying.items()
        },
        "claims": {f"{row.item}: {row.printed}": row.outcome == "agrees" for row in judged},
    }
