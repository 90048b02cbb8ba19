"""Ren, Li: Privacy-Preserving Characterization and Data Publishing. Examples and experiments.

Full-domain releases of Adult with occupation sensitive, found by the lattice search: 0.5-close,
6-diverse and 6-anonymous by age and workclass; 0.5-close, 7-diverse, 7-anonymous by three columns;
0.1-close, 13-diverse, 13-anonymous by two. What every class of each release leaks, the worst one
beside what was expected, and leakage against four pairs of columns. The paper numbers its columns
(Table IV): age, workclass, education, country. How it coarsens them is not printed; the classes it
names ([75, 100], Gov, over 50) and counts (8 and 4) are those of ages by 5, 25 and 50 years and the
other columns in two.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import sqrt
from pathlib import Path

import numpy as np

from sfumato.anonymizers.lattice.lattice import Lattice, LatticeFindings
from sfumato.criteria.base import Criterion
from sfumato.criteria.closeness import TCloseness
from sfumato.criteria.diversity import DistinctDiversity
from sfumato.criteria.k_anonymity import KAnonymity
from sfumato.criteria.leakage import DistributionLeakage, EntropyLeakage
from sfumato.datasets.census import census, census_schema
from sfumato.datasets.public_files import adult
from sfumato.numbers import Floats
from sfumato.papers import RunSettings
from sfumato.papers.evidence import (
    EvidenceRow,
    Reproduction,
    beside,
    claimed,
    not_run,
    several_beside,
)
from sfumato.papers.metric_comparison import MetricComparison, compare_metrics, judge_figure
from sfumato.policy.model import Policy
from sfumato.release.groups import Groups
from sfumato.release.release import Release, as_it_stands
from sfumato.report.characterization import CombinationFinding
from sfumato.report.document import Chart, Section, Series, Sheet
from sfumato.report.sections.characterization import compared
from sfumato.schema.recipes import Taxonomy, intervals, taxonomy
from sfumato.schema.roles import Schema
from sfumato.table import Table, read
from sfumato.workflow.anonymize import anonymize, generalize
from sfumato.workflow.characterize import characterize

# -- the paper's own examples ----------------------------------------------------------------------

_CLASSES = Groups([[3, 1, 0], [3, 1, 0], [1, 1, 2]])
_FOUR = Groups([[1, 1, 1, 1], [3, 1, 0, 0], [3, 0, 1, 0], [3, 0, 0, 1]])
# Nine salaries, 3 to 11 thousand, each had by one person of the whole table.
_SALARIES = range(3, 12)
_PAID = ((3, 5, 9), (6, 8, 11), (4, 7, 10), (3, 4, 5), (7, 7, 7))
_PAYROLL = Groups(
    [[paid.count(salary) for salary in _SALARIES] for paid in _PAID],
    [str(salary) for salary in _SALARIES],
    reference=[1] * 9,
)


def _measured(criterion: Criterion, groups: Groups) -> list[float]:
    return [float(value) for value in criterion.measure(groups).per_group]


def worked() -> list[EvidenceRow]:
    """Examples 1 to 4, Theorem 1 and the two things said of Fig. 1."""
    return [*_examples(), *_theorem(), *judge_figure(_comparison(0))]


def _examples() -> list[EvidenceRow]:
    distribution, entropy = DistributionLeakage(0.5), EntropyLeakage(0.5)
    apart, ordered = TCloseness(0.5), TCloseness(0.5, distance="ordered")
    rows = []
    slip = "26 is printed where the squares sum to 32"
    for at, (text, value) in enumerate(
        [("sqrt(8)/12", sqrt(8) / 12)] * 2 + [("sqrt(26)/12", sqrt(26) / 12)]
    ):
        leak = _measured(distribution, _CLASSES)[at]
        rows.append(beside(f"Examples 1 and 3, L_D, class {at + 1}", text, leak, slip, value=value))
    rows.append(
        several_beside("Examples 1 and 3, L_E", (".57", ".57", ".11"), _measured(entropy, _CLASSES))
    )
    first, *rest = _measured(distribution, _FOUR)
    rows.append(beside("Example 2, L_D, class 1", "sqrt(48)/16", first, value=sqrt(48) / 16))
    rows.append(several_beside("Example 2, L_D, classes 2 to 4", ["1/4"] * 3, rest))
    rows.append(
        several_beside("Example 2, L_E", (".45", ".73", ".73", ".73"), _measured(entropy, _FOUR))
    )
    rows.append(
        several_beside(
            "Example 3, EMD",
            ("1/3", "1/3", "2/3"),
            _measured(apart, _CLASSES),
            "what is printed is L1, twice the EMD",
        )
    )
    rows.append(
        beside(
            "Example 3, t of the release",
            ".67",
            max(_measured(apart, _CLASSES)),
            "that of L1; the release is 1/3-close",
        )
    )
    moved, leaked = _measured(ordered, _PAYROLL), _measured(distribution, _PAYROLL)
    bits = _measured(entropy, _PAYROLL)
    rows += [
        several_beside("Tables I and II, salary, EMD", (".167", ".167", ".083"), moved[:3]),
        not_run(
            "Tables I and II, disease, EMD", ".278", "the hierarchy of diseases is not printed"
        ),
        several_beside(
            "Example 4, EMD of {7, 7, 7} and {3, 4, 5}",
            (".375", ".278"),
            (moved[4], moved[3]),
            "the two are swapped in print",
        ),
        several_beside(
            "Example 4, L_D of {3, 4, 5} and {7, 7, 7}",
            (".22", ".89"),
            leaked[3:],
            f"the squares are printed; ours squared: {leaked[3] ** 2:.4f}, {leaked[4] ** 2:.4f}",
        ),
        beside("Example 4, L_E of {3, 4, 5}", ".158", bits[3], "a decimal point slipped: 1.58"),
        beside("Example 4, L_E of {7, 7, 7}", "3.16", bits[4]),
    ]
    return rows


def _theorem() -> list[EvidenceRow]:
    """L_D from the uniform prior is the standard deviation times the root of m."""
    leaked = np.array(_measured(DistributionLeakage(0.5, prior="uniform"), _FOUR))
    shares = _FOUR.dense() / _FOUR.sizes[:, None]
    apart = np.abs(leaked - shares.std(axis=1) * sqrt(shares.shape[1])).max()
    return [
        claimed(
            "Theorem 1",
            "against the uniform prior L_D = sigma sqrt(m)",
            bool(apart < 1e-12),
            f"apart by at most {apart:g} on the classes of Example 2",
        )
    ]


_DRAWS, _FEW_DRAWS = 2_000, 200


def _comparison(seed: int, draws: int = _DRAWS) -> MetricComparison:
    """From the prior of Example 1 to its third class."""
    return compare_metrics([7 / 12, 1 / 4, 1 / 6], [1 / 4, 1 / 4, 1 / 2], draws=draws, seed=seed)


# -- the releases ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class _PaperTable:
    """The table, and which of its columns the paper's numbers 1 to 4 are."""

    name: str
    source: object
    schema: Schema
    numbered: tuple[str, ...]
    sensitive: str

    def table(self, quasi: Sequence[str]) -> Table:
        return read(self.source, self.schema.part(tuple(quasi), (self.sensitive,)))


