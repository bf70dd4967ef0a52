"""Imports boosted trees of scikit-learn, exactly as it evaluates them.

The sums start at a first prediction, and every tree adds to them, in its order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from treecompile.importers.sklearn.features import categorical, numeric
from treecompile.importers.sklearn.trees import nodes_of, refuse_categorical
from treecompile.model import forests, ir
from treecompile.model.errors import DataError
from treecompile.model.forests import LeafNode, SplitNode
from treecompile.model.values import is_missing

Made = tuple[ir.Forest, list[str]]


# ---------------------------------------------------------------- gradient boosting

RANDOM_GUESSES = ("stratified", "uniform")
# No sum of numbers larger than TINY is between 0 and NEARLY_ZERO.
TINY = 1e-250
NEARLY_ZERO = 1e-300


def gradient_boosting(
    estimator: Any, names: Sequence[str], labels: tuple[ir.Label, ...]
) -> Made:
    """GradientBoosting: 32-bit inputs, sums of doubles."""
    kind = type(estimator).__name__
    features = numeric(names)
    rate = float(estimator.learning_rate)
    members = []
    for stage in estimator.estimators_:
        for output, tree in enumerate(stage):
            refuse_categorical(tree)
            values = (rate * tree.tree_.value[:, :, 0]).tolist()
            nodes = nodes_of(tree.tree_, values, never_missing=True)
            members.append(forests.member(features, (output,), nodes))
    start = _first_prediction(estimator, len(names))
    forest = ir.Forest(features, labels, tuple(members), start)
    notes = [
        f"the {kind} refuses missing values; the model sends them to the right of"
        " every test"
    ]
    if not labels:
        return forest, notes
    if len(start) > 1:
        return replace(forest, link=ir.Link.SOFTMAX), notes
    slope = 2.0 if estimator.loss == "exponential" else 1.0
    cut = below_zero(forest)
    return replace(forest, link=ir.Link.LOGISTIC, slope=slope, cut=cut), notes


def _first_prediction(estimator: Any, columns: int) -> tuple[float, ...]:
    first = estimator.init_
    kind = type(first).__name__
    if first != "zero" and (
        kind not in ("DummyClassifier", "DummyRegressor")
        or first.strategy in RANDOM_GUESSES
    ):
        raise DataError(
            f"cannot import a {type(estimator).__name__} that starts with a {kind}:"
            " leave init out"
        )
    found = estimator._raw_predict_init(np.zeros((1, columns), dtype=np.float32))
    return tuple(map(float, found[0]))


def below_zero(forest: ir.Forest) -> float:
    """Return a cut that a margin is above exactly if it is 0 or more."""
    numbers = [*forest.start]
    for member in forest.members:
        numbers += [value for leaf in member.values for value in leaf]
    # All sums are multiples of the last bit of the smallest number. So the cut need not
    # be the double next to 0, which some engines do not know.
    if all(number == 0 or abs(number) > TINY for number in numbers):
        return -NEARLY_ZERO
    return -5e-324


# ---------------------------------------------------------------- histograms

LINKS = {"IdentityLink": ir.Link.IDENTITY, "LogLink": ir.Link.EXP}


def hist_boosting(
    estimator: Any, names: Sequence[str], labels: tuple[ir.Label, ...]
) -> Made:
    """HistGradientBoosting: inputs and sums are doubles.

    Its own encoder puts the categorical columns first. A category that it does not
    know is a missing value.
    """
    columns = _columns(estimator, names)
    in_order = sorted(columns, key=lambda column: column.place)
    features = tuple(column.feature for column in in_order)
    members = tuple(
        forests.member(features, (output,), _nodes(tree, columns))
        for stage in estimator._predictors
        for output, tree in enumerate(stage)
    )
    start = tuple(map(float, np.ravel(estimator._baseline_prediction)))
    forest = ir.Forest(features, labels, members, start)
    if not labels:
        link = type(estimator._loss.link).__name__
        if link not in LINKS:
            kind = type(estimator).__name__
            raise DataError(
                f"cannot import a {kind} whose loss has a {link}: expected one of"
                f" {', '.join(LINKS)}"
            )
        return replace(forest, link=LINKS[link]), []
    if len(start) > 1:
        return replace(forest, link=ir.Link.SOFTMAX), []
    return replace(forest, link=ir.Link.LOGISTIC, cut=0.0), []


class _Column(NamedTuple):
    """A column as the trees see it."""

    place: int  # among the columns of the user
    feature: ir.Feature
    codes: tuple[ir.Category, ...] = ()  # the category of each code


def _columns(estimator: Any, names: Sequence[str]) -> list[_Column]:
    numbers = numeric(names)
    if estimator.is_categorical_ is None:
        return list(map(_Column, range(len(names)), numbers))
    places = np.flatnonzero(estimator.is_categorical_).tolist()
    encoder = estimator._preprocessor.named_transformers_["encoder"]
    found = [
        _categorical(type(estimator).__name__, place, names[place], known)
        for place, known in zip(places, encoder.categories_, strict=True)
    ]
    rest = [place for place in range(len(names)) if place not in places]
    return [*found, *(_Column(place, numbers[place]) for place in rest)]


def _categorical(kind: str, place: int, name: str, known: Any) -> _Column:
    if any(category is None for category in known):
        raise DataError(
            f"cannot import the {kind}: in {name!r} it tells None from NaN, and both"
            " mean missing here: use NaN"
        )
    # NaN is the last category, if rows had it.
    plain = [c for c in np.asarray(known).tolist() if not is_missing(c)]
    feature = categorical(name, plain, f"import the {kind}: the encoder")
    is_whole = feature.type is ir.ValueType.INT
    return _Column(place, feature, tuple(int(c) if is_whole else c for c in plain))


def _nodes(tree: Any, columns: Sequence[_Column]) -> list[SplitNode | LeafNode]:
    nodes: list[SplitNode | LeafNode] = []
    for node in tree.nodes:
        weight = float(node["count"])
        if node["is_leaf"]:
            nodes.append(LeafNode((float(node["value"]),), weight))
            continue
        column = columns[node["feature_idx"]]
        missing = bool(node["missing_go_to_left"])
        if node["is_categorical"]:
            bits = tree.raw_left_cat_bitsets[node["bitset_idx"]]
            test = _membership(column, bits, missing)
        else:
            limit = float(node["num_threshold"])
            test = ir.Condition(column.place, ir.Op.LE, limit + 0.0, missing)
        ways = int(node["left"]), int(node["right"])
        nodes.append(SplitNode(test, *ways, weight, float(node["gain"])))
    return nodes


def _membership(column: _Column, bits: Any, missing: bool) -> ir.Condition:
    """Return the test of a set of codes; unseen categories go like missing values."""
    codes = range(len(column.codes))
    lefts = {column.codes[c] for c in codes if int(bits[c // 32]) >> (c % 32) & 1}
    named = tuple(c for c in column.feature.categories if (c in lefts) != missing)
    op = ir.Op.NOT_IN if missing else ir.Op.IN
    return ir.Condition(column.place, op, named, missing)
