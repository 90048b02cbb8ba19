"""Who made a report, when, and of what: what somebody who signs it must be able to check.

A fingerprint is the SHA-256 of a file, as `sha256sum` tells it, or of a policy or a table as they
were understood where they came from no file. All of it is the owner's: a hash of the private table
tells whoever has a copy, or guesses one, that it is the table. Public pages have none of it; what
was handed out is told by the hashes in its manifest.

What a report is about does not depend on who made it.
"""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

from sfumato.errors import InputError, quoted
from sfumato.policy.model import Policy
from sfumato.table import FileStamp, Table

SHORT = 16  # signs of a fingerprint that are told to people
_EPOCH = "SOURCE_DATE_EPOCH"  # what fixes the date where files must come out the same
_LONGEST = 200  # letters of a name

InputKind = Literal["table", "release", "policy"]


def today() -> dt.date:
    """The date of now, in UTC; that of SOURCE_DATE_EPOCH where it is set, as in builds."""
    fixed = os.environ.get(_EPOCH)
    if fixed is None:
        return dt.datetime.now(dt.UTC).date()
    try:
        return dt.datetime.fromtimestamp(int(fixed), dt.UTC).date()
    except (ValueError, OverflowError, OSError):
        raise InputError(f"{_EPOCH} = {fixed!r} is no number of seconds since 1970") from None


@dataclass(frozen=True)
class Fingerprint:
    """What something is known by: its SHA-256, or the beginning of one."""

    subject: InputKind
    name: str
    sha256: str

    @property
    def short(self) -> str:
        return self.sha256[:SHORT]


@dataclass(frozen=True)
class Provenance:
    """By whom and when a report was made, of which files and by which policy. Private.

    `table` is what it was worked out on, where that is known. `raw`: what was read as a release
    shows everything as it is, and is the table itself.
    """

    by: str = ""
    on: dt.date = field(default_factory=today)
    release_files: tuple[FileStamp, ...] = ()
    raw: bool = False
    table: Table | None = None
    policy: Policy | None = None

    def fingerprints(self) -> list[Fingerprint]:
        """Of whatever is there to be checked; not of a file that has changed since."""
        known = []
        if self.policy is not None:
            known.append(Fingerprint("policy", "as it is understood", self.policy.fingerprint))
        if self.table is not None:
            known += _of_files("table", self.table.files)
            if not self.table.files and self.table.counts.fits_memory:
                label = f"{self.table.source.label}, as counted"
                known.append(Fingerprint("table", label, self.table.fingerprint))
        return [*known, *_of_files("table" if self.raw else "release", self.release_files)]

    def to_dict(self) -> dict[str, object]:
        """For programs."""
        return {
            "by": self.by or None,
            "on": self.on.isoformat(),
            "fingerprints": [
                {"of": fingerprint.subject, "name": fingerprint.name, "sha256": fingerprint.sha256}
                for fingerprint in self.fingerprints()
            ],
        }


def _of_files(subject: InputKind, stamps: Iterable[FileStamp]) -> list[Fingerprint]:
    return [
        Fingerprint(subject, stamp.content.name, sha256)
        for stamp in stamps
        if (sha256 := stamp.sha256()) is not None
    ]


def checked_name(by: object) -> str:
    """Who made it, in one line."""
    if not isinstance(by, str) or len(by) > _LONGEST or not by.isprintable():
        raise InputError(f"by = {quoted(by)} is not allowed; give a name in one line")
    return by.strip()
