"""The policy decides, the manifest informs: no change to it makes a violated release hold."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.errors import SfumatoError
from sfumato.files import MARK
from tests.attack.tampered_manifests import tampered

SCHEMA = sf.Schema(quasi=["age", "zip"], sensitive="disease", identifiers=["name"])
STRICT = sf.Policy([sf.KAnonymity(5)], schema=SCHEMA, anonymizer=sf.Mondrian())


def saved(out: Path, policy: sf.Policy | None = None) -> Path:
    """A release of six people, two and two alike."""
    rows = pa.table(
        {
            "name": list("abcdef"),
            "age": [30, 30, 40, 40, 50, 50],
            "zip": ["a", "a", "b", "b", "c", "c"],
            "disease": ["flu", "cold"] * 3,
        }
    )
    rules = policy or sf.Policy([sf.KAnonymity(2)], schema=SCHEMA, anonymizer=sf.Mondrian())
    release = sf.anonymize(sf.read(rows, SCHEMA), rules, seed=1)
    return release.save(out, report=sf.audit(release, rules), policy=rules)


def with_reference(release: Path, folder: Path, content: str) -> Path:
    """A copy of a release with another reference.json, and no list of hashes that would tell."""
    shutil.copytree(release, folder)
    (folder / "private" / "reference.json").write_text(content)
    with pytest.raises(sf.InputError, match="was changed since the release was made"):
        sf.read_release(folder, SCHEMA)
    (folder / "private" / "manifest.sha256").unlink()
    return folder


def outcome(folder: Path) -> str:
    """The verdict, or that it was refused; anything else is an error of ours."""
    try:
        found = sf.audit(sf.read_release(folder, SCHEMA), STRICT)
    except SfumatoError as error:
        return "several lines" if "\n" in str(error) else "refused"
    return found.status


@pytest.fixture(scope="module")
def release(tmp_path_factory) -> Path:
    return saved(tmp_path_factory.mktemp("tampered") / "out")


def test_no_changed_manifest_makes_a_violated_release_hold(release: Path, tmp_path: Path) -> None:
    """Without private/, as somebody else has it: there is nothing to compare the manifest with."""
    folder = tmp_path / "received"
    shutil.copytree(release / "public", folder / "public")
    path = folder / "public" / "manifest.json"
    shutil.copy(folder / "public" / "data.csv", tmp_path / "elsewhere.csv")
    assert outcome(folder) == "violated"
    told = json.loads(path.read_text())
    found: dict[str, list[str]] = {}
    for label, content in tampered(told, unread=False):
        path.write_bytes(content)
        found.setdefault(outcome(folder), []).append(label)
    assert set(found) <= {"refused", "violated", "could_not_judge"}, found.get("holds")
    assert len(found["refused"]) > 400
    # What is not refused changes nothing that anybody reads, or calls itself noise.
    read = ("promises", "suppressed")
    for label in found["violated"]:
        plain = ("as microaggregated", "without form")  # a form is plain where none is told
        assert any(key in label for key in read) or label in plain, label
    assert all("randomised" in label for label in found.get("could_not_judge", []))


def test_data_that_no_manifest_lists_is_not_passed_over(release: Path, tmp_path: Path) -> None:
    public = tmp_path / "out" / "public"
    shutil.copytree(release / "public", public)
    (public / "README.md").write_text("what this is")
    assert outcome(public.parent) == "violated"
    for name in ("more.csv", "Data.PARQUET", "more.tsv.gz"):
        (public / name).symlink_to(public / "data.csv")
        with pytest.raises(sf.InputError, match="besides the data its manifest lists"):
            sf.read_release(public.parent, SCHEMA)
        (public / name).unlink()
    (public / "data.csv").rename(tmp_path / "elsewhere.csv")
    (public / "data.csv").symlink_to(tmp_path / "elsewhere.csv")
    with pytest.raises(sf.InputError, match="is a link"):
        sf.read_release(public.parent, SCHEMA)


def test_with_private_no_change_goes_unnoticed(release: Path, tmp_path: Path) -> None:
    folder = tmp_path / "own"
    shutil.copytree(release, folder)
    assert outcome(folder) == "violated"
    path = folder / "public" / "manifest.json"
    path.write_text(path.read_text().replace('"suppressed": 0', '"suppressed": 1'))
    with pytest.raises(sf.InputError, match="was changed since the release was made"):
        sf.read_release(folder, SCHEMA)


@pytest.mark.parametrize(
    "weights",
    [
        {"flu": 1, "cold": 1},
        {"flu": 3, "cold": 4},
        {"flu": 3},
        {"flu": 3, "cold": 3, "rare": 1},
        {"flu": 3, "cold": -3},
        {"flu": True, "cold": 3},
        {"flu": "3", "cold": 3},
        {"flu": 1e300, "cold": 3},
        [3, 3],
        None,
    ],
)
def test_a_reference_that_does_not_fit_is_refused(release: Path, tmp_path, weights) -> None:
    folder = with_reference(release, tmp_path / "own", json.dumps({"disease": weights}))
    with pytest.raises(sf.InputError, match=r"reference\.json does not fit"):
        sf.read_release(folder, SCHEMA)


@pytest.mark.parametrize("content", ["NaN", "[" * 100_000, '{"disease": {"flu": NaN}}', "\0", "{"])
def test_a_reference_that_is_no_json_of_ours_is_refused(release: Path, tmp_path, content) -> None:
    folder = with_reference(release, tmp_path / "own", content)
    with pytest.raises(sf.InputError, match=r"reference\.json (is broken|does not fit)"):
        sf.read_release(folder, SCHEMA)


def test_a_private_side_that_may_not_be_read_leaves_the_public_one(
    release: Path, monkeypatch
) -> None:
    plain = Path.lstat

    def lstat(path: Path):
        if path.parent.name == "private":
            raise PermissionError(13, "Permission denied", str(path))
        return plain(path)

    monkeypatch.setattr(Path, "lstat", lstat)
    assert outcome(release) == "violated"


def test_noise_that_calls_itself_generalized_is_refused(tmp_path: Path) -> None:
    schema = sf.Schema(quasi=["sex"], sensitive="s", domains={"sex": ["F", "M"], "s": ["a", "b"]})
    rows = pa.table({"sex": ["F", "M"] * 20, "s": ["a", "b"] * 20})
    policy = sf.Policy(
        [sf.DifferentialPrivacy(5.0)], sf.Noise(epsilon=5.0, publish="rows"), schema=schema
    )
    release = sf.anonymize(sf.read(rows, schema), policy)
    out = release.save(tmp_path / "out", report=sf.audit(release, policy), policy=policy)
    shutil.rmtree(out / "private")
    (out / MARK).unlink()
    path = out / "public" / "manifest.json"
    told = json.loads(path.read_text())
    del told["guarantee"]
    path.write_text(json.dumps({**told, "scheme": "generalized"}))
    with pytest.raises(sf.InputError, match="differential privacy, which a generalized release"):
        sf.read_release(out, schema)


def test_a_file_outside_the_folder_is_never_read(tmp_path: Path) -> None:
    out = saved(tmp_path / "out")
    shutil.rmtree(out / "private")
    secret = tmp_path / "secret.csv"
    shutil.copy(out / "public" / "data.csv", secret)
    data = out / "public" / "data.csv"
    data.unlink()
    data.symlink_to(secret)
    with pytest.raises(sf.InputError, match=r"'data\.csv' is a link"):
        sf.read_release(out, SCHEMA)
