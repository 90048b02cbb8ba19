"""anonypyx's intersection attack on two releases; prints seconds, then each target's values."""

import json
import sys
import time
from pathlib import Path

import pandas as pd
from anonypyx.attackers import IntersectionAttacker
from anonypyx.generalisation import MachineReadable

spec = json.loads(Path(sys.argv[1]).read_text())
releases = [pd.read_parquet(path) for path in spec["releases"]]
targets = pd.read_parquet(spec["targets"])
schema = MachineReadable(
    spec["one_hot_sets"],
    {name: tuple(ends) for name, ends in spec["intervals"].items()},
    [spec["sensitive"]],
)
quasi = [*spec["intervals"], *spec["one_hot_sets"]]
start = time.perf_counter()
attacker = IntersectionAttacker(targets, quasi, spec["sensitive"], schema)
present = list(range(len(targets)))
for release in releases:
    attacker.observe(release, [*quasi, spec["sensitive"]], present)
attacker.finalise()
found = [sorted(attacker.predict(target, spec["sensitive"])) for target in present]
print(time.perf_counter() - start)
print(json.dumps(found))
