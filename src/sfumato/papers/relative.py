"""Relative Privacy Threats and Learning From Anonymized Data (Boreale, Corradi, Viscardi, IEEE TIFS
2020): Tables IV and V, with their pictures, on Adult or on the embedded census.

The paper's 5,692 rows of Adult are not public; a seeded sample of that size of the 30,162 complete
records stands in, so it is the order of figures that can be compared with print, not their digits.
Releases are our own: generalized with k = l = 4 and 6 by the lattice (one recoding for everybody)
and by Mondrian (recoded group by group), and Anatomy's buckets with l = 4 and 6. Occupation is
sensitive, 14 values. Where a sampler does not converge its column says so.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import csv

from sfumato.adversaries.relative_threat.relative import relative_threat
from sfumato.adversaries.relative_threat.result import RelativeThreat
from sfumato.anonymizers.anatomy import Anatomy
from sfumato.anonymizers.base import Anonymizer
from sfumato.anonymizers.lattice.lattice import Lattice
from sfumato.anonymizers.mondrian.mondrian import Mondrian
from sfumato.criteria.base import Criterion
from sfumato.criteria.diversity import DistinctDiversity
from sfumato.criteria.k_anonymity import KAnonymity
from sfumato.datasets.census import census, census_schema
from sfumato.datasets.public_files import adult
from sfumato.policy.model import Policy
from sfumato.report.document import Chart, Document, Section, Sheet
from sfumato.report.sections.relative_threat import histogram, measures_sheet, scatter, ti_sheet
from sfumato.table import Table, read
from sfumato.workflow.anonymize import anonymize

TITLE = "Relative threat: learner against attacker on generalized and bucketized releases"
ROWS, FEW = 5_692, 1_000
SUPPRESSION = 0.02  # what the lattice may leave out
SIZES = (4, 6)
SWEEPS, FEW_SWEEPS = 32_000, 1_750  # a chain may make at most


@dataclass(frozen=True)
class Studied:
    """One release and what was found of it."""

    name: str
    scheme: str
    exact: bool  # its quasi-identifiers
    groups: int
    people: int
    threat: RelativeThreat


def run(data: Path | None, *, seed: int = 0, quick: bool = False) -> Document:
    """Both tables and the pictures; `quick` on 1,000 people, k and l of 4 alone, few sweeps."""
    table = _people(data, FEW if quick else ROWS, seed)
    sweeps = FEW_SWEEPS if quick else SWEEPS
    studied = list(_studied(table, seed, SIZES[:1] if quick else SIZES, sweeps))
    generalized = [study for study in studied if not study.exact]
    bucketized = [study for study in studied if study.exact]
    sections = [
        _table("Table IV: generalized releases", generalized),
        _table("Table V: Anatomy", bucketized),
        _how(studied),
        *(_pictures(study) for study in studied),
    ]
    return Document("relative", TITLE, _about(table, data, seed), tuple(sections), _facts(studied))


def _people(data: Path | None, many: int, seed: int) -> Table:
    rng = np.random.default_rng(seed)
    if data is None:
        return read(census(many, seed=seed), census_schema())
    file, schema = adult(data)
    rows = csv.read_csv(file, parse_options=csv.ParseOptions(delimiter=";"))
    chosen = np.sort(rng.permutation(rows.num_rows)[:many])
    return read(rows.take(pa.array(chosen)), schema)


def _studied(table: Table, seed: int, sizes: tuple[int, ...], sweeps: int) -> Iterator[Studied]:
    for size in sizes:
        both: list[Criterion] = [KAnonymity(size), DistinctDiversity(size)]
        yield _study(table, f"lattice, k = l = {size}", both, Lattice(), seed, sweeps)
        yield _study(table, f"Mondrian, k = l = {size}", both, Mondrian(), seed, sweeps)
    # No more is possible than the most frequent value leaves room for.
    largest = int(table.people // table.counts.by_value(0).max())
    for size in sorted({min(size, largest) for size in sizes} - {0, 1}):
        diverse: list[Criterion] = [DistinctDiversity(size)]
        yield _study(table, f"Anatomy, l = {size}", diverse, Anatomy(size), seed, sweeps)


def _study(
    table: Table,
    name: str,
    require: list[Criterion],
    anonymizer: Anonymizer,
    seed: int,
    sweeps: int,
) -> Studied:
    policy = Policy(require, anonymizer, suppression=SUPPRESSION)
    release = anonymize(table, policy, seed=seed)
    threat = relative_threat(release, seed=seed, sweeps=sweeps)
    people = int(release.groups.sizes.sum())
    label = name if threat.status != "not_converged" else f"{name} (not converged)"
    return Studied(
        label, release.scheme, release.regions.exact, len(release.groups), people, threat
    )


def _about(table: Table, data: Path | None, seed: int) -> str:
    if data is None:
        who = f"No data folder was given, so {table.people:,} synthetic people stand in for Adult. "
    else:
        who = f"{table.people:,} of the 30,162 complete records of Adult, drawn with seed {seed}. "
    return (
        f"{who}The sensitive column is {table.counts.sensitive[0].name!r}. A learner asks what the "
        "release teaches of people in general, an attacker knows besides that her victim is in it; "
        "random worlds counts. The ideal learner saw the table, the baseline guesses the most "
        "frequent value."
    )


def _table(title: str, studied: list[Studied]) -> Section:
    if not studied:
        return Section(title, "No such release exists: a value is too frequent.")
    listed = [(study.name, study.threat.measures) for study in studied]
    return Section(
        title,
        tables=(
            measures_sheet(listed),
            ti_sheet(listed, "Ti of people threatened under p_A, and under p_L"),
        ),
    )


def _how(studied: list[Studied]) -> Section:
    rows = []
    for study in studied:
        diagnostics = study.threat.diagnostics
        ways = sorted(set(study.threat.method.values()))
        figures = (
            (None,) * 3
            if diagnostics is None
            else (diagnostics.rhat, diagnostics.ess, diagnostics.sweeps)
        )
        size = study.people / study.groups
        rows.append(
            (study.name, study.groups, size, ", ".join(ways), study.threat.status, *figures)
        )
    columns = ("release", "groups", "mean size", "learnt", "status", "R-hat", "ESS", "sweeps")
    return Section("Releases, and how they were learnt from", tables=(Sheet(columns, tuple(rows)),))


def _pictures(one: Studied) -> Section:
    figures: list[Chart] = []
    for who in ("attacker", "learner"):
        figures.append(scatter(one.threat, who, f"{one.name}: threatened by the {who}"))
        figures.append(histogram(one.threat, who, f"{one.name}: log2 Ti, by the {who}"))
    return Section(one.name, charts=tuple(figures))


def _facts(studied: list[Studied]) -> dict[str, Any]:
    return {
        study.name: {
            "scheme": study.scheme,
            "groups": study.groups,
            "people": study.people,
            "status": study.threat.status,
            "measures": asdict(study.threat.measures),
            "diagnostics": None
            if study.threat.diagnostics is None
            else asdict(study.threat.diagnostics),
        }
        for study in studied
    }
