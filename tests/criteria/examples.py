"""What the contract needs to know of each criterion: one example each."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from sfumato import suppression, taxonomy
from sfumato.adversaries.realistic.adversary import RealisticAdversary
from sfumato.criteria.base import (
    Criterion,
)
from sfumato.criteria.closeness import TCloseness
from sfumato.criteria.composition import CompositionBound
from sfumato.criteria.differential_privacy import DifferentialPrivacy
from sfumato.criteria.diversity import DistinctDiversity, EntropyDiversity, RecursiveDiversity
from sfumato.criteria.epsilon_privacy import EpsilonPrivacy
from sfumato.criteria.k_anonymity import AlphaK, KAnonymity, KMap
from sfumato.criteria.leakage import DistributionLeakage, EntropyLeakage
from sfumato.criteria.likeness import BetaLikeness, DeltaDisclosure
from sfumato.criteria.relative_threat import RelativeThreatBound
from sfumato.criteria.skyline_privacy import SkylinePrivacy
from tests.adversaries.releases import release

VALUES = ("a", "b", "c", "d", "e")  # labels of every table here, so that trees fit


@dataclass(frozen=True)
class Example:
    """What the contract needs to know of a criterion.

    `settings`: instances the properties are tried on, loose and strict ones. `strict`: one that a
    homogeneous group must violate (None only if the criterion reads no values). `wrong`: calls
    that must be refused, with the parameter to blame.
    """

    settings: tuple[Criterion, ...]
    strict: Criterion | None
    wrong: tuple[tuple[Callable[[], Criterion], str], ...]


TREE = taxonomy({"a": "x", "b": "x", "c": "y", "d": "y", "e": "y"})


BEFORE = release(["x"], [((1,), dict.fromkeys(VALUES, 2)), ((2,), {"a": 3})])


EXAMPLES: dict[str, Example] = {
    "k-anonymity": Example(
        (KAnonymity(1), KAnonymity(2), KAnonymity(5)),
        None,
        (
            (lambda: KAnonymity(0), "k"),
            (lambda: KAnonymity(2.5), "k"),
            (lambda: KAnonymity("2"), "k"),
            (lambda: KAnonymity(True), "k"),
            (lambda: KAnonymity(None), "k"),
            (lambda: KAnonymity(math.inf), "k"),
        ),
    ),
    "alpha-k-anonymity": Example(
        (AlphaK(0.5, 1), AlphaK(0.5, 4), AlphaK(0.75, 2), AlphaK(1, 2), AlphaK(0.4, 1)),
        AlphaK(0.5, 1),
        (
            (lambda: AlphaK(0, 2), "alpha"),
            (lambda: AlphaK(1.01, 2), "alpha"),
            (lambda: AlphaK(math.nan, 2), "alpha"),
            (lambda: AlphaK(math.inf, 2), "alpha"),
            (lambda: AlphaK("half", 2), "alpha"),
            (lambda: AlphaK(0.5, 0), "k"),
            (lambda: AlphaK(0.5, 2.0), "k"),
        ),
    ),
    "distinct-diversity": Example(
        (DistinctDiversity(1), DistinctDiversity(2), DistinctDiversity(3)),
        DistinctDiversity(2),
        (
            (lambda: DistinctDiversity(0), "l"),
            (lambda: DistinctDiversity(1.5), "l"),
            (lambda: DistinctDiversity(True), "l"),
        ),
    ),
    "entropy-diversity": Example(
        (EntropyDiversity(1), EntropyDiversity(1.5), EntropyDiversity(2), EntropyDiversity(2.5)),
        EntropyDiversity(1.5),
        (
            (lambda: EntropyDiversity(0.9), "l"),
            (lambda: EntropyDiversity(math.nan), "l"),
            (lambda: EntropyDiversity(True), "l"),
        ),
    ),
    "recursive-diversity": Example(
        (
            RecursiveDiversity(0.75, 2),
            RecursiveDiversity(1, 2),
            RecursiveDiversity(2, 2),
            RecursiveDiversity(3, 3),
        ),
        RecursiveDiversity(1000, 2),
        (
            (lambda: RecursiveDiversity(0, 2), "c"),
            (lambda: RecursiveDiversity(-1, 2), "c"),
            (lambda: RecursiveDiversity(math.nan, 2), "c"),
            (lambda: RecursiveDiversity(1, 1), "l"),
            (lambda: RecursiveDiversity(1, 2.5), "l"),
        ),
    ),
    "t-closeness": Example(
        (
            TCloseness(0),
            TCloseness(0.2),
            TCloseness(0.5),
            TCloseness(0.2, distance="ordered"),
            TCloseness(0.5, distance="ordered"),
            TCloseness(0.3, distance=TREE),
            TCloseness(0.3, distance=suppression()),
        ),
        TCloseness(0.1),
        (
            (lambda: TCloseness(-0.1), "t"),
            (lambda: TCloseness(1.1), "t"),
            (lambda: TCloseness(math.nan), "t"),
            (lambda: TCloseness(math.inf), "t"),
            (lambda: TCloseness("0.2"), "t"),
            (lambda: TCloseness(0.2, distance="euclidean"), "distance"),
            (lambda: TCloseness(0.2, distance=3), "distance"),
        ),
    ),
    "beta-likeness": Example(
        (
            BetaLikeness(0.5),
            BetaLikeness(1),
            BetaLikeness(2),
            BetaLikeness(0.5, enhanced=True),
            BetaLikeness(2, enhanced=True),
        ),
        BetaLikeness(0.1),
        (
            (lambda: BetaLikeness(0), "beta"),
            (lambda: BetaLikeness(-1), "beta"),
            (lambda: BetaLikeness(math.nan), "beta"),
        ),
    ),
    "delta-disclosure": Example(
        (DeltaDisclosure(0.5), DeltaDisclosure(1), DeltaDisclosure(2)),
        DeltaDisclosure(1000),
        (
            (lambda: DeltaDisclosure(0), "delta"),
            (lambda: DeltaDisclosure(-1), "delta"),
            (lambda: DeltaDisclosure(math.nan), "delta"),
        ),
    ),
    "epsilon-privacy": Example(
        (
            EpsilonPrivacy(3, RealisticAdversary("uniform", 10)),
            EpsilonPrivacy(4, RealisticAdversary("table", 1e3)),
            EpsilonPrivacy(1.5, RealisticAdversary("table", 1e6, at_most=False)),
            EpsilonPrivacy(5, RealisticAdversary(stubbornness=20)),
            EpsilonPrivacy(4, RealisticAdversary(stubbornness=8, known=1)),
            EpsilonPrivacy(2, RealisticAdversary("uniform", math.inf)),
            EpsilonPrivacy(3, RealisticAdversary("table", math.inf, known=1)),
            EpsilonPrivacy(3, RealisticAdversary("uniform", 10), mode="theorem"),
            EpsilonPrivacy(4, RealisticAdversary("uniform", 10), predicates="all"),
            EpsilonPrivacy(6, RealisticAdversary(stubbornness=10), predicates="all"),
        ),
        EpsilonPrivacy(1000, RealisticAdversary(stubbornness=3)),
        (
            (lambda: EpsilonPrivacy(0.9, RealisticAdversary("uniform", 10)), "epsilon"),
            (lambda: EpsilonPrivacy(math.nan, RealisticAdversary("uniform", 10)), "epsilon"),
            (lambda: EpsilonPrivacy(math.inf, RealisticAdversary("uniform", 10)), "epsilon"),
            (lambda: EpsilonPrivacy("2", RealisticAdversary("uniform", 10)), "epsilon"),
            (lambda: EpsilonPrivacy(2, None), "adversary"),
            (lambda: EpsilonPrivacy(2, "uniform"), "adversary"),
            (
                lambda: EpsilonPrivacy(2, RealisticAdversary("uniform", 10), predicates="some"),
                "predicates",
            ),
            (
                lambda: EpsilonPrivacy(2, RealisticAdversary("uniform", 10), predicates="protect"),
                "predicates",
            ),
            (
                lambda: EpsilonPrivacy(
                    2, RealisticAdversary("uniform", 10), predicates=[{"no": 1}]
                ),
                "predicates",
            ),
            (lambda: EpsilonPrivacy(2, RealisticAdversary("uniform", 10), mode="fast"), "mode"),
        ),
    ),
    "distribution-leakage": Example(
        (
            DistributionLeakage(0),
            DistributionLeakage(0.3),
            DistributionLeakage(0.5),
            DistributionLeakage(0.4, prior="uniform"),
            DistributionLeakage(0.6, prior={"a": 1}),
        ),
        DistributionLeakage(0.1),
        (
            (lambda: DistributionLeakage(-0.1), "epsilon"),
            (lambda: DistributionLeakage(1.5), "epsilon"),
            (lambda: DistributionLeakage(math.nan), "epsilon"),
            (lambda: DistributionLeakage(math.inf), "epsilon"),
            (lambda: DistributionLeakage("0.2"), "epsilon"),
            (lambda: DistributionLeakage(0.2, prior="census"), "prior"),
            (lambda: DistributionLeakage(0.2, prior={"given": []}), "prior"),
            (lambda: DistributionLeakage(0.2, prior={"a": -1}), "prior"),
            (lambda: DistributionLeakage(0.2, joint=["a"]), "joint"),
            (lambda: DistributionLeakage(0.2, joint=["a", "b"], sensitive="a"), "joint"),
        ),
    ),
    "entropy-leakage": Example(
        (
            EntropyLeakage(0),
            EntropyLeakage(0.3),
            EntropyLeakage(1),
            EntropyLeakage(0.6, prior="uniform"),
            EntropyLeakage(0.9, prior={"a": 1}),
        ),
        EntropyLeakage(0.1),
        (
            (lambda: EntropyLeakage(-0.1), "alpha"),
            (lambda: EntropyLeakage(math.nan), "alpha"),
            (lambda: EntropyLeakage(math.inf), "alpha"),
            (lambda: EntropyLeakage(None), "alpha"),
            (lambda: EntropyLeakage(1, prior=[]), "prior"),
            (lambda: EntropyLeakage(1, joint=["a", "a"]), "joint"),
        ),
    ),
    "differential-privacy": Example(
        (DifferentialPrivacy(0.5), DifferentialPrivacy(1, 1e-6, neighbours="add-remove")),
        None,
        (
            (lambda: DifferentialPrivacy(-1), "epsilon"),
            (lambda: DifferentialPrivacy(math.inf), "epsilon"),
            (lambda: DifferentialPrivacy(True), "epsilon"),
            (lambda: DifferentialPrivacy(1, -0.1), "delta"),
            (lambda: DifferentialPrivacy(1, 1.5), "delta"),
            (lambda: DifferentialPrivacy(1, neighbours="both"), "neighbours"),
        ),
    ),
    "relative-threat": Example(
        (
            RelativeThreatBound(1.0),
            RelativeThreatBound(1.5),
            RelativeThreatBound(1.1, quantile=0.8),
            RelativeThreatBound(3, max_rgt=0.05),
        ),
        RelativeThreatBound(1.0),
        (
            (lambda: RelativeThreatBound(0), "max_ti"),
            (lambda: RelativeThreatBound(-1), "max_ti"),
            (lambda: RelativeThreatBound(math.nan), "max_ti"),
            (lambda: RelativeThreatBound(math.inf), "max_ti"),
            (lambda: RelativeThreatBound("2"), "max_ti"),
            (lambda: RelativeThreatBound(2, quantile=0), "quantile"),
            (lambda: RelativeThreatBound(2, quantile=1.5), "quantile"),
            (lambda: RelativeThreatBound(2, max_rgt=-0.1), "max_rgt"),
            (lambda: RelativeThreatBound(2, max_rgt=2), "max_rgt"),
        ),
    ),
    "k-map": Example(
        (KMap(1, "weights"), KMap(3, "weights"), KMap(8, "weights")),
        None,
        (
            (lambda: KMap(0, "weights"), "k"),
            (lambda: KMap(2.5, "weights"), "k"),
            (lambda: KMap(True, "weights"), "k"),
            (lambda: KMap(2, "register.csv"), "population"),
            (lambda: KMap(2, None), "population"),
        ),
    ),
    "composition": Example(
        (
            CompositionBound(0, 1, BEFORE),
            CompositionBound(0.5, 1, BEFORE),
            CompositionBound(0.25, 0.5, [BEFORE, BEFORE]),
        ),
        CompositionBound(0.1, 1, BEFORE),
        (
            (lambda: CompositionBound(-0.1, 1, BEFORE), "share"),
            (lambda: CompositionBound(1.1, 1, BEFORE), "share"),
            (lambda: CompositionBound(math.nan, 1, BEFORE), "share"),
            (lambda: CompositionBound("0.1", 1, BEFORE), "share"),
            (lambda: CompositionBound(0.1, 0, BEFORE), "confidence"),
            (lambda: CompositionBound(0.1, 1.5, BEFORE), "confidence"),
            (lambda: CompositionBound(0.1, 1, None), "earlier"),
            (lambda: CompositionBound(0.1, 1, []), "earlier"),
            (lambda: CompositionBound(0.1, 1, "no such ledger"), "earlier"),
        ),
    ),
    "skyline-privacy": Example(
        (
            SkylinePrivacy([(0, 0, 0, 0.8)]),
            SkylinePrivacy([(1, 1, 1, 0.9)]),
            SkylinePrivacy([(0, 1, 0, 1), (0, 0, 2, 1), (0, 0, 1, 0.75)]),
            SkylinePrivacy([(0, 0, 0, 0.5), {"l": 1, "k": 0, "m": 0, "c": 0.5}], value="a"),
            SkylinePrivacy([(0, 0, 0, 0.9)], value={"a": [(0, 0, 1, 0.5)]}),
        ),
        SkylinePrivacy([(0, 0, 0, 1)]),
        (
            (lambda: SkylinePrivacy([]), "points"),
            (lambda: SkylinePrivacy(None), "points"),
            (lambda: SkylinePrivacy("(0, 0, 0, 1)"), "points"),
            (lambda: SkylinePrivacy([(0, 0, 0)]), "points"),
            (lambda: SkylinePrivacy([(0, 0, 0, 1, 1)]), "points"),
            (lambda: SkylinePrivacy([(-1, 0, 0, 1)]), "points"),
            (lambda: SkylinePrivacy([(0, 1.5, 0, 1)]), "points"),
            (lambda: SkylinePrivacy([(0, 0, True, 1)]), "points"),
            (lambda: SkylinePrivacy([(0, 0, 0, 0)]), "points"),
            (lambda: SkylinePrivacy([(0, 0, 0, 1.01)]), "points"),
            (lambda: SkylinePrivacy([(0, 0, 0, math.nan)]), "points"),
            (lambda: SkylinePrivacy([{"l": 0, "k": 0, "m": 0}]), "points"),
            (lambda: SkylinePrivacy([(0, 0, 0, 1)], value=3), "value"),
            (lambda: SkylinePrivacy([(0, 0, 0, 1)], value=[]), "value"),
            (lambda: SkylinePrivacy([], value={"a": [(0, 0, 0, 2)]}), "value"),
        ),
    ),
}
