"""Prior definitions as special cases of skyline privacy as properties."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from tests.oracles.tables import tables


@given(sizes=st.lists(st.integers(1, 7), min_size=1, max_size=5), k=st.integers(2, 7))
def test_k_anonymity_is_knowing_k_minus_two_others_by_name(sizes, k) -> None:
    """On identities: nobody who knows k - 2 others of the group is certain who a record is."""
    people = sum(sizes)
    identities = np.zeros((len(sizes), people), dtype=int)
    identities[np.repeat(np.arange(len(sizes)), sizes), np.arange(people)] = 1
    groups = sf.Groups(identities)
    anonymous = sf.KAnonymity(k).verdict(groups).holds
    assert sf.SkylinePrivacy([(0, k - 2, 0, 1)]).verdict(groups).holds is anonymous


@pytest.mark.parametrize(
    ("c", "confidence"), [(0.25, 0.2), (1, 0.5), (3, 0.75), (4, 0.8), (9, 0.9)]
)
@given(small=tables(), ell=st.integers(2, 4))
def test_recursive_diversity_is_knowing_l_minus_two_values(c, confidence, small, ell) -> None:
    """(c, l)-diversity: r1 < c (r_l + ... + r_m), which is (l - 2, 0, 0) at c / (c + 1)."""
    diverse = sf.RecursiveDiversity(c, ell).verdict(small.groups).holds
    assert sf.SkylinePrivacy([(ell - 2, 0, 0, confidence)]).verdict(small.groups).holds is diverse
