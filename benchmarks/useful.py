"""How useful the release of one policy is, by every anonymizer: Adult, ACS, a million people.

    python benchmarks/useful.py [--data DIR] [--tables adult,acs,million,drafted]
                                [--policies 0.2-close,k] [--seconds 30] [--peer PYTHON]

Adult: 30,162 people, eight quasi-identifiers (age to the year), occupation is sensitive, k = 5 with
one more criterion. ACS national: 27,253 people, eight quasi-identifiers, the income decile is
sensitive. A million people: Adult 33 times over, ages moved by up to two years, under 0.2-closeness
alone unless policies are named. Printed for each policy and anonymizer: loss (mean share of the
domain a value was widened to), the median error of counting queries, groups, seconds, and the ratio
of its loss to that of deal. The peer is anonypy's Mondrian, where it has the criterion. Drafted:
the policy that `init` drafts for ACS national (twelve quasi-identifiers, six sensitive columns), by
Mondrian, which drafts named before, and by best.
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq

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


def anonymizers(seconds: float) -> dict[str, Anonymizer]:
    return {
        f"deal, {seconds:g} s": sf.Deal(seconds=seconds),
        "deal, 3 s": sf.Deal(seconds=3),
        "mondrian, tight": sf.Mondrian(regions="tight"),
        "mondrian, cells": sf.Mondrian(),
        "lattice": sf.Lattice(),
    }


def compare(
    named: str,
    people_of: tuple[pa.Table, sf.Schema],
    chosen: Sequence[str],
    ways: dict[str, Anonymizer],
    peer: str | None = None,
) -> None:
    """Print a line for each policy and way; the first way is what the others are compared with."""
    table = sf.read(*people_of)
    people = table.people
    print(f"{named}: {people:,} people, {len(table.counts.quasi)} quasi-identifiers, k = {K}")
    # The kernels' first call compiles them, or reads them back: not part of any figure.
    start = time.perf_counter()
    sf.Deal(sweeps=1).run(Task(read_part(table), (sf.KAnonymity(2),)))
    print(f"  first call of deal in this process {time.perf_counter() - start:.1f} s")
    for name, more in policies(people).items():
        if chosen and name not in chosen:
            continue
        require = (sf.KAnonymity(K), *more)
        least: float | None = None
        for how, anonymizer in ways.items():
            start, spent = time.perf_counter(), time.process_time()
            try:
                allowed = SUPPRESSED if isinstance(anonymizer, sf.Lattice) else 0.0
                release = anonymizer.run(Task(table, require, suppression=allowed))
            except NoSafeRelease:
                print(f"  {name:<12} {how:<18} no release")
                continue
            taken, busy = time.perf_counter() - start, time.process_time() - spent
            view = view_of(release)
            loss = Loss().cost(view)
            least = loss if least is None else least
            print(
                f"  {name:<12} {how:<18} loss {loss:.4f} ({loss / least:5.2f} x deal)  query error "
                f"{QueryError().cost(view):.3f}  {len(release.groups):6,} groups  {taken:6.1f} s "
                f"({busy:.1f} s of processors)",
                flush=True,
            )
        if peer and name in PEERS_CRITERION and least is not None:
            loss, groups, taken = ask_peer(peer, *people_of, PEERS_CRITERION[name])
            print(
                f"  {name:<12} {'anonypy':<18} loss {loss:.4f} ({loss / least:5.2f} x deal)  "
                f"{groups:,} groups  {taken:.1f} s",
                flush=True,
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


def compare_drafted(folder: Path, seconds: float) -> None:
    """What best leaves of the data under a draft as it stands."""
    file = folder / "acs2019" / "national.csv"
    policy = sf.draft_policy(file).policy
    table = sf.read(file, policy)
    print(f"The drafted policy of ACS national: {table.people:,} people")
    for how, anonymizer in (("mondrian", sf.Mondrian()), ("best", sf.Best(seconds=seconds))):
        start = time.perf_counter()
        release = anonymizer.run(Task(table, tuple(policy.require)))
        taken, view = time.perf_counter() - start, view_of(release)
        print(
            f"  {how:<10} loss {Loss().cost(view):.4f}  query error {QueryError().cost(view):.3f}  "
            f"{len(release.groups):6,} groups  {taken:6.1f} s",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=SHARED)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--tables", default=",".join([*TABLES, "drafted"]))
    parser.add_argument("--policies", default="")
    parser.add_argument("--peer", help="a Python that has anonypy")
    given = parser.parse_args()
    chosen = [name for name in given.policies.split(",") if name]
    for table in given.tables.split(","):
        if table == "drafted":
            compare_drafted(given.data, given.seconds)
            continue
        named, people_of = TABLES[table]
        if table == "million":
            ways = {
                "deal, 160 s": sf.Deal(seconds=160),
                "mondrian, tight": sf.Mondrian(regions="tight"),
            }
            compare(named, people_of(given.data), chosen or ["0.2-close"], ways)
        else:
            compare(named, people_of(given.data), chosen, anonymizers(given.seconds), given.peer)


if __name__ == "__main__":
    main()
