"""What is believed of one person, as one fact after another is learnt, as a document.

Stands apart: it is about a particular person, and what skylines tell is about anybody.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction

from sfumato.adversaries.base import chance
from sfumato.adversaries.skyline.belief import InformedBelief
from sfumato.errors import list_some
from sfumato.numbers import fraction
from sfumato.release.release import Release
from sfumato.report.document import OF_TABLE, Document, Gist, Section, Sheet
from sfumato.report.report import shows_all


def belief_document(
    release: Release, target: str, value: str, believed: Sequence[InformedBelief], confidence: float
) -> Document:
    """What is believed of one person as one fact after another is learnt."""
    rows = [
        (belief.knowing or "nothing but the release", str(belief), _sure(belief))
        for belief in believed
    ]
    fits, by_row = believed[-1].fits, believed[-1].by_row
    if by_row:
        where = _rows_where(release, by_row)
    elif len(fits) == 1:
        people = int(release.groups.sizes[fits[0]])
        where = f"in the group {release.regions.name(fits[0])}, of {people:,} people"
    else:
        where = f"in one of {len(fits):,} groups, it is not known which: bounds are told"
    if release.regions.centroids:
        where += ", by its centroid, which is the nearest and need not be the right one"
    reaches = believed[-1] >= fraction(confidence)
    end = "reaches" if reaches else "stays below"
    answer = f"who knows all of it {end} {100 * confidence:g}%"
    sheet = Sheet(("she learns", "believes", "that is"), tuple(rows))
    return Document(
        "belief",
        f"How sure somebody is of one person in {release.label}",
        f"Does the target ({target}) have {value!r}? He is {where}. Every way in which the "
        f"{'rows' if by_row else 'people'} of a group can have its values is as likely to her as "
        f"any other. Who knows all of it {end} {100 * confidence:g}%.",
        (
            Section(
                f"That the target has {value}",
                "",
                (sheet,),
            ),
        ),
        facts={
            "release": release.label,
            "target": target,
            "value": value,
            "confidence": confidence,
            "reaches": reaches,
            "groups": [release.regions.describe(group) for group in fits],
            "known_rows": len(by_row) or None,
            "beliefs": [
                {
                    "learns": belief.knowing,
                    "belief": float(belief),
                    "fraction": str(Fraction(belief)),
                    "at_least": str(belief.least),
                    "at_most": belief.at_most,
                }
                for belief in believed
            ],
        },
        private=OF_TABLE if shows_all(release) else "",
        gist=Gist({"The target": f"{target}, {where}", "Answer": answer}, sheet, ""),
    )


def _rows_where(release: Release, by_row: Sequence[Sequence[int]]) -> str:
    """Where the known rows of somebody are."""
    many = f"known by {len(by_row):,} row{'s' * (len(by_row) != 1)}"
    if any(len(groups) > 1 for groups in by_row):
        return f"{many}, of some it is not known in which group: bounds are told"
    counted = Counter(group for (group,) in by_row)
    rows = release.groups.published_rows
    listed = [
        f"{n:,} of the {rows[group]:,} in the group {release.regions.name(group)}"
        for group, n in counted.items()
    ]
    return f"{many}, {list_some(listed, 5)}, and asked is whether any of them says it"


def _sure(belief: InformedBelief) -> str:
    return f"{'at most ' * belief.at_most}{chance(float(belief))}"
