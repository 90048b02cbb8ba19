"""A policy's text is changed without losing what it says elsewhere, comments included."""

from __future__ import annotations

import tomllib

import pytest

from sfumato.errors import PolicyError
from sfumato.policy.edit_text import PolicyText, said_in

POLICY = """\
# A policy.
suppression = 0.02  # few

[schema]
# who may be found
quasi = [
  "age",  # years
  "zip",
]
sensitive = "disease"

# Ranges.
[schema.hierarchies.age]
kind = "intervals"
widths = [5, 10]

# Codes.
[schema.hierarchies."zip code"]
kind = "taxonomy"
[schema.hierarchies."zip code".paths]
"1 = 2" = ["a", "b"]

[[require]]
kind = "k-anonymity"
k = 5

# Diseases.
[[require]]
kind = "distinct-diversity"
sensitive = "disease"
adversary = { shape = "table", known = 1 }

[[require]]
kind = "last"
"""


def test_what_is_not_changed_stays_to_the_letter() -> None:
    assert PolicyText(POLICY).text() == POLICY
    edit = PolicyText(POLICY)
    edit.set("schema", "sensitive", value=["disease", "income"])
    assert edit.text() == POLICY.replace('"disease"\n\n#', '["disease", "income"]\n\n#')


def test_blank_lines_elsewhere_stay() -> None:
    edit = PolicyText('a = """x\n\n\ny"""\n\n\n\n[b]\nc = 1\n\n# D.\nd = 1\n\n')
    edit.remove("b", "d")
    edit.append("require", entries={"kind": "k"})
    assert edit.text() == 'a = """x\n\n\ny"""\n\n\n\n[b]\nc = 1\n\n[[require]]\nkind = "k"\n'


def test_a_table_goes_with_its_comment_and_all_below_it() -> None:
    edit = PolicyText(POLICY)
    edit.remove("schema", "hierarchies", "zip code")
    text = edit.text()
    assert "Codes." not in text
    assert "1 = 2" not in text
    assert "# Ranges." in text
    edit = PolicyText(POLICY)
    edit.remove("require", 1)
    assert [one["kind"] for one in tomllib.loads(edit.text())["require"]] == ["k-anonymity", "last"]
    assert "# Diseases." not in edit.text()


def test_several_changes_at_once() -> None:
    edit = PolicyText(POLICY)
    edit.remove("require", 2)
    edit.remove("require", 1)
    edit.append("require", entries={"kind": "new", "k": 2}, note=["# Why."])
    edit.set_table("schema", "hierarchies", "age", entries={"kind": "mask"}, note=["# Signs."])
    edit.set("schema", "levels", "in=come", value=1)
    edit.set("read", "delimiter", value=";")
    edit.set("schema", "person", value="id", note=["# Whose."])
    told = tomllib.loads(edit.text())
    assert [one["kind"] for one in told["require"]] == ["k-anonymity", "new"]
    assert told["schema"]["hierarchies"]["age"] == {"kind": "mask"}
    assert told["schema"]["levels"] == {"in=come": 1}
    assert told["read"] == {"delimiter": ";"}
    assert told["schema"]["person"] == "id"
    assert "# Ranges." not in edit.text()


def test_tables_written_in_a_line_are_opened() -> None:
    text = (
        'schema = { quasi = ["a"], hierarchies = { a = { kind = "mask" }, b = { kind = "x" } } }\n'
        'read = { delimiter = ";" }\n'
        "[[require]]\nkind = 1\n"
    )
    edit = PolicyText(text)
    edit.remove("schema", "hierarchies", "b")
    edit.set_table("schema", "hierarchies", "a", entries={"kind": "dates", "units": ("year",)})
    edit.remove("read", "delimiter")
    assert tomllib.loads(edit.text()) == {
        "schema": {"quasi": ["a"], "hierarchies": {"a": {"kind": "dates", "units": ["year"]}}},
        "require": [{"kind": 1}],
    }


def test_dotted_keys_and_absent_ones() -> None:
    edit = PolicyText('schema.quasi = ["a"]\nschema.limits.a.finest = 1\n')
    edit.remove("schema", "limits", "a")
    edit.remove("schema", "limits", "b")
    edit.remove("nothing", "here")
    assert tomllib.loads(edit.text()) == {"schema": {"quasi": ["a"]}}


@pytest.mark.parametrize("text", ["a = ", "[x", "a = 1\na = 2"])
def test_what_is_no_toml_is_refused_in_a_line(text: str) -> None:
    with pytest.raises(PolicyError, match="not valid TOML; correct it first") as error:
        PolicyText(text)
    assert "\n" not in str(error.value)
    with pytest.raises(PolicyError):
        said_in(text, "schema")


def test_a_table_of_a_list_on_one_line_goes_and_comes() -> None:
    edit = PolicyText('require = [{ kind = "a" }, { kind = "b" }]  # both\n')
    edit.remove("require", 0)
    edit.append("require", entries={"kind": "c"})
    assert edit.text() == 'require = [{ kind = "b" }, {kind = "c"}]  # both\n'


def test_what_stands_above_the_next_table_stays_when_one_goes() -> None:
    edit = PolicyText(POLICY)
    edit.remove("require", 0)
    edit.remove("schema", "hierarchies", "age")
    assert "# Ranges." not in edit.text()
    assert '# Codes.\n[schema.hierarchies."zip code"]\n' in edit.text()
    assert '\n\n# Diseases.\n[[require]]\nkind = "distinct-diversity"\n' in edit.text()


def test_a_new_key_stands_with_its_table_and_not_below_the_next_comment() -> None:
    edit = PolicyText(POLICY)
    edit.set("schema", "keep", value=["b"])
    edit.set("require", 0, "weight", value=2)
    assert 'sensitive = "disease"\nkeep = ["b"]\n\n# Ranges.\n' in edit.text()
    assert "k = 5\nweight = 2\n\n# Diseases.\n" in edit.text()


def test_tables_out_of_order_are_changed_where_they_stand() -> None:
    text = (
        '[schema]\nquasi = ["a"]\n\n[[require]]\nkind = 1\n\n'
        "# Of a.\n[schema.hierarchies.a]\nkind = 2\n\n[read]\nx = 1\n\n[schema.levels]\na = 1\n"
    )
    edit = PolicyText(text)
    edit.remove("schema", "hierarchies", "a")
    edit.set("schema", "levels", "a", value=3)
    edit.set("schema", "quasi", value=["a", "b"])
    assert edit.text() == (
        '[schema]\nquasi = ["a", "b"]\n\n[[require]]\nkind = 1\n\n'
        "[read]\nx = 1\n\n[schema.levels]\na = 3\n"
    )


def test_what_cannot_be_changed_is_refused_and_not_spoilt() -> None:
    edit = PolicyText('schema.quasi = ["a"]\nsuppression = 0.1\n')
    edit.set_table("schema", "hierarchies", "a", entries={"kind": "mask"})
    with pytest.raises(PolicyError, match="cannot be changed from here"):
        edit.text()
    edit = PolicyText('schema = "none"\n')
    with pytest.raises(PolicyError, match="cannot be changed from here"):
        edit.set("schema", "person", value="id")
