"""What one adversary makes of a release: a question of `sfumato attack`, or of the workbench.

An audit asks the adversaries that a policy names, or stand-ins. Here one is asked by herself, with
what she knows as it is given; where nothing is given, as the policy has her.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sfumato.adversaries.base import FACTOR
from sfumato.adversaries.realistic.adversary import RealisticAdversary
from sfumato.criteria import CRITERIA
from sfumato.criteria.base import Criterion, Verdict
from sfumato.errors import InputError
from sfumato.policy.model import Policy
from sfumato.progress import phase
from sfumato.release.groups import Groups
from sfumato.release.release import Release
from sfumato.report.document import Document
from sfumato.report.sections.realistic import realistic_document
from sfumato.schema.notation import read_description
from sfumato.table import Table

if TYPE_CHECKING:  # sampling takes most of a second to import
    from sfumato.adversaries.relative_threat.result import RelativeThreat

VictimAsked = tuple[str, dict[str, object]]  # as it was told, and what is known by column

# Somebody with outside statistics.


def groups_about(release: Release, sensitive: str | None) -> Groups:
    """The groups by a sensitive column, the first unless it is named."""
    if sensitive is not None:
        return release.groups_for(sensitive)
    names = [name for name in release.by_attribute if name]
    if not names:
        raise InputError("the release has no sensitive column")
    return release.groups_for(names[0])


def usual_epsilon(policy: Policy, release: Release, attribute: str | None) -> float:
    """What the policy allows of a row about a column; where it says nothing, that it doubles."""
    for criterion in policy.require:
        for adversary, groups in criterion.adversaries(release):
            if isinstance(adversary, RealisticAdversary) and groups.attribute == attribute:
                return float(criterion.limit or FACTOR)
    return FACTOR


@phase("attacking")
def ask_realistic(
    release: Release,
    adversary: RealisticAdversary,
    epsilon: float,
    sensitive: str | None = None,
) -> Document:
    """What she comes to believe, and which groups move her farther than a factor epsilon."""
    if release.regions.noisy:
        raise InputError("counts of a randomised release are noisy; it carries its own guarantee")
    groups = groups_about(release, sensitive)
    bound: Criterion = CRITERIA["epsilon-privacy"](
        epsilon=epsilon,  # type: ignore[call-arg]  # checked there
        adversary=adversary,
        sensitive=groups.attribute,
    )
    return realistic_document(
        release, adversary.attack(release, groups), epsilon, bound.verdict(groups)
    )


# Somebody who knows that her victim is in it, against a learner who does not.


def read_victim(text: str) -> VictimAsked:
    """What is known of somebody: `age=34|35,zip=13053@0.7|13068@0.3`."""
    described = read_description(text, "victim") if text else {}
    return text, {name: _seen(text, value) for name, value in described.items()}


def _seen(victim: str, value: str) -> object:
    """A value; several of them (`34|35`), or what was seen with its chances (`34@0.7|35@0.3`)."""
    several = [piece.strip() for piece in value.split("|")]
    if "@" not in value:
        return several if len(several) > 1 else several[0]
    pairs = [piece.rpartition("@")[::2] for piece in several]
    try:
        chances = {seen.strip(): float(chance) for seen, chance in pairs}
    except ValueError:
        chances = {}
    if len(chances) < len(pairs) or "" in chances:
        raise InputError(
            f"victim {victim!r} is not understood at {value!r}; write 34@0.7|35@0.3, each value "
            "once and with its chance"
        )
    return chances


@dataclass(frozen=True)
class MembershipAnswer:
    """The attack and the verdicts of the policy's own bounds on it."""

    threat: RelativeThreat
    verdicts: tuple[Verdict, ...]

    def document(self, label: str, victims: Sequence[VictimAsked] = ()) -> Document:
        """All of it, and what is believed of these people."""
        from sfumato.report.sections.relative_threat import relative_document

        return relative_document(self.threat, label, victims, self.verdicts)


def ask_membership(
    release: Release,
    policy: Policy,
    table: Table | None,
    given: Mapping[str, object],
    sensitive: str | None = None,
) -> MembershipAnswer:
    """Compare learner and attacker as it is given, and as the policy's bound has it otherwise.

    The bound itself is judged as the policy has it, whatever is asked.
    """
    from sfumato.adversaries.relative_threat.relative import MembershipAttacker

    about = None if sensitive is None else release.groups_for(sensitive)
    bounded = [
        (adversary, groups)
        for bound in policy.require
        for adversary, groups in bound.asked_with(release, table)
        if isinstance(adversary, MembershipAttacker) and sensitive in (None, groups.attribute)
    ]
    attacker = bounded[0][0] if bounded else MembershipAttacker(table=table)
    if len({groups.attribute for _, groups in bounded}) == 1:
        about = bounded[0][1]
    threat = replace(attacker, **given).attack(release, about)  # type: ignore[arg-type]
    verdicts = []
    for criterion in policy.require:
        answers_bound = criterion.judge_attacks(release, [threat]) is not None
        attacks = [threat] + [
            adversary.attack(release, groups)
            for adversary, groups in criterion.asked_with(release, table)
            if table is not None and not (answers_bound and groups.attribute == threat.attribute)
        ]
        verdict = criterion.judge_attacks(release, attacks)
        verdicts += [] if verdict is None else [verdict]
    return MembershipAnswer(threat, tuple(verdicts))
