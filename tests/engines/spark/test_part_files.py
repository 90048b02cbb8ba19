"""Rows brought to Spark in files of ours: who may read them, and that none stays behind."""

from __future__ import annotations

import stat
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sfumato.engines.spark.part_files import PartFiles
from sfumato.errors import ResourceError

TABLE = pa.table({"q0": [1, 2], "n": [5, 6]})


def _part_files(spill: Path) -> PartFiles:
    session: Any = SimpleNamespace(
        sparkContext=SimpleNamespace(master="local[2]"),
        read=SimpleNamespace(parquet=lambda place: place),
    )
    return PartFiles(session, spill)


def test_nobody_else_reads_them_and_they_go(tmp_path: Path) -> None:
    files = _part_files(tmp_path)
    files.append("tuples", TABLE)
    files.append("tuples", TABLE)
    files.append("others", TABLE)
    kept = list(tmp_path.iterdir())
    assert [stat.S_IMODE(folder.stat().st_mode) for folder in kept] == [0o700, 0o700]
    assert sorted(len(list(folder.iterdir())) for folder in kept) == [1, 2]
    files.drop("tuples")
    assert len(list(tmp_path.iterdir())) == 1
    files.close()
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("failure", [OSError, KeyboardInterrupt])
def test_nothing_stays_of_what_was_written_half(
    failure: type[BaseException], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """People's data lay in the folder until somebody found it."""
    files = _part_files(tmp_path)

    def stop(table: pa.Table, path: Path, **_: object) -> None:
        path.write_bytes(b"half of it")
        raise failure

    monkeypatch.setattr(pq, "write_table", stop)
    with pytest.raises(ResourceError if failure is OSError else failure):
        files.append("tuples", TABLE)
    files.close()
    assert not list(tmp_path.iterdir())
