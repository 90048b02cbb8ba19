"""Does the draft fit the whole table? Its schema is tried on every distinct value of each column.

A draft made from a share of the rows has not seen the one cell that is no number. What does not
fit is replaced by what always does.
"""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from sfumato.counts.columns import domain_of, is_list
from sfumato.engines.sql import named, select
from sfumato.errors import InputError, SfumatoError
from sfumato.policy.draft.fit import Fit, plain
from sfumato.policy.draft.guess import Guess
from sfumato.policy.draft.roles import Roles
from sfumato.policy.draft.sample import TABLE, Sample
from sfumato.schema.domain import Domain
from sfumato.schema.recipes import Intervals
from sfumato.schema.roles import Schema

Judged = dict[str, tuple[Guess, Fit]]


def settle(sample: Sample, roles: Roles) -> Roles:
    """The roles with hierarchies and domains that an audit of the whole table will accept."""
    values = _distinct(sample, [*roles.quasi, *roles.sensitive])
    others = dict(roles.others)

    def settled(judged: Judged) -> Judged:
        kept: Judged = {}
        for name, (found, fit) in judged.items():
            if _fits(sample, name, fit, values[name]):
                kept[name] = found, fit
            elif _fits(sample, name, plain(), values[name]):
                asked = found.question or "some values are not what most are: all are categories"
                kept[name] = replace(found, question=asked), plain()
            else:
                others[name] = Guess(found.profile, "none", "its values cannot be read")
        return kept

    quasi, sensitive = settled(roles.quasi), settled(roles.sensitive)
    if not quasi:
        raise InputError(f"{sample.source.label} has no column that can be read as a category")
    return replace(roles, quasi=quasi, sensitive=sensitive, others=others)


def _fits(sample: Sample, name: str, fit: Fit, values: pa.Array) -> bool:
    schema = Schema(
        quasi=[name],
        hierarchies={name: fit.hierarchy} if fit.hierarchy else {},
        domains={name: fit.declared} if fit.declared else {},
    )
    try:
        domain, _ = domain_of(name, values, sample.source, schema)
        if isinstance(fit.hierarchy, Intervals) and domain.kind == "numeric":
            domain = _ends(domain)
        schema.hierarchy(name).bind(domain)
    except (SfumatoError, pa.ArrowInvalid, OverflowError):
        return False
    return True


def _ends(domain: Domain) -> Domain:
    """Ranges fit all numbers when they fit the least and the greatest."""
    numbers = domain.values[: len(domain) - domain.has_null]
    return Domain(domain.name, domain.kind, (numbers[0], numbers[-1]) if numbers else ())


def _distinct(sample: Sample, names: list[str]) -> dict[str, pa.Array]:
    """The distinct values of columns, in one scan of the whole table."""
    table, columns = sample.source.name, [sample.source.column(name) for name in names]
    if sample.one_in == 1:
        table, columns = TABLE, [f"c{sample.columns.index(name)}" for name in names]
    sets = ", ".join(f"({column})" for column in columns)
    listed = [named(column, f"v{place}") for place, column in enumerate(columns)]
    listed += [named(f"GROUPING({column})", f"g{place}") for place, column in enumerate(columns)]
    found = sample.engine.fetch(f"{select(listed, table)} GROUP BY GROUPING SETS ({sets})")
    values = {}
    for place, name in enumerate(names):
        mine = found.filter(pc.equal(found.column(f"g{place}"), 0)).column(f"v{place}")
        array = mine.combine_chunks()
        values[name] = pc.list_flatten(array) if is_list(sample.source, name) else array
    return values
