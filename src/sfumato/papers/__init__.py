"""The experiments of the five papers, run on our own code: one file a paper.

`run(data, seed=..., quick=...)` of each returns a document. `data` is the folder of the public data
files; None means there is none, and the embedded census stands in where that makes sense.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.errors import InputError, did_you_mean

if TYPE_CHECKING:
    from sfumato.report.document import Document, Section

PAPERS = {
    "skyline": "privacy with facts about the target, others and the family; speed, Adult",
    "realistic": "epsilon-privacy against realistic adversaries, all nodes of a lattice",
    "relative": "learner against attacker: generalized and bucketized releases of Adult",
    "composition": "two releases about the same people, intersected; and randomised ones",
    "leakage": "distribution and entropy leakage: examples, measures, releases of Adult",
}


Claim = tuple[str, bool, str]  # what the paper says, whether it holds here, what was found


def check_paper(paper: str) -> None:
    """Refuse an unknown name."""
    if paper not in PAPERS:
        raise InputError(f"{paper!r} is not a paper we reproduce; {did_you_mean(paper, PAPERS)}")


def reproduce(
    paper: str, data: Path | None = None, *, seed: int = 0, quick: bool = False
) -> Document:
    """Run one paper's experiments; `quick` on less data or fewer settings, as it says."""
    check_paper(paper)
    if data is not None and not data.is_dir():
        raise InputError(f"{data} is no folder; give the one that holds adult/ and acs2019/")
    document: Document = import_module(f"sfumato.papers.{paper}").run(data, seed=seed, quick=quick)
    return document


def claims_section(name: str, claims: list[Claim]) -> Section:
    """What a paper says of its figures, and whether that holds here."""
    from sfumato.report.document import Section, Sheet

    held = sum(holds for _, holds, _ in claims)
    return Section(
        f"{name}: what the paper says of the figures",
        f"{held} of {len(claims)} hold here.",
        tables=(Sheet(("the paper says", "holds here", "found"), tuple(claims)),),
    )
