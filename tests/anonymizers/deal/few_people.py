"""Small tables of people, criteria that deal searches, and the least loss there can be."""

from __future__ import annotations

import threading
from _thread import interrupt_main
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.anonymizers.deal.search import Chain
from sfumato.criteria.base import Criterion
from sfumato.release.groups import Groups
from sfumato.release.release import Release
from sfumato.utility.loss import Loss
from sfumato.utility.view import view_of

TOWNS, JOBS, ILLS = ["ulm", "bonn", "kiel"], ["baker", "smith"], ["flu", "gout", "cold", "hiv"]
REGION = sf.taxonomy({"ulm": "south", "bonn": "north", "kiel": "north"})


def table_of(rows: list[tuple[Any, ...]], **more: Any) -> sf.Table:
    names = ("age", "town", "job", "ill")
    columns = {n: list(c) for n, c in zip(names, zip(*rows, strict=True), strict=True)}
    roles = {"quasi": ["age", "town", "job"], "sensitive": "ill", **more}
    return sf.read(pa.table(columns), sf.Schema(**roles))


def press_ctrl_c(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C arrives while chains are improved: once, however many threads improve some."""
    improve, first = Chain.improve, threading.Lock()

    def pressed(chain: Chain) -> Chain:
        if first.acquire(blocking=False):
            threading.Timer(0.2, interrupt_main).start()
        return improve(chain)

    monkeypatch.setattr(Chain, "improve", pressed)


def people(seed: int, count: int, *, missing: bool = False) -> list[tuple[Any, ...]]:
    """Illnesses follow ages, so that near people share them."""
    chance = Random(seed)
    rows = []
    for _ in range(count):
        age = chance.choice([*range(20, 60, 5), *([None] if missing else [])])
        ill = ILLS[((age or 20) // 10 + chance.choice([0, 0, 0, 1, 2, 3])) % 4]
        rows.append((age, chance.choice(TOWNS), chance.choice(JOBS), ill))
    return rows


CRITERIA: list[tuple[Criterion, ...]] = [
    (sf.KAnonymity(2),),
    (sf.KAnonymity(2), sf.TCloseness(0.35)),
    (sf.KAnonymity(3), sf.EntropyDiversity(2)),
    (sf.KAnonymity(2), sf.BetaLikeness(1)),
    (sf.AlphaK(0.6, 2),),
    (sf.DistinctDiversity(2), sf.RecursiveDiversity(3, 2)),
    (sf.EpsilonPrivacy(2.5, sf.RealisticAdversary("table", 100)), sf.KAnonymity(2)),
    (sf.EntropyLeakage(0.7), sf.KAnonymity(2)),
]


def loss_of(release: Release) -> float:
    return Loss().cost(view_of(release))


def counted_again(release: Release, table: sf.Table, name: str) -> Groups:
    """The groups of the published rows, by nothing but what they show."""
    rows = release.to_arrow().to_pylist()
    domain = table.counts.sensitive[0].domain
    keys = [tuple(row[one] for one in release.schema.quasi) for row in rows]
    places = {key: place for place, key in enumerate(dict.fromkeys(keys))}
    counts = np.zeros((len(places), len(domain)), dtype=np.int64)
    for key, row in zip(keys, rows, strict=True):
        counts[places[key], domain.labels.index(str(row[name]))] += 1
    reference = table.counts.by_value(0).astype(float)
    return Groups(counts, domain.labels, reference=reference, domain=domain)


def optimum(table: sf.Table, require: tuple[Criterion, ...], limit: int = 0) -> float:
    """The least loss of any partition of few people, by trying all; so many may be suppressed."""
    counts = table.counts.in_memory("a test")
    who = np.repeat(np.arange(len(counts)), counts.n)
    total, domain = len(who), counts.sensitive[0].domain
    sets = [[p for p in range(total) if mask >> p & 1] for mask in range(1 << total)]
    having = np.zeros((len(sets), len(domain)), dtype=np.int64)
    cost = np.zeros(len(sets))
    for mask, members in enumerate(sets[1:], 1):
        np.add.at(having[mask], counts.values[0][who[members]], 1)
        for column, row in zip(counts.quasi, counts.codes, strict=True):
            codes = np.unique(row[who[members]])
            if column.kind == "numeric":
                numbers = column.numbers()
                share = (numbers[codes[-1]] - numbers[codes[0]]) / max(numbers[-1] - numbers[0], 1)
            else:
                share = (len(codes) - 1) / max(len(column) - 1, 1)
            cost[mask] += len(members) * share
    reference = counts.by_value(0).astype(float)
    groups = Groups(having[1:], domain.labels, reference=reference, domain=domain)
    fine = np.concatenate([[True], np.logical_and.reduce([c.holds(groups) for c in require])])
    best = np.full(len(sets), np.inf)
    best[0] = 0.0
    for mask in range(1, len(sets)):
        first = mask & -mask
        rest = part = mask ^ first
        while True:
            group = part | first
            if fine[group]:
                best[mask] = min(best[mask], best[mask ^ group] + cost[group])
            if part == 0:
                break
            part = (part - 1) & rest
    absent = np.array([total - len(members) for members in sets])
    found = np.where(absent <= limit, best + absent * len(counts.quasi), np.inf)
    return float(found.min()) / total / len(counts.quasi)
