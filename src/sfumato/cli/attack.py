"""`sfumato attack`: what an adversary could do with releases; one command a file."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.options import (
    AsJson,
    Decimal,
    Delimiter,
    EngineName,
    GroupColumn,
    Master,
    Memory,
    PolicyFile,
    ReleaseFiles,
    Separator,
    Spill,
)
from sfumato.cli.terminal import say

# `sfumato attack bayes`: what a release tells of its people beyond what it tells of everybody.

HOLDS, VIOLATED, COULD_NOT_JUDGE = 0, 1, 3


def bayes(
    release: ReleaseFiles,
    policy: PolicyFile,
    table: Annotated[
        Path | None,
        typer.Option(help="The original table: whose value is guessed right, and how much better."),
    ] = None,
    victim: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN=VALUE,...",
            help="What is known of somebody: exact values, labels or notations; columns left out "
            "are unknown. Repeatable.",
        ),
    ] = None,
    sensitive: Annotated[
        str | None, typer.Option(help="The sensitive column, where there are several.")
    ] = None,
    learner: Annotated[
        str, typer.Option(help="joint: condition the expected population; conditional: average.")
    ] = "joint",
    method: Annotated[
        str,
        typer.Option(help="auto, exact, sample; or the paper's row-gibbs, swap, permutation."),
    ] = "auto",
    weight: Annotated[
        float, typer.Option(help="Prior weight of every value; 1 is no opinion.")
    ] = 1.0,
    seed: Annotated[int, typer.Option(help="Seed of all chance.")] = 0,
    sweeps: Annotated[int, typer.Option(help="Sweeps a chain may make at most.")] = 32_000,
    check: Annotated[
        list[str] | None, typer.Option(help="Also check chains by geweke or weiss. Repeatable.")
    ] = None,
    json: AsJson = False,
    html: Annotated[
        Path | None, typer.Option(help="Also write it with its charts as an offline page.")
    ] = None,
    rows: Annotated[
        Path | None,
        typer.Option(help="Also write every person's row to this private .parquet or .json file."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the files.")] = False,
    engine: EngineName = None,
    master: Master = None,
    memory: Memory = None,
    spill: Spill = None,
    delimiter: Delimiter = None,
    decimal: Decimal = None,
    group: GroupColumn = None,
    separator: Separator = None,
) -> None:
    """Compare a learner with an attacker who knows that her victim is in the release.

    Exit code 0: fine, or the policy's relative-threat bound holds; 1: it is violated; 2: bad input;
    3: it could not be judged, or the chains did not converge.

    Example: sfumato attack bayes release --table patients.csv --policy policy.toml
    """
    from sfumato.adversaries.relative_threat.relative import observer_of, relative_threat
    from sfumato.cli.inputs import load_rules, read_judged, read_table, stated
    from sfumato.cli.show import check_private, check_written, show_document, write_private
    from sfumato.criteria.relative_threat import RelativeThreatBound
    from sfumato.errors import InputError
    from sfumato.files import check_new_file
    from sfumato.report.sections.relative_threat import relative_document

    # Every mistake is told before a large file is read.
    check_written(html, [], public=False, json=json)
    if html is not None:
        check_new_file(html, force=force)
    if rows is not None:
        if table is None:
            raise InputError("--rows needs --table: a release does not tell who is who")
        check_private(rows, force=force)
    victims = [(text, victim_of(text)) for text in victim or ()]
    rules, schema = load_rules(policy)
    if table is None and not victims:
        raise InputError("nothing is asked: give --table FILE, or --victim COLUMN=VALUE,...")
    where = stated(engine=engine, master=master, memory=memory, spill=spill)
    reading = {**where, **stated(delimiter=delimiter, decimal=decimal)}
    judged = read_judged(release, rules, schema, reading, group=group, separator=separator)
    original = None
    if table is not None:
        original = read_table(table, rules, schema, **where)
    observer = observer_of(judged, original)
    for _, known in victims:
        observer.read(known)
    found = relative_threat(
        judged,
        original,
        sensitive=sensitive,
        prior=weight,
        learner=learner,  # type: ignore[arg-type]  # both checked there
        method=method,  # type: ignore[arg-type]
        seed=seed,
        sweeps=sweeps,
        checks=tuple(check or ()),
    )
    bounds = [one for one in rules.require if isinstance(one, RelativeThreatBound)]
    about = judged.groups_for(found.attribute)
    verdicts = [
        bound.judge_threat(about, found)
        for bound in bounds
        if bound.sensitive in (None, found.attribute)
    ]
    document = relative_document(found, judged.label, victims, verdicts)
    if html is not None:
        document.save_page(html, force=force)
    if rows is not None:
        write_private(found.rows, rows, force=force)
    show_document(document, json=json)
    if rows is not None:
        say(f"Everybody's rows (private): {rows}", err=True)
    raise typer.Exit(_exit([verdict.status for verdict in verdicts], found.status))


def victim_of(text: str) -> dict[str, str]:
    """`age=34,zip=13012` as a mapping; a comma inside a notation such as [30, 40) is its own."""
    from sfumato.errors import InputError

    known: dict[str, str] = {}
    for piece in re.split(r",(?=\s*[^,=\[\](){}]+=)", text):
        name, equals, value = piece.partition("=")
        if not equals or not name.strip():
            raise InputError(
                f"victim {text!r} is not understood at {piece!r}; write age=34,zip=13012"
            )
        if name.strip() in known:
            raise InputError(f"victim {text!r} names {name.strip()!r} twice")
        known[name.strip()] = value.strip()
    return known


def _exit(judged: list[str], status: str) -> int:
    if "violated" in judged:
        return VIOLATED
    if status == "not_converged" or any(one != "holds" for one in judged):
        return COULD_NOT_JUDGE
    return HOLDS


# `sfumato attack intersect`: what do these releases give away together?


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
    from sfumato.cli.show import check_private, check_written, show_document, write_private
    from sfumato.errors import InputError
    from sfumato.files import check_new_file
    from sfumato.report.sections.composition import attack_document

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
    document = attack_document(attack)
    if html is not None:
        document.save_page(html, force=force)
    if private is not None:
        write_private(attack.targets, private, force=force)
    show_document(document, json=json)
    if private is not None and not json:
        say(f"Evidence (private): {private}", err=True)


def adversaries(json: AsJson = False) -> None:
    """Tell every adversary there is, from weak to strong: what she asks, knows, and when she runs.

    Example: sfumato attack list
    """
    from sfumato.cli.show import show_document
    from sfumato.report.sections.threats import catalogue_document

    show_document(catalogue_document(), json=json)


attack = typer.Typer(
    name="attack",
    help="Attack releases as an adversary would, and tell what that finds.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
attack.command()(bayes)
attack.command()(intersect)
attack.command("list")(adversaries)
