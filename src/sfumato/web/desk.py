"""What a worker has open: the project's table, policy and releases, each read once.

Lives in the worker's process. Whatever is read is kept until its file is another one; what tasks
find is kept if they ask for it, the latest few.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, cast

from sfumato.errors import InputError
from sfumato.web.folder import Folder
from sfumato.web.project import ProjectFiles, ProjectState

if TYPE_CHECKING:
    from sfumato.engines.reading import Reading
    from sfumato.policy.model import Policy
    from sfumato.release.release import Release
    from sfumato.table import Table

Result = TypeVar("Result")
_KEPT = 24  # results that tasks asked to keep


class Desk:
    """A project's files, read as the shell's commands read them."""

    def __init__(self, folder: Path, project: Path, memory: str | None = None) -> None:
        self.project = ProjectFiles(project)
        self.folder = Folder(folder, project)
        self.memory = memory
        self._read: dict[str, tuple[Hashable, object]] = {}
        self._results: OrderedDict[Hashable, object] = OrderedDict()

    def state(self) -> ProjectState:
        """What the project says now."""
        return self.project.state()

    def data(self, point: int | None = None) -> Path:
        """The file that was chosen, or that a release was made of."""
        chosen, _ = self.project.data_of(point)
        if chosen is None:
            raise InputError("no data yet; choose a file at the step Data")
        return self.folder.resolve(chosen)

    def reading(self, point: int | None = None) -> Reading:
        """How that file is read, as far as that was said on the page or at the start."""
        from sfumato.engines.reading import Reading, options_about

        known = {option.name for option in options_about("file")}
        fields = {
            name: value for name, value in self.project.data_of(point)[1].items() if name in known
        }
        reading = Reading(**fields)  # type: ignore[arg-type]  # of these fields
        return reading if self.memory is None else replace(reading, memory=self.memory)

    def policy(self) -> Policy:
        """The project's policy."""
        return self._policy_at(self.project.policy_file, "the policy")

    def policy_of(self, point: int) -> Policy:
        """The policy that a release was made by, which may be older than the project's."""
        return self._policy_at(
            self.project.release_folder(point) / "private" / "policy.toml",
            f"the policy of release {point}",
        )

    def _policy_at(self, path: Path, name: str) -> Policy:
        from sfumato.policy.model import Policy

        if not path.is_file():
            raise InputError(f"{name} is not there yet; choose roles at the step Data")
        return self.once(f"policy {path}", identity(path), lambda: Policy.load(path))

    def table(self) -> Table:
        """The chosen file as the policy's table: `read_table` of the command line."""
        from sfumato.table import load_table

        path, rules = self.data(), self.policy()
        if rules.schema is None:
            raise InputError("the policy has no [schema]; choose roles at the step Data")
        schema, reading = rules.schema, self.reading().over(rules.read)
        key = (identity(path), repr(schema), repr(reading))
        return self.once("table", key, lambda: load_table(path, schema, reading))

    def release(self, point: int) -> Release:
        """A release of this project, read back with its evidence as `sfumato audit` does."""
        from sfumato.counts.leaves import leaves_as_stated
        from sfumato.release.read.read_release import load_release

        folder = self.project.release_folder(point)
        if not folder.is_dir():
            raise InputError(f"there is no release {point}; it may have been deleted")
        rules = self.policy_of(point)
        reading = rules.reading_of([folder], self.reading().about("engine"))
        schema = rules.schema and leaves_as_stated(rules.schema, rules.read.stated_forms)
        return self.once(
            f"release {point}",
            (identity(folder), repr(reading)),
            lambda: load_release(folder, schema, reading),
        )

    def remember(self, key: Hashable, make: Callable[[], Result]) -> Result:
        """What was found before under this key, else what `make` finds now.

        The key must name all it depends on: `identity` of files, numbers of points, settings.
        """
        if key in self._results:
            self._results.move_to_end(key)
        else:
            self._results[key] = make()
            while len(self._results) > _KEPT:
                self._results.popitem(last=False)
        return cast("Result", self._results[key])

    def once(self, name: str, key: Hashable, read: Callable[[], Result]) -> Result:
        """What was read before under this name, if it has the same key; one of each is kept."""
        kept = self._read.get(name)
        if kept is None or kept[0] != key:
            self._read.pop(name, None)  # before the new one is read: both need not fit
            kept = key, read()
            self._read[name] = kept
        return cast("Result", kept[1])


def identity(path: Path) -> Hashable:
    """Which file a name stands for, and of what moment."""
    status = path.stat()
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns
