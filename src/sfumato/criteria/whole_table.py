"""Criteria that refer to the whole table, of a release that tells of published people alone.

Whoever has public/ alone knows how many people were suppressed and not what they have. A bound that
each value's share in the table can only break by being small breaks first where all of them have a
value that nobody published has: every other share is then as small as it can be. So it is for
distances that are the sum of what a group has more of than the table (t-closeness, equal) and for
gains over the table's share (beta-likeness, enhanced too: p / q - 1 + ln q falls as q grows to p).
Other criteria tell that they were judged against published values.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sfumato.criteria.base import GroupCriterion, Verdict
from sfumato.release.groups import Groups
from sfumato.release.release import Release

MAY_BREAK = "what the suppressed people have may break it"


def whoever_is_missing(
    criterion: GroupCriterion, verdict: Verdict, release: Release, groups: Groups
) -> Verdict:
    """The verdict, unless what the suppressed people have, who are unknown, may decide it."""
    if not (verdict.holds and release.whole_unknown and release.suppressed):
        return verdict
    unseen = "?" * (1 + max(map(len, groups.values), default=0))  # no value is so long
    whole = np.append(groups.reference, float(release.suppressed))
    with_them = groups.relabel(np.arange(groups.width), (*groups.values, unseen), None, whole)
    if criterion.verdict(with_them).holds:
        return verdict
    return replace(verdict.with_note(MAY_BREAK), status="cannot_judge")