@dataclass(frozen=True)
class _Setting:
    """One release of the paper: its columns and bounds."""

    columns: int
    t: float
    diverse: int

    def require(self, values: int) -> list[Criterion]:
        """The bounds; no group can show more values than there are."""
        return [
            TCloseness(self.t),
            DistinctDiversity(min(self.diverse, values)),
            KAnonymity(self.diverse),
        ]

    @property
    def words(self) -> str:
        return f"{self.t:g}-close, {self.diverse}-diverse, k ≥ {self.diverse}"


SETTINGS = (_Setting(2, 0.5, 6), _Setting(3, 0.5, 7), _Setting(2, 0.1, 13))
_MINIMAL = 5  # further minimal releases shown
PAIRS = ((0, 1), (1, 2), (1, 3), (2, 3))
ADULT = "Adult"


@dataclass(frozen=True)
class _Published:
    """One release by some columns, and what its classes leak."""

    columns: tuple[str, ...]
    release: Release

    @cached_property
    def finding(self) -> CombinationFinding:
        return characterize(self.release, len(self.columns)).finding(self.columns)

    @cached_property
    def distribution(self) -> Floats:
        return np.array(_measured(DistributionLeakage(1), self.release.groups))

    @cached_property
    def entropy(self) -> Floats:
        return np.array(_measured(EntropyLeakage(1), self.release.groups))

    @property
    def classes(self) -> list[str]:
        described = (self.release.regions.describe(at) for at in range(len(self.entropy)))
        return [", ".join(cells.values()) for cells in described]

    def per_class(self) -> Sheet:
        """As Figs. 2 to 4 draw it, in the order of the published classes."""
        sizes = self.release.groups.sizes.tolist()
        rows = zip(
            self.classes, sizes, self.distribution.tolist(), self.entropy.tolist(), strict=True
        )
        title = f"Leakage of each class of {', '.join(self.columns)}"
        return Sheet(("class", "people", "L_D", "L_E"), tuple(rows), title)

    def ruled_out(self) -> dict[str, list[str]]:
        """The values that a class does not show, by class."""
        values, counts = self.release.groups.values, self.release.groups.dense()
        missing = {
            name: [str(values[at]) for at in np.flatnonzero(row == 0)]
            for name, row in zip(self.classes, counts, strict=True)
        }
        return {name: gone for name, gone in missing.items() if gone}

    def bars(self) -> Chart:
        return Chart(
            f"Leakage of the classes of {', '.join(self.columns)}",
            "bars",
            "class",
            "leakage",
            (
                Series("L_D", self.classes, self.distribution.tolist()),
                Series("L_E", self.classes, self.entropy.tolist()),
            ),
            alt=f"Classes: {len(self.entropy):,}; L_D up to {self.distribution.max():.3g}, L_E up "
            f"to {self.entropy.max():.3g} bits.",
        )


