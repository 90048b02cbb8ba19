"""An embedded synthetic census: a table about people who do not exist, to try everything on.

`census()` draws it, `census_schema()` says what its columns are, `census_policy()` gives the same
as a policy file to read and edit. The columns depend on each other (see `census_model.py`); no
row, name, place or figure comes from real data.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.datasets import census_model as model
from sfumato.errors import InputError
from sfumato.numbers import Floats, Ints
from sfumato.schema.hierarchy import Hierarchy
from sfumato.schema.recipes import intervals, mask, suppression
from sfumato.schema.roles import Schema
from sfumato.schema.taxonomy import taxonomy

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
    place = _draw(rng, model.ZIP_WEIGHTS[None, :], np.zeros(n, dtype=np.int64))
    education = _education(rng, age, place)
    marital = _draw(rng, model.MARITAL_SHARES, _band(model.MARITAL_AGES, age))
    schooling = _band(model.EDUCATION_BANDS, education)
    work = _tilted(rng, model.WORK_TILTS, _band(model.WORK_AGES, age), schooling, sex)
    income = _income(rng, age, education, work)
    disease = _tilted(rng, model.DISEASE_TILTS, _band(model.DISEASE_AGES, age), schooling, sex)
    return pa.table(
        {
            "name": _names(rng, n),
            "age": pa.array(age),
            "sex": _texts(model.SEXES, sex),
            "zip": _texts(model.ZIPS, place),
            "education": _texts(tuple(model.EDUCATION), education),
            "marital": _texts(tuple(model.MARITAL), marital),
            "work": _texts(tuple(model.WORK), work),
            "income": pa.array(income),
            "disease": _texts(tuple(model.DISEASE_TILTS), disease),
        }
    )


def _ages(rng: np.random.Generator, n: int) -> Ints:
    ages = np.arange(model.YOUNGEST, model.OLDEST + 1)
    weights = np.interp(ages, *model.AGE_CURVE)
    return model.YOUNGEST + _draw(rng, weights[None, :], np.zeros(n, dtype=np.int64))


def _sexes(rng: np.random.Generator, age: Ints) -> Ints:
    women = np.interp(age, (60, 90), (model.WOMEN_UNTIL_60, model.WOMEN_AT_90))
    men: Ints = (rng.random(len(age)) >= women).astype(np.int64)
    return men


def _education(rng: np.random.Generator, age: Ints, place: Ints) -> Ints:
    shift = np.array([area.schooling for area in model.AREAS])[place // model.ZIPS_PER_AREA]
    score = rng.standard_normal(len(age)) + shift + model.EDUCATION_PER_YEAR * (age - 45)
    caps: Ints = np.array(model.EDUCATION_CAPS, dtype=np.int64)
    reached = _band(model.EDUCATION_CUTS, score)
    level: Ints = np.minimum(reached, caps[_band(model.EDUCATION_AGES, age)])
    return level


def _income(rng: np.random.Generator, age: Ints, education: Ints, work: Ints) -> Ints:
    usual = np.array([model.INCOME_LOGS[value] for value in model.WORK])[work]
    log = (
        usual
        + model.INCOME_PER_LEVEL * education
        + model.INCOME_BEND * (age - model.INCOME_PEAK_AGE) ** 2
        + model.INCOME_SPREAD * rng.standard_normal(len(age))
    )
    income: Ints = (np.rint(np.exp(log) / 100) * 100).astype(np.int64)
    return income


def _tilted(
    rng: np.random.Generator,
    tilts: dict[str, model.Tilt],
    age_band: Ints,
    schooling: Ints,
    sex: Ints,
) -> Ints:
    weights = model.joint(tilts)
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
    found = np.searchsorted(steps, condition + rng.random(len(condition)), side="right")
    # The sum of a large row number and a share just below 1 may round up into the next row.
    codes: Ints = np.minimum(found - condition * width, width - 1).astype(np.int64)
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
        "education": taxonomy(model.EDUCATION),
        "marital": taxonomy(model.MARITAL),
        "work": taxonomy(model.WORK),
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
        education=_paths(model.EDUCATION),
        marital=_paths(model.MARITAL),
        work=_paths(model.WORK),
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
criterion = "k-anonymity"
k = 5

# Every group has at least three different diseases: to find the group is not to find the disease.
[[require]]
criterion = "distinct-diversity"
l = 3

# No group's diseases differ much from everybody's. 0 would be no difference at all.
[[require]]
criterion = "t-closeness"
t = 0.4
"""
