"""Random visits of a few people whose rows a pseudonym links, and their releases."""

from __future__ import annotations

from collections import defaultdict

import pandas as pd
from hypothesis import strategies as st

import sfumato as sf
from tests.oracles.linked_composition_oracle import Levels, Row

AGES = sf.intervals([10, 20])
WARDS = sf.suppression()

VISITS: list[Row] = [
    *[("a", 21, "N", "u"), ("a", 31, "S", "v"), ("b", 22, "N", "w"), ("b", 33, "S", "v")],
    *[("c", 24, "N", "v"), ("c", 36, "S", "u"), ("d", 25, "N", "w"), ("d", 37, "S", "w")],
    *[("e", 26, "N", "u"), ("f", 27, "N", "v")],
]


def schema(**more) -> sf.Schema:
    told = {"quasi": ["age", "ward"], "sensitive": "ill", "person": "id", "rows": "linked"}
    return sf.Schema(**{**told, "hierarchies": {"age": AGES, "ward": WARDS}, **more})


def table_of(visits: list[Row], **more) -> sf.Table:
    frame = pd.DataFrame(visits, columns=["id", "age", "ward", "ill"])
    return sf.read(frame, schema(**more), threads=1)


def release_of(rows: list[Row], levels: Levels, k: int = 1) -> sf.Release:
    return sf.generalize(table_of(rows), list(levels), [sf.KAnonymity(k)], suppression=1.0)


def by_person(rows: list[Row]) -> list[list[Row]]:
    people = defaultdict(list)
    for row in rows:
        people[row[0]].append(row)
    return list(people.values())


def some_cut(rows: list[Row], k: int) -> bool:
    """Whether too few people have some number of rows, so that a release cuts these."""
    lengths = [len(person) for person in by_person(rows)]
    return min(map(lengths.count, lengths)) < k


rows_ = st.lists(
    st.tuples(
        st.sampled_from("abcde"),
        st.sampled_from([20, 25, 31, 38]),
        st.sampled_from("NS"),
        st.sampled_from(["u", "v", "w"]),
    ),
    min_size=3,
    max_size=9,
).filter(lambda rows: max(map(len, by_person(rows))) <= 4)
levels_ = st.tuples(st.integers(0, 2), st.integers(0, 1))
