"""An embedded synthetic census: a table about people who do not exist, to try everything on.

`census()` draws it, `census_schema()` says what its columns are, `census_policy()` gives the same
as a policy file to read and edit. What it is drawn from stands first: the
columns depend on each other, and no row, name, place or figure comes from real data.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.errors import InputError
from sfumato.numbers import Floats, Ints
from sfumato.schema.hierarchy import Hierarchy
from sfumato.schema.recipes import intervals, mask, suppression, taxonomy
from sfumato.schema.roles import Schema

# What the synthetic census is drawn from: its values, their taxonomies, how they hang together.
#
# Every number here is invented. They are chosen so that the table behaves like one about people
# (the widowed are old, students are young, a master's degree pays), since a table of independent
# columns would make every anonymizer and every adversary look alike. No figure is an estimate of
# anything, and the zip codes stand for no place.

YOUNGEST, OLDEST = 17, 90
AGE_CURVE = ((17, 30, 60, 75, 90), (0.9, 1.0, 0.95, 0.6, 0.08))  # ages, relative frequency

SEXES = ("F", "M")
WOMEN_UNTIL_60, WOMEN_AT_90 = 0.49, 0.67  # share of women; they live longer


class Area(NamedTuple):
    """A region: the first two digits its zip codes share, its population share, its schooling."""

    prefix: str
    share: float
    schooling: float  # shift of the education score


# 1**** and 2**** hold two regions each, 0**** one: its codes keep their leading zero.
AREAS = (
    Area("01", 0.16, -0.1),
    Area("10", 0.34, 0.4),
    Area("13", 0.22, -0.2),
    Area("24", 0.18, -0.3),
    Area("27", 0.10, 0.05),
)
DISTRICTS = ("0", "2", "5")
ENDINGS = ("01", "04", "12", "15")
ZIPS = tuple(a.prefix + d + e for a in AREAS for d in DISTRICTS for e in ENDINGS)
ZIPS_PER_AREA = len(DISTRICTS) * len(ENDINGS)
# The first codes of a region are its towns, the last its villages.
ZIP_WEIGHTS: Floats = np.array(
    [area.share / (1 + 0.35 * place) for area in AREAS for place in range(ZIPS_PER_AREA)]
)

# In their order, lowest first: a score below the first cut is Primary, and so on.
EDUCATION: dict[str, tuple[str, ...]] = {
    "Primary": ("Basic", "School"),
    "Lower secondary": ("Basic", "School"),
    "Upper secondary": ("Secondary", "School"),
    "Vocational": ("Secondary", "School"),
    "Some college": ("Undergraduate", "Higher"),
    "Bachelor": ("Undergraduate", "Higher"),
    "Master": ("Postgraduate", "Higher"),
    "Doctorate": ("Postgraduate", "Higher"),
}
EDUCATION_CUTS = (-1.55, -0.84, -0.08, 0.39, 0.74, 1.34, 2.05)
EDUCATION_PER_YEAR = -0.012  # the old went to school for fewer years
EDUCATION_BANDS = (2, 5)  # low, middle, high begin at levels 0, 2, 5
# Nobody is a doctor at 20: the highest level reached below 18, 20, 22, 24, 28, and after.
EDUCATION_AGES, EDUCATION_CAPS = (18, 20, 22, 24, 28), (1, 3, 4, 5, 6, 7)

MARITAL: dict[str, tuple[str, ...]] = {
    "Never married": ("Single", "Not partnered"),
    "Cohabiting": ("Partnered", "Partnered"),
    "Married": ("Partnered", "Partnered"),
    "Separated": ("Formerly partnered", "Not partnered"),
    "Divorced": ("Formerly partnered", "Not partnered"),
    "Widowed": ("Formerly partnered", "Not partnered"),
}
MARITAL_AGES = (20, 25, 30, 40, 50, 60, 70, 80)
MARITAL_SHARES: Floats = np.array(
    [  # never, cohabiting, married, separated, divorced, widowed
        [0.970, 0.025, 0.005, 0.000, 0.000, 0.000],
        [0.780, 0.150, 0.060, 0.005, 0.005, 0.000],
        [0.500, 0.230, 0.240, 0.010, 0.019, 0.001],
        [0.260, 0.180, 0.460, 0.030, 0.065, 0.005],
        [0.160, 0.120, 0.540, 0.040, 0.125, 0.015],
        [0.110, 0.080, 0.590, 0.030, 0.155, 0.035],
        [0.080, 0.050, 0.610, 0.020, 0.150, 0.090],
        [0.060, 0.030, 0.540, 0.010, 0.110, 0.250],
        [0.050, 0.010, 0.330, 0.005, 0.055, 0.550],
    ]
)

WORK: dict[str, tuple[str, ...]] = {
    "Student": ("Not yet or no longer working", "Not working"),
    "Retired": ("Not yet or no longer working", "Not working"),
    "Unemployed": ("Without paid work", "Not working"),
    "Home and care": ("Without paid work", "Not working"),
    "Agriculture": ("Goods", "Working"),
    "Manufacturing": ("Goods", "Working"),
    "Construction": ("Goods", "Working"),
    "Retail and hospitality": ("Trade and transport", "Working"),
    "Transport": ("Trade and transport", "Working"),
    "Health and social care": ("Public services", "Working"),
    "Teaching": ("Public services", "Working"),
    "Public administration": ("Public services", "Working"),
    "Finance and business": ("Knowledge services", "Working"),
    "Information technology": ("Knowledge services", "Working"),
}


class Tilt(NamedTuple):
    """How frequent a value is, times a factor for each age band, schooling band and sex."""

    base: float
    age: tuple[float, ...]
    schooling: tuple[float, float, float] = (1, 1, 1)  # low, middle, high
    sex: tuple[float, float] = (1, 1)  # F, M


WORK_AGES = (20, 25, 60, 67)
_AT_WORK = (0.2, 0.7, 1, 0.6, 0.06)
WORK_TILTS: dict[str, Tilt] = {
    "Student": Tilt(100, (0.8, 0.4, 0.015, 0, 0), (1, 1, 0.7)),
    "Retired": Tilt(100, (0, 0, 0.008, 0.5, 3)),
    "Unemployed": Tilt(6, (0.8, 1.4, 1, 0.9, 0), (1.8, 1, 0.5)),
    "Home and care": Tilt(6, (0.2, 0.7, 1, 1.2, 1.5), (1.6, 1, 0.5), (1.8, 0.3)),
    "Agriculture": Tilt(4, (0.3, 0.7, 1, 0.9, 0.3), (2, 1, 0.3), (0.6, 1.4)),
    "Manufacturing": Tilt(14, _AT_WORK, (1.6, 1.1, 0.5), (0.5, 1.5)),
    "Construction": Tilt(8, _AT_WORK, (1.8, 1.2, 0.25), (0.15, 1.85)),
    "Retail and hospitality": Tilt(18, (0.6, 1.2, 1, 0.6, 0.06), (1.5, 1.1, 0.45), (1.2, 0.8)),
    "Transport": Tilt(7, _AT_WORK, (1.5, 1.2, 0.3), (0.35, 1.65)),
    "Health and social care": Tilt(14, _AT_WORK, (0.6, 1, 1.3), (1.6, 0.4)),
    "Teaching": Tilt(9, _AT_WORK, (0.1, 0.5, 2.3), (1.4, 0.6)),
    "Public administration": Tilt(8, _AT_WORK, (0.4, 1, 1.4)),
    "Finance and business": Tilt(12, _AT_WORK, (0.3, 0.8, 1.8)),
    "Information technology": Tilt(6, _AT_WORK, (0.1, 0.7, 2.2), (0.4, 1.6)),
}

# The log of the usual income by work, at age 48 with primary education.
INCOME_LOGS: dict[str, float] = {
    "Student": 8.7, "Retired": 9.8, "Unemployed": 9.0, "Home and care": 8.4,
    "Agriculture": 9.7, "Manufacturing": 10.05, "Construction": 10.05,
    "Retail and hospitality": 9.75, "Transport": 9.95, "Health and social care": 10.0,
    "Teaching": 9.95, "Public administration": 10.05, "Finance and business": 10.25,
    "Information technology": 10.35,
}  # fmt: skip
INCOME_PER_LEVEL = 0.12  # a level of education, on the log scale
INCOME_PEAK_AGE, INCOME_BEND = 48, -0.0005
INCOME_SPREAD = 0.42

DISEASE_AGES = (30, 50, 70)
DISEASE_TILTS: dict[str, Tilt] = {
    "Influenza": Tilt(22, (2, 1.3, 0.7, 0.5)),
    "Hypertension": Tilt(20, (0.15, 0.7, 1.4, 1.5), sex=(0.9, 1.1)),
    "Asthma": Tilt(12, (2, 1.2, 0.7, 0.5)),
    "Diabetes": Tilt(12, (0.2, 0.7, 1.4, 1.4), sex=(0.9, 1.1)),
    "Depression": Tilt(11, (1.4, 1.3, 0.8, 0.5), sex=(1.35, 0.65)),
    "Migraine": Tilt(9, (1.4, 1.4, 0.7, 0.3), sex=(1.5, 0.5)),
    "Heart disease": Tilt(7, (0.05, 0.3, 1.3, 3), sex=(0.75, 1.25)),
    "Cancer": Tilt(5, (0.1, 0.6, 1.4, 2.2)),
    "HIV": Tilt(0.9, (1.1, 1.6, 0.7, 0.2), sex=(0.5, 1.5)),
    "Tuberculosis": Tilt(0.5, (0.9, 0.9, 1, 1.4)),
}


def joint(tilts: dict[str, Tilt]) -> Floats:
    """The weights of the values for each (age band, schooling band, sex): the product of tilts."""
    base = np.array([tilt.base for tilt in tilts.values()])
    age = np.array([tilt.age for tilt in tilts.values()]).T
    schooling = np.array([tilt.schooling for tilt in tilts.values()]).T
    sex = np.array([tilt.sex for tilt in tilts.values()]).T
    weights: Floats = (
        base * age[:, None, None, :] * schooling[None, :, None, :] * sex[None, None, :, :]
    )
    return weights


QUASI = ("age", "sex", "zip", "education", "marital", "work")
AGE_WIDTHS, AGE_TOP = (5, 10, 20, 40), 80
INCOME_WIDTHS = (10_000, 50_000)


def census(n: int = 10_000, seed: int = 0) -> pa.Table:
    """A synthetic census of `n` people: same seed, same table (for one release of NumPy).

    Columns: name (an identifier, P000123), age (17 to 90), sex, zip (five digits as text),
    education, marital, work, income (whole currency units, in hundreds) and disease (the main
    diagnosis of the last visit to a doctor).

    >>> census(3).column_names
    ['name', 'age', 'sex', 'zip', 'education', 'marital', 'work', 'income', 'disease']
    """
    if n < 1:
        raise InputError(f"census: n = {n} people cannot be drawn; use 1 or more")
    if seed < 0:
        raise InputError(f"census: seed {seed} is not allowed; use 0 or more")
    rng = np.random.default_rng(seed)
    age = _ages(rng, n)
    sex = _sexes(rng, age)
    place = _draw(rng, ZIP_WEIGHTS[None, :], np.zeros(n, dtype=np.int64))
    education = _education(rng, age, place)
    marital = _draw(rng, MARITAL_SHARES, _band(MARITAL_AGES, age))
    schooling = _band(EDUCATION_BANDS, education)
    work = _tilted(rng, WORK_TILTS, _band(WORK_AGES, age), schooling, sex)
    income = _income(rng, age, education, work)
    disease = _tilted(rng, DISEASE_TILTS, _band(DISEASE_AGES, age), schooling, sex)
    return pa.table(
        {
            "name": _names(rng, n),
            "age": pa.array(age),
            "sex": _texts(SEXES, sex),
            "zip": _texts(ZIPS, place),
            "education": _texts(tuple(EDUCATION), education),
            "marital": _texts(tuple(MARITAL), marital),
            "work": _texts(tuple(WORK), work),
            "income": pa.array(income),
            "disease": _texts(tuple(DISEASE_TILTS), disease),
        }
    )


def _ages(rng: np.random.Generator, n: int) -> Ints:
    ages = np.arange(YOUNGEST, OLDEST + 1)
    weights = np.interp(ages, *AGE_CURVE)
    return YOUNGEST + _draw(rng, weights[None, :], np.zeros(n, dtype=np.int64))


def _sexes(rng: np.random.Generator, age: Ints) -> Ints:
    women = np.interp(age, (60, 90), (WOMEN_UNTIL_60, WOMEN_AT_90))
    men: Ints = (rng.random(len(age)) >= women).astype(np.int64)
    return men


def _education(rng: np.random.Generator, age: Ints, place: Ints) -> Ints:
    shift = np.array([area.schooling for area in AREAS])[place // ZIPS_PER_AREA]
    score = rng.standard_normal(len(age)) + shift + EDUCATION_PER_YEAR * (age - 45)
    caps: Ints = np.array(EDUCATION_CAPS, dtype=np.int64)
    reached = _band(EDUCATION_CUTS, score)
    level: Ints = np.minimum(reached, caps[_band(EDUCATION_AGES, age)])
    return level


def _income(rng: np.random.Generator, age: Ints, education: Ints, work: Ints) -> Ints:
    log_of_work = np.array([INCOME_LOGS[value] for value in WORK])[work]
    log = (
        log_of_work
        + INCOME_PER_LEVEL * education
        + INCOME_BEND * (age - INCOME_PEAK_AGE) ** 2
        + INCOME_SPREAD * rng.standard_normal(len(age))
    )
    income: Ints = (np.rint(np.exp(log) / 100) * 100).astype(np.int64)
    return income


def _tilted(
    rng: np.random.Generator,
    tilts: dict[str, Tilt],
    age_band: Ints,
    schooling: Ints,
    sex: Ints,
) -> Ints:
    weights = joint(tilts)
    shape = weights.shape[:-1]
    condition = np.ravel_multi_index((age_band, schooling, sex), shape).astype(np.int64)
    return _draw(rng, weights.reshape(-1, weights.shape[-1]), condition)


def _band(starts: Sequence[float], values: Ints | Floats) -> Ints:
    """How many of the rising `starts` a value has reached."""
    return np.searchsorted(np.array(starts), values, side="right").astype(np.int64)


def _draw(rng: np.random.Generator, weights: Floats, condition: Ints) -> Ints:
    """A code for each person, from the row of `weights` that the person's condition names.

    One look-up for everybody: row i's cumulative shares are laid out from i to i + 1.
    """
    rows, width = weights.shape
    shares = weights / weights.sum(axis=1, keepdims=True)
    ends = np.cumsum(shares, axis=1)
    ends[:, -1] = 1.0  # rounding must not leave a gap above the last value
    steps = (ends + np.arange(rows)[:, None]).ravel()
    drawn = np.searchsorted(steps, condition + rng.random(len(condition)), side="right")
    # The sum of a large row number and a share just below 1 may round up into the next row.
    codes: Ints = np.minimum(drawn - condition * width, width - 1).astype(np.int64)
    return codes


def _names(rng: np.random.Generator, n: int) -> pa.Array[Any]:
    """P000001 to Pn in random order, so that an identifier says nothing about its row."""
    numbers = pa.array(rng.permutation(n) + 1, pa.int64()).cast(pa.string())
    padded = pc.utf8_lpad(numbers, max(6, len(str(n))), "0")
    return pc.utf8_replace_slice(padded, 0, 0, "P")


def _texts(values: Sequence[str], codes: Ints) -> pa.Array[Any]:
    return pa.array(values, pa.string()).take(codes)


def census_schema(income: bool = False) -> Schema:
    """The roles and hierarchies of the census; with `income`, a second sensitive column.

    Without it income has no role, so it is not published.
    """
    hierarchies: dict[str, Hierarchy] = {
        "age": intervals(AGE_WIDTHS, top=AGE_TOP),
        "sex": suppression(),
        "zip": mask(),
        "education": taxonomy(EDUCATION),
        "marital": taxonomy(MARITAL),
        "work": taxonomy(WORK),
    }
    if income:
        hierarchies["income"] = intervals(INCOME_WIDTHS)
    return Schema(
        quasi=QUASI,
        sensitive=("disease", "income") if income else ("disease",),
        identifiers=("name",),
        hierarchies=hierarchies,
        levels={"income": 1} if income else {},
    )


def census_policy() -> str:
    """A policy file (TOML) for the census: the schema above and three criteria to start from."""
    return _POLICY.format(
        quasi=_listed(QUASI),
        widths=list(AGE_WIDTHS),
        top=AGE_TOP,
        education=_paths(EDUCATION),
        marital=_paths(MARITAL),
        work=_paths(WORK),
    )


def _listed(words: Sequence[str]) -> str:
    return "[" + ", ".join(f'"{word}"' for word in words) + "]"


def _paths(paths: Mapping[str, Sequence[str]]) -> str:
    return "\n".join(f'"{value}" = {_listed(labels)}' for value, labels in paths.items())


_POLICY = """\
# A policy for the synthetic census that comes with Sfumato.

