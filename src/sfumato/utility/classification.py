"""Classification (Iyengar 2002; LeFevre et al. 2006): how much worse does a model learn from it?

The people are split, by `seed`, into those to learn from and a share `test` to try the model on.
One small decision tree (scikit-learn) learns the `target` from the learners' original values, one
from what the release says of the same learners; both are tried on the original values of the
others. The cost is the accuracy lost, 0 if none is: now and then a coarser table teaches a better
tree. `measure` tells both accuracies and that of always saying the commonest value.

The target is the first sensitive attribute or any other judged column; a quasi-identifier that is
the target is left out of the features. What a tree sees of a region, if each covered value is
equally likely: of a column with an order the mean of the covered values (and the chances of NULL
and special codes), of one without, the chance of each of its 50 commonest values. A target
published as a region teaches all covered values in equal parts; a bucket teaches each of its people
its values in their proportion. Suppressed people teach nothing; where nobody is left to learn from,
the target is guessed at random. A set of sensitive values counts as one value. Not applicable (NaN)
without a target, and to centroids and noise.

Lessons are a table or release as a model sees it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from sfumato.counts.counts import Counts
from sfumato.criteria.base import parameter
from sfumato.errors import InputError, MissingExtra, PolicyError, did_you_mean
from sfumato.numbers import Codes, Floats, Ints, run_places
from sfumato.schema.region import Coverage
from sfumato.utility.base import Remembered, Utility
from sfumato.utility.view import PeopleByGroup, Shares, View, tally

# Lessons: a table or release as a model sees it, for the accuracy a model loses.
#
# Features of a region say what is known of the value behind it if each covered value is equally
# likely; an exact value is a region of one. Equal people are one lesson, weighted by their number.

Matrix = npt.NDArray[np.float32]
COMMONEST = 50  # values of a column without order that get a feature each


@dataclass(frozen=True)
class LearningTarget:
    """What is to be learnt: each tuple's class, how many classes, and which QIs are features."""

    name: str
    of_tuple: Ints
    classes: int
    column: int | None  # its place among the QIs, if it is one
    features: tuple[int, ...]


@dataclass(frozen=True)
class Lessons:
    """Features, class and people (perhaps fractions of them) of each kind of person."""

    features: Matrix
    classes: Ints | Codes
    people: Floats

    def __len__(self) -> int:
        return len(self.people)


def target_of(counts: Counts, name: str) -> LearningTarget:
    """The column of this name as a target; a quasi-identifier is no feature of itself."""
    names = [domain.name for domain in counts.quasi]
    features = tuple(column for column, feature in enumerate(names) if feature != name)
    if name in names:
        column = names.index(name)
        codes = counts.codes[column].astype(np.int64)
        return LearningTarget(name, codes, len(counts.quasi[column]), column, features)
    place = counts.attribute(name)
    attribute = counts.sensitive[place]
    classes = len(attribute.domain) if attribute.sets is None else len(attribute.sets)
    return LearningTarget(name, counts.values[place].astype(np.int64), classes, None, features)


def exact_features(counts: Counts, target: LearningTarget) -> Matrix:
    """What a model sees of each tuple of the table itself."""
    columns = [np.zeros((len(counts), 0), dtype=np.float32)]
    for column in target.features:
        codes = np.arange(len(counts.quasi[column]))
        single = Coverage(counts.quasi[column], codes, codes, np.ones_like(codes), {})
        columns.append(_features(single, counts, column)[counts.codes[column]])
    return _stacked(columns)


def _group_features(view: View, target: LearningTarget) -> Matrix:
    columns = [np.zeros((len(view.sizes), 0), dtype=np.float32)]
    for column in target.features:
        seen = _features(view.coverage(column), view.tuples, column)
        columns.append(seen[view.regions.codes[column]])
    return _stacked(columns)


