"""How useful the release of one policy is, by every anonymizer: Adult, ACS, a million people.

    python benchmarks/useful.py [--data DIR] [--tables adult,acs,million,drafted]
                                [--policies 0.2-close,k] [--peer PYTHON]

Adult: 30,162 people, eight quasi-identifiers (age to the year), occupation is sensitive, k = 5 with
one more criterion. ACS national: 27,253 people, eight quasi-identifiers, the income decile is
sensitive. A million people: Adult 33 times over, ages moved by up to two years, under 0.2-closeness
alone unless policies are named. Told for each policy: the loss (mean share of the domain a value
was widened to) that deal comes to within 30 and within 3 seconds, what the other anonymizers come
to, the median error of counting queries beside it, groups and seconds. The peer is anonypy's
Mondrian, where it has the criterion. Drafted: the policy that `init` drafts for ACS national
(twelve quasi-identifiers, six sensitive columns), by Mondrian, which drafts named before, and by
best. By its time limits it takes about eleven minutes; losses are those of two quiet cores.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
from results import figure, tell

import sfumato as sf
from sfumato.anonymizers.base import Anonymizer, Task
from sfumato.criteria.base import Criterion
from sfumato.datasets.public_files import ADULT_QUASI as QUASI
from sfumato.datasets.public_files import ADULT_SENSITIVE as SENSITIVE
from sfumato.datasets.public_files import acs, adult
from sfumato.errors import NoSafeRelease
from sfumato.utility.loss import Loss
from sfumato.utility.queries import QueryError
from sfumato.utility.view import view_of

SHARED = Path(__file__).parents[2] / "shared" / "data"
K = 5
ACS_QUASI = ("AGEP", "SEX", "MSP", "RAC1P", "HISP", "EDU", "OWN_RENT", "INDP_CAT")
ACS_SENSITIVE = "PINCP_DECILE"
SUPPRESSED = 0.02  # what the lattice may, which can hardly do without
TIMES = 33  # Adult so many times over is a million people
PEERS_CRITERION = {"k": "k", "0.2-close": "t=0.2", "0.4-close": "t=0.4"}
FULL, QUICK, LONG = 30, 3, 180  # seconds within which a release must be there
LOSSES: dict[str, dict[int, dict[str, float]]] = {  # at most, by table, seconds and policy
    "Adult": {
        FULL: {
            "0.2-close": 0.115,
            "0.4-close": 0.030,
            "entropy-6": 0.035,
            "epsilon-2.5": 0.17,
            "beta-1": 0.21,
            "k": 0.010,
        },
        QUICK: {
            "0.2-close": 0.25,
            "0.4-close": 0.06,
            "entropy-6": 0.06,
            "epsilon-2.5": 0.27,
            "beta-1": 0.32,
            "k": 0.012,
        },
    },
    "ACS national": {FULL: {"0.2-close": 0.14, "beta-1": 0.105}},
    "Adult 33 times": {LONG: {"0.2-close": 0.14}},
}
OF_THE_DRAFT = 1 / 3  # of Mondrian's loss


def policies(people: int) -> dict[str, tuple[Criterion, ...]]:
    her = sf.RealisticAdversary(shape="table", stubbornness=people)
    return {
        "0.2-close": (sf.TCloseness(0.2),),
        "0.4-close": (sf.TCloseness(0.4),),
        "entropy-6": (sf.EntropyDiversity(6),),
        "epsilon-2.5": (sf.EpsilonPrivacy(2.5, her),),
        "beta-1": (sf.BetaLikeness(1),),
        "k": (),
    }


def adult_people(folder: Path) -> tuple[pa.Table, sf.Schema]:
    file, schema = adult(folder)
    rows = pc.read_csv(file, parse_options=pc.ParseOptions(delimiter=";"))
    hierarchies = schema.hierarchies
    roles = sf.Schema(quasi=QUASI, sensitive=SENSITIVE, hierarchies=hierarchies, units={"age": 1})
    return rows, roles


def a_million_people(folder: Path) -> tuple[pa.Table, sf.Schema]:
    """Adult over and over, everybody moved by up to two years within the ages there are."""
    rows, roles = adult_people(folder)
    many = pa.concat_tables([rows] * TIMES)
    ages = many["age"].to_numpy()
    moved = ages + np.random.default_rng(7).integers(-2, 3, len(ages))
    moved = moved.clip(ages.min(), ages.max())
    return many.set_column(many.schema.get_field_index("age"), "age", pa.array(moved)), roles


def acs_people(folder: Path) -> tuple[pa.Table, sf.Schema]:
    file, schema = acs(folder)
    codes = (*ACS_QUASI[1:], ACS_SENSITIVE)
    types = {**dict.fromkeys(codes, pa.string()), "AGEP": pa.int64()}
    rows = pc.read_csv(
        file, convert_options=pc.ConvertOptions(column_types=types, include_columns=list(types))
    )
    known = {name: levels for name, levels in schema.hierarchies.items() if name in ACS_QUASI}
    roles = sf.Schema(
        quasi=ACS_QUASI,
        sensitive=ACS_SENSITIVE,
        hierarchies=known,
        domains=dict.fromkeys(codes, "categorical"),
        units={"AGEP": 1},
    )
    return rows, roles


OTHERS: dict[str, Anonymizer] = {
    "mondrian, tight": sf.Mondrian(regions="tight"),
    "mondrian, cells": sf.Mondrian(),
    "lattice": sf.Lattice(),
}


@dataclass(frozen=True)
class Measured:
    """What a release of a policy came to."""

    loss: float
    error: float
    groups: int
    seconds: float

    @classmethod
    def of(
        cls, anonymizer: Anonymizer, table: sf.Table, require: tuple[Criterion, ...]
    ) -> Measured:
        """NoSafeRelease where there is none."""
        allowed = SUPPRESSED if isinstance(anonymizer, sf.Lattice) else 0.0
        start = time.perf_counter()
        release = anonymizer.run(Task(table, require, suppression=allowed))
        taken, view = time.perf_counter() - start, view_of(release)
        return cls(Loss().cost(view), QueryError().cost(view), len(release.groups), taken)

    @property
    def words(self) -> str:
        return (
            f"{figure(self.loss)} (query error {figure(self.error)}, {self.groups:,} groups, "
            f"{self.seconds:.1f} s)"
        )


def compare(
    named: str,
    people_of: tuple[pa.Table, sf.Schema],
    chosen: Sequence[str],
    limits: Sequence[int],
    others: dict[str, Anonymizer],
    peer: str | None = None,
) -> None:
    """Tell of each policy what deal comes to within these seconds, beside all others."""
    table = sf.read(*people_of)
    print(f"{named}: {table.people:,} people, {len(table.counts.quasi)} quasi-identifiers, k = {K}")
    # The kernels' first call compiles them, or reads them back: not part of any figure.
    start = time.perf_counter()
    sf.Deal(sweeps=1).run(Task(read_part(table), (sf.KAnonymity(2),)))
    print(f"  first call of deal in this process {time.perf_counter() - start:.1f} s")
    longest = dict.fromkeys(limits, 0.0)
    for name, more in policies(table.people).items():
        if chosen and name not in chosen:
            continue
        require = (sf.KAnonymity(K), *more)
        beside = dict[str, Measured]()
        for how, anonymizer in others.items():
            try:
                beside[how] = Measured.of(anonymizer, table, require)
            except NoSafeRelease:
                continue
        told = "; ".join(f"{how} {one.words}" for how, one in beside.items())
        for limit in limits:
            dealt = Measured.of(sf.Deal(seconds=0.96 * limit), table, require)
            longest[limit] = max(longest[limit], dealt.seconds)
            goal = LOSSES[named].get(limit, {}).get(name)
            work = f"{named}, {name}, deal within {limit} s"
            why = f"{dealt.words}; {told}" if limit == limits[0] else dealt.words
            tell(work, dealt.loss, at_most=goal, unit="loss", why=why)
            if limit == limits[0]:
                _tell_beside(f"{named}, {name}", dealt, beside, people_of, peer, name)
    for limit, seconds in longest.items():
        tell(f"{named}, the longest of these within {limit} s", seconds, at_most=limit)


def _tell_beside(
    work: str,
    dealt: Measured,
    beside: dict[str, Measured],
    people_of: tuple[pa.Table, sf.Schema],
    peer: str | None,
    policy: str,
) -> None:
    """Query errors fall with the loss, and what a peer reaches."""
    if cut := beside.get("mondrian, tight"):
        tell(
            f"{work}, query error",
            dealt.error,
            other=cut.error,
            against="mondrian, tight",
            at_most=1,
            unit="error",
            why=f"with {figure(dealt.loss / cut.loss)} of its loss",
        )
    if peer and policy in PEERS_CRITERION:
        loss, groups, taken = ask_peer(peer, *people_of, PEERS_CRITERION[policy])
        tell(
            f"{work}, anonypy",
            dealt.loss,
            other=loss,
            against="anonypy",
            at_most=1,
            unit="loss",
            why=f"{groups:,} groups, {taken:.1f} s there",
        )


def ask_peer(
    python: str, rows: pa.Table, roles: sf.Schema, criterion: str
) -> tuple[float, int, float]:
    """Loss, groups and seconds of anonypy's Mondrian on the same rows."""
    script = Path(__file__).parent / "peers" / "anonypy_loss.py"
    with tempfile.TemporaryDirectory() as temporary:
        path = Path(temporary) / "rows.parquet"
        pq.write_table(rows, path)
        out = subprocess.run(
            [python, str(script), str(path), str(K), criterion, *roles.sensitive, *roles.quasi],
            capture_output=True,
            text=True,
            check=True,
        ).stdout.split()
    return float(out[0]), int(out[1]), float(out[2])


