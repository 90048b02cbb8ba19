"""Pseudonyms: identifiers that must stay linkable, keyed so that nobody else can go back.

HMAC-SHA256 of the column's name and the identifier, by a key that never leaves the owner. Without a
key a hash is undone by trying all identifiers there may be; with it nobody can, but who holds the
key, or gets it. An identifier is taken as a reader sees it: compatible forms of letters are one
(NFKC), spaces at the ends and invisible signs do not count, upper and lower case do. Typed numbers
are taken by value (5.0 as 5); in a text file what is written counts (05 is not 5).
"""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import secrets
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar, Literal, Self

import numpy as np
import pyarrow as pa

from sfumato.counts.columns import appearance
from sfumato.errors import InputError, PolicyError, quoted
from sfumato.files import write_text
from sfumato.perturbation.base import Perturbation
from sfumato.schema.region import text_of

KEY = "pseudonym.key"  # in private/
_BYTES = 32
_SHORTEST, _LONGEST = 8, 64


@dataclass(frozen=True)
class PseudonymKey:
    """Where the key of pseudonyms is kept, and how many hexadecimal digits are published.

    With `key_file`, or that of a `ledger`, releases share their pseudonyms. With neither, every
    release has a key of its own, which is kept in its private/ folder.
    """

    key_file: str | Path | None = None
    """The file of the key; one that is not there yet is made. Example: `key_file =
    "pseudonyms.key"`.
    """
    ledger: str | Path | None = None
    """The ledger beside which the key is kept, by its name and .key. Example: `ledger =
    "ledger.sqlite"`.
    """
    length: int = 16
    """How many hexadecimal digits are published, 8 to 64. Example: `length = 20`."""

    def __post_init__(self) -> None:
        if self.key_file is not None and self.ledger is not None:
            raise PolicyError("pseudonyms: give key_file or ledger, not both")
        for name in ("key_file", "ledger"):
            value = getattr(self, name)
            if value is not None and (not isinstance(value, str | Path) or not str(value)):
                raise PolicyError(f"pseudonyms: {name} = {quoted(value)} is no name of a file")
        whole = isinstance(self.length, int) and not isinstance(self.length, bool)
        if not whole or not _SHORTEST <= self.length <= _LONGEST:
            raise PolicyError(
                f"pseudonyms: length = {quoted(self.length)} is not allowed; use {_SHORTEST} to "
                f"{_LONGEST} digits"
            )

    def within(self, folder: Path) -> PseudonymKey:
        """The same, its file told from a folder."""
        return replace(
            self,
            key_file=None if self.key_file is None else str(folder / self.key_file),
            ledger=None if self.ledger is None else str(folder / self.ledger),
        )

    @property
    def file(self) -> Path | None:
        if self.ledger is not None:
            return Path(f"{self.ledger}.key")
        return None if self.key_file is None else Path(self.key_file)

    def key(self) -> bytes:
        """The key; a new one, kept where it is to be, if there is none."""
        path = self.file
        if path is None:
            return secrets.token_bytes(_BYTES)
        if (path.resolve().parent / "manifest.json").exists():
            raise InputError(
                f"pseudonyms: the key {path} would be handed out with the release in its folder; "
                "name a file elsewhere"
            )
        if not os.path.lexists(path):
            fresh = secrets.token_bytes(_BYTES)
            write_text(path, fresh.hex() + "\n", private=True, kind="key")
            path.chmod(0o600)
            return fresh
        try:
            if os.name == "posix" and path.stat().st_mode & 0o077:
                raise InputError(
                    f"pseudonyms: others than its owner may read the key {path}; chmod 600 it, or "
                    "name a file that is not there yet, if it may have been read"
                )
            text = path.read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError):
            raise InputError(f"pseudonyms: {path} cannot be read as a key") from None
        if re.fullmatch(r"[0-9a-f]{64}", text) is None:
            raise InputError(
                f"pseudonyms: {path} is no key of ours (64 hexadecimal digits); name another file, "
                "or one that is not there yet, to have it made"
            )
        return bytes.fromhex(text)


