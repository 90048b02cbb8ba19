"""From a table and a policy to a release folder: all of `sfumato anonymize` but its reading.

Whoever publishes does it by this one road, a command as well as the workbench: the same table, the
same policy and the same seed make the same folder.

A command only says how, the workbench only shows what came of it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from sfumato.adversaries.linkage.record_risks import check_records
from sfumato.engines.form import check_format
from sfumato.errors import InputError
from sfumato.files import check_new_folder
from sfumato.policy.model import Policy
from sfumato.release.release import Release
from sfumato.report.report import Report
from sfumato.table import Table
from sfumato.workflow.anonymize import anonymize
from sfumato.workflow.audit import audit
from sfumato.workflow.like import PointFile
from sfumato.workflow.price import add_price


@dataclass(frozen=True)
class Published:
    """A release that was written, what was found out about it, and the policy it was made by."""

    release: Release
    report: Report
    policy: Policy


@dataclass(frozen=True)
class Publication:
    """Where a release is written and how; what cannot be meant is refused before a table is read.

    `format`: by default data are written the way they came. `like` names a point of a comparison
    (`map.json#7`), which has its own seed. `price`: work out what each promise costs; None: where
    little is left of the data. `by`: who answers for it.
    """

    out: Path
    format: str | None = None
    like: str | None = None
    seed: int | None = None
    price: bool | None = None
    record_risks: bool = False
    codebook: bool = True
    by: str = ""
    force: bool = False

    def __post_init__(self) -> None:
        check_new_folder(self.out, force=self.force)
        if self.format is not None:
            check_format(self.format)

    @cached_property
    def _point(self) -> PointFile | None:
        if self.like is None:
            return None
        if self.seed is not None:
            raise InputError("--like has its own seed; leave --seed out")
        return PointFile.read(self.like)

    def check(self) -> None:
        """Refuse a point that is none; after the policy was read, which is more often wrong."""
        _ = self._point

    def publish(self, table: Table, policy: Policy) -> Published:
        """Make the release, judge it, and write the folder: whole or not at all."""
        if self.record_risks:
            check_records(table)
        seed, taken = self.seed, None
        if self._point is not None:
            chosen = self._point.point(table, policy)
            taken = self._point.taken(table, policy)
            policy, seed = chosen.policy, chosen.seed
        release = anonymize(table, policy, seed=seed)
        report = audit(release, policy, by=self.by)
        if report.evidence is not None:
            report = replace(report, evidence=replace(report.evidence, taken_from=taken))
        report = add_price(report, table, policy, asked=self.price)
        risks = report.record_risks() if self.record_risks else None
        release.save(
            self.out,
            report=report,
            policy=policy,
            format=self.format,
            force=self.force,
            records=risks,
            codebook=self.codebook,
        )
        return Published(release, report, policy)
