"""`make attack`: every family in its long form, and the table of what was tried."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from tests.attack.families import FAMILIES


def main() -> int:
    tallies = {}
    for name, family in FAMILIES.items():
        with tempfile.TemporaryDirectory() as folder:
            tallies[name] = family(Path(folder), 1)
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
