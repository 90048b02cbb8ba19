"""Options that several commands share, each told once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

PolicyFile = Annotated[
    Path, typer.Option("--policy", help="The policy, a TOML file with a [schema].")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Facts = Annotated[
    Path | None,
    typer.Option(
        "--facts",
        help="A second table with the sensitive values, one row a value; the policy's person "
        "column names the people in both.",
    ),
]
GroupColumn = Annotated[
    str | None,
    typer.Option("--group", help="The column of group ids of a bucketized release."),
]
FileScheme = Annotated[
    str,
    typer.Option(
        "--scheme",
        help="How a file of another tool was made: generalized, or microaggregated (its cells are "
        "centroids). Our own folders and bucketized pairs tell it themselves.",
    ),
]
Matching = Annotated[
    str,
    typer.Option("--matching", help="Who counts as alike: exact, or wildcard (* fits everybody)."),
]
Separator = Annotated[
    str | None,
    typer.Option("--separator", help="What separates the members of a set, as in a~b."),
]
ReleaseFiles = Annotated[
    list[Path],
    typer.Argument(
        help="The file to judge (CSV, Parquet, Arrow), a folder that anonymize wrote, or the two "
        "files of a bucketized release."
    ),
]
EngineName = Annotated[
    str | None,
    typer.Option("--engine", help="What counts the rows: duckdb (the default) or spark."),
]
Master = Annotated[
    str | None,
    typer.Option(
        "--master",
        help="With --engine spark, where it runs: local[*] (the default), spark://HOST:PORT, yarn "
        "or k8s://URL. Every machine must see the file under the same path.",
    ),
]
Memory = Annotated[
    str | None,
    typer.Option("--memory", help="Memory that may be taken, e.g. 2GB; the rest spills."),
]
Spill = Annotated[
    Path | None, typer.Option("--spill", help="Folder for what does not fit in memory.")
]
Delimiter = Annotated[
    str | None, typer.Option("--delimiter", help="What separates the fields of a text file.")
]
Partitioned = Annotated[
    bool | None,
    typer.Option(
        "--partitioned",
        help="The path is a folder of Parquet files that are one table; inner folders such as "
        "year=2020 name a column.",
    ),
]
Decimal = Annotated[
    str | None, typer.Option("--decimal", help="The decimal sign of a text file: . or ,")
]