def _stacked(columns: list[Matrix]) -> Matrix:
    if len(columns) == 1:  # the target is the only column: nothing to learn from
        return np.zeros((len(columns[0]), 1), dtype=np.float32)
    return np.hstack(columns)


def _features(coverage: Coverage, counts: Counts, column: int) -> Matrix:
    """One row a region: the mean of an ordered column, or the chance of each common value."""
    domain = counts.quasi[column]
    shares = Shares(coverage)
    seen = []
    if domain.is_ordered:
        codes = np.arange(len(domain), dtype=np.float64)
        places = codes if domain.kind == "ordered" else domain.numbers()
        present = codes < domain.placed
        middle = float(places[present].mean()) if present.any() else 0.0
        known = shares.mean(present)
        sums = shares.mean(np.where(present, places - middle, 0.0))
        seen.append(np.divide(sums, known, out=np.zeros_like(sums), where=known > 0))
        for code in range(domain.placed, len(domain)):
            seen.append(shares.mean(codes == code))
    else:
        people = np.bincount(counts.codes[column], weights=counts.n, minlength=len(domain))
        for code in np.sort(np.argsort(-people, kind="stable")[:COMMONEST]):
            seen.append(shares.mean(np.arange(len(domain)) == code))
    return np.array(seen, dtype=np.float32).T


def table_lessons(
    counts: Counts, target: LearningTarget, features: Matrix, learners: Ints
) -> Lessons:
    """What the learners' original values teach; `features` and `learners` are of each tuple."""
    number, first = counts.group_of
    taught = learners > 0
    rows = tally(number[taught], target.of_tuple[taught], learners[taught], target.classes)
    return Lessons(features[first[rows.groups]], rows.values, rows.n.astype(np.float64))


def release_lessons(
    view: View, target: LearningTarget, features: Matrix, learners: Ints
) -> Lessons:
    """What the release says of the learners; `learners` are of each of its pieces."""
    taught = (view.pieces.groups >= 0) & (learners > 0)
    pieces = PeopleByGroup(view.pieces.tuples[taught], view.pieces.groups[taught], learners[taught])
    if view.exact:
        if target.column is None:
            return _bucket_lessons(view, target, features, pieces)
        published = np.bincount(pieces.tuples, weights=pieces.n, minlength=len(view.tuples))
        return table_lessons(view.tuples, target, features, published.astype(np.int64))
    # Groups in the order of their first combination, so that an unchanged table teaches the same
    # lessons in the same order and gives the very same tree.
    earliest = np.full(len(view.sizes), len(view.tuples), dtype=np.int64)
    np.minimum.at(earliest, pieces.groups, view.tuples.group_of[0][pieces.tuples])
    order = np.argsort(earliest, kind="stable")
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    seen = _group_features(view, target)
    if target.column is None:
        classes = target.of_tuple[pieces.tuples]
        rows = tally(rank[pieces.groups], classes, pieces.n, target.classes)
        return Lessons(seen[order[rows.groups]], rows.values, rows.n.astype(np.float64))
    people = np.bincount(pieces.groups, weights=pieces.n, minlength=len(order))
    order = order[people[order] > 0]
    group, code, share = _covered(view, target.column, order)
    return Lessons(seen[group], code, people[group] * share)


def _covered(view: View, column: int, groups: Ints) -> tuple[Ints, Ints, Floats]:
    """Each group with each value its region of a column covers, and that value's share."""
    coverage = view.coverage(column)
    codes = [coverage.codes(part) for part in range(len(coverage.count))]
    starts = np.cumsum(coverage.count) - coverage.count
    parts = view.regions.codes[column, groups]
    length = coverage.count[parts]
    listed = np.concatenate(codes)[run_places(starts[parts], length)]
    return np.repeat(groups, length), listed, np.repeat(1 / length, length)


