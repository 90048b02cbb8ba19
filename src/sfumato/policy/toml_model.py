"""The keys of a policy file that are no constructor's own, and what stands behind hierarchies.

What a key means stands below the field: here, or where the object it becomes has a field of the
same name (`Schema`, `Policy`, `Use`, `Limits`, `PseudonymKey`). `scripts/write_reference.py` makes
docs/policy-reference.md of it.

Stands apart: these are a file's words, and what reads them is another matter.
"""

from __future__ import annotations

import datetime as dt
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

TomlNumber = int | float
Scalar = str | int | float | bool | dt.date


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class IntervalsModel(_Strict):
    """Numbers to ranges: of growing width, or between given cut points."""

    kind: Literal["intervals"]
    widths: list[TomlNumber] | None = None
    """The width of ranges, level by level, each a multiple of the one before. Example: `widths =
    [5, 10, 20]`.
    """
    cuts: list[TomlNumber] | list[list[TomlNumber]] | None = None
    """Instead of widths, where ranges end: of one level, or of each, the later among the earlier.
    Example: `cuts = [[18, 40, 65], [65]]`.
    """
    origin: TomlNumber = 0
    """Where ranges of a width begin to be counted. Example: `origin = 18` with `widths = [5, 10]`.
    """
    top: TomlNumber | None = None
    """Numbers from here on are one range, `>=90`, on every level. Example: `top = 90` with `widths
    = [5, 10]`.
    """
    bottom: TomlNumber | None = None
    """Numbers below are one range, `<18`, on every level. Example: `bottom = 18` with `widths = [5,
    10]`.
    """


class AgeGroupsModel(_Strict):
    """Years of age in the groups of statistical offices."""

    kind: Literal["age_groups"]
    groups: list[str] = Field(default_factory=list)
    """From fine to coarse, some of "five", "ten", "broad" (all of them, if left out), or "five",
    "decades". Example: `groups = ["five", "broad"]`.
    """


class MaskModel(_Strict):
    """Texts lose one more character from the right on each level: `13053`, `1305*`, `130**`."""

    kind: Literal["mask"]
    keep: list[int] = Field(default_factory=list)
    """How many characters each level shows instead: `130**`, `13***`. Example: `keep = [3, 2]`."""


class Icd10Model(_Strict):
    """ICD-10 codes to their category, block and chapter."""

    kind: Literal["icd10"]


class Zip3Model(_Strict):
    """ZIP codes to their first three digits where enough people live, else to 000."""

    kind: Literal["zip3"]
    populous: list[str]
    """The first three digits of where enough people live. Example: `populous = ["100", "130"]`."""


class SuppressionModel(_Strict):
    """The value, or `*`."""

    kind: Literal["suppression"]


class TaxonomyModel(_Strict):
    """A tree of labels: the path from each value towards `*`; from a file, or written out."""

    kind: Literal["taxonomy"]
    file: str | None = None
    """A CSV file beside the policy with a line `value;label;...` for each value, as ARX has it.
    Example: `file = "work.csv"`.
    """
    paths: dict[str, str | list[str]] | None = None
    """For each value its label, or its labels from fine to coarse. Example: `paths = { F = "any", M
    = "any" }`.
    """


class DatesModel(_Strict):
    """Dates to longer and longer periods."""

    kind: Literal["dates"]
    units: list[str] = Field(default_factory=list)
    """From fine to coarse, of "day", "week", "month", "quarter", "year", "decade"; if left out from
    "month" on. Example: `units = ["month", "year"]`.
    """
    top: int | None = None
    """Dates from this year on are one period. Example: `top = 2020`."""
    bottom: int | None = None
    """Dates before this year are one period. Example: `bottom = 1930`."""


HIERARCHIES: dict[str, type[BaseModel]] = {
    "intervals": IntervalsModel,
    "age_groups": AgeGroupsModel,
    "icd10": Icd10Model,
    "zip3": Zip3Model,
    "mask": MaskModel,
    "suppression": SuppressionModel,
    "taxonomy": TaxonomyModel,
    "dates": DatesModel,
}
HierarchyModel = Annotated[
    IntervalsModel
    | AgeGroupsModel
    | MaskModel
    | Icd10Model
    | Zip3Model
    | SuppressionModel
    | TaxonomyModel
    | DatesModel,
    Field(discriminator="kind"),
]


class LimitsModel(_Strict):
    finest: int | str = 0
    coarsest: int | str | None = None
    star: bool = True


class SchemaModel(_Strict):
    quasi: str | list[str]
    sensitive: str | list[str] = Field(default_factory=list)
    identifiers: list[str] = Field(default_factory=list)
    keep: list[str] = Field(default_factory=list)
    person: str | None = None
    count: str | None = None
    weight: str | None = None
    publish_weight: str | None = None
    protect: str | None = None
    hierarchies: dict[str, HierarchyModel] = Field(default_factory=dict)
    domains: dict[str, str | list[Scalar]] = Field(default_factory=dict)
    units: dict[str, str | TomlNumber] = Field(default_factory=dict)
    limits: dict[str, LimitsModel] = Field(default_factory=dict)
    levels: dict[str, int] = Field(default_factory=dict)
    lists: dict[str, str] = Field(default_factory=dict)
    nulls: str = "value"
    several: str = "set"
    rows: str = "gathered"
    knows: int | str = "all"
    household: str | None = None
    insist: list[str] = Field(default_factory=list)
    pseudonyms: list[str] = Field(default_factory=list)


class UseModel(_Strict):
    weights: dict[str, Any] = Field(default_factory=dict)
    queries: list[Any] = Field(default_factory=list)
    target: str | None = None


class PseudonymModel(_Strict):
    key_file: str | None = None
    ledger: str | None = None
    length: int = 16


class PolicyModel(_Strict):
    read: dict[str, Any] = Field(default_factory=dict)
    schema_: SchemaModel | None = Field(default=None, alias="schema")
    require: list[dict[str, Any]]
    anonymizer: dict[str, Any] | None = None
    utility: str = "loss"
    suppression: TomlNumber = 0.0
    format: str | None = None
    profile: str | dict[str, Any] | None = None
    perturb: dict[str, dict[str, Any]] = Field(default_factory=dict)
    pseudonyms: PseudonymModel | None = None
    use: UseModel | None = None
