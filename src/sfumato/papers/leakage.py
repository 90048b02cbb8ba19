"""Ren, Li: Privacy-Preserving Characterization and Data Publishing. Examples and experiments.

Full-domain releases of Adult with occupation sensitive, found by the lattice search: 0.5-close,
6-diverse and 6-anonymous by age and workclass; 0.5-close, 7-diverse, 7-anonymous by three columns;
0.1-close, 13-diverse, 13-anonymous by two. What every class of each release leaks, the worst one
beside what was expected, and leakage against four pairs of columns. The paper numbers its columns;
1 and 2 are age and workclass, 3 and 4 are taken to be education and marital status.

Errata: the examples below show print and truth side by side.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import sqrt
from pathlib import Path

from sfumato.anonymizers.lattice.lattice import Lattice, LatticeFindings
from sfumato.criteria.base import Criterion
from sfumato.criteria.closeness import TCloseness
from sfumato.criteria.diversity import DistinctDiversity
from sfumato.criteria.k_anonymity import KAnonymity
from sfumato.criteria.leakage import DistributionLeakage, EntropyLeakage
from sfumato.datasets.census import census, census_schema
from sfumato.datasets.public_files import adult
from sfumato.papers.metric_comparison import compare_metrics
from sfumato.policy.model import Policy
from sfumato.release.groups import Groups
from sfumato.release.release import Release, as_it_stands
from sfumato.report.characterization import CombinationFinding
from sfumato.report.document import Chart, Document, Section, Series, Sheet
from sfumato.report.sections.characterization import compared, per_class
from sfumato.schema.roles import Schema
from sfumato.table import Table, read
from sfumato.workflow.anonymize import anonymize, generalize
from sfumato.workflow.characterize import characterize

# Examples 1 to 4 of the leakage paper (Ren, Li), printed beside what they come to.
#
# Printed values are the paper's; None where it prints none or where print and truth agree in words
# only. Everything else is computed by the criteria themselves.

_CLASSES = Groups([[3, 1, 0], [3, 1, 0], [1, 1, 2]])
_FOUR = Groups([[1, 1, 1, 1], [3, 1, 0, 0], [3, 0, 1, 0], [3, 0, 0, 1]])
# Nine salaries, 3 to 11 thousand, each had by one person of the whole table.
_SALARIES = [str(thousand) for thousand in range(3, 12)]
_THREE_FOUR_FIVE = [1, 1, 1, 0, 0, 0, 0, 0, 0]
_SEVENS = [0, 0, 0, 0, 3, 0, 0, 0, 0]
_PAID = Groups([_THREE_FOUR_FIVE, _SEVENS], _SALARIES, reference=[1] * 9)


@dataclass(frozen=True)
class _PrintedFigure:
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
            measure = DistributionLeakage(0.5).measure(self.groups)
        elif self.measure == "L_E":
            measure = EntropyLeakage(0.5).measure(self.groups)
        else:
            distance = "ordered" if self.measure == "EMD, ordered" else "equal"
            measure = TCloseness(0.5, distance=distance).measure(self.groups)
        return float(measure.per_group[self.group])


def _lines() -> list[_PrintedFigure]:
    first = [("class 1", 0), ("class 2", 1), ("class 3", 2)]
    lines = [
        _PrintedFigure("1 and 3", name, "L_D", printed, _CLASSES, at)
        for (name, at), printed in zip(first, (None, None, sqrt(26) / 12), strict=True)
    ]
    lines += [
        _PrintedFigure("1 and 3", name, "L_E", printed, _CLASSES, at)
        for (name, at), printed in zip(first, (0.57, 0.57, 0.11), strict=True)
    ]
    for at in range(4):
        printed = sqrt(48) / 16 if at == 0 else 1 / 4
        lines.append(_PrintedFigure("2", f"class {at + 1}", "L_D", printed, _FOUR, at))
    for at in range(4):
        printed = 0.45 if at == 0 else 0.73
        lines.append(_PrintedFigure("2", f"class {at + 1}", "L_E", printed, _FOUR, at))
    lines += [
        _PrintedFigure("3", name, "EMD", printed, _CLASSES, at)
        for (name, at), printed in zip(first, (1 / 3, 1 / 3, 2 / 3), strict=True)
    ]
    return [
        *lines,
        _PrintedFigure("4", "{7, 7, 7}", "EMD, ordered", 0.375, _PAID, 1),
        _PrintedFigure("4", "{3, 4, 5}", "EMD, ordered", 0.278, _PAID, 0),
        _PrintedFigure("4", "{3, 4, 5}", "L_D", 0.22, _PAID, 0),
        _PrintedFigure("4", "{7, 7, 7}", "L_D", 0.89, _PAID, 1),
        _PrintedFigure("4", "{3, 4, 5}", "L_E", 0.158, _PAID, 0),
        _PrintedFigure("4", "{7, 7, 7}", "L_E", 3.16, _PAID, 1),
    ]


def _agrees(line: _PrintedFigure) -> bool | None:
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


@dataclass(frozen=True)
class _PaperTable:
    """The table, and which of its columns the paper's numbers 1 to 4 are."""

    source: object
    schema: Schema
    numbered: tuple[str, ...]
    sensitive: str
    about: str

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


SETTINGS = (_Setting(2, 0.5, 6), _Setting(3, 0.5, 7), _Setting(2, 0.1, 13))
_MINIMAL = 5  # further minimal releases shown
PAIRS = ((0, 1), (1, 2), (1, 3), (2, 3))


