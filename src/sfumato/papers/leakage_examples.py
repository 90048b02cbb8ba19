"""Examples 1 to 4 of the leakage paper (Ren, Li), printed beside what they come to.

Printed values are the paper's; None where it prints none or where print and truth agree in words
only. Everything else is computed by the criteria themselves.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

from sfumato.criteria.closeness import TCloseness
from sfumato.criteria.leakage import DistributionLeakage, EntropyLeakage
from sfumato.release.groups import Groups
from sfumato.report.exhibit import Section
from sfumato.report.sheet import Sheet

_CLASSES = Groups([[3, 1, 0], [3, 1, 0], [1, 1, 2]])
_FOUR = Groups([[1, 1, 1, 1], [3, 1, 0, 0], [3, 0, 1, 0], [3, 0, 0, 1]])
# Nine salaries, 3 to 11 thousand, each had by one person of the whole table.
_SALARIES = [str(thousand) for thousand in range(3, 12)]
_THREE_FOUR_FIVE = [1, 1, 1, 0, 0, 0, 0, 0, 0]
_SEVENS = [0, 0, 0, 0, 3, 0, 0, 0, 0]
_PAID = Groups([_THREE_FOUR_FIVE, _SEVENS], _SALARIES, reference=[1] * 9)


@dataclass(frozen=True)
class _Line:
    """One printed figure: which example, class and measure."""

    example: str
    of: str
    measure: str
    printed: float | None
    groups: Groups
    group: int

    @property
    def right(self) -> float:
        if self.measure == "L_D":
            found = DistributionLeakage(0.5).measure(self.groups)
        elif self.measure == "L_E":
            found = EntropyLeakage(0.5).measure(self.groups)
        else:
            distance = "ordered" if self.measure == "EMD, ordered" else "equal"
            found = TCloseness(0.5, distance=distance).measure(self.groups)
        return float(found.per_group[self.group])


def _lines() -> list[_Line]:
    first = [("class 1", 0), ("class 2", 1), ("class 3", 2)]
    lines = [
        _Line("1 and 3", name, "L_D", printed, _CLASSES, at)
        for (name, at), printed in zip(first, (None, None, sqrt(26) / 12), strict=True)
    ]
    lines += [
        _Line("1 and 3", name, "L_E", printed, _CLASSES, at)
        for (name, at), printed in zip(first, (0.57, 0.57, 0.11), strict=True)
    ]
    for at in range(4):
        printed = sqrt(48) / 16 if at == 0 else 1 / 4
        lines.append(_Line("2", f"class {at + 1}", "L_D", printed, _FOUR, at))
    for at in range(4):
        printed = 0.45 if at == 0 else 0.73
        lines.append(_Line("2", f"class {at + 1}", "L_E", printed, _FOUR, at))
    lines += [
        _Line("3", name, "EMD", printed, _CLASSES, at)
        for (name, at), printed in zip(first, (1 / 3, 1 / 3, 2 / 3), strict=True)
    ]
    return [
        *lines,
        _Line("4", "{7, 7, 7}", "EMD, ordered", 0.375, _PAID, 1),
        _Line("4", "{3, 4, 5}", "EMD, ordered", 0.278, _PAID, 0),
        _Line("4", "{3, 4, 5}", "L_D", 0.22, _PAID, 0),
        _Line("4", "{7, 7, 7}", "L_D", 0.89, _PAID, 1),
        _Line("4", "{3, 4, 5}", "L_E", 0.158, _PAID, 0),
        _Line("4", "{7, 7, 7}", "L_E", 3.16, _PAID, 1),
    ]


def _agrees(line: _Line) -> bool | None:
    """Whether print and truth agree to two digits, cut off or rounded."""
    return None if line.printed is None else abs(line.printed - line.right) < 0.01


def examples() -> Section:
    """The examples' section."""
    return Section(
        "Examples 1 to 4",
        "Printed figures beside the right ones. In Example 3 what is printed as EMD is L1, twice "
        "the EMD; in Example 4 the two EMD are swapped.",
        (
            Sheet(
                ("example", "class", "measure", "printed", "right", "agrees"),
                tuple(
                    (line.example, line.of, line.measure, line.printed, line.right, _agrees(line))
                    for line in _lines()
                ),
            ),
        ),
    )
