"""Step Data: files of every kind become pictures of columns, roles and a policy; never rows."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

from sfumato.datasets.census import census
from sfumato.engines.reading import Reading
from sfumato.policy.model import Policy
from sfumato.web import columns, roles
from sfumato.web.desk import Desk
from sfumato.web.project import FOLDER, Project
from tests.messy_files import excel_export, german_file
from tests.web.conftest import Visitor

HOSTILE = '<img src=x onerror="alert(1)">'


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """A desk whose project has a small census; no worker is needed to try a task."""
    pa_csv.write_csv(census(600), tmp_path / "census.csv")
    project = Project.open(tmp_path / FOLDER)
    project.choose_data("census.csv", {}, project.state().revision)
    project.close()
    return Desk(tmp_path, tmp_path / FOLDER)


def save(desk: Desk, text: str) -> None:
    (desk.project.folder / "policy.toml").write_text(text, encoding="utf-8")


def use(desk: Desk, name: str, text: str | None = None) -> None:
    """Work on another file."""
    if text is not None:
        (desk.folder.root / name).write_text(text, encoding="utf-8")
    project = Project.open(desk.project.folder)
    project.choose_data(name, {}, project.state().revision)
    project.close()


def test_columns_are_pictures_of_counts(desk: Desk) -> None:
    table = columns.describe(desk)
    assert table.rows == 600
    by_name = {one.name: one for one in table.columns}
    assert by_name["name"].kept_back
    assert by_name["name"].bars == ()
    for name in ("age", "sex", "disease", "income"):
        one = by_name[name]
        assert sum(bar.rows for bar in one.bars) + (one.undrawn > 0) <= 600
        assert max(bar.height for bar in one.bars) == 1
    assert sum(bar.rows for bar in by_name["age"].bars) == 600
    assert by_name["age"].ordered
    assert len(by_name["income"].bars) <= 2 * columns.BARS


def test_nothing_of_people_with_names_is_shown_unless_it_is_asked_for(desk: Desk) -> None:
    assert columns.list_values(desk, "name").kept_back
    found = columns.list_values(desk, "disease", "A")
    assert found.values
    assert all("a" in bar.label.lower() for bar in found.values)
    assert columns.list_values(desk, "disease", "' OR 1=1 --").matching == 0


def test_missing_values_and_one_value_are_told(desk: Desk) -> None:
    use(desk, "few.csv", "a,b,c,d\n1,x,,NA\n2,,,u\n3,x,,v\n4,x,,v\n5,x,,v\n")
    table = columns.describe(desk)
    told = {one.name: (one.present, one.missing) for one in table.columns}
    assert told == {"a": (5, 0), "b": (4, 1), "c": (0, 5), "d": (4, 1)}
    assert columns.describe(desk).columns[2].bars == ()


@pytest.mark.parametrize("write", [german_file, excel_export])
def test_messy_files_are_read_drafted_and_read_by_the_draft(desk: Desk, write: object) -> None:
    path = desk.folder.root / "messy.csv"
    write(path)  # type: ignore[operator]
    use(desk, "messy.csv")
    table = columns.describe(desk)
    assert {one.kind for one in table.columns} >= {"dates", "numbers"}
    save(desk, roles.draft(desk))
    assert columns.describe(desk).columns == table.columns
    assert desk.table().source.rows > 0


def test_roles_are_those_of_the_policy_beside_those_that_were_guessed(desk: Desk) -> None:
    save(desk, roles.draft(desk))
    told = {one.name: one for one in roles.roles(desk).columns}
    assert told["name"].role == told["name"].guess == "identifiers"
    assert "would be unique" in told["age"].why
    save(desk, roles.change_roles(desk, {"age": "sensitive"}))
    told = {one.name: one for one in roles.roles(desk).columns}
    assert (told["age"].role, told["age"].guess) == ("sensitive", "quasi")
    assert desk.policy().schema.sensitive  # type: ignore[union-attr]


def test_guesses_may_come_later(desk: Desk) -> None:
    save(desk, roles.draft(desk))
    fresh = Desk(desk.folder.root, desk.project.folder)
    told = roles.roles(fresh, quickly=True)
    assert told.waiting
    assert {one.guess for one in told.columns} == {""}
    assert not roles.roles(fresh).waiting
    assert not roles.roles(fresh, quickly=True).waiting


def test_a_policy_of_another_file_is_told(desk: Desk) -> None:
    save(desk, roles.draft(desk))
    use(desk, "other.csv", "x,y\n1,a\n2,b\n3,a\n")
    assert "does not have" in roles.roles(desk).problem


def test_an_answer_about_roles_changes_them_and_is_not_asked_again(desk: Desk) -> None:
    save(desk, roles.draft(desk))
    asked = roles.roles(desk).questions
    about = next(one for one in asked if one.about == "role")
    save(desk, roles.answer(desk, about.number, {about.columns[0]: "none"}))
    left = roles.roles(desk)
    assert about.text not in [one.text for one in left.questions]
    assert len(left.questions) < len(asked)
    assert {one.name: one.role for one in left.columns}[about.columns[0]] == "none"


def test_ambiguous_dates_become_a_question_and_its_answer_is_read(desk: Desk) -> None:
    days = [
        f"0{n % 6 + 1}/0{n % 4 + 1}/20{n % 8 + 10},{'FM'[n % 2]},{'ab'[n % 2]}" for n in range(90)
    ]
    use(desk, "stays.csv", "\n".join(["admitted,sex,disease", *days]) + "\n")
    save(desk, roles.draft(desk))
    (asked,) = [one for one in roles.roles(desk).questions if one.about == "notation"]
    assert ("dates:DMY", "day, month, year") in asked.ways
    said: dict[str, object] = {"dates": {"admitted": "MDY"}}
    text = roles.answer(desk, asked.number, {}, said)
    save(desk, text)
    assert Policy.load(desk.project.policy_file).read.dates == {"admitted": "MDY"}
    assert {one.name: one.kind for one in columns.describe(desk).columns}["admitted"] == "dates"
    assert not [one for one in roles.roles(desk).questions if one.about == "notation"]
    schema = desk.policy().schema
    assert schema is not None
    assert schema.hierarchies["admitted"].kind == "dates"
    assert desk.table().people == 90


def test_marks_become_a_question_and_its_answer_is_read(desk: Desk) -> None:
    rows = [
        f"{'NA' if n % 5 == 0 else 'xyz'[n % 3]},{'FM'[n % 2]},{'pq'[n % 2]}" for n in range(60)
    ]
    use(desk, "marks.csv", "\n".join(["town,sex,disease", *rows]) + "\n")
    save(desk, roles.draft(desk))
    assert {one.name: one.missing for one in columns.describe(desk).columns}["town"] == 12
    (asked,) = [one for one in roles.roles(desk).questions if one.about == "missing"]
    assert [(one.column, one.text, one.meaning) for one in asked.marks] == [
        ("town", "NA", "missing")
    ]
    said = roles.settle_marks(desk, {("town", "NA"): "value"})
    save(desk, roles.answer(desk, asked.number, {}, said))
    assert {one.name: one.missing for one in columns.describe(desk).columns}["town"] == 0
    assert not [one for one in roles.roles(desk).questions if one.about == "missing"]


def test_how_a_file_is_written_may_be_said_before_there_is_a_policy(desk: Desk) -> None:
    anew = roles.read_anew(desk, {"delimiter": ",", "missing": {"sex": ["F"]}})
    assert anew.policy is None
    assert Reading(**anew.reading).missing == {"sex": ("F",)}  # type: ignore[arg-type]


# -- pages -----------------------------------------------------------------------------------------


def begin(visitor: Visitor, text: str, name: str = "people.csv") -> None:
    root = visitor.bench.folder.root
    (root / name).write_text(text, encoding="utf-8")
    chosen = {"file": name, "revision": visitor.revision}
    assert visitor.post("/data/file", chosen).headers["location"] == "/data"


def people() -> str:
    head = f'age,"{HOSTILE.replace(chr(34), chr(34) * 2)}",disease'
    rows = [
        f"{20 + n % 40},{'<b>x</b>' if n % 2 else 'y'},{'flu' if n % 3 else 'cold'}"
        for n in range(80)
    ]
    return "\n".join([head, *rows]) + "\n"


def test_the_whole_step_by_plain_forms_with_hostile_names(visitor: Visitor) -> None:
    assert "Which file is it about?" in visitor.get("/data").text
    begin(visitor, people())
    page = visitor.get("/data").text
    assert HOSTILE not in page
    assert "<b>x</b>" not in page
    assert "Guess roles" in page
    assert visitor.post("/data/draft", {"revision": visitor.revision}).status_code == 303
    page = visitor.get("/data").text
    assert HOSTILE not in page
    assert page.count('class="pills"') == 3
    assert "sfumato init people.csv --out" in page
    given = {"revision": visitor.revision}
    for place, (name, role) in enumerate(
        {"age": "quasi", HOSTILE: "keep", "disease": "sensitive"}.items()
    ):
        given |= {f"column-{place}": name, f"role-{place}": role}
    assert visitor.post("/data/roles", given).status_code == 303
    policy = Policy.load(visitor.bench.project.policy_file)
    assert policy.schema is not None
    assert policy.schema.keep == (HOSTILE,)
    page = visitor.client.get("/data/column", params={"name": HOSTILE}).text
    assert HOSTILE not in page
    assert "<b>x</b>" not in page
    assert "&lt;b&gt;x&lt;/b&gt;" in page
    wrong_roles_are_a_line_and_change_nothing(visitor)
    another_tab_is_not_overwritten(visitor)


def wrong_roles_are_a_line_and_change_nothing(visitor: Visitor) -> None:
    before = visitor.revision
    names = {"column-0": "age", "role-0": "none"}
    answer = visitor.live("/data/roles", {**names, "revision": before})
    assert "quasi is empty" in answer.text
    assert visitor.revision == before
    answer = visitor.post("/data/roles", {"column-0": "age", "role-0": "x", "revision": before})
    assert answer.status_code == 422
    assert "is not known" in answer.text
    assert visitor.revision == before


def another_tab_is_not_overwritten(visitor: Visitor) -> None:
    old = visitor.revision
    given = {"column-0": "disease", "role-0": "keep"}
    assert visitor.post("/data/roles", {**given, "revision": old}).status_code == 303
    now = visitor.revision
    given = {"column-0": "disease", "role-0": "none"}
    assert visitor.post("/data/roles", {**given, "revision": old}).status_code == 409
    assert "Another tab" in visitor.live("/data/roles", {**given, "revision": old}).text
    assert visitor.post("/data/draft", {"revision": old}).status_code == 409
    assert visitor.revision == now


def test_a_file_that_cannot_be_read_asks_how_it_is_written(visitor: Visitor) -> None:
    begin(visitor, "a|b\n1|2\n", "odd.csv")
    visitor.post("/data/reading", {"revision": visitor.revision, "delimiter": "|"})
    assert visitor.bench.project.state().reading == {"delimiter": "|"}
    begin(visitor, "\x00\x01", "bad.csv")
    answer = visitor.get("/data")
    assert answer.status_code == 422
    assert "How is it written?" in answer.text
    answer = visitor.post("/data/reading", {"revision": visitor.revision, "decimal": "x"})
    assert answer.status_code == 422
    assert re.search(r"decimal .*x.* is not allowed", answer.text)


def test_another_file_takes_the_policy_with_it_only_if_it_is_to(visitor: Visitor) -> None:
    project = visitor.bench.project
    (visitor.bench.folder.root / "newer.csv").write_text(people(), encoding="utf-8")
    begin(visitor, people())
    project.save_policy("# mine\n", visitor.revision)
    chosen = {"file": "newer.csv", "keep": "yes", "revision": visitor.revision}
    visitor.post("/data/file", chosen)
    assert project.state().policy == "# mine\n"
    visitor.post("/data/file", {"file": "people.csv", "revision": visitor.revision})
    assert project.state().policy is None
    assert [one.read_text() for one in (project.folder / "earlier").iterdir()] == ["# mine\n"]


def test_a_file_outside_cannot_be_chosen(visitor: Visitor, tmp_path: Path) -> None:
    for name in ("../secret.csv", "/etc/passwd", "", f"{FOLDER}/policy.toml"):
        answer = visitor.post("/data/file", {"file": name, "revision": visitor.revision})
        assert answer.status_code == 422
    assert visitor.bench.project.state().data is None


def test_a_column_whose_name_has_a_line_break_gets_its_role(visitor: Visitor) -> None:
    table = pa.table({"the\nage": [*range(20, 60)] * 2, "disease": ["flu", "cold"] * 40})
    pq.write_table(table, visitor.bench.folder.root / "people.parquet")
    project = visitor.bench.project
    project.choose_data("people.parquet", {}, visitor.revision)
    visitor.post("/data/draft", {"revision": visitor.revision})
    given = {"column-0": "the\r\nage", "role-0": "quasi", "column-1": "disease", "role-1": "keep"}
    answer = visitor.post("/data/roles", {**given, "revision": visitor.revision})
    assert answer.status_code == 303
    schema = Policy.load(project.policy_file).schema
    assert schema is not None
    assert (schema.quasi, schema.keep) == (("the\nage",), ("disease",))


def test_a_column_like_an_option_is_none_in_the_command(visitor: Visitor) -> None:
    root = visitor.bench.folder.root
    (root / "-x.csv").write_text("--force,sex\n" + "30,F\n40,M\n" * 5)
    project = visitor.bench.project
    project.choose_data("-x.csv", {}, project.state().revision)
    page = visitor.client.get("/data/column", params={"name": "--force"}).text
    assert "sfumato hierarchy ./-x.csv --out tree.csv -- --force" in page
    assert "sfumato init ./-x.csv" in visitor.client.get("/data").text
