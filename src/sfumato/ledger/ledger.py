"""`sf.Ledger`: every release that went out, so that the next one can be judged together with them.

Private. It holds what an attacker who collected all releases would hold, no more: enough to attack
a new release with them, and a place where the promises of randomised releases add up.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.errors import InputError, did_you_mean, quoted
from sfumato.ledger.check import Spent, add_up
from sfumato.ledger.content import pack, unpack
from sfumato.ledger.store import Row, change_rows, read_rows
from sfumato.release.guarantee import Guarantee
from sfumato.release.release import Release
from sfumato.table.load import Table

if TYPE_CHECKING:
    from sfumato.adversaries.composition.exposure import Counting
    from sfumato.ledger.check import Check

EVERYBODY = "everybody"
_PLAIN = ("name", "population", "added", "scheme", "people", "groups", "suppressed")


@dataclass(frozen=True)
class Entry:
    """One release of the ledger, without its content."""

    name: str
    population: str
    added: str
    scheme: str
    people: int
    groups: int
    suppressed: int
    quasi: tuple[str, ...]
    sensitive: tuple[str, ...]
    guarantee: Guarantee | None = None

    def to_dict(self) -> dict[str, Any]:
        """The entry for JSON."""
        told = None if self.guarantee is None else self.guarantee.public()
        return {**self.__dict__, "guarantee": told}


@dataclass(frozen=True)
class Ledger:
    """The releases published so far, in a private file."""

    path: Path

    def __init__(self, path: str | Path) -> None:
        object.__setattr__(self, "path", Path(path))

    def add(
        self,
        release: Release,
        name: str,
        about: str = EVERYBODY,
        guarantee: Guarantee | None = None,
    ) -> Entry:
        """Keep a release under a name of its own.

        `about` names the people it is about; promises add up over releases of the same.
        `guarantee` is what a randomised release promises, if it does not say so itself.
        """
        for what, given in (("name", name), ("about", about)):
            if not isinstance(given, str) or not given.strip():
                raise InputError(f"{what} = {quoted(given)} is not allowed; give it a name")
        release.refuse_wildcards()
        promised = release.guarantee if guarantee is None else guarantee
        if release.regions.noisy and promised is None:
            raise InputError(
                f"{release.label} is randomised but promises nothing; give its guarantee"
            )
        if not release.regions.noisy and promised is not None:
            raise InputError(
                f"{release.label} is {release.scheme}; only a randomised release has a guarantee"
            )
        content = pack(replace(release, guarantee=promised))
        entry = Entry(
            name.strip(),
            about.strip(),
            datetime.now(UTC).isoformat(timespec="seconds"),
            release.scheme,
            release.people,
            len(release.groups),
            release.suppressed,
            tuple(release.regions.columns),
            tuple(release.schema.sensitive),
            promised,
        )
        row = (
            *(getattr(entry, column) for column in _PLAIN),
            json.dumps(entry.quasi),
            json.dumps(entry.sensitive),
            None if promised is None else json.dumps(promised.public()),
            content,
        )
        try:
            change_rows(self.path, lambda rows: [*self._refuse_same(rows, row), row])
        except sqlite3.IntegrityError:
            raise InputError(
                f"{self.path} already has a release named {entry.name!r}; choose another name"
            ) from None
        return entry

    def _refuse_same(self, rows: Sequence[Row], new: Row) -> Sequence[Row]:
        """What went out once is not given away twice."""
        for row in rows:
            if (row[1], row[-1]) == (new[1], new[-1]) and row[0] != new[0]:
                raise InputError(
                    f"{self.path} already has this very release, as {row[0]!r}; nothing is added"
                )
        return rows

    def remove(self, name: str) -> Entry:
        """Forget a release that was added by mistake; what really went out belongs in here."""
        found = {entry.name: entry for entry, _ in self._rows()}
        if name not in found:
            raise InputError(
                f"{self.path} has no release named {quoted(name)}; {did_you_mean(name, found)}"
            )
        change_rows(self.path, lambda rows: [row for row in rows if row[0] != name])
        return found[name]

    def list(self, about: str | None = None) -> tuple[Entry, ...]:
        """The releases in the order they were added; of one population, if it is named."""
        entries = tuple(entry for entry, _ in self._rows())
        chosen = tuple(one for one in entries if about in (None, one.population))
        if about is not None and not chosen:
            names = ", ".join(sorted({repr(one.population) for one in entries})) or "none"
            raise InputError(f"{self.path} has no release about {about!r}; populations: {names}")
        return chosen

    def releases(self, about: str | None = None) -> tuple[Release, ...]:
        """The releases themselves, as an attacker holds them, labelled with their names."""
        chosen = {entry.name for entry in self.list(about)}
        return tuple(
            unpack(content, entry.name) for entry, content in self._rows() if entry.name in chosen
        )

    def fingerprint(self, names: Sequence[str]) -> str:
        """The SHA-256 of what these releases hold, to tell later whether they are the same."""
        held = {entry.name: content for entry, content in self._rows()}
        told = [f"{name} {sha256(held[name]).hexdigest()}" for name in names if name in held]
        return sha256("\n".join(told).encode()).hexdigest()

    def spent(self, about: str | None = None, new: Release | None = None) -> tuple[Spent, ...]:
        """What the promises of randomised releases add up to, by population or of one of them.

        `new` counts as if it were added, about that population.
        """
        promised = [(entry.population, entry.guarantee) for entry in self.list(about)]
        if new is not None:
            promised.append((about or EVERYBODY, new.guarantee))
        return add_up(promised)

    def check(
        self,
        new: Release,
        targets: object = None,
        *,
        population: Table | None = None,
        about: str | None = None,
        share: float = 0.0,
        confidence: float = 1.0,
        sensitive: str | None = None,
        counting: Counting = "all",
    ) -> Check:
        """What a new release adds up to with those of the ledger.

        It holds if at most a `share` of people have their value known with this confidence or
        more. The people are `targets` (those the releases share); or the people the new release
        was made of, if it still knows them; or those of a `population` table; or else every
        combination of values its groups allow. `about` names the population whose releases count.
        `counting`: "all" who are known so well, or those the new release "added" to whom the
        earlier ones expose by themselves.
        """
        from sfumato.ledger.check import check_release

        new.refuse_wildcards()
        found = check_release(
            new,
            self.releases(about),
            targets,
            population=population,
            share=share,
            confidence=confidence,
            sensitive=sensitive,
            counting=counting,
        )
        return replace(found, spent=self.spent(about, new))

    def _rows(self) -> Sequence[tuple[Entry, bytes]]:
        rows = read_rows(self.path)
        try:
            return [(_entry(row), row[-1]) for row in rows]
        except (ValueError, TypeError):
            raise InputError(f"{self.path} is damaged; restore it from a copy") from None


def _entry(row: tuple[Any, ...]) -> Entry:
    plain = dict(zip(_PLAIN, row, strict=False))
    quasi, sensitive, told = row[len(_PLAIN) : len(_PLAIN) + 3]
    return Entry(
        **plain,
        quasi=tuple(json.loads(quasi)),
        sensitive=tuple(json.loads(sensitive)),
        guarantee=None if told is None else Guarantee.read(json.loads(told)),
    )
