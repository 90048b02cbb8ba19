"""Policy: the criteria a release must satisfy, and the schema of the table it is about.

In Python a policy is built from criteria; in a file it is TOML with a `[schema]` table and one
`[[require]]` table per criterion. Both go through the same constructors, so a bound that Python
refuses is refused in a file, and every mistake is answered by one line naming key, value and what
is allowed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from hashlib import sha256
from pathlib import Path

from sfumato.anonymizers.base import Anonymizer, check_suppression
from sfumato.criteria.base import Criterion
from sfumato.engines.form import check_format
from sfumato.engines.reading import OF_POLICIES, Reading
from sfumato.engines.textfile import reading_of_another
from sfumato.errors import PolicyError, expect, quoted
from sfumato.perturbation.base import Perturbation
from sfumato.perturbation.pseudonyms import PseudonymKey
from sfumato.policy.rules.base import RuleSet
from sfumato.release.perturb_table import check_perturbations
from sfumato.schema.roles import Schema
from sfumato.table import Table
from sfumato.utility import utility_named
from sfumato.utility.base import Utility
from sfumato.utility.loss import Loss
from sfumato.utility.use import Use


@dataclass(frozen=True)
class Policy:
    """What a release must satisfy."""

    require: Sequence[Criterion]
    """The criteria it must satisfy, one at least; in a file a table `[[require]]` each. Example:
    `require = [{ kind = "k-anonymity", k = 5 }]`.
    """
    anonymizer: Anonymizer | None = None
    """What makes the release; without it the best of what applies. Example: `anonymizer = { kind =
    "mondrian" }`.
    """
    utility: str = "loss"
    """What is made best. Example: `utility = "discernibility"`."""
    suppression: float = 0.0
    """The share of people whom the anonymizer may leave out, from 0 to 1. Example: `suppression =
    0.02`.
    """
    schema: Schema | None = None
    """The roles of the columns, and how each may be coarsened. Example:
    `schema = { quasi = ["age", "zip", "sex"], sensitive = ["disease"] }`.
    """
    use: Use | None = None
    """What the release is for: loss is then measured by that, so another utility cannot be named
    beside it. Example: `use = { weights = { age = 3 } }`.
    """
    read: Reading = field(default_factory=Reading)
    """How the file that the policy was written for is to be read, and by which engine. Example:
    `read = { delimiter = ";" }`.
    """
    format: str | None = None
    """In which format a release is written, if not the way its table came. Example: `format =
    "parquet"`.
    """
    profile: RuleSet | None = None
    """A rule set whose paragraphs are judged besides. Example: `profile = "public-file"`."""
    perturb: Mapping[str, Perturbation] = field(default_factory=dict)
    """What is done to sensitive and kept columns before anything is counted, by column. Example:
    `perturb = { income = { kind = "rounding", to = 100 } }`.
    """
    pseudonyms: PseudonymKey = field(default_factory=PseudonymKey)
    """Where the key of pseudonyms is kept. Example: `pseudonyms = { length = 20 }`."""

    def __post_init__(self) -> None:
        if not isinstance(self.require, Iterable):
            raise PolicyError(f"require = {quoted(self.require)} is not a list of criteria")
        object.__setattr__(self, "require", tuple(self.require))
        if not self.require:
            raise PolicyError("a policy must require at least one criterion")
        utility_named(self.utility)
        self._check_use()
        check_suppression(self.suppression)
        if self.anonymizer is not None and not isinstance(self.anonymizer, Anonymizer):
            raise PolicyError(f"anonymizer: {quoted(self.anonymizer)} is not an anonymizer")
        if self.format is not None:
            check_format(self.format)
        check_perturbations(self.perturb, self.schema)
        expect("pseudonyms", self.pseudonyms, PseudonymKey, "a PseudonymKey")
        expect("read", self.read, Reading, "a Reading")
        expect("profile", self.profile, (RuleSet, type(None)), "a rule set such as SafeHarbor()")
        if (
            strange := self.read.given_fields().keys()
            - self.read.about(*OF_POLICIES).given_fields().keys()
        ):
            raise PolicyError(f"read: {', '.join(sorted(strange))} cannot be told by a policy")
        for criterion in self.require:
            if not isinstance(criterion, Criterion):
                raise PolicyError(f"require: {quoted(criterion)} is not a criterion")
            self._check_columns(criterion)

    def _check_use(self) -> None:
        """A use fits the loss to itself, and is about columns of the schema, if there is one."""
        if self.use is None:
            return
        if not isinstance(self.use, Use):
            raise PolicyError(f"use = {quoted(self.use)} is not allowed; it must be a Use")
        if self.utility != Loss.name:
            raise PolicyError(
                f"utility = {self.utility!r} and use both say what makes a release useful; leave "
                "out one of them"
            )
        if self.schema is not None:
            self.use.check(self.schema.quasi, self.schema.sensitive)

    def measure(self, table: Table) -> Utility:
        """What releases of a table cost by this policy: its utility, fitted to the use if any."""
        if self.use is None:
            return utility_named(self.utility)
        return self.use.measure(table.counts)

    def _check_columns(self, criterion: Criterion) -> None:
        """A criterion is about columns that the schema, if there is one, calls so."""
        if self.schema is None:
            return
        criterion.check_columns(self.schema.quasi)
        known = self.schema.sensitive
        named = [("joint", name) for name in criterion.joint]
        if criterion.sensitive is not None:
            named.append(("sensitive", criterion.sensitive))
        for option, name in named:
            if name not in known:
                raise PolicyError(
                    f"{criterion.name}: {option} = {name!r} is not a sensitive "
                    f"column; allowed: {', '.join(known) or 'none'}"
                )

    def reading_of(self, files: Sequence[Path], given: Reading) -> Reading:
        """How to read what may be the policy's table, or a release: as given, else as it says.

        A release is not the table it was made of: our own folders say themselves how they are
        written, and another file is taken at the policy's word only if it has the columns then.
        """
        reading = given.over(self.read.about("engine"))
        if any(not path.is_file() for path in files):
            return reading.over(Reading(partitioned=self.read.partitioned))
        columns = set(self.schema.quasi) if self.schema is not None else set()
        return reading.over(reading_of_another(self.read, files, columns))

    @classmethod
    def load(cls, path: str | Path) -> Policy:
        """Read a TOML policy; file names in it are relative to it, where it truly is if linked."""
        from sfumato.policy.toml import load_policy

        return cls(**load_policy(Path(path)))

    @classmethod
    def parse(cls, text: str, folder: str | Path = ".") -> Policy:
        """Read the text of a TOML policy; file names in it are relative to the folder."""
        from sfumato.policy.toml import parse_policy

        return cls(**parse_policy(text, Path(folder) / "policy.toml"))

    @property
    def maker(self) -> Anonymizer:
        """What makes the release: the anonymizer that is named, else the best of what applies."""
        from sfumato.anonymizers.best import Best  # with all others: an audit needs none of them

        return Best() if self.anonymizer is None else self.anonymizer

    def public(self) -> dict[str, object]:
        """What may be told of the policy with a release: how it was made, by which bounds."""
        entries: dict[str, object] = {
            "require": [str(criterion) for criterion in self.require],
            "anonymizer": self.maker.name,
            "utility": self.utility,
            "suppression": self.suppression,
        }
        if self.profile is not None:
            entries["profile"] = self.profile.name
            entries |= (
                {"stated_by_owner": statements} if (statements := self.profile.statements) else {}
            )
        return entries

    def save(self, path: str | Path) -> None:
        """Write the policy as TOML that `load` reads back as an equal policy."""
        from sfumato.policy.toml import save_policy

        save_policy(Path(path), self)

    def save_evidence(self, private: Path, out: Path, schema: Schema | None) -> None:
        """Write the policy a release was made by into a folder that becomes `out`/private.

        It tells the files that were used from there, and the earlier releases as they were read. A
        policy without a schema takes the table's, if its files need one.
        """
        from sfumato.policy.linked_files import Links
        from sfumato.policy.toml import save_policy

        kept = self if self.schema is not None else replace(self, schema=schema)
        links = Links(
            private,
            kept.schema,
            home=out / "private",
            gone=out,
            pinned=True,
            table_reading=kept.read,
        )
        save_policy(private / "policy.toml", kept if links.any_in(self.require) else self, links)

    @property
    def fingerprint(self) -> str:
        """The same for policies by which the same releases are made of a table."""
        schema = self.schema
        if schema is not None:  # in whatever order a file lists its columns
            by_column = {
                declared.name: dict(sorted(given.items()))
                for declared in fields(schema)
                if isinstance(given := getattr(schema, declared.name), Mapping)
            }
            schema = replace(schema, **by_column)  # type: ignore[arg-type]
        decisive = replace(self, anonymizer=self.maker, read=Reading(), format=None, schema=schema)
        return sha256(repr(decisive).encode()).hexdigest()[:16]

    @property
    def needs_people(self) -> bool:
        """Whether judging it takes who is in which group."""
        return any("members" in criterion.needs for criterion in self.require)
