"""ICD-10: the blocks and chapters of the international classification, and where a code lies.

A code belongs to a three-character category, a category to a block of neighbouring ones, a block to
a chapter. Bounds are those of the WHO's edition; titles are short ones of our own. National
editions add categories: those of ICD-10-CM and ICD-10-GM that the WHO's blocks leave out are put
into the block of what is nearest (`_ADDED`), so that every edition has the same blocks.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from functools import lru_cache
from string import ascii_uppercase, digits

_CHAPTERS = """
A00-B99 Infections
 A00-A09 Intestinal infections; A15-A19 Tuberculosis; A20-A28 Bacterial zoonoses
 A30-A49 Other bacterial diseases; A50-A64 Sexually transmitted infections
 A65-A69 Other spirochaetal diseases; A70-A74 Other chlamydial diseases; A75-A79 Rickettsioses
 A80-A89 Viral infections of the nervous system; A90-A99 Viral and haemorrhagic fevers
 B00-B09 Viral infections of skin and mucosa; B15-B19 Viral hepatitis; B20-B24 HIV disease
 B25-B34 Other viral diseases; B35-B49 Mycoses; B50-B64 Protozoal diseases; B65-B83 Helminthiases
 B85-B89 Lice, mites and other infestations; B90-B94 Sequelae of infections
 B95-B98 Infectious agents; B99-B99 Other infections
C00-D48 Neoplasms
 C00-C14 Cancer of lip, mouth and pharynx; C15-C26 Cancer of digestive organs
 C30-C39 Cancer of respiratory organs; C40-C41 Cancer of bone and cartilage; C43-C44 Skin cancer
 C45-C49 Cancer of mesothelium and soft tissue; C50-C50 Breast cancer
 C51-C58 Cancer of female genital organs; C60-C63 Cancer of male genital organs
 C64-C68 Cancer of the urinary tract; C69-C72 Cancer of eye and nervous system
 C73-C75 Cancer of endocrine glands; C76-C80 Secondary and ill-defined cancer
 C81-C96 Cancer of blood and lymph; C97-C97 Several primary cancers; D00-D09 In situ neoplasms
 D10-D36 Benign neoplasms; D37-D48 Neoplasms of uncertain behaviour
D50-D89 Blood and immunity
 D50-D53 Nutritional anaemias; D55-D59 Haemolytic anaemias; D60-D64 Aplastic and other anaemias
 D65-D69 Coagulation defects; D70-D77 Other diseases of blood; D80-D89 Immune disorders
E00-E90 Endocrine, nutrition and metabolism
 E00-E07 Thyroid disorders; E10-E14 Diabetes mellitus; E15-E16 Other glucose disorders
 E20-E35 Other endocrine disorders; E40-E46 Malnutrition; E50-E64 Other nutritional deficiencies
 E65-E68 Obesity; E70-E90 Metabolic disorders
F00-F99 Mental and behavioural disorders
 F00-F09 Organic mental disorders; F10-F19 Disorders due to substances
 F20-F29 Schizophrenia and delusional disorders; F30-F39 Mood disorders
 F40-F48 Neurotic and stress disorders; F50-F59 Behavioural syndromes with physical factors
 F60-F69 Personality disorders; F70-F79 Intellectual disability; F80-F89 Developmental disorders
 F90-F98 Disorders beginning in childhood; F99-F99 Unspecified mental disorder
G00-G99 Nervous system
 G00-G09 Inflammation of the nervous system; G10-G14 Atrophies of the nervous system
 G20-G26 Movement disorders; G30-G32 Other degenerative diseases; G35-G37 Demyelinating diseases
 G40-G47 Episodic disorders; G50-G59 Disorders of nerves and plexus; G60-G64 Polyneuropathies
 G70-G73 Diseases of muscle and synapse; G80-G83 Cerebral palsy and paralysis
 G90-G99 Other disorders of the nervous system
H00-H59 Eye
 H00-H06 Eyelid and orbit; H10-H13 Conjunctiva; H15-H22 Sclera, cornea and iris; H25-H28 Lens
 H30-H36 Choroid and retina; H40-H42 Glaucoma; H43-H45 Vitreous body and globe
 H46-H48 Optic nerve; H49-H52 Eye muscles and refraction; H53-H54 Visual disturbance
 H55-H59 Other disorders of the eye
