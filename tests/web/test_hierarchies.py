"""Hierarchies on the page: seen with counts, sorted by hand, kept as files that the shell reads."""

from __future__ import annotations

import pickle
from pathlib import Path

import pyarrow.csv as pa_csv
import pytest

from sfumato.datasets.census import census
from sfumato.errors import InputError, SfumatoError
from sfumato.policy.draft.draft import draft_policy
from sfumato.policy.model import Policy
from sfumato.schema.recipes import Intervals, Taxonomy
from sfumato.web import columns, hierarchies, roles
from sfumato.web.bench import Bench
from sfumato.web.desk import Desk
from sfumato.web.folder import Folder
from sfumato.web.hierarchies import Branch
from sfumato.web.project import FOLDER, Project
from tests.web.conftest import Visitor
from tests.web.small_project import Here

PEOPLE = 700


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    """A workbench that does its tasks here."""
    project = Project.open(tmp_path / FOLDER)
    here = Here(tmp_path, project)
    return Bench(Folder(tmp_path, project.folder), project, here, here)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def drafted() -> str:
    return draft_policy(census(PEOPLE)).text


@pytest.fixture
def desk(tmp_path: Path, drafted: str) -> Desk:
    pa_csv.write_csv(census(PEOPLE), tmp_path / "census.csv")
    project = Project.open(tmp_path / FOLDER)
    project.choose_data("census.csv", {}, project.state().revision)
    project.save_policy(drafted, project.state().revision)
    project.close()
    return Desk(tmp_path, tmp_path / FOLDER)


def keep(desk: Desk, column: str, tree: str) -> None:
    """What the server does with an edited tree."""
    project = Project.open(desk.project.folder)
    file = project.add_hierarchy(column, tree)
    project.save_policy(hierarchies.name_tree(desk, column, file), project.state().revision)
    project.close()


def leaves(roots: tuple[Branch, ...]) -> list[str]:
    found = []
    for one in roots:
        found += leaves(one.inner) if one.level else [one.label]
    return found


def test_an_edited_tree_is_a_file_that_the_policy_names_and_the_shell_reads(desk: Desk) -> None:
    values = set(leaves(hierarchies.see(desk, "marital").roots))
    assert len(values) > 3
    keep(desk, "marital", hierarchies.edit(desk, "marital", "add-level", 0, [], ""))
    first, second, *rest = sorted(values)
    keep(desk, "marital", hierarchies.edit(desk, "marital", "move", 1, [first, second], "both"))
    seen = hierarchies.see(desk, "marital")
    assert (seen.kind, seen.height, seen.editable) == ("taxonomy", 1, True)
    assert pickle.loads(pickle.dumps(seen)) == seen  # which is how a worker sends it
    assert sorted(leaves(seen.roots)) == sorted(values)
    both = next(one for one in seen.roots if one.label == "both")
    assert {one.label for one in both.inner} == {first, second}
    assert sum(one.rows for one in seen.roots) == PEOPLE
    assert seen.levels[0].labels == len(rest) + 1
    # What a command reads is what the page shows.
    policy = Policy.load(desk.project.policy_file)
    assert policy.schema is not None
    tree = policy.schema.hierarchies["marital"]
    assert isinstance(tree, Taxonomy)
    assert tree.paths[first] == ("both", "*")
    assert desk.table().people == PEOPLE
    listed = [*(desk.project.folder / "hierarchies").iterdir()]
    assert len(listed) == 2  # earlier trees stay
    assert hierarchies.file_of(desk, "marital").startswith("hierarchies/marital-")


def test_a_wrong_edit_is_a_line_and_a_missing_role_too(desk: Desk) -> None:
    with pytest.raises(InputError, match="add a level first"):
        hierarchies.edit(desk, "marital", "move", 1, ["x"], "y")
    with pytest.raises(InputError, match="nothing that can be done"):
        hierarchies.edit(desk, "marital", "explode", 1, ["x"], "y")
    with pytest.raises(InputError, match="give it that role first"):
        hierarchies.see(desk, "name")
    with pytest.raises(InputError, match="is not in"):
        hierarchies.see(desk, "nowhere")


def test_a_tree_that_lacks_values_is_refused_and_told(desk: Desk) -> None:
    project = Project.open(desk.project.folder)
    file = project.add_hierarchy("marital", "nobody;alone;*\n")
    project.close()
    with pytest.raises(SfumatoError, match="not covered by its hierarchy"):
        hierarchies.name_tree(desk, "marital", file)
    text = (desk.state().policy or "") + (
        f'\n[schema.hierarchies.marital]\nkind = "taxonomy"\nfile = "{file}"\n'
    )
    desk.project.policy_file.write_text(text, encoding="utf-8")
    seen = hierarchies.see(desk, "marital")
    assert "not covered by its hierarchy" in seen.problem
    assert seen.kind == "suppression"


