"""Rule sets: published lists of conditions a file is measured by, paragraph by paragraph."""

from sfumato.policy.rules.base import RuleSet
from sfumato.policy.rules.conventions import PublicFile, RiskThreshold, StatisticsOffice
from sfumato.policy.rules.safe_harbor import SafeHarbor

RULE_SETS: dict[str, type[RuleSet]] = {
    rules.name: rules for rules in (SafeHarbor, RiskThreshold, StatisticsOffice, PublicFile)
}
