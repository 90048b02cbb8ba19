"""The sections of a report, in the order of the page. Each part is registered here once.

A part is a function from a report to a section, or None where it has nothing to say. It asks the
report's `audience` where the public may not see what the owner sees, and knows only what it
shows; an adversary of a new paper is one more part. Attacks that are run beside an audit have
parts of their own, as many as were run.
"""

from __future__ import annotations

from collections.abc import Callable

from sfumato.progress import phase
from sfumato.report.exhibit import Section
from sfumato.report.model import Report
from sfumato.report.parts import (
    attacks,
    costs,
    criteria,
    knowledge,
    lattice,
    linkage,
    next_steps,
    notes,
    observer,
    realistic,
    sizes,
    threats,
    worst,
)

Part = Callable[[Report], Section | None]

PARTS: tuple[Part, ...] = (
    criteria.section,
    costs.section,
    next_steps.section,
    threats.section,
    linkage.section,
    sizes.section,
    worst.section,
    observer.section,
    realistic.section,
    knowledge.section,
    lattice.section,
)


@phase("reporting")
def sections_of(report: Report) -> tuple[Section, ...]:
    """What every part has to say about a report."""
    found = [*(part(report) for part in PARTS), *attacks.sections(report), notes.section(report)]
    return tuple(section for section in found if section is not None)
