"""Sfumato publishes microdata that stands up to realistic adversaries.

The public names, each with its home in `_HOMES`. They are imported when first used, so that
`import sfumato` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # the same for type checkers; a test holds the two together
    from sfumato.adversaries.base import Threat as Threat
    from sfumato.adversaries.composition.attack import (
        IntersectionAttack as IntersectionAttack,
    )
    from sfumato.adversaries.composition.attack import (
        intersection_attack as intersection_attack,
    )
    from sfumato.adversaries.leakage.observer import Observer as Observer
    from sfumato.adversaries.linkage.risks import (
        Linkage as Linkage,
    )
    from sfumato.adversaries.linkage.risks import (
        linkage as linkage,
    )
    from sfumato.adversaries.random_worlds import RandomWorlds as RandomWorlds
    from sfumato.adversaries.randomised import SemanticPrivacy as SemanticPrivacy
    from sfumato.adversaries.randomised import semantic_privacy as semantic_privacy
    from sfumato.adversaries.realistic.adversary import RealisticAdversary as RealisticAdversary
    from sfumato.adversaries.realistic.beliefs import Beliefs as Beliefs
    from sfumato.adversaries.relative_threat.model import DirichletWeights as DirichletWeights
    from sfumato.adversaries.relative_threat.relative import relative_threat as relative_threat
    from sfumato.adversaries.relative_threat.result import RelativeThreat as RelativeThreat
    from sfumato.adversaries.skyline.breach import breach_probability as breach_probability
    from sfumato.adversaries.skyline.grounding import (
        Grounding as Grounding,
    )
    from sfumato.adversaries.skyline.grounding import (
        worst_grounding as worst_grounding,
    )
    from sfumato.adversaries.skyline.knowledge import (
        KnowledgeSkyline as KnowledgeSkyline,
    )
    from sfumato.adversaries.skyline.knowledge import (
        knowledge_skyline as knowledge_skyline,
    )
    from sfumato.anonymizers.anatomy import Anatomy as Anatomy
    from sfumato.anonymizers.best import Best as Best
    from sfumato.anonymizers.deal.deal import Deal as Deal
    from sfumato.anonymizers.lattice.lattice import Lattice as Lattice
    from sfumato.anonymizers.microaggregation import Microaggregation as Microaggregation
    from sfumato.anonymizers.mondrian.mondrian import Mondrian as Mondrian
    from sfumato.anonymizers.noise import Noise as Noise
    from sfumato.criteria.base import (
        Measure as Measure,
    )
    from sfumato.criteria.base import (
        Verdict as Verdict,
    )
    from sfumato.criteria.closeness import TCloseness as TCloseness
    from sfumato.criteria.composition import CompositionBound as CompositionBound
    from sfumato.criteria.differential_privacy import DifferentialPrivacy as DifferentialPrivacy
    from sfumato.criteria.diversity import (
        DistinctDiversity as DistinctDiversity,
    )
    from sfumato.criteria.diversity import (
        EntropyDiversity as EntropyDiversity,
    )
    from sfumato.criteria.diversity import (
        RecursiveDiversity as RecursiveDiversity,
    )
    from sfumato.criteria.epsilon_privacy import EpsilonPrivacy as EpsilonPrivacy
    from sfumato.criteria.k_anonymity import (
        AlphaK as AlphaK,
    )
    from sfumato.criteria.k_anonymity import (
        KAnonymity as KAnonymity,
    )
    from sfumato.criteria.k_anonymity import KMap as KMap
    from sfumato.criteria.leakage import (
        DistributionLeakage as DistributionLeakage,
    )
    from sfumato.criteria.leakage import (
        EntropyLeakage as EntropyLeakage,
    )
    from sfumato.criteria.likeness import (
        BetaLikeness as BetaLikeness,
    )
    from sfumato.criteria.likeness import (
        DeltaDisclosure as DeltaDisclosure,
    )
    from sfumato.criteria.relative_threat import RelativeThreatBound as RelativeThreatBound
    from sfumato.criteria.skyline_privacy import SkylinePrivacy as SkylinePrivacy
    from sfumato.engines.reading import Reading as Reading
    from sfumato.errors import (
        InputError as InputError,
    )
    from sfumato.errors import (
        MissingExtra as MissingExtra,
    )
    from sfumato.errors import (
        NoSafeRelease as NoSafeRelease,
    )
    from sfumato.errors import (
        PolicyError as PolicyError,
    )
    from sfumato.errors import (
        ResourceError as ResourceError,
    )
    from sfumato.errors import (
        SchemaError as SchemaError,
    )
    from sfumato.errors import (
        SfumatoError as SfumatoError,
    )
    from sfumato.ledger.check import Check as Check
    from sfumato.ledger.ledger import Ledger as Ledger
    from sfumato.policy.draft.draft import (
        Draft as Draft,
    )
    from sfumato.policy.draft.draft import (
        draft_policy as draft_policy,
    )
    from sfumato.policy.model import Policy as Policy
    from sfumato.release.groups import Groups as Groups
    from sfumato.release.guarantee import Guarantee as Guarantee
    from sfumato.release.read.read_release import read_release as read_release
    from sfumato.release.release import Release as Release
    from sfumato.report.characterization import Characterization as Characterization
    from sfumato.report.comparison import Comparison as Comparison
    from sfumato.report.price import Price as Price
    from sfumato.report.report import Report as Report
    from sfumato.schema.recipes import (
        dates as dates,
    )
    from sfumato.schema.recipes import (
        intervals as intervals,
    )
    from sfumato.schema.recipes import (
        mask as mask,
    )
    from sfumato.schema.recipes import (
        suppression as suppression,
    )
    from sfumato.schema.recipes import taxonomy as taxonomy
    from sfumato.schema.roles import Schema as Schema
    from sfumato.table import Table as Table
    from sfumato.table import read as read
    from sfumato.utility.use import Use as Use
    from sfumato.workflow.anonymize import (
        anonymize as anonymize,
    )
    from sfumato.workflow.anonymize import (
        generalize as generalize,
    )
    from sfumato.workflow.audit import audit as audit
    from sfumato.workflow.characterize import characterize as characterize
    from sfumato.workflow.compare import compare as compare
    from sfumato.workflow.containment import (
        Containment as Containment,
    )
    from sfumato.workflow.containment import (
        NodeMap as NodeMap,
    )
    from sfumato.workflow.containment import (
        compare_nodes as compare_nodes,
    )
    from sfumato.workflow.price import price as price

_HOMES = {
    "sfumato.adversaries.base": ("Threat",),
    "sfumato.adversaries.composition.attack": (
        "IntersectionAttack",
        "intersection_attack",
    ),
    "sfumato.adversaries.leakage.observer": ("Observer",),
    "sfumato.adversaries.linkage.risks": (
        "Linkage",
        "linkage",
    ),
    "sfumato.adversaries.random_worlds": ("RandomWorlds",),
    "sfumato.adversaries.randomised": (
        "SemanticPrivacy",
        "semantic_privacy",
    ),
    "sfumato.adversaries.realistic.adversary": ("RealisticAdversary",),
    "sfumato.adversaries.realistic.beliefs": ("Beliefs",),
    "sfumato.adversaries.relative_threat.model": ("DirichletWeights",),
    "sfumato.adversaries.relative_threat.relative": ("relative_threat",),
    "sfumato.adversaries.relative_threat.result": ("RelativeThreat",),
    "sfumato.adversaries.skyline.breach": ("breach_probability",),
    "sfumato.adversaries.skyline.grounding": (
        "Grounding",
        "worst_grounding",
    ),
    "sfumato.adversaries.skyline.knowledge": (
        "KnowledgeSkyline",
        "knowledge_skyline",
    ),
    "sfumato.anonymizers.anatomy": ("Anatomy",),
    "sfumato.anonymizers.best": ("Best",),
    "sfumato.anonymizers.deal.deal": ("Deal",),
    "sfumato.anonymizers.lattice.lattice": ("Lattice",),
    "sfumato.anonymizers.microaggregation": ("Microaggregation",),
    "sfumato.anonymizers.mondrian.mondrian": ("Mondrian",),
    "sfumato.anonymizers.noise": ("Noise",),
    "sfumato.criteria.base": (
        "Measure",
        "Verdict",
    ),
    "sfumato.criteria.closeness": ("TCloseness",),
    "sfumato.criteria.composition": ("CompositionBound",),
    "sfumato.criteria.differential_privacy": ("DifferentialPrivacy",),
    "sfumato.criteria.diversity": (
        "DistinctDiversity",
        "EntropyDiversity",
        "RecursiveDiversity",
    ),
    "sfumato.criteria.epsilon_privacy": ("EpsilonPrivacy",),
    "sfumato.criteria.k_anonymity": (
        "AlphaK",
        "KAnonymity",
        "KMap",
    ),
    "sfumato.criteria.leakage": (
        "DistributionLeakage",
        "EntropyLeakage",
    ),
    "sfumato.criteria.likeness": (
        "BetaLikeness",
        "DeltaDisclosure",
    ),
    "sfumato.criteria.relative_threat": ("RelativeThreatBound",),
    "sfumato.criteria.skyline_privacy": ("SkylinePrivacy",),
    "sfumato.engines.reading": ("Reading",),
    "sfumato.errors": (
        "InputError",
        "MissingExtra",
        "NoSafeRelease",
        "PolicyError",
        "ResourceError",
        "SchemaError",
        "SfumatoError",
    ),
    "sfumato.ledger.check": ("Check",),
    "sfumato.ledger.ledger": ("Ledger",),
    "sfumato.policy.draft.draft": (
        "Draft",
        "draft_policy",
    ),
    "sfumato.policy.model": ("Policy",),
    "sfumato.release.groups": ("Groups",),
    "sfumato.release.guarantee": ("Guarantee",),
    "sfumato.release.read.read_release": ("read_release",),
    "sfumato.release.release": ("Release",),
    "sfumato.report.characterization": ("Characterization",),
    "sfumato.report.comparison": ("Comparison",),
    "sfumato.report.price": ("Price",),
    "sfumato.report.report": ("Report",),
    "sfumato.schema.recipes": (
        "dates",
        "intervals",
        "mask",
        "suppression",
        "taxonomy",
    ),
    "sfumato.schema.roles": ("Schema",),
    "sfumato.table": (
        "Table",
        "read",
    ),
    "sfumato.utility.use": ("Use",),
    "sfumato.workflow.anonymize": (
        "anonymize",
        "generalize",
    ),
    "sfumato.workflow.audit": ("audit",),
    "sfumato.workflow.characterize": ("characterize",),
    "sfumato.workflow.compare": ("compare",),
    "sfumato.workflow.containment": (
        "Containment",
        "NodeMap",
        "compare_nodes",
    ),
    "sfumato.workflow.price": ("price",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = sorted(_HOME_OF)


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("sfumato")
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module 'sfumato' has no attribute {name!r}")
    return getattr(import_module(home), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
