"""Special uniques: scores by the definition, contributions, what is refused."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.adversaries.linkage import special_uniques as module
from sfumato.release.release import as_it_stands
from tests.examples import few
from tests.oracles import special_uniques_oracle as oracle

Rows = list[tuple[int, ...]]


def table(rows: Rows, **schema: object) -> sf.Table:
    width = len(rows[0])
    names = [f"c{place}" for place in range(width)]
    columns = {name: [row[place] for row in rows] for place, name in enumerate(names)}
    return sf.read(pa.table(columns), sf.Schema(quasi=names, **schema))


@st.composite
def tables(draw: st.DrawFn) -> Rows:
    width = draw(st.integers(1, 5))
    row = st.tuples(*[st.integers(0, 2)] * width)
    return draw(st.lists(row, min_size=1, max_size=12))


def by_record(found: sf.SpecialUniques, subject: sf.Table, rows: Rows) -> list[tuple[float, int]]:
    """The score of each row and how many MSUs it has, found by what it shows."""
    regions = as_it_stands(subject).regions.require_regions()
    places = {
        tuple(int(text) for text in regions.describe(group).values()): group
        for group in range(len(regions))
    }
    return [(found.score[places[row]], int(found.many[places[row]])) for row in rows]


@settings(max_examples=few(200), deadline=None)
@given(rows=tables(), size=st.integers(1, 6))
def test_scores_and_contributions_are_those_of_the_definition(rows: Rows, size: int) -> None:
    subject = table(rows)
    found = sf.special_uniques(subject, size)
    minimal = oracle.minimal_uniques(rows, size)
    scores = oracle.scores(rows, size)
    expected = [(score, len(sets)) for score, sets in zip(scores, minimal, strict=True)]
    assert by_record(found, subject, rows) == expected
    by_size = Counter(len(columns) for sets in minimal for columns in sets)
    assert found.by_size == tuple(by_size[at + 1] for at in range(found.size))
    assert found.special == sum(bool(sets) for sets in minimal)
    listed = Counter(columns for sets in minimal for columns in sets)
    named = {tuple(int(name[1:]) for name in one.columns): one.people for one in found.combinations}
    assert named == listed
    total = sum(scores)
    for place, share in enumerate(found.shares.values()):
        weights = [
            score_of_one(columns, len(rows[0]), found.size)
            for sets in minimal
            for columns in sets
            if place in columns
        ]
        assert share == pytest.approx(sum(weights) / total if total else 0)
        of_values = sum(one.share for one in found.values(10**6) if one.column == f"c{place}")
        assert of_values == pytest.approx(share)


def score_of_one(columns: tuple[int, ...], width: int, size: int) -> int:
    return int(np.prod([width - at for at in range(len(columns), size)], dtype=np.int64))


def test_keys_of_many_values_are_never_mixed_up() -> None:
    """Five columns of thousands of values each do not fit into one packed number."""
    rng = np.random.default_rng(3)
    codes = np.vstack([rng.permutation(9_000) for _ in range(5)]).astype(np.int32)
    codes = np.hstack([codes, codes[:, :1]])  # one of them twice
    people = np.ones(codes.shape[1], dtype=np.int64)
    sizes = [1 << 20] * 5
    listed = module.minimal_uniques(codes, sizes, people, 5)
    assert [columns for columns, _ in listed] == [(place,) for place in range(5)]
    assert all(len(rows) == 8_999 for _, rows in listed)
    pairs = np.hstack([codes // 2, codes // 2])  # nobody is alone
    assert module.minimal_uniques(pairs, sizes, np.ones(len(pairs[0]), np.int64), 5) == []


def test_dis_suda_is_as_sdcmicro_has_it() -> None:
    """Its published example: a is unique by column one, b by two and three, c by pairs."""
    rows = [(2, 0, 0), (1, 3, 6), (1, 0, 0)]
    found = sf.special_uniques(table(rows), 3, sampling_fraction=0.01)
    # The first is alone by c0, the second by c1 and by c2, the third by c0 with either.
    assert sorted(found.score.tolist()) == [2.0, 2.0, 4.0]
    assert found.shares == pytest.approx({"c0": 0.5, "c1": 0.375, "c2": 0.375})
    assert found.disclosure is not None
    # Nobody is in a pair, so a match in the sample is always right: U f / (U f + 0) = 1.
    assert found.disclosure.tolist() == [1.0, 1.0, 1.0]
    paired = sf.special_uniques(table([*rows, (5, 5, 5), (5, 5, 5)]), 3, sampling_fraction=0.5)
    # U = 3, P = 2, D = 1.5 / 2.5; q = 1.25, A = 2 / 2^1.25 + 1 / 4^1.25.
    adjusted = 2 * 2**-1.25 + 4**-1.25
    chances = {score: 1 / (1 + 3 * (2.5 / 1.5 - 1) / (score**1.25 * adjusted)) for score in (2, 4)}
    assert paired.disclosure is not None
    for score, chance in zip(paired.score, paired.disclosure, strict=True):
        assert chance == pytest.approx(chances[int(score)] if score else 0.0)


def test_a_release_is_judged_by_what_it_publishes() -> None:
    rows = [(place, place % 2) for place in range(8)]
    release = sf.anonymize(
        table(rows, hierarchies={"c0": sf.intervals([4])}),
        sf.Policy([sf.KAnonymity(4)], sf.Lattice()),
    )
    assert sf.special_uniques(release).special == 0
    assert sf.special_uniques(table(rows)).special == 8


WRONG = {
    "size": ({"size": 0}, "size"),
    "share": ({"sampling_fraction": 1.5}, "sampling_fraction"),
    "column": ({"columns": ["c9"]}, "c9"),
    "text": ({"columns": "c0"}, "list"),
}


@pytest.mark.parametrize(("given_", "why"), WRONG.values(), ids=list(WRONG))
def test_mistakes_are_refused(given_: dict[str, object], why: str) -> None:
    with pytest.raises(sf.InputError, match=why):
        sf.special_uniques(table([(1, 2)]), **given_)  # type: ignore[arg-type]


def test_several_rows_of_a_person_are_refused() -> None:
    data = pa.table({"age": [1, 2, 3], "who": ["a", "a", "b"]})
    subject = sf.read(data, sf.Schema(quasi=["age"], person="who"))
    with pytest.raises(sf.InputError, match="one row"):
        sf.special_uniques(subject)


def test_too_many_combinations_are_refused_before_any_work() -> None:
    codes = np.zeros((40, 4), dtype=np.int32)
    with pytest.raises(sf.ResourceError, match="smaller size"):
        module.minimal_uniques(codes, [1] * 40, np.ones(4, dtype=np.int64), 12)
