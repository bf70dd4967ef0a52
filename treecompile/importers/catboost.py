"""Import models of CatBoost from their JSON files, exactly as CatBoost evaluates them.

    model.save_model("model.json", format="json")

CatBoost rounds every input to a 32-bit float, and asks whether it is above a border. In
a symmetric tree, all nodes of a level ask the same: the answers are the bits of the
number of the leaf, the first one the lowest. The values of the leaves are added as
doubles, in the order of the trees, from 0. The sum is multiplied by a scale, and a bias
is added.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from math import log
from typing import Any, NamedTuple

from treecompile.importers.growing import Grower, Inner
from treecompile.importers.thresholds import double_threshold
from treecompile.model import forests, ir
from treecompile.model.errors import DataError, ModelFileError
from treecompile.model.file import checks, limits
from treecompile.model.forests import LeafNode

WHAT = "a JSON model of CatBoost"
MOST_DEPTH = 16  # of a symmetric tree; CatBoost has the same limit
MOST_LEVELS = 900  # of other trees
OTHER_FEATURES = ("categorical", "text", "embedding")
TREATMENTS = {"AsIs": False, "AsFalse": False, "AsTrue": True}
IDENTITY = (
    *("RMSE", "MAE", "Quantile", "LogLinQuantile", "MAPE", "Lq", "Huber", "Expectile"),
    *("LogCosh", "RMSPE"),
)
LINKS = {
    **dict.fromkeys(IDENTITY, ir.Link.IDENTITY),
    **dict.fromkeys(("Poisson", "Tweedie"), ir.Link.EXP),
    **dict.fromkeys(("Logloss", "CrossEntropy"), ir.Link.LOGISTIC),
    "MultiClass": ir.Link.SOFTMAX,
    "MultiClassOneVsAll": ir.Link.LOGISTIC,
}
TWO = ("Logloss", "CrossEntropy")
SEVERAL = ("MultiClass", "MultiClassOneVsAll")


def is_model(beginning: bytes) -> bool:
    """Whether a file may be a JSON model of CatBoost, by its first bytes."""
    return beginning.lstrip().startswith(b"{") and (
        b'"features_info"' in beginning or b'"ctr_data"' in beginning
    )


def from_object(
    model: Any, target: str = "", labels: Sequence[ir.Label] | None = None
) -> ir.NotedForest:
    """The forest of a fitted model in memory: CatBoost writes it, and it is read."""
    kind = type(model).__name__
    if not hasattr(model, "is_fitted") or not hasattr(model, "save_model"):
        raise DataError(f"cannot import a {kind}: expected a model of CatBoost")
    if not model.is_fitted():
        raise DataError(f"the {kind} is not fitted: call fit first")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.json")
        model.save_model(path, format="json")
        with open(path, "rb") as file:
            data = file.read()
    return read(data, target, labels)


def read(
    data: bytes, target: str = "", labels: Sequence[ir.Label] | None = None
) -> ir.NotedForest:
    """The forest of a file."""
    limits.check_text(data)
    model = checks.as_object(checks.parsed(data, WHAT), WHAT)
    info = checks.as_object(model.get("model_info", {}), "model_info")
    columns, notes = _columns(model)
    features = tuple(column.feature for column in columns.values())
    scale, bias = _scale_and_bias(model)
    forest = ir.Forest(
        features,
        (),
        _members(model, columns, features, len(bias)),
        (0.0,) * len(bias),
        scale=scale,
        offset=() if not any(bias) else bias,
    )
    forest = _with_answers(forest, info, labels)
    if problem := forests.problem(forest):
        raise ModelFileError(f"cannot import the model: {problem}")
    program = ir.ForestProgram(target or "prediction", "CatBoost", forest)
    return ir.NotedForest(program, tuple(notes))


# ---------------------------------------------------------------- features


class _Numbered(NamedTuple):
    """A column of numbers."""

    place: int  # among the features
    feature: ir.Feature
    missing_above: bool  # a missing value is above every border


def _columns(model: dict[str, Any]) -> tuple[dict[int, _Numbered], list[str]]:
    """The columns by their numbers in the file, and notes about those without use."""
    info = checks.as_object(model.get("features_info"), "features_info")
    where = "features_info.float_features"
    found = []
    for i, item in enumerate(checks.as_list(info.get("float_features", []), where)):
        here = f"{where}[{i}]"
        own = checks.as_object(item, here)
        flat = checks.integer(
            own.get("flat_feature_index"), f"{here}.flat_feature_index"
        )
        index = checks.integer(own.get("feature_index"), f"{here}.feature_index")
        name = checks.text(own.get("feature_id", ""), f"{here}.feature_id")
        treatment = str(own.get("nan_value_treatment", "AsIs"))
        if treatment not in TREATMENTS:
            raise ModelFileError(
                f"{here}.nan_value_treatment: {treatment!r} is unknown"
            )
        found.append((flat, index, name or f"x{flat}", TREATMENTS[treatment]))
    found.sort()
    checks.distinct((index for _, index, _, _ in found), where, "an index is twice")
    checks.distinct((name for _, _, name, _ in found), where, "a name is twice")
    columns = {
        index: _Numbered(
            place, ir.Feature(name, ir.Kind.NUMERIC, ir.ValueType.FLOAT), is_above
        )
        for place, (_, index, name, is_above) in enumerate(found)
    }
    kinds = " and ".join(
        f"{kind} features" for kind in OTHER_FEATURES if info.get(f"{kind}_features")
    )
    notes = [f"the {kinds} of the model are in no tree"] if kinds else []
    return columns, notes


# ---------------------------------------------------------------- trees


def _members(
    model: dict[str, Any],
    columns: dict[int, _Numbered],
    features: tuple[ir.Feature, ...],
    outputs: int,
) -> tuple[ir.Member, ...]:
    grower = Grower(features)
    places = tuple(range(outputs))
    made: list[ir.Member] = []
    readers: dict[str, Callable[..., tuple[object, Any]]]
    readers = {"oblivious_trees": _symmetric, "trees": _usual}
    if not model.keys() & readers.keys():
        raise ModelFileError(f"not {WHAT}: it has no trees")
    for key, reader in readers.items():
        for i, item in enumerate(checks.as_list(model.get(key, []), key)):
            where = f"{key}[{i}]"
            tree = checks.as_object(item, where)
            root, node_of = reader(tree, where, columns, outputs)
            made.append(grower.grow(places, root, node_of))
    return tuple(made)


def _symmetric(
    tree: dict[str, Any], where: str, columns: dict[int, _Numbered], outputs: int
) -> tuple[object, Callable[[Any], Inner | LeafNode]]:
    """A tree in which all nodes of a level have the same test.

    A key is the number of answers so far, and these as bits.
    """
    splits = checks.as_list(tree.get("splits"), f"{where}.splits")
    if len(splits) > MOST_DEPTH:
        raise ModelFileError(
            f"{where}: {len(splits)} levels: expected at most {MOST_DEPTH}"
        )
    tests = [
        _test(split, f"{where}.splits[{i}]", columns) for i, split in enumerate(splits)
    ]
    count = 1 << len(splits)
    values = _numbers(tree.get("leaf_values"), f"{where}.leaf_values", count * outputs)
    weights = [1.0] * count
    if tree.get("leaf_weights"):
        weights = _weights(tree["leaf_weights"], f"{where}.leaf_weights", count)

    def node_of(key: tuple[int, int]) -> Inner | LeafNode:
        level, bits = key
        if level < len(tests):
            above = bits | 1 << level
            return Inner(tests[level], (level + 1, bits), (level + 1, above))
        own = values[bits * outputs : (bits + 1) * outputs]
        return LeafNode(tuple(own), weights[bits])

    return (0, 0), node_of


def _usual(
    tree: dict[str, Any], where: str, columns: dict[int, _Numbered], outputs: int
) -> tuple[object, Callable[[Any], Inner | LeafNode]]:
    """Any other tree: objects within objects. A key is one of them, and its level."""

    def node_of(key: tuple[Any, int]) -> Inner | LeafNode:
        item, level = key
        node = checks.as_object(item, where)
        if level > MOST_LEVELS:
            raise ModelFileError(f"{where}: more than {MOST_LEVELS} levels")
        if "split" in node:
            test = _test(node["split"], f"{where}.split", columns)
            ways = (node.get("left"), level + 1), (node.get("right"), level + 1)
            return Inner(test, *ways)
        value = node.get("value")
        value = value if isinstance(value, list) else [value]
        weight = checks.weight(node.get("weight", 1.0), f"{where}.weight")
        return LeafNode(tuple(_numbers(value, f"{where}.value", outputs)), weight)

    return (tree, 0), node_of


def _test(item: Any, where: str, columns: dict[int, _Numbered]) -> ir.Condition:
    """`x <= border`, for the bit 0."""
    split = checks.as_object(item, where)
    kind = split.get("split_type")
    if kind != "FloatFeature":
        raise ModelFileError(f"{where}: {REFUSED.get(str(kind), UNKNOWN.format(kind))}")
    index = split.get("float_feature_index")
    if type(index) is not int or index not in columns:
        raise ModelFileError(f"{where}.float_feature_index: no such feature")
    column = columns[index]
    border = double_threshold(checks.number(split.get("border"), f"{where}.border"))
    return ir.Condition(column.place, ir.Op.LE, border, not column.missing_above)


ENCODE = "encode them as numbers before training"
REFUSED = {
    "OneHotFeature": (
        "a test of a category, of which the file has only a hash and not the text:"
        f" {ENCODE}"
    ),
    "OnlineCtr": f"a test of statistics of categories (CTR): {ENCODE}",
}
UNKNOWN = "cannot import a split of type {!r}: train on numbers"


def _numbers(item: Any, where: str, count: int) -> list[float]:
    items = checks.as_list(item, where)
    if len(items) != count:
        raise ModelFileError(f"{where}: {len(items)} numbers: expected {count}")
    return [checks.number(each, where) for each in items]


def _weights(item: Any, where: str, count: int) -> list[float]:
    return [checks.weight(each, where) for each in _numbers(item, where, count)]


# ---------------------------------------------------------------- answers


def _scale_and_bias(model: dict[str, Any]) -> tuple[float, tuple[float, ...]]:
    where = "scale_and_bias"
    pair = checks.as_list(model.get(where, [1.0, [0.0]]), where)
    if len(pair) != 2:
        raise ModelFileError(f"{where}: expected a scale and the biases")
    biases = pair[1] if isinstance(pair[1], list) else [pair[1]]
    if not biases:
        raise ModelFileError(f"{where}: expected a bias for each output")
    return (
        checks.number(pair[0], where),
        tuple(checks.number(bias, where) for bias in biases),
    )


def _with_answers(
    forest: ir.Forest, info: dict[str, Any], given: Sequence[ir.Label] | None
) -> ir.Forest:
    """The forest with its labels and its link, by its loss function."""
    loss = _loss(info)
    if loss not in LINKS:
        raise ModelFileError(
            f"cannot import a model with the loss function {loss!r}: expected one of"
            f" {', '.join(LINKS)}"
        )
    forest = replace(forest, link=LINKS[loss])
    if loss not in (*TWO, *SEVERAL):
        if given is not None:
            raise ModelFileError("labels: the model has no classes: leave them out")
        return forest
    count = 2 if loss in TWO else len(forest.start)
    labels = _labels(info, given, count)
    cut = _cut(info) if loss in TWO else None
    return replace(forest, labels=labels, cut=cut)


def _loss(info: dict[str, Any]) -> str:
    params = info.get("params", {})
    if isinstance(params, str):  # as older versions write it
        params = checks.parsed(params, "model_info.params")
    params = checks.as_object(params, "model_info.params")
    where = "model_info.params.loss_function"
    return checks.text(
        checks.as_object(params.get("loss_function"), where).get("type"), where
    )


def _labels(
    info: dict[str, Any], given: Sequence[ir.Label] | None, count: int
) -> tuple[ir.Label, ...]:
    where = "model_info.class_params.class_names"
    if given is None:
        params = checks.as_object(info.get("class_params", {}), "class_params")
        # Those of CrossEntropy, whose targets are probabilities, have no names.
        given = checks.as_list(params.get("class_names") or list(range(count)), where)
        if params.get("class_label_type") == "Float":  # 1.0 is written as 1
            given = [checks.number(label, where) for label in given]
    labels = tuple(checks.scalar(label, where) for label in given)
    if len(labels) != count:
        raise ModelFileError(f"{where}: {len(labels)} classes: expected {count}")
    if len({type(label) for label in labels}) > 1:
        raise ModelFileError(f"{where}: the classes are of several types")
    checks.distinct(labels, where, "a class is twice")
    return labels


LEAST_SHARE = 1e-300


def _cut(info: dict[str, Any]) -> float:
    """The second label is the answer above it: half, or a given probability."""
    where = "model_info.binclass_probability_threshold"
    given = info.get("binclass_probability_threshold")
    if given is None:
        return 0.0
    try:
        share = float(given)
    except (TypeError, ValueError, OverflowError):
        share = -1.0
    if not LEAST_SHARE < share < 1:
        raise ModelFileError(f"{where}: expected a number between 0 and 1")
    return -log(1 / share - 1) + 0.0
