"""The experiments of the five papers, run on our own code: one file a paper.

`run(data, settings)` of each returns a `Reproduction`: print beside ours, and the tables and charts
behind it. `data` is the folder of the public data files; None means there is none, and the embedded
census stands in where that makes sense. `worked()` of each is the part that needs no table: the
paper's own examples.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.engines.memory import in_bytes
from sfumato.errors import InputError, did_you_mean

if TYPE_CHECKING:
    from sfumato.papers.evidence import Reproduction
    from sfumato.report.document import Document

PAPERS = {
    "skyline": "privacy with facts about the target, others and the family; speed, Adult",
    "realistic": "epsilon-privacy against realistic adversaries, all nodes of a lattice",
    "relative": "learner against attacker: generalized and bucketized releases of Adult",
    "composition": "two releases about the same people, intersected; and randomised ones",
    "leakage": "distribution and entropy leakage: examples, measures, releases of Adult",
}
ALL = "all"  # print beside ours of every paper, on one page
SMALLEST_STORED = 10_000_000  # people of the smallest table that is kept on disk


@dataclass(frozen=True)
class RunSettings:
    """How much is run: `quick` on less data or fewer settings, `long` also what takes minutes.

    `memory` is what a table of ten million people may take (Fig. 8 of the skyline paper), or of up
    to `people`; without it none of that size is run.
    """

    seed: int = 0
    quick: bool = False
    long: bool = False
    memory: str | None = None
    people: int = SMALLEST_STORED

    def __post_init__(self) -> None:
        if self.quick and (self.long or self.memory):
            raise InputError("quick is about less, long and memory about more; choose one")
        if self.memory is not None:
            in_bytes(self.memory)  # refused before anything runs
        if self.people < SMALLEST_STORED:
            raise InputError(
                f"people = {self.people:,}: smaller tables are always run; ask for "
                f"{SMALLEST_STORED:,} or more"
            )
        if self.people > SMALLEST_STORED and self.memory is None:
            raise InputError(f"{self.people:,} people need a memory, such as 2GB")


def check_paper(paper: str) -> None:
    """Refuse an unknown name."""
    if paper not in PAPERS and paper != ALL:
        raise InputError(
            f"{paper!r} is not a paper we reproduce; {did_you_mean(paper, [*PAPERS, ALL])}"
        )


def reproduce(
    paper: str,
    data: Path | None = None,
    *,
    seed: int = 0,
    quick: bool = False,
    long: bool = False,
    memory: str | None = None,
    people: int = SMALLEST_STORED,
) -> Document:
    """Run one paper's experiments, or gather the evidence of all of them."""
    from sfumato.papers.evidence import evidence_page

    check_paper(paper)
    if data is not None and not data.is_dir():
        raise InputError(f"{data} is no folder; give the one that holds adult/ and acs2019/")
    settings = RunSettings(seed, quick, long, memory, people)
    if paper == ALL:
        return evidence_page(run_paper(name, data, settings) for name in PAPERS)
    return run_paper(paper, data, settings).document


def run_paper(paper: str, data: Path | None, settings: RunSettings) -> Reproduction:
    reproduction: Reproduction = import_module(f"sfumato.papers.{paper}").run(data, settings)
    return reproduction
