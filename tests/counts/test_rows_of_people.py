"""Rows of people read one by one: whose each is, whatever numbers people and columns have."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pandas as pd
import pytest

import sfumato as sf

PEOPLE = 40
NUMBERS = {
    "small": np.arange(PEOPLE, dtype=np.int16) - 7,
    "wide apart": np.arange(PEOPLE, dtype=np.int64) * 10**15 - 10**16,
    "unsigned": np.arange(PEOPLE, dtype=np.uint64) + np.uint64(2**63),
    "texts": np.array([f"p{number:02}" for number in range(PEOPLE)]),
}


def visits(numbers: np.ndarray, values: int, columns: int, seed: int = 3) -> pd.DataFrame:
    """Rows of people by their place in `numbers`, with some columns of so many values."""
    rng = np.random.default_rng(seed)
    rows = 300
    frame = {f"q{place}": rng.permutation(rows) % values for place in range(columns)}
    frame["ill"] = rng.choice(["flu", "gout"], rows)
    whose = rng.integers(0, PEOPLE, rows)
    return pd.DataFrame({**frame, "id": numbers[whose]})


def read(frame: pd.DataFrame) -> sf.Table:
    quasi = [name for name in frame if name.startswith("q")]
    return sf.read(frame, sf.Schema(quasi, "ill", person="id", rows="unlinked"))


def rows_with_owners(table: sf.Table) -> Counter[tuple[object, ...]]:
    """Every row as it was counted: its values, and whose it is."""
    counts = table.counts
    domains = [*counts.quasi, *(attribute.domain for attribute in counts.sensitive)]
    codes = np.repeat(np.vstack([counts.codes, counts.values]), counts.n, axis=1)
    cells = [
        [domain.labels[code] for code in row] for domain, row in zip(domains, codes, strict=True)
    ]
    return Counter(zip(*cells, counts.owner.tolist(), strict=True))


@pytest.mark.parametrize("numbers", NUMBERS.values(), ids=NUMBERS)
@pytest.mark.parametrize(
    ("values", "columns"),
    [(4, 2), (190, 8), (190, 9)],
    ids=["one number", "one number without room for people", "a code for each column"],
)
def test_each_row_is_her_own(numbers: np.ndarray, values: int, columns: int) -> None:
    frame = visits(numbers, values, columns)
    combinations = 2 * values**columns
    assert (combinations < 2**62 / PEOPLE, combinations < 2**62) == (columns == 2, columns < 9)
    place = {number: at for at, number in enumerate(sorted(set(frame["id"])))}
    expected = Counter(
        (*map(str, row[:-1]), place[row[-1]]) for row in frame.itertuples(index=False, name=None)
    )
    assert rows_with_owners(read(frame)) == expected


@pytest.mark.parametrize("numbers", NUMBERS.values(), ids=NUMBERS)
def test_the_order_of_rows_says_nothing(numbers: np.ndarray) -> None:
    frame = visits(numbers, 3, 2)
    counts, again = (read(each).counts for each in (frame, frame.sample(frac=1, random_state=1)))
    for field in ("codes", "values", "n", "owner"):
        assert np.array_equal(getattr(counts, field), getattr(again, field))
