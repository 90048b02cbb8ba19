"""Evidence: what the sections of a report are worked out from, when somebody asks for them.

An audit judges and returns; charts, costs and suggestions cost more than the verdicts and are made
for a page, not for an exit code.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sfumato.adversaries.threat import Threat
from sfumato.criteria.base import Criterion
from sfumato.policy.model import Policy
from sfumato.release.release import Release
from sfumato.report.advice import Advice
from sfumato.table.load import Table

if TYPE_CHECKING:
    from sfumato.report.model import Report


@dataclass(frozen=True)
class Evidence:
    """The release that was judged, by which criteria, and who can say more about it.

    `late` runs adversaries whose code is slow to load, `advise` works out what to do next,
    `as_published` audits the release once more as anybody can read it; they belong to a room below
    this one. Without a policy only criteria were given.
    `attacks` are results of adversaries that were run beside the audit. `table` is the one the
    release was made of, where it was not made here; `dearest` tells which promise costs most.
    """

    release: Release
    criteria: tuple[Criterion, ...]
    policy: Policy | None = None
    attacks: tuple[Any, ...] = ()
    late: Callable[[], list[Threat]] | None = None
    advise: Callable[[], Advice] | None = None
    as_published: Callable[[], Report] | None = None
    table: Table | None = None
    dearest: str = ""
