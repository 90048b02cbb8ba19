"""Bucketized releases of people with several values each, read back and judged."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.anonymizers import Anatomy
from sfumato.policy.model import Policy
from tests.contracts.pages import blocks
from tests.program import sfumato

LISTED = pa.table({"gid": [1, 1, 1, 2, 2], "age": [20, 30, 40, 50, 60]})
VALUES = pa.table({"gid": [1, 1, 1, 1, 2], "ill": ["flu", "cold", "flu", "HIV", "gout"]})
SCHEMA = sf.Schema(["age"], "ill")
LISTS = sf.Schema(["age"], "ill", lists={"ill": ";"})


def read(listed: pa.Table = LISTED, values: pa.Table = VALUES, schema: sf.Schema = LISTS):
    return sf.read_release((listed, values), schema, group="gid")


def test_more_values_than_people_are_a_bag() -> None:
    release = read()
    groups = release.groups
    assert (groups.case, groups.linked) == ("set", False)
    assert groups.sizes.tolist() == [3, 2]
    assert groups.counts_of(0) == {"HIV": 1, "cold": 1, "flu": 2}
    assert release.people == 5
    assert any("bag of values (5 of 5 people), each person's a set" in n for n in release.notes)
    assert sf.breach_probability(release, "flu", 0, 0, 0) == pytest.approx(2 / 3)


def test_several_values_and_none_must_be_declared() -> None:
    fewer = VALUES.slice(1, 2)  # of three people two values, and none of the other two's
    with pytest.raises(sf.InputError, match=r"1 group\(s\) are in .* but not in"):
        read(values=fewer, schema=SCHEMA)
    for values in (VALUES, VALUES.slice(2)):
        with pytest.raises(sf.InputError, match="several values or none, declare the column in"):
            read(values=values, schema=SCHEMA)
    release = read(values=fewer)
    assert release.groups.sizes.tolist() == [3, 2]
    assert release.groups.counts_of(1) == {}


def test_a_pair_that_lost_rows_gets_no_verdict() -> None:
    """Of one value each, 3 of 4 facts leave nothing; of a bag they would leave a doubt."""
    listed = pa.table({"gid": [1] * 4, "age": [20, 30, 40, 50]})
    values = pa.table({"gid": [1] * 4, "ill": ["flu", "cold", "HIV", "gout"]})
    bound = sf.SkylinePrivacy([(3, 0, 0, 0.7)])
    assert sf.audit(read(listed, values, SCHEMA), [bound]).status == "violated"
    with pytest.raises(sf.InputError, match=r"3 people in .* 4 in"):
        read(listed.slice(1), values, SCHEMA)


@pytest.mark.parametrize("form", [";", None])
def test_rows_that_list_the_values_of_one_person_are_no_bag(form: str | None) -> None:
    """They show whose values stand together, and there are as many as people or some are lost."""
    lists = [["flu", "cold"], ["flu"], [], ["gout"], ["gout", "HIV"]]
    column = pa.array(lists) if form is None else pa.array([form.join(ill) for ill in lists])
    rows = pa.table({"gid": [1, 1, 1, 2, 2], "ill": column})
    assert read(values=rows).groups.linked
    lost = [rows.slice(1), rows.slice(0, 4), rows.filter(pa.array([True, True, False, True, True]))]
    for some in lost:
        with pytest.raises(sf.InputError, match="give every person a row"):
            read(values=some)


def test_what_is_no_bag_of_sets_is_refused() -> None:
    often = pa.table({"gid": [1, 1, 1, 2, 2, 2], "ill": ["flu"] * 3 + ["cold"] * 3})
    with pytest.raises(sf.InputError, match="say several = 'multiset'"):
        read(values=often)
    multiset = read(values=often, schema=sf.Schema(["age"], "ill", several="multiset"))
    assert multiset.groups.case == "multiset"
    assert sf.breach_probability(multiset, "cold", 0, 0, 0) == pytest.approx(1 - 0.5**3)
    two = VALUES.append_column("job", pa.array(list("abcde")))
    with pytest.raises(sf.InputError, match="one sensitive column"):
        read(values=two, schema=sf.Schema(["age"], ["ill", "job"], several="multiset"))
    counted = VALUES.append_column("count", pa.array([1, 2, 1, 1, 1]))
    # As many rows as people by chance are not people: flu occurs twice.
    alike = pa.table({"gid": [1, 1, 1], "ill": ["flu", "cold", "HIV"], "count": [2, 1, 1]})
    for listed, values in ((LISTED, counted), (LISTED.slice(0, 3), alike)):
        with pytest.raises(sf.InputError, match="'count' without a role"):
            read(listed, values)
        with pytest.raises(sf.InputError, match="'count' without a role"):
            read(listed, values, SCHEMA)
    told = sf.Schema(["age"], "ill", lists={"ill": ";"}, count="count")
    assert read(values=counted, schema=told).groups.counts_of(0)["cold"] == 2


@pytest.mark.parametrize("several", ["set", "multiset"])
@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_what_was_written_is_read_again(tmp_path: Path, several: str, form: str) -> None:
    lists = [["a", "b"], ["c", "c"], [], ["b"], ["d"], ["a"], ["e", "f"], [], ["f"], [], [], []]
    table = sf.read(
        pa.table({"q": [str(i % 7) for i in range(12)], "s": pa.array(lists)}),
        sf.Schema(["q"], "s", lists={"s": ";"}, several=several),
    )
    bound = sf.SkylinePrivacy([(1, 0, 0, 0.9)], case=several)
    release = sf.anonymize(table, Policy([bound], Anatomy(2)))
    report = sf.audit(release, [bound])
    out = release.save(tmp_path / form, format=form)
    columns = json.loads((out / "public" / "manifest.json").read_text())["columns"]
    (column,) = [one for one in columns if one["name"] == "s"]
    assert (column["several"], column.get("list")) == (several, None)
    public = tmp_path / "handed out"
    (out / "public").rename(public)
    for path, schema in ((public, table.schema), (public, None)):
        again = sf.read_release(path, schema)
        assert (again.groups.case, again.groups.linked) == (several, False)
        assert _content(again) == _content(release)
        verdict = sf.audit(again, [bound]).verdicts[0]
        assert (verdict.status, verdict.measured) == ("holds", report.verdicts[0].measured)
    other = "set" if several == "multiset" else "multiset"
    with pytest.raises(sf.InputError, match="in another way than the policy says"):
        sf.read_release(public, sf.Schema(["q"], "s", lists={"s": ";"}, several=other))


def _content(release: sf.Release) -> list[object]:
    groups, members = release.groups, release.regions.buckets
    assert members is not None
    return sorted(
        (
            int(groups.sizes[g]),
            sorted(groups.counts_of(g).items()),
            sorted(
                zip(
                    [members.domains[0].labels[c] for c in members.take(np.array([g])).codes[0]],
                    members.take(np.array([g])).n.tolist(),
                    strict=True,
                )
            ),
        )
        for g in range(len(groups))
    )


JUDGED = {
    sf.KAnonymity(2): ("violated", 1, False),  # of exact quasi-identifiers
    sf.AlphaK(0.7, 1): ("holds", 2 / 3, False),
    sf.SkylinePrivacy([(0, 0, 0, 0.7)]): ("holds", 2 / 3, False),
    sf.SkylinePrivacy([(0, 0, 0, 0.7)], case="set"): ("holds", 2 / 3, False),
}
NOT_JUDGED = [
    sf.DistinctDiversity(2),
    sf.EntropyDiversity(2),
    sf.RecursiveDiversity(3, 2),
    sf.TCloseness(0.3),
    sf.BetaLikeness(1),
    sf.DeltaDisclosure(1),
    sf.EpsilonPrivacy(2, sf.RealisticAdversary("uniform", stubbornness=5)),
    sf.DistributionLeakage(1),
    sf.EntropyLeakage(1),
    sf.RelativeThreatBound(2),
    sf.SkylinePrivacy([(0, 0, 0, 0.7)], case="single"),
    sf.SkylinePrivacy([(0, 0, 0, 0.7)], case="lists"),
    # Of sets 2/3; whoever counts the worlds of multisets would be told 5/9.
    sf.SkylinePrivacy([(0, 0, 0, 0.6)], case="multiset"),
]


def test_every_criterion_judges_a_bag_rightly_or_says_that_it_cannot() -> None:
    release = read()
    report = sf.audit(release, [*JUDGED, *NOT_JUDGED])
    verdicts = dict(zip([*JUDGED, *NOT_JUDGED], report.verdicts, strict=True))
    for criterion, (status, measured, at_most) in JUDGED.items():
        verdict = verdicts[criterion]
        assert (verdict.status, verdict.at_most) == (status, at_most)
        assert verdict.measured == pytest.approx(measured)
    for criterion in NOT_JUDGED:
        verdict = verdicts[criterion]
        assert (verdict.status, verdict.measured) == ("not_applicable", None), criterion
        assert "values" in verdict.note
    told = report.to_markdown()
    assert "bag of values" in told
    assert json.loads(report.to_json())["status"] == "violated"
    assert report.to_html()


def test_a_bag_is_no_prior_of_one_value_each() -> None:
    single = sf.read(pa.table({"age": [1, 1], "ill": ["flu", "cold"]}), SCHEMA)
    somebody = sf.RealisticAdversary(read(), stubbornness=50)
    with pytest.raises(sf.SfumatoError, match="people of the earlier release have several values"):
        sf.audit(single, [sf.EpsilonPrivacy(2, somebody)])


def test_how_many_people_have_a_value_of_a_bag_of_multisets_is_known_as_at_most() -> None:
    bag = sf.Groups([[2, 1]], sizes=[4], case="multiset")
    verdict = sf.AlphaK(0.6, 1).verdict(bag)
    assert (verdict.measured, verdict.at_most) == (0.5, True)
    assert not sf.AlphaK(0.6, 1).verdict(sf.Groups([[1, 1]], sizes=[4], case="multiset")).at_most
    # Lists that are published whole tell it: one of two people, however often she has it.
    whole = sf.Groups.of_lists([[["A", "A", "A"], ["B"]]], repeated=True)
    verdict = sf.AlphaK(0.6, 1).verdict(whole)
    assert (verdict.measured, verdict.at_most, verdict.status) == (0.5, False, "holds")


def test_a_policy_holds_the_case(tmp_path: Path) -> None:
    policy = Policy([sf.SkylinePrivacy([(0, 1, 0, 0.5)], case="multiset")])
    policy.save(tmp_path / "policy.toml")
    assert Policy.load(tmp_path / "policy.toml") == policy
    with pytest.raises(sf.PolicyError, match="skyline-privacy: case = 'sets' is not known; did"):
        sf.SkylinePrivacy([(0, 1, 0, 0.5)], case="sets")


def test_the_pages_commands_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = "several-values.md"
    (tmp_path / "patients.csv").write_text(blocks(page, "csv")[0])
    (tmp_path / "policy.toml").write_text(blocks(page, "toml")[-1])
    monkeypatch.chdir(tmp_path)
    commands = blocks(page, "sh")[0].splitlines()
    runs = [sfumato(*command.split()[1:]) for command in commands]
    assert [run.returncode for run in runs[:3]] == [0, 0, 0], [run.stderr for run in runs]
    assert "12 people in 4 buckets (smallest 3)" in runs[1].stdout
    assert "judged as if the release published" in " ".join(runs[3].stdout.split())