[schema]
# What a neighbour, an employer or a voter list may know about a person.
quasi = {quasi}
# What nobody may learn about her from the release.
sensitive = ["disease"]
# Dropped before anything else. Income is not named here: a column without a role stays at home.
identifiers = ["name"]
# A missing value is a value like any other. "error" would refuse a table that has some.
nulls = "value"

# How far each column may be coarsened, step by step. The last step is always *.
[schema.hierarchies]
# The very old are few, so they share one label, >={top}.
age = {{ kind = "intervals", widths = {widths}, top = {top} }}
# 10204, 1020*, 102**, ...: neighbouring codes share their first digits.
zip = {{ kind = "mask" }}
# There is no half-way between a sex and *.
sex = {{ kind = "suppression" }}

# A taxonomy names each value's labels, from fine to coarse.
[schema.hierarchies.education]
kind = "taxonomy"

[schema.hierarchies.education.paths]
{education}

[schema.hierarchies.marital]
kind = "taxonomy"

[schema.hierarchies.marital.paths]
{marital}

[schema.hierarchies.work]
kind = "taxonomy"

[schema.hierarchies.work.paths]
{work}

# How releases are made: split everybody into ever smaller groups as long as the bounds below hold.
# Others: lattice (one level per column for all), anatomy, microaggregation.
[anonymizer]
kind = "mondrian"

# Everybody looks like at least four others.
[[require]]
kind = "k-anonymity"
k = 5

# Every group has at least three different diseases: to find the group is not to find the disease.
[[require]]
kind = "distinct-diversity"
l = 3

# No group's diseases differ much from everybody's. 0 would be no difference at all.
[[require]]
kind = "t-closeness"
t = 0.4
"""
