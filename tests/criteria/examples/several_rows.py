"""Examples of several-rows."""

from __future__ import annotations

from sfumato.criteria.several_rows import SeveralRows
from tests.criteria.examples.base import Example

EXAMPLES: dict[str, Example] = {
    "several-rows": Example(
        (SeveralRows(1), SeveralRows(3), SeveralRows(2, belief=0.6), SeveralRows(2, knows=2)),
        None,
        (
            (lambda: SeveralRows(0), "k"),
            (lambda: SeveralRows(2.5), "k"),
            (lambda: SeveralRows(2, belief=0), "belief"),
            (lambda: SeveralRows(2, belief=2), "belief"),
            (lambda: SeveralRows(2, knows=0), "knows"),
            (lambda: SeveralRows(2, knows="some"), "knows"),
        ),
    )
}
