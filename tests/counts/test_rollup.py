"""Rolling up: from whatever finer node, the groups are those of counting from scratch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.counts.counts import Attribute, Counts, Sets
from sfumato.counts.roll_up import Rolled, SparseCells, Steps, lowest
from sfumato.errors import ResourceError
from sfumato.schema.domain import Domain
from sfumato.schema.hierarchy import Level, Levels
from sfumato.schema.region import Anything, ValueSet

Labels = tuple[int, ...]


def finest(counts: Counts, levels: Sequence[Levels], cells: Sequence[SparseCells]) -> Rolled:
    """The node that generalizes nothing."""
    return lowest(counts, Steps(levels), (0,) * len(levels), cells)


@dataclass(frozen=True)
class Case:
    """Counts with any nested levels, and the node that generalizes nothing."""

    counts: Counts
    levels: tuple[Levels, ...]
    base: Rolled

    @property
    def top(self) -> Labels:
        return tuple(one.height - 1 for one in self.levels)

    def labels(self, place: int, levels: Labels) -> Labels:
        return tuple(
            int(one[level].codes[code])
            for one, level, code in zip(
                self.levels, levels, self.counts.codes[:, place], strict=True
            )
        )


def held(counts: Counts, place: int, attribute: int) -> list[int]:
    """The sensitive values of the people of one tuple."""
    code, sets = int(counts.values[attribute, place]), counts.sensitive[attribute].sets
    if sets is None:
        return [code]
    return [int(value) for value in sets.members[sets.offsets[code] : sets.offsets[code + 1]]]


def some_levels(size: int, chance: Random) -> Levels:
    """Nested labels of `size` values: some merge at every step, numbered at random."""
    domain = Domain(f"c{size}", "categorical", tuple(f"v{code}" for code in range(size)))
    codes = list(range(size))
    found = [codes]
    while len(set(codes)) > 1 and len(found) < 4:
        labels = sorted(set(codes))
        becomes = [chance.randrange(max(1, len(labels) - 1)) for _ in labels]
        used = sorted(set(becomes), key=lambda _: chance.random())
        codes = [used.index(becomes[labels.index(code)]) for code in codes]
        found.append(codes)
    levels = []
    for labels in [*found, [0] * size]:
        regions = tuple(
            ValueSet(frozenset(f"v{code}" for code in range(size) if labels[code] == label))
            for label in range(max(labels) + 1)
        )
        levels.append(Level(np.array(labels, dtype=np.int32), regions))
    return Levels(domain, (*levels[:-1], Level(levels[-1].codes, (Anything(),))))


def some_case(seed: int) -> Case:
    chance = Random(seed)
    levels = tuple(some_levels(chance.randint(1, 6), chance) for _ in range(chance.randint(1, 4)))
    values = [Domain(name, "categorical", ("a", "b", "c", "d")) for name in ("single", "several")]
    sets = Sets(np.array([0, 1, 3, 3, 6]), np.array([2, 0, 1, 0, 2, 3], dtype=np.int32))
    total = chance.randint(1, 30)
    sizes = [len(one.domain) for one in levels]
    counts = Counts(
        quasi=tuple(one.domain for one in levels),
        sensitive=(Attribute(values[0]), Attribute(values[1], sets)),
        codes=np.array([[chance.randrange(s) for _ in range(total)] for s in sizes], np.int32),
        values=np.array([[chance.randrange(4) for _ in range(total)] for _ in values], np.int32),
        n=np.array([chance.randint(1, 4) for _ in range(total)]),
    ).compact()
    return Case(
        counts, levels, ungeneralized(counts, levels, [cells_of(counts, place) for place in (0, 1)])
    )


def ungeneralized(
    counts: Counts, levels: tuple[Levels, ...], cells: Sequence[SparseCells]
) -> Rolled:
    """The node of the table's own groups."""
    return lowest(counts, Steps(levels), (0,) * len(levels), cells)


def cells_of(counts: Counts, attribute: int) -> SparseCells:
    """The sensitive counts of the table's own groups."""
    group, first = counts.group_of
    summed: list[Counter[int]] = [Counter() for _ in first]
    for place, n in enumerate(counts.n.tolist()):
        for value in held(counts, place, attribute):
            summed[group[place]][value] += n
    flat = [pair for one in summed for pair in one.items()]
    return SparseCells(
        np.cumsum([0, *map(len, summed)]),
        np.array([value for value, _ in flat], dtype=np.int32),
        np.array([n for _, n in flat], dtype=np.int64),
        4,
    )


cases = st.integers(0, 10**6).map(some_case)


