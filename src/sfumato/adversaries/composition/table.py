"""The private table of an intersection attack: what is learnt about each target, row by row."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from sfumato.adversaries.composition.intersection import STATUS, Cases
from sfumato.adversaries.locating.targets import Targets
from sfumato.release.groups import Floats


def table_of(
    people: Targets, cases: Cases, labels: tuple[str, ...], right: Floats | None
) -> pa.Table:
    """One row for each row of the targets."""
    row = people.case
    texts = pa.array(labels, pa.string())
    ends = pa.array(cases.ends, pa.int32())
    left = cases.after > 0
    guess = np.zeros(len(left), dtype=np.int64)
    likely = np.flatnonzero(cases.likeliest)[::-1]
    case = np.repeat(np.arange(len(left)), cases.after)
    guess[case[likely]] = cases.values[likely]  # of equals the first
    somewhere = cases.there.any(axis=0)
    before = pa.FixedSizeListArray.from_arrays(
        pa.array(cases.before.T.ravel(), pa.int32(), mask=~cases.there.T.ravel()),
        len(cases.there),
    )
    by_case = pa.table(
        {
            "target": pa.StructArray.from_arrays(
                [
                    pa.array(list(domain.values)).take(pa.array(codes))
                    for domain, codes in zip(people.domains, people.codes, strict=True)
                ],
                names=list(people.columns),
            ),
            "status": pa.array(STATUS).take(pa.array(cases.status)),
            "values": pa.ListArray.from_arrays(ends, texts.take(pa.array(cases.values))),
            "before": before,
            "after": pa.array(cases.after, mask=~somewhere),
            "drop": pa.array(cases.fewest - cases.after, mask=~somewhere),
            "confidence": pa.array(1 / np.maximum(cases.after, 1), mask=~left),
            "posterior": pa.ListArray.from_arrays(ends, pa.array(cases.posterior)),
            "guess": texts.take(pa.array(guess, mask=~left)),
            "belief": pa.array(cases.belief, mask=~left),
        }
    )
    given = len(row) == people.cases and bool((row == np.arange(len(row))).all())
    rows = by_case if given else by_case.take(pa.array(row))
    rows = rows.add_column(1, "people", pa.array(people.people))
    chance = np.full(len(row), np.nan) if right is None else right
    return rows.append_column("right", pa.array(chance, mask=np.isnan(chance)))
