"""Small random tables: few groups, few values, small counts, so that ties happen often."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import strategies as st

from sfumato.release.groups import Groups
from tests.oracles.criteria_oracle import Rows


@dataclass(frozen=True)
class Small:
    """Counts of groups by values, and the reference's weights (one per value)."""

    counts: tuple[tuple[int, ...], ...]
    reference: tuple[int, ...]

    @property
    def width(self) -> int:
        return len(self.reference)

    @property
    def rows(self) -> Rows:
        return [
            (group, value)
            for group, counts in enumerate(self.counts)
            for value, n in enumerate(counts)
            for _ in range(n)
        ]

    @property
    def groups(self) -> Groups:
        return Groups(self.counts, reference=self.reference)


def group_counts(width: int, most: int = 6) -> st.SearchStrategy[tuple[int, ...]]:
    """Counts of one group that has somebody in it."""
    return st.tuples(*[st.integers(0, most)] * width).filter(any)


@st.composite
def tables(draw: st.DrawFn, *, covering: bool = False) -> Small:
    """A table whose reference is its own sums, perhaps with suppressed rows added.

    Unless it must cover the groups, the reference may also be any weights at all.
    """
    width = draw(st.integers(1, 5))
    counts = tuple(draw(st.lists(group_counts(width), min_size=1, max_size=4)))
    sums = [sum(column) for column in zip(*counts, strict=True)]
    kind = draw(st.sampled_from(("sums", "suppressed", *(() if covering else ("any",)))))
    if kind == "any":
        return Small(counts, draw(group_counts(width)))
    extra = draw(group_counts(width, 3)) if kind == "suppressed" else (0,) * width
    return Small(counts, tuple(a + b for a, b in zip(sums, extra, strict=True)))
