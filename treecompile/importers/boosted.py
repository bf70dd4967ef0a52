"""Checks what all importers of boosted trees read: names, labels, trees, limits.

Files are not trusted. Every fault in one raises a ModelFileError that names it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

import numpy as np

from treecompile.model import forests, ir
from treecompile.model.errors import DataError, ModelFileError
from treecompile.model.file.limits import (
    LEAST_WEIGHT,
    MOST_BYTES,
    MOST_WEIGHT,
    check_size,
)
from treecompile.model.semantics import in_order
from treecompile.model.unicode import NOT_UNICODE, is_unicode

TARGET = "prediction"  # the name of the answer, if nobody gives one
MOST_FEATURES = 1_000_000
MOST_LABELS = 10_000
MOST_GAIN = 1e50  # multiplied by any weight, it is still finite
TYPES = {str: ir.ValueType.STR, int: ir.ValueType.INT, bool: ir.ValueType.BOOL}


@dataclass(frozen=True, slots=True)
class Objective:
    """How a model makes answers of its sums, by its objective."""

    name: str
    link: ir.Link
    start: tuple[float, ...]  # the start value of each output's sum
    labels: tuple[ir.Label, ...]
    cut: float | None = None
    slope: float = 1.0


@dataclass(frozen=True, slots=True)
class Columns:
    """The features of a model, and the categories of its codes."""

    features: tuple[ir.Feature, ...]
    # The category of each code. Without it, a code is its own category.
    categories: Mapping[int, Sequence[ir.Category]]

    def chosen(self, index: int, codes: Sequence[int]) -> tuple[ir.Category, ...]:
        """Return the categories of some codes of a feature."""
        categories = self.categories.get(index)
        if categories is None:
            return tuple(codes)
        return in_order(self.features[index], [categories[code] for code in codes])


def kind_of(model: object, library: str, supported: Sequence[str]) -> str:
    """Return the supported class of a library that a fitted model belongs to."""
    check_object(model)
    for each in type(model).__mro__:
        if each.__module__.split(".")[0] == library and each.__name__ in supported:
            return each.__name__
    raise DataError(
        f"cannot import a {type(model).__name__}: expected {', '.join(supported)}"
    )


def check_object(model: object) -> None:
    """Refuse a class where a fitted object of it is needed."""
    if isinstance(model, type):
        name = model.__name__
        raise DataError(
            f"{name} is a class: expected a fitted object, such as {name}().fit(X, y)"
        )


def check_bytes(data: bytes) -> None:
    if len(data) > MOST_BYTES:
        raise ModelFileError(
            f"{len(data):,} bytes: a model file has at most {MOST_BYTES:,}: train fewer"
            " or smaller trees"
        )


def labels_of(given: Iterable[Any] | None, count: int) -> tuple[ir.Label, ...]:
    """Return the labels of a classifier: those given, or the numbers from 0."""
    if given is None:
        return tuple(range(count))
    labels = tuple(plain(label) for label in given)
    if len(labels) != count:
        raise ModelFileError(
            f"labels: {len(labels)} for {count} classes: give one for each, in their"
            " order"
        )
    kinds = {type(label) for label in labels}
    if len(kinds) > 1 or not kinds <= {str, int, bool, float}:
        found = ", ".join(sorted(kind.__name__ for kind in kinds))
        raise ModelFileError(
            f"labels: of type {found}: expected only text, only integers, only booleans"
            " or only floats"
        )
    for label in labels:
        if isinstance(label, str) and not is_unicode(label):
            raise ModelFileError(f"labels: {label!r} {NOT_UNICODE}: correct it")
        if isinstance(label, float) and not isfinite(label):
            raise ModelFileError(f"labels: {label!r} is not a finite number")
    if len(set(labels)) < count:
        raise ModelFileError("labels: one is there twice: rename it")
    return labels


def no_labels(given: object, objective: str) -> tuple[ir.Label, ...]:
    """Return no labels, for a regression; refuse given ones."""
    if given is not None:
        raise ModelFileError(
            f"labels: the objective {objective} predicts numbers, so it has none"
        )
    return ()


def plain(value: Any) -> Any:
    """Turn a scalar of numpy into one of Python."""
    return value.item() if isinstance(value, np.generic) else value


def check_names(names: Sequence[str]) -> None:
    seen = set()
    for name in names:
        if not is_unicode(name):
            raise ModelFileError(f"feature names: {name!r} {NOT_UNICODE}: correct it")
        if name in seen:
            raise ModelFileError(
                f"feature names: {name!r} is there twice: rename one and train again"
            )
        seen.add(name)


def checked_names(given: Iterable[object], count: int) -> list[str]:
    """Return the names that a user gives to the columns of a fitted model."""
    names = list(map(str, given))
    if len(names) != count:
        raise DataError(
            f"feature_names: {len(names)} names for {count} features: give one for each"
        )
    if len(set(names)) < count:
        raise DataError("feature_names: two features have the same name: rename one")
    return names


def numeric(name: str) -> ir.Feature:
    return ir.Feature(name, ir.Kind.NUMERIC, ir.ValueType.FLOAT)


def categorical(name: str, categories: Sequence[Any]) -> ir.Feature:
    """Return a feature with these categories, all of one type."""
    kinds = {type(category) for category in categories}
    if len(kinds) > 1 or not kinds <= TYPES.keys():
        found = " and ".join(sorted(kind.__name__ for kind in kinds))
        raise ModelFileError(
            f"feature {name!r}: categories of type {found}: expected only text, only"
            " integers or only booleans: convert the column and train again"
        )
    for category in categories:
        if isinstance(category, str) and not is_unicode(category):
            raise ModelFileError(f"feature {name!r}: {category!r} {NOT_UNICODE}")
    if len(set(categories)) < len(categories):
        raise ModelFileError(f"feature {name!r}: a category is there twice")
    kind = TYPES[kinds.pop()] if kinds else ir.ValueType.STR
    return ir.Feature(name, ir.Kind.CATEGORICAL, kind, tuple(categories))


def reachable(children: Mapping[int, tuple[int, int]], nodes: int, where: str) -> None:
    """Require that the nodes below the root, node 0, form a tree."""
    seen = {0}
    waiting = [0]
    while waiting:
        for child in children.get(waiting.pop(), ()):
            if not 0 <= child < nodes:
                raise ModelFileError(f"{where}: there is no node {child}")
            if child in seen:
                raise ModelFileError(
                    f"{where}: node {child} is the child of two others, so it is no"
                    " tree: the file is damaged"
                )
            seen.add(child)
            waiting.append(child)


def weight(value: float) -> float:
    """Return a weight for importances; 0 if it is not usable."""
    return value if LEAST_WEIGHT <= value <= MOST_WEIGHT else 0.0


def gain(value: float) -> float:
    return value if abs(value) <= MOST_GAIN else 0.0


def program(
    library: str, objective: str, target: str, forest: ir.Forest
) -> ir.ForestProgram:
    """Return the program of a forest that has passed all checks."""
    if problem := forests.problem(forest):
        raise ModelFileError(f"the trees: {problem}")
    check_size(forest)
    options = ("objective", objective), ("trees", len(forest.members))
    return ir.ForestProgram(target or TARGET, f"{library} {objective}", forest, options)
