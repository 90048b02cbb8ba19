"""What can go wrong, by whose hand it is put right.

Every error a user can meet is a `SfumatoError` whose text is one line: what is wrong, where,
what is allowed, how to fix it. No message ever quotes a person's row; a single column value is
named only where the input cannot be mended without it.
"""

from __future__ import annotations

from collections.abc import Iterable


class SfumatoError(Exception):
    """The common parent; the command line answers it with exit code 2."""


class SchemaError(SfumatoError):
    """The roles, domains or hierarchies do not fit together or do not fit the data."""


class PolicyError(SfumatoError):
    """A policy or a criterion's parameters cannot be what was meant."""


class InputError(SfumatoError):
    """The data file or frame cannot be read as a table about people."""


class NoSafeRelease(SfumatoError):
    """No release satisfies the policy: which criterion, the nearest miss, what to change."""


class MissingExtra(SfumatoError):
    """An optional library is not installed; the message holds the pip line."""


class ResourceError(SfumatoError):
    """Memory, disk or another limit of the machine was reached."""


def name_some(values: Iterable[object], most: int = 5) -> str:
    """The first few values, quoted, and how many more there are."""
    listed = [str(value) for value in values]
    text = ", ".join(repr(value) for value in listed[:most])
    return f"{text} and {len(listed) - most} more" if len(listed) > most else text


def did_you_mean(word: str, allowed: Iterable[str]) -> str:
    """A trailing hint for a misspelt word: the nearest allowed one, or all of them."""
    from difflib import get_close_matches

    names = sorted(allowed)
    near = get_close_matches(word, names, n=1, cutoff=0.6)
    return f"did you mean {near[0]!r}?" if near else f"allowed: {', '.join(names)}"
