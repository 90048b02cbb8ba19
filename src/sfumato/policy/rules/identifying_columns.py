"""Which columns identify people directly, by their name and by their cells.

The eighteen kinds of 45 CFR 164.514(b)(2)(i) but for places and dates, each with the words by which
columns are called so and the forms its cells have. A name alone is not enough: whether somebody has
a phone (yes, no) is no phone number. A form is: one cell that holds an address is one too many.

A dictionary; what a rule set makes of it is the rule set's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from sfumato.policy.draft.words import counts_something, subjects_of, tokens_of, topic_of
from sfumato.policy.rules.base import Against, counted
from sfumato.release.handed_out import ColumnCells
from sfumato.schema.identifier_forms import FORMS

_FLAG = 3  # values, up to which a column says whether there is such a number, not which
_UNIQUE = 0.95  # different cells per cell from which they tell rows apart
_ROWS = 20  # below, every column looks unique
_SOME_LETTERS, _SOME_DIGITS = r"\p{L}{2}", r"[0-9](?:[^0-9]?[0-9]){2}"
# Letters, apostrophes and hyphens, not counted (see `handed_out`, on compiling).
_NAMED = r"\p{Lu}[\p{L}\p{M}'’-]+"
_NAME = (
    rf"^(?:\p{{Lu}}\.|{_NAMED}),? (?:\p{{Lu}}\.? ?){{0,2}}(?:(?:von|van|de|der|da|di) ){{0,2}}"
    rf"{_NAMED}(?: \p{{Lu}}\.?| {_NAMED})?$"
)
_CODE = r"^[A-Za-z0-9./_-]{4,64}$"
_WORD = r"^\S{0,63}\p{L}\S{0,63}$"
_WHOLE = r"^[0-9]{4,20}$"
_TEN = r"(?:^|[^0-9.,])[2-9][0-9]{2}[2-9][0-9]{6}(?:\.0)?(?:[^0-9.,]|$)"  # a phone's, maybe
_DECIMAL = r"^[+-]?[0-9]{1,12}\.[0-9]{1,12}$"

# letter | what | words of a name; a word that ends in * may be part of another
_DICTIONARY = """
A | names | initials init kin maiden nickname alias guardian nextofkin* emergencycontact*
E | fax numbers | fax telefax faxno faxnumber*
D | telephone numbers | phone phones tel cell handy mobile mobil msisdn telefon* telephone*
    phonenum* phoneno*
F | e-mail addresses | mail mails email* courriel correo
G | social security numbers | ssn nino svnr ahv nif socialsecurity* sozialversicherungsn*
    rentenversicherungsn*
H | medical record numbers | mrn medicalrecord* recordno* recordnum* patientid* patientno*
    patientnr patientennr* krankenaktenn* fallnr fallnummer* casenumber* caseno* encounterid*
    visitid*
I | health plan numbers | hicn mbi kvnr medicareid* medicaidid* healthplan* insurancenum*
    insuranceno* insuranceid* memberid* memberno* subscriberid* policyno* policynum*
    beneficiaryid* versichertennummer* versichertennr* krankenversicherungsn* nhsnumber*
J | account numbers | iban bic account acct konto creditcard* cardnum* cardno* kreditkarte*
    kontonummer* kontonr* accountn* accountid* acctno* bankaccount*
K | certificate and licence numbers | license* licence* certificate* passport* passnr dea npi
    fuhrerschein* fuehrerschein* reisepass* ausweis*
L | vehicle identifiers | vin plate licenseplate* numberplate* kennzeichen* fahrgestell*
M | device identifiers | device* imei imsi mac udi serial serialno* serialnum* deviceid* implantid*
    geratenummer*
N | web addresses | url urls website homepage weburl*
O | IP addresses | ip ipaddress* ipaddr*
P | biometric identifiers | biometric* fingerprint* voiceprint* retina* retinal* faceprint*
    irisscan*
