"""`sfumato attack intersect`: what do these releases give away together?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.options import AsJson, Decimal, Delimiter, GroupColumn, PolicyFile
from sfumato.cli.terminal import open_console, say


def intersect(
    releases: Annotated[
        list[str],
        typer.Argument(
            help="Two or more releases: a file, a folder that anonymize wrote, or the two files of "
            "a bucketized release as QUASI.csv+SENSITIVE.csv with --group."
        ),
    ],
    targets: Annotated[
        Path, typer.Option(help="A table of people who are in all of them, with their QIs.")
    ],
    policy: PolicyFile,
    truth: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="The targets' true values, to tell right from wrong."),
    ] = None,
    sensitive: Annotated[
        str | None, typer.Option(help="The attribute to attack, if releases share several.")
    ] = None,
    weight: Annotated[
        str, typer.Option(help="How groups that overlap count: count, or volume (people/volume).")
    ] = "count",
    prior: Annotated[
        str | None, typer.Option(help="pooled: the releases' own distribution; default uniform.")
    ] = None,
    json: AsJson = False,
    html: Annotated[
        Path | None, typer.Option(help="Also write a page to this .html file, to open offline.")
    ] = None,
    private: Annotated[
        Path | None,
        typer.Option(help="Also write what is learnt about each target (.parquet or .json)."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the files.")] = False,
    group: GroupColumn = None,
    scheme: Annotated[
        list[str] | None,
        typer.Option(
            help="How files of other tools were made: generalized, or microaggregated (cells are "
            "centroids). Once for all files, or once for each release, in their order."
        ),
    ] = None,
    delimiter: Delimiter = None,
    decimal: Decimal = None,
) -> None:
    """Intersect what several releases say of people who are in all of them.

    Example: sfumato attack intersect 2023 2024 --targets both.csv --policy policy.toml
    """
    from sfumato.adversaries.composition.attack import intersection_attack
    from sfumato.cli.inputs import load_rules
    from sfumato.cli.several import columns_of, read_one, read_people, schemes_of
    from sfumato.cli.show import check_written
    from sfumato.cli.written import check_private, write_private
    from sfumato.errors import InputError
    from sfumato.files import check_new_file
    from sfumato.report.intersection import attack_exhibit

    if len(releases) < 2:
        raise InputError("one release given; the attack intersects two or more, give another")
    check_written(html, [], public=False, json=json)
    if html is not None:
        check_new_file(html, force=force)
    if private is not None:
        check_private(private, force=force)
    rules, schema = load_rules(policy)
    reading = {"delimiter": delimiter, "decimal": decimal}
    read = [
        read_one(path, rules, schema, group, how, **reading)
        for path, how in zip(releases, schemes_of(releases, scheme or ()), strict=True)
    ]
    people = read_people(targets, rules, schema, columns_of(read), truth, **reading)
    attack = intersection_attack(
        read,
        people,
        truth,
        prior,  # type: ignore[arg-type]  # both checked by the attack
        weight,  # type: ignore[arg-type]
        sensitive=sensitive,
    )
    exhibit = attack_exhibit(attack)
    if html is not None:
        exhibit.save_page(html, force=force)
    if private is not None:
        write_private(attack.targets, private, force=force)
    if json:
        say(exhibit.to_json())
        return
    from sfumato.report.exhibit_text import show

    show(exhibit, open_console())
    if private is not None:
        say(f"Evidence (private): {private}", err=True)
