"""Privacy Skyline (Chen, LeFevre, Ramakrishnan, VLDB 2007): the experiments of Section 5.

Speed: SkylineCheck against the dynamic-programming baseline on groups of 100 people with 20 uniform
values; scale-up of SkylineAnonymize; and the Adult case study, a (3, 6)-diverse release of the
45,222 complete records whose knowledge skyline of Exec-managerial at 95% is explored. The paper's
skyline contains (0, 4, 0) and (2, 1, 3); ours is that of our own partitioning and need not.

The paper scales up to 100 million records on disk; here as many as fit in memory are tried. Times
are of this machine and this run.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numba as nb
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sfumato.adversaries.skyline.breach import breach_probability
from sfumato.adversaries.skyline.grounding import Grounding, people_behind, worst_grounding
from sfumato.adversaries.skyline.knowledge import KnowledgeSkyline, knowledge_skyline
from sfumato.anonymizers.base import Task
from sfumato.anonymizers.mondrian.mondrian import Mondrian
from sfumato.criteria.diversity import RecursiveDiversity
from sfumato.criteria.k_anonymity import KAnonymity
from sfumato.criteria.skyline_privacy import KnowledgePoint, SkylinePrivacy
from sfumato.datasets.census import census, census_schema
from sfumato.datasets.public_files import adult_uci
from sfumato.numbers import Floats, Ints
from sfumato.progress import Ticker
from sfumato.release.groups import Groups
from sfumato.release.release import Release
from sfumato.report.document import Chart, Document, Section, Series, Sheet
from sfumato.report.sections.skyline import skyline_chart, skyline_sheet
from sfumato.schema.roles import Schema
from sfumato.table import Table, read

# The breach probability by dynamic programming over the groups: the algorithm the privacy skyline
# paper compares its own with (Chen, LeFevre, Ramakrishnan, VLDB 2007).
#
# It does not know that the worst facts lie in one or two groups. Going through the groups it
# keeps, for every way of having spent i known people and j of the family so far, the least odds,
# her target being in one of the groups seen or in none of them yet. Single values per person. The
# tests use it as an oracle.


@nb.njit(cache=True, nogil=True)
def doubts(counts: Ints, value: int, facts: int, k: int, out: Floats) -> None:
    """T(l, i) for i = 0..k: the odds against a target of this group, i others of it known."""
    n, a = counts.sum(), counts[value]
    others = np.sort(np.delete(counts, value))[::-1]
    left = n - a - others[:facts].sum()
    for i in range(k + 1):
        out[i] = np.inf if a == 0 else max(left - i, 0) / a


@nb.njit(cache=True, nogil=True)
def kins(n: int, a: int, m: int, k: int, out: Floats) -> None:
    """V(j, i) for i = 0..k, j = 0..m: how likely none of j of the family has the value."""
    for i in range(k + 1):
        out[i, 0] = 1.0
        for j in range(m):
            left = n - a - i - j
            out[i, j + 1] = 1.0 if a == 0 else out[i, j] * (left / (n - i - j) if left > 0 else 0.0)


@nb.njit(cache=True, nogil=True)
def least_odds(counts: Ints, value: int, facts: int, k: int, m: int) -> float:
    """The odds against the surest adversary, over every distribution of what she knows."""
    doubt, kin = np.empty(k + 1), np.empty((k + 2, m + 1))
    without, with_target = np.full((k + 1, m + 1), np.inf), np.full((k + 1, m + 1), np.inf)
    without[0, 0] = 1.0
    for g in range(len(counts)):
        n, a = counts[g].sum(), counts[g, value]
        doubts(counts[g], value, facts, k, doubt)
        kins(n, a, m, k + 1, kin)
        # From the most spent to the least, so that what is read is still that of the groups before.
        for i in range(k, -1, -1):
            for j in range(m, -1, -1):
                here, there = np.inf, np.inf
                for x in range(i + 1):
                    for y in range(j + 1):
                        here = min(here, without[i - x, j - y] * kin[x, y])
                        there = min(there, with_target[i - x, j - y] * kin[x, y])
                        if a > 0:
                            own = doubt[x] * kin[x + 1, y] if doubt[x] > 0.0 else 0.0
                            there = min(there, without[i - x, j - y] * own)
                without[i, j], with_target[i, j] = here, there
    return float(with_target[k, m])


def breach_by_programming(counts: npt.ArrayLike, value: int, facts: int, k: int, m: int) -> float:
    """How sure somebody can become, by trying every distribution; counts are groups by values."""
    return 1.0 / (1.0 + least_odds(np.asarray(counts, dtype=np.int64), value, facts, k, m))


TITLE = "Privacy skyline: what if they know some facts about him, his neighbours and his family?"
PEOPLE, VALUES = 100, 20  # of a group, as in the paper
USUAL = (10, 10, 10)
CONFIDENCE = 0.95
ADULT_QUASI = ("age", "workclass", "education", "marital-status", "race", "sex", "native-country")
_KNOWN = 12  # private records shown of one grounding


def run(data: Path | None, *, seed: int = 0, quick: bool = False) -> Document:
    """All of it; `quick` on a tenth of the people."""
    steps = 5 if quick else 50
    with Ticker("timing checks", 4) as ticker:
        speed = _speed_sections(steps * 1_000, seed, ticker)
    scale, timings = _scale_section(
        [20_000, 50_000] if quick else [100_000, 300_000, 1_000_000], seed
    )
    case, facts = _case_study(data, seed)
    where = "" if data is not None else "No data folder was given: synthetic people stand in. "
    about = (
        f"{where}l: facts about the target; k: other people, none of them of the family, whose "
        "value is known; m: relatives. "
        "A release is safe at a point if nobody who knows no more becomes so sure."
    )
    return Document(
        "skyline", TITLE, about, (*speed, scale, *case), {"scale-up": timings, "study": facts}
    )


# -- speed of a check -----------------------------------------------------------------------------


def _speed_sections(groups: int, seed: int, ticker: Ticker) -> list[Section]:
    rng = np.random.default_rng(seed)
    dense = rng.multinomial(PEOPLE, [1 / VALUES] * VALUES, size=groups)
    _both(dense[:10], (1, 1, 1))  # compile
    varied = {
        "people": [(dense[: groups * part // 5], USUAL) for part in range(1, 6)],
        "l": [(dense[: groups // 5], (number, 10, 10)) for number in (0, 4, 8, 12, 16)],
        "k": [(dense[: groups // 5], (10, number, 10)) for number in (0, 8, 16, 24, 32)],
        "m": [(dense[: groups // 5], (10, 10, number)) for number in (0, 4, 8, 12, 16)],
    }
    sections = []
    for name, tries in varied.items():
        rows = [(PEOPLE * len(part), str(point), *_both(part, point)) for part, point in tries]
        columns = ("people", "(l, k, m)", "check, ms", "baseline, ms", "times faster", "same")
        at = [
            PEOPLE * len(part) if name == "people" else point["lkm".index(name)]
            for part, point in tries
        ]
        figure = Chart(
            f"Check and baseline, varying {name}",
            "lines",
            name,
            "milliseconds",
            (
                Series("SkylineCheck", at, [row[2] for row in rows]),
                Series("dynamic programming", at, [row[3] for row in rows]),
            ),
            log_y=True,
            alt=f"From {min(row[4] for row in rows):,.0f} to {max(row[4] for row in rows):,.0f} "
            "times faster than the baseline.",
        )
        sections.append(
            Section(
                f"SkylineCheck against dynamic programming, varying {name}",
                "Both compiled, one value, one point; the baseline tries every distribution of "
                "what is known over the groups.",
                (Sheet(columns, tuple(rows)),),
                (figure,),
            )
        )
        ticker.add(1)
    return sections


def _both(dense: Any, point: tuple[int, int, int]) -> tuple[float, float, float, bool]:
    """Milliseconds of the check and of the baseline, their ratio, whether they agree."""

    groups = Groups(dense)
    ours, probability = _timed(lambda: breach_probability(groups, "0", *point), 5)
    theirs, same = _timed(lambda: breach_by_programming(dense, 0, *point), 1)
    return 1e3 * ours, 1e3 * theirs, theirs / ours, abs(probability - same) < 1e-9


def _timed(work: Callable[[], Any], times: int) -> tuple[float, Any]:
    least, answer = float("inf"), None
    for _ in range(times):
        start = time.perf_counter()
        answer = work()
        least = min(least, time.perf_counter() - start)
    return least, answer


# -- scale-up of the anonymization ----------------------------------------------------------------


def _scale_section(sizes: Sequence[int], seed: int) -> tuple[Section, list[dict[str, object]]]:
    """Mondrian under two skylines and under k-anonymity, by the number of people."""
    asked = {
        "skyline (0, 1000, 0)": SkylinePrivacy([KnowledgePoint(0, 1000, 0, 1)]),
        "skyline (3, 1000, 10)": SkylinePrivacy([KnowledgePoint(3, 1000, 10, 1)]),
        "k-anonymity 1,002": KAnonymity(1002),
    }
    rows, timings = [], []
    for size in sizes:
        table = _uniform(size, seed)
        for name, criterion in asked.items():
            task = Task(table, (criterion,))
            seconds, release = _timed(partial(Mondrian().run, task), 2)
            rows.append((size, name, seconds, 1e6 * seconds / size, len(release.groups)))
            timings.append({"people": size, "criterion": name, "seconds": seconds})
    columns = ("people", "criterion", "seconds", "seconds per million", "groups")
    series = tuple(
        Series(name, list(sizes), [row[2] for row in rows if row[1] == name]) for name in asked
    )
    figure = Chart(
        "Scale-up of SkylineAnonymize",
        "lines",
        "people",
        "seconds",
        series,
        log_x=True,
        log_y=True,
        alt=f"Seconds to anonymize from {sizes[0]:,} to {sizes[-1]:,} people.",
    )
    words = "Eight columns, nine sensitive values, confidence 1: nobody may become certain."
    return Section(
        "Scale-up of SkylineAnonymize", words, (Sheet(columns, tuple(rows)),), (figure,)
    ), timings


def _uniform(people: int, seed: int) -> Table:
    rng = np.random.default_rng(seed)
    columns = {
        f"q{place}": rng.integers(0, size, people)
        for place, size in enumerate((80, 40, 20, 12, 8, 5, 2, 2))
    }
    columns["s"] = rng.integers(0, 9, people)
    return read(pa.table(columns), Schema(quasi=list(columns)[:-1], sensitive="s"))


# -- the case study -------------------------------------------------------------------------------


def _case_study(data: Path | None, seed: int) -> tuple[list[Section], dict[str, object]]:
    table, value = _study(data, seed)
    release = Mondrian().run(Task(table, (RecursiveDiversity(3, 6),)))
    skyline = knowledge_skyline(release, value, CONFIDENCE)
    groundings = _groundings(release, skyline)
    rows = tuple(
        (str(grounding.point), grounding.confidence, grounding.sentence) for grounding in groundings
    )
    sizes = release.groups.sizes
    words = (
        f"{table.people:,} people in {len(sizes):,} groups of {int(sizes.min()):,} or more, "
        f"(3, 6)-diverse. {skyline.sentence}"
    )
    sections = [
        Section(
            f"Case study: skyline of {value} at {CONFIDENCE:.0%}",
            words,
            (skyline_sheet(skyline),),
            (skyline_chart([skyline]),) if skyline.points else (),
        ),
        Section(
            "One step beyond the skyline",
            "What it takes to become that sure: the cheapest knowledge just beyond each point.",
            (Sheet(("(l, k, m)", "confidence", "how"), rows),),
        ),
        _named(release, groundings),
    ]
    facts = {
        "people": table.people,
        "groups": len(sizes),
        "skyline": skyline.to_dict(),
        "groundings": [grounding.to_dict() for grounding in groundings],
    }
    return sections, facts


def _study(data: Path | None, seed: int) -> tuple[Table, str]:
    if data is None:
        table = read(census(20_000, seed), census_schema())
        return table, "Hypertension"
    columns = [*ADULT_QUASI, "occupation"]
    schema = Schema(quasi=ADULT_QUASI, sensitive="occupation")
    return read(adult_uci(data, complete=True).select(columns), schema), "Exec-managerial"


def _groundings(release: Release, found: KnowledgeSkyline) -> list[Grounding]:
    """The worst groundings one person or fact beyond each point."""
    beyond = {(0, 0, 0)} if not found.points else set()
    for l, k, m in found.points:  # noqa: E741  # the paper's names
        beyond |= {(l + 1, k, m), (l, k + 1, m), (l, k, m + 1)}
    groundings = [worst_grounding(release, found.value, *point) for point in sorted(beyond)]
    return [
        grounding for grounding in groundings if grounding.confidence >= CONFIDENCE * (1 - 1e-9)
    ]


def _named(release: Release, groundings: Sequence[Grounding]) -> Section:
    """Private: the records of those who would be found out, and of whom one would have to ask."""
    rows = []
    for grounding in groundings:
        for record in people_behind(release, grounding)[:_KNOWN]:
            cells = ", ".join(f"{column} {text}" for column, text in record.quasi.items())
            rows.append(
                (str(grounding.point), record.part, record.people, cells, ", ".join(record.values))
            )
    columns = ("(l, k, m)", "part", "people", "record", "value")
    return Section(
        "Whose records they are",
        f"Up to {_KNOWN} records for each point.",
        (Sheet(columns, tuple(rows)),),
        private=True,
    )
