"""Classification (Iyengar 2002; LeFevre et al. 2006): how much worse does a model learn from it?

The people are split, by `seed`, into those to learn from and a share `test` to try the model on.
One small decision tree (scikit-learn) learns the `target` from the learners' original values, one
from what the release says of the same learners; both are tried on the original values of the
others. The cost is the accuracy lost, 0 if none is: now and then a coarser table teaches a better
tree. `measure` tells both accuracies and that of always saying the commonest value.

The target is the first sensitive attribute or any other judged column; a quasi-identifier that is
the target is left out of the features. What a tree sees of a region, if each covered value is
equally likely: of a column with an order the mean of the covered values (and the chance of NULL),
of one without, the chance of each of its 50 commonest values. A target published as a region
teaches all covered values in equal parts; a bucket teaches each of its people its values in their
proportion. Suppressed people teach nothing; where nobody is left to learn from, the target is
guessed at random. A set of sensitive values counts as one value.
Not applicable (NaN) without a target, and to centroids and noise.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from sfumato.counts.counts import Counts, Ints
from sfumato.criteria.base import parameter
from sfumato.errors import InputError, MissingExtra, PolicyError, did_you_mean
from sfumato.utility.base import Remembered, Utility
from sfumato.utility.training_data import (
    Lessons,
    Matrix,
    Target,
    exact_features,
    release_lessons,
    table_lessons,
    target_of,
)
from sfumato.utility.view import View

_LEAF = 0.001  # a leaf holds at least this share of the learners
_MANY = 10**9  # people beyond whom NumPy draws no exact sample; the law of large numbers does


@dataclass(frozen=True)
class ClassificationResult:
    """Accuracy on held-out people: learnt from the table, from the release, and without learning.

    `majority` always says the learners' commonest value; `tested` is how many were held out.
    """

    target: str
    original: float
    release: float
    majority: float
    tested: int

    @property
    def lost(self) -> float:
        """The accuracy lost by learning from the release; 0 if none is."""
        return max(0.0, self.original - self.release)


@dataclass(frozen=True)
class Trial:
    """What depends on the table alone. `learners` and `tested` are people of each tuple."""

    target: Target
    features: Matrix
    learners: Ints
    tested: Ints
    original: float
    majority: float


@dataclass(frozen=True)
class Classification(Utility):
    """The accuracy a small decision tree loses by learning from the release."""

    name: ClassVar[str] = "classification"
    about: ClassVar[str] = "accuracy a decision tree loses by learning from the release"
    seeded: ClassVar[bool] = True
    reads_tuples: ClassVar[bool] = True

    target: str | None = None
    test: float = 0.3
    depth: int = 10
    seed: int = 0
    _trial: Remembered[Trial] = field(
        default_factory=Remembered, init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        parameter(self.name, "test", self.test, above=0, most=0.9)
        parameter(self.name, "depth", self.depth, whole=True, least=1)
        parameter(self.name, "seed", self.seed, whole=True, least=0)

    def cost(self, view: View) -> float:
        applies = self.target is not None or view.counts.sensitive
        if not applies or not view.covering or view.people < 2:
            return float("nan")
        return self.measure(view).lost

    def measure(self, view: View) -> ClassificationResult:
        """Both accuracies and the baseline."""
        if not view.covering or view.people < 2:
            raise InputError("classification needs a release of regions about two people or more")
        trial = self._trial.of(view.counts, make=lambda: self._prepare(view.counts))
        learners = _learners_of_pieces(view, trial.tested, self.seed)
        lessons = release_lessons(view, trial.target, trial.features, learners)
        return ClassificationResult(
            target=trial.target.name,
            original=trial.original,
            release=self._accuracy(lessons, trial.target, trial.features, trial.tested),
            majority=trial.majority,
            tested=int(trial.tested.sum()),
        )

    def _prepare(self, counts: Counts) -> Trial:
        target = target_of(counts, self._named(counts))
        features = exact_features(counts, target)
        tested = self._held_out(counts.n)
        learners = counts.n - tested
        commonest = int(np.bincount(target.of_tuple, weights=learners).argmax())
        lessons = table_lessons(counts, target, features, learners)
        return Trial(
            target,
            features,
            learners,
            tested,
            original=self._accuracy(lessons, target, features, tested),
            majority=float(tested[target.of_tuple == commonest].sum() / tested.sum()),
        )

    def _held_out(self, n: Ints) -> Ints:
        """How many people of each tuple are held out, drawn from all people alike."""
        people = int(n.sum())
        chance = np.random.default_rng(self.seed)
        if people >= _MANY:
            return chance.binomial(n, self.test)
        held = min(max(1, round(self.test * people)), people - 1)
        return chance.multivariate_hypergeometric(n, held, method="marginals")

    def _named(self, counts: Counts) -> str:
        names = [domain.name for domain in counts.quasi]
        names += [attribute.name for attribute in counts.sensitive]
        if self.target is None:
            if not counts.sensitive:
                raise PolicyError("classification: no column is sensitive; name a target")
            return counts.sensitive[0].name
        if self.target not in names:
            hint = did_you_mean(self.target, names)
            raise PolicyError(f"classification: target = {self.target!r} is not judged; {hint}")
        return self.target

    def _accuracy(self, lessons: Lessons, target: Target, features: Matrix, tested: Ints) -> float:
        """Of a tree learnt from these lessons, on the people held out."""
        if len(lessons) == 0:
            return 1 / target.classes
        tree = _tree(max_depth=self.depth, min_weight_fraction_leaf=_LEAF, random_state=self.seed)
        tree.fit(lessons.features, lessons.classes, sample_weight=lessons.people)
        asked = np.flatnonzero(tested)
        right = tree.predict(features[asked]) == target.of_tuple[asked]
        return float(tested[asked[right]].sum() / tested.sum())


def _tree(**settings: Any) -> Any:
    try:
        from sklearn.tree import DecisionTreeClassifier  # type: ignore[import-untyped]
    except ImportError:
        raise MissingExtra(
            "classification needs scikit-learn: pip install 'sfumato[learn]'"
        ) from None
    return DecisionTreeClassifier(**settings)


def _learners_of_pieces(view: View, tested: Ints, seed: int) -> Ints:
    """How many people of each piece are learners; a tuple's people are parted by chance."""
    pieces = view.pieces
    parted = np.bincount(pieces.tuples, minlength=len(tested))[pieces.tuples] > 1
    learners = np.where(parted, 0, pieces.n - tested[pieces.tuples])
    several = np.flatnonzero(parted)
    person = np.repeat(several, pieces.n[several])  # the piece of each such person
    chance = np.random.default_rng([seed, 1])
    order = np.lexsort((chance.random(len(person)), pieces.tuples[person]))
    person = person[order]
    tuples = pieces.tuples[person]
    rank = np.arange(len(person)) - np.searchsorted(tuples, tuples, "left")
    taught = person[rank >= tested[tuples]]
    return (learners + np.bincount(taught, minlength=len(learners))).astype(np.int64)
