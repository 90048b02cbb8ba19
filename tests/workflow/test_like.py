"""Take this one: a point of a comparison, or a way of best, published as it was measured."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pa_csv
import pytest

import sfumato as sf
from sfumato.datasets.census import census, census_policy
from sfumato.utility.loss import Loss
from sfumato.utility.view import view_of
from sfumato.workflow.publish import Publication
from tests.program import sfumato


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path, Path]:
    data, policy, saved = (tmp_path / name for name in ("census.csv", "policy.toml", "map.json"))
    pa_csv.write_csv(census(200), data)
    policy.write_text(census_policy())
    return data, policy, saved


def test_a_point_is_published_as_it_was_measured(files: tuple[Path, Path, Path]) -> None:
    data, policy, saved = files
    run = sfumato(
        *("compare", data, "--policy", policy, "--save", saved, "--seed", 5),
        *("--sweep", "k=2,4", "--sweep", "anonymizer=lattice,mondrian"),
        *("--sweep", "suppression=0,0.1"),
    )
    assert run.returncode == 0, run.stderr
    points = json.loads(saved.read_text())["points"]
    assert [one["point"] for one in points] == list(range(1, len(points) + 1))
    assert run.stdout.count("\n") > len(points)
    rules = sf.Policy.load(policy)
    assert rules.schema is not None
    table = sf.read(data, rules.schema)
    for told in points:
        chosen = sf.point(f"{saved}#{told['point']}", table, rules)
        release = sf.anonymize(table, chosen.policy, seed=chosen.seed)
        assert len(release.groups) == told["groups"]
        assert release.suppressed == told["suppressed"]
        assert Loss().cost(view_of(release)) == pytest.approx(told["costs"]["loss"])
    last = points[-1]
    assert {"k", "anonymizer"} <= set(last["settings"])
    out = data.parent / "by_point"
    arguments = ("anonymize", data, "--policy", policy, "--no-price")
    run = sfumato(*arguments, "--like", f"{saved}#{last['point']}", "--out", out)
    assert run.returncode == 0, run.stderr
    by_hand = data.parent / "by_hand"
    release.save(by_hand, policy=chosen.policy)
    for file in ("data.csv",):
        assert (out / "public" / file).read_bytes() == (by_hand / "public" / file).read_bytes()
    kept = sf.Policy.load(out / "private" / "policy.toml")
    assert kept.require[0] == sf.KAnonymity(last["settings"]["k"])
    assert kept.maker.name == last["anonymizer"]


def test_the_page_shows_the_map_that_a_release_was_taken_from(
    files: tuple[Path, Path, Path],
) -> None:
    """A star marks it there; where it is not on the front, what would be better is named."""
    data, policy, saved = files
    _compared(files)
    content = json.loads(saved.read_text())
    content["points"][1]["costs"]["loss"] = 0.9999  # costs more than the other, and risks more
    content["points"][1]["risks"]["mean"] = 0.9999
    saved.write_text(json.dumps(content))
    for number in (1, 2):
        out = data.parent / f"like{number}"
        arguments = ("--like", f"{saved}#{number}", "--out", out, "--no-price")
        run = sfumato("anonymize", data, "--policy", policy, *arguments)
        assert run.returncode == 0, run.stderr
        settings = f"(k={2 * number}, mondrian)"
        assert f"point {number} of map.json {settings}" in run.stdout
        told = json.loads((out / "private" / "report.json").read_text())
        (section,) = (one for one in told["sections"] if one["title"] == "Which release was taken")
        assert f"point {number} of map.json {settings} was taken." in section["words"]
        better = {1: "It lies on the Pareto front", 2: "#1 (k=2, mondrian) would risk and cost"}
        assert better[number] in section["words"]
        (chart,) = section["charts"]
        star = next(one for one in chart["series"] if one["name"] == "the release that was taken")
        point = content["points"][number - 1]
        assert (star["x"], star["y"]) == ([point["risks"]["mean"]], [point["costs"]["loss"]])
        assert sum(len(one["x"]) for one in chart["series"]) == 2
        (table,) = section["tables"]
        assert [table["rows"][at][0] for at in table["starred"]] == [number]
        assert "Which release was taken" not in (out / "public" / "report.html").read_text()


def test_a_way_of_best_is_published(tmp_path: Path) -> None:
    rows = pa.table({"age": [20, 20, 31, 31, 45, 46, 60, 61] * 3, "ill": [*"abcabcab"] * 3})
    table = sf.read(rows, sf.Schema(["age"], "ill", hierarchies={"age": sf.intervals(10, 20, 40)}))
    policy = sf.Policy([sf.KAnonymity(4)], sf.Best(seconds=5))
    release = sf.anonymize(table, policy, seed=2)
    release.save(tmp_path / "out", policy=policy)
    run = tmp_path / "out" / "private" / "run.json"
    points = json.loads(run.read_text())["points"]
    for told in points:
        chosen = sf.point(f"{run}#{told['point']}", table, policy)
        assert chosen.seed == 2
        assert chosen.policy.maker.name == told["anonymizer"]["kind"]
        if told["outcome"] in ("holds", "chosen"):
            made = sf.anonymize(table, chosen.policy, seed=chosen.seed)
            assert Loss().cost(view_of(made)) == pytest.approx(told["costs"]["loss"])
    again = Publication(tmp_path / "second", like=f"{run}#2", price=False).publish(table, policy)
    (section,) = (part for part in again.report.sections if part.title == "Which release was taken")
    assert f"point 2 of run.json ({points[1]['name']}) was taken" in section.words
    (chart,) = section.charts
    held = [told for told in points if told["outcome"] in ("holds", "chosen")]
    assert sum(len(series.x) for series in chart.series) == len(held)
    star = next(series for series in chart.series if series.mark == "star")
    assert star.y == [points[1]["costs"]["loss"]]


@pytest.mark.parametrize(
    ("named", "words"),
    [
        ("{map}#99", "has points 1 to 2, not 99"),
        ("{map}#0", "has points 1 to 2, not 0"),
        ("{map}", "names no point; write FILE#POINT"),
        ("{map}#x", "names no point; write FILE#POINT"),
        ("{map}#" + "9" * 5000, "names no point; write FILE#POINT"),
        ("{map}x#1", "does not exist"),
        ("{policy}#1", "tells of no points"),
        ("{folder}#1", "tells of no points"),
    ],
)
def test_mistakes(files: tuple[Path, Path, Path], named: str, words: str) -> None:
    data, policy, saved = files
    _compared(files)
    text = named.format(map=saved, policy=policy, folder=data.parent)
    out = data.parent / "out"
    run = sfumato("anonymize", data, "--policy", policy, "--like", text, "--out", out)
    assert run.returncode == 2
    assert words in run.stderr
    assert run.stderr.count("\n") == 1
    assert not out.exists()


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("sweep", "k"), [1, 4]),
        (("sweep", "k"), [2, 4, 5]),
        (("points", 0, "settings", "k"), 4),
        (("points", 0, "anonymizer"), "lattice"),
        (("points", 1, "costs"), "few"),
        (("points", 1, "risks", "mean"), "high"),
        (("points", 1, "groups"), [1]),
        (("axes", "risk"), "none"),
        (("axes", "cost"), "none"),
    ],
)
def test_a_changed_map(
    files: tuple[Path, Path, Path], place: tuple[str | int, ...], value: object
) -> None:
    """What a point is said to be, and was measured as, is what is published, or nothing is."""
    data, policy, saved = files
    _compared(files)
    content = json.loads(saved.read_text())
    inner = content
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    saved.write_text(json.dumps(content))
    out = data.parent / "out"
    run = sfumato("anonymize", data, "--policy", policy, "--like", f"{saved}#1", "--out", out)
    assert run.returncode == 2
    assert "the file was changed; compare again" in run.stderr
    assert run.stderr.count("\n") == 1
    assert not out.exists()


def test_a_link_to_a_map_is_as_good_as_the_map(files: tuple[Path, Path, Path]) -> None:
    data, policy, saved = files
    _compared(files)
    link = saved.with_name("link.json")
    link.symlink_to(saved)
    rules = sf.Policy.load(policy)
    assert rules.schema is not None
    table = sf.read(data, rules.schema)
    assert sf.point(f"{link}#2", table, rules) == sf.point(f"{saved}#2", table, rules)


def test_another_table_another_policy_another_seed(files: tuple[Path, Path, Path]) -> None:
    data, policy, saved = files
    _compared(files)
    out = data.parent / "out"
    arguments = ("--like", f"{saved}#1", "--out", out)
    other = data.parent / "other.csv"
    pa_csv.write_csv(census(201), other)
    run = sfumato("anonymize", other, "--policy", policy, *arguments)
    assert (run.returncode, "made of another table" in run.stderr) == (2, True)
    stricter = data.parent / "stricter.toml"
    stricter.write_text(policy.read_text().replace("k = 5", "k = 6"))
    run = sfumato("anonymize", data, "--policy", stricter, *arguments)
    assert (run.returncode, "made of another policy" in run.stderr) == (2, True)
    limited = sfumato("anonymize", data, "--policy", policy, *arguments, "--limit", "age=1..")
    assert (limited.returncode, "made of another policy" in limited.stderr) == (2, True)
    run = sfumato("anonymize", data, "--policy", policy, *arguments, "--seed", 3)
    assert (run.returncode, "--like has its own seed" in run.stderr) == (2, True)
    assert not out.exists()


def _compared(files: tuple[Path, Path, Path]) -> None:
    """A map of two points, made in Python."""
    data, policy, saved = files
    rules = sf.Policy.load(policy)
    assert rules.schema is not None
    table = sf.read(data, rules.schema)
    sf.compare(table, rules, {"k": [2, 4], "anonymizer": ["mondrian"]}, ["loss"]).save(saved)