def run(data: Path | None, settings: RunSettings) -> Reproduction:
    """The paper's examples, its comparison of measures, and its figures on Adult."""
    people = _people(data, settings)
    comparison = _comparison(settings.seed, _FEW_DRAWS if settings.quick else _DRAWS)
    made = [_published(people, people.numbered[: setting.columns], setting) for setting in SETTINGS]
    pairs = {
        pair: _published(people, tuple(people.numbered[at] for at in pair), SETTINGS[0])
        for pair in PAIRS
    }
    judged = _on_adult(made, pairs) if data is not None else _without_data()
    stands_in = (
        "Adult is the 30,162 complete records of UCI's training file, as in print; how the paper "
        "coarsens its columns is ours to guess: ages by 5, 25 and 50 years, Gov and Non-gov, "
        "higher education and below, US and elsewhere."
        if data is not None
        else f"No data folder was given: {made[0].release.people:,} synthetic people stand in for "
        "Adult, their disease for its occupation; a diversity above the number of diseases is "
        "lowered to it."
    )
    return Reproduction(
        "leakage",
        "Distribution and entropy leakage",
        "Ren, Li: Privacy-Preserving Characterization and Data Publishing.",
        stands_in,
        (*worked(), *judged),
        (
            _measures(comparison, settings.quick),
            *(
                _release_section(published, setting)
                for published, setting in zip(made, SETTINGS, strict=True)
            ),
            _pairs_section(people, pairs),
        ),
    )


def _people(data: Path | None, settings: RunSettings) -> _PaperTable:
    if data is not None:
        file, schema = adult(data)
        return _PaperTable(ADULT, file, _coarsened(file, schema), ADULT_COLUMNS, "occupation")
    people = census(2_000 if settings.quick else 20_000, settings.seed)
    numbered = ("age", "work", "education", "marital")
    return _PaperTable("Census", people, census_schema(), numbered, "disease")


ADULT_COLUMNS = ("age", "workclass", "education", "native-country")
HIGHER = "Higher education"


def _coarsened(file: Path, schema: Schema) -> Schema:
    """Ages by 5, 25 and 50 years, the other columns in two."""
    counts = read(file, schema.part(ADULT_COLUMNS, ("occupation",))).counts
    values = {domain.name: [str(value) for value in domain.values] for domain in counts.quasi}
    education = schema.hierarchies["education"]
    assert isinstance(education, Taxonomy)
    return replace(
        schema,
        hierarchies={
            "age": intervals([5, 25, 50]),
            "workclass": taxonomy(
                {
                    value: ("Gov" if value.endswith("-gov") else "Non-gov",)
                    for value in values["workclass"]
                }
            ),
            "education": taxonomy(
                {
                    value: (HIGHER if HIGHER in education.paths[value] else "Below",)
                    for value in values["education"]
                }
            ),
            "native-country": taxonomy(
                {
                    value: ("US" if value == "United-States" else "Elsewhere",)
                    for value in values["native-country"]
                }
            ),
        },
    )


_CUTS = (
    "how the paper coarsens its columns is not printed: ages by 5, 25 and 50 years and the others "
    "in two is a guess"
)
_PRINTED = {  # of Section V.B
    "Fig. 2, classes of (1, 2)": "8",
    "Fig. 2, the class that leaks most": "C7, [75, 100] and Gov",
    "Fig. 3, L_D of (1, 2, 3), read as least and largest": ".0369, .3871",
    "Fig. 4, classes of (1, 2)": "8",
    "Fig. 4, classes of (2, 3)": "4",
    "Fig. 4, classes of (2, 4)": "4",
    "Fig. 4, classes of (3, 4)": "4",
    "0.1-close, classes of (1, 2)": "2",
    "0.1-close, L_D of the classes": ".0125, .0477",
    "0.1-close, L_E of the classes": ".0015, .0306",
    "0.1-close, values ruled out": "Armed-Forces, over 50",
}


def _without_data() -> list[EvidenceRow]:
    why = "needs UCI Adult: give the data folder"
    return [not_run(item, printed, why) for item, printed in _PRINTED.items()]


