"""What the contract needs to know of an anonymizer: the shape of an example."""

from __future__ import annotations

from dataclasses import dataclass

import sfumato as sf
from sfumato.anonymizers.base import Anonymizer
from sfumato.criteria.base import Criterion

GENERAL = (sf.KAnonymity(3), sf.DistinctDiversity(2), sf.EntropyDiversity(1.5), sf.TCloseness(0.6))


@dataclass(frozen=True)
class Example:
    """Ways to run an anonymizer, and what it must keep. `steady`: chance only shuffles rows.

    `noisy`: people are not published at all, only noisy counts; what is promised of those is
    tested where such an anonymizer is.
    """

    runs: tuple[Anonymizer, ...]
    require: tuple[Criterion, ...] = GENERAL
    steady: bool = False
    noisy: bool = False
