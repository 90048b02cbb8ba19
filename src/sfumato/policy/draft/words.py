"""What a column's name says about it: a small dictionary of the words statisticians use.

English and German first, a few French, Spanish and Italian words, and the column codes of the
American Community Survey. A name is cut into tokens (`birthDate`, `birth_date`, `BIRTH-DATE`,
without accents). A word of the dictionary must be a whole token (the `age` in `wage` is none)
unless it ends in `*`: then it may also be part of a compound (`Jahreseinkommen`). The first topic
that matches wins, so the order matters.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, get_args

Says = Literal["weight", "count", "person", "household", "identifier", "id", "sensitive", "quasi"]

# role that follows if the values agree | topic | words
_DICTIONARY = """
weight | survey weight | weight weights wgt* wt wts gewicht gewichtung* hochrechnungsfaktor* pwgtp
    wgtp fnlwgt perwt hhwt poids
count | number of people | n count freq frequency anzahl haufigkeit haeufigkeit
sensitive | sexuality | lgbt lgbtq transgender sexualorient* sexualit* sexuell* homosex*
    genderident* geschlechtsident*
identifier | name | surname vorname* nachname* firstname* lastname* fullname forename familienname
    geburtsname nom prenom apellido apellidos nombre cognome
identifier | mail address | mail mails email* courriel correo
identifier | phone number | phone phones tel fax cell handy telefono mobil mobile msisdn telefon*
    telephone* phonenum* phoneno* mobilnummer* handynummer*
identifier | address | address addr street adresse strasse* hausnr hausnummer* anschrift*
    streetaddress* direccion indirizzo
identifier | account or card | iban bic creditcard* cardnum* cardno* kreditkarte* kontonummer*
    kontonr* accountnum* accountno* bankaccount*
identifier | official number | ssn nino svnr ahv dni nie nif cpf mrn kvnr nhs bsn cpr pesel curp
    nss insee aadhaar passport passnr personnummer* socialsecurity* sozialversicherungsn* steuerid*
    steuernummer* reisepass* ausweis* driverlicen* driverslicen* fuhrerschein* fuehrerschein*
    medicalrecord* nationalid* versichertennummer* versichertennr* krankenversicherungsn*
    rentenversicherungsn* codicefiscale* insurancenumber* nhsnumber* healthnumber*
identifier | online identity | ip url login username twitter facebook instagram imei ipaddress*
    benutzername*
identifier | number plate | vin licenseplate* numberplate* kennzeichen*
quasi | institution | hospital clinic klinik krankenhaus ward station facility provider site
sensitive | income | wage wages pay inc pincp wagp pernp hincp povpip earning earnings lohn rente
    debt debts loan bonus savings tax wealth welfare pension revenu salaire ingreso ingresos
    reddito stipendio income* salary* einkommen* gehalt* einkunfte* einkuenfte* verdienst*
    vermogen* vermoegen* poverty* armut* schulden* creditscore* bonitat* schufa* capitalgain*
    capitalloss* networth* sozialhilfe*
sensitive | health | hiv icd dx aids std bmi drug drugs alcohol smoker smoking raucher covid
    genotype dna sick sickness mental befund pflegegrad dvet drem dphy deye dear ddrs dout dratx
    sante salud disease* diagnos* illness* health* medic* medik* krank* gesund* symptom* therap*
    treatment* behandlung* icd10* patholog* disab* behinder* cancer* krebs* tumor* diabet* asthma*
    depress* psych* pregnan* schwanger* abortion* blood* blutdruck* cholester* allerg* vaccin*
    impfung* injur* verletz* suicid* suizid* maladie* enfermedad* malattia* prescription* hospitali*
sensitive | crime | jail haft felony crime* criminal* convict* offence* offense* arrest* prison*
    verurteil* straftat* vorstraf* kriminal* haftstrafe* delikt* misdemeanor* recidiv*
sensitive | religion | faith belief creed church kirche religi* confession* konfession* glaube*
sensitive | politics | party vote voted votes union election partei politic* politisch*
    gewerkschaft* tradeunion* wahlverhalten* ideolog*
