"""Reads the trees of a CatBoost model: symmetric ones, and others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from treecompile.importers.catboost.categories import hash_bits
from treecompile.importers.catboost.features import STATISTICS, ModelColumns
from treecompile.importers.growing import Grower, Inner
from treecompile.importers.thresholds import double_threshold
from treecompile.model import ir
from treecompile.model.errors import ModelFileError
from treecompile.model.file import checks
from treecompile.model.forests import LeafNode

MOST_DEPTH = 16  # levels of a symmetric tree; CatBoost has the same limit
MOST_LEVELS = 900  # levels of other trees


def members(
    model: dict[str, Any], columns: ModelColumns, outputs: int
) -> tuple[ir.Member, ...]:
    grower = Grower(columns.features)
    places = tuple(range(outputs))
    made: list[ir.Member] = []
    readers: dict[str, Callable[..., tuple[object, Any]]]
    readers = {"oblivious_trees": _symmetric, "trees": _usual}
    for key, reader in readers.items():
        for i, item in enumerate(checks.as_list(model.get(key, []), key)):
            where = f"{key}[{i}]"
            tree = checks.as_object(item, where)
            root, node_of = reader(tree, where, columns, outputs)
            made.append(grower.grow(places, root, node_of))
    return tuple(made)


def _symmetric(
    tree: dict[str, Any], where: str, columns: ModelColumns, outputs: int
) -> tuple[object, Callable[[Any], Inner | LeafNode]]:
    """Read a tree in which all nodes of a level have the same test.

    The key of a node is the number of answers so far, and these answers as bits.
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
    tree: dict[str, Any], where: str, columns: ModelColumns, outputs: int
) -> tuple[object, Callable[[Any], Inner | LeafNode]]:
    """Read any other tree: nested objects. A key is an object and its level."""

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


def _test(item: Any, where: str, columns: ModelColumns) -> ir.Condition:
    """Return the test for the bit 0: `x <= border`, or `x not in categories`."""
    split = checks.as_object(item, where)
    match split.get("split_type"):
        case "FloatFeature":
            return _number_test(split, where, columns)
        case "OneHotFeature":
            return _category_test(split, where, columns)
        case "OnlineCtr":
            raise ModelFileError(f"{where}: {STATISTICS}")
        case kind:
            raise ModelFileError(
                f"{where}: cannot import a split of type {kind!r}: train on numbers and"
                " categories"
            )


def _number_test(
    split: dict[str, Any], where: str, columns: ModelColumns
) -> ir.Condition:
    index = split.get("float_feature_index")
    if type(index) is not int or index not in columns.numbers:
        raise ModelFileError(f"{where}.float_feature_index: no such feature")
    column = columns.numbers[index]
    border = double_threshold(checks.number(split.get("border"), f"{where}.border"))
    return ir.Condition(column.place, ir.Op.LE, border, not column.missing_above)


def _category_test(
    split: dict[str, Any], where: str, columns: ModelColumns
) -> ir.Condition:
    """CatBoost refuses missing categories; here they equal none, like unseen ones."""
    index = split.get("cat_feature_index")
    if type(index) is not int or index not in columns.choices:
        raise ModelFileError(f"{where}.cat_feature_index: no such feature")
    column = columns.choices[index]
    key = hash_bits(split.get("value"), f"{where}.value")
    if key not in column.of_hash:
        raise ModelFileError(f"{where}.value: the feature has no such hash")
    return ir.Condition(column.place, ir.Op.NOT_IN, column.of_hash[key], missing=True)


def _numbers(item: Any, where: str, count: int) -> list[float]:
    items = checks.as_list(item, where)
    if len(items) != count:
        raise ModelFileError(f"{where}: {len(items)} numbers: expected {count}")
    return [checks.number(each, where) for each in items]


def _weights(item: Any, where: str, count: int) -> list[float]:
    return [checks.weight(each, where) for each in _numbers(item, where, count)]