@dataclass(frozen=True)
class KeyedPseudonym(Perturbation):
    """A column of identifiers published as keyed pseudonyms of so many hexadecimal digits.

    `key_id` tells keys apart without telling them: releases of one key can be joined.
    """

    kind: ClassVar[str] = "pseudonym"
    done: ClassVar[Literal["perturbed", "pseudonym"]] = "pseudonym"

    length: int
    key_id: str

    def __post_init__(self) -> None:
        PseudonymKey(length=self.length)
        if not isinstance(self.key_id, str) or re.fullmatch("[0-9a-f]{8}", self.key_id) is None:
            raise PolicyError(f"pseudonym: key_id = {quoted(self.key_id)} is not allowed")

    @classmethod
    def of(cls, key: bytes, length: int) -> KeyedPseudonym:
        return cls(length, hashlib.sha256(b"sfumato key id\0" + key).hexdigest()[:8])

    def apply(
        self, column: str, cells: pa.Array, chance: np.random.Generator
    ) -> tuple[pa.Array, Self]:
        raise PolicyError(
            f"perturb: column {column!r}: pseudonyms are named in the schema (pseudonyms), not here"
        )

    def cells(self, column: str, cells: pa.Array, key: bytes) -> pa.Array:
        """The pseudonyms of a column's identifiers; a missing one stays missing."""
        coded = cells if pa.types.is_dictionary(cells.type) else cells.dictionary_encode("encode")
        given: dict[str, str] = {}
        pseudonyms: list[str | None] = []
        for value in coded.dictionary.to_pylist():
            text = None if value is None else appearance(text_of(value))
            pseudonyms.append(None if not text else pseudonym(key, column, text, self.length))
            if text and given.setdefault(str(pseudonyms[-1]), text) != text:
                raise InputError(
                    f"pseudonyms: two identifiers of column {column!r} have the same pseudonym of "
                    f"{self.length} digits; take a greater length"
                )
        return pa.array(pseudonyms, pa.string()).take(coded.indices)

    @property
    def words(self) -> str:
        return (
            f"identifiers are published as keyed pseudonyms (HMAC-SHA256, {self.length} "
            "digits): who holds the key can go back to people, and releases with the same key can "
            "be joined row by row, so that each tells more of the others' people"
        )

    @property
    def for_recipients(self) -> str:
        return "equal pseudonyms are equal identifiers, in every release of the same key"


@dataclass(frozen=True, repr=False)
class KeyedPeople:
    """The keyed pseudonyms of people whose rows are linked, by a person's number.

    Whose rows are cut has several. The first is that of the identifier; the others follow from a
    digest that is never published, so that nobody sees by the first which they are.
    """

    first_pseudonyms: tuple[str, ...]
    secrets: tuple[bytes, ...]

    @classmethod
    def of(cls, column: str, names: pa.Array, key: bytes, length: int) -> KeyedPeople:
        """`names[i]` is the identifier of person i."""
        pseudonyms = KeyedPseudonym.of(key, length).cells(column, names, key)
        if len(pseudonyms.drop_null().unique()) < len(pseudonyms):
            raise InputError(
                f"pseudonyms: an identifier of column {column!r} is written in two ways, or empty; "
                "write it in one"
            )
        texts = (appearance(text_of(name)) for name in names.to_pylist())
        digests = (_keyed(key, f"{column}\0{text}\0cut") for text in texts)
        return cls(tuple(pseudonyms.to_pylist()), tuple(digests))

    def nth(self, person: int, nth: int) -> str:
        """The nth pseudonym of a person, from 0."""
        first = self.first_pseudonyms[person]
        return first if nth == 0 else _keyed(self.secrets[person], str(nth)).hex()[: len(first)]


def _keyed(key: bytes, message: str) -> bytes:
    return hmac.new(key, message.encode(), hashlib.sha256).digest()


def key_name(key: bytes) -> str:
    """The name of a key's file in private/ once another release took its own's place."""
    return f"pseudonym-{KeyedPseudonym.of(key, _LONGEST).key_id}.key"


def pseudonym(key: bytes, column: str, identifier: str, length: int) -> str:
    """The one maker of keyed pseudonyms: of an identifier as `appearance` has it."""
    return _keyed(key, f"{column}\0{identifier}").hex()[:length]
