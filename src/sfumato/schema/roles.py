"""Schema: what each column is to an adversary, and how it may be coarsened.

Every published column has a role. A column without one is never read and never published.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, get_args

from sfumato.errors import SchemaError, did_you_mean, list_some, quoted
from sfumato.schema.boundaries import BoundaryUnit, check_unit
from sfumato.schema.domain import Declared, Domain
from sfumato.schema.hierarchy import Hierarchy, Levels
from sfumato.schema.limits import Limits
from sfumato.schema.recipes import Suppression

ShownRows = Literal["gathered", "unlinked", "linked"]


@dataclass(frozen=True)
class Schema:
    """The roles of a table's columns, and what is known of each column."""

    quasi: Sequence[str]
    """Columns an adversary may know about a person and find her by. Example: `quasi = ["age",
    "zip", "sex"]`.
    """
    sensitive: str | Sequence[str] = ()
    """What she must not learn: one column or several. Example: `sensitive = ["disease"]`."""
    identifiers: Sequence[str] = ()
    """Columns dropped before anything else. Example: `identifiers = ["name"]`."""
    keep: Sequence[str] = ()
    """Columns published as they are, unprotected. Example: `keep = ["ward"]`."""
    person: str | None = None
    """The column that names whose row it is; k then counts people, not rows. Example: `person =
    "patient"`.
    """
    count: str | None = None
    """The column that says how many people a row stands for (a table that was counted already).
    Example: `count = "people"`.
    """
    weight: str | None = None
    """The column of survey weights: how many people of the population a record stands for. It is
    published only with `publish_weight`. Example: `weight = "weights"`.
    """
    publish_weight: Literal["group", "keep"] | None = None
    """Publish survey weights as the mean of each "group", or "keep" them as they are. Example:
    `publish_weight = "group"` with `weight = "weights"`.
    """
    protect: str | None = None
    """The column that names each person's set of protected values (epsilon-privacy). Example:
    `protect = "wish"`.
    """
    hierarchies: Mapping[str, Hierarchy] = field(default_factory=dict)
    """How far a column may be coarsened, step by step; the value or `*` where none is
    given. Example: `hierarchies = { age = { kind = "intervals",
    widths = [5, 10, 20] } }`.
    """
    domains: Mapping[str, Declared] = field(default_factory=dict)
    """What a column holds, where the data do not tell: "categorical", "ordered", "numeric", "date",
    or all its values in their order. Example: `domains = { sex = ["F", "M"], zip = "categorical"
    }`.
    """
    units: Mapping[str, BoundaryUnit] = field(default_factory=dict)
    """The smallest step that published bounds and centroids of a quasi-identifier may tell: a
    number (1, 0.01), or of dates "day", "week", "month", "quarter", "year", "decade"; without one
    they keep to the finest level of its hierarchy, or to round numbers. Example: `units = { age = 1
    }`.
    """
    limits: Mapping[str, Limits] = field(default_factory=dict)
    """The finest and the coarsest level a quasi-identifier may be published at. Example: `limits
    = { age = { finest = 1, coarsest = 2 } }` with `hierarchies = { age = { kind = "intervals",
    widths = [5, 10, 20] } }`.
    """
    levels: Mapping[str, int] = field(default_factory=dict)
    """The hierarchy level at which a sensitive column is judged and published: a salary by its
    thousands. Example: `levels = { disease = 1 }` with `hierarchies = { disease = { kind = "icd10"
    } }`.
    """
    nulls: Literal["value", "error"] = "value"
    """Whether a missing value is a "value" like any other, or an "error". Example: `nulls =
    "error"`.
    """
    lists: Mapping[str, str] = field(default_factory=dict)
    """For a sensitive column whose texts list several values, what separates them, or "json".
    Example: `lists = { disease = ";" }`.
    """
    several: Literal["set", "multiset"] = "set"
    """Whether a value that somebody has twice counts once ("set") or twice ("multiset"). Example:
    `several = "multiset"`.
    """
    rows: ShownRows = "gathered"
    """What the release shows of a person's several rows: one person with a set of values for those
    with equal quasi-identifiers ("gathered"), each as a row of its own that does not say whose it
    is ("unlinked"), or rows with a pseudonym ("linked"). Example: `rows = "linked"` with `person =
    "patient"`.
    """
    knows: int | Literal["all"] = "all"
    """How many of a person's rows an adversary knows, or "all". Example: `knows = 2` with `rows =
    "linked"` and `person = "patient"`.
    """
    household: str | None = None
    """The column that names the household a person belongs to. Example: `household = "address"`."""
    insist: Sequence[str] = ()
    """Columns of free text that are published although anything may stand in them, or of dates
    whose years have two digits. Example: `insist = ["note"]` with `keep = ["note"]`.
    """
    pseudonyms: Sequence[str] = ()
    """Identifiers of which keyed pseudonyms are published, and never themselves. Example:
    `pseudonyms = ["patient"]`.
    """

    def __post_init__(self) -> None:
        for role in ("quasi", "sensitive", "identifiers", "keep", "insist", "pseudonyms"):
            given = getattr(self, role)
            if not isinstance(given, str) and not isinstance(given, Collection):
                raise SchemaError(f"{role} = {quoted(given)} is not a list of column names")
            names = (given,) if isinstance(given, str) else tuple(given)
            object.__setattr__(self, role, names)
            for name in names:
                if not isinstance(name, str) or not name:
                    raise SchemaError(f"{role}: {quoted(name)} is not a column name")
        if not self.quasi:
            raise SchemaError("quasi is empty: name the columns an adversary may know")
        self._check_one_role_each()
        for name in self.insist:
            if name not in (*self.quasi, *self.sensitive, *self.keep):
                raise SchemaError(
                    f"insist: column {name!r} is not published; list it in keep, quasi or sensitive"
                )
        if not isinstance(self.nulls, str) or self.nulls not in ("value", "error"):
            raise SchemaError(f"nulls: {quoted(self.nulls)} is not allowed; use 'value' or 'error'")
        if not isinstance(self.several, str) or self.several not in ("set", "multiset"):
            raise SchemaError(
                f"several: {quoted(self.several)} is not allowed; use 'set' or 'multiset'"
            )
        if self.person and self.count:
            raise SchemaError(
                "person and count exclude each other: a row is either one person's or stands for "
                "several people; drop one"
            )
        self._check_weight()
        self._check_rows()
        for option in ("hierarchies", "domains", "units", "limits", "levels", "lists"):
            if not isinstance(getattr(self, option), Mapping):
                given = quoted(getattr(self, option))
                raise SchemaError(f"{option} = {given} is not allowed; give them by column")
        known = {*self.quasi, *self.sensitive}
        for option in ("hierarchies", "domains", "levels"):
            for name in getattr(self, option):
                if name not in known:
                    raise SchemaError(
                        f"{option}: column {name!r} is neither quasi nor sensitive; "
                        f"{did_you_mean(name, known)}"
                    )
        for option in ("units", "limits"):
            for name in getattr(self, option):
                if name not in self.quasi:
                    raise SchemaError(
                        f"{option}: column {name!r} is not a quasi-identifier; "
                        f"{did_you_mean(name, self.quasi)}"
                    )
        for name, unit in self.units.items():
            check_unit(name, unit)
        for name, limit in self.limits.items():
            if not isinstance(limit, Limits):
                raise SchemaError(
                    f"limits: column {name!r} has {quoted(limit)}; give Limits(finest=, coarsest=, "
                    "star=)"
                )
        for name, recipe in self.hierarchies.items():
            if not isinstance(recipe, Hierarchy):
                raise SchemaError(
                    f"hierarchies: column {name!r} has {quoted(recipe)}; use intervals, mask, "
                    "taxonomy, dates, icd10, zip3, age_groups or suppression"
                )
        for name, level in self.levels.items():
            if name not in self.sensitive or name not in self.hierarchies:
                raise SchemaError(f"levels: column {name!r} must be sensitive and have a hierarchy")
            if not isinstance(level, int) or level < 0:
                raise SchemaError(f"levels: {name!r} has level {level!r}; use 0, 1, 2, ...")
        for name, form in self.lists.items():
            if name not in self.sensitive:
                raise SchemaError(
                    f"lists: column {name!r} is not sensitive, and only sensitive columns may hold "
                    f"several values; {did_you_mean(name, self.sensitive)}"
                )
            if not isinstance(form, str) or not form:
                raise SchemaError(
                    f"lists: column {name!r} has {form!r}; give what separates the values, such as "
                    "';', or 'json'"
                )

    def _check_weight(self) -> None:
        if self.publish_weight is None:
            return
        if not isinstance(self.publish_weight, str) or self.publish_weight not in ("group", "keep"):
            raise SchemaError(
                f"publish_weight: {quoted(self.publish_weight)} is not allowed; use 'group' (the "
                "mean of each group) or 'keep' (as they are), or leave it out"
            )
        if self.weight is None:
            raise SchemaError("publish_weight needs weight, the column of survey weights")

    def _check_rows(self) -> None:
        """What is said of people with several rows, and of households."""
        if not isinstance(self.rows, str) or self.rows not in get_args(ShownRows):
            raise SchemaError(
                f"rows: {quoted(self.rows)} is not allowed; use 'gathered', 'unlinked' or 'linked'"
            )
        knows = self.knows
        if knows != "all" and (isinstance(knows, bool) or not isinstance(knows, int) or knows < 1):
            raise SchemaError(f"knows: {quoted(knows)} is not allowed; use 1, 2, 3, ... or 'all'")
        if self.rows == "gathered" and knows != "all":
            raise SchemaError(
                "knows is about people's several rows, which rows = 'gathered' puts together; say "
                "rows = 'unlinked' or 'linked', or leave knows out"
            )
        if self.rows != "gathered" and self.person is None:
            raise SchemaError(
                f"rows = {self.rows!r} needs person, the column that names whose row it is"
            )
        if self.pseudonyms and (self.rows == "unlinked" or self.count is not None):
            conflict = "count" if self.count is not None else f"rows = {self.rows!r}"
            raise SchemaError(
                f"pseudonyms and {conflict} do not go together: a pseudonym stands on one row, or "
                "links rows (rows = 'linked')"
            )
        if self.pseudonyms and self.rows == "linked" and self.pseudonyms != (self.person,):
            raise SchemaError(
                f"pseudonyms: where rows are linked it is by person; name {self.person!r} alone "
                "there for keyed ones, or leave pseudonyms out for random numbers"
            )
        if self.rows == "unlinked" and self.publish_weight == "keep":
            raise SchemaError(
                "publish_weight = 'keep' and rows = 'unlinked' do not go together: a weight that "
                "stands on all rows of a person links them as a pseudonym does; use 'group', the "
                "mean of each group's rows"
            )
        if self.rows == "unlinked" and self.lists:
            raise SchemaError(
                "lists and rows = 'unlinked' do not go together: a row's list is neither the value "
                "of a row nor all that a person has; give every value a row of its own"
            )
        if self.household is not None and self.count:
            raise SchemaError(
                "household and count do not go together: whose household is found is told of "
                "people one by one; leave one of them out"
            )

    def _check_one_role_each(self) -> None:
        role_of: dict[str, str] = {}
        for role, name in self.roles():
            if name in role_of:
                first_role = role_of[name]
                twice = (
                    f"twice as {role}" if first_role == role else f"as {first_role} and as {role}"
                )
                raise SchemaError(
                    f"column {name!r} is listed {twice}; give every column exactly one role"
                )
            role_of[name] = role

    def roles(self) -> list[tuple[str, str]]:
        """(role, column) for every column that has one."""
        listed = [
            (role, name)
            for role in ("quasi", "sensitive", "identifiers", "keep", "pseudonyms")
            for name in getattr(self, role)
            if not (role == "pseudonyms" and self.rows == "linked" and name == self.person)
        ]
        for role in ("person", "count", "weight", "protect", "household"):
            name = getattr(self, role)
            if name is not None:
                listed.append((role, name))
        return listed

    @property
    def in_short(self) -> str:
        """Its columns by their main roles, in a line."""
        sensitive = list_some(self.sensitive) or "none"
        return f"quasi-identifiers: {list_some(self.quasi)}; sensitive: {sensitive}"

    @property
    def kept(self) -> tuple[str, ...]:
        """The columns of which everybody's own value is published as it is."""
        own = (self.weight,) if self.weight and self.publish_weight == "keep" else ()
        return (*self.keep, *own)

    @property
    def judged(self) -> tuple[str, ...]:
        """The columns whose values an adversary reasons about."""
        return (*self.quasi, *self.sensitive)

    def part(
        self, quasi: Sequence[str], sensitive: Sequence[str] = (), keep: Sequence[str] = ()
    ) -> Schema:
        """What these columns alone mean: how they may be coarsened and told, no other role."""
        known = {*quasi, *sensitive}
        return Schema(
            quasi,
            sensitive,
            keep=keep,
            insist=[name for name in self.insist if name in {*known, *keep}],
            nulls=self.nulls,
            hierarchies={
                name: hierarchy for name, hierarchy in self.hierarchies.items() if name in known
            },
            domains={name: domain for name, domain in self.domains.items() if name in known},
            units={name: unit for name, unit in self.units.items() if name in set(quasi)},
            limits={name: limit for name, limit in self.limits.items() if name in set(quasi)},
            levels={name: level for name, level in self.levels.items() if name in set(sensitive)},
            lists={
                name: separator for name, separator in self.lists.items() if name in set(sensitive)
            },
            several=self.several,
        )

    def of_register(
        self, quasi: Sequence[str] | None = None, sensitive: Sequence[str] = ()
    ) -> Schema:
        """How a register of the population is read: where rows are linked, person by person."""
        part = self.part(self.quasi if quasi is None else quasi, sensitive)
        if self.rows != "linked":
            return part
        return replace(part, person=self.person, rows=self.rows, knows=self.knows)

    def without(self, column: str) -> Schema:
        """The same but for a quasi-identifier, which has no role then and is not published."""
        return replace(
            self,
            quasi=[name for name in self.quasi if name != column],
            hierarchies={
                name: hierarchy for name, hierarchy in self.hierarchies.items() if name != column
            },
            domains={name: domain for name, domain in self.domains.items() if name != column},
            units={name: unit for name, unit in self.units.items() if name != column},
            limits={name: limit for name, limit in self.limits.items() if name != column},
        )

    def hierarchy(self, column: str) -> Hierarchy:
        """The column's hierarchy; value-or-`*` where none was given."""
        return self.hierarchies.get(column, Suppression())

    def bind(self, domain: Domain) -> Levels:
        """The levels of a column with these values, and which of them its limits allow."""
        recipe = self.hierarchy(domain.name)
        levels, limits = recipe.bind(domain), self.limits.get(domain.name)
        return levels if limits is None else limits.bind(recipe, levels)