H60-H95 Ear
 H60-H62 External ear; H65-H75 Middle ear; H80-H83 Inner ear; H90-H95 Other disorders of the ear
I00-I99 Circulatory system
 I00-I02 Acute rheumatic fever; I05-I09 Chronic rheumatic heart disease; I10-I15 Hypertension
 I20-I25 Ischaemic heart disease; I26-I28 Pulmonary heart disease; I30-I52 Other heart disease
 I60-I69 Cerebrovascular diseases; I70-I79 Diseases of arteries; I80-I89 Diseases of veins
 I95-I99 Other circulatory disorders
J00-J99 Respiratory system
 J00-J06 Acute upper respiratory infections; J09-J18 Influenza and pneumonia
 J20-J22 Other acute lower respiratory infections; J30-J39 Other upper respiratory diseases
 J40-J47 Chronic lower respiratory diseases; J60-J70 Lung diseases due to external agents
 J80-J84 Interstitial lung diseases; J85-J86 Suppurative lung diseases; J90-J94 Pleura
 J95-J99 Other respiratory diseases
K00-K93 Digestive system
 K00-K14 Mouth and jaws; K20-K31 Oesophagus, stomach and duodenum; K35-K38 Appendix; K40-K46 Hernia
 K50-K52 Noninfective enteritis and colitis; K55-K64 Other intestinal diseases; K65-K67 Peritoneum
 K70-K77 Liver; K80-K87 Gallbladder and pancreas; K90-K93 Other digestive diseases
L00-L99 Skin
 L00-L08 Skin infections; L10-L14 Bullous disorders; L20-L30 Dermatitis and eczema
 L40-L45 Papulosquamous disorders; L50-L54 Urticaria and erythema; L55-L59 Radiation disorders
 L60-L75 Skin appendages; L80-L99 Other skin disorders
M00-M99 Musculoskeletal system
 M00-M03 Infectious joint diseases; M05-M14 Inflammatory joint diseases; M15-M19 Arthrosis
 M20-M25 Other joint disorders; M30-M36 Connective tissue disorders; M40-M43 Deformed back
 M45-M49 Spondylopathies; M50-M54 Other back disorders; M60-M63 Muscles; M65-M68 Synovium and tendon
 M70-M79 Other soft tissue disorders; M80-M85 Bone density and structure; M86-M90 Other bones
 M91-M94 Chondropathies; M95-M99 Other musculoskeletal disorders
N00-N99 Genitourinary system
 N00-N08 Glomerular diseases; N10-N16 Tubulo-interstitial diseases; N17-N19 Renal failure
 N20-N23 Stones; N25-N29 Other kidney disorders; N30-N39 Other urinary diseases
 N40-N51 Male genital organs; N60-N64 Breast; N70-N77 Inflammation of female pelvic organs
 N80-N98 Other disorders of female genital tract; N99-N99 Other genitourinary disorders
O00-O99 Pregnancy and childbirth
 O00-O08 Abortive outcome; O10-O16 Hypertension and proteinuria in pregnancy
 O20-O29 Other disorders of pregnancy; O30-O48 Care of fetus and delivery problems
 O60-O75 Complications of labour; O80-O84 Delivery; O85-O92 Puerperium
 O94-O99 Other obstetric conditions
P00-P96 Perinatal period
 P00-P04 Maternal factors; P05-P08 Gestation and growth; P10-P15 Birth trauma
 P20-P29 Perinatal respiratory and cardiovascular disorders; P35-P39 Perinatal infections
 P50-P61 Haemorrhagic disorders of newborn; P70-P74 Transitory metabolic disorders of newborn
 P75-P78 Digestive disorders of newborn; P80-P83 Skin and temperature of newborn
 P90-P96 Other perinatal disorders
