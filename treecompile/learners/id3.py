"""ID3: categorical features, information gain, one branch for each category.

A feature is not used again below its split, where it is constant. A category that no
case of a node has becomes a leaf with the majority of the node. A feature that is
constant at a node is passed over: it could only repeat the node. A missing value counts
as the most common one at the node.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from treecompile.data import Dataset
from treecompile.errors import DataError, OptionError
from treecompile.ir import Kind, Op, Tree
from treecompile.learners.criteria import entropy, gain
from treecompile.learners.grow import Candidate, Limits, Progress, Rows, grow


def learn(
    data: Dataset, limits: Limits, progress: Progress, criterion: str = ""
) -> Tree:
    """Grow a tree by ID3."""
    if criterion not in ("", "entropy"):
        raise OptionError(f"--criterion {criterion!r}: id3 has entropy; try cart")
    if limits.max_leaves is not None:
        raise OptionError("--max-leaves: id3 does not know it, use --algorithm cart")
    if not data.labels:
        raise OptionError(
            f"id3 predicts labels, and the target {data.target!r} is a number:"
            " use --algorithm cart, or --task classify"
        )
    for feature in data.features:
        if feature.kind is Kind.NUMERIC:
            raise DataError(
                f"id3 needs categories, and column {feature.name!r} is numeric: use"
                " --algorithm cart, --categorical for codes, or bin the column first"
            )
    # ID3 knows no order: an ordinal feature is a categorical one to it.
    features = tuple(replace(f, kind=Kind.CATEGORICAL) for f in data.features)
    unordered = replace(data, features=features)

    def find(rows: Rows, tie: float) -> Iterable[Candidate]:
        for position in range(len(features)):
            candidate = judge(unordered, position, rows)
            sizes = [weight for weight in candidate.weights if weight]
            if len(sizes) > 1 and min(sizes) >= limits.min_leaf:
                yield candidate

    return grow(unordered, find, limits, progress=progress)


def judge(data: Dataset, position: int, rows: Rows) -> Candidate:
    """The split of a node by all the categories of one feature."""
    categories = data.features[position].categories
    table = contingency(data, position, rows)
    known = table[:-1]
    weights = known.sum(axis=1)
    filled = known.copy()
    filled[weights.argmax()] += table[-1]
    return Candidate(
        position,
        float(gain(entropy, filled)),
        tuple((Op.IN, (category,)) for category in categories),
        tuple(float(weight) for weight in weights),
    )


def contingency(data: Dataset, position: int, rows: Rows) -> np.ndarray:
    """Cases by category (the last row: missing) and label."""
    size, labels = len(data.features[position].categories) + 1, len(data.labels)
    codes = data.columns[position][rows] % size  # -1 becomes the last
    flat = np.bincount(codes * labels + data.y[rows], minlength=size * labels)
    return flat.reshape(size, labels).astype(np.float64)
