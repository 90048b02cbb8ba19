"""Which groups a person may be in, by asking every description of her values one by one."""

from __future__ import annotations

from sfumato.release.description import Description
from sfumato.schema.domain import Value


def containing(description: Description, person: dict[str, Value]) -> list[int]:
    buckets = description.buckets
    if buckets is not None:
        rows = [
            tuple(domain.values[code] for domain, code in zip(buckets.domains, codes, strict=True))
            for codes in buckets.codes.T
        ]
        hers = tuple(person[domain.name] for domain in buckets.domains)
        ends = zip(buckets.indptr, buckets.indptr[1:], strict=False)
        return [group for group, (low, high) in enumerate(ends) if hers in rows[low:high]]
    regions = description.require_regions()
    return [
        group
        for group, codes in enumerate(regions.codes.T)
        if all(
            parts[code].contains(person[column])
            for column, parts, code in zip(regions.columns, regions.parts, codes, strict=True)
        )
    ]
