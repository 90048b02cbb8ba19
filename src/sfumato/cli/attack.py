"""`sfumato attack`: what an adversary could do with releases, a command for each attack."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

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
    Verbose,
    reads,
)
from sfumato.cli.show import say
from sfumato.cli.what_if import find, realistic
from sfumato.engines.reading import OF_RELEASES, Reading

# `sfumato attack relative`: what a release tells of its people beyond what it tells of everybody.


@reads(*OF_RELEASES)
def relative(
    release: ReleaseFiles,
    policy: PolicyFile,
    table: Annotated[
        Path | None,
        typer.Option(
            help="The table the release was made of: whose value is guessed right, and how much "
            "better."
        ),
    ] = None,
    victim: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN=VALUE,...",
            help="What is known of somebody: exact values, labels or notations, several (34|35) or "
            "with the chance of what was seen (34@0.7|35@0.3); columns left out are unknown. "
            "Repeatable.",
        ),
    ] = None,
    sensitive: Annotated[
        str | None, typer.Option(help="The sensitive column, where there are several.")
    ] = None,
    joint: Annotated[
        str | None,
        typer.Option(metavar="COLUMN,...", help="Sensitive columns that are one together."),
    ] = None,
    gain: Annotated[
        str | None,
        typer.Option(
            help="What they are after: value; 'top 3', it is among three guesses; HIV=10,flu=0.5, "
            "what a value is worth (others 1); list, all values of a person who has several."
        ),
    ] = None,
    known: Annotated[
        str | None, typer.Option(metavar="COLUMN,...", help="The columns they see of people.")
    ] = None,
    noise: Annotated[
        str | None,
        typer.Option(
            help="The chance that what they see of a column is wrong: 0.1, or age=0.1,zip=0.2."
        ),
    ] = None,
    learner: Annotated[
        str | None,
        typer.Option(help="joint: condition the expected population; conditional: average."),
    ] = None,
    method: Annotated[
        str | None,
        typer.Option(
            help="auto, exact, sample, tempered; or the paper's row-gibbs, swap, permutation."
        ),
    ] = None,
    prior: Annotated[
        str | None,
        typer.Option(
            help="What is believed before: uniform, the weight of every value (1 is no opinion), "
            "weights by column or value (age=2,zip:13053=10), or a file of other people."
        ),
    ] = None,
    weight: Annotated[
        float | None, typer.Option(help="The weight of values that --prior says nothing of.")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of all chance.")] = None,
    chains: Annotated[int | None, typer.Option(help="Chains to sample with, 4 or more.")] = None,
    ess: Annotated[
        float | None, typer.Option(help="Effective draws that sampling must reach (400).")
    ] = None,
    sweeps: Annotated[
        int | None, typer.Option(help="Sweeps a chain may make at most (32000).")
    ] = None,
    seconds: Annotated[
        float | None,
        typer.Option(help="Stop sampling after so long; what has not converged by then is told."),
    ] = None,
    draws: Annotated[
        int | None, typer.Option(help="Populations drawn for --learner conditional (4000).")
    ] = None,
    check: Annotated[
        list[str] | None, typer.Option(help="Also check chains by geweke or weiss. Repeatable.")
    ] = None,
    json: AsJson = False,
    verbose: Verbose = False,
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

    What is not told is as the policy's relative-threat bound has it, or as usual. The bound itself
    is judged as the policy has it.

    Exit code 0: fine, or the policy's relative-threat bound holds; 1: it is violated; 2: bad input;
    3: it could not be judged, or the chains did not converge.

    Example: sfumato attack relative release --table patients.csv --policy policy.toml
    """
    from sfumato.adversaries.relative_threat.relative import MembershipAttacker, observer_of
    from sfumato.cli.options import load_rules, read_judged, read_table
    from sfumato.cli.show import check_private, check_written, show_document, write_private
    from sfumato.errors import InputError
    from sfumato.files import check_new_file
    from sfumato.policy.linked_files import linked_prior
    from sfumato.release.build import checked_joint
    from sfumato.workflow.one_adversary import ask_membership, read_victim

    # Every mistake is told before a large file is read.
    check_written(html, [], public=False, json=json)
    if html is not None:
        check_new_file(html, force=force)
    if private is not None:
        if table is None:
            raise InputError("--private needs --table: a release does not tell who is who")
        check_private(private, force=force)
    victims = [read_victim(text) for text in victim or ()]
    rules, schema = load_rules(policy)
    if table is None and not victims:
        raise InputError("nothing is asked: give --table FILE, or --victim COLUMN=VALUE,...")
    given: dict[str, Any] = {
        "joint": checked_joint("--joint", _names(joint), sensitive) if joint else None,
        "prior": None
        if prior is None
        else linked_prior("--prior", prior, Path(), schema, table_reading=reading.over(rules.read)),
        "weight": weight,
        "learner": learner,
        "gain": gain,
        "known": None if known is None else _names(known),
        "noise": None if noise is None else noise_of(noise),
        "method": method,
        "seed": seed,
        "chains": chains,
        "ess": ess,
        "sweeps": sweeps,
        "seconds": seconds,
        "draws": draws,
        "checks": tuple(check or ()),
    }
    asked = {option: value for option, value in given.items() if value is not None}
    MembershipAttacker(**asked)
    judged = read_judged(release, rules, schema, reading)
    original = None
    if table is not None:
        original = read_table(table, rules, schema, reading.about("engine"))
    observer = observer_of(judged, original)
    for _, person in victims:
        observer.read(person)
    answer = ask_membership(judged, rules, original, asked, sensitive)
    threat, document = answer.threat, answer.document(judged.label, victims)
    if html is not None:
        document.save_page(html, force=force)
    if private is not None:
        write_private(threat.rows, private, force=force)
    show_document(document, json=json, verbose=verbose)
    if private is not None:
        say(f"Everybody's rows (private): {private}", err=True)
    raise typer.Exit(_exit([verdict.status for verdict in answer.verdicts], threat.status))


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",")]


