"""How cells of text are written: marks for no value, dates, numbers with signs of their own.

What the first rows suggest is believed only if every cell of the column agrees, and only if nothing
else could be meant: 03/04/2023 is a day in March or in April, 1,234 a thousand or little more than
one, and 23 the end of some century. Such columns stay as they are, with a note
(`CellFindings.doubts`), until their owner says which it is. The engine then reads dates as
2023-12-31 and numbers as 1234.5,
so that nobody behind it meets another notation.

What a cell means is decided without an engine, which is only asked to count.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from sfumato.engines.base import Source, literal
from sfumato.engines.notations import (
    ORDERS,
    PLAIN_NUMBER,
    DateForm,
    StatedForms,
    are_days,
    date_forms,
    decimals_of,
    foreign_currency,
    is_iso,
    may_be_thousands,
    number_regex,
    plain_number,
    sure_sign,
)
from sfumato.errors import InputError

_LOOKED_AT = 50  # cells that are looked at where the first rows have none


@dataclass(frozen=True)
class CellFindings:
    """What the cells of a table turned out to be.

    `cells` are SQL expressions by column, of those that are not taken as they stand, `dates` and
    `decimals` how they are written; `decimal` is the sign of the whole file. `doubts` say why a
    column was taken as it stands, although it holds dates or numbers.
    """

    cells: Mapping[str, str]
    dates: Mapping[str, DateForm]
    decimals: Mapping[str, str]
    decimal: str | None
    doubts: Mapping[str, str]
    undated: frozenset[str]


Fits = Mapping[tuple[str, object], int]  # of a column: how many cells are written in a way
_PLAIN_DATE = r"\d{4}-\d{2}-\d{2}( \d{2}:\d{2}:\d{2})?"  # as a workbook's cells are read
CountRows = Callable[[list[str]], Sequence[int]]  # SQL conditions to how many rows have each


@dataclass(frozen=True)
class Column:
    """A column of text on its way: its name, its cells in SQL, and some of them.

    One that is not `needed` may still tell which decimal sign the file has.
    """

    name: str
    cell: str
    samples: Sequence[str]
    needed: bool = True


def is_string(kind: pa.DataType) -> bool:
    return str(kind) in ("string", "large_string", "string_view")


def as_written(
    source: Source,
    samples: Mapping[str, Sequence[str]],
    needed: Collection[str] | None,
    stated_forms: StatedForms,
    fetch: Callable[[str], pa.Table],
) -> tuple[Source, dict[str, str]]:
    """A source whose cells mean what they say, and these cells in SQL; none if it is that already.

    `samples` are cells of the columns whose dates and numbers are looked at, as far as known.
    """
    if stated_forms.exact:
        samples = {
            name: ()
            for name in samples
            if name in stated_forms.dates or name in stated_forms.decimals
        }
    if not (samples or stated_forms.missing or stated_forms.codes):
        return source, {}
    cells = {
        name: with_marks(
            source.column(name),
            (*stated_forms.marks(name), *stated_forms.codes.get(name, ())),
            kind,
        )
        for name, kind in source.types.items()
    }
    columns = []
    for name, texts in samples.items():
        no_value = {*stated_forms.marks(name), *stated_forms.codes.get(name, ())}
        known = [text for text in dict.fromkeys(texts) if text.strip() not in no_value]
        wanted = needed is None or name in needed
        if not known and wanted:
            few = f"SELECT x FROM (SELECT {cells[name]} AS x FROM {source.name}) WHERE x <> ''"
            known = fetch(f"{few} LIMIT {_LOOKED_AT}").column(0).to_pylist()
        columns.append(Column(name, cells[name], known, wanted))
    if stated_forms.first_year is None:
        columns = _with_late_samples(columns, source, fetch)

    def counted(tests: list[str]) -> list[int]:
        listed = [f"COUNT(*) FILTER (WHERE {test})" for test in tests]
        counts = fetch(f"SELECT {', '.join(listed)} FROM {source.name}")
        return [column[0].as_py() for column in counts.columns]

    codes = _codes_beside(source, stated_forms)
    forms = find_forms(columns, stated_forms, counted, numbers=source.untyped)
    types = dict(source.types)
    meant = {**cells, **forms.cells}
    if not source.untyped:
        for name, form in forms.dates.items():
            kind = "TIMESTAMP" if form.has_time else "DATE"
            meant[name] = f"CAST({form.moment(cells[name])} AS {kind})"
            types[name] = pa.timestamp("us") if form.has_time else pa.date32()
    for name, listed in codes.items():
        if is_string(source.types[name]):
            text = f"TRIM({source.column(name)})"
            some_code = f"{text} IN ({', '.join(map(literal, listed))})"
            meant[name] = f"CASE WHEN {some_code} THEN {text} ELSE {meant[name]} END"
    if not source.untyped:  # texts that were published beside codes are numbers or dates again
        beside_codes = {name for name in codes if is_string(source.types[name])}
        source = replace(source, apart=source.apart | beside_codes)
    changed = any(cell != source.column(name) for name, cell in meant.items())
    file_form = replace(
        source.form,
        decimal=forms.decimal or source.form.decimal,
        dates={name: form.pattern for name, form in forms.dates.items()},
        missing={name: marks[0] for name in source.types if (marks := stated_forms.marks(name))},
        codes=codes,
    )
    written = replace(
        source,
        types=types,
        decimals=forms.decimals,
        as_stands=source.name,
        doubts=forms.doubts,
        undated=forms.undated,
        codes=codes,
        form=file_form,
    )
    notes: list[str] = []
    if (
        not (stated_forms.exact or stated_forms.decimal or forms.decimal)
        and source.form.delimiter == ";"
    ):
        notes += [
            f"{column.name}: 1.234 is read as little more than one; if it is a thousand and more, "
            "say so with decimal: ','"
            for column in columns
            if column.needed and may_be_thousands(column.samples)
        ]
    return replace(written, notes=(*source.notes, *notes)), meant if changed else {}


def _codes_beside(source: Source, stated_forms: StatedForms) -> dict[str, tuple[str, ...]]:
    """The special codes that stand beside the numbers or dates of columns."""
    columns = {
        name: tuple(codes)
        for name, codes in stated_forms.codes.items()
        if codes and name in source.types
    }
    # A release of ours says which of its texts are codes, whatever its format.
    if columns and not (stated_forms.exact or source.untyped):
        raise InputError(
            "codes are for text and Excel files; a file with types tells codes by its labels"
        )
    return columns


def with_marks(cell: str, marks: Sequence[str], kind: pa.DataType) -> str:
    """SQL expression: a cell, NULL where it is one of the marks; -9 is also what -9.0 is called."""
    if not marks:
        return cell
    text = f"TRIM({cell})" if is_string(kind) else f"CAST({cell} AS VARCHAR)"
    listed = ", ".join(map(literal, marks))
    is_marked = f"{text} IN ({listed})"
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind) or pa.types.is_timestamp(kind):
        scale = "TIMESTAMP" if pa.types.is_timestamp(kind) else "DOUBLE"
        equalities = [
            f"CAST({cell} AS {scale}) = TRY_CAST({literal(mark)} AS {scale})" for mark in marks
        ]
        is_marked = f"({is_marked} OR COALESCE({' OR '.join(equalities)}, FALSE))"
    return f"CASE WHEN {is_marked} THEN NULL ELSE {cell} END"


def without_plain_dates(
    source: Source, stated_forms: StatedForms, fetch: Callable[[str], pa.Table]
) -> StatedForms:
    """What was said, but for dates that are plain in a workbook, whatever way it shows them."""
    named = [name for name in stated_forms.dates if name in source.types]
    if not named:
        return stated_forms
    tests = []
    for place, name in enumerate(named):
        no_value = (*stated_forms.marks(name), *stated_forms.codes.get(name, ()))
        cell = with_marks(source.column(name), no_value, source.types[name])
        others = f"NOT regexp_full_match({cell}, {literal(_PLAIN_DATE)})"
        tests.append(f"COUNT(*) FILTER (WHERE {others}) AS c{place}")
        tests.append(f"COUNT({cell}) AS n{place}")
    counts = [
        column[0].as_py()
        for column in fetch(f"SELECT {', '.join(tests)} FROM {source.name}").columns
    ]
    plain = {name for at, name in enumerate(named) if counts[2 * at + 1] and not counts[2 * at]}
    dates = {name: form for name, form in stated_forms.dates.items() if name not in plain}
    return replace(stated_forms, dates=dates)


def _with_late_samples(
    columns: Sequence[Column], source: Source, fetch: Callable[[str], pa.Table]
) -> list[Column]:
    """Columns with a cell of those that are not read and have none in the first lines, if it may
    be a date that does not say which year it means: they may be published as they are."""
    late = [column for column in columns if not column.needed and not column.samples]
    if not late:
        return [*columns]
    cells = (f"MIN(CASE WHEN {column.cell} <> '' THEN {column.cell} END)" for column in late)
    listed = ", ".join(f"{cell} AS c{place}" for place, cell in enumerate(cells))
    row = fetch(f"SELECT {listed} FROM {source.name}")
    texts_of = {column.name: row.column(place).to_pylist() for place, column in enumerate(late)}
    dated = {
        name: texts
        for name, texts in texts_of.items()
        if None not in texts and any(form.two_digits for form in date_forms(texts))
    }
    return [replace(column, samples=dated.get(column.name, column.samples)) for column in columns]


def find_forms(
    columns: Sequence[Column], stated_forms: StatedForms, counted: CountRows, *, numbers: bool
) -> CellFindings:
    """How dates and numbers are written; asks the engine once, if there is anything to ask."""
    dates = {c.name: _date_candidates(c, stated_forms) if c.needed else [] for c in columns}
    decimals = {
        column.name: possible
        for column in columns
        if numbers
        and not dates[column.name]
        and (possible := _number_candidates(column, stated_forms))
    }
    loud = [
        c for c in columns if c.name in decimals and not all(map(PLAIN_NUMBER.fullmatch, c.samples))
    ]
    quiet = [c for c in columns if c not in loud and any("." in text for text in c.samples)]
    asked = stated_forms.decimal is not None or stated_forms.decimals
    if not (loud and any(c.needed for c in (*loud, *quiet))) and not asked:
        decimals = {}
    decimals = {
        c.name: decimals[c.name] for c in columns if c.name in decimals if c.needed or c in loud
    }
    # What is published as it is, is not read as dates, but asked for their century likewise.
    asked_year = {
        column.name: [form for form in _forms_of_kept(column, stated_forms) if form.two_digits]
        for column in columns
        if not column.needed and stated_forms.first_year is None
    }
    tests: dict[tuple[str, object], str] = {}
    for column in columns:
        ways = dates[column.name] or asked_year.get(column.name, [])
        if ways or column.name in decimals:
            tests[column.name, None] = f"{column.cell} IS NOT NULL"
        for way in ways:
            tests[column.name, way] = f"{way.moment(column.cell)} IS NOT NULL"
        for sign in decimals.get(column.name, ()):
            shape = literal(number_regex(sign))
            tests[column.name, sign] = f"regexp_full_match({column.cell}, {shape})"
            tests[column.name, "signed"] = f"regexp_matches({column.cell}, '[.,]')"
            tests[column.name, "foreign"] = foreign_currency(column.cell, column.samples)
            tests[column.name, f"{sign} seen"] = (
                f"regexp_matches({column.cell}, {literal(sure_sign(sign))})"
            )
    fits = dict(zip(tests, counted(list(tests.values())), strict=True)) if tests else {}
    cells: dict[str, str] = {}
    doubts: dict[str, str] = {}
    undated = {name for name, forms in asked_year.items() if _lacks_century(name, forms, fits)}
    chosen: dict[str, DateForm] = {}
    sign_of: dict[str, str] = {}
    for column in columns:
        if (
            column.needed
            and column.samples
            and column.name in stated_forms.dates
            and not dates[column.name]
        ):
            doubts[column.name] = (
                f"its cells are no dates in the order {stated_forms.dates[column.name]}: say how "
                "they are written, such as %d.%m.%Y, or leave it out of dates"
            )
        elif column.needed and not dates[column.name] and _is_of_several_ways(column, stated_forms):
            doubts[column.name] = (
                "its cells are dates, but not all of them written alike, so all are texts: write "
                "them in one way"
            )
        if dates[column.name]:
            own = column.name in stated_forms.dates
            form = _decide_date(column.name, dates[column.name], fits, given=own)
            if isinstance(form, str):
                doubts |= {column.name: form} if form else {}
                if _lacks_century(column.name, dates[column.name], fits):
                    undated.add(column.name)
            else:
                chosen[column.name] = form
                cells[column.name] = form.iso(column.cell)
    signs = {name: _whole(name, signs, fits, stated_forms) for name, signs in decimals.items()}
    decimal = _decimal_of_file(
        {c.name: signs[c.name] for c in loud if c.name in signs}, fits, stated_forms
    )
    for column in columns:
        if column.needed and signs.get(column.name):
            if fits[column.name, "foreign"]:
                doubts[column.name] = (
                    "amounts in several currencies are no numbers of one scale, so all are texts: "
                    "make a column of its own of the currency"
                )
                continue
            signed, is_loud = fits[column.name, "signed"] > 0, column in loud
            decided = _decide_sign(signs[column.name], decimal, signed=signed, loud=is_loud)
            if decided is not None and (is_loud or signed):
                shape = literal(number_regex(decided))
                plain = plain_number(column.cell, decided)
                sign_of[column.name] = decided
                cells[column.name] = (
                    f"CASE WHEN regexp_full_match({column.cell}, {shape}) THEN {plain} "
                    f"ELSE {column.cell} END"
                )
            elif decided is None and is_loud:
                doubts[column.name] = (
                    "1,234 may be a thousand or a little more than one: say which with decimal"
                )
    return CellFindings(cells, chosen, sign_of, decimal, doubts, frozenset(undated))


def _decimal_of_file(
    signs: Mapping[str, Sequence[str]], fits: Fits, stated_forms: StatedForms
) -> str | None:
    """The decimal sign, where somebody said it or some column leaves no doubt and none differs."""
    if stated_forms.decimal or stated_forms.decimals:
        return stated_forms.decimal or next(iter(stated_forms.decimals.values()))
    evident = {
        possible[0]
        for name, possible in signs.items()
        if len(possible) == 1 and fits[name, f"{possible[0]} seen"]
    }
    return evident.pop() if len(evident) == 1 else None


def _decide_sign(
    possible: Sequence[str], decimal: str | None, *, signed: bool, loud: bool
) -> str | None:
    """The decimal sign of a column; None where it may be either."""
    if decimal in possible:
        return decimal
    # 1 234 and $12 are the same with both.
    return possible[0] if loud and (len(possible) == 1 or not signed) else None


def _forms_of_kept(column: Column, stated_forms: StatedForms) -> list[DateForm]:
    """The ways in which a column that is not read may hold dates: as was said of it, if it was."""
    notation = stated_forms.dates.get(column.name)
    if notation is not None and notation not in ORDERS:
        return [DateForm(notation)]
    return date_forms(column.samples)


def _date_candidates(column: Column, stated_forms: StatedForms) -> list[DateForm]:
    notation = stated_forms.dates_of(column.name)
    own = column.name in stated_forms.dates
    if notation is not None and notation not in ORDERS:
        form = DateForm(notation, stated_forms.first_year)
        if form.two_digits and stated_forms.first_year is None:
            raise InputError(
                f"dates {notation!r} has years of two digits; say of which hundred years they are: "
                "first_year = 1930 reads 30 as 1930 and 29 as 2029"
            )
        return [form] if own or (column.samples and all(map(form.fits, column.samples))) else []
    forms = date_forms(column.samples)
    if notation is not None:
        forms = [form for form in forms if form.order == notation]
    return [DateForm(form.pattern, stated_forms.first_year) for form in forms]


def _is_of_several_ways(column: Column, stated_forms: StatedForms) -> bool:
    """Whether a column holds days for which there is no one form."""
    texts = column.samples
    plain = stated_forms.exact or stated_forms.dates_of(column.name) is not None
    return bool(texts) and not plain and not is_iso(texts) and are_days(texts)


def _decide_date(name: str, forms: list[DateForm], fits: Fits, *, given: bool) -> DateForm | str:
    """How a column's dates are written, or why that is not known; nothing of what are no dates."""
    present = fits[name, None]
    whole = [form for form in forms if fits[name, form] == present]
    if not whole:
        right = max(fits[name, form] for form in forms)
        wrong = present - right
        if not given and 2 * right < present:
            return ""  # numbers of something, such as 12-34-5678
        return (
            f"{wrong:,} of its {present:,} cells are no dates written {forms[0].pattern}, so all "
            "are texts: correct them, list what stands for no value in missing, and what is a "
            "value of its own in codes"
        )
    if len(whole) > 1:
        ways = " or ".join(form.pattern for form in whole)
        more = ", and first_year = 1930 or another" if whole[0].two_digits else ""
        return f"dates that may be {ways}: say which with dates{more}; until then they are texts"
    if whole[0].two_digits and whole[0].first_year is None:
        return (
            f"dates with years of two digits ({whole[0].pattern}): say of which hundred years they "
            "are with first_year, such as first_year = 1930; until then they are texts"
        )
    return whole[0]


def _lacks_century(name: str, forms: Sequence[DateForm], fits: Fits) -> bool:
    """Whether all cells are dates with years of two digits, and nobody said what they stand for."""
    return any(
        form.two_digits and form.first_year is None and fits[name, form] == fits[name, None]
        for form in forms
    )


def _number_candidates(column: Column, stated_forms: StatedForms) -> list[str]:
    if stated_forms.exact:
        return [stated_forms.decimals[column.name]] if column.name in stated_forms.decimals else []
    if stated_forms.decimal == ",":
        return [","]
    signs = decimals_of(column.samples) if column.samples else []
    return [sign for sign in signs if stated_forms.decimal in (None, sign)]


def _whole(name: str, signs: Sequence[str], fits: Fits, stated_forms: StatedForms) -> list[str]:
    """The signs with which a column's cells are numbers: all, or most where the sign was stated."""
    present = fits[name, None]
    share = 2 if stated_forms.decimal == "," else 1
    return [sign for sign in signs if present and share * fits[name, sign] >= present]
