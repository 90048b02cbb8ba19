"""Criteria to begin with: common thresholds, lowered where a column's values cannot reach them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfumato.policy.draft.fit import Fit
from sfumato.policy.draft.guess import Guess
from sfumato.schema.recipes import Intervals, Number

K = 5
T = 0.2
_MOST = 0.7  # a value that more people have leaves a group of K little else to show
_SECOND, _THIRD = 0.1, 0.05  # what must be left beside the first value, and the first two


@dataclass(frozen=True)
class Bound:
    """One `[[require]]` of the draft: its keys, and in words what it says and why."""

    keys: dict[str, str | int | float]
    why: str

    @property
    def about(self) -> tuple[str, str | None]:
        """What tells it apart from the others: the criterion and its column."""
        name = self.keys.get("sensitive")
        return str(self.keys["criterion"]), None if name is None else str(name)


def bounds(
    sensitive: dict[str, tuple[Guess, Fit]],
    several: frozenset[str] = frozenset(),
    rows_each: int = 1,
) -> list[Bound]:
    """k-anonymity always; diversity and closeness of every sensitive column with one value.

    `several` names columns of which a person may have several values; one person may have
    `rows_each` rows where rows are counted.
    """
    listed = [_indistinguishable(rows_each)]
    for name, (found, fit) in sensitive.items():
        if found.profile.what == "list" or name in several:
            continue  # people have several values: the criteria below are defined for one
        told = {bound.keys["criterion"] for bound in listed}
        listed += _of(name, found, fit, told)
    return listed


def _indistinguishable(rows_each: int) -> Bound:
    why = (
        f"Everybody looks like at least {K - 1} others in the quasi-identifiers, so finding "
        f"her row is a guess of 1 in {K} at best. {K} is a common floor for files given to "
        "known researchers; for files anybody may download 10 and more is usual, and 11 "
        "(a risk of 0.09) is what medicines agencies ask for."
    )
    if rows_each > 1:
        why += (
            f" Rows are counted here and one person has up to {rows_each}: {K * rows_each} rows "
            f"are {K} people at least."
        )
    return Bound({"criterion": "k-anonymity", "k": K * rows_each}, why)


def _of(name: str, found: Guess, fit: Fit, told: set[str | int | float]) -> list[Bound]:
    shares = _shares(found, fit)
    l = _diversity(shares)  # noqa: E741 (the literature's letter)
    listed = []
    if l > 1:
        why = f"Every group shows at least {l} different values"
        if "distinct-diversity" not in told:
            why += (
                ": to find her group is not to find her value. Raise l if the release allows it; "
                "it cannot exceed the number of values"
            )
        keys: dict[str, str | int | float] = {"criterion": "distinct-diversity", "l": l}
        listed.append(Bound({**keys, "sensitive": name}, f"{why}."))
    why = "No group's values are distributed very differently from everybody's"
    if "t-closeness" not in told:
        why += (
            ", so being in it says little. 0 allows no difference, 1 any; "
            f"{T} is common, 0.1 strict, 0.4 lenient"
        )
    if l < 2:
        why += f". Diversity is not asked for: {_undiverse(shares)}"
    keys = {"criterion": "t-closeness", "t": T, "sensitive": name}
    if found.profile.domain.is_ordered and fit.declared is None:
        keys["distance"] = "ordered"
    return [*listed, Bound(keys, f"{why}.")]


def _diversity(shares: list[float]) -> int:
    """The l that groups of about K people can be expected to show.

    Values are diverse when none is everybody's, not when the second is frequent: of 25 values that
    4 % have each, five people show nearly five.
    """
    if len(shares) < 2 or shares[0] > 1 - _SECOND:
        return 1
    if len(shares) > 2 and shares[0] <= _MOST and 1 - shares[0] - shares[1] >= _THIRD:
        return 3
    return 2


def _undiverse(shares: list[float]) -> str:
    if len(shares) < 2:
        return "there is only one value"
    return (
        f"{100 * shares[0]:.0f} % have the same value, so many groups of {K} would show nothing "
        "else and be merged until little detail is left"
    )


def _shares(found: Guess, fit: Fit) -> list[float]:
    """The shares of the values as they are judged, commonest first; NULL is a value."""
    counts = found.profile.counts.astype(np.float64)
    if fit.level is not None and isinstance(fit.hierarchy, Intervals):
        ranges = fit.hierarchy
        numbers = found.profile.domain.numbers()[: len(counts)]
        cut = np.clip(numbers, _or(ranges.bottom, -np.inf), _or(ranges.top, np.inf))
        _, place = np.unique(np.floor(cut / ranges.widths[fit.level - 1]), return_inverse=True)
        counts = np.bincount(place, weights=counts).astype(np.float64)
    if found.profile.missing:
        counts = np.append(counts, found.profile.missing)
    ranked = np.sort(counts)[::-1] / max(float(counts.sum()), 1.0)
    return [float(share) for share in ranked]


def _or(end: Number | None, otherwise: float) -> float:
    return otherwise if end is None else float(end)
