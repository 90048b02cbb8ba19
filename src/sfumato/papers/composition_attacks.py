"""Every trial of the composition experiment: two releases of overlapping people, intersected.

Here too: the tables, and the same attack on randomised releases.

The experiments; the paper beside it tells what was found.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from sfumato.adversaries.composition.attack import intersection_attack
from sfumato.adversaries.composition.summary import Summary
from sfumato.adversaries.randomised import Composed, compose, semantic_privacy
from sfumato.anonymizers.base import Task
from sfumato.anonymizers.microaggregation import Microaggregation
from sfumato.anonymizers.mondrian.mondrian import Mondrian
from sfumato.anonymizers.noise import Noise
from sfumato.counts.counts import Counts
from sfumato.criteria.base import Criterion
from sfumato.criteria.closeness import TCloseness
from sfumato.criteria.diversity import EntropyDiversity
from sfumato.criteria.k_anonymity import KAnonymity
from sfumato.datasets.census import census, census_schema
from sfumato.datasets.public_files import MARITAL, acs_industry, adult
from sfumato.errors import MissingExtra
from sfumato.numbers import Ints
from sfumato.progress import Ticker
from sfumato.release.made import Randomised
from sfumato.release.noisy import WHOLE, Height
from sfumato.release.release import Release
from sfumato.report.document import Chart, Section, Series, Sheet
from sfumato.schema.hierarchy import Hierarchy
from sfumato.schema.recipes import intervals, taxonomy
from sfumato.schema.roles import Schema
from sfumato.table import Table, read
from sfumato.workflow.anonymize import generalize

# The tables of the composition experiment, and two random parts of each that share people.

ADULT_QUASI = ("age", "workclass", "education", "marital-status", "race", "sex", "native-country")
OVERLAP, OF = 5_000, 30_162  # people in both releases, of Adult; as many of a hundred elsewhere
QUICK = 4_000  # people drawn when time is short
_SCHOOL = {
    **dict.fromkeys(("N", "1", "2", "3", "4"), ("No diploma",)),
    **dict.fromkeys(("5", "6"), ("High school",)),
    **dict.fromkeys(("7", "8"), ("Some college",)),
    **dict.fromkeys(("9", "10", "11", "12"), ("Degree",)),
}


@dataclass(frozen=True)
class AttackedTable:
    """One table of the experiment, and the cells a noisy table of it has.

    Partitions are cut along the hierarchies of `cuts`, as in print, and centroids need none;
    `hierarchies` and `levels` are those of the noisy table.
    """

    name: str
    about: str
    table: Table
    cuts: Mapping[str, Hierarchy]
    hierarchies: Mapping[str, Hierarchy]
    levels: Mapping[str, Height]


@dataclass(frozen=True)
class Overlap:
    """Two random parts of a table, and the people who are in both."""

    parts: tuple[Table, Table]
    shared: Table
    cuts: Mapping[str, Hierarchy] = field(default_factory=dict)
    levels: Mapping[str, Height] = field(default_factory=dict)

    def to_cut(self, place: int) -> Table:
        """One part with the hierarchies that partitions are cut along."""
        part = self.parts[place]
        schema = replace(part.schema, hierarchies=dict(self.cuts))
        counts = part.counts.in_memory("cutting partitions")
        levels = {
            domain.name: schema.hierarchy(domain.name).bind(domain) for domain in counts.quasi
        }
        return replace(part, schema=schema, levels=levels)

    @property
    def sensitive(self) -> str:
        return self.shared.schema.sensitive[0]

    @property
    def commonest(self) -> float:
        """How often guessing the most frequent value of the shared people is right."""
        people = self.shared.counts.by_value(0)
        return float(people.max() / people.sum())


def studies(data: Path | None, seed: int) -> tuple[AttackedTable, ...]:
    """Adult and the ACS excerpt from the data folder; without one, the embedded census."""
    return (_census(seed),) if data is None else (_adult(data), _acs(data))


def split(study: AttackedTable, seed: int, *, quick: bool = False) -> Overlap:
    """Everybody dealt by chance: some to both parts, half of the others to each."""
    counts = study.table.counts.in_memory("dealing everybody by chance")
    people = np.repeat(np.arange(len(counts)), counts.n)
    people = np.random.default_rng(seed).permutation(people)[: QUICK if quick else None]
    overlapping = round(OVERLAP * len(people) / OF)
    half = (overlapping + len(people)) // 2
    dealt = (
        people[:half],
        np.concatenate([people[:overlapping], people[half:]]),
        people[:overlapping],
    )
    first, second, shared = (replace(study.table, counts=_part(counts, people)) for people in dealt)
    return Overlap((first, second), shared, study.cuts, study.levels)


def declared(study: AttackedTable, overlap: Overlap) -> Overlap:
    """The same people, columns with hierarchies and declared values: what a noisy table needs.

    Declared are the values of the whole table, which stands for a code book here.
    """
    counts = study.table.counts.in_memory("dealing everybody by chance")
    texts = [domain for domain in counts.quasi if domain.kind in ("categorical", "ordered")]
    values = {domain.name: domain.values for domain in (*texts, counts.sensitive[0].domain)}
    schema = Schema(
        quasi=study.table.schema.quasi,
        sensitive=study.table.schema.sensitive,
        hierarchies=dict(study.hierarchies),
        domains=values,
        nulls="error",
    )
    levels = {domain.name: schema.hierarchy(domain.name).bind(domain) for domain in counts.quasi}
    first, second, shared = (
        replace(part, schema=schema, levels=levels) for part in (*overlap.parts, overlap.shared)
    )
    return replace(overlap, parts=(first, second), shared=shared)


def _part(counts: Counts, people: Ints) -> Counts:
    """The counts of some people, each given by the tuple she has."""
    alone = counts.take(people)
    return replace(alone, n=np.ones(len(people), dtype=np.int64)).compact()


def _adult(data: Path) -> AttackedTable:
    file, schema = adult(data)
    levels: dict[str, Height] = {
        "age": 2,
        "education": 1,
        **dict.fromkeys(("workclass", "race", "native-country"), WHOLE),
    }
    hierarchies = {name: schema.hierarchies[name] for name in ADULT_QUASI}
    return AttackedTable(
        "Adult",
        "UCI Adult, complete records, occupation sensitive",
        read(file, Schema(quasi=ADULT_QUASI, sensitive="occupation")),
        hierarchies,
        hierarchies,
        levels,
    )


def _acs(data: Path) -> AttackedTable:
    rows, schema = acs_industry(data)
    levels: dict[str, Height] = {
        "AGEP": 1,
        "MSP": 1,
        "EDU": 1,
        **dict.fromkeys(("RAC1P", "HISP"), WHOLE),
    }
    coarser = {
        "MSP": taxonomy({code: path[:1] for code, path in MARITAL.items()}),
        "EDU": taxonomy(_SCHOOL),
    }
    return AttackedTable(
        "ACS",
        "American Community Survey 2019, national excerpt, industry sensitive; people of whom no "
        "industry is known (children, those long out of work) are left out: they would be groups "
        "of one value",
        read(rows, schema),
        {**coarser, "AGEP": intervals([5, 10, 20, 40])},
        {**coarser, "AGEP": intervals([10], bottom=20, top=70)},
        levels,
    )


def _census(seed: int) -> AttackedTable:
    schema = census_schema()
    levels: dict[str, Height] = {"age": 1, "education": 1, "marital": 1, "work": 2, "zip": WHOLE}
    return AttackedTable(
        "Census",
        f"embedded synthetic census, seed {seed}, disease sensitive",
        read(census(seed=seed), Schema(quasi=schema.quasi, sensitive=schema.sensitive)),
        {name: schema.hierarchies[name] for name in schema.quasi if name in schema.hierarchies},
        {**schema.hierarchies, "age": intervals([10], bottom=20, top=80)},
        levels,
    )


MONDRIAN, MICRO = "Mondrian", "microaggregation"
BOTH_MONDRIAN, BOTH_MICRO, MIXED = "Mondrian both", "microaggregation both", "one of each"
PAIRS = {
    BOTH_MONDRIAN: (MONDRIAN, MONDRIAN),
    BOTH_MICRO: (MICRO, MICRO),
    MIXED: (MONDRIAN, MICRO),
}
ALONE = "k alone"
BOUNDS: dict[str, Criterion | None] = {
    ALONE: None,
    "entropy 2-diversity": EntropyDiversity(2),
    "entropy 3-diversity": EntropyDiversity(3),
    "0.6-closeness": TCloseness(0.6),
    "0.5-closeness": TCloseness(0.5),
}
DIVERSE = tuple(name for name in BOUNDS if name.endswith("diversity"))
CLOSE = tuple(name for name in BOUNDS if name.endswith("closeness"))


@dataclass(frozen=True)
class IntersectionTrial:
    """One pair of releases and what intersecting them finds about the people in both.

    `sizes` are people a group, on average over groups. `oracle` takes everybody's own group, as
    the paper does; `nearest` the group of the nearest centroid, where there are centroids.
    """

    k: int
    bound: str
    pair: str
    sizes: tuple[float, ...]
    oracle: Summary
    nearest: Summary | None

    @property
    def breach(self) -> float:
        return self.oracle.perfect_breach


@dataclass(frozen=True)
class TrialSurvey:
    """All trials of one table, by what was asked of the releases."""

    trials: tuple[IntersectionTrial, ...]

    def of(self, pair: str, bound: str = ALONE) -> list[IntersectionTrial]:
        """In the order of k."""
        return [trial for trial in self.trials if (trial.pair, trial.bound) == (pair, bound)]

    @property
    def bounds(self) -> list[str]:
        return list(dict.fromkeys(trial.bound for trial in self.trials))


def right_when_sure(summary: Summary) -> float | None:
    """Of those with one value left, how often that value is theirs; None where there are none."""
    if summary.right is None or not summary.exposed:
        return None
    return summary.right[0] / summary.exposed


def survey(
    overlap: Overlap, sizes: Sequence[int], bounds: Mapping[str, Sequence[int]], seed: int
) -> TrialSurvey:
    """Trials for every k of `sizes`, and for some with a further bound on top."""
    asked = [(ALONE, k) for k in sizes]
    asked += [(bound, k) for bound, chosen in bounds.items() for k in chosen]
    trials: list[IntersectionTrial] = []
    with Ticker("anonymizing and intersecting", len(asked)) as ticker:
        for bound, k in asked:
            trials += _trials(overlap, k, bound, seed)
            ticker.add()
    return TrialSurvey(tuple(trials))


def _trials(overlap: Overlap, k: int, bound: str, seed: int) -> Iterator[IntersectionTrial]:
    made = {
        (name, place): _release(overlap, name, place, k, bound, seed)
        for name in (MONDRIAN, MICRO)
        for place in range(2)
    }
    for pair, names in PAIRS.items():
        releases = [made[name, place] for place, name in enumerate(names)]
        right = intersection_attack(
            releases, overlap.shared, overlap.sensitive, locate="oracle", seed=seed
        )
        near = None
        if MICRO in names:  # elsewhere regions tell the one group there is
            near = intersection_attack(releases, overlap.shared, overlap.sensitive).summary
        sizes = tuple(release.people / len(release.groups) for release in releases)
        yield IntersectionTrial(k, bound, pair, sizes, right.summary, near)


def _release(overlap: Overlap, name: str, place: int, k: int, bound: str, seed: int) -> Release:
    """One part made into a release; the two parts know nothing of each other."""
    further = BOUNDS[bound]
    require: tuple[Criterion, ...] = (KAnonymity(k),)
    task = Task(
        overlap.to_cut(place) if name == MONDRIAN else overlap.parts[place],
        require if further is None else (*require, further),
        seed=2 * seed + place,
    )
    return (Mondrian() if name == MONDRIAN else Microaggregation(k)).run(task)


# The same attack on randomised releases of the same people: what differential privacy changes.
#
# Two noisy tables, one of each part, cells fixed by schema and levels. Beside them the same tables
# without noise: what an adversary then takes for sure is so; with noise it often is not. What she
# can learn about one person is bounded by the promise, which adds up over both releases.

EXACT = "exact counts"


@dataclass(frozen=True)
class Noisy:
    """The attack on the tables without noise, and with noise by epsilon; `why` not with it.

    `cells` there are, `composed` is what both noisy releases promise together.
    """

    exact: Summary
    by_epsilon: dict[float, Summary]
    composed: dict[float, Composed]
    commonest: float
    cells: int = 0
    why: str = ""

    @property
    def all(self) -> dict[str, Summary]:
        summaries = {
            f"epsilon {epsilon:g} each": summary for epsilon, summary in self.by_epsilon.items()
        }
        return {EXACT: self.exact, **summaries}


def try_noise(overlap: Overlap, epsilons: Sequence[float]) -> Noisy:
    """Attack exact and noisy tables of the same cells; `overlap` has declared values."""
    tops = {name: levels.height - 1 for name, levels in overlap.parts[0].levels.items()}
    heights = {
        name: level if isinstance(level, int) else tops[name]
        for name, level in overlap.levels.items()
    }
    exact = _attack(overlap, [generalize(part, heights) for part in overlap.parts])
    by_epsilon, composed, cells, why = {}, {}, 0, ""
    for epsilon in epsilons:
        try:
            made = [
                Noise(epsilon, levels=overlap.levels).run(Task(part, ())) for part in overlap.parts
            ]
        except MissingExtra as missing:
            why = str(missing)
            break
        cells = made[0].made.table.counts.size if isinstance(made[0].made, Randomised) else 0
        by_epsilon[epsilon] = _attack(overlap, made)
        composed[epsilon] = compose(
            [release.guarantee for release in made if release.guarantee is not None]
        )
    return Noisy(exact, by_epsilon, composed, overlap.commonest, cells, why)


def _attack(overlap: Overlap, releases: Sequence[Release]) -> Summary:
    return intersection_attack(releases, overlap.shared, overlap.sensitive).summary


def noise_section(name: str, noisy: Noisy) -> Section:
    """The attack with and without noise, and what the noisy releases promise together."""
    title = f"{name}: the same attack on randomised releases"
    if noisy.why:
        return Section(f"{title}: not run", noisy.why)
    rows = tuple(
        (
            label,
            summary.located / summary.people,
            summary.not_locatable / summary.people,
            summary.inconsistent / summary.people,
            summary.exposed,
            right_when_sure(summary),
            summary.after,
            summary.precision,
        )
        for label, summary in noisy.all.items()
    )
    columns = (
        "releases",
        "located",
        "not locatable",
        "nothing left",
        "people with one value left",
        "and right",
        "values left (mean)",
        "guess right",
    )
    return Section(
        title, _words(noisy), (Sheet(columns, rows), _promises(noisy)), _chart(name, noisy)
    )


def _words(noisy: Noisy) -> str:
    sure = [share for share in map(right_when_sure, noisy.by_epsilon.values()) if share is not None]
    shares = dict.fromkeys(f"{share:.0%}" for share in (min(sure), max(sure))) if sure else {}
    return (
        f"Noisy counts of {noisy.cells:,} cells, geometric noise; no seed, so figures differ from "
        f"run to run. Without noise {noisy.exact.exposed:,} people have one value left, and it is "
        "theirs. With noise a value may be missing or made up: what then looks sure is right for "
        f"{' to '.join(shares) or 'nobody'} of those it is said of. That a guess is right more "
        f"often than the most frequent value ({noisy.commonest:.1%}) is what the tables tell about "
        "people like her, whether or not she is in them."
    )


def _promises(noisy: Noisy) -> Sheet:
    rows = []
    for epsilon, together in noisy.composed.items():
        bounds = semantic_privacy(together.basic).bounds
        tighter = together.tighter
        rows.append(
            (
                epsilon,
                together.basic.epsilon,
                None if tighter is None else tighter.epsilon,
                None if tighter is None else tighter.delta,
                *(str(bound) for bound in bounds),
            )
        )
    return Sheet(
        (
            "epsilon each",
            "both, basic",
            "both, OpenDP",
            "at delta",
            "semantic, paper",
            "semantic, tight",
        ),
        tuple(rows),
        "What both promise together, by replace-one",
        ("semantic: how far her conclusions can be from those without the person's record",),
    )


def _chart(name: str, noisy: Noisy) -> tuple[Chart, ...]:
    right = {label: right_when_sure(summary) for label, summary in noisy.all.items()}
    shares = [f"{label} {share:.0%}" for label, share in right.items() if share is not None]
    return (
        Chart(
            f"{name}: how often the one value left is the right one",
            "bars",
            "releases",
            "share of people with one value left",
            (Series("right", list(right), list(right.values())),),
            alt=f"{', '.join(shares)}." if shares else "Nobody has one value left.",
            percent="y",
            ticks=tuple(right),
        ),
    )
