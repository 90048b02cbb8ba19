"""A small project on disk, and a worker that works here: most of the workbench needs no process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from sfumato.web.bench import Bench
from sfumato.web.desk import Desk
from sfumato.web.folder import Folder
from sfumato.web.project import FOLDER, Project

POLICY = """# what was agreed
utility = "loss"  # of detail

[schema]
quasi = ["age", "zip", "sex"]
sensitive = ["disease"]

[schema.hierarchies]
age = { kind = "intervals", widths = [10, 20, 40] }
zip = { kind = "mask" }
sex = { kind = "suppression" }

[anonymizer]
kind = "lattice"

# the usual
[[require]]
kind = "k-anonymity"
k = 3  # people
"""


def write_people(path: Path, rows: int = 60, **names: str) -> None:
    """A table of so many people; a column or a value may have another name."""
    rng = np.random.default_rng(3)
    say = {name: names.get(name, name) for name in ("age", "zip", "sex", "disease", "flu")}
    columns = {
        say["age"]: rng.integers(20, 60, rows).astype(str),
        say["zip"]: rng.choice(["10115", "10117", "20095"], rows),
        say["sex"]: rng.choice(["F", "M"], rows),
        say["disease"]: rng.choice([say["flu"], "HIV", "none"], rows),
    }
    lines = [",".join(f'"{name}"' for name in columns)]
    lines += [",".join(f'"{cell}"' for cell in row) for row in zip(*columns.values(), strict=True)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def bench_of_project(folder: Path, project: Project) -> Bench:
    """A workbench on a project, its workers in this process."""
    here = Here(folder, project)
    return Bench(Folder(folder, project.folder), project, here, here)  # type: ignore[arg-type]


def small_project(folder: Path, policy: str = POLICY, **names: str) -> Project:
    """A project about such a table."""
    write_people(folder / "people.csv", **names)
    project = Project.open(folder / FOLDER)
    project.choose_data("people.csv", {}, project.state().revision)
    project.save_policy(policy, project.state().revision)
    return project


class Here:
    """In the place of a worker: tasks are done at once, in this process."""

    process_id = 1
    progress = None

    def __init__(self, folder: Path, project: Project) -> None:
        self.desk = Desk(folder, project.folder)
        self.cancelled = 0

    async def ask(self, task: Any, *arguments: Any, **named: Any) -> Any:
        from sfumato.errors import SfumatoError
        from sfumato.web.worker import TaskFailed

        try:
            return task(self.desk, *arguments, **named)
        except SfumatoError as error:
            raise TaskFailed(str(error), type(error).__name__) from None

    def cancel(self) -> None:
        self.cancelled += 1

    def close(self) -> None: ...
