"""What several commands read: the policy with its schema, the table, a population register."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sfumato.policy.model import Policy
    from sfumato.release.release import Release
    from sfumato.schema.roles import Schema
    from sfumato.table.load import Table


def load_rules(path: Path) -> tuple[Policy, Schema]:
    """A policy that also says what the columns of a file are."""
    from sfumato.errors import PolicyError
    from sfumato.policy.model import Policy

    rules = Policy.load(path)
    if rules.schema is None:
        raise PolicyError(f"{path.name} has no [schema]; name the columns' roles in it")
    return rules, rules.schema


def reading_hints(rules: Policy, files: list[Path]) -> dict[str, Any]:
    """How the policy says its table is written, as far as these files are written that way.

    A release is not the table it was made of: our own folders say themselves how they are
    written, and another file is taken at the policy's word only if it has the columns then.
    """
    from sfumato.engines.textfile import inspect_text
    from sfumato.errors import InputError

    if not rules.reading or any(not path.is_file() for path in files):
        return {"partitioned": True} if rules.reading.get("partitioned") else {}
    columns = set(rules.schema.quasi) if rules.schema is not None else set()
    try:
        for path in files:
            if columns - set(inspect_text(path, rules.reading.get("delimiter")).columns):
                return {}
    except InputError:
        return {}
    return dict(rules.reading)


def stated(**options: Any) -> dict[str, Any]:
    """The options that were given; the readers know best what to do without the others."""
    return {name: value for name, value in options.items() if value is not None}


def read_judged(
    files: list[Path], rules: Policy, schema: Schema, reading: dict[str, Any], **how: Any
) -> Release:
    """What is to be judged: a table or a release; `reading` takes the policy's hints."""
    from sfumato.release.read.read_release import read_release

    for name, hint in reading_hints(rules, files).items():
        reading[name] = reading.get(name) or hint
    return read_release(files[0] if len(files) == 1 else tuple(files), schema, **how, **reading)


def read_table(path: Path, rules: Policy, schema: Schema, **options: Any) -> Table:
    """The table a policy is about, read as the policy says unless an option says otherwise."""
    from sfumato.table.load import read

    return read(path, schema, **{**rules.reading, **stated(**options)})


def read_population(path: Path, schema: Schema, reading: Mapping[str, Any]) -> Table:
    """A register of the population: only its quasi-identifiers matter."""
    from sfumato.table.load import read

    return read(path, schema.part(schema.quasi), **reading)
