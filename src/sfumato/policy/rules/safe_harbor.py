"""HIPAA Safe Harbor: the eighteen identifiers of 45 CFR 164.514(b)(2)(i), and (ii).

A file is de-identified in this way if none of the eighteen is in it, and its owner does not know
that what is left could identify somebody (ii). Three are removed in part only: of a ZIP code the
first three digits may stay where more than 20,000 people live in all ZIP codes that begin with
them (else 000), of a date the year, and ages of 90 and more may be told as one category.

What is judged is what the file shows, whoever made it. Where the population is not given every
three digits are too few people; years of birth are taken as ages of this year unless `as_of` says
otherwise: both err to the unsafe side.
"""

from __future__ import annotations

import csv
import datetime as dt
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import ClassVar

from sfumato.criteria.base import Ruling
from sfumato.errors import PolicyError, other_than_file, quoted
from sfumato.policy.draft.words import subjects_of, tokens_of
from sfumato.policy.rules.base import (
    FREE_TEXT,
    OWNERS_WORD,
    Against,
    JudgedRelease,
    Paragraph,
    RuleSet,
    counted,
    settled,
    unread,
)
from sfumato.policy.rules.free_text import text_paragraph
from sfumato.policy.rules.identifying_columns import KINDS, identifying
from sfumato.release.handed_out import ColumnCells, HandedOut
from sfumato.schema.identifier_forms import FORMS, MONTHS
from sfumato.schema.notation import Notation
from sfumato.schema.region import Anything, Region, Span, ValueSet

ZIPS = "zip_population"  # the key that names a file
POPULOUS = 20_000  # people, more than which must live where ZIP codes begin with the same digits
OLDEST = 90  # years, from which ages are one category
_SMALL = {"place", "address", "zip code"}


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_WIDE = _words(
    "state states country countries nation region regions continent staat bundesland bundeslander "
    "land lander pays nationality province provincia"
)


def is_small_place(column: str) -> bool:
    """Whether a column is called as places are that are smaller than a state."""
    return bool(subjects_of(column) & _SMALL) and not {*tokens_of(column)} & _WIDE


def is_part_of_date(column: str) -> bool:
    """Whether a column is called as what is finer than a year: month, weekday."""
    return bool({*tokens_of(column)} & _PARTS)


_DATED = _words(
    "date dates datum day tag admission admitted discharge discharged dob doa dod born "
    "geburtsdatum birthdate timestamp datetime fecha jour"
)
_PARTS = _words("month monat mois mes mese weekday wochentag quarter quartal week woche semaine")
_PACKED_DAY = r"^(?:1[89]|20)[0-9]{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12][0-9]|3[01])$"
_SECONDS = r"^1[0-9]{9}(?:[0-9]{3})?(?:\.[0-9]{1,9})?$"  # since 1970, from 2001 to 2033
_DATE_LIKE = re.compile(rf"\d{{1,4}}[-/. :]\d{{1,2}}|\d{{6,8}}|(?:1[89]|20)\d\d|\b{MONTHS}\b")
_NUMERIC, _DATE = Notation("numeric"), Notation("date")
_OR_MORE = re.compile(
    r"(\d{1,3}) ?(?:\+|and (?:over|more|older)|or (?:over|more|older)|plus|u\. ä\.)"
)


