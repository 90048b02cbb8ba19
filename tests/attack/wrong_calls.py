"""Wrong calls of the public names: each argument of a right call replaced by something it is not.

A caller's mistake must end in a SfumatoError (one line) or a TypeError, never in an error of some
library deep inside. The right calls stand in `right_calls`; every public name that can be called is
either there or named in NOT_CALLED with the reason.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import sfumato as sf
from sfumato.errors import quoted
from sfumato.release.guarantee import PrivacyLoss

# What is put in an argument's place. Some are right for some arguments: then nothing is raised.
WRONG: tuple[Any, ...] = (
    None,
    True,
    0,
    -1,
    3,
    10**30,
    -(10**30),
    10**400,  # no float
    -(10**5000),  # no text, either
    0.5,
    -2.5,
    math.nan,
    math.inf,
    -math.inf,
    1j,
    Decimal("0.1"),
    Fraction(1, 3),
    "",
    "x",
    "age",
    "uniform",
    "\x00",
    "\ud800",
    b"bytes",
    [],
    ["age"],
    ["nobody"],
    [1, 2],
    [[1, 2], [3]],
    [None],
    (),
    ("a", 1),
    {},
    {"age": 1},
    {"x": "y"},
    {1: 2},
    {"age"},
    object(),
    int,
    len,
    date(2024, 1, 1),
    Path("nowhere"),
    np.array([1.0, np.nan]),
    np.zeros((2, 0)),
    pa.table({"a": [1]}),
    iter([1]),
    range(3),
)


@dataclass(frozen=True)
class Call:
    """One right call of a public name."""

    name: str
    function: Callable[..., Any]
    positional: tuple[Any, ...]
    named: dict[str, Any]

    def run(self) -> Any:
        return self.function(*self.positional, **self.named)

    def wrong(self) -> Iterator[tuple[str, Callable[[], Any]]]:
        """Each argument in turn replaced by each wrong thing, and one argument too many."""
        for index in range(len(self.positional)):
            for thing in WRONG:
                given = (*self.positional[:index], thing, *self.positional[index + 1 :])
                yield (
                    f"{self.name}(argument {index + 1} = {quoted(thing)})",
                    lambda given=given: self.function(*given, **self.named),
                )
        for word in self.named:
            for thing in WRONG:
                named = self.named | {word: thing}
                yield (
                    f"{self.name}({word}={quoted(thing)})",
                    lambda named=named: self.function(*self.positional, **named),
                )
        yield (
            f"{self.name}(no_such_word=1)",
            lambda: self.function(*self.positional, **self.named, no_such_word=1),
        )


# Results: users read them, they do not make them.
NOT_CALLED = {
    "Beliefs",
    "Characterization",
    "Check",
    "ChosenPoint",
    "Comparison",
    "Containment",
    "Draft",
    "Grounding",
    "Guarantee",
    "InformedBelief",
    "IntersectionAttack",
    "KnowledgeSkyline",
    "Linkage",
    "Measure",
    "NodeMap",
    "Paragraph",
    "Price",
    "ProposedHierarchy",
    "RelativeThreat",
    "Release",
    "Report",
    "SemanticPrivacy",
    "SpecialUniques",
    "Table",
    "Threat",
    "Verdict",
    "InputError",
    "MissingExtra",
    "NoSafeRelease",
    "PolicyError",
    "ResourceError",
    "SchemaError",
    "SfumatoError",
}


def right_calls(folder: Path) -> list[Call]:
    """A right call of every public name, on a table of forty people."""
    people = pa.table(
        {
            "age": [20 + index % 8 for index in range(40)],
            "sex": ["F" if index % 2 else "M" for index in range(40)],
            "disease": [("flu", "cold", "ulcer")[index % 3] for index in range(40)],
        }
    )
    schema = sf.Schema(
        quasi=["age", "sex"],
        sensitive="disease",
        hierarchies={"age": sf.intervals([2, 4]), "sex": sf.suppression()},
    )
    table = sf.read(people, schema)
    policy = sf.Policy(require=[sf.KAnonymity(2)], anonymizer=sf.Lattice())
    release = sf.anonymize(table, policy, seed=1)
    groups = sf.Groups([[2, 3, 1], [1, 2, 4]], values=["flu", "cold", "ulcer"])
    saved = folder / "map.json"
    sf.compare(table, policy, {"k": [2]}, ["loss"]).save(saved, force=True)
    file = folder / "people.csv"
    file.write_text("age,sex,disease\n" + "30,F,flu\n40,M,cold\n" * 5, encoding="utf-8")

    def call(name: str, *positional: Any, **named: Any) -> Call:
        return Call(name, getattr(sf, name), positional, named)

    return [
        call("AddedNoise", 2.0, "normal", step=1, least=0, most=9),
        call("ColumnMicroaggregation", 3),
        call("MechanismReader", {"flu": 0.5, "cold": 0.5}),
        call("Pram", stay=0.5, draw={"flu": 0.5, "cold": 0.5}),
        call("PseudonymKey", length=12),
        call("RankSwap", 5.0),
        call("Rounding", 5.0),
        call("TopBottomCoding", 9.0, 1.0),
        call("perturb", table, {"disease": sf.Pram(stay=0.5)}, seed=1),
        call("AlphaK", 0.5, 2),
        call("Anatomy", 2),
        call("Best", seconds=1.0, schemes=["generalized"]),
        call("BetaLikeness", 1.0, enhanced=True),
        call("CompositionBound", 0.1, 0.5, [release]),
        call("Deal"),
        call("DeltaDisclosure", 1.0),
        call("DifferentialPrivacy", 1.0, 1e-6),
        call("DistinctDiversity", 2),
        call("DistributionLeakage", 0.5, prior="table"),
        call("EntropyDiversity", 2),
        call("EntropyLeakage", 0.5, prior="table"),
        call(
            "EpsilonPrivacy",
            2.5,
            sf.RealisticAdversary(stubbornness=100),
            predicates="values",
            mode="exact",
        ),
        call("Groups", [[1, 2], [2, 1]], values=["a", "b"], sizes=[3, 3], reference=[3, 3]),
        call("HouseholdAnonymity", 2),
        call("HouseholdRisk", 0.5),
        call("KAnonymity", 2, columns=["age"]),
        call("KMap", 2, table),
        call("DeltaPresence", 0, 0.5, table),
        call("NoSpecialUniques", 2),
        call("PresenceSeeker", table),
        call("Lattice"),
        call("LocalSuppression", levels={"age": 1}),
        call("Ledger", folder / "ledger.sqlite"),
        call("Microaggregation", 3),
        call("Mondrian"),
        call("Noise", 1.0, levels={"age": 1, "sex": 0}),
        call("Observer", "uniform"),
        call("Policy", require=[sf.KAnonymity(2)], anonymizer=sf.Lattice(), suppression=0.0),
        call("DirichletWeights", 1.0),
        call(
            "Reading",
            delimiter=",",
            decimal=".",
            partitioned=False,
            engine="duckdb",
            master=None,
            memory="1GB",
            spill=None,
            threads=1,
            group="g",
            scheme="generalized",
            matching="exact",
            separator=";",
        ),
        call("PublicFile", 10),
        call("RandomWorlds", groups),
        call("RealisticAdversary", shape="uniform", stubbornness=100, known=0, at_most=True),
        call("RecursiveDiversity", 2.0, 2),
        call("RelativeThreatBound", 2.0),
        call("RowsReader", 2),
        call("RiskThreshold", 0.09, risk="maximum", attack="prosecutor"),
        call(
            "SafeHarbor",
            {"130": 30_000},
            as_of=2026,
            no_actual_knowledge=False,
            no_identifiers=["steps"],
        ),
        call("SeveralRows", 2, belief=0.9),
        call(
            "Schema",
            quasi=["age", "sex"],
            sensitive="disease",
            identifiers=["name"],
            hierarchies={"age": sf.intervals([2])},
            domains={"sex": ["F", "M"]},
            nulls="value",
        ),
        call("SkylinePrivacy", [(1, 1, 1, 0.9)]),
        call("StatisticsOffice", 3, top=3),
        call("TCloseness", 0.3, distance="equal"),
        call("Limits", 1, 2, star=False),
        call("Use", weights={"age": 2}, queries=[["age", "sex"]], target="disease"),
        call("anonymize", table, policy, seed=1),
        call("audit", release, policy),
        call("Has", "target", "flu"),
        call("Lacks", {"age": 20}, "flu"),
        call("Implies", sf.Has("target", "flu"), sf.Lacks(3, "flu")),
        call("belief", release, {"age": 20}, "flu", [sf.Lacks("target", "cold")]),
        call("breach_probability", groups, "flu", 1, 1, 1, case="single"),
        call("characterize", table),
        call("closeness_of_epsilon", 2.0, {"flu": 0.5, "cold": 0.5}),
        call("compare", table, policy, sweep={"k": [2, 3]}),
        call("compare_nodes", table, {"two": sf.KAnonymity(2), "three": sf.KAnonymity(3)}),
        call("dates", ["month", "year"]),
        call("draft_policy", people, profile="public-file"),
        call("epsilon_of_closeness", 0.2, groups),
        call("exposed_people", groups, "flu", [(1, 1, 1)], 0.5, case="single"),
        call(
            "generalize", table, {"age": 1, "sex": 0}, require=[sf.KAnonymity(2)], suppression=0.5
        ),
        call("intersection_attack", [release, release], table),
        call("age_groups", "five", "broad"),
        call("icd10"),
        call("intervals", [5, 10]),
        call("knowledge_skyline", groups, "flu", 0.9, case="single"),
        call("linkage", release),
        call("mask", [3, 2]),
        call("notebook_html", sf.audit(release, policy)),
        call("prefix", 3, 2),
        call("propose_hierarchy", pa.table({"age": [1, 2, 3, 4]}), "age", levels=2),
        call("point", f"{saved}#1", table, policy),
        call("price", table, policy, seconds=1, seed=1, people=50),
        call("read", people, schema, threads=1),
        call("read_release", file, schema),
        call("relative_threat", release, table),
        call("special_uniques", table, 2, columns=["age"], sampling_fraction=0.1),
        call("semantic_privacy", PrivacyLoss(1.0, 0.0), 100),
        call("suppression"),
        call("taxonomy", {"flu": ["respiratory"], "cold": ["respiratory"]}),
        call("people_behind", release, sf.worst_grounding(release, "flu", 0, 1, 0), table=table),
        call("worst_grounding", groups, "flu", 1, 1, 1, case="single"),
        call("zip3", ["130"]),
    ]
