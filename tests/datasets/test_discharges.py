"""The embedded discharges are what a hospital's are like, and the same every time."""

from __future__ import annotations

import pytest

from sfumato.datasets.discharges import DIAGNOSES, discharges
from sfumato.errors import InputError


def test_patients_have_one_to_three_stays_and_one_birth_sex_and_home() -> None:
    rows = discharges(200).to_pandas()
    stays = rows.groupby("patient_id").size()
    assert len(stays) == 200
    assert set(stays) == {1, 2, 3}
    assert (rows.groupby("patient_id")[["birth_date", "sex", "zip"]].nunique() == 1).all(axis=None)
    assert set(rows["diagnosis"]) <= set(DIAGNOSES)
    assert (rows["days"] >= 1).all()
    assert set(rows.loc[rows["diagnosis"] == "O80", "sex"]) == {"F"}


def test_a_seed_draws_the_same_table_and_another_seed_another() -> None:
    assert discharges(50, seed=1).equals(discharges(50, seed=1))
    assert not discharges(50, seed=1).equals(discharges(50, seed=2))


@pytest.mark.parametrize("wrong", [{"patients": 0}, {"seed": -1}])
def test_mistakes_are_told(wrong: dict[str, int]) -> None:
    with pytest.raises(InputError, match="use"):
        discharges(**wrong)
