"""Panel Relative: a learner against an attacker who knows that her victim is in the release.

`sfumato attack relative`. Sampling may take minutes: it runs as a job, and what it found is kept
for the form that asks about one victim.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sfumato.web.adversaries.panel import (
    Fields,
    PanelAnswer,
    answer,
    attacked,
    data_word,
    number,
    plain,
    shell_words,
    table_of,
    word,
)
from sfumato.web.shell import shell_line

if TYPE_CHECKING:
    from sfumato.web.desk import Desk

VICTIM = "victim "  # what the field of a column is called
SECONDS = 3600


def compare_with_learner(desk: Desk, point: int, fields: Fields) -> PanelAnswer:
    """Learner and attacker about everybody in the release, and about a victim that is described."""
    from sfumato.web.desk import identity
    from sfumato.workflow.one_adversary import ask_membership, read_victim

    release, column = attacked(desk, point, word(fields, "sensitive"))
    described = {
        name: text for name in release.regions.columns if (text := word(fields, f"{VICTIM}{name}"))
    }
    victim = ",".join(f"{name}={text}" for name, text in described.items())
    victims = [read_victim(victim)] if victim else []
    seconds = number(fields, "seconds", 0, 0, SECONDS)
    given: dict[str, object] = {"seconds": seconds} if seconds else {}
    rules = desk.policy_of(point)
    folder = desk.project.release_folder(point)
    key = ("relative", str(folder), identity(folder), identity(desk.data(point)), column, seconds)
    membership = desk.remember(
        key, lambda: ask_membership(release, rules, table_of(desk, point), given, column)
    )
    line = [
        *shell_words(desk, point),
        *("--table", data_word(desk, point), "--sensitive", column),
        *(("--seconds", plain(seconds)) if seconds else ()),
        *(("--victim", victim) if victim else ()),
    ]
    document = membership.document(f"release {point}", victims)
    gist = document.gist
    being_in_it = "" if gist is None else gist.closing.get("Being in it", "")
    return replace(
        answer(document, shell_line("attack relative", *line)),
        headline=f"Being in it {being_in_it}." if being_in_it else "",
    )