quasi | birth | dob born yob geb gebdat jahrgang birth* geburt* naissance* nacimiento* nascita*
quasi | age | age ages aged agep alter edad eta agegrp ageyears ageyrs agegroup* altersgruppe*
    altersklasse* lebensalter*
quasi | sex | sex gender sexo sesso sexe geschlecht*
quasi | zip code | zip plz postal zcta zip5 zip3 zipcode* postcode* postalcode* postleitzahl*
quasi | place | city town state county country region province district tract borough canton kanton
    metro location area puma fips nuts lat lon lng latitude longitude gps geocode geohash precinct
    coordinates parish neighborhood neighbourhood ort stadt land kreis gemeinde
    staat ville pays ciudad provincia comune municip* wohnort* bundesland* landkreis*
quasi | origin | race native origin rac1p hisp hispanic ancestry tribe caste herkunft rasse ethnie
    ethnic* nationalit* staatsangehor* citizen* migrationshint*
quasi | marital status | married msp marital* familienstand* zivilstand*
quasi | education | edu schl degree school abschluss university educat* bildung* schulabschl*
    qualificat*
quasi | work | job work profession industry branche occp indp position tatigkeit taetigkeit rank
    occupation* employ* beruf* arbeitgeber* erwerb* workclass*
quasi | family | relationship kids family noc npf np siblings dependents spouse household*
    haushalt* children* kinder*
