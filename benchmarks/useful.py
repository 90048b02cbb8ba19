"""How useful the release of one policy is, by every anonymizer: Adult and the ACS excerpt.

    python benchmarks/useful.py [--data DIR] [--seconds 30] [--policies 0.2-close,beta] [--acs]

Adult: 30,162 people, eight quasi-identifiers (age to the year), occupation is sensitive, k = 5 with
one more criterion. ACS: 27,253 people, the income decile is sensitive. Printed for each policy and
anonymizer: loss (mean share of the domain a value was widened to), the median error of counting
queries, groups, seconds, and the ratio of its loss to that of deal.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path

import pyarrow.csv as pc

import sfumato as sf
from sfumato.anonymizers.base import Anonymizer, Task
from sfumato.criteria.base import Criterion
from sfumato.datasets.acs import acs
from sfumato.datasets.adult import QUASI, SENSITIVE, adult
from sfumato.errors import NoSafeRelease
from sfumato.utility.loss import Loss
from sfumato.utility.queries import QueryError
from sfumato.utility.view import view_of

SHARED = Path(__file__).parents[2] / "shared" / "data"
K = 5


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


def read_adult(folder: Path) -> sf.Table:
    file, schema = adult(folder)
    rows = pc.read_csv(file, parse_options=pc.ParseOptions(delimiter=";"))
    hierarchies = schema.hierarchies
    roles = sf.Schema(quasi=QUASI, sensitive=SENSITIVE, hierarchies=hierarchies, units={"age": 1})
    return sf.read(rows, roles)


def anonymizers(seconds: float) -> dict[str, Anonymizer]:
    return {
        f"deal, {seconds:g} s": sf.Deal(seconds=seconds),
        "deal, 3 s": sf.Deal(seconds=3),
        "mondrian, tight": sf.Mondrian(regions="tight"),
        "mondrian, cells": sf.Mondrian(),
        "lattice": sf.Lattice(),
    }


def compare(table: sf.Table, named: str, chosen: Sequence[str], seconds: float) -> None:
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
        best: float | None = None
        for how, anonymizer in anonymizers(seconds).items():
            start, spent = time.perf_counter(), time.process_time()
            try:
                release = anonymizer.run(Task(table, require, suppression=0.02))
            except NoSafeRelease:
                print(f"  {name:<12} {how:<18} no release")
                continue
            taken, busy = time.perf_counter() - start, time.process_time() - spent
            view = view_of(release)
            loss = Loss().cost(view)
            best = loss if best is None else best
            print(
                f"  {name:<12} {how:<18} loss {loss:.4f} ({loss / best:5.2f} x deal)  query error "
                f"{QueryError().cost(view):.3f}  {len(release.groups):6,} groups  {taken:6.1f} s "
                f"({busy:.1f} s of processors)",
                flush=True,
            )


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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=SHARED)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--policies", default="")
    parser.add_argument("--acs", action="store_true", help="the ACS excerpt too")
    given = parser.parse_args()
    chosen = [name for name in given.policies.split(",") if name]
    compare(read_adult(given.data), "Adult", chosen, given.seconds)
    if given.acs:
        compare(sf.read(*acs(given.data)), "ACS national", chosen, given.seconds)


if __name__ == "__main__":
    main()
