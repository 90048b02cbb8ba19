"""A tree that is edited: every value stays in it once, and what is wrong is one clear line."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.errors import InputError
from sfumato.schema.domain import Domain
from sfumato.schema.recipes import taxonomy
from sfumato.web.trees import (
    EDITS,
    Tree,
    add_level,
    dissolve,
    move,
    remove_level,
    rename,
    tree_of,
)

WORK = Tree(
    "work",
    ("farmer", "miner", "nurse", "teacher", "judge"),
    (5, 4, 3, 2, 1),
    (("land", "hands"), ("earth", "hands"), ("care", "heads"), ("care", "heads"), ("law", "heads")),
)
HOSTILE = [
    '<script>alert("x")</script>',
    "'; DROP TABLE people; --",
    "=cmd|' /C calc'!A0",
    'a;b,"c"',
    "نص",
    "a\u202eb"[:1] + "é",
    "{a, b}",
    "[20, 30)",
    "#not a comment",
    "\\n",
]


def test_values_are_moved_with_all_that_lies_above_their_group() -> None:
    moved = move(WORK, 1, ["judge", "miner"], "care")
    assert moved.paths[1] == moved.paths[4] == ("care", "heads")
    assert moved.groups_at(2) == {"hands": [0], "heads": [1, 2, 3, 4]}


def test_groups_are_moved_with_all_their_values() -> None:
    moved = move(WORK, 2, ["earth"], "heads")
    assert moved.paths[1] == ("earth", "heads")
    assert moved.paths[0] == ("land", "hands")


def test_a_new_group_stands_where_its_first_member_was() -> None:
    moved = move(WORK, 1, ["judge", "farmer"], " state ")
    assert moved.paths[4] == moved.paths[0] == ("state", "heads")


def test_levels_come_and_go() -> None:
    taller = add_level(WORK, 2)
    assert taller.height == 3
    assert taller.labels_at(3) == taller.labels_at(2)
    assert add_level(WORK, 0).labels_at(1) == WORK.values
    assert remove_level(taller, 3) == WORK
    flat = remove_level(remove_level(WORK, 1), 1)
    assert flat.height == 0
    assert flat.to_csv().splitlines()[0] == "farmer;*"


def test_a_group_is_renamed_on_every_level_where_it_is_the_same() -> None:
    taller = add_level(WORK, 2)
    renamed = rename(taller, 3, "hands", "manual")
    assert renamed.labels_at(2)[0] == renamed.labels_at(3)[0] == "manual"


def test_what_was_in_a_group_that_is_taken_apart_stands_for_itself() -> None:
    apart = dissolve(WORK, 1, "care")
    assert apart.labels_at(1)[2:4] == ("nurse", "teacher")
    assert apart.labels_at(2) == WORK.labels_at(2)
    above = dissolve(WORK, 2, "heads")
    assert above.labels_at(2) == ("hands", "hands", "care", "care", "law")


@pytest.mark.parametrize(
    ("what", "level", "names", "label", "told"),
    [
        ("move", 1, [], "care", "choose what to move first"),
        ("move", 1, ["pilot"], "care", "'pilot' is not there any more"),
        ("move", 3, ["care"], "x", "the tree has the levels 1 to 2"),
        ("move", 0, ["care"], "x", "level 0 is not there"),
        ("move", 1, ["judge"], "  ", "a group needs a name"),
        ("move", 1, ["judge"], "*", "has a meaning of its own"),
        ("move", 1, ["judge"], "(missing)", "has a meaning of its own"),
        ("move", 1, ["judge"], "a\nb", "a line break or an invisible sign"),
        ("move", 1, ["judge"], "x" * 300, "use at most 200"),
        ("move", 1, ["judge"], "nurse", "'nurse' is a value"),
        ("move", 1, ["judge"], "hands", "'hands' would mean other values on level 2"),
        ("rename", 1, ["care"], "law", "another group of level 1"),
        ("rename", 1, ["lore"], "law", "no group of level 1"),
        ("rename", 1, ["care", "law"], "x", "choose one group"),
        ("rename", 1, ["care"], "miner", "'miner' is a value"),
        ("rename", 1, ["care"], "hands", "'hands' would mean other values"),
        ("dissolve", 1, ["nobody"], "", "no group of level 1"),
        ("add-level", 7, [], "", "level 7 is not there"),
        ("remove-level", 3, [], "", "the tree has the levels 1 to 2"),
    ],
)
def test_a_wrong_edit_is_one_clear_line(
    what: str, level: int, names: list[str], label: str, told: str
) -> None:
    with pytest.raises(InputError, match=told.replace("(", r"\(").replace("*", r"\*")) as error:
        EDITS[what](WORK, level, names, label)
    assert "\n" not in str(error.value)


def test_a_value_alone_cannot_be_taken_apart() -> None:
    with pytest.raises(InputError, match="stands for itself already"):
        dissolve(add_level(WORK, 0), 1, "nurse")


def test_a_tree_without_levels_says_what_to_do() -> None:
    flat = remove_level(remove_level(WORK, 1), 1)
    with pytest.raises(InputError, match="add a level first"):
        move(flat, 1, ["nurse"], "care")


def test_hostile_labels_come_back_from_the_file_as_they_are(tmp_path: Path) -> None:
    values = tuple(sorted(HOSTILE))
    tree = add_level(Tree("x", values, (1,) * len(values), ((),) * len(values)), 0)
    for nth, label in enumerate(HOSTILE):
        tree = move(tree, 1, [values[nth]], f"group {label}")
    _assert_same(tree, tmp_path / "tree.csv")


def test_values_that_a_file_cannot_say_are_refused() -> None:
    for value in (" a", "b\nc", "d\u2028"):
        with pytest.raises(InputError, match="which a file of labels cannot say"):
            Tree("x", (value,), (1,), ((),)).to_csv()


def _assert_same(tree: Tree, path: Path) -> None:
    path.write_text(tree.to_csv(), encoding="utf-8")
    read = taxonomy(path)
    assert read.paths == tree.taxonomy().paths
    levels = read.bind(Domain(tree.column, "categorical", tree.values))
    again = tree_of(levels, tree.rows)
    # A level on which every value stands for itself, or all together, is a level all the same.
    assert again.values == tree.values
    assert again.paths == tree.paths


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.data())
def test_whatever_is_done_every_value_stays_in_one_leaf(data: st.DataObject) -> None:
    from tempfile import TemporaryDirectory

    tree = WORK
    names = st.sampled_from([*WORK.values, "land", "earth", "care", "law", "hands", "heads", "new"])
    for _ in range(6):
        what = data.draw(st.sampled_from(sorted(EDITS)))
        chosen = data.draw(st.lists(names, min_size=1, max_size=3, unique=True))
        with suppress(InputError):
            tree = EDITS[what](tree, data.draw(st.integers(0, 3)), chosen, data.draw(names))
        assert tree.values == WORK.values
        assert len({len(path) for path in tree.paths}) == 1
        for level in range(tree.height + 1):
            places = np.concatenate([*map(np.array, tree.groups_at(level).values())])
            assert sorted(places.tolist()) == list(range(len(tree.values)))
    with TemporaryDirectory() as folder:
        _assert_same(tree, Path(folder) / "tree.csv")