Q | photographs | photo* picture* portrait* selfie* headshot*
"""
_FORMS_OF = {
    "A": ("titled",),
    "D": ("phone",),
    "F": ("mail",),
    "G": ("ssn",),
    "H": ("record",),
    "I": ("mbi", "kvnr"),
    "J": ("iban", "card"),
    "L": ("vin",),
    "M": ("device",),
    "N": ("url",),
    "O": ("ip",),
    "P": ("sequence",),
    "Q": ("image",),
    "R": ("uuid",),
}
_NUMBERS = set("DEGHIJKLM")  # what is named so identifies only if its cells hold digits
_ELSEWHERE = {"zip code", "place", "age", "birth"}  # judged by what they show


@dataclass(frozen=True)
class IdentifierKind:
    """A kind of identifier: its letter in the list, and the words columns are called by."""

    letter: str
    description: str
    words: frozenset[str] = frozenset()
    parts: tuple[str, ...] = ()

    def names(self, column: str) -> bool:
        """Whether a column is called so."""
        if self.letter == "A" and (topic := topic_of(column)) is not None and topic.name == "name":
            return True
        tokens = tokens_of(column)
        return bool(self.words & {*tokens}) or any(part in "".join(tokens) for part in self.parts)


def _read() -> tuple[IdentifierKind, ...]:
    kinds = []
    for line in re.sub(r"\n +", " ", _DICTIONARY.strip()).splitlines():
        letter, description, words = (cell.strip() for cell in line.split("|"))
        listed = words.split()
        parts = tuple(word.rstrip("*") for word in listed if word.endswith("*"))
        kinds.append(
            IdentifierKind(
                letter, description, frozenset(word.rstrip("*") for word in listed), parts
            )
        )
    return (
        *sorted(kinds, key=lambda kind: kind.letter),
        IdentifierKind("R", "other unique numbers or codes"),
    )


KINDS = _read()


def identifying(kind: IdentifierKind, column: ColumnCells) -> Iterator[Against]:
    """What makes a column one of this kind."""
    if column.is_binary:
        if kind.letter in "PQ" and column.counts.cells:
            description = "of bytes, which may be a picture or a print"
            yield Against(counted(column.name, column.counts.cells, description), sure=False)
        return
    if kind.letter == "R":
        yield from _other_codes(kind, column)
    elif kind.names(column.name) and (cells := _told_apart(kind, column)):
        yield Against(counted(column.name, cells, "under a name that says so"))
        return
    if kind.letter == "A" and column.is_text and (cells := _people_named(column)):
        yield Against(counted(column.name, cells, "that look like names"))
    for form in _FORMS_OF.get(kind.letter, ()):
        if cells := column.forms.get(form, 0):
            yield Against(counted(column.name, cells, f"with {FORMS[form].called}"))
    if kind.letter == "D" and (cells := column.matching(_TEN)):
        description = "with ten digits, as phone numbers have: are they?"
        yield Against(counted(column.name, cells, description), sure=False)


def _told_apart(kind: IdentifierKind, column: ColumnCells) -> int:
    """The cells of a column that is called so, if they can be what it is called."""
    counts = column.counts
    if counts.distinct <= _FLAG < counts.cells:
        return 0
    if kind.letter in _NUMBERS:
        return column.matching(_SOME_DIGITS)
    return column.matching(_SOME_LETTERS) if kind.letter == "A" else counts.cells


def _people_named(column: ColumnCells) -> int:
    """The cells that look like names, where most do and are somebody's own."""
    counts = column.counts
    if counts.distinct <= _FLAG or 2 * counts.distinct < counts.cells:
        return 0
    cells = column.matching(_NAME)
    return cells if cells >= 0.8 * counts.cells else 0


def _other_codes(kind: IdentifierKind, column: ColumnCells) -> Iterator[Against]:
    """Numbers and codes that nearly every row has to itself, or that are called an id."""
    counts, topic = column.counts, topic_of(column.name)
    other_kinds = [named for named in KINDS if named is not kind and named.names(column.name)]
    elsewhere = any(_told_apart(named, column) for named in other_kinds)
    if subjects_of(column.name) & _ELSEWHERE and column.role != "identifiers":
        return
    if elsewhere or counts.distinct <= _FLAG or column.role == "weight":
        return
    if column.role == "identifiers":
        yield Against(counted(column.name, counts.cells, "of what the policy calls an identifier"))
        return
    says = topic.says if topic is not None and not topic.bare else ""
    official = topic is not None and topic.name == "official number"
    if (says in ("person", "id", "household") or official) and not counts_something(column.name):
        yield Against(counted(column.name, counts.cells, "of numbers or codes by their name"))
        return
    alone = counts.cells >= _ROWS and counts.distinct >= _UNIQUE * counts.cells
    if not alone or counts_something(column.name):
        return
    nearly_all = _UNIQUE * counts.cells
    if column.matching(_WHOLE) >= nearly_all:
        description = (
            "of whole numbers, nearly every row its own: numbers that were given, or measured?"
        )
        yield Against(counted(column.name, counts.cells, description), sure=False)
        return
    coded = column.matching(_CODE) >= nearly_all and column.matching("[0-9]") > 0
    if coded and column.matching(_DECIMAL) < nearly_all:
        yield Against(counted(column.name, counts.cells, "of codes, nearly every row its own"))
    elif column.matching(_WORD) >= nearly_all:
        description = "of one word, nearly every row its own: a name, a code?"
        yield Against(counted(column.name, counts.cells, description), sure=False)
