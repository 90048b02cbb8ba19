"""Portable SQL in Spark's dialect: quotes, texts and names of tables, none of them by accident."""
# ruff: noqa: E501 (a table of cases reads best one a line)

from __future__ import annotations

import pytest

from sfumato.engines.spark.dialect import translate

TABLES = {"people": "v_people", "odd name": "v_odd"}
CASES = {
    'SELECT "a b" FROM x': "SELECT `a b` FROM x",
    'SELECT "a""b`c" FROM x': 'SELECT `a"b``c` FROM x',
    "SELECT 'plain \"text\"'": "SELECT 'plain \"text\"'",
    "SELECT 'it''s'": "SELECT CAST(X'69742773' AS STRING)",
    "SELECT '\\'": "SELECT CAST(X'5c' AS STRING)",
    "SELECT '${x}', ''": "SELECT CAST(X'247b787d' AS STRING), ''",
    "SELECT a FROM people": "SELECT a FROM `v_people`",
    'SELECT a FROM "odd name" JOIN people ON people.a = "odd name"."people"': "SELECT a FROM `v_odd` JOIN `v_people` ON `v_people`.a = `v_odd`.`people`",
    'SELECT "people", people FROM (SELECT * FROM people) AS x': "SELECT `people`, people FROM (SELECT * FROM `v_people`) AS x",
    'a IS NOT DISTINCT FROM "people"': "a IS NOT DISTINCT FROM `people`",
    "a IS DISTINCT FROM people.b": "a IS DISTINCT FROM `v_people`.b",
    "SELECT 'FROM people' FROM\n people": "SELECT 'FROM people' FROM\n `v_people`",
    'SELECT 1e15 * "ä" FROM peoples': "SELECT 1e15 * `ä` FROM peoples",
}


@pytest.mark.parametrize("sql", CASES)
def test_translate(sql: str) -> None:
    assert translate(sql, TABLES) == CASES[sql]
