"""Reads how an ONNX ensemble turns its sums into labels, probabilities or numbers.

The rules for two classes are those of onnxruntime: the standard leaves them open.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from treecompile.importers.onnx_nodes import Operator
from treecompile.importers.onnx_trees import Trees
from treecompile.model import ir
from treecompile.model.errors import ModelFileError
from treecompile.model.file import checks

CLASSIFIER = "TreeEnsembleClassifier"
REGRESSOR = "TreeEnsembleRegressor"
ENSEMBLE = "TreeEnsemble"
TRANSFORMS = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")
AGGREGATES = ("AVERAGE", "SUM", "MIN", "MAX")
LINKS = {
    "NONE": ir.Link.IDENTITY,
    "LOGISTIC": ir.Link.LOGISTIC,
    "SOFTMAX": ir.Link.SOFTMAX,
}


class Answers(NamedTuple):
    """A forest without trees yet, and the outputs to which a leaf adds."""

    forest: ir.Forest
    places: tuple[int, ...]  # the output of the file for each output of the forest
    notes: tuple[str, ...] = ()

    def leaf(self, weights: dict[int, float]) -> tuple[float, ...]:
        return tuple(weights.get(place, 0.0) for place in self.places)


def _named(node: Operator, key: str, known: Sequence[str], usual: str) -> str:
    """Read an attribute with one of the known texts; a TreeEnsemble has its number."""
    if node.kind != ENSEMBLE:
        return node.text(key, usual)
    number = node.integer(key, known.index(usual))
    return known[number] if 0 <= number < len(known) else str(number)


def _transform(node: Operator) -> str:
    name = _named(node, "post_transform", TRANSFORMS, "NONE")
    if name not in LINKS:
        raise ModelFileError(
            f"cannot import the post_transform {name!r}: expected one of"
            f" {', '.join(LINKS)}"
        )
    return name


def number(node: Operator, trees: Trees, is_double: bool) -> Answers:
    """Read how a regression answers."""
    targets = node.integer("n_targets", 1)
    used = {place for leaf in trees.leaves.values() for place in leaf}
    if targets != 1 or not used <= {0}:
        raise ModelFileError(f"the model predicts {targets} numbers: expected one")
    if is_double and node.kind == REGRESSOR:
        raise ModelFileError(
            "a TreeEnsembleRegressor of doubles rounds its sums of 64 bits to 32: use"
            " TreeEnsemble, or inputs of type float"
        )
    if (name := _transform(node)) != "NONE":
        raise ModelFileError(
            f"the post_transform {name} of a single number, which onnxruntime leaves"
            " out: expected NONE"
        )
    base = node.numbers("base_values") if node.kind == REGRESSOR else []
    if len(base) > 1:
        raise ModelFileError(f"{len(base)} base_values: expected one")
    divisor = float(len(trees.roots)) if _aggregate(node) == "AVERAGE" else 1.0
    forest = ir.Forest((), (), (), (0.0,), divisor=divisor, offset=_offset(base))
    return Answers(forest, (0,))


def _aggregate(node: Operator) -> str:
    name = _named(node, "aggregate_function", AGGREGATES, "SUM")
    if name not in ("SUM", "AVERAGE"):
        raise ModelFileError(
            f"cannot import the aggregate_function {name!r}: expected SUM or AVERAGE"
        )
    return name


def _offset(base: Sequence[float]) -> tuple[float, ...]:
    return tuple(base) if any(base) else ()


def classes(node: Operator, trees: Trees) -> Answers:
    labels: tuple[ir.Label, ...]
    labels = tuple(node.texts("classlabels_strings")) or tuple(
        node.integers("classlabels_int64s")
    )
    if len(labels) < 2:
        raise ModelFileError(f"the model has {len(labels)} classes: expected several")
    checks.distinct(labels, "classlabels", "a class is twice")
    used = {place for leaf in trees.leaves.values() for place in leaf}
    if not used or not used <= set(range(len(labels))):
        raise ModelFileError("class_ids: expected places of classes")
    name, base = _transform(node), node.numbers("base_values")
    if len(labels) == 2:
        return _two_classes(labels, trees, used, name, base)
    if len(base) not in (0, len(labels)):
        raise ModelFileError(
            f"{len(base)} base_values: expected one for each of {len(labels)} classes"
        )
    if not base:
        _refuse_classes_without_score(labels, trees)
    forest = ir.Forest(
        (), labels, (), (0.0,) * len(labels), offset=_offset(base), link=LINKS[name]
    )
    return Answers(forest, tuple(range(len(labels))))


def _refuse_classes_without_score(labels: tuple[ir.Label, ...], trees: Trees) -> None:
    """Refuse a class to which no tree adds for some row: it cannot be the answer."""
    always: set[int] = set()
    for root in trees.roots:
        common: set[int] | None = None
        waiting = [root]
        while waiting:
            key = waiting.pop()
            if key.is_leaf:
                own = trees.leaves[key.place].keys()
                common = set(own) if common is None else common & own
                continue
            test = trees.tests[key.place]
            waiting += (test.then, test.otherwise)
        always |= common or set()
    for place, label in enumerate(labels):
        if place not in always:
            raise ModelFileError(
                f"for some rows, no tree adds to the class {label!r}, and there are no"
                " base_values: write the weight 0 into all leaves of a tree"
            )


def _two_classes(
    labels: tuple[ir.Label, ...],
    trees: Trees,
    used: set[int],
    transform: str,
    base: Sequence[float],
) -> Answers:
    """Two classes: one sum decides, against 0.5 if no weight is negative, or 0."""
    if used == {1}:
        raise ModelFileError(
            "class_ids: two classes with a score of the second one: expected one score,"
            " with the id 0"
        )
    most = 1 if used == {0} else 0
    if len(base) > most:
        raise ModelFileError(
            f"{len(base)} base_values for two classes: expected {most}"
        )
    weights = [w for leaf in trees.leaves.values() for w in leaf.values()]
    cut = 0.5 if min(weights) >= 0 else 0.0
    if used == {0, 1}:
        _refuse_two_scores(labels, trees)
        cut = 0.0
    link = ir.Link.LOGISTIC if transform == "LOGISTIC" else ir.Link.IDENTITY
    notes: tuple[str, ...] = ()
    if link is ir.Link.IDENTITY and cut == 0.0:
        notes = ("the scores of the model are not probabilities",)
    forest = ir.Forest((), labels, (), (0.0,), offset=_offset(base), link=link, cut=cut)
    return Answers(forest, (max(used),), notes)


def _refuse_two_scores(labels: tuple[ir.Label, ...], trees: Trees) -> None:
    """Refuse two scores: onnxruntime decides by the second alone, with 0 or 1."""
    is_opposite = all(
        leaf.keys() == {0, 1} and leaf[0] == -leaf[1] for leaf in trees.leaves.values()
    )
    if not is_opposite or labels not in ((0, 1), *_texts(labels)):
        raise ModelFileError(
            "two classes with a score for each: expected one score, or opposite ones"
            " and the classes 0 and 1"
        )


def _texts(labels: tuple[ir.Label, ...]) -> tuple[tuple[ir.Label, ...], ...]:
    return (labels,) if isinstance(labels[0], str) else ()