@dataclass(frozen=True)
class SafeHarbor(RuleSet):
    """No identifier of 45 CFR 164.514(b)(2)(i)(A)-(R) is in the file."""

    name: ClassVar[str] = "hipaa-safe-harbor"
    source: ClassVar[str] = "45 CFR 164.514(b)(2)"

    zip_population: str | Path | Mapping[str, int] | None = None
    """A CSV file with a column of ZIP codes (three or five digits) and one of people, or people by
    ZIP code. Example: `zip_population = { "100" = 1500000, "036" = 9000 }`.
    """
    as_of: int = field(default_factory=lambda: dt.date.today().year)
    """The year in which ages are counted; without it this one. Example: `as_of = 2026`."""
    no_actual_knowledge: bool = False
    """The owner states (ii), that nothing known to him lets the file identify anybody; no program
    can check it. Example: `no_actual_knowledge = true`.
    """
    no_identifiers: Sequence[str] = ()
    """Columns of which the owner states that they hold none of the eighteen, where a program asks
    and cannot tell: ten digits that are no phones. Example: `no_identifiers = ["steps_walked"]`.
    """

    def __post_init__(self) -> None:
        named = self.no_identifiers
        if isinstance(named, str) or not all(isinstance(name, str) for name in named):
            raise PolicyError(
                f"{self.name}: no_identifiers must be a list of columns, such as ['steps_walked']"
            )
        object.__setattr__(self, "no_identifiers", tuple(named))
        if not isinstance(self.as_of, int) or not 1900 <= self.as_of <= 2200:
            raise PolicyError(f"{self.name}: as_of = {quoted(self.as_of)} must be a year")
        if not isinstance(self.no_actual_knowledge, bool):
            raise PolicyError(f"{self.name}: no_actual_knowledge must be true or false")
        if isinstance(self.zip_population, str):
            object.__setattr__(self, "zip_population", Path(self.zip_population))
        if not isinstance(self.zip_population, Path | Mapping | None):
            raise PolicyError(
                f"{self.name}: zip_population = {quoted(self.zip_population)} is not allowed; name "
                "a CSV file of ZIP codes and people"
            )
        _ = self.people  # refuses what cannot be read

    @cached_property
    def people(self) -> Mapping[str, int]:
        """The people who live where ZIP codes begin with the same three digits."""
        if self.zip_population is None:
            return {}
        if isinstance(self.zip_population, Mapping):
            given = enumerate(self.zip_population.items(), 1)
            listed = [(f"entry {place}", str(code), str(n)) for place, (code, n) in given]
        else:
            assert isinstance(self.zip_population, Path)
            listed = _listed(self.zip_population)
        sums: dict[str, int] = {}
        for where, code, people in listed:
            if not re.fullmatch(r"\d{3}|\d{5}", code, re.ASCII) or not re.fullmatch(
                r"\d{1,10}(\.0+)?", people, re.ASCII
            ):
                raise PolicyError(
                    f"{self.name}: zip_population: {where} must give a ZIP code of three or five "
                    "digits (01301, leading zeros kept) and a whole number of people (41000)"
                )
            sums[code[:3]] = sums.get(code[:3], 0) + int(float(people))
        return sums

    def populous(self, digits: str) -> bool:
        """Whether more than 20,000 people live where ZIP codes begin with these digits."""
        return sum(n for code, n in self.people.items() if code.startswith(digits)) > POPULOUS

    def paragraphs(self, judged: JudgedRelease) -> Iterator[Paragraph]:
        if judged.handed_out is None:
            yield unread("(A)-(R)", "none of the eighteen identifiers")
        else:
            self._check_stated(judged.handed_out)
            yield from self._identifiers(judged.handed_out)
            yield text_paragraph(judged, FREE_TEXT)
        known: Ruling = "holds" if self.no_actual_knowledge else "cannot_judge"
        why = (
            OWNERS_WORD
            if self.no_actual_knowledge
            else "only its owner can say so: no_actual_knowledge = true under [profile]"
        )
        statement = "no actual knowledge that it could identify"
        yield Paragraph("(ii)", statement, known, why, owner_stated=self.no_actual_knowledge)

    @property
    def statements(self) -> dict[str, object]:
        statements: dict[str, object] = {}
        if self.no_actual_knowledge:
            statements["no_actual_knowledge"] = True
        return statements | (
            {"no_identifiers": [*self.no_identifiers]} if self.no_identifiers else {}
        )

    def _check_stated(self, published: HandedOut) -> None:
        """A statement about a column that is not there is a mistake, and would tell its name."""
        there = [column.name for column in published.columns]
        for name in self.no_identifiers:
            if name not in there and name not in published.unseen:
                raise PolicyError(
                    f"{self.name}: no_identifiers: column {quoted(name)} is not published; "
                    f"published are {', '.join(there)}"
                )

    def _identifiers(self, published: HandedOut) -> Iterator[Paragraph]:
        """The eighteen, in their order."""
        rules: dict[str, tuple[str, Callable[[ColumnCells], Iterator[Against]]]] = {
            kind.letter: (f"no {kind.description}", partial(identifying, kind)) for kind in KINDS
        }
        rules["B"] = "no place smaller than a state but ZIP3", self._places
        rules["C"] = "years only, 90 and over", self._dates
        for letter, (statement, rule) in sorted(rules.items()):
            objections = [
                replace(
                    against, owner_denies=not against.sure and column.name in self.no_identifiers
                )
                for column in published.columns
                for against in rule(column)
            ]
            if any(not against.sure and not against.owner_denies for against in objections):
                answer = "if they are none, say so: no_identifiers = [...] under [profile]"
                objections.append(Against(answer, sure=False))
            if letter == "R" and published.unseen:
                objections.append(
                    Against(f"{', '.join(published.unseen)}: not looked at", sure=False)
                )
            yield settled(f"({letter})", statement, objections)

    # -- places ------------------------------------------------------------------------------------

    def _places(self, column: ColumnCells) -> Iterator[Against]:
        if "zip code" in subjects_of(column.name):
            yield from self._zip_codes(column)
        elif is_small_place(column.name):
            if column.counts.cells:
                yield Against(counted(column.name, column.counts.cells, "of places by their name"))
        elif cells := column.forms.get("address", 0):
            yield Against(counted(column.name, cells, f"with {FORMS['address'].called}"))

    def _zip_codes(self, column: ColumnCells) -> Iterator[Against]:
        if column.listed is None:
            yield Against(counted(column.name, column.counts.cells, "of ZIP codes"))
            return
        fine = small = unclear = 0
        for text, n in column.listed.items():
            codes = [code.rstrip("*xX#_") for code in _members(text)]
            digits = [code for code in codes if code not in ("", "000", "00000")]
            if not all(code.isdecimal() for code in digits):
                unclear += n
            elif any(len(code) > 3 for code in digits):
                fine += n
            elif not all(len(code) == 1 or self.populous(code) for code in digits):
                small += n
        if fine:
            yield Against(counted(column.name, fine, "with more than three digits of a ZIP code"))
        if small:
            description = f"of areas not known to have more than {POPULOUS:,} people"
            description += "" if self.people else " (no zip_population was given)"
            yield Against(counted(column.name, small, description))
        if unclear:
            yield Against(counted(column.name, unclear, "that are no ZIP codes"), sure=False)

    # -- dates and ages ----------------------------------------------------------------------------

    def _dates(self, column: ColumnCells) -> Iterator[Against]:
        about = subjects_of(column.name)
        if "age" in about:
            yield from self._ages(column)
            return
        if is_part_of_date(column.name) and column.counts.cells:
            yield Against(
                counted(column.name, column.counts.cells, "of parts of dates by their name")
            )
            return
        called = bool({*tokens_of(column.name)} & _DATED) or "birth" in about
        dated = column.forms.get("date", 0)
        packed = column.matching(_PACKED_DAY)
        if packed and (called or packed >= 0.9 * column.counts.cells):
            dated += packed
        if not called and (seconds := column.matching(_SECONDS)):
            description = "with ten or thirteen digits, as seconds since 1970 have: are they times?"
            yield Against(counted(column.name, seconds, description), sure=False)
        if not dated and not called:
            return
        if column.listed is None:
            yield Against(counted(column.name, dated or column.counts.cells, "finer than a year"))
            return
        fine = old = unclear = 0
        looked_at = column.listed if called or dated >= 0.5 * column.counts.cells else {}
        for text, n in looked_at.items():
            span = _years(text)
            if span is None:
                unclear += n
            elif not span.whole:
                fine += n
            elif "birth" in about and span.tells_age(self.as_of):
                old += n
        if not looked_at and dated:
            yield Against(counted(column.name, dated, "with dates finer than a year"))
        if fine:
            yield Against(counted(column.name, fine, "finer than a year"))
        if old:
            description = f"that tell an age of {OLDEST} or more (as of {self.as_of})"
            yield Against(counted(column.name, old, description))
        if unclear:
            yield Against(
                counted(column.name, unclear, "that are no dates, under a name of dates"),
                sure=False,
            )

    def _ages(self, column: ColumnCells) -> Iterator[Against]:
        if column.listed is None:
            yield Against(
                counted(column.name, column.counts.cells, "of ages, too many to list"), sure=False
            )
            return
        old = unclear = 0
        for text, n in column.listed.items():
            ends = _ages_told(text)
            if ends is None:
                unclear += n
            elif ends[1] >= OLDEST and not (math.isinf(ends[1]) and ends[0] <= OLDEST):
                old += n
        if old:
            description = f"that tell ages of {OLDEST} or more apart (one category: >={OLDEST})"
            yield Against(counted(column.name, old, description))
        if unclear:
            yield Against(counted(column.name, unclear, "that are no ages"), sure=False)


