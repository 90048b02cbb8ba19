"""`sf.anonymize` and `sf.generalize`: from a table and a policy to a release that satisfies it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from secrets import randbits

from sfumato.adversaries.linkage.risks import Linker
from sfumato.anonymizers.base import Anonymizer, Task
from sfumato.anonymizers.best import Best
from sfumato.anonymizers.lattice.lattice import Lattice
from sfumato.criteria.base import Criterion, Verdict
from sfumato.errors import (
    InputError,
    NoSafeRelease,
    PolicyError,
    SfumatoError,
    did_you_mean,
    expect,
    quoted,
)
from sfumato.perturbation.base import Perturbation
from sfumato.policy.model import Policy
from sfumato.policy.rules.base import JudgedRelease
from sfumato.policy.rules.free_text import texts_in
from sfumato.progress import phase
from sfumato.release.perturb_table import perturb, with_pseudonyms
from sfumato.release.read.cells import check_values
from sfumato.release.release import Release
from sfumato.release.within_limits import limit_findings
from sfumato.table import Table, levels_of


@phase("searching")
def anonymize(table: Table, policy: Policy, *, seed: int | None = None) -> Release:
    """The most useful release the policy allows; `NoSafeRelease` when there is none.

    The same seed gives the same release, but for noise, which has none. Without one it is drawn
    from the operating system: a seed that can be guessed tells who was dealt into which bucket. It
    is kept in private/ only.
    """
    check_people(table)
    expect("policy", policy, Policy, "a Policy")
    if table.schema.rows == "unlinked" and (why := policy.maker.refuses_rows()):
        raise PolicyError(f"rows = 'unlinked' keeps each person's several rows, and {why}")
    for domain in table.counts.quasi:
        check_values(domain)
    check_texts(table)
    check_dates(table)
    drawn = randbits(63) if seed is None else seed
    table = perturbed_by(table, policy, drawn)
    task = Task(table, tuple(policy.require), policy.measure(table), policy.suppression, drawn)
    try:
        release = check_limits(_made(task, policy.maker))
    except NoSafeRelease as error:
        named = _limits_to_give(task, policy.maker) if table.schema.limits else ""
        raise NoSafeRelease(f"{error}{named}") if named else error from None
    check_rules(release, policy)
    return release


def _made(task: Task, maker: Anonymizer) -> Release:
    if task.table.rows is not None:
        from sfumato.anonymizers.linked import anonymize_linked

        return anonymize_linked(task, maker)
    return maker.run(task)


def check_limits(release: Release) -> Release:
    """The last word before a release is returned: its limits are kept, however it was found."""
    for finding in limit_findings(release):
        if finding.broken:
            raise NoSafeRelease(
                f"no release keeps the limits of column {finding.column!r} ({finding.allowed}): "
                f"{finding.broken}"
            )
    return release


def _limits_to_give(task: Task, maker: Anonymizer) -> str:
    """Which column's limits stand in the way: without them, and with all others, it would do."""
    limits = task.table.schema.limits
    makers = [maker.briefly(), *([Lattice()] if isinstance(maker, Best) else [])]

    def helps(dropped: Sequence[str]) -> bool:
        table = without_limits(task.table, dropped)
        for maker in makers:
            try:
                check_limits(_made(replace(task, table=table), maker))
            except SfumatoError:
                continue
            return True
        return False

    alone = [column for column in limits if helps([column])]
    if alone:
        names = " or of ".join(map(quoted, alone))
        return f"; without the limits of {names} there is one"
    if len(limits) > 1 and helps(list(limits)):
        names = ", ".join(map(quoted, limits))
        return f"; only without the limits of several columns there is one (limits: {names})"
    return ""


def without_limits(table: Table, columns: Sequence[str]) -> Table:
    """The same table, with columns that may be published at every level."""
    limits = {name: limit for name, limit in table.schema.limits.items() if name not in columns}
    schema = replace(table.schema, limits=limits)
    return replace(table, schema=schema, levels=levels_of(schema, table.counts))


def check_rules(release: Release, policy: Policy) -> None:
    """Refuse a release that a paragraph of the policy's rule set speaks against."""
    if policy.profile is None:
        return
    criteria = tuple(policy.require)
    # They were judged just now.
    verdicts = tuple(
        Verdict(criterion.name, "holds", None, criterion.required) for criterion in criteria
    )
    judged = JudgedRelease(release, criteria, verdicts, Linker().attack(release))
    against = policy.profile.judge(judged).having("violated")
    if against:
        reasons = "; ".join(
            f"{paragraph.name} {paragraph.statement}: {paragraph.reason}" for paragraph in against
        )
        raise NoSafeRelease(
            f"no release was made that {policy.profile.name} allows: {reasons}; take these columns "
            "out, or limit how fine they are published ([schema.limits])"
        )


