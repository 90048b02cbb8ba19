"""How things look that name a person: addresses, numbers, dates, names with a title.

Each form is a pattern that is found anywhere in a text, and where its numbers carry check digits
the test of those. Patterns are of what RE2 (DuckDB, Arrow) and Java (Spark) both read, and every
repetition is bounded, so that no text takes longer than its length. Libraries that know all phone
plans or all national numbers work cell by cell in Python; these run inside an engine, over a whole
column at once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass


def luhn(text: str) -> bool:
    """The check digit of payment cards."""
    digits = [int(sign) for sign in reversed(text) if sign.isdigit()]
    doubled = [digit * 2 - 9 * (digit > 4) for digit in digits[1::2]]
    return bool(digits) and (sum(digits[::2]) + sum(doubled)) % 10 == 0


def _card(text: str) -> bool:
    return len({sign for sign in text if sign.isdigit()}) > 1 and luhn(text)


def iban(text: str) -> bool:
    """The check digits of bank accounts (ISO 13616)."""
    packed = text.replace(" ", "").upper()
    if re.fullmatch(r"[A-Z]{2}\d{2}[A-Z0-9]{11,30}", packed, re.ASCII) is None:
        return False
    return int("".join(str(int(sign, 36)) for sign in packed[4:] + packed[:4])) % 97 == 1


def kvnr(text: str) -> bool:
    """The check digit of German health insurance numbers: a letter and nine digits."""
    digits = [int(sign) for sign in f"{ord(text[0]) - 64:02d}{text[1:9]}"]
    weighted = [digit * (1 + place % 2) for place, digit in enumerate(digits)]
    return sum(product // 10 + product % 10 for product in weighted) % 10 == int(text[9])


_VIN_WEIGHTS = (8, 7, 6, 5, 4, 3, 2, 10, 0, 9, 8, 7, 6, 5, 4, 3, 2)
_VIN_LETTERS = dict(zip("ABCDEFGHJKLMNPRSTUVWXYZ", "12345678123457923456789", strict=True))


def vin(text: str) -> bool:
    """The check digit of vehicle identification numbers (49 CFR 565.15)."""
    digits = [int(_VIN_LETTERS.get(sign, sign)) for sign in text]
    left = sum(map(int.__mul__, digits, _VIN_WEIGHTS)) % 11
    return text[8] == ("X" if left == 10 else str(left))


@dataclass(frozen=True)
class IdentifierForm:
    """`called` says what texts of this form are; `check` tells chance from a number that was given.

    What is checked is the first group of the pattern.
    """

    called: str
    pattern: str
    check: Callable[[str], bool] | None = None

    def found_in(self, text: str) -> bool:
        """Whether a text that fits the pattern holds one whose check digits are right."""
        if self.check is None:
            return True
        pattern, begin = re.compile(self.pattern), 0
        while (hit := pattern.search(text, begin)) is not None:
            if self.check(hit[1]):
                return True
            begin = hit.end(1)
        return False


_DAY, _MONTH = "(?:0?[1-9]|[12][0-9]|3[01])", "(?:0?[1-9]|1[0-2])"
_YEAR = "(?:1[89]|20)[0-9]{2}"
_OCTET = "(?:25[0-5]|2[0-4][0-9]|1?[0-9]?[0-9])"
MONTHS = (
    "(?i:jan(?:uary|uar|vier)?|j[äa]nner|enero|feb(?:ruary|ruar|rero)?|f[ée]vr?(?:ier)?|mar(?:ch|s|zo)?"
    "|märz?|mrz|apr(?:il)?|avr(?:il)?|abr(?:il)?|ma[iy]o?|jun[ei]?o?|juin|jul[iy]?o?|juil(?:let)?"
    "|aug(?:ust)?|ao[uû]t|agosto|sept?(?:ember|embre|iembre)?|o[ck]t(?:ober|obre|ubre)?"
    "|nov(?:ember|embre|iembre)?|de[cz](?:ember)?|d[ée]c(?:embre)?|dic(?:iembre)?)"
)
_BETWEEN = r"[ .,/–-]{0,3}"  # the parts of a date with a month's name
_STATES = (
    "(?:A[KLRZ]|C[AOT]|D[CE]|FL|GA|HI|I[ADLN]|K[SY]|LA|M[ADEINOST]|N[CDEHJMVY]|O[HKR]|P[AR]|RI"
    "|S[CD]|T[NX]|UT|V[AT]|W[AIVY])"
)
_TITLES = (
    "(?:Mr|Mrs|Ms|Miss|Dr|Prof|Herrn?|Frau|Fr|Hr|Mme|Monsieur|Madame|Sra|Sr|Señora?|Sig|Signora?)"
)

FORMS: Mapping[str, IdentifierForm] = {
    "mail": IdentifierForm(
        "e-mail addresses",
        r"[^\s@,;<>()\[\]]{1,64}@[^\s@,;<>()\[\]]{1,190}\.[A-Za-z]{2}"
        r"|[A-Za-z0-9_-] ?(?:@|[(\[](?i:at)[)\]]) ?[A-Za-z0-9-]{1,63}\.[A-Za-z]{2}",
    ),
    "url": IdentifierForm(
        "web addresses",
        r"(?:[Hh][Tt][Tt][Pp][Ss]?|[Ff][Tt][Pp])://\S|\b[Ww]{3}\.[A-Za-z0-9-]{1,63}\.[A-Za-z]"
        r"|(?:^|[^A-Za-z0-9@.-])(?:[A-Za-z0-9-]{1,63}\.){1,4}"
        r"(?i:com|org|net|edu|gov|mil|info|io|de|ch|uk|eu)(?:[/:?#,;)\s]|\.?$)"
        r"|(?:^|\s)@[A-Za-z][A-Za-z0-9_.]{2}",
    ),
    "ip": IdentifierForm(
        "IP addresses",
        rf"(?:^|[^0-9.])(?:{_OCTET}\.){{3}}{_OCTET}(?:[^0-9.]|\.?$|\. )"
        r"|(?:^|[^0-9A-Fa-f:])(?:[0-9A-Fa-f]{1,4}:){7}[0-9A-Fa-f]{1,4}(?:[^0-9A-Fa-f:]|$)"
        r"|(?:^|[^0-9A-Fa-f:])(?:[0-9A-Fa-f]{1,4}:){1,6}:[0-9A-Fa-f]{1,4}"
        r"|(?:^|[^0-9A-Za-z:])(?:(?:[0-9A-Fa-f]{1,4}:){2,7}:|::(?:[0-9A-Fa-f]{1,4}:){0,6}[0-9A-Fa-f]{1,4})"
        r"(?:[^0-9A-Za-z:]|$)",
    ),
    "ssn": IdentifierForm(
        "social security numbers",
        r"(?:^|[^0-9-])[0-9]{3}(?:-[0-9]{2}-| [0-9]{2} )[0-9]{4}(?:[^0-9-]|$)"
        r"|(?i:ssn|social security)[A-Za-z .:#]{0,12}[0-9]{9}(?:[^0-9]|$)",
    ),
    "phone": IdentifierForm(
        "phone numbers",
        r"(?:^|[^0-9.-])(?:\+?1[ .–-]?)?(?:\([2-9][0-9]{2}\)[ .–-]?|[2-9][0-9]{2}[ ./–-])"
        r"[0-9]{3}[ .–-][0-9]{4}(?:[^0-9]|$)"
        r"|(?:^|[^0-9.-])[2-9][0-9]{2}[/–-][0-9]{7}(?:[^0-9]|$)"
        r"|(?:^|[^A-Za-z])(?i:tel|fon|telefon|telephone|phone|ph|fax|call|cell|mobile|handy)"
        r"[ .:#-]{1,3}[0-9](?:[ ()/.–-]{0,2}[0-9]){5}"
        r"|(?:^|[^0-9A-Za-z.,-])0(?:1[5-7]|[2-9][0-9])[0-9]{8,9}(?:[^0-9]|$)"
        r"|\+[1-9](?:[ ()/.-]{0,2}[0-9]){7,14}"
        r"|(?:^|[^0-9A-Za-z.,-])\(?0[1-9][0-9]{1,4}\)?(?: ?/ ?|[ -])[1-9]"
        r"(?:[ -]?[0-9]){4,9}(?:[^0-9]|$)",
    ),
    "iban": IdentifierForm(
        "IBANs",
        r"(?:^|[^A-Za-z0-9])([A-Z]{2}[0-9]{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?)"
        r"(?:[^A-Za-z0-9]|$)",
        iban,
    ),
    "card": IdentifierForm(
        "card numbers",
        r"(?:^|[^0-9.-])([3-6][0-9]{3}[ -]?[0-9]{4}[ -]?[0-9]{4}[ -]?[0-9]{1,7}"
        r"|3[0-9]{3}[ -]?[0-9]{6}[ -]?[0-9]{5})(?:[^0-9]|$)",
        _card,
    ),
    "kvnr": IdentifierForm(
        "German health insurance numbers",
        r"(?:^|[^A-Za-z0-9])([A-Z][0-9]{9})(?:[^A-Za-z0-9]|$)",
        kvnr,
    ),
    "mbi": IdentifierForm(
        "Medicare numbers",
        r"(?:^|[^A-Za-z0-9])[1-9][AC-HJKMNP-RT-Y][AC-HJKMNP-RT-Y0-9][0-9]-?"
        r"[AC-HJKMNP-RT-Y][AC-HJKMNP-RT-Y0-9][0-9]-?[AC-HJKMNP-RT-Y]{2}[0-9]{2}(?:[^A-Za-z0-9]|$)",
    ),
    "record": IdentifierForm(
        "record numbers",
        r"(?:^|[^A-Za-z])(?:MRN|[Mm]rn|[Pp]at(?:ient)?(?:en)?[ -]?"
        r"(?:ID|[Ii]d|[Nn]r|[Nn]o|[Nn]umber|[Nn]ummer)"
        r"|(?:[Cc]ase|[Cc]hart|[Ff]ile) (?:[Nn]o|[Nn]umber)|[Ff]all-?(?:[Nn]r|[Nn]ummer)"
        r"|[Rr]ecord (?:[Nn]o|[Nn]umber)"
        r"|[Aa]ktenzeichen)[ .:#-]{0,4}[A-Z]{0,4}-?[0-9]{4}",
    ),
    "vin": IdentifierForm(
        "vehicle numbers",
        r"(?:^|[^A-Za-z0-9])([A-HJ-NPR-Z0-9]{8}[0-9X][A-HJ-NPR-Z0-9]{8})(?:[^A-Za-z0-9]|$)",
        vin,
    ),
    "device": IdentifierForm(
        "device addresses",
        r"(?:^|[^0-9A-Fa-f:-])(?:[0-9A-Fa-f]{2}[:-]){5}[0-9A-Fa-f]{2}(?:[^0-9A-Fa-f:-]|$)"
        r"|\(01\)[0-9]{14}",
    ),
    "uuid": IdentifierForm(
        "UUIDs", r"[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}"
    ),
    "image": IdentifierForm(
        "pictures",
        r"\.(?:[Jj][Pp][Ee]?[Gg]|[Pp][Nn][Gg]|[Gg][Ii][Ff]|[Bb][Mm][Pp]|[Tt][Ii][Ff][Ff]?|[Hh][Ee][Ii][Cc]"
        r"|[Dd][Cc][Mm]|[Ww][Ee][Bb][Pp])(?:[?#\s]|$)|data:image/",
    ),
    "sequence": IdentifierForm("genetic sequences", r"(?:^|[^A-Za-z])[ACGTacgt]{30}"),
    "titled": IdentifierForm(
        "names after a title",
        rf"(?:^|[^\p{{L}}]){_TITLES}\.? {{1,2}}(?:(?:med|von|van|de|der)\.? )?\p{{Lu}}[\p{{L}}'’-]",
    ),
    "date": IdentifierForm(
        "dates",
        rf"(?:^|[^0-9.-]|[^0-9]-){_YEAR}[-/.]{_MONTH}[-/.]{_DAY}(?:[^0-9]|$)"
        rf"|(?:^|[^0-9.-]){_DAY}[-/.]{_MONTH}[-/.](?:{_YEAR}|[0-9]{{2}})(?:[^0-9.-]|\.?$|\. )"
        rf"|(?:^|[^0-9.-]){_MONTH}[-/]{_DAY}[-/](?:{_YEAR}|[0-9]{{2}})(?:[^0-9.-]|\.?$|\. )"
        rf"|(?:^|[^0-9./-]){_YEAR}(?:-(?:0[1-9]|1[0-2])|/{_MONTH})(?:[^0-9./-]|\.?$|\. )"
        rf"|(?:^|[^0-9./-]){_MONTH}/{_YEAR}(?:[^0-9./-]|\.?$|\. )"
        rf"|(?:^|[^0-9.-]){_YEAR}[ /-]?[QqWw][0-9]|(?:^|[^A-Za-z0-9])[Qq][1-4][ /-]?{_YEAR}"
        rf"|(?:^|[^\p{{L}}]){MONTHS}{_BETWEEN}(?:(?:the )?[0-9]{{1,2}}(?:st|nd|rd|th)?"
        rf"[ .,/–-]{{1,3}})?{_YEAR}(?:[^0-9]|$)"
        rf"|(?:^|[^\p{{L}}]){MONTHS}\.? (?:the )?{_DAY}(?:st|nd|rd|th)?(?:[^0-9.%a-z]|\.?$|\. )"
        rf"|(?:^|[^0-9]){_DAY}(?:st|nd|rd|th)?{_BETWEEN}(?:(?:of|de) )?{MONTHS}(?:[^\p{{L}}]|$)"
        rf"|(?:^|[^0-9]){_YEAR}{_BETWEEN}{MONTHS}(?:[^\p{{L}}]|$)",
    ),
    "address": IdentifierForm(
        "postal addresses or places on the map",
        rf"(?:^|[^A-Za-z]){_STATES},? {{1,2}}[0-9]{{5}}(?:[^0-9]|$)"
        r"|(?:^|[^0-9-])[0-9]{5}-[0-9]{4}(?:[^0-9-]|$)"
        # (A word is what has no other marks in it: letters of all alphabets a hundred times over
        # would take longer to compile than all that is asked of a column.)
        r"|(?:^|[^0-9])[0-9]{1,5}[A-Za-z]? (?:[^\s!-&(-,/:-@\[-`{-~]{1,25} ){1,4}(?:(?i:street"
        r"|avenue|road|lane|drive|boulevard|court|highway)|St|Ave|Rd|Ln|Dr|Blvd|Ct|Hwy)(?:[^\p{L}]|$)"
        r"|(?i:straße|strasse|str\.|gasse|allee) ?[0-9]{1,4}(?:[^0-9]|$)"
        r"|(?i:p\.? ?o\.? box) ?[0-9]"
        r"|(?:^|[^0-9.])-?[0-9]{1,2}\.[0-9]{3,15}°?[NS]?[,;/ ] ?-?[0-9]{1,3}\.[0-9]{3,15}"
        r"(?:[^0-9.]|$)",
    ),
}