def _listed(path: Path) -> list[tuple[str, str, str]]:
    """Where a line stands, and its first two cells; a header is a first line without a number."""
    where = f"zip_population file {quoted(path.name)}"
    try:
        if problem := other_than_file(path):
            raise PolicyError(f"{where} {problem}")
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except FileNotFoundError:
        raise PolicyError(f"{where} does not exist") from None
    except (OSError, ValueError):
        raise PolicyError(f"{where} cannot be read as UTF-8 text") from None
    delimiter = ";" if lines and ";" in lines[0] else "," if lines and "," in lines[0] else "\t"
    reader = csv.reader(lines, delimiter=delimiter)
    rows = [(f"{where}, line {reader.line_num}:", row) for row in reader if any(row)]
    if rows and not any(cell.strip().isdecimal() for cell in rows[0][1]):
        rows = rows[1:]
    if not rows:
        raise PolicyError(f"{where} must have two columns, ZIP codes and people, and some lines")
    pairs = [(line, *(cell.strip() for cell in (*row, "")[:2])) for line, row in rows]
    return [(line, code, people.replace(" ", "")) for line, code, people in pairs]


def _members(text: str) -> list[str]:
    """The codes of a cell: itself, or those of `{a, b}`."""
    inner = text.strip()
    if inner[:1] == "{" and inner[-1:] == "}":
        return [member.strip(' "') for member in inner[1:-1].split(",")]
    return [inner]