def check_node(node: Rolled, case: Case) -> None:
    """Labels, people, sensitive counts and the way back are those of counting from scratch."""
    sizes: Counter[Labels] = Counter()
    values: dict[Labels, list[Counter[int]]] = {}
    for place, n in enumerate(case.counts.n.tolist()):
        labels = case.labels(place, node.levels)
        sizes[labels] += n
        of_group = values.setdefault(labels, [Counter(), Counter()])
        for attribute in range(2):
            for value in held(case.counts, place, attribute):
                of_group[attribute][value] += n
    shown = [tuple(codes) for codes in node.codes().T.tolist()]
    assert dict(zip(shown, node.sizes.tolist(), strict=True)) == sizes
    for attribute, cells in enumerate(node.cells):
        assert cells.width == 4
        for group, labels in enumerate(shown):
            here = slice(cells.indptr[group], cells.indptr[group + 1])
            listed = list(zip(cells.indices[here].tolist(), cells.data[here].tolist(), strict=True))
            assert len(dict(listed)) == len(listed)
            assert dict(listed) == values[labels][attribute]
    in_base, _ = case.counts.group_of
    of_tuple = node.of_base()[in_base]
    for place, group in enumerate(of_tuple.tolist()):
        assert shown[group] == case.labels(place, node.levels)


@given(case=cases, data=st.data())
def test_rolled_up_is_counted_from_scratch(case: Case, data) -> None:
    check_node(case.base, case)
    node = case.base
    for _ in range(data.draw(st.integers(1, 6))):
        column = data.draw(st.integers(0, len(case.levels) - 1))
        level = data.draw(st.integers(node.levels[column], case.top[column]))
        finer, node = node, node.up(column, level)
        assert node.levels[column] == level
        assert (node is finer) == (level == finer.levels[column])
        if data.draw(st.booleans()):  # counts are merged on demand: through one step or many
            check_node(node, case)
    check_node(node, case)


@given(case=cases, data=st.data())
def test_the_way_up_does_not_matter(case: Case, data) -> None:
    goal = tuple(data.draw(st.integers(0, top)) for top in case.top)
    ends = []
    for _ in range(2):
        node = case.base
        for column in data.draw(st.permutations(range(len(goal)))):
            middle = data.draw(st.integers(0, goal[column]))
            node = node.up(column, middle).up(column, goal[column])
        ends.append({tuple(c): n for c, n in zip(node.codes().T.tolist(), node.sizes, strict=True)})
    assert ends[0] == ends[1]


@given(case=cases, data=st.data())
def test_margins_count_the_kept_people_by_label(case: Case, data) -> None:
    node = case.base
    for column, top in enumerate(case.top):
        node = node.up(column, data.draw(st.integers(0, top)))
    chance = np.random.default_rng(data.draw(st.integers(0, 99)))
    kept = chance.random(len(node)) < 0.7
    expected: Counter[tuple[int, int]] = Counter()
    for labels, size in zip(node.codes().T[kept].tolist(), node.sizes[kept], strict=True):
        expected.update({(column, label): int(size) for column, label in enumerate(labels)})
    labels = [len(one[at].regions) for one, at in zip(case.levels, node.levels, strict=True)]
    found = np.split(node.margins(kept), np.cumsum(labels)[:-1])
    assert [len(one) for one in found] == labels
    told = {(c, label): int(n) for c, one in enumerate(found) for label, n in enumerate(one) if n}
    assert told == dict(expected)


def test_many_groups_with_keys_beyond_32_bits() -> None:
    """Two columns of 100,000 values: the hash table fills and keys are large."""
    size = 100_000
    domain = Domain("c", "categorical", tuple(f"v{code}" for code in range(size)))
    codes = np.arange(size, dtype=np.int32)
    regions = tuple(ValueSet(frozenset({value})) for value in domain.values)
    levels = Levels(
        domain,
        (
            Level(codes, regions),
            Level(codes // 1000, tuple(ValueSet(frozenset({f"{g}"})) for g in range(100))),
            Level(np.zeros_like(codes), (Anything(),)),
        ),
    )
    chance = np.random.default_rng(1)
    pairs = np.unique(chance.integers(0, size, (50_000, 2), dtype=np.int32), axis=0).T
    n = chance.integers(1, 5, pairs.shape[1])
    counts = Counts((domain, domain), (), pairs, np.zeros((0, len(n)), dtype=np.int32), n)
    base = ungeneralized(counts, (levels, levels), ())
    assert base.keys.max() > 1 << 32
    assert len(base) == pairs.shape[1]
    node = base.up(1, 1).up(0, 1)
    cross = np.zeros((100, 100), dtype=np.int64)
    np.add.at(cross, (pairs[0] // 1000, pairs[1] // 1000), n)
    found = np.zeros_like(cross)
    found[node.codes()[0], node.codes()[1]] = node.sizes
    assert len(node) == (cross > 0).sum()
    assert (found == cross).all()


def test_too_many_combinations_are_refused() -> None:
    chance = Random(0)
    levels = tuple(some_levels(6, chance) for _ in range(24))
    counts = Counts(
        tuple(one.domain for one in levels),
        (),
        np.zeros((24, 1), dtype=np.int32),
        np.zeros((0, 1), dtype=np.int32),
        np.array([1]),
    )
    with pytest.raises(ResourceError, match="too many for a lattice search"):
        ungeneralized(counts, levels, ())
