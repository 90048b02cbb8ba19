"""A ledger of releases whose rows a pseudonym links: what it keeps, and what it says.

It judges as composition does beside the releases themselves; who is exposed there is asked of an
enumeration (`tests/adversaries/composition/test_linked_exposure.py`).
"""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
from collections import Counter
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.adversaries.composition.linked_worlds import SignedPatterns
from sfumato.criteria.base import judge
from sfumato.errors import InputError, SfumatoError
from sfumato.ledger.check import check_release
from sfumato.ledger.content import pack, unpack
from tests.adversaries.composition.linked_visits import (
    AGES,
    VISITS,
    levels_,
    release_of,
    rows_,
    schema,
    some_cut,
    table_of,
)
from tests.attack.damaged_ledgers import damaged_bytes
from tests.examples import few
from tests.program import sfumato

EVENLY = {"u": 0.3, "v": 0.3, "w": 0.4}
STATUS = {"holds": "holds", "violated": "violated", "cannot_judge": "could_not_judge"}


def shown(release: sf.Release) -> Counter:
    """What anybody sees: how often each pseudonym's rows, with their values, are published."""
    signed = SignedPatterns.of(release, "ill")
    regions = signed.signatures.rows
    rows = [tuple(regions.describe(kind).items()) for kind in range(len(regions))]
    return Counter(
        {
            tuple(sorted((rows[kind], value) for kind, value in pattern)): pseudonyms
            for patterns in signed.by_signature
            for pattern, pseudonyms in patterns.items()
        }
    )


def one_row_each(ages: list[int], **more) -> sf.Release:
    plain = sf.Schema(quasi=["age"], sensitive="ill", hierarchies={"age": AGES}, **more)
    frame = pd.DataFrame({"age": ages, "ill": ["uvw"[at % 3] for at in range(len(ages))]})
    return sf.generalize(sf.read(frame, plain, threads=1), [1])


# -- what is kept --------------------------------------------------------------------------------


@settings(max_examples=few(40))
@given(rows_, levels_, st.integers(1, 2), st.randoms(use_true_random=False))
def test_the_public_rows_come_back_and_nothing_else(rows, levels, k, order) -> None:
    release = release_of(rows, levels, k)
    if not release.people:
        return
    content = pack(release)
    back = unpack(content, "back")
    assert shown(back) == shown(release)
    assert (back.people, back.suppressed, back.label) == (
        release.people,
        release.suppressed,
        "back",
    )
    assert back.groups.sizes.tolist() == unpack(pack(back), "again").groups.sizes.tolist()
    assert pack(back) == content
    # Neither the order of rows nor who is called what is in it.
    names = dict(zip("abcde", order.sample("vwxyz", 5), strict=True))
    other = [(names[row[0]], *row[1:]) for row in order.sample(rows, len(rows))]
    if not some_cut(rows, k):
        assert pack(release_of(other, levels, k)) == content


def test_no_name_and_no_hidden_value_is_kept() -> None:
    rows = [*VISITS, ("solitary", 39, "N", "rare"), ("solitary", 39, "N", "rare")]
    release = release_of(rows, (1, 0), 2)
    assert release.suppressed
    content = pack(release)
    for secret in (b"solitary", b"rare"):
        assert secret not in content
    assert pack(release_of(VISITS, (1, 0))) != content  # how many were left out is public


def test_the_same_release_is_kept_once_and_listed(tmp_path: Path) -> None:
    ledger = sf.Ledger(tmp_path / "ledger.sqlite")
    entry = ledger.add(release_of(VISITS, (1, 0)), "first")
    assert (entry.people, entry.groups, entry.quasi) == (6, 2, ("age", "ward"))
    with pytest.raises(InputError, match="already has this very release, as 'first'"):
        ledger.add(release_of(list(reversed(VISITS)), (1, 0)), "again")
    assert [kept.name for kept in ledger.list()] == ["first"]


def test_releases_of_one_row_each_are_kept_as_they_were() -> None:
    """So a ledger that an earlier version wrote is read as before."""
    content = pack(one_row_each([21, 22, 23]))
    with pa.ipc.open_stream(content) as reader:
        head = json.loads(reader.read_all().schema.metadata[b"sfumato release"])
    assert set(head) == {
        *("scheme", "suppressed", "disjoint", "guarantee", "columns", "attributes")
    }


def test_what_was_changed_by_chance_is_not_taken_for_true() -> None:
    policy = sf.Policy(
        [sf.KAnonymity(1)], anonymizer=sf.Lattice(), perturb={"ill": sf.Pram(stay=0.5, draw=EVENLY)}
    )
    single = [(f"p{at}", *row[1:]) for at, row in enumerate(VISITS)]
    drawn = unpack(pack(sf.anonymize(table_of(single), policy, seed=1)), "drawn")
    assert "altered by chance" in could_not(release_of(single, (2, 1)), drawn)
    plain = one_row_each([21, 22, 23, 24])
    schema = sf.Schema(quasi=["age"], sensitive="ill", hierarchies={"age": AGES})
    frame = pd.DataFrame({"age": [21, 22, 23, 24], "ill": ["u", "v", "w", "u"]})
    drawn = unpack(pack(sf.anonymize(sf.read(frame, schema), policy, seed=1)), "drawn")
    assert "altered by chance" in could_not(plain, drawn)