def noise_of(text: str) -> float | dict[str, float]:
    """`0.1`, or `age=0.1,zip=0.2`."""
    from sfumato.errors import InputError

    pairs = [piece.rpartition("=")[::2] for piece in text.split(",")]
    try:
        chances = {name.strip(): float(chance) for name, chance in pairs}
    except ValueError:
        chances = {}
    if len(chances) < len(pairs) or (len(pairs) > 1 and "" in chances):
        raise InputError(f"noise {text!r} is not understood; write 0.1, or age=0.1,zip=0.2")
    return chances.get("", chances)


def _exit(judged: list[str], status: str) -> Exit:
    if "violated" in judged:
        return Exit.VIOLATED
    if status == "not_converged" or any(status != "holds" for status in judged):
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
    verbose: Verbose = False,
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
    noisy_counts: Annotated[
        str,
        typer.Option(
            help="Counts of randomised releases as published, or expected: what they may have been "
            "before the noise, which is known."
        ),
    ] = "published",
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
    population = linked_prior(
        "--prior", prior, Path(), schema, table_reading=reading.over(rules.read)
    )
    people = read_targets(targets, rules, schema, read, reading, truth, unknown)
    attack = intersection_attack(
        read,
        people,
        truth,
        population,
        overlap,  # type: ignore[arg-type]  # checked by the attack
        sensitive=sensitive,
        unknown=unknown,
        noisy_counts=noisy_counts,  # type: ignore[arg-type]
    )
    document = attack_document(attack)
    if html is not None:
        document.save_page(html, force=force)
    if private is not None:
        write_private(attack.targets_by_part(), private, force=force)
    show_document(document, json=json, verbose=verbose)
    if private is not None and not json:
        say(f"Evidence (private): {private}", err=True)


# `sfumato attack uniques`: who is found by few facts?


