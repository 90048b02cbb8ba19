"""`make attack`: every family in its long form, or those named, and the table of what was tried."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from tests.attack.families import FAMILIES

# Every how many tries are made of families that would take many minutes whole.
EVERY = {
    "hostile policies": 2,
    "hostile and damaged data files": 2,
    "releases judged again by counting": 3,
}


def main() -> int:
    tallies = {}
    chosen = [name for name in FAMILIES if not sys.argv[1:] or name in sys.argv[1:]]
    for name in chosen:
        family = FAMILIES[name]
        with tempfile.TemporaryDirectory() as folder:
            tallies[name] = family(Path(folder), EVERY.get(name, 1))
        print(f"{name}: {tallies[name].tries:,} tries", file=sys.stderr)
        for fault in tallies[name].wrong:
            print(f"  wrong: {fault}", file=sys.stderr)
    print("| what was tried | tries | refused in one line | answered | went wrong |")
    print("|---|---|---|---|---|")
    for name, tally in tallies.items():
        answered = tally.tries - tally.refused
        row = (tally.tries, tally.refused, answered, len(tally.wrong))
        print(f"| {name} | {' | '.join(f'{figure:,}' for figure in row)} |")
    print(f"\n{sum(tally.tries for tally in tallies.values()):,} tries in all.")
    return any(tally.wrong for tally in tallies.values())


if __name__ == "__main__":
    sys.exit(main())
