"""Imports trees of scikit-learn, exactly as it evaluates them.

scikit-learn rounds every input to a 32-bit float before it compares. The import moves
each threshold to the double that decides the same for every double: the largest that
rounds to at most the original threshold.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import inf
from typing import Any

import numpy as np

from treecompile.importers.boosted import checked_names
from treecompile.importers.sklearn.features import numeric
from treecompile.importers.thresholds import double_threshold
from treecompile.model import ir
from treecompile.model.errors import DataError
from treecompile.model.forests import LeafNode, SplitNode
from treecompile.model.semantics import negate

SUPPORTED = ("DecisionTreeClassifier", "DecisionTreeRegressor")
LEAF = -1  # the child of a leaf in scikit-learn


def import_tree(
    estimator: Any,
    feature_names: Sequence[str] | None = None,
    class_names: Sequence[ir.Label] | None = None,
    *,
    inner: bool = False,
) -> ir.Program:
    """Turn a fitted DecisionTreeClassifier or DecisionTreeRegressor into a program.

    The columns of an `inner` tree, the last step of a pipeline, need no names.
    """
    kind = type(estimator).__name__
    if not hasattr(estimator, "tree_"):
        raise DataError(f"the {kind} is not fitted: call fit first")
    check_outputs(estimator)
    refuse_categorical(estimator)
    features = numeric(column_names(estimator, feature_names, inner=inner))
    labels = labels_of(estimator, class_names)
    tree = ir.Tree(features, labels, _nodes(estimator, labels))
    return ir.Program("prediction", f"scikit-learn {kind}", tree)


def check_outputs(estimator: Any) -> None:
    outputs = getattr(estimator, "n_outputs_", 1)
    if outputs != 1:
        raise DataError(
            f"the {type(estimator).__name__} predicts {outputs} outputs at once: fit"
            " one for each output"
        )


def refuse_categorical(estimator: Any) -> None:
    if np.any(getattr(estimator.tree_, "is_categorical_", False)):
        raise DataError(
            f"cannot import a {type(estimator).__name__} with categorical splits:"
            " encode the categories before the tree, in a Pipeline"
        )


def column_names(
    estimator: Any, given: Sequence[str] | None, *, inner: bool
) -> list[str]:
    """Return the names of the columns; those of an `inner` model are made up."""
    if inner:
        return [f"z{i}" for i in range(estimator.n_features_in_)]
    return feature_names_of(estimator, given)


def feature_names_of(estimator: Any, given: Sequence[str] | None) -> list[str]:
    count = int(estimator.n_features_in_)
    if given is None:
        given = getattr(estimator, "feature_names_in_", None)
    if given is None:
        given = [f"x{i}" for i in range(count)]
    return checked_names(given, count)


def labels_of(estimator: Any, given: Sequence[ir.Label] | None) -> tuple[ir.Label, ...]:
    """Return the labels of a classifier; none of a regressor."""
    if not hasattr(estimator, "classes_"):
        if given is not None:
            kind = type(estimator).__name__
            raise DataError(f"class_names: a {kind} has no classes: leave it out")
        return ()
    classes = [c.item() if isinstance(c, np.generic) else c for c in estimator.classes_]
    labels = tuple(classes if given is None else given)
    if len(labels) != len(classes):
        raise DataError(
            f"class_names: {len(labels)} names for {len(classes)} classes: give one for"
            " each"
        )
    if len({type(label) for label in labels}) > 1 or not isinstance(
        labels[0], (str, int, float)
    ):
        found = ", ".join(sorted({type(label).__name__ for label in labels}))
        raise DataError(
            f"the classes are of type {found}: expected only text, only integers, only"
            " booleans or only floats: give class_names"
        )
    if len(set(labels)) < len(labels):
        raise DataError("class_names: two classes have the same name: rename one")
    return labels


def _nodes(estimator: Any, labels: tuple[ir.Label, ...]) -> tuple[ir.Node, ...]:
    tree = estimator.tree_
    weights, impurity = tree.weighted_n_node_samples, tree.impurity
    values = tree.value[:, 0, :]
    nodes: list[ir.Node] = []
    lefts, rights = tree.children_left.tolist(), tree.children_right.tolist()
    for position, (left, right) in enumerate(zip(lefts, rights, strict=True)):
        weight = float(weights[position])
        stats = _stats(estimator, position, labels)
        if left == LEAF:
            answer: ir.Label = float(values[position, 0]) + 0.0
            if labels:
                answer = labels[int(np.argmax(values[position, : len(labels)]))]
            nodes.append(ir.Leaf(answer, stats, weight))
            continue
        test = _test(tree, position, bool(tree.missing_go_to_left[position]))
        branches = (
            ir.Branch(test, left, float(weights[left])),
            ir.Branch(negate(test), right, float(weights[right])),
        )
        gain = _gain(weights, impurity, position, left, right)
        nodes.append(ir.Split(branches, stats, gain))
    return tuple(nodes)


def nodes_of(
    tree: Any,
    values: Sequence[Sequence[float]],
    columns: Sequence[int] | None = None,
    *,
    never_missing: bool = False,
) -> list[SplitNode | LeafNode]:
    """Return the nodes of a tree of a forest; `values` is what each of them adds.

    `columns` are those that the tree reads. If they are `never_missing`, scikit-learn
    does not look at where a missing value would go.
    """
    weights, impurity = tree.weighted_n_node_samples, tree.impurity
    nodes: list[SplitNode | LeafNode] = []
    lefts, rights = tree.children_left.tolist(), tree.children_right.tolist()
    for position, (left, right) in enumerate(zip(lefts, rights, strict=True)):
        weight = float(weights[position])
        if left == LEAF:
            nodes.append(LeafNode(tuple(map(float, values[position])), weight))
            continue
        missing = not never_missing and bool(tree.missing_go_to_left[position])
        test = _test(tree, position, missing)
        if columns is not None:
            test = replace(test, feature=columns[test.feature])
        gain = _gain(weights, impurity, position, left, right)
        nodes.append(SplitNode(test, left, right, weight, gain * weight))
    return nodes


def _test(tree: Any, position: int, missing: bool) -> ir.Condition:
    limit = float(tree.threshold[position])
    if limit != inf:
        limit = double_threshold(limit)
    return ir.Condition(int(tree.feature[position]), ir.Op.LE, limit, missing)


def _gain(weights: Any, impurity: Any, position: int, left: int, right: int) -> float:
    after = weights[left] * impurity[left] + weights[right] * impurity[right]
    weight = float(weights[position])
    # Rows of weight 0 may be split, too, without any gain.
    return float(impurity[position]) - float(after) / weight if weight else 0.0


def _stats(estimator: Any, position: int, labels: tuple[ir.Label, ...]) -> ir.Stats:
    tree = estimator.tree_
    weight = float(tree.weighted_n_node_samples[position])
    if not labels:
        squared = estimator.criterion in ("squared_error", "friedman_mse")
        sse = float(tree.impurity[position]) * weight if squared else None
        return ir.Moments(weight, float(tree.value[position, 0, 0]) + 0.0, sse)
    counts = tree.value[position, 0, : len(labels)] * weight
    # The counts are shares times the weight: restore whole numbers.
    whole = np.round(counts)
    counts = np.where(np.abs(counts - whole) < 1e-6, whole, counts)
    return ir.ClassCounts(tuple(float(count) for count in counts))
