"""Sfumato publishes microdata that stands up to realistic adversaries.

The public names. They are imported when first used, so that `import sfumato` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sfumato.adversaries.base import Threat
    from sfumato.adversaries.composition.attack import IntersectionAttack, intersection_attack
    from sfumato.adversaries.linkage.risks import Linkage, linkage
    from sfumato.adversaries.random_worlds import RandomWorlds
    from sfumato.adversaries.randomised.semantic import SemanticPrivacy, semantic_privacy
    from sfumato.adversaries.realistic.adversary import RealisticAdversary
    from sfumato.adversaries.relative_threat.model import Prior
    from sfumato.adversaries.relative_threat.relative import relative_threat
    from sfumato.adversaries.relative_threat.result import RelativeThreat
    from sfumato.adversaries.skyline.breach import breach_probability
    from sfumato.adversaries.skyline.grounding import Grounding, worst_grounding
    from sfumato.adversaries.skyline.knowledge import KnowledgeSkyline, knowledge_skyline
    from sfumato.anonymizers.anatomy import Anatomy
    from sfumato.anonymizers.lattice.lattice import Lattice
    from sfumato.anonymizers.microaggregation import Microaggregation
    from sfumato.anonymizers.mondrian.mondrian import Mondrian
    from sfumato.anonymizers.noise import Noise
    from sfumato.criteria.base import Measure, Verdict
    from sfumato.criteria.closeness import TCloseness
    from sfumato.criteria.composition import CompositionBound
    from sfumato.criteria.differential_privacy import DifferentialPrivacy
    from sfumato.criteria.diversity import DistinctDiversity, EntropyDiversity, RecursiveDiversity
    from sfumato.criteria.epsilon_privacy import EpsilonPrivacy
    from sfumato.criteria.k_anonymity import AlphaK, KAnonymity
    from sfumato.criteria.k_map import KMap
    from sfumato.criteria.leakage import DistributionLeakage, EntropyLeakage
    from sfumato.criteria.likeness import BetaLikeness, DeltaDisclosure
    from sfumato.criteria.relative_threat import RelativeThreatBound
    from sfumato.criteria.skyline_privacy import SkylinePrivacy
    from sfumato.errors import (
        InputError,
        MissingExtra,
        NoSafeRelease,
        PolicyError,
        ResourceError,
        SchemaError,
        SfumatoError,
    )
    from sfumato.ledger.ledger import Ledger
    from sfumato.policy.draft.draft import Draft, draft_policy
    from sfumato.policy.model import Policy
    from sfumato.release.groups import Groups
    from sfumato.release.guarantee import Guarantee
    from sfumato.release.read.read_release import read_release
    from sfumato.release.release import Release
    from sfumato.report.characterization import Characterization
    from sfumato.report.comparison import Comparison
    from sfumato.report.report import Report
    from sfumato.schema.recipes import dates, intervals, mask, suppression
    from sfumato.schema.roles import Schema
    from sfumato.schema.taxonomy import taxonomy
    from sfumato.table.load import Table, read
    from sfumato.workflow.anonymize import anonymize, generalize
    from sfumato.workflow.audit import audit
    from sfumato.workflow.characterize import characterize
    from sfumato.workflow.compare import compare
    from sfumato.workflow.containment import Containment, NodeMap, compare_nodes

_HOMES = {
    "sfumato.workflow.anonymize": (
        "anonymize",
        "generalize",
    ),
    "sfumato.anonymizers.mondrian.mondrian": ("Mondrian",),
    "sfumato.anonymizers.noise": ("Noise",),
    "sfumato.anonymizers.microaggregation": ("Microaggregation",),
    "sfumato.anonymizers.lattice.lattice": ("Lattice",),
    "sfumato.anonymizers.anatomy": ("Anatomy",),
    "sfumato.adversaries.relative_threat.model": ("Prior",),
    "sfumato.adversaries.relative_threat.relative": ("relative_threat",),
    "sfumato.adversaries.relative_threat.result": ("RelativeThreat",),
    "sfumato.adversaries.composition.attack": ("IntersectionAttack", "intersection_attack"),
    "sfumato.adversaries.linkage.risks": ("Linkage", "linkage"),
    "sfumato.adversaries.random_worlds": ("RandomWorlds",),
    "sfumato.adversaries.realistic.adversary": ("RealisticAdversary",),
    "sfumato.adversaries.skyline.breach": ("breach_probability",),
    "sfumato.adversaries.skyline.grounding": ("Grounding", "worst_grounding"),
    "sfumato.adversaries.skyline.knowledge": ("KnowledgeSkyline", "knowledge_skyline"),
    "sfumato.adversaries.randomised.semantic": ("SemanticPrivacy", "semantic_privacy"),
    "sfumato.adversaries.base": ("Threat",),
    "sfumato.criteria.base": ("Measure", "Verdict"),
    "sfumato.criteria.closeness": ("TCloseness",),
    "sfumato.criteria.composition": ("CompositionBound",),
    "sfumato.criteria.differential_privacy": ("DifferentialPrivacy",),
    "sfumato.criteria.diversity": ("DistinctDiversity", "EntropyDiversity", "RecursiveDiversity"),
    "sfumato.criteria.epsilon_privacy": ("EpsilonPrivacy",),
    "sfumato.criteria.k_anonymity": ("AlphaK", "KAnonymity"),
    "sfumato.criteria.k_map": ("KMap",),
    "sfumato.criteria.leakage": ("DistributionLeakage", "EntropyLeakage"),
    "sfumato.criteria.likeness": ("BetaLikeness", "DeltaDisclosure"),
    "sfumato.criteria.relative_threat": ("RelativeThreatBound",),
    "sfumato.criteria.skyline_privacy": ("SkylinePrivacy",),
    "sfumato.errors": (
        "InputError",
        "MissingExtra",
        "NoSafeRelease",
        "PolicyError",
        "ResourceError",
        "SchemaError",
        "SfumatoError",
    ),
    "sfumato.ledger.ledger": ("Ledger",),
    "sfumato.policy.draft.draft": ("Draft", "draft_policy"),
    "sfumato.policy.model": ("Policy",),
    "sfumato.release.groups": ("Groups",),
    "sfumato.release.guarantee": ("Guarantee",),
    "sfumato.release.read.read_release": ("read_release",),
    "sfumato.release.release": ("Release",),
    "sfumato.report.characterization": ("Characterization",),
    "sfumato.report.comparison": ("Comparison",),
    "sfumato.report.report": ("Report",),
    "sfumato.schema.recipes": ("dates", "intervals", "mask", "suppression"),
    "sfumato.schema.roles": ("Schema",),
    "sfumato.schema.taxonomy": ("taxonomy",),
    "sfumato.table.load": ("Table", "read"),
    "sfumato.workflow.audit": ("audit",),
    "sfumato.workflow.characterize": ("characterize",),
    "sfumato.workflow.compare": ("compare",),
    "sfumato.workflow.containment": ("Containment", "NodeMap", "compare_nodes"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "AlphaK",
    "Anatomy",
    "BetaLikeness",
    "Characterization",
    "Comparison",
    "CompositionBound",
    "Containment",
    "DeltaDisclosure",
    "DifferentialPrivacy",
    "DistinctDiversity",
    "DistributionLeakage",
    "Draft",
    "EntropyDiversity",
    "EntropyLeakage",
    "EpsilonPrivacy",
    "Grounding",
    "Groups",
    "Guarantee",
    "InputError",
    "IntersectionAttack",
    "KAnonymity",
    "KMap",
    "KnowledgeSkyline",
    "Lattice",
    "Ledger",
    "Linkage",
    "Measure",
    "Microaggregation",
    "MissingExtra",
    "Mondrian",
    "NoSafeRelease",
    "NodeMap",
    "Noise",
    "Policy",
    "PolicyError",
    "Prior",
    "RandomWorlds",
    "RealisticAdversary",
    "RecursiveDiversity",
    "RelativeThreat",
    "RelativeThreatBound",
    "Release",
    "Report",
    "ResourceError",
    "Schema",
    "SchemaError",
    "SemanticPrivacy",
    "SfumatoError",
    "SkylinePrivacy",
    "TCloseness",
    "Table",
    "Threat",
    "Verdict",
    "anonymize",
    "audit",
    "breach_probability",
    "characterize",
    "compare",
    "compare_nodes",
    "dates",
    "draft_policy",
    "generalize",
    "intersection_attack",
    "intervals",
    "knowledge_skyline",
    "linkage",
    "mask",
    "read",
    "read_release",
    "relative_threat",
    "semantic_privacy",
    "suppression",
    "taxonomy",
    "worst_grounding",
]


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
