"""Schema: one role a column, sensible options."""

from __future__ import annotations

import pytest

import sfumato as sf


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"quasi": []}, "quasi is empty"),
        ({"quasi": ["a"], "sensitive": "a"}, "'a' is listed as quasi and as sensitive"),
        ({"quasi": ["a", "a"]}, "'a' is listed twice as quasi"),
        ({"quasi": ["a"], "person": "p", "count": "n"}, "person and count exclude each other"),
        ({"quasi": ["a"], "nulls": "drop"}, "nulls: 'drop' is not allowed"),
        ({"quasi": ["a"], "hierarchies": {"b": sf.mask()}}, "'b' is neither quasi nor sensitive"),
        ({"quasi": ["a"], "hierarchies": {"a": "mask"}}, "use intervals, mask"),
        ({"quasi": ["a"], "domains": {"aa": ["x"]}}, "did you mean 'a'"),
        ({"quasi": ["a"], "sensitive": "s", "levels": {"s": 1}}, "must be sensitive and have"),
        ({"quasi": [3]}, "3 is not a column name"),
        ({"quasi": ["a"], "person": "p", "rows": "apart"}, "rows: 'apart' is not allowed"),
        ({"quasi": ["a"], "rows": "unlinked"}, "needs person"),
        ({"quasi": ["a"], "rows": "linked", "count": "n"}, "needs person"),
        ({"quasi": ["a"], "person": "p", "knows": 2}, "leave knows out"),
        ({"quasi": ["a"], "person": "p", "knows": 0}, "use 1, 2, 3, ... or 'all'"),
        ({"quasi": ["a"], "person": "p", "knows": True}, "use 1, 2, 3, ... or 'all'"),
        (
            {"quasi": ["a"], "household": "h", "count": "n"},
            "household and count do not go together",
        ),
        ({"quasi": ["a"], "household": "a"}, "'a' is listed as quasi and as household"),
    ],
)
def test_a_schema_that_cannot_be_meant(given, said: str) -> None:
    with pytest.raises(sf.SchemaError, match=said) as caught:
        sf.Schema(**given)
    assert "\n" not in str(caught.value)


def test_one_sensitive_column_may_be_given_bare() -> None:
    assert sf.Schema(quasi=["a"], sensitive="s").sensitive == ("s",)
