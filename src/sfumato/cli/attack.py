"""`sfumato attack`: what an adversary could do with releases, a command for each attack."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli import Exit
from sfumato.cli.options import (
    UNKNOWN,
    AsJson,
    Force,
    PageFile,
    PolicyFile,
    ReleaseFiles,
    UnknownCell,
    reads,
)
from sfumato.cli.show import say
from sfumato.engines.reading import OF_RELEASES, Reading

# `sfumato attack relative`: what a release tells of its people beyond what it tells of everybody.


@reads(*OF_RELEASES)
def relative(
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
    prior: Annotated[
        str,
        typer.Option(
            help="What is believed before: uniform, the weight of every value (1 is no opinion), "
            "or a file of other people."
        ),
    ] = "uniform",
    seed: Annotated[int, typer.Option(help="Seed of all chance.")] = 0,
    sweeps: Annotated[int, typer.Option(help="Sweeps a chain may make at most.")] = 32_000,
    check: Annotated[
        list[str] | None, typer.Option(help="Also check chains by geweke or weiss. Repeatable.")
    ] = None,
    json: AsJson = False,
    html: PageFile = None,
    private: Annotated[
        Path | None,
        typer.Option(help="Also write every person's row to this private .parquet or .json file."),
    ] = None,
    force: Force = False,
    *,
    reading: Reading,
) -> None:
    """Compare a learner with an attacker who knows that her victim is in the release.

    Exit code 0: fine, or the policy's relative-threat bound holds; 1: it is violated; 2: bad input;
    3: it could not be judged, or the chains did not converge.

    Example: sfumato attack relative release --table patients.csv --policy policy.toml
    """
    from sfumato.adversaries.locating.targets import read_description
    from sfumato.adversaries.relative_threat.relative import observer_of, relative_threat
    from sfumato.cli.options import load_rules, read_judged, read_table
    from sfumato.cli.show import check_private, check_written, show_document, write_private
    from sfumato.errors import InputError
    from sfumato.files import check_new_file
    from sfumato.policy.linked_files import linked_prior
    from sfumato.report.sections.relative_threat import relative_document

    # Every mistake is told before a large file is read.
    check_written(html, [], public=False, json=json)
    if html is not None:
        check_new_file(html, force=force)
    if private is not None:
        if table is None:
            raise InputError("--private needs --table: a release does not tell who is who")
        check_private(private, force=force)
    victims = [(text, read_description(text, "victim")) for text in victim or ()]
    rules, schema = load_rules(policy)
    if table is None and not victims:
        raise InputError("nothing is asked: give --table FILE, or --victim COLUMN=VALUE,...")
    believed = linked_prior("--prior", prior, Path(), schema)
    judged = read_judged(release, rules, schema, reading)
    original = None
    if table is not None:
        original = read_table(table, rules, schema, reading.about("engine"))
    observer = observer_of(judged, original)
    for _, known in victims:
        observer.read(known)
    threat = relative_threat(
        judged,
        original,
        sensitive=sensitive,
        prior=believed,
        learner=learner,  # type: ignore[arg-type]  # both checked there
        method=method,  # type: ignore[arg-type]
        seed=seed,
        sweeps=sweeps,
        checks=tuple(check or ()),
    )
    answers = (criterion.judge_attacks(judged, [threat]) for criterion in rules.require)
    verdicts = [verdict for verdict in answers if verdict is not None]
    document = relative_document(threat, judged.label, victims, verdicts)
    if html is not None:
        document.save_page(html, force=force)
    if private is not None:
        write_private(threat.rows, private, force=force)
    show_document(document, json=json)
    if private is not None:
        say(f"Everybody's rows (private): {private}", err=True)
    raise typer.Exit(_exit([verdict.status for verdict in verdicts], threat.status))


def _exit(judged: list[str], status: str) -> Exit:
    if "violated" in judged:
        return Exit.VIOLATED
    if status == "not_converged" or any(one != "holds" for one in judged):
        return Exit.COULD_NOT_JUDGE
    return Exit.HOLDS


# `sfumato attack intersect`: what do these releases give away together?


@reads(*OF_RELEASES, but="scheme")
def intersect(
    releases: Annotated[
        list[str],
        typer.Argument(
            help="Two or more releases: a file, a folder that anonymize wrote, or the two files of "
            "a bucketized release as QUASI.csv+SENSITIVE.csv with --group."
        ),
    ],
    targets: Annotated[
        Path,
        typer.Option(
            help="A table of people who are in all of them, with as many of their QIs as are known."
        ),
    ],
    policy: PolicyFile,
    truth: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="The targets' true values, to tell right from wrong."),
    ] = None,
    sensitive: Annotated[
        str | None, typer.Option(help="The attribute to attack, if releases share several.")
    ] = None,
    overlap: Annotated[
        str, typer.Option(help="How groups that overlap count: count, or volume (people/volume).")
    ] = "count",
    prior: Annotated[
        str,
        typer.Option(
            help="How the population is distributed: uniform, pooled (as the releases together), "
            "shares or counts (flu=70,HIV=30), or a file or release of other people."
        ),
    ] = "uniform",
    json: AsJson = False,
    html: PageFile = None,
    private: Annotated[
        Path | None,
        typer.Option(help="Also write what is learnt about each target (.parquet or .json)."),
    ] = None,
    force: Force = False,
    scheme: Annotated[
        list[str] | None,
        typer.Option(
            help="How files of other tools were made: generalized, or microaggregated (cells are "
            "centroids). Once for all files, or once for each release, in their order."
        ),
    ] = None,
    unknown: UnknownCell = UNKNOWN,
    *,
    reading: Reading,
) -> None:
    """Intersect what several releases say of people who are in all of them.

    Example: sfumato attack intersect 2023 2024 --targets both.csv --policy policy.toml
    """
    from sfumato.adversaries.composition.attack import intersection_attack
    from sfumato.cli.options import load_rules, read_one, read_targets, schemes_of
    from sfumato.cli.show import check_private, check_written, show_document, write_private
    from sfumato.errors import InputError
    from sfumato.files import check_new_file
    from sfumato.policy.linked_files import linked_prior
    from sfumato.report.sections.composition import attack_document

    if len(releases) < 2:
        raise InputError("one release given; the attack intersects two or more, give another")
    check_written(html, [], public=False, json=json)
    if html is not None:
        check_new_file(html, force=force)
    if private is not None:
        check_private(private, force=force)
    rules, schema = load_rules(policy)
    read = [
        read_one(path, rules, schema, replace(reading, scheme=how))
        for path, how in zip(releases, schemes_of(releases, scheme or ()), strict=True)
    ]
    population = linked_prior("--prior", prior, Path(), schema)
    people = read_targets(targets, rules, schema, read, reading, truth, unknown)
    attack = intersection_attack(
        read,
        people,
        truth,
        population,
        overlap,  # type: ignore[arg-type]  # checked by the attack
        sensitive=sensitive,
        unknown=unknown,
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
attack.command()(relative)
attack.command()(intersect)
attack.command("list")(adversaries)
