"""American Community Survey 2019, the national excerpt of NIST's Diverse Communities Data.

27,253 records, 24 columns, from a file the user has. `N` means "not applicable" (income and
marital status below 15 years): a fact about the person, so it is a category and not a gap.
"""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from sfumato.datasets.folder import find_file
from sfumato.errors import InputError
from sfumato.schema.hierarchy import Hierarchy
from sfumato.schema.recipes import intervals, suppression, taxonomy
from sfumato.schema.roles import Schema

FILE = "acs2019/national.csv"
QUASI = ("AGEP", "MSP", "RAC1P", "SEX")
NOT_APPLICABLE = "N"
INCOME_CUT = 50_000
INDUSTRY_QUASI = ("AGEP", "SEX", "MSP", "RAC1P", "EDU", "HISP", "OWN_RENT")
EDUCATION = (NOT_APPLICABLE, *(str(code) for code in range(1, 13)))  # from no school to a doctorate

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
    return _read(file, types), schema


def acs_industry(path: str | Path | None = None) -> tuple[pa.Table, Schema]:
    """People with an industry of work, which is sensitive, and seven quasi-identifiers.

    Of children and of people long out of work no industry is known: they are left out.
    """
    file = find_file(path, FILE)
    codes = ("SEX", "MSP", "RAC1P", "HISP", "OWN_RENT", "INDP_CAT")
    schema = Schema(
        quasi=INDUSTRY_QUASI,
        sensitive="INDP_CAT",
        domains={**dict.fromkeys(codes, "categorical"), "EDU": EDUCATION},
    )
    types = {**dict.fromkeys((*INDUSTRY_QUASI, "INDP_CAT"), pa.string()), "AGEP": pa.int64()}
    rows = _read(file, types)
    return rows.filter(pc.not_equal(rows["INDP_CAT"], NOT_APPLICABLE)), schema


def _read(file: Path, types: dict[str, pa.DataType]) -> pa.Table:
    # Only numbers may be NULL: an N in a column of codes stays the text it is.
    options = csv.ConvertOptions(
        column_types=types,
        include_columns=list(types),
        null_values=[NOT_APPLICABLE],
        strings_can_be_null=False,
    )
    try:
        return csv.read_csv(file, convert_options=options)
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
