"""A release as anybody reads it: no table behind it, no weights, no value that nobody shows.

Stands apart: a release as anybody reads it.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sfumato.release.groups import Groups
from sfumato.release.release import Release
from sfumato.schema.domain import Domain


def as_read(release: Release) -> Release:
    """The same groups, told by what is published alone.

    Distributions are those of published people, and a value that only suppressed people have is
    not there, unless the schema declares it.
    """
    alone = {}
    for name, groups in release.by_attribute.items():
        declared = name in release.schema.domains
        alone[name] = groups.unreferenced() if declared else _shown(groups)
    return replace(release, by_attribute=alone, population=None)


def _shown(groups: Groups) -> Groups:
    """Groups by the values somebody in them has."""
    present = np.unique(groups.indices)
    if len(present) == groups.width:
        return groups.unreferenced()
    domain = groups.domain
    if domain is not None:
        values = tuple(domain.values[code] for code in present)
        domain = Domain(domain.name, domain.kind, values)
    codes = np.full(groups.width, -1, dtype=np.int64)
    codes[present] = np.arange(len(present))
    return groups.relabel(codes, tuple(groups.values[code] for code in present), domain)
