"""What was released before, from wherever it is kept: a ledger, release folders, or at hand."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from sfumato.errors import InputError, quoted
from sfumato.ledger.ledger import Ledger
from sfumato.release.read import read_release
from sfumato.release.release import Release
from sfumato.schema.roles import Schema

Source = Ledger | Release | str | Path


class Earlier:
    """Earlier releases, read when first needed.

    Two are equal if they are kept in the same places, or are the very same releases.
    """

    def __init__(self, given: object, schema: Schema | None = None) -> None:
        """`given`: a Ledger, a Release, the path of a ledger or of a release folder, or several.

        `schema` adds hierarchies to the labels of release folders.
        """
        if isinstance(given, Sequence) and not isinstance(given, str):
            self._sources: tuple[Any, ...] = tuple(given)
        else:
            self._sources = (given,)
        self._schema = schema
        if not self._sources:
            raise InputError("there is no earlier release; name a ledger or release folders")
        for source in self._sources:
            if isinstance(source, str | Path):
                if not Path(source).exists():
                    raise InputError(f"{source} does not exist; name a ledger or a release folder")
            elif not isinstance(source, Ledger | Release):
                raise InputError(f"{quoted(source)} is no ledger, release or path of one")

    @property
    def places(self) -> tuple[str, ...] | None:
        """Where they are kept, as full paths; None if some are only at hand."""
        if any(isinstance(source, Release) for source in self._sources):
            return None
        return tuple(
            str(Path(source.path if isinstance(source, Ledger) else source).resolve())
            for source in self._sources
        )

    @cached_property
    def releases(self) -> tuple[Release, ...]:
        return tuple(release for source in self._sources for release in self._read(source))

    def _read(self, source: Any) -> tuple[Release, ...]:
        if isinstance(source, Release):
            return (source,)
        if isinstance(source, Ledger):
            return source.releases()
        if Path(source).is_dir():
            return (read_release(source, self._schema),)
        return Ledger(source).releases()

    def _same(self) -> tuple[Any, ...]:
        return self.places or tuple(id(source) for source in self._sources)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Earlier) and self._same() == other._same()

    def __hash__(self) -> int:
        return hash(self._same())

    def __repr__(self) -> str:
        return f"Earlier({', '.join(self.places or [f'{len(self._sources)} releases'])})"
