"""Tables a policy file names beside itself: a register of the population, an adversary's data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from sfumato.errors import InputError, PolicyError
from sfumato.ledger.earlier import Earlier
from sfumato.schema.roles import Schema
from sfumato.table.load import Table, read

FILE = "file"


def population_of(where: str, path: Path, schema: Schema | None) -> Table:
    """`population = "register.csv"`: a table of the population with the same quasi-identifiers."""
    if schema is None:
        raise PolicyError(f"{where}: a population file needs the [schema] of its columns")
    return read(path, schema.part(schema.quasi))


def earlier_of(where: str, given: Any, folder: Path, schema: Schema | None) -> Earlier:
    """`earlier = "ledger.sqlite"`: a ledger, or a list of ledgers and release folders."""
    names = [given] if isinstance(given, str) else given
    if not isinstance(names, list) or not names or not all(isinstance(n, str) for n in names):
        raise PolicyError(
            f"{where}: earlier = {given!r} is not allowed; name a ledger, or list ledgers and "
            "release folders"
        )
    try:
        return Earlier([folder / name for name in names], schema)
    except InputError as error:
        raise PolicyError(f"{where}: earlier: {error}") from None


def prior_of(where: str, given: Any, folder: Path, schema: Schema | None) -> Any:
    """`prior = { file = "census.csv" }`: an outside table with all columns, for priors by class."""
    if not isinstance(given, Mapping) or not isinstance(given.get(FILE), str):
        return given
    if len(given) > 1:
        raise PolicyError(f"{where}: prior names a file; it cannot name anything else as well")
    if schema is None or not schema.sensitive:
        raise PolicyError(f"{where}: a prior's file needs the [schema] of its columns")
    return read(folder / given[FILE], schema.part(schema.quasi, tuple(schema.sensitive)))


def adversary_of(where: str, given: Any, folder: Path, schema: Schema | None) -> Any:
    """`shape = { file = "census.csv" }`: an outside table with the sensitive columns.

    By region its quasi-identifiers are read as the schema says; otherwise only its sensitive
    values matter, and the first quasi-identifier is read along as plain text.
    """
    shape = given.get("shape") if isinstance(given, Mapping) else None
    if not isinstance(shape, Mapping) or not isinstance(shape.get(FILE), str):
        return given
    if len(shape) > 1:
        raise PolicyError(f"{where}: shape names a file; it cannot name shares or counts as well")
    if schema is None or not schema.sensitive:
        raise PolicyError(f"{where}: an outside file needs the [schema] of its columns")
    sensitive = tuple(schema.sensitive)
    if given.get("by_region"):
        outside = schema.part(schema.quasi, sensitive)
    else:
        first = schema.quasi[0]
        values = schema.part((first,), sensitive)
        outside = replace(
            values,
            hierarchies={name: one for name, one in values.hierarchies.items() if name != first},
            domains={**values.domains, first: "categorical"},
        )
    return {**given, "shape": read(folder / shape[FILE], outside)}
