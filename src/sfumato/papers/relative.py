"""Relative Privacy Threats and Learning From Anonymized Data (Boreale, Corradi, Viscardi, IEEE TIFS
2020): Tables III to V with their pictures, the remarks that can be worked out, how the samplers
converge, and how often the paper's own two proposals are accepted.

The paper's 5,692 rows of Adult are not public; a seeded sample of that size of the 30,162 complete
records stands in. Releases are our own: generalized with k = l = 4 and 6 by the lattice (one
recoding for everybody) and by Mondrian (recoded group by group), and Anatomy's buckets with l = 4
and, where minutes may pass (`long`), 6. Occupation is sensitive, 14 values. Where a sampler does
not converge its column says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import csv

from sfumato.adversaries.relative_threat.chains import Diagnostics
from sfumato.adversaries.relative_threat.learnt import LearnerReading
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
from sfumato.numbers import offsets_of
from sfumato.papers import RunSettings
from sfumato.papers.evidence import (
    EvidenceRow,
    Reproduction,
    claimed,
    not_run,
    several_beside,
    unprinted,
)
from sfumato.policy.model import Policy
from sfumato.release.read.read_release import read_release
from sfumato.release.release import Release, as_it_stands
from sfumato.report.document import Chart, Section, Sheet
from sfumato.report.sections.relative_threat import histogram, measures_sheet, scatter, ti_sheet
from sfumato.schema.roles import Schema
from sfumato.table import Table, read
from sfumato.workflow.anonymize import anonymize

TITLE = "Relative threat: learner against attacker on generalized and bucketized releases"
ROWS, FEW = 5_692, 1_000
SUPPRESSION = 0.02  # what the lattice may leave out
SIZES = (4, 6)
SWEEPS, FEW_SWEEPS = 32_000, 1_750  # a chain may make at most
PROPOSED, FEW_PROPOSED = 100, 20  # sweeps over the buckets in which proposals are counted


@dataclass(frozen=True)
class Studied:
    """One release and what was found of it."""

    name: str
    scheme: str
    exact: bool  # its quasi-identifiers
    groups: int
    people: int
    threat: RelativeThreat
    release: Release


def run(data: Path | None, settings: RunSettings) -> Reproduction:
    """Both tables and the pictures; `quick` on 1,000 people, k and l of 4 alone, few sweeps."""
    table = _people(data, FEW if settings.quick else ROWS, settings.seed)
    studied = list(_studied(table, settings))
    generalized = [study for study in studied if not study.exact]
    bucketized = [study for study in studied if study.exact]
    name = "Census" if data is None else "Adult"
    proposals = [
        _acceptance(study, FEW_PROPOSED if settings.quick else PROPOSED, settings.seed, name)
        for study in bucketized[:1]
    ]
    sections = [
        _table("Table IV: generalized releases", generalized),
        _table("Table V: Anatomy", bucketized),
        _how(studied),
        *(_pictures(study) for study in studied),
    ]
    return Reproduction(
        "relative",
        TITLE,
        _about(table),
        _stands_in(table, data, settings.seed),
        (
            *worked(),
            _remark_5(settings.quick),
            *_on_people(studied, name, settings.long),
            *proposals,
        ),
        tuple(sections),
        _facts(studied),
    )


def _people(data: Path | None, many: int, seed: int) -> Table:
    rng = np.random.default_rng(seed)
    if data is None:
        return read(census(many, seed=seed), census_schema())
    file, schema = adult(data)
    rows = csv.read_csv(file, parse_options=csv.ParseOptions(delimiter=";"))
    chosen = np.sort(rng.permutation(rows.num_rows)[:many])
    return read(rows.take(pa.array(chosen)), schema)


def _studied(table: Table, settings: RunSettings) -> Iterator[Studied]:
    sizes = SIZES[:1] if settings.quick else SIZES
    sweeps = FEW_SWEEPS if settings.quick else SWEEPS
    seed = settings.seed
    for size in sizes:
        criteria: list[Criterion] = [KAnonymity(size), DistinctDiversity(size)]
        yield _study(table, f"lattice, k = l = {size}", criteria, Lattice(), seed, sweeps)
        yield _study(table, f"Mondrian, k = l = {size}", criteria, Mondrian(), seed, sweeps)
    # No more is possible than the most frequent value leaves room for.
    largest = int(table.people // table.counts.by_value(0).max())
    dealt = sizes if settings.long else sizes[:1]
    for size in sorted({min(size, largest) for size in dealt} - {0, 1}):
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
    threat = relative_threat(release, seed=seed, sweeps=sweeps, checks=("geweke", "weiss"))
    people = int(release.groups.sizes.sum())
    label = name if threat.status != "not_converged" else f"{name} (not converged)"
    return Studied(
        label, release.scheme, release.regions.exact, len(release.groups), people, threat, release
    )


def _stands_in(table: Table, data: Path | None, seed: int) -> str:
    if data is None:
        return f"No data folder was given, so {table.people:,} synthetic people stand in for Adult."
    return (
        f"{table.people:,} of the 30,162 complete records of Adult, drawn with seed {seed}, stand "
        "in for the paper's 5,692, which are not public."
    )


def _about(table: Table) -> str:
    return (
        f"The sensitive column is {table.counts.sensitive[0].name!r}. A learner asks what the "
        "release teaches of people in general, an attacker knows besides that her victim is in it; "
        "random worlds counts. The ideal learner saw the table, the baseline guesses the most "
        "frequent value."
    )


# -- print beside ours ----------------------------------------------------------------------------

TABLE_1B = [
    ("{M, J}", "4550*", "Heart"),
    ("{M, J}", "4550*", "Flu"),
    ("J", "5550*", "Flu"),
    ("J", "5550*", "Stomach"),
    ("{C, J}", "66601", "HIV"),
    ("{C, J}", "66601", "Diabetes"),
    ("{I, M}", "77701", "Flu"),
    ("{I, M}", "77701", "Heart"),
]
_SEEN = ["45501", "45502", "55503", "55504", "66601", "77701"]
_FORTY = [head + str(last) for head in ("4550", "5550", "6660", "7770") for last in range(10)]
_READINGS: dict[str, tuple[list[str], LearnerReading]] = {  # which codes there are is not printed
    "the six codes of the table": (_SEEN, "joint"),
    "them, read as a conditional": (_SEEN, "conditional"),
    "all forty of its prefixes": (_FORTY, "joint"),
}


def worked() -> list[EvidenceRow]:
    """Table III, the puzzles of Remark 2, and a slip of Table IV."""
    victim = {"nation": "M", "zip": "45501"}
    learnt, guessed = {}, []
    for name, (zips, reading) in _READINGS.items():
        release = _released(("nation", "zip"), TABLE_1B, zip=zips)
        threat = relative_threat(release, learner=reading, draws=100_000)
        learner, attacker = threat.learner(victim), threat.attacker(victim)
        learnt[name] = [learner[value] for value in ("Heart", "Flu", "Stomach")]
        guessed.append([attacker["Heart"], attacker["Flu"]])
    first, *further = learnt
    others = "; ".join(
        f"{', '.join(f'{share:.3f}' for share in learnt[name])} with {name}" for name in further
    )
    whatever = ", whatever the zip codes" if np.ptp(guessed, axis=0).max() < 1e-9 else ""
    rows = [
        several_beside(
            "Table III, p_A of Heart and Flu for (M, 45501)",
            (".580", ".420"),
            guessed[0],
            f"7/12 and 5/12 exactly{whatever}; we take it that print is sampled",
        ),
        several_beside(
            f"Table III, p_L of Heart, Flu and each of the others, with {first}",
            (".343", ".317", ".113"),
            learnt[first],
            f"which zip codes there are is not printed, and nothing tried gives it: {others}",
        ),
    ]
    slip = EvidenceRow(
        "Table IV, RGT at k = 6, by the table's own GT_A and GT_L",
        "another figure",
        "0.0238 by print's own figures",
        "differs",
        "a slip of print: RGT is GT_A - GT_L",
    )
    return [*rows, *_islands(), slip]


def _released(
    quasi: tuple[str, ...], rows: Sequence[tuple[str, ...]], **domains: list[str]
) -> Release:
    """A published file; the last cell of a row is the sensitive one."""
    columns = dict(zip((*quasi, "value"), map(list, zip(*rows, strict=True)), strict=True))
    schema = Schema(quasi=quasi, sensitive="value", domains=domains)
    return read_release(pa.table(columns), schema)


def _islands() -> list[EvidenceRow]:
    """One islander is guilty and has the trait; of the others some are searched and cleared."""

    def guilt(people: int, traits: int, cleared: int = 0) -> float:
        known = [f"v{number:03}" for number in range(traits)]
        free = f"{{{', '.join(known[1:])}}}"
        rows = [("v000", "guilty"), *[("*", "not")] * (people - 1 - cleared)]
        release = _released(("trait",), [*rows, *[(free, "not")] * cleared], trait=known)
        # p is known: the prior of the traits is hard.
        return relative_threat(release, prior=1e9).attacker({"trait": "v000"})["guilty"]

    return [
        claimed(
            f"Remark 2, read as {name}",
            formula,
            abs(measured - expected) < 1e-6,
            f"{measured:.4f} for {setting}",
        )
        for name, formula, setting, measured, expected in (
            (
                "the island problem",
                "1 / (1 + (N - 1) p)",
                "N = 100, p = .01",
                guilt(100, 100),
                100 / 199,
            ),
            (
                "the database search",
                "1 / (1 + (N - 1 - k) p)",
                "N = 100, k = 49, p = .02",
                guilt(100, 50, 49),
                0.5,
            ),
        )
    ]


def _remark_5(quick: bool) -> EvidenceRow:
    """1,001 people; a million possible values take ten seconds."""
    possible = 9_999 if quick else 999_999
    rows = pa.table({"q": list(range(1001)), "s": ["s0"] + ["s1"] * 1000})
    table = read(rows, Schema(["q"], "s", domains={"q": list(range(possible))}))
    threat = relative_threat(as_it_stands(table))
    ideal, attacker = threat.ideal({"q": 0})["s0"], threat.attacker({"q": 0})["s0"]
    return claimed(
        "Remark 5, as we read it",
        "a rare value that only the victim has: the learner does not see it, the attacker is sure",
        ideal < 0.01 and attacker == 1,
        f"p_I {ideal:.5f}, p_A {attacker:g}, Ti {attacker / ideal:.4g} with {possible:,} possible "
        "values",
    )


def _on_people(studied: list[Studied], data: str, long: bool) -> list[EvidenceRow]:
    """Tables IV and V, and VI-D; their printed figures are not at hand."""
    rows = []
    for study in studied:
        measures, diagnostics = study.threat.measures, study.threat.diagnostics
        figures = {
            "GT_A": measures.gt_attacker,
            "GT_L": measures.gt_learner,
            "GT_RW": measures.gt_random_worlds,
            "RGT": measures.rgt,
            "RF": measures.rf,
        }
        table = "Table V" if study.exact else "Table IV"
        rows.append(
            unprinted(
                f"{table}, {study.name}",
                ", ".join(
                    f"{name} {share:.4f}" for name, share in figures.items() if share is not None
                ),
                data=data,
            )
        )
        convergence = (
            "nothing to sample: the posterior is worked out"
            if diagnostics is None
            else f"R-hat {diagnostics.rhat:.3f}, ESS {diagnostics.ess:,.0f}, "
            f"{_passes(diagnostics)}: {study.threat.status.replace('_', ' ')}"
            + _paper_checks(diagnostics)
        )
        rows.append(unprinted(f"VI-D, convergence, {study.name}", convergence, data=data))
        if study.name.startswith("lattice"):
            rows.append(
                claimed(
                    f"Corollary on one recoding for everybody, {study.name}",
                    "p_A is random worlds",
                    abs(measures.gt_attacker - measures.gt_random_worlds) < 1e-12,
                    f"GT_A {measures.gt_attacker:.4f}, GT_RW {measures.gt_random_worlds:.4f}",
                    data=data,
                )
            )
    if not any(study.name.startswith("Anatomy, l = 6") for study in studied):
        why = "a value is too frequent for it" if long else "takes minutes: give --long"
        rows.append(not_run("Table V, Anatomy, l = 6", "–", why))
    return rows


def _passes(diagnostics: Diagnostics) -> str:
    """How long was sampled, and on which ladder."""
    ladder = diagnostics.tempering
    if ladder is None:
        return f"{diagnostics.sweeps:,} sweeps"
    return (
        f"{diagnostics.sweeps:,} iterations of {diagnostics.chains} tempered ensembles on "
        f"{ladder.rungs} rungs"
    )


def _paper_checks(diagnostics: Diagnostics) -> str:
    """The paper's own two; chance alone gives 5 %."""
    shares = {"Geweke": diagnostics.geweke, "Weiss": diagnostics.weiss}
    refused = [f"{name} {share:.0%}" for name, share in shares.items() if share is not None]
    return f"; refused by {', '.join(refused)} of what was watched" if refused else ""


