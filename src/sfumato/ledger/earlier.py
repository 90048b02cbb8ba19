"""What was released before, from wherever it is kept: a ledger, release folders, or at hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from sfumato.errors import InputError, name_some, other_than_file, quoted
from sfumato.ledger.content import unpack
from sfumato.ledger.ledger import Ledger
from sfumato.release.read.read_release import read_release
from sfumato.release.release import Release
from sfumato.schema.roles import Schema
from sfumato.table import FileStamp, real_path

PACKED = ".release"  # a file of what one release publishes, as a ledger keeps it


@dataclass(frozen=True)
class SomeOfLedger:
    """Some releases of a ledger, as they were: by name, and what they hold all together."""

    path: Path
    names: tuple[str, ...]
    sha256: str | None = None

    @classmethod
    def now(cls, path: Path) -> SomeOfLedger:
        """Those a ledger has now."""
        names = tuple(entry.name for entry in Ledger(path).list())
        return cls(path, names, Ledger(path).fingerprint(names))

    def check(self) -> None:
        """Refuse a ledger that no longer has them, or has others under their names."""
        missing = set(self.names) - {entry.name for entry in Ledger(self.path).list()}
        if missing:
            raise InputError(f"{self.path.name} has no release {name_some(sorted(missing))}")
        if self.sha256 is not None and Ledger(self.path).fingerprint(self.names) != self.sha256:
            raise InputError(
                f"{self.path.name}: its releases {name_some(self.names)} are not those the policy "
                "was saved with, their sha256 differs; restore it, or take releases and sha256 out "
                "of the policy"
            )

    def releases(self) -> tuple[Release, ...]:
        self.check()
        return tuple(
            release for release in Ledger(self.path).releases() if release.label in self.names
        )


EarlierSource = Ledger | Release | SomeOfLedger | str | Path


class Earlier:
    """Earlier releases, read when first needed.

    Two are equal if they are kept in the same places, or are the very same releases.
    """

    def __init__(self, given: object, schema: Schema | None = None) -> None:
        """`given`: a Ledger, a Release, the path of a ledger or of a release folder, or several.

        `schema` adds hierarchies to the labels of release folders.
        """
        if isinstance(given, Sequence) and not isinstance(given, str):
            self.sources: tuple[Any, ...] = tuple(given)
        else:
            self.sources = (given,)
        self._schema = schema
        self._read: dict[int, tuple[Release, ...]] = {}
        self._ledgers: dict[int, SomeOfLedger] = {}
        if not self.sources:
            raise InputError("there is no earlier release; name a ledger or release folders")
        for source in self.sources:
            if isinstance(source, str | Path):
                if not real_path(source).exists():
                    raise InputError(f"{source} does not exist; name a ledger or a release folder")
                if problem := other_than_file(source):
                    raise InputError(f"{source} {problem}")
            elif not isinstance(source, Ledger | Release | SomeOfLedger):
                raise InputError(f"{quoted(source)} is no ledger, release or path of one")

    @cached_property
    def releases(self) -> tuple[Release, ...]:
        return tuple(release for source in self.sources for release in self.read(source))

    def read(self, source: EarlierSource) -> tuple[Release, ...]:
        """The releases of one of the sources, as they were when they were first read."""
        if id(source) not in self._read:
            self._read[id(source)] = self._now(source)
        return self._read[id(source)]

    def was_read(self, source: object) -> bool:
        """Whether what a source held is known, whatever it holds by now."""
        return id(source) in self._read

    def of_ledger(self, source: EarlierSource) -> SomeOfLedger | None:
        """Which releases of a ledger were read; None where the source is none."""
        self.read(source)
        return self._ledgers.get(id(source))

    def _now(self, source: Any) -> tuple[Release, ...]:
        if isinstance(source, Release):
            return (source,)
        if isinstance(source, SomeOfLedger):
            return source.releases()
        path = source.path if isinstance(source, Ledger) else Path(source)
        if path.is_dir():
            return (read_release(path, self._schema),)
        if path.suffix == PACKED:
            stamp = FileStamp.of(path)
            return (unpack(path.read_bytes(), path.stem, stamp),)
        self._ledgers[id(source)] = SomeOfLedger.now(path)
        return self._ledgers[id(source)].releases()

    @property
    def _identity(self) -> tuple[Any, ...]:
        return tuple(_place(source) for source in self.sources)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Earlier) and self._identity == other._identity

    def __hash__(self) -> int:
        return hash(self._identity)

    def __repr__(self) -> str:
        at_hand = [f"{source.label!r}" for source in self.sources if isinstance(source, Release)]
        places = [str(_place(source)) for source in self.sources if not isinstance(source, Release)]
        return f"Earlier({', '.join([*places, *at_hand])})"


def _place(source: Any) -> Any:
    """Where a source is kept; of a release at hand, which it is."""
    if isinstance(source, SomeOfLedger):
        return real_path(source.path), source.names
    if isinstance(source, Release):
        return id(source) if source.file is None else source.file.path
    return real_path(source.path if isinstance(source, Ledger) else source)