@dataclass(frozen=True)
class YearsTold:
    """The first and the last year of a cell; `whole`: it tells nothing finer."""

    first: float
    last: float
    whole: bool = True

    def tells_age(self, as_of: int) -> bool:
        """Whether, of births, it tells an age of 90 or more; a category of all of them does not.

        Who is 90 in the course of the year may be in it or not: a year more, and some are apart.
        """
        if math.isfinite(self.first):
            return as_of - self.first >= OLDEST
        return as_of - self.last > OLDEST + 1


def _years(text: str) -> YearsTold | None:
    """What a cell tells of years; None where it is no date."""
    stripped = text.strip()
    region = _NUMERIC.read(stripped)
    numbers = _ends(region)
    if numbers is not None and all(1800 <= end <= 2200 or math.isinf(end) for end in numbers):
        return YearsTold(*numbers)
    region = _DATE.read(stripped)
    if isinstance(region, Anything):
        return YearsTold(-math.inf, math.inf)
    if not isinstance(region, Span):
        dated = isinstance(region, ValueSet) or _DATE_LIKE.search(stripped)
        return YearsTold(0, 0, whole=False) if dated else None
    begins = not isinstance(region.low, dt.date) or (region.low.month, region.low.day) == (1, 1)
    last_day = (12, 31) if region.high_closed else (1, 1)
    ends = not isinstance(region.high, dt.date) or (region.high.month, region.high.day) == last_day
    first = region.low.year if isinstance(region.low, dt.date) else -math.inf
    last = region.high.year if isinstance(region.high, dt.date) else math.inf
    return YearsTold(first, last if region.high_closed else last - 1, begins and ends)


def _ends(region: Region | None) -> tuple[float, float] | None:
    """The least and the highest whole number of a region of numbers."""
    if isinstance(region, Anything):
        return -math.inf, math.inf
    if isinstance(region, ValueSet):
        numbers = [float(value) for value in region.values if isinstance(value, int | float)]
        return (min(numbers), max(numbers)) if numbers else None
    if not isinstance(region, Span) or isinstance(region.low, dt.date):
        return None
    assert not isinstance(region.high, dt.date)
    open_end = math.isfinite(region.high) and not region.high_closed
    return float(region.low), float(region.high) - open_end


def _ages_told(text: str) -> tuple[float, float] | None:
    """The least and the highest age that a cell tells; None where it is no age."""
    stripped = text.strip().casefold()
    if more := _OR_MORE.fullmatch(stripped):
        return float(more[1]), math.inf
    if re.fullmatch(r"\d{1,2}\*{1,2}", stripped):  # 9* is 90 to 99
        return float(stripped.replace("*", "0")), float(stripped.replace("*", "9"))
    return _ends(_NUMERIC.read(stripped))