@pytest.mark.parametrize(
    ("said", "ranges", "first"),
    [
        ({"widths": "10"}, 1, "[10, 20)"),
        ({"widths": "5, 10, 20", "top": "80", "bottom": "18"}, 3, "<18"),
        ({"cuts": "18, 40, 65\n65"}, 2, "<18"),
    ],
)
def test_ranges_hold_everybody(desk: Desk, said: dict[str, str], ranges: int, first: str) -> None:
    levels = hierarchies.try_rule(desk, "age", {"kind": "intervals", **said})
    assert len(levels) == ranges
    for level in levels:
        assert sum(bar.rows for bar in level.bars) == PEOPLE
        assert level.smallest == min(bar.rows for bar in level.bars)
        assert level.below_five == sum(bar.rows < 5 for bar in level.bars)
    assert first in [bar.label for bar in levels[0].bars]
    policy = hierarchies.set_rule(desk, "age", {"kind": "intervals", **said})
    desk.project.policy_file.write_text(policy, encoding="utf-8")
    assert hierarchies.see(desk, "age").levels == levels


def test_very_many_numbers_are_counted_by_range(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = {"kind": "intervals", "widths": "1000, 2000", "top": "31500", "bottom": "1700"}
    exact = hierarchies.try_rule(desk, "income", said)
    cuts = {"kind": "intervals", "cuts": "1000, 5000, 20000\n5000"}
    exact_cuts = hierarchies.try_rule(desk, "income", cuts)
    monkeypatch.setattr(hierarchies, "_FINE", 10)
    assert hierarchies.try_rule(desk, "income", said) == exact
    assert hierarchies.try_rule(desk, "income", cuts) == exact_cuts


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ({"kind": "intervals"}, "needs either widths or cuts"),
        ({"kind": "intervals", "widths": "5, x"}, "'x' is no number"),
        ({"kind": "intervals", "widths": "5, 7"}, "not a multiple"),
        ({"kind": "intervals", "widths": "-1"}, "must be a positive number"),
        ({"kind": "dates"}, "needs dates"),
        ({"kind": "icd10"}, "no ICD-10 codes"),
        ({"kind": "guess"}, "no rule"),
        ({"kind": "intervals", "widths": "5", "top": "1, 2"}, "one number"),
    ],
)
def test_a_wrong_rule_is_one_clear_line(desk: Desk, said: dict[str, str], told: str) -> None:
    for task in (hierarchies.try_rule, hierarchies.set_rule):
        with pytest.raises(SfumatoError, match=told) as error:
            task(desk, "age", said)
        assert "\n" not in str(error.value)


def test_a_proposal_is_that_of_the_shell(desk: Desk) -> None:
    made = hierarchies.propose(desk, "age", None)
    assert made.tree is None
    assert made.policy is not None
    desk.project.policy_file.write_text(made.policy, encoding="utf-8")
    policy = desk.policy()
    assert policy.schema is not None
    assert isinstance(policy.schema.hierarchies["age"], Intervals)
    made = hierarchies.propose(desk, "marital", 2)
    assert made.tree is not None
    keep(desk, "marital", made.tree)
    assert hierarchies.see(desk, "marital").height >= 1


def test_a_rule_becomes_a_tree_that_says_the_same(desk: Desk) -> None:
    before = hierarchies.see(desk, "zip")
    assert before.kind == "mask"
    assert not before.editable
    keep(desk, "zip", hierarchies.as_list(desk, "zip"))
    after = hierarchies.see(desk, "zip")
    assert after.editable
    assert [level.labels for level in after.levels] == [level.labels for level in before.levels]


def test_lists_and_codes_with_labels_are_seen_by_their_values(desk: Desk) -> None:
    from tests.messy_files import parquet_file, spss_file

    project = Project.open(desk.project.folder)
    for name, write, column in (
        ("patients.parquet", parquet_file, "diagnoses"),
        ("survey.sav", spss_file, "vote"),
    ):
        write(desk.folder.root / name)
        project.choose_data(name, {}, project.leave_policy(project.state().revision).revision)
        project.save_policy(roles.draft(desk), project.state().revision)
        seen = hierarchies.see(desk, column)
        assert len(leaves(seen.roots)) == seen.values > 3
        assert sum(one.rows for one in seen.roots) > 0
        (picture,) = [one for one in columns.describe(desk).columns if one.name == column]
        assert picture.distinct >= 3
    project.close()
    assert seen.meanings["1"] == "Left"
    assert "1 Left" in {bar.label for bar in picture.bars}
    assert "1 Left" in {bar.label for bar in columns.list_values(desk, "vote").values}


