"""`sfumato init`: a policy drafted from the data, for its owner to read and correct."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.options import Force, Verbose, reads
from sfumato.cli.show import say, show_document
from sfumato.engines.reading import Reading
from sfumato.errors import InputError

_ASKED = 6  # questions, unless all are asked for


@reads("file")
def init(
    data: Annotated[
        Path, typer.Argument(help="The file to look at: CSV, Parquet, Excel, SPSS, ...")
    ],
    out: Annotated[
        Path | None, typer.Option(help="Write the policy to this file instead of the screen.")
    ] = None,
    profile: Annotated[
        str | None,
        typer.Option(
            help="Draft by a rule set: hipaa-safe-harbor, ema-0.09, statistics-office or "
            "public-file; audit then judges its paragraphs."
        ),
    ] = None,
    zip_population: Annotated[
        Path | None,
        typer.Option(
            help="For hipaa-safe-harbor: a CSV file of ZIP codes and people. Without it no three "
            "digits of a ZIP code are published."
        ),
    ] = None,
    seconds: Annotated[
        float,
        typer.Option(help="For trying the draft: what would be left, and at which price; 0: not."),
    ] = 15.0,
    force: Force = False,
    json: Annotated[
        bool, typer.Option("--json", help="Print the policy and the questions as JSON.")
    ] = False,
    verbose: Verbose = False,
    *,
    reading: Reading,
) -> None:
    """Draft a policy: roles, hierarchies and criteria guessed from the data, with reasons.

    The draft is tried on some of the rows: what would be left of the data, and where that is
    little what each promise and column costs. That and what it could not decide go to stderr. The
    draft runs as it is; read it before you rely on it.

    Example: sfumato init patients.csv --out policy.toml
    """
    from sfumato.files import check_new_file
    from sfumato.policy.draft.by_rules import DraftRules, rules_named
    from sfumato.policy.draft.draft import draft_for
    from sfumato.report.document import Document, Gist
    from sfumato.workflow.trial import try_draft

    if seconds < 0:
        raise InputError(f"--seconds {seconds:g} is not allowed; use 0 or more")
    if out is not None:
        check_new_file(out, force=force)
    asked = DraftRules(rules_named(profile, zip_population))
    draft = draft_for(data, reading, asked=asked)
    if out is not None:
        draft.save(out, force=force)
    if out is None and not json and (verbose or not sys.stdout.isatty()):
        say(draft.text, nl=False)  # on a terminal it would hide what is said of it
    trial = try_draft(draft, seconds) if seconds else None
    questions = draft.questions if trial is None else trial.questions
    if json:
        from json import dumps

        tried = None if trial is None else trial.to_dict()
        say(dumps({"policy": draft.text, "questions": questions, "trial": tried}, indent=2))
    listed = questions if verbose else questions[:_ASKED]
    closing = {f"Question {place}": words for place, words in enumerate(listed, start=1)}
    if len(listed) < len(questions):
        closing["Besides"] = (
            f"{len(questions) - len(listed)} more questions; --verbose asks them all"
        )
    next_step = f"Read {out}, then: sfumato audit {data} --policy {out}"
    if out is None:
        next_step = "--out FILE writes the draft, --verbose shows it here" * sys.stdout.isatty()
    gist = Gist({"Tried": "" if trial is None else trial.words, **closing, "Next": next_step})
    document = Document("draft", "", "", (), gist=gist)
    show_document(document, json=False, verbose=verbose, err=True)