def test_content_that_somebody_made_up_is_refused_before_it_is_used() -> None:
    good = pack(release_of(VISITS, (1, 0)))
    refused = 0
    for label, changed in damaged_bytes(good, 0):
        try:
            assert pack(unpack(changed, label)) == good, label
        except SfumatoError:
            refused += 1
    assert refused >= 11


# -- what is said --------------------------------------------------------------------------------


@settings(max_examples=few(60))
@given(
    rows_,
    st.lists(levels_, min_size=1, max_size=3),
    st.integers(1, 2),
    st.integers(1, 2),
    st.sampled_from(["all", "added"]),
    st.integers(0, 2),
    st.sampled_from([0, 0.4]),
)
def test_a_ledger_says_what_composition_says(rows, levels, k, most, counting, drop, share) -> None:
    """Also where rows are cut, and of a release that was left out of the table it is beside."""
    new, *earlier = (release_of(rows, at, k) for at in levels)
    if not new.people or not all(release.people for release in earlier):
        return
    kept = [unpack(pack(before), f"{at}") for at, before in enumerate(earlier)]
    bound = sf.CompositionBound(share, 1 / most, earlier or [new], counting=counting, drop=drop)
    asked = {"share": share, "confidence": 1 / most, "counting": counting, "drop": drop}
    check = check_release(new, kept if earlier else [unpack(pack(new), "same")], **asked)
    verdict = judge(bound, new)
    (finding,) = check.findings
    assert check.status == STATUS[verdict.status]
    if finding.reason:
        assert some_cut(rows, k)
        assert finding.reason in verdict.note
        return
    counted = finding.counted(counting)
    assert counted[0] == counted[1]
    assert verdict.measured == pytest.approx(counted[0] / new.people)
    for (_, people), before in zip(finding.by_release, earlier, strict=False):
        by_one = sf.CompositionBound(0, 1 / most, before, drop=drop)
        assert judge(by_one, new).measured == pytest.approx(people / new.people)


def test_which_release_is_to_blame() -> None:
    """Ages alone expose nobody; beside the wards everybody."""
    rows = [
        *[("a", 21, "S", "v"), ("a", 31, "S", "u"), ("b", 21, "S", "w"), ("b", 31, "N", "w")],
        *[("c", 21, "S", "w"), ("c", 31, "S", "u")],
    ]
    kept = [unpack(pack(release_of(rows, at)), str(at)) for at in ((2, 1), (2, 0))]
    (finding,) = check_release(release_of(rows, (1, 1)), kept).findings
    assert (finding.alone.number, finding.before, finding.together) == (0, 1, (3, 3))
    assert finding.by_release == (("(2, 1)", 0), ("(2, 0)", 3))
    assert finding.culprits == (("(2, 0)",),)


def could_not(new: sf.Release, *earlier: sf.Release, **asked) -> str:
    check = check_release(new, [unpack(pack(before), "kept") for before in earlier], **asked)
    assert check.status == "could_not_judge"
    return check.findings[0].reason


def test_what_composition_does_not_judge_the_ledger_does_not_either() -> None:
    new = release_of(VISITS, (2, 1))
    for other in (VISITS[1:], VISITS[:-1], [*VISITS, ("g", 22, "N", "u")], VISITS[:7]):
        assert "does not show all rows" in could_not(new, release_of(other, (2, 1)))
    cut = [("a", 20, "N", "u"), ("a", 25, "N", "v"), ("b", 20, "N", "v"), ("c", 25, "N", "u")]
    assert "cuts people's rows" in could_not(release_of(cut, (1, 0), 2), release_of(cut, (1, 0)))
    some_known = sf.generalize(table_of(VISITS, knows=1), [2, 1])
    assert "knows = 'all'" in could_not(some_known, release_of(VISITS, (2, 0)))
    overlapping = sf.anonymize(
        table_of([(f"p{at // 2}", 20 + at, "N", "uvw"[at % 3]) for at in range(24)]),
        sf.Policy([sf.KAnonymity(2)], anonymizer=sf.Mondrian()),
        seed=1,
    )
    made = overlapping.placement
    assert made is not None
    again = sf.generalize(made.table, [2, 1])
    assert "overlap" in could_not(again, overlapping)


def test_beside_releases_of_another_kind_nothing_holds() -> None:
    new, plain = release_of(VISITS, (2, 1)), one_row_each([21, 22, 23])
    unlinked = sf.generalize(table_of(VISITS, rows="unlinked"), [2, 1])
    for other in (plain, unlinked):
        assert "does not link people's rows" in could_not(new, other)
        assert "a pseudonym links people's rows in kept" in could_not(other, new)
    assert "a pseudonym links" in could_not(plain, new, targets=[{"age": 21}])


