"""How soon the workbench answers a slider: the verdicts of five group criteria, on Adult.

What the step Policy does between a request and its answer, in this process: the text is changed,
read as a policy, and each criterion judges the groups of the table as it stands, or of a release.
Prints milliseconds; run it on a quiet machine: `python benchmarks/live_verdict.py`.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path

from sfumato.datasets.public_files import adult
from sfumato.web.desk import Desk
from sfumato.web.live_policy import view_policy
from sfumato.web.policy_view import TABLE
from sfumato.web.project import FOLDER, Project
from sfumato.web.tried import make_release

POLICY = """
[read]
delimiter = ";"

[schema]
quasi = ["sex", "age", "race", "marital-status", "education", "native-country", "workclass"]
sensitive = ["occupation", "salary-class"]

[schema.hierarchies]
age = { kind = "intervals", widths = [5, 10, 20, 40] }

[anonymizer]
kind = "mondrian"

[[require]]
kind = "k-anonymity"
k = 5

[[require]]
kind = "t-closeness"
t = 0.4
sensitive = "occupation"

[[require]]
kind = "entropy-diversity"
l = 2
sensitive = "occupation"

[[require]]
kind = "epsilon-privacy"
epsilon = 5
sensitive = "salary-class"
adversary = { shape = "table", stubbornness = 1e6 }

[[require]]
kind = "entropy-leakage"
alpha = 1
sensitive = "occupation"
"""


def main() -> None:
    data, _ = adult()
    with tempfile.TemporaryDirectory() as home:
        folder = Path(home)
        (folder / "adult.csv").write_bytes(data.read_bytes())
        project = Project.open(folder / FOLDER)
        project.choose_data("adult.csv", {}, project.state().revision)
        project.save_policy(POLICY, project.state().revision)
        desk = Desk(folder, project.folder)
        print(f"{desk.table().people:,} people")
        project.keep_point(1, make_release(desk, point=1, seed=1))
        for point, name in ((TABLE, "the table as it stands"), (1, "a release by mondrian")):
            first, *later = (answer(desk, point, k) for k in range(2, 23))
            print(
                f"{name}: first {first:.0f} ms, then {statistics.median(later):.0f} ms "
                f"(at most {max(later):.0f})"
            )
        project.close()


def answer(desk: Desk, point: int, k: int) -> float:
    """Milliseconds from a slider to its answer."""
    fields = {"require.0.kind": "k-anonymity", "require.0.k": str(k)}
    begun = time.perf_counter()
    view = view_policy(desk, text=POLICY, fields=fields, point=point)
    taken = 1000 * (time.perf_counter() - begun)
    assert not view.error, view.error
    return taken


if __name__ == "__main__":
    main()