@reads(*OF_RELEASES)
def uniques(
    release: ReleaseFiles,
    policy: PolicyFile,
    size: Annotated[int, typer.Option(help="How many columns are known at most.")] = 3,
    column: Annotated[
        list[str] | None,
        typer.Option(help="What is known: a quasi-identifier; all of them otherwise. Repeatable."),
    ] = None,
    sampling_fraction: Annotated[
        float | None,
        typer.Option(help="The share of the population in the file, for DIS-SUDA scores."),
    ] = None,
    json: AsJson = False,
    verbose: Verbose = False,
    html: PageFile = None,
    private: Annotated[
        Path | None,
        typer.Option(help="Also write it with the values that tell most (.html or .json)."),
    ] = None,
    force: Force = False,
    *,
    reading: Reading,
) -> None:
    """Find special uniques (SUDA2): people who are alone by few columns of a table or release.

    Example: sfumato attack uniques patients.csv --policy policy.toml --size 3
    """
    from sfumato.adversaries.linkage.special_uniques import special_uniques
    from sfumato.cli.options import load_rules, read_judged
    from sfumato.cli.show import show_document
    from sfumato.files import write_text
    from sfumato.report.characterization import check_files
    from sfumato.report.sections.record_risks import uniques_document

    check_files(html, private, force=force, tables=False)
    rules, schema = load_rules(policy)
    judged = read_judged(release, rules, schema, reading)
    document = uniques_document(
        special_uniques(judged, size, columns=column, sampling_fraction=sampling_fraction)
    )
    if html is not None:
        document.save_page(html, force=force)
    if private is not None:
        as_json = private.suffix == ".json"
        text = document.to_json(private=True) if as_json else document.to_html(private=True)
        write_text(private, text, force=force, kind="page")
    show_document(document.public(), json=json, verbose=verbose)
    for written in (html, private):
        if written is not None:
            say(f"Saved (private): {written}", err=True)


# `sfumato attack rows`: who knows several rows of somebody?


@reads(*OF_RELEASES)
def rows(
    release: ReleaseFiles,
    policy: PolicyFile,
    knows: Annotated[
        list[str] | None,
        typer.Option(help="How many of somebody's rows are known: 1, 2, ... or all. Repeatable."),
    ] = None,
    json: AsJson = False,
    verbose: Verbose = False,
    html: PageFile = None,
    force: Force = False,
    *,
    reading: Reading,
) -> None:
    """Find whom several known rows leave, and what these say together (rows = "unlinked").

    Example: sfumato attack rows visits.csv --policy visits.toml --knows 1 --knows all
    """
    from sfumato.cli.options import load_rules, read_judged
    from sfumato.cli.show import show_document
    from sfumato.report.characterization import check_files
    from sfumato.report.sections.record_risks import rows_document

    check_files(html, None, force=force, tables=False)
    rules, schema = load_rules(policy)
    judged = read_judged(release, rules, schema, reading)
    known: list[Any] = [
        int(known_rows) if known_rows.isdecimal() else known_rows
        for known_rows in knows or ["1", "2", "all"]
    ]
    document = rows_document(judged, known)
    if html is not None:
        document.save_page(html, force=force)
    show_document(document, json=json, verbose=verbose)
    if html is not None:
        say(f"Saved (private): {html}", err=True)


def adversaries(json: AsJson = False, verbose: Verbose = False) -> None:
    """Tell every adversary there is, from weak to strong: what she asks, knows, and when she runs.

    Example: sfumato attack list
    """
    from sfumato.cli.show import show_document
    from sfumato.report.sections.threats import catalogue_document

    show_document(catalogue_document(), json=json, verbose=verbose)


attack = typer.Typer(
    name="attack",
    help="Attack releases as an adversary would, and tell what that finds.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
attack.command(short_help="Look for one person.")(find)
attack.command(short_help="Ask somebody with outside statistics.")(realistic)
attack.command(short_help="Compare a learner with an attacker.")(relative)
attack.command(short_help="Intersect releases about the same people.")(intersect)
attack.command(short_help="Find special uniques (SUDA2).")(uniques)
attack.command(short_help="Look for people by several of their rows.")(rows)
attack.command("list", short_help="Tell every adversary there is.")(adversaries)