Q00-Q99 Congenital malformations
 Q00-Q07 Malformations of nervous system; Q10-Q18 Malformations of eye, ear, face and neck
 Q20-Q28 Malformations of circulatory system; Q30-Q34 Malformations of respiratory system
 Q35-Q37 Clefts of lip and palate; Q38-Q45 Other malformations of digestive system
 Q50-Q56 Malformations of genital organs; Q60-Q64 Malformations of urinary system
 Q65-Q79 Malformations of bones and muscles; Q80-Q89 Other malformations
 Q90-Q99 Chromosomal abnormalities
R00-R99 Symptoms and findings
 R00-R09 Circulatory and respiratory symptoms; R10-R19 Digestive symptoms; R20-R23 Skin symptoms
 R25-R29 Nervous and musculoskeletal symptoms; R30-R39 Urinary symptoms
 R40-R46 Cognition, perception and mood; R47-R49 Speech and voice; R50-R69 General symptoms
 R70-R79 Findings in blood; R80-R82 Findings in urine; R83-R89 Findings in other specimens
 R90-R94 Findings in imaging and function; R95-R99 Ill-defined causes of death
S00-T98 Injury and poisoning
 S00-S09 Injuries to head; S10-S19 Injuries to neck; S20-S29 Injuries to thorax
 S30-S39 Injuries to abdomen and pelvis; S40-S49 Injuries to shoulder and upper arm
 S50-S59 Injuries to elbow and forearm; S60-S69 Injuries to wrist and hand
 S70-S79 Injuries to hip and thigh; S80-S89 Injuries to knee and lower leg
 S90-S99 Injuries to ankle and foot; T00-T07 Injuries to several regions
 T08-T14 Injuries to unspecified parts; T15-T19 Foreign bodies; T20-T25 Burns of body surface
 T26-T28 Burns of eye and internal organs; T29-T32 Burns of several regions; T33-T35 Frostbite
 T36-T50 Poisoning by drugs; T51-T65 Toxic effects; T66-T78 Other effects of external causes
 T79-T79 Early complications of trauma; T80-T88 Complications of care; T90-T98 Sequelae of injuries
V01-Y98 External causes
 V01-V09 Pedestrians; V10-V19 Pedal cyclists; V20-V29 Motorcycle riders; V30-V39 Three-wheelers
 V40-V49 Car occupants; V50-V59 Pick-up truck occupants; V60-V69 Heavy transport; V70-V79 Bus
 V80-V89 Other land transport; V90-V94 Water transport; V95-V97 Air and space transport
 V98-V99 Other transport; W00-W19 Falls; W20-W49 Mechanical forces; W50-W64 Animals and people
 W65-W74 Drowning; W75-W84 Threats to breathing; W85-W99 Electricity, radiation and temperature
 X00-X09 Fire and smoke; X10-X19 Heat; X20-X29 Venomous animals and plants
 X30-X39 Forces of nature; X40-X49 Accidental poisoning; X50-X57 Overexertion and privation
 X58-X59 Other accidents; X60-X84 Self-harm; X85-Y09 Assault; Y10-Y34 Undetermined intent
 Y35-Y36 Legal intervention and war; Y40-Y59 Adverse effects of drugs
 Y60-Y69 Misadventures of care; Y70-Y82 Medical devices; Y83-Y84 Later reaction to procedures
 Y85-Y89 Sequelae of external causes; Y90-Y98 Supplementary factors
Z00-Z99 Health status and contact with services
 Z00-Z13 Examination; Z20-Z29 Hazards of communicable disease; Z30-Z39 Reproduction
 Z40-Z54 Specific procedures and care; Z55-Z65 Socioeconomic hazards; Z70-Z76 Other contact
 Z80-Z99 History and health status
U00-U99 Special purposes
 U00-U49 New diseases of uncertain cause; U50-U52 Functional limitation; U55-U55 Waiting list
 U60-U61 HIV categories; U69-U69 Other secondary codes; U80-U85 Resistance to drugs
 U98-U99 Other special codes
