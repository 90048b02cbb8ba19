"""How many jobs a session of Spark has run: what a query costs before it has read a row."""

from __future__ import annotations

from typing import Any


def jobs_run(session: Any) -> int:
    """All that belong to no group, as those of a plain program do."""
    return len(session.sparkContext.statusTracker().getJobIdsForGroup(None))
