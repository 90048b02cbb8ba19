"""Public data files that papers use, from a folder the user has: UCI Adult and the ACS 2019.

UCI Adult (Becker and Kohavi 1996, CC BY 4.0): two forms are in use. Papers and the ARX project take
30,162 complete records of the training file with nine columns and hierarchies for each
(Apache-2.0); the full file has 48,842 records and fifteen columns, of which 45,222 records are
complete.
"""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from sfumato.errors import InputError
from sfumato.schema.hierarchy import Hierarchy
from sfumato.schema.recipes import intervals, suppression, taxonomy
from sfumato.schema.roles import Schema

# Where the public data files lie: a folder given, or the one SFUMATO_DATA names.
#
# The files are not part of the package. The folder holds `adult/` and `acs2019/`.

VARIABLE = "SFUMATO_DATA"


def find_file(path: str | Path | None, name: str) -> Path:
    """The file `name` (such as adult/adult.csv) inside the data folder."""
    folder = _folder(path)
    file = folder / name
    if not file.is_file():
        raise InputError(
            f"{str(folder)!r} does not hold the file {name}; give the folder that does"
        )
    return file


def _folder(path: str | Path | None) -> Path:
    chosen = os.environ.get(VARIABLE) if path is None else path
    if not chosen:
        raise InputError(
            f"no data folder: give its path, or set the environment variable {VARIABLE} to it"
        )
    return Path(chosen).expanduser()


# American Community Survey 2019, the national excerpt of NIST's Diverse Communities Data.
#
# 27,253 records, 24 columns, from a file the user has. `N` means "not applicable" (income and
# marital status below 15 years): a fact about the person, so it is a category and not a gap.

FILE = "acs2019/national.csv"
ACS_QUASI = ("AGEP", "MSP", "RAC1P", "SEX")
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
        quasi=ACS_QUASI,
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
        quasi=ACS_QUASI,
        sensitive="PINCP",
        hierarchies={**_hierarchies(), "PINCP": intervals(cuts=[INCOME_CUT])},
        domains=_codes(),
        levels={"PINCP": 1},
    )
    types = {**dict.fromkeys(ACS_QUASI, pa.string()), "AGEP": pa.int64(), "PINCP": pa.float64()}
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


ADULT_QUASI = (
    "sex",
    "age",
    "race",
    "marital-status",
    "education",
    "native-country",
    "workclass",
    "salary-class",
)
ADULT_SENSITIVE = "occupation"


def adult(path: str | Path | None = None) -> tuple[Path, Schema]:
    """The file of 30,162 records and its schema, ready for `sf.read(*adult(folder))`.

    Occupation is sensitive; the other eight columns are quasi-identifiers with ARX's hierarchies.
    """
    file = find_file(path, "adult/adult.csv")
    hierarchies = {
        column: taxonomy(find_file(path, f"adult/hierarchies/adult_hierarchy_{column}.csv"))
        for column in ADULT_QUASI
    }
    return file, Schema(quasi=ADULT_QUASI, sensitive=ADULT_SENSITIVE, hierarchies=hierarchies)


def adult_uci(path: str | Path | None = None, *, complete: bool = False) -> pa.Table:
    """The full file: 48,842 records, missing values as NULL; `complete` keeps the 45,222 without.

    It comes without a schema: papers differ in the roles they give its columns.
    """
    file = find_file(path, "adult/adult_uci.csv.gz")
    options = csv.ConvertOptions(null_values=["?"], strings_can_be_null=True)
    try:
        table = csv.read_csv(file, convert_options=options)
    except (pa.ArrowInvalid, OSError):
        # Arrow's own message may quote a row.
        raise InputError(f"{file.name} cannot be read as comma-separated text") from None
    return table.drop_null() if complete else table
