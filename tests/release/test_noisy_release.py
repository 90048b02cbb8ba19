"""A randomised release on disk: what was published comes back, and so does its guarantee."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

import sfumato as sf
from sfumato.anonymizers.noise import Drawing
from sfumato.release.guarantee import Guarantee, PrivacyLoss
from sfumato.release.release import Release
from tests.anonymizers.noisy import noise, people, read, release, schema

KINDS = {
    "geometric": noise(),
    "public": noise(total="public"),
    "gaussian": noise(0.5, delta=1e-6, mechanism="gaussian", neighbours="add-remove"),
}


@pytest.fixture(scope="module")
def table() -> sf.Table:
    """So many that noise cannot leave nobody: the noisy total is some 30 deviations above 0."""
    return read(people(3000))


def told(made: Release) -> dict[tuple[str, ...], dict[str, int]]:
    return {
        tuple(made.regions.describe(group).values()): made.groups.counts_of(group)
        for group in range(len(made.groups))
    }


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("publish", ["counts", "rows"])
@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_a_folder_gives_back_what_was_published(table, tmp_path, kind, publish, form) -> None:
    made = release(table, replace(KINDS[kind], publish=publish))
    made.save(tmp_path / "out", format=form)
    for known in (schema(), None):
        back = sf.read_release(tmp_path / "out", known)
        assert back.scheme == "randomised"
        assert back.guarantee == made.guarantee
        assert told(back) == told(made)
        assert back.people == made.people
        assert any("its manifest's word" in note for note in back.notes)
        assert any(str(made.guarantee) in note for note in back.notes)
        bound = sf.DifferentialPrivacy(
            0.5 if kind == "gaussian" else 1, 1e-6, neighbours=made.guarantee.neighbours
        )
        assert sf.audit(back, [bound]).holds
        assert sf.audit(back, [sf.KAnonymity(1)]).status == "could_not_judge"


@pytest.mark.parametrize("publish", ["counts", "rows"])
@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_noise_may_leave_nobody(table, tmp_path, monkeypatch, publish, form) -> None:
    """No group, no people, and the promise stands."""
    monkeypatch.setattr(Drawing, "draw", lambda self, raw: raw * 0 - 1)
    made = release(table, noise(publish=publish))
    made.save(tmp_path / "out", format=form)
    for known in (schema(), None):
        back = sf.read_release(tmp_path / "out", known)
        assert (back.people, len(back.groups), back.scheme) == (0, 0, "randomised")
        assert back.guarantee == made.guarantee
        assert any("one of nobody" in note for note in back.notes)
        assert sf.audit(back, [sf.DifferentialPrivacy(1)]).holds
        assert not sf.audit(back, [sf.KAnonymity(2)]).holds


def test_a_file_of_it_is_not_read_without_its_manifest(table, tmp_path) -> None:
    release(table, noise()).save(tmp_path / "out")
    file, link = tmp_path / "out/public/data.csv", tmp_path / "link.csv"
    link.symlink_to(file)
    facts = tmp_path / "facts.csv"
    facts.write_text("gid,disease\n1,flu\n")
    refused = [
        lambda: sf.read(file, schema()),
        lambda: sf.read(str(link), schema()),
        lambda: sf.read(facts, schema(), facts=file),
        lambda: sf.read_release(file, schema()),
        lambda: sf.read_release(facts, schema(), facts=file),
        lambda: sf.read_release((file, facts), schema(), group="gid"),
    ]
    for read_it in refused:
        with pytest.raises(sf.InputError, match="is part of a randomised release"):
            read_it()
    copied = tmp_path / "data.csv"  # without a manifest nobody can know
    copied.write_bytes(file.read_bytes())
    assert sf.read_release(copied, schema()).scheme == "generalized"
    for broken in ("", "[]", "{}", '{"scheme": "randomised"}'):
        (tmp_path / "manifest.json").write_text(broken)
        assert sf.read_release(copied, schema()).scheme == "generalized"


def test_a_file_of_another_release_may_be_read_alone(table, tmp_path) -> None:
    sf.generalize(table, {"age": 1}).save(tmp_path / "out")
    file = tmp_path / "out/public/data.csv"
    assert sf.read_release(file, schema()).people == table.people


def test_nothing_but_noise_is_written_anywhere(table, tmp_path) -> None:
    """No true count, no distribution of the whole table, no number of people."""
    made = release(table, noise())
    report = sf.audit(made, [sf.DifferentialPrivacy(1)])
    policy = sf.Policy([sf.DifferentialPrivacy(1)], noise(), schema=schema())
    made.save(tmp_path / "out", report=report, policy=policy)
    assert not list((tmp_path / "out").rglob("reference*"))
    manifest = json.loads((tmp_path / "out/public/manifest.json").read_text())
    assert manifest["people"] == made.people
    assert manifest["guarantee"]["epsilon"] == 1.0
    assert manifest["guarantee"]["other"]["epsilon"] == 0.5
    assert manifest["columns"][-1] == {"name": "count", "role": "count", "type": "int64"}
    run = json.loads((tmp_path / "out/private/run.json").read_text())
    assert set(run) == {"seed", "groups", "source"}


def test_the_manifest_differs_between_neighbours_only_in_what_is_noisy(tmp_path) -> None:
    rows = people()
    manifests = []
    for number, one in enumerate((rows, [*rows[1:], (25, "ulm", "hiv")])):
        release(read(one), noise()).save(tmp_path / str(number))
        manifests.append(json.loads((tmp_path / str(number) / "public/manifest.json").read_text()))
    for manifest in manifests:
        assert manifest.pop("people") > 0
        assert manifest.pop("files").keys() == {"data.csv"}
        assert manifest.pop("beside").keys() == {"codebook.csv", "codebook.json"}
    assert manifests[0] == manifests[1]


def test_a_release_that_was_read_is_not_written_again(table, tmp_path) -> None:
    release(table, noise()).save(tmp_path / "out")
    back = sf.read_release(tmp_path / "out", schema())
    with pytest.raises(sf.InputError, match="this one was read"):
        back.save(tmp_path / "again")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (None, "the guarantee in the manifest cannot be read"),
        ({"epsilon": -1}, "epsilon = -1 is not allowed"),
        ({"epsilon": "1"}, "epsilon = '1' is not allowed"),
        ({"delta": 2}, "delta = 2 is not allowed"),
        ({"neighbours": "any"}, "neighbours = 'any' is not known"),
        ({"unheard": 1}, "cannot be read"),
        ({"other": 3}, "cannot be read"),
        ({"scale": "x"}, "scale = 'x' is not allowed"),
        ({"scale": 0}, "scale = 0 is not allowed"),
        ({"mechanism": 5}, "mechanism = 5 is not allowed"),
    ],
)
def test_a_guarantee_that_cannot_be_is_refused(table, tmp_path: Path, change, said: str) -> None:
    release(table, noise()).save(tmp_path / "out")
    path = tmp_path / "out/public/manifest.json"
    manifest = json.loads(path.read_text())
    manifest["guarantee"] = None if change is None else {**manifest["guarantee"], **change}
    path.write_text(json.dumps(manifest))
    with pytest.raises(sf.InputError) as refused:
        sf.read_release(tmp_path / "out", schema())
    assert said in str(refused.value)


@pytest.mark.parametrize(
    "guarantee",
    [
        Guarantee(1.0, 0.0, "geometric"),
        Guarantee(
            0.1, 1e-9, "gaussian", "add-remove", 0.01, PrivacyLoss(0.2, 1e-9, 0.02), 7.5, "person"
        ),
    ],
)
def test_a_guarantee_through_json(guarantee: Guarantee) -> None:
    assert Guarantee.read(json.loads(json.dumps(guarantee.public()))) == guarantee


def test_two_steps_of_add_remove_are_a_replacement_and_no_way_back() -> None:
    one = Guarantee(0.5, 1e-6, "unknown", "add-remove", rho=0.01)
    assert one.under("replace-one") == PrivacyLoss(1.0, 1e-6 * (1 + 2.718281828459045**0.5), 0.04)
    assert Guarantee(0.5, 0, "unknown").under("add-remove") is None
    assert Guarantee(900, 0.5, "unknown", "add-remove").under("replace-one").delta == 1.0


def test_the_same_attack_runs_on_it(table) -> None:
    """Everybody's group is found by her values, as in any generalized release."""
    releases = [release(table, noise(2.0)) for _ in range(2)]
    targets = [{"age": 25, "city": "ulm"}, {"age": 61, "city": "kiel"}]
    attack = sf.intersection_attack(releases, targets)
    assert attack.targets.num_rows == 2
    assert any("noisy" in note for note in attack.notes)