def _bucket_lessons(
    view: View, target: LearningTarget, features: Matrix, pieces: PeopleByGroup
) -> Lessons:
    """Each person of a bucket with each value of it, in proportion."""
    number, first = view.tuples.group_of
    size = np.bincount(pieces.groups, weights=pieces.n, minlength=len(view.sizes))
    listed = tally(pieces.groups, number[pieces.tuples], pieces.n, len(first))
    values = tally(pieces.groups, target.of_tuple[pieces.tuples], pieces.n, target.classes)
    begin = np.searchsorted(values.groups, listed.groups, "left")
    length = np.searchsorted(values.groups, listed.groups, "right") - begin
    bucket = np.repeat(np.arange(len(length)), length)
    value_at = run_places(begin, length)
    people = listed.n[bucket] * values.n[value_at] / size[listed.groups[bucket]]
    keys, place = np.unique(
        listed.values[bucket] * target.classes + values.values[value_at], return_inverse=True
    )
    combination, value = np.divmod(keys, target.classes)
    summed = np.bincount(place, weights=people, minlength=len(keys)).astype(np.float64)
    return Lessons(features[first[combination]], value, summed)


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
class LearningTrial:
    """What depends on the table alone. `learners` and `tested` are people of each tuple."""

    target: LearningTarget
    features: Matrix
    learners: Ints
    tested: Ints
    original: float
    majority: float


@dataclass(frozen=True)
class Classification(Utility):
    """The accuracy a small decision tree loses by learning from the release."""

    name: ClassVar[str] = "classification"
    share: ClassVar[bool] = True
    about: ClassVar[str] = "accuracy a decision tree loses by learning from the release"
    seeded: ClassVar[bool] = True
    reads_tuples: ClassVar[bool] = True

    target: str | None = None
    test: float = 0.3
    depth: int = 10
    seed: int = 0
    _trial: Remembered[LearningTrial] = field(
        default_factory=Remembered, init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        parameter(self.name, "test", self.test, above=0, most=0.9)
        parameter(self.name, "depth", self.depth, whole=True, least=1)
        parameter(self.name, "seed", self.seed, whole=True, least=0)

    def cost(self, view: View) -> float:
        applies = self.target is not None or view.counts.sensitive
        if not applies or not view.covering or view.people < 2 or self._of_bags(view):
            return float("nan")
        return self.measure(view).lost

    def measure(self, view: View) -> ClassificationResult:
        """Both accuracies and the baseline."""
        if not view.covering or view.people < 2:
            raise InputError("classification needs a release of regions about two people or more")
        if self._of_bags(view):
            raise InputError("buckets publish bags of values, and nobody's list can be learnt")
        trial = self._trial.of(view.tuples, make=lambda: self._prepare(view.tuples))
        learners = _learners_of_pieces(view, trial.tested, self.seed)
        lessons = release_lessons(view, trial.target, trial.features, learners)
        return ClassificationResult(
            target=trial.target.name,
            original=trial.original,
            release=self._accuracy(lessons, trial.target, trial.features, trial.tested),
            majority=trial.majority,
            tested=int(trial.tested.sum()),
        )

    def _of_bags(self, view: View) -> bool:
        """Whether the target is somebody's list, which a bag does not tell."""
        names = [attribute.name for attribute in view.counts.sensitive]
        return view.bags and (self.target is None or self.target in names)

    def _prepare(self, counts: Counts) -> LearningTrial:
        target = target_of(counts, self._named(counts))
        features = exact_features(counts, target)
        tested = self._held_out(counts.n)
        learners = counts.n - tested
        commonest = int(np.bincount(target.of_tuple, weights=learners).argmax())
        lessons = table_lessons(counts, target, features, learners)
        return LearningTrial(
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
        left_out = min(max(1, round(self.test * people)), people - 1)
        return chance.multivariate_hypergeometric(n, left_out, method="marginals")

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

    def _accuracy(
        self, lessons: Lessons, target: LearningTarget, features: Matrix, tested: Ints
    ) -> float:
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