def _on_adult(
    made: Sequence[_Published], pairs: Mapping[tuple[int, int], _Published]
) -> list[EvidenceRow]:
    loose, three, close = made
    worst = loose.classes[int(loose.entropy.argmax())]
    gone = close.ruled_out()
    figures: dict[str, Sequence[float]] = {
        "Fig. 2, classes of (1, 2)": [len(loose.entropy)],
        "Fig. 3, L_D of (1, 2, 3), read as least and largest": [
            three.distribution.min(),
            three.distribution.max(),
        ],
        **{
            f"Fig. 4, classes of ({first + 1}, {second + 1})": [len(published.entropy)]
            for (first, second), published in pairs.items()
        },
        "0.1-close, classes of (1, 2)": [len(close.entropy)],
        "0.1-close, L_D of the classes": close.distribution.tolist(),
        "0.1-close, L_E of the classes": close.entropy.tolist(),
    }
    words = {
        "Fig. 2, the class that leaks most": (
            worst == "[75, 100), Gov",
            f"{worst}, L_E {loose.entropy.max():.4g}",
        ),
        "0.1-close, values ruled out": (
            gone == {"[50, 100), *": ["Armed-Forces"]},
            "; ".join(f"{', '.join(values)} in {name}" for name, values in gone.items()) or "none",
        ),
    }
    rows = []
    for item, printed in _PRINTED.items():
        if item in words:
            holds, answer = words[item]
            rows.append(claimed(item, printed, holds, answer, _CUTS, data=ADULT))
        else:
            texts = printed.split(", ")
            rows.append(several_beside(item, texts, figures[item], _CUTS, data=ADULT))
    return rows


def _measures(comparison: MetricComparison, quick: bool) -> Section:
    """Figure 1."""
    return Section(
        "Seven measures of leakage (Figure 1)",
        "From the prior of Example 1 straight to its third class, and under permutations of the "
        f"prior; rank correlations over {_FEW_DRAWS if quick else _DRAWS:,} random distributions.",
        comparison.tables(),
        comparison.charts(),
    )


def _published(people: _PaperTable, columns: Sequence[str], setting: _Setting) -> _Published:
    table = people.table(columns)
    values = len(table.counts.sensitive[0].domain)
    policy = Policy(setting.require(values), anonymizer=Lattice())
    return _Published(tuple(columns), anonymize(table, policy, seed=0))


def _release_section(published: _Published, setting: _Setting) -> Section:
    """Figures 2 and 3: the classes of one release, and the worst of them."""
    columns, release = published.columns, published.release
    findings = LatticeFindings.of(release.made)
    assert findings is not None
    assert findings.search is not None
    assert release.placement is not None
    chosen = tuple(findings.levels.values())
    others = [levels for levels in findings.search.whole.minimal if levels != chosen]
    rows_of = [(f"at levels {_levels(chosen)}, chosen", published.finding)]
    for levels in others[:_MINIMAL]:
        other = _Published(columns, generalize(release.placement.table, levels))
        rows_of.append((f"at levels {_levels(levels)}", other.finding))
    left_out = f" {len(others) - _MINIMAL} more are not shown." if len(others) > _MINIMAL else ""
    return Section(
        f"{setting.words} by {', '.join(columns)}",
        f"The release of least loss, and other minimal ones: no safe release is finer.{left_out}",
        (_figures_sheet(rows_of), published.per_class()),
        (published.bars(), compared(published.finding)),
    )


def _levels(levels: Iterable[int]) -> str:
    return f"({', '.join(map(str, levels))})"


def _pairs_section(people: _PaperTable, pairs: Mapping[tuple[int, int], _Published]) -> Section:
    """Figure 4: leakage against pairs of columns, of releases and of the table as it stands."""
    rows_of: list[tuple[str, CombinationFinding]] = []
    for pair, published in pairs.items():
        number = _levels(at + 1 for at in pair)
        raw = _Published(published.columns, as_it_stands(people.table(published.columns)))
        rows_of += [
            (f"{number} as it stands", raw.finding),
            (f"{number} released", published.finding),
        ]
    return Section(
        "Leakage against pairs of columns (Figure 4)",
        f"Each pair released {SETTINGS[0].words}, and as it stands in the table; the released "
        "classes one by one.",
        (_figures_sheet(rows_of), *(published.per_class() for published in pairs.values())),
        tuple(published.bars() for published in pairs.values()),
    )


def _figures_sheet(findings: Sequence[tuple[str, CombinationFinding]]) -> Sheet:
    return Sheet(
        ("columns", "classes", "k", "L_D max", "L_D mean", "L_E max", "L_E mean"),
        tuple(
            (
                f"{figures.label} {name}".strip(),
                figures.classes,
                figures.k,
                figures.distribution.largest,
                figures.distribution.mean,
                figures.entropy.largest,
                figures.entropy.mean,
            )
            for name, figures in findings
        ),
    )
