"""What commands about several releases read: the releases, and the people in them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sfumato.policy.model import Policy
    from sfumato.release.release import Release
    from sfumato.schema.roles import Schema
    from sfumato.table.load import Table

PAIR = "+"  # between the two files of a bucketized release


def read_one(
    path: str,
    rules: Policy,
    schema: Schema,
    group: str | None,
    scheme: str = "generalized",
    **reading: str | None,
) -> Release:
    """A release: a file, a folder of ours, or two files QUASI+SENSITIVE with --group."""
    from sfumato.cli.inputs import read_judged

    files = _files(path)
    how = {"group": group if len(files) == 2 else None, "scheme": scheme}
    return read_judged(files, rules, schema, dict(reading), **how)


def _files(path: str) -> list[Path]:
    whole = Path(path).exists() or PAIR not in path
    return [Path(path)] if whole else [Path(name) for name in path.split(PAIR, 1)]


def schemes_of(releases: Sequence[str], given: Sequence[str]) -> list[str]:
    """What --scheme says of each release: once, of every single file; else of each in turn."""
    from sfumato.errors import InputError

    if len(given) not in (0, 1, len(releases)):
        raise InputError(
            f"--scheme is given {len(given)} times for {len(releases)} releases; give it once for "
            "all files, or once for each release, in their order"
        )
    if len(given) == len(releases):
        return list(given)
    single = [len(_files(path)) == 1 and not Path(path).is_dir() for path in releases]
    return [given[0] if given and file else "generalized" for file in single]


def read_people(
    path: Path,
    rules: Policy,
    schema: Schema,
    columns: Sequence[str],
    truth: str | None = None,
    **reading: str | None,
) -> Table:
    """People by these columns of theirs, and their true values if a column is named."""
    from sfumato.cli.inputs import reading_hints
    from sfumato.table.load import read

    hints = reading_hints(rules, [path])
    told = {name: value or hints.get(name) for name, value in reading.items()}
    return read(path, schema.part(columns, () if truth is None else (truth,)), **told)  # type: ignore[arg-type]


def columns_of(releases: Sequence[Release]) -> list[str]:
    """The quasi-identifiers of all releases."""
    return list(dict.fromkeys(name for one in releases for name in one.regions.columns))
