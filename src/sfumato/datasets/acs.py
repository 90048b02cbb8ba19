"""American Community Survey 2019, the national excerpt of NIST's Diverse Communities Data.

27,253 records, 24 columns, from a file the user has. `N` means "not applicable" (income and
marital status below 15 years): a fact about the person, so it is a category and not a gap.
"""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
from pyarrow import csv

from sfumato.datasets.folder import find_file
from sfumato.errors import InputError
from sfumato.schema.hierarchy import Hierarchy
from sfumato.schema.recipes import intervals, suppression
from sfumato.schema.roles import Schema
from sfumato.schema.taxonomy import taxonomy

FILE = "acs2019/national.csv"
QUASI = ("AGEP", "MSP", "RAC1P", "SEX")
NOT_APPLICABLE = "N"
INCOME_CUT = 50_000

MARITAL: dict[str, tuple[str, ...]] = {
    "1": ("Married", "Ever married"),  # spouse present
    "2": ("Married", "Ever married"),  # spouse absent
    "3": ("Was married", "Ever married"),  # widowed
    "4": ("Was married", "Ever married"),  # divorced
    "5": ("Was married", "Ever married"),  # separated
    "6": ("Never married", "Not married yet"),
    NOT_APPLICABLE: ("Under 15", "Not married yet"),
}


def acs(path: str | Path | None = None) -> tuple[Path, Schema]:
    """The file and a schema whose sensitive column is the income decile (0 to 9, N under 15).

    Ready for `sf.read(*acs(folder))`.
    """
    schema = Schema(
        quasi=QUASI,
        sensitive="PINCP_DECILE",
        hierarchies=_hierarchies(),
        domains={**_codes(), "PINCP_DECILE": "categorical"},
    )
    return find_file(path, FILE), schema


def acs_income(path: str | Path | None = None) -> tuple[pa.Table, Schema]:
    """The quasi-identifiers and income, judged and published as below or from 50,000 on.

    Income is a number here, so the `N` of those under 15 becomes NULL: a third value, like any
    other. All other columns are text, as in the file.
    """
    file = find_file(path, FILE)
    schema = Schema(
        quasi=QUASI,
        sensitive="PINCP",
        hierarchies={**_hierarchies(), "PINCP": intervals(cuts=[INCOME_CUT])},
        domains=_codes(),
        levels={"PINCP": 1},
    )
    types = {**dict.fromkeys(QUASI, pa.string()), "AGEP": pa.int64(), "PINCP": pa.float64()}
    # Only numbers may be NULL: an N in a column of codes stays the text it is.
    options = csv.ConvertOptions(
        column_types=types,
        include_columns=list(types),
        null_values=[NOT_APPLICABLE],
        strings_can_be_null=False,
    )
    try:
        return csv.read_csv(file, convert_options=options), schema
    except (pa.ArrowInvalid, pa.ArrowKeyError, OSError):
        # Arrow's own message may quote a row.
        raise InputError(f"{file.name} cannot be read as the ACS excerpt") from None


def _hierarchies() -> dict[str, Hierarchy]:
    return {
        "AGEP": intervals([5, 10, 20, 40]),
        "MSP": taxonomy(MARITAL),
        "RAC1P": suppression(),
        "SEX": suppression(),
    }


def _codes() -> dict[str, str]:
    """Columns of digits that are codes: race 3 does not lie between races 2 and 4."""
    return {"MSP": "categorical", "RAC1P": "categorical", "SEX": "categorical"}