"""

# Where a block begins, and the categories of national editions that join it, where they are not in
# it by their place in the order.
_JOINED = """
B00:B10 C43:C4A D10:D3A D37:D49 D70:D78 D80:D90 E10:E08,E09 E20:E36 G60:G65 G90:G89
I10:I16,I1A I30:I5A J40:J4A K65:K68 K90:K94,K95 L80:L76 M05:M04,M1A M20:M26,M27 N40:N52,N53
N60:N65 O20:O09 O60:O76,O77 O94:O9A P00:P09 P20:P19 P90:P84 T79:T89 V01:V00 Y35:Y37,Y38
Y90:Y99 Z80:Z14,Z15,Z16,Z17,Z18,Z19,Z66,Z67,Z68,Z77,Z78,Z79 Z70:Z69 Z30:Z3A
"""
_ADDED = {
    added: begin
    for begin, _, listed in (entry.partition(":") for entry in _JOINED.split())
    for added in listed.split(",")
}
_THIRD = f"{digits}AB"
# A category, what follows it, a mark (dagger, asterisk, German + * !), German letters of certainty.
_CODE = re.compile(r"([A-Z][0-9][0-9AB])\.?[0-9A-Z]{0,5}[.-]{0,3}\s?[+*!†#]?\s?[A-Z]{0,2}")


@dataclass(frozen=True)
class CodeFamily:
    """A region of codes: a category, a block of categories, a chapter of blocks."""

    first: str
    last: str
    title: str = ""

    def contains(self, value: object) -> bool:
        return isinstance(value, str) and self in (families_of(value) or ())

    @property
    def text(self) -> str:
        """As it is published: `I10.-`, `I10-I15 Hypertension`."""
        if not self.title:
            return f"{self.first}.-"
        return f"{self.first}-{self.last} {self.title}"


def _families() -> tuple[list[CodeFamily], list[CodeFamily]]:
    chapters: list[CodeFamily] = []
    blocks: list[CodeFamily] = []
    for line in _CHAPTERS.strip().splitlines():
        for entry in line.strip().split("; "):
            bounds, title = entry.split(" ", 1)
            first, last = bounds.split("-")
            family = CodeFamily(first, last, title)
            (blocks if line.startswith(" ") else chapters).append(family)
    return sorted(chapters, key=_begin), sorted(blocks, key=_begin)


def _begin(family: CodeFamily) -> str:
    return family.first


CHAPTERS, BLOCKS = _families()
_FIRST_OF_CHAPTERS = [family.first for family in CHAPTERS]
_FIRST_OF_BLOCKS = [family.first for family in BLOCKS]


@lru_cache(1 << 16)
def category_of(text: str) -> str | None:
    """The three-character category of a code, however it is written; None if it is no code.

    >>> category_of("i10.90"), category_of("E119"), category_of("H36.0*"), category_of("flu")
    ('I10', 'E11', 'H36', None)
    """
    match = _CODE.fullmatch(text.strip().upper())
    return match[1] if match is not None and _block_of(match[1]) is not None else None


@lru_cache(1 << 16)
def families_of(text: str) -> tuple[CodeFamily, CodeFamily, CodeFamily] | None:
    """The category, block and chapter of a code; None if it is no code."""
    category = category_of(text)
    if category is None:
        return None
    block = _block_of(category)
    assert block is not None
    chapter = CHAPTERS[bisect_right(_FIRST_OF_CHAPTERS, block.first) - 1]
    return CodeFamily(category, category), block, chapter


def family_labelled(label: str) -> CodeFamily | None:
    """The family that is published by a label; None if it is none."""
    match = re.fullmatch(r"([A-Z][0-9][0-9AB])\.-", label)
    if match is not None:
        return CodeFamily(match[1], match[1]) if category_of(match[1]) else None
    return _BY_LABEL.get(label)


def categories_of(family: CodeFamily) -> list[str]:
    """All categories that a family may have."""
    letters = ascii_uppercase[ord(family.first[0]) - ord("A") : ord(family.last[0]) - ord("A") + 1]
    known = [f"{letter}{two}{three}" for letter in letters for two in digits for three in _THIRD]
    return [category for category in known if family.contains(category)]


def _block_of(category: str) -> CodeFamily | None:
    category = _ADDED.get(category, category)
    block = BLOCKS[max(bisect_right(_FIRST_OF_BLOCKS, category) - 1, 0)]
    return block if block.first <= category <= block.last else None


_BY_LABEL = {family.text: family for family in (*BLOCKS, *CHAPTERS)}
