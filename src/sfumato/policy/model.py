"""Policy: the criteria a release must satisfy, and the schema of the table it is about.

In Python a policy is built from criteria; in a file it is TOML with a `[schema]` table and one
`[[require]]` table per criterion. Both go through the same constructors, so a bound that Python
refuses is refused in a file, and every mistake is answered by one line naming key, value and what
is allowed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sfumato.criteria.base import Criterion
from sfumato.errors import PolicyError
from sfumato.schema.roles import Schema


@dataclass(frozen=True)
class Policy:
    """What a release must satisfy."""

    require: Sequence[Criterion]
    schema: Schema | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "require", tuple(self.require))
        if not self.require:
            raise PolicyError("a policy must require at least one criterion")
        for criterion in self.require:
            if not isinstance(criterion, Criterion):
                raise PolicyError(f"require: {criterion!r} is not a criterion")
            known = self.schema.sensitive if self.schema is not None else (criterion.sensitive,)
            if criterion.sensitive is not None and criterion.sensitive not in known:
                raise PolicyError(
                    f"{criterion.name}: sensitive = {criterion.sensitive!r} is not a sensitive "
                    f"column; allowed: {', '.join(str(name) for name in known) or 'none'}"
                )

    @classmethod
    def load(cls, path: str | Path) -> Policy:
        """Read a TOML policy; file names in it are relative to it."""
        from sfumato.policy.toml import load_policy

        schema, require = load_policy(Path(path))
        return cls(require, schema)

    def save(self, path: str | Path) -> None:
        """Write the policy as TOML that `load` reads back as an equal policy."""
        from sfumato.policy.toml import save_policy

        save_policy(Path(path), self.schema, self.require)
