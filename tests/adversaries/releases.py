"""Small releases by hand, for tests of adversaries who hold several of them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence

import numpy as np
from hypothesis import strategies as st

import sfumato as sf
from sfumato.release.description import REGIONS_OF, Buckets, Scheme
from sfumato.release.groups import Groups
from sfumato.release.release import Release
from sfumato.schema.domain import Domain
from sfumato.schema.region import Anything, Mask, Region, Span, Value, ValueSet, meaning

Shown = Region | tuple[int, int] | Value
Group = tuple[Sequence[Shown], Mapping[str, int]]


def region(shown: Shown) -> Region:
    """(20, 29) is the closed range, "*" anything, another value itself."""
    if isinstance(shown, tuple):
        return Span(*shown, high_closed=True)
    if shown == "*":
        return Anything()
    if shown is None or isinstance(shown, str | int | float | dt.date):
        return ValueSet(frozenset({shown}))
    return shown  # type: ignore[return-value]


def counts_of(groups: Sequence[Group], values: Sequence[str] | None) -> Groups:
    labels = list(values or sorted({label for _, counts in groups for label in counts}))
    rows = [[counts.get(label, 0) for label in labels] for _, counts in groups]
    domain = Domain("s", "categorical", tuple(labels))
    return Groups(rows, domain=domain)


def release(
    columns: Sequence[str],
    groups: Sequence[Group],
    *,
    values: Sequence[str] | None = None,
    scheme: Scheme = "generalized",
    label: str = "release",
    sensitive: str = "s",
) -> Release:
    """A release of these groups: what they show in each column, and their sensitive counts."""
    parts, codes = [], []
    for place in range(len(columns)):
        shown = [region(described[place]) for described, _ in groups]
        index: dict[object, int] = {}
        distinct: list[Region] = []
        row = []
        for one in shown:
            if meaning(one) not in index:
                index[meaning(one)] = len(distinct)
                distinct.append(one)
            row.append(index[meaning(one)])
        parts.append(tuple(distinct))
        codes.append(row)
    return Release(
        sf.Schema(list(columns), sensitive),
        {sensitive: counts_of(groups, values)},
        REGIONS_OF[scheme](tuple(columns), tuple(parts), np.array(codes, dtype=np.int32)),
        label=label,
        disjoint=False,
    )


def buckets(
    columns: Sequence[str], groups: Sequence[tuple[Sequence[Sequence[Value]], Mapping[str, int]]]
) -> Release:
    """A bucketized release: each group lists its people's tuples."""
    domains = []
    for place, name in enumerate(columns):
        seen = {tuple_[place] for listed, _ in groups for tuple_ in listed}
        domains.append(Domain(name, "categorical", tuple(sorted(seen, key=str))))
    indptr, codes, n = [0], [], []
    for listed, _ in groups:
        distinct = sorted(set(map(tuple, listed)), key=str)
        for one in distinct:
            codes.append([domain.code(value) for domain, value in zip(domains, one, strict=True)])
            n.append(sum(tuple(other) == one for other in listed))
        indptr.append(len(codes))
    members = Buckets(
        tuple(domains),
        np.array(indptr, dtype=np.int64),
        np.array(codes, dtype=np.int32).T.reshape(len(columns), -1),
        np.array(n, dtype=np.int64),
    )
    shown = [((), counts) for _, counts in groups]
    return Release(
        sf.Schema(list(columns), "s"),
        {"s": counts_of(shown, None)},
        members,
        label="buckets",
    )


WORDS = ("aa", "ab", "ba", "bb", "c")


numbers = st.one_of(
    st.just(Anything()),
    st.tuples(st.integers(0, 9), st.integers(0, 4), st.booleans(), st.booleans()).map(
        lambda t: Span(t[0], t[0] + t[1], low_closed=t[2], high_closed=t[3])
    ),
    st.integers(0, 9).map(lambda low: Span(low=low)),
    st.integers(0, 9).map(lambda high: Span(high=high, high_closed=True)),
    st.sets(st.one_of(st.none(), st.integers(0, 9)), min_size=1, max_size=4).map(
        lambda values: ValueSet(frozenset(values))
    ),
)


words = st.one_of(
    st.just(Anything()),
    st.sets(st.one_of(st.none(), st.sampled_from(WORDS)), min_size=1, max_size=3).map(
        lambda values: ValueSet(frozenset(values))
    ),
    st.sampled_from(["a*", "*a", "**", "b*"]).map(Mask),
)


counts = st.dictionaries(st.sampled_from("stuv"), st.integers(1, 3), min_size=1)


EVERYBODY = [{"x": x, "w": w} for x in (None, *range(10)) for w in (None, *WORDS)]


@st.composite
def generalized(draw: st.DrawFn, most: int = 5) -> sf.Release:
    """Regions of every kind, overlapping as they like."""
    shown = draw(st.lists(st.tuples(numbers, words), min_size=1, max_size=most, unique=True))
    return release(["x", "w"], [(one, draw(counts)) for one in shown], values=tuple("stuv"))
