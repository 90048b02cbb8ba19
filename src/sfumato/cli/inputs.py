"""What commands read: the policy with its schema, tables, releases, the people in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sfumato.engines.reading import Reading
    from sfumato.policy.model import Policy
    from sfumato.release.release import Release
    from sfumato.schema.roles import Schema
    from sfumato.table.load import Table

PAIR = "+"  # between the two files of a bucketized release


def load_rules(path: Path) -> tuple[Policy, Schema]:
    """A policy that also says what the columns of a file are."""
    from sfumato.errors import PolicyError
    from sfumato.policy.model import Policy

    rules = Policy.load(path)
    if rules.schema is None:
        raise PolicyError(f"{path.name} has no [schema]; name the columns' roles in it")
    return rules, rules.schema


def read_judged(files: list[Path], rules: Policy, schema: Schema, reading: Reading) -> Release:
    """What is to be judged: a table or a release, read as the policy says where that fits."""
    from sfumato.release.read.read_release import load_release

    source = files[0] if len(files) == 1 else tuple(files)
    return load_release(source, schema, rules.reading_of(files, reading))


def read_table(path: Path, rules: Policy, schema: Schema, reading: Reading) -> Table:
    """The table a policy is about, read as the policy says unless an option says otherwise."""
    from sfumato.table.load import load_table

    return load_table(path, schema, reading.over(rules.read))


def read_population(path: Path, rules: Policy, schema: Schema, reading: Reading) -> Table:
    """A register of the population: only its quasi-identifiers matter."""
    from sfumato.table.load import load_table

    told = rules.reading_of([path], reading.about("file", "engine"))
    return load_table(path, schema.part(schema.quasi), told)


# -- several releases, and the people in all of them -----------------------------------------------


def read_one(path: str, rules: Policy, schema: Schema, reading: Reading) -> Release:
    """A release: a file, a folder of ours, or two files QUASI+SENSITIVE with --group."""
    files = _files(path)
    group = reading.group if len(files) == 2 else None
    return read_judged(files, rules, schema, replace(reading, group=group))


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
    releases: Sequence[Release],
    reading: Reading,
    truth: str | None = None,
) -> Table:
    """People by the quasi-identifiers of all releases; with their true values if it is asked."""
    from sfumato.table.load import load_table

    columns = list(dict.fromkeys(name for one in releases for name in one.regions.columns))
    told = rules.reading_of([path], reading.about("file", "engine"))
    return load_table(path, schema.part(columns, () if truth is None else (truth,)), told)