def test_what_a_release_gives_away_by_itself_is_violated_whatever_else_is_unknown() -> None:
    some_known = sf.generalize(table_of(VISITS, knows=1), [0, 0])
    kept = [unpack(pack(release_of(VISITS, (2, 1))), "kept")]
    check = check_release(some_known, kept)
    assert check.status == "violated"
    assert "knows = 'all'" in check.findings[0].reason
    assert check.findings[0].alone.number == 6
    assert check_release(some_known, kept, counting="added").status == "could_not_judge"
    plain = check_release(one_row_each([21, 31]), kept)
    assert (plain.status, plain.findings[0].alone.number) == ("violated", 2)


def test_a_key_that_joins_releases_keeps_a_bound_from_holding() -> None:
    keyed = table_of(VISITS, pseudonyms=["id"])
    policy = sf.Policy([sf.KAnonymity(1)], anonymizer=sf.Lattice())
    earlier = sf.anonymize(keyed, policy, seed=1)
    kept = unpack(pack(earlier), "kept")
    assert kept.pseudonym_keys == earlier.pseudonym_keys
    assert len(kept.pseudonym_keys) == 1
    assert check_release(earlier, [kept], confidence=0.01).joined == ("kept",)


def test_only_the_table_it_was_made_of_tells_whose_rows_they_are(tmp_path: Path) -> None:
    ledger = sf.Ledger(tmp_path / "ledger.sqlite")
    ledger.add(release_of(VISITS, (1, 0)), "first")
    here = release_of(VISITS, (2, 1))
    here.save(tmp_path / "new")
    new, table = sf.read_release(tmp_path / "new", schema()), table_of(VISITS)
    unknown = ledger.check(new)
    assert unknown.status == "could_not_judge"
    assert "--table" in unknown.findings[0].reason
    assert ledger.check(new, table=table).findings == ledger.check(here).findings
    other = table_of([*VISITS[:-1], ("f", 27, "N", "w")])
    assert ledger.check(new, table=other).status == "could_not_judge"
    for asked in ({"targets": table}, {"population": table}, {"targets": [{"age": 21}]}):
        with pytest.raises(InputError, match="judged by the table it was made of"):
            ledger.check(new, **asked)
    with pytest.raises(InputError, match="or other people, not both"):
        ledger.check(new, table, table=table)
    bound = sf.CompositionBound(0, 1, ledger)
    (verdict,) = sf.audit(new, [bound], table=table).verdicts
    assert verdict.status == STATUS[ledger.check(here).status]


def test_a_table_tells_who_is_in_groups_of_any_release(tmp_path: Path) -> None:
    """One row a person: as the release that still knows its people."""
    here = one_row_each([21, 25, 31, 38])
    here.save(tmp_path / "new")
    made = here.placement
    assert made is not None
    new = sf.read_release(tmp_path / "new", made.table.schema)
    shutil.rmtree(tmp_path / "new" / "private")
    earlier = [unpack(pack(one_row_each([21, 25, 31])), "kept")]
    told = check_release(new, earlier, table=made.table)
    assert told.basis == "people"
    assert told.findings == check_release(here, earlier).findings


def test_the_program_keeps_and_judges_linked_rows(tmp_path: Path) -> None:
    for name, levels in (("new", (2, 1)), ("earlier", (1, 0)), ("fine", (0, 0))):
        release_of(VISITS, levels).save(tmp_path / name)
    frame = pd.DataFrame(VISITS, columns=["id", "age", "ward", "ill"])
    frame.to_csv(tmp_path / "visits.csv", index=False)
    ledger, policy = tmp_path / "ledger.sqlite", ("--policy", tmp_path / "policy.toml")
    bound = sf.CompositionBound(0, 1, tmp_path / "earlier")
    sf.Policy([bound], schema=schema()).save(tmp_path / "policy.toml")
    added = sfumato("ledger", "add", ledger, tmp_path / "earlier", *policy)
    assert added.returncode == 0, added.stderr
    assert "6 people in 2 groups" in added.stdout
    assert "earlier" in sfumato("ledger", "list", ledger).stdout
    table = ("--table", tmp_path / "visits.csv")
    unknown = sfumato("ledger", "check", ledger, tmp_path / "new", *policy)
    assert unknown.returncode == 3, unknown.stdout + unknown.stderr
    assert "--table" in re.sub(r"\s+", " ", unknown.stdout)
    for name in ("new", "fine"):
        by_ledger = sfumato("ledger", "check", ledger, tmp_path / name, *policy, *table)
        by_folder = sfumato("audit", tmp_path / name, *policy, *table)
        assert by_ledger.returncode == by_folder.returncode, by_ledger.stdout + by_ledger.stderr
    both = ("--targets", tmp_path / "visits.csv")
    refused = sfumato("ledger", "check", ledger, tmp_path / "new", *policy, *table, *both)
    assert refused.returncode == 2
    given = sfumato("ledger", "check", ledger, tmp_path / "new", *policy, *both)
    assert given.returncode == 2, given.stdout
    assert "(--table)" in given.stderr
    with sqlite3.connect(ledger) as connection:
        connection.execute("UPDATE releases SET people = 7")
    connection.close()
    damaged = sfumato("ledger", "check", ledger, tmp_path / "new", *policy, *table)
    assert damaged.returncode == 2
