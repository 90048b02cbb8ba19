"""A characterization in words: what leaks, and which column to coarsen first."""

from __future__ import annotations

from sfumato.report.characterization import Characterization, Coarsening, Finding, WorstClass

_FEW = 4


def advice(found: Characterization, target: str) -> str:
    """Which column to coarsen first, and what that buys."""
    worst = found.ranking(target)[0]
    mean, most = _two(worst.distribution.weighted), _two(worst.distribution.largest)
    if worst.distribution.largest <= 1e-12:
        return f"No combination tells anything about {target}: all classes show what was expected."
    leaks = (
        f"To who knows {_and(worst.columns)}, the distribution of {target} is off by {mean} from "
        f"what was expected, averaged over people (at most {most}); {_percent(worst.unique)} of "
        "people are alone."
    )
    mine = [one for one in found.coarsenings if one.target == target]
    if not mine:
        return f"{leaks} There is no coarser form of {worst.label} to try: leave it out."
    first, *others = mine
    what = (
        f"Drop {first.column} first"
        if first.dropped
        else f"Coarsen {first.column} first ({first.to})"
    )
    text = (
        f"{leaks} {what}: that leaves {_two(first.after.distribution.weighted)} on average and "
        f"{_percent(first.after.unique)} alone, groups of {first.after.k:,} or more."
    )
    text += _rest("Others one level coarser", [one for one in others if not one.dropped])
    text += _rest("Others dropped", [one for one in others if one.dropped])
    least = min(one.after.distribution.weighted for one in mine)
    if least >= worst.distribution.weighted - 1e-12:
        text += " None of them lessens the leakage: publish fewer columns."
    return text


def _rest(what: str, steps: list[Coarsening]) -> str:
    """What further steps of one kind would leave."""
    listed = ", ".join(
        f"{one.column}{'' if one.dropped else f' ({one.to})'} "
        f"{_two(one.after.distribution.weighted)}"
        for one in steps
    )
    return f" {what} would leave: {listed}." if steps else ""


def worst_class(finding: Finding) -> str:
    """The worst class of a combination in words."""
    worst = finding.worst
    cells = ", ".join(f"{column} {cell}" for column, cell in worst.cells.items())
    people = "1 person" if worst.people == 1 else f"{worst.people:,} people"
    return f"Of {cells} ({people}): {'; '.join(_told(worst, finding.target))}."


def _told(worst: WorstClass, target: str) -> list[str]:
    told = [
        f"{value} {_percent(now)} where {_percent(before)} was expected"
        for value, before, now in worst.gains
    ]
    if worst.ruled_out:
        told.append(f"ruled out: {_some(worst.ruled_out)}")
    if worst.only_here:
        told.append(f"whoever has this {target} is here: {_some(worst.only_here)}")
    return told or ["what was expected"]


def _some(values: tuple[str, ...]) -> str:
    more = f" and {len(values) - _FEW} more" if len(values) > _FEW else ""
    return ", ".join(values[:_FEW]) + more


def _and(names: tuple[str, ...]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _two(number: float) -> str:
    return f"{number:.2g}" if number < 0.1 else f"{number:.2f}"


def _percent(share: float) -> str:
    if 0 < share < 0.001:
        return "under 0.1 %"
    return f"{share:.1%}".replace("%", " %")
