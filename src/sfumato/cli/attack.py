"""`sfumato attack`: what an adversary could do with releases; one command a file."""

from __future__ import annotations

import typer

from sfumato.cli.attack_bayes import bayes
from sfumato.cli.attack_intersect import intersect

attack = typer.Typer(
    name="attack",
    help="Attack releases as an adversary would, and tell what that finds.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
attack.command()(bayes)
attack.command()(intersect)