def read_part(table: sf.Table) -> sf.Table:
    """Few rows of a table of the same kinds of columns."""
    import pyarrow as pa

    rows = {domain.name: list(domain.values[:2]) * 4 for domain in table.counts.quasi}
    sensitive = table.counts.sensitive[0].domain
    rows[sensitive.name] = [value for value in sensitive.values[:2] for _ in range(4)]
    roles = sf.Schema(
        quasi=[domain.name for domain in table.counts.quasi], sensitive=sensitive.name
    )
    return sf.read(pa.table(rows), roles)


TABLES = {
    "adult": ("Adult", adult_people),
    "acs": ("ACS national", acs_people),
    "million": ("Adult 33 times", a_million_people),
}


def compare_drafted(folder: Path) -> None:
    """What best leaves of the data under a draft as it stands."""
    file = folder / "acs2019" / "national.csv"
    policy = sf.draft_policy(file).policy
    table, require = sf.read(file, policy), tuple(policy.require)
    cut, best = (Measured.of(how, table, require) for how in (sf.Mondrian(), sf.Best(seconds=FULL)))
    tell(
        "ACS national, as init drafts it, by best",
        best.loss,
        other=cut.loss,
        against="mondrian",
        at_most=OF_THE_DRAFT,
        unit="loss",
        why=f"{best.words}; mondrian {cut.words}",
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("SFUMATO_DATA", SHARED)))
    parser.add_argument("--tables", default=",".join([*TABLES, "drafted"]))
    parser.add_argument("--policies", default="")
    parser.add_argument("--peer", help="a Python that has anonypy")
    given = parser.parse_args()
    chosen = [name for name in given.policies.split(",") if name]
    for table in given.tables.split(","):
        if table == "drafted":
            compare_drafted(given.data)
            continue
        named, people_of = TABLES[table]
        if table == "million":
            others = {"mondrian, tight": OTHERS["mondrian, tight"]}
            compare(named, people_of(given.data), chosen or ["0.2-close"], [LONG], others)
        else:
            limits = [FULL, QUICK] if table == "adult" else [FULL]
            compare(named, people_of(given.data), chosen, limits, OTHERS, given.peer)


if __name__ == "__main__":
    main()
