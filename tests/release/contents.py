"""All that a release says of its groups."""

from __future__ import annotations

from sfumato.release.release import Release


def content(release: Release) -> list[object]:
    """Everything an adversary reads, group by group."""
    listed = []
    for group in range(len(release.groups)):
        counts = {
            name: sorted(groups.counts_of(group).items())
            for name, groups in release.by_attribute.items()
        }
        described = sorted(release.regions.describe(group).items())
        listed.append((described, sorted(counts.items()), int(release.groups.sizes[group])))
    return sorted(listed, key=str)
