"""The upper part of a Mondrian partition, as a tree that SQL can walk.

A tuple's leaf follows from its codes alone, so no row is ever moved or marked: the tree becomes an
SQL expression, and a leaf a condition.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from sfumato.numbers import Codes


@dataclass
class Node:
    """A node: its cell, how many tuples it has and, once split, the codes of each branch.

    `done`: no split of it is allowed; it is a group of the release.
    """

    low: Codes
    high: Codes
    tuples: int
    condition: tuple[str, ...] = ()
    branches: list[Node] = field(default_factory=list)
    done: bool = False

    def cut(self, column: int, bound: int, null: int | None, made: tuple[Node, Node]) -> None:
        """Split between two codes; `null`: the code of NULL, where it goes left all the same."""
        below, above = f"q{column} <= {bound}", f"q{column} > {bound}"
        if null is not None:
            below = f"({below} OR q{column} = {null})"
            above = f"({above} AND q{column} <> {null})"
        self._grow([below, above], list(made))

    def fall_apart(self, column: int, part: Codes, code: Codes, made: list[Node]) -> None:
        """Split: rows with these codes of a column fell into those parts."""
        codes = [np.unique(code[part == number]).tolist() for number in range(len(made))]
        self._grow([_among(f"q{column}", some) for some in codes], made)

    def _grow(self, texts: list[str], made: list[Node]) -> None:
        self.branches = made
        for text, branch in zip(texts, made, strict=True):
            branch.condition = (*self.condition, text)

    def leaves(self) -> Iterator[Node]:
        """The leaves in the order of the tree, which is the order of acceptance."""
        if not self.branches:
            yield self
        for branch in self.branches:
            yield from branch.leaves()

    @property
    def where(self) -> str:
        """SQL: whether a tuple is in this node."""
        return " AND ".join(self.condition) or "1 = 1"

    def expression(self, number: dict[int, int]) -> str:
        """SQL: the number of a tuple's leaf, by `id` of the leaf; NULL of those not numbered."""
        if not self.branches:
            return str(number.get(id(self), "NULL"))
        texts = [branch.expression(number) for branch in self.branches]
        if set(texts) == {"NULL"}:
            return "NULL"
        cases = [
            f"WHEN {branch.condition[-1]} THEN {text}"
            for branch, text in zip(self.branches, texts, strict=True)
            if text != "NULL"
        ]
        return f"CASE {' '.join(cases)} END"


def _among(column: str, codes: list[int]) -> str:
    """SQL: whether a code is one of these, runs of codes told as ranges."""
    runs: list[list[int]] = []
    for code in codes:
        if runs and runs[-1][1] == code - 1:
            runs[-1][1] = code
        else:
            runs.append([code, code])
    return "(" + " OR ".join(f"{column} BETWEEN {low} AND {high}" for low, high in runs) + ")"
