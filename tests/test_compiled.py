"""Named tuples that compiled code is handed by address: it reads and writes what Python does."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import numpy as np
import pytest
from numba import typeof
from numba.core import caching, config

from sfumato.compiled import _type_by_address as by_address_type
from sfumato.compiled import by_address, inner, kernel


@by_address
class Things(NamedTuple):
    """Arrays of all sorts, and numbers."""

    line: Any
    table: Any
    cube: Any
    flags: Any
    many: int
    share: float
    wanted: bool


@inner
def _add(things: Things, row: int, other: Things) -> float:
    things.table[row, 0] += other.line[row]
    return float(things.cube[row, 1, 0])


@kernel
def _sum_up(things: Things, other: Things) -> float:
    room = np.zeros(len(things.line))
    for row in range(len(things.line)):
        room[row] = _add(things, row, other) * things.share + things.many
        if things.flags[row] and things.wanted:
            things.flags[row] = False
    return float(room.sum())


def _in_python(things: Things, other: Things) -> float:
    total = 0.0
    for row in range(len(things.line)):
        things.table[row, 0] += other.line[row]
        total += float(things.cube[row, 1, 0]) * things.share + things.many
        things.flags[row] &= not things.wanted
    return total


def _things(seed: int, *, strided: bool, wanted: bool = True) -> Things:
    chance = np.random.default_rng(seed)
    line = chance.integers(0, 9, 10 if strided else 5)
    table = chance.integers(0, 9, (5, 6)).astype(np.int32)
    return Things(
        line[::2] if strided else line,
        table[:, ::-2] if strided else table,
        chance.random((5, 2, 3)),
        chance.random(5) < 0.5,
        int(chance.integers(9)),
        float(chance.random()),
        wanted,
    )


@pytest.mark.parametrize("strided", [False, True])
@pytest.mark.parametrize("wanted", [False, True])
def test_compiled_code_reads_and_writes_what_python_does(strided: bool, wanted: bool) -> None:
    for seed in range(5):
        things, again = (_things(seed, strided=strided, wanted=wanted) for _ in range(2))
        other = _things(seed + 9, strided=not strided)
        assert _sum_up(things, other) == pytest.approx(_in_python(again, other), rel=1e-12)
        for member, expected in zip(things, again, strict=True):
            np.testing.assert_array_equal(member, expected)


def test_what_lives_only_as_long_as_the_call_is_there_until_it_ends() -> None:
    def total() -> Any:
        return _sum_up(_things(1, strided=True), _things(2, strided=False))

    expected = total()
    for _ in range(50):
        np.full(10_000, -1)  # takes what was freed
        assert total() == expected


def test_no_call_keeps_an_array() -> None:
    things, other = _things(3, strided=False), _things(4, strided=False)
    before = [sys.getrefcount(member) for member in (*things[:4], *other[:4])]
    for _ in range(10):
        _sum_up(things, other)
    assert [sys.getrefcount(member) for member in (*things[:4], *other[:4])] == before


def test_numbers_with_their_bytes_the_other_way_round_are_refused() -> None:
    """Numba takes a tuple of them for one of native arrays once it has seen such a one."""
    things, other = _things(5, strided=False), _things(6, strided=False)
    _sum_up(things, other)
    for name in ("line", "table", "cube"):
        member = getattr(things, name)
        swapped = things._replace(**{name: member.astype(member.dtype.newbyteorder())})
        for pair in ((swapped, other), (other, swapped)):
            with pytest.raises(TypeError, match=f"^Things.{name}: .*as this machine stores them"):
                _sum_up(*pair)
    empty = np.zeros(0, np.dtype(np.int64).newbyteorder())
    with pytest.raises(TypeError, match="as this machine stores them"):
        _sum_up(things._replace(line=empty), other)


def test_code_kept_for_other_fields_is_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """A later version may have the same arrays in another order: kept code reads them by place."""
    things = _things(7, strided=False)
    kept = pickle.dumps(typeof(things))
    assert pickle.loads(kept) == typeof(things)
    monkeypatch.setattr(Things, "_fields", ("cube", "table", "line", *Things._fields[3:]))
    assert pickle.loads(kept) != by_address_type(things, None)


@pytest.mark.parametrize(
    ("doer", "step"), [("_CacheLocator", "ensure_cache_path"), ("IndexDataCacheFile", "save")]
)
def test_where_no_folder_takes_what_was_compiled_it_is_compiled_in_every_run(
    doer: str, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As for somebody without a home whose packages another installed, or where a disk is full: it
    was an internal error."""

    def closed(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(getattr(caching, doer), step, closed)

    def twice(number: int) -> int:
        return 2 * number

    assert kernel(twice)(4) == 8


_KEPT_CODE = """
import sys
import numpy as np
from sfumato.compiled import kernel

@kernel
def total(numbers):
    room = np.zeros(2)
    for number in numbers:
        room[number % 2] += number
    return room.sum()

@kernel
def longest(numbers):
    return max(len(numbers), int(np.ceil(numbers[0] / 2)))

print(total(np.arange(5)), "numba.typed.typeddict" in sys.modules)
if len(sys.argv) > 1:
    print(longest(np.arange(5)), total(np.arange(5.0).astype(np.int32)))
"""


def test_kept_code_runs_without_what_compiles_and_more_can_be_compiled_after_it(
    tmp_path: Path,
) -> None:
    """Numba loaded all it can compile before it looked for what was."""
    script = tmp_path / "kept.py"
    script.write_text(_KEPT_CODE)

    def said(*options: str) -> list[str]:
        ran = subprocess.run(
            [sys.executable, str(script), *options],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "kept")},
        )
        return ran.stdout.split()

    assert said() == ["10.0", "True"]
    assert said() == ["10.0", "False"]
    assert said("more") == ["10.0", "False", "5", "10.0"]


@pytest.mark.parametrize("kept", ["*.nbi", "*.nbc"])
@pytest.mark.parametrize("left", [0, 40])
@pytest.mark.parametrize("closed", [False, True])
def test_kept_code_that_was_cut_short_is_compiled_anew(
    kept: str, left: int, closed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when a machine loses its power: every run after it ended with an error of pickle."""
    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path))

    def thrice(number: int) -> int:
        return 3 * number

    assert kernel(thrice)(4) == 12
    cut = list(tmp_path.rglob(kept))
    assert cut
    for file in cut:
        file.write_bytes(file.read_bytes()[:left])
    if closed:
        monkeypatch.setattr(caching.IndexDataCacheFile, "_open_for_write", _closed)
    assert kernel(thrice)(4) == 12
    again = kernel(thrice)
    assert again(4) == 12
    assert sum(again.stats.cache_hits.values()) == (not closed)  # type: ignore[attr-defined]


def _closed(*_: object) -> NoReturn:
    raise PermissionError
