"""Panel Realistic: somebody with outside statistics, by how many and of which shape.

`sfumato attack realistic`. Her class follows from what she is given: a shape or any, a number of
records or no end of them.
"""

from __future__ import annotations

from math import inf, log10
from typing import TYPE_CHECKING

from sfumato.errors import InputError
from sfumato.web.adversaries.panel import (
    Fields,
    PanelAnswer,
    answer,
    attacked,
    number,
    plain,
    shell_words,
    whole,
    word,
)
from sfumato.web.shell import shell_line

if TYPE_CHECKING:
    from sfumato.web.desk import Desk

SHAPES = {
    "table": "as the whole table",
    "uniform": "every value alike",
    "own": "as I say",
    "any": "any shape",
}
MOST = 8.0  # powers of ten that the slider reaches
WEIGHT = "weight of "  # what the slider of a value is called
SLIDERS = 12  # values whose weights can be set


def usual_power(people: float) -> float:
    """As many records as there are people, as a power of ten that the slider can stand at."""
    return round(4 * log10(max(people, 1))) / 4


def ask_somebody_realistic(desk: Desk, point: int, fields: Fields) -> PanelAnswer:
    """How far rows move her, and which groups do so beyond the bound."""
    from sfumato.adversaries.realistic.adversary import RealisticAdversary
    from sfumato.workflow.one_adversary import ask_realistic, usual_epsilon

    release, column = attacked(desk, point, word(fields, "sensitive"))
    groups = release.groups_for(column)
    default = usual_power(groups.people())
    endless = word(fields, "endless") == "on"
    records = inf if endless else float(round(10 ** number(fields, "records", default, 0, MOST)))
    shape = word(fields, "shape", "table")
    if shape not in SHAPES:
        raise InputError(f"shape = {shape!r} is not known; use {', '.join(SHAPES)}")
    shape_option = _own_shape(fields, groups.values) if shape == "own" else shape
    known = whole(fields, "known", 0, 0, 10**6)
    fewer = word(fields, "fewer") == "on"
    epsilon = number(
        fields, "epsilon", usual_epsilon(desk.policy_of(point), release, column), 1, 1e9
    )
    adversary = RealisticAdversary(
        None if shape_option == "any" else shape_option, records, known, fewer
    )
    document = ask_realistic(release, adversary, epsilon, column)
    line = [
        *(*shell_words(desk, point), "--sensitive", column),
        *("--shape", shape_option, "--stubbornness", plain(records), "--epsilon", plain(epsilon)),
        *(("--known", str(known)) if known else ()),
        *(("--at-most",) if fewer else ()),
    ]
    return answer(document, shell_line("attack realistic", *line))


def _own_shape(fields: Fields, values: tuple[str, ...]) -> str:
    """Shares by value from their sliders, which sum to 1 to the last digit."""
    given = {
        name.removeprefix(WEIGHT): whole(fields, name, 0, 0, 1000)
        for name in fields
        if name.startswith(WEIGHT)
    }
    weights = {value: given.get(value, 0) for value in values[:SLIDERS] if value in given}
    if any("," in value for value in weights):
        raise InputError("values with a comma cannot be given shares one by one; choose a shape")
    total = sum(weights.values())
    if not total:
        raise InputError("no value has any weight; move a slider, or choose a shape")
    shares = {value: round(10_000 * weight / total) for value, weight in weights.items() if weight}
    largest = max(shares, key=lambda value: shares[value])
    shares[largest] += 10_000 - sum(shares.values())
    return ",".join(f"{value}={share / 10_000:g}" for value, share in shares.items())
