"""What several commands read: the policy with its schema, the table, a population register."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sfumato.policy.model import Policy
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


def read_table(path: Path, rules: Policy, schema: Schema, **options: Any) -> Table:
    """The table a policy is about, read as the policy says unless an option says otherwise."""
    from sfumato.table.load import read

    given = {name: value for name, value in options.items() if value is not None}
    return read(path, schema, **{**rules.reading, **given})


def read_population(path: Path, schema: Schema, reading: Mapping[str, Any]) -> Table:
    """A register of the population: only its quasi-identifiers matter."""
    from sfumato.table.load import read

    columns = set(schema.quasi)
    bare = replace(
        schema,
        sensitive=(),
        identifiers=(),
        keep=(),
        person=None,
        count=None,
        weight=None,
        protect=None,
        levels={},
        hierarchies={name: one for name, one in schema.hierarchies.items() if name in columns},
        domains={name: one for name, one in schema.domains.items() if name in columns},
    )
    return read(path, bare, **reading)