def test_a_sensitive_column_is_published_at_a_level_that_is_there(desk: Desk) -> None:
    assert hierarchies.see(desk, "income").published_at == 1
    policy = hierarchies.publish_at(desk, "income", 2)
    desk.project.policy_file.write_text(policy, encoding="utf-8")
    schema = desk.policy().schema
    assert schema is not None
    assert schema.levels == {"income": 2}
    said = {"kind": "intervals", "widths": "10000"}
    desk.project.policy_file.write_text(
        hierarchies.set_rule(desk, "income", said), encoding="utf-8"
    )
    assert hierarchies.see(desk, "income").published_at == 1
    assert desk.table().people == PEOPLE
    for column, level, told in (("income", 2, "levels 0 to 1"), ("age", 1, "not sensitive")):
        with pytest.raises(InputError, match=told):
            hierarchies.publish_at(desk, column, level)


def test_a_hierarchy_keeps_to_the_limits_of_its_column(desk: Desk) -> None:
    text = (desk.state().policy or "") + "\n[schema.limits]\nage = { finest = 2 }\n"
    desk.project.policy_file.write_text(text, encoding="utf-8")
    with pytest.raises(SfumatoError, match="finest"):
        hierarchies.set_rule(desk, "age", {"kind": "suppression"})


def test_of_many_values_the_largest_are_shown_and_others_found(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hierarchies, "MOST_SHOWN", 5)
    monkeypatch.setattr(hierarchies, "MOST_OF_GROUP", 3)
    seen = hierarchies.see(desk, "zip")
    assert len(leaves(seen.roots)) <= 5
    assert sum(one.rows for one in seen.roots) == PEOPLE
    assert seen.left_out == 0
    keep(desk, "zip", hierarchies.as_list(desk, "zip"))
    for _ in range(hierarchies.see(desk, "zip").height):
        keep(desk, "zip", hierarchies.edit(desk, "zip", "remove-level", 1, [], ""))
    for height in (0, 1):
        seen = hierarchies.see(desk, "zip")
        assert (seen.height, len(seen.roots)) == (height, 5)
        assert seen.left_out == seen.values - 5
        keep(desk, "zip", hierarchies.edit(desk, "zip", "add-level", 0, [], ""))
    every = {str(one) for one in census(PEOPLE).column("zip").to_pylist()}
    rare = sorted(every)[-1]
    assert leaves(hierarchies.see(desk, "zip", rare).roots) == [rare]


def test_a_tree_is_edited_on_the_page(visitor: Visitor, drafted: str) -> None:
    root, project = visitor.bench.folder.root, visitor.bench.project
    table = census(PEOPLE)
    pa_csv.write_csv(table, root / "census.csv")
    project.choose_data("census.csv", {}, visitor.revision)
    project.save_policy(drafted, visitor.revision)
    page = visitor.client.get("/data/column", params={"name": "marital"}).text
    assert "Add a level of groups" in page
    first, second, *_ = sorted(set(table.column("marital").to_pylist()))

    def send(path: str, **fields: object) -> str:
        return str(
            visitor.live(path, {"name": "marital", "revision": visitor.revision, **fields}).text
        )

    assert "Undo" not in send("/data/tree", what="add-level", level="0")
    hostile = "<script>alert(1)</script>"
    picks = [f"0|{first}", f"0|{second}"]
    answer = send("/data/tree", what="move", pick=picks, new=hostile)
    assert hostile not in answer
    assert "&lt;script&gt;" in answer
    assert "Undo" in answer
    answer = send("/data/tree", what="rename", pick=f"1|{hostile}", new="both")
    assert 'data-group="both"' in answer
    before = visitor.revision
    for wrong in ({"pick": []}, {"pick": [f"0|{first}", "1|both"]}, {"pick": "0|nobody"}):
        answer = send("/data/tree", what="move", new="x", **wrong)
        assert 'role="alert"' in answer
    for file in ("../../secret.csv", "/etc/passwd", "hierarchies/../policy.toml"):
        assert "no tree of this project" in send("/data/tree", what="use", file=file)
    assert visitor.revision == before
    stale = {"name": "marital", "revision": "old", "what": "add-level", "level": "0"}
    assert visitor.post("/data/tree", stale).status_code == 409
    assert "Another tab" in visitor.live("/data/tree", stale).text
    answer = visitor.live("/data/ranges", {"name": "age", "kind": "intervals", "widths": "7"}).text
    assert "the smallest holds" in answer
    said = {"name": "age", "kind": "intervals", "widths": "7, 14", "revision": visitor.revision}
    assert visitor.post("/data/rule", said).status_code == 303
    schema = Policy.load(project.policy_file).schema
    assert schema is not None
    assert schema.hierarchies["age"] == Intervals((7, 14))
    assert schema.hierarchies["marital"].leaves()
