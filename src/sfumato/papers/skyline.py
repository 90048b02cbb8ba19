"""Privacy Skyline (Chen, LeFevre, Ramakrishnan, VLDB 2007): the experiments of Section 7.

Speed: SkylineCheck against the dynamic-programming baseline on groups of 100 people with 20 uniform
values; scale-up of SkylineAnonymize; and the Adult case study, a (3, 6)-diverse release of the
45,222 complete records whose knowledge skyline of Exec-managerial at 95% is explored. The paper's
skyline contains (0, 4, 0) and (2, 1, 3), and so does ours.

The paper scales up from 10 to 100 million records of its own generator; ours are of uniform
columns. Up to a million are tried by default; 10 million, or up to as many as are asked for, from a
file where it is said how much memory they may take. Times are of this machine and this run.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from sfumato.adversaries.skyline import few_groups
from sfumato.adversaries.skyline.belief import beliefs
from sfumato.adversaries.skyline.breach import breach_probability
from sfumato.adversaries.skyline.grounding import Grounding, people_behind, worst_grounding
from sfumato.adversaries.skyline.knowledge import KnowledgeSkyline, knowledge_skyline
from sfumato.anonymizers.base import Task
from sfumato.anonymizers.mondrian.mondrian import Mondrian
from sfumato.compiled import inner, kernel
from sfumato.criteria.diversity import RecursiveDiversity
from sfumato.criteria.k_anonymity import KAnonymity
from sfumato.criteria.skyline_points import KnowledgePoint
from sfumato.criteria.skyline_privacy import SkylinePrivacy
from sfumato.datasets.census import census, census_schema
from sfumato.datasets.public_files import adult_uci
from sfumato.numbers import Floats, Ints
from sfumato.papers import SMALLEST_STORED, RunSettings
from sfumato.papers.evidence import EvidenceRow, Reproduction, beside, claimed, not_run, unprinted
from sfumato.progress import Ticker
from sfumato.release.groups import Groups
from sfumato.release.release import Release
from sfumato.report.document import Chart, Section, Series, Sheet
from sfumato.report.sections.skyline import skyline_charts, skyline_sheet
from sfumato.schema.roles import Schema
from sfumato.table import Table, read

# The breach probability by dynamic programming over the groups: the algorithm the privacy skyline
# paper compares its own with (Chen, LeFevre, Ramakrishnan, VLDB 2007).
#
# It does not know that the worst facts lie in one or two groups. Going through the groups it
# keeps, for every way of having spent i known people and j of the family so far, the least odds,
# her target being in one of the groups seen or not yet. Single values per person. A test oracle.


@inner
def doubts(counts: Ints, value: int, facts: int, k: int, out: Floats) -> None:
    """T(l, i) for i = 0..k: the odds against a target of this group, i others of it known."""
    n, a = counts.sum(), counts[value]
    others = np.sort(np.delete(counts, value))[::-1]
    left = n - a - others[:facts].sum()
    for i in range(k + 1):
        out[i] = np.inf if a == 0 else max(left - i, 0) / a


@inner
def kins(n: int, a: int, m: int, k: int, out: Floats) -> None:
    """V(j, i) for i = 0..k, j = 0..m: how likely none of j of the family has the value."""
    for i in range(k + 1):
        out[i, 0] = 1.0
        for j in range(m):
            left = n - a - i - j
            out[i, j + 1] = 1.0 if a == 0 else out[i, j] * (left / (n - i - j) if left > 0 else 0.0)


@kernel
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
TEN_EACH = (10, 10, 10)
CONFIDENCE = 0.95
ADULT_QUASI = ("age", "workclass", "education", "marital-status", "race", "sex", "native-country")
_KNOWN = 12  # private records shown of one grounding

SIZES, FEW_SIZES = (100_000, 300_000, 1_000_000), (20_000, 50_000)
STORED = (SMALLEST_STORED, 30_000_000, 100_000_000)
ASKED = {
    "skyline (0, 1000, 0)": SkylinePrivacy([KnowledgePoint(0, 1000, 0, 1)]),
    "skyline (3, 1000, 10)": SkylinePrivacy([KnowledgePoint(3, 1000, 10, 1)]),
    "k-anonymity 1,002": KAnonymity(1002),
}


def run(data: Path | None, settings: RunSettings) -> Reproduction:
    """All of it; `quick` on few people."""
    steps, seed = 1 if settings.quick else 50, settings.seed
    with Ticker("timing checks", 4) as ticker:
        speed, faster = _speed_sections(steps * 1_000, seed, ticker)
    scaled = [
        figures
        for size in (FEW_SIZES if settings.quick else SIZES)
        for figures in _scale_up(_uniform(size, seed), 2)
    ]
    if settings.memory is not None:
        sizes = [size for size in STORED if size <= settings.people]
        scaled += _from_files(sizes, seed, settings.memory)
    case, facts, skyline = _case_study(data, seed)
    stands_in = (
        "Uniform columns stand in for the paper's generator; Adult is UCI's 45,222 complete "
        "records, as in print."
        if data is not None
        else "No data folder was given: synthetic people stand in for Adult, uniform columns for "
        "the paper's generator."
    )
    about = (
        "l: facts about the target; k: other people, none of them of the family, whose value is "
        "known; m: relatives. A release is safe at a point if nobody who knows no more becomes so "
        "sure."
    )
    return Reproduction(
        "skyline",
        TITLE,
        about,
        stands_in,
        (*worked(), *_speeds(faster), *_fig_8(scaled, settings), *_points(skyline, data)),
        (*speed, _scale_section(scaled), *case),
        {"scale-up": [asdict(figures) for figures in scaled], "study": facts},
    )


# -- print beside ours ----------------------------------------------------------------------------


def worked() -> list[EvidenceRow]:
    """What needs no table: the opening example, and merging groups."""
    apart = Groups([[0, 1, 1], [1, 0, 0]], ["A", "B", "C"], [1, 3], case="set")
    merged = Groups([[1, 1, 1]], ["A", "B", "C"], [4], case="set")
    split, together = (
        float(breach_probability(groups, "A", 2, 0, 0, case="set")) for groups in (apart, merged)
    )
    single = Groups([[1, 3, 2], [3, 2, 3]], ["A", "B", "C"])
    whole = Groups([[4, 5, 5]], ["A", "B", "C"])
    alone, joined = (float(breach_probability(groups, "B", 0, 1, 1)) for groups in (single, whole))
    return [
        *_tom(),
        claimed(
            "Theorem 4, one value a person",
            "merging groups never makes a release less safe",
            joined <= alone,
            f"(1, 3, 2) and (3, 2, 3) at (0, 1, 1): {alone:.4f} apart, {joined:.4f} merged",
        ),
        claimed(
            "Theorem 4, several values a person",
            "merging groups never makes a release less safe",
            together <= split,
            f"one person with {{B, C}} and three with {{A}} at (2, 0, 0): {split:.4f} apart, "
            f"{together:.4f} merged",
            "it holds for one value a person only: 1/3 against 16/43",
        ),
    ]


# Figs. 1 to 3: two groups of four; she learns one thing after another, and forgets none.
_PATIENTS = Groups([[2, 0, 2], [1, 1, 2]], ["AIDS", "Cancer", "Flu"])
_LEARNT = {
    "nothing but the release": "1/4",
    "not Cancer": "1/3",
    "Gary has Flu": "1/2",
    "if Ann has AIDS so has he": "2/3",
}


def _tom() -> list[EvidenceRow]:
    _, *facts = _LEARNT
    people = {"Ann": {"group": 0}, "Gary": {"group": 1}}
    posteriors = beliefs(_PATIENTS, {"group": 1}, "AIDS", facts, people=people)
    items = [f"{'and ' if at > 1 else ''}{fact}" for at, fact in enumerate(_LEARNT)]
    return [
        beside(f"Figs. 1 to 3, Tom has AIDS, knowing: {item}", printed, float(belief))
        for item, printed, belief in zip(items, _LEARNT.values(), posteriors, strict=True)
    ]


def _speeds(faster: dict[str, list[float]]) -> list[EvidenceRow]:
    return [
        claimed(
            f"SkylineCheck against dynamic programming, {setting}",
            f"{printed:,} times faster",
            times >= printed,
            f"{times:,.0f} times",
            "both are compiled here, and timed by the processor, the least of three runs",
        )
        for setting, printed, times in (
            ("(10, 10, 10), the most people", 140, faster["people"][-1]),
            ("k = 32", 1_000, faster["k"][-1]),
        )
    ]


def _fig_8(scaled: Sequence[ScaleUp], settings: RunSettings) -> list[EvidenceRow]:
    most = max(figures.people for figures in scaled)
    rows = [
        unprinted(
            f"Fig. 8, {figures.criterion}, {figures.people:,} people",
            f"{figures.seconds:,.1f} s, {figures.groups:,} groups"
            + (f", in {settings.memory}" if figures.stored else ""),
            "the printed seconds are not at hand",
        )
        for figures in scaled
        if figures.people >= min(most, SIZES[-1])
    ]
    if larger := [f"{size // 1_000_000}" for size in STORED if size > most]:
        why = "takes a file and long: sfumato reproduce skyline --memory 2GB --people 100000000"
        rows.append(not_run(f"Fig. 8, {', '.join(larger)} million people", "–", why))
    return rows


def _points(skyline: KnowledgeSkyline, data: Path | None) -> list[EvidenceRow]:
    item = "Case study, points of the skyline of Exec-managerial at 95 %"
    if data is None:
        why = "needs UCI Adult: give the data folder"
        return [not_run(item, "(0, 4, 0) and (2, 1, 3)", why)]
    points = [tuple(point) for point in skyline.points]
    listed = ", ".join(str(point) for point in points[:6]) + (" ..." if len(points) > 6 else "")
    return [
        claimed(
            item,
            "(0, 4, 0) and (2, 1, 3)",
            {(0, 4, 0), (2, 1, 3)} <= set(points),
            f"{len(points)} points: {listed}",
            "the skyline is that of the groups, and where Mondrian cuts is not printed",
            data="Adult",
        )
    ]


# -- speed of a check -----------------------------------------------------------------------------


def _speed_sections(
    groups: int, seed: int, ticker: Ticker
) -> tuple[list[Section], dict[str, list[float]]]:
    """And how many times faster than the baseline, by what is varied."""
    rng = np.random.default_rng(seed)
    dense = rng.multinomial(PEOPLE, [1 / VALUES] * VALUES, size=groups)
    few_groups.give_way()
    _time_both(dense[:10], (1, 1, 1))  # compile
    varied = {
        "people": [(dense[: groups * part // 5], TEN_EACH) for part in range(1, 6)],
        "l": [(dense[: groups // 5], (number, 10, 10)) for number in (0, 4, 8, 12, 16)],
        "k": [(dense[: groups // 5], (10, number, 10)) for number in (0, 8, 16, 24, 32)],
        "m": [(dense[: groups // 5], (10, 10, number)) for number in (0, 4, 8, 12, 16)],
    }
    sections, faster = [], {}
    for name, tries in varied.items():
        rows = [(PEOPLE * len(part), str(point), *_time_both(part, point)) for part, point in tries]
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
                "Both compiled, one value, one point; the baseline tries every distribution.",
                (Sheet(columns, tuple(rows)),),
                (figure,),
            )
        )
        faster[name] = [float(row[4]) for row in rows]
        ticker.add(1)
    return sections, faster


def _time_both(dense: Any, point: tuple[int, int, int]) -> tuple[float, float, float, bool]:
    """Milliseconds (of the processor, for a busy machine would lengthen the baseline, which takes
    longer) of the check and of the baseline, their ratio, whether they agree."""
    groups, clock = Groups(dense), time.process_time
    checked, probability = _timed(lambda: breach_probability(groups, "0", *point), 3, clock)
    programmed, baseline = _timed(lambda: breach_by_programming(dense, 0, *point), 3, clock)
    return 1e3 * checked, 1e3 * programmed, programmed / checked, abs(probability - baseline) < 1e-9


def _timed(
    work: Callable[[], Any], times: int, clock: Any = time.perf_counter
) -> tuple[float, Any]:
    least, answer = float("inf"), None
    for _ in range(times):
        start, answer = clock(), work()
        least = min(least, clock() - start)
    return least, answer


# -- scale-up of the anonymization ----------------------------------------------------------------


@dataclass(frozen=True)
class ScaleUp:
    """Mondrian under one criterion; `stored`: of a table kept on disk."""

    people: int
    criterion: str
    seconds: float
    groups: int
    stored: bool


def _scale_up(table: Table, times: int) -> Iterator[ScaleUp]:
    """Two skylines, and k-anonymity for comparison."""
    for name, criterion in ASKED.items():
        seconds, release = _timed(partial(Mondrian().run, Task(table, (criterion,))), times)
        stored = not table.counts.fits_memory
        yield ScaleUp(table.people, name, seconds, len(release.groups), stored)


def _from_files(sizes: Sequence[int], seed: int, memory: str) -> Iterator[ScaleUp]:
    for size in sizes:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "people.parquet"
            with pq.ParquetWriter(path, _columns(1, seed).schema) as writer:
                for part in range(size // _PART):
                    writer.write_table(_columns(_PART, seed + part))
            yield from _scale_up(read(path, SCHEMA, memory=memory), 1)


def _scale_section(scaled: Sequence[ScaleUp]) -> Section:
    sizes = sorted({figures.people for figures in scaled})
    rows = tuple(
        (
            figures.people,
            figures.criterion,
            figures.seconds,
            1e6 * figures.seconds / figures.people,
            figures.groups,
        )
        for figures in scaled
    )
    series = tuple(
        Series(name, sizes, [run.seconds for run in scaled if run.criterion == name])
        for name in ASKED
    )
    return Section(
        "Scale-up of SkylineAnonymize (Fig. 8)",
        "Eight columns, nine sensitive values, confidence 1: nobody may become certain.",
        (Sheet(("people", "criterion", "seconds", "seconds per million", "groups"), rows),),
        (
            Chart(
                "Scale-up of SkylineAnonymize",
                "lines",
                "people",
                "seconds",
                series,
                log_x=True,
                log_y=True,
                alt=f"Seconds to anonymize from {sizes[0]:,} to {sizes[-1]:,} people.",
            ),
        ),
    )


_PART = 1_000_000  # people written to a file at a time
SCHEMA = Schema(quasi=[f"q{place}" for place in range(8)], sensitive="s")


def _columns(people: int, seed: int) -> pa.Table:
    rng = np.random.default_rng(seed)
    columns = {
        f"q{place}": rng.integers(0, size, people)
        for place, size in enumerate((80, 40, 20, 12, 8, 5, 2, 2))
    }
    return pa.table({**columns, "s": rng.integers(0, 9, people)})


def _uniform(people: int, seed: int) -> Table:
    return read(_columns(people, seed), SCHEMA)


# -- the case study -------------------------------------------------------------------------------


def _case_study(
    data: Path | None, seed: int
) -> tuple[list[Section], dict[str, object], KnowledgeSkyline]:
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
            skyline_charts([skyline]),
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
    return sections, facts, skyline


def _study(data: Path | None, seed: int) -> tuple[Table, str]:
    if data is None:
        table = read(census(20_000, seed), census_schema())
        return table, "Hypertension"
    columns = [*ADULT_QUASI, "occupation"]
    schema = Schema(quasi=ADULT_QUASI, sensitive="occupation")
    return read(adult_uci(data, complete=True).select(columns), schema), "Exec-managerial"


def _groundings(release: Release, skyline: KnowledgeSkyline) -> list[Grounding]:
    """The worst groundings one person or fact beyond each point."""
    points = {(0, 0, 0)} if not skyline.points else set()
    for l, k, m in skyline.points:  # noqa: E741  # the paper's names
        points |= {(l + 1, k, m), (l, k + 1, m), (l, k, m + 1)}
    groundings = [worst_grounding(release, skyline.value, *point) for point in sorted(points)]
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
