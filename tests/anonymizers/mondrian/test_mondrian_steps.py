"""Steps by NumPy and their compiled twins give the same, bit by bit, of any nodes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sfumato.anonymizers.mondrian import steps
from sfumato.numbers import offsets_of
from sfumato.schema.boundaries import BESIDE


class Case:
    """Random nodes of rows: two ordered columns, one of them with specials, and a nested one."""

    def __init__(self, seed: int) -> None:
        draw = np.random.default_rng(seed)
        rows, reach = int(draw.integers(1, 60)), int(draw.choice([3, 12, 400]))
        self.codes = draw.integers(0, [reach, 7, 6], (rows, 3)).astype(np.int32)
        self.n = draw.integers(1, 5, rows)
        ends = np.flatnonzero(draw.random(rows - 1) < draw.choice([0.0, 0.15, 0.6])) + 1
        self.starts, self.stops = np.append(0, ends), np.append(ends, rows)
        self.nested = np.array([0, 0, 6], np.int32)
        levels = [np.arange(6), np.arange(6) // 2, np.arange(6) // 4, np.zeros(6)]
        self.labels = np.concatenate(levels).astype(np.int32)
        self.at = np.zeros(3, np.int64)
        self.tops = np.tile(np.array([0, 0, 3], np.int32), (len(self.starts), 1))
        self.last = np.array([-1, 4, -1], np.int32)  # 5 and 6 are specials of the second
        self.own = draw.random(reach + 7) < draw.choice([0.0, 0.4])
        self.own_at = np.array([0, reach, 0])
        self.value = draw.integers(0, 4, rows).astype(np.int32)
        lengths = draw.integers(1, 4, 4)
        sets = [np.sort(draw.permutation(5)[:many]) for many in lengths]
        self.sets = offsets_of(lengths), np.concatenate(sets).astype(np.int32), 5
        self.single = np.zeros(0, np.int64), np.zeros(0, np.int32), 4

    def results(self, of: Any, over: Any) -> list[Any]:
        """What every step gives; `of` and `over` are whoever does those of splits and of cuts."""
        codes, n, starts, stops = self.codes, self.n, self.starts, self.stops
        own, last = (self.own, self.own_at), self.last
        nodes = np.arange(len(starts))
        nested = self.nested, self.labels, self.at
        spans = of.extents(codes, n, starts, stops, *nested, self.tops, last)
        low, high, missing = spans
        made = [*spans]
        tried = np.full(low.shape, steps.NONE, np.int32)
        for column in range(3):
            which = np.full(len(nodes), column, np.int32)
            cut = np.ascontiguousarray(low[:, column])
            if column < 2:
                cut, smaller = of.medians(
                    codes, n, starts, stops, which, cut, np.ascontiguousarray(high[:, column]), *own
                )
                tried[:, column] = cut
                cut = np.where((missing[:, column] > 0) & (cut >= 0), cut + BESIDE, cut)
                made += [cut, smaller]
            cut = cut.astype(np.int32)
            part, parts = of.assign(codes, starts, stops, which, cut, *nested, last)
            order, begins, people = of.gather(part, parts, starts, stops, n)
            made += [part, parts, order, begins, people]
            for values in (self.single, self.sets):
                made += of.cells(order, begins, self.value, n, *values)
        cuts = over.all_cuts(
            codes, n, starts, stops, self.nested, 2, 3, tried, last, self.own, self.own_at
        )
        made += cuts
        for values in (self.single, self.sets):
            where = codes, n, starts, stops, *cuts[:3]
            made += over.sides(*where, self.value, *values, last)
        return made


@pytest.mark.parametrize("seed", range(60))
def test_numpy_and_compiled_code_give_the_same(seed: int) -> None:
    from sfumato.anonymizers.mondrian import cuts, splits

    class ByNumpy:
        """The steps, whatever has been loaded."""

        def __getattr__(self, name: str) -> Any:
            return getattr(steps, name).__wrapped__

    case = Case(seed)
    plain = case.results(ByNumpy(), ByNumpy())
    compiled = case.results(splits, cuts)
    for place, (ours, twin) in enumerate(zip(plain, compiled, strict=True)):
        assert ours.dtype == twin.dtype, place
        np.testing.assert_array_equal(ours, twin, err_msg=str(place))
