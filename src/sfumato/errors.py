"""What can go wrong, by whose hand it is put right.

Every error a user can meet is a `SfumatoError` whose text is one line: what is wrong, where,
what is allowed, how to fix it. No message ever quotes a person's row; a single column value is
named only where the input cannot be mended without it.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Mapping, Set
from datetime import date
from numbers import Number
from pathlib import Path

_MARK, _SHAPE = 3, 24  # characters of a mark that tells nothing, and of a form that is shown


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


def quoted(value: object, most: int = 60) -> str:
    """What a caller gave, for a message: one short line, never what a table or a frame holds."""
    if not _is_plain(value):
        kind = value if isinstance(value, type) else type(value)
        home = "" if kind.__module__.split(".")[0] in ("builtins", "sfumato") else kind.__module__
        return (
            f"{'the class ' if kind is value else 'a '}{home}{'.' if home else ''}{kind.__name__}"
        )
    try:
        text = ascii(value) if isinstance(value, str) and not value.isprintable() else repr(value)
    except ValueError:  # Python writes no number of more than some thousand digits
        return "a number of thousands of digits"
    return text if len(text) <= most else f"{text[: most - 3]}..."


def _is_plain(value: object) -> bool:
    if isinstance(value, list | tuple | Set):
        return all(_is_plain(part) for part in value)
    if isinstance(value, Mapping):
        return all(_is_plain(part) for pair in value.items() for part in pair)
    return value is None or isinstance(value, str | bytes | Number | date)


def expect(argument: str, value: object, kinds: type | tuple[type, ...], how: str) -> None:
    """Refuse an argument that is of another type; `how` tells what it must be."""
    if not isinstance(value, kinds):
        raise InputError(f"{argument} = {quoted(value)} is not allowed; it must be {how}")


def name_some(values: Iterable[object], most: int = 5, of: int | None = None) -> str:
    """The first few values, quoted, and how many more there are; `of` all of them, if not these."""
    return list_some((repr(str(value)) for value in values), most, of)


def list_some(texts: Iterable[object], most: int = 5, of: int | None = None) -> str:
    """The first few of some texts or places, and how many more there are."""
    listed = [str(text) for text in texts]
    text, total = ", ".join(listed[:most]), len(listed) if of is None else of
    return f"{text} and {total - most} more" if total > most else text


def forms_of(values: Iterable[object], most: int = 3) -> str:
    """What values look like: 99/99/9999 for somebody's date; marks such as ? and NA as such."""
    forms: dict[str, int] = {}
    for value in values:
        text = str(value)
        if len(text) > _MARK or any(sign.isdigit() for sign in text):
            shape = ["9" if s.isdigit() else "a" if s.isalpha() else s for s in text[:_SHAPE]]
            text = "".join(shape) + ("..." if len(text) > _SHAPE else "")
        forms[text] = forms.get(text, 0) + 1
    listed = [f"{form!r} ({number})" for form, number in list(forms.items())[:most]]
    more = [f"{len(forms) - most} more forms"] if len(forms) > most else []
    return ", ".join([*listed, *more])


def did_you_mean(word: object, allowed: Iterable[str]) -> str:
    """A trailing hint for a misspelt word: the nearest allowed one, or all of them."""
    names = sorted(allowed)
    near = nearest(word if isinstance(word, str) else quoted(word), names)
    return f"did you mean {near!r}?" if near is not None else f"allowed: {', '.join(names)}"


def nearest(word: str, allowed: Iterable[str], cutoff: float = 0.6) -> str | None:
    """The allowed word that is most like one, whatever the case of either; None if none is near."""
    from difflib import SequenceMatcher, get_close_matches

    by_folded: dict[str, list[str]] = {}
    for name in allowed:
        by_folded.setdefault(name.casefold(), []).append(name)
    near = get_close_matches(word.casefold(), by_folded, n=1, cutoff=cutoff)
    if not near:
        return None
    # Of names that differ in case only, the one whose case is most like it.
    return max(by_folded[near[0]], key=lambda name: SequenceMatcher(None, word, name).ratio())


# What stands under a name and is no file: told before it is opened; a pipe may never answer.
_NO_FILES: dict[Callable[[int], bool], str] = {
    stat.S_ISFIFO: "a named pipe",
    stat.S_ISSOCK: "a socket",
    stat.S_ISCHR: "a device",
    stat.S_ISBLK: "a device",
}


def other_than_file(path: str | Path) -> str | None:
    """What is wrong with a thing that is there, but neither a file nor a folder; or None.

    Links are followed: to a file they are as good as the file.
    """
    try:
        mode = Path(path).stat().st_mode
    except (OSError, ValueError):
        return None
    kind_of = next((kind for asked, kind in _NO_FILES.items() if asked(mode)), None)
    return kind_of and f"is {kind_of}, not a file; save what comes from it as a file, and give that"


def refuse_handed_out(target: Path, subject: str) -> None:
    """Refuse to write what is about single people ("these rows are") below a public/."""
    # As it is written, and where links lead: either may be what is handed out.
    places = Path(os.path.normpath(target.absolute())), target.resolve()
    if any("public" in place.parts[:-1] for place in places):
        raise InputError(
            f"{target} lies below public/, which is handed out, and {subject} about single people; "
            "write them below private/"
        )
