"""Reports of many kinds, for tests that must hold for each of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pyarrow as pa

import sfumato as sf
from sfumato.datasets.census import census, census_schema
from sfumato.report.comparison import TakenFrom
from sfumato.report.report import Report
from sfumato.workflow.audit import attacks_on
from sfumato.workflow.price import add_price

SMALL = sf.Schema(
    quasi=["age", "sex", "zip"],
    sensitive="disease",
    hierarchies={
        name: recipe
        for name, recipe in census_schema().hierarchies.items()
        if name in ("age", "sex", "zip")
    },
)


def people(many: int = 600, schema: sf.Schema = SMALL) -> sf.Table:
    return sf.read(census(many, seed=3), schema)


def raw() -> Report:
    """A table as it stands: violated, with much to advise."""
    return sf.audit(
        people(),
        sf.Policy(
            [sf.KAnonymity(5), sf.TCloseness(0.5)], suppression=0.1, anonymizer=sf.Mondrian()
        ),
    )


def mondrian() -> Report:
    policy = sf.Policy([sf.KAnonymity(5), sf.DistinctDiversity(2)], anonymizer=sf.Mondrian())
    return sf.audit(sf.anonymize(people(), policy, seed=1), policy)


def lattice() -> Report:
    """With suppressed people and the search that found it."""
    policy = sf.Policy(
        [sf.KAnonymity(5), sf.TCloseness(0.6)], anonymizer=sf.Lattice(), suppression=0.1
    )
    release = sf.anonymize(people(), policy, seed=1)
    assert release.suppressed
    return sf.audit(release, policy)


def by_rules() -> Report:
    """With a rule set, of which some paragraphs cannot be judged by a machine."""
    policy = sf.Policy([sf.KAnonymity(5)], anonymizer=sf.Lattice(), profile=sf.StatisticsOffice())
    return sf.audit(sf.anonymize(people(), policy, seed=1), policy)


def best() -> Report:
    """With what each anonymizer would have cost."""
    policy = sf.Policy([sf.KAnonymity(5)])
    return sf.audit(sf.anonymize(people(80), policy, seed=1), policy)


def priced() -> Report:
    """With what its promises cost, and how it serves what it is for."""
    use = sf.Use(queries=[["age"]])
    policy = sf.Policy([sf.KAnonymity(20)], sf.Mondrian(), use=use)
    report = sf.audit(sf.anonymize(people(200), policy, seed=1), policy)
    return add_price(report, people(200), policy, asked=True)


def taken() -> Report:
    """A point of a comparison, with its map."""
    policy = sf.Policy([sf.KAnonymity(5)], anonymizer=sf.Mondrian())
    table = people(80)
    compared = sf.compare(table, policy, {"k": [2, 5]}, ["loss"])
    report = sf.audit(sf.anonymize(table, compared.outcomes[1].policy, seed=1), policy)
    assert report.evidence is not None
    evidence = replace(report.evidence, taken_from=TakenFrom("map.json", 2, compared))
    return replace(report, evidence=evidence)


def realistic() -> Report:
    adversary = sf.RealisticAdversary("table", 10_000)
    criteria = [
        sf.EpsilonPrivacy(4, adversary),
        sf.EpsilonPrivacy(3, sf.RealisticAdversary(None, 50)),
    ]
    return sf.audit(
        sf.anonymize(people(), sf.Policy([sf.KAnonymity(20)], anonymizer=sf.Mondrian()), seed=1),
        criteria,
    )


def anatomy() -> Report:
    policy = sf.Policy([sf.DistinctDiversity(2)], anonymizer=sf.Anatomy(2))
    return sf.audit(sf.anonymize(people(), policy, seed=1), policy)


def centroids() -> Report:
    policy = sf.Policy([sf.KAnonymity(4)], anonymizer=sf.Microaggregation(4))
    return sf.audit(sf.anonymize(people(), policy, seed=1), policy)


def nothing_sensitive() -> Report:
    """A criterion that cannot be judged here."""
    table = sf.read(pa.table({"q": [1, 1, 2, 2]}), sf.Schema(quasi=["q"]))
    return sf.audit(table, [sf.KAnonymity(2), sf.DistinctDiversity(2)])


def several() -> Report:
    """Two sensitive attributes, one of them homogeneous in a group: infinity is measured."""
    rows = pa.table({"q": [1, 1, 1, 2, 2, 2], "a": list("uvwuuu"), "b": list("xyxyxy")})
    schema = sf.Schema(quasi=["q"], sensitive=["a", "b"])
    return sf.audit(sf.read(rows, schema), [sf.RecursiveDiversity(3, 2), sf.KAnonymity(2)])


def weighted() -> Report:
    """Survey weights, and an estimate of the population."""
    rows = pa.table({"q": [1, 1, 2, 3], "s": list("aabb"), "w": [10.0, 2.5, 1.0, 4.0]})
    table = sf.read(rows, sf.Schema(quasi=["q"], sensitive="s", weight="w"))
    return sf.audit(table, [sf.KMap(5, "weights")], sampling_fraction=0.2)


def sets() -> Report:
    """People with several values each."""
    rows = pa.table({"who": [1, 1, 2, 3, 3], "q": [1, 1, 1, 2, 2], "s": list("abaab")})
    table = sf.read(rows, sf.Schema(quasi=["q"], sensitive="s", person="who"))
    return sf.audit(table, [sf.KAnonymity(2), sf.AlphaK(0.9, 1)])


def acquainted() -> Report:
    """A knowledge skyline is required, and an observer bounded."""
    criteria = [
        sf.SkylinePrivacy([(1, 0, 0, 0.9)]),
        sf.DistributionLeakage(0.3),
        sf.EntropyLeakage(1.0, prior="uniform"),
    ]
    return sf.audit(
        sf.anonymize(people(), sf.Policy([sf.KAnonymity(20)], anonymizer=sf.Mondrian()), seed=1),
        criteria,
    )


def attacked() -> Report:
    """With the results of attacks that an audit does not run by itself."""
    table = people(400)
    policy = sf.Policy([sf.KAnonymity(5)], anonymizer=sf.Lattice())
    release, other = (
        sf.anonymize(table, one, seed=1)
        for one in (policy, sf.Policy([sf.KAnonymity(8)], anonymizer=sf.Mondrian()))
    )
    return sf.audit(release, policy, attacks=attacks_on(release, table, [other]))


def randomised() -> Report:
    """Noisy counts: no criterion on counts applies, but its own promise does."""
    from tests.anonymizers.noisy import noise, people, read

    policy = sf.Policy([sf.DifferentialPrivacy(2.0)], anonymizer=noise())
    release = sf.anonymize(read(people()), policy, seed=1)
    return sf.audit(release, [sf.KAnonymity(5), *policy.require])


ZOO: dict[str, Callable[[], Report]] = {
    maker.__name__: maker
    for maker in (
        raw,
        mondrian,
        lattice,
        by_rules,
        best,
        priced,
        taken,
        realistic,
        anatomy,
        centroids,
        nothing_sensitive,
        several,
        weighted,
        sets,
        acquainted,
        attacked,
        randomised,
    )
}
