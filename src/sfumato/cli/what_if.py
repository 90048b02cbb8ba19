"""`sfumato attack find` and `attack realistic`: one question to one adversary, to play with."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sfumato.cli import Exit
from sfumato.cli.options import AsJson, Force, PageFile, PolicyFile, ReleaseFiles, Verbose, reads
from sfumato.cli.show import say
from sfumato.engines.reading import OF_RELEASES, Reading

if TYPE_CHECKING:
    from sfumato.report.document import Document

PrivatePage = Annotated[
    Path | None,
    typer.Option("--private", help="Also write it with the groups it is about (.html or .json)."),
]
Sensitive = Annotated[
    str | None, typer.Option(help="The sensitive column asked for; the first unless given.")
]


@reads(*OF_RELEASES)
def find(
    release: ReleaseFiles,
    policy: PolicyFile,
    target: Annotated[
        str,
        typer.Option(
            metavar="COLUMN=VALUE,...",
            help="What is known of somebody; columns left out are unknown.",
        ),
    ] = "",
    knows: Annotated[
        list[str] | None,
        typer.Option(metavar="FACT", help="A fact besides: 'not cancer'. Repeatable."),
    ] = None,
    sensitive: Sensitive = None,
    json: AsJson = False,
    verbose: Verbose = False,
    html: PageFile = None,
    private: PrivatePage = None,
    force: Force = False,
    *,
    reading: Reading,
) -> None:
    """Look for one person: which rows may be hers, and what is believed of her then.

    Example: sfumato attack find release --policy policy.toml --target age=34,sex=F
    """
    from sfumato.adversaries.linkage.one_target import find_target
    from sfumato.cli.options import load_rules, read_judged
    from sfumato.report.characterization import check_files
    from sfumato.report.sections.one_target import target_document
    from sfumato.schema.notation import read_description

    check_files(html, private, force=force, tables=False)
    described = read_description(target, "target") if target else {}
    rules, schema = load_rules(policy)
    judged = read_judged(release, rules, schema, reading)
    person = find_target(judged, described, sensitive, knows or ())
    _show(target_document(judged, person), html, private, json=json, verbose=verbose, force=force)


@reads(*OF_RELEASES)
def realistic(
    release: ReleaseFiles,
    policy: PolicyFile,
    stubbornness: Annotated[
        float | None,
        typer.Option(
            help="How many outside records she has seen, or inf; as many as there are people "
            "unless given."
        ),
    ] = None,
    shape: Annotated[
        str,
        typer.Option(
            help="How they are distributed: table (as the whole table), uniform, any, shares or "
            "counts (flu=70,HIV=30), or a file of other people."
        ),
    ] = "table",
    known: Annotated[int, typer.Option(help="How many people of a group she knows.")] = 0,
    at_most: Annotated[
        bool, typer.Option("--at-most", help="She may also have seen fewer records.")
    ] = False,
    epsilon: Annotated[
        float | None,
        typer.Option(help="The factor that is still allowed: the policy's, else 2, unless given."),
    ] = None,
    sensitive: Sensitive = None,
    json: AsJson = False,
    verbose: Verbose = False,
    html: PageFile = None,
    private: PrivatePage = None,
    force: Force = False,
    *,
    reading: Reading,
) -> None:
    """Ask how far a row moves the belief of somebody who has outside statistics.

    Exit code 0: no farther than --epsilon; 1: farther in some group; 2: bad input.

    Example: sfumato attack realistic release --policy policy.toml --stubbornness 1000
    """
    from sfumato.adversaries.realistic.adversary import RealisticAdversary
    from sfumato.cli.options import load_rules, read_judged
    from sfumato.policy.linked_files import linked_prior
    from sfumato.report.characterization import check_files
    from sfumato.workflow.one_adversary import ask_realistic, groups_about, usual_epsilon

    check_files(html, private, force=force, tables=False)
    rules, schema = load_rules(policy)
    table_reading = reading.over(rules.read)
    given = (
        None
        if shape == "any"
        else linked_prior("--shape", shape, Path(), schema, "shape", table_reading)
    )
    judged = read_judged(release, rules, schema, reading)
    groups = groups_about(judged, sensitive)
    records = float(groups.people()) if stubbornness is None else stubbornness
    adversary = RealisticAdversary(given, records, known, at_most)
    if epsilon is None:
        epsilon = usual_epsilon(rules, judged, groups.attribute)
    document = ask_realistic(judged, adversary, epsilon, groups.attribute)
    _show(document, html, private, json=json, verbose=verbose, force=force)
    violated = document.answer is not None and document.answer.status == "violated"
    raise typer.Exit(Exit.VIOLATED if violated else Exit.HOLDS)


def _show(
    document: Document,
    html: Path | None,
    private: Path | None,
    *,
    json: bool,
    verbose: bool,
    force: bool,
) -> None:
    from sfumato.cli.show import show_document
    from sfumato.files import write_text

    if html is not None:
        document.save_page(html, force=force)
    if private is not None:
        as_json = private.suffix == ".json"
        text = document.to_json(private=True) if as_json else document.to_html(private=True)
        write_text(private, text, force=force, kind="page")
    show_document(document, json=json, verbose=verbose)
    for written in (html, private):
        if written is not None:
            say(f"Saved (private): {written}", err=True)
