"""`sfumato attack`: what an adversary could do with releases; one command a file."""

from __future__ import annotations

import importlib.util

import typer

COMMANDS = {"bayes": "sfumato.cli.attack_bayes", "intersect": "sfumato.cli.attack_intersect"}

attack = typer.Typer(
    name="attack",
    help="Attack releases as an adversary would, and tell what that finds.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


def _register() -> None:
    for name, module in COMMANDS.items():
        if importlib.util.find_spec(module) is not None:
            attack.command(name)(getattr(importlib.import_module(module), name))


_register()
