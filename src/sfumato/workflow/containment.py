"""`sf.compare_nodes`: which of two policies is more useful, node by node of the lattice (realistic,
Section 4).

Whatever one asks of a release, the more nodes of the lattice a policy leaves to choose from, the
better the best of them can be. If every node that satisfies P2 also satisfies P1, then P1 is more
useful than P2 whatever utility means: no measure of it is needed. Where each allows a node that
the other forbids, nothing can be said without one.

Every node is judged by every policy, nothing is inferred: the table is counted once, each node is
rolled up once from a finer one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from math import prod
from typing import TYPE_CHECKING, Literal

from sfumato.criteria.base import Criterion
from sfumato.errors import InputError, PolicyError, ResourceError, did_you_mean, expect
from sfumato.policy.model import Policy
from sfumato.progress import Ticker
from sfumato.schema.hierarchy import NodeLevels
from sfumato.table import Table

if TYPE_CHECKING:
    from sfumato.anonymizers.lattice.nodes import Judge
    from sfumato.counts.roll_up import Rolled

UsefulnessOrder = Literal["equal", "more useful", "less useful", "neither"]
MOST_NODES = 100_000


@dataclass(frozen=True)
class Containment:
    """Two policies compared: the nodes that both allow, and those that only one does."""

    first: str
    second: str
    both: frozenset[NodeLevels]
    only_first: frozenset[NodeLevels]
    only_second: frozenset[NodeLevels]

    @property
    def relation(self) -> UsefulnessOrder:
        """What the first is, compared with the second."""
        if self.only_first and self.only_second:
            return "neither"
        if self.only_first:
            return "more useful"
        return "less useful" if self.only_second else "equal"

    @property
    def contains(self) -> bool:
        """Whether every node that satisfies the second satisfies the first."""
        return not self.only_second

    def __str__(self) -> str:
        sentences = {
            "equal": f"{self.first} and {self.second} allow the same nodes",
            "more useful": f"{self.first} is more useful than {self.second}",
            "less useful": f"{self.first} is less useful than {self.second}",
            "neither": f"neither of {self.first} and {self.second} contains the other",
        }[self.relation]
        return (
            f"{sentences}: both {len(self.both):,}, only the first {len(self.only_first):,}, only "
            f"the second {len(self.only_second):,} nodes"
        )


@dataclass(frozen=True)
class NodeMap:
    """For each policy by name, the nodes that satisfy it; a node is one level for each column."""

    columns: tuple[str, ...]
    heights: tuple[int, ...]
    satisfying: Mapping[str, frozenset[NodeLevels]]

    @property
    def nodes(self) -> tuple[NodeLevels, ...]:
        """All nodes, from the finest to the coarsest."""
        return tuple(product(*(range(height) for height in self.heights)))

    def compare(self, first: str, second: str) -> Containment:
        """Does one policy allow all that the other allows?"""
        for name in (first, second):
            if name not in self.satisfying:
                raise InputError(f"{name!r} was not judged; {did_you_mean(name, self.satisfying)}")
        first_nodes, second_nodes = self.satisfying[first], self.satisfying[second]
        return Containment(
            first,
            second,
            first_nodes & second_nodes,
            first_nodes - second_nodes,
            second_nodes - first_nodes,
        )

    def pairs(self) -> tuple[Containment, ...]:
        """Every two policies, in the order given."""
        return tuple(self.compare(*pair) for pair in combinations(self.satisfying, 2))


def compare_nodes(
    table: Table, policies: Mapping[str, Policy | Criterion | Sequence[Criterion]]
) -> NodeMap:
    """Judge every node of the table's lattice by each policy (or criteria, without suppression)."""
    from sfumato.anonymizers.base import Task
    from sfumato.anonymizers.lattice.nodes import Judge

    expect("table", table, Table, "a Table, as sf.read makes one")
    expect("policies", policies, Mapping, "a mapping from names to policies or criteria")
    if not policies:
        raise PolicyError("compare_nodes: no policy is given")
    judges = {}
    for name, given in policies.items():
        policy = _policy(given)
        judges[name] = Judge(Task(table, tuple(policy.require), suppression=policy.suppression))
    any_of_them = next(iter(judges.values()))
    nodes_allowed: dict[str, set[NodeLevels]] = {name: set() for name in judges}
    with Ticker("judging nodes", prod(any_of_them.heights)) as ticker:
        for node in every_node(any_of_them):
            for name, judge in judges.items():
                if judge.judge(node).satisfied:
                    nodes_allowed[name].add(node.levels)
            ticker.add(1)
    columns = tuple(level.domain.name for level in any_of_them.levels)
    satisfying = {name: frozenset(nodes) for name, nodes in nodes_allowed.items()}
    return NodeMap(columns, any_of_them.heights, satisfying)


def every_node(judge: Judge) -> Iterator[Rolled]:
    """All nodes in lexicographic order, each rolled up from its neighbour in the last column."""
    many = prod(judge.heights)
    if many > MOST_NODES:
        raise ResourceError(
            f"the lattice has {many:,} nodes, at most {MOST_NODES:,} are judged one by one; use "
            "fewer quasi-identifiers or hierarchies of fewer levels"
        )
    nodes: Iterator[Rolled] = iter((judge.base,))
    for column, height in enumerate(judge.heights):
        nodes = _through(nodes, column, height)
    return nodes


def _through(nodes: Iterator[Rolled], column: int, height: int) -> Iterator[Rolled]:
    """Each node at every level of one column, step by step."""
    for node in nodes:
        for level in range(height):
            node = node.up(column, level)
            yield node


def _policy(given: Policy | Criterion | Sequence[Criterion]) -> Policy:
    if isinstance(given, Policy):
        return given
    return Policy([given] if isinstance(given, Criterion) else given)
