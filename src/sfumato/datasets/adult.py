"""UCI Adult (Becker and Kohavi 1996, CC BY 4.0), from files the user has.

Two forms are in use. Papers and the ARX project take 30,162 complete records of the training
file with nine columns and hierarchies for each (Apache-2.0); the full file has 48,842 records and
fifteen columns, of which 45,222 records are complete.
"""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
from pyarrow import csv

from sfumato.datasets.folder import find_file
from sfumato.errors import InputError
from sfumato.schema.recipes import taxonomy
from sfumato.schema.roles import Schema

QUASI = (
    "sex",
    "age",
    "race",
    "marital-status",
    "education",
    "native-country",
    "workclass",
    "salary-class",
)
SENSITIVE = "occupation"


def adult(path: str | Path | None = None) -> tuple[Path, Schema]:
    """The file of 30,162 records and its schema, ready for `sf.read(*adult(folder))`.

    Occupation is sensitive; the other eight columns are quasi-identifiers with ARX's hierarchies.
    """
    file = find_file(path, "adult/adult.csv")
    hierarchies = {
        column: taxonomy(find_file(path, f"adult/hierarchies/adult_hierarchy_{column}.csv"))
        for column in QUASI
    }
    return file, Schema(quasi=QUASI, sensitive=SENSITIVE, hierarchies=hierarchies)


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
