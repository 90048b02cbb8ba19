"""Criteria: privacy definitions with parameters. Each is registered here once, by its name."""

from __future__ import annotations

from sfumato.criteria.base import Criterion
from sfumato.criteria.closeness import TCloseness
from sfumato.criteria.composition import CompositionBound
from sfumato.criteria.differential_privacy import DifferentialPrivacy
from sfumato.criteria.diversity import DistinctDiversity, EntropyDiversity, RecursiveDiversity
from sfumato.criteria.epsilon_privacy import EpsilonPrivacy
from sfumato.criteria.households import HouseholdAnonymity, HouseholdRisk
from sfumato.criteria.k_anonymity import AlphaK, KAnonymity, KMap
from sfumato.criteria.leakage import DistributionLeakage, EntropyLeakage
from sfumato.criteria.likeness import BetaLikeness, DeltaDisclosure
from sfumato.criteria.presence import DeltaPresence
from sfumato.criteria.relative_threat import RelativeThreatBound
from sfumato.criteria.several_rows import SeveralRows
from sfumato.criteria.skyline_privacy import SkylinePrivacy
from sfumato.criteria.special_uniques import NoSpecialUniques

CRITERIA: dict[str, type[Criterion]] = {
    criterion.name: criterion
    for criterion in (
        KAnonymity,
        AlphaK,
        NoSpecialUniques,
        SeveralRows,
        DistinctDiversity,
        EntropyDiversity,
        RecursiveDiversity,
        TCloseness,
        BetaLikeness,
        DeltaDisclosure,
        EpsilonPrivacy,
        DistributionLeakage,
        EntropyLeakage,
        KMap,
        DeltaPresence,
        HouseholdAnonymity,
        HouseholdRisk,
        CompositionBound,
        DifferentialPrivacy,
        SkylinePrivacy,
        RelativeThreatBound,
    )
}
