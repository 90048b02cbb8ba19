"""Composition Attacks and Auxiliary Information in Data Privacy (Ganta, Kasiviswanathan, Smith, KDD
2008): the experiments on Adult, on the ACS excerpt, or on the embedded census.

Two random parts of a table share some people. Each part is anonymized by itself: Mondrian both,
microaggregation both, one of each. Somebody who knows the quasi-identifiers of the people in both
finds their groups in each release, as the paper assumes, and keeps the values both show. How many
are known then, against k; with entropy l-diversity and t-closeness on top; and the same attack on
differentially private tables of the same people.

The paper's second table (IPUMS) is replaced by the ACS excerpt, and its percentages are not at
hand: it is shapes that can be compared with print, not figures. What print leaves open: which
bounds l and t, and by which distance closeness is measured (ours: all values equally far apart).
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

from sfumato.papers.composition_attacks import (
    ALONE,
    BOTH_MICRO,
    BOTH_MONDRIAN,
    BOUNDS,
    CLOSE,
    DIVERSE,
    PAIRS,
    Survey,
    Trial,
    right_when_sure,
    survey,
)
from sfumato.papers.composition_data import Overlap, Study, declared, split, studies
from sfumato.papers.composition_further import bounds_section, location_section
from sfumato.papers.composition_noise import Noisy, noise_section, try_noise
from sfumato.papers.composition_sections import attack_sections
from sfumato.report.exhibit import Exhibit, Section
from sfumato.report.sheet import Sheet

TITLE = "Composition: two releases about the same people, each anonymous by itself"
SIZES, FEW_SIZES = (2, 3, 4, 5, 7, 10, 15, 20, 30, 50), (2, 5, 10)
BOUND_SIZES, FEW_BOUND_SIZES = (2, 3, 5, 7, 10), (2, 5)
EPSILONS, FEW_EPSILONS = (0.1, 0.5, 1.0, 2.0, 5.0), (1.0,)
WELL_ABOVE = 1.5  # times k: what "well above" is taken to mean

Claim = tuple[str, bool, str]


def run(data: Path | None, *, seed: int = 0, quick: bool = False) -> Exhibit:
    """The whole experiment; `quick` on 4,000 people of each table and for fewer k."""
    sections: list[Section] = []
    facts: dict[str, Any] = {}
    told = []
    for study in studies(data, seed):
        overlap = split(study, seed, quick=quick)
        on_top = dict.fromkeys(
            (name for name in BOUNDS if name != ALONE), FEW_BOUND_SIZES if quick else BOUND_SIZES
        )
        found = survey(overlap, FEW_SIZES if quick else SIZES, on_top, seed)
        noisy = try_noise(declared(study, overlap), FEW_EPSILONS if quick else EPSILONS)
        shapes = claims(found)
        sections += [
            *attack_sections(study.name, found),
            bounds_section(study.name, found),
            location_section(study.name, found),
            noise_section(study.name, noisy),
            _shapes(study.name, shapes),
        ]
        facts[study.name] = _facts(overlap, found, noisy, shapes)
        told.append(_told(study, overlap))
    stand_in = (
        "No data folder was given, so synthetic people stand in for Adult and ACS. "
        if data is None
        else ""
    )
    about = f"{stand_in}{'. '.join(told)}. The two parts are drawn by chance, seed {seed}."
    return Exhibit("composition", TITLE, about, tuple(sections), facts)


def _told(study: Study, overlap: Overlap) -> str:
    first, second = (part.people for part in overlap.parts)
    whole = first + second - overlap.shared.people
    drawn = "" if whole == study.table.people else f", {whole:,} of them drawn"
    return (
        f"{study.name}: {study.about} ({study.table.people:,} people{drawn}); releases of "
        f"{first:,} and {second:,} people, {overlap.shared.people:,} in both"
    )


def claims(found: Survey) -> list[Claim]:
    """What the paper says of its figures, whether it holds here, and what was found."""
    return [
        _falls(found),
        *_helps(found, DIVERSE, "entropy l-diversity"),
        *_helps(found, CLOSE, "t-closeness"),
        *(_above(found, pair) for pair in (BOTH_MONDRIAN, BOTH_MICRO)),
    ]


def _falls(found: Survey) -> Claim:
    shares = {pair: [one.breach for one in found.of(pair)] for pair in PAIRS}
    holds = all(
        later <= earlier for mine in shares.values() for earlier, later in pairwise(mine)
    ) and all(mine[0] > mine[-1] for mine in shares.values())
    told = "; ".join(
        f"{pair} {', '.join(f'{share:.1%}' for share in mine)}" for pair, mine in shares.items()
    )
    at = ", ".join(str(one.k) for one in found.of(BOTH_MONDRIAN))
    return "perfect breach falls with k", holds, f"k = {at}: {told}"


def _helps(found: Survey, bounds: tuple[str, ...], name: str) -> list[Claim]:
    """Fewer people are known with a bound on top than without, but some are."""
    compared: list[tuple[Trial, Trial]] = [
        (one, plain)
        for bound in bounds
        for pair in PAIRS
        for one in found.of(pair, bound)
        for plain in found.of(pair)
        if plain.k == one.k
    ]
    fewer = sum(one.breach < plain.breach for one, plain in compared)
    more = sum(one.breach > plain.breach for one, plain in compared)
    some = [one for one, _ in compared if one.breach]
    worst = max((one for one, _ in compared), key=lambda one: one.breach)
    narrowed = sum(one.oracle.vulnerable > 0 for one, _ in compared)
    return [
        (
            f"{name} helps",
            not more and fewer > 0,
            f"breaches fewer people in {fewer} of {len(compared)} pairs of releases, more in "
            f"{more}",
        ),
        (
            f"{name} does not prevent it",
            bool(some),
            f"perfect breach in {len(some)} of {len(compared)} pairs of releases, up to "
            f"{worst.breach:.1%} ({worst.bound}, {worst.pair}, k = {worst.k}); somebody is "
            f"narrowed down in {narrowed}",
        ),
    ]


def _above(found: Survey, pair: str) -> Claim:
    times = {one.k: min(one.sizes) / one.k for one in found.of(pair)}
    well = [str(k) for k, ratio in times.items() if ratio >= WELL_ABOVE]
    return (
        f"groups are well above k ({pair})",
        len(well) == len(times),
        f"{min(times.values()):.2f} to {max(times.values()):.2f} times k people a group; "
        f"{WELL_ABOVE} times, taken as well above, is reached for "
        f"{'k = ' + ', '.join(well) if well else 'no k'}",
    )


def _shapes(name: str, shapes: list[Claim]) -> Section:
    held = sum(holds for _, holds, _ in shapes)
    return Section(
        f"{name}: what the paper says of the figures",
        f"{held} of {len(shapes)} hold here.",
        sheets=(Sheet(("the paper says", "holds here", "found"), tuple(shapes)),),
    )


def _facts(overlap: Overlap, found: Survey, noisy: Noisy, shapes: list[Claim]) -> dict[str, Any]:
    return {
        "people": [part.people for part in overlap.parts],
        "in both": overlap.shared.people,
        "trials": [
            {
                "k": one.k,
                "bound": one.bound,
                "releases": one.pair,
                "people a group": list(one.sizes),
                "people of her group": list(one.oracle.group_size),
                "values left": [*one.oracle.before, one.oracle.after],
                "drop": one.oracle.drop,
                "perfect breach": one.breach,
                "curve": [point.__dict__ for point in one.oracle.curve],
                "nearest": None
                if one.nearest is None
                else {
                    "rightly located": list(one.nearest.correctly_located),
                    "perfect breach": one.nearest.perfect_breach,
                    "guess right": one.nearest.precision,
                },
            }
            for one in found.trials
        ],
        "randomised": noisy.why
        or {
            label: {
                "exposed": one.exposed,
                "right": right_when_sure(one),
                "guess right": one.precision,
            }
            for label, one in noisy.all.items()
        },
        "claims": {claim: holds for claim, holds, _ in shapes},
    }