def _acceptance(study: Studied, sweeps: int, seed: int, data: str) -> EvidenceRow:
    """How often a swap of two and a new dealing of a whole bucket are accepted."""
    swaps, permutations = (
        _accepted(study.release, permute, sweeps, seed) for permute in (False, True)
    )
    return claimed(
        f"Proposals of the paper's sampler as we read it, {study.name}",
        "swaps are accepted more often than permutations (as we read it)",
        swaps > permutations,
        f"swaps {swaps:.1%}, permutations {permutations:.1%}, of {sweeps:,} sweeps",
        data=data,
    )


def _accepted(release: Release, permute: bool, sweeps: int, seed: int) -> float:
    """Metropolis over the buckets with the population drawn after every sweep; the second half of
    the sweeps counts. A new dealing that changes nothing is no proposal.
    """
    buckets, groups = release.regions.buckets, release.groups
    assert buckets is not None
    rng = np.random.default_rng(seed)
    people = np.repeat(np.arange(buckets.codes.shape[1]), buckets.n)
    codes = buckets.codes[:, people]
    begins = offsets_of(groups.sizes)
    has = np.concatenate(
        [rng.permutation(np.repeat(np.arange(groups.width), row)) for row in groups.dense()]
    )
    widths = [len(domain) for domain in buckets.domains]
    tried = accepted = 0
    for sweep in range(sweeps):
        log_theta = []
        for row, width in zip(codes, widths, strict=True):
            seen = np.bincount(has * width + row, minlength=groups.width * width)
            log_theta.append(np.log(np.maximum(rng.standard_gamma(seen + 1.0), 1e-300)))
        for start, stop in pairwise(begins.tolist()):
            now = has[start:stop]
            proposed = now.copy()
            if permute:
                proposed = rng.permutation(now)
            else:
                first, second = rng.choice(stop - start, 2, replace=False)
                proposed[[first, second]] = now[[second, first]]
            if (proposed == now).all():
                continue
            ratio = 0.0
            for theta, row, width in zip(log_theta, codes, widths, strict=True):
                at = row[start:stop]
                ratio += float((theta[proposed * width + at] - theta[now * width + at]).sum())
            agreed = np.log(max(rng.random(), 1e-300)) < ratio
            if agreed:
                has[start:stop] = proposed
            if 2 * sweep >= sweeps:
                tried += 1
                accepted += agreed
    return accepted / tried


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


def _pictures(study: Studied) -> Section:
    figures: list[Chart] = []
    for adversary in ("attacker", "learner"):
        figures.append(
            scatter(study.threat, adversary, f"{study.name}: threatened by the {adversary}")
        )
        figures.append(
            histogram(study.threat, adversary, f"{study.name}: log2 Ti, by the {adversary}")
        )
    return Section(study.name, charts=tuple(figures))


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
