"""Ti of one person in fractions, for bounds that floating point cannot decide."""

from __future__ import annotations

from fractions import Fraction
from math import prod

from sfumato.adversaries.relative_threat.generalized import Generalized
from sfumato.adversaries.relative_threat.laminar import DirichletTree
from sfumato.adversaries.relative_threat.result import RelativeThreat


def exact_ti(threat: RelativeThreat, case: int) -> Fraction | None:
    """p_A / p_L of a case's own value; None where beliefs are estimates."""
    learnt, people = threat.learnt, threat.people
    if threat.conditional is not None or people is None or not isinstance(learnt, Generalized):
        return None
    trees = [one for one in learnt.posteriors if isinstance(one, DirichletTree)]
    if len(trees) < len(learnt.posteriors):
        return None
    model, groups = learnt.model, learnt.model.groups
    place, own = int(people.tuples[case]), int(people.s[case])
    codes = [int(code) for code in people.codes[:, place]]
    weights = [
        (Fraction(str(model.alpha[s])) + int(model.people[s]))
        * prod((tree.exact_mean(s, code) for tree, code in zip(trees, codes, strict=True)), start=1)
        for s in range(model.width)
    ]
    attacker: dict[int, Fraction] = {}
    where = people.where
    for group in where.groups[where.indptr[place] : where.indptr[place + 1]].tolist():
        for at in range(groups.indptr[group], groups.indptr[group + 1]):
            s = int(groups.indices[at])
            inside = (
                tree.exact_inside(s, int(tree.column.shown[group]), code)
                for tree, code in zip(trees, codes, strict=True)
            )
            more = prod(inside, start=Fraction(int(groups.data[at])))
            attacker[s] = attacker.get(s, Fraction(0)) + more
    p_a = attacker.get(own, Fraction(0)) / sum(attacker.values(), Fraction(0))
    return p_a / (weights[own] / sum(weights, Fraction(0)))