quasi | housing | tenure dwelling own rent miete wohnung housing* wohnform* eigentum*
quasi | language | language tongue sprache* muttersprache
quasi | military service | veteran military
quasi | stature | height stature korpergrosse* koerpergroesse*
"""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_IDS = _words(
    "id ids uuid guid key ident identifier kennung serial serialno nr no num number nummer rowid "
    "caseid seqn lfdnr aktenzeichen pseudonym"
)
_PEOPLE = _words(
    "person patient pat subject subj participant respondent client customer cust member employee "
    "student user insured individual enrollee beneficiary policyholder holder account acct konto "
    "proband probanden teilnehmer kunde kunden klient klienten mitglied mitglieds versicherte "
    "versicherten schuler schueler mitarbeiter personal personen patienten paciente patiente "
    "paziente cliente socio afiliado asegurado assure adherent beneficiaire assicurato persona "
    "personne"
)
_GLUED = re.compile(
    r"(person|patient|pat|subject|subj|customer|cust|client|member|user|account|acct|insured"
    r"|employee|student|participant|respondent|enrollee|beneficiary|patienten|personen|personal"
    r"|mitglieds?|kunden|klienten|probanden|teilnehmer|versicherten|schueler|schuler|matrikel"
    r"|konto)(id|nr|no|num|number|nummer|key|code|kennung|ident)"
)
_HOUSEHOLDS = _words(
    "household households hh hhold family fam familie familien haushalt haushalts hogar familia "
    "foyer menage famille famiglia nucleo"
)
_GLUED_HOUSEHOLD = re.compile(
    r"(household|hhold|hh|family|fam|haushalts?|familien?|hogar|menage|foyer|famille|famiglia)"
    r"(id|nr|no|num|number|nummer|key|code|kennung|ident)|(id|nr|num)(hogar|menage|foyer|hh)"
)
_ALSO_IDS = _words("code codigo codice hash token ref reference referenz numero num number no")
OFFICIAL = "official number"
_NAMED = _words("first last full middle given maiden contact mother father doctor")
_BODY = _words("kg lb lbs g gram grams birth body geburts korper koerper baby")
_QUANTITY = _words(
    "number num count hours hour years year yrs months days day minutes size amount total score "
    "anzahl jahr jahre stunden tage monate grosse groesse betrag zahl age alter agep noc npf np "
    "height kids children kinder per cost costs price charge charges fee bill paid payment kosten "
    "preis gebuhr gebuehr summe rechnung cout prix precio costo"
)


@dataclass(frozen=True)
class Topic:
    """A subject a name can be about; `says` is the role that follows if the values agree."""

    name: str
    says: Says
    tokens: frozenset[str] = frozenset()
    parts: tuple[str, ...] = ()
    bare: bool = False  # a word for people, which may stand for something about them


def _read() -> tuple[Topic, ...]:
    topics = []
    for line in re.sub(r"\n +", " ", _DICTIONARY.strip()).splitlines():
        says, name, words = (cell.strip() for cell in line.split("|"))
        assert says in get_args(Says)
        listed = words.split()
        tokens = frozenset(word.rstrip("*") for word in listed)
        parts = tuple(word.rstrip("*") for word in listed if word.endswith("*"))
        topics.append(Topic(name, says, tokens, parts))  # type: ignore[arg-type]
    return tuple(topics)


TOPICS = _read()


def tokens_of(name: str) -> list[str]:
    """The words of a column name, lower case, without accents.

    >>> tokens_of("Kunden-Nr"), tokens_of("dateOfBirth")
    (['kunden', 'nr'], ['date', 'of', 'birth'])
    """
    spaced = re.sub(r"(?<=[a-zà-ÿ])(?=[A-ZÀ-Þ])", " ", name)
    plain = unicodedata.normalize("NFKD", spaced.casefold())
    letters = "".join(c for c in plain if not unicodedata.combining(c))
    return [token for token in re.split(r"[^a-z0-9]+", letters) if token]


def topic_of(name: str) -> Topic | None:
    """What the name is about; None when it says nothing we know."""
    tokens = tokens_of(name)
    words, joined = set(tokens), "".join(tokens)
    # "patient_id", "Kunden-Nr" and "userid" name the person a row is about.
    numbered = words & _PEOPLE and words & (_IDS | _ALSO_IDS)
    if words & {"pid", "uid"} or _GLUED.fullmatch(joined) or numbered:
        return Topic("person", "person")
    if words and words <= _PEOPLE:
        return Topic("person", "person", bare=True)
    # "hh_id" and "Haushaltsnr" name those who live together; "haushalt" may be how many they are.
    if _GLUED_HOUSEHOLD.fullmatch(joined) or (words & _HOUSEHOLDS and words & (_IDS | _ALSO_IDS)):
        return Topic("household", "household")
    if words and words <= _HOUSEHOLDS:
        return Topic("household", "household", bare=True)
    if "name" in words and (tokens == ["name"] or words & (_NAMED | _PEOPLE)):
        return Topic("name", "identifier")
    for topic in TOPICS:
        if topic.says == "weight" and words & _BODY:
            continue
        if topic.says == "count" and len(tokens) > 1:
            continue
        if words & topic.tokens or any(part in joined for part in topic.parts):
            return topic
    if words & (_IDS - {"num", "number", "no"}):
        return Topic("id", "id")
    return None


def subjects_of(name: str) -> set[str]:
    """The names of all that a name is about: `age at diagnosis` is an age, and about health.

    >>> subjects_of("hospital zip") == {"institution", "zip code"}
    True
    """
    tokens = tokens_of(name)
    joined = "".join(tokens)
    first = topic_of(name)
    return {first.name if first is not None else ""} - {""} | {
        topic.name
        for topic in TOPICS
        if topic.tokens & {*tokens} or any(part in joined for part in topic.parts)
    }


def may_begin_with_a_cell(name: str, values: Iterable[str]) -> bool:
    """Whether a name may be a name we know with somebody's value glued in front of it.

    So it is where a row and the header after it stand on one line: `values` are those of that
    row's last column. Numbers and capitals in front of a known name will do; other words must be
    a value (`mileage` ends in a known name, too).

    >>> may_begin_with_a_cell("fluage", ["flu", "cold"]), may_begin_with_a_cell("mileage", ["flu"])
    (True, False)
    """
    for value in values:
        rest = name.removeprefix(value)
        if value and rest and rest != name and (len(value) > 3 or topic_of(rest) is not None):
            return True
    glued = re.match(r"\W*\d[\W\d]*(?=[^\W\d_])", name)
    starts = [glued.end()] if glued else []
    starts += [
        at
        for at in range(2, len(name))
        if name[at].islower() and name[at - 1].isupper() and name[:at].isupper()
    ]
    return any(topic_of(name[at:]) is not None for at in starts)


def counts_something(name: str) -> bool:
    """Whether the name speaks of an amount: its few whole numbers are then no codes."""
    return bool(_QUANTITY & set(tokens_of(name)))
