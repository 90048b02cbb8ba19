"""The draft is tried before it is shown: a release is made by it from some of the rows.

What cannot be judged on such a table is commented out with the reason; what stands in the way of
any release is told at the top.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from sfumato.anonymizers.base import Task
from sfumato.anonymizers.mondrian.mondrian import Mondrian
from sfumato.counts.scan import scan
from sfumato.criteria.base import judge
from sfumato.engines.base import named, select
from sfumato.errors import SfumatoError
from sfumato.policy.draft.profile import TABLE, Sample
from sfumato.policy.draft.roles import Roles
from sfumato.policy.model import Policy
from sfumato.release.release import as_it_stands
from sfumato.table import Table, levels_of

ROWS = 4_000  # rows of the rehearsal, by hash of the person or of the row: a second at most
_STAGE = "draft_rehearsal"


@dataclass(frozen=True)
class Rehearsal:
    """What came of it: bounds that could not be judged, and why there was no release.

    `stage` are the rows it was tried on, None where they could not be read by the draft.
    """

    refused: dict[tuple[str, str | None], str] = field(default_factory=dict)
    obstacle: str = ""
    rows: int = 0
    stage: Table | None = None

    @property
    def words(self) -> str:
        if self.obstacle:
            return "They were tried, and no release could be made (see below)."
        return f"They run as they are (tried on {self.rows:,} rows)."

    @property
    def questions(self) -> list[str]:
        if not self.obstacle:
            return []
        return [f"As it stands no release can be made by this policy: {self.obstacle}"]


def rehearse(sample: Sample, roles: Roles, policy: Policy) -> Rehearsal:
    """Judge some rows by the draft, and make a release of them by what could be judged."""
    refused: dict[tuple[str, str | None], str] = {}
    rows = 0
    try:
        table, rows = _stage(sample, roles, policy)
        release = as_it_stands(table)
        kept = []
        for criterion in policy.require:
            verdict = judge(criterion, release)
            if verdict.status in ("not_applicable", "cannot_judge"):
                refused[criterion.name, criterion.sensitive] = f"{verdict.note}."
            else:
                kept.append(criterion)
        if table.counts.extra_memberships and table.schema.rows == "gathered":
            return Rehearsal(refused, "people's rows differ in their quasi-identifiers", rows)
        task = Task(table, tuple(kept), suppression=policy.suppression)
        Mondrian().run(task)  # quick, and refuses only what any would
    except SfumatoError as error:
        return Rehearsal(refused, str(error), rows)
    return Rehearsal(refused, "", rows, table)


def _stage(sample: Sample, roles: Roles, policy: Policy) -> tuple[Table, int]:
    """Some of the sample's rows, with all rows of a person."""
    assert policy.schema is not None  # a draft that is no policy is our mistake, not hers
    places = {name: place for place, name in enumerate(sample.columns)}
    key = (
        [f"c{place}" for place in places.values()]
        if roles.person is None
        else [f"c{places[roles.person]}"]
    )
    share = max(1, sample.rows // sample.one_in // ROWS)
    listed = [f"c{place}" for place in places.values()]
    kept = f"{TABLE} WHERE hash({', '.join(key)}) % {share} = 0" if share > 1 else TABLE
    chosen = select([*listed, named("n", "sfumato_n")], kept)
    chosen_rows = sample.engine.repeated(f"({chosen}) AS chosen", "sfumato_n")
    sample.engine.materialize(_STAGE, select(listed, chosen_rows))
    counted = sample.engine.fetch(select([named("COUNT(*)", "n")], _STAGE))
    rows = int(counted.column("n")[0].as_py())
    types = {name: sample.source.types[name] for name in places}
    source = replace(sample.source, name=_STAGE, types=types, rows=rows)
    counts = scan(sample.engine, source, policy.schema)
    levels = levels_of(policy.schema, counts)
    return Table(policy.schema, counts, levels, source, sample.engine), rows
