"""Embedded synthetic discharges of a hospital: several stays a patient, with dates and diagnoses.

Every number here is invented, as in the census beside it: patients, dates, codes and how they hang
together come from a seed. The old come more often, and for other reasons than the young.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from sfumato.errors import InputError

# Codes of ICD-10, each with its weights below 40, from 40 and from 65.
DIAGNOSES: dict[str, tuple[float, float, float]] = {
    "A09": (3, 1, 1),
    "B20": (0.4, 0.4, 0.1),
    "C50.9": (0.3, 1.2, 1),
    "E11.9": (0.6, 2, 3),
    "F32.2": (2, 1.5, 0.8),
    "I10": (0.3, 2, 4),
    "I21.4": (0.1, 1.2, 3),
    "J18.9": (1.5, 1.5, 3),
    "K35.8": (3, 1, 0.5),
    "O80": (2.5, 0.1, 0),
    "S72.0": (0.3, 0.6, 3),
    "S82.6": (2, 1.5, 1),
}
ZIPS = ("01301", "01307", "01309", "04109", "04155", "04229", "10115", "10119", "10245", "10317")
STAYS = ((0.75, 0.2, 0.05), (0.6, 0.3, 0.1), (0.45, 0.35, 0.2))  # one, two, three; by age as above
FIRST_DAY, DAYS = np.datetime64("2023-01-01"), 365


def discharges(patients: int = 600, seed: int = 0) -> pa.Table:
    """One to three stays of each of `patients` in a year, in random order: same seed, same table.

    Columns: patient_id (who has several rows has it in each), birth_date, sex, zip, admission_date,
    diagnosis (ICD-10) and days (how long the stay was).

    >>> discharges(3).column_names
    ['patient_id', 'birth_date', 'sex', 'zip', 'admission_date', 'diagnosis', 'days']
    """
    if patients < 1:
        raise InputError(f"discharges: {patients} patients cannot be drawn; use 1 or more")
    if seed < 0:
        raise InputError(f"discharges: seed {seed} is not allowed; use 0 or more")
    rng = np.random.default_rng(seed)
    born = FIRST_DAY - np.clip(rng.normal(52, 21, patients) * 365.25, 6600, 34_000).astype(int)
    women = rng.random(patients) < 0.53
    home = rng.choice(len(ZIPS), patients, p=np.linspace(2, 1, len(ZIPS)) / 1.5 / len(ZIPS))
    band = np.searchsorted([40, 65], (FIRST_DAY - born).astype(int) / 365.25, side="right")
    often = np.array([rng.choice(3, p=STAYS[age_band]) for age_band in band]) + 1
    row = rng.permutation(np.repeat(np.arange(patients), often))
    weights = np.array([*DIAGNOSES.values()]).T[band[row]]
    weights[:, [*DIAGNOSES].index("O80")] *= women[row]
    ends = np.cumsum(weights / weights.sum(axis=1, keepdims=True), axis=1)
    ill = (rng.random((len(row), 1)) > ends).sum(axis=1).clip(max=len(DIAGNOSES) - 1)
    return pa.table(
        {
            "patient_id": [f"P{100_000 + 37 * patient}" for patient in row.tolist()],
            "birth_date": pa.array(born[row]),
            "sex": np.where(women[row], "F", "M"),
            "zip": np.array(ZIPS)[home[row]],
            "admission_date": pa.array(FIRST_DAY + rng.integers(0, DAYS, len(row))),
            "diagnosis": np.array([*DIAGNOSES])[ill],
            "days": 1 + rng.poisson(np.array([2.0, 4.0, 7.0])[band[row]]),
        }
    )
