"""People with several values each: small random tables, and their counts by plain Python."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from hypothesis import strategies as st

from sfumato.counts.counts import Counts
from sfumato.release.groups import Groups
from sfumato.release.release import Release
from sfumato.schema.region import MISSING

Listed = Sequence[str | None] | None  # None: the whole list is missing
Person = tuple[str, Listed]
Held = tuple[str, ...]  # what somebody has, in canonical order


@st.composite
def people(draw: st.DrawFn, *, missing: bool = True, most: int = 8) -> list[Person]:
    """A few people of a few quasi-identifiers; short lists of few values, often equal."""
    value: st.SearchStrategy[str | None] = st.sampled_from("abc")
    if missing:
        value = value | st.none()
    listed: st.SearchStrategy[Listed] = st.lists(value, max_size=4)
    if missing:
        listed = listed | st.none()
    return draw(st.lists(st.tuples(st.sampled_from("xyz"), listed), min_size=1, max_size=most))


def held(listed: Listed, several: str) -> Held:
    """What a person has: a missing list holds the missing value."""
    texts = [MISSING] if listed is None else [MISSING if v is None else v for v in listed]
    return tuple(sorted(texts if several == "multiset" else set(texts)))


def expected_tuples(rows: Sequence[Person], several: str) -> Counter[tuple[str, Held]]:
    return Counter((quasi, held(listed, several)) for quasi, listed in rows)


def tuples_of(counts: Counts) -> Counter[tuple[str, Held]]:
    """The distinct (quasi-identifier, values held) of a table with one column of each role."""
    (attribute,), (quasi,) = counts.sensitive, counts.quasi
    found: Counter[tuple[str, Held]] = Counter()
    for place, n in enumerate(counts.n):
        code = int(counts.values[0, place])
        codes = [code]
        if attribute.sets is not None:
            low, high = attribute.sets.offsets[code : code + 2]
            codes = attribute.sets.members[low:high].tolist()
        values = tuple(sorted(attribute.domain.labels[one] for one in codes))
        found[quasi.labels[int(counts.codes[0, place])], values] += int(n)
    return found


def expected_groups(rows: Sequence[Person], several: str) -> dict[str, tuple[int, dict[str, int]]]:
    """By quasi-identifier: the people, and how often each value occurs among them."""
    found: dict[str, tuple[int, dict[str, int]]] = {}
    for quasi in {quasi for quasi, _ in rows}:
        mine = [held(listed, several) for other, listed in rows if other == quasi]
        found[quasi] = len(mine), dict(Counter(value for values in mine for value in values))
    return found


def groups_by(release: Release) -> dict[str, tuple[int, dict[str, int]]]:
    """The same of a release with one quasi-identifier."""
    groups: Groups = release.groups
    (name,) = release.regions.columns
    return {
        release.regions.describe(g)[name]: (int(groups.sizes[g]), groups.counts_of(g))
        for g in range(len(groups))
    }