def run(data: Path | None, *, seed: int = 0, quick: bool = False) -> Document:
    """The paper's examples, its comparison of measures, and its figures on Adult."""
    people = _people(data, seed, quick)
    sections = [examples(), _measures(seed, quick)]
    sections += [_release_section(people, setting) for setting in SETTINGS]
    sections.append(_pairs_section(people, SETTINGS[0]))
    return Document(
        "leakage",
        "Distribution and entropy leakage",
        f"Ren, Li: Privacy-Preserving Characterization and Data Publishing. {people.about}",
        tuple(sections),
    )


def _people(data: Path | None, seed: int, quick: bool) -> _PaperTable:
    if data is not None:
        file, schema = adult(data)
        numbered = ("age", "workclass", "education", "marital-status")
        about = "Adult, 30,162 people, occupation sensitive."
        return _PaperTable(file, schema, numbered, "occupation", about)
    many = 2_000 if quick else 20_000
    return _PaperTable(
        census(many, seed),
        census_schema(),
        ("age", "work", "education", "marital"),
        "disease",
        f"No data folder was given: {many:,} synthetic people stand in for Adult, their disease "
        "for its occupation; a diversity above the number of diseases is lowered to it.",
    )


def _measures(seed: int, quick: bool) -> Section:
    """Figure 1: from the prior of Example 1 to its third class."""
    draws = 200 if quick else 2_000
    comparison = compare_metrics(
        [7 / 12, 1 / 4, 1 / 6], [1 / 4, 1 / 4, 1 / 2], draws=draws, seed=seed
    )
    return Section(
        "Seven measures of leakage (Figure 1)",
        "From the prior of Example 1 straight to its third class, and under permutations of the "
        f"prior; rank correlations over {draws:,} random distributions.",
        comparison.tables(),
        comparison.charts(),
    )


def _released(people: _PaperTable, columns: Sequence[str], setting: _Setting) -> Release:
    table = people.table(columns)
    values = len(table.counts.sensitive[0].domain)
    return anonymize(table, Policy(setting.require(values), anonymizer=Lattice()), seed=0)


def _all_columns(subject: Release, columns: Sequence[str]) -> CombinationFinding:
    return characterize(subject, len(columns)).finding(columns)


def _release_section(people: _PaperTable, setting: _Setting) -> Section:
    """Figures 2 and 3: the classes of one release, and the worst of them."""
    columns = people.numbered[: setting.columns]
    release = _released(people, columns, setting)
    at_chosen = _all_columns(release, columns)
    findings = LatticeFindings.of(release.made)
    assert findings is not None
    assert findings.search is not None
    assert release.placement is not None
    chosen = tuple(findings.levels.values())
    rows_of = [(f"at levels {_levels(chosen)}, chosen", at_chosen)]
    for levels in findings.search.minimal:
        if levels != chosen and len(rows_of) <= _MINIMAL:
            other = _all_columns(generalize(release.placement.table, levels), columns)
            rows_of.append((f"at levels {_levels(levels)}", other))
    return Section(
        f"{setting.t:g}-close, {setting.diverse}-diverse, k ≥ {setting.diverse} by "
        f"{', '.join(columns)}",
        "The release of least loss, and other minimal ones: no safe release is finer.",
        (_figures_sheet(rows_of),),
        (per_class(at_chosen), compared(at_chosen)),
    )


def _levels(levels: Iterable[int]) -> str:
    return f"({', '.join(map(str, levels))})"


def _pairs_section(people: _PaperTable, setting: _Setting) -> Section:
    """Figure 4: leakage against pairs of columns, of releases and of the table as it stands."""
    rows_of: list[tuple[str, CombinationFinding]] = []
    for pair in PAIRS:
        columns = [people.numbered[at] for at in pair]
        number = f"({', '.join(str(at + 1) for at in pair)})"
        raw = _all_columns(as_it_stands(people.table(columns)), columns)
        leaked = _all_columns(_released(people, columns, setting), columns)
        rows_of += [(f"{number} as it stands", raw), (f"{number} released", leaked)]
    released = [(name, leaked) for name, leaked in rows_of if name.endswith("released")]
    labels = [leaked.label for _, leaked in released]
    return Section(
        "Leakage against pairs of columns (Figure 4)",
        f"Each pair released {setting.t:g}-close, {setting.diverse}-diverse and "
        f"{setting.diverse}-anonymous, and as it stands in the table.",
        (_figures_sheet(rows_of),),
        (
            Chart(
                "Leakage of releases by pairs of columns",
                "bars",
                "columns",
                "leakage",
                (
                    Series(
                        "L_D max", labels, [leaked.distribution.largest for _, leaked in released]
                    ),
                    Series(
                        "L_D mean", labels, [leaked.distribution.mean for _, leaked in released]
                    ),
                    Series("L_E max", labels, [leaked.entropy.largest for _, leaked in released]),
                    Series("L_E mean", labels, [leaked.entropy.mean for _, leaked in released]),
                ),
                alt="; ".join(
                    f"{leaked.label}: L_D at most {leaked.distribution.largest:.3g}, L_E at most "
                    f"{leaked.entropy.largest:.3g} bits"
                    for _, leaked in released
                ),
            ),
        ),
    )


def _figures_sheet(told: Sequence[tuple[str, CombinationFinding]]) -> Sheet:
    return Sheet(
        ("columns", "classes", "k", "L_D max", "L_D mean", "L_E max", "L_E mean"),
        tuple(
            (
                f"{one.label} {name}".strip(),
                one.classes,
                one.k,
                one.distribution.largest,
                one.distribution.mean,
                one.entropy.largest,
                one.entropy.mean,
            )
            for name, one in told
        ),
    )