def perturbed_by(table: Table, policy: Policy, seed: int | None) -> Table:
    """The table with the columns perturbed that the policy names, which its criteria can judge."""
    if table.schema.pseudonyms and any(criterion.of_noise for criterion in policy.require):
        raise PolicyError("pseudonyms: no row is a person's where all counts are noisy")
    table = with_pseudonyms(table, policy.pseudonyms)
    if not policy.perturb:
        return table
    for criterion in policy.require:
        if criterion.of_noise:
            raise PolicyError("perturb: leave it out, since noise is added to all counts")
        _refuse_altered(criterion, policy.perturb)
    return perturb(table, policy.perturb, seed=seed)


def _refuse_altered(criterion: Criterion, perturbed: Mapping[str, Perturbation]) -> None:
    """Refuse to search by a criterion that takes altered values for people's own."""
    if not criterion.reads_values or criterion.survives_undoing:
        return
    about = (criterion.sensitive,) if criterion.sensitive is not None else tuple(criterion.joint)
    for name, perturbation in perturbed.items():
        if perturbation.by_chance and (not about or name in about):
            raise PolicyError(
                f"{criterion.name}: the values of {name!r} are altered by chance "
                f"({perturbation.kind}), and counting them says nothing of people's own; name "
                "another column (sensitive = ...), or require t-closeness (equal), beta-likeness "
                "or delta-disclosure, which hold for who undoes it"
            )


def generalize(
    table: Table,
    levels: Mapping[str, int] | Sequence[int],
    require: Sequence[Criterion] = (),
    suppression: float = 0.0,
) -> Release:
    """The release of one lattice node; groups that violate `require` are suppressed.

    `levels` gives the hierarchy level of each quasi-identifier, by name (where not named the finest
    that limits allow, 0 without any) or in the order of the schema.
    """
    check_people(table)
    check_dates(table)
    expect("require", require, Sequence, "a list of criteria")
    for criterion in require:
        expect("require", criterion, Criterion, "a list of criteria")
    names = [domain.name for domain in table.counts.quasi]
    if isinstance(levels, Mapping):
        for name in levels:
            if name not in names:
                raise InputError(
                    f"levels: {quoted(name)} is not a quasi-identifier; {did_you_mean(name, names)}"
                )
        chosen = tuple(levels.get(name, table.levels[name].finest) for name in names)
    else:
        expect("levels", levels, Sequence, "a level for each quasi-identifier, by name or in order")
        chosen = tuple(levels)
    if len(chosen) != len(names):
        raise InputError(f"{len(chosen)} levels given for {len(names)} quasi-identifiers")
    for name, level in zip(names, chosen, strict=True):
        height = table.levels[name].height
        if not isinstance(level, int) or isinstance(level, bool) or not 0 <= level < height:
            raise InputError(f"levels: {name!r} has levels 0 to {height - 1}, not {quoted(level)}")
        finest, coarsest = table.levels[name].finest, table.levels[name].coarsest
        if not finest <= level <= coarsest:
            raise InputError(
                f"levels: the schema's limits allow {name!r} levels {finest} to {coarsest}, not "
                f"{level}; choose one of these, or change limits"
            )
    from sfumato.anonymizers.lattice.large import judge_of
    from sfumato.anonymizers.lattice.lattice import release_of

    task = Task(table, tuple(require), suppression=suppression)
    if table.rows is not None:
        from sfumato.anonymizers.linked import generalize_linked

        return generalize_linked(task, chosen)
    with closing(judge_of(task)) as judge:
        node = judge.judge_levels(chosen)
        if not node.satisfied:
            raise NoSafeRelease(
                f"the node fails {judge.failure_words(node)}, choose a coarser node, or loosen the "
                "criterion"
            )
        return release_of(task, judge, chosen)


def check_texts(table: Table) -> None:
    """Refuse to publish columns of free text, unless their owner insists."""
    for text in texts_in(table):
        if text.column not in table.schema.insist:
            raise InputError(
                f"column {text.column!r} ({text.role}) is free text, in which anything may stand "
                f"({text.words}); take it out of {text.role}, or publish it all the same with "
                f"insist = [{text.column!r}] in the schema"
            )


def check_dates(table: Table) -> None:
    """Refuse to publish dates as texts that do not say which year they mean."""
    schema = table.schema
    for name in (*schema.judged, *schema.keep):
        if name in table.source.undated and name not in schema.insist:
            doubt = table.source.doubts.get(name, _UNDATED)
            raise InputError(
                f"column {name!r}: {doubt}, and not published: say it, leave the column out, or "
                f"publish the texts with insist = [{name!r}] in the schema"
            )


_UNDATED = (
    "dates with years of two digits: say of which hundred years they are with first_year, such as "
    "first_year = 1930; until then they are texts"
)


def check_people(table: Table) -> None:
    """Refuse tables of which no release can be made."""
    expect("table", table, Table, "a Table, as sf.read makes one")
    if table.counts.extra_memberships and table.schema.rows == "gathered":
        raise InputError(
            "some people's rows differ in their quasi-identifiers, so merging groups would count "
            "them more than once; say rows = 'unlinked' to publish each row by itself, or make the "
            "quasi-identifiers the same on all rows of a person"
        )
    if not table.counts.quasi:
        raise PolicyError("there is no quasi-identifier to generalize")
